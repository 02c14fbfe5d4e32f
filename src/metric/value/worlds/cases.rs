//! The number of graphs in which each row switches: the evidence for the interval of a mean over
//! graphs.
//!
//! The mean over M graphs of a rate with the same denominator in all of them is a share over M rows
//! for each row: a graph adds one more row to the unit, like one more counterfactual. So a row with
//! n counterfactuals in a scope that switch s times, summed over them and over graphs, is a unit
//! that counts s times in one cell of the extended matrix and M n - s times in another, and the
//! people of a scope are read like those of any other set. Rows of the same kind, n and s are
//! counted together; if a person may have several rows, there are sums for each person.
//!
//! Graphs in which a scope has no value, because their bootstrap has no row of a group, are left
//! out there. A metric whose denominator depends on what switches is not such a share.
//!
//! Memory: about 100 bytes for each scope, number of counterfactuals, kind of rows and number of
//! switches; persons as in [`person_sums`](crate::metric::evidence::person_sums).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::map_as_list;
use crate::metric::Metric;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::person::{ECCM_CELLS, UNLABELLED};
use crate::metric::evidence::person_sums::PersonSwitchCounts;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::measured_value::{CellNumbers, PersonBasis, Subject, SubjectPeople};
use crate::metric::value::scope_people::{ScopePeople, any_groups};
use crate::metric::value::settings::MeasureSettings;

/// The key of rows that are counted together: the number of the scope, the number of
/// counterfactuals there, the kind of the rows (the cell of the extended matrix without a switch),
/// and the number of switches over all graphs. [`switch_cell`] gives the cell with a switch.
type AlikeRows = (usize, u64, usize, u64);

/// The switches of one row into one target group over graphs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TargetSwitches {
    /// The number of counterfactuals.
    pub(super) n: u64,
    /// The number of switches over the graphs that have rows of both groups.
    pub(super) in_both: u64,
    /// The number of switches over the graphs that have rows of every group.
    pub(super) in_all: u64,
}

/// The switches of all people over all graphs; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct GraphCases {
    places: ScopeIndex,
    /// For each scope, by its number, the number of graphs in which it may have a value.
    graphs: Vec<u64>,
    /// The numbers of rows by key; after the scopes come the groups, by whether anything switches.
    #[serde(with = "map_as_list")]
    rows: BTreeMap<AlikeRows, u64>,
    /// The sums of each person's rows, by direction; then the same over the graphs that have rows
    /// of every group, if these differ from the graphs of a direction. None if each row is a
    /// person. Empty cases for a number of groups; `graphs` gives for a scope the number of graphs
    /// in which
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonSwitchCounts>,
}

impl GraphCases {
    /// it may have a value.
    pub(super) fn new(groups: usize, graphs: impl Fn(MetricScope) -> u64) -> Self {
        let places = ScopeIndex { groups };
        let mut by_place = vec![0; places.len()];
        for (place, scope) in places.scopes() {
            by_place[place] = graphs(scope);
        }
        GraphCases { places, graphs: by_place, rows: BTreeMap::new(), persons: None }
    }

    /// The same cases with sums by person.
    pub(super) fn with_persons(self) -> Self {
        GraphCases { persons: Some(PersonSwitchCounts::new()), ..self }
    }

    /// The offset of the sums that are used for several directions together: a graph with rows of
    /// both groups of a direction may lack another group.
    fn sums_at(&self) -> usize {
        let all_graphs = self.graphs[self.places.total()];
        let differs = |(from, to)| self.graphs[self.places.direction(from, to)] != all_graphs;
        let behind = self.places.direction(self.places.groups, 0);
        if self.places.directions().any(differs) { behind } else { 0 }
    }

    /// Adds a row of a kind and a group with its counterfactuals by target group. `any` is the
    /// number of graphs with rows of every group in which any of them switches. `key` is the key of
    /// the person.
    pub(super) fn add(
        &mut self,
        (key, from, kind): (u64, usize, usize),
        targets: &[TargetSwitches],
        any: u64,
    ) {
        let places = self.places;
        let mut add = |place: usize, n: u64, cases: u64| {
            *self.rows.entry((place, n, kind, cases)).or_default() += 1;
        };
        let with_cfs = || targets.iter().enumerate().filter(|(_, target)| target.n > 0);
        for (to, target) in with_cfs() {
            add(places.direction(from, to), target.n, target.in_both);
            if places.has_rest() {
                add(places.rest_to_one(to), target.n, target.in_all);
            }
        }
        let n: u64 = targets.iter().map(|target| target.n).sum();
        let switched: u64 = targets.iter().map(|target| target.in_all).sum();
        add(places.total(), n, switched);
        if places.has_rest() {
            add(places.one_to_rest(from), n, switched);
            add(places.len() + from, 1, any);
        }
        let (sums_at, n_all) = (self.sums_at(), self.graphs[places.total()]);
        let Some(persons) = &mut self.persons else { return };
        for (to, target) in with_cfs() {
            let direction = places.direction(from, to);
            let parts =
                [(0, self.graphs[direction], target.in_both), (sums_at, n_all, target.in_all)];
            for (first, graphs, cases) in parts.into_iter().take(1 + usize::from(sums_at > 0)) {
                let cells = persons.cells.at(key, first + direction);
                cells[kind] += graphs * target.n - cases;
                cells[switch_cell(kind)] += cases;
            }
        }
        if places.has_rest() {
            let cells = persons.any.at(key, from);
            cells[kind % 4] += n_all - any;
            cells[switch_cell(kind % 4)] += any;
        }
    }

