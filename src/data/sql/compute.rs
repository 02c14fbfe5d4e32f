//! Computes an expression, column by column.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

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

/// The values of some rows; `None` is missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlColumn<'a> {
    Number(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<Cow<'a, str>>>),
    /// So many missing values.
    Null(usize),
}

impl<'a> SqlColumn<'a> {
    /// The values of a column of the source; `row` is the number of its first row.
    ///
    /// # Errors
    /// An integer beyond 2^53, with its position among the values.
    pub(crate) fn of(
        column: &SourceColumn,
        values: &'a SourceValues,
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
                SqlColumn::Number(a.iter().map(|x| x.map(|x| x as f64)).collect())
            }
            SourceValues::Float(a) => SqlColumn::Number(a.iter().collect()),
            SourceValues::Bool(a) => SqlColumn::Bool(a.iter().collect()),
            SourceValues::Text(a) => {
                SqlColumn::Text(a.iter().map(|x| x.map(Cow::Borrowed)).collect())
            }
            SourceValues::Named(a) => {
                SqlColumn::Text(a.iter().map(|x| x.map(Cow::Borrowed)).collect())
            }
            SourceValues::Empty(n) => SqlColumn::Null(*n),
        })
    }

    /// The values of codes, each the position of a level; other codes are missing, and so is the
    /// level for missing values.
    pub(crate) fn of_levels(
        levels: &'a [String],
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
                SqlColumn::Text(codes.map(|code| word(code).map(Cow::Borrowed)).collect())
            }
            ValueClass::Empty => SqlColumn::Null(codes.count()),
        }
    }

    /// The values as those of a column.
    pub(crate) fn into_source(self) -> SourceValues {
        match self {
            SqlColumn::Number(values) => SourceValues::Float(values.into()),
            SqlColumn::Bool(values) => SourceValues::Bool(values.into()),
            SqlColumn::Text(values) => SourceValues::Text(values.into_iter().collect()),
            SqlColumn::Null(n) => SourceValues::Empty(n),
        }
    }

    pub(super) fn into_owned(self) -> SqlColumn<'static> {
        match self {
            SqlColumn::Number(values) => SqlColumn::Number(values),
            SqlColumn::Bool(values) => SqlColumn::Bool(values),
            SqlColumn::Text(values) => SqlColumn::Text(
                values.into_iter().map(|x| x.map(|x| Cow::Owned(x.into_owned()))).collect(),
            ),
            SqlColumn::Null(n) => SqlColumn::Null(n),
        }
    }

    fn numbers(self) -> Vec<Option<f64>> {
        match self {
            SqlColumn::Number(values) => values,
            other => vec![None; other.len()],
        }
    }

    fn bools(self) -> Vec<Option<bool>> {
        match self {
            SqlColumn::Bool(values) => values,
            other => vec![None; other.len()],
        }
    }

    fn texts(self) -> Vec<Option<Cow<'a, str>>> {
        match self {
            SqlColumn::Text(values) => values,
            other => vec![None; other.len()],
        }
    }

    fn len(&self) -> usize {
        match self {
            SqlColumn::Number(values) => values.len(),
            SqlColumn::Bool(values) => values.len(),
            SqlColumn::Text(values) => values.len(),
            SqlColumn::Null(n) => *n,
        }
    }

    /// The text in a row.
    pub(super) fn text(&self, i: usize) -> Option<&str> {
        match self {
            SqlColumn::Text(values) => values[i].as_deref(),
            _ => None,
        }
    }

    /// The bytes of all texts.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            SqlColumn::Text(values) => values.iter().flatten().map(|text| text.len()).sum(),
            _ => 0,
        }
    }

    /// Makes the text in a row missing.
    fn clear_text(&mut self, i: usize) {
        if let SqlColumn::Text(values) = self {
            values[i] = None;
        }
    }

    /// The values of some rows.
    pub(super) fn rows(&self, rows: Range<usize>) -> SqlColumn<'_> {
        match self {
            SqlColumn::Number(values) => SqlColumn::Number(values[rows].to_vec()),
            SqlColumn::Bool(values) => SqlColumn::Bool(values[rows].to_vec()),
            SqlColumn::Text(values) => {
                let texts = values[rows].iter().map(|x| x.as_deref().map(Cow::Borrowed));
                SqlColumn::Text(texts.collect())
            }
            SqlColumn::Null(_) => SqlColumn::Null(rows.len()),
        }
    }

    /// Appends the values of other rows of the same column.
    pub(super) fn append(&mut self, other: SqlColumn<'a>) {
        match (self, other) {
            (SqlColumn::Number(all), SqlColumn::Number(more)) => all.extend(more),
            (SqlColumn::Bool(all), SqlColumn::Bool(more)) => all.extend(more),
            (SqlColumn::Text(all), SqlColumn::Text(more)) => all.extend(more),
            (SqlColumn::Null(all), more) => *all += more.len(),
            // The type of a part of an expression does not depend on the rows.
            _ => {}
        }
    }

    fn is_null(&self, i: usize) -> bool {
        match self {
            SqlColumn::Number(values) => values[i].is_none(),
            SqlColumn::Bool(values) => values[i].is_none(),
            SqlColumn::Text(values) => values[i].is_none(),
            SqlColumn::Null(_) => true,
        }
    }

    /// How two values stand to each other; `None` where one is missing.
    fn compare(&self, i: usize, other: &SqlColumn<'_>) -> Option<Ordering> {
        match (self, other) {
            (SqlColumn::Number(a), SqlColumn::Number(b)) => Some(order(a[i]?, b[i]?)),
            (SqlColumn::Bool(a), SqlColumn::Bool(b)) => Some(a[i]?.cmp(&b[i]?)),
            (SqlColumn::Text(a), SqlColumn::Text(b)) => {
                Some(a[i].as_deref()?.cmp(b[i].as_deref()?))
            }
            _ => None,
        }
    }

    /// In each row the value of the column that `choice` names.
    fn chosen(columns: Vec<SqlColumn<'a>>, choice: &[Option<usize>]) -> SqlColumn<'a> {
        fn pick<T: Clone>(columns: &[Vec<Option<T>>], choice: &[Option<usize>]) -> Vec<Option<T>> {
            choice.iter().enumerate().map(|(i, of)| columns[(*of)?][i].clone()).collect()
        }
        let typed = columns.iter().find(|column| !matches!(column, SqlColumn::Null(_)));
        match typed {
            None => SqlColumn::Null(choice.len()),
            Some(SqlColumn::Number(_)) => {
                let all: Vec<_> = columns.into_iter().map(SqlColumn::numbers).collect();
                SqlColumn::Number(pick(&all, choice))
            }
            Some(SqlColumn::Bool(_)) => {
                let all: Vec<_> = columns.into_iter().map(SqlColumn::bools).collect();
                SqlColumn::Bool(pick(&all, choice))
            }
            Some(_) => {
                let all: Vec<_> = columns.into_iter().map(SqlColumn::texts).collect();
                SqlColumn::Text(pick(&all, choice))
            }
        }
    }
}

