//! Side tables: columns of another file, looked up by a key that the rows hold too.
//!
//! Protected attributes often are in a separate file, under tighter access. Such a table is
//! read whole, and each row of the source takes the values that are under its key. Many rows may
//! have one key; in the table a key stands once.
//!
//! Choice: keys are compared by their canonical texts, so the integer 17 is the text `17` and `
//! 17.0`, and not `0017`; by the 128-bit xxh3 of these, of which two different words share one
//! about once in 10^38 pairs. A row of the table without a key belongs to no row of the source.
//! Memory: 80 bytes per key, 16 per number, 4 per text and each different text once; if that is
//! more than allowed, the run is refused before it is taken.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, NullArray, UInt32Array};
use arrow::compute::concat;
use indexmap::IndexSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::data::source::csv_import::CsvBlock;
use crate::data::source::{ParquetSource, SourceColumn, list_words};
use crate::data::spelling::Spelling;
use crate::data::values::{NamedValues, SourceValues, ValueClass};
use crate::error::{Fault, Result};
use crate::exec::pieces::StageWatch;
use crate::num::hash::FastMap;
use crate::param::{ColumnName, Name};

/// Examples in a message.
pub(crate) const EXAMPLES: usize = 5;

/// Bytes of a key in the table of keys, which doubles as it grows.
const KEY_BYTES: u64 = 80;

/// Bytes around each different text.
const TEXT_BYTES: u64 = 64;

/// What happens to rows whose key a side table lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnmatchedRule {
    /// The run ends with status 3 and says how many they are.
    #[default]
    Error,
    /// They have no value in the columns of the table, and are counted.
    Keep,
    /// They are dropped before the filters of `keep`, and are counted.
    Drop,
}

/// A side table: one of `parquet` and `csv`, and what of it is joined to the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinBlock {
    /// A Parquet file, a glob, or a folder of `key=value` folders.
    #[schemars(extend("x-filled" = "name a file or a glob", "x-address" = "object"))]
    pub parquet: Option<String>,
    /// A text file with one row per line.
    pub csv: Option<CsvBlock>,
    /// Whether a pattern that matches nothing is waited for, as of `data.rows`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// A file that is written last into the folder, as of `data.rows`.
    #[schemars(extend("x-filled" = "write `complete: _SUCCESS`"))]
    pub complete: Option<String>,
    /// The column of keys, of the same name in the rows and in the table. In the table each key
    /// stands once; many rows may have one.
    pub on: ColumnName,
    /// The columns that the rows get.
    #[schemars(extend("minItems" = 1, "x-noun" = "column that the rows get"))]
    pub columns: Vec<ColumnName>,
    /// What happens to rows whose key the table lacks: `error`, `keep` or `drop`.
    #[serde(default)]
    pub missing: UnmatchedRule,
}

/// A side table in memory.
#[derive(Debug)]
pub(crate) struct SideTable {
    /// Its name in the job.
    pub(crate) name: Name,
    /// What is joined.
    pub(crate) join: JoinBlock,
    /// How keys are spelt.
    spelling: Spelling,
    /// 1 + the row of each key.
    rows: FastMap<u128, u32>,
    columns: Vec<(SourceColumn, SourceValues)>,
    /// Some keys.
    examples: Vec<String>,
}

/// The values of a column of a side table while it is read.
#[derive(Default)]
struct SideColumn {
    /// Those that are no texts.
    parts: Vec<ArrayRef>,
    /// Each different text once, and for each row 1 + its position; 0 = missing.
    texts: IndexSet<String>,
    ids: Vec<u32>,
}

