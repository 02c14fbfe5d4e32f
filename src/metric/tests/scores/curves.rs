//! Rates at every threshold: against counts and intervals that another program computed, and what
//! must hold of weights, persons and the threshold of the job.

use serde_json::Value as Json;

use super::{case_of, check_ends, near, of_families, settings};
use crate::metric::MetricFamily;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::score_grid::{GRID_STEPS, ScoreGrid};
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::rate::Undefined;
use crate::metric::scope::MetricScope;
use crate::metric::tests::oracle::{OracleColumns, object, parquet};
use crate::metric::value::curves::{
    CurveEvidence, CurvePoint, LEAST_BROKEN_STEPS, ThresholdCurve, broken_run,
};
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::value::switches::measure_counterfactual;
use crate::num::score_scale::ScoreScale;
use crate::num::seed::{h, u01};
use crate::tests::{expected, json};

/// The threshold of the job in the oracle.
const THRESHOLD: f64 = 0.35;

/// The curves of every scope.
fn all_curves(counts: &impl CurveEvidence) -> Vec<ThresholdCurve> {
    let scopes = counts.curve_scopes().into_iter();
    scopes.flat_map(|scope| counts.curves(&settings(), scope)).collect()
}

fn grid(strict: bool, weighted: bool) -> ScoreGrid {
    ScoreGrid { scale: ScoreScale::default(), strict, weighted, threshold: Some(THRESHOLD) }
}

/// A row of a made-up or told audit.
struct GridRow {
    key: u64,
    person: ScoredPerson,
    /// The score of the counterfactual in the next group.
    score_cf: Option<f64>,
}

/// The rows and counterfactuals of some people, by the rule of a grid.
struct GridAudit {
    rows: FactualCounts,
    switches: CounterfactualCounts,
}

impl GridAudit {
    fn new(groups: usize, grid: ScoreGrid, persons: bool, all: &[GridRow]) -> Self {
        let mut rows = FactualCounts::new(groups).with_grid(grid);
        let mut switches = CounterfactualCounts::new(groups.max(2)).with_grid(grid);
        if persons {
            (rows, switches) =
                (rows.counted_by(CountingUnit::PERSON), switches.counted_by(CountingUnit::PERSON));
        }
        if grid.weighted {
            (rows, switches) =
                (rows.counted_by(CountingUnit::WEIGHT), switches.counted_by(CountingUnit::WEIGHT));
        }
        let positive =
            |score: f64| if grid.strict { score > THRESHOLD } else { score >= THRESHOLD };
        for row in all {
            let predicted = row.person.score.map(positive);
            let person = ScoredPerson { predicted, ..row.person };
            let (group, label) = (person.group, person.label);
            let score = person.score.unwrap_or(f64::NAN);
            rows.add((group, row.key, person.weight), label, predicted, score == THRESHOLD);
            rows.add_score(group, (label, score), person.weight, (row.key, row.key));
            let moved = ScoredCounterfactual::to(
                (group + 1) % groups.max(2),
                row.score_cf.map(positive),
                row.score_cf,
            );
            switches.add_person(row.key, &person, &[moved]);
        }
        switches.settle();
        GridAudit { rows, switches }
    }

    fn curves(&self) -> Vec<ThresholdCurve> {
        let mut curves = all_curves(&self.rows);
        curves.extend(all_curves(&self.switches));
        curves
    }

    /// The same metrics at the threshold of the job.
    fn measured(&self) -> Vec<MeasuredValue> {
        let families = vec![MetricFamily::Performance, MetricFamily::Group, MetricFamily::Ccm];
        let settings = MeasureSettings { families, ..settings() };
        let mut all = measure_factual(&self.rows, None, &settings);
        all.extend(measure_counterfactual(&self.switches, None, None, &settings));
        all
    }
}

fn rows_of(case: &str, groups: &[String], file: &OracleColumns) -> Vec<GridRow> {
    let here =
        (0..file.texts["case"].len()).filter(|&i| file.texts["case"][i].as_deref() == Some(case));
    let row = |i: usize| {
        let number = |column: &str| file.numbers[column][i];
        let label = number("y").map(|y| y == 1.0);
        let person = ScoredPerson::of(file.group(groups, i), label, None, number("score"));
        GridRow {
            key: number("person").or(number("row")).unwrap() as u64,
            person: ScoredPerson { weight: file.weight(i), ..person },
            score_cf: number("score_cf"),
        }
    };
    here.map(row).collect()
}

