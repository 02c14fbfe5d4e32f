//! The formulas of intervals: Wilson, Newcombe, Katz, MOVER; and their words.
//!
//! - A rate: Wilson 1927, the score interval; its end is exactly 0 or 1 where the count is 0 or
//!   all. Of rows that weigh differently, or go together, on their effective number, see
//!   [`share`](crate::metric::estimate::share).
//! - A distance of scores where nobody's score moves: nobody can be further than 1, so with u, the
//!   upper end of Wilson's interval of the share of people who move, the mean absolute change is at
//!   most u, its root mean square at most the root of u, its mean within u of 0.
//! - The difference of two independent rates: Newcombe 1998, method 10, from the two Wilson
//!   intervals.
//! - The ratio of two independent rates: Katz et al. 1978, on the logarithm; none where a numerator
//!   is 0. It takes a rate of 1 as certain (flag `rate_of_one`), so no gate depends on that, see
//!   [`mover_ratio`].
//! - The largest of several gaps and the smallest of several ratios: from the intervals of all, see
//!   [`largest`](crate::metric::value::largest).
//! - Sums of several rates, correlations, and other functions of counts: see
//!   [`estimate`](crate::metric::estimate).
//! - How far scores move: Student's, for distances on the logarithm, from what each person adds, see
//!   [`shift_influence`](crate::metric::evidence::shift_influence).
//! - Means and quantiles of amounts: Student, Welch and Woodruff, see
//!   [`amounts`](crate::metric::value::amounts).
//! - AUC, calibration and the like: DeLong, Wald and influences, see
//!   [`scores`](crate::metric::value::scores).
//! - Two models, two runs, and means over causal graphs: percentile bootstrap of blocks of people,
//!   see [`block_bootstrap`](crate::metric::evidence::block_bootstrap). Of P persons with several
//!   rows percentiles are taken further out ([`ReplicateSource`]).
//!
//! Why not the bootstrap for rates: at n = 30 and p = 0.02 a nominal 95 % interval covers 45 %,
//! Wilson's 98 %.
//!
//! Coverage of 95 % intervals, simulated with 20,000 samples of 10, 30 and 300 people a group (see
//! the tests):
//!
//! - Wilson at a rate of 0.5: 98.0 %, 95.8 %, 94.3 %; of 0.1: 93.2 %, 97.3 %, 95.8 %; of 0.02: 98.4
//!   %, 97.8 %, 94.2 %.
//! - Newcombe, two groups of equal rates 0.5: 95.9 %, 94.8 %, 94.5 %; 0.1: 99.1 %, 97.4 %, 95.3 %;
//!   0.02: 100 %, 100 %, 95.8 %.
//! - Katz, the same groups, where both have a case: 98.5 %, 94.8 %, 95.4 %; 100 %, 99.7 %, 95.4 %;
//!   100 %, 100 %, 97.4 %. Both have one in 43 % and 3 % of samples of 10 people at 0.1 and 0.02,
//!   in 92 % and 21 % of samples of 30.
//! - Where a fifth of the people switches: CMCC 99.0 % (with an interval in 8 % of samples of 10
//!   people), 96.9 %, 94.8 %; the difference of two CMCC 97.0 %, 95.0 % from 30 people on; P2NR 98.3
//!   % (in 41 %), 99.4 % (in 92 %), 95.3 %. Where a fiftieth switches: CMCC 98.8 % (in 21 %), 98.0
//!   %, 95.9 %; the difference 99.9 %, 98.7 % from 30 on; P2NR 99.7 % of samples of 300 (in 90 %).

use serde::{Deserialize, Serialize};

use crate::metric::rate::{MetricValue, Rate};
use crate::num::binomial_draws::multinomial;
use crate::num::seed::RandomStream;
use crate::num::student::{incomplete_beta, student_quantile};
use crate::num::summary::{normal_quantile, quantile};

/// An interval of a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ValueInterval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// How it was made.
    pub method: IntervalProcedure,
}

impl ValueInterval {
    /// The interval at another level, both sides stretched as those of a normal distribution and
    /// cut at the ends of the range: `wider` is the quotient of the normal quantiles of both
    /// levels. Near enough for score intervals, a rough guide for percentiles far outside those
    /// that were drawn.
    pub(crate) fn stretched(self, value: f64, wider: f64, (least, most): (f64, f64)) -> Self {
        ValueInterval {
            lo: (value - (value - self.lo) * wider).max(least),
            hi: (value + (self.hi - value) * wider).min(most),
            ..self
        }
    }
}

