//! Scores, searches and their classes against Tetrad 7.6 and independent implementations.

use serde_json::Value as Json;

use super::frame::{
    CaseTraining, CaseVariables, ExpectedTable, boss_of, discover, expected, graph_search, near,
    text,
};
use crate::causal::boss::{BossBlock, SingularRule};
use crate::causal::score::GraphScore;
use crate::causal::search::{DagLimits, SearchedReplicate};
use crate::param::Count;
use crate::tests::Says;
use crate::tests::json;

/// The published figures and Tetrad's have one start.
const PUBLISHED: BossBlock = boss_of(Count::ONE);

struct SearchCase {
    json: Json,
    variables: CaseVariables,
    training: CaseTraining,
}

impl SearchCase {
    fn read(folder: &str, file: &str, data: &str) -> SearchCase {
        let folder = expected(folder);
        let json = json(folder.join(file));
        let variables = CaseVariables::of(&json["variables"]);
        let training = CaseTraining::new(&variables, &ExpectedTable::read(&folder.join(data)));
        SearchCase { json, variables, training }
    }

    fn score(&self) -> GraphScore {
        GraphScore::new(
            &self.training.encoding,
            &self.training.whole(),
            self.json["penalty_discount"].as_f64().unwrap(),
        )
    }

    fn found(&self, bes: bool) -> SearchedReplicate {
        let knowledge = self.variables.knowledge(&self.json["knowledge"]);
        discover(&self.variables, &self.score(), &knowledge, BossBlock { bes, ..PUBLISHED }, 1)
    }

    fn tolerance(&self, score: f64) -> f64 {
        f64::max(1e-8, 1e-10 * score.abs())
    }

    /// Compares all that the expected values hold.
    #[track_caller]
    fn compare(&self, found: &SearchedReplicate, expected: &Json) {
        let (name, variables) = (&self.json["case"], &self.variables);
        let score = expected["score"].as_f64().unwrap();
        near(found.score, score, self.tolerance(score), &format!("score of {name}"));
        if let Some(order) = expected["order_from_data_order"].as_array() {
            let order: Vec<usize> =
                order.iter().map(|v| variables.position(v.as_str().unwrap())).collect();
            assert_eq!(found.order, order, "order of {name}");
        }
        if let Some(parents) = expected["parents"].as_object() {
            for (v, parents) in parents {
                let v = variables.position(v);
                assert_eq!(
                    found.dag.parents[v],
                    variables.nodes(parents),
                    "parents of {v} in {name}"
                );
            }
        }
        let cpdag = &expected["cpdag"];
        assert_eq!(
            found.class.directed(),
            variables.pairs(&cpdag["directed"], true),
            "class of {name}"
        );
        assert_eq!(
            found.class.undirected(),
            variables.pairs(&cpdag["undirected"], false),
            "class of {name}"
        );
        let size = expected.get("n_dags_in_class").or(expected.get("n_dags")).unwrap().as_u64();
        assert_eq!(found.listed.size, size, "size of {name}");
    }
}

