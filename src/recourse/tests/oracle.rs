//! Results that an exact program and AIF360 agree on: subgroups, actions, effectiveness, every
//! score, rank and text.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::case::RecourseOracleCase;
use super::sentence::text;
use super::*;
use crate::recourse::budget::{Percentile, budgets};
use crate::recourse::definition::trade_off_bound;
use crate::recourse::exact::ExactRatio;
use crate::recourse::overview::{agreement, analysis};
use crate::tests::shared;

fn folder(case: &str) -> Option<PathBuf> {
    shared(&format!("expected/facts/{case}"))
}

/// The criterion for a name of the oracle such as `ece_macro@0.3`.
fn question(name: &str) -> RecourseCriterion {
    let (name, parameter) = name.split_once('@').unwrap_or((name, ""));
    let (definition, view) = name.split_once('_').unwrap_or((name, ""));
    let definition = match definition {
        "ece" => RecourseDefinition::EqualCost(share(parameter)),
        "ecr" => RecourseDefinition::EqualChoice(share(parameter)),
        "ee" => RecourseDefinition::EqualEffectiveness,
        "eewb" => {
            let (whole, nano) = parameter.split_once('.').unwrap();
            RecourseDefinition::WithinBudget(
                whole.parse::<i64>().unwrap() * 1_000_000_000 + nano.parse::<i64>().unwrap(),
            )
        }
        "ecmr" => RecourseDefinition::ConditionalMean,
        "ks" => RecourseDefinition::FairTradeOff,
        other => panic!("{other}"),
    };
    let view = match view {
        "macro" => RecourseView::Macro,
        "micro" => RecourseView::Micro,
        _ => definition.views()[0],
    };
    RecourseCriterion::new(definition, view).unwrap()
}

#[track_caller]
fn close(got: f64, expected: f64, what: &str) {
    let same = got == expected || (got - expected).abs() <= 1e-12 * expected.abs();
    assert!(same, "{what}: {got} and {expected}");
}

fn check(name: &str) {
    let Some(folder) = folder(name) else { return };
    let case = RecourseOracleCase::read(&folder);
    let support = case.config["min_support"].to_string();
    let plan = RecoursePlan::new(&case.audited, &case.pair, &search(&support)).unwrap();
    let summary = json(folder.join("summary.json"));
    let counts = |key: &str| summary["counts"][key].as_u64().unwrap() as usize;

    // Subgroups.
    assert_eq!(
        plan.population().n.map(|n| n as usize),
        [counts("affected_0"), counts("affected_1")]
    );
    assert_eq!(plan.population().unaffected(), counts("unaffected"));
    assert_eq!(plan.n_subgroups(), counts("subgroups_in_intersection"));
    let expected = json_frame::read(&folder.join("subgroups.parquet"));
    assert_eq!(expected["predicate"].len(), plan.n_subgroups());
    for (subgroup, predicate) in expected["predicate"].iter().enumerate() {
        assert_eq!(plan.text(subgroup), *predicate);
        let got = [plan.n(subgroup)[0], plan.n(subgroup)[1], plan.actions(subgroup).len() as u32]
            .map(f64::from);
        assert_eq!(
            got,
            ["n_0", "n_1", "n_actions"].map(|column| number(&expected[column][subgroup])),
            "{subgroup}"
        );
    }

    // Queries of the model.
    assert_eq!(plan.n_changes(), counts("distinct_change_sets"));
    let needed = plan.needed();
    assert_eq!(needed.n_pairs(), counts("distinct_row_x_change"));
    let different = DifferentRows::new(&case.audited, &plan, &needed);
    assert_eq!(different.rows.len(), counts("distinct_counterfactual_rows"));
    let decides = |row: u32, changes: &[LevelChange]| case.model.changed(row, changes) > 0.0;
    let helped = helped(&plan, &decides);
    let favours = |&(row, change): &(u32, u32)| decides(row, &plan.change_set(change as usize));
    let favourable: Vec<bool> = different.rows.iter().map(favours).collect();
    let helps = |change: usize, _: &[u32]| {
        Ok(different.numbers[change].iter().map(|&number| favourable[number]).collect())
    };
    assert_eq!(plan.helped(&needed, helps).unwrap(), helped);
    assert!((0..plan.n_subgroups()).any(|s| plan.n(s) != [0; 2]));

    // Actions.
    let effects = ActionEffects::new(&plan, &helped);
    assert_eq!(plan.n_actions(), counts("subgroup_action_pairs"));
    let expected = json_frame::read(&folder.join("actions.parquet"));
    assert_eq!(expected["cost_nano"].len(), plan.n_actions());
    let mut evaluations = 0;
    for subgroup in 0..plan.n_subgroups() {
        for action in plan.actions(subgroup) {
            assert_eq!(expected["subgroup_id"][action], subgroup);
            assert_eq!(plan.changes_text(action), expected["changes"][action]);
            assert_eq!(changed_text(&plan, subgroup, action), expected["then"][action]);
            assert_eq!(plan.cost(action), expected["cost_nano"][action]);
            let k = ["k_0", "k_1"].map(|column| number(&expected[column][action]));
            assert_eq!(effects.helped[action].map(f64::from), k, "{subgroup} {action}");
            evaluations += plan.n(subgroup).iter().sum::<u32>() as usize;
        }
    }
    assert_eq!(evaluations, counts("pair_x_row_evaluations"));
    let with_actions = (0..plan.n_subgroups()).filter(|&s| !plan.actions(s).is_empty()).count();
    assert_eq!(with_actions, counts("subgroups_with_actions"));

    // Effectiveness by cost.
    let expected = json_frame::read(&folder.join("ecd.parquet"));
    let mut line = 0;
    for subgroup in 0..plan.n_subgroups() {
        for reach in effects.of_subgroup(&plan, subgroup).reaches {
            let [a, b] = reach.best;
            let [c, d] = reach.union;
            let got = [
                subgroup as f64,
                reach.cost as f64,
                f64::from(a),
                f64::from(b),
                f64::from(c),
                f64::from(d),
            ];
            let columns =
                ["subgroup_id", "cost_nano", "k_macro_0", "k_macro_1", "k_micro_0", "k_micro_1"];
            assert_eq!(got, columns.map(|column| number(&expected[column][line])));
            line += 1;
        }
    }
    assert_eq!(line, expected["cost_nano"].len());

    // Budgets.
    let percents = case.config["budget_percentiles"].as_array().unwrap().iter();
    let percents: Vec<Percentile> = percents
        .map(|q| {
            Percentile::new(
                ((q.as_f64().unwrap() * 100.0).round() as u64).to_string().parse().unwrap(),
            )
            .unwrap()
        })
        .collect();
    let half = share(&case.config["budget_phi"].to_string());
    let expected: Vec<i64> =
        summary["budgets_nano"].as_array().unwrap().iter().map(|b| b.as_i64().unwrap()).collect();
    assert_eq!(budgets(&plan, &effects, &percents, half), expected);

    check_scores(&folder, &case, &plan, &effects);
    check_tables(&summary, &case, &plan, &effects);
    check_texts(&folder, &plan, &effects);
}

