//! Words that `cfaudit explain` knows: metrics, reasons, stages, tables, columns, public data sets,
//! exit statuses and error codes, from the lists that define them; and the [`numbers`] of a word in
//! a finished run.

pub(crate) mod numbers;
mod words;

use std::fmt::Write;

pub use self::words::words_of;
use crate::data::source::catalog::{DATA_SETS, PublicDataSet};
use crate::error::EXITS;
use crate::job::messages::{CODES, MESSAGES};
use crate::job::read::synonyms::synonym;
use crate::metric::catalog::catalog;
use crate::metric::catalog::cf_quality::{MEASURES, QualityMetric, QualityScope, REASONS};
use crate::metric::catalog::texts::MetricText;
use crate::metric::interval::{INTERVAL_METHODS, method_meaning};
use crate::metric::rate::{Undefined, meaning_of_code};
use crate::metric::reading_path::{ReadingStep, STEPS};
use crate::metric::{DirectionSide, Facet, ImpairedGroupRule, Metric};
use crate::num::short_number::short_text;
use crate::table::list::TABLES;
use crate::table::{IssueRow, TableDef};

/// The kind of word that a measure of counterfactuals is.
const MEASURE: &str = "measure of counterfactuals";

/// The kind of the codes of faults: data, scores or a model are wrong.
pub const FAULT: &str = "fault";

/// The kind of the codes of the table `issues`: what was found in the data and did not stop the
/// run.
pub const ISSUE: &str = "issue of the data";

/// The kind of the codes of the column `reason_code` of `gates` that are not issues.
pub(crate) const REASON: &str = "reason of a verdict";

/// A word with its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedWord {
    /// The word.
    pub word: String,
    /// What kind of word: `metric`, `stage`, ...
    pub kind: &'static str,
    /// The explanation, lines separated by line ends, without a last one.
    pub text: String,
}

/// All error codes with their meanings: those of the job file, then those of data, scores and
/// models, then the others.
pub fn codes() -> Vec<(&'static str, &'static str)> {
    let others = words_of(FAULT).chain(words_of("notice"));
    CODES.iter().copied().chain(others).collect()
}

/// What the author of the job can change about an issue, for `check` and the log: the page has only
/// the meaning of the issue.
pub(crate) fn hint_of_issue(issue: &IssueRow) -> Option<&'static str> {
    let hint = |word: &str| {
        let mut hints = words_of("hint");
        hints.find(|(of, _)| *of == word).map(|(_, hint)| hint)
    };
    issue.state.as_deref().and_then(hint).or_else(|| hint(&issue.code))
}

/// Everything that can be explained. `codes` are the error codes of the job file and of data, with
/// one line each.
pub fn entries(codes: &[(&str, &str)]) -> Vec<ExplainedWord> {
    let mut entries = Vec::new();
    let mut add = |kind: &'static str, word: &str, text: String| {
        entries.push(ExplainedWord { word: word.to_owned(), kind, text });
    };
    catalog().for_each(|metric| add("metric", metric.id, metric_text(metric)));
    MEASURES.iter().for_each(|measure| add(MEASURE, measure.id, measure_text(measure)));
    for code in Undefined::ALL.iter().map(|reason| reason.code()).chain(REASONS) {
        add("reason why a value is undefined", code, meaning_of_code(code).to_owned());
    }
    words_of("stage").for_each(|(word, text)| add("stage", word, text.to_owned()));
    for table in TABLES {
        add("table", table.name, table_text(table));
        for column in table.columns {
            let word = format!("{}.{}", table.name, column.name);
            add("column", &word, column.meaning.to_owned());
        }
    }
    DATA_SETS.iter().for_each(|set| add("data set", set.name, data_set_text(set)));
    for status in EXITS {
        let (means, who, retry) = (status.means, status.who, status.retry);
        let text = format!("{means}\nwho acts: {who}\nretry helps: {retry}");
        add("exit status", &status.exit.code().to_string(), text);
    }
    for (word, text) in codes {
        let mut text = (*text).to_owned();
        for (_, what, hint) in MESSAGES.iter().filter(|(code, ..)| code == word) {
            let _ = write!(text, "\n- {what}\n  {hint}");
        }
        add("error code", word, text);
    }
    // A code that issues and verdicts share means the same in both, and is listed as an issue.
    words_of(REASON).for_each(|(code, meaning)| add(REASON, code, meaning.to_owned()));
    add("reading path", "path", path_text());
    let methods = (
        "method of intervals (`ci_method`)",
        INTERVAL_METHODS.iter().map(|word| (*word, method_meaning(word))).collect::<Vec<_>>(),
    );
    let of_file = |kind| (kind, words_of(kind).collect());
    for (kind, words) in [
        of_file(ISSUE),
        of_file("block of the job"),
        of_file("scope of a metric"),
        methods,
        of_file("word"),
    ] {
        words.iter().for_each(|(word, text)| add(kind, word, (*text).to_owned()));
    }
    entries
}

