//! Rows of tables: the macro that writes the struct of a row with its definition, writer and
//! reader, and the types of cells.
//!
//! A field is a column, or a struct of columns that several tables share. The type of a column
//! says what the cells hold, and `Option` that they may be null. So no cell has a position and no
//! column is looked up by a text that may be mistyped.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::convert::identity;
use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;
use std::slice::Iter;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::DataType;
use serde::{Serialize, Serializer};

use super::shared_meanings::meaning_of_all;
use super::{ColumnDef, ColumnType, TableDef};

/// What a column holds if it is not null.
pub trait PlainCell: Clone + Debug + 'static {
    /// The type of the column.
    const KIND: ColumnType;
    /// The column in memory.
    type Array: Array + Clone + 'static;

    /// The column of these cells, in their order.
    fn array<'a>(cells: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef;

    /// The cell of a row that is not null, which may share what the row before holds; none where
    /// the column cannot hold the value there.
    fn get(array: &Self::Array, row: usize, before: Option<&Self>) -> Option<Self>;

    /// Order of two cells: text by bytes, numbers by size.
    fn order(&self, other: &Self) -> Ordering;
}

/// A text of a table. Equal texts of neighbouring rows are one in memory, however many rows there
/// are.
#[derive(Debug, Clone, Default, Eq, PartialOrd, Ord)]
pub struct SharedText(Arc<str>);

impl SharedText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for SharedText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SharedText {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        SharedText(text.into())
    }
}

impl From<&String> for SharedText {
    fn from(text: &String) -> Self {
        SharedText(text.as_str().into())
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        SharedText(text.into())
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for SharedText {
    fn eq(&self, other: &T) -> bool {
        *self.0 == *other.as_ref()
    }
}

impl Display for SharedText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl PlainCell for SharedText {
    const KIND: ColumnType = ColumnType::Text;
    type Array = StringArray;

    fn array<'a>(cells: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef {
        Arc::new(cells.map(|cell| cell.map(SharedText::as_str)).collect::<StringArray>())
    }

    fn get(array: &StringArray, row: usize, before: Option<&Self>) -> Option<Self> {
        let text = array.value(row);
        Some(before.filter(|before| **before == text).cloned().unwrap_or_else(|| text.into()))
    }

    fn order(&self, other: &Self) -> Ordering {
        // Most cells that are compared while rows are sorted share their text.
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.cmp(other) }
    }
}

/// A cell that is a number in its array: how cells are ordered, the number of a cell, the cell of a
/// number, and the array with its type.
macro_rules! number_cell {
    ($cell:ty, $kind:ident, $array:ty, $order:expr, $number:expr, $cell_of:expr, $typed:expr) => {
        impl PlainCell for $cell {
            const KIND: ColumnType = ColumnType::$kind;
            type Array = $array;

            fn array<'a>(cells: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef {
                let numbers = cells.map(|cell| cell.map(|&cell| $number(cell)));
                Arc::new($typed(numbers.collect::<$array>()))
            }

            fn get(array: &$array, row: usize, _: Option<&Self>) -> Option<Self> {
                $cell_of(array.value(row))
            }

            fn order(&self, other: &Self) -> Ordering {
                $order(self, other)
            }
        }
    };
}

number_cell!(i64, Int, Int64Array, i64::cmp, identity, Some, identity);
number_cell!(f64, Real, Float64Array, f64::total_cmp, identity, Some, identity);
number_cell!(u64, Key, UInt64Array, u64::cmp, identity, Some, identity);
number_cell!(bool, Int, Int64Array, bool::cmp, i64::from, as_bool, identity);
number_cell!(i128, Wide, Decimal128Array, i128::cmp, identity, Some, as_wide);

fn as_bool(number: i64) -> Option<bool> {
    [false, true].into_iter().find(|is| i64::from(*is) == number)
}

fn as_wide(array: Decimal128Array) -> Decimal128Array {
    array.with_data_type(DataType::Decimal128(38, 0))
}

/// A cell of a row: what its column holds, or an `Option` of it where the column may be null.
pub trait CellValue: Clone + Debug {
    /// What the column holds.
    type Plain: PlainCell;
    /// Whether it may be null.
    const NULLABLE: bool;

    /// The cell; none where it is null.
    fn plain(&self) -> Option<&Self::Plain>;

    /// The cell of a row; none where the column may not hold the value there.
    fn read(
        array: &<Self::Plain as PlainCell>::Array,
        row: usize,
        before: Option<&Self>,
    ) -> Option<Self>;
}

impl<T: PlainCell> CellValue for T {
    type Plain = T;
    const NULLABLE: bool = false;

    fn plain(&self) -> Option<&T> {
        Some(self)
    }

    fn read(array: &T::Array, row: usize, before: Option<&Self>) -> Option<Self> {
        if array.is_null(row) { None } else { T::get(array, row, before) }
    }
}

