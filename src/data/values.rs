//! The values of a source column in the types of preparing, and their words.
//!
//! A value's *word* is the canonical text by which job files name it: integers without a plus sign
//! or leading zeros, floats with an integral value as that integer, `true` and `false`, dates and
//! times in ISO form (times with a zone in UTC). Words of the job are converted to the same form
//! once the column's type is known, so `1`, `1.0` and `"1"` name the same value of a numeric
//! column.

use std::borrow::Cow;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int32Type, Int64Type};
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::data::canonical::{boolean, canonical_text};
use crate::error::{Fault, Result};
use crate::num::float_precision::decimal_of_single;
use crate::num::hash::FastMap;

/// Floats up to this size represent every integer, 2^53; larger ones are not written as integers.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Integers in a smaller range than this are distinguished by a table instead of a hash.
const MAX_RANGE: i64 = 4096;

/// Smallest mean number of occurrences of the texts of a list for which the list is used.
const MIN_REPEATS: usize = 4;

/// The type of a source column, as distinguished by preparing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueClass {
    /// Integers that fit 64 bits with a sign, and decimals without places.
    Int,
    /// Floats and decimals.
    Float,
    /// Booleans.
    Bool,
    /// Text, dates and times.
    Text,
    /// A column whose type holds nothing but nulls.
    #[default]
    Empty,
}

impl ValueClass {
    /// The class of an Arrow type.
    ///
    /// `None` for types that hold no single value (lists, structs) or no text (binary).
    pub fn of(data_type: &DataType) -> Option<ValueClass> {
        Some(match data_type {
            t if t.is_integer() => ValueClass::Int,
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale)
                if *scale <= 0 =>
            {
                ValueClass::Int
            }
            t if t.is_floating() || t.is_decimal() => ValueClass::Float,
            DataType::Boolean => ValueClass::Bool,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ValueClass::Text,
            DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Timestamp(..) => ValueClass::Text,
            DataType::Dictionary(_, value) => return ValueClass::of(value),
            DataType::Null => ValueClass::Empty,
            _ => return None,
        })
    }

    /// The name of the class in messages.
    pub fn name(self) -> &'static str {
        match self {
            ValueClass::Int => "integers",
            ValueClass::Float => "numbers",
            ValueClass::Bool => "booleans",
            ValueClass::Text => "text",
            ValueClass::Empty => "no values",
        }
    }

    /// Whether values have an order and distances.
    pub fn is_number(self) -> bool {
        matches!(self, ValueClass::Int | ValueClass::Float)
    }

    /// The wider one of two classes of numbers; no value widens nothing.
    pub(crate) fn max_number(self, other: ValueClass) -> ValueClass {
        if self == ValueClass::Float { self } else { other }
    }

    /// As [`ValueClass::canonical`], with a fault that names the word, the column and `asked_by`.
    ///
    /// # Errors
    /// No value of the column can match the word.
    pub fn word(self, asked_by: &str, column: &str, word: &str) -> Result<String> {
        self.canonical(word).ok_or_else(|| {
            let what = |kind| {
                format!(
                    "column `{column}` holds {}, but `{word}` in `{asked_by}` is {kind}",
                    self.name()
                )
            };
            let fault = match self {
                ValueClass::Bool => Fault::new("not-a-boolean", what("neither `true` nor `false`"))
                    .hint("write `true` or `false`"),
                _ => Fault::new("not-a-number", what("not a number")).hint("write a number"),
            };
            fault.in_column(column).into()
        })
    }

    /// The canonical text of a word of the job for a column of this class.
    ///
    /// `None` where no value of the class can match.
    pub fn canonical(self, word: &str) -> Option<String> {
        match self {
            ValueClass::Text | ValueClass::Empty => Some(word.to_owned()),
            ValueClass::Bool => match &*canonical_text(word) {
                "true" | "1" => Some("true".to_owned()),
                "false" | "0" => Some("false".to_owned()),
                _ => None,
            },
            ValueClass::Int | ValueClass::Float => match word.trim().parse::<i64>() {
                Ok(integer) => Some(integer.to_string()),
                Err(_) => parse_number(word)
                    .or_else(|| parse_infinity(word.trim()).filter(|_| self == ValueClass::Float))
                    .or_else(|| boolean(word.trim()).map(|is| f64::from(u8::from(is))))
                    .map(float_text),
            },
        }
    }
}

