//! The numbers of a word in a finished run, for `cfaudit explain WORD --in DIR`: every value of a
//! metric, or how a gate came out, as lines of aligned columns, from the tables of the folder
//! alone.

use std::path::Path;

use super::{ExplainedWord, MEASURE};
use crate::error::{Error, JobProblem, Result};
use crate::folder::read::verified;
use crate::table::file::read_frame;
use crate::table::{CF_FEATURES, CF_QUALITY, GATES, METRICS, TableFrame, TableRecord};

/// The numbers of a word whose explanations were found, with the line that says where they come
/// from.
///
/// # Errors
/// The folder holds no finished run, a table is not what its manifest lists, or the word has no
/// numbers there: it is neither a metric nor one of its gates.
pub fn of(word: &str, found: &[&ExplainedWord], folder: &Path) -> Result<String> {
    let read = [&GATES, &METRICS, &CF_QUALITY, &CF_FEATURES]
        .map(|table| format!("tables/{}", table.file()));
    verified(folder, |name| read.iter().any(|file| file == name))?;
    let tables = folder.join("tables");
    let lines = judged(word, &read_frame(&tables, &GATES)?);
    let judged = if lines.is_empty() {
        String::new()
    } else {
        format!("gate `{word}` in {}:\n{}", folder.display(), aligned(&lines))
    };
    let measured = found.iter().find(|entry| entry.kind == "metric" || entry.kind == MEASURE);
    if let Some(entry) = measured {
        let lines = match entry.kind {
            "metric" => values(&entry.word, &read_frame(&tables, &METRICS)?),
            _ => qualities(&entry.word, &tables)?,
        };
        return Ok(match lines.is_empty() {
            true => format!("`{}` was not measured in {}\n{judged}", entry.word, folder.display()),
            false => format!("in {}:\n{}{judged}", folder.display(), aligned(&lines)),
        });
    }
    if lines.is_empty() {
        return Err(Error::Job(vec![JobProblem {
            code: "unknown-word",
            path: String::new(),
            place: None,
            what: format!("`{word}` is neither a metric nor a gate of `{}`", folder.display()),
            hint: Some("name one of these, or leave `--in` out".to_owned()),
        }]));
    }
    Ok(judged)
}

/// A measure of counterfactuals: by set, attribute and direction, and feature where it is one of
/// features.
fn qualities(measure: &str, tables: &Path) -> Result<Vec<Vec<String>>> {
    let mut lines = Vec::new();
    for table in
        [&CF_QUALITY, &CF_FEATURES].into_iter().filter(|table| tables.join(table.file()).is_file())
    {
        for row in read_frame(tables, table)?.records().filter(|row| row.text("metric") == measure)
        {
            let value = row
                .real("value")
                .map_or_else(|| format!("undefined: {}", row.text("undefined")), number);
            let feature = if table.name == CF_FEATURES.name { row.text("feature") } else { "" };
            let groups = match (row.text("from_group"), row.text("to_group")) {
                ("", "") => "total".to_owned(),
                (from, to) => format!("{from} -> {to}"),
            };
            lines.push(vec![
                row.text("counterfactual").to_owned(),
                row.text("sensitive").to_owned(),
                groups,
                feature.to_owned(),
                value,
            ]);
        }
    }
    Ok(lines)
}

/// Six decimals, without zeros at the end.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn groups(row: &TableRecord<'_>) -> String {
    match (row.text("scope"), row.text("from_group"), row.text("to_group")) {
        ("direction" | "one_to_rest" | "rest_to_one", from, to) => {
            let name = |group: &str| {
                if group.is_empty() { "all others".to_owned() } else { group.to_owned() }
            };
            format!("{} -> {}", name(from), name(to))
        }
        ("pair" | "difference", a, b) => format!("{a}, {b}"),
        ("one_vs_rest", "", b) => format!("all others, {b}"),
        ("one_vs_rest", a, _) => format!("{a}, all others"),
        ("worst_case", ..) => match (row.text("highest_group"), row.text("lowest_group")) {
            (high, "") => high.to_owned(),
            (high, low) => format!("{high}, {low}"),
        },
        (_, from, _) => from.to_owned(),
    }
}

