//! Differences between the values of two models, or of two runs, on the same people, and their
//! intervals.
//!
//! A difference is the first value minus the second, in every scope of the families performance,
//! group (pairs and each group against all others), ccm and eccm (every scope with
//! counterfactuals). The results of a person under both are correlated, and
//! [`paired_counts`](crate::metric::evidence::paired_counts) has the counts for that:
//!
//! - rates whose denominator holds the same rows for both, regardless of their predictions (PPREV,
//!   accuracy, TPR, FPR, switch rates): [`paired`](crate::metric::estimate::paired) differences;
//! - all other metrics, and rates if one of the two scores rows that the other does not score: each
//!   value uses its own rows, and the interval is the hybrid of both intervals with the correlation
//!   of the influences of people in both. It needs no common rows and uses those that exist, so it
//!   is valid if people are missing from one of the two by chance.
//!
//! The coverage of 95 % intervals of a difference of two rates, simulated for models that agree on
//! nine of ten people, is given in the tests.
//!
//! Two models are also compared by how well their scores rank people, see
//! [`scores`](crate::metric::value::scores).
//!
//! Not done here: score metrics, see [`paired_scores`](crate::metric::value::paired_scores), and
//! the family clarify.

use rayon::prelude::*;

use crate::metric::catalog::ccm::switch_rate;
use crate::metric::estimate::Estimate;
use crate::metric::evidence::ccm_cells::has_label;
use crate::metric::evidence::paired_counts::{
    PAIRED_CELLS, PairedCounts, results_of, units_of_side,
};
use crate::metric::evidence::person::{CONFUSION_CELLS, ECCM_CELLS};
use crate::metric::evidence::units::UnitSums;
use crate::metric::interval::{IntervalProcedure, ValueInterval, note};
use crate::metric::missing_interval::IntervalOrReason;
use crate::metric::rate::{MetricValue, Rate};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::gaps::gap_estimate;
use crate::metric::value::group_reading::GroupReading;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured::FactualSubject;
use crate::metric::value::measured_value::{CellNumbers, Subject};
use crate::metric::value::scope_people::ScopePeople;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, MetricFamily, Reads, difference};

/// One metric of two models.
#[derive(Debug, Clone)]
pub(crate) struct ComparedValue {
    /// Where it holds.
    pub scope: MetricScope,
    /// The metric.
    pub metric: &'static Metric,
    /// The value of the first model.
    pub first: MetricValue,
    /// The value of the second model.
    pub second: MetricValue,
    /// First value minus second.
    pub difference: MetricValue,
    /// People behind the values; the smaller number of both.
    pub n_rows: u64,
    /// The interval of the difference.
    pub interval: Option<ValueInterval>,
    /// The full name of its method, or the reason why there is none.
    pub ci_method: String,
}

impl ComparedValue {
    /// The first value minus the second; `basis` gives the interval of the difference.
    pub(crate) fn new(
        context: &MeasureContext<'_>,
        (metric, scope): (&'static Metric, MetricScope),
        [first, second]: [MetricValue; 2],
        n_rows: u64,
        basis: impl FnOnce(MetricValue) -> IntervalOrReason,
    ) -> Self {
        let difference = difference(first, second);
        let (interval, ci_method) = context.interval(difference, || basis(difference));
        ComparedValue { scope, metric, first, second, difference, n_rows, interval, ci_method }
    }
}

/// The people of one scope: under each model, and under both.
struct ComparedSubject<S> {
    sides: [S; 2],
    units: UnitSums,
}

impl<S: Subject> ComparedSubject<S> {
    /// The subjects that `make` builds from the units of each side, over `cells` cells.
    fn new(units: UnitSums, cells: usize, make: impl Fn(UnitSums) -> S) -> Self {
        let sides = [0, 1].map(|side| make(units_of_side(&units, side, cells)));
        ComparedSubject { sides, units }
    }

