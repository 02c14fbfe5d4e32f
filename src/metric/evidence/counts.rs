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

use serde::{Deserialize, Serialize};

use super::shift_pass::ShiftPass;
use super::strata::Strata;
use crate::exec::accumulator::Accumulator;
use crate::metric::evidence::block_bootstrap::{BlockSums, WeightSums};
use crate::metric::evidence::counting_unit::UnitEvidence;
use crate::metric::evidence::group_counts::GroupFactualCounts;
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::outcome_patterns::{
    AnySwitch, CellProfiles, PatternTally, ScopeCellProfiles,
};
use crate::metric::evidence::person::{
    Confusion, ConfusionCells, ECCM_CELLS, Eccm, ScoredCounterfactual, ScoredPerson, SwitchCells,
    answer_state, cell_index, scored_pair,
};
use crate::metric::evidence::person_sums::{PersonCells, PersonSwitchCounts};
use crate::metric::evidence::shift::ShiftSums;
use crate::metric::scope::{GroupSelection, ScopeIndex};
use crate::param::Seed;

/// The factual rows of all groups under one model and one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FactualCounts {
    /// The groups, reference first.
    pub groups: Vec<GroupFactualCounts>,
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
            weighed: None,
            weight_sums: Vec::new(),
            paired: None,
            persons: None,
            weighed_persons: None,
            strata: None,
            scores: None,
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
    }
}

/// The confusion of sums at 3 label + prediction, each unknown, no or yes.
fn confusion_of_states(cells: [u64; 9]) -> Confusion {
    Confusion::from_states(std::array::from_fn(|label| {
        std::array::from_fn(|predicted| cells[3 * label + predicted])
    }))
}

/// All counterfactuals under one model, one sensitive attribute and one counterfactual set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CounterfactualCounts {
    groups: usize,
    patterns: PatternTally,
    /// By direction: from * groups + to.
    shifts: Vec<ShiftSums>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weighed: Option<WeightedSwitchCounts>,
    /// The extended matrix by direction where nobody has a weight, each person counting once. None
    /// where models are not to be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paired: Option<BlockSums<ECCM_CELLS>>,
    /// The same by person. None where each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonSwitchCounts>,
    /// What they weigh by person. None where each row is a person, or has no weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weighed_persons: Option<PersonSwitchCounts>,
}

/// The same counterfactuals, each by the weight of the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WeightedSwitchCounts {
    /// The extended matrix by direction.
    cells: BlockSums<ECCM_CELLS>,
    /// People by whether anything switches, by group.
    any: BlockSums<4>,
    /// By direction.
    shifts: Vec<ShiftSums>,
    /// By pattern.
    people: PatternTally<WeightSums>,
}

impl UnitEvidence for CounterfactualCounts {
    fn with_weights(self, seed: Seed) -> Self {
        let shifts = vec![ShiftSums::default(); self.groups * self.groups];
        let (cells, any) =
            (BlockSums::new(self.groups * self.groups, seed), BlockSums::new(self.groups, seed));
        let weighed =
            WeightedSwitchCounts { cells, any, shifts, people: PatternTally::new(self.groups) };
        CounterfactualCounts { weighed: Some(weighed), ..self }
    }

    fn with_pairing(self, seed: Seed) -> Self {
        CounterfactualCounts {
            paired: Some(BlockSums::new(self.groups * self.groups, seed)),
            ..self
        }
    }

    fn with_persons(self, seed: Seed) -> Self {
        CounterfactualCounts { persons: Some(PersonSwitchCounts::new()), ..self.with_pairing(seed) }
    }

    fn with_weighed_persons(self, seed: Seed) -> Self {
        let weighed_persons = Some(PersonSwitchCounts::new());
        CounterfactualCounts { weighed_persons, ..self.with_weights(seed).with_persons(seed) }
    }
}

impl CounterfactualCounts {
    /// Nobody yet, for this number of groups.
    pub(crate) fn new(groups: usize) -> Self {
        let shifts = vec![ShiftSums::default(); groups * groups];
        CounterfactualCounts {
            groups,
            patterns: PatternTally::new(groups),
            shifts,
            weighed: None,
            paired: None,
            persons: None,
            weighed_persons: None,
        }
    }

    /// Whether people have weights.
    pub(crate) fn is_weighted(&self) -> bool {
        self.weighed.is_some()
    }

    /// Number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Adds one person with all their counterfactuals of this set; a person is added once.
    ///
    /// # Panics
    /// Where a group is not below the number of groups, or a counterfactual leads to the person's
    /// own group: a bug of the caller.
    pub(crate) fn add(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        self.patterns.add((person.group, person.label, person.predicted), counterfactuals, 1);
        for counterfactual in counterfactuals {
            if let Some((cell, score, score_cf)) = scored_pair(person, counterfactual) {
                self.shifts[person.group * self.groups + counterfactual.to]
                    .add(cell, score, score_cf, 1);
            }
        }
    }