/// The name of values of an Arrow type in messages, also for types that are not supported.
pub(crate) fn type_in_words(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Dictionary(_, value) => type_in_words(value),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => "lists",
        DataType::Struct(_) => "structs",
        DataType::Map(..) => "maps",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "binary values",
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => "dates or times",
        DataType::Duration(_) | DataType::Interval(_) => "durations",
        other => ValueClass::of(other).map_or("values of an unsupported type", ValueClass::name),
    }
}

/// A finite number written in digits; `None` for words such as `inf` and `nan`.
pub(crate) fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim_matches([' ', '\t']);
    let digits = text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    text.parse::<f64>().ok().filter(|value| digits && value.is_finite())
}

/// An infinite number in words, as programs write the result of a division by 0; `None` with blanks
/// around them.
pub(crate) fn parse_infinity(text: &str) -> Option<f64> {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is = ["inf", "infinity"].iter().any(|word| bare.eq_ignore_ascii_case(word));
    is.then_some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY })
}

/// Whether a field of a text file has digits after a leading zero.
///
/// `007` is a code, and its column is one of texts.
pub(crate) fn is_code(field: &str) -> bool {
    let digits = field.trim_matches([' ', '\t']).trim_start_matches(['+', '-']).as_bytes();
    matches!(digits, [b'0', second, ..] if second.is_ascii_digit())
}

/// The word of a float: the integer where its value is integral, else the shortest exact text.
pub(crate) fn float_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return format!("{}", value as i64);
    }
    format!("{value:?}")
}

/// A column of the user's files as it is read: numbers of 32 bits as the decimals that name them, so
/// that the job's words, limits and SQL mean the same as in 64 bits.
pub(crate) fn as_decimals(array: &ArrayRef) -> ArrayRef {
    match array.as_primitive_opt::<Float32Type>() {
        Some(singles) => Arc::new(singles.unary::<_, Float64Type>(decimal_of_single)),
        None => Arc::clone(array),
    }
}

/// Values of one source column. NaN counts as null.
#[derive(Debug, Clone)]
pub enum SourceValues {
    /// Integers.
    Int(Int64Array),
    /// Floats; null instead of NaN.
    Float(Float64Array),
    /// Booleans.
    Bool(BooleanArray),
    /// Text.
    Text(StringArray),
    /// Text with each distinct text held once: derived columns, and dictionary-encoded files.
    Named(NamedValues),
    /// Only nulls, this many.
    Empty(usize),
}

/// Few distinct texts, each held once.
///
/// A combination of names may occur twice: two pairs can join to one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedValues {
    /// The texts.
    pub names: Vec<String>,
    /// For each row 1 + the position of its text; 0 = missing.
    pub ids: Vec<u32>,
}

impl NamedValues {
    /// The texts of a dictionary-encoded column.
    ///
    /// `None` for columns of other values, for dictionaries with too few repetitions, and for other
    /// key types than a Parquet file is read with.
    fn of_positions(array: &ArrayRef) -> Option<Self> {
        let array = array.as_dictionary_opt::<Int32Type>()?;
        let texts = array.values().as_string_opt::<i32>()?;
        if texts.len() > array.len() / MIN_REPEATS {
            return None;
        }
        let mut held = IndexSet::new();
        let known: Vec<u32> = texts
            .iter()
            .map(|text| text.map_or(0, |text| held.insert_full(text.to_owned()).0 as u32 + 1))
            .collect();
        let at = |position: i32| known.get(position as usize).copied().unwrap_or(0);
        let ids = match array.nulls() {
            None => array.keys().values().iter().map(|&position| at(position)).collect(),
            Some(_) => array.keys().iter().map(|position| position.map_or(0, at)).collect(),
        };
        Some(NamedValues { names: held.into_iter().collect(), ids })
    }

    /// The text in a row.
    pub(crate) fn name(&self, i: usize) -> Option<&str> {
        let position = (self.ids[i] as usize).checked_sub(1)?;
        self.names.get(position).map(String::as_str)
    }

    /// The texts of all rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        (0..self.ids.len()).map(|i| self.name(i))
    }
}