/// How an interval is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum IntervalProcedure {
    /// Score interval of a rate.
    Wilson,
    /// Score interval of a rate of which no case counts, or all do, on the effective number of
    /// units.
    WilsonPeople,
    /// Score interval of the share of people whose score moves, where none does, for the distance
    /// of scores.
    WilsonMoved,
    /// Score interval of a rate of rows that weigh differently, or of which a person may have
    /// several, on their effective number.
    WilsonEffective,
    /// Score interval of a correlation, on the effective number that its influences give.
    Score,
    /// Student's t of the difference of two shares of the same rows.
    Paired,
    /// The same where none or all of them differ.
    PairedPeople,
    /// Hybrid score interval of a difference of rates.
    Newcombe,
    /// The same of rates of rows of which a person may have several.
    NewcombeEffective,
    /// Hybrid of the intervals of its parts (MOVER).
    Mover,
    /// Of the largest of several gaps, or the smallest of several ratios, from the intervals of
    /// all.
    Largest,
    /// Log interval of a ratio of rates.
    Katz,
    /// The same of rates of rows of which a person may have several.
    KatzEffective,
    /// Percentile bootstrap of people.
    Bootstrap,
    /// Percentile bootstrap of people with Poisson weights.
    Poisson,
    /// Percentile bootstrap of blocks of people with Poisson weights.
    Blocks {
        /// Number of blocks.
        of: u32,
        /// Whether the percentiles are moved so that their mean is the value.
        centred: bool,
    },
    /// Student's t of a mean; with weights or persons by person.
    Student,
    /// The same on the logarithm, of a value above 0.
    LogStudent,
    /// Welch's of a difference of two means.
    Welch,
    /// The same on the logarithm, of a ratio of two means.
    WelchLog,
    /// Student's t of a difference of two means by the influence of each person.
    InfluenceGap,
    /// The same on the logarithm, of a ratio of two means.
    InfluenceRatio,
    /// Woodruff's of a quantile: ranks from the score interval of its share.
    Woodruff,
    /// Hybrid of two of these, of a difference of quantiles.
    WoodruffGap,
    /// DeLong's variance on the logit, of an AUC.
    DeLongLogit,
    /// DeLong's variance, of a difference of two AUCs.
    DeLong,
    /// The variance of influences by person on the logit, of an AUC.
    InfluenceLogit,
    /// The inverse information of a fit.
    Wald,
    /// The variance of influences by person, of a fit.
    Sandwich,
    /// Score interval of a share over the share that was expected.
    WilsonExpected,
}

impl IntervalProcedure {
    /// The word that tables show.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            IntervalProcedure::Wilson => "wilson",
            IntervalProcedure::WilsonPeople => "wilson-people",
            IntervalProcedure::WilsonMoved => "wilson-moved",
            IntervalProcedure::WilsonEffective => "wilson-eff",
            IntervalProcedure::Score => "score",
            IntervalProcedure::Paired => "paired",
            IntervalProcedure::PairedPeople => "paired-people",
            IntervalProcedure::LogStudent => "log-student",
            IntervalProcedure::Newcombe => "newcombe",
            IntervalProcedure::NewcombeEffective => "newcombe-eff",
            IntervalProcedure::Mover => "mover",
            IntervalProcedure::Largest => "largest",
            IntervalProcedure::Katz => "katz",
            IntervalProcedure::KatzEffective => "katz-eff",
            IntervalProcedure::Bootstrap => "bootstrap",
            IntervalProcedure::Poisson => "poisson-bootstrap",
            IntervalProcedure::Blocks { .. } => "block-bootstrap",
            IntervalProcedure::Student => "student",
            IntervalProcedure::Welch => "welch",
            IntervalProcedure::WelchLog => "welch-log",
            IntervalProcedure::InfluenceGap => "influence",
            IntervalProcedure::InfluenceRatio => "influence-log",
            IntervalProcedure::Woodruff => "woodruff",
            IntervalProcedure::WoodruffGap => "woodruff-gap",
            IntervalProcedure::DeLongLogit => "delong-logit",
            IntervalProcedure::DeLong => "delong",
            IntervalProcedure::InfluenceLogit => "influence-logit",
            IntervalProcedure::Wald => "wald",
            IntervalProcedure::Sandwich => "sandwich",
            IntervalProcedure::WilsonExpected => "wilson-expected",
        }
    }
}

