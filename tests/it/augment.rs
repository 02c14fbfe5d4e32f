//! Experiments: the base arm is the audit itself, every other arm is trained as its name says, and
//! a run that failed continues where it stopped.

use crate::frame::{TableFrame, TableRecord, read_frame};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::command::{WELL, canned, with_command};
use crate::determinism::work;
use crate::work::Says;

const KEY: [&str; 8] =
    ["model", "counterfactual", "sensitive", "scope", "from_group", "to_group", "slice", "metric"];

fn key(row: &TableRecord<'_>) -> Vec<String> {
    KEY.iter().map(|column| row.text(column).to_owned()).collect()
}

/// Everything that is measured of an arm: by key the value, why there is none, the interval and its
/// people.
fn values(metrics: &TableFrame, arm: &str) -> BTreeMap<Vec<String>, String> {
    let columns = "value lo hi weight_numerator undefined interval n_rows";
    metrics.of(&format!("arm={arm}")).map(|row| (key(&row), row.joined(columns))).collect()
}

/// Whatever the base of an experiment measures, a plain audit with the same rows measures too.
#[test]
fn the_base_is_the_audit_itself() {
    let work = work("augment");
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let (plain, base) = (values(&metrics, ""), values(&metrics, "split-as-it-is/base"));
    assert!(base.len() > 400, "{}", base.len());
    for (key, value) in &base {
        assert_eq!(plain.get(key), Some(value), "{key:?}");
    }
    let folded = values(&metrics, "folded/base");
    assert!(folded.len() > 300 && folded.keys().any(|key| key[1] == "world"), "{}", folded.len());

    let text = work.read("job.yaml");
    let (head, rest) = text.split_once("experiments:").unwrap();
    let (_, tail) = rest.split_once("metrics:").unwrap();
    let tail = tail.split("gates:").next().unwrap();
    let split = "split: {share: {train: 0.6, audit: 0.4}}";
    assert!(head.contains(split));
    work.write(
        "folds.yaml",
        &format!("{}metrics:{tail}run: {{seed: 5}}\n", head.replace(split, "split: {folds: 2}")),
    );
    work.run(0, "folds.yaml", "--replace");
    let plain = values(&work.table("metrics"), "");
    for (key, value) in &folded {
        assert_eq!(plain.get(key), Some(value), "{key:?}");
    }
}

