//! The tables of an output folder as the sections of the page read them.

pub(crate) mod audit;
pub(crate) mod classes;
pub(crate) mod graphs;
pub(crate) mod grouped;
pub(crate) mod judged;
pub(crate) mod panel;
pub(crate) mod quality;
pub(crate) mod recourse;
pub(crate) mod score_tables;
pub(crate) mod tally;
pub(crate) mod words;
