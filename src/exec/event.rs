//! The events of a run for its observers, a closed list, and their time format.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

/// An event of a run.
///
/// Serializes to a flat object of its fields, without its name: the JSON log has these fields next
/// to `ts`, `level`, `event` ([`Event::name`]), `job` and `run`.
///
/// [`super::run`] sends the stage events; the caller of a run sends `run.start`, `gate.verdict`,
/// `problem` and `run.end`; stages send `command.*` through [`super::StageContext::emit`]. A stage
/// that fails has no `stage.end`: a `problem` follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// `run.start`: the job is read and checked, stages are about to run.
    RunStart {
        /// Name of the job.
        job: String,
        /// Id of the run: the first hex digits of the hash of job and inputs.
        run: String,
        /// Number of stages of the job.
        total: u64,
    },
    /// `stage.cached`: the result of the stage is in the store.
    StageCached {
        /// Id of the stage.
        stage: String,
        /// Rows that the stage counted when it ran.
        rows: u64,
        /// Size of its result.
        bytes: u64,
    },
    /// `stage.start`: the stage runs.
    StageStart {
        /// Id of the stage.
        stage: String,
        /// Why it runs, in words.
        reason: String,
    },
    /// `stage.progress`: sent at most ten times a second.
    StageProgress {
        /// Id of the stage.
        stage: String,
        /// Rows done so far.
        rows: u64,
        /// Rows to do, if the stage knows the number.
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
        /// Milliseconds since the stage started.
        ms: u64,
    },
    /// `stage.end`: the stage is done and its result is stored.
    StageEnd {
        /// Id of the stage.
        stage: String,
        /// Rows processed, in all passes of the stage.
        rows: u64,
        /// Size of its result.
        bytes: u64,
        /// Milliseconds that it took.
        ms: u64,
    },
    /// `command.start`: a program of the user's starts.
    CommandStart {
        /// Id of the stage that starts it.
        stage: String,
        /// The program and its arguments.
        text: String,
    },
    /// `command.end`: that program ended, or has answered and waits for the next question.
    CommandEnd {
        /// Id of the stage that started it.
        stage: String,
        /// How it ended: `exit status 0`, `signal 9 (SIGKILL)`, `time limit`, or `killed` where the
        /// run or its own output ended it; `answered` where it goes on.
        code: String,
        /// Milliseconds that it took.
        ms: u64,
        /// The last lines that it wrote to its standard error, with values of passed variables
        /// blanked; empty if none.
        text: String,
    },
    /// `gate.verdict`: a gate was judged.
    GateVerdict {
        /// The verdict: `pass`, `fail`, `inconclusive`, `warn` or `skipped`.
        code: String,
        /// The gate's path in the job, such as `gates.four-fifths`.
        path: String,
        /// The gate's line in the job file, from 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// Question, value and limit in words.
        text: String,
    },
    /// `problem`: an error or a warning.
    Problem {
        /// Word of the closed list of error codes.
        code: String,
        /// The path in the job, or the file; empty if neither.
        path: String,
        /// Its line, from 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// The problem and what to do about it, in words.
        text: String,
    },
    /// `run.end`: the last event of a run.
    RunEnd {
        /// The exit status, as a number in text.
        code: String,
        /// Milliseconds that the run took.
        ms: u64,
        /// The verdict or the error, in words.
        text: String,
    },
}

/// Code of the [`Event::Problem`] that needs no action: rows behind a link, which count once.
pub const COUNTED_ONCE: &str = "counted-once";

/// Code of the [`Event::CommandEnd`] of a program that has answered and goes on.
pub(crate) const ANSWERED: &str = "answered";

/// The names of all events in logs.
pub const EVENT_NAMES: &[&str] = &[
    "run.start",
    "stage.cached",
    "stage.start",
    "stage.progress",
    "stage.end",
    "command.start",
    "command.end",
    "gate.verdict",
    "problem",
    "run.end",
];

impl Event {
    /// The dotted name, one of [`EVENT_NAMES`].
    pub fn name(&self) -> &'static str {
        match self {
            Event::RunStart { .. } => "run.start",
            Event::StageCached { .. } => "stage.cached",
            Event::StageStart { .. } => "stage.start",
            Event::StageProgress { .. } => "stage.progress",
            Event::StageEnd { .. } => "stage.end",
            Event::CommandStart { .. } => "command.start",
            Event::CommandEnd { .. } => "command.end",
            Event::GateVerdict { .. } => "gate.verdict",
            Event::Problem { .. } => "problem",
            Event::RunEnd { .. } => "run.end",
        }
    }
}

/// Observes a run: progress bars, log lines, a list in a test.
pub trait Observer: Sync {
    /// Called on the thread where the event happens; several threads may call at the same time.
    fn on(&self, event: &Event);
}

/// A time as RFC 3339 text in UTC with milliseconds, such as `2026-11-20T05:15:00.250Z`.
///
/// Times before 1970 become 1970.
pub fn utc_text(time: SystemTime) -> String {
    DateTime::<Utc>::from(time.max(UNIX_EPOCH)).to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{EVENT_NAMES, Event, utc_text};

    #[test]
    fn names_and_fields() {
        let event =
            Event::StageProgress { stage: "score/gbm".to_owned(), rows: 5, total: None, ms: 12 };
        assert!(EVENT_NAMES.contains(&event.name()));
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            r#"{"stage":"score/gbm","rows":5,"ms":12}"#
        );
    }

    #[test]
    fn times() {
        // `date -u -d @N --rfc-3339=seconds`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.250Z"),
            (951_782_399, "2000-02-28T23:59:59.250Z"),
            (951_782_400, "2000-02-29T00:00:00.250Z"),
            (1_709_251_199, "2024-02-29T23:59:59.250Z"),
            (1_735_689_599, "2024-12-31T23:59:59.250Z"),
            (4_107_542_400, "2100-03-01T00:00:00.250Z"),
        ] {
            assert_eq!(
                utc_text(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(250)),
                text
            );
        }
    }
}
