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
//! Work is shared among the threads of the pool that the caller is in, and values keep their order.

use crate::metric::catalog::performance::{ScoreShape, score_shape};
use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::flip_test::FlipTestResult;
use crate::metric::evidence::person::{CONFUSION_CELLS, Confusion};
use crate::metric::evidence::person_sums::distinct;
use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::interval::{IntervalProcedure, ValueInterval};
use crate::metric::noise::placebo::PlaceboBand;
use crate::metric::noise::repeats::RepeatSpread;
use crate::metric::rate::{MetricValue, Rate, Undefined, by_weight};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::student_interval::{GroupTerms, UnitTerm};
use crate::metric::swap_effect::SwapEffect;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
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
    /// The effective size of a rate: as many independent cases would be as sure. None where its
    /// cases are independent and count as one.
    pub(crate) effective: Option<f64>,
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
        let basis = |n| Some(PersonBasis { n, denominator: None });
        of.map_or(self, |[a, d, all]| self.with_persons(Some(all), &[basis(a), basis(d)]))
    }

    /// The same of several subjects, so many persons in all.
    pub(crate) fn with_persons(self, all: Option<u64>, of: &[Option<PersonBasis>]) -> Self {
        let Some((n, of)) = all.zip(of.iter().copied().collect::<Option<Vec<_>>>()) else {
            return self;
        };
        ValuePeople {
            persons: Some(PersonBasis { n, denominator: None }),
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
            effective: None,
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

    /// The effective size of the rate that the value is.
    pub(crate) fn with_size(self, share: Option<&Share>) -> Self {
        let counts = |share: &&Share| !share.is_plain || self.persons.is_some();
        MeasuredValue { effective: share.filter(counts).map(|share| share.size), ..self }
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
        let katz = [IntervalProcedure::Katz, IntervalProcedure::KatzEffective];
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
    let subjects =
        GroupSubjects::new(counts.groups.len(), true, |who| FactualSubject::new(counts, who));
    let performance = |metric: &'static Metric| {
        let value = |scope| audit.performance(metric, scope, subjects.single(scope));
        subjects.singles().into_iter().map(value).collect()
    };
    let gaps = |metric: &'static Metric| {
        let worst = (subjects.groups.len() > 1).then(|| audit.worst(metric, &subjects));
        let is_far = matches!(metric.reads, Reads::RateToTotal(_) | Reads::ScoreToTotal(_));
        let scopes = if is_far { Vec::new() } else { subjects.comparisons(SwapEffect::of(metric)) };
        let gap = |scope| audit.gap(metric, scope, subjects.compared(scope));
        worst.into_iter().chain(scopes.into_iter().map(gap)).collect()
    };
    let mut out = audit.context.of_each(MetricFamily::Performance, performance);
    out.extend(audit.context.of_each(MetricFamily::Group, gaps));
    if settings.families.contains(&MetricFamily::Clarify) {
        out.extend(audit.clarify(counts, flips, &subjects));
    }
    out.extend(audit.scores(counts));
    out
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
    /// Its units.
    pub(crate) units: UnitSums<CONFUSION_CELLS>,
}

impl FactualSubject {
    /// Those of some groups.
    pub(crate) fn new(counts: &FactualCounts, who: GroupSelection) -> Self {
        FactualSubject {
            people: counts.confusion(who),
            weight: counts.weight_confusion(who),
            units: counts.units(who),
        }
    }

    /// The same from units alone.
    pub(crate) fn of_units(units: UnitSums<CONFUSION_CELLS>, is_weighted: bool) -> Self {
        let weight = is_weighted.then(|| Confusion::from_cells(units.weight()));
        let people = Confusion::from_cells(units.rows().map(WeightSums::people));
        FactualSubject { people, weight, units }
    }

    /// A value of the cells: of what people weigh, where they have weights.
    pub(crate) fn value(&self, of: impl Fn(&Confusion) -> MetricValue) -> MetricValue {
        match self.weight {
            None => of(&self.people),
            Some(weight) => by_weight(of(&weight), || of(&self.people)),
        }
    }

    /// A metric of one subject with its interval; none where it is undefined.
    pub(crate) fn estimate(
        &self,
        metric: &Metric,
        value: MetricValue,
        seen: impl Fn(&Confusion) -> Confusion + Copy,
    ) -> Option<Estimate> {
        match (score_shape(metric), metric.reads) {
            (Some(shape), _) => self.score(shape, value, seen),
            (None, Reads::Rate(rate)) => self.share(|c| rate(&seen(c))).map(Estimate::from),
            (None, _) => None,
        }
    }

    /// A rate with its effective size; none where nothing is below it.
    pub(crate) fn share(&self, of: impl Fn(&Confusion) -> Rate) -> Option<Share> {
        Share::new(&self.units, |cells| of(&Confusion::from_cells(*cells)))
    }

