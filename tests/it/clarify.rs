//! Clarify's metrics, worst cases and the rest, from the job to tables, gates and page; their
//! values are checked by separate oracles.

use serde_json::Value as Json;

use crate::work::{Says, Work};

const JOB: &str = "\
cfaudit: 1
name: facets
data:
  rows:
    synthetic:
      rows: 4000
      columns:
        origin: {levels: {north: 0.5, south: 0.3, west: 0.2}}
        sex: {levels: {Male: 0.55, Female: 0.45}}
        trade: {levels: {baker: 0.5, tailor: 0.3, smith: 0.2}}
        income:
          linear:
            intercept: 22
            effects: {\"sex=Female\": -4, \"origin=west\": -3}
            noise: {normal: {sd: 7}}
        age: {linear: {intercept: 43, noise: {normal: {sd: 12}}}}
        repaid: {logit: {intercept: -2, effects: {income: 0.11, \"sex=Female\": -0.35}}}
  label: {column: repaid, positive: [1], favourable: positive}
  sensitive:
    sex: {groups: [Male, Female], reference: Male}
    origin: {groups: [north, south, west], reference: north}
  features: {continuous: [income, age], nominal: [trade]}
  split: {share: {train: 0.5, audit: 0.5}}
models: {scorecard: {logistic: {l2: 1.0}}}
metrics:
  families: [performance, group, clarify]
  bootstrap: {samples: 100}
  clarify:
    favoured: {origin: rest}
    strata: trade
    flip_test: {neighbours: 3, scale: standard, max_rows: 600}
gates:
  strata: {metric: cddpl, model: scorecard, between: {sex: [Male, Female]}, at_most: 1}
  rest: {metric: dppl, model: scorecard, between: {origin: [rest, west]}, at_most: 1}
  furthest: {metric: eodds, model: scorecard, between: worst_case, sensitive: origin, at_most: 1}
";

#[test]
fn facets_from_job_to_page() {
    let work = Work::new();
    work.write("job.yaml", JOB);
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let of = |scope: &str, from: &str, to: &str, metric: &str| {
        let key = ["scope", "from_group", "to_group", "metric"];
        let mut found = metrics
            .records()
            .filter(|r| key.map(|column| r.text(column)) == [scope, from, to, metric]);
        let first = found.next().unwrap_or_else(|| panic!("{metric} in {scope} {from} {to}"));
        assert!(found.next().is_none(), "{metric} occurs twice in {scope} {from} {to}");
        first
    };
    let pair = |metric: &str| of("pair", "Male", "Female", metric);
    let ids = "dppl dcacc dcr rd sd dar drr ad te cddpl ft dpl bias_change";
    for metric in ids.split(' ') {
        let row = pair(metric);
        assert!(
            row.real("lo").unwrap() <= row.real("value").unwrap()
                && row.real("value").unwrap() <= row.real("hi").unwrap(),
            "{metric}"
        );
    }
    for (alias, metric) in [
        ("dppl", "demp_difference"),
        ("rd", "eopp_difference"),
        ("sd", "pred_eq_difference"),
        ("dar", "pred_p_difference"),
    ] {
        assert_eq!(pair(alias).real("value"), pair(metric).real("value"), "{alias}");
    }
    let ft = pair("ft");
    ft.text("flags").says(&["sampled"]);
    ft.text("args").says(&["\"looked_at\":600,", "\"neighbours\":3}"]);
    let search: Json = serde_json::from_str(ft.text("args")).unwrap();
    let eligible = search["eligible"].as_u64().unwrap();
    assert_eq!(eligible, 2000, "{search}");
    // Every group against all others, who are favoured; and the groups furthest apart.
    for group in ["north", "south", "west"] {
        assert!(
            of("one_vs_rest", "", group, "dppl").real("value").is_some()
                && of("one_vs_rest", group, "", "acc_difference").real("lo").is_some()
        );
    }
    let highest =
        |a: &str, b: &str| of("pair", a, b, "demp_difference").real("value").unwrap().abs();
    let widest = [("north", "south"), ("north", "west"), ("south", "west")]
        .map(|(a, b)| highest(a, b))
        .into_iter()
        .fold(0.0, f64::max);
    let worst = metrics.at("scope=worst_case, sensitive=origin, metric=demp_difference");
    assert!(
        (worst.real("value").unwrap() - widest).abs() < 1e-15
            && worst.text("lowest_group") == "west"
    );
    assert!(work.table("groups").records().all(|r| r.int("n_missing_stratum") == Some(0)));
    assert_eq!(
        work.table("gates").records().map(|r| r.text("verdict")).collect::<Vec<_>>(),
        ["pass"; 3]
    );
    let page = work.read("out/annex.html");
    page.says(&[
        "metrics, the favoured facet first",
        "furthest apart",
        "conditional demographic disparity",
        &format!("3 neighbours among a sample of 600 of {eligible} people"),
    ]);
    // A gap of 18 points in the labels, and of 42 in the predictions.
    page.says(&[" is amplified by the predictions."]);

    work.same_bytes(0, "job.yaml", &["--threads 3 --batch-rows 1024"]);
    // Another number of neighbours runs the flip test again, and nothing before it.
    work.run(0, "job.yaml", "--set metrics.clarify.flip_test.neighbours=5");
    work.table("metrics").at("metric=ft").text("args").says(&["\"neighbours\":5}"]);
}
