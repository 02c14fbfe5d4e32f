//! One measured value, and some people in the form that metrics read.
//!
//! People are units by the cells that they fill: groups as they are, scopes of counterfactuals, and
//! the matrices of several classes are [`Subject`]s, whose values are all made by
//! [`Subject::read`] and [`people_of_two`].

use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::flip_test::FlipSearch;
use crate::metric::evidence::person::Confusion;
use crate::metric::evidence::units::{UnitSums, alone};
use crate::metric::interval::{IntervalProcedure, ValueInterval, note};
use crate::metric::noise::placebo::PlaceboBand;
use crate::metric::noise::repeats::RepeatSpread;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::settings::{FurthestGroups, NEGATIVE_PART, RATE_OF_ONE};
use crate::metric::{GapTransform, Metric, Reads};

/// One value with everything that a table says about it.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredValue {
    /// Where it holds.
    pub scope: MetricScope,
    /// What it is.
    pub metric: &'static Metric,
    /// The value, or why there is none.
    pub value: MetricValue,
    /// Numerator of a rate; none where the value is not a rate of counts.
    pub numerator: Option<u64>,
    /// Count below a rate.
    pub denominator: Option<u64>,
    /// Numerator and denominator of a rate by weight, in whole units, from which the value is
    /// derived; none without weights.
    pub weights: Option<(u64, u64)>,
    /// People behind it; their rows where a person may have several.
    pub n_rows: u64,
    /// Those behind these rows who carry information; none where each row is a person who counts
    /// as one.
    pub(crate) persons: Option<PersonBasis>,
    /// The effective size of a rate: the number of independent cases that would be as precise. None
    /// where its cases are independent and count as one.
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
    /// The group that is worse off, if the sources define it and the numbers are clear: the
    /// interval leaves out the ideal; of switches also, at least as many people switch as a
    /// denominator is to have, and the interval lies beyond the band of the placebo.
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
    /// The group that has a value of the scope `worst_case`; none in every other scope.
    pub furthest: Option<FurthestGroups>,
    /// How the value of a flip test was found; none of other metrics.
    pub(crate) flips: Option<FlipSearch>,
}

/// A value that is a finite number; an infinite one is undefined.
pub(crate) fn finite_or_overflow(value: MetricValue) -> MetricValue {
    value.and_then(|value| if value.is_finite() { Ok(value) } else { Err(Undefined::Overflow) })
}

/// The people who carry the information of a value, where a person may have several rows or people
/// have weights: persons with a row that weighs more than 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PersonBasis {
    /// Persons with a row behind it.
    pub n: u64,
    /// Persons with a row in the denominator of the rate; none where the value is not a rate of
    /// counts.
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
    /// With several groups, the people of the smallest.
    pub(crate) smallest_group: u64,
    /// With several rates, the cases below the smallest; none where no rate is behind it.
    pub(crate) smallest_denominator: Option<u64>,
}

/// The people of one subject behind a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubjectPeople {
    /// How many; their rows where a person may have several.
    pub(crate) n: u64,
    /// Cases in the denominator; none where there is no rate.
    pub(crate) cases: Option<u64>,
    /// Those who carry information; none where each row is a person who counts as one.
    pub(crate) persons: Option<PersonBasis>,
}

impl SubjectPeople {
    /// These people where the value is not a rate of them.
    pub(crate) fn without_rate(self) -> Self {
        let persons = self.persons.map(|of| PersonBasis { denominator: None, ..of });
        SubjectPeople { cases: None, persons, ..self }
    }
}

impl ValuePeople {
    /// Of these subjects; `all` is how many carry the information of several together, none where
    /// each row is a person who counts as one. What is small is reported by those who carry it.
    pub(crate) fn of(subjects: &[SubjectPeople], all: Option<u64>) -> Self {
        let persons = || subjects.iter().filter_map(|of| of.persons);
        let denominators = persons().filter_map(|of| of.denominator);
        let together = all.map(|n| PersonBasis { n, denominator: None });
        ValuePeople {
            n: subjects.iter().map(|of| of.n).sum(),
            persons: together.or(if let [one] = subjects { one.persons } else { None }),
            smallest_group: persons()
                .map(|of| of.n)
                .chain(subjects.iter().map(|of| of.n))
                .min()
                .unwrap_or(0),
            // Those who carry a rate are never more than its cases.
            smallest_denominator: denominators
                .chain(subjects.iter().filter_map(|of| of.cases))
                .min(),
        }
    }

    /// For two facets with the numbers of those who carry information: in the first, in the second,
    /// and in both together; none where each row is a person who counts as one.
    pub(crate) fn of_facets(n: [u64; 2], persons: Option<[u64; 3]>) -> Self {
        let facets = [0, 1].map(|i| {
            let persons = persons.map(|of| PersonBasis { n: of[i], denominator: None });
            SubjectPeople { n: n[i], cases: None, persons }
        });
        ValuePeople::of(&facets, persons.map(|of| of[2]))
    }
}

impl MeasuredValue {
    /// A value of a metric in a scope, with its interval or why there is none: the one place where
    /// a measured value is put together. It is not a rate, no group is worse off by it, and it has
    /// no placebo, until one of these is set.
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
            flips: None,
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
        let ratio = (self.metric.reads, self.value);
        if let (Reads::Group(of, Some(GapTransform::Ratio)), Ok(_)) = ratio {
            let negative = cells.into_iter().any(|c| of.score(&c).is_ok_and(|value| value < 0.0));
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
            self.ci_method += &note(RATE_OF_ONE, &[]);
            self.flags.push(RATE_OF_ONE);
        }
        self
    }
}

