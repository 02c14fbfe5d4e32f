//! Drawings of the page as inline SVG, and its colours.

pub(crate) mod chart;
pub(crate) mod palette;
pub(crate) mod shapes;
