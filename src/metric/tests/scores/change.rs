//! Changes of scores between two models or runs: against leaving out one person after another,
//! against values that another program computed, and how often intervals hold the truth.

use super::{case_of, check_ends, measured, near, only_scores};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::interval::IntervalProcedure;
use crate::metric::scope::MetricScope;
use crate::metric::tests::coverage::{CoverageCount, trials};
use crate::metric::tests::oracle::object;
use crate::metric::value::compare::ComparedValue;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::scores::RowsOf;
use crate::num::score_scale::ScoreScale;
use crate::num::seed::{RandomStream, h, u01};
use crate::num::student::student_quantile;
use crate::tests::{expected, json};

/// A row: group, label, the scores of two versions (none: not in that run), weight, person.
#[derive(Clone, Copy)]
struct VersionedRow {
    group: usize,
    label: bool,
    scores: [Option<f64>; 2],
    weight: u64,
    person: u64,
}

/// The change of every metric from the second version to the first.
fn changes(rows: &[VersionedRow], groups: usize, basis: CountingUnit) -> Vec<ComparedValue> {
    let runs = [0, 1].map(|version| {
        let none = LabelledScores::new(ScoreScale::default(), basis);
        let mut counts = FactualCounts::new(groups).with_scores(none);
        for (i, row) in rows.iter().enumerate() {
            let person = if basis.persons { row.person } else { i as u64 };
            if let Some(score) = row.scores[version] {
                let weight = if basis.weighted { row.weight } else { 1 };
                counts.add_score(row.group, (Some(row.label), score), weight, (person, i as u64));
            }
        }
        counts
    });
    let settings = only_scores();
    let with = MeasureContext::new(&settings);
    with.compare_scores(runs.each_ref(), RowsOf::Each)
}

/// Three groups; of ten rows one is in the first run alone and one in the second.
fn versioned(n: u64) -> Vec<VersionedRow> {
    let row = |i: u64| {
        let draw = |k: u64| u01(h(11, i, k));
        let score = (40.0 * (0.1 + 0.8 * draw(0))).round() / 40.0;
        let scores = [0.8 * score + 0.2 * draw(1), 0.9 * score + 0.1 * draw(2)];
        VersionedRow {
            group: (i % 3) as usize,
            label: draw(3) < score,
            scores: [(i % 10 != 4).then_some(scores[0]), (i % 10 != 7).then_some(scores[1])],
            weight: 1 + i % 4,
            person: i / 2,
        }
    };
    (0..n).map(row).collect()
}

/// Half the width of an interval as a standard error.
fn standard_error(of: &ComparedValue, df: f64) -> Option<f64> {
    let ends = of.interval?;
    let t = if ends.method == IntervalProcedure::DeLong {
        1.959_963_984_540_054
    } else {
        student_quantile(0.975, df)
    };
    Some((ends.hi - ends.lo) / 2.0 / t)
}

