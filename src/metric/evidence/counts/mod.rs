//! Confusion, counterfactual and extended counterfactual counts: one pass, whole numbers, mergeable
//! across batches.
//!
//! Groups are numbered in reference order: the reference group is 0, the others follow as declared.
//! Any partition of the rows, merged in any order, gives equal evidence.
//!
//! Choice: each metric counts everybody it can. People without a label are in their own cells:
//! metrics that do not distinguish labels read these too, all others leave them out. Scores are
//! needed for everything: the factual one, and for counterfactuals both.
//!
//! Where people have weights, they are counted anyway, and what they weigh is summed separately
//! in whole units ([`block_bootstrap`](crate::metric::evidence::block_bootstrap)).

mod switches;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::strata::Strata;
use crate::exec::accumulator::Accumulator;
use crate::metric::evidence::block_bootstrap::{BlockSums, WeightSums};
use crate::metric::evidence::counting_unit::UnitEvidence;
use crate::metric::evidence::group_counts::GroupFactualCounts;
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::person::{Confusion, ConfusionCells, StateCells, answer_state};
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::score_grid::{RowGridCounts, ScoreGrid};
use crate::metric::scope::GroupSelection;
use crate::param::Seed;
pub(crate) use switches::CounterfactualCounts;

/// Rows of no declared group: they are in no value, and what they could change is known by them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UngroupedCounts {
    /// The rows.
    pub(crate) rows: GroupFactualCounts,
    /// What they weigh in whole units, by label and prediction.
    pub(crate) weights: StateCells,
}

impl UngroupedCounts {
    /// Adds other rows.
    pub(crate) fn merge(&mut self, other: &UngroupedCounts) {
        self.rows.merge(&other.rows);
        self.weights.iter_mut().zip(other.weights).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// The factual rows of all groups under one model and one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FactualCounts {
    /// The groups, reference first.
    pub groups: Vec<GroupFactualCounts>,
    /// The rows of no declared group by the number of their word; [`u32::MAX`] = none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ungrouped: BTreeMap<u32, UngroupedCounts>,
    /// What people weigh by label and prediction, each unknown, no or yes; by group. None where
    /// nobody has a weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weighed: Option<BlockSums<9>>,
    /// The sums of the same weights and of their squares, by group; empty where nobody has a
    /// weight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    weight_sums: Vec<[WeightSums; 9]>,
    /// The same people where nobody has a weight, each counting once. None where models are not to
    /// be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paired: Option<BlockSums<9>>,
    /// The same rows by person and group. None where each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<9>>,
    /// What they weigh by person and group. None where each row is a person, or has no weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weighed_persons: Option<PersonCells<9>>,
    /// The same people by stratum. None where no strata are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strata: Option<Strata>,
    /// The scores of those with a label. None where scores as such are not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scores: Option<LabelledScores>,
    /// Everybody with a score, for the curves of every threshold. None where none are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grid: Option<RowGridCounts>,
}

impl UnitEvidence for FactualCounts {
    fn with_weights(self, seed: Seed) -> Self {
        let groups = self.groups.len();
        let weight_sums = vec![[WeightSums::default(); 9]; groups];
        FactualCounts { weighed: Some(BlockSums::new(groups, seed)), weight_sums, ..self }
    }

    fn with_pairing(self, seed: Seed) -> Self {
        FactualCounts { paired: Some(BlockSums::new(self.groups.len(), seed)), ..self }
    }

    fn with_persons(self, seed: Seed) -> Self {
        FactualCounts { persons: Some(PersonCells::new()), ..self.with_pairing(seed) }
    }

    fn with_weighed_persons(self, seed: Seed) -> Self {
        let weighed_persons = Some(PersonCells::new());
        FactualCounts { weighed_persons, ..self.with_weights(seed).with_persons(seed) }
    }
}

impl FactualCounts {
    /// No rows yet, for this number of groups.
    pub(crate) fn new(groups: usize) -> Self {
        FactualCounts {
            groups: vec![GroupFactualCounts::default(); groups],
            ungrouped: BTreeMap::new(),
            weighed: None,
            weight_sums: Vec::new(),
            paired: None,
            persons: None,
            weighed_persons: None,
            strata: None,
            scores: None,
            grid: None,
        }
    }

    /// The same where people fall into strata, of which none holds anybody yet.
    #[must_use]
    pub(crate) fn with_strata(self, strata: Strata) -> Self {
        FactualCounts { strata: Some(strata), ..self }
    }

    /// The same where scores as such are measured, of which there are none yet.
    #[must_use]
    pub(crate) fn with_scores(self, scores: LabelledScores) -> Self {
        FactualCounts { scores: Some(scores), ..self }
    }

    /// The same without the scores of people.
    #[must_use]
    pub(crate) fn without_scores(self) -> Self {
        FactualCounts { scores: None, ..self }
    }