/// The entries of a word: its own, else those of columns of that name. Metrics are also known by
/// their symbol.
pub fn find<'a>(entries: &'a [ExplainedWord], word: &str) -> Vec<&'a ExplainedWord> {
    let named = |word: &str| entries.iter().filter(|e| e.word == word).collect::<Vec<_>>();
    let exact = named(word);
    if !exact.is_empty() {
        return exact;
    }
    if let Some(same) = synonym(word) {
        // A stage or a table may have the name of its subject; a domain term means the subject.
        let mut all = named(same);
        all.sort_by_key(|e| matches!(e.kind, "stage" | "table"));
        all.truncate(1);
        return all;
    }
    let lower = word.to_lowercase();
    let by_symbol = catalog().find(|m| m.symbol.to_lowercase() == lower).map(|m| m.id);
    let tail = format!(".{lower}");
    entries
        .iter()
        .filter(|e| {
            Some(e.word.as_str()) == by_symbol
                || e.word == lower
                || (e.kind == "column" && e.word.ends_with(&tail))
        })
        .collect()
}

/// The known word closest to one that is not known.
pub fn nearest(entries: &[ExplainedWord], word: &str) -> Option<String> {
    let lower = word.to_lowercase();
    let (distance, word) =
        entries.iter().map(|e| (strsim::damerau_levenshtein(&lower, &e.word), &e.word)).min()?;
    (distance <= lower.chars().count() / 2).then(|| word.clone())
}

fn number(x: f64) -> String {
    if x == f64::INFINITY {
        "∞".to_owned()
    } else if x == f64::NEG_INFINITY {
        "-∞".to_owned()
    } else {
        short_text(x, None).unwrap_or_else(|| format!("{x}"))
    }
}

/// A range as text: `[0, 1]`, `[0, ∞)`.
pub fn range((lo, hi): (f64, f64)) -> String {
    let open = if lo.is_finite() { "[" } else { "(" };
    let close = if hi.is_finite() { "]" } else { ")" };
    format!("{open}{}, {}{close}", number(lo), number(hi))
}

fn metric_text(metric: &Metric) -> String {
    let symbol = if metric.symbol == metric.name() {
        String::new()
    } else {
        format!(" ({})", metric.symbol)
    };
    let head = format!("{}{symbol}, family {}", metric.name(), metric.family.as_str());
    let ideal = metric.ideal.map_or_else(|| "none stated".to_owned(), number);
    let mut lines = vec![("formula", metric.text(MetricText::Formula).to_owned())];
    lines.extend(MetricText::MEANING.map(|part| (part.head(), metric.text(part).to_owned())));
    lines.extend([
        ("unit", metric.unit.meaning().to_owned()),
        ("range", range(metric.range)),
        ("ideal", ideal),
        ("sign", metric.text(MetricText::Sign).to_owned()),
        ("at a disadvantage, if the numbers are clear", impaired(metric.impaired)),
        ("undefined when", metric.text(MetricText::UndefinedWhen).to_owned()),
        ("needs a label", if metric.needs_label { "yes" } else { "no" }.to_owned()),
        ("source", metric.text(MetricText::Source).to_owned()),
    ]);
    described(head, &lines)
}

