//! Values over worlds by hand, parts that make the whole, and intervals recomputed row by row.

use std::collections::BTreeMap;

use super::cases::{GraphCases, TargetSwitches};
use super::{
    AcrossWorldsValue, GraphWorld, SAMPLED, SpreadParts, WorldCounts, add_second, measure_worlds,
};
use crate::exec::accumulator::Accumulator;
use crate::metric::MetricFamily;
use crate::metric::catalog::find as find_metric;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, cell_index};
use crate::metric::interval::z_of_level;
use crate::metric::rate::Undefined;
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::tests::coverage::{CoverageCount, trials};
use crate::metric::tests::moves_nobody;
use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::metric::value::switches::measure_counterfactual;
use crate::num::seed::RandomStream;
use crate::num::summary::normal_quantile;
use crate::param::{Count, Level};
use crate::tests::Says;

fn settings(level: Option<Level>) -> MeasureSettings {
    MeasureSettings {
        families: vec![MetricFamily::Ccm, MetricFamily::Eccm, MetricFamily::Shift],
        favourable: FavourableClass::Positive,
        favourable_stated: true,
        favoured: FavouredGroups::Groups(vec![0]),
        level,
        min_group_size: Count::new(1).unwrap(),
        min_denominator: Count::new(1).unwrap(),
    }
}

/// A group, a score, and the scores in every world.
type WorldPerson = (usize, f64, Vec<f64>);

/// Worlds of one graph.
fn worlds(copies: &[(usize, u64)]) -> Vec<GraphWorld> {
    copies
        .iter()
        .map(|&(bootstrap, copies)| GraphWorld { bootstrap, copies, all_rows: 0 })
        .collect()
}

fn person(group: usize, score: f64) -> ScoredPerson {
    ScoredPerson::of(group, Some(score > 0.3), Some(score > 0.5), Some(score))
}

/// The counterfactuals of the worlds; fitted on all rows their one graph says what the first of
/// them says.
fn moved(person: &ScoredPerson, scores: &[f64]) -> Vec<ScoredCounterfactual> {
    let scores = scores.iter().chain(&scores[..1]);
    scores
        .map(|&score| ScoredCounterfactual::to(1 - person.group, Some(score > 0.5), Some(score)))
        .collect()
}

/// Adds people under keys.
fn add<'a>(counts: &mut WorldCounts, people: impl Iterator<Item = (u64, &'a WorldPerson)>) {
    for (key, (group, score, scores)) in people {
        let person = person(*group, *score);
        counts.add(key, &person, &moved(&person, scores));
    }
    counts.settle();
}

/// Adds people with the score in every world, and keeps the second pass.
fn counted(worlds: Vec<GraphWorld>, people: &[WorldPerson]) -> WorldCounts {
    let mut counts = WorldCounts::new(worlds, 2, Vec::new(), false);
    add(&mut counts, (0..).zip(people));
    let mut second = counts.second_pass();
    for (group, score, scores) in people {
        let person = person(*group, *score);
        add_second(&mut second, 0, &person, &moved(&person, scores));
    }
    counts.set_second_pass(second);
    counts
}

/// The values with intervals.
fn measured(counts: &WorldCounts) -> Vec<AcrossWorldsValue> {
    measure_worlds(counts, Level::DEFAULT, &settings(Some(Level::DEFAULT)))
}

fn find<'a>(
    all: &'a [AcrossWorldsValue],
    metric: &str,
    scope: MetricScope,
) -> &'a AcrossWorldsValue {
    all.iter().find(|a| a.measured.metric.id == metric && a.measured.scope == scope).unwrap()
}

/// Three groups; the second bootstrap has no row of the last group: directions of that group and
/// sums over it are undefined there, directions between the others are defined.
#[test]
fn a_group_that_a_bootstrap_lacks_is_undefined_there() {
    let absent = vec![vec![], vec![2], vec![]];
    let mut counts = WorldCounts::new(worlds(&[(0, 1), (1, 1)]), 3, absent, false);
    for key in 0..12 {
        let person = person((key % 3) as usize, 0.2);
        // In the first bootstrap every person who is moved to the last group switches.
        let of_world = |world: usize| {
            (0..3).filter(|&to| to != person.group).map(move |to| {
                let seen = world != 1 || (to != 2 && person.group != 2);
                let score = if to == 2 { 0.9 } else { 0.1 };
                ScoredCounterfactual::to(to, seen.then_some(score > 0.5), seen.then_some(score))
            })
        };
        let of: Vec<ScoredCounterfactual> = (0..3).flat_map(of_world).collect();
        counts.add(key, &person, &of);
    }
    let all = measured(&counts);
    let told = |scope| {
        let of = find(&all, "psr", scope);
        (of.measured.value, of.n_worlds, of.n_undefined, of.measured.denominator)
    };
    assert_eq!(told(MetricScope::Direction(0, 2)), (Ok(1.0), 1, 1, Some(4)));
    assert_eq!(told(MetricScope::Direction(0, 1)), (Ok(0.0), 2, 0, Some(4)));
    assert_eq!(told(MetricScope::OneToRest(0)), (Ok(0.5), 1, 1, Some(8)));
    assert_eq!(told(MetricScope::RestToOne(2)), (Ok(1.0), 1, 1, Some(8)));
    assert_eq!(told(MetricScope::Total), (Ok(1.0 / 3.0), 1, 1, Some(24)));
    let unseen = find(&all, "psr", MetricScope::Direction(2, 0)).by_world[1];
    assert_eq!(unseen, (Err(Undefined::NoTrainingRows), None, None));
    // Four people without a switch in any world: Wilson's interval of four.
    let nobody = find(&all, "psr", MetricScope::Direction(0, 1)).measured.interval.unwrap();
    let z = z_of_level(0.95);
    assert!((nobody.hi - z * z / (4.0 + z * z)).abs() < 1e-12, "{nobody:?}");
}

