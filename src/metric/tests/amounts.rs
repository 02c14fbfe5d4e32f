//! Amounts: compared with values that another program computed from the definitions and with values
//! computed by hand, and what must hold for all of them.

use super::oracle::{object, parquet};
use super::*;
use crate::metric::catalog::amounts::{METRICS, QUANTILES};
use crate::metric::value::amounts::{AmountChange, AmountRule, AmountStep, measure_amount_changes};

/// A case of the oracle.
struct AmountCase {
    groups: Vec<String>,
    basis: CountingUnit,
    /// By group the amounts.
    amounts: Vec<Vec<AmountEntry>>,
    /// By group the changes.
    changes: Vec<Vec<AmountChange>>,
    rule: AmountRule,
}

fn case_of(case: &Json) -> AmountCase {
    let file = parquet(expected("amounts/rows.parquet"));
    let (groups, here, basis) = file.of_case(case);
    let number = |column: &str, i: usize| file.numbers[column][i];
    let entry = |i: usize, value: f64| AmountEntry {
        value,
        weight: file.weight(i),
        person: number("person", i).map_or(0, |person| person as u64),
    };
    let mut amounts = vec![Vec::new(); groups.len()];
    let mut changes = vec![Vec::new(); groups.len()];
    for &i in &here {
        let group = file.group(&groups, i);
        let Some(amount) = number("amount", i) else { continue };
        amounts[group].push(entry(i, amount));
        if let Some(other) = number("amount_cf", i) {
            changes[group].push((entry(i, other - amount), amount));
        }
    }
    let told = &case["settings"];
    let from = told["matters_from"].as_f64().unwrap();
    let matters_from =
        if told["relative"] == true { AmountStep::Share(from) } else { AmountStep::Absolute(from) };
    let rule = AmountRule { better_lower: told["better"] == "lower", matters_from };
    AmountCase { groups, basis, amounts, changes, rule }
}

/// Within 1e-12 of a value, and 1e-9 of an end; or as near to 0 as doubles of these amounts are.
fn near(found: f64, value: &Json, within: f64, what: &str) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{what}: {found}, not null"));
    let near = (found - value).abs() <= (within * value.abs()).max(1e-12);
    assert!(near, "{what}: {found}, not {value}");
}

fn check_value(found: &MeasuredValue, of: &Json, what: &str) {
    match (found.value, of["value"].is_null()) {
        (Ok(value), false) => near(value, &of["value"], 1e-12, what),
        (Err(reason), true) => assert_eq!(Some(reason.code()), of["why"].as_str(), "{what}"),
        (value, _) => panic!("{what}: {value:?}, not {of}"),
    }
    match found.interval {
        Some(ends) => {
            near(ends.lo, &of["lo"], 1e-9, what);
            near(ends.hi, &of["hi"], 1e-9, what);
        }
        None => {
            assert!(of["lo"].is_null() && of["hi"].is_null(), "{what}: {}", found.ci_method);
        }
    }
}

/// A value that rests on a share: of weights the other program takes Kish's number without a design
/// effect, so that its interval is at most as wide.
fn check_ranked(basis: CountingUnit, found: &MeasuredValue, of: &Json, what: &str) {
    if !basis.weighted {
        return check_value(found, of, what);
    }
    match found.value {
        Ok(value) => near(value, &of["value"], 1e-12, what),
        Err(_) => assert!(of["value"].is_null(), "{what}"),
    }
    if let (Some(ends), Some(lo), Some(hi)) = (found.interval, of["lo"].as_f64(), of["hi"].as_f64())
    {
        let width = (ends.hi - ends.lo) * (1.0 + 1e-9);
        assert!(width >= hi - lo && (ends.lo..=ends.hi).contains(&found.value.unwrap()), "{what}");
    }
}

