//! The range that decides a gate instead of the interval over people, in words.

use serde::Serialize;

/// A range over other fits, trainings or graphs, or over every doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct DecidingRange {
    /// The word of the rule of a gate: `worlds`, `fit`, `training`, `all`.
    pub(crate) decides: &'static str,
    /// What it is over.
    pub(crate) over: &'static str,
    /// The same next to numbers.
    pub(crate) short: &'static str,
    /// The same next to an interval over other people.
    pub(crate) other: &'static str,
}

impl DecidingRange {
    /// The range over graphs and refits of a graph-uncertain set.
    pub(crate) const GRAPHS: Self = DecidingRange {
        decides: "worlds",
        over: "graphs and refits",
        short: "graphs",
        other: "other graphs and refits",
    };

    /// The range of a set that was fitted again on rows drawn again.
    pub(crate) const FITS: Self = DecidingRange {
        decides: "fit",
        over: "fits on rows drawn again",
        short: "fits",
        other: "other rows to learn from",
    };

    /// The range of a model that was trained again.
    pub(crate) const TRAININGS: Self = DecidingRange {
        decides: "training",
        over: "trainings of the model",
        short: "trainings",
        other: "other trainings of the model",
    };

    /// The range over every doubt.
    const ALL: Self = DecidingRange {
        decides: "all",
        over: "all doubts",
        short: "all doubts",
        other: "all doubts that were measured",
    };

    /// The range by which a gate is decided, from the second part of its rule; none where people or
    /// the value decide.
    pub(crate) fn of(decides: &str) -> Option<Self> {
        let all = [Self::GRAPHS, Self::FITS, Self::TRAININGS, Self::ALL];
        all.into_iter().find(|range| range.decides == decides)
    }

    /// What is printed before the ends of such a range in the line of a gate, with a space; empty
    /// where people or the value decide.
    pub(crate) fn before_ends(decides: &str) -> String {
        match (decides, DecidingRange::of(decides)) {
            ("worlds", Some(range)) => format!("{} ", range.over),
            (_, Some(range)) => format!("{} ", range.short),
            (_, None) => String::new(),
        }
    }
}