/// Four people are predicted negative; 1, 3 and 2 of them switch in worlds of 2, 1 and 1 graphs,
/// the last in a separate bootstrap.
#[test]
fn means_and_percentiles_by_hand() {
    let scores = |switched: [bool; 3]| switched.map(|yes| if yes { 0.9 } else { 0.1 }).to_vec();
    let people = vec![
        (0, 0.2, scores([true, true, true])),
        (0, 0.2, scores([false, true, true])),
        (0, 0.2, scores([false, true, false])),
        (0, 0.2, scores([false, false, false])),
    ];
    let counts = counted(worlds(&[(0, 2), (0, 1), (1, 1)]), &people);
    let all = measure_worlds(&counts, Level::DEFAULT, &settings(None));
    let psr = find(&all, "psr", MetricScope::Direction(0, 1));
    assert_eq!(psr.measured.value, Ok(0.4375));
    let around = psr.spread.unwrap();
    // Of 0.25, 0.25, 0.5, 0.75: squares of the distances from the mean by 3; position 3 x 0.025
    // lies between the two first.
    let variance = (2.0 * 0.1875 * 0.1875 + 0.0625 * 0.0625 + 0.3125 * 0.3125) / 3.0;
    assert!((around.variance - variance).abs() < 1e-15 && (around.lo - 0.25).abs() < 1e-15);
    assert!((around.hi - (0.5 + 0.25 * 0.925)).abs() < 1e-12, "{around:?}");
    assert!((psr.bootstrap_mean.unwrap() - (1.25 / 3.0 + 0.5) / 2.0).abs() < 1e-15);
    assert_eq!(
        (psr.n_worlds, psr.n_undefined, psr.measured.numerator, psr.measured.denominator),
        (4, 0, None, Some(4))
    );
    assert_eq!(
        psr.by_world.iter().map(|e| (e.0, e.1)).collect::<Vec<_>>(),
        [(Ok(0.25), Some(1)), (Ok(0.75), Some(3)), (Ok(0.5), Some(2))]
    );
    // No person was positive, and no person is in the other group.
    assert_eq!(
        find(&all, "nsr", MetricScope::Direction(0, 1)).measured.value,
        Err(Undefined::NoPredictedPositive)
    );
    assert_eq!(
        find(&all, "psr", MetricScope::Direction(1, 0)).measured.value,
        Err(Undefined::EmptyGroup)
    );
    assert_eq!(find(&all, "psr", MetricScope::Direction(1, 0)).n_undefined, 4);
    // Mean change: 0.7 and -0.1 in shares as above.
    let mcd = find(&all, "mcd", MetricScope::Total);
    assert!((mcd.measured.value.unwrap() - (0.8 * 0.4375 - 0.1)).abs() < 1e-12);
}

