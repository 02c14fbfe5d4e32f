//! How far the causal graphs of a counterfactual set agree: entropies and numbers of graphs.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.1. Values come from
//! the bag of graphs (`causal::entropy`, `causal::bag`), once per set and attribute, regardless of
//! the models; the list here says what they mean, so that tables, gates and `cfaudit explain` know
//! them as they know any metric.

use crate::metric::{Metric, MetricFamily, MetricUnit};

/// The metric that is measured only where a set asks for the fit of its knowledge.
pub(crate) const FIT_WORSE: &str = "fit_worse";

/// What the metrics of this family have in common.
const GRAPHS: Metric =
    Metric { family: MetricFamily::Graph, unit: MetricUnit::Count, ..Metric::UNSTATED };

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "h_g", "H_G", range: (0.0, 1.0), unit: MetricUnit::Number, shown: at![GraphsFound 4], ..GRAPHS;
    "h_ga", "H_GA", range: (0.0, 1.0), unit: MetricUnit::Number, shown: at![GraphsFound 5],
        ..GRAPHS;
    "n_graphs", "M", range: (0.0, f64::INFINITY), shown: at![GraphsFound 1], ..GRAPHS;
    "n_graphs_distinct", "M_distinct", range: (0.0, f64::INFINITY), shown: at![GraphsFound 2],
        ..GRAPHS;
    "n_classes", "n_CPDAG", range: (0.0, f64::INFINITY), shown: at![GraphsFound 3], ..GRAPHS;
    FIT_WORSE, "", range: (0.0, 1.0), unit: MetricUnit::Share, shown: at![GraphsFound 6],
        ..GRAPHS;
};
