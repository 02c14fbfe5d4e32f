//! The first pass of preparing: losses of each filter, values that occur, and invalid values.
//!
//! Pieces are surveyed on any thread and merged in order; counts add up and first rows are the
//! lowest, so the result does not depend on the partition of the rows.

use std::collections::HashMap;

use crate::data::FeatureKind;
use crate::data::prepare::derive::DerivationRule;
use crate::data::prepare::params::{FilterStep, MissingRule};
use crate::data::prepare::plan::PreparePlan;
use crate::data::prepare::weight::WeightSummary;
use crate::data::source::SourceSlice;
use crate::data::thousands::Thousands;
use crate::data::values::{Numeral, SourceValues, ValueClass, parse_number};
use crate::error::{Fault, Result};

/// Largest number of levels of a coded column.
pub(crate) const MAX_LEVELS: usize = 100_000;

/// Number of levels of a nominal column above which an issue is reported.
///
/// Few models learn anything from so many, and they cost memory.
pub(crate) const MANY_LEVELS: usize = 1000;

/// The accumulator of the survey.
pub(crate) struct SourceSurvey {
    /// Number of rows of the source.
    n_in: u64,
    /// Rows left after each step that can lose rows.
    ///
    /// The steps are the filters, the removal of duplicates, and each feature whose missing values
    /// drop rows.
    rows_left: Vec<u64>,
    /// Number of rows that are kept.
    pub(crate) n_rows: u64,
    /// The values of each counted column.
    pub(crate) tallies: Vec<ColumnTally>,
    /// Missing values of each feature.
    pub(crate) nulls: Vec<u64>,
    /// Whether each feature holds a number that is not whole.
    pub(crate) fractional: Vec<bool>,
    /// Statistics on thousands separators in each feature; empty unless its numbers are decimals.
    pub(crate) thousands: Vec<Thousands>,
    /// Values of the source, filtered or not, that `null_values` made missing, by its columns.
    pub(crate) made_null: Vec<u64>,
    /// Values without a name, by derived column.
    pub(crate) nameless: Vec<UnnamedValues>,
    /// Rows without exactly one 1, by one-hot group.
    pub(crate) onehot: Vec<OneHotFaults>,
    /// The weights of the rows.
    pub(crate) weights: WeightSummary,
}

/// Rows of a one-hot group without exactly one 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OneHotFaults {
    /// Rows with no 1.
    pub(crate) none: u64,
    /// Rows with several 1.
    pub(crate) several: u64,
}

/// How often each value of a column occurs.
#[derive(Default)]
pub(crate) struct ColumnTally {
    /// Count and first row by word.
    pub(crate) occurrences: HashMap<String, ValueOccurrences>,
    /// Rows without a value.
    pub(crate) nulls: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueOccurrences {
    pub(crate) n: u64,
    pub(crate) first_row: u64,
}

impl ColumnTally {
    fn add(&mut self, word: String, seen: ValueOccurrences) {
        let entry = self
            .occurrences
            .entry(word)
            .or_insert(ValueOccurrences { n: 0, first_row: seen.first_row });
        entry.n += seen.n;
        entry.first_row = entry.first_row.min(seen.first_row);
    }

    /// The words in byte order.
    pub(crate) fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.occurrences.keys().map(String::as_str).collect();
        words.sort_unstable();
        words
    }

    /// Each word with its count, most frequent first.
    pub(crate) fn by_count(&self) -> Vec<(&str, u64)> {
        let mut words: Vec<(&str, u64)> =
            self.occurrences.iter().map(|(word, seen)| (word.as_str(), seen.n)).collect();
        words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        words
    }
}

/// Values of the parents of a derived column that have no name in it.
#[derive(Default)]
pub(crate) struct UnnamedValues {
    /// Rows with such a value.
    pub(crate) n: u64,
    /// The values of a map.
    pub(crate) words: ColumnTally,
    /// The lowest and the highest number outside the bins.
    pub(crate) extremes: Option<(f64, f64)>,
}

