//! Gates on a change: judged where the value means the same in both runs.

use std::fs;

use serde_json::Value as Json;

use super::scores::scored;
use super::{audit, audit_scores, first_version, near};
use crate::frame::TableRecord;
use crate::lists::{assert_valid, schema};
use crate::work::{Says, Work, assert_same, files, results};

pub(super) const GATES: &str = "gates:\n  no-worse: {metric: nsr, model: gbm, \
    counterfactual: flip, direction: {sex: [Female, Male]}, against: baseline, \
    rise_at_most: 0.01}\n";

/// `run --baseline`, and `gate --baseline` on what `run` left, write the same bytes.
#[test]
fn gates_against_a_baseline() {
    let (work, sides, ids) = first_version();
    let skipped = audit(&work, "v2", &ids, &sides[1], GATES, "", 0).summary();
    assert_eq!((&skipped["verdict"], &skipped["gates"]["skipped"]), (&"done".into(), &1.into()));
    let failed = work.cfaudit(1, "gate v2 --baseline v1");
    let summary = failed.summary();
    failed.says(&[
        "gates.no-worse: fail: nsr Female to Male of gbm changes from 0.",
        "the whole interval breaks the limit",
    ]);
    assert_eq!(
        (&summary["exit"], &summary["gates"]["fail"], &summary["worst"]["gate"]),
        (&1.into(), &1.into(), &"no-worse".into())
    );
    let page = work.read("v2/annex.html");
    page.says(&["Against the last version", "rise at most 1 point<", "paired: 1200 people"]);
    for of in ["summary", "manifest"] {
        let file = format!("v2/{of}.json");
        assert_valid(&schema(of), &work.json(&file), std::path::Path::new(&file));
    }
    // Judged again, without naming the baseline: the folder is enough, and nothing is written.
    let before = files(&work.path("v2"));
    let modified = || fs::metadata(work.path("v2/manifest.json")).unwrap().modified().unwrap();
    let time = modified();
    fs::rename(work.path("v1"), work.path("gone")).unwrap();
    assert_eq!(work.cfaudit(1, "gate v2").stdout, failed.stdout);
    assert_same(&before, &files(&work.path("v2")), "judged again");
    assert_eq!(modified(), time);
    work.cfaudit(0, "report v2");
    assert_same(&before, &files(&work.path("v2")), "rendered again");
    fs::rename(work.path("gone"), work.path("v1")).unwrap();

    let ran = work.cfaudit(1, "run v2.yaml --out v3 --cache cache --baseline v1").summary();
    assert_eq!(ran["worst"], summary["worst"]);
    assert_same(&results(&work.path("v3")), &results(&work.path("v2")), "run and gate");
    assert!(work.json("v3/manifest.json")["command"].as_str().unwrap().ends_with("--baseline v1"));
    // All stages are cached, the comparison too.
    work.cfaudit(1, "run v2.yaml --out v3 --cache cache --baseline v1").says(&["nothing to do"]);

    // A job may also be asked about two folders.
    let stdout = work.cfaudit(1, "diff v1 v2 --job v2.yaml").stdout;
    assert!(
        stdout.ends_with("gate no-worse: fail (the whole interval breaks the limit)\n"),
        "{stdout}"
    );
}

/// How a ratio changes says nothing of its reciprocal: each order is judged by its own change.
#[test]
fn the_change_of_a_ratio_is_asked_as_it_is_measured() {
    let (work, sides, ids) = first_version();
    let gate = |metric: &str, groups: &str, limit: &str| {
        format!(
            "gates:\n  ratio: {{metric: {metric}, model: gbm, between: {{sex: {groups}}}, against: \
             baseline, {limit}: 0.5}}\n"
        )
    };
    let ratio = |out: &str, metric: &str, groups: &[String; 2]| {
        let metrics = work.table(&format!("{out}/metrics"));
        let of = |row: &TableRecord<'_>| {
            (row.text("scope"), row.text("metric")) == ("pair", metric)
                && ["from_group", "to_group"].map(|column| row.text(column)) == *groups
        };
        metrics.records().find(of).unwrap().real("value").unwrap()
    };
    for metric in ["demp_ratio", "di"] {
        let mut changes = Vec::new();
        for groups in ["[Female, Male]", "[Male, Female]"] {
            for limit in ["fall_at_most", "rise_at_most"] {
                let gate = gate(metric, groups, limit);
                let args = "--baseline v1";
                let decided = audit(&work, "v2", &ids, &sides[1], &gate, args, 0);
                assert_eq!(decided.summary()["gates"]["pass"], 1, "{metric} {groups} {limit}");
                assert!(decided.summary()["worst"]["lo"].is_f64());
            }
            let gates = work.table("v2/gates");
            let row = gates.records().next().unwrap();
            let order = ["from_group", "to_group"].map(|column| row.text(column).to_owned());
            let change = row.real("value").unwrap();
            let [old, new] = ["v1", "v2"].map(|out| ratio(out, metric, &order));
            near(Some(change), new - old, 1e-12);
            changes.push(change);
            // Of the value itself either order will do, too.
            let value = gate(metric, groups, "at_least")
                .replace("against: baseline, ", "decide_by: estimate, ");
            audit(&work, "v3", &ids, &sides[1], &value, "", 0);
        }
        assert!(changes[0] != 0.0 && (changes[0] + changes[1]).abs() > 1e-6, "{changes:?}");
    }
}

