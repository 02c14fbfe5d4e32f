//! Choices and synthetic rows: compared with two other programs, and checked for their invariants.

use serde_json::{Value as Json, json};

use super::adasyn::{AdasynSettings, SyntheticRow, synthetic_rows, vectors};
use super::choose::{CounterfactualCandidate, CounterfactualSelection, RuleMatches, SelectionRule};
use super::diverse::{GowerSpace, farthest_keys};
use super::knobs::AdasynArm;
use crate::counterfactual::variable::{CategoryLevels, StrategyVariable, VariableScale};
use crate::data::{FeatureColumn, FeatureRows, MISSING};
use crate::num::neighbours::PointMatrix;
use crate::param::{Count, Finite, Fraction};
use crate::tests::json_frame::{self as frame, JsonFrame};
use crate::tests::{expected, floats, json, shared};

fn wholes(values: &[Json]) -> Vec<u64> {
    values.iter().map(|x| x.as_u64().unwrap()).collect()
}

fn column(frame: &JsonFrame, name: &str) -> Vec<f64> {
    frame[name].iter().map(|x| x.as_f64().unwrap()).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (i, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() <= 1e-9 * y.abs().max(1.0), "{i}: {x} {y}");
    }
}

fn variable(name: &str, column: usize, scale: VariableScale) -> StrategyVariable {
    StrategyVariable { name: name.to_owned(), columns: vec![column], scale }
}

fn levels(n: u32) -> VariableScale {
    VariableScale::Categorical(CategoryLevels { n, ..CategoryLevels::default() })
}

fn candidate(row_key: u64) -> CounterfactualCandidate {
    CounterfactualCandidate {
        row_key,
        attribute: 0,
        from: 0,
        to: 1,
        cf_index: 0,
        label: true,
        predicted: None,
        predicted_cf: None,
    }
}

fn adasyn(neighbours: u64, beta: f64, ratio: f64, seed: u64) -> AdasynSettings {
    let arm = AdasynArm {
        neighbours: Count::new(neighbours).unwrap(),
        beta: Finite::new(beta).unwrap(),
        ratio: Fraction::new(ratio).unwrap(),
    };
    AdasynSettings { arm, seed }
}

