//! How the source holds values: their types, what counts as missing, and their text.
//!
//! For a text file that is what `pandas.read_csv` gives by default, with its words for missing and
//! its types (`01067` is 1067, `True` a boolean), decided over all files of the source together;
//! the signs and `null_values` of the block `csv` count as arguments of that call. A Parquet column
//! has its own type, and integers with missing values are floats, as in pandas. Texts of values are
//! those of Python's `str`. Rows get these values in [`crate::data::source_view`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::data::canonical::boolean;
use crate::data::values::{parse_infinity, parse_number};
use crate::num::float_precision::FloatPrecision;

/// What `pandas.read_csv` takes for missing by default, next to the empty field.
const MISSING_WORDS: [&str; 18] = [
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
    "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Decimal exponents of floats that Python writes without an exponent.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -4..16;

/// The type of a column of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// `True` and `False`.
    Boolean,
    /// Whole numbers of 64 bits, none missing.
    Integer,
    /// Numbers of 64 bits.
    Float,
    /// Numbers of 32 bits.
    Single,
    /// Text.
    Text,
}

/// The type of a Parquet column, where its kind does not determine it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredType {
    /// Whole numbers of another width than 64 bits, or without a sign, as Arrow names the type:
    /// `int32`.
    Integer(String),
    /// One of a list of texts.
    Category {
        /// The texts, in the order of the files, also those that no row holds.
        categories: Vec<String>,
        /// Whether the list is an order.
        ordered: bool,
    },
}

/// How the source holds a feature, where its levels and its class do not determine it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceForm {
    /// The type of its values; none: that of its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SourceKind>,
    /// Its type in the Parquet files; none: that of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredType>,
    /// Whether it is a column of a text file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_csv: bool,
    /// The words of the source; empty where they are the levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<SourceWord>,
    /// For each level the position of its most frequent word, [`MISSING`](crate::data::MISSING) = a
    /// missing value; empty where the words are the levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spelling: Vec<u32>,
    /// Whether one prepared value represents several of the source, so that rows carry theirs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
}

/// A word of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceWord {
    /// As the source writes it.
    pub text: String,
    /// The level that it is; [`MISSING`](crate::data::MISSING) where the job takes it for missing.
    pub level: u32,
}

/// A value of the source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SourceValue<'a> {
    /// A missing value.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(&'a str),
}

impl<'a> SourceValue<'a> {
    /// A word of a column of a type; a word that is none of its values is missing.
    pub(crate) fn of(kind: SourceKind, read_csv: bool, word: &'a str) -> Self {
        if read_csv && is_missing_word(word) {
            return SourceValue::Null;
        }
        let value = match kind {
            SourceKind::Text => Some(SourceValue::Text(word)),
            SourceKind::Boolean => boolean(word).map(SourceValue::Boolean),
            SourceKind::Integer => integer(word).map(SourceValue::Integer),
            SourceKind::Float => float(word).map(SourceValue::Float),
            SourceKind::Single => {
                float(word).map(|x| SourceValue::Float(FloatPrecision::Single.round(x)))
            }
        };
        value.unwrap_or(SourceValue::Null)
    }

    /// A number of a column; NaN is missing.
    pub(crate) fn of_number(x: f64) -> Self {
        if x.is_nan() { SourceValue::Null } else { SourceValue::Float(x) }
    }

    /// The value in an input of numbers: a boolean is 1 or 0, NaN is missing; none for a text that
    /// is no number.
    pub(crate) fn number(&self) -> Option<f64> {
        match *self {
            SourceValue::Null => Some(f64::NAN),
            SourceValue::Boolean(flag) => Some(f64::from(u8::from(flag))),
            SourceValue::Integer(value) => Some(value as f64),
            SourceValue::Float(value) => Some(value),
            SourceValue::Text(text) => parse_number(text),
        }
    }

    /// The value in an input of texts, as Python's `str` writes it; none where it is missing.
    pub(crate) fn text(&self, kind: SourceKind) -> Option<Cow<'a, str>> {
        match *self {
            SourceValue::Null => None,
            SourceValue::Boolean(true) => Some(Cow::Borrowed("True")),
            SourceValue::Boolean(false) => Some(Cow::Borrowed("False")),
            SourceValue::Integer(value) => Some(Cow::Owned(value.to_string())),
            SourceValue::Float(value) => number_text(value, kind).map(Cow::Owned),
            SourceValue::Text(text) => Some(Cow::Borrowed(text)),
        }
    }
}

