//! What must not be lost, overwritten or taken for something else: results of another program,
//! files of users, damaged folders, paths that lead out of a folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cfaudit::exec::source_fingerprint;
use serde_json::Value as Json;

use crate::work::{Work, assert_same, files, root, sha256};

const DEMO: &str = "jobs/gate-demo.yaml";
const FEW: &str = "--set data.rows.synthetic.rows=1000 --gates report";

/// A finished folder `out`, with its cache.
fn finished() -> Work {
    let work = Work::with_jobs();
    work.run(0, DEMO, FEW);
    work
}

/// Results of another program are never read: the fingerprint of the sources is in every key,
/// and in no published file but `run.json`.
#[test]
fn the_cache_is_bound_to_the_program() {
    let expected = source_fingerprint::fingerprint(&source_fingerprint::files(root()).unwrap());
    let work = finished();
    assert_eq!(
        work.json("out/run.json")["code"],
        expected,
        "the embedded fingerprint is not that of this tree"
    );
    let mut n = 0;
    for (name, bytes) in files(&work.path("cache")) {
        if name.ends_with("/stage.json") {
            let stage: Json = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(stage["code"], expected, "{name}");
            n += 1;
        }
    }
    assert!(n > 5, "{n} stages");
    for (name, bytes) in work.results() {
        assert!(
            !bytes.windows(64).any(|text| text == expected.as_bytes()),
            "{name} holds the fingerprint of the program"
        );
    }
}

/// Replaces a text in the manifest of `out`.
fn edit_manifest(work: &Work, change: impl FnOnce(&mut Json)) {
    let mut manifest = work.json("out/manifest.json");
    change(&mut manifest);
    work.write("out/manifest.json", &serde_json::to_string_pretty(&manifest).unwrap());
}

/// A manifest that names a file outside of its folder is refused by all who read it, and that file
/// stays as it is.
#[test]
fn paths_of_a_manifest_do_not_lead_out_of_its_folder() {
    let secret = "nobody may touch this";
    let absolute = |work: &Work| work.path("secret.txt").to_str().unwrap().to_owned();
    for name in [
        None,
        Some("../secret.txt"),
        Some("tables/../../secret.txt"),
        Some("manifest.json"),
        Some("./report.html"),
    ] {
        let work = finished();
        work.cfaudit(0, &format!("run {DEMO} {FEW} --out sound --cache cache --set run.seed=2"));
        work.write("secret.txt", secret);
        let name = name.map_or_else(|| absolute(&work), str::to_owned);
        edit_manifest(&work, |manifest| {
            manifest["files"]
                .as_object_mut()
                .unwrap()
                .insert(name.clone(), sha256(secret.as_bytes()).into());
        });
        let before = files(&work.path("out"));
        for args in [
            "report out",
            "gate out",
            "gate out --baseline sound",
            "gate sound --baseline out",
            "diff out sound",
            "export out --to junit",
            "verify out",
            "pack out --file out.zip",
            "explain demp_difference --in out",
            &format!("run {DEMO} {FEW} --out fresh --cache cache --baseline out"),
        ] {
            work.cfaudit(5, args).says(&[
                "manifest.json",
                "which is not the path of a file inside the folder",
                "hint: ",
            ]);
            assert_eq!(work.read("secret.txt"), secret, "{args}");
            assert_same(&before, &files(&work.path("out")), args);
        }
    }
}

/// Every reader of a folder verifies what it reads and what it passes on.
#[test]
fn readers_of_a_folder_verify_it() {
    let work = finished();
    let spoil = |name: &str| {
        let sound = fs::read(work.path(&format!("out/{name}"))).unwrap();
        let mut bytes = sound.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(work.path(&format!("out/{name}")), bytes).unwrap();
        sound
    };
    let mend =
        |name: &str, sound: &[u8]| fs::write(work.path(&format!("out/{name}")), sound).unwrap();
    let readers = [
        "report out --title other",
        "pack out --file out.zip",
        "gate out",
        "diff out out",
        "export out --to junit",
        "explain demp_difference --in out",
    ];
    for (name, readers) in [
        ("tables/metrics.parquet", &readers[..]),
        ("tables/gates.parquet", &readers),
        ("summary.json", &readers[..5]),
        ("job.resolved.yaml", &readers[..5]),
        // Not read, but it would get a manifest in which its wrong bytes are right.
        ("rows/outcomes.parquet", &readers[..2]),
    ] {
        let sound = spoil(name);
        for args in readers {
            work.cfaudit(5, args).says(&[
                name,
                "its content differs from its entry in manifest.json",
                "hint: ",
            ]);
        }
        mend(name, &sound);
    }
    // A table that nobody lists.
    fs::copy(work.path("out/tables/metrics.parquet"), work.path("out/tables/comparisons.parquet"))
        .unwrap();
    work.cfaudit(5, "report out").says(&["comparisons.parquet", "manifest.json does not list it"]);
    fs::remove_file(work.path("out/tables/comparisons.parquet")).unwrap();
    work.cfaudit(0, "explain demp_difference --in out");
    work.cfaudit(0, "report out");
}

