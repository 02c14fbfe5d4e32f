//! Opens the rows as Parquet: a file, a glob, or a folder with `key=value` folders.
//!
//! Reads the needed columns piece by piece. Parts are sorted by the bytes of their paths. A piece
//! is a row group, or a slice of a large one, so memory does not depend on how the files were cut.
//! Row numbers count from 0 over all parts in order.

pub(crate) mod catalog;
pub(crate) mod csv_import;
mod csv_kinds;
pub(crate) mod csv_records;
pub(crate) mod field_builder;
pub(crate) mod file_list;
pub mod file_profile;
pub(crate) mod found_files;
pub(crate) mod notation;
pub(crate) mod recut;
pub mod row_program;
pub(crate) mod side_table;
pub(crate) mod synthetic;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow::datatypes::DataType;
use indexmap::IndexSet;

use crate::data::canonical::canonical_text;
use crate::data::column::declared::{DeclaredColumn, DeclaredColumns, DeclaredType, MistypedValue};
use crate::data::source::csv_kinds::{CSV_NAMES, csv_kinds};
use crate::data::source::found_files::find_files;
use crate::data::source_form::{SourceKind, StoredType};
use crate::data::spelling::Spelling;
use crate::data::values::{SourceValues, ValueClass, as_decimals, type_in_words};
use crate::error::{Fault, Result};
use crate::nearest::nearest;
use crate::num::float_precision::FloatPrecision;
use crate::table::file::folder_keys::{HIVE_NULL, hive_keys};
use crate::table::file::{FileOwner, ParquetFile};

/// Rows per piece, unless a row group would have more than [`MAX_SLICES`] of them.
///
/// To reach a slice, the reader skips the rows before it.
const PIECE_ROWS: usize = 262_144;
const MAX_SLICES: usize = 16;

/// The rows of a job as typed columns.
#[derive(Debug)]
pub struct ParquetSource {
    parts: Vec<SourcePart>,
    columns: Vec<SourceColumn>,
    /// How the job says that each column of the files is read; none: by its own type.
    declared: Vec<Option<DeclaredColumn>>,
    /// Side tables; their columns follow those of the files.
    joined: Vec<side_table::SideTable>,
    pieces: Vec<SourcePiece>,
    n_rows: u64,
}

/// A column that the job names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// Its type over all parts.
    pub class: ValueClass,
    /// For numbers, in how many bits all parts hold them.
    pub precision: FloatPrecision,
    /// How its texts are spelt.
    pub spelling: Spelling,
    /// What is ignored when its texts are compared as labels, groups, levels and keys.
    pub identity: TextIdentity,
    /// Whether it comes from a text file.
    pub(crate) read_csv: bool,
    /// Its type in the source view; none where it is that of its class.
    pub(crate) kind: Option<SourceKind>,
}

/// What is ignored when texts of a column are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextIdentity {
    /// Blanks around them, and how numbers and booleans are spelt.
    #[default]
    Canonical,
    /// Blanks around them: the job says that the column is one of texts.
    Trimmed,
    /// Nothing: the names of a derived column are the job's own.
    Exact,
}

impl SourceColumn {
    /// The word of this column that a word of the job represents.
    ///
    /// # Errors
    /// No value of the column can match the word.
    pub(crate) fn word(&self, asked_by: &str, word: &str) -> Result<String> {
        let word = self.spelling.of(word);
        // Texts that `pandas.read_csv` reads as booleans match 1 and 0, as booleans do.
        let is_flag = self.class == ValueClass::Text
            && self.kind == Some(SourceKind::Boolean)
            && self.identity == TextIdentity::Canonical;
        if is_flag && let Some(flag) = ValueClass::Bool.canonical(&word) {
            return Ok(flag);
        }
        let word = self.class.word(asked_by, &self.name, &word)?;
        Ok(self.canonical(&word).into_owned())
    }