/// Three members of two graphs: of one graph, fitted on all rows 0.2, the bootstraps give 0.1 and
/// 0.4; of the other, 0.6, one gives 0.7.
#[test]
fn two_parts_of_a_spread_by_hand() {
    let of = |bootstraps: &[usize], values: &[(f64, Option<f64>)]| {
        let world = |bootstrap: usize| GraphWorld { bootstrap, copies: 1, all_rows: 0 };
        let sample = bootstraps.iter().zip(values).map(|(&b, &(v, u))| (world(b), v, u));
        SpreadParts::new(&sample.collect::<Vec<_>>(), 0.5)
    };
    let three = [(0.1, Some(0.2)), (0.4, Some(0.2)), (0.7, Some(0.6))];
    let parts = of(&[0, 1, 1], &three).unwrap();
    // With one bootstrap nothing was refitted: there is only the part of other graphs.
    let once = of(&[3, 3, 3], &three).unwrap();
    assert_eq!((once.between, once.within, once.mixed), (parts.between, None, None));
    let (within, mixed) = (parts.within.unwrap(), parts.mixed.unwrap());
    let near =
        |found: f64, by_hand: f64| assert!((found - by_hand).abs() < 1e-15, "{found} {by_hand}");
    // u is 0.2, 0.2, 0.6, its mean 1/3; v - u is -0.1, 0.2, 0.1, its mean 1/15.
    let (mean, apart) = (1.0 / 3.0, 1.0 / 15.0);
    near(
        parts.between.variance,
        (2.0 * (0.2 - mean) * (0.2 - mean) + (0.6 - mean) * (0.6 - mean)) / 2.0,
    );
    near(
        within.variance,
        ((-0.1 - apart) * (-0.1 - apart)
            + (0.2 - apart) * (0.2 - apart)
            + (0.1 - apart) * (0.1 - apart))
            / 2.0,
    );
    near(
        mixed,
        (0.2 - mean) * (-0.1 - apart) + (0.2 - mean) * (0.2 - apart) + (0.6 - mean) * (0.1 - apart),
    );
    near(parts.between.variance + within.variance + mixed, 0.09);
    // Quartiles lie half way between neighbours.
    near(parts.between.lo, 0.2);
    near(parts.between.hi, 0.4);
    near(within.lo, mean);
    near(within.hi, mean + 0.15);
    assert_eq!(of(&[0, 1], &[(0.1, Some(0.2)), (0.4, None)]), None);
    assert_eq!(of(&[0], &[(0.1, Some(0.2))]), None);
    assert_eq!(of(&[], &[]), None);
}

/// For any people: the variances add up, and equal graphs have a spread of exactly 0.
#[test]
fn the_parts_of_a_variance_add_up_to_it() {
    let worlds = |graphs: [usize; 4]| -> Vec<GraphWorld> {
        let copies = [3, 1, 2, 1];
        (0..4)
            .map(|w| GraphWorld { bootstrap: w, copies: copies[w], all_rows: graphs[w] })
            .collect()
    };
    // Scores of four worlds, and of one graph or two on all rows.
    let measured = |worlds: Vec<GraphWorld>, n: usize| {
        let mut counts = WorldCounts::new(worlds, 2, Vec::new(), false);
        let all = random_people(n);
        for (key, (group, score, scores)) in all.iter().enumerate() {
            let person = person(*group, *score);
            let cfs = scores
                .iter()
                .map(|&score| ScoredCounterfactual::to(1 - group, Some(score > 0.5), Some(score)));
            counts.add(key as u64, &person, &cfs.collect::<Vec<_>>());
        }
        measure_worlds(&counts, Level::DEFAULT, &settings(None))
    };
    let mut met = 0;
    for across in measured(worlds([0, 1, 0, 1]), 6) {
        assert!(across.spread.is_some() || across.spread_parts.is_none());
        let Some((parts, around)) = across.spread_parts.zip(across.spread) else { continue };
        let (within, mixed) = (parts.within.unwrap(), parts.mixed.unwrap());
        let sum = parts.between.variance + within.variance + mixed;
        assert!(
            (sum - around.variance).abs() < 1e-12 * around.variance.max(1.0),
            "{parts:?} {around:?}"
        );
        met += usize::from(parts.between.variance > 0.0 && mixed != 0.0);
    }
    assert!(met > 10, "{met}");
    for across in measured(worlds([0; 4]), 5) {
        let Some((parts, around)) = across.spread_parts.zip(across.spread) else { continue };
        let within = parts.within.unwrap();
        assert!(
            parts.between.lo == parts.between.hi
                && parts.between.variance == 0.0
                && parts.mixed == Some(0.0),
            "{parts:?}"
        );
        assert!(
            (within.hi - around.hi).abs() < 1e-12
                || (within.hi - within.lo - around.hi + around.lo).abs() < 1e-12
        );
    }
}

/// Where no score moves in any graph, distances have the interval of the share of people who move;
/// where one moves in one graph, none.
#[test]
fn distances_of_graphs_that_move_nobody_have_an_interval_of_people() {
    let still: Vec<WorldPerson> =
        (0..30).map(|i| (usize::from(i % 3 == 0), 0.2, vec![0.2; 3])).collect();
    let of = |people: &[WorldPerson]| measured(&counted(worlds(&[(0, 2), (1, 1), (2, 1)]), people));
    let found = of(&still);
    for (scope, n) in [
        (MetricScope::Total, 30.0),
        (MetricScope::Direction(0, 1), 20.0),
        (MetricScope::Direction(1, 0), 10.0),
    ] {
        moves_nobody(|metric| &find(&found, metric, scope).measured, n);
        assert!(find(&found, "jscd", scope).measured.interval.is_none());
    }
    assert!(find(&found, "macd", MetricScope::Difference(0, 1)).measured.interval.is_none());
    let mut moved = still.clone();
    moved[0].2[2] = 0.3;
    let found = of(&moved);
    assert!(find(&found, "macd", MetricScope::Total).measured.interval.is_none());
    assert!(
        find(&found, "macd", MetricScope::Direction(0, 1)).measured.interval.is_some(),
        "its people do not move"
    );
}

