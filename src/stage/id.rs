//! The ids of stages: every stage of the plain audit is named here, and whoever needs it asks for
//! its name here.
//!
//! An id is parts with slashes between. Names of models, sets and experiments hold none (but the
//! one of `SET/SCENARIO`); names of attributes may, and stand last as one [`id_part`].

use std::borrow::Cow;

use crate::job::ModelBlock;
use crate::stage::applied_set::AppliedSet;
use crate::stage::plan::StagePlan;

/// A name as one part of an id: a slash in it divides nothing.
pub(crate) fn id_part(name: &str) -> Cow<'_, str> {
    if name.contains(['/', '%']) {
        name.replace('%', "%25").replace('/', "%2f").into()
    } else {
        name.into()
    }
}

impl StagePlan<'_> {
    /// The stage that trains a model.
    pub(crate) fn train_id(model: &str) -> String {
        format!("train/{model}")
    }

    /// The stage that fits the threshold of a model, if it is fitted.
    pub(crate) fn threshold_id(name: &str, model: &ModelBlock) -> Option<String> {
        model.threshold.is_fitted().then(|| format!("threshold/{name}"))
    }

    /// The stage that scores the rows as they are.
    pub(crate) fn score_id(model: &str) -> String {
        format!("score/{model}")
    }

    /// The stage that counts what a model says of the groups of an attribute.
    pub(crate) fn count_id(model: &str, attribute: &str) -> String {
        format!("count/{model}/{}", id_part(attribute))
    }

    /// The stage that runs the flip test.
    pub(crate) fn flips_id(model: &str, attribute: &str) -> String {
        format!("flips/{model}/{}", id_part(attribute))
    }

    /// The stage that counts the rows of a model in slices.
    pub(crate) fn slices_id(model: &str, attribute: &str) -> String {
        format!("slice/{model}/{}", id_part(attribute))
    }

    /// The stage of a block of recourse.
    pub(crate) fn recourse_id(attribute: &str) -> String {
        format!("recourse/{}", id_part(attribute))
    }
}

impl<'a> AppliedSet<'a> {
    /// The stage of a kind that makes or judges the counterfactuals.
    pub(crate) fn id(&self, kind: &str) -> String {
        match self.experiment {
            None => format!("{kind}/{}/{}", self.set, id_part(self.attribute)),
            Some(experiment) => format!("augment/{experiment}/{kind}/{}", id_part(self.attribute)),
        }
    }

    /// The kind of its stages that are of this kind in the plain audit.
    pub(crate) fn kind(&self, kind: &'static str) -> &'static str {
        if self.experiment.is_some() { "augment" } else { kind }
    }

    /// The stage that says which rows are reference and which get counterfactuals.
    pub(crate) fn split_id(&self) -> String {
        self.experiment
            .map_or_else(|| "split".to_owned(), |experiment| format!("augment/{experiment}/split"))
    }

    /// The stage that scores its counterfactuals.
    pub(crate) fn score_id(&self, model: &str) -> String {
        self.model_stage_id("score", model)
    }

    /// The stage that counts what a model says of its counterfactuals.
    pub(crate) fn count_id(&self, model: &str) -> String {
        self.model_stage_id("count", model)
    }

    /// The stage that counts its counterfactuals in slices.
    pub(crate) fn slices_id(&self, model: &str) -> String {
        self.model_stage_id("slice", model)
    }

    /// The stage of the second pass over the scores of a model.
    pub(crate) fn second_pass_id(&self, model: &str) -> String {
        self.model_stage_id("measure", model)
    }

    /// The set and the scenario that the name of a graph-uncertain set is made of.
    pub(crate) fn scenario(&self) -> (&'a str, &'a str) {
        self.set.split_once('/').unwrap_or((self.set, ""))
    }

    /// The stage that finds its graphs.
    pub(crate) fn discover_id(&self) -> String {
        format!("discover/{}", self.scenario().0)
    }

    fn model_stage_id(&self, kind: &str, model: &str) -> String {
        format!("{kind}/{model}/{}/{}", self.set, id_part(self.attribute))
    }
}
