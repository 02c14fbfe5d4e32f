//! Every Parquet table this product writes: name, version, columns, units, writers and
//! readers.
//!
//! The tables are the product's public interface: users join them in DuckDB, Polars and pandas. So
//! key columns are never null (the empty text means "all"; in `population` no group, no model and
//! no set are null), a value column is null only with a reason in `undefined`, rows are sorted by
//! key, and the version of a table is in its file's metadata. What is not known here: how a number
//! was computed.

mod changes;
mod comparisons;
mod contracts;
mod counts;
pub(crate) mod deciding_range;
pub(crate) mod decoding;
pub(crate) mod digits;
mod experiments;
pub(crate) mod field_marks;
pub(crate) mod file;
mod gates;
mod graphs;
mod groups;
mod hidden_cause;
mod issues;
mod key_columns;
pub mod list;
pub(crate) mod merged;
mod metrics;
mod outcomes;
pub(crate) mod people_needed;
pub(crate) mod population;
mod quality;
pub(crate) mod recourse;
pub(crate) mod row_macro;
mod scores;
mod shared_meanings;
pub(crate) mod support;
pub(crate) mod why;

use arrow::datatypes::DataType;
use serde::Serialize;

pub use changes::WITH_FITS;
pub(crate) use changes::{REFITTED, RefitReason};
pub(crate) use counts::{DRAWN_SIDES, NO_GROUP};
pub(crate) use hidden_cause::ANY_TARGET;
pub use hidden_cause::JudgedRateKey;
pub(crate) use issues::{INFO, WARNING};
pub use key_columns::AuditKey;
pub use list::*;
pub(crate) use metrics::MetricTable;
pub use quality::{RARE, SetPair};
pub use row_macro::{RowColumns, SharedText, TableRow, finite, unsigned, whole};
pub(crate) use scores::JOB_STEP;

/// Whether the flags of a row, separated by commas, hold this one.
pub(crate) fn has_flag(flags: &str, flag: &str) -> bool {
    flags.split(',').any(|held| held == flag)
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// UTF-8 text.
    Text,
    /// 64-bit integer.
    Int,
    /// 64-bit float.
    Real,
    /// Whole number of 38 digits, decimal(38, 0).
    Wide,
    /// Unsigned 64-bit integer.
    Key,
}

impl ColumnType {
    /// The type of the column in a file.
    pub(crate) fn data_type(self) -> DataType {
        match self {
            ColumnType::Text => DataType::Utf8,
            ColumnType::Int => DataType::Int64,
            ColumnType::Real => DataType::Float64,
            ColumnType::Wide => DataType::Decimal128(38, 0),
            ColumnType::Key => DataType::UInt64,
        }
    }
}

/// One column of a table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ColumnDef {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
    /// Its meaning, with its unit, and what null means where null is allowed.
    pub meaning: &'static str,
    /// Whether it may be null.
    pub nullable: bool,
}

/// One table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TableDef {
    /// Its name; the file is `tables/<name>.parquet`.
    pub name: &'static str,
    /// Raised whenever a column is added or changes its meaning. Files of other versions are
    /// refused.
    pub version: u32,
    /// What one row represents.
    pub one_row_per: &'static str,
    /// The first `n_key` columns are the key.
    pub n_key: usize,
    /// The columns, key first.
    pub columns: &'static [ColumnDef],
    /// The stage that writes it.
    pub writer: &'static str,
    /// Its readers.
    pub readers: &'static str,
}

impl TableDef {
    /// The name of its file.
    pub fn file(&self) -> String {
        format!("{}.parquet", self.name)
    }
}

#[cfg(test)]
mod tests {
    use crate::table::list::TABLES;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_of_tables_is_sound() {
        let mut names = BTreeSet::new();
        for table in TABLES {
            assert!(names.insert(table.name), "{} occurs twice", table.name);
            assert!(table.n_key > 0 && table.n_key <= table.columns.len(), "{}", table.name);
            let mut columns = BTreeSet::new();
            for (i, column) in table.columns.iter().enumerate() {
                assert!(columns.insert(column.name), "{}.{} occurs twice", table.name, column.name);
                assert!(!column.meaning.is_empty(), "{}.{}", table.name, column.name);
                assert!(
                    i >= table.n_key || !column.nullable || table.name == "population",
                    "{}.{} is a key",
                    table.name,
                    column.name
                );
                assert!(
                    !column.nullable || column.meaning.contains("null"),
                    "{}.{} must say what null means",
                    table.name,
                    column.name
                );
            }
        }
    }
}
