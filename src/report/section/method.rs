//! Section "How it was done": sets, models, rows, intervals, and the formula of every metric the
//! page shows.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::{AttributeWords, ModelWords, SetWords};
use crate::metric::interval::INTERVAL_METHODS;
use crate::report::page::number::NumberFormat;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::words;
use crate::report::section::recourse;
use crate::table::ThresholdRow;

/// The section; comes after every section that shows metrics.
pub(crate) fn section(audit: &AuditFolder, glossary: &PageGlossary<'_>) -> PageSection {
    let m = &audit.manifest;
    let slices = audit.slices.values().flat_map(BTreeMap::values);
    let values = || audit.all_measures().chain(slices.clone().flat_map(BTreeMap::values));
    let derived = m
        .attributes
        .iter()
        .filter_map(|a| Some(context!(attribute => &a.name, made_of => a.made_of.as_ref()?)));
    let rows = &m.rows;
    let facts = context! {
        sets => !m.counterfactuals.is_empty(), recourse => recourse::is_there(audit),
        classes => audit.classes.are_there(), counterfactuals => sets(audit), models => models(audit),
        contracts => contracts(audit), thresholds => thresholds(audit),
        scales => m.models.iter().filter_map(ModelWords::scale_in_words).collect::<Value>(),
        rechecks => rechecks(audit), expected => expected(audit), audited => audited(audit),
        split => &m.split, row_id => &m.row_id, derived => derived.collect::<Value>(),
        rows => context!(source => rows.source, kept => rows.kept, trained => rows.trained, audited
            => rows.audited),
        persons => words::persons(audit), weights => words::weights(audit),
        unweighted_fit => audit.issues.iter().any(|issue| issue.code == "unweighted-fit"),
        quality => !audit.quality.is_empty(), intervals => intervals(audit),
        few_cases => values().any(|measure| measure.small), glossary => !glossary.shown.is_empty(),
        clarify => glossary.shown.iter().any(|entry| entry.family == "clarify"),
    };
    let mut blocks = vec![PageBlock::Part("method.html", facts)];
    if !glossary.shown.is_empty() {
        blocks.push(PageBlock::Glossary(glossary.shown.clone()));
    }
    PageSection { id: "method", title: "How it was done", blocks }
}

/// Whether all attributes that a set changes are derived from other columns.
fn all_written(set: &SetWords) -> bool {
    set.attributes.iter().all(|attribute| set.written.contains_key(attribute))
}

/// Names from the job, with commas between them.
fn joined(names: &[String]) -> RichText {
    names.iter().enumerate().fold(RichText::new(), |words, (i, name)| {
        if i > 0 { words.text(", ") } else { words }.quote(name)
    })
}

fn sets(audit: &AuditFolder) -> Option<PageTable> {
    let row = |set: &SetWords| {
        let strategy = terms::strategy_in_words(&set.strategy, all_written(set));
        let more = terms::condition(&set.knobs)
            .map(RichText::from)
            .into_iter()
            .chain(set.placebo.map(|n| terms::placebo(&set.strategy, all_written(set), n)))
            .chain(set.doubt.map(terms::fit_doubt));
        let does = RichText::from(strategy.unwrap_or_default());
        let does = more.fold(does, |words, more| words.text(" ").and(more));
        let knobs = if set.knobs.is_empty() { "none".into() } else { joined(&set.knobs) };
        let cells = [RichText::new().code(&set.strategy), does, knobs, joined(&set.attributes)];
        ReportRow::new(RichText::new().name(&set.name), cells)
    };
    let head = ["Set", "Strategy", "What it does", "Knobs", "Attributes"];
    PageTable::of_words(head, audit.manifest.counterfactuals.iter().map(row)).filled()
}

fn models(audit: &AuditFolder) -> Option<PageTable> {
    let row = |model: &ModelWords| {
        let rule = match (model.threshold_rule.as_str(), model.score_scale().turned) {
            ("ge", false) => "at or above ",
            ("gt", false) => "above ",
            ("ge", true) => "at or below ",
            ("gt", true) => "below ",
            _ => "",
        };
        let cells = [
            RichText::new().code(&model.kind),
            RichText::new().quote(&model.words),
            RichText::new().text(rule).quote(&model.threshold),
        ];
        ReportRow::new(RichText::new().name(&model.name), cells)
    };
    let predicts =
        if audit.classes.are_there() { "Predicts" } else { "Predicts positive when the score is" };
    let head = ["Model", "Kind", "What it is", predicts];
    PageTable::of_words(head, audit.manifest.models.iter().map(row)).filled()
}

