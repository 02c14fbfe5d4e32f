//! The first pass of preparing: what each filter loses, which values occur, and what no later stage could digest.
//!
//! Pieces are surveyed on any thread and merged in order; counts add up and first rows are the lowest, so the result does not depend
//! on how the rows were cut.

use std::collections::HashMap;

use crate::data::prepare::{FilterStep, MissingRule, Plan};
use crate::data::source::Slice;
use crate::data::values::{Class, Values, number};
use crate::error::{Fault, Result};

/// Levels that a coded column may have.
pub(super) const MAX_LEVELS: usize = 100_000;

/// What is known of some rows.
pub(super) struct Survey {
    /// Rows of the source.
    n_in: u64,
    /// Rows left after each filter, then after each feature whose missing values drop rows.
    left: Vec<u64>,
    /// Rows that are kept.
    pub(super) n_rows: u64,
    /// The values of each counted column.
    pub(super) tallies: Vec<Tally>,
    /// Missing values of each feature.
    pub(super) nulls: Vec<u64>,
}

/// How often each value of a column occurs.
#[derive(Default)]
pub(super) struct Tally {
    /// Count and first row by word.
    pub(super) seen: HashMap<String, Seen>,
    /// Rows without a value.
    pub(super) nulls: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) n: u64,
    pub(super) first_row: u64,
}

impl Tally {
    fn add(&mut self, word: String, seen: Seen) {
        let entry = self.seen.entry(word).or_insert(Seen { n: 0, first_row: seen.first_row });
        entry.n += seen.n;
        entry.first_row = entry.first_row.min(seen.first_row);
    }

    /// The words in byte order.
    pub(super) fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.seen.keys().map(String::as_str).collect();
        words.sort_unstable();
        words
    }

    /// Each word with its count, most frequent first.
    pub(super) fn by_count(&self) -> Vec<(&str, u64)> {
        let mut words: Vec<(&str, u64)> = self.seen.iter().map(|(word, seen)| (word.as_str(), seen.n)).collect();
        words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        words
    }
}

/// The rows of a slice that are kept, and how many are left after each filter and each dropping feature.
pub(super) fn kept(plan: &Plan<'_>, slice: &Slice) -> Result<(Vec<u32>, Vec<u64>)> {
    let mut alive = vec![true; slice.rows];
    let mut left = Vec::new();
    let count = |alive: &[bool]| alive.iter().filter(|&&a| a).count() as u64;
    for step in &plan.steps {
        alive.iter_mut().zip(step.passes(slice)?).for_each(|(a, passes)| *a &= passes);
        left.push(count(&alive));
    }
    for feature in plan.features.iter().filter(|f| f.rule == MissingRule::DropRow) {
        let values = &slice.columns[feature.column];
        alive.iter_mut().enumerate().for_each(|(i, a)| *a &= !values.is_null(i));
        left.push(count(&alive));
    }
    let rows = alive.iter().enumerate().filter(|(_, a)| **a).map(|(i, _)| i as u32).collect();
    Ok((rows, left))
}

impl Survey {
    pub(super) fn empty(plan: &Plan<'_>) -> Self {
        let drops = plan.features.iter().filter(|f| f.rule == MissingRule::DropRow).count();
        Survey {
            n_in: 0,
            left: vec![0; plan.steps.len() + drops],
            n_rows: 0,
            tallies: plan.coded.iter().map(|_| Tally::default()).collect(),
            nulls: vec![0; plan.features.len()],
        }
    }

    pub(super) fn add(&mut self, plan: &Plan<'_>, slice: &Slice) -> Result<()> {
        let (rows, left) = kept(plan, slice)?;
        self.n_in += slice.rows as u64;
        self.left.iter_mut().zip(left).for_each(|(sum, n)| *sum += n);
        self.n_rows += rows.len() as u64;
        for (feature, nulls) in plan.features.iter().zip(&mut self.nulls) {
            let values = &slice.columns[feature.column];
            let mut missing = rows.iter().filter(|&&i| values.is_null(i as usize));
            if let (MissingRule::Error, Some(&i)) = (feature.rule, missing.clone().next()) {
                let fault = Fault::new("missing-value", format!("column `{}` has no value", feature.name)).in_column(&feature.name);
                let hint = "the job's `missing` block says `error`; `keep`, `level` and `drop-row` go on";
                return Err(plan.source.at(fault, slice.first_row + u64::from(i)).hint(hint).into());
            }
            *nulls += missing.by_ref().count() as u64;
        }
        for column in plan.numbers() {
            check_numbers(plan, slice, column, &rows)?;
        }
        let without_id = |column: usize| rows.iter().find(|&&i| slice.columns[column].is_null(i as usize)).map(|&i| (column, i));
        if let Some((column, i)) = plan.row_id.and_then(without_id) {
            let fault = Fault::new("missing-row-id", "a row has no row id").in_column(plan.name(column));
            return Err(plan.source.at(fault, slice.first_row + u64::from(i)).into());
        }
        for (tally, &column) in self.tallies.iter_mut().zip(&plan.coded) {
            let values = &slice.columns[column];
            let distinct = values.distinct(&rows);
            let mut counts = vec![0; distinct.first.len()];
            for id in &distinct.ids {
                match id {
                    Some(id) => counts[*id as usize] += 1,
                    None => tally.nulls += 1,
                }
            }
            for (&i, n) in distinct.first.iter().zip(counts) {
                if let Some(word) = values.word(i) {
                    tally.add(word.into_owned(), Seen { n, first_row: slice.first_row + i as u64 });
                }
            }
        }
        self.check_levels(plan)
    }

