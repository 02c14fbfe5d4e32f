//! Student's interval of values whose variance is a sum of squares over units (persons, or rows),
//! with the degrees of freedom that the units carry.
//!
//! With x what a unit adds to a value, the variance of P units is P / (P - 1) sum x^2. For the
//! difference of two groups it is the sum of both variances minus twice the covariance of the
//! persons in both, with Satterthwaite's degrees of freedom of the two.

use crate::metric::interval::{IntervalProcedure, ValueInterval};
use crate::num::student::{satterthwaite, student_quantile};

/// Degrees of freedom of a variance of this many units, of which some carry the spread
/// (Satterthwaite's, from the kurtosis of the influences): min(P - 1, 2 P c / (P - c)), c =
/// `contributing_units` being (sum x^2)^2 / sum x^4 of influences x, or (sum y)^2 / sum y^2 of what
/// the units add to the cases. Normal influences give P - 1, few large ones about 2 c.
pub(crate) fn degrees_of_freedom(units: f64, contributing_units: f64) -> f64 {
    let (most, few) = (units - 1.0, contributing_units < units * (1.0 - 1e-12));
    let carried = || 2.0 * units * contributing_units / (units - contributing_units);
    if few { most.min(carried()) } else { most }
}

/// A variance below this share of its parts is rounding.
const ROUNDING: f64 = 1e-12;

/// Units that add with one sign and are correlated: how many they are, the sum of what they add and
/// the sum of the squares. For units that add different amounts the fourth powers are not known;
/// their sum is at least the third power of that of the squares over the square of the sum
/// (Hoelder), which is exact where all add the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitTerm {
    /// The person; where each row is a person, the row, which two values may share.
    pub(crate) key: u64,
    pub(crate) n: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
}

impl UnitTerm {
    /// One unit.
    pub(crate) fn one(key: u64, adds: f64) -> Self {
        UnitTerm { key, n: 1.0, sum: adds, squares: adds * adds }
    }

    /// The term multiplied by a factor.
    pub(crate) fn times(self, factor: f64) -> Self {
        UnitTerm { sum: self.sum * factor, squares: self.squares * factor * factor, ..self }
    }

    /// The sum of the fourth powers, each over the square of `squares`.
    fn fourths(&self, squares: f64) -> f64 {
        if self.squares == 0.0 {
            return 0.0;
        }
        let share = self.squares / squares;
        share * share * (self.squares / (self.sum * self.sum))
    }
}

/// A variance with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) variance: f64,
    /// Infinite where the normal quantile is used.
    pub(crate) df: f64,
}

impl Spread {
    /// The spread of what all units add; none for fewer than two.
    pub(crate) fn of_units(units: impl Iterator<Item = UnitTerm> + Clone) -> Option<Self> {
        let n: f64 = units.clone().map(|unit| unit.n).sum();
        let found = Spread::of_scaled(units);
        (n >= 2.0).then(|| Spread { variance: n / (n - 1.0) * found.variance, ..found })
    }

    /// As [`Self::of_units`], for units whose squares sum to the variance.
    pub(crate) fn of_scaled(units: impl Iterator<Item = UnitTerm> + Clone) -> Self {
        let n: f64 = units.clone().map(|unit| unit.n).sum();
        let squares: f64 = units.clone().map(|unit| unit.squares).sum();
        let fourths: f64 = units.map(|unit| unit.fourths(squares)).sum();
        let contributing_units = if fourths > 0.0 { 1.0 / fourths } else { n };
        Spread { variance: squares, df: degrees_of_freedom(n, contributing_units) }
    }

    /// The spread of the value minus another one; `shared` is the covariance of both.
    pub(crate) fn minus(self, other: Self, shared: f64) -> Self {
        let apart = self.variance + other.variance;
        let estimated: Vec<(f64, f64)> = [self, other]
            .into_iter()
            .filter(|side| side.variance > 0.0)
            .map(|side| (side.variance, side.df))
            .collect();
        let variance = apart - 2.0 * shared;
        Spread {
            variance: if variance > ROUNDING * apart { variance } else { 0.0 },
            df: if apart > 0.0 { satterthwaite(apart, &estimated) } else { 0.0 },
        }
    }

    /// Half of the width of Student's interval; none where nothing varies.
    pub(crate) fn half_width(self, level: f64) -> Option<f64> {
        let t = || student_quantile(f64::midpoint(1.0, level), self.df);
        (self.variance > 0.0 && self.df > 0.0).then(|| t() * self.variance.sqrt())
    }
}

/// What the units of a group add to a value.
#[derive(Debug, Clone)]
pub(crate) struct GroupTerms {
    /// The spread of the value; none for fewer than two units.
    pub(crate) spread: Option<Spread>,
    /// Ascending by key; empty where each row is a unit.
    persons: Vec<(u64, f64)>,
}

impl GroupTerms {
    /// The units of rows; those of a person are one unit with `by_person`.
    pub(crate) fn new(rows: Vec<UnitTerm>, by_person: bool) -> Self {
        if !by_person {
            return GroupTerms { spread: Spread::of_units(rows.into_iter()), persons: Vec::new() };
        }
        let persons = sums_by_key(rows);
        let units = persons.iter().map(|&(key, adds)| UnitTerm::one(key, adds));
        GroupTerms { spread: Spread::of_units(units), persons }
    }

    /// The spread of the value minus that of another group; none where a group has fewer than two
    /// units.
    pub(crate) fn gap(&self, other: &Self) -> Option<Spread> {
        let shared = covariance(&self.persons, &other.persons, |adds| *adds);
        Some(self.spread?.minus(other.spread?, shared))
    }
}

