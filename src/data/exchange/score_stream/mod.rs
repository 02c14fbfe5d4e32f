//! Scores from a program of the user's: an Arrow IPC stream, or a Parquet file, with one score per
//! row in the order of the rows.
//!
//! The stream has exactly one column, `score`, of Float64 or Float32, in batches of any size. Its
//! batches are parsed here and not by a library: every length is checked before it is used, and
//! memory is bounded for any stream. Of the Parquet file only the column `score` is read.
//!
//! Faults say what the program did (`wrote 3 scores for 4 rows`), so that the caller can put its
//! name in front. Missing scores are passed on as NaN; the caller, who knows the row, checks
//! whether a score is in [0, 1].
//! Source: "Serialization and Interprocess Communication" of the Arrow columnar format, version 1.

use std::io::{self, Read};
use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::ipc::{Message, Precision, RecordBatch, Schema, Type};

use crate::data::exchange::ipc_message::{
    fill, next_message, parsed, schema_of_stream, skip_bytes, stream_fault, truncated_fault,
};
use crate::data::source::list_words;
use crate::error::{Error, Fault, Result};
use crate::num::float_precision::FloatPrecision;
use crate::table::file::{FileOwner, ParquetFile};

/// The name of the score column.
pub const SCORE: &str = "score";

/// Number of bytes of values read at a time; a multiple of 8.
const CHUNK: usize = 64 << 10;

