//! Values over worlds by hand, parts that make the whole, and intervals against those of one world.

use super::{
    AcrossWorldsValue, GraphWorld, SAMPLED, SpreadParts, WorldCounts, add_second, measure_worlds,
};
use crate::exec::accumulator::Accumulator;
use crate::metric::MetricFamily;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::interval::z_of_level;
use crate::metric::rate::Undefined;
use crate::metric::scope::MetricScope;
use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::metric::value::switches::measure_counterfactual;
use crate::num::seed::RandomStream;
use crate::param::{Count, Level, Seed};

fn settings(level: Option<Level>) -> MeasureSettings {
    MeasureSettings {
        families: vec![MetricFamily::Ccm, MetricFamily::Eccm, MetricFamily::Shift],
        favourable: FavourableClass::Positive,
        favourable_stated: true,
        favoured: FavouredGroups::Groups(vec![0]),
        level,
        samples: Count::new(500).unwrap(),
        seed: Seed(3),
        min_group_size: Count::new(1).unwrap(),
        min_denominator: Count::new(1).unwrap(),
    }
}

/// Worlds of one graph.
fn worlds(copies: &[(usize, u64)]) -> Vec<GraphWorld> {
    copies
        .iter()
        .map(|&(bootstrap, copies)| GraphWorld { bootstrap, copies, all_rows: 0 })
        .collect()
}

fn person(group: usize, score: f64) -> ScoredPerson {
    ScoredPerson {
        group,
        label: Some(score > 0.3),
        predicted: Some(score > 0.5),
        score: Some(score),
        weight: 1,
    }
}

/// The counterfactuals of the worlds; fitted on all rows their one graph says what the first of
/// them says.
fn moved(person: &ScoredPerson, scores: &[f64]) -> Vec<ScoredCounterfactual> {
    let scores = scores.iter().chain(&scores[..1]);
    scores
        .map(|&score| ScoredCounterfactual {
            to: 1 - person.group,
            predicted: Some(score > 0.5),
            score: Some(score),
            rounded: false,
            unsupported: 0,
        })
        .collect()
}

/// Adds people with the score in every world, and keeps the second pass.
fn counted(worlds: Vec<GraphWorld>, people: &[(usize, f64, Vec<f64>)]) -> WorldCounts {
    let mut counts = WorldCounts::new(worlds, 2, Vec::new(), false, Seed(3));
    let each = || {
        people
            .iter()
            .enumerate()
            .map(|(key, (group, score, scores))| (key as u64, person(*group, *score), scores))
    };
    for (key, person, scores) in each() {
        counts.add(key, &person, &moved(&person, scores));
    }
    let mut second = counts.second_pass();
    for (_, person, scores) in each() {
        add_second(&mut second, 0, &person, &moved(&person, scores));
    }
    counts.set_second_pass(second);
    counts
}

fn find<'a>(
    all: &'a [AcrossWorldsValue],
    metric: &str,
    scope: MetricScope,
) -> &'a AcrossWorldsValue {
    all.iter().find(|a| a.measured.metric.id == metric && a.measured.scope == scope).unwrap()
}

/// Three groups, of which the second bootstrap saw nobody of the last: directions of that group and
/// sums over it are undefined there, and directions between the others are not.
#[test]
fn a_group_that_a_bootstrap_lacks_is_undefined_there() {
    let absent = vec![vec![], vec![2], vec![]];
    let mut counts = WorldCounts::new(worlds(&[(0, 1), (1, 1)]), 3, absent, false, Seed(3));
    for key in 0..12 {
        let person = person((key % 3) as usize, 0.2);
        // In the first bootstrap everybody switches who becomes a member of the last group.
        let of_world = |world: usize| {
            (0..3).filter(|&to| to != person.group).map(move |to| {
                let seen = world != 1 || (to != 2 && person.group != 2);
                let score = if to == 2 { 0.9 } else { 0.1 };
                ScoredCounterfactual {
                    to,
                    predicted: seen.then_some(score > 0.5),
                    score: seen.then_some(score),
                    rounded: false,
                    unsupported: 0,
                }
            })
        };
        let of: Vec<ScoredCounterfactual> = (0..3).flat_map(of_world).collect();
        counts.add(key, &person, &of);
    }
    let all = measure_worlds(&counts, Level::DEFAULT, &settings(Some(Level::DEFAULT)));
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
    // Four people, none of whom switches in any world: Wilson's interval of four.
    let nobody = find(&all, "psr", MetricScope::Direction(0, 1)).measured.interval.unwrap();
    let z = z_of_level(0.95);
    assert!((nobody.hi - z * z / (4.0 + z * z)).abs() < 1e-12, "{nobody:?}");
}

