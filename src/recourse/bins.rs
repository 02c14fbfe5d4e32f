//! Binned numbers, and the number that a row gets when it is moved to a bin.
//!
//! Bins are `(lo, hi]`, the lowest also holds its left edge. Published results use such bins; the
//! paper's text on COMPAS writes `[1, 5)`, its figures and code `(1.0, 5.0]`.
//!
//! Choice: a model that reads the number gets the lower median of the audited rows of the target
//! bin, so an action's success depends on row and changes only. In the published results models
//! were trained on bins, and the question does not arise.

use crate::data::MISSING_LEVEL;
use crate::data::prepare::derive::DerivedBin;

/// A binned column of numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BinnedColumn {
    /// The bins in declared order, then `missing` where a number is missing or outside all bins.
    pub levels: Vec<String>,
    /// The level of each row.
    pub codes: Vec<u32>,
    /// The level of rows that are in no bin.
    pub missing: Option<u32>,
    /// Number of rows whose number is outside all bins.
    pub outside: u64,
    /// The number that a row gets when it is moved to each level; NaN where no row has the level.
    pub targets: Vec<f64>,
}

/// Puts numbers into bins; NaN is missing.
pub(crate) fn bin_numbers(numbers: &[f64], bins: &[DerivedBin]) -> BinnedColumn {
    let nowhere = bins.len() as u32;
    let level =
        |x: f64| bins.iter().position(|bin| bin.contains(x)).map_or(nowhere, |bin| bin as u32);
    let codes: Vec<u32> = numbers.iter().map(|&x| level(x)).collect();
    let missing = codes.contains(&nowhere).then_some(nowhere);
    let outside =
        numbers.iter().zip(&codes).filter(|(x, code)| **code == nowhere && !x.is_nan()).count()
            as u64;
    let mut levels: Vec<String> = bins.iter().map(|bin| bin.name.clone()).collect();
    levels.extend(missing.map(|_| MISSING_LEVEL.to_owned()));
    let mut of_level = vec![Vec::new(); levels.len()];
    codes
        .iter()
        .zip(numbers)
        .filter(|(code, _)| **code != nowhere)
        .for_each(|(&code, &x)| of_level[code as usize].push(x));
    let targets = of_level.into_iter().map(lower_median).collect();
    BinnedColumn { levels, codes, missing, outside, targets }
}

/// The lower median; NaN without values.
fn lower_median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::bin_numbers;
    use crate::data::prepare::derive::DerivedBin;

    #[test]
    fn edges_belong_to_the_left_bin() {
        let bin = |name: &str, lo, hi, closed| DerivedBin { name: name.to_owned(), lo, hi, closed };
        let bins = [
            bin("[0, 5]", 0.0, 5.0, true),
            bin("(5, 9]", 5.0, 9.0, false),
            bin("(9, 10]", 9.0, 10.0, false),
        ];
        let cut = bin_numbers(&[0.0, 5.0, 5.1, 9.0, 8.0, 7.0, 11.0, f64::NAN], &bins);
        assert_eq!(cut.codes, [0, 0, 1, 1, 1, 1, 3, 3]);
        assert_eq!((cut.missing, cut.outside, cut.levels[3].as_str()), (Some(3), 1, "missing"));
        assert_eq!(cut.targets[..2], [0.0, 7.0], "the lower of two in the middle");
        assert!(cut.targets[2].is_nan() && cut.targets[3].is_nan());
    }
}
