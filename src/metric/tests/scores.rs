//! Scores as such: compared with values that another program computed from the definitions, and
//! what must hold for all of them.

mod asah;
mod change;
mod curves;

use super::oracle::{object, parquet};
use super::*;
use crate::metric::catalog::scores::METRICS;
use crate::metric::evidence::labelled_scores::EXACT_ROWS;
use crate::metric::value::scores::{BINNED, RowsOf, measure_reliability};
use crate::num::seed::u01;

fn only_scores() -> MeasureSettings {
    of_families(&[MetricFamily::Scores])
}

fn measured(counts: &FactualCounts) -> Vec<MeasuredValue> {
    let settings = only_scores();
    MeasureContext::new(&settings).scores(counts)
}

fn compared(first: &FactualCounts, second: &FactualCounts) -> Vec<ComparedValue> {
    let settings = only_scores();
    let with = MeasureContext::new(&settings);
    with.compare_scores([first, second], RowsOf::Both)
}

/// The two models of a case of the oracle, and its groups.
fn case_of(case: &Json) -> (Vec<String>, [FactualCounts; 2]) {
    let file = parquet(expected("scores/rows.parquet"));
    let (groups, here, basis) = file.of_case(case);
    let number = |column: &str, i: usize| file.numbers[column][i];
    let models = ["score", "score_2"].map(|column| {
        let none = LabelledScores::new(ScoreScale::default(), basis);
        let mut counts = FactualCounts::new(groups.len()).with_scores(none);
        for &i in &here {
            let group = file.group(&groups, i);
            let score = number(column, i).unwrap_or(f64::NAN);
            let row = number("row", i).unwrap() as u64;
            let person = number("person", i).map_or(row, |person| person as u64);
            let label = number("y", i).map(|y| y == 1.0);
            counts.add_score(group, (label, score), file.weight(i), (person, row));
        }
        counts
    });
    (groups, models)
}

fn near(found: f64, value: &Json, within: f64, what: &str) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{what}: {found}, not null"));
    let near = (found - value).abs() <= within * value.abs().max(1.0);
    assert!(near, "{what}: {found}, not {value}");
}

fn check_reason(value: MetricValue, why: &Json, what: &str) {
    match value {
        Err(reason) => assert_eq!(Some(reason.code()), why.as_str(), "{what}"),
        Ok(value) => panic!("{what}: {value}, not {why}"),
    }
}

/// A value and its interval under the names of the oracle.
fn check(m: &MeasuredValue, of: &Json, what: &str) {
    match of["value"].is_null() {
        true => check_reason(m.value, &of["why"], what),
        false => near(m.value.unwrap(), &of["value"], 1e-12, what),
    }
    check_ends(m.interval.map(|i| (i.lo, i.hi)), &[&of["lo"], &of["hi"]], what);
}

fn check_ends(found: Option<(f64, f64)>, [lo, hi]: &[&Json; 2], what: &str) {
    match found {
        Some(ends) => {
            near(ends.0, lo, 1e-9, what);
            near(ends.1, hi, 1e-9, what);
        }
        None => assert!(lo.is_null() && hi.is_null(), "{what}: none, not {lo}"),
    }
}

