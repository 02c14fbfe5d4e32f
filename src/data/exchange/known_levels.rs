//! The levels that a model knows, next to the values that it gets.
//!
//! A value is known where it equals a level: texts letter by letter, so that `01` and `1.0` are not
//! the level of text `1`, and numbers as numbers. A number also equals a level that is its text, a
//! text a level that is its number, and a boolean the levels 1 and 0, `True` and `False`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::data::source_form::SourceValue;
use crate::data::values::parse_number;

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
                    known.texts.insert(word_of(*flag).to_owned());
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

    /// How messages call a value that is not known; none of one that is.
    pub(crate) fn unknown(&self, value: &SourceValue<'_>) -> Option<String> {
        let has = |x: f64| self.numbers.contains(&bits(x));
        match *value {
            SourceValue::Null => (!self.missing).then(|| MISSING.to_owned()),
            SourceValue::Boolean(flag) => {
                let is_known = self.texts.contains(word_of(flag)) || has(f64::from(u8::from(flag)));
                (!is_known).then(|| word_of(flag).to_owned())
            }
            SourceValue::Integer(_) | SourceValue::Float(_) => {
                let x = value.number().unwrap_or(f64::NAN);
                let is_known = has(x) || self.numbers_in_text.contains(&bits(x));
                (!is_known).then(|| x.to_string())
            }
            SourceValue::Text(text) => {
                let is_known = self.texts.contains(text) || parse_number(text).is_some_and(has);
                (!is_known).then(|| text.to_owned())
            }
        }
    }
}

/// The text of a truth value, as Python writes it.
fn word_of(flag: bool) -> &'static str {
    if flag { "True" } else { "False" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::KnownLevels;
    use crate::data::source_form::SourceValue::{self, Boolean, Float, Integer, Null, Text};

    fn unknown(
        levels: &[serde_json::Value],
        missing: Option<&str>,
        of: &[SourceValue<'_>],
    ) -> Vec<String> {
        let known = KnownLevels::new(levels, missing);
        let found = of.iter().enumerate().filter_map(|(i, of)| Some((i, known.unknown(of)?)));
        found.map(|(i, value)| format!("{i} {value}")).collect()
    }

    #[test]
    fn values_are_known_as_the_model_reads_them() {
        let texts = &[Text("east"), Text("East"), Null, Text("1")];
        let levels = [json!("east"), json!(1)];
        assert_eq!(unknown(&levels, None, texts), ["1 East", "2 a missing value"]);
        assert_eq!(unknown(&levels, Some(""), texts), ["1 East", "2 a missing value"]);
        assert_eq!(unknown(&[json!("east"), json!("")], Some(""), texts), ["1 East", "3 1"]);
        assert_eq!(unknown(&[json!("east"), json!(null)], None, texts), ["1 East", "3 1"]);
        let spelt = &[Text("1"), Text("01"), Text("1.0")];
        assert_eq!(unknown(&[json!("1")], None, spelt), ["1 01", "2 1.0"]);
        let numbers = [1.0, 2.5, f64::NAN, -0.0].map(SourceValue::of_number);
        let levels = [json!(1), json!("2.5"), json!(0)];
        assert_eq!(unknown(&levels, None, &numbers), ["2 a missing value"]);
        let integers = &[Integer(7), Integer(8), Null];
        assert_eq!(unknown(&[json!(7), json!(null)], None, integers), ["1 8"]);
        let floats = &[Float(0.5), Float(1.5)];
        assert_eq!(unknown(&[json!(0.5)], None, floats), ["1 1.5"]);
        let flags = &[Boolean(true), Boolean(false)];
        assert_eq!(unknown(&[json!(true)], None, flags), ["1 False"]);
        assert_eq!(unknown(&[json!("True"), json!(0)], None, flags), [""; 0]);
    }
}
