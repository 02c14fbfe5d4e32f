//! Turns evidence into values: every metric of the asked families in every scope, with interval,
//! flags and impaired group.
//!
//! Here: groups as they are, in the scopes `group`, `total`, `pair` (A before B in reference order;
//! for [`clarify`](crate::metric::catalog::clarify) the favoured facet first), `worst_case` and,
//! with more than two groups, `one_vs_rest`. The families with counterfactuals are in
//! [`switches`](super::switches).
//! Which interval a value gets is in [`interval`](crate::metric::interval).
//!
//! Where people have weights, values are computed from what they weigh; cases are people anyway.
//! Flags and gates count people (persons, where one may have several rows) who weigh more than 0.
//!
//! Streams of chance are named by scope, so that a value does not depend on which other values are
//! asked for, nor on the thread that makes it: work is shared among the threads of the pool that
//! the caller is in, and values keep their order.

use std::rc::Rc;

use rayon::prelude::*;

use crate::metric::bootstrap::placebo::PlaceboBand;
use crate::metric::bootstrap::repeats::RepeatSpread;
use crate::metric::catalog::performance::rates_of_mean;
use crate::metric::evidence::block_bootstrap::{WeightSums, by_weight};
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::flip_test::FlipTestResult;
use crate::metric::evidence::person::{CONFUSION_CELLS, Confusion, ConfusionCells};
use crate::metric::interval::{
    IntervalProcedure, ReplicateSource, ValueInterval, wilson, wilson_of_people, z_of_level,
};
use crate::metric::person_interval::PersonRate;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::swap_effect::SwapEffect;
use crate::metric::value::interval_choice::{CellBootstrap, IntervalBasis, MeasureContext};
use crate::metric::value::largest::IntervalAt;
use crate::metric::value::mean_gap::MeanInfluences;
pub(crate) use crate::metric::value::settings::FurthestGroups;
use crate::metric::value::settings::{MeasureSettings, NEGATIVE_PART, RATE_OF_ONE};
use crate::metric::{Metric, MetricFamily, Reads};

/// One value with everything that a table says about it.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredValue {
    /// Where it holds.
    pub scope: MetricScope,
    /// What it is.
    pub metric: &'static Metric,
    /// The value, or why there is none.
    pub value: MetricValue,
    /// Count on top of a rate; none where the value is not a rate of counts.
    pub numerator: Option<u64>,
    /// Count below a rate.
    pub denominator: Option<u64>,
    /// What those on top of a rate and those below it weigh in whole units, which the value is
    /// derived from; none where nobody has a weight.
    pub weights: Option<(u64, u64)>,
    /// People behind it; their rows where a person may have several.
    pub n_rows: u64,
    /// Those behind these rows who carry information; none where each row is a person who counts
    /// as one.
    pub(crate) persons: Option<PersonBasis>,
    /// Its interval.
    pub interval: Option<ValueInterval>,
    /// The method of the interval in full, or why there is none.
    pub ci_method: String,
    /// The value without disparity in this scope: of a difference 0, regardless of that of the
    /// metric.
    pub ideal: Option<f64>,
    /// [`SMALL_GROUP`], [`SMALL_DENOMINATOR`].
    pub flags: Vec<&'static str>,
    /// The group at a disadvantage, where the sources say and the numbers are clear: the interval
    /// leaves out the ideal; of switches also, at least as many people switch as a denominator is
    /// to have, and the interval lies beyond the band of the placebo.
    pub impaired: Option<usize>,
    /// People, or persons, whose prediction switches, of a rate those it counts, of a difference
    /// those of the worse direction; none of what is about no switch.
    pub switched: Option<u64>,
    /// What noise gives; none where no placebo was asked for.
    pub placebo: Option<PlaceboBand>,
    /// What other rows to learn from give; none where no doubt about the fit was asked for.
    pub fit: Option<RepeatSpread>,
    /// What other trainings of the model give; none where it is not trained again.
    pub training: Option<RepeatSpread>,
    /// Who holds a value of the scope `worst_case`; none in every other scope.
    pub furthest: Option<FurthestGroups>,
}

/// A value that is a number; what is larger than any is undefined.
pub(crate) fn finite_or_overflow(value: MetricValue) -> MetricValue {
    value.and_then(|value| if value.is_finite() { Ok(value) } else { Err(Undefined::Overflow) })
}