#[track_caller]
fn curve<'a>(curves: &'a [ThresholdCurve], id: &str, scope: MetricScope) -> &'a ThresholdCurve {
    let mut found = curves.iter().filter(|c| c.metric.id == id && c.scope == scope);
    let first = found.next().unwrap_or_else(|| panic!("no `{id}` in {scope:?}"));
    assert!(found.next().is_none(), "`{id}` occurs twice in {scope:?}");
    assert_eq!(first.points.len(), GRID_STEPS + 2);
    first
}

/// A point and what the oracle says of it.
fn check_point(found: &CurvePoint, told: &Json, what: &str) {
    match (found.value, told["value"].as_f64()) {
        (Ok(_), Some(_)) => near(found.value.unwrap(), &told["value"], 1e-12, what),
        (Err(_), None) => {}
        (value, told) => panic!("{what}: {value:?}, not {told:?}"),
    }
    if !told["k"].is_null() {
        assert_eq!(found.numerator, told["k"].as_u64(), "{what}");
        assert_eq!(Some(found.denominator), told["n"].as_u64(), "{what}");
    }
    check_ends(found.ends, &[&told["lo"], &told["hi"]], what);
}

fn scope_of(metric: &str, group: usize, n_groups: usize) -> MetricScope {
    match metric {
        "psr" | "nsr" | "sr" => MetricScope::Direction(group, (group + 1) % n_groups.max(2)),
        _ => MetricScope::Group(group),
    }
}

#[test]
fn curves_are_those_of_the_definitions() {
    let file = parquet(expected("scores/rows.parquet"));
    let counts = parquet(expected("scores/curves.parquet"));
    let (mut points, mut runs, mut steps) = (0, 0, 0);
    for case in json(expected("scores/expected.json")).as_array().unwrap() {
        if case["curves"].is_null() {
            continue;
        }
        let name = case["case"].as_str().unwrap();
        let groups = case_of(case).0;
        let rows = rows_of(name, &groups, &file);
        for (rule, strict) in [("ge", false), ("gt", true)] {
            let audit = GridAudit::new(groups.len(), grid(strict, false), false, &rows);
            let curves = audit.curves();
            let told = case["curves"][rule].as_array().unwrap();
            let last = told.len() - 1;
            for (i, at) in told.iter().enumerate() {
                let t = at["t"].as_f64().unwrap();
                let step =
                    if i == last { GRID_STEPS + 1 } else { (t * GRID_STEPS as f64) as usize };
                for (group, own) in object(&at["groups"]) {
                    let group = groups.iter().position(|of| of == group).unwrap();
                    for (metric, told) in object(own) {
                        let found = curve(&curves, metric, scope_of(metric, group, groups.len()));
                        let what = format!("{name} {rule} {t} {metric} {group}");
                        check_point(&found.points[step], told, &what);
                        points += 1;
                    }
                }
                if !at["di"].is_null() {
                    let found = curve(&curves, "di", MetricScope::Pair(0, 1));
                    check_point(&found.points[step], &at["di"], &format!("{name} {rule} {t} di"));
                    points += 1;
                }
            }
            steps += check_steps((name, rule), &groups, &curves, &counts);
            check_integrals(case, &groups, &curves);
        }
        let audit = GridAudit::new(groups.len(), grid(false, false), false, &rows);
        let curves = audit.curves();
        for told in case["no_threshold"].as_array().unwrap() {
            assert_eq!(told["rule"], "ge");
            check_run(told, &groups, &curves, name);
            runs += 1;
        }
    }
    assert_eq!((points, runs), (7632, 144));
    assert_eq!(steps, 67_650);
}

