//! Rows of tables: the macro that writes the struct of a row with its definition, writer and
//! reader, and the types of cells.
//!
//! A field is a column, or a struct of columns that several tables share. The type of a column
//! says what the cells hold, and `Option` that they may be null. So no cell has a position and no
//! column is looked up by a text that may be mistyped.

use std::borrow::Borrow;
use std::convert::identity;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt64Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use arrow::row::{RowConverter, Rows, SortField};
use serde::{Serialize, Serializer};

use super::shared_meanings::meaning_of_all;
use super::{ColumnDef, ColumnType, TableDef};
use crate::param::shown_as_text;

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
}

/// A text of a table. Equal texts of rows that are read together are one in memory, however many
/// rows there are.
#[derive(Debug, Clone, Default, Eq, PartialOrd, Ord)]
pub struct SharedText(Arc<str>);

shown_as_text!(SharedText);

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
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
}

/// A cell that is a number in its array: the number of a cell, the cell of a number, and the array
/// with its type.
macro_rules! number_cell {
    ($cell:ty, $kind:ident, $array:ty, $number:expr, $cell_of:expr, $typed:expr) => {
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
        }
    };
}

number_cell!(i64, Int, Int64Array, identity, Some, identity);
number_cell!(f64, Real, Float64Array, identity, Some, identity);
number_cell!(u64, Key, UInt64Array, identity, Some, identity);
number_cell!(bool, Int, Int64Array, i64::from, as_bool, identity);
number_cell!(i128, Wide, Decimal128Array, identity, Some, as_wide);

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

/// The column of a cell in a file in memory.
pub(crate) type ColumnOf<C> = <<C as CellValue>::Plain as PlainCell>::Column;

/// The column of a field in an array.
pub(crate) fn array_of<'a, C: CellValue + 'a>(
    cells: impl Iterator<Item = &'a C> + Clone,
) -> ArrayRef {
    C::Plain::array(cells.map(CellValue::plain))
}

/// The column of a field in a batch, else its name.
pub(crate) fn column_of<C: CellValue>(
    batch: &RecordBatch,
    field: &'static str,
) -> Result<ColumnOf<C>, &'static str> {
    let name = column_name(field);
    batch.column_by_name(name).and_then(C::Plain::column).ok_or(name)
}

/// A whole number of a table; larger ones become the largest that it can hold.
pub fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// How many a whole number of a table counts; one below 0, which only a damaged table has, is 0.
pub fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// A number of a table that may be null: one that is not finite becomes null.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// What has columns as its fields: a row, or the columns that rows of several tables share.
pub trait RowColumns: Clone + Default {
    /// The columns, in the order of a file.
    const COLUMNS: &'static [ColumnDef];
    /// The columns of a file in memory, in the order of the definition.
    type Columns;

    /// The first `n` columns of these rows, in the order of the definition.
    fn arrays<'a>(rows: impl Iterator<Item = &'a Self> + Clone, n: usize) -> Vec<ArrayRef>
    where
        Self: 'a;

    /// The columns of a file, by their names.
    ///
    /// # Errors
    /// The name of a column that is not there or has another type.
    fn columns(batch: &RecordBatch) -> Result<Self::Columns, &'static str>;

    /// Becomes a row of a file. Texts that it shares with the row that it was are kept.
    ///
    /// # Errors
    /// The name of a column that may not hold the value there.
    fn set(&mut self, columns: &Self::Columns, row: usize) -> Result<(), &'static str>;
}

/// A row of a table, whose fields are its columns; of rows that are only read, some of them.
pub trait TableRow: RowColumns {
    /// The table.
    const TABLE: &'static TableDef;

    /// Rows in the order of their keys, text by bytes, numbers by size, null first; those of equal
    /// keys in the order in which they come.
    fn sorted<T: Borrow<Self>>(rows: Vec<T>) -> Vec<T> {
        let keys = keys_of(&Self::arrays(rows.iter().map(Borrow::borrow), Self::TABLE.n_key));
        let mut order: Vec<_> = keys.iter().zip(rows).collect();
        order.sort_by_key(|(key, _)| *key);
        order.into_iter().map(|(_, row)| row).collect()
    }
}

