//! Values of several classes with their intervals: ACC and MCC of labels and predictions, CR, SR
//! and CMCC of counterfactuals, and the rate of every transition from class to class.
//!
//! Every class against all others is measured as two classes are: hand
//! [`FactualClassCounts::one_vs_rest`] to
//! [`measure_factual`](crate::metric::value::measured::measure_factual),
//! [`SwitchClassCounts::one_vs_rest`] to
//! [`measure_counterfactual`](crate::metric::value::switches::measure_counterfactual).
//!
//! Intervals follow the rules of two classes ([`interval`](crate::metric::interval)):
//! Wilson for rates of people who count once, Newcombe for differences of such rates, Wilson on
//! people where no case counts or all do, else a bootstrap of people; where people have weights, of
//! blocks of them. No impaired group is named: the papers read switches of two classes, of which
//! one is favourable. Coverage of 95 % intervals, simulated with 4000 samples (see the tests), of
//! 10, 30 and 300 people of three classes: CMCC 80.4 %, 91.3 % and 95.1 %; the difference of two
//! CMCC 76.2 %, 92.6 % and 94.8 %; the rate of a transition, by Wilson, 95.1 %, 95.2 % and 95.2 %.
//! A sample without an interval, as ten people often give, counts as one that does not hold.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::{ClassMatrix, FactualClassCounts, SwitchClassCounts};
use crate::metric::catalog::find;
use crate::metric::evidence::block_bootstrap::{
    PEOPLE_BLOCKS, WeightSums, add_block_replicates, by_weight,
};
use crate::metric::evidence::class_counts::{FilledCells, sum_over_blocks};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::outcome_patterns::{CellProfiles, ScopeCellProfiles};
use crate::metric::evidence::person::{Eccm, SwitchCells};
use crate::metric::interval::{
    IntervalProcedure, ValueInterval, newcombe, wilson, wilson_of_people,
};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::interval_choice::{IntervalBasis, MeasureContext};
use crate::metric::value::measured::{MeasuredValue, PersonBasis, ValuePeople};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, MetricFamily, difference};
use crate::num::binomial_draws::multinomial;
use crate::num::seed::RandomStream;

/// What is read from a matrix.
#[derive(Clone, Copy)]
enum MatrixReading {
    Rate(fn(&ClassMatrix) -> Rate),
    Score(fn(&ClassMatrix) -> MetricValue),
}

impl MatrixReading {
    fn value(self, matrix: &ClassMatrix) -> MetricValue {
        match self {
            MatrixReading::Rate(rate) => rate(matrix).value(),
            MatrixReading::Score(score) => score(matrix),
        }
    }

    fn rate(self, matrix: &ClassMatrix) -> Option<Rate> {
        match self {
            MatrixReading::Rate(rate) => Some(rate(matrix)),
            MatrixReading::Score(_) => None,
        }
    }
}

/// Of labels and predictions: the metric, that of the difference of two groups, and what is read.
const FACTUAL: [(&str, &str, MatrixReading); 2] = [
    ("acc", "acc_difference", MatrixReading::Rate(ClassMatrix::agreement)),
    ("mcc", "mcc_difference", MatrixReading::Score(ClassMatrix::correlation)),
];