fn check_scores(
    folder: &Path,
    case: &RecourseOracleCase,
    plan: &RecoursePlan<'_>,
    effects: &ActionEffects,
) {
    let expected = json_frame::read(&folder.join("scores.parquet"));
    let number = |column: &str, line: usize| number(&expected[column][line]);
    let names = &expected["definition"];
    let alpha = case.config["alpha"].as_f64().unwrap();
    let mut lines: Vec<usize> = (0..names.len()).collect();
    lines.sort_by_key(|&line| (names[line].as_str(), number("subgroup_id", line) as u32));
    let mut checked = 0;
    for lines in lines.chunk_by(|&a, &b| names[a] == names[b]) {
        let name = names[lines[0]].as_str().unwrap();
        let judged = judge(plan, effects, question(name));
        assert_eq!(judged.verdicts.len(), lines.len(), "{name}");
        for (verdict, &line) in judged.verdicts.iter().zip(lines) {
            let what = format!("{name} of {}", verdict.subgroup);
            assert_eq!(f64::from(verdict.subgroup), number("subgroup_id", line));
            close(verdict.values[0], number("value_0", line), &what);
            close(verdict.values[1], number("value_1", line), &what);
            close(verdict.score, number("score", line), &what);
            let rank = number("rank", line);
            assert_eq!(verdict.rank.map(f64::from), (!rank.is_nan()).then_some(rank), "{what}");
            let against =
                verdict.worse_group.map_or("Fair", |g| &plan.population().names[usize::from(g)]);
            assert_eq!(against, expected["bias_against"][line], "{what}");
            if name.starts_with("ks") {
                let cost = number("ks_cost_nano", line);
                assert_eq!(
                    verdict.cost.map(|cost| cost as f64),
                    (!cost.is_nan()).then_some(cost),
                    "{what}"
                );
                let rejected =
                    verdict.score >= trade_off_bound(plan.n(verdict.subgroup as usize), alpha);
                assert_eq!(f64::from(u8::from(rejected)), number("ks_reject", line), "{what}");
            }
            checked += 1;
        }
    }
    assert_eq!(checked, names.len());
}

