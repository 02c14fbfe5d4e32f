//! How many persons are behind a value across graphs, where a person may have several rows.
//!
//! Rows are known by person, group, label and prediction; what switches in a graph is known by row
//! alone, or memory would grow with persons times graphs. So the persons below a rate are counted
//! where its denominator is the same whatever switches, as that of NSR is. Of any other rate, such
//! as PCP, there are at least as many as its cases are over the most rows of one person: the
//! tables hold that number, so that nothing counts as enough that is not.

use super::{KINDS, WorldCounts};
use crate::metric::Metric;
use crate::metric::Reads;
use crate::metric::catalog::ccm::switch_rate;
use crate::metric::evidence::outcome_patterns::AnySwitch;
use crate::metric::evidence::person::{ECCM_CELLS, Eccm};
use crate::metric::interval::{IntervalProcedure, ValueInterval, wilson_of_people};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured::{MeasuredValue, PersonBasis};
use crate::metric::value::settings::MeasureSettings;

/// Rows of a person by label (no, yes, not known) and prediction.
type RowsByKind = [u64; KINDS];

/// The persons behind one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScopePersons {
    /// As the tables tell.
    pub(super) basis: PersonBasis,
    /// Of a difference the persons of the smaller side.
    pub(super) smallest_group: u64,
    /// Of a difference the persons below the smaller denominator.
    smallest_denominator: Option<u64>,
    /// The most rows that a person has.
    pub(super) most_rows: u64,
    /// So many people with one row each would be as sure as these rows, if all rows of a person
    /// agree.
    pub(super) effective_all: f64,
    /// The same of the cases below the rate.
    effective_below: f64,
}

impl ScopePersons {
    /// What is small.
    pub(super) fn flags(&self, ask: &MeasureContext<'_>) -> Vec<&'static str> {
        ask.flags(self.smallest_group, self.smallest_denominator)
    }

    /// The interval of a rate of 0 or 1 in every graph and replicate.
    pub(super) fn boundary(&self, everybody: bool, z: f64) -> Option<ValueInterval> {
        let method = IntervalProcedure::WilsonPeople;
        wilson_of_people(everybody, self.effective_below, z, method)
    }
}

/// The persons of one side of a value.
struct SidePersons(Vec<(u64, RowsByKind)>);

/// (sum of n)^2 / sum of n^2 of the rows of persons.
fn effective(rows: impl Iterator<Item = u64>) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for n in rows {
        sum += n as f64;
        squares += n as f64 * n as f64;
    }
    if squares == 0.0 { 0.0 } else { sum * sum / squares }
}

/// The cases of a row of each kind below a rate; none where they depend on what switches, and of
/// what is no rate.
fn cases_of_kinds(metric: &Metric, settings: &MeasureSettings) -> Option<RowsByKind> {
    let mut cases = [0; KINDS];
    for (kind, cases) in cases.iter_mut().enumerate() {
        let (label, predicted) = (kind / 2, kind % 2);
        let below = |switches: bool| {
            if let Reads::AnySwitch(of) = metric.reads {
                let mut cells = [0; 4];
                cells[AnySwitch::index(predicted == 1, switches)] = 1;
                return Some(of(&AnySwitch::from_cells(cells)).denominator);
            }
            let mut cells = [0; ECCM_CELLS];
            cells[4 * label + 2 * predicted + (predicted ^ usize::from(switches))] = 1;
            Some(switch_rate(metric, settings)?(&Eccm(cells)).denominator)
        };
        let both = below(false)?;
        if below(true)? != both {
            return None;
        }
        *cases = both;
    }
    Some(cases)
}

