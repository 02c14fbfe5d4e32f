//! Checks gates on metrics of scores: that there are scores, probabilities and an interval.

use crate::job::read::tree::join;
use crate::job::{GateBlock, GateDecideBy, MetricFamily, ModelBlock};
use crate::metric::Reads;
use crate::metric::catalog::find;
use crate::param::Name;

use super::JobChecker;
use super::known_names::KnownMetric;

/// Whether a metric compares scores with shares of labels.
fn needs_probability(metric: &KnownMetric) -> bool {
    let reads = find(metric.id).map(|metric| metric.reads);
    matches!(reads, Some(Reads::Scored(reading)) if reading.needs_probability())
}

impl JobChecker<'_> {
    /// What a gate asks of scores.
    pub(super) fn gate_of_scores(
        &mut self,
        (at, name): (&str, &Name),
        gate: &GateBlock,
        metric: &KnownMetric,
    ) {
        if !metric.has_interval
            && matches!(gate.decide_by, GateDecideBy::Interval | GateDecideBy::All)
        {
            let what =
                format!("`{}` has no interval, so that the gate could not be decided", metric.id);
            let hint = "write `decide_by: estimate`";
            self.push_problem("no-interval", join(at, "decide_by"), what, hint);
        }
        let Some(model) = gate.model.as_ref().and_then(|model| self.job.models.get(model)) else {
            return;
        };
        let of_scores = matches!(metric.family, MetricFamily::Shift | MetricFamily::Scores);
        if of_scores && !model.gives_scores() {
            let what = format!(
                "the gate `{name}` asks for `{}`, which needs scores, and its model gives \
                 only decisions",
                metric.id
            );
            let hint = "ask for a metric of the family `ccm`, such as `sr`, or name a model with \
                        scores";
            self.push_problem("needs-scores", join(at, "metric"), what, hint);
        } else if needs_probability(metric) && ModelBlock::gives_points(model) {
            let what = format!(
                "the gate `{name}` asks for `{}`, which compares scores with shares of labels, and \
                 the scores of its model are points",
                metric.id
            );
            let hint = "write `probability: true` next to the model's `scale` if points are \
                        proportional to probabilities; `auc` and `xauc` need no probabilities";
            self.push_problem("needs-scores", join(at, "metric"), what, hint);
        }
    }
}
