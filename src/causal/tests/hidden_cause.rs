//! The bias of a hidden cause in a graph, compared with a numpy program (`tests/expected/hidden`),
//! and the identities behind its formulas.

use serde_json::Value as Json;

use super::frame::near;
use crate::causal::graph::Dag;
use crate::causal::hidden_cause::{ConditionalCovariance, HiddenTarget, ScoredChange, may_follow};
use crate::causal::nodes::NodeSet;
use crate::num::linalg::SymmetricMatrix;
use crate::tests::{expected, floats, json};

fn whole(list: &Json) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|x| usize::try_from(x.as_u64().unwrap()).unwrap()).collect()
}

fn covariances(rows: &[Vec<f64>], columns: &[usize]) -> ConditionalCovariance {
    let lower = rows.iter().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect();
    let mut start = 0;
    let ranges = columns.iter().map(|n| {
        start += n;
        start - n..start
    });
    ConditionalCovariance::new(ranges.collect(), SymmetricMatrix { n: rows.len(), lower })
}

fn close(found: f64, wanted: f64, what: &str) {
    near(found, wanted, 1e-9 * wanted.abs().max(1e-6), what);
}

#[test]
fn every_world_of_the_cases() {
    let mut n_targets = 0;
    for file in std::fs::read_dir(expected("hidden")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let case = json(path);
        let name = case["name"].as_str().unwrap();
        let columns: Vec<Vec<usize>> =
            case["columns"].as_array().unwrap().iter().map(whole).collect();
        let sizes: Vec<usize> = columns.iter().map(Vec::len).collect();
        let attribute = usize::try_from(case["attribute"].as_u64().unwrap()).unwrap();
        let never: NodeSet = whole(&case["never"]).into_iter().collect();
        let (contrast, weights) = (floats(&case["contrast"]), floats(&case["weights"]));
        let change = ScoredChange { attribute, contrast, weights };
        for (u, w) in whole(&case["used"]).into_iter().enumerate() {
            let (world, wanted) = (&case["worlds"][w], &case["expected"]);
            let parents = world["parents"].as_array().unwrap().iter();
            let dag = Dag { parents: parents.map(|p| whole(p).into_iter().collect()).collect() };
            let follow = may_follow(&dag, attribute, never);
            let follows: Vec<usize> = follow.into_iter().collect();
            assert_eq!(follows, whole(&wanted["may_follow"][u]), "{name} {u}");
            let rows: Vec<Vec<f64>> =
                world["covariance"].as_array().unwrap().iter().map(floats).collect();
            let mut left = covariances(&rows, &sizes);
            let reach = left.reach(&dag, follow, &change, true).unwrap();
            let name_of = |what: &str| format!("{what} of {name} {u}");
            let regression = wanted["h_regression"][u].as_f64().unwrap();
            close(reach.regression, regression, &name_of("h_reg"));
            for target in &reach.targets {
                let key = match target.target {
                    HiddenTarget::Any => "any".to_owned(),
                    HiddenTarget::Variable(v) => v.to_string(),
                };
                let wanted = &wanted["targets"][&key];
                close(target.unit, wanted["unit"][u].as_f64().unwrap(), &name_of(&key));
                n_targets += 1;
                let benchmarks = wanted["benchmark"].as_object().unwrap();
                assert_eq!(target.benchmarks.len(), benchmarks.len(), "{}", name_of(&key));
                for found in &target.benchmarks {
                    let wanted = &benchmarks[&found.variable.to_string()][u];
                    let parts =
                        [("r_a", found.attribute), ("r_v", found.target), ("equal", found.equal)];
                    for (part, found) in parts {
                        close(
                            found,
                            wanted[part].as_f64().unwrap(),
                            &name_of(&format!("{key} {part}")),
                        );
                    }
                }
            }
        }
    }
    assert!(n_targets > 40, "{n_targets}");
}

