//! Section "Verdict": one word and one shape, what was audited, and every gate with its limit and value, worst first.

use crate::report::against;
use crate::report::chart;
use crate::report::folder::Audit;
use crate::report::number::{self, Kind};
use crate::report::page::{Block, Cell, Row, Section, Table};
use crate::report::terms::{self, Glossary};
use crate::report::words::Words;
use crate::table::Record;
use crate::table::recourse::UNFAIR_SUBGROUPS;

/// What the gates of a folder add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A gate of level fail failed.
    Fail,
    /// None failed, but one of level fail is inconclusive.
    Inconclusive,
    /// Gates of level fail are fine, but one that only warns did not pass.
    Warn,
    /// All gates that were judged passed.
    Pass,
    /// There are gates, but none could be judged.
    NotJudged,
    /// No gate was asked.
    Done,
}

impl Verdict {
    /// The verdict of a folder.
    pub(super) fn of(audit: &Audit) -> Self {
        let gates: Vec<(&str, &str)> = deciding(audit).map(|g| (g.text("level"), g.text("verdict"))).collect();
        let any = |level: &str, verdict: &str| gates.contains(&(level, verdict));
        if gates.is_empty() {
            Verdict::Done
        } else if any("fail", "fail") {
            Verdict::Fail
        } else if any("fail", "inconclusive") {
            Verdict::Inconclusive
        } else if any("warn", "fail") || any("warn", "inconclusive") {
            Verdict::Warn
        } else if gates.iter().all(|(_, verdict)| *verdict == "skipped") {
            Verdict::NotJudged
        } else {
            Verdict::Pass
        }
    }

    fn class(self) -> &'static str {
        match self {
            Verdict::Fail => "fail",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Warn => "warn",
            Verdict::Pass => "pass",
            Verdict::NotJudged | Verdict::Done => "done",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Verdict::Fail => "Fail",
            Verdict::Inconclusive => "Inconclusive",
            Verdict::Warn => "Warn",
            Verdict::Pass => "Pass",
            Verdict::NotJudged => "No gate was judged",
            Verdict::Done => "No gate was asked",
        }
    }
}

fn deciding(audit: &Audit) -> impl Iterator<Item = Record<'_>> {
    audit.gates.records().filter(|g| g.int("decides") == Some(1))
}

/// The section.
pub(super) fn section(audit: &Audit, glossary: &mut Glossary<'_>) -> Section {
    let verdict = Verdict::of(audit);
    let mut blocks = vec![Block::Verdict {
        class: verdict.class(),
        drawing: chart::verdict(verdict.class(), verdict.class()),
        word: verdict.word(),
        sentence: sentence(audit, verdict),
    }];
    blocks.extend(gates(audit, glossary));
    blocks.push(Block::Facts(facts(audit)));
    blocks.extend(other_directions(audit, glossary));
    Section { id: "verdict", title: "Verdict", blocks }
}

fn sentence(audit: &Audit, verdict: Verdict) -> Words {
    let n = |word: &str, level: &str| {
        deciding(audit).filter(|g| g.text("verdict") == word && (level.is_empty() || g.text("level") == level)).count()
    };
    let all = deciding(audit).count();
    match verdict {
        Verdict::Done => "The job sets no limits, so the page reports and does not judge.".into(),
        Verdict::NotJudged => format!("None of the {} asked could be judged; the reasons are below.", gates_in_words(all)).into(),
        _ => {
            let mut parts = Vec::new();
            for (count, words) in [
                (n("fail", "fail"), "failed"),
                (n("inconclusive", "fail"), "inconclusive"),
                (n("pass", ""), "passed"),
                (n("skipped", ""), "not judged"),
                (n("fail", "warn") + n("inconclusive", "warn"), "not passed, but set to warn only"),
            ] {
                if count > 0 {
                    parts.push(format!("{count} {words}"));
                }
            }
            format!("Of {}: {}.", gates_in_words(all), parts.join("; ")).into()
        }
    }
}

fn gates_in_words(n: usize) -> String {
    if n == 1 { "1 gate".to_owned() } else { format!("{n} gates") }
}

