//! The records of the metrics, one file for each family.
//!
//! A list is written with `records!`: each record gives its id, symbol, name and formula, its own
//! fields, and the name of a base record for all other fields.

use crate::metric::Metric;

/// The records of a family.
macro_rules! records {
    ($($id:expr, $symbol:expr $(, $field:ident: $value:expr)*,
        ..$common:expr;)*) => {
        &[$(crate::metric::Metric {
            id: $id, symbol: $symbol, $($field: $value,)*
            ..$common
        }),*]
    };
}

/// Places in lists of the page.
macro_rules! at {
    ($($list:ident $place:literal),*) => {
        &[$(crate::metric::catalog::place::PagePlace::At(
            crate::metric::catalog::place::PageList::$list, $place
        )),*]
    };
}

/// Functions that give rates of cells: the cases, out of which, and why there is no value where
/// these are none.
macro_rules! rates {
    ($cells:ident $rate:ident { $($(#[$doc:meta])* $name:ident($c:ident): $cases:expr, $all:expr,
        $empty:ident;)* }) => {
        $($(#[$doc])* pub(crate) fn $name($c: &$cells) -> crate::metric::rate::Rate {
            $c.$rate($cases, $all, crate::metric::rate::Undefined::$empty)
        })*
    };
}

pub(crate) mod amounts;
pub(crate) mod ccm;
pub(crate) mod cf_quality;
pub(crate) mod clarify;
pub(crate) mod eccm;
pub(crate) mod graph;
pub(crate) mod group_gaps;
pub(crate) mod page_lists;
pub(crate) mod performance;
pub(crate) mod place;
pub(crate) mod scores;
pub(crate) mod shift;
pub mod texts;

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
