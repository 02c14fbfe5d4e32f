//! An expression that fits the types of its columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use arrow::datatypes::Float64Type;

use crate::data::sql::function::{FUNCTIONS, SqlFunction, signature_of};
use crate::data::sql::length::{LongText, TEXTS_AT_ONCE, text_bytes};
use crate::data::sql::parse::{SqlKind, SqlNode, parse};
use crate::data::sql::{SqlPlace, SqlProblem, missing};
use crate::data::values::ValueClass;
use crate::param::ColumnName;

/// The type of the values of a column in an expression: numbers are floats, and what holds nothing
/// but missing values fits every type.
fn computed(class: ValueClass) -> ValueClass {
    if class == ValueClass::Int { ValueClass::Float } else { class }
}

fn in_words(class: ValueClass) -> &'static str {
    match class {
        ValueClass::Int | ValueClass::Float => "a number",
        ValueClass::Bool => "a truth value",
        ValueClass::Text => "a text",
        ValueClass::Empty => "nothing",
    }
}

fn common(one: ValueClass, other: ValueClass) -> Option<ValueClass> {
    match (one, other) {
        (ValueClass::Empty, class) | (class, ValueClass::Empty) => Some(class),
        (a, b) => (a == b).then_some(a),
    }
}

/// An expression whose types fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SqlProgram {
    pub(super) columns: Vec<ColumnName>,
    pub(super) root: SqlNode,
    /// The type of its values.
    pub(crate) gives: ValueClass,
}

impl SqlProgram {
    /// The expression for columns of these classes, in the order in which it names them.
    ///
    /// # Errors
    /// It is none, or an operation does not fit the types.
    pub(crate) fn new(sql: &str, classes: &[ValueClass]) -> Result<Self, SqlProblem> {
        let tree = parse(sql)?;
        let types: Vec<ValueClass> = classes.iter().copied().map(computed).collect();
        let gives = type_of(&tree.root, &types)?;
        Ok(SqlProgram { columns: tree.columns, root: tree.root, gives })
    }

