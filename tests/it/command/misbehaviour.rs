//! Programs that fail, hang, contradict themselves, or change what they were given.

use std::fs::{self};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use arrow::array::ArrayRef;

use super::{N, WELL, canned, drawn, outcomes, score, shell, stream, with_command};
use crate::batches::write_stream;
use crate::work::{Going, Says, batch, column};

/// Runs a job whose program does this; it must end with status 3 and these words, with the command,
/// and the line of the job.
#[track_caller]
fn refused(script: &str, code: &str, words: &[&str]) {
    let work = with_command(&shell(script, ", time_limit: 20s"), "");
    canned(&work, "canned.arrow", &[N]);
    canned(&work, "short.arrow", &[N - 1]);
    canned(&work, "long.arrow", &[N + 1]);
    let bad = |below: &str, value: ArrayRef, name: &str| {
        write_stream(&work.path(below), &[batch(vec![(name, value)])]);
    };
    let with = |i: usize, value: Option<f64>| {
        column((0..N).map(|k| if k == i { value } else { Some(0.5) }))
    };
    bad("nan.arrow", with(17, Some(f64::NAN)), "score");
    bad("null.arrow", with(18, None), "score");
    bad("high.arrow", with(2999, Some(1.5)), "score");
    bad("integer.arrow", column(vec![1_i64; N]), "score");
    bad("prob.arrow", with(0, Some(0.5)), "prob");
    let started = Instant::now();
    let ran = work.run(3, "job.yaml", "");
    assert!(started.elapsed() < Duration::from_secs(19), "the time limit ended it");
    ran.says(&[
        &format!("error[{code}]: the command of model `live` "),
        "\n  command: `sh -c ",
        "\n  --> job.yaml:17:",
        "\n  hint: ",
    ]);
    ran.says(words);
    assert!(!work.path("out").exists(), "something was published");
}

#[test]
fn every_misbehaviour_is_said() {
    refused(
        "cat > /dev/null; echo about to fail >&2; exit 9",
        "command-failed",
        &["failed with exit status 9", "\n  | about to fail"],
    );
    refused(
        "exit 1",
        "command-failed",
        &["failed with exit status 1", "wrote nothing to its standard error"],
    );
    refused("kill -9 $$", "command-failed", &["failed with signal 9 (SIGKILL)", "out of memory"]);
    refused(
        "cat > /dev/null",
        "bad-output",
        &["wrote nothing to its standard output", "pyarrow.ipc.new_stream"],
    );
    refused(
        "cat > /dev/null; echo Loading; cat canned.arrow",
        "bad-output",
        &["did not write an Arrow stream", "begins with `Loading\\n"],
    );
    refused("echo rubbish; sleep 15", "bad-output", &["begins with `rubbish\\n`"]);
    refused(
        "cat > /dev/null; head -c 3000 canned.arrow",
        "bad-output",
        &["incomplete stream: in the middle of a batch"],
    );
    refused("cat > /dev/null; cat short.arrow", "bad-output", &["wrote 2999 scores for 3000 rows"]);
    refused("cat > /dev/null; cat long.arrow", "bad-output", &["wrote more scores than the 3000"]);
    refused(
        "cat > /dev/null; cat canned.arrow canned.arrow",
        "bad-output",
        &["after the end of the stream"],
    );
    refused(
        "cat > /dev/null; cat prob.arrow",
        "bad-output",
        &["with `prob`, expected exactly one column, `score`"],
    );
    refused(
        "cat > /dev/null; cat integer.arrow",
        "bad-output",
        &["of type Int64, expected Float64"],
    );
    refused(
        "cat > /dev/null; cat nan.arrow",
        "bad-scores",
        &[
            "gave no score (null or NaN) for a row",
            "in row_id `1017` (score 17 of its output, from 0)\n",
        ],
    );
    refused(
        "cat > /dev/null; cat null.arrow",
        "bad-scores",
        &[
            "gave no score",
            "in row_id `1018` (score 18 of its output, from 0)\n",
            "ended with: exit status 0",
        ],
    );
    refused(
        "cat > /dev/null; cat high.arrow",
        "bad-scores",
        &["gave the score `1.5`, which is not in [0, 1]", "in row_id `3999` (score 2999 "],
    );
}

