//! Causal graphs learnt from data under domain knowledge, with their uncertainty.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), with the search of Andrews et
//! al. 2023, "Fast scalable and accurate discovery of DAGs using the best order score search and
//! grow-shrink trees". The chain, a file each:
//!
//! | file | from | to |
//! | --- | --- | --- |
//! | `encoding` | training rows | z-scored numbers and indicators of levels |
//! | `bootstrap_draws` | number of rows, seed | how often each row occurs in each bootstrap replicate |
//! | `moments` | encoded rows, draws | weighted sums of products, one matrix per replicate: rows are not needed after this |
//! | `score` | moments | degenerate Gaussian score of a variable given its parents |
//! | `grow_shrink`, `shrink`, `boss`, `bes` | score, `knowledge` | a DAG of high score |
//! | `search` | one replicate | these searches, and the DAGs of the class found |
//! | `graph` | DAG | the graph of its equivalence class under knowledge (CPDAG) |
//! | `given` | edges given by the user | the same, without a search |
//! | `class` | CPDAG | number of its DAGs, all of them, or a sample |
//! | `bag`, `entropy` | DAGs of all replicates | the bag of DAGs, edge frequencies, H_G and H_GA |
//! | `export` | edge frequencies | DOT and GML |
//! | `scm` | moments, DAG | linear structural equations |
//! | `hidden_cause` | moments, DAG | how far an unrecorded cause can move a linear score |
//!
//! Words: a *variable* (node) is a column of the job, an *encoded column* one of the numbers that
//! represent it. A *replicate* is one bootstrap of the training rows. A *class* is the set of DAGs
//! that the score cannot distinguish and the knowledge allows. The *bag* holds the DAGs of all
//! classes, each as often as it occurs.
//!
//! Not done here: counterfactual rows (`counterfactual::graph_uncertain`), models, metrics.
//! Everything is a function of its arguments: any number of threads may work on the replicates, in
//! any order.

pub(crate) mod bag;
pub(crate) mod bes;
pub mod bootstrap_draws;
pub mod boss;
pub(crate) mod class;
pub mod encoding;
pub(crate) mod entropy;
pub(crate) mod export;
pub(crate) mod given;
pub mod graph;
mod grow_shrink;
pub(crate) mod hidden_cause;
pub mod knowledge;
pub mod moments;
pub(crate) mod nodes;
pub(crate) mod person_units;
pub(crate) mod scm;
pub mod score;
pub(crate) mod search;
mod shrink;

#[cfg(test)]
pub(crate) mod tests;
