//! The tables of `docs/papers`: every printed number of the five sources has a line, and its word
//! follows from the printed number, ours and our interval.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::work::{expected, root};

/// A line of a CSV file by its columns.
type Row = BTreeMap<String, String>;

/// Experiments on data that cannot be obtained, or without a program that can be run.
const NOT_PUBLIC: [&str; 6] = [
    "cardiofollow-smoking",
    "cardiofollow-sex",
    "facts-ssl",
    "facts-ad-campaign",
    "heart-generators",
    "facts-example",
];

const TABLES: [&str; 5] = ["matrix-workshop", "matrix-journal", "clarify", "cf-gu", "facts"];

/// The fields of a line; a quoted field may hold commas, and a doubled quote is one.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

fn rows(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names = fields(lines.next().unwrap());
    let row = |line: &str| -> Row {
        let values = fields(line);
        assert_eq!(values.len(), names.len(), "{}: {line}", path.display());
        names.iter().cloned().zip(values).collect()
    };
    lines.map(row).collect()
}

/// A number as a paper prints it; none for a dash or another word.
fn number(text: &str) -> Option<f64> {
    match text {
        "inf" => return Some(f64::INFINITY),
        "Fair" | "No recourses" => return Some(0.0),
        "five" => return Some(5.0),
        "ten" => return Some(10.0),
        "eleven" => return Some(11.0),
        _ => {}
    }
    let text = text.replace(',', "");
    match text.split_once('/') {
        Some((above, below)) => Some(above.parse::<f64>().ok()? / below.parse::<f64>().ok()?),
        None => text.parse().ok(),
    }
}

/// Half of the last printed digit.
fn half_unit(printed: &Row) -> f64 {
    if printed["printed"].contains('/') {
        return 1e-6;
    }
    0.5 * 10_f64.powi(-printed["decimals"].parse::<i32>().unwrap_or(0))
}

/// Where the printed number and ours lie, compared with another line or with a number.
fn sides(
    line: &Row,
    by: &str,
    lines: &BTreeMap<(&str, &str), &Row>,
) -> Option<(Ordering, Ordering)> {
    let [p, o] = ["printed", "ours"].map(|column| number(&line[column]));
    let [q, s] = if ["0", "1"].contains(&by) {
        [number(by), number(by)]
    } else {
        let other = lines.get(&(by, line["input"].as_str()))?;
        ["printed", "ours"].map(|column| number(&other[column]))
    };
    Some((p?.partial_cmp(&q?)?, o?.partial_cmp(&s?)?))
}

/// The word that a line must have.
fn word(line: &Row, printed: &Row, lines: &BTreeMap<(&str, &str), &Row>) -> &'static str {
    match printed["status"].as_str() {
        "not-a-result" => return "no result",
        "ambiguous" => return "ambiguous",
        "misprint" => return "misprint",
        status => assert_eq!(status, "ok"),
    }
    if line["input"] == "none" {
        let is_public = !NOT_PUBLIC.contains(&line["experiment"].as_str());
        return if is_public { "not run" } else { "data not public" };
    }
    let (Some(p), Some(o)) = (number(&line["printed"]), number(&line["ours"])) else {
        let neither = number(&line["printed"]).is_none() && line["ours"] == "-";
        return if neither { "equal" } else { "differs" };
    };
    let half = half_unit(printed);
    if p == o || (o - p).abs() <= half + 1e-9 {
        return "equal";
    }
    if let (Some(low), Some(high)) = (number(&line["low"]), number(&line["high"]))
        && low - half <= p
        && p <= high + half
    {
        return "inside our interval";
    }
    let judged = line["order"].split_whitespace().filter_map(|by| sides(line, by, lines));
    let agree: Vec<bool> = judged
        .filter(|(printed, _)| *printed != Ordering::Equal)
        .map(|(printed, ours)| printed == ours)
        .collect();
    match (agree.contains(&true), agree.contains(&false)) {
        (true, false) => "same sign and order",
        (false, true) => "other direction",
        _ => "differs",
    }
}