    /// The switches of a scope.
    pub(super) fn of_scope<'a>(
        &self,
        (place, scope): (usize, MetricScope),
        settings: &'a MeasureSettings,
    ) -> ScopeCases<'a> {
        let (places, graphs) = (self.places, self.graphs[place]);
        let kinds = |held: Range<usize>, stays: fn(usize) -> usize| {
            let rows = self.rows.range((held.start, 0, 0, 0)..(held.end, 0, 0, 0));
            // The keys of different scopes do not overlap.
            let kinds = ((place as u64) << 32..).zip(rows);
            let kinds = kinds.map(|(key, (&(_, n, kind, cases), &rows))| {
                let stays = stays(kind);
                let mut cells = vec![(stays, graphs * n - cases), (switch_cell(stays), cases)];
                cells.retain(|(_, n)| *n > 0);
                cells.sort_unstable();
                UnitKind { key, cells, sums: WeightSums::ones(rows) }
            });
            kinds.collect::<Vec<UnitKind>>()
        };
        let first = if matches!(scope, MetricScope::Direction(..)) { 0 } else { self.sums_at() };
        let held: Vec<usize> = places.numbers_of(place).iter().map(|n| first + n).collect();
        let persons = self.persons.as_ref().map(|persons| persons.units(&held));
        let units = UnitSums::new(ECCM_CELLS, false, kinds(place..place + 1, |kind| kind), persons);
        let any = any_groups(places, scope).map(|groups| {
            let persons = self.persons.as_ref().map(|persons| persons.any_units(&groups));
            let rows = places.len() + groups.start..places.len() + groups.end;
            UnitSums::new(ECCM_CELLS, false, kinds(rows, |kind| UNLABELLED + kind % 4), persons)
        });
        ScopeCases { graphs, people: ScopePeople::of_units(units, any, settings) }
    }
}

additive!(GraphCases { rows, persons });

/// The cell of a counterfactual that switches, from its cell without a switch.
fn switch_cell(stays: usize) -> usize {
    stays ^ 1
}

/// The people of one scope over graphs; each graph adds one more row to every person.
pub(super) struct ScopeCases<'a> {
    /// The number of graphs in which the scope may have a value.
    graphs: u64,
    pub(super) people: ScopePeople<'a>,
}

impl ScopeCases<'_> {
    /// The mean over graphs of a metric as a share, from the denominator in each graph; none if it
    /// is not a share.
    pub(super) fn share(&self, metric: &'static Metric, in_each: u64) -> Option<Share> {
        let below = |by| Some(self.people.rate(metric, by)?.denominator);
        let mut cells = 0..self.people.units(metric).rows().len();
        let depends = |cell| below(CellNumbers::Alone(cell)) != below(CellNumbers::Alone(cell ^ 1));
        if below(CellNumbers::People)? != in_each * self.graphs || cells.any(depends) {
            return None;
        }
        self.people.share(metric)
    }

    /// The persons behind a value, and the largest number of rows of one person. If the denominator
    /// depends on what switches, only a lower bound of its persons is known: `cases`, the smallest
    /// denominator of all graphs, divided by the largest number of counterfactuals of one person.
    /// None if each row is a person.
    pub(super) fn persons(
        &self,
        metric: &'static Metric,
        share: Option<&Share>,
        cases: Option<u64>,
    ) -> Option<(SubjectPeople, u64)> {
        let graphs = self.graphs.max(1);
        let rows = |kind: &UnitKind| {
            let held = kind.cells.iter().filter(|(cell, _)| self.people.counts(metric, *cell));
            held.map(|(_, n)| n).sum::<u64>() / graphs
        };
        let units = &self.people.units;
        let each = || units.kinds().iter().map(rows).filter(|n| *n > 0);
        let most = units.are_persons().then(|| each().fold(1, u64::max))?;
        let n = each().count() as u64;
        let at_least = |cases: u64| cases.div_ceil(most).min(n);
        let denominator = share.map(|share| share.n_units).or_else(|| cases.map(at_least));
        // The units by whether anything switches have one case per row.
        let any = self.people.any.iter().flat_map(UnitSums::kinds);
        let rows = any.map(|kind| kind.cells.iter().map(|(_, n)| n).sum::<u64>() / graphs).max();
        let persons = Some(PersonBasis { n, denominator });
        Some((SubjectPeople { n, cases: None, persons }, rows.unwrap_or(most).max(1)))
    }

    /// The number of different persons that a metric counts in either of two scopes; none if each
    /// row is a person.
    pub(super) fn persons_with(&self, other: &Self, metric: &'static Metric) -> Option<u64> {
        let units = [self, other].map(|scope| &scope.people.units);
        UnitSums::n_together(units.into_iter(), |cell| self.people.counts(metric, cell))
    }
}
