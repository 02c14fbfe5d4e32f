//! Reads the prepared rows into plain vectors; writes feature columns for other stages.

pub mod aligned;
pub mod content;
pub mod ids;
pub mod profile;
pub mod reference;
pub mod split;
pub mod training;

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Field, Float64Type, Int8Type, Int64Type, SchemaRef, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};

use crate::data::exchange::raw;
use crate::data::rows::ids::RowIds;
use crate::data::values::ValueClass;
use crate::data::{
    Feature, FeatureColumn, FeatureRows, Layout, MISSING, MISSING_CLASS, MISSING_GROUP, RowIdKind,
};
use crate::error::{Error, FOLDER_CHANGED_HINT, Result};
use crate::exec::files;
use crate::table::file::{FileOwner, ParquetFile, packed, sampled};

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
    /// The class of a label with more than two; [`MISSING_CLASS`] = missing. Otherwise empty.
    pub class: Vec<u8>,
    /// The weight of each row: how many people it represents, finite and 0 or more.
    ///
    /// Empty where the job names no weight: then each row counts 1.
    pub weight: Vec<f64>,
    /// For each attribute the group; [`MISSING_GROUP`] = missing or not declared.
    pub groups: Vec<Vec<u16>>,
    /// The features; without columns if they were not requested.
    pub rows: FeatureRows,
    /// For each carried column its numbers; NaN = missing.
    pub carried: Vec<Vec<f64>>,
    /// The position of the stratum; [`MISSING`] = none. Empty where the job names no strata.
    pub strata: Vec<u32>,
    /// For each column of slices the position of the level; [`MISSING`] = none.
    pub slices: Vec<Vec<u32>>,
}

