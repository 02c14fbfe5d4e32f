//! What follows from the clarify block of a job.

use crate::job::Job;
use crate::job::blocks::clarify::FlipTestBlock;
use crate::param::{ColumnName, Word};

impl Job {
    /// The column whose values are strata.
    pub fn strata(&self) -> Option<&ColumnName> {
        self.metrics.clarify.as_ref()?.strata.as_ref()
    }

    /// The class that the family clarify measures alone; none where it measures each.
    pub fn clarify_class(&self) -> Option<&Word> {
        self.metrics.clarify.as_ref()?.positive.as_ref()
    }

    /// The flip test, where it runs.
    pub fn flip_test(&self) -> Option<&FlipTestBlock> {
        self.metrics.clarify.as_ref()?.flip_test.as_ref()
    }
}
