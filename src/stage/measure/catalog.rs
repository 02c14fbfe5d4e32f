//! The families that a job measures.

use crate::job;
use crate::job::check::CheckedJob;
use crate::metric::MetricFamily;

/// The families that a job measures for its models; metrics of graphs have separate tables.
pub fn families(checked: &CheckedJob) -> Vec<MetricFamily> {
    let wanted = job::check::defaults::families(&checked.job);
    MetricFamily::OF_CATALOG
        .into_iter()
        .filter(|family| *family != MetricFamily::Graph && wanted.contains(family))
        .collect()
}
