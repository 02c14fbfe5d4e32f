//! Values of several classes with their intervals: ACC and MCC of labels and predictions, CR, SR
//! and CMCC of counterfactuals, and the rate of every transition from class to class.
//!
//! Every class against the rest is measured like two classes: pass
//! [`FactualClassCounts::one_vs_rest`] to
//! [`measure_factual`](crate::metric::value::measured::measure_factual), and its counterfactuals,
//! which are counted separately, to
//! [`measure_counterfactual`](crate::metric::value::switches::measure_counterfactual).
//!
//! Intervals follow the rules of two classes ([`estimate`](crate::metric::estimate)): Wilson's for
//! rates, Newcombe's for their differences, the score interval for correlations, all on the units
//! of the scope. No group is called worse off: the papers do so only for two classes, of which one
//! is favourable.

use rayon::prelude::*;

use super::{FactualClassCounts, SwitchClassCounts};
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::catalog::find;
use crate::metric::estimate::Estimate;
use crate::metric::evidence::matrix::{MatrixReading, correlation};
use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured_value::{CellNumbers, MeasuredValue, Subject, people_of_two};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{GapTransform, Metric, MetricFamily, difference};

/// For labels and predictions: the metric, the metric of the difference of two groups, and the
/// value of the matrix.
const FACTUAL: [(&str, &str, MatrixReading); 2] = [
    ("acc", "acc_difference", MatrixReading::Agreement),
    ("mcc", "mcc_difference", MatrixReading::Correlation),
];

/// As [`FACTUAL`], for counterfactuals.
const SWITCHES: [(&str, MatrixReading); 3] = [
    ("cr", MatrixReading::Agreement),
    ("sr", MatrixReading::Disagreement),
    ("cmcc", MatrixReading::Correlation),
];

/// Whether a metric is measured for all classes together.
pub(crate) fn is_of_all_classes(id: &str) -> bool {
    FACTUAL.iter().any(|(of_group, of_pair, _)| [of_group, of_pair].contains(&&id))
        || SWITCHES.iter().any(|(of_switches, _)| *of_switches == id)
}

/// The rate at which predictions of one class turn into another, in one scope.
#[derive(Debug, Clone)]
pub(crate) struct ClassTransition {
    /// The class before and the different class after.
    pub classes: [usize; 2],
    /// The rate, measured like the switch rate.
    pub measured: MeasuredValue,
}

/// ACC and MCC of each group and of all people, and their difference between each two groups, for
/// the requested families.
pub(crate) fn measure_factual_classes(
    counts: &FactualClassCounts,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let context = MeasureContext::new(settings);
    let (classes, units) = (counts.classes(), counts.units());
    let subject = |selection: GroupSelection| {
        // All classes leave out the same people.
        let people =
            counts.one_vs_rest.first().map(|class| class.confusion(selection)).unwrap_or_default();
        ClassSubject {
            classes,
            units: units(selection),
            empty: people.or_empty(Undefined::EmptyGroup),
        }
    };
    let subjects = GroupSubjects::new(counts.groups, false, subject);
    let measured = |(id, gap_id, reading): (&str, &str, MatrixReading)| {
        let (context, subjects) = (&context, &subjects);
        let value = |metric| {
            let scopes = subjects.singles().into_iter();
            scopes.map(move |scope| {
                subjects.single(scope).measured(reading, context, (metric, scope))
            })
        };
        let gap = |metric| {
            let pairs = subjects.comparisons(GapTransform::Difference).into_iter();
            let pairs = pairs.filter(|scope| matches!(scope, MetricScope::Pair(..)));
            pairs.map(move |scope| {
                let [a, b] = subjects.compared(scope);
                a.gap(b, context, metric, reading, scope)
            })
        };
        let values = requested_metric(context, id).into_iter().flat_map(value);
        let gaps = requested_metric(context, gap_id).into_iter().flat_map(gap);
        values.chain(gaps).collect::<Vec<_>>()
    };
    FACTUAL.into_par_iter().flat_map_iter(measured).collect()
}

