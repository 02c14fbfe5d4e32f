//! What the engine promises for any input: knowledge is kept, classes are whole, caches change nothing, and neither do threads or batches.

use crate::causal::bag::{Bag, Discovery, Limits, Replicate, Singular, Weighting};
use crate::causal::boss::Knobs;
use crate::causal::class::{Drawn, Listed};
use crate::causal::draw::{Draws, below};
use crate::causal::encoding::{Blocks, Encoding, Missing, Variable};
use crate::causal::given::{BadGraph, given};
use crate::causal::graph::{Dag, Pdag};
use crate::causal::grow_shrink::Trees;
use crate::causal::knowledge::{Knowledge, Stated};
use crate::causal::moments::Moments;
use crate::causal::nodes::Nodes;
use crate::causal::score::Score;
use crate::data::training::{TrainingGroup, TrainingRows};
use crate::data::{Column, Rows};
use crate::num::seed::Stream;

fn names(n: usize) -> Vec<String> {
    (0..n).map(|v| format!("v{v}")).collect()
}

/// Rows of `n` variables that depend on each other; every third one has three levels, and where asked the last repeats the first.
fn rows(n: usize, n_rows: usize, repeats: bool, stream: &mut Stream) -> (Vec<Variable>, Rows) {
    let effects: Vec<Vec<f64>> = (0..n).map(|v| (0..v).map(|_| if stream.u01() < 0.4 { stream.normal() } else { 0.0 }).collect()).collect();
    let mut values = vec![Vec::with_capacity(n_rows); n];
    for _ in 0..n_rows {
        for v in 0..n {
            let cause: f64 = (0..v).map(|u| effects[v][u] * values[u].last().copied().unwrap_or(0.0)).sum();
            let x: f64 = cause + stream.normal();
            values[v].push(if v % 3 == 2 {
                if x < -0.7 {
                    0.0
                } else if x < 0.7 {
                    1.0
                } else {
                    2.0
                }
            } else {
                x
            });
        }
    }
    if repeats {
        values[n - 1] = values[0].iter().map(|x| 3.0 - 2.0 * x).collect();
    }
    let has_levels = |v: usize| v % 3 == 2 && !(repeats && v == n - 1);
    let levels = |v: usize| has_levels(v).then(|| vec![0, 1, 2]);
    let variables = (0..n).map(|v| Variable { name: format!("v{v}"), feature: v, levels: levels(v) }).collect();
    let column =
        |(v, x): (usize, Vec<f64>)| if has_levels(v) { Column::Code(x.iter().map(|x| *x as u32).collect()) } else { Column::Number(x) };
    (variables, Rows { n: n_rows, columns: values.into_iter().enumerate().map(column).collect() })
}

struct Learnt {
    encoding: Encoding,
    blocks: Blocks,
    rows: TrainingRows<'static>,
}

fn learn(variables: &[Variable], rows: Rows) -> Learnt {
    let labels = vec![true; rows.n];
    let rows = TrainingRows::in_memory(rows, labels);
    let (encoding, blocks) = Encoding::fit(variables, &rows, Missing::Error, None).unwrap();
    Learnt { encoding, blocks, rows }
}

impl Learnt {
    fn moments(&self, draws: &Draws) -> Vec<Moments> {
        Moments::of_replicates(&self.encoding, &self.blocks, &self.rows, draws).unwrap()
    }

    fn bootstraps(&self, seed: u64, n: usize) -> Vec<Moments> {
        self.moments(&Draws::seeded(seed, n, &self.blocks.sizes))
    }
}

