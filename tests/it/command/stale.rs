//! What makes a program run again: files, and variables of the environment, whose values stay
//! secret.

use std::fs;

use super::{N, WELL, canned, shell, with_command};
use crate::work::{Ran, Says, assert_same, files};

#[test]
fn a_changed_file_runs_the_stage_again_and_is_named() {
    let work = with_command(
        &shell(
            &WELL.replace("canned.arrow", "{model}"),
            ", model: canned.arrow, watch: [lib, '*.txt']",
        ),
        "",
    );
    fs::create_dir_all(work.path("lib/deep/__pycache__")).unwrap();
    for file in ["lib/deep/a.py", "lib/deep/__pycache__/a.pyc", "lib/.hidden", "b.txt"] {
        work.write(file, "1");
    }
    canned(&work, "canned.arrow", &[N]);
    work.run(0, "job.yaml", "");
    let inputs = work.json("out/manifest.json")["inputs"].to_string();
    assert!(
        ["canned.arrow", "lib/deep/a.py", "b.txt"].iter().all(|f| inputs.contains(f)),
        "{inputs}"
    );
    inputs.lacks(&["pyc"]);
    work.write("lib/deep/__pycache__/a.pyc", "2");
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    work.write("lib/deep/a.py", "2");
    let ran = work.run(0, "job.yaml", "");
    ran.says(&[
        "score/model=live: runs, `file lib/deep/a.py` changed from `6b86b273ff34` to \
         `d4735e3a265e`",
        "score/model=live/set=flip/attribute=sex: runs, `file lib",
    ]);
    ran.stderr.lacks(&["prepare: runs"]);
    canned(&work, "canned.arrow", &[7, N]);
    work.run(0, "job.yaml", "").says(&["score/model=live: runs, `file canned.arrow` changed"]);
    fs::remove_file(work.path("b.txt")).unwrap();
    work.run(3, "job.yaml", "")
        .says(&["error[missing-file]: no file matches `*.txt`", "--> job.yaml:17:"]);
}

#[test]
fn files_that_are_named_and_not_watched_are_pointed_out() {
    let work = with_command("{score: [sh, ./score.sh, canned.arrow], watch: [score.sh]}", "");
    work.write("score.sh", &WELL.replace("canned.arrow", "$1"));
    canned(&work, "canned.arrow", &[N]);
    let ran = work.run(0, "job.yaml", "");
    ran.says(&[
        "the command `models.live.command` names `canned.arrow`, but a change of that file will \
         not run it again: list it under `models.live.command.watch`",
    ]);
    ran.stderr.lacks(&["score.sh`, and"]);
}

#[test]
fn variables_are_passed_by_name_and_their_values_stay_secret() {
    const SECRET: &str = "tok-9f8e7d6c5b";
    let script = format!("echo $TOKEN > told; echo my token is $TOKEN >&2; env > env; {WELL}");
    let work = with_command(&shell(&script, ", pass_env: [TOKEN]"), "");
    canned(&work, "canned.arrow", &[N]);
    let args = "run job.yaml --out out --cache cache --log-file log";
    Ran::of(work.command(args).env_remove("TOKEN"), 3).says(&[
        "error[missing-variable]",
        "no variable `TOKEN`",
        "--> job.yaml:17:",
    ]);
    let ran = Ran::of(work.command(args).env("TOKEN", SECRET).env("OTHER", "other-value"), 0);
    assert_eq!(work.read("told"), format!("{SECRET}\n"));
    let env = work.read("env");
    env.says(&["LANG=C.UTF-8", "TZ=UTC"]);
    env.lacks(&["other-value"]);
    let log = work.read("log");
    log.says(&["my token is [TOKEN]"]);
    let mut written = files(&work.path("out"));
    written.extend(files(&work.path("cache")));
    written.insert("log".to_owned(), log.into_bytes());
    written.insert("stderr".to_owned(), ran.stderr.into_bytes());
    for (name, bytes) in written {
        assert!(
            !bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes()),
            "{name} holds the value"
        );
    }
}

