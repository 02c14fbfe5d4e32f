//! Computes an expression, column by column.
//!
//! Columns are arrays of Arrow of four types: Float64, Boolean, Utf8View (whose bytes are not
//! copied) and Null, of which nothing but missing values is known and which fits every other type.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, Datum, Float64Array, NullArray,
    StringViewArray, UInt32Array, new_null_array,
};
use arrow::compute::kernels::cmp;
use arrow::compute::{and_kleene, binary, interleave, is_null, not, or_kleene, take};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use chrono::{Datelike, NaiveDate};

use crate::data::MISSING_LEVEL;
use crate::data::column::declared::day;
use crate::data::source::SourceColumn;
use crate::data::sql::EXACT_INTEGER;
use crate::data::sql::function::SqlFunction;
use crate::data::sql::length::{LongText, long_texts, text};
use crate::data::sql::parse::{SqlKind, SqlNode};
use crate::data::sql::program::SqlProgram;
use crate::data::values::{SourceValues, ValueClass, parse_number};
use crate::error::Fault;

/// What Arrow gives for two columns.
type TruthResult = Result<BooleanArray, ArrowError>;

/// The value in a row; `None` where it is missing.
fn value<A: ArrayAccessor>(values: A, i: usize) -> Option<A::Item> {
    values.is_valid(i).then(|| values.value(i))
}

/// The texts at these positions of a list.
fn listed<'t>(list: impl Iterator<Item = &'t str>, positions: &UInt32Array) -> ArrayRef {
    let list = StringViewArray::from_iter_values(list);
    // Every position is one of the list.
    take(&list, positions, None).unwrap_or_else(|_| missing(positions.len()))
}

/// As many missing values as given.
pub(crate) fn missing(n: usize) -> ArrayRef {
    Arc::new(NullArray::new(n))
}

/// The values of a column of the source.
///
/// # Errors
/// An integer beyond 2^53, with its position among the values.
pub(crate) fn column_of(
    column: &SourceColumn,
    values: &SourceValues,
) -> Result<ArrayRef, (Box<Fault>, usize)> {
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
            Arc::new(a.unary::<_, Float64Type>(|x| x as f64))
        }
        SourceValues::Float(a) => Arc::new(a.clone()),
        SourceValues::Bool(a) => Arc::new(a.clone()),
        SourceValues::Text(a) => Arc::new(StringViewArray::from(a)),
        SourceValues::Named(a) => {
            let positions = a.ids.iter().map(|id| id.checked_sub(1)).collect();
            listed(a.names.iter().map(String::as_str), &positions)
        }
        SourceValues::Empty(n) => missing(*n),
    })
}

/// The values of codes, each the position of a level; other codes, and the level for missing
/// values, are missing.
pub(crate) fn column_of_levels(
    levels: &[String],
    class: ValueClass,
    codes: impl Iterator<Item = u32>,
) -> ArrayRef {
    let word = |code: u32| {
        levels.get(code as usize).map(String::as_str).filter(|word| *word != MISSING_LEVEL)
    };
    match class {
        ValueClass::Int | ValueClass::Float => {
            let number = |code| parse_number(word(code)?);
            Arc::new(codes.map(number).collect::<Float64Array>())
        }
        ValueClass::Bool => {
            let truth = |code| Some(word(code)? == "true");
            Arc::new(codes.map(truth).collect::<BooleanArray>())
        }
        ValueClass::Text => {
            let positions = codes.map(|code| word(code).map(|_| code)).collect();
            listed(levels.iter().map(String::as_str), &positions)
        }
        ValueClass::Empty => missing(codes.count()),
    }
}

/// The values of a column as those of the source.
pub(crate) fn source_values(column: &ArrayRef) -> SourceValues {
    // The texts of an expression are short enough for one array.
    SourceValues::new(column).unwrap_or(SourceValues::Empty(column.len()))
}

/// The values without the texts that are too long.
fn without(column: ArrayRef, long: &[LongText]) -> ArrayRef {
    let Some(texts) = column.as_string_view_opt().filter(|_| !long.is_empty()) else {
        return column;
    };
    let is_kept = |i: usize| long.iter().all(|text| text.row != i);
    let kept = texts.iter().enumerate().map(|(i, x)| x.filter(|_| is_kept(i)));
    Arc::new(kept.collect::<StringViewArray>())
}

/// The columns in the type that they have in common.
fn alike(columns: &[ArrayRef]) -> Vec<ArrayRef> {
    let known = columns.iter().map(|of| of.data_type()).find(|of| **of != DataType::Null);
    let typed = |of: &ArrayRef| match known {
        Some(known) if *of.data_type() == DataType::Null => new_null_array(known, of.len()),
        _ => Arc::clone(of),
    };
    columns.iter().map(typed).collect()
}