#[test]
fn values_and_intervals_are_those_of_the_definitions() {
    let mut compared = 0;
    for case in json(expected("amounts/expected.json")).as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        let of = case_of(case);
        let place = |name: &str| of.groups.iter().position(|group| group == name).unwrap();
        let samples: Vec<AmountSample> =
            of.amounts.iter().map(|group| AmountSample::new(of.basis, group.clone())).collect();
        let all = measure_amounts(&samples, &settings());
        for (letter, told) in object(&case["groups"]) {
            let group = place(letter);
            let scope = MetricScope::Group(group);
            let what = format!("{name} {letter}");
            let mean = one(&all, "amount_mean", scope);
            assert_eq!(Some(mean.n_rows), told["n"].as_u64(), "{what}");
            let counts = |is: fn(f64) -> bool| {
                of.amounts[group].iter().filter(|entry| is(entry.value)).count() as u64
            };
            assert_eq!(Some(counts(|x| x == 0.0)), told["n_zero"].as_u64(), "{what}");
            assert_eq!(Some(counts(|x| x < 0.0)), told["n_negative"].as_u64(), "{what}");
            check_value(mean, &told["mean"], &what);
            for (q, id, _) in QUANTILES {
                let told = &told["quantiles"][q.to_string()];
                check_ranked(of.basis, one(&all, id, scope), told, &format!("{what} {q}"));
                compared += 1;
            }
        }
        for (pair, told) in object(&case["pairs"]) {
            let (a, b) = pair.split_once(" - ").unwrap();
            let scope = MetricScope::Pair(place(a), place(b));
            let what = format!("{name} {pair}");
            let (basis, of) = (of.basis, |id: &str| one(&all, id, scope));
            check_value(of("amount_mean_difference"), &told["mean_difference"], &what);
            if told["mean_ratio"].is_null() {
                for metric in ["amount_mean_ratio", "amount_q50_difference"] {
                    assert_eq!(of(metric).value, Err(Undefined::OperandMissing), "{what}");
                }
                continue;
            }
            check_value(of("amount_mean_ratio"), &told["mean_ratio"], &what);
            for (q, _, id) in QUANTILES {
                let told = &told["quantile_differences"][q.to_string()];
                check_ranked(basis, of(id), told, &format!("{what} {q}"));
                compared += 1;
            }
        }
        for (letter, told) in object(&case["directions"]) {
            let from = place(letter);
            let direction = (from, usize::from(from == 0));
            let scope = MetricScope::Direction(direction.0, direction.1);
            let what = format!("{name} {letter}");
            let asked = (of.basis, of.rule);
            let all = measure_amount_changes(direction, &of.changes[from], asked, &settings());
            if told["pairs"] == 0 {
                assert!(all.iter().all(|m| m.value == Err(Undefined::EmptyGroup)), "{what}");
                continue;
            }
            check_value(one(&all, "amount_change_mean", scope), &told["mean_change"], &what);
            let median = one(&all, "amount_change_median", scope);
            check_ranked(of.basis, median, &told["median_change"], &what);
            for id in ["share_more", "share_less", "share_more_or_less"] {
                let name_of = if id == "share_more_or_less" { "share_changed" } else { id };
                let (found, told) = (one(&all, id, scope), &told[name_of]);
                check_ranked(of.basis, found, told, &format!("{what} {id}"));
                assert_eq!(found.numerator, told["k"].as_u64(), "{what} {id}");
                assert_eq!(found.denominator, told["n"].as_u64(), "{what} {id}");
                if let Some(effective) = found.effective {
                    let most = told["n_eff"].as_f64().unwrap() * (1.0 + 1e-9);
                    assert!(effective <= most, "{what}");
                }
            }
            for id in ["denied_by_group", "favoured_by_group"] {
                near(one(&all, id, scope).value.unwrap(), &told[id], 1e-12, &what);
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 299);
}

fn plain(values: &[f64]) -> Vec<AmountEntry> {
    values.iter().map(|&value| AmountEntry { value, weight: 1, person: 0 }).collect()
}

#[test]
fn what_matters_is_exact_in_decimals() {
    let rule = |matters_from| AmountRule { better_lower: true, matters_from };
    let share = rule(AmountStep::Share(0.05));
    assert_eq!(share.change(20.40, 21.42 - 20.40), Some(true));
    assert_eq!(share.change(20.40, 21.41 - 20.40), None);
    // A refund of 100 that becomes one of 105 is 5 % less; from 0 any change matters.
    assert_eq!(share.change(-100.0, -5.0), Some(false));
    assert_eq!(share.change(0.0, 0.01), Some(true));
    assert_eq!(share.change(0.0, 0.0), None);
    let step = rule(AmountStep::Absolute(0.3));
    assert_eq!(step.change(0.1, (0.1 + 0.3) - 0.1), Some(true));
    assert_eq!(rule(AmountStep::Absolute(0.0)).change(5.0, 0.0), None);
}

/// Who is worse off follows from the side that people want.
#[test]
fn higher_premiums_and_higher_credit_harm_opposite_groups() {
    // 40 people of the first group would have 10 more in the second.
    let found: Vec<AmountChange> =
        plain(&[10.0; 40]).into_iter().map(|change| (change, 100.0)).collect();
    for (better_lower, denied, worse) in [(true, 0.0, Some(1)), (false, 1.0, Some(0))] {
        let rule = AmountRule { better_lower, matters_from: AmountStep::Share(0.05) };
        let all =
            measure_amount_changes((0, 1), &found, (CountingUnit::default(), rule), &settings());
        let of = |id: &str| one(&all, id, MetricScope::Direction(0, 1));
        assert_eq!(of("denied_by_group").value, Ok(denied));
        assert_eq!(of("favoured_by_group").value, Ok(1.0 - denied));
        let named = if better_lower { "favoured_by_group" } else { "denied_by_group" };
        assert_eq!(of(named).impaired, worse);
        assert_eq!(of("share_more").value, Ok(1.0));
    }
}

/// Weights of 1 and persons of one row change no value, and weights in another unit change nothing.
#[test]
fn weights_and_persons_that_say_nothing_change_nothing() {
    let values: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 61) + 10.0).collect();
    let sample = |basis: CountingUnit, weight: u64| {
        let entry = |(i, &value): (usize, &f64)| AmountEntry { value, weight, person: i as u64 };
        AmountSample::new(basis, values.iter().enumerate().map(entry).collect())
    };
    let of = |weighted, persons, weight| {
        let basis = CountingUnit { weighted, persons };
        let groups = [sample(basis, weight), sample(basis, weight)];
        measure_amounts(&groups, &settings())
    };
    let plain = of(false, false, 1);
    for (weighted, persons, weight) in [(true, false, 7), (false, true, 1), (true, true, 3)] {
        let other = of(weighted, persons, weight);
        assert_eq!(other.len(), plain.len());
        for (a, b) in plain.iter().zip(&other) {
            let (x, y) = (a.value.unwrap(), b.value.unwrap());
            assert!((x - y).abs() < 1e-9, "{} {x} {y}", a.metric.id);
            // Persons who are in both groups do not differ from themselves.
            let same = persons
                && (a.metric.id.contains("mean_difference") || a.metric.id.contains("ratio"));
            if let (false, Some(a), Some(b)) = (same, a.interval, b.interval) {
                assert!((a.lo - b.lo).abs() < 1e-9 && (a.hi - b.hi).abs() < 1e-9);
            }
        }
    }
    let gap = one(&plain, "amount_mean_difference", MetricScope::Pair(0, 1));
    assert_eq!(gap.interval.unwrap().method, IntervalProcedure::Student);
}