/// The people who carry the information of a value, where a person may have several rows or people
/// have weights: persons with a row that weighs more than 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PersonBasis {
    /// Persons with a row behind it.
    pub n: u64,
    /// Persons with a row below the rate; none where the value is not a rate of counts.
    pub denominator: Option<u64>,
    /// Rows below the rate, of weights Kish's number, over the design effect of persons: as many
    /// independent cases would be as sure. None where a row counts more than once.
    pub effective: Option<f64>,
}

impl PersonBasis {
    /// Those behind a rate, of so many persons in all.
    pub(crate) fn new(n: u64, rate: Option<&PersonRate>) -> Self {
        PersonBasis {
            n,
            denominator: rate.map(PersonRate::n_persons),
            effective: rate.and_then(PersonRate::effective),
        }
    }

    /// People with weights, each with one row: all who count, and the cases of a rate below it with
    /// their effective number.
    pub(crate) fn weighed(all: WeightSums, below: Option<(u64, f64)>) -> Self {
        PersonBasis {
            n: all.people(),
            denominator: below.map(|(cases, _)| cases),
            effective: below.map(|(_, effective)| effective).filter(|n| n.is_finite()),
        }
    }
}

/// How many people and cases are behind a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValuePeople {
    /// People in all; their rows where a person may have several.
    pub(crate) n: u64,
    /// Those behind these rows who carry information; none where each row is a person who counts
    /// as one.
    pub(crate) persons: Option<PersonBasis>,
    /// Of several groups the people of the smallest.
    pub(crate) smallest_group: u64,
    /// Of several rates the cases below the smallest; none where no rate is behind it.
    pub(crate) smallest_denominator: Option<u64>,
}

impl ValuePeople {
    /// Of one subject.
    pub(crate) fn one(n: u64, rate: Option<Rate>) -> Self {
        ValuePeople {
            n,
            persons: None,
            smallest_group: n,
            smallest_denominator: rate.map(|rate| rate.denominator),
        }
    }

    /// Of two subjects, with the cases below each rate.
    pub(crate) fn two([n_a, n_b]: [u64; 2], denominators: Option<(u64, u64)>) -> Self {
        ValuePeople {
            n: n_a + n_b,
            persons: None,
            smallest_group: n_a.min(n_b),
            smallest_denominator: denominators.map(|(x, y)| x.min(y)),
        }
    }

    /// The same of one subject whose people have several rows or weights: what is small is reported
    /// by those who carry information.
    pub(crate) fn with_person_basis(self, of: Option<PersonBasis>) -> Self {
        let Some(of) = of else { return self };
        ValuePeople {
            persons: Some(of),
            smallest_group: of.n.min(self.smallest_group),
            smallest_denominator: of.denominator.into_iter().chain(self.smallest_denominator).min(),
            ..self
        }
    }

    /// The same of two facets with the numbers of those who carry information: in the first, in the
    /// second, and in both together; none where each row is a person who counts as one.
    pub(crate) fn with_carriers(self, of: Option<[u64; 3]>) -> Self {
        let basis = |n| Some(PersonBasis { n, denominator: None, effective: None });
        of.map_or(self, |[a, d, all]| self.with_persons(Some(all), &[basis(a), basis(d)]))
    }

    /// The same of several subjects, so many persons in all.
    pub(crate) fn with_persons(self, all: Option<u64>, of: &[Option<PersonBasis>]) -> Self {
        let Some((n, of)) = all.zip(of.iter().copied().collect::<Option<Vec<_>>>()) else {
            return self;
        };
        ValuePeople {
            persons: Some(PersonBasis::new(n, None)),
            smallest_group: of.iter().map(|of| of.n).fold(self.smallest_group, u64::min),
            // Those who carry a rate are never more than its cases.
            smallest_denominator: of
                .iter()
                .filter_map(|of| of.denominator)
                .chain(self.smallest_denominator)
                .min(),
            ..self
        }
    }
}

