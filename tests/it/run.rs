//! `cfaudit run` and related verbs from outside: streams, exit statuses, what is published and what
//! is not touched.

use crate::frame::read_frame;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use cfaudit::exec::event::EVENT_NAMES;
use serde_json::Value as Json;

use crate::work::{Going, Ran, Says, Work, assert_same, files, results, sha256};

/// The demo with fewer rows.
const DEMO: &str = "jobs/demo.yaml";
const FEW: &str = "--set data.rows.synthetic.rows=3000";

#[test]
fn a_run_publishes_a_whole_folder_and_ends_with_its_summary() {
    let work = Work::with_jobs();
    let merged = File::create(work.path("merged")).unwrap();
    let mut command = work.command(&format!(
        "run {DEMO} --out out --cache cache {FEW} --summary-file line --log-file log"
    ));
    assert!(command.stdout(merged.try_clone().unwrap()).stderr(merged).status().unwrap().success());

    // Both streams in one file, as schedulers merge them: the summary is the last line.
    let merged = work.read("merged");
    let line = merged.lines().last().unwrap();
    assert!(line.len() < 4096 && merged.lines().count() > 20, "{merged}");
    let mut summary: Json = serde_json::from_str(line).unwrap();
    let keys: Vec<&String> = summary.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "cfaudit", "job", "run", "out", "verdict", "exit", "gates", "worst", "headline",
            "rows", "report"
        ]
    );
    let keys: Vec<&String> = summary["worst"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["gate", "metric", "value", "lo", "hi", "n", "limit", "verdict"]);
    let keys: Vec<&String> = summary["gates"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["pass", "fail", "inconclusive", "warn", "skipped"]);
    assert_eq!(
        [&summary["job"], &summary["out"], &summary["exit"], &summary["rows"]],
        [&Json::from("demo"), &"out".into(), &0.into(), &1200.into()]
    );
    assert_eq!(work.read("line"), format!("{line}\n"));
    summary.as_object_mut().unwrap().shift_remove("out");
    assert_eq!(work.json("out/summary.json"), summary);

    let names: Vec<String> = files(&work.path("out")).into_keys().collect();
    let tables = "counts filters gates groups issues metrics population score_shift support \
         support_counts";
    let tables = tables.split(' ').map(|of| format!(" tables/{of}.parquet")).collect::<String>();
    let others = "annex.html job.resolved.yaml logs/run.jsonl manifest.json report.html \
         rows/outcomes.parquet run.json summary.json";
    assert_eq!(names.join(" "), others.to_owned() + &tables);
    assert_manifest_is_right(&work);
    for log in ["log", "out/logs/run.jsonl"] {
        assert_log(&work.read(log));
    }
    let page = work.read("out/annex.html");
    assert!(page.len() < 1 << 20 && page.starts_with("<!") && page.trim_end().ends_with("</html>"));
    // The page asks the network for nothing.
    page.lacks(&["<script", "<link", "src=\"http", "url(http", "@import"]);
}

/// The manifest names the hash of every other file that does not vary.
#[track_caller]
fn assert_manifest_is_right(work: &Work) {
    let mut found = work.results();
    found.remove("manifest.json");
    let hashes: serde_json::Map<String, Json> =
        found.into_iter().map(|(name, bytes)| (name, sha256(&bytes).into())).collect();
    let manifest = work.json("out/manifest.json");
    assert_eq!(manifest["files"], Json::Object(hashes));
    let policies = serde_json::json!({"who_counts": 2, "intervals": 2, "starts": 2});
    assert_eq!(manifest["policies"], policies);
}

/// A mistake after `--until` is reported before anything is logged or made.
#[test]
fn a_stage_that_no_run_has_is_refused_at_once() {
    let work = Work::with_jobs();
    let ran = work.cfaudit(2, &format!("run {DEMO} --until BOGUS --out out --cache cache"));
    ran.says(&["error[unknown-stage]: there is no stage `BOGUS`"]);
    ran.stderr.lacks(&["job demo, run"]);
    assert!(!work.path("out").exists() && !work.path("cache").exists());
}

