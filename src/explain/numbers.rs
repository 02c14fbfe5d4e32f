//! The numbers of a word in a finished run, for `cfaudit explain WORD --in DIR`: every value of a
//! metric, or the verdict of a gate, as lines of aligned columns, only from the tables of the
//! folder.

use std::path::Path;

use serde::Serialize;

use super::{ExplainedWord, MEASURE};
use crate::error::{Error, Result};
use crate::folder::read::verified;
use crate::table::file::{read_matching, read_rows};
use crate::table::{
    CfFeatureRow, CfQualityRow, GateRow, MetricRow, MetricTable, SetPair, TableRow,
};
use crate::text::aligned;

/// The numbers of a word that has explanations, with the line that says where they come from.
///
/// # Errors
/// The folder holds no finished run, a table is not what its manifest lists, or the word has no
/// numbers there: it is neither a metric nor one of its gates.
pub(crate) fn of(word: &str, found: &[&ExplainedWord], folder: &Path) -> Result<String> {
    let read = [GateRow::TABLE, MetricRow::TABLE, CfQualityRow::TABLE, CfFeatureRow::TABLE]
        .map(|table| format!("tables/{}", table.file()));
    verified(folder, |name| read.iter().any(|file| file == name))?;
    let tables = folder.join("tables");
    let lines = judged(word, &read_rows::<GateRow>(&tables)?);
    let judged = if lines.is_empty() {
        String::new()
    } else {
        format!("gate `{word}` in {}:\n{}", folder.display(), aligned("  ", &lines, &[]))
    };
    let measured = found.iter().find(|entry| entry.kind == "metric" || entry.kind == MEASURE);
    if let Some(entry) = measured {
        let lines = match entry.kind {
            "metric" => values(&entry.word, &MetricTable::read(&tables)?.all),
            _ => qualities(&entry.word, &tables)?,
        };
        return Ok(match lines.is_empty() {
            true => format!("`{}` was not measured in {}\n{judged}", entry.word, folder.display()),
            false => format!("in {}:\n{}{judged}", folder.display(), aligned("  ", &lines, &[])),
        });
    }
    if lines.is_empty() {
        return Err(Error::command_line(
            "unknown-word",
            "",
            format!("`{word}` is neither a metric nor a gate of `{}`", folder.display()),
            "name one of these, or omit `--in`",
        ));
    }
    Ok(judged)
}

/// A measure of counterfactuals: by set, attribute and direction, and by feature if it is measured
/// for features.
fn qualities(measure: &str, tables: &Path) -> Result<Vec<Vec<String>>> {
    let line = |pair: &SetPair, feature: &str, value: Option<f64>, undefined: &str| {
        let groups = match (pair.from_group.as_str(), pair.to_group.as_str()) {
            ("", "") => "total".to_owned(),
            (from, to) => format!("{from} -> {to}"),
        };
        let value = value.map_or_else(|| format!("undefined: {undefined}"), number);
        let of_value = vec![groups, feature.to_owned(), value];
        [cells(pair, &["counterfactual", "sensitive"]), of_value].concat()
    };
    let mut lines = Vec::new();
    for row in read_matching(tables, |row: &CfQualityRow| row.metric == measure)? {
        lines.push(line(&row.pair, "", row.value, &row.undefined));
    }
    for row in read_matching(tables, |row: &CfFeatureRow| row.metric == measure)? {
        lines.push(line(&row.pair, &row.feature, row.value, &row.undefined));
    }
    Ok(lines)
}

fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn groups(scope: &str, [from, to]: [&str; 2], [highest, lowest]: [&str; 2]) -> String {
    match (scope, from, to) {
        ("direction" | "one_to_rest" | "rest_to_one", from, to) => {
            let name = |group: &str| {
                if group.is_empty() { "all others".to_owned() } else { group.to_owned() }
            };
            format!("{} -> {}", name(from), name(to))
        }
        ("pair" | "difference", a, b) => format!("{a}, {b}"),
        ("one_vs_rest", "", b) => format!("all others, {b}"),
        ("one_vs_rest", a, _) => format!("{a}, all others"),
        ("worst_case", ..) => match (highest, lowest) {
            (high, "") => high.to_owned(),
            (high, low) => format!("{high}, {low}"),
        },
        (_, from, _) => from.to_owned(),
    }
}

/// The class that is compared with all others; empty for all classes together, and for a label of
/// two sides.
fn class(name: &str) -> String {
    match name {
        "" => String::new(),
        class => format!("class {class}"),
    }
}

fn interval(ends: [Option<f64>; 2], level: Option<f64>) -> String {
    match (ends[0], ends[1], level) {
        (Some(lo), Some(hi), Some(level)) => {
            format!("{} to {} ({} %)", number(lo), number(hi), number(level * 100.0))
        }
        (Some(lo), Some(hi), None) => format!("{} to {}", number(lo), number(hi)),
        _ => "no interval".to_owned(),
    }
}

/// Texts of a row by the names of their columns.
fn cells(row: &impl Serialize, columns: &[&str]) -> Vec<String> {
    let row = serde_json::json!(row);
    columns.iter().map(|name| row[name].as_str().unwrap_or_default().to_owned()).collect()
}

fn count_of(n: i64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn values(metric: &str, table: &[MetricRow]) -> Vec<Vec<String>> {
    let line = |row: &MetricRow| {
        let value =
            row.value.map_or_else(|| format!("undefined: {}", row.undefined.as_str()), number);
        let cases = match (row.numerator, row.denominator) {
            (Some(part), Some(whole)) => format!("{part} of {whole}"),
            _ if row.n_persons.is_some() => count_of(row.n_rows, "row", "rows"),
            _ => count_of(row.n_rows, "person", "people"),
        };
        let mut remarks: Vec<String> = Vec::new();
        if !row.impaired_group.is_empty() {
            remarks.push(format!("at a disadvantage: {}", row.impaired_group.as_str()));
        }
        if !row.flags.is_empty() {
            remarks.push(row.flags.to_string());
        }
        let furthest = [row.highest_group.as_str(), &row.lowest_group];
        let of_value = vec![
            groups(&row.key.scope, [&row.key.from_group, &row.key.to_group], furthest),
            class(&row.class),
            value,
            cases,
            interval([row.lo, row.hi], row.level),
            remarks.join("; "),
        ];
        let names = ["arm", "model", "counterfactual", "sensitive", "scope", "slice"];
        [cells(&row.key, &names), of_value].concat()
    };
    table.iter().filter(|row| row.metric.as_str() == metric).map(line).collect()
}

fn judged(gate: &str, table: &[GateRow]) -> Vec<Vec<String>> {
    let line = |row: &GateRow| {
        let value = row.value.map_or_else(|| "undefined".to_owned(), number);
        let limit = format!("{} {}", row.rule.as_str(), number(row.limit));
        let decides = if row.decides == 1 { "decides" } else { "" };
        let of_value = vec![
            groups(&row.scope, [&row.from_group, &row.to_group], ["", ""]),
            class(&row.class),
            value,
            interval([row.lo, row.hi], None),
            limit,
            row.reason.to_string(),
        ];
        let names = ["metric", "model", "counterfactual", "sensitive", "scope"];
        let verdict = vec![row.verdict.to_string(), decides.to_owned()];
        [verdict, cells(row, &names), of_value].concat()
    };
    table.iter().filter(|row| row.gate.as_str() == gate).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_end_where_they_end() {
        assert_eq!([0.5, 16.0 / 122.0, -3.0, 0.0].map(number), ["0.5", "0.131148", "-3", "0"]);
    }
}
