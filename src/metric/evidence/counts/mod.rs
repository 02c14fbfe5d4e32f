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
//! For each cell the number of rows is known, their weight in whole units (1 each without weights),
//! and its squares ([`units`](crate::metric::evidence::units)). Rows of weight 0 are in no cell.

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

/// The factual rows of all groups under one model and one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FactualCounts {
    /// The groups, reference first.
    pub groups: Vec<GroupFactualCounts>,
    /// The rows of no declared group by the number of their word; [`u32::MAX`] = none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ungrouped: BTreeMap<u32, GroupFactualCounts>,
    /// Whether people have weights.
    weighted: bool,
    /// What the rows of each person weigh, by person and group. None where each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<9>>,
    /// The same people by stratum. None where no strata are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strata: Option<Strata>,
    /// The scores of those with a label. None where scores as such are not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<LabelledScores>,
    /// Everybody with a score, for the curves of every threshold. None where none are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<RowGridCounts>,
}

impl FactualCounts {
    /// No rows yet, for this number of groups.
    pub(crate) fn new(groups: usize) -> Self {
        FactualCounts {
            groups: vec![GroupFactualCounts::default(); groups],
            ungrouped: BTreeMap::new(),
            weighted: false,
            persons: None,
            strata: None,
            scores: None,
            grid: None,
        }
    }

    /// These counts, counted by this unit too.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        let persons = unit.persons.then(PersonCells::new);
        FactualCounts { weighted: unit.weighted, persons, ..self }
    }

    /// The unit by which it is counted.
    pub(crate) fn unit(&self) -> CountingUnit {
        CountingUnit { weighted: self.weighted, persons: self.persons.is_some() }
    }

    /// Adds a row of a group with what it weighs in whole units (1 where nobody has a weight); one
    /// of weight 0 counts for nothing. `key` is the person's own.
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

    /// These counts where people fall into strata, of which none holds anybody yet.
    #[cfg(test)]
    pub(crate) fn with_strata(self, strata: Strata) -> Self {
        FactualCounts { strata: Some(strata), ..self }
    }

    /// These counts where scores as such are measured, of which there are none yet.
    #[cfg(test)]
    pub(crate) fn with_scores(self, scores: LabelledScores) -> Self {
        FactualCounts { scores: Some(scores), ..self }
    }

    /// These counts without the scores of people.
    #[must_use]
    pub(crate) fn without_scores(self) -> Self {
        FactualCounts { scores: None, ..self }
    }

    /// These counts where curves of every threshold are asked for.
    #[must_use]
    pub(crate) fn with_grid(self, grid: ScoreGrid) -> Self {
        FactualCounts { grid: Some(RowGridCounts::new(self.groups.len(), grid)), ..self }
    }

    /// Adds a row of no declared group, with its weight in units, by the number of its word.
    pub(crate) fn add_ungrouped(
        &mut self,
        word: u32,
        weight: u64,
        label: Option<bool>,
        predicted: Option<bool>,
    ) {
        self.ungrouped.entry(word).or_default().add(label, predicted, false, weight);
    }

    /// Some people by label and prediction.
    fn together(&self, of: GroupSelection) -> GroupFactualCounts {
        let mut all = GroupFactualCounts::default();
        of.groups(self.groups.len()).for_each(|group| all.absorb(&self.groups[group]));
        all
    }

    /// Some people by label and prediction, and what they weigh in whole units; the latter none
    /// where nobody has a weight.
    pub(crate) fn states(&self, of: GroupSelection) -> (StateCells, Option<StateCells>) {
        let all = self.together(of);
        (all.states(), self.weighted.then(|| all.weights()))
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

    /// Units of weight of the rows of some people; none where nobody has a weight.
    pub(crate) fn weight(&self, of: GroupSelection) -> Option<u64> {
        Some(self.states(of).1?.iter().sum())
    }

    /// The units of some groups by the cells of the confusion that they fill.
    pub(crate) fn units(&self, of: GroupSelection) -> UnitSums {
        let cell = |state: usize| {
            let cells = Confusion::from_states(alone(state)).to_cells();
            cells.iter().position(|n| *n > 0)
        };
        let mut kinds = Vec::new();
        for group in of.groups(self.groups.len()) {
            let states = self.groups[group].cells.iter().enumerate();
            kinds.extend(states.filter(|(_, sums)| sums.people() > 0).filter_map(
                |(state, sums)| {
                    Some(UnitKind::one((9 * group + state) as u64, cell(state)?, *sums))
                },
            ));
        }
        let persons = self.persons.as_ref();
        let persons =
            persons.map(|all| all.units(|group, state| cell(state).filter(|_| of.holds(group))));
        UnitSums::new(CONFUSION_CELLS, self.weighted, kinds, persons)
    }

    /// Persons with a row in some groups; none where each row is a person.
    pub(crate) fn n_persons(&self, of: GroupSelection) -> Option<u64> {
        Some(self.persons.as_ref()?.n_persons(|group, _| of.holds(group)))
    }

    /// People with a prediction: persons, where one may have several rows.
    pub(crate) fn people_predicted(&self) -> u64 {
        let persons = self.persons.as_ref().map(|of| of.n_persons(|_, state| state % 3 > 0));
        persons.unwrap_or_else(|| self.confusion(GroupSelection::All).predicted())
    }

    /// The confusion of some people.
    pub(crate) fn confusion(&self, of: GroupSelection) -> Confusion {
        self.together(of).confusion()
    }
}

additive!(accumulated FactualCounts { groups, ungrouped, persons, strata, scores, grid });

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
