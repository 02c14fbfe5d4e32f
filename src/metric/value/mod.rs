//! From evidence to values: values of groups and counterfactuals, comparisons, and the groups that
//! are furthest apart.

pub(crate) mod amounts;
pub(crate) mod clarify;
pub(crate) mod classes;
pub(crate) mod compare;
pub(crate) mod curves;
mod disparity;
pub(crate) mod gaps;
pub(crate) mod group_reading;
pub(crate) mod group_subjects;
pub(crate) mod hidden_cause;
pub(crate) mod interval_choice;
pub(crate) mod largest;
pub(crate) mod measured;
pub(crate) mod measured_value;
pub(crate) mod paired_scores;
pub(crate) mod repeated_values;
pub(crate) mod sanity;
pub(crate) mod scope_people;
pub(crate) mod scores;
pub(crate) mod settings;
pub(crate) mod switches;
pub(crate) mod worlds;
mod worst;