impl SourceValues {
    /// The values of an Arrow array.
    ///
    /// # Errors
    /// In words, where a value does not fit: an unsigned integer above 2^63 - 1, a date without a
    /// text form.
    pub fn new(array: &ArrayRef) -> Result<SourceValues, String> {
        let class = ValueClass::of(array.data_type())
            .ok_or_else(|| format!("values of type {} are not supported", array.data_type()))?;
        if let Some(texts) = NamedValues::of_positions(array) {
            return Ok(SourceValues::Named(texts));
        }
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let cast = |array: &ArrayRef, to: &DataType| {
            cast_with_options(array, to, &strict).map_err(|e| e.to_string())
        };
        let plain = match array.data_type() {
            DataType::Dictionary(_, value) => cast(array, value)?,
            _ => Arc::clone(array),
        };
        // Times with a zone are instants: without a time zone database only a fixed offset can be
        // written, so they are written in UTC.
        let plain = match plain.data_type() {
            DataType::Timestamp(unit, Some(_)) => {
                cast(&plain, &DataType::Timestamp(*unit, Some("+00:00".into())))?
            }
            _ => plain,
        };
        Ok(match class {
            ValueClass::Int => SourceValues::Int(
                cast(&plain, &DataType::Int64)?.as_primitive::<Int64Type>().clone(),
            ),
            ValueClass::Float => {
                let floats = cast(&plain, &DataType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                match floats.values().iter().any(|v| v.is_nan()) {
                    true => SourceValues::Float(floats.unary_opt(|v| (!v.is_nan()).then_some(v))),
                    false => SourceValues::Float(floats.clone()),
                }
            }
            ValueClass::Bool => SourceValues::Bool(plain.as_boolean().clone()),
            ValueClass::Text => {
                SourceValues::Text(cast(&plain, &DataType::Utf8)?.as_string::<i32>().clone())
            }
            ValueClass::Empty => SourceValues::Empty(plain.len()),
        })
    }

    /// These values with the class of their column: a part of the source may lack the type, or hold
    /// integers where another holds floats.
    ///
    /// # Errors
    /// In words, an integer that no float holds.
    pub fn with_class(self, class: ValueClass) -> Result<SourceValues, String> {
        Ok(match (self, class) {
            (SourceValues::Int(integers), ValueClass::Float) => {
                let is_exact = |integer: i64| integer.unsigned_abs() <= EXACT as u64;
                if let Some(integer) = integers.iter().flatten().find(|&of| !is_exact(of)) {
                    return Err(format!(
                        "{integer} is in a part with integers, another part holds floats, and no \
                         float is that integer"
                    ));
                }
                SourceValues::Float(integers.unary(|integer| integer as f64))
            }
            (SourceValues::Empty(n), ValueClass::Int) => SourceValues::Int(Int64Array::new_null(n)),
            (SourceValues::Empty(n), ValueClass::Float) => {
                SourceValues::Float(Float64Array::new_null(n))
            }
            (SourceValues::Empty(n), ValueClass::Bool) => {
                SourceValues::Bool(BooleanArray::new_null(n))
            }
            (SourceValues::Empty(n), ValueClass::Text) => {
                SourceValues::Text(StringArray::new_null(n))
            }
            (values, _) => values,
        })
    }

    /// These values, with those of some words made missing, and the number of these.
    pub(crate) fn without(self, is_gone: impl Fn(&str) -> bool) -> (SourceValues, u64) {
        let distinct = self.distinct();
        let gone = |row: usize| self.word(row).is_some_and(|word| is_gone(&word));
        let gone = distinct.table(|row| u32::from(gone(row)));
        if !gone.contains(&1) {
            drop(distinct);
            return (self, 0);
        }
        let n = distinct.counts.iter().zip(&gone).filter(|(_, gone)| **gone == 1);
        let n = n.map(|(n, _)| n).sum();
        let kept = (0..).zip(&*distinct.ids);
        let kept = kept.map(|(i, &id)| Some(i).filter(|_| gone[id as usize] == 0));
        (self.at(&kept.collect()), n)
    }

    /// These texts in the spelling `of`, and how many differ, if any does; a text that is then
    /// empty is missing if the empty text means that.
    pub(crate) fn spelt(
        &self,
        of: impl for<'w> Fn(&'w str) -> Cow<'w, str>,
        empty_is_missing: bool,
    ) -> Option<(SourceValues, u64)> {
        if !matches!(self, SourceValues::Text(_) | SourceValues::Named(_)) {
            return None;
        }
        let distinct = self.distinct();
        let differs = |row: usize| self.word(row).is_some_and(|word| of(&word) != word);
        let differing = distinct.first.iter().filter(|(_, row)| differs(*row));
        let n: u64 = differing.map(|(id, _)| distinct.counts[*id as usize]).sum();
        let spelt = |row: usize| {
            let spelt = of(&self.word(row)?).into_owned();
            Some(spelt).filter(|spelt| !empty_is_missing || !spelt.is_empty())
        };
        (n > 0).then(|| (SourceValues::Named(distinct.named(spelt)), n))
    }