/// Four people predicted negative: of them 1, 3 and 2 switch in worlds of 2, 1 and 1 graphs, the
/// last in a separate bootstrap.
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
    // Nobody was positive, and nobody is of the other group.
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
    // Of one bootstrap nothing was refitted: other graphs are all that there is.
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

/// Whatever the people are: variances add up, and graphs that are one differ by nothing, to the
/// last bit.
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
        let mut counts = WorldCounts::new(worlds, 2, Vec::new(), false, Seed(3));
        let all = crowd(n);
        for (key, (group, score, scores)) in all.iter().enumerate() {
            let person = person(*group, *score);
            let cfs = scores.iter().map(|&score| ScoredCounterfactual {
                to: 1 - group,
                predicted: Some(score > 0.5),
                score: Some(score),
                rounded: false,
                unsupported: 0,
            });
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
    let still: Vec<(usize, f64, Vec<f64>)> =
        (0..30).map(|i| (usize::from(i % 3 == 0), 0.2, vec![0.2; 3])).collect();
    let of = |people: &[(usize, f64, Vec<f64>)]| {
        measure_worlds(
            &counted(worlds(&[(0, 2), (1, 1), (2, 1)]), people),
            Level::DEFAULT,
            &settings(Some(Level::DEFAULT)),
        )
    };
    let found = of(&still);
    let squared = z_of_level(0.95).powi(2);
    for (scope, n) in [
        (MetricScope::Total, 30.0),
        (MetricScope::Direction(0, 1), 20.0),
        (MetricScope::Direction(1, 0), 10.0),
    ] {
        let most = squared / (n + squared);
        for (metric, lo, hi) in
            [("macd", 0.0, most), ("rmscd", 0.0, most.sqrt()), ("mcd", -most, most)]
        {
            let m = &find(&found, metric, scope).measured;
            let interval = m.interval.unwrap_or_else(|| panic!("{metric}: {}", m.ci_method));
            assert_eq!((m.value, interval.method.as_str()), (Ok(0.0), "wilson-moved"));
            assert!(
                (interval.lo - lo).abs() < 1e-15 && (interval.hi - hi).abs() < 1e-15,
                "{metric} {interval:?}"
            );
        }
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
    let all = measure_worlds(&counts, Level::DEFAULT, &settings(Some(Level::DEFAULT)));
    let ratio = find(&all, "p2nr", MetricScope::Direction(0, 1));
    assert_eq!((ratio.measured.value, ratio.n_worlds, ratio.n_undefined), (Ok(1.0), 3, 2));
    assert!(!ratio.measured.flags.contains(&SAMPLED));
    counts.sampled = true;
    let all = measure_worlds(&counts, Level::DEFAULT, &settings(None));
    assert!(all.iter().all(|across| across.measured.flags.contains(&SAMPLED)));
}

/// 300 people with scores that look random.
fn crowd(n_worlds: usize) -> Vec<(usize, f64, Vec<f64>)> {
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
    let people = crowd(1);
    let whole = counted(worlds(&[(0, 1)]), &people);
    let mut merged = WorldCounts::new(worlds(&[(0, 1)]), 2, Vec::new(), false, Seed(3));
    for (part, keys) in people.chunks(77).zip([0, 77, 154, 231]) {
        let mut counts = WorldCounts::new(worlds(&[(0, 1)]), 2, Vec::new(), false, Seed(3));
        for (k, (group, score, scores)) in part.iter().enumerate() {
            let person = person(*group, *score);
            counts.add(keys + k as u64, &person, &moved(&person, scores));
        }
        merged.merge(counts);
    }
    merged
        .set_second_pass(whole.of_world.iter().filter_map(|world| world.second.clone()).collect());
    assert_eq!(merged, whole);
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<WorldCounts>(&text).unwrap(), whole);
    // Of one world every value is that of an ordinary set, and its interval about as wide as
    // Wilson's.
    let all = measure_worlds(&whole, Level::DEFAULT, &settings(Some(Level::DEFAULT)));
    let mut counts = CounterfactualCounts::new(2);
    for (group, score, scores) in &people {
        let person = person(*group, *score);
        counts.add(&person, &moved(&person, scores)[..1]);
    }
    let plain: Vec<MeasuredValue> =
        measure_counterfactual(&counts, None, None, &settings(Some(Level::DEFAULT)));
    for m in &plain {
        let across = find(&all, m.metric.id, m.scope);
        assert_eq!(
            (across.measured.value, across.measured.denominator, across.measured.n_rows),
            (m.value, m.denominator, m.n_rows)
        );
        let told = |m: &MeasuredValue| (m.numerator, m.switched);
        assert_eq!(told(&across.measured), told(m), "{} {:?}", m.metric.id, m.scope);
        // Their intervals are not made alike, and may hold the ideal or not.
        let clear = |m: &MeasuredValue| {
            m.interval.zip(m.ideal).is_some_and(|(i, ideal)| ideal < i.lo || ideal > i.hi)
        };
        if clear(&across.measured) == clear(m) {
            assert_eq!(across.measured.impaired, m.impaired, "{} {:?}", m.metric.id, m.scope);
        }
        assert!(across.spread.is_none());
    }
    for metric in ["sr", "psr", "cr"] {
        let of = |m: &MeasuredValue| m.interval.map(|i| i.hi - i.lo).unwrap();
        let wilson = of(plain
            .iter()
            .find(|m| m.metric.id == metric && m.scope == MetricScope::Direction(0, 1))
            .unwrap());
        let ratio = of(&find(&all, metric, MetricScope::Direction(0, 1)).measured) / wilson;
        assert!((0.8..1.25).contains(&ratio), "{metric} {ratio}");
    }
}

