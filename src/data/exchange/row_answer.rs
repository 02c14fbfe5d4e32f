//! Rows that a program of the user's writes: an Arrow IPC stream, copied into a Parquet file.
//!
//! The file holds all columns of the stream, in row groups of 65,536 rows whatever the batches of
//! the program, so the same rows give the same bytes. Memory: two row groups and the largest batch
//! of the program, which the caller bounds: a longer message is refused before it is read.
//!
//! Faults say what the program did (`wrote an incomplete stream`), so that the caller can put its
//! name in front.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, Schema,
};

use crate::data::exchange::ipc_message::{
    CLOSE_WRITER, NextMessage, StreamedRows, next_part, opening, parsed, stream_fault,
};
use crate::data::exchange::row_stream::RowSink;
use crate::data::values::{ValueClass, type_in_words};
use crate::error::Result;
use crate::table::field_marks::{cached, direct};
use crate::table::file::{FileOwner, ParquetFile};

/// What a copy of rows is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyUse {
    /// It is kept, so it is small.
    Kept,
    /// It is read once, so it takes little time to write and to read.
    Once,
}

/// Copies the rows of a stream, after which nothing may follow, into a new Parquet file; the number
/// of rows.
///
/// `fit` makes a text of the beginning of output that is not a stream, without secret values.
/// `allowed` are the bytes that a batch and the dictionaries may take.
///
/// # Errors
/// The output is no such stream, a batch is too large, or the file cannot be written.
pub(crate) fn copy_rows(
    source: &mut dyn Read,
    (path, used): (&Path, CopyUse),
    fit: &dyn Fn(&[u8]) -> String,
    allowed: u64,
) -> Result<u64> {
    let schema = opening(source, fit, ", expected rows as an Arrow stream")?;
    check_columns(&schema)?;
    let plain = Arc::new(plain_schema(&schema));
    let packing = match used {
        CopyUse::Kept => Schema::clone(&plain),
        CopyUse::Once => passing_schema(&plain),
    };
    let mut file = RowSink::file(path, &packing)?;
    let mut rows = StreamedRows::new(schema, plain, allowed);
    let mut n_rows = 0;
    loop {
        let bytes = match next_part(source, None)? {
            NextMessage::Message(bytes) => bytes,
            NextMessage::EndMark => break,
            // Nothing else shows whether these are all rows.
            NextMessage::Nothing => {
                let fault = stream_fault("wrote a stream without its end, so rows may be missing");
                return fault.fail(CLOSE_WRITER);
            }
        };
        let message = parsed(&bytes)?;
        if let Some(batch) = rows.read(source, &message)? {
            n_rows += batch.num_rows() as u64;
            file.push(batch)?;
        }
    }
    if source.read(&mut [0]).is_ok_and(|n| n > 0) {
        return Err(stream_fault("wrote to its standard output after the end of the stream").into());
    }
    file.finish()?;
    Ok(n_rows)
}

/// Fails where a column of a stream cannot be copied.
fn check_columns(schema: &Schema) -> Result<()> {
    for (i, field) in schema.fields().iter().enumerate() {
        let name = field.name();
        if schema.fields()[..i].iter().any(|other| other.name() == name) {
            let fault = stream_fault(format!("wrote two columns called `{name}`"));
            return fault.fail("give them different names");
        }
        let kind = match field.data_type() {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        if ValueClass::of(kind).is_none() {
            let what =
                format!("wrote a column `{name}` of {}, which is not read", type_in_words(kind));
            let hint = "numbers, booleans, text, dates and times are read; leave the column out, \
                        or flatten it into separate columns";
            return stream_fault(what).fail(hint);
        }
        if let Some(most) = unkept_decimal(kind) {
            let what = format!(
                "wrote a column `{name}` of {kind}; a decimal type needs 1 to {most} digits, and a \
                 scale from 0 to their number"
            );
            return stream_fault(what).fail("write another decimal type, or floats");
        }
    }
    Ok(())
}

/// The most digits of a decimal type, if the type states a precision or a scale that no Parquet
/// file can hold: the schema of a stream may state any.
fn unkept_decimal(kind: &DataType) -> Option<u8> {
    let (digits, scale, most) = match *kind {
        DataType::Decimal32(digits, scale) => (digits, scale, DECIMAL32_MAX_PRECISION),
        DataType::Decimal64(digits, scale) => (digits, scale, DECIMAL64_MAX_PRECISION),
        DataType::Decimal128(digits, scale) => (digits, scale, DECIMAL128_MAX_PRECISION),
        DataType::Decimal256(digits, scale) => (digits, scale, DECIMAL256_MAX_PRECISION),
        _ => return None,
    };
    let is_kept =
        (1..=most).contains(&digits) && u8::try_from(scale).is_ok_and(|scale| scale <= digits);
    (!is_kept).then_some(most)
}

/// The columns of a schema without dictionaries, whose order depends on the batches.
fn plain_schema(schema: &Schema) -> Schema {
    let plain = |field: &FieldRef| match field.data_type() {
        DataType::Dictionary(_, values) => Field::new(field.name(), DataType::clone(values), true),
        kind => Field::new(field.name(), kind.clone(), true),
    };
    Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>())
}

