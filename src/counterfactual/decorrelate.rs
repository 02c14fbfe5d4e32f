//! Decorrelation: adds counterfactuals of another sensitive attribute to the reference.
//!
//! In the enlarged reference the attribute no longer predicts the columns that must not change.
//! Source: the decorrelation of "Towards Counterfactual Group Fairness". For an entry with
//! attribute E: plausible, with the label as class and one counterfactual per row and group, on all
//! reference rows with themselves as reference; all counterfactuals (*twins*) are appended with the
//! label of their row. With G groups each row gets G - 1 twins, so in the enlarged reference E is
//! independent of every column that was not allowed to change. Several entries are applied in
//! order, each to the result of the previous one; samples are not changed.
//! Memory: twins are generated batch by batch and never stored; each pass generates them again.

use crate::counterfactual::map_flip::MapFlipGenerator;
use crate::counterfactual::{Generator, SampleBatch, TargetGroup};
use crate::data::rows::reference::{ReferenceBatch, ReferenceRows};
use crate::data::{Attribute, MISSING_GROUP};
use crate::error::Result;

/// The twin generator of one entry.
#[derive(Debug)]
pub(crate) struct TwinGenerator {
    /// Position of the attribute among the groups of reference rows.
    pub position: usize,
    /// The attribute.
    pub attribute: Attribute,
    /// The fitted strategy that generates them.
    pub mover: MapFlipGenerator,
}

/// A reference with the twins that are appended to it.
pub(crate) struct DecorrelatedReference<'a> {
    /// The reference rows, unchanged.
    pub rows: &'a ReferenceRows<'a>,
    /// The generators of the twins, in the order in which they act.
    pub twins: Vec<TwinGenerator>,
}

impl DecorrelatedReference<'_> {
    /// One pass over rows and twins into accumulators that are merged in any order.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is stopped.
    pub(crate) fn gather<T: Send>(
        &self,
        empty: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &ReferenceBatch) + Sync,
        merge: impl Fn(&mut T, T),
    ) -> Result<T> {
        let add = |sum: &mut T, group: &ReferenceBatch| match self.twins.split_first() {
            None => add(sum, group),
            Some((first, rest)) => {
                let start = first.append_to(group);
                add(sum, &rest.iter().fold(start, |group, twins| twins.append_to(&group)));
            }
        };
        self.rows.gather(empty, add, merge)
    }
}

impl TwinGenerator {
    /// The rows, followed by their twins in each group.
    fn append_to(&self, group: &ReferenceBatch) -> ReferenceBatch {
        let samples = SampleBatch::of_reference(group, self.position);
        let mut joined = ReferenceBatch { keys: Vec::new(), ..group.clone() };
        for to in 0..self.attribute.groups.len() {
            let target = TargetGroup { attribute: &self.attribute, group: to };
            let made = self.mover.generate(&samples, target);
            for (position, groups) in joined.groups.iter_mut().enumerate() {
                let of_parent = |&parent: &usize| match position == self.position {
                    true => u16::try_from(to).unwrap_or(MISSING_GROUP),
                    false => group.groups[position][parent],
                };
                groups.extend(made.parent.iter().map(of_parent));
            }
            joined.classes.extend(made.parent.iter().map(|&parent| group.classes[parent]));
            joined.rows.append(made.rows);
        }
        joined
    }
}
