//! The tables of causal graphs: every world, the people in them, edges, nodes and the graphs
//! themselves.

use super::quality::SET;
use super::{FROM_GROUP, MODEL, SCOPE, SENSITIVE, TO_GROUP, TableDef, int, or_null, real, text};

/// `worlds`: one row per key, world and metric of the graph-uncertain sets. A world stands for the
/// graphs of one bootstrap that give the same counterfactuals.
pub const WORLDS: TableDef = TableDef {
    name: "worlds",
    version: 1,
    one_row_per: "model, set, attribute, scope, world and metric",
    n_key: 8,
    columns: &[
        MODEL,
        SET,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        int("world", "number of the world in its set, from 0, by bootstrap"),
        text("metric", "id of the metric"),
        int("bootstrap", "the bootstrap, from 0"),
        int("copies", "its graphs: as often does it count in means and percentiles"),
        or_null(real("value", "the metric in this world; null = undefined, see `undefined`")),
        text("undefined", "why the value is null; empty where it is not"),
        or_null(int(
            "numerator",
            "cases on top of a rate; null where the metric is no rate of counts",
        )),
        or_null(int(
            "denominator",
            "cases below a rate; null where the metric is no rate of counts",
        )),
    ],
    writer: "measure",
    readers: "report",
};

/// `world_people`: one row per model, graph-uncertain set and direction.
pub const WORLD_PEOPLE: TableDef = TableDef {
    name: "world_people",
    version: 1,
    one_row_per: "model, set, attribute and direction",
    n_key: 5,
    columns: &[
        MODEL,
        SET,
        SENSITIVE,
        FROM_GROUP,
        TO_GROUP,
        int(
            "n",
            "people whose score has a variance over graphs; 0 where there is one graph, or more \
             than a million people",
        ),
        or_null(real(
            "variance_mean",
            "mean over people of the variance of the person's score over graphs; null = n is 0",
        )),
        or_null(real("variance_lo", "2.5 % quantile of these variances; null = n is below 2")),
        or_null(real("variance_hi", "97.5 % quantile of these variances; null = n is below 2")),
    ],
    writer: "measure",
    readers: "report",
};

/// `edges`: one row per graph-uncertain set and directed edge that occurs.
pub const EDGES: TableDef = TableDef {
    name: "edges",
    version: 1,
    one_row_per: "set, attribute and edge that occurs in a graph",
    n_key: 4,
    columns: &[
        SET,
        SENSITIVE,
        text("cause", "variable that the edge comes from"),
        text("effect", "variable that it points to"),
        int("count", "graphs with the edge, of all bootstraps"),
        real("frequency", "their share of all graphs, above 0 and at most 1"),
        real(
            "frequency_even",
            "the same share where every bootstrap weighs the same, whatever the size of its class",
        ),
        real(
            "entropy",
            "-p log2 p - (1 - p) log2 (1 - p) of the frequency p, in bits: 0 = all graphs agree, 1 \
             = half of them have the edge",
        ),
        real(
            "below_sensitive",
            "share of all graphs in which the edge lies among the attribute and what follows from \
             it",
        ),
    ],
    writer: "measure",
    readers: "report",
};

/// `nodes`: one row per graph-uncertain set and encoded column.
pub const NODES: TableDef = TableDef {
    name: "nodes",
    version: 1,
    one_row_per: "set, attribute, variable and level",
    n_key: 4,
    columns: &[
        SET,
        SENSITIVE,
        text("node", "name of the variable"),
        text("level", "the level whose indicator moves; empty for a number"),
        int("position", "position of the variable in the order of the search, from 0"),
        or_null(int("tier", "its tier, from 0; null = in none")),
        real(
            "below_sensitive",
            "share of graphs in which the variable follows from the attribute; 1 for the attribute \
             itself",
        ),
        text("from_group", "the first declared group"),
        text(
            "to_group",
            "the second declared group: what moves from the first to it moves back from it to the \
             first",
        ),
        real(
            "move",
            "mean over graphs of the movement, in the unit of the column; of a level in shares of \
             1",
        ),
        or_null(real("move_var", "variance of the movement over graphs; null = one graph")),
        or_null(real("move_lo", "lower percentile over graphs; null = one graph")),
        or_null(real("move_hi", "upper percentile over graphs; null = one graph")),
    ],
    writer: "measure",
    readers: "report",
};

/// `graphs`: one row per graph-uncertain set and bootstrap.
///
/// Version 2 added `attribute_follows`. A file of version 1 tells of single edges to the attribute
/// alone, in `edges`.
pub const GRAPHS: TableDef = TableDef {
    name: "graphs",
    version: 2,
    one_row_per: "set, attribute and bootstrap",
    n_key: 3,
    columns: &[
        SET,
        SENSITIVE,
        int("bootstrap", "the bootstrap, from 0"),
        or_null(real(
            "score",
            "score of its graphs, on the scale 2 log-likelihood minus penalty; null = the graph is \
             given",
        )),
        int("class", "number of its class of graphs among the different ones, from 0"),
        int("graphs", "graphs of the class that are taken"),
        or_null(int("class_size", "graphs that the class has; null = too many to count")),
        text(
            "drawn",
            "all; evenly = a sample in which all graphs are equally likely; by_directions = a \
             sample in which they are not",
        ),
        text(
            "determined",
            "variables that their parents determine in this bootstrap, joined by `,`: their scores \
             are a convention; empty = none",
        ),
        or_null(int(
            "attribute_follows",
            "of the graphs taken those in which the attribute follows from another variable; null \
             = version 1",
        )),
    ],
    writer: "measure",
    readers: "report",
};

/// `subgraphs`: one row per graph-uncertain set and different graph below the attribute.
pub const SUBGRAPHS: TableDef = TableDef {
    name: "subgraphs",
    version: 1,
    one_row_per: "set, attribute and graph below the attribute",
    n_key: 3,
    columns: &[
        SET,
        SENSITIVE,
        text(
            "edges",
            "the edges among the attribute and what follows from it, `a -> b` joined by `; `; \
             empty = nothing follows",
        ),
        int("count", "graphs that have exactly these"),
        real("share", "their share of all graphs"),
    ],
    writer: "measure",
    readers: "report",
};
