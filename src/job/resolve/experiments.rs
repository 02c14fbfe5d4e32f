//! What follows from the experiments of a job.

use crate::job::{CounterfactualSet, Job};
use crate::param::ColumnName;

impl CounterfactualSet {
    /// The attributes that it changes, in the job's order.
    pub fn attributes<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = &'a ColumnName> {
        job.data.sensitive.keys().filter(|name| self.changes(name))
    }
}