/// In each of `n` rows the value of the column that `choice` names.
fn chosen(columns: &[ArrayRef], n: usize, choice: impl Fn(usize) -> Option<usize>) -> ArrayRef {
    let mut columns = alike(columns);
    let none = columns.len();
    columns.extend(columns.first().map(|of| new_null_array(of.data_type(), 1)));
    let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let at = |i: usize| choice(i).map_or((none, 0), |k| (k, i));
    interleave(&columns, &(0..n).map(at).collect::<Vec<_>>()).unwrap_or_else(|_| missing(n))
}

/// Compares two columns. Numbers are compared in one form: no number equals itself and is above all
/// others, and a zero has no sign.
fn compared(how: fn(&dyn Datum, &dyn Datum) -> TruthResult, columns: &[ArrayRef]) -> BooleanArray {
    let form = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 };
    let in_form = |of: ArrayRef| match of.as_primitive_opt::<Float64Type>() {
        Some(numbers) => Arc::new(numbers.unary::<_, Float64Type>(form)),
        None => of,
    };
    let columns: Vec<ArrayRef> = alike(columns).into_iter().map(in_form).collect();
    let n = columns[0].len();
    how(&columns[0], &columns[1]).unwrap_or_else(|_| BooleanArray::new_null(n))
}

impl SqlProgram {
    pub(super) fn compute_node(
        &self,
        node: &SqlNode,
        columns: &[ArrayRef],
        rows: &Range<usize>,
        long: &mut Option<LongText>,
    ) -> ArrayRef {
        let n = rows.len();
        let (function, arguments) = match &node.kind {
            SqlKind::Column(position) => {
                let column = columns.get(*position).map(|column| column.slice(rows.start, n));
                return column.unwrap_or_else(|| missing(n));
            }
            SqlKind::Number(x) => return Arc::new(Float64Array::from_value(*x, n)),
            SqlKind::Text(text) => {
                return listed([text.as_str()].into_iter(), &UInt32Array::from_value(0, n));
            }
            SqlKind::Bool(value) => return Arc::new(BooleanArray::from(vec![*value; n])),
            SqlKind::Null => return missing(n),
            SqlKind::Call(function, arguments) => (*function, arguments),
        };
        let all = arguments.iter().map(|of| self.compute_node(of, columns, rows, long));
        let all: Vec<ArrayRef> = all.collect();
        let too_long = long_texts(function, node.at, &all, n);
        let all: Vec<ArrayRef> = all.into_iter().map(|of| without(of, &too_long)).collect();
        *long = long.take().or_else(|| too_long.first().copied());
        without(call(function, &all, n), &too_long)
    }
}

