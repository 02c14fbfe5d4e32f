//! Columns whose type the job says: `data.columns.NAME: text`.
//!
//! The type holds wherever a column of that name is read: in rows, reference and side tables, in
//! text files and in Parquet. A value that is none of the type ends the run, which names it.
//!
//! Choice: `text` keeps every digit, of integers of any length too. `boolean` is true, false, yes,
//! no, t, f, y, n, 1 or 0 in any letters; as `integer` true is 1. `date` is ISO 8601 with or
//! without a time: `2024-01-31`, `2024/01/31`, `20240131`. `percent` drops the sign: `54.2 %` is
//! 54.2.

use std::borrow::Cow;
use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::canonical::{boolean, canonical_text};
use crate::data::values::{EXACT, SourceValues, ValueClass, parse_number};

/// The type of a column as a job says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredType {
    /// Texts as they stand: ids of twenty digits, codes with leading zeros.
    Text,
    /// Numbers.
    Number,
    /// Whole numbers of 64 bits.
    Integer,
    /// True and false, however spelt.
    Boolean,
    /// Numbers with or without a percent sign, which is dropped: `54.2 %` is 54.2.
    Percent,
    /// Dates of ISO 8601, with or without a time.
    Date,
}

/// How a column is read whose type the job says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DeclaredColumn {
    /// Its type.
    pub(crate) kind: DeclaredType,
    /// The texts that mean missing.
    pub(crate) nulls: Vec<String>,
}

/// The columns whose type the job says, by name.
pub(crate) type DeclaredColumns = BTreeMap<String, DeclaredColumn>;

/// A value that does not fit its column's type: its position, its text and the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MistypedValue {
    pub(crate) position: usize,
    pub(crate) text: String,
    pub(crate) what: &'static str,
}

impl DeclaredType {
    /// The class of its values.
    pub(crate) fn class(self) -> ValueClass {
        match self {
            DeclaredType::Text | DeclaredType::Date => ValueClass::Text,
            DeclaredType::Number | DeclaredType::Percent => ValueClass::Float,
            DeclaredType::Integer => ValueClass::Int,
            DeclaredType::Boolean => ValueClass::Bool,
        }
    }

    /// A value of the type, in words.
    fn in_words(self) -> &'static str {
        match self {
            DeclaredType::Text => "a text",
            DeclaredType::Number => "a number",
            DeclaredType::Integer => "a whole number of 64 bits",
            DeclaredType::Boolean => "a boolean",
            DeclaredType::Percent => "a percentage",
            DeclaredType::Date => "a date such as 2024-01-31",
        }
    }
}

impl DeclaredColumn {
    /// The values of an array in the type, and the number of texts that count as missing.
    ///
    /// # Errors
    /// The first value that is none of the type.
    pub(crate) fn read(&self, array: &ArrayRef) -> Result<(SourceValues, u64), MistypedValue> {
        let whole =
            |why| MistypedValue { position: 0, text: array.data_type().to_string(), what: why };
        let long = ValueClass::of(array.data_type()) == Some(ValueClass::Int);
        let values = match self.kind {
            // Integers of any length keep their digits.
            DeclaredType::Text if long => {
                let texts = cast(array, &DataType::Utf8).map_err(|_| whole("a text"))?;
                SourceValues::Text(texts.as_string::<i32>().clone())
            }
            DeclaredType::Number | DeclaredType::Percent if long => {
                let numbers = cast(array, &DataType::Float64).map_err(|_| whole("a number"))?;
                SourceValues::Float(numbers.as_primitive::<Float64Type>().clone())
            }
            kind => SourceValues::new(array).map_err(|_| whole(kind.in_words()))?,
        };
        let is_text = matches!(values, SourceValues::Text(_) | SourceValues::Named(_));
        let is_null = |word: &str| self.nulls.iter().any(|null| *null == word.trim());
        let (values, n_null) = if is_text { values.without(is_null) } else { (values, 0) };
        let values = self.of_type(values)?.with_class(self.kind.class());
        values.map(|values| (values, n_null)).map_err(|_| whole(self.kind.in_words()))
    }