impl RowsReader {
    /// Opens `rows.parquet` and `layout.json` of a folder.
    ///
    /// # Errors
    /// Either is absent or damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("layout.json");
        let text = files::read_text(&path)?;
        let layout =
            serde_json::from_str(&text).map_err(|e| Error::io("read", &path, &e.into()))?;
        Ok(RowsReader {
            file: ParquetFile::open(&folder.join("rows.parquet"), FileOwner::Program)?,
            layout,
        })
    }

    /// The meaning of the columns.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The Parquet file.
    pub fn file(&self) -> &ParquetFile {
        &self.file
    }

    /// Number of row groups.
    pub fn n_groups(&self) -> usize {
        self.file.n_groups()
    }

    /// Position of the first row of a row group.
    ///
    /// All groups but the last have the same number of rows.
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
        let classes = layout.label.as_ref().is_some_and(|label| !label.classes.is_empty());
        names.extend(classes.then(|| "class".to_owned()));
        names.extend(layout.weight.iter().map(|_| "weight".to_owned()));
        names.extend(layout.attributes.iter().map(|a| format!("group.{}", a.name)));
        if features {
            names.extend(layout.features.iter().map(|f| format!("x.{}", f.name)));
        }
        names.extend(layout.carried.iter().map(|c| format!("carry.{c}")));
        names.extend(layout.strata.iter().map(|_| "stratum".to_owned()));
        names.extend(layout.slices.iter().map(|slices| format!("slice.{}", slices.column)));
        let batch = self
            .file
            .read_group(group, Some(&names.iter().map(String::as_str).collect::<Vec<_>>()))?;
        let n = batch.num_rows();
        let mut columns = BatchColumns::of(batch);
        let label = match layout.label {
            None => Vec::new(),
            Some(_) => self
                .column::<Int8Type>(&mut columns, "label")?
                .iter()
                .map(|v| v.map(|v| v == 1))
                .collect(),
        };
        let class = match classes {
            false => Vec::new(),
            true => values_or(self.column::<UInt8Type>(&mut columns, "class")?, MISSING_CLASS),
        };
        let weight = match layout.weight {
            None => Vec::new(),
            Some(_) => values_or(self.column::<Float64Type>(&mut columns, "weight")?, f64::NAN),
        };
        let mut keys =
            |name: &str| self.column::<UInt64Type>(&mut columns, name).map(|a| values_or(a, 0));
        let (row, row_key) = (keys("row")?, keys("row_key")?);
        let mut group_column = |name: &str| {
            self.column::<UInt16Type>(&mut columns, &format!("group.{name}"))
                .map(|a| values_or(a, MISSING_GROUP))
        };
        let groups =
            layout.attributes.iter().map(|a| group_column(&a.name)).collect::<Result<_>>()?;
        let mut carried = |name: &str| {
            self.column::<Float64Type>(&mut columns, &format!("carry.{name}"))
                .map(|a| values_or(a, f64::NAN))
        };
        let carried = layout.carried.iter().map(|c| carried(c)).collect::<Result<_>>()?;
        let strata = match layout.strata {
            None => Vec::new(),
            Some(_) => values_or(self.column::<UInt32Type>(&mut columns, "stratum")?, MISSING),
        };
        let mut level = |name: &str| {
            self.column::<UInt32Type>(&mut columns, &format!("slice.{name}"))
                .map(|a| values_or(a, MISSING))
        };
        let slices =
            layout.slices.iter().map(|slices| level(&slices.column)).collect::<Result<_>>()?;
        let rows = match features {
            true => rows_of(columns, n, layout).map_err(|name| self.unexpected(&name))?,
            false => FeatureRows { n, columns: Vec::new() },
        };
        Ok(PreparedBatch {
            row,
            row_key,
            label,
            class,
            weight,
            groups,
            rows,
            carried,
            strata,
            slices,
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
                let numbers = self.column::<UInt64Type>(&mut BatchColumns::of(batch), name)?;
                RowIds::Integer(numbers.values().iter().map(|v| v.cast_signed()).collect())
            }
            RowIdKind::Integer => RowIds::Integer(values_or(
                self.column::<Int64Type>(&mut BatchColumns::of(batch), name)?,
                0,
            )),
            RowIdKind::Text => {
                let ids =
                    batch.column(0).as_string_opt::<i32>().ok_or_else(|| self.unexpected(name))?;
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
        Ok(Some(values_or(self.column::<UInt8Type>(&mut BatchColumns::of(batch), "role")?, 0)))
    }

    fn column<T: ArrowPrimitiveType>(
        &self,
        columns: &mut BatchColumns,
        name: &str,
    ) -> Result<PrimitiveArray<T>> {
        columns.take(name).ok_or_else(|| self.unexpected(name))
    }

    fn unexpected(&self, column: &str) -> Error {
        Error::operator(
            "read",
            self.file.path(),
            format!("column `{column}` is missing or has another type than `layout.json` says"),
            FOLDER_CHANGED_HINT,
        )
    }
}

/// The columns of a batch, each to be taken once.
///
/// A column without other references becomes a vector without a copy.
struct BatchColumns {
    schema: SchemaRef,
    arrays: Vec<Option<ArrayRef>>,
}

impl BatchColumns {
    fn of(batch: RecordBatch) -> Self {
        let (schema, arrays, _) = batch.into_parts();
        BatchColumns { schema, arrays: arrays.into_iter().map(Some).collect() }
    }

    fn take<T: ArrowPrimitiveType>(&mut self, name: &str) -> Option<PrimitiveArray<T>> {
        let array = self.arrays[self.schema.index_of(name).ok()?].take()?;
        array.as_primitive_opt::<T>().cloned()
    }
}

fn values_or<T: ArrowPrimitiveType>(
    array: PrimitiveArray<T>,
    missing: T::Native,
) -> Vec<T::Native> {
    let (_, values, nulls) = array.into_parts();
    let mut values = Vec::from(values);
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        values
            .iter_mut()
            .zip(&nulls)
            .filter(|(_, known)| !known)
            .for_each(|(value, _)| *value = missing);
    }
    values
}