/// The order of numbers; no number equals itself and is above all others.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl SqlProgram {
    pub(super) fn compute_node<'a>(
        &self,
        node: &'a SqlNode,
        columns: &'a [SqlColumn<'_>],
        rows: &Range<usize>,
        long: &mut Option<LongText>,
    ) -> SqlColumn<'a> {
        let n = rows.len();
        let (function, arguments) = match &node.kind {
            SqlKind::Column(position) => {
                let column = columns.get(*position);
                return column.map_or(SqlColumn::Null(n), |column| column.rows(rows.clone()));
            }
            SqlKind::Number(x) => return SqlColumn::Number(vec![Some(*x); n]),
            SqlKind::Text(text) => return SqlColumn::Text(vec![Some(Cow::Borrowed(text)); n]),
            SqlKind::Bool(value) => return SqlColumn::Bool(vec![Some(*value); n]),
            SqlKind::Null => return SqlColumn::Null(n),
            SqlKind::Call(function, arguments) => (*function, arguments),
        };
        let mut all: Vec<SqlColumn<'a>> =
            arguments.iter().map(|of| self.compute_node(of, columns, rows, long)).collect();
        let too_long = long_texts(function, node.at, &all, n);
        for text in &too_long {
            all.iter_mut().for_each(|column| column.clear_text(text.row));
        }
        let mut values = call(function, all, n);
        too_long.iter().for_each(|text| values.clear_text(text.row));
        *long = long.take().or_else(|| too_long.first().copied());
        values
    }
}

