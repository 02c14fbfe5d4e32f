//! Reads the table `outcomes` row by row, a batch at a time: it may hold ten million rows.

use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};

use super::OUTCOMES;
use crate::error::{Error, Result};
use crate::table::file::{BATCH_ROWS, FileOwner, ParquetFile, check_version};

/// One counterfactual and the person it is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutcomeRow<'a> {
    /// Experiment and arm; empty for the plain audit.
    pub arm: &'a str,
    /// The model.
    pub model: &'a str,
    /// The counterfactual set.
    pub counterfactual: &'a str,
    /// The sensitive attribute.
    pub sensitive: &'a str,
    /// The person.
    pub row_key: u64,
    /// The person's group.
    pub from_group: &'a str,
    /// The group they are moved to.
    pub to_group: &'a str,
    /// Number of the counterfactual among those of the person and group.
    pub cf_index: i64,
    /// The label, where known.
    pub label: Option<bool>,
    /// The factual prediction, where there is a score.
    pub predicted: Option<bool>,
    /// The counterfactual prediction, where there is a score.
    pub predicted_cf: Option<bool>,
    /// The factual score.
    pub score: Option<f64>,
    /// The counterfactual score.
    pub score_cf: Option<f64>,
    /// What the person weighs in whole units; none where nobody has a weight.
    pub weight: Option<u64>,
}

/// Hands every row of the file to `each`, in order. In a file of version 1 nobody has a weight.
///
/// # Errors
/// The file cannot be read, is no table of outcomes, or is one of a later version.
pub fn read_outcomes(path: &Path, mut each: impl FnMut(OutcomeRow<'_>)) -> Result<()> {
    let file = ParquetFile::open(path, FileOwner::Program)?;
    check_version(&file, &OUTCOMES)?;
    for group in 0..file.n_groups() {
        for batch in file.batches(group, None, None, BATCH_ROWS)? {
            let batch = batch?;
            rows(&batch, &mut each).ok_or_else(|| {
                Error::operator(
                    "read",
                    path,
                    "it is no table of outcomes: a column is missing or of another type",
                    "run the job again; the file was changed after it was written",
                )
            })?;
        }
    }
    Ok(())
}

/// None where the batch lacks a column.
fn rows(batch: &RecordBatch, each: &mut impl FnMut(OutcomeRow<'_>)) -> Option<()> {
    let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let whole = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
    let real = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Float64Type>();
    let (arm, model, set, sensitive) =
        (text("arm")?, text("model")?, text("counterfactual")?, text("sensitive")?);
    let (from, to) = (text("from_group")?, text("to_group")?);
    let (index, label, predicted, predicted_cf) =
        (whole("cf_index")?, whole("label")?, whole("predicted")?, whole("predicted_cf")?);
    let (score, score_cf) = (real("score")?, real("score_cf")?);
    let weight = whole("weight");
    let key = batch.column_by_name("row_key")?.as_primitive_opt::<UInt64Type>()?;
    let yes = |column: &arrow::array::Int64Array, i: usize| {
        column.is_valid(i).then(|| column.value(i) == 1)
    };
    let number =
        |column: &arrow::array::Float64Array, i: usize| column.is_valid(i).then(|| column.value(i));
    for i in 0..batch.num_rows() {
        each(OutcomeRow {
            arm: arm.value(i),
            model: model.value(i),
            counterfactual: set.value(i),
            sensitive: sensitive.value(i),
            row_key: key.value(i),
            from_group: from.value(i),
            to_group: to.value(i),
            cf_index: index.value(i),
            label: yes(label, i),
            predicted: yes(predicted, i),
            predicted_cf: yes(predicted_cf, i),
            score: number(score, i),
            score_cf: number(score_cf, i),
            weight: weight.filter(|w| w.is_valid(i)).and_then(|w| u64::try_from(w.value(i)).ok()),
        });
    }
    Some(())
}
