//! Comparison of rows with another program, and the invariants of the rules on random graphs.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::cells::{MechanismStep, NodeKind};
use super::mechanism::{CellBins, ColumnBins};
use super::rows::{
    NodeEvidence, NodeRules, RowMaker, RowSettings, RowWorld, TrainingColumns, node_values,
};
use super::{ClipRule, moving_parents};
use crate::causal::bootstrap_draws::BootstrapDraws;
use crate::causal::encoding::{GraphEncoding, VariableForm};
use crate::causal::graph::Dag;
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::causal::scm::EquationCache;
use crate::causal::tests::frame::{CaseTraining, CaseVariables, ExpectedTable, expected, near};
use crate::data::FeatureRows;
use crate::num::seed::RandomStream;
use crate::param::Count;
use crate::tests::json;

/// The cases of `tests/expected/cf-gu/extensions` that hold rows.
const CASES: [&str; 11] = [
    "c01_three_groups",
    "c02_five_groups_bootstrap",
    "c03_two_groups_none",
    "c03_two_groups_range",
    "c04_binned",
    "c05_binned_declared",
    "c06_nonlinear_truth",
    "c07_linear_truth",
    "c08_ties",
    "c09_unseen",
    "c11_steep",
];

/// A case of the extensions: its rows, replicates and worlds.
pub(crate) struct ExtensionCase {
    pub(crate) case: Json,
    pub(crate) variables: CaseVariables,
    pub(crate) training: CaseTraining,
    pub(crate) draws: BootstrapDraws,
    pub(crate) moments: Vec<EncodedMoments>,
    pub(crate) test: ExpectedTable,
    pub(crate) rows: FeatureRows,
    pub(crate) sensitive: usize,
    pub(crate) made: ExpectedTable,
}

impl ExtensionCase {
    pub(crate) fn read(name: &str) -> Self {
        let folder = expected(&format!("extensions/{name}"));
        let case = json(folder.join("case.json"));
        let variables = CaseVariables::of(&case["variables"]);
        let training =
            CaseTraining::new(&variables, &ExpectedTable::read(&folder.join("train.csv")));
        let weights = folder.join("weights.txt");
        let draws = if weights.exists() {
            let lines = crate::causal::tests::frame::numbers(&weights).into_iter();
            let times = lines.map(|line| line.into_iter().map(|n| n as u32).collect());
            BootstrapDraws::from_multiplicities(times.collect(), &training.blocks.sizes)
        } else {
            BootstrapDraws::all_rows(&training.blocks.sizes)
        };
        let moments = training.moments(&draws);
        let test = ExpectedTable::read(&folder.join("test.csv"));
        let rows = variables.rows(&test);
        let sensitive = variables.position(case["sensitive"].as_str().unwrap());
        let made = ExpectedTable::read(&folder.join("counterfactuals.csv"));
        ExtensionCase { case, variables, training, draws, moments, test, rows, sensitive, made }
    }

    /// The key of test row `i`.
    pub(crate) fn row_key(&self, i: usize) -> u64 {
        let id = &self.test.rows[i][self.test.column("row_id")];
        id.parse().unwrap_or_else(|_| xxhash_rust::xxh3::xxh3_64(id.as_bytes()))
    }

    /// The replicate of each world, and the parents of each variable that follows from A.
    pub(crate) fn worlds(&self) -> Vec<(usize, Vec<NodeSet>)> {
        let of_world = |world: &Json| {
            let edges = self.variables.pairs(&world["edges"], true);
            let dag = Dag::from_edges(self.variables.names.len(), &edges).unwrap();
            let replicate = world["replicate"].as_u64().unwrap() as usize;
            (replicate, moving_parents(&dag, self.sensitive))
        };
        self.case["worlds"].as_array().unwrap().iter().map(of_world).collect()
    }