impl MeasuredValue {
    /// A value of a metric in a scope, with its interval or why there is none: the one place where
    /// a measured value is put together. It is not a rate, impairs nobody and has no placebo until
    /// the methods below say so.
    pub(crate) fn new(
        context: &MeasureContext<'_>,
        (metric, scope): (&'static Metric, MetricScope),
        value: MetricValue,
        (interval, ci_method): (Option<ValueInterval>, String),
        people: ValuePeople,
    ) -> Self {
        let value = finite_or_overflow(value);
        let is_difference = metric.is_gap_in(scope.as_str());
        MeasuredValue {
            scope,
            metric,
            value,
            numerator: None,
            denominator: None,
            weights: None,
            n_rows: people.n,
            persons: people.persons,
            interval,
            ci_method,
            ideal: if is_difference { Some(0.0) } else { metric.ideal },
            flags: context.flags(people.smallest_group, people.smallest_denominator),
            impaired: None,
            switched: None,
            placebo: None,
            fit: None,
            training: None,
            furthest: None,
        }
    }

    /// The rate of people that the value is, and that of what they weigh.
    pub(crate) fn with_rate(self, people: Option<Rate>, weights: Option<Rate>) -> Self {
        MeasuredValue {
            numerator: people.map(|rate| rate.numerator),
            denominator: people.map(|rate| rate.denominator),
            weights: weights.map(|rate| (rate.numerator, rate.denominator)),
            ..self
        }
    }

    /// Flags a ratio of scores, such as correlations, of which one is negative; `cells` are those
    /// of the groups behind it.
    pub(crate) fn with_score_parts(mut self, cells: impl IntoIterator<Item = Confusion>) -> Self {
        if let (Reads::ScoreRatio(score), Ok(_)) = (self.metric.reads, self.value) {
            let negative = cells.into_iter().any(|c| score(&c).is_ok_and(|value| value < 0.0));
            self.flags.extend(negative.then_some(NEGATIVE_PART));
        }
        self
    }

    /// Flags a ratio whose interval takes a rate of 1 as certain; `has_one` says whether one of the
    /// two rates is 1.
    pub(crate) fn with_certain_rate(mut self, has_one: bool) -> Self {
        let katz = [IntervalProcedure::Katz, IntervalProcedure::KatzPersons];
        let is_katz = self.interval.is_some_and(|interval| katz.contains(&interval.method));
        if is_katz && has_one {
            self.ci_method.push_str(", which takes a rate of 1 as certain");
            self.flags.push(RATE_OF_ONE);
        }
        self
    }

    /// The group at a disadvantage.
    pub(crate) fn with_impaired(self, impaired: Option<usize>) -> Self {
        MeasuredValue { impaired, ..self }
    }

    /// People whose prediction switches, and what noise gives.
    pub(crate) fn with_switches(self, switched: Option<u64>, placebo: Option<PlaceboBand>) -> Self {
        MeasuredValue { switched, placebo, ..self }
    }

    /// Who holds a value of the scope `worst_case`.
    pub(crate) fn with_furthest(self, furthest: FurthestGroups) -> Self {
        MeasuredValue { furthest: Some(furthest), ..self }
    }
}

/// Values of the families performance, group, clarify and scores: each group, all together, every
/// comparison. `flips` is what the flip test found; without it its metrics are not measured.
pub(crate) fn measure_factual(
    counts: &FactualCounts,
    flips: Option<&FlipTestResult>,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let audit = FactualMeasurement { context: MeasureContext::new(settings) };
    let n_groups = counts.groups.len();
    let groups: Vec<FactualSubject> = (0..n_groups)
        .map(|group| FactualSubject::new(counts, GroupSelection::One(group)))
        .collect();
    // Of two groups the rest is the other.
    let rests: Vec<FactualSubject> = (0..n_groups)
        .map(|group| FactualSubject::new(counts, GroupSelection::Rest(group)))
        .collect();
    let all = FactualSubject::new(counts, GroupSelection::All);
    // Metrics are independent of each other; what they draw is drawn once, by the first that asks.
    let performance = |metric: &'static Metric| {
        let mut out = Vec::new();
        for (group, subject) in groups.iter().enumerate() {
            out.push(audit.performance(metric, MetricScope::Group(group), subject));
        }
        out.push(audit.performance(metric, MetricScope::Total, &all));
        out
    };
    let gaps = |metric: &'static Metric| {
        let mut out = Vec::new();
        if n_groups > 1 {
            out.push(audit.worst(metric, &groups, &rests));
        }
        if matches!(metric.reads, Reads::RateToTotal(_) | Reads::ScoreToTotal(_)) {
            return out;
        }
        let swap = SwapEffect::of(metric);
        for a in 0..n_groups {
            let pairs = (a + 1..n_groups).flat_map(|b| swap.pair_scopes(a, b));
            let with_rest = if n_groups > 2 { swap.rest_scopes(a) } else { Vec::new() };
            out.extend(pairs.chain(with_rest).map(|scope| {
                let [x, y] = subjects_of(scope, &groups, &rests);
                audit.gap(metric, scope, x, y)
            }));
        }
        out
    };
    let of_family =
        |family: MetricFamily, of: &(dyn Fn(&'static Metric) -> Vec<MeasuredValue> + Sync)| {
            let metrics: Vec<&'static Metric> = audit.context.metrics(family).collect();
            metrics.into_par_iter().flat_map_iter(of).collect::<Vec<_>>()
        };
    let mut out = of_family(MetricFamily::Performance, &performance);
    out.extend(of_family(MetricFamily::Group, &gaps));
    if settings.families.contains(&MetricFamily::Clarify) {
        out.extend(audit.clarify(counts, flips, (&groups, &rests, &all)));
    }
    if settings.families.contains(&MetricFamily::Scores) {
        out.extend(audit.scores(counts));
    }
    out
}