impl<T: PlainCell> CellValue for Option<T> {
    type Plain = T;
    const NULLABLE: bool = true;

    fn plain(&self) -> Option<&T> {
        self.as_ref()
    }

    fn read(array: &T::Array, row: usize, before: Option<&Self>) -> Option<Self> {
        let before = before.and_then(Option::as_ref);
        if array.is_null(row) { Some(None) } else { T::get(array, row, before).map(Some) }
    }
}

/// Order of two cells of a key: null first.
pub(crate) fn cell_order<C: CellValue>(a: &C, b: &C) -> Ordering {
    match (a.plain(), b.plain()) {
        (Some(a), Some(b)) => a.order(b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// A whole number of a table; larger ones are pinned to the end of what it can hold.
pub fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A number of a table that may be null: one that is not finite has no place there.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// What has columns as its fields: a row, or the columns that rows of several tables share.
pub trait RowColumns: Clone {
    /// The columns, in the order of a file.
    const COLUMNS: &'static [ColumnDef];
    /// How many of them stand in shared parts, which come first.
    const N_SHARED: usize;
    /// The columns of a file in memory, in the order of the definition.
    type Arrays;

    /// The columns of these rows, in the order of the definition.
    fn arrays<'a>(rows: impl Iterator<Item = &'a Self> + Clone) -> Vec<ArrayRef>
    where
        Self: 'a;

    /// The columns of a file, taken from its arrays in the order of the definition.
    ///
    /// # Errors
    /// The name of a column that has another type.
    fn columns(arrays: &mut Iter<'_, ArrayRef>) -> Result<Self::Arrays, &'static str>;

    /// A row of a file, which shares texts with the row before.
    ///
    /// # Errors
    /// The name of a column that may not hold the value there.
    fn read(
        columns: &Self::Arrays,
        row: usize,
        before: Option<&Self>,
    ) -> Result<Self, &'static str>;

    /// Order of two rows by the columns of shared parts and those after them, in all `n_key`.
    fn key_order(&self, other: &Self, n_key: usize) -> Ordering;
}

/// A row of a table, whose fields are its columns.
pub trait TableRow: RowColumns {
    /// The table.
    const TABLE: &'static TableDef;

    /// Order of two rows by the key of the table.
    fn order(&self, other: &Self) -> Ordering {
        self.key_order(other, Self::TABLE.n_key)
    }
}

/// The columns of several parts, one after the other.
#[doc(hidden)]
pub(crate) const fn joined_columns<const N: usize>(parts: &[&[ColumnDef]]) -> [ColumnDef; N] {
    let none = ColumnDef { name: "", kind: ColumnType::Text, meaning: "", nullable: false };
    let mut columns = [none; N];
    let (mut part, mut n) = (0, 0);
    while part < parts.len() {
        let mut of_part = 0;
        while of_part < parts[part].len() {
            columns[n] = parts[part][of_part];
            of_part += 1;
            n += 1;
        }
        part += 1;
    }
    columns
}

/// The column behind an array, or its name where the type is another.
#[doc(hidden)]
pub(crate) fn typed<A: Array + Clone + 'static>(
    array: Option<&ArrayRef>,
    name: &'static str,
) -> Result<A, &'static str> {
    array.and_then(|array| array.as_any().downcast_ref::<A>()).cloned().ok_or(name)
}

/// The name of a column whose field may be a word of Rust, such as `r#where`.
#[doc(hidden)]
pub(crate) const fn column_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', name @ ..] => match std::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => field,
        },
        _ => field,
    }
}

/// The meaning of a column: its own, or what all tables say about its name.
#[doc(hidden)]
pub(crate) const fn meaning(own: &'static str, name: &'static str) -> &'static str {
    if own.is_empty() { meaning_of_all(name) } else { own.trim_ascii_start() }
}

