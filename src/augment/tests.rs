//! Choices and synthetic rows against the oracle of two other programs, and against what they promise.

use serde_json::{Value as Json, json};

use super::adasyn::{Adasyn, Between, rows_between, vectors};
use super::choose::{Candidate, Choice, Matches, Rule};
use crate::counterfactual::tests::frame::{self, Frame};
use crate::counterfactual::variable::{Levels, Scale, Variable};
use crate::data::{Column, MISSING, Rows};
use crate::num::neighbours::Points;
use crate::tests::{expected, json, shared};

fn reals(values: &Json) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn wholes(values: &[Json]) -> Vec<u64> {
    values.iter().map(|x| x.as_u64().unwrap()).collect()
}

fn column(frame: &Frame, name: &str) -> Vec<f64> {
    frame[name].iter().map(|x| x.as_f64().unwrap()).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (i, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() <= 1e-9 * y.abs().max(1.0), "{i}: {x} {y}");
    }
}

fn variable(name: &str, column: usize, scale: Scale) -> Variable {
    Variable { name: name.to_owned(), columns: vec![column], scale }
}

fn levels(n: u32) -> Scale {
    Scale::Categorical(Levels { n, ..Levels::default() })
}

fn candidate(row_key: u64) -> Candidate {
    Candidate { row_key, attribute: 0, from: 0, to: 1, cf_index: 0, label: true, predicted: None, predicted_cf: None }
}

#[test]
fn adasyn_of_a_handful_of_rows() {
    let case = &json(expected("generation/augmentation/micro.json"))["adasyn"];
    let x = reals(&case["x"]);
    let classes: Vec<bool> = reals(&case["y"]).iter().map(|&y| y == 1.0).collect();
    let adasyn = Adasyn { neighbours: 3, beta: 1.0, threshold: 1.0, seed: 7 };
    let plan = adasyn.plan(Points { coordinates: &x, width: 1 }, &classes);
    assert_eq!((plan.r.clone(), plan.g.clone()), (reals(&case["r"]), wholes(case["g"].as_array().unwrap())));
    let rows = Rows { n: x.len(), columns: vec![Column::Number(x)] };
    let made = rows_between(&[variable("x", 0, Scale::Continuous { integer: false })], &rows, &plan.made);
    let pairs = case["pairs"].as_array().unwrap();
    assert_eq!(plan.made.len(), pairs.len());
    for ((between, value), pair) in plan.made.iter().zip(made.numbers(0)).zip(pairs) {
        assert_eq!(json!([between.base, between.neighbour]), json!([pair["base"], pair["neighbour"]]));
        near(&[between.lambda, *value], &[pair["lambda"].as_f64().unwrap(), pair["value"].as_f64().unwrap()]);
    }
}

/// Heart disease: numbers, a binary and a nominal column.
#[test]
fn adasyn_of_people() {
    let Some(folder) = shared("expected/generation/augmentation") else { return };
    let (input, expected, case) = (
        frame::read(&folder.join("adasyn_input.parquet")),
        frame::read(&folder.join("adasyn_expected.parquet")),
        json(folder.join("adasyn_expected.json")),
    );
    let number = |name: &str| Column::Number(column(&input, name));
    let code = |name: &str, lowest: f64| Column::Code(column(&input, name).iter().map(|x| (x - lowest) as u32).collect());
    let columns =
        vec![number("age"), number("trestbps"), number("thalach"), number("oldpeak"), code("exang", 0.0), code("cp", 1.0), code("y", 0.0)];
    let rows = Rows { n: input["age"].len(), columns };
    let real = |name: &str, column: usize| variable(name, column, Scale::Continuous { integer: false });
    let variables = [
        real("age", 0),
        real("trestbps", 1),
        real("thalach", 2),
        real("oldpeak", 3),
        variable("exang", 4, levels(2)),
        variable("cp", 5, levels(4)),
    ];
    let (coordinates, width) = vectors(&variables, &rows);
    let classes: Vec<bool> = column(&input, "sex").iter().map(|&sex| sex == 1.0).collect();
    let adasyn = Adasyn { neighbours: 5, beta: 1.0, threshold: 1.0, seed: 42 };
    let plan = adasyn.plan(Points { coordinates: &coordinates, width }, &classes);
    assert!(!plan.class);
    near(&plan.r, &reals(&case["r"]));
    assert_eq!(plan.g, wholes(case["g"].as_array().unwrap()));
    let of = |find: fn(&Between) -> u32| plan.made.iter().map(|b| u64::from(find(b))).collect::<Vec<_>>();
    assert_eq!(of(|b| b.base), wholes(&expected["base"]));
    assert_eq!(of(|b| b.neighbour), wholes(&expected["neighbour"]));
    let made = rows_between(&variables, &rows, &plan.made);
    for (feature, name) in ["age", "trestbps", "thalach", "oldpeak"].into_iter().enumerate() {
        near(made.numbers(feature), &column(&expected, name));
    }
    for (feature, name, lowest) in [(4, "exang", 0), (5, "cp", 1), (6, "y", 0)] {
        let found: Vec<u64> = made.codes(feature).iter().map(|&c| u64::from(c) + lowest).collect();
        assert_eq!(found, wholes(&expected[name]), "{name}");
    }
    let whole = rows_between(&[variable("age", 0, Scale::Continuous { integer: true })], &rows, &plan.made);
    near(whole.numbers(0), &column(&expected, "age_rounded"));
}