/// Reads a stream, after which nothing may follow; passes the scores to `sink` in order, and says
/// in how many bits it holds them.
///
/// `fit` makes a text of the beginning of output that is not a stream, without secret values.
///
/// # Errors
/// The output is not such a stream, or has not exactly `n_rows` scores; or the error of `sink`.
pub fn read_stream(
    source: &mut dyn Read,
    n_rows: u64,
    fit: &dyn Fn(&[u8]) -> String,
    sink: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<FloatPrecision> {
    let precision = read_answer(source, n_rows, fit, sink)?;
    if fill(source, &mut [0])? > 0 {
        return Err(stream_fault("wrote to its standard output after the end of the stream").into());
    }
    Ok(precision)
}

/// Reads one stream up to its end mark and no more, as [`read_stream`] does: of a program that goes
/// on, another may follow.
///
/// # Errors
/// As [`read_stream`].
pub(crate) fn read_answer(
    source: &mut dyn Read,
    n_rows: u64,
    fit: &dyn Fn(&[u8]) -> String,
    sink: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<FloatPrecision> {
    let Some(first) = next_message(source, Some(fit))? else {
        return Err(stream_fault("wrote nothing to its standard output").into());
    };
    let width = width_of(parsed(&first)?)?;
    let mut n_scores = 0;
    while let Some(bytes) = next_message(source, None)? {
        let message = parsed(&bytes)?;
        let Some(batch) = message.header_as_record_batch() else {
            return Err(stream_fault(format!(
                "wrote a message of kind {:?} between its batches of scores",
                message.header_type()
            ))
            .into());
        };
        let shape = BatchShape::of(batch, message.bodyLength(), width)?;
        n_scores += shape.n;
        if n_scores > n_rows {
            return Err(too_many_scores_fault(n_rows).into());
        }
        shape.read(source, sink)?;
    }
    if n_scores < n_rows {
        return Err(too_few_scores_fault(n_scores, n_rows).into());
    }
    Ok(FloatPrecision::single_if(width == 4))
}

/// Reads one stream without scores up to its end mark, and gives the text that its schema has under
/// a key.
///
/// # Errors
/// The output is not such a stream; says what it is.
pub(crate) fn read_description(
    source: &mut dyn Read,
    key: &str,
    fit: &dyn Fn(&[u8]) -> String,
) -> Result<String> {
    let Some(first) = next_message(source, Some(fit))? else {
        return Err(stream_fault("wrote nothing to its standard output").into());
    };
    let metadata = schema_of_stream(parsed(&first)?)?.custom_metadata();
    let of_key = metadata.into_iter().flatten().find(|pair| pair.key() == Some(key));
    let Some(text) = of_key.and_then(|pair| pair.value()).map(str::to_owned) else {
        return Err(stream_fault("wrote a stream without a description of the model").into());
    };
    match next_message(source, None)? {
        None => Ok(text),
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

/// Checks that the schema is one column of floats; returns the width of a value in bytes.
fn width_of(message: Message<'_>) -> Result<usize> {
    let schema = schema_of_stream(message)?;
    let Some(kind) = single_column(schema)? else {
        return Err(stream_fault(format!("wrote a column `{SCORE}` without a type")).into());
    };
    match kind {
        (Type::FloatingPoint, Precision::DOUBLE) => Ok(8),
        (Type::FloatingPoint, Precision::SINGLE) => Ok(4),
        (Type::FloatingPoint, _) => Err(wrong_type_fault("half-precision floats").into()),
        (other, _) => Err(wrong_type_fault(&format!("{other:?}")).into()),
    }
}

fn wrong_type_fault(found: &str) -> Fault {
    stream_fault(format!("wrote scores of type {found}, expected Float64 or Float32"))
        .hint("convert them where they are written: `pa.array(scores, pa.float64())`")
}

fn single_column(schema: Schema<'_>) -> Result<Option<(Type, Precision)>> {
    let fields = schema.fields().unwrap_or_default();
    let names: Vec<&str> = fields.iter().map(|f| f.name().unwrap_or_default()).collect();
    if names != [SCORE] {
        let found = match names.as_slice() {
            [] => "no column".to_owned(),
            names => list_words(names.iter().map(|n| format!("`{n}`")), 10),
        };
        let what = format!("wrote a stream with {found}, expected exactly one column, `{SCORE}`");
        return stream_fault(what)
            .fail("rows are matched by their order, so write back only the scores");
    }
    let field = fields.get(0);
    if field.dictionary().is_some() {
        return Err(wrong_type_fault("Dictionary").into());
    }
    let precision = field.type_as_floating_point().map_or(Precision::HALF, |f| f.precision());
    Ok((field.type_type() != Type::NONE).then_some((field.type_type(), precision)))
}

/// The layout of the parts of a batch in its body.
#[derive(Debug, Clone, Copy)]
struct BatchShape {
    n: u64,
    width: usize,
    /// Offset and length of the validity bitmap; `None` where all scores are present.
    valid: Option<(u64, u64)>,
    values: u64,
    body: u64,
}

impl BatchShape {
    fn of(batch: RecordBatch<'_>, body: i64, width: usize) -> Result<BatchShape> {
        if batch.compression().is_some() {
            let hint = "write it without compression, which a pipe does not need";
            return stream_fault("wrote a compressed stream").fail(hint);
        }
        Ok(BatchShape::checked(batch, body, width).ok_or_else(|| {
            stream_fault("wrote a stream with a damaged batch: its parts do not fit its body")
        })?)
    }

    fn checked(batch: RecordBatch<'_>, body: i64, width: usize) -> Option<BatchShape> {
        let (nodes, buffers) = (batch.nodes()?, batch.buffers()?);
        if nodes.len() != 1 || buffers.len() != 2 {
            return None;
        }
        let n = u64::try_from(batch.length()).ok()?;
        let body = u64::try_from(body).ok()?;
        let part = |i: usize| {
            Some((
                u64::try_from(buffers.get(i).offset()).ok()?,
                u64::try_from(buffers.get(i).length()).ok()?,
            ))
        };
        let ((bits_at, bits), (values, bytes)) = (part(0)?, part(1)?);
        let wanted = n.checked_mul(width as u64)?;
        let all_there = nodes.get(0).null_count() == 0;
        let fits = nodes.get(0).length() == batch.length()
            && bytes >= wanted
            && values.checked_add(wanted)? <= body;
        let bits_fit = all_there || bits >= n.div_ceil(8) && bits_at.checked_add(bits)? <= values;
        (fits && bits_fit).then_some(BatchShape {
            n,
            width,
            valid: (!all_there).then_some((bits_at, n.div_ceil(8))),
            values,
            body,
        })
    }

    /// Reads the body.
    fn read(self, source: &mut dyn Read, sink: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        let mut at = 0;
        let mut bits = Vec::new();
        if let Some((start, length)) = self.valid {
            skip_bytes(source, start - at)?;
            source.take(length).read_to_end(&mut bits).map_err(|e| truncated_fault(&e))?;
            at = start + length;
        }
        skip_bytes(source, self.values - at)?;
        let mut left = self.n * self.width as u64;
        let mut chunk = vec![0; CHUNK];
        let mut row = 0;
        while left > 0 {
            let now = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            if fill(source, &mut chunk[..now])? < now {
                return Err(truncated_fault(&io::ErrorKind::UnexpectedEof.into()).into());
            }
            let mut scores: Vec<f64> = chunk[..now].chunks_exact(self.width).map(float).collect();
            if self.valid.is_some() {
                for (score, i) in scores.iter_mut().zip(row..) {
                    if bits.get(i / 8).is_none_or(|byte| byte >> (i % 8) & 1 == 0) {
                        *score = f64::NAN;
                    }
                }
            }
            row += scores.len();
            sink(&scores)?;
            left -= now as u64;
        }
        skip_bytes(source, self.body - self.values - self.n * self.width as u64)
    }
}

fn float(bytes: &[u8]) -> f64 {
    match *bytes {
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => f64::NAN,
    }
}

/// Reads the scores that a program wrote to a Parquet file; passes them to `sink` in order, and
/// says in how many bits the file holds them.
///
/// # Errors
/// There is no such file; it is not a Parquet file, lacks the column, or has not exactly `n_rows`
/// scores; or the error of `sink`.
pub fn read_file(
    path: &Path,
    n_rows: u64,
    sink: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<FloatPrecision> {
    if !path.is_file() {
        return stream_fault("did not write the file `{scores}`").fail(
            "write a Parquet file with the column `score` to the path \
                 `{scores}`",
        );
    }
    let unreadable = |e: Error| match e {
        Error::Data(fault) => {
            stream_fault(format!("wrote a file `{{scores}}` that cannot be read: {}", fault.what))
                .into()
        }
        other => other,
    };
    let file = ParquetFile::open(path, FileOwner::User).map_err(unreadable)?;
    let Ok(field) = file.schema().field_with_name(SCORE) else {
        let found =
            list_words(file.schema().fields().iter().map(|f| format!("`{}`", f.name())), 10);
        return Err(stream_fault(format!(
            "wrote a file `{{scores}}` without the column `{SCORE}`; its columns are {found}"
        ))
        .into());
    };
    if !matches!(field.data_type(), DataType::Float64 | DataType::Float32) {
        return Err(wrong_type_fault(&field.data_type().to_string()).into());
    }
    let precision = FloatPrecision::single_if(*field.data_type() == DataType::Float32);
    match file.n_rows() {
        n if n > n_rows => return Err(too_many_scores_fault(n_rows).into()),
        n if n < n_rows => return Err(too_few_scores_fault(n, n_rows).into()),
        _ => {}
    }
    for group in 0..file.n_groups() {
        for batch in file.batches(group, Some(&[SCORE]), None, CHUNK).map_err(unreadable)? {
            let scores = cast(batch.map_err(unreadable)?.column(0), &DataType::Float64)
                .map_err(|e| stream_fault(format!("wrote scores that cannot be read: {e}")))?;
            let scores = scores.as_primitive::<Float64Type>();
            let scores: Vec<f64> = (0..scores.len())
                .map(|i| if scores.is_null(i) { f64::NAN } else { scores.value(i) })
                .collect();
            sink(&scores)?;
        }
    }
    Ok(precision)
}

#[cfg(test)]
mod tests;