/// The two subjects that a scope compares, all others of a group where it has no name.
pub(crate) fn subjects_of<'s, S>(
    scope: MetricScope,
    groups: &'s [S],
    rests: &'s [S],
) -> [&'s S; 2] {
    match (scope.first_group(), scope.second_group()) {
        (Some(a), Some(b)) => [&groups[a], &groups[b]],
        (Some(a), None) => [&groups[a], &rests[a]],
        (None, Some(b)) => [&rests[b], &groups[b]],
        (None, None) => unreachable!("a comparison has two sides"),
    }
}

/// What all values have in common.
pub(crate) struct FactualMeasurement<'a> {
    pub(crate) context: MeasureContext<'a>,
}

/// One group, all others, or all.
pub(crate) struct FactualSubject {
    /// Its people.
    pub(crate) people: Confusion,
    /// What they weigh; none where nobody has a weight.
    pub(crate) weight: Option<Confusion>,
    /// The same by the cell that each fills, with the squares.
    weight_sums: Option<Vec<(ConfusionCells, WeightSums)>>,
    /// Its persons, ascending by key, each with the own rows; none where each row is a person.
    persons: Option<Vec<(u64, Confusion)>>,
    /// The same with what the rows weigh; none where nobody has a weight.
    weighed_persons: Option<Vec<(u64, Confusion)>>,
    pub(crate) bootstrap: CellBootstrap<CONFUSION_CELLS>,
}

impl FactualSubject {
    fn new(counts: &FactualCounts, who: GroupSelection) -> Self {
        let people = counts.confusion(who);
        let drawn =
            CellBootstrap::new(counts.blocks(who), || one_per_cell(people), stream_name(who));
        let mut subject = FactualSubject {
            people,
            weight: counts.weight_confusion(who),
            weight_sums: counts.weight_sums(who),
            persons: counts.persons(who),
            weighed_persons: counts.weighed_persons(who),
            bootstrap: drawn,
        };
        let counted = |needs_label| Some(subject.counted_persons(needs_label)?.count() as u64);
        let persons = [false, true].map(counted);
        subject.bootstrap = subject.bootstrap.of_persons(persons);
        subject
    }

    /// A rate by person, of what the rows weigh where they have weights; none where each row is a
    /// person.
    pub(crate) fn person_rate(&self, of: impl Fn(&Confusion) -> Rate) -> Option<PersonRate> {
        let persons = self.weighed_persons.as_ref().or(self.persons.as_ref())?;
        let each = persons.iter().map(|(key, own)| (*key, of(own)));
        Some(match &self.weight {
            None => PersonRate::new(of(&self.people), each),
            Some(weight) => {
                PersonRate::of_weights(of(weight), self.below(&|c| of(c).denominator), each)
            }
        })
    }

    /// Whether each row is a person who counts as one.
    pub(crate) fn is_plain(&self) -> bool {
        self.weight.is_none() && self.persons.is_none()
    }

