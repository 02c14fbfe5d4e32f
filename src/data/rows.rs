//! Reads the prepared rows back into plain vectors, and writes feature columns for the files of other stages.

#![expect(clippy::disallowed_methods, reason = "every call names its path in the error")]

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array, PrimitiveArray, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, Field, Float64Type, Int8Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};

use crate::data::{Column, Layout, MISSING, MISSING_GROUP, RowIdKind, Rows};
use crate::error::{Error, Result};
use crate::table::io::{Owner, ParquetFile};

/// `rows.parquet` with its layout, open for reading from any thread.
#[derive(Debug, Clone)]
pub struct RowsReader {
    file: ParquetFile,
    layout: Layout,
}

/// One row group of the prepared rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedBatch {
    /// Positions in the source before `keep`.
    pub row: Vec<u64>,
    /// The row number, the integer row id or the hash of the text row id.
    pub row_key: Vec<u64>,
    /// The label; `None` = missing. Empty where the job has no label.
    pub label: Vec<Option<bool>>,
    /// How many people each row stands for, finite and 0 or more. Empty where the job names no weight: then each stands for one.
    pub weight: Vec<f64>,
    /// For each attribute the group; [`MISSING_GROUP`] = missing or not declared.
    pub groups: Vec<Vec<u16>>,
    /// The features; without columns where they were not asked for.
    pub rows: Rows,
    /// For each carried column its numbers; NaN = missing.
    pub carried: Vec<Vec<f64>>,
}

/// The row ids of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowIds {
    /// Row numbers or integers of the row id column.
    Integer(Vec<i64>),
    /// Texts of the row id column.
    Text(Vec<String>),
}

impl RowIds {
    /// An id as text; empty where there is none.
    pub fn text(&self, i: usize) -> String {
        match self {
            RowIds::Integer(ids) => ids.get(i).map(ToString::to_string),
            RowIds::Text(ids) => ids.get(i).cloned(),
        }
        .unwrap_or_default()
    }
}

impl RowsReader {
    /// Opens `rows.parquet` and `layout.json` of a folder.
    ///
    /// # Errors
    /// Either is absent or damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("layout.json");
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))?;
        let layout = serde_json::from_str(&text).map_err(|e| Error::io("read", &path, &e.into()))?;
        Ok(RowsReader { file: ParquetFile::open(&folder.join("rows.parquet"), Owner::Ours)?, layout })
    }

    /// What the columns mean.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The file itself.
    pub fn file(&self) -> &ParquetFile {
        &self.file
    }

    /// Number of row groups.
    pub fn n_groups(&self) -> usize {
        self.file.n_groups()
    }

    /// Position of the first row of a row group: all groups but the last have the same number of rows.
    pub fn first_row(&self, group: usize) -> usize {
        if group == 0 { 0 } else { group * self.file.group_rows(0) }
    }

    /// A row group.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(&self, group: usize) -> Result<PreparedBatch> {
        self.read_some(group, true)
    }

    /// A row group without features.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_keys(&self, group: usize) -> Result<PreparedBatch> {
        self.read_some(group, false)
    }

    fn read_some(&self, group: usize, features: bool) -> Result<PreparedBatch> {
        let layout = &self.layout;
        let mut names = vec!["row".to_owned(), "row_key".to_owned()];
        names.extend(layout.label.iter().map(|_| "label".to_owned()));
        names.extend(layout.weight.iter().map(|_| "weight".to_owned()));
        names.extend(layout.attributes.iter().map(|a| format!("group.{}", a.name)));
        if features {
            names.extend(layout.features.iter().map(|f| format!("x.{}", f.name)));
        }
        names.extend(layout.carried.iter().map(|c| format!("carry.{c}")));
        let batch = self.file.read_group(group, Some(&names.iter().map(String::as_str).collect::<Vec<_>>()))?;
        let keys = |name: &str| self.column::<UInt64Type>(&batch, name).map(|a| a.values().to_vec());
        let group_column = |name: &str| self.column::<UInt16Type>(&batch, &format!("group.{name}")).map(|a| filled(&a, MISSING_GROUP));
        let carried = |name: &str| self.column::<Float64Type>(&batch, &format!("carry.{name}")).map(|a| filled(&a, f64::NAN));
        let label = match layout.label {
            None => Vec::new(),
            Some(_) => self.column::<Int8Type>(&batch, "label")?.iter().map(|v| v.map(|v| v == 1)).collect(),
        };
        let weight = match layout.weight {
            None => Vec::new(),
            Some(_) => self.column::<Float64Type>(&batch, "weight")?.values().to_vec(),
        };
        Ok(PreparedBatch {
            row: keys("row")?,
            row_key: keys("row_key")?,
            label,
            weight,
            groups: layout.attributes.iter().map(|a| group_column(&a.name)).collect::<Result<_>>()?,
            rows: if features { self.rows(&batch)? } else { Rows { n: batch.num_rows(), columns: Vec::new() } },
            carried: layout.carried.iter().map(|c| carried(c)).collect::<Result<_>>()?,
        })
    }

    /// The row ids of a row group; row numbers without `row_id` in the job.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_ids(&self, group: usize) -> Result<RowIds> {
        let name = if self.layout.row_id == RowIdKind::RowNumber { "row" } else { "row_id" };
        let batch = self.file.read_group(group, Some(&[name]))?;
        Ok(match self.layout.row_id {
            RowIdKind::RowNumber => {
                RowIds::Integer(self.column::<UInt64Type>(&batch, name)?.values().iter().map(|v| v.cast_signed()).collect())
            }
            RowIdKind::Integer => RowIds::Integer(self.column::<Int64Type>(&batch, name)?.values().to_vec()),
            RowIdKind::Text => {
                let ids = batch.column(0).as_string_opt::<i32>().ok_or_else(|| self.unexpected(name))?;
                RowIds::Text(ids.iter().map(|id| id.unwrap_or_default().to_owned()).collect())
            }
        })
    }

    /// The roles of a row group, where a column of the source splits the rows.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_roles(&self, group: usize) -> Result<Option<Vec<u8>>> {
        if self.file.schema().field_with_name("role").is_err() {
            return Ok(None);
        }
        let batch = self.file.read_group(group, Some(&["role"]))?;
        Ok(Some(self.column::<UInt8Type>(&batch, "role")?.values().to_vec()))
    }

    fn rows(&self, batch: &RecordBatch) -> Result<Rows> {
        feature_rows(batch, &self.layout).map_err(|name| self.unexpected(&name))
    }

    fn column<T: ArrowPrimitiveType>(&self, batch: &RecordBatch, name: &str) -> Result<PrimitiveArray<T>> {
        let array = batch.column_by_name(name).and_then(|a| a.as_primitive_opt::<T>());
        array.cloned().ok_or_else(|| self.unexpected(name))
    }

    fn unexpected(&self, column: &str) -> Error {
        Error::Operator {
            path: self.file.path().to_path_buf(),
            doing: "read".to_owned(),
            cause: format!("column `{column}` is missing or has another type than `layout.json` says"),
            hint: Some("the folder was changed after it was written; delete it and run again".to_owned()),
        }
    }
}