/// Nobody switches in any world: every draw of people says 0, and the rate has Wilson's interval
/// anyway. Metrics of scores say why they have none.
#[test]
fn a_rate_of_none_has_an_interval() {
    let people: Vec<_> =
        crowd(1).into_iter().map(|(group, score, _)| (group, score, vec![score; 3])).collect();
    let all = measure_worlds(
        &counted(worlds(&[(0, 1), (0, 2), (1, 1)]), &people),
        Level::DEFAULT,
        &settings(Some(Level::DEFAULT)),
    );
    let psr = &find(&all, "psr", MetricScope::Direction(0, 1)).measured;
    let (interval, n) = (psr.interval.expect("Wilson's"), psr.denominator.unwrap() as f64);
    let z2 = 1.959_963_984_540_054_f64.powi(2);
    assert!(
        psr.value == Ok(0.0) && interval.lo == 0.0 && (interval.hi - z2 / (n + z2)).abs() < 1e-12,
        "{interval:?}"
    );
    assert!(psr.ci_method.contains("Wilson"), "{}", psr.ci_method);
    let jscd = &find(&all, "jscd", MetricScope::Direction(0, 1)).measured;
    assert!(
        jscd.interval.is_none() && jscd.ci_method.contains("sums over all people"),
        "{}",
        jscd.ci_method
    );
}

