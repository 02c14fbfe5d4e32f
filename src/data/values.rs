//! The values of a source column in the four types that preparing knows, and the text by which job files name a value.
//!
//! A value's *word* is its canonical text: integers without sign or zeros in front, floats with an integral value as that integer,
//! `true` and `false`, dates and times in ISO form (times with a zone in UTC). Words of the job are brought to the same form once the
//! column's type is known, so `1`, `1.0` and `"1"` name the same value of a number column.

use std::borrow::Cow;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::error::{Fault, Result};
use crate::num::hash::FastMap;

/// Floats below this size have every integer in reach; larger ones are not written as integers.
const EXACT: f64 = 1e15;

/// How often each text of a list must occur on average for the list to be worth its while.
const REPEATS: usize = 4;

/// The type of a source column, as far as preparing tells types apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Integers that fit 64 bits with a sign, and decimals without places.
    Int,
    /// Floats and decimals.
    Float,
    /// Booleans.
    Bool,
    /// Text, dates and times.
    Text,
    /// A column whose type says that it holds nothing but nulls.
    Empty,
}

impl Class {
    /// The class of an Arrow type; `None` for types that hold no single value (lists, structs) or no text (binary).
    pub fn of(data_type: &DataType) -> Option<Class> {
        Some(match data_type {
            t if t.is_integer() => Class::Int,
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale)
                if *scale <= 0 =>
            {
                Class::Int
            }
            t if t.is_floating() || t.is_decimal() => Class::Float,
            DataType::Boolean => Class::Bool,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Class::Text,
            DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..) => Class::Text,
            DataType::Dictionary(_, value) => return Class::of(value),
            DataType::Null => Class::Empty,
            _ => return None,
        })
    }

    /// What the class is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Class::Int => "integers",
            Class::Float => "numbers",
            Class::Bool => "booleans",
            Class::Text => "text",
            Class::Empty => "no values",
        }
    }

    /// Whether values have an order and distances.
    pub fn is_number(self) -> bool {
        matches!(self, Class::Int | Class::Float)
    }

    /// What [`Class::canonical`] gives, or the fault that names the word, the column and who asks.
    ///
    /// # Errors
    /// No value of the column can be meant.
    pub fn word(self, asked_by: &str, column: &str, word: &str) -> Result<String> {
        self.canonical(word).ok_or_else(|| {
            let what = |kind| format!("column `{column}` holds {}, but `{word}` in `{asked_by}` is {kind}", self.name());
            let fault = match self {
                Class::Bool => Fault::new("not-a-boolean", what("neither `true` nor `false`")).hint("write `true` or `false`"),
                _ => Fault::new("not-a-number", what("no number")).hint("write a number"),
            };
            fault.in_column(column).into()
        })
    }

    /// The canonical text of a word of the job for a column of this class; `None` where no value of the class can be meant.
    pub fn canonical(self, word: &str) -> Option<String> {
        match self {
            Class::Text | Class::Empty => Some(word.to_owned()),
            Class::Bool => matches!(word, "true" | "false").then(|| word.to_owned()),
            Class::Int | Class::Float => match word.parse::<i64>() {
                Ok(integer) => Some(integer.to_string()),
                Err(_) => number(word).map(float_text),
            },
        }
    }
}

/// What values of an Arrow type are called in messages, also of types that are not read.
pub fn words(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Dictionary(_, value) => words(value),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::ListView(_) | DataType::LargeListView(_) => {
            "lists"
        }
        DataType::Struct(_) => "structs",
        DataType::Map(..) => "maps",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "binary values",
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..) => "dates or times",
        DataType::Duration(_) | DataType::Interval(_) => "durations",
        other => Class::of(other).map_or("values of a type that is not read", Class::name),
    }
}

/// A finite number written in digits; words such as `inf` and `nan` are none.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim_matches([' ', '\t']);
    let digits =
        text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    text.parse::<f64>().ok().filter(|value| digits && value.is_finite())
}