/// Knowledge that a random DAG keeps: tiers for some variables, forbidden and required edges.
fn some_knowledge(n: usize, stream: &mut Stream) -> Knowledge {
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| order.swap(i, below(stream, i + 1)));
    let mut stated = Stated { tiers: vec![Vec::new(); 3], ..Stated::default() };
    let all_tiers = stream.u01() < 0.5;
    let mut tier = vec![None; n];
    for (place, &v) in order.iter().enumerate() {
        if all_tiers || stream.u01() < 0.5 {
            tier[v] = Some(3 * place / n);
            stated.tiers[3 * place / n].push(format!("v{v}"));
        }
    }
    let within = below(stream, 4);
    if within < 3 {
        stated.forbidden_within_tier.push(within);
    }
    for i in 0..n {
        for j in 0..i {
            let (cause, effect) = (order[j], order[i]);
            let pair = (format!("v{cause}"), format!("v{effect}"));
            let free = tier[cause].is_none() || tier[cause] != tier[effect] || tier[cause] != Some(within);
            match below(stream, 12) {
                0 | 1 => stated.forbidden.push(pair),
                2 | 3 => stated.forbidden.push((pair.1, pair.0)),
                4 if free => stated.required.push(pair),
                _ => {}
            }
        }
    }
    Knowledge::new(&names(n), &stated).unwrap()
}

#[test]
fn knowledge_is_kept_and_classes_are_whole() {
    let mut stream = Stream::new(11, "knowledge");
    let mut directed = 0;
    for round in 0..60 {
        let n = 3 + round % 6;
        let (variables, rows) = rows(n, 150, round % 5 == 0, &mut stream);
        let learnt = learn(&variables, rows);
        let knowledge = some_knowledge(n, &mut stream);
        let knobs = Knobs { starts: 1 + round % 2, bes: round % 3 == 0, ..Knobs::default() };
        let limits = Limits { per_class: 5_000, ..Limits::default() };
        let names = names(n);
        let discovery =
            Discovery { variables: &names, knowledge: &knowledge, knobs: &knobs, singular: Singular::Clamp, limits: &limits, seed: 2 };
        for (b, moments) in learnt.bootstraps(5, 3).iter().enumerate() {
            let found = discovery.of_replicate(b, &Score::new(&learnt.encoding, moments, knobs.penalty)).unwrap();
            let place = |v: usize| found.order.iter().position(|&u| u == v).unwrap();
            assert!(knobs.bes || found.dag.edges().iter().all(|&(u, v)| place(u) < place(v)), "order");
            assert_eq!(found.order.len(), n);
            assert!(found.dag.keeps(&knowledge) && found.listed.drawn == Drawn::All);
            assert!(found.listed.dags.contains(&found.dag) && found.listed.dags.is_sorted_by_key(Dag::edges));
            let whole = |dag: &Dag| dag.keeps(&knowledge) && Pdag::of_dag(dag, &knowledge) == found.class;
            assert!(found.listed.dags.iter().all(whole), "{:?}", found.class);
            let common = |edge: &(usize, usize)| found.listed.dags.iter().all(|dag| dag.parents[edge.1].has(edge.0));
            assert!(found.class.directed().iter().all(common));
            assert!(!found.class.undirected().iter().any(|&(u, v)| common(&(u, v)) || common(&(v, u))));
            directed += found.class.directed().len();
        }
    }
    assert!(directed > 100);
}

/// Growing and shrinking by the book, every score anew.
fn by_the_book(score: &Score, knowledge: &Knowledge, x: usize, all: Nodes, before: Nodes) -> (f64, Nodes) {
    let of = |parents: Nodes| score.local(x, parents).score;
    let mut available = (all - knowledge.forbidden_causes(x)).without(x);
    let mut parents = Nodes::NONE;
    'grow: loop {
        let now = of(parents);
        let mut branches: Vec<(usize, f64)> = available.into_iter().map(|y| (y, of(parents.with(y)))).collect();
        branches.retain(|&(y, gained)| knowledge.required(y, x) || gained >= now);
        branches.sort_by(|a, b| {
            let required = |y: usize| !knowledge.required(y, x);
            required(a.0).cmp(&required(b.0)).then(if required(a.0) { b.1.total_cmp(&a.1) } else { std::cmp::Ordering::Equal })
        });
        for (y, _) in branches {
            available.remove(y);
            if before.has(y) {
                parents.insert(y);
                continue 'grow;
            }
        }
        break;
    }
    let mut best = of(parents);
    loop {
        let removals = (parents - knowledge.required_causes(x)).into_iter().map(|y| (of(parents.without(y)), y));
        let first_best =
            removals.fold(None, |found: Option<(f64, usize)>, next| if found.is_none_or(|f| next.0 > f.0) { Some(next) } else { found });
        match first_best {
            Some((gained, y)) if gained > best => {
                best = gained;
                parents.remove(y);
            }
            _ => return (best, parents),
        }
    }
}