    fn of_type(&self, values: SourceValues) -> Result<SourceValues, MistypedValue> {
        let n = values.n_rows();
        let fault = |position: usize| MistypedValue {
            position,
            text: values.word(position).unwrap_or_default().into_owned(),
            what: self.kind.in_words(),
        };
        // Each value, missing ones as they are.
        fn each<T>(
            values: &SourceValues,
            value: impl Fn(usize) -> Option<T>,
        ) -> Result<Vec<Option<T>>, usize> {
            let one = |i| match values.is_null(i) {
                true => Ok(None),
                false => value(i).map(Some).ok_or(i),
            };
            (0..values.n_rows()).map(one).collect()
        }
        let text = |i: usize| values.word(i).unwrap_or_default();
        Ok(match (self.kind, &values) {
            (_, SourceValues::Empty(_)) => values,
            (DeclaredType::Text, SourceValues::Text(_) | SourceValues::Named(_)) => values,
            (DeclaredType::Text, _) => {
                let texts: StringArray = (0..n).map(|i| values.word(i)).collect();
                SourceValues::Text(texts)
            }
            (DeclaredType::Number | DeclaredType::Percent, SourceValues::Float(_))
            | (DeclaredType::Integer, SourceValues::Int(_))
            | (DeclaredType::Boolean, SourceValues::Bool(_)) => values,
            (DeclaredType::Number | DeclaredType::Percent, _) => {
                let number = |i| match self.kind {
                    DeclaredType::Percent => parse_number(without_percent(&text(i))),
                    _ => parse_number(&text(i)),
                };
                SourceValues::Float(Float64Array::from(each(&values, number).map_err(fault)?))
            }
            (DeclaredType::Integer, SourceValues::Float(floats)) => {
                let whole = |x: f64| (x.fract() == 0.0 && x.abs() <= EXACT).then_some(x as i64);
                let integer = |i| whole(floats.value(i));
                SourceValues::Int(Int64Array::from(each(&values, integer).map_err(fault)?))
            }
            (DeclaredType::Integer, _) => {
                let integer = |i| {
                    let text = text(i);
                    let text = canonical_text(&text);
                    boolean(&text).map(i64::from).or_else(|| text.parse::<i64>().ok())
                };
                SourceValues::Int(Int64Array::from(each(&values, integer).map_err(fault)?))
            }
            (DeclaredType::Boolean, _) => {
                let truth = |i| truth(&text(i));
                SourceValues::Bool(BooleanArray::from(each(&values, truth).map_err(fault)?))
            }
            (DeclaredType::Date, _) => {
                let date = |i| iso_date(&text(i));
                SourceValues::Text(StringArray::from(each(&values, date).map_err(fault)?))
            }
        })
    }
}

/// A percentage without its sign.
pub(crate) fn without_percent(text: &str) -> &str {
    text.trim().trim_end_matches('%').trim_end()
}

/// The boolean that a text of a column of booleans spells out.
fn truth(text: &str) -> Option<bool> {
    let text = canonical_text(text);
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match boolean(&text) {
        None if is(&["1", "t", "yes", "y"]) => Some(true),
        None if is(&["0", "f", "no", "n"]) => Some(false),
        known => known,
    }
}

/// A day of the civil calendar; years count from 1.
pub(crate) fn day(year: &str, month: &str, day: &str) -> Option<NaiveDate> {
    let [year, month, day] = [year, month, day].map(|part| {
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u32>().ok()).flatten()
    });
    NaiveDate::from_ymd_opt(i32::try_from(year.filter(|year| *year > 0)?).ok()?, month?, day?)
}

