//! What a strategy is: fitted on training rows, it gives every row its counterfactuals in another group.
//!
//! Words: a row's *own group* a, the *target group* b; a *counterfactual* is identified by (row, attribute, b, `cf_index`). Fitting and
//! using are two types, [`Strategy`] and [`Generator`], so that nobody can generate from an unfitted strategy, and so that rows of
//! production can be generated from a training reference. Every decision for a row depends on that row and the fitted state only, so
//! rows can be processed in any order and in parallel. Models, scores and metrics are unknown here.
//!
//! A strategy sets the column of the attribute and moves features of the source. What is derived from these, or what the attribute is
//! derived from, is nobody's to move: `write_back` lets it follow, whatever the strategy.

pub mod naive;
pub mod write_back;

use crate::data::training::TrainingRows;
use crate::data::{Attribute, Rows};
use crate::error::Result;

/// A way to make counterfactuals.
pub trait Strategy {
    /// Learns from the reference rows what the strategy needs to know.
    ///
    /// # Errors
    /// The reference rows cannot be read, or do not hold what the strategy needs.
    fn fit(&self, reference: &TrainingRows<'_>) -> Result<Box<dyn Generator>>;

    /// Whether [`Strategy::fit`] looks at the reference at all.
    fn needs_reference(&self) -> bool;
}

/// A fitted strategy.
pub trait Generator: Send + Sync {
    /// The counterfactuals of these rows in group `to` of the attribute: for each row any number, rows in order, `cf_index` ascending.
    fn generate(&self, rows: &Rows, attribute: &Attribute, to: usize) -> Generated;
}

/// Counterfactuals of a batch of rows in one group.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// For each counterfactual the position of its row in the batch.
    pub parent: Vec<usize>,
    /// Its number among those of the row and group, from 0.
    pub cf_index: Vec<u16>,
    /// The rows of the other world.
    pub rows: Rows,
}
