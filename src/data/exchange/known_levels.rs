//! The levels that a model knows, next to the values that it gets.
//!
//! A value is known where it equals a level: texts letter by letter, so that `01` and `1.0` are not
//! the level of text `1`, and numbers as numbers. A number also equals a level that is its text, a
//! text a level that is its number, and a boolean the levels 1 and 0, `True` and `False`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::data::exchange::row_stream::RawBatch;
use crate::data::values::{SourceValues, parse_number};

/// What messages call a value that is missing.
const MISSING: &str = "a missing value";

/// The levels of one column.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KnownLevels {
    texts: BTreeSet<String>,
    /// The bits of the numbers that levels are.
    numbers: BTreeSet<u64>,
    /// The bits of the numbers that texts of levels are; they count only in columns of numbers.
    numbers_in_text: BTreeSet<u64>,
    missing: bool,
}

/// The bits of a number, of which zero has one form.
fn bits(x: f64) -> u64 {
    (x + 0.0).to_bits()
}

impl KnownLevels {
    /// The levels of a list; if null is among them, missing values are known. A missing value
    /// reaches the model as `missing`, where it becomes a text.
    pub(crate) fn new(levels: &[Value], missing: Option<&str>) -> Self {
        let mut known = KnownLevels::default();
        for level in levels {
            match level {
                Value::Null => known.missing = true,
                Value::Bool(flag) => {
                    known.texts.insert(if *flag { "True" } else { "False" }.to_owned());
                    known.numbers.insert(bits(f64::from(u8::from(*flag))));
                }
                Value::String(text) => {
                    known.numbers_in_text.extend(text.parse().ok().map(bits));
                    known.texts.insert(text.clone());
                }
                other => known.numbers.extend(other.as_f64().map(bits)),
            }
        }
        known.missing |= missing.is_some_and(|text| known.texts.contains(text));
        known
    }

    fn has_text(&self, text: &str) -> bool {
        self.texts.contains(text)
            || parse_number(text).is_some_and(|x| self.numbers.contains(&bits(x)))
    }

    fn has_number(&self, x: f64) -> bool {
        self.numbers.contains(&bits(x)) || self.numbers_in_text.contains(&bits(x))
    }

    fn has_flag(&self, flag: bool) -> bool {
        self.texts.contains(if flag { "True" } else { "False" })
            || self.numbers.contains(&bits(f64::from(u8::from(flag))))
    }

    /// The positions of the values of a column that are not known, and what they are.
    pub(crate) fn unknown(&self, rows: &RawBatch, column: usize) -> Vec<(usize, String)> {
        let Ok(values) = SourceValues::new(rows.column(column)) else { return Vec::new() };
        let unknown = |i: usize| match &values {
            of if of.is_null(i) => (!self.missing).then(|| MISSING.to_owned()),
            SourceValues::Bool(flags) => {
                let flag = flags.value(i);
                (!self.has_flag(flag)).then(|| if flag { "True" } else { "False" }.to_owned())
            }
            SourceValues::Int(_) | SourceValues::Float(_) => {
                let number = values.number(i);
                (!self.has_number(number)).then(|| number.to_string())
            }
            SourceValues::Text(_) | SourceValues::Named(_) | SourceValues::Empty(_) => {
                let text = values.word(i).unwrap_or_default();
                (!self.has_text(&text)).then(|| text.into_owned())
            }
        };
        (0..values.n_rows()).filter_map(|i| Some((i, unknown(i)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
    use arrow::record_batch::RecordBatch;
    use serde_json::json;

    use super::KnownLevels;
    use crate::data::exchange::row_stream::RawBatch;

    fn unknown(levels: &[serde_json::Value], missing: Option<&str>, of: ArrayRef) -> Vec<String> {
        let batch = RecordBatch::try_from_iter_with_nullable([("x", of, true)]).unwrap();
        let found = KnownLevels::new(levels, missing).unknown(&RawBatch::of(batch), 0);
        found.into_iter().map(|(i, value)| format!("{i} {value}")).collect()
    }

    #[test]
    fn values_are_known_as_the_model_reads_them() {
        let texts = || -> ArrayRef {
            Arc::new(StringArray::from(vec![Some("east"), Some("East"), None, Some("1")]))
        };
        let levels = [json!("east"), json!(1)];
        assert_eq!(unknown(&levels, None, texts()), ["1 East", "2 a missing value"]);
        assert_eq!(unknown(&levels, Some(""), texts()), ["1 East", "2 a missing value"]);
        assert_eq!(unknown(&[json!("east"), json!("")], Some(""), texts()), ["1 East", "3 1"]);
        assert_eq!(unknown(&[json!("east"), json!(null)], None, texts()), ["1 East", "3 1"]);
        let spelt = || -> ArrayRef { Arc::new(StringArray::from(vec!["1", "01", "1.0"])) };
        assert_eq!(unknown(&[json!("1")], None, spelt()), ["1 01", "2 1.0"]);
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5, f64::NAN, -0.0]));
        let levels = [json!(1), json!("2.5"), json!(0)];
        assert_eq!(unknown(&levels, None, numbers), ["2 a missing value"]);
        let integers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(8), None]));
        assert_eq!(unknown(&[json!(7), json!(null)], None, integers), ["1 8"]);
        let flags = || -> ArrayRef { Arc::new(BooleanArray::from(vec![true, false])) };
        assert_eq!(unknown(&[json!(true)], None, flags()), ["1 False"]);
        assert_eq!(unknown(&[json!("True"), json!(0)], None, flags()), [""; 0]);
    }
}
