//! Sets that move features, from the job to the tables: what they promise for every row, and what
//! they report about unsuitable data.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::util::display::array_value_to_string;
use serde_json::Value as Json;

use crate::batches::read;
use crate::frame::TableRecord;
use crate::work::{self, Rows, Says, Work, assert_same, column, draw, patched, results};

const N: i64 = 1200;

/// Everything but the label and the name moves; where no model is named it is a regression.
fn job_of(sets: &str, models: &str) -> String {
    let features = "{continuous: [age, income], ordinal: {grade: ascending}, nominal: [job, town]}";
    let steps = format!("~  features: {features}\n~counterfactuals: {sets}\n~models: {models}");
    work::job_of("trained", &steps)
}

/// Sides of the rows as they say themselves, and scores of both rows and counterfactuals.
const BY_PART: &str = "~  split: {column: part, train: [fit], audit: [test]}";
const LIVE: &str = "{live: {scores: {factual: {column: score}, counterfactual: {parquet: \
                    cf.parquet, column: score}}}}";

const LOGIT: &str = "{logit: {logistic: {l2: 1}}}";

/// People whose income, grade, job and town depend on their sex; in the order of their numbers.
fn people(ids: impl IntoIterator<Item = i64>) -> Rows<i64> {
    let male = |i: i64| draw(i, 2) < 0.5;
    let shift = move |i: i64| f64::from(u8::from(male(i)));
    Rows::of(ids)
        .with("id", |i| i)
        .with("sex", |i| if male(i) { "m" } else { "f" })
        .with("age", |i| 18 + (50.0 * draw(i, 3)) as i64)
        .with("income", |i| 1000.0 * draw(i, 5) + 400.0 * shift(i) + 5.0 * draw(i, 3))
        .with("grade", |i| (4.0 * draw(i, 6) + shift(i)) as i64)
        .with("job", |i| if draw(i, 7) < 0.15 + 0.7 * shift(i) { "smith" } else { "nurse" })
        .with("town", |i| ["x", "y", "z"][((draw(i, 10) + 0.3 * shift(i)) * 2.3) as usize % 3])
        .with("repaid", |i| i64::from(draw(i, 3) + draw(i, 5) + 0.3 * shift(i) > 1.1))
        .with("score", |i| (0.5 * draw(i, 5) + 0.4 * draw(i, 11)).min(1.0))
}

fn all() -> Rows<i64> {
    people(0..N)
}

/// A folder with a job and these people.
fn of_people(job: &str, people: Rows<i64>) -> Work {
    let work = Work::new();
    work.write("job.yaml", job);
    people.write(&work, "people.parquet");
    work
}

fn with_people(job: &str) -> Work {
    of_people(job, all())
}

/// All columns of a Parquet file as texts.
fn table(path: &std::path::Path) -> BTreeMap<String, Vec<String>> {
    let batch = read(path);
    let words = |array: &ArrayRef| {
        (0..array.len()).map(|i| array_value_to_string(array, i).unwrap()).collect()
    };
    let fields = batch.schema();
    let names = fields.fields().iter().map(|field| field.name().clone());
    names.zip(batch.columns().iter().map(words)).collect()
}

/// The folder in the cache of a stage of the last run.
fn folder_of(work: &Work, stage: &str) -> std::path::PathBuf {
    let run = work.json("out/run.json");
    let stages = run["stages"].as_array().unwrap();
    let key = stages.iter().find(|s| s["id"] == stage).unwrap()["key"].as_str().unwrap().to_owned();
    work.path(&format!("cache/{}/{key}", &key[..2]))
}

/// What the counterfactuals of a set hold: by row id, target and index, the columns; with `x.`
/// those of the row itself under `own`.
struct Made {
    own: BTreeMap<String, BTreeMap<String, String>>,
    made: BTreeMap<(String, String, String), BTreeMap<String, String>>,
}

