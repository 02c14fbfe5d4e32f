//! Invariants of the engine for any input: knowledge is obeyed, classes are complete, and caches,
//! threads and batches change nothing.

use super::frame::{StatedKnowledge, boss_of, graph_search};
use crate::causal::bag::{BagOfDags, GivenGraphs, MemberWeighting};
use crate::causal::bootstrap_draws::BootstrapDraws;
use crate::causal::boss::{BossBlock, SingularRule};
use crate::causal::class::{DagSampling, ListedDags};
use crate::causal::encoding::{GraphEncoding, GraphVariable, MissingRows, TrainingBlocks};
use crate::causal::given::{GivenGraphError, given_class};
use crate::causal::graph::{Dag, Pdag};
use crate::causal::grow_shrink::GrowShrinkForest;
use crate::causal::knowledge::Knowledge;
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::causal::score::GraphScore;
use crate::causal::search::{DagLimits, SearchedReplicate};
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::data::{FeatureColumn, FeatureRows};
use crate::num::seed::RandomStream;
use crate::param::Count;
use crate::tests::Says;

fn names(n: usize) -> Vec<String> {
    (0..n).map(|v| format!("v{v}")).collect()
}

/// Rows of `n` dependent variables, every third with three levels; optionally the last repeats the
/// first.
fn rows(
    n: usize,
    n_rows: usize,
    repeats: bool,
    stream: &mut RandomStream,
) -> (Vec<GraphVariable>, FeatureRows) {
    let effects: Vec<Vec<f64>> = (0..n)
        .map(|v| (0..v).map(|_| if stream.u01() < 0.4 { stream.normal() } else { 0.0 }).collect())
        .collect();
    let mut values = vec![Vec::with_capacity(n_rows); n];
    for _ in 0..n_rows {
        for v in 0..n {
            let cause: f64 =
                (0..v).map(|u| effects[v][u] * values[u].last().copied().unwrap_or(0.0)).sum();
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
    let variables = (0..n)
        .map(|v| GraphVariable { name: format!("v{v}"), feature: v, levels: levels(v) })
        .collect();
    let column = |(v, x): (usize, Vec<f64>)| {
        if has_levels(v) {
            FeatureColumn::Code(x.iter().map(|x| *x as u32).collect())
        } else {
            FeatureColumn::Number(x)
        }
    };
    (variables, FeatureRows::of(values.into_iter().enumerate().map(column).collect()))
}

struct EncodedTraining {
    encoding: GraphEncoding,
    blocks: TrainingBlocks,
    rows: TrainingRows<'static>,
}

fn learn(variables: &[GraphVariable], rows: FeatureRows) -> EncodedTraining {
    let labels = vec![true; rows.n];
    let rows = TrainingRows::in_memory(rows, labels);
    let (encoding, blocks) =
        GraphEncoding::fit(variables, &rows, MissingRows::Error, None).unwrap();
    EncodedTraining { encoding, blocks, rows }
}

impl EncodedTraining {
    fn moments(&self, draws: &BootstrapDraws) -> Vec<EncodedMoments> {
        EncodedMoments::for_replicates(&self.encoding, &self.blocks, &self.rows, draws).unwrap()
    }

    fn bootstraps(&self, seed: u64, n: usize) -> Vec<EncodedMoments> {
        self.moments(&BootstrapDraws::seeded(seed, n, &self.blocks.sizes))
    }
}

/// Random knowledge that a random DAG satisfies: tiers for some variables, forbidden and required
/// edges.
fn some_knowledge(n: usize, stream: &mut RandomStream) -> Knowledge {
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| order.swap(i, stream.below(i + 1)));
    let mut stated = StatedKnowledge { tiers: vec![Vec::new(); 3], ..StatedKnowledge::default() };
    let all_tiers = stream.u01() < 0.5;
    let mut tier = vec![None; n];
    for (place, &v) in order.iter().enumerate() {
        if all_tiers || stream.u01() < 0.5 {
            tier[v] = Some(3 * place / n);
            stated.tiers[3 * place / n].push(format!("v{v}"));
        }
    }
    let within = stream.below(4);
    if within < 3 {
        stated.forbidden_within_tier.push(within);
    }
    for i in 0..n {
        for j in 0..i {
            let (cause, effect) = (order[j], order[i]);
            let pair = (format!("v{cause}"), format!("v{effect}"));
            let free =
                tier[cause].is_none() || tier[cause] != tier[effect] || tier[cause] != Some(within);
            match stream.below(12) {
                0 | 1 => stated.forbidden.push(pair),
                2 | 3 => stated.forbidden.push((pair.1, pair.0)),
                4 if free => stated.required.push(pair),
                _ => {}
            }
        }
    }
    Knowledge::new(&names(n), &stated.scenario()).unwrap()
}

#[test]
fn knowledge_is_kept_and_classes_are_whole() {
    let mut stream = RandomStream::new(11, "knowledge");
    let mut directed = 0;
    for round in 0..60 {
        let n = 3 + round % 6;
        let (variables, rows) = rows(n, 150, round % 5 == 0, &mut stream);
        let learnt = learn(&variables, rows);
        let knowledge = some_knowledge(n, &mut stream);
        let starts = Count::new(1 + round as u64 % 2).unwrap();
        let knobs = BossBlock { bes: round % 3 == 0, ..boss_of(starts) };
        let limits = DagLimits { per_class: 5_000, ..DagLimits::default() };
        let names = names(n);
        let discovery = graph_search(&names, &knowledge, (&knobs, &limits), 2);
        for (b, moments) in learnt.bootstraps(5, 3).iter().enumerate() {
            let found = discovery
                .search_replicate(
                    b,
                    &GraphScore::new(&learnt.encoding, moments, knobs.penalty.get()),
                )
                .unwrap();
            let place = |v: usize| found.order.iter().position(|&u| u == v).unwrap();
            assert!(
                knobs.bes || found.dag.edges().iter().all(|&(u, v)| place(u) < place(v)),
                "order"
            );
            assert_eq!(found.order.len(), n);
            assert!(found.dag.satisfies(&knowledge) && found.listed.drawn == DagSampling::All);
            assert!(
                found.listed.dags.contains(&found.dag)
                    && found.listed.dags.is_sorted_by_key(Dag::edges)
            );
            let whole = |dag: &Dag| {
                dag.satisfies(&knowledge) && Pdag::from_dag(dag, &knowledge) == found.class
            };
            assert!(found.listed.dags.iter().all(whole), "{:?}", found.class);
            let common = |edge: &(usize, usize)| {
                found.listed.dags.iter().all(|dag| dag.parents[edge.1].contains(edge.0))
            };
            assert!(found.class.directed().iter().all(common));
            assert!(
                !found.class.undirected().iter().any(|&(u, v)| common(&(u, v)) || common(&(v, u)))
            );
            directed += found.class.directed().len();
        }
    }
    assert!(directed > 100);
}

/// Growing and shrinking as the algorithm is printed, with every score computed directly.
fn reference_parents(
    score: &GraphScore,
    knowledge: &Knowledge,
    x: usize,
    all: NodeSet,
    before: NodeSet,
) -> (f64, NodeSet) {
    let score_of = |parents: NodeSet| score.local_score(x, parents).score;
    let mut available = (all - knowledge.forbidden[x]).without(x);
    let mut parents = NodeSet::EMPTY;
    'grow: loop {
        let now = score_of(parents);
        let mut branches: Vec<(usize, f64)> =
            available.into_iter().map(|y| (y, score_of(parents.with(y)))).collect();
        branches.retain(|&(y, gained)| knowledge.required(y, x) || gained >= now);
        branches.sort_by(|a, b| {
            let required = |y: usize| !knowledge.required(y, x);
            required(a.0).cmp(&required(b.0)).then(if required(a.0) {
                b.1.total_cmp(&a.1)
            } else {
                std::cmp::Ordering::Equal
            })
        });
        for (y, _) in branches {
            available.remove(y);
            if before.contains(y) {
                parents.insert(y);
                continue 'grow;
            }
        }
        break;
    }
    let mut best = score_of(parents);
    loop {
        let removals = (parents - knowledge.required[x])
            .into_iter()
            .map(|y| (score_of(parents.without(y)), y));
        let first_best = removals.fold(None, |found: Option<(f64, usize)>, next| {
            if found.is_none_or(|f| next.0 > f.0) { Some(next) } else { found }
        });
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
    let mut stream = RandomStream::new(12, "trees");
    for round in 0..30 {
        let n = 4 + round % 6;
        let (variables, rows) = rows(n, 120, false, &mut stream);
        let learnt = learn(&variables, rows);
        let knowledge = some_knowledge(n, &mut stream);
        let score = GraphScore::new(&learnt.encoding, &learnt.bootstraps(1, 1)[0], 1.0);
        let all = NodeSet::first_n(n);
        let mut trees = GrowShrinkForest::new(&score, &knowledge, all);
        for _ in 0..60 {
            let x = stream.below(n);
            let before: NodeSet = (0..n).filter(|&y| y != x && stream.u01() < 0.6).collect();
            let (found, parents) = trees.best_parents(x, before);
            let (expected, by_book) = reference_parents(&score, &knowledge, x, all, before);
            assert_eq!(parents, by_book, "parents of {x} after {before:?}");
            assert!(
                (found - expected).abs() < 1e-9 * expected.abs(),
                "{found} instead of {expected}"
            );
        }
    }
}

#[test]
fn a_variable_with_one_value_in_a_replicate_is_alone_there() {
    let mut stream = RandomStream::new(13, "alone");
    let (variables, mut rows) = rows(5, 200, false, &mut stream);
    // `v2` has its second and third level in the first ten rows only, `v3` has another value than 1
    // there only.
    if let FeatureColumn::Code(codes) = &mut rows.columns[2] {
        codes.iter_mut().skip(10).for_each(|code| *code = 0);
        (codes[0], codes[1]) = (1, 2);
    }
    if let FeatureColumn::Number(numbers) = &mut rows.columns[3] {
        numbers.iter_mut().skip(10).for_each(|x| *x = 1.0);
    }
    let learnt = learn(&variables, rows);
    let times: Vec<u32> = (0..200).map(|i| u32::from(i >= 10)).collect();
    let moments = learnt
        .moments(&BootstrapDraws::from_multiplicities(vec![times], &learnt.blocks.sizes))
        .remove(0);
    let score = GraphScore::new(&learnt.encoding, &moments, 2.0);
    let (names, limits) = (names(5), DagLimits::default());
    let knobs = BossBlock { singular: SingularRule::Error, ..boss_of(Count::of::<10>()) };
    let required = |pairs: &[(&str, &str)]| StatedKnowledge {
        required: pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
        ..StatedKnowledge::default()
    };
    for pairs in [&[][..], &[("v2", "v4"), ("v0", "v3")][..]] {
        let knowledge = Knowledge::new(&names, &required(pairs).scenario()).unwrap();
        let discovery = graph_search(&names, &knowledge, (&knobs, &limits), 2);
        let found = discovery.search_replicate(0, &score).unwrap();
        let touching = found
            .dag
            .edges()
            .into_iter()
            .filter(|(u, v)| [2, 3].contains(u) || [2, 3].contains(v))
            .count();
        assert_eq!(touching, pairs.len());
        assert!(found.score.is_finite() && found.dag.satisfies(&knowledge));
    }
    // The equations with such parents stay finite.
    let model = crate::causal::scm::EquationCache::new(&learnt.encoding, &moments)
        .model(&Dag::from_edges(5, &[(2, 4), (3, 4), (3, 0)]).unwrap());
    let all = model.equations.iter().flatten().flat_map(|e| &e.columns);
    assert!(
        all.clone().count() == 2
            && all.flat_map(|(a, b)| b.iter().chain([a])).all(|x| x.is_finite())
    );
}

/// Very few rows, replicates that repeat one row, more levels than rows: scores follow conventions,
/// and the search still ends.
#[test]
fn hardly_any_rows_are_no_reason_to_panic() {
    let mut stream = RandomStream::new(16, "few");
    for round in 0..40 {
        let n = 2 + round % 7;
        let n_rows = 3 + round % 4;
        let (variables, rows) = rows(n, n_rows, false, &mut stream);
        let labels = vec![true; n_rows];
        let rows = TrainingRows::in_memory(rows, labels);
        let Ok((encoding, blocks)) =
            GraphEncoding::fit(&variables, &rows, MissingRows::Error, None)
        else {
            continue;
        };
        let mut times: Vec<Vec<u32>> = (0..n_rows)
            .map(|i| (0..n_rows).map(|j| if i == j { n_rows as u32 } else { 0 }).collect())
            .collect();
        times.push(vec![1; n_rows]);
        let knowledge = some_knowledge(n, &mut stream);
        let (names, knobs, limits) = (
            names(n),
            boss_of(Count::of::<10>()),
            DagLimits { per_class: 50_000, ..DagLimits::default() },
        );
        let discovery = graph_search(&names, &knowledge, (&knobs, &limits), 2);
        for moments in EncodedMoments::for_replicates(
            &encoding,
            &blocks,
            &rows,
            &BootstrapDraws::from_multiplicities(times, &blocks.sizes),
        )
        .unwrap()
        {
            let found =
                discovery.search_replicate(0, &GraphScore::new(&encoding, &moments, 2.0)).unwrap();
            assert!(found.score.is_finite() && found.dag.satisfies(&knowledge));
            for dag in found.listed.dags.iter().take(20) {
                let model = crate::causal::scm::EquationCache::new(&encoding, &moments).model(dag);
                assert!(model.shift(0, &[(0, 1.0)]).iter().all(|x| x.is_finite()));
            }
        }
    }
}

fn bag_on(threads: usize, learnt: &EncodedTraining, moments: &[EncodedMoments]) -> String {
    let (names, knobs, limits) =
        (names(learnt.encoding.variables.len()), boss_of(Count::of::<3>()), DagLimits::default());
    let knowledge = Knowledge::none(names.len());
    let discovery = graph_search(&names, &knowledge, (&knobs, &limits), 9);
    let work = |b: usize| {
        discovery.search_replicate(b, &GraphScore::new(&learnt.encoding, &moments[b], 2.0)).unwrap()
    };
    let mut found: Vec<(usize, SearchedReplicate)> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|t| {
                scope.spawn(move || {
                    (t..moments.len())
                        .step_by(threads)
                        .rev()
                        .map(|b| (b, work(b)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    found.sort_by_key(|(b, _)| *b);
    let replicates: Vec<SearchedReplicate> =
        found.into_iter().map(|(_, replicate)| replicate).collect();
    let bag = BagOfDags::from_replicates(names.clone(), 0, &replicates, &limits).unwrap();
    for weighting in [MemberWeighting::Dag, MemberWeighting::Replicate] {
        for shares in [bag.edge_shares(weighting), bag.descendant_edge_shares(weighting)] {
            assert!(
                (0.0..=1.0).contains(&shares.entropy)
                    && shares.edges.iter().all(|e| e.share > 0.0 && e.share <= 1.0)
            );
        }
    }
    assert_eq!(
        bag.descendant_graphs().iter().map(|(_, copies)| copies).sum::<u64>(),
        bag.len() as u64
    );
    serde_json::to_string(&(
        &bag,
        bag.edge_shares(MemberWeighting::Replicate),
        bag.descendant_edge_shares(MemberWeighting::Dag),
    ))
    .unwrap()
}

#[test]
fn neither_threads_nor_batches_change_a_byte() {
    let mut stream = RandomStream::new(14, "threads");
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
            let blocks = (start..end)
                .step_by(1024)
                .map(|s| s - start..(s + 1024).min(end) - start)
                .collect();
            let positions: Vec<usize> = (start..end).collect();
            TrainingBatch {
                number,
                rows: rows.take(&positions),
                labels: vec![true; end - start],
                weights: Vec::new(),
                persons: Vec::new(),
                blocks,
            }
        };
        let in_groups = TrainingRows::in_groups(starts.iter().enumerate().map(group).collect());
        let (encoding, blocks) =
            GraphEncoding::fit(&variables, &in_groups, MissingRows::Error, None).unwrap();
        assert!(
            encoding == learnt.encoding && blocks.sizes == learnt.blocks.sizes,
            "groups of {step} blocks"
        );
        let again = EncodedMoments::for_replicates(
            &encoding,
            &blocks,
            &in_groups,
            &BootstrapDraws::seeded(3, 12, &blocks.sizes),
        )
        .unwrap();
        assert!(again == moments, "groups of {step} blocks");
    }
}

#[test]
fn a_stratified_bootstrap_keeps_the_groups() {
    let mut stream = RandomStream::new(15, "strata");
    let (variables, rows) = rows(3, 3_000, false, &mut stream);
    let labels = vec![true; rows.n];
    let rows = TrainingRows::in_memory(rows, labels);
    let (encoding, blocks) =
        GraphEncoding::fit(&variables, &rows, MissingRows::Error, Some(2)).unwrap();
    let draws = BootstrapDraws::seeded(1, 5, &blocks.sizes);
    let columns = encoding.variables[2].columns.clone();
    for moments in EncodedMoments::for_replicates(&encoding, &blocks, &rows, &draws).unwrap() {
        for (level, column) in columns.clone().enumerate() {
            assert_eq!(
                moments.sum(column),
                blocks.sizes.iter().map(|block| block[level]).sum::<u64>() as f64
            );
        }
    }
}

#[test]
fn limits_stop_what_is_too_large() {
    let complete = Dag::from_edges(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).unwrap();
    let listed = ListedDags { size: Some(1), dags: vec![complete], drawn: DagSampling::All };
    let limits = DagLimits { total: 10, ..DagLimits::default() };
    let given = GivenGraphs { n_classes: 1, listed };
    let error = BagOfDags::from_given(names(4), 0, &given, 11, &limits).unwrap_err().to_string();
    error.says(&["too-many-graphs", "11 graphs", "the limit is 10"]);
}

#[test]
fn drawn_graphs_are_checked() {
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    let check =
        |directed: &[(&str, &str)], undirected: &[(&str, &str)], knowledge: &StatedKnowledge| {
            given_class(
                &names(4),
                &pairs(directed),
                &pairs(undirected),
                &Knowledge::new(&names(4), &knowledge.scenario()).unwrap(),
            )
        };
    let none = StatedKnowledge::default();
    // R1 of Meek: no new collider at v1.
    let class = check(&[("v0", "v1")], &[("v1", "v2")], &none).unwrap();
    assert_eq!(class.directed(), [(0, 1), (1, 2)]);
    assert_eq!(
        check(&[("v0", "v9")], &[], &none),
        Err(GivenGraphError::UnknownVariable("v9".to_owned()))
    );
    assert_eq!(
        check(&[("v0", "v0")], &[], &none),
        Err(GivenGraphError::DuplicateEdge("v0".to_owned(), "v0".to_owned()))
    );
    assert_eq!(
        check(&[("v0", "v1")], &[("v1", "v0")], &none),
        Err(GivenGraphError::DuplicateEdge("v1".to_owned(), "v0".to_owned()))
    );
    let cycle = check(&[("v0", "v1"), ("v1", "v2"), ("v2", "v0")], &[], &none);
    assert_eq!(cycle, Err(GivenGraphError::Cycle(["v0", "v1", "v2"].map(str::to_owned).to_vec())));
    // A ring of four without a chord cannot be directed without a collider.
    assert_eq!(
        check(&[], &[("v0", "v1"), ("v1", "v2"), ("v2", "v3"), ("v3", "v0")], &none),
        Err(GivenGraphError::NoConsistentDag)
    );
    // v0 -> v1 - v2 <- v3: either way there is a new collider.
    assert_eq!(
        check(&[("v0", "v1"), ("v3", "v2")], &[("v1", "v2")], &none),
        Err(GivenGraphError::NoConsistentDag)
    );
    let forbidden =
        StatedKnowledge { forbidden: pairs(&[("v0", "v1")]), ..StatedKnowledge::default() };
    assert_eq!(
        check(&[("v0", "v1")], &[], &forbidden),
        Err(GivenGraphError::ContradictsKnowledge("v0".to_owned(), "v1".to_owned()))
    );
    assert_eq!(check(&[], &[("v0", "v1")], &forbidden).unwrap().directed(), [(1, 0)]);
    let required =
        StatedKnowledge { required: pairs(&[("v2", "v3")]), ..StatedKnowledge::default() };
    assert_eq!(
        check(&[("v0", "v1")], &[], &required),
        Err(GivenGraphError::ContradictsKnowledge("v2".to_owned(), "v3".to_owned()))
    );
}