/// The fields `x.<feature>` of a layout.
///
/// Whole numbers and positions of levels are stored as such, which is the fastest to write and
/// read.
pub fn feature_fields(layout: &Layout) -> Vec<Field> {
    let field =
        |feature: &Feature, data_type| Field::new(format!("x.{}", feature.name), data_type, true);
    let of = |feature: &Feature| match () {
        () if feature.kind.is_coded() => packed(field(feature, DataType::UInt32)),
        () if is_whole(feature) => packed(field(feature, DataType::Int64)),
        () => sampled(field(feature, DataType::Float64)),
    };
    layout.features.iter().map(of).collect()
}

/// Whether every number of a feature is whole.
///
/// Learnt values that are not whole are refused, generated ones are rounded.
fn is_whole(feature: &Feature) -> bool {
    feature.class == ValueClass::Int && !feature.kind.is_coded()
}

/// The arrays for [`feature_fields`].
///
/// # Errors
/// A number of an integer column is not whole: a bug.
pub fn feature_arrays(features: &[Feature], rows: FeatureRows) -> Result<Vec<ArrayRef>> {
    features
        .iter()
        .zip(rows.columns)
        .map(|(feature, column)| feature_array(feature, column))
        .collect()
}

/// The array of one of [`feature_fields`].
///
/// # Errors
/// As [`feature_arrays`].
pub(super) fn feature_array(feature: &Feature, column: FeatureColumn) -> Result<ArrayRef> {
    match column {
        FeatureColumn::Number(values) if is_whole(feature) => {
            raw::integers(feature, &values).map(|array| Arc::new(array) as ArrayRef)
        }
        FeatureColumn::Number(values) => Ok(number_array(values)),
        FeatureColumn::Code(codes) => Ok(nullable::<UInt32Type>(codes, |c| c != MISSING)),
    }
}

/// Numbers as stored in a file: NaN is null.
pub(super) fn number_array(values: Vec<f64>) -> ArrayRef {
    nullable::<Float64Type>(values, |v| !v.is_nan())
}

fn nullable<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    is_known: impl Fn(T::Native) -> bool,
) -> ArrayRef {
    let nulls = (!values.iter().all(|&v| is_known(v)))
        .then(|| NullBuffer::from_iter(values.iter().map(|&v| is_known(v))));
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

/// The features of a batch that holds the fields of [`feature_fields`].
///
/// # Errors
/// The name of a column that is missing or has another type.
pub fn feature_rows(batch: RecordBatch, layout: &Layout) -> Result<FeatureRows, String> {
    let n = batch.num_rows();
    rows_of(BatchColumns::of(batch), n, layout)
}

fn rows_of(mut columns: BatchColumns, n: usize, layout: &Layout) -> Result<FeatureRows, String> {
    let mut column = |feature: &Feature| {
        let name = format!("x.{}", feature.name);
        match () {
            () if feature.kind.is_coded() => columns
                .take::<UInt32Type>(&name)
                .map(|a| FeatureColumn::Code(values_or(a, MISSING))),
            () if is_whole(feature) => {
                columns.take::<Int64Type>(&name).map(|a| FeatureColumn::Number(numbers(&a)))
            }
            () => columns
                .take::<Float64Type>(&name)
                .map(|a| FeatureColumn::Number(values_or(a, f64::NAN))),
        }
        .ok_or(name)
    };
    let columns = layout.features.iter().map(&mut column).collect::<Result<_, _>>()?;
    Ok(FeatureRows { n, columns })
}

fn numbers(array: &PrimitiveArray<Int64Type>) -> Vec<f64> {
    let number = |value: i64| value as f64;
    match array.null_count() {
        0 => array.values().iter().map(|&value| number(value)).collect(),
        _ => array.iter().map(|value| value.map_or(f64::NAN, number)).collect(),
    }
}
