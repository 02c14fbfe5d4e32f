//! Reads an expression and walks its tree: what is not on the list is refused, with its place.

use sqlparser::ast::{
    BinaryOperator, CastKind, CeilFloorKind, DataType, DateTimeField, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart, Spanned, UnaryOperator, Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token};

use crate::data::source::list_words;
use crate::data::sql::function::{FUNCTIONS, OF_CHANCE, OF_ROWS, SqlFunction};
use crate::data::sql::{EXACT_INTEGER, SqlPlace, SqlProblem};
use crate::nearest::nearest;
use crate::param::ColumnName;

/// Longest expression, in bytes.
const MAX_BYTES: usize = 4000;

/// Deepest nesting.
const MAX_DEPTH: usize = 64;

/// Stack of the thread that reads an expression, in bytes: 16 KiB for each step of the deepest
/// tree.
const STACK: usize = 16 * 1024 * (MAX_BYTES / 2);

/// An expression whose every part looks at one row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SqlTree {
    /// The columns that it names, in the order in which they are named first.
    pub columns: Vec<ColumnName>,
    pub(super) root: SqlNode,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SqlNode {
    pub(super) at: SqlPlace,
    pub(super) kind: SqlKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum SqlKind {
    /// Position among the columns.
    Column(usize),
    Number(f64),
    Text(String),
    Bool(bool),
    Null,
    Call(SqlFunction, Vec<SqlNode>),
}

type Parsed<T> = Result<T, SqlProblem>;

/// Reads an expression.
///
/// # Errors
/// It is no SQL expression, or a part of it is not on the list.
pub(crate) fn parse(sql: &str) -> Parsed<SqlTree> {
    let start = SqlPlace { line: 1, column: 1 };
    if sql.trim().is_empty() {
        let hint = "write one expression, such as `debt / income`";
        return Err(SqlProblem::new(start, "the expression is empty", hint));
    }
    if sql.len() > MAX_BYTES {
        let what = format!("the expression has more than {MAX_BYTES} bytes");
        return Err(SqlProblem::new(start, what, "derive parts of it as columns of their own"));
    }
    // The parser's tree of `1 + 1 + ...` is half as deep as the text is long before it is refused
    // here, and the parser walks and drops it by recursion.
    let read = std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(STACK);
        let reader = reader.spawn_scoped(scope, || tree_of(sql, start));
        reader.ok().and_then(|reader| reader.join().ok())
    });
    let unread = || {
        let hint = "derive parts of it as columns of their own";
        Err(SqlProblem::new(start, "the expression cannot be read", hint))
    };
    read.unwrap_or_else(unread)
}

fn tree_of(sql: &str, start: SqlPlace) -> Parsed<SqlTree> {
    let dialect = GenericDialect {};
    let mut parser =
        Parser::new(&dialect).try_with_sql(sql).map_err(|error| of_parser(error, sql))?;
    let expr = parser.parse_expr().map_err(|error| of_parser(error, sql))?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        let what = format!("`{}` does not belong to the expression", rest.token);
        let hint = "write one expression, without SELECT, FROM, AS or `;`; put names that hold \
                    blanks or signs in double quotes";
        return Err(SqlProblem::new(place(rest.span.start, start), what, hint));
    }
    let mut walk = SqlWalk { columns: Vec::new() };
    let root = walk.node(&expr, start, 0)?;
    Ok(SqlTree { columns: walk.columns, root })
}

fn place(at: Location, above: SqlPlace) -> SqlPlace {
    match at.line {
        0 => above,
        line => SqlPlace { line, column: at.column },
    }
}

