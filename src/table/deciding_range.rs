//! The range that decides a gate instead of the interval over people, in words.

/// What the interval next to that of people is over, in a graph-uncertain set.
pub(crate) const OTHER_GRAPHS: &str = "other graphs and refits";

/// The same in a set that was fitted again on rows drawn again.
pub(crate) const OTHER_FITS: &str = "other rows to learn from";

/// The same where neither is, of a model that was trained again.
pub(crate) const OTHER_TRAININGS: &str = "other trainings of the model";

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

    /// What stands before the ends of such a range in the line of a gate, with its space; empty
    /// where people or the value decide.
    pub(crate) fn before_ends(decides: &str) -> String {
        match (decides, DecidingRange::of(decides)) {
            ("worlds", Some(range)) => format!("{} ", range.over),
            (_, Some(range)) => format!("{} ", range.short),
            (_, None) => String::new(),
        }
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
