//! Checks the block `metrics`: families, slices, comparisons of models, and replicates.

use crate::job::MetricFamily;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::param::{ColumnName, Name};

use super::JobChecker;
use super::defaults::{families, needs_counterfactual};

/// The most replicates of a bootstrap: all of them are held in memory at once.
const MOST_SAMPLES: u64 = 1_000_000;

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
        self.slices();
        self.compare();
        let samples = self.job.metrics.bootstrap.samples.get();
        if samples > MOST_SAMPLES && self.is_sound(&["metrics"]) {
            self.say("metrics.bootstrap.samples", m::replicates_many(samples, MOST_SAMPLES));
        }
    }

    fn families(&mut self) {
        let Some(named) =
            self.job.metrics.families.as_ref().filter(|_| self.is_sound(&["metrics.families"]))
        else {
            return;
        };
        let words: Vec<&str> = named.iter().map(|f| f.as_str()).collect();
        if !self.check_distinct(
            "metrics.families",
            "family, or remove the key to use all that the job allows",
            &words,
        ) {
            return;
        }
        let no_label = self.job.data.label.column().is_none() && self.is_sound(&["data.label"]);
        let no_set = self.job.counterfactuals.is_empty() && self.are_names_sound("counterfactuals");
        for (i, &family) in named.iter().enumerate() {
            let (at, word) = (format!("metrics.families[{i}]"), family.as_str());
            if no_label && self.catalog.family_needs_label(family) {
                self.say(at, m::family_no_label(word));
            } else if no_label && family == MetricFamily::Clarify && !self.job.audits_amounts() {
                self.say(at, m::clarify_no_label());
            } else if family == MetricFamily::CfQuality
                && !no_set
                && self.is_sound(&["counterfactuals"])
                && !self.job.has_fitted_sets()
            {
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
        if compare.is_empty() || !self.is_sound(&["metrics.compare"]) {
            return;
        }
        let measured = families(self.job, self.catalog);
        if self.is_sound(&["metrics.families"])
            && !COMPARED.iter().any(|family| measured.contains(family))
        {
            self.say("metrics.compare", m::compare_no_family());
        }
        if !self.are_names_sound("models") || self.job.models.is_empty() {
            return;
        }
        for (first, second) in compare {
            let at = join("metrics.compare", first.as_str());
            let both = [first, second].map(|name| {
                self.check_known(
                    "model",
                    at.clone(),
                    name.as_str(),
                    self.job.models.keys().map(Name::as_str),
                    "unknown-name",
                )
            });
            if both == [true, true] && first == second {
                self.say(at, m::compare_itself(first));
            }
        }
    }

    /// `metrics.by`: every column must be one that people share, and one that groups of some
    /// attribute meet in.
    fn slices(&mut self) {
        let (data, by) = (&self.job.data, &self.job.metrics.by);
        if by.is_empty()
            || !self.is_sound(&["metrics.by", "data.sensitive", "data.row_id", "data.derive"])
        {
            return;
        }
        let names: Vec<&str> = by.iter().map(ColumnName::as_str).collect();
        if !self.check_distinct("metrics.by", "column", &names) {
            return;
        }
        for (i, column) in by.iter().enumerate() {
            let at = format!("metrics.by[{i}]");
            if data.row_id.as_ref() == Some(column) {
                self.say(at, m::slice_by_id(column));
            } else if !data.sensitive.is_empty()
                && data.sensitive.keys().all(|name| data.column_of(name) == column)
            {
                self.say(at, m::slice_by_group(column));
            }
        }
    }
}
