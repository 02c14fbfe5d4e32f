//! The block `experiments`: models that are trained again with rows added, and compared with what
//! they were.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use crate::augment::knobs::{AdasynArm, ExperimentArm};
use crate::model::kind::ModelBlock;
use crate::param::{ColumnName, Count, Finite, Fraction, Name, Word, key_word};

/// A model that is trained again on more rows, once for each arm, and measured next to the model as
/// it was (arm `base`). Counterfactuals of the training rows are made, and rows chosen, by what the
/// training rows of the same fold show; what is audited is never trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentBlock {
    /// The model: one that is trained here, or a command with `train`.
    pub model: Name,
    /// The counterfactual set: its counterfactuals of the training rows are added, those of the
    /// audited rows are what is measured.
    pub from: Name,
    /// The rows that are added, at least one arm. `base`, with none, is always measured.
    pub arms: ArmsBlock,
    /// Number of folds, at least 2: all rows that are kept are audited once, by models trained on
    /// the other folds. Default: the rows of `data.split` train and are audited.
    #[schemars(extend("minimum" = 2, "maximum" = 254, "x-code" = "bad-split",
        "x-range" = "a number of folds from 2 to 254; 5 is usual"))]
    pub folds: Option<Count>,
}

/// Rows added to the training rows, one model each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmsBlock {
    /// Every valid counterfactual.
    pub all: Option<AllValidArm>,
    /// The counterfactuals that the base model of the fold decides otherwise than their originals.
    pub switched: Option<SwitchedArm>,
    /// A fraction of the counterfactuals that match rules.
    pub directed: Option<DirectedArm>,
    /// The fraction of the counterfactuals that is farthest from its nearest training row.
    pub diverse: Option<DiverseArm>,
    /// Synthetic rows between neighbours of the rarer class (ADASYN).
    pub adasyn: Option<AdasynArm>,
    /// Counterfactuals, then synthetic rows made from training rows and counterfactuals together.
    pub cfs_adasyn: Option<CfsAdasynArm>,
}

/// Every valid counterfactual. It has no knobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllValidArm {}

/// The counterfactuals that the base model decides otherwise than their originals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchedArm {
    /// Whose predictions count.
    #[serde(default)]
    pub predictions: PredictionSource,
}

/// Whose predictions of training rows and their counterfactuals count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PredictionSource {
    /// Those of the base model, which learned the rows.
    #[default]
    InSample,
    /// Those of five further models, each trained without a fifth of the training rows, for that
    /// fifth.
    OutOfFold,
}

/// The counterfactuals that are farthest from their nearest training row, by Gower's distance over
/// all features and the attribute: numbers by their range in the training rows, levels 1 where they
/// differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiverseArm {
    /// Fraction of the counterfactuals that is added, above 0. Default: 0.1.
    #[schemars(extend("exclusiveMinimum" = 0, "x-range" = "a share above 0; the paper uses 0.1"))]
    pub fraction: Fraction,
}

impl Default for DiverseArm {
    fn default() -> Self {
        DiverseArm { fraction: Fraction::new(0.1).expect("0.1 is a share") }
    }
}