    fn rules(&self) -> Vec<NodeRules> {
        let list = self.case["variables"].as_array().unwrap().iter().enumerate();
        let rule = |(v, variable): (usize, &Json)| {
            let bins: Option<CellBins> = serde_json::from_value(self.case["bins"].clone()).unwrap();
            let bins = bins.and_then(|bins| bins.of(&self.variables.names[v]));
            let missing = variable["missing_level"].as_str().map(|missing| {
                let levels = self.variables.levels[v].as_ref().unwrap();
                levels.iter().position(|level| level == missing).unwrap() as u32
            });
            let ordinal = variable["type"] == "ordinal";
            NodeRules { whole: variable["integer"] == true, ordinal, missing, bins }
        };
        list.map(rule).collect()
    }

    /// Makes rows by a setting of the case.
    pub(crate) fn maker(&self, setting: &str) -> RowMaker<'_> {
        let (mechanism, _) = setting.split_once('/').unwrap();
        let settings = RowSettings {
            clip: match self.case["clip"].as_str().unwrap() {
                "none" => ClipRule::None,
                _ => ClipRule::Range,
            },
            min_cell: (mechanism == "binned").then(|| self.case["min_cell"].as_u64().unwrap()),
            seed: self.case["seed"].as_u64().unwrap(),
        };
        let encoding = &self.training.encoding;
        let columns =
            TrainingColumns::read(encoding, &self.training.blocks, &self.training.rows).unwrap();
        RowMaker::new(encoding, self.sensitive, &self.rules(), columns, settings)
    }

    /// The worlds of the case, with the equations of their replicates.
    pub(crate) fn row_worlds(&self, maker: &RowMaker<'_>) -> Vec<RowWorld> {
        let of_world = |(b, moving): (usize, Vec<NodeSet>)| {
            maker.worlds(&self.moments[b], (&self.draws, b), &[moving]).remove(0)
        };
        self.worlds().into_iter().map(of_world).collect()
    }

    /// Whether a group has no row in a replicate.
    pub(crate) fn is_absent(&self, group: &str, replicate: usize) -> bool {
        let absent = self.case["groups_absent"][replicate].as_array().unwrap();
        absent.iter().any(|name| name == group)
    }

    /// The settings of the case that make rows. The oracle also has the most probable rows
    /// (`nearest`), which this program does not make.
    pub(crate) fn row_settings(&self) -> Vec<String> {
        let settings = self.case["settings"].as_array().unwrap().iter();
        let names = settings.map(|setting| setting.as_str().unwrap().to_owned());
        names.filter(|name| name.ends_with("drawn")).collect()
    }

    /// The groups as levels of A.
    pub(crate) fn groups(&self) -> Vec<String> {
        serde_json::from_value(self.case["groups"].clone()).unwrap()
    }
}

/// Every row of every setting and world, the steps that gave the values, and the cuts of the bins.
#[test]
fn rows_agree_with_another_program() {
    for name in CASES {
        let case = ExtensionCase::read(name);
        let encoding = &case.training.encoding;
        let mut compared = 0;
        for setting in case.row_settings() {
            let maker = case.maker(&setting);
            let worlds = case.row_worlds(&maker);
            let mut steps = vec![[0; 3]; encoding.variables.len()];
            let mut made = Vec::new();
            let mut expected = case.made.rows.iter().filter(|row| row[0] == setting).peekable();
            for (w, (replicate, _)) in case.worlds().into_iter().enumerate() {
                for i in 0..case.rows.n {
                    let own = node_values(encoding, &case.rows, i);
                    let uniforms = maker.uniforms(case.row_key(i));
                    let own_group =
                        &case.test.rows[i][case.test.column(&case.variables.names[case.sensitive])];
                    for (code, to) in (0..).zip(case.groups()) {
                        if to == *own_group
                            || case.is_absent(&to, replicate)
                            || case.is_absent(own_group, replicate)
                        {
                            continue;
                        }
                        let row = expected.next().expect("a row of the expected file");
                        let id = &case.test.rows[i][case.test.column("row_id")];
                        assert_eq!((row[1].as_str(), &row[2], &row[3]), (&*w.to_string(), id, &to));
                        let target = maker.group(code).unwrap();
                        maker.make(&worlds[w], &own, target, &uniforms, &mut made, |v, step, _| {
                            steps[v][step as usize] += 1;
                        });
                        compare_row(&case, &made, row, &format!("{name} {setting} {w} {id} {to}"));
                        compared += made.len();
                    }
                }
            }
            assert!(expected.next().is_none(), "{name} {setting}: rows are left");
            for (step, word) in [
                (MechanismStep::Cells, "cells"),
                (MechanismStep::Levels, "levels"),
                (MechanismStep::Linear, "linear"),
            ] {
                let found: u64 = steps.iter().map(|counts| counts[step as usize]).sum();
                let expected = case.case["ways"][format!("{setting} {word}")].as_u64().unwrap_or(0);
                assert_eq!(found, expected, "{name} {setting} {word}");
            }
            compare_cuts(&case, &maker);
        }
        assert!(compared > 500, "{name}: {compared} values");
    }
}

