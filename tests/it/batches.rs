//! Parquet files as record batches: read whole, and written.

use std::fs::{self, File};
use std::iter::once;
use std::path::Path;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::work::files;

/// The rows of a file.
pub(crate) fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = reader.schema().clone();
    concat_batches(&schema, &reader.build().unwrap().map(Result::unwrap).collect::<Vec<_>>())
        .unwrap()
}

/// The parts of a folder of rows to score, in order.
pub(crate) fn read_folder(folder: &Path) -> RecordBatch {
    let parts: Vec<RecordBatch> =
        files(folder).keys().map(|name| read(&folder.join(name))).collect();
    concat_batches(&parts[0].schema(), &parts).unwrap()
}

/// The lines that answer rows to score: the keys of each, and the value of this column.
pub(crate) fn answered(asked: &RecordBatch, name: &str, cells: ArrayRef) -> RecordBatch {
    let key = |name: &'static str| Some((name, asked.column_by_name(name)?.clone(), true));
    // Those of rows as they are lack the keys of a counterfactual.
    let [row, request] = ["row_id", "request"].map(|name| key(name).unwrap());
    let of_set = ["sensitive", "to_group", "cf_index"].into_iter().filter_map(key);
    let keys = once(row).chain(of_set).chain([request]);
    RecordBatch::try_from_iter_with_nullable(keys.chain([(name, cells, true)])).unwrap()
}

/// Writes rows into a file, and makes its folder.
pub(crate) fn write(path: &Path, lines: &RecordBatch) {
    write_with(path, lines, WriterProperties::builder().build());
}

pub(crate) fn write_with(path: &Path, lines: &RecordBatch, properties: WriterProperties) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, lines.schema(), Some(properties)).unwrap();
    writer.write(lines).unwrap();
    writer.close().unwrap();
}

/// The metadata in the footer of a file, without its schema.
pub(crate) fn notes(path: &Path) -> Option<Vec<KeyValue>> {
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    file.metadata().file_metadata().key_value_metadata().cloned()
}

/// Writes rows into a file with this metadata in its footer.
pub(crate) fn write_noted(path: &Path, lines: &RecordBatch, notes: Option<Vec<KeyValue>>) {
    let properties = WriterProperties::builder().set_key_value_metadata(notes).build();
    write_with(path, lines, properties);
}

/// Writes batches as a stream of a program.
pub(crate) fn write_stream(path: &Path, batches: &[RecordBatch]) {
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new(File::create(path).unwrap(), &schema).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}
