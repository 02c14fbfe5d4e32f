//! How often nominal 95 % intervals of values that are no share hold the true value where a person
//! has several rows: means and medians of amounts, scores as such, distances of scores, and
//! functions of counts. Simulated from a seed, next to intervals that take rows for people, which
//! hold it as well where rows of a person have nothing in common.
//!
//! Rows of a person share a part of everything that is drawn: a normal number is sqrt(c) of the
//! person's plus sqrt(1 - c) of the row's own, so two rows of a person have the correlation c.
//! Amounts are 10 plus such a number. A label is positive where one is above 0, and the score is
//! the logistic function of another one plus the label minus a half: the scores are calibrated, and
//! the AUC is that of two normal distributions one apart. A counterfactual score is up to 0.2
//! higher.
//!
//! A few samples by default; `make test-slow` draws [`MANY_SAMPLES`] of each of 9 settings and
//! prints the figures with `--nocapture`.

use rayon::prelude::*;

use super::coverage::{CoverageCount, assert_all_drawn, trials};
use super::*;

/// Samples of the slow test.
const MANY_SAMPLES: u64 = 1000;

/// Persons, rows of each.
const DESIGNS: [(u64, u64); 3] = [(500, 3), (30, 10), (10, 20)];

/// Correlation of the rows of a person.
const CORRELATIONS: [f64; 3] = [0.0, 0.3, 0.6];