/// The contracts with models that are trained elsewhere.
fn contracts(audit: &AuditFolder) -> Option<PageTable> {
    let row = |model: &ModelWords| {
        let contract = model.contract.as_ref()?;
        let columns = match contract.columns.is_empty() {
            true => RichText::from("its own"),
            false => joined(&contract.columns),
        };
        let class = match &contract.class {
            Some(class) => RichText::new()
                .quote(class)
                .text(" of ")
                .quote(contract.classes.join(", "))
                .text(", by ")
                .text(&contract.class_from),
            None => RichText::from("the positive one, by convention: it gives one number a row"),
        };
        Some(ReportRow::new(RichText::new().name(&model.name), [columns, class]))
    };
    let head = ["Model", "Columns in order", "Class of the score"];
    PageTable::of_words(head, audit.manifest.models.iter().filter_map(row)).filled()
}

/// The thresholds that were fitted, of each model.
fn thresholds(audit: &AuditFolder) -> Value {
    let mut of_models: BTreeMap<&str, Vec<&ThresholdRow>> = BTreeMap::new();
    for row in audit.thresholds.iter().filter(|row| row.arm.is_empty()) {
        of_models.entry(row.model.as_str()).or_default().push(row);
    }
    let of_model = |(model, rows): (&str, Vec<&ThresholdRow>)| {
        let span = |of: fn(&ThresholdRow) -> f64, kind: NumberFormat| {
            let values = || rows.iter().map(|row| of(row));
            let low = kind.value(values().fold(f64::INFINITY, f64::min));
            let high = kind.value(values().fold(f64::NEG_INFINITY, f64::max));
            if low == high { low } else { format!("{low} to {high}") }
        };
        context! {
            model, folds => rows.len(), rows => rows.iter().map(|row| row.n_rows).sum::<i64>(),
            at => span(|row| row.threshold, NumberFormat::Plain),
            tpr => span(|row| row.tpr, NumberFormat::Share),
            tnr => span(|row| row.tnr, NumberFormat::Share),
        }
    };
    of_models.into_iter().map(of_model).collect()
}

/// What was audited, for the macro of this name.
pub(crate) fn audited(audit: &AuditFolder) -> Value {
    let m = &audit.manifest;
    let data = m.inputs.iter().filter(|input| input.what == "data");
    let attribute = |a: &AttributeWords| context!(attribute => &a.name, groups => &a.groups, reference => &a.reference);
    context! {
        decision => &m.words.decision, favourable => favourable(audit), version => &m.words.version,
        data => data.map(|input| &input.path).collect::<Value>(), persons => m.person.is_some(),
        rows => m.rows.audited, attributes => m.attributes.iter().map(attribute).collect::<Value>(),
        owner => &m.words.owner,
    }
}

/// Which prediction is the favourable one, for the macro of this name.
fn favourable(audit: &AuditFolder) -> Value {
    let m = &audit.manifest;
    if let Some(label) = &m.label {
        let prediction = match (label.classes.is_empty(), label.favourable_is_positive) {
            (true, true) => "predicted positive",
            (true, false) => "predicted negative, that is, not",
            (false, true) => "predicted one of the positive classes",
            (false, false) => "predicted another class than",
        };
        let (column, positive) = (&label.column, &label.positive);
        return context!(kind => "label", prediction, column, positive);
    }
    let kind = match (m.favourable_without_label, m.amounts()) {
        (Some(true), _) => "positive",
        (Some(false), _) => "negative",
        (None, Some(told)) if told.better_is_lower => "lower",
        (None, Some(_)) => "higher",
        (None, None) => "none",
    };
    context!(kind)
}

/// What scoring rows again gave, of each model.
fn rechecks(audit: &AuditFolder) -> Value {
    let of_model = |model: &ModelWords| {
        let recheck = model.recheck?;
        let files = ["scores", "decision"].contains(&model.kind.as_str());
        let largest = NumberFormat::Plain.value(recheck.largest);
        let (rows, differ) = (recheck.rows, recheck.differ);
        Some(context!(model => &model.name, files, rows, differ, largest))
    };
    audit.manifest.models.iter().filter_map(of_model).collect()
}

/// What the comparison with known scores found, of each model.
fn expected(audit: &AuditFolder) -> Value {
    let of_model = |model: &ModelWords| {
        let known = model.expect.as_ref()?;
        Some(context! {
            model => &model.name, column => &known.column, rows => known.rows,
            differ => known.differ, at_most => known.at_most, unknown => known.unknown,
            tolerance => known.tolerance.to_string(),
            largest => NumberFormat::Plain.value(known.largest),
        })
    };
    audit.manifest.models.iter().filter_map(of_model).collect()
}

/// How intervals are made.
fn intervals(audit: &AuditFolder) -> Value {
    let level = audit.manifest.level.get();
    let all = || audit.all_measures().filter(|m| m.interval.is_some());
    let methods: BTreeSet<&str> = all().map(|m| m.method.as_str()).collect();
    let slices = audit.slices.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values);
    let n = all().count()
        + slices.filter(|m| m.interval.is_some()).count()
        + audit.comparisons.iter().filter(|row| row.lo.is_some()).count();
    let said = |(code, _): &&(&str, &str)| methods.contains(code);
    let meanings: Value = INTERVAL_METHODS.iter().filter(said).map(|(_, words)| *words).collect();
    context!(level, n, meanings)
}