#[test]
fn every_printed_number_has_a_line_and_its_word() {
    let printed = rows(&expected("papers/printed.csv"));
    let by_id: BTreeMap<&str, &Row> = printed.iter().map(|row| (row["id"].as_str(), row)).collect();
    assert_eq!(by_id.len(), printed.len());
    let mut answered = BTreeSet::new();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for source in TABLES {
        let table = rows(&root().join(format!("docs/papers/{source}.csv")));
        let lines: BTreeMap<(&str, &str), &Row> = table
            .iter()
            .map(|line| ((line["id"].as_str(), line["input"].as_str()), line))
            .collect();
        assert_eq!(lines.len(), table.len(), "{source}: a line is there twice");
        for line in &table {
            let id = line["id"].as_str();
            let printed = by_id[id];
            assert_eq!(printed["source"], source, "{id}");
            for column in ["experiment", "place", "metric", "printed", "unit"] {
                assert_eq!(line[column], printed[column], "{id}: {column}");
            }
            assert_eq!(line["word"], word(line, printed, &lines), "{id}");
            // What nothing answers has no number of ours, and every disagreement its reason.
            assert_eq!(line["input"] == "none", line["ours"].is_empty(), "{id}");
            let agrees = ["equal", "inside our interval", "same sign and order", "no result"];
            assert!(
                agrees.contains(&line["word"].as_str()) || !line["why"].is_empty(),
                "{id}: no reason"
            );
            // On the same input nothing differs, and a misprint is off by its arithmetic.
            if line["input"] == "same" {
                assert!(["equal", "misprint"].contains(&line["word"].as_str()), "{id}");
            }
            if line["word"] == "misprint"
                && let (Some(exact), Some(ours)) =
                    (number(&printed["exact"]), number(&line["ours"]))
            {
                let is_share = !["percent", "points"].contains(&printed["unit"].as_str());
                let scale = if is_share { 1.0 } else { 100.0 };
                assert!(
                    (ours - exact * scale).abs() <= 1e-4 * scale * exact.abs().max(1.0),
                    "{id}"
                );
            }
            answered.insert(id.to_owned());
            *counts.entry((line["word"].clone(), line["input"].clone())).or_default() += 1;
        }
    }
    let missing: Vec<_> = by_id.keys().filter(|id| !answered.contains(**id)).collect();
    assert!(missing.is_empty(), "printed and in no table: {missing:?}");

    // The counts on the page.
    let page = fs::read_to_string(root().join("docs/papers.md")).unwrap();
    let written = page.split("<!-- written by jobs/papers/papers.py -->\n").nth(1).unwrap();
    let mut on_page = BTreeMap::new();
    for row in written.split("<!-- end -->").next().unwrap().lines().skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        for (input, cell) in ["same", "own", "none"].iter().zip(&cells[1..]) {
            if cells[0] != "all" && !cell.is_empty() {
                on_page.insert(
                    (cells[0].to_owned(), (*input).to_owned()),
                    cell.parse::<usize>().unwrap(),
                );
            }
        }
    }
    assert_eq!(on_page, counts, "docs/papers.md counts other words than the tables hold");
}

/// The rule itself, on lines that differ in one thing each.
#[test]
fn words_follow_from_the_numbers() {
    let row = |cells: &[(&str, &str)]| -> Row {
        cells.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let line = |printed: &str, ours: &str, low: &str, high: &str, order: &str| {
        row(&[
            ("input", "own"),
            ("experiment", "adult-lgbm"),
            ("printed", printed),
            ("ours", ours),
            ("low", low),
            ("high", high),
            ("order", order),
        ])
    };
    let other = line("0.30", "0.35", "", "", "");
    let lines: BTreeMap<(&str, &str), &Row> = BTreeMap::from([(("O1", "own"), &other)]);
    for (line, expected) in [
        (line("0.20", "0.204", "", "", ""), "equal"),
        (line("0.20", "0.206", "", "", ""), "differs"),
        (line("0.20", "0.25", "0.204", "0.3", ""), "inside our interval"),
        (line("0.20", "0.25", "0.206", "0.3", ""), "differs"),
        (line("0.20", "0.25", "", "", "O1"), "same sign and order"),
        (line("0.20", "0.45", "", "", "O1"), "other direction"),
        (line("0.20", "0.45", "", "", "O1 0"), "differs"),
        (line("0.30", "0.45", "", "", "O1"), "differs"),
        (line("-0.20", "0.45", "", "", "0"), "other direction"),
        (line("-", "-", "", "", ""), "equal"),
        (line("-", "0.2", "", "", ""), "differs"),
        (line("inf", "inf", "", "", ""), "equal"),
        (line("1/2", "0.5", "", "", ""), "equal"),
    ] {
        let printed = row(&[("status", "ok"), ("decimals", "2"), ("printed", &line["printed"])]);
        assert_eq!(word(&line, &printed, &lines), expected, "{line:?}");
    }
}
