//! Features that reveal the label, the score or who a person is, numbers that may be codes or mean
//! missing, and one-hot columns that are declared separately: `cfaudit check` warns of them before
//! a model is trained on them.
//!
//! The rules are those of `cfaudit new` ([`crate::data::column`]), on rows drawn by the hash of
//! their numbers: about 100,000, or as many as hold four million values.

use std::hash::{BuildHasher, BuildHasherDefault};

use crate::data::column::codes::missing_codes;
use crate::data::column::leaks;
use crate::data::column::onehot::{OneHotGroup, onehot_groups};
use crate::data::column::profile::{ColumnProfile, SampleColumn};
use crate::data::column::roles::{SuspectedRole, is_code, suspected_role};
use crate::data::rows::Projection;
use crate::data::rows::split::TRAIN;
use crate::data::source::list_words;
use crate::data::values::{ValueClass, float_text};
use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING};
use crate::error::{Error, Result};
use crate::num::additive::Additive;
use crate::num::hash::FastHasher;
use crate::num::range::ValueRange;
use crate::stage::job_warnings::IssueNote;
use crate::stage::plan::StagePlan;
use crate::stage::recourse::unshared_numbers;
use crate::stage::row_context::RowContext;
use crate::stage::row_features::empty_rows;

/// Rows that are looked at.
const TRAP_ROWS: u64 = 100_000;

/// Values that are looked at, at most.
const TRAP_VALUES: u64 = 4_000_000;

/// From this number of rows on, values that all differ are reported.
const TOLD_APART: usize = 300;

/// A feature that reveals the label, the score, the decision or who a person is, or that looks like
/// a weight, a date or free text.
pub(crate) const LEAKY_FEATURE: &str = "leaky-feature";

/// A number that may be the code of a level.
pub(crate) const INTEGER_CODE: &str = "integer-code";

/// Columns of a one-hot group that are features of their own.
pub(crate) const ONEHOT_APART: &str = "onehot-apart";

/// A number that may mean missing.
pub(crate) const MISSING_CODE: &str = "missing-code";

/// Words for the label in the sample.
const LABELS: [&str; 2] = ["negative", "positive"];

/// Rows of the sample.
struct TrapRows {
    rows: FeatureRows,
    carried: Vec<Vec<f64>>,
    label: Vec<u32>,
    /// For each feature the smallest and the largest value, or code, of all training rows.
    ranges: Vec<Option<ValueRange>>,
}

