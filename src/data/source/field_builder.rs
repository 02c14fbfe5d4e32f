//! Builds typed columns from the fields of text files; a field that is not there is missing.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMillisecondBuilder,
};
use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::{Date32Type, TimestampMillisecondType};

use crate::data::source::notation::NumberNotation;
use crate::data::values::EXACT;
use crate::param::worded_enum;

worded_enum! {
    /// The type of the fields of a column.
    FieldType {
        /// Integers, also where the file writes them as `63.0`.
        Int = "integer",
        /// Numbers.
        Float = "number",
        /// Text.
        Text = "text",
        /// Days, written `2013-08-14`.
        Date = "date",
        /// Times without a zone, written `2013-08-13 06:03:42`.
        Time = "time",
    }
}

/// A column under construction.
pub(super) enum FieldBuilder {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Date(Date32Builder),
    Time(TimestampMillisecondBuilder),
}

impl FieldBuilder {
    /// A column without a row.
    pub(super) fn new(holds: FieldType) -> Self {
        match holds {
            FieldType::Int => FieldBuilder::Int(Int64Builder::new()),
            FieldType::Float => FieldBuilder::Float(Float64Builder::new()),
            FieldType::Text => FieldBuilder::Text(StringBuilder::new()),
            FieldType::Date => FieldBuilder::Date(Date32Builder::new()),
            FieldType::Time => FieldBuilder::Time(TimestampMillisecondBuilder::new()),
        }
    }

    /// Appends a field; `None` if it is not a value of the column.
    pub(super) fn append(&mut self, field: Option<&str>, notation: NumberNotation) -> Option<()> {
        fn read<T>(field: Option<&str>, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
            field.map_or(Some(None), |field| parse(field).map(Some))
        }
        match self {
            FieldBuilder::Int(b) => b.append_option(read(field, |f| integer(f, notation))?),
            FieldBuilder::Float(b) => b.append_option(read(field, |f| notation.float(f))?),
            FieldBuilder::Text(b) => b.append_option(field),
            FieldBuilder::Date(b) => b.append_option(read(field, Date32Type::parse)?),
            FieldBuilder::Time(b) => b.append_option(read(field, TimestampMillisecondType::parse)?),
        }
        Some(())
    }

    /// The rows so far; the next ones begin a column of their own.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            FieldBuilder::Int(b) => Arc::new(b.finish()),
            FieldBuilder::Float(b) => Arc::new(b.finish()),
            FieldBuilder::Text(b) => Arc::new(b.finish()),
            FieldBuilder::Date(b) => Arc::new(b.finish()),
            FieldBuilder::Time(b) => Arc::new(b.finish()),
        }
    }
}

/// An integer, also one written as `63.0`.
fn integer(field: &str, notation: NumberNotation) -> Option<i64> {
    let whole = |x: &f64| x.fract() == 0.0 && x.abs() < EXACT;
    notation.integer(field).or_else(|| Some(notation.number(field).filter(whole)? as i64))
}

#[cfg(test)]
mod tests {
    use super::integer;
    use crate::data::source::notation::NumberNotation;

    #[test]
    fn integers_may_be_written_as_decimals() {
        let integer = |field| integer(field, NumberNotation::default());
        assert_eq!(
            ["63.0", "9.00", "-7", "0"].map(integer),
            [Some(63), Some(9), Some(-7), Some(0)]
        );
        assert_eq!(["2.3", "?", "", "1e300", "nan"].map(integer), [None; 5]);
    }
}