    /// The text by which a value of the column is compared, given its word.
    pub(crate) fn canonical<'a>(&self, word: &'a str) -> Cow<'a, str> {
        match (self.class, self.identity) {
            (ValueClass::Text, TextIdentity::Canonical) => canonical_text(word),
            (ValueClass::Text, TextIdentity::Trimmed) => Cow::Borrowed(word.trim()),
            _ => Cow::Borrowed(word),
        }
    }

    /// The values as they are compared; only texts can differ from what was read.
    pub(crate) fn canonical_values<'a>(&self, values: &'a SourceValues) -> Cow<'a, SourceValues> {
        let spelt = match self.identity {
            TextIdentity::Exact => None,
            _ => values.spelt(|word| self.canonical(word), false),
        };
        spelt.map_or(Cow::Borrowed(values), |(values, _)| Cow::Owned(values))
    }
}

#[derive(Debug)]
struct SourcePart {
    file: ParquetFile,
    /// Its name in messages: the user's file, also where an import made `file` from it.
    name: PathBuf,
    first_row: u64,
    /// The value of each column that is the key of a folder; `None` for columns of the file.
    keys: Vec<Option<String>>,
    /// The columns of an imported text file, each with the user's file that has it.
    unread: BTreeMap<String, PathBuf>,
}

/// A file, its name in messages, and its keys.
type FoundPart = (ParquetFile, PathBuf, Vec<(String, String)>);

/// A range of rows of one part that is read in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePiece {
    part: usize,
    group: usize,
    offset: usize,
    /// Number of rows.
    pub(crate) rows: usize,
    first_row: u64,
}

/// Some rows of a piece.
#[derive(Debug, Default)]
pub struct SourceSlice {
    /// Number of the first row.
    pub first_row: u64,
    /// Number of rows.
    pub rows: usize,
    /// The needed columns, as [`ParquetSource::columns`] lists them.
    pub columns: Vec<SourceValues>,
    /// By column the number of texts that mean missing and are no value of the declared type.
    pub(crate) declared_null: Vec<u64>,
    /// For each column of `null_values` the number of values made missing.
    ///
    /// The caller that replaces them fills it.
    pub made_null: Vec<u64>,
    /// For each column that is brought to one spelling the number of values that changed.
    ///
    /// The caller that spells them fills it.
    pub respelt: Vec<u64>,
    /// For each derived column the rows whose value is not finite.
    ///
    /// The caller that derives them fills it.
    pub(crate) not_finite: Vec<Vec<u32>>,
    /// For each side table and row whether the table has the key of the row.
    pub(crate) matched: Vec<Vec<bool>>,
    /// The columns that were changed since, as the source holds them, with their positions.
    ///
    /// The caller that changes them fills it.
    pub(crate) as_read: Vec<(usize, SourceValues)>,
}

impl SourceSlice {
    /// A column as the source holds it.
    pub(crate) fn as_read(&self, column: usize) -> &SourceValues {
        let kept = self.as_read.iter().find(|(of, _)| *of == column);
        kept.map_or(&self.columns[column], |(_, values)| values)
    }
}

impl ParquetSource {
    /// Opens the user's Parquet: `pattern` is a file, a folder or a glob. `declared` are the types
    /// that the job says.
    ///
    /// # Errors
    /// No such file; a damaged file; a needed column that is missing, has no supported type, or
    /// changes its type between parts.
    pub(crate) fn parquet(
        pattern: &str,
        needed: &[&str],
        declared: &DeclaredColumns,
    ) -> Result<Self> {
        ParquetSource::files_of(&find_files(pattern, Some("parquet"))?, needed, declared)
    }

    /// Opens files of the user's Parquet.
    ///
    /// # Errors
    /// As [`ParquetSource::parquet`].
    pub(crate) fn files_of(
        files: &[PathBuf],
        needed: &[&str],
        declared: &DeclaredColumns,
    ) -> Result<Self> {
        let opened = ParquetFile::open_all(files, FileOwner::User)?;
        let part = |(file, path): (ParquetFile, &PathBuf)| (file, path.clone(), hive_keys(path));
        ParquetSource::of_parts(opened.into_iter().zip(files).map(part).collect(), needed, declared)
    }

    /// Opens a file that an import made; messages use `name`, the user's file.
    ///
    /// # Errors
    /// As [`ParquetSource::parquet`].
    pub(crate) fn imported(
        path: &Path,
        name: &Path,
        needed: &[&str],
        declared: &DeclaredColumns,
    ) -> Result<Self> {
        ParquetSource::of_parts(
            vec![(ParquetFile::open(path, FileOwner::Program)?, name.to_path_buf(), Vec::new())],
            needed,
            declared,
        )
    }

