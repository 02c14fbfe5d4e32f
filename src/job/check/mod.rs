//! Turns a job as written into a checked job, or reports everything that is wrong, each with its
//! place.
//!
//! Everything is checked here that can be known without the data; what only the data show (no such
//! column, no such group) is found in the first stage, which asks [`JobPlaces`] for the line. One
//! mistake gives one message: a complaint is held back if the block that it is about, or another
//! that it depends on (as `messages.txt` says), could not be read, and if reading has already
//! complained about the same key.

mod classes;
pub(crate) mod defaults;
mod derive;
mod experiments;
mod gate_scopes;
mod gates;
mod graphs;
mod metrics;
mod models;
mod names;
mod recourse;
mod rows;
mod sets;
mod unsupported;
mod why;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use self::defaults::resolved;
use crate::error::{Error, FilePlace, JobProblem, Result};
use crate::exec::hash::sha256;
use crate::job::Job;
use crate::job::messages::Said;
use crate::job::read::load::{self, IncludedFile, LoadedJob};
pub use crate::job::read::shape::JobPlaces;
use crate::job::read::shape::{MAX_PROBLEMS, ReadJob, read_job};
use crate::job::read::tree::join;
use crate::job::resolve::flat::{DOLLAR, literal};
use crate::job::schema::each_map;
use crate::param::{KnobRefusal, Name};

/// A job that holds every promise.
#[derive(Debug, Clone)]
pub struct CheckedJob {
    /// The job with its defaults written out, variables filled and includes merged: `vars` and
    /// `include` are empty.
    pub job: Job,
    /// Where the parts of the job stand.
    pub places: JobPlaces,
    /// The files merged into it.
    pub includes: Vec<IncludedFile>,
    /// The `--set` values, as given.
    pub sets: Vec<String>,
    /// Dotted paths of the values that hold a variable.
    pub filled: BTreeSet<String>,
    /// The names of its counterfactual sets as tables and gates have them, each with the key of its
    /// block.
    pub set_names: Vec<(String, Name)>,
    /// SHA-256 of the resolved job as YAML ([`to_yaml`]), in hexadecimal.
    pub hash: String,
}

/// The dotted path of keys from the top of the job.
pub fn path(keys: &[&str]) -> String {
    keys.iter().fold(String::new(), |path, key| join(&path, key))
}

/// Reads and checks a job file; `sets` are `PATH=VALUE` of the command line.
///
/// # Errors
/// All problems at once, in the order of the file; or the file cannot be read.
pub fn read(file: &Path, sets: &[String]) -> Result<CheckedJob> {
    check(load::load(file, sets)?)
}

/// As [`read`], for the text of a job file.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_text(file: &Path, text: &[u8]) -> Result<CheckedJob> {
    check(load::load_text(file, text, &[])?)
}

/// Checks a job that was read.
///
/// # Errors
/// All problems at once, in the order of the file.
pub fn check(loaded: LoadedJob) -> Result<CheckedJob> {
    let LoadedJob { root, file, includes, sets, mut problems, unknown, filled } = loaded;
    let ReadJob { job, places, problems: wrong, damaged, refused } = read_job(&root, unknown);
    // A key with a variable is also an invalid name: one place gets one message.
    let with_problem: Vec<FilePlace> = problems.iter().filter_map(|p| p.place.clone()).collect();
    problems.extend(wrong.into_iter().filter(|p| {
        p.place.as_ref().is_none_or(|place| place.line == 0 || !with_problem.contains(place))
    }));
    if let Some(job) = job.as_ref().filter(|_| problems.len() < MAX_PROBLEMS) {
        let (places, damaged, n_refused) = (&places, &damaged, refused.len());
        let mut checker = JobChecker { job, places, damaged, n_refused, problems: refused };
        checker.rows();
        checker.models();
        checker.metrics();
        checker.unsupported();
        checker.experiments();
        checker.recourse();
        checker.why();
        checker.gates();
        checker.report();
        problems.append(&mut checker.problems);
    }
    let Some(job) = job.filter(|_| problems.is_empty()) else {
        return Err(Error::Job(in_order(problems, &file)));
    };
    let job = resolved(job);
    let hash = sha256(to_yaml(&job).as_bytes());
    let key = |name: &str| Name::new(name.split('/').next().unwrap_or_default());
    let set_names =
        job.sets().into_iter().filter_map(|(name, _)| Some((name.clone(), key(&name)?))).collect();
    Ok(CheckedJob { job, places, includes, sets, filled, set_names, hash })
}