    /// The same where curves of every threshold are asked for.
    #[must_use]
    pub(crate) fn with_grid(self, grid: ScoreGrid) -> Self {
        FactualCounts { grid: Some(RowGridCounts::new(self.groups.len(), grid)), ..self }
    }

    /// Everybody by the thresholds at which they are positive; none where no curves are asked for.
    pub(crate) fn grid(&self) -> Option<&RowGridCounts> {
        self.grid.as_ref()
    }

    /// Adds a row of no declared group, which weighs so many units, by the number of its word.
    pub(crate) fn add_ungrouped(
        &mut self,
        word: u32,
        weight: u64,
        label: Option<bool>,
        predicted: Option<bool>,
    ) {
        let of = self.ungrouped.entry(word).or_default();
        if weight == 0 {
            return of.rows.add_weightless();
        }
        of.rows.add(label, predicted, false);
        of.weights[3 * answer_state(label) + answer_state(predicted)] += weight;
    }

    /// The rows of no declared group by the number of their word; [`u32::MAX`] = none.
    pub(crate) fn ungrouped(&self) -> &BTreeMap<u32, UngroupedCounts> {
        &self.ungrouped
    }

    /// Some people by label and prediction, and what they weigh in whole units; the latter none
    /// where nobody has a weight.
    pub(crate) fn states(&self, of: GroupSelection) -> (StateCells, Option<StateCells>) {
        let mut all = GroupFactualCounts::default();
        of.groups(self.groups.len()).for_each(|group| all.merge(&self.groups[group]));
        let weights = self.weighed.as_ref();
        (all.states(), weights.map(|weights| weights.sum(of.groups(self.groups.len()))))
    }

    /// Adds the score of a row of a group, in addition to the row itself, with what it weighs in
    /// whole units. `keys` are those of the person and of the row.
    pub(crate) fn add_score(
        &mut self,
        group: usize,
        labelled: (Option<bool>, f64),
        weight: u64,
        keys: (u64, u64),
    ) {
        if let Some(scores) = &mut self.scores {
            scores.add(group, labelled, weight, keys);
        }
        if let Some(grid) = &mut self.grid {
            grid.add(group, labelled.0, labelled.1, weight);
        }
    }

    /// The scores of people with a label; none where scores as such are not measured.
    pub(crate) fn scores(&self) -> Option<&LabelledScores> {
        self.scores.as_ref()
    }

    /// Adds the stratum of a row of a group, in addition to the row itself, with what it weighs in
    /// whole units. `key` is the person's own. Rows without a prediction are passed over.
    pub(crate) fn add_stratum(
        &mut self,
        group: usize,
        (key, weight): (u64, u64),
        predicted: Option<bool>,
        stratum: Option<u32>,
    ) {
        if let (Some(strata), Some(predicted)) = (&mut self.strata, predicted) {
            strata.add(group, (key, weight), predicted, stratum);
        }
    }

    /// Adds what a row of a group weighs in whole units, in addition to the row itself. `key` is
    /// the person's own.
    pub(crate) fn add_weight(
        &mut self,
        group: usize,
        key: u64,
        weight: u64,
        label: Option<bool>,
        predicted: Option<bool>,
    ) {
        if let Some(weighed) = &mut self.weighed {
            weighed.at(key, group)[3 * answer_state(label) + answer_state(predicted)] += weight;
            self.weight_sums[group][3 * answer_state(label) + answer_state(predicted)] +=
                WeightSums::one(weight);
        }
        if let Some(persons) = &mut self.weighed_persons {
            persons.at(key, group)[3 * answer_state(label) + answer_state(predicted)] += weight;
        }
    }

    /// Adds a row of a group for the comparison of models and to its person, in addition to the row
    /// itself.
    /// `key` is the person's own.
    pub(crate) fn add_paired(
        &mut self,
        group: usize,
        key: u64,
        label: Option<bool>,
        predicted: Option<bool>,
    ) {
        if let Some(paired) = &mut self.paired {
            paired.at(key, group)[3 * answer_state(label) + answer_state(predicted)] += 1;
        }
        if let Some(persons) = &mut self.persons {
            persons.at(key, group)[3 * answer_state(label) + answer_state(predicted)] += 1;
        }
    }

    /// Each person with a row among some people, ascending by key, with the confusion of these
    /// rows; none where each row is a person.
    pub(crate) fn persons(&self, of: GroupSelection) -> Option<Vec<(u64, Confusion)>> {
        Some(self.by_person(self.persons.as_ref()?, of))
    }

    /// The same with what the rows weigh; none where nobody has a weight.
    pub(crate) fn weighed_persons(&self, of: GroupSelection) -> Option<Vec<(u64, Confusion)>> {
        Some(self.by_person(self.weighed_persons.as_ref()?, of))
    }