fn made(work: &Work, set: &str) -> Made {
    let prepared = folder_of(work, "prepare");
    let mut rows = table(&prepared.join("rows.parquet"));
    // The words of a column have numbers in the order in which they come; their meaning is in a
    // table.
    let stored: Json =
        serde_json::from_str(&fs::read_to_string(prepared.join("codes.json")).unwrap()).unwrap();
    for (name, meaning) in stored["tables"].as_object().unwrap() {
        let level = |code: &String| {
            let level = &meaning["codes"][code.parse::<usize>().unwrap()];
            if *level == u32::MAX { String::new() } else { level.to_string() }
        };
        let levels = rows[meaning["column"].as_str().unwrap()].iter().map(level).collect();
        rows.insert(name.clone(), levels);
    }
    let cfs = table(
        &folder_of(work, &format!("generate/set={set}/attribute=sex"))
            .join("counterfactuals.parquet"),
    );
    let ids = &rows["row_id"];
    let at = |columns: &BTreeMap<String, Vec<String>>, i: usize| -> BTreeMap<String, String> {
        columns.iter().map(|(name, values)| (name.clone(), values[i].clone())).collect()
    };
    // One row group: the position in it is that in the file.
    let key = |k: usize| {
        (
            ids[cfs["parent"][k].parse::<usize>().unwrap()].clone(),
            cfs["to_group"][k].clone(),
            cfs["cf_index"][k].clone(),
        )
    };
    Made {
        own: (0..ids.len()).map(|i| (ids[i].clone(), at(&rows, i))).collect(),
        made: (0..cfs["parent"].len()).map(|k| (key(k), at(&cfs, k))).collect(),
    }
}

/// The features of a row or counterfactual, but for the attribute.
fn features(of: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    of.iter()
        .filter(|(name, _)| name.starts_with("x.") && *name != "x.sex")
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// Nothing moves but what is named, and that does move.
#[test]
fn an_allowed_list_is_never_exceeded() {
    let sets = "{world: {plausible: {move: [income, job], condition_on: label, threshold: 0.2}}, \
                typical: {greedy: {condition_on: label, keep_fixed: [grade, town]}}, \
                carried: {transport: {move: [age, job], condition_on: label}}}";
    let work = with_people(&job_of(sets, LOGIT));
    work.run(0, "job.yaml", "");
    for (set, may) in [
        ("world", &["x.income", "x.job"][..]),
        ("typical", &["x.age", "x.income", "x.job"]),
        ("carried", &["x.age", "x.job"]),
    ] {
        let Made { own, made } = made(&work, set);
        assert!(made.len() > 500);
        let mut moved = BTreeSet::new();
        for ((id, ..), cf) in &made {
            assert_ne!(own[id]["x.sex"], cf["x.sex"]);
            let (before, after) = (features(&own[id]), features(cf));
            moved.extend(
                before
                    .keys()
                    .filter(|name| before[*name] != after[*name])
                    .map(|name| (*name).to_owned()),
            );
        }
        assert!(moved.iter().all(|name| may.contains(&name.as_str())), "{set}: {moved:?}");
        assert!(moved.contains("x.job") && moved.len() > 1, "{set}: {moved:?}");
    }
}

/// The counterfactual of a row follows from the row and the reference, not from where the row
/// stands.
#[test]
fn shuffled_rows_have_the_same_counterfactuals() {
    let sets = "{world: {plausible: {move: all, condition_on: label, threshold: 0.1, cfs: \
                multiple, keep_within: {centroid_sd: 1.3}}}, carried: {transport: {move: all, \
                condition_on: label, max_rows: 60}}}";
    // Shares are drawn by row id here, so the same people train.
    let (straight, shuffled) =
        (with_people(&job_of(sets, LOGIT)), with_people(&job_of(sets, LOGIT)));
    let mut ids = Vec::from_iter(0..N);
    ids.sort_by(|a, b| draw(*a, 13).total_cmp(&draw(*b, 13)));
    people(ids).write(&shuffled, "people.parquet");
    straight.run(0, "job.yaml", "");
    shuffled.run(0, "job.yaml", "");
    for set in ["world", "carried"] {
        let without_parent =
            |work: &Work| -> BTreeMap<(String, String, String), BTreeMap<String, String>> {
                let mut made = made(work, set).made;
                made.values_mut().for_each(|cf| _ = cf.remove("parent"));
                made
            };
        let (a, b) = (without_parent(&straight), without_parent(&shuffled));
        assert!(!a.is_empty());
        assert!(a == b, "{set}");
    }
}

/// People of whom nobody of the group x of `sex`, and nobody of the group b of `side`, trains.
fn with_groups_without_rows(job: &str) -> Work {
    let sensitive = "~  sensitive: {sex: {groups: [f, m, x], reference: m}, side: {groups: [a, b], \
                     reference: a}}";
    let audited = |i: i64| i >= N / 2;
    let sex = |i: i64| match draw(i, 2) {
        _ if audited(i) && i % 7 == 0 => "x",
        drawn if drawn < 0.5 => "m",
        _ => "f",
    };
    let rows = all()
        .with("sex", sex)
        .with("side", |i| if audited(i) && i % 5 == 0 { "b" } else { "a" })
        .with("part", |i| if audited(i) { "test" } else { "fit" });
    of_people(&patched(job, &format!("{sensitive}\n{BY_PART}")), rows)
}

/// An attribute that no test changes: what the audit shows of it is the gap of its groups.
#[test]
fn the_gap_of_an_attribute_that_no_test_changes_is_on_the_first_page() {
    let sensitive = "~  sensitive: {sex: {groups: [f, m], reference: m}, side: {groups: [a, b], \
                     reference: a}}";
    let page_of = |side: fn(i64) -> &'static str| {
        let job = job_of("{flip: {naive: {}, sensitive: [sex]}}", LOGIT);
        let work = of_people(&patched(&job, sensitive), all().with("side", side));
        work.run(0, "job.yaml", "");
        work.read("out/report.html")
    };
    let compared = "No test changes side: of its groups the audit compares only the decisions as";
    page_of(|i| if draw(i, 99) < 0.5 { "a" } else { "b" })
        .says(&[&format!("{compared} they are.")]);
    let page = page_of(|i| if draw(i, 3) + draw(i, 5) > 1.0 { "a" } else { "b" });
    page.says(&[
        &format!("{compared} they are: by "),
        "people in group b</bdi> get the favourable",
    ]);
}

