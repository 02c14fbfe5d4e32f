//! The formulas of intervals: Wilson, Newcombe, Katz, MOVER; and their words.
//!
//! - A rate: Wilson 1927, the score interval; its end is exactly 0 or 1 where the count is 0 or
//!   all. For rows with different weights, or rows that are correlated, on their effective number,
//!   see [`share`](crate::metric::estimate::share).
//! - A distance of scores if no score moves: nobody can move by more than 1, so with u, the upper
//!   end of Wilson's interval of the share of people who move, the mean absolute change is at most
//!   u, its root mean square at most the root of u, its mean within u of 0.
//! - The difference of two independent rates: Newcombe 1998, method 10, from the two Wilson
//!   intervals.
//! - The ratio of two independent rates: Katz et al. 1978, on the logarithm; none where a numerator
//!   is 0. It takes a rate of 1 as certain (flag `rate_of_one`), so no gate depends on that, see
//!   [`mover_ratio`].
//! - The largest of several gaps and the smallest of several ratios: from the intervals of all, see
//!   [`largest`](crate::metric::value::largest).
//! - Sums of several rates, correlations, other functions of counts, and differences of two models
//!   or runs: see [`estimate`](crate::metric::estimate).
//! - How far scores move: Student's, for distances on the logarithm, from what each person adds,
//!   see [`shift_influence`](crate::metric::evidence::shift_influence).
//! - Means and quantiles of amounts: Student and Woodruff, see
//!   [`amounts`](crate::metric::value::amounts).
//! - AUC, calibration and the like: DeLong, Wald and influences, see
//!   [`scores`](crate::metric::value::scores).
//! - Means over causal graphs: as shares of the rows of all graphs, see
//!   [`worlds`](crate::metric::value::worlds).
//!
//! No interval of a metric depends on a seed. [`IntervalProcedure`] lists all methods, each with
//! the test of its coverage.
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
//!   people), 96.9 %, 94.8 %; the difference of two CMCC 97.0 %, 95.0 % from 30 people on; P2NR
//!   98.3 % (in 41 %), 99.4 % (in 92 %), 95.3 %. Where a fiftieth switches: CMCC 98.8 % (in 21 %),
//!   98.0 %, 95.9 %; the difference 99.9 %, 98.7 % from 30 on; P2NR 99.7 % of samples of 300 (in 90
//!   %).

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::metric::rate::Rate;
use crate::num::student::incomplete_beta;
use crate::num::summary::normal_quantile;
use crate::text::TextBlocks;

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

/// Ends at another level, both sides stretched as those of a normal distribution and cut at the
/// ends of the range: `wider` is the quotient of the normal quantiles of both levels.
pub(crate) fn stretched(
    (lo, hi): (f64, f64),
    value: f64,
    wider: f64,
    (least, most): (f64, f64),
) -> (f64, f64) {
    ((value - (value - lo) * wider).max(least), (value + (hi - value) * wider).min(most))
}

/// Makes the methods of intervals and their list: each with its word and the test of its coverage.
macro_rules! interval_methods {
    ($($method:ident $word:literal $test:ident;)*) => {
        /// How an interval is made; `interval.txt` says what each method is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) enum IntervalProcedure {
            $(#[doc = $word] $method,)*
        }

        impl IntervalProcedure {
            /// The word that tables show.
            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $(IntervalProcedure::$method => $word,)*
                }
            }
        }

        /// The words of [`IntervalProcedure::as_str`], in the order in which the page explains
        /// them.
        pub(crate) const INTERVAL_METHODS: &[&str] = &[$($word,)*];

        /// Every method with the test, by its path below `metric`, that draws samples and says how
        /// often its intervals hold the true value.
        #[cfg(test)]
        pub(crate) const METHODS: &[(IntervalProcedure, &str)] =
            &[$((IntervalProcedure::$method, coverage::$test),)*];
    };
}