/// Levels exact, numbers to 1e-8.
fn compare_row(case: &ExtensionCase, made: &[f64], row: &[String], what: &str) {
    for (v, name) in case.variables.names.iter().enumerate() {
        let what = format!("{what}: {name}");
        compare_value(case, (v, made[v]), &row[case.made.column(name)], &what);
    }
}

/// The value of node `v`: levels exact, numbers to 1e-8.
fn compare_value(case: &ExtensionCase, (v, made): (usize, f64), text: &str, what: &str) {
    match (&case.training.encoding.variables[v].form, &case.variables.levels[v]) {
        (VariableForm::Levels { seen, .. }, Some(levels)) => {
            let code = levels.iter().position(|level| level == text).unwrap() as u32;
            let at = seen.iter().position(|&level| level == code);
            assert_eq!(made, at.map_or(-1.0, |at| at as f64), "{what}");
        }
        _ => {
            let expected: f64 = text.parse().unwrap();
            near(made, expected, 1e-8 * expected.abs().max(1.0), what);
        }
    }
}

/// A node that was computed: the step, and the shares before and after or only the number.
type ComputedNode = (MechanismStep, Vec<Vec<f64>>);

/// The nodes of one row that were computed, by their number.
#[derive(Default)]
struct ComputedNodes(BTreeMap<usize, ComputedNode>);

impl ComputedNodes {
    fn add(&mut self, v: usize, step: MechanismStep, evidence: NodeEvidence<'_>) {
        let numbers = match evidence {
            NodeEvidence::Shares(before, after) => vec![before.to_vec(), after.to_vec()],
            NodeEvidence::Number(y) => vec![vec![y]],
        };
        assert!(self.0.insert(v, (step, numbers)).is_none(), "node {v} is computed twice");
    }
}