#[test]
fn trees_give_what_the_book_gives() {
    let mut stream = Stream::new(12, "trees");
    for round in 0..30 {
        let n = 4 + round % 6;
        let (variables, rows) = rows(n, 120, false, &mut stream);
        let learnt = learn(&variables, rows);
        let knowledge = some_knowledge(n, &mut stream);
        let score = Score::new(&learnt.encoding, &learnt.bootstraps(1, 1)[0], 1.0);
        let all = Nodes::first(n);
        let mut trees = Trees::new(&score, &knowledge, all);
        for _ in 0..60 {
            let x = below(&mut stream, n);
            let before: Nodes = (0..n).filter(|&y| y != x && stream.u01() < 0.6).collect();
            let (found, parents) = trees.trace(x, before);
            let (expected, by_book) = by_the_book(&score, &knowledge, x, all, before);
            assert_eq!(parents, by_book, "parents of {x} after {before:?}");
            assert!((found - expected).abs() < 1e-9 * expected.abs(), "{found} instead of {expected}");
        }
    }
}

#[test]
fn a_variable_with_one_value_in_a_replicate_is_alone_there() {
    let mut stream = Stream::new(13, "alone");
    let (variables, mut rows) = rows(5, 200, false, &mut stream);
    // `v2` has its second and third level in the first ten rows only, `v3` has another value than 1 there only.
    if let Column::Code(codes) = &mut rows.columns[2] {
        codes.iter_mut().skip(10).for_each(|code| *code = 0);
        (codes[0], codes[1]) = (1, 2);
    }
    if let Column::Number(numbers) = &mut rows.columns[3] {
        numbers.iter_mut().skip(10).for_each(|x| *x = 1.0);
    }
    let learnt = learn(&variables, rows);
    let times: Vec<u32> = (0..200).map(|i| u32::from(i >= 10)).collect();
    let moments = learnt.moments(&Draws::given(vec![times], &learnt.blocks.sizes)).remove(0);
    let score = Score::new(&learnt.encoding, &moments, 2.0);
    let (names, knobs, limits) = (names(5), Knobs::default(), Limits::default());
    let required = |pairs: &[(&str, &str)]| Stated {
        required: pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
        ..Stated::default()
    };
    for pairs in [&[][..], &[("v2", "v4"), ("v0", "v3")][..]] {
        let knowledge = Knowledge::new(&names, &required(pairs)).unwrap();
        let discovery =
            Discovery { variables: &names, knowledge: &knowledge, knobs: &knobs, singular: Singular::Error, limits: &limits, seed: 2 };
        let found = discovery.of_replicate(0, &score).unwrap();
        let touching = found.dag.edges().into_iter().filter(|(u, v)| [2, 3].contains(u) || [2, 3].contains(v)).count();
        assert_eq!(touching, pairs.len());
        assert!(found.score.is_finite() && found.dag.keeps(&knowledge));
    }
    // The equations with such parents stay finite.
    let model = crate::causal::scm::Fits::new(&learnt.encoding, &moments).model(&Dag::from_edges(5, &[(2, 4), (3, 4), (3, 0)]).unwrap());
    let all = model.equations.iter().flatten().flat_map(|e| &e.columns);
    assert!(all.clone().count() == 2 && all.flat_map(|(a, b)| b.iter().chain([a])).all(|x| x.is_finite()));
}