/// A fraction of the counterfactuals that match rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectedArm {
    /// Rules by name. A counterfactual that matches several is added once.
    #[schemars(extend("x-least" = "add one, such as `upward: {source_group: A, \
        label: positive}`"))]
    pub rules: IndexMap<Name, DirectedRule>,
    /// Fraction of each rule's matches that is added, above 0; drawn by the seed.
    #[schemars(extend("exclusiveMinimum" = 0, "x-range" = "a share above 0; the paper uses 0.1"))]
    pub fraction: Fraction,
}

/// What a counterfactual must be to match: all that is said here, at least one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectedRule {
    /// The attribute that is changed. Default: any; to be written where the set changes several
    /// and a group is named.
    pub sensitive: Option<ColumnName>,
    /// The group of the row.
    pub source_group: Option<Word>,
    /// The group of the counterfactual.
    pub target_group: Option<Word>,
    /// The label of the row.
    pub label: Option<LabelSide>,
    /// What the base model of the fold predicts of the row.
    pub original_prediction: Option<LabelSide>,
    /// What the base model of the fold predicts of the counterfactual.
    pub cf_prediction: Option<LabelSide>,
}

/// A label or a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelSide {
    /// One of `data.label.positive`.
    Positive,
    /// Any other.
    Negative,
}

/// Counterfactuals, then ADASYN.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CfsAdasynArm {
    /// The counterfactuals that come first: those of this arm, which is next to this one unless
    /// it is `all`.
    pub first: FirstArm,
    /// Neighbours that are looked at (K).
    #[schemars(extend("maximum" = 1000,
        "x-range" = "a number of neighbours up to 1000; 5 is usual"))]
    pub neighbours: Count,
    /// Share of the difference between the classes that is made up for, above 0.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100,
        "x-range" = "above 0 and at most 100; 1.0 makes up for all of the difference"))]
    pub beta: Finite,
    /// Nothing is made where the rarer class is at least this share of the other (d_th), above 0,
    /// at most 1.
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a share above 0; 1.0 makes rows wherever one class is rarer"))]
    pub ratio: Fraction,
}

impl Default for CfsAdasynArm {
    fn default() -> Self {
        let AdasynArm { neighbours, beta, ratio } = AdasynArm::default();
        CfsAdasynArm { first: FirstArm::All, neighbours, beta, ratio }
    }
}

impl CfsAdasynArm {
    /// The knobs of ADASYN.
    pub fn adasyn(&self) -> AdasynArm {
        AdasynArm { neighbours: self.neighbours, beta: self.beta, ratio: self.ratio }
    }
}

/// An arm that adds counterfactuals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstArm {
    /// `all`.
    #[default]
    All,
    /// `switched`.
    Switched,
    /// `directed`.
    Directed,
    /// `diverse`.
    Diverse,
}

impl ArmsBlock {
    /// The arms that are there with what each adds in words, in the order in which they are shown,
    /// `base` first.
    pub fn in_words(&self) -> Vec<(ExperimentArm, String)> {
        let all = |_| "every valid counterfactual of the training rows".to_owned();
        let arms = [
            (ExperimentArm::Base, Some("nothing".to_owned())),
            (ExperimentArm::All, self.all.map(all)),
            (ExperimentArm::Switched, self.switched.map(SwitchedArm::in_words)),
            (ExperimentArm::Directed, self.directed.as_ref().map(DirectedArm::in_words)),
            (ExperimentArm::Diverse, self.diverse.map(DiverseArm::in_words)),
            (ExperimentArm::Adasyn, self.adasyn.map(AdasynArm::in_words)),
            (ExperimentArm::CfsAdasyn, self.cfs_adasyn.map(CfsAdasynArm::in_words)),
        ];
        arms.into_iter().filter_map(|(arm, words)| Some((arm, words?))).collect()
    }

    /// The arms that are there, `base` first.
    pub fn named(&self) -> Vec<ExperimentArm> {
        self.in_words().into_iter().map(|(arm, _)| arm).collect()
    }
}

/// A fraction in per cent.
fn in_per_cent(fraction: Fraction) -> String {
    format!("{} %", (fraction.get() * 1e8).round() / 1e6)
}

impl SwitchedArm {
    fn in_words(self) -> String {
        let by = match self.predictions {
            PredictionSource::InSample => "which has learned the rows",
            PredictionSource::OutOfFold => "trained without the row",
        };
        format!("counterfactuals that the base model, {by}, decides otherwise than their originals")
    }
}

impl CfsAdasynArm {
    fn in_words(self) -> String {
        let first = key_word(&self.first);
        format!("the counterfactuals of {first}, then {}", self.adasyn().in_words())
    }
}

impl DiverseArm {
    fn in_words(self) -> String {
        format!(
            "the {} of the counterfactuals that is farthest from its nearest training row (Gower's \
             distance)",
            in_per_cent(self.fraction)
        )
    }
}

impl AdasynArm {
    fn in_words(self) -> String {
        let (neighbours, beta) = (self.neighbours.get(), self.beta.get());
        let share = if beta == 1.0 { String::new() } else { format!(", {beta} of the difference") };
        let from = if self.ratio.get() == 1.0 {
            String::new()
        } else {
            format!(", where it is below {} of the other", self.ratio.get())
        };
        format!(
            "synthetic rows of the rarer class between neighbours (ADASYN, {neighbours} \
             neighbours{share}{from})"
        )
    }
}

impl DirectedArm {
    fn in_words(&self) -> String {
        let rule = |(name, rule): (&Name, &DirectedRule)| {
            let said = [
                rule.sensitive.as_ref().map(|a| format!("attribute {a}")),
                rule.source_group.as_ref().map(|g| format!("from {g}")),
                rule.target_group.as_ref().map(|g| format!("to {g}")),
                rule.label.map(|c| format!("label {}", key_word(&c))),
                rule.original_prediction.map(|c| format!("predicted {}", key_word(&c))),
                rule.cf_prediction.map(|c| format!("counterfactual predicted {}", key_word(&c))),
            ];
            format!("{name} ({})", said.into_iter().flatten().collect::<Vec<_>>().join(", "))
        };
        let rules: Vec<String> = self.rules.iter().map(rule).collect();
        format!(
            "{} of the counterfactuals that match each rule: {}",
            in_per_cent(self.fraction),
            rules.join("; ")
        )
    }

    /// Whether a rule asks what the base model predicts.
    pub fn asks_base(&self) -> bool {
        self.rules
            .values()
            .any(|rule| rule.original_prediction.is_some() || rule.cf_prediction.is_some())
    }
}

impl ModelBlock {
    /// Whether it is trained in a run, so that it can be trained again.
    pub fn is_trained(&self) -> bool {
        self.is_trained_here()
            || self.command.as_ref().is_some_and(|command| command.train.is_some())
    }
}