    /// The values at these positions, in this order; missing where there is none.
    pub(crate) fn at(&self, positions: &UInt32Array) -> SourceValues {
        let array = match self {
            SourceValues::Named(a) => {
                let ids = positions.iter().map(|i| i.map_or(0, |i| a.ids[i as usize])).collect();
                return SourceValues::Named(NamedValues { names: a.names.clone(), ids });
            }
            values => values.array(),
        };
        let taken =
            array.map(|array| take(array, positions, None).map(|of| SourceValues::new(&of)));
        match taken {
            None => SourceValues::Empty(positions.len()),
            Some(taken) => taken.ok().and_then(Result::ok).expect("texts fit one array"),
        }
    }

    /// The array of the values; none where they are not held as one.
    pub(crate) fn array(&self) -> Option<&dyn Array> {
        match self {
            SourceValues::Int(a) => Some(a),
            SourceValues::Float(a) => Some(a),
            SourceValues::Bool(a) => Some(a),
            SourceValues::Text(a) => Some(a),
            SourceValues::Named(_) | SourceValues::Empty(_) => None,
        }
    }

    /// Which values of an array are missing; none where no value is missing, or where they are not
    /// held as an array.
    fn nulls(&self) -> Option<&NullBuffer> {
        self.array()?.nulls()
    }

    /// Number of values.
    pub fn n_rows(&self) -> usize {
        match self {
            SourceValues::Named(a) => a.ids.len(),
            SourceValues::Empty(n) => *n,
            _ => self.array().map_or(0, Array::len),
        }
    }

    /// Whether value `i` is missing.
    pub fn is_null(&self, i: usize) -> bool {
        match self {
            SourceValues::Named(a) => a.ids[i] == 0,
            SourceValues::Empty(_) => true,
            _ => self.nulls().is_some_and(|nulls| nulls.is_null(i)),
        }
    }

    /// Whether any value is missing.
    pub fn has_nulls(&self) -> bool {
        self.n_missing() > 0
    }

    /// Number of missing values.
    pub fn n_missing(&self) -> u64 {
        let n = match self {
            SourceValues::Named(a) => a.ids.iter().filter(|&&id| id == 0).count(),
            SourceValues::Empty(n) => *n,
            _ => self.nulls().map_or(0, NullBuffer::null_count),
        };
        n as u64
    }

    /// The values at these positions, in this order.
    #[must_use]
    pub fn take(&self, rows: &[u32]) -> SourceValues {
        self.at(&UInt32Array::from(rows.to_vec()))
    }