impl SidePersons {
    /// Those whom a metric counts; `cases` are those that all graphs have below the rate at least.
    fn of(&self, metric: &Metric, settings: &MeasureSettings, cases: Option<u64>) -> ScopePersons {
        let counted = |kinds: &RowsByKind| -> u64 {
            let labelled = if metric.needs_label { 4 } else { KINDS };
            kinds[..labelled].iter().sum()
        };
        let rows = || self.0.iter().map(|(_, kinds)| counted(kinds)).filter(|n| *n > 0);
        let (n, most_rows) = (rows().count() as u64, rows().max().unwrap_or(1));
        let of_kinds = cases_of_kinds(metric, settings);
        let below = of_kinds.map(|cases| {
            let of = move |kinds: &RowsByKind| -> u64 {
                kinds.iter().zip(cases).map(|(rows, cases)| rows * cases).sum()
            };
            self.0.iter().map(|(_, kinds)| of(kinds)).filter(|n| *n > 0).collect::<Vec<u64>>()
        });
        let at_least = |cases: u64| cases.div_ceil(most_rows).min(n);
        let denominator = match &below {
            Some(below) => Some(below.len() as u64),
            None => cases.map(at_least),
        };
        let effective_below = match &below {
            Some(below) => effective(below.iter().copied()),
            None => cases.map_or(0.0, |cases| cases as f64 / most_rows as f64),
        };
        ScopePersons {
            basis: PersonBasis { n, denominator },
            smallest_group: n,
            smallest_denominator: denominator,
            most_rows,
            effective_all: effective(rows()),
            effective_below,
        }
    }
}

impl WorldCounts {
    /// The persons behind each of some values; `worlds` are the values of each world. None where
    /// each row is a person.
    pub(super) fn scope_persons(
        &self,
        first: &[MeasuredValue],
        worlds: &[Vec<MeasuredValue>],
        settings: &MeasureSettings,
    ) -> Option<Vec<ScopePersons>> {
        let persons = self.persons.as_ref()?;
        let side = |groups: &dyn Fn(usize) -> bool| SidePersons(persons.sums(groups));
        let sides: Vec<SidePersons> = (0..self.groups).map(|own| side(&|of| of == own)).collect();
        let rests: Vec<SidePersons> = match ScopeIndex::new(self.groups).has_rest() {
            true => (0..self.groups).map(|own| side(&|of| of != own)).collect(),
            false => Vec::new(),
        };
        let all = side(&|_| true);
        // A row counts in a scope of several targets once for each.
        let cases = |metric: &Metric, scope: MetricScope| {
            // A ratio of two directions has the cases of the rate behind it.
            let id = metric.gap_of.map_or(metric.id, |(base, _)| base);
            let at = first.iter().position(|m| m.metric.id == id && m.scope == scope)?;
            let of_world = |world: &Vec<MeasuredValue>| world[at].denominator;
            let least = worlds.iter().filter_map(of_world).min()?;
            Some(least / super::cases_of_person(scope, self.groups))
        };
        let of = |measured: &MeasuredValue| {
            let (metric, scope) = (measured.metric, measured.scope);
            let one = |side: &SidePersons, scope| side.of(metric, settings, cases(metric, scope));
            match scope {
                MetricScope::Direction(from, _) | MetricScope::OneToRest(from) => {
                    one(&sides[from], scope)
                }
                MetricScope::RestToOne(to) => one(rests.get(to).unwrap_or(&all), scope),
                MetricScope::Difference(a, b) => {
                    let [x, y] = [(a, b), (b, a)]
                        .map(|(from, to)| one(&sides[from], MetricScope::Direction(from, to)));
                    let of_both = side(&|group| group == a || group == b);
                    let n = of_both.of(metric, settings, None).basis.n;
                    let denominators = [x, y].into_iter().filter_map(|of| of.smallest_denominator);
                    ScopePersons {
                        basis: PersonBasis { n, denominator: None },
                        smallest_group: x.smallest_group.min(y.smallest_group),
                        smallest_denominator: denominators.min(),
                        most_rows: x.most_rows.max(y.most_rows),
                        effective_all: x.effective_all.min(y.effective_all),
                        effective_below: x.effective_below.min(y.effective_below),
                    }
                }
                _ => one(&all, scope),
            }
        };
        Some(first.iter().map(of).collect())
    }
}