    fn of_parts(
        found: Vec<FoundPart>,
        needed: &[&str],
        declared: &DeclaredColumns,
    ) -> Result<Self> {
        let mut parts = Vec::new();
        let (mut pieces, mut n_rows) = (Vec::new(), 0);
        for (file, name, keys) in found {
            let file = file.with_coded_texts()?;
            let keys = needed
                .iter()
                .map(|&column| key_of(&file, &name, &keys, column))
                .collect::<Result<_>>()?;
            let first_row = n_rows;
            for group in 0..file.n_groups() {
                let rows = file.group_rows(group);
                let step = PIECE_ROWS.max(rows.div_ceil(MAX_SLICES));
                for offset in (0..rows).step_by(step) {
                    let piece = SourcePiece {
                        part: parts.len(),
                        group,
                        offset,
                        rows: step.min(rows - offset),
                        first_row: n_rows,
                    };
                    n_rows += piece.rows as u64;
                    pieces.push(piece);
                }
            }
            let names = file.note(CSV_NAMES).and_then(|names| serde_json::from_str(names).ok());
            let unread = names.unwrap_or_default();
            parts.push(SourcePart { file, name, first_row, keys, unread });
        }
        let columns = needed
            .iter()
            .enumerate()
            .map(|(i, name)| column(&parts, i, name, declared.get(*name)))
            .collect::<Result<_>>()?;
        let declared = needed.iter().map(|name| declared.get(*name).cloned()).collect();
        Ok(ParquetSource { parts, columns, declared, joined: Vec::new(), pieces, n_rows })
    }

