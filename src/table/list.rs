//! All tables, in the order of docs/tables.md.

use crate::table::changes::CHANGES;
use crate::table::experiments::{ARM_FOLDS, ARMS, SELECTED};
use crate::table::graphs::{EDGES, GRAPHS, NODES, SUBGRAPHS, WORLD_PEOPLE, WORLDS};
use crate::table::rows::{FILTERS, ISSUES, OUTCOMES};
use crate::table::{CF_DISTRIBUTIONS, CF_EXAMPLES, CF_FEATURES, CF_QUALITY};
use crate::table::{
    COMPARISONS, COUNTS, GATES, GROUPS, METRICS, SCORE_SHIFT, THRESHOLDS, TRANSITIONS, TableDef,
    recourse,
};

/// All tables, in the order of the documentation.
pub const TABLES: &[&TableDef] = &[
    &METRICS,
    &COUNTS,
    &SCORE_SHIFT,
    &GROUPS,
    &CF_QUALITY,
    &CF_FEATURES,
    &CF_DISTRIBUTIONS,
    &CF_EXAMPLES,
    &COMPARISONS,
    &THRESHOLDS,
    &WORLDS,
    &WORLD_PEOPLE,
    &EDGES,
    &NODES,
    &GRAPHS,
    &SUBGRAPHS,
    &TRANSITIONS,
    &ARMS,
    &ARM_FOLDS,
    &CHANGES,
    &recourse::RECOURSE,
    &recourse::RECOURSE_COLUMNS,
    &recourse::SUBGROUPS,
    &recourse::ACTIONS,
    &recourse::ECD,
    &recourse::COMPARATIVES,
    &recourse::RANKING_ANALYSIS,
    &recourse::AGGREGATED_RANKINGS,
    &GATES,
    &FILTERS,
    &ISSUES,
    &OUTCOMES,
    &SELECTED,
];