/// Hardly any rows, replicates of one row again and again, more levels than rows: scores are conventions then, but there are some.
#[test]
fn hardly_any_rows_are_no_reason_to_panic() {
    let mut stream = Stream::new(16, "few");
    for round in 0..40 {
        let n = 2 + round % 7;
        let n_rows = 3 + round % 4;
        let (variables, rows) = rows(n, n_rows, false, &mut stream);
        let labels = vec![true; n_rows];
        let rows = TrainingRows::in_memory(rows, labels);
        let Ok((encoding, blocks)) = Encoding::fit(&variables, &rows, Missing::Error, None) else { continue };
        let mut times: Vec<Vec<u32>> = (0..n_rows).map(|i| (0..n_rows).map(|j| if i == j { n_rows as u32 } else { 0 }).collect()).collect();
        times.push(vec![1; n_rows]);
        let knowledge = some_knowledge(n, &mut stream);
        let (names, knobs, limits) = (names(n), Knobs::default(), Limits { per_class: 50_000, ..Limits::default() });
        let discovery =
            Discovery { variables: &names, knowledge: &knowledge, knobs: &knobs, singular: Singular::Clamp, limits: &limits, seed: 2 };
        for moments in Moments::of_replicates(&encoding, &blocks, &rows, &Draws::given(times, &blocks.sizes)).unwrap() {
            let found = discovery.of_replicate(0, &Score::new(&encoding, &moments, 2.0)).unwrap();
            assert!(found.score.is_finite() && found.dag.keeps(&knowledge));
            for dag in found.listed.dags.iter().take(20) {
                let model = crate::causal::scm::Fits::new(&encoding, &moments).model(dag);
                assert!(model.shift(&encoding, 0).iter().all(|x| x.is_finite()));
            }
        }
    }
}