/// What was audited.
pub(super) fn facts(audit: &Audit) -> Vec<(Words, Words)> {
    let m = &audit.manifest;
    let mut facts: Vec<(Words, Words)> = Vec::new();
    let mut fact = |name: &str, words: Words| facts.push((name.into(), words));
    if let Some(decision) = &m.words.decision {
        fact("Decision", Words::new().quote(decision));
    }
    fact("Favourable", favourable(audit));
    if let Some(version) = &m.words.version {
        fact("Model version", Words::new().quote(version));
    }
    let data = m.inputs.iter().filter(|i| i.what == "data").fold(Words::new(), |words, input| {
        let words = if words == Words::new() { words } else { words.text(", ") };
        words.quote(&input.path)
    });
    if data != Words::new() {
        fact("Data", data);
    }
    fact("People audited", Words::new().strong(number::count(i64::try_from(m.rows.audited).unwrap_or(i64::MAX))));
    facts.extend(terms::weights(audit).map(|words| ("Weights".into(), words)));
    for attribute in &m.attributes {
        let groups = attribute.groups.iter().enumerate().fold(Words::new(), |words, (i, group)| {
            let words = if i > 0 { words.text(", ") } else { words }.name(group);
            if *group == attribute.reference { words.text(" (reference)") } else { words }
        });
        facts.push((Words::new().text("Groups by ").name(&attribute.name), groups));
    }
    if let Some(owner) = &m.words.owner {
        facts.push(("Owner".into(), Words::new().quote(owner)));
    }
    facts
}

/// Which prediction is the favourable one.
pub(super) fn favourable(audit: &Audit) -> Words {
    match &audit.manifest.label {
        None => "the job has no label and names no favourable side; this page says positive and negative".into(),
        Some(label) => {
            let words = Words::new().text(match (label.classes.is_empty(), label.favourable_is_positive) {
                (true, true) => "predicted positive: ",
                (true, false) => "predicted negative, that is, not: ",
                (false, true) => "predicted one of the positive classes: ",
                (false, false) => "predicted another class than: ",
            });
            let words = words.code(&label.column).text(" is ");
            label.positive.iter().enumerate().fold(words, |words, (i, value)| if i > 0 { words.text(" or ") } else { words }.quote(value))
        }
    }
}

fn severity(gate: &Record<'_>) -> usize {
    let order = [("fail", "fail"), ("inconclusive", "fail"), ("fail", "warn"), ("inconclusive", "warn")];
    let pair = (gate.text("verdict"), gate.text("level"));
    order.iter().position(|o| *o == pair).unwrap_or(if pair.0 == "pass" { 4 } else { 5 })
}

fn gates(audit: &Audit, glossary: &mut Glossary<'_>) -> Option<Block> {
    let mut gates: Vec<Record<'_>> = deciding(audit).collect();
    gates.sort_by_key(severity);
    (!gates.is_empty()).then(|| table("Gates, worst first".into(), &gates, gates.len(), glossary))
}

/// The directions of gates that are asked for each ordered pair, without those that decided.
fn other_directions(audit: &Audit, glossary: &mut Glossary<'_>) -> Option<Block> {
    let mut others: Vec<Record<'_>> = audit.gates.records().filter(|g| g.int("decides") != Some(1)).collect();
    others.sort_by_key(severity);
    let shown = others.len().min(audit.rows_shown());
    let caption = if shown < others.len() {
        format!("The worst {shown} of {} directions that did not decide; all are in tables/gates.parquet", others.len())
    } else {
        "Worst first".to_owned()
    };
    let fold = |table| Block::Fold("Directions that did not decide a gate", vec![table]);
    (shown > 0).then(|| fold(table(caption.into(), &others, shown, glossary)))
}

