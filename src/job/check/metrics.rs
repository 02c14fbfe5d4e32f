//! Checks the block `metrics`: families, slices, comparisons of models, and replicates.

use crate::job::MetricFamily;
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
            let what = format!("`{samples}` replicates are too many");
            self.push_problem(
                "bad-value",
                "metrics.bootstrap.samples",
                what,
                format!("at most {MOST_SAMPLES}; 2000 is usual"),
            );
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
                self.push_problem(
                    "needs-label",
                    at,
                    format!("the family `{word}` needs a label, but `data.label` is `none`"),
                    "remove it, or name the label column",
                );
            } else if no_label && family == MetricFamily::Clarify {
                self.push_problem(
                    "needs-label",
                    at,
                    "the family `clarify` needs the favourable prediction, but \
                     `data.label` is `none`",
                    "remove it, or name the label column with its `favourable` side",
                );
            } else if family == MetricFamily::CfQuality
                && !no_set
                && self.is_sound(&["counterfactuals"])
                && !self.job.has_fitted_sets()
            {
                self.push_problem(
                    "needs-counterfactual",
                    at,
                    "the family `cf_quality` is about sets that move features by distributions, \
                     but the job has no such set",
                    "remove it, or add a set such as `world: {greedy: {condition_on: label}}`",
                );
            } else if no_set && (family == MetricFamily::CfQuality || needs_counterfactual(family))
            {
                self.push_problem(
                    "needs-counterfactual",
                    at,
                    format!("the family `{word}` needs a counterfactual set"),
                    "add one, such as `counterfactuals: {flip: {naive: {}}}`",
                );
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
            let hint = "add one of `performance`, `group`, `ccm`, `eccm` and `scores` to \
                        `metrics.families`, or remove `compare`";
            self.push_problem(
                "not-measured",
                "metrics.compare",
                "no family is measured by which models are compared",
                hint,
            );
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
                let what = format!("the model `{first}` is compared with itself");
                self.push_problem("bad-value", at, what, "name another model after the colon");
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
                let what = format!("`{column}` identifies the rows: every slice would hold one");
                self.push_problem("bad-value", at, what, "name a column that people share");
            } else if !data.sensitive.is_empty()
                && data.sensitive.keys().all(|name| data.column_of(name) == column)
            {
                let what = format!(
                    "the groups are derived from `{column}`: every slice would hold only one of \
                     them"
                );
                self.push_problem(
                    "bad-value",
                    at,
                    what,
                    "name another column, whose values occur in several groups",
                );
            }
        }
    }
}
