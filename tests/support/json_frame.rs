//! Small Parquet files as JSON values, column by column; infinite numbers are `inf` and `-inf`.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value as Json, json};

pub(crate) type JsonFrame = BTreeMap<String, Vec<Json>>;

pub(crate) fn read(path: &Path) -> JsonFrame {
    let mut frame = JsonFrame::new();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    for batch in reader.build().unwrap() {
        let batch = batch.unwrap();
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let values = frame.entry(field.name().clone()).or_default();
            match field.data_type() {
                DataType::List(_) => {}
                DataType::Boolean => values.extend(array.as_boolean().iter().map(|x| json!(x))),
                kind if kind.is_integer() => {
                    let array = cast(array, &DataType::Int64).unwrap();
                    values.extend(array.as_primitive::<Int64Type>().iter().map(|x| json!(x)));
                }
                kind if kind.is_floating() => {
                    let array = cast(array, &DataType::Float64).unwrap();
                    let json = |x: Option<f64>| match x {
                        Some(x) if x.is_infinite() => json!(x.to_string()),
                        x => json!(x),
                    };
                    values.extend(array.as_primitive::<Float64Type>().iter().map(json));
                }
                _ => {
                    let array = cast(array, &DataType::Utf8).unwrap();
                    values.extend(array.as_string::<i32>().iter().map(|x| json!(x)));
                }
            }
        }
    }
    frame
}
