//! Training rows as numbers: z-scored columns and indicators of levels; finds rows it cannot use.
//!
//! As in the public code of "Counterfactual Fairness with Graph Uncertainty", a number becomes (x -
//! mean) / sd with mean and population standard deviation of the training rows; a variable with two
//! levels becomes one indicator of the second; one with K > 2 levels becomes K indicators, none
//! dropped. Levels that no training row has get no column; a row with such a level has all
//! indicators 0. This is the
//! encoding of the models trained here (`model::encode`), so a shift of an encoded column means the
//! same on both sides; ordered levels are numbers, too. Choice: rows in which a variable of the
//! graph is missing are an error or are left out, never filled. Values of the sensitive column
//! other than its two groups count as missing.
//! Cost: three passes over the rows.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causal::nodes::MAX_NODES;
use crate::data::rows::column_moments::{TrainingTally, means_and_deviations};
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::data::source::list_words;
use crate::data::{FeatureRows, MISSING};
use crate::error::{Fault, Result};
use crate::num::additive::Additive;
use crate::num::range::ValueRange;

/// The code of the fault of columns with one value.
pub(crate) const CONSTANT_COLUMN: &str = "constant-column";

/// A variable of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphVariable {
    /// Its name.
    pub name: String,
    /// Position of its column among those of the rows.
    pub feature: usize,
    /// Its levels, as codes of the column, in their order.
    ///
    /// `None` where the column is a number, or codes count as numbers.
    pub levels: Option<Vec<u32>>,
}

/// Training rows without a value for every variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MissingRows")]
pub enum MissingRows {
    /// End the run.
    #[default]
    Error,
    /// They are left out: nothing is learnt from them, and they get no counterfactual.
    Drop,
}

/// How one variable becomes encoded columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum VariableForm {
    /// (x - mean) / sd.
    Number {
        /// Mean of the training rows.
        mean: f64,
        /// The population standard deviation, above 0.
        sd: f64,
        /// The smallest training value.
        smallest: f64,
        /// The largest.
        largest: f64,
    },
    /// Indicators of levels.
    Levels {
        /// Codes that are values; all other codes count as missing.
        known: Vec<u32>,
        /// Codes that training rows have, in the order of the levels: at least two.
        seen: Vec<u32>,
    },
}

/// One variable with its encoded columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncodedVariable {
    /// Name of the variable.
    pub name: String,
    /// Position of its column among those of the rows.
    pub feature: usize,
    /// Its encoded columns.
    pub columns: Range<usize>,
    /// How its values become these columns.
    pub form: VariableForm,
}

/// How rows become vectors of numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphEncoding {
    /// The variables of the graph, in its order.
    pub variables: Vec<EncodedVariable>,
}

/// Which training rows are used, block by block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingBlocks {
    /// The number of rows of each block in each stratum; one number without strata.
    pub sizes: Vec<Vec<u64>>,
    /// The number of blocks before each row group.
    first_block: Vec<usize>,
    /// The variable whose levels are the strata.
    strata: Option<usize>,
    /// Rows left out because a variable is missing.
    pub dropped: u64,
}

/// The content of a row group.
struct GroupCounts {
    tallies: Vec<TrainingTally>,
    /// The number of rows without a value, for each variable.
    missing: Vec<u64>,
    /// The used rows of each block and stratum.
    sizes: Vec<Vec<u64>>,
    /// The rows left out.
    dropped: u64,
}

/// The error about columns with one value, which no graph can contain; none without such columns.
pub(crate) fn constant_columns(columns: &[&str]) -> Option<Fault> {
    let first = columns.first()?;
    let list = list_words(columns.iter().map(|column| format!("`{column}`")), columns.len());
    let what = format!(
        "all training rows have the same value in {list}, so no graph can contain {}",
        if columns.len() == 1 { "it" } else { "them" }
    );
    let hint = "leave them out of the features, or name the other columns under `variables` of the \
                graph set";
    Some(Fault::new(CONSTANT_COLUMN, what).in_column(*first).hint(hint))
}