/// Where nothing switches there is no ratio; such a world is left out and counted.
#[test]
fn worlds_without_a_value_are_left_out() {
    let people = vec![(0, 0.9, vec![0.1, 0.9]), (0, 0.2, vec![0.9, 0.2])];
    let mut counts = counted(worlds(&[(0, 3), (1, 2)]), &people);
    let all = measured(&counts);
    let ratio = find(&all, "p2nr", MetricScope::Direction(0, 1));
    assert_eq!((ratio.measured.value, ratio.n_worlds, ratio.n_undefined), (Ok(1.0), 3, 2));
    assert!(!ratio.measured.flags.contains(&SAMPLED));
    counts.sampled = true;
    let all = measure_worlds(&counts, Level::DEFAULT, &settings(None));
    assert!(all.iter().all(|across| across.measured.flags.contains(&SAMPLED)));
}

/// 300 people with scores that look random.
fn random_people(n_worlds: usize) -> Vec<WorldPerson> {
    let mut stream = RandomStream::new(9, "crowd");
    let one = |i: usize| {
        let score = stream.u01();
        (
            i % 2,
            score,
            (0..n_worlds).map(|_| (score + 0.4 * stream.u01() - 0.1).clamp(0.0, 1.0)).collect(),
        )
    };
    (0..300).map(one).collect()
}

#[test]
fn parts_make_the_whole_and_one_world_is_one_set() {
    let people = random_people(1);
    let whole = counted(worlds(&[(0, 1)]), &people);
    let mut merged = WorldCounts::new(worlds(&[(0, 1)]), 2, Vec::new(), false);
    for (part, keys) in people.chunks(77).zip([0, 77, 154, 231]) {
        let mut counts = WorldCounts::new(worlds(&[(0, 1)]), 2, Vec::new(), false);
        add(&mut counts, (keys..).zip(part));
        merged.merge(counts);
    }
    merged
        .set_second_pass(whole.of_world.iter().filter_map(|world| world.second.clone()).collect());
    assert_eq!(merged, whole);
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<WorldCounts>(&text).unwrap(), whole);
    // One world is an ordinary set with its intervals, regardless of the number of its graphs.
    let all = measured(&whole);
    let of_four = counted(worlds(&[(0, 4)]), &people);
    let of_four = measured(&of_four);
    let mut counts = CounterfactualCounts::new(2);
    for (group, score, scores) in &people {
        let person = person(*group, *score);
        counts.add(&person, &moved(&person, scores)[..1]);
    }
    let plain: Vec<MeasuredValue> =
        measure_counterfactual(&counts, None, None, &settings(Some(Level::DEFAULT)));
    let mut n = 0;
    for m in &plain {
        let across = find(&all, m.metric.id, m.scope);
        let told = |m: &MeasuredValue| {
            (m.value, m.numerator, m.denominator, m.n_rows, m.switched, m.impaired, m.effective)
        };
        assert_eq!(told(&across.measured), told(m), "{} {:?}", m.metric.id, m.scope);
        let interval = |m: &MeasuredValue| (m.interval, m.ci_method.clone());
        assert_eq!(interval(&across.measured), interval(m), "{} {:?}", m.metric.id, m.scope);
        let again = find(&of_four, m.metric.id, m.scope);
        assert_eq!(interval(&again.measured), interval(m), "{} {:?}", m.metric.id, m.scope);
        assert!(across.spread.is_none());
        n += usize::from(m.interval.is_some());
    }
    assert!(n > 20, "{n}");
}

/// Without a switch in any world, the rate has Wilson's interval of that number of people. Metrics
/// of scores have the reason why they have no interval.
#[test]
fn a_rate_of_none_has_an_interval() {
    let people: Vec<_> = random_people(1)
        .into_iter()
        .map(|(group, score, _)| (group, score, vec![score; 3]))
        .collect();
    let all = measured(&counted(worlds(&[(0, 1), (0, 2), (1, 1)]), &people));
    let psr = &find(&all, "psr", MetricScope::Direction(0, 1)).measured;
    let (interval, n) = (psr.interval.expect("Wilson's"), psr.denominator.unwrap() as f64);
    let z2 = 1.959_963_984_540_054_f64.powi(2);
    assert!(
        psr.value == Ok(0.0) && interval.lo == 0.0 && (interval.hi - z2 / (n + z2)).abs() < 1e-12,
        "{interval:?}"
    );
    psr.ci_method.says(&["Wilson"]);
    let jscd = &find(&all, "jscd", MetricScope::Direction(0, 1)).measured;
    assert!(jscd.interval.is_none(), "{}", jscd.ci_method);
    jscd.ci_method.says(&["sums over all people"]);
}

