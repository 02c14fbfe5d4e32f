//! Scores that a model is known to give: a run that scores otherwise ends, with counts and the
//! first row.

use crate::work::{Ran, Rows, Says, Work, documented};

/// 40 people; the known scores are those of the rows, plus what is said about some rows.
fn work(planted: &[(usize, Option<f64>)]) -> Work {
    let work = Work::new();
    let n = 40_i64;
    let score = |i: i64| (i * 7 % 41) as f64 / 41.0;
    let mut known: Vec<Option<f64>> = (0..n).map(|i| Some(score(i))).collect();
    planted.iter().for_each(|&(row, value)| known[row] = value);
    Rows::of(0..n)
        .with("id", |i| 100 + i)
        .with("sex", |i| if i % 2 == 0 { "f" } else { "m" })
        .with("score", score)
        .with("known_score", |i| known[i as usize])
        .write(&work, "people.parquet");
    work
}

fn run(work: &Work, expect: &str, status: i32) -> Ran {
    let steps = format!(
        "-counterfactuals
~    scores: {{factual: {{column: score}}}}
+    expect: {expect}
-gates
-on_inconclusive"
    );
    work.job("scored", &steps, "metrics: {families: [group]}\n");
    work.run(status, "job.yaml", "")
}

#[test]
fn other_scores_than_the_known_ones_end_the_run() {
    let planted = [(3, Some(0.9)), (17, Some(0.5)), (30, None)];
    run(&work(&planted), "{column: known_score}", 3).says(&[
        "error[expect-differs]",
        "model `live` differ from the column `known_score` in 2 of 39 rows by more than 0.000001",
        "and 0 may",
        "`0.9` is expected",
        "row 3",
        "job.yaml:14",
        "hint:",
    ]);
    run(&work(&planted), "{column: known_score, at_most: 1}", 3).says(&["in 2 of 39 rows"]);
    // A rounded copy within the tolerance is the same score.
    let rounded: Vec<(usize, Option<f64>)> = (0..40)
        .map(|i| (i, Some(((i * 7 % 41) as f64 / 41.0 * 1000.0).round() / 1000.0)))
        .collect();
    run(&work(&rounded), "{column: known_score, tolerance: 0.0005}", 0);
    run(&work(&rounded), "{column: known_score, tolerance: 0}", 3).says(&["of 40 rows"]);
    // A column of nothing confirms nothing.
    let nothing: Vec<(usize, Option<f64>)> = (0..40).map(|i| (i, None)).collect();
    run(&work(&nothing), "{column: known_score, at_most: 40}", 3)
        .says(&["has a value for none of the audited rows"]);
    run(&work(&[]), "{column: no_such_column}", 3).says(&["no_such_column", "job.yaml:14"]);
}

#[test]
fn what_agrees_is_said_and_what_is_allowed_to_differ_is_told() {
    let agreed = work(&[(30, None)]);
    run(&agreed, "{column: known_score}", 0);
    let page = agreed.read("out/annex.html");
    page.says(&["39 rows agree, within 0.000001", "1 audited rows have no known score"]);
    let manifest = agreed.json("out/manifest.json");
    let known = &manifest["models"][0]["expect"];
    assert_eq!((known["rows"].as_u64(), known["differ"].as_u64()), (Some(39), Some(0)));
    agreed.read("out/report.html").lacks(&["not the known"]);

    let allowed = work(&[(3, Some(0.9)), (17, Some(0.5))]);
    run(&allowed, "{column: known_score, at_most: 2}", 0);
    allowed.table("issues").at("code=unexpected-scores").holds("where=live, n=2");
    allowed.read("out/report.html").says(&["Some scores are not the known ones."]);
    allowed.read("out/annex.html").says(&["40 rows agree, but for 2 (the job allows 2)"]);
}

/// A model that is trained here is compared too, with the example of the guide.
#[test]
fn the_example_of_the_guide_is_a_job() {
    let example =
        documented("models-and-experiments.md", "## Does the audit score as production does?");
    let work = work(&[]);
    let steps = "-  favourable
@  sensitive
+  features: {continuous: [score]}
-counterfactuals
-models
-gates
-on_inconclusive";
    work.job("scored", steps, &format!("metrics: {{families: [group]}}\n{example}"));
    work.cfaudit(0, "check job.yaml --no-data");
}
