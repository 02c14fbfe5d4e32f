//! Small Parquet files as JSON values, column by column.

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
    for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap())
        .unwrap()
        .build()
        .unwrap()
    {
        let batch = batch.unwrap();
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let values = frame.entry(field.name().clone()).or_default();
            match field.data_type() {
                DataType::Boolean => values.extend(array.as_boolean().iter().map(|x| json!(x))),
                kind if kind.is_integer() => {
                    values.extend(
                        cast(array, &DataType::Int64)
                            .unwrap()
                            .as_primitive::<Int64Type>()
                            .iter()
                            .map(|x| json!(x)),
                    );
                }
                kind if kind.is_floating() => {
                    values.extend(array.as_primitive::<Float64Type>().iter().map(|x| json!(x)))
                }
                _ => values.extend(
                    cast(array, &DataType::Utf8)
                        .unwrap()
                        .as_string::<i32>()
                        .iter()
                        .map(|x| json!(x)),
                ),
            }
        }
    }
    frame
}