fn check_tables(
    summary: &serde_json::Value,
    case: &RecourseOracleCase,
    plan: &RecoursePlan<'_>,
    effects: &ActionEffects,
) {
    let rows = summary["ranking_analysis"].as_array().unwrap();
    let groups = &case.pair.names;
    let mut all = Vec::new();
    for row in rows {
        let name = row["definition"].as_str().unwrap();
        let judged = judge(plan, effects, question(name));
        let got = analysis(&judged);
        let number = |key: &str| row[key].as_u64().unwrap() as u32;
        let both = |key: &str| [0, 1].map(|g: usize| number(&format!("{key}_{}", groups[g])));
        assert_eq!(
            [got.unfair, got.rank_1, got.top, got.last_rank],
            ["unfair", "rank1", "top_size", "max_rank"].map(number),
            "{name}"
        );
        assert_eq!(
            got.last_tier,
            ["boundary_tier_size", "boundary_tier_included"].map(number),
            "{name}"
        );
        assert_eq!(
            (got.top_against, got.all_against),
            (both("top_against"), both("all_against")),
            "{name}"
        );
        all.push((name, judged));
    }
    assert!(
        all.iter().map(|(_, judged)| column(judged).unwrap()).is_sorted(),
        "the columns of the paper, in its order"
    );
    let cells = summary["aggregated_rankings"].as_object().unwrap();
    assert_eq!(cells.len(), all.len() * all.len());
    for (i, a) in &all {
        for (j, b) in all.iter().filter(|(j, _)| i != j) {
            let what = format!("{i} | {j}");
            close(
                agreement(a, b).map_or(f64::NAN, ExactRatio::get),
                cells[&what].as_f64().unwrap(),
                &what,
            );
        }
    }
}

fn check_texts(folder: &Path, plan: &RecoursePlan<'_>, effects: &ActionEffects) {
    let expected = std::fs::read_to_string(folder.join("csc.txt")).unwrap();
    let mut got = String::new();
    for head in expected.lines().filter(|line| line.starts_with("# ")) {
        let [_, name, "rank", rank, "subgroup_id", subgroup] =
            head.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("{head}")
        };
        let judged = judge(plan, effects, question(name));
        let subgroup: u32 = subgroup.parse().unwrap();
        assert!(judged.ranked().take(2).any(|verdict| verdict.subgroup == subgroup), "{head}");
        assert_eq!(judged.verdict_on(subgroup).unwrap().rank.unwrap().to_string(), rank, "{head}");
        let answer = text(plan, effects, question(name), subgroup as usize);
        writeln!(got, "{head}\n{answer}").unwrap();
    }
    for (n, (got, expected)) in got.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, expected, "line {}", n + 1);
    }
    assert_eq!(got.trim_end(), expected.trim_end());
}

#[test]
fn compas_with_an_additive_model() {
    check("compas_race");
}

#[test]
fn compas_with_trees() {
    check("compas_race_trees");
}

#[test]
fn german_credit_with_all_kinds_of_costs_and_rules() {
    check("german_sex");
}

/// The rows for other scorers are those of the oracle, each once, with its score.
#[test]
fn rows_to_score_elsewhere() {
    let Some(folder) = folder("compas_race_trees") else { return };
    let case = RecourseOracleCase::read(&folder);
    let plan = RecoursePlan::new(&case.audited, &case.pair, &search("0.01")).unwrap();
    let different = DifferentRows::new(&case.audited, &plan, &plan.needed());
    let level = |row: u32, change: u32, f: usize| {
        let feature = &case.audited.features[f];
        let new = plan.change_set(change as usize).iter().find(|c| c.feature == f).map(|c| c.level);
        feature.levels[new.unwrap_or(feature.codes[row as usize]) as usize].clone()
    };
    let mut got: Vec<(Vec<String>, String)> = Vec::new();
    for &(row, change) in &different.rows {
        let mut values: Vec<String> =
            (0..case.audited.features.len()).map(|f| level(row, change, f)).collect();
        values
            .push(case.pair.names[usize::from(case.audited.groups[row as usize].unwrap())].clone());
        got.push((values, case.model.changed(row, &plan.change_set(change as usize)).to_string()));
    }
    let file = json_frame::read(&folder.join("counterfactual_rows.parquet"));
    let text = |name: &str, line: usize| match &file[name][line] {
        Json::String(text) => text.clone(),
        other => number(other).to_string(),
    };
    let names = || case.audited.features.iter().map(|f| f.name.as_str()).chain(["race"]);
    let expected = |line| (names().map(|name| text(name, line)).collect(), text("__score", line));
    let mut expected: Vec<(Vec<String>, String)> =
        (0..file["__score"].len()).map(expected).collect();
    got.sort();
    expected.sort();
    assert_eq!(got, expected);
}

/// The position of a definition in the tables of the paper; `None` where these leave it out.
fn column(judged: &DefinitionRanking) -> Option<usize> {
    match (judged.criterion.definition, judged.criterion.view) {
        (RecourseDefinition::EqualCost(_), RecourseView::Macro) => Some(0),
        (RecourseDefinition::EqualChoice(_), _) => Some(1),
        (RecourseDefinition::EqualEffectiveness, RecourseView::Micro) => Some(2),
        (RecourseDefinition::WithinBudget(_), RecourseView::Micro) => Some(3),
        (RecourseDefinition::EqualCost(_), RecourseView::Micro) => Some(4),
        (RecourseDefinition::ConditionalMean | RecourseDefinition::Mean(_), _) => Some(5),
        (RecourseDefinition::FairTradeOff, RecourseView::Micro) => Some(6),
        _ => None,
    }
}
