//! In how many graphs each row switches: the evidence behind the interval of a mean over graphs.
//!
//! The mean over M graphs of a rate whose denominator is the same in all of them is a share of M
//! rows for each row: a graph adds one more row to the unit, as another counterfactual does. A row
//! with n counterfactuals in a scope that switch s times, summed over them and over graphs, has M n
//! such rows, s of them switched. So of the rows of each kind the number, the sum of s and that of
//! s^2 say all that a [`Share`] needs; where a person may have several rows, the sums of each
//! person do.
//!
//! Graphs in which a scope has no value, because their bootstrap saw no row of a group, are left
//! out there. Metrics whose denominators depend on what switches are no such share.
//!
//! Memory: 240 bytes for each scope and number of counterfactuals, regardless of the number of
//! rows and of graphs; persons as in [`person_sums`](crate::metric::evidence::person_sums).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::catalog::ccm::switch_rate;
use crate::metric::estimate::share::{Share, UnitsBelow};
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::outcome_patterns::AnySwitch;
use crate::metric::evidence::person::{ECCM_CELLS, Eccm};
use crate::metric::evidence::person_sums::PersonSwitchCounts;
use crate::metric::evidence::units::{WeightSums, distinct};
use crate::metric::rate::{Rate, Undefined};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::measured_value::{PersonBasis, ValuePeople};
use crate::metric::value::scope_people::any_groups;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, Reads};

/// Rows by label (no, yes, not known) and prediction: at 2 label + prediction.
const KINDS: usize = 6;

/// The kind of a row.
pub(super) fn kind(label: Option<bool>, predicted: bool) -> usize {
    2 * label.map_or(2, usize::from) + usize::from(predicted)
}

/// Rows of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct SwitchedRows {
    rows: u64,
    /// How often their counterfactuals switch over all graphs.
    cases: u64,
    /// The sum of the squares of that by row.
    squares: u128,
}

impl SwitchedRows {
    fn add(&mut self, cases: u64) {
        self.rows += 1;
        self.cases += cases;
        self.squares += u128::from(cases) * u128::from(cases);
    }

    /// The sum over rows of the squares of what they differ by from their mean.
    fn within(&self) -> f64 {
        let (rows, cases) = (u128::from(self.rows), u128::from(self.cases));
        (rows * self.squares - cases * cases) as f64 / self.rows as f64
    }
}

/// The rows of a scope by their number of counterfactuals there, then by kind.
type RowsOfScope = BTreeMap<u64, [SwitchedRows; KINDS]>;

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
    /// By number of the scope; then of each group the rows by whether anything switches.
    rows: Vec<RowsOfScope>,
    /// What the rows of each person add to the cells, by direction; then the same over the graphs
    /// that saw every group, where others saw both groups of a direction too. None where each row
    /// is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonSwitchCounts>,
}

impl GraphCases {
    /// Nobody yet, of so many groups; `graphs` is in how many graphs a scope may have a value.
    pub(super) fn new(groups: usize, graphs: impl Fn(MetricScope) -> u64) -> Self {
        let places = ScopeIndex::new(groups);
        let mut by_place = vec![0; places.len()];
        for (place, scope) in places.scopes() {
            by_place[place] = graphs(scope);
        }
        let rows = vec![RowsOfScope::new(); places.len() + groups];
        GraphCases { places, graphs: by_place, rows, persons: None }
    }

    /// The same where a person may have several rows.
    pub(super) fn with_persons(self) -> Self {
        GraphCases { persons: Some(PersonSwitchCounts::new()), ..self }
    }

    /// Where sums over several directions find those of the first: not all graphs that saw both
    /// groups of a direction saw all.
    fn sums_at(&self) -> usize {
        let all = self.graphs[self.places.total()];
        let differs = |(from, to)| self.graphs[self.places.direction(from, to)] != all;
        if self.places.directions().any(differs) { self.directions() } else { 0 }
    }

    fn directions(&self) -> usize {
        self.places.direction(self.groups(), 0)
    }

