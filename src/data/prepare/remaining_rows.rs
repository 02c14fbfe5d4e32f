//! The rows of a slice of the source that filters, duplicates and missing values leave, and the
//! checks of their numbers.

use arrow::array::Array;
use serde::{Deserialize, Serialize};

use crate::data::prepare::left_out::{LeftOutRows, LostRows};
use crate::data::prepare::plan::{FeaturePlan, PreparePlan, RowLoss};
use crate::data::prepare::tally::UnmatchedRows;
use crate::data::prepare::view::SourceView;
use crate::data::prepare::weight::WeightSummary;
use crate::data::source::SourceSlice;
use crate::data::source::side_table::{EXAMPLES, UnmatchedRule};
use crate::data::values::{EXACT, SourceValues, parse_number};
use crate::error::Result;
use crate::num::additive::additive;

/// The rows whose key a side table lacks, by table.
fn unmatched_rows(
    plan: &PreparePlan<'_>,
    slice: &SourceSlice,
    alive: &[bool],
) -> Result<Vec<UnmatchedRows>> {
    let mut found = Vec::new();
    for (table, matched) in plan.view.source.joined().iter().zip(&slice.matched) {
        let keys = &slice.columns[plan.view.position(table.join.on.as_str())?];
        let counts = |i: &usize| alive[*i] || table.join.missing == UnmatchedRule::Drop;
        let looked = (0..slice.rows).filter(counts);
        let mut of = UnmatchedRows { of: looked.clone().count() as u64, ..Default::default() };
        for i in looked.filter(|&i| !matched[i]) {
            of.n += 1;
            if of.first.len() < EXAMPLES {
                let key = keys.word(i).map(std::borrow::Cow::into_owned);
                of.first.push((slice.first_row + i as u64, key));
            }
        }
        found.push(of);
    }
    Ok(found)
}

/// The effect of the steps on rows of the source, before they are counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowsSeen {
    /// Number of rows of the source.
    pub(super) n_in: u64,
    /// Rows left after each step that can lose rows ([`RowLoss`]).
    pub(super) rows_left: Vec<u64>,
    /// Number of rows that are kept.
    pub(crate) n_rows: u64,
    /// Whether the source lacks a value of each feature, in kept rows or others.
    pub(crate) source_nulls: Vec<bool>,
    /// Values of the source, filtered or not, that `null_values` made missing, by its columns.
    pub(crate) made_null: Vec<u64>,
    /// Values of the source, filtered or not, that have another spelling now, by its columns.
    pub(crate) respelt: Vec<u64>,
    /// Values of expressions that were not finite, by derived column.
    pub(crate) not_finite: Vec<u64>,
    /// Rows whose key a side table lacks, by table: of all rows where they are dropped, else of the
    /// kept ones.
    pub(crate) unmatched: Vec<UnmatchedRows>,
    /// The rows that are left out.
    pub(crate) left_out: LeftOutRows,
}

additive!(RowsSeen {
    n_in,
    rows_left,
    n_rows,
    source_nulls,
    made_null,
    respelt,
    not_finite,
    unmatched,
    left_out
});

/// What steps leave of the rows of a slice.
pub(crate) struct SurvivingRows {
    /// For each row whether all steps keep it.
    pub(crate) alive: Vec<bool>,
    /// The number of rows left after each step.
    left: Vec<u64>,
    /// The rows that are lost.
    lost: LostRows,
}

impl SurvivingRows {
    /// Applies steps, one after the other.
    ///
    /// # Errors
    /// A filter cannot be applied.
    pub(crate) fn of<'p>(
        view: &SourceView<'_>,
        slice: &SourceSlice,
        steps: impl IntoIterator<Item = RowLoss<'p>>,
    ) -> Result<Self> {
        let (mut alive, mut left) = (vec![true; slice.rows], Vec::new());
        let (mut lost, mut n) = (LostRows::default(), slice.rows);
        for step in steps {
            let lost = &mut lost[step.state() as usize];
            let before = lost.len();
            for (i, kept) in step.kept(view, slice)?.into_iter().enumerate() {
                if !kept && std::mem::take(&mut alive[i]) {
                    lost.push(i);
                }
            }
            n -= lost.len() - before;
            left.push(n as u64);
        }
        Ok(SurvivingRows { alive, left, lost })
    }
}