/// What is suspicious about the features that models read, and those of them that are constant
/// among the training rows; where none trains, among all.
///
/// # Errors
/// The rows cannot be read, or the run is to stop.
pub(crate) fn find(
    plan: &StagePlan<'_>,
    row_context: RowContext<'_>,
) -> Result<(Vec<IssueNote>, Vec<String>)> {
    let layout = row_context.rows.layout();
    if !plan.features || layout.inputs().next().is_none() {
        return Ok((Vec::new(), Vec::new()));
    }
    let sample = draw(row_context)?;
    for (position, attribute) in layout.attributes.iter().enumerate() {
        let of = (position, attribute.name.as_str());
        unshared_numbers::refuse(plan.checked, layout, of, &sample.rows.columns)?;
    }
    let is_constant = |(_, range): &(&Feature, &Option<ValueRange>)| {
        range.is_none_or(|ValueRange(low, high)| low == high)
    };
    let constant = layout.features.iter().zip(&sample.ranges).filter(is_constant);
    let constant = constant.map(|(feature, _)| feature.name.clone()).collect();
    let label = layout.label.as_ref().filter(|label| label.classes.is_empty()).map(|label| {
        let words = LABELS.map(str::to_owned);
        let codes = SampleColumn::Codes(&sample.label, &words);
        ColumnProfile::of_sample(&label.column, ValueClass::Text, &codes)
    });
    let (sensitive, looked): (Vec<usize>, Vec<usize>) =
        layout.inputs().partition(|&f| layout.features[f].kind == FeatureKind::Sensitive);
    let mut columns: Vec<ColumnProfile> =
        looked.iter().map(|&f| of_feature(layout, &sample, f)).collect();
    let scores = scores(plan, layout);
    for (name, numbers) in layout.carried.iter().zip(&sample.carried) {
        let (name, _) = layout.source_of_carried(name);
        if scores.contains(&name) && columns.iter().all(|profile| profile.name != name) {
            let values = SampleColumn::Numbers(numbers);
            columns.push(ColumnProfile::of_sample(name, ValueClass::Float, &values));
        }
    }
    let found = leaks::find(&columns, label.as_ref().map(|label| (label, LABELS[1])), &scores);
    // A sensitive column is a separate feature, of which only the groups are used.
    columns.extend(sensitive.iter().map(|&f| of_feature(layout, &sample, f)));
    let attributes: Vec<&str> =
        layout.attributes.iter().map(|of| layout.features[of.feature].name.as_str()).collect();
    let mut notes = onehot_apart(plan, &columns[..looked.len()]);
    for (profile, &f) in columns.iter().zip(&looked) {
        let name = &profile.name;
        let told = found.reasons.get(name).and_then(|why| why.split(';').next());
        let suspected = || {
            let role = suspected_role(profile, (&columns, &attributes, None))?;
            let tells = role != SuspectedRole::RowId || profile.sample.len() >= TOLD_APART;
            tells.then(|| role.why())
        };
        if let Some(why) = told.or_else(suspected) {
            let text = format!("the feature `{name}` may know what it should not: {why}");
            let hint = "list it under `features.ignore` unless it is known before the decision";
            notes.push(IssueNote::warning(LEAKY_FEATURE, name, 0, text).with_hint(hint.to_owned()));
        }
        if !matches!(layout.features[f].kind, FeatureKind::Continuous { .. }) {
            continue;
        }
        let is_onehot =
            plan.job.data.features.onehot.values().flatten().any(|of| of.as_str() == name);
        for set in missing_codes(profile.numbers()).iter().filter(|_| !is_onehot) {
            let codes = list_words(set.codes.iter().map(|&code| float_text(code)), 10);
            let text = format!(
                "the feature `{name}` is {codes} in {} of {} rows looked at, and the nearest other \
                 number is {}",
                set.rows,
                profile.sample.len(),
                float_text(set.nearest)
            );
            let hint = format!(
                "if it means missing, write `data.missing.null_values: {{{name}: [{codes}]}}`"
            );
            notes.push(IssueNote::warning(MISSING_CODE, name, set.rows, text).with_hint(hint));
        }
        if is_code(profile) {
            let text = format!(
                "the feature `{name}` has {} different whole numbers, which may be codes of levels",
                profile.levels.len()
            );
            let hint = "list it under `nominal` if they are codes, under `ordinal` if only their \
                        order counts";
            notes.push(IssueNote::warning(INTEGER_CODE, name, 0, text).with_hint(hint.to_owned()));
        }
    }
    Ok((notes, constant))
}

/// The profile of a feature in the sample.
fn of_feature(layout: &Layout, sample: &TrapRows, f: usize) -> ColumnProfile {
    let feature = &layout.features[f];
    let (class, values) = match &sample.rows.columns[f] {
        FeatureColumn::Code(codes) => {
            (ValueClass::Text, SampleColumn::Codes(codes, &feature.levels))
        }
        FeatureColumn::Number(numbers) => {
            let whole = numbers.iter().all(|x| x.is_nan() || x.fract() == 0.0);
            let class = if whole { ValueClass::Int } else { ValueClass::Float };
            (class, SampleColumn::Numbers(numbers))
        }
    };
    ColumnProfile::of_sample(&feature.name, class, &values)
}

/// Columns of which in almost every row exactly one is 1 and that the job does not group.
fn onehot_apart(plan: &StagePlan<'_>, columns: &[ColumnProfile]) -> Vec<IssueNote> {
    let grouped = &plan.job.data.features.onehot;
    let is_alone = |name: &str| grouped.values().flatten().all(|column| column.as_str() != name);
    let bits: Vec<(&str, Option<Vec<bool>>)> = columns
        .iter()
        .map(|profile| (profile.name.as_str(), profile.bits().filter(|_| is_alone(&profile.name))))
        .collect();
    let apart = |(i, group): (usize, OneHotGroup)| {
        let names: Vec<&str> = group.columns.iter().map(|&at| columns[at].name.as_str()).collect();
        let list = list_words(names.iter().map(|name| format!("`{name}`")), 10);
        let text = format!(
            "in almost every row exactly one of the features {list} is 1, as in a one-hot group, \
             and each is moved by itself: counterfactuals may have several of them, or none"
        );
        let is_free = |name: &str| {
            columns.iter().all(|profile| profile.name != name)
                && grouped.keys().all(|of| of.as_str() != name)
        };
        let name = group.free_name(i, is_free);
        let hint = format!("write `data.features.onehot: {{{name}: [{}]}}`", names.join(", "));
        IssueNote::warning(ONEHOT_APART, names[0], 0, text).with_hint(hint)
    };
    onehot_groups(&bits).into_iter().enumerate().map(apart).collect()
}