#[test]
fn arms_add_what_they_say() {
    let work = work("augment");
    work.run(0, "job.yaml", "");
    let below = work.path("out/tables");
    let (arms, selected) = (read_frame(&below, "arms"), work.table("selected"));
    let mut names = BTreeSet::new();
    for row in arms.records() {
        let (arm, of) = (row.text("arm"), |column: &str| row.int(column).unwrap());
        let mine: Vec<TableRecord<'_>> = selected
            .records()
            .filter(|r| r.text("arm") == arm && r.int("fold") == row.int("fold"))
            .collect();
        let positive = mine.iter().filter(|r| r.int("label") == Some(1)).count() as i64;
        assert_eq!(mine.len() as i64, of("n_counterfactuals"), "{arm}");
        assert!(
            of("n_positive") < of("n_rows") && of("n_candidates") >= of("n_counterfactuals"),
            "{arm}"
        );
        let switches = |r: &TableRecord<'_>| {
            r.int("predicted").is_some() && r.int("predicted") != r.int("predicted_cf")
        };
        let (_, name) = arm.split_once('/').unwrap();
        let (some, synthetic) = (of("n_counterfactuals") > 0, of("n_synthetic") > 0);
        match name {
            "base" => assert_eq!((some, synthetic, of("n_candidates")), (false, false, 0)),
            "all" => assert_eq!((of("n_counterfactuals"), synthetic), (of("n_candidates"), false)),
            "switched" => assert!(some && !synthetic && mine.iter().all(switches)),
            "directed" => {
                assert!(some && !synthetic && of("n_counterfactuals") < of("n_candidates") / 2)
            }
            "diverse" => {
                let tenth = (0.1 * of("n_candidates") as f64 + 0.5 + 1e-9).floor() as i64;
                assert_eq!((of("n_counterfactuals"), synthetic), (tenth, false));
            }
            "adasyn" => assert_eq!((some, synthetic, of("n_candidates")), (false, true, 0)),
            _ => assert!(some && synthetic && mine.iter().all(switches)),
        }
        assert!(
            of("n_added_positive") == positive
                || of("n_added_positive") == positive + of("n_synthetic"),
            "{arm}"
        );
        names.insert(arm.to_owned());
    }
    assert_eq!(names.len(), 11, "{names:?}");
    // Both folds are measured, and what is added to one is not that of the other.
    let of_fold = |fold: i64| -> BTreeSet<String> {
        let mine = selected
            .records()
            .zip(&selected.rows)
            .filter(|(r, _)| r.text("arm") == "folded/all" && r.int("fold") == Some(fold));
        mine.map(|(_, cells)| format!("{:?}", cells[selected.column("row_key")])).collect()
    };
    assert!(of_fold(0).is_disjoint(&of_fold(1)) && !of_fold(1).is_empty());

    let metrics = work.table("metrics");
    let found = |arm: &str| {
        metrics
            .of(&format!("arm={arm}"))
            .map(|r| (key(&r), r.real("value")))
            .collect::<BTreeMap<_, _>>()
    };
    let (comparisons, mut intervals) = (read_frame(&below, "comparisons"), 0);
    let base = found("folded/base");
    let switched = found("folded/switched");
    for row in comparisons.of("arm=folded/switched") {
        row.holds("against_arm=folded/base, model=logit, against=logit");
        let slice = |column: &&str| {
            if *column == "slice" { String::new() } else { row.text(column).to_owned() }
        };
        let key: Vec<String> = KEY.iter().map(slice).collect();
        assert_eq!(
            row.real("difference"),
            switched[&key].zip(base[&key]).map(|(arm, base)| arm - base),
            "{key:?}"
        );
        intervals += usize::from(row.real("lo").is_some());
    }
    assert!(intervals > 50, "{intervals}");
    let folds = read_frame(&below, "arm_folds");
    let acc = |r: &TableRecord<'_>| {
        r.text("metric") == "acc" && r.text("scope") == "total" && r.text("sensitive") == "sex"
    };
    let of_folds = folds.records().find(|r| r.text("arm") == "folded/all" && acc(r)).unwrap();
    let (lowest, mean, highest) = (
        of_folds.real("lowest").unwrap(),
        of_folds.real("mean").unwrap(),
        of_folds.real("highest").unwrap(),
    );
    assert_eq!((of_folds.int("folds"), mean), (Some(2), (lowest + highest) / 2.0));
    // Without folds there is nothing to say about them.
    assert!(folds.records().all(|r| r.text("arm").starts_with("folded/")));

    work.read("out/annex.html").says(&[
        "Did augmentation help",
        "names no winner",
        "How the folds differ",
        "Extended counterfactual confusion matrices of the arms",
        "arm <bdi>folded&#x2f;all</bdi>",
    ]);
}

/// A command trains and scores every arm; if it fails, the next run continues with that arm and
/// fold.
#[test]
fn a_failed_run_goes_on_at_the_arm_and_fold_where_it_stopped() {
    let train = "cat > /dev/null; n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; if \
                 test -e broken -a $n = 5; then echo out of luck >&2; exit 9; fi; echo $n > $0";
    let command = format!(
        "{{train: [sh, -c, \"{train}\", '{{model}}', '{{fold}}'], score: [sh, -c, \"{WELL}\", \
         '{{model}}']}}"
    );
    let experiment = "experiments: {more: {model: live, from: flip, folds: 2, arms: {all: {}}}}";
    let work = with_command(
        &command,
        &format!("split: {{share: {{train: 0.5, audit: 0.5}}}}\n{experiment}"),
    );
    canned(&work, "canned.arrow", &[1500]);
    work.write("broken", "");
    // One at a time, so that the fifth to be trained is the last.
    let ran = work.run(3, "job.yaml", "--threads 1");
    ran.says(&[
        "error[command-failed]: the command of model `live`, arm all, fold 1",
        "out of luck",
    ]);
    let trained = || work.read("n").trim().parse::<u32>().unwrap();
    assert_eq!(trained(), 5);
    fs::remove_file(work.path("broken")).unwrap();
    let ran = work.run(0, "job.yaml", "");
    ran.says(&["train/model=live/experiment=more/arm=all/fold=1: runs"]);
    for arm in ["arm=base/fold=1", "arm=all/fold=0"] {
        let again = format!("train/model=live/experiment=more/{arm}: runs");
        assert!(!ran.stderr.contains(&again), "{}", ran.stderr);
    }
    assert_eq!(trained(), 6);
    let arms = work.table("arms");
    let added: Vec<Option<i64>> =
        arms.of("arm=more/all").map(|r| r.int("n_counterfactuals")).collect();
    assert_eq!(added, [Some(1500), Some(1500)]);
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
}

