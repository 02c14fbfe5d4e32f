//! Scores from a program of the user's: an Arrow IPC stream, or a Parquet file, with one score per
//! row in the order of the rows.
//!
//! The stream has exactly one column, `score`, of Float64 or Float32, or one for each of several
//! classes under the names that the job gives them, in batches of any size that hold no more than
//! the scores that are asked for and 2^24. Scores of a row are passed on one after another, in the
//! order in which the job names the columns. Memory: the largest batch. From a Parquet file only
//! these columns are read.
//!
//! Faults say what the program did (`wrote 3 scores for 4 rows`), so that the caller can put its
//! name in front. Missing scores are passed on as NaN; the caller, who knows the row, checks
//! whether a score is in [0, 1].
//! Source: "Serialization and Interprocess Communication" of the Arrow columnar format, version 1.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Schema};

use crate::data::exchange::ipc_message::{
    StreamedRows, fill, next_message, opening, parsed, stream_fault,
};
use crate::data::source::list_words;
use crate::error::{Error, Fault, Result};
use crate::num::float_precision::FloatPrecision;
use crate::table::file::{FileOwner, ParquetFile};

/// The name of the score column.
pub const SCORE: &str = "score";

/// The most scores of a batch, which is held as a whole.
const MAX_BATCH_SCORES: u64 = 1 << 24;

/// The most bytes of a batch: a fixed number, and a number for each score that it may hold.
const ANSWER_BYTES: (u64, u64) = (1 << 20, 32);

/// Scores of a file that are read at a time.
const CHUNK: usize = 64 << 10;

/// The answer that is expected: one row for each that was sent, with these columns.
#[derive(Debug, Clone, Copy)]
pub struct WantedScores<'a> {
    /// Number of rows.
    pub n_rows: u64,
    /// The columns: [`SCORE`], or one for each of several classes.
    pub columns: &'a [&'a str],
}