fn table(caption: Words, gates: &[Record<'_>], shown: usize, glossary: &mut Glossary<'_>) -> Block {
    let head = ["Question", "Answer", "Limit", "Value", "Cases", "Why"].map(Words::from).to_vec();
    let rows = gates.iter().take(shown).map(|gate| row(gate, glossary)).collect();
    Block::Table(Table { caption, head, rows, prose: true })
}

fn row(gate: &Record<'_>, glossary: &mut Glossary<'_>) -> Row {
    let metric = gate.text("metric");
    let of_value = terms::kind(metric, gate.text("scope"));
    let is_change = ["rise_", "fall_"].iter().any(|word| gate.text("rule").starts_with(word));
    let (kind, of_limit) = match (is_change, against::of_change(of_value)) {
        (false, _) => (of_value, of_value),
        (true, Kind::Points) => (Kind::Points, Kind::Distance),
        (true, other) => (other, Kind::Plain),
    };
    let (bound, decides) = gate.text("rule").split_once([',', ' ']).unwrap_or((gate.text("rule"), ""));
    let bound = bound.replace('_', " ");
    let is_count = metric == UNFAIR_SUBGROUPS;
    let shown = |value: f64| if is_count { number::count(value as i64) } else { kind.value(value) };
    let of_limit = |value: f64| if is_count { shown(value) } else { of_limit.value(value) };
    let limit = gate.real("limit").map_or_else(|| "\u{2013}".to_owned(), of_limit);
    let decides = match decides.trim() {
        "" => Vec::new(),
        "interval" => vec!["the interval decides".into()],
        "interval, holm" => vec!["the interval decides, at the level that Holm's method gives each comparison".into()],
        "worlds" => vec!["the interval across causal graphs decides".into()],
        "estimate" if is_count => vec!["the number decides".into()],
        "estimate" => vec!["the estimate decides".into()],
        other => vec![Words::from(other.replace('_', " "))],
    };
    let class = match (gate.text("verdict"), gate.text("level")) {
        ("fail" | "inconclusive", "warn") => "warn",
        (verdict, _) => verdict,
    };
    let mut answer = Cell {
        main: Words::new().drawing(chart::verdict(class, &format!("mark {class}"))).strong(gate.text("verdict")),
        ..Cell::default()
    };
    if gate.text("level") == "warn" {
        answer.small.push("only warns".into());
    }
    let value = match gate.real("value") {
        None if gate.text("verdict") == "skipped" => "\u{2013}".into(),
        None => "undefined".into(),
        Some(value) => {
            let mut small = Vec::new();
            if let (Some(lo), Some(hi)) = (gate.real("lo"), gate.real("hi")) {
                small.push(kind.interval(value, lo, hi).into());
            }
            if let Some(baseline) = gate.real("baseline_value") {
                small.push(format!("from {}", of_value.value(baseline)).into());
            }
            Cell { main: shown(value).into(), small, ..Cell::default() }
        }
    };
    let cases = Cell {
        main: gate.int("denominator").map_or_else(|| "\u{2013}".to_owned(), number::count).into(),
        small: gate.int("enough").filter(|n| *n > 0).map(|n| format!("{} asked for", number::count(n)).into()).into_iter().collect(),
        ..Cell::default()
    };
    Row {
        id: String::new(),
        head: question(gate, glossary),
        cells: vec![
            answer,
            Cell { main: format!("{bound} {limit}").into(), small: decides, ..Cell::default() },
            value,
            cases,
            Words::new().quote(gate.text("reason")).into(),
        ],
    }
}

/// What the gate asks: its name, the metric, and where it is measured.
fn question(gate: &Record<'_>, glossary: &mut Glossary<'_>) -> Words {
    let mut words = Words::new().name(gate.text("gate")).text(": ");
    words = match gate.text("metric") {
        UNFAIR_SUBGROUPS => words.link("number of subgroups with unfair recourse", "recourse", "Recourse"),
        metric => words.and(glossary.title(metric)),
    };
    if !gate.text("class").is_empty() {
        words = words.text(", class ").name(gate.text("class"));
    }
    let (from, to) = (gate.text("from_group"), gate.text("to_group"));
    words = match (from.is_empty(), to.is_empty()) {
        (false, false) if gate.text("counterfactual").is_empty() => words.text(", ").name(from).text(" and ").name(to),
        (false, false) if gate.text("scope") == "difference" => {
            words.text(", ").and(Words::direction(from, to)).text(" minus ").and(Words::direction(to, from))
        }
        (false, false) => words.text(", ").and(Words::direction(from, to)),
        (false, true) if gate.text("scope") == "one_vs_rest" => words.text(", ").name(from).text(" and all others"),
        (false, true) => words.text(", ").name(from),
        (true, false) => words.text(", all others and ").name(to),
        (true, true) if gate.text("scope") == "worst_case" => words.text(", the groups furthest apart"),
        (true, true) => words,
    };
    for (word, column) in [("attribute", "sensitive"), ("set", "counterfactual"), ("model", "model"), ("arm", "arm")] {
        if !gate.text(column).is_empty() {
            words = words.text(format!(", {word} ")).name(gate.text(column));
        }
    }
    words
}
