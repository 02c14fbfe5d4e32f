//! Exact decimal numbers as users write them: `0.07` is 7 hundredths, not the nearest binary float.
//!
//! In binary floats `0.07 * 100` is slightly above 7, so it rounds up to 8. Therefore thresholds
//! for counts are compared in whole numbers.

use std::fmt;
use std::str::FromStr;

/// Largest number of decimal places; 10^18 fits 64 bits.
const MAX_PLACES: u32 = 18;

/// A number of at least 0: `digits / 10^places`, without trailing zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    digits: u64,
    places: u32,
}

/// The text is not a decimal number of at least 0, or has too many digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseDecimalError;

impl Decimal {
    /// The decimal that a float was read from: the shortest text that reads back as the same float.
    ///
    /// `None` for negative and infinite numbers, and for those that need more than 18 places or
    /// digits.
    pub fn from_f64(value: f64) -> Option<Decimal> {
        // `{}` never prints an exponent.
        format!("{value}").parse().ok()
    }

    /// `digits / 10^places`.
    pub fn fraction(self) -> (u64, u64) {
        (self.digits, 10_u64.pow(self.places))
    }

    /// The smallest whole number that is not below `self * n`.
    pub fn ceil_of(self, n: u64) -> u128 {
        let (digits, unit) = self.fraction();
        (u128::from(digits) * u128::from(n)).div_ceil(u128::from(unit))
    }

    /// Whether `part / whole >= self`, exactly.
    pub fn reached_by(self, part: u64, whole: u64) -> bool {
        let (digits, unit) = self.fraction();
        u128::from(part) * u128::from(unit) >= u128::from(digits) * u128::from(whole)
    }
}

impl FromStr for Decimal {
    type Err = ParseDecimalError;

    fn from_str(text: &str) -> Result<Self, ParseDecimalError> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let part = part.trim_end_matches('0');
        let all_digits = whole.bytes().chain(part.bytes()).all(|b| b.is_ascii_digit());
        let places = u32::try_from(part.len()).map_err(|_| ParseDecimalError)?;
        if whole.is_empty() || !all_digits || places > MAX_PLACES {
            return Err(ParseDecimalError);
        }
        let digits = format!("{whole}{part}").parse().map_err(|_| ParseDecimalError)?;
        Ok(Decimal { digits, places })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digits, unit) = self.fraction();
        write!(f, "{}", digits / unit)?;
        if self.places > 0 {
            write!(f, ".{:0width$}", digits % unit, width = self.places as usize)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Decimal, ParseDecimalError};

    #[test]
    fn what_is_written_is_kept() {
        for text in ["0", "0.07", "1", "0.000000000000000001", "123.5"] {
            assert_eq!(text.parse::<Decimal>().unwrap().to_string(), text);
        }
        assert_eq!("0.50".parse::<Decimal>(), "0.5".parse());
        assert_eq!(Decimal::from_f64(0.07), "0.07".parse().ok());
        for text in
            ["", ".5", "-1", "1e3", "0.1.2", "0.0000000000000000001", "99999999999999999999"]
        {
            assert_eq!(text.parse::<Decimal>(), Err(ParseDecimalError), "{text}");
        }
        assert_eq!(Decimal::from_f64(-0.5), None);
        assert_eq!(Decimal::from_f64(f64::INFINITY), None);
    }

    #[test]
    fn shares_of_counts_are_exact() {
        let share: Decimal = "0.07".parse().unwrap();
        assert!((0.07_f64 * 100.0).ceil() > 7.5, "which is why this type exists");
        assert_eq!(share.ceil_of(100), 7);
        assert_eq!(share.ceil_of(101), 8);
        assert!(share.reached_by(7, 100) && !share.reached_by(6, 100));
    }
}