    /// A mean over the people with a label, and what each row or person adds to it; none where it
    /// is undefined.
    pub(crate) fn mean_influences(
        &self,
        mean: &impl Fn(&Confusion) -> MetricValue,
    ) -> Option<(f64, MeanInfluences)> {
        let all = mean(self.cells()).ok()?;
        let below = self.cells().n() as f64;
        // What these rows add, which have a mean of their own.
        let add =
            |own: &Confusion| mean(own).map_or(0.0, |value| own.n() as f64 * (value - all) / below);
        if let Some(persons) = self.weighed_persons.as_ref().or(self.persons.as_ref()) {
            let counted = persons.iter().filter(|(_, own)| own.n() > 0);
            let each = counted.map(|(key, own)| (*key, add(own))).collect();
            return Some((all, MeanInfluences::Persons(each)));
        }
        let kinds: Vec<(ConfusionCells, f64, f64)> = match &self.weight_sums {
            Some(sums) => {
                sums.iter().map(|(cells, of)| (*cells, of.people() as f64, of.squares())).collect()
            }
            None => {
                let kinds = one_per_cell(self.people).into_iter();
                kinds.map(|(cells, people)| (cells, people as f64, people as f64)).collect()
            }
        };
        let (mut n, mut sum) = (0.0, 0.0);
        for (cells, people, squares) in kinds {
            let one = Confusion::from_cells(cells);
            if one.n() > 0 {
                let added = add(&one);
                n += people;
                sum += squares * added * added;
            }
        }
        Some((all, MeanInfluences::Rows(n, sum)))
    }

    /// What the rows that a function counts weigh; nothing where nobody has a weight.
    fn below(&self, counts: &dyn Fn(&Confusion) -> u64) -> WeightSums {
        let mut below = WeightSums::default();
        for (cells, sums) in self.weight_sums.iter().flatten() {
            if counts(&Confusion::from_cells(*cells)) > 0 {
                below += *sums;
            }
        }
        below
    }

    /// The persons whom a metric counts, with weights those with a row that weighs more than 0,
    /// ascending by key; none where each row is a person.
    pub(crate) fn counted_persons(
        &self,
        needs_label: bool,
    ) -> Option<impl Iterator<Item = u64> + '_> {
        let persons = self.weighed_persons.as_ref().or(self.persons.as_ref())?.iter();
        let counted = persons.filter(move |(_, own)| own.people(needs_label) > 0);
        Some(counted.map(|(key, _)| *key))
    }

    /// How replicates of a rate are drawn, and from whom: those with a label where it counts nobody
    /// else, as far as these people tell.
    pub(crate) fn source_of(&self, rate: impl Fn(&Confusion) -> Rate) -> ReplicateSource {
        let needs_label = rate(&self.people).denominator <= self.people.people(true);
        self.bootstrap.source(needs_label)
    }

    /// People whom a metric counts with what they weigh; none where nobody has a weight.
    fn counted_weight(&self, needs_label: bool) -> Option<WeightSums> {
        self.weight?;
        Some(self.below(&|c| c.people(needs_label)))
    }

    /// The people who carry a value of this subject alone; of a rate with the rate by person, where
    /// a person may have several rows, and with the function that counts those below it.
    pub(crate) fn person_basis(
        &self,
        needs_label: bool,
        by_person: Option<&PersonRate>,
        below: Option<&dyn Fn(&Confusion) -> u64>,
    ) -> Option<PersonBasis> {
        if let Some(counted) = self.counted_persons(needs_label) {
            return Some(PersonBasis::new(counted.count() as u64, by_person));
        }
        let all = self.counted_weight(needs_label)?;
        let below = below.map(|below| self.below(below));
        Some(PersonBasis::weighed(all, below.map(|below| (below.people(), below.effective()))))
    }

    /// The interval of a rate of weight of which no case counts, or all do; none without weights
    /// and for every other rate.
    pub(crate) fn boundary_interval(&self, of: impl Fn(&Confusion) -> Rate) -> Option<IntervalAt> {
        let rate = Some(of(&self.weight?)).filter(|rate| rate.is_boundary())?;
        if let Some(by_person) = self.person_rate(&of) {
            return Some(Rc::new(move |level| by_person.wilson(z_of_level(level))));
        }
        let people = self.below(&|c| of(c).denominator).effective();
        let method = IntervalProcedure::WilsonPeople { weighed: true };
        Some(Rc::new(move |level| {
            wilson_of_people(rate.numerator > 0, people, z_of_level(level), method)
        }))
    }

    /// What values are computed from.
    pub(crate) fn cells(&self) -> &Confusion {
        self.weight.as_ref().unwrap_or(&self.people)
    }
}

