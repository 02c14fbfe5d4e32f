//! Values of several classes with their intervals: ACC and MCC of labels and predictions, CR, SR
//! and CMCC of counterfactuals, and the rate of every transition from class to class.
//!
//! Every class against all others is measured as two classes are: hand
//! [`FactualClassCounts::one_vs_rest`] to
//! [`measure_factual`](crate::metric::value::measured::measure_factual),
//! [`SwitchClassCounts::one_vs_rest`] to
//! [`measure_counterfactual`](crate::metric::value::switches::measure_counterfactual).
//!
//! Intervals follow the rules of two classes ([`estimate`](crate::metric::estimate)): Wilson's for
//! rates, Newcombe's for their differences, the score interval for correlations, all on the units
//! of the scope. No impaired group is named: the papers read switches of two classes, of which one
//! is favourable.

use rayon::prelude::*;

use super::{ClassMatrix, FactualClassCounts, SwitchClassCounts};
use crate::metric::catalog::find;
use crate::metric::estimate::Estimate;
use crate::metric::evidence::matrix::MatrixRate;
use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::interval::ValueInterval;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::swap_effect::SwapEffect;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured_value::{
    CellNumbers, MeasuredValue, PersonBasis, Subject, SubjectValue, people_of_two,
};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, MetricFamily, difference};

/// What is read from a matrix.
#[derive(Clone, Copy)]
enum MatrixReading {
    Rate(MatrixRate),
    Score(fn(&ClassMatrix) -> MetricValue),
}

/// Of labels and predictions: the metric, that of the difference of two groups, and what is read.
const FACTUAL: [(&str, &str, MatrixReading); 2] = [
    ("acc", "acc_difference", MatrixReading::Rate(MatrixRate::Agreement)),
    ("mcc", "mcc_difference", MatrixReading::Score(ClassMatrix::correlation)),
];

/// Of counterfactuals.
const SWITCHES: [(&str, MatrixReading); 3] = [
    ("cr", MatrixReading::Rate(MatrixRate::Agreement)),
    ("sr", MatrixReading::Rate(MatrixRate::Disagreement)),
    ("cmcc", MatrixReading::Score(ClassMatrix::correlation)),
];

/// Whether a metric is measured of all classes together.
pub(crate) fn is_of_all_classes(id: &str) -> bool {
    FACTUAL.iter().any(|(of_group, of_pair, _)| [of_group, of_pair].contains(&&id))
        || SWITCHES.iter().any(|(of_switches, _)| *of_switches == id)
}

/// The rate at which predictions of one class turn into another, in one scope.
#[derive(Debug, Clone)]
pub(crate) struct ClassTransition {
    /// Where it holds.
    pub scope: MetricScope,
    /// The class before.
    pub from_class: usize,
    /// The class after, another one.
    pub to_class: usize,
    /// The rate, or why there is none.
    pub value: MetricValue,
    /// Counterfactuals that turn, and all of that class.
    pub cases: Rate,
    /// What they weigh in whole units; none where nobody has a weight.
    pub weights: Option<Rate>,
    /// Those behind these rows who carry information; none where each row is a person who counts
    /// as one.
    pub(crate) persons: Option<PersonBasis>,
    /// Its interval.
    pub interval: Option<ValueInterval>,
    /// The method of the interval in full, or why there is none.
    pub ci_method: String,
    /// As of every value.
    pub flags: Vec<&'static str>,
}

/// ACC and MCC of each group, of all, and their difference between each two groups, of the families
/// that are asked for.
pub(crate) fn measure_factual_classes(
    counts: &FactualClassCounts,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let ask = MeasureContext::new(settings);
    let subject = |who: GroupSelection| ClassSubject {
        classes: counts.classes(),
        units: counts.units(who),
        empty: counts.people(who).or_empty(Undefined::EmptyGroup),
    };
    let subjects = GroupSubjects::new(counts.groups(), false, subject);
    let measured = |(id, of_gap, of): (&str, &str, MatrixReading)| {
        let (ask, subjects) = (&ask, &subjects);
        let value = |metric| {
            let scopes = subjects.singles().into_iter();
            scopes.map(move |scope| subjects.single(scope).measure(ask, metric, of, scope))
        };
        let gap = |metric| {
            let pairs = subjects.comparisons(SwapEffect::Negated).into_iter();
            let pairs = pairs.filter(|scope| matches!(scope, MetricScope::Pair(..)));
            pairs.map(move |scope| {
                let [a, b] = subjects.compared(scope);
                a.gap(b, ask, metric, of, scope)
            })
        };
        let values = asked_metric(ask, id).into_iter().flat_map(value);
        let gaps = asked_metric(ask, of_gap).into_iter().flat_map(gap);
        values.chain(gaps).collect::<Vec<_>>()
    };
    FACTUAL.into_par_iter().flat_map_iter(measured).collect()
}