impl SideColumn {
    /// Appends values; returns the bytes of new texts.
    fn append(&mut self, more: &SourceValues) -> u64 {
        match more {
            SourceValues::Int(a) => self.parts.push(Arc::new(a.clone())),
            SourceValues::Float(a) => self.parts.push(Arc::new(a.clone())),
            SourceValues::Bool(a) => self.parts.push(Arc::new(a.clone())),
            SourceValues::Empty(n) => self.parts.push(Arc::new(NullArray::new(*n))),
            SourceValues::Text(_) | SourceValues::Named(_) => {
                let (distinct, before) = (more.distinct(), self.texts.len());
                let table = distinct.table(|row| {
                    let text = more.word(row).unwrap_or_default();
                    self.texts.insert_full(text.into_owned()).0 as u32 + 1
                });
                self.ids.extend(distinct.ids.iter().map(|&id| table[id as usize]));
                let new = (before..self.texts.len()).filter_map(|i| self.texts.get_index(i));
                return new.map(|text| text.len() as u64 + TEXT_BYTES).sum();
            }
        }
        0
    }

    /// The values of all rows.
    fn finish(self, class: ValueClass) -> Result<SourceValues, String> {
        if class == ValueClass::Text {
            let names = self.texts.into_iter().collect();
            return Ok(SourceValues::Named(NamedValues { names, ids: self.ids }));
        }
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        match parts.is_empty() {
            true => SourceValues::Empty(0).with_class(class),
            false => SourceValues::new(&concat(&parts).map_err(|e| e.to_string())?),
        }
    }
}

impl SideTable {
    /// Reads a side table from a source that was opened with its key, then its columns. `spelling`
    /// is that of the keys, `allowed` the bytes that the table may take.
    ///
    /// # Errors
    /// A key that occurs twice; a table that takes more than is allowed, or cannot be read.
    pub(crate) fn read(
        source: &ParquetSource,
        (name, join): (Name, JoinBlock),
        spelling: Spelling,
        allowed: u64,
        batch_rows: usize,
        watch: StageWatch<'_>,
    ) -> Result<Self> {
        let own = &source.columns()[1..];
        let mut columns: Vec<SideColumn> = own.iter().map(|_| SideColumn::default()).collect();
        let mut table = SideTable {
            name,
            join,
            spelling,
            rows: FastMap::default(),
            columns: Vec::new(),
            examples: Vec::new(),
        };
        let n = source.n_rows();
        let too_large = |bytes: u64| {
            let what = format!(
                "the side table `{}` has {n} rows and takes more than the {} MiB that are allowed",
                source.files().next().unwrap_or(Path::new("")).display(),
                allowed >> 20
            );
            let hint = format!(
                "it is held in memory, {} MiB so far: join fewer columns or rows, or allow more by \
                 `--memory`",
                bytes.div_ceil(1 << 20)
            );
            source.locate_file(Fault::new("too-large-table", what)).hint(hint)
        };
        // For a row, without texts.
        let bytes_of = |column: &SourceColumn| match column.class {
            ValueClass::Int | ValueClass::Float => 16,
            ValueClass::Bool => 1,
            ValueClass::Text => 4,
            ValueClass::Empty => 0,
        };
        let width: u64 = own.iter().map(bytes_of).sum();
        let fixed = n.saturating_mul(KEY_BYTES + width);
        if fixed > allowed || n >= u64::from(u32::MAX) {
            return Err(too_large(fixed).into());
        }
        let mut texts = 0;
        let (mut n_repeated, mut repeated) = (0_u64, Vec::new());
        for piece in source.pieces() {
            source.read(piece, batch_rows, |slice| {
                (watch.check)()?;
                let keys = &slice.columns[0];
                for i in 0..slice.rows {
                    let Some(key) = keys.word(i) else { continue };
                    let key = spelling.of(&key);
                    let key = source.columns()[0].canonical(&key);
                    let row = slice.first_row + i as u64;
                    match table.rows.entry(xxh3_128(key.as_bytes())) {
                        std::collections::hash_map::Entry::Vacant(free) => {
                            free.insert(row as u32 + 1);
                            if table.examples.len() < EXAMPLES {
                                table.examples.push(key.into_owned());
                            }
                        }
                        std::collections::hash_map::Entry::Occupied(known) => {
                            n_repeated += 1;
                            if repeated.len() < EXAMPLES {
                                let first = known.get() - 1;
                                repeated.push(format!("`{key}` (rows {first} and {row})"));
                            }
                        }
                    }
                }
                for (values, more) in columns.iter_mut().zip(&slice.columns[1..]) {
                    texts += values.append(more);
                }
                match fixed.saturating_add(texts) > allowed {
                    true => Err(too_large(fixed.saturating_add(texts)).into()),
                    false => Ok(()),
                }
            })?;
        }
        if n_repeated > 0 {
            let SideTable { name, join: JoinBlock { on, .. }, .. } = &table;
            let what = format!(
                "the key `{on}` of the side table `{name}` is not unique: {n_repeated} of its {n} \
                 rows repeat a key of an earlier row, such as {}",
                list_words(repeated, EXAMPLES)
            );
            let hint = "write one row per key into the table; nobody can tell which of two values \
                        is meant";
            let fault = Fault::new("repeated-key", what).in_column(on.as_str());
            return source.locate_file(fault).fail(hint);
        }
        for (column, values) in own.iter().zip(columns) {
            let values = values.finish(column.class).map_err(|why| {
                let what = format!("column `{}` cannot be held: {why}", column.name);
                source.locate_file(Fault::new("unreadable-value", what).in_column(&column.name))
            })?;
            table.columns.push((column.clone(), values));
        }
        Ok(table)
    }