/// Writes a struct whose fields are columns, with their definition, writer and reader.
///
/// `..NAME: TYPE` splices in columns that several tables share, another such struct; such parts
/// come first. A column without a text says what [`meaning_of_all`] says about its name.
macro_rules! columns {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $row:ident {
            $(..$part:ident: $shared_columns:ty,)*
            $(
                $(#[doc = $own:literal])*
                $column:ident: $cell:ty,
            )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
        $vis struct $row {
            $(
                /// The first columns, which other tables have too.
                #[serde(flatten)]
                pub $part: $shared_columns,
            )*
            $(
                #[doc = concat!("`", stringify!($column), "`")]
                $(#[doc = $own])*
                pub $column: $cell,
            )+
        }

        impl $crate::table::row_macro::RowColumns for $row {
            const COLUMNS: &'static [$crate::table::ColumnDef] = {
                const OWN: &[$crate::table::ColumnDef] = &[$(
                    $crate::table::ColumnDef {
                        name: $crate::table::row_macro::column_name(stringify!($column)),
                        kind: <<$cell as $crate::table::row_macro::CellValue>::Plain
                            as $crate::table::row_macro::PlainCell>::KIND,
                        meaning: $crate::table::row_macro::meaning(
                            concat!($($own),*),
                            stringify!($column),
                        ),
                        nullable: <$cell as $crate::table::row_macro::CellValue>::NULLABLE,
                    }
                ),+];
                const N: usize =
                    OWN.len() + <$row as $crate::table::row_macro::RowColumns>::N_SHARED;
                const ALL: [$crate::table::ColumnDef; N] =
                    $crate::table::row_macro::joined_columns(&[
                        $(<$shared_columns as $crate::table::row_macro::RowColumns>::COLUMNS,)*
                        OWN,
                    ]);
                &ALL
            };

            const N_SHARED: usize =
                0 $(+ <$shared_columns as $crate::table::row_macro::RowColumns>::COLUMNS.len())*;

            type Arrays = (
                $(<$shared_columns as $crate::table::row_macro::RowColumns>::Arrays,)*
                $(
                    <<$cell as $crate::table::row_macro::CellValue>::Plain
                        as $crate::table::row_macro::PlainCell>::Array,
                )+
            );

            fn arrays<'a>(
                rows: impl Iterator<Item = &'a Self> + Clone,
            ) -> Vec<arrow::array::ArrayRef> {
                use $crate::table::row_macro::{CellValue, PlainCell};
                let shared: Vec<Vec<arrow::array::ArrayRef>> = vec![$(
                    <$shared_columns as $crate::table::row_macro::RowColumns>::arrays(
                        rows.clone().map(|row| &row.$part),
                    )
                ),*];
                let own = [$(
                    <<$cell as CellValue>::Plain as PlainCell>::array(
                        rows.clone().map(|row| row.$column.plain()),
                    )
                ),+];
                shared.into_iter().flatten().chain(own).collect()
            }

            fn columns(
                arrays: &mut std::slice::Iter<'_, arrow::array::ArrayRef>,
            ) -> Result<Self::Arrays, &'static str> {
                // Evaluated in the order in which they are written: that of the columns.
                Ok((
                    $(<$shared_columns as $crate::table::row_macro::RowColumns>::columns(arrays)?,)*
                    $(
                        $crate::table::row_macro::typed(
                            arrays.next(),
                            $crate::table::row_macro::column_name(stringify!($column)),
                        )?,
                    )+
                ))
            }

            fn read(
                columns: &Self::Arrays,
                row: usize,
                before: Option<&Self>,
            ) -> Result<Self, &'static str> {
                let ($($part,)* $($column,)+) = columns;
                Ok($row {
                    $(
                        $part: $crate::table::row_macro::RowColumns::read(
                            $part,
                            row,
                            before.map(|before| &before.$part),
                        )?,
                    )*
                    $(
                        $column: <$cell as $crate::table::row_macro::CellValue>::read(
                            $column,
                            row,
                            before.map(|before| &before.$column),
                        )
                        .ok_or($crate::table::row_macro::column_name(stringify!($column)))?,
                    )+
                })
            }

            fn key_order(&self, other: &Self, n_key: usize) -> std::cmp::Ordering {
                let shared = std::cmp::Ordering::Equal
                    $(.then_with(|| self.$part.key_order(&other.$part, usize::MAX)))*;
                let own = [$(
                    |a: &Self,
                    b: &Self| $crate::table::row_macro::cell_order(&a.$column, &b.$column),
                )+];
                let n_own = n_key - Self::N_SHARED.min(n_key);
                own.iter().take(n_own).fold(shared, |order, of| order.then_with(|| of(self, other)))
            }
        }
    };
}

/// Writes the struct of a row with the definition of its table, its writer and its reader; the
/// fields as in [`columns!`].
macro_rules! table {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $row:ident in $name:literal, version $version:literal, key $n_key:literal,
        one row per $one_row_per:literal, written by $writer:literal, read by $readers:literal {
            $($fields:tt)+
        }
    ) => {
        $crate::table::row_macro::columns! {
            $(#[$attribute])*
            $vis struct $row { $($fields)+ }
        }

        impl $crate::table::row_macro::TableRow for $row {
            const TABLE: &'static $crate::table::TableDef = &$crate::table::TableDef {
                name: $name,
                version: $version,
                one_row_per: $one_row_per,
                n_key: $n_key,
                columns: <$row as $crate::table::row_macro::RowColumns>::COLUMNS,
                writer: $writer,
                readers: $readers,
            };
        }

        const _: () = assert!(
            <$row as $crate::table::row_macro::RowColumns>::N_SHARED <= $n_key,
            "columns that tables share are columns of their keys",
        );
    };
}

pub(crate) use {columns, table};