    fn groups(&self) -> usize {
        self.rows.len() - self.places.len()
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
            self.rows[place].entry(n).or_default()[kind].add(cases);
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
                cells[switch_cell(kind, false)] += graphs * target.n - cases;
                cells[switch_cell(kind, true)] += cases;
            }
        }
        if places.has_rest() {
            let cells = persons.any.at(key, from);
            cells[any_cell(kind, false)] += all - any;
            cells[any_cell(kind, true)] += any;
        }
    }

    /// Those of a scope, by its number and by what it is.
    pub(super) fn of_scope(&self, place: usize, scope: MetricScope) -> ScopeCases {
        let (places, graphs) = (self.places, self.graphs[place]);
        let kinds = |place: usize| {
            let of =
                self.rows[place].iter().flat_map(|(&n, kinds)| (0..).zip(kinds).zip([n; KINDS]));
            let there = of.filter(|((_, sums), _)| sums.rows > 0);
            there.map(|((kind, sums), n)| RowKind { kind, n, sums: *sums })
        };
        let first = if matches!(scope, MetricScope::Direction(..)) { 0 } else { self.sums_at() };
        let held: Vec<usize> = places.numbers_of(place).iter().map(|n| first + n).collect();
        let (groups, persons) = (any_groups(places, scope), self.persons.as_ref());
        let any = groups.clone().into_iter().flatten();
        let first_key = (place as u64) << 32;
        ScopeCases {
            cells: CasesByCell {
                graphs,
                first_key,
                kinds: kinds(place).collect(),
                persons: persons.map(|of| of.cells.sums(|direction| held.contains(&direction))),
                cell: switch_cell,
            },
            any: CasesByCell {
                graphs,
                first_key,
                kinds: any.flat_map(|from| kinds(places.len() + from)).collect(),
                persons: persons
                    .zip(groups)
                    .map(|(of, groups)| of.any.sums(|group| groups.contains(&group))),
                cell: any_cell,
            },
        }
    }
}

additive!(SwitchedRows { rows, cases, squares });
additive!(GraphCases { rows, persons });

/// The cell of the extended matrix of a counterfactual of a row of this kind.
fn switch_cell(kind: usize, switches: bool) -> usize {
    2 * kind + ((kind % 2) ^ usize::from(switches))
}

/// The same by whether anything switches.
fn any_cell(kind: usize, switches: bool) -> usize {
    AnySwitch::index(kind % 2 == 1, switches)
}

/// Rows of one kind with so many counterfactuals each.
#[derive(Debug, Clone, Copy)]
struct RowKind {
    kind: usize,
    n: u64,
    sums: SwitchedRows,
}

/// The rows of a scope by a matrix of N cells.
struct CasesByCell<const N: usize> {
    graphs: u64,
    /// No row of another scope has a number from here on.
    first_key: u64,
    kinds: Vec<RowKind>,
    persons: Option<Vec<(u64, [u64; N])>>,
    cell: fn(usize, bool) -> usize,
}

impl<const N: usize> CasesByCell<N> {
    /// The mean over graphs of a rate; none where its denominator depends on what switches, where
    /// nothing is below it, and where not so many cases of these rows are in each graph.
    fn share(&self, of: impl Fn(&[u64; N]) -> Rate, in_each: Option<u64>) -> Option<Share> {
        let one = |kind: usize, switches: bool| {
            let mut cells = [0; N];
            cells[(self.cell)(kind, switches)] = 1;
            of(&cells)
        };
        let depends = |kind| one(kind, false).denominator != one(kind, true).denominator;
        if (0..KINDS).any(depends) {
            return None;
        }
        let mut cells = [0; N];
        for RowKind { kind, n, sums } in &self.kinds {
            cells[(self.cell)(*kind, false)] += self.graphs * n * sums.rows - sums.cases;
            cells[(self.cell)(*kind, true)] += sums.cases;
        }
        let rate = of(&cells);
        if in_each.is_some_and(|cases| cases * self.graphs != rate.denominator) {
            return None;
        }
        let below = WeightSums::ones(rate.denominator).into();
        if let Some(persons) = &self.persons {
            let each = persons.iter().map(|(key, cells)| (*key, of(cells), WeightSums::ones(1)));
            return Share::of_units(rate, below, each);
        }
        let kinds = (self.first_key..).step_by(2).zip(&self.kinds);
        let kinds = kinds.map(|(key, RowKind { kind, n, sums })| {
            let (stays, moves) = (one(*kind, false), one(*kind, true));
            let all = (self.graphs * n) as f64;
            let switched = sums.cases as f64 / sums.rows as f64;
            let counts = |rate: Rate| rate.numerator as f64;
            let differs = stays.numerator != moves.numerator;
            UnitsBelow {
                key,
                cases: counts(stays) * (all - switched) + counts(moves) * switched,
                all: stays.denominator as f64 * all,
                within: if differs { sums.within() } else { 0.0 },
                sums: WeightSums::ones(sums.rows),
            }
        });
        Share::of_kinds(rate, below, kinds)
    }
}