/// The interval is that of the mean over worlds: equal worlds give the interval of one of them,
/// except for P - 1 instead of P; worlds that disagree at random give an interval that is narrower
/// than those of single worlds. If denominators differ between worlds, there is none.
#[test]
fn worlds_add_rows_to_the_same_people() {
    let level = Some(Level::DEFAULT);
    let width = |counts: &WorldCounts, metric: &str| {
        let all = measure_worlds(counts, Level::DEFAULT, &settings(level));
        width(find(&all, metric, MetricScope::Direction(0, 1))).unwrap()
    };
    let one = random_people(1);
    let same: Vec<_> =
        one.iter().map(|(group, score, scores)| (*group, *score, vec![scores[0]; 3])).collect();
    for metric in ["sr", "psr"] {
        let alone = width(&counted(worlds(&[(0, 1)]), &one), metric);
        let three = width(&counted(worlds(&[(0, 1), (0, 4), (1, 2)]), &same), metric);
        assert!((1.0..1.03).contains(&(three / alone)), "{metric} {alone} {three}");
    }
    let many = counted(worlds(&[(0, 1); 8]), &random_people(8));
    let alone = counted(worlds(&[(0, 1)]), &one);
    let (all, single) = (width(&many, "psr"), width(&alone, "psr"));
    assert!(all < 0.9 * single, "{all} {single}");
    let all = measure_worlds(&many, Level::DEFAULT, &settings(level));
    let none = [
        ("pcp", MetricScope::Direction(0, 1)),
        ("p2nr", MetricScope::Total),
        ("cmcc", MetricScope::Direction(1, 0)),
        ("psdr", MetricScope::Difference(0, 1)),
        ("psr_ratio", MetricScope::Difference(0, 1)),
    ];
    for (metric, scope) in none {
        let of = &find(&all, metric, scope).measured;
        assert!(of.value.is_ok() && of.interval.is_none(), "{metric}");
        assert_eq!(of.ci_method, "none: its denominator differs between graphs", "{metric}");
    }
}

/// A row of one of three groups, with the predictions of every world in both other groups.
#[derive(Clone)]
struct ThreeRow {
    key: u64,
    person: ScoredPerson,
    /// World by world, then the graph on all rows.
    cfs: Vec<ScoredCounterfactual>,
}

/// Graphs of the worlds of [`three_groups`]; the last world saw no row of the last group.
const THREE: [(usize, u64); 3] = [(0, 2), (0, 1), (1, 3)];

/// 400 rows of three groups.
fn three_groups(keys: impl Fn(u64) -> u64) -> Vec<ThreeRow> {
    let mut stream = RandomStream::new(17, "three");
    let mut row = |i: u64| {
        let (group, score) = ((i % 3) as usize, stream.u01());
        let mut person = person(group, score);
        person.label = (!i.is_multiple_of(7)).then_some(score > 0.3);
        let mut cfs = Vec::new();
        for world in 0..4 {
            for to in (0..3).filter(|&to| to != group) {
                let moved = score + 0.5 * stream.u01() - 0.2;
                let seen = world != 2 || (to != 2 && group != 2);
                cfs.push(ScoredCounterfactual {
                    unsupported: u64::from((i + to as u64).is_multiple_of(11)),
                    ..ScoredCounterfactual::to(
                        to,
                        seen.then_some(moved > 0.5),
                        seen.then_some(moved.clamp(0.0, 1.0)),
                    )
                });
            }
        }
        ThreeRow { key: keys(i), person, cfs }
    };
    (0..400).map(&mut row).collect()
}

fn count_three(rows: &[ThreeRow], by_person: bool) -> WorldCounts {
    let absent = vec![vec![], vec![], vec![2], vec![]];
    let counts = WorldCounts::new(worlds(&THREE), 3, absent, false);
    let mut counts = if by_person { counts.with_persons() } else { counts };
    rows.iter().for_each(|row| counts.add(row.key, &row.person, &row.cfs));
    counts.settle();
    counts
}

/// Any parts in any order, with and without persons, also for only the supported counterfactuals.
#[test]
fn parts_of_several_worlds_make_the_whole() {
    for by_person in [false, true] {
        let rows = three_groups(|i| i * i % 61);
        let whole = count_three(&rows, by_person);
        let mut reversed = rows.clone();
        reversed.reverse();
        let mut merged = count_three(&[], by_person);
        for part in [&reversed[150..], &reversed[..90], &reversed[90..150]] {
            merged.merge(count_three(part, by_person));
        }
        assert!(whole.supported().is_some());
        assert_eq!(merged, whole);
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::to_string(&merged).unwrap(), text);
        assert_eq!(serde_json::from_str::<WorldCounts>(&text).unwrap(), whole);
    }
}

/// Units with the cases and the rows that they have below a rate.
type Units = BTreeMap<u64, (f64, f64)>;