fn call<'a>(function: SqlFunction, mut all: Vec<SqlColumn<'a>>, n: usize) -> SqlColumn<'a> {
    use SqlFunction as F;
    let compared = |is: fn(Ordering) -> bool| {
        SqlColumn::Bool((0..n).map(|i| all[0].compare(i, &all[1]).map(is)).collect())
    };
    // Missing values are equal here.
    let same = |i: usize| match (all[0].is_null(i), all[1].is_null(i)) {
        (false, false) => all[0].compare(i, &all[1]) == Some(Ordering::Equal),
        (a, b) => a && b,
    };
    let is = |wanted: bool, expected: bool| match &all[0] {
        SqlColumn::Bool(values) => {
            SqlColumn::Bool(values.iter().map(|x| Some((*x == Some(wanted)) == expected)).collect())
        }
        _ => SqlColumn::Bool(vec![Some(!expected); n]),
    };
    match function {
        F::Equal => return compared(Ordering::is_eq),
        F::NotEqual => return compared(Ordering::is_ne),
        F::Less => return compared(Ordering::is_lt),
        F::LessOrEqual => return compared(Ordering::is_le),
        F::Greater => return compared(Ordering::is_gt),
        F::GreaterOrEqual => return compared(Ordering::is_ge),
        F::Distinct => return SqlColumn::Bool((0..n).map(|i| Some(!same(i))).collect()),
        F::NotDistinct => return SqlColumn::Bool((0..n).map(|i| Some(same(i))).collect()),
        F::IsNull => return SqlColumn::Bool((0..n).map(|i| Some(all[0].is_null(i))).collect()),
        F::IsNotNull => return SqlColumn::Bool((0..n).map(|i| Some(!all[0].is_null(i))).collect()),
        F::IsTrue => return is(true, true),
        F::IsNotTrue => return is(true, false),
        F::IsFalse => return is(false, true),
        F::IsNotFalse => return is(false, false),
        F::Coalesce => {
            let choice: Vec<Option<usize>> =
                (0..n).map(|i| (0..all.len()).find(|&k| !all[k].is_null(i))).collect();
            return SqlColumn::chosen(all, &choice);
        }
        F::NullIf => {
            let choice: Vec<Option<usize>> = (0..n)
                .map(|i| (all[0].compare(i, &all[1]) != Some(Ordering::Equal)).then_some(0))
                .collect();
            return SqlColumn::chosen(all, &choice);
        }
        F::Greatest | F::Least => {
            let wanted = if function == F::Greatest { Ordering::Greater } else { Ordering::Less };
            let best = |i: usize| {
                (0..all.len()).filter(|&k| !all[k].is_null(i)).reduce(|best, k| {
                    let mine = match (&all[k], &all[best]) {
                        (SqlColumn::Number(a), SqlColumn::Number(b)) => {
                            order(a[i].unwrap_or(f64::NAN), b[i].unwrap_or(f64::NAN))
                        }
                        (a, b) => a.compare(i, b).unwrap_or(Ordering::Equal),
                    };
                    if mine == wanted { k } else { best }
                })
            };
            let choice: Vec<Option<usize>> = (0..n).map(best).collect();
            return SqlColumn::chosen(all, &choice);
        }
        F::Case => return case(all, n),
        _ => {}
    }
    let mut take = || if all.is_empty() { SqlColumn::Null(n) } else { all.remove(0) };
    let unary = |x: SqlColumn<'a>, of: fn(f64) -> f64| {
        SqlColumn::Number(x.numbers().into_iter().map(|x| x.map(of)).collect())
    };
    match function {
        F::Add => binary(take(), take(), |a, b| a + b),
        F::Subtract => binary(take(), take(), |a, b| a - b),
        F::Multiply => binary(take(), take(), |a, b| a * b),
        F::Divide => binary(take(), take(), |a, b| a / b),
        F::Remainder => binary(take(), take(), |a, b| a % b),
        F::Power => binary(take(), take(), libm::pow),
        F::Negate => unary(take(), |x| -x),
        F::Abs => unary(take(), f64::abs),
        F::Ceil => unary(take(), f64::ceil),
        F::Floor => unary(take(), f64::floor),
        F::Sign => unary(take(), |x| if x == 0.0 || x.is_nan() { 0.0 } else { x.signum() }),
        F::Sqrt => unary(take(), f64::sqrt),
        F::Exp => unary(take(), libm::exp),
        F::Ln => unary(take(), libm::log),
        F::Log2 => unary(take(), libm::log2),
        F::Log10 => unary(take(), libm::log10),
        F::Round => {
            let x = take();
            match take() {
                SqlColumn::Number(digits) => binary(x, SqlColumn::Number(digits), round),
                _ => unary(x, f64::round),
            }
        }
        F::Not => SqlColumn::Bool(take().bools().into_iter().map(|x| x.map(|x| !x)).collect()),
        F::And | F::Or => {
            let decides = function == F::Or;
            let sides: Vec<Vec<Option<bool>>> = all.into_iter().map(SqlColumn::bools).collect();
            let of = |i: usize| {
                let mut missing = false;
                for side in &sides {
                    match side[i] {
                        Some(value) if value == decides => return Some(decides),
                        Some(_) => {}
                        None => missing = true,
                    }
                }
                (!missing).then_some(!decides)
            };
            SqlColumn::Bool((0..n).map(of).collect())
        }
        F::TryNumber => {
            SqlColumn::Number(take().texts().iter().map(|x| parse_number(x.as_deref()?)).collect())
        }
        F::Length => SqlColumn::Number(
            take().texts().iter().map(|x| Some(x.as_deref()?.chars().count() as f64)).collect(),
        ),
        F::Year => dates(take(), |date| f64::from(date.0)),
        F::Month => dates(take(), |date| f64::from(date.1)),
        F::Day => dates(take(), |date| f64::from(date.2)),
        F::DateDiff => {
            let (unit, from, to) = (take().texts(), take().texts(), take().texts());
            let of = |i: usize| {
                let (a, b) = (date(from[i].as_deref()?)?, date(to[i].as_deref()?)?);
                let months = |d: (i32, i32, i32)| f64::from(d.0 * 12 + d.1);
                Some(match unit[i].as_deref()?.to_lowercase().as_str() {
                    "year" => f64::from(b.0 - a.0),
                    "month" => months(b) - months(a),
                    _ => f64::from(day_number(b) - day_number(a)),
                })
            };
            SqlColumn::Number((0..n).map(of).collect())
        }
        F::Concat => {
            let parts: Vec<_> = all.into_iter().map(SqlColumn::texts).collect();
            let of = |i: usize| {
                Some(Cow::Owned(parts.iter().filter_map(|part| part[i].as_deref()).collect()))
            };
            SqlColumn::Text((0..n).map(of).collect())
        }
        F::ConcatOperator => {
            let (a, b) = (take().texts(), take().texts());
            let of =
                |i: usize| Some(Cow::Owned(format!("{}{}", a[i].as_deref()?, b[i].as_deref()?)));
            SqlColumn::Text((0..n).map(of).collect())
        }
        F::StartsWith => tests(take(), take(), |a, b| a.starts_with(b)),
        F::EndsWith => tests(take(), take(), |a, b| a.ends_with(b)),
        F::Contains => tests(take(), take(), |a, b| a.contains(b)),
        F::Like => tests(take(), take(), is_like),
        F::ILike => tests(take(), take(), |a, b| is_like(&a.to_lowercase(), &b.to_lowercase())),
        F::Lower => spelt(take(), str::to_lowercase),
        F::Upper => spelt(take(), str::to_uppercase),
        F::Trim => spelt(take(), |x| x.trim_matches(is_blank).to_owned()),
        F::LeftTrim => spelt(take(), |x| x.trim_start_matches(is_blank).to_owned()),
        F::RightTrim => spelt(take(), |x| x.trim_end_matches(is_blank).to_owned()),
        F::Replace => {
            let (x, what, by) = (take().texts(), take().texts(), take().texts());
            let of = |i: usize| {
                let (x, what, by) = (x[i].as_deref()?, what[i].as_deref()?, by[i].as_deref()?);
                let text = if what.is_empty() { x.to_owned() } else { x.replace(what, by) };
                Some(Cow::Owned(text))
            };
            SqlColumn::Text((0..n).map(of).collect())
        }
        F::Substring | F::Left | F::Right => {
            let (x, a, b) = (take().texts(), take().numbers(), take());
            let length = match b {
                SqlColumn::Number(values) => values,
                _ => vec![Some(f64::INFINITY); n],
            };
            let of = |i: usize| {
                let (x, a) = (x[i].as_deref()?, a[i]?);
                let (skip, most) = match function {
                    F::Left => (0.0, a),
                    F::Right => ((x.chars().count() as f64 - a).max(0.0), a),
                    _ => (a - 1.0, length[i]?),
                };
                let most = if most.is_finite() { most as usize } else { usize::MAX };
                Some(Cow::Owned(x.chars().skip(skip as usize).take(most).collect()))
            };
            SqlColumn::Text((0..n).map(of).collect())
        }
        _ => SqlColumn::Null(n),
    }
}

