//! Checks scales of scores, and thresholds: numbers must lie on the scale; fitted ones need
//! training rows with labels, scores of these, and the rule that they are fitted for.

use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::{ModelBlock, ThresholdRule};
use crate::model::kind::scale_key::ScaleBlock;
use crate::model::kind::threshold_key::ThresholdBlock;
use crate::param::Name;

use super::JobChecker;

impl JobChecker<'_> {
    /// The keys `scale` and `better`, and a threshold that is a number.
    pub(super) fn scale(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let mut refused = false;
        let trained = model.trained_here().map(|(kind, _)| kind.key());
        if let Some(kind) = trained.or(model.lightgbm.as_ref().map(|_| "lightgbm")) {
            let keys = ["scale", "better", "probability"];
            refused = self.refuse_keys(at, &keys, |_| m::scale_of_probabilities(name, kind));
        }
        if let Some(ScaleBlock::Range(ends)) = model.scale {
            let (from, to) = (ends.from.get(), ends.to.get());
            let fault = if from == to {
                Some(m::scale_empty())
            } else if from > to {
                Some(m::scale_order(from, to))
            } else {
                (!(to - from).is_finite()).then(m::scale_wide)
            };
            if let Some(said) = fault {
                self.say(join(at, "scale"), said);
                refused = true;
            }
        }
        let points = matches!(model.scale, Some(ScaleBlock::Range(_)));
        if model.probability && !points && !refused {
            self.say(join(at, "probability"), m::probability_without_points(name));
            refused = true;
        }
        if model.better.is_some() && self.lacks_favourable() {
            self.say(join(at, "better"), m::better_without_favour(name));
            refused = true;
        }
        if refused {
            return;
        }
        let scale = model.score_scale(self.job.data.favours_positive());
        if let ThresholdBlock::Fixed(threshold) = &model.threshold
            && !scale.contains(threshold.get())
            && self.job.data.label.classes().is_none()
        {
            let said = if model.scale.is_some() {
                m::threshold_off_scale(threshold.get(), name, scale.in_words())
            } else if model.is_trained_here() {
                m::threshold_of_trained(threshold.get(), name, scale.in_words())
            } else {
                m::threshold_no_scale(threshold.get(), name, scale.in_words())
            };
            self.say(join(at, "threshold"), said);
        }
    }

    /// A threshold that is fitted.
    pub(super) fn threshold(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        if !model.threshold.is_fitted() {
            return;
        }
        if model.threshold_rule == ThresholdRule::Gt {
            self.say(at, m::fitted_with_gt());
        }
        if model.scores.as_ref().is_some_and(|scores| scores.factual.parquet.is_some()) {
            self.say(at, m::fitted_of_score_file(name));
            return;
        }
        // What is trained here has been told the rest.
        if model.is_trained_here()
            || model.command.as_ref().is_some_and(|command| command.train.is_some())
        {
            return;
        }
        if self.lacks_label() {
            self.say(at, m::fitted_no_label(name));
        }
        if self.lacks_split() {
            self.say(at, m::fitted_no_split(name));
        }
    }
}