/// CR, SR and CMCC of every direction, of the difference of each two, of one group and the rest,
/// and of all together; and every transition from class to class in all scopes except differences.
/// Empty if the family ccm is not requested.
pub(crate) fn measure_switch_classes(
    counts: &SwitchClassCounts,
    settings: &MeasureSettings,
) -> (Vec<MeasuredValue>, Vec<ClassTransition>) {
    let context = MeasureContext::new(settings);
    if !settings.families.contains(&MetricFamily::Ccm) {
        return (Vec::new(), Vec::new());
    }
    let places = counts.scope_index();
    let (classes, empty) = (counts.classes(), Undefined::EmptyGroup);
    let subjects = counts.units().into_iter().map(|units| ClassSubject { classes, units, empty });
    let subjects: Vec<ClassSubject> = subjects.collect();
    let mut scopes: Vec<(usize, MetricScope)> = places.scopes().collect();
    scopes.sort_unstable();
    let of_scope = |&(place, scope): &(usize, MetricScope)| {
        let subject = &subjects[place];
        let values = || {
            SWITCHES
                .into_iter()
                .filter_map(|(id, reading)| Some((requested_metric(&context, id)?, reading)))
        };
        let mut out: Vec<MeasuredValue> = values()
            .map(|(metric, reading)| subject.measured(reading, &context, (metric, scope)))
            .collect();
        if let MetricScope::Direction(a, b) = scope
            && a < b
        {
            let (back, gap) = (&subjects[places.direction(b, a)], MetricScope::Difference(a, b));
            out.extend(
                values().map(|(metric, reading)| subject.gap(back, &context, metric, reading, gap)),
            );
        }
        (out, subject.transitions(&context, scope))
    };
    let found: Vec<(Vec<MeasuredValue>, Vec<ClassTransition>)> =
        scopes.par_iter().map(of_scope).collect();
    let (values, transitions): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    (values.into_iter().flatten().collect(), transitions.into_iter().flatten().collect())
}

/// The metric, if its family is requested.
fn requested_metric(context: &MeasureContext<'_>, id: &str) -> Option<&'static Metric> {
    find(id).filter(|metric| context.settings.families.contains(&metric.family))
}

/// The people of one scope.
struct ClassSubject {
    classes: usize,
    units: UnitSums,
    /// The reason if the matrix is empty.
    empty: Undefined,
}

impl Subject for ClassSubject {
    type Reading = MatrixReading;

    fn units(&self, _: MatrixReading) -> &UnitSums {
        &self.units
    }

    fn counts(&self, _: MatrixReading, _: usize) -> bool {
        true
    }

    fn rate(&self, reading: MatrixReading, by: CellNumbers) -> Option<Rate> {
        let found = match by {
            CellNumbers::Alone(cell) => reading.of_cell(self.classes, cell),
            CellNumbers::People => reading.share(self.classes, &self.cells(WeightSums::people)),
            CellNumbers::Weight => reading.share(self.classes, &self.cells(WeightSums::sum)),
        };
        found.map(|found| Rate { empty: self.reason(found.empty), ..found })
    }

    fn score(&self, _: MatrixReading) -> MetricValue {
        let value = correlation(self.classes, &self.cells(WeightSums::sum));
        value.map_err(|reason| self.reason(reason))
    }

    fn score_estimate(&self, _: MatrixReading, value: f64) -> Option<Estimate> {
        Some(Estimate::correlation(value, self.classes, self.units.kinds()))
    }
}

impl ClassSubject {
    /// The cells of the matrix.
    fn cells(&self, number: fn(WeightSums) -> u64) -> Vec<u64> {
        self.units.rows().iter().map(|sums| number(*sums)).collect()
    }

    fn reason(&self, reason: Undefined) -> Undefined {
        if reason == Undefined::EmptyGroup { self.empty } else { reason }
    }

    /// The value of this subject minus that of the other.
    fn gap(
        &self,
        other: &ClassSubject,
        context: &MeasureContext<'_>,
        metric: &'static Metric,
        reading: MatrixReading,
        scope: MetricScope,
    ) -> MeasuredValue {
        let (forth, back) = (self.read(reading), other.read(reading));
        let value = difference(forth.value, back.value);
        let interval = context.interval(value, || {
            let estimates = self.estimate(reading, &forth).zip(other.estimate(reading, &back));
            context.estimated(estimates.map(|(a, b)| a.minus(&b)))
        });
        let people = people_of_two(reading, [(self, &forth), (other, &back)]);
        MeasuredValue::new(context, (metric, scope), value, interval, people)
    }

    fn transitions(
        &self,
        context: &MeasureContext<'_>,
        scope: MetricScope,
    ) -> Vec<ClassTransition> {
        let classes = 0..self.classes;
        let pairs = classes.clone().flat_map(|from| {
            classes.clone().filter(move |&to| to != from).map(move |to| (from, to))
        });
        let transition = |(from, to): (usize, usize)| {
            let reading = MatrixReading::Transition(from, to);
            let measured = self.measured(reading, context, (find(SWITCH_RATE)?, scope));
            Some(ClassTransition { classes: [from, to], measured })
        };
        pairs.filter_map(transition).collect()
    }
}