/// CR, SR and CMCC of every direction, of the difference of each two, of one group and the rest,
/// and of all together; and every transition from class to class in the scopes but the differences.
/// None where the family ccm is not asked for.
pub(crate) fn measure_switch_classes(
    counts: &SwitchClassCounts,
    settings: &MeasureSettings,
) -> (Vec<MeasuredValue>, Vec<ClassTransition>) {
    let ask = MeasureContext::new(settings);
    if !settings.families.contains(&MetricFamily::Ccm) {
        return (Vec::new(), Vec::new());
    }
    let places = counts.scope_index();
    let mut units: Vec<Option<UnitSums>> = counts.units().into_iter().map(Some).collect();
    let mut scopes: Vec<(usize, MetricScope)> = places.scopes().collect();
    scopes.sort_unstable();
    let subjects = scopes.iter().filter_map(|&(place, scope)| {
        let (classes, units) = (counts.classes(), units[place].take()?);
        Some((scope, ClassSubject { classes, units, empty: Undefined::EmptyGroup }))
    });
    let subjects: Vec<(MetricScope, ClassSubject)> = subjects.collect();
    let of_scope = |(scope, subject): &(MetricScope, ClassSubject)| {
        let values =
            || SWITCHES.into_iter().filter_map(|(id, of)| Some((asked_metric(&ask, id)?, of)));
        let mut out: Vec<MeasuredValue> =
            values().map(|(metric, of)| subject.measure(&ask, metric, of, *scope)).collect();
        if let MetricScope::Direction(a, b) = *scope
            && a < b
            && let Some((_, back)) =
                subjects.iter().find(|(other, _)| *other == MetricScope::Direction(b, a))
        {
            out.extend(values().map(|(metric, of)| {
                subject.gap(back, &ask, metric, of, MetricScope::Difference(a, b))
            }));
        }
        (out, subject.transitions(&ask, *scope))
    };
    let found: Vec<(Vec<MeasuredValue>, Vec<ClassTransition>)> =
        subjects.par_iter().map(of_scope).collect();
    let (values, transitions): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    (values.into_iter().flatten().collect(), transitions.into_iter().flatten().collect())
}

/// The metric, where its family is asked for.
fn asked_metric(ask: &MeasureContext<'_>, id: &str) -> Option<&'static Metric> {
    find(id).filter(|metric| ask.settings.families.contains(&metric.family))
}

/// The people of one scope.
struct ClassSubject {
    classes: usize,
    units: UnitSums,
    /// Why there is no value where the matrix is empty.
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

    fn rate(&self, of: MatrixReading, by: CellNumbers) -> Option<Rate> {
        let MatrixReading::Rate(rate) = of else { return None };
        let found = match by {
            CellNumbers::Alone(cell) => rate.of_cell(self.classes, cell),
            CellNumbers::People => rate.of(&self.matrix(WeightSums::people)),
            CellNumbers::Weight => rate.of(&self.matrix(WeightSums::sum)),
        };
        let is_empty = found.empty == Undefined::EmptyGroup;
        Some(Rate { empty: if is_empty { self.empty } else { found.empty }, ..found })
    }

    fn score(&self, of: MatrixReading) -> MetricValue {
        let MatrixReading::Score(score) = of else { return Err(Undefined::OperandMissing) };
        let value = score(&self.matrix(WeightSums::sum));
        value.map_err(|reason| if reason == Undefined::EmptyGroup { self.empty } else { reason })
    }

    fn score_estimate(&self, _: MatrixReading, value: f64) -> Option<Estimate> {
        Some(Estimate::correlation(value, self.classes, self.units.kinds()))
    }
}

impl ClassSubject {
    fn matrix(&self, number: fn(WeightSums) -> u64) -> ClassMatrix {
        ClassMatrix::of_units(self.classes, &self.units, number)
    }

    fn interval(
        &self,
        ask: &MeasureContext<'_>,
        of: MatrixReading,
        found: &SubjectValue,
    ) -> (Option<ValueInterval>, String) {
        ask.interval(found.value, || ask.estimated(self.estimate(of, found)))
    }

    fn measure(
        &self,
        ask: &MeasureContext<'_>,
        metric: &'static Metric,
        of: MatrixReading,
        scope: MetricScope,
    ) -> MeasuredValue {
        let found = self.read(of);
        found.measured(ask, (metric, scope), self.interval(ask, of, &found))
    }

    /// This one's value minus the other's.
    fn gap(
        &self,
        other: &ClassSubject,
        ask: &MeasureContext<'_>,
        metric: &'static Metric,
        of: MatrixReading,
        scope: MetricScope,
    ) -> MeasuredValue {
        let (forth, back) = (self.read(of), other.read(of));
        let value = difference(forth.value, back.value);
        let interval = ask.interval(value, || {
            let both = self.estimate(of, &forth).zip(other.estimate(of, &back));
            ask.estimated(both.map(|(a, b)| a.minus(&b)))
        });
        let people = people_of_two(of, [(self, &forth), (other, &back)]);
        MeasuredValue::new(ask, (metric, scope), value, interval, people)
    }

    fn transitions(&self, ask: &MeasureContext<'_>, scope: MetricScope) -> Vec<ClassTransition> {
        let classes = 0..self.classes;
        let pairs = classes.clone().flat_map(|from| {
            classes.clone().filter(move |&to| to != from).map(move |to| (from, to))
        });
        let transition = |(from_class, to_class): (usize, usize)| {
            let of = MatrixReading::Rate(MatrixRate::Transition(from_class, to_class));
            let found = self.read(of);
            let (people, (interval, ci_method)) = (found.people(), self.interval(ask, of, &found));
            let SubjectValue { value, rate, weights, .. } = found;
            Some(ClassTransition {
                scope,
                from_class,
                to_class,
                value,
                cases: rate?,
                weights,
                // Of a class that nobody has there are none.
                persons: people
                    .persons
                    .map(|of| PersonBasis { denominator: of.denominator.filter(|n| *n > 0), ..of }),
                interval,
                ci_method,
                flags: ask.flags(people.smallest_group, people.smallest_denominator),
            })
        };
        pairs.filter_map(transition).collect()
    }
}