#[test]
fn local_scores_agree() {
    let file = expected("local_scores.json");
    let mut compared = 0;
    for case in json(&file)["cases"].as_array().unwrap() {
        let data = case["data"].as_str().unwrap();
        let folder = data.strip_suffix("/data.csv").unwrap();
        let read = SearchCase::read(folder, "case.json", "data.csv");
        let moments = read.training.whole();
        for entry in case["scores"].as_array().unwrap() {
            let score = GraphScore::new(
                &read.training.encoding,
                &moments,
                entry["penalty_discount"].as_f64().unwrap(),
            );
            let x = read.variables.position(entry["node"].as_str().unwrap());
            let found = score.local_score(x, read.variables.nodes(&entry["parents"])).score;
            for what in ["score", "tetrad"] {
                near(
                    found,
                    entry[what].as_f64().unwrap(),
                    1e-8,
                    &format!("{what} of {entry} in {data}"),
                );
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 224);
}

#[test]
fn searches_agree() {
    for name in [
        "s01_continuous3",
        "s02_binary_root3",
        "s03_mixed4",
        "s04_categorical4",
        "s05_mixed5",
        "s06_tiers6",
        "s07_within6",
        "s08_forbidden6",
        "s09_required5",
        "s10_mixed7",
        "s11_mixed8",
        "s12_partial_tiers7",
        "s13_dense_continuous7",
        "s16_determined5",
        "s17_absent_level5",
        "s18_local_optimum12",
    ] {
        let case = SearchCase::read(&format!("search/{name}"), "case.json", "data.csv");
        let found = case.found(false);
        case.compare(&found, &case.json["expected"]);
        let score = case.score();
        for (v, expected) in case.json["expected"]["local_scores"].as_object().into_iter().flatten()
        {
            let v = case.variables.position(v);
            near(
                score.local_score(v, found.dag.parents[v]).score,
                expected.as_f64().unwrap(),
                1e-8,
                name,
            );
        }
        for (v, expected) in
            case.json["expected"]["clamped_columns"].as_object().into_iter().flatten()
        {
            let v = case.variables.position(v);
            assert_eq!(
                score.local_score(v, found.dag.parents[v]).determined as u64,
                expected.as_u64().unwrap(),
                "{name}"
            );
            assert_eq!(found.determined.contains(&v), expected.as_u64() != Some(0), "{name}");
        }
    }
}

#[test]
fn twenty_variables_in_three_tiers_agree() {
    let case = SearchCase::read("search/s19_random20_tiers", "expected.json", "data.csv.gz");
    let found = case.found(false);
    case.compare(&found, &case.json["expected"]);
    assert_eq!(Some(found.dag.edges().len() as u64), case.json["expected"]["n_edges"].as_u64());
}

#[test]
fn bootstrap_multiplicities_agree() {
    let folder = expected("search/s14_weights8");
    let case = SearchCase::read("search/s14_weights8", "case.json", "../s11_mixed8/data.csv");
    let lines: Vec<Json> = text(&folder.join("replicates.jsonl"))
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let list = |line: &Json| {
        line["rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap() as usize).collect()
    };
    let moments = case.training.of_lists(&lines.iter().map(list).collect::<Vec<_>>());
    let knowledge = case.variables.knowledge(&case.json["knowledge"]);
    let mut classes = std::collections::BTreeSet::new();
    let mut total = 0;
    for (line, moments) in lines.iter().zip(&moments) {
        let score = GraphScore::new(&case.training.encoding, moments, 2.0);
        let found = discover(&case.variables, &score, &knowledge, PUBLISHED, 1);
        case.compare(&found, &line["expected"]);
        total += found.listed.dags.len();
        classes.insert(found.class);
    }
    assert_eq!(classes.len() as u64, case.json["unique_cpdags"].as_u64().unwrap());
    assert_eq!(total as u64, case.json["total_dags"].as_u64().unwrap());
}

#[test]
fn backward_search_agrees() {
    for name in ["s15a_bes5", "s15b_bes6", "s15c_bes10"] {
        let case = SearchCase::read(&format!("search/{name}"), "case.json", "data.csv");
        case.compare(&case.found(false), &case.json["expected_without_bes"]);
        case.compare(&case.found(true), &case.json["expected_with_bes"]);
        let knowledge = case.variables.knowledge(&case.json["knowledge"]);
        let removed = crate::causal::bes::bes(&case.score(), &knowledge, case.found(false).dag).1;
        assert_eq!(
            Some(removed as u64),
            case.json["expected_with_bes"]["operators_applied"].as_u64(),
            "{name}"
        );
    }
}

#[test]
fn more_starts_leave_a_local_optimum() {
    let case = SearchCase::read("search/s18_local_optimum12", "case.json", "data.csv");
    let knowledge = case.variables.knowledge(&case.json["knowledge"]);
    let best = case.json["best_known_score"].as_f64().unwrap();
    let single = case.found(false).score;
    let knobs = boss_of(Count::of::<20>());
    let found: Vec<f64> = (0..10)
        .map(|seed| discover(&case.variables, &case.score(), &knowledge, knobs, seed).score)
        .collect();
    assert!(found.iter().all(|&score| score >= single - 1e-6), "{found:?}");
    assert!(
        found.iter().filter(|&&score| score >= best - 1e-3).count() > 5,
        "{found:?} against {best}"
    );
    assert_eq!(
        discover(&case.variables, &case.score(), &knowledge, knobs, 3),
        discover(&case.variables, &case.score(), &knowledge, knobs, 3)
    );
}

#[test]
fn a_determined_variable_is_an_error_where_the_job_says_so() {
    let case = SearchCase::read("search/s16_determined5", "case.json", "data.csv");
    let (knowledge, limits) =
        (case.variables.knowledge(&case.json["knowledge"]), DagLimits::default());
    let knobs = BossBlock { singular: SingularRule::Error, ..PUBLISHED };
    let discovery = graph_search(&case.variables.names, &knowledge, (&knobs, &limits), 1);
    let error = discovery.search_replicate(0, &case.score()).unwrap_err().to_string();
    error.says(&["collinear-columns", "`edu`", "`years`"]);
}
