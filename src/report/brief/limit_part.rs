//! The facts of a limit: its values, and the side on which they must be. The sentences are in
//! `limit.html`.

use minijinja::value::Value;
use serde::Serialize;

use crate::report::brief::voice::{CalledAttribute, CalledGroup, CalledSet};
use crate::report::draw::plot::PlotPoint;
use crate::report::read::judged::JudgedValue;

/// The side of a limit on which a value must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LimitPart {
    /// Where it is in the tables.
    #[serde(skip)]
    pub(crate) judged: JudgedValue,
    /// Its kind; of the deciding value the question that the limit asks.
    pub(super) subject: Value,
    pub(super) set: CalledSet,
    pub(super) attribute: CalledAttribute,
    pub(super) from: CalledGroup,
    pub(super) to: CalledGroup,
    /// The value; none where undefined.
    pub(crate) value: Option<f64>,
    /// The same as it is printed; empty where undefined.
    pub(crate) shown: String,
    /// The interval that judges.
    pub(crate) interval: Option<(f64, f64)>,
    /// The same as it is printed; empty where there is none.
    pub(super) ends: String,
    /// Cases on top and below.
    pub(crate) counts: Option<(i64, i64)>,
    /// For a limit on recourse, the subgroups that are unfair to either group.
    pub(crate) unfair: Option<(i64, i64)>,
    /// Cases in the denominator, where graphs differ in the numerator.
    pub(crate) whole: Option<i64>,
    /// What the value was before, as it is printed.
    pub(super) before: Option<String>,
    /// The value as it is drawn: of the plain audit with the interval of people, and that over
    /// graphs or fits where there is one.
    pub(super) point: Option<PlotPoint>,
    /// Whether it breaks the limit by what decides: only its value, or its whole interval.
    pub(crate) breaks: bool,
    /// Whether a sentence about the limit gives its value: the part that decides, and of a broken
    /// limit on harm each that breaks it.
    pub(super) said: bool,
}