fn filled<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, missing: T::Native) -> Vec<T::Native> {
    match array.null_count() {
        0 => array.values().to_vec(),
        _ => array.iter().map(|v| v.unwrap_or(missing)).collect(),
    }
}

/// The fields `x.<feature>` of a layout.
pub fn feature_fields(layout: &Layout) -> Vec<Field> {
    let data_type = |coded: bool| if coded { DataType::UInt32 } else { DataType::Float64 };
    layout.features.iter().map(|f| Field::new(format!("x.{}", f.name), data_type(f.kind.is_coded()), true)).collect()
}

/// The arrays that belong to [`feature_fields`].
pub fn feature_arrays(rows: &Rows) -> Vec<ArrayRef> {
    let array = |column: &Column| -> ArrayRef {
        match column {
            Column::Number(values) => Arc::new(values.iter().map(|&v| (!v.is_nan()).then_some(v)).collect::<Float64Array>()),
            Column::Code(codes) => Arc::new(codes.iter().map(|&c| (c != MISSING).then_some(c)).collect::<UInt32Array>()),
        }
    };
    rows.columns.iter().map(array).collect()
}

/// The features of a batch that holds the fields of [`feature_fields`].
///
/// # Errors
/// The name of a column that is missing or has another type.
pub fn feature_rows(batch: &RecordBatch, layout: &Layout) -> Result<Rows, String> {
    let column = |name: &str, coded: bool| {
        let name = format!("x.{name}");
        let array = batch.column_by_name(&name);
        match coded {
            true => array.and_then(|a| a.as_primitive_opt::<UInt32Type>()).map(|a| Column::Code(filled(a, MISSING))),
            false => array.and_then(|a| a.as_primitive_opt::<Float64Type>()).map(|a| Column::Number(filled(a, f64::NAN))),
        }
        .ok_or(name)
    };
    let columns = layout.features.iter().map(|f| column(&f.name, f.kind.is_coded())).collect::<Result<_, _>>()?;
    Ok(Rows { n: batch.num_rows(), columns })
}