/// Lines are objects with known names of events, in the order of a run.
#[track_caller]
fn assert_log(text: &str) {
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert!(EVENT_NAMES.contains(&line["event"].as_str().unwrap()), "{line}");
        assert!(
            ["ts", "level", "job", "run", "text"].iter().all(|key| line[key].is_string()),
            "{line}"
        );
    }
    assert_eq!(lines[0]["event"], "run.start");
    assert!(lines.iter().filter(|line| line["event"] == "stage.end").count() > 10);
}

#[test]
fn a_second_run_does_nothing() {
    let work = Work::with_jobs();
    let first = work.run(0, DEMO, FEW);
    let (before, log) = (work.results(), work.json("out/run.json"));
    let modified = || fs::metadata(work.path("out/manifest.json")).unwrap().modified().unwrap();
    let time = modified();
    std::thread::sleep(Duration::from_millis(20));
    let second = work.run(0, DEMO, FEW);
    second.says(&["nothing to do"]);
    assert_eq!(first.stdout, second.stdout);
    assert_same(&before, &work.results(), "a second run");
    assert_eq!(modified(), time);
    let again = work.json("out/run.json");
    assert_ne!(log, again);
    assert_eq!(again["stages_run"], 0);
    assert_eq!(again["stages_cached"], log["stages_run"]);

    // A changed limit runs the last two stages alone, and says why.
    let third = work.run(0, DEMO, &format!("{FEW} --set gates.few-switches.at_most=0.5"));
    third.says(&["gate: runs, ", "report: runs, "]);
    assert_eq!(work.json("out/run.json")["stages_run"], 2);
    // So does --force, with the stages behind it.
    work.run(0, DEMO, &format!("{FEW} --force measure"));
    assert_same(&before, &work.results(), "a forced run");
}

/// `-C DIR` resolves every path from there, as in make and git.
#[test]
fn a_run_may_start_elsewhere() {
    let work = Work::with_jobs();
    work.cfaudit(0, "-C jobs check demo.yaml --no-data");
    work.cfaudit(5, "-C nowhere check demo.yaml").says(&["cannot enter `nowhere`", "`-C`"]);
    work.cfaudit(2, "-C . check jobs/none.yaml").says(&["`jobs/none.yaml`"]);
}

#[test]
fn quiet_prints_nothing_on_success() {
    let work = Work::with_jobs();
    let kept = "--set gates.no-harm-to-women.at_most=0.9 --set gates.few-switches.at_most=0.9 \
                --set gates.four-fifths.at_least=0.01";
    let ran = work.run(0, DEMO, &format!("{FEW} {kept} --quiet"));
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    // A gate that sees harm to one group only is a warning of `check`.
    let both_sides = "--set gates.four-fifths.between=worst_case";
    for verb in [
        format!("check {DEMO} {FEW} {both_sides}"),
        format!("plan {DEMO} {FEW}"),
        format!("data {DEMO} {FEW}"),
        "gate out".to_owned(),
    ] {
        let cache = if verb.starts_with("gate") { "" } else { " --cache cache" };
        let ran = work.cfaudit(0, &format!("{verb}{cache} --quiet"));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{verb}");
        assert!(!work.cfaudit(0, &format!("{verb}{cache}")).stdout.is_empty(), "{verb}");
    }
    // A gate that is broken is told, whatever its level is, and by `gate` too.
    for verb in [format!("run {DEMO} {FEW} --out out --cache cache"), "gate out".to_owned()] {
        let ran = work.cfaudit(0, &format!("{verb} --quiet"));
        assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("", 2), "{verb}");
        ran.says(&["gates.few-switches: fail: ", "gates.no-harm-to-women: fail: "]);
    }
    // What a program asks for is not a noise, and what a person must act on is reported.
    assert!(
        work.cfaudit(0, &format!("plan {DEMO} {FEW} --cache cache --quiet --json"))
            .stdout
            .starts_with('{')
    );
    let demo = work.read(DEMO);
    let gate = "gates:\n  drift: {metric: sr, model: scorecard, counterfactual: world, against: \
                baseline, rise_at_most: 0.1}\n";
    let world = "  flip: {naive: {}}\n  world: {greedy: {condition_on: label}}\n";
    let job = demo.replacen("gates:\n", gate, 1).replacen("  flip: {naive: {}}\n", world, 1);
    work.write("jobs/drift.yaml", &job);
    let stdout =
        work.cfaudit(0, &format!("check jobs/drift.yaml {both_sides} --no-data --quiet")).stdout;
    assert!(
        stdout.starts_with("warning[refitted-gate]: ") && stdout.lines().count() == 3,
        "{stdout}"
    );
    let failed = work.run(1, "jobs/gate-demo.yaml", &format!("{FEW} --quiet --replace"));
    assert_eq!(failed.summary()["verdict"], "fail");
}

