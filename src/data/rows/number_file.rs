//! Files aligned with the prepared rows, row group by row group: the encoder of their columns, and
//! files of one column of numbers.

use std::marker::PhantomData;
use std::path::Path;

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{Field, Schema};

use crate::data::rows::{nullable, values_of};
use crate::error::{Error, FOLDER_CHANGED_HINT, Result};
use crate::table::field_marks::{cached, direct};
use crate::table::file::{EncodedGroup, FileOwner, GroupEncoder, GroupWriter, ParquetFile};

/// Creates a file of these columns.
pub(super) fn create(path: &Path, fields: Vec<Field>) -> Result<(GroupEncoder, GroupWriter)> {
    let fields: Vec<Field> = fields.into_iter().map(cached).collect();
    GroupWriter::create(path, &Schema::new(fields), &[])
}

/// A file of one column of numbers.
pub(crate) struct NumberFile<T: ArrowPrimitiveType> {
    pub(super) file: &'static str,
    pub(super) column: &'static str,
    /// The value that represents null.
    pub(super) missing: T::Native,
}

impl<T: ArrowPrimitiveType> NumberFile<T> {
    /// Creates the file in a folder.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn create(&self, folder: &Path) -> Result<(NumberEncoder<T>, GroupWriter)> {
        NumberEncoder::create(&folder.join(self.file), self.column)
    }

    /// Opens the file in its folder.
    ///
    /// # Errors
    /// The file is damaged or absent.
    pub(crate) fn open(&self, folder: &Path) -> Result<NumberReader<T>> {
        NumberReader::open(&folder.join(self.file), self.missing)
    }

    /// Opens the file in its folder; without it there are no numbers.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn open_if_there(&self, folder: &Path) -> Result<NumberReader<T>> {
        match folder.join(self.file).exists() {
            true => self.open(folder),
            false => Ok(NumberReader { file: None, missing: self.missing }),
        }
    }
}

/// Encodes numbers as row groups of a file with one column, on any thread.
pub(crate) struct NumberEncoder<T>(GroupEncoder, PhantomData<T>);

impl<T: ArrowPrimitiveType> NumberEncoder<T> {
    pub(super) fn create(path: &Path, column: &str) -> Result<(Self, GroupWriter)> {
        let field = Field::new(column, T::DATA_TYPE, T::DATA_TYPE.is_floating());
        let (encoder, writer) = create(path, vec![direct(field)])?;
        Ok((NumberEncoder(encoder, PhantomData), writer))
    }

    /// Encodes one row group; NaN is written as null.
    ///
    /// # Errors
    /// Never in practice.
    pub(crate) fn encode(&self, numbers: Vec<T::Native>) -> Result<EncodedGroup> {
        let is_number = |x: T::Native| x.partial_cmp(&x).is_some();
        self.0.encode_columns(vec![nullable::<T>(numbers, is_number)])
    }
}

/// Reads a file of one column of numbers.
#[derive(Debug)]
pub(crate) struct NumberReader<T: ArrowPrimitiveType> {
    file: Option<ParquetFile>,
    missing: T::Native,
}

impl<T: ArrowPrimitiveType> NumberReader<T> {
    pub(super) fn open(path: &Path, missing: T::Native) -> Result<Self> {
        let file = ParquetFile::open(path, FileOwner::Program)?;
        Ok(NumberReader { file: Some(file), missing })
    }

    /// The numbers of a row group, in the order in which they were written.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn read(&self, group: usize) -> Result<Vec<T::Native>> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let (schema, mut columns, _) = file.read_group(group, None)?.into_parts();
        let numbers = columns.pop().and_then(|column| values_of::<T>(column, self.missing));
        numbers.ok_or_else(|| unexpected(file, schema.field(0).name()))
    }
}

/// The error about a column of a file that cfaudit wrote.
pub(super) fn unexpected(file: &ParquetFile, column: &str) -> Error {
    Error::operator(
        "read",
        file.path(),
        format!("column `{column}` is missing or has another type"),
        FOLDER_CHANGED_HINT,
    )
}
