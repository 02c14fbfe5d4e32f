//! Ratios of two directions from the job to tables, gates and page, with the example of
//! `docs/metrics.md`; their values are checked by separate oracles.

use crate::work::{Says, Work, documented};

/// The rows of the base job are generated; the attribute changes income and label.
const STEPS: &str = "~  rows:
+    synthetic:
+      rows: 4000
+      columns:
+        sex: {levels: {m: 0.5, f: 0.5}}
+        income: {linear: {intercept: 22, effects: {sex=f: -4}, noise: {normal: {sd: 7}}}}
+        repaid: {logit: {intercept: -2, effects: {income: 0.11, sex=f: -0.9}}}
-  row_id
~  sensitive: {sex: {groups: [m, f], reference: m}}
~  features: {continuous: [income]}
~metrics: {families: [ccm, eccm]}";

#[test]
fn the_example_of_the_guide_runs() {
    let example = documented("metrics.md", "### Ratios of two directions");
    let work = Work::new();
    work.job("trained", STEPS, &example);
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let of = |scope: &str, from: &str, to: &str, metric: &str| {
        let key = ["scope", "from_group", "to_group", "metric"];
        let wanted = [scope, from, to, metric];
        let found = metrics.records().find(|r| key.map(|column| r.text(column)) == wanted);
        found.unwrap_or_else(|| panic!("{wanted:?}"))
    };
    for (from, to) in [("m", "f"), ("f", "m")] {
        let rate = |from, to| of("direction", from, to, "sr").real("value").unwrap();
        let ratio = of("difference", from, to, "sr_ratio");
        let value = ratio.real("value").unwrap();
        assert!((value - rate(from, to) / rate(to, from)).abs() < 1e-12, "{value}");
        assert!(ratio.real("lo").unwrap() < value && value < ratio.real("hi").unwrap());
        ratio.holds("interval=katz");
    }
    // No man is granted what he would be refused as a woman.
    of("difference", "m", "f", "nsr_ratio").holds("value=, undefined=zero_reference_rate");
    let mut ratios = metrics.records().filter(|r| r.text("metric").ends_with("_ratio"));
    assert!(ratios.all(|r| r.text("scope") == "difference"));
    let gates = work.table("gates");
    let mut judged: Vec<(&str, &str)> =
        gates.records().map(|r| (r.text("from_group"), r.text("verdict"))).collect();
    judged.sort_unstable();
    assert_eq!(judged, [("f", "pass"), ("m", "pass")]);
    work.read("out/annex.html").says(&["ratio of switch rates"]);
}
