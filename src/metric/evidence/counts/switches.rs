//! Counterfactuals by what is predicted of them and of the person as is.

use std::collections::BTreeMap;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::exec::accumulator::map_as_list;
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::ccm_cells::{PatternTally, ScopeCellProfiles};
use crate::metric::evidence::chunk::{ChunkTerms, PairChunk};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::person::{
    ECCM_CELLS, Eccm, ScoredCounterfactual, ScoredPerson, SwitchCells, cell_index, scored_pair,
};
use crate::metric::evidence::person_sums::PersonSwitchCounts;
use crate::metric::evidence::score_bins::{PARTS, PairParts, SwitchScoreBins};
use crate::metric::evidence::score_grid::{ScoreGrid, SwitchGridCounts};
use crate::metric::evidence::shift::ShiftSums;
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::evidence::supported::SupportedOnly;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums};
use crate::metric::scope::ScopeIndex;
use crate::num::additive::Additive;

/// All counterfactuals under one model, one sensitive attribute and one counterfactual set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CounterfactualCounts {
    groups: usize,
    people: PatternTally,
    /// By direction: from * groups + to.
    shifts: Vec<ShiftSums>,
    /// The same, each by the weight of the person. None where nobody has a weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weighed: Option<Vec<ShiftSums>>,
    /// What the counterfactuals of each cell of the extended matrix weigh, by person and direction.
    /// None where each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonSwitchCounts>,
    /// The counterfactuals for the curves of every threshold. None where none are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grid: Option<SwitchGridCounts>,
    /// The counterfactuals by their scores, for drawing. None where they are not drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bins: Option<SwitchScoreBins>,
    /// Of the cells of the extended matrix those whose two scores agree to single precision, by
    /// direction, as far as any has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rounded: Vec<[WeightSums; ECCM_CELLS]>,
    /// The cells of the unsupported counterfactuals, by direction and bit of the unsupported value.
    #[serde(default, with = "map_as_list", skip_serializing_if = "BTreeMap::is_empty")]
    unsupported: BTreeMap<(usize, u32), SwitchCells>,
    /// The same people by their supported counterfactuals alone, without scores and curves.
    #[serde(default, skip_serializing_if = "SupportedOnly::is_all")]
    supported: SupportedOnly<CounterfactualCounts>,
}

impl CounterfactualCounts {
    /// Nobody yet, for this number of groups.
    pub(crate) fn new(groups: usize) -> Self {
        let shifts = vec![ShiftSums::default(); groups * groups];
        CounterfactualCounts {
            groups,
            people: PatternTally::new(groups, 2),
            shifts,
            weighed: None,
            persons: None,
            grid: None,
            bins: None,
            rounded: Vec::new(),
            unsupported: BTreeMap::new(),
            supported: SupportedOnly::default(),
        }
    }

