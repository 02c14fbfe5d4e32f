//! Which folders can be compared, replaced and read: of other audits, of older versions, damaged
//! ones.

use std::fs;

use cfaudit::table::{MetricRow, OutcomeRow, TableRow};

use super::gates::GATES;
use super::{FAIRGBM, LIGHTGBM, audit, first_version, numbered, people, published};
use crate::other_versions::as_version;
use crate::work::{Says, Work, assert_same, files};

/// Runs of other models have no value in common.
#[test]
fn runs_with_nothing_in_common() {
    let work = published();
    work.edit("v1.yaml", "v2.yaml", &[("models: {gbm:", "models: {other:")]);
    work.cfaudit(0, "run v2.yaml --out v2 --cache cache");
    let stdout = work.cfaudit(0, "diff v1 v2").stdout;
    stdout.says(&["The two runs have no value in common"]);
    stdout.lacks(&["changes are clear"]);
}

#[test]
fn folders_that_cannot_be_compared_are_refused() {
    let work = published();
    work.cfaudit(5, "diff v1 nowhere").says(&["`nowhere`", "hint: name a finished output folder"]);
    work.cfaudit(5, "gate v1 --baseline nowhere")
        .says(&["`nowhere`", "hint: name a finished output folder"]);
    work.cfaudit(5, "run v1.yaml --out v2 --cache cache --baseline nowhere").says(&["`nowhere`"]);
    assert!(!work.path("v2").exists());
    let metrics = work.path("v1/tables/metrics.parquet");
    let bytes = fs::read(&metrics).unwrap();
    fs::write(&metrics, &bytes[..bytes.len() / 2]).unwrap();
    work.cfaudit(5, "diff v1 v1")
        .says(&["metrics.parquet", "its content differs from its entry in manifest.json"]);
    fs::remove_file(&metrics).unwrap();
    work.cfaudit(5, "gate v1").says(&["metrics.parquet", "it does not exist"]);
    fs::write(&metrics, &bytes).unwrap();
    fs::remove_file(work.path("v1-moved.parquet")).unwrap();
    work.cfaudit(4, "run v1.yaml --out waits --cache other");
    let waits = work.cfaudit(4, "gate waits");
    waits.says(&["no gate is judged again: the run waits for scores", "v1-moved.parquet"]);
    assert_eq!(
        [&waits.summary()["verdict"], &waits.summary()["exit"]],
        [&"waiting".into(), &serde_json::json!(4)]
    );
    work.cfaudit(5, "diff waits v1").says(&["its run waits for scores"]);
    work.cfaudit(5, "run v1.yaml --out v2 --cache other --baseline waits")
        .says(&["its run waits for scores"]);
    work.cfaudit(2, "diff v1 v1 --json --md");
    work.cfaudit(2, "diff v1");
    work.cfaudit(2, "gate v1 --force");
}

#[test]
fn a_folder_is_no_baseline_of_its_own() {
    let work = published();
    let before = files(&work.path("v1"));
    work.cfaudit(5, "gate v1 --baseline ./v1")
        .says(&["it is the folder to be judged", "hint: name the folder of an earlier run"]);
    assert_same(&files(&work.path("v1")), &before, "nothing is written");
    // A run that replaces its baseline would pass when it is tried again.
    std::os::unix::fs::symlink("v1", work.path("approved")).unwrap();
    for baseline in ["v1", "./v1/../v1", "approved"] {
        work.cfaudit(5, &format!("run v1.yaml --out v1 --cache other --baseline {baseline}"))
            .says(&["it is the folder to be judged", "another folder with `--out`"]);
    }
    work.cfaudit(5, "run v1.yaml --out approved --cache other --baseline v1")
        .says(&["it is the folder to be judged"]);
    assert_same(&files(&work.path("v1")), &before, "nothing is written by a run");
    assert!(!work.path("other").exists(), "no work is done");
}

/// What is next to a file that is written stays, a link stays a link, and a folder is not replaced
/// by a file.
#[cfg(unix)]
#[test]
fn files_are_replaced_and_their_neighbours_are_not() {
    let work = published();
    work.write("metrics.new", "precious");
    work.write("there.prom", "");
    std::os::unix::fs::symlink("there.prom", work.path("link.prom")).unwrap();
    work.cfaudit(0, "export v1 --to prometheus --file metrics.prom");
    work.cfaudit(0, "export v1 --to prometheus --file link.prom");
    assert_eq!(work.read("metrics.new"), "precious");
    assert!(fs::symlink_metadata(work.path("link.prom")).unwrap().is_symlink());
    assert_eq!(
        fs::read(work.path("there.prom")).unwrap(),
        fs::read(work.path("metrics.prom")).unwrap()
    );
    let before: Vec<String> = files(&work.path("")).into_keys().collect();
    work.cfaudit(5, "export v1 --to junit --file v1");
    assert_eq!(files(&work.path("")).into_keys().collect::<Vec<_>>(), before);
}

/// Where a run fails, the summary of an earlier one must not be taken for that of the failed run.
#[test]
fn a_failed_run_leaves_no_old_summary() {
    let work = published();
    work.cfaudit(0, "gate v1 --summary-file last.json");
    assert_eq!(work.json("last.json")["job"], work.json("v1/summary.json")["job"]);
    work.cfaudit(5, "gate nowhere --summary-file last.json");
    assert!(!work.path("last.json").exists());
}

