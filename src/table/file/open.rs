//! A Parquet file opened for reading: its footer, and its rows a row group at a time. Texts are
//! read once for each distinct text of a row group and held in the rows as positions in that list.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, RecordBatchReader};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use indexmap::IndexSet;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Encoding;
use parquet::file::reader::Length;

use super::byte_source::{ByteSource, ObjectBytes};
use super::folder_keys::check_folders;
use super::footer::contradiction;
use super::{FileOwner, unreadable};
use crate::error::Result;
use crate::exec::files;
use crate::exec::object::{self, ObjectFile, OpenedObject};
use crate::table::decoding::decoded;

/// Rows that are read at once for the texts of a dictionary.
const CATEGORY_ROWS: usize = 65_536;

/// A Parquet file opened for reading row group by row group, from any thread.
#[derive(Debug, Clone)]
pub struct ParquetFile {
    path: PathBuf,
    owner: FileOwner,
    /// The object, if it is in an object store; none on this machine.
    object: Option<Arc<ObjectFile>>,
    /// Its columns with the types of the file, however they are read.
    stated: SchemaRef,
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
            .map_err(|e| source.failures()().unwrap_or_else(|| unreadable(path, owner, e)))?;
        if let Some(what) = contradiction(meta.metadata(), source.len()) {
            return Err(unreadable(path, owner, what));
        }
        let stated = Arc::clone(meta.schema());
        Ok(ParquetFile { path: path.to_path_buf(), owner, object: file, stated, meta })
    }

    /// This file, where columns of text whose every page holds positions in a list of texts are
    /// read unchanged: the list once, and a position per row. Others are read as before.
    ///
    /// # Errors
    /// The footer contradicts itself.
    pub fn with_coded_texts(mut self) -> Result<Self> {
        let coded = |name: &str| {
            self.leaf(name)
                .is_some_and(|leaf| (0..self.n_groups()).all(|at| self.is_coded(at, leaf)))
        };
        let read_as = |field: &Field| match field.data_type() {
            DataType::Utf8 if coded(field.name()) => {
                let positions =
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                field.clone().with_data_type(positions)
            }
            // Dictionaries of other values are decoded as their values.
            DataType::Dictionary(_, value) if !is_text(value) => {
                field.clone().with_data_type(value.as_ref().clone())
            }
            _ => field.clone(),
        };
        let fields: Vec<Field> =
            self.schema().fields().iter().map(|field| read_as(field)).collect();
        let schema = Schema::new_with_metadata(fields, self.schema().metadata().clone());
        if schema != **self.schema() {
            let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
            self.meta = ArrowReaderMetadata::try_new(Arc::clone(self.meta.metadata()), options)
                .map_err(|e| unreadable(&self.path, self.owner, e))?;
        }
        Ok(self)
    }

    /// The leaf of a column of text: it is one leaf, and a leaf that is a separate column has only
    /// its name as the path.
    fn leaf(&self, name: &str) -> Option<usize> {
        let leaves = self.meta.metadata().file_metadata().schema_descr();
        (0..leaves.num_columns()).find(|&leaf| leaves.column(leaf).path().parts() == [name])
    }

    /// Whether every page of a leaf of text in a row group holds positions in a list of texts.
    fn is_coded(&self, group: usize, leaf: usize) -> bool {
        // Old files use the second word for it.
        let words = [Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
        let pages = self.meta.metadata().row_group(group).column(leaf).page_encoding_stats_mask();
        pages.is_some_and(|pages| words.iter().any(|&word| pages.is_only(word)))
    }

    /// Whether the texts of a column that the file states as a dictionary of texts have an order;
    /// none for other columns.
    pub fn stated_order(&self, name: &str) -> Option<bool> {
        let field = self.stated.field_with_name(name).ok()?;
        match field.data_type() {
            DataType::Dictionary(_, value) if is_text(value) => field.dict_is_ordered(),
            _ => None,
        }
    }

    /// The texts of a column that the file states as a dictionary, in the order of the lists of its
    /// row groups, also those that no row holds. Where a row group holds texts themselves, those
    /// follow as they occur.
    ///
    /// # Errors
    /// A damaged file, or no such column.
    pub fn categories(&self, name: &str) -> Result<IndexSet<String>> {
        let mut found = IndexSet::new();
        for group in 0..self.n_groups() {
            let is_coded = self.leaf(name).is_some_and(|leaf| self.is_coded(group, leaf));
            for batch in self.batches(group, Some(&[name]), None, CATEGORY_ROWS)? {
                let column = Arc::clone(batch?.column(0));
                let Some(listed) = column.as_any_dictionary_opt() else { continue };
                let texts = cast(listed.values(), &DataType::Utf8)
                    .map_err(|e| unreadable(&self.path, self.owner, e))?;
                found.extend(texts.as_string::<i32>().iter().flatten().map(str::to_owned));
                // The list is the same for all rows of the group.
                if is_coded && !texts.is_empty() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The columns with the types of the file, however they are read.
    pub fn stated_schema(&self) -> &SchemaRef {
        &self.stated
    }

    /// The path of the file.
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
        let (schema, mut reader, mut broken) = (reader.schema(), reader, false);
        let mut due = slice.map_or_else(
            || self.group_rows(group),
            |(offset, limit)| limit.min(self.group_rows(group).saturating_sub(offset)),
        );
        let next = move || {
            if broken {
                return None;
            }
            // The library trusts some lengths inside a damaged page, and panics.
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
            let checked = |batch: RecordBatch| match owner {
                FileOwner::User => check_folders(&path, &batch).map(|()| batch),
                FileOwner::Program => Ok(batch),
            };
            batch.map(|batch| batch.map_err(told).and_then(checked))
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

/// Whether a type is one of texts.
fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