/// Arms of an experiment measure the same set: there too, and where they are compared, what is
/// about the group is undefined.
#[test]
fn a_group_without_training_rows_is_undefined_in_arms_too() {
    let sets = "{typical: {greedy: {condition_on: label}, sensitive: [sex]}}";
    let experiment = "experiments: {more: {model: logit, from: typical, arms: {all: {}}}}\n";
    let work = with_groups_without_rows(&format!("{}{experiment}", job_of(sets, LOGIT)));
    work.run(0, "job.yaml", "");
    let is_about_x = |row: &TableRecord<'_>| {
        let ends = [row.text("from_group"), row.text("to_group")];
        ends.iter().any(|end| end.is_empty() || *end == "x")
    };
    let metrics = work.table("metrics");
    for arm in ["more/base", "more/all"] {
        let of_set: Vec<_> = metrics.of(&format!("arm={arm}, counterfactual=typical")).collect();
        let (about, others): (Vec<_>, Vec<_>) = of_set.into_iter().partition(is_about_x);
        assert!(about.len() > 20);
        about.iter().for_each(|row| row.holds("value=, undefined=no_training_rows"));
        assert!(
            others.iter().any(|row| row.text("metric") == "sr" && row.is_some("value")),
            "{arm}"
        );
    }
    let comparisons = work.table("comparisons");
    let of_set = comparisons.of("counterfactual=typical");
    let (about, others): (Vec<_>, Vec<_>) = of_set.partition(is_about_x);
    assert!(about.len() > 20 && others.iter().any(|row| row.is_some("difference")));
    let nothing = "difference=, model_value=, against_value=, lo=, undefined=no_training_rows";
    about.iter().for_each(|row| row.holds(nothing));
}

/// Weights have no part in what sets learn from rows: `check` and every run say so, of sets that
/// learn.
#[test]
fn weights_that_no_set_learns_from_are_told() {
    let checked = |sets: &str| {
        let job = patched(&job_of(sets, LOGIT), "@  row_id\n+  weight: weight");
        let work = of_people(&job, all().with("weight", |i| 1 + i % 3));
        let check = work.cfaudit(0, "check job.yaml --cache cache");
        work.run(0, "job.yaml", "");
        let issues = work.table("issues").list("code=unweighted-fit", "where text");
        let page = work.read("out/annex.html");
        let says = [
            format!("{}{}", check.stdout, check.stderr)
                .contains("are not used to generate counterfactuals"),
            page.contains("Strategies learn without weights"),
        ];
        (issues.concat(), says)
    };
    let (issue, says) = checked("{flip: naive, typical: {greedy: {condition_on: label}}}");
    assert_eq!(says, [true, true]);
    issue.says(&[
        "data.weight | ",
        "every row counts once where `typical` learns how groups differ",
    ]);
    assert_eq!(checked("{flip: naive}"), (String::new(), [false, false]));
}

