//! The strategy `transport` against plans computed by hand: strata, distances, images, blocks.

use std::collections::BTreeMap;
use std::path::Path;

use super::distance::{TransportCost, TransportDistance};
use super::{
    SolvedProblem, TransportImage, TransportMatch, TransportMatching, TransportProblem,
    TransportSettings,
};
use crate::counterfactual::SampleBatch;
use crate::counterfactual::variable::{CategoryLevels, StrategyVariable, VariableScale};
use crate::data::{FeatureColumn, FeatureRows, MISSING, MISSING_GROUP};
use crate::num::seed::RandomStream;
use crate::param::{Count, Seed};

/// Rows with owned parts, for tests.
#[derive(Clone)]
struct TestPopulation {
    rows: FeatureRows,
    keys: Vec<u64>,
    groups: Vec<u16>,
    classes: Vec<Option<u32>>,
}

impl TestPopulation {
    /// Rows of one group and class, with keys from `first_key` on.
    fn new(columns: Vec<FeatureColumn>, n: usize, group: u16, first_key: u64) -> TestPopulation {
        let keys = (first_key..).take(n).collect();
        TestPopulation {
            rows: FeatureRows::of(columns),
            keys,
            groups: vec![group; n],
            classes: vec![Some(0); n],
        }
    }

    fn batch(&self) -> SampleBatch<'_> {
        let TestPopulation { rows, keys, groups, classes } = self;
        SampleBatch { keys, rows, groups, classes }
    }
}

fn numbers(values: &[f64]) -> FeatureColumn {
    FeatureColumn::Number(values.to_vec())
}

fn variable(column: usize, scale: VariableScale) -> StrategyVariable {
    StrategyVariable { name: column.to_string(), columns: vec![column], scale }
}

const NUMBER: VariableScale = VariableScale::Continuous { integer: false };

/// Ten levels, one of which may represent missing values.
fn category(barred: Option<u32>) -> VariableScale {
    VariableScale::Categorical(CategoryLevels { n: 10, barred, counterparts: vec![] })
}

struct TransportRun {
    blocks: Vec<TransportProblem>,
    solved: Vec<SolvedProblem>,
    parent: Vec<usize>,
    rows: FeatureRows,
}

fn matching<'a>(
    settings: &TransportSettings,
    distance: &'a TransportDistance,
    samples: &'a TestPopulation,
    reference: &'a TestPopulation,
) -> TransportMatching<'a> {
    let (samples, reference) = (samples.batch(), reference.batch());
    TransportMatching { settings: *settings, distance, seed: Seed(42), samples, reference }
}

fn run(
    settings: &TransportSettings,
    distance: &TransportDistance,
    samples: &TestPopulation,
    reference: &TestPopulation,
    to: u16,
) -> TransportRun {
    let matching = matching(settings, distance, samples, reference);
    let blocks = matching.problems(to).problems;
    let solved: Vec<SolvedProblem> = blocks.iter().map(|b| matching.solve(b).unwrap()).collect();
    let (parent, rows) = matching.images(&blocks, &solved);
    TransportRun { blocks, solved, parent, rows }
}

/// The targets of each sample, first the one with most mass, each with its share of the row.
fn plans(ran: &TransportRun) -> BTreeMap<usize, Vec<(usize, f64)>> {
    let mut plans = BTreeMap::new();
    for (block, solved) in ran.blocks.iter().zip(&ran.solved) {
        for (&sample, &point) in block.sources.iter().zip(&solved.point_of) {
            let matched = &solved.points[point as usize];
            let share = |m: &TransportMatch| (m.target, m.mass as f64 / matched.supply as f64);
            plans.insert(sample, matched.matches.iter().map(share).collect());
        }
    }
    plans
}

fn exact() -> TransportSettings {
    TransportSettings {
        image: TransportImage::Argmax,
        cost: TransportCost::L2Squared,
        max_rows: Count::new(4000).unwrap(),
    }
}

