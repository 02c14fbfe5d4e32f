//! Columns that became something else: other types, missing and extreme values, other names, no
//! rows; and the files that hold them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, ListArray, NullArray,
    RecordBatch, StringArray, UInt32Array, new_null_array,
};
use arrow::compute::{cast, nullif, take};
use arrow::datatypes::{DataType, Field, Float64Type, Schema, TimeUnit};
use arrow::ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::mutate::Dice;

/// Named columns of one length.
pub(super) type Columns = Vec<(String, ArrayRef)>;

fn types() -> Vec<DataType> {
    use DataType::*;
    let plain = "Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float16 Float32 Float64 Boolean \
                 Utf8 LargeUtf8 Utf8View Binary LargeBinary Date32 Date64";
    let plain = plain.split(' ').map(|name| name.parse().unwrap());
    let others = [
        Time32(TimeUnit::Second),
        Timestamp(TimeUnit::Nanosecond, None),
        Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        Duration(TimeUnit::Second),
        Decimal128(38, 10),
        Decimal128(5, 0),
        Decimal256(60, 3),
        Dictionary(Box::new(Int8), Box::new(Utf8)),
        Dictionary(Box::new(Int32), Box::new(Int64)),
    ];
    plain.chain(others).collect()
}

const NAMES: &str =
    "¦ ¦row_id¦label¦score¦a.b¦a/b¦\0¦é¦id¦sex¦AGE¦to_group¦${vars.x}¦__index_level_0__";

/// One of the names.
fn name(dice: &mut Dice) -> String {
    dice.of(&NAMES.split('¦').collect::<Vec<_>>()).to_owned()
}
const REALS: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -0.0,
    1e308,
    -1e308,
    f64::MIN_POSITIVE,
    5e-324,
    1.0 + f64::EPSILON,
    9_007_199_254_740_993.0,
];
const WHOLES: &[i64] = &[i64::MIN, i64::MAX, -1, 0, 1, 1 << 53, (1 << 53) + 1];

/// One to three changes of the columns; all keep one length.
pub(super) fn change(columns: &mut Columns, dice: &mut Dice) {
    for _ in 0..=dice.below(3) {
        let n = columns.first().map_or(0, |(_, array)| array.len());
        if columns.is_empty() {
            columns.push((name(dice), Arc::new(Int64Array::from(vec![1; n]))));
        }
        let at = dice.below(columns.len());
        match dice.below(9) {
            0 => drop(columns.remove(at)),
            1 => columns[at].0 = name(dice),
            2 => {
                let copy = columns[at].clone();
                columns.push(copy);
            }
            3 | 4 => {
                let kinds = types();
                if let Ok(array) = cast(&columns[at].1, &kinds[dice.below(kinds.len())]) {
                    columns[at].1 = array;
                }
            }
            5 => {
                let mask: BooleanArray = (0..n).map(|_| Some(dice.one_in(3))).collect();
                columns[at].1 = if dice.one_in(4) {
                    new_null_array(columns[at].1.data_type(), n)
                } else {
                    nullif(&columns[at].1, &mask).unwrap_or(Arc::clone(&columns[at].1))
                };
            }
            6 => columns[at].1 = odd(n, dice),
            7 => {
                let most = if dice.one_in(3) { 3 } else { 2 * n + 1 };
                let picks = dice.below(most);
                let picks: UInt32Array = (0..if n == 0 { 0 } else { picks })
                    .map(|_| Some(dice.below(n) as u32))
                    .collect();
                for (_, array) in columns.iter_mut() {
                    *array = take(array, &picks, None).unwrap();
                }
            }
            _ => {
                let other = dice.below(columns.len());
                let array = Arc::clone(&columns[other].1);
                columns[at].1 = array;
            }
        }
    }
}

