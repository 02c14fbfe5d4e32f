//! Equations, counterfactuals and whole audits against other programs and the paper's figures.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{CausalWorlds, ClipRule, worlds_of_replicate};
use crate::causal::bag::{BagOfDags, GivenGraphs, MemberWeighting};
use crate::causal::encoding::{EncodedVariable, GraphEncoding, VariableForm};
use crate::causal::graph::Dag;
use crate::causal::knowledge::{Knowledge, KnowledgeScenario};
use crate::causal::moments::EncodedMoments;
use crate::causal::scm::{CausalModel, EquationCache, VariableEquations};
use crate::causal::score::GraphScore;
use crate::causal::search::{DagLimits, SearchedReplicate};
use crate::causal::tests::frame::{
    CaseTraining, CaseVariables, ExpectedTable, boss_of, expected, graph_search, near, numbers,
};
use crate::data::FeatureRows;
use crate::num::summary::SampleSpread;
use crate::param::Count;
use crate::tests::{json, shared};

/// The names that the expected values give to encoded columns.
fn column_names(variables: &CaseVariables, encoding: &GraphEncoding) -> Vec<String> {
    let names = |(v, encoded): (usize, &EncodedVariable)| -> Vec<String> {
        match (encoded.indicator_levels(), &variables.levels[v]) {
            (Some(shown), Some(levels)) => shown
                .iter()
                .map(|&l| format!("{}={}", variables.names[v], levels[l as usize]))
                .collect(),
            _ => vec![variables.names[v].clone()],
        }
    };
    encoding.variables.iter().enumerate().flat_map(names).collect()
}

#[track_caller]
fn compare_encoding(encoding: &GraphEncoding, names: &[String], expected: &Json) {
    for entry in expected.as_array().unwrap() {
        let column = names.iter().position(|name| entry["column"].as_str() == Some(name)).unwrap();
        if let Some(mean) = entry["mean"].as_f64() {
            near(encoding.decode(column, 0.0), mean, 1e-10, "mean");
            near(
                encoding.decode(column, 1.0) - encoding.decode(column, 0.0),
                entry["sd"].as_f64().unwrap(),
                1e-10,
                "sd",
            );
        }
    }
    assert_eq!(names.len(), expected.as_array().unwrap().len());
}

fn dense(encoding: &GraphEncoding, rows: &FeatureRows, i: usize) -> Vec<f64> {
    let (mut entries, mut row) = (Vec::new(), vec![0.0; encoding.width()]);
    encoding.encode(rows, i, &mut entries);
    entries.iter().for_each(|&(column, x)| row[column] = x);
    row
}

/// Abduction, action and prediction as in the paper, one column after the other.
fn by_three_steps(model: &CausalModel<'_>, a: usize, to: f64, row: &[f64]) -> Vec<f64> {
    let explain = |v: usize, k: usize, from: &[f64]| {
        let Some(equations) = model.equations[v].as_deref() else { return 0.0 };
        let (intercept, coefficients) = &equations.columns[k];
        intercept
            + equations.parents.iter().zip(coefficients).map(|(&p, b)| b * from[p]).sum::<f64>()
    };
    let mut made = row.to_vec();
    for v in model.dag.topological_order() {
        for (k, c) in model.encoding.variables[v].columns.clone().enumerate() {
            made[c] =
                if v == a { to } else { explain(v, k, &made) + (row[c] - explain(v, k, row)) };
        }
    }
    made
}

