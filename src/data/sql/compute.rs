//! Computes an expression, column by column.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, Float64Array, NullArray,
    StringViewArray, UInt32Array,
};
use arrow::compute::{and_kleene, binary, concat, not, or_kleene, take};
use arrow::datatypes::{DataType, Float64Type};

use crate::data::MISSING_LEVEL;
use crate::data::column::declared::is_day;
use crate::data::source::SourceColumn;
use crate::data::sql::EXACT_INTEGER;
use crate::data::sql::function::SqlFunction;
use crate::data::sql::length::{LongText, long_texts};
use crate::data::sql::parse::{SqlKind, SqlNode};
use crate::data::sql::program::SqlProgram;
use crate::data::values::{SourceValues, ValueClass, parse_number};
use crate::error::Fault;

/// The values of some rows; null is missing. Texts are views, so that their bytes are not copied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlColumn {
    Number(Float64Array),
    Bool(BooleanArray),
    Text(StringViewArray),
    /// So many missing values.
    Null(usize),
}

/// The value in a row; `None` where it is missing.
fn value<A: ArrayAccessor>(values: A, i: usize) -> Option<A::Item> {
    values.is_valid(i).then(|| values.value(i))
}

/// The texts at these positions of a list.
fn listed<'t>(list: impl Iterator<Item = &'t str>, positions: &UInt32Array) -> SqlColumn {
    let list = StringViewArray::from_iter_values(list);
    match take(&list, positions, None) {
        Ok(texts) => SqlColumn::Text(texts.as_string_view().clone()),
        // Every position is one of the list.
        Err(_) => SqlColumn::Null(positions.len()),
    }
}

impl SqlColumn {
    /// The values of a column of the source.
    ///
    /// # Errors
    /// An integer beyond 2^53, with its position among the values.
    pub(crate) fn of(
        column: &SourceColumn,
        values: &SourceValues,
    ) -> Result<Self, (Box<Fault>, usize)> {
        Ok(match values {
            SourceValues::Int(a) => {
                let too_large = |x: i64| x.unsigned_abs() > EXACT_INTEGER.unsigned_abs();
                if let Some((i, x)) = a.iter().enumerate().find(|(_, x)| x.is_some_and(too_large)) {
                    let what = format!(
                        "column `{}` holds {}, which is beyond 2^53: an expression would round it",
                        column.name,
                        x.unwrap_or_default()
                    );
                    let fault = Fault::new("large-integer", what).in_column(&column.name);
                    let hint = "take the column out of the expression, or write it as text";
                    return Err((Box::new(fault.hint(hint)), i));
                }
                SqlColumn::Number(a.unary(|x| x as f64))
            }
            SourceValues::Float(a) => SqlColumn::Number(a.clone()),
            SourceValues::Bool(a) => SqlColumn::Bool(a.clone()),
            SourceValues::Text(a) => SqlColumn::Text(StringViewArray::from(a)),
            SourceValues::Named(a) => {
                let positions = a.ids.iter().map(|id| id.checked_sub(1)).collect();
                listed(a.names.iter().map(String::as_str), &positions)
            }
            SourceValues::Empty(n) => SqlColumn::Null(*n),
        })
    }

    /// The values of codes, each the position of a level; other codes are missing, and so is the
    /// level for missing values.
    pub(crate) fn of_levels(
        levels: &[String],
        class: ValueClass,
        codes: impl Iterator<Item = u32>,
    ) -> Self {
        let word = |code: u32| {
            levels.get(code as usize).map(String::as_str).filter(|word| *word != MISSING_LEVEL)
        };
        match class {
            ValueClass::Int | ValueClass::Float => {
                SqlColumn::Number(codes.map(|code| parse_number(word(code)?)).collect())
            }
            ValueClass::Bool => {
                SqlColumn::Bool(codes.map(|code| Some(word(code)? == "true")).collect())
            }
            ValueClass::Text => {
                let positions = codes.map(|code| word(code).map(|_| code)).collect();
                listed(levels.iter().map(String::as_str), &positions)
            }
            ValueClass::Empty => SqlColumn::Null(codes.count()),
        }
    }

