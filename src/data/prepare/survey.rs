//! What preparing counts: losses of each filter, values that occur, and invalid values.
//!
//! Pieces are surveyed on any thread and merged in order; counts add up and first rows are the
//! lowest, so the result does not depend on the partition of the rows.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::data::FeatureKind;
use crate::data::prepare::derive::DerivationRule;
use crate::data::prepare::params::MissingRule;
use crate::data::prepare::plan::PreparePlan;
use crate::data::prepare::remaining_rows::{
    KeptSlice, RowsSeen, check_numbers, check_weights, one_hot_counts,
};
use crate::data::prepare::row_id::IdRun;
use crate::data::prepare::tally::{
    ColumnCodes, ColumnTally, OneHotFaults, UnmatchedRows, UnnamedValues,
};
use crate::data::prepare::weight::WeightSummary;
use crate::data::rows::role_counts::RoleCounts;
use crate::data::source::notation::Numeral;
use crate::data::source::side_table::{JoinBlock, SideTable, UnmatchedRule};
use crate::data::thousands::Thousands;
use crate::data::values::{SourceValues, ValueClass};
use crate::error::{Fault, Result};
use crate::exec::accumulator::Accumulator;
use crate::num::additive::{Additive, additive};
use crate::num::range::ValueRange;
use crate::table::{FilterRow, whole};

/// Largest number of levels of a coded column.
pub(crate) const MAX_LEVELS: usize = 100_000;

/// Number of levels of a nominal column above which an issue is reported.
///
/// Few models learn anything from so many, and they cost memory.
pub(crate) const MANY_LEVELS: usize = 1000;

/// The accumulator of the survey.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SourceSurvey {
    /// What became of the rows.
    #[serde(flatten)]
    pub(crate) rows: RowsSeen,
    /// The values of each counted column, as the source holds them.
    tallies: Vec<ColumnTally>,
    /// The values of each feature.
    pub(crate) features: Vec<FeatureSeen>,
    /// Values without a name, by derived column.
    pub(crate) nameless: Vec<UnnamedValues>,
    /// Rows without exactly one 1, by one-hot group.
    pub(crate) onehot: Vec<OneHotFaults>,
    /// The weights of the rows.
    pub(crate) weights: WeightSummary,
}

/// The values of a feature.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FeatureSeen {
    /// Missing values.
    pub(crate) nulls: u64,
    /// Whether a number is not whole.
    pub(crate) fractional: bool,
    /// Statistics on thousands separators; empty unless its numbers are decimals.
    pub(crate) thousands: Thousands,
}

additive!(FeatureSeen { nulls, fractional, thousands });

impl SourceSurvey {
    pub(crate) fn empty(plan: &PreparePlan<'_>) -> Self {
        SourceSurvey {
            rows: RowsSeen {
                rows_left: vec![0; plan.losses().len()],
                source_nulls: vec![false; plan.features.len()],
                made_null: vec![0; plan.view.nulls.len()],
                respelt: vec![0; plan.view.spelt.len()],
                not_finite: vec![0; plan.view.derived().count()],
                unmatched: vec![UnmatchedRows::default(); plan.view.source.joined().len()],
                ..RowsSeen::default()
            },
            tallies: plan.coded.iter().map(|_| ColumnTally::default()).collect(),
            features: vec![FeatureSeen::default(); plan.features.len()],
            nameless: plan.view.derived().map(|_| UnnamedValues::default()).collect(),
            onehot: vec![OneHotFaults::default(); plan.onehot.len()],
            weights: WeightSummary::default(),
        }
    }

    /// The values of a counted column as the source holds them; their codes are those of the file.
    pub(crate) fn as_read(&self, plan: &PreparePlan<'_>, column: usize) -> &ColumnTally {
        &self.tallies[plan.coded.binary_search(&column).unwrap_or_default()]
    }