/// The units of a scope, with one more row for each graph: worlds in which the scope is undefined
/// are left out. `kind` is the prediction of the people in the denominator, and whether a row
/// counts once.
fn units_by_hand(
    rows: &[ThreeRow],
    scope: MetricScope,
    (kind, any): (Option<bool>, bool),
) -> Units {
    let mut units = Units::new();
    let is_below = |row: &&ThreeRow| kind.is_none_or(|kind| row.person.predicted == Some(kind));
    for row in rows.iter().filter(is_below) {
        for (w, of) in row.cfs.chunks_exact(2).take(3).enumerate() {
            if w == 2 && scope.involves(2) {
                continue;
            }
            let held = of.iter().filter(|cf| match scope {
                MetricScope::Direction(a, b) => (row.person.group, cf.to) == (a, b),
                MetricScope::OneToRest(a) => row.person.group == a,
                MetricScope::RestToOne(b) => cf.to == b,
                _ => true,
            });
            let switched: Vec<bool> = held.map(|cf| cf.predicted != row.person.predicted).collect();
            let (mut cases, mut all) = (0.0, switched.len() as f64);
            switched.iter().for_each(|switches| cases += f64::from(u8::from(*switches)));
            if any {
                (cases, all) = (f64::min(cases, 1.0), all.min(1.0));
            }
            if all > 0.0 {
                let (unit, copies) =
                    (units.entry(row.key).or_insert((0.0, 0.0)), THREE[w].1 as f64);
                *unit = (unit.0 + copies * cases, unit.1 + copies * all);
            }
        }
    }
    units
}

/// Value and ends of the share of these units (section "Inference" of the guide to metrics).
fn share_by_hand(units: &Units) -> (f64, f64, f64) {
    let sum = |of: &dyn Fn(f64, f64) -> f64| units.values().map(|&(y, n)| of(y, n)).sum::<f64>();
    let (all, cases) = (sum(&|_, n| n), sum(&|y, _| y));
    let (p, count) = (cases / all, units.len() as f64);
    let agree = sum(&|_, n| n * n);
    let size = if p == 0.0 || p == 1.0 {
        all * all / agree
    } else {
        let v = count / (count - 1.0) * sum(&|y, n| (y - p * n) * (y - p * n)) / (all * all);
        let first = f64::max(1.0, v * all / (p * (1.0 - p)));
        let rare = |y: f64, n: f64| if p <= 0.5 { y } else { n - y };
        let c = sum(&rare) * sum(&rare) / sum(&|y, n| rare(y, n) * rare(y, n));
        all / first.max((c * first + agree / all) / (c + 1.0))
    };
    let z = z_of_level(0.95);
    let (centre, below) = (p + z * z / (2.0 * size), 1.0 + z * z / size);
    let half = z * (p * (1.0 - p) / size + z * z / (4.0 * size * size)).sqrt();
    (p, (centre - half) / below, (centre + half) / below)
}

/// Newcombe's method 10 with the correlation of people who are in both groups.
fn difference_by_hand(forth: &Units, back: &Units) -> (f64, f64) {
    let ((p, p_lo, p_hi), (q, q_lo, q_hi)) = (share_by_hand(forth), share_by_hand(back));
    let residual = |(y, n): (f64, f64), share: f64| y - share * n;
    let squares = |of: &Units, share: f64| {
        of.values().map(|&unit| residual(unit, share) * residual(unit, share)).sum::<f64>()
    };
    let both: Vec<f64> = forth
        .iter()
        .filter_map(|(key, x)| Some(residual(*x, p) * residual(*back.get(key)?, q)))
        .collect();
    let n = both.len() as f64;
    let rho = both.iter().sum::<f64>() / (squares(forth, p) * squares(back, q)).sqrt();
    let rho = if n == 0.0 { 0.0 } else { rho * n / (n + 5.0) };
    let reach = |x: f64, y: f64| (x * x + y * y - 2.0 * rho * x * y).sqrt();
    (p - q - reach(p - p_lo, q_hi - q), p - q + reach(p_hi - p, q - q_lo))
}

