//! Changed rows on their way to a model, batch by batch.

use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::LevelChange;
use crate::stage::recourse::people::RecoursePeople;
use std::ops::Range;

/// Rows that a command gets at a time.
pub(crate) const BATCH: usize = 16_384;

/// The distinct changed rows, in blocks.
pub(crate) struct ChangedRows<'a> {
    pub(crate) people: &'a RecoursePeople,
    pub(crate) plan: &'a RecoursePlan<'a>,
    /// Person and set of changes.
    pub(crate) rows: &'a [(u32, u32)],
}

impl ChangedRows<'_> {
    fn block(&self, block: usize) -> &[(u32, u32)] {
        let range: Range<usize> = block * BATCH..self.rows.len().min((block + 1) * BATCH);
        &self.rows[range]
    }

    /// Number of blocks.
    pub(crate) fn n_blocks(&self) -> usize {
        self.rows.len().div_ceil(BATCH)
    }

    /// The folds in which the people of a block are audited.
    pub(crate) fn folds(&self, block: usize) -> Vec<Option<u8>> {
        self.block(block).iter().map(|(row, _)| Some(self.people.fold(*row))).collect()
    }

    /// The rows of a block as the program reads them.
    pub(crate) fn rows(&self, block: usize) -> crate::data::FeatureRows {
        let block = self.block(block);
        let people: Vec<u32> = block.iter().map(|(row, _)| *row).collect();
        let runs = block.chunk_by(|a, b| a.1 == b.1);
        let sets: Vec<(usize, Vec<LevelChange>)> =
            runs.map(|run| (run.len(), self.plan.change_set(run[0].1 as usize))).collect();
        self.people.changed(&people, &sets)
    }

    /// What messages call a row of a block.
    pub(crate) fn name(&self, block: usize, i: usize) -> String {
        let (row, change) = self.block(block)[i];
        let changes = self.plan.change_set(change as usize);
        let words: Vec<String> = changes
            .iter()
            .map(|change| {
                let feature = &self.people.audited.features[change.feature];
                format!("`{}` = `{}`", feature.name, feature.levels[change.level as usize])
            })
            .collect();
        format!("{}, changed to {}", self.people.name(row), words.join(", "))
    }
}
