//! Section "Verdict": one word and one shape, what was audited, and every gate with its limit and
//! value, worst first.

use std::cmp::Ordering;

use crate::metric::MetricFamily;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::swap_effect::SwapEffect;
use crate::report::brief::limits;
use crate::report::draw::chart;
use crate::report::export::deciding;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::plots::VerdictBadge;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{KeyedRow, ResultKey};
use crate::report::read::words;
use crate::report::section::graphs;
use crate::table::GateRow;
use crate::table::deciding_range::DecidingRange;
use crate::table::recourse::UNFAIR_SUBGROUPS;
use crate::table::why::CONFIRMED_PATTERNS;

/// Who lacks labels more often than others: no reader may miss it.
pub(super) fn selective_labels(audit: &AuditFolder) -> impl Iterator<Item = PageBlock> {
    let told = audit.issues.iter().filter(|issue| issue.state.as_deref() == Some("without_label"));
    told.map(|issue| {
        let words = RichText::new()
            .strong("Selective labels.")
            .text(" By ")
            .name(issue.r#where.as_str())
            .text(", ");
        PageBlock::Note(words.quote(number::grouped_in(&issue.text)).text("."))
    })
}

/// The section.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> PageSection {
    // The verdict of the brief, in its words: a page that says otherwise would be doubted.
    let limits = limits::all(audit);
    let verdict = limits::page_badge(&limits);
    let class = match verdict {
        VerdictBadge::Fail => "fail",
        VerdictBadge::Pass => "pass",
        VerdictBadge::CannotTell => "inconclusive",
        _ => "done",
    };
    let mut blocks: Vec<PageBlock> = selective_labels(audit).collect();
    blocks.push(PageBlock::Verdict {
        class,
        drawing: chart::verdict(class, class),
        word: verdict.word(),
        sentence: limits::tally(&limits).into(),
    });
    blocks.extend(gates(audit, glossary));
    blocks.extend(harm_in_words(audit));
    if deciding(&audit.gates).any(|gate| !gate.arm.is_empty()) {
        blocks.push(PageBlock::Note(
            "A gate with an arm judges models that an experiment retrained, not the audited model: \
             see \u{201c}Did augmentation help\u{201d} for the comparison with the base model."
                .into(),
        ));
    }
    blocks.extend(unbound(audit).map(PageBlock::Note));
    blocks.extend(unchecked(audit));
    blocks.push(PageBlock::Facts(facts(audit)));
    blocks.extend(other_directions(audit, glossary));
    PageSection { id: "verdict", title: "Verdict", blocks }
}

