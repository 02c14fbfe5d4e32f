//! Checks thresholds that are fitted: they need training rows with labels, scores of these, and the
//! rule that they are fitted for.

use crate::job::{ModelBlock, ThresholdRule};
use crate::model::kind::threshold_key::{ThresholdBlock, ThresholdOf};
use crate::param::Name;

use super::JobChecker;

impl JobChecker<'_> {
    pub(super) fn threshold(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        if !self.is_sound(&[at]) || !model.threshold.is_fitted() {
            return;
        }
        if let ThresholdBlock::Of(ThresholdOf::FBeta(beta)) = &model.threshold
            && beta.get() <= 0.0
        {
            let what = format!("`f_beta: {}` is not above 0", beta.get());
            self.push_problem(
                "bad-value",
                at,
                what,
                "1 weighs recall like precision, 2 twice as much",
            );
        }
        if model.threshold_rule == ThresholdRule::Gt {
            let what = "a fitted threshold is one of the scores, and that score is positive";
            self.push_problem(
                "bad-value",
                at,
                what,
                "leave out `threshold_rule: gt`, or give `threshold` a number",
            );
        }
        let fixed = "give `threshold` a number";
        if model.scores.as_ref().is_some_and(|scores| scores.factual.parquet.is_some()) {
            let what = format!(
                "the threshold of the model `{name}` is fitted to training rows, and its file of \
                 scores is of audited rows"
            );
            self.push_problem(
                "not-offered",
                at,
                what,
                format!("{fixed}, or fit it where the scores are made"),
            );
            return;
        }
        // What is trained here has been told the rest.
        if model.is_trained_here()
            || model.command.as_ref().is_some_and(|command| command.train.is_some())
        {
            return;
        }
        let data = &self.job.data;
        if data.label.column().is_none() && self.is_sound(&["data.label"]) {
            let what = format!(
                "the threshold of the model `{name}` is fitted to labels, and `data.label` is \
                 `none`"
            );
            self.push_problem(
                "needs-label",
                at,
                what,
                format!("{fixed}, or name the label column"),
            );
        }
        if data.split.is_none() && self.is_sound(&["data.split"]) {
            let what = format!(
                "the threshold of the model `{name}` is fitted to training rows, and every row is \
                 audited"
            );
            self.push_problem(
                "needs-split",
                at,
                what,
                format!(
                    "{fixed}, or add `data.split`, such as `{{share: {{train: 0.5, audit: 0.5}}}}`"
                ),
            );
        }
    }
}
