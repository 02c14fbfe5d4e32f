//! What may befall a run: it is killed at any moment, two start at once, folders cannot be written. The bytes are the same in the end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::determinism::{assert_entries_are_whole, work};
use crate::work::{Files, Ran, Work, assert_same, files};

/// Numbers that look random and are the same in every run of the test.
struct Moments(u64);

impl Moments {
    /// A moment before `end`.
    fn next(&mut self, end: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        end.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Starts the program and kills it after a while; whether it was still running.
fn killed(work: &Work, args: &str, after: Duration) -> bool {
    let mut child = work.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// Nothing of a killed process stays beside the folder or in the cache.
#[track_caller]
fn assert_tidy(work: &Work) {
    let beside: Vec<String> = fs::read_dir(work.path("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!beside.iter().any(|name| name.starts_with(".out.") && !name.ends_with(".lock")), "left beside the folder: {beside:?}");
    assert_eq!(fs::read_dir(work.path("cache/tmp")).unwrap().count(), 0, "left in the cache");
}

const GATE: &str = "gate out --baseline old";

/// Kills a run of this job at so many moments; every third time the cache is gone too. Then the verb `gate` on what it left.
fn survives(job: &str, kills: usize, moments: &mut Moments) -> usize {
    let (reference, work) = (work(job), work(job));
    let run = "run job.yaml --out out --cache cache";
    for work in [&reference, &work] {
        work.cfaudit(0, "run job.yaml --out old --cache cache --set run.seed=1");
        fs::remove_dir_all(work.path("cache")).unwrap();
    }
    let started = Instant::now();
    reference.cfaudit(0, run);
    let (expected, time) = (reference.results(), started.elapsed());
    let mut met = 0;
    for i in 0..kills {
        if i % 3 == 0 && work.path("cache").exists() {
            fs::remove_dir_all(work.path("cache")).unwrap();
        }
        met += usize::from(killed(&work, run, moments.next(time)));
        if work.path("out").exists() {
            assert_same(&expected, &work.results(), &format!("{job} killed {} times: a folder is whole or absent", i + 1));
        }
        if work.path("cache").exists() {
            assert_entries_are_whole(&work.path("cache"));
        }
    }
    work.cfaudit(0, run);
    assert_same(&expected, &work.results(), &format!("{job} after {kills} kills"));
    assert_tidy(&work);

    let started = Instant::now();
    let ran = Ran::of(&mut reference.command(GATE), 0);
    let (judged, time) = (reference.results(), started.elapsed());
    for i in 0..kills.div_ceil(4) {
        met += usize::from(killed(&work, GATE, moments.next(time)));
        let now = work.results();
        let published = now.contains_key("tables/changes.parquet");
        assert_same(if published { &judged } else { &expected }, &now, &format!("{job}: gate killed {} times", i + 1));
    }
    assert_eq!(Ran::of(&mut work.command(GATE), 0).summary(), ran.summary());
    assert_same(&judged, &work.results(), &format!("{job}: gate after all"));
    assert_tidy(&work);
    met
}

/// A few random moments; `make kills` tries as many as `CFAUDIT_KILLS` says over jobs of every shape.
#[test]
fn a_run_killed_at_any_moment_ends_with_the_same_bytes() {
    let wanted: usize = std::env::var("CFAUDIT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut moments = Moments(20_261_121);
    if wanted == 0 {
        survives("no-label", 4, &mut moments);
        return;
    }
    let jobs = ["folds", "scores", "share", "keep", "no-label", "roles", "duplicates", "weights", "worlds", "worlds-folds"];
    let (mut met, mut tried) = (0, 0);
    for job in jobs.iter().cycle() {
        met += survives(job, 10, &mut moments);
        tried += 1;
        if met >= wanted {
            break;
        }
    }
    eprintln!("{met} kills met a running process, in {tried} rounds over {} jobs", jobs.len().min(tried));
}

/// Two start at the same moment: one waits for nobody and is told, or both find the same.
#[test]
fn two_runs_at_once_leave_one_result() {
    let work = work("share");
    let start = || work.command("run job.yaml --out out --cache cache").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (first, second) = (start(), start());
    let mut codes = [first, second].map(|child| child.wait_with_output().unwrap()).map(|output| output.status.code().unwrap());
    codes.sort_unstable();
    assert!(codes == [0, 5] || codes == [0, 0], "{codes:?}");
    let before = work.results();
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    assert_same(&before, &work.results(), "after two at once");
    assert_tidy(&work);
}

/// The program as somebody without rights on these folders: root may write everywhere, so it steps down.
fn as_nobody(work: &Work, args: &str) -> Option<Command> {
    let command = work.command(args);
    let is_root = fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0).unwrap_or(false);
    if !is_root {
        return Some(command);
    }
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(command.get_program()).args(command.get_args());
    nobody.current_dir(work.path("")).stdin(Stdio::null());
    // Nobody must be able to reach the program and the folder.
    let mut tried = Command::new("setpriv");
    tried.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(command.get_program()).arg("--version").current_dir(work.path(""));
    tried.output().is_ok_and(|output| output.status.success()).then_some(nobody)
}

fn set_mode(work: &Work, below: &str, mode: u32) {
    fs::set_permissions(work.path(below), fs::Permissions::from_mode(mode)).unwrap();
}

/// A finished folder that may not be written is judged and compared as long as nothing changes in it.
#[test]
fn folders_that_may_only_be_read() {
    let work = work("share");
    fs::create_dir(work.path("archive")).unwrap();
    work.cfaudit(0, "run job.yaml --out archive/a --cache cache");
    work.cfaudit(0, "run job.yaml --out archive/b --cache cache --set run.seed=2");
    let names = ["", "archive", "archive/a", "archive/a/tables", "archive/b"];
    names.iter().for_each(|name| set_mode(&work, name, 0o555));
    let before: Files = files(&work.path("archive"));
    let ran = |status: i32, args: &str| as_nobody(&work, args).map(|mut command| Ran::of(&mut command, status));
    let all = [
        ran(0, "gate archive/a"),
        ran(0, "diff archive/a archive/b"),
        ran(0, "export archive/a --to junit"),
        ran(0, "explain sr --in archive/a"),
    ];
    let refused = [
        ran(5, "gate archive/a --baseline archive/b"),
        ran(5, "diff archive/a archive/b --out archive/diff"),
        ran(5, "report archive/a --title other"),
        ran(5, "run job.yaml --out archive/a --cache off"),
        ran(5, "export archive/a --to csv --file archive/a.csv"),
    ];
    let after = files(&work.path("archive"));
    names.iter().for_each(|name| set_mode(&work, name, 0o755));
    if all.iter().chain(&refused).any(Option::is_none) {
        eprintln!("skipped in part: nobody else may run the program here");
    }
    for ran in refused.iter().flatten() {
        ran.says(&["error[operator]", "hint: "]);
    }
    assert_same(&before, &after, "folders that may only be read");
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
    for args in ["gate out", "diff out out --all", "diff out out --json --all", "export out --to csv"] {
        let status = work.command(args).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{args}");
    }
    if let Ok(full) = fs::File::options().write(true).open("/dev/full") {
        let status = work.command("diff out out --all").stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(5));
    }
}
