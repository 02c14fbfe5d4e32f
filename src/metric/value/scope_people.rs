//! The people behind the values of one scope of counterfactuals, by the cells in which they count.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::metric::catalog::ccm::{self, switch_rate};
use crate::metric::estimate::Estimate;
use crate::metric::estimate::curve::CellFunction;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::ccm_cells::{any_switches, has_label};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ECCM_CELLS, Eccm};
use crate::metric::evidence::shift::ScoreShift;
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::evidence::units::{UnitSums, alone};
use crate::metric::interval::{IntervalProcedure, ValueInterval, wilson_of_share};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::measured_value::{CellNumbers, Subject};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{ImpairedGroupRule, Metric, Reads, WorseEnd};

/// The people of one scope.
pub(crate) struct ScopePeople<'a> {
    /// The units of the scope by the cells of the extended matrix.
    pub(crate) units: UnitSums,
    /// The units by whether anything switches; none if the cells show the same.
    pub(crate) any: Option<UnitSums>,
    /// The scores; none if the family shift is not requested.
    pub(crate) shift: Option<Box<ScoreShift>>,
    settings: &'a MeasureSettings,
}

/// The people of every scope.
pub(crate) type PeopleByScope<'a> = BTreeMap<MetricScope, ScopePeople<'a>>;

impl<'a> ScopePeople<'a> {
    /// The people of every scope of some counts, with rows as units; `second` is the second pass
    /// over the same people.
    pub(crate) fn by_scope(
        counts: &CounterfactualCounts,
        second: Option<&ShiftPass>,
        settings: &'a MeasureSettings,
    ) -> PeopleByScope<'a> {
        let (places, rows) = (counts.scope_index(), counts.cell_profiles());
        let second = second.map(|second| (second, counts.shifts_by_scope()));
        let people = |(place, scope): (usize, MetricScope)| {
            let units = rows[place].clone();
            let any = any_groups(places, scope).map(|_| any_switches(&units));
            let shift = second.as_ref().map(|(second, sums)| (second.at(place), &sums[place]));
            let shift = shift.map(|(second, sums)| Box::new(second.score_shift(sums)));
            (scope, ScopePeople { units, any, shift, settings })
        };
        places.scopes().map(people).collect()
    }

    /// The same people with persons as units, if a person may have several rows; `counts` are those
    /// that these people come from.
    pub(crate) fn with_persons(
        &self,
        counts: &CounterfactualCounts,
        (place, scope): (usize, MetricScope),
    ) -> Self {
        let any = self.any.as_ref().zip(any_groups(counts.scope_index(), scope));
        let any = any.map(|(any, groups)| any.with_persons(counts.any_persons(groups)));
        let units = counts.units(place, &self.units);
        ScopePeople { units, any, shift: self.shift.clone(), settings: self.settings }
    }

    /// The same people without any change of decisions and scores.
    pub(crate) fn without_moves(&self) -> Self {
        let without_switches = |units: &UnitSums| {
            units.mapped(ECCM_CELLS, |cell| Some((cell & !1) | ((cell >> 1) & 1)))
        };
        ScopePeople {
            units: without_switches(&self.units),
            any: self.any.as_ref().map(without_switches),
            shift: self.shift.as_ref().map(|shift| Box::new(shift.without_shift())),
            settings: self.settings,
        }
    }

    /// People from units by the cells of the extended matrix, and from units by whether anything
    /// switches.
    pub(crate) fn of_units(
        units: UnitSums,
        any: Option<UnitSums>,
        settings: &'a MeasureSettings,
    ) -> Self {
        ScopePeople { units, any, shift: None, settings }
    }

    /// A rate over the cells.
    fn rate_of_cells(&self, rate: impl Fn(&Eccm) -> Rate) -> Option<Share> {
        Share::new(&self.units, |cell| rate(&Eccm(alone(cell))))
    }

    /// The number of people whose prediction switches (persons, if a person may have several rows):
    /// those in the numerator of a switch rate, or those missing from the numerator of a rate of
    /// consistency. None for a metric that is not about switches.
    pub(crate) fn switched(&self, metric: &Metric) -> Option<u64> {
        let ImpairedGroupRule::Switch { worse, .. } = metric.impaired else { return None };
        let rate = switch_rate(metric, self.settings);
        let switches: [bool; ECCM_CELLS] = std::array::from_fn(|cell| {
            let e = Eccm(alone(cell));
            match (rate.map(|rate| rate(&e)), worse) {
                (None, _) => e.sp() + e.sn() > 0,
                (Some(rate), WorseEnd::High) => rate.numerator > 0,
                (Some(rate), WorseEnd::Low) => rate.numerator < rate.denominator,
            }
        });
        Some(self.units.n_units(|cell| switches[cell]))
    }

    /// The interval of a distance if no score changes; none for a metric that is not a distance.
    pub(crate) fn unmoved_interval(&self, metric: &Metric, z: f64) -> Option<ValueInterval> {
        let pairs = self.rate_of_cells(|e| e.rate(0, e.n(), Undefined::EmptyGroup))?;
        let moved = wilson_of_share(0.0, pairs.size, z, IntervalProcedure::WilsonMoved);
        match metric.id {
            "macd" => Some(moved),
            "rmscd" => Some(ValueInterval { hi: moved.hi.sqrt(), ..moved }),
            "mcd" => Some(ValueInterval { lo: -moved.hi, ..moved }),
            _ => None,
        }
    }
}

impl Subject for ScopePeople<'_> {
    type Reading = &'static Metric;

    fn units(&self, metric: &'static Metric) -> &UnitSums {
        match (metric.reads, &self.any) {
            (Reads::AnySwitch(_), Some(any)) => any,
            _ => &self.units,
        }
    }

    fn counts(&self, metric: &'static Metric, cell: usize) -> bool {
        !metric.needs_label || has_label(cell)
    }

    fn rate(&self, metric: &'static Metric, by: CellNumbers) -> Option<Rate> {
        let rate = match metric.reads {
            Reads::AnySwitch(rate) => Some(rate),
            _ => switch_rate(metric, self.settings),
        };
        rate.map(|rate| rate(&Eccm(by.of(self.units(metric)))))
    }

    fn score(&self, metric: &'static Metric) -> MetricValue {
        match (metric.reads, &self.shift) {
            (Reads::SwitchScore(score), _) => score(&Eccm(self.units.weight())),
            (Reads::Shift(value), Some(shift)) => value(shift),
            _ => unreachable!("`{}` is not measured in this scope", metric.id),
        }
    }

    fn score_estimate(&self, metric: &'static Metric, value: f64) -> Option<Estimate> {
        match metric.id {
            "p2nr" => {
                let [psr, nsr] = [ccm::psr, ccm::nsr]
                    .map(|metric| self.rate_of_cells(metric).map(Estimate::from));
                Some(psr?.over(&nsr?))
            }
            "cmcc" => {
                // CP, SP, SN, CN.
                let table = |cell: usize| Some([3, 1, 2, 0][cell % 4]);
                Some(Estimate::of_cells(value, &self.units, table, CellFunction::Correlation))
            }
            _ => None,
        }
    }
}

/// The groups whose people are counted by whether anything switches; none if the extended matrix
/// shows the same.
pub(crate) fn any_groups(places: ScopeIndex, scope: MetricScope) -> Option<Range<usize>> {
    match scope {
        MetricScope::OneToRest(from) => Some(from..from + 1),
        MetricScope::Total if places.has_rest() => Some(0..places.groups),
        _ => None,
    }
}
