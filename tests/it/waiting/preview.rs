//! `plan` and `data` on a job that waits for scores: what they say, and that they do no work.

use arrow::array::AsArray;
use std::fs;

use arrow::datatypes::Int64Type;

use super::platform::{DECISIONS, LIVE, decisions, lake};
use super::{JOB, SCORES, VARS};
use crate::batches::write;
use crate::work::{Ran, Says, assert_same, files};

#[test]
fn a_plan_does_no_work() {
    let work = lake();
    let before = files(&work.path(""));
    let plan = |status: i32, args: &str| {
        work.cfaudit(status, &format!("plan {JOB} {VARS} --cache cache {args}"))
    };
    plan(1, "--exit-code").stdout.says(&["to-score", "never run", SCORES]);
    assert_same(&before, &files(&work.path("")), "a plan");
    work.run(4, JOB, VARS);
    let waits = plan(0, "--exit-code").stdout;
    waits.says(&["all 15 stages are cached", "waits for the scores of model live"]);

    write(&work.path(SCORES), &LIVE.answer(&work.path("out/to-score/flip")));
    let before = files(&work.path(""));
    let json: serde_json::Value =
        serde_json::from_str(&plan(1, "--json --exit-code").stdout).unwrap();
    assert_eq!(
        [&json["awaited"], &json["to_download"]],
        [&serde_json::json!([]), &serde_json::Value::Null]
    );
    let stages = json["stages"].as_array().unwrap();
    let of = |id: &str| stages.iter().find(|s| s["id"] == id).unwrap();
    assert_eq!(
        [&of("prepare")["cached"], &of("generate/set=flip/attribute=sex")["cached"]],
        [true, true]
    );
    assert_eq!(of("prepare")["rows"], DECISIONS);
    // The scores that were there are joined already.
    assert_eq!(of("score/model=live")["cached"], true);
    let answered = of("score/model=live/set=flip/attribute=sex");
    assert_eq!(
        [&answered["cached"], &answered["reason"]],
        [&false.into(), &serde_json::json!("never run")]
    );
    assert_eq!(json["to_run"], stages.iter().filter(|s| s["cached"] == false).count());
    assert_same(&before, &files(&work.path("")), "a plan");
    let ran = work.run(0, JOB, VARS);
    assert_eq!(json["run"], ran.summary()["run"]);
    assert_eq!(work.json("out/run.json")["stages_run"], json["to_run"]);
    plan(0, "--exit-code").stdout.says(&["are cached"]);
    let stale = plan(1, "--exit-code --set gates.no-harm-to-women.at_most=0.2").stdout;
    stale.says(&["2 of ", "`gates` changed from"]);
    work.cfaudit(0, &format!("plan {JOB} {VARS} --cache off")).stdout.says(&["never run"]);

    let adult =
        work.cfaudit(1, "plan jobs/adult.yaml --cache cache --data-dir nowhere --exit-code").stdout;
    adult.says(&["the data set adult is not in the data folder"]);
    assert!(!work.path("nowhere").exists());
    fs::remove_dir_all(work.path("lake")).unwrap();
    plan(4, "").says(&["error[rows-awaited]"]);
}

#[test]
fn the_data_of_a_job_are_told() {
    let work = lake();
    let json: serde_json::Value = serde_json::from_str(
        &work.cfaudit(0, &format!("data {JOB} {VARS} --cache cache --json")).stdout,
    )
    .unwrap();
    let rows = DECISIONS;
    assert_eq!(
        json["rows"],
        serde_json::json!({"source": rows, "kept": rows, "trained": 0, "audited": rows})
    );
    assert_eq!([&json["label"], &json["stand_in"]], [&serde_json::Value::Null; 2]);
    let source = decisions();
    let count = |name: &str, value: &str| {
        let array = source.column_by_name(name).unwrap().as_string::<i32>();
        array.iter().flatten().filter(|v| *v == value).count()
    };
    let columns = json["columns"].as_array().unwrap();
    let of = |name: &str| columns.iter().find(|c| c["name"] == name).unwrap();
    let names: Vec<&str> = columns.iter().map(|c| c["name"].as_str().unwrap()).collect();
    let (first, last) =
        (["application_id", "sex", "region", "age"], ["purpose", "cutoff", "score"]);
    assert_eq!((&names[..4], &names[names.len() - 3..]), (&first[..], &last[..]));
    assert_eq!(
        [&of("sex")["kind"], &of("sex")["type"], &of("age")["type"]],
        ["sensitive", "text", "integers"]
    );
    assert_eq!(
        [&of("sex")["missing"], &of("sex")["n_levels"], &of("utilisation")["missing"]],
        [10, 3, 8]
    );
    assert_eq!(
        of("channel")["levels"][0]["n"],
        count("channel", "web").max(count("channel", "branch"))
    );
    let ages = source.column_by_name("age").unwrap().as_primitive::<Int64Type>();
    let (min, max) = (ages.iter().flatten().min().unwrap(), ages.iter().flatten().max().unwrap());
    assert_eq!([&of("age")["min"], &of("age")["max"]], [min as f64, max as f64]);
    let sex = &json["attributes"][0];
    assert_eq!([&sex["name"], &sex["reference"]], ["sex", "male"]);
    assert_eq!(sex["groups"][0]["rows"], count("sex", "female"));
    assert_eq!(
        [&sex["groups"][2]["group"], &sex["groups"][2]["rows"]],
        [&serde_json::Value::Null, &20.into()]
    );
    assert_eq!(json["awaited"][0]["path"], SCORES);

    let text = work
        .cfaudit(0, "data jobs/demo.yaml --cache cache --set data.rows.synthetic.rows=3000")
        .stdout;
    text.says(&[
        "demo: 3,000 rows in the source, 3,000 kept; 1,800 train, 1,200 are audited",
        "label repaid: positive 1 (",
        "Male (reference)",
    ]);
    let ran = Ran::of(
        work.command("data jobs/demo.yaml --cache cache --set data.rows.synthetic.rows=3000")
            .arg("--json"),
        0,
    );
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let (label, groups) = (&json["label"], json["attributes"][0]["groups"].as_array().unwrap());
    let sum = |key: &str| groups.iter().map(|g| g[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!([sum("rows"), sum("trained"), sum("audited")], [3000, 1800, 1200]);
    assert_eq!(sum("positive") + sum("negative") + sum("unlabelled"), 1200);
    assert_eq!(label["n_positive"].as_u64().unwrap() + label["n_negative"].as_u64().unwrap(), 3000);
    // Looking leaves what a run needs.
    work.cfaudit(
        0,
        "run jobs/demo.yaml --out demo --cache cache --set data.rows.synthetic.rows=3000",
    );
    let record = work.json("demo/run.json");
    assert!(
        record["stages"]
            .as_array()
            .unwrap()
            .iter()
            .all(|s| s["cached"] == (s["kind"] == "prepare" || s["kind"] == "split"))
    );
}
