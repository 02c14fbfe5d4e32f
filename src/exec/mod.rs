//! Runs stages in order of their needs and notifies observers; does not know about fairness.
//!
//! - A [`PlannedStage`] is a value: an id, its needs, its other inputs, and a function that writes
//!   files into a folder.
//! - Its key is a hash of all these ([`fingerprint`]). If the [`store::ResultStore`] holds the key,
//!   the stage is not run.
//! - Stages run one after the other, in the order given; each may use all threads. Successive
//!   stages of one kind ([`ExecSettings::parallel_kind`]) that do not need each other run in
//!   parallel. [`plan`] returns what [`run`] would do and why.
//! - A stage that fails or is interrupted leaves nothing; the results of earlier stages stay in the
//!   store, so the next run continues there.
//! - A stage may start a program of the user's: [`child::run`] writes its input, reads its output
//!   and ends it.
//! - [`folder::OutputFolder`] is the last step of a run, outside the stages: it publishes the
//!   finished files.
//!
//! The clock is read here and in higher layers only. What a stage computes, and from which
//! settings, is the caller's concern.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use self::cancel::CancelFlag;
use self::event::{Event, Observer, utc_text};
use self::fingerprint::StaleReason;
use self::staleness::{ChosenStage, find, steps};
use self::store::{PresentEntry, ResultStore, StoreEntry, StoreLookup, StoreView};
use serde::Serialize;

use crate::error::{Error, FilePlace, JobProblem, Result};

pub(crate) mod accumulator;
pub mod cancel;
pub(crate) mod child;
pub mod clean;
pub mod event;
pub(crate) mod files;
pub(crate) mod fingerprint;
pub(crate) mod folder;
pub(crate) mod hash;
mod lock;
pub(crate) mod pieces;
pub mod program;
mod staleness;
pub(crate) mod store;

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

impl fmt::Debug for PlannedStage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("id", &self.id)
            .field("needs", &self.needs)
            .field("inputs", &self.inputs)
            .finish_non_exhaustive()
    }
}

/// How stages are run.
#[derive(Debug, Clone)]
pub struct ExecSettings<'a> {
    /// Name of the job; it becomes part of a file name in the store.
    pub job: &'a str,
    /// All kinds of stages, in order.
    pub kinds: &'a [&'a str],
    /// Runs up to the stages of this kind.
    ///
    /// Stages of later kinds, and those that need them, are left out.
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
    started: Instant,
    rows: AtomicU64,
    /// Number of rows to do; 0 while unknown.
    total: AtomicU64,
    /// Milliseconds after the start when the next progress event may be sent.
    next_report: AtomicU64,
}

/// A stage and what [`run`] would do with it.
#[derive(Debug, Clone)]
pub struct StageStatus {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its key: 64 hex digits.
    pub key: String,
    /// Whether it would run.
    pub state: ResultState,
}

/// Whether the result of a stage is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultState {
    /// The result is there. The stage still runs if a needed stage gives other files.
    Cached {
        /// Rows that the stage counted.
        rows: u64,
        /// Size of its files.
        bytes: u64,
    },
    /// It would run, for this reason.
    Stale(StaleReason),
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

