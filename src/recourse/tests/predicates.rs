//! Traits "at or above": every subgroup, action and count, compared with a search that looks at
//! each set of traits and each row (tests/oracle/predicates.json, made by predicates.py).

use super::*;
use crate::recourse::feature::TraitPredicate;

#[test]
fn traits_at_or_above_give_the_subgroups_of_the_script() {
    let expected: Json =
        serde_json::from_str(include_str!("../../../tests/oracle/predicates.json")).unwrap();
    let rows: Vec<[u32; 4]> = serde_json::from_value(expected["rows"].clone()).unwrap();
    let columns = [
        ("age", LevelScale::Ordered, TraitPredicate::AtLeast, ChangeDirection::Never),
        ("hours", LevelScale::Ordered, TraitPredicate::Equals, ChangeDirection::Up),
        ("job", LevelScale::Nominal, TraitPredicate::Equals, ChangeDirection::Any),
    ];
    let feature = |(at, (name, scale, predicate, direction)): (usize, (&str, _, _, _))| {
        let levels: Vec<String> = serde_json::from_value(expected["levels"][name].clone()).unwrap();
        let ordered = scale == LevelScale::Ordered;
        RecourseFeature {
            name: name.to_owned(),
            missing: levels.iter().position(|level| level == "missing").map(|level| level as u32),
            levels,
            scale,
            codes: rows.iter().map(|row| row[at]).collect(),
            predicate,
            may_change: AllowedChanges { direction, ..AllowedChanges::default() },
            cost: ChangeCost {
                distance: if ordered { LevelDistance::Positions } else { LevelDistance::Unit },
                weight: 1.0,
            },
        }
    };
    let good: Vec<u8> = serde_json::from_value(expected["favourable"].clone()).unwrap();
    let audited = AuditedRows {
        features: columns.into_iter().enumerate().map(feature).collect(),
        groups: rows.iter().map(|row| Some(row[3] as u16)).collect(),
        favourable: good.iter().map(|good| *good == 1).collect(),
    };
    // The model of the script, on rows of age, hours, job and group.
    let model = |row: u32, changes: &[LevelChange]| {
        let mut levels = rows[row as usize];
        changes.iter().for_each(|change| levels[change.feature] = change.level);
        let [age, hours, job, group] = levels.map(|level| level as usize);
        let pair = if hours == job { 2 } else { 0 };
        [0, 2, 3, 1, 1][age] + [0, 2, 5][hours] + [1, 3, 4][job] + pair + group >= 9
    };
    let decided: Vec<bool> = (0..rows.len() as u32).map(|row| model(row, &[])).collect();
    assert_eq!(decided, audited.favourable);

    let plan = plan(&audited, expected["support"].as_str().unwrap());
    let effects = effects(&plan, &model);
    let found: Vec<Json> = (0..plan.n_subgroups())
        .map(|subgroup| {
            let helped = effects.of_subgroup(&plan, subgroup).helped;
            let actions = plan.actions(subgroup).zip(helped).map(|(action, helped)| {
                let cost = plan.cost(action) / 1_000_000_000;
                serde_json::json!([cost, plan.changes_text(action), helped])
            });
            let actions: Vec<Json> = actions.collect();
            serde_json::json!([plan.text(subgroup), plan.n(subgroup), actions])
        })
        .collect();
    assert_eq!(Json::from(found), expected["subgroups"]);
}
