//! The records of the metrics, one file for each family.

pub mod ccm;
pub mod cf_quality;
pub mod clarify;
pub mod eccm;
pub mod graph;
pub mod group;
pub mod performance;
pub mod place;
pub mod shift;