    /// The values as those of a column.
    pub(crate) fn into_source(self) -> SourceValues {
        match self {
            SqlColumn::Number(values) => SourceValues::Float(values),
            SqlColumn::Bool(values) => SourceValues::Bool(values),
            SqlColumn::Text(values) => SourceValues::Text(values.iter().collect()),
            SqlColumn::Null(n) => SourceValues::Empty(n),
        }
    }

    fn array(&self) -> ArrayRef {
        match self {
            SqlColumn::Number(values) => Arc::new(values.clone()),
            SqlColumn::Bool(values) => Arc::new(values.clone()),
            SqlColumn::Text(values) => Arc::new(values.clone()),
            SqlColumn::Null(n) => Arc::new(NullArray::new(*n)),
        }
    }

    fn of_array(array: &ArrayRef) -> Self {
        match array.data_type() {
            DataType::Float64 => SqlColumn::Number(array.as_primitive::<Float64Type>().clone()),
            DataType::Boolean => SqlColumn::Bool(array.as_boolean().clone()),
            DataType::Utf8View => SqlColumn::Text(array.as_string_view().clone()),
            _ => SqlColumn::Null(array.len()),
        }
    }

    /// The values of all rows from those of parts, at least one; their types are the same.
    pub(super) fn joined(parts: &[SqlColumn]) -> SqlColumn {
        let arrays: Vec<ArrayRef> = parts.iter().map(SqlColumn::array).collect();
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        concat(&arrays).map_or(SqlColumn::Null(0), |all| SqlColumn::of_array(&all))
    }

    /// The text in a row.
    pub(super) fn text(&self, i: usize) -> Option<&str> {
        match self {
            SqlColumn::Text(values) => value(values, i),
            _ => None,
        }
    }

    /// The bytes of all texts.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            SqlColumn::Text(values) => values.iter().flatten().map(str::len).sum(),
            _ => 0,
        }
    }

    /// The values without the texts that are too long.
    fn without(self, long: &[LongText]) -> SqlColumn {
        let is_kept = |i: usize| long.iter().all(|text| text.row != i);
        match self {
            SqlColumn::Text(values) if !long.is_empty() => {
                let kept = values.iter().enumerate().map(|(i, x)| x.filter(|_| is_kept(i)));
                SqlColumn::Text(kept.collect())
            }
            other => other,
        }
    }

    /// In each row the value of the column that `choice` names.
    fn chosen(columns: &[SqlColumn], n: usize, choice: impl Fn(usize) -> Option<usize>) -> Self {
        let of = |i: usize| choice(i).map(|k| &columns[k]);
        let number = |i: usize| match of(i)? {
            SqlColumn::Number(values) => value(values, i),
            _ => None,
        };
        let truth = |i: usize| match of(i)? {
            SqlColumn::Bool(values) => value(values, i),
            _ => None,
        };
        match columns.iter().find(|column| !matches!(column, SqlColumn::Null(_))) {
            None => SqlColumn::Null(n),
            Some(SqlColumn::Number(_)) => SqlColumn::Number((0..n).map(number).collect()),
            Some(SqlColumn::Bool(_)) => SqlColumn::Bool((0..n).map(truth).collect()),
            Some(_) => SqlColumn::Text((0..n).map(|i| of(i)?.text(i)).collect()),
        }
    }

    fn is_null(&self, i: usize) -> bool {
        match self {
            SqlColumn::Number(values) => values.is_null(i),
            SqlColumn::Bool(values) => values.is_null(i),
            SqlColumn::Text(values) => values.is_null(i),
            SqlColumn::Null(_) => true,
        }
    }

    /// How two values stand to each other; `None` where one is missing.
    fn compare(&self, i: usize, other: &SqlColumn) -> Option<Ordering> {
        match (self, other) {
            (SqlColumn::Number(a), SqlColumn::Number(b)) => Some(order(value(a, i)?, value(b, i)?)),
            (SqlColumn::Bool(a), SqlColumn::Bool(b)) => Some(value(a, i)?.cmp(&value(b, i)?)),
            (a, b) => Some(a.text(i)?.cmp(b.text(i)?)),
        }
    }
}