#[test]
fn equations_and_counterfactuals_agree() {
    for name in [
        "e1_continuous_chain",
        "e2_categorical_child_and_parent",
        "e3_sensitive_with_parents",
        "e4_bootstrap_weights",
        "e5_no_descendant",
        "e6_determined_parents",
    ] {
        let folder = expected(&format!("scm/{name}"));
        let case = json(folder.join("case.json"));
        let mut variables = CaseVariables::of(&case["variables"]);
        // Variables without an edge may be left out of the expected encoding: leave them out of the
        // graph as well.
        let listed: Vec<&str> = case["encoding"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["column"].as_str().unwrap())
            .collect();
        let keep: Vec<bool> = variables
            .names
            .iter()
            .map(|v| listed.iter().any(|c| c == v || c.starts_with(&format!("{v}="))))
            .collect();
        let mut kept = keep.iter();
        variables.names.retain(|_| *kept.next().unwrap());
        let mut kept = keep.iter();
        variables.levels.retain(|_| *kept.next().unwrap());
        let training =
            CaseTraining::new(&variables, &ExpectedTable::read(&folder.join("train.csv")));
        let encoding = &training.encoding;
        let names = column_names(&variables, encoding);
        compare_encoding(encoding, &names, &case["encoding"]);
        let moments = match case["weights"].as_array() {
            None => training.whole(),
            Some(weights) => {
                let times = |(row, w): (usize, &Json)| {
                    std::iter::repeat_n(row, w.as_u64().unwrap() as usize)
                };
                training.of_lists(&[weights.iter().enumerate().flat_map(times).collect()]).remove(0)
            }
        };
        let dag =
            Dag::from_edges(variables.names.len(), &variables.pairs(&case["dag"], true)).unwrap();
        let sensitive = variables.position(case["sensitive"].as_str().unwrap());
        let model = EquationCache::new(encoding, &moments).model(&dag);
        let column = |name: &str| names.iter().position(|n| n == name).unwrap();
        let mut compared = 0;
        for (v, equations) in model.equations.iter().enumerate() {
            let Some(equations) = equations else { continue };
            for (c, (intercept, coefficients)) in
                encoding.variables[v].columns.clone().zip(&equations.columns)
            {
                let expected = &case["equations"][&names[c]];
                near(
                    *intercept,
                    expected["intercept"].as_f64().unwrap(),
                    1e-8,
                    &format!("{name}: intercept of {}", names[c]),
                );
                let coefficients_expected = expected["coefficients"].as_object().unwrap();
                assert_eq!(coefficients_expected.len(), coefficients.len());
                for (parent, b) in coefficients_expected {
                    let at = equations.parents.iter().position(|&p| p == column(parent)).unwrap();
                    near(
                        coefficients[at],
                        b.as_f64().unwrap(),
                        1e-8,
                        &format!("{name}: {parent} in {}", names[c]),
                    );
                }
                compared += 1;
            }
        }
        assert_eq!(compared, case["equations"].as_object().unwrap().len());
        let test = variables.rows(&ExpectedTable::read(&folder.join("test.csv")));
        let worlds =
            worlds_of_replicate(&mut EquationCache::new(encoding, &moments), 0, &[&dag], sensitive);
        let all = CausalWorlds::new(
            encoding.clone(),
            lone_bag(&variables, sensitive, &dag),
            vec![worlds],
            std::slice::from_ref(&moments),
            &moments,
        );
        let order: Vec<usize> = case["counterfactual_encoded"]["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| column(c.as_str().unwrap()))
            .collect();
        let in_units = case["counterfactual_original_units"].as_array().unwrap();
        assert_eq!(test.n, in_units.len());
        for (i, expected) in
            case["counterfactual_encoded"]["rows"].as_array().unwrap().iter().enumerate()
        {
            let row = dense(encoding, &test, i);
            let second = row[encoding.variables[sensitive].columns.start] == 1.0;
            let mut made = row.clone();
            let (from, to) = if second { (1, 0) } else { (0, 1) };
            let movement = CausalWorlds::movement(&all.worlds[0].shifts, from, to);
            all.apply(&movement, ClipRule::None, &mut made);
            let steps = by_three_steps(&model, sensitive, if second { 0.0 } else { 1.0 }, &row);
            for (&c, expected) in order.iter().zip(expected.as_array().unwrap()) {
                near(
                    made[c],
                    expected.as_f64().unwrap(),
                    1e-8,
                    &format!("{name}: {} of row {i}", names[c]),
                );
                near(made[c], steps[c], 1e-10, "one step or three");
                near(
                    encoding.decode(c, made[c]),
                    in_units[i][&names[c]].as_f64().unwrap(),
                    1e-8,
                    &format!("{name}: {}", names[c]),
                );
            }
        }
    }
}

fn lone_bag(variables: &CaseVariables, sensitive: usize, dag: &Dag) -> BagOfDags {
    let listed = crate::causal::class::ListedDags {
        size: Some(1),
        dags: vec![dag.clone()],
        drawn: crate::causal::class::DagSampling::All,
    };
    let given = GivenGraphs { n_classes: 1, listed };
    let (names, limits) = (variables.names.clone(), DagLimits::default());
    BagOfDags::from_given(names, sensitive, &given, 1, &limits).unwrap()
}

/// N -> I with I = 0.5 + 0.2 N + U: of N = 1 and I = 0.9 remains 0.7 once N is 0.
#[test]
fn the_example_of_the_paper() {
    let file = expected("scm/e7_given_graph_paper_example.json");
    let case = json(&file);
    let number = |pointer: &str| case.pointer(pointer).and_then(Json::as_f64).unwrap();
    let variable = |name: &str, feature: usize| EncodedVariable {
        name: name.to_owned(),
        feature,
        columns: feature..feature + 1,
        form: VariableForm::Number { mean: 0.0, sd: 1.0, smallest: 0.0, largest: 1.0 },
    };
    let encoding = GraphEncoding { variables: vec![variable("N", 0), variable("I", 1)] };
    let columns =
        vec![(number("/equations/I/intercept"), vec![number("/equations/I/coefficients/N")])];
    let equations = vec![None, Some(Arc::new(VariableEquations { parents: vec![0], columns }))];
    let model =
        CausalModel { encoding: &encoding, dag: Dag::from_edges(2, &[(0, 1)]).unwrap(), equations };
    let row = [number("/individual/N"), number("/individual/I")];
    let shift = model.shift(0, &[(0, 1.0)]);
    let expected = [number("/counterfactual/N"), number("/counterfactual/I")];
    let steps = by_three_steps(&model, 0, 0.0, &row);
    for c in 0..2 {
        near(row[c] - shift[c], expected[c], 1e-12, "shift");
        near(steps[c], expected[c], 1e-12, "steps");
    }
}

/// One start reaches the best graph of COMPAS in 69 % of the bootstraps, ten in 96 %.
#[test]
fn a_search_has_ten_starts_unless_the_job_says_otherwise() {
    let starts = |boss: &str| {
        let text = format!(r#"{{"discovery": {{"boss": {boss}}}, "knowledge": {{"none": {{}}}}}}"#);
        serde_json::from_str::<super::knobs::GraphUncertainBlock>(&text)
            .unwrap()
            .search()
            .unwrap()
            .starts
            .get()
    };
    assert_eq!((starts("{}"), starts(r#"{"starts": 1}"#)), (10, 1));
}

/// A scenario without one statement: leaving out a border frees only the edges between its two
/// tiers, and an edge that two entries list is one statement.
#[test]
fn scenarios_lack_each_statement_alone() {
    let text = r#"{"discovery": {"boss": {}}, "necessary": true, "knowledge": {"none": {}, "all": {
        "tiers": [{"columns": ["a", "b"], "edges_within": "forbidden"}, {"columns": ["c"]},
                  {"columns": ["d"], "edges_within": "forbidden"}],
        "forbidden": [["b", "d"], ["a", "d"], ["b", "d"]], "required": [["a", "c"]]}}}"#;
    let graphs: super::knobs::GraphUncertainBlock = serde_json::from_str(text).unwrap();
    assert!(graphs.statements("none").is_empty() && !graphs.search_part().necessary);
    let names = ["a", "b", "c", "d"].map(str::to_owned);
    let known = |scenario: &KnowledgeScenario| {
        let known = Knowledge::new(&names, scenario).unwrap();
        let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
        let state = |(a, b)| (known.forbidden(a, b), known.required(a, b));
        pairs.map(|(a, b)| ((a, b), state((a, b)))).collect::<Vec<_>>()
    };
    let whole = known(&graphs.knowledge[1]);
    // The edges that each statement decides, as (cause, effect).
    let expected: [(&str, &[(usize, usize)]); 6] = [
        ("a, b before c", &[(2, 0), (2, 1)]),
        ("c before d", &[(3, 2)]),
        ("no effects among a, b", &[(0, 1), (1, 0)]),
        ("no direct effect of b on d", &[(1, 3)]),
        ("no direct effect of a on d", &[(0, 3)]),
        ("a direct effect of a on c", &[(0, 2)]),
    ];
    let statements = graphs.statements("all");
    assert_eq!(statements.len(), expected.len());
    for ((statement, without), (words, lost)) in statements.iter().zip(expected) {
        let without = known(without);
        let differs = whole.iter().zip(&without).filter(|(one, other)| one.1 != other.1);
        let found: Vec<(usize, usize)> = differs.map(|(one, _)| one.0).collect();
        assert_eq!((statement.as_str(), found.as_slice()), (words, lost));
        let mut lacked = without.iter().filter(|(pair, _)| lost.contains(pair));
        assert!(lacked.all(|(_, state)| *state == (false, false)), "{statement}");
    }
    let names: Vec<String> =
        graphs.without_each("all").knowledge.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn clipping_keeps_rows_possible() {
    let form = VariableForm::Number { mean: 10.0, sd: 2.0, smallest: 6.0, largest: 14.0 };
    let levels =
        |known: &[u32]| VariableForm::Levels { known: known.to_vec(), seen: known.to_vec() };
    let encoded = |name: &str, columns: std::ops::Range<usize>, form| EncodedVariable {
        name: name.to_owned(),
        feature: columns.start,
        columns,
        form,
    };
    let encoding = GraphEncoding {
        variables: vec![
            encoded("a", 0..1, levels(&[0, 1])),
            encoded("x", 1..2, form),
            encoded("job", 2..5, levels(&[0, 1, 2])),
        ],
    };
    let variables =
        CaseVariables { names: vec!["a".into(), "x".into(), "job".into()], levels: vec![None; 3] };
    let dag = Dag::from_edges(3, &[(0, 1), (0, 2)]).unwrap();
    let world = super::CausalWorld {
        replicate: 0,
        members: vec![0],
        shifts: vec![vec![(0, 1.0), (1, 3.0), (2, -0.5), (3, 0.5)]],
    };
    let bag = lone_bag(&variables, 0, &dag);
    let worlds = CausalWorlds {
        encoding,
        bag,
        worlds: vec![world],
        on_all_rows: Vec::new(),
        all_rows_of: Vec::new(),
        absent: Vec::new(),
    };
    let check = |second: bool, clip: ClipRule, expected: [f64; 5]| {
        let mut row = [f64::from(u8::from(second)), 0.5, 0.0, 1.0, 0.0];
        let (from, to) = if second { (1, 0) } else { (0, 1) };
        let movement = CausalWorlds::movement(&worlds.worlds[0].shifts, from, to);
        worlds.apply(&movement, clip, &mut row);
        assert_eq!(row, expected, "{clip:?}");
    };
    check(false, ClipRule::None, [1.0, 3.5, -0.5, 1.5, 0.0]);
    check(false, ClipRule::Indicators, [1.0, 3.5, 0.0, 1.0, 0.0]);
    // The largest training value is 14, two deviations above the mean.
    check(false, ClipRule::Range, [1.0, 2.0, 0.0, 1.0, 0.0]);
    check(true, ClipRule::None, [0.0, -2.5, 0.5, 0.5, 0.0]);
    check(true, ClipRule::Range, [0.0, -2.0, 0.5, 0.5, 0.0]);
    // A row that lies outside the training range itself is not moved back by force.
    let mut row = [0.0, 4.0, 1.0, 0.0, 0.0];
    let movement = CausalWorlds::movement(&worlds.worlds[0].shifts, 0, 1);
    worlds.apply(&movement, ClipRule::Range, &mut row);
    assert_eq!(row[1], 4.0);
}

#[test]
fn what_does_not_follow_from_the_attribute_stays() {
    let audit = small_audit("mixed5");
    let (replicates, worlds) = audit.discover(&audit.case["scenarios"]["Low"]);
    for world in &worlds.worlds {
        for &member in &world.members {
            let moved = replicates[world.replicate].listed.dags[member]
                .descendants_and_self(audit.sensitive);
            let columns: Vec<usize> = moved
                .into_iter()
                .flat_map(|v| worlds.encoding.variables[v].columns.clone())
                .collect();
            assert!(world.shifts[0].iter().all(|(c, _)| columns.contains(c)));
        }
    }
    let members: usize = worlds.worlds.iter().map(|world| world.members.len()).sum();
    assert_eq!(members, worlds.bag.len());
    // Stored and read again they are the same.
    let text = serde_json::to_string(&worlds).unwrap();
    assert_eq!(serde_json::from_str::<CausalWorlds>(&text).unwrap(), worlds);
    // The movement of the attribute itself is 1 in every world.
    let movements = worlds.shift_spreads(0.9, (0, 1));
    let own = movements[worlds.encoding.variables[audit.sensitive].columns.start].unwrap();
    assert!((own.mean - 1.0).abs() < 1e-12 && own.spread.unwrap().variance < 1e-24);
    assert_eq!(movements.len(), worlds.encoding.width());
}

/// One audit: a training table, rows to audit, replicates, a logistic classifier.
struct GraphAudit {
    case: Json,
    variables: CaseVariables,
    training: CaseTraining,
    test: FeatureRows,
    moments: Vec<EncodedMoments>,
    sensitive: usize,
}

impl GraphAudit {
    fn discover(&self, scenario: &Json) -> (Vec<SearchedReplicate>, CausalWorlds) {
        let null = Json::Object(serde_json::Map::new());
        let knowledge = self.variables.knowledge(scenario.get("knowledge").unwrap_or(&null));
        // The published figures were made with one start.
        let (knobs, limits) = (boss_of(Count::ONE), DagLimits::default());
        let names = &self.variables.names;
        let discovery = graph_search(names, &knowledge, (&knobs, &limits), 1);
        let encoding = &self.training.encoding;
        let search = |(b, moments)| {
            discovery
                .search_replicate(b, &GraphScore::new(encoding, moments, knobs.penalty.get()))
                .unwrap()
        };
        let replicates: Vec<SearchedReplicate> =
            self.moments.iter().enumerate().map(search).collect();
        let bag = BagOfDags::from_replicates(names.clone(), self.sensitive, &replicates, &limits)
            .unwrap();
        let worlds = (0..replicates.len()).map(|b| {
            let members: Vec<&Dag> = replicates[b].listed.dags.iter().collect();
            let mut fits = EquationCache::new(encoding, &self.moments[b]);
            worlds_of_replicate(&mut fits, b, &members, self.sensitive)
        });
        let worlds = worlds.collect();
        let (drawn, whole) = (&self.moments, &self.training.whole());
        let worlds = CausalWorlds::new(encoding.clone(), bag, worlds, drawn, whole);
        (replicates, worlds)
    }

    fn score(&self, coefficients: &[(usize, f64)], row: &[f64]) -> f64 {
        let sum = coefficients.iter().map(|&(c, b)| b * row[c]).sum::<f64>()
            + self.case["classifier"]["intercept"].as_f64().unwrap();
        1.0 / (1.0 + libm::exp(-sum))
    }

    /// Compares everything from the first graph to the last interval.
    fn compare(&self, scenario: &Json, expected: &Json) {
        let (replicates, worlds) = self.discover(scenario);
        let bag = &worlds.bag;
        for (found, expected) in replicates.iter().zip(expected["replicates"].as_array().unwrap()) {
            let score = expected["score"].as_f64().unwrap();
            near(found.score, score, f64::max(1e-8, 1e-10 * score.abs()), "score");
            assert_eq!(
                found.class.directed(),
                self.variables.pairs(&expected["cpdag"]["directed"], true)
            );
            assert_eq!(
                found.class.undirected(),
                self.variables.pairs(&expected["cpdag"]["undirected"], false)
            );
            assert_eq!(found.listed.size, expected["n_dags"].as_u64());
        }
        assert_eq!(replicates.len(), expected["replicates"].as_array().unwrap().len());
        let counts = [bag.n_classes as u64, bag.len() as u64, bag.dags.len() as u64];
        assert_eq!(
            counts.map(Some),
            ["unique_cpdags", "total_dags", "unique_dags"].map(|key| expected[key].as_u64())
        );
        near(
            bag.edge_shares(MemberWeighting::Dag).entropy,
            expected["h_g"].as_f64().unwrap(),
            1e-10,
            "H_G",
        );
        near(
            bag.descendant_edge_shares(MemberWeighting::Dag).entropy,
            expected["h_ga"].as_f64().unwrap(),
            1e-10,
            "H_GA",
        );
        let edges = bag.edge_shares(MemberWeighting::Dag).edges;
        for entry in expected["edge_frequency"].as_array().unwrap() {
            let edge = self.variables.pairs(&Json::Array(vec![entry["edge"].clone()]), true)[0];
            assert_eq!(
                edges.iter().find(|e| (e.from, e.to) == edge).map(|e| e.count),
                entry["count"].as_u64()
            );
        }
        self.compare_rates(&worlds, expected);
    }

    fn compare_rates(&self, worlds: &CausalWorlds, expected: &Json) {
        let encoding = &self.training.encoding;
        let names = column_names(&self.variables, encoding);
        let classifier = &self.case["classifier"];
        let position = |c: &Json| names.iter().position(|name| c.as_str() == Some(name)).unwrap();
        let features = classifier["features"].as_array().unwrap().iter().map(position);
        let coefficients: Vec<(usize, f64)> = features
            .zip(classifier["coefficients"].as_array().unwrap().iter().map(|b| b.as_f64().unwrap()))
            .collect();
        let rows: Vec<Vec<f64>> =
            (0..self.test.n).map(|i| dense(encoding, &self.test, i)).collect();
        let second: Vec<bool> = rows
            .iter()
            .map(|row| row[encoding.variables[self.sensitive].columns.start] == 1.0)
            .collect();
        let before: Vec<bool> =
            rows.iter().map(|row| self.score(&coefficients, row) > 0.5).collect();
        let after: Vec<Vec<f64>> = worlds
            .worlds
            .iter()
            .map(|world| {
                let score = |(row, &second): (&Vec<f64>, &bool)| {
                    let mut made = row.clone();
                    let (from, to) = if second { (1, 0) } else { (0, 1) };
                    let movement = CausalWorlds::movement(&world.shifts, from, to);
                    worlds.apply(&movement, ClipRule::None, &mut made);
                    self.score(&coefficients, &made)
                };
                rows.iter().zip(&second).map(score).collect()
            })
            .collect();
        let rate = |w: usize, from_second: bool, positive: bool| {
            let chosen: Vec<usize> = (0..rows.len())
                .filter(|&i| second[i] == from_second && before[i] == positive)
                .collect();
            let n = chosen.iter().filter(|&&i| (after[w][i] > 0.5) != positive).count();
            (!chosen.is_empty()).then(|| n as f64 / chosen.len() as f64)
        };
        for (group, from_second) in [(0, false), (1, true)] {
            let sizes = &expected["n_original"];
            for (key, positive) in [("negative", false), ("positive", true)] {
                let n = (0..rows.len())
                    .filter(|&i| second[i] == from_second && before[i] == positive)
                    .count();
                assert_eq!(
                    sizes[format!("group_{group}_predicted_{key}")].as_u64(),
                    Some(n as u64)
                );
            }
            let rates = &expected[format!("direction_{group}_to_{}", 1 - group)];
            for (key, positive) in [("psr", false), ("nsr", true)] {
                let found = worlds.spread(0.95, |w| rate(w, from_second, positive)).unwrap();
                compare_spread(&found, &rates[key], &format!("{key} {group}"));
                // Each model of the bag separately.
                let member = format!("{key}_{group}_to_{}", 1 - group);
                for entry in expected["models"].as_array().into_iter().flatten() {
                    let b = entry["replicate"].as_u64().unwrap() as usize;
                    let edges = self.variables.pairs(&entry["edges"], true);
                    let of_edges = |m: &usize| {
                        worlds.bag.dags[worlds.bag.replicates[b].members[*m]].edges() == edges
                    };
                    let world = worlds
                        .worlds
                        .iter()
                        .position(|w| w.replicate == b && w.members.iter().any(of_edges))
                        .unwrap();
                    near(
                        rate(world, from_second, positive).unwrap(),
                        entry[&member].as_f64().unwrap(),
                        1e-10,
                        &member,
                    );
                }
            }
        }
        let variances: Vec<f64> = (0..rows.len())
            .map(|i| worlds.spread(0.95, |w| Some(after[w][i])).unwrap().spread.unwrap().variance)
            .collect();
        let one =
            |&value: &f64| crate::num::summary::WeightedValue { value, copies: 1, weight: 1.0 };
        let over_people =
            SampleSpread::new(&variances.iter().map(one).collect::<Vec<_>>(), 0.95).unwrap();
        let expected = &expected["score_variance_across_individuals"];
        near(over_people.mean, expected["mean"].as_f64().unwrap(), 1e-10, "variance of scores");
        near(
            over_people.spread.unwrap().lo,
            expected["ci_lower"].as_f64().unwrap(),
            1e-10,
            "its interval",
        );
        near(
            over_people.spread.unwrap().hi,
            expected["ci_upper"].as_f64().unwrap(),
            1e-10,
            "its interval",
        );
    }
}

#[track_caller]
fn compare_spread(found: &SampleSpread, expected: &Json, what: &str) {
    let around = found.spread.unwrap();
    for (found, key) in [
        (found.mean, "mean"),
        (around.variance, "var"),
        (around.lo, "ci_lower"),
        (around.hi, "ci_upper"),
    ] {
        near(found, expected[key].as_f64().unwrap(), 1e-10, &format!("{key} of {what}"));
    }
}

fn small_audit(name: &str) -> GraphAudit {
    let folder = expected(&format!("pipeline/{name}"));
    let case = json(folder.join("case.json"));
    let variables = CaseVariables::of(&case["variables"]);
    let training = CaseTraining::new(&variables, &ExpectedTable::read(&folder.join("train.csv")));
    compare_encoding(
        &training.encoding,
        &column_names(&variables, &training.encoding),
        &case["encoding"],
    );
    let test = variables.rows(&ExpectedTable::read(&folder.join("test.csv")));
    let moments = training.of_lists(&numbers(&folder.join("bootstrap_rows.txt")));
    let sensitive = variables.position(case["sensitive"].as_str().unwrap());
    GraphAudit { case, variables, training, test, moments, sensitive }
}

#[test]
fn whole_audits_agree() {
    for (name, n_scenarios) in [("synthetic3", 5), ("mixed5", 3)] {
        let audit = small_audit(name);
        let scenarios = audit.case["scenarios"].as_object().unwrap();
        assert_eq!(scenarios.len(), n_scenarios);
        scenarios.values().for_each(|scenario| audit.compare(scenario, scenario));
    }
}

fn compas() -> Option<GraphAudit> {
    let folder = shared("expected/cf-gu/pipeline/compas_high")?;
    let table = ExpectedTable::read(&shared("data/compas/compas-scores-two-years.csv")?);
    let case = json(folder.join("expected.json"));
    let variables = CaseVariables::of(&case["variables"]);
    let of_file = |file: &str| table.take(&numbers(&folder.join(file)).concat());
    let training = CaseTraining::new(&variables, &of_file("train_rows.txt.gz"));
    compare_encoding(
        &training.encoding,
        &column_names(&variables, &training.encoding),
        &case["encoding"],
    );
    let test = variables.rows(&of_file("test_rows.txt.gz"));
    let moments = training.of_lists(&numbers(&folder.join("bootstrap_rows.txt.gz")));
    let sensitive = variables.position(case["sensitive"].as_str().unwrap());
    Some(GraphAudit { case, variables, training, test, moments, sensitive })
}

#[test]
fn the_compas_experiment_agrees_with_the_paper() {
    let Some(audit) = compas() else { return };
    let scenario = &audit.case["scenarios"]["High"];
    audit.compare(scenario, &scenario["bootstrap"]);
    // The paper's table 3, knowledge Low: 57 classes, 1,061 graphs, H_G 0.5877, H_GA 0.2587.
    let (_, worlds) = audit.discover(&Json::Object(serde_json::Map::new()));
    assert_eq!((worlds.bag.n_classes, worlds.bag.len()), (57, 1061));
    near(worlds.bag.edge_shares(MemberWeighting::Dag).entropy, 0.5877, 5e-5, "H_G");
    near(worlds.bag.descendant_edge_shares(MemberWeighting::Dag).entropy, 0.2587, 5e-5, "H_GA");
    assert_eq!(worlds.worlds.len(), 202);
}
