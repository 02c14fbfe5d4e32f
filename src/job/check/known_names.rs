//! What a job may name without declaring it: metrics, measures of counterfactuals and public data
//! sets.

use crate::job::MetricFamily;

/// What `check` must know of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownMetric {
    /// Its id, such as `nsr`.
    pub id: &'static str,
    /// Its family.
    pub family: MetricFamily,
    /// Another family that measures it.
    pub also: Option<MetricFamily>,
    /// The key of `metrics.clarify` without which it is not measured.
    pub asked_by: Option<&'static str>,
    /// Whether its values ever have an interval over people.
    pub has_interval: bool,
    /// Whether it is measured for other trainings of the model too.
    pub measured_again: bool,
    /// Whether it needs the label.
    pub needs_label: bool,
    /// Whether it needs a counterfactual set.
    pub needs_counterfactual: bool,
    /// What it can be asked of, at least one.
    pub scopes: &'static [GateScope],
    /// The fewest groups of an attribute that it is measured for.
    pub min_groups: usize,
    /// Its smallest and its largest value; an end may be infinite.
    pub range: (f64, f64),
    /// Whether it goes by the prediction that people want, so that the job must say which.
    pub by_favourable: bool,
}

/// What a gate asks a metric of, and the key that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateScope {
    /// All rows of an attribute: no key.
    Total,
    /// One group: `group`.
    Group,
    /// One group against another, or against all others: `between`.
    Pair,
    /// The groups that are furthest apart: `between: worst_case`.
    WorstCase,
    /// From one group to another: `direction`.
    Direction,
}

/// What a job may name without declaring it.
#[derive(Debug, Clone, Copy)]
pub struct KnownNames<'a> {
    /// The metrics.
    pub metrics: &'a [KnownMetric],
    /// The measures of counterfactuals, which no gate can ask.
    pub measures: &'a [&'a str],
    /// The public data sets.
    pub data_sets: &'a [&'a str],
}

impl KnownNames<'_> {
    /// Whether no metric of the family can be measured without a label.
    pub(super) fn family_needs_label(&self, family: MetricFamily) -> bool {
        let mut metrics = self.metrics.iter().filter(|m| m.family == family).peekable();
        metrics.peek().is_some() && metrics.all(|m| m.needs_label)
    }
}