    fn by_person(&self, cells: &PersonCells<9>, of: GroupSelection) -> Vec<(u64, Confusion)> {
        let has: Vec<usize> = of.groups(self.groups.len()).collect();
        let sums = cells.sums(|group| has.contains(&group));
        sums.into_iter().map(|(key, cells)| (key, confusion_of_states(cells))).collect()
    }

    /// Units of weight of the rows of some people; none where nobody has a weight.
    pub(crate) fn weight(&self, of: GroupSelection) -> Option<u64> {
        Some(self.weighed.as_ref()?.sum(of.groups(self.groups.len())).iter().sum())
    }

    /// The confusion of some people in units of weight; none where nobody has a weight.
    pub(crate) fn weight_confusion(&self, of: GroupSelection) -> Option<Confusion> {
        Some(confusion_of_states(self.weighed.as_ref()?.sum(of.groups(self.groups.len()))))
    }

    /// What some people weigh by the cell that each fills, with the squares; none where nobody has
    /// a weight.
    pub(crate) fn weight_sums(
        &self,
        of: GroupSelection,
    ) -> Option<Vec<(ConfusionCells, WeightSums)>> {
        self.weighed.as_ref()?;
        let cell = |i: usize| {
            let mut sum = WeightSums::default();
            of.groups(self.groups.len()).for_each(|group| sum += self.weight_sums[group][i]);
            (confusion_of_states(std::array::from_fn(|at| u64::from(at == i))).to_cells(), sum)
        };
        Some((0..9).map(cell).collect())
    }

    /// People with a prediction: persons, where one may have several rows.
    pub(crate) fn people_predicted(&self) -> u64 {
        match self.persons(GroupSelection::All) {
            Some(all) => all.iter().filter(|(_, own)| own.predicted() > 0).count() as u64,
            None => self.confusion(GroupSelection::All).predicted(),
        }
    }

    /// The same block by block, or the rows where a person may have several; else none.
    pub(crate) fn blocks(&self, of: GroupSelection) -> Option<Vec<(u64, ConfusionCells)>> {
        let of_persons = self.paired.as_ref().filter(|_| self.persons.is_some());
        self.confusions(self.weighed.as_ref().or(of_persons)?, of)
    }

    /// The people themselves block by block; none where models are not to be compared, or people
    /// have weights.
    pub(crate) fn paired_blocks(&self, of: GroupSelection) -> Option<Vec<(u64, ConfusionCells)>> {
        self.confusions(self.paired.as_ref()?, of)
    }

    fn confusions(
        &self,
        sums: &BlockSums<9>,
        of: GroupSelection,
    ) -> Option<Vec<(u64, ConfusionCells)>> {
        let blocks = sums.blocks(of.groups(self.groups.len()));
        Some(
            blocks
                .into_iter()
                .map(|(block, cells)| (block, confusion_of_states(cells).to_cells()))
                .collect(),
        )
    }

    /// The confusion of some people.
    pub(crate) fn confusion(&self, of: GroupSelection) -> Confusion {
        let mut sum = Confusion::default();
        of.groups(self.groups.len()).for_each(|group| sum.merge(&self.groups[group].confusion()));
        sum
    }
}

impl Accumulator for FactualCounts {
    fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.groups.iter_mut().zip(&other.groups) {
            mine.merge(theirs);
        }
        for (&word, theirs) in &other.ungrouped {
            self.ungrouped.entry(word).or_default().merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.weighed, &other.weighed) {
            mine.merge(theirs);
        }
        let sums = self.weight_sums.as_flattened_mut().iter_mut();
        sums.zip(other.weight_sums.as_flattened()).for_each(|(mine, theirs)| *mine += *theirs);
        if let (Some(mine), Some(theirs)) = (&mut self.paired, &other.paired) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.persons, &other.persons) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.weighed_persons, &other.weighed_persons) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.strata, &other.strata) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.scores, other.scores) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.grid, &other.grid) {
            mine.merge(theirs);
        }
    }
}

/// The confusion of sums at 3 label + prediction, each unknown, no or yes.
fn confusion_of_states(cells: [u64; 9]) -> Confusion {
    Confusion::from_states(std::array::from_fn(|label| {
        std::array::from_fn(|predicted| cells[3 * label + predicted])
    }))
}

#[cfg(test)]
mod tests {
    use crate::metric::evidence::person::{CELLS, cell_index};

    #[test]
    fn cells_stand_at_their_index() {
        for (i, c) in CELLS.iter().enumerate() {
            assert_eq!(cell_index(c.label, c.predicted, c.predicted_cf), i);
            let right = c.label.map(|label| if label == c.predicted { 'T' } else { 'F' });
            let switch = if c.predicted == c.predicted_cf { 'C' } else { 'S' };
            let to = if c.predicted_cf { 'P' } else { 'N' };
            assert_eq!(c.name, right.into_iter().chain([switch, to]).collect::<String>());
        }
    }
}