impl GraphEncoding {
    /// Learns means, deviations and levels from the training rows, and which rows are used.
    ///
    /// `strata` names a variable with levels whose shares every bootstrap keeps.
    ///
    /// # Errors
    /// The rows cannot be read; more than [`MAX_NODES`] variables; a value is missing where none
    /// may be; no row is left; a variable has one value only.
    pub fn fit(
        variables: &[GraphVariable],
        rows: &TrainingRows<'_>,
        missing: MissingRows,
        strata: Option<usize>,
    ) -> Result<(GraphEncoding, TrainingBlocks)> {
        if variables.len() > MAX_NODES {
            let what = format!(
                "a graph of {} variables; at most {MAX_NODES} are possible",
                variables.len()
            );
            return Fault::new("too-many-variables", what)
                .fail("leave out variables that are not needed");
        }
        let n_strata = strata.and_then(|v| variables[v].levels.as_ref()).map_or(1, Vec::len);
        let mut blocks =
            TrainingBlocks { sizes: Vec::new(), first_block: Vec::new(), strata, dropped: 0 };
        let mut tallies: Vec<TrainingTally> = variables.iter().map(GraphVariable::tally).collect();
        let mut lacking = vec![0; variables.len()];
        rows.fold(
            |group| count_group(variables, group, strata, n_strata),
            |part| {
                blocks.first_block.push(blocks.sizes.len());
                blocks.sizes.extend(part.sizes);
                blocks.dropped += part.dropped;
                lacking.absorb(&part.missing);
                tallies.absorb(&part.tallies);
            },
        )?;
        if let (MissingRows::Error, Some(v)) = (missing, lacking.iter().position(|&n| n > 0)) {
            let what = format!("{} training rows lack a value that the graph needs", lacking[v]);
            return Fault::new("missing-value", what).in_column(&variables[v].name).fail(
                "write `missing: drop` in the set, exclude such rows by `data.keep`, or \
                     leave the column out of the graph",
            );
        }
        let n: u64 = blocks.sizes.iter().flatten().sum();
        if n == 0 {
            return Err(Fault::new(
                "no-rows",
                "no training row has a value for every variable of the graph",
            )
            .into());
        }
        let is_used = |rows: &FeatureRows, i: usize| variables.iter().all(|v| v.is_known(rows, i));
        let moments = means_and_deviations(rows, &tallies, &is_used)?;
        let mut encoding = GraphEncoding { variables: Vec::new() };
        let mut constant: Vec<&str> = Vec::new();
        for (v, variable) in variables.iter().enumerate() {
            let tally = &tallies[v];
            let form = match &variable.levels {
                None => {
                    let (mean, sd) = moments[v];
                    tally.range.filter(|_| sd > 0.0).map(|ValueRange(smallest, largest)| {
                        VariableForm::Number { mean, sd, smallest, largest }
                    })
                }
                Some(known) => {
                    let is_seen = |&code: &u32| tally.levels[code as usize] > 0;
                    let seen: Vec<u32> = known.iter().copied().filter(is_seen).collect();
                    (seen.len() > 1).then(|| VariableForm::Levels { known: known.clone(), seen })
                }
            };
            let Some(form) = form else {
                constant.push(&variable.name);
                continue;
            };
            let start = encoding.width();
            let width = match &form {
                VariableForm::Levels { seen, .. } if seen.len() > 2 => seen.len(),
                _ => 1,
            };
            encoding.variables.push(EncodedVariable {
                name: variable.name.clone(),
                feature: variable.feature,
                columns: start..start + width,
                form,
            });
        }
        if let Some(fault) = constant_columns(&constant) {
            return Err(fault.into());
        }
        Ok((encoding, blocks))
    }

    /// Number of encoded columns.
    pub fn width(&self) -> usize {
        self.variables.last().map_or(0, |last| last.columns.end)
    }

    /// Writes the non-zero entries of row `i` as (column, value), columns ascending.
    ///
    /// A missing value and a level that no training row has leave their columns at 0, which for a
    /// number is the mean.
    pub fn encode(&self, rows: &FeatureRows, i: usize, entries: &mut Vec<(usize, f64)>) {
        entries.clear();
        for variable in &self.variables {
            variable.encode(rows, i, entries);
        }
    }

    /// Whether row `i` has a value for every variable.
    pub fn is_complete(&self, rows: &FeatureRows, i: usize) -> bool {
        self.variables.iter().all(|v| v.is_known(rows, i))
    }

