//! The people behind the values of one scope of counterfactuals, by the cells that they fill.

use std::ops::Range;

use crate::metric::catalog::ccm::{self, switch_rate};
use crate::metric::estimate::Estimate;
use crate::metric::estimate::curve::CellFunction;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::outcome_patterns::{AnySwitch, CellProfiles};
use crate::metric::evidence::person::{ECCM_CELLS, Eccm, SwitchCells};
use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::interval::{IntervalProcedure, ValueInterval, wilson_of_people};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::measured::{PersonBasis, person_basis};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{ImpairedGroupRule, Metric, Reads, WorseEnd};

/// The people of one scope.
pub(crate) struct ScopePeople<'a> {
    profiles: &'a CellProfiles,
    /// The units of the scope.
    units: UnitSums<ECCM_CELLS>,
    /// The same by whether anything switches; none where the cells say it.
    any: Option<UnitSums<4>>,
    weighted: bool,
}

impl<'a> ScopePeople<'a> {
    /// Those of a scope, by its number and by what it is.
    pub(crate) fn new(
        counts: &CounterfactualCounts,
        (place, scope): (usize, MetricScope),
        (profiles, weights): (&'a CellProfiles, Option<&'a CellProfiles<WeightSums>>),
    ) -> Self {
        let kinds = weights.map_or_else(|| profiles.kinds(), CellProfiles::kinds);
        let groups = any_groups(counts.scope_index(), scope);
        ScopePeople {
            profiles,
            any: groups.map(|groups| counts.any_units(groups, place, &kinds)),
            units: counts.units(place, kinds),
            weighted: weights.is_some(),
        }
    }

    /// The share that a rate is, whatever it reads; none of what is no rate, and where nothing is
    /// below it.
    pub(crate) fn share(&self, metric: &Metric, settings: &MeasureSettings) -> Option<Share> {
        match (metric.reads, &self.any) {
            (Reads::AnySwitch(of), Some(any)) => Share::new(any, |cells| of(&AnySwitch(*cells))),
            _ => self.rate(switch_rate(metric, settings)?),
        }
    }

    /// A rate of the cells.
    fn rate(&self, of: impl Fn(&Eccm) -> Rate) -> Option<Share> {
        rate_of_cells(&self.units, of)
    }

    /// A value that cells give, with its interval; none of another, and where it is undefined.
    pub(crate) fn estimate(
        &self,
        metric: &Metric,
        value: MetricValue,
        settings: &MeasureSettings,
    ) -> Option<Estimate> {
        match metric.reads {
            Reads::AnySwitch(_) => self.share(metric, settings).map(Estimate::from),
            _ => estimate_of_cells(&self.units, metric, value, settings),
        }
    }

    /// The persons whom a metric counts, ascending by key; none where each row is a person.
    pub(crate) fn counted_persons(&self, metric: &Metric) -> Option<Vec<u64>> {
        self.units.persons(|cells| is_counted(metric, cells))
    }

    /// The people who carry a value of this scope alone; none where each row is a person who counts
    /// as one.
    pub(crate) fn person_basis(
        &self,
        metric: &Metric,
        of: Option<&Share>,
        settings: &MeasureSettings,
    ) -> Option<PersonBasis> {
        let is_rate =
            matches!(metric.reads, Reads::AnySwitch(_)) || switch_rate(metric, settings).is_some();
        let counts = |cells: &_| is_counted(metric, cells);
        person_basis(&self.units, self.weighted, counts, is_rate.then_some(of))
    }

    /// People whose prediction switches, persons where a person may have several rows: those that a
    /// switch rate counts, or that a rate of consistency lacks. People of weight 0 do not count.
    /// None of what names nobody.
    pub(crate) fn switched(&self, metric: &Metric, settings: &MeasureSettings) -> Option<u64> {
        let ImpairedGroupRule::Switch { worse, .. } = metric.impaired else { return None };
        Some(self.units.n_units(|cells| {
            let e = Eccm(*cells);
            match (switch_rate(metric, settings).map(|rate| rate(&e)), worse) {
                (None, _) => e.sp() + e.sn() > 0,
                (Some(rate), WorseEnd::High) => rate.numerator > 0,
                (Some(rate), WorseEnd::Low) => rate.numerator < rate.denominator,
            }
        }))
    }

    /// People whom a metric counts.
    pub(crate) fn n(&self, metric: &Metric) -> u64 {
        self.profiles.counted(metric.needs_label)
    }

    /// The interval of a distance where nobody's score moves; none of a metric that says no
    /// distance.
    pub(crate) fn unmoved_interval(&self, metric: &Metric, z: f64) -> Option<ValueInterval> {
        let pairs = self.rate(|e| e.rate(0, e.n(), Undefined::EmptyGroup))?;
        unmoved(metric, pairs.size, z)
    }
}

/// A rate of the cells of some units.
fn rate_of_cells(units: &UnitSums<ECCM_CELLS>, of: impl Fn(&Eccm) -> Rate) -> Option<Share> {
    Share::new(units, |cells| of(&Eccm(*cells)))
}

/// A value of the cells of some units with its interval; none of another, and where it is
/// undefined.
pub(crate) fn estimate_of_cells(
    units: &UnitSums<ECCM_CELLS>,
    metric: &Metric,
    value: MetricValue,
    settings: &MeasureSettings,
) -> Option<Estimate> {
    match metric.id {
        "p2nr" => {
            let rates = [ccm::psr, ccm::nsr].map(|of| rate_of_cells(units, of).map(Estimate::from));
            let [psr, nsr] = rates;
            Some(psr?.over(&nsr?))
        }
        "cmcc" => {
            let table = |cells: &SwitchCells| {
                let e = Eccm(*cells);
                [e.cp(), e.sp(), e.sn(), e.cn()]
            };
            Some(Estimate::of_cells(value.ok()?, units, table, CellFunction::Correlation))
        }
        _ => rate_of_cells(units, switch_rate(metric, settings)?).map(Estimate::from),
    }
}

/// Whether a metric counts the people who fill these cells.
fn is_counted(metric: &Metric, cells: &SwitchCells) -> bool {
    if metric.needs_label { Eccm(*cells).n_labelled() > 0 } else { Eccm(*cells).n() > 0 }
}

/// The interval of a distance where the score of none of so many people moves; none of a metric
/// that says no distance.
pub(crate) fn unmoved(metric: &Metric, people: f64, z: f64) -> Option<ValueInterval> {
    let moved = wilson_of_people(false, people, z, IntervalProcedure::WilsonMoved)?;
    match metric.id {
        "macd" => Some(moved),
        "rmscd" => Some(ValueInterval { hi: moved.hi.sqrt(), ..moved }),
        "mcd" => Some(ValueInterval { lo: -moved.hi, ..moved }),
        _ => None,
    }
}

/// The groups whose people are asked whether anything switches; none where the extended matrix says
/// the same.
pub(crate) fn any_groups(places: ScopeIndex, scope: MetricScope) -> Option<Range<usize>> {
    match scope {
        MetricScope::OneToRest(from) => Some(from..from + 1),
        MetricScope::Total if places.has_rest() => Some(0..places.groups),
        _ => None,
    }
}