fn with(image: TransportImage) -> TransportSettings {
    TransportSettings { image, ..exact() }
}

/// Computed by hand: {0, 1} to {0, 1, 4}, unscaled; cost 19/6.
#[test]
fn two_sources_and_three_targets() {
    let samples = TestPopulation::new(vec![numbers(&[0.0, 1.0])], 2, 0, 0);
    let reference = TestPopulation::new(vec![numbers(&[0.0, 1.0, 4.0])], 3, 1, 2);
    let distance =
        TransportDistance::with_units(vec![variable(0, NUMBER)], vec![1.0], &reference.rows);
    let argmax = run(&with(TransportImage::Argmax), &distance, &samples, &reference, 1);
    assert!((argmax.solved[0].cost - 19.0 / 6.0).abs() < 1e-12);
    assert_eq!(argmax.rows.columns, [numbers(&[0.0, 4.0])]);
    let mean = run(&with(TransportImage::Barycentre), &distance, &samples, &reference, 1);
    let found = mean.rows.numbers(0);
    assert!((found[0] - 1.0 / 3.0).abs() < 1e-12 && (found[1] - 3.0).abs() < 1e-12, "{found:?}");
    let parts = |most: usize| vec![(most, 2.0 / 3.0), (1, 1.0 / 3.0)];
    assert_eq!(plans(&argmax), [(0, parts(0)), (1, parts(2))].into());
}

#[test]
fn strata_are_by_group_and_class() {
    let mut samples = TestPopulation::new(vec![numbers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])], 6, 0, 0);
    samples.groups = vec![0, 1, 2, 0, MISSING_GROUP, 0];
    samples.classes = vec![Some(0), Some(0), Some(0), Some(7), Some(0), None];
    let mut reference = TestPopulation::new(vec![numbers(&[10.0, 20.0, f64::NAN, 40.0])], 4, 1, 10);
    reference.classes = vec![Some(0), Some(1), Some(7), None];
    let distance = TransportDistance::new(vec![variable(0, NUMBER)], &reference.rows);
    let made = matching(&exact(), &distance, &samples, &reference).problems(1);
    let found: Vec<_> = made
        .problems
        .iter()
        .map(|b| (b.from, b.to, b.class, &b.sources[..], &b.targets[..], b.approximate))
        .collect();
    assert_eq!(found, [(0, 1, 0, &[0][..], &[0][..], false), (2, 1, 0, &[2][..], &[0][..], false)]);
    // The only target of class 7 lacks a value.
    assert_eq!(made.without_target, [3]);
}

/// Two features; costs and deviations by hand: sd of {0, 2} is 1, of {0, 20} is 10.
#[test]
fn distances_are_in_standard_deviations() {
    let samples = TestPopulation::new(
        vec![numbers(&[3.0, f64::NAN]), numbers(&[20.0, 20.0]), FeatureColumn::Code(vec![0, 1])],
        2,
        0,
        0,
    );
    let reference = TestPopulation::new(
        vec![numbers(&[0.0, 2.0]), numbers(&[0.0, 20.0]), FeatureColumn::Code(vec![1, 1])],
        2,
        1,
        2,
    );
    let distance = TransportDistance::new(
        vec![
            variable(0, NUMBER),
            variable(1, VariableScale::Ordinal {}),
            variable(2, category(None)),
        ],
        &reference.rows,
    );
    let mut costs = Vec::new();
    for cost in [TransportCost::L2Squared, TransportCost::L1Squared] {
        for source in 0..2 {
            for target in 0..2 {
                let block = TransportProblem {
                    from: 0,
                    to: 1,
                    class: 0,
                    sources: vec![source],
                    targets: vec![target],
                    approximate: false,
                };
                let settings = TransportSettings { cost, ..exact() };
                let matching = matching(&settings, &distance, &samples, &reference);
                costs.push(matching.solve(&block).unwrap().cost);
            }
        }
    }
    assert_eq!(costs, [9.0 + 4.0 + 1.0, 1.0 + 0.0 + 1.0, 4.0, 0.0, 36.0, 4.0, 4.0, 0.0]);
    // A missing value stays missing.
    let made = run(&with(TransportImage::Argmax), &distance, &samples, &reference, 1);
    assert!(made.rows.numbers(0)[1].is_nan() && !made.rows.numbers(1)[1].is_nan());
}