/// The demo with a million rows does not fit 240 MB of addresses: the standard library says how
/// much it could not allocate, and the status is that of an operator.
#[cfg(target_os = "linux")]
#[test]
fn an_allocation_that_fails_ends_with_5() {
    let work = Work::with_jobs();
    let rows = "--cache off --threads 1 --set data.rows.synthetic.rows=20000";
    let run_within = |kilobytes: u32| {
        let out = format!("out-{kilobytes}");
        let run = work.command(&format!("run {DEMO} --out {out} {rows}"));
        let mut bounded = Command::new("sh");
        let limit = format!("ulimit -v {kilobytes} && exec \"$0\" \"$@\"");
        bounded.args(["-c", &limit]).arg(run.get_program()).args(run.get_args());
        // One arena: what threads reserve without using it does not count.
        bounded.env("MALLOC_ARENA_MAX", "1").current_dir(work.path(".")).stdin(Stdio::null());
        let ran = bounded.output().unwrap();
        assert_eq!(work.path(&out).exists(), ran.status.success(), "only a success is published");
        ran
    };
    // What a run needs depends on the build and the machine: the limit is searched for.
    let (mut least, mut most) = (1_000, 1_000_000);
    assert!(run_within(most).status.success());
    while most - least > 1_000 {
        let limit = least.midpoint(most);
        *(if run_within(limit).status.success() { &mut most } else { &mut least }) = limit;
    }
    // With less, an allocation of the program fails, or a library or the loader, in its own way.
    let mut limits = (1..=20).map(|step| most - 1_000 * step);
    let is_told =
        |stderr: &str| stderr.contains("memory allocation of ") && stderr.contains(" failed");
    let status = limits.find_map(|limit| {
        let ran = run_within(limit);
        is_told(&String::from_utf8_lossy(&ran.stderr)).then(|| ran.status.code())
    });
    assert_eq!(status, Some(Some(5)));
}

/// The words of the page change no number: only what shows them is made again.
#[test]
fn words_of_the_page_make_no_numbers_again() {
    let work = Work::with_jobs();
    work.cfaudit(0, &format!("run {DEMO} {FEW} --out out --cache cache"));
    let demo = work.read(DEMO);
    let plain = "reference: Male, words: {Male: men, Female: women}}";
    let called = "reference: Male, called: gender, words: {Male: gentlemen, Female: ladies}}";
    let worded = demo.replacen(plain, called, 1).replacen("object: the loan", "object: credit", 1);
    assert_eq!(worded.lines().count(), demo.lines().count());
    let renamed = worded.contains("gender") && worded.contains("object: credit");
    assert!(renamed, "{worded}");
    work.write("jobs/worded.yaml", &worded);
    let plan = work.cfaudit(0, &format!("plan jobs/worded.yaml {FEW} --cache cache --json"));
    let plan: Json = serde_json::from_str(&plan.stdout).unwrap();
    let stages = plan["stages"].as_array().unwrap().iter();
    let to_run = stages.filter(|stage| stage["cached"] == false).map(|stage| &stage["id"]);
    assert_eq!(to_run.collect::<Vec<_>>(), ["report"]);
    work.cfaudit(0, &format!("run jobs/worded.yaml {FEW} --out worded --cache cache"));
    work.read("worded/report.html").says(&["ladies would be granted credit"]);
}

