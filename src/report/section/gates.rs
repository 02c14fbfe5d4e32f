//! Section "Gates": every row of the table `gates`, what it asks, its limit and its value. The
//! brief leads here limit by limit.

use std::cmp::Ordering;

use crate::gate::reason::{GateCount, GateFindings};
use crate::metric::MetricFamily;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::swap_effect::SwapEffect;
use crate::report::draw::chart;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::KeyedRow;
use crate::report::section::graphs;
use crate::table::GateRow;
use crate::table::recourse::UNFAIR_SUBGROUPS;
use crate::table::why::CONFIRMED_PATTERNS;

/// Rows on the page; the others are in the table `gates`.
const ROWS_AT_MOST: usize = 200;

/// The section; none where the job has no gate.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let mut gates: Vec<&GateRow> = audit.gates.iter().collect();
    gates.sort_by(|a, b| b.decides.cmp(&a.decides).then(worst_first(a, b)));
    if gates.is_empty() {
        return None;
    }
    let head =
        ["Question", "Answer", "Limit", "Value", "Cases", "Why"].map(RichText::from).to_vec();
    let rows = gates.iter().take(ROWS_AT_MOST).map(|gate| row(audit, gate, glossary)).collect();
    let more = match gates.len().saturating_sub(ROWS_AT_MOST) {
        0 => String::new(),
        more => format!("; {more} more are in tables/gates.parquet"),
    };
    let caption = format!("Rows that decide a gate before the others, worst first{more}").into();
    let table = PageTable { caption, head, rows, prose: true, ..PageTable::default() };
    Some(PageSection { id: "gates", title: "Gates", blocks: vec![PageBlock::Table(table)] })
}

fn severity(gate: &GateRow) -> usize {
    let order =
        [("fail", "fail"), ("inconclusive", "fail"), ("fail", "warn"), ("inconclusive", "warn")];
    let pair = (gate.verdict.as_str(), gate.level.as_str());
    order.iter().position(|o| *o == pair).unwrap_or(if pair.0 == "pass" { 4 } else { 5 })
}

/// A gate's numbers as the page prints them.
struct GateNumbers<'a> {
    /// `at most 5 %`.
    limit: String,
    /// What decides, as the table codes it.
    decides: &'a str,
    value: Option<String>,
    interval: Option<String>,
    baseline: Option<String>,
}

fn numbers(gate: &GateRow) -> GateNumbers<'_> {
    let metric = gate.metric.as_str();
    let of_value = terms::kind(metric, gate.scope.as_str());
    let (bound, decides) = gate.rule_words();
    let is_change = gate.is_of_change();
    let (kind, of_limit) = match (is_change, of_value.of_change()) {
        (false, _) => (of_value, of_value),
        (true, NumberFormat::Points) => (NumberFormat::Points, NumberFormat::Distance),
        (true, other) => (other, NumberFormat::Plain),
    };
    let is_count = is_count(metric);
    let shown =
        |value: f64| if is_count { things(metric, value as i64) } else { kind.value(value) };
    let of_limit =
        |value: f64| if is_count { number::count(value as i64) } else { of_limit.value(value) };
    let limit = of_limit(gate.limit);
    let ends = gate.lo.zip(gate.hi);
    GateNumbers {
        limit: format!("{} {limit}", bound.replace('_', " ")),
        decides,
        value: gate.value.map(shown),
        interval: gate.value.zip(ends).map(|(value, (lo, hi))| kind.interval(value, lo, hi)),
        baseline: gate.value.and(gate.baseline_value).map(|baseline| of_value.value(baseline)),
    }
}

/// Whether a gate is on a number of things that other tables hold.
fn is_count(metric: &str) -> bool {
    [UNFAIR_SUBGROUPS, CONFIRMED_PATTERNS].contains(&metric)
}

fn things(metric: &str, n: i64) -> String {
    match metric {
        CONFIRMED_PATTERNS => number::count_of(n, "pattern", "patterns"),
        _ => number::count_of(n, "subgroup", "subgroups"),
    }
}

