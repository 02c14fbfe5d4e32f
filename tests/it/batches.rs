//! Parquet files as record batches: read whole, and written.

use std::fs::{self, File};
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

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

/// Writes rows into a file, and makes its folder.
pub(crate) fn write(path: &Path, lines: &RecordBatch) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), lines.schema(), None).unwrap();
    writer.write(lines).unwrap();
    writer.close().unwrap();
}