/// The order of numbers; no number equals itself and is above all others.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl SqlProgram {
    pub(super) fn compute_node(
        &self,
        node: &SqlNode,
        columns: &[SqlColumn],
        rows: &Range<usize>,
        long: &mut Option<LongText>,
    ) -> SqlColumn {
        let n = rows.len();
        let (function, arguments) = match &node.kind {
            SqlKind::Column(position) => {
                return columns.get(*position).map_or(SqlColumn::Null(n), |column| {
                    SqlColumn::of_array(&column.array().slice(rows.start, n))
                });
            }
            SqlKind::Number(x) => return SqlColumn::Number(Float64Array::from_value(*x, n)),
            SqlKind::Text(text) => {
                return listed([text.as_str()].into_iter(), &UInt32Array::from_value(0, n));
            }
            SqlKind::Bool(value) => return SqlColumn::Bool(vec![*value; n].into()),
            SqlKind::Null => return SqlColumn::Null(n),
            SqlKind::Call(function, arguments) => (*function, arguments),
        };
        let all = arguments.iter().map(|of| self.compute_node(of, columns, rows, long));
        let all: Vec<SqlColumn> = all.collect();
        let too_long = long_texts(function, node.at, &all, n);
        let all: Vec<SqlColumn> = all.into_iter().map(|of| of.without(&too_long)).collect();
        *long = long.take().or_else(|| too_long.first().copied());
        call(function, &all, n).without(&too_long)
    }
}

