//! The `keep` filters of a job, evaluated slice by slice: conditions as polars expressions, SQL as
//! [`crate::data::sql`] computes it.
//!
//! Words are compared once the column's type is known: as numbers with a numeric column, as text
//! with the others. A missing value fails every condition except `missing`. Only the values of the
//! named columns are copied into polars.

use polars::prelude::{
    BooleanChunked, Column, DataFrame, Expr, IntoColumn, IntoLazy, IntoSeries, NamedFrom,
    PolarsResult, Series, col, lit,
};

use crate::data::prepare::params::{KeepCondition, KeepStep};
use crate::data::prepare::view::SourceView;
use crate::data::source::{SourceColumn, SourceSlice};
use crate::data::sql::{self, SqlColumn, SqlProblem, SqlProgram, SqlType};
use crate::data::values::{SourceValues, ValueClass};
use crate::error::{Fault, Result};
use crate::param::{ColumnName, Finite, Word};

/// One entry of `keep`: all its conditions must hold.
pub(crate) struct KeepFilter {
    /// The entry as the job writes it.
    pub(crate) what: String,
    columns: Vec<usize>,
    test: KeepTest,
}

/// What rows must hold.
enum KeepTest {
    /// Conditions on single columns.
    Conditions(Expr),
    /// An expression that gives truth values.
    Expression(SqlProgram),
}

impl KeepFilter {
    /// Compiles one entry for the types of the columns.
    pub(crate) fn new(entry: &KeepStep, view: &SourceView<'_>) -> Result<Self> {
        let entry = match entry {
            KeepStep::Columns(entry) => entry,
            KeepStep::Sql(filter) => return KeepFilter::of_expression(&filter.sql, view),
        };
        let what = entry
            .iter()
            .map(|(column, condition)| format!("{column}: {condition}"))
            .collect::<Vec<_>>()
            .join(", ");
        let (mut columns, mut test) = (Vec::new(), lit(true));
        for (name, condition) in entry {
            let position = view.position(name.as_str())?;
            columns.push(position);
            test = test.and(expression(condition, name, &view.columns()[position], position)?);
        }
        Ok(KeepFilter { what, columns, test: KeepTest::Conditions(test) })
    }