#[test]
fn equal_rows_are_one_point_with_weight() {
    let samples = TestPopulation::new(vec![numbers(&[0.0, -0.0, 1.0, 0.0])], 4, 0, 0);
    let reference = TestPopulation::new(vec![numbers(&[5.0, 0.0, 5.0, 0.0, 5.0, 1.0])], 6, 1, 10);
    let distance =
        TransportDistance::with_units(vec![variable(0, NUMBER)], vec![1.0], &reference.rows);
    let ran = run(&exact(), &distance, &samples, &reference, 1);
    assert_eq!(ran.solved[0].point_of, [0, 0, 1, 0]);
    // In order of size: 0 to 0 (1/3), 0 to 1 (1/6), 0 to 5 (1/4), 1 to 5 (1/4).
    assert!((ran.solved[0].cost - (1.0 / 6.0 + 25.0 / 4.0 + 16.0 / 4.0)).abs() < 1e-12);
    let plans = plans(&ran);
    assert!(plans.len() == 4 && plans[&0] == plans[&3], "{plans:?}");
    let parts = || plans.values().flatten();
    assert!((parts().map(|(_, share)| share).sum::<f64>() - 4.0).abs() < 1e-12);
    // Mass of a value over all sources = its share of the targets.
    for (value, share) in [(0.0, 2.0 / 6.0), (1.0, 1.0 / 6.0), (5.0, 3.0 / 6.0)] {
        let to = parts().filter(|(target, _)| reference.rows.numbers(0)[*target] == value);
        assert!((to.map(|(_, w)| w).sum::<f64>() / 4.0 - share).abs() < 1e-12, "{value}");
    }
}

/// One source that goes to four targets in equal parts.
#[test]
fn barycentres_have_values_that_can_occur() {
    let columns = |n: usize, x: &[f64], ordinal: &[f64], level: &[u32], hot: [&[f64]; 3]| {
        let mut columns =
            vec![numbers(x), numbers(x), numbers(ordinal), FeatureColumn::Code(level.to_vec())];
        columns.extend(hot.map(numbers));
        TestPopulation::new(columns, n, 0, 0)
    };
    let samples = columns(1, &[0.0], &[1.0], &[5], [&[1.0], &[0.0], &[0.0]]);
    let mut reference = columns(
        4,
        &[1.0, 2.0, 2.0, 1.0],
        &[1.0, 4.0, 4.0, 8.0],
        &[3, 2, 3, 2],
        [&[0.0, 0.0, 1.0, 0.0], &[1.0, 0.0, 0.0, 0.0], &[0.0, 1.0, 0.0, 1.0]],
    );
    reference.groups = vec![1; 4];
    let axes = vec![
        variable(0, NUMBER),
        variable(1, VariableScale::Continuous { integer: true }),
        variable(2, VariableScale::Ordinal {}),
        variable(3, category(None)),
        StrategyVariable { columns: vec![4, 5, 6], scale: category(None), name: "hot".into() },
    ];
    let distance = TransportDistance::new(axes, &reference.rows);
    let made = run(&with(TransportImage::Barycentre), &distance, &samples, &reference, 1).rows;
    assert_eq!(made.columns[0], numbers(&[1.5]));
    assert_eq!(made.columns[1], numbers(&[2.0]));
    // The mean 4.25 is nearest to 4; of two levels with equal mass the first is taken; in the
    // one-hot group the third has half the mass.
    assert_eq!(made.columns[2], numbers(&[4.0]));
    assert_eq!(made.columns[3], FeatureColumn::Code(vec![2]));
    assert_eq!(made.columns[4..], [numbers(&[0.0]), numbers(&[0.0]), numbers(&[1.0])]);
    assert_eq!([6.0, 6.1, 0.0, 99.0].map(|x| distance.nearest_value(2, x)), [4.0, 8.0, 1.0, 8.0]);
}

