//! Rows that a stage makes for a model that is asked from outside, block by block.

use std::ops::Range;

use crate::data::FeatureRows;

/// Rows that a model is asked at a time.
pub(crate) const BATCH: usize = 16_384;

/// Rows that follow from audited people, each asked once.
pub(crate) trait AskedRows: Sync {
    /// Number of rows.
    fn n_rows(&self) -> usize;

    /// The folds in which the people of a block are audited.
    fn folds(&self, block: usize) -> Vec<Option<u8>>;

    /// The rows of a block as the model reads them.
    fn rows(&self, block: usize) -> FeatureRows;

    /// What messages call a row of a block.
    fn name(&self, block: usize, i: usize) -> String;

    /// Number of blocks.
    fn n_blocks(&self) -> usize {
        self.n_rows().div_ceil(BATCH)
    }
}

/// The rows of a block.
pub(crate) fn asked_block<T>(rows: &[T], block: usize) -> &[T] {
    let range: Range<usize> = block * BATCH..rows.len().min((block + 1) * BATCH);
    &rows[range]
}
