//! How far the causal graphs of a counterfactual set agree: entropies and numbers of graphs.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.1. Values come from
//! the bag of graphs (`causal::entropy`, `causal::bag`), once per set and attribute, regardless of
//! the models; the list here says what they mean, so that tables, gates and `cfaudit explain` know
//! them as they know any metric.

use crate::metric::{Metric, MetricFamily, MetricUnit};

const PAPER: &str = "Counterfactual Fairness with Graph Uncertainty, section 3.1";
const ADDED: &str = "Counterfactual Fairness with Graph Uncertainty, Tables 1 and 3";

/// The metric that is measured only where a set asks for the fit of its knowledge.
pub(crate) const FIT_WORSE: &str = "fit_worse";

/// What the metrics of this family have in common.
const GRAPHS: Metric = Metric {
    family: MetricFamily::Graph,
    sign: "a number of the graphs, no side",
    undefined_when: "never",
    unit: MetricUnit::Count,
    ..Metric::UNSTATED
};

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "h_g", "H_G", "normalised entropy of the edges", "sum over edges of h(p) / (number of edges \
            that occur), h(p) = -p log2 p - (1 - p) log2 (1 - p), p = share of graphs with the \
            edge", range: (0.0, 1.0), unit: MetricUnit::Number, source: PAPER,
        shown: at![GraphsFound 4], ..GRAPHS;
    "h_ga", "H_GA", "normalised entropy of the edges below the attribute", "h_g with each graph \
            restricted to the sensitive attribute, its descendants, and the edges among these",
        range: (0.0, 1.0), unit: MetricUnit::Number, source: PAPER, shown: at![GraphsFound 5],
        ..GRAPHS;
    "n_graphs", "M", "graphs", "number of graphs of all bootstraps, counted with multiplicity",
        range: (0.0, f64::INFINITY), source: ADDED, shown: at![GraphsFound 1], ..GRAPHS;
    "n_graphs_distinct", "M_distinct", "different graphs", "number of different graphs",
        range: (0.0, f64::INFINITY), source: ADDED, shown: at![GraphsFound 2], ..GRAPHS;
    "n_classes", "n_CPDAG", "different classes of graphs", "number of different classes of graphs \
            that the score cannot distinguish (CPDAGs under knowledge)",
        range: (0.0, f64::INFINITY), source: ADDED, shown: at![GraphsFound 3], ..GRAPHS;
    FIT_WORSE, "fits worse", "bootstraps in which knowledge fits worse", "bootstraps in which the \
            best graphs under the knowledge have a lower score than those under the scenario it is \
            compared with, by more than 1e-9 of the score, over all bootstraps", range: (0.0, 1.0),
        unit: MetricUnit::Share,
        source: "Counterfactual Fairness with Graph Uncertainty, future work",
        shown: at![GraphsFound 6], ..GRAPHS;
};