/// The standard error that the influences give is about that of leaving out one person after
/// another, with and without weights and persons, where the runs share four of five rows: each to
/// what a jackknife of 60 to 120 people tells, all of them together to a tenth.
#[test]
#[ignore = "slow, `make test-slow` runs it: a jackknife"]
fn errors_are_those_of_leaving_out_one_person() {
    let rows = versioned(840);
    let mut ratios: Vec<f64> = Vec::new();
    for (weighted, persons) in [(false, false), (true, false), (false, true), (true, true)] {
        let basis = CountingUnit { weighted, persons };
        let all = changes(&rows, 3, basis);
        let unit = |i: usize| if persons { rows[i].person } else { i as u64 };
        let units = unit(rows.len() - 1) + 1;
        let without = |left: u64| {
            let kept = (0..rows.len()).filter(|&i| unit(i) != left).map(|i| rows[i]);
            changes(&kept.collect::<Vec<_>>(), 3, basis)
        };
        // Every seventh person stands for all: of any group, weight and run.
        let left_out: Vec<Vec<ComparedValue>> = (0..units).step_by(7).map(without).collect();
        for (k, of) in all.iter().enumerate() {
            let what = format!("{} {:?} {basis:?}", of.metric.id, of.scope);
            if of.metric.id.starts_with("ecce") {
                assert!(of.interval.is_none() && of.ci_method.contains("ecce_p"), "{what}");
                continue;
            }
            let values: Vec<f64> = left_out.iter().map(|run| run[k].difference.unwrap()).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let units = units as f64;
            let jackknife = (squares / values.len() as f64 * (units - 1.0)).sqrt();
            // Degrees of freedom are at least those of a seventh of the people.
            let ratio = standard_error(of, units / 7.0).unwrap() / jackknife;
            assert!((0.5..2.0).contains(&ratio), "{what}: {ratio}");
            ratios.push(ratio);
        }
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((0.9..1.1).contains(&mean), "{mean}");
}

/// Two runs of other people: the variances add up, as for two groups.
#[test]
fn other_people_have_the_interval_of_two_groups() {
    let mut checked = 0;
    for case in json(expected("scores/expected.json")).as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        if !["plain", "ties", "miscalibrated", "weights"].contains(&name) {
            continue;
        }
        let told = &object(&case["pairs"])["A - B"]["auc_difference"];
        let (_, [whole, _]) = case_of(case);
        let scores = whole.scores.as_ref().unwrap();
        let runs = [0, 1].map(|group| {
            let none = LabelledScores::new(ScoreScale::default(), scores.basis);
            let mut counts = FactualCounts::new(1).with_scores(none);
            let who = crate::metric::scope::GroupSelection::One(group);
            for row in scores.ascending(who) {
                let labelled = (Some(row.positive), row.place);
                counts.add_score(0, labelled, row.weight, (row.person, row.row));
            }
            counts
        });
        let settings = only_scores();
        let with = MeasureContext::new(&settings);
        let all = with.compare_scores(runs.each_ref(), RowsOf::Each);
        let is_auc = |of: &&ComparedValue| of.metric.id == "auc" && of.scope == MetricScope::Total;
        let found = all.iter().find(is_auc).unwrap();
        near(found.difference.unwrap(), &told["value"], 1e-12, name);
        if name != "weights" {
            check_ends(found.interval.map(|i| (i.lo, i.hi)), &[&told["lo"], &told["hi"]], name);
        }
        checked += 1;
    }
    assert_eq!(checked, 4);
}

/// The change of a Brier score on the same rows is a mean of differences: the paired t-test, with
/// the degrees of freedom that the differences carry.
#[test]
fn a_change_on_the_same_rows_is_the_paired_test() {
    let mut rows = versioned(60);
    rows.retain(|row| row.scores.iter().all(Option::is_some));
    let all = changes(&rows, 3, CountingUnit::default());
    let of = |id: &str| {
        let is = |of: &&ComparedValue| of.metric.id == id && of.scope == MetricScope::Total;
        all.iter().find(is).unwrap()
    };
    let n = rows.len() as f64;
    let by_row = |of: &dyn Fn(f64, f64) -> f64, version: usize| -> Vec<f64> {
        let y = |row: &VersionedRow| f64::from(u8::from(row.label));
        rows.iter().map(|row| of(y(row), row.scores[version].unwrap())).collect()
    };
    let check = |id: &str, differences: Vec<f64>| {
        let mean = differences.iter().sum::<f64>() / n;
        let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
        let fourths: f64 = differences.iter().map(|d| (d - mean).powi(4)).sum();
        let c = squares * squares / fourths;
        let df = (n - 1.0).min(2.0 * n * c / (n - c));
        let half = student_quantile(0.975, df) * (squares / (n - 1.0) / n).sqrt();
        let found = of(id);
        let ends = found.interval.unwrap();
        assert!((ends.hi - ends.lo - 2.0 * half).abs() < 1e-12, "{id}: {ends:?}, half {half}");
        assert_eq!(found.ci_method.as_str().split(", ").last(), Some("paired by person"), "{id}");
    };
    let brier = |version| by_row(&|y, s| (y - s) * (y - s), version);
    check("brier", brier(0).iter().zip(brier(1)).map(|(a, b)| a - b).collect());
    // O / E of both, to first order.
    let sum = |of: Vec<f64>| of.iter().sum::<f64>();
    let parts = |version: usize| -> Vec<f64> {
        let (observed, expected) =
            (sum(by_row(&|y, _| y, version)), sum(by_row(&|_, s| s, version)));
        by_row(&|y, s| n * (y - observed / expected * s) / expected, version)
    };
    check("observed_expected", parts(0).iter().zip(parts(1)).map(|(a, b)| a - b).collect());
    // Nothing changes: there is no interval, and the reason says so.
    rows.iter_mut().for_each(|row| row.scores[1] = row.scores[0]);
    for of in changes(&rows, 3, CountingUnit::default()) {
        assert!(of.difference == Ok(0.0) && of.interval.is_none(), "{}", of.metric.id);
    }
}

