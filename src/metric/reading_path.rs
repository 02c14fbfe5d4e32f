//! The reading path: the questions that lead from a number to what to do next, as records. The page
//! walks it over the tables of a run, `cfaudit explain path` and `docs/reading.md` print it.
//!
//! Order after Towards Counterfactual Group Fairness, Figure 5: consistency, which decisions are
//! lost, whether they were right, whose and through what, then which arm to retrain with. Not done
//! here: reading tables; a step says what it reads and how it decides, not what came out.

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
        match self {
            ReadingRule::LargestOfMany => {
                "the largest of m, with the end of its interval at the level 1 - alpha / m; where \
                 that end is within the noise or the ideal, nothing stands out"
            }
            ReadingRule::LargerOfTwo => {
                "the larger of two rates of different people: its lower end at the level 1 - alpha \
                 / 2 must be above the upper end of the other"
            }
            ReadingRule::Gap => {
                "the interval must leave out 0; where the step picks the pair of groups itself, at \
                 the level 1 - alpha / m for the largest of m"
            }
            ReadingRule::BestArm => {
                "the arm with the largest reduction of m whose upper end is below 0 at the level \
                 1 - alpha / m; arms after which another rate is clearly worse are left out"
            }
        }
    }
}

/// One way that a step can come out.
#[derive(Debug, Clone, Copy)]
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
#[derive(Debug, Clone, Copy)]
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

const fn outcome(
    code: &'static str,
    when: &'static str,
    act: &'static str,
    next: &'static str,
) -> ReadingOutcome {
    ReadingOutcome { code, when, act, next }
}

const fn no_data(next: &'static str) -> ReadingOutcome {
    outcome(NO_DATA, "the tables of the run do not answer it", "", next)
}

const CHECK_LABELS: &str = "check how the labels of these groups came about before retraining: a \
    model that repeats biased labels looks right";

/// The path; it begins with the first step.
pub const STEPS: &[ReadingStep] = &[
    ReadingStep {
        id: "consistency",
        question: "Do decisions stay the same if only the group changes?",
        metrics: &["cr", "sr"],
        table: "metrics",
        needs: "a counterfactual set and its scores",
        rule: ReadingRule::LargestOfMany,
        outcomes: &[
            outcome("depends", "decisions depend on the group", "", "lost"),
            outcome("kept", "a limit of the job judges the finding, and it is kept", "", "gap"),
            outcome("stable", "nothing stands out", "", "gap"),
            no_data("gap"),
        ],
    },
    ReadingStep {
        id: "lost",
        question: "Which decisions are lost, and whose?",
        metrics: &["denied_by_group", "favoured_by_group", "psr", "nsr"],
        table: "metrics",
        needs: "a counterfactual set and its scores",
        rule: ReadingRule::LargestOfMany,
        outcomes: &[
            outcome(
                "gained",
                "people lack the favourable decision because of the group",
                "",
                "right",
            ),
            outcome(
                "lost",
                "people have the favourable decision because of the group",
                "",
                "right",
            ),
            outcome("either", "the class changes, and the job names no favourable one", "", "who"),
            outcome("stable", "no direction stands out", "", "who"),
            no_data("who"),
        ],
    },
    ReadingStep {
        id: "right",
        question: "Were the decisions that are lost right?",
        metrics: &["tpsr", "fpsr", "tnsr", "fnsr"],
        table: "metrics",
        needs: "labels and the family eccm",
        rule: ReadingRule::LargerOfTwo,
        outcomes: &[
            outcome("right", "right decisions are lost more often than wrong ones", "", "who"),
            outcome("wrong", "wrong decisions are lost more often than right ones", "", "who"),
            outcome("alike", "the two rates cannot be distinguished", "", "who"),
            no_data("who"),
        ],
    },
    ReadingStep {
        id: "who",
        question: "Does it concern some people more than others?",
        metrics: &["sr", "psr", "nsr", "denied_by_group", "favoured_by_group"],
        table: "switch_patterns",
        needs: "a block `why` on this model, set and attribute",
        rule: ReadingRule::LargestOfMany,
        outcomes: &[
            outcome(
                "traits",
                "people with certain traits switch more often than the others",
                "look at the decisions about these people first, and at how many training rows \
                 there are of them",
                "through",
            ),
            outcome("everybody", "no trait stands out", "", "through"),
            no_data("through"),
        ],
    },
    ReadingStep {
        id: "through",
        question: "Through what do people switch?",
        metrics: &[],
        table: "switch_features",
        needs: "a block `why` that asks for features",
        rule: ReadingRule::LargestOfMany,
        outcomes: &[
            outcome(
                "entry",
                "through the entry for the attribute itself",
                "ask why the model reads the attribute; try a model without it, and audit that one \
                 with a set that also moves features",
                "labels",
            ),
            outcome(
                "feature",
                "through a feature that follows the group",
                "ask whether this feature may count; try a model without it or with a fairer form \
                 of it",
                "labels",
            ),
            outcome("several", "no single feature stands out", "", "labels"),
            no_data("labels"),
        ],
    },
    ReadingStep {
        id: "labels",
        question: "Do the labels of the two groups differ as much as the decisions?",
        metrics: &["prev_difference", "pprev_difference"],
        table: "metrics",
        needs: "labels and the family group",
        rule: ReadingRule::Gap,
        outcomes: &[
            outcome(
                "differ",
                "the shares of positive labels differ about as much as the decisions",
                CHECK_LABELS,
                "arm",
            ),
            // A threshold widens a gap between scores, so that a model which repeats its labels
            // exactly decides more unequally than they are.
            outcome(
                "amplified",
                "they differ in the direction of the decisions, clearly less",
                CHECK_LABELS,
                "arm",
            ),
            outcome("opposed", "they differ in the other direction", "", "arm"),
            outcome("alike", "they cannot be distinguished", "", "arm"),
            no_data("arm"),
        ],
    },
    ReadingStep {
        id: "arm",
        question: "Which remedy that was tried helps most, without harm to another group?",
        metrics: &["denied_by_group", "favoured_by_group", "acc"],
        table: "comparisons",
        needs: "a block `experiments` on this model and set",
        rule: ReadingRule::BestArm,
        outcomes: &[
            outcome(
                "helps",
                "an arm lowers the rate, and no other rate is clearly worse",
                "try this arm on other data before you use it",
                "",
            ),
            outcome("harms", "each arm that lowers the rate makes another one worse", "", ""),
            outcome("none", "no arm clearly lowers the rate", "", ""),
            no_data(""),
        ],
    },
    ReadingStep {
        id: "gap",
        question: "Do the groups get the decision equally often as they are?",
        metrics: &["pprev_difference"],
        table: "metrics",
        needs: "two groups with enough people",
        rule: ReadingRule::Gap,
        outcomes: &[
            outcome(
                "differ",
                "one group clearly gets it less often",
                "look at the features in which the groups differ",
                "base_rates",
            ),
            outcome("alike", "nothing stands out", "", "base_rates"),
            no_data("base_rates"),
        ],
    },
    ReadingStep {
        id: "base_rates",
        question: "Do the labels of some groups differ?",
        metrics: &["prev_difference"],
        table: "metrics",
        needs: "labels and the family group",
        rule: ReadingRule::Gap,
        outcomes: &[
            outcome("differ", "the shares of positive labels differ", CHECK_LABELS, ""),
            outcome("alike", "nothing stands out", "", ""),
            no_data(""),
        ],
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
