//! Section "Groups as they are": how the model treats the groups without any counterfactual, and the gaps between them.

use std::collections::BTreeSet;

use crate::report::chart::{self, Whisker};
use crate::report::classes;
use crate::report::facets;
use crate::report::folder::{Audit, Key, Measure};
use crate::report::number::{self, Kind};
use crate::report::page::{Block, Cell, Row, Section, Table};
use crate::report::switches::{cell, level_in_words};
use crate::report::terms::{self, Glossary, Sides};
use crate::report::words::Words;

/// Metrics of one group, in rows where there are two groups.
const ALL: &[&str] = &["pprev", "prev", "acc", "bacc", "tpr", "fnr", "tnr", "fpr", "ppv", "fdr", "npv", "for", "f1", "mcc"];

/// Metrics of one group, in columns where there are more; the others are their complements.
const MAIN: &[&str] = &["pprev", "prev", "acc", "tpr", "fpr", "ppv", "npv", "f1", "mcc"];

/// Named gaps of a pair.
const GAPS: &[&str] = &[
    "di",
    "demp_difference",
    "demp_ratio",
    "demp_min_ratio",
    "eopp_difference",
    "pred_eq_difference",
    "eodds",
    "aod",
    "pred_p_difference",
    "acc_difference",
];

/// Groups in one table.
const GROUPS_AT_MOST: usize = 24;

/// Tables of groups on one page.
const TABLES_AT_MOST: usize = 24;

/// Attributes and models with group values, in the order of the manifest.
fn tables(audit: &Audit) -> Vec<(&str, &str)> {
    let m = &audit.manifest;
    let found: BTreeSet<(usize, &str, usize, &str)> = audit
        .measures
        .keys()
        .filter(|k| k.set.is_empty() && !k.attribute.is_empty())
        .map(|k| {
            let attribute = Audit::position(m.attributes.iter().map(|a| &a.name), &k.attribute);
            (attribute, k.attribute.as_str(), Audit::position(m.models.iter().map(|x| &x.name), &k.model), k.model.as_str())
        })
        .collect();
    found.into_iter().map(|(_, attribute, _, model)| (attribute, model)).collect()
}

/// The anchor of a group's share of positive predictions, or of its table, or of the section, whichever the page shows.
pub(super) fn anchor(audit: &Audit, key: &Key) -> String {
    let table = tables(audit).iter().take(TABLES_AT_MOST).position(|(a, m)| *a == key.attribute && *m == key.model);
    let group = audit.groups_of(&key.attribute).iter().take(GROUPS_AT_MOST).position(|g| *g == key.from);
    match (table, group) {
        (Some(table), Some(group)) => format!("g{table}-{group}-pprev"),
        (Some(table), None) => format!("g{table}"),
        (None, _) => "groups".to_owned(),
    }
}

