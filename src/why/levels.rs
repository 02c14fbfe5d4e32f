//! Columns cut into levels: the items of patterns.
//!
//! Words keep their levels. Numbers get the bins of the job, else quartiles of the people at hand:
//! edge j is the value at position ceil(j m / 4) of the m known ones in ascending order, j = 1, 2,
//! 3; equal edges count once, and the largest value is not an edge. Missing values, numbers outside
//! all bins and undeclared groups are the level `missing`.

use crate::data::MISSING_LEVEL;
use crate::data::prepare::derive::DerivedBin;
use crate::data::values::float_text;
use crate::num::itemsets::LevelColumn;

/// A column of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternColumn {
    /// Its name.
    pub name: String,
    /// The texts of its levels.
    pub levels: Vec<String>,
    /// The level of each person.
    pub codes: Vec<u32>,
}

impl LevelColumn for PatternColumn {
    fn name(&self) -> &str {
        &self.name
    }

    fn levels(&self) -> &[String] {
        &self.levels
    }

    fn codes(&self) -> &[u32] {
        &self.codes
    }
}

impl PatternColumn {
    /// A column of words; a code beyond the levels is missing. A level that is called `missing`
    /// itself and missing values are one.
    pub(crate) fn of_words(name: &str, levels: &[String], codes: &[u32]) -> Self {
        let mut levels = levels.to_vec();
        let known = levels.len() as u32;
        let missing = match levels.iter().position(|level| level == MISSING_LEVEL) {
            Some(at) => at as u32,
            None => {
                levels.push(MISSING_LEVEL.to_owned());
                known
            }
        };
        let codes = codes.iter().map(|&code| if code < known { code } else { missing }).collect();
        PatternColumn { name: name.to_owned(), levels, codes }
    }

    /// A column of numbers in bins; NaN and numbers outside all bins are missing.
    pub(crate) fn of_bins(name: &str, numbers: &[f64], bins: &[DerivedBin]) -> Self {
        let levels: Vec<String> = bins.iter().map(|bin| bin.name.clone()).collect();
        let code = |&x: &f64| {
            let place = bins.iter().position(|bin| bin.contains(x));
            place.map_or(u32::MAX, |place| place as u32)
        };
        let codes: Vec<u32> = numbers.iter().map(code).collect();
        PatternColumn::of_words(name, &levels, &codes)
    }

    /// A column of numbers in quartiles; NaN is missing.
    pub(crate) fn of_quartiles(name: &str, numbers: &[f64]) -> Self {
        let edges = quartile_edges(numbers);
        let texts: Vec<String> = edges.iter().map(|&edge| float_text(edge)).collect();
        let levels: Vec<String> = match (texts.first(), texts.last()) {
            (Some(first), Some(last)) => {
                let inner = texts.windows(2).map(|pair| format!("({}, {}]", pair[0], pair[1]));
                let ends = [format!("up to {first}"), format!("above {last}")];
                let [low, high] = ends;
                std::iter::once(low).chain(inner).chain([high]).collect()
            }
            _ => vec!["present".to_owned()],
        };
        let code = |&x: &f64| {
            if x.is_nan() { u32::MAX } else { edges.partition_point(|&edge| edge < x) as u32 }
        };
        let codes: Vec<u32> = numbers.iter().map(code).collect();
        PatternColumn::of_words(name, &levels, &codes)
    }
}

/// The edges of quartiles of numbers, of which NaN is none.
fn quartile_edges(numbers: &[f64]) -> Vec<f64> {
    let mut known: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
    known.sort_by(f64::total_cmp);
    let m = known.len();
    let Some(&largest) = known.last() else { return Vec::new() };
    let mut edges: Vec<f64> = (1..=3).map(|j| known[(j * m).div_ceil(4) - 1]).collect();
    // 0 and -0 are one number.
    edges.dedup_by(|a, b| *a == *b);
    edges.retain(|&edge| edge < largest);
    edges
}