/// The words of [`IntervalProcedure::as_str`] with what each means, in the order in which the page
/// explains them.
pub(crate) const INTERVAL_METHODS: &[(&str, &str)] = &[
    ("wilson", "Wilson's score interval (1927), for shares of counts."),
    (
        "newcombe",
        "Newcombe's hybrid score interval (1998, his method 10), for differences of two \
             independent shares.",
    ),
    ("katz", "Katz's interval on the log scale (1978), for ratios of two independent shares."),
    (
        "wilson-people",
        "Wilson's score interval on the effective number of people, for rates of 0 or 1 of rows \
            that weigh differently, or of which a person has several.",
    ),
    (
        "wilson-moved",
        "Wilson's upper end of the share of people whose score moves, for distances of scores that \
            are 0 because nobody's score moves.",
    ),
    (
        "wilson-eff",
        "Wilson's score interval on the effective number of rows, for shares of rows that weigh \
            differently (Kish 1965), or of which a person has several: their number is divided by \
            the design effect of Rao and Scott (1992), drawn towards that of rows which all agree \
            within a person.",
    ),
    ("newcombe-eff", "Newcombe's hybrid score interval from these, for differences."),
    ("katz-eff", "Katz's interval on the log scale with the same numbers, for ratios."),
    (
        "mover",
        "Hybrid of the intervals of its parts (MOVER, Zou and Donner 2008), for sums of several \
            shares and for differences of values that are no shares.",
    ),
    (
        "score",
        "Score interval on the effective number of people that the influences give, half a person \
            being added to each cell, for correlations.",
    ),
    (
        "paired",
        "Student's t of the paired differences on the effective number of people, for the \
            decisions of two models on the same people.",
    ),
    ("paired-people", "From the effective number of people, where none or all of them differ."),
    (
        "largest",
        "For the largest of k gaps: the lower end is the largest of their lower ends at the level \
             1 - alpha / k (Bonferroni), because any of them may be overestimated, the upper end \
             the largest of their ordinary upper ends. For the smallest of several ratios with the \
             sides exchanged (MOVER of Donner and Zou 2012).",
    ),
    ("student", "Student's t, for means; with weights or persons by person."),
    ("log-student", "The same on the log scale, for values above 0 that are no shares."),
    ("welch", "Welch's t (1947), for differences of two means."),
    ("welch-log", "Welch's t on the log scale, for ratios of two means."),
    (
        "influence",
        "Student's t with the variance of what each person adds to the difference of two means.",
    ),
    ("influence-log", "The same on the log scale, for ratios of two means."),
    (
        "woodruff",
        "Woodruff's interval (1952), for quantiles: the amounts at the ranks that Wilson's \
             interval of the share gives.",
    ),
    ("woodruff-gap", "From two of these in the way of Newcombe's, for differences of quantiles."),
    ("delong-logit", "DeLong's variance (1988) on the logit, for areas under the ROC curve."),
    ("delong", "DeLong's variances and covariance, for differences of two such areas."),
    (
        "influence-logit",
        "Student's t on the logit with the variance of what each person adds, for areas under \
             the ROC curve of people with weights or several rows.",
    ),
    ("wald", "Wald's interval from the information of a fit, for calibration coefficients."),
    (
        "sandwich",
        "Student's t with the variance of what each person adds to a fit, for calibration \
             coefficients of people with weights or several rows.",
    ),
    (
        "wilson-expected",
        "Wilson's score interval of the share of positive labels, divided by the mean score.",
    ),
    ("bootstrap", "Percentiles of replicates of people, which no metric draws any more."),
    (
        "poisson-bootstrap",
        "Percentiles of the bootstrap of people with Poisson weights, for shares of a gap by \
             feature.",
    ),
    (
        "block-bootstrap",
        "Percentiles of replicates that draw blocks of people with Poisson weights, for \
             differences of two models, changes between two runs and means over causal graphs.",
    ),
];

/// Number of standard deviations on either side that hold a share `level` of (0, 1) of a normal
/// distribution.
pub(crate) fn z_of_level(level: f64) -> f64 {
    normal_quantile(f64::midpoint(1.0, level))
}

/// Wilson's interval of a rate; none where it has no cases.
pub(crate) fn wilson(rate: Rate, z: f64) -> Option<ValueInterval> {
    let (p, n) = (rate.value().ok()?, rate.denominator as f64);
    Some(wilson_of_share(p, n, z, IntervalProcedure::Wilson))
}

