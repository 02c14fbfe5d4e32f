//! Changed rows on their way to a model, batch by batch.

use crate::data::FeatureRows;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::LevelChange;
use crate::stage::recourse::people::RecoursePeople;
use crate::stage::score::asked_rows::{AskedRows, asked_block};

/// The distinct changed rows, in blocks.
pub(crate) struct ChangedRows<'a> {
    pub(crate) people: &'a RecoursePeople,
    pub(crate) plan: &'a RecoursePlan<'a>,
    /// Person and set of changes.
    pub(crate) rows: &'a [(u32, u32)],
}

impl AskedRows for ChangedRows<'_> {
    fn n_rows(&self) -> usize {
        self.rows.len()
    }

    fn folds(&self, block: usize) -> Vec<Option<u8>> {
        asked_block(self.rows, block).iter().map(|(row, _)| Some(self.people.fold(*row))).collect()
    }

    fn rows(&self, block: usize) -> FeatureRows {
        let block = asked_block(self.rows, block);
        let people: Vec<u32> = block.iter().map(|(row, _)| *row).collect();
        let runs = block.chunk_by(|a, b| a.1 == b.1);
        let sets: Vec<(usize, Vec<LevelChange>)> =
            runs.map(|run| (run.len(), self.plan.change_set(run[0].1 as usize))).collect();
        self.people.changed(&people, &sets)
    }

    fn name(&self, block: usize, i: usize) -> String {
        let (row, change) = asked_block(self.rows, block)[i];
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
