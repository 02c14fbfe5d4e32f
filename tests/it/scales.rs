//! Scores of any scale: decisions compare the user's numbers, what needs scores of [0, 1] takes
//! their share of the scale, and a scaled file gives the numbers of the unscaled one.

use std::fs;

use serde_json::Value as Json;

use cfaudit::num::score_scale::{ScaleNumbers, ScoreScale};

use crate::frame::TableFrame;
use crate::work::{Ran, Rows, Says, Work, column, documented, expected};

/// A job whose people of `a` and `b` have a score and one as the other group; `data` and `model`
/// are further keys.
struct ScaledJob<'a> {
    data: &'a str,
    model: &'a str,
    rest: &'a str,
}

const PLAIN: ScaledJob<'_> =
    ScaledJob { data: "label: none\n  favourable: positive", model: "", rest: "" };

impl ScaledJob<'_> {
    fn write(&self, work: &Work, scores: &[f64], scores_cf: &[f64]) {
        let n = scores.len() as i64;
        let group = |i: i64| Some(if i % 2 == 0 { "a" } else { "b" });
        Rows::of(0..n)
            .with("id", |i| i)
            .with("group", group)
            .with("good", |i| i * 7 % 3 % 2)
            .column("score", column(scores.to_vec()))
            .column("cutoff", column(scores_cf.to_vec()))
            .write(work, "rows.parquet");
        Rows::of(0..n)
            .with("row_id", |i| i)
            .with("to_group", |i| group(i + 1))
            .column("score", column(scores_cf.to_vec()))
            .write(work, "flip.parquet");
        let ScaledJob { data, model, rest } = self;
        work.write(
            "job.yaml",
            &format!(
                "cfaudit: 1
name: scaled
data:
  rows: {{parquet: rows.parquet}}
  row_id: id
  {data}
  sensitive: {{group: {{groups: [a, b], reference: a}}}}
counterfactuals: {{flip: naive}}
models:
  live:
    scores: {{factual: {{column: score}}, counterfactual: {{parquet: flip.parquet, column: score}}}}
{model}
metrics: {{bootstrap: {{samples: 100}}}}
{rest}"
            ),
        );
    }
}

/// The value of a metric over all directions; none where it is undefined.
fn total(metrics: &TableFrame, metric: &str) -> Option<f64> {
    metrics.at(&format!("metric={metric}, scope=total, counterfactual=flip")).real("value")
}