/// The whole tree of the reading path: each step with its possible outcomes.
fn path_text() -> String {
    let mut text = "the reading path: the questions that lead from a number to what to do next; \
                    the page walks it over the tables of a run\n"
        .to_owned();
    let place = |id: &str| STEPS.iter().position(|step| step.id == id).map(|at| at + 1);
    for (i, step) in STEPS.iter().enumerate() {
        let ReadingStep { metrics, table, rule, outcomes, .. } = step;
        let (question, needs) = (step.question(), step.needs());
        let reads =
            if metrics.is_empty() { String::new() } else { format!("{} of ", metrics.join(", ")) };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}. {question} ({})", i + 1, step.id);
        let _ = writeln!(text, "   reads: {reads}table {table}; needs {needs}");
        let _ = writeln!(text, "   rule: {}", rule.words());
        for outcome in *outcomes {
            let next = match place(outcome.next) {
                Some(next) => format!("go to {next}"),
                None => "end".to_owned(),
            };
            let act = outcome.act();
            let act = if act.is_empty() { String::new() } else { format!("; {act}") };
            let _ = writeln!(text, "   - {}: {}{act}: {next}", outcome.code, outcome.when());
        }
    }
    text.trim_end().to_owned()
}

/// The group that a metric shows to be worse off, in words.
fn impaired(rule: ImpairedGroupRule) -> String {
    let side = |side: DirectionSide| match side {
        DirectionSide::Original => "the group that people belong to",
        DirectionSide::New => "the group to which they are moved",
    };
    match rule {
        ImpairedGroupRule::Unstated => "no group is named".to_owned(),
        ImpairedGroupRule::LowerRate(_) => {
            "the group with the lower rate of favourable predictions".to_owned()
        }
        ImpairedGroupRule::AboveZero(Facet::First) => {
            "above 0 the favoured facet, below it the other".to_owned()
        }
        ImpairedGroupRule::AboveZero(Facet::Second) => {
            "above 0 the disfavoured facet, below it the other".to_owned()
        }
        ImpairedGroupRule::Switch { if_positive, if_negative, .. }
            if if_positive == if_negative =>
        {
            side(if_positive).to_owned()
        }
        ImpairedGroupRule::Switch { if_positive, if_negative, .. } => {
            format!(
                "{} where the positive prediction is favourable, else {}",
                side(if_positive),
                side(if_negative)
            )
        }
    }
}

fn measure_text(measure: &QualityMetric) -> String {
    let table = match measure.scope {
        QualityScope::Pair => "table cf_quality",
        QualityScope::Transport => "table cf_quality, of transport only",
        QualityScope::Feature => "table cf_features",
    };
    let head = format!("{}, family cf_quality, {table}", measure.text(MetricText::Name));
    let mut lines = vec![
        ("formula", measure.text(MetricText::Formula).to_owned()),
        ("says", measure.text(MetricText::Reading).to_owned()),
    ];
    lines.extend(MetricText::MEANING.map(|part| (part.head(), measure.text(part).to_owned())));
    lines.extend([
        ("range", range(measure.range)),
        ("undefined when", measure.text(MetricText::UndefinedWhen).to_owned()),
        ("source", measure.text(MetricText::Source).to_owned()),
    ]);
    described(head, &lines)
}

/// A heading, and below it each line that is not empty.
fn described(head: String, lines: &[(&str, String)]) -> String {
    let told = lines.iter().filter(|(_, line)| !line.is_empty());
    told.fold(head, |text, (of, line)| text + &format!("\n{of}: {line}"))
}

fn table_text(table: &TableDef) -> String {
    let mut text = format!(
        "one row per {}; version {}; written by {}, read by {}\n",
        table.one_row_per, table.version, table.writer, table.readers
    );
    for (i, column) in table.columns.iter().enumerate() {
        let key = if i < table.n_key { "key  " } else { "     " };
        let kind = format!("{:?}", column.kind).to_lowercase();
        let _ = writeln!(text, "{key}{:<18}{kind:<6}{}", column.name, column.meaning);
    }
    text.trim_end().to_owned()
}