/// Three groups, two targets, and a U that is a share of the residuals of the contrast and of the
/// score: the bias from leaving it out is the bound itself.
#[test]
fn a_hidden_cause_can_be_as_bad_as_the_bound() {
    // A has two indicators that vary, D two columns; there are no other recorded columns. U moves A
    // along e = S_A b and D along f.
    let s_a = [[0.22, -0.08], [-0.08, 0.18]];
    let contrast: [f64; 2] = [1.0, -1.0];
    let determinant = s_a[0][0] * s_a[1][1] - s_a[0][1] * s_a[0][1];
    let inverse = [
        [s_a[1][1] / determinant, -s_a[0][1] / determinant],
        [-s_a[0][1] / determinant, s_a[0][0] / determinant],
    ];
    let along = inverse.map(|row| row[0] * contrast[0] + row[1] * contrast[1]);
    let q = along[0] * contrast[0] + along[1] * contrast[1];
    let (w, s_d) = ([0.7, -0.4], [[1.0, 0.3], [0.3, 0.8]]);
    let left =
        w[0] * (s_d[0][0] * w[0] + s_d[0][1] * w[1]) + w[1] * (s_d[1][0] * w[0] + s_d[1][1] * w[1]);
    let effect = [[0.5, 0.1], [-0.2, 0.9]];
    // Covariances of (A, D): D = effect A + what is left.
    let mut rows = vec![vec![0.0; 4]; 4];
    for i in 0..2 {
        for j in 0..2 {
            rows[i][j] = s_a[i][j];
            rows[2 + i][j] = effect[i][0] * s_a[0][j] + effect[i][1] * s_a[1][j];
            rows[j][2 + i] = rows[2 + i][j];
        }
    }
    for i in 0..2 {
        for j in 0..2 {
            rows[2 + i][2 + j] =
                rows[2 + i][0] * effect[j][0] + rows[2 + i][1] * effect[j][1] + s_d[i][j];
        }
    }
    let dag = Dag::from_edges(3, &[(0, 1), (0, 2)]).unwrap();
    let change = ScoredChange {
        attribute: 0,
        contrast: contrast.to_vec(),
        weights: vec![0.0, 0.0, w[0], w[1]],
    };
    let follow = may_follow(&dag, 0, NodeSet::EMPTY);
    let reach = covariances(&rows, &[2, 1, 1]).reach(&dag, follow, &change, false).unwrap();
    close(reach.targets[0].unit, (left * q).sqrt(), "unit");
    let s = 0.3_f64;
    // U has variance 1, covariance sqrt(s / q) d with A and sqrt(s left) with the rest of the score
    // given A. Given A and U, the contrast of the score moves by this.
    let with_a = contrast.map(|d| d * (s / q).sqrt());
    let explained = with_a[0] * (inverse[0][0] * with_a[0] + inverse[0][1] * with_a[1])
        + with_a[1] * (inverse[1][0] * with_a[0] + inverse[1][1] * with_a[1]);
    close(explained, s, "share of A");
    // The coefficient of U next to A, and what of U follows A along the contrast.
    let coefficient = (s * left).sqrt() / (1.0 - explained).sqrt();
    let moved = with_a.iter().zip(along).map(|(c, b)| c * b).sum::<f64>();
    close(coefficient * moved, s / (1.0 - s).sqrt() * reach.targets[0].unit, "bias");
}

/// If variables that cannot follow determine the attribute, there is no bound.
#[test]
fn a_determined_attribute_has_no_reach() {
    let rows = vec![vec![1.0, 0.5, 0.2], vec![0.5, 0.25, 0.1], vec![0.2, 0.1, 1.0]];
    let dag = Dag::from_edges(3, &[(0, 1), (1, 2)]).unwrap();
    let follow = may_follow(&dag, 1, NodeSet::EMPTY);
    assert_eq!(follow, NodeSet::single(2));
    let change = ScoredChange { attribute: 1, contrast: vec![1.0], weights: vec![0.0, 0.0, 1.0] };
    assert_eq!(covariances(&rows, &[1, 1, 1]).reach(&dag, follow, &change, true), None);
    // Nothing follows if all other variables are causes or cannot follow.
    let all = NodeSet::first_n(3).without(1);
    assert!(may_follow(&dag, 1, all).is_empty());
}
