//! Section "How it was done": sets, models, rows, intervals, and the formula of every metric the
//! page shows.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::{ModelWords, SetWords};
use crate::metric::interval::{INTERVAL_METHODS, method_meaning};
use crate::report::page::number::NumberFormat;
use crate::report::page::terms::PageGlossary;
use crate::report::page::{PageBlock, PageSection};
use crate::report::read::audit::AuditFolder;
use crate::report::read::grouped::grouped;
use crate::report::read::words;
use crate::report::section::recourse;
use crate::table::ThresholdRow;
use crate::text::fact;

/// The section; comes after every section that shows metrics.
pub(crate) fn section(audit: &AuditFolder, glossary: &PageGlossary<'_>) -> PageSection {
    let m = &audit.manifest;
    let mut values = audit.without_arms().flat_map(|(_, values)| values.values());
    let facts = context! {
        m => fact(m), sets => m.counterfactuals.iter().map(set).collect::<Value>(),
        recourse => recourse::is_there(audit), classes => audit.classes.are_there(),
        thresholds => thresholds(audit),
        scales => m.models.iter().filter_map(ModelWords::scale_in_words).collect::<Value>(),
        persons => words::persons(audit), weights => words::weights(audit),
        unweighted_fit => audit.issues.iter().any(|issue| issue.code == "unweighted-fit"),
        quality => !audit.quality.is_empty(), intervals => intervals(audit),
        few_cases => values.any(|measure| measure.is_small()), glossary => !glossary.shown.is_empty(),
        clarify => glossary.shown.iter().any(|entry| entry.family == "clarify"),
    };
    let mut blocks = vec![PageBlock("method.html", facts)];
    if !glossary.shown.is_empty() {
        blocks.push(glossary.block());
    }
    PageSection::new("method", blocks)
}

/// A set with its knobs as words, and whether all attributes that it changes are derived from other
/// columns.
fn set(of: &SetWords) -> Value {
    let written = of.attributes.iter().all(|attribute| of.written.contains_key(attribute));
    let knobs = of.knobs.iter().map(ToString::to_string);
    context!(of => fact(of), written, knobs => knobs.collect::<Value>())
}

/// The thresholds that were fitted, of each model.
fn thresholds(audit: &AuditFolder) -> Value {
    let rows = audit.thresholds.iter().filter(|row| row.arm.is_empty());
    let mut of_models = grouped(rows.map(|row| (row.model.as_str(), row)));
    of_models.sort_by_key(|(model, _)| *model);
    let of_model = |(model, rows): (&str, Vec<&ThresholdRow>)| {
        context! {
            model, folds => rows.len(), rows => rows.iter().map(|row| row.n_rows).sum::<i64>(),
            at => NumberFormat::Plain.span(rows.iter().map(|row| row.threshold)),
            tpr => NumberFormat::Share.span(rows.iter().map(|row| row.tpr)),
            tnr => NumberFormat::Share.span(rows.iter().map(|row| row.tnr)),
        }
    };
    of_models.into_iter().map(of_model).collect()
}

/// How intervals are made.
fn intervals(audit: &AuditFolder) -> Value {
    let all = audit.without_arms().flat_map(|(key, of)| of.values().map(move |of| (key, of)));
    let all = || all.clone().filter(|(_, of)| of.ends().is_some());
    let methods = all().filter(|(key, _)| key.slice.is_empty()).map(|(_, of)| of.interval.as_str());
    let methods: BTreeSet<&str> = methods.collect();
    let n = all().count() + audit.comparisons.iter().filter(|row| row.lo.is_some()).count();
    let said = |word: &&&str| methods.contains(**word);
    let meanings: Value =
        INTERVAL_METHODS.iter().filter(said).map(|word| method_meaning(word)).collect();
    context!(n, meanings)
}
