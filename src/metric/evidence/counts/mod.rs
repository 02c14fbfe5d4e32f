//! Confusion, counterfactual and extended counterfactual counts: one pass, whole numbers, mergeable
//! across batches.
//!
//! Groups are numbered in reference order: the reference group is 0, the others follow as declared.
//! Any partition of the rows, merged in any order, gives equal evidence.
//!
//! Choice: each metric uses all people it can. People without a label are in separate cells:
//! metrics that do not distinguish labels read these cells too, all others leave them out. Every
//! metric needs scores: the factual one, and for counterfactuals both.
//!
//! Each cell holds the number of rows, the sum of their weights in whole units (1 each without
//! weights), and the sum of the squared weights ([`units`](crate::metric::evidence::units)). Rows
//! of weight 0 are in no cell.

mod switches;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::strata::Strata;
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::group_counts::{GroupFactualCounts, state_cell};
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::person::{CONFUSION_CELLS, Confusion, StateCells};
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::score_grid::{RowGridCounts, ScoreGrid};
use crate::metric::evidence::units::{UnitKind, UnitSums, alone};
use crate::metric::scope::GroupSelection;
use crate::num::additive::Additive;

pub(crate) use switches::CounterfactualCounts;

/// Thresholds below this share of the scale are one.
const LEAST_CUTOFF: f64 = 1.0 / 1_048_576.0;

/// Bits of a share that are left out: thresholds that differ by one in 4,096 of their size are two.
const CUTOFF_BITS: u32 = 40;

/// The factual rows of all groups under one model and one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FactualCounts {
    /// The groups, reference first.
    pub groups: Vec<GroupFactualCounts>,
    /// The rows without a declared group, by the number of their word; [`u32::MAX`] = no word.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ungrouped: BTreeMap<u32, GroupFactualCounts>,
    /// Whether people have weights.
    weighted: bool,
    /// The weight of each person's rows, by person and group. None if each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<9>>,
    /// The same people by stratum, if the job names strata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strata: Option<Strata>,
    /// The scores of people with a label, if scores are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<LabelledScores>,
    /// Rows by threshold and group where rows carry their thresholds, in ascending order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cutoffs: BTreeMap<u64, Vec<u64>>,
    /// All people with a score, for the curves over all thresholds, if these are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<RowGridCounts>,
}

impl FactualCounts {
    /// Empty counts for a number of groups.
    pub(crate) fn new(groups: usize) -> Self {
        FactualCounts {
            groups: vec![GroupFactualCounts::default(); groups],
            ungrouped: BTreeMap::new(),
            weighted: false,
            persons: None,
            strata: None,
            scores: None,
            cutoffs: BTreeMap::new(),
            grid: None,
        }
    }