/// The kept rows of a slice.
pub(crate) struct KeptSlice {
    /// Number of kept rows.
    pub(crate) n: usize,
    /// The columns of the view, kept rows only.
    pub(crate) columns: Vec<SourceValues>,
    pub(super) first_row: u64,
    /// The positions of the kept rows in the slice; `None` where all are kept.
    pub(super) rows: Option<Vec<u32>>,
    /// The effect of the steps on all rows of the slice.
    pub(super) rows_seen: RowsSeen,
    /// The columns that the job's view changes, as the source holds them, with their positions.
    as_read: Vec<(usize, SourceValues)>,
}

impl KeptSlice {
    /// Applies every step that can lose rows.
    ///
    /// # Errors
    /// A filter cannot be applied.
    pub(crate) fn new(plan: &PreparePlan<'_>, slice: SourceSlice) -> Result<Self> {
        let lacks = |feature: &FeaturePlan| slice.as_read(feature.column).has_nulls();
        let source_nulls = plan.features.iter().map(lacks).collect();
        let SurvivingRows { alive, left, lost } =
            SurvivingRows::of(plan.view, &slice, plan.losses())?;
        let n = left.last().copied().unwrap_or(slice.rows as u64);
        let left_out = LeftOutRows::of_slice(plan, &slice, &lost);
        let unmatched = unmatched_rows(plan, &slice, &alive)?;
        let is_kept = |row: &&u32| alive[**row as usize];
        let not_finite =
            slice.not_finite.iter().map(|rows| rows.iter().filter(is_kept).count() as u64);
        let not_finite = not_finite.collect();
        let rows = (n < slice.rows as u64).then(|| -> Vec<u32> {
            alive.iter().zip(0..).filter(|(alive, _)| **alive).map(|(_, i)| i).collect()
        });
        let (columns, as_read) = match &rows {
            None => (slice.columns, slice.as_read),
            Some(rows) => {
                let as_read = slice.as_read.iter().map(|(at, values)| (*at, values.take(rows)));
                (slice.columns.iter().map(|v| v.take(rows)).collect(), as_read.collect())
            }
        };
        Ok(KeptSlice {
            n: n as usize,
            columns,
            first_row: slice.first_row,
            rows,
            rows_seen: RowsSeen {
                n_in: slice.rows as u64,
                rows_left: left,
                n_rows: n,
                source_nulls,
                made_null: slice.made_null,
                respelt: slice.respelt,
                not_finite,
                unmatched,
                left_out,
            },
            as_read,
        })
    }

    /// A column as the source holds it.
    pub(crate) fn as_read(&self, column: usize) -> &SourceValues {
        let kept = self.as_read.iter().find(|(of, _)| *of == column);
        kept.map_or(&self.columns[column], |(_, values)| values)
    }

    /// The number in the source of the kept row at a position.
    pub(crate) fn row_number(&self, i: usize) -> u64 {
        self.first_row + self.rows.as_ref().map_or(i as u64, |rows| u64::from(rows[i]))
    }

    /// The numbers of all kept rows.
    pub(crate) fn row_numbers(&self) -> impl Iterator<Item = u64> {
        (0..self.n).map(|i| self.row_number(i))
    }
}