static WORDS: LazyLock<TextBlocks> =
    LazyLock::new(|| TextBlocks::read(include_str!("interval.txt")));

impl IntervalProcedure {
    /// Its name in full.
    pub(crate) fn name(self) -> &'static str {
        WORDS.get(self.as_str(), "name")
    }
}

/// Why a value has no interval, by the word of the reason.
pub(super) fn why_none(word: &str) -> &'static str {
    WORDS.get(word, "why")
}

/// What is said next to the name of a method, or instead of it, by its word; `numbers` by the gaps
/// that they fill.
pub(super) fn note(word: &str, numbers: &[(&str, u64)]) -> String {
    let text = WORDS.get(word, "words");
    debug_assert!(!text.is_empty(), "{word} has no words");
    numbers.iter().fold(text.to_owned(), |text, (gap, n)| text.replace(gap, &n.to_string()))
}

/// What a method of intervals is, by its word, in one sentence.
pub(crate) fn method_meaning(word: &str) -> &'static str {
    WORDS.get(word, "means")
}

interval_methods! {
    Wilson "wilson" RATES;
    Newcombe "newcombe" RATES;
    Katz "katz" RATES;
    WilsonPeople "wilson-people" PERSONS;
    WilsonMoved "wilson-moved" FEW_MOVE;
    WilsonEffective "wilson-eff" PERSONS;
    NewcombeEffective "newcombe-eff" PERSONS;
    KatzEffective "katz-eff" PERSONS;
    Mover "mover" COUNTS;
    Score "score" COUNTS;
    Paired "paired" MODELS;
    PairedPeople "paired-people" MODELS;
    Largest "largest" LARGEST;
    Student "student" SHIFTS;
    LogStudent "log-student" SHIFTS;
    Woodruff "woodruff" VALUES;
    WoodruffGap "woodruff-gap" VALUES;
    DeLongLogit "delong-logit" VALUES;
    DeLong "delong" VALUES;
    Wald "wald" VALUES;
    WilsonExpected "wilson-expected" VALUES;
}

/// The tests of coverage.
#[cfg(test)]
mod coverage {
    pub(super) const RATES: &str = "tests::coverage::rates_differences_and_ratios";
    pub(super) const COUNTS: &str = "tests::coverage::values_of_counts";
    pub(super) const PERSONS: &str = "tests::person_coverage::coverage_of_persons";
    pub(super) const MODELS: &str = "tests::paired_coverage::two_models";
    pub(super) const LARGEST: &str = "value::largest::it_covers_the_largest_gap";
    pub(super) const SHIFTS: &str = "tests::shift_intervals::coverage";
    pub(super) const FEW_MOVE: &str = "tests::shift_intervals::coverage_where_few_move";
    pub(super) const VALUES: &str = "tests::person_value_coverage::coverage_of_values_of_persons";
}

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

/// Wilson's interval of a share of this many cases, a real number where they are an effective one.
pub(crate) fn wilson_of_share(p: f64, n: f64, z: f64, method: IntervalProcedure) -> ValueInterval {
    let sq = z * z;
    let middle = (p + sq / (2.0 * n)) / (1.0 + sq / n);
    let half = z / (1.0 + sq / n) * (p * (1.0 - p) / n + sq / (4.0 * n * n)).sqrt();
    let lo = if p == 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let hi = if p == 1.0 { 1.0 } else { (middle + half).min(1.0) };
    ValueInterval { lo, hi, method }
}

/// Cases from which on the lower end of Clopper and Pearson is no further out than Wilson's by
/// anything that a reader sees.
const MANY_CASES: f64 = 1e5;

/// The lower end of Clopper and Pearson's interval (1934) of a share of this many cases, a real
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
    Some(newcombe_of((p, q), ends, IntervalProcedure::Newcombe))
}

/// Newcombe's interval of the difference of two shares from their intervals.
pub(crate) fn newcombe_of(
    (p, q): (f64, f64),
    (of_a, of_b): (ValueInterval, ValueInterval),
    method: IntervalProcedure,
) -> ValueInterval {
    mover(&[(1.0, p, of_a), (-1.0, q, of_b)], |_, _| 0.0, method)
}