/// Wilson's interval of a share of so many cases, a real number where they are an effective one.
pub(crate) fn wilson_of_share(p: f64, n: f64, z: f64, method: IntervalProcedure) -> ValueInterval {
    let sq = z * z;
    let middle = (p + sq / (2.0 * n)) / (1.0 + sq / n);
    let half = z / (1.0 + sq / n) * (p * (1.0 - p) / n + sq / (4.0 * n * n)).sqrt();
    let lo = if p == 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let hi = if p == 1.0 { 1.0 } else { (middle + half).min(1.0) };
    ValueInterval { lo, hi, method }
}

/// Wilson's interval of a share of 0 or 1 of so many people, a real number where they weigh
/// differently. None of nobody.
pub(crate) fn wilson_of_people(
    everybody: bool,
    people: f64,
    z: f64,
    method: IntervalProcedure,
) -> Option<ValueInterval> {
    if people.is_nan() || people <= 0.0 {
        return None;
    }
    Some(wilson_of_share(if everybody { 1.0 } else { 0.0 }, people, z, method))
}

/// Cases from which on the lower end of Clopper and Pearson is no further out than Wilson's by
/// anything that a reader sees.
const MANY_CASES: f64 = 1e5;

/// The lower end of Clopper and Pearson's interval (1934) of a share of so many cases, a real
/// number where they are effective ones. Far out it is where the tail of the binomial distribution
/// is, for which Wilson's end is too near.
pub(crate) fn clopper_pearson_lower(share: f64, cases: f64, level: f64) -> f64 {
    let above = share * cases;
    if above <= 0.0 {
        return 0.0;
    }
    if cases > MANY_CASES {
        let z = z_of_level(level);
        return wilson_of_share(share, cases, z, IntervalProcedure::Wilson).lo;
    }
    let outside = (1.0 - level) / 2.0;
    let (mut lo, mut hi) = (0.0, share);
    for _ in 0..60 {
        let middle = f64::midpoint(lo, hi);
        let beyond = incomplete_beta(above, cases - above + 1.0, middle, 1.0 - middle);
        if beyond > outside { hi = middle } else { lo = middle }
    }
    lo
}

/// Newcombe's interval of the difference a - b of independent rates; none where one of them has no
/// cases.
pub(crate) fn newcombe(a: Rate, b: Rate, z: f64) -> Option<ValueInterval> {
    let (p, q) = (a.value().ok()?, b.value().ok()?);
    let ends = (wilson(a, z)?, wilson(b, z)?);
    Some(newcombe_of((p, q), ends, 0.0, IntervalProcedure::Newcombe))
}

/// Newcombe's interval of the difference of two shares from their intervals; with a correlation of
/// the two in Zou's form for dependent rates.
pub(crate) fn newcombe_of(
    (p, q): (f64, f64),
    (of_a, of_b): (ValueInterval, ValueInterval),
    correlation: f64,
    method: IntervalProcedure,
) -> ValueInterval {
    let distance = |x: f64, y: f64| {
        if correlation == 0.0 {
            return libm::hypot(x, y);
        }
        (x * x + y * y - 2.0 * correlation * x * y).max(0.0).sqrt()
    };
    let d = p - q;
    let lo = d - distance(p - of_a.lo, of_b.hi - q);
    let hi = d + distance(of_a.hi - p, q - of_b.lo);
    ValueInterval { lo, hi, method }
}

/// The interval of the ratio of a share to one above 0 from their intervals (Donner and Zou 2012,
/// Stat Methods Med Res 21, 347-359, MOVER-R), by the roots of (p - R q)^2 = s^2 + R^2 t^2, s and t
/// what the intervals leave on the sides that matter, in the form that has no pole. It begins at 0
/// where the first share is 0, and has no end where the second may be 0.
pub(crate) fn mover_ratio(
    (p, q): (f64, f64),
    (of_p, of_q): (ValueInterval, ValueInterval),
) -> ValueInterval {
    let both = p * q;
    let root = |x: f64, y: f64| (both * both - x * y).max(0.0).sqrt();
    let (below_p, above_p) = (of_p.lo * (2.0 * p - of_p.lo), of_p.hi * (2.0 * p - of_p.hi));
    let (below_q, above_q) = (of_q.lo * (2.0 * q - of_q.lo), of_q.hi * (2.0 * q - of_q.hi));
    let lo = if p > 0.0 { below_p / (both + root(below_p, above_q)) } else { 0.0 };
    let hi = if below_q > 0.0 { (both + root(above_p, below_q)) / below_q } else { f64::INFINITY };
    ValueInterval { lo, hi, method: IntervalProcedure::Mover }
}

