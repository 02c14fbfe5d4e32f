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
//! blocks of them. Where a person may have several rows, rates and their differences have the same
//! intervals on the rows over the design effect of persons, and blocks of persons are drawn
//! ([`person_interval`](crate::metric::person_interval)). No impaired group is named: the papers
//! read switches of two classes, of which one is favourable. Coverage of 95 % intervals, simulated
//! with 4000 samples (see the tests), of 10, 30 and 300 people of three classes: CMCC 80.4 %,
//! 91.3 % and 95.1 %; the difference of two CMCC 76.2 %, 92.6 % and 94.8 %; the rate of a
//! transition, by Wilson, 95.1 %, 95.2 % and 95.2 %. A sample without an interval, as ten people
//! often give, counts as one that does not hold.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::{ClassMatrix, FactualClassCounts, SwitchClassCounts};
use crate::metric::catalog::find;
use crate::metric::evidence::block_bootstrap::{
    PEOPLE_BLOCKS, WeightSums, add_block_replicates, by_weight,
};
use crate::metric::evidence::class_counts::{ClassUnitCells, FilledCells};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::matrix::MatrixRate;
use crate::metric::evidence::outcome_patterns::{CellProfiles, ScopeCellProfiles};
use crate::metric::evidence::person::{Eccm, SwitchCells};
use crate::metric::interval::{
    IntervalProcedure, ReplicateSource, ValueInterval, newcombe, newcombe_of, wilson,
    wilson_of_people,
};
use crate::metric::person_interval::{PersonRate, newcombe_of_persons};
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
    let subject = |who: GroupSelection, stream: String| {
        let people = counts.matrix(who);
        let kinds = || {
            let cells = people.rows().flatten().copied().enumerate();
            cells.filter(|(_, n)| *n > 0).map(|(cell, n)| (vec![(cell, 1)], n)).collect()
        };
        let subject = ClassSubject::new(
            people.n(),
            &people,
            counts.unit_cells(who),
            false,
            MatrixBootstrap::new(kinds(), stream),
        );
        let weights = counts.labelled_weight(who);
        let below = vec![PeopleBelow { people: people.n(), weights }];
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
            counts.unit_cells(place),
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
    /// Their rows, where a person may have several.
    n: u64,
    people: ClassMatrix,
    weight: Option<ClassMatrix>,
    /// Key, cell and rows, or what these weigh, of each person, ascending by key; none where each
    /// row is a person.
    persons: Option<Vec<(u64, usize, u64)>>,
    /// How many persons these are.
    n_persons: Option<u64>,
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
    /// Their number, or that of their rows.
    people: u64,
    /// What they weigh; none where nobody has a weight.
    weights: Option<WeightSums>,
}

impl PeopleBelow {
    /// Their effective number where they weigh differently, else their number.
    fn effective(self) -> f64 {
        self.weights.map_or(self.people as f64, WeightSums::effective)
    }

    /// Those who weigh more than 0; none where nobody has a weight.
    fn weighing(self) -> Option<u64> {
        self.weights.map(WeightSums::people)
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
            let people = self.people[class].at(place).denominator(rate);
            PeopleBelow { people, weights }
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
    /// None where kinds are drawn.
    blocks: Option<Vec<(u64, usize, u64)>>,
    replicates: OnceLock<Vec<u64>>,
}

impl MatrixBootstrap {
    fn new(kinds: Vec<FilledCells>, stream: String) -> Self {
        MatrixBootstrap { kinds, stream, blocks: None, replicates: OnceLock::new() }
    }
}

impl ClassSubject {
    fn new(
        n: u64,
        people: &ClassMatrix,
        units: Option<ClassUnitCells>,
        repeats: bool,
        drawing: MatrixBootstrap,
    ) -> Self {
        let (weight, blocks, persons) = units
            .map_or((None, None, None), |units| (units.weights, Some(units.blocks), units.persons));
        let n_of = |cells: &Vec<_>| cells.chunk_by(is_of_one_person).count() as u64;
        ClassSubject {
            n,
            people: people.clone(),
            weight,
            n_persons: persons.as_ref().map(n_of),
            persons,
            empty: Undefined::EmptyGroup,
            below: Vec::new(),
            has_repeats: repeats,
            bootstrap: MatrixBootstrap { blocks, ..drawing },
        }
    }