/// Whether `pandas.read_csv` takes a field for missing.
pub(crate) fn is_missing_word(field: &str) -> bool {
    field.len() <= 8 && (field.is_empty() || MISSING_WORDS.contains(&field))
}

/// The whole number that `pandas.read_csv` reads, leading zeros or not.
pub(crate) fn integer(field: &str) -> Option<i64> {
    field.trim_matches([' ', '\t']).parse().ok()
}

/// Whether a field is a whole number that does not fit 64 bits with a sign, and that the float
/// which is read instead does not keep.
pub(crate) fn is_rounded_integer(field: &str) -> bool {
    let field = field.trim_matches([' ', '\t']);
    let digits = field.strip_prefix(['-', '+']).unwrap_or(field);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_kept = |x: f64| format!("{x:.0}") == digits.trim_start_matches('0');
    is_whole && integer(field).is_none() && !float(digits).is_some_and(is_kept)
}

/// The number that `pandas.read_csv` reads, infinite ones too, these without blanks around them.
pub(crate) fn float(field: &str) -> Option<f64> {
    parse_number(field).or_else(|| parse_infinity(field))
}

/// A number as Python's `str` writes a value of the type; none where it is missing.
pub(crate) fn number_text(value: f64, kind: SourceKind) -> Option<String> {
    if value.is_nan() {
        return None;
    }
    if kind == SourceKind::Integer {
        return Some(format!("{value:.0}"));
    }
    if value.is_infinite() {
        return Some(if value > 0.0 { "inf" } else { "-inf" }.to_owned());
    }
    // Both are the shortest digits that read back as the value.
    let (plain, scientific) = match kind {
        SourceKind::Single => (format!("{}", value as f32), format!("{:e}", value as f32)),
        _ => (format!("{value}"), format!("{value:e}")),
    };
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    Some(match () {
        () if value != 0.0 && !PLAIN_EXPONENTS.contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        () if plain.contains('.') => plain,
        () => format!("{plain}.0"),
    })
}

#[cfg(test)]
mod tests {
    use super::{SourceKind, SourceValue, number_text};

    /// As Python 3.13 writes them.
    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (value, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-5, "1e-05"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e22, "1e+22"),
            (1e-4, "0.0001"),
            (-0.000_123_45, "-0.00012345"),
            (0.0, "0.0"),
            (1.5e300, "1.5e+300"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number_text(value, SourceKind::Float).as_deref(), Some(text));
        }
        let single = f64::from(0.1_f32);
        assert_eq!(number_text(single, SourceKind::Single).as_deref(), Some("0.1"));
        assert_eq!(number_text(3.0, SourceKind::Integer).as_deref(), Some("3"));
        assert_eq!(number_text(f64::NAN, SourceKind::Float), None);
    }

    /// As pandas 3.1 reads them.
    #[test]
    fn fields_have_the_values_that_read_csv_gives() {
        let of = |kind, word| SourceValue::of(kind, true, word);
        assert_eq!(of(SourceKind::Integer, "01067"), SourceValue::Integer(1067));
        assert_eq!(of(SourceKind::Integer, " +5 "), SourceValue::Integer(5));
        assert_eq!(of(SourceKind::Float, "-Infinity"), SourceValue::Float(f64::NEG_INFINITY));
        assert_eq!(of(SourceKind::Float, " inf"), SourceValue::Null);
        assert_eq!(of(SourceKind::Float, " 007.5"), SourceValue::Float(7.5));
        assert_eq!(of(SourceKind::Boolean, "tRue"), SourceValue::Boolean(true));
        for missing in ["", "NA", "nan", "None", "<NA>", "n/a", "#N/A N/A"] {
            assert_eq!(of(SourceKind::Text, missing), SourceValue::Null);
        }
        for text in ["na", "none", "?", "NA ", " ", "Missing"] {
            assert_eq!(of(SourceKind::Text, text), SourceValue::Text(text));
        }
        // Parquet says itself what is missing.
        assert_eq!(SourceValue::of(SourceKind::Text, false, "NA"), SourceValue::Text("NA"));
    }
}