/// The problem that the parser reports; the place, if it knows one, is at the end of its text.
fn of_parser(error: ParserError, sql: &str) -> SqlProblem {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => "it is nested too deeply".to_owned(),
    };
    let (what, at) = text.rsplit_once(" at Line: ").unwrap_or((&text, ""));
    let at = at.split_once(", Column: ").and_then(|(line, column)| {
        Some(SqlPlace { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
    });
    let hint = "write one SQL expression, such as `debt / income`; texts stand in single quotes, \
                names with blanks or signs in double quotes";
    let what = format!("this is no SQL expression: {what}");
    // Without a place it is the end at which something is missing.
    let end = || {
        let last = sql.lines().last().unwrap_or_default();
        SqlPlace { line: sql.lines().count() as u64, column: last.chars().count() as u64 + 1 }
    };
    SqlProblem::new(at.unwrap_or_else(end), what, hint)
}

struct SqlWalk {
    columns: Vec<ColumnName>,
}

fn call(at: SqlPlace, function: SqlFunction, arguments: Vec<SqlNode>) -> SqlNode {
    SqlNode { at, kind: SqlKind::Call(function, arguments) }
}

impl SqlWalk {
    fn node(&mut self, expr: &Expr, above: SqlPlace, depth: usize) -> Parsed<SqlNode> {
        use SqlFunction as F;
        let at = place(expr.span().start, above);
        if depth > MAX_DEPTH {
            let what = format!("the expression is nested more than {MAX_DEPTH} deep");
            return Err(SqlProblem::new(at, what, "derive parts of it as columns of their own"));
        }
        let mut of = |expr: &Expr| self.node(expr, at, depth + 1);
        Ok(match expr {
            Expr::Identifier(name) => self.column(name, at)?,
            Expr::Nested(inner) => of(inner)?,
            Expr::Value(value) => SqlNode { at, kind: literal(&value.value, at)? },
            Expr::TypedString(typed) if typed.data_type == DataType::Date => {
                SqlNode { at, kind: literal(&typed.value.value, at)? }
            }
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => of(expr)?,
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                call(at, F::Negate, vec![of(expr)?])
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => call(at, F::Not, vec![of(expr)?]),
            Expr::BinaryOp { left, op, right } => {
                let function = operator(op).ok_or_else(|| {
                    let what = format!("the operator `{op}` is not known");
                    let hint = "use + - * / % = <> < <= > >= || AND OR; a power is `POWER(x, y)`";
                    SqlProblem::new(at, what, hint)
                })?;
                call(at, function, vec![of(left)?, of(right)?])
            }
            Expr::IsNull(e) | Expr::IsUnknown(e) => call(at, F::IsNull, vec![of(e)?]),
            Expr::IsNotNull(e) | Expr::IsNotUnknown(e) => {
                negated_if(true, call(at, F::IsNull, vec![of(e)?]))
            }
            Expr::IsTrue(e) => call(at, F::IsTrue, vec![of(e)?]),
            Expr::IsNotTrue(e) => negated_if(true, call(at, F::IsTrue, vec![of(e)?])),
            Expr::IsFalse(e) => call(at, F::IsFalse, vec![of(e)?]),
            Expr::IsNotFalse(e) => negated_if(true, call(at, F::IsFalse, vec![of(e)?])),
            Expr::IsDistinctFrom(a, b) => call(at, F::Distinct, vec![of(a)?, of(b)?]),
            Expr::IsNotDistinctFrom(a, b) => {
                negated_if(true, call(at, F::Distinct, vec![of(a)?, of(b)?]))
            }
            Expr::Between { expr, negated, low, high } => {
                let from = call(at, F::GreaterOrEqual, vec![of(expr)?, of(low)?]);
                let to = call(at, F::LessOrEqual, vec![of(expr)?, of(high)?]);
                negated_if(*negated, call(at, F::And, vec![from, to]))
            }
            Expr::InList { expr, list, negated } => {
                let left = of(expr)?;
                let mut any: Option<SqlNode> = None;
                for item in list {
                    let is = call(at, F::Equal, vec![left.clone(), of(item)?]);
                    any = Some(match any.take() {
                        None => is,
                        // One node with all sides keeps a long list shallow.
                        Some(SqlNode { kind: SqlKind::Call(F::Or, mut sides), .. }) => {
                            sides.push(is);
                            call(at, F::Or, sides)
                        }
                        Some(first) => call(at, F::Or, vec![first, is]),
                    });
                }
                let Some(any) = any else {
                    let what = "the list of `IN` is empty";
                    return Err(SqlProblem::new(at, what, "name at least one value"));
                };
                negated_if(*negated, any)
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                negated_if(*negated, call(at, F::Like, vec![of(expr)?, of(pattern)?]))
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                negated_if(*negated, call(at, F::ILike, vec![of(expr)?, of(pattern)?]))
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let operand = operand.as_deref().map(&mut of).transpose()?;
                let mut parts = Vec::new();
                for when in conditions {
                    let condition = of(&when.condition)?;
                    parts.push(match &operand {
                        Some(operand) => call(at, F::Equal, vec![operand.clone(), condition]),
                        None => condition,
                    });
                    parts.push(of(&when.result)?);
                }
                parts.extend(else_result.as_deref().map(&mut of).transpose()?);
                call(at, F::Case, parts)
            }
            Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                call(at, F::Ceil, vec![of(expr)?])
            }
            Expr::Floor {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => call(at, F::Floor, vec![of(expr)?]),
            Expr::Extract { field, expr, .. } => {
                let function = match field {
                    DateTimeField::Year => F::Year,
                    DateTimeField::Month => F::Month,
                    DateTimeField::Day => F::Day,
                    _ => {
                        let what = format!("`{field}` cannot be taken out of a date");
                        return Err(SqlProblem::new(at, what, "take YEAR, MONTH or DAY"));
                    }
                };
                call(at, function, vec![of(expr)?])
            }
            Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                let mut arguments = vec![of(expr)?, of(from)?];
                arguments.extend(substring_for.as_deref().map(&mut of).transpose()?);
                call(at, F::Substring, arguments)
            }
            Expr::Trim { trim_where: None, trim_what: None, expr, trim_characters: None } => {
                call(at, F::Trim, vec![of(expr)?])
            }
            Expr::Cast { kind: CastKind::TryCast, expr, data_type, array: false, format: None }
                if is_number(data_type) =>
            {
                call(at, F::TryNumber, vec![of(expr)?])
            }
            Expr::Cast { .. } | Expr::Convert { .. } => {
                let what = "only texts are converted, and only to numbers";
                let hint = "write `TRY_CAST(x AS DOUBLE)`: a text that is no number is missing \
                            then; a truth value becomes a number by `CASE WHEN x THEN 1 ELSE 0 \
                            END`";
                return Err(SqlProblem::new(at, what, hint));
            }
            Expr::Function(function) => self.function(function, at, depth)?,
            Expr::CompoundIdentifier(parts) => {
                let name: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
                let name = name.join(".");
                let what = format!("`{name}` names a table, and there is none");
                let hint = format!("write a column of this name in double quotes: `\"{name}\"`");
                return Err(SqlProblem::new(at, what, hint));
            }
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                let what = "a query looks at other rows";
                return Err(SqlProblem::new(at, what, EACH_ROW));
            }
            other => {
                let text: String = other.to_string().chars().take(60).collect();
                let what = format!("`{text}` is not known");
                let hint = "arithmetic, comparisons, AND, OR, NOT, IS NULL, IN, BETWEEN, LIKE, \
                            CASE and functions of one row are known";
                return Err(SqlProblem::new(at, what, hint));
            }
        })
    }

    fn column(&mut self, name: &Ident, at: SqlPlace) -> Parsed<SqlNode> {
        let column = ColumnName::new(&name.value).ok_or_else(|| {
            let what = format!("`{}` is no name of a column", name.value.escape_debug());
            SqlProblem::new(at, what, "name a column of the rows; texts stand in single quotes")
        })?;
        let position =
            self.columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                self.columns.push(column);
                self.columns.len() - 1
            });
        Ok(SqlNode { at, kind: SqlKind::Column(position) })
    }

    fn function(&mut self, function: &Function, at: SqlPlace, depth: usize) -> Parsed<SqlNode> {
        let name = match function.name.0.as_slice() {
            [ObjectNamePart::Identifier(name)] => name.value.to_lowercase(),
            _ => function.name.to_string().to_lowercase(),
        };
        let is_one_of = |names: &str| names.split(' ').any(|known| known == name);
        if is_one_of(OF_ROWS) || function.over.is_some() {
            let what = format!("`{name}` looks at other rows");
            let hint = match name.as_str() {
                "max" => "the larger of two values of a row is `GREATEST(a, b)`",
                "min" => "the smaller of two values of a row is `LEAST(a, b)`",
                _ => EACH_ROW,
            };
            return Err(SqlProblem::new(at, what, hint));
        }
        if is_one_of(OF_CHANCE) {
            let what = format!("`{name}` gives another value each time");
            let hint = "the same job on the same rows gives the same results: write the date as a \
                        text, such as '2026-11-20', or pass it by a variable of the job";
            return Err(SqlProblem::new(at, what, hint));
        }
        let Some(signature) = FUNCTIONS.iter().find(|known| known.name == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|known| known.name).collect();
            let hint = match nearest(&name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "functions are {}",
                    list_words(known.iter().map(|known| format!("`{known}`")), 60)
                ),
            };
            return Err(SqlProblem::new(at, format!("no function is called `{name}`"), hint));
        };
        let plain = function.filter.is_none()
            && function.null_treatment.is_none()
            && function.within_group.is_empty()
            && function.parameters == FunctionArguments::None;
        let list = match &function.args {
            FunctionArguments::List(list)
                if plain && list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
            {
                &list.args
            }
            _ => return Err(SqlProblem::new(at, form_of(&name), EACH_ROW)),
        };
        let argument = |argument: &FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.node(expr, at, depth + 1),
            _ => Err(SqlProblem::new(at, form_of(&name), EACH_ROW)),
        };
        let arguments: Vec<SqlNode> = list.iter().map(argument).collect::<Parsed<_>>()?;
        let (least, most) = signature.n;
        if !(least..=most).contains(&arguments.len()) {
            let wanted = match (least, most) {
                (a, b) if a == b => a.to_string(),
                (a, 100) => format!("{a} or more"),
                (a, b) => format!("{a} or {b}"),
            };
            let what = format!("`{name}` has {} arguments and takes {wanted}", arguments.len());
            return Err(SqlProblem::new(at, what, "mend its list of arguments"));
        }
        Ok(call(at, signature.function, arguments))
    }
}

