//! One measured value, and the form in which metrics read people.
//!
//! A [`Subject`] holds the units of some people by the cells in which they count: a group of
//! factual rows, a scope of counterfactuals, or a matrix of several classes. [`Subject::read`] and
//! [`people_of_two`] make all their values.

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

/// One value with everything that a table shows about it.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredValue {
    /// Where it holds.
    pub scope: MetricScope,
    /// The metric.
    pub metric: &'static Metric,
    /// The value, or the reason why there is none.
    pub value: MetricValue,
    /// Numerator of a rate; none if the value is not a rate of counts.
    pub numerator: Option<u64>,
    /// Denominator of a rate.
    pub denominator: Option<u64>,
    /// Weighted numerator and denominator of a rate, in whole units; the value is computed from
    /// these. None without weights.
    pub weights: Option<(u64, u64)>,
    /// The number of people behind the value; of rows if a person may have several.
    pub n_rows: u64,
    /// Those behind these rows who carry information; none where each row is a person who counts
    /// as one.
    pub(crate) persons: Option<PersonBasis>,
    /// The effective size of a rate: the number of independent cases that would be as precise. None
    /// if its cases are independent and have no weights.
    pub(crate) effective: Option<f64>,
    /// The interval.
    pub interval: Option<ValueInterval>,
    /// The full name of the method of the interval, or the reason why there is none.
    pub ci_method: String,
    /// The value without disparity in this scope: 0 for a difference, regardless of the ideal of
    /// the metric.
    pub ideal: Option<f64>,
    /// [`SMALL_GROUP`], [`SMALL_DENOMINATOR`].
    pub flags: Vec<&'static str>,
    /// The group that is worse off, if the sources define it and the numbers are clear: the
    /// interval leaves out the ideal. For metrics of switches also: at least `min_denominator`
    /// people switch, and the interval lies outside of the band of the placebo.
    pub impaired: Option<usize>,
    /// The number of people (or persons) whose prediction switches: for a rate those it counts, for
    /// a difference those of the worse direction. None if the metric is not about switches.
    pub switched: Option<u64>,
    /// The band of the placebo, if a placebo was requested.
    pub placebo: Option<PlaceboBand>,
    /// The spread over fits on other rows, if it was requested.
    pub fit: Option<RepeatSpread>,
    /// The spread over other trainings of the model, if it is trained again.
    pub training: Option<RepeatSpread>,
    /// The groups that hold a value of the scope `worst_case`; none in every other scope.
    pub furthest: Option<FurthestGroups>,
    /// How the value of a flip test was computed; none for other metrics.
    pub(crate) flips: Option<FlipSearch>,
}

/// A finite value; an infinite one is undefined.
pub(crate) fn finite_or_overflow(value: MetricValue) -> MetricValue {
    value.and_then(|value| if value.is_finite() { Ok(value) } else { Err(Undefined::Overflow) })
}

/// The numbers of persons who carry the information of a value, if a person may have several rows
/// or people have weights: persons with a row of positive weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PersonBasis {
    /// Persons with a row behind the value.
    pub n: u64,
    /// Persons with a row in the denominator of the rate; none if the value is not a rate of
    /// counts.
    pub denominator: Option<u64>,
}

/// The numbers of people and cases behind a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValuePeople {
    /// All people; their rows if a person may have several.
    pub(crate) n: u64,
    /// Those behind these rows who carry information; none where each row is a person who counts
    /// as one.
    pub(crate) persons: Option<PersonBasis>,
    /// With several groups, the people of the smallest.
    pub(crate) smallest_group: u64,
    /// With several rates, the cases in the smallest denominator; none without a rate.
    pub(crate) smallest_denominator: Option<u64>,
}

/// The numbers of people of one subject behind a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubjectPeople {
    /// All people; their rows if a person may have several.
    pub(crate) n: u64,
    /// Cases in the denominator; none without a rate.
    pub(crate) cases: Option<u64>,
    /// Persons who carry information; none if each row is a person and has no weight.
    pub(crate) persons: Option<PersonBasis>,
}