/// The class that stands against all others; empty for all classes together, and for a label of two
/// sides.
fn class(row: &TableRecord<'_>) -> String {
    match row.text("class") {
        "" => String::new(),
        class => format!("class {class}"),
    }
}

fn interval(row: &TableRecord<'_>) -> String {
    match (row.real("lo"), row.real("hi"), row.real("level")) {
        (Some(lo), Some(hi), Some(level)) => {
            format!("{} to {} ({} %)", number(lo), number(hi), number(level * 100.0))
        }
        (Some(lo), Some(hi), None) => format!("{} to {}", number(lo), number(hi)),
        _ => "no interval".to_owned(),
    }
}

fn values(metric: &str, table: &TableFrame) -> Vec<Vec<String>> {
    let line = |row: TableRecord<'_>| {
        let value = row
            .real("value")
            .map_or_else(|| format!("undefined: {}", row.text("undefined")), number);
        let cases = match (row.int("numerator"), row.int("denominator")) {
            (Some(part), Some(whole)) => format!("{part} of {whole}"),
            _ => format!("{} people", row.int("n_rows").unwrap_or(0)),
        };
        let mut remarks: Vec<String> = Vec::new();
        if !row.text("impaired_group").is_empty() {
            remarks.push(format!("at a disadvantage: {}", row.text("impaired_group")));
        }
        if !row.text("flags").is_empty() {
            remarks.push(row.text("flags").to_owned());
        }
        let key = ["arm", "model", "counterfactual", "sensitive", "scope", "slice"]
            .map(|column| row.text(column).to_owned());
        let [arm, model, set, attribute, scope, slice] = key;
        vec![
            arm,
            model,
            set,
            attribute,
            scope,
            slice,
            groups(&row),
            class(&row),
            value,
            cases,
            interval(&row),
            remarks.join("; "),
        ]
    };
    table.records().filter(|row| row.text("metric") == metric).map(line).collect()
}

fn judged(gate: &str, table: &TableFrame) -> Vec<Vec<String>> {
    let line = |row: TableRecord<'_>| {
        let value = row.real("value").map_or_else(|| "undefined".to_owned(), number);
        let limit =
            format!("{} {}", row.text("rule"), row.real("limit").map_or_else(String::new, number));
        let decides = if row.int("decides") == Some(1) { "decides" } else { "" };
        let key = ["verdict", "metric", "model", "counterfactual", "sensitive", "scope"]
            .map(|column| row.text(column).to_owned());
        let [verdict, metric, model, set, attribute, scope] = key;
        vec![
            verdict,
            decides.to_owned(),
            metric,
            model,
            set,
            attribute,
            scope,
            groups(&row),
            class(&row),
            value,
            interval(&row),
            limit,
            row.text("reason").to_owned(),
        ]
    };
    table.records().filter(|row| row.text("gate") == gate).map(line).collect()
}

/// Lines of columns as wide as their widest cell; columns that are empty in every line are left
/// out.
fn aligned(lines: &[Vec<String>]) -> String {
    let n = lines.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..n)
        .map(|i| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let line =
            cells.fold(String::new(), |line, (cell, width)| format!("{line}  {cell:<width$}"));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{aligned, number};

    #[test]
    fn columns_that_say_nothing_are_left_out() {
        let lines =
            [["a", "", "1"], ["bcd", "", "20"]].map(|line| line.map(str::to_owned).to_vec());
        assert_eq!(aligned(&lines), "  a    1\n  bcd  20\n");
        assert_eq!(aligned(&[]), "");
    }

    #[test]
    fn numbers_end_where_they_end() {
        assert_eq!([0.5, 16.0 / 122.0, -3.0, 0.0].map(number), ["0.5", "0.131148", "-3", "0"]);
    }
}
