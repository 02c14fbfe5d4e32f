//! Numbers of the tables in a line of plain text, such as the line of a gate: with enough decimals
//! to distinguish what differs, and no sign before what rounds to zero.

/// Decimals of a number that need not be distinguished from another.
const LEAST: usize = 4;

/// Decimals beyond which a difference is only rounding.
const MOST: usize = 8;

/// The fewest decimals, from 4 to 8, that distinguish the numbers of each pair. Numbers of a pair
/// that eight decimals do not distinguish are printed alike.
pub(crate) fn decimals_apart(pairs: &[(f64, f64)]) -> usize {
    let of_pair = |&(a, b): &(f64, f64)| {
        (LEAST..=MOST)
            .find(|&decimals| fixed_digits(a, decimals) != fixed_digits(b, decimals))
            .unwrap_or(LEAST)
    };
    pairs.iter().map(of_pair).max().unwrap_or(LEAST)
}

/// The pairs that the ends of an interval must distinguish: both ends, and, where the interval
/// leaves out 0, the nearer one and 0.
pub(crate) fn end_pairs(ends: Option<(f64, f64)>) -> impl Iterator<Item = (f64, f64)> {
    let nearest = ends.map(|(lo, hi)| if lo > 0.0 { lo } else { hi.min(0.0) });
    ends.into_iter().chain(nearest.filter(|end| *end != 0.0).map(|end| (end, 0.0)))
}

/// A number with this many decimals: `0.1310`, `-0.0421`, and `0.0000` where it rounds to zero.
pub(crate) fn fixed_digits(value: f64, decimals: usize) -> String {
    let digits = format!("{value:.decimals$}");
    let is_zero = digits.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
    if is_zero { digits.trim_start_matches('-').to_owned() } else { digits }
}

/// Both ends of an interval: `0.0823 to 0.2023`.
pub(crate) fn interval_digits(lo: f64, hi: f64, decimals: usize) -> String {
    format!("{} to {}", fixed_digits(lo, decimals), fixed_digits(hi, decimals))
}

#[cfg(test)]
mod tests {
    use super::{decimals_apart, end_pairs, fixed_digits, interval_digits};

    /// An interval that holds more than one number does not read as one, and zero has no sign.
    #[test]
    fn what_differs_reads_apart_and_zero_has_no_sign() {
        for (lo, hi, text) in [
            (0.0823, 0.2023, "0.0823 to 0.2023"),
            (-0.0271, 0.217, "-0.0271 to 0.2170"),
            (0.0, 0.000_012_3, "0.00000 to 0.00001"),
            (-0.000_012_3, 0.000_012_3, "-0.00001 to 0.00001"),
            (0.999_999_6, 1.0, "0.9999996 to 1.0000000"),
            (-0.000_04, 0.21, "0.0000 to 0.2100"),
            // Numbers that differ only by rounding are printed alike.
            (0.25, 0.25, "0.2500 to 0.2500"),
            (-2e-17, 3e-17, "0.0000 to 0.0000"),
            // What leaves out 0 does not seem to touch it.
            (-0.045, -0.000_041, "-0.04500 to -0.00004"),
            (0.000_000_4, 0.2, "0.0000004 to 0.2000000"),
        ] {
            let pairs: Vec<(f64, f64)> = end_pairs(Some((lo, hi))).collect();
            assert_eq!(interval_digits(lo, hi, decimals_apart(&pairs)), text);
        }
        assert_eq!(end_pairs(None).count(), 0);
        assert_eq!(decimals_apart(&[]), 4);
        assert_eq!(decimals_apart(&[(0.1, 0.2), (0.1, 0.100_001)]), 6);
        assert_eq!(fixed_digits(-0.000_001, 4), "0.0000");
    }
}
