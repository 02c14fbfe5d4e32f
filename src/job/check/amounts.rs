//! Checks models whose outcome is an amount, and what a job of such models cannot ask.

use crate::counterfactual::forms::ConditionOn;
use crate::job::read::tree::join;
use crate::job::{MetricFamily, ModelBlock, ThresholdRule};
use crate::metric::catalog::ccm::HARM;
use crate::model::kind::ModelKind;
use crate::model::kind::amount_key::MattersFrom;
use crate::model::kind::decision::DecisionKnobs;
use crate::model::kind::threshold_key::ThresholdBlock;
use crate::param::Name;

use super::known_names::KnownMetric;
use super::{JobChecker, path};

/// Whether a metric is measured of amounts.
pub(super) fn is_of_amounts(metric: &KnownMetric) -> bool {
    metric.family == MetricFamily::Amounts || HARM.contains(&metric.id)
}

impl JobChecker<'_> {
    /// The key `amount` of a model, instead of `threshold`.
    pub(super) fn amount(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let Some(amount) = model.amount else { return };
        let here = join(at, "amount");
        self.matters(&join(&here, "matters_from"), amount.matters_from);
        let programs = |kind: &ModelKind<'_>| {
            matches!(kind, ModelKind::Command(_) | ModelKind::Python(_) | ModelKind::Http(_))
        };
        if let Some(kind) = model.kinds().into_iter().find(|kind| !programs(kind)) {
            let what = format!("the model `{name}` is `{}` and gives scores", kind.key());
            let hint = match kind {
                ModelKind::Scores(_) => {
                    "write amounts that were computed elsewhere as `decision: {amount: COLUMN, \
                     ...}`"
                }
                ModelKind::Decision(_) => "write `better` and `matters_from` into `decision`",
                _ => "write `amount` next to `command`, `python` or `http`",
            };
            self.push_problem("bad-value", here, what, hint);
            return;
        }
        for (key, there) in [
            ("threshold", model.threshold != ThresholdBlock::default()),
            ("threshold_rule", model.threshold_rule != ThresholdRule::default()),
            ("scale", model.scale.is_some()),
            ("better", model.better.is_some()),
            ("probability", model.probability),
        ] {
            if there {
                let what = format!(
                    "`{key}` applies to scores, and the outcome of the model `{name}` is an amount"
                );
                self.push_problem("bad-value", join(at, key), what, "remove it");
            }
        }
    }

    /// The keys of a block `decision` that brings amounts.
    pub(super) fn decided_amount(&mut self, at: &str, knobs: &DecisionKnobs) {
        for (key, there) in
            [("better", knobs.better.is_some()), ("matters_from", knobs.matters_from.is_some())]
        {
            if !there {
                let what = format!("`{at}` does not say `{key}`");
                let hint = "write `better: lower` or `better: higher`, and `matters_from: 5%` or \
                            an amount";
                self.push_problem("missing-key", at, what, hint);
            }
        }
        for (key, there) in
            [("positive", !knobs.positive.is_empty()), ("negative", knobs.negative.is_some())]
        {
            if there {
                let what = format!("`{key}` names words, and an amount is a number");
                self.push_problem("bad-value", join(at, key), what, "remove it");
            }
        }
        if let Some(from) = knobs.matters_from {
            self.matters(&join(at, "matters_from"), from);
        }
    }

    fn matters(&mut self, at: &str, from: MattersFrom) {
        if from.number() < 0.0 {
            let what = format!("a change of `{from}` is below 0");
            self.push_problem("bad-value", at, what, "write 0 or more, such as `5%`");
        }
    }

    /// What is not offered where outcomes are amounts.
    pub(super) fn beside_amounts(&mut self) {
        let job = self.job;
        if !self.is_sound(&["models"]) {
            return;
        }
        if !job.audits_amounts() {
            let mut families = job.metrics.families.iter().flatten();
            if let Some(i) = families.position(|family| *family == MetricFamily::Amounts)
                && self.is_sound(&["metrics.families"])
            {
                let what = "the family `amounts` needs a model whose outcome is an amount";
                let hint = "write `decision: {amount: COLUMN, better: lower, matters_from: 5%}`, \
                            or `amount: {better: lower, matters_from: 5%}` next to a program";
                self.push_problem("not-measured", format!("metrics.families[{i}]"), what, hint);
            }
            return;
        }
        let mut rules = job.models.iter().map(|(name, model)| (name, model.amount()));
        if let Some((first, rule)) = rules.next()
            && let Some((other, _)) = rules.find(|(_, other)| *other != rule)
        {
            let what = format!(
                "the outcomes of `{first}` and `{other}` are not amounts with the same `better` \
                 and `matters_from`"
            );
            let hint = "audit them by two jobs: a page speaks of one kind of outcome";
            self.push_problem("not-offered", path(&["models", other.as_str()]), what, hint);
        }
        let families = job.metrics.families.iter().flatten();
        let offered = [MetricFamily::Amounts, MetricFamily::CfQuality];
        let refused = families.enumerate().find(|(_, family)| !offered.contains(family));
        let refused = refused.map(|(i, family)| {
            let what = format!(
                "the family `{}` is about decisions or scores, and outcomes are amounts",
                family.as_str()
            );
            (format!("metrics.families[{i}]"), what)
        });
        let decided = |key: &str| format!("`{key}` is about decisions, and outcomes are amounts");
        let keys = [
            ("metrics.by", !job.metrics.by.is_empty()),
            ("metrics.compare", !job.metrics.compare.is_empty()),
            ("experiments", !job.experiments.is_empty()),
            ("recourse", !job.recourse.is_empty()),
            ("why", !job.why.is_empty()),
        ];
        let keys = keys.into_iter().filter(|(_, there)| *there);
        let mut problems: Vec<(String, String)> =
            keys.map(|(key, _)| (key.to_owned(), decided(key))).collect();
        problems.extend(refused);
        for (name, set) in &job.counterfactuals {
            let at = path(&["counterfactuals", name.as_str()]);
            if set.placebo.is_some() {
                problems.push((join(&at, "placebo"), decided("placebo")));
            }
            if set.doubt.is_some() {
                problems.push((join(&at, "doubt"), decided("doubt")));
            }
            if set
                .knobs()
                .is_some_and(|knobs| matches!(knobs.condition_on(), ConditionOn::Prediction(_)))
            {
                problems.push((at.clone(), decided("condition_on: prediction")));
            }
            if set.graphs().is_some() {
                let what = "the mean amount over causal graphs is not offered".to_owned();
                problems.push((at, what));
            }
        }
        for (at, what) in problems {
            if self.is_sound(&[&at]) {
                self.push_problem("not-offered", at, what, "remove it");
            }
        }
    }
}