/// A row of a sample.
struct ClusteredRow {
    person: u64,
    row: u64,
    amount: f64,
    label: bool,
    score: f64,
    score_cf: f64,
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// One group of a sample.
fn group(
    stream: &mut RandomStream,
    (persons, rows): (u64, u64),
    correlation: f64,
) -> Vec<ClusteredRow> {
    let (shared, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
    let mut all = Vec::new();
    for person in 0..persons {
        let of_person: [f64; 4] = std::array::from_fn(|_| stream.normal());
        for _ in 0..rows {
            let [amount, label, score, change] =
                of_person.map(|of_person| shared * of_person + own * stream.normal());
            let label = label > 0.0;
            let score = logistic(score + f64::from(u8::from(label)) - 0.5);
            all.push(ClusteredRow {
                person,
                row: all.len() as u64,
                amount: 10.0 + amount,
                label,
                score,
                score_cf: 0.8 * score + 0.2 * logistic(change),
            });
        }
    }
    all
}

/// The mean of a function of a standard normal number.
fn normal_mean(of: impl Fn(f64) -> f64) -> f64 {
    let steps = 4000;
    let weight = |x: f64| libm::exp(-0.5 * x * x);
    let at = |i: i32| -10.0 + 20.0 * f64::from(i) / f64::from(steps);
    let sum: f64 = (0..=steps).map(|i| of(at(i)) * weight(at(i))).sum();
    sum / (0..=steps).map(|i| weight(at(i))).sum::<f64>()
}

/// The distribution function of a standard normal number.
fn normal_share(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// Coverage by design and family: by person, and where rows are taken for people.
type LowestHeld = BTreeMap<((u64, u64), &'static str), [f64; 2]>;

/// What an interval is of: its name, its family in the guide, and its true value.
type KnownValue = (&'static str, &'static str, f64);

/// Every value, in the order in which [`intervals`] gives the intervals.
fn truths() -> Vec<KnownValue> {
    let right = normal_share(0.5);
    let error = normal_mean(|x| logistic(x - 0.5).powi(2));
    let moved = normal_mean(|x| logistic(x).powi(2));
    vec![
        ("amount_mean", "means", 10.0),
        ("amount_mean_difference", "means", 0.0),
        ("amount_mean_ratio", "means", 1.0),
        ("amount_q50", "medians", 10.0),
        ("amount_q50_difference", "medians", 0.0),
        ("auc", "scores", normal_share(std::f64::consts::FRAC_1_SQRT_2)),
        ("auc_difference", "scores", 0.0),
        ("brier", "scores", error),
        ("brier_difference", "scores", 0.0),
        ("observed_expected", "scores", 1.0),
        ("calibration_intercept", "scores", 0.0),
        ("calibration_slope", "scores", 1.0),
        ("f1", "counts", right),
        ("mcc", "counts", 2.0 * right - 1.0),
        ("mcc_difference", "counts", 0.0),
        ("mcd", "distances", 0.1),
        ("rmscd", "distances", 0.2 * moved.sqrt()),
    ]
}

/// The intervals of two groups, by person or as if each row were one.
fn intervals(groups: &[Vec<ClusteredRow>; 2], by_person: bool) -> Vec<Option<ValueInterval>> {
    let basis = CountingUnit { weighted: false, persons: by_person };
    let asked = |family| MeasureSettings { families: vec![family], ..settings() };
    let key = |group: usize, row: &ClusteredRow| {
        2 * if by_person { row.person } else { row.row } + group as u64
    };
    let (one, pair) = (MetricScope::Group(0), MetricScope::Pair(0, 1));
    let find = |all: &[MeasuredValue], id: &str| {
        let scope = if id.ends_with("_difference") || id.ends_with("_ratio") { pair } else { one };
        super::one(all, id, scope).interval
    };
    let of_group = |group: usize| {
        let entry = |row: &ClusteredRow| AmountEntry {
            value: row.amount,
            weight: 1,
            person: key(group, row),
        };
        AmountSample::new(basis, groups[group].iter().map(entry).collect())
    };
    let amounts = measure_amounts(&[of_group(0), of_group(1)], &asked(MetricFamily::Amounts));
    let unit = CountingUnit { weighted: false, persons: by_person };
    let none = LabelledScores::new(ScoreScale::default(), basis);
    let mut counts = FactualCounts::new(2).counted_by(unit).with_scores(none);
    for (group, rows) in groups.iter().enumerate() {
        for row in rows {
            let (label, predicted) = (Some(row.label), Some(row.score >= 0.5));
            counts.add((group, key(group, row), 1), label, predicted, false);
            counts.add_score(group, (label, row.score), 1, (key(group, row), row.row));
        }
    }
    let of_scores = asked(MetricFamily::Scores);
    let scores = MeasureContext::new(&of_scores).scores(&counts);
    let of_rates = MeasureSettings {
        families: vec![MetricFamily::Performance, MetricFamily::Group],
        ..asked(MetricFamily::Performance)
    };
    let rates = measure_factual(&counts, None, &of_rates);
    let mut moved = CounterfactualCounts::new(2).counted_by(unit);
    let each: Vec<_> = groups[0]
        .iter()
        .map(|row| {
            let predicted = |score: f64| Some(score >= 0.5);
            let score = 0.8 * row.score;
            let person = ScoredPerson::of(0, None, predicted(score), Some(score));
            let other = ScoredCounterfactual::to(1, predicted(row.score_cf), Some(row.score_cf));
            (key(0, row), person, [other])
        })
        .collect();
    each.iter().for_each(|(key, person, cfs)| moved.add_person(*key, person, cfs));
    moved.settle();
    let mut second = moved.influence_pass();
    each.iter().for_each(|(key, person, cfs)| second.add(*key, person, cfs));
    let distances = measure_counterfactual(
        &moved,
        Some(&second.into_evidence(&moved)),
        None,
        &asked(MetricFamily::Shift),
    );
    truths()
        .iter()
        .map(|(id, family, _)| match *family {
            "means" | "medians" => find(&amounts, id),
            "scores" => find(&scores, id),
            "counts" => find(&rates, id),
            _ => super::one(&distances, id, MetricScope::Direction(0, 1)).interval,
        })
        .collect()
}

/// What the intervals of a setting held: by person, and where rows are taken for people. Each
/// sample has a stream of its own, so that threads change nothing.
fn held(design: (u64, u64), correlation: f64, samples: u64) -> Vec<[CoverageCount; 2]> {
    let truths = truths();
    let name = format!("{} x {}, correlation {correlation}", design.0, design.1);
    let of_sample = |sample: u64| {
        let mut stream = RandomStream::new(sample, &format!("coverage/values/{name}"));
        let groups = [0, 1].map(|_| group(&mut stream, design, correlation));
        [true, false].map(|by_person| intervals(&groups, by_person))
    };
    let found: Vec<_> = (0..samples).into_par_iter().map(of_sample).collect();
    let mut held: Vec<[CoverageCount; 2]> = truths.iter().map(|_| Default::default()).collect();
    for (side, intervals) in found.into_iter().flat_map(|sides| (0..).zip(sides)) {
        for ((held, interval), (_, _, truth)) in held.iter_mut().zip(intervals).zip(&truths) {
            held[side].add(interval, *truth);
        }
    }
    for ((id, ..), held) in truths.iter().zip(&held) {
        let shares = held.each_ref().map(CoverageCount::share_held);
        println!("{name}, {id}: {:.4} by person, {:.4} by row", shares[0], shares[1]);
    }
    held
}

/// Intervals by person hold nearly as often as they claim, those by row far less where the rows of
/// a person go together.
fn check(samples: u64, slack: f64) {
    let (truths, mut lowest, mut all) = (truths(), LowestHeld::new(), Vec::new());
    for design in DESIGNS {
        for correlation in CORRELATIONS {
            let held = held(design, correlation, samples);
            // The slope of few persons has no interval.
            let given = truths.iter().zip(&held).filter(|(_, held)| held[0].given() > 0);
            for ((id, family, _), held) in given {
                let shares = held.each_ref().map(CoverageCount::share_held);
                let least = lowest.entry((design, *family)).or_insert([1.0; 2]);
                *least = [0, 1].map(|i| f64::min(least[i], shares[i]));
                let own = shares[1] > AS_ROWS - slack;
                assert!(correlation > 0.0 || own, "{design:?} {id} of rows: {}", shares[1]);
            }
            all.extend(held.into_iter().flatten());
        }
    }
    for ((design, family), [by_person, by_row]) in &lowest {
        println!("lowest of {design:?}, {family}: {by_person:.4} ({by_row:.4})");
    }
    for ((design, family), [by_person, by_row]) in &lowest {
        let least = LEAST.iter().find(|least| least.0 == *family).unwrap();
        let place = DESIGNS.iter().position(|of| of == design).unwrap();
        assert!(*by_person > least.1[place] - slack, "{design:?} {family}: {by_person}");
        assert!(*by_row < least.2[place] + slack, "{design:?} {family} by row: {by_row}");
    }
    assert_all_drawn("tests::person_value_coverage::coverage_of_values_of_persons", &all);
}

/// What intervals hold at least where rows of a person have nothing in common and are taken for
/// people.
const AS_ROWS: f64 = 0.92;

/// By family, for each of [`DESIGNS`]: what intervals by person must hold at least, and by row at
/// most, in the setting where they hold least, of [`MANY_SAMPLES`] samples; the guide to metrics
/// has the figures.
const LEAST: [(&str, [f64; 3], [f64; 3]); 5] = [
    ("means", [0.93, 0.93, 0.93], [0.92, 0.68, 0.55]),
    ("medians", [0.93, 0.93, 0.93], [0.93, 0.72, 0.60]),
    ("scores", [0.93, 0.91, 0.92], [0.93, 0.72, 0.60]),
    ("counts", [0.92, 0.92, 0.92], [0.95, 0.80, 0.70]),
    ("distances", [0.91, 0.92, 0.92], [0.93, 0.70, 0.55]),
];

#[test]
fn coverage_of_values_of_persons() {
    check(trials(20), 0.2);
}

/// More samples.
#[test]
#[ignore = "slow, `make test-slow` runs it: 1,000 samples of each of 9 settings"]
fn coverage_of_values_of_persons_in_1_000_samples() {
    check(trials(MANY_SAMPLES), 0.0);
}