/// Every rate and scope against the sum over rows, where a group lacks in some graphs, with people
/// who have one row and with persons who have several, in several groups.
#[test]
fn intervals_over_graphs_are_those_of_rows() {
    for by_person in [false, true] {
        let rows = three_groups(|i| if by_person { i * i % 61 } else { i });
        let counts = count_three(&rows, by_person);
        let all = measured(&counts);
        let near = |metric: &str, scope: MetricScope, lo: f64, hi: f64| {
            let m = &find(&all, metric, scope).measured;
            let found = m.interval.unwrap_or_else(|| panic!("{metric} {scope:?} {}", m.ci_method));
            let off = (found.lo - lo).abs().max((found.hi - hi).abs());
            assert!(off < 1e-9, "{metric} {scope:?} {by_person}: {found:?}, not {lo} {hi}");
        };
        let rates = [
            ("sr", (None, false)),
            ("psr", (Some(false), false)),
            ("nsr", (Some(true), false)),
            ("favoured_by_group", (Some(true), false)),
            ("sr_any", (None, true)),
            ("psr_any", (Some(false), true)),
            ("nsr_any", (Some(true), true)),
        ];
        for (metric, kind) in rates {
            let has = |scope: &MetricScope| {
                !kind.1 || matches!(scope, MetricScope::OneToRest(_) | MetricScope::Total)
            };
            for (_, scope) in (ScopeIndex { groups: 3 }).scopes().filter(|(_, scope)| has(scope)) {
                let units = units_by_hand(&rows, scope, kind);
                let (p, lo, hi) = share_by_hand(&units);
                near(metric, scope, lo, hi);
                let m = &find(&all, metric, scope).measured;
                assert!((m.value.unwrap() - p).abs() < 1e-12, "{metric} {scope:?}");
                let below = m.persons.map(|persons| persons.denominator);
                let units = by_person.then_some(Some(units.len() as u64));
                assert_eq!(below, units, "{metric} {scope:?}");
                if metric == "sr" {
                    near("cr", scope, 1.0 - hi, 1.0 - lo);
                }
            }
            for (a, b) in [(0, 1), (0, 2), (1, 2)].into_iter().filter(|_| !kind.1) {
                let [forth, back] = [(a, b), (b, a)]
                    .map(|(a, b)| units_by_hand(&rows, MetricScope::Direction(a, b), kind));
                let (lo, hi) = difference_by_hand(&forth, &back);
                near(metric, MetricScope::Difference(a, b), lo, hi);
            }
        }
    }
}

/// The people in two worlds, each person under the key that `keys` gives the row, `again` times.
fn of_persons(keys: impl Fn(u64) -> u64, again: usize, by_person: bool) -> Vec<AcrossWorldsValue> {
    let counts = WorldCounts::new(worlds(&[(0, 2), (1, 1)]), 2, Vec::new(), false);
    let mut counts = if by_person { counts.with_persons() } else { counts };
    let people = random_people(2);
    let rows = (0..again).flat_map(|_| people.iter().enumerate());
    let keyed = rows
        .enumerate()
        .map(|(i, (number, row))| (if by_person { keys(number as u64) } else { i as u64 }, row));
    add(&mut counts, keyed);
    measured(&counts)
}

fn width(of: &AcrossWorldsValue) -> Option<f64> {
    of.measured.interval.map(|interval| interval.hi - interval.lo)
}

/// Rows of one person each are people; rows written four times under their person have the interval
/// of each row once, not half of it.
#[test]
fn the_people_of_worlds_are_persons() {
    let (plain, once) = (of_persons(|key| key, 1, false), of_persons(|key| key, 1, true));
    let (again, as_rows) = (of_persons(|key| key, 4, true), of_persons(|key| key, 4, false));
    let (mut formulas, mut halves) = (0, 0);
    for (((plain, once), again), as_rows) in plain.iter().zip(&once).zip(&again).zip(&as_rows) {
        let of = &once.measured;
        let what = format!("{} {:?}: {}", of.metric.id, of.scope, of.ci_method);
        assert_eq!(plain.measured.value, of.value, "{what}");
        assert_eq!(plain.spread, once.spread, "{what}");
        assert_eq!(again.measured.value.is_ok(), of.value.is_ok(), "{what}");
        let (persons, repeated) = (of.persons.unwrap(), again.measured.persons.unwrap());
        assert_eq!(persons.n, repeated.n, "{what}");
        assert!(persons.n <= of.n_rows && 4 * persons.n == again.measured.n_rows, "{what}");
        assert!(persons.denominator <= of.denominator.or(persons.denominator), "{what}");
        match width(plain).zip(width(once)) {
            None => assert_eq!(width(plain).is_some(), width(once).is_some(), "{what}"),
            Some((plain, once)) => assert!((once / plain - 1.0).abs() < 1e-9, "{what}"),
        }
        if let (Some(once), Some(again), Some(as_rows)) =
            (width(once), width(again), width(as_rows))
        {
            assert!((again / once - 1.0).abs() < 1e-9, "{what}: {again} instead of {once}");
            assert!(as_rows < 0.7 * again, "{what}: {as_rows} of rows, {again} of persons");
            halves += 1;
        }
        formulas += usize::from(persons.denominator.is_some());
    }
    assert!(formulas > 10 && halves > 10, "{formulas} {halves}");
}

