//! People with weights, from the column of the user's file to tables and page, compared with
//! scikit-learn and with people without weights.

use crate::frame::{TableFrame, TableRecord};
use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use crate::work::{Rows, Says, Work, column, root, shared};

/// A person of Adult: the columns that scores are made of.
struct Person {
    female: bool,
    positive: bool,
    weight: i64,
    points: i64,
    points_cf: i64,
}

/// The people of `adult.test` with the points that `tests/oracle/weights.py` gives them.
fn people(text: &str) -> Vec<Person> {
    let fields = text.lines().map(|line| {
        line.split(',').map(|field| field.trim().trim_end_matches('.')).collect::<Vec<_>>()
    });
    let person = |f: Vec<&str>| {
        let number = |i: usize| f[i].parse::<i64>().unwrap();
        let (age, hours, female) = (number(0), number(12), f[9] == "Female");
        let raw =
            3 * number(4) + hours / 3 + age / 6 + if f[5] == "Married-civ-spouse" { 10 } else { 0 };
        let moved = if female { raw + age % 5 } else { raw - hours % 7 };
        Person {
            female,
            positive: f[14] == ">50K",
            weight: number(2),
            points: raw.clamp(0, 100),
            points_cf: moved.clamp(0, 100),
        }
    };
    fields.filter(|fields| fields.len() == 15).map(person).collect()
}

/// A working folder with these people, weights `times` as large, their counterfactual scores, and a
/// job; its line of weights may be empty.
fn work(people: &[Person], times: f64, weight: &str) -> Work {
    let work = Work::new();
    let n = people.len() as i64;
    let score =
        |points: fn(&Person) -> i64| column(people.iter().map(|p| points(p) as f64 / 100.0));
    let sex = |female: bool| Some(if female { "Female" } else { "Male" });
    Rows::of(people.iter())
        .column("id", column(0..n))
        .with("sex", |p| sex(p.female))
        .with("y", |p| i64::from(p.positive))
        .with("fnlwgt", |p| p.weight as f64 * times)
        .column("score", score(|p| p.points))
        .write(&work, "people.parquet");
    Rows::of(0..n)
        .with("row_id", |i| i)
        .column("to_group", column(people.iter().map(|p| sex(!p.female))))
        .column("score", score(|p| p.points_cf))
        .write(&work, "flip.parquet");
    work.write(
        "job.yaml",
        &format!(
            "cfaudit: 1\nname: weights\ndata:\n  rows: {{parquet: people.parquet}}\n  row_id: \
             id\n  label: {{column: y, positive: [1], favourable: positive}}\n\
             {weight}  sensitive: {{sex: {{groups: [Male, Female], reference: Male}}}}\n\
             counterfactuals: {{flip: naive}}\nmodels: {{points: {{threshold: 0.6, scores: \
             {{factual: {{column: score}}, counterfactual: {{parquet: flip.parquet, column: \
             score}}}}}}}}\n\
             metrics: {{bootstrap: {{samples: 200}}}}\n\
             gates:\n  kept: {{metric: nsr, model: points, counterfactual: flip, direction: {{sex: \
             [Male, Female]}}, at_most: 0.5, enough: 50}}\n"
        ),
    );
    work
}

/// Scope, groups and id.
fn key<'a>(record: &TableRecord<'a>) -> [&'a str; 5] {
    ["scope", "from_group", "to_group", "counterfactual", "metric"]
        .map(|column| record.text(column))
}