    /// The values of a counted column in the job's view.
    pub(crate) fn tally(&self, plan: &PreparePlan<'_>, column: usize) -> Cow<'_, ColumnTally> {
        let read = self.as_read(plan, column);
        match plan.view.changes(column) {
            false => Cow::Borrowed(read),
            true => Cow::Owned(read.mapped(|word| plan.view.prepared_word(column, word))),
        }
    }

    /// How many of the kept rows are audited and train, where each row has its own role; all count
    /// as audited where none has. `drawn` is how many a hash split audits.
    pub(crate) fn role_counts(&self, plan: &PreparePlan<'_>, drawn: u64) -> RoleCounts {
        if let Some(split) = &plan.split {
            let tally = self.tally(plan, split.column);
            let of = |words: &[String]| {
                words.iter().filter_map(|word| tally.occurrences.get(word)).map(|seen| seen.n).sum()
            };
            return RoleCounts { audited: of(&split.audit), trained: of(&split.train) };
        }
        let audited = if plan.params.hash_split.is_some() { drawn } else { self.rows.n_rows };
        RoleCounts { audited, trained: self.rows.n_rows - audited }
    }

    /// Counts the rows of a slice; returns the codes of each counted column.
    ///
    /// # Errors
    /// A value that no later stage could handle.
    pub(crate) fn add(
        &mut self,
        plan: &PreparePlan<'_>,
        slice: &KeptSlice,
    ) -> Result<Vec<ColumnCodes>> {
        self.rows.absorb(&slice.rows_seen);
        let mut codes = Vec::with_capacity(plan.coded.len());
        for (tally, &column) in self.tallies.iter_mut().zip(&plan.coded) {
            codes.push(tally.add_values(slice.as_read(column), |i| slice.row_number(i)));
        }
        let fault = |code, column: usize, i: usize, what: String| {
            plan.fault_in_row(code, (column, slice.row_number(i)), what)
        };
        for (feature, seen) in plan.features.iter().zip(&mut self.features) {
            let values = &slice.columns[feature.column];
            let missing = values.n_missing();
            let first = || (0..slice.n).find(|&i| values.is_null(i));
            if let (MissingRule::Error, Some(i)) =
                (feature.rule, (missing > 0).then(first).flatten())
            {
                let what = format!("column `{}` has no value", feature.name);
                let hint = "the job's `missing` block says `error`; with `keep`, `level` or \
                            `drop-row` the run continues";
                return fault("missing-value", feature.column, i, what).fail(hint);
            }
            seen.nulls += missing;
        }
        for column in plan.numbers() {
            check_numbers(plan, slice, column)?;
        }
        for (feature, seen) in plan.features.iter().zip(&mut self.features) {
            if !matches!(feature.kind, FeatureKind::Continuous { .. }) {
                continue;
            }
            let values = &slice.columns[feature.column];
            seen.fractional = seen.fractional || !values.is_whole();
            if let SourceValues::Float(values) = values {
                seen.thousands.look(values.iter().flatten());
            }
        }
        for ((_, columns), broken) in plan.onehot.iter().zip(&mut self.onehot) {
            let ones = one_hot_counts(plan, slice, columns)?;
            broken.none += ones.iter().filter(|&&n| n == 0).count() as u64;
            broken.several += ones.iter().filter(|&&n| n > 1).count() as u64;
        }
        let without_id = |column: usize| {
            (0..slice.n).find(|&i| slice.columns[column].is_null(i)).map(|i| (column, i))
        };
        if let Some((column, i)) = plan.row_id.and_then(without_id) {
            let what = "a row has no row id".to_owned();
            let hint = "give every row an id, or leave `row_id` out to use the row number of \
                        the source";
            return fault("missing-row-id", column, i, what).fail(hint);
        }
        if let Some((column, i)) = plan.person.and_then(without_id) {
            let what = "a row does not say whose it is".to_owned();
            let hint = "say whose row it is, or take such rows out by `keep`";
            return fault("missing-person", column, i, what).fail(hint);
        }
        if let Some(column) = plan.weight {
            self.weights.merge(check_weights(plan, slice, column)?);
        }
        for ((column, derived), nameless) in plan.view.derived().zip(&mut self.nameless) {
            if matches!(derived.rule, DerivationRule::Sql { .. }) {
                continue;
            }
            // A cross with a missing part has no name; the missing part has been reported.
            let &[parent] = derived.parents.as_slice() else { continue };
            let of = &plan.view.columns[parent];
            let values = of.canonical_values(&slice.columns[parent]);
            let names = &slice.columns[column];
            let without: Vec<u32> = (0..slice.n as u32)
                .filter(|&i| names.is_null(i as usize) && !values.is_null(i as usize))
                .collect();
            let mut found = UnnamedValues { n: without.len() as u64, ..UnnamedValues::default() };
            match derived.rule {
                DerivationRule::Bins(_) => {
                    let numbers = without.iter().map(|&i| values.number(i as usize));
                    found.extremes = ValueRange::of(numbers);
                }
                _ => {
                    let row = |i: usize| slice.row_number(without[i] as usize);
                    found.words.add_values(&values.take(&without), row);
                    let alike = derived.rule.alike(&values);
                    let row = |i: usize| slice.row_number(alike[i] as usize);
                    found.alike.add_values(&values.take(&alike), row);
                }
            }
            nameless.absorb(&found);
        }
        self.check_levels(plan)?;
        Ok(codes)
    }

    /// Merges the survey of other rows; returns for each counted column the code here of each of
    /// their codes.
    pub(crate) fn merge_coded(&mut self, other: &SourceSurvey) -> Vec<Vec<u32>> {
        self.rows.absorb(&other.rows);
        self.features.absorb(&other.features);
        self.nameless.absorb(&other.nameless);
        self.onehot.absorb(&other.onehot);
        self.weights.merge(other.weights);
        self.tallies.iter_mut().zip(&other.tallies).map(|(a, b)| a.merge(b)).collect()
    }

    /// Whether no row is lost.
    pub(crate) fn keeps_all(&self) -> bool {
        self.rows.n_rows == self.rows.n_in
    }

    /// Fails where a side table lacks keys that it must have, or all of them.
    ///
    /// # Errors
    /// The table, with the number of rows and some of their keys.
    pub(crate) fn check_keys(&self, plan: &PreparePlan<'_>) -> Result<()> {
        for (table, unmatched) in plan.view.source.joined().iter().zip(&self.rows.unmatched) {
            let SideTable { name, join: JoinBlock { on, missing, .. }, .. } = table;
            let UnmatchedRows { n, of, first } = unmatched;
            let Some((row, _)) = first.first() else { continue };
            let all = n == of;
            if !all && *missing != UnmatchedRule::Error {
                continue;
            }
            let what = format!(
                "{} of {of} rows have a key `{on}` that the side table `{name}` lacks, such as {}",
                if all { "all".to_owned() } else { n.to_string() },
                unmatched.keys()
            );
            let hint = match all {
                true => format!(
                    "the table holds keys such as {}: keys are compared by their text, so `0017` \
                     is not 17",
                    table.examples()
                ),
                false => format!(
                    "add the rows to the table, or say what becomes of them by \
                     `data.join.{name}.missing: keep` or `drop`"
                ),
            };
            let fault = Fault::new("unmatched-key", what).in_column(on.as_str());
            return plan.view.source.locate_row(fault, *row).fail(hint);
        }
        Ok(())
    }

    /// Fails where a column has too many words.
    ///
    /// # Errors
    /// The column, with what may be meant instead.
    pub(crate) fn check_levels(&self, plan: &PreparePlan<'_>) -> Result<()> {
        let coded = self.tallies.iter().zip(&plan.coded).map(|(tally, &column)| (tally, column));
        let mapped =
            self.nameless.iter().zip(plan.view.derived()).flat_map(|(nameless, (column, _))| {
                [(&nameless.words, column), (&nameless.alike, column)]
            });
        match coded.chain(mapped).find(|(tally, _)| tally.occurrences.len() > MAX_LEVELS) {
            None => Ok(()),
            Some((tally, column)) => {
                let name = plan.name(column);
                check_decimals(plan, column, tally)?;
                let what = format!("column `{name}` has more than {MAX_LEVELS} different values");
                plan.fault("too-many-levels", column, what).fail(
                    "list numbers under `continuous`, names and ids under `ignore` or \
                         `row_id`",
                )
            }
        }
    }

    /// The source, and the steps that can lose rows, with their counts.
    ///
    /// # Errors
    /// No row is left, or the source has none.
    pub(crate) fn filters(&self, plan: &PreparePlan<'_>) -> Result<Vec<FilterRow>> {
        let mut rows_in = self.rows.n_in;
        let mut row = |what: String, rows_out: u64| FilterRow {
            step: 0,
            what: what.into(),
            rows_in: whole(std::mem::replace(&mut rows_in, rows_out)),
            rows_out: whole(rows_out),
        };
        let mut steps = vec![row("rows of the source".to_owned(), self.rows.n_in)];
        let losses = plan.losses();
        steps.extend(losses.iter().zip(&self.rows.rows_left).map(|(of, &n)| row(of.what(), n)));
        (0..).zip(&mut steps).for_each(|(at, step)| step.step = at);
        if self.rows.n_in == 0 {
            let files: Vec<String> =
                plan.view.source.files().take(3).map(|f| format!("`{}`", f.display())).collect();
            let what = format!("there are no rows in {}", files.join(", "));
            let hint = "write the rows there, or correct the path in the job";
            return plan.view.source.locate_file(Fault::new("no-rows", what)).fail(hint);
        }
        if let Some(last) = steps.iter().find(|s| s.rows_out == 0) {
            let what = format!(
                "no row is left: `{}` dropped the last {} of {} rows",
                last.what, last.rows_in, self.rows.n_in
            );
            let hint = "compare the values in the filter with those of the column";
            return plan.view.source.locate_file(Fault::new("no-rows", what)).fail(hint);
        }
        // A text column used as numbers, every value of which could be a number.
        for column in plan.numbers() {
            let mut seen = plan.features.iter().zip(&self.features);
            let all_null =
                seen.any(|(of, seen)| of.column == column && seen.nulls == self.rows.n_rows);
            if plan.view.columns[column].class == ValueClass::Text && !all_null {
                let name = plan.name(column);
                let what =
                    format!("column `{name}` is text, although its values look like numbers");
                let hint = "write the column with a number type, or list it under `nominal`";
                return plan.fault("not-numeric", column, what).fail(hint);
            }
        }
        if let Some(column) = plan.weight {
            let (name, largest) = (plan.name(column), self.weights.largest);
            let what = match () {
                () if largest == 0.0 => format!("every weight in column `{name}` is 0"),
                () if (largest * self.rows.n_rows as f64).is_infinite() => {
                    format!("weights in column `{name}` are too large to be summed")
                }
                () => return Ok(steps),
            };
            let hint = "a weight is the number of people that a row represents";
            return plan.fault("bad-weight", column, what).fail(hint);
        }
        Ok(steps)
    }
}

impl Accumulator for SourceSurvey {
    fn merge(&mut self, other: Self) {
        self.merge_coded(&other);
    }

