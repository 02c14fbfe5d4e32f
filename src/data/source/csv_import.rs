//! Converts text files with one row per line to typed Parquet: `source.parquet`, needed columns
//! only.
//!
//! Two passes: the first finds each column's type over all rows of all files ([`FieldClass`]:
//! integers, else numbers, else text), the second writes. An empty field, and every text under
//! `null_values`, is missing. Booleans and dates stay text. Numbers are in the notation that the
//! block names ([`NumberNotation`]). Columns whose type the job says stay text here and are read in
//! their type by [`ParquetSource`](crate::data::source::ParquetSource). Choice: a number may have
//! blanks around it; `inf` is a number, `nan` is text; integers of which one does not fit 64 bits
//! are text.
//!
//! Lines follow RFC 4180: LF or CRLF, fields in quotes may hold separators, line ends and doubled
//! quotes. The types that `pandas.read_csv` would give are a note of the file ([`CSV_KINDS`]), for
//! the source view of its rows, and so are the names of all columns ([`CSV_NAMES`]). Errors that a
//! lenient reader would silently accept (a quote inside a bare field, text after a closing quote, a
//! quote that is never closed, rows of another length) are faults with file and line, because they
//! shift columns. Memory: one batch, and one record of at most 16 MiB.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use arrow::datatypes::{DataType, Field, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::column::declared::{DeclaredColumns, DeclaredType};
use crate::data::source::csv_kinds::{CSV_KINDS, CSV_NAMES, FieldKinds};
use crate::data::source::csv_records::{CsvDialect, CsvTable, TextEncoding};
use crate::data::source::field_builder::{FieldBuilder, FieldType};
use crate::data::source::found_files::find_files;
use crate::data::source::missing_column_fault;
use crate::data::source::notation::{FieldClass, NumberNotation};
use crate::data::source::recut::RecutWriter;
use crate::data::source_form::SourceKind;
use crate::data::values::ValueClass;
use crate::error::{Fault, Result};
use crate::exec::pieces::{RowBatching, StageWatch};
use crate::param::{KnobRefusal, Word};

/// Number of rows between two reports to the watch.
const WATCH_ROWS: u64 = 65_536;

/// A text file with one row per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvBlock {
    /// The file or a glob.
    #[schemars(extend("x-filled" = "name a file or a glob", "x-address" = "local"))]
    pub path: String,
    /// One character between the fields.
    #[serde(default = "sign::<','>")]
    pub delimiter: char,
    /// One character around fields that hold separators, quotes or line ends.
    #[serde(default = "sign::<'\"'>")]
    pub quote: char,
    /// How the file stores characters: `utf-8`, `latin-1` or `windows-1252`.
    #[serde(default)]
    pub encoding: TextEncoding,
    /// The sign before the fraction of a number: `.` or `,`.
    #[serde(default = "sign::<'.'>")]
    pub decimal: char,
    /// The sign between thousands: `.`, `,`, `'`, `’`, or a blank, which represents every kind of
    /// blank. Default: none.
    pub thousands: Option<char>,
    /// Whether the first line names the columns; without it they are `column_1`, `column_2`, ...
    #[serde(default = "yes")]
    pub header: bool,
    /// Texts that mean missing, with blanks around them or without. The empty field always does;
    /// the text "" is a field of only blanks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub null_values: Vec<Word>,
}

fn sign<const SIGN: char>() -> char {
    SIGN
}

fn yes() -> bool {
    true
}

impl CsvBlock {
    /// A file of comma separated values in UTF-8.
    pub fn at(path: &str) -> Self {
        CsvBlock {
            path: path.to_owned(),
            delimiter: ',',
            quote: '"',
            encoding: TextEncoding::Utf8,
            decimal: '.',
            thousands: None,
            header: true,
            null_values: Vec::new(),
        }
    }

