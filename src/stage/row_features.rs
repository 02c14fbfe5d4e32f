//! The features of rows that a stage gathers from many row groups.

use crate::data::{Feature, FeatureRows, Layout};

/// No rows of a layout.
pub(crate) fn empty_rows(layout: &Layout) -> FeatureRows {
    let columns = layout.features.iter().map(Feature::no_values).collect();
    FeatureRows { n: 0, columns, source: Vec::new() }
}

/// Which of the columns of a one-hot group holds the 1 of a row; none where none or several do.
pub(crate) fn only_one(rows: &FeatureRows, columns: &[usize], i: usize) -> Option<u32> {
    let ones = (0_u32..).zip(columns);
    let mut ones = ones.filter(|(_, column)| rows.numbers(**column).get(i) == Some(&1.0));
    ones.next().filter(|_| ones.next().is_none()).map(|(only, _)| only)
}

/// The position of each number among ascending values that hold it; where it is missing, this one.
pub(crate) fn codes_among(values: &[f64], numbers: &[f64], missing: u32) -> Vec<u32> {
    let code = |&x: &f64| match x.is_nan() {
        true => missing,
        false => values.partition_point(|y| *y < x) as u32,
    };
    numbers.iter().map(code).collect()
}

/// The different numbers that are there, ascending: 0 and -0 are one.
pub(crate) fn distinct_numbers(numbers: &[f64]) -> Vec<f64> {
    let mut values: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup_by(|a, b| *a == *b);
    values
}