/// Problems in the order of the job file, then of the files it includes, then of the command line.
fn in_order(mut problems: Vec<JobProblem>, file: &str) -> Vec<JobProblem> {
    problems.sort_by_key(|p| {
        let place = p.place.clone();
        let rank = place.as_ref().map(|p| (p.line == 0, p.file != file));
        (rank, place)
    });
    if problems.len() >= MAX_PROBLEMS {
        problems.truncate(MAX_PROBLEMS);
        let what = format!("{} problems are shown, and there may be more", problems.len());
        problems.push(JobProblem {
            code: "too-many-problems",
            path: String::new(),
            place: None,
            what,
            hint: Some("correct these first".to_owned()),
        });
    }
    problems
}

/// The job as YAML, with all defaults written out; reading it gives the same job. What is absent is
/// left out; text that looks like a variable is written with a variable that holds the dollar.
///
/// # Panics
/// Never: a job holds nothing that YAML cannot write.
pub fn to_yaml(job: &Job) -> String {
    let mut value = json!(job);
    each_map(&mut value, &mut |map| map.retain(|_, value| !value.is_null()));
    let text = serde_yaml::to_string(&value)
        .expect("a job consists of maps with text keys, lists, texts and finite numbers");
    // Keys hold none: the reader refuses them.
    if text.contains("${") { format!("vars:\n  {DOLLAR}: \"$\"\n{}", literal(&text)) } else { text }
}

/// Whether a path is another one or inside it.
fn is_below(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| outer.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The block that a path is in, its first two steps: `gates.g`, `data.split`.
fn block_of(path: &str) -> &str {
    let (mut dots, mut quoted) = (0, false);
    let end = path.find(|c| {
        quoted ^= c == '"';
        dots += usize::from(c == '.' && !quoted);
        dots == 2
    });
    &path[..end.unwrap_or(path.len())]
}

/// Walks a job and gathers what is wrong.
struct JobChecker<'a> {
    job: &'a Job,
    places: &'a JobPlaces,
    damaged: &'a [String],
    problems: Vec<JobProblem>,
    /// How many of the problems were found by reading.
    n_refused: usize,
}

impl JobChecker<'_> {
    /// Complains about what is at a path, or should be there, if there is something to say and
    /// everything it depends on is known.
    fn say(&mut self, path: impl Into<String>, said: impl Into<Option<Said>>) {
        let Some(Said { code, reads, what, hint }) = said.into() else { return };
        let path = path.into();
        let is_refused = |problem: &JobProblem| is_below(&path, &problem.path);
        let is_known = self.is_sound(&[block_of(&path)]) && self.is_sound(reads);
        if !is_known || self.problems[..self.n_refused].iter().any(is_refused) {
            return;
        }
        let place = self.places.at(&path).cloned();
        self.problems.push(JobProblem { code, path, place, what, hint: Some(hint) });
    }

    /// Which of some keys of a block the job writes.
    fn written(&self, at: &str, keys: &[&'static str]) -> Vec<&'static str> {
        let is_written = |key: &&str| self.places.written(&join(at, key)).is_some();
        keys.iter().copied().filter(is_written).collect()
    }

    /// Complains about those of some keys of a block that the job writes; returns whether it writes
    /// one.
    fn refuse_keys(
        &mut self,
        at: &str,
        keys: &[&'static str],
        said: impl Fn(&'static str) -> Said,
    ) -> bool {
        let written = self.written(at, keys);
        written.iter().for_each(|key| self.say(join(at, key), said(key)));
        !written.is_empty()
    }

    /// Complains about knobs of a block that are refused regardless of the rest of the job.
    fn refused(&mut self, block: &str, refusals: impl IntoIterator<Item = KnobRefusal>) {
        for KnobRefusal { key, code, what, hint } in refusals {
            let dot = if key.is_empty() { "" } else { "." };
            self.say(format!("{block}{dot}{key}"), Said { code, reads: &[], what, hint });
        }
    }

    /// Whether anything at these paths or below was complained about: what follows from it need not
    /// be said.
    fn has_problem(&self, paths: &[&str]) -> bool {
        self.problems.iter().any(|p| paths.iter().any(|at| is_below(&p.path, at)))
    }

    /// Whether nothing at these paths, above or below them was wrong.
    fn is_sound(&self, paths: &[&str]) -> bool {
        !self.damaged.iter().any(|d| paths.iter().any(|p| is_below(d, p) || is_below(p, d)))
    }
}