/// The hybrid interval of a sum of values, each this many times (MOVER); `correlation` is that of
/// two of them.
pub(crate) fn mover(
    parts: &[(f64, f64, ValueInterval)],
    correlation: impl Fn(usize, usize) -> f64,
    method: IntervalProcedure,
) -> ValueInterval {
    let value: f64 = parts.iter().map(|(times, value, _)| times * value).sum();
    let mut correlations = Vec::new();
    for i in 0..parts.len() {
        correlations.extend((0..i).map(|j| correlation(i, j)));
    }
    let reach = |low: bool| {
        let reach: Vec<f64> = parts
            .iter()
            .map(|(times, value, of)| {
                let down = (*times > 0.0) == low;
                times * if down { value - of.lo } else { of.hi - value }
            })
            .collect();
        if let ([x, y], true) = (reach.as_slice(), correlations.iter().all(|both| *both == 0.0)) {
            return libm::hypot(*x, *y);
        }
        let mut sum: f64 = reach.iter().map(|x| x * x).sum();
        let mut pairs = correlations.iter();
        for (i, x) in reach.iter().enumerate() {
            for (y, both) in reach[..i].iter().zip(pairs.by_ref()) {
                sum += 2.0 * both * x * y;
            }
        }
        sum.max(0.0).sqrt()
    };
    ValueInterval { lo: value - reach(true), hi: value + reach(false), method }
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

/// Katz's interval of the ratio of two shares above 0 of this many effective cases; with a
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::metric::missing_interval::MissingInterval;
    use crate::metric::tests::{katz, rate};

    fn check(found: Option<ValueInterval>, lo: f64, hi: f64, within: f64) {
        let found = found.unwrap();
        assert!(
            (found.lo - lo).abs() < within && (found.hi - hi).abs() < within,
            "{found:?} instead of {lo}, {hi}"
        );
    }

    #[test]
    fn stretched_ends_stay_in_their_range() {
        let ends = |range| stretched((0.125, 0.25), 0.1875, 4.0, range);
        assert_eq!(ends((-1.0, 1.0)), (-0.0625, 0.4375));
        assert_eq!(ends((0.0, 0.375)), (0.0, 0.375));
    }

    /// Whatever the number of cases, without a last digit from rounding.
    #[test]
    fn wilson_ends_at_a_rate_of_0_or_1() {
        for n in 1..2000 {
            let [none, all] = [0, n].map(|k| wilson(rate(k, n), z_of_level(0.95)).unwrap());
            assert_eq!((none.lo, all.hi), (0.0, 1.0), "{n}");
        }
    }

    #[test]
    fn every_method_is_explained_and_has_a_test_of_its_coverage() {
        for (method, test) in METHODS {
            let texts = [method.name(), method_meaning(method.as_str())];
            assert!(texts.iter().all(|text| !text.is_empty()), "{method:?}: {texts:?}");
            let (module, name) = test.rsplit_once("::").unwrap();
            let file = format!("src/metric/{}.rs", module.replace("::", "/"));
            let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
            let text = text.unwrap_or_default();
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            let is_it =
                |of: &[&str]| of[0] == "#[test]" && of[1].starts_with(&format!("fn {name}("));
            assert!(lines.windows(2).any(is_it), "{method:?}: no test `{test}`");
        }
        let reasons = MissingInterval::ALL.iter().map(|why| why.word());
        let known: BTreeSet<&str> = INTERVAL_METHODS.iter().copied().chain(reasons).collect();
        let no_note = WORDS.ids().filter(|id| WORDS.get(id, "words").is_empty());
        assert_eq!(no_note.collect::<BTreeSet<_>>(), known);
        assert_eq!(WORDS.keys(), BTreeSet::from(["name", "means", "why", "words"]));
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
}