/// Whether a field of a text file has digits behind a leading zero: `007` is a code and makes its
/// column one of texts.
pub(super) fn is_code(field: &str) -> bool {
    let digits = field.trim_matches([' ', '\t']).trim_start_matches(['+', '-']).as_bytes();
    matches!(digits, [b'0', second, ..] if second.is_ascii_digit())
}

/// How a text reads as a number in some country: `4.583,58`, `4,583.58`, `4 583,58`, `12.5`, `7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numeral {
    /// What stands before the fraction; none: there is no fraction. `1.234` has a fraction.
    pub(super) decimal_sign: Option<char>,
    /// Whether a sign stands between the thousands.
    pub(super) grouped: bool,
}

impl Numeral {
    /// None where the text is no number in any such form.
    pub(super) fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if number(text).is_some() {
            return Some(Numeral { decimal_sign: text.contains('.').then_some('.'), grouped: false });
        }
        let text = text.strip_prefix(['+', '-']).unwrap_or(text);
        let last = text.rfind(['.', ',']).map(|at| (at, &text[at..=at]));
        let (whole, decimal_sign) = match last.filter(|(_, sign)| text.matches(sign).count() == 1) {
            Some((at, sign)) if is_digits(&text[at + 1..]) => (&text[..at], sign.chars().next()),
            Some(_) => return None,
            None => (text, None),
        };
        let is_between = |c: char| matches!(c, '.' | ',' | '\'' | '\u{2019}') || c.is_whitespace();
        let mut between = whole.chars().filter(|&c| is_between(c));
        let first = between.next();
        let is_one_sign = first != decimal_sign || first.is_none();
        let mut groups = whole.split(is_between);
        let head = groups.next().unwrap_or_default();
        let fits = is_one_sign
            && between.all(|c| Some(c) == first)
            && is_digits(head)
            && (first.is_none() || head.len() <= 3)
            && groups.all(|group| group.len() == 3 && is_digits(group));
        fits.then_some(Numeral { decimal_sign, grouped: first.is_some() })
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The word of a float: the integer where it has an integral value, else the shortest text that reads back as the same number.
pub fn float_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < EXACT {
        return format!("{}", value as i64);
    }
    format!("{value:?}")
}

/// A run of values of one source column. NaN counts as null.
#[derive(Debug, Clone)]
pub enum Values {
    /// Integers.
    Int(Int64Array),
    /// Floats; null instead of NaN.
    Float(Float64Array),
    /// Booleans.
    Bool(BooleanArray),
    /// Text.
    Text(StringArray),
    /// Text of which each is held once: that of derived columns, and of files that hold it so.
    Named(Named),
    /// Nothing but this many nulls.
    Empty(usize),
}

/// Texts of which there are few, each held once (a combination of names may be: two pairs can join to one text).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The texts.
    pub names: Vec<String>,
    /// For each row the position of its text; `None` = missing.
    pub ids: Vec<Option<u32>>,
}

impl Named {
    /// From the names of distinct values, and for each row the number of its value; a value without a name is missing.
    pub fn of(names: impl Iterator<Item = Option<String>>, values: &[Option<u32>]) -> Self {
        let mut held = IndexSet::new();
        let ids: Vec<Option<u32>> = names.map(|name| name.map(|name| held.insert_full(name).0 as u32)).collect();
        Named { names: held.into_iter().collect(), ids: values.iter().map(|value| ids[(*value)? as usize]).collect() }
    }

    /// The texts of a column that is held as positions in a list of them; none of columns of other values, of more texts than rows
    /// repeat, or of positions of another type than a Parquet file is read with.
    fn of_positions(array: &ArrayRef) -> Option<Self> {
        let array = array.as_dictionary_opt::<Int32Type>()?;
        let texts = array.values().as_string_opt::<i32>()?;
        if texts.len() > array.len() / REPEATS {
            return None;
        }
        let mut held = IndexSet::new();
        let known: Vec<Option<u32>> = texts.iter().map(|text| text.map(|text| held.insert_full(text.to_owned()).0 as u32)).collect();
        let at = |position: i32| usize::try_from(position).ok().and_then(|position| known.get(position).copied().flatten());
        let ids = match array.nulls() {
            None => array.keys().values().iter().map(|&position| at(position)).collect(),
            Some(_) => array.keys().iter().map(|position| position.and_then(at)).collect(),
        };
        Some(Named { names: held.into_iter().collect(), ids })
    }