/// A file that a flag names is written only where nothing else is lost.
#[test]
fn flags_overwrite_no_input() {
    let work = finished();
    work.write("data.csv", "a,b\n1,2\n");
    work.write("model.json", "{\"auc\": 0.91, \"loss\": 0.3}");
    work.cfaudit(0, &format!("run {DEMO} {FEW} --out sound --cache cache --set run.seed=2"));
    let run = format!("run {DEMO} {FEW} --out out --cache cache --baseline sound");
    let before = files(&work.path(""));
    let refused = |args: &str| {
        work.cfaudit(5, args).says(&["error[operator]: cannot write", "hint: name a"]);
        assert_same(&before, &files(&work.path("")), args);
    };
    for file in [
        DEMO,
        "data.csv",
        "model.json",
        "out/manifest.json",
        "out/tables/gates.parquet",
        "sound/summary.json",
    ] {
        for args in [run.as_str(), "gate out --baseline sound"] {
            refused(&format!("{args} --summary-file {file}"));
            refused(&format!("{args} --log-file {file}"));
        }
        for form in ["junit", "prometheus", "model-card"] {
            refused(&format!("export out --to {form} --file {file}"));
        }
    }
    refused(&format!("check {DEMO} --cache cache --log-file data.csv"));
    // A file of the folder that is not there yet, by another name of the folder, and by the usual
    // place.
    symlink("out", work.path("other-name")).unwrap();
    let before = files(&work.path(""));
    let refused = |args: &str| {
        work.cfaudit(5, args).says(&["a file of the output folder"]);
        assert_same(&before, &files(&work.path("")), args);
    };
    refused(&format!("{run} --summary-file other-name/annex.html"));
    refused(&format!(
        "run {DEMO} {FEW} --cache cache --summary-file outputs/gate-demo/summary.json"
    ));
    // A folder that the command does not name.
    refused("export out --to junit --file sound/exports/junit.xml");
    refused(&format!("check {DEMO} --cache cache --log-file sound/logs/run.jsonl"));
    // What these flags wrote before is replaced, or appended to; a job that cannot be read leaves
    // no old summary, and no other file less.
    for _ in 0..2 {
        work.cfaudit(0, &format!("{run} --summary-file line --log-file log"));
        for form in ["junit", "prometheus", "model-card"] {
            work.cfaudit(0, &format!("export out --to {form} --file as.{form}"));
        }
    }
    work.write("broken.yaml", "cfaudit: 1\nname: broken\n");
    work.cfaudit(5, "run broken.yaml --summary-file data.csv");
    assert_eq!(work.read("data.csv"), "a,b\n1,2\n");
    work.cfaudit(2, "run broken.yaml --summary-file line");
    assert!(!work.path("line").exists());
}

/// What a user puts into the output folder survives runs, `report` and `gate`.
#[test]
fn files_of_users_stay_in_the_output_folder() {
    let work = finished();
    work.cfaudit(0, &format!("run {DEMO} {FEW} --out sound --cache cache --set run.seed=2"));
    fs::create_dir(work.path("out/sign-off")).unwrap();
    work.write("out/report-signed.pdf", "signed");
    work.write("out/sign-off/minutes.txt", "agreed");
    let theirs = |what: &str| {
        assert_eq!(work.read("out/report-signed.pdf"), "signed", "{what}");
        assert_eq!(work.read("out/sign-off/minutes.txt"), "agreed", "{what}");
        let listed = work.json("out/manifest.json")["files"].as_object().unwrap().clone();
        assert!(!listed.keys().any(|name| name.contains("sign")), "{what}: {listed:?}");
    };
    let before = fs::read(work.path("out/manifest.json")).unwrap();
    work.run(0, DEMO, &format!("{FEW} --set report.title=Changed"));
    assert_ne!(fs::read(work.path("out/manifest.json")).unwrap(), before);
    theirs("a changed run");
    work.cfaudit(0, "report out --title Other");
    theirs("report");
    work.cfaudit(1, "gate out --baseline sound");
    assert!(work.path("out/tables/changes.parquet").exists());
    theirs("gate");
    work.write("out/exports", "a list of what was exported by hand");
    work.run(5, DEMO, &format!("{FEW} --set exports=[junit]"))
        .says(&["exports", "hint: move or rename your file"]);
    theirs("a refused run");
}

/// A pipe where a job or an include is named is refused at once; one that is standard input is
/// read.
#[test]
fn a_job_is_a_regular_file() {
    let work = Work::with_jobs();
    let job = work.read("jobs/demo.yaml");
    assert!(Command::new("mkfifo").arg(work.path("pipe")).status().unwrap().success());
    work.write("including.yaml", "cfaudit: 1\ninclude: [pipe]\n");
    let started = Instant::now();
    for (args, code) in [
        ("check pipe --no-data", "not-a-job-file"),
        ("run pipe", "not-a-job-file"),
        ("plan jobs", "not-a-job-file"),
        ("check including.yaml --no-data", "bad-include"),
    ] {
        work.cfaudit(2, args).says(&[
            &format!("error[{code}]"),
            "is a folder, pipe, socket or device, not a file",
            "hint: name a regular",
        ]);
    }
    assert!(started.elapsed() < Duration::from_secs(20));
    let mut command = work.command("check /dev/stdin --no-data");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), job.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// `--cache off` leaves nothing in the working directory, nor where the system keeps temporary
/// files.
#[test]
fn no_cache_leaves_nothing() {
    let work = Work::with_jobs();
    fs::create_dir(work.path("tmp")).unwrap();
    fs::create_dir(work.path("results")).unwrap();
    for args in [
        format!("run {DEMO} {FEW} --out results/out"),
        format!("check {DEMO}"),
        format!("data {DEMO}"),
        format!("plan {DEMO}"),
    ] {
        let mut command = work.command(&format!("{args} --cache off"));
        crate::work::Ran::of(command.env("TMPDIR", work.path("tmp")), 0);
        let mut left: Vec<_> =
            fs::read_dir(work.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["jobs", "results", "tmp"], "{args}");
        assert_eq!(fs::read_dir(work.path("tmp")).unwrap().count(), 0, "{args}");
        assert_eq!(fs::read_dir(work.path("results")).unwrap().count(), 1, "{args}");
    }
}
