//! What a column of the rows is: its profile, its codes for missing, and the role that its values
//! suggest.
//!
//! `new`, `check`, `data`, `plan` and `run` all use it, so they know the same. Values come as texts
//! and numbers; nothing here reads a file or knows a job.

pub(crate) mod codes;
pub mod declared;
pub(crate) mod leaks;
pub(crate) mod onehot;
pub mod profile;
pub(crate) mod roles;
