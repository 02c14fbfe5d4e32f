//! Section "How it was done": sets, models, rows, intervals, and the formula of every metric the page shows.

use std::collections::BTreeSet;

use crate::report::folder::Audit;
use crate::report::number;
use crate::report::page::{Block, Row, Section, Table};
use crate::report::terms::{self, Glossary};
use crate::report::words::Words;

/// The section; comes after every section that shows metrics.
pub(super) fn section(audit: &Audit, glossary: &Glossary<'_>) -> Section {
    let m = &audit.manifest;
    let mut blocks = vec![
        Block::Text(
            "Counterfactual fairness asks whether a person would have got another decision had they belonged to another group. A counterfactual \
             explanation asks something else: what a person could change to get another decision. This page is about the first."
                .into(),
        ),
        Block::Text(
            "For each person audited a set writes the same person in another group; the model scores both; the two predictions are compared. A share of \
             switched predictions describes the model on these people. It does not say why the model behaves so."
                .into(),
        ),
    ];
    blocks.extend(sets(audit));
    blocks.extend(models(audit));
    let mut facts: Vec<(Words, Words)> =
        vec![("Favourable".into(), crate::report::verdict::favourable(audit)), ("Split".into(), Words::new().quote(&m.split))];
    let count = |n: u64| number::count(i64::try_from(n).unwrap_or(i64::MAX));
    facts.push((
        "Rows".into(),
        format!(
            "{} in the source, {} kept, {} train, {} audited",
            count(m.rows.source),
            count(m.rows.kept),
            count(m.rows.trained),
            count(m.rows.audited)
        )
        .into(),
    ));
    facts.push(("A row is".into(), Words::new().text("identified by ").quote(&m.row_id)));
    facts.push((
        "Order of groups".into(),
        "the reference group comes first and differences are first minus second; where a direction is compared with its reverse, the worse one names the group at a disadvantage".into(),
    ));
    facts.push(("Intervals".into(), intervals(audit)));
    blocks.push(Block::Facts(facts));
    if !glossary.shown.is_empty() {
        blocks.push(Block::Heading("glossary".to_owned(), "Metrics on this page".into()));
        blocks.push(Block::Note(
            "T, F: the factual prediction is right or wrong. C, S: the counterfactual prediction stays or switches. P, N: the counterfactual prediction is positive or \
             negative. CF: counterfactual. CCM: counterfactual confusion matrix; ECCM: the same split by label."
                .into(),
        ));
        blocks.push(Block::Glossary(glossary.shown.clone()));
    }
    Section { id: "method", title: "How it was done", blocks }
}

fn sets(audit: &Audit) -> Option<Block> {
    let rows: Vec<Row> = audit
        .manifest
        .counterfactuals
        .iter()
        .map(|set| {
            let joined = |names: &[String]| {
                names.iter().enumerate().fold(Words::new(), |words, (i, name)| if i > 0 { words.text(", ") } else { words }.quote(name))
            };
            let knobs = if set.knobs.is_empty() { "none".into() } else { joined(&set.knobs) };
            let does = terms::strategy(&set.strategy).unwrap_or_default();
            let cells = vec![Words::new().code(&set.strategy).into(), does.into(), knobs.into(), joined(&set.attributes).into()];
            Row { id: String::new(), head: Words::new().name(&set.name), cells }
        })
        .collect();
    let head = ["Set", "Strategy", "What it does", "Knobs", "Attributes"].map(Words::from).to_vec();
    (!rows.is_empty()).then(|| Block::Table(Table { caption: "Counterfactual sets".into(), head, rows, prose: true }))
}

fn models(audit: &Audit) -> Option<Block> {
    let rows: Vec<Row> = audit
        .manifest
        .models
        .iter()
        .map(|model| {
            let rule = match model.threshold_rule.as_str() {
                "ge" => "at or above ",
                "gt" => "above ",
                _ => "",
            };
            let cells = vec![
                Words::new().code(&model.kind).into(),
                Words::new().quote(&model.words).into(),
                Words::new().text(rule).quote(&model.threshold).into(),
            ];
            Row { id: String::new(), head: Words::new().name(&model.name), cells }
        })
        .collect();
    let head = ["Model", "Kind", "What it is", "Predicts positive when the score is"].map(Words::from).to_vec();
    (!rows.is_empty()).then(|| Block::Table(Table { caption: "Models".into(), head, rows, prose: true }))
}

fn intervals(audit: &Audit) -> Words {
    let Some(level) = audit.manifest.level else { return "the job asks for none".into() };
    let all = || audit.measures.values().flat_map(|m| m.values());
    let methods: BTreeSet<&str> = all().filter(|m| m.interval.is_some()).map(|m| m.method.as_str()).collect();
    let n = all().filter(|m| m.interval.is_some()).count();
    let mut text = format!(
        "{} level; {} intervals in the tables, not adjusted for their number. ",
        number::level(level),
        number::count(i64::try_from(n).unwrap_or(i64::MAX))
    );
    for code in ["wilson", "newcombe", "katz", "bootstrap"] {
        if methods.iter().any(|method| method.starts_with(code)) {
            text.push_str(terms::interval_method(code).unwrap_or_default());
            text.push(' ');
        }
    }
    if methods.iter().any(|method| method.starts_with("bootstrap")) {
        text.push_str(&format!(
            "{} bootstrap replicates. ",
            number::count(i64::try_from(audit.manifest.bootstrap_samples).unwrap_or(i64::MAX))
        ));
    }
    text.push_str("A value without an interval has none in the tables either; the column ci_method says why.");
    text.into()
}