impl UnnamedValues {
    fn merge(&mut self, other: UnnamedValues) {
        self.n += other.n;
        other.words.occurrences.into_iter().for_each(|(word, seen)| self.words.add(word, seen));
        self.extremes = match (self.extremes, other.extremes) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
}

/// For each row of a slice whether it passes all filters, and the number left after each filter.
pub(crate) fn apply_filters(
    plan: &PreparePlan<'_>,
    slice: &SourceSlice,
) -> Result<(Vec<bool>, Vec<u64>)> {
    let mut alive = vec![true; slice.rows];
    let mut left = Vec::new();
    for step in &plan.steps {
        alive.iter_mut().zip(step.passes(slice)?).for_each(|(a, passes)| *a &= passes);
        left.push(count(&alive));
    }
    Ok((alive, left))
}

fn count(alive: &[bool]) -> u64 {
    alive.iter().filter(|&&a| a).count() as u64
}

/// The rows of a slice that are kept, and the number left after each step that can lose rows.
///
/// The steps are the filters, the removal of duplicates, and each feature whose missing values drop
/// rows.
pub(crate) fn kept_rows(
    plan: &PreparePlan<'_>,
    slice: &SourceSlice,
) -> Result<(Vec<u32>, Vec<u64>)> {
    let (mut alive, mut left) = apply_filters(plan, slice)?;
    if let Some(repeated) = &plan.repeated {
        let end = slice.first_row + slice.rows as u64;
        let from = repeated.partition_point(|&row| row < slice.first_row);
        for row in repeated[from..].iter().take_while(|&&row| row < end) {
            alive[(row - slice.first_row) as usize] = false;
        }
        left.push(count(&alive));
    }
    for feature in plan.features.iter().filter(|f| f.rule == MissingRule::DropRow) {
        let values = &slice.columns[feature.column];
        if values.has_nulls() {
            alive.iter_mut().enumerate().for_each(|(i, a)| *a &= !values.is_null(i));
        }
        left.push(count(&alive));
    }
    let rows = alive.iter().enumerate().filter(|(_, a)| **a).map(|(i, _)| i as u32).collect();
    Ok((rows, left))
}

/// Counts how often each value occurs among some rows.
fn tally_rows(tally: &mut ColumnTally, values: &SourceValues, rows: &[u32], first_row: u64) {
    let distinct = values.distinct(rows);
    let mut counts = vec![0; distinct.first.len()];
    for id in &distinct.ids {
        match id {
            Some(id) => counts[*id as usize] += 1,
            None => tally.nulls += 1,
        }
    }
    for (&i, n) in distinct.first.iter().zip(counts) {
        if let Some(word) = values.word(i) {
            tally.add(word.into_owned(), ValueOccurrences { n, first_row: first_row + i as u64 });
        }
    }
}

impl SourceSurvey {
    pub(crate) fn empty(plan: &PreparePlan<'_>) -> Self {
        let drops = plan.features.iter().filter(|f| f.rule == MissingRule::DropRow).count();
        SourceSurvey {
            n_in: 0,
            rows_left: vec![0; plan.steps.len() + usize::from(plan.repeated.is_some()) + drops],
            n_rows: 0,
            tallies: plan.coded.iter().map(|_| ColumnTally::default()).collect(),
            nulls: vec![0; plan.features.len()],
            fractional: vec![false; plan.features.len()],
            thousands: vec![Thousands::default(); plan.features.len()],
            made_null: vec![0; plan.view.nulls().len()],
            nameless: plan.view.derived().map(|_| UnnamedValues::default()).collect(),
            onehot: vec![OneHotFaults::default(); plan.onehot.len()],
            weights: WeightSummary::default(),
        }
    }