    /// The type of a column in its files, where its kind does not determine it; also none where the
    /// job says the type, where files differ, and for columns of side tables and keys of folders.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn stored_type(&self, column: usize) -> Result<Option<StoredType>> {
        if !matches!(self.declared.get(column), Some(None)) {
            return Ok(None);
        }
        let name = self.columns[column].name.as_str();
        if self.parts.iter().any(|part| part.keys[column].is_some()) {
            return Ok(None);
        }
        let orders = self.parts.iter().map(|part| part.file.stated_order(name));
        if let Some(orders) = orders.collect::<Option<Vec<bool>>>()
            && !orders.is_empty()
        {
            let mut texts = IndexSet::new();
            for part in &self.parts {
                texts.extend(part.file.categories(name)?);
            }
            let (categories, ordered) = (texts.into_iter().collect(), !orders.contains(&false));
            return Ok(Some(StoredType::Category { categories, ordered }));
        }
        let mut widths = self.parts.iter().map(|part| {
            let field = part.file.stated_schema().field_with_name(name).ok()?;
            let is_other = field.data_type().is_integer() && *field.data_type() != DataType::Int64;
            is_other.then(|| field.data_type().to_string().to_lowercase())
        });
        let first = widths.next().flatten();
        let all_same = widths.all(|width| width == first);
        Ok(first.filter(|_| all_same).map(StoredType::Integer))
    }

    /// Joins side tables: their columns follow those that the source has.
    ///
    /// # Errors
    /// A file of the source holds a column of that name, or the source lacks the column of keys.
    pub(crate) fn join(mut self, tables: Vec<side_table::SideTable>) -> Result<Self> {
        for table in tables {
            self.position(table.join.on.as_str())?;
            for column in table.columns() {
                if let Some(file) = self.file_with(&column.name) {
                    let kind = format!("joined from the side table `{}`", table.name);
                    return Err(hidden_column_fault(&column.name, &kind, file).into());
                }
            }
            self.columns.extend(table.columns().cloned());
            self.joined.push(table);
        }
        Ok(self)
    }

    /// The side tables.
    pub(crate) fn joined(&self) -> &[side_table::SideTable] {
        &self.joined
    }

    /// This source with only a range of its pieces; rows keep their numbers.
    #[must_use]
    pub(crate) fn only(mut self, pieces: Range<usize>) -> Self {
        let end = pieces.end.min(self.pieces.len());
        self.pieces = self.pieces.drain(pieces.start.min(end)..end).collect();
        self.n_rows = self.pieces.iter().map(|piece| piece.rows as u64).sum();
        self
    }

    /// This source with another number for its first row.
    #[must_use]
    pub(crate) fn starting_at(mut self, first_row: u64) -> Self {
        self.parts.iter_mut().for_each(|part| part.first_row += first_row);
        self.pieces.iter_mut().for_each(|piece| piece.first_row += first_row);
        self
    }

    /// Number of the first row; 0 where there is none.
    pub(crate) fn first_row(&self) -> u64 {
        self.pieces.first().map_or(0, |piece| piece.first_row)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The needed columns.
    pub fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    /// The pieces, in order of their rows.
    pub fn pieces(&self) -> &[SourcePiece] {
        &self.pieces
    }

    /// Position of the first piece of each file that has rows.
    pub(crate) fn first_pieces(&self) -> BTreeMap<&Path, usize> {
        let mut first = BTreeMap::new();
        for (i, piece) in self.pieces.iter().enumerate() {
            first.entry(self.parts[piece.part].file.path()).or_insert(i);
        }
        first
    }

    /// The names of the files in messages.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|p| p.name.as_path())
    }

    /// A file that holds a column of this name, needed or not.
    pub fn file_with(&self, name: &str) -> Option<&Path> {
        self.parts.iter().find_map(|part| match part.file.schema().index_of(name) {
            Ok(_) => Some(part.name.as_path()),
            Err(_) => part.unread.get(name).map(PathBuf::as_path),
        })
    }

    /// Position of a needed column.
    ///
    /// # Errors
    /// The column was not requested when the source was opened.
    pub fn position(&self, name: &str) -> Result<usize> {
        let known: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        let file = self.parts.first().map_or(Path::new(""), |p| p.name.as_path());
        self.columns
            .iter()
            .position(|c| c.name == name)
            .ok_or_else(|| missing_column_fault(file, name, &known).into())
    }

    /// Reads a piece in slices of at most `batch_rows` rows and passes each to `each`.
    ///
    /// # Errors
    /// A damaged file, a value that its column's type cannot hold, or the error of `each`.
    pub fn read(
        &self,
        piece: &SourcePiece,
        batch_rows: usize,
        mut each: impl FnMut(SourceSlice) -> Result<()>,
    ) -> Result<()> {
        let part = &self.parts[piece.part];
        let names: Vec<&str> = self
            .columns
            .iter()
            .zip(&part.keys)
            .filter(|(_, key)| key.is_none())
            .map(|(c, _)| c.name.as_str())
            .collect();
        let mut first_row = piece.first_row;
        for batch in part.file.batches(
            piece.group,
            Some(&names),
            Some((piece.offset, piece.rows)),
            batch_rows,
        )? {
            let batch = batch?;
            let rows = batch.num_rows();
            let mut declared_null = vec![0; self.columns.len()];
            let mut columns = (0..part.keys.len())
                .map(|i| self.values(part, (&batch, first_row), i, &mut declared_null[i]))
                .collect::<Result<Vec<_>>>()?;
            let mut matched = Vec::new();
            for table in &self.joined {
                let key = self.position(table.join.on.as_str())?;
                let (values, has_key) = table.look_up(&self.columns[key], &columns[key]);
                columns.extend(values);
                matched.push(has_key);
            }
            each(SourceSlice {
                first_row,
                rows,
                columns,
                declared_null,
                matched,
                ..SourceSlice::default()
            })?;
            first_row += rows as u64;
        }
        Ok(())
    }

    /// The values of a column of a batch, whose first row has a number. Counts in `n_null` the
    /// texts that mean missing in a column of a declared type.
    fn values(
        &self,
        part: &SourcePart,
        (batch, first_row): (&RecordBatch, u64),
        i: usize,
        n_null: &mut u64,
    ) -> Result<SourceValues> {
        let SourceColumn { name, class, .. } = &self.columns[i];
        let array = match (&part.keys[i], batch.column_by_name(name)) {
            (Some(key), _) => Ok(key_values(key, *class, batch.num_rows())),
            (None, Some(array)) => Ok(as_decimals(array)),
            (None, None) => Err("the column is missing from a batch".to_owned()),
        };
        if let (Ok(array), Some(declared)) = (&array, &self.declared[i]) {
            return match declared.read(array) {
                Ok((values, n)) => {
                    *n_null = n;
                    Ok(values)
                }
                Err(MistypedValue { position, text, what }) => {
                    let what = format!("column `{name}` holds `{text}`, which is not {what}");
                    let fault = Fault::new("unreadable-value", what).in_column(name);
                    let hint = format!(
                        "correct the value or the type under `data.columns.{name}`; if it means \
                         missing, write `data.missing.null_values: {{{name}: [\"{text}\"]}}`"
                    );
                    self.locate_row(fault, first_row + position as u64).fail(hint)
                }
            };
        }
        let values = array.and_then(|array| SourceValues::new(&array)?.with_class(*class));
        let values = values.map_err(|why| {
            let hint = match class {
                ValueClass::Int => {
                    "whole numbers up to 9223372036854775807 are read: say what larger ones are by \
                     `data.columns`, `text` for ids and `number` for amounts"
                }
                _ => "convert the column where the file is written: to text, or to Float64",
            };
            let fault =
                Fault::new("unreadable-value", format!("column `{name}` cannot be read: {why}"));
            fault.in_file(&part.name).in_column(name).hint(hint)
        })?;
        Ok(values)
    }

    /// The fault with the file and the row where it was found.
    pub fn locate_row(&self, fault: Fault, row: u64) -> Fault {
        let part = self.parts.iter().rev().find(|p| p.first_row <= row);
        let Some(part) = part else { return fault.at_row(format!("row {row}")) };
        let words = if self.parts.len() == 1 {
            format!("row {row}")
        } else {
            format!("row {row} (row {} of this file)", row - part.first_row)
        };
        fault.in_file(&part.name).at_row(words)
    }

    /// The fault with the file, if there is only one.
    pub fn locate_file(&self, fault: Fault) -> Fault {
        match self.parts.as_slice() {
            [part] => fault.in_file(&part.name),
            _ => fault,
        }
    }
}

