//! Streams record batches into and out of Parquet files, a row group at a time; reads and writes
//! the small result tables.
//!
//! Every file between the stages is cut into row groups of the same number of rows, so that several
//! files of one run (rows, roles, scores) line up group by group and a stage reads them
//! together. A row group is the unit of memory and of parallel work.
//! Results are zstd; files between the stages, which are read soon and thrown away, are lz4 or,
//! where that saves little, not packed at all. All have a fixed `created_by` and no times, so equal
//! contents are equal bytes.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriter, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::Length;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::error::{Error, Fault, Result};
use crate::exec::files::{self, File};
use crate::exec::object::{self, ObjectFile, OpenedObject};
use crate::table::byte_source::{ByteSource, ObjectBytes};
use crate::table::decoding::decoded;
use crate::table::field_marks::{CACHED, DIRECT, SAMPLED, distinct, is_written, repeats};
use crate::table::footer::contradiction;
use crate::table::{ColumnDef, ColumnType, TableDef, TableRow};

/// Rows of one row group unless `--batch-rows` says otherwise.
pub(crate) const BATCH_ROWS: usize = 65_536;

/// Row groups hold a multiple of this many rows, so that sums over fixed blocks of rows do not
/// depend on `--batch-rows`.
pub(crate) const BLOCK_ROWS: usize = 1024;

/// Rows of a table that are decoded in one go.
pub(crate) const READ_ROWS: usize = 16_384;

/// Rows of one row group in result tables.
const TABLE_GROUP_ROWS: usize = 1_000_000;

/// Rows of one row group in long tables: the open group is the memory that writing them takes.
const LONG_GROUP_ROWS: usize = 250_000;

/// Rows of a long table that are encoded at a time; divides [`LONG_GROUP_ROWS`].
const LONG_CHUNK_ROWS: usize = 50_000;

/// Whose file it is: decides who must act when it cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// The user's data or scores: status 3.
    User,
    /// A file that cfaudit wrote itself: status 5.
    Program,
}

fn unreadable(path: &Path, owner: FileOwner, cause: impl std::fmt::Display) -> Error {
    match owner {
        FileOwner::User => Fault::new(
            "unreadable-file",
            format!("`{}` cannot be read as Parquet: {cause}", path.display()),
        )
        .in_file(path)
        .hint(if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv")) {
            "scores are read only from Parquet, rows also with `csv:`; convert it, for example \
             by `duckdb -c \"copy 'A.csv' to 'A.parquet'\"`"
        } else {
            "the file is truncated, damaged or not a Parquet file; write it again"
        })
        .into(),
        FileOwner::Program => Error::operator(
            "read",
            path,
            cause,
            "the file was damaged after it was written; run the job again (a damaged entry of the \
             cache must be deleted first)",
        ),
    }
}

/// A Parquet file opened for reading row group by row group, from any thread.
#[derive(Debug, Clone)]
pub struct ParquetFile {
    path: PathBuf,
    owner: FileOwner,
    /// It in an object store; none on this machine.
    object: Option<Arc<ObjectFile>>,
    meta: ArrowReaderMetadata,
}

impl ParquetFile {
    /// Opens the file and reads its footer.
    ///
    /// # Errors
    /// The file is absent or no Parquet file.
    pub fn open(path: &Path, owner: FileOwner) -> Result<Self> {
        let object = object::open(&[path.to_path_buf()])?.pop().flatten();
        ParquetFile::load(path, owner, object)
    }

    /// Opens files; the footers of those in an object store are fetched together.
    ///
    /// # Errors
    /// As [`ParquetFile::open`], of the first such file.
    pub fn open_all(paths: &[PathBuf], owner: FileOwner) -> Result<Vec<Self>> {
        let mut opened = Vec::with_capacity(paths.len());
        for paths in paths.chunks(object::OPENED_AT_ONCE) {
            for (path, object) in paths.iter().zip(object::open(paths)?) {
                opened.push(ParquetFile::load(path, owner, object)?);
            }
        }
        Ok(opened)
    }