/// The nodes that were computed for the first people agree: which nodes, the step, the uniform
/// number, the number before clipping and rounding or the shares before and after, and the value.
/// These are the eleven traces of [`CASES`] and the trace of the case with a search.
#[test]
fn every_node_agrees_with_the_traces_of_another_program() {
    let mut compared = [0; 2];
    for name in CASES.into_iter().chain(["c10_search_four_groups"]) {
        let case = ExtensionCase::read(name);
        let encoding = &case.training.encoding;
        let trace = ExpectedTable::read(&expected(&format!("extensions/{name}/trace.csv")));
        let key = ["setting", "world", "row_id", "to_group"].map(|part| trace.column(part));
        let rest = ["node", "way", "u", "raw", "shares_before", "shares_after", "value"];
        let [node, way, uniform, raw, before, after, value] = rest.map(|name| trace.column(name));
        assert_eq!(trace.header.len(), key.len() + rest.len(), "{name}: all columns are compared");
        let id = case.test.column("row_id");
        let [setting, world, row_id, to_group] = key;
        let settings = trace.rows.chunk_by(|a, b| a[setting] == b[setting]);
        for of_setting in settings.filter(|lines| lines[0][setting].ends_with("drawn")) {
            let maker = case.maker(&of_setting[0][setting]);
            let worlds = case.row_worlds(&maker);
            for lines in of_setting.chunk_by(|a, b| key.iter().all(|&part| a[part] == b[part])) {
                let what = key.map(|part| lines[0][part].as_str()).join(" ");
                let what = format!("{name} {what}");
                let i = case.test.rows.iter().position(|row| row[id] == lines[0][row_id]).unwrap();
                let own = node_values(encoding, &case.rows, i);
                let to =
                    case.groups().iter().position(|group| *group == lines[0][to_group]).unwrap();
                let target = maker.group(to as u32).unwrap();
                let uniforms = maker.uniforms(case.row_key(i));
                let (mut made, mut computed) = (Vec::new(), ComputedNodes::default());
                let world = &worlds[lines[0][world].parse::<usize>().unwrap()];
                maker.make(world, &own, target, &uniforms, &mut made, |v, step, evidence| {
                    computed.add(v, step, evidence);
                });
                assert_eq!(computed.0.len(), lines.len(), "{what}: nodes that are computed");
                for line in lines {
                    let (v, what) =
                        (case.variables.position(&line[node]), format!("{what} {}", line[node]));
                    let (step, found) = computed.0.get(&v).unwrap_or_else(|| panic!("{what}"));
                    let word = match step {
                        MechanismStep::Cells => "cells",
                        MechanismStep::Levels => "levels",
                        MechanismStep::Linear => "linear",
                    };
                    assert_eq!(word, line[way], "{what}");
                    near(uniforms[v], line[uniform].parse().unwrap(), 1e-15, &what);
                    let numbers = |column: usize| -> Vec<f64> {
                        line[column].split_whitespace().map(|x| x.parse().unwrap()).collect()
                    };
                    let expected = match line[raw].is_empty() {
                        true => vec![numbers(before), numbers(after)],
                        false => vec![numbers(raw)],
                    };
                    let sizes = |lists: &[Vec<f64>]| lists.iter().map(Vec::len).collect::<Vec<_>>();
                    assert_eq!(sizes(found), sizes(&expected), "{what}");
                    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                        near(*found, *expected, 1e-9 * expected.abs().max(1.0), &what);
                    }
                    compare_value(&case, (v, made[v]), &line[value], &what);
                    compared[usize::from(line[raw].is_empty())] += 1;
                }
            }
        }
    }
    assert_eq!(compared.iter().sum::<u64>(), 2182, "lines of twelve traces");
    assert!(compared.iter().all(|n| *n > 500), "{compared:?}");
}

fn training_row(maker: &RowMaker<'_>, i: usize) -> Vec<f64> {
    maker.training.columns.iter().map(|column| column[i]).collect()
}

fn compare_cuts(case: &ExtensionCase, maker: &RowMaker<'_>) {
    let expected = case.case["cuts"].as_object().unwrap();
    for (v, name) in case.variables.names.iter().enumerate() {
        let cuts: Vec<f64> = expected
            .get(name)
            .map_or_else(Vec::new, |cuts| serde_json::from_value(cuts.clone()).unwrap());
        if maker.settings.min_cell.is_some() && case.variables.levels[v].is_none() {
            let NodeKind::Number { cuts: got, .. } = &maker.kinds[v] else { panic!("{name}") };
            assert_eq!(got, &cuts, "{name}");
        }
    }
}