#[test]
fn what_stands_for_missing_is_missing() {
    let samples = TestPopulation::new(
        vec![
            FeatureColumn::Code(vec![2, MISSING, 0]),
            numbers(&[1.0, 1.0, 0.0]),
            numbers(&[1.0, 0.0, 0.0]),
        ],
        3,
        0,
        0,
    );
    let reference = TestPopulation::new(
        vec![
            FeatureColumn::Code(vec![2, 1, 1]),
            numbers(&[1.0, 0.0, 0.0]),
            numbers(&[0.0, 0.0, 1.0]),
        ],
        3,
        1,
        3,
    );
    let distance = TransportDistance::new(
        vec![
            variable(0, category(Some(2))),
            StrategyVariable { columns: vec![1, 2], scale: category(None), name: "hot".into() },
        ],
        &reference.rows,
    );
    let ran = run(&with(TransportImage::Argmax), &distance, &samples, &reference, 1);
    assert_eq!(ran.blocks[0].targets, [2]);
    // The one-hot groups of the first row (two 1) and of the third row (no 1) are unchanged.
    assert_eq!(
        ran.rows.columns,
        [
            FeatureColumn::Code(vec![2, MISSING, 1]),
            numbers(&[1.0, 0.0, 0.0]),
            numbers(&[1.0, 1.0, 0.0])
        ]
    );
}

fn random_people(seed: u64, n: usize, first_key: u64, group: u16) -> TestPopulation {
    let mut stream = RandomStream::new(seed, "crowd");
    let shift = f64::from(group);
    let columns = vec![
        FeatureColumn::Number((0..n).map(|_| stream.normal() + shift).collect()),
        FeatureColumn::Number((0..n).map(|_| (4.0 * stream.u01()).floor()).collect()),
        FeatureColumn::Code((0..n).map(|_| (stream.u64() % 3) as u32).collect()),
    ];
    let mut people = TestPopulation::new(columns, n, group, first_key);
    people.classes = (0..n).map(|i| Some((i % 2) as u32)).collect();
    people
}

fn distance_of_people(reference: &TestPopulation) -> TransportDistance {
    TransportDistance::new(
        vec![
            variable(0, NUMBER),
            variable(1, VariableScale::Ordinal {}),
            variable(2, category(None)),
        ],
        &reference.rows,
    )
}

#[test]
fn large_strata_are_cut_into_blocks() {
    let (samples, reference) = (random_people(1, 500, 0, 0), random_people(2, 300, 1000, 1));
    let distance = distance_of_people(&reference);
    let at_most = |most: u64| TransportSettings { max_rows: Count::new(most).unwrap(), ..exact() };
    let cut =
        |most: u64| matching(&at_most(most), &distance, &samples, &reference).problems(1).problems;
    let sizes = |blocks: &[TransportProblem]| {
        blocks.iter().map(|b| (b.sources.len(), b.targets.len(), b.approximate)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&cut(250)), [(250, 150, false), (250, 150, false)]);
    assert_eq!(sizes(&cut(249)), [(125, 150, true); 4]);
    assert_eq!(
        sizes(&cut(120)),
        [
            (83, 120, true),
            (83, 120, true),
            (84, 120, true),
            (83, 120, true),
            (83, 120, true),
            (84, 120, true)
        ]
    );
    assert_eq!(sizes(&cut(1))[..2], [(1, 1, true), (1, 1, true)]);
    let parts = cut(120);
    let mut sources: Vec<usize> = parts.iter().flat_map(|b| b.sources.clone()).collect();
    sources.sort_unstable();
    assert!(sources.into_iter().eq(0..500));
    assert_ne!(parts[0].targets, parts[1].targets);
    assert!(parts.iter().all(|b| b.sources.is_sorted() && b.targets.is_sorted()));
    let made = run(&at_most(120), &distance, &samples, &reference, 1);
    assert!(made.parent.iter().copied().eq(0..500) && made.blocks.iter().all(|b| b.approximate));
    // One feature with four values makes four points per side: nothing is divided.
    let few = TransportDistance::new(vec![variable(1, NUMBER)], &reference.rows);
    assert_eq!(matching(&at_most(4), &few, &samples, &reference).problems(1).problems.len(), 2);
}

