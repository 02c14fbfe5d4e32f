//! The first pass over people with their counterfactuals: counts by the factual and the
//! counterfactual prediction, and sums of scores.
//!
//! Pairs of scores are buffered by group and computed in chunks (see
//! [`chunk`](crate::metric::evidence::chunk)). The sums of a chunk are made in registers and added
//! to those of the direction once. Sums do not depend on the order of the people or on how they
//! are divided. Weights, comparisons and patterns of people are added person by person.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::exec::accumulator::map_as_list;
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::ccm_cells::PatternTally;
use crate::metric::evidence::chunk::{ChunkTerms, PairChunk};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::person::{
    ECCM_CELLS, Eccm, ScoredCounterfactual, ScoredPerson, SwitchCells, cell_index,
};
use crate::metric::evidence::person_sums::PersonSwitchCounts;
use crate::metric::evidence::score_bins::SwitchScoreBins;
use crate::metric::evidence::score_grid::{ScoreGrid, SwitchGridCounts};
use crate::metric::evidence::shift::ShiftSums;
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums};
use crate::metric::evidence::waiting_pairs::WaitingPairs;
#[cfg(test)]
use crate::metric::scope::MetricScope;
use crate::metric::scope::ScopeIndex;
use crate::num::additive::Additive;
use crate::num::vectors::run_with_vectors;

thread_local! {
    /// The buffers of a thread for computing chunks of pairs; all counts use them in turn.
    static CHUNK_OF_THREAD: RefCell<(Box<PairChunk>, Box<ChunkTerms>)> =
        RefCell::new((Box::new(PairChunk::new()), ChunkTerms::new()));
}

/// The largest number of buffered pairs.
const WAITING: usize = 1 << 19;

/// All counterfactuals under one model, one sensitive attribute and one counterfactual set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CounterfactualCounts {
    groups: usize,
    people: PatternTally,
    /// By direction: from * groups + to.
    shifts: Vec<ShiftSums>,
    /// The same, each by the weight of the person. None without weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weighed: Option<Vec<ShiftSums>>,
    /// The weight of the counterfactuals in each cell of the extended matrix, by person and
    /// direction. None if each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonSwitchCounts>,
    /// The counterfactuals for the curves over all thresholds, if these are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grid: Option<SwitchGridCounts>,
    /// The counterfactuals by their scores, if these are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bins: Option<SwitchScoreBins>,
    /// People by cell of the extended matrix whose two scores agree to single precision, by
    /// direction; only as many directions as needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rounded: Vec<[WeightSums; ECCM_CELLS]>,
    /// The cells of the unsupported counterfactuals, by direction and bit of the unsupported value.
    #[serde(default, with = "map_as_list", skip_serializing_if = "BTreeMap::is_empty")]
    unsupported: BTreeMap<(usize, u32), SwitchCells>,
    /// The same people by only their supported counterfactuals, without scores and curves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supported: Option<Box<CounterfactualCounts>>,
    /// People with a pair of scores.
    pub(crate) n_scored: u64,
    /// The buffered pairs; empty once the pass is settled.
    #[serde(skip)]
    waiting: WaitingPairs,
}