/// Models whose scores of counterfactuals may come from another version.
fn unchecked(audit: &AuditFolder) -> impl Iterator<Item = PageBlock> {
    let told = audit.issues.iter().filter(|issue| issue.code == "no-recheck");
    told.map(|issue| {
        let words = RichText::new()
            .strong("Model version not checked.")
            .text(" ")
            .name(issue.r#where.as_str())
            .text(": ");
        PageBlock::Note(words.quote(number::grouped_in(&issue.text)).text("."))
    })
}

/// The files of scores that do not name the rows that they answer; none where all do.
fn unbound(audit: &AuditFolder) -> Option<RichText> {
    let mut files: Vec<&str> = Vec::new();
    for answer in audit.manifest.answers.iter().filter(|answer| !answer.named) {
        // Models may share a file.
        if !files.contains(&answer.path.as_str()) {
            files.push(&answer.path);
        }
    }
    let words = RichText::from("Not linked to the rows of this audit: ");
    let words = files
        .iter()
        .enumerate()
        .fold(words, |words, (i, file)| if i > 0 { words.text(", ") } else { words }.quote(*file));
    let it = if files.len() == 1 { "This file of scores does" } else { "These files of scores do" };
    let rest = format!(
        ". {it} not name the request, so only the keys link the \
         scores to these rows. With the column "
    );
    (!files.is_empty()).then(|| {
        words
            .text(rest)
            .code("request")
            .text(" of the rows to score in the file, cfaudit checks it.")
    })
}

/// What was audited.
pub(crate) fn facts(audit: &AuditFolder) -> Vec<(RichText, RichText)> {
    let m = &audit.manifest;
    let mut facts: Vec<(RichText, RichText)> = Vec::new();
    let mut fact = |name: &str, words: RichText| facts.push((name.into(), words));
    if let Some(decision) = &m.words.decision {
        fact("Decision", RichText::new().quote(decision));
    }
    fact("Favourable", favourable(audit));
    if let Some(version) = &m.words.version {
        fact("Model version", RichText::new().quote(version));
    }
    let data =
        m.inputs.iter().filter(|i| i.what == "data").fold(RichText::new(), |words, input| {
            let words = if words == RichText::new() { words } else { words.text(", ") };
            words.quote(&input.path)
        });
    if data != RichText::new() {
        fact("Data", data);
    }
    fact(
        if m.person.is_some() { "Rows audited" } else { "People audited" },
        RichText::new().strong(number::count(i64::try_from(m.rows.audited).unwrap_or(i64::MAX))),
    );
    facts.extend(words::persons(audit).map(|words| ("Persons".into(), words)));
    facts.extend(words::weights(audit).map(|words| ("Weights".into(), words)));
    for attribute in &m.attributes {
        let groups =
            attribute.groups.iter().enumerate().fold(RichText::new(), |words, (i, group)| {
                let words = if i > 0 { words.text(", ") } else { words }.name(group);
                if *group == attribute.reference { words.text(" (reference)") } else { words }
            });
        facts.push((RichText::new().text("Groups by ").name(&attribute.name), groups));
    }
    if let Some(owner) = &m.words.owner {
        facts.push(("Owner".into(), RichText::new().quote(owner)));
    }
    facts
}

/// Which prediction is the favourable one.
pub(crate) fn favourable(audit: &AuditFolder) -> RichText {
    match &audit.manifest.label {
        None if audit.manifest.favourable_without_label == Some(true) => {
            "the positive prediction".into()
        }
        None if audit.manifest.favourable_without_label == Some(false) => {
            "the negative prediction".into()
        }
        None => match audit.manifest.amounts() {
            Some(told) if told.better_is_lower => "the lower amount".into(),
            Some(_) => "the higher amount".into(),
            None => "the job has no label and names no favourable side; this page says positive \
                     and negative"
                .into(),
        },
        Some(label) => {
            let words = RichText::new().text(
                match (label.classes.is_empty(), label.favourable_is_positive) {
                    (true, true) => "predicted positive: ",
                    (true, false) => "predicted negative, that is, not: ",
                    (false, true) => "predicted one of the positive classes: ",
                    (false, false) => "predicted another class than: ",
                },
            );
            let words = words.code(&label.column).text(" is ");
            label.positive.iter().enumerate().fold(words, |words, (i, value)| {
                if i > 0 { words.text(" or ") } else { words }.quote(value)
            })
        }
    }
}

fn severity(gate: &GateRow) -> usize {
    let order =
        [("fail", "fail"), ("inconclusive", "fail"), ("fail", "warn"), ("inconclusive", "warn")];
    let pair = (gate.verdict.as_str(), gate.level.as_str());
    order.iter().position(|o| *o == pair).unwrap_or(if pair.0 == "pass" { 4 } else { 5 })
}

/// The row that decides each gate, worst first.
fn ranked(audit: &AuditFolder) -> Vec<&GateRow> {
    let mut gates: Vec<&GateRow> = deciding(&audit.gates).collect();
    gates.sort_by(|a, b| worst_first(a, b));
    gates
}

pub(super) fn gates(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageBlock> {
    let mut gates: Vec<&GateRow> = Vec::new();
    for gate in ranked(audit) {
        let others = parts(audit, gate);
        gates.push(gate);
        gates.extend(others);
    }
    (!gates.is_empty())
        .then(|| table(audit, "Gates, worst first".into(), &gates, gates.len(), glossary))
}

/// Of a gate on harm the other part about the two groups of the one that decides: both kinds of
/// harm are one question. None of other gates.
fn parts<'a>(audit: &'a AuditFolder, gate: &GateRow) -> Vec<&'a GateRow> {
    let own = audit.rows_of_gate(gate.gate.as_str()).iter();
    let is_of_harm = is_of_harm(audit, gate);
    let back = |row: &&GateRow| {
        let ends = [row.sensitive.as_str(), row.from_group.as_str(), row.to_group.as_str()];
        ends == [gate.sensitive.as_str(), gate.to_group.as_str(), gate.from_group.as_str()]
    };
    own.filter(|row| is_of_harm && row.decides != 1 && back(row)).collect()
}

/// Whether a gate asks about both kinds of harm.
fn is_of_harm(audit: &AuditFolder, gate: &GateRow) -> bool {
    let own = || audit.rows_of_gate(gate.gate.as_str()).iter();
    HARM.iter().all(|metric| own().any(|row| row.metric == *metric))
}