    pub(crate) fn add(&mut self, plan: &PreparePlan<'_>, slice: &SourceSlice) -> Result<()> {
        let (rows, left) = kept_rows(plan, slice)?;
        self.n_in += slice.rows as u64;
        self.rows_left.iter_mut().zip(left).for_each(|(sum, n)| *sum += n);
        self.n_rows += rows.len() as u64;
        for (feature, nulls) in plan.features.iter().zip(&mut self.nulls) {
            let values = &slice.columns[feature.column];
            let missing = values.nulls_among(&rows);
            let first = || rows.iter().find(|&&i| values.is_null(i as usize));
            if let (MissingRule::Error, Some(&i)) =
                (feature.rule, (missing > 0).then(first).flatten())
            {
                let fault =
                    Fault::new("missing-value", format!("column `{}` has no value", feature.name))
                        .in_column(&feature.name);
                let hint =
                    "the job's `missing` block says `error`; `keep`, `level` and `drop-row` go on";
                return Err(plan
                    .view
                    .source()
                    .locate_row(fault, slice.first_row + u64::from(i))
                    .hint(hint)
                    .into());
            }
            *nulls += missing;
        }
        for column in plan.numbers() {
            check_numbers(plan, slice, column, &rows)?;
        }
        for (feature, fractional) in plan.features.iter().zip(&mut self.fractional) {
            if matches!(feature.kind, FeatureKind::Continuous { .. }) && !*fractional {
                *fractional = !slice.columns[feature.column].is_whole(&rows);
            }
        }
        for (feature, thousands) in plan.features.iter().zip(&mut self.thousands) {
            let values = &slice.columns[feature.column];
            if matches!(
                (&feature.kind, values),
                (FeatureKind::Continuous { .. }, SourceValues::Float(_))
            ) {
                thousands.look(rows.iter().map(|&i| values.number(i as usize)));
            }
        }
        for ((_, columns), broken) in plan.onehot.iter().zip(&mut self.onehot) {
            let ones = one_hot_counts(plan, slice, columns, &rows)?;
            broken.none += ones.iter().filter(|&&n| n == 0).count() as u64;
            broken.several += ones.iter().filter(|&&n| n > 1).count() as u64;
        }
        let without_id = |column: usize| {
            rows.iter().find(|&&i| slice.columns[column].is_null(i as usize)).map(|&i| (column, i))
        };
        if let Some((column, i)) = plan.row_id.and_then(without_id) {
            let fault =
                Fault::new("missing-row-id", "a row has no row id").in_column(plan.name(column));
            let hint = "give every row an id, or leave `row_id` out: the row number of the source \
                        serves then";
            return Err(plan
                .view
                .source()
                .locate_row(fault, slice.first_row + u64::from(i))
                .hint(hint)
                .into());
        }
        if let Some(column) = plan.weight {
            self.weights.merge(check_weights(plan, slice, column, &rows)?);
        }
        for (tally, &column) in self.tallies.iter_mut().zip(&plan.coded) {
            tally_rows(tally, &slice.columns[column], &rows, slice.first_row);
        }
        self.made_null.iter_mut().zip(&slice.made_null).for_each(|(sum, n)| *sum += n);
        for ((column, derived), nameless) in plan.view.derived().zip(&mut self.nameless) {
            // A cross with a missing part has no name: the missing part is reported already.
            let &[parent] = derived.parents.as_slice() else { continue };
            let (values, names) = (&slice.columns[parent], &slice.columns[column]);
            let without: Vec<u32> = rows
                .iter()
                .copied()
                .filter(|&i| names.is_null(i as usize) && !values.is_null(i as usize))
                .collect();
            let mut found = UnnamedValues { n: without.len() as u64, ..UnnamedValues::default() };
            match derived.rule {
                DerivationRule::Bins(_) => {
                    let numbers = without.iter().map(|&i| values.number(i as usize));
                    found.extremes = numbers.fold(None, |seen: Option<(f64, f64)>, x| {
                        Some(seen.map_or((x, x), |(lo, hi)| (lo.min(x), hi.max(x))))
                    });
                }
                _ => tally_rows(&mut found.words, values, &without, slice.first_row),
            }
            nameless.merge(found);
        }
        self.check_levels(plan)
    }

