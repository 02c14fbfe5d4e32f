//! Rows that are being written, or are not there yet: status 4, and the earlier audit stays.

use std::fs;
use std::time::{Duration, SystemTime};

use arrow::array::{ArrayRef, StringArray};

use crate::work::{Rows, Work, array, assert_same};

const JOB: &str = "
cfaudit: 1
name: rows
data:
  rows: ROWS
  row_id: id
  label: none
  favourable: positive
  sensitive: {sex: {groups: [f, m], reference: m}}
models:
  m: {scores: {factual: {column: score}}, threshold: 0.5}
metrics: {families: [group]}
";

/// A hundred rows, the ids from `first` on.
fn rows(first: i64) -> Vec<(&'static str, ArrayRef)> {
    Rows::of(first..first + 100)
        .with("id", |i| i)
        .with("sex", |i| ["f", "m"][i as usize % 2])
        .with("score", |i| if i % 3 == 0 { 0.75 } else { 0.25 })
        .with("age", |i| (20 + i % 7) as f64)
        .columns()
}

/// A folder with one part of the rows in `lake/dt=1`.
fn lake() -> Work {
    let work = Work::new();
    fs::create_dir_all(work.path("lake/dt=1")).unwrap();
    work.parquet("lake/dt=1/a.parquet", rows(0));
    work
}

fn job(work: &Work, source: &str) {
    work.write("job.yaml", &JOB.replace("ROWS", source));
}

/// The number of rows that a run of the job audits.
fn audited(work: &Work, source: &str) -> u64 {
    job(work, source);
    work.run(0, "job.yaml", "").summary()["rows"].as_u64().unwrap()
}

#[track_caller]
fn waits(work: &Work, source: &str, words: &[&str]) {
    job(work, source);
    let before = work.path("out").exists().then(|| work.results());
    for verb in ["run job.yaml --out out", "check job.yaml", "data job.yaml"] {
        let ran = work.cfaudit(4, &format!("{verb} --cache cache"));
        ran.says(&["error[rows-awaited]", "--> job.yaml:5", "hint: "]);
        ran.says(words);
        assert_eq!(ran.stdout, "", "{verb}");
    }
    if let Some(before) = before {
        assert_same(&before, &work.results(), "the audit before");
    }
}

