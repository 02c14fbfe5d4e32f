//! The evidence that passes count from people: accumulators that merge.

pub(crate) mod additive;
pub(crate) mod ccm_cells;
pub(crate) mod chunk;
pub(crate) mod class_counts;
pub(crate) mod counting_unit;
pub(crate) mod counts;
pub(crate) mod direction_memory;
pub(crate) mod filled_cells;
pub(crate) mod flip_test;
pub(crate) mod group_counts;
pub(crate) mod jensen_shannon;
pub(crate) mod jensen_shannon_sums;
pub(crate) mod labelled_scores;
pub(crate) mod labels;
pub(crate) mod matrix;
pub(crate) mod paired_counts;
pub mod person;
pub(crate) mod person_sums;
pub(crate) mod score_bins;
pub(crate) mod score_grid;
mod share_cells;
pub(crate) mod shift;
pub(crate) mod shift_influence;
pub(crate) mod shift_pass;
pub(crate) mod strata;
pub(crate) mod units;
mod waiting_pairs;
