//! Checks gates on metrics of scores: that there are scores, probabilities and an interval.

use crate::job::messages as m;
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
            self.say(join(at, "decide_by"), m::gate_no_interval(metric.id));
        }
        let Some(model) = gate.model.as_ref().and_then(|model| self.job.models.get(model)) else {
            return;
        };
        let of_scores = matches!(metric.family, MetricFamily::Shift | MetricFamily::Scores);
        if of_scores && !model.gives_scores() {
            self.say(join(at, "metric"), m::gate_of_decisions(name, metric.id));
        } else if needs_probability(metric) && ModelBlock::gives_points(model) {
            self.say(join(at, "metric"), m::gate_of_points(name, metric.id));
        }
    }
}