/// The value of a column that is the key of a folder; `None` where the file holds the column.
fn key_of(
    file: &ParquetFile,
    name: &Path,
    keys: &[(String, String)],
    column: &str,
) -> Result<Option<String>> {
    let fields = file.schema().fields();
    let found = fields.iter().filter(|f| f.name() == column).count();
    if found > 1 {
        let what = format!("`{}` has {found} columns called `{column}`", name.display());
        return Fault::new("duplicate-column", what)
            .in_file(name)
            .in_column(column)
            .fail("give them different names");
    }
    if found == 1 {
        return Ok(None);
    }
    if let Some((_, value)) = keys.iter().rev().find(|(key, _)| key == column) {
        return Ok(Some(value.clone()));
    }
    let mut known: Vec<&str> = fields
        .iter()
        .map(|f| f.name().as_str())
        .chain(keys.iter().map(|(k, _)| k.as_str()))
        .collect();
    known.dedup();
    Err(missing_column_fault(name, column, &known).into())
}

/// The fault of a needed column that a file does not have.
pub fn missing_column_fault(file: &Path, column: &str, known: &[&str]) -> Fault {
    let list = list_words(known.iter().map(|k| format!("`{k}`")), 60);
    let hint = match nearest(column, known.iter().copied()) {
        // All columns in one: the file has another separator than the job states.
        None if known.len() == 1 && known[0].contains([';', '\t', '|']) => {
            format!(
                "its only column is {list}: specify the column separator, such as `csv: {{path: \
                 ..., delimiter: \";\"}}`"
            )
        }
        Some(near) => format!("did you mean `{near}`? the columns are {list}"),
        None => format!("the columns are {list}"),
    };
    Fault::new("missing-column", format!("`{}` has no column `{column}`", file.display()))
        .in_file(file)
        .in_column(column)
        .hint(hint)
}

/// The fault of a column that is derived, or joined, and would hide a column of the source.
pub fn hidden_column_fault(name: &str, kind: &str, file: &Path) -> Fault {
    Fault::new(
        "hidden-column",
        format!(
            "the column `{name}` that is {kind} would hide the column of that name in `{}`",
            file.display()
        ),
    )
    .in_file(file)
    .in_column(name)
    .hint(format!("give it a name of its own, such as `{name}_group`, or leave it out of one file"))
}