    pub(super) fn merge(&mut self, plan: &Plan<'_>, other: Survey) -> Result<()> {
        self.n_in += other.n_in;
        self.n_rows += other.n_rows;
        self.left.iter_mut().zip(other.left).for_each(|(sum, n)| *sum += n);
        self.nulls.iter_mut().zip(other.nulls).for_each(|(sum, n)| *sum += n);
        for (mine, theirs) in self.tallies.iter_mut().zip(other.tallies) {
            mine.nulls += theirs.nulls;
            theirs.seen.into_iter().for_each(|(word, seen)| mine.add(word, seen));
        }
        self.check_levels(plan)
    }

    fn check_levels(&self, plan: &Plan<'_>) -> Result<()> {
        match self.tallies.iter().position(|t| t.seen.len() > MAX_LEVELS) {
            None => Ok(()),
            Some(i) => {
                let name = plan.name(plan.coded[i]);
                let fault =
                    Fault::new("too-many-levels", format!("column `{name}` has more than {MAX_LEVELS} different values")).in_column(name);
                Err(plan.source.within(fault).hint("numbers belong under `continuous`, names and ids under `ignore` or `row_id`").into())
            }
        }
    }

    /// The steps that can lose rows with their counts.
    ///
    /// # Errors
    /// No row is left, or there was none.
    pub(super) fn filters(&self, plan: &Plan<'_>) -> Result<Vec<FilterStep>> {
        let drops = plan.features.iter().filter(|f| f.rule == MissingRule::DropRow);
        let names = plan.steps.iter().map(|s| format!("keep {}", s.what)).chain(drops.map(|f| format!("missing {}: drop-row", f.name)));
        let mut rows_in = self.n_in;
        let steps: Vec<FilterStep> = names
            .zip(&self.left)
            .map(|(what, &rows_out)| FilterStep { what, rows_in: std::mem::replace(&mut rows_in, rows_out), rows_out })
            .collect();
        if self.n_in == 0 {
            let files: Vec<String> = plan.source.files().take(3).map(|f| format!("`{}`", f.display())).collect();
            return Err(plan
                .source
                .within(Fault::new("no-rows", format!("there are no rows in {}", files.join(", "))))
                .hint("write the rows there, or correct `data.rows` in the job")
                .into());
        }
        if let Some(last) = steps.iter().find(|s| s.rows_out == 0) {
            let what = format!("no row is left: `{}` lost the last {} of {} rows", last.what, last.rows_in, self.n_in);
            return Err(plan
                .source
                .within(Fault::new("no-rows", what))
                .hint("check the words of the filter against the values of the column")
                .into());
        }
        // A text column that was asked for as numbers, and whose every value could be one.
        for column in plan.numbers() {
            let all_null = plan.features.iter().zip(&self.nulls).any(|(f, &n)| f.column == column && n == self.n_rows);
            if plan.source.columns()[column].class == Class::Text && !all_null {
                let name = plan.name(column);
                let fault =
                    Fault::new("not-numeric", format!("column `{name}` is text, although its values look like numbers")).in_column(name);
                return Err(plan.source.within(fault).hint("write the column with a number type, or list it under `nominal`").into());
            }
        }
        Ok(steps)
    }
}

/// Fails on the first kept value of a number column that is no finite number.
fn check_numbers(plan: &Plan<'_>, slice: &Slice, column: usize, rows: &[u32]) -> Result<()> {
    let name = plan.name(column);
    let (i, fault) = match &slice.columns[column] {
        Values::Int(_) | Values::Empty(_) => return Ok(()),
        Values::Float(a) => match rows.iter().find(|&&i| a.value(i as usize).is_infinite() && !slice.columns[column].is_null(i as usize)) {
            None => return Ok(()),
            Some(&i) => (
                i,
                Fault::new("infinite-value", format!("column `{name}` holds `{}`", a.value(i as usize)))
                    .hint("write a missing value as null, and caps as finite numbers"),
            ),
        },
        Values::Text(a) => {
            match rows.iter().find(|&&i| !slice.columns[column].is_null(i as usize) && number(a.value(i as usize)).is_none()) {
                None => return Ok(()),
                Some(&i) => (
                    i,
                    Fault::new("not-numeric", format!("column `{name}` is to hold numbers, but holds the text `{}`", a.value(i as usize)))
                        .hint("list it under `nominal`, or, if the text means missing, under `null_values` of a CSV file"),
                ),
            }
        }
        Values::Bool(_) => match rows.first() {
            None => return Ok(()),
            Some(&i) => (
                i,
                Fault::new("not-numeric", format!("column `{name}` is to hold numbers, but holds booleans"))
                    .hint("list it under `nominal`"),
            ),
        },
    };
    Err(plan.source.at(fault, slice.first_row + u64::from(i)).in_column(name).into())
}
