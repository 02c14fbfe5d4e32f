//! Log lines: tracing events of a run as text for people or as JSON objects, to stderr, to a file,
//! and kept for `logs/run.jsonl`.
//!
//! Every event of a run becomes one tracing event with the fields `event` (its dotted name) and
//! `data` (its fields as JSON); the layers here turn that into lines. A warning of the library
//! outside of a run's events is a line of the event `problem`. JSON lines hold `ts, level, event,
//! job, run` and the event's own fields, flat.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::control_characters::on_one_line;
use crate::error::Result;
use crate::exec::event::utc_text;
use crate::exec::files;
use crate::stage::RunRecord;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::flags::{LogFlags, LogForm};
use crate::cli::owned_files::{self, OwnedFile};

/// What all lines of a run share, known once the job is read.
#[derive(Debug, Default)]
pub(crate) struct RunIdentity {
    /// Name of the job.
    pub(crate) job: String,
    /// Id of the run.
    pub(crate) run: String,
}

/// The lines kept for `logs/run.jsonl`, and the identity that lines carry.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogJournal {
    lines: Arc<Mutex<Vec<u8>>>,
    identity: Arc<Mutex<RunIdentity>>,
}

impl RunRecord for LogJournal {
    fn identify(&self, job: &str, run: &str) {
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        *identity = RunIdentity { job: job.to_owned(), run: run.to_owned() };
    }

    fn log_lines(&self) -> Vec<u8> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Takes one line.
type LineSink = Box<dyn Fn(&str) + Send + Sync>;

/// Sets up logging for the process; `line` takes the lines for people.
///
/// # Errors
/// The log file cannot be opened.
pub(crate) fn start(
    flags: &LogFlags,
    line: impl Fn(&str) + Send + Sync + 'static,
    journal: &LogJournal,
    on_terminal: bool,
) -> Result<()> {
    let level = if flags.quiet {
        Level::WARN
    } else if flags.verbose {
        Level::DEBUG
    } else {
        Level::INFO
    };
    let layer = |level, form, times, sink: LineSink| {
        let journal = journal.clone();
        LineLayer { level, form, times, sink, journal }
    };
    let console = layer(level, flags.log, !on_terminal, Box::new(line));
    let lines = Arc::clone(&journal.lines);
    let keep = move |line: &str| {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.extend_from_slice(line.as_bytes());
        lines.push(b'\n');
    };
    let kept = layer(Level::DEBUG, LogForm::Json, true, Box::new(keep));
    let open = |path: &Path| {
        owned_files::check(path, OwnedFile::Log, &[])?;
        files::append(path)
    };
    let file = flags.log_file.as_deref().map(open).transpose()?.map(Mutex::new);
    let file = file.map(|file| {
        // A full disk must not stop the logged run; the run itself reports it when it writes.
        let write = move |line: &str| {
            let _ = writeln!(file.lock().unwrap_or_else(PoisonError::into_inner), "{line}");
        };
        layer(Level::DEBUG, LogForm::Json, true, Box::new(write))
    });
    // A second call finds the first one's subscriber; it happens in no run.
    let _ = Registry::default().with(console).with(kept).with(file).try_init();
    Ok(())
}

/// The event of a judged gate.
const GATE_EVENT: &str = "gate.verdict";

/// The event of a line that is none of a run's.
const PROBLEM_EVENT: &str = "problem";

struct LineLayer {
    level: Level,
    form: LogForm,
    times: bool,
    sink: LineSink,
    journal: LogJournal,
}

#[derive(Default)]
struct LogFields {
    event: String,
    text: String,
    data: Map<String, Value>,
}

impl Visit for LogFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "event" => value.clone_into(&mut self.event),
            // What `tracing::warn!("...")` says has the second name.
            "text" | "message" => value.clone_into(&mut self.text),
            "data" => {
                if let Ok(Value::Object(map)) = serde_json::from_str(value) {
                    self.data = map;
                }
            }
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

impl<S: Subscriber> Layer<S> for LineLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if !metadata.target().starts_with("cfaudit") || *metadata.level() > self.level {
            return;
        }
        let mut fields = LogFields::default();
        event.record(&mut fields);
        if fields.event.is_empty() {
            PROBLEM_EVENT.clone_into(&mut fields.event);
        }
        let line = match self.form {
            LogForm::Text => self.text_line(*metadata.level(), &fields),
            LogForm::Json => self.json_line(*metadata.level(), fields),
        };
        (self.sink)(&line);
    }
}