/// The counts of a case at all cuts.
fn check_steps(
    (case, rule): (&str, &str),
    groups: &[String],
    curves: &[ThresholdCurve],
    counts: &OracleColumns,
) -> usize {
    let text = |column: &str, i: usize| counts.texts[column][i].as_deref().unwrap();
    let here = (0..counts.texts["case"].len())
        .filter(|&i| (text("case", i), text("rule", i)) == (case, rule));
    let mut checked = 0;
    for i in here {
        let group = groups.iter().position(|of| of == text("group", i)).unwrap();
        let step = counts.numbers["i"][i].unwrap() as usize;
        let told = |column: &str| counts.numbers[column][i].map(|n| n as u64);
        let point = |metric: &str| {
            curve(curves, metric, scope_of(metric, group, groups.len())).points[step]
        };
        let what = format!("{case} {rule} {group} {step}");
        let (psr, nsr) = (point("psr"), point("nsr"));
        assert_eq!((psr.numerator, nsr.numerator), (told("sp"), told("sn")), "{what}");
        assert_eq!(Some(nsr.denominator), told("pos"), "{what}");
        checked += 1;
    }
    checked
}

/// The steps of the grid add up to the integrals over all thresholds, but for a step.
fn check_integrals(case: &Json, groups: &[String], curves: &[ThresholdCurve]) {
    for (group, told) in object(&case["integrals"]) {
        let group = groups.iter().position(|of| of == group).unwrap();
        let of = |metric: &str| {
            let points = &curve(curves, metric, scope_of(metric, group, groups.len())).points;
            let top = points[1..=GRID_STEPS].iter().filter_map(|point| point.numerator);
            top.sum::<u64>() as f64
        };
        let all = curve(curves, "sr", scope_of("sr", group, groups.len())).points[0].denominator;
        let mean = |sum: f64| sum / (all.max(1) as f64 * GRID_STEPS as f64);
        let found = [mean(of("sr")), mean(of("psr") - of("nsr"))];
        for (found, key) in found.into_iter().zip(["macd", "mcd"]) {
            let Some(told) = told[key].as_f64() else { continue };
            let what = format!("{} {group} {key}: {found}, not {told}", case["case"]);
            assert!((found - told).abs() <= 1.0 / GRID_STEPS as f64, "{what}");
        }
    }
}

/// The distances of scores of a direction by integrals over all thresholds: of the rate at which
/// decisions differ, and of how many more people are decided positively.
fn integrals(pairs: &[(f64, f64)], strict: bool) -> [f64; 2] {
    let mut cuts: Vec<f64> = pairs.iter().flat_map(|&(s, c)| [s, c]).chain([0.0, 1.0]).collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let mut sums = [0.0; 2];
    for step in cuts.windows(2) {
        // Between two scores no decision changes.
        let is = |score: f64| if strict { score > step[0] } else { score >= step[1] };
        let share = |of: &dyn Fn(bool, bool) -> i64| {
            let sum: i64 = pairs.iter().map(|&(s, c)| of(is(s), is(c))).sum();
            sum as f64 / pairs.len() as f64
        };
        let width = step[1] - step[0];
        sums[0] += width * share(&|s, c| i64::from(s != c));
        sums[1] += width * share(&|s, c| i64::from(c) - i64::from(s));
    }
    sums
}