    /// The same, counted by this unit too.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        let directions = self.groups * self.groups;
        CounterfactualCounts {
            weighed: unit.weighted.then(|| vec![ShiftSums::default(); directions]),
            persons: unit.persons.then(PersonSwitchCounts::new),
            ..self
        }
    }

    /// The same people by their supported counterfactuals alone; none where all are supported.
    pub(crate) fn supported(&self) -> Option<&CounterfactualCounts> {
        self.supported.get()
    }

    /// The cells of the counterfactuals of a direction with an unsupported value, by its bit.
    pub(crate) fn unsupported(
        &self,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = (u32, &SwitchCells)> {
        let direction = from * self.groups + to;
        let of = self.unsupported.range((direction, 0)..(direction + 1, 0));
        of.map(|(&(_, bit), cells)| (bit, cells))
    }

    /// What supported counterfactuals alone give while all are supported: nothing of scores.
    pub(crate) fn without_scores(&self) -> CounterfactualCounts {
        let none = CounterfactualCounts::new(self.groups);
        CounterfactualCounts {
            people: self.people.clone(),
            weighed: self.weighed.as_ref().map(|_| none.shifts.clone()),
            persons: self.persons.clone(),
            ..none
        }
    }

    /// Adds the person by the supported ones of their counterfactuals, before all of them are
    /// added, and who holds which unsupported value.
    fn add_supported(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let is_supported = |cf: &&ScoredCounterfactual| cf.unsupported == 0;
        let all = counterfactuals.iter().all(|cf| is_supported(&cf));
        if all && self.supported.is_all() {
            return;
        }
        let mut supported = std::mem::take(&mut self.supported);
        if let Some(part) = supported.part(all, || self.without_scores()) {
            if all {
                part.add_people_cells(key, person, counterfactuals);
            } else {
                let kept: Vec<_> = counterfactuals.iter().filter(is_supported).copied().collect();
                part.add_people_cells(key, person, &kept);
            }
        }
        self.supported = supported;
        for moved in counterfactuals.iter().filter(|moved| moved.unsupported != 0) {
            let Some((direction, cell)) = self.place_of(person, moved) else { continue };
            let mut bits = moved.unsupported;
            while bits != 0 {
                self.unsupported.entry((direction, bits.trailing_zeros())).or_default()[cell] += 1;
                bits &= bits - 1;
            }
        }
    }

    /// The direction of a counterfactual and its cell; none where a prediction is missing.
    fn place_of(
        &self,
        person: &ScoredPerson,
        moved: &ScoredCounterfactual,
    ) -> Option<(usize, usize)> {
        let (own, other) = person.predicted.zip(moved.predicted)?;
        Some((person.group * self.groups + moved.to, cell_index(person.label, own, other)))
    }

    /// Adds one person by cells, weights and persons.
    fn add_people_cells(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let class = |of: Option<bool>| of.map(usize::from);
        let factual = (person.group, class(person.label), class(person.predicted));
        let moved = counterfactuals.iter().map(|cf| (cf.to, class(cf.predicted)));
        let weight = if self.weighed.is_some() { person.weight } else { 1 };
        self.people.add(factual, moved, weight);
        if let Some(persons) = &mut self.persons {
            persons.add((key, weight, self.groups), person, counterfactuals);
        }
    }

    /// The same where scores are drawn.
    #[must_use]
    pub(crate) fn with_bins(self) -> Self {
        let bins = SwitchScoreBins::new(self.groups, self.is_weighted());
        CounterfactualCounts { bins, ..self }
    }

    /// The counterfactuals by their scores; none where they are not drawn.
    pub(crate) fn bins(&self) -> Option<&SwitchScoreBins> {
        self.bins.as_ref()
    }

    /// The same where curves of every threshold are asked for.
    #[must_use]
    pub(crate) fn with_grid(self, grid: ScoreGrid) -> Self {
        CounterfactualCounts { grid: Some(SwitchGridCounts::new(self.groups, grid)), ..self }
    }

    /// The counterfactuals by the thresholds at which they are positive; none where no curves are
    /// asked for.
    pub(crate) fn grid(&self) -> Option<&SwitchGridCounts> {
        self.grid.as_ref()
    }

    /// Adds the person for the curves of every threshold, in addition to the person.
    pub(crate) fn add_to_grid(
        &mut self,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        if let Some(grid) = &mut self.grid {
            grid.add(person, counterfactuals);
        }
    }

    /// Adds those counterfactuals of the person whose switch is one of rounding, in addition to the
    /// person.
    fn add_rounded(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        for moved in counterfactuals.iter().filter(|moved| moved.rounded) {
            let Some((direction, cell)) = self.place_of(person, moved) else { continue };
            if self.rounded.len() <= direction {
                self.rounded.resize(direction + 1, Default::default());
            }
            self.rounded[direction][cell] += WeightSums::one(person.weight);
        }
    }

    /// The cells of a direction, or of all, whose two scores agree to single precision: in people,
    /// and in units of weight.
    pub(crate) fn rounded(&self, direction: Option<(usize, usize)>) -> [Eccm; 2] {
        let wanted = direction.map(|(from, to)| from * self.groups + to);
        let held = self.rounded.iter().enumerate();
        let held = held.filter(|(i, _)| wanted.is_none_or(|direction| direction == *i));
        let mut sum = [WeightSums::default(); ECCM_CELLS];
        held.for_each(|(_, cells)| sum.absorb(cells));
        [Eccm(sum.map(WeightSums::people)), Eccm(sum.map(WeightSums::sum))]
    }

    /// Whether people have weights.
    pub(crate) fn is_weighted(&self) -> bool {
        self.weighed.is_some()
    }

    /// Number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// [`CounterfactualCounts::add_all`] where nobody has a key.
    #[cfg(test)]
    pub(crate) fn add(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        self.add_all(0, person, counterfactuals);
    }

    /// Adds one person with all their counterfactuals of this set, by itself, by weight and by
    /// unit, whether or not these are supported; a person is added once. `key` is the person's own.
    ///
    /// # Panics
    /// Where a group is not below the number of groups, or a counterfactual leads to the person's
    /// own group: a bug of the caller.
    pub(crate) fn add_all(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        self.add_people_cells(key, person, counterfactuals);
        self.add_rounded(person, counterfactuals);
        for counterfactual in counterfactuals {
            if let Some((cell, score, score_cf)) = scored_pair(person, counterfactual) {
                let direction = person.group * self.groups + counterfactual.to;
                let (people, weighed) = self.shift_sums_mut(direction);
                people.add(cell, score, score_cf, 1);
                if let Some(weighed) = weighed {
                    weighed.add(cell, score, score_cf, person.weight);
                }
            }
        }
    }

    /// The same with those who are counted by their supported counterfactuals alone.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add_all`].
    pub(crate) fn add_person(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        self.add_supported(key, person, counterfactuals);
        self.add_all(key, person, counterfactuals);
    }

    /// Adds one person with all their counterfactuals and what they weigh, by unit too; but nothing
    /// of their scores, which are added in chunks.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add_all`].
    pub(crate) fn add_cells(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        self.add_supported(key, person, counterfactuals);
        self.add_people_cells(key, person, counterfactuals);
        self.add_rounded(person, counterfactuals);
        self.add_to_grid(person, counterfactuals);
    }

    /// Adds the scores of the pairs of a chunk to a direction, with room for their terms.
    /// [`CounterfactualCounts::finish_bins`] belongs to it.
    pub(crate) fn add_chunk(
        &mut self,
        (from, to): (usize, usize),
        chunk: &PairChunk,
        terms: &mut ChunkTerms,
        arch: Arch,
    ) {
        terms.compute(arch, chunk);
        let direction = from * self.groups + to;
        let (people, weighed) = self.shift_sums_mut(direction);
        people.add_chunk(chunk, terms, None);
        if let Some(weighed) = weighed {
            weighed.add_chunk(chunk, terms, Some(&chunk.weight));
        }
        self.add_to_bins(direction, terms.parts(chunk.len()), &chunk.weight);
    }

    /// Adds pairs of a direction by the parts of their scores: to the bins of drawings where they
    /// are kept, else to the coarse bins of the changes.
    fn add_to_bins(&mut self, direction: usize, parts: PairParts<'_>, weights: &[u64]) {
        if let Some(bins) = &mut self.bins {
            return bins.add(direction, parts, weights);
        }
        let [_, _, changes] = parts;
        let (people, weighed) = self.shift_sums_mut(direction);
        let bins = changes.iter().map(|&part| usize::from(part) / PARTS);
        bins.clone().for_each(|bin| people.add_change(bin, 1));
        if let Some(weighed) = weighed {
            bins.zip(weights).for_each(|(bin, &weight)| weighed.add_change(bin, weight));
        }
    }

    /// Makes the coarse bins of the changes from the bins of drawings, where these are kept.
    pub(crate) fn finish_bins(&mut self) {
        let Some(bins) = self.bins.take() else { return };
        for direction in 0..self.groups * self.groups {
            let [cases, weights] = bins.coarse_changes(direction);
            let (people, weighed) = self.shift_sums_mut(direction);
            people.set_changes(cases);
            if let Some(weighed) = weighed {
                weighed.set_changes(weights);
            }
        }
        self.bins = Some(bins);
    }

    /// The score sums of a direction, of people and of what they weigh.
    fn shift_sums_mut(&mut self, direction: usize) -> (&mut ShiftSums, Option<&mut ShiftSums>) {
        let weighed = self.weighed.as_mut().map(|weighed| &mut weighed[direction]);
        (&mut self.shifts[direction], weighed)
    }

    /// The units of a scope, by its number, by the cells of the extended matrix that they fill;
    /// `rows` are those of [`CounterfactualCounts::cell_profiles`].
    pub(crate) fn units(&self, place: usize, rows: &UnitSums) -> UnitSums {
        let persons = self.persons.as_ref();
        rows.with_persons(persons.map(|of| of.units(&self.scope_index().numbers_of(place))))
    }

    /// The persons of some groups by whether anything switches, of more than two groups; none where
    /// each row is a person.
    pub(crate) fn any_persons(&self, groups: std::ops::Range<usize>) -> Option<Vec<UnitKind>> {
        Some(self.persons.as_ref()?.any_units(&groups))
    }

    /// Whether a person may have several rows.
    pub(crate) fn has_persons(&self) -> bool {
        self.persons.is_some()
    }

    /// People with a counterfactual: persons, where one may have several rows.
    pub(crate) fn people_moved(&self) -> u64 {
        let persons = self.persons.as_ref().map(|of| of.cells.units(|_, _| Some(0)).len() as u64);
        persons.unwrap_or_else(|| self.cell_profiles().total().n_rows(|_| true))
    }

    /// The score sums of a direction in units of weight; none where nobody has a weight.
    pub(crate) fn weight_shift(&self, from: usize, to: usize) -> Option<&ShiftSums> {
        Some(&self.weighed.as_ref()?[from * self.groups + to])
    }

    /// The people of every scope by the cells of the extended matrix. Walks over all patterns: ask
    /// once.
    pub(crate) fn cell_profiles(&self) -> ScopeCellProfiles {
        self.people.cell_profiles(self.is_weighted())
    }

    /// The score sums of a direction.
    pub(crate) fn shift(&self, from: usize, to: usize) -> &ShiftSums {
        &self.shifts[from * self.groups + to]
    }

    /// The score sums of all directions together.
    pub(crate) fn shift_total(&self) -> ShiftSums {
        let mut total = ShiftSums::default();
        for sums in &self.shifts {
            total.absorb(sums);
        }
        total
    }

    /// The numbers of the scopes.
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
                    .absorb(self.weight_shift(from, to).unwrap_or_else(|| self.shift(from, to)));
            }
        }
        sums
    }

    /// Counterfactuals of a group's people that have no score.
    pub(crate) fn n_missing_score(&self, from: usize) -> u64 {
        self.people.n_missing(from)
    }

    /// The start of the second pass over the same people, which the Jensen-Shannon distance needs.
    pub(crate) fn second_pass(&self) -> ShiftPass {
        ShiftPass::new(self.scope_index(), &self.shifts_by_scope())
    }

    /// The same with what the intervals of score metrics need.
    pub(crate) fn influence_pass(&self) -> ShiftPass {
        self.second_pass().with_influences(&self.shifts_by_scope(), self.has_persons())
    }
}

additive!(supported CounterfactualCounts {
    people, shifts, weighed, persons, grid, bins, rounded, unsupported
} or without_scores);
