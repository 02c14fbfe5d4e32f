//! In how many graphs each row switches: the evidence behind the interval of a mean over graphs.
//!
//! The mean over M graphs of a rate whose denominator is the same in all of them is a share of M
//! rows for each row: a graph adds one more row to the unit, as another counterfactual does. So a
//! row with n counterfactuals in a scope that switch s times, summed over them and over graphs, is
//! a unit that fills one cell of the extended matrix s times and another one M n - s times, and the
//! people of a scope are read as those of any other set. Rows of the same kind, n and s are alike;
//! where a person may have several rows, the sums of each person are known.
//!
//! Graphs in which a scope has no value, because their bootstrap saw no row of a group, are left
//! out there. A metric whose denominator depends on what switches is not such a share.
//!
//! Memory: some 100 bytes for each scope, number of counterfactuals, kind of rows and number of
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

/// What rows have in common that are alike in a scope: its number, their number of counterfactuals
/// there, their kind, which is the cell of the extended matrix where they stay, and how often these
/// switch over all graphs. The cell where they switch is next to that, see [`switch_cell`].
type AlikeRows = (usize, u64, usize, u64);

/// The switches of one row into one target group over graphs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TargetSwitches {
    /// Its counterfactuals there.
    pub(super) n: u64,
    /// How often they switch over the graphs that saw both groups.
    pub(super) in_both: u64,
    /// The same over the graphs that saw every group.
    pub(super) in_all: u64,
}

/// The switches of everybody over all graphs; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct GraphCases {
    places: ScopeIndex,
    /// For each scope by its number the graphs in which it may have a value.
    graphs: Vec<u64>,
    /// How many rows are alike; after the scopes come the groups, by whether anything switches.
    #[serde(with = "map_as_list")]
    rows: BTreeMap<AlikeRows, u64>,
    /// What the rows of each person add to the cells, by direction; then the same over the graphs
    /// that saw every group, where others saw both groups of a direction too. None where each row
    /// is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonSwitchCounts>,
}

impl GraphCases {
    /// Empty, for this many groups; `graphs` is in how many graphs a scope may have a value.
    pub(super) fn new(groups: usize, graphs: impl Fn(MetricScope) -> u64) -> Self {
        let places = ScopeIndex { groups };
        let mut by_place = vec![0; places.len()];
        for (place, scope) in places.scopes() {
            by_place[place] = graphs(scope);
        }
        GraphCases { places, graphs: by_place, rows: BTreeMap::new(), persons: None }
    }

    /// These cases where a person may have several rows.
    pub(super) fn with_persons(self) -> Self {
        GraphCases { persons: Some(PersonSwitchCounts::new()), ..self }
    }

    /// Where sums over several directions find those of the first: not all graphs that saw both
    /// groups of a direction saw all.
    fn sums_at(&self) -> usize {
        let all = self.graphs[self.places.total()];
        let differs = |(from, to)| self.graphs[self.places.direction(from, to)] != all;
        let behind = self.places.direction(self.places.groups, 0);
        if self.places.directions().any(differs) { behind } else { 0 }
    }

    /// Adds a row of a kind and a group with its counterfactuals by target group, and in how many
    /// of the graphs that saw every group any of them switches. `key` is the person's own.
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
        let there = || targets.iter().enumerate().filter(|(_, target)| target.n > 0);
        for (to, target) in there() {
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
        let (sums_at, all) = (self.sums_at(), self.graphs[places.total()]);
        let Some(persons) = &mut self.persons else { return };
        for (to, target) in there() {
            let direction = places.direction(from, to);
            let both = [(0, self.graphs[direction], target.in_both), (sums_at, all, target.in_all)];
            for (first, graphs, cases) in both.into_iter().take(1 + usize::from(sums_at > 0)) {
                let cells = persons.cells.at(key, first + direction);
                cells[kind] += graphs * target.n - cases;
                cells[switch_cell(kind)] += cases;
            }
        }
        if places.has_rest() {
            let cells = persons.any.at(key, from);
            cells[kind % 4] += all - any;
            cells[switch_cell(kind % 4)] += any;
        }
    }

    /// The switches of a scope, by its number and by what it is.
    pub(super) fn of_scope<'a>(
        &self,
        (place, scope): (usize, MetricScope),
        settings: &'a MeasureSettings,
    ) -> ScopeCases<'a> {
        let (places, graphs) = (self.places, self.graphs[place]);
        let kinds = |held: Range<usize>, stays: fn(usize) -> usize| {
            let rows = self.rows.range((held.start, 0, 0, 0)..(held.end, 0, 0, 0));
            // No kind of another scope has such a number.
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
        let persons = self.persons.as_ref().map(|of| of.units(&held));
        let units = UnitSums::new(ECCM_CELLS, false, kinds(place..place + 1, |kind| kind), persons);
        let any = any_groups(places, scope).map(|groups| {
            let persons = self.persons.as_ref().map(|of| of.any_units(&groups));
            let rows = places.len() + groups.start..places.len() + groups.end;
            UnitSums::new(ECCM_CELLS, false, kinds(rows, |kind| UNLABELLED + kind % 4), persons)
        });
        ScopeCases { graphs, people: ScopePeople::of_units(units, any, settings) }
    }
}

additive!(GraphCases { rows, persons });

/// The cell of a counterfactual that switches, next to the one where it stays.
fn switch_cell(stays: usize) -> usize {
    stays ^ 1
}

/// The people of one scope over graphs, each graph being one more row of everybody.
pub(super) struct ScopeCases<'a> {
    /// The graphs in which the scope may have a value.
    graphs: u64,
    pub(super) people: ScopePeople<'a>,
}

impl ScopeCases<'_> {
    /// The share that the mean over graphs of a metric is, with its denominator in each graph; none
    /// where it is not a share.
    pub(super) fn share(&self, metric: &'static Metric, in_each: u64) -> Option<Share> {
        let below = |by| Some(self.people.rate(metric, by)?.denominator);
        let mut cells = 0..self.people.units(metric).rows().len();
        let depends = |cell| below(CellNumbers::Alone(cell)) != below(CellNumbers::Alone(cell ^ 1));
        if below(CellNumbers::People)? != in_each * self.graphs || cells.any(depends) {
            return None;
        }
        self.people.share(metric)
    }

    /// The persons behind a value. Where its denominator depends on what switches, no more is
    /// known of those below it than that there are at least as many as `cases`, those that every
    /// graph has at least, over the most counterfactuals of one person. With the most rows that a
    /// person has. None where each row is a person.
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
        // Whether any counterfactual of a row switches is known once per row.
        let any = self.people.any.iter().flat_map(UnitSums::kinds);
        let rows = any.map(|kind| kind.cells.iter().map(|(_, n)| n).sum::<u64>() / graphs).max();
        let persons = Some(PersonBasis { n, denominator });
        Some((SubjectPeople { n, cases: None, persons }, rows.unwrap_or(most).max(1)))
    }

    /// The different persons whom a metric counts in either of two places; none where each row is a
    /// person.
    pub(super) fn persons_with(&self, other: &Self, metric: &'static Metric) -> Option<u64> {
        let units = [self, other].map(|of| &of.people.units);
        UnitSums::n_together(units.into_iter(), |cell| self.people.counts(metric, cell))
    }
}