fn numbers(case: &Json, key: &str) -> Vec<f64> {
    case[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Every case of the oracle through the whole program: decisions, ties, rates and distances.
#[test]
fn scales_agree_with_the_oracle() {
    let oracle: Json =
        serde_json::from_str(&fs::read_to_string(expected("scores/scales.json")).unwrap()).unwrap();
    let cases = oracle["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 12);
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let (scores, scores_cf) = (numbers(case, "score"), numbers(case, "score_cf"));
        let turned = case["reversed"].as_bool().unwrap();
        let range = || Some((case["scale"]["from"].as_f64()?, case["scale"]["to"].as_f64()?));
        let scale = ScoreScale {
            numbers: range()
                .map_or(ScaleNumbers::LogOdds, |(from, to)| ScaleNumbers::Range { from, to }),
            turned,
        };
        for (x, p) in [("score", "p"), ("score_cf", "p_cf")] {
            for (x, p) in numbers(case, x).into_iter().zip(numbers(case, p)) {
                assert!((scale.share(x) - p).abs() <= 1e-12, "{id}: {x} is {}", scale.share(x));
            }
        }
        let word = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        let better =
            case["better"].as_str().map_or(String::new(), |end| format!("    better: {end}\n"));
        let model = format!(
            "    scale: {}\n{better}    threshold: {}\n    threshold_rule: {}",
            case["scale"],
            case["threshold"],
            word("threshold_rule")
        );
        let data = format!("label: none\n  favourable: {}", word("favourable"));
        let work = Work::new();
        ScaledJob { data: &data, model: &model, ..PLAIN }.write(&work, &scores, &scores_cf);
        work.run(0, "job.yaml", "");
        let outcomes = work.table("outcomes");
        let (positive, positive_cf) = (numbers(case, "positive"), numbers(case, "positive_cf"));
        assert_eq!(outcomes.records().count(), scores.len());
        // In the order of the rows, each with one counterfactual.
        for (i, row) in outcomes.records().enumerate() {
            // Outcomes hold the numbers of the user.
            assert_eq!(
                (row.real("score"), row.real("score_cf")),
                (Some(scores[i]), Some(scores_cf[i]))
            );
            for (column, expected) in [("predicted", &positive), ("predicted_cf", &positive_cf)] {
                assert_eq!(row.int(column), Some(expected[i] as i64), "{id}: {column} {i}");
            }
        }
        let metrics = work.table("metrics");
        for metric in ["psr", "nsr", "mcd", "macd", "rmscd"] {
            match (total(&metrics, metric), case[metric].as_f64()) {
                (Some(found), Some(wanted)) => {
                    assert!((found - wanted).abs() <= 1e-12, "{id}: {metric} {found} {wanted}");
                }
                (found, wanted) => assert_eq!(found, wanted, "{id}: {metric}"),
            }
        }
        if let (Some(change), Some(wanted)) = (
            total(&metrics, "mcd").and_then(|shares| scale.user_change(shares)),
            case["mean_change_user_units"].as_f64(),
        ) {
            assert!((change - wanted).abs() <= 1e-12 * scale.width(), "{id}: {change} {wanted}");
        }
        let groups = work.table("groups");
        let all = groups.at("group=");
        assert_eq!(all.int("n_scores_equal_threshold"), case["n_at_threshold"].as_i64(), "{id}");
    }
}

/// What the oracle refuses, with the line of the job or the row of the file.
#[test]
fn what_no_scale_holds_is_refused() {
    let points = "    scale: {from: 300, to: 850}\n    threshold: 500";
    let run = |model: &str, scores: [f64; 2], scores_cf: [f64; 2], status: i32| -> Ran {
        let work = Work::new();
        ScaledJob { model, ..PLAIN }.write(&work, &scores, &scores_cf);
        work.run(status, "job.yaml", "")
    };
    let fine = [400.0, 600.0];
    for bad in [299.9, 851.0] {
        let outside = format!("the score `{bad}` is not in [300, 850]");
        run(points, [400.0, bad], fine, 3).says(&[&outside, "rows.parquet", "row 1", "`scale`"]);
        run(points, fine, [bad, 400.0], 3).says(&[&outside, "flip.parquet", "row_id `0`"]);
    }
    for bad in [f64::INFINITY, f64::NEG_INFINITY] {
        let model = "    scale: log-odds\n    threshold: 0";
        run(model, [0.5, bad], [0.0, 1.0], 3).says(&["error[infinite-value]", "column `score`"]);
        run(model, [0.5, 0.0], [bad, 1.0], 3).says(&["is not a finite number, as log-odds are"]);
    }
    // Without a scale the hint names it.
    run("", [0.5, 640.0], [0.5, 0.5], 3)
        .says(&["the score `640` is not in [0, 1]", "`scale: {from: 300, to: 850}`"]);
    run("    scale: {from: 300, to: 850}\n    threshold: 0.5", fine, fine, 2).says(&[
        "error[bad-value]",
        "the threshold `0.5` of the model `live` is not in [300, 850]",
        "job.yaml:14",
    ]);
    run("    scale: {from: 300, to: 850}\n    threshold: {column: score}", fine, fine, 0);
    // Thresholds in a column lie on the scale as well.
    run(
        "    scale: {from: 300, to: 850}\n    threshold: {column: cutoff}",
        fine,
        [400.0, 200.0],
        3,
    )
    .says(&["200", "is not in [300, 850]"]);
}

/// Sixty-fourths, so that points and shares are exact in 64-bit numbers.
fn shares(n: usize, step: usize) -> Vec<f64> {
    (0..n).map(|i| (i * step % 65) as f64 / 64.0).collect()
}

/// A score of 300 to 850 is audited as the probability that it represents: the table of metrics is
/// the same to the byte, turned or not, with a threshold that is fitted too.
#[test]
fn a_scaled_file_gives_the_numbers_of_the_unscaled() {
    let (scores, scores_cf) = (shares(300, 23), shares(300, 37));
    let label = "label: {column: good, positive: [1], favourable: positive}";
    let with_split = format!("{label}\n  split: {{share: {{train: 0.4, audit: 0.6}}}}");
    for (data, kinds) in
        [(label, ["0.5", "575", "575"]), (with_split.as_str(), ["youden", "youden", "youden"])]
    {
        let audit = |scale: &str, threshold: &str, of: &dyn Fn(f64) -> f64| {
            let work = Work::new();
            let model = format!("{scale}    threshold: {threshold}");
            let map = |shares: &[f64]| shares.iter().map(|&p| of(p)).collect::<Vec<f64>>();
            // The file of counterfactual scores holds audited rows alone.
            ScaledJob { data, model: &model, ..PLAIN }.write(
                &work,
                &map(&scores),
                &map(&scores_cf),
            );
            if data.contains("split") {
                work.edit(
                    "job.yaml",
                    "job.yaml",
                    &[
                        ("counterfactuals: {flip: naive}\n", ""),
                        (", counterfactual: {parquet: flip.parquet, column: score}", ""),
                    ],
                );
            }
            work.run(0, "job.yaml", "");
            let [metrics, counts] = ["metrics", "counts"]
                .map(|name| fs::read(work.path(&format!("out/tables/{name}.parquet"))).ok());
            (metrics.unwrap(), counts, work)
        };
        let plain = audit("", kinds[0], &|p| p);
        let points = audit("    scale: {from: 300, to: 850}\n", kinds[1], &|p| 300.0 + 550.0 * p);
        assert_eq!((&plain.0, &plain.1), (&points.0, &points.1), "{data}");
        // Risk points: low ones are good, and good is positive.
        let risk = "    scale: {from: 300, to: 850}\n    better: lower\n";
        let risk = audit(risk, kinds[2], &|p| 850.0 - 550.0 * p);
        assert_eq!((&plain.0, &plain.1), (&risk.0, &risk.1), "{data}");
        if data.contains("split") {
            let fitted = |work: &Work| {
                work.table("thresholds").records().next().unwrap().real("threshold").unwrap()
            };
            assert_eq!(fitted(&points.2), 300.0 + 550.0 * fitted(&plain.2));
            assert_eq!(fitted(&risk.2), 850.0 - 550.0 * fitted(&plain.2));
            continue;
        }
        // The page draws shares, and speaks in the numbers of the user.
        points.2.read("out/annex.html").says(&[
            "are numbers from 300 to 850; they are drawn and measured as shares of that scale \
             (0.01 is 5.5 of its numbers)",
            "at or above ",
            "cut-off 575",
        ]);
        risk.2.read("out/annex.html").says(&["at or below ", "counted from the upper end"]);
        // Two runs on different scales do not mean the same by a decision.
        let (old, new) = (plain.2.path("out"), points.2.path("out"));
        let diff = plain.2.cfaudit(0, &format!("diff {} {}", old.display(), new.display()));
        diff.stdout.says(&["decisions and scores of the model live"]);
        // Two runs on one scale are compared person by person.
        let other =
            audit("    scale: {from: 300, to: 850}\n", kinds[1], &|p| 300.0 + 550.0 * p * p);
        let diff = points.2.cfaudit(
            0,
            &format!("diff {} {} --json", new.display(), other.2.path("out").display()),
        );
        let changes: Json = serde_json::from_str(&diff.stdout).unwrap();
        changes.to_string().says(&["paired"]);
    }
}

/// The example of the guide is a job that holds, and what it says about it is what a run does.
#[test]
fn the_example_of_the_guide_runs() {
    let example = documented("models-and-experiments.md", "## Scores of any scale");
    let work = Work::new();
    ScaledJob { data: PLAIN.data, model: "", rest: "" }.write(
        &work,
        &[300.0, 640.0, 850.0, 500.0],
        &[400.0, 850.0, 301.5, 639.0],
    );
    let text = work.read("job.yaml");
    let (before, after) = text.split_once("models:").unwrap();
    let (_, after) = after.split_once("metrics:").unwrap();
    work.write("job.yaml", &format!("{before}{example}metrics:{after}"));
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    // 640 of 640 is at the threshold, and positive.
    assert_eq!((total(&metrics, "psr"), total(&metrics, "nsr")), (Some(0.0), Some(0.5)));
}

/// A counterfactual is compared with the threshold of its row: where the groups have other ones,
/// nothing shows what the threshold of the other group would change.
#[test]
fn thresholds_that_follow_the_group_leave_gates_on_counterfactuals_open() {
    let rest = "gates: {g: {metric: sr, model: live, counterfactual: flip, at_most: 1, enough: 1}}";
    let by_group: fn(i64) -> bool = |i| i % 2 == 0;
    let shared: fn(i64) -> bool = |i| i / 2 % 2 == 0;
    for (is_high, more, verdict, code) in [
        (by_group, "", "inconclusive", "threshold-by-group"),
        (by_group, "threshold-by-group, ", "pass", "limit-kept"),
        (shared, "", "pass", "limit-kept"),
    ] {
        let accept = format!("accept: [{more}one-counterfactual-decision]");
        let model = format!("    threshold: {{column: cutoff}}\n    {accept}");
        let work = Work::new();
        let cutoffs: Vec<f64> = (0..80).map(|i| if is_high(i) { 0.75 } else { 0.25 }).collect();
        ScaledJob { model: &model, rest, ..PLAIN }.write(&work, &shares(80, 7), &cutoffs);
        work.run(0, "job.yaml", "--gates report");
        let gates = work.table("gates");
        let gate = gates.at(&format!("gate=g, verdict={verdict}, reason_code={code}"));
        let words = "`a` and `b` of `group` have different thresholds of model `live`";
        assert_eq!(gate.text("reason").contains(words), verdict == "inconclusive");
        // What is accepted is still reported.
        let page = work.read("out/report.html");
        assert_eq!(page.contains("The threshold follows the group"), is_high(2) && is_high(4));
    }
}

/// A score of 32 bits at the threshold would be below it next to parts of 64 bits.
#[test]
fn parts_of_scores_have_one_type() {
    let work = Work::new();
    ScaledJob { model: "    threshold: 0.7", ..PLAIN }.write(&work, &[0.7; 4], &[0.7; 4]);
    let ids = |rows: std::ops::Range<i64>| ("row_id", column(rows));
    work.parquet("parts/a.parquet", vec![ids(0..2), ("score", column([0.7_f32; 2]))]);
    work.parquet("parts/b.parquet", vec![ids(2..4), ("score", column([0.7_f64; 2]))]);
    work.write("parts/_SUCCESS", "");
    work.edit("job.yaml", "job.yaml", &[("{column: score}", "{parquet: parts, column: score}")]);
    work.run(3, "job.yaml", "").says(&[
        "error[bad-scores]: the numbers of `parts/a.parquet` have 32 bits and those of \
         `parts/b.parquet` do not",
        "write all parts with one type",
    ]);
    // A part without rows decides nothing, whatever its type.
    work.parquet("parts/a.parquet", vec![ids(0..4), ("score", column([0.7_f32; 4]))]);
    work.parquet("parts/b.parquet", vec![ids(4..4), ("score", column([0.0_f64; 0]))]);
    work.run(0, "job.yaml", "");
    let groups = work.table("groups");
    assert_eq!(groups.at("group=").int("n_predicted_positive"), Some(4));
}
