//! Section "What was left out": rows lost by filters, missing values, problems met, and values that are undefined. Never absent:
//! where nothing was left out it says so.

use std::collections::BTreeMap;

use crate::report::folder::{Audit, Tally};
use crate::report::number;
use crate::report::page::{Block, Row, Section, Table};
use crate::report::terms::{self, Glossary};
use crate::report::words::Words;

/// Rows of each table of this section.
const ROWS_AT_MOST: usize = 100;

/// The section.
pub(super) fn section(audit: &Audit, glossary: &mut Glossary<'_>) -> Section {
    let mut blocks = Vec::new();
    blocks.extend(filters(audit));
    blocks.extend(missing(audit));
    blocks.extend(issues(audit));
    blocks.extend(undefined(audit, glossary));
    if blocks.is_empty() {
        let nothing = if audit.manifest.awaited.is_empty() {
            "Nothing: no row was lost, no value was missing, no problem was met, and every value is defined."
        } else {
            "Nothing so far: no row was lost, and no problem was met."
        };
        blocks.push(Block::Text(nothing.into()));
    }
    Section { id: "left-out", title: "What was left out", blocks }
}

fn table(caption: &str, head: &[&str], mut rows: Vec<Row>, prose: bool, file: &str) -> Option<Block> {
    let all = rows.len();
    rows.truncate(ROWS_AT_MOST);
    let caption = if rows.len() < all {
        format!("{caption}: the first {} of {all}; all are in tables/{file}.parquet", rows.len())
    } else {
        caption.to_owned()
    };
    (all > 0).then(|| Block::Table(Table { caption: caption.into(), head: head.iter().map(|h| Words::from(*h)).collect(), rows, prose }))
}

fn filters(audit: &Audit) -> Option<Block> {
    let steps: Vec<_> =
        audit.filters.records().map(|f| (f.text("what"), f.int("rows_in").unwrap_or(0), f.int("rows_out").unwrap_or(0))).collect();
    if steps.iter().all(|(_, rows_in, rows_out)| rows_in == rows_out) {
        return None;
    }
    let rows = steps
        .into_iter()
        .map(|(what, rows_in, rows_out)| {
            let lost = rows_in.saturating_sub(rows_out);
            let share = number::share(Tally::of(lost), Tally::of(rows_in), false).unwrap_or_else(|| "none".to_owned());
            let cells = [number::count(rows_in), number::count(rows_out), format!("{} ({share})", number::count(lost))];
            Row { id: String::new(), head: Words::new().quote(what), cells: cells.map(Into::into).into() }
        })
        .collect();
    table("Rows lost by each step", &["Step", "Rows in", "Rows out", "Lost"], rows, false, "filters")
}

fn missing(audit: &Audit) -> Option<Block> {
    let columns = ["n_missing_label", "n_missing_score", "n_missing_counterfactual_score", "n_scores_equal_threshold"];
    let rows = audit
        .groups
        .records()
        .filter(|g| g.text("slice").is_empty() && columns.iter().any(|c| g.int(c).unwrap_or(0) > 0))
        .map(|g| {
            let group = g.text("group");
            let head = if group.is_empty() { Words::from("All groups") } else { Words::new().name(group) };
            let head = head.text(", ").name(g.text("sensitive")).text(", model ").name(g.text("model"));
            let mut cells = vec![Words::from(number::count(g.int("n").unwrap_or(0)))];
            cells.extend(columns.iter().map(|c| Words::from(number::count(g.int(c).unwrap_or(0)))));
            Row { id: String::new(), head, cells: cells.into_iter().map(Into::into).collect() }
        })
        .collect();
    let head = ["Group", "People", "No label", "No score", "No counterfactual score", "Score at the threshold"];
    table("Missing values by group, and scores exactly at the threshold, which its rule decides", &head, rows, false, "groups")
}

fn issues(audit: &Audit) -> Option<Block> {
    let mut rows: Vec<_> = audit.issues.records().collect();
    // Warnings first; the sort is stable.
    rows.sort_by_key(|i| i.text("severity") != "warning");
    let rows = rows
        .into_iter()
        .map(|i| {
            let cells = [
                Words::from(i.text("severity")),
                Words::new().quote(i.text("where")),
                number::count(i.int("n").unwrap_or(0)).into(),
                Words::new().quote(i.text("text")),
            ];
            Row { id: String::new(), head: Words::new().code(i.text("code")), cells: cells.map(Into::into).into() }
        })
        .collect();
    table("Problems met that did not stop the run", &["Code", "Severity", "Where", "How often", "What"], rows, true, "issues")
}

/// Undefined values by metric and reason.
fn undefined(audit: &Audit, glossary: &mut Glossary<'_>) -> Option<Block> {
    let mut found: BTreeMap<(&str, &str, &str), (usize, Words)> = BTreeMap::new();
    for (key, metrics) in &audit.measures {
        for (metric, measure) in metrics.iter().filter(|(_, m)| m.value.is_none()) {
            let (n, example) = found.entry((measure.family.as_str(), metric.as_str(), measure.undefined.as_str())).or_default();
            *n += 1;
            if *n == 1 {
                *example = place(key);
            }
        }
    }
    let rows = found
        .into_iter()
        .map(|((_, metric, reason), (n, example))| Row {
            id: String::new(),
            head: glossary.title(metric),
            cells: vec![terms::reason(reason).into(), number::count(i64::try_from(n).unwrap_or(i64::MAX)).into(), example.into()],
        })
        .collect();
    table(
        "Values that are undefined, by metric and reason; they are empty in the tables, never 0",
        &["Metric", "Because", "Values", "First of them"],
        rows,
        true,
        "metrics",
    )
}

fn place(key: &crate::report::folder::Key) -> Words {
    let mut words = match (key.from.is_empty(), key.to.is_empty()) {
        (true, true) => Words::from("all groups"),
        (true, false) => Words::new().text("all others \u{2192} ").name(&key.to),
        (false, true) if key.scope == "one_to_rest" => Words::new().name(&key.from).text(" \u{2192} all others"),
        (false, true) => Words::new().name(&key.from),
        (false, false) if key.set.is_empty() || key.scope == "difference" => Words::new().name(&key.from).text(" and ").name(&key.to),
        (false, false) => Words::direction(&key.from, &key.to),
    };
    for (word, name) in [("set", &key.set), ("model", &key.model)] {
        if !name.is_empty() {
            words = words.text(format!(", {word} ")).name(name);
        }
    }
    words
}
