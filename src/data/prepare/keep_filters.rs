//! The `keep` filters of a job, evaluated slice by slice: conditions by polars, SQL as
//! [`crate::data::sql`] computes it.
//!
//! Words are compared once the column's type is known: as numbers with a numeric column, as text
//! with the others. A missing value fails every condition except `missing`. Only the values of the
//! named columns are copied into polars.

use arrow::array::AsArray;
use polars::prelude::{
    BooleanChunked, ChunkCompareIneq, ChunkFull, DataType, Float64Chunked, IntoSeries, NamedFrom,
    PolarsResult, Series, is_in,
};

use crate::data::prepare::params::{KeepCondition, KeepStep};
use crate::data::prepare::view::SourceView;
use crate::data::source::{SourceColumn, SourceSlice};
use crate::data::sql::{self, SqlProblem, SqlProgram};
use crate::data::values::{EXACT, SourceValues, ValueClass};
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
    /// Conditions on single columns, in the order of `columns`.
    Conditions(Vec<ColumnTest>),
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
        let (mut columns, mut tests) = (Vec::new(), Vec::new());
        for (name, condition) in entry {
            let position = view.position(name.as_str())?;
            columns.push(position);
            tests.push(ColumnTest::new(condition, name, &view.columns[position])?);
        }
        Ok(KeepFilter { what, columns, test: KeepTest::Conditions(tests) })
    }

    fn of_expression(sql: &str, view: &SourceView<'_>) -> Result<Self> {
        let whose = format!("the filter `{sql}`");
        let fault = |problem: SqlProblem| problem.fault(&whose);
        let names = sql::parse(sql).map_err(fault)?.columns;
        let columns = names.iter().map(|name| view.position(name.as_str()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let classes: Vec<ValueClass> = columns.iter().map(|&c| view.columns[c].class).collect();
        let program = SqlProgram::new(sql, &classes).map_err(fault)?;
        if !matches!(program.gives, ValueClass::Bool | ValueClass::Empty) {
            let what =
                format!("{whose} does not say which rows to keep: it is neither true nor false");
            return Fault::new("bad-sql", what)
                .fail("compare: `income > 0`, `country IN ('DE', 'FR')`");
        }
        let test = KeepTest::Expression(program);
        Ok(KeepFilter { what: format!("sql: {sql}"), columns, test })
    }

    /// For each row of the slice whether it passes the filter.
    pub(crate) fn passes(&self, view: &SourceView<'_>, slice: &SourceSlice) -> Result<Vec<bool>> {
        let tests = match &self.test {
            KeepTest::Conditions(tests) => tests,
            KeepTest::Expression(program) => {
                let kept = view.computed(program, &self.columns, slice, None)?.0;
                // If all values are missing, no row is kept.
                let kept = kept.as_boolean_opt().into_iter().flatten().map(|is| is == Some(true));
                return Ok(kept.chain(std::iter::repeat(false)).take(slice.rows).collect());
            }
        };
        let mut passes = vec![true; slice.rows];
        for (&column, test) in self.columns.iter().zip(tests) {
            let values = view.columns[column].canonical_values(&slice.columns[column]);
            let kept = test.holds(&series(&values)).map_err(|e| {
                Fault::new(
                    "filter-failed",
                    format!("the filter `{}` cannot be applied: {e}", self.what),
                )
                .hint("see whether it fits the values of its column, which `cfaudit data` shows")
            })?;
            // A comparison with a missing value is neither true nor false.
            passes.iter_mut().zip(kept.iter()).for_each(|(row, kept)| *row &= kept == Some(true));
        }
        Ok(passes)
    }
}

/// A condition of a job, compiled for the type of its column.
enum ColumnTest {
    /// The value is one of these, or it is none of them.
    Member { list: Series, among: bool },
    /// Every comparison with its limit holds.
    Limits(Vec<(Comparison, f64)>),
    /// Whether there is a value.
    Present(bool),
}

/// How numbers compare with a limit.
type Comparison = fn(&Float64Chunked, f64) -> BooleanChunked;

impl ColumnTest {
    fn new(condition: &KeepCondition, name: &ColumnName, column: &SourceColumn) -> Result<Self> {
        let limits = |limits: &[(Comparison, Finite)]| {
            let rounded = limits.iter().find(|(_, limit)| limit.get().abs() >= EXACT);
            if let Some((_, limit)) = rounded.filter(|_| column.class == ValueClass::Int) {
                let what = format!(
                    "`keep` compares column `{name}` with {}, and integers beyond 2^53 would be \
                     rounded",
                    limit.get()
                );
                return Fault::new("large-integer", what)
                    .in_column(name.as_str())
                    .fail("use `in` or `not_in`, which compare such integers exactly");
            }
            let numbers = limits.iter().map(|&(how, limit)| (how, limit.get())).collect();
            if column.class.is_number() {
                return Ok(ColumnTest::Limits(numbers));
            }
            let what = format!(
                "`keep` compares column `{name}` with the number `{}`, but it holds {}",
                limits[0].1.get(),
                column.class.name()
            );
            Fault::new("not-numeric", what)
                .in_column(name.as_str())
                .fail("use `in`, `not_in`, `present` or `missing`")
        };
        let member = |words: &[Word], among| -> Result<ColumnTest> {
            Ok(ColumnTest::Member { list: members(words, column)?, among })
        };
        match condition {
            KeepCondition::In(words) => member(words, true),
            KeepCondition::NotIn(words) => member(words, false),
            KeepCondition::AtLeast(limit) => limits(&[(|x, y| x.gt_eq(y), *limit)]),
            KeepCondition::AtMost(limit) => limits(&[(|x, y| x.lt_eq(y), *limit)]),
            KeepCondition::Above(limit) => limits(&[(|x, y| x.gt(y), *limit)]),
            KeepCondition::Below(limit) => limits(&[(|x, y| x.lt(y), *limit)]),
            KeepCondition::Between([lo, hi]) => {
                limits(&[(|x, y| x.gt_eq(y), *lo), (|x, y| x.lt_eq(y), *hi)])
            }
            KeepCondition::Present {} => Ok(ColumnTest::Present(true)),
            KeepCondition::Missing {} => Ok(ColumnTest::Present(false)),
        }
    }

    /// For each value whether the condition holds; null where the value is missing, except for
    /// [`ColumnTest::Present`].
    fn holds(&self, values: &Series) -> PolarsResult<BooleanChunked> {
        match self {
            ColumnTest::Member { list, among } => {
                let found = is_in(values, list, false)?;
                Ok(if *among { found } else { !found })
            }
            ColumnTest::Limits(limits) => {
                let numbers = values.cast(&DataType::Float64)?;
                let numbers = numbers.f64()?;
                let mut holds = BooleanChunked::full("".into(), true, values.len());
                for &(compared, limit) in limits {
                    holds = holds & compared(numbers, limit);
                }
                Ok(holds)
            }
            ColumnTest::Present(true) => Ok(values.is_not_null()),
            ColumnTest::Present(false) => Ok(values.is_null()),
        }
    }
}

/// The words of a list as values of the column, in a list of its own type.
fn members(words: &[Word], column: &SourceColumn) -> Result<Series> {
    let words = words.iter().map(|word| column.word("keep", word.as_str()));
    let words = words.collect::<Result<Vec<_>>>()?;
    let name = "w".into();
    let values = match column.class {
        // A word that is not an integer matches no value of an integer column.
        ValueClass::Int => Series::new(
            name,
            words.iter().filter_map(|w| w.parse::<i64>().ok()).collect::<Vec<_>>(),
        ),
        ValueClass::Float => Series::new(
            name,
            words.iter().filter_map(|w| w.parse::<f64>().ok()).collect::<Vec<_>>(),
        ),
        ValueClass::Bool | ValueClass::Text | ValueClass::Empty => Series::new(name, words),
    };
    let list = values.implode().map_err(|e| {
        Fault::new("filter-failed", format!("the words of a `keep` filter make no list: {e}"))
            .hint("report this together with the job")
    })?;
    Ok(list.into_series())
}

fn series(values: &SourceValues) -> Series {
    let name = "v".into();
    match values {
        SourceValues::Int(a) => Series::new(name, a.iter().collect::<Vec<Option<i64>>>()),
        SourceValues::Float(a) => Series::new(name, a.iter().collect::<Vec<Option<f64>>>()),
        SourceValues::Text(a) => Series::new(name, a.iter().collect::<Vec<Option<&str>>>()),
        SourceValues::Named(a) => Series::new(name, a.iter().collect::<Vec<Option<&str>>>()),
        SourceValues::Bool(a) => Series::new(
            name,
            a.iter().map(|v| v.map(|v| if v { "true" } else { "false" })).collect::<Vec<_>>(),
        ),
        SourceValues::Empty(n) => Series::new(name, vec![None::<&str>; *n]),
    }
}