    /// A value that is no rate, by its shape; none where it is undefined.
    pub(crate) fn score(
        &self,
        shape: ScoreShape,
        value: MetricValue,
        seen: impl Fn(&Confusion) -> Confusion,
    ) -> Option<Estimate> {
        let value = value.ok()?;
        let share = |rate: fn(&Confusion) -> Rate| {
            self.share(|c: &Confusion| rate(&seen(c))).map(Estimate::from)
        };
        match shape {
            ScoreShape::MeanOfRates([one, other]) => Some(share(one)?.mean_with(share(other)?)),
            ScoreShape::OfRate(rate, function) => Some(share(rate)?.mapped(value, function)),
            ScoreShape::OfCells(function) => {
                let table = |cells: &[u64; CONFUSION_CELLS]| {
                    let c = seen(&Confusion::from_cells(*cells));
                    [c.tp, c.fp, c.fn_, c.tn]
                };
                Some(Estimate::of_cells(value, &self.units, table, function))
            }
        }
    }

    /// Whether each row is a person who counts as one.
    pub(crate) fn is_plain(&self) -> bool {
        self.weight.is_none() && !self.units.are_persons()
    }

    /// A mean over the people with a label, and what each row or person adds to it; none where it
    /// is undefined.
    pub(crate) fn mean_influences(
        &self,
        mean: &impl Fn(&Confusion) -> MetricValue,
    ) -> Option<(f64, GroupTerms)> {
        let all = mean(self.cells()).ok()?;
        let below = self.cells().n() as f64;
        // What these rows add, which have a mean of their own.
        let add =
            |own: &Confusion| mean(own).map_or(0.0, |value| own.n() as f64 * (value - all) / below);
        let kinds = self.units.kinds().iter().map(|of| (of, Confusion::from_cells(of.cells)));
        let counted = kinds.filter(|(_, own)| own.n() > 0);
        if self.units.are_persons() {
            let each = counted.map(|(of, own)| (of.key, add(&own))).collect();
            return Some((all, GroupTerms::of_persons(each)));
        }
        let rows = counted.map(|(kind, one)| {
            let (sums, added) = (kind.sums, add(&one));
            let (n, sum) = (sums.people() as f64, sums.sum() as f64 * added);
            UnitTerm { n, sum, squares: sums.squares() * added * added }
        });
        Some((all, GroupTerms::of_rows(rows)))
    }

    /// The people who carry a value of this subject alone, of a rate with its share, or none where
    /// nothing is below it; none where each row is a person who counts as one.
    pub(crate) fn person_basis(
        &self,
        needs_label: bool,
        rate: Option<Option<&Share>>,
    ) -> Option<PersonBasis> {
        let counts = |cells: &_| Confusion::from_cells(*cells).people(needs_label) > 0;
        person_basis(&self.units, self.weight.is_some(), counts, rate)
    }

    /// What values are computed from.
    pub(crate) fn cells(&self) -> &Confusion {
        self.weight.as_ref().unwrap_or(&self.people)
    }
}

/// The people who carry a value of some units, of a rate with its share; none where each row is a
/// person who counts as one.
pub(crate) fn person_basis<const N: usize>(
    units: &UnitSums<N>,
    weighted: bool,
    counts: impl Fn(&[u64; N]) -> bool,
    rate: Option<Option<&Share>>,
) -> Option<PersonBasis> {
    // Without persons cases, as without weights: a row has one for each counterfactual.
    let below = |share: &Share| if units.are_persons() { share.n_units } else { share.n_rows };
    let denominator = rate.map(|share| share.map_or(0, below));
    (weighted || units.are_persons()).then(|| PersonBasis { n: units.n_units(counts), denominator })
}

/// Different people who carry a value of some subjects that have no row in common; none where each
/// row is a person who counts as one.
pub(crate) fn all_persons<'a>(
    subjects: impl Iterator<Item = &'a FactualSubject>,
    needs_label: bool,
) -> Option<u64> {
    let (mut all, mut weighed) = (Vec::new(), 0);
    for subject in subjects {
        if subject.is_plain() {
            return None;
        }
        let counts = |cells: &_| Confusion::from_cells(*cells).people(needs_label) > 0;
        match subject.units.persons(counts) {
            Some(counted) => all.extend(counted),
            None => weighed += subject.units.n_units(counts),
        }
    }
    Some(distinct(all.into_iter()) + weighed)
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
        let value = subject.value(of);
        let rate = |c: &Confusion| match metric.reads {
            Reads::Rate(rate) => Some(rate(&seen(c))),
            _ => None,
        };
        let (people, n_rows) = (rate(&subject.people), subject.people.people(metric.needs_label));
        let share = match metric.reads {
            Reads::Rate(rate) => subject.share(|c| rate(&seen(c))),
            _ => None,
        };
        let estimate = || match &share {
            Some(share) => Some(Estimate::from(share.clone())),
            None => subject.estimate(metric, value, seen),
        };
        let interval = self.context.interval(value, || self.context.estimated(estimate()));
        MeasuredValue::new(
            &self.context,
            (metric, scope),
            value,
            interval,
            ValuePeople::one(n_rows, people).with_person_basis(
                subject
                    .person_basis(metric.needs_label, people.is_some().then_some(share.as_ref())),
            ),
        )
        .with_size(share.as_ref())
        .with_rate(people, subject.weight.as_ref().and_then(rate))
    }
}