fn call(function: SqlFunction, all: &[SqlColumn], n: usize) -> SqlColumn {
    use SqlFunction as F;
    let numbers = |k: usize| match all.get(k) {
        Some(SqlColumn::Number(values)) => values.clone(),
        _ => Float64Array::new_null(n),
    };
    let bools = |k: usize| match all.get(k) {
        Some(SqlColumn::Bool(values)) => values.clone(),
        _ => BooleanArray::new_null(n),
    };
    let texts = |k: usize| match all.get(k) {
        Some(SqlColumn::Text(values)) => values.clone(),
        _ => StringViewArray::new_null(n),
    };
    let truths = |of: &dyn Fn(usize) -> Option<bool>| SqlColumn::Bool((0..n).map(of).collect());
    let order_of = |i: usize| all[0].compare(i, &all[1]);
    let compared = |is: fn(Ordering) -> bool| truths(&|i| order_of(i).map(is));
    // Missing values are equal here.
    let same = |i: usize| match (all[0].is_null(i), all[1].is_null(i)) {
        (false, false) => order_of(i) == Some(Ordering::Equal),
        (a, b) => a && b,
    };
    let is = |wanted: bool, expected: bool| {
        let truth = |x: Option<bool>| Some((x == Some(wanted)) == expected);
        SqlColumn::Bool(bools(0).iter().map(truth).collect())
    };
    let unary = |of: fn(f64) -> f64| SqlColumn::Number(numbers(0).unary(of));
    let paired = |of: fn(f64, f64) -> f64| {
        let values = binary(&numbers(0), &numbers(1), of);
        SqlColumn::Number(values.unwrap_or_else(|_| Float64Array::new_null(n)))
    };
    let both = |kleene: fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, _>| {
        let sides = (0..all.len()).map(bools);
        let joined = sides.reduce(|a, b| kleene(&a, &b).unwrap_or(a));
        joined.map_or(SqlColumn::Null(n), SqlColumn::Bool)
    };
    let tests = |of: fn(&str, &str) -> bool| {
        let (a, b) = (texts(0), texts(1));
        truths(&|i| Some(of(value(&a, i)?, value(&b, i)?)))
    };
    let spelt =
        |of: fn(&str) -> String| SqlColumn::Text(texts(0).iter().map(|x| x.map(of)).collect());
    let measured =
        |of: fn(&str) -> Option<f64>| SqlColumn::Number(texts(0).iter().map(|x| of(x?)).collect());
    match function {
        F::Equal => compared(Ordering::is_eq),
        F::NotEqual => compared(Ordering::is_ne),
        F::Less => compared(Ordering::is_lt),
        F::LessOrEqual => compared(Ordering::is_le),
        F::Greater => compared(Ordering::is_gt),
        F::GreaterOrEqual => compared(Ordering::is_ge),
        F::Distinct => truths(&|i| Some(!same(i))),
        F::NotDistinct => truths(&|i| Some(same(i))),
        F::IsNull => truths(&|i| Some(all[0].is_null(i))),
        F::IsNotNull => truths(&|i| Some(!all[0].is_null(i))),
        F::IsTrue => is(true, true),
        F::IsNotTrue => is(true, false),
        F::IsFalse => is(false, true),
        F::IsNotFalse => is(false, false),
        F::Coalesce => SqlColumn::chosen(all, n, |i| (0..all.len()).find(|&k| !all[k].is_null(i))),
        F::NullIf => {
            let differs = |i: usize| order_of(i) != Some(Ordering::Equal);
            SqlColumn::chosen(all, n, |i| differs(i).then_some(0))
        }
        F::Greatest | F::Least => {
            let wanted = if function == F::Greatest { Ordering::Greater } else { Ordering::Less };
            let better = |i: usize, best: usize, k: usize| {
                if all[k].compare(i, &all[best]) == Some(wanted) { k } else { best }
            };
            SqlColumn::chosen(all, n, |i| {
                (0..all.len()).filter(|&k| !all[k].is_null(i)).reduce(|a, b| better(i, a, b))
            })
        }
        F::Case => {
            // Conditions and values in turn, and the value of `ELSE` if there is one.
            let (n_cases, otherwise) = (all.len() / 2, all.len() % 2 == 1);
            let conditions: Vec<BooleanArray> = (0..n_cases).map(|k| bools(2 * k)).collect();
            let values = (0..n_cases).map(|k| all[2 * k + 1].clone());
            let values: Vec<_> = values.chain(all.last().filter(|_| otherwise).cloned()).collect();
            SqlColumn::chosen(&values, n, |i| {
                let first = conditions.iter().position(|of| value(of, i) == Some(true));
                first.or(otherwise.then_some(n_cases))
            })
        }
        F::Add => paired(|a, b| a + b),
        F::Subtract => paired(|a, b| a - b),
        F::Multiply => paired(|a, b| a * b),
        F::Divide => paired(|a, b| a / b),
        F::Remainder => paired(|a, b| a % b),
        F::Power => paired(libm::pow),
        F::Negate => unary(|x| -x),
        F::Abs => unary(f64::abs),
        F::Ceil => unary(f64::ceil),
        F::Floor => unary(f64::floor),
        F::Sign => unary(|x| if x == 0.0 || x.is_nan() { 0.0 } else { x.signum() }),
        F::Sqrt => unary(f64::sqrt),
        F::Exp => unary(libm::exp),
        F::Ln => unary(libm::log),
        F::Log2 => unary(libm::log2),
        F::Log10 => unary(libm::log10),
        F::Round if matches!(all.get(1), Some(SqlColumn::Number(_))) => paired(round),
        F::Round => unary(f64::round),
        F::Not => not(&bools(0)).map_or(SqlColumn::Null(n), SqlColumn::Bool),
        F::And => both(and_kleene),
        F::Or => both(or_kleene),
        F::TryNumber => measured(parse_number),
        F::Length => measured(|x| Some(x.chars().count() as f64)),
        F::Year => measured(|x| Some(f64::from(date(x)?.0))),
        F::Month => measured(|x| Some(f64::from(date(x)?.1))),
        F::Day => measured(|x| Some(f64::from(date(x)?.2))),
        F::DateDiff => {
            let (unit, from, to) = (texts(0), texts(1), texts(2));
            let of = |i: usize| {
                let (a, b) = (date(value(&from, i)?)?, date(value(&to, i)?)?);
                let months = |d: (i32, i32, i32)| f64::from(d.0 * 12 + d.1);
                Some(match value(&unit, i)?.to_lowercase().as_str() {
                    "year" => f64::from(b.0 - a.0),
                    "month" => months(b) - months(a),
                    _ => f64::from(day_number(b) - day_number(a)),
                })
            };
            SqlColumn::Number((0..n).map(of).collect())
        }
        F::Concat => {
            let of =
                |i: usize| Some(all.iter().filter_map(|part| part.text(i)).collect::<String>());
            SqlColumn::Text((0..n).map(of).collect())
        }
        F::ConcatOperator => {
            let of = |i: usize| Some(format!("{}{}", all[0].text(i)?, all[1].text(i)?));
            SqlColumn::Text((0..n).map(of).collect())
        }
        F::StartsWith => tests(|a, b| a.starts_with(b)),
        F::EndsWith => tests(|a, b| a.ends_with(b)),
        F::Contains => tests(|a, b| a.contains(b)),
        F::Like => tests(is_like),
        F::ILike => tests(|a, b| is_like(&a.to_lowercase(), &b.to_lowercase())),
        F::Lower => spelt(str::to_lowercase),
        F::Upper => spelt(str::to_uppercase),
        F::Trim => spelt(|x| x.trim_matches(is_blank).to_owned()),
        F::LeftTrim => spelt(|x| x.trim_start_matches(is_blank).to_owned()),
        F::RightTrim => spelt(|x| x.trim_end_matches(is_blank).to_owned()),
        F::Replace => {
            let of = |i: usize| {
                let (x, what, by) = (all[0].text(i)?, all[1].text(i)?, all[2].text(i)?);
                Some(if what.is_empty() { x.to_owned() } else { x.replace(what, by) })
            };
            SqlColumn::Text((0..n).map(of).collect())
        }
        F::Substring | F::Left | F::Right => {
            let (x, a) = (texts(0), numbers(1));
            let length = |i: usize| match all.get(2) {
                Some(SqlColumn::Number(values)) => value(values, i),
                _ => Some(f64::INFINITY),
            };
            let of = |i: usize| {
                let (x, a) = (value(&x, i)?, value(&a, i)?);
                let (skip, most) = match function {
                    F::Left => (0.0, a),
                    F::Right => ((x.chars().count() as f64 - a).max(0.0), a),
                    _ => (a - 1.0, length(i)?),
                };
                let most = if most.is_finite() { most as usize } else { usize::MAX };
                Some(x.chars().skip(skip as usize).take(most).collect::<String>())
            };
            SqlColumn::Text((0..n).map(of).collect())
        }
    }
}

