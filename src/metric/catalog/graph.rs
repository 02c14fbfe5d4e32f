//! How far the causal graphs of a counterfactual set agree: entropies and numbers of graphs.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.1. Values come from
//! the bag of graphs (`causal::entropy`, `causal::bag`), once per set and attribute, regardless of
//! the models; the list here says what they mean, so that tables, gates and `cfaudit explain` know
//! them as they know any metric.

use super::place::PageList as L;
use super::place::PagePlace::At;
use crate::metric::{Metric, MetricFamily, MetricUnit, Reads};

const PAPER: &str = "Counterfactual Fairness with Graph Uncertainty, section 3.1";
const ADDED: &str = "Counterfactual Fairness with Graph Uncertainty, Tables 1 and 3";

/// The metric that is measured only where a set asks for the fit of its knowledge.
pub(crate) const FIT_WORSE: &str = "fit_worse";

const fn metric(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    range: (f64, f64),
    source: &'static str,
) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: MetricFamily::Graph,
        range,
        ideal: None,
        sign: "a number of the graphs, no side",
        undefined_when: "never",
        source,
        needs_label: false,
        reads: Reads::Graphs,
        unit: MetricUnit::Count,
        ..Metric::UNSTATED
    }
}

/// The list of this family.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        formula: "sum over edges of h(p) / (number of edges that occur), h(p) = -p log2 p - (1 - \
                  p) log2 (1 - p), p = share of graphs with the edge",
        unit: MetricUnit::Number,
        shown: &[At(L::GraphsFound, 4)],
        ..metric("h_g", "H_G", "normalised entropy of the edges", (0.0, 1.0), PAPER)
    },
    Metric {
        formula: "h_g with each graph restricted to the sensitive attribute, its descendants, \
                  and the edges among these",
        unit: MetricUnit::Number,
        shown: &[At(L::GraphsFound, 5)],
        ..metric(
            "h_ga",
            "H_GA",
            "normalised entropy of the edges below the attribute",
            (0.0, 1.0),
            PAPER,
        )
    },
    Metric {
        formula: "number of graphs of all bootstraps, counted with multiplicity",
        shown: &[At(L::GraphsFound, 1)],
        ..metric("n_graphs", "M", "graphs", (0.0, f64::INFINITY), ADDED)
    },
    Metric {
        formula: "number of different graphs",
        shown: &[At(L::GraphsFound, 2)],
        ..metric("n_graphs_distinct", "M_distinct", "different graphs", (0.0, f64::INFINITY), ADDED)
    },
    Metric {
        formula: "number of different classes of graphs that the score cannot distinguish (CPDAGs \
                  under knowledge)",
        shown: &[At(L::GraphsFound, 3)],
        ..metric("n_classes", "n_CPDAG", "different classes of graphs", (0.0, f64::INFINITY), ADDED)
    },
    Metric {
        formula: "bootstraps in which the best graphs under the knowledge have a lower score than \
                  those under the scenario it is compared with, by more than 1e-9 of the score, \
                  over all bootstraps",
        source: "Counterfactual Fairness with Graph Uncertainty, future work",
        unit: MetricUnit::Share,
        shown: &[At(L::GraphsFound, 6)],
        ..metric(
            FIT_WORSE,
            "fits worse",
            "bootstraps in which knowledge fits worse",
            (0.0, 1.0),
            ADDED,
        )
    },
];