impl SubjectPeople {
    /// The same people if the value is not their rate.
    pub(crate) fn without_rate(self) -> Self {
        let persons = self.persons.map(|persons| PersonBasis { denominator: None, ..persons });
        SubjectPeople { cases: None, persons, ..self }
    }
}

impl ValuePeople {
    /// The people of some subjects; `n_together` is the number of different persons of several
    /// subjects who carry information, none if each row is a person and has no weight. The smallest
    /// numbers count the persons who carry information.
    pub(crate) fn of(subjects: &[SubjectPeople], n_together: Option<u64>) -> Self {
        let persons = || subjects.iter().filter_map(|subject| subject.persons);
        let denominators = persons().filter_map(|persons| persons.denominator);
        let together = n_together.map(|n| PersonBasis { n, denominator: None });
        ValuePeople {
            n: subjects.iter().map(|subject| subject.n).sum(),
            persons: together.or(if let [only] = subjects { only.persons } else { None }),
            smallest_group: persons()
                .map(|persons| persons.n)
                .chain(subjects.iter().map(|subject| subject.n))
                .min()
                .unwrap_or(0),
            // A rate never has more persons than cases.
            smallest_denominator: denominators
                .chain(subjects.iter().filter_map(|subject| subject.cases))
                .min(),
        }
    }

    /// The people of two facets; `persons` are the numbers of persons who carry information in the
    /// first, in the second, and in both together; none if each row is a person and has no weight.
    pub(crate) fn of_facets(n: [u64; 2], persons: Option<[u64; 3]>) -> Self {
        let facets = [0, 1].map(|i| {
            let persons = persons.map(|n| PersonBasis { n: n[i], denominator: None });
            SubjectPeople { n: n[i], cases: None, persons }
        });
        ValuePeople::of(&facets, persons.map(|n| n[2]))
    }
}

impl MeasuredValue {
    /// A value of a metric in a scope, with its interval or the reason why there is none. Every
    /// measured value starts here, without a rate, a group that is worse off, or a placebo.
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

    /// Adds the rate of people, and the weighted rate.
    pub(crate) fn with_rate(self, people: Option<Rate>, weights: Option<Rate>) -> Self {
        MeasuredValue {
            numerator: people.map(|rate| rate.numerator),
            denominator: people.map(|rate| rate.denominator),
            weights: weights.map(|rate| (rate.numerator, rate.denominator)),
            ..self
        }
    }

    /// Adds the effective size of the rate.
    pub(crate) fn with_size(self, share: Option<&Share>) -> Self {
        let counts = |share: &&Share| !share.is_plain || self.persons.is_some();
        MeasuredValue { effective: share.filter(counts).map(|share| share.size), ..self }
    }