/// If one group has no training rows, values about it are undefined with the reason, sums too, and
/// everything else of the job is done.
#[test]
fn a_group_without_training_rows_is_undefined_and_ends_no_run() {
    let sets = "{typical: {greedy: {condition_on: label}, sensitive: [sex]}, world: {plausible: \
                {move: all, condition_on: label}, sensitive: [sex]}, carried: {transport: {move: \
                all, condition_on: label, max_rows: 60}, sensitive: [sex]}, graph: \
                {graph-uncertain: {discovery: {boss: {}}, bootstraps: 2, knowledge: {none: {}}}, \
                sensitive: [side]}}";
    let work = with_groups_without_rows(&job_of(sets, LOGIT));
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    for set in ["typical", "world", "carried"] {
        let (mut defined, mut undefined) = (0, 0);
        for row in metrics.of(&format!("counterfactual={set}")) {
            let (from, to) = (row.text("from_group"), row.text("to_group"));
            if from.is_empty() || to.is_empty() || from == "x" || to == "x" {
                row.holds("value=, undefined=no_training_rows, denominator=, lo=");
                undefined += 1;
            } else if row.text("metric") == "sr" {
                defined += usize::from(row.real("value").is_some());
            }
        }
        assert!(undefined > 20 && defined == 3, "{set}: {undefined} {defined}");
    }
    let of_graphs = "counterfactual=graph/none";
    for metric in ["h_ga", "psr"] {
        assert!(metrics.has(&format!("{of_graphs}, metric={metric}")));
    }
    metrics.of(of_graphs).for_each(|row| row.holds("value=, undefined=no_training_rows"));
    let issues = work.table("issues").list("code=no-training-rows", "where text");
    assert_eq!(issues.len(), 2, "{issues:?}");
    issues[0].says(&["sex | ", "group `x` (set `carried`)"]);
    issues[1].says(&["side | ", "group `b` (set `graph/none`)"]);
}

/// The sums over 120 groups do not fit: the job is refused with its line before anything is made,
/// whoever asks.
#[test]
fn more_groups_than_memory_holds_are_refused_before_anything_is_generated() {
    let groups: Vec<String> = (0..120).map(|k| format!("g{k}")).collect();
    let job = job_of("{flip: {naive: {}}}", LOGIT)
        .replace("[f, m], reference: m", &format!("[{}], reference: g0", groups.join(", ")));
    let work = of_people(&job, all().with("sex", |i| groups[(i % 120) as usize].as_str()));
    for verb in ["check job.yaml", "run job.yaml --out out --cache cache"] {
        let ran = work.cfaudit(2, &format!("{verb} --memory 300MB"));
        ran.says(&[
            "error[too-many-groups]: the 120 groups of `sex` make 14280 directions",
            "job.yaml:",
            "hint: merge groups",
            "--memory",
        ]);
        ran.stderr.lacks(&["generate/"]);
    }
    assert!(!work.path("out").exists());
    work.cfaudit(0, "check job.yaml --memory 40GB");
    // Without score metrics the values of all directions are left.
    let ccm = "check job.yaml --set metrics.families=[ccm] --memory";
    work.cfaudit(2, &format!("{ccm} 300MB"))
        .says(&["whose values need about", "name fewer `metrics.families`"]);
    work.cfaudit(0, &format!("{ccm} 6GB"));
}

