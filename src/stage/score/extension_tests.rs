//! Graph-uncertain sets of several groups, with expected levels and with rows, against another
//! program: from the search to the intervals over worlds.

use serde_json::Value as Json;

use crate::causal::bag::{BagOfDags, MemberWeighting};
use crate::causal::score::GraphScore;
use crate::causal::search::DagLimits;
use crate::causal::tests::frame::{ExpectedTable, boss_of, expected, graph_search, near};
use crate::counterfactual::graph_uncertain::row_tests::ExtensionCase;
use crate::counterfactual::graph_uncertain::rows::node_values;
use crate::counterfactual::graph_uncertain::{CausalWorlds, WorldShift};
use crate::metric::MetricFamily;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::scope::MetricScope;
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::metric::value::worlds::{AcrossWorldsValue, GraphWorld, WorldCounts, measure_worlds};
use crate::param::{Count, Level};
use crate::tests::json;

/// A row as encoded columns.
type EncodedRow = Vec<f64>;

impl ExtensionCase {
    /// The names of the encoded columns, as the expected values have them.
    fn column_names(&self) -> Vec<String> {
        let encoding = &self.training.encoding;
        let of = |v: usize| -> Vec<String> {
            let name = &self.variables.names[v];
            match (encoding.variables[v].indicator_levels(), &self.variables.levels[v]) {
                (Some(shown), Some(levels)) => {
                    shown.iter().map(|&l| format!("{name}={}", levels[l as usize])).collect()
                }
                _ => vec![name.clone()],
            }
        };
        (0..encoding.variables.len()).flat_map(of).collect()
    }

    fn encoded(&self, i: usize) -> EncodedRow {
        let encoding = &self.training.encoding;
        let (mut entries, mut row) = (Vec::new(), vec![0.0; encoding.width()]);
        encoding.encode(&self.rows, i, &mut entries);
        entries.iter().for_each(|&(column, x)| row[column] = x);
        row
    }

    fn own_group(&self, i: usize) -> usize {
        let name = &self.test.rows[i][self.test.column(&self.variables.names[self.sensitive])];
        self.groups().iter().position(|group| group == name).unwrap()
    }

    /// For each world and ordered pair of groups how encoded columns move.
    fn movements(&self) -> Vec<Vec<Vec<WorldShift>>> {
        let (encoding, n) = (&self.training.encoding, self.groups().len());
        let position =
            |group: usize| encoding.variables[self.sensitive].position_of(group as u32).unwrap();
        let of_world = |(b, moving): (usize, Vec<_>)| {
            let shifts = crate::counterfactual::graph_uncertain::shifts_of(
                &mut crate::causal::scm::EquationCache::new(encoding, &self.moments[b]),
                &moving,
                self.sensitive,
            );
            let pair = |from, to| CausalWorlds::movement(&shifts, position(from), position(to));
            (0..n).map(|from| (0..n).map(|to| pair(from, to)).collect()).collect()
        };
        self.worlds().into_iter().map(of_world).collect()
    }

    fn is_absent_rank(&self, group: usize, replicate: usize) -> bool {
        self.is_absent(&self.groups()[group], replicate)
    }

    /// For each setting, test row, target and world the encoded counterfactual; none where the
    /// replicate saw no row of a group.
    fn counterfactuals(&self, setting: &str) -> Vec<Vec<Vec<Option<EncodedRow>>>> {
        let (encoding, n) = (&self.training.encoding, self.groups().len());
        let worlds = self.worlds();
        let seen = |w: usize, i: usize, to: usize| {
            !self.is_absent_rank(to, worlds[w].0)
                && !self.is_absent_rank(self.own_group(i), worlds[w].0)
        };
        if setting.ends_with("expected") {
            let movements = self.movements();
            let made = |i: usize, to: usize, w: usize| {
                let mut row = self.encoded(i);
                let movement = &movements[w][self.own_group(i)][to];
                movement.iter().for_each(|&(column, x)| row[column] += x);
                seen(w, i, to).then_some(row)
            };
            let all =
                |i| (0..n).map(|to| (0..worlds.len()).map(|w| made(i, to, w)).collect()).collect();
            return (0..self.rows.n).map(all).collect();
        }
        let maker = self.maker(setting);
        let row_worlds = self.row_worlds(&maker);
        let made = |i: usize, to: usize, w: usize| {
            let own = node_values(encoding, &self.rows, i);
            let mut made = Vec::new();
            let (target, uniforms) = (maker.group(to as u32)?, maker.uniforms(self.row_key(i)));
            maker.make(&row_worlds[w], &own, target, &uniforms, &mut made, |_, _, _| {});
            // The row as a model reads it.
            let mut rows = self.rows.take(&[i]);
            if let crate::data::FeatureColumn::Code(codes) = &mut rows.columns[self.sensitive] {
                codes[0] = to as u32;
            }
            maker.write(&own, &made, &mut rows, 0);
            let (mut entries, mut row) = (Vec::new(), vec![0.0; encoding.width()]);
            encoding.encode(&rows, 0, &mut entries);
            entries.iter().for_each(|&(column, x)| row[column] = x);
            seen(w, i, to).then_some(row)
        };
        let all =
            |i| (0..n).map(|to| (0..worlds.len()).map(|w| made(i, to, w)).collect()).collect();
        (0..self.rows.n).map(all).collect()
    }