/// Katz's interval of the ratio of two shares above 0 of so many effective cases; with a
/// correlation of the two.
pub(crate) fn katz_of(
    (p, q): (f64, f64),
    (n, m): (f64, f64),
    correlation: f64,
    z: f64,
    method: IntervalProcedure,
) -> ValueInterval {
    // Exactly 0 for a share of 1, and never negative.
    let variance = |share: f64, n: f64| (1.0 - share) / (share * n);
    let (s, t) = (variance(p, n), variance(q, m));
    let both = (s + t - 2.0 * correlation * (s * t).sqrt()).max(0.0);
    let (ratio, factor) = (p / q, libm::exp(z * both.sqrt()));
    ValueInterval { lo: ratio / factor, hi: ratio * factor, method }
}

/// Cells of `samples` replicates in each of which as many people as there are were drawn with
/// replacement. Kinds of people are given by the cells that one of them fills, and their number.
pub(crate) fn resample<const N: usize>(
    kinds: &[([u64; N], u64)],
    samples: u64,
    mut stream: RandomStream,
) -> Vec<[u64; N]> {
    let weights: Vec<u64> = kinds.iter().map(|(_, people)| *people).collect();
    let people = weights.iter().sum();
    let draw = |_| {
        let mut cells = [0; N];
        multinomial(&mut stream, people, &weights, |kind, count| {
            for (cell, filled) in cells.iter_mut().zip(kinds[kind].0) {
                *cell += filled * count;
            }
        });
        cells
    };
    (0..samples).map(draw).collect()
}

/// Why replicates give no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NoIntervalReason {
    /// In more than 5 % of the replicates the metric has no value.
    TooManyUndefined,
    /// All replicates agree.
    AllAgree,
    /// So few persons were drawn that all replicates together hold the value of everybody less
    /// often than the level says.
    FewPersons,
}

/// How replicates were drawn, and from how many persons.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplicateSource {
    pub(crate) method: IntervalProcedure,
    /// Persons, of the side with the fewest; none where each row is a person.
    pub(crate) persons: Option<u64>,
}

impl From<IntervalProcedure> for ReplicateSource {
    fn from(method: IntervalProcedure) -> Self {
        ReplicateSource { method, persons: None }
    }
}

impl ReplicateSource {
    /// The same where what was drawn is compared with what others were drawn from.
    pub(crate) fn with(self, other: Self) -> Self {
        ReplicateSource { persons: fewest(self.persons, other.persons), ..self }
    }

    /// The share of replicates beyond each end. Rows that are persons: (1 - level) / 2. Of P
    /// persons with several rows: the normal share beyond t(P - 1) sqrt(P / (P - 1)), the expanded
    /// percentile interval (Hesterberg 2015, The American Statistician 69, 371-386, section 4.2),
    /// because replicates of few persons vary too little by that root, and their variance is not
    /// known well.
    ///
    /// None where 2^(1 - P) > 1 - level: no mean of P persons lies between the smallest and the
    /// largest of them in more than 1 - 2^(1 - P) of samples of a symmetric distribution.
    fn outside(self, level: f64) -> Result<f64, NoIntervalReason> {
        let Some(persons) = self.persons else { return Ok((1.0 - level) / 2.0) };
        let n = persons as f64;
        if persons < 2 || libm::exp2(1.0 - n) > 1.0 - level {
            return Err(NoIntervalReason::FewPersons);
        }
        let quantile = student_quantile(f64::midpoint(1.0, level), n - 1.0);
        Ok(libm::erfc(quantile * (n / (n - 1.0)).sqrt() / std::f64::consts::SQRT_2) / 2.0)
    }
}