    /// The word of value `i`; `None` where it is missing.
    pub fn word(&self, i: usize) -> Option<Cow<'_, str>> {
        (!self.is_null(i)).then(|| match self {
            SourceValues::Int(a) => Cow::Owned(a.value(i).to_string()),
            SourceValues::Float(a) => Cow::Owned(float_text(a.value(i))),
            SourceValues::Bool(a) => Cow::Borrowed(if a.value(i) { "true" } else { "false" }),
            SourceValues::Text(a) => Cow::Borrowed(a.value(i)),
            SourceValues::Named(a) => Cow::Borrowed(a.name(i).unwrap_or_default()),
            SourceValues::Empty(_) => Cow::Borrowed(""),
        })
    }

    /// The word of value `i`; empty where it is missing.
    pub fn text(&self, i: usize) -> String {
        self.word(i).unwrap_or_default().into_owned()
    }

    /// The distinct values.
    pub fn distinct(&self) -> DistinctValues<'_> {
        match self {
            SourceValues::Int(a) => DistinctValues::of_integers(a).unwrap_or_else(|| {
                DistinctValues::of_keys(a.len(), |i| a.is_valid(i).then(|| a.value(i)))
            }),
            SourceValues::Float(a) => {
                DistinctValues::of_keys(a.len(), |i| a.is_valid(i).then(|| a.value(i).to_bits()))
            }
            SourceValues::Bool(a) => {
                let id = |value: Option<bool>| value.map_or(0, |value| 1 + u32::from(value));
                DistinctValues::of_ids(Cow::Owned(a.iter().map(id).collect()), 2)
            }
            SourceValues::Text(a) => {
                DistinctValues::of_keys(a.len(), |i| a.is_valid(i).then(|| a.value(i)))
            }
            SourceValues::Named(a) => DistinctValues::of_ids(Cow::Borrowed(&a.ids), a.names.len()),
            SourceValues::Empty(n) => DistinctValues::of_ids(Cow::Owned(vec![0; *n]), 0),
        }
    }

    /// The values as numbers, as [`SourceValues::number`] gives them.
    pub fn numbers(&self) -> Vec<f64> {
        let n = match self {
            SourceValues::Int(a) if a.null_count() == 0 => {
                return a.values().iter().map(|&value| value as f64).collect();
            }
            SourceValues::Float(a) if a.null_count() == 0 => return a.values().to_vec(),
            _ => self.n_rows(),
        };
        (0..n).map(|i| self.number(i)).collect()
    }

    /// Value `i` as an integer; none where it is missing or the values are not integers.
    pub(crate) fn integer(&self, i: usize) -> Option<i64> {
        match self {
            SourceValues::Int(a) => a.is_valid(i).then(|| a.value(i)),
            _ => None,
        }
    }

    /// Whether no value has decimals.
    pub fn is_whole(&self) -> bool {
        match self {
            SourceValues::Float(a) => a.iter().flatten().all(|x| x.fract() == 0.0),
            _ => true,
        }
    }

    /// Value `i` as a number; NaN where it is missing or not a number.
    #[expect(
        clippy::cast_precision_loss,
        reason = "engines compute in f64; integers above 2^53 are rounded, as every consumer of \
                  floats does"
    )]
    pub fn number(&self, i: usize) -> f64 {
        match self {
            _ if self.is_null(i) => f64::NAN,
            SourceValues::Int(a) => a.value(i) as f64,
            SourceValues::Float(a) => a.value(i),
            SourceValues::Bool(_)
            | SourceValues::Text(_)
            | SourceValues::Named(_)
            | SourceValues::Empty(_) => f64::NAN,
        }
    }
}

/// The distinct values of a column, each with a number from 1; 0 represents a missing value.
#[derive(Debug)]
pub struct DistinctValues<'a> {
    /// For each row the number of its value.
    pub ids: Cow<'a, [u32]>,
    /// By number how often it occurs; a number may never occur.
    pub counts: Vec<u64>,
    /// Each number that occurs, without 0, with the position of its first row, in order of these.
    pub first: Vec<(u32, usize)>,
}

impl<'a> DistinctValues<'a> {
    fn of_keys<K: Hash + Eq>(n: usize, key: impl Fn(usize) -> Option<K>) -> Self {
        let (mut numbers, mut first) = (FastMap::default(), Vec::new());
        let mut counts = vec![0];
        let mut id = |row: usize| {
            let Some(key) = key(row) else {
                counts[0] += 1;
                return 0;
            };
            let next = counts.len() as u32;
            let id = *numbers.entry(key).or_insert(next);
            if id == next {
                first.push((id, row));
                counts.push(0);
            }
            counts[id as usize] += 1;
            id
        };
        let ids = (0..n).map(&mut id).collect();
        DistinctValues { ids: Cow::Owned(ids), counts, first }
    }

    /// Integers in a small range, without hashing; `None` for others.
    fn of_integers(array: &Int64Array) -> Option<Self> {
        let values = array.values();
        if array.null_count() > 0 || values.is_empty() {
            return None;
        }
        let (least, largest) = (*values.iter().min()?, *values.iter().max()?);
        let range = largest.checked_sub(least).filter(|&range| range < MAX_RANGE)?;
        let ids = values.iter().map(|value| (value - least) as u32 + 1).collect();
        Some(DistinctValues::of_ids(Cow::Owned(ids), range as usize + 1))
    }