    /// Flags a ratio of scores, such as correlations, if one of them is negative; `cells` are the
    /// matrices of the groups behind it.
    pub(crate) fn with_score_parts(mut self, cells: impl IntoIterator<Item = Confusion>) -> Self {
        let ratio = (self.metric.reads, self.value);
        if let (Reads::Group(part, Some(GapTransform::Ratio)), Ok(_)) = ratio {
            let negative = cells.into_iter().any(|c| part.score(&c).is_ok_and(|value| value < 0.0));
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

/// Which numbers to take from the cells of some units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CellNumbers {
    /// The number of rows in each cell.
    People,
    /// The weights of these rows, 1 each without weights.
    Weight,
    /// A single row in this cell.
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

/// Some people by the cells in which they count.
pub(crate) trait Subject {
    /// What a metric reads from them.
    type Reading: Copy;

    /// The units that a reading uses.
    fn units(&self, reading: Self::Reading) -> &UnitSums;

    /// Whether a reading uses the people of a cell.
    fn counts(&self, reading: Self::Reading, cell: usize) -> bool;

    /// The rate; none if the value is not a rate.
    fn rate(&self, reading: Self::Reading, by: CellNumbers) -> Option<Rate>;

    /// The value of a metric that is not a rate.
    fn score(&self, reading: Self::Reading) -> MetricValue;

    /// The estimate of a value that is not a rate; none if the cells do not give an interval.
    fn score_estimate(&self, reading: Self::Reading, value: f64) -> Option<Estimate>;

    /// The rate with its effective size; none if its denominator is 0.
    fn share(&self, reading: Self::Reading) -> Option<Share> {
        self.rate(reading, CellNumbers::Weight)?;
        let alone = |cell| self.rate(reading, CellNumbers::Alone(cell)).unwrap_or(Rate::of(0, 0));
        Share::new(self.units(reading), alone)
    }

    /// Only the value.
    fn value(&self, reading: Self::Reading) -> MetricValue {
        let rate = self.rate(reading, CellNumbers::Weight);
        rate.map_or_else(|| self.score(reading), Rate::value)
    }

    /// The value with its rate and people.
    fn read(&self, reading: Self::Reading) -> SubjectValue {
        let (units, rate) = (self.units(reading), self.rate(reading, CellNumbers::People));
        let (weights, share) = (self.rate(reading, CellNumbers::Weight), self.share(reading));
        let counted = |cell| self.counts(reading, cell);
        // Without persons, cases: a row has one for each counterfactual.
        let below = |share: &Share| if units.are_persons() { share.n_units } else { share.n_rows };
        let denominator = rate.map(|_| share.as_ref().map_or(0, below));
        let basis = || PersonBasis { n: units.n_units(counted), denominator };
        let people = SubjectPeople {
            n: units.n_rows(counted),
            cases: rate.map(|rate| rate.denominator),
            persons: (!units.is_plain()).then(basis),
        };
        let weights = weights.filter(|_| units.weighted);
        SubjectValue { value: self.value(reading), rate, weights, share, people }
    }

    /// The value in a scope, with its interval.
    fn measured(
        &self,
        reading: Self::Reading,
        context: &MeasureContext<'_>,
        place: (&'static Metric, MetricScope),
    ) -> MeasuredValue {
        let found = self.read(reading);
        let interval =
            context.interval(found.value, || context.estimated(self.estimate(reading, &found)));
        found.measured(context, place, interval)
    }

    /// The estimate behind the interval; none if the value is undefined.
    fn estimate(&self, reading: Self::Reading, found: &SubjectValue) -> Option<Estimate> {
        match found.rate {
            Some(_) => found.share.clone().map(Estimate::from),
            None => self.score_estimate(reading, found.value.ok()?),
        }
    }
}

/// A value of some people with its rate and people.
#[derive(Debug, Clone)]
pub(crate) struct SubjectValue {
    pub(crate) value: MetricValue,
    /// The rate of people; none if the value is not a rate.
    pub(crate) rate: Option<Rate>,
    /// The weighted rate; none without weights.
    pub(crate) weights: Option<Rate>,
    /// The rate with its effective size; none where nothing is below it.
    pub(crate) share: Option<Share>,
    /// The people behind the value.
    pub(crate) people: SubjectPeople,
}

impl SubjectValue {
    /// The measured value with its interval, or the reason why there is none.
    pub(crate) fn measured(
        &self,
        context: &MeasureContext<'_>,
        place: (&'static Metric, MetricScope),
        interval: (Option<ValueInterval>, String),
    ) -> MeasuredValue {
        MeasuredValue::new(
            context,
            place,
            self.value,
            interval,
            ValuePeople::of(&[self.people], None),
        )
        .with_rate(self.rate, self.weights)
        .with_size(self.share.as_ref())
    }
}

/// The number of different persons of two subjects who carry information; none if each row is a
/// person and has no weight.
pub(crate) fn n_together<S: Subject>(reading: S::Reading, [a, b]: [&S; 2]) -> Option<u64> {
    let units = [a.units(reading), b.units(reading)];
    UnitSums::n_together(units.into_iter(), |cell| a.counts(reading, cell))
}

/// The people behind a comparison of two subjects with their values.
pub(crate) fn people_of_two<S: Subject>(
    reading: S::Reading,
    [(a, of_a), (b, of_b)]: [(&S, &SubjectValue); 2],
) -> ValuePeople {
    ValuePeople::of(&[of_a.people, of_b.people], n_together(reading, [a, b]))
}
