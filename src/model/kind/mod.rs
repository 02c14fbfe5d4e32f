//! The block `models`: the list of kinds, where scores come from, and how they become decisions.
//!
//! A row of the list is the key in a job with its description and the block of its knobs. A kind
//! that the run trains gives a recipe ([`trained`]); any other kind is *external* and describes
//! itself ([`ExternalModel`](command::ExternalModel)).

pub(crate) mod accept_key;
pub(crate) mod amount_key;
pub(crate) mod boosting;
pub(crate) mod command;
pub(crate) mod decision;
pub(crate) mod expect_key;
pub(crate) mod forest;
pub(crate) mod http;
pub(crate) mod lightgbm_file;
pub(crate) mod logistic;
pub(crate) mod mlflow;
pub(crate) mod onnx;
pub(crate) mod python;
pub(crate) mod scale_key;
pub(crate) mod scores;
pub(crate) mod threshold_key;
pub(crate) mod trained;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::kind::accept_key::AcceptedOfModel;
use crate::model::kind::amount_key::AmountBlock;
use crate::model::kind::boosting::BoostingBlock;
use crate::model::kind::command::{CommandBlock, ExternalModel};
use crate::model::kind::decision::DecisionBlock;
use crate::model::kind::expect_key::ExpectBlock;
use crate::model::kind::forest::ForestBlock;
use crate::model::kind::http::HttpBlock;
use crate::model::kind::lightgbm_file::LightgbmBlock;
use crate::model::kind::logistic::LogisticBlock;
use crate::model::kind::mlflow::MlflowBlock;
use crate::model::kind::onnx::OnnxBlock;
use crate::model::kind::python::PythonBlock;
use crate::model::kind::scale_key::{BetterEnd, ScaleBlock};
use crate::model::kind::scores::ScoresBlock;
use crate::model::kind::threshold_key::ThresholdBlock;
use crate::model::kind::trained::TrainedKind;
use crate::num::score_scale::{ScaleNumbers, ScoreScale};
use crate::param::{ColumnName, Count, Word};

