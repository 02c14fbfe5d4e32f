//! Checks the block `metrics`: families, slices, comparisons of models, and replicates.

use crate::job::MetricFamily;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::param::ColumnName;

use super::JobChecker;
use super::defaults::{families, needs_counterfactual, needs_label};

/// The families whose values are compared.
const COMPARED: [MetricFamily; 5] = [
    MetricFamily::Performance,
    MetricFamily::Group,
    MetricFamily::Ccm,
    MetricFamily::Eccm,
    MetricFamily::Scores,
];

impl JobChecker<'_> {
    /// The block `metrics`, but for `metrics.clarify`.
    pub(super) fn metrics(&mut self) {
        self.families();
        for (i, column) in self.job.metrics.by.iter().enumerate() {
            self.divides(format!("metrics.by[{i}]"), column, "slice");
        }
        self.compare();
    }

    fn families(&mut self) {
        let named = self.job.metrics.families.iter().flatten();
        let no_label = self.lacks_label();
        let no_set = self.job.counterfactuals.is_empty() && self.are_names_sound("counterfactuals");
        for (i, &family) in named.enumerate() {
            let (at, word) = (format!("metrics.families[{i}]"), family.as_str());
            if no_label && needs_label(family) {
                self.say(at, m::family_no_label(word));
            } else if no_label && family == MetricFamily::Clarify && !self.job.audits_amounts() {
                self.say(at, m::clarify_no_label());
            } else if family == MetricFamily::CfQuality && !no_set && !self.job.has_fitted_sets() {
                self.say(at, m::cf_quality_no_set());
            } else if no_set && (family == MetricFamily::CfQuality || needs_counterfactual(family))
            {
                self.say(at, m::family_no_set(word));
            }
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
        let compare = &self.job.metrics.compare;
        if compare.is_empty() {
            return;
        }
        let measured = families(self.job);
        if !COMPARED.iter().any(|family| measured.contains(family)) {
            self.say("metrics.compare", m::compare_no_family());
        }
        for (first, second) in compare {
            let at = join("metrics.compare", first.as_str());
            let both = [first, second].map(|name| self.model_named(at.as_str(), name).is_some());
            if both == [true, true] && first == second {
                self.say(at, m::compare_itself(first));
            }
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
}