    /// Adds a person in every way in which people are counted here: by itself, by weight, and for
    /// the comparison of models. `key` is the person's own.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add`].
    pub(crate) fn add_person(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        self.add(person, counterfactuals);
        self.add_weight(key, person, counterfactuals);
        self.add_paired(key, person, counterfactuals);
    }

    /// Adds what the person weighs, in addition to the person. `key` is the person's own.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add`].
    pub(crate) fn add_weight(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        self.add_weight_cells(key, person, counterfactuals);
        let Some(weighed) = &mut self.weighed else { return };
        for counterfactual in counterfactuals {
            if let Some((cell, score, score_cf)) = scored_pair(person, counterfactual) {
                weighed.shifts[person.group * self.groups + counterfactual.to].add(
                    cell,
                    score,
                    score_cf,
                    person.weight,
                );
            }
        }
    }

    /// Adds one person with all their counterfactuals, what they weigh, and the person for the
    /// comparison of models; but nothing of their scores, which are added in chunks.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add`].
    pub(crate) fn add_cells(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        self.patterns.add((person.group, person.label, person.predicted), counterfactuals, 1);
        self.add_weight_cells(key, person, counterfactuals);
        self.add_paired(key, person, counterfactuals);
    }

    /// The score sums of a direction, of people and of what they weigh.
    pub(crate) fn shift_sums_mut(
        &mut self,
        direction: usize,
    ) -> (&mut ShiftSums, Option<&mut ShiftSums>) {
        let weighed = self.weighed.as_mut().map(|weighed| &mut weighed.shifts[direction]);
        (&mut self.shifts[direction], weighed)
    }

    fn add_weight_cells(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let (Some(weighed), Some(predicted)) = (&mut self.weighed, person.predicted) else {
            return;
        };
        weighed.people.add(
            (person.group, person.label, Some(predicted)),
            counterfactuals,
            WeightSums::one(person.weight),
        );
        let (mut there, mut switches) = (false, false);
        for counterfactual in counterfactuals {
            if let Some(predicted_cf) = counterfactual.predicted {
                weighed.cells.at(key, person.group * self.groups + counterfactual.to)
                    [cell_index(person.label, predicted, predicted_cf)] += person.weight;
                there = true;
                switches |= predicted_cf != predicted;
            }
        }
        if there {
            weighed.any.at(key, person.group)[AnySwitch::index(predicted, switches)] +=
                person.weight;
        }
        if let Some(persons) = &mut self.weighed_persons {
            persons.add((key, person.weight, self.groups), person, counterfactuals);
        }
    }

    /// Adds the row for the comparison of models and to its person, in addition to the row. `key`
    /// is the person's own.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add`].
    pub(crate) fn add_paired(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let (Some(paired), Some(predicted)) = (&mut self.paired, person.predicted) else { return };
        for counterfactual in counterfactuals {
            if let Some(predicted_cf) = counterfactual.predicted {
                paired.at(key, person.group * self.groups + counterfactual.to)
                    [cell_index(person.label, predicted, predicted_cf)] += 1;
            }
        }
        if let Some(persons) = &mut self.persons {
            persons.add((key, 1, self.groups), person, counterfactuals);
        }
    }

    /// Each person with a counterfactual in a scope, ascending by key, with the extended matrix of
    /// these; none where each row is a person.
    pub(crate) fn persons(&self, place: usize) -> Option<Vec<(u64, SwitchCells)>> {
        Some(self.by_person(self.persons.as_ref()?, place))
    }

    /// The same with what the rows weigh; none where nobody has a weight.
    pub(crate) fn weighed_persons(&self, place: usize) -> Option<Vec<(u64, SwitchCells)>> {
        Some(self.by_person(self.weighed_persons.as_ref()?, place))
    }

    fn by_person(&self, of: &PersonSwitchCounts, place: usize) -> Vec<(u64, SwitchCells)> {
        let directions = self.directions_of(place);
        of.cells.sums(|direction| directions.contains(&direction))
    }

    /// People with a counterfactual: persons, where one may have several rows.
    pub(crate) fn people_moved(&self) -> u64 {
        self.persons(self.scope_index().total())
            .map_or_else(|| self.cell_profiles().total().people(), |all| all.len() as u64)
    }

    /// Each person with a row in some groups, ascending by key, with the rows by whether anything
    /// switches; none where each row is a person, or where there are two groups.
    pub(crate) fn any_persons(
        &self,
        groups: std::ops::Range<usize>,
    ) -> Option<Vec<(u64, [u64; 4])>> {
        Some(self.persons.as_ref()?.any.sums(|group| groups.contains(&group)))
    }

    /// The same with what the rows weigh; none where nobody has a weight.
    pub(crate) fn any_weighed_persons(
        &self,
        groups: std::ops::Range<usize>,
    ) -> Option<Vec<(u64, [u64; 4])>> {
        Some(self.weighed_persons.as_ref()?.any.sums(|group| groups.contains(&group)))
    }

