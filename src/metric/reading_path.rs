//! The reading path: the questions that lead from a number to what to do next, as records. The page
//! walks it over the tables of a run, `cfaudit explain path` and `docs/reading.md` print it.
//!
//! The order follows Towards Counterfactual Group Fairness, Figure 5: consistency, which decisions
//! are lost, whether they were right, whose and through what, then which arm to retrain with. Not
//! done here: reading tables; a step says what it reads and how it decides, not what came out.

use serde::Serialize;

/// How a step decides; `explain/entries.txt` words it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

/// One way that a step can come out.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ReadingOutcome {
    /// Its word.
    pub code: &'static str,
    /// When it is this one.
    pub when: &'static str,
    /// What to do about it, as an imperative; empty where there is nothing to act on.
    pub act: &'static str,
    /// The next step; empty = the path ends.
    pub next: &'static str,
}

/// One question of the path.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ReadingStep {
    /// Its word.
    pub id: &'static str,
    /// The question.
    pub question: &'static str,
    /// The metrics that it reads.
    pub metrics: &'static [&'static str],
    /// The table where they are.
    pub table: &'static str,
    /// What a job needs to have it answered.
    pub needs: &'static str,
    /// How it decides.
    pub rule: ReadingRule,
    /// How it can come out; the last is that there are no data.
    pub outcomes: &'static [ReadingOutcome],
}

/// The outcome of a step without data.
pub const NO_DATA: &str = "no_data";