#[test]
fn ordinals_and_missing_numbers_take_values_that_are_there() {
    let columns = vec![
        Column::Number(vec![1.0, 4.0, 9.5]),
        Column::Code(vec![0, 3, MISSING]),
        Column::Number(vec![2.0, f64::NAN, 4.0]),
        Column::Code(vec![5, 6, 7]),
    ];
    let rows = Rows { n: 3, columns };
    let variables = [
        variable("number", 0, Scale::Ordinal {}),
        variable("level", 1, Scale::Ordinal {}),
        variable("x", 2, Scale::Continuous { integer: false }),
        variable("name", 3, levels(9)),
    ];
    let between = |base, neighbour, lambda| Between { base, neighbour, lambda };
    let made = rows_between(&variables, &rows, &[between(0, 1, 0.5), between(0, 2, 0.25), between(1, 0, 0.75), between(2, 1, 0.125)]);
    assert_eq!(made.numbers(0), [4.0, 4.0, 1.0, 9.5]);
    assert_eq!(made.codes(1), [2, 0, 1, MISSING]);
    assert_eq!(made.numbers(2)[1..3], [2.5, 2.0]);
    assert!(made.numbers(2)[0].is_nan() && made.numbers(2)[3] == 4.0);
    assert_eq!(made.codes(3), [6, 5, 5, 7]);
}

#[test]
fn adasyn_makes_nothing_where_nothing_lacks_or_nobody_is_near() {
    let x: Vec<f64> = (0..8).map(f64::from).collect();
    let points = Points { coordinates: &x, width: 1 };
    let adasyn = Adasyn { neighbours: 2, beta: 1.0, threshold: 1.0, seed: 1 };
    let made = |classes: &[bool], adasyn: Adasyn| adasyn.plan(points, classes).made.len();
    let at = |positive: &[usize]| (0..8).map(|i| positive.contains(&i)).collect::<Vec<_>>();
    // As many of both, one alone, none.
    for classes in [at(&[0, 1, 2, 3]), at(&[3]), at(&[])] {
        assert_eq!(made(&classes, adasyn), 0, "{classes:?}");
    }
    // Three who are among themselves.
    let apart = [0.0, 1.0, 2.0, 3.0, 4.0, 50.0, 51.0, 52.0];
    let plan = adasyn.plan(Points { coordinates: &apart, width: 1 }, &at(&[5, 6, 7]));
    assert_eq!((plan.r, plan.g, plan.made.len()), (vec![0.0; 3], vec![0; 3], 0));
    assert_eq!(made(&at(&[2, 5]), adasyn), 4);
    assert_eq!(made(&at(&[2, 5]), Adasyn { beta: 0.5, ..adasyn }), 2);
    assert_eq!(made(&at(&[2, 5]), Adasyn { threshold: 0.3, ..adasyn }), 0);
    // The positive class may be the larger one.
    let mostly = Adasyn { neighbours: 2, ..adasyn }.plan(points, &at(&[0, 1, 3, 4, 6, 7]));
    assert_eq!((mostly.class, mostly.rows.as_slice(), mostly.made.len()), (false, [2, 5].as_slice(), 4));
}

