//! A Parquet file being written: batches become row groups on any thread and are appended in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriter, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::{FileOwner, unreadable};
use crate::error::{Error, Result};
use crate::exec::files::{self, File};
use crate::table::field_marks::{CACHED, DIRECT, SAMPLED, is_written, repeats};

/// A row group encoded on some thread, ready to be appended.
#[derive(Debug)]
pub(crate) struct EncodedGroup(Vec<ArrowColumnChunk>);

/// A row group that is being encoded.
#[derive(Default)]
pub(super) struct OpenGroup {
    columns: Vec<ArrowColumnWriter>,
    pub(super) rows: usize,
}

/// Encodes batches into row groups; shared by the threads of a stage.
pub(crate) struct GroupEncoder {
    factory: ArrowRowGroupWriterFactory,
    /// Writes columns without a dictionary; present where a row group may ask for it.
    direct: Option<ArrowRowGroupWriterFactory>,
    pub(crate) schema: SchemaRef,
    pub(crate) path: PathBuf,
}

impl GroupEncoder {
    /// Encodes one batch as one row group.
    ///
    /// # Errors
    /// A batch that does not fit the schema.
    pub(crate) fn encode(&self, batch: &RecordBatch) -> Result<EncodedGroup> {
        let mut open = OpenGroup::default();
        self.add(&mut open, batch)?;
        self.close(open)
    }

    /// Encodes the columns of the file as one row group.
    ///
    /// # Errors
    /// Never in practice.
    pub(crate) fn encode_columns(&self, columns: Vec<ArrayRef>) -> Result<EncodedGroup> {
        let hint = "this is a bug in cfaudit: a column has another length or type than the file";
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|e| Error::operator("write", &self.path, e, hint))?;
        self.encode(&batch)
    }

    /// Encodes rows as the next of a row group; the first ones decide how its columns are written.
    ///
    /// # Errors
    /// As [`GroupEncoder::encode`].
    pub(super) fn add(&self, open: &mut OpenGroup, rows: &RecordBatch) -> Result<()> {
        let fail = |e: ParquetError| unreadable(&self.path, FileOwner::Program, e);
        let is_new = open.columns.is_empty();
        let writers = |factory: &ArrowRowGroupWriterFactory| match is_new {
            true => factory.create_column_writers(0).map_err(fail),
            false => Ok(Vec::new()),
        };
        let mut usual = writers(&self.factory)?.into_iter();
        let direct = self.direct.as_ref().map(writers).transpose()?;
        let mut direct = direct.unwrap_or_default().into_iter();
        let mut at = 0;
        for (field, column) in self.schema.fields().iter().zip(rows.columns()) {
            let direct_here = is_new && is_written(field, SAMPLED) && !repeats(column);
            for leaf in compute_leaves(field, column).map_err(fail)? {
                let (usual, direct) = (usual.next(), direct.next());
                open.columns.extend(direct.filter(|_| direct_here).or(usual));
                open.columns[at].write(&leaf).map_err(fail)?;
                at += 1;
            }
        }
        open.rows += rows.num_rows();
        Ok(())
    }

    /// The whole row group.
    ///
    /// # Errors
    /// A column cannot be encoded.
    pub(super) fn close(&self, open: OpenGroup) -> Result<EncodedGroup> {
        let columns = open.columns.into_iter().map(ArrowColumnWriter::close);
        let chunks = columns.collect::<Result<Vec<_>, _>>();
        chunks.map(EncodedGroup).map_err(|e| unreadable(&self.path, FileOwner::Program, e))
    }
}

/// A Parquet file being written, row group after row group in order.
pub(crate) struct GroupWriter {
    writer: SerializedFileWriter<File>,
    path: PathBuf,
}

fn write_error(path: &Path, cause: ParquetError) -> Error {
    match cause {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => Error::io("write", path, &io),
            Err(other) => Error::operator("write", path, other, None),
        },
        other => Error::operator("write", path, other, None),
    }
}