fn bag_on(threads: usize, learnt: &Learnt, moments: &[Moments]) -> String {
    let (names, knobs, limits) = (names(learnt.encoding.variables.len()), Knobs { starts: 3, ..Knobs::default() }, Limits::default());
    let knowledge = Knowledge::none(names.len());
    let discovery =
        Discovery { variables: &names, knowledge: &knowledge, knobs: &knobs, singular: Singular::Clamp, limits: &limits, seed: 9 };
    let work = |b: usize| discovery.of_replicate(b, &Score::new(&learnt.encoding, &moments[b], 2.0)).unwrap();
    let mut found: Vec<(usize, Replicate)> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|t| scope.spawn(move || (t..moments.len()).step_by(threads).rev().map(|b| (b, work(b))).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    found.sort_by_key(|(b, _)| *b);
    let replicates: Vec<Replicate> = found.into_iter().map(|(_, replicate)| replicate).collect();
    let bag = Bag::of(names.clone(), 0, &replicates, &limits).unwrap();
    for weighting in [Weighting::Dag, Weighting::Replicate] {
        for shares in [bag.edges(weighting), bag.edges_below(weighting)] {
            assert!((0.0..=1.0).contains(&shares.entropy) && shares.edges.iter().all(|e| e.share > 0.0 && e.share <= 1.0));
        }
    }
    assert_eq!(bag.graphs_below().iter().map(|(_, copies)| copies).sum::<u64>(), bag.len() as u64);
    serde_json::to_string(&(&bag, bag.edges(Weighting::Replicate), bag.edges_below(Weighting::Dag))).unwrap()
}

#[test]
fn neither_threads_nor_batches_change_a_byte() {
    let mut stream = Stream::new(14, "threads");
    let (variables, rows) = rows(7, 5_000, false, &mut stream);
    let learnt = learn(&variables, rows.clone());
    let moments = learnt.bootstraps(3, 12);
    let one = bag_on(1, &learnt, &moments);
    assert!([2, 8].iter().all(|&threads| bag_on(threads, &learnt, &moments) == one));
    // Row groups of one, two and five blocks; the last block is short.
    for step in [1, 2, 5] {
        let starts: Vec<usize> = (0..5_000).step_by(1024 * step).collect();
        let group = |(number, &start): (usize, &usize)| {
            let end = (start + 1024 * step).min(5_000);
            let blocks = (start..end).step_by(1024).map(|s| s - start..(s + 1024).min(end) - start).collect();
            let positions: Vec<usize> = (start..end).collect();
            TrainingGroup { number, rows: rows.take(&positions), labels: vec![true; end - start], weights: Vec::new(), blocks }
        };
        let in_groups = TrainingRows::in_groups(starts.iter().enumerate().map(group).collect());
        let (encoding, blocks) = Encoding::fit(&variables, &in_groups, Missing::Error, None).unwrap();
        assert!(encoding == learnt.encoding && blocks.sizes == learnt.blocks.sizes, "groups of {step} blocks");
        let again = Moments::of_replicates(&encoding, &blocks, &in_groups, &Draws::seeded(3, 12, &blocks.sizes)).unwrap();
        assert!(again == moments, "groups of {step} blocks");
    }
}

#[test]
fn a_stratified_bootstrap_keeps_the_groups() {
    let mut stream = Stream::new(15, "strata");
    let (variables, rows) = rows(3, 3_000, false, &mut stream);
    let labels = vec![true; rows.n];
    let rows = TrainingRows::in_memory(rows, labels);
    let (encoding, blocks) = Encoding::fit(&variables, &rows, Missing::Error, Some(2)).unwrap();
    let draws = Draws::seeded(1, 5, &blocks.sizes);
    let columns = encoding.variables[2].columns.clone();
    for moments in Moments::of_replicates(&encoding, &blocks, &rows, &draws).unwrap() {
        for (level, column) in columns.clone().enumerate() {
            assert_eq!(moments.sum(column), blocks.sizes.iter().map(|block| block[level]).sum::<u64>() as f64);
        }
    }
}

#[test]
fn limits_stop_what_is_too_large() {
    let complete = Dag::from_edges(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).unwrap();
    let class = Pdag::of_dag(&complete, &Knowledge::none(4));
    let listed = Listed { size: Some(1), dags: vec![complete], drawn: Drawn::All };
    let limits = Limits { per_class: 23, total: 10, ..Limits::default() };
    let error = Bag::given(names(4), 0, &class, &listed, 11, &limits).unwrap_err().to_string();
    assert!(error.contains("too-many-graphs") && error.contains("11 graphs") && error.contains("at most 10"), "{error}");
    let error = crate::causal::bag::list("bootstrap 7", &class, &limits, &mut Stream::new(1, "")).unwrap_err().to_string();
    assert!(error.contains("bootstrap 7") && error.contains("24") && error.contains("at most 23"), "{error}");
}

#[test]
fn drawn_graphs_are_checked() {
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> { list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect() };
    let check = |directed: &[(&str, &str)], undirected: &[(&str, &str)], knowledge: &Stated| {
        given(&names(4), &pairs(directed), &pairs(undirected), &Knowledge::new(&names(4), knowledge).unwrap())
    };
    let none = Stated::default();
    // R1 of Meek: no new collider at v1.
    let class = check(&[("v0", "v1")], &[("v1", "v2")], &none).unwrap();
    assert_eq!(class.directed(), [(0, 1), (1, 2)]);
    assert_eq!(check(&[("v0", "v9")], &[], &none), Err(BadGraph::UnknownVariable("v9".to_owned())));
    assert_eq!(check(&[("v0", "v0")], &[], &none), Err(BadGraph::Twice("v0".to_owned(), "v0".to_owned())));
    assert_eq!(check(&[("v0", "v1")], &[("v1", "v0")], &none), Err(BadGraph::Twice("v1".to_owned(), "v0".to_owned())));
    let cycle = check(&[("v0", "v1"), ("v1", "v2"), ("v2", "v0")], &[], &none);
    assert_eq!(cycle, Err(BadGraph::Cycle(["v0", "v1", "v2"].map(str::to_owned).to_vec())));
    // A ring of four without a chord cannot be directed without a collider.
    assert_eq!(check(&[], &[("v0", "v1"), ("v1", "v2"), ("v2", "v3"), ("v3", "v0")], &none), Err(BadGraph::NoDag));
    // v0 -> v1 - v2 <- v3: either way there is a new collider.
    assert_eq!(check(&[("v0", "v1"), ("v3", "v2")], &[("v1", "v2")], &none), Err(BadGraph::NoDag));
    let forbidden = Stated { forbidden: pairs(&[("v0", "v1")]), ..Stated::default() };
    assert_eq!(check(&[("v0", "v1")], &[], &forbidden), Err(BadGraph::AgainstKnowledge("v0".to_owned(), "v1".to_owned())));
    assert_eq!(check(&[], &[("v0", "v1")], &forbidden).unwrap().directed(), [(1, 0)]);
    let required = Stated { required: pairs(&[("v2", "v3")]), ..Stated::default() };
    assert_eq!(check(&[("v0", "v1")], &[], &required), Err(BadGraph::AgainstKnowledge("v2".to_owned(), "v3".to_owned())));
}