/// Rows of people are only for their owner regardless of the umask; what others are to read follows
/// it.
#[cfg(unix)]
#[test]
fn modes_of_what_is_written() {
    use std::os::unix::fs::PermissionsExt;
    for (umask, file, folder) in [("000", 0o666, 0o777), ("027", 0o640, 0o750)] {
        let work = Work::with_jobs();
        let args = format!("run {DEMO} --out out --cache here/cache {FEW}");
        let script = format!("umask {umask}; exec '{}' {args}", env!("CARGO_BIN_EXE_cfaudit"));
        Ran::of(Command::new("sh").current_dir(work.path("")).args(["-c", &script]), 0);
        let mut open = vec![work.path("out"), work.path("here")];
        let (mut private, mut public) = (0, 0);
        while let Some(path) = open.pop() {
            let meta = fs::metadata(&path).unwrap();
            let below = path.strip_prefix(work.path("")).unwrap().to_str().unwrap().to_owned();
            let is_private = below.starts_with("here/cache") || below.starts_with("out/rows");
            let expected = match (is_private, meta.is_dir()) {
                (true, true) => 0o700,
                (true, false) => 0o600,
                (false, true) => folder,
                (false, false) => file,
            };
            *(if is_private { &mut private } else { &mut public }) += 1;
            assert_eq!(
                format!("{:o}", meta.permissions().mode() & 0o777),
                format!("{expected:o}"),
                "{below} with umask {umask}"
            );
            if meta.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        assert!(
            private > 40 && public > 10 && work.path("out/rows/outcomes.parquet").exists(),
            "{private} and {public}"
        );
    }
}

#[test]
fn json_logs_hold_known_events_only() {
    let work = Work::with_jobs();
    let ran = work.run(0, DEMO, &format!("{FEW} --log json -v"));
    assert_log(&ran.stderr);
    let names = ["run.start", "stage.start", "stage.end", "gate.verdict", "run.end"];
    ran.says(&names.map(|name| format!("\"event\":\"{name}\"")).each_ref().map(String::as_str));
    work.run(0, DEMO, &format!("{FEW} --log json -v")).says(&["\"event\":\"stage.cached\""]);
    let failed = work.run(
        3,
        DEMO,
        "--log json --set data.rows.synthetic.rows=3000 --set data.label.positive=[7]",
    );
    failed.says(&["\"event\":\"problem\"", "\"code\":\"unknown-label-value\""]);
    assert!(failed.stderr.lines().last().unwrap().contains("\"code\":\"3\""), "{}", failed.stderr);
}

#[test]
fn a_failed_gate_ends_with_1_unless_gates_only_report() {
    let work = Work::with_jobs();
    let job = "jobs/gate-demo.yaml";
    assert_eq!(work.run(1, job, FEW).summary()["exit"], 1);
    let results = work.results();
    let reported = work.run(0, job, &format!("{FEW} --gates report")).summary();
    assert_eq!(
        [&reported["exit"], &reported["verdict"], &reported["gates"]["fail"]],
        [&Json::from(0), &"fail".into(), &1.into()]
    );
    assert_same(&results, &work.results(), "--gates report");
}

#[test]
fn until_stops_there_and_publishes_nothing() {
    let work = Work::with_jobs();
    let ran = work.run(0, DEMO, &format!("{FEW} --until measure"));
    ran.says(&["nothing published"]);
    assert_eq!(ran.summary()["verdict"], "unfinished");
    assert!(!work.path("out").exists());
    work.run(2, DEMO, &format!("{FEW} --until nonsense"))
        .says(&["`nonsense`", "hint: known are `prepare`"]);
    work.run(2, DEMO, &format!("{FEW} --force nonsense"))
        .says(&["`nonsense`", "hint: known are `prepare`"]);
    work.run(0, DEMO, FEW);
    let done = work.json("out/run.json")["stages_run"].as_u64().unwrap();
    assert!(done <= 2, "{done} stages ran again");
}

#[test]
fn folders_of_others_are_left_alone() {
    let work = Work::with_jobs();
    work.run(0, DEMO, FEW);
    let before = work.results();
    work.run(5, "jobs/gate-demo.yaml", FEW).says(&["the results of the job `demo`", "--replace"]);
    assert_same(&before, &work.results(), "a refused folder");
    work.run(1, "jobs/gate-demo.yaml", &format!("{FEW} --replace"));
    assert_eq!(work.json("out/manifest.json")["job"], "gate-demo");

    let strange = work.path("strange");
    fs::create_dir(&strange).unwrap();
    work.write("strange/thesis.txt", "three years of work");
    let before = files(&strange);
    for replace in ["", "--replace"] {
        let refused =
            work.cfaudit(5, &format!("run {DEMO} {FEW} --out strange --cache cache {replace}"));
        refused.says(&["`strange`", "hint: give another folder with `--out`"]);
        assert_same(&before, &files(&strange), "a folder that is not ours");
    }
    work.cfaudit(5, &format!("run {DEMO} {FEW} --out jobs/demo.yaml/out --cache cache"))
        .says(&["jobs/demo.yaml"]);
}

#[test]
fn one_run_at_a_time_writes_a_folder() {
    let work = Work::with_jobs();
    let mut first =
        Going::start(&mut work.command(&format!("run {DEMO} {FEW} --out out --cache cache")));
    assert!(first.until(&["stage.start"], "prepare"));
    first.signal("STOP");
    work.run(5, DEMO, FEW).says(&["is writing to it", "hint: wait until that run ends"]);
    // Another folder may be written meanwhile, with the same cache.
    work.cfaudit(0, &format!("run {DEMO} {FEW} --out other --cache cache"));
    first.signal("CONT");
    assert!(first.end().0.success());
    assert_same(&work.results(), &results(&work.path("other")), "two runs with one cache");
}

#[test]
fn a_page_can_be_rendered_again() {
    let work = Work::with_jobs();
    work.run(0, DEMO, FEW);
    let before = work.results();
    let nsr = work.cfaudit(0, "explain NSR --in out").stdout;
    nsr.says(&["formula: ", "in out:", "Female -> Male", " of "]);
    work.cfaudit(0, "explain few-switches --in out").stdout.says(&["at_most, interval 0.02"]);
    work.cfaudit(0, "explain cddpl --in out").stdout.says(&["`cddpl` was not measured in out"]);
    work.cfaudit(2, "explain prepare --in out")
        .says(&["`prepare` is neither a metric nor a gate", "hint: "]);
    work.cfaudit(0, "report out");
    assert_same(&before, &work.results(), "the same title");
    Ran::of(work.command("report out --title").arg("Of <b>mice</b> & men"), 0);
    let page = work.read("out/annex.html");
    page.says(&["Of &lt;b&gt;mice&lt;"]);
    page.lacks(&["<b>mice"]);
    assert_manifest_is_right(&work);
    let mut changed = work.results();
    changed.retain(|name, bytes| before.get(name) != Some(bytes));
    assert_eq!(changed.keys().collect::<Vec<_>>(), ["annex.html", "manifest.json", "report.html"]);
    for table in ["counts", "metrics", "issues"] {
        let path = work.path(&format!("out/tables/{table}.parquet"));
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        work.cfaudit(5, "report out")
            .says(&[&format!("`out/tables/{table}.parquet`: it does not exist"), "hint: "]);
        let mut changed = bytes.clone();
        changed[10] ^= 1;
        fs::write(&path, changed).unwrap();
        work.cfaudit(5, "report out")
            .says(&[&format!("`out/tables/{table}.parquet`: its content differs"), "hint: "]);
        fs::write(&path, bytes).unwrap();
    }
    let manifest = fs::read(work.path("out/manifest.json")).unwrap();
    work.write("out/manifest.json", "{\"cfaudit\": 1");
    work.cfaudit(5, "report out").says(&["`out/manifest.json`", "hint: the folder was changed"]);
    fs::write(work.path("out/manifest.json"), manifest).unwrap();
    work.cfaudit(0, "report out");
    work.cfaudit(5, "report jobs").says(&["manifest.json", "hint: name a finished output folder"]);
    work.cfaudit(5, "report nowhere").says(&["`nowhere`"]);
}

#[test]
fn words_are_explained() {
    let work = Work::new();
    let nsr = work.cfaudit(0, "explain nsr").stdout;
    nsr.says(&["formula: ", "source: ", "unit: a share, printed in per cent"]);
    for word in ["prepare", "metrics", "metrics.value", "3", "unknown-group", "NSR"] {
        assert!(!work.cfaudit(0, &format!("explain {word}")).stdout.is_empty());
    }
    work.cfaudit(5, "explain nsr --in nowhere")
        .says(&["`nowhere`", "hint: name a finished output folder"]);
    work.cfaudit(2, "explain nsrr").says(&["`nsrr`", "hint: did you mean `nsr`?"]);
    work.cfaudit(2, "explain xyzzyplugh").says(&["hint: `cfaudit explain` lists all words"]);
}

#[test]
fn command_lines_that_are_wrong_end_with_2() {
    let work = Work::with_jobs();
    for args in [
        "",
        "walk",
        "run",
        "run jobs/demo.yaml --threads 0",
        "run jobs/demo.yaml --threads 60000",
        "run jobs/demo.yaml --batch-rows 1000",
        "run jobs/demo.yaml --memory 1kB",
    ] {
        let ran = work.cfaudit(2, args);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args}");
    }
    work.run(2, "jobs/nowhere.yaml", "").says(&["jobs/nowhere.yaml", "hint: "]);
    work.run(2, DEMO, "--set models.scorecard.nonsense=1").says(&["--set"]);
    work.cfaudit(2, "check jobs/demo.yaml --no-data --set gates.few-switches.metric=psrr")
        .says(&["`psrr`", "hint: "]);
    assert!(!work.path("out").exists());
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let work = Work::with_jobs();
    for args in [
        "explain",
        "schema job",
        &format!("run {DEMO} {FEW} --out out --cache cache"),
        &format!("run {DEMO} {FEW} --out out2 --cache cache"),
    ] {
        // The reading ends are closed before the program writes a byte.
        let closed = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let status = work.command(args).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{args}");
    }
}

