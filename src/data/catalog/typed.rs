//! Text fields become typed columns, of the types that a data set declares.
//!
//! An empty field is missing; what else means missing in a file is for its reader to empty. Every error names the line and the column,
//! although a verified checksum rules it out: a parse rule may be wrong too.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Builder, Float64Builder, Int64Builder, RecordBatch, StringBuilder, TimestampMillisecondBuilder};
use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::{Date32Type, TimestampMillisecondType};

use super::Type;
use crate::data::csv::{Reader, Record};
use crate::data::source::missing_column;
use crate::data::values::number;
use crate::error::{Error, Fault, Result};

/// Floats below this size hold every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Rows with declared columns that are being read or made.
pub(super) struct Table {
    columns: &'static [(&'static str, Type)],
    builders: Vec<Builder>,
}

enum Builder {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Date(Date32Builder),
    Time(TimestampMillisecondBuilder),
}

impl Builder {
    fn new(holds: Type) -> Self {
        match holds {
            Type::Int => Builder::Int(Int64Builder::new()),
            Type::Float => Builder::Float(Float64Builder::new()),
            Type::Text => Builder::Text(StringBuilder::new()),
            Type::Date => Builder::Date(Date32Builder::new()),
            Type::Time => Builder::Time(TimestampMillisecondBuilder::new()),
        }
    }

    /// Appends a field; `None` where it is no value of the column.
    fn append(&mut self, field: &str) -> Option<()> {
        let there = !field.is_empty();
        match self {
            Builder::Int(b) if there => b.append_value(integer(field)?),
            Builder::Float(b) if there => b.append_value(number(field)?),
            Builder::Text(b) if there => b.append_value(field),
            Builder::Date(b) if there => b.append_value(Date32Type::parse(field)?),
            Builder::Time(b) if there => b.append_value(TimestampMillisecondType::parse(field)?),
            Builder::Int(b) => b.append_null(),
            Builder::Float(b) => b.append_null(),
            Builder::Text(b) => b.append_null(),
            Builder::Date(b) => b.append_null(),
            Builder::Time(b) => b.append_null(),
        }
        Some(())
    }

    fn finish(mut self) -> ArrayRef {
        match &mut self {
            Builder::Int(b) => Arc::new(b.finish()),
            Builder::Float(b) => Arc::new(b.finish()),
            Builder::Text(b) => Arc::new(b.finish()),
            Builder::Date(b) => Arc::new(b.finish()),
            Builder::Time(b) => Arc::new(b.finish()),
        }
    }
}

/// An integer, also one that is written `63.0`.
fn integer(field: &str) -> Option<i64> {
    field.parse().ok().or_else(|| number(field).filter(|v| v.fract() == 0.0 && v.abs() < EXACT).map(|v| v as i64))
}

