//! Features that tell the label, the score or who a person is, and numbers that may mean missing:
//! what `cfaudit check` warns of before a model is trained on them.
//!
//! The rules are those of `cfaudit new` ([`crate::job::new::leaks`]), on rows drawn by the hash of
//! their numbers: about 100,000, or as many as hold four million values.

use std::hash::{BuildHasher, BuildHasherDefault};

use crate::data::prepare::issues::IssueSeverity;
use crate::data::source::file_profile::{ColumnProfile, SampleColumn};
use crate::data::values::{ValueClass, float_text};
use crate::data::{FeatureColumn, FeatureKind, FeatureRows, Layout};
use crate::error::{Error, Result};
use crate::job::new::leaks;
use crate::num::hash::FastHasher;
use crate::stage::advice::IssueNote;
use crate::stage::plan::StagePlan;
use crate::stage::recourse::unshared_numbers;
use crate::stage::row_context::RowContext;

/// Rows that are looked at.
const TRAP_ROWS: u64 = 100_000;

/// Values that are looked at, at most.
const TRAP_VALUES: u64 = 4_000_000;

/// Rows from which on values that all differ are reported.
const TOLD_APART: usize = 300;

/// A feature that tells the label, the score, the decision or who a person is.
pub(crate) const LEAKY_FEATURE: &str = "leaky-feature";

/// A number that may mean missing.
pub(crate) const MISSING_CODE: &str = "missing-code";

/// Words for the label in the sample.
const LABELS: [&str; 2] = ["negative", "positive"];

/// Rows of the sample.
#[derive(Default)]
struct TrapRows {
    features: Vec<FeatureColumn>,
    carried: Vec<Vec<f64>>,
    label: Vec<u32>,
}

impl TrapRows {
    fn add(&mut self, rows: &FeatureRows, carried: Vec<Vec<f64>>, label: Vec<u32>) {
        if self.features.is_empty() {
            self.features.clone_from(&rows.columns);
            (self.carried, self.label) = (carried, label);
            return;
        }
        for (all, more) in self.features.iter_mut().zip(&rows.columns) {
            match (all, more) {
                (FeatureColumn::Number(all), FeatureColumn::Number(more)) => all.extend(more),
                (FeatureColumn::Code(all), FeatureColumn::Code(more)) => all.extend(more),
                _ => {}
            }
        }
        self.carried.iter_mut().zip(carried).for_each(|(all, more)| all.extend(more));
        self.label.extend(label);
    }
}

/// What is suspicious about the features that models read.
///
/// # Errors
/// The rows cannot be read, or the run is to stop.
pub(crate) fn find(plan: &StagePlan<'_>, row_context: RowContext<'_>) -> Result<Vec<IssueNote>> {
    let layout = row_context.rows.layout();
    if !plan.features || layout.inputs().next().is_none() {
        return Ok(Vec::new());
    }
    let sample = draw(row_context)?;
    for (position, attribute) in layout.attributes.iter().enumerate() {
        let of = (position, attribute.name.as_str());
        unshared_numbers::refuse(plan.checked, layout, of, &sample.features)?;
    }
    let label = layout.label.as_ref().filter(|label| label.classes.is_empty()).map(|label| {
        let words = LABELS.map(str::to_owned);
        let codes = SampleColumn::Codes(&sample.label, &words);
        ColumnProfile::of_sample(&label.column, ValueClass::Text, &codes)
    });
    let mut columns: Vec<ColumnProfile> = Vec::new();
    let mut looked = Vec::new();
    for f in layout.inputs() {
        let feature = &layout.features[f];
        // A sensitive column is a feature by itself, and nothing but its groups is asked of it.
        if feature.kind == FeatureKind::Sensitive {
            continue;
        }
        let (class, values) = match &sample.features[f] {
            FeatureColumn::Code(codes) => {
                (ValueClass::Text, SampleColumn::Codes(codes, &feature.levels))
            }
            FeatureColumn::Number(numbers) => {
                let whole = numbers.iter().all(|x| x.is_nan() || x.fract() == 0.0);
                let class = if whole { ValueClass::Int } else { ValueClass::Float };
                (class, SampleColumn::Numbers(numbers))
            }
        };
        columns.push(ColumnProfile::of_sample(&feature.name, class, &values));
        looked.push(f);
    }
    let scores = scores(plan, layout);
    for (name, numbers) in layout.carried.iter().zip(&sample.carried) {
        let (name, _) = layout.source_of_carried(name);
        if scores.contains(&name) && columns.iter().all(|look| look.name != name) {
            let values = SampleColumn::Numbers(numbers);
            columns.push(ColumnProfile::of_sample(name, ValueClass::Float, &values));
        }
    }
    let found =
        leaks::find(&columns, label.as_ref().map(|label| (label, LABELS[1])), Some(&scores));
    let mut notes = Vec::new();
    for (look, &f) in columns.iter().zip(&looked) {
        let name = &look.name;
        let told = found.reasons.get(name).and_then(|why| why.split(';').next());
        let apart = || {
            let are_enough = look.sample.len() >= TOLD_APART;
            let is_apart = are_enough && leaks::tells_rows_apart(look, false);
            is_apart.then_some("it identifies rows")
        };
        if let Some(why) = told.or_else(apart) {
            let text = format!("the feature `{name}` may know what it should not: {why}");
            let hint = "list it under `features.ignore` unless it is known before the decision";
            notes.push(note(LEAKY_FEATURE, name, 0, text).with_hint(hint.to_owned()));
        }
        if let (FeatureKind::Continuous { .. }, Some((code, n, next))) =
            (&layout.features[f].kind, leaks::missing_code(look))
        {
            let (code, next) = (float_text(code), float_text(next));
            let text = format!(
                "the feature `{name}` is {code} in {n} of {} rows looked at, and the nearest other \
                 number is {next}",
                look.sample.len()
            );
            let hint = format!(
                "if it means missing, write `data.missing.null_values: {{{name}: [{code}]}}`"
            );
            notes.push(note(MISSING_CODE, name, n as u64, text).with_hint(hint));
        }
    }
    Ok(notes)
}

fn note(code: &str, place: &str, n: u64, text: String) -> IssueNote {
    IssueNote {
        code: code.to_owned(),
        severity: IssueSeverity::Warning.as_str().to_owned(),
        place: place.to_owned(),
        n,
        text,
        hint: None,
    }
}

/// The columns of the rows that models name as their scores or decisions.
fn scores<'a>(plan: &StagePlan<'_>, layout: &'a Layout) -> Vec<&'a str> {
    let models = plan.job.models.values().filter_map(|model| model.made_elsewhere());
    let named = models.map(|scores| &scores.factual).filter(|factual| factual.parquet.is_none());
    let named = named.filter_map(|factual| factual.column.as_ref()).map(|column| column.as_str());
    let carried = |name: &str| layout.carried.iter().find(|carried| *carried == name);
    named.filter_map(|name| Some(layout.source_of_carried(carried(name)?).0)).collect()
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
    let hash = |row: u64| BuildHasherDefault::<FastHasher>::default().hash_one(row);
    let look = |g: usize| {
        (row_context.watch.check)()?;
        let batch = rows.read(g)?;
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
        Ok::<_, Error>((batch.rows.take(&drawn), carried, labels))
    };
    let mut all = TrapRows::default();
    row_context.workers.map(rows.n_groups(), look, |_, (rows, carried, labels)| {
        all.add(&rows, carried, labels);
        Ok(())
    })?;
    Ok(all)
}