/// A changed value of `pass_env` runs the program again; one of `secret_env` does not, and is found
/// nowhere.
#[test]
fn values_of_variables_make_scores_stale_and_secrets_do_not() {
    let script = format!("echo $MODEL $TOKEN >> told; {WELL}");
    let work = with_command(&shell(&script, ", pass_env: [MODEL], secret_env: [TOKEN]"), "");
    canned(&work, "canned.arrow", &[N]);
    let run = |status: i32, model: &str, token: &str, args: &str| {
        let mut command = work.command(&format!("{args} job.yaml --cache cache"));
        Ran::of(command.env("MODEL", model).env("TOKEN", token), status)
    };
    let last_call = || work.read("told").lines().last().unwrap().to_owned();
    run(0, "version-4711", "tok-first-1", "run --out out");
    assert_eq!(last_call(), "version-4711 tok-first-1");
    let before = work.results();
    let again = run(0, "version-4711", "tok-second-2", "run --out out");
    again.says(&["nothing to do"]);
    assert_eq!(last_call(), "version-4711 tok-first-1");
    let plan = run(0, "version-4712", "tok-second-2", "plan").stdout;
    plan.says(&["`environment MODEL` changed from"]);
    run(0, "version-4712", "tok-second-2", "run --out out")
        .says(&["score/model=live: runs, `environment MODEL` changed from"]);
    assert_eq!(last_call(), "version-4712 tok-second-2");
    run(0, "version-4711", "tok-second-2", "run --out out").says(&["nothing to do"]);
    assert_same(&before, &work.results(), "the first value again");
    for folder in ["out", "cache"] {
        for (name, bytes) in files(&work.path(folder)) {
            for value in ["version-471", "tok-first", "tok-second"] {
                assert!(
                    !bytes.windows(value.len()).any(|w| w == value.as_bytes()),
                    "{folder}/{name} holds `{value}`"
                );
            }
        }
    }
    let key = fs::metadata(work.path("cache/key")).unwrap();
    assert_eq!(
        (key.len(), std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777),
        (64, 0o600)
    );
    // Another cache hashes with another key, so that values cannot be reported by comparing.
    let hash = |cache: &str| {
        let of_job: serde_json::Value =
            serde_json::from_slice(&fs::read(work.path(cache).join("jobs/program.json")).unwrap())
                .unwrap();
        of_job["score/model=live"]["inputs"]["environment MODEL"].as_str().unwrap().to_owned()
    };
    let mut command = work.command("run job.yaml --out other --cache other-cache");
    Ran::of(command.env("MODEL", "version-4711").env("TOKEN", "tok-second-2"), 0);
    assert!(hash("cache").len() == 64 && hash("cache") != hash("other-cache"));
    let mut command = work.command("run job.yaml --out out --cache cache --force score");
    Ran::of(command.env("MODEL", "version-4711").env_remove("TOKEN"), 3).says(&[
        "error[missing-variable]",
        "no variable `TOKEN`",
        "remove it from `secret_env`",
    ]);
}

#[test]
fn values_stay_secret_in_what_is_cut_escaped_or_named_like_them() {
    // Neither the cut of the excerpt nor its escapes may come before the value is blanked; one
    // value begins with the other.
    let (short, long) = ("s3cr3t", "s3cr3t\nSUFFIX");
    for (script, words) in [
        ("printf %050d 0; printenv LONG", "0000000000[LONG]"),
        ("printf k=; printenv LONG", "begins with `k=[LONG]\\n`"),
        ("printf k=; printenv LONG | head -c 10", "begins with `k=[LONG]`"),
        ("printf k=$SHORT.", "begins with `k=[SHORT].`"),
        ("printenv LONG >&2; exit 1", "| [LONG]\n"),
    ] {
        let work = with_command(&shell(script, ", pass_env: [SHORT, LONG]"), "");
        let mut run = work.command("run job.yaml --out out --cache cache --log-file log");
        let ran = Ran::of(run.env("SHORT", short).env("LONG", long), 3);
        ran.says(&[words]);
        for text in [&ran.stderr, &work.read("log")] {
            text.lacks(&["s3cr", "SUFFIX"]);
        }
    }
}
