//! Inputs that nobody would write on purpose: jobs, SQL expressions, rows as Parquet, as text in
//! every dialect and from a program, counterfactuals from a program, scores in files, in streams
//! and from an endpoint, states of shards, finished folders. Each is made from sound ones by seeded
//! mutation. Whatever is in them, nothing panics, and no error blames the disk.
//!
//! The library is called in this process, so that thousands of inputs take seconds; only whole
//! folders are read by the program itself. A plain run tries a fixed number of them, the same on
//! every machine; `CFAUDIT_FUZZ_MINUTES=10` goes on for so long per target, with new seeds each
//! time (`make fuzz`). An input that fails is kept in the target folder and named; once the fault
//! is repaired, it belongs into `tests/fuzz-corpus/<target>/`, whose files are tried first and are
//! mutated too. The input that is being tried is in `current` next to them, for the case that the
//! process itself is killed.

mod expressions;
mod folders;
mod mutate;
mod programs;
mod tables;
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mutate::Dice;

use crate::work::root;

/// No input takes so long: it hangs.
const HANGS_AFTER: Duration = Duration::from_secs(300);

/// What is fuzzed.
trait Target {
    /// The folder of its corpus.
    fn name(&self) -> &'static str;
    /// Sound inputs, or such as are refused for good reasons.
    fn seeds(&self) -> Vec<Vec<u8>>;
    /// An input that does not come from a seed; none where all do.
    fn fresh(&self, _dice: &mut Dice) -> Option<Vec<u8>> {
        None
    }
    /// Changes an input.
    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice);
    /// Feeds it to the program: whether it is taken or refused for a good reason. Panics, or
    /// returns what is wrong with the program's reaction.
    fn feed(&self, folder: &Path, input: &[u8], dice: &mut Dice) -> Result<Verdict, String>;
}

/// How the program treats an input.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Taken,
    Refused,
}

/// Files of the corpus of a target, sorted.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = root().join("tests/fuzz-corpus").join(name);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Tries the corpus and the seeds as they are, then `n` mutated inputs, or as many as the minutes
/// that are asked for allow.
fn fuzz(target: &dyn Target, n: u64) {
    let minutes: Option<u64> = std::env::var("CFAUDIT_FUZZ_MINUTES")
        .ok()
        .map(|text| text.parse().expect("minutes as a whole number"));
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(target.name());
    fs::create_dir_all(&kept).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut seeds = corpus(target.name());
    seeds.extend(target.seeds());
    let n_kept = seeds.len() as u64;
    assert!(!seeds.is_empty());
    let base = minutes
        .map_or(0, |_| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
    let (started, mut slowest, mut tried, mut taken, mut faults) =
        (Instant::now(), (Duration::ZERO, 0), 0, 0, Vec::new());
    let (step, steps) = mpsc::channel();
    let name = target.name();
    std::thread::spawn(move || {
        loop {
            match steps.recv_timeout(HANGS_AFTER) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("{name}: the input in `current` hangs");
                    std::process::abort();
                }
            }
        }
    });
    for i in 0.. {
        step.send(()).unwrap();
        let done = minutes.map_or(i >= n_kept + n, |minutes| {
            i >= n_kept && started.elapsed() >= Duration::from_secs(60 * minutes)
        });
        if done || faults.len() >= 20 {
            break;
        }
        let mut dice = Dice::new(base.wrapping_add(i));
        let mut input = if i < n_kept { None } else { target.fresh(&mut dice) };
        let input = input.get_or_insert_with(|| {
            seeds[if i < n_kept { i as usize } else { dice.below(seeds.len()) }].clone()
        });
        if i >= n_kept {
            target.mutate(input, &seeds, &mut dice);
        }
        fs::write(kept.join("current"), &*input).unwrap();
        let at = Instant::now();
        let verdict =
            catch_unwind(AssertUnwindSafe(|| target.feed(folder.path(), input, &mut dice)));
        slowest = slowest.max((at.elapsed(), i));
        tried += 1;
        let fault = match verdict {
            Ok(Ok(verdict)) => {
                taken += u64::from(verdict == Verdict::Taken);
                continue;
            }
            Ok(Err(what)) => what,
            Err(panic) => {
                let words = panic.downcast_ref::<String>().cloned();
                format!(
                    "panics: {}",
                    words
                        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
                        .unwrap_or_default()
                )
            }
        };
        let file = kept.join(format!("fault-{:016x}", base.wrapping_add(i)));
        fs::copy(kept.join("current"), &file).unwrap();
        faults.push(format!("{}: {fault}", file.display()));
    }
    let (longest, which) = slowest;
    eprintln!(
        "{}: {tried} inputs in {:.1?}, {taken} of them taken, the slowest ({which}) in \
         {longest:.1?}",
        target.name(),
        started.elapsed()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(taken > 0 && taken < tried, "inputs are all alike to the program");
}

#[test]
fn jobs() {
    fuzz(&targets::Jobs, 1500);
}

#[test]
#[ignore = "slow, `make test-slow` runs it"]
fn many_jobs() {
    fuzz(&targets::Jobs, 40_000);
}

#[test]
fn rows_as_parquet() {
    fuzz(&targets::PARQUET, 60);
}

#[test]
fn rows_as_csv() {
    fuzz(&targets::Csv, 60);
}

#[test]
fn rows_of_a_program() {
    fuzz(&programs::ROWS_OF_A_PROGRAM, 200);
}

#[test]
fn expressions_of_sql() {
    fuzz(&expressions::Expressions, 250);
}

#[test]
fn counterfactuals_from_outside() {
    fuzz(&programs::COUNTERFACTUALS, 60);
}

#[test]
fn answers_of_an_endpoint() {
    fuzz(&programs::Endpoint::new(), 1500);
}

#[test]
fn finished_folders() {
    fuzz(&folders::Finished::new(), 40);
}

#[test]
fn states_of_shards() {
    if let Some(shards) = folders::Shards::new() {
        fuzz(&shards, 40);
    }
}

#[test]
fn files_of_scores() {
    fuzz(&targets::SCORES, 1500);
}

#[test]
fn streams_of_scores() {
    fuzz(&targets::STREAMS, 5000);
}
