//! Generated rows: columns drawn one after the other in causal order, each by its mechanism,
//! reproducible only from the seed.
//!
//! Column `j` of row `i` is drawn from `h(seed, i, j)`: bernoulli is 1 where `u01(h) < p`; levels
//! take the first whose cumulated probability exceeds `u01(h)`; logit is a bernoulli with
//! `p = 1 / (1 + exp(-linear_predictor))`; linear is
//! `linear_predictor + sd * sqrt(-2 ln(1 - u01(h))) * cos(2 pi u01(sm(h)))`, where
//! `linear_predictor = intercept + sum of effects`. Choice: Box-Muller with the second uniform from
//! `sm(h)`, as it needs nothing but `ln` and `cos`, for which libm gives the same bits everywhere.
//! Flags are integers 0 and 1, levels text, linear columns floats.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Fault, Result};
use crate::exec::pieces::RowBatching;
use crate::nearest::nearest;
use crate::num::seed::{h, sm, u01};
use crate::param::{ColumnName, Count, Finite, Fraction, Word};
use crate::table::file::GroupWriter;

/// Rows made by a seeded generator, column after column in the order written here (causal order).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntheticBlock {
    /// Number of rows.
    pub rows: Count,
    /// The columns by name, causes before effects.
    #[schemars(extend("x-least" = "declare at least the sensitive column and one feature"))]
    pub columns: IndexMap<ColumnName, Mechanism>,
}

/// The mechanism of one generated column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// 1 with this probability, else 0.
    Bernoulli(Fraction),
    /// Levels with their probabilities, which sum to 1.
    Levels(
        #[schemars(extend("x-least" = "name levels with their probabilities, such as \
            `{a: 0.4, b: 0.6}`"))]
        IndexMap<Word, Fraction>,
    ),
    /// A number: intercept, plus coefficient times each parent, plus noise.
    Linear(LinearMechanism),
    /// 1 with the probability of a logistic model of the parents, else 0.
    Logit(LogitMechanism),
}

/// A number: intercept, plus coefficient times each parent, plus noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearMechanism {
    /// The value without any effect.
    pub intercept: Finite,
    /// Coefficients by parent: `PARENT: c` for a number, `"PARENT=level": c` for a level.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub effects: IndexMap<String, Finite>,
    /// The random term.
    pub noise: MechanismNoise,
}

/// The random term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MechanismNoise {
    /// Normal with mean 0.
    Normal(NormalNoise),
}

/// Normal noise with mean 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NormalNoise {
    /// Its standard deviation, 0 or above.
    #[schemars(extend("minimum" = 0, "x-range" = "a standard deviation of 0 or more"))]
    pub sd: Finite,
}

/// 1 with the probability of a logistic model of the parents, else 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogitMechanism {
    /// The log odds without any effect.
    pub intercept: Finite,
    /// Coefficients by parent: `PARENT: c` for a number, `"PARENT=level": c` for a level.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub effects: IndexMap<String, Finite>,
}

/// Writes the rows to `path` in row groups of `batch_rows`.
///
/// # Errors
/// An effect names no earlier column or no level of it; a number that is not finite; `path` cannot
/// be written.
pub(crate) fn generate(
    params: &SyntheticBlock,
    seed: u64,
    path: &Path,
    RowBatching { batch_rows, workers, watch }: RowBatching<'_>,
) -> Result<()> {
    let columns = compile(params)?;
    let fields: Vec<Field> =
        columns.iter().map(|c| Field::new(c.name, c.data_type(), false)).collect();
    let (encoder, mut writer) = GroupWriter::create(path, &Schema::new(fields), &[])?;
    let (n, step) = (params.rows.get(), batch_rows.max(1) as u64);
    let groups = usize::try_from(n.div_ceil(step))
        .map_err(|_| Fault::new("too-many-rows", format!("`{n}` rows are too many")))?;
    let encode = |group: usize| {
        (watch.check)()?;
        let first = group as u64 * step;
        encoder.encode(&rows(&columns, seed, first, step.min(n - first))?)
    };
    workers.map(groups, encode, |group, encoded| {
        writer.append(encoded)?;
        (watch.progress)(step.min(n - group as u64 * step));
        Ok(())
    })?;
    writer.finish()
}

