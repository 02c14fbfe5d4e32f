//! Classes of DAGs and entropies of bags against brute force and published figures.

use serde_json::Value as Json;

use super::frame::{CaseVariables, expected, near};
use crate::causal::bag::{BagOfDags, GivenGraphs, MemberWeighting};
use crate::causal::class::{DagSampling, ListedDags, list_or_sample};
use crate::causal::entropy::EdgeShares;
use crate::causal::given::given_class;
use crate::causal::graph::{Dag, Pdag};
use crate::causal::search::DagLimits;
use crate::num::seed::RandomStream;
use crate::tests::json;

/// Number of DAGs, of which none may be listed.
fn count_dags(class: &Pdag) -> Option<u64> {
    let mut stream = RandomStream::new(1, "");
    list_or_sample(class, 0, &mut stream).size
}

fn named(names: &Json) -> CaseVariables {
    let names: Vec<String> =
        names.as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect();
    CaseVariables { levels: vec![None; names.len()], names }
}

#[test]
fn classes_agree_with_brute_force() {
    let file = expected("enumeration.json");
    for case in json(&file)["cases"].as_array().unwrap() {
        let (name, variables) = (&case["name"], named(&case["nodes"]));
        let knowledge = variables.knowledge(&case["knowledge"]);
        let dag =
            Dag::from_edges(variables.names.len(), &variables.pairs(&case["dag"], true)).unwrap();
        let class = Pdag::from_dag(&dag, &knowledge);
        assert_eq!(class.directed(), variables.pairs(&case["pdag"]["directed"], true), "{name}");
        assert_eq!(
            class.undirected(),
            variables.pairs(&case["pdag"]["undirected"], false),
            "{name}"
        );
        assert_eq!(count_dags(&class), case["n_dags"].as_u64(), "{name}");
        let listed = list_or_sample(&class, 10_000, &mut RandomStream::new(1, ""));
        let found: Vec<Vec<(usize, usize)>> = listed.dags.iter().map(Dag::edges).collect();
        assert!(found.is_sorted_by(|a, b| a < b), "{name}: each once, in order");
        if let Some(list) = case["dags"].as_array() {
            let mut all: Vec<_> = list.iter().map(|dag| variables.pairs(dag, true)).collect();
            all.sort();
            assert_eq!(found, all, "{name}");
        }
        assert!(
            listed
                .dags
                .iter()
                .all(|dag| Pdag::from_dag(dag, &knowledge) == class && dag.satisfies(&knowledge)),
            "{name}"
        );
        // Drawn by a person it is the same class.
        let by_name = |edges: Vec<(usize, usize)>| -> Vec<(String, String)> {
            edges
                .into_iter()
                .map(|(u, v)| (variables.names[u].clone(), variables.names[v].clone()))
                .collect()
        };
        assert_eq!(
            given_class(
                &variables.names,
                &by_name(class.directed()),
                &by_name(class.undirected()),
                &knowledge
            ),
            Ok(class),
            "{name}"
        );
    }
}

#[test]
fn large_classes_are_counted() {
    let file = expected("enumeration.json");
    for guard in json(&file)["guards"].as_array().unwrap() {
        let (mut graph, cliques) = match guard["name"].as_str().unwrap() {
            "K8" => (Pdag::empty(8), std::iter::once(0..8).collect::<Vec<_>>()),
            "five_K4" => (Pdag::empty(20), (0..5).map(|k| 4 * k..4 * k + 4).collect()),
            "path_of_50" => (Pdag::empty(50), (1..50).map(|v| v - 1..v + 1).collect()),
            other => panic!("unknown guard {other}"),
        };
        for clique in cliques {
            clique.clone().for_each(|v| (clique.start..v).for_each(|u| graph.add_undirected(u, v)));
        }
        assert_eq!(count_dags(&graph), guard["n_dags"].as_u64(), "{guard}");
    }
}

/// A bag of graphs with their multiplicities, a replicate per copy.
fn bag_of(variables: &CaseVariables, sensitive: usize, members: &Json) -> BagOfDags {
    let n = variables.names.len();
    let mut bag = None::<BagOfDags>;
    for member in members.as_array().unwrap() {
        let dag = Dag::from_edges(n, &variables.pairs(&member["edges"], true)).unwrap();
        let listed = ListedDags { size: Some(1), dags: vec![dag], drawn: DagSampling::All };
        let copies = member["multiplicity"].as_u64().unwrap() as usize;
        let given = GivenGraphs { n_classes: 1, listed };
        let (names, limits) = (variables.names.clone(), DagLimits::default());
        let part = BagOfDags::from_given(names, sensitive, &given, copies, &limits).unwrap();
        match &mut bag {
            None => bag = Some(part),
            Some(bag) => {
                let at = bag.dags.len();
                bag.dags.extend(part.dags);
                bag.replicates.extend(part.replicates.into_iter().map(|mut r| {
                    r.members.iter_mut().for_each(|m| *m += at);
                    r
                }));
            }
        }
    }
    bag.unwrap()
}

#[test]
fn entropies_agree_with_the_paper() {
    let file = expected("entropy.json");
    for case in json(&file)["cases"].as_array().unwrap() {
        let mut names: Vec<String> = vec![case["sensitive"].as_str().unwrap().to_owned()];
        for edge in case["bag"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|member| member["edges"].as_array().unwrap())
        {
            names.extend(edge.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()));
        }
        names.sort();
        names.dedup();
        let variables = CaseVariables { levels: vec![None; names.len()], names };
        let sensitive = variables.position(case["sensitive"].as_str().unwrap());
        let bag = bag_of(&variables, sensitive, &case["bag"]);
        assert_eq!(Some(bag.len() as u64), case["total_dags"].as_u64(), "{}", case["name"]);
        let (edges, below) = (
            bag.edge_shares(MemberWeighting::Dag),
            bag.descendant_edge_shares(MemberWeighting::Dag),
        );
        for (found, key) in [(&edges, "edge_frequency"), (&below, "descendant_edge_frequency")] {
            compare_edges(found, &case[key], &variables);
        }
        near(edges.entropy, case["h_g"].as_f64().unwrap(), 1e-10, "H_G");
        near(below.entropy, case["h_ga"].as_f64().unwrap(), 1e-10, "H_GA");
        if let Some(paper) = case.get("paper") {
            near(edges.entropy, paper["h_g"].as_f64().unwrap(), 6e-5, "H_G as printed");
            near(below.entropy, paper["h_ga"].as_f64().unwrap(), 1.1e-4, "H_GA as printed");
        }
    }
}

#[track_caller]
fn compare_edges(found: &EdgeShares, expected: &Json, variables: &CaseVariables) {
    let expected = expected.as_array().unwrap();
    assert_eq!(found.edges.len(), expected.len());
    for entry in expected {
        let edge = variables.pairs(&Json::Array(vec![entry["edge"].clone()]), true)[0];
        let found = found
            .edges
            .iter()
            .find(|e| (e.from, e.to) == edge)
            .unwrap_or_else(|| panic!("no edge {edge:?}"));
        assert_eq!(Some(found.count), entry["count"].as_u64());
        if let Some(p) = entry["p"].as_f64() {
            near(found.share, p, 1e-10, "share");
        }
    }
}
