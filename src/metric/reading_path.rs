//! The reading path: the questions that lead from a number to what to do next, as records with
//! texts in `reading_path.txt`. The page walks it over the tables of a run, `cfaudit explain path`
//! and `docs/reading.md` print it.
//!
//! The order follows Towards Counterfactual Group Fairness, Figure 5: consistency, which decisions
//! are lost, whether they were right, whose and through what, then which arm to retrain with. Not
//! done here: reading tables; a step says what it reads and how it decides, not what came out.

use std::sync::LazyLock;

use crate::text::TextBlocks;

/// How a step decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingRule {
    /// It picks the largest of m values.
    LargestOfMany,
    /// It compares two rates of different people.
    LargerOfTwo,
    /// It looks at one value, or at the largest of m where no pair of groups is picked before.
    Gap,
    /// It picks the arm that lowers a rate most.
    BestArm,
}

impl ReadingRule {
    /// The rule in words.
    pub fn words(self) -> &'static str {
        let id = match self {
            ReadingRule::LargestOfMany => "LargestOfMany",
            ReadingRule::LargerOfTwo => "LargerOfTwo",
            ReadingRule::Gap => "Gap",
            ReadingRule::BestArm => "BestArm",
        };
        WORDS.get(id, "decides")
    }
}

static WORDS: LazyLock<TextBlocks> =
    LazyLock::new(|| TextBlocks::read(include_str!("reading_path.txt")));

/// One way that a step can come out.
#[derive(Debug, Clone, Copy)]
pub struct ReadingOutcome {
    /// Its block of texts.
    of: &'static str,
    /// Its word.
    pub code: &'static str,
    /// The next step; empty = the path ends.
    pub next: &'static str,
}

impl ReadingOutcome {
    /// When it is this one.
    pub fn when(&self) -> &'static str {
        WORDS.get(self.of, "when")
    }

    /// What to do about it, as an imperative; empty where there is nothing to act on.
    pub fn act(&self) -> &'static str {
        WORDS.get(self.of, "act")
    }
}

/// One question of the path.
#[derive(Debug, Clone, Copy)]
pub struct ReadingStep {
    /// Its word.
    pub id: &'static str,
    /// The metrics that it reads.
    pub metrics: &'static [&'static str],
    /// The table where they are.
    pub table: &'static str,
    /// How it decides.
    pub rule: ReadingRule,
    /// How it can come out; the last is that there are no data.
    pub outcomes: &'static [ReadingOutcome],
}

/// The outcome of a step without data.
pub const NO_DATA: &str = "no_data";

impl ReadingStep {
    /// The question.
    pub fn question(&self) -> &'static str {
        WORDS.get(self.id, "asks")
    }

    /// What a job needs to have it answered.
    pub fn needs(&self) -> &'static str {
        WORDS.get(self.id, "needs")
    }

    /// The outcome of this word; the last one where it has no such word.
    pub fn outcome(&self, code: &str) -> &'static ReadingOutcome {
        let found = self.outcomes.iter().find(|outcome| outcome.code == code);
        found.unwrap_or(&self.outcomes[self.outcomes.len() - 1])
    }
}

/// The step of a word.
pub fn find(id: &str) -> Option<&'static ReadingStep> {
    STEPS.iter().find(|step| step.id == id)
}

/// A step: its word, metrics, table and rule; of each outcome its word and the next step; then the
/// next step where there are no data.
macro_rules! step {
    ($id:literal, $metrics:expr, $table:literal, $rule:ident;
        $($code:literal => $next:literal;)* else $last:literal) => {
        ReadingStep {
            id: $id,
            metrics: &$metrics,
            table: $table,
            rule: ReadingRule::$rule,
            outcomes: &[
                $(ReadingOutcome { of: concat!($id, ".", $code), code: $code, next: $next },)*
                ReadingOutcome { of: NO_DATA, code: NO_DATA, next: $last },
            ],
        }
    };
}

