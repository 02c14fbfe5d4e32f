//! The floor of a work: the same files read, or read and written again, by the Parquet crate and
//! nothing else.
//!
//! `floor read THREADS FILE[=COLUMN,COLUMN...]...` decodes the columns (all where none is named),
//! row group by row group on so many threads. `floor copy OUT SOURCE[=COLUMN,...] FILE...` reads
//! the source on one thread, and reads each other file and writes it to OUT again, with the codec
//! and the encodings that each column has. Texts are decoded as positions. Prints the number of
//! rows.
//! The scripts that start it time the process from outside (`bench/timing.py`).

#![expect(clippy::print_stdout, reason = "the result goes to the script that asked")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark without its files ends"
)]

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

const BATCH_ROWS: usize = 65_536;

/// A file with the columns to read.
struct FloorFile {
    path: String,
    columns: ProjectionMask,
    about: ArrowReaderMetadata,
}

impl FloorFile {
    fn open(argument: &str) -> Self {
        let (path, columns) = argument.split_once('=').unwrap_or((argument, ""));
        let file = File::open(path).unwrap();
        let about = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
        let as_positions = |field: &Arc<Field>| match field.data_type() {
            DataType::Utf8 => {
                let positions =
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                Field::new(field.name(), positions, field.is_nullable())
            }
            other => Field::new(field.name(), other.clone(), field.is_nullable()),
        };
        let fields: Vec<Field> = about.schema().fields().iter().map(as_positions).collect();
        let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
        let about = ArrowReaderMetadata::load(&file, options).unwrap();
        let schema = about.metadata().file_metadata().schema_descr();
        let columns = match columns {
            "" => ProjectionMask::all(),
            names => ProjectionMask::columns(schema, names.split(',')),
        };
        FloorFile { path: path.to_owned(), columns, about }
    }

    fn n_groups(&self) -> usize {
        self.about.metadata().num_row_groups()
    }

    fn read(&self, group: usize) -> impl Iterator<Item = RecordBatch> {
        let file = File::open(&self.path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.about.clone())
            .with_row_groups(vec![group])
            .with_projection(self.columns.clone())
            .with_batch_size(BATCH_ROWS);
        reader.build().unwrap().map(|batch| batch.unwrap())
    }

    /// As each column is written here.
    fn properties(&self) -> WriterProperties {
        let mut properties = WriterProperties::builder();
        for column in self.about.metadata().row_group(0).columns() {
            let path = column.column_path();
            properties = properties.set_column_compression(path.clone(), column.compression());
            if column.dictionary_page_offset().is_none() {
                properties = properties.set_column_dictionary_enabled(path.clone(), false);
                if column.encodings().any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED) {
                    properties =
                        properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
                }
            }
        }
        properties.build()
    }

    /// Writes the columns to `out`; the number of rows.
    fn copy(&self, out: &str) -> usize {
        let (mut writer, mut rows) = (None, 0);
        for group in 0..self.n_groups() {
            for batch in self.read(group) {
                let writer = writer.get_or_insert_with(|| {
                    let out = File::create(out).unwrap();
                    ArrowWriter::try_new(out, batch.schema(), Some(self.properties())).unwrap()
                });
                writer.write(&batch).unwrap();
                rows += batch.num_rows();
            }
            if let Some(writer) = &mut writer {
                writer.flush().unwrap();
            }
        }
        writer.map(|writer| writer.close().unwrap());
        rows
    }
}

/// Reads the files on so many threads; the number of rows.
fn read(threads: usize, files: &[FloorFile]) -> usize {
    let groups: Vec<(&FloorFile, usize)> = files
        .iter()
        .flat_map(|file| (0..file.n_groups()).map(move |group| (file, group)))
        .collect();
    let (next, rows) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((file, group)) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for batch in file.read(*group) {
                        rows.fetch_add(std::hint::black_box(batch).num_rows(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    rows.into_inner()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let Some(([work, to], files)) = args.split_first_chunk() else {
        panic!("asked with `read THREADS FILE...` or `copy OUT SOURCE FILE...`")
    };
    let files: Vec<FloorFile> = files.iter().map(|file| FloorFile::open(file)).collect();
    let rows = match work.as_str() {
        "read" => read(to.parse().unwrap(), &files),
        "copy" => read(1, &files[..1]) + files[1..].iter().map(|file| file.copy(to)).sum::<usize>(),
        other => panic!("`{other}` is neither `read` nor `copy`"),
    };
    println!("{{\"rows\": {rows}}}");
}