/// What a gate on harm asks, and what the table shows of it; none where no gate does.
pub(super) fn harm_in_words(audit: &AuditFolder) -> Option<PageBlock> {
    let all: Vec<&GateRow> = audit.gates.iter().filter(|gate| is_of_harm(audit, gate)).collect();
    let is_shown = |gate: &&GateRow| {
        let of_gate: Vec<&GateRow> = deciding(audit.rows_of_gate(gate.gate.as_str())).collect();
        let is_part = |row: &&GateRow| place(row) == place(gate);
        of_gate.iter().any(|row| is_part(row) || parts(audit, row).iter().any(is_part))
    };
    let others = if all.iter().all(is_shown) {
        ""
    } else {
        " Results for other pairs of groups are in \u{201c}Directions that did not decide \
         a gate\u{201d}."
    };
    let (without, with) = if audit.manifest.amounts().is_some() {
        ("whose amount would be better", "whose amount would be worse")
    } else {
        (
            "without the favourable decision who would get it",
            "with the favourable decision who would lose it",
        )
    };
    (!all.is_empty()).then(|| {
        let words = format!(
            "Harm to a group has two parts for each other group: people of the group {without} as \
             members of the other (denied by group), and people of the other {with} as members of \
             the group (favoured by group). The worst part decides the gate; the other part for \
             the same two groups is below it.{others}"
        );
        PageBlock::Note(words.into())
    })
}

/// What tells the rows of a gate apart.
fn place(row: &GateRow) -> [String; 4] {
    [&row.gate, &row.sensitive, &row.from_group, &row.to_group].map(|text| text.as_str().to_owned())
}

/// The directions of gates that are asked for each ordered pair, without those that decided.
pub(super) fn other_directions(
    audit: &AuditFolder,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let told: Vec<[String; 4]> =
        deciding(&audit.gates).flat_map(|gate| parts(audit, gate)).map(place).collect();
    let mut others: Vec<&GateRow> =
        audit.gates.iter().filter(|g| g.decides != 1 && !told.contains(&place(g))).collect();
    others.sort_by(|a, b| worst_first(a, b));
    let shown = others.len().min(audit.rows_shown());
    let caption = if shown < others.len() {
        format!(
            "The worst {shown} of {} directions that did not decide; all are in \
             tables/gates.parquet",
            others.len()
        )
    } else {
        "Worst first".to_owned()
    };
    let fold = |table| PageBlock::Fold("Directions that did not decide a gate", vec![table]);
    (shown > 0).then(|| fold(table(audit, caption.into(), &others, shown, glossary)))
}