    /// A metric of these people; `label_of` gives the label of a cell.
    fn compared(
        &self,
        context: &MeasureContext<'_>,
        (metric, scope): (&'static Metric, MetricScope),
        reading: S::Reading,
        label_of: impl Fn(usize) -> usize,
    ) -> ComparedValue {
        let found = self.sides.each_ref().map(|side| side.read(reading));
        let values = found.each_ref().map(|found| found.value);
        let n_rows = found[0].people.n.min(found[1].people.n);
        compared(context, (metric, scope), values, n_rows, || {
            self.paired_rates(reading, label_of).or_else(|| {
                let side = |m: usize| self.sides[m].estimate(reading, &found[m]);
                Some(side(0)?.minus(&side(1)?))
            })
        })
    }

    /// The paired difference of a rate, if both sides have the same rows in its denominator: these
    /// depend on the label and not on the prediction, and both sides score all of them.
    fn paired_rates(
        &self,
        reading: S::Reading,
        label_of: impl Fn(usize) -> usize,
    ) -> Option<Estimate> {
        let [first, _] = &self.sides;
        let cells = 0..first.units(reading).rows().len();
        let rate_of_cell = cells.clone().map(|cell| first.rate(reading, CellNumbers::Alone(cell)));
        let rate_of_cell: Vec<Rate> = rate_of_cell.collect::<Option<_>>()?;
        // What a row adds to the denominator and to the numerator of the rate; 0 if the side does
        // not score it.
        let counted = |cell: Option<usize>| {
            let rate = cell.and_then(|cell| rate_of_cell.get(cell));
            rate.map_or([0, 0], |rate| [rate.denominator, rate.numerator])
        };
        let below = |cell: Option<usize>| counted(cell)[0];
        let depends = cells.clone().any(|i| {
            (0..i).any(|j| label_of(i) == label_of(j) && below(Some(i)) != below(Some(j)))
        });
        let mut held = (0..PAIRED_CELLS).filter(|cell| self.units.rows()[*cell].people() > 0);
        let differs = |cell: usize| {
            let [first, second] = results_of(cell);
            below(first) != below(second)
        };
        if depends || held.any(differs) {
            return None;
        }
        Estimate::paired(&self.units, |cell| {
            let [[below, case], [_, other_case]] = results_of(cell).map(counted);
            [below, case.saturating_sub(other_case), other_case.saturating_sub(case)]
        })
    }
}

/// The comparison of two models on the factual rows.
pub(crate) fn compare_rows(
    counts: &PairedCounts,
    settings: &MeasureSettings,
) -> Vec<ComparedValue> {
    let (context, n) = (MeasureContext::new(settings), counts.groups);
    let subjects = GroupSubjects::new(n, true, |selection| {
        let units = counts.units(|place| selection.holds(place));
        ComparedSubject::new(units, CONFUSION_CELLS, FactualSubject::new)
    });
    let labelled = subjects.all.sides.iter().any(|side| side.people.n() > 0);
    // TP, FP, FN, TN, then people without a label.
    let label_of = |cell: usize| [1, 0, 1, 0, 2, 2][cell];
    let single = |metric, scope, subject: &ComparedSubject<FactualSubject>| {
        let reading = GroupReading::new(metric, settings.favourable);
        subject.compared(&context, (metric, scope), reading, label_of)
    };
    let gap = |metric, scope, pair: [&ComparedSubject<FactualSubject>; 2]| {
        compare_gap(&context, metric, scope, pair)
    };
    let mut values = subjects.measured(&context, single, gap);
    values.retain(|value| labelled || !value.metric.needs_label);
    values
}

/// One metric of two subjects.
fn compare_gap(
    context: &MeasureContext<'_>,
    metric: &'static Metric,
    scope: MetricScope,
    [a, b]: [&ComparedSubject<FactualSubject>; 2],
) -> ComparedValue {
    let reading = GroupReading::new(metric, context.settings.favourable);
    let sides = [0, 1].map(|m| [&a.sides[m], &b.sides[m]]);
    let values = sides.map(|[a, b]| reading.two(&a.cells, &b.cells));
    let n = |[a, b]: [&FactualSubject; 2]| {
        a.people.people(metric.needs_label) + b.people.people(metric.needs_label)
    };
    compared(context, (metric, scope), values, n(sides[0]).min(n(sides[1])), || {
        let gap = |sides: [&FactualSubject; 2]| {
            gap_estimate(reading, sides, &sides.map(|subject| subject.read(reading)))
        };
        Some(gap(sides[0])?.minus(&gap(sides[1])?))
    })
}

/// The comparison of two models on the same counterfactuals, in every scope; `counts` are those of
/// the directions.
pub(crate) fn compare_switches(
    counts: &PairedCounts,
    settings: &MeasureSettings,
) -> Vec<ComparedValue> {
    let context = MeasureContext::new(settings);
    let scopes = ScopeIndex { groups: counts.groups };
    let units_of = |place: usize| {
        let held = scopes.numbers_of(place);
        let units = counts.units(|direction| held.contains(&direction));
        ComparedSubject::new(units, ECCM_CELLS, |units| {
            ScopePeople::of_units(units, None, settings)
        })
    };
    let total = units_of(scopes.total());
    let labelled = total.sides.iter().any(|side| side.units.n_rows(has_label) > 0);
    let is_compared = |metric: &&'static Metric| {
        let is_of_cells = switch_rate(metric, settings).is_some()
            || matches!(metric.reads, Reads::SwitchScore(_));
        // A metric of two directions has no value in a single one.
        is_of_cells && !metric.is_of_two_directions() && (labelled || !metric.needs_label)
    };
    let metrics: Vec<&'static Metric> = [MetricFamily::Ccm, MetricFamily::Eccm]
        .into_iter()
        .flat_map(|family| context.metrics(family))
        .filter(is_compared)
        .collect();
    let in_scope = |(place, scope): (usize, MetricScope)| {
        let people = units_of(place);
        let compare = |metric: &&'static Metric| {
            people.compared(&context, (*metric, scope), metric, |cell| cell / 4)
        };
        metrics.iter().map(compare).collect::<Vec<_>>()
    };
    let scopes: Vec<(usize, MetricScope)> = scopes.scopes().collect();
    scopes.into_par_iter().map(in_scope).collect::<Vec<_>>().into_iter().flatten().collect()
}

fn compared(
    context: &MeasureContext<'_>,
    metric_and_scope: (&'static Metric, MetricScope),
    values: [MetricValue; 2],
    n_rows: u64,
    estimate: impl FnOnce() -> Option<Estimate>,
) -> ComparedValue {
    let basis = |_| context.estimated(estimate());
    let mut found = ComparedValue::new(context, metric_and_scope, values, n_rows, basis);
    let is_paired =
        |method| matches!(method, IntervalProcedure::Paired | IntervalProcedure::PairedPeople);
    if found.interval.is_some_and(|interval| !is_paired(interval.method)) {
        found.ci_method += &note("common_people", &[]);
    }
    found
}