#[test]
fn several_counterfactuals_include_the_single_one() {
    let sets = "{one: {plausible: {move: all, condition_on: label, threshold: 0.1}}, more: \
                {plausible: {move: all, condition_on: label, threshold: 0.1, cfs: multiple}}}";
    let work = with_people(&job_of(sets, LOGIT));
    work.run(0, "job.yaml", "");
    let (one, more) = (made(&work, "one").made, made(&work, "more").made);
    assert!(one.keys().all(|(.., index)| index == "0"));
    assert!(one.iter().all(|(key, cf)| features(&more[key]) == features(cf)));
    assert!(more.len() > one.len(), "{} {}", more.len(), one.len());
    // Every counterfactual is scored and counted, people once.
    let metrics = work.table("metrics");
    for (set, n) in [("one", one.len()), ("more", more.len())] {
        let row = metrics.at(&format!("counterfactual={set}, metric=sr, scope=total"));
        row.holds(&format!("denominator={n}, n_rows={}", one.len()));
    }
}

/// A counterfactual that fails a check is in no outcome and no count, only in the tables of
/// quality.
#[test]
fn what_is_not_valid_is_not_measured() {
    let sets = "{world: {plausible: {move: all, condition_on: label, direction: {income: up}, \
                range: {age: [20, 60]}, keep_within: {centroid_sd: 1.4}}}}";
    let work = with_people(&job_of(sets, LOGIT));
    work.run(0, "job.yaml", "");
    let Made { own, made } = made(&work, "world");
    let number = |of: &BTreeMap<String, String>, name: &str| of[name].parse::<f64>().unwrap();
    let mut n_valid = 0;
    for ((id, ..), cf) in &made {
        let fits = number(cf, "x.income") >= number(&own[id], "x.income")
            && (20.0..=60.0).contains(&number(cf, "x.age"));
        let near = cf["plausibility"].parse::<f64>().map_or(true, |p| p <= 1.4);
        assert_eq!(cf["valid"] == "true", fits && near, "{cf:?}");
        n_valid += i64::from(fits && near);
    }
    assert!(n_valid > 50 && n_valid < made.len() as i64 - 50);
    assert_eq!(work.table("outcomes").rows.len() as i64, n_valid);
    let quality = work.table("cf_quality");
    let value = |metric: &str| quality.at(&format!("from_group=, metric={metric}")).real("value");
    assert_eq!(value("n_cf"), Some(made.len() as f64));
    assert_eq!(value("share_discarded"), Some(1.0 - n_valid as f64 / made.len() as f64));
    let shapes = work.table("cf_distributions");
    let sum = |side: &str| -> i64 {
        shapes.of(&format!("feature=job, side={side}")).filter_map(|r| r.int("n")).sum()
    };
    assert_eq!((sum("original"), sum("counterfactual")), (n_valid, n_valid));
}

/// Counterfactuals look more like the target group than their rows do.
#[test]
fn moved_features_look_like_the_target() {
    let work = with_people(&job_of(
        "{world: {plausible: {move: [income, grade, job], condition_on: label, threshold: 0.2}}}",
        LOGIT,
    ));
    work.run(0, "job.yaml", "");
    let frame = work.table("cf_features");
    for feature in ["income", "grade", "job"] {
        let value = |metric: &str, from: &str| {
            let row = format!("feature={feature}, metric={metric}, from_group={from}");
            frame.at(&row).real("value").unwrap()
        };
        for from in ["f", "m"] {
            assert!(value("dist_after", from) < value("dist_before", from), "{feature} {from}");
            assert!(value("share_changed", from) > 0.0);
            assert_eq!(value("out_of_range", from), 0.0);
        }
    }
    assert!(frame.of("feature=age, metric=share_changed").all(|r| r.real("value") == Some(0.0)));
}

/// A changed key of a set runs that set again, and what depends on it; nothing else.
#[test]
fn a_changed_knob_runs_its_set_again() {
    let job = |depth: u32| {
        job_of(
            &format!(
                "{{flip: naive, world: {{plausible: {{move: all, condition_on: label, depth: \
                 {depth}, threshold: 0.1}}}}, typical: {{greedy: {{condition_on: label}}}}}}"
            ),
            LOGIT,
        )
    };
    let work = with_people(&job(1));
    work.run(0, "job.yaml", "");
    work.run(0, "job.yaml", "").stderr.says(&["nothing to do"]);
    work.write("job.yaml", &job(2));
    work.run(0, "job.yaml", "");
    let run = work.json("out/run.json");
    let ran = |kind: &str| -> Vec<String> {
        let stages = run["stages"].as_array().unwrap().iter();
        let fresh = stages.filter(|s| s["kind"] == kind && s["cached"] == false);
        fresh.map(|s| s["id"].as_str().unwrap().to_owned()).collect()
    };
    for kind in ["prepare", "split", "train"] {
        assert!(ran(kind).is_empty(), "{kind}");
    }
    assert_eq!(ran("fit"), ["fit/set=world/attribute=sex"]);
    assert_eq!(ran("generate"), ["generate/set=world/attribute=sex"]);
    assert_eq!(ran("score"), ["score/model=logit/set=world/attribute=sex"]);
}

