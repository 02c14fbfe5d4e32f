//! A counterfactual set applied to an attribute, and the texts that make a stage stale.

use crate::error::Result;
use crate::exec::pieces::StageWatch;
use crate::exec::{StageContext, internal_error};
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

/// Gives work access to its stage: whether to stop, and the report of progress.
pub(crate) fn with_watch<T>(ctx: &StageContext<'_>, work: impl FnOnce(StageWatch<'_>) -> T) -> T {
    work(StageWatch { check: &|| ctx.check(), progress: &|rows| ctx.progress(rows) })
}

/// The text of a part of the job, or of what is made of it, in the key of a result.
///
/// # Errors
/// A value that cannot be written: an empty text would let two different values share a key.
pub(crate) fn key_text(part: &impl Serialize) -> Result<String> {
    let unwritable =
        |e: serde_json::Error| internal_error(format!("a part of a key cannot be written: {e}"));
    serde_json::to_string(part).map_err(unwritable)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::key_text;

    #[test]
    fn a_value_that_cannot_be_written_is_an_error_and_no_empty_key() {
        assert_eq!(key_text(&("a", 1)).unwrap(), "[\"a\",1]");
        // A key of a map must be a text.
        let unwritable = BTreeMap::from([(vec![1], 2)]);
        assert!(key_text(&unwritable).is_err());
    }
}
