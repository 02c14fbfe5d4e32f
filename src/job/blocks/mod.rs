//! The blocks of a job, one file each: what may be written in them, and its defaults.

pub(crate) mod clarify;
pub(crate) mod data;
pub(crate) mod experiments;
pub(crate) mod gates;
pub(crate) mod metrics;
pub(crate) mod words;