    fn score(&self, row: &[f64]) -> f64 {
        let (classifier, names) = (&self.case["classifier"], self.column_names());
        let features = classifier["features"].as_array().unwrap();
        let terms = features.iter().zip(classifier["coefficients"].as_array().unwrap());
        let term = |(name, b): (&Json, &Json)| {
            let column = names.iter().position(|n| name.as_str() == Some(n)).unwrap();
            row[column] * b.as_f64().unwrap()
        };
        let sum = terms.map(term).sum::<f64>() + classifier["intercept"].as_f64().unwrap();
        1.0 / (1.0 + libm::exp(-sum))
    }
}

/// The encoded columns of the first test rows in every world and group.
#[test]
fn shares_of_several_groups_agree() {
    for name in [
        "c01_three_groups",
        "c02_five_groups_bootstrap",
        "c09_unseen",
        "c10_search_four_groups",
        "c11_steep",
    ] {
        let of = ExtensionCase::read(name);
        let table =
            ExpectedTable::read(&expected(&format!("extensions/{name}/expected_shares.csv")));
        let (movements, names) = (of.movements(), of.column_names());
        for row in &table.rows {
            let w: usize = row[0].parse().unwrap();
            let ids = of.test.column("row_id");
            let i = of.test.rows.iter().position(|test| test[ids] == row[1]).unwrap();
            let to = of.groups().iter().position(|group| *group == row[2]).unwrap();
            let mut made = of.encoded(i);
            movements[w][of.own_group(i)][to].iter().for_each(|&(c, x)| made[c] += x);
            for (c, name) in names.iter().enumerate() {
                let told: f64 = row[table.column(name)].parse().unwrap();
                near(made[c], told, 1e-8 * told.abs().max(1.0), name);
            }
        }
        assert!(table.rows.len() > 20, "{name}");
    }
}

fn settings() -> MeasureSettings {
    MeasureSettings {
        families: vec![MetricFamily::Ccm],
        favourable: FavourableClass::Positive,
        favourable_stated: true,
        favoured: FavouredGroups::Groups(vec![0]),
        level: Some(Level::DEFAULT),
        min_group_size: Count::new(1).unwrap(),
        min_denominator: Count::new(1).unwrap(),
    }
}

/// Decisions of every person in every world, counted by world, direction and sum of directions.
#[test]
fn rates_of_worlds_agree() {
    for name in [
        "c01_three_groups",
        "c02_five_groups_bootstrap",
        "c03_two_groups_none",
        "c03_two_groups_range",
        "c04_binned",
        "c05_binned_declared",
        "c10_search_four_groups",
    ] {
        let of = ExtensionCase::read(name);
        let groups = of.groups();
        for setting in of.case["settings"].as_array().unwrap() {
            let setting = setting.as_str().unwrap();
            let told = &of.case["rates"][setting];
            if told.is_null() || setting.ends_with("nearest") {
                continue;
            }
            let measured = measured(&of, setting);
            let find = |metric: &str, scope: MetricScope| -> &AcrossWorldsValue {
                let is = |m: &&AcrossWorldsValue| {
                    m.measured.metric.id == metric && m.measured.scope == scope
                };
                measured.iter().find(is).unwrap()
            };
            for (key, summary) in told["summary"].as_object().unwrap() {
                let at = |name: &str| groups.iter().position(|group| group == name);
                let scope = match key.split_once('>') {
                    None => MetricScope::Total,
                    Some((from, "")) => MetricScope::OneToRest(at(from).unwrap()),
                    Some(("", to)) => MetricScope::RestToOne(at(to).unwrap()),
                    Some((from, to)) => MetricScope::Direction(at(from).unwrap(), at(to).unwrap()),
                };
                for metric in ["psr", "nsr"] {
                    let (found, told) = (find(metric, scope), &summary[metric]);
                    let what = format!("{name} {setting} {key} {metric}");
                    assert_eq!(Some(found.n_worlds), told["n"].as_u64(), "{what}");
                    assert_eq!(Some(found.n_undefined), told["n_undefined"].as_u64(), "{what}");
                    match told["mean"].as_f64() {
                        None => assert!(found.measured.value.is_err(), "{what}"),
                        Some(mean) => near(found.measured.value.unwrap(), mean, 1e-10, &what),
                    }
                    let spread = found.spread;
                    for (part, found) in [
                        ("var", spread.map(|s| s.variance)),
                        ("lo", spread.map(|s| s.lo)),
                        ("hi", spread.map(|s| s.hi)),
                    ] {
                        if let Some(told) = told[part].as_f64() {
                            near(found.unwrap(), told, 1e-10, &format!("{what} {part}"));
                        }
                    }
                }
            }
            for (w, world) in told["worlds"].as_array().unwrap().iter().enumerate() {
                for (key, counts) in world.as_object().unwrap() {
                    let (from, to) = key.split_once('>').unwrap();
                    let at = |name: &str| groups.iter().position(|group| group == name).unwrap();
                    let scope = MetricScope::Direction(at(from), at(to));
                    for (k, metric) in ["psr", "nsr"].into_iter().enumerate() {
                        let (_, numerator, denominator) = find(metric, scope).by_world[w];
                        let counts = counts.as_array();
                        let told = |place: usize| counts.and_then(|of| of[place].as_u64());
                        assert_eq!(denominator, told(2 * k), "{name} {setting} {w} {key}");
                        assert_eq!(numerator, told(2 * k + 1), "{name} {setting} {w} {key}");
                    }
                }
            }
        }
    }
}

