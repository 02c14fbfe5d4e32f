//! What counterfactuals of causal graphs hold, in words: shares or rows, what gives the values, and
//! what the clip does to them.

use crate::folder::manifest::Manifest;
use crate::report::page::PageBlock;
use crate::report::page::number::NumberFormat;
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::ScenarioGraphs;

/// What the job says about the values of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueKnobs {
    levels: String,
    mechanism: String,
    clip: String,
}

impl ValueKnobs {
    /// Those of a set.
    pub(crate) fn of(manifest: &Manifest, set: &str) -> Self {
        let knobs = manifest.counterfactuals.iter().find(|words| words.name == set);
        let knob = |name: &str, default: &str| {
            let found = knobs.and_then(|words| {
                words.knobs.iter().find_map(|knob| knob.strip_prefix(name)?.strip_prefix(": "))
            });
            found.unwrap_or(default).to_owned()
        };
        ValueKnobs {
            levels: knob("levels", "expected"),
            mechanism: knob("mechanism", "linear"),
            clip: knob("clip", "none"),
        }
    }

    /// Whether every person has rows that could exist.
    pub(crate) fn are_rows(&self) -> bool {
        self.levels != "expected"
    }

    /// Whether cells of people give the values.
    pub(super) fn are_binned(&self) -> bool {
        self.mechanism != "linear"
    }

    /// How levels are chosen, in the word of the job: `drawn`.
    pub(crate) fn levels(&self) -> &str {
        &self.levels
    }

    /// What the values are and what the clip does, as a sentence.
    pub(crate) fn in_short(&self) -> String {
        let values = match self.levels.as_str() {
            "drawn" => "Levels are drawn: each person has one possible row in each graph",
            _ => "Levels are expected: shares of levels and any number, as no real person has",
        };
        let clip = match (self.clip.as_str(), self.are_rows()) {
            ("range", _) => {
                "numbers are clipped to the range of the training rows, so a count does not fall \
                 below its minimum"
            }
            ("indicators", false) => "shares are clipped to 0 and 1, numbers are not",
            _ => "numbers are not clipped, so a count can fall below 0",
        };
        format!("{values}; {clip}.")
    }
}

/// What the values of all sets are: sets of the same kind together.
pub(super) fn values(audit: &AuditFolder, scenarios: &[&ScenarioGraphs]) -> Vec<PageBlock> {
    let mut kinds: Vec<(ValueKnobs, Vec<&ScenarioGraphs>)> = Vec::new();
    for &scenario in scenarios {
        let knobs = ValueKnobs::of(&audit.manifest, &scenario.set);
        match kinds.iter_mut().find(|(known, _)| *known == knobs) {
            Some((_, sets)) => sets.push(scenario),
            None => kinds.push((knobs, vec![scenario])),
        }
    }
    kinds.iter().map(|(knobs, sets)| PageBlock::Text(told(knobs, sets))).collect()
}

fn told(knobs: &ValueKnobs, sets: &[&ScenarioGraphs]) -> RichText {
    let words = RichText::new().strong("What the values are: ").text("in ");
    let words = sets
        .iter()
        .enumerate()
        .fold(words, |words, (i, set)| words.text(if i == 0 { "" } else { ", " }).name(&set.set));
    let words = words.text(match knobs.levels.as_str() {
        "drawn" => {
            ", every person has one possible row in each graph (levels: drawn). Levels are drawn \
             from the shares that the mechanism gives, with one random number per person and \
             column, and whole numbers are whole. The interval of people includes this draw."
        }
        _ => {
            ", counterfactuals hold shares of levels and any number, as in the method's paper \
             (levels: expected). No person has such values, and only models trained here can \
             score them."
        }
    });
    let words = words.text(match (knobs.clip.as_str(), knobs.are_rows()) {
        ("range", _) => {
            " Numbers are clipped to the range of the training rows. This shifts means at the ends \
             of the range: a count cannot fall below its minimum, and the variables below it \
             follow the clipped count."
        }
        ("indicators", false) => " Shares of levels are clipped to 0 and 1, numbers are not.",
        (_, true) => " Numbers are not clipped: a count can fall below 0.",
        (_, false) => {
            " Nothing is clipped: a count can fall below 0, and a share can leave 0 to 1."
        }
    });
    if !knobs.are_binned() {
        return words.text(" Linear equations give the values.");
    }
    let steps: Vec<i64> = (0..3).map(|k| sets.iter().map(|set| set.steps[k]).sum()).collect();
    let all: i64 = steps.iter().sum();
    let words = words.text(
        " People with the same levels and bins of the parents give the values; where a cell has \
         too few rows, people with the same levels do, and where these are too few, the linear \
         equation.",
    );
    if all == 0 {
        return words;
    }
    let share = |k: usize| NumberFormat::Share.value(steps[k] as f64 / all as f64);
    words.text(format!(
        " Of the values, {} come from cells of levels and bins, {} from cells of levels, {} from \
         the equation.",
        share(0),
        share(1),
        share(2)
    ))
}