    /// The score sums of a direction in units of weight; none where nobody has a weight.
    pub(crate) fn weight_shift(&self, from: usize, to: usize) -> Option<&ShiftSums> {
        Some(&self.weighed.as_ref()?.shifts[from * self.groups + to])
    }

    /// The extended matrix of a direction, or of all, in units of weight; none where nobody has a
    /// weight.
    pub(crate) fn weight_cells(&self, direction: Option<(usize, usize)>) -> Option<Eccm> {
        let places = self.scope_index();
        self.weight_eccm(direction.map_or(places.total(), |(from, to)| places.direction(from, to)))
    }

    /// The same of a scope by its number.
    pub(crate) fn weight_eccm(&self, place: usize) -> Option<Eccm> {
        Some(Eccm(self.weighed.as_ref()?.cells.sum(self.directions_of(place).into_iter())))
    }

    /// The same block by block, or the rows where a person may have several; else none.
    pub(crate) fn blocks(&self, place: usize) -> Option<Vec<(u64, SwitchCells)>> {
        let of_persons = self.paired.as_ref().filter(|_| self.persons.is_some());
        let cells = self.weighed.as_ref().map(|weighed| &weighed.cells).or(of_persons)?;
        Some(cells.blocks(self.directions_of(place).into_iter()))
    }

    /// The people themselves block by block; none where models are not to be compared, or people
    /// have weights.
    pub(crate) fn paired_blocks(&self, place: usize) -> Option<Vec<(u64, SwitchCells)>> {
        Some(self.paired.as_ref()?.blocks(self.directions_of(place).into_iter()))
    }

    /// What the people of some groups weigh, by whether anything switches, block by block.
    pub(crate) fn any_blocks(
        &self,
        groups: std::ops::Range<usize>,
    ) -> Option<Vec<(u64, [u64; 4])>> {
        Some(self.weighed.as_ref()?.any.blocks(groups))
    }

    /// The numbers of the directions that a scope holds.
    fn directions_of(&self, place: usize) -> Vec<usize> {
        let places = self.scope_index();
        places.directions_of(place).map(|(from, to)| places.direction(from, to)).collect()
    }

    /// The people of every scope, with their extended matrices. Walks over all patterns: ask once.
    pub(crate) fn cell_profiles(&self) -> ScopeCellProfiles {
        ScopeCellProfiles {
            scope_index: self.scope_index(),
            profiles: self.patterns.cell_profiles(),
        }
    }

    /// What people weigh by the cells that they fill, in every scope by its number; none where
    /// nobody has a weight.
    pub(crate) fn weight_profiles(&self) -> Option<Vec<CellProfiles<WeightSums>>> {
        Some(self.weighed.as_ref()?.people.cell_profiles())
    }

    /// The score sums of a direction.
    pub(crate) fn shift(&self, from: usize, to: usize) -> &ShiftSums {
        &self.shifts[from * self.groups + to]
    }

    /// The score sums of all directions together.
    pub(crate) fn shift_total(&self) -> ShiftSums {
        let mut total = ShiftSums::default();
        for sums in &self.shifts {
            total.merge(sums);
        }
        total
    }

    pub(crate) fn scope_index(&self) -> ScopeIndex {
        ScopeIndex { groups: self.groups }
    }

    /// The score sums by the number of the scope, in units of weight where people have weights.
    pub(crate) fn shifts_by_scope(&self) -> Vec<ShiftSums> {
        let places = self.scope_index();
        let mut sums = vec![ShiftSums::default(); places.len()];
        for (from, to) in places.directions() {
            for place in places.scopes_of(from, to) {
                sums[place]
                    .merge(self.weight_shift(from, to).unwrap_or_else(|| self.shift(from, to)));
            }
        }
        sums
    }

    /// Counterfactuals of a group's people that have no score.
    pub(crate) fn n_missing_score(&self, from: usize) -> u64 {
        self.patterns.n_missing(from)
    }

    /// The start of the second pass over the same people, which the Jensen-Shannon distance needs.
    pub(crate) fn second_pass(&self) -> ShiftPass {
        ShiftPass::new(self.scope_index(), &self.shifts_by_scope())
    }
}

impl Accumulator for CounterfactualCounts {
    fn merge(&mut self, other: Self) {
        self.patterns.merge(&other.patterns);
        for (mine, theirs) in self.shifts.iter_mut().zip(&other.shifts) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.paired, &other.paired) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.persons, &other.persons) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.weighed_persons, &other.weighed_persons) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.weighed, &other.weighed) {
            mine.cells.merge(&theirs.cells);
            mine.any.merge(&theirs.any);
            mine.people.merge(&theirs.people);
            for (mine, theirs) in mine.shifts.iter_mut().zip(&theirs.shifts) {
                mine.merge(theirs);
            }
        }
    }
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