impl LineLayer {
    fn text_line(&self, level: Level, fields: &LogFields) -> String {
        let mut line = String::new();
        if self.times {
            line.push_str(&utc_text(SystemTime::now()));
            line.push(' ');
        }
        // The text of a verdict already says what it is.
        if level <= Level::WARN
            && fields.event != GATE_EVENT
            && !fields.text.starts_with("error")
            && !fields.text.starts_with("warning")
        {
            line.push_str(if level == Level::ERROR { "error: " } else { "warning: " });
        }
        // What belongs to a line is indented below it, so that every line that is not begins with
        // its own time.
        for (i, part) in fields.text.split('\n').enumerate() {
            if i > 0 {
                line.push_str(if part.starts_with(' ') { "\n" } else { "\n  " });
            }
            // Names of the data are in it: a terminal is to show them, not to obey them.
            line.push_str(&on_one_line(part));
        }
        line
    }

    fn json_line(&self, level: Level, fields: LogFields) -> String {
        let mut line = Map::new();
        line.insert("ts".into(), utc_text(SystemTime::now()).into());
        line.insert("level".into(), level.as_str().to_ascii_lowercase().into());
        line.insert("event".into(), fields.event.into());
        {
            let identity = self.journal.identity.lock().unwrap_or_else(PoisonError::into_inner);
            line.insert("job".into(), identity.job.clone().into());
            line.insert("run".into(), identity.run.clone().into());
        }
        line.extend(fields.data);
        line.insert("text".into(), fields.text.into());
        Value::Object(line).to_string()
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::progress::RunConsole;
    use crate::exec::event::{EVENT_NAMES, Event as RunEvent, Observer};

    use super::*;

    /// The lines of a quiet log.
    fn quiet_lines(form: LogForm, log: impl FnOnce()) -> Vec<String> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&kept);
        let sink = Box::new(move |line: &str| lines.lock().unwrap().push(line.to_owned()));
        let layer = LineLayer {
            level: Level::WARN,
            form,
            times: false,
            sink,
            journal: LogJournal::default(),
        };
        tracing::subscriber::with_default(Registry::default().with(layer), log);
        std::mem::take(&mut *kept.lock().unwrap())
    }

    #[test]
    fn a_quiet_log_tells_of_gates_that_do_not_hold() {
        let console = RunConsole::new(false, false);
        let judged = |code: &str| RunEvent::GateVerdict {
            code: code.to_owned(),
            path: format!("gates.{code}"),
            line: None,
            text: "words; level warn".to_owned(),
        };
        let all = ["pass", "fail", "inconclusive", "skipped"];
        let log = || all.iter().for_each(|code| console.on(&judged(code)));
        assert_eq!(
            quiet_lines(LogForm::Text, log),
            [
                "gates.fail: fail: words; level warn",
                "gates.inconclusive: inconclusive: words; level warn"
            ]
        );
        let lines = quiet_lines(LogForm::Json, log);
        let levels = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let levels: Vec<Value> = levels.map(|line| line["level"].clone()).collect();
        assert_eq!(levels, ["warn", "warn"]);
        assert!(EVENT_NAMES.contains(&GATE_EVENT) && judged("fail").name() == GATE_EVENT);
    }

    #[test]
    fn what_the_library_warns_of_is_a_line() {
        let lines = |form: LogForm| {
            quiet_lines(form, || {
                let error = "cannot remove `a`\n  hint: remove it";
                tracing::warn!("{error}");
                tracing::info!("too little to be told");
            })
        };
        assert_eq!(lines(LogForm::Text), ["warning: cannot remove `a`\n  hint: remove it"]);
        let [line] = &lines(LogForm::Json)[..] else { panic!("one line") };
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["event"], &line["level"]), (&PROBLEM_EVENT.into(), &"warn".into()));
        assert_eq!(line["text"], "cannot remove `a`\n  hint: remove it");
        assert!(EVENT_NAMES.contains(&PROBLEM_EVENT));
    }
}