/// The section; none where no group was measured.
pub(super) fn section(audit: &Audit, glossary: &mut Glossary<'_>) -> Option<Section> {
    let tables = tables(audit);
    if tables.is_empty() {
        return None;
    }
    let mut blocks = Vec::new();
    if Sides::of(audit).positive == Some(false) {
        blocks.push(Block::Note("Here the positive prediction is the unfavourable one: a higher share predicted positive is a lower share with the favourable decision.".into()));
    }
    for (t, (attribute, model)) in tables.iter().take(TABLES_AT_MOST).enumerate() {
        blocks.push(Block::Heading(format!("g{t}"), Words::new().name(*attribute).text(", model ").name(*model)));
        let groups = audit.groups_of(attribute);
        let at = |scope: &str, from: &str, to: &str| Key {
            model: (*model).to_owned(),
            set: String::new(),
            attribute: (*attribute).to_owned(),
            scope: scope.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        match groups.as_slice() {
            [a, b] => blocks.push(two_groups(audit, t, [a, b], &at, glossary)),
            _ => blocks.extend(many_groups(audit, t, &groups, &at, glossary)),
        }
        blocks.extend(classes::of_groups(audit, &groups, &at, glossary));
        blocks.extend(gaps(audit, &groups, &at, glossary));
        blocks.extend(facets::worst(audit, &groups, &at, glossary));
        blocks.extend(facets::rests(audit, &groups, &at, GAPS, glossary));
        blocks.extend(facets::clarify(audit, &groups, &at, glossary));
    }
    if tables.len() > TABLES_AT_MOST {
        blocks.push(Block::Note(
            format!("{} more combinations of attribute and model are only in tables/metrics.parquet.", tables.len() - TABLES_AT_MOST)
                .into(),
        ));
    }
    Some(Section { id: "groups", title: "Groups as they are", blocks })
}

type At<'a> = dyn Fn(&str, &str, &str) -> Key + 'a;

fn people(audit: &Audit, key: &Key) -> Option<i64> {
    let known =
        |r: &crate::table::Record<'_>| r.text("model") == key.model && r.text("sensitive") == key.attribute && r.text("slice").is_empty();
    audit.groups.records().find(|r| known(r) && r.text("group") == key.from).and_then(|r| r.int("n"))
}

fn named_group(audit: &Audit, key: &Key) -> Words {
    let words = Words::new().name(&key.from);
    match people(audit, key) {
        Some(n) => words.text(format!(" ({})", number::count(n))),
        None => words,
    }
}

fn two_groups(audit: &Audit, t: usize, groups: [&String; 2], at: &At<'_>, glossary: &mut Glossary<'_>) -> Block {
    let keys = groups.map(|g| at("group", g, ""));
    let (total, pair) = (at("total", "", ""), at("pair", groups[0], groups[1]));
    let metrics: Vec<&str> = ALL.iter().copied().filter(|m| keys.iter().any(|k| audit.measure(k, m).is_some())).collect();
    let mut head = vec!["Metric".into()];
    head.extend(keys.iter().map(|k| named_group(audit, k)));
    head.extend(["0 to 100\u{202f}%".into(), "All".into()]);
    head.push(Words::new().text("Difference, ").name(groups[0]).text(" minus ").name(groups[1]));
    head.push(Words::new().text("Ratio, ").name(groups[0]).text(" to ").name(groups[1]));
    let rows = metrics
        .iter()
        .map(|metric| {
            let kind = terms::kind(metric, "group");
            let measures = keys.each_ref().map(|k| audit.measure(k, metric));
            let mut cells: Vec<Cell> =
                measures.iter().enumerate().map(|(g, m)| Cell { id: format!("g{t}-{g}-{metric}"), ..cell(*m, kind) }).collect();
            let drawn: Vec<_> = measures
                .iter()
                .flatten()
                .filter_map(|m| m.value.map(|value| Whisker { value, interval: m.interval, noise: None }))
                .collect();
            let whole = kind == Kind::Share && drawn.len() == 2;
            cells.push(if whole { Words::new().drawing(chart::whiskers(&drawn, 1.0)).into() } else { Words::new().into() });
            cells.push(cell(audit.measure(&total, metric), kind));
            for suffix in ["_difference", "_ratio"] {
                let id = format!("{metric}{suffix}");
                cells.push(cell(audit.measure(&pair, &id), terms::kind(&id, "pair")));
            }
            Row { id: String::new(), head: glossary.title(metric), cells }
        })
        .collect();
    let levels = level_in_words(keys.iter().filter_map(|k| audit.measures.get(k)).flat_map(|m| m.values()));
    let caption =
        Words::new().text(format!("How the model treats the groups{levels}. Dot: ")).name(groups[0]).text("; ring: ").name(groups[1]);
    Block::Table(Table { caption, head, rows, prose: false })
}

fn many_groups(audit: &Audit, t: usize, groups: &[String], at: &At<'_>, glossary: &mut Glossary<'_>) -> Vec<Block> {
    let shown = groups.len().min(GROUPS_AT_MOST);
    let mut keys: Vec<Key> = groups[..shown].iter().map(|g| at("group", g, "")).collect();
    keys.push(at("total", "", ""));
    let metrics: Vec<&str> = MAIN.iter().copied().filter(|m| keys.iter().any(|k| audit.measure(k, m).is_some())).collect();
    if metrics.is_empty() {
        return Vec::new();
    }
    let mut head = vec!["Group (people)".into()];
    head.extend(metrics.iter().map(|m| Words::new().code(glossary.show(m).symbol)));
    let rows = keys
        .iter()
        .enumerate()
        .map(|(g, key)| {
            let all = key.scope == "total";
            let cells = metrics.iter().map(|m| {
                let id = if all { String::new() } else { format!("g{t}-{g}-{m}") };
                Cell { id, ..cell(audit.measure(key, m), terms::kind(m, "group")) }
            });
            Row { id: String::new(), head: if all { "All groups".into() } else { named_group(audit, key) }, cells: cells.collect() }
        })
        .collect();
    let levels = level_in_words(keys.iter().filter_map(|k| audit.measures.get(k)).flat_map(|m| m.values()));
    let mut blocks =
        vec![Block::Table(Table { caption: format!("How the model treats the groups{levels}").into(), head, rows, prose: false })];
    if shown < groups.len() {
        blocks.push(Block::Note(
            format!("Shown are the first {shown} of {} groups; all are in tables/metrics.parquet.", groups.len()).into(),
        ));
    }
    blocks
}

/// Named gaps per pair, the pairs with the widest gap of positive predictions first.
fn gaps(audit: &Audit, groups: &[String], at: &At<'_>, glossary: &mut Glossary<'_>) -> Option<Block> {
    let mut pairs: Vec<(f64, Key)> = Vec::new();
    for a in groups {
        for b in groups {
            let key = at("pair", a, b);
            if audit.measures.contains_key(&key) {
                let gap = audit.measure(&key, "demp_difference").and_then(|m| m.value).map_or(-1.0, f64::abs);
                pairs.push((gap, key));
            }
        }
    }
    pairs.sort_by(|x, y| y.0.total_cmp(&x.0));
    let all = pairs.len();
    if groups.len() > 6 {
        pairs.truncate(audit.rows_shown());
    }
    let metrics: Vec<&str> = GAPS.iter().copied().filter(|m| pairs.iter().any(|(_, k)| audit.measure(k, m).is_some())).collect();
    if metrics.is_empty() {
        return None;
    }
    let levels = level_in_words(pairs.iter().filter_map(|(_, k)| audit.measures.get(k)).flat_map(|m| m.values()));
    let some = if pairs.len() < all {
        format!(": the {} widest of {all} pairs, all are in tables/metrics.parquet", pairs.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Gaps between two groups{some}{levels}. Differences are first group minus second; no verdict is implied unless a gate asks for one"
    )
    .into();
    if let [(_, key)] = pairs.as_slice() {
        let impaired = |m: Option<&Measure>| {
            m.filter(|m| !m.impaired.is_empty()).map_or_else(|| "\u{2013}".into(), |m| Words::new().name(&m.impaired))
        };
        let rows = metrics
            .iter()
            .map(|m| {
                let measure = audit.measure(key, m);
                Row {
                    id: String::new(),
                    head: glossary.title(m),
                    cells: vec![cell(measure, terms::kind(m, "pair")), impaired(measure).into()],
                }
            })
            .collect();
        let head = ["Metric", "Value", "Group at a disadvantage"].map(Words::from).to_vec();
        return Some(Block::Table(Table { caption, head, rows, prose: false }));
    }
    let mut head = vec!["Pair".into()];
    head.extend(metrics.iter().map(|m| Words::new().code(glossary.show(m).symbol)));
    let rows = pairs
        .iter()
        .map(|(_, key)| Row {
            id: String::new(),
            head: Words::new().name(&key.from).text(" and ").name(&key.to),
            cells: metrics.iter().map(|m| cell(audit.measure(key, m), terms::kind(m, "pair"))).collect(),
        })
        .collect();
    Some(Block::Table(Table { caption, head, rows, prose: false }))
}
