//! Checks scales of scores, and thresholds: numbers must lie on the scale; fitted ones need
//! training rows with labels, scores of these, and the rule that they are fitted for.

use crate::job::read::tree::join;
use crate::job::{ModelBlock, ThresholdRule};
use crate::model::kind::scale_key::ScaleBlock;
use crate::model::kind::threshold_key::{ThresholdBlock, ThresholdOf};
use crate::param::Name;

use super::JobChecker;

impl JobChecker<'_> {
    /// The keys `scale` and `better`, and a threshold that is a number.
    pub(super) fn scale(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let mut refused = false;
        let trained = model.trained_here().map(|(kind, _)| kind.key());
        if let Some(kind) = trained.or(model.lightgbm.as_ref().map(|_| "lightgbm")) {
            for (key, there) in [
                ("scale", model.scale.is_some()),
                ("better", model.better.is_some()),
                ("probability", model.probability),
            ] {
                if there {
                    let what = format!(
                        "the scores of the model `{name}` are probabilities of the positive class, \
                         as `{kind}` gives them"
                    );
                    self.push_problem("not-offered", join(at, key), what, "remove it");
                    refused = true;
                }
            }
        }
        if let Some(ScaleBlock::Range(ends)) = model.scale
            && self.is_sound(&[&join(at, "scale")])
        {
            let (from, to) = (ends.from.get(), ends.to.get());
            let fault = if from == to {
                Some("the scale is empty: both ends are the same".to_owned())
            } else if from > to {
                Some(format!("the scale runs from `{from}` down to `{to}`"))
            } else if !(to - from).is_finite() {
                Some(
                    "the scale is too wide: its ends are too far apart for 64-bit numbers"
                        .to_owned(),
                )
            } else {
                None
            };
            if let Some(what) = fault {
                let hint = if from > to {
                    "put the lower end under `from`, and say by `better: lower` that low scores \
                     are what people want"
                } else {
                    "name the lowest and the highest score that there can be"
                };
                self.push_problem("bad-value", join(at, "scale"), what, hint);
                refused = true;
            }
        }
        let points = matches!(model.scale, Some(ScaleBlock::Range(_)));
        if model.probability && !points && !refused && self.is_sound(&[&join(at, "scale")]) {
            let what = format!(
                "the scores of the model `{name}` are probabilities or log-odds without the key \
                 `probability`, which is about a scale of points"
            );
            let hint = "remove it, or name the scale as `scale: {from: 0, to: 100}`";
            self.push_problem("bad-value", join(at, "probability"), what, hint);
            refused = true;
        }
        if model.better.is_some()
            && self.is_sound(&["data.label", "data.favourable"])
            && self.job.data.favourable_side().is_none()
        {
            let what = format!(
                "which end of the scores of the model `{name}` is better says nothing of its \
                 positive prediction: the job does not say whether people want that"
            );
            let hint = "write `data.favourable: positive` or `negative`, or leave `better` out: \
                        then a prediction is positive at or above the threshold";
            self.push_problem("bad-value", join(at, "better"), what, hint);
            refused = true;
        }
        let here = join(at, "threshold");
        if refused || !self.is_sound(&[&here, &join(at, "scale")]) {
            return;
        }
        let scale = model.score_scale(self.job.data.favours_positive());
        if let ThresholdBlock::Fixed(threshold) = &model.threshold
            && !scale.contains(threshold.get())
            && self.job.data.label.classes().is_none()
        {
            let what = format!(
                "the threshold `{}` of the model `{name}` is not {}",
                threshold.get(),
                scale.in_words()
            );
            let hint = if model.scale.is_some() {
                "the threshold is one of the numbers of `scale`, as the scores are"
            } else if model.is_trained_here() {
                "a model that is trained here gives probabilities"
            } else {
                "scores are probabilities unless the model has a `scale`, such as \
                 `scale: {from: 300, to: 850}` or `scale: log-odds`"
            };
            self.push_problem("bad-value", here, what, hint);
        }
    }

    /// A threshold that is fitted.
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
                "1 weights recall and precision equally, 2 gives recall twice the weight",
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
                "the threshold of the model `{name}` is fitted to training rows, but its score \
                 file has only audited rows"
            );
            self.push_problem(
                "not-offered",
                at,
                what,
                format!("{fixed}, or fit it where the scores are computed"),
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
                "the threshold of the model `{name}` is fitted to training rows, but every row is \
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
