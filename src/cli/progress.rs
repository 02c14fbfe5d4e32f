//! Shows events of a run: bars on a terminal, and the words of every log line.
//!
//! On a terminal each running stage has a bar with rows per second and, where the number of rows is
//! known, time left. Elsewhere a stage gives one line when it starts, one when it ends, and a
//! heartbeat every 30 seconds between.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::control_characters::on_one_line;
use crate::exec::event::{ANSWERED, COUNTED_ONCE, Event, Observer};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

const HEARTBEAT: Duration = Duration::from_secs(30);

/// Listens to a run.
pub(crate) struct RunConsole {
    bars: bool,
    colors: bool,
    bar: Mutex<Option<ProgressBar>>,
    last_line: Mutex<Instant>,
}

impl RunConsole {
    /// A listener; `bars` on a terminal only, `colors` where lines may be coloured.
    pub(crate) fn new(bars: bool, colors: bool) -> Self {
        RunConsole { bars, colors, bar: Mutex::new(None), last_line: Mutex::new(Instant::now()) }
    }

    fn with_bar<T>(&self, act: impl FnOnce(&mut Option<ProgressBar>) -> T) -> T {
        act(&mut self.bar.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self, stage: &str) {
        if !self.bars {
            return;
        }
        self.with_bar(|bar| {
            let new = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            new.set_style(spinner());
            new.set_message(on_one_line(stage));
            new.enable_steady_tick(Duration::from_millis(200));
            *bar = Some(new);
        });
    }

    fn advance(&self, stage: &str, rows: u64, total: Option<u64>) {
        self.with_bar(|bar| {
            // If stages run in parallel, the one that began last has the bar.
            if let Some(bar) = bar.as_ref().filter(|bar| bar.message() == on_one_line(stage)) {
                if let Some(total) = total
                    && bar.length() != Some(total)
                {
                    bar.set_length(total);
                    bar.set_style(full());
                }
                bar.set_position(rows);
            }
        });
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.with_bar(|bar| {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
        });
    }

    fn heartbeat_due(&self) -> bool {
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.elapsed() >= HEARTBEAT;
        if due {
            *last = Instant::now();
        }
        due
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}  {human_pos} rows  {per_sec}  {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn full() -> ProgressStyle {
    ProgressStyle::with_template(
        "{msg}  [{bar:30}] {human_pos}/{human_len} rows  {per_sec}  {eta} left",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl RunConsole {
    /// Writes one line: above the bars on a terminal, else plainly to stderr.
    pub(crate) fn line(&self, text: &str) {
        let write = || {
            let tint = match text {
                _ if !self.colors => "",
                t if t.contains("error") => "\u{1b}[31m",
                t if t.contains("warning") || t.contains(": fail") => "\u{1b}[33m",
                _ => "",
            };
            let plain = if tint.is_empty() { "" } else { "\u{1b}[0m" };
            // A closed stderr must not stop the run.
            let _ = writeln!(std::io::stderr().lock(), "{tint}{text}{plain}");
        };
        let bar = self.with_bar(|bar| bar.clone());
        match bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
        *self.last_line.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl Observer for RunConsole {
    fn on(&self, event: &Event) {
        let data = serde_json::to_string(event).unwrap_or_default();
        let name = event.name();
        let text = words(event);
        match event {
            Event::StageStart { stage, .. } => {
                tracing::info!(event = name, data, text);
                self.begin(stage);
            }
            Event::StageProgress { stage, rows, total, .. } => {
                self.advance(stage, *rows, *total);
                if !self.bars && self.heartbeat_due() {
                    tracing::info!(event = name, data, text);
                }
            }
            Event::StageEnd { .. } => {
                self.finish();
                tracing::info!(event = name, data, text);
            }
            Event::StageCached { .. } => tracing::debug!(event = name, data, text),
            Event::Problem { code, .. } if code == COUNTED_ONCE => {
                self.finish();
                tracing::info!(event = name, data, text);
            }
            // Regardless of its level: a verdict other than a pass is printed.
            Event::GateVerdict { code, .. }
                if ["fail", "inconclusive"].contains(&code.as_str()) =>
            {
                tracing::warn!(event = name, data, text)
            }
            Event::Problem { .. } => {
                self.finish();
                tracing::warn!(event = name, data, text);
            }
            _ => tracing::info!(event = name, data, text),
        }
    }
}

/// A whole number with commas between groups of three digits.
pub(crate) fn grouped(n: u64) -> String {
    HumanCount(n).to_string()
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

/// The event as a line for people.
fn words(event: &Event) -> String {
    match event {
        Event::RunStart { job, run, total } => format!("job {job}, run {run}: {total} stages"),
        Event::StageCached { stage, .. } => format!("{stage}: cached"),
        Event::StageStart { stage, reason } => format!("{stage}: runs, {reason}"),
        Event::StageProgress { stage, rows, total: Some(total), ms } => {
            format!(
                "{stage}: {} of {} rows after {}",
                grouped(*rows),
                grouped(*total),
                seconds(*ms)
            )
        }
        Event::StageProgress { stage, rows: 0, ms, .. } => {
            format!("{stage}: still running after {}", seconds(*ms))
        }
        Event::StageProgress { stage, rows, total: None, ms } => {
            format!("{stage}: {} rows after {}", grouped(*rows), seconds(*ms))
        }
        Event::StageEnd { stage, rows: 0, ms, .. } => format!("{stage}: done in {}", seconds(*ms)),
        Event::StageEnd { stage, rows, ms, .. } => {
            format!("{stage}: done in {}, {} rows in all passes", seconds(*ms), grouped(*rows))
        }
        Event::CommandStart { stage, text } => format!("{stage}: starts `{text}`"),
        Event::CommandEnd { stage, code, ms, text } => {
            let last: String = text.lines().map(|line| format!("\n  | {line}")).collect();
            let did = match code.as_str() {
                ANSWERED => "answered and goes on".to_owned(),
                code => format!("ended with {code}"),
            };
            format!("{stage}: the command {did} after {}{last}", seconds(*ms))
        }
        Event::GateVerdict { code, path, text, .. } => format!("{path}: {code}: {text}"),
        Event::Problem { text, .. } => text.clone(),
        Event::RunEnd { code, ms, text } => {
            format!("{text} (exit status {code}, {})", seconds(*ms))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, seconds};

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1000), grouped(48_842), grouped(12_345_678)],
            ["0", "999", "1,000", "48,842", "12,345,678"]
        );
        assert_eq!([seconds(0), seconds(950), seconds(61_240)], ["0.0 s", "0.9 s", "61.2 s"]);
    }
}
