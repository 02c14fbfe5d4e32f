//! A counterfactual set applied to an attribute, and the texts that make a stage stale.

use crate::exec::StageContext;
use crate::exec::pieces::StageWatch;
use crate::job::CounterfactualSet;
use serde::Serialize;

/// One counterfactual set applied to one attribute.
#[derive(Debug, Clone)]
pub(crate) struct AppliedSet<'a> {
    pub(crate) set: &'a str,
    pub(crate) block: &'a CounterfactualSet,
    pub(crate) attribute: &'a str,
    pub(crate) position: usize,
    /// The experiment whose folds decide which rows are reference and which get counterfactuals;
    /// none: the split of the job.
    pub(crate) experiment: Option<&'a str>,
}

/// Hands work the eyes of its stage: whether it is to stop, and how far it is.
pub(crate) fn with_watch<T>(ctx: &StageContext<'_>, work: impl FnOnce(StageWatch<'_>) -> T) -> T {
    work(StageWatch { check: &|| ctx.check(), progress: &|rows| ctx.progress(rows) })
}

/// The canonical text of a part of the job, for fingerprints.
pub(crate) fn canonical_text(part: &impl Serialize) -> String {
    serde_json::to_string(part).unwrap_or_default()
}