/// A placebo gives a band next to the value, the same for every run.
#[test]
fn a_placebo_gives_a_band() {
    let work = with_people(&job_of(
        "{typical: {greedy: {condition_on: label}, placebo: {repeats: 5}}}",
        "{logit: {logistic: {l2: 1, omit: [sex]}}}",
    ));
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let sr = metrics.at("metric=sr, scope=total");
    let (lo, hi) = (sr.real("placebo_lo").unwrap(), sr.real("placebo_hi").unwrap());
    sr.holds("placebo_repeats=5");
    // Jobs and incomes follow sex, so what the real groups give is beyond what shuffled names give.
    let value = sr.real("value").unwrap();
    assert!((0.0..value).contains(&lo) && hi < value && lo <= hi, "{lo} {value} {hi}");
}

/// Rows of production without labels, strata of training, classes by what the model predicted.
#[test]
fn a_reference_of_its_own() {
    let set = "{world: {plausible: {move: [income, job], condition_on: {prediction: live}, depth: \
               1}}}";
    let reference =
        "~  label: none\n+  reference: {parquet: training.parquet, label: repaid}\n-  split";
    let work = with_people(&patched(&job_of(set, LIVE), reference));
    // A level that no row of production has.
    let training = people(5000..7000).with("job", |i| match draw(i, 7) {
        _ if i % 50 == 0 => "baker",
        drawn if drawn < 0.5 => "smith",
        _ => "nurse",
    });
    training.clone().write(&work, "training.parquet");
    assert_eq!(work.run(4, "job.yaml", "").summary()["verdict"], "waiting");
    let asked = table(&work.path("out/to-score/world/part-00000.parquet"));
    assert_eq!(asked["row_id"].len() as i64, N);
    // Incomes come from the training rows, to the last digit.
    let number = |x: &String| x.parse::<f64>().unwrap();
    let known = table(&work.path("training.parquet"))["income"].iter().map(number).collect();
    let known: Vec<f64> = known;
    let (least, most) = known.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(asked["income"].iter().map(number).all(|x| (least..=most).contains(&x)));
    Rows::of(0..asked["row_id"].len())
        .with("row_id", |k| asked["row_id"][k].parse::<i64>().unwrap())
        .with("to_group", |k| asked["to_group"][k].as_str())
        .with("score", |k| if asked["job"][k] == "smith" { 0.9 } else { 0.2 })
        .write(&work, "cf.parquet");
    work.run(0, "job.yaml", "");
    assert!(work.table("metrics").has("metric=sr, counterfactual=world, value!="));

    // The same columns with other types, and a label that says nothing.
    let refused = |training: Rows<i64>, words: &[&str]| {
        training.write(&work, "training.parquet");
        work.run(3, "job.yaml", "").says(words);
    };
    refused(
        training.clone().with("income", |_| "12"),
        &["error[not-numeric]", "`income`", "job.yaml:8:"],
    );
    // Numbers that are not whole are those of the same column. The set moves other columns, so the
    // rows to score are the same, and the scores still answer them.
    let halves = training.clone().with("age", |i| 20.5 + (i % 40) as f64);
    halves.write(&work, "training.parquet");
    work.run(0, "job.yaml", "");
    refused(
        training.clone().with("repaid", |i| i % 3),
        &[
            "error[reference-label]: the label `repaid` of the reference holds `0`, `2` in \
             addition to 1",
            "positive",
        ],
    );
    refused(training.without("town"), &["error[missing-column]", "`town`", "job.yaml:8:"]);
}

/// The audited rows are their own reference where none trains; predictions then are on both
/// sides.
#[test]
fn predictions_without_any_label() {
    let text = job_of("{world: {greedy: {condition_on: {prediction: live}}}}", LIVE);
    let work = with_people(&patched(&text, "~  label: none\n-  split"));
    work.run(4, "job.yaml", "");
    let asked = table(&work.path("out/to-score/world/part-00000.parquet"));
    assert_eq!(asked["row_id"].len() as i64, N);
}

