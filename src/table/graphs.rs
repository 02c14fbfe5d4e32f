//! The tables of causal graphs: every world, the people in them, edges, nodes and the graphs
//! themselves.

use super::hidden_cause::JudgedRateKey;
use crate::table::row_macro::{SharedText, tables};

tables! {
    /// `worlds`: one row per key, world and metric of the graph-uncertain sets. A world represents
    /// the graphs of one bootstrap that give the same counterfactuals.
    pub struct WorldRow in "worlds", version 1, key 8,
    one row per "model, set, attribute, scope, world and metric",
    written by "measure", read by "users" {
        model: SharedText,
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        scope: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        /// number of the world in its set, from 0, by bootstrap
        world: i64,
        /// id of the metric
        metric: SharedText,
        /// the bootstrap, from 0
        bootstrap: i64,
        /// its graphs: as often does it count in means and percentiles
        copies: i64,
        /// the metric in this world; null = undefined, see `undefined`
        value: Option<f64>,
        /// why the value is null; empty if it is not
        undefined: SharedText,
        /// cases on top of a rate; null where the metric is not a rate of counts
        numerator: Option<i64>,
        /// cases below a rate; null where the metric is not a rate of counts
        denominator: Option<i64>,
    }

    /// `world_people`: one row per model, graph-uncertain set and direction.
    pub struct WorldPeopleRow in "world_people", version 1, key 5,
    one row per "model, set, attribute and direction", written by "measure", read by "report" {
        model: SharedText,
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        /// people whose score has a variance over graphs; 0 where there is one graph, or more than
        /// a million people
        n: i64,
        /// mean over people of the variance of the person's score over graphs; null = n is 0
        variance_mean: Option<f64>,
        /// 2.5 % quantile of these variances; null = n is below 2
        variance_lo: Option<f64>,
        /// 97.5 % quantile of these variances; null = n is below 2
        variance_hi: Option<f64>,
    }

    /// `needed_knowledge`: one row per model, graph-uncertain set with `necessary`, gate on a rate
    /// of switches, direction and statement that is left out. What becomes of a rate is known where
    /// the model is linear in the encoded columns, as the worlds are.
    pub struct NeededKnowledgeRow in "needed_knowledge", version 1, key 8,
    one row per "model, set, attribute, direction, metric, gate and statement",
    written by "needed", read by "report" {
        ..key: JudgedRateKey,
        /// the statement without which graphs were searched, on the same bootstraps; empty = none
        /// left out
        statement: SharedText,
        /// the verdict by the rule of the gate: pass, fail, inconclusive; empty = see `undefined`
        verdict: SharedText,
        /// the rate, as mean over graphs; null = undefined
        value: Option<f64>,
        /// lower percentile over graphs; null = one graph, or no value
        world_lo: Option<f64>,
        /// upper percentile over graphs; null as world_lo
        world_hi: Option<f64>,
        /// lower end of the interval over people; where a statement is left out Wilson's, with each
        /// graph as a row of the person; null = no value
        lo: Option<f64>,
        /// upper end of it; null as lo
        hi: Option<f64>,
        /// 1 where the attribute follows from another variable in 5 % of these graphs or more, 0
        /// for others
        attribute_follows: i64,
        /// why nothing is known without the statement; empty = it is: model_not_linear, or as in
        /// `metrics`
        undefined: SharedText,
    }

    /// `knowledge_fit`: one row per scenario of a graph-uncertain set with `fit`, but for the one
    /// that the others are compared with.
    pub struct KnowledgeFitRow in "knowledge_fit", version 1, key 3,
    one row per "set, attribute and scenario", written by "measure", read by "gate, report" {
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        /// the scenario
        scenario: SharedText,
        /// the scenario that it is compared with
        against: SharedText,
        /// mean over bootstraps of the score of its best graphs minus that of the other scenario,
        /// on the scale 2 log-likelihood minus penalty; below 0 = it fits worse
        difference: f64,
        /// lower end of Student's interval of the mean, over bootstraps, at `level`; null = fewer
        /// than two bootstraps, or all differences are equal
        lo: Option<f64>,
        /// upper end of it; null as lo
        hi: Option<f64>,
        /// the level of the interval
        level: f64,
        /// bootstraps in which it fits worse, by more than 1e-9 of the score
        worse_in: i64,
        /// bootstraps
        bootstraps: i64,
    }

    /// `edges`: one row per graph-uncertain set and directed edge that occurs.
    pub struct EdgeRow in "edges", version 1, key 4,
    one row per "set, attribute and edge that occurs in a graph",
    written by "measure", read by "report" {
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        /// variable that the edge comes from
        cause: SharedText,
        /// variable that it points to
        effect: SharedText,
        /// graphs with the edge, of all bootstraps
        count: i64,
        /// their share of all graphs, above 0 and at most 1
        frequency: f64,
        /// the same share where every bootstrap weighs the same, regardless of the size of its
        /// class
        frequency_even: f64,
        /// -p log2 p - (1 - p) log2 (1 - p) of the frequency p, in bits: 0 = all graphs agree, 1 =
        /// half of them have the edge
        entropy: f64,
        /// share of all graphs in which the edge lies among the attribute and what follows from it
        below_sensitive: f64,
    }

    /// `nodes`: one row per graph-uncertain set, encoded column and pair of groups.
    pub struct NodeRow in "nodes", version 2, key 6,
    one row per "set, attribute, variable, level and pair of groups",
    written by "measure", read by "report" {
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        /// name of the variable
        node: SharedText,
        /// the level whose indicator moves; empty for a number
        level: SharedText,
        /// the group that people come from; with `levels: expected` the pairs are in declared
        /// order, because what moves from the first group to the second moves back in the same way
        from_group: SharedText,
        /// the group that they are set to
        to_group: SharedText,
        /// position of the variable in the order of the search, from 0
        position: i64,
        /// its tier, from 0; null = in none
        tier: Option<i64>,
        /// share of graphs in which the variable follows from the attribute; 1 for the attribute
        /// itself
        below_sensitive: f64,
        /// mean over graphs of the movement, in the unit of the column; of a level in shares of 1;
        /// of drawn levels the mean over the audited people of `from_group`
        r#move: f64,
        /// variance of the movement over graphs; null = one graph
        move_var: Option<f64>,
        /// lower percentile over graphs; null = one graph
        move_lo: Option<f64>,
        /// upper percentile over graphs; null = one graph
        move_hi: Option<f64>,
        /// values that cells of levels and bins gave, over people and worlds, of the variable: the
        /// same in the row of each of its levels; null = `levels: expected`
        by_cells: Option<i64>,
        /// values that cells of levels alone gave, because others had too few rows; repeated and
        /// null likewise
        by_levels: Option<i64>,
        /// values that the linear equation gave; repeated and null likewise
        by_equation: Option<i64>,
    }

    /// `graphs`: one row per graph-uncertain set and bootstrap.
    pub struct GraphRow in "graphs", version 2, key 3,
    one row per "set, attribute and bootstrap", written by "measure", read by "report" {
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        /// the bootstrap, from 0
        bootstrap: i64,
        /// score of its graphs, on the scale 2 log-likelihood minus penalty; null = the graph is
        /// given
        score: Option<f64>,
        /// number of its class of graphs among the different ones, from 0
        class: i64,
        /// graphs of the class that are taken
        graphs: i64,
        /// graphs that the class has; null = too many to count
        class_size: Option<i64>,
        /// all; evenly = a sample in which all graphs are equally likely; by_directions = a sample
        /// in which they are not
        drawn: SharedText,
        /// variables that their parents determine in this bootstrap, joined by `,`: their scores
        /// are a convention; empty = none
        determined: SharedText,
        /// of the graphs taken those in which the attribute follows from another variable
        attribute_follows: i64,
    }

    /// `subgraphs`: one row per graph-uncertain set and different graph below the attribute.
    pub struct SubgraphRow in "subgraphs", version 1, key 3,
    one row per "set, attribute and graph below the attribute",
    written by "measure", read by "users" {
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        /// the edges among the attribute and what follows from it, `a -> b` joined by `; `; empty =
        /// nothing follows
        edges: SharedText,
        /// graphs that have exactly these
        count: i64,
        /// their share of all graphs
        share: f64,
    }
}
