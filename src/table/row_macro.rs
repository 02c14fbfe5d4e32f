//! Rows of tables: the macro that writes the struct of a row with its definition, writer and
//! reader, and the types of cells.
//!
//! A field is a column, or a struct of columns that several tables share. The type of a column
//! says what the cells hold, and `Option` that they may be null. So no cell has a position and no
//! column is looked up by a text that may be mistyped.

use std::borrow::Borrow;
use std::convert::identity;
use std::fmt::{self, Debug, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::slice::Iter;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
    UInt64Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use serde::{Serialize, Serializer};

use super::shared_meanings::meaning_of_all;
use super::{ColumnDef, ColumnType, TableDef};

/// What a column holds if it is not null.
pub trait PlainCell: Clone + Debug + 'static {
    /// The type of the column.
    const KIND: ColumnType;
    /// The column of a file in memory.
    type Column;

    /// The column of these cells, in their order.
    fn array<'a>(cells: impl Iterator<Item = Option<&'a Self>> + Clone) -> ArrayRef;

    /// The column in an array; none where the array has another type.
    fn column(array: &ArrayRef) -> Option<Self::Column>;

    /// The cell of a row, which may be null; none where the column cannot hold the value there.
    fn get(column: &Self::Column, row: usize) -> Option<Option<Self>>;

    /// Whether the cell of a row is this one, where that is known without making it.
    fn is_at(&self, _: &Self::Column, _: usize) -> bool {
        false
    }

    /// Appends bytes to a key, in whose order cells are: text by bytes, numbers by size.
    fn push_key(&self, key: &mut Vec<u8>);
}

/// A text of a table. Equal texts of rows that are read together are one in memory, however many
/// rows there are.
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
        // Equal texts of one table are one in memory.
        let other = other.as_ref();
        std::ptr::eq(self.as_str(), other) || *self.0 == *other
    }
}

impl Hash for SharedText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
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

/// A column of texts of a file: each text once, and its position for each row.
pub struct ListedTexts {
    positions: Int32Array,
    /// The texts that some row has.
    texts: Vec<Option<SharedText>>,
}

impl PlainCell for SharedText {
    const KIND: ColumnType = ColumnType::Text;
    type Column = ListedTexts;

    fn array<'a>(cells: impl Iterator<Item = Option<&'a Self>> + Clone) -> ArrayRef {
        Arc::new(cells.map(|cell| cell.map(SharedText::as_str)).collect::<StringArray>())
    }

    fn column(array: &ArrayRef) -> Option<ListedTexts> {
        let text = Self::KIND.data_type();
        let listed = DataType::Dictionary(Box::new(DataType::Int32), Box::new(text.clone()));
        let is_text = [&text, &listed].contains(&array.data_type());
        let array = cast(array, &listed).ok().filter(|_| is_text)?;
        let array = array.as_dictionary_opt::<Int32Type>()?;
        let values = array.values().as_string_opt::<i32>()?;
        let mut texts = vec![None; values.len()];
        for at in array.keys_iter().flatten() {
            texts.get_mut(at)?.get_or_insert_with(|| SharedText::from(values.value(at)));
        }
        Some(ListedTexts { positions: array.keys().clone(), texts })
    }

    fn get(column: &ListedTexts, row: usize) -> Option<Option<Self>> {
        if column.positions.is_null(row) {
            return Some(None);
        }
        let at = usize::try_from(column.positions.value(row)).ok()?;
        column.texts.get(at)?.clone().map(Some)
    }

    fn is_at(&self, column: &ListedTexts, row: usize) -> bool {
        let at = column.positions.is_valid(row).then(|| column.positions.value(row) as usize);
        let text = at.and_then(|at| column.texts.get(at)?.as_ref());
        text.is_some_and(|text| Arc::ptr_eq(&text.0, &self.0))
    }

    fn push_key(&self, key: &mut Vec<u8>) {
        // A text ends before any other that begins with it, so its own zeros are marked.
        for (k, part) in self.as_bytes().split(|byte| *byte == 0).enumerate() {
            key.extend_from_slice(if k > 0 { &[0, u8::MAX] } else { &[] });
            key.extend_from_slice(part);
        }
        key.extend([0; 2]);
    }
}

