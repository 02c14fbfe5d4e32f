//! Runs stages in order of their needs and notifies observers; does not know about fairness.
//!
//! - A [`PlannedStage`] is a value: an id, its needs, its other inputs, and a function that writes
//!   files into a folder.
//! - Its key is a hash of all these ([`fingerprint`]). If the [`result_store::ResultStore`] holds
//!   the key, the stage is not run.
//! - Stages run one after the other, in the order given; each may use all threads. Successive
//!   stages of one kind ([`ExecSettings::parallel_kind`]) that do not need each other run in
//!   parallel. [`plan`] returns what [`run`] would do and why.
//! - A stage that fails or is interrupted leaves nothing; the results of earlier stages stay in the
//!   store, so the next run continues there.
//! - A stage may start a program of the user's: [`child::run`] writes its input, reads its output
//!   and ends it.
//! - [`folder::OutputFolder`] is the last step of a run, outside the stages: it publishes the
//!   finished files.
//!
//! The clock is read here and in higher layers only. What a stage computes, and from which
//! settings, is the caller's concern.

pub mod accumulator;
pub(crate) mod buckets;
pub(crate) mod cache_folder;
pub mod cancel;
pub(crate) mod child;
pub mod clean;
pub mod event;
pub(crate) mod files;
pub(crate) mod fingerprint;
pub(crate) mod folder;
pub(crate) mod hash;
mod lock;
pub(crate) mod object;
pub mod pieces;
mod planned_stage;
pub(crate) mod replaced_file;
pub(crate) mod result_store;
mod run;
pub(crate) mod shared_folder;
pub mod source_fingerprint;
mod staleness;

pub(crate) use self::planned_stage::internal_error;
pub use self::planned_stage::{
    ExecSettings, PlannedStage, StageContext, StageRecord, StageStatus, StageWork,
};
pub use self::run::{plan, run};
pub(crate) use self::staleness::check_until;

#[cfg(test)]
pub(crate) mod tests;
