//! What may happen to a run, except that it is killed: two start at once, folders cannot be
//! written, readers go away, the clock jumps. The bytes are the same in the end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::determinism::work;
use crate::work::{Files, Ran, Work, assert_same, files, results};

/// Nothing of a killed process stays next to the folder or in the cache.
#[track_caller]
pub(crate) fn assert_tidy(work: &Work) {
    assert_tidy_but(work, &[]);
}

#[track_caller]
fn assert_tidy_but(work: &Work, but: &[&str]) {
    let beside: Vec<String> = fs::read_dir(work.path(""))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let left = |name: &String| {
        name.starts_with(".out.") && !name.ends_with(".lock") && !but.contains(&name.as_str())
    };
    assert!(!beside.iter().any(left), "left next to the folder: {beside:?}");
    assert_eq!(fs::read_dir(work.path("cache/tmp")).unwrap().count(), 0, "left in the cache");
}

pub(crate) const RUN: &str = "run job.yaml --out out --cache cache";
pub(crate) const GATE: &str = "gate out --baseline old";

/// Two start at the same moment: one does not wait and is reported, or both find the same.
#[test]
fn two_runs_at_once_leave_one_result() {
    let work = work("share");
    let start = || {
        work.command("run job.yaml --out out --cache cache")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (first, second) = (start(), start());
    let mut codes = [first, second]
        .map(|child| child.wait_with_output().unwrap())
        .map(|output| output.status.code().unwrap());
    codes.sort_unstable();
    assert!(codes == [0, 5] || codes == [0, 0], "{codes:?}");
    let before = work.results();
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    assert_same(&before, &work.results(), "after two at once");
    assert_tidy(&work);
}

/// The program as somebody without rights on these folders: root may write everywhere, so it gives
/// up its rights.
fn as_nobody(work: &Work, args: &str) -> Option<Command> {
    let command = work.command(args);
    let is_root = fs::metadata("/proc/self")
        .map(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
        .unwrap_or(false);
    if !is_root {
        return Some(command);
    }
    let mut nobody = Command::new("setpriv");
    nobody
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(command.get_program())
        .args(command.get_args());
    nobody.current_dir(work.path("")).stdin(Stdio::null());
    // Nobody must be able to reach the program and the folder.
    let mut tried = Command::new("setpriv");
    tried
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(command.get_program())
        .arg("--version")
        .current_dir(work.path(""));
    tried.output().is_ok_and(|output| output.status.success()).then_some(nobody)
}

fn set_mode(work: &Work, below: &str, mode: u32) {
    fs::set_permissions(work.path(below), fs::Permissions::from_mode(mode)).unwrap();
}

/// A finished folder that may not be written is judged and compared as long as nothing changes in
/// it.
#[test]
fn folders_that_may_only_be_read() {
    let work = work("share");
    fs::create_dir(work.path("archive")).unwrap();
    work.cfaudit(0, "run job.yaml --out archive/a --cache cache");
    work.cfaudit(0, "run job.yaml --out archive/b --cache cache --set run.seed=2");
    let names = ["", "archive", "archive/a", "archive/a/tables", "archive/b"];
    names.iter().for_each(|name| set_mode(&work, name, 0o555));
    let before: Files = files(&work.path("archive"));
    let ran = |status: i32, args: &str| {
        as_nobody(&work, args).map(|mut command| Ran::of(&mut command, status))
    };
    let all = [
        ran(0, "gate archive/a"),
        ran(0, "export archive/a --to junit"),
        ran(0, "explain sr --in archive/a"),
        // Other rows without ids have no pairs, so that nobody needs their outcomes.
        ran(0, "diff archive/a archive/b"),
    ];
    let refused = [
        ran(5, "gate archive/a --baseline archive/b"),
        ran(5, "diff archive/a archive/b --out archive/diff"),
        ran(5, "report archive/a --title other"),
        ran(5, "run job.yaml --out archive/a --cache off"),
        ran(5, "export archive/a --to junit --file archive/a.xml"),
    ];
    let after = files(&work.path("archive"));
    names.iter().for_each(|name| set_mode(&work, name, 0o755));
    if all.iter().chain(&refused).any(Option::is_none) {
        crate::work::skip("in part: nobody else may run the program here");
    }
    for ran in refused.iter().flatten() {
        ran.says(&["error[operator]", "hint: "]);
    }
    assert_same(&before, &after, "folders that may only be read");
}

/// A process that is killed once its verdicts are in place leaves the old folder next to it; the
/// next one finds nothing to write.
#[test]
fn what_a_killed_process_left_goes_even_where_nothing_is_written() {
    let work = work("no-label");
    work.cfaudit(0, RUN);
    for left in [".out.new-4711", ".out.scratch-4711/tables", ".out.newer", ".other.new-4711"] {
        fs::create_dir_all(work.path(left)).unwrap();
    }
    let before = work.results();
    work.cfaudit(0, "gate out");
    assert_tidy_but(&work, &[".out.newer"]);
    assert!(work.path(".other.new-4711").exists(), "another folder's affair");
    assert_same(&before, &work.results(), "nothing to write");
}

/// Verbs on finished folders with a reader that went away, and with a disk that is full.
#[test]
fn readers_that_go_away() {
    let work = work("share");
    work.cfaudit(0, "run job.yaml --out out --cache cache");
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    for args in [
        "gate out",
        "diff out out --all",
        "diff out out --json --all",
        "export out --to junit",
        "verify out",
        "pack out --file out.zip",
        "run job.yaml --out other --cache cache",
        "plan job.yaml --cache cache",
        "check job.yaml --cache cache",
        "data job.yaml --cache cache",
        "explain sr --in out",
        "schema tables",
        "new people.csv --label repaid --sensitive sex",
    ] {
        let status = work.command(args).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{args}");
    }
    assert_same(&work.results(), &results(&work.path("other")), "a run that nobody listens to");
    if let Ok(full) = fs::File::options().write(true).open("/dev/full") {
        let status =
            work.command("diff out out --all").stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(5));
    }
}

/// A clock that jumps by centuries with every look at it, before 1970 too: a preloaded library
/// replaces `clock_gettime`.
const CLOCK: &str = "#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t which, struct timespec *time) {
    static const long jumps[] = {4000000000L, -3000000000L, 0, 90000000000L, -86400, 3600};
    static unsigned looks;
    int failed = (int)syscall(SYS_clock_gettime, which, time);
    if (!failed && which == CLOCK_REALTIME)
        time->tv_sec += jumps[__sync_fetch_and_add(&looks, 1) % 6];
    return failed;
}
";