/// Rounded half away from zero at a place after the point; before it if the place is negative.
fn round(x: f64, digits: f64) -> f64 {
    let scale = libm::pow(10.0, digits.abs());
    let rounded =
        if digits < 0.0 { (x / scale).round() * scale } else { (x * scale).round() / scale };
    if rounded.is_finite() { rounded } else { x }
}

/// What Unicode calls a space.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Whether a text matches a pattern in which `%` matches any text and `_` one character.
fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut t, mut p) = (0, 0);
    // Where to continue when the last `%` takes one character more.
    let mut again: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('%') => {
                again = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == '_' || c == text[t] => (t, p) = (t + 1, p + 1),
            _ => match again {
                Some((after, from)) => {
                    (t, p) = (from + 1, after);
                    again = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '%')
}

/// Year, month and day of a text such as `2026-11-20` or `2026-11-20T08:00:00`.
fn date(text: &str) -> Option<(i32, i32, i32)> {
    let day = text.get(..10)?;
    let rest = &text[10..];
    if !(rest.is_empty() || rest.starts_with(['T', ' '])) {
        return None;
    }
    let mut parts = day.split('-').map(|part| {
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i32>().ok()).flatten()
    });
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    Some((year, month, day)).filter(|day| is_day(*day))
}

/// Days since the first of March of the year 0, by the civil calendar.
fn day_number((year, month, day): (i32, i32, i32)) -> i32 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}
