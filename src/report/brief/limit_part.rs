//! The facts of a limit: which question it asks, what its parts are called, and the side of it on
//! which a value must lie. `limit.html` says them.

use serde::Serialize;

use crate::report::brief::voice::{CalledAttribute, CalledGroup, CalledRate, CalledSet};
use crate::report::draw::plot::{PlotPoint, SwitchSide};
use crate::report::read::panel::ResultKey;

/// On which side of a limit a value must lie.
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

/// Which question a limit asks.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LimitQuestion {
    /// The change of a value from an earlier run: what it measures, with whether it is the gap of
    /// that, or the name of the metric.
    Change { measured: Option<(CalledRate, bool)>, name: String },
    /// Harm to a group.
    Harm { group: CalledGroup },
    /// A rate of a confusion matrix, or its gap between two groups.
    RateByLabel { scope: String, rate: CalledRate },
    /// The gap in the share of a decision, by whom a higher share harms.
    HigherShare { rate: CalledRate },
    /// Decisions that change.
    Switches,
    /// Harm on one class: whether it counts people who would enter the class.
    ClassSwitches { enters: bool },
    /// One side of switches.
    SideSwitches { side: SwitchSide },
    /// The ratio of two shares.
    Ratio,
    /// Whether graphs agree.
    GraphsAgree,
    /// Confirmed patterns.
    Patterns,
    /// Unfair subgroups.
    Subgroups,
    /// Any other metric by its name.
    Metric { name: String, worst_case: bool },
}

/// What a part of a limit is called.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum PartLabel {
    ByLabel { scope: String, rate: CalledRate },
    ClassSwitches { enters: bool },
    SideSwitches { side: SwitchSide },
    Otherwise,
    Decisions,
    Cases,
    Disagreement,
    Ratio,
    Subgroups,
    Patterns,
    Change,
    Difference { rate: Option<CalledRate> },
    Compared,
    Value,
}

/// How many people would decide a limit in 4 of 5 cases; numbers of two digits, rounded up.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LimitNeed {
    /// Persons, or people of weight above 0: rows do not compare with them.
    Persons { n: i64 },
    /// People below the value, and people to audit, who are more.
    Audited { n: i64, audited: i64 },
    /// People, in both groups together or of any kind.
    People { n: i64, both: bool },
    /// As many as there are, but others.
    AsManyAgain,
    /// More than anybody has.
    TooClose,
    /// So many more of those who may switch; of other values of those who count.
    More { n: i64, side: Option<SwitchSide>, from: CalledGroup },
}

/// Which of two groups has the higher rate; the sign of a gap does not say whom it harms.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupAhead {
    pub(super) rate: CalledRate,
    /// Whether it is the first; none where the data cannot tell.
    pub(super) first: Option<bool>,
}

/// A value that a gate judges.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LimitPart {
    /// Where it is in the tables.
    #[serde(skip)]
    pub(crate) key: ResultKey,
    /// The metric.
    #[serde(skip)]
    pub(crate) metric: String,
    pub(super) label: PartLabel,
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
    /// Of a limit on recourse, the subgroups that are unfair to either group.
    pub(crate) unfair: Option<(i64, i64)>,
    /// Cases below, where graphs differ in what is on top.
    pub(crate) whole: Option<i64>,
    /// What the value was before, as it is printed.
    pub(super) before: Option<String>,
    /// The value as it is drawn: of the plain audit with the interval of people, and that over
    /// graphs or fits where there is one.
    pub(super) point: Option<PlotPoint>,
    /// Whether it breaks the limit by what decides: its value alone, or its whole interval.
    pub(crate) breaks: bool,
    /// Whether a sentence about the limit gives its value: the part that decides, and of a broken
    /// limit on harm each that breaks it.
    pub(super) said: bool,
}