/// The codes of the ordinal column.
const GRADES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// A random DAG over a group of some levels, two nominal columns, three numbers, and codes with
/// gaps.
fn random_case(stream: &mut RandomStream) -> (GraphEncoding, CaseTraining, Dag) {
    let groups = 2 + (stream.u64() % 4) as usize;
    let letters = |n: usize| (0..n).map(|l| format!("l{l}")).collect::<Vec<_>>();
    let variables = CaseVariables {
        names: ["group", "job", "own", "age", "kids", "pay", "grade"].map(str::to_owned).to_vec(),
        levels: [groups, 3, 2]
            .map(|n| Some(letters(n)))
            .into_iter()
            .chain([const { None }; 4])
            .collect(),
    };
    let mut level = |n: usize| format!("l{}", stream.u64() as usize % n);
    let header: Vec<String> = variables.names.clone();
    let rows: Vec<Vec<String>> = (0..200)
        .map(|i| {
            let group = if i < groups { format!("l{i}") } else { level(groups) };
            let shift: f64 = group[1..].parse().unwrap();
            let (job, own) = (level(3), level(2));
            let age = 30.0 + level(40)[1..].parse::<f64>().unwrap() / 3.0 + shift;
            let kids = level(4)[1..].to_owned();
            let pay = (age * 0.3 - shift).to_string();
            let grade = GRADES[level(4)[1..].parse::<usize>().unwrap()].to_string();
            vec![group, job, own, age.to_string(), kids, pay, grade]
        })
        .collect();
    let training = CaseTraining::new(&variables, &ExpectedTable { header, rows });
    let n = variables.names.len();
    let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
    let edges: Vec<(usize, usize)> = pairs.filter(|_| !stream.u64().is_multiple_of(3)).collect();
    (training.encoding.clone(), training, Dag::from_edges(n, &edges).unwrap())
}

/// A person's own group gives the factual row; a node keeps its value unless one of its parents
/// moves; whole numbers and codes of the training rows stay whole numbers and codes; numbers stay
/// in the range; no person gets the level of missing values.
#[test]
fn rows_keep_their_promises_on_random_graphs() {
    let mut stream = RandomStream::new(5, "rows");
    for round in 0..24 {
        let (encoding, training, dag) = random_case(&mut stream);
        let rules: Vec<NodeRules> = (0..encoding.variables.len())
            .map(|v| NodeRules {
                whole: v == 4,
                ordinal: v == 6,
                missing: (v == 1).then_some(2),
                bins: (v == 3).then(|| ColumnBins::Count(Count::of::<3>())),
            })
            .collect();
        let settings = RowSettings {
            clip: ClipRule::Range,
            min_cell: (round % 3 > 0).then_some(5),
            seed: round as u64,
        };
        let columns = TrainingColumns::read(&encoding, &training.blocks, &training.rows).unwrap();
        let draws = BootstrapDraws::all_rows(&training.blocks.sizes);
        let maker = RowMaker::new(&encoding, 0, &rules, columns, settings);
        let moving = moving_parents(&dag, 0);
        let moves = std::slice::from_ref(&moving);
        let world = maker.worlds(&training.whole(), (&draws, 0), moves).remove(0);
        let mut made = Vec::new();
        for i in 0..60 {
            let own = training_row(&maker, i);
            let uniforms = maker.uniforms(i as u64);
            for code in 0.. {
                let Some(target) = maker.group(code) else { break };
                maker.make(&world, &own, target, &uniforms, &mut made, |_, _, _| {});
                if target == own[0] {
                    assert_eq!(made, own, "the own group is the factual row");
                    continue;
                }
                for v in 1..own.len() {
                    let moved = moving[v].into_iter().any(|p| made[p] != own[p]);
                    assert!(moved || made[v] == own[v], "a value without a cause");
                }
                assert_eq!(made[4].fract(), 0.0, "whole numbers");
                assert!((0.0..=3.0).contains(&made[4]), "range");
                assert!(GRADES.contains(&made[6]), "codes of the training rows");
                assert!(made[1] != 2.0 || own[1] == 2.0, "nobody becomes missing");
            }
        }
    }
}