macro_rules! model_kinds {
    (
        trained {
            $($(#[$about:meta])* $field:ident = $key:tt: $variant:ident($block:ty), $example:tt;)+
        }
        external {
            $($(#[$other_about:meta])* $other:ident = $other_key:tt:
                $other_variant:ident($other_block:ty);)+
        }
    ) => {
        /// A model to audit: exactly one kind in addition to the common keys.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ModelBlock {
            $($(#[$about])*
            #[serde(default, rename = $key, skip_serializing_if = "Option::is_none")]
            $field: Option<$block>,)+
            $($(#[$other_about])*
            #[serde(default, rename = $other_key, skip_serializing_if = "Option::is_none")]
            pub $other: Option<$other_block>,)+
            /// The score from which a prediction is positive: a number of the scale, `{column: C}`,
            /// or fitted to the training rows by `{maximise_recall: {...}}`, `{youden: {}}` or
            /// `{f_beta: 1}`.
            /// Has no part where the label has `classes`.
            #[serde(default)]
            pub threshold: ThresholdBlock,
            /// `ge`: a score equal to the threshold is positive; `gt`: it is negative.
            #[serde(default)]
            pub threshold_rule: ThresholdRule,
            /// Objections to the model in spite of which gates on it are decided, by their codes.
            /// Default: none is accepted, and gates on a model with one are inconclusive.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("x-noun" = "code"))]
            pub accept: Vec<AcceptedOfModel>,
            /// What the numbers of scores and thresholds are: `{from: 300, to: 850}`, or
            /// `log-odds`. Default: probabilities of the positive class. Decisions compare these
            /// numbers; metrics that need scores of [0, 1] take the share of the scale.
            pub scale: Option<ScaleBlock>,
            /// Which end of the scale people want: `higher` or `lower`. Where that end is not the
            /// positive prediction's, a prediction is positive at or below the threshold. Default:
            /// high scores mean the positive prediction.
            pub better: Option<BetterEnd>,
            /// Whether the share of a scale `{from: ..., to: ...}` that a score is is the
            /// probability of the positive class. Without it Brier score, observed over expected,
            /// calibration and ECCE of such scores are undefined. Default: false.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub probability: bool,
            /// The outcome is an amount, such as a premium, and no score: which end people want,
            /// and which change matters. Instead of `threshold`, next to `command`, `python`
            /// or `http`.
            pub amount: Option<AmountBlock>,
            /// Scores that the model is known to give: the run compares its own with them. Default:
            /// nothing is compared.
            pub expect: Option<ExpectBlock>,
            /// Trains the model again with other seeds, or also on rows drawn again: how far each
            /// value depends on the training. Only for models that the run trains.
            pub doubt: Option<TrainingDoubtBlock>,
        }

        /// A kind of model with its knobs.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum ModelKind<'a> {
            $($(#[$about])* $variant(&'a $block),)+
            $($(#[$other_about])* $other_variant(&'a $other_block),)+
        }

        /// The keys of a model that name its kind: exactly one must be there.
        pub(crate) const MODEL_KINDS: &[&str] = &[$($key,)+ $($other_key),+];

        /// How a job asks for a model that is trained here, by kind.
        pub(crate) const TRAINED_EXAMPLES: &[(&str, &str)] = &[$(($key, $example)),+];

        impl<'a> ModelKind<'a> {
            /// The key in a job.
            pub fn key(self) -> &'static str {
                match self {
                    $(ModelKind::$variant(_) => $key,)+
                    $(ModelKind::$other_variant(_) => $other_key,)+
                }
            }

            /// The knobs, where the run itself fits the model to the training rows.
            pub fn trained_here(self) -> Option<TrainedKind<'a>> {
                match self {
                    $(ModelKind::$variant(block) => {
                        Some(TrainedKind { omit: &block.omit, recipe: block.recipe() })
                    })+
                    $(ModelKind::$other_variant(_) => None,)+
                }
            }

            /// What it is, if the model is external; `classes` are those of a label that has
            /// several.
            pub fn external(self, classes: Option<&[Word]>) -> Option<ExternalModel<'a>> {
                match self {
                    $(ModelKind::$variant(_) => None,)+
                    $(ModelKind::$other_variant(block) => Some(block.external(classes)),)+
                }
            }
        }

        impl ModelBlock {
            /// Its kinds; a checked model has one.
            pub fn kinds(&self) -> Vec<ModelKind<'_>> {
                let all = [
                    $(self.$field.as_ref().map(ModelKind::$variant),)+
                    $(self.$other.as_ref().map(ModelKind::$other_variant),)+
                ];
                all.into_iter().flatten().collect()
            }
        }
    };
}

/// How sure the values of a model are, its people apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingDoubtBlock {
    /// How often the model is trained again, each time with another seed, 2 to 1000. From 40 on the
    /// interval leaves out the tails.
    #[serde(default = "Count::of::<5>")]
    #[schemars(extend("minimum" = 2, "maximum" = 1000,
        "x-range" = "a number of trainings from 2 to 1000; 5 is usual"))]
    pub training: Count,
    /// Whether the training rows are drawn again with replacement, too.
    #[serde(default)]
    pub resample: bool,
}

model_kinds! {
    trained {
        /// Logistic regression with an L2 penalty, trained here.
        logistic = "logistic": Logistic(LogisticBlock), "{l2: 1.0}";
        /// Gradient boosting, trained here.
        boosting = "boosting": Boosting(BoostingBlock), "{}";
        /// Random forest, trained here.
        forest = "forest": Forest(ForestBlock), "{}";
    }
    external {
        /// A model in an ONNX file.
        onnx = "onnx": Onnx(OnnxBlock);
        /// A model file of LightGBM.
        lightgbm = "lightgbm": Lightgbm(LightgbmBlock);
        /// Scores computed elsewhere.
        scores = "scores": Scores(ScoresBlock);
        /// Decisions without a score.
        decision = "decision": Decision(DecisionBlock);
        /// Any program: rows in, scores out.
        command = "command": Command(CommandBlock);
        /// A Python function or a pickled model.
        python = "python": Python(PythonBlock);
        /// A version of a model in the registry of MLflow.
        mlflow = "mlflow": Mlflow(MlflowBlock);
        /// An HTTP endpoint.
        http = "http": Http(HttpBlock);
    }
}

impl ModelBlock {
    /// Its kind and its settings, where the run itself fits it to the training rows.
    pub fn trained_here(&self) -> Option<(ModelKind<'_>, TrainedKind<'_>)> {
        self.kinds().into_iter().find_map(|kind| Some((kind, kind.trained_here()?)))
    }

    /// Its kind and what it is, if it is external.
    pub fn external(&self) -> Option<(ModelKind<'_>, ExternalModel<'_>)> {
        self.kinds().into_iter().find_map(|kind| Some((kind, kind.external(None)?)))
    }