#[test]
fn adasyn_of_a_handful_of_rows() {
    let case = &json(expected("generation/augmentation/micro.json"))["adasyn"];
    let x = floats(&case["x"]);
    let classes: Vec<bool> = floats(&case["y"]).iter().map(|&y| y == 1.0).collect();
    let adasyn = adasyn(3, 1.0, 1.0, 7);
    let plan = adasyn.plan(PointMatrix { coordinates: &x, width: 1 }, &classes);
    assert_eq!(
        (plan.other_class_shares.clone(), plan.rows_per_base.clone()),
        (floats(&case["r"]), wholes(case["g"].as_array().unwrap()))
    );
    let rows = FeatureRows::of(vec![FeatureColumn::Number(x)]);
    let made = synthetic_rows(
        &[variable("x", 0, VariableScale::Continuous { integer: false })],
        &rows,
        &plan.synthetic,
    );
    let pairs = case["pairs"].as_array().unwrap();
    assert_eq!(plan.synthetic.len(), pairs.len());
    for ((between, value), pair) in plan.synthetic.iter().zip(made.numbers(0)).zip(pairs) {
        assert_eq!(
            json!([between.base, between.neighbour]),
            json!([pair["base"], pair["neighbour"]])
        );
        near(
            &[between.lambda, *value],
            &[pair["lambda"].as_f64().unwrap(), pair["value"].as_f64().unwrap()],
        );
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
    let number = |name: &str| FeatureColumn::Number(column(&input, name));
    let code = |name: &str, lowest: f64| {
        FeatureColumn::Code(column(&input, name).iter().map(|x| (x - lowest) as u32).collect())
    };
    let columns = vec![
        number("age"),
        number("trestbps"),
        number("thalach"),
        number("oldpeak"),
        code("exang", 0.0),
        code("cp", 1.0),
        code("y", 0.0),
    ];
    let rows = FeatureRows::of(columns);
    let real = |name: &str, column: usize| {
        variable(name, column, VariableScale::Continuous { integer: false })
    };
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
    let adasyn = adasyn(5, 1.0, 1.0, 42);
    let plan = adasyn.plan(PointMatrix { coordinates: &coordinates, width }, &classes);
    assert!(!plan.class);
    near(&plan.other_class_shares, &floats(&case["r"]));
    assert_eq!(plan.rows_per_base, wholes(case["g"].as_array().unwrap()));
    let rows_of = |find: fn(&SyntheticRow) -> u32| {
        plan.synthetic.iter().map(|b| u64::from(find(b))).collect::<Vec<_>>()
    };
    assert_eq!(rows_of(|b| b.base), wholes(&expected["base"]));
    assert_eq!(rows_of(|b| b.neighbour), wholes(&expected["neighbour"]));
    let made = synthetic_rows(&variables, &rows, &plan.synthetic);
    for (feature, name) in ["age", "trestbps", "thalach", "oldpeak"].into_iter().enumerate() {
        near(made.numbers(feature), &column(&expected, name));
    }
    for (feature, name, lowest) in [(4, "exang", 0), (5, "cp", 1), (6, "y", 0)] {
        let found: Vec<u64> = made.codes(feature).iter().map(|&c| u64::from(c) + lowest).collect();
        assert_eq!(found, wholes(&expected[name]), "{name}");
    }
    let whole = synthetic_rows(
        &[variable("age", 0, VariableScale::Continuous { integer: true })],
        &rows,
        &plan.synthetic,
    );
    near(whole.numbers(0), &column(&expected, "age_rounded"));
}

#[test]
fn ordinals_and_missing_numbers_take_values_that_are_there() {
    let columns = vec![
        FeatureColumn::Number(vec![1.0, 4.0, 9.5]),
        FeatureColumn::Code(vec![0, 3, MISSING]),
        FeatureColumn::Number(vec![2.0, f64::NAN, 4.0]),
        FeatureColumn::Code(vec![5, 6, 7]),
    ];
    let rows = FeatureRows::of(columns);
    let variables = [
        variable("number", 0, VariableScale::Ordinal {}),
        variable("level", 1, VariableScale::Ordinal {}),
        variable("x", 2, VariableScale::Continuous { integer: false }),
        variable("name", 3, levels(9)),
    ];
    let between = |base, neighbour, lambda| SyntheticRow { base, neighbour, lambda };
    let made = synthetic_rows(
        &variables,
        &rows,
        &[between(0, 1, 0.5), between(0, 2, 0.25), between(1, 0, 0.75), between(2, 1, 0.125)],
    );
    assert_eq!(made.numbers(0), [4.0, 4.0, 1.0, 9.5]);
    assert_eq!(made.codes(1), [2, 0, 1, MISSING]);
    assert_eq!(made.numbers(2)[1..3], [2.5, 2.0]);
    assert!(made.numbers(2)[0].is_nan() && made.numbers(2)[3] == 4.0);
    assert_eq!(made.codes(3), [6, 5, 5, 7]);
}

#[test]
fn adasyn_makes_nothing_where_nothing_lacks_or_nobody_is_near() {
    let x: Vec<f64> = (0..8).map(f64::from).collect();
    let points = PointMatrix { coordinates: &x, width: 1 };
    let whole = adasyn(2, 1.0, 1.0, 1);
    let made =
        |classes: &[bool], adasyn: AdasynSettings| adasyn.plan(points, classes).synthetic.len();
    let at = |positive: &[usize]| (0..8).map(|i| positive.contains(&i)).collect::<Vec<_>>();
    // Classes of equal size, a class of one row, and an empty class.
    for classes in [at(&[0, 1, 2, 3]), at(&[3]), at(&[])] {
        assert_eq!(made(&classes, whole), 0, "{classes:?}");
    }
    // Three rows of one class that lie close together, far from the others.
    let apart = [0.0, 1.0, 2.0, 3.0, 4.0, 50.0, 51.0, 52.0];
    let plan = whole.plan(PointMatrix { coordinates: &apart, width: 1 }, &at(&[5, 6, 7]));
    assert_eq!(
        (plan.other_class_shares, plan.rows_per_base, plan.synthetic.len()),
        (vec![0.0; 3], vec![0; 3], 0)
    );
    assert_eq!(made(&at(&[2, 5]), whole), 4);
    assert_eq!(made(&at(&[2, 5]), adasyn(2, 0.5, 1.0, 1)), 2);
    assert_eq!(made(&at(&[2, 5]), adasyn(2, 1.0, 0.3, 1)), 0);
    // The positive class may be the larger one.
    let mostly = whole.plan(points, &at(&[0, 1, 3, 4, 6, 7]));
    assert_eq!(
        (mostly.class, mostly.rows.as_slice(), mostly.synthetic.len()),
        (false, [2, 5].as_slice(), 4)
    );
}

#[test]
fn a_fraction_of_what_matches_rules() {
    let Some(folder) = shared("expected/generation") else { return };
    let case = json(folder.join("augmentation/compas_directed.json"));
    let input = frame::read(&folder.join("compas/input.parquet"));
    let generated = frame::read(&folder.join("compas/c01_race2_default.parquet"));
    let groups = ["African-American", "Caucasian"];
    let group = |name: &Json| {
        groups.iter().position(|g| json!(g) == *name).map(|g| u16::try_from(g).unwrap())
    };
    let labels = &input["two_year_recid"];
    let candidates: Vec<CounterfactualCandidate> = generated["row_id"]
        .iter()
        .zip(&generated["target_group"])
        .map(|(row, to)| {
            let (row, to) = (row.as_u64().unwrap(), group(to).unwrap());
            let label = labels[usize::try_from(row).unwrap()].as_u64() == Some(1);
            CounterfactualCandidate { from: 1 - to, to, label, ..candidate(row) }
        })
        .collect();
    let rule = |rule: &Json| SelectionRule {
        from: group(&rule["source_group"]),
        label: Some(rule["label"] == json!(1)),
        ..SelectionRule::default()
    };
    let rules: Vec<SelectionRule> = case["rules"].as_array().unwrap().iter().map(rule).collect();
    let matches = |candidates: &[CounterfactualCandidate]| {
        let mut matches = RuleMatches::new(&rules, 42);
        candidates.iter().for_each(|c| matches.add(c));
        matches
    };
    assert_eq!(matches(&candidates).counts(), wholes(case["matching"].as_array().unwrap()));
    // In two parts, the later rows merged first.
    let (early, late) = candidates.split_at(1000);
    let mut parts = matches(late);
    parts.merge(matches(early));
    let choice = CounterfactualSelection::Chosen(parts.draw(0.1));
    let taken: Vec<u64> =
        candidates.iter().filter(|c| choice.contains(c)).map(|c| c.row_key).collect();
    assert_eq!(taken, wholes(case["selected_row_ids"].as_array().unwrap()));
    let (none, every) = (matches(&candidates).draw(0.0), matches(&candidates).draw(1.0));
    assert_eq!((none.len(), every.len()), (0, 822 + 1514));
}

#[test]
fn those_that_switch() {
    let case = &json(expected("generation/augmentation/micro.json"))["switched"];
    let (before, after) = (floats(&case["original_prediction"]), floats(&case["cf_prediction"]));
    let candidate_of = |i: usize| CounterfactualCandidate {
        predicted: Some(before[i] == 1.0),
        predicted_cf: Some(after[i] == 1.0),
        ..candidate(i as u64)
    };
    let kept: Vec<u64> = (0..before.len())
        .filter(|&i| CounterfactualSelection::Switched.contains(&candidate_of(i)))
        .map(|i| i as u64)
        .collect();
    assert_eq!(kept, wholes(case["kept"].as_array().unwrap()));
    let unscored = CounterfactualCandidate { predicted: Some(true), ..candidate(0) };
    assert!(
        !CounterfactualSelection::Switched.contains(&unscored)
            && CounterfactualSelection::All.contains(&unscored)
    );
}

/// Distances to (0, a, low) and (10, b, high) worked by hand; 40 % of five are two.
#[test]
fn the_farthest_by_gowers_distance() {
    let variables = || {
        vec![
            variable("x", 0, VariableScale::Continuous { integer: false }),
            variable("colour", 1, levels(2)),
            variable("grade", 2, VariableScale::Ordinal {}),
        ]
    };
    let rows = |x: &[f64], colour: &[u32], grade: &[u32]| {
        FeatureRows::of(vec![
            FeatureColumn::Number(x.to_vec()),
            FeatureColumn::Code(colour.to_vec()),
            FeatureColumn::Code(grade.to_vec()),
        ])
    };
    let made = rows(&[0.0, 5.0, 10.0, f64::NAN, 20.0], &[0, 1, 0, MISSING, 1], &[0, 2, 2, 1, 2]);
    let distances = |training: &FeatureRows| -> Vec<f64> {
        let space = GowerSpace::new(variables(), training);
        (0..made.n).map(|i| space.nearest(&made, i)).collect()
    };
    let found = distances(&rows(&[0.0, 10.0], &[0, 1], &[0, 2]));
    near(&found, &[0.0, 1.0 / 6.0, 1.0 / 3.0, 5.0 / 6.0, 1.0 / 3.0]);
    // Two missing values have distance 0, and a constant number is treated as a level.
    let found = distances(&rows(&[f64::NAN, 5.0], &[MISSING, 1], &[1, 1]));
    near(&found, &[1.0, 1.0 / 3.0, 1.0, 0.0, 2.0 / 3.0]);
    let taken = |distances: &[f64], keys: [u64; 5], fraction: f64| -> Vec<u64> {
        let keyed = |(distance, key): (&f64, &u64)| (*distance, candidate(*key).key());
        let all = distances.iter().zip(&keys).map(keyed).collect();
        let choice = CounterfactualSelection::Chosen(farthest_keys(all, fraction));
        keys.into_iter().filter(|key| choice.contains(&candidate(*key))).collect()
    };
    let of_two = [0.0, 1.0 / 6.0, 1.0 / 3.0, 5.0 / 6.0, 1.0 / 3.0];
    // Of two at the same distance the one with the lower key is taken.
    assert_eq!(taken(&of_two, [1, 2, 3, 4, 5], 0.4), [3, 4]);
    assert_eq!(taken(&of_two, [1, 2, 5, 4, 3], 0.4), [4, 3]);
    assert_eq!(taken(&of_two, [1, 2, 3, 4, 5], 0.0).len(), 0);
    assert_eq!(taken(&of_two, [1, 2, 3, 4, 5], 1.0).len(), 5);
    let none = GowerSpace::new(variables(), &rows(&[], &[], &[]));
    assert_eq!(none.nearest(&made, 0), f64::INFINITY);
}

#[test]
fn a_rule_asks_for_all_that_it_says() {
    let switched = CounterfactualCandidate {
        predicted: Some(true),
        predicted_cf: Some(false),
        ..candidate(3)
    };
    assert!(SelectionRule::default().matches(&switched));
    let wanted = SelectionRule {
        attribute: Some(0),
        from: Some(0),
        to: Some(1),
        label: Some(true),
        predicted: Some(true),
        predicted_cf: Some(false),
    };
    assert!(wanted.matches(&switched));
    for other in [
        SelectionRule { attribute: Some(1), ..wanted },
        SelectionRule { from: Some(1), ..wanted },
        SelectionRule { to: Some(0), ..wanted },
        SelectionRule { label: Some(false), ..wanted },
        SelectionRule { predicted: Some(false), ..wanted },
        SelectionRule { predicted_cf: Some(true), ..wanted },
    ] {
        assert!(!other.matches(&switched));
    }
    // Without a score of the base model the prediction is unknown.
    assert!(
        !SelectionRule { predicted: Some(true), ..SelectionRule::default() }.matches(&candidate(3))
    );
}