    /// The value of an encoded column in its own unit: mean + sd z for a number, z for an
    /// indicator.
    #[cfg(test)]
    pub(crate) fn decode(&self, column: usize, z: f64) -> f64 {
        match self.variables.iter().find(|v| v.columns.contains(&column)).map(|v| &v.form) {
            Some(VariableForm::Number { mean, sd, .. }) => z * sd + mean,
            _ => z,
        }
    }
}

impl EncodedVariable {
    /// The code whose indicator each encoded column is; `None` for a number.
    pub fn indicator_levels(&self) -> Option<&[u32]> {
        match &self.form {
            VariableForm::Number { .. } => None,
            VariableForm::Levels { seen, .. } if seen.len() > 2 => Some(seen),
            VariableForm::Levels { seen, .. } => Some(&seen[1..]),
        }
    }

    /// The levels that training rows have; none of a number.
    pub(crate) fn seen(&self) -> &[u32] {
        match &self.form {
            VariableForm::Number { .. } => &[],
            VariableForm::Levels { seen, .. } => seen,
        }
    }

    /// The position of a level among those of the training rows; none if no training row has it.
    pub(crate) fn position_of(&self, code: u32) -> Option<usize> {
        self.seen().iter().position(|&level| level == code)
    }

    /// Adds the non-zero entries of row `i`.
    fn encode(&self, rows: &FeatureRows, i: usize, entries: &mut Vec<(usize, f64)>) {
        match &self.form {
            VariableForm::Number { mean, sd, .. } => {
                let x = rows.columns[self.feature].number(i);
                if !x.is_nan() {
                    entries.push((self.columns.start, (x - mean) / sd));
                }
            }
            VariableForm::Levels { .. } => {
                let code = rows.codes(self.feature).get(i).copied().unwrap_or(MISSING);
                let mut levels = self.columns.clone().zip(self.indicator_levels().unwrap_or(&[]));
                let own = levels.find(|(_, level)| **level == code);
                entries.extend(own.map(|(column, _)| (column, 1.0)));
            }
        }
    }

    /// Whether row `i` has a value.
    fn is_known(&self, rows: &FeatureRows, i: usize) -> bool {
        match &self.form {
            VariableForm::Number { .. } => !rows.columns[self.feature].number(i).is_nan(),
            VariableForm::Levels { known, .. } => {
                rows.codes(self.feature).get(i).is_some_and(|code| known.contains(code))
            }
        }
    }
}

impl TrainingBlocks {
    /// The blocks of a row group in order: the block's number, its used rows, and their strata.
    ///
    /// Rows are positions in the group.
    pub(crate) fn group_blocks(
        &self,
        encoding: &GraphEncoding,
        group: &TrainingBatch,
    ) -> Vec<(usize, Vec<usize>, Vec<usize>)> {
        let known = |&i: &usize| encoding.is_complete(&group.rows, i);
        let stratum = |i: usize| match self.strata.map(|v| &encoding.variables[v]) {
            Some(EncodedVariable { feature, form: VariableForm::Levels { known, .. }, .. }) => {
                known.iter().position(|&l| l == group.rows.codes(*feature)[i]).unwrap_or(0)
            }
            _ => 0,
        };
        let first = self.first_block[group.number];
        let block = |(k, range): (usize, &Range<usize>)| {
            let members: Vec<usize> = range.clone().filter(known).collect();
            let strata = members.iter().map(|&i| stratum(i)).collect();
            (first + k, members, strata)
        };
        group.blocks.iter().enumerate().map(block).collect()
    }
}

impl GraphVariable {
    /// An empty column of the variable.
    fn tally(&self) -> TrainingTally {
        let codes = |levels: &Vec<u32>| levels.iter().max().map_or(0, |&code| code as usize + 1);
        TrainingTally::new(self.feature, self.levels.as_ref().map(codes))
    }

    /// Whether row `i` has a value.
    fn is_known(&self, rows: &FeatureRows, i: usize) -> bool {
        match &self.levels {
            None => !rows.columns[self.feature].number(i).is_nan(),
            Some(_) => self.level(rows, i).is_some(),
        }
    }

    /// The position of the row's level; `None` where the value is missing.
    fn level(&self, rows: &FeatureRows, i: usize) -> Option<usize> {
        let code = rows.codes(self.feature).get(i)?;
        self.levels.as_ref()?.iter().position(|level| level == code)
    }
}

