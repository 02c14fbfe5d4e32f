//! What the stage of recourse reads.

use crate::data::Attribute;
use crate::recourse::knobs::RecourseBlock;
use crate::stage::models::OpenModels;
use crate::stage::recourse::people::RecoursePeople;

/// What a run of the stage works with.
pub(crate) struct RecourseInputs<'a> {
    /// The attribute.
    pub attribute: &'a Attribute,
    /// The block of the job.
    pub recourse: &'a RecourseBlock,
    /// The audited people.
    pub people: &'a RecoursePeople,
    /// The models of all folds.
    pub models: &'a OpenModels<'a>,
    /// Whether scoring a row costs less than remembering it.
    pub linear: bool,
    /// The seed of the job.
    pub seed: u64,
}