/// Times are in `run.json` and in logs, and nothing depends on them.
#[test]
fn a_clock_that_jumps() {
    let work = work("share");
    work.write("clock.c", CLOCK);
    let library = work.path("clock.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(work.path("clock.c"))
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        crate::work::skip("there is no C compiler");
        return;
    }
    work.cfaudit(0, RUN);
    let expected = work.results();
    let jumping =
        |args: &str, status: i32| Ran::of(work.command(args).env("LD_PRELOAD", &library), status);
    jumping("run job.yaml --out jumped --cache other --log json --log-file log.jsonl", 0);
    assert_same(&expected, &results(&work.path("jumped")), "with a clock that jumps");
    let log = work.read("log.jsonl");
    let year =
        |time: &str| time.split('-').next().and_then(|year| year.parse::<u32>().ok()).unwrap_or(0);
    let years: Vec<u32> = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| year(line["ts"].as_str().unwrap()))
        .collect();
    assert!(years.windows(2).any(|pair| pair[1] < pair[0]), "the clock does not jump: {years:?}");
    let stages = work.json("jumped/run.json")["stages"].clone();
    let ms = stages.as_array().unwrap().iter().map(|stage| stage["ms"].as_u64().unwrap());
    assert!(ms.max().unwrap() < 600_000, "durations come from a clock that does not jump");
    // What one clock left another takes up.
    jumping(RUN, 0).says(&["nothing to do"]);
    jumping("gate out --baseline jumped", 0);
    work.cfaudit(0, "run job.yaml --out jumped --cache other").says(&["nothing to do"]);
}

/// The verb `gate` may be stopped too: the folder stays as it was.
#[test]
fn signals_while_a_folder_is_judged() {
    let work = work("share");
    work.cfaudit(0, "run job.yaml --out old --cache cache --set run.seed=1");
    work.cfaudit(0, RUN);
    let before = work.results();
    let mut stopped = 0;
    for (k, (signal, status)) in
        [("TERM", 143), ("INT", 130)].into_iter().cycle().take(8).enumerate()
    {
        let child =
            work.command(GATE).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(5 * k as u64));
        // It may have ended before.
        let _ = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        let output = child.wait_with_output().unwrap();
        let now = work.results();
        match output.status.code() {
            Some(0) => {
                assert!(now.contains_key("tables/changes.parquet"), "done and nothing written")
            }
            code => {
                // Before it listens a signal ends the process in the way of the system.
                assert!(
                    code.is_none() || code == Some(status),
                    "{signal}: {code:?} {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                stopped += 1;
            }
        }
        if !now.contains_key("tables/changes.parquet") {
            assert_same(&before, &now, "stopped while judging");
        }
    }
    assert!(stopped > 0, "no signal met a process");
    work.cfaudit(0, GATE);
    assert_tidy(&work);
}
