//! The roles of the folds of an experiment.
//!
//! Each fold has two row contexts. In the *audited* one the rows of the fold are audited and all
//! others train, as in a plain split. In the *training* one the training rows get counterfactuals
//! of their own: they are both reference and samples, and no other row takes part. So every step
//! that makes or scores counterfactuals is the one of the plain audit, with other roles.

use std::path::Path;

use crate::data::rows::RowsReader;
use crate::data::rows::split::{NEITHER, RankDraw, RowRoles, Stratification, TRAIN, folds_within};
use crate::error::Result;
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::num::seed::named_seed;
use crate::param::worded_enum;

/// Folds among the training rows for predictions out of fold.
pub(crate) const INNER_FOLDS: u8 = 5;

worded_enum! {
    /// Which roles of a fold.
    FoldRoles {
        /// Rows of the fold are audited, those that train for it train.
        Audited = "audited",
        /// Training rows get counterfactuals.
        Training = "training",
        /// Training rows, in their own folds.
        Inner = "inner",
    }
}

impl FoldRoles {
    /// File of the stage that splits.
    pub(crate) fn file(self, fold: usize) -> String {
        format!("{}-{fold}.parquet", self.word())
    }
}

/// Writes the roles of every fold into a folder; those of inner folds where they are asked for.
///
/// # Errors
/// Too few rows train for inner folds; the rows cannot be read; the disk refuses.
pub(crate) fn write_folds(
    rows: &RowsReader,
    roles: &RowRoles,
    n_folds: usize,
    inner: Option<u64>,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
    out: &Path,
) -> Result<()> {
    for fold in 0..n_folds {
        let number = u8::try_from(fold).unwrap_or(u8::MAX);
        let trains = |i: usize| roles.trains(i, number);
        let role = |i: usize| match roles.audited(i) {
            Some(own) if own == number => 0,
            _ if trains(i) => TRAIN,
            _ => NEITHER,
        };
        let n = roles.0.len();
        RowRoles((0..n).map(role).collect())
            .write(&out.join(FoldRoles::Audited.file(fold)), rows)?;
        let learns = |i: usize| if trains(i) { 0 } else { NEITHER };
        RowRoles((0..n).map(learns).collect())
            .write(&out.join(FoldRoles::Training.file(fold)), rows)?;
        if let Some(seed) = inner {
            let seed = named_seed(seed, "augment/inner folds");
            let within = folds_within(
                rows,
                (roles, number),
                (u64::from(INNER_FOLDS), Stratification::LabelAndGroup),
                RankDraw::new(seed, out),
                workers,
                watch,
            )?;
            within.write(&out.join(FoldRoles::Inner.file(fold)), rows)?;
        }
    }
    Ok(())
}