/// The path; it begins with the first step.
pub const STEPS: &[ReadingStep] = &[
    step! {
        "consistency", ["cr", "sr"], "metrics", LargestOfMany;
        "depends" => "lost"; "kept" => "gap"; "stable" => "gap";
        else "gap"
    },
    step! {
        "lost", ["denied_by_group", "favoured_by_group", "psr", "nsr"], "metrics", LargestOfMany;
        "gained" => "right"; "lost" => "right"; "either" => "who"; "stable" => "who";
        else "who"
    },
    step! {
        "right", ["tpsr", "fpsr", "tnsr", "fnsr"], "metrics", LargerOfTwo;
        "right" => "who"; "wrong" => "who"; "alike" => "who";
        else "who"
    },
    step! {
        "who", ["sr", "psr", "nsr", "denied_by_group", "favoured_by_group"], "switch_patterns",
            LargestOfMany;
        "traits" => "through"; "everybody" => "through";
        else "through"
    },
    step! {
        "through", [], "switch_features", LargestOfMany;
        "entry" => "labels"; "feature" => "labels"; "several" => "labels";
        else "labels"
    },
    step! {
        "labels", ["prev_difference", "pprev_difference"], "metrics", Gap;
        "differ" => "arm"; "amplified" => "arm"; "opposed" => "arm"; "alike" => "arm";
        else "arm"
    },
    step! {
        "arm", ["denied_by_group", "favoured_by_group", "acc"], "comparisons", BestArm;
        "helps" => ""; "harms" => ""; "none" => "";
        else ""
    },
    step! {
        "gap", ["pprev_difference"], "metrics", Gap;
        "differ" => "base_rates"; "alike" => "base_rates";
        else "base_rates"
    },
    step! {
        "base_rates", ["prev_difference"], "metrics", Gap;
        "differ" => ""; "alike" => "";
        else ""
    },
];

/// The experiment of a job that tries the common remedies on a model, with the counterfactuals of a
/// set, as one line of YAML; in folds where the job does not split its rows.
pub fn experiment(model: &str, set: &str, in_folds: bool) -> String {
    let folds = if in_folds { "folds: 5, " } else { "" };
    format!("{{model: {model}, from: {set}, {folds}arms: {{all: {{}}, switched: {{}}}}}}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{NO_DATA, STEPS, WORDS, find};
    use crate::metric::catalog;

    #[test]
    fn every_step_is_reached_and_every_way_ends() {
        let mut reached = BTreeSet::from([STEPS[0].id]);
        for (i, step) in STEPS.iter().enumerate() {
            let codes: BTreeSet<&str> = step.outcomes.iter().map(|of| of.code).collect();
            assert_eq!(codes.len(), step.outcomes.len(), "{}: a word occurs twice", step.id);
            assert_eq!(step.outcome("unheard of").code, NO_DATA, "{}", step.id);
            assert!(step.question().ends_with('?') && !step.needs().is_empty(), "{}", step.id);
            for outcome in step.outcomes.iter().filter(|outcome| !outcome.next.is_empty()) {
                let next = STEPS.iter().position(|step| step.id == outcome.next);
                assert!(next.is_some_and(|next| next > i), "{}: {}", step.id, outcome.code);
                reached.insert(outcome.next);
            }
            for metric in step.metrics {
                assert!(catalog::find(metric).is_some(), "{}: {metric}", step.id);
            }
        }
        let ways = STEPS.iter().flat_map(|step| step.outcomes);
        assert!(ways.clone().all(|outcome| !outcome.when().is_empty()));
        // The texts are those of steps, outcomes and rules.
        let blocks: BTreeSet<&str> = WORDS.ids().collect();
        let mut known: BTreeSet<&str> = ways.map(|outcome| outcome.of).collect();
        known.extend(STEPS.iter().map(|step| step.id));
        known.extend(["LargestOfMany", "LargerOfTwo", "Gap", "BestArm"]);
        assert_eq!(blocks, known);
        assert!(STEPS.iter().all(|step| reached.contains(step.id) && find(step.id).is_some()));
        assert_eq!(reached.len(), STEPS.len(), "words are unique");
    }
}