/// A cell that is a number in its array: an unsigned integer type whose order is that of the cells,
/// the number of a cell, the cell of a number, and the array with its type.
macro_rules! number_cell {
    ($cell:ty, $kind:ident, $array:ty, $order:expr, $number:expr, $cell_of:expr, $typed:expr) => {
        impl PlainCell for $cell {
            const KIND: ColumnType = ColumnType::$kind;
            type Column = $array;

            fn array<'a>(cells: impl Iterator<Item = Option<&'a Self>> + Clone) -> ArrayRef {
                let is_valid: Vec<bool> = cells.clone().map(|cell| cell.is_some()).collect();
                let number = |cell: &$cell| $number(*cell);
                let numbers: Vec<_> =
                    cells.map(|cell| cell.map(number).unwrap_or_default()).collect();
                let nulls = Some(NullBuffer::from(is_valid)).filter(|n| n.null_count() > 0);
                Arc::new($typed(<$array>::new(numbers.into(), nulls)))
            }

            fn column(array: &ArrayRef) -> Option<$array> {
                let is_own = *array.data_type() == Self::KIND.data_type();
                array.as_any().downcast_ref::<$array>().filter(|_| is_own).cloned()
            }

            fn get(column: &$array, row: usize) -> Option<Option<Self>> {
                if column.is_null(row) { Some(None) } else { $cell_of(column.value(row)).map(Some) }
            }

            fn push_key(&self, key: &mut Vec<u8>) {
                key.extend($order(*self).to_be_bytes());
            }
        }
    };
}

number_cell!(i64, Int, Int64Array, order_of_signed, identity, Some, identity);
number_cell!(f64, Real, Float64Array, order_of_real, identity, Some, identity);
number_cell!(u64, Key, UInt64Array, identity, identity, Some, identity);
number_cell!(bool, Int, Int64Array, u8::from, i64::from, as_bool, identity);
number_cell!(i128, Wide, Decimal128Array, order_of_wide, identity, Some, as_wide);

fn order_of_signed(number: i64) -> u64 {
    number.cast_unsigned() ^ 1 << 63
}

fn order_of_wide(number: i128) -> u128 {
    number.cast_unsigned() ^ 1 << 127
}

/// As [`f64::total_cmp`].
fn order_of_real(number: f64) -> u64 {
    let bits = number.to_bits();
    if number.is_sign_negative() { !bits } else { bits ^ 1 << 63 }
}

fn as_bool(number: i64) -> Option<bool> {
    [false, true].into_iter().find(|is| i64::from(*is) == number)
}

fn as_wide(array: Decimal128Array) -> Decimal128Array {
    array.with_data_type(ColumnType::Wide.data_type())
}

/// A cell of a row: what its column holds, or an `Option` of it where the column may be null.
pub trait CellValue: Clone + Debug {
    /// What the column holds.
    type Plain: PlainCell;
    /// Whether it may be null.
    const NULLABLE: bool;

    /// The cell; none where it is null.
    fn plain(&self) -> Option<&Self::Plain>;

    /// Becomes the cell of a row; none where the column may not hold the value there.
    fn set(&mut self, column: &<Self::Plain as PlainCell>::Column, row: usize) -> Option<()>;
}

impl<T: PlainCell> CellValue for T {
    type Plain = T;
    const NULLABLE: bool = false;

    fn plain(&self) -> Option<&T> {
        Some(self)
    }

    fn set(&mut self, column: &T::Column, row: usize) -> Option<()> {
        if !self.is_at(column, row) {
            *self = T::get(column, row).flatten()?;
        }
        Some(())
    }
}

impl<T: PlainCell> CellValue for Option<T> {
    type Plain = T;
    const NULLABLE: bool = true;

    fn plain(&self) -> Option<&T> {
        self.as_ref()
    }

    fn set(&mut self, column: &T::Column, row: usize) -> Option<()> {
        if !self.as_ref().is_some_and(|own| own.is_at(column, row)) {
            *self = T::get(column, row)?;
        }
        Some(())
    }
}

/// Appends a cell to a key: null first.
pub(crate) fn push_cell<C: CellValue>(cell: &C, key: &mut Vec<u8>) {
    key.push(u8::from(cell.plain().is_some()));
    cell.plain().into_iter().for_each(|plain| plain.push_key(key));
}

/// A whole number of a table; larger ones become the largest that it can hold.
pub fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A number of a table that may be null: one that is not finite becomes null.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// What has columns as its fields: a row, or the columns that rows of several tables share.
pub trait RowColumns: Clone + Default {
    /// The columns, in the order of a file.
    const COLUMNS: &'static [ColumnDef];
    /// How many of them are in shared parts, which come first.
    const N_SHARED: usize;
    /// The columns of a file in memory, in the order of the definition.
    type Columns;

