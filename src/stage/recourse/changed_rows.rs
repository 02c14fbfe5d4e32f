//! Changed rows on their way to a model, batch by batch.

use crate::data::FeatureRows;
use crate::error::Result;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::LevelChange;
use crate::stage::recourse::people::RecoursePeople;
use crate::stage::score::asked_rows::{AskedRows, asked_block, n_blocks};

/// The distinct changed rows, in blocks.
pub(crate) struct ChangedRows<'a> {
    pub(crate) people: &'a RecoursePeople,
    pub(crate) plan: &'a RecoursePlan<'a>,
    /// Person and set of changes.
    pub(crate) rows: &'a [(u32, u32)],
}

impl AskedRows for ChangedRows<'_> {
    fn n_blocks(&self) -> usize {
        n_blocks(self.rows.len())
    }

    fn folds(&self, block: usize) -> Result<Vec<Option<u8>>> {
        let fold = |(row, _): &(u32, u32)| Some(self.people.fold(*row));
        Ok(asked_block(self.rows, block).iter().map(fold).collect())
    }

    fn rows(&self, block: usize) -> Result<FeatureRows> {
        let block = asked_block(self.rows, block);
        let people: Vec<u32> = block.iter().map(|(row, _)| *row).collect();
        let runs = block.chunk_by(|a, b| a.1 == b.1);
        let sets: Vec<(usize, Vec<LevelChange>)> =
            runs.map(|run| (run.len(), self.plan.change_set(run[0].1 as usize))).collect();
        Ok(self.people.changed(&people, &sets))
    }

    fn name(&self, block: usize, i: usize) -> Result<String> {
        let (row, change) = asked_block(self.rows, block)[i];
        let changes = self.plan.change_set(change as usize);
        let words: Vec<String> = changes
            .iter()
            .map(|change| {
                let feature = &self.people.audited.features[change.feature];
                format!("`{}` = `{}`", feature.name, feature.levels[change.level as usize])
            })
            .collect();
        Ok(format!("{}, changed to {}", self.people.name(row), words.join(", ")))
    }
}