/// A column of values at the edges of their types.
fn odd(n: usize, dice: &mut Dice) -> ArrayRef {
    match dice.below(6) {
        0 => Arc::new((0..n).map(|_| Some(dice.of(REALS))).collect::<Float64Array>()),
        1 => Arc::new((0..n).map(|_| Some(dice.of(WHOLES))).collect::<Int64Array>()),
        2 => Arc::new(
            (0..n)
                .map(|i| Some(if i == 0 { "x".repeat(70_000) } else { name(dice) }))
                .collect::<StringArray>(),
        ),
        3 => Arc::new((0..n).map(|_| Some([0xff_u8, 0xfe])).collect::<BinaryArray>()),
        4 => Arc::new(NullArray::new(n)),
        _ => Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(
            (0..n).map(|i| Some(vec![Some(1.0); i % 3])),
        )),
    }
}

fn batch(columns: &Columns) -> Option<RecordBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns.iter().map(|(_, array)| Arc::clone(array)).collect(),
    )
    .ok()
}

/// The columns as a Parquet file in one of the many ways to write it; none where that cannot be
/// written.
pub(super) fn as_parquet(columns: &Columns, dice: &mut Dice) -> Option<Vec<u8>> {
    let batch = batch(columns)?;
    let properties = WriterProperties::builder()
        .set_compression(dice.of(&[
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::LZ4_RAW,
            Compression::ZSTD(Default::default()),
        ]))
        .set_dictionary_enabled(dice.one_in(2))
        .set_writer_version(dice.of(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]))
        .set_statistics_enabled(dice.of(&[
            EnabledStatistics::None,
            EnabledStatistics::Chunk,
            EnabledStatistics::Page,
        ]))
        .set_max_row_group_row_count(Some(dice.of(&[1, 7, 1000])))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).ok()?;
    writer.write(&batch).ok()?;
    writer.into_inner().ok()
}

/// The columns as a stream of two batches.
pub(super) fn as_stream(columns: &Columns, dice: &mut Dice) -> Option<Vec<u8>> {
    let n = columns.first().map_or(0, |(_, array)| array.len());
    stream_cut_at(columns, dice.below(n + 1))
}

/// The columns as a stream whose first batch has so many rows.
pub(super) fn stream_cut_at(columns: &Columns, cut: usize) -> Option<Vec<u8>> {
    let batch = batch(columns)?;
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &batch.schema()).ok()?;
    for part in [batch.slice(0, cut), batch.slice(cut, batch.num_rows() - cut)] {
        writer.write(&part).ok()?;
    }
    writer.finish().ok()?;
    drop(writer);
    Some(stream)
}

/// Forty people: id, sex, repaid, age, job.
pub(super) fn people() -> Columns {
    let rows = 0..40_i64;
    let text = |of: fn(i64) -> Option<&'static str>| {
        Arc::new(rows.clone().map(of).collect::<StringArray>()) as ArrayRef
    };
    vec![
        ("id".to_owned(), Arc::new(Int64Array::from_iter_values(rows.clone().map(|i| i + 100)))),
        ("sex".to_owned(), text(|i| Some(if i % 2 == 0 { "f" } else { "m" }))),
        ("repaid".to_owned(), text(|i| Some(if i * 7 % 3 == 0 { "yes" } else { "no" }))),
        (
            "age".to_owned(),
            Arc::new(Float64Array::from_iter_values(
                rows.clone().map(|i| 20.0 + (i * 11 % 17) as f64),
            )),
        ),
        (
            "job".to_owned(),
            text(|i| (i % 5 > 0).then_some(if i % 3 == 0 { "cook" } else { "clerk" })),
        ),
    ]
}

/// Scores of these people had they the other sex.
pub(super) fn scores() -> Columns {
    let rows = 0..40_i64;
    vec![
        (
            "row_id".to_owned(),
            Arc::new(Int64Array::from_iter_values(rows.clone().map(|i| i + 100))),
        ),
        (
            "sensitive".to_owned(),
            Arc::new(StringArray::from_iter_values(rows.clone().map(|_| "sex"))),
        ),
        (
            "to_group".to_owned(),
            Arc::new(StringArray::from_iter_values(
                rows.clone().map(|i| if i % 2 == 0 { "m" } else { "f" }),
            )),
        ),
        ("cf_index".to_owned(), Arc::new(Int64Array::from_iter_values(rows.clone().map(|_| 0)))),
        (
            "score".to_owned(),
            Arc::new(Float64Array::from_iter_values(rows.map(|i| i as f64 / 40.0))),
        ),
    ]
}
