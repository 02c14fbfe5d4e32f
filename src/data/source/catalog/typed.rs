//! Converts text fields to typed columns, with the types that a data set declares.
//!
//! An empty field is missing; the reader of a file empties fields with other marks for missing
//! values. Every error names the line and the column, although a verified checksum excludes errors
//! in the file: a parse rule may be wrong too.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::RecordBatch;

use crate::data::source::csv_records::{CsvDialect, CsvTable};
use crate::data::source::field_builder::{FieldBuilder, FieldType};
use crate::data::source::missing_column_fault;
use crate::data::source::notation::NumberNotation;
use crate::error::{Error, Fault, Result};

/// Rows with declared columns under construction.
pub(crate) struct TypedTable {
    columns: &'static [(&'static str, FieldType)],
    builders: Vec<FieldBuilder>,
}

impl TypedTable {
    /// An empty table.
    pub(super) fn new(columns: &'static [(&'static str, FieldType)]) -> Self {
        TypedTable {
            columns,
            builders: columns.iter().map(|&(_, holds)| FieldBuilder::new(holds)).collect(),
        }
    }

    /// Adds a row with one field per column; `place` adds the place of the row to a fault.
    ///
    /// # Errors
    /// Another number of fields, or a field that is not a value of its column.
    pub(super) fn push<'f>(
        &mut self,
        fields: impl IntoIterator<Item = &'f str>,
        place: impl Fn(Fault) -> Fault,
    ) -> Result<()> {
        let fields: Vec<&str> = fields.into_iter().collect();
        if fields.len() != self.columns.len() {
            let what = format!(
                "the row has {} fields, the data set has {} columns",
                fields.len(),
                self.columns.len()
            );
            return Err(place(Fault::new("ragged-row", what)).into());
        }
        for ((&(name, holds), builder), field) in
            self.columns.iter().zip(&mut self.builders).zip(fields)
        {
            let wrong = || {
                place(
                    Fault::new(
                        "unreadable-value",
                        format!("`{field}` cannot be read as {}", holds.word()),
                    )
                    .in_column(name),
                )
            };
            let value = Some(field).filter(|field| !field.is_empty());
            builder.append(value, NumberNotation::default()).ok_or_else(wrong)?;
        }
        Ok(())
    }

    /// Adds the lines of a file that are not blank.
    ///
    /// `fields` splits a line, and returns nothing for a line that is not a record.
    pub(super) fn push_lines<'b>(
        &mut self,
        path: &Path,
        bytes: &'b [u8],
        fields: impl Fn(&'b str) -> Option<Vec<&'b str>>,
    ) -> Result<()> {
        for (i, line) in bytes.split(|&b| b == b'\n').enumerate() {
            let here = |fault: Fault| fault.in_file(path).at_row(format!("line {}", i + 1));
            let line = std::str::from_utf8(line)
                .map_err(|_| here(Fault::new("unreadable-value", "the line is not valid UTF-8")))?;
            if line.trim().is_empty() {
                continue;
            }
            if let Some(fields) = fields(line) {
                self.push(fields, here)?;
            }
        }
        Ok(())
    }

    /// Adds the records of a comma-separated file with a header, reading only the declared columns.
    ///
    /// A repeated name becomes `name.1`, then `name.2`.
    pub(super) fn push_csv(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut table = CsvTable::new(path, bytes, CsvDialect::of_delimiter(b','), true)?;
        let mut seen = HashMap::new();
        let numbered = |name: &String| {
            let times = seen.entry(name.clone()).and_modify(|n| *n += 1).or_insert(0);
            if *times == 0 { name.clone() } else { format!("{name}.{times}") }
        };
        let names: Vec<String> = table.names.iter().map(numbered).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let position = |&(name, _): &(&str, FieldType)| -> Result<usize> {
            Ok(known
                .iter()
                .position(|n| *n == name)
                .ok_or_else(|| missing_column_fault(path, name, &known))?)
        };
        let positions: Vec<usize> = self.columns.iter().map(position).collect::<Result<_>>()?;
        while let Some(row) = table.next()? {
            let here = |fault: Fault| fault.in_file(path).at_row(format!("line {}", row.line));
            self.push(positions.iter().map(|&i| row.field(i)), here)?;
        }
        Ok(())
    }

    /// The rows.
    pub(super) fn finish(self) -> Result<RecordBatch> {
        let columns = self
            .columns
            .iter()
            .zip(self.builders)
            .map(|(&(name, _), mut builder)| (name, builder.finish(), true));
        RecordBatch::try_from_iter_with_nullable(columns).map_err(|e| {
            Error::from(Fault::new(
                "unreadable-value",
                format!("the columns of the data set do not fit together: {e}"),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{Date32Type, Float64Type, Int64Type, TimestampMillisecondType};

    use super::{FieldType, TypedTable};
    use crate::tests::Says;

    const COLUMNS: &[(&str, FieldType)] = &[
        ("n", FieldType::Int),
        ("x", FieldType::Float),
        ("word", FieldType::Text),
        ("day", FieldType::Date),
        ("at", FieldType::Time),
        ("n.1", FieldType::Int),
    ];

    #[test]
    fn fields_become_values_of_their_columns() {
        let mut table = TypedTable::new(COLUMNS);
        let text = b"word,n,secret,x,n,day,at\r\n\"a, b\",1.0,s,.5,2,1970-01-03,1970-01-01 \
                     00:01:00\r\n,,s,,,,\r\n";
        table.push_csv(Path::new("f.csv"), text).unwrap();
        let rows = table.finish().unwrap();
        assert_eq!(rows.num_rows(), 2);
        assert!(rows.columns().iter().all(|c| c.is_null(1) && c.is_valid(0)));
        let ints =
            |name: &str| rows.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(0);
        assert_eq!((ints("n"), ints("n.1")), (1, 2));
        assert_eq!(rows.column(1).as_primitive::<Float64Type>().value(0), 0.5);
        assert_eq!(rows.column(2).as_string::<i32>().value(0), "a, b");
        assert_eq!(rows.column(3).as_primitive::<Date32Type>().value(0), 2);
        assert_eq!(rows.column(4).as_primitive::<TimestampMillisecondType>().value(0), 60_000);
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        const ONE: &[(&str, FieldType)] = &[("n", FieldType::Int)];
        let read = |text: &'static str| {
            let cut = |line: &'static str| Some(line.split(' ').collect());
            TypedTable::new(ONE)
                .push_lines(Path::new("f.data"), text.as_bytes(), cut)
                .unwrap_err()
                .to_string()
        };
        let wrong = read("1\n\n1.5\n");
        wrong.says(&["`1.5`", "line 3", "column `n`", "f.data"]);
        read("1\n2 3\n").says(&["2 fields"]);
        let csv = |text: &str| {
            TypedTable::new(ONE)
                .push_csv(Path::new("f.csv"), text.as_bytes())
                .unwrap_err()
                .to_string()
        };
        csv("m,o\n1,2\n").says(&["no column `n`"]);
        csv("n,o\n1\n").says(&["the header has 2"]);
        csv("").says(&["has no line"]);
    }
}