const EACH_ROW: &str = "an expression sees one row: compute such a column before the audit, where \
    the rows are written";

fn form_of(name: &str) -> String {
    format!("`{name}` is called in a form that is not known")
}

fn negated_if(negated: bool, node: SqlNode) -> SqlNode {
    if negated { call(node.at, SqlFunction::Not, vec![node]) } else { node }
}

fn is_number(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Double(..) | DataType::DoublePrecision | DataType::Float(..) | DataType::Float64
    )
}

fn literal(value: &Value, at: SqlPlace) -> Parsed<SqlKind> {
    Ok(match value {
        Value::Number(text, _) => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            let Some(number) = number else {
                let what = format!("`{text}` is no number that can be held");
                return Err(SqlProblem::new(at, what, "write a number such as `1500` or `0.25`"));
            };
            let whole = text.bytes().all(|b| b.is_ascii_digit());
            let is_held = text.parse::<i64>().is_ok_and(|integer| integer <= EXACT_INTEGER);
            if whole && !is_held {
                let what = format!("`{text}` is beyond 2^53, where not every integer is held");
                return Err(SqlProblem::new(at, what, "compare such a number as text"));
            }
            SqlKind::Number(number)
        }
        Value::SingleQuotedString(text) => SqlKind::Text(text.clone()),
        Value::Boolean(value) => SqlKind::Bool(*value),
        Value::Null => SqlKind::Null,
        other => {
            let what = format!("`{other}` is no value that is known");
            return Err(SqlProblem::new(at, what, "texts stand in single quotes"));
        }
    })
}

fn operator(op: &BinaryOperator) -> Option<SqlFunction> {
    Some(match op {
        BinaryOperator::Plus => SqlFunction::Add,
        BinaryOperator::Minus => SqlFunction::Subtract,
        BinaryOperator::Multiply => SqlFunction::Multiply,
        BinaryOperator::Divide => SqlFunction::Divide,
        BinaryOperator::Modulo => SqlFunction::Remainder,
        BinaryOperator::Eq => SqlFunction::Equal,
        BinaryOperator::NotEq => SqlFunction::NotEqual,
        BinaryOperator::Lt => SqlFunction::Less,
        BinaryOperator::LtEq => SqlFunction::LessOrEqual,
        BinaryOperator::Gt => SqlFunction::Greater,
        BinaryOperator::GtEq => SqlFunction::GreaterOrEqual,
        BinaryOperator::And => SqlFunction::And,
        BinaryOperator::Or => SqlFunction::Or,
        BinaryOperator::StringConcat => SqlFunction::ConcatOperator,
        _ => return None,
    })
}
