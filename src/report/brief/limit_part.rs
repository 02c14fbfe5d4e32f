//! A value that a gate judges, and the side of its limit on which it must lie.

use crate::report::read::panel::{KeyedRow, ResultKey};
use crate::table::GateRow;

/// On which side of a limit a value must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitBound {
    /// Not above it.
    AtMost,
    /// Not below it.
    AtLeast,
    /// It must not have risen by more.
    RiseAtMost,
    /// It must not have fallen by more.
    FallAtMost,
}

/// A value that a gate judges.
#[derive(Debug, Clone)]
pub(crate) struct LimitPart {
    /// Where it is in the tables.
    pub(crate) key: ResultKey,
    /// The metric.
    pub(crate) metric: String,
    /// The value; none where undefined.
    pub(crate) value: Option<f64>,
    /// The interval that judges.
    pub(crate) interval: Option<(f64, f64)>,
    /// Cases on top and below.
    pub(crate) counts: Option<(i64, i64)>,
    /// Of a limit on recourse, the subgroups that are unfair to either group.
    pub(crate) unfair: Option<(i64, i64)>,
    /// Cases below, where graphs differ in what is on top.
    pub(crate) whole: Option<i64>,
    /// What the value was before.
    pub(crate) before: Option<f64>,
}

impl LimitPart {
    /// The value of a row.
    pub(super) fn of(row: &GateRow) -> Self {
        LimitPart {
            key: row.key(),
            metric: row.metric.as_str().to_owned(),
            value: row.value.filter(|value| value.is_finite()),
            interval: row.lo.zip(row.hi),
            counts: row.numerator.zip(row.denominator),
            unfair: row.unfair_to_from.zip(row.unfair_to_to),
            whole: row.denominator,
            before: row.baseline_value,
        }
    }
}
