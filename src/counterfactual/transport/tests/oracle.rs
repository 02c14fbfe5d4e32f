//! Heart disease, sex, per label, unequal sizes, against the plans of another solver.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::*;
use crate::tests::{json_frame, numbers, shared};

fn columns(path: &Path) -> BTreeMap<String, Vec<f64>> {
    json_frame::read(path).into_iter().map(|(name, values)| (name, numbers(&values))).collect()
}

const NAMES: [&str; 5] = ["age", "trestbps", "chol", "thalach", "oldpeak"];

/// Compares with the plans of the oracle the rows that `is_compared` names: how many.
fn compare(
    distance: &TransportDistance,
    people: &TestPopulation,
    folder: &Path,
    is_compared: impl Fn(&[(usize, f64)], usize) -> bool,
) -> usize {
    let expected = columns(&folder.join("expected.parquet"));
    let totals: Json =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut compared = 0;
    for to in [0, 1] {
        let argmax = run(&with(TransportImage::Argmax), distance, people, people, to);
        for (block, solved) in argmax.blocks.iter().zip(&argmax.solved) {
            let is_it = |stratum: &&Json| {
                [&stratum["source"], &stratum["target"], &stratum["label"]].map(Json::as_u64)
                    == [u64::from(block.from), u64::from(block.to), u64::from(block.class)]
                        .map(Some)
            };
            let total = totals["strata"].as_array().unwrap().iter().find(is_it).unwrap();
            let cost = total["cost"].as_f64().unwrap();
            assert!((solved.cost - cost).abs() <= 1e-9 * cost, "{} instead of {cost}", solved.cost);
            assert_eq!(total["n"].as_u64(), Some(block.sources.len() as u64));
            assert_eq!(total["m"].as_u64(), Some(block.targets.len() as u64));
        }
        let means = run(&with(TransportImage::Barycentre), distance, people, people, to);
        let plans = plans(&argmax);
        for k in (0..expected["row"].len()).filter(|&k| expected["target"][k] as u16 == to) {
            let row = expected["row"][k] as usize;
            let plan = &plans[&row];
            if !is_compared(plan, row) {
                continue;
            }
            let at = argmax.parent.binary_search(&row).unwrap();
            assert_eq!(plan[0].0, expected["image"][k] as usize, "row {row}");
            assert_eq!(plan.len(), expected["images_with_mass"][k] as usize, "row {row}");
            let (found, mass) = (plan[0].1, expected["mass"][k]);
            assert!((found - mass).abs() <= 1e-9, "row {row}: {found} instead of {mass}");
            for (f, name) in NAMES.iter().enumerate() {
                let (found, mean) =
                    (means.rows.numbers(f)[at], expected[&format!("barycentre_{name}")][k]);
                assert!(
                    (found - mean).abs() <= 1e-9 * mean.abs().max(1.0),
                    "row {row}, {name}: {found} instead of {mean}"
                );
            }
            compared += 1;
        }
    }
    compared
}

#[test]
fn heart_by_sex_and_label() {
    let Some(folder) = shared("expected/generation/transport") else { return };
    let input = columns(&folder.join("input.parquet"));
    let n = input["sex"].len();
    let mut features: Vec<FeatureColumn> =
        NAMES.map(|name| FeatureColumn::Number(input[name].clone())).into();
    features.push(FeatureColumn::Code(input["exang"].iter().map(|&x| x as u32).collect()));
    features.push(FeatureColumn::Number((0..n).map(|i| i as f64).collect()));
    let people = TestPopulation {
        rows: FeatureRows::of(features),
        keys: (0..n as u64).collect(),
        groups: input["sex"].iter().map(|&x| x as u16).collect(),
        classes: input["y"].iter().map(|&x| Some(x as u32)).collect(),
    };
    let mut variables: Vec<StrategyVariable> = (0..5).map(|f| variable(f, NUMBER)).collect();
    variables.push(variable(5, category(None)));
    let distance = TransportDistance::new(variables.clone(), &people.rows);

    // The oracle keeps equal rows separate. A feature with cost 0 that differs in every row has the
    // same effect.
    variables.push(variable(6, NUMBER));
    let units = distance.units().iter().copied().chain([0.0]).collect();
    let apart = TransportDistance::with_units(variables, units, &people.rows);
    assert_eq!(compare(&apart, &people, &folder, |_, _| true), 672);

    // Normal use: equal rows are one point. Only the plans of equal rows and of their images
    // change.
    let values = |row: usize| -> Vec<u64> {
        distance
            .variables
            .iter()
            .map(|variable| variable.value(&people.rows, row).to_bits())
            .collect()
    };
    let is_single = |row: usize| {
        let alike = |other: usize| {
            people.groups[other] == people.groups[row]
                && people.classes[other] == people.classes[row]
        };
        (0..n).filter(|&other| alike(other) && values(other) == values(row)).count() == 1
    };
    let compared = compare(&distance, &people, &folder, |plan, row| {
        is_single(row) && plan.iter().all(|&(target, _)| is_single(target))
    });
    assert_eq!(compared, 672 - 10);
}
