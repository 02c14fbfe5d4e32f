//! Rows in the output folder of a job in shards: outcomes, kept counterfactuals and rows to score
//! are those of a run, and lost or altered ones of a shard are found.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::shards::{
    PASSES, assert_in_shards, from_plan, is_without_lightgbm, pass_over, with_job, with_models,
    write_scores,
};
use crate::work::{Says, assert_same, files, results};

#[test]
fn outcomes_of_shards() {
    let Some(work) = with_models("naive") else { return };
    // Seven shards: some have no rows, one has a single row.
    let args = "--set run.keep_rows=outcomes";
    work.run(0, "job.yaml", args);
    let plan = pass_over(&work, 7, &PASSES, args);
    let (run, shards) = (work.results(), from_plan(&work, &plan, args));
    assert!(run.contains_key("rows/outcomes.parquet"));
    assert_same(&run, &shards, "outcomes");
    // Rows of single people are for their owner alone.
    let kept: Vec<String> = files(&work.path(&format!("{plan}/count")))
        .into_keys()
        .filter(|name| name.ends_with(".parquet"))
        .collect();
    assert_eq!(kept.len(), 7, "{kept:?}");
    for name in &kept {
        let mode = fs::metadata(work.path(&format!("{plan}/count/{name}"))).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
    // The file of a shard is altered, then lost, then made again.
    let last = work.path(&format!("{plan}/count/{}", kept.last().unwrap()));
    let whole = fs::read(&last).unwrap();
    let run = |status: i32| {
        let args = format!("run job.yaml --from {plan} --out again --cache off {args}");
        work.cfaudit(status, &args)
    };
    fs::write(&last, &whole[1..]).unwrap();
    let lost = ["part-00006.", "is lost, or not as", "part-00006.state", "run that worker again"];
    run(5).says(&lost);
    fs::remove_file(&last).unwrap();
    run(5).says(&lost);
    fs::remove_file(work.path(&format!("{plan}/count/part-00006.state"))).unwrap();
    work.cfaudit(0, &format!("worker {plan} --pass count --shard 6"));
    assert_eq!(fs::read(&last).unwrap(), whole);
    run(0);
    assert_same(&shards, &results(&work.path("again")), "made again");
}

/// Two attributes, two models, a fitted set: outcomes with ids, and counterfactuals in parts.
#[test]
fn all_rows_of_shards() {
    if is_without_lightgbm() {
        return;
    }
    let work = with_job("plausible");
    assert_in_shards(&work, "--set run.keep_rows=all");
    for name in ["outcomes.parquet", "counterfactuals/world/part-00000.parquet"] {
        assert!(work.path(&format!("out/rows/{name}")).exists(), "{name}");
    }
    // Without a word few outcomes are kept.
    let work = with_job("decisions");
    let text = work.read("job.yaml");
    text.says(&[", keep_rows: none"]);
    work.write("job.yaml", &text.replace(", keep_rows: none", ""));
    write_scores(&work, 0);
    assert_in_shards(&work, "");
    assert!(work.path("out/rows/outcomes.parquet").exists());
}

/// A job in shards that waits for scores hands out the rows to score of a run, with the same
/// request; when the scores have arrived it is planned again.
#[test]
fn rows_to_score_of_shards() {
    let work = with_job("scores");
    let waiting = work.run(4, "job.yaml", "");
    waiting.says(&["factual.parquet"]);
    let expected = work.results();
    assert!(expected.contains_key("to-score/factual/part-00000.parquet"));
    assert!(expected.contains_key("to-score/flip/part-00000.parquet"));
    for shards in [3, 7] {
        let plan = pass_over(&work, shards, &PASSES, "");
        let ran =
            work.cfaudit(4, &format!("run job.yaml --from {plan} --out out-{plan} --cache off"));
        assert_eq!(ran.summary()["verdict"], "waiting");
        assert_same(&expected, &results(&work.path(&format!("out-{plan}"))), &plan);
    }
    write_scores(&work, 0);
    work.cfaudit(3, "run job.yaml --from plan3 --out late --cache off").says(&[
        "error[input-changed]",
        "was not there when the plan was made",
        "plan again",
    ]);
    assert_in_shards(&work, "");
}

/// The job may name a place for its rows to score: they are there and not in the output folder, in
/// a run and in shards, those of each request in a folder of their own.
#[test]
fn rows_to_score_are_put_where_the_job_says() {
    let work = with_job("scores");
    work.run(4, "job.yaml", "");
    let expected = files(&work.path("out/to-score/flip"));
    let args = "--set run.to_score=handed";
    work.run(4, "job.yaml", args).says(&["the rows to score are in handed;"]);
    let run = work.results();
    assert!(!run.keys().any(|name| name.starts_with("to-score/")), "{:?}", run.keys());
    let place =
        work.json("out/manifest.json")["awaited"][1]["to_score"].as_str().unwrap().to_owned();
    assert!(place.starts_with("handed/flip/"), "{place}");
    let mut there = files(&work.path(&place));
    let end = there.remove("_SUCCESS").unwrap();
    String::from_utf8(end).unwrap().says(&["\"parts\":1"]);
    assert_same(&expected, &there, "the rows to score");
    let handed = files(&work.path("handed"));
    fs::remove_dir_all(work.path("handed")).unwrap();
    let plan = pass_over(&work, 3, &PASSES, args);
    work.cfaudit(4, &format!("run job.yaml --from {plan} --out shards --cache off {args}"));
    assert_same(&run, &results(&work.path("shards")), "three shards");
    assert_same(&handed, &files(&work.path("handed")), "three shards");
    // Other rows are another request, whose parts are no neighbours of the old ones.
    fs::remove_file(work.path("rows/b.parquet")).unwrap();
    work.run(4, "job.yaml", args);
    let later = files(&work.path("handed"));
    assert!(later.len() == 2 * handed.len() && handed.keys().all(|name| later.contains_key(name)));
}

/// One model waits for its scores while another one, which is a file, is measured: three shards
/// give the folder of a run, before and after the scores arrive.
#[test]
fn a_model_that_waits_next_to_a_model_file() {
    let Some(work) = with_models("naive") else { return };
    let live = "  live:\n    scores:\n      factual: {parquet: factual.parquet, column: \
                score}\n      counterfactual: {parquet: moved.parquet, column: score}\n    \
                threshold: 0.5\n";
    let job = work.read("job.yaml");
    let job = job.replace("metrics:\n", &format!("{live}metrics:\n"));
    let job = job.replace("  keep: [{age: {at_least: 20}}]\n", "");
    work.write("job.yaml", &job.replace("keep_rows: none", "keep_rows: all"));
    work.run(4, "job.yaml", "");
    let expected = work.results();
    for name in ["to-score/flip/part-00000.parquet", "tables/metrics.parquet"] {
        assert!(expected.contains_key(name), "{:?}", expected.keys());
    }
    let plan = pass_over(&work, 3, &PASSES, "");
    work.cfaudit(4, &format!("run job.yaml --from {plan} --out waiting --cache off"));
    assert_same(&expected, &results(&work.path("waiting")), "a model that waits");
    write_scores(&work, 0);
    assert_in_shards(&work, "");
    let manifest = work.json("out/manifest.json");
    assert_eq!(manifest["models"].as_array().unwrap().len(), 2);
}
