//! The one encoding of rows for every model trained here: z-scored numbers and indicators of
//! levels.
//!
//! As in the public code of "Counterfactual Fairness with Graph Uncertainty": a number becomes
//! (x - mean) / sd with mean and population standard deviation of the training rows; a column with
//! two levels in training becomes one indicator of the second, one with K > 2 levels K indicators,
//! none dropped. Levels unseen in training and missing levels have all indicators 0; a missing
//! number is the training mean and, where training rows have missing values, 1 in a
//! missing-indicator column. Columns without variation in training give no encoded column.
//! Choice: the order of levels is the declared one, then bytes; so the second level of a sensitive
//! attribute is its second group.
//! Cost: three passes over the training rows; encoding a row is linear in its features.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::rows::column_moments::{TrainingTally, means_and_deviations};
use crate::data::rows::training::TrainingRows;
use crate::data::{Feature, FeatureKind, FeatureRows, MISSING};
use crate::error::Result;
use crate::num::additive::Additive;

/// How one feature becomes encoded columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum FeatureEncoding {
    /// (x - mean) / sd at `at`; where missing, 0 there and 1 at `missing_at`.
    Number { mean: f64, sd: f64, at: Option<usize>, missing_at: Option<usize> },
    /// 1 at `at[level]`, if the level has a column.
    Levels { at: Vec<Option<usize>> },
    /// The feature is hidden from the model.
    Omitted {},
}

/// How rows become vectors of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureEncoder {
    /// Names of the encoded columns: `age`, `age missing`, `sex=Female`.
    pub columns: Vec<String>,
    features: Vec<FeatureEncoding>,
}

impl FeatureEncoder {
    /// Learns means, deviations and levels from the training rows.
    ///
    /// `omit` names features that the model must not see.
    ///
    /// # Errors
    /// The training rows cannot be read.
    pub fn fit(
        features: &[Feature],
        omit: &[String],
        rows: &TrainingRows<'_>,
    ) -> Result<FeatureEncoder> {
        let tally = |(f, feature): (usize, &Feature)| {
            TrainingTally::new(f, (!is_number(feature)).then_some(feature.levels.len()))
        };
        let empty: Vec<TrainingTally> = features.iter().enumerate().map(tally).collect();
        let mut tallies = empty.clone();
        rows.fold(
            |group| {
                let mut part = empty.clone();
                part.iter_mut().for_each(|tally| tally.add(&group.rows, |_| true));
                part
            },
            |part| tallies.absorb(&part),
        )?;
        let moments = means_and_deviations(rows, &tallies, &|_, _| true)?;
        let mut encoder =
            FeatureEncoder { columns: Vec::new(), features: Vec::with_capacity(features.len()) };
        for (f, feature) in features.iter().enumerate() {
            let encoding = if omit.contains(&feature.name) {
                FeatureEncoding::Omitted {}
            } else if is_number(feature) {
                let has_missing = tallies[f].n_missing > 0 && tallies[f].n > 0;
                let (mean, sd) = moments[f];
                let at = (sd > 0.0).then(|| encoder.column(feature.name.clone()));
                let missing_at =
                    has_missing.then(|| encoder.column(format!("{} missing", feature.name)));
                FeatureEncoding::Number { mean, sd, at, missing_at }
            } else {
                encoder.levels(feature, &tallies[f].levels)
            };
            encoder.features.push(encoding);
        }
        Ok(encoder)
    }

    /// The largest number of columns of each feature: all its levels occur in training.
    ///
    /// A missing-indicator column of a number is not counted.
    pub fn columns_at_most(features: &[Feature], omit: &[String]) -> Vec<u64> {
        let n_columns = |feature: &Feature| match feature.levels.len() {
            _ if omit.contains(&feature.name) => 0,
            _ if is_number(feature) => 1,
            0 | 1 => 0,
            2 => 1,
            levels => levels as u64,
        };
        features.iter().map(n_columns).collect()
    }

    fn column(&mut self, name: String) -> usize {
        self.columns.push(name);
        self.columns.len() - 1
    }

    fn levels(&mut self, feature: &Feature, counts: &[u64]) -> FeatureEncoding {
        let present: Vec<usize> = (0..counts.len()).filter(|&level| counts[level] > 0).collect();
        let mut at = vec![None; counts.len()];
        let shown = match present.len() {
            0 | 1 => &[],
            2 => &present[1..],
            _ => &present[..],
        };
        for &level in shown {
            at[level] = Some(self.column(format!("{}={}", feature.name, feature.levels[level])));
        }
        FeatureEncoding::Levels { at }
    }

    /// Number of encoded columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The column of a number, and how far it moves when the number moves by 1.
    ///
    /// `None` where the model does not see the number, or it did not vary in training.
    pub fn number_column(&self, feature: usize) -> Option<(usize, f64)> {
        match self.features.get(feature)? {
            FeatureEncoding::Number { sd, at, .. } => at.map(|at| (at, 1.0 / sd)),
            FeatureEncoding::Levels { .. } | FeatureEncoding::Omitted {} => None,
        }
    }

    /// The indicator column of a level; `None` where the level has no column.
    pub fn level_column(&self, feature: usize, level: u32) -> Option<usize> {
        match self.features.get(feature)? {
            FeatureEncoding::Levels { at } => at.get(level as usize).copied().flatten(),
            FeatureEncoding::Number { .. } | FeatureEncoding::Omitted {} => None,
        }
    }