/// A generated column.
struct SyntheticColumn<'a> {
    name: &'a str,
    mechanism: &'a Mechanism,
    /// Of a mechanism with parents.
    eta: Option<LinearPredictor>,
}

impl SyntheticColumn<'_> {
    fn data_type(&self) -> DataType {
        match self.mechanism {
            Mechanism::Bernoulli(_) | Mechanism::Logit(_) => DataType::Int64,
            Mechanism::Levels(_) => DataType::Utf8,
            Mechanism::Linear(_) => DataType::Float64,
        }
    }
}

/// `intercept + sum of effects`, added in the order of the job.
struct LinearPredictor {
    intercept: f64,
    terms: Vec<PredictorTerm>,
}

struct PredictorTerm {
    parent: usize,
    /// The level that counts as 1, for a parent with levels.
    level: Option<u32>,
    coefficient: f64,
}

impl LinearPredictor {
    /// Its value in a row, of the columns drawn before.
    fn evaluate(&self, drawn: &[Vec<f64>], row: usize) -> f64 {
        self.terms.iter().fold(self.intercept, |sum, term| {
            let value = drawn[term.parent][row];
            let is_level = |level: u32| f64::from(u8::from(value == f64::from(level)));
            sum + term.coefficient * term.level.map_or(value, is_level)
        })
    }
}

fn compile(params: &SyntheticBlock) -> Result<Vec<SyntheticColumn<'_>>> {
    let mut columns: Vec<SyntheticColumn<'_>> = Vec::new();
    for (name, mechanism) in &params.columns {
        let parents = match mechanism {
            Mechanism::Bernoulli(_) | Mechanism::Levels(_) => None,
            Mechanism::Linear(of) => Some((of.intercept, &of.effects)),
            Mechanism::Logit(of) => Some((of.intercept, &of.effects)),
        };
        let eta = parents
            .map(|(intercept, effects)| linear_predictor(name, intercept, effects, &columns));
        columns.push(SyntheticColumn { name: name.as_str(), mechanism, eta: eta.transpose()? });
    }
    Ok(columns)
}