    /// The same counts with the sums that this unit needs.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        let persons = unit.persons.then(PersonCells::new);
        FactualCounts { weighted: unit.weighted, persons, ..self }
    }

    /// The unit of these counts.
    pub(crate) fn unit(&self) -> CountingUnit {
        CountingUnit { weighted: self.weighted, persons: self.persons.is_some() }
    }

    /// Adds a row of a group with its weight in whole units (1 without weights); a row of weight 0
    /// adds nothing. `key` is the key of the person.
    pub(crate) fn add(
        &mut self,
        (group, key, weight): (usize, u64, u64),
        label: Option<bool>,
        predicted: Option<bool>,
        at_threshold: bool,
    ) {
        self.groups[group].add(label, predicted, at_threshold, weight);
        if let Some(persons) = self.persons.as_mut().filter(|_| weight > 0) {
            persons.at(key, group)[state_cell(label, predicted)] += weight;
        }
    }

    /// The same counts with empty strata.
    #[cfg(test)]
    pub(crate) fn with_strata(self, strata: Strata) -> Self {
        FactualCounts { strata: Some(strata), ..self }
    }

    /// The same counts with an empty list of scores.
    #[cfg(test)]
    pub(crate) fn with_scores(self, scores: LabelledScores) -> Self {
        FactualCounts { scores: Some(scores), ..self }
    }

    /// The same counts without scores.
    #[must_use]
    pub(crate) fn without_scores(self) -> Self {
        FactualCounts { scores: None, ..self }
    }

    /// The same counts with an empty grid for curves over all thresholds.
    #[must_use]
    pub(crate) fn with_grid(self, grid: ScoreGrid) -> Self {
        FactualCounts { grid: Some(RowGridCounts::new(self.groups.len(), grid)), ..self }
    }

    /// Adds a row without a declared group, with its weight in units, by the number of its word.
    pub(crate) fn add_ungrouped(
        &mut self,
        word: u32,
        weight: u64,
        label: Option<bool>,
        predicted: Option<bool>,
    ) {
        self.ungrouped.entry(word).or_default().add(label, predicted, false, weight);
    }

    /// The sum of the counts of the selected groups.
    fn sum_of(&self, selection: GroupSelection) -> GroupFactualCounts {
        let mut sum = GroupFactualCounts::default();
        selection.groups(self.groups.len()).for_each(|group| sum.absorb(&self.groups[group]));
        sum
    }

    /// The selected people by label and prediction, and their weights in whole units, if they have
    /// weights.
    pub(crate) fn states(&self, selection: GroupSelection) -> (StateCells, Option<StateCells>) {
        let sum = self.sum_of(selection);
        (sum.states(), self.weighted.then(|| sum.weights()))
    }

    /// Adds the score of a row of a group, in addition to the row itself, with its weight in whole
    /// units. `keys` are the keys of the person and of the row.
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

    /// Adds the threshold of a row of a group, as a share of the scale, in addition to the row
    /// itself.
    pub(crate) fn add_cutoff(&mut self, group: usize, threshold: f64) {
        let bin = threshold.clamp(LEAST_CUTOFF, 1.0).to_bits() >> CUTOFF_BITS;
        self.cutoffs.entry(bin).or_insert_with(|| vec![0; self.groups.len()])[group] += 1;
    }

    /// Adds the stratum of a row of a group, in addition to the row itself, with its weight in
    /// whole units. `key` is the key of the person. Rows without a prediction are ignored.
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

    /// The weight of the rows of the selected people in units; none without weights.
    pub(crate) fn weight(&self, selection: GroupSelection) -> Option<u64> {
        Some(self.states(selection).1?.iter().sum())
    }

    /// The units of the selected groups by the cells of the confusion matrix.
    pub(crate) fn units(&self, selection: GroupSelection) -> UnitSums {
        let cell = |state: usize| {
            let cells = Confusion::from_states(alone(state)).to_cells();
            cells.iter().position(|n| *n > 0)
        };
        let mut kinds = Vec::new();
        for group in selection.groups(self.groups.len()) {
            let states = self.groups[group].cells.iter().enumerate();
            kinds.extend(states.filter(|(_, sums)| sums.people() > 0).filter_map(
                |(state, sums)| {
                    Some(UnitKind::one((9 * group + state) as u64, cell(state)?, *sums))
                },
            ));
        }
        let persons = self.persons.as_ref();
        let persons = persons.map(|persons| {
            persons.units(|group, state| cell(state).filter(|_| selection.holds(group)))
        });
        UnitSums::new(CONFUSION_CELLS, self.weighted, kinds, persons)
    }

    /// The number of persons with a row in the selected groups; none if each row is a person.
    pub(crate) fn n_persons(&self, selection: GroupSelection) -> Option<u64> {
        Some(self.persons.as_ref()?.n_persons(|group, _| selection.holds(group)))
    }

    /// The number of people with a prediction; of persons if a person may have several rows.
    pub(crate) fn people_predicted(&self) -> u64 {
        let persons =
            self.persons.as_ref().map(|persons| persons.n_persons(|_, state| state % 3 > 0));
        persons.unwrap_or_else(|| self.confusion(GroupSelection::All).predicted())
    }

    /// The confusion matrix of the selected people.
    pub(crate) fn confusion(&self, selection: GroupSelection) -> Confusion {
        self.sum_of(selection).confusion()
    }
}

additive!(accumulated FactualCounts { groups, ungrouped, persons, strata, scores, cutoffs, grid });

#[cfg(test)]
mod tests {
    use crate::metric::evidence::person::{CELLS, cell_index};

    #[test]
    fn cells_are_at_their_index() {
        for (i, c) in CELLS.iter().enumerate() {
            assert_eq!(cell_index(c.label, c.predicted, c.predicted_cf), i);
            let right = c.label.map(|label| if label == c.predicted { 'T' } else { 'F' });
            let switch = if c.predicted == c.predicted_cf { 'C' } else { 'S' };
            let to = if c.predicted_cf { 'P' } else { 'N' };
            assert_eq!(c.name, right.into_iter().chain([switch, to]).collect::<String>());
        }
    }
}