impl CounterfactualCounts {
    /// Empty counts for a number of groups.
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
            supported: None,
            n_scored: 0,
            waiting: WaitingPairs::default(),
        }
    }

    /// The same counts with the sums that this unit needs.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        let directions = self.groups * self.groups;
        CounterfactualCounts {
            weighed: unit.weighted.then(|| vec![ShiftSums::default(); directions]),
            persons: unit.persons.then(PersonSwitchCounts::new),
            ..self
        }
    }

    /// The cells of the counterfactuals of a direction with an unsupported value, by its bit.
    pub(crate) fn unsupported(
        &self,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = (u32, &SwitchCells)> {
        let direction = from * self.groups + to;
        let cells = self.unsupported.range((direction, 0)..(direction + 1, 0));
        cells.map(|(&(_, bit), cells)| (bit, cells))
    }

    /// The sums over the supported counterfactuals, while all are supported, without scores.
    pub(crate) fn without_scores(&self) -> CounterfactualCounts {
        let empty = CounterfactualCounts::new(self.groups);
        CounterfactualCounts {
            people: self.people.clone(),
            weighed: self.weighed.as_ref().map(|_| empty.shifts.clone()),
            persons: self.persons.clone(),
            ..empty
        }
    }

    /// Adds the person with only the supported counterfactuals, and counts the unsupported values
    /// of the others. Call it before all counterfactuals are added.
    fn add_supported(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let is_supported = |cf: &&ScoredCounterfactual| cf.unsupported == 0;
        let all_supported = counterfactuals.iter().all(|cf| is_supported(&cf));
        if all_supported && self.supported.is_none() {
            return;
        }
        if let Some(part) = self.supported_part(all_supported) {
            if all_supported {
                part.add_people_cells(key, person, counterfactuals);
            } else {
                let kept: Vec<_> = counterfactuals.iter().filter(is_supported).copied().collect();
                part.add_people_cells(key, person, &kept);
            }
        }
        for cf in counterfactuals.iter().filter(|cf| cf.unsupported != 0) {
            let Some((direction, cell)) = self.place_of(person, cf) else { continue };
            let mut bits = cf.unsupported;
            while bits != 0 {
                self.unsupported.entry((direction, bits.trailing_zeros())).or_default()[cell] += 1;
                bits &= bits - 1;
            }
        }
    }

    /// The direction of a counterfactual and its cell; none if a prediction is missing.
    fn place_of(&self, person: &ScoredPerson, cf: &ScoredCounterfactual) -> Option<(usize, usize)> {
        let (predicted, predicted_cf) = person.predicted.zip(cf.predicted)?;
        Some((
            person.group * self.groups + cf.to,
            cell_index(person.label, predicted, predicted_cf),
        ))
    }

    /// Adds one person by cells, weights and persons.
    fn add_people_cells(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let class = |side: Option<bool>| side.map(usize::from);
        let factual = (person.group, class(person.label), class(person.predicted));
        let outcomes = counterfactuals.iter().map(|cf| (cf.to, class(cf.predicted)));
        let weight = if self.weighed.is_some() { person.weight } else { 1 };
        self.people.add(factual, outcomes, weight);
        if let Some(persons) = &mut self.persons {
            persons.add((key, weight, self.groups), person, counterfactuals);
        }
    }

    /// The same counts with empty bins for drawing scores.
    #[must_use]
    pub(crate) fn with_bins(self) -> Self {
        let bins = SwitchScoreBins::new(self.groups, self.is_weighted());
        CounterfactualCounts { bins, ..self }
    }

    /// The same counts with an empty grid for curves over all thresholds.
    #[must_use]
    pub(crate) fn with_grid(self, grid: ScoreGrid) -> Self {
        CounterfactualCounts { grid: Some(SwitchGridCounts::new(self.groups, grid)), ..self }
    }

    /// Counts the counterfactuals of the person that switch only by rounding, in addition to the
    /// person.
    fn add_rounded(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        for cf in counterfactuals.iter().filter(|cf| cf.rounded) {
            let Some((direction, cell)) = self.place_of(person, cf) else { continue };
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

    /// Adds one person without a key and without buffering.
    #[cfg(test)]
    pub(crate) fn add(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        self.add_person(0, person, counterfactuals);
        self.settle();
    }

    /// Adds one person with all their counterfactuals of this set; a person is added once. `key` is
    /// the person's own.
    ///
    /// # Panics
    /// Where a group is not below the number of groups, or a counterfactual leads to the person's
    /// own group: a bug of the caller.
    pub(crate) fn add_person(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        self.add_supported(key, person, counterfactuals);
        self.add_all(key, person, counterfactuals, WAITING);
    }

    /// As [`Self::add_person`], without the sums over supported counterfactuals, and with a limit
    /// on the buffered pairs.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add_person`].
    pub(crate) fn add_all(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
        max_waiting: usize,
    ) {
        self.add_people_cells(key, person, counterfactuals);
        self.add_rounded(person, counterfactuals);
        if let Some(grid) = &mut self.grid {
            grid.add(person, counterfactuals);
        }
        let full = self.waiting.push(key, person, counterfactuals, (self.groups, max_waiting));
        self.n_scored += u64::from(full.is_some());
        if full == Some(true) {
            self.settle_group(person.group);
        }
    }

    /// Adds the buffered pairs of all groups.
    pub(crate) fn settle(&mut self) {
        for from in 0..self.groups {
            self.settle_group(from);
        }
        self.waiting = WaitingPairs::default();
    }

    /// Adds the buffered pairs of a group.
    fn settle_group(&mut self, from: usize) {
        let Some(group) = self.waiting.group(from) else { return };
        let arch = Arch::new();
        CHUNK_OF_THREAD.with_borrow_mut(|(chunk, terms)| {
            group.each_chunk(chunk, |to, chunk, _| {
                let direction = from * self.groups + to;
                run_with_vectors(arch, (&mut **terms, chunk));
                self.shifts[direction].add_chunk(chunk, terms, None);
                if let Some(weighed) = &mut self.weighed {
                    weighed[direction].add_chunk(chunk, terms, Some(&chunk.weight));
                }
                if let Some(bins) = &mut self.bins {
                    bins.add(direction, terms.parts(chunk.len()), &chunk.weight);
                }
            });
        });
        group.clear();
    }

    /// The units of a scope, by its number, by the cells of the extended matrix; `rows` come from
    /// [`CounterfactualCounts::cell_profiles`].
    pub(crate) fn units(&self, place: usize, rows: &UnitSums) -> UnitSums {
        let persons = self.persons.as_ref();
        rows.with_persons(persons.map(|p| p.units(&self.scope_index().numbers_of(place))))
    }

    /// The persons of some groups by whether anything switches, if there are more than two groups;
    /// none if each row is a person.
    pub(crate) fn any_persons(&self, groups: std::ops::Range<usize>) -> Option<Vec<UnitKind>> {
        Some(self.persons.as_ref()?.any_units(&groups))
    }

    /// The number of people with a counterfactual; of persons if a person may have several rows.
    pub(crate) fn people_moved(&self) -> u64 {
        let persons = self.persons.as_ref().map(|persons| persons.cells.n_persons(|_, _| true));
        persons.unwrap_or_else(|| self.people.n_moved())
    }

    /// The score sums of a direction in units of weight; none without weights.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::shift`].
    pub(crate) fn weight_shift(&self, from: usize, to: usize) -> Option<&ShiftSums> {
        Some(&self.settled().weighed.as_ref()?[from * self.groups + to])
    }

    /// The people of every scope, by its number, by the cells of the extended matrix, as rows.
    /// Walks over all patterns: call it once.
    pub(crate) fn cell_profiles(&self) -> Vec<UnitSums> {
        let cell = |label: Option<usize>, before, after| {
            cell_index(label.map(|label| label == 1), before == 1, after == 1)
        };
        self.people.units(ECCM_CELLS, self.is_weighted(), cell)
    }

    /// The extended matrix of a scope; none if two groups have no such scope.
    #[cfg(test)]
    pub(crate) fn eccm(&self, scope: MetricScope) -> Option<Eccm> {
        let (place, _) = self.scope_index().scopes().find(|(_, found)| *found == scope)?;
        Some(self.cell_profiles()[place].eccm())
    }

    /// These counts, which must be settled.
    ///
    /// # Panics
    /// If pairs are still buffered: a bug of the caller.
    fn settled(&self) -> &Self {
        assert!(self.waiting.is_empty(), "the first pass is not settled");
        self
    }

    /// The score sums of a direction.
    ///
    /// # Panics
    /// If pairs are still buffered: a bug of the caller.
    pub(crate) fn shift(&self, from: usize, to: usize) -> &ShiftSums {
        &self.settled().shifts[from * self.groups + to]
    }

    /// The score sums of all directions together.
    pub(crate) fn shift_total(&self) -> ShiftSums {
        let mut total = ShiftSums::default();
        self.settled().shifts.iter().for_each(|sums| total.absorb(sums));
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

    /// The number of counterfactuals without a score, for the people of a group.
    pub(crate) fn n_missing_score(&self, from: usize) -> u64 {
        self.people.n_missing(from)
    }

    /// The start of the second pass over the same people, which the Jensen-Shannon distance needs.
    pub(crate) fn second_pass(&self) -> ShiftPass {
        ShiftPass::new(self.scope_index(), &self.shifts_by_scope())
    }

    /// As [`Self::second_pass`], with what the intervals of score metrics need.
    pub(crate) fn influence_pass(&self) -> ShiftPass {
        self.second_pass().with_influences(&self.shifts_by_scope(), self.persons.is_some())
    }
}

additive!(supported CounterfactualCounts {
    people, shifts, weighed, persons, grid, bins, rounded, unsupported, n_scored, waiting
} or without_scores);

additive!(settled CounterfactualCounts);

#[cfg(test)]
mod tests {
    use super::CounterfactualCounts;
    use crate::exec::accumulator::Accumulator;
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
    use crate::num::seed::{RandomStream, h};

    type KeyedPeople = Vec<(u64, ScoredPerson, Vec<ScoredCounterfactual>)>;

    /// Random people, some without label, score or counterfactual, with several counterfactuals in
    /// a group now and then.
    fn people(groups: usize, n: usize, weighted: bool) -> KeyedPeople {
        let mut stream = RandomStream::new(4, &format!("gather/{groups}"));
        (0..n)
            .map(|i| {
                let own = stream.u01();
                let known = |s: f64, u: f64| (u > 0.03).then_some(s);
                let score = known(own, stream.u01());
                let group = stream.u64() as usize % groups;
                let mut moved = Vec::new();
                for to in (0..groups).filter(|&to| to != group) {
                    for _ in 0..[1, 1, 1, 1, 0, 3][stream.u64() as usize % 6] {
                        let near = own * (0.7 + 0.5 * stream.u01()) + 0.01 * to as f64;
                        let score = known(near.min(1.0), stream.u01());
                        let predicted = score.map(|s| s >= 0.5);
                        moved.push(ScoredCounterfactual::to(to, predicted, score));
                    }
                }
                let label = [None, Some(true), Some(false)][stream.u64() as usize % 3];
                let weight = if weighted { stream.u64() % 1_000_000 } else { 1 };
                let predicted = score.map(|s| s >= 0.5);
                (i as u64 * 77, ScoredPerson { group, label, predicted, score, weight }, moved)
            })
            .collect()
    }

    fn no_counts(groups: usize, weighted: bool) -> CounterfactualCounts {
        let counts = CounterfactualCounts::new(groups);
        if weighted { counts.counted_by(CountingUnit::WEIGHT) } else { counts }
    }

    /// The counts person by person.
    fn counted(people: &KeyedPeople, groups: usize, weighted: bool) -> CounterfactualCounts {
        let mut counts = no_counts(groups, weighted);
        for (key, person, cfs) in people {
            counts.add_people_cells(*key, person, cfs);
            let pairs = || cfs.iter().filter_map(|cf| Some((cf.to, scored_pair(person, cf)?)));
            counts.n_scored += u64::from(pairs().next().is_some());
            for (to, (cell, score, score_cf)) in pairs() {
                let direction = person.group * groups + to;
                counts.shifts[direction].add(cell, score, score_cf, 1);
                if let Some(weighed) = &mut counts.weighed {
                    weighed[direction].add(cell, score, score_cf, person.weight);
                }
            }
        }
        counts
    }

    /// Gathers people in parts, merged last first.
    fn gathered(
        people: &KeyedPeople,
        empty: &CounterfactualCounts,
        parts: u64,
    ) -> CounterfactualCounts {
        let mut states = vec![empty.clone(); parts as usize];
        for (i, (key, person, cfs)) in people.iter().enumerate() {
            let part = &mut states[(h(parts, *key, 1) % parts) as usize];
            part.add_person(*key, person, cfs);
            if i % 1000 == 17 {
                part.settle();
            }
        }
        let mut whole = states.pop().unwrap();
        states.into_iter().rev().for_each(|part| whole.merge(part));
        whole.settle();
        whole
    }

    /// The counts are those of people added one by one, regardless of how people are divided.
    #[test]
    fn chunks_are_people_one_by_one() {
        for (groups, n, weighted) in
            [(1, 50, false), (2, 3000, false), (2, 3000, true), (5, 2500, false), (8, 1500, true)]
        {
            let people = people(groups, n, weighted);
            let counts = counted(&people, groups, weighted);
            for parts in [1, 2, 7] {
                let empty = no_counts(groups, weighted);
                let found = gathered(&people, &empty, parts);
                assert_eq!(found, counts, "{groups} {parts}");
                assert_eq!(found.n_scored, counts.people_moved());
                // Finer bins for drawings do not change the sums.
                let drawn = gathered(&people, &empty.with_bins(), parts);
                for (from, to) in counts.scope_index().directions() {
                    let sums = |counts: &CounterfactualCounts| {
                        (counts.shift(from, to).clone(), counts.weight_shift(from, to).cloned())
                    };
                    assert_eq!(sums(&drawn), sums(&counts), "{groups} {parts}");
                }
            }
        }
    }
}