#[test]
fn values_are_those_of_scikit_learn_with_sample_weight() {
    let Some(file) = shared("data/adult/adult.test") else { return };
    let people = people(&fs::read_to_string(file).unwrap());
    let work = work(&people, 1.0, "  weight: fnlwgt\n");
    work.run(0, "job.yaml", "");
    let oracle: Json =
        serde_json::from_slice(&fs::read(root().join("tests/oracle/weights.json")).unwrap())
            .unwrap();
    let metrics = work.table("metrics");
    let all: BTreeMap<[&str; 5], TableRecord<'_>> =
        metrics.records().map(|r| (key(&r), r)).collect();
    let mut compared = 0;
    let mut block = |[scope, from, to, set]: [&str; 4], expected: &Json| {
        for (id, value) in expected.as_object().unwrap() {
            if let Some(id) = id.strip_prefix("n_") {
                let record = all[&[scope, from, to, set, id]];
                assert_eq!(
                    serde_json::json!([record.int("numerator"), record.int("denominator")]),
                    *value,
                    "{id} of {scope} {from}"
                );
                let (part, whole) = (
                    record.real("weight_numerator").unwrap(),
                    record.real("weight_denominator").unwrap(),
                );
                assert!(
                    (part / whole - record.real("value").unwrap()).abs() < 1e-15,
                    "{id} of {scope} {from}"
                );
                assert!(
                    part >= 1000.0 * value[0].as_f64().unwrap(),
                    "weights are in the unit of the column"
                );
            } else if id == "n" {
                let of = if set.is_empty() { "acc" } else { "sr" };
                assert_eq!(all[&[scope, from, to, set, of]].int("n_rows"), value.as_i64());
            } else {
                let found = all[&[scope, from, to, set, id.as_str()]].real("value").unwrap();
                let expected = value.as_f64().unwrap();
                assert!(
                    (found - expected).abs() <= 2e-12 * expected.abs().max(1.0),
                    "{id} of {scope} {from}: {found} instead of {expected}"
                );
            }
            compared += 1;
        }
    };
    for (group, other) in [("Female", "Male"), ("Male", "Female")] {
        block(["group", group, "", ""], &oracle["group"][group]);
        block(["direction", group, other, "flip"], &oracle["direction"][group]);
    }
    block(["total", "", "", ""], &oracle["total"]);
    block(["total", "", "", "flip"], &oracle["counterfactual total"]);
    block(["pair", "Male", "Female", ""], &oracle["pair"]);
    assert_eq!(compared, 3 * 12 + 3 * 18 + 5);

    // Nothing is drawn, and no formula takes rows for people.
    let with_interval: Vec<TableRecord<'_>> = metrics.of("interval!=").collect();
    let of_units =
        "wilson-eff wilson-people newcombe-eff katz-eff mover score student log-student largest";
    let of_units: Vec<_> = of_units.split(' ').collect();
    assert!(with_interval.len() > 150);
    let other = with_interval.iter().find(|r| !of_units.contains(&r.text("interval")));
    assert!(other.is_none(), "{:?}", other.map(|r| r.text("interval")));
    // Cells and bins weigh what groups weigh.
    let weight = |frame: &TableFrame, keep: &dyn Fn(&TableRecord<'_>) -> bool| -> f64 {
        frame.records().filter(keep).map(|r| r.real("weight").expect("there are weights")).sum()
    };
    let (counts, groups, shift) =
        (work.table("counts"), work.table("groups"), work.table("score_shift"));
    for (group, expected) in oracle["weight"].as_object().unwrap() {
        let expected = expected.as_f64().unwrap();
        assert_eq!(weight(&groups, &|r| r.text("group") == group), expected);
        let scope = if group.is_empty() { "total" } else { "group" };
        assert_eq!(
            weight(&counts, &|r| r.text("scope") == scope
                && r.text("from_group") == group
                && r.text("counterfactual").is_empty()),
            expected
        );
        let scope = if group.is_empty() { "total" } else { "direction" };
        assert_eq!(
            weight(&counts, &|r| r.text("scope") == scope
                && r.text("from_group") == group
                && r.text("counterfactual") == "flip"),
            expected
        );
        if !group.is_empty() {
            assert_eq!(
                weight(&shift, &|r| r.text("from_group") == group && r.text("side") == "change"),
                expected
            );
        }
    }
    // A gate asks for people and judges by the weighted interval.
    let gates = work.table("gates");
    let gate = gates.records().next().unwrap();
    let nsr = all[&["direction", "Male", "Female", "flip", "nsr"]];
    assert_eq!((gate.int("denominator"), gate.int("enough")), (nsr.int("denominator"), Some(50)));
    assert_eq!(
        (gate.real("value"), gate.real("hi"), gate.text("verdict")),
        (nsr.real("value"), nsr.real("hi"), "pass")
    );
    work.read("out/annex.html").says(&["Shares are weighted by", "; counts are people."]);
    assert_eq!(work.json("out/manifest.json")["weight"], "fnlwgt");
}

fn made_up(n: i64) -> Vec<Person> {
    let person = |i: i64| Person {
        female: i % 3 == 0,
        positive: (i * 7) % 11 < 5,
        weight: 1 + i % 5,
        points: (i * 37) % 101,
        points_cf: ((i * 37) % 101 + i % 9 - 4).clamp(0, 100),
    };
    (0..n).map(person).collect()
}

/// Values and reasons by key.
fn values(work: &Work) -> BTreeMap<[String; 5], String> {
    let metrics = work.table("metrics");
    metrics.records().map(|r| (key(&r).map(str::to_owned), r.joined("value undefined"))).collect()
}

/// Everybody weighs 0.3: no value differs from those without weights, although 0.3 is not a short
/// number in base two.
#[test]
fn equal_weights_change_no_value() {
    let mut people = made_up(900);
    people.iter_mut().for_each(|person| person.weight = 1);
    let (with, without) = (work(&people, 0.3, "  weight: fnlwgt\n"), work(&people, 0.3, ""));
    with.run(0, "job.yaml", "");
    without.run(0, "job.yaml", "");
    let (found, expected) = (values(&with), values(&without));
    assert!(found.len() > 100, "{}", found.len());
    assert_eq!(found, expected);
    let nulls = without
        .table("metrics")
        .records()
        .all(|r| r.real("weight_numerator").is_none() && !r.text("ci_method").contains("blocks"));
    assert!(nulls && without.table("counts").records().all(|r| r.real("weight").is_none()));
    without.read("out/annex.html").lacks(&["weighted by"]);
}