/// Of counterfactuals.
const SWITCHES: [(&str, MatrixReading); 3] = [
    ("cr", MatrixReading::Rate(ClassMatrix::agreement)),
    ("sr", MatrixReading::Rate(ClassMatrix::disagreement)),
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
    let subject = |who: GroupSelection, stream: String| {
        let people = counts.matrix(who);
        let kinds = || {
            let cells = people.rows().flatten().copied().enumerate();
            cells.filter(|(_, n)| *n > 0).map(|(cell, n)| (vec![(cell, 1)], n)).collect()
        };
        let subject = ClassSubject::new(
            people.n(),
            &people,
            counts.blocks(who),
            false,
            MatrixBootstrap::new(kinds(), stream),
        );
        let below = vec![PeopleBelow::new(people.n(), counts.labelled_weight(who))];
        ClassSubject { empty: counts.people(who).or_empty(Undefined::EmptyGroup), below, ..subject }
    };
    let groups: Vec<ClassSubject> = (0..counts.groups())
        .map(|group| {
            subject(GroupSelection::One(group), format!("bootstrap/classes/group/{group}"))
        })
        .collect();
    let all = subject(GroupSelection::All, "bootstrap/classes/total".to_owned());
    let measured = |(id, of_gap, of): (&str, &str, MatrixReading)| {
        let mut out = Vec::new();
        if let Some(metric) = asked_metric(&ask, id) {
            let scopes = groups
                .iter()
                .enumerate()
                .map(|(group, subject)| (MetricScope::Group(group), subject));
            out.extend(
                scopes
                    .chain([(MetricScope::Total, &all)])
                    .map(|(scope, subject)| subject.measure(&ask, metric, of, scope)),
            );
        }
        if let Some(metric) = asked_metric(&ask, of_gap) {
            for (a, of_a) in groups.iter().enumerate() {
                let pairs = groups.iter().enumerate().skip(a + 1);
                out.extend(
                    pairs
                        .map(|(b, of_b)| of_a.gap(of_b, &ask, metric, of, MetricScope::Pair(a, b))),
                );
            }
        }
        out
    };
    FACTUAL.into_par_iter().map(measured).collect::<Vec<_>>().into_iter().flatten().collect()
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
    let (places, people) = (counts.scope_index(), DenominatorPeople::new(counts));
    let mut spreads = counts.filled_cells();
    let mut scopes: Vec<(usize, MetricScope)> = places.scopes().collect();
    scopes.sort_unstable();
    let subjects = scopes.iter().map(|&(place, scope)| {
        let stream = match scope {
            MetricScope::Direction(from, to) => format!("bootstrap/classes/direction/{from}/{to}"),
            MetricScope::OneToRest(from) => format!("bootstrap/classes/one-to-rest/{from}"),
            MetricScope::RestToOne(to) => format!("bootstrap/classes/rest-to-one/{to}"),
            _ => "bootstrap/classes/counterfactual-total".to_owned(),
        };
        let kinds = std::mem::take(&mut spreads[place]);
        let mut matrix = ClassMatrix::new(counts.classes());
        kinds.iter().for_each(|(cells, people)| {
            cells.iter().for_each(|(cell, times)| matrix.add(*cell, people * times))
        });
        let n = kinds.iter().map(|(_, people)| people).sum();
        let repeats =
            kinds.iter().any(|(cells, _)| cells.iter().map(|(_, times)| times).sum::<u64>() > 1);
        let subject = ClassSubject::new(
            n,
            &matrix,
            counts.blocks(place),
            repeats,
            MatrixBootstrap::new(kinds, stream),
        );
        (scope, ClassSubject { below: people.at(place), ..subject })
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
    n: u64,
    people: ClassMatrix,
    weight: Option<ClassMatrix>,
    /// Why there is no value where the matrix is empty.
    empty: Undefined,
    /// People below a rate of all, then below that of each class.
    below: Vec<PeopleBelow>,
    /// Whether somebody counts more than once.
    has_repeats: bool,
    bootstrap: MatrixBootstrap,
}

/// People below a rate.
#[derive(Debug, Clone, Copy)]
struct PeopleBelow {
    /// Their effective number where they weigh differently, else their number.
    effective: f64,
    /// Those who weigh more than 0; none where nobody has a weight.
    weighing: Option<u64>,
}

impl PeopleBelow {
    fn new(people: u64, weights: Option<WeightSums>) -> Self {
        PeopleBelow {
            effective: weights.map_or(people as f64, WeightSums::effective),
            weighing: weights.map(WeightSums::people),
        }
    }
}

/// How many people are below the rates of counterfactuals.
struct DenominatorPeople {
    /// By class, against all others.
    people: Vec<ScopeCellProfiles>,
    /// What they weigh, by class and number of the scope; none where nobody has a weight.
    weights: Option<Vec<Vec<CellProfiles<WeightSums>>>>,
}

impl DenominatorPeople {
    fn new(counts: &SwitchClassCounts) -> Self {
        let one_vs_all = counts.one_vs_rest();
        DenominatorPeople {
            people: one_vs_all.iter().map(CounterfactualCounts::cell_profiles).collect(),
            weights: one_vs_all.iter().map(CounterfactualCounts::weight_profiles).collect(),
        }
    }

    /// In a scope: of all, then of those who are predicted each class.
    fn at(&self, place: usize) -> Vec<PeopleBelow> {
        let all = |kind: &SwitchCells| Eccm(*kind).rate(0, Eccm(*kind).n(), Undefined::EmptyGroup);
        let positive = |kind: &SwitchCells| {
            let eccm = Eccm(*kind);
            eccm.rate(0, eccm.cp() + eccm.sn(), Undefined::EmptyGroup)
        };
        let below = |class: usize, rate: &dyn Fn(&SwitchCells) -> Rate| {
            let weights = self.weights.as_ref();
            let weights = weights.map(|weights| weights[class][place].denominator(rate));
            PeopleBelow::new(self.people[class].at(place).denominator(rate), weights)
        };
        let classes = 0..self.people.len();
        classes
            .clone()
            .take(1)
            .map(|first| below(first, &all))
            .chain(classes.map(|class| below(class, &positive)))
            .collect()
    }
}

/// What is drawn, and the replicates once they are asked for: matrices one behind the other.
struct MatrixBootstrap {
    kinds: Vec<FilledCells>,
    stream: String,
    blocks: Vec<(u64, usize, u64)>,
    replicates: OnceLock<Vec<u64>>,
}

impl MatrixBootstrap {
    fn new(kinds: Vec<FilledCells>, stream: String) -> Self {
        MatrixBootstrap { kinds, stream, blocks: Vec::new(), replicates: OnceLock::new() }
    }
}

impl ClassSubject {
    fn new(
        n: u64,
        people: &ClassMatrix,
        blocks: Option<Vec<(u64, usize, u64)>>,
        repeats: bool,
        drawing: MatrixBootstrap,
    ) -> Self {
        let weight = blocks.as_ref().map(|blocks| sum_over_blocks(people.classes(), blocks));
        let drawing = MatrixBootstrap { blocks: blocks.unwrap_or_default(), ..drawing };
        ClassSubject {
            n,
            people: people.clone(),
            weight,
            empty: Undefined::EmptyGroup,
            below: Vec::new(),
            has_repeats: repeats,
            bootstrap: drawing,
        }
    }

    /// Whether a rate is one of independent cases.
    fn is_plain(&self) -> bool {
        !self.has_repeats && self.weight.is_none()
    }

    fn method(&self) -> IntervalProcedure {
        if self.weight.is_some() {
            IntervalProcedure::Blocks { of: PEOPLE_BLOCKS, centred: false }
        } else {
            IntervalProcedure::Bootstrap
        }
    }

    fn value(&self, of: impl Fn(&ClassMatrix) -> MetricValue) -> MetricValue {
        let value = match &self.weight {
            None => of(&self.people),
            Some(weight) => by_weight(of(weight), || of(&self.people)),
        };
        value.map_err(|reason| if reason == Undefined::EmptyGroup { self.empty } else { reason })
    }

    fn replicates<'a>(
        &'a self,
        ask: &MeasureContext<'_>,
    ) -> impl Iterator<Item = ClassMatrix> + use<'a> {
        let classes = self.people.classes();
        let width = (classes * classes).max(1);
        let draw = || {
            let samples = usize::try_from(ask.settings.samples.get()).unwrap_or(usize::MAX);
            let mut replicates = vec![0; width * samples];
            if self.weight.is_some() {
                let blocks = self.bootstrap.blocks.chunk_by(|x, y| x.0 == y.0);
                let sums = blocks.map(|block| {
                    (block[0].0, block.iter().map(|&(_, cell, weight)| (cell, weight)))
                });
                add_block_replicates(&mut replicates, width, sums, ask.block_multiplicities());
                return replicates;
            }
            let mut stream = RandomStream::new(ask.settings.seed.0, &self.bootstrap.stream);
            let weights: Vec<u64> =
                self.bootstrap.kinds.iter().map(|(_, people)| *people).collect();
            for replicate in replicates.chunks_exact_mut(width) {
                multinomial(&mut stream, weights.iter().sum(), &weights, |kind, count| {
                    self.bootstrap.kinds[kind]
                        .0
                        .iter()
                        .for_each(|(cell, times)| replicate[*cell] += times * count);
                });
            }
            replicates
        };
        self.bootstrap
            .replicates
            .get_or_init(draw)
            .chunks_exact(width)
            .map(move |cells| ClassMatrix::from_cells(classes, cells))
    }

    /// The interval of a value of this scope; a rate comes with its cases, what these weigh, and
    /// the class whose people are below it.
    fn basis(
        &self,
        ask: &MeasureContext<'_>,
        rate: Option<(Rate, Option<Rate>, Option<usize>)>,
        of: impl Fn(&ClassMatrix) -> MetricValue,
    ) -> IntervalBasis {
        match rate {
            Some((rate, ..)) if self.is_plain() => IntervalBasis::Formula(wilson(rate, ask.z)),
            Some((rate, weights, class)) if weights.unwrap_or(rate).is_boundary() => {
                let everybody = weights.unwrap_or(rate).numerator > 0;
                let below = self.below.get(class.map_or(0, |class| class + 1));
                let people = below.map_or(0.0, |below| below.effective);
                let method = IntervalProcedure::WilsonPeople { weighed: self.weight.is_some() };
                IntervalBasis::Formula(wilson_of_people(everybody, people, ask.z, method))
            }
            _ => {
                ask.percentile(self.replicates(ask).map(|replicate| of(&replicate)), self.method())
            }
        }
    }

    fn measure(
        &self,
        ask: &MeasureContext<'_>,
        metric: &'static Metric,
        of: MatrixReading,
        scope: MetricScope,
    ) -> MeasuredValue {
        let rate = of.rate(&self.people);
        let value = self.value(|matrix| of.value(matrix));
        let weights = self.weight.as_ref().and_then(|weight| of.rate(weight));
        let basis =
            || self.basis(ask, rate.map(|rate| (rate, weights, None)), |matrix| of.value(matrix));
        self.measured(ask, metric, scope, value, rate, basis).with_rate(rate, weights)
    }

    fn measured(
        &self,
        ask: &MeasureContext<'_>,
        metric: &'static Metric,
        scope: MetricScope,
        value: MetricValue,
        rate: Option<Rate>,
        basis: impl FnOnce() -> IntervalBasis,
    ) -> MeasuredValue {
        let interval = ask.interval(value, basis);
        let people = ValuePeople::one(self.n, rate).with_person_basis(self.person_basis(rate));
        MeasuredValue::new(ask, (metric, scope), value, interval, people).with_rate(rate, None)
    }

    /// The people who carry a value where people have weights; none where nobody has one.
    fn person_basis(&self, rate: Option<Rate>) -> Option<PersonBasis> {
        let all = self.below.first()?;
        let counts_once = rate.is_some() && !self.has_repeats;
        Some(PersonBasis {
            n: all.weighing?,
            denominator: all.weighing.filter(|_| rate.is_some()),
            effective: Some(all.effective).filter(|n| counts_once && n.is_finite()),
        })
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
        let value = difference(
            self.value(|matrix| of.value(matrix)),
            other.value(|matrix| of.value(matrix)),
        );
        let rates = of.rate(&self.people).zip(of.rate(&other.people));
        let interval = ask.interval(value, || match rates {
            Some((a, b)) if self.is_plain() && other.is_plain() => {
                IntervalBasis::Formula(newcombe(a, b, ask.z))
            }
            _ => {
                let replicates = self.replicates(ask).zip(other.replicates(ask));
                ask.percentile(
                    replicates.map(|(a, b)| difference(of.value(&a), of.value(&b))),
                    self.method(),
                )
            }
        });
        let denominators = rates.map(|(a, b)| (a.denominator, b.denominator));
        let carriers = [(self, rates.map(|of| of.0)), (other, rates.map(|of| of.1))]
            .map(|(of, rate)| of.person_basis(rate));
        let all = carriers[0].zip(carriers[1]).map(|(a, b)| a.n + b.n);
        let people = ValuePeople::two([self.n, other.n], denominators).with_persons(all, &carriers);
        MeasuredValue::new(ask, (metric, scope), value, interval, people)
    }

    fn transitions(&self, ask: &MeasureContext<'_>, scope: MetricScope) -> Vec<ClassTransition> {
        let classes = 0..self.people.classes();
        let pairs = classes.clone().flat_map(|from| {
            classes.clone().filter(move |&to| to != from).map(move |to| (from, to))
        });
        let transition = |(from_class, to_class): (usize, usize)| {
            let cases = self.people.transition(from_class, to_class);
            let of = |matrix: &ClassMatrix| matrix.transition(from_class, to_class).value();
            let value = self.value(of);
            let weights =
                self.weight.as_ref().map(|weight| weight.transition(from_class, to_class));
            let (interval, ci_method) = ask
                .interval(value, || self.basis(ask, Some((cases, weights, Some(from_class))), of));
            let weighing = |at: usize| self.below.get(at).and_then(|below| below.weighing);
            let flags = ask.flags(
                weighing(0).unwrap_or(self.n),
                Some(weighing(from_class + 1).unwrap_or(cases.denominator)),
            );
            ClassTransition {
                scope,
                from_class,
                to_class,
                value,
                cases,
                weights,
                interval,
                ci_method,
                flags,
            }
        };
        pairs.map(transition).collect()
    }
}
