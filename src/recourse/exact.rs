//! Compares and rounds fractions exactly, so that equal scores are equal on every machine.

use std::cmp::Ordering;

/// A fraction of at least 0 with a denominator above 0.
#[derive(Debug, Clone, Copy)]
pub struct ExactRatio {
    num: u128,
    den: u128,
}

impl ExactRatio {
    /// `num / den`; a denominator of 0 counts as 1.
    pub fn new(num: u128, den: u128) -> ExactRatio {
        ExactRatio { num, den: den.max(1) }
    }

    /// Numerator and denominator of the same number over `den`, a separate multiple denominator.
    pub(super) fn over(self, den: u128) -> (u128, u128) {
        (self.num * (den / self.den), den)
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.num == 0
    }

    /// The nearest float, to within a few units in the last place.
    pub fn get(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// The nearest multiple of `1 / unit`, ties to even, in these units.
    #[cfg(test)]
    pub fn rounded(self, unit: u128) -> u128 {
        let (whole, rest) = (self.num / self.den, self.num % self.den);
        match rest.checked_mul(unit) {
            Some(scaled) => whole * unit + half_even(scaled, self.den),
            // The rest is above 2^64, so dropping its low bits changes no digit that is shown.
            None => whole * unit + half_even((rest >> 64) * unit, self.den >> 64),
        }
    }
}

impl PartialEq for ExactRatio {
    fn eq(&self, other: &ExactRatio) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ExactRatio {}

impl PartialOrd for ExactRatio {
    fn partial_cmp(&self, other: &ExactRatio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactRatio {
    /// Cross-multiplies where that fits 128 bits.
    ///
    /// Otherwise compares the whole parts and continues with the inverted remainders (Euclid's
    /// algorithm).
    fn cmp(&self, other: &ExactRatio) -> Ordering {
        if self.den == other.den {
            return self.num.cmp(&other.num);
        }
        if let (Some(a), Some(b)) =
            (self.num.checked_mul(other.den), other.num.checked_mul(self.den))
        {
            return a.cmp(&b);
        }
        let (a, b) = (self.num / self.den, other.num / other.den);
        let (a_rest, b_rest) = (self.num % self.den, other.num % other.den);
        a.cmp(&b).then_with(|| match (a_rest, b_rest) {
            (0, _) | (_, 0) => a_rest.cmp(&b_rest),
            _ => ExactRatio { num: other.den, den: b_rest }
                .cmp(&ExactRatio { num: self.den, den: a_rest }),
        })
    }
}

/// `num / den` to the nearest whole number, ties to even; `den` is not 0.
pub(super) fn half_even(num: u128, den: u128) -> u128 {
    let (whole, rest) = (num / den, num % den);
    match rest.cmp(&(den - rest)) {
        Ordering::Less => whole,
        Ordering::Greater => whole + 1,
        Ordering::Equal => whole + whole % 2,
    }
}

/// A number in units of `10^-places` as text, without trailing zeros.
pub(super) fn decimal_text(units: u128, places: u32) -> String {
    let unit = 10_u128.pow(places);
    let (whole, rest) = (units / unit, units % unit);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:0width$}", width = places as usize).trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{ExactRatio, decimal_text, half_even};

    #[test]
    fn fractions_compare_exactly_at_any_size() {
        assert_eq!(ExactRatio::new(1, 3), ExactRatio::new(2, 6));
        assert!(ExactRatio::new(1, 3) > ExactRatio::new(333_333_333, 1_000_000_000));
        // As floats these are equal; their products do not fit into 128 bits.
        let big = 1_u128 << 126;
        let (a, b) = (ExactRatio::new(big, big - 1), ExactRatio::new(big - 1, big - 2));
        assert_eq!(a.get(), b.get());
        assert_eq!(
            (a.cmp(&b), b.cmp(&a), a == ExactRatio::new(big, big - 1)),
            (Ordering::Less, Ordering::Greater, true)
        );
        assert!(ExactRatio::new(0, big) < ExactRatio::new(1, big));
    }

    #[test]
    fn ties_round_to_even() {
        assert_eq!(
            [half_even(1, 2), half_even(3, 2), half_even(5, 2), half_even(7, 3)],
            [0, 2, 2, 2]
        );
        assert_eq!(ExactRatio::new(1, 6).rounded(1000), 167);
        assert_eq!(ExactRatio::new(1_u128 << 127, (1_u128 << 127) - 3).rounded(1000), 1000);
    }

    #[test]
    fn texts_have_no_zeros_at_the_end() {
        assert_eq!(
            [decimal_text(400, 2), decimal_text(170, 3), decimal_text(5, 2)],
            ["4", "0.17", "0.05"]
        );
    }
}
