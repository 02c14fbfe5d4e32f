//! What counterfactuals of causal graphs are, in words: shares or rows, which mechanism gives the
//! values, and how they are clipped.

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::folder::manifest::Manifest;
use crate::report::page::number::NumberFormat;
use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::ScenarioGraphs;
use crate::report::read::grouped::grouped;

/// What the job says about the values of a set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ValueKnobs {
    levels: String,
    binned: bool,
    clip: String,
}

/// What a sentence says about the values of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct ValuesInShort {
    /// Whether levels are drawn; else they are expected.
    drawn: bool,
    /// What is clipped: numbers to their `range`, `shares` to 0 and 1, or `none`.
    clip: &'static str,
}

impl ValueKnobs {
    /// The keys of a set.
    pub(crate) fn of(manifest: &Manifest, set: &str) -> Self {
        let knobs = manifest.set(set);
        let word = |name: &str, default: &str| {
            knobs.and_then(|set| set.word(name)).unwrap_or(default).to_owned()
        };
        ValueKnobs {
            levels: word("levels", "expected"),
            binned: knobs.and_then(|set| set.knob("mechanism")).is_some_and(|of| of != "linear"),
            clip: word("clip", "none"),
        }
    }

    /// Whether every person has rows that could exist.
    pub(crate) fn are_rows(&self) -> bool {
        self.levels != "expected"
    }

    /// Whether cells of people give the values.
    pub(super) fn are_binned(&self) -> bool {
        self.binned
    }

    /// How levels are chosen, in the word of the job: `drawn`.
    pub(crate) fn levels(&self) -> &str {
        &self.levels
    }

    /// What the values are and what the clip does.
    pub(crate) fn in_short(&self) -> ValuesInShort {
        let clip = match (self.clip.as_str(), self.are_rows()) {
            ("range", _) => "range",
            ("indicators", false) => "shares",
            _ => "none",
        };
        ValuesInShort { drawn: self.levels == "drawn", clip }
    }
}

/// What the values of all sets are: sets of the same kind together.
pub(super) fn values(audit: &AuditFolder, scenarios: &[&ScenarioGraphs]) -> Value {
    let knobs = |of: &&ScenarioGraphs| ValueKnobs::of(&audit.manifest, &of.set);
    let kinds = grouped(scenarios.iter().map(|scenario| (knobs(scenario), *scenario)));
    let facts = |(knobs, sets): &(ValueKnobs, Vec<&ScenarioGraphs>)| {
        let steps = [0, 1, 2].map(|k| sets.iter().map(|set| set.steps[k]).sum::<i64>());
        let all: i64 = steps.iter().sum();
        let share = |n: &i64| NumberFormat::Share.value(*n as f64 / all as f64);
        let steps: Value = steps.iter().filter(|_| all > 0).map(share).collect();
        context! {
            sets => sets.iter().map(|set| &set.set).collect::<Value>(), levels => &knobs.levels,
            clip => &knobs.clip, are_rows => knobs.are_rows(), binned => knobs.are_binned(), steps,
        }
    };
    kinds.iter().map(facts).collect()
}