    /// The columns of these rows, in the order of the definition.
    fn arrays<'a>(rows: impl Iterator<Item = &'a Self> + Clone) -> Vec<ArrayRef>
    where
        Self: 'a;

    /// The columns of a file, taken from its arrays in the order of the definition.
    ///
    /// # Errors
    /// The name of a column that has another type.
    fn columns(arrays: &mut Iter<'_, ArrayRef>) -> Result<Self::Columns, &'static str>;

    /// Becomes a row of a file. Texts that it shares with the row that it was are kept.
    ///
    /// # Errors
    /// The name of a column that may not hold the value there.
    fn set(&mut self, columns: &Self::Columns, row: usize) -> Result<(), &'static str>;

    /// Appends the columns of shared parts and those after them, in all `n_key`, to a key.
    fn push_key(&self, key: &mut Vec<u8>, n_key: usize);
}

/// A row of a table, whose fields are its columns.
pub trait TableRow: RowColumns {
    /// The table.
    const TABLE: &'static TableDef;

    /// The key of the row: bytes in whose order the rows of the table are.
    fn sort_key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        self.push_key(&mut key, Self::TABLE.n_key);
        key
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

            type Columns = (
                $(<$shared_columns as $crate::table::row_macro::RowColumns>::Columns,)*
                $(
                    <<$cell as $crate::table::row_macro::CellValue>::Plain
                        as $crate::table::row_macro::PlainCell>::Column,
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
            ) -> Result<Self::Columns, &'static str> {
                use $crate::table::row_macro::{CellValue, PlainCell};
                // Evaluated in the order in which they are written: that of the columns.
                Ok((
                    $(<$shared_columns as $crate::table::row_macro::RowColumns>::columns(arrays)?,)*
                    $(
                        arrays
                            .next()
                            .and_then(<<$cell as CellValue>::Plain as PlainCell>::column)
                            .ok_or($crate::table::row_macro::column_name(stringify!($column)))?,
                    )+
                ))
            }

            fn set(&mut self, columns: &Self::Columns, row: usize) -> Result<(), &'static str> {
                let ($($part,)* $($column,)+) = columns;
                $($crate::table::row_macro::RowColumns::set(&mut self.$part, $part, row)?;)*
                $(
                    $crate::table::row_macro::CellValue::set(&mut self.$column, $column, row)
                        .ok_or(const {
                            $crate::table::row_macro::column_name(stringify!($column))
                        })?;
                )+
                Ok(())
            }

            fn push_key(&self, key: &mut Vec<u8>, n_key: usize) {
                $(self.$part.push_key(key, usize::MAX);)*
                let own = [$(
                    |row: &Self, key: &mut Vec<u8>| {
                        $crate::table::row_macro::push_cell(&row.$column, key);
                    },
                )+];
                let n_own = n_key - Self::N_SHARED.min(n_key);
                own.iter().take(n_own).for_each(|push| push(self, key));
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

#[cfg(test)]
mod tests {
    use super::{CellValue, SharedText, push_cell};

    /// Keys of cells are in the order of the cells, whatever cells follow.
    #[test]
    fn keys_are_in_the_order_of_cells() {
        fn ascending<C: CellValue>(cells: &[C]) {
            let key = |cell: &C, next: u8| {
                let mut key = Vec::new();
                push_cell(cell, &mut key);
                key.push(next);
                key
            };
            for pair in cells.windows(2) {
                assert!(key(&pair[0], u8::MAX) < key(&pair[1], 0), "{pair:?}");
            }
        }
        let texts =
            ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0\0", "a\0b", "ab", "b", "é", "\u{10ffff}"];
        ascending(&texts.map(SharedText::from));
        ascending(&[None, Some(SharedText::from("")), Some("a".into())]);
        ascending(&[i64::MIN, -1, 0, 1, i64::MAX]);
        ascending(&[0, 1, u64::MAX]);
        ascending(&[i128::MIN, -1, 0, 1, i128::MAX]);
        ascending(&[None, Some(false), Some(true)]);
        let reals = [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 2.0];
        ascending(&[&reals[..], &[f64::INFINITY, f64::NAN]].concat());
    }
}