/// The interval is that of the mean over worlds: worlds that say the same give what one of them
/// gives, and worlds that disagree at random one that is narrower than any of theirs.
#[test]
fn people_count_equally_often_in_all_worlds() {
    let level = Some(Level::DEFAULT);
    let width = |counts: &WorldCounts, metric: &str| {
        let all = measure_worlds(counts, Level::DEFAULT, &settings(level));
        find(&all, metric, MetricScope::Direction(0, 1))
            .measured
            .interval
            .map(|i| (i.lo, i.hi))
            .unwrap()
    };
    let one = crowd(1);
    let same: Vec<_> =
        one.iter().map(|(group, score, scores)| (*group, *score, vec![scores[0]; 3])).collect();
    for metric in ["psr", "pcp", "cmcc"] {
        let (a, b) = (
            width(&counted(worlds(&[(0, 1)]), &one), metric),
            width(&counted(worlds(&[(0, 1), (0, 4), (1, 2)]), &same), metric),
        );
        assert!((a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12, "{metric} {a:?} {b:?}");
    }
    let many = counted(worlds(&[(0, 1); 8]), &crowd(8));
    let alone = counted(worlds(&[(0, 1)]), &one);
    let (all, single) = (width(&many, "psr"), width(&alone, "psr"));
    assert!(all.1 - all.0 < 0.9 * (single.1 - single.0), "{all:?} {single:?}");
}

/// The crowd in two worlds, each person under the key that `keys` gives the row, `again` times.
fn of_persons(keys: impl Fn(u64) -> u64, again: usize, by_person: bool) -> Vec<AcrossWorldsValue> {
    let counts = WorldCounts::new(worlds(&[(0, 2), (1, 1)]), 2, Vec::new(), false, Seed(3));
    let mut counts = if by_person { counts.with_persons() } else { counts };
    let crowd = crowd(2);
    let rows = (0..again).flat_map(|_| crowd.iter().enumerate());
    for (i, (number, (group, score, scores))) in rows.enumerate() {
        let person = person(*group, *score);
        let key = if by_person { keys(number as u64) } else { i as u64 };
        counts.add(key, &person, &moved(&person, scores));
    }
    measure_worlds(&counts, Level::DEFAULT, &settings(Some(Level::DEFAULT)))
}

fn width(of: &AcrossWorldsValue) -> Option<f64> {
    of.measured.interval.map(|interval| interval.hi - interval.lo)
}

/// Rows of one person each are people, but for the factor of few persons; rows written four times
/// under their person have the interval of each row once, not half of it.
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
            Some((plain, once)) => assert!((0.95..1.1).contains(&(once / plain)), "{what}"),
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

/// What is small is told by persons: of ten with thirty rows each a group has five.
#[test]
fn few_persons_of_worlds_are_small() {
    let small = MeasureSettings {
        min_group_size: Count::new(20).unwrap(),
        ..settings(Some(Level::DEFAULT))
    };
    let mut counts =
        WorldCounts::new(worlds(&[(0, 1)]), 2, Vec::new(), false, Seed(3)).with_persons();
    for (i, (group, score, scores)) in crowd(1).iter().enumerate() {
        let person = person(*group, *score);
        counts.add(i as u64 % 10, &person, &moved(&person, scores));
    }
    let all = measure_worlds(&counts, Level::DEFAULT, &small);
    let psr = find(&all, "psr", MetricScope::Direction(0, 1));
    assert_eq!(psr.measured.persons.map(|of| of.n), Some(5));
    assert_eq!(psr.measured.flags, ["small_group"]);
    // Of what depends on the graph no more is told than rows show: at least so many persons.
    let psdr = find(&all, "psdr", MetricScope::Direction(0, 1)).measured.clone();
    let told = psdr.persons.unwrap().denominator.unwrap();
    assert!(told <= 5 && told * 30 >= psdr.denominator.unwrap(), "{told}");
    let gap = find(&all, "psr", MetricScope::Difference(0, 1));
    assert_eq!(gap.measured.persons.map(|of| of.n), Some(10));
}

/// Nobody switches in any world: Wilson's on persons, not on their rows.
#[test]
fn rates_of_zero_of_persons_are_those_of_persons() {
    let mut counts =
        WorldCounts::new(worlds(&[(0, 1), (1, 1)]), 2, Vec::new(), false, Seed(3)).with_persons();
    for i in 0..120 {
        let person = person((i % 2) as usize, 0.2);
        counts.add(i % 12, &person, &moved(&person, &[0.2, 0.2]));
    }
    let all = measure_worlds(&counts, Level::DEFAULT, &settings(Some(Level::DEFAULT)));
    let z = z_of_level(0.95);
    for (scope, persons) in [(MetricScope::Direction(0, 1), 6.0), (MetricScope::Total, 12.0)] {
        let found = find(&all, "psr", scope).measured.interval.unwrap();
        let hi = z * z / (persons + z * z);
        assert!((found.hi - hi).abs() < 1e-12 && found.lo == 0.0, "{found:?}");
    }
}