/// Reads a stream up to its end mark; passes the scores to `sink` in order, and says in how many
/// bits it holds them, and which files of code it says are loaded. Of a program that `goes_on`
/// another stream may follow, else nothing.
///
/// `fit` makes a text of the beginning of output that is not a stream, without secret values.
///
/// # Errors
/// The output is not such a stream, or has not exactly the wanted scores; or the error of `sink`.
pub fn read_stream(
    source: &mut dyn Read,
    WantedScores { n_rows, columns }: WantedScores<'_>,
    fit: &dyn Fn(&[u8]) -> String,
    goes_on: bool,
    sink: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<(FloatPrecision, LoadedFiles)> {
    let schema = opening(source, fit, "")?;
    let (precision, loaded) = (precision_of(&schema, columns)?, loaded_files(&schema)?);
    let plain = schema.fields().iter().map(|of| Field::new(of.name(), DataType::Float64, true));
    let plain = Arc::new(Schema::new(plain.collect::<Vec<_>>()));
    let width = columns.len() as u64;
    let allowed = ANSWER_BYTES.0 + n_rows.min(MAX_BATCH_SCORES) * width * ANSWER_BYTES.1;
    let mut batches = StreamedRows::new(schema, plain, u64::MAX);
    let mut n_scores = 0_u64;
    while let Some(bytes) = next_message(source, None)? {
        let message = parsed(&bytes)?;
        let told = message.header_as_record_batch().map_or(0, |batch| batch.length());
        let told = u64::try_from(told).unwrap_or(0);
        if n_scores.saturating_add(told) > n_rows {
            return Err(too_many_scores_fault(n_rows).into());
        }
        if told.saturating_mul(width) > MAX_BATCH_SCORES {
            let what = format!("wrote a batch of {told} scores, more than {MAX_BATCH_SCORES}");
            return Err(stream_fault(what).hint("write smaller batches").into());
        }
        if u64::try_from(message.bodyLength()).is_ok_and(|length| length > allowed) {
            let what = "wrote a stream with a damaged batch: its parts do not fit its body";
            return Err(stream_fault(what).into());
        }
        let Some(batch) = batches.read(source, &message)? else { continue };
        n_scores += batch.num_rows() as u64;
        sink(&scores_of(&batch, columns)?)?;
    }
    if n_scores < n_rows {
        return Err(too_few_scores_fault(n_scores, n_rows).into());
    }
    if !goes_on && fill(source, &mut [0])? > 0 {
        return Err(stream_fault("wrote to its standard output after the end of the stream").into());
    }
    Ok((precision, loaded))
}

/// What the schema of an answer says: the files of code that decide it.
const LOADED: &str = "cfaudit.loaded";

/// SHA-256 of files by path.
pub(crate) type LoadedFiles = BTreeMap<String, String>;

fn loaded_files(schema: &Schema) -> Result<LoadedFiles> {
    let loaded = schema.metadata().get(LOADED).map(|text| serde_json::from_str(text));
    loaded.transpose().map(Option::unwrap_or_default).map_err(|cause| {
        stream_fault(format!("wrote a damaged list of the files that it loaded: {cause}")).into()
    })
}

/// Reads one stream without scores up to its end mark, and gives the text that its schema has under
/// a key, with the files of code that are loaded.
///
/// # Errors
/// The output is not such a stream; says what it is.
pub(crate) fn read_description(
    source: &mut dyn Read,
    key: &str,
    fit: &dyn Fn(&[u8]) -> String,
) -> Result<(String, LoadedFiles)> {
    let schema = opening(source, fit, "")?;
    let Some(text) = schema.metadata().get(key).cloned() else {
        return Err(stream_fault("wrote a stream without a description of the model").into());
    };
    match next_message(source, None)? {
        None => Ok((text, loaded_files(&schema)?)),
        Some(_) => Err(stream_fault("wrote scores for which it got no rows").into()),
    }
}

fn too_many_scores_fault(n_rows: u64) -> Fault {
    stream_fault(format!("wrote more scores than the {n_rows} for which it got rows"))
        .hint("write exactly one score per row, in the order of the rows")
}

fn too_few_scores_fault(n_scores: u64, n_rows: u64) -> Fault {
    let hint = "write exactly one score per row, in the order of the rows; a row that cannot be \
                scored must not be dropped";
    stream_fault(format!("wrote {n_scores} scores for {n_rows} rows")).hint(hint)
}

/// Checks that a stream has these columns of floats and no others; returns in how many bits it holds
/// them.
fn precision_of(schema: &Schema, columns: &[&str]) -> Result<FloatPrecision> {
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    let fields = columns.iter().map(|name| schema.field_with_name(name).ok());
    if let Some(fields) =
        fields.collect::<Option<Vec<_>>>().filter(|_| names.len() == columns.len())
    {
        let precisions = fields.iter().map(|field| precision_of_type(field.data_type()));
        return Ok(FloatPrecision::finest(precisions.collect::<Result<Vec<_>>>()?));
    }
    let found = match names.as_slice() {
        [] => "no column".to_owned(),
        names => list_words(names.iter().map(|name| format!("`{name}`")), 10),
    };
    let expected = match columns {
        [column] => format!("exactly one column, `{column}`"),
        columns => list_words(columns.iter().map(|name| format!("`{name}`")), columns.len()),
    };
    let what = format!("wrote a stream with {found}, expected {expected}");
    stream_fault(what).fail("rows are matched by their order, so write back only the scores")
}

fn precision_of_type(kind: &DataType) -> Result<FloatPrecision> {
    match kind {
        DataType::Float64 => Ok(FloatPrecision::Double),
        DataType::Float32 => Ok(FloatPrecision::Single),
        other => {
            let what = format!("wrote scores of type {other}, expected Float64 or Float32");
            let hint = "convert them where they are written: `pa.array(scores, pa.float64())`";
            stream_fault(what).fail(hint)
        }
    }
}

/// The scores of these columns row by row; NaN where there is none.
fn scores_of(batch: &RecordBatch, columns: &[&str]) -> Result<Vec<f64>> {
    let mut scores = vec![f64::NAN; batch.num_rows() * columns.len()];
    for (at, name) in columns.iter().enumerate() {
        let lacks = || stream_fault(format!("wrote a batch without the column `{name}`"));
        let column = cast(batch.column_by_name(name).ok_or_else(lacks)?, &DataType::Float64)
            .map_err(|e| stream_fault(format!("wrote scores that cannot be read: {e}")))?;
        let found = column.as_primitive::<Float64Type>().iter();
        for (row, score) in scores.chunks_mut(columns.len()).zip(found) {
            row[at] = score.unwrap_or(f64::NAN);
        }
    }
    Ok(scores)
}

/// Reads the scores that a program wrote to a Parquet file; passes them to `sink` in order, and
/// says in how many bits the file holds them.
///
/// # Errors
/// There is no such file; it is not a Parquet file, lacks a column, or has not exactly the wanted
/// scores; or the error of `sink`.
pub fn read_file(
    path: &Path,
    WantedScores { n_rows, columns }: WantedScores<'_>,
    sink: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<FloatPrecision> {
    if !path.is_file() {
        return stream_fault("did not write the file `{scores}`").fail(
            "write a Parquet file with the column `score` to the path \
                 `{scores}`",
        );
    }
    let unreadable = |e: Error| {
        e.map_fault(|Fault { what, .. }| {
            stream_fault(format!("wrote a file `{{scores}}` that cannot be read: {what}"))
        })
    };
    let file = ParquetFile::open(path, FileOwner::User).map_err(unreadable)?;
    let mut precisions = Vec::new();
    for name in columns {
        let Ok(field) = file.schema().field_with_name(name) else {
            let found =
                list_words(file.schema().fields().iter().map(|f| format!("`{}`", f.name())), 10);
            return Err(stream_fault(format!(
                "wrote a file `{{scores}}` without the column `{name}`; its columns are {found}"
            ))
            .into());
        };
        precisions.push(precision_of_type(field.data_type())?);
    }
    match file.n_rows() {
        n if n > n_rows => return Err(too_many_scores_fault(n_rows).into()),
        n if n < n_rows => return Err(too_few_scores_fault(n, n_rows).into()),
        _ => {}
    }
    for group in 0..file.n_groups() {
        for batch in file.batches(group, Some(columns), None, CHUNK).map_err(unreadable)? {
            sink(&scores_of(&batch.map_err(unreadable)?, columns)?)?;
        }
    }
    Ok(FloatPrecision::finest(precisions))
}

#[cfg(test)]
mod tests;