    /// The scores that the job gives in place of a model, computed elsewhere; decisions are such
    /// scores: 1 is positive, 0 negative.
    pub fn given_scores(&self) -> Option<Cow<'_, ScoresBlock>> {
        let decided = || self.decision.as_ref().map(|decision| Cow::Owned(decision.scores()));
        self.scores.as_ref().map(Cow::Borrowed).or_else(decided)
    }

    /// Whether it can score counterfactuals: where its scores are computed elsewhere, only if it
    /// names the file of theirs.
    pub fn scores_counterfactuals(&self) -> bool {
        self.given_scores().is_none_or(|scores| scores.counterfactual.is_some())
    }

    /// The column of its decisions, where it has no scores.
    pub fn decided_column(&self) -> Option<&ColumnName> {
        self.decision.as_ref().and_then(|decision| decision.column.as_ref())
    }

    /// What the job says about amounts, if its outcome is one.
    pub fn amount(&self) -> Option<AmountBlock> {
        self.amount.or(self.decision.as_ref().and_then(DecisionBlock::amount))
    }

    /// Whether its scores are points of a scale, of which the job does not say that they are
    /// proportional to probabilities.
    pub(crate) fn gives_points(&self) -> bool {
        matches!(self.scale, Some(ScaleBlock::Range(_))) && !self.probability
    }

    /// Whether it gives numbers, scores or amounts; a model that gives decisions in words does not.
    pub fn gives_scores(&self) -> bool {
        self.decided_column().is_none()
    }

    /// The scale of its scores, where the positive prediction is the one that people want or not.
    pub fn score_scale(&self, favours_positive: bool) -> ScoreScale {
        let turned = self.better.is_some_and(|end| (end == BetterEnd::Higher) != favours_positive);
        let numbers = self.scale.map_or(ScoreScale::default().numbers, ScaleBlock::numbers);
        if self.amount().is_some() {
            return ScoreScale { numbers: ScaleNumbers::Amounts, turned: false };
        }
        ScoreScale { numbers, turned }
    }

    /// Whether the run itself fits the model to the training rows.
    pub fn is_trained_here(&self) -> bool {
        self.trained_here().is_some()
    }

    /// Whether its scores are computed in this process: by a model that the run trains, or by a
    /// file that it loads.
    pub fn is_asked_in_process(&self) -> bool {
        self.is_trained_here() || self.onnx.is_some() || self.lightgbm.is_some()
    }

    /// Whether it is derived from trees that the run grows.
    pub fn grows_trees(&self) -> bool {
        self.trained_here().is_some_and(|(_, knobs)| knobs.grows_trees())
    }

    /// The inputs that a model run here does without; `None` for scores computed elsewhere, which
    /// read what they like.
    pub fn omitted(&self) -> Option<&[ColumnName]> {
        let trained = self.trained_here().map(|(_, knobs)| knobs.omit);
        let asked = self.external().filter(|_| self.given_scores().is_none());
        trained.or_else(|| asked.map(|(_, model)| model.terms.omit))
    }
}

/// What a score equal to the threshold means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdRule {
    /// Positive.
    #[default]
    Ge,
    /// Negative.
    Gt,
}

impl ThresholdRule {
    /// The decision about a score, for which low scores are positive on a turned scale; none where
    /// score or threshold is missing (NaN).
    #[inline]
    pub(crate) fn decide(self, turned: bool, score: f64, threshold: f64) -> Option<bool> {
        let (upper, lower) = if turned { (threshold, score) } else { (score, threshold) };
        (!score.is_nan() && !threshold.is_nan()).then_some(match self {
            ThresholdRule::Ge => upper >= lower,
            ThresholdRule::Gt => upper > lower,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ThresholdRule::{Ge, Gt};

    #[test]
    fn the_rule_compares() {
        assert_eq!(Ge.decide(false, 0.5, 0.5), Some(true));
        assert_eq!(Gt.decide(false, 0.5, 0.5), Some(false));
        assert_eq!(Ge.decide(true, 0.5, 0.5), Some(true));
        assert_eq!(Gt.decide(true, 0.5, 0.5), Some(false));
        assert_eq!(
            [false, true].map(|turned| Gt.decide(turned, 0.6, 0.5)),
            [Some(true), Some(false)]
        );
        assert_eq!(Ge.decide(false, f64::NAN, 0.5), None);
        assert_eq!(Ge.decide(false, 0.5, f64::NAN), None);
    }
}