    fn name(&self, i: usize) -> Option<&str> {
        self.ids[i].and_then(|id| self.names.get(id as usize)).map(String::as_str)
    }

    /// The texts of all rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        (0..self.ids.len()).map(|i| self.name(i))
    }
}

impl Values {
    /// The values of an Arrow array.
    ///
    /// # Errors
    /// In words, where a value does not fit: an unsigned integer above 2^63 - 1, a date that has no text.
    pub fn new(array: &ArrayRef) -> Result<Values, String> {
        let class = Class::of(array.data_type()).ok_or_else(|| format!("values of type {} are not supported", array.data_type()))?;
        if let Some(texts) = Named::of_positions(array) {
            return Ok(Values::Named(texts));
        }
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let cast = |array: &ArrayRef, to: &DataType| cast_with_options(array, to, &strict).map_err(|e| e.to_string());
        let plain = match array.data_type() {
            DataType::Dictionary(_, value) => cast(array, value)?,
            _ => Arc::clone(array),
        };
        // Times with a zone are instants: only a fixed offset can be written without a table of zones, so they are written in UTC.
        let plain = match plain.data_type() {
            DataType::Timestamp(unit, Some(_)) => cast(&plain, &DataType::Timestamp(*unit, Some("+00:00".into())))?,
            _ => plain,
        };
        Ok(match class {
            Class::Int => Values::Int(cast(&plain, &DataType::Int64)?.as_primitive::<Int64Type>().clone()),
            Class::Float => {
                let floats = cast(&plain, &DataType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                match floats.values().iter().any(|v| v.is_nan()) {
                    true => Values::Float(floats.unary_opt(|v| (!v.is_nan()).then_some(v))),
                    false => Values::Float(floats.clone()),
                }
            }
            Class::Bool => Values::Bool(plain.as_boolean().clone()),
            Class::Text => Values::Text(cast(&plain, &DataType::Utf8)?.as_string::<i32>().clone()),
            Class::Empty => Values::Empty(plain.len()),
        })
    }

    /// These values, with nothing but nulls given the type of their column: a part of the source may lack the type.
    #[must_use]
    pub fn typed(self, class: Class) -> Values {
        match (self, class) {
            (Values::Empty(n), Class::Int) => Values::Int(Int64Array::new_null(n)),
            (Values::Empty(n), Class::Float) => Values::Float(Float64Array::new_null(n)),
            (Values::Empty(n), Class::Bool) => Values::Bool(BooleanArray::new_null(n)),
            (Values::Empty(n), Class::Text) => Values::Text(StringArray::new_null(n)),
            (values, _) => values,
        }
    }

    /// These values, those that are marked made missing.
    #[must_use]
    pub fn without(&self, gone: &[bool]) -> Values {
        let keep = |i: usize| !gone.get(i).copied().unwrap_or(false);
        match self {
            Values::Int(a) => Values::Int(a.iter().enumerate().map(|(i, v)| v.filter(|_| keep(i))).collect()),
            Values::Float(a) => Values::Float(a.iter().enumerate().map(|(i, v)| v.filter(|_| keep(i))).collect()),
            Values::Bool(a) => Values::Bool(a.iter().enumerate().map(|(i, v)| v.filter(|_| keep(i))).collect()),
            Values::Text(a) => Values::Text(a.iter().enumerate().map(|(i, v)| v.filter(|_| keep(i))).collect()),
            Values::Named(a) => {
                let ids = a.ids.iter().enumerate().map(|(i, id)| id.filter(|_| keep(i))).collect();
                Values::Named(Named { names: a.names.clone(), ids })
            }
            Values::Empty(n) => Values::Empty(*n),
        }
    }

    /// Whether value `i` is missing.
    pub fn is_null(&self, i: usize) -> bool {
        match self {
            Values::Int(a) => a.is_null(i),
            Values::Float(a) => a.is_null(i),
            Values::Bool(a) => a.is_null(i),
            Values::Text(a) => a.is_null(i),
            Values::Named(a) => a.ids[i].is_none(),
            Values::Empty(_) => true,
        }
    }

    /// Whether any value is missing.
    pub fn has_nulls(&self) -> bool {
        match self {
            Values::Int(a) => a.null_count() > 0,
            Values::Float(a) => a.null_count() > 0,
            Values::Bool(a) => a.null_count() > 0,
            Values::Text(a) => a.null_count() > 0,
            Values::Named(a) => a.ids.contains(&None),
            Values::Empty(n) => *n > 0,
        }
    }

    /// How many of the values at these positions are missing.
    pub fn nulls_among(&self, rows: &[u32]) -> u64 {
        if self.has_nulls() { rows.iter().filter(|&&i| self.is_null(i as usize)).count() as u64 } else { 0 }
    }

    /// The word of value `i`; `None` where it is missing.
    pub fn word(&self, i: usize) -> Option<Cow<'_, str>> {
        (!self.is_null(i)).then(|| match self {
            Values::Int(a) => Cow::Owned(a.value(i).to_string()),
            Values::Float(a) => Cow::Owned(float_text(a.value(i))),
            Values::Bool(a) => Cow::Borrowed(if a.value(i) { "true" } else { "false" }),
            Values::Text(a) => Cow::Borrowed(a.value(i)),
            Values::Named(a) => Cow::Borrowed(a.name(i).unwrap_or_default()),
            Values::Empty(_) => Cow::Borrowed(""),
        })
    }