impl Table {
    /// No rows yet.
    pub(super) fn new(columns: &'static [(&'static str, Type)]) -> Self {
        Table { columns, builders: columns.iter().map(|&(_, holds)| Builder::new(holds)).collect() }
    }

    /// Adds a row with one field per column.
    ///
    /// # Errors
    /// Another number of fields, or a field that is no value of its column.
    pub(super) fn push<'f>(&mut self, fields: impl IntoIterator<Item = &'f str>) -> Result<()> {
        self.push_from(fields, |fault| fault)
    }

    /// As [`Table::push`]; `place` says in a fault where the row stands.
    fn push_from<'f>(&mut self, fields: impl IntoIterator<Item = &'f str>, place: impl Fn(Fault) -> Fault) -> Result<()> {
        let fields: Vec<&str> = fields.into_iter().collect();
        if fields.len() != self.columns.len() {
            let what = format!("the row has {} fields, the data set has {} columns", fields.len(), self.columns.len());
            return Err(place(Fault::new("ragged-row", what)).into());
        }
        for ((&(name, holds), builder), field) in self.columns.iter().zip(&mut self.builders).zip(fields) {
            let wrong = || place(Fault::new("unreadable-value", format!("`{field}` is no {}", holds.name())).in_column(name));
            builder.append(field).ok_or_else(wrong)?;
        }
        Ok(())
    }

    /// Adds the lines of a file that are not blank; `fields` cuts a line, and gives nothing for one that is no record.
    pub(super) fn push_lines<'b>(&mut self, path: &Path, bytes: &'b [u8], fields: impl Fn(&'b str) -> Option<Vec<&'b str>>) -> Result<()> {
        for (i, line) in bytes.split(|&b| b == b'\n').enumerate() {
            let here = |fault: Fault| fault.in_file(path).at_row(format!("line {}", i + 1));
            let line = std::str::from_utf8(line).map_err(|_| here(Fault::new("unreadable-value", "the line is not valid UTF-8")))?;
            if line.trim().is_empty() {
                continue;
            }
            if let Some(fields) = fields(line) {
                self.push_from(fields, here)?;
            }
        }
        Ok(())
    }

    /// Adds the records of a comma separated file with a header, of which only the declared columns are looked at. Where a name stands
    /// there again it is called `name.1`, then `name.2`.
    pub(super) fn push_csv(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(path, bytes, b',')?;
        let mut record = Record::default();
        reader.read(&mut record)?;
        let mut seen = HashMap::new();
        let names: Vec<String> = record
            .fields()
            .map(|name| {
                let times = seen.entry(name.to_owned()).and_modify(|n| *n += 1).or_insert(0);
                if *times == 0 { name.to_owned() } else { format!("{name}.{times}") }
            })
            .collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let position = |&(name, _): &(&str, Type)| -> Result<usize> {
            Ok(known.iter().position(|n| *n == name).ok_or_else(|| missing_column(path, name, &known))?)
        };
        let positions: Vec<usize> = self.columns.iter().map(position).collect::<Result<_>>()?;
        while reader.read(&mut record)? {
            let here = |fault: Fault| fault.in_file(path).at_row(format!("line {}", record.line));
            if record.len() != names.len() {
                let what = format!("the row has {} fields, the header has {}", record.len(), names.len());
                return Err(here(Fault::new("ragged-row", what)).into());
            }
            self.push_from(positions.iter().map(|&i| record.field(i)), here)?;
        }
        Ok(())
    }

    /// The rows.
    pub(super) fn finish(self) -> Result<RecordBatch> {
        let columns = self.columns.iter().zip(self.builders).map(|(&(name, _), builder)| (name, builder.finish(), true));
        RecordBatch::try_from_iter_with_nullable(columns)
            .map_err(|e| Error::from(Fault::new("unreadable-value", format!("the columns of the data set do not fit together: {e}"))))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{Date32Type, Float64Type, Int64Type, TimestampMillisecondType};

    use super::{Table, Type, integer};

    const COLUMNS: &[(&str, Type)] =
        &[("n", Type::Int), ("x", Type::Float), ("word", Type::Text), ("day", Type::Date), ("at", Type::Time), ("n.1", Type::Int)];

    #[test]
    fn integers_may_be_written_as_decimals() {
        assert_eq!(["63.0", "9.00", "-7", "0"].map(integer), [Some(63), Some(9), Some(-7), Some(0)]);
        assert_eq!(["2.3", "?", "", "1e300", "nan"].map(integer), [None; 5]);
    }

    #[test]
    fn fields_become_values_of_their_columns() {
        let mut table = Table::new(COLUMNS);
        let text = b"word,n,secret,x,n,day,at\r\n\"a, b\",1.0,s,.5,2,1970-01-03,1970-01-01 00:01:00\r\n,,s,,,,\r\n";
        table.push_csv(Path::new("f.csv"), text).unwrap();
        let rows = table.finish().unwrap();
        assert_eq!(rows.num_rows(), 2);
        assert!(rows.columns().iter().all(|c| c.is_null(1) && c.is_valid(0)));
        let ints = |name: &str| rows.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(0);
        assert_eq!((ints("n"), ints("n.1")), (1, 2));
        assert_eq!(rows.column(1).as_primitive::<Float64Type>().value(0), 0.5);
        assert_eq!(rows.column(2).as_string::<i32>().value(0), "a, b");
        assert_eq!(rows.column(3).as_primitive::<Date32Type>().value(0), 2);
        assert_eq!(rows.column(4).as_primitive::<TimestampMillisecondType>().value(0), 60_000);
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        const ONE: &[(&str, Type)] = &[("n", Type::Int)];
        let read = |text: &'static str| {
            let cut = |line: &'static str| Some(line.split(' ').collect());
            Table::new(ONE).push_lines(Path::new("f.data"), text.as_bytes(), cut).unwrap_err().to_string()
        };
        let wrong = read("1\n\n1.5\n");
        assert!(wrong.contains("`1.5`") && wrong.contains("line 3") && wrong.contains("column `n`") && wrong.contains("f.data"), "{wrong}");
        assert!(read("1\n2 3\n").contains("2 fields"));
        let csv = |text: &str| Table::new(ONE).push_csv(Path::new("f.csv"), text.as_bytes()).unwrap_err().to_string();
        assert!(csv("m,o\n1,2\n").contains("no column `n`"));
        assert!(csv("n,o\n1\n").contains("the header has 2"));
        assert!(csv("").contains("no column `n`"));
    }
}