#[test]
fn data_that_do_not_suit_a_strategy() {
    let refused = |set: &str, people: Rows<i64>, words: &[&str]| {
        let work = of_people(&job_of(&format!("{{world: {set}}}"), LOGIT), people);
        let ran = work.run(3, "job.yaml", "");
        ran.says(words);
        ran.says(&["hint: "]);
        assert!(!work.path("out").exists());
    };
    let plausible = "{plausible: {move: [age, income, job], condition_on: label}}";
    refused(
        plausible,
        all().with("income", |_| None::<f64>),
        &["error[no-values]: `income` should move", "job.yaml:11:"],
    );
    refused(
        plausible,
        all().with("grade", |i| if i % 2 == 0 { "low" } else { "high" }),
        &["error[not-numeric]", "`grade`"],
    );
    let counterpart =
        "{plausible: {move: [job], condition_on: label, counterpart: {job: {smith: nurs}}}}";
    refused(
        counterpart,
        all(),
        &[
            "error[unknown-level]: `nurs` is named as a counterpart",
            "its levels: `nurse`, `smith`",
            "job.yaml:11:",
        ],
    );
    // The training rows have one class, those that are audited both.
    let text = job_of("{world: {plausible: {move: [age], condition_on: label}}}", LIVE);
    let rows = all()
        .with("repaid", |i| i64::from(i == 700))
        .with("part", |i| if i < 600 { "fit" } else { "test" });
    of_people(&patched(&text, BY_PART), rows).run(3, "job.yaml", "").says(&[
        "error[unseen-class]: a row has the class `positive`",
        "row 700",
        "job.yaml:11:",
    ]);
}

/// With a column of 0 and 1 for each of these towns.
fn with_towns(people: Rows<i64>, towns: &str) -> Rows<i64> {
    let own = people.clone().columns().iter().find(|(name, _)| *name == "town").unwrap().1.clone();
    let own: Vec<&str> = own.as_string::<i32>().iter().flatten().collect();
    let names = [("in_x", "x"), ("in_y", "y"), ("in_z", "z"), ("in_o", "o")];
    names.into_iter().filter(|(_, town)| towns.contains(town)).fold(people, |rows, (name, town)| {
        rows.column(name, column(own.iter().map(|own| i64::from(*own == town))))
    })
}

/// The columns of a one-hot group move together: a row has one level before and one after.
#[test]
fn one_hot_groups_stay_one_hot() {
    let sets = "{world: {plausible: {move: [town, income], condition_on: label, threshold: 0.05, \
                counterpart: {town: {in_x: in_z}}}}}";
    let text = job_of(sets, LOGIT)
        .replace("nominal: [job, town]", "nominal: [job], onehot: {town: [in_x, in_y, in_z]}");
    let work = of_people(&text, with_towns(all(), "xyz"));
    work.run(0, "job.yaml", "");
    let Made { own, made } = made(&work, "world");
    let ones = |of: &BTreeMap<String, String>| -> Vec<&str> {
        ["x.in_x", "x.in_y", "x.in_z"]
            .into_iter()
            .filter(|c| of[*c].parse::<f64>() == Ok(1.0))
            .collect()
    };
    let mut moved = 0;
    for ((id, ..), cf) in &made {
        assert_eq!((ones(&own[id]).len(), ones(cf).len()), (1, 1));
        moved += usize::from(ones(&own[id]) != ones(cf));
        assert_eq!(own[id]["x.age"], cf["x.age"]);
    }
    assert!(moved > 20, "{moved}");
}