fn row(audit: &AuditFolder, gate: &GateRow, glossary: &mut PageGlossary<'_>) -> ReportRow {
    let is_count = is_count(gate.metric.as_str());
    let GateNumbers { limit, decides, value, interval, baseline } = numbers(gate);
    let decides = match decides {
        "" => Vec::new(),
        "interval" => vec!["the interval decides".into()],
        "interval, holm" => vec![
            "the interval decides, at the level that Holm's method gives each comparison".into(),
        ],
        "worlds" => vec![
            "the interval over graphs and refits of their coefficients decides; it \
             does not include the sampling of people"
                .into(),
        ],
        "fit" => vec![
            "the range over fits on rows drawn again decides; it does not include the sampling of \
             people"
                .into(),
        ],
        "training" => vec![
            "the range over trainings of the model decides; it does not include the sampling of \
             people"
                .into(),
        ],
        "all" => vec![
            "every doubt decides: people, and graphs, fits or trainings where there are such"
                .into(),
        ],
        "estimate" if is_count => vec!["the number decides".into()],
        "estimate" => vec!["the estimate decides".into()],
        other => vec![RichText::from(other.replace('_', " "))],
    };
    let class = gate.verdict.as_str();
    let mut answer = PageCell {
        main: RichText::new()
            .drawing(chart::verdict(class, &format!("mark {class}")))
            .strong(gate.verdict.as_str()),
        ..PageCell::default()
    };
    if gate.decides != 1 {
        answer.small.push("does not decide".into());
    }
    if gate.decides == 1 && gate.level == "warn" {
        answer.small.push("only warns".into());
    }
    let value = match value {
        None if gate.verdict == "skipped" => "\u{2013}".into(),
        None => "undefined".into(),
        Some(value) => {
            let from = baseline.map(|baseline| format!("from {baseline}"));
            PageCell {
                main: value.into(),
                small: interval.into_iter().chain(from).map(RichText::from).collect(),
                ..PageCell::default()
            }
        }
    };
    let mut cases = PageCell {
        main: gate
            .denominator
            .map_or_else(
                || "\u{2013}".to_owned(),
                |n| match gate.metric.as_str() {
                    metric @ UNFAIR_SUBGROUPS => things(metric, n),
                    _ => number::count(n),
                },
            )
            .into(),
        small: Some(gate.enough)
            .filter(|n| *n > 0)
            .map(|n| format!("{} asked for", number::count(n)).into())
            .into_iter()
            .collect(),
        ..PageCell::default()
    };
    if is_count {
        cases.small.push("of that size, with actions".into());
    }
    let decides_gate = gate.decides == 1;
    let findings = GateFindings::of_row(gate);
    let said =
        findings.as_ref().map_or_else(|| gate.reason.to_string(), GateFindings::words_of_verdict);
    ReportRow {
        id: if decides_gate { format!("limit-{}", gate.gate) } else { String::new() },
        head: question(audit, gate, findings.as_ref(), glossary),
        cells: vec![
            answer,
            PageCell { main: limit.into(), small: decides, ..PageCell::default() },
            value,
            cases,
            PageCell {
                main: RichText::new().quote(said),
                small: caution(audit, gate).into_iter().collect(),
                ..PageCell::default()
            },
        ],
    }
}

/// Why the set of a gate names no group at a disadvantage, where graphs are the reason.
fn caution(audit: &AuditFolder, gate: &GateRow) -> Option<RichText> {
    let is_plain = gate.arm.is_empty() && gate.class.is_empty();
    let key = Some(gate.key()).filter(|_| is_plain)?;
    graphs::knowledge::caution(audit, &key.set, &key.attribute)
}

/// What a gate on recourse or on patterns counts, in words.
fn counted(gate: &GateRow, findings: Option<&GateFindings>) -> String {
    let counted = findings.and_then(|of| of.counted.as_ref());
    counted.map_or_else(
        || match gate.metric.as_str() {
            UNFAIR_SUBGROUPS => "subgroups with unfair recourse".to_owned(),
            _ => "confirmed patterns".to_owned(),
        },
        GateCount::words,
    )
}