#[test]
fn what_writers_leave_in_a_folder() {
    let work = lake();
    let whole = ["{parquet: lake}", "{parquet: lake/dt=1}", "{parquet: \"lake/dt=*/*.parquet\"}"];
    for source in whole {
        assert_eq!(audited(&work, source), 100, "{source}");
    }
    let deep = "lake/dt=1/_temporary/0/task/b.parquet";
    for left in [
        deep,
        "lake/dt=1/__magic/job/b.parquet",
        "lake/dt=1/.part-0-1.inprogress.7",
        "lake/dt=1/b.parquet._COPYING_",
        "lake/dt=1/.spark-staging-7/dt=1/b.parquet",
    ] {
        work.write(left, "half");
        let name = left.split('/').nth(2).unwrap();
        for source in whole {
            waits(&work, source, &[&format!("`lake/dt=1/{name}` says that somebody is writing")]);
        }
        // A file that the job names by its own path is complete.
        assert_eq!(audited(&work, "{parquet: lake/dt=1/a.parquet}"), 100, "{left}");
        let path = work.path("lake/dt=1").join(name);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
    // Nothing but the writer.
    work.write("lake/dt=2/_temporary/0/b.parquet", "half");
    waits(&work, "{parquet: lake/dt=2}", &["`lake/dt=2/_temporary`"]);
    waits(&work, "{parquet: \"lake/dt=2/*.parquet\"}", &["`lake/dt=2/_temporary`"]);
    waits(&work, "{parquet: lake}", &["`lake/dt=2/_temporary`"]);
    assert_eq!(audited(&work, "{parquet: lake/dt=1}"), 100);
    // Other hidden names say nothing.
    fs::rename(work.path("lake/dt=2/_temporary"), work.path("lake/dt=2/_old")).unwrap();
    work.write("lake/dt=2/.b.parquet.crc", "");
    work.parquet("lake/dt=2/b.parquet", rows(100));
    assert_eq!(audited(&work, "{parquet: lake}"), 200);
}

/// A folder that a glob could find files in counts before it holds one.
#[test]
fn folders_of_a_glob_that_hold_no_file_yet() {
    let work = lake();
    let globs = ["lake/dt=*/*.parquet", "lake/**/*.parquet", "lake/*/*.parquet", "./lake/dt=*"];
    let rows = |glob: &str, more: &str| format!("{{parquet: \"{glob}\"{more}}}");
    // Somebody has only begun to write the second part, or moves it there from the folder above.
    for left in ["lake/dt=2/_temporary", "lake/_temporary"] {
        fs::create_dir_all(work.path(left).join("0")).unwrap();
        for glob in globs {
            waits(&work, &rows(glob, ""), &[&format!("{left}` says that somebody is writing")]);
        }
        fs::remove_dir_all(work.path(left)).unwrap();
    }
    // Nothing is there but the folder: it is complete once the job's file says so.
    fs::create_dir_all(work.path("lake/dt=2")).unwrap();
    fs::create_dir_all(work.path("lake/_delta_log")).unwrap();
    work.write("lake/dt=1/_SUCCESS", "");
    for glob in globs {
        assert_eq!(audited(&work, &rows(glob, "")), 100, "{glob}");
        waits(&work, &rows(glob, ", complete: _SUCCESS"), &["`lake/dt=2/_SUCCESS`"]);
    }
    work.write("lake/dt=2/_SUCCESS", "");
    for glob in ["lake/dt=*/*.parquet", "lake/**/*.parquet", "lake/dt=*", "lake/*"] {
        assert_eq!(audited(&work, &rows(glob, ", complete: _SUCCESS")), 100, "{glob}");
    }
    // Text files have the same folders.
    fs::create_dir_all(work.path("text/dt=1")).unwrap();
    work.csv("text/dt=1/a.csv", self::rows(0));
    work.write("text/dt=2/_temporary/0/b.csv", "id");
    waits(&work, "{csv: {path: \"text/*/*.csv\"}}", &["`text/dt=2/_temporary`"]);
}

/// A glob without a folder before it is one of the working directory.
#[test]
fn writers_in_the_working_directory() {
    let work = lake();
    fs::copy(work.path("lake/dt=1/a.parquet"), work.path("a.parquet")).unwrap();
    assert_eq!(audited(&work, "{parquet: \"*.parquet\"}"), 100);
    fs::create_dir(work.path("_temporary")).unwrap();
    waits(&work, "{parquet: \"*.parquet\"}", &["_temporary` says that somebody is writing"]);
}

#[test]
fn a_pattern_that_matches_nothing_yet() {
    let work = lake();
    for source in ["lake/dt=2", "lake/dt=2/*.parquet", "lake/dt=2/b.parquet"] {
        job(&work, &format!("{{parquet: \"{source}\"}}"));
        work.run(3, "job.yaml", "").says(&["error[missing-file]"]);
        waits(&work, &format!("{{parquet: \"{source}\", wait: true}}"), &[source, "yet"]);
    }
    fs::create_dir(work.path("lake/dt=2")).unwrap();
    waits(&work, "{parquet: lake/dt=2, wait: true}", &["lake/dt=2"]);
    waits(&work, "{parquet: {files: list.txt}, wait: true}", &["list.txt"]);
    // A young file that cannot be read may become one.
    let whole = fs::read(work.path("lake/dt=1/a.parquet")).unwrap();
    let file = work.path("lake/dt=2/b.parquet");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    waits(&work, "{parquet: lake/dt=2, wait: true}", &["`lake/dt=2/b.parquet` cannot be read"]);
    let old = SystemTime::now() - Duration::from_secs(16 * 60);
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    job(&work, "{parquet: lake/dt=2, wait: true}");
    work.run(3, "job.yaml", "").says(&["error[unreadable-file]"]);
    fs::write(&file, &whole).unwrap();
    assert_eq!(audited(&work, "{parquet: lake/dt=2, wait: true}"), 100);
}

#[test]
fn a_file_that_is_written_last() {
    let work = lake();
    for source in ["lake/dt=1", "lake/dt=1/*.parquet", "lake/dt=*", "lake/dt=1/a.parquet"] {
        let source = format!("{{parquet: \"{source}\", complete: _SUCCESS}}");
        waits(&work, &source, &["there is no file `lake/dt=1/_SUCCESS` yet"]);
    }
    waits(&work, "{parquet: lake, complete: _SUCCESS}", &["`lake/_SUCCESS`"]);
    waits(&work, "{parquet: lake/dt=2, complete: _SUCCESS}", &["`lake/dt=2/_SUCCESS`"]);
    fs::create_dir(work.path("lake/dt=2")).unwrap();
    work.parquet("lake/dt=2/b.parquet", rows(100));
    work.write("lake/dt=1/_SUCCESS", "");
    assert_eq!(audited(&work, "{parquet: lake/dt=1, complete: _SUCCESS}"), 100);
    waits(&work, "{parquet: \"lake/dt=*\", complete: _SUCCESS}", &["`lake/dt=2/_SUCCESS`"]);
    work.write("lake/dt=2/_SUCCESS", "");
    assert_eq!(audited(&work, "{parquet: \"lake/dt=*\", complete: _SUCCESS}"), 200);
    // A second writer has begun.
    work.write("lake/dt=2/_temporary/0/c.parquet", "half");
    waits(&work, "{parquet: lake/dt=2, complete: _SUCCESS}", &["`lake/dt=2/_temporary`"]);
    // Lists of files are written last too.
    work.write("list.txt", "lake/dt=1/a.parquet\n");
    waits(&work, "{parquet: {files: list.txt}, complete: done}", &["`done`"]);
    work.write("done", "");
    assert_eq!(audited(&work, "{parquet: {files: list.txt}, complete: done}"), 100);
}

#[test]
fn text_files_reference_and_side_tables_wait_too() {
    let work = lake();
    fs::create_dir_all(work.path("text")).unwrap();
    waits(&work, "{csv: {path: \"text/*.csv\"}, wait: true}", &["text/*.csv"]);
    work.csv("text/a.csv", rows(0));
    assert_eq!(audited(&work, "{csv: {path: \"text/*.csv\"}, wait: true}"), 100);
    let complete = "{csv: {path: \"text/*.csv\"}, complete: _SUCCESS}";
    waits(&work, complete, &["`text/_SUCCESS`"]);
    work.write("text/_SUCCESS", "");
    assert_eq!(audited(&work, complete), 100);
    work.write("text/_temporary/0/b.csv", "id");
    waits(&work, complete, &["`text/_temporary`"]);

    let rows_of_job = "{parquet: lake/dt=1}";
    let runs = |status: i32, words: &[&str]| {
        work.run(status, "job.yaml", "").says(words);
    };
    let world = "counterfactuals: {world: {plausible: {move: [age], condition_on: none}}}\n";
    for (more, sets) in [
        ("  reference: {parquet: learn, WAITS}\n  features: {continuous: [age]}\n", world),
        ("  join: {desk: {parquet: learn, WAITS, on: id, columns: [desk]}}\n", ""),
    ] {
        let job = |waits: &str| {
            let text = JOB.replace("ROWS", rows_of_job);
            let text = text.replace("  row_id", &(more.replace("WAITS", waits) + "  row_id"));
            work.write("job.yaml", &(text + sets));
        };
        let _ = fs::remove_dir_all(work.path("learn"));
        job("wait: false");
        runs(3, &["error[missing-file]"]);
        job("wait: true");
        runs(4, &["error[rows-awaited]", "`learn`", "--> job.yaml:6"]);
        fs::create_dir(work.path("learn")).unwrap();
        let mut columns = rows(0);
        let desk = (0..100).map(|i| Some(["x", "y"][i % 2])).collect::<StringArray>();
        columns.push(("desk", array(desk)));
        work.parquet("learn/a.parquet", columns);
        runs(0, &[]);
        work.write("learn/_temporary/0/b.parquet", "half");
        runs(4, &["error[rows-awaited]", "`learn/_temporary`"]);
        fs::remove_dir_all(work.path("learn/_temporary")).unwrap();
        job("complete: _SUCCESS");
        runs(4, &["error[rows-awaited]", "`learn/_SUCCESS`"]);
        work.write("learn/_SUCCESS", "");
        runs(0, &[]);
        // Of a glob the folders that hold no file yet, too.
        work.edit("job.yaml", "job.yaml", &[("parquet: learn,", "parquet: \"lear*/*.parquet\",")]);
        runs(0, &[]);
        fs::create_dir_all(work.path("learnt/_temporary")).unwrap();
        runs(4, &["error[rows-awaited]", "`learnt/_temporary`"]);
        fs::remove_dir_all(work.path("learnt")).unwrap();
    }
}

#[test]
fn keys_about_files_next_to_rows_that_come_from_none() {
    let work = Work::with_jobs();
    let demo = work.read("jobs/gate-demo.yaml");
    for (key, value) in [("wait", "true"), ("complete", "_SUCCESS")] {
        work.write("jobs/job.yaml", &demo);
        let set = format!("--set data.rows.{key}={value}");
        let words = [&format!("data.rows.{key}"), "these rows come from none"];
        work.cfaudit(2, &format!("check jobs/job.yaml --no-data {set}"))
            .says(&words.map(|w| w as &str));
    }
    job(&work, "{parquet: a, csv: {path: b}}");
    work.cfaudit(2, "check job.yaml --no-data")
        .says(&["needs exactly one of", "`parquet` and `csv`"]);
    job(&work, "{wait: true}");
    work.cfaudit(2, "check job.yaml --no-data").says(&["needs exactly one of", "found none"]);
}
