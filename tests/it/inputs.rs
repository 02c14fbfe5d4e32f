//! Hashes of input files that the cache remembers: unchanged files are not read again, and every
//! change is noticed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::work::{Rows, Says, Work, assert_same, files};

/// A job on settled files; `sum` makes rows that differ in their bytes alone.
fn work(sum: i64) -> Work {
    let work = Work::new();
    let steps = "~  rows: {csv: {path: rows.csv}}
-  row_id
~  features: {continuous: [age]}
~metrics: {families: [performance]}";
    work.job("trained", steps, "");
    rows(&work, sum);
    work
}

fn rows(work: &Work, sum: i64) {
    let ids = || 0..400_i64;
    Rows::of(ids())
        .with("sex", |i| ["f", "m"][(i % 2) as usize])
        .with("repaid", |i| i64::from(i % 5 < 2))
        .with("age", |i| 20 + (i + sum) % 40)
        .write(work, "rows.csv");
}

fn settle() {
    std::thread::sleep(Duration::from_millis(2100));
}

/// What `plan` says: whether a stage would run.
fn is_stale(work: &Work, args: &str) -> bool {
    let plan = work.cfaudit(0, &format!("plan job.yaml --cache cache --json {args}")).stdout;
    serde_json::from_str::<serde_json::Value>(&plan).unwrap()["to_run"] != 0
}

/// Writes another hash of every file into the memory, as a program that computes them would.
fn plant(work: &Work) {
    let text = work.read("cache/inputs");
    let mut all: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    for known in all.as_object_mut().unwrap().values_mut() {
        known["sha256"] = "0".repeat(64).into();
    }
    let json = all.to_string();
    let hash: String = Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect();
    work.write("cache/inputs", &format!("{hash}\n{json}\n"));
}

#[test]
fn a_file_that_nobody_touched_is_not_hashed_again() {
    let work = work(0);
    // Just written: a write in the same tick of the clock would not be seen.
    work.run(0, "job.yaml", "");
    assert!(!work.path("cache/inputs").exists());
    settle();
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    let memory = work.path("cache/inputs");
    assert_eq!(fs::metadata(&memory).unwrap().permissions().mode() & 0o777, 0o600);
    let sound = fs::read(&memory).unwrap();
    let results = work.results();

    // What is planted is believed, so the file was not read; `--rehash` believes nothing.
    plant(&work);
    assert!(is_stale(&work, "") && !is_stale(&work, "--rehash"));
    work.run(0, "job.yaml", "--rehash").says(&["nothing to do"]);
    assert_eq!(fs::read(&memory).unwrap(), sound);
    assert!(!is_stale(&work, ""));

    // Any damage, even of one digit, is as if nothing were remembered.
    let text = String::from_utf8(sound.clone()).unwrap();
    for damaged in ["", "{}\n", &text.replace("\"sha256\":\"", "\"sha256\":\"f"), &text[..90]] {
        fs::write(&memory, damaged).unwrap();
        assert!(!is_stale(&work, ""));
        work.run(0, "job.yaml", "").says(&["nothing to do"]);
        assert_eq!(fs::read(&memory).unwrap(), sound);
    }
    // One that cannot be read or replaced stops nothing.
    fs::remove_file(&memory).unwrap();
    fs::create_dir(&memory).unwrap();
    work.run(0, "job.yaml", "").says(&["nothing to do", "does not remember"]);
    assert_same(&results, &work.results(), "with and without memory");
}

#[test]
fn other_rows_of_the_same_size_and_age_are_seen() {
    let work = work(0);
    settle();
    work.run(0, "job.yaml", "");
    let path = work.path("rows.csv");
    let (before, results) = (fs::metadata(&path).unwrap(), work.results());
    assert!(!is_stale(&work, ""));
    rows(&work, 1);
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(before.modified().unwrap())
        .unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(
        (after.len(), after.modified().unwrap()),
        (before.len(), before.modified().unwrap()),
        "the file shows nothing but its ctime"
    );
    assert!(is_stale(&work, ""));
    work.run(0, "job.yaml", "");
    assert_ne!(results, work.results());
}

#[test]
fn a_plan_reads_the_memory_and_leaves_it_alone() {
    let work = work(0);
    settle();
    // No cache yet: none is made.
    assert!(is_stale(&work, ""));
    assert!(!work.path("cache").exists());
    work.run(0, "job.yaml", "");
    fs::remove_file(work.path("cache/inputs")).unwrap();
    let before = files(&work.path("cache"));
    assert!(!is_stale(&work, "") && !is_stale(&work, "--rehash"));
    assert_same(&before, &files(&work.path("cache")), "a plan");
}

#[test]
fn without_a_cache_nothing_is_remembered() {
    let work = work(0);
    settle();
    work.cfaudit(0, "run job.yaml --out out --cache off");
    work.cfaudit(0, "check job.yaml --cache off");
    let left: Vec<String> =
        files(&work.path("")).into_keys().filter(|name| name.ends_with("inputs")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn runs_at_once_share_one_memory() {
    let work = work(0);
    settle();
    let run = |out: &str| {
        work.command(&format!("run job.yaml --quiet --cache cache --out {out}")).spawn().unwrap()
    };
    let mut running: Vec<_> = ["one", "two", "three"].map(run).into();
    assert!(running.iter_mut().all(|run| run.wait().unwrap().success()));
    plant(&work);
    assert!(is_stale(&work, "") && !is_stale(&work, "--rehash"));
}

#[test]
fn a_repeated_check_does_no_work() {
    let work = work(0);
    work.cfaudit(0, "check job.yaml --cache cache").says(&["labels: runs"]);
    let again = work.cfaudit(0, "check job.yaml --cache cache");
    again.stderr.lacks(&["runs"]);
    // Another threshold decides otherwise; the rows stay.
    let other = work.cfaudit(0, "check job.yaml --cache cache --set models.live.threshold=0.4");
    other.stderr.says(&["labels: runs"]);
    other.stderr.lacks(&["split: runs"]);
    // The counts that `check` needs are not part of a run.
    work.run(0, "job.yaml", "");
    let stages = work.json("out/run.json")["stages"].to_string();
    stages.lacks(&["labels"]);
}

/// A model whose program is not asked.
const PROGRAM: &str =
    "  program: {command: {score: [sh, -c, exit], watch: [watched]}, threshold: 0.5}\nmetrics:";

/// All kinds of files are treated the same.
#[test]
fn watched_files_are_remembered_too() {
    let work = work(0);
    work.edit("job.yaml", "job.yaml", &[("metrics:", PROGRAM)]);
    fs::create_dir(work.path("watched")).unwrap();
    for name in ["a.py", "b.py"] {
        work.write(&format!("watched/{name}"), name);
    }
    settle();
    work.cfaudit(0, "check job.yaml --cache cache");
    let text = work.read("cache/inputs");
    text.says(&["rows.csv", "watched/a.py", "watched/b.py"]);
    // Gone, and forgotten with the next hash.
    fs::remove_file(work.path("watched/a.py")).unwrap();
    work.cfaudit(0, "check job.yaml --cache cache --rehash");
    let text = work.read("cache/inputs");
    text.says(&["b.py"]);
    text.lacks(&["a.py"]);
}