/// The smaller of two numbers of persons; none where neither is known.
pub(crate) fn fewest(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// The percentile interval of replicated values at a level, with the number of replicates that had
/// no value.
pub(crate) fn percentile(
    replicates: impl Iterator<Item = MetricValue>,
    level: f64,
    source: impl Into<ReplicateSource>,
) -> Result<(ValueInterval, usize), NoIntervalReason> {
    let source = source.into();
    let (method, outside) = (source.method, source.outside(level)?);
    let (mut values, mut undefined) = (Vec::with_capacity(replicates.size_hint().0), 0_usize);
    for replicate in replicates {
        match replicate {
            Ok(value) => values.push(value),
            Err(_) => undefined += 1,
        }
    }
    if undefined * 20 > values.len() + undefined {
        return Err(NoIntervalReason::TooManyUndefined);
    }
    // The ends of few persons lie so far out that the smallest and largest replicate would be they.
    if source.persons.is_some() && outside * ((values.len() + undefined) as f64) < 1.0 {
        return Err(NoIntervalReason::FewPersons);
    }
    sort_tails(&mut values, outside);
    let end = |q| quantile(&values, q).ok_or(NoIntervalReason::TooManyUndefined);
    if end(0.0)? == end(1.0)? {
        return Err(NoIntervalReason::AllAgree);
    }
    Ok((ValueInterval { lo: end(outside)?, hi: end(1.0 - outside)?, method }, undefined))
}

/// Brings to their places the values that quantiles up to `outside` and from 1 - `outside` on read.
/// The others would be sorted for nothing.
fn sort_tails(values: &mut [f64], outside: f64) {
    // One more than the position needs, for its interpolation, and one for its rounding.
    let tail = (values.len() as f64 * outside) as usize + 3;
    if 2 * tail + 2 > values.len() {
        return values.sort_unstable_by(f64::total_cmp);
    }
    let (low, _, rest) = values.select_nth_unstable_by(tail, f64::total_cmp);
    low.sort_unstable_by(f64::total_cmp);
    let from = rest.len() - tail;
    let (_, _, high) = rest.select_nth_unstable_by(from - 1, f64::total_cmp);
    high.sort_unstable_by(f64::total_cmp);
}

#[cfg(test)]
mod tests {
    use super::{
        INTERVAL_METHODS, IntervalProcedure, NoIntervalReason, ReplicateSource, ValueInterval,
        clopper_pearson_lower, mover_ratio, newcombe, percentile, resample, wilson,
        wilson_of_people, z_of_level,
    };
    use crate::metric::rate::Undefined;
    use crate::metric::tests::{katz, rate};
    use crate::num::seed::RandomStream;
    use crate::num::summary::quantile;

    fn check(found: Option<ValueInterval>, lo: f64, hi: f64, within: f64) {
        let found = found.unwrap();
        assert!(
            (found.lo - lo).abs() < within && (found.hi - hi).abs() < within,
            "{found:?} instead of {lo}, {hi}"
        );
    }

    /// The compiler asks for each new method here.
    #[test]
    fn every_method_is_explained() {
        use IntervalProcedure as P;

        let next = |of: &P| {
            Some(match of {
                P::Wilson => P::WilsonPeople,
                P::WilsonPeople => P::WilsonMoved,
                P::WilsonMoved => P::WilsonEffective,
                P::WilsonEffective => P::Score,
                P::Score => P::Paired,
                P::Paired => P::PairedPeople,
                P::PairedPeople => P::Newcombe,
                P::Newcombe => P::NewcombeEffective,
                P::NewcombeEffective => P::Mover,
                P::Mover => P::Largest,
                P::Largest => P::Katz,
                P::Katz => P::KatzEffective,
                P::KatzEffective => P::Bootstrap,
                P::Bootstrap => P::Poisson,
                P::Poisson => P::Blocks { of: 200, centred: false },
                P::Blocks { .. } => P::Student,
                P::Student => P::LogStudent,
                P::LogStudent => P::Welch,
                P::Welch => P::WelchLog,
                P::WelchLog => P::InfluenceGap,
                P::InfluenceGap => P::InfluenceRatio,
                P::InfluenceRatio => P::Woodruff,
                P::Woodruff => P::WoodruffGap,
                P::WoodruffGap => P::DeLongLogit,
                P::DeLongLogit => P::DeLong,
                P::DeLong => P::InfluenceLogit,
                P::InfluenceLogit => P::Wald,
                P::Wald => P::Sandwich,
                P::Sandwich => P::WilsonExpected,
                P::WilsonExpected => return None,
            })
        };
        let words: Vec<&str> =
            std::iter::successors(Some(P::Wilson), next).map(P::as_str).collect();
        let mut explained: Vec<&str> = INTERVAL_METHODS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words.len(), explained.len());
        explained.retain(|word| !words.contains(word));
        assert!(explained.is_empty(), "{explained:?}");
    }

    /// Newcombe 1998, Statistics in Medicine 17, 873-890, table II, method 10, with four decimals.
    #[test]
    fn newcombe_published() {
        let z = z_of_level(0.95);
        check(newcombe(rate(56, 70), rate(48, 80), z), 0.0524, 0.3339, 5e-5);
        check(newcombe(rate(9, 10), rate(3, 10), z), 0.1705, 0.8090, 5e-5);
        check(newcombe(rate(5, 56), rate(0, 29), z), -0.0381, 0.1926, 5e-5);
        check(newcombe(rate(10, 10), rate(0, 10), z), 0.6075, 1.0, 5e-5);
    }

    #[test]
    fn wilson_ends_are_exact() {
        let z = z_of_level(0.95);
        check(wilson(rate(16, 122), z), 0.082, 0.202, 5e-4);
        assert_eq!(wilson(rate(0, 7), z).unwrap().lo, 0.0);
        assert_eq!(wilson(rate(7, 7), z).unwrap().hi, 1.0);
        assert_eq!(wilson(rate(0, 0), z), None);
    }

    /// Clopper and Pearson 1934 as printed by R's binom.test: 3 of 10, 7 of 100, 10 of 10.
    #[test]
    fn clopper_pearson_published() {
        for (k, n, level, lo) in [
            (3.0, 10.0, 0.95, 0.066_739_5),
            (7.0, 100.0, 0.95, 0.028_605_2),
            (10.0, 10.0, 0.95, 0.691_502_9),
        ] {
            let found = clopper_pearson_lower(k / n, n, level);
            assert!((found - lo).abs() < 1e-6, "{k} of {n}: {found}");
        }
        assert_eq!(clopper_pearson_lower(0.0, 9.0, 0.95), 0.0);
        assert!(clopper_pearson_lower(0.3, 10.0, 0.99) < 0.066);
    }

    #[test]
    fn people_at_an_end_have_wilsons_interval() {
        let z = z_of_level(0.95);
        for n in [1, 2, 17, 400] {
            for everybody in [false, true] {
                let plain = wilson(rate(if everybody { n } else { 0 }, n), z).unwrap();
                check(
                    wilson_of_people(everybody, n as f64, z, IntervalProcedure::WilsonMoved),
                    plain.lo,
                    plain.hi,
                    1e-15,
                );
            }
        }
        assert_eq!(wilson_of_people(false, 0.0, z, IntervalProcedure::WilsonMoved), None);
        assert_eq!(wilson_of_people(false, f64::NAN, z, IntervalProcedure::WilsonMoved), None);
    }

    #[test]
    fn katz_needs_cases() {
        assert_eq!(katz(rate(0, 5), rate(1, 5), 0.95), None);
        assert_eq!(katz(rate(1, 5), rate(0, 5), 0.95), None);
        let (a, b) = (
            katz(rate(10, 40), rate(20, 50), 0.95).unwrap(),
            katz(rate(20, 50), rate(10, 40), 0.95).unwrap(),
        );
        assert!((a.lo * b.hi - 1.0).abs() < 1e-12 && (a.hi * b.lo - 1.0).abs() < 1e-12);
    }

    /// The ends solve the equation that the method is made of; where both intervals are those of
    /// certain shares it has no width, and swapped groups have the reciprocal ends.
    #[test]
    fn mover_of_a_ratio() {
        let z = z_of_level(0.95);
        for (a, b) in
            [(rate(80, 80), rate(500, 500)), (rate(9, 10), rate(3, 10)), (rate(7, 7), rate(1, 30))]
        {
            let (p, q) = (a.value().unwrap(), b.value().unwrap());
            let (of_a, of_b) = (wilson(a, z).unwrap(), wilson(b, z).unwrap());
            let found = mover_ratio((p, q), (of_a, of_b));
            for (r, s, t) in
                [(found.lo, p - of_a.lo, of_b.hi - q), (found.hi, of_a.hi - p, q - of_b.lo)]
            {
                let apart = (p - r * q).powi(2) - s * s - r * r * t * t;
                assert!(apart.abs() < 1e-12 * (1.0 + r * r), "{r}: {apart}");
            }
            assert!(found.lo <= p / q && p / q <= found.hi, "{found:?}");
            let back = mover_ratio((q, p), (of_b, of_a));
            assert!((found.lo * back.hi - 1.0).abs() < 1e-12, "{found:?} {back:?}");
        }
        let all = mover_ratio(
            (1.0, 1.0),
            (wilson(rate(80, 80), z).unwrap(), wilson(rate(500, 500), z).unwrap()),
        );
        check(Some(all), 0.9542, 1.0077, 5e-5);
    }

    #[test]
    fn people_are_drawn_whole() {
        // Nobody fills one cell without the other.
        let kinds = [([1, 2], 40), ([0, 0], 60)];
        let replicates = resample(&kinds, 500, RandomStream::new(1, "whole"));
        assert!(replicates.iter().all(|[a, b]| *b == 2 * a));
        let mean = replicates.iter().map(|[a, _]| *a as f64).sum::<f64>() / 500.0;
        assert!((mean - 40.0).abs() < 5.0 * (24.0_f64 / 500.0).sqrt(), "{mean}");
    }

    #[test]
    fn tails_are_those_of_all() {
        let mut stream = RandomStream::new(3, "tails");
        for n in [1, 2, 5, 6, 7, 8, 40, 41, 199, 200, 2000] {
            for level in [0.5, 0.8, 0.95, 0.999] {
                let values: Vec<f64> = (0..n).map(|_| (stream.u01() * 500.0).floor()).collect();
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                let outside = (1.0 - level) / 2.0;
                let found =
                    percentile(values.into_iter().map(Ok), level, IntervalProcedure::Bootstrap);
                let ends = [outside, 1.0 - outside].map(|q| quantile(&sorted, q).unwrap());
                match found {
                    Ok((interval, 0)) => {
                        assert_eq!([interval.lo, interval.hi], ends, "{n} {level}")
                    }
                    found => assert!(
                        found == Err(NoIntervalReason::AllAgree) && sorted[0] == sorted[n - 1]
                    ),
                }
            }
        }
    }

    /// By hand: t(0.975) of 9 degrees of freedom is 2.262157; times the root of
    /// 10 / 9 it is 2.384524, beyond which lies 0.855 % of a normal distribution.
    #[test]
    fn ends_of_few_persons_are_further_out() {
        let source = |persons| ReplicateSource {
            persons,
            ..IntervalProcedure::Blocks { of: 1000, centred: false }.into()
        };
        let near = |persons, level: f64, expected: f64| {
            let found = source(persons).outside(level).unwrap();
            assert!((found - expected).abs() < 5e-7, "{persons:?} {level}: {found}");
        };
        near(None, 0.95, 0.025);
        near(Some(10), 0.95, 0.008_551);
        near(Some(6), 0.95, 0.002_432);
        near(Some(1_000_000), 0.95, 0.025);
        let refused = Err(NoIntervalReason::FewPersons);
        // 1 - 2^-4 is 93.75 %, 1 - 2^-3 is 87.5 %.
        assert_eq!(source(Some(5)).outside(0.95), refused);
        assert_eq!(source(Some(4)).outside(0.9), refused);
        assert!(source(Some(5)).outside(0.9).is_ok());
        assert!([0, 1].iter().all(|&n| source(Some(n)).outside(0.01) == refused));
        let replicates = || (0..2001).map(|i| Ok(f64::from(i) / 2000.0));
        let (found, _) = percentile(replicates(), 0.95, source(Some(10))).unwrap();
        assert!((found.lo - 0.008_551).abs() < 5e-7 && (found.hi - 0.991_449).abs() < 5e-7);
        let of_three = percentile(replicates(), 0.95, source(Some(3)));
        assert_eq!(of_three, Err(NoIntervalReason::FewPersons));
    }

    #[test]
    fn boundaries() {
        let undefined = |share: usize| {
            (0..100).map(move |i| if i < share { Err(Undefined::EmptyGroup) } else { Ok(i as f64) })
        };
        assert_eq!(percentile(undefined(5), 0.95, IntervalProcedure::Bootstrap).unwrap().1, 5);
        assert_eq!(
            percentile(undefined(6), 0.95, IntervalProcedure::Bootstrap),
            Err(NoIntervalReason::TooManyUndefined)
        );
        assert_eq!(
            percentile((0..100).map(|_| Ok(0.5)), 0.95, IntervalProcedure::Bootstrap),
            Err(NoIntervalReason::AllAgree)
        );
        assert_eq!(
            percentile(std::iter::empty(), 0.95, IntervalProcedure::Bootstrap),
            Err(NoIntervalReason::TooManyUndefined)
        );
    }
}
