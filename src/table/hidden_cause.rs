//! The table of hidden causes: what a finding across causal graphs becomes if something that no
//! column holds is a cause of the attribute and of the score.

use crate::table::metrics::MetricRow;
use crate::table::row_macro::{SharedText, columns, tables};

/// The target that holds for every hidden cause, whatever columns it reaches.
pub(crate) const ANY_TARGET: &str = "any";

columns! {
    /// A rate of switches of one direction, and the gate that it is judged by. The first columns of
    /// the tables that ask what would become of its verdict.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct JudgedRateKey {
        model: SharedText,
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        /// id of the rate: psr, nsr, sr, denied_by_group or favoured_by_group
        metric: SharedText,
        /// the gate of whose limit the verdicts of the row tell; empty = none
        gate: SharedText,
    }
}

impl JudgedRateKey {
    /// The key for a row of the table of metrics and a gate, whose name is empty where there is
    /// none.
    pub(crate) fn new(row: &MetricRow, gate: &str) -> Self {
        JudgedRateKey {
            model: row.key.model.clone(),
            counterfactual: row.key.counterfactual.clone(),
            sensitive: row.key.sensitive.clone(),
            from_group: row.key.from_group.clone(),
            to_group: row.key.to_group.clone(),
            metric: row.metric.clone(),
            gate: gate.into(),
        }
    }
}

tables! {
    /// `hidden_cause`: one row per model, graph-uncertain set with `sensitivity`, direction, rate,
    /// gate, target, push and strength. What a hidden cause can do is known where the model is
    /// linear in the encoded columns, as the worlds are.
    pub struct HiddenCauseRow in "hidden_cause", version 1, key 10,
    one row per "model, set, attribute, direction, metric, gate, target, push and strength",
    written by "hidden", read by "gate, report" {
        ..key: JudgedRateKey,
        /// what the hidden cause reaches besides the attribute: any = whatever columns, in any
        /// proportion; else this column alone, which illustrates and is no bound
        target: SharedText,
        /// up = in every graph the highest change of the score that it can bring about, down = the
        /// lowest; of sr the highest and the lowest rate
        push: SharedText,
        /// the share that it explains of what is left of the attribute given what cannot follow
        /// from it, and of what is left of the target; 0 = there is none
        strength: f64,
        /// the rate, as mean over graphs; null = undefined, see `undefined`
        value: Option<f64>,
        /// lower percentile over graphs; null = one graph, or no value
        world_lo: Option<f64>,
        /// upper percentile over graphs; null as world_lo
        world_hi: Option<f64>,
        /// lower end of the interval over people; at strength 0 that of `metrics`, else Wilson's
        /// with each graph as a row of the person; null = none asked for, or no value
        lo: Option<f64>,
        /// upper end of it; null as lo
        hi: Option<f64>,
        /// the verdict on these numbers by the rule of the gate: pass, fail, inconclusive; empty =
        /// no gate
        verdict: SharedText,
        /// mean over graphs of what a cause of g = 1 adds to the log odds, where strength s is g =
        /// s / sqrt(1 - s); null = undefined
        unit: Option<f64>,
        /// share of the graphs in which such a cause changes anything; null = undefined
        share_of_graphs: Option<f64>,
        /// the smallest strength at which the verdict is another than without a hidden cause, 0 =
        /// already the edges that the graphs leave out turn it; null = none below 0.99, no gate, or
        /// inconclusive without one
        turns_at: Option<f64>,
        /// lower percentile over graphs of the strength at which the rate of the graph itself
        /// crosses the limit; null as turns_at, or 2.5 % of the graphs or more never cross
        turns_lo: Option<f64>,
        /// upper percentile of it; null as turns_lo
        turns_hi: Option<f64>,
        /// the smallest strength at which the verdict is the opposite one, pass for fail and fail
        /// for pass; null as turns_at
        reverses_at: Option<f64>,
        /// the strongest recorded variable of those that cannot follow from the attribute; empty =
        /// none, or none asked for
        benchmark: SharedText,
        /// share of what is left of the attribute that a cause as strong as it explains at most,
        /// mean over graphs; null = no benchmark
        benchmark_attribute: Option<f64>,
        /// the same of what is left of the target; null = no benchmark
        benchmark_target: Option<f64>,
        /// the one strength with the same effect; null = no benchmark
        benchmark_equal: Option<f64>,
        /// share of the target that a cause needs to turn the verdict if it is linked with the
        /// attribute only as strongly as the benchmark; above 1 = impossible; null = no benchmark,
        /// or nothing turns
        needs_if_benchmark: Option<f64>,
        /// why nothing is known; empty = it is: attribute_determined (what cannot follow from the
        /// attribute determines it), nothing_follows (nothing that the score reads may follow, in
        /// more than 5 % of the graphs), model_not_linear, or as in `metrics`
        undefined: SharedText,
    }
}
