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
use crate::metric::estimate::share::Share;
use crate::metric::evidence::class_counts::ClassUnits;
use crate::metric::evidence::matrix::MatrixRate;
use crate::metric::evidence::person_sums::distinct;
use crate::metric::evidence::units::{MatrixUnits, WeightSums};
use crate::metric::interval::ValueInterval;
use crate::metric::rate::{MetricValue, Rate, Undefined, by_weight};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::swap_effect::SwapEffect;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured::{MeasuredValue, PersonBasis, ValuePeople};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, MetricFamily, difference};

/// What is read from a matrix.
#[derive(Clone, Copy)]
enum MatrixReading {
    Rate(MatrixRate),
    Score(fn(&ClassMatrix) -> MetricValue),
}

impl MatrixReading {
    fn value(self, matrix: &ClassMatrix) -> MetricValue {
        match self {
            MatrixReading::Rate(rate) => rate.of(matrix).value(),
            MatrixReading::Score(score) => score(matrix),
        }
    }

    fn rate(self) -> Option<MatrixRate> {
        match self {
            MatrixReading::Rate(rate) => Some(rate),
            MatrixReading::Score(_) => None,
        }
    }
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
    let subject = |who: GroupSelection| {
        let people = counts.matrix(who);
        let empty = counts.people(who).or_empty(Undefined::EmptyGroup);
        let (n, weight, units) = (people.n(), counts.weight_matrix(who), counts.units(who));
        ClassSubject { n, people, weight, units, empty }
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
    let mut units: Vec<Option<ClassUnits>> = counts.units().into_iter().map(Some).collect();
    let mut scopes: Vec<(usize, MetricScope)> = places.scopes().collect();
    scopes.sort_unstable();
    let subjects = scopes.iter().filter_map(|&(place, scope)| {
        let units = units[place].take()?;
        let matrix = |weight: fn(WeightSums) -> u64| {
            let mut all = ClassMatrix::new(counts.classes());
            for (_, cells, sums) in &units.rows {
                cells.iter().for_each(|(cell, times)| all.add(*cell, weight(*sums) * times));
            }
            all
        };
        let n = units.rows.iter().map(|(_, _, sums)| sums.people()).sum();
        let weight = counts.is_weighted().then(|| matrix(WeightSums::sum));
        let (people, empty) = (matrix(WeightSums::people), Undefined::EmptyGroup);
        Some((scope, ClassSubject { n, people, weight, units, empty }))
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
    /// Their rows, where a person may have several.
    n: u64,
    people: ClassMatrix,
    weight: Option<ClassMatrix>,
    units: ClassUnits,
    /// Why there is no value where the matrix is empty.
    empty: Undefined,
}

impl ClassSubject {
    fn kinds(&self) -> &[MatrixUnits] {
        self.units.persons.as_ref().unwrap_or(&self.units.rows)
    }

    /// A rate with its effective size; none where nothing is below it.
    fn share(&self, rate: MatrixRate) -> Option<Share> {
        let classes = self.people.classes();
        let mut rows = WeightSums::default();
        for (_, cells, sums) in &self.units.rows {
            // Each counterfactual is a row.
            let below = rate.of_cells(classes, cells.iter().copied()).denominator;
            (0..below).for_each(|_| rows += *sums);
        }
        let each = self
            .kinds()
            .iter()
            .map(|(key, cells, sums)| (*key, rate.of_cells(classes, cells.iter().copied()), *sums));
        let all = rate.of(self.weight.as_ref().unwrap_or(&self.people));
        Share::of_units(all, rows.into(), each)
    }

    fn estimate(&self, of: MatrixReading, value: MetricValue) -> Option<Estimate> {
        match of {
            MatrixReading::Rate(rate) => self.share(rate).map(Estimate::from),
            MatrixReading::Score(_) => Some(Estimate::correlation(
                value.ok()?,
                self.people.classes(),
                self.kinds().to_vec(),
            )),
        }
    }

    fn value(&self, of: impl Fn(&ClassMatrix) -> MetricValue) -> MetricValue {
        let value = match &self.weight {
            None => of(&self.people),
            Some(weight) => by_weight(of(weight), || of(&self.people)),
        };
        value.map_err(|reason| if reason == Undefined::EmptyGroup { self.empty } else { reason })
    }

    /// A value of this scope with its interval, and what is behind it.
    fn found(&self, ask: &MeasureContext<'_>, of: MatrixReading) -> FoundValue {
        let value = self.value(|matrix| of.value(matrix));
        let share = of.rate().and_then(|rate| self.share(rate));
        let (interval, ci_method) = ask.interval(value, || ask.estimated(self.estimate(of, value)));
        let people = ValuePeople::one(self.n, of.rate().map(|rate| rate.of(&self.people)))
            .with_person_basis(self.person_basis(share.as_ref()));
        FoundValue { value, interval, ci_method, people, share }
    }

    fn measure(
        &self,
        ask: &MeasureContext<'_>,
        metric: &'static Metric,
        of: MatrixReading,
        scope: MetricScope,
    ) -> MeasuredValue {
        let FoundValue { value, interval, ci_method, people, share } = self.found(ask, of);
        let rate = |matrix: &ClassMatrix| of.rate().map(|rate| rate.of(matrix));
        MeasuredValue::new(ask, (metric, scope), value, (interval, ci_method), people)
            .with_rate(rate(&self.people), self.weight.as_ref().and_then(rate))
            .with_size(share.as_ref())
    }

    /// The people who carry a value where people have weights or several rows; none where each row
    /// is a person who counts as one.
    fn person_basis(&self, share: Option<&Share>) -> Option<PersonBasis> {
        let n = self.kinds().iter().map(|(_, _, sums)| sums.people()).sum();
        let counts = self.weight.is_some() || self.units.persons.is_some();
        let below = |share: &Share| match self.units.persons {
            Some(_) => share.n_units,
            None => share.n_rows,
        };
        counts.then(|| PersonBasis { n, denominator: share.map(below) })
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
        let sides = [self, other];
        let [forth, back] = sides.map(|side| side.value(|matrix| of.value(matrix)));
        let value = difference(forth, back);
        let interval = ask.interval(value, || {
            let both = self.estimate(of, forth).zip(other.estimate(of, back));
            ask.estimated(both.map(|(a, b)| a.minus(&b)))
        });
        let denominators = of.rate().map(|rate| {
            let [a, b] = sides.map(|side| rate.of(&side.people).denominator);
            (a, b)
        });
        let carriers = sides.map(|side| {
            let share = of.rate().and_then(|rate| side.share(rate));
            side.person_basis(share.as_ref())
        });
        let all = self.all_persons(other);
        let all = all.or_else(|| Some(carriers[0]?.n + carriers[1]?.n));
        let people = ValuePeople::two([self.n, other.n], denominators).with_persons(all, &carriers);
        MeasuredValue::new(ask, (metric, scope), value, interval, people)
    }

    /// Different persons of two scopes; none where each row is a person.
    fn all_persons(&self, other: &ClassSubject) -> Option<u64> {
        let all = self.units.persons.iter().chain(&other.units.persons).flatten();
        self.units.persons.as_ref()?;
        Some(distinct(all.map(|(key, ..)| *key)))
    }

    fn transitions(&self, ask: &MeasureContext<'_>, scope: MetricScope) -> Vec<ClassTransition> {
        let classes = 0..self.people.classes();
        let pairs = classes.clone().flat_map(|from| {
            classes.clone().filter(move |&to| to != from).map(move |to| (from, to))
        });
        let transition = |(from_class, to_class): (usize, usize)| {
            let rate = MatrixRate::Transition(from_class, to_class);
            let FoundValue { value, interval, ci_method, people, .. } =
                self.found(ask, MatrixReading::Rate(rate));
            ClassTransition {
                scope,
                from_class,
                to_class,
                value,
                cases: rate.of(&self.people),
                weights: self.weight.as_ref().map(|weight| rate.of(weight)),
                persons: people.persons,
                interval,
                ci_method,
                flags: ask.flags(people.smallest_group, people.smallest_denominator),
            }
        };
        pairs.map(transition).collect()
    }
}

/// A value with its interval, or why there is none, and the people behind it.
struct FoundValue {
    value: MetricValue,
    interval: Option<ValueInterval>,
    ci_method: String,
    people: ValuePeople,
    share: Option<Share>,
}