/// Different people who carry a value of some subjects that have no row in common; none where each
/// row is a person who counts as one.
pub(crate) fn all_persons<'a>(
    subjects: impl Iterator<Item = &'a FactualSubject>,
    needs_label: bool,
) -> Option<u64> {
    let (mut all, mut weighed) = (Vec::new(), 0);
    for subject in subjects {
        match subject.counted_persons(needs_label) {
            Some(counted) => all.extend(counted),
            None => weighed += subject.counted_weight(needs_label)?.people(),
        }
    }
    all.sort_unstable();
    all.dedup();
    Some(all.len() as u64 + weighed)
}

/// The name of the chance of some people.
pub(crate) fn stream_name(who: GroupSelection) -> String {
    match who {
        GroupSelection::One(group) => format!("bootstrap/group/{group}"),
        GroupSelection::Rest(group) => format!("bootstrap/rest/{group}"),
        GroupSelection::All => "bootstrap/total".to_owned(),
    }
}

/// A confusion as kinds of people: each fills one cell.
fn one_per_cell(confusion: Confusion) -> Vec<(ConfusionCells, u64)> {
    let kinds = confusion.to_cells().into_iter().enumerate().map(|(i, people)| {
        let mut cells = [0; CONFUSION_CELLS];
        cells[i] = 1;
        (cells, people)
    });
    kinds.filter(|(_, people)| *people > 0).collect()
}

impl FactualMeasurement<'_> {
    /// One metric of one group or of all.
    pub(crate) fn performance(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        subject: &FactualSubject,
    ) -> MeasuredValue {
        let (_, seen) = self.orientation(metric);
        let of = |c: &Confusion| match metric.reads {
            Reads::Rate(rate) => rate(&seen(c)).value(),
            Reads::Score(score) | Reads::Benefit(score) => score(&seen(c)),
            _ => unreachable!("`{}` is not a metric of one group", metric.id),
        };
        let value = match subject.weight {
            None => of(&subject.people),
            Some(weight) => by_weight(of(&weight), || of(&subject.people)),
        };
        let rate = |c: &Confusion| match metric.reads {
            Reads::Rate(rate) => Some(rate(&seen(c))),
            _ => None,
        };
        let (people, n_rows) = (rate(&subject.people), subject.people.people(metric.needs_label));
        let of_persons = match metric.reads {
            Reads::Rate(rate) => subject.person_rate(|c| rate(&seen(c))),
            _ => None,
        };
        // Shares of weight are drawn: only of those of 0 and 1 are all draws alike.
        let z = self.context.z;
        let level = self.context.settings.level.map_or(0.0, |level| level.get());
        let is_plain = subject.weight.is_none();
        let formula = match (metric.reads, &of_persons) {
            (_, Some(rate)) if is_plain => Some(rate.wilson(z)),
            (Reads::Rate(_), None) if is_plain => Some(people.and_then(|rate| wilson(rate, z))),
            (Reads::Rate(rate), _) => {
                subject.boundary_interval(|c| rate(&seen(c))).map(|at| at(level))
            }
            _ => None,
        };
        // The replicates of a rate of 0 or 1 are all equal, as if it were known for certain.
        let ends = rates_of_mean(metric)
            .filter(|rates| rates.iter().any(|rate| rate(subject.cells()).is_boundary()));
        let interval = self.context.interval(value, || match (formula, ends) {
            (Some(formula), _) => IntervalBasis::Formula(formula),
            (None, Some(rates)) => {
                let of_mean = self.mean_part(rates, subject);
                IntervalBasis::Hybrid(of_mean.and_then(|(_, at)| at(level)))
            }
            (None, None) => {
                subject.bootstrap.percentile(&self.context, metric.needs_label, |cells| {
                    of(&Confusion::from_cells(cells))
                })
            }
        });
        MeasuredValue::new(
            &self.context,
            (metric, scope),
            value,
            interval,
            ValuePeople::one(n_rows, people).with_person_basis(subject.person_basis(
                metric.needs_label,
                of_persons.as_ref(),
                people.is_some().then_some(&|c| rate(c).map_or(0, |rate| rate.denominator)),
            )),
        )
        .with_rate(people, subject.weight.as_ref().and_then(rate))
    }
}
