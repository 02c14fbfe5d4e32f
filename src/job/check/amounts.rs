//! Checks models whose outcome is an amount, and what a job of such models cannot ask.

use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::{LabelRole, MetricFamily, ModelBlock};
use crate::metric::Metric;
use crate::metric::catalog::ccm::HARM;
use crate::model::kind::ModelKind;
use crate::model::kind::amount_key::MattersFrom;
use crate::model::kind::decision::DecisionKnobs;
use crate::param::Name;

use super::models::score_keys_of;
use super::{JobChecker, path};

/// Whether a metric is measured of amounts.
pub(super) fn is_of_amounts(metric: &Metric) -> bool {
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
            let said = match kind {
                ModelKind::Scores(_) => m::amount_of_scores(name, kind.key()),
                ModelKind::Decision(_) => m::amount_of_decision(name, kind.key()),
                _ => m::amount_of_kind(name, kind.key()),
            };
            self.say(here, said);
            return;
        }
        for key in score_keys_of(model).filter(|key| *key != "expect") {
            self.say(join(at, key), m::amount_beside_scores(key, name));
        }
    }

    /// The keys of a block `decision` that brings amounts.
    pub(super) fn decided_amount(&mut self, at: &str, knobs: &DecisionKnobs) {
        let keys = ["better", "matters_from"];
        let written = self.written(at, &keys);
        for key in keys.into_iter().filter(|key| !written.contains(key)) {
            self.say(at, m::decided_amount_key(at, key));
        }
        self.refuse_keys(at, &["positive", "negative"], m::decided_amount_words);
        if let Some(from) = knobs.matters_from {
            self.matters(&join(at, "matters_from"), from);
        }
    }

    fn matters(&mut self, at: &str, from: MattersFrom) {
        if from.number() < 0.0 {
            self.say(at, m::matters_below_zero(from));
        }
    }

    /// A label of observed amounts, which only amounts are compared with.
    fn observed_amounts(&mut self) {
        if !matches!(self.job.data.label, LabelRole::Amount(_)) {
            return;
        }
        let clarify = self.job.metrics.clarify.as_ref();
        if !self.job.audits_amounts() {
            self.say("data.label.amount", m::label_amount_no_model());
        } else if clarify.is_none_or(|clarify| clarify.positive_above.is_none()) {
            self.say("data.label.amount", m::label_amount_unread());
        }
    }

    /// Next to `better` of the models nothing else says which amounts people want.
    fn favourable_amounts(&mut self) {
        let clarify = self.job.metrics.clarify.as_ref();
        let cut = clarify.is_some_and(|clarify| clarify.positive_above.is_some());
        let said = self.job.data.favourable;
        if cut && said.is_some_and(|said| self.job.favourable_amounts() != Some(said)) {
            self.say("data.favourable", m::favourable_of_amounts());
        }
    }

    /// What a job of amounts asks for, and one of decisions may not.
    pub(super) fn amounts(&mut self) {
        let job = self.job;
        self.observed_amounts();
        if !job.audits_amounts() {
            let mut families = job.metrics.families.iter().flatten();
            if let Some(i) = families.position(|family| *family == MetricFamily::Amounts) {
                self.say(format!("metrics.families[{i}]"), m::amounts_need_model());
            }
            return;
        }
        let mut rules = job.models.iter().map(|(name, model)| (name, model.amount()));
        if let Some((first, rule)) = rules.next()
            && let Some((other, _)) = rules.find(|(_, other)| *other != rule)
        {
            self.say(path(&["models", other.as_str()]), m::amounts_differ(first, other));
        }
        self.favourable_amounts();
        let families = job.metrics.families.iter().flatten();
        let offered = [MetricFamily::Amounts, MetricFamily::CfQuality, MetricFamily::Clarify];
        let cut = job.metrics.clarify.as_ref().and_then(|clarify| clarify.positive_above);
        let mut asked = families.clone();
        if let Some(i) = asked.position(|family| *family == MetricFamily::Clarify)
            && cut.is_none()
        {
            self.say(format!("metrics.families[{i}]"), m::clarify_needs_cut());
        }
        let refused = families.enumerate().find(|(_, family)| !offered.contains(family));
        if let Some((i, family)) = refused {
            self.say(format!("metrics.families[{i}]"), m::family_of_amounts(family.as_str()));
        }
    }
}