fn linear_predictor(
    child: &ColumnName,
    intercept: Finite,
    effects: &IndexMap<String, Finite>,
    earlier: &[SyntheticColumn<'_>],
) -> Result<LinearPredictor> {
    let by_name: HashMap<&str, usize> =
        earlier.iter().enumerate().map(|(i, c)| (c.name, i)).collect();
    let mut terms = Vec::with_capacity(effects.len());
    for (text, coefficient) in effects {
        let wrong = |what: String| {
            Fault::new("unknown-parent", format!("effect `{text}` on column `{child}`: {what}"))
        };
        // A column may have a `=` in its name, so the name as a whole comes first.
        let (name, level) = match by_name.contains_key(text.as_str()) {
            true => (text.as_str(), None),
            false => text
                .split_once('=')
                .map_or((text.as_str(), None), |(name, level)| (name, Some(level))),
        };
        let Some(&parent) = by_name.get(name) else {
            let known: Vec<&str> = earlier.iter().map(|c| c.name).collect();
            let near = nearest(name, known.iter().copied())
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return wrong(format!("no column `{name}` is drawn before it"))
                .fail(format!("write causes before effects{near}"));
        };
        let level = match (earlier[parent].mechanism, level) {
            (Mechanism::Levels(levels), Some(level)) => {
                match levels.keys().position(|known| known.as_str() == level) {
                    Some(position) => u32::try_from(position).ok(),
                    None => {
                        let known: Vec<&str> = levels.keys().map(Word::as_str).collect();
                        return wrong(format!("`{name}` has no level `{level}`"))
                            .fail(format!("its levels are `{}`", known.join("`, `")));
                    }
                }
            }
            (Mechanism::Levels(_), None) => {
                return wrong(format!("`{name}` has levels"))
                    .fail(format!("write `\"{name}=LEVEL\"`"));
            }
            (_, Some(_)) => {
                return wrong(format!("`{name}` is a number")).fail(format!("write `{name}`"));
            }
            (_, None) => None,
        };
        terms.push(PredictorTerm { parent, level, coefficient: coefficient.get() });
    }
    Ok(LinearPredictor { intercept: intercept.get(), terms })
}

fn rows(columns: &[SyntheticColumn<'_>], seed: u64, first: u64, n: u64) -> Result<RecordBatch> {
    // By column the value of each row: flags are 0 or 1, levels their positions.
    let mut drawn: Vec<Vec<f64>> = Vec::with_capacity(columns.len());
    for (j, column) in columns.iter().enumerate() {
        let flag = |hash, p| f64::from(u8::from(u01(hash) < p));
        let eta = |row| column.eta.as_ref().map_or(0.0, |eta| eta.evaluate(&drawn, row));
        let cumulated = match column.mechanism {
            Mechanism::Levels(levels) => cumulated(levels.values()),
            _ => Vec::new(),
        };
        let draw = |(row, hash)| match column.mechanism {
            Mechanism::Bernoulli(p) => flag(hash, p.get()),
            Mechanism::Levels(_) => f64::from(level(&cumulated, u01(hash))),
            Mechanism::Linear(LinearMechanism { noise: MechanismNoise::Normal(of), .. }) => {
                eta(row) + of.sd.get() * normal(hash)
            }
            Mechanism::Logit(_) => flag(hash, 1.0 / (1.0 + libm::exp(-eta(row)))),
        };
        let hashes = (first..first + n).map(|row| h(seed, row, j as u64));
        let values = hashes.enumerate().map(draw).collect();
        drawn.push(values);
    }
    let arrays = columns.iter().zip(drawn).map(|(column, drawn)| -> Result<(&str, ArrayRef)> {
        let array: ArrayRef = match column.mechanism {
            Mechanism::Bernoulli(_) | Mechanism::Logit(_) => {
                Arc::new(Int64Array::from_iter_values(drawn.iter().map(|&flag| flag as i64)))
            }
            Mechanism::Levels(levels) => {
                let texts: Vec<&str> = levels.keys().map(Word::as_str).collect();
                let drawn = drawn.iter().map(|&position| texts[position as usize]);
                Arc::new(StringArray::from_iter_values(drawn))
            }
            Mechanism::Linear(_) => {
                if let Some(i) = drawn.iter().position(|value| !value.is_finite()) {
                    let what = format!("the generated column `{}` is not finite", column.name);
                    return Fault::new("infinite-value", what)
                        .at_row(format!("row {}", first + i as u64))
                        .in_column(column.name)
                        .fail("choose smaller coefficients");
                }
                Arc::new(Float64Array::from(drawn))
            }
        };
        Ok((column.name, array))
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    RecordBatch::try_from_iter(arrays).map_err(|e| {
        Error::from(Fault::new("no-columns", format!("the generated rows have no columns: {e}")))
    })
}

/// The sums of probabilities up to each.
fn cumulated<'p>(probabilities: impl Iterator<Item = &'p Fraction>) -> Vec<f64> {
    let sums = probabilities.scan(0.0, |sum, p| {
        *sum += p.get();
        Some(*sum)
    });
    sums.collect()
}

/// Position of the level whose interval contains `u`.
///
/// Rounding may leave the last cumulative probability below 1: the last level takes the rest.
fn level(cumulated: &[f64], u: f64) -> u32 {
    let position = cumulated.partition_point(|&c| c <= u).min(cumulated.len().saturating_sub(1));
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// A standard normal number from one hash.
fn normal(hash: u64) -> f64 {
    let (u, v) = (u01(hash), u01(sm(hash)));
    libm::sqrt(-2.0 * libm::log(1.0 - u)) * libm::cos(2.0 * std::f64::consts::PI * v)
}