/// Without a clip the mean of drawn rows is the expected counterfactual in every column, over
/// people whose levels follow the shares of the equations: these are cases where only the attribute
/// is a parent of the levels.
#[test]
fn the_mean_of_drawn_rows_is_the_expected_one() {
    let mut stream = RandomStream::new(8, "means");
    let (encoding, training, _) = random_case(&mut stream);
    let n = encoding.variables.len();
    // group -> job, own, kids; job, own, kids -> pay.
    let dag =
        Dag::from_edges(n, &[(0, 1), (0, 2), (0, 4), (1, 5), (2, 5), (4, 5), (3, 5)]).unwrap();
    let whole: Vec<NodeRules> =
        (0..n).map(|v| NodeRules { whole: v == 4, ..NodeRules::default() }).collect();
    let settings = RowSettings { clip: ClipRule::None, min_cell: None, seed: 3 };
    let columns = TrainingColumns::read(&encoding, &training.blocks, &training.rows).unwrap();
    let maker = RowMaker::new(&encoding, 0, &whole, columns, settings);
    let (moments, moving) = (training.whole(), moving_parents(&dag, 0));
    let draws = BootstrapDraws::all_rows(&training.blocks.sizes);
    let moves = std::slice::from_ref(&moving);
    let world = maker.worlds(&moments, (&draws, 0), moves).remove(0);
    let shifts = super::shifts_of(&mut EquationCache::new(&encoding, &moments), &moving, 0);
    let expected = super::CausalWorlds::movement(&shifts, 0, 1);
    let (mut sums, mut squares) = (vec![0.0; encoding.width()], vec![0.0; encoding.width()]);
    let (mut people, mut made) = (0.0, Vec::new());
    for i in (0..200).filter(|&i| training_row(&maker, i)[0] == 0.0) {
        let own = training_row(&maker, i);
        for key in 0..500 {
            let uniforms = maker.uniforms(1000 * i as u64 + key);
            maker.make(&world, &own, 1.0, &uniforms, &mut made, |_, _, _| {});
            people += 1.0;
            for c in 0..encoding.width() {
                let moved = maker.movement(c, &own, &made);
                sums[c] += moved;
                squares[c] += moved * moved;
            }
        }
    }
    assert!(people > 10_000.0, "{people}");
    for c in 0..encoding.width() {
        let expected_mean =
            expected.iter().find(|(column, _)| *column == c).map_or(0.0, |(_, x)| *x);
        let mean = sums[c] / people;
        let error = ((squares[c] / people - mean * mean).max(0.0) / people).sqrt();
        assert!(
            (mean - expected_mean).abs() <= 4.0 * error + 1e-9,
            "column {c}: {mean}, {expected_mean}, {error}"
        );
    }
}

/// Known truth: with effects that are not linear the binned rows lie much closer to it than linear
/// ones; with linear effects they lose little.
#[test]
fn binned_rows_are_close_to_a_truth_that_is_not_linear() {
    let errors = |name: &str, setting: &str| -> Vec<f64> {
        let case = ExtensionCase::read(name);
        let (maker, encoding) = (case.maker(setting), &case.training.encoding);
        let world = case.row_worlds(&maker).remove(0);
        let error = |name: &str| {
            let (truth, v) =
                (case.test.column(&format!("true_{name}")), case.variables.position(name));
            let mut made = Vec::new();
            let of_row = |i: usize| {
                let own = node_values(encoding, &case.rows, i);
                let (target, uniforms) =
                    (1.0 - own[case.sensitive], maker.uniforms(case.row_key(i)));
                maker.make(&world, &own, target, &uniforms, &mut made, |_, _, _| {});
                let true_value: f64 = case.test.rows[i][truth].parse().unwrap();
                (made[v] - true_value) * (made[v] - true_value)
            };
            ((0..case.rows.n).map(of_row).sum::<f64>() / case.rows.n as f64).sqrt()
        };
        ["x1", "x2", "x3"].map(error).to_vec()
    };
    let not_linear =
        ["linear", "binned"].map(|m| errors("c06_nonlinear_truth", &format!("{m}/drawn")));
    for (linear, binned) in not_linear[0].iter().zip(&not_linear[1]) {
        assert!(binned < &(0.8 * linear), "{not_linear:?}");
    }
    let linear = ["linear", "binned"].map(|m| errors("c07_linear_truth", &format!("{m}/drawn")));
    assert!(linear[1].iter().all(|error| *error < 0.25), "{linear:?}");
}