fn measured(of: &ExtensionCase, setting: &str) -> Vec<AcrossWorldsValue> {
    let (groups, worlds) = (of.groups().len(), of.worlds());
    let tau = of.case["classifier"]["tau"].as_f64().unwrap();
    let world = |(b, _): &(usize, Vec<_>)| GraphWorld { bootstrap: *b, copies: 1, all_rows: 0 };
    let absent = |b: usize| (0..groups).filter(|&g| of.is_absent_rank(g, b)).collect::<Vec<_>>();
    // Of the graph on all rows nothing is compared: it takes what the first world says.
    let mut all_absent: Vec<Vec<usize>> = worlds.iter().map(|(b, _)| absent(*b)).collect();
    all_absent.push(absent(worlds[0].0));
    let kinds = worlds.iter().map(world).collect();
    let mut counts = WorldCounts::new(kinds, groups, all_absent, false);
    for (i, made) in of.counterfactuals(setting).into_iter().enumerate() {
        let own = of.own_group(i);
        let score = of.score(&of.encoded(i));
        let person = ScoredPerson::of(own, None, Some(score > tau), Some(score));
        let mut all = Vec::new();
        for w in (0..worlds.len()).chain([0]) {
            for (to, rows) in made.iter().enumerate().filter(|(to, _)| *to != own) {
                let score = rows[w].as_ref().map(|row| of.score(row));
                all.push(ScoredCounterfactual::to(to, score.map(|s| s > tau), score));
            }
        }
        counts.add(i as u64, &person, &all);
    }
    measure_worlds(&counts, Level::DEFAULT, &settings())
}

/// Search under knowledge with an attribute of four levels, bag, entropies, edges.
#[test]
fn a_search_with_four_groups_agrees() {
    let of = ExtensionCase::read("c10_search_four_groups");
    let told = json(expected("extensions/c10_search_four_groups/case.json"))["graph"].take();
    let (knowledge, limits) = (of.variables.knowledge(&told["knowledge"]), DagLimits::default());
    let knobs = boss_of(Count::ONE);
    let search = graph_search(&of.variables.names, &knowledge, (&knobs, &limits), 1);
    let encoding = &of.training.encoding;
    let found: Vec<_> = of
        .moments
        .iter()
        .enumerate()
        .map(|(b, moments)| {
            let score = GraphScore::new(encoding, moments, knobs.penalty.get());
            search.search_replicate(b, &score).unwrap()
        })
        .collect();
    for (found, told) in found.iter().zip(told["replicates"].as_array().unwrap()) {
        let score = told["score"].as_f64().unwrap();
        near(found.score, score, f64::max(1e-8, 1e-10 * score.abs()), "score");
        assert_eq!(found.class.directed(), of.variables.pairs(&told["cpdag"]["directed"], true));
        assert_eq!(
            found.class.undirected(),
            of.variables.pairs(&told["cpdag"]["undirected"], false)
        );
    }
    let bag = BagOfDags::from_replicates(of.variables.names.clone(), of.sensitive, &found, &limits);
    let bag = bag.unwrap();
    let counts = [bag.n_classes, bag.len(), bag.dags.len()].map(|n| Some(n as u64));
    assert_eq!(
        counts,
        ["unique_cpdags", "total_dags", "unique_dags"].map(|key| told[key].as_u64())
    );
    let number = |key: &str| told[key].as_f64().unwrap();
    near(bag.edge_shares(MemberWeighting::Dag).entropy, number("h_g"), 1e-10, "H_G");
    let below = bag.descendant_edge_shares(MemberWeighting::Dag);
    near(below.entropy, number("h_ga"), 1e-10, "H_GA");
    let edges = bag.edge_shares(MemberWeighting::Dag).edges;
    for entry in told["edge_frequency"].as_array().unwrap() {
        let edge = of.variables.pairs(&Json::Array(vec![entry["edge"].clone()]), true)[0];
        let found = edges.iter().find(|e| (e.from, e.to) == edge).map(|e| e.count);
        assert_eq!(found, entry["count"].as_u64());
    }
}
