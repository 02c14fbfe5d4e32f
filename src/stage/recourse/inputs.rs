//! What the stage of recourse reads.

use crate::data::Attribute;
use crate::recourse::knobs::RecourseBlock;
use crate::stage::recourse::ask::RecourseModel;
use crate::stage::recourse::people::RecoursePeople;

/// What a run of the stage works with.
pub(crate) struct RecourseInputs<'a> {
    /// The attribute.
    pub attribute: &'a Attribute,
    /// The block of the job.
    pub recourse: &'a RecourseBlock,
    /// The audited people.
    pub people: &'a RecoursePeople,
    /// The model.
    pub model: &'a RecourseModel<'a>,
    /// The seed of the job.
    pub seed: u64,
}