fn call(function: SqlFunction, all: &[ArrayRef], n: usize) -> ArrayRef {
    use SqlFunction as F;
    let numbers = |k: usize| {
        let column = all.get(k).and_then(|of| of.as_primitive_opt::<Float64Type>());
        column.cloned().unwrap_or_else(|| Float64Array::new_null(n))
    };
    let bools = |k: usize| {
        let column = all.get(k).and_then(|of| of.as_boolean_opt());
        column.cloned().unwrap_or_else(|| BooleanArray::new_null(n))
    };
    let number_of = |of: &dyn Fn(usize) -> Option<f64>| -> ArrayRef {
        Arc::new((0..n).map(of).collect::<Float64Array>())
    };
    let text_of = |of: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
        Arc::new((0..n).map(of).collect::<StringViewArray>())
    };
    let truths =
        |of: TruthResult| -> ArrayRef { of.map_or_else(|_| missing(n), |of| Arc::new(of)) };
    let is = |wanted: bool| -> ArrayRef {
        let truth = |x: Option<bool>| Some(x == Some(wanted));
        Arc::new(bools(0).iter().map(truth).collect::<BooleanArray>())
    };
    let by = |how| truths(Ok(compared(how, all)));
    let unary =
        |of: fn(f64) -> f64| -> ArrayRef { Arc::new(numbers(0).unary::<_, Float64Type>(of)) };
    let paired = |of: fn(f64, f64) -> f64| -> ArrayRef {
        let values = binary::<_, _, _, Float64Type>(&numbers(0), &numbers(1), of);
        Arc::new(values.unwrap_or_else(|_| Float64Array::new_null(n)))
    };
    let both = |kleene: fn(&BooleanArray, &BooleanArray) -> TruthResult| {
        let sides = (0..all.len()).map(bools);
        let joined = sides.reduce(|a, b| kleene(&a, &b).unwrap_or(a));
        truths(joined.ok_or(ArrowError::DivideByZero))
    };
    let tests = |of: fn(&str, &str) -> bool| {
        let test = |i: usize| Some(of(text(&all[0], i)?, text(&all[1], i)?));
        truths(Ok((0..n).map(test).collect()))
    };
    let spelt = |of: fn(&str) -> String| text_of(&|i| text(&all[0], i).map(of));
    let measured = |of: fn(&str) -> Option<f64>| number_of(&|i| of(text(&all[0], i)?));
    match function {
        F::Equal => by(cmp::eq),
        F::NotEqual => by(cmp::neq),
        F::Less => by(cmp::lt),
        F::LessOrEqual => by(cmp::lt_eq),
        F::Greater => by(cmp::gt),
        F::GreaterOrEqual => by(cmp::gt_eq),
        F::Distinct => by(cmp::distinct),
        F::IsNull => truths(is_null(&all[0])),
        F::IsTrue => is(true),
        F::IsFalse => is(false),
        F::Coalesce => {
            let all = alike(all);
            chosen(&all, n, |i| (0..all.len()).find(|&k| all[k].is_valid(i)))
        }
        F::NullIf => {
            let same = compared(cmp::not_distinct, all);
            chosen(all, n, |i| (!same.value(i)).then_some(0))
        }
        F::Greatest | F::Least => {
            let better = if function == F::Greatest { cmp::gt } else { cmp::lt };
            let pick = |best: ArrayRef, next: ArrayRef| {
                let two = [next, best];
                let wins = compared(better, &two);
                let takes = |i| two[0].is_valid(i) && (two[1].is_null(i) || wins.value(i));
                chosen(&two, n, |i| Some(usize::from(!takes(i))))
            };
            alike(all).into_iter().reduce(pick).unwrap_or_else(|| missing(n))
        }
        F::Case => {
            // Conditions and values in turn, and the value of `ELSE` if there is one.
            let (n_cases, otherwise) = (all.len() / 2, all.len() % 2 == 1);
            let conditions: Vec<BooleanArray> = (0..n_cases).map(|k| bools(2 * k)).collect();
            let values = (0..n_cases).map(|k| all[2 * k + 1].clone());
            let values: Vec<_> = values.chain(all.last().filter(|_| otherwise).cloned()).collect();
            chosen(&values, n, |i| {
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
        F::Round if all.get(1).is_some_and(|of| *of.data_type() == DataType::Float64) => {
            paired(round)
        }
        F::Round => unary(f64::round),
        F::Not => truths(not(&bools(0))),
        F::And => both(and_kleene),
        F::Or => both(or_kleene),
        F::TryNumber => measured(parse_number),
        F::Length => measured(|x| Some(x.chars().count() as f64)),
        F::Year => measured(|x| Some(f64::from(date(x)?.year()))),
        F::Month => measured(|x| Some(f64::from(date(x)?.month()))),
        F::Day => measured(|x| Some(f64::from(date(x)?.day()))),
        F::DateDiff => number_of(&|i| {
            let (a, b) = (date(text(&all[1], i)?)?, date(text(&all[2], i)?)?);
            let months = |day: NaiveDate| day.year() * 12 + day.month0().cast_signed();
            Some(f64::from(match text(&all[0], i)?.to_lowercase().as_str() {
                "year" => b.year() - a.year(),
                "month" => months(b) - months(a),
                _ => b.num_days_from_ce() - a.num_days_from_ce(),
            }))
        }),
        F::Concat => text_of(&|i| Some(all.iter().filter_map(|part| text(part, i)).collect())),
        F::ConcatOperator => {
            text_of(&|i| Some(format!("{}{}", text(&all[0], i)?, text(&all[1], i)?)))
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
        F::Replace => text_of(&|i| {
            let (x, what, by) = (text(&all[0], i)?, text(&all[1], i)?, text(&all[2], i)?);
            Some(if what.is_empty() { x.to_owned() } else { x.replace(what, by) })
        }),
        F::Substring | F::Left | F::Right => {
            let (from, length) = (numbers(1), all.get(2).map(|_| numbers(2)));
            text_of(&|i| {
                let (x, a) = (text(&all[0], i)?, value(&from, i)?);
                let (skip, most) = match function {
                    F::Left => (0.0, a),
                    F::Right => ((x.chars().count() as f64 - a).max(0.0), a),
                    _ => (a - 1.0, length.as_ref().map_or(Some(f64::INFINITY), |of| value(of, i))?),
                };
                let most = if most.is_finite() { most as usize } else { usize::MAX };
                Some(x.chars().skip(skip as usize).take(most).collect())
            })
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

/// The day of a text such as `2026-11-20` or `2026-11-20T08:00:00`.
fn date(text: &str) -> Option<NaiveDate> {
    let (date, rest) = text.split_at_checked(10)?;
    if !(rest.is_empty() || rest.starts_with(['T', ' '])) {
        return None;
    }
    let mut parts = date.split('-');
    day(parts.next()?, parts.next()?, parts.next()?)
}