    /// For each encoded column whether it is 0 or 1 in every row.
    pub fn indicators(&self) -> Vec<bool> {
        let mut indicators = vec![true; self.width()];
        for encoding in &self.features {
            if let FeatureEncoding::Number { at: Some(at), .. } = encoding {
                indicators[*at] = false;
            }
        }
        indicators
    }

    /// Writes the non-zero entries of row `i` as (column, value).
    ///
    /// Features are in order, and columns ascend within a feature.
    pub fn encode(&self, rows: &FeatureRows, i: usize, entries: &mut Vec<(usize, f64)>) {
        entries.clear();
        self.each_entry(rows, i..i + 1, |_, column, value| entries.push((column, value)));
    }

    /// Calls `each` with the non-zero entries of some rows: the place of the row among them, the
    /// column and the value.
    ///
    /// Feature by feature; so those of one row are in the order of [`FeatureEncoder::encode`].
    pub(super) fn each_entry(
        &self,
        rows: &FeatureRows,
        range: Range<usize>,
        mut each: impl FnMut(usize, usize, f64),
    ) {
        for (f, encoding) in self.features.iter().enumerate() {
            match encoding {
                FeatureEncoding::Omitted {} => {}
                FeatureEncoding::Number { mean, sd, at, missing_at } => {
                    for (k, i) in range.clone().enumerate() {
                        let x = rows.columns[f].number(i);
                        match (at, missing_at) {
                            (_, Some(missing)) if x.is_nan() => each(k, *missing, 1.0),
                            (Some(at), _) if !x.is_nan() => each(k, *at, (x - mean) / sd),
                            _ => {}
                        }
                    }
                }
                FeatureEncoding::Levels { at } => {
                    let codes = rows.codes(f);
                    for (k, i) in range.clone().enumerate() {
                        let level = codes.get(i).copied().unwrap_or(MISSING);
                        if let Some(Some(at)) = at.get(level as usize) {
                            each(k, *at, 1.0);
                        }
                    }
                }
            }
        }
    }
}

/// Whether the encoding treats the feature as a number: ordered levels count by their position.
fn is_number(feature: &Feature) -> bool {
    matches!(
        feature.kind,
        FeatureKind::Continuous { .. } | FeatureKind::OrdinalNumber | FeatureKind::OrdinalLevel
    )
}

#[cfg(test)]
mod tests {
    use super::FeatureEncoder;
    use crate::data::rows::training::TrainingRows;
    use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows, MISSING};

    fn features() -> Vec<Feature> {
        vec![
            Feature::of("sex", FeatureKind::Sensitive, &["Male", "Female"]),
            Feature::of("age", FeatureKind::WHOLE, &[]),
            Feature::of("job", FeatureKind::Nominal, &["a", "b", "c", "d"]),
            Feature::of("grade", FeatureKind::OrdinalLevel, &["low", "mid", "high"]),
            Feature::of("same", FeatureKind::Nominal, &["x"]),
        ]
    }

    fn rows() -> FeatureRows {
        FeatureRows::of(vec![
            FeatureColumn::Code(vec![0, 1, 1, 0]),
            FeatureColumn::Number(vec![10.0, 30.0, f64::NAN, 20.0]),
            FeatureColumn::Code(vec![0, 1, 2, 0]),
            FeatureColumn::Code(vec![0, 2, 0, 2]),
            FeatureColumn::Code(vec![0, 0, 0, 0]),
        ])
    }

    #[test]
    fn columns_follow_the_rules_of_the_encoding() {
        let training = TrainingRows::in_memory(rows(), vec![true, false, true, false]);
        let encoder = FeatureEncoder::fit(&features(), &[], &training).expect("fits");
        // `d` never occurs in training, `same` has one level.
        assert_eq!(
            encoder.columns,
            ["sex=Female", "age", "age missing", "job=a", "job=b", "job=c", "grade"]
        );
        let mut entries = Vec::new();
        encoder.encode(&rows(), 1, &mut entries);
        // age: mean 20, population sd sqrt(200/3); grade: mean 1, sd 1.
        let age = 10.0 / (200.0_f64 / 3.0).sqrt();
        let near = |got: &[(usize, f64)], want: &[(usize, f64)]| {
            assert_eq!(got.len(), want.len(), "{got:?}");
            got.iter()
                .zip(want)
                .for_each(|(g, w)| assert!(g.0 == w.0 && (g.1 - w.1).abs() < 1e-12, "{got:?}"));
        };
        near(&entries, &[(0, 1.0), (1, age), (4, 1.0), (6, 1.0)]);
        encoder.encode(&rows(), 2, &mut entries);
        near(&entries, &[(0, 1.0), (2, 1.0), (5, 1.0), (6, -1.0)]);
        let mut unseen = rows().take(&[0]);
        unseen.columns[2] = FeatureColumn::Code(vec![3]);
        unseen.columns[0] = FeatureColumn::Code(vec![MISSING]);
        encoder.encode(&unseen, 0, &mut entries);
        near(&entries, &[(1, -age), (6, -1.0)]);
    }

    #[test]
    fn omitted_features_leave_no_column() {
        let training = TrainingRows::in_memory(rows(), vec![true, false, true, false]);
        let encoder =
            FeatureEncoder::fit(&features(), &["sex".to_owned(), "job".to_owned()], &training)
                .expect("fits");
        assert_eq!(encoder.columns, ["age", "age missing", "grade"]);
    }
}