impl<'a> StageContext<'a> {
    /// The interface of work outside of a run, which writes nothing.
    pub(crate) fn outside(
        stage: &'a str,
        observer: &'a dyn Observer,
        cancel: &'a CancelFlag,
    ) -> Self {
        StageContext {
            stage,
            out: Path::new(""),
            needs: BTreeMap::new(),
            observer,
            cancel,
            started: Instant::now(),
            rows: AtomicU64::new(0),
            total: AtomicU64::new(0),
            next_report: AtomicU64::new(0),
        }
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

/// For each stage whether it would run, and why. Runs and changes nothing.
///
/// Errs with [`Error::Job`] if `until` or `force` name nothing known, or the stages are
/// inconsistent.
pub fn plan(
    stages: &[PlannedStage<'_>],
    store: &StoreView,
    options: &ExecSettings<'_>,
) -> Result<Vec<StageStatus>> {
    let memory = store.memory(options.job)?;
    let mut entries = BTreeMap::new();
    let mut planned = Vec::new();
    let steps = steps(stages, options)?;
    let damaged = damaged(&steps, store, options, &mut || Ok(()))?;
    for step in steps {
        let state = match find(&step, store, &memory, &entries, &damaged)? {
            Ok(entry) => {
                let state = ResultState::Cached { rows: entry.rows(), bytes: entry.bytes() };
                entries.insert(step.stage.id.as_str(), entry);
                state
            }
            Err(reason) => ResultState::Stale(reason),
        };
        planned.push(StageStatus {
            id: step.stage.id.clone(),
            kind: step.stage.kind,
            key: step.key,
            state,
        });
    }
    Ok(planned)
}

/// Runs all stages without a result, in order, and returns the record of each.
///
/// Errs as [`plan`] does, with the error of the first stage that fails, and with
/// [`Error::Interrupted`] once `cancel` is raised. The observer gets the stage events only; the
/// caller sends those of the run as a whole.
pub fn run(
    stages: &[PlannedStage<'_>],
    store: &ResultStore,
    options: &ExecSettings<'_>,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<Vec<StageRecord>> {
    let (mut memory, there) = (store.memory(options.job)?, store.view());
    let mut entries = BTreeMap::new();
    let mut records = Vec::new();
    let steps = steps(stages, options)?;
    store.make_marks(options.job)?;
    let damaged = damaged(&steps, &there, options, &mut || cancel.check())?;
    let mut rest = steps.as_slice();
    while !rest.is_empty() {
        let (wave, later) = rest.split_at(parallel_steps(rest, options));
        rest = later;
        let one = |step: &ChosenStage<'_, '_>| {
            cancel.check()?;
            let (started, clock) = (SystemTime::now(), Instant::now());
            let (entry, reason) = match find(step, &there, &memory, &entries, &damaged)? {
                Ok(entry) => {
                    observer.on(&Event::StageCached {
                        stage: step.stage.id.clone(),
                        rows: entry.rows(),
                        bytes: entry.bytes(),
                    });
                    (entry, None)
                }
                Err(reason) => {
                    (run_stage(step, store, &entries, &reason, observer, cancel)?, Some(reason))
                }
            };
            let record = StageRecord {
                id: step.stage.id.clone(),
                kind: step.stage.kind,
                key: step.key.clone(),
                cached: reason.is_none(),
                reason: reason.map(|reason| reason.to_string()),
                started: utc_text(started),
                ms: millis(clock.elapsed()),
                rows: entry.rows(),
                bytes: entry.bytes(),
                folder: entry.folder.clone(),
            };
            Ok((entry, record))
        };
        let done = run_parallel(wave, options.max_parallel, &one);
        for (step, done) in wave.iter().zip(done) {
            let (entry, record) = done?;
            records.push(record);
            store.mark_used(options.job, &step.key)?;
            entries.insert(step.stage.id.as_str(), entry);
            if memory.0.get(&step.stage.id) != Some(&step.fingerprint) {
                memory.0.insert(step.stage.id.clone(), step.fingerprint.clone());
                store.remember(options.job, &memory)?;
            }
        }
    }
    Ok(records)
}

/// Number of the next stages that may run in parallel.
///
/// They are of the parallel kind, up to the first that needs one of them.
fn parallel_steps(steps: &[ChosenStage<'_, '_>], options: &ExecSettings<'_>) -> usize {
    let may = |step: &ChosenStage<'_, '_>| {
        options.max_parallel > 1 && options.parallel_kind == Some(step.stage.kind)
    };
    let free = |(n, step): &(usize, &ChosenStage<'_, '_>)| {
        may(step) && steps[..*n].iter().all(|earlier| !step.stage.needs.contains(&earlier.stage.id))
    };
    steps.iter().enumerate().take_while(free).count().max(1)
}

/// Runs `work` on each step in parallel; the results in order, up to and with the first error.
///
/// Of several errors it is the first in order.
fn run_parallel<'s, 'a, T: Send>(
    steps: &[ChosenStage<'s, 'a>],
    at_once: usize,
    one: &(dyn Fn(&ChosenStage<'s, 'a>) -> Result<T> + Sync),
) -> Vec<Result<T>> {
    if steps.len() == 1 {
        return steps.iter().map(one).collect();
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Vec<Mutex<Option<Result<T>>>> = steps.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(steps.len()) {
            scope.spawn(|| {
                // Steps start in order, so those before a failed one are done or running.
                while !failed.load(Ordering::SeqCst) {
                    let Some(k) =
                        Some(next.fetch_add(1, Ordering::SeqCst)).filter(|k| *k < steps.len())
                    else {
                        break;
                    };
                    let result = one(&steps[k]);
                    failed.fetch_or(result.is_err(), Ordering::SeqCst);
                    *done[k].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let mut results = Vec::new();
    for result in
        done.into_iter().map_while(|done| done.into_inner().unwrap_or_else(PoisonError::into_inner))
    {
        let failed = result.is_err();
        results.push(result);
        if failed {
            break;
        }
    }
    results
}

/// Runs one stage and stores its result.
fn run_stage(
    step: &ChosenStage<'_, '_>,
    store: &ResultStore,
    entries: &BTreeMap<&str, StoreEntry>,
    reason: &StaleReason,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<StoreEntry> {
    let stage = step.stage;
    observer.on(&Event::StageStart { stage: stage.id.clone(), reason: reason.to_string() });
    let draft = store.draft()?;
    // In the order of the fingerprint, which lists each need once.
    let needs: Vec<(&str, &StoreEntry)> = step
        .fingerprint
        .needs
        .keys()
        .filter_map(|id| entries.get_key_value(id.as_str()))
        .map(|(id, entry)| (*id, entry))
        .collect();
    let context = StageContext {
        stage: &stage.id,
        out: draft.path(),
        needs: needs.iter().map(|(id, entry)| (*id, entry.folder.as_path())).collect(),
        observer,
        cancel,
        started: Instant::now(),
        rows: AtomicU64::new(0),
        total: AtomicU64::new(0),
        next_report: AtomicU64::new(0),
    };
    (stage.run)(&context)?;
    cancel.check()?;
    let (rows, started) = (context.rows.load(Ordering::Relaxed), context.started);
    let needs: Vec<&StoreEntry> = needs.into_iter().map(|(_, entry)| entry).collect();
    let there = match reason {
        // The old entry was sound but is to be replaced.
        StaleReason::Forced | StaleReason::NeedReran { .. } => PresentEntry::Replace,
        StaleReason::EntryDamaged { .. } => PresentEntry::KeepIfSame,
        _ => PresentEntry::Keep,
    };
    drop(context);
    let entry = store.commit(draft, &step.fingerprint, &needs, rows, there)?;
    observer.on(&Event::StageEnd {
        stage: stage.id.clone(),
        rows,
        bytes: entry.bytes(),
        ms: millis(started.elapsed()),
    });
    Ok(entry)
}

/// For each key a damaged file of its result, and the damage.
type DamagedFiles = BTreeMap<String, (String, String)>;

/// Hashes again the results that a step may read, and those that are published.
///
/// A damaged result must not get into a new result or to the user. A step may run if it has no
/// result, or if a stage that it needs may run and so give other files.
fn damaged(
    steps: &[ChosenStage<'_, '_>],
    store: &StoreView,
    options: &ExecSettings<'_>,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<DamagedFiles> {
    let mut damaged = DamagedFiles::new();
    let mut sound: BTreeMap<&str, Box<StoreEntry>> = BTreeMap::new();
    for step in steps.iter().filter(|step| !step.forced) {
        if let StoreLookup::Sound(entry) = store.look(&step.key)? {
            sound.insert(step.stage.id.as_str(), entry);
        }
    }
    let mut hashed: BTreeSet<&str> = BTreeSet::new();
    loop {
        let (mut may_run, mut read): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
        for ChosenStage { stage, .. } in steps {
            let needs = || stage.needs.iter().map(String::as_str);
            if !sound.contains_key(stage.id.as_str()) || needs().any(|need| may_run.contains(need))
            {
                may_run.insert(stage.id.as_str());
                read.extend(needs());
            }
        }
        let mut more = false;
        for ChosenStage { stage, key, .. } in steps {
            let id = stage.id.as_str();
            let is_read = read.contains(id) || options.published == Some(stage.kind);
            let Some(entry) = sound.get(id).filter(|_| is_read && hashed.insert(id)) else {
                continue;
            };
            if let Some(damage) = entry.damage(check)? {
                damaged.insert(key.clone(), damage);
                sound.remove(id);
                more = true;
            }
        }
        // Damaged stages run, and stages that depend on them may.
        if !more {
            return Ok(damaged);
        }
    }
}

/// Every fault of the stages, or of the word after `--until`.
fn check(stages: &[PlannedStage<'_>], options: &ExecSettings<'_>) -> Result<()> {
    if let Some(until) = options.until.filter(|until| !options.kinds.contains(until)) {
        return Err(unknown("--until", &format!("there is no stage `{until}`"), options.kinds));
    }
    let mut problems = Vec::new();
    let mut problem = |code, what| problems.push(graph_problem(code, what));
    for (i, stage) in stages.iter().enumerate() {
        let earlier = |id: &str| stages[..i].iter().any(|stage| stage.id == id);
        if earlier(&stage.id) {
            problem("duplicate-stage", format!("two stages are called `{}`", stage.id));
        }
        if !options.kinds.contains(&stage.kind) {
            problem(
                "stage-graph",
                format!("stage `{}` is of the unknown kind `{}`", stage.id, stage.kind),
            );
        }
        for need in stage.needs.iter().filter(|need| !earlier(need)) {
            problem(
                "stage-graph",
                format!("stage `{}` needs `{need}`, which no earlier stage provides", stage.id),
            );
        }
        for (i, (name, _)) in stage.inputs.iter().enumerate() {
            if stage.inputs[..i].iter().any(|(other, _)| other == name) {
                problem(
                    "stage-graph",
                    format!("stage `{}` has two inputs called `{name}`", stage.id),
                );
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Job(problems)) }
}

fn graph_problem(code: &'static str, what: String) -> JobProblem {
    JobProblem { code, path: String::new(), place: None, what, hint: None }
}

/// A fault of the program: stages that do not fit together.
pub(crate) fn misfit(what: String) -> Error {
    Error::Job(vec![graph_problem("stage-graph", what)])
}

/// The error of a word on the command line that names no stage.
fn unknown(flag: &str, what: &str, known: &[&str]) -> Error {
    let place = Some(FilePlace { file: flag.to_owned(), line: 0, column: 0 });
    let hint = Some(format!(
        "known are {}",
        known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
    ));
    Error::Job(vec![JobProblem {
        code: "unknown-stage",
        path: String::new(),
        place,
        what: what.to_owned(),
        hint,
    }])
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod tests;