#[test]
fn a_wrong_variable_is_named() {
    let work = Work::with_jobs();
    let run = format!("run {DEMO} {FEW} --out out --cache cache");
    Ran::of(work.command(&run).env("CFAUDIT_THREADS", "abc"), 2).says(&["CFAUDIT_THREADS"]);
    // A flag on the command line wins, and is named.
    let ran = Ran::of(work.command(&format!("{run} --threads x")).env("CFAUDIT_THREADS", "2"), 2);
    ran.stderr.lacks(&["CFAUDIT_THREADS"]);
}

#[test]
fn a_full_disk_is_no_success() {
    let Ok(mut full) = File::options().write(true).open("/dev/full") else {
        crate::work::skip("no /dev/full here");
        return;
    };
    assert!(full.write_all(b"x").is_err());
    let work = Work::with_jobs();
    let mut command = work.command(&format!("run {DEMO} {FEW} --out out --cache cache"));
    assert_eq!(command.stdout(full).stderr(Stdio::null()).status().unwrap().code(), Some(5));
}

#[test]
fn signals_end_a_run_and_leave_the_old_folder() {
    let work = Work::with_jobs();
    work.run(0, DEMO, &format!("{FEW} --set run.seed=1"));
    let before = work.results();
    let many = "--set data.rows.synthetic.rows=50000";
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        let mut going =
            Going::start(&mut work.command(&format!("run {DEMO} {many} --out out --cache cache")));
        // Each signal meets a stage that the one before it had not reached.
        assert!(going.until(
            &["stage.start"],
            if signal == "TERM" { "prepare" } else { "train/model=scorecard" }
        ));
        going.signal(signal);
        let (ended, log) = going.end();
        assert_eq!(ended.code(), Some(status), "{log}");
        log.says(&["the output folder is as it was before", &format!("\"code\":\"{status}\"")]);
        assert_same(&before, &work.results(), signal);
        assert_eq!(
            fs::read_dir(work.path("cache/tmp")).unwrap().count(),
            0,
            "an unfinished result stays in the cache"
        );
    }
    work.run(0, DEMO, many);
    assert_ne!(before["manifest.json"], work.results()["manifest.json"]);
}