fn table(
    audit: &AuditFolder,
    caption: RichText,
    gates: &[&GateRow],
    shown: usize,
    glossary: &mut PageGlossary<'_>,
) -> PageBlock {
    let head =
        ["Question", "Answer", "Limit", "Value", "Cases", "Why"].map(RichText::from).to_vec();
    let rows = gates.iter().take(shown).map(|gate| row(audit, gate, glossary)).collect();
    PageBlock::Table(PageTable { caption, head, rows, prose: true })
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
    match (is_of_harm(audit, gate), gate.decides == 1) {
        (true, false) => answer.small.push("does not decide".into()),
        (true, true) => answer.small.push("this part decides".into()),
        (false, _) => {}
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
    ReportRow {
        id: if decides_gate { format!("limit-{}", gate.gate) } else { String::new() },
        head: question(audit, gate, glossary),
        cells: vec![
            answer,
            PageCell { main: limit.into(), small: decides, ..PageCell::default() },
            value,
            cases,
            PageCell {
                main: RichText::new().quote(counted(gate).1),
                small: caution(audit, gate).into_iter().collect(),
                ..PageCell::default()
            },
        ],
    }
}

/// Why the set of a gate names no group at a disadvantage, where graphs are the reason.
fn caution(audit: &AuditFolder, gate: &GateRow) -> Option<RichText> {
    gate_key(gate).and_then(|key| graphs::knowledge::caution(audit, &key.set, &key.attribute))
}

/// What a gate on recourse counts, which its reason begins with, and the rest of the reason; of
/// other gates only the reason.
fn counted(gate: &GateRow) -> (&str, &str) {
    let reason = gate.reason.as_str();
    match gate.metric.as_str() {
        UNFAIR_SUBGROUPS => {
            reason.split_once(": ").unwrap_or(("subgroups with unfair recourse", reason))
        }
        CONFIRMED_PATTERNS => reason.split_once(": ").unwrap_or(("confirmed patterns", reason)),
        _ => ("", reason),
    }
}

/// Gates that were judged and did not pass, worst first.
pub(crate) fn not_passed(audit: &AuditFolder) -> Vec<&GateRow> {
    let mut gates = ranked(audit);
    gates.retain(|gate| ["fail", "inconclusive"].contains(&gate.verdict.as_str()));
    gates
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

/// What a gate is about; none for one on an arm or a class, which the plain audit does not have.
fn gate_key(gate: &GateRow) -> Option<ResultKey> {
    (gate.arm.is_empty() && gate.class.is_empty()).then(|| gate.key())
}

/// "The gate few-switches failed", and what it asked for, for a sentence that gave the value.
pub(crate) fn gate_clause(gate: &GateRow) -> RichText {
    let GateNumbers { limit, interval, decides, .. } = numbers(gate);
    // The sentence has the interval of people: another one that decides is shown with the gate.
    let other = match decides {
        "interval, holm" => Some(" at the level that Holm's method gives".to_owned()),
        _ => DecidingRange::of(decides).map(|range| format!(" over {}", range.over)),
    };
    let ends = other.zip(interval).map(|(of, ends)| format!("; the interval{of} is {ends}"));
    let words = failed(gate).text(format!(": the limit is {limit}{}; ", ends.unwrap_or_default()));
    words.quote(counted(gate).1).text(".")
}

/// The same with the value.
pub(crate) fn gate_clause_with_value(
    audit: &AuditFolder,
    gate: &GateRow,
    glossary: &mut PageGlossary<'_>,
) -> RichText {
    let GateNumbers { limit, value, interval, baseline, decides } = numbers(gate);
    let over = DecidingRange::of(decides)
        .map_or_else(String::new, |range| format!(" over {}", range.over));
    let interval = interval.map(|interval| format!("interval{over} {interval}"));
    let cases = gate.denominator.map(|n| match gate.metric.as_str() {
        metric @ UNFAIR_SUBGROUPS => {
            format!("of {} of that size, with actions", things(metric, n))
        }
        CONFIRMED_PATTERNS => format!("{} who count", number::people(n)),
        _ => format!("{} cases", number::count(n)),
    });
    let beside: Vec<String> = interval.into_iter().chain(cases).collect();
    let beside =
        if beside.is_empty() { String::new() } else { format!(" ({})", beside.join("; ")) };
    let words = failed(gate)
        .text(": ")
        .and(measured(audit, gate, glossary))
        .text(match &baseline {
            Some(baseline) => format!(" has changed from {baseline} by "),
            None => " is ".to_owned(),
        })
        .strong(value.unwrap_or_else(|| "undefined".to_owned()))
        .text(format!("{beside}, limit {limit}; "))
        .quote(counted(gate).1)
        .text(".");
    let measure = gate_key(gate).and_then(|key| {
        // The tables have a pair in one order.
        let reverse = ResultKey { from: key.to.clone(), to: key.from.clone(), ..key.clone() };
        [&key, &reverse].into_iter().find_map(|key| audit.measure(key, gate.metric.as_str()))
    });
    let words = match (measure.map_or("", |measure| &measure.impaired), caution(audit, gate)) {
        (_, Some(caution)) => words.text(" ").and(caution),
        ("", None) => words,
        (group, None) => {
            words.text(" By this measure the group at a disadvantage is ").name(group).text(".")
        }
    };
    words.text(" ").link("See the row", "verdict", "Verdict")
}

fn failed(gate: &GateRow) -> RichText {
    let verdict = if gate.verdict == "fail" { " failed" } else { " is inconclusive" };
    RichText::new().text("The gate ").name(gate.gate.as_str()).text(verdict)
}

/// What the gate asks: its name, the metric, and where it is measured; what the job says about it.
fn question(audit: &AuditFolder, gate: &GateRow, glossary: &mut PageGlossary<'_>) -> RichText {
    let words =
        RichText::new().name(gate.gate.as_str()).text(": ").and(measured(audit, gate, glossary));
    match audit.manifest.words.gate_notes.get(gate.gate.as_str()) {
        Some(note) => words.text(". The job says: ").quote(note),
        None => words,
    }
}

/// The metric, and where it is measured.
fn measured(audit: &AuditFolder, gate: &GateRow, glossary: &mut PageGlossary<'_>) -> RichText {
    let of_amounts = audit.manifest.amounts().is_some();
    let mut words = RichText::new();
    words = match gate.metric.as_str() {
        UNFAIR_SUBGROUPS => words.text("number of ").link(counted(gate).0, "recourse", "Recourse"),
        CONFIRMED_PATTERNS => words.text("number of ").quote(counted(gate).0),
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
            .text(terms::between_directions(&gate.metric))
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