    pub(crate) fn merge(&mut self, plan: &PreparePlan<'_>, other: SourceSurvey) -> Result<()> {
        self.n_in += other.n_in;
        self.n_rows += other.n_rows;
        self.rows_left.iter_mut().zip(other.rows_left).for_each(|(sum, n)| *sum += n);
        self.nulls.iter_mut().zip(other.nulls).for_each(|(sum, n)| *sum += n);
        self.fractional.iter_mut().zip(other.fractional).for_each(|(any, here)| *any |= here);
        self.thousands
            .iter_mut()
            .zip(other.thousands)
            .for_each(|(mine, theirs)| mine.merge(theirs));
        self.made_null.iter_mut().zip(other.made_null).for_each(|(sum, n)| *sum += n);
        self.nameless.iter_mut().zip(other.nameless).for_each(|(mine, theirs)| mine.merge(theirs));
        for (mine, theirs) in self.onehot.iter_mut().zip(other.onehot) {
            mine.none += theirs.none;
            mine.several += theirs.several;
        }
        self.weights.merge(other.weights);
        for (mine, theirs) in self.tallies.iter_mut().zip(other.tallies) {
            mine.nulls += theirs.nulls;
            theirs.occurrences.into_iter().for_each(|(word, seen)| mine.add(word, seen));
        }
        self.check_levels(plan)
    }

    fn check_levels(&self, plan: &PreparePlan<'_>) -> Result<()> {
        let coded = self.tallies.iter().zip(&plan.coded).map(|(tally, &column)| (tally, column));
        let mapped = self
            .nameless
            .iter()
            .zip(plan.view.derived())
            .map(|(nameless, (column, _))| (&nameless.words, column));
        match coded.chain(mapped).find(|(tally, _)| tally.occurrences.len() > MAX_LEVELS) {
            None => Ok(()),
            Some((tally, column)) => {
                let name = plan.name(column);
                check_decimals(plan, name, tally)?;
                let fault = Fault::new(
                    "too-many-levels",
                    format!("column `{name}` has more than {MAX_LEVELS} different values"),
                )
                .in_column(name);
                Err(plan
                    .view
                    .source()
                    .locate_file(fault)
                    .hint(
                        "numbers belong under `continuous`, names and ids under `ignore` or \
                         `row_id`",
                    )
                    .into())
            }
        }
    }