#[test]
fn the_cache_may_be_off_or_deleted() {
    let work = Work::with_jobs();
    work.run(0, DEMO, FEW);
    let before = work.results();
    fs::remove_dir_all(work.path("cache")).unwrap();
    work.run(0, DEMO, FEW);
    assert_same(&before, &work.results(), "a deleted cache");
    work.cfaudit(0, &format!("run {DEMO} {FEW} --out out --cache off"));
    assert_same(&before, &work.results(), "no cache");
    assert!(
        !work.path("outputs/.cache/tmp").exists()
            || fs::read_dir(work.path("outputs/.cache/tmp")).unwrap().count() == 0
    );

    // An entry whose bytes are gone is made again.
    let key = work.json("out/run.json")["stages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["id"] == "measure")
        .unwrap()["key"]
        .clone();
    let key = key.as_str().unwrap();
    File::create(work.path(&format!("cache/{}/{key}/metrics.parquet", &key[..2]))).unwrap();
    work.run(0, DEMO, FEW).says(&["measure: runs, "]);
    assert_same(&before, &work.results(), "a damaged cache");
}

#[test]
fn help_and_version_go_to_stdout() {
    let work = Work::new();
    for args in ["--help", "run --help", "--version"] {
        let ran = work.cfaudit(0, args);
        assert!(ran.stdout.contains("cfaudit") && ran.stderr.is_empty(), "{args}");
    }
}

/// Two models on the same people: differences of what each has by itself, in table and report; none
/// unless asked for.
#[test]
fn models_are_compared() {
    let work = Work::with_jobs();
    work.run(0, DEMO, FEW);
    let tables = work.path("out/tables");
    assert!(!tables.join("comparisons.parquet").exists());
    work.read("out/annex.html").lacks(&["One model against another"]);
    work.run(0, DEMO, &format!("{FEW} --set metrics.compare.blind=scorecard"));
    let (metrics, comparisons) =
        (read_frame(&tables, "metrics"), read_frame(&tables, "comparisons"));
    let (mut intervals, mut sets) = (0, std::collections::BTreeSet::new());
    for c in comparisons.records() {
        let of = |model: &str| {
            let key = ["counterfactual", "sensitive", "scope", "from_group", "to_group", "metric"];
            metrics
                .records()
                .find(|m| {
                    m.text("model") == model
                        && key.iter().all(|column| m.text(column) == c.text(column))
                })
                .unwrap()
                .real("value")
        };
        c.holds("model=blind, against=scorecard");
        assert_eq!(
            (c.real("model_value"), c.real("against_value")),
            (of("blind"), of("scorecard"))
        );
        assert_eq!(c.real("difference"), of("blind").zip(of("scorecard")).map(|(x, y)| x - y));
        intervals += usize::from(c.real("lo").is_some());
        sets.insert(c.text("counterfactual").to_owned());
    }
    assert!(intervals > 50 && sets.len() > 1, "{intervals} intervals, sets {sets:?}");
    work.read("out/annex.html").says(&["One model against another"]);
    let expected = work.results();
    work.cfaudit(
        0,
        &format!(
            "run {DEMO} {FEW} --set metrics.compare.blind=scorecard --out other \
             --cache other-cache --threads 3"
        ),
    );
    assert_same(&expected, &results(&work.path("other")), "other threads");
}

/// Score metrics of 200,000 people have the intervals of few; their switch rates have a placebo band.
#[test]
fn many_people() {
    let work = Work::with_jobs();
    let many = "--set data.rows.synthetic.rows=203000 --set data.split.share.train=0.01 --set \
                data.split.share.audit=0.99 --set run.keep_rows=none --set \
                counterfactuals.flip.placebo.repeats=20";
    work.run(0, DEMO, many);
    let metrics = work.table("metrics");
    let of = |id: &str, scope: &str| {
        metrics.at(&format!("metric={id}, scope={scope}, model=scorecard, counterfactual=flip"))
    };
    for id in ["rmscd", "mcd", "macd", "kld", "jscd"] {
        for scope in ["direction", "total", "difference"] {
            let row = of(id, scope);
            let is_plain = id == "mcd" || scope == "difference";
            let expected = if is_plain { "student" } else { "log-student" };
            row.holds(&format!("interval={expected}"));
            let (lo, value, hi) =
                (row.real("lo").unwrap(), row.real("value").unwrap(), row.real("hi").unwrap());
            assert!(
                lo < value && value < hi && hi - lo < 0.2 * value.abs().max(0.001),
                "{id} {scope}: {lo} {value} {hi}"
            );
        }
    }
    assert_eq!(of("rmscd", "total").int("n_rows"), Some(200_970));
    let band = |id: &str| {
        (
            of(id, "total").real("placebo_lo"),
            of(id, "total").real("placebo_hi"),
            of(id, "total").int("placebo_repeats"),
        )
    };
    assert_eq!(band("sr"), (Some(0.0), Some(0.0), Some(20)));
    assert_eq!(band("pcp"), (Some(1.0), Some(1.0), Some(20)));
    assert_eq!(band("p2nr"), (None, None, Some(20)));
    metrics.at("metric=acc").holds("placebo_lo=, placebo_repeats=");
    work.read("out/annex.html").says(&["its noise floor is zero"]);
    work.same_bytes(0, &format!("{DEMO} {many}"), &["--threads 8 --batch-rows 3072"]);
}