/// Exactly, over all distinct scores and for both rules, the rates at every threshold add up to the
/// distances of scores that are measured.
#[test]
fn rates_at_all_scores_add_up_to_the_distances() {
    let file = parquet(expected("scores/rows.parquet"));
    let mut compared = 0;
    for case in json(expected("scores/expected.json")).as_array().unwrap() {
        let Some(told) = case["integrals"].as_object() else { continue };
        let (name, groups) = (case["case"].as_str().unwrap(), case_of(case).0);
        let rows = rows_of(name, &groups, &file);
        let n_groups = groups.len().max(2);
        let person = |row: &GridRow| {
            let moved = ScoredCounterfactual::to(
                (row.person.group + 1) % n_groups,
                row.score_cf.map(|score| score >= THRESHOLD),
                row.score_cf,
            );
            let predicted = row.person.score.map(|score| score >= THRESHOLD);
            (ScoredPerson { predicted, ..row.person }, [moved])
        };
        let mut counts = CounterfactualCounts::new(n_groups);
        for row in &rows {
            let (own, moved) = person(row);
            counts.add_person(row.key, &own, &moved);
        }
        counts.settle();
        let mut second = counts.second_pass();
        for row in &rows {
            let (own, moved) = person(row);
            second.add(row.key, &own, &moved);
        }
        let shift = of_families(&[MetricFamily::Shift]);
        let evidence = ShiftEvidence { second: second.settled(), spreads: None };
        let measured = measure_counterfactual(&counts, Some(&evidence), None, &shift);
        for (group, told) in told {
            let group = groups.iter().position(|of| of == group).unwrap();
            let own = rows.iter().filter(|row| row.person.group == group);
            let pairs: Vec<(f64, f64)> =
                own.filter_map(|row| row.person.score.zip(row.score_cf)).collect();
            let scope = MetricScope::Direction(group, (group + 1) % n_groups);
            for strict in [false, true] {
                for (found, id) in integrals(&pairs, strict).into_iter().zip(["macd", "mcd"]) {
                    let what = format!("{name} {group} {id}");
                    near(found, &told[id], 1e-12, &what);
                    let value = super::one(&measured, id, scope).value.unwrap();
                    assert!((value - found).abs() <= 1e-12, "{what}: {value}, not {found}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 120, "{compared}");
}

fn check_run(told: &Json, groups: &[String], curves: &[ThresholdCurve], name: &str) {
    let metric = told["metric"].as_str().unwrap();
    let of = match told["of"].as_str().unwrap() {
        "B / A" => curve(curves, metric, MetricScope::Pair(0, 1)),
        group => {
            let group = groups.iter().position(|of| of == group).unwrap();
            curve(curves, metric, scope_of(metric, group, groups.len()))
        }
    };
    let points: Vec<(Option<f64>, u64)> =
        of.points[..=GRID_STEPS].iter().map(|p| (p.value.ok(), p.denominator)).collect();
    let (limit, threshold) = (told["limit"].as_f64().unwrap(), told["threshold"].as_f64().unwrap());
    let breaks = |value: f64| match told["side"].as_str().unwrap() {
        "at_most" => value > limit,
        side => {
            assert_eq!(side, "at_least");
            value < limit
        }
    };
    let at = (threshold * GRID_STEPS as f64) as usize;
    let run = broken_run(&points, at, told["enough"].as_u64().unwrap(), breaks);
    let what = format!("{name} {told}");
    assert_eq!(run.map(|run| run.0 as u64), told["run"]["first"].as_u64(), "{what}");
    assert_eq!(run.map(|run| run.1 as u64), told["run"]["last"].as_u64(), "{what}");
    let said = run.map(|(first, last)| last - first >= LEAST_BROKEN_STEPS);
    assert_eq!(said, told["run"]["said"].as_bool(), "{what}");
}

/// People who have three rows each, with weights from 1 to 4.
fn made_up(n: u64) -> Vec<GridRow> {
    let row = |i: u64| {
        let known = (!h(8, i, 4).is_multiple_of(9)).then_some(());
        let score = known.map(|()| u01(h(8, i / 3, 0)) * 0.7 + u01(h(8, i, 1)) * 0.3);
        GridRow {
            key: i / 3,
            person: ScoredPerson {
                weight: 1 + i % 4,
                ..ScoredPerson::of(
                    (i % 2) as usize,
                    (!h(8, i, 5).is_multiple_of(7)).then(|| u01(h(8, i, 2)) < 0.4),
                    None,
                    score,
                )
            },
            score_cf: score.map(|score| (score + 0.1 * u01(h(8, i, 3))).min(1.0)),
        }
    };
    (0..n).map(row).collect()
}

/// At the threshold of the job a curve is the metric, with its interval where that has a formula.
#[test]
fn a_curve_passes_through_the_metric() {
    let rows = made_up(600);
    for (weighted, persons) in [(false, false), (false, true), (true, false)] {
        let audit = GridAudit::new(2, grid(false, weighted), persons, &rows);
        let measured = audit.measured();
        let mut checked = 0;
        for curve in audit.curves() {
            let (id, point) = (curve.metric.id, &curve.points[GRID_STEPS + 1]);
            let m = super::one(&measured, id, curve.scope);
            let what = format!("{id} {:?} {weighted} {persons}", curve.scope);
            assert!((point.value.unwrap() - m.value.unwrap()).abs() < 1e-12, "{what}");
            if id != "di" {
                assert_eq!(
                    (point.numerator, Some(point.denominator)),
                    (m.numerator, m.denominator)
                );
            }
            let (ends, told) = (point.ends.unwrap(), m.interval.unwrap());
            let within = if weighted { 0.06 } else { 1e-12 };
            let near = (ends.0 - told.lo).abs() < within && (ends.1 - told.hi).abs() < within;
            assert!(near, "{what}: {ends:?}, not {told:?}");
            checked += 1;
        }
        // Three rates of two groups and all, their ratio, five of two directions and all.
        assert_eq!(checked, 3 * 3 + 1 + 5 * 3);
    }
}

/// Persons and weights that differ widen intervals and move no count.
#[test]
fn weights_and_persons_are_in_the_intervals() {
    let rows = made_up(600);
    let of = |weighted, persons| {
        let audit = GridAudit::new(2, grid(false, weighted), persons, &rows);
        let curves = audit.curves();
        curve(&curves, "pprev", MetricScope::Group(0)).points[300]
    };
    let width = |point: CurvePoint| point.ends.map(|(lo, hi)| hi - lo).unwrap();
    let plain = of(false, false);
    for other in [of(true, false), of(false, true), of(true, true)] {
        assert_eq!(other.numerator, plain.numerator);
        assert!(width(other) > 1.05 * width(plain), "{other:?} {plain:?}");
    }
    assert_eq!(of(false, true).value, plain.value);
    assert!(of(true, false).value != plain.value);
    // Nobody is refused at the threshold of the job, so that the design effect is not known.
    let high: Vec<GridRow> = made_up(60)
        .into_iter()
        .map(|row| {
            let score = row.person.score.map(|score| 0.5 + score / 2.0);
            GridRow { person: ScoredPerson { score, ..row.person }, ..row }
        })
        .collect();
    let curves = GridAudit::new(2, grid(false, false), true, &high).curves();
    let points = &curve(&curves, "psr", MetricScope::Direction(0, 1)).points;
    assert_eq!(points[GRID_STEPS + 1].value, Err(Undefined::NoPredictedNegative));
    assert!(points[GRID_STEPS].value.is_ok() && points[GRID_STEPS].ends.is_none());
}

/// People with several counterfactuals count once for how sure a rate is.
#[test]
fn several_counterfactuals_of_a_person_are_no_independent_cases() {
    let make = |times: usize| {
        let mut counts = CounterfactualCounts::new(2).with_grid(grid(false, false));
        for i in 0..200 {
            let score = u01(h(4, i, 0));
            let predicted = Some(score >= THRESHOLD);
            let person = ScoredPerson::of(0, None, predicted, Some(score));
            let to = (score + 0.2).min(1.0);
            let moved = ScoredCounterfactual::to(1, Some(to >= THRESHOLD), Some(to));
            counts.add_person(i, &person, &vec![moved; times]);
        }
        counts.settle();
        let curves = all_curves(&counts);
        curve(&curves, "sr", MetricScope::Direction(0, 1)).points[700]
    };
    let (once, thrice) = (make(1), make(3));
    assert_eq!((3 * once.denominator, once.value), (thrice.denominator, thrice.value));
    let (a, b) = (once.ends.unwrap(), thrice.ends.unwrap());
    // The variance of 200 units has 199 below it.
    assert!((a.0 - b.0).abs() < 5e-4 && (a.1 - b.1).abs() < 5e-4, "{a:?} {b:?}");
}

/// Nothing is asked for, nothing is there.
#[test]
fn there_are_no_curves_unless_they_are_asked_for() {
    assert!(all_curves(&FactualCounts::new(2)).is_empty());
    assert!(all_curves(&CounterfactualCounts::new(2)).is_empty());
    let nobody = FactualCounts::new(2).with_grid(grid(false, false));
    let curves = all_curves(&nobody);
    let all = curves.iter().flat_map(|curve| &curve.points);
    assert!(all.clone().count() > 0 && all.clone().all(|p| p.value.is_err() && p.ends.is_none()));
}