/// After a run is killed while an arm trains, the next run continues with that arm and fold.
#[test]
fn a_killed_run_goes_on_at_the_arm_and_fold_where_it_was() {
    let train = "cat > /dev/null; n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; if \
                 test $n = 5; then touch there; fi; while test -e slow -a $n = 5; do sleep 0.05; \
                 done; echo $n > $0";
    let command = format!(
        "{{train: [sh, -c, \"{train}\", '{{model}}'], score: [sh, -c, \"{WELL}\", '{{model}}']}}"
    );
    let experiment = "experiments: {more: {model: live, from: flip, folds: 2, arms: {all: {}}}}";
    let work = with_command(
        &command,
        &format!("split: {{share: {{train: 0.5, audit: 0.5}}}}\n{experiment}"),
    );
    canned(&work, "canned.arrow", &[1500]);
    work.write("slow", "");
    let mut killed = work
        .command("run job.yaml --out out --cache cache --threads 1")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    while !work.path("there").exists() {
        assert!(Instant::now() < until, "the fifth model is never trained");
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    fs::remove_file(work.path("slow")).unwrap();
    let ran = work.run(0, "job.yaml", "");
    ran.says(&["train/model=live/experiment=more/arm=all/fold=1: runs"]);
    for arm in ["arm=base/fold=1", "arm=all/fold=0"] {
        let again = format!("train/model=live/experiment=more/{arm}: runs");
        assert!(!ran.stderr.contains(&again), "{}", ran.stderr);
    }
    assert_eq!(work.read("n").trim(), "6");
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
}

/// What is planned for an arm has the ids of the plain audit, with experiment, arm and fold.
#[test]
fn an_arm_is_planned_as_the_plain_audit() {
    let planned = work("augment").cfaudit(0, "plan job.yaml --cache cache").stdout;
    let words = planned.split_whitespace();
    let ids: Vec<&str> = words.filter(|word| word.contains("/model=logit")).collect();
    let plain: Vec<&&str> =
        ids.iter().filter(|id| id.starts_with("count/") && !id.contains("experiment=")).collect();
    assert!(plain.len() > 1, "{planned}");
    for kind in ["train", "score"] {
        let arm = format!("{kind}/model=logit/experiment=folded/arm=all/fold=1");
        assert!(ids.contains(&arm.as_str()), "{arm}: {planned}");
    }
    // One stage counts all folds of an arm, in one reading of the rows.
    for attribute in ["sex", "region"] {
        let of = format!("count/model=logit/attribute={attribute}");
        let arm = format!("{of}/experiment=folded/arm=all");
        assert!(ids.contains(&of.as_str()), "{of}: {planned}");
        assert_eq!(ids.iter().filter(|id| id.starts_with(&arm)).count(), 1, "{arm}: {planned}");
    }
}

/// Names of experiments and attributes that look like parts of other stages.
#[test]
fn no_name_makes_the_stage_of_another() {
    let work = work("augment");
    work.edit(
        "job.yaml",
        "job.yaml",
        &[
            ("folded", "selected"),
            ("    region: {groups", "    \"flip/sex\": {from: region, groups"),
            ("sensitive: region", "sensitive: \"flip/sex\""),
        ],
    );
    let planned = work.cfaudit(0, "plan job.yaml --cache cache").stdout;
    for stage in [
        "measure/experiment=selected ",
        "selected ",
        "count/model=logit/set=flip/attribute=sex ",
        "count/model=logit/attribute=flip%2fsex ",
        "count/model=logit/set=flip/attribute=flip%2fsex ",
    ] {
        let found = planned
            .lines()
            .filter(|line| {
                format!("{} ", line.trim()).split("  ").any(|cell| cell.trim() == stage.trim())
            })
            .count();
        assert_eq!(found, 1, "{stage}: {planned}");
    }
}