    /// The distinct values among the chosen positions.
    pub fn distinct(&self, rows: &[u32]) -> Distinct {
        match self {
            Values::Int(a) => Distinct::of(rows, |i| a.is_valid(i).then(|| a.value(i))),
            Values::Float(a) => Distinct::of(rows, |i| a.is_valid(i).then(|| a.value(i).to_bits())),
            Values::Bool(a) => Distinct::of(rows, |i| a.is_valid(i).then(|| a.value(i))),
            Values::Text(a) => Distinct::of(rows, |i| a.is_valid(i).then(|| a.value(i))),
            Values::Named(a) => Distinct::of_named(rows, a),
            Values::Empty(_) => Distinct::of(rows, |_| None::<bool>),
        }
    }

    /// The values at these positions as numbers, as [`Values::number`] gives them.
    pub fn numbers(&self, rows: &[u32]) -> Vec<f64> {
        match self {
            Values::Int(a) if a.null_count() == 0 => rows.iter().map(|&i| a.values()[i as usize] as f64).collect(),
            Values::Float(a) if a.null_count() == 0 => rows.iter().map(|&i| a.values()[i as usize]).collect(),
            _ => rows.iter().map(|&i| self.number(i as usize)).collect(),
        }
    }

    /// Whether no value at these positions has decimals.
    pub fn is_whole(&self, rows: &[u32]) -> bool {
        match self {
            Values::Float(_) => rows.iter().map(|&i| self.number(i as usize)).all(|x| x.is_nan() || x.fract() == 0.0),
            _ => true,
        }
    }

    /// Value `i` as a number; NaN where it is missing or no number.
    #[expect(
        clippy::cast_precision_loss,
        reason = "engines compute in f64; integers above 2^53 are rounded, as every consumer of floats does"
    )]
    pub fn number(&self, i: usize) -> f64 {
        match self {
            _ if self.is_null(i) => f64::NAN,
            Values::Int(a) => a.value(i) as f64,
            Values::Float(a) => a.value(i),
            Values::Bool(_) | Values::Text(_) | Values::Named(_) | Values::Empty(_) => f64::NAN,
        }
    }
}

/// The distinct values among some rows, numbered in order of their first occurrence.
#[derive(Debug)]
pub struct Distinct {
    /// Position of the first occurrence of each value.
    pub first: Vec<usize>,
    /// For each row the number of its value; `None` = missing.
    pub ids: Vec<Option<u32>>,
}