#[test]
fn values_and_intervals_are_those_of_the_definitions() {
    let mut checked = 0;
    for case in json(expected("scores/expected.json")).as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        let (groups, models) = case_of(case);
        let place = |name: &str| groups.iter().position(|group| group == name).unwrap();
        let all = measured(&models[0]);
        let bins = measure_reliability(&models[0], &only_scores());
        let scopes = object(&case["groups"]);
        let scopes = scopes.iter().map(|(name, told)| (MetricScope::Group(place(name)), told));
        for (scope, told) in scopes.chain([(MetricScope::Total, &case["total"])]) {
            let what = format!("{name} {scope:?}");
            let of = |id: &str| one(&all, id, scope);
            assert_eq!(Some(of("auc").n_rows), told["rows"].as_u64(), "{what}");
            check(of("auc"), &told["auc"], &format!("{what} auc"));
            check(of("brier"), &told["brier"], &format!("{what} brier"));
            check(of("observed_expected"), &told["observed_expected"], &format!("{what} O/E"));
            let told_fit = &told["calibration"];
            for key in ["intercept", "slope"] {
                let (m, what) = (of(&format!("calibration_{key}")), format!("{what} {key}"));
                if told_fit[key].is_null() {
                    check_reason(m.value, &told_fit[format!("{key}_why")], &what);
                    continue;
                }
                near(m.value.unwrap(), &told_fit[key], 1e-9, &what);
                let ends = &told_fit[format!("{key}_ci")];
                check_ends(m.interval.map(|i| (i.lo, i.hi)), &[&ends[0], &ends[1]], &what);
                let cut = told_fit["n_clipped"].as_u64().unwrap();
                let says = m.ci_method.contains(&format!("; {cut} of "));
                assert_eq!(says, cut > 0, "{what}: {}", m.ci_method);
            }
            let who = match scope {
                MetricScope::Group(group) => GroupSelection::One(group),
                _ => GroupSelection::All,
            };
            let own: Vec<_> = bins.iter().filter(|(of, _)| *of == who).collect();
            let told_bins = told["reliability"].as_array().unwrap();
            assert_eq!(own.len(), told_bins.len(), "{what} bins");
            for ((_, bin), told) in own.iter().zip(told_bins) {
                let what = format!("{what} bin {}", bin.bin);
                let counts = [("bin", bin.bin), ("n", bin.n), ("positives", bin.positives)];
                counts
                    .iter()
                    .for_each(|(key, n)| assert_eq!(told[key].as_u64(), Some(*n), "{what}"));
                near(bin.scores.0, &told["score_lo"], 1e-15, &what);
                near(bin.scores.1, &told["score_hi"], 1e-15, &what);
                near(bin.mean_score, &told["mean_score"], 1e-12, &what);
                near(bin.observed, &told["observed"], 1e-12, &what);
                // Of weights of persons the other program takes Kish's number where each has a row.
                if !(name.contains("weights") && name.contains("persons")) {
                    check_ends(bin.ends, &[&told["lo"], &told["hi"]], &what);
                }
            }
            let told = &told["ecce"];
            for (id, key) in [("ecce", "ecce"), ("ecce_mad", "mad")] {
                match of(id).value {
                    Ok(value) => near(value, &told[key], 1e-12, &format!("{what} {id}")),
                    Err(reason) => assert!(told[key].is_null(), "{what} {id} {reason}"),
                }
            }
            let p = of("ecce_p").value;
            match told["p"].as_f64() {
                Some(expected) => {
                    let p = p.unwrap();
                    let near = (p - expected).abs() <= (1e-9 * expected).max(1e-14);
                    assert!(near, "{what}: p {p}, not {expected}");
                }
                None => check_reason(p, &told["p_why"], &format!("{what} p")),
            }
            checked += 1;
        }
        for (pair, told) in object(&case["pairs"]) {
            let (a, b) = pair.split_once(" - ").unwrap();
            let (a, b) = (place(a), place(b));
            for (id, scope, key) in [
                ("auc_difference", MetricScope::Pair(a, b), "auc_difference"),
                ("xauc", MetricScope::Direction(a, b), "xauc_ab"),
                ("xauc", MetricScope::Direction(b, a), "xauc_ba"),
                ("xauc_difference", MetricScope::Pair(a, b), "xauc_difference"),
                ("brier_difference", MetricScope::Pair(a, b), "brier_difference"),
            ] {
                check(one(&all, id, scope), &told[key], &format!("{name} {pair} {key}"));
                checked += 1;
            }
        }
        let both = compared(&models[0], &models[1]);
        for (of, told) in object(&case["models"]) {
            let scope =
                if of == "total" { MetricScope::Total } else { MetricScope::Group(place(of)) };
            let is = |of: &&ComparedValue| of.metric.id == "auc" && of.scope == scope;
            let found = both.iter().find(is).unwrap();
            let what = format!("{name} {of}, two models");
            for (value, told) in [
                (found.first, &told["auc_1"]),
                (found.second, &told["auc_2"]),
                (found.difference, &told["difference"]),
            ] {
                match value {
                    Ok(value) => near(value, &told["value"], 1e-12, &what),
                    Err(_) => check_reason(value, &told["why"], &what),
                }
            }
            let told = &told["difference"];
            let ends = found.interval.map(|i| (i.lo, i.hi));
            if name == "same_model_twice" {
                // The oracle subtracts variances, of which rounding leaves 7e-18 in one group.
                assert!(ends.is_none() && told["variance"].as_f64() < Some(1e-17), "{what}");
            } else {
                check_ends(ends, &[&told["lo"], &told["hi"]], &what);
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 216);
}

/// Labels that follow scores of [0.01, 0.06], and scores that are a little too low.
fn squeezed(n: u64, basis: CountingUnit) -> FactualCounts {
    let none = LabelledScores::new(ScoreScale::default(), basis);
    let mut counts = FactualCounts::new(2).with_scores(none);
    for i in 0..n {
        let score = 0.01 + 0.05 * u01(h(5, i, 0));
        let label = u01(h(5, i, 1)) < 1.1 * score;
        counts.add_score((i % 2) as usize, (Some(label), score), 1 + i % 3, (i, i));
    }
    counts
}

/// Cells say nearly what the rows say, and say that they are cells.
#[test]
fn many_rows_are_counted_in_cells() {
    let n = EXACT_ROWS as u64 + 20_000;
    let of = |persons| measured(&squeezed(n, CountingUnit { weighted: true, persons }));
    let (rows, cells) = (of(true), of(false));
    assert_eq!(rows.len(), cells.len());
    for (exact, m) in rows.iter().zip(&cells) {
        assert!(m.flags.contains(&BINNED) && !exact.flags.contains(&BINNED));
        if m.metric.id == "ecce_p" {
            assert_eq!(exact.value, Err(Undefined::Persons));
            continue;
        }
        let (x, y) = (exact.value.unwrap(), m.value.unwrap());
        let what = format!("{} {:?}: {x} {y}", m.metric.id, m.scope);
        let within = if m.metric.id.starts_with("ecce") { 2e-5 } else { 3e-6 };
        assert!((x - y).abs() < within * x.abs().max(1.0), "{what}");
        if let (Some(x), Some(y)) = (exact.interval, m.interval) {
            assert!((x.lo - y.lo).abs() < 1e-4 && (x.hi - y.hi).abs() < 1e-4, "{what}");
        }
    }
    // Two models cannot be paired in cells.
    let both = squeezed(n, CountingUnit { weighted: true, persons: false });
    let found = compared(&both, &both);
    assert!(found.iter().all(|of| of.difference == Ok(0.0) && of.interval.is_none()));
    found[0].ci_method.says(&["200,000"]);
}

/// Weights of 1 and persons of one row change no value.
#[test]
fn weights_and_persons_that_say_nothing_change_no_value() {
    let of = |weighted, persons, weight: u64| {
        let none = LabelledScores::new(ScoreScale::default(), CountingUnit { weighted, persons });
        let mut counts = FactualCounts::new(3).with_scores(none);
        for i in 0..150 {
            let score = (u01(h(2, i, 0)) * 40.0).round() / 40.0;
            let label = u01(h(2, i, 1)) < score;
            counts.add_score((i % 3) as usize, (Some(label), score), weight, (i, i));
        }
        measured(&counts)
    };
    let plain = of(false, false, 1);
    for other in [of(true, false, 7), of(false, true, 1), of(true, true, 3)] {
        assert_eq!(plain.len(), other.len());
        for (a, b) in plain.iter().zip(&other).filter(|(_, b)| b.metric.id != "ecce_p") {
            let (x, y) = (a.value.unwrap(), b.value.unwrap());
            assert!((x - y).abs() < 1e-9, "{} {x} {y}", a.metric.id);
            assert_eq!(a.interval.is_some(), b.interval.is_some(), "{}", a.metric.id);
        }
    }
}

/// Every metric of the list is measured in its scopes, and nobody has none.
#[test]
fn every_metric_is_measured_and_of_nobody_none() {
    let none = || LabelledScores::new(ScoreScale::default(), CountingUnit::default());
    let counts = FactualCounts::new(3).with_scores(none());
    let all = measured(&counts);
    assert!(all.iter().all(|m| m.value == Err(Undefined::EmptyGroup) && m.interval.is_none()));
    for metric in METRICS {
        assert!(all.iter().any(|m| m.metric.id == metric.id), "{}", metric.id);
    }
    // Four of one group: three groups and all; a gap: three pairs and three against all others.
    assert_eq!(all.len(), 8 * 4 + 3 * 6 + 6);
    // People without a label.
    let mut counts = FactualCounts::new(1).with_scores(none());
    counts.add((0, 0, 1), None, Some(true), false);
    counts.add_score(0, (None, 0.7), 1, (1, 1));
    assert!(measured(&counts).iter().all(|m| m.value == Err(Undefined::NoLabel)));
    // People who weigh nothing.
    let mut counts = FactualCounts::new(1).with_scores(none());
    counts.add((0, 0, 1), Some(true), Some(true), false);
    counts.add_score(0, (Some(true), 0.7), 0, (1, 1));
    assert!(measured(&counts).iter().all(|m| m.value == Err(Undefined::ZeroWeight)));
    assert!(measured(&FactualCounts::new(2)).is_empty());
}
