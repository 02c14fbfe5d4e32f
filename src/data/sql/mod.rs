//! SQL expressions over the columns of one row: `debt / income`, `days_late > 90`.
//!
//! [`parse`] reads an expression and refuses whatever looks at other rows or gives another value
//! each time; a [`SqlProgram`] knows the types of its columns and computes.
//!
//! Rules:
//! - Numbers are 64-bit floats. An integer beyond 2^53 in a column or an expression is an error,
//!   because a float would round it. `/` never cuts off; `%` has the sign of the number on its
//!   left.
//! - A missing value makes missing what is computed from it, but for `IS NULL`, `COALESCE`,
//!   `GREATEST`, `LEAST`, `CONCAT`, `IS [NOT] DISTINCT FROM`, `IS TRUE` and related tests, `CASE`,
//!   and `AND` and `OR` where the other side decides.
//! - Between two steps a number may be infinite or no number, as IEEE 754 says; the latter equals
//!   itself and is above all others. A result that is not finite is missing, and is counted.
//! - Texts are compared by their bytes, lengths and positions count characters. Dates are texts of
//!   the form `2026-11-20`, with or without a time behind it; other texts are not dates, and what
//!   is computed from them is missing.
//! - Nothing is converted in silence: a text is never a number, a truth value never 0 or 1.
//! - An expression makes texts of at most 64 KiB a value ([`length`]).
//! - Roots, logarithms and powers are those of `libm`: the same bits on every machine.
//!
//! Compared with DuckDB on DOUBLE columns: see the tests. DuckDB ends with an error at the root or
//! the logarithm of a number that has none; here the value is missing.

mod compute;
mod function;
mod length;
pub(crate) mod parse;
mod program;

use crate::error::Fault;

pub(crate) use compute::{column_of, column_of_levels, missing, source_values};
pub(crate) use parse::parse;
pub(crate) use program::{ComputedColumn, SqlProgram};

/// Largest integer up to which floats hold every integer.
pub(crate) const EXACT_INTEGER: i64 = 1 << 53;

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqlProblem {
    /// What is wrong.
    pub what: String,
    /// What to write.
    pub hint: String,
    /// Where.
    pub at: SqlPlace,
}

impl SqlProblem {
    fn new(at: SqlPlace, what: impl Into<String>, hint: impl Into<String>) -> Self {
        SqlProblem { what: what.into(), hint: hint.into(), at }
    }

    /// The problem as one of the data, which say the types; `whose` expression it is.
    pub(crate) fn fault(&self, whose: &str) -> Fault {
        let what = format!("{whose} cannot be computed: {}", self.located());
        Fault::new("bad-sql", what).hint(self.hint.clone())
    }

    /// What is wrong, with its place in the expression.
    pub(crate) fn located(&self) -> String {
        let SqlPlace { line, column } = self.at;
        format!("line {line}, column {column} of the expression: {}", self.what)
    }
}

/// A place in an expression: line and column, both from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SqlPlace {
    line: u64,
    column: u64,
}

#[cfg(test)]
mod tests;
