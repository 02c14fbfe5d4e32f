//! Streams as libraries write them, cut off at every byte and with every byte changed.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::ipc::writer::{FileWriter, StreamWriter};

use super::{SCORE, WantedScores, read_file, read_stream};
use crate::error::{Error, Result};
use crate::num::float_precision::FloatPrecision;

fn stream(batches: &[Vec<(&str, ArrayRef)>]) -> Vec<u8> {
    let batch = |columns: &Vec<(&str, ArrayRef)>| {
        RecordBatch::try_from_iter_with_nullable(
            columns.iter().map(|(name, array)| (*name, Arc::clone(array), true)),
        )
        .unwrap()
    };
    let mut writer = StreamWriter::try_new(Vec::new(), &batch(&batches[0]).schema()).unwrap();
    batches.iter().for_each(|b| writer.write(&batch(b)).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn doubles(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn wanted(n_rows: u64) -> WantedScores<'static> {
    WantedScores { n_rows, columns: &[SCORE] }
}

fn read(bytes: &[u8], n_rows: u64) -> Result<Vec<f64>> {
    read_columns(bytes, wanted(n_rows))
}

fn read_columns(bytes: &[u8], wanted: WantedScores<'_>) -> Result<Vec<f64>> {
    let mut scores = Vec::new();
    let mut source = bytes;
    read_stream(
        &mut source,
        wanted,
        &|bytes| String::from_utf8_lossy(bytes).replace("s3cr3t", "[TOKEN]"),
        false,
        &mut |part| {
            scores.extend_from_slice(part);
            Ok(())
        },
    )?;
    Ok(scores)
}

#[track_caller]
fn check_fault(result: Result<Vec<f64>>, words: &str) {
    match result {
        Err(Error::Data(fault)) => {
            assert!(fault.code == "bad-output" && fault.what.contains(words), "{}", fault.what)
        }
        other => panic!("expected `{words}`, got {other:?}"),
    }
}

#[test]
fn batches_are_cut_freely() {
    let parts = [
        vec![("score", doubles(&[Some(0.25), Some(1.0)]))],
        vec![("score", doubles(&[]))],
        vec![("score", doubles(&[Some(0.0)]))],
    ];
    assert_eq!(read(&stream(&parts), 3).unwrap(), [0.25, 1.0, 0.0]);
    let many: Vec<Option<f64>> = (0..100_000).map(|i| Some(f64::from(i) / 1e5)).collect();
    let scores = read(&stream(&[vec![("score", doubles(&many))]]), 100_000).unwrap();
    assert!(scores.iter().zip(&many).all(|(a, b)| Some(*a) == *b));
    let single: ArrayRef = Arc::new(Float32Array::from(vec![0.1_f32, 0.5]));
    let single = stream(&[vec![("score", single)]]);
    assert_eq!(read(&single, 2).unwrap(), [f64::from(0.1_f32), 0.5]);
    let precision = |bytes: &[u8], n| {
        let read = read_stream(&mut &*bytes, wanted(n), &|_| String::new(), false, &mut |_| Ok(()));
        read.unwrap().0
    };
    assert_eq!(precision(&single, 2), FloatPrecision::Single);
    let double = stream(&[vec![("score", doubles(&[Some(0.5)]))]]);
    assert_eq!(precision(&double, 1), FloatPrecision::Double);
}

#[test]
fn a_score_without_a_value_is_nan_at_its_place() {
    let values: Vec<Option<f64>> = (0..20_000).map(|i| (i != 9_001).then_some(0.5)).collect();
    let scores = read(&stream(&[vec![("score", doubles(&values))]]), 20_000).unwrap();
    assert_eq!(scores.iter().position(|s| s.is_nan()), Some(9_001));
    assert_eq!(scores.iter().filter(|s| s.is_nan()).count(), 1);
}

#[test]
fn numbers_of_scores() {
    let two = stream(&[vec![("score", doubles(&[Some(0.5), Some(0.5)]))]]);
    check_fault(read(&two, 3), "wrote 2 scores for 3 rows");
    check_fault(read(&two, 1), "more scores than the 1 for which");
    check_fault(read(&two, 0), "more scores than the 0");
}

/// A batch is held as a whole.
#[test]
fn batches_are_bounded() {
    let n = super::MAX_BATCH_SCORES as usize + 1;
    let one: ArrayRef = Arc::new(Float32Array::from(vec![0.5; n]));
    let bytes = stream(&[vec![("score", one)]]);
    check_fault(read(&bytes, 1 << 30), "wrote a batch of 16777217 scores, more than 16777216");
}

#[test]
fn wrong_columns_and_types() {
    let one = || doubles(&[Some(0.5)]);
    check_fault(
        read(&stream(&[vec![("prob", one())]]), 1),
        "a stream with `prob`, expected exactly one column, `score`",
    );
    check_fault(
        read(&stream(&[vec![("row_id", one()), ("score", one())]]), 1),
        "with `row_id`, `score`, expected exactly one",
    );
    check_fault(
        read(&stream(&[vec![("score", Arc::new(Int64Array::from(vec![1])))]]), 1),
        "of type Int64, expected Float64",
    );
    check_fault(
        read(&stream(&[vec![("score", Arc::new(StringArray::from(vec!["0.5"])))]]), 1),
        "of type Utf8, expected Float64",
    );
}

/// Columns of several classes are found by their names, and none may lack or be there besides.
#[test]
fn scores_of_classes() {
    let of = |names: &[&'static str]| {
        let column = |(i, name): (usize, &&'static str)| {
            (*name, doubles(&[Some(i as f64), None, Some(i as f64 + 0.5)]))
        };
        stream(&[names.iter().enumerate().map(column).collect()])
    };
    let wanted = |n_rows| WantedScores { n_rows, columns: &["low", "mid", "high"] };
    let scores = read_columns(&of(&["high", "low", "mid"]), wanted(3)).unwrap();
    assert_eq!((&scores[..3], &scores[6..]), (&[1.0, 2.0, 0.0][..], &[1.5, 2.5, 0.5][..]));
    assert!(scores.len() == 9 && scores[3..6].iter().all(|score| score.is_nan()));
    for names in [&["low", "mid"][..], &["low", "mid", "score"], &["low", "mid", "high", "x"]] {
        check_fault(read_columns(&of(names), wanted(3)), ", expected `low`, `mid`, `high`");
    }
    check_fault(read_columns(&of(&["low", "mid", "high"]), wanted(4)), "wrote 3 scores for 4 rows");
}

/// A program that goes on answers with one stream after the other, and no byte of the next is
/// taken.
#[test]
fn answers_follow_each_other() {
    let mut bytes = stream(&[vec![("score", doubles(&[Some(0.25), Some(0.5)]))]]);
    bytes.extend(stream(&[vec![("score", doubles(&[Some(0.75)]))]]));
    let mut source = bytes.as_slice();
    for (n, expected) in [(2, vec![0.25, 0.5]), (1, vec![0.75])] {
        let mut found = Vec::new();
        let mut take = |part: &[f64]| {
            found.extend_from_slice(part);
            Ok(())
        };
        read_stream(&mut source, wanted(n), &|_| String::new(), true, &mut take).unwrap();
        assert_eq!(found, expected);
    }
    assert!(source.is_empty());
}

#[test]
fn what_is_no_stream() {
    check_fault(read(b"", 1), "wrote nothing");
    check_fault(read(b"Loading model\nready\n", 1), "begins with `Loading model\\nready\\n`");
    // Secret values are blanked before the text is truncated and escaped.
    let long = format!("{}s3cr3t", "x".repeat(57));
    check_fault(read(long.as_bytes(), 1), &format!("begins with `{}[TO`", "x".repeat(57)));
    check_fault(read(b"\xff\xff\xff\xff\xff\xff\xff\x7f", 1), "a message of 2147483647 bytes");
    check_fault(read(&[0xff; 64], 1), "a message of 4294967295 bytes");
    let batch = RecordBatch::try_from_iter([("score", doubles(&[Some(0.5)]))]).unwrap();
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    check_fault(read(&file.into_inner().unwrap(), 1), "an Arrow file");
    let mut late = stream(&[vec![("score", doubles(&[Some(0.5)]))]]);
    late.extend_from_slice(b"done!\n");
    check_fault(read(&late, 1), "after the end of the stream");
}

#[test]
fn no_cut_and_no_damage_is_worse_than_a_fault() {
    let whole = stream(&[
        vec![("score", doubles(&[Some(0.25), None, Some(0.75)]))],
        vec![("score", doubles(&[Some(0.5)]))],
    ]);
    for cut in 0..whole.len() {
        match read(&whole[..cut], 4) {
            // Only the end mark is missing, or a part of its padding.
            Ok(scores) => assert!(scores.len() == 4 && whole.len() - cut <= 8, "cut at {cut}"),
            Err(error) => assert!(matches!(error, Error::Data(_)), "cut at {cut}: {error}"),
        }
    }
    for i in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[i] ^= flip;
            // Damage to a value cannot be detected; everything else is a fault.
            if let Ok(scores) = read(&damaged, 4) {
                assert_eq!(scores.len(), 4, "byte {i}");
            }
        }
    }
}

#[test]
fn files_of_scores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scores.parquet");
    let read = |n_rows: u64| {
        let mut scores = Vec::new();
        read_file(&path, wanted(n_rows), &mut |part| {
            scores.extend_from_slice(part);
            Ok(())
        })
        .map(|_| scores)
    };
    check_fault(read(1), "did not write the file `{scores}`");
    let write = |columns: Vec<(&str, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        crate::data::tests::write(&path, &batch, 2);
    };
    write(vec![
        ("index", Arc::new(Int64Array::from(vec![0, 1, 2]))),
        ("score", doubles(&[Some(0.25), None, Some(1.0)])),
    ]);
    let scores = read(3).unwrap();
    assert!(scores[0] == 0.25 && scores[1].is_nan() && scores[2] == 1.0);
    check_fault(read(2), "more scores than the 2");
    check_fault(read(4), "wrote 3 scores for 4 rows");
    write(vec![("prob", doubles(&[Some(0.25)]))]);
    check_fault(read(1), "without the column `score`; its columns are `prob`");
    write(vec![("score", Arc::new(StringArray::from(vec!["0.5"])))]);
    check_fault(read(1), "of type Utf8");
}
