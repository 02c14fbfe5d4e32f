//! The range that decides a gate instead of the interval over people, in words.

use crate::report::read::panel::{OTHER_FITS, OTHER_GRAPHS, OTHER_TRAININGS};

/// A range over other fits, trainings or graphs, or over every doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecidingRange {
    /// What it is over.
    pub(crate) over: &'static str,
    /// The same next to numbers.
    pub(crate) short: &'static str,
    /// The same next to an interval over other people.
    pub(crate) other: &'static str,
}

impl DecidingRange {
    /// That of a gate by what decides it, the second part of its rule; none where people or the
    /// value decide.
    pub(crate) fn of(decides: &str) -> Option<Self> {
        let (over, other) = match decides {
            "worlds" => ("graphs and refits", OTHER_GRAPHS),
            "fit" => ("fits on rows drawn again", OTHER_FITS),
            "training" => ("trainings of the model", OTHER_TRAININGS),
            "all" => ("all doubts", "all doubts that were measured"),
            _ => return None,
        };
        Some(DecidingRange { over, short: short_of(other), other })
    }
}

/// What a range is over, next to its numbers.
pub(crate) fn short_of(other: &str) -> &'static str {
    match other {
        OTHER_GRAPHS => "graphs",
        OTHER_FITS => "fits",
        OTHER_TRAININGS => "trainings",
        _ => "all doubts",
    }
}
