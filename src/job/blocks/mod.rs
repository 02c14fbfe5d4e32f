//! The blocks of a job, one file each: what may be written in them, and its defaults.

pub mod clarify;
pub(crate) mod data;
pub mod experiments;
pub(crate) mod gates;
pub(crate) mod metrics;
pub mod words;