impl GroupWriter {
    /// Creates the file; `metadata` goes into the schema's key-value pairs.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn create(
        path: &Path,
        schema: &Schema,
        metadata: &[(&str, String)],
    ) -> Result<(GroupEncoder, GroupWriter)> {
        let mut pairs = schema.metadata().clone();
        pairs.extend(metadata.iter().map(|(k, v)| ((*k).to_owned(), v.clone())));
        let schema: SchemaRef = Arc::new(Schema::new_with_metadata(schema.fields().clone(), pairs));
        let file = files::create(path)?;
        // Sorted, so that the bytes do not depend on the order of a hash map.
        let mut key_values: Vec<KeyValue> =
            metadata.iter().map(|(k, v)| KeyValue::new((*k).to_owned(), v.clone())).collect();
        key_values.sort_by(|a, b| a.key.cmp(&b.key));
        let key_values = (!key_values.is_empty()).then_some(key_values);
        let properties = |is_direct: &dyn Fn(&Field) -> bool| {
            let mut properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_created_by("cfaudit".to_owned())
                .set_key_value_metadata(key_values.clone());
            for field in schema.fields() {
                let (kind, is_direct) = (field.data_type(), is_direct(field));
                let column = || ColumnPath::new(vec![field.name().clone()]);
                if field.metadata().contains_key(CACHED) {
                    // Numbers that hardly repeat have few equal bytes; codes are packed already.
                    let is_dense = kind.is_floating() || kind.is_unsigned_integer();
                    let codec = match is_dense && is_direct {
                        true => Compression::UNCOMPRESSED,
                        false => Compression::LZ4_RAW,
                    };
                    properties = properties
                        .set_column_compression(column(), codec)
                        .set_column_statistics_enabled(column(), EnabledStatistics::None);
                }
                if is_direct {
                    properties = properties.set_column_dictionary_enabled(column(), false);
                }
                if is_direct && kind.is_integer() {
                    let packed = Encoding::DELTA_BINARY_PACKED;
                    properties = properties.set_column_encoding(column(), packed);
                }
            }
            let properties = properties.build();
            parquet::arrow::arrow_writer::ArrowWriterOptions::new()
                .with_properties(properties)
                .with_skip_arrow_metadata(true)
        };
        let fail = |e| write_error(path, e);
        let options = properties(&|field| is_written(field, DIRECT));
        let writer =
            ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options).map_err(fail)?;
        let (writer, factory) = writer.into_serialized_writer().map_err(fail)?;
        let direct = if schema.fields().iter().any(|field| is_written(field, SAMPLED)) {
            // Chunks state how they are encoded; the file around this writer is discarded.
            let options =
                properties(&|field| is_written(field, DIRECT) || is_written(field, SAMPLED));
            let writer =
                ArrowWriter::try_new_with_options(std::io::sink(), Arc::clone(&schema), options)
                    .map_err(fail)?;
            Some(writer.into_serialized_writer().map_err(fail)?.1)
        } else {
            None
        };
        Ok((
            GroupEncoder { factory, direct, schema, path: path.to_path_buf() },
            GroupWriter { writer, path: path.to_path_buf() },
        ))
    }

    /// Appends an encoded row group.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn append(&mut self, group: EncodedGroup) -> Result<()> {
        let mut row_group = self.writer.next_row_group().map_err(|e| write_error(&self.path, e))?;
        for chunk in group.0 {
            chunk.append_to_row_group(&mut row_group).map_err(|e| write_error(&self.path, e))?;
        }
        row_group.close().map_err(|e| write_error(&self.path, e))?;
        Ok(())
    }

    /// Writes the footer and makes sure that the bytes are on the disk.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn finish(mut self) -> Result<()> {
        // `into_inner` would turn the error of the disk into a text, and lose the hint.
        self.writer.finish().map_err(|e| write_error(&self.path, e))?;
        self.writer.inner().sync_all().map_err(|e| Error::io("write", &self.path, &e))
    }
}