    /// Its columns, without the key.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &SourceColumn> {
        self.columns.iter().map(|(column, _)| column)
    }

    /// Some of its keys, in words.
    pub(crate) fn examples(&self) -> String {
        list_words(self.examples.iter().map(|key| format!("`{key}`")), EXAMPLES)
    }

    /// The columns for rows with these keys, the values of a column of the rows, and for each row
    /// whether the table has its key.
    pub(crate) fn look_up(
        &self,
        column: &SourceColumn,
        keys: &SourceValues,
    ) -> (Vec<SourceValues>, Vec<bool>) {
        let distinct = keys.distinct();
        let table = distinct.table(|row| {
            let key = keys.word(row).unwrap_or_default();
            let key = xxh3_128(column.canonical(&self.spelling.of(&key)).as_bytes());
            self.rows.get(&key).copied().unwrap_or(0)
        });
        let at = distinct.ids.iter().map(|&id| table[id as usize].checked_sub(1));
        let at: UInt32Array = at.collect();
        let columns = self.columns.iter().map(|(_, values)| match values {
            // A list that is longer than the rows is not copied.
            SourceValues::Named(texts) if texts.names.len() > at.len() => {
                SourceValues::Text(at.iter().map(|row| texts.name(row? as usize)).collect())
            }
            values => values.at(&at),
        });
        (columns.collect(), at.iter().map(|row| row.is_some()).collect())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};

    use super::SideColumn;
    use crate::data::values::{SourceValues, ValueClass};

    /// A file without a value in a column lacks it in all its rows, before and behind others.
    #[test]
    fn files_without_values_lack_them() {
        let words = |parts: &[SourceValues], class: ValueClass| -> Vec<Option<String>> {
            let mut column = SideColumn::default();
            let typed = parts.iter().map(|part| part.clone().with_class(class).unwrap());
            typed.for_each(|part| _ = column.append(&part));
            let values = column.finish(class).unwrap();
            (0..4).map(|i| values.word(i).map(|word| word.into_owned())).collect()
        };
        let texts = SourceValues::Text(StringArray::from(vec![Some("a")]));
        let numbers = SourceValues::Int(Int64Array::from(vec![Some(7)]));
        let empty = SourceValues::Empty;
        for (some, class, word) in [(texts, ValueClass::Text, "a"), (numbers, ValueClass::Int, "7")]
        {
            let found = words(&[empty(2), some, empty(1)], class);
            assert_eq!(found, [None, None, Some(word.to_owned()), None]);
        }
    }
}