    /// The steps that can lose rows, with their counts.
    ///
    /// # Errors
    /// No row is left, or the source has none.
    pub(crate) fn filters(&self, plan: &PreparePlan<'_>) -> Result<Vec<FilterStep>> {
        let drops = plan.features.iter().filter(|f| f.rule == MissingRule::DropRow);
        let repeated = plan.repeated.iter().map(|_| "duplicates: drop-exact".to_owned());
        let names = plan.steps.iter().map(|s| format!("keep {}", s.what)).chain(repeated);
        let names = names.chain(drops.map(|f| format!("missing {}: drop-row", f.name)));
        let mut rows_in = self.n_in;
        let steps: Vec<FilterStep> = names
            .zip(&self.rows_left)
            .map(|(what, &rows_out)| FilterStep {
                what,
                rows_in: std::mem::replace(&mut rows_in, rows_out),
                rows_out,
            })
            .collect();
        if self.n_in == 0 {
            let files: Vec<String> =
                plan.view.source().files().take(3).map(|f| format!("`{}`", f.display())).collect();
            return Err(plan
                .view
                .source()
                .locate_file(Fault::new(
                    "no-rows",
                    format!("there are no rows in {}", files.join(", ")),
                ))
                .hint("write the rows there, or correct the path in the job")
                .into());
        }
        if let Some(last) = steps.iter().find(|s| s.rows_out == 0) {
            let what = format!(
                "no row is left: `{}` lost the last {} of {} rows",
                last.what, last.rows_in, self.n_in
            );
            return Err(plan
                .view
                .source()
                .locate_file(Fault::new("no-rows", what))
                .hint("check the words of the filter against the values of the column")
                .into());
        }
        // A text column used as numbers, every value of which could be a number.
        for column in plan.numbers() {
            let all_null = plan
                .features
                .iter()
                .zip(&self.nulls)
                .any(|(f, &n)| f.column == column && n == self.n_rows);
            if plan.view.columns()[column].class == ValueClass::Text && !all_null {
                let name = plan.name(column);
                let fault = Fault::new(
                    "not-numeric",
                    format!("column `{name}` is text, although its values look like numbers"),
                )
                .in_column(name);
                return Err(plan
                    .view
                    .source()
                    .locate_file(fault)
                    .hint("write the column with a number type, or list it under `nominal`")
                    .into());
            }
        }
        if let Some(column) = plan.weight {
            let (name, largest) = (plan.name(column), self.weights.largest());
            let what = match () {
                () if largest == 0.0 => format!("every weight in column `{name}` is 0"),
                () if (largest * self.n_rows as f64).is_infinite() => {
                    format!("weights in column `{name}` are too large to be added")
                }
                () => return Ok(steps),
            };
            let fault = Fault::new("bad-weight", what).in_column(name);
            return Err(plan
                .view
                .source()
                .locate_file(fault)
                .hint("a weight says how many people a row stands for")
                .into());
        }
        Ok(steps)
    }
}

/// Fails where the levels of a column are numbers with a decimal sign.
///
/// That is: more than [`MANY_LEVELS`] levels, of which 95 % read as numbers and half have the sign.
/// Whole numbers alone may be codes.
pub(crate) fn check_decimals(
    plan: &PreparePlan<'_>,
    name: &str,
    tally: &ColumnTally,
) -> Result<()> {
    let n = tally.occurrences.len();
    if n <= MANY_LEVELS {
        return Ok(());
    }
    let (mut read, mut commas, mut points, mut grouped, mut by_three) = (0, 0, 0, 0, 0);
    for word in tally.occurrences.keys() {
        let Some(numeral) = Numeral::of(word) else { continue };
        read += 1;
        commas += usize::from(numeral.decimal_sign == Some(','));
        points += usize::from(numeral.decimal_sign == Some('.'));
        grouped += usize::from(numeral.grouped);
        let behind = word.trim().rsplit(['.', ',']).next().map_or(0, str::len);
        by_three += usize::from(numeral.decimal_sign.is_some() && behind == 3);
    }
    if read * 100 < n * 95 || (commas + points) * 2 < n {
        return Ok(());
    }
    let sign = if commas > points { "comma" } else { "point" };
    let what = format!(
        "column `{name}` has {n} different values as levels, and {read} of them read as numbers, \
         most with a decimal {sign}"
    );
    let thousands = format!(
        "every such {sign} has exactly three digits behind it: if it stands between thousands, \
         take it out of the file first (else `350` counts for more than `27{}912`); ",
        if sign == "comma" { ',' } else { '.' }
    );
    let in_file = match (sign, grouped > 0) {
        _ if grouped == 0 && commas.min(points) == 0 && by_three == commas + points => &thousands,
        ("comma", _) => {
            "write the numbers in the file with a decimal point instead of the comma and nothing \
             between thousands (`4583.58` for `4.583,58`), then "
        }
        (_, true) => {
            "write nothing between thousands in the file (`4583.58` for `4,583.58`), then "
        }
        _ => "",
    };
    let hint = format!(
        "{in_file}list `{name}` under `continuous`; codes of this form need a letter in front"
    );
    let fault = Fault::new("numbers-as-levels", what).in_column(name).hint(hint);
    Err(plan.view.source().locate_file(fault).into())
}

/// Fails on the first kept value of a numeric column that is not a finite number.
fn check_numbers(
    plan: &PreparePlan<'_>,
    slice: &SourceSlice,
    column: usize,
    rows: &[u32],
) -> Result<()> {
    let name = plan.name(column);
    let (i, fault) = match &slice.columns[column] {
        SourceValues::Int(_) | SourceValues::Empty(_) => return Ok(()),
        SourceValues::Float(a) => match rows.iter().find(|&&i| {
            a.value(i as usize).is_infinite() && !slice.columns[column].is_null(i as usize)
        }) {
            None => return Ok(()),
            Some(&i) => (
                i,
                Fault::new(
                    "infinite-value",
                    format!("column `{name}` holds `{}`", a.value(i as usize)),
                )
                .hint("write a missing value as null, and caps as finite numbers"),
            ),
        },
        texts @ (SourceValues::Text(_) | SourceValues::Named(_))
            if plan.view.derived_at(column).is_none() =>
        {
            let no_number = |&i: &u32| {
                texts
                    .word(i as usize)
                    .filter(|text| parse_number(text).is_none())
                    .map(|text| (i, text))
            };
            match rows.iter().find_map(no_number) {
                None => return Ok(()),
                Some((i, text)) => (
                    i,
                    Fault::new(
                        "not-numeric",
                        format!("column `{name}` is to hold numbers, but holds the text `{text}`"),
                    )
                    .hint(if Numeral::of(&text).is_some() {
                        "write decimal points instead of commas, and nothing between thousands"
                            .to_owned()
                    } else if plan.weight == Some(column) {
                        "a weight is a number in every row: correct the value, or take such \
                         rows out by `keep`"
                            .to_owned()
                    } else if plan
                        .features
                        .iter()
                        .any(|f| f.column == column && f.kind == FeatureKind::OrdinalNumber)
                    {
                        format!(
                            "name its levels from low to high: `ordinal: {{{name}: [LOW, \
                             ..., HIGH]}}`"
                        )
                    } else {
                        "list it under `nominal`, or, if the text means missing, under \
                         `null_values` of a CSV file"
                            .to_owned()
                    }),
                ),
            }
        }
        SourceValues::Bool(_) | SourceValues::Text(_) | SourceValues::Named(_) => {
            match rows.first() {
                None => return Ok(()),
                Some(&i) => {
                    let holds = if matches!(slice.columns[column], SourceValues::Bool(_)) {
                        "booleans"
                    } else {
                        "names"
                    };
                    let what = format!("column `{name}` is to hold numbers, but holds {holds}");
                    (i, Fault::new("not-numeric", what).hint("list it under `nominal`"))
                }
            }
        }
    };
    Err(plan.view.source().locate_row(fault, slice.first_row + u64::from(i)).in_column(name).into())
}

/// The number of columns of a one-hot group that are 1 in each kept row.
///
/// Fails on the first value that is neither 0 nor 1 nor missing.
fn one_hot_counts(
    plan: &PreparePlan<'_>,
    slice: &SourceSlice,
    columns: &[usize],
    rows: &[u32],
) -> Result<Vec<u32>> {
    let mut ones = vec![0; rows.len()];
    for &column in columns {
        for (&i, n) in rows.iter().zip(&mut ones) {
            let value = slice.columns[column].number(i as usize);
            *n += u32::from(value == 1.0);
            if value != 0.0 && value != 1.0 && !value.is_nan() {
                let what =
                    format!("column `{}` of a one-hot group holds `{value}`", plan.name(column));
                let fault = Fault::new("bad-onehot", what).in_column(plan.name(column));
                let hint = "write 1 in the column of a row's level and 0 in the others, or list \
                            the columns under `continuous`";
                return Err(plan
                    .view
                    .source()
                    .locate_row(fault, slice.first_row + u64::from(i))
                    .hint(hint)
                    .into());
            }
        }
    }
    Ok(ones)
}

/// Fails on the first kept row without a weight of 0 or more; returns the summary of the weights.
///
/// Infinite weights and texts are not numbers; that was checked before.
fn check_weights(
    plan: &PreparePlan<'_>,
    slice: &SourceSlice,
    column: usize,
    rows: &[u32],
) -> Result<WeightSummary> {
    let values = &slice.columns[column];
    let mut weights = WeightSummary::default();
    for &i in rows {
        let weight = values.number(i as usize);
        let what = match weight {
            _ if values.is_null(i as usize) => "a row has no weight".to_owned(),
            w if w < 0.0 => format!("a row has the weight `{w}`, below 0"),
            w => {
                weights.add(w);
                continue;
            }
        };
        let fault = Fault::new("bad-weight", what).in_column(plan.name(column));
        return Err(plan
            .view
            .source()
            .locate_row(fault, slice.first_row + u64::from(i))
            .hint("a weight is a number of 0 or more")
            .into());
    }
    Ok(weights)
}