fn count_group(
    variables: &[GraphVariable],
    group: &TrainingBatch,
    strata: Option<usize>,
    n_strata: usize,
) -> GroupCounts {
    let mut counts = GroupCounts {
        tallies: variables.iter().map(GraphVariable::tally).collect(),
        missing: vec![0; variables.len()],
        sizes: vec![vec![0; n_strata]; group.blocks.len()],
        dropped: 0,
    };
    let mut is_used = vec![true; group.rows.n];
    for (block, size) in group.blocks.iter().zip(&mut counts.sizes) {
        for i in block.clone() {
            for (variable, missing) in variables.iter().zip(&mut counts.missing) {
                if !variable.is_known(&group.rows, i) {
                    *missing += 1;
                    is_used[i] = false;
                }
            }
            if is_used[i] {
                size[strata.and_then(|v| variables[v].level(&group.rows, i)).unwrap_or(0)] += 1;
            } else {
                counts.dropped += 1;
            }
        }
    }
    counts.tallies.iter_mut().for_each(|tally| tally.add(&group.rows, |i| is_used[i]));
    counts
}

#[cfg(test)]
mod tests {
    use super::{GraphEncoding, GraphVariable, MissingRows, VariableForm};
    use crate::data::rows::training::TrainingRows;
    use crate::data::{FeatureColumn, FeatureRows, MISSING};
    use crate::tests::Says;

    fn variables() -> Vec<GraphVariable> {
        let variable = |name: &str, feature, levels: Option<&[u32]>| GraphVariable {
            name: name.to_owned(),
            feature,
            levels: levels.map(<[u32]>::to_vec),
        };
        // The groups of `sex` are declared as code 1, then code 0; code 2 is not a group.
        vec![
            variable("sex", 0, Some(&[1, 0])),
            variable("age", 1, None),
            variable("job", 2, Some(&[0, 1, 2, 3])),
        ]
    }

    fn rows() -> FeatureRows {
        FeatureRows::of(vec![
            FeatureColumn::Code(vec![0, 1, 1, 0, 2, 0]),
            FeatureColumn::Number(vec![10.0, 30.0, 20.0, 40.0, 99.0, f64::NAN]),
            FeatureColumn::Code(vec![0, 1, 3, 0, 0, MISSING]),
        ])
    }

    fn fit(
        rows: FeatureRows,
        missing: MissingRows,
    ) -> Result<(GraphEncoding, super::TrainingBlocks), String> {
        let n = rows.n;
        GraphEncoding::fit(
            &variables(),
            &TrainingRows::in_memory(rows, vec![true; n]),
            missing,
            Some(0),
        )
        .map_err(|e| e.to_string())
    }

    #[test]
    fn columns_follow_the_rules() {
        let (encoding, blocks) = fit(rows(), MissingRows::Drop).expect("fits");
        assert_eq!((encoding.width(), blocks.dropped, blocks.sizes), (5, 2, vec![vec![2, 2]]));
        let sd = 125.0_f64.sqrt();
        assert_eq!(
            encoding.variables[1].form,
            VariableForm::Number { mean: 25.0, sd, smallest: 10.0, largest: 40.0 }
        );
        assert_eq!(encoding.variables[0].indicator_levels(), Some(&[0][..]));
        assert_eq!(encoding.variables[2].indicator_levels(), Some(&[0, 1, 3][..]));
        let mut entries = Vec::new();
        encoding.encode(&rows(), 0, &mut entries);
        assert_eq!(entries, [(0, 1.0), (1, -15.0 / sd), (2, 1.0)]);
        encoding.encode(&rows(), 2, &mut entries);
        assert_eq!(entries, [(1, -5.0 / sd), (4, 1.0)]);
        assert!((encoding.decode(1, -5.0 / sd) - 20.0).abs() < 1e-14);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let error = fit(rows(), MissingRows::Error).expect_err("missing");
        error.says(&["missing-value", "`sex`"]);
        let mut same = rows().take(&[0, 3]);
        same.columns[0] = FeatureColumn::Code(vec![0, 1]);
        let error = fit(same, MissingRows::Drop).expect_err("one job");
        error.says(&["constant-column", "`job`"]);
        fit(rows().take(&[4, 5]), MissingRows::Drop).expect_err("none").says(&["no-rows"]);
    }
}
