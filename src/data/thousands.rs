//! Detects numbers whose decimal point may be a thousands separator: `27.912` next to `350`.
//!
//! Such a file reads as numbers, and 27,912 then counts for less than 350. Only the values can show
//! it: none is 1000 or above, each fraction is of a number of at least 1 and has at most three
//! decimals, most have all three, and whole numbers of at least 100 are more frequent among them
//! than among numbers with three decimals by chance (one in a thousand). Where most amounts are
//! rounded to hundreds (`27.500`), too few have a third decimal that is not 0, and nothing is
//! reported.

use serde::{Deserialize, Serialize};

use crate::num::additive::Additive;

/// Smallest share of whole numbers of at least 100: one in this many values.
const ONE_IN: u64 = 100;

/// Statistics on the values of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Thousands {
    n: u64,
    /// Whole numbers of at least 100, and the largest.
    hundreds: (u64, f64),
    /// Count of numbers with decimals, count of these with three, and the smallest.
    fractions: (u64, u64, Option<f64>),
    /// Whether some value excludes a thousands separator.
    refuted: bool,
}

impl Additive for Thousands {
    fn absorb(&mut self, other: &Self) {
        self.n += other.n;
        self.hundreds = (self.hundreds.0 + other.hundreds.0, self.hundreds.1.max(other.hundreds.1));
        let ((n, three, least), (m, also_three, other_least)) = (self.fractions, other.fractions);
        self.fractions = (n + m, three + also_three, lesser(least, other_least));
        if self.refuted || other.refuted {
            *self = Thousands { refuted: true, ..Thousands::default() };
        }
    }
}

impl Thousands {
    /// Adds values; NaN is missing.
    pub(crate) fn look(&mut self, values: impl Iterator<Item = f64>) {
        for x in values.map(f64::abs).filter(|x| !x.is_nan()) {
            if self.refuted {
                return;
            }
            self.n += 1;
            // Whole numbers below a million: integers cost less than the remainders of floats.
            let thousandths = if x < 1000.0 { (x * 1000.0 + 0.5) as u32 } else { 0 };
            if x < 1000.0 && f64::from(x as u32) == x {
                self.hundreds = (self.hundreds.0 + u64::from(x >= 100.0), self.hundreds.1.max(x));
            } else if (1.0..1000.0).contains(&x) && f64::from(thousandths) / 1000.0 == x {
                let (n, three, least) = self.fractions;
                let has_three = !thousandths.is_multiple_of(10);
                self.fractions = (n + 1, three + u64::from(has_three), lesser(least, Some(x)));
            } else {
                *self = Thousands { refuted: true, ..Thousands::default() };
            }
        }
    }

    /// The number of values with decimals, and the text of the issue, if the point may separate
    /// thousands.
    pub(crate) fn suspicion(&self, column: &str) -> Option<(u64, String)> {
        let ((hundreds, large), (fractions, three, small)) = (self.hundreds, self.fractions);
        let small = small?;
        let often =
            hundreds >= 2 && hundreds * ONE_IN >= self.n && fractions >= 2 && three * 2 > fractions;
        (often && !self.refuted && small < large).then(|| {
            let text = format!(
                "the continuous column `{column}` has numbers such as `{small:.3}` and `{large}`, \
                 and none from 1000 on: if the point is a thousands separator, remove it from the \
                 file, because `{small:.3}` now counts as less than `{large}`; if it is a decimal \
                 point, nothing is wrong"
            );
            (fractions, text)
        })
    }
}

/// The smaller of two numbers; none if there is none.
fn lesser(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::Thousands;
    use crate::num::additive::Additive;
    use crate::tests::Says;

    fn told(values: &[f64]) -> Option<(u64, String)> {
        let mut whole = Thousands::default();
        whole.look(values.iter().copied());
        // For any partition of the rows.
        let mut cut = Thousands::default();
        for value in values.iter().rev() {
            let mut one = Thousands::default();
            one.look([*value].into_iter());
            cut.absorb(&one);
        }
        assert_eq!((whole, whole.suspicion("income")), (cut, cut.suspicion("income")));
        whole.suspicion("income")
    }

    #[test]
    fn a_point_between_thousands_is_told() {
        let (n, text) = told(&[27.912, 350.0, f64::NAN, 1.205, 999.0, 31.0, 104.58]).unwrap();
        assert_eq!(n, 3);
        text.says(&["such as `1.205` and `999`"]);
        assert!(told(&[27.912, 100.0, 1.205, 100.0]).is_some(), "100 has three digits");
    }

    #[test]
    fn decimals_are_not_taken_for_thousands() {
        for (why, values) in [
            ("a number from 1000 on", vec![27.912, 350.0, 1.205, 999.0, 1000.0]),
            ("a number from 1000 on, with decimals", vec![27.912, 350.0, 1.205, 999.0, 1000.5]),
            ("a fraction below 1", vec![27.912, 350.0, 1.205, 999.0, 0.5]),
            ("four decimals", vec![27.912, 350.0, 1.205, 999.0, 2.0001]),
            ("few decimals", vec![27.5, 350.0, 1.25, 999.0]),
            ("no whole number of three digits", vec![27.912, 35.0, 1.205, 99.0]),
            ("whole numbers only", vec![350.0, 999.0]),
            ("one whole number of three digits", vec![27.912, 350.0, 1.205]),
            ("one number with decimals", vec![27.912, 350.0, 999.0]),
            ("three decimals in half of them", vec![27.912, 350.0, 27.5, 999.0]),
            ("no fraction below a whole number", vec![350.125, 120.0, 110.0, 450.205]),
        ] {
            assert_eq!(told(&values), None, "{why}");
        }
        // One whole number in a thousand is chance.
        let mut many: Vec<f64> = (0..2000).map(|i| f64::from(100_001 + 7 * i) / 1000.0).collect();
        many.extend([350.0, 999.0]);
        assert_eq!(told(&many), None);
    }
}