    fn settle(&mut self) {
        let words = self
            .nameless
            .iter_mut()
            .flat_map(|nameless| [&mut nameless.words, &mut nameless.alike]);
        self.tallies
            .iter_mut()
            .chain(words)
            .for_each(|tally| tally.occurrences.sort_unstable_keys());
    }
}

/// Fails where the levels of a column are numbers with a decimal sign.
///
/// That is: more than [`MANY_LEVELS`] levels, of which 95 % read as numbers and half have the sign.
/// Only whole numbers may be codes.
pub(crate) fn check_decimals(
    plan: &PreparePlan<'_>,
    column: usize,
    tally: &ColumnTally,
) -> Result<()> {
    let (name, n) = (plan.name(column), tally.occurrences.len());
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
        "every such {sign} is followed by exactly three digits: if it is a thousands separator, \
         remove it from the file first (otherwise `350` counts as more than `27{}912`); ",
        if sign == "comma" { ',' } else { '.' }
    );
    let in_file = match (sign, grouped > 0) {
        _ if grouped == 0 && commas.min(points) == 0 && by_three == commas + points => &thousands,
        ("comma", _) => {
            "specify how the file writes numbers (`csv: {path: ..., decimal: \",\", thousands: \
             \".\"}`), or write `4583.58` for `4.583,58` in it, then "
        }
        (_, true) => {
            "specify how the file writes numbers (`csv: {path: ..., thousands: \",\"}`), or write \
             `4583.58` for `4,583.58` in it, then "
        }
        _ => "",
    };
    let hint = format!(
        "{in_file}list `{name}` under `continuous`; add a letter in front of codes of this form"
    );
    plan.fault("numbers-as-levels", column, what).fail(hint)
}

