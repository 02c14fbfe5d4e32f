//! The sections of the page, one file or folder each.

pub(crate) mod against;
pub(crate) mod classes;
pub(crate) mod experiments;
mod facets;
pub(crate) mod findings;
pub(crate) mod graphs;
pub(crate) mod groups;
pub(crate) mod left_out;
pub(crate) mod method;
pub(crate) mod models;
pub(crate) mod plausibility;
pub(crate) mod provenance;
pub(crate) mod recourse;
pub(crate) mod shift;
pub(crate) mod slices;
pub(crate) mod switches;
pub(crate) mod verdict;
pub(crate) mod waiting;