    /// Values that have numbers up to `n` already.
    fn of_ids(ids: Cow<'a, [u32]>, n: usize) -> Self {
        // Equal neighbours would wait for each other at one counter.
        let mut lanes = [(); 4].map(|()| vec![0_u32; n + 1]);
        let mut counts = vec![0_u64; n + 1];
        for part in ids.chunks(u32::MAX as usize) {
            let mut fours = part.chunks_exact(4);
            for four in &mut fours {
                for (lane, &id) in lanes.iter_mut().zip(four) {
                    lane[id as usize] += 1;
                }
            }
            fours.remainder().iter().for_each(|&id| counts[id as usize] += 1);
            for lane in &mut lanes {
                counts
                    .iter_mut()
                    .zip(lane)
                    .for_each(|(sum, n)| *sum += u64::from(std::mem::take(n)));
            }
        }
        let n_present = counts[1..].iter().filter(|&&n| n > 0).count();
        let (mut first, mut seen) = (Vec::with_capacity(n_present), vec![false; n + 1]);
        for (row, &id) in ids.iter().enumerate() {
            if first.len() == n_present {
                break;
            }
            if id != 0 && !std::mem::replace(&mut seen[id as usize], true) {
                first.push((id, row));
            }
        }
        DistinctValues { ids, counts, first }
    }

    /// By number what `of` gives for the position of its first row; 0 for numbers without a row.
    pub fn table(&self, mut of: impl FnMut(usize) -> u32) -> Vec<u32> {
        let mut table = vec![0; self.counts.len()];
        self.first.iter().for_each(|&(id, row)| table[id as usize] = of(row));
        table
    }

    /// The values with the names that `name` gives to the position of their first row.
    ///
    /// A value without a name is missing.
    pub fn named(&self, name: impl Fn(usize) -> Option<String>) -> NamedValues {
        let mut held = IndexSet::new();
        let table =
            self.table(|row| name(row).map_or(0, |name| held.insert_full(name).0 as u32 + 1));
        let ids = self.ids.iter().map(|&id| table[id as usize]).collect();
        NamedValues { names: held.into_iter().collect(), ids }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, Date32Array, DictionaryArray, Float32Array, TimestampMicrosecondArray,
        UInt64Array,
    };
    use arrow::datatypes::Int8Type;

    use super::{SourceValues, ValueClass, float_text};

    #[test]
    fn words_of_the_job_meet_words_of_the_column() {
        let check = |class: ValueClass, word: &str, expected: Option<&str>| {
            assert_eq!(class.canonical(word).as_deref(), expected, "{word}")
        };
        check(ValueClass::Int, "1", Some("1"));
        check(ValueClass::Int, "1.0", Some("1"));
        check(ValueClass::Int, "-0", Some("0"));
        check(ValueClass::Float, "+1e2", Some("100"));
        check(ValueClass::Float, "0.10", Some("0.1"));
        check(ValueClass::Float, "-Inf", Some("-inf"));
        check(ValueClass::Int, "inf", None);
        check(ValueClass::Int, "true", Some("1"));
        check(ValueClass::Bool, "1.0", Some("true"));
        check(ValueClass::Bool, "FALSE", Some("false"));
        check(ValueClass::Int, "no", None);
        check(ValueClass::Bool, "true", Some("true"));
        check(ValueClass::Bool, "yes", None);
        check(ValueClass::Text, "01", Some("01"));
        assert_eq!(float_text(-0.0), "0");
        assert_eq!(float_text(1e300), "1e300");
    }

    #[test]
    fn values_of_every_arrow_type_have_a_word() {
        let check = |array: ArrayRef, expected: Option<&str>| {
            let values = SourceValues::new(&array).unwrap();
            assert_eq!(values.word(0).as_deref(), expected);
        };
        check(Arc::new(Float32Array::from(vec![2.0])), Some("2"));
        check(Arc::new(Float32Array::from(vec![f32::NAN])), None);
        check(Arc::new(Date32Array::from(vec![15_931])), Some("2013-08-14"));
        let time = TimestampMicrosecondArray::from(vec![1_376_438_400_000_000]);
        check(Arc::new(time.clone()), Some("2013-08-14T00:00:00"));
        check(Arc::new(time.with_timezone("Europe/Berlin")), Some("2013-08-14T00:00:00Z"));
        check(Arc::new(["b", "a"].into_iter().collect::<DictionaryArray<Int8Type>>()), Some("b"));
        assert!(
            SourceValues::new(&(Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef)).is_err()
        );
    }
}
