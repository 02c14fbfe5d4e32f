//! Checks what is measured: families, slices, comparisons of models, what Clarify's metrics ask,
//! amounts in place of scores, and metrics that are exported.

use crate::data::prepare::params::OrdinalOrder;
use crate::job::blocks::clarify::{ClarifyBlock, FavouredGroups};
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::read::word_lists::list;
use crate::job::{ExportFormat, LabelRole, MetricFamily, ModelBlock};
use crate::metric::Metric;
use crate::metric::catalog::ccm::HARM;
use crate::model::kind::ModelKind;
use crate::model::kind::amount_key::MattersFrom;
use crate::model::kind::decision::DecisionBlock;
use crate::param::{ColumnName, Name, key_word};

use super::defaults::{families, needs_counterfactual, needs_label};
use super::models::score_keys_of;
use super::names::numbered;
use super::{JobChecker, path};

/// Whether a metric is measured of amounts.
pub(super) fn is_of_amounts(metric: &Metric) -> bool {
    metric.family == MetricFamily::Amounts || HARM.contains(&metric.id)
}

impl JobChecker<'_> {
    /// The block `metrics`.
    pub(super) fn metrics(&mut self) {
        self.families();
        self.clarify();
        self.amounts();
        for (place, column) in numbered("metrics.by".to_owned(), &self.job.metrics.by) {
            self.divides(place, column, "slice");
        }
        self.compare();
    }

    fn families(&mut self) {
        let named = self.job.metrics.families.iter().flatten();
        let no_label = self.lacks_label();
        let no_set = self.job.counterfactuals.is_empty() && self.are_names_sound("counterfactuals");
        for (at, &family) in numbered("metrics.families".to_owned(), named) {
            let (word, of_quality) = (family.as_str(), family == MetricFamily::CfQuality);
            let said = if no_label && needs_label(family) {
                m::family_no_label(word)
            } else if no_label && family == MetricFamily::Clarify && !self.job.audits_amounts() {
                m::clarify_no_label()
            } else if of_quality && !no_set && !self.job.has_fitted_sets() {
                m::cf_quality_no_set()
            } else if no_set && (of_quality || needs_counterfactual(family)) {
                m::family_no_set(word)
            } else {
                continue;
            };
            self.say(at, said);
        }
    }

    /// The first family with counterfactuals that the job asks for, where that is known.
    pub(super) fn asked_family(&self) -> Option<MetricFamily> {
        if !self.is_sound(&["metrics.families"]) {
            return None;
        }
        let sets = !self.job.counterfactuals.is_empty();
        match &self.job.metrics.families {
            Some(named) => named.iter().copied().find(|&f| needs_counterfactual(f)),
            None if self.job.audits_amounts() => sets.then_some(MetricFamily::Amounts),
            None => sets.then_some(MetricFamily::Ccm),
        }
    }

    /// The block `metrics.compare`.
    fn compare(&mut self) {
        use MetricFamily::{Ccm, Eccm, Group, Performance, Scores};
        let compare = &self.job.metrics.compare;
        if compare.is_empty() {
            return;
        }
        let measured = families(self.job);
        let compared = [Performance, Group, Ccm, Eccm, Scores];
        let compares_none = !compared.iter().any(|family| measured.contains(family));
        self.say("metrics.compare", compares_none.then(m::compare_no_family));
        for (first, second) in compare {
            let at = join("metrics.compare", first.as_str());
            let both = [first, second].map(|name| self.model_named(at.as_str(), name).is_some());
            let is_same = both == [true, true] && first == second;
            self.say(at, is_same.then(|| m::compare_itself(first)));
        }
    }

    /// Complains about a column that divides the rows, where no two people share a value of it, or
    /// groups of no attribute meet in one.
    pub(super) fn divides(&mut self, at: String, column: &ColumnName, part: &str) {
        let data = &self.job.data;
        let mut attributes = data.sensitive.keys();
        if data.row_id.as_ref() == Some(column) {
            self.say(at, m::divided_by_id(column, part));
        } else if attributes.len() > 0 && attributes.all(|name| data.column_of(name) == column) {
            self.say(at, m::divided_by_group(column, part));
        }
    }

    /// The whole block.
    fn clarify(&mut self) {
        let Some(clarify) = &self.job.metrics.clarify else { return };
        if !families(self.job).contains(&MetricFamily::Clarify) {
            let said = match self.job.metrics.families {
                Some(_) => m::clarify_unmeasured(),
                None => m::clarify_unlisted(),
            };
            self.say("metrics.clarify", said);
        }
        self.favoured(clarify);
        self.clarify_of_classes(clarify);
        let is_idle = clarify.positive_above.is_some() && !self.job.audits_amounts();
        self.say("metrics.clarify.positive_above", is_idle.then(m::positive_above_no_amounts));
        if let Some(column) = &clarify.strata {
            self.divides("metrics.clarify.strata".to_owned(), column, "stratum");
        }
        if clarify.flip_test.is_some() {
            self.flip_test();
        }
    }

    fn favoured(&mut self, clarify: &ClarifyBlock) {
        for (name, favoured) in &clarify.favoured {
            let at = join("metrics.clarify.favoured", name.as_str());
            if !self.attribute(at.as_str(), name) {
                continue;
            }
            let FavouredGroups::Groups(groups) = favoured else { continue };
            self.groups_named(name, numbered(at.clone(), groups));
            let declared = self.job.data.groups_of(name);
            let has_all = declared.len() > 1 && declared.iter().all(|group| groups.contains(group));
            self.say(at, has_all.then(|| m::favoured_all(name)));
        }
    }

    fn flip_test(&mut self) {
        let at = "metrics.clarify.flip_test";
        let (data, features) = (&self.job.data, &self.job.data.features);
        let ordinal = features.ordinal.iter();
        let ordinal = ordinal.filter(|(_, order)| matches!(order, OrdinalOrder::Numbers(_)));
        let numbers = features.continuous.iter().chain(ordinal.map(|(name, _)| name));
        let numbers = Vec::from_iter(numbers.chain(features.onehot.values().flatten()));
        if numbers.is_empty() {
            return self.say(at, m::flip_test_no_numbers());
        }
        for name in data.sensitive.keys() {
            let (own, _) = data.below(data.column_of(name), |_| false);
            let is_all = numbers.iter().all(|number| own.contains(*number));
            self.say(at, is_all.then(|| m::flip_test_all_set(name)));
        }
    }

    /// The key `amount` of a model, instead of `threshold`.
    pub(super) fn amount(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let Some(amount) = model.amount else { return };
        let here = join(at, "amount");
        self.matters(&join(&here, "matters_from"), amount.matters_from);
        for kind in model.kinds() {
            let said = match kind {
                ModelKind::Command(_) | ModelKind::Python(_) | ModelKind::Http(_) => continue,
                ModelKind::Scores(_) => m::amount_of_scores(name, kind.key()),
                ModelKind::Decision(_) => m::amount_of_decision(name, kind.key()),
                _ => m::amount_of_kind(name, kind.key()),
            };
            return self.say(here, said);
        }
        for key in score_keys_of(model).filter(|key| *key != "expect") {
            self.say(join(at, key), m::amount_beside_scores(key, name));
        }
    }

    /// The keys of a block `decision` that gives amounts.
    pub(super) fn decided_amount(&mut self, at: &str, knobs: &DecisionBlock) {
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
        self.say(at, (from.number() < 0.0).then(|| m::matters_below_zero(from)));
    }

    /// What a job of amounts may ask for and one of decisions may not.
    fn amounts(&mut self) {
        let job = self.job;
        let cut = job.metrics.clarify.as_ref().and_then(|clarify| clarify.positive_above);
        // A label of observed amounts, with which only amounts are compared.
        if matches!(job.data.label, LabelRole::Amount(_)) {
            let said = match job.audits_amounts() {
                false => Some(m::label_amount_no_model()),
                true => cut.is_none().then(m::label_amount_unread),
            };
            self.say("data.label.amount", said);
        }
        let families =
            || numbered("metrics.families".to_owned(), job.metrics.families.iter().flatten());
        let place_of = |wanted: MetricFamily| families().find(|(_, family)| **family == wanted);
        if !job.audits_amounts() {
            if let Some((place, _)) = place_of(MetricFamily::Amounts) {
                self.say(place, m::amounts_need_model());
            }
            return;
        }
        let mut rules = job.models.iter().map(|(name, model)| (name, model.amount()));
        if let Some((first, rule)) = rules.next()
            && let Some((other, _)) = rules.find(|(_, other)| *other != rule)
        {
            self.say(path(&["models", other.as_str()]), m::amounts_differ(first, other));
        }
        // Next to `better` of the models nothing else says which amounts people want.
        let side = job.data.favourable.filter(|side| job.favourable_amounts() != Some(*side));
        let said = side.filter(|_| cut.is_some()).map(|_| m::favourable_of_amounts());
        self.say("data.favourable", said);
        if let Some((place, _)) = place_of(MetricFamily::Clarify) {
            self.say(place, cut.is_none().then(m::clarify_needs_cut));
        }
        let offered = [MetricFamily::Amounts, MetricFamily::CfQuality, MetricFamily::Clarify];
        if let Some((place, family)) = families().find(|(_, family)| !offered.contains(family)) {
            self.say(place, m::family_of_amounts(family.as_str()));
        }
    }

    /// The formats of other tools that a run writes.
    pub(super) fn exports(&mut self) {
        if !self.is_sound(&["exports"]) {
            return;
        }
        let job = self.job;
        let words: Vec<String> = job.exports.iter().map(key_word).collect();
        if !words.is_empty() {
            self.check_distinct("exports", "form", &words);
        }
        let measured = families(job);
        let words: Vec<&str> = measured.iter().map(|family| family.as_str()).collect();
        for (at, form) in numbered("exports".to_owned(), &job.exports) {
            let ExportFormat::Prometheus(knobs) = form else { continue };
            let metrics = knobs.metrics.iter().flatten();
            for (place, metric) in numbered(format!("{at}.prometheus.metrics"), metrics) {
                let Some(known) = self.metric_named(place.clone(), metric) else { continue };
                let (family, is_other) = (known.family.as_str(), !measured.contains(&known.family));
                let said = || m::export_unmeasured(metric, family, list(&words));
                self.say(place, is_other.then(said));
            }
        }
    }
}
