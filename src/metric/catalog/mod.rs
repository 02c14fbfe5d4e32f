//! The records of the metrics, one file for each family.

use crate::metric::Metric;

pub(crate) mod amounts;
pub(crate) mod ccm;
pub(crate) mod cf_quality;
pub(crate) mod clarify;
pub(crate) mod eccm;
pub(crate) mod graph;
pub(crate) mod group_gaps;
pub mod meaning;
pub(crate) mod page_lists;
pub(crate) mod performance;
pub(crate) mod place;
pub(crate) mod scores;
pub(crate) mod shift;

/// All metrics, family by family.
pub fn catalog() -> impl Iterator<Item = &'static Metric> {
    performance::METRICS
        .iter()
        .chain(group_gaps::METRICS.iter())
        .chain(ccm::METRICS)
        .chain(eccm::METRICS)
        .chain(shift::METRICS)
        .chain(clarify::METRICS)
        .chain(scores::METRICS)
        .chain(amounts::METRICS)
        .chain(graph::METRICS)
}

/// The metric of an id.
pub fn find(id: &str) -> Option<&'static Metric> {
    catalog().find(|metric| metric.id == id)
}

/// The id closest to a word that is none, for a hint; none where nothing is close. The case of
/// letters does not count.
pub fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let (distance, id) =
        catalog().map(|metric| (strsim::levenshtein(&word, metric.id), metric.id)).min()?;
    (distance <= (word.chars().count() / 3).max(1)).then_some(id)
}