/// Every metric but the p-value is compared wherever it is measured.
#[test]
fn everything_measured_is_compared() {
    let rows = versioned(90);
    let found = changes(&rows, 3, CountingUnit::default());
    let none = LabelledScores::new(ScoreScale::default(), CountingUnit::default());
    let of_run = measured(&FactualCounts::new(3).with_scores(none));
    let expected: Vec<_> = of_run
        .iter()
        .filter(|of| of.metric.id != "ecce_p")
        .map(|of| (of.metric.id, of.scope))
        .collect();
    assert_eq!(found.len(), expected.len());
    for key in expected {
        assert!(found.iter().any(|of| (of.metric.id, of.scope) == key), "{key:?}");
    }
}

/// Rows; how often the intervals of AUC, Brier score, observed over expected, intercept and slope
/// hold the true change.
const HELD: [(u64, [f64; 5]); 3] = [
    (30, [0.963, 0.951, 0.947, 0.955, 0.953]),
    (100, [0.951, 0.952, 0.958, 0.949, 0.951]),
    (300, [0.96, 0.957, 0.952, 0.944, 0.959]),
];

/// Two models on the same rows: the first knows the risk, the second knows it with noise, so that
/// the true change follows from many rows.
#[test]
#[ignore = "slow, `make test-slow` runs it: some 800 simulated samples"]
fn intervals_hold_the_true_change() {
    const METRICS: [&str; 5] =
        ["auc", "brier", "observed_expected", "calibration_intercept", "calibration_slope"];
    let logistic = |x: f64| 1.0 / (1.0 + libm::exp(-x));
    let draw = |n: u64, stream: &mut RandomStream| -> Vec<VersionedRow> {
        let row = |_| {
            let (risk, noise) = (3.0 * stream.u01() - 2.0, 1.6 * stream.u01() - 0.6);
            VersionedRow {
                group: 0,
                label: stream.u01() < logistic(risk),
                scores: [Some(logistic(risk)), Some(logistic(risk + noise))],
                weight: 1,
                person: 0,
            }
        };
        (0..n).map(row).collect()
    };
    let values = |n: u64, stream: &mut RandomStream| {
        let all = changes(&draw(n, stream), 1, CountingUnit::default());
        METRICS.map(|id| {
            let is = |of: &&ComparedValue| of.metric.id == id && of.scope == MetricScope::Total;
            all.iter().find(is).unwrap().clone()
        })
    };
    let mut stream = RandomStream::new(1, "coverage/scores/truth");
    let many: Vec<_> = (0..8).map(|_| values(50_000, &mut stream)).collect();
    let truth: Vec<f64> = (0..METRICS.len())
        .map(|k| many.iter().map(|of| of[k].difference.unwrap()).sum::<f64>() / many.len() as f64)
        .collect();
    let mut wrong = Vec::new();
    for (n, stated) in HELD {
        let mut held: [CoverageCount; 5] = Default::default();
        let mut stream = RandomStream::new(1, &format!("coverage/scores/change/{n}"));
        for _ in 0..trials(400) {
            let found = values(n, &mut stream);
            for (k, of) in found.iter().enumerate().filter(|(_, of)| of.difference.is_ok()) {
                held[k].add(of.interval, truth[k]);
            }
        }
        for (k, held) in held.iter().enumerate() {
            wrong.extend(held.check(&format!("{} of {n} rows", METRICS[k]), (stated[k], 1.0)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