/// Conditions and values in turn, and what else there is.
fn case(all: Vec<SqlColumn<'_>>, n: usize) -> SqlColumn<'_> {
    let otherwise = (all.len() % 2 == 1).then_some(all.len() / 2);
    let (mut conditions, mut values) = (Vec::new(), Vec::new());
    let last = all.len() / 2;
    for (k, column) in all.into_iter().enumerate() {
        if k % 2 == 0 && k / 2 < last {
            conditions.push(column.bools());
        } else {
            values.push(column);
        }
    }
    let choice: Vec<Option<usize>> = (0..n)
        .map(|i| conditions.iter().position(|of| of[i] == Some(true)).or(otherwise))
        .collect();
    SqlColumn::chosen(values, &choice)
}

fn binary<'a>(a: SqlColumn<'a>, b: SqlColumn<'a>, of: fn(f64, f64) -> f64) -> SqlColumn<'a> {
    let values = a.numbers().into_iter().zip(b.numbers());
    SqlColumn::Number(values.map(|(a, b)| Some(of(a?, b?))).collect())
}

fn tests<'a>(a: SqlColumn<'a>, b: SqlColumn<'a>, of: fn(&str, &str) -> bool) -> SqlColumn<'a> {
    let values = a.texts().into_iter().zip(b.texts());
    SqlColumn::Bool(values.map(|(a, b)| Some(of(&a?, &b?))).collect())
}

fn spelt<'a>(x: SqlColumn<'a>, of: fn(&str) -> String) -> SqlColumn<'a> {
    SqlColumn::Text(x.texts().into_iter().map(|x| x.map(|x| Cow::Owned(of(&x)))).collect())
}

fn dates<'a>(x: SqlColumn<'a>, of: fn((i32, i32, i32)) -> f64) -> SqlColumn<'a> {
    SqlColumn::Number(x.texts().iter().map(|x| Some(of(date(x.as_deref()?)?))).collect())
}

/// Rounded half away from zero at a place behind the point; before it where that is negative.
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
    // Where to go on when the last `%` takes one character more.
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