#[test]
fn a_fraction_of_what_matches_rules() {
    let Some(folder) = shared("expected/generation") else { return };
    let case = json(folder.join("augmentation/compas_directed.json"));
    let input = frame::read(&folder.join("compas/input.parquet"));
    let generated = frame::read(&folder.join("compas/c01_race2_default.parquet"));
    let groups = ["African-American", "Caucasian"];
    let group = |name: &Json| groups.iter().position(|g| json!(g) == *name).map(|g| u16::try_from(g).unwrap());
    let labels = &input["two_year_recid"];
    let candidates: Vec<Candidate> = generated["row_id"]
        .iter()
        .zip(&generated["target_group"])
        .map(|(row, to)| {
            let (row, to) = (row.as_u64().unwrap(), group(to).unwrap());
            let label = labels[usize::try_from(row).unwrap()].as_u64() == Some(1);
            Candidate { from: 1 - to, to, label, ..candidate(row) }
        })
        .collect();
    let rule = |rule: &Json| Rule { from: group(&rule["source_group"]), label: Some(rule["label"] == json!(1)), ..Rule::default() };
    let rules: Vec<Rule> = case["rules"].as_array().unwrap().iter().map(rule).collect();
    let matches = |candidates: &[Candidate]| {
        let mut matches = Matches::new(&rules, 42);
        candidates.iter().for_each(|c| matches.add(c));
        matches
    };
    assert_eq!(matches(&candidates).counts(), wholes(case["matching"].as_array().unwrap()));
    // In two parts, the later rows first.
    let (early, late) = candidates.split_at(1000);
    let mut parts = matches(late);
    parts.merge(matches(early));
    let choice = Choice::Drawn(parts.draw(0.1));
    let taken: Vec<u64> = candidates.iter().filter(|c| choice.takes(c)).map(|c| c.row_key).collect();
    assert_eq!(taken, wholes(case["selected_row_ids"].as_array().unwrap()));
    let (none, every) = (matches(&candidates).draw(0.0), matches(&candidates).draw(1.0));
    assert!(!candidates.iter().any(|c| none.takes(c)));
    assert_eq!(candidates.iter().filter(|c| every.takes(c)).count(), 822 + 1514);
}

#[test]
fn those_that_switch() {
    let case = &json(expected("generation/augmentation/micro.json"))["switched"];
    let (before, after) = (reals(&case["original_prediction"]), reals(&case["cf_prediction"]));
    let of = |i: usize| Candidate { predicted: Some(before[i] == 1.0), predicted_cf: Some(after[i] == 1.0), ..candidate(i as u64) };
    let kept: Vec<u64> = (0..before.len()).filter(|&i| Choice::Switched.takes(&of(i))).map(|i| i as u64).collect();
    assert_eq!(kept, wholes(case["kept"].as_array().unwrap()));
    let unscored = Candidate { predicted: Some(true), ..candidate(0) };
    assert!(!Choice::Switched.takes(&unscored) && Choice::All.takes(&unscored));
}

#[test]
fn a_rule_asks_for_all_that_it_says() {
    let of = Candidate { predicted: Some(true), predicted_cf: Some(false), ..candidate(3) };
    assert!(Rule::default().matches(&of));
    let wanted =
        Rule { attribute: Some(0), from: Some(0), to: Some(1), label: Some(true), predicted: Some(true), predicted_cf: Some(false) };
    assert!(wanted.matches(&of));
    for other in [
        Rule { attribute: Some(1), ..wanted },
        Rule { from: Some(1), ..wanted },
        Rule { to: Some(0), ..wanted },
        Rule { label: Some(false), ..wanted },
        Rule { predicted: Some(false), ..wanted },
        Rule { predicted_cf: Some(true), ..wanted },
    ] {
        assert!(!other.matches(&of));
    }
    // Where the base model gives no score, nothing is known.
    assert!(!Rule { predicted: Some(true), ..Rule::default() }.matches(&candidate(3)));
}
