//! Sets that are fitted again on the rows of each run: what a later run says about their changes.
//!
//! People are drawn by hashes from one distribution, and scored by one formula instead of a
//! platform, so that from night to night only the people change.

use crate::frame::{TableFrame, TableRecord};
use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use cfaudit::num::seed::{h, u01};

use crate::batches::{answered, read_folder, write};
use crate::work::{Rows, Says, Work, column, job_of};

const NIGHTS: u64 = 10;
const PEOPLE: u64 = 30_000;

/// A number that is about normal: the sum of twelve uniform ones.
fn normal(seed: u64, person: u64, stream: u64) -> f64 {
    (0..12).map(|k| u01(h(seed, person, 100 * stream + k))).sum::<f64>() - 6.0
}

/// Chance of being granted.
fn score(sex: &str, pay: f64, years: f64, job: &str) -> f64 {
    let bonus = if sex == "Male" { 0.2 } else { 0.0 } + if job == "office" { 0.3 } else { 0.0 };
    1.0 / (1.0 + (-(0.12 * (pay - 30.0) + 0.1 * (years - 8.0) + bonus)).exp())
}

/// Writes the people of a night, or those of a reference, into `NAME.parquet`.
fn people(work: &Work, name: &str, seed: u64, n: u64) {
    people_with_labels(work, name, seed, n, |_| true);
}

/// The same where only some have a label, by their score.
fn people_with_labels(work: &Work, name: &str, seed: u64, n: u64, labelled: impl Fn(f64) -> bool) {
    let sex = |i: u64| if u01(h(seed, i, 1)) < 0.45 { "Female" } else { "Male" };
    let man = |i: u64| if sex(i) == "Male" { 1.0 } else { 0.0 };
    let pay = |i: u64| 28.0 + 4.0 * man(i) + 8.0 * normal(seed, i, 2);
    let years = |i: u64| (7.0 + 2.0 * man(i) + 4.0 * normal(seed, i, 3)).max(0.0);
    let job = |i: u64| if u01(h(seed, i, 4)) < 0.3 + 0.15 * man(i) { "office" } else { "field" };
    let score = |i: u64| score(sex(i), pay(i), years(i), job(i));
    let paid = |i: u64| labelled(score(i)).then(|| i64::from(u01(h(seed, i, 5)) < score(i)));
    let all = || 0..n;
    Rows::of(all())
        .with("id", |i| (seed * 1_000_000 + i) as i64)
        .with("sex", sex)
        .with("pay", pay)
        .with("years", years)
        .with("job", job)
        .with("paid", paid)
        .with("score", score)
        .write(work, &format!("{name}.parquet"));
}

/// Scores the rows of a folder as the platform would.
fn answer(to_score: &Path, file: &Path) {
    let rows = read_folder(to_score);
    let text = |name: &str| rows.column_by_name(name).unwrap().as_string::<i32>().clone();
    let real =
        |name: &str| rows.column_by_name(name).unwrap().as_primitive::<Float64Type>().clone();
    let (sex, pay, years, job) = (text("sex"), real("pay"), real("years"), text("job"));
    let scores = (0..rows.num_rows())
        .map(|i| score(sex.value(i), pay.value(i), years.value(i), job.value(i)));
    write(file, &answered(&rows, "score", column(scores)));
}

/// Writes a job about the people of a file: a trained model's after the steps of a patch.
fn night_job(work: &Work, file: &str, rows: &str, steps: &str) {
    let people = format!(
        "~  rows: {{parquet: {rows}.parquet}}
~  label: {{column: paid, positive: [1], favourable: positive}}
~  sensitive: {{sex: {{groups: [Male, Female], reference: Male}}}}
{steps}"
    );
    let more = "on_inconclusive: warn\nrun: {keep_rows: none}\n";
    work.write(file, &(job_of("trained", &people) + more));
}