/// Rows of the source that follow each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SurveyedRange {
    /// Number of the first one.
    pub(crate) first_row: u64,
    /// How many they are.
    pub(crate) rows: u64,
    /// The roles of those that are kept, as far as each row has its own; where ranks decide, all
    /// count as audited.
    pub(crate) roles: RoleCounts,
    /// The ids of the kept ones; without row ids those of no row.
    pub(crate) ids: IdRun,
}

/// What was seen of some rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SurveyedRows {
    /// The values that occur.
    pub(crate) survey: SourceSurvey,
    /// Which rows, in their order.
    ranges: Vec<SurveyedRange>,
}

impl SurveyedRows {
    /// The survey of rows that follow each other.
    pub(crate) fn new(survey: SourceSurvey, range: SurveyedRange) -> Self {
        // A shard may have no rows, and then no position either.
        let ranges = if range.rows > 0 { vec![range] } else { Vec::new() };
        SurveyedRows { survey, ranges }
    }

    /// Whether the ids rise from row to row, through all ranges.
    pub(crate) fn ids_rise(&self) -> bool {
        let mut all = IdRun::default();
        self.ranges.iter().for_each(|range| all.append(range.ids.clone()));
        all.rises()
    }

    /// The roles of all rows.
    pub(crate) fn roles(&self) -> RoleCounts {
        let mut all = RoleCounts::default();
        self.ranges.iter().for_each(|range| all.absorb(&range.roles));
        all
    }