    /// Its values for `n` rows.
    pub(crate) fn compute(&self, columns: &[ArrayRef], n: usize) -> ComputedColumn {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        let (mut not_finite, mut long): (Vec<u32>, Option<LongText>) = (Vec::new(), None);
        for first in (0..n.max(1)).step_by(ROWS_AT_ONCE) {
            let (rows, mut found) = (first..n.min(first + ROWS_AT_ONCE), None);
            let mut values = self.compute_node(&self.root, columns, &rows, &mut found);
            bytes += text_bytes(&values);
            if first > 0 && bytes > TEXTS_AT_ONCE {
                let at = self.root.at;
                long = long.or(Some(LongText { row: first, bytes, of_all: true, at }));
                break;
            }
            if let Some(numbers) = values.as_primitive_opt::<Float64Type>() {
                let is_lost = |(_, x): &(u32, Option<f64>)| x.is_some_and(|x| !x.is_finite());
                let start = u32::try_from(first).unwrap_or(u32::MAX);
                not_finite.extend((start..).zip(numbers).filter(is_lost).map(|(row, _)| row));
                let finite = |x| Some(x).filter(|x: &f64| x.is_finite());
                values = Arc::new(numbers.unary_opt::<_, Float64Type>(finite));
            }
            long = long.or(found.map(|text| LongText { row: first + text.row, ..text }));
            parts.push(values);
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        let values = concat(&parts).unwrap_or_else(|_| missing(n));
        ComputedColumn { values, not_finite, long }
    }
}

/// Rows that are computed at once: texts between two steps take at most 64 MiB for each part of an
/// expression.
const ROWS_AT_ONCE: usize = 1024;

/// What an expression gives for some rows.
#[derive(Debug, Clone)]
pub(crate) struct ComputedColumn {
    /// Its values.
    pub(crate) values: ArrayRef,
    /// The rows whose number is not finite, and therefore missing.
    pub(crate) not_finite: Vec<u32>,
    /// The first text that is too long, and therefore missing; where all are too long together, the
    /// values end there.
    pub(crate) long: Option<LongText>,
}

fn type_of(node: &SqlNode, columns: &[ValueClass]) -> Result<ValueClass, SqlProblem> {
    let (function, arguments) = match &node.kind {
        SqlKind::Column(position) => {
            return Ok(columns.get(*position).copied().unwrap_or(ValueClass::Empty));
        }
        SqlKind::Number(_) => return Ok(ValueClass::Float),
        SqlKind::Text(_) => return Ok(ValueClass::Text),
        SqlKind::Bool(_) => return Ok(ValueClass::Bool),
        SqlKind::Null => return Ok(ValueClass::Empty),
        SqlKind::Call(function, arguments) => (*function, arguments),
    };
    let types: Vec<ValueClass> =
        arguments.iter().map(|argument| type_of(argument, columns)).collect::<Result<_, _>>()?;
    let takes = |wanted: ValueClass, i: usize| wants(&arguments[i], wanted, types[i], function);
    let common = |positions: &mut dyn Iterator<Item = usize>| {
        let mut all = ValueClass::Empty;
        for i in positions {
            all = common(all, types[i]).ok_or_else(|| {
                let what = format!("{} and {} meet here", in_words(all), in_words(types[i]));
                SqlProblem::new(arguments[i].at, what, CONVERT)
            })?;
        }
        Ok::<ValueClass, SqlProblem>(all)
    };
    use SqlFunction as F;
    Ok(match function {
        F::Equal
        | F::NotEqual
        | F::Less
        | F::LessOrEqual
        | F::Greater
        | F::GreaterOrEqual
        | F::Distinct => {
            common(&mut (0..2))?;
            ValueClass::Bool
        }
        F::IsNull => ValueClass::Bool,
        F::Case => {
            let n = types.len();
            (0..n / 2).try_for_each(|i| takes(ValueClass::Bool, 2 * i))?;
            common(&mut (0..n / 2).map(|i| 2 * i + 1).chain((n % 2 == 1).then_some(n - 1)))?
        }
        _ => {
            let Some(signature) = signature_of(function) else {
                let what = format!("`{function:?}` has no signature");
                return Err(SqlProblem::new(node.at, what, "this is a bug in cfaudit"));
            };
            if signature.gives == ValueClass::Empty {
                return common(&mut (0..types.len()));
            }
            for i in 0..types.len() {
                takes(signature.takes[i.min(signature.takes.len() - 1)], i)?;
            }
            positions(function, arguments)?;
            signature.gives
        }
    })
}

const CONVERT: &str = "nothing is converted in silence: a text becomes a number by `TRY_CAST(x AS \
    DOUBLE)`, a truth value by `CASE WHEN x THEN 1 ELSE 0 END`; texts stand in \
    single quotes";

fn wants(
    argument: &SqlNode,
    wanted: ValueClass,
    found: ValueClass,
    function: SqlFunction,
) -> Result<(), SqlProblem> {
    if common(wanted, found).is_some() {
        return Ok(());
    }
    let name = FUNCTIONS.iter().find(|known| known.function == function).map(|known| known.name);
    let by = name.map_or_else(String::new, |name| format!(" by `{name}`"));
    let what = format!("{} stands where {} is wanted{by}", in_words(found), in_words(wanted));
    Err(SqlProblem::new(argument.at, what, CONVERT))
}

/// Positions, lengths, digits and units are written out: their permitted values are checked here.
fn positions(function: SqlFunction, arguments: &[SqlNode]) -> Result<(), SqlProblem> {
    let whole = |i: usize, least: f64, what: &str| -> Result<(), SqlProblem> {
        let Some(argument) = arguments.get(i) else { return Ok(()) };
        let value = match &argument.kind {
            SqlKind::Number(x) => Some(*x),
            SqlKind::Call(SqlFunction::Negate, inner) => match inner.first().map(|of| &of.kind) {
                Some(SqlKind::Number(x)) => Some(-x),
                _ => None,
            },
            _ => None,
        };
        match value.filter(|x| x.fract() == 0.0 && (least..=1000.0).contains(x)) {
            Some(_) => Ok(()),
            None => Err(SqlProblem::new(
                argument.at,
                format!("{what} must be written out, a whole number from {least} to 1000"),
                "write a number here",
            )),
        }
    };
    match function {
        SqlFunction::Substring => {
            whole(1, 1.0, "the position, counted from 1,")?;
            whole(2, 0.0, "the length")
        }
        SqlFunction::Left | SqlFunction::Right => whole(1, 0.0, "the length"),
        SqlFunction::Round => whole(1, -15.0, "the number of digits"),
        SqlFunction::DateDiff => {
            let unit = match arguments.first().map(|unit| &unit.kind) {
                Some(SqlKind::Text(unit)) => unit.to_lowercase(),
                _ => String::new(),
            };
            if ["day", "month", "year"].contains(&unit.as_str()) {
                return Ok(());
            }
            let at = arguments.first().map_or(SqlPlace::default(), |unit| unit.at);
            let hint = "write `DATE_DIFF('day', from, to)`";
            Err(SqlProblem::new(at, "the unit must be 'day', 'month' or 'year'", hint))
        }
        _ => Ok(()),
    }
}