/// Which numbers of the cells of some units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CellNumbers {
    /// How many rows fill each.
    People,
    /// What these weigh, 1 each where they have no weights.
    Weight,
    /// One row of this cell.
    Alone(usize),
}

impl CellNumbers {
    /// The numbers of the cells of some units.
    pub(crate) fn of<const N: usize>(self, units: &UnitSums) -> [u64; N] {
        match self {
            CellNumbers::People => units.people(),
            CellNumbers::Weight => units.weight(),
            CellNumbers::Alone(cell) => alone(cell),
        }
    }
}

/// Some people by the cells that they fill.
pub(crate) trait Subject {
    /// What is read of them.
    type Reading: Copy;

    /// The units that a reading is of.
    fn units(&self, of: Self::Reading) -> &UnitSums;

    /// Whether it counts the people of a cell in its value.
    fn counts(&self, of: Self::Reading, cell: usize) -> bool;

    /// The rate that it is; none of another value.
    fn rate(&self, of: Self::Reading, by: CellNumbers) -> Option<Rate>;

    /// A value that is no rate.
    fn score(&self, of: Self::Reading) -> MetricValue;

    /// The value of a metric that is not a rate, with its interval; none where cells do not give
    /// it.
    fn score_estimate(&self, of: Self::Reading, value: f64) -> Option<Estimate>;

    /// The rate with its effective size; none where nothing is below it.
    fn share(&self, of: Self::Reading) -> Option<Share> {
        self.rate(of, CellNumbers::Weight)?;
        let alone = |cell| self.rate(of, CellNumbers::Alone(cell)).unwrap_or(Rate::of(0, 0));
        Share::new(self.units(of), alone)
    }

    /// Only the value.
    fn value(&self, of: Self::Reading) -> MetricValue {
        let rate = self.rate(of, CellNumbers::Weight);
        rate.map_or_else(|| self.score(of), Rate::value)
    }

    /// The value, and what is behind it.
    fn read(&self, of: Self::Reading) -> SubjectValue {
        let (units, rate) = (self.units(of), self.rate(of, CellNumbers::People));
        let (weights, share) = (self.rate(of, CellNumbers::Weight), self.share(of));
        let counted = |cell| self.counts(of, cell);
        // Without persons cases, as without weights: a row has one for each counterfactual.
        let below = |share: &Share| if units.are_persons() { share.n_units } else { share.n_rows };
        let denominator = rate.map(|_| share.as_ref().map_or(0, below));
        let basis = || PersonBasis { n: units.n_units(counted), denominator };
        let people = SubjectPeople {
            n: units.n_rows(counted),
            cases: rate.map(|rate| rate.denominator),
            persons: (!units.is_plain()).then(basis),
        };
        let weights = weights.filter(|_| units.weighted);
        SubjectValue { value: self.value(of), rate, weights, share, people }
    }

    /// What is read in a scope, with its interval.
    fn measured(
        &self,
        of: Self::Reading,
        context: &MeasureContext<'_>,
        place: (&'static Metric, MetricScope),
    ) -> MeasuredValue {
        let found = self.read(of);
        let interval =
            context.interval(found.value, || context.estimated(self.estimate(of, &found)));
        found.measured(context, place, interval)
    }

    /// The value with its interval; none where it is undefined.
    fn estimate(&self, of: Self::Reading, found: &SubjectValue) -> Option<Estimate> {
        match found.rate {
            Some(_) => found.share.clone().map(Estimate::from),
            None => self.score_estimate(of, found.value.ok()?),
        }
    }
}

/// A value of some people, and what is behind it.
#[derive(Debug, Clone)]
pub(crate) struct SubjectValue {
    pub(crate) value: MetricValue,
    /// The rate of people that it is; none of another value.
    pub(crate) rate: Option<Rate>,
    /// That of what they weigh; none where nobody has a weight.
    pub(crate) weights: Option<Rate>,
    /// The rate with its effective size; none where nothing is below it.
    pub(crate) share: Option<Share>,
    /// The people behind it.
    pub(crate) people: SubjectPeople,
}

impl SubjectValue {
    /// The value with its interval, or why there is none.
    pub(crate) fn measured(
        &self,
        context: &MeasureContext<'_>,
        of: (&'static Metric, MetricScope),
        interval: (Option<ValueInterval>, String),
    ) -> MeasuredValue {
        MeasuredValue::new(context, of, self.value, interval, ValuePeople::of(&[self.people], None))
            .with_rate(self.rate, self.weights)
            .with_size(self.share.as_ref())
    }
}

/// How many carry the information of two subjects together; none where each row is a person who
/// counts as one.
pub(crate) fn n_together<S: Subject>(of: S::Reading, [a, b]: [&S; 2]) -> Option<u64> {
    let units = [a.units(of), b.units(of)];
    UnitSums::n_together(units.into_iter(), |cell| a.counts(of, cell))
}

/// The people behind a comparison of two subjects, with what is behind the value of each.
pub(crate) fn people_of_two<S: Subject>(
    of: S::Reading,
    [(a, of_a), (b, of_b)]: [(&S, &SubjectValue); 2],
) -> ValuePeople {
    ValuePeople::of(&[of_a.people, of_b.people], n_together(of, [a, b]))
}