/// The unit of weights does not matter: a factor that is a power of two changes nothing but the
/// columns of weights.
#[test]
fn a_factor_changes_no_value_and_no_interval() {
    let people = made_up(900);
    let [one, other] = [1.0, 1024.0].map(|times| {
        let work = work(&people, times, "  weight: fnlwgt\n");
        work.run(0, "job.yaml", "");
        let metrics = work.table("metrics");
        let weights =
            |r: &TableRecord<'_>| r.real("weight_denominator").map(|weight| weight / times);
        let rows = metrics.records().map(|r| {
            (key(&r).map(str::to_owned), r.real("value"), r.real("lo"), r.real("hi"), weights(&r))
        });
        rows.collect::<Vec<_>>()
    });
    assert_eq!(one, other);
}

#[test]
fn what_is_no_weight_is_refused() {
    let work = Work::new();
    let job = "cfaudit: 1\nname: bad\ndata:\n  rows: {csv: {path: people.csv}}\n  label: none\n  \
               weight: w\n  sensitive: {sex: {groups: [f, m], reference: m}}\n\
               models: {live: {scores: {factual: {column: score}}}}\n";
    work.write("job.yaml", job);
    for (weights, says) in [
        (["1", "-2", "1"], "below 0"),
        (["1", "", "1"], "no weight"),
        (["1", "inf", "1"], "`inf`"),
        (["1", "much", "1"], "`much`"),
        (["0", "0", "0"], "every weight in column `w` is 0"),
        (["1.7e308", "1.7e308", "1"], "too large to be summed"),
    ] {
        let rows: Vec<String> = weights
            .iter()
            .zip(["f", "m", "f"])
            .map(|(w, sex)| format!("{sex},{w},0.5\n"))
            .collect();
        work.write("people.csv", &format!("sex,w,score\n{}", rows.concat()));
        work.run(3, "job.yaml", "").says(&[says, "w"]);
        assert!(!work.path("out").exists());
    }
}

/// Rows of weight 0 change no value, threshold, flip test, pattern or gate: all is as without them.
#[test]
fn rows_of_weight_0_count_for_nothing() {
    let work = Work::new();
    let mut rows = "sex,y,w,k,region,part,score\n".to_owned();
    for i in 0..800_u32 {
        // One of four weighs nothing: scores between those of the others, and wrong ones.
        let (weight, y) = (u32::from(i % 4 > 0) * (1 + i % 3), i / 4 % 2);
        let score =
            if weight == 0 { 0.3 + f64::from(i % 40) / 100.0 } else { 0.1 + 0.8 * f64::from(y) };
        let (sex, region) = (["f", "m"][(i / 8 % 2) as usize], ["n", "s"][(i / 16 % 2) as usize]);
        let (k, part) = (i * 37 % 101, if i < 400 { "train" } else { "audit" });
        rows += &format!("{sex},{y},{weight},{k},{region},{part},{score:.2}\n");
    }
    work.write("people.csv", &rows);
    let tables = ["thresholds", "metrics", "counts", "switch_patterns", "gates"];
    let [with, without] = ["at_least", "above"].map(|keep| {
        let job = format!(
            "cfaudit: 1\nname: zero\ndata:\n  rows: {{csv: {{path: people.csv}}}}\n  keep: [{{w: {{{keep}: 0}}}}]\n  label: \
             {{column: y, positive: [1], favourable: positive}}\n  weight: w\n  sensitive: {{sex: \
             {{groups: [f, m], reference: m}}}}\n  features: {{continuous: [k], nominal: \
             [region]}}\n  split: {{column: part, train: [train], audit: [audit]}}\n\
             models: {{m: {{scores: {{factual: {{column: score}}}}, threshold: {{youden: {{}}}}}}}}\n\
             metrics: {{families: [performance, group, clarify], clarify: {{flip_test: \
             {{neighbours: 3}}}}}}\nwhy: {{missed: {{model: m, sensitive: sex, metric: fnr, columns: \
             [region], support: 0.05}}}}\ngates:\n  low: {{metric: pprev, model: m, group: {{sex: \
             f}}, at_most: 0.3}}\n  none: {{why: missed, patterns_at_most: 0}}\n"
        );
        work.write("job.yaml", &job);
        work.run(1, "job.yaml", "");
        tables.map(|name| work.table(name))
    });
    for (name, (with, without)) in tables.iter().zip(with.iter().zip(&without)) {
        assert_eq!(with.rows, without.rows, "{name}");
    }
}