/// The columns of the rows that models name as their scores or decisions.
fn scores<'a>(plan: &StagePlan<'_>, layout: &'a Layout) -> Vec<&'a str> {
    let models = plan.job.models.values().filter_map(|model| model.given_scores());
    let named = models.map(|scores| scores.factual.clone());
    let named = named.filter(|factual| factual.parquet.is_none()).filter_map(|of| of.column);
    let carried = |name: &str| layout.carried.iter().find(|carried| *carried == name);
    named.filter_map(|name| Some(layout.source_of_carried(carried(name.as_str())?).0)).collect()
}

/// The smallest and the largest value, or code, of the rows that count.
fn range_of(column: &FeatureColumn, counts: impl Fn(usize) -> bool) -> Option<ValueRange> {
    let value = |i: usize| match column {
        FeatureColumn::Number(numbers) => Some(numbers[i]).filter(|x| !x.is_nan()),
        FeatureColumn::Code(codes) => Some(codes[i]).filter(|&code| code != MISSING).map(f64::from),
    };
    let n = match column {
        FeatureColumn::Number(numbers) => numbers.len(),
        FeatureColumn::Code(codes) => codes.len(),
    };
    ValueRange::of((0..n).filter(|&i| counts(i)).filter_map(value))
}

/// Rows drawn by the hash of their numbers.
fn draw(row_context: RowContext<'_>) -> Result<TrapRows> {
    let rows = row_context.rows;
    let layout = rows.layout();
    let width = (layout.features.len() + layout.carried.len() + 1) as u64;
    let wanted = TRAP_ROWS.min(TRAP_VALUES / width).max(1);
    let limit = match layout.n_rows {
        n if n <= wanted => u64::MAX,
        n => u64::MAX / n * wanted,
    };
    // With folds every row trains, in some fold.
    let has_training =
        row_context.roles.n_trained() > 0 && row_context.roles.n_audited() < layout.n_rows;
    let hash = |row: u64| BuildHasherDefault::<FastHasher>::default().hash_one(row);
    let read = |g: usize| {
        (row_context.watch.check)()?;
        let batch = rows.read(g, Projection::ALL)?;
        let first = rows.first_row(g) as u64;
        let drawn: Vec<usize> =
            (0..batch.rows.n).filter(|&i| hash(first + i as u64) <= limit).collect();
        let carried: Vec<Vec<f64>> =
            batch.carried.iter().map(|all| drawn.iter().map(|&i| all[i]).collect()).collect();
        let label = |i: usize| match batch.label.get(i) {
            Some(Some(positive)) => u32::from(*positive),
            _ => u32::MAX,
        };
        let labels: Vec<u32> = drawn.iter().map(|&i| label(i)).collect();
        let roles = row_context.roles.read(g)?;
        let trains = |i: usize| !has_training || roles.0.get(i) == Some(&TRAIN);
        let ranges: Vec<Option<ValueRange>> =
            batch.rows.columns.iter().map(|column| range_of(column, trains)).collect();
        Ok::<_, Error>((batch.rows.take(&drawn), carried, labels, ranges))
    };
    let mut all = TrapRows {
        rows: empty_rows(layout),
        carried: vec![Vec::new(); layout.carried.len()],
        label: Vec::new(),
        ranges: vec![None; layout.features.len()],
    };
    row_context.workers.map(rows.n_groups(), read, |_, (rows, carried, labels, ranges)| {
        all.rows.append(rows);
        all.carried.iter_mut().zip(carried).for_each(|(all, more)| all.extend(more));
        all.label.extend(labels);
        all.ranges.absorb(&ranges);
        Ok(())
    })?;
    Ok(all)
}
