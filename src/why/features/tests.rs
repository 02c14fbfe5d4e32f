//! Comparison of features with an independent program, which has the models as functions.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{
    ExplainedPerson, MeanEffect, MeanSettings, NoPercentilesReason, PlayerEffect, PlayerMeans,
    player_means,
};
use crate::data::rows::ids::{key_of_integer, key_of_text};
use crate::num::seed::named_seed;
use crate::tests::json_frame::{self, JsonFrame};
use crate::tests::{expected, json};
use crate::why::draw::{DrawnPeople, one_counterfactual};
use crate::why::knobs::WhyMetric;
use crate::why::shapley::{PlayerCoalitions, PlayerOrders};

type CaseRow = BTreeMap<String, Json>;

/// The model of a case as a function.
fn score(model: &Json, row: &CaseRow) -> f64 {
    let level_of = |test: &Json| &row[test["feature"].as_str().unwrap()];
    let holds = |test: &Json| match (test.get("eq"), test.get("le")) {
        (Some(level), _) => level_of(test) == level,
        (_, Some(number)) => level_of(test).as_f64().is_some_and(|x| x <= number.as_f64().unwrap()),
        _ => panic!("{test}"),
    };
    let number = |value: &Json| value.as_f64().unwrap();
    let sum = match model["kind"].as_str().unwrap() {
        "linear" => {
            let mut sum = number(&model["intercept"]);
            for (name, weights) in model["features"].as_object().unwrap() {
                sum += match weights.get("weight") {
                    Some(weight) => number(weight) * row[name].as_f64().unwrap(),
                    None => {
                        let level =
                            row[name].as_str().and_then(|level| weights["weights"].get(level));
                        level.map_or(0.0, number)
                    }
                };
            }
            for product in model["products"].as_array().into_iter().flatten() {
                let factors = product["of"].as_array().unwrap().iter().map(|factor| {
                    match factor.get("eq").is_some() {
                        true => f64::from(u8::from(holds(factor))),
                        false => number(level_of(factor)),
                    }
                });
                sum += number(&product["weight"]) * factors.product::<f64>();
            }
            sum
        }
        "trees" => {
            let leaf = |nodes: &Json| {
                let mut node = &nodes[0];
                while node.get("leaf").is_none() {
                    let next = if holds(node) { &node["yes"] } else { &node["no"] };
                    node = &nodes[next.as_u64().unwrap() as usize];
                }
                number(&node["leaf"])
            };
            let trees = model["trees"].as_array().unwrap();
            number(&model["intercept"]) + trees.iter().map(leaf).sum::<f64>()
        }
        "table" => {
            let text = |name: &Json| match &row[name.as_str().unwrap()] {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            let texts: Vec<String> =
                model["columns"].as_array().unwrap().iter().map(text).collect();
            number(&model["values"][texts.join("|")])
        }
        kind => panic!("{kind}"),
    };
    if model["link"] == "logistic" { 1.0 / (1.0 + libm::exp(-sum)) } else { sum }
}

/// The terms of some columns in a linear model.
fn part(model: &Json, row: &CaseRow) -> f64 {
    let term = |(name, value): (&String, &Json)| {
        let weights = &model["features"][name];
        match weights.get("weight") {
            Some(weight) => weight.as_f64().unwrap() * value.as_f64().unwrap(),
            None => value
                .as_str()
                .and_then(|level| weights["weights"].get(level))
                .map_or(0.0, |weight| weight.as_f64().unwrap()),
        }
    };
    row.iter().map(term).sum()
}

/// Computes the derived columns of a row.
fn with_derived(case: &Json, mut row: CaseRow) -> CaseRow {
    for derived in case["derived"].as_array().unwrap() {
        let from = |i: usize| row[derived["from"][i].as_str().unwrap()].as_f64().unwrap();
        let value = match derived["rule"].as_str().unwrap() {
            "ratio" => Json::from(from(0) / from(1)),
            "bins" => {
                let edges: Vec<f64> = derived["edges"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|e| e.as_f64().unwrap())
                    .collect();
                let at = edges.windows(2).position(|edge| from(0) <= edge[1]).unwrap();
                let open = if at == 0 { "[" } else { "(" };
                Json::from(format!("{open}{}, {}]", edges[at], edges[at + 1]))
            }
            rule => panic!("{rule}"),
        };
        row.insert(derived["name"].as_str().unwrap().to_owned(), value);
    }
    row
}

fn row_of(case: &Json, frame: &JsonFrame, i: usize) -> CaseRow {
    let base = case["base"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    with_derived(case, base.map(|name| (name.to_owned(), frame[name][i].clone())).collect())
}

/// A number of the oracle; where orders were drawn sums have more terms.
fn close(found: f64, wanted: &Json, (within, what): (f64, &str)) {
    let wanted = wanted.as_f64().unwrap();
    let same = (found - wanted).abs() <= within.max(1e-9 * wanted.abs());
    assert!(same, "{what}: {found} instead of {wanted}");
}

fn mean(found: MeanEffect, row: &Json, name: &str, within: (f64, &str)) {
    close(found.value, &row[name], within);
    close(found.error, &row[format!("{name}_se")], within);
    let ends = ["lo", "hi"].map(|end| &row[format!("{name}_{end}")]);
    match found.interval {
        Ok((lo, hi)) => {
            close(lo, ends[0], within);
            close(hi, ends[1], within);
        }
        Err(reason) => {
            assert!(ends.iter().all(|end| end.is_null()), "{}", within.1);
            assert_eq!(reason, NoPercentilesReason::AllAgree, "{}", within.1);
        }
    }
}

/// Somebody who counts: the row, the counterfactual that was drawn, and both scores.
struct CasePerson {
    key: u64,
    rows: [usize; 2],
    scores: [f64; 2],
}

fn check_case(name: &str) {
    let folder = expected(&format!("why/features/{name}"));
    let file = |name: &str| folder.join(name);
    let (case, model) = (json(file("case.json")), json(file("model.json")));
    let (frame, cf) =
        (json_frame::read(&file("rows.parquet")), json_frame::read(&file("cf.parquet")));
    let wanted = json(file("expected.json"));
    let seed = case["seed"].as_u64().unwrap();
    let (attribute, groups) = case["why"]["direction"].as_object().unwrap().iter().next().unwrap();
    let threshold = case["threshold"].as_f64().unwrap();
    let decide = |score: f64| match case["threshold_rule"].as_str() {
        Some("gt") => score > threshold,
        _ => score >= threshold,
    };
    let metric: WhyMetric = serde_json::from_value(case["why"]["metric"].clone()).unwrap();
    let key = |id: &Json| match id {
        Json::String(id) => key_of_text(id),
        id => key_of_integer(id.as_i64().unwrap()),
    };
    let mut people = Vec::new();
    for (i, id) in frame["row_id"].iter().enumerate() {
        if frame[attribute][i] != groups[0] {
            continue;
        }
        let own = score(&model, &row_of(&case, &frame, i));
        let made = (0..cf["row_id"].len())
            .filter(|&k| cf["row_id"][k] == *id && cf["to_group"][k] == groups[1]);
        let made: Vec<(usize, f64)> =
            made.map(|k| (k, score(&model, &row_of(&case, &cf, k)))).collect();
        let any = made.iter().map(|(_, other)| decide(*other) != decide(own));
        let any = any.reduce(|any, one| any || one);
        let counts =
            metric.outcome((None, Some(decide(own))), case["favourable"] == "positive", any);
        if counts.is_none() {
            continue;
        }
        let numbers = made.iter().map(|(k, _)| cf["cf_index"][*k].as_u64().unwrap());
        let at = one_counterfactual(named_seed(seed, "why/one"), key(id), numbers).unwrap();
        people.push(CasePerson { key: key(id), rows: [i, made[at].0], scores: [own, made[at].1] });
    }
    let switches = |person: &CasePerson| decide(person.scores[0]) != decide(person.scores[1]);
    let drawn = DrawnPeople::new(
        named_seed(seed, "why/people"),
        people.iter().map(|person| (person.key, switches(person))),
    );
    let count = |key: &str| wanted[key].as_u64().unwrap();
    assert_eq!(drawn.of(), [count("switched"), count("stayed")], "{name}");
    let chosen = drawn.first(drawn.width(case["people"].as_u64().unwrap() as usize));
    let players: Vec<&Json> = case["players"].as_array().unwrap().iter().collect();
    let columns = |player: usize| {
        let names = players[player]["columns"].as_array().unwrap().iter();
        names.map(|column| column.as_str().unwrap())
    };
    let orders = PlayerOrders {
        seed: named_seed(seed, "why/order"),
        permutations: case["permutations"].as_u64().unwrap() as usize,
    };
    let expected = json_frame::read(&file("people.parquet"));
    assert_eq!(chosen.len(), expected["row_id"].len(), "{name}");
    let mut explained = Vec::new();
    for place in chosen {
        let person = &people[place];
        let [own, other] = person.rows;
        let moved = |player: &usize| {
            *player == 0 || columns(*player).any(|column| frame[column][own] != cf[column][other])
        };
        let differing: Vec<usize> = (0..players.len()).filter(moved).collect();
        let coalitions = PlayerCoalitions::new(differing, person.key, orders);
        let mixture = |coalition: usize| {
            let mut row = row_of(&case, &frame, own);
            for player in coalitions.members(coalition) {
                for column in columns(player) {
                    row.insert(column.to_owned(), cf[column][other].clone());
                }
            }
            score(&model, &with_derived(&case, row))
        };
        let scores: Vec<f64> = (0..coalitions.len()).map(mixture).collect();
        let within = if name == "all_switch" { 1e-10 } else { 1e-12 };
        assert_eq!(
            [scores[PlayerCoalitions::EMPTY], scores[coalitions.full]],
            person.scores,
            "{name}"
        );
        let turned = |score: &f64| f64::from(u8::from(decide(*score) != decide(scores[0])));
        let decisions: Vec<f64> = scores.iter().map(turned).collect();
        let shares = [coalitions.shares(&scores), coalitions.shares(&decisions)];
        for (shares, values) in shares.iter().zip([&scores, &decisions]) {
            let sum: f64 = shares.iter().map(|share| share.value).sum();
            assert!(
                (sum - (values[coalitions.full] - values[PlayerCoalitions::EMPTY])).abs() <= within,
                "{name}"
            );
        }
        if name == "logit" {
            // A sum of the columns: each adds its weight times its change.
            for (at, &player) in coalitions.players.iter().enumerate() {
                let row = |k: usize, frame: &JsonFrame| -> CaseRow {
                    columns(player)
                        .map(|column| (column.to_owned(), frame[column][k].clone()))
                        .collect()
                };
                let added = part(&model, &row(other, &cf)) - part(&model, &row(own, &frame));
                assert!((shares[0][at].value - added).abs() <= 1e-12, "{name}: {player}");
            }
        }
        let mut effects = vec![PlayerEffect::default(); players.len()];
        for (at, &player) in coalitions.players.iter().enumerate() {
            effects[player] = PlayerEffect {
                moved: true,
                score: shares[0][at],
                decision: shares[1][at],
                undone: switches(person) && decisions[coalitions.without(at)] == 0.0,
            };
        }
        // The same numbers as the oracle for this person.
        let at = expected["row_id"].iter().position(|id| key(id) == person.key).unwrap();
        assert_eq!(expected["cf_index"][at], cf["cf_index"][other], "{name}");
        assert_eq!(expected["exact"][at] == true, !coalitions.is_sampled(), "{name}");
        assert_eq!(expected["kind"][at] == "switched", switches(person), "{name}");
        let within = if coalitions.is_sampled() { 1e-10 } else { 1e-11 };
        for (player, effect) in players.iter().zip(&effects) {
            let player = player["name"].as_str().unwrap();
            let what = format!("{name}: {player} of {}", expected["row_id"][at]);
            assert_eq!(expected[&format!("moved_{player}")][at] == true, effect.moved, "{what}");
            if switches(person) {
                assert_eq!(
                    expected[&format!("undone_{player}")][at] == true,
                    effect.undone,
                    "{what}"
                );
            }
            for (part, share) in [("score", effect.score), ("decision", effect.decision)] {
                close(share.value, &expected[&format!("{part}_{player}")][at], (within, &what));
                if let Some(errors) = expected.get(&format!("{part}_se_{player}")) {
                    close(share.variance.sqrt(), &errors[at], (within, &what));
                }
            }
        }
        explained.push(ExplainedPerson {
            key: person.key,
            switched: switches(person),
            sampled: coalitions.is_sampled(),
            effects,
        });
    }
    let settings = MeanSettings {
        seed,
        samples: case["samples"].as_u64().unwrap() as usize,
        level: case["level"].as_f64().unwrap(),
        of: drawn.of(),
    };
    let found = player_means(&explained, players.len(), &settings);
    let rows = wanted["rows"].as_array().unwrap();
    assert_eq!(found.len(), rows.len(), "{name}");
    for means in &found {
        check_means(name, means, rows, players[means.player]["name"].as_str().unwrap());
    }
}

fn check_means(name: &str, means: &PlayerMeans, rows: &[Json], player: &str) {
    let kind = means.kind.as_str();
    let what = format!("{name}: {player}, {kind}");
    let row = rows.iter().find(|row| row["feature"] == player && row["people"] == kind).unwrap();
    let counts = [means.n, means.of, means.moved, means.sampled];
    assert_eq!(
        counts,
        ["n", "of", "moved", "sampled"].map(|key| row[key].as_u64().unwrap()),
        "{what}"
    );
    let within = (if means.sampled > 0 { 1e-10 } else { 1e-11 }, what.as_str());
    mean(means.score, row, "score", within);
    mean(means.decision, row, "decision", within);
    assert_eq!(means.undone.map(|undone| undone.0), row["undone"].as_u64(), "{what}");
    if let Some((k, Some(interval))) = means.undone {
        close(k as f64 / means.n as f64, &row["undone_rate"], within);
        close(interval.lo, &row["undone_lo"], within);
        close(interval.hi, &row["undone_hi"], within);
    }
}

#[test]
fn features_agree_with_the_oracle() {
    for case in ["logit", "probability", "trees", "together", "twelve", "grid", "all_switch"] {
        check_case(case);
    }
}