    /// Number of the first row; 0 where there is none.
    pub(crate) fn first_row(&self) -> u64 {
        self.ranges.first().map_or(0, |range| range.first_row)
    }
}

impl Accumulator for SurveyedRows {
    fn merge(&mut self, other: Self) {
        self.survey.merge(other.survey);
        self.ranges.extend(other.ranges);
        self.ranges.sort_by_key(|range| range.first_row);
    }

    fn settle(&mut self) {
        self.survey.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::prepare::params::PrepareParams;
    use crate::data::prepare::tally::ValueOccurrences;
    use crate::data::prepare::view::SourceView;
    use crate::data::source::ParquetSource;
    use crate::data::tests::{integers, numbers, parquet, texts};
    use crate::exec::tests::state_laws::SampleState;

    impl SampleState for SourceSurvey {
        fn sample(_: u64) -> Self {
            SourceSurvey {
                rows: RowsSeen {
                    rows_left: vec![0],
                    source_nulls: vec![false],
                    made_null: vec![0],
                    ..RowsSeen::default()
                },
                tallies: vec![ColumnTally::default()],
                features: vec![FeatureSeen::default()],
                nameless: vec![UnnamedValues::default()],
                onehot: vec![OneHotFaults::default()],
                ..SourceSurvey::default()
            }
        }

        fn add_sample(&mut self, row: u64) {
            let mut one = SourceSurvey::sample(0);
            let tally = |n: u64| ColumnTally {
                occurrences: [(
                    format!("w{}", row * row % n),
                    ValueOccurrences { n: 1, first_row: row },
                )]
                .into(),
                nulls: row % 2,
            };
            (one.rows.n_in, one.rows.n_rows, one.rows.rows_left) = (2, 1, vec![1]);
            (one.features[0].nulls, one.rows.made_null) = (row % 3, vec![1]);
            one.features[0].fractional = row == 50;
            one.tallies = vec![tally(7)];
            one.rows.source_nulls = vec![row == 51];
            let x = row as f64 / 8.0;
            one.nameless = vec![UnnamedValues {
                n: 1,
                words: tally(5),
                alike: tally(2),
                extremes: Some(ValueRange(x, x)),
            }];
            one.features[0].thousands.look([x].into_iter());
            one.onehot = vec![OneHotFaults { none: row % 2, several: row % 5 }];
            one.weights.add(0.75 * (1 + row % 6) as f64);
            self.merge(one);
        }
    }

    #[test]
    fn any_partition_gives_the_same_survey_and_it_survives_being_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("rows.parquet");
        let n = 2000_i64;
        let sex: Vec<&str> = (0..n).map(|i| ["f", "m", "d"][(i * i % 7 % 3) as usize]).collect();
        let paid: Vec<i64> = (0..n).map(|i| i * i % 11 % 2).collect();
        let amounts: Vec<f64> = (0..n).map(|i| if i == 77 { f64::NAN } else { i as f64 }).collect();
        let weights: Vec<f64> = (0..n).map(|i| 0.25 * (1 + i % 9) as f64).collect();
        parquet(
            &file,
            vec![
                ("sex", texts(&sex)),
                ("paid", integers(&paid)),
                ("amount", numbers(&amounts)),
                ("weight", numbers(&weights)),
            ],
            700,
        );
        let params = PrepareParams::of(
            r#"keep: [{amount: {at_most: 1900}}], label: {column: paid, positive: ["1"]},
               sensitive: {sex: [f, m]}, continuous: [amount], weight: weight"#,
        );
        let source =
            ParquetSource::parquet(file.to_str().unwrap(), &params.columns(), &params.declared)
                .unwrap();
        let view = SourceView::new(&source, &params).unwrap();
        let plan = PreparePlan::new(&view, &params).unwrap();
        let survey = |batch_rows: usize, backwards: bool| {
            let mut parts = Vec::new();
            for piece in source.pieces() {
                view.read(piece, batch_rows, |slice| {
                    let mut part = SourceSurvey::empty(&plan);
                    part.add(&plan, &KeptSlice::new(&plan, slice)?)?;
                    parts.push(part);
                    Ok(())
                })
                .unwrap();
            }
            if backwards {
                parts.reverse();
            }
            let mut whole = SourceSurvey::empty(&plan);
            parts.into_iter().for_each(|part| whole.merge(part));
            whole
        };
        let whole = survey(4096, false);
        assert_eq!((whole.rows.n_rows, whole.keeps_all()), (1900, false));
        for (batch_rows, backwards) in [(4096, true), (333, false), (64, true), (1, false)] {
            assert_eq!(survey(batch_rows, backwards), whole, "{batch_rows} {backwards}");
        }
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<SourceSurvey>(&text).unwrap(), whole);
    }

    impl SampleState for SurveyedRows {
        fn sample(variant: u64) -> Self {
            SurveyedRows { survey: SourceSurvey::sample(variant), ranges: Vec::new() }
        }

        fn add_sample(&mut self, row: u64) {
            let mut survey = SourceSurvey::sample(0);
            survey.add_sample(row);
            self.merge(SurveyedRows::new(
                survey,
                range(row, row % 2, (row * 7 % 11).cast_signed()),
            ));
        }
    }

    fn range(first_row: u64, audited: u64, id: i64) -> SurveyedRange {
        let roles = RoleCounts { audited, trained: 1 - audited };
        SurveyedRange { first_row, rows: 1, roles, ids: IdRun::of([id].into_iter()) }
    }

    #[test]
    fn shards_in_any_order_are_put_in_that_of_the_rows() {
        let of = |ranges: &[SurveyedRange]| {
            let mut all = SurveyedRows::default();
            for range in ranges {
                all.merge(SurveyedRows::new(SourceSurvey::default(), range.clone()));
            }
            all
        };
        let rising = of(&[range(2, 1, 9), range(0, 1, 3), range(1, 0, 4)]);
        assert!(rising.ids_rise());
        assert_eq!(rising.roles(), RoleCounts { audited: 2, trained: 1 });
        let n_rows: u64 = rising.ranges.iter().map(|range| range.rows).sum();
        assert_eq!((rising.first_row(), n_rows), (0, 3));
        assert!(!of(&[range(0, 1, 3), range(1, 1, 3)]).ids_rise());
        assert!(!of(&[range(0, 1, 3), range(1, 1, 2)]).ids_rise());
    }
}