/// A date, with its time if it has one, as ISO 8601 writes it; `None` for other texts, and for days
/// that the calendar does not have.
pub(crate) fn iso_date(text: &str) -> Option<String> {
    let text = text.trim();
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let bare: Cow<'_, str> = match date.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _] => Cow::Owned(date.replace('-', "")),
        [_, _, _, _, b'/', _, _, b'/', _, _] => Cow::Owned(date.replace('/', "")),
        _ => Cow::Borrowed(date),
    };
    let (year, rest) = bare.split_at_checked(4)?;
    let (month, of_month) = rest.split_at_checked(2).filter(|_| rest.len() == 4)?;
    let is_time = |time: &str| {
        let mut parts = time.split(':');
        let hour = parts.next().and_then(|hour| hour.parse::<u32>().ok());
        hour.is_some_and(|hour| hour < 24) && parts.next().is_some_and(|minute| minute.len() >= 2)
    };
    day(year, month, of_month).filter(|_| time.is_none_or(is_time))?;
    let time = time.map_or_else(String::new, |time| format!("T{time}"));
    Some(format!("{year}-{month}-{of_month}{time}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, Decimal128Array, Float64Array, NullArray, StringArray, UInt64Array,
    };

    use super::{DeclaredColumn, DeclaredType};
    use crate::data::values::SourceValues;

    fn read(kind: DeclaredType, array: ArrayRef) -> Result<Vec<String>, (usize, String)> {
        let declared = DeclaredColumn { kind, nulls: vec!["NA".to_owned(), "k.A.".to_owned()] };
        let (values, _) =
            declared.read(&array).map_err(|mistyped| (mistyped.position, mistyped.text))?;
        let word = |i| values.word(i).map_or_else(|| "-".to_owned(), |word| word.into_owned());
        Ok((0..array.len()).map(word).collect())
    }

    fn texts(texts: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    /// A part of the source may hold nulls of no type; its column has one.
    #[test]
    fn missing_values_have_the_type_that_the_job_says() {
        let none: ArrayRef = Arc::new(NullArray::new(2));
        let declared = DeclaredColumn { kind: DeclaredType::Integer, nulls: Vec::new() };
        let (values, _) = declared.read(&none).unwrap();
        assert!(matches!(values, SourceValues::Int(_)) && values.n_missing() == 2);
    }

    #[test]
    fn values_are_read_in_the_type_that_the_job_says() {
        let ok = |kind, array: ArrayRef, words: &[&str]| {
            assert_eq!(read(kind, array).unwrap(), words, "{kind:?}");
        };
        let long = UInt64Array::from(vec![u64::MAX, 7]);
        ok(DeclaredType::Text, Arc::new(long.clone()), &["18446744073709551615", "7"]);
        let decimals = Decimal128Array::from(vec![Some(99_999_999_999_999_990_001_i128), None]);
        let decimals = decimals.with_precision_and_scale(20, 0).unwrap();
        ok(DeclaredType::Text, Arc::new(decimals), &["99999999999999990001", "-"]);
        ok(DeclaredType::Text, texts(&["01", "NA"]), &["01", "-"]);
        ok(DeclaredType::Number, Arc::new(long), &["1.8446744073709552e19", "7"]);
        ok(DeclaredType::Number, texts(&["1.50", " 2", "k.A."]), &["1.5", "2", "-"]);
        ok(DeclaredType::Integer, texts(&["1.0", "-3", "True"]), &["1", "-3", "1"]);
        ok(DeclaredType::Integer, Arc::new(Float64Array::from(vec![4.0])), &["4"]);
        ok(DeclaredType::Boolean, texts(&["True", "no", "1.0"]), &["true", "false", "true"]);
        ok(DeclaredType::Percent, texts(&["54.2 %", "7%", "3"]), &["54.2", "7", "3"]);
        ok(
            DeclaredType::Date,
            texts(&["20240131", "2024/01/31 09:30"]),
            &["2024-01-31", "2024-01-31T09:30"],
        );
        for (kind, array, position) in [
            (DeclaredType::Number, texts(&["1", "x"]), 1),
            (DeclaredType::Integer, texts(&["1.5"]), 0),
            (DeclaredType::Boolean, texts(&["true", "perhaps"]), 1),
            (DeclaredType::Percent, texts(&["%"]), 0),
            (DeclaredType::Date, texts(&["2024-13-01"]), 0),
            (DeclaredType::Date, texts(&["2024-02-29", "2024-02-31"]), 1),
            (DeclaredType::Date, texts(&["20230229"]), 0),
            (DeclaredType::Date, texts(&["31.01.2024"]), 0),
        ] {
            assert_eq!(read(kind, array).unwrap_err().0, position, "{kind:?}");
        }
    }
}
