//! Words that `cfaudit explain` knows: metrics, reasons, stages, tables, columns, public data sets,
//! exit statuses and error codes, from the lists that define them; and the [`numbers`] of a word in
//! a finished run.

pub(crate) mod numbers;

use std::fmt::Write;
use std::sync::LazyLock;

use minijinja::value::Value;
use minijinja::{Environment, context};

use crate::data::source::catalog::{DATA_SETS, PublicDataSet};
use crate::error::EXITS;
use crate::job::messages::{CODES, MESSAGES};
use crate::job::read::synonyms::synonym;
use crate::metric::catalog::catalog;
use crate::metric::catalog::cf_quality::{MEASURES, QualityMetric, REASONS};
use crate::metric::catalog::texts::MetricText;
use crate::metric::interval::{INTERVAL_METHODS, method_meaning};
use crate::metric::rate::{Undefined, meaning_of_code};
use crate::metric::reading_path::{ReadingOutcome, ReadingStep, STEPS};
use crate::metric::{DirectionSide, Facet, ImpairedGroupRule, Metric};
use crate::num::short_number::short_text;
use crate::table::list::TABLES;
use crate::table::{IssueRow, TableDef};
use crate::text::{self, TextBlocks, fact};

/// The kind of word that a measure of counterfactuals is.
const MEASURE: &str = "measure";

/// The kind of the codes of faults: data, scores or a model are wrong.
pub const FAULT: &str = "fault";

/// The kind of the codes of the table `issues`: what was found in the data and did not stop the
/// run.
pub const ISSUE: &str = "issue";

/// The kind of the codes of the column `reason_code` of `gates` that are not issues.
pub(crate) const REASON: &str = "reason";

/// A word with its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedWord {
    /// The word.
    pub word: String,
    /// What kind of word, by a key of the block `kind` of `words.txt`.
    pub kind: &'static str,
    /// The explanation, lines separated by line ends, without a last one.
    pub text: String,
}

impl ExplainedWord {
    /// What its kind is called.
    pub(crate) fn kind_in_words(&self) -> &'static str {
        WORDS.get("kind", self.kind)
    }
}

/// Words that no other list defines: kinds of stages, blocks of a job, scopes, codes of faults and
/// issues, and keys that need more than a line.
static WORDS: LazyLock<TextBlocks> = LazyLock::new(|| TextBlocks::read(include_str!("words.txt")));

/// The words of a kind with their explanations, in the order of the file.
pub fn words_of(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    WORDS.of(kind)
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
    let hint = |word: &str| Some(WORDS.get("hint", word)).filter(|hint| !hint.is_empty());
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
        add("undefined", code, meaning_of_code(code).to_owned());
    }
    words_of("stage").for_each(|(word, text)| add("stage", word, text.to_owned()));
    for table in TABLES {
        add("table", table.name, rendered("table", fact(table)));
        for column in table.columns {
            let word = format!("{}.{}", table.name, column.name);
            add("column", &word, column.meaning.to_owned());
        }
    }
    DATA_SETS.iter().for_each(|set| add("data_set", set.name, data_set_text(set)));
    for status in EXITS {
        let of = context!(means => status.means, who => status.who, retry => status.retry);
        add("exit", &status.exit.code().to_string(), rendered("exit", of));
    }
    for (word, text) in codes {
        let mut text = (*text).to_owned();
        for (_, what, hint) in MESSAGES.iter().filter(|(code, ..)| code == word) {
            let _ = write!(text, "\n- {what}\n  {hint}");
        }
        add("error", word, text);
    }
    // A code that issues and verdicts share means the same in both, and is listed as an issue.
    words_of(REASON).for_each(|(code, meaning)| add(REASON, code, meaning.to_owned()));
    add("path", "path", rendered("path", STEPS.iter().map(step_facts).collect()));
    for kind in [ISSUE, "block", "scope"] {
        words_of(kind).for_each(|(word, text)| add(kind, word, text.to_owned()));
    }
    INTERVAL_METHODS.iter().for_each(|word| add("method", word, method_meaning(word).to_owned()));
    words_of("word").for_each(|(word, text)| add("word", word, text.to_owned()));
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
    let by_symbol = catalog().find(|m| m.symbol().to_lowercase() == lower).map(|m| m.id);
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

/// That a word is a common term for another one; none of words of cfaudit.
pub fn term(entries: &[ExplainedWord], word: &str) -> Option<String> {
    let of = synonym(word).filter(|_| entries.iter().all(|entry| entry.word != word))?;
    Some(rendered("term", context!(word, of)))
}

fn number(x: f64) -> String {
    match x {
        f64::INFINITY => "∞".to_owned(),
        f64::NEG_INFINITY => "-∞".to_owned(),
        _ => short_text(x, None).unwrap_or_else(|| format!("{x}")),
    }
}

/// A range as text: `[0, 1]`, `[0, ∞)`.
pub fn range((lo, hi): (f64, f64)) -> String {
    let open = if lo.is_finite() { "[" } else { "(" };
    let close = if hi.is_finite() { "]" } else { ")" };
    format!("{open}{}, {}{close}", number(lo), number(hi))
}

/// The template of what is said about lists, with a filter that fills a column up.
static TEXTS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut texts = text::environment();
    texts.add_filter("pad", |text: &str, width: usize| format!("{text:<width$}"));
    texts.add_template("entries.txt", include_str!("entries.txt")).expect(text::TESTED);
    texts
});

/// What a macro says about something.
fn rendered(name: &str, of: Value) -> String {
    text::said(&TEXTS, "entries.txt", name, &[of])
}