/// The columns of a plain schema, encoded as in files between the stages: without a dictionary of
/// numbers.
fn passing_schema(plain: &Schema) -> Schema {
    let packed = |field: &FieldRef| {
        let field = Field::clone(field);
        cached(if field.data_type().is_numeric() { direct(field) } else { field })
    };
    Schema::new(plain.fields().iter().map(packed).collect::<Vec<_>>())
}

/// How the columns of a copy differ from those of another one.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn other_columns(planned: &Path, found: &Path) -> Result<Option<String>> {
    let open = |path: &Path| ParquetFile::open(path, FileOwner::Program);
    let (planned, found) = (open(planned)?, open(found)?);
    let (planned, found) = (planned.schema().fields(), found.schema().fields());
    let differ =
        |(a, b): &(&FieldRef, &FieldRef)| (a.name(), a.data_type()) != (b.name(), b.data_type());
    let words = |field: &Field| {
        let kind = field.data_type();
        format!("`{}` ({}, Arrow type {kind})", field.name(), type_in_words(kind))
    };
    Ok(match planned.iter().zip(found.iter()).find(differ) {
        Some((planned, found)) => Some(format!(
            "its column {} stands where the plan has {}",
            words(found),
            words(planned)
        )),
        None if planned.len() != found.len() => {
            Some(format!("it has {} columns, and the plan has {}", found.len(), planned.len()))
        }
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, DictionaryArray, Float64Array, Int64Array, RecordBatch};
    use arrow::datatypes::Int32Type;
    use arrow::ipc::writer::StreamWriter;

    use super::*;
    use crate::tests::Says;

    fn rows(from: i64, n: i64) -> RecordBatch {
        let words: DictionaryArray<Int32Type> =
            (from..from + n).map(|i| (i % 3 > 0).then_some(["a", "b"][i as usize % 2])).collect();
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(Int64Array::from_iter_values(from..from + n))),
            (
                "income",
                Arc::new(Float64Array::from_iter_values((from..from + n).map(|i| i as f64))),
            ),
            ("branch", Arc::new(words)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn stream(batches: &[RecordBatch]) -> Vec<u8> {
        let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.into_inner().unwrap()
    }

    fn copy(bytes: &[u8], path: &Path) -> Result<u64> {
        copy_within(bytes, path, u64::MAX)
    }

    fn copy_within(bytes: &[u8], path: &Path, allowed: u64) -> Result<u64> {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        copy_rows(&mut &*bytes, (path, CopyUse::Kept), &shown, allowed)
    }

    /// How a copy is packed changes none of its columns and values.
    #[test]
    fn a_copy_that_is_read_once_has_the_same_rows() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["kept", "once"].map(|name| folder.path().join(name));
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let bytes = stream(&[rows(0, 70_000)]);
        for (path, used) in paths.iter().zip([CopyUse::Kept, CopyUse::Once]) {
            let copied = copy_rows(&mut &*bytes, (path, used), &shown, u64::MAX);
            assert_eq!(copied.unwrap(), 70_000);
        }
        assert_eq!(super::other_columns(&paths[0], &paths[1]).unwrap(), None);
        let [kept, once] = paths.map(|path| ParquetFile::open(&path, FileOwner::Program).unwrap());
        assert_eq!(once.n_groups(), 2);
        for group in 0..2 {
            let read = |file: &ParquetFile| file.read_group(group, None).unwrap();
            assert_eq!(read(&kept), read(&once));
        }
    }

    #[test]
    fn rows_are_the_same_bytes_in_any_batches() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        let all = stream(&[rows(0, 70_000)]);
        let cut = stream(&[rows(0, 1), rows(1, 0), rows(1, 65_000), rows(65_001, 4_999)]);
        assert_eq!(copy(&all, &paths[0]).unwrap(), 70_000);
        assert_eq!(copy(&cut, &paths[1]).unwrap(), 70_000);
        let file = ParquetFile::open(&paths[1], FileOwner::Program).unwrap();
        assert_eq!((file.n_groups(), file.n_rows()), (2, 70_000));
        let last = file.read_group(1, Some(&["branch"])).unwrap();
        let words = last.column(0).as_string::<i32>();
        // The last row is number 69,999, which is divisible by 3.
        assert!(words.iter().last().unwrap().is_none());
        assert_eq!(words.iter().nth_back(1).unwrap(), Some("a"));
        let [whole, parts] = paths.map(|path| std::fs::read(path).unwrap());
        assert!(whole == parts);
    }

    /// What a message declares counts, not what arrives; a dictionary counts row by row.
    #[test]
    fn a_batch_larger_than_the_memory_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let all = stream(&[rows(0, 20_000)]);
        assert_eq!(copy_within(&all, &path, 1 << 20).unwrap(), 20_000);
        let refused = |bytes: &[u8], allowed: u64, words: &str| {
            let fault = copy_within(bytes, &path, allowed).unwrap_err().to_string();
            assert!(fault.contains(words) && fault.contains("--memory"), "{fault}");
            fault.lacks(&["incomplete"]);
        };
        refused(&all, 100_000, "wrote a batch of ");
        // Cut in the middle of the batch: its length was read before.
        refused(&all[..all.len() / 2], 100_000, "wrote a batch of ");
        let cut = stream(&[rows(0, 4_000), rows(4_000, 4_000)]);
        assert_eq!(copy_within(&cut, &path, 100_000).unwrap(), 8_000);
        // Words that many rows share take little on their way, and much as rows.
        let word = "x".repeat(5_000);
        let words: DictionaryArray<Int32Type> = (0..2_000).map(|_| Some(word.as_str())).collect();
        let shared = RecordBatch::try_from_iter([("word", Arc::new(words) as ArrayRef)]).unwrap();
        let shared = stream(&[shared]);
        refused(&shared, 1_000_000, "wrote a batch of ");
        refused(&shared, 4_000, "wrote dictionaries of ");
        assert_eq!(copy_within(&shared, &path, 20_000_000).unwrap(), 2_000);
    }

    #[test]
    fn anything_else_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let good = stream(&[rows(0, 100)]);
        let told = |bytes: &[u8], words: &str| {
            let fault = copy(bytes, &path).unwrap_err().to_string();
            assert!(fault.contains("bad-output") && fault.contains(words), "{words}: {fault}");
        };
        told(b"", "wrote nothing to its standard output");
        told(b"id,income\n1,2\n", "begins with `id,income");
        told(b"ARROW1\0\0 and more", "an Arrow file");
        told(&good[..good.len() - 700], "incomplete stream");
        told(&[&good[..], b"more"].concat(), "after the end of the stream");
        told(&good[..good.len() - 8], "without its end");
        let twice = RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
            ("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        ]);
        told(&stream(&[twice.unwrap()]), "two columns called `id`");
        let list =
            arrow::array::ListArray::from_iter_primitive::<arrow::datatypes::Int64Type, _, _>([
                Some(vec![Some(1)]),
            ]);
        let listed = RecordBatch::try_from_iter([("x", Arc::new(list) as ArrayRef)]).unwrap();
        told(&stream(&[listed]), "wrote a column `x` of ");
        for kind in [
            DataType::Decimal128(0, 0),
            DataType::Decimal128(39, 0),
            DataType::Decimal128(5, 6),
            DataType::Decimal64(19, 2),
            DataType::Decimal128(5, -2),
        ] {
            let schema = Arc::new(Schema::new(vec![Field::new("x", kind, true)]));
            let none = RecordBatch::new_empty(schema);
            told(&stream(&[none]), "digits, and a scale from 0");
        }
        // Wherever a byte is wrong, it is an error or other rows, and never a panic.
        let step = good.len() / 150 + 1;
        for at in (0..good.len()).step_by(step) {
            let mut bytes = good.clone();
            bytes[at] ^= 0xff;
            let _ = copy(&bytes, &path);
        }
    }
}