/// Small numbers are counted by persons: of ten persons with thirty rows each a group has five.
#[test]
fn few_persons_of_worlds_are_small() {
    let small = MeasureSettings {
        min_group_size: Count::new(20).unwrap(),
        ..settings(Some(Level::DEFAULT))
    };
    let mut counts =
        WorldCounts::new(worlds(&[(0, 1), (1, 1)]), 2, Vec::new(), false).with_persons();
    add(&mut counts, (0..).map(|i: u64| i % 10).zip(&random_people(2)));
    let all = measure_worlds(&counts, Level::DEFAULT, &small);
    let psr = find(&all, "psr", MetricScope::Direction(0, 1));
    assert_eq!(psr.measured.persons.map(|of| of.n), Some(5));
    assert_eq!(psr.measured.flags, ["small_group"]);
    // If the denominator depends on the graph, only a lower bound of the persons is known.
    let psdr = find(&all, "psdr", MetricScope::Direction(0, 1));
    let told = psdr.measured.persons.unwrap().denominator.unwrap();
    let least = psdr.by_world.iter().filter_map(|of| of.2).min().unwrap();
    assert_eq!(told, least.div_ceil(30), "{told}");
    let gap = find(&all, "psr", MetricScope::Difference(0, 1));
    assert_eq!(gap.measured.persons.map(|of| of.n), Some(10));
}

/// Without a switch in any world: Wilson's interval of persons, not of their rows.
#[test]
fn rates_of_zero_of_persons_are_those_of_persons() {
    let mut counts =
        WorldCounts::new(worlds(&[(0, 1), (1, 1)]), 2, Vec::new(), false).with_persons();
    for i in 0..120 {
        let person = person((i % 2) as usize, 0.2);
        counts.add(i % 12, &person, &moved(&person, &[0.2, 0.2]));
    }
    let all = measured(&counts);
    let z = z_of_level(0.95);
    for (scope, persons) in [(MetricScope::Direction(0, 1), 6.0), (MetricScope::Total, 12.0)] {
        let found = find(&all, "psr", scope).measured.interval.unwrap();
        let hi = z * z / (persons + z * z);
        assert!((found.hi - hi).abs() < 1e-12 && found.lo == 0.0, "{found:?}");
    }
}

/// Rows of persons whose counterfactuals switch with probability p in each of 20 graphs.
#[derive(Debug, Clone, Copy)]
struct GraphDesign {
    persons: u64,
    rows: u64,
    p: f64,
    /// Probability that a row switches in all graphs alike. Normal numbers decide, which have a
    /// correlation of 0.6 in the rows of a person.
    alike: f64,
}

impl GraphDesign {
    /// In how many graphs a row of a person switches.
    fn switches(&self, of_person: f64, stream: &mut RandomStream) -> u64 {
        let alike = stream.u01() < self.alike;
        let mut switches = || {
            let number = 0.6_f64.sqrt() * of_person + 0.4_f64.sqrt() * stream.normal();
            u64::from(number < normal_quantile(self.p))
        };
        if alike { 20 * switches() } else { (0..20).map(|_| switches()).sum() }
    }

    /// The share of one sample.
    fn draw(&self, stream: &mut RandomStream) -> Share {
        let (scope, psr) = (MetricScope::Direction(0, 1), find_metric("psr").unwrap());
        let mut cases = GraphCases::new(2, |_| 20);
        if self.rows > 1 {
            cases = cases.with_persons();
        }
        for person in 0..self.persons {
            let of_person = stream.normal();
            for _ in 0..self.rows {
                let switches = self.switches(of_person, stream);
                let target = TargetSwitches { n: 1, in_both: switches, in_all: switches };
                let kind = cell_index(None, false, false);
                cases.add((person, 0, kind), &[TargetSwitches::default(), target], switches);
            }
        }
        let place = ScopeIndex { groups: 2 }.direction(0, 1);
        let settings = settings(None);
        let all = cases.of_scope((place, scope), &settings);
        all.share(psr, self.persons * self.rows).unwrap()
    }
}

/// Draws each setting so often: the interval of a mean over graphs holds the true value in nearly
/// as many samples as is claimed.
fn check_coverage(samples: u64, designs: &[(u64, u64)]) {
    let (z, mut wrong) = (z_of_level(0.95), Vec::new());
    for &(persons, rows) in designs {
        for (p, alike) in [0.1, 0.5].into_iter().flat_map(|p| [0.0, 0.5, 1.0].map(|c| (p, c))) {
            let design = GraphDesign { persons, rows, p, alike };
            let mut held = CoverageCount::default();
            for sample in 0..samples {
                let mut stream = RandomStream::new(sample, &format!("coverage/{design:?}"));
                held.add(Some(design.draw(&mut stream).wilson(z)), p);
            }
            println!("{design:?}: {:.4}", held.share_held());
            let error = (LEAST_HELD * (1.0 - LEAST_HELD) / samples as f64).sqrt();
            if held.share_held() < LEAST_HELD - 3.0 * error {
                wrong.push(format!("{design:?}: {}", held.share_held()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What intervals of means over graphs hold at least.
const LEAST_HELD: f64 = 0.93;

#[test]
fn coverage_of_means_over_graphs() {
    check_coverage(trials(200), &[(30, 1), (30, 10)]);
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 4,000 samples of each of 30 settings"]
fn coverage_of_means_over_graphs_in_4_000_samples() {
    check_coverage(trials(4000), &[(30, 1), (100, 1), (300, 1), (30, 10), (10, 20)]);
}
