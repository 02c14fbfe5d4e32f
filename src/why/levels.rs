//! Columns cut into levels: the items of patterns.
//!
//! Words keep their levels. Numbers get the bins of the job, else quartiles of the people at hand:
//! edge j is the value at position ceil(j m / 4) of the m known ones in ascending order, j = 1, 2,
//! 3; equal edges count once, and the largest value is not an edge. The text of an edge has few
//! digits and still cuts the same people ([`short_text`]). Missing values, numbers outside all bins
//! and undeclared groups are the level `missing`.

use crate::data::MISSING_LEVEL;
use crate::data::prepare::derive::DerivedBin;
use crate::data::values::float_text;
use crate::num::itemsets::LevelColumn;
use crate::num::short_number::short_text;
use crate::num::summary::{ascending, equal_cuts};
use crate::table::why::{LevelReading, PatternTrait};

/// A column of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternColumn {
    /// Its name.
    pub name: String,
    /// The texts of its levels.
    pub levels: Vec<String>,
    /// How each of them reads; without one, as a word.
    pub readings: Vec<LevelReading>,
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
        PatternColumn { name: name.to_owned(), levels, readings: Vec::new(), codes }
    }

    /// The trait of a level.
    pub(crate) fn trait_of(&self, level: usize) -> PatternTrait {
        let reading = self.readings.get(level).copied().unwrap_or(LevelReading::Is);
        PatternTrait { column: self.name.clone(), reading, level: self.levels[level].clone() }
    }

    /// A column of numbers in bins; NaN and numbers outside all bins are missing.
    pub(crate) fn of_bins(name: &str, numbers: &[f64], bins: &[DerivedBin]) -> Self {
        let levels: Vec<String> = bins.iter().map(|bin| bin.name.clone()).collect();
        let code = |&x: &f64| {
            let place = bins.iter().position(|bin| bin.contains(x));
            place.map_or(u32::MAX, |place| place as u32)
        };
        let codes: Vec<u32> = numbers.iter().map(code).collect();
        PatternColumn::of_words(name, &levels, &codes).in_bins(bins)
    }

    /// The same column with levels that are bins: bins without a name in the job are shown as
    /// ranges.
    pub(crate) fn in_bins(self, bins: &[DerivedBin]) -> Self {
        let reading = |level: &String| {
            let is_range = |bin: &DerivedBin| bin.name == *level && bin.is_named_by_range();
            if bins.iter().any(is_range) { LevelReading::Within } else { LevelReading::Is }
        };
        PatternColumn { readings: self.levels.iter().map(reading).collect(), ..self }
    }

    /// A column of numbers in quartiles; NaN is missing.
    pub(crate) fn of_quartiles(name: &str, numbers: &[f64]) -> Self {
        let known = ascending(numbers);
        let edges = equal_cuts(&known, 4);
        let text = |&edge: &f64| {
            let next = known.get(known.partition_point(|x| *x <= edge)).copied();
            short_text(edge, next).unwrap_or_else(|| float_text(edge))
        };
        let texts: Vec<String> = edges.iter().map(text).collect();
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
        let mut readings = vec![LevelReading::Within; texts.len().saturating_sub(1)];
        if !texts.is_empty() {
            readings.insert(0, LevelReading::Beyond);
            readings.push(LevelReading::Beyond);
        }
        PatternColumn { readings, ..PatternColumn::of_words(name, &levels, &codes) }
    }
}

#[cfg(test)]
mod tests {
    use super::{DerivedBin, PatternColumn};
    use crate::table::why::LevelReading::{Beyond, Is, Within};

    #[test]
    fn ranges_read_by_their_ends() {
        let readings = |numbers: &[f64]| {
            let column = PatternColumn::of_quartiles("income", numbers);
            (0..column.levels.len()).map(|level| column.trait_of(level).reading).collect::<Vec<_>>()
        };
        assert_eq!(readings(&[1.0, 2.0, 3.0, 4.0]), [Beyond, Within, Within, Beyond, Is]);
        assert_eq!(readings(&[1.0, 2.0]), [Beyond, Beyond, Is]);
        assert_eq!(readings(&[1.0, 1.0]), [Is, Is], "a number that never varies is present");
        let bin = |name: &str, lo, hi, closed| DerivedBin { name: name.to_owned(), lo, hi, closed };
        let bins = [bin("[0, 25]", 0.0, 25.0, true), bin("high", 25.0, 90.0, false)];
        let binned = PatternColumn::of_bins("debt", &[1.0, 30.0], &bins);
        assert_eq!([0, 1, 2].map(|level| binned.trait_of(level).reading), [Within, Is, Is]);
    }

    #[test]
    fn edges_have_few_digits_and_cut_the_same_people() {
        let numbers: Vec<f64> = (0..200).map(|i| 20.0 + f64::from(i) * 0.137_931_034_482).collect();
        let column = PatternColumn::of_quartiles("income", &numbers);
        let shown: Vec<&str> = column.levels.iter().map(String::as_str).collect();
        assert_eq!(
            shown,
            ["up to 26.76", "(26.76, 33.66]", "(33.66, 40.56]", "above 40.56", "missing"]
        );
        let edge = |text: &str| -> f64 { text.parse().unwrap() };
        let edges = [edge("26.76"), edge("33.66"), edge("40.56")];
        for (number, code) in numbers.iter().zip(&column.codes) {
            assert_eq!(edges.partition_point(|edge| edge < number), *code as usize, "{number}");
        }
        let few = PatternColumn::of_quartiles("income", &[11_233.98, 11_233.99, 0.5, 99_999.0]);
        assert_eq!(few.levels[1], "(0.5, 11233.98]", "numbers of few digits stay as they are");
    }
}