#[test]
fn the_order_of_rows_is_of_no_effect() {
    let (samples, reference) = (random_people(3, 160, 0, 0), random_people(4, 90, 1000, 1));
    let shuffled = |people: &TestPopulation, seed: u64| {
        let mut order: Vec<usize> = (0..people.rows.n).collect();
        let mut stream = RandomStream::new(seed, "shuffle");
        (1..order.len()).rev().for_each(|i| order.swap(i, stream.u64() as usize % (i + 1)));
        let shuffled = TestPopulation {
            rows: people.rows.take(&order),
            keys: order.iter().map(|&i| people.keys[i]).collect(),
            groups: order.iter().map(|&i| people.groups[i]).collect(),
            classes: order.iter().map(|&i| people.classes[i]).collect(),
        };
        (shuffled, order)
    };
    let ((other_samples, order), (other_reference, _)) =
        (shuffled(&samples, 5), shuffled(&reference, 6));
    for (image, most) in [
        (TransportImage::Argmax, 4000),
        (TransportImage::Barycentre, 4000),
        (TransportImage::Barycentre, 30),
    ] {
        let settings = TransportSettings { image, max_rows: Count::new(most).unwrap(), ..exact() };
        let one = run(&settings, &distance_of_people(&reference), &samples, &reference, 1);
        let other = run(
            &settings,
            &distance_of_people(&other_reference),
            &other_samples,
            &other_reference,
            1,
        );
        let mut back: Vec<(usize, usize)> =
            (0..other.parent.len()).map(|k| (order[other.parent[k]], k)).collect();
        back.sort_unstable();
        let at: Vec<usize> = back.iter().map(|&(_, k)| k).collect();
        assert!(one.parent.iter().eq(back.iter().map(|(p, _)| p)));
        assert_eq!(one.rows, other.rows.take(&at));
    }
}

/// With one number and as many targets as sources, transport pairs the ranks.
#[test]
fn one_number_keeps_its_order() {
    let mut stream = RandomStream::new(7, "ranks");
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| stream.normal()).collect() };
    let (from, to) = (draw(80), draw(80));
    let (samples, reference) = (
        TestPopulation::new(vec![numbers(&from)], 80, 0, 0),
        TestPopulation::new(vec![numbers(&to)], 80, 1, 80),
    );
    let made = run(
        &exact(),
        &TransportDistance::new(vec![variable(0, NUMBER)], &reference.rows),
        &samples,
        &reference,
        1,
    );
    let rank = |values: &[f64], x: f64| values.iter().filter(|&&v| v < x).count();
    assert!(made.rows.numbers(0).iter().zip(&from).all(|(&y, &x)| rank(&to, y) == rank(&from, x)));
}

#[test]
fn distances_beyond_the_range_of_numbers_are_a_fault() {
    let samples = TestPopulation::new(vec![numbers(&[1e300])], 1, 0, 0);
    let reference = TestPopulation::new(vec![numbers(&[0.0, 1e-300])], 2, 1, 1);
    let distance = TransportDistance::new(vec![variable(0, NUMBER)], &reference.rows);
    let matching = matching(&exact(), &distance, &samples, &reference);
    let error = matching.solve(&matching.problems(1).problems[0]).unwrap_err();
    let expected = "error[no-transport]: no optimal transport of 1 rows to 2 rows: a distance is \
                    not a finite number\n  hint: look for meaningless values larger than \
                    1e150";
    assert_eq!(error.to_string(), expected);
}

mod oracle;