impl Distinct {
    fn of<K: Hash + Eq>(rows: &[u32], key: impl Fn(usize) -> Option<K>) -> Self {
        let (mut numbers, mut first) = (FastMap::default(), Vec::new());
        let mut id = |row: u32| {
            let next = first.len() as u32;
            let id = *numbers.entry(key(row as usize)?).or_insert(next);
            if id == next {
                first.push(row as usize);
            }
            Some(id)
        };
        let ids = rows.iter().map(|&row| id(row)).collect();
        Distinct { first, ids }
    }

    /// The same without hashing: names have numbers already.
    fn of_named(rows: &[u32], values: &Named) -> Self {
        let (mut numbers, mut first) = (vec![None; values.names.len()], Vec::new());
        let id = |&row: &u32| {
            let number = numbers.get_mut(values.ids[row as usize]? as usize)?;
            Some(*number.get_or_insert_with(|| {
                first.push(row as usize);
                first.len() as u32 - 1
            }))
        };
        let ids = rows.iter().map(id).collect();
        Distinct { first, ids }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Date32Array, DictionaryArray, Float32Array, TimestampMicrosecondArray, UInt64Array};
    use arrow::datatypes::Int8Type;

    use super::{Class, Numeral, Values, float_text};

    #[test]
    fn numerals_of_several_countries() {
        let check = |text: &str, expected: Option<(Option<char>, bool)>| {
            assert_eq!(Numeral::of(text).map(|n| (n.decimal_sign, n.grouped)), expected, "{text}");
        };
        check("7", Some((None, false)));
        check("-12.5", Some((Some('.'), false)));
        check("1.5e-3", Some((Some('.'), false)));
        check("4583,58", Some((Some(','), false)));
        check("-4.583,58", Some((Some(','), true)));
        check("1.234.567", Some((None, true)));
        check("1.234.567,5", Some((Some(','), true)));
        check("4,583.58", Some((Some('.'), true)));
        check("4 583,58", Some((Some(','), true)));
        check("4'583.58", Some((Some('.'), true)));
        for no in ["", "-", ",", "5,", ",5", "31.12.2020", "1.23,4.5", "12,34.5", "1234.567,5", "1,234,567,8", "x5", "5 x", "192.168.0.1"] {
            check(no, None);
        }
    }

    #[test]
    fn words_of_the_job_meet_words_of_the_column() {
        let check = |class: Class, word: &str, expected: Option<&str>| assert_eq!(class.canonical(word).as_deref(), expected, "{word}");
        check(Class::Int, "1", Some("1"));
        check(Class::Int, "1.0", Some("1"));
        check(Class::Int, "-0", Some("0"));
        check(Class::Float, "+1e2", Some("100"));
        check(Class::Float, "0.10", Some("0.1"));
        check(Class::Float, "inf", None);
        check(Class::Int, "no", None);
        check(Class::Bool, "true", Some("true"));
        check(Class::Bool, "yes", None);
        check(Class::Text, "01", Some("01"));
        assert_eq!(float_text(-0.0), "0");
        assert_eq!(float_text(1e300), "1e300");
    }

    #[test]
    fn values_of_every_arrow_type_have_a_word() {
        let check = |array: ArrayRef, expected: Option<&str>| {
            let values = Values::new(&array).unwrap();
            assert_eq!(values.word(0).as_deref(), expected);
        };
        check(Arc::new(Float32Array::from(vec![2.0])), Some("2"));
        check(Arc::new(Float32Array::from(vec![f32::NAN])), None);
        check(Arc::new(Date32Array::from(vec![15_931])), Some("2013-08-14"));
        let time = TimestampMicrosecondArray::from(vec![1_376_438_400_000_000]);
        check(Arc::new(time.clone()), Some("2013-08-14T00:00:00"));
        check(Arc::new(time.with_timezone("Europe/Berlin")), Some("2013-08-14T00:00:00Z"));
        check(Arc::new(["b", "a"].into_iter().collect::<DictionaryArray<Int8Type>>()), Some("b"));
        assert!(Values::new(&(Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef)).is_err());
    }
}
