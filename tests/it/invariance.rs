//! What may change in a job or its rows without changing a value: the label, where nothing needs
//! it, and the order of the rows.

use std::collections::BTreeMap;

use crate::work::{Work, column};

/// Columns that name a row of `metrics`.
const KEY: &str =
    "arm model counterfactual sensitive scope from_group to_group slice support metric";

/// For every value that is defined, everything that the table says about it.
fn values(work: &Work, columns: &str) -> BTreeMap<String, String> {
    work.whole_table("metrics")
        .of("value!=")
        .map(|row| (row.joined(KEY), row.joined(columns)))
        .collect()
}

/// 500 of 500 people of one group get the favourable decision, some of the others.
fn people(of_others: usize) -> String {
    let mut text = "id,g,y,score\n".to_owned();
    for i in 0..1000 {
        let group = if i % 2 == 0 { "a" } else { "b" };
        let granted = group == "a" || i / 2 < of_others;
        let score = if granted { 0.9 } else { 0.1 };
        text += &format!("{i},{group},{},{score}\n", i * 7 % 3 % 2);
    }
    text
}

#[test]
fn the_label_changes_nothing_that_needs_none() {
    for of_others in [100, 470, 480] {
        let run = |label: &str| {
            let work = Work::new();
            work.write("people.csv", &people(of_others));
            let steps = format!(
                "~  rows: {{csv: {{path: people.csv}}}}
{label}~  sensitive: {{g: {{groups: [a, b], reference: a}}}}
-counterfactuals
~    scores: {{factual: {{column: score}}}}
~gates:
+  ratio: {{metric: di, model: live, between: {{g: [b, a]}}, at_least: 0.8}}
+  turned: {{metric: demp_ratio, model: live, between: {{g: [a, b]}}, at_most: 1.05}}
+  gap: {{metric: demp_difference, model: live, between: {{g: [a, b]}}, at_most: 0.05}}
+  worst: {{metric: demp_min_ratio, model: live, between: worst_case, sensitive: g, at_least: 0.95}}
+  share: {{metric: pprev, model: live, group: {{g: b}}, at_least: 0.95}}"
            );
            work.job("scored", &steps, "metrics: {families: [performance, group]}\n");
            work.run(0, "job.yaml", "--gates report");
            work
        };
        let label = "~  label: {column: y, positive: [1], favourable: positive}\n-  favourable\n";
        let (with, without) = (run(label), run(""));
        let columns = "value lo hi interval ci_method numerator denominator flags";
        let (all, some) = (values(&with, columns), values(&without, columns));
        assert!(some.len() >= 19, "{}", some.len());
        for (key, value) in &some {
            assert_eq!(Some(value), all.get(key), "{of_others}: {key}");
        }
        let judged = |work: &Work| {
            let gates = work.whole_table("gates");
            let columns = "gate verdict reason value lo hi n_needed_80 n_needed_95 people_needed_80 \
                        detectable needed_how";
            gates.records().map(|row| row.joined(columns)).collect::<Vec<_>>()
        };
        assert_eq!(judged(&with), judged(&without), "{of_others}");
    }
}

/// A model that is trained in the run and scores of another one.
const SCORED: &str = "  m: {scores: {factual: {column: score}, counterfactual: {parquet: \
                      flip.parquet, column: score}}, threshold: 0.5}
  own: {logistic: {l2: 1.0}, threshold: 0.5}
";

/// Decisions that are amounts.
const PREMIUMS: &str = "  premium: {decision: {amount: amount, better: lower, matters_from: 5%, \
                        counterfactual: {parquet: flip.parquet, column: amount}}}
";

/// Rows in two orders, the heavy ones of each amount first or last.
#[test]
fn the_order_of_rows_changes_nothing() {
    let run = |heavy_first: bool, weighted: bool, models: &str| {
        let work = Work::new();
        let mut rows: Vec<(u64, &str, u64, u64, u64, u64)> = (0..240)
            .map(|i| {
                let group = ["a", "b", "c"][i as usize % 3];
                let (weight, amount) =
                    (if i * 11 % 5 == 0 { 50 } else { 1 }, 100 + i * 13 % 7 * 100);
                (i, group, i * 7 % 3 % 2, i * 31 % 17, amount, weight)
            })
            .collect();
        rows.sort_by_key(|row| (row.5, row.0 * 37 % 101));
        if heavy_first {
            rows.reverse();
        }
        let mut text = "id,g,y,score,amount,w\n".to_owned();
        let mut moved: Vec<(i64, &str, f64, f64)> = Vec::new();
        for (id, group, y, score, amount, weight) in rows {
            text += &format!("{id},{group},{y},{},{amount},{weight}\n", score as f64 / 17.0);
            for (k, to) in (0_u64..).zip(["a", "b", "c"]).filter(|(_, to)| *to != group) {
                let score = (score + 3 * k) % 17;
                moved.push((id as i64, to, score as f64 / 17.0, (amount + 50 * k) as f64));
            }
        }
        work.write("people.csv", &text);
        let numbers = |of: fn(&(i64, &str, f64, f64)) -> f64| column(moved.iter().map(of));
        work.parquet(
            "flip.parquet",
            vec![
                ("row_id", column(moved.iter().map(|of| of.0))),
                ("to_group", column(moved.iter().map(|of| of.1))),
                ("score", numbers(|of| of.2)),
                ("amount", numbers(|of| of.3)),
            ],
        );
        let steps = format!(
            "~  rows: {{csv: {{path: people.csv}}}}
{}~  label: {{column: y, positive: [1], favourable: positive}}
~  sensitive: {{g: {{groups: [a, b, c], reference: a}}}}
~  features: {{continuous: [score, amount]}}
-models
~metrics: {{bootstrap: {{samples: 100}}}}",
            if weighted { "@  row_id\n+  weight: w\n" } else { "" }
        );
        work.job("trained", &steps, &format!("models:\n{models}"));
        work.run(0, "job.yaml", "");
        values(&work, "value lo hi")
    };
    for (models, least) in [(SCORED, 1000), (PREMIUMS, 50)] {
        for weighted in [false, true] {
            let (first, last) = (run(true, weighted, models), run(false, weighted, models));
            assert!(first.len() > least, "{}", first.len());
            assert_eq!(first.keys().collect::<Vec<_>>(), last.keys().collect::<Vec<_>>());
            for (key, one) in &first {
                for (x, y) in one.split(" | ").zip(last[key].split(" | ")) {
                    let near = match (x.parse::<f64>(), y.parse::<f64>()) {
                        (Ok(x), Ok(y)) => (x - y).abs() <= 1e-9 * x.abs().max(1.0),
                        _ => x == y,
                    };
                    assert!(near, "{weighted}, {key}: {one:?} {:?}", last[key]);
                }
            }
        }
    }
}