    fn load(path: &Path, owner: FileOwner, object: Option<OpenedObject>) -> Result<Self> {
        let file = object.as_ref().map(|opened| Arc::new(opened.file.clone()));
        let source = match object {
            Some(opened) => ByteSource::Object(Arc::new(ObjectBytes::opened(opened))),
            None => ByteSource::File(files::open(path)?),
        };
        let meta = ArrowReaderMetadata::load(&source, ArrowReaderOptions::new())
            .map_err(|e| source.failure().unwrap_or_else(|| unreadable(path, owner, e)))?;
        if let Some(what) = contradiction(meta.metadata(), source.len()) {
            return Err(unreadable(path, owner, what));
        }
        Ok(ParquetFile { path: path.to_path_buf(), owner, object: file, meta })
    }

    /// The same file, where columns of text whose every page holds positions in a list of texts are
    /// read unchanged: the list once, and a position per row. Others are read as before.
    ///
    /// # Errors
    /// The footer contradicts itself.
    pub fn with_coded_texts(mut self) -> Result<Self> {
        let meta = Arc::clone(self.meta.metadata());
        let leaves = meta.file_metadata().schema_descr();
        // Old files say it by the second word.
        let words = [Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
        let is_coded = |leaf: usize| {
            let pages =
                |group: usize| meta.row_group(group).column(leaf).page_encoding_stats_mask();
            (0..meta.num_row_groups()).all(|group| {
                pages(group).is_some_and(|pages| words.iter().any(|&word| pages.is_only(word)))
            })
        };
        // A column of text is one leaf, and a leaf that is a separate column has only its name as
        // the path.
        let coded = |name: &str| {
            (0..leaves.num_columns())
                .any(|leaf| leaves.column(leaf).path().parts() == [name] && is_coded(leaf))
        };
        let read_as = |field: &Field| match field.data_type() {
            DataType::Utf8 if coded(field.name()) => {
                let positions =
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                field.clone().with_data_type(positions)
            }
            _ => field.clone(),
        };
        let fields: Vec<Field> =
            self.schema().fields().iter().map(|field| read_as(field)).collect();
        if fields
            .iter()
            .zip(self.schema().fields())
            .any(|(new, old)| new.data_type() != old.data_type())
        {
            let schema =
                Arc::new(Schema::new_with_metadata(fields, self.schema().metadata().clone()));
            let options = ArrowReaderOptions::new().with_schema(schema);
            self.meta = ArrowReaderMetadata::try_new(meta, options)
                .map_err(|e| unreadable(&self.path, self.owner, e))?;
        }
        Ok(self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        self.meta.schema()
    }

    /// A value of the file's own metadata.
    pub fn note(&self, key: &str) -> Option<&str> {
        let pairs = self.meta.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Number of row groups.
    pub fn n_groups(&self) -> usize {
        self.meta.metadata().num_row_groups()
    }

    /// Number of rows of a row group.
    pub fn group_rows(&self, group: usize) -> usize {
        usize::try_from(self.meta.metadata().row_group(group).num_rows()).unwrap_or(0)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        u64::try_from(self.meta.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// The metadata value of a key that [`GroupWriter::create`] was given.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.schema().metadata().get(key).map(String::as_str)
    }

    /// One row group as one batch with the named top-level columns (in the order of the file), or
    /// all columns.
    ///
    /// # Errors
    /// A damaged file, or a name that the file does not have.
    pub fn read_group(&self, group: usize, columns: Option<&[&str]>) -> Result<RecordBatch> {
        self.read_slice(group, columns, None)
    }

    /// Rows `offset .. offset + limit` of one row group.
    ///
    /// # Errors
    /// As [`ParquetFile::read_group`].
    pub fn read_slice(
        &self,
        group: usize,
        columns: Option<&[&str]>,
        slice: Option<(usize, usize)>,
    ) -> Result<RecordBatch> {
        let rows = slice.map_or_else(|| self.group_rows(group), |(_, limit)| limit);
        let (schema, reader) = self.reader(group, columns, slice, rows)?;
        let mut batches = reader.collect::<Result<Vec<RecordBatch>>>()?;
        match batches.len() {
            1 => Ok(batches.remove(0)),
            _ => {
                concat_batches(&schema, &batches).map_err(|e| unreadable(&self.path, self.owner, e))
            }
        }
    }

    /// Rows `offset .. offset + limit` of one row group in batches of at most `batch_rows`, one at
    /// a time in memory.
    ///
    /// # Errors
    /// As [`ParquetFile::read_group`].
    pub fn batches(
        &self,
        group: usize,
        columns: Option<&[&str]>,
        slice: Option<(usize, usize)>,
        batch_rows: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>>> {
        Ok(self.reader(group, columns, slice, batch_rows)?.1)
    }

    fn reader(
        &self,
        group: usize,
        columns: Option<&[&str]>,
        slice: Option<(usize, usize)>,
        batch_rows: usize,
    ) -> Result<(SchemaRef, impl Iterator<Item = Result<RecordBatch>>)> {
        let fail = |cause: &dyn std::fmt::Display| unreadable(&self.path, self.owner, cause);
        let mask = match columns {
            None => ProjectionMask::all(),
            Some(names) => {
                let found = names.iter().map(|name| self.schema().index_of(name));
                let roots = found.collect::<Result<Vec<_>, _>>().map_err(|e| fail(&e))?;
                let leaves = self.meta.metadata().file_metadata().schema_descr();
                ProjectionMask::roots(leaves, roots)
            }
        };
        let source = self.source(group, &mask)?;
        let failure = source.failures();
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(source, self.meta.clone())
                .with_row_groups(vec![group])
                .with_projection(mask);
        if let Some((offset, limit)) = slice {
            builder = builder.with_offset(offset).with_limit(limit);
        }
        let built = builder.with_batch_size(batch_rows.max(1)).build();
        let reader = built.map_err(|e| failure().unwrap_or_else(|| fail(&e)))?;
        let (path, owner) = (self.path.clone(), self.owner);
        let (schema, mut reader, mut broken) = (reader_schema(&reader), reader, false);
        let mut due = slice.map_or_else(
            || self.group_rows(group),
            |(offset, limit)| limit.min(self.group_rows(group).saturating_sub(offset)),
        );
        let next = move || {
            if broken {
                return None;
            }
            // The library takes some lengths inside a damaged page at their word, and panics.
            let read = decoded(|| reader.next());
            broken = read.is_none();
            let damaged = |what: &str| Some(Err(ArrowError::ParquetError(what.to_owned())));
            let batch = match read.unwrap_or_else(|| damaged("a page of it cannot be decoded")) {
                // Its pages may hold fewer values than its footer says.
                None if due > 0 => {
                    broken = true;
                    damaged("a column of it holds fewer values than rows")
                }
                batch => batch,
            };
            if let Some(Ok(batch)) = &batch {
                due = due.saturating_sub(batch.num_rows());
            }
            let told = |e| failure().unwrap_or_else(|| unreadable(&path, owner, e));
            batch.map(|batch| batch.map_err(told))
        };
        Ok((schema, std::iter::from_fn(next)))
    }

    /// The bytes of a row group: of an object the wanted columns, fetched here.
    fn source(&self, group: usize, mask: &ProjectionMask) -> Result<ByteSource> {
        let Some(object) = &self.object else {
            return Ok(ByteSource::File(files::open(&self.path)?));
        };
        let columns = self.meta.metadata().row_group(group).columns().iter().enumerate();
        // The footer was compared with the size of the object.
        let wanted = columns.filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|(_, column)| {
            let (start, length) = column.byte_range();
            start..start + length
        });
        ObjectBytes::of_chunks(object, wanted.collect()).map(|of| ByteSource::Object(Arc::new(of)))
    }
}

fn reader_schema(reader: &parquet::arrow::arrow_reader::ParquetRecordBatchReader) -> SchemaRef {
    use arrow::record_batch::RecordBatchReader;
    reader.schema()
}

/// A row group encoded on some thread, ready to be appended.
#[derive(Debug)]
pub(crate) struct EncodedGroup(Vec<ArrowColumnChunk>);

/// Encodes batches into row groups; shared by the threads of a stage.
pub(crate) struct GroupEncoder {
    factory: ArrowRowGroupWriterFactory,
    /// Writes columns without a dictionary; there where a row group may ask for it.
    direct: Option<ArrowRowGroupWriterFactory>,
    schema: SchemaRef,
    path: PathBuf,
}

impl GroupEncoder {
    /// Encodes one batch as one row group.
    ///
    /// # Errors
    /// A batch that does not fit the schema.
    pub(crate) fn encode(&self, batch: &RecordBatch) -> Result<EncodedGroup> {
        let fail = |e: parquet::errors::ParquetError| unreadable(&self.path, FileOwner::Program, e);
        let writers =
            |factory: &ArrowRowGroupWriterFactory| factory.create_column_writers(0).map_err(fail);
        let mut direct = self.direct.as_ref().map(writers).transpose()?.map(Vec::into_iter);
        let mut chunks = Vec::new();
        let mut usual = writers(&self.factory)?.into_iter();
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            let direct_here = is_written(field, SAMPLED) && !repeats(column);
            for leaf in compute_leaves(field, column).map_err(fail)? {
                let (usual, direct) = (usual.next(), direct.as_mut().and_then(Iterator::next));
                if let Some(mut writer) = direct.filter(|_| direct_here).or(usual) {
                    writer.write(&leaf).map_err(fail)?;
                    chunks.push(writer.close().map_err(fail)?);
                }
            }
        }
        Ok(EncodedGroup(chunks))
    }
}

/// A Parquet file being written, row group after row group in order.
pub(crate) struct GroupWriter {
    writer: SerializedFileWriter<File>,
    path: PathBuf,
}

fn write_error(path: &Path, cause: parquet::errors::ParquetError) -> Error {
    match cause {
        parquet::errors::ParquetError::External(inner) => {
            match inner.downcast::<std::io::Error>() {
                Ok(io) => Error::io("write", path, &io),
                Err(other) => Error::operator("write", path, other, None),
            }
        }
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
            for field in schema.fields().iter().filter(|f| f.metadata().contains_key(CACHED)) {
                // Numbers that hardly repeat have few equal bytes; codes are packed already.
                let kind = field.data_type();
                let is_dense = kind.is_floating() || kind.is_unsigned_integer();
                let codec = match is_dense && is_direct(field) {
                    true => Compression::UNCOMPRESSED,
                    false => Compression::LZ4_RAW,
                };
                let column = ColumnPath::new(vec![field.name().clone()]);
                properties = properties
                    .set_column_compression(column.clone(), codec)
                    .set_column_statistics_enabled(column, EnabledStatistics::None);
            }
            for field in schema.fields().iter().filter(|field| is_direct(field)) {
                let column = ColumnPath::new(vec![field.name().clone()]);
                properties = properties.set_column_dictionary_enabled(column.clone(), false);
                if field.data_type().is_integer() {
                    properties =
                        properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
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
            // Chunks say themselves how they are encoded; the file around this writer goes nowhere.
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
        // `into_inner` would make a text of what the disk says, and lose the hint.
        self.writer.finish().map_err(|e| write_error(&self.path, e))?;
        self.writer.inner().sync_all().map_err(|e| Error::io("write", &self.path, &e))
    }
}

/// The Arrow schema of a result table.
pub(crate) fn schema_of(def: &TableDef) -> Schema {
    let fields: Vec<Field> = def
        .columns
        .iter()
        .map(|c| {
            let kind = match c.kind {
                ColumnType::Text => DataType::Utf8,
                ColumnType::Int => DataType::Int64,
                ColumnType::Real => DataType::Float64,
                ColumnType::Wide => DataType::Decimal128(38, 0),
                ColumnType::Key => DataType::UInt64,
            };
            let field = Field::new(c.name, kind, c.nullable);
            if matches!(c.kind, ColumnType::Real | ColumnType::Key) {
                distinct(field)
            } else {
                field
            }
        })
        .collect();
    Schema::new(fields)
}

/// The metadata every result table carries.
pub(crate) fn table_metadata(def: &TableDef) -> Vec<(&'static str, String)> {
    vec![("cfaudit.table", def.name.to_owned()), ("cfaudit.version", def.version.to_string())]
}

/// Writes a small table, sorted by its key, to `<folder>/<name>.parquet`.
///
/// # Errors
/// The disk refuses.
pub(crate) fn write_rows<R: TableRow>(folder: &Path, rows: &[R]) -> Result<()> {
    let mut rows: Vec<&R> = rows.iter().collect();
    rows.sort_by(|a, b| a.order(b));
    let path = folder.join(R::TABLE.file());
    let (encoder, mut writer) =
        GroupWriter::create(&path, &schema_of(R::TABLE), &table_metadata(R::TABLE))?;
    for rows in rows.chunks(TABLE_GROUP_ROWS) {
        writer.append(encoder.encode(&batch_of(rows.iter().copied(), &path)?)?)?;
    }
    writer.finish()
}

fn batch_of<'a, R: TableRow + 'a>(
    rows: impl Iterator<Item = &'a R> + Clone,
    path: &Path,
) -> Result<RecordBatch> {
    RecordBatch::try_new(Arc::new(schema_of(R::TABLE)), R::arrays(rows))
        .map_err(|e| unreadable(path, FileOwner::Program, e))
}

/// Writes a table too long for memory, such as `outcomes`, rows of one type at a time.
pub(crate) struct RowWriter<R> {
    pub(crate) writer: LongWriter,
    rows: PhantomData<fn(R)>,
}

impl<R: TableRow> RowWriter<R> {
    /// Creates `<folder>/<name>.parquet`.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        Ok(RowWriter { writer: LongWriter::create(folder, R::TABLE)?, rows: PhantomData })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn push(&mut self, rows: &[R]) -> Result<()> {
        let batch = batch_of(rows.iter(), &self.writer.path)?;
        self.writer.push_batch(batch)
    }

    /// Writes what is left and the footer.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}

/// Writes a long table. Rows are gathered into chunks of one size before they are encoded, so the
/// bytes do not depend on how they arrive; a row group holds 250,000 rows.
pub(crate) struct LongWriter {
    encoder: GroupEncoder,
    writer: GroupWriter,
    def: &'static TableDef,
    path: PathBuf,
    open: Option<OpenGroup>,
    pending: Vec<RecordBatch>,
    n_pending: usize,
}

struct OpenGroup {
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl LongWriter {
    /// Creates `<folder>/<name>.parquet`.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn create(folder: &Path, def: &'static TableDef) -> Result<Self> {
        let path = folder.join(def.file());
        let (encoder, writer) = GroupWriter::create(&path, &schema_of(def), &table_metadata(def))?;
        Ok(LongWriter { encoder, writer, def, path, open: None, pending: Vec::new(), n_pending: 0 })
    }

    /// Appends rows of the same table.
    ///
    /// # Errors
    /// The disk refuses, or the rows are of another table.
    pub(crate) fn push_batch(&mut self, batch: RecordBatch) -> Result<()> {
        self.n_pending += batch.num_rows();
        self.pending.push(batch);
        while self.n_pending >= LONG_CHUNK_ROWS {
            self.write(LONG_CHUNK_ROWS)?;
        }
        Ok(())
    }

    /// Encodes the first `n` waiting rows.
    fn write(&mut self, n: usize) -> Result<()> {
        let fail = |e: &dyn std::fmt::Display| unreadable(&self.path, FileOwner::Program, e);
        let all =
            concat_batches(&Arc::new(schema_of(self.def)), &self.pending).map_err(|e| fail(&e))?;
        let chunk = all.slice(0, n);
        self.pending = vec![all.slice(n, all.num_rows() - n)];
        self.n_pending -= n;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => OpenGroup {
                columns: self.encoder.factory.create_column_writers(0).map_err(|e| fail(&e))?,
                rows: 0,
            },
        };
        let mut writers = open.columns.iter_mut();
        for (field, column) in self.encoder.schema.fields().iter().zip(chunk.columns()) {
            for leaf in compute_leaves(field, column).map_err(|e| fail(&e))? {
                if let Some(writer) = writers.next() {
                    writer.write(&leaf).map_err(|e| fail(&e))?;
                }
            }
        }
        open.rows += n;
        if open.rows >= LONG_GROUP_ROWS {
            return self.close(open);
        }
        self.open = Some(open);
        Ok(())
    }

    fn close(&mut self, open: OpenGroup) -> Result<()> {
        let chunks =
            open.columns.into_iter().map(ArrowColumnWriter::close).collect::<Result<Vec<_>, _>>();
        self.writer.append(EncodedGroup(
            chunks.map_err(|e| unreadable(&self.path, FileOwner::Program, e))?,
        ))
    }

    /// Writes what is left and the footer.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.n_pending > 0 {
            self.write(self.n_pending)?;
        }
        if let Some(open) = self.open.take() {
            self.close(open)?;
        }
        self.writer.finish()
    }
}

/// Reads `<folder>/<name>.parquet`, in the order of the file; an absent file is an empty table.
///
/// # Errors
/// A damaged file, or a table of a later version.
pub(crate) fn read_rows<R: TableRow>(folder: &Path) -> Result<Vec<R>> {
    read_matching(folder, |_| true)
}

/// Shows `is_kept` every row of `<folder>/<name>.parquet` and keeps those for which it says so, in
/// their order; an absent file is an empty table.
///
/// # Errors
/// A damaged file, or a table of a later version.
pub(crate) fn read_matching<R: TableRow>(
    folder: &Path,
    mut is_kept: impl FnMut(&R) -> bool,
) -> Result<Vec<R>> {
    let mut rows = Vec::new();
    if let Some(file) = open_table(folder, R::TABLE)? {
        for_each_row(&file, |row: &R| {
            if is_kept(row) {
                rows.push(row.clone());
            }
        })?;
    }
    Ok(rows)
}

/// Hands every row of the file to `each`, in order.
///
/// # Errors
/// The file is absent or damaged, or holds another table or a later version.
pub(crate) fn read_file<R: TableRow>(path: &Path, each: impl FnMut(&R)) -> Result<()> {
    let file = ParquetFile::open(path, FileOwner::Program)?;
    check_version(&file, R::TABLE)?;
    for_each_row(&file, each)
}

/// Hands every row of a table of this version or an older one to `each`, in the order of the file.
///
/// # Errors
/// The file is damaged: a column is missing, or cannot hold the value there.
fn for_each_row<R: TableRow>(file: &ParquetFile, mut each: impl FnMut(&R)) -> Result<()> {
    let misfit = |column: &str| {
        let what = format!("column `{column}` holds invalid values");
        unreadable(file.path(), FileOwner::Program, what)
    };
    let mut before: Option<R> = None;
    for group in 0..file.n_groups() {
        for batch in file.batches(group, None, None, READ_ROWS)? {
            let batch = batch?;
            let arrays = columns_of(R::TABLE, file, &batch)?;
            let columns = R::columns(&mut arrays.iter()).map_err(misfit)?;
            for row in 0..batch.num_rows() {
                let row = R::read(&columns, row, before.as_ref()).map_err(misfit)?;
                each(&row);
                before = Some(row);
            }
        }
    }
    Ok(())
}

/// Opens a table of this version or an older one; none where it is absent.
pub(crate) fn open_table(folder: &Path, def: &TableDef) -> Result<Option<ParquetFile>> {
    let path = folder.join(def.file());
    if !path.exists() {
        return Ok(None);
    }
    let file = ParquetFile::open(&path, FileOwner::Program)?;
    check_version(&file, def)?;
    Ok(Some(file))
}

/// The columns of a table in the order of `def`. A column that came after the version of the file
/// is null where it may be; a text of the key is empty, which means all.
fn columns_of(def: &TableDef, file: &ParquetFile, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let (schema, n) = (schema_of(def), batch.num_rows());
    let column = |(i, (column, field)): (usize, (&ColumnDef, &Arc<Field>))| -> Result<ArrayRef> {
        let older = table_version(file).filter(|version| *version < column.since);
        let is_key_text = i < def.n_key && column.kind == ColumnType::Text;
        match (batch.column_by_name(column.name), older) {
            (Some(array), _) => Ok(Arc::clone(array)),
            (None, Some(_)) if column.nullable => Ok(new_null_array(field.data_type(), n)),
            (None, Some(_)) if is_key_text => {
                Ok(Arc::new(StringArray::from_iter_values(std::iter::repeat_n("", n))))
            }
            (None, Some(version)) => Err(Error::operator(
                "read",
                file.path(),
                format!("table `{}` of version {version} lacks `{}`", def.name, column.name),
                OTHER_VERSION,
            )),
            (None, None) => Err(unreadable(
                file.path(),
                FileOwner::Program,
                format!("column `{}` is missing", column.name),
            )),
        }
    };
    def.columns.iter().zip(schema.fields()).enumerate().map(column).collect()
}

/// What to do about a table of another version.
const OTHER_VERSION: &str =
    "run the job again with this program, or read the folder with the version that wrote it";

/// Refuses a file of a later version of a table.
pub(crate) fn check_version(file: &ParquetFile, def: &TableDef) -> Result<()> {
    let version = table_version(file);
    if version.is_some_and(|version| (1..=def.version).contains(&version)) {
        return Ok(());
    }
    Err(Error::operator(
        "read",
        file.path(),
        format!(
            "it is version {} of table `{}`, this program reads version {}",
            version.map_or("?".to_owned(), |v| v.to_string()),
            def.name,
            def.version
        ),
        OTHER_VERSION,
    ))
}

pub(crate) fn table_version(file: &ParquetFile) -> Option<u32> {
    file.note("cfaudit.version")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::{GroupWriter, read_rows, table_metadata, write_rows};
    use crate::table::{
        AuditKey, CountRow, CurveRow, GraphRow, GroupRow, IssueRow, RowColumns, SelectedRow,
        TableDef, TableRow,
    };

    #[test]
    fn rows_are_read_back_sorted_by_key() {
        let folder = tempfile::tempdir().unwrap();
        let row = |group: &str, weight| GroupRow {
            model: "m".into(),
            group: group.into(),
            n: -3,
            weight,
            ..GroupRow::default()
        };
        let rows = [row("b", Some(0.5)), row("", None), row("a", Some(f64::INFINITY))];
        write_rows(folder.path(), &rows).unwrap();
        let [b, all, a] = rows;
        assert_eq!(read_rows::<GroupRow>(folder.path()).unwrap(), [all, a, b]);
        let selected = [true, false].map(|label| SelectedRow {
            row_key: u64::MAX - u64::from(label),
            label,
            predicted: label.then_some(true),
            ..SelectedRow::default()
        });
        write_rows(folder.path(), &selected).unwrap();
        assert_eq!(read_rows::<SelectedRow>(folder.path()).unwrap(), selected);
        assert!(read_rows::<IssueRow>(folder.path()).unwrap().is_empty());
    }

    /// Columns that tables share are like columns of their own: in files, in their order by key, in
    /// JSON.
    #[test]
    fn shared_columns_stand_before_those_of_the_table() {
        let names = |table: &TableDef| -> Vec<&str> {
            table.columns[..table.n_key].iter().map(|column| column.name).collect()
        };
        const KEY: [&str; 8] = [
            "arm",
            "model",
            "counterfactual",
            "sensitive",
            "scope",
            "from_group",
            "to_group",
            "slice",
        ];
        assert_eq!(names(CurveRow::TABLE), [&KEY[..], &["class", "metric", "step"]].concat());
        assert_eq!(names(CountRow::TABLE)[..9], [&KEY[..], &["label"]].concat());
        let row = |slice: &str, class: &str, step| CurveRow {
            key: AuditKey { slice: slice.into(), ..AuditKey::default() },
            class: class.into(),
            step,
            ..CurveRow::default()
        };
        let rows = [row("b", "", 0), row("a", "y", 1), row("a", "x", 9), row("a", "x", 2)];
        let folder = tempfile::tempdir().unwrap();
        write_rows(folder.path(), &rows).unwrap();
        let [last, third, second, first] = rows;
        let found = read_rows::<CurveRow>(folder.path()).unwrap();
        assert_eq!(found, [first, second, third, last]);
        let cells = found[1].texts();
        assert_eq!(cells.len(), CurveRow::TABLE.columns.len());
        assert_eq!(cells[7..11], ["a", "x", "", "9"]);
        let json = serde_json::json!(found[1]);
        assert_eq!((&json["slice"], &json["step"]), (&"a".into(), &9.into()));
        assert_eq!(json.as_object().unwrap().len(), cells.len());
    }

    /// The file of `issues` with these columns, and what reading it gives.
    fn read_changed(
        version: &str,
        change: impl Fn(&mut Vec<(&str, ArrayRef)>),
    ) -> Result<Vec<IssueRow>, String> {
        let folder = tempfile::tempdir().unwrap();
        let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let mut columns = vec![
            ("code", text("c")),
            ("severity", text("info")),
            ("where", text("w")),
            ("n", Arc::new(Int64Array::from(vec![1])) as _),
            ("text", text("t")),
        ];
        change(&mut columns);
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        let mut notes = table_metadata(IssueRow::TABLE);
        notes[1].1 = version.to_owned();
        let path = folder.path().join(IssueRow::TABLE.file());
        let (encoder, mut writer) = GroupWriter::create(&path, &batch.schema(), &notes).unwrap();
        writer.append(encoder.encode(&batch).unwrap()).unwrap();
        writer.finish().unwrap();
        read_rows(folder.path()).map_err(|e| e.to_string())
    }

    #[test]
    fn what_a_row_cannot_hold_is_refused() {
        assert_eq!(read_changed("1", |_| ()).unwrap()[0].r#where, "w");
        let newer = read_changed("2", |_| ()).unwrap_err();
        assert!(newer.contains("version 2 of table `issues`, this program reads"), "{newer}");
        let lacks = read_changed("1", |columns| columns.truncate(4)).unwrap_err();
        assert!(lacks.contains("column `text` is missing"), "{lacks}");
        let real = Arc::new(Float64Array::from(vec![1.0])) as ArrayRef;
        let other = read_changed("1", |columns| columns[3].1 = Arc::clone(&real)).unwrap_err();
        assert!(other.contains("column `n` holds invalid values"), "{other}");
        let null = Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef;
        let empty = read_changed("1", |columns| columns[2].1 = Arc::clone(&null)).unwrap_err();
        assert!(empty.contains("column `where` holds invalid values"), "{empty}");
    }

    /// What came later is null, or empty in a key, or the file is refused; a file without a column
    /// that its version had is damaged.
    #[test]
    fn older_files_are_read() {
        use crate::table::MetricRow;
        let folder = tempfile::tempdir().unwrap();
        let read = |version: u32, lacks: &[&str]| {
            let row = MetricRow { class: "c".into(), world_lo: Some(0.5), ..MetricRow::default() };
            let fields = super::schema_of(MetricRow::TABLE);
            let arrays = MetricRow::arrays([&row].into_iter());
            let kept = fields
                .fields()
                .iter()
                .zip(arrays)
                .filter(|(f, _)| !lacks.contains(&f.name().as_str()));
            let batch = RecordBatch::try_from_iter_with_nullable(
                kept.map(|(f, array)| (f.name().clone(), array, f.is_nullable())),
            )
            .unwrap();
            let mut notes = table_metadata(MetricRow::TABLE);
            notes[1].1 = version.to_string();
            let path = folder.path().join(MetricRow::TABLE.file());
            let (encoder, mut writer) =
                GroupWriter::create(&path, &batch.schema(), &notes).unwrap();
            writer.append(encoder.encode(&batch).unwrap()).unwrap();
            writer.finish().unwrap();
            read_rows::<MetricRow>(folder.path()).map_err(|e| e.to_string())
        };
        let row = &read(6, &["world_level", "mixed_var"]).unwrap()[0];
        assert_eq!((row.world_lo, row.world_level, &*row.class), (Some(0.5), None, "c"));
        assert_eq!(read(4, &["class", "world_level"]).unwrap()[0].class, "");
        let refused = read(3, &["highest_group"]).unwrap_err();
        assert!(refused.contains("of version 3 lacks `highest_group`"), "{refused}");
        let damaged = read(7, &["world_level"]).unwrap_err();
        assert!(damaged.contains("column `world_level` is missing"), "{damaged}");
        assert!(read(6, &["world_lo"]).is_err(), "version 1 had it");
        let follows = GraphRow::TABLE.columns.iter().find(|c| c.name == "attribute_follows");
        assert_eq!(follows.map(|c| (c.since, c.nullable)), Some((2, true)));
    }

    /// What fits into the buffer of the writer meets the disk at the end, the rest before.
    #[test]
    fn a_full_disk_is_told_with_a_hint() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let schema = Schema::new(vec![Field::new("x", DataType::Float64, false)]);
        for n in [1_u32, 100_000] {
            let (encoder, mut writer) = GroupWriter::create(full, &schema, &[]).unwrap();
            let column: ArrayRef = Arc::new((0..n).map(f64::from).collect::<Float64Array>());
            let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![column]).unwrap();
            let group = encoder.encode(&batch).unwrap();
            let error = writer.append(group).and_then(|()| writer.finish()).unwrap_err();
            assert_eq!(error.exit().code(), 5);
            let words = error.to_string();
            assert!(words.contains("cannot write `/dev/full`"), "{words}");
            assert!(words.contains("hint: free some space"), "{words}");
        }
    }
}