#[test]
fn a_plan_knows_the_baseline() {
    let (work, sides, ids) = first_version();
    audit(&work, "v2", &ids, &sides[1], GATES, "", 0);
    let plan = |args: &str, status: i32| {
        work.cfaudit(status, &format!("plan v2.yaml --cache cache --exit-code {args}")).stdout
    };
    plan("", 0).says(&["stages are cached"]);
    let stdout = plan("--baseline v1", 1);
    let runs = |stage: &str| {
        stdout.lines().any(|line| line.split_whitespace().take(2).eq([stage, "runs"]))
    };
    assert!(runs("baseline") && runs("gate") && runs("report") && !runs("measure"), "{stdout}");
    work.cfaudit(1, "run v2.yaml --out v2 --cache cache --baseline v1");
    plan("--baseline v1", 0).says(&["stages are cached"]);
    work.cfaudit(5, "plan v2.yaml --cache cache --baseline nowhere")
        .says(&["`nowhere`", "hint: name a finished output folder"]);
}

#[test]
fn tables_of_other_versions_and_without_columns() {
    let (work, sides, ids) = first_version();
    audit(&work, "v2", &ids, &sides[1], "", "", 0);
    as_version(&work, "v1", "rows/outcomes.parquet", 999, &[]);
    work.cfaudit(5, "diff v1 v2").says(&[
        "outcomes.parquet",
        "it is version 999 of table `outcomes`",
        "hint: run the approved job again",
    ]);
    as_version(&work, "v1", "rows/outcomes.parquet", OutcomeRow::TABLE.version, &["score"]);
    work.cfaudit(5, "diff v1 v2").says(&["outcomes.parquet", "column `score` is missing"]);
    fs::remove_file(work.path("v1/rows/outcomes.parquet")).unwrap();
    for verb in ["diff v1 v2", "gate v1", "export v1 --to junit", "gate v2 --baseline v1"] {
        as_version(&work, "v1", "tables/metrics.parquet", 999, &[]);
        work.cfaudit(5, verb).says(&["metrics.parquet", "it is version 999 of table `metrics`"]);
        as_version(&work, "v1", "tables/metrics.parquet", MetricRow::TABLE.version, &["value"]);
        work.cfaudit(5, verb).says(&["metrics.parquet", "column `value` is missing", "damaged"]);
    }
}

/// Three versions of a model: the page of the last shows how the limit was kept, from the run or
/// only from the folder, and folders that do not fit are refused.
#[test]
fn a_history_shows_how_limits_were_kept() {
    let work = Work::new();
    let gates = "gates:\n  keep: {metric: nsr, model: gbm, counterfactual: flip, direction: {sex: \
                 [Female, Male]}, at_most: 0.2, decide_by: estimate, level: warn}\n";
    let [light, fair] = [&LIGHTGBM, &FAIRGBM].map(people);
    let ids = numbered(&light);
    audit(&work, "v1", &ids, &light, gates, "", 0);
    audit(&work, "v2", &numbered(&fair), &fair, gates, "", 0);
    audit(&work, "v3", &ids, &light, gates, "--history v1 v2", 0);

    let history = work.table("v3/history").list("", "position model_version verdict value");
    let values = [16.0 / 122.0, 35.0 / 137.0];
    assert_eq!(
        history,
        [format!("1 | v1 | pass | {}", values[0]), format!("2 | v2 | fail | {}", values[1])]
    );
    let history = &work.json("v3/manifest.json")["history"];
    assert_eq!([0, 1, 2].map(|i| history[i]["version"].as_str()), [Some("v1"), Some("v2"), None]);
    let page = work.read("v3/report.html");
    page.says(&[
        "How were the limits kept from run to run?",
        "In this run and 2 earlier runs the limit was broken at least once.",
        "broken in 1 of 3 runs",
        "href=\"#sq\"",
    ]);

    // Rendered again only from the tables, the page keeps its history.
    let before = files(&work.path("v3"));
    work.cfaudit(0, "report v3");
    assert_same(&before, &files(&work.path("v3")), "rendered again");
    // A folder that was made without one gets it afterwards.
    audit(&work, "v3", &ids, &light, gates, "", 0);
    assert!(!work.path("v3/tables/history.parquet").exists());
    work.cfaudit(0, "report v3 --history v1 v2");
    let after = files(&work.path("v3"));
    let read =
        |files: &std::collections::BTreeMap<String, Vec<u8>>, name: &str| files[name].clone();
    for name in ["report.html", "tables/history.parquet"] {
        assert!(read(&before, name) == read(&after, name), "{name}");
    }

    for (folders, why) in [
        ("v1 v1", "named before"),
        ("v1 no-such", "there is no such folder"),
        ("v1 other", "it is of the job `other`"),
    ] {
        if folders.ends_with("other") {
            work.edit("v1.yaml", "other.yaml", &[("name: versions", "name: other")]);
            work.cfaudit(0, "run other.yaml --out other --cache cache");
        }
        let refused = work.cfaudit(5, &format!("report v3 --history {folders}"));
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}