    fn of_expression(sql: &str, view: &SourceView<'_>) -> Result<Self> {
        let whose = format!("the filter `{sql}`");
        let fault = |problem: SqlProblem| problem.fault(&whose);
        let names = sql::parse(sql).map_err(fault)?.columns;
        let columns = names.iter().map(|name| view.position(name.as_str()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let classes: Vec<ValueClass> = columns.iter().map(|&c| view.columns()[c].class).collect();
        let program = SqlProgram::new(sql, &classes).map_err(fault)?;
        if !matches!(program.gives(), SqlType::Bool | SqlType::Null) {
            let what =
                format!("{whose} does not say which rows to keep: it is neither true nor false");
            return Err(Fault::new("bad-sql", what)
                .hint("compare: `income > 0`, `country IN ('DE', 'FR')`")
                .into());
        }
        let test = KeepTest::Expression(program);
        Ok(KeepFilter { what: format!("sql: {sql}"), columns, test })
    }

    /// For each row of the slice whether it passes the filter.
    pub(crate) fn passes(&self, view: &SourceView<'_>, slice: &SourceSlice) -> Result<Vec<bool>> {
        let test = match &self.test {
            KeepTest::Conditions(test) => test,
            KeepTest::Expression(program) => {
                return Ok(match view.computed(program, &self.columns, slice)?.0 {
                    SqlColumn::Bool(kept) => kept.iter().map(|kept| *kept == Some(true)).collect(),
                    _ => vec![false; slice.rows],
                });
            }
        };
        let run = || -> PolarsResult<BooleanChunked> {
            let columns = self.columns.iter().map(|&i| series(&slice.columns[i], i)).collect();
            let frame = DataFrame::new(slice.rows, columns)?
                .lazy()
                .select([test.clone().alias("kept")])
                .collect()?;
            Ok(frame.column("kept")?.bool()?.clone())
        };
        let kept = run().map_err(|e| {
            Fault::new(
                "filter-failed",
                format!("the filter `{}` cannot be applied: {e}", self.what),
            )
            .hint("see whether it fits the values of its column, which `cfaudit data` shows")
        })?;
        // Without columns polars gives one row for a constant; an entry without conditions keeps
        // all rows.
        if self.columns.is_empty() {
            return Ok(vec![true; slice.rows]);
        }
        Ok(kept.iter().map(|k| k == Some(true)).collect())
    }
}

fn column_name(position: usize) -> String {
    format!("c{position}")
}

fn series(values: &SourceValues, position: usize) -> Column {
    let name = column_name(position);
    let series = match values {
        SourceValues::Int(a) => Series::new(name.into(), a.iter().collect::<Vec<Option<i64>>>()),
        SourceValues::Float(a) => Series::new(name.into(), a.iter().collect::<Vec<Option<f64>>>()),
        SourceValues::Text(a) => Series::new(name.into(), a.iter().collect::<Vec<Option<&str>>>()),
        SourceValues::Named(a) => Series::new(name.into(), a.iter().collect::<Vec<Option<&str>>>()),
        SourceValues::Bool(a) => Series::new(
            name.into(),
            a.iter().map(|v| v.map(|v| if v { "true" } else { "false" })).collect::<Vec<_>>(),
        ),
        SourceValues::Empty(n) => Series::new(name.into(), vec![None::<&str>; *n]),
    };
    series.into_column()
}

fn expression(
    condition: &KeepCondition,
    name: &ColumnName,
    column: &SourceColumn,
    position: usize,
) -> Result<Expr> {
    let class = column.class;
    let value = col(column_name(position));
    let number = |limit: Finite| -> Result<Expr> {
        if class.is_number() {
            return Ok(lit(limit.get()));
        }
        let what = format!(
            "`keep` compares column `{name}` with the number `{}`, but it holds {}",
            limit.get(),
            class.name()
        );
        Err(Fault::new("not-numeric", what)
            .in_column(name.as_str())
            .hint("use `in`, `not_in`, `present` or `missing`")
            .into())
    };
    let member = |words: &[Word]| -> Result<Expr> {
        let words =
            words.iter().map(|w| column.word("keep", w.as_str())).collect::<Result<Vec<_>>>()?;
        let list = match class {
            // A word that is not an integer matches no value of an integer column.
            ValueClass::Int => Series::new(
                "w".into(),
                words.iter().filter_map(|w| w.parse::<i64>().ok()).collect::<Vec<_>>(),
            ),
            ValueClass::Float => Series::new(
                "w".into(),
                words.iter().filter_map(|w| w.parse::<f64>().ok()).collect::<Vec<_>>(),
            ),
            ValueClass::Bool | ValueClass::Text | ValueClass::Empty => {
                Series::new("w".into(), words)
            }
        };
        Ok(value.clone().is_in(lit(list.into_series()).implode(true), false))
    };
    Ok(match condition {
        KeepCondition::In(words) => member(words)?,
        KeepCondition::NotIn(words) => member(words)?.not(),
        KeepCondition::AtLeast(limit) => value.clone().gt_eq(number(*limit)?),
        KeepCondition::AtMost(limit) => value.clone().lt_eq(number(*limit)?),
        KeepCondition::Above(limit) => value.clone().gt(number(*limit)?),
        KeepCondition::Below(limit) => value.clone().lt(number(*limit)?),
        KeepCondition::Between([lo, hi]) => {
            value.clone().gt_eq(number(*lo)?).and(value.clone().lt_eq(number(*hi)?))
        }
        KeepCondition::Present {} => value.clone().is_not_null(),
        KeepCondition::Missing {} => value.clone().is_null(),
    })
}