    /// What is wrong with the signs that the block names; `None` where the file can be read.
    pub fn problem(&self) -> Option<KnobRefusal> {
        let is_sign = |sign: char| sign.is_ascii() && !matches!(sign, '\r' | '\n');
        let (delimiter, quote) = (self.delimiter, self.quote);
        let (key, what, hint) = if delimiter == quote {
            let what = format!("`{delimiter}` cannot both separate and enclose fields");
            ("quote", what, "choose another character with `quote` or `delimiter`")
        } else if !is_sign(delimiter) {
            let what = format!("`{}` cannot separate fields", delimiter.escape_debug());
            ("delimiter", what, "use one ASCII character, such as `,`, `;` or \"\\t\"")
        } else if !is_sign(quote) || quote.is_alphanumeric() {
            let what = format!("`{}` cannot enclose fields", quote.escape_debug());
            ("quote", what, "use one ASCII character that is not a letter, such as `'`")
        } else if NumberNotation::new(self.decimal, None).is_none() {
            let what = format!("`{}` is not a decimal sign", self.decimal);
            ("decimal", what, "use `.` or `,`")
        } else if self.notation().is_none() {
            let sign = self.thousands.unwrap_or_default();
            let what = format!("`{sign}` cannot be a thousands separator");
            let hint = "use `.`, `,`, `'`, `’` or a space, and not the same sign as for `decimal`";
            ("thousands", what, hint)
        } else {
            return None;
        };
        Some(KnobRefusal::new(key, "bad-value", what, hint))
    }

    fn notation(&self) -> Option<NumberNotation> {
        NumberNotation::new(self.decimal, self.thousands)
    }

    /// How the file is read.
    pub(crate) fn dialect(&self) -> Result<(CsvDialect, NumberNotation)> {
        let problem = self.problem();
        match (u8::try_from(self.delimiter), u8::try_from(self.quote), self.notation()) {
            (Ok(delimiter), Ok(quote), Some(notation)) if problem.is_none() => {
                Ok((CsvDialect { delimiter, quote, encoding: self.encoding }, notation))
            }
            _ => {
                let (what, hint) = problem.map(|p| (p.what, p.hint)).unwrap_or_default();
                Fault::new("bad-dialect", what).fail(hint)
            }
        }
    }
}

/// Writes the needed columns of the files to `path` in row groups of `batch_rows`. Columns of a
/// declared type are texts there, with numbers in plain notation.
///
/// Returns the files as the user names them. Each row is reported to `watch` twice, once per pass.
///
/// # Errors
/// No such file; an empty file; a needed column that is missing or named twice; a line that breaks
/// the rules above; `path` cannot be written.
pub(crate) fn import_csv(
    params: &CsvBlock,
    (needed, declared): (&[&str], &DeclaredColumns),
    path: &Path,
    RowBatching { batch_rows, workers, watch }: RowBatching<'_>,
) -> Result<Vec<PathBuf>> {
    let (dialect, notation) = params.dialect()?;
    let input = CsvInput {
        files: find_files(&params.path, Some("csv"))?,
        dialect,
        header: params.header,
        needed,
        watch,
    };
    let nulls: Vec<&str> = params.null_values.iter().map(Word::as_str).collect();
    // A word is one with blanks around it, too; the empty word is a field of only blanks.
    let is_null = |field: &str| {
        field.is_empty()
            || !nulls.is_empty() && nulls.contains(&field.trim())
            || nulls.contains(&field)
    };

    let imported = |&name: &&'_ str| ImportedColumn {
        declared: declared.get(name).map(|of| of.kind),
        fields: FieldClass::EMPTY,
        kinds: FieldKinds::default(),
    };
    let mut columns: Vec<ImportedColumn> = needed.iter().map(imported).collect();
    input.for_each_row(|fields| {
        for (column, field) in columns.iter_mut().zip(fields) {
            if is_null(field) {
                column.kinds.missing = true;
                continue;
            }
            column.fields.add(field, notation);
            column.kinds.add(column.fields.class(), field);
        }
        Ok(())
    })?;
    let typed = needed.iter().zip(&columns).map(|(name, column)| {
        let (holds, data_type) = match column.class() {
            ValueClass::Int => (FieldType::Int, DataType::Int64),
            ValueClass::Float => (FieldType::Float, DataType::Float64),
            ValueClass::Empty | ValueClass::Bool | ValueClass::Text => {
                (FieldType::Text, DataType::Utf8)
            }
        };
        (FieldBuilder::new(holds), Field::new(*name, data_type, true))
    });
    let (mut builders, fields): (Vec<FieldBuilder>, Vec<Field>) = typed.unzip();
    // A column whose type the job says has that type.
    let own = |of: &ImportedColumn| of.kinds.kind(of.class()).filter(|_| of.declared.is_none());
    let noted: BTreeMap<&str, Option<SourceKind>> =
        needed.iter().copied().zip(columns.iter().map(own)).collect();
    let notes = [
        (CSV_KINDS, serde_json::to_string(&noted).unwrap_or_default()),
        (CSV_NAMES, serde_json::to_string(&input.names()?).unwrap_or_default()),
    ];
    let mut rows = RecutWriter::create(path, Schema::new(fields), &notes, workers, batch_rows)?;
    let mut waiting = 0;
    let mut flush = |builders: &mut [FieldBuilder], n: usize| {
        rows.push_columns(builders.iter_mut().map(FieldBuilder::finish).collect(), n)
    };
    input.for_each_row(|fields| {
        for ((builder, field), column) in builders.iter_mut().zip(fields).zip(&columns) {
            let field = Some(field).filter(|field| !is_null(field));
            match field.filter(|_| column.declared.is_some_and(|of| of.class().is_number())) {
                Some(field) => builder.append(Some(&notation.plain_number(field)), notation),
                None => builder.append(field, notation),
            };
        }
        waiting += 1;
        if waiting == batch_rows {
            flush(&mut builders, std::mem::take(&mut waiting))
        } else {
            Ok(())
        }
    })?;
    flush(&mut builders, waiting)?;
    rows.finish()?;
    Ok(input.files)
}

