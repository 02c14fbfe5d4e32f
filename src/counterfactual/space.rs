//! The z-space of a reference: rows as standardised numbers, for distances between rows.
//!
//! A continuous or ordinal variable gives one column, a binary one the indicator of its second
//! level, any other categorical one an indicator of each level. Columns are standardised with mean
//! and population standard deviation of the non-missing values of all reference rows; a missing
//! value is 0 after that; columns without variation are left out.
//! Choice: mean and deviation of a number with more than 65,536 distinct values in a stratum are
//! those of its cells ([`crate::num::ecdf::ValueTally`]), whose width is negligible for a distance.

use serde::{Deserialize, Serialize};

use crate::counterfactual::conditional::ReferenceCounts;
use crate::counterfactual::variable::{StrategyVariable, in_kinds};
use crate::data::FeatureRows;

/// One standardised column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ZColumn {
    /// The mean of the reference.
    pub mean: f64,
    /// Its population standard deviation; 0 = the column is left out.
    pub sd: f64,
}

impl ZColumn {
    /// The standardised value; 0 for a missing value and for a column that is left out.
    pub(crate) fn z(self, x: f64) -> f64 {
        if x.is_nan() || self.sd <= 0.0 { 0.0 } else { (x - self.mean) / self.sd }
    }
}

/// The columns of one variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SpaceAxis {
    /// The column of a continuous or ordinal variable.
    Number(ZColumn),
    /// The columns of a categorical variable, one per level.
    ///
    /// The first level of a binary variable has none.
    Levels(Vec<ZColumn>),
}

/// The z-space of a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReferenceSpace(pub Vec<SpaceAxis>);

impl ReferenceSpace {
    /// The space of all rows of these counts, over all groups and classes.
    pub(crate) fn from_counts(variables: &[StrategyVariable], counts: &ReferenceCounts) -> Self {
        let all = counts.merged_where(|_| true);
        let axis = |(j, variable): (usize, &StrategyVariable)| match variable.levels() {
            None => {
                let (mean, sd) = all.as_ref().map_or((0.0, 0.0), |all| all.values[j].moments());
                SpaceAxis::Number(ZColumn { mean, sd })
            }
            Some(known) => {
                let counts = all.as_ref().map_or(&[][..], |all| &all.levels[j]);
                let n: u64 = counts.iter().sum();
                let column = |level: usize| {
                    let mean = if n == 0 { 0.0 } else { counts[level] as f64 / n as f64 };
                    let shown = level > 0 || !known.is_binary();
                    ZColumn { mean, sd: if shown { (mean * (1.0 - mean)).sqrt() } else { 0.0 } }
                };
                SpaceAxis::Levels((0..counts.len()).map(column).collect())
            }
        };
        ReferenceSpace(in_kinds(variables).map(axis).collect())
    }

    /// Number of columns that are not left out.
    pub(crate) fn width(&self) -> usize {
        let columns = self.0.iter().flat_map(|axis| match axis {
            SpaceAxis::Number(column) => std::slice::from_ref(column),
            SpaceAxis::Levels(columns) => columns,
        });
        columns.filter(|column| column.sd > 0.0).count()
    }

    /// Writes the row as a vector: one number per column that is not left out.
    pub(crate) fn vector(
        &self,
        variables: &[StrategyVariable],
        rows: &FeatureRows,
        i: usize,
        out: &mut Vec<f64>,
    ) {
        out.clear();
        for (variable, axis) in variables.iter().zip(&self.0) {
            match axis {
                SpaceAxis::Number(column) if column.sd > 0.0 => {
                    out.push(column.z(variable.number(rows, i)))
                }
                SpaceAxis::Number(_) => {}
                SpaceAxis::Levels(columns) => {
                    let level = variable.level(rows, i) as usize;
                    let known = level < columns.len();
                    let indicator =
                        |l: usize| if known { f64::from(u8::from(l == level)) } else { f64::NAN };
                    let shown = columns.iter().enumerate().filter(|(_, c)| c.sd > 0.0);
                    out.extend(shown.map(|(l, column)| column.z(indicator(l))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReferenceSpace;
    use crate::counterfactual::SampleBatch;
    use crate::counterfactual::counting::counts_of;
    use crate::counterfactual::variable::{CategoryLevels, StrategyVariable, VariableScale};
    use crate::data::{FeatureColumn, FeatureRows, MISSING};

    /// x 1, 3, missing: mean 2, sd 1. Binary 0, 1, 1: mean 2/3. Three levels 0, 0, missing: the
    /// columns do not vary.
    #[test]
    fn vectors_of_rows() {
        let levels =
            |n| VariableScale::Categorical(CategoryLevels { n, ..CategoryLevels::default() });
        let variable = |name: &str, column, scale| StrategyVariable {
            name: name.into(),
            columns: vec![column],
            scale,
        };
        let variables = [
            variable("x", 0, VariableScale::Continuous { integer: false }),
            variable("b", 1, levels(2)),
            variable("n", 2, levels(3)),
            variable("o", 3, levels(3)),
        ];
        let columns = vec![
            FeatureColumn::Number(vec![1.0, 3.0, f64::NAN]),
            FeatureColumn::Code(vec![0, 1, 1]),
            FeatureColumn::Code(vec![0, 0, MISSING]),
            FeatureColumn::Code(vec![2, MISSING, 0]),
        ];
        let rows = FeatureRows::of(columns);
        let space = ReferenceSpace::from_counts(
            &variables,
            &counts_of(
                &variables,
                &SampleBatch { keys: &[], rows: &rows, groups: &[0; 3], classes: &[None; 3] },
            ),
        );
        assert_eq!(space.width(), 4);
        let check = |i, expected: &[f64]| {
            let mut found = Vec::new();
            space.vector(&variables, &rows, i, &mut found);
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(expected).all(|(z, e)| (z - e).abs() < 1e-12), "{found:?}");
        };
        let s = 0.5_f64.sqrt();
        check(0, &[-1.0, -2.0 * s, -1.0, 1.0]);
        check(1, &[1.0, s, 0.0, 0.0]);
        check(2, &[0.0, s, 1.0, -1.0]);
    }
}