fn data_set_text(set: &PublicDataSet) -> String {
    let mut lines = vec![("source", set.source.to_owned())];
    for member in set.members {
        let forms = member.versions.iter();
        let forms = forms.map(|form| format!("{} bytes, SHA-256 {}", form.bytes, form.sha256));
        let forms = forms.collect::<Vec<_>>().join("; or ");
        lines.push(("file", format!("<data-dir>/{}/{} ({forms})", set.name, member.name)));
    }
    let of_members = set.members.iter().flat_map(|member| member.addresses);
    let addresses = set.archives.iter().chain(of_members);
    lines.extend(addresses.map(|address| ("address", (*address).to_owned())));
    let stand_in = if set.stand_in.is_some() { "on `when_unreachable: stand_in`" } else { "none" };
    lines.push(("stand-in", stand_in.to_owned()));
    let text = described(set.title.to_owned(), &lines) + "\ncolumns:";
    let columns = set.columns.iter();
    columns.fold(text, |text, (name, holds)| text + &format!("\n     {name:<25}{}", holds.name()))
}

/// The description of all tables, for `cfaudit schema tables`.
pub fn tables() -> String {
    TABLES.iter().map(|t| format!("{}: {}", t.name, table_text(t))).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::{entries, find, nearest, words_of};
    use crate::job::read::synonyms::synonyms;

    #[test]
    fn every_kind_of_stage_is_explained() {
        assert_eq!(
            words_of("stage").map(|(kind, _)| kind).collect::<Vec<_>>(),
            crate::stage::settings::KINDS
        );
    }

    #[test]
    fn words_are_found_by_id_symbol_and_column() {
        let all = entries(&[("unknown-key", "a key that the job file does not have")]);
        assert_eq!(find(&all, "nsr")[0].kind, "metric");
        assert_eq!(find(&all, "NSR")[0].word, "nsr");
        assert_eq!(find(&all, "prepare")[0].kind, "stage");
        assert_eq!(find(&all, "4")[0].kind, "exit status");
        assert_eq!(find(&all, "compas")[0].kind, "data set");
        assert_eq!(find(&all, "unknown-key")[0].kind, "error code");
        assert_eq!(find(&all, "gates.verdict")[0].kind, "column");
        assert_eq!(find(&all, "one_to_rest")[0].kind, "scope of a metric");
        for (word, says) in [
            ("dist_after", "Kolmogorov-Smirnov"),
            ("no_filter", "keep_within"),
            ("approximate_share", "of transport only"),
        ] {
            assert!(find(&all, word)[0].text.contains(says), "{word}");
        }
        for word in [
            "placebo",
            "doubt",
            "recheck",
            "waiting",
            "to-score",
            "rest_to_one",
            "direction",
            "pair",
            "total",
            "group",
            "any_switch",
            "clarify",
            "flip_test",
            "one_vs_rest",
            "worst_case",
            "compare",
            "holm",
            "noise",
            "valid",
        ] {
            assert!(!find(&all, word).is_empty(), "{word}");
        }
        assert!(find(&all, "verdict").iter().all(|e| e.kind == "column"));
        for (word, says) in [
            (
                "denied_by_group",
                "at a disadvantage, if the numbers are clear: the group that people belong to",
            ),
            (
                "favoured_by_group",
                "at a disadvantage, if the numbers are clear: the group to which they are moved",
            ),
            (
                "psr",
                "the group that people belong to where the positive prediction is favourable, else \
                 the group to which",
            ),
            ("harm_to", "denied_by_group from Female to B"),
            ("psr", "in the confusion matrix: FPR"),
            ("dppl", "asks: Does the model give the favoured facet"),
            ("path", "1. Do decisions stay the same if only the group changes? (consistency)"),
            ("path", "- depends: decisions depend on the group: go to 2"),
        ] {
            assert!(
                find(&all, word)[0].text.contains(says),
                "{word}: {}",
                find(&all, word)[0].text
            );
        }
        assert!(find(&all, "denied_by_group")[0].text.starts_with("denied by group, family ccm"));
        // Every word of the trade leads to a word that is explained.
        for (word, known) in synonyms() {
            let found: Vec<&str> = find(&all, word).iter().map(|of| of.word.as_str()).collect();
            assert_eq!(found, [known], "{word} leads to one entry");
        }
        assert_eq!(find(&all, "Four-fifths rule")[0].word, "di");
        for word in ["set", "naive", "favourable", "reference", "sensitive"] {
            assert_eq!(find(&all, word)[0].kind, "word", "{word}");
        }
        assert!(find(&all, "nonsense-word").is_empty());
        assert_eq!(nearest(&all, "nsrr").as_deref(), Some("nsr"));
    }
}