impl ReadingStep {
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

/// A step: its word, question, metrics, table, what it needs, and its rule; of each outcome its
/// word, the next step, when it is this one, and what to do if there is something; then the next
/// step where there are no data.
macro_rules! step {
    ($id:literal, $question:literal, $metrics:expr, $table:literal, $needs:literal, $rule:ident;
        $($code:literal => $next:literal, $when:literal $(, $act:expr)?;)* else $last:literal) => {
        ReadingStep {
            id: $id,
            question: $question,
            metrics: &$metrics,
            table: $table,
            needs: $needs,
            rule: ReadingRule::$rule,
            outcomes: &[
                $(ReadingOutcome { code: $code, when: $when, act: step!($($act)?), next: $next },)*
                ReadingOutcome {
                    code: NO_DATA,
                    when: "the tables of the run do not answer it",
                    act: "",
                    next: $last,
                },
            ],
        }
    };
    ($act:expr) => { $act };
    () => { "" };
}

const CHECK_LABELS: &str = "check how the labels of these groups came about before retraining: a \
    model that repeats biased labels looks right";

/// The path; it begins with the first step.
pub const STEPS: &[ReadingStep] = &[
    step! {
        "consistency", "Do decisions stay the same if only the group changes?", ["cr", "sr"],
            "metrics", "a counterfactual set and its scores", LargestOfMany;
        "depends" => "lost", "decisions depend on the group";
        "kept" => "gap", "a limit of the job judges the finding, and it is kept";
        "stable" => "gap", "nothing stands out";
        else "gap"
    },
    step! {
        "lost", "Which decisions are lost, and whose?",
            ["denied_by_group", "favoured_by_group", "psr", "nsr"], "metrics",
            "a counterfactual set and its scores", LargestOfMany;
        "gained" => "right", "people lack the favourable decision because of the group";
        "lost" => "right", "people have the favourable decision because of the group";
        "either" => "who", "the class changes, and the job names no favourable one";
        "stable" => "who", "no direction stands out";
        else "who"
    },
    step! {
        "right", "Were the decisions that are lost right?", ["tpsr", "fpsr", "tnsr", "fnsr"],
            "metrics", "labels and the family eccm", LargerOfTwo;
        "right" => "who", "right decisions are lost more often than wrong ones";
        "wrong" => "who", "wrong decisions are lost more often than right ones";
        "alike" => "who", "the two rates cannot be distinguished";
        else "who"
    },
    step! {
        "who", "Does it concern some people more than others?",
            ["sr", "psr", "nsr", "denied_by_group", "favoured_by_group"], "switch_patterns",
            "a block `why` on this model, set and attribute", LargestOfMany;
        "traits" => "through", "people with certain traits switch more often than the others",
                "look at the decisions about these people first, and at how many training rows \
                there are of them";
        "everybody" => "through", "no trait stands out";
        else "through"
    },
    step! {
        "through", "Through what do people switch?", [], "switch_features",
            "a block `why` that asks for features", LargestOfMany;
        "entry" => "labels", "through the entry for the attribute itself", "ask why the model \
                reads the attribute; try a model without it, and audit that one with a set that \
                also moves features";
        "feature" => "labels", "through a feature that follows the group", "ask whether this \
                feature may count; try a model without it or with a fairer form of it";
        "several" => "labels", "no single feature stands out";
        else "labels"
    },
    step! {
        "labels", "Do the labels of the two groups differ as much as the decisions?",
            ["prev_difference", "pprev_difference"], "metrics", "labels and the family group", Gap;
        "differ" => "arm", "the shares of positive labels differ about as much as the decisions",
            CHECK_LABELS;
        // A threshold widens a gap between scores, so that a model which repeats its labels exactly
        // decides more unequally than they are.
        "amplified" => "arm", "they differ in the direction of the decisions, clearly less",
            CHECK_LABELS;
        "opposed" => "arm", "they differ in the other direction";
        "alike" => "arm", "they cannot be distinguished";
        else "arm"
    },
    step! {
        "arm", "Which remedy that was tried helps most, without harm to another group?",
            ["denied_by_group", "favoured_by_group", "acc"], "comparisons",
            "a block `experiments` on this model and set", BestArm;
        "helps" => "", "an arm lowers the rate, and no other rate is clearly worse",
            "try this arm on other data before you use it";
        "harms" => "", "each arm that lowers the rate makes another one worse";
        "none" => "", "no arm clearly lowers the rate";
        else ""
    },
    step! {
        "gap", "Do the groups get the decision equally often as they are?", ["pprev_difference"],
            "metrics", "two groups with enough people", Gap;
        "differ" => "base_rates", "one group clearly gets it less often",
            "look at the features in which the groups differ";
        "alike" => "base_rates", "nothing stands out";
        else "base_rates"
    },
    step! {
        "base_rates", "Do the labels of some groups differ?", ["prev_difference"], "metrics",
            "labels and the family group", Gap;
        "differ" => "", "the shares of positive labels differ", CHECK_LABELS;
        "alike" => "", "nothing stands out";
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

    use super::{NO_DATA, STEPS, find};
    use crate::metric::catalog;

    #[test]
    fn every_step_is_reached_and_every_way_ends() {
        let mut reached = BTreeSet::from([STEPS[0].id]);
        for (i, step) in STEPS.iter().enumerate() {
            let codes: BTreeSet<&str> = step.outcomes.iter().map(|of| of.code).collect();
            assert_eq!(codes.len(), step.outcomes.len(), "{}: a word occurs twice", step.id);
            assert_eq!(step.outcome("unheard of").code, NO_DATA, "{}", step.id);
            assert!(step.question.ends_with('?') && !step.needs.is_empty(), "{}", step.id);
            for outcome in step.outcomes.iter().filter(|outcome| !outcome.next.is_empty()) {
                let next = STEPS.iter().position(|step| step.id == outcome.next);
                assert!(next.is_some_and(|next| next > i), "{}: {}", step.id, outcome.code);
                reached.insert(outcome.next);
            }
            for metric in step.metrics {
                assert!(catalog::find(metric).is_some(), "{}: {metric}", step.id);
            }
        }
        assert!(STEPS.iter().all(|step| reached.contains(step.id) && find(step.id).is_some()));
        assert_eq!(reached.len(), STEPS.len(), "words are unique");
    }
}
