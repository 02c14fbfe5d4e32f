//! Drawings of the page as inline SVG, and its colours.

pub(crate) mod chart;
pub(crate) mod graph;
pub(crate) mod pair_map;
pub(crate) mod palette;
pub(crate) mod panel;
pub(crate) mod plot;
pub(crate) mod reach;
pub(crate) mod score_track;
pub(crate) mod spec;
pub(crate) mod svg;
pub(crate) mod thresholds;
pub(crate) mod trend;
pub(crate) mod world;