/// The keys of rows, from the columns of their keys.
fn keys_of(columns: &[ArrayRef]) -> Rows {
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone()));
    let keys = RowConverter::new(fields.collect()).and_then(|keys| keys.convert_columns(columns));
    keys.expect("all cells of tables have an order")
}

impl ColumnDef {
    /// The column of a field whose text is `own`, where it has one.
    pub(crate) const fn of<C: CellValue>(field: &'static str, own: &'static str) -> Self {
        let meaning = if own.is_empty() { meaning_of_all(field) } else { own.trim_ascii_start() };
        let (kind, nullable) = (C::Plain::KIND, C::NULLABLE);
        ColumnDef { name: column_name(field), kind, meaning, nullable }
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

/// Writes structs whose fields are columns, with their definition, writer and reader.
///
/// `..NAME: TYPE` splices in columns that several tables share, another such struct; such parts
/// come first. A column without a text says what [`meaning_of_all`] says about its name.
macro_rules! columns {
    ($(
        $(#[$attribute:meta])*
        $vis:vis struct $row:ident {
            $(..$part:ident: $shared_columns:ty,)*
            $(
                $(#[doc = $own:literal])*
                $column:ident: $cell:ty,
            )+
        }
    )+) => {$(
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

        const _: () = {
            use arrow::array::{ArrayRef, RecordBatch};
            use $crate::table::ColumnDef;
            use $crate::table::row_macro::{
                CellValue, ColumnOf, RowColumns, array_of, column_name, column_of, joined_columns,
            };

            const OWN: &[ColumnDef] =
                &[$(ColumnDef::of::<$cell>(stringify!($column), concat!($($own),*))),+];
            const N: usize = OWN.len() $(+ <$shared_columns>::COLUMNS.len())*;

            impl RowColumns for $row {
                const COLUMNS: &'static [ColumnDef] =
                    &joined_columns::<N>(&[$(<$shared_columns>::COLUMNS,)* OWN]);

                type Columns = (
                    $(<$shared_columns as RowColumns>::Columns,)*
                    $(ColumnOf<$cell>,)+
                );

                fn arrays<'a>(
                    rows: impl Iterator<Item = &'a Self> + Clone,
                    n: usize,
                ) -> Vec<ArrayRef> {
                    let shared: Vec<Vec<ArrayRef>> =
                        vec![$(<$shared_columns>::arrays(rows.clone().map(|row| &row.$part), n)),*];
                    let own: &[&dyn Fn() -> ArrayRef] =
                        &[$(&|| array_of(rows.clone().map(|row| &row.$column))),+];
                    let own = own.iter().map(|array| array());
                    shared.into_iter().flatten().chain(own).take(n).collect()
                }

                fn columns(batch: &RecordBatch) -> Result<Self::Columns, &'static str> {
                    Ok((
                        $(<$shared_columns>::columns(batch)?,)*
                        $(column_of::<$cell>(batch, stringify!($column))?,)+
                    ))
                }

                fn set(&mut self, columns: &Self::Columns, row: usize) -> Result<(), &'static str> {
                    let ($($part,)* $($column,)+) = columns;
                    $(self.$part.set($part, row)?;)*
                    $(
                        CellValue::set(&mut self.$column, $column, row)
                            .ok_or(const { column_name(stringify!($column)) })?;
                    )+
                    Ok(())
                }
            }
        };
    )+};
}

/// Writes the structs of rows with the definitions of their tables, their writers and their
/// readers; the fields as in [`columns!`].
macro_rules! tables {
    ($(
        $(#[$attribute:meta])*
        $vis:vis struct $row:ident in $name:literal, version $version:literal, key $n_key:literal,
        one row per $one_row_per:literal, written by $writer:literal, read by $readers:literal {
            $($fields:tt)+
        }
    )+) => {$(
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
    )+};
}

pub(crate) use {columns, tables};

#[cfg(test)]
mod tests {
    use super::{CellValue, SharedText, array_of, keys_of};

    /// Keys of cells are in the order of the cells, whatever cells follow.
    #[test]
    fn keys_are_in_the_order_of_cells() {
        fn ascending<C: CellValue>(cells: &[C]) {
            for pair in cells.windows(2) {
                let next = array_of([i64::MAX, i64::MIN].iter());
                let keys = keys_of(&[array_of(pair.iter()), next]);
                assert!(keys.row(0) < keys.row(1), "{pair:?}");
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