/// Audits the people of a file, and answers what the run asks for.
fn audit(work: &Work, rows: &str, out: &str, data: &str, args: &str) {
    let steps = format!(
        "~  features: {{continuous: [pay, years], nominal: [job]}}
{data}-  split
~counterfactuals: {{flip: naive, world: {{plausible: {{move: all, condition_on: label}}}}}}
~  live: {{scores: {{factual: {{column: score}}, counterfactual: {{parquet: \
         \"{out}-scores/{{counterfactual}}.parquet\", column: score}}}}}}
~metrics: {{families: [performance, group, ccm, shift], bootstrap: {{samples: 400}}}}
+gates:
+  drift: {{metric: sr, model: live, counterfactual: world, against: baseline, rise_at_most: 0.05}}
+  naive: {{metric: sr, model: live, counterfactual: flip, against: baseline, rise_at_most: 0.05}}"
    );
    night_job(work, &format!("{out}.yaml"), rows, &steps);
    work.cfaudit(4, &format!("run {out}.yaml --out {out} --cache cache"));
    for set in ["flip", "world"] {
        answer(
            &work.path(&format!("{out}/to-score/{set}")),
            &work.path(&format!("{out}-scores/{set}.parquet")),
        );
    }
    work.cfaudit(0, &format!("run {out}.yaml --out {out} --cache cache {args}"));
}

fn changes(work: &Work, old: &str, new: &str) -> TableFrame {
    work.cfaudit(0, &format!("diff {old} {new} --out page"));
    work.table("page/changes")
}

/// Clear changes and all that are judged, of the rows for which `of` says so.
fn clear(frames: &[TableFrame], of: impl Fn(&TableRecord<'_>) -> bool) -> (usize, usize) {
    let judged =
        || frames.iter().flat_map(TableFrame::records).filter(|row| row.is_some("lo") && of(row));
    (judged().filter(|row| row.int("clear") == Some(1)).count(), judged().count())
}

fn verdict(work: &Work, out: &str, gate: &str) -> [String; 2] {
    let gates = work.table(&format!("{out}/gates"));
    let row = gates.at(&format!("gate={gate}"));
    ["verdict", "reason"].map(|column| row.text(column).to_owned())
}

/// Ten nights without drift: no change of the set that is fitted each night is judged, and of the
/// others at most as many are clear as chance makes.
#[test]
#[ignore = "slow, `make test-slow` runs it: ten nights of 30,000 people"]
fn nights_without_drift() {
    let work = Work::new();
    for night in 0..NIGHTS {
        let (name, baseline) =
            (format!("n{night}"), format!("--baseline n{}", night.saturating_sub(1)));
        people(&work, &name, 100 + night, PEOPLE);
        audit(&work, &name, &name, "", if night == 0 { "" } else { &baseline });
    }
    let found: Vec<TableFrame> =
        (1..NIGHTS).map(|n| changes(&work, &format!("n{}", n - 1), &format!("n{n}"))).collect();
    let of_world = |row: &TableRecord<'_>| row.text("counterfactual") == "world";
    for row in found.iter().flat_map(TableFrame::records).filter(of_world) {
        row.holds("status=refitted, interval=");
        assert!(!row.is_some("lo") && row.int("clear") == Some(0), "{}", row.text("metric"));
        assert!(
            !row.is_some("difference") || row.text("ci_method").contains("refitted"),
            "{}",
            row.text("ci_method")
        );
    }
    assert!(found.iter().all(|frame| {
        frame.records().filter(of_world).filter(|row| row.is_some("difference")).count() > 20
    }));
    let (n, all) = clear(&found, |_| true);
    eprintln!(
        "{n} of {all} changes that are judged are clear: {:.1} %",
        100.0 * n as f64 / all as f64
    );
    assert!(all > 400 && n * 100 <= all * 7, "{n} of {all}");
    for night in 1..NIGHTS {
        let [refitted, reason] = verdict(&work, &format!("n{night}"), "drift");
        assert!(
            refitted == "inconclusive" && reason.starts_with("refitted: "),
            "{refitted}: {reason}"
        );
        assert_eq!(verdict(&work, &format!("n{night}"), "naive")[0], "pass");
    }
    let stdout = work.cfaudit(0, "diff n0 n1").stdout;
    stdout.says(&["changes of the set world (refitted: ", "fixed `data.reference`"]);
    work.read("n1/annex.html").says(&["changes of the set world (refitted: "]);
    work.cfaudit(0, "check n1.yaml --no-data")
        .stdout
        .says(&["warning[refitted-gate]: the gate `drift` judges how the set `world` changes"]);
}

/// A model of pay and years as a file of LightGBM: the logistic score of [`score`] in steps of one
/// tree each, with the slope of years multiplied.
#[cfg(feature = "lightgbm")]
fn model(years: f64) -> String {
    let mut trees = String::new();
    let steps = |feature: u8, from: i32, to: i32, height: f64| {
        (from..to).map(move |at| (feature, f64::from(at) + 0.5, height / 2.0))
    };
    // At a pay of 30 and 8 years the chance is 1/2.
    let all = steps(0, 0, 60, 0.12).chain(steps(1, -8, 24, 0.1 * years));
    for (number, (feature, threshold, half)) in all.enumerate() {
        trees += &format!(
            "Tree={number}\nnum_leaves=2\nnum_cat=0\nsplit_feature={feature}\nsplit_gain=1\n\
             threshold={threshold}\ndecision_type=2\nleft_child=-1\nright_child=-2\n\
             leaf_value=-{half} {half}\nleaf_weight=1 1\nleaf_count=1 1\ninternal_value=0\n\
             internal_weight=0\ninternal_count=2\nis_linear=0\nshrinkage=1\n\n\n"
        );
    }
    format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
         max_feature_idx=1\nobjective=binary sigmoid:1\nfeature_names=pay years\nfeature_infos=\
         [0:60] [-8:24]\n\n{trees}end of trees\n\nfeature_importances:\n\nparameters:\nend of \
         parameters\n\npandas_categorical:null\n"
    )
}

/// How many values of two runs would have changed clearly if there were only their intervals over
/// people (MOVER).
#[cfg(feature = "lightgbm")]
fn clear_by_people(work: &Work, old: &str, new: &str) -> usize {
    let values = |out: &str| {
        let metrics = work.table(&format!("{out}/metrics"));
        let key = ["scope", "from_group", "to_group", "metric"];
        let rows = metrics.records().filter_map(|row| {
            let key = key.map(|column| row.text(column).to_owned());
            Some((key, [row.real("lo")?, row.real("value")?, row.real("hi")?]))
        });
        rows.collect::<std::collections::BTreeMap<_, _>>()
    };
    let (old, new) = (values(old), values(new));
    let is_clear = |(key, b): &(&[String; 4], &[f64; 3])| {
        let Some(a) = old.get(*key) else { return false };
        let change = b[1] - a[1];
        let below = (b[1] - b[0]).hypot(a[2] - a[1]);
        let above = (b[2] - b[1]).hypot(a[1] - a[0]);
        change - below > 0.0 || change + above < 0.0
    };
    new.iter().filter(is_clear).count()
}

/// Ten nights without drift whose set measures the doubt about its fit: its changes are judged, at
/// most 7 % of them are clear, and a change of the model that moves the rate by 3 points is found.
#[test]
#[cfg(feature = "lightgbm")]
#[ignore = "slow, `make test-slow` runs it: eleven nights of 30,000 people, each fitted 21 times"]
fn nights_whose_fits_are_doubted() {
    let work = Work::new();
    let audit = |rows: &str, out: &str, years: f64, doubt: &str, args: &str| {
        work.write("model.txt", &model(years));
        let steps = format!(
            "~  features: {{continuous: [pay, years]}}
-  split
~counterfactuals: {{world: {{plausible: {{move: all, condition_on: label}}{doubt}}}}}
~  live: {{lightgbm: {{file: model.txt}}}}
~metrics: {{families: [ccm, eccm, shift], bootstrap: {{samples: 400}}}}
+gates:
+  drift: {{metric: sr, model: live, counterfactual: world, against: baseline, rise_at_most: 0.005}}"
        );
        night_job(&work, "job.yaml", rows, &steps);
        let status = i32::from(out == "planted");
        work.cfaudit(status, &format!("run job.yaml --out {out} --cache cache {args}"));
        work.cfaudit(0, "check job.yaml --no-data").stdout
    };
    let doubt = ", doubt: {fit: 20}";
    let night = |n: u64| format!("n{n}");
    for n in 0..NIGHTS {
        people(&work, &night(n), 100 + n, PEOPLE);
        let baseline = format!("--baseline {}", night(n.saturating_sub(1)));
        let ran = audit(&night(n), &night(n), 1.0, doubt, if n == 0 { "" } else { &baseline });
        ran.lacks(&["refitted-gate"]);
        assert!(n == 0 || verdict(&work, &night(n), "drift")[0] != "fail");
    }
    let found: Vec<TableFrame> =
        (1..NIGHTS).map(|n| changes(&work, &night(n - 1), &night(n))).collect();
    let rows = || found.iter().flat_map(TableFrame::records);
    let lacking: Vec<_> = rows().filter(|row| row.text("status") != "compared").collect();
    assert!(lacking.iter().all(|row| row.text("ci_method").contains("fewer than 95 %")));
    assert!(lacking.len() * 20 < rows().count());
    assert!(rows().filter(|row| row.text("interval") == "satterthwaite").count() > 300);
    let (n, all) = clear(&found, |_| true);
    eprintln!("{n} of {all} changes are clear: {:.1} %", 100.0 * n as f64 / all as f64);
    assert!(all > 300 && n * 100 <= all * 7, "{n} of {all}");
    // Without the fits the same changes would be called clear too often.
    let alone: usize = (1..NIGHTS).map(|n| clear_by_people(&work, &night(n - 1), &night(n))).sum();
    eprintln!("by people alone {alone}: {:.1} %", 100.0 * alone as f64 / all as f64);
    assert!(alone * 100 > all * 12, "{alone} of {all}");
    people(&work, "after", 200, PEOPLE);
    audit("after", "planted", PLANTED, doubt, "--baseline n9");
    let drift = changes(&work, "n9", "planted");
    let sr = drift.at("metric=sr, scope=total");
    let change = sr.real("difference").unwrap();
    eprintln!("planted: {change}, {:?} to {:?}", sr.real("lo"), sr.real("hi"));
    assert!((0.015..0.045).contains(&change) && sr.int("clear") == Some(1), "{change}");
    assert_eq!(verdict(&work, "planted", "drift")[0], "fail");
    // A baseline without doubt says what helps.
    audit("n9", "plain", 1.0, "", "");
    audit("after", "again", 1.0, doubt, "--baseline plain");
    let [found, reason] = verdict(&work, "again", "drift");
    assert_eq!(found, "inconclusive");
    reason.says(&["approve a folder of a run with `doubt`"]);
}

/// How many times steeper the years of the planted model are: 3 points more people switch.
#[cfg(feature = "lightgbm")]
const PLANTED: f64 = 3.0;

/// With a reference that stays the same the set is judged, also where the file was written again.
#[test]
fn nights_with_a_fixed_reference() {
    let work = Work::new();
    people(&work, "past", 7, PEOPLE);
    let reference = "+  reference: {parquet: past.parquet, label: paid}\n";
    for night in 0..4 {
        let (name, baseline) = (format!("n{night}"), format!("--baseline n{}", night.max(1) - 1));
        people(&work, &name, 100 + night, PEOPLE / 3);
        audit(&work, &name, &name, reference, if night == 0 { "" } else { &baseline });
        assert!(night == 0 || verdict(&work, &name, "drift")[0] == "pass");
    }
    let found: Vec<TableFrame> =
        (1..4).map(|n| changes(&work, &format!("n{}", n - 1), &format!("n{n}"))).collect();
    assert!(found.iter().flat_map(TableFrame::records).all(|row| row.text("status") == "compared"));
    let (n, all) = clear(&found, |row| row.text("counterfactual") == "world");
    eprintln!("{n} of {all} changes of the set are clear: {:.1} %", 100.0 * n as f64 / all as f64);
    assert!(all > 60 && n * 100 <= all * 15, "{n} of {all}");
    work.cfaudit(0, "check n1.yaml --no-data").stdout.lacks(&["refitted-gate"]);
    // Other rows of reference are another fit.
    people(&work, "past", 8, PEOPLE);
    audit(&work, "n3", "other", reference, "--baseline n3");
    let reason = verdict(&work, "other", "drift").into_iter().next_back().unwrap();
    reason.says(&["refitted: the rows of `data.reference`", "after a new model version"]);
    reason.lacks(&["fixed `data.reference`"]);
}

/// Writes other versions of the rules into the manifest of a folder.
fn with_earlier_rules(work: &Work, folder: &str) {
    let mut manifest = work.json(&format!("{folder}/manifest.json"));
    manifest["policies"] = serde_json::json!({"who_counts": 1, "intervals": 1, "starts": 1});
    work.write(
        &format!("{folder}/manifest.json"),
        &serde_json::to_string_pretty(&manifest).unwrap(),
    );
}

/// A folder of earlier rules serves as baseline: what they touch is not compared, the rest is.
#[test]
fn folders_of_earlier_rules_are_baselines() {
    let work = Work::new();
    for (out, seed) in [("old", 1), ("new", 2)] {
        people_with_labels(&work, out, seed, 3000, |score| score > 0.5);
        audit(&work, out, out, "", "");
    }
    let status = |metric: &str, set: &str| {
        let changes = changes(&work, "old", "new");
        changes.at(&format!("metric={metric}, counterfactual={set}")).text("status").to_owned()
    };
    assert_eq!(
        [status("sr", "flip"), status("acc", ""), status("sr", "world")],
        ["compared", "compared", "refitted"]
    );
    with_earlier_rules(&work, "old");
    let stdout = work.cfaudit(0, "diff old new").stdout;
    stdout.says(&["policies.who_counts: 1 -> 2; another meaning: values that need no label"]);
    assert_eq!(
        [status("sr", "flip"), status("acc", ""), status("sr", "world")],
        ["not_comparable", "compared", "not_comparable"]
    );
    work.cfaudit(0, "gate new --baseline old");
    let [found, reason] = verdict(&work, "new", "naive");
    assert_eq!(found, "inconclusive");
    reason.says(&["another policies.who_counts"]);
    // Where everybody has a label the rule makes no difference.
    for (out, seed) in [("all-old", 3), ("all-new", 4)] {
        people(&work, out, seed, 3000);
        audit(&work, out, out, "", "");
    }
    with_earlier_rules(&work, "all-old");
    work.cfaudit(0, "gate all-new --baseline all-old");
    assert_eq!(verdict(&work, "all-new", "naive")[0], "pass");
}