/// What is learnt depends on the reference, the attributes, the label and the one-hot groups: with
/// a cache of another job a run gives what it gives without.
#[test]
fn a_changed_job_is_not_answered_from_the_cache_of_another() {
    let set = "{world: {plausible: {move: all, condition_on: label, keep_within: {centroid_sd: \
               1.5}}, sensitive: [sex]}}";
    let onehot = "nominal: [job], onehot: {town: [in_x, in_y], more: [in_z, in_o]}";
    let job = job_of(set, LIVE).replace("nominal: [job, town]", onehot);
    let job = patched(&job, "-  split\n+  reference: {parquet: training.parquet}");
    let work = of_people(&job, with_towns(all(), "xyzo"));
    with_towns(people(5000..7000), "xyzo").write(&work, "training.parquet");
    work.run(4, "job.yaml", "");
    let sensitive = "sensitive: {sex: {groups: [f, m], reference: m}}";
    let mut told_apart = false;
    for (old, new) in [
        ("town: [in_x, in_y], more: [in_z, in_o]", "town: [in_x, in_y, in_z, in_o]"),
        ("positive: [1]", "positive: [0]"),
        (
            sensitive,
            "sensitive: {job: {groups: [smith, nurse], reference: nurse}, sex: {groups: [m, f], \
             reference: m}}",
        ),
        (
            "{parquet: training.parquet}",
            "{parquet: training.parquet, label: repaid, positive: [0]}",
        ),
    ] {
        let changed = job
            .replace(old, new)
            .replace(if new.contains("smith") { "nominal: [job], " } else { "" }, "");
        assert_ne!(changed, job);
        work.write("other.yaml", &changed);
        work.cfaudit(4, "run other.yaml --out warm --cache cache --replace");
        work.cfaudit(4, "run other.yaml --out fresh --cache fresh-cache --replace");
        assert_same(&results(&work.path("fresh")), &results(&work.path("warm")), new);
        let asked = |out: &str| table(&work.path(out).join("to-score/world/part-00000.parquet"));
        assert!(asked("fresh") == asked("warm"), "{new}");
        told_apart |= asked("warm") != asked("out");
        std::fs::remove_dir_all(work.path("fresh-cache")).unwrap();
    }
    assert!(told_apart, "no change had an effect");
}

/// Where too few rows of a bin show where to move a number, it stays, and then contradicts the
/// group to which the row is set: such rows count nowhere.
#[test]
fn a_number_outside_the_bin_of_its_group_is_no_counterfactual() {
    let sets = "{world: {plausible: {move: [age, income], condition_on: label}}, typical: {greedy: \
                {condition_on: label}}, carried: {transport: {move: [age, income], condition_on: \
                label}}}";
    let band = "~  sensitive: {band: {from: age, bins: [17, 40, 70, 90], reference: \"(40, 70]\"}}";
    // Eight of 1200 are old, about half of them train.
    let age = |i: i64| if i % 150 == 0 { 80 } else { 18 + (50.0 * draw(i, 3)) as i64 };
    let work = of_people(&patched(&job_of(sets, LOGIT), band), all().with("age", age));
    work.run(0, "job.yaml", "");
    let limits = [(17.0, 40.0), (40.0, 70.0), (70.0, 90.0)];
    for set in ["world", "typical", "carried"] {
        let cfs = table(
            &folder_of(&work, &format!("generate/set={set}/attribute=band"))
                .join("counterfactuals.parquet"),
        );
        let mut valid = [0; 3];
        for ((to, age), judged) in cfs["to_group"].iter().zip(&cfs["x.age"]).zip(&cfs["valid"]) {
            let to: usize = to.parse().unwrap();
            let (age, (lo, hi)) = (age.parse::<f64>().unwrap(), limits[to]);
            let inside = lo < age && age <= hi;
            assert_eq!(inside, judged == "true", "{set} {to} {age}");
            valid[to] += usize::from(inside);
        }
        assert!(valid[0] > 100 && valid[1] > 100, "{set} {valid:?}");
        assert_eq!(valid[2] > 100, set == "carried", "{set} {valid:?}");
    }
    let issues = work.table("issues");
    let issue = issues.at("code=outside-group");
    let n = issue.int("n").unwrap();
    assert!(issues.of("code=outside-group").count() == 1 && n > 1000, "{n}");
    issue.holds("where=band");
    for set in ["world", "typical"] {
        issue.text("text").says(&[&format!("in group `(70, 90]` (set `{set}`)")]);
    }
    let metrics = work.table("metrics");
    let has = |set: &str| {
        let row = format!("counterfactual={set}, from_group=(40, 70], to_group=(70, 90], value!=");
        metrics.has(&format!("metric=sr, {row}"))
    };
    assert!(!has("world") && has("carried"));
}
