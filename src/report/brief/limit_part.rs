//! The facts of a limit: the kind of its values, on which its question and their labels depend, and
//! the side on which a value must be. The sentences are in `limit.html`.

use serde::Serialize;

use crate::report::brief::voice::{CalledAttribute, CalledGroup, CalledRate, CalledSet};
use crate::report::draw::plot::{PlotPoint, SwitchSide};
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

/// The kind of a value of a limit; for the deciding value, the question that the limit asks.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LimitSubject {
    /// A rate of a confusion matrix, or its gap between two groups.
    ByLabel { scope: String, rate: CalledRate },
    /// Harm on one class: whether it counts people who would enter the class.
    ClassSwitches { enters: bool },
    /// One side of switches.
    SideSwitches { side: SwitchSide },
    /// Decisions that change.
    Switches,
    /// The ratio of two shares.
    Ratio,
    /// How far graphs disagree, everywhere or below the attribute.
    Disagreement { below_attribute: bool },
    /// Confirmed patterns.
    Patterns,
    /// Unfair subgroups.
    Subgroups,
    /// The value of a group minus that of another; of shares of a decision, whom a higher share
    /// harms.
    Difference { rate: Option<CalledRate> },
    /// Another comparison of two groups.
    Compared,
    /// Any other value.
    Value,
}

/// How many people would decide a limit in 4 of 5 cases; numbers of two digits, rounded up.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LimitNeed {
    /// Persons, or people with a weight above 0: rows and counterfactuals are not comparable with
    /// them.
    Persons { n: i64 },
    /// People below the value, and people to audit, who are more.
    Audited { n: i64, audited: i64 },
    /// People, in both groups together or of any kind.
    People { n: i64, both: bool },
    /// The same number of other people.
    AsManyAgain,
    /// More than anybody has.
    TooClose,
    /// This many more of those who may switch; for other values, of those who count.
    More { n: i64, side: Option<SwitchSide>, from: CalledGroup },
}

/// Which of two groups has the higher rate; the sign of a gap does not say whom it harms.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupAhead {
    pub(super) rate: CalledRate,
    /// Whether it is the first; none where the data do not determine it.
    pub(super) first: Option<bool>,
}

/// A value that a gate judges.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LimitPart {
    /// Where it is in the tables.
    #[serde(skip)]
    pub(crate) judged: JudgedValue,
    pub(super) subject: LimitSubject,
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