fn metric_text(m: &Metric) -> String {
    let parts = MetricText::MEANING.map(|part| (part.head(), m.text(part)));
    let of = context! {
        name => m.name(), symbol => m.symbol(), family => m.family.as_str(), parts => fact(&parts),
        formula => m.text(MetricText::Formula), unit => fact(&m.unit), range => range(m.range),
        ideal => m.ideal.map(number), sign => m.text(MetricText::Sign),
        impaired => impaired(m.impaired), undefined_when => m.text(MetricText::UndefinedWhen),
        needs_label => m.needs_label, source => m.text(MetricText::Source),
    };
    rendered("metric", of)
}

/// The group that a metric shows to be worse off.
fn impaired(rule: ImpairedGroupRule) -> Value {
    match rule {
        ImpairedGroupRule::Unstated => context!(kind => "unstated"),
        ImpairedGroupRule::LowerRate(_) => context!(kind => "lower_rate"),
        ImpairedGroupRule::AboveZero(facet) => {
            context!(kind => "above_zero", favoured => facet == Facet::First)
        }
        ImpairedGroupRule::Switch { if_positive, if_negative, .. } => {
            let new = [if_positive, if_negative].map(|side| side == DirectionSide::New);
            context!(kind => "switch", new => fact(&new))
        }
    }
}

fn measure_text(m: &QualityMetric) -> String {
    let parts = MetricText::MEANING.map(|part| (part.head(), m.text(part)));
    let of = context! {
        scope => fact(&m.scope), name => m.text(MetricText::Name),
        formula => m.text(MetricText::Formula),
        reading => m.text(MetricText::Reading), parts => fact(&parts), range => range(m.range),
        undefined_when => m.text(MetricText::UndefinedWhen), source => m.text(MetricText::Source),
    };
    rendered("measure", of)
}

/// A step of the reading path with its possible outcomes.
fn step_facts(step: &ReadingStep) -> Value {
    let outcome = |of: &ReadingOutcome| {
        let (when, act) = (of.when(), of.act());
        context!(code => of.code, when, act, next => of.next)
    };
    context! {
        id => step.id, question => step.question(), needs => step.needs(), table => step.table,
        metrics => fact(&step.metrics), rule => step.rule.words(),
        outcomes => step.outcomes.iter().map(outcome).collect::<Value>(),
    }
}

fn data_set_text(set: &PublicDataSet) -> String {
    let of_members = set.members.iter().flat_map(|member| member.addresses);
    let columns = set.columns.iter().map(|(name, holds)| (*name, holds.word()));
    let of = context! {
        name => set.name, title => set.title, source => set.source,
        files => fact(&set.members),
        addresses => set.archives.iter().chain(of_members).copied().collect::<Value>(),
        stand_in => set.stand_in.is_some(), columns => fact(&columns.collect::<Vec<_>>()),
    };
    rendered("data_set", of)
}

/// The description of all tables, for `cfaudit schema tables`.
pub fn tables() -> String {
    let described =
        |table: &&TableDef| format!("{}: {}", table.name, rendered("table", fact(table)));
    TABLES.iter().map(described).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{entries, find, term, words_of};
    use crate::job::read::synonyms::synonyms;

    #[test]
    fn every_kind_of_stage_is_explained() {
        assert_eq!(
            words_of("stage").map(|(kind, _)| kind).collect::<Vec<_>>(),
            crate::stage::settings::KINDS
        );
    }

    #[test]
    fn words_are_read_as_they_stand_and_every_kind_has_a_name() {
        let names = |kind: &str| words_of(kind).map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(names("stage").first(), Some(&"prepare"));
        assert_eq!(names("scope").last(), Some(&"rest_to_one"));
        let text = |word: &str| words_of("word").find(|(of, _)| *of == word).map(|(_, text)| text);
        assert!(text("classes").is_some() && text("classes") == text("one_vs_all"));
        assert_eq!(text("few_units").map(|text| text.lines().count()), Some(2));
        for kind in ["kind", "stage", "block", "scope", "word", "fault", "reason", "issue", "hint"]
        {
            assert!(words_of(kind).all(|(_, text)| !text.is_empty() && !text.contains("\n  ")));
        }
        let all = entries(&[("unknown-key", "a key that the job file does not have")]);
        let kinds: BTreeSet<&str> = all.iter().map(|of| of.kind).collect();
        assert_eq!(kinds, words_of("kind").map(|(kind, _)| kind).collect());
    }

    #[test]
    fn words_are_found_by_id_symbol_and_column() {
        let all = entries(&[("unknown-key", "a key that the job file does not have")]);
        assert_eq!(find(&all, "nsr")[0].kind, "metric");
        assert_eq!(find(&all, "NSR")[0].word, "nsr");
        assert_eq!(find(&all, "prepare")[0].kind, "stage");
        assert_eq!(find(&all, "4")[0].kind, "exit");
        assert_eq!(find(&all, "compas")[0].kind, "data_set");
        assert_eq!(find(&all, "unknown-key")[0].kind, "error");
        assert_eq!(find(&all, "gates.verdict")[0].kind, "column");
        assert_eq!(find(&all, "one_to_rest")[0].kind, "scope");
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
        let said = "`four-fifths` is a common term for `di`";
        assert_eq!(term(&all, "four-fifths").as_deref(), Some(said));
        assert!(
            ["di", "NSR", "verdict", "nonsense-word"].iter().all(|of| term(&all, of).is_none())
        );
        for word in ["set", "naive", "favourable", "reference", "sensitive"] {
            assert_eq!(find(&all, word)[0].kind, "word", "{word}");
        }
        assert!(find(&all, "nonsense-word").is_empty());
    }
}