/// A program that gives other scores when it is asked again: its numbers are shown, and no gate on
/// it is decided.
#[test]
fn a_program_that_answers_otherwise_the_second_time() {
    let work = with_command(&shell(WELL, ""), "");
    canned(&work, "canned.arrow", &[N]);
    let gates = "gates:\n  few: {metric: sr, model: live, counterfactual: flip, at_most: 0.9}\n\
                 on_inconclusive: warn\n";
    let job = work.read("job.yaml");
    work.write("job.yaml", &format!("{job}{gates}"));
    let gate = || {
        let gates = work.table("gates");
        let row = gates.records().next().unwrap();
        [row.text("verdict"), row.text("reason")].map(str::to_owned)
    };
    let issue = || {
        let issues = work.table("issues");
        issues
            .of("code=not-repeatable")
            .next()
            .map(|row| (row.int("n").unwrap(), row.text("text").to_owned()))
    };
    work.run(0, "job.yaml", "");
    assert_eq!((gate()[0].as_str(), issue()), ("pass", None));
    let recheck = || work.json("out/manifest.json")["models"][0]["recheck"].clone();
    assert_eq!(
        (&recheck()["rows"], &recheck()["differ"], &recheck()["largest"]),
        (&100.into(), &0.into(), &0.0.into())
    );
    // Three of the answers are others, one of them by less than is reported.
    let others = drawn(77).into_iter().map(score).enumerate().map(|(i, score)| match i {
        3 => (score + 0.25) % 1.0,
        40 => score.mul_add(0.5, 0.1),
        77 => score * (1.0 - 1e-9),
        _ => score,
    });
    stream(&work, "again.arrow", others);
    work.run(0, "job.yaml", "--force recheck/model=live")
        .says(&["warning: not-repeatable: model `live` scored 100 rows twice"]);
    let [verdict, reason] = gate();
    assert!(
        verdict == "inconclusive"
            && reason.starts_with("not-repeatable: model `live` scored 100 rows twice"),
        "{verdict}: {reason}"
    );
    let (n, text) = issue().unwrap();
    assert!(n == 2 && text.contains("2 of the scores differ"), "{text}");
    work.read("out/annex.html").says(&["scored 100 rows twice", "and 2 of them differ"]);
    // The folder alone says so too.
    assert_eq!(work.cfaudit(0, "gate out").summary()["gates"]["inconclusive"], 1);
    // Unless the job accepts it by name.
    let job = work.read("job.yaml");
    work.write("job.yaml", &job.replace("  live:\n", "  live:\n    accept: [not-repeatable]\n"));
    work.run(0, "job.yaml", "").says(&["warning: not-repeatable: model `live`"]);
    assert_eq!(gate()[0], "pass");
}

/// The program does what anybody could do who writes to the input while a run reads it.
#[test]
fn an_input_that_changes_under_the_run() {
    let well = with_command(&shell(WELL, ""), "");
    canned(&well, "canned.arrow", &[N]);
    well.run(0, "job.yaml", "");
    let work = with_command(
        &shell(&format!("if test -e swap; then mv swap rows.parquet; fi; {WELL}"), ""),
        "",
    );
    canned(&work, "canned.arrow", &[N]);
    let rows = fs::read(work.path("rows.parquet")).unwrap();
    fs::write(work.path("swap"), [rows.as_slice(), b" "].concat()).unwrap();
    work.run(3, "job.yaml", "").says(&[
        "error[input-changed]: `rows.parquet` was replaced",
        "hint: ",
        "run again",
    ]);
    assert!(!work.path("out").exists(), "something was published");
    // Nothing of that stage was kept: with the rows back in place the numbers are those of an
    // undisturbed run.
    fs::write(work.path("rows.parquet"), &rows).unwrap();
    work.run(0, "job.yaml", "").says(&["score/model=live: runs, never run"]);
    assert_eq!(outcomes(&work), outcomes(&well));
}

#[test]
fn programs_that_cannot_start_or_do_not_end() {
    let check = |command: &str, words: &[&str]| {
        let work = with_command(command, "");
        let ran = work.run(3, "job.yaml", "");
        ran.says(words);
        ran.says(&["--> job.yaml:17:", "hint: "]);
    };
    check(
        "{score: [no-such-program]}",
        &["error[command-not-started]", "it is not in any folder of PATH"],
    );
    check(
        "{score: [./no-such-program]}",
        &[
            "error[command-not-started]",
            "the file, or the interpreter in its first line, does not exist",
        ],
    );
    check("{score: [./rows.parquet]}", &["error[command-not-started]", "is not executable"]);
    let started = Instant::now();
    check(
        &shell("sleep 60 & sleep 60", ", time_limit: 1s"),
        &["error[command-failed]", "did not end within its time limit of 1 s", "`time_limit`"],
    );
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_signal_ends_the_program_too() {
    let work = with_command(&shell("echo $$ > pid; sleep 300 & sleep 300", ""), "");
    let mut going = Going::start(&mut work.command("run job.yaml --out out --cache cache"));
    assert!(going.until(&["command.start"], "score/model=live"));
    let started = Instant::now();
    while !fs::read_to_string(work.path("pid")).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    going.signal("TERM");
    let (status, log) = going.end();
    assert_eq!(status.code(), Some(143), "{log}");
    assert!(started.elapsed() < Duration::from_secs(30));
    let group = format!("-{}", work.read("pid").trim());
    let alive = || {
        Command::new("kill")
            .args(["-0", "--", &group])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    while alive() {
        assert!(started.elapsed() < Duration::from_secs(40), "somebody is left");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!work.path("out").exists());
}