/// The switches over graphs of the rows of one scope.
pub(super) struct ScopeCases {
    cells: CasesByCell<ECCM_CELLS>,
    /// By whether anything switches; of nobody where the cells say it.
    any: CasesByCell<4>,
}

impl ScopeCases {
    /// The graphs in which the scope may have a value.
    fn graphs(&self) -> u64 {
        self.cells.graphs
    }

    /// The share that the mean over graphs of a metric is, which has so many cases below it in each
    /// graph; none where it is none.
    pub(super) fn share(
        &self,
        metric: &Metric,
        settings: &MeasureSettings,
        in_each: u64,
    ) -> Option<Share> {
        if let Reads::AnySwitch(of) = metric.reads {
            return self.any.share(|cells| of(&AnySwitch(*cells)), Some(in_each));
        }
        let of = switch_rate(metric, settings)?;
        self.cells.share(|cells| of(&Eccm(*cells)), Some(in_each))
    }

    /// How many people who do not move are as sure as these.
    pub(super) fn still(&self) -> Option<f64> {
        let pairs = |cells: &_| {
            let e = Eccm(*cells);
            e.rate(0, e.n(), Undefined::EmptyGroup)
        };
        self.cells.share(pairs, None).map(|share| share.size)
    }

    /// The persons whom a metric counts, each with the number of their counterfactuals, ascending
    /// by key; none where each row is a person.
    fn counted(&self, metric: &Metric) -> Option<impl Iterator<Item = (u64, u64)>> {
        let of = |cells: [u64; ECCM_CELLS]| match metric.needs_label {
            true => Eccm(cells).n_labelled(),
            false => Eccm(cells).n(),
        };
        let graphs = self.graphs().max(1);
        let all = self.cells.persons.as_ref()?.iter();
        Some(all.map(move |&(key, cells)| (key, of(cells) / graphs)).filter(|(_, n)| *n > 0))
    }

    /// The persons behind a value. Where its denominator depends on what switches, no more is
    /// known of those below it than that there are at least as many as `cases`, those that every
    /// graph has at least, over the most counterfactuals of one person. With the most rows that a
    /// person has. None where each row is a person.
    pub(super) fn persons(
        &self,
        metric: &Metric,
        share: Option<&Share>,
        cases: Option<u64>,
    ) -> Option<(ValuePeople, u64)> {
        let (mut n, mut most) = (0, 1);
        self.counted(metric)?.for_each(|(_, own)| {
            n += 1;
            most = most.max(own);
        });
        let at_least = |cases: u64| cases.div_ceil(most).min(n);
        let denominator = share.map(|share| share.n_units).or_else(|| cases.map(at_least));
        // Of a row with several counterfactuals whether any switches is known once.
        let rows = self.any.persons.iter().flatten();
        let rows = rows.map(|(_, cells)| cells.iter().sum::<u64>() / self.graphs().max(1)).max();
        let basis = PersonBasis { n, denominator };
        let people = ValuePeople::one(n, None).with_person_basis(Some(basis));
        Some((people, rows.unwrap_or(most).max(1)))
    }

    /// The different persons whom a metric counts here or there; none where each row is a person.
    pub(super) fn persons_with(&self, other: &Self, metric: &Metric) -> Option<u64> {
        let all = self.counted(metric)?.chain(other.counted(metric)?);
        Some(distinct(all.map(|(key, _)| key)))
    }
}