/// Every metric of the list is measured, and nobody has none.
#[test]
fn every_metric_is_measured() {
    let empty = || AmountSample::new(CountingUnit::default(), Vec::new());
    let rule = AmountRule { better_lower: true, matters_from: AmountStep::Absolute(1.0) };
    let mut all = measure_amounts(&[empty(), empty()], &settings());
    let asked = (CountingUnit::default(), rule);
    all.extend(measure_amount_changes((0, 1), &[], asked, &settings()));
    for metric in METRICS {
        let mut found = all.iter().filter(|m| m.metric.id == metric.id).peekable();
        assert!(found.peek().is_some(), "{}", metric.id);
        assert!(found.all(|m| m.value.is_err() && m.interval.is_none()), "{}", metric.id);
    }
    let listed = catalog().filter(|metric| metric.family == MetricFamily::Amounts);
    assert_eq!(listed.count(), METRICS.len());
}

/// Ties of amounts with different weights in either order; a sum that is larger than any number has
/// a reason.
#[test]
fn the_order_of_ties_decides_nothing() {
    let basis = CountingUnit { weighted: true, persons: false };
    let sample = |heavy_first: bool, top: f64| {
        let mut entries: Vec<AmountEntry> = (0..60)
            .map(|i| AmountEntry {
                value: [100.0, 200.0, top][i % 3],
                weight: if i % 4 == 0 { 50 } else { 1 },
                person: i as u64,
            })
            .collect();
        entries.sort_by_key(|entry| entry.weight);
        if heavy_first {
            entries.reverse();
        }
        AmountSample::new(basis, entries)
    };
    let measured = |heavy_first| {
        measure_amounts(&[sample(heavy_first, 300.0), sample(heavy_first, 250.0)], &settings())
    };
    let (first, last) = (measured(true), measured(false));
    assert!(first.iter().any(|m| m.interval.is_some()));
    for (x, y) in first.iter().zip(&last) {
        let ends = |m: &MeasuredValue| m.interval.map(|i| (i.lo, i.hi));
        let near = |x: f64, y: f64| (x - y).abs() <= 1e-12 * x.abs().max(1.0);
        assert!(near(x.value.unwrap(), y.value.unwrap()), "{}", x.metric.id);
        match (ends(x), ends(y)) {
            (Some(a), Some(b)) => assert!(near(a.0, b.0) && near(a.1, b.1), "{}", x.metric.id),
            (a, b) => assert_eq!(a, b, "{}", x.metric.id),
        }
    }
    let beyond = measure_amounts(&[sample(true, f64::MAX), sample(true, 300.0)], &settings());
    let mean = one(&beyond, "amount_mean", MetricScope::Group(0));
    assert!(mean.value == Err(Undefined::Overflow) && mean.interval.is_none());
    assert!(beyond.iter().all(|m| m.value.is_ok_and(f64::is_finite) || m.value.is_err()));
}