/// By verdict and level, then by how far beyond the limit; ties in the order of the table.
fn worst_first(a: &GateRow, b: &GateRow) -> Ordering {
    severity(a).cmp(&severity(b)).then(excess(b).total_cmp(&excess(a)))
}

/// How far a value lies beyond the limit of its gate; below 0 where it keeps it.
fn excess(gate: &GateRow) -> f64 {
    let (Some(value), limit) = (gate.value, gate.limit) else {
        return f64::NEG_INFINITY;
    };
    match gate.rule_words().0 {
        "at_least" => limit - value,
        // The limit of a fall is the size of the fall.
        "fall_at_most" => -value - limit,
        _ => value - limit,
    }
}

/// What the gate asks: its name, the metric, and where it is measured; what the job says about it.
fn question(
    audit: &AuditFolder,
    gate: &GateRow,
    findings: Option<&GateFindings>,
    glossary: &mut PageGlossary<'_>,
) -> RichText {
    let words = RichText::new()
        .name(gate.gate.as_str())
        .text(": ")
        .and(measured(audit, gate, findings, glossary));
    match audit.manifest.words.gate_notes.get(gate.gate.as_str()) {
        Some(note) => words.text(". The job says: ").quote(note),
        None => words,
    }
}

/// The metric, and where it is measured.
fn measured(
    audit: &AuditFolder,
    gate: &GateRow,
    findings: Option<&GateFindings>,
    glossary: &mut PageGlossary<'_>,
) -> RichText {
    let of_amounts = audit.manifest.amounts().is_some();
    let mut words = RichText::new();
    words = match gate.metric.as_str() {
        UNFAIR_SUBGROUPS => {
            words.text("number of ").link(counted(gate, findings), "recourse", "Recourse")
        }
        CONFIRMED_PATTERNS => words.text("number of ").quote(counted(gate, findings)),
        metric => words.and(glossary.title(metric)),
    };
    if !gate.class.is_empty() {
        words = words.text(", class ").name(gate.class.as_str());
    }
    let (from, to) = (gate.from_group.as_str(), gate.to_group.as_str());
    words = match (from.is_empty(), to.is_empty()) {
        (false, false) if gate.counterfactual.is_empty() => {
            // Of facets the name of the metric says what is compared.
            let of_pair = find(&gate.metric).filter(|metric| metric.family == MetricFamily::Group);
            let swap = of_pair.map(SwapEffect::of);
            let between = match swap {
                Some(SwapEffect::Negated) => " minus ",
                Some(SwapEffect::Reciprocal(_)) => " over ",
                Some(SwapEffect::Same) | None => " and ",
            };
            let [first, second] = swap.map_or([from, to], |swap| swap.row_groups(from, to));
            words.text(", ").name(first).text(between).name(second)
        }
        (false, false) if gate.scope == "difference" => words
            .text(", ")
            .and(RichText::direction(from, to))
            .text(" minus ")
            .and(RichText::direction(to, from)),
        (false, false) if HARM.contains(&gate.metric.as_str()) => {
            let who = match (of_amounts, gate.metric.as_str() == HARM[0]) {
                (false, true) => " without the favourable decision who would get it as ",
                (false, false) => " with the favourable decision who would lose it as ",
                (true, true) => " whose amount would be better as ",
                (true, false) => " whose amount would be worse as ",
            };
            let words =
                words.text(", ").and(RichText::direction(from, to)).text(" (people of ").name(from);
            words.text(who).name(to).text(")")
        }
        (false, false) => words.text(", ").and(RichText::direction(from, to)),
        (false, true) if gate.scope == "one_vs_rest" => {
            words.text(", ").name(from).text(" and all others")
        }
        (false, true) => words.text(", ").name(from),
        (true, false) => words.text(", all others and ").name(to),
        (true, true) if gate.scope == "worst_case" => words.text(", the groups furthest apart"),
        (true, true) => words,
    };
    for (word, name) in [
        ("attribute", &gate.sensitive),
        ("set", &gate.counterfactual),
        ("model", &gate.model),
        ("arm", &gate.arm),
    ] {
        if !name.is_empty() {
            words = words.text(format!(", {word} ")).name(name.as_str());
        }
    }
    words
}