    /// Whether a rate is one of cases that count once.
    fn is_plain(&self) -> bool {
        !self.has_repeats && self.weight.is_none()
    }

    /// How replicates are drawn, and from how many persons.
    fn source(&self) -> ReplicateSource {
        let method = match self.bootstrap.blocks {
            Some(_) => IntervalProcedure::Blocks { of: PEOPLE_BLOCKS, centred: false },
            None => IntervalProcedure::Bootstrap,
        };
        ReplicateSource { method, persons: self.n_persons }
    }

    /// People below a rate of all, or of those who are predicted a class.
    fn below(&self, rate: MatrixRate) -> Option<PeopleBelow> {
        self.below.get(rate.class().map_or(0, |class| class + 1)).copied()
    }

    /// A rate by person, of what the rows weigh where they have weights; none where each row is a
    /// person.
    fn person_rate(&self, rate: MatrixRate) -> Option<PersonRate> {
        let classes = self.people.classes();
        let each = self.persons.as_ref()?.chunk_by(is_of_one_person).map(|own| {
            let cells = own.iter().map(|&(_, cell, n)| (cell, n));
            (own[0].0, rate.of_cells(classes, cells))
        });
        Some(match &self.weight {
            None => PersonRate::new(rate.of(&self.people), each),
            Some(weight) => {
                let rows = self.below(rate).and_then(|below| below.weights).unwrap_or_default();
                PersonRate::of_weights(rate.of(weight), rows, each)
            }
        })
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
            if let Some(blocks) = &self.bootstrap.blocks {
                let blocks = blocks.chunk_by(|x, y| x.0 == y.0);
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

    /// The interval of a value of this scope; of a rate with the rate by person, where a person may
    /// have several rows.
    fn basis(
        &self,
        ask: &MeasureContext<'_>,
        rate: Option<(MatrixRate, Option<&PersonRate>)>,
        of: impl Fn(&ClassMatrix) -> MetricValue,
    ) -> IntervalBasis {
        let counted = rate.map(|(rate, by_person)| {
            (rate, by_person, rate.of(self.weight.as_ref().unwrap_or(&self.people)))
        });
        match counted {
            Some((_, Some(by_person), cases)) if self.is_plain() || cases.is_boundary() => {
                IntervalBasis::Formula(by_person.wilson(ask.z))
            }
            Some((_, None, cases)) if self.is_plain() => {
                IntervalBasis::Formula(wilson(cases, ask.z))
            }
            Some((rate, None, cases)) if cases.is_boundary() => {
                let people = self.below(rate).map_or(0.0, PeopleBelow::effective);
                let method = IntervalProcedure::WilsonPeople { weighed: self.weight.is_some() };
                let everybody = cases.numerator > 0;
                IntervalBasis::Formula(wilson_of_people(everybody, people, ask.z, method))
            }
            _ => {
                ask.percentile(self.replicates(ask).map(|replicate| of(&replicate)), self.source())
            }
        }
    }

    /// A value of this scope with its interval, and what is behind it.
    fn found(&self, ask: &MeasureContext<'_>, of: MatrixReading) -> FoundValue {
        let value = self.value(|matrix| of.value(matrix));
        let by_person = of.rate().and_then(|rate| self.person_rate(rate));
        let rate = of.rate().map(|rate| (rate, by_person.as_ref()));
        let (interval, ci_method) =
            ask.interval(value, || self.basis(ask, rate, |matrix| of.value(matrix)));
        let people = ValuePeople::one(self.n, rate.map(|(rate, _)| rate.of(&self.people)))
            .with_person_basis(self.person_basis(rate));
        FoundValue { value, interval, ci_method, people }
    }

    fn measure(
        &self,
        ask: &MeasureContext<'_>,
        metric: &'static Metric,
        of: MatrixReading,
        scope: MetricScope,
    ) -> MeasuredValue {
        let FoundValue { value, interval, ci_method, people } = self.found(ask, of);
        let rate = |matrix: &ClassMatrix| of.rate().map(|rate| rate.of(matrix));
        MeasuredValue::new(ask, (metric, scope), value, (interval, ci_method), people)
            .with_rate(rate(&self.people), self.weight.as_ref().and_then(rate))
    }

    /// The people who carry a value where people have weights or several rows; none where each row
    /// is a person who counts as one.
    fn person_basis(&self, rate: Option<(MatrixRate, Option<&PersonRate>)>) -> Option<PersonBasis> {
        let counts_once = |at_an_end: bool| !self.has_repeats || at_an_end;
        if let Some(n) = self.n_persons {
            let by_person = rate.and_then(|(_, by_person)| by_person);
            let of = PersonBasis::new(n, by_person);
            let keeps = counts_once(by_person.is_some_and(PersonRate::is_boundary));
            return Some(PersonBasis { effective: of.effective.filter(|_| keeps), ..of });
        }
        let below = rate.and_then(|(rate, _)| self.below(rate));
        let effective = below.map(PeopleBelow::effective);
        Some(PersonBasis {
            n: self.below.first()?.weighing()?,
            denominator: below.and_then(PeopleBelow::weighing),
            effective: effective.filter(|n| counts_once(false) && n.is_finite()),
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
        let sides = [self, other];
        let [forth, back] = sides.map(|side| side.value(|matrix| of.value(matrix)));
        let value = difference(forth, back);
        let by_person = sides.map(|side| of.rate().and_then(|rate| side.person_rate(rate)));
        let interval = ask.interval(value, || match (of.rate(), &by_person) {
            (Some(_), [Some(a), Some(b)]) if sides.iter().all(|side| side.is_plain()) => {
                IntervalBasis::Formula(newcombe_of_persons(a, b, a.correlation(b), ask.z))
            }
            (Some(rate), _) if sides.iter().all(|side| side.is_plain()) => IntervalBasis::Formula(
                newcombe(rate.of(&self.people), rate.of(&other.people), ask.z),
            ),
            // The replicates of a rate of 0 or 1 are all equal, as if it were known for certain.
            (Some(_), _) if [forth, back].iter().any(|of| *of == Ok(0.0) || *of == Ok(1.0)) => {
                let ends = sides.map(|side| side.found(ask, of).interval);
                let known = forth.ok().zip(back.ok()).zip(ends[0].zip(ends[1]));
                IntervalBasis::Hybrid(
                    known.map(|(values, ends)| {
                        newcombe_of(values, ends, 0.0, IntervalProcedure::Mover)
                    }),
                )
            }
            _ => {
                let replicates = self.replicates(ask).zip(other.replicates(ask));
                ask.percentile(
                    replicates.map(|(a, b)| difference(of.value(&a), of.value(&b))),
                    self.source().with(other.source()),
                )
            }
        });
        let denominators = of.rate().map(|rate| {
            let [a, b] = sides.map(|side| rate.of(&side.people).denominator);
            (a, b)
        });
        let carriers = [0, 1]
            .map(|i| sides[i].person_basis(of.rate().map(|rate| (rate, by_person[i].as_ref()))));
        let all = self.all_persons(other);
        let all = all.or_else(|| Some(carriers[0]?.n + carriers[1]?.n));
        let people = ValuePeople::two([self.n, other.n], denominators).with_persons(all, &carriers);
        MeasuredValue::new(ask, (metric, scope), value, interval, people)
    }

    /// Different persons of two scopes; none where each row is a person.
    fn all_persons(&self, other: &ClassSubject) -> Option<u64> {
        let keys = |cells: &[(u64, usize, u64)]| cells.iter().map(|(key, ..)| *key).collect();
        let (mut all, others): (Vec<u64>, Vec<u64>) =
            (keys(self.persons.as_ref()?), keys(other.persons.as_ref()?));
        all.extend(others);
        all.sort_unstable();
        all.dedup();
        Some(all.len() as u64)
    }

    fn transitions(&self, ask: &MeasureContext<'_>, scope: MetricScope) -> Vec<ClassTransition> {
        let classes = 0..self.people.classes();
        let pairs = classes.clone().flat_map(|from| {
            classes.clone().filter(move |&to| to != from).map(move |to| (from, to))
        });
        let transition = |(from_class, to_class): (usize, usize)| {
            let rate = MatrixRate::Transition(from_class, to_class);
            let FoundValue { value, interval, ci_method, people } =
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
}

/// Whether two cells are those of one person.
fn is_of_one_person(one: &(u64, usize, u64), other: &(u64, usize, u64)) -> bool {
    one.0 == other.0
}