/// What the fields of a column are.
struct ImportedColumn {
    /// The type that the job says.
    declared: Option<DeclaredType>,
    fields: FieldClass,
    kinds: FieldKinds,
}

impl ImportedColumn {
    /// The class of the column in the imported file.
    fn class(&self) -> ValueClass {
        if self.declared.is_some() { ValueClass::Text } else { self.fields.class() }
    }
}

struct CsvInput<'a> {
    files: Vec<PathBuf>,
    dialect: CsvDialect,
    header: bool,
    needed: &'a [&'a str],
    watch: StageWatch<'a>,
}

impl CsvInput<'_> {
    /// The columns that headers name, needed or not, each with the first file that has it.
    fn names(&self) -> Result<BTreeMap<String, String>> {
        let mut names = BTreeMap::new();
        for path in self.files.iter().filter(|_| self.header) {
            for name in CsvTable::open(path, self.dialect, true)?.names {
                names.entry(name).or_insert_with(|| path.to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    /// Calls `each` with the needed fields of every row.
    fn for_each_row(
        &self,
        mut each: impl FnMut(&mut dyn Iterator<Item = &str>) -> Result<()>,
    ) -> Result<()> {
        let mut done = 0;
        for path in &self.files {
            let mut table = CsvTable::open(path, self.dialect, self.header)?;
            let positions = positions(path, &table.names, self.needed)?;
            while let Some(row) = table.next()? {
                each(&mut positions.iter().map(|&i| row.field(i)))?;
                done += 1;
                if done % WATCH_ROWS == 0 {
                    (self.watch.check)()?;
                    (self.watch.progress)(WATCH_ROWS);
                }
            }
        }
        (self.watch.progress)(done % WATCH_ROWS);
        Ok(())
    }
}

fn positions(path: &Path, names: &[String], needed: &[&str]) -> Result<Vec<usize>> {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    names.iter().enumerate().for_each(|(i, name)| by_name.entry(name).or_default().push(i));
    let position = |&name: &&str| match by_name.get(name).map(Vec::as_slice) {
        Some([position]) => Ok(*position),
        Some(twice) => {
            let what = format!("`{}` has {} columns called `{name}`", path.display(), twice.len());
            Fault::new("duplicate-column", what)
                .in_file(path)
                .in_column(name)
                .fail("give them different names")
        }
        None => Err(missing_column_fault(
            path,
            name,
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .into()),
    };
    needed.iter().map(position).collect()
}
