//! The numbers of a word in a finished run, for `cfaudit explain WORD --in DIR`: every value of a
//! metric, or the verdict of a gate, as lines of aligned columns, only from the tables of the
//! folder.

use std::collections::BTreeMap;
use std::path::Path;

use minijinja::context;
use serde::Serialize;

use super::{ExplainedWord, MEASURE, rendered};
use crate::error::{Error, Result};
use crate::folder::read::verified;
use crate::metric::catalog::ccm::{HARM, SWITCH_RATE};
use crate::table::file::{read_matching, read_rows};
use crate::table::{
    AuditKey, CfFeatureRow, CfQualityRow, GateRow, MetricRow, MetricTable, SetPair, TableRow,
};
use crate::text::{aligned, fact, without_zeros};

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
            true => {
                let folder = folder.display().to_string();
                rendered("not_measured", context!(word => &entry.word, folder)) + "\n" + &judged
            }
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
    without_zeros(&format!("{value:.6}")).to_owned()
}

fn groups(scope: &str, [from, to]: [&str; 2], [highest, lowest]: [&str; 2]) -> String {
    let name = |group: &str| rendered("group", group.into());
    match scope {
        "direction" | "one_to_rest" | "rest_to_one" => format!("{} -> {}", name(from), name(to)),
        "pair" | "difference" => format!("{from}, {to}"),
        "one_vs_rest" => format!("{}, {}", name(from), name(to)),
        "worst_case" if lowest.is_empty() => highest.to_owned(),
        "worst_case" => format!("{highest}, {lowest}"),
        _ => from.to_owned(),
    }
}

/// The class that is compared with all others; empty for all classes together, and for a label of
/// two sides.
fn class(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("class {name}") }
}

fn interval(ends: [Option<f64>; 2], level: Option<f64>) -> String {
    let ends = ends[0].zip(ends[1]).map(|(lo, hi)| {
        let level = level.map(|level| number(level * 100.0));
        context!(lo => number(lo), hi => number(hi), level)
    });
    rendered("ends", ends.into())
}

/// How many switch to a side, by key, class and metric.
type Switches<'a> = BTreeMap<(&'a AuditKey, &'a str, &'a str), i64>;

/// What rates of one side count: those that people want, then those of the prediction.
const SIDES: [[&str; 2]; 2] = [HARM, ["psr", "nsr"]];

/// The group that a row of the table names; of a rate that counts all switches also what these are:
/// how many gain the favourable decision and lose it, or become positive and negative.
fn disadvantage(row: &MetricRow, switches: Option<&Switches<'_>>) -> String {
    let part = |metric: &str| switches?.get(&(&row.key, row.class.as_str(), metric)).copied();
    let [harm, sides] = SIDES.map(|[a, b]| fact(&part(a).zip(part(b))));
    let of_both = switches.is_some();
    rendered("disadvantage", context!(group => row.impaired_group.as_str(), of_both, harm, sides))
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
    let of_sides = table.iter().filter(|row| SIDES.as_flattened().contains(&row.metric.as_str()));
    let switches = of_sides.filter_map(|row| {
        Some(((&row.key, row.class.as_str(), row.metric.as_str()), row.numerator?))
    });
    let is_of_both = [SWITCH_RATE, "cr", "cmcc"].contains(&metric);
    let switches: Option<Switches<'_>> = is_of_both.then(|| switches.collect());
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
            remarks.push(disadvantage(row, switches.as_ref()));
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
    use super::{MetricRow, number, values};
    use crate::tests::TextRow;

    /// A rate that counts all switches names a group by its rule, and the switches may all be
    /// gains.
    #[test]
    fn a_rate_of_all_switches_says_what_they_are() {
        let of = |metric: &str, group: &str, n: i64| {
            MetricRow::of(&format!(
                "scope=direction, from_group=f, to_group=m, metric={metric}, value=0.25, \
                 numerator={n}, denominator=40, impaired_group={group}"
            ))
        };
        let mut table = vec![of("sr", "m", 10), of("psr", "f", 10), of("nsr", "", 0)];
        // A part of the switches to one side.
        table.push(of("tnsr", "m", 4));
        let rendered = |metric: &str, table: &[MetricRow]| values(metric, table)[0][11].clone();
        let rule = "at a disadvantage by the rule of the metric: m";
        let sides = "10 of the switches become positive, 0 negative";
        assert_eq!(rendered("sr", &table), format!("{rule}; {sides}"));
        assert_eq!(rendered("psr", &table), "at a disadvantage: f");
        assert_eq!(rendered("tnsr", &table), "at a disadvantage: m");
        table.extend([of("denied_by_group", "f", 10), of("favoured_by_group", "", 0)]);
        let harm = "10 of the switches gain the favourable decision, 0 lose it";
        assert_eq!(rendered("sr", &table), format!("{rule}; {harm}"));
        assert_eq!(rendered("denied_by_group", &table), "at a disadvantage: f");
        assert_eq!(rendered("sr", &table[..1]), rule);
    }

    #[test]
    fn numbers_end_where_they_end() {
        assert_eq!([0.5, 16.0 / 122.0, -3.0, 0.0].map(number), ["0.5", "0.131148", "-3", "0"]);
    }
}
