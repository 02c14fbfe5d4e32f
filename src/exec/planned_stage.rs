//! Stages as values: their definition, how they run, what a running stage may use, and the record
//! that a run keeps of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::cancel::CancelFlag;
use super::event::{Event, Observer};
use crate::error::{Error, JobProblem, Result};

/// One step of a job: equal fields give equal files for any machine, thread count and batch size.
pub struct PlannedStage<'a> {
    /// Unique in the job, such as `train/model=logistic`.
    pub id: String,
    /// One of [`ExecSettings::kinds`], such as `train`.
    pub kind: &'static str,
    /// Fingerprint of the program that does the work, see [`program`].
    pub code: String,
    /// Ids of earlier stages whose files it reads.
    pub needs: Vec<String>,
    /// Its other inputs: name, and canonical text or content hash.
    ///
    /// Names are unique; values hold no absolute path, and neither thread count nor batch size.
    pub inputs: Vec<(String, String)>,
    /// Does the work: writes all results below [`StageContext::out`].
    pub run: Box<StageWork<'a>>,
}

/// The work of a stage.
pub type StageWork<'a> = dyn Fn(&StageContext<'_>) -> Result<()> + Sync + 'a;

/// How stages are run.
#[derive(Debug, Clone)]
pub struct ExecSettings<'a> {
    /// Name of the job; it becomes part of a file name in the store.
    pub job: &'a str,
    /// All kinds of stages, in order.
    pub kinds: &'a [&'a str],
    /// Runs up to the stages of this kind.
    ///
    /// Stages of later kinds, and stages that need them, are left out.
    pub until: Option<&'a str>,
    /// Runs stages of this kind, or the one with this id, or those that `takes` says, even if their
    /// results are there. What depends on them runs again only if their files changed.
    pub force: Option<&'a str>,
    /// Whether a text that is neither kind nor id names the stage of an id.
    pub takes: fn(&str, &str) -> bool,
    /// Kind of the stages whose files leave the store.
    pub published: Option<&'a str>,
    /// Kind of the stages that may run in parallel.
    pub parallel_kind: Option<&'a str>,
    /// Largest number of stages run in parallel, at least 1.
    pub max_parallel: usize,
}

/// The interface of a running stage. All methods may be called from several threads.
pub struct StageContext<'a> {
    stage: &'a str,
    out: &'a Path,
    needs: BTreeMap<&'a str, &'a Path>,
    observer: &'a dyn Observer,
    cancel: &'a CancelFlag,
    pub(super) started: Instant,
    pub(super) rows: AtomicU64,
    /// Number of rows to do; 0 while unknown.
    total: AtomicU64,
    /// Milliseconds after the start when the next progress event may be sent.
    next_report: AtomicU64,
}

impl<'a> StageContext<'a> {
    /// The interface of a stage that starts now, writes below `out` and reads the folders `needs`.
    pub(super) fn new(
        stage: &'a str,
        out: &'a Path,
        needs: BTreeMap<&'a str, &'a Path>,
        observer: &'a dyn Observer,
        cancel: &'a CancelFlag,
    ) -> Self {
        StageContext {
            stage,
            out,
            needs,
            observer,
            cancel,
            started: Instant::now(),
            rows: AtomicU64::new(0),
            total: AtomicU64::new(0),
            next_report: AtomicU64::new(0),
        }
    }

    /// The interface of work outside of a run, which writes nothing.
    pub(crate) fn outside(
        stage: &'a str,
        observer: &'a dyn Observer,
        cancel: &'a CancelFlag,
    ) -> Self {
        StageContext::new(stage, Path::new(""), BTreeMap::new(), observer, cancel)
    }
}

impl StageContext<'_> {
    /// The folder to write to: empty at the start, kept when the stage returns `Ok`, else removed.
    pub fn out(&self) -> &Path {
        self.out
    }

    /// The folder of a needed stage, to read from.
    ///
    /// # Panics
    ///
    /// If the stage does not list `id` among its needs: its key would not cover what it reads.
    pub fn need(&self, id: &str) -> &Path {
        match self.needs.get(id) {
            Some(folder) => folder,
            None => panic!("stage `{}` reads `{id}` without needing it", self.stage),
        }
    }

    /// Errs with [`Error::Interrupted`] after a signal; call it often, such as once per batch.
    pub fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Sets the number of rows to do; 0 means unknown.
    pub fn set_total(&self, rows: u64) {
        self.total.store(rows, Ordering::Relaxed);
    }

    /// Adds rows done since the last call from any thread.
    pub fn progress(&self, rows: u64) {
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed).saturating_add(rows);
        let ms = millis(self.started.elapsed());
        let due = self.next_report.load(Ordering::Relaxed);
        if ms >= due
            && self
                .next_report
                .compare_exchange(due, ms.saturating_add(100), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            let total = Some(self.total.load(Ordering::Relaxed)).filter(|total| *total > 0);
            self.observer.on(&Event::StageProgress {
                stage: self.stage.to_owned(),
                rows,
                total,
                ms,
            });
        }
    }

    /// Id of this stage, for events.
    pub fn stage(&self) -> &str {
        self.stage
    }

    /// Sends an event about a command or a problem to the observer.
    pub fn emit(&self, event: &Event) {
        self.observer.on(event);
    }
}

/// A stage and what [`run`] would do with it; serializes as `cfaudit plan --json` prints it.
#[derive(Debug, Clone, Serialize)]
pub struct StageStatus {
    /// Its id, such as `train/model=logistic`.
    pub id: String,
    /// Its kind, such as `train`.
    pub kind: &'static str,
    /// Its key in the store: 64 hex digits.
    pub key: String,
    /// Whether its result is in the store. It will still run if a stage that it depends on runs
    /// again with another result.
    pub cached: bool,
    /// Why it would run, in words; none where it would not.
    pub reason: Option<String>,
    /// The number of its rows; none if there is no result.
    pub rows: Option<u64>,
    /// The size of its files; none if there is no result.
    pub bytes: Option<u64>,
}

/// The record of one stage of a run; serializes for `run.json`.
#[derive(Debug, Clone, Serialize)]
pub struct StageRecord {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its key: 64 hex digits.
    pub key: String,
    /// Whether the result was in the store already.
    pub cached: bool,
    /// Why it ran, in words; `None` if it did not.
    pub reason: Option<String>,
    /// When it began, as RFC 3339 text in UTC.
    pub started: String,
    /// Milliseconds that it took in this run.
    pub ms: u64,
    /// Rows that the stage counted, now or when it ran.
    pub rows: u64,
    /// Size of its files.
    pub bytes: u64,
    /// The folder of its files, as long as the store is open.
    #[serde(skip)]
    pub folder: PathBuf,
}

pub(super) fn graph_problem(code: &'static str, what: String) -> JobProblem {
    JobProblem { code, path: String::new(), place: None, what, hint: None }
}

/// A fault of the program: stages that do not fit together.
pub(crate) fn internal_error(what: String) -> Error {
    Error::Job(vec![graph_problem("stage-graph", what)])
}

/// The error of a word on the command line that names no stage.
pub(super) fn unknown(flag: &str, what: &str, known: &[&str]) -> Error {
    let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    Error::command_line("unknown-stage", flag, what, format!("known are {}", known.join(", ")))
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