/// At most `most` of the words, joined by commas, and the number of the others.
pub fn list_words(words: impl IntoIterator<Item = String>, most: usize) -> String {
    let words: Vec<String> = words.into_iter().collect();
    let shown = words[..words.len().min(most)].join(", ");
    if words.len() > most { format!("{shown} and {} more", words.len() - most) } else { shown }
}

/// The class of a needed column over all parts.
fn column(
    parts: &[SourcePart],
    i: usize,
    name: &str,
    declared: Option<&DeclaredColumn>,
) -> Result<SourceColumn> {
    let mut seen: Option<(ValueClass, &Path)> = None;
    let mut precision: Option<FloatPrecision> = None;
    // A key of folders is an integer only where every value reads back as written: `007` is text.
    let keys: Vec<&str> =
        parts.iter().filter_map(|p| p.keys[i].as_deref()).filter(|&k| k != HIVE_NULL).collect();
    let key_class = if keys.iter().all(|k| k.parse::<i64>().is_ok_and(|v| v.to_string() == **k)) {
        ValueClass::Int
    } else {
        ValueClass::Text
    };
    for part in parts {
        let class = match (&part.keys[i], part.file.schema().field_with_name(name)) {
            (Some(_), _) => key_class,
            (None, Ok(field)) => ValueClass::of(field.data_type()).ok_or_else(|| {
                Fault::new(
                    "unsupported-type",
                    format!(
                        "column `{name}` holds {}, which cfaudit does not read",
                        type_in_words(field.data_type())
                    ),
                )
                .in_file(&part.name)
                .in_column(name)
                .hint(
                    "numbers, booleans, text, dates and times are read; flatten lists \
                     and structs into separate columns",
                )
            })?,
            (None, Err(_)) => ValueClass::Empty,
        };
        if let Ok(field) = part.file.schema().field_with_name(name)
            && part.keys[i].is_none()
        {
            let own = FloatPrecision::single_if(*field.data_type() == DataType::Float32);
            precision = Some(precision.map_or(own, |others| others.finer(own)));
        }
        seen = match seen {
            _ if declared.is_some() => None,
            Some((before, _)) if class == ValueClass::Empty || before == class => seen,
            // Integers of one part and floats of another are numbers.
            Some((before, file)) if before.is_number() && class.is_number() => {
                Some((ValueClass::Float, file))
            }
            None | Some((ValueClass::Empty, _)) => Some((class, &part.name)),
            Some((before, file)) => {
                let (first, second) = (file.display(), part.name.display());
                let what = format!(
                    "column `{name}` holds {} in `{first}` and {} in `{second}`",
                    before.name(),
                    class.name()
                );
                return Fault::new("type-changes", what).in_file(&part.name).in_column(name).fail(
                    format!(
                        "write the files with one type per column, or say the type in the job: \
                         `data.columns: {{{name}: text}}`"
                    ),
                );
            }
        };
    }
    let class = declared
        .map(|declared| declared.kind.class())
        .or(seen.map(|(class, _)| class))
        .unwrap_or(ValueClass::Empty);
    let is_text = declared.is_some_and(|declared| declared.kind == DeclaredType::Text);
    let kinds = parts.first().and_then(|part| csv_kinds(&part.file));
    let kind = kinds.as_ref().and_then(|kinds| kinds.get(name).copied().flatten());
    let single = class == ValueClass::Float
        && declared.is_none()
        && precision == Some(FloatPrecision::Single);
    Ok(SourceColumn {
        name: name.to_owned(),
        class,
        precision: precision.unwrap_or_default(),
        spelling: Spelling::default(),
        identity: if is_text { TextIdentity::Trimmed } else { TextIdentity::default() },
        read_csv: kinds.is_some(),
        kind: kind.or(single.then_some(SourceKind::Single)),
    })
}

fn key_values(key: &str, class: ValueClass, rows: usize) -> ArrayRef {
    match key.parse::<i64>() {
        _ if key == HIVE_NULL => new_null_array(&DataType::Null, rows),
        Ok(value) if class == ValueClass::Int => {
            Arc::new(arrow::array::Int64Array::from_value(value, rows))
        }
        _ => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(key, rows))),
    }
}