/// What the rows of each key add together, ascending by key.
pub(crate) fn sums_by_key(mut rows: Vec<UnitTerm>) -> Vec<(u64, f64)> {
    // Stable: the rows of a person stay in order.
    rows.sort_by_key(|row| row.key);
    let own = rows.chunk_by(|a, b| a.key == b.key);
    own.map(|own| (own[0].key, own.iter().map(|row| row.sum).sum())).collect()
}

/// The covariance of two values by the units that add to both, ascending by key, each with the
/// factor of its variance; `of` is what a unit adds.
pub(crate) fn covariance<T>(one: &[(u64, T)], other: &[(u64, T)], of: impl Fn(&T) -> f64) -> f64 {
    let (n, m) = (one.len() as f64, other.len() as f64);
    let (mut sum, mut others) = (0.0, other.iter().peekable());
    for (key, own) in one {
        while others.next_if(|(other, _)| other < key).is_some() {}
        if let Some((_, theirs)) = others.next_if(|(other, _)| other == key) {
            sum += of(own) * of(theirs);
        }
    }
    if sum == 0.0 || n < 2.0 || m < 2.0 {
        return 0.0;
    }
    sum * (n / (n - 1.0) * m / (m - 1.0)).sqrt()
}

/// Value plus and minus the quantile times the root of the variance.
pub(crate) fn student(value: f64, variance: f64, df: f64, level: f64) -> ValueInterval {
    let half = student_quantile(f64::midpoint(1.0, level), df) * variance.sqrt();
    ValueInterval { lo: value - half, hi: value + half, method: IntervalProcedure::Student }
}

/// As [`student`], on the logarithm, for a value above 0.
pub(crate) fn log_student(value: f64, variance: f64, df: f64, level: f64) -> ValueInterval {
    let half = student_quantile(f64::midpoint(1.0, level), df) * variance.sqrt();
    let factor = libm::exp(half / value);
    let method = IntervalProcedure::LogStudent;
    ValueInterval { lo: value / factor, hi: value * factor, method }
}

#[cfg(test)]
mod tests {
    use super::{GroupTerms, Spread, UnitTerm, degrees_of_freedom, log_student, student};

    #[test]
    fn few_contributing_have_few_degrees_of_freedom() {
        // All alike, and normal influences, whose kurtosis is 3: c is a third of the units.
        assert_eq!(degrees_of_freedom(10.0, 10.0), 9.0);
        assert_eq!(degrees_of_freedom(300.0, 100.0), 299.0);
        // Of 1000 units ten carry the variance: 2 * 1000 * 10 / 990.
        assert!((degrees_of_freedom(1000.0, 10.0) - 20_000.0 / 990.0).abs() < 1e-12);
    }

    /// One unit adds 3 and nine take a third each: c = (9 + 1)^2 / (81 + 1/9), P / (P - 1) 10.
    #[test]
    fn a_spread_by_hand() {
        let near = |x: f64, y: f64| (x - y).abs() < 1e-12 * y.abs();
        let each = [vec![3.0], vec![-1.0 / 3.0; 9]].concat();
        let persons = |from: u64| {
            let each = (from..from + 10).zip(&each).map(|(key, adds)| UnitTerm::one(key, *adds));
            GroupTerms::new(each.collect(), true)
        };
        let c = 100.0 / (81.0 + 1.0 / 9.0);
        let found = persons(0).spread.unwrap();
        assert!(near(found.variance, 100.0 / 9.0) && near(found.df, 20.0 * c / (10.0 - c)));
        // Nine that go together are nine units; the size of a number is not one of its digits.
        for size in [1.0, 1e90, 1e-90] {
            let nine = UnitTerm { key: 1, n: 9.0, sum: -3.0 * size, squares: size * size };
            let rows = GroupTerms::new(vec![UnitTerm::one(0, 3.0 * size), nine], false);
            assert!(near(rows.spread.unwrap().df, found.df), "{size}");
        }
        assert_eq!(GroupTerms::new(vec![UnitTerm::one(0, 0.5)], false).spread, None);
        // Other persons: both variances, and twice the degrees of freedom of one of them. The same
        // persons: no difference.
        let apart = persons(0).gap(&persons(10)).unwrap();
        assert!(near(apart.variance, 2.0 * found.variance) && near(apart.df, 2.0 * found.df));
        assert_eq!(persons(0).gap(&persons(0)).unwrap().variance, 0.0);
        assert_eq!(Spread { variance: 0.0, df: 3.0 }.half_width(0.95), None);
        let normal = Spread { variance: 4.0, df: f64::INFINITY }.half_width(0.95).unwrap();
        assert!(near(normal, 2.0 * 1.959_963_984_540_054), "{normal}");
    }

    #[test]
    fn both_intervals_by_hand() {
        // 3.182446 for 3 degrees of freedom and 95 %, of tables.
        let found = student(0.5, 0.04, 3.0, 0.95);
        assert!((found.lo - (0.5 - 0.2 * 3.182_446)).abs() < 1e-6, "{found:?}");
        let log = log_student(0.5, 0.04, 3.0, 0.95);
        let factor = (0.4_f64 * 3.182_446).exp();
        assert!((log.lo - 0.5 / factor).abs() < 1e-6 && (log.hi - 0.5 * factor).abs() < 1e-5);
        assert_eq!(student(0.5, 0.0, 3.0, 0.95).lo, 0.5);
    }
}