#[test]
fn gates_are_not_judged_where_a_definition_differs() {
    let (work, sides, ids) = first_version();
    audit(&work, "v2", &ids, &sides[0], GATES, "--set models.gbm.threshold=0.6", 0);
    let refused = work.cfaudit(1, "gate v2 --baseline v1");
    refused
        .says(&["inconclusive", "not comparable with the baseline: another models.gbm.threshold"]);
    assert_eq!(refused.summary()["gates"]["inconclusive"], 1);
    work.cfaudit(0, "diff v1 v2").stdout.says(&[
        "comparable: in part",
        "models.gbm.threshold: 0.5 -> 0.6; another meaning: decisions of the model gbm",
        "`--force` compares the rest anyway",
    ]);
    assert_eq!(work.cfaudit(0, "gate v2 --baseline v1 --force").summary()["gates"]["pass"], 1);
    let forced = work.cfaudit(0, "diff v1 v2 --force").stdout;
    forced.says(&["comparable: no"]);
    forced.lacks(&["`--force`"]);
}

/// After a change of threshold scores and labels are compared, decisions are not; both runs' own
/// gates stand side by side.
#[test]
fn what_another_threshold_leaves_comparable() {
    let work = Work::new();
    let people = scored()[0].clone();
    let ids: Vec<i64> = (0..1500).collect();
    let gates = "gates:\n  few: {metric: sr, model: gbm, counterfactual: flip, at_most: 0.2, \
                 decide_by: estimate, level: warn}\n";
    audit_scores(&work, "v1", &ids, &people, ["", gates], "", 0);
    let more = gates.replace("0.2", "0.001")
        + "  more: {metric: psr, model: gbm, counterfactual: flip, at_most: 0.9, level: warn}\n";
    audit_scores(&work, "v2", &ids, &people, ["", &more], "--set models.gbm.threshold=0.4", 0);
    let stdout = work.cfaudit(0, "diff v1 v2 --out page").stdout;
    let changes = work.table("page/changes");
    let status = |metric: &str| changes.at(&format!("metric={metric}")).text("status").to_owned();
    assert_eq!(["mcd", "prev", "prev_difference"].map(status), ["compared"; 3]);
    assert_eq!(["sr", "acc", "demp_difference"].map(status), ["not_comparable"; 3]);
    let gates: Vec<&str> =
        stdout.lines().skip_while(|line| !line.starts_with("gates before and after")).collect();
    assert_eq!(gates.len(), 7, "{stdout}");
    assert!(gates[1] == "  few" && gates[2].contains("before: pass: sr of gbm is "), "{stdout}");
    gates[3].says(&["after:  fail: sr of gbm is ", ", limit 0.10"]);
    assert!(
        gates[4] == "  more"
            && gates[5].ends_with("before: no such gate")
            && gates[6].contains("after:  pass: psr"),
        "{stdout}"
    );
    work.read("page/diff.html").says(&["Gates before and after"]);
    work.cfaudit(0, "diff v1 v2 --md").stdout.says(&["| few | pass: "]);
    let json: Json = serde_json::from_str(&work.cfaudit(0, "diff v1 v2 --json").stdout).unwrap();
    assert_eq!(json["gates_before_and_after"][1]["before"], "no such gate");
}