/// Fails on the first kept value of a numeric column that is not a finite number.
pub(super) fn check_numbers(
    plan: &PreparePlan<'_>,
    slice: &KeptSlice,
    column: usize,
) -> Result<()> {
    let name = plan.name(column);
    let fault =
        |code, i: usize, what: String| plan.fault_in_row(code, (column, slice.row_number(i)), what);
    match &slice.columns[column] {
        SourceValues::Empty(_) => Ok(()),
        SourceValues::Int(a) => {
            let mut numbers = plan.features.iter().filter(|feature| !feature.kind.is_coded());
            if !numbers.any(|feature| feature.column == column) {
                return Ok(());
            }
            let is_rounded = |(i, x): &(usize, &i64)| {
                x.unsigned_abs() > EXACT as u64
                    && a.is_valid(*i)
                    && **x as f64 as i128 != i128::from(**x)
            };
            let found = a.values().iter().enumerate().find(is_rounded);
            let Some((i, x)) = found else { return Ok(()) };
            let what = format!("models would get the whole number `{x}` as another number");
            fault("large-integer", i, what).fail(format!(
                "list ids under `nominal`, or say that it is an amount, which may be rounded: \
                 `data.columns: {{{name}: number}}`"
            ))
        }
        SourceValues::Float(a) => {
            let is_bad = |(i, x): &(usize, &f64)| x.is_infinite() && a.is_valid(*i);
            let Some((i, x)) = a.values().iter().enumerate().find(is_bad) else { return Ok(()) };
            fault("infinite-value", i, format!("column `{name}` holds `{x}`")).fail(format!(
                "if it means missing, write `data.missing.null_values: {{{name}: [{x}]}}`; use \
                 finite numbers for caps"
            ))
        }
        texts @ (SourceValues::Text(_) | SourceValues::Named(_))
            if plan.view.derived_at(column).is_none() =>
        {
            let no_number = |&(_, i): &(u32, usize)| {
                texts.word(i).filter(|text| parse_number(text).is_none()).map(|text| (i, text))
            };
            let found = texts.distinct().first.iter().find_map(no_number);
            let Some((i, text)) = found else { return Ok(()) };
            let what = format!("column `{name}` must hold numbers, but holds the text `{text}`");
            fault("not-numeric", i, what).fail(plan.hint_for_text(column, &text))
        }
        SourceValues::Bool(_) | SourceValues::Text(_) | SourceValues::Named(_) if slice.n == 0 => {
            Ok(())
        }
        other => {
            let are_bools = matches!(other, SourceValues::Bool(_));
            let holds = if are_bools { "booleans" } else { "names" };
            let what = format!("column `{name}` must hold numbers, but holds {holds}");
            fault("not-numeric", 0, what).fail(plan.hint_for_text(column, ""))
        }
    }
}

/// The number of columns of a one-hot group that are 1 in each kept row.
///
/// Fails on the first value that is neither 0 nor 1 nor missing.
pub(super) fn one_hot_counts(
    plan: &PreparePlan<'_>,
    slice: &KeptSlice,
    columns: &[usize],
) -> Result<Vec<u32>> {
    let mut ones = vec![0; slice.n];
    for &column in columns {
        for (i, n) in ones.iter_mut().enumerate() {
            let value = slice.columns[column].number(i);
            *n += u32::from(value == 1.0);
            if value != 0.0 && value != 1.0 && !value.is_nan() {
                let what =
                    format!("column `{}` of a one-hot group holds `{value}`", plan.name(column));
                let hint = "write 1 in the column of a row's level and 0 in the others, or list \
                            the columns under `continuous`";
                let at = (column, slice.row_number(i));
                return plan.fault_in_row("bad-onehot", at, what).fail(hint);
            }
        }
    }
    Ok(ones)
}

/// Fails on the first kept row without a weight of 0 or more; returns the summary of the weights.
///
/// Infinite weights and texts are not numbers; that was checked before.
pub(super) fn check_weights(
    plan: &PreparePlan<'_>,
    slice: &KeptSlice,
    column: usize,
) -> Result<WeightSummary> {
    let values = &slice.columns[column];
    let mut weights = WeightSummary::default();
    for i in 0..slice.n {
        let weight = values.number(i);
        let what = match weight {
            _ if values.is_null(i) => "a row has no weight".to_owned(),
            w if w < 0.0 => format!("a row has the weight `{w}`, below 0"),
            w => {
                weights.add(w);
                continue;
            }
        };
        let fault = plan.fault_in_row("bad-weight", (column, slice.row_number(i)), what);
        return fault.fail("a weight is a number of 0 or more");
    }
    Ok(weights)
}
