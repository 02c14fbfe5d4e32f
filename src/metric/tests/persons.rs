//! Rows of which a person has several: against values that another program computed from the
//! definitions, and against rows of one person each.

use super::oracle::{object, parquet};
use super::*;
use crate::metric::estimate::share::RowsBelow;

/// A row: whose it is, its group, and whether it is a case.
type PersonRow = (u64, usize, bool);

/// Without persons each row is one, however many counterfactuals it has below a rate: several in a
/// direction, or one for each of several other groups.
#[test]
fn a_row_with_several_counterfactuals_is_one_person_below_a_rate() {
    for (groups, per_target) in [(2, 1), (2, 3), (3, 1)] {
        let found = gather(&people(groups, per_target, 600), groups, true, 2, &asked()).measured;
        for scope in [MetricScope::Direction(0, 1), MetricScope::Total] {
            let several = per_target > 1 || groups > 2 && scope == MetricScope::Total;
            let sr = one(&found, "sr", scope);
            let below = sr.persons.and_then(|of| of.denominator);
            assert_eq!(below, several.then_some(sr.n_rows), "{groups} {per_target} {scope:?}");
            assert_eq!(sr.denominator > Some(sr.n_rows), several);
        }
    }
}

fn asked() -> MeasureSettings {
    of_families(&[MetricFamily::Performance, MetricFamily::Group, MetricFamily::Ccm])
}

/// Rows in `parts` batches merged last first: a case is predicted positive, and as a member of
/// each other group it is turned positive. `weights` are those of the rows.
fn gathered_by_weight(
    rows: &[PersonRow],
    weights: Option<&[u64]>,
    groups: usize,
    parts: usize,
) -> (FactualCounts, CounterfactualCounts) {
    let unit = CountingUnit { weighted: weights.is_some(), persons: true };
    let weight = |i: usize| weights.map_or(1, |weights| weights[i]);
    let factual = FactualCounts::new(groups).counted_by(unit);
    let factual = merged(factual, parts, rows, |part, i, &(key, group, case)| {
        part.add((group, key, weight(i)), None, Some(case), false);
    });
    let counts = CounterfactualCounts::new(groups).counted_by(unit);
    let mut counts = merged(counts, parts, rows, |part, i, &(key, group, case)| {
        let person = ScoredPerson::of(group, None, Some(false), None);
        let moved = |to| ScoredCounterfactual::to(to, Some(case), None);
        let cfs: Vec<_> = (0..groups).filter(|&to| to != group).map(moved).collect();
        part.add_person(key, &ScoredPerson { weight: weight(i), ..person }, &cfs);
    });
    counts.settle();
    (factual, counts)
}

fn measured_by_weight(
    rows: &[PersonRow],
    weights: Option<&[u64]>,
    groups: usize,
    parts: usize,
) -> Vec<MeasuredValue> {
    let (factual, counts) = gathered_by_weight(rows, weights, groups, parts);
    let mut all = measure_factual(&factual, None, &asked());
    all.extend(measure_counterfactual(&counts, None, None, &asked()));
    all
}

fn measured(rows: &[PersonRow], groups: usize, parts: usize) -> Vec<MeasuredValue> {
    measured_by_weight(rows, None, groups, parts)
}

/// The rows of a case by its groups in order, and what they weigh in hundredths, if they do.
fn rows_of(case: &str) -> (Vec<PersonRow>, Option<Vec<u64>>) {
    let file = parquet(expected("persons/rows.parquet"));
    let texts = |name: &str| file.texts[name].iter().map(|x| x.clone().unwrap_or_default());
    let number = |name: &str, i: usize| file.numbers[name][i];
    let groups: Vec<String> = texts("group").collect();
    let here: Vec<usize> =
        (0..groups.len()).zip(texts("case")).filter(|(_, c)| c == case).map(|(i, _)| i).collect();
    let mut names: Vec<&String> = here.iter().map(|&i| &groups[i]).collect();
    names.sort();
    names.dedup();
    let row = |&i: &usize| {
        let group = names.iter().position(|name| **name == groups[i]).unwrap();
        (number("person", i).unwrap() as u64, group, number("y", i) == Some(1.0))
    };
    let weight = |&i: &usize| Some((number("weight", i)? * 100.0).round() as u64);
    (here.iter().map(row).collect(), here.iter().map(weight).collect())
}

fn near(found: f64, value: &Json, what: &str) {
    let value = value.as_f64().unwrap();
    assert!((found - value).abs() <= 1e-9 * value.abs().max(1.0), "{what}: {found}, not {value}");
}

fn check_ends(
    found: &MeasuredValue,
    ends: [&Json; 2],
    methods: impl Into<Vec<IntervalProcedure>>,
    what: &str,
) {
    let Some(interval) = found.interval else {
        assert!(ends.iter().all(|end| end.is_null()), "{what}: {}", found.ci_method);
        return;
    };
    near(interval.lo, ends[0], what);
    near(interval.hi, ends[1], what);
    assert!(methods.into().contains(&interval.method), "{what}: {:?}", interval.method);
}

#[test]
fn intervals_are_those_of_the_definitions() {
    let wilsons = [
        IntervalProcedure::Wilson,
        IntervalProcedure::WilsonEffective,
        IntervalProcedure::WilsonPeople,
    ];
    let mut compared = 0;
    for case in json(expected("persons/expected.json")).as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        let (rows, weights) = rows_of(name);
        assert_eq!(case["weighted"], weights.is_some(), "{name}");
        let groups = object(&case["groups"]);
        let (n, parts) = (groups.len(), 1 + rows.len() % 7);
        let all = measured_by_weight(&rows, weights.as_deref(), n, parts);
        for (group, (letter, of)) in groups.iter().enumerate() {
            let mut found = vec![one(&all, "pprev", MetricScope::Group(group))];
            // The share that turns positive is the same rate of the same rows.
            let to = usize::from(group == 0);
            found.push(one(&all, "psr", MetricScope::Direction(group, to)));
            for found in found {
                let what = format!("{name} {letter} {}", found.metric.id);
                let persons = found.persons.unwrap();
                near(found.value.unwrap(), &of["p"], &what);
                near(found.effective.unwrap(), &of["n_eff"], &what);
                assert_eq!(persons.denominator, Some(persons.n), "{what}");
                compared += 1;
                check_ends(found, [&of["lo"], &of["hi"]], wilsons, &what);
                if weights.is_some() {
                    assert_eq!(Json::from(persons.n), of["persons"], "{what}");
                    continue;
                }
                let counts = [found.n_rows, persons.n, found.numerator.unwrap()];
                assert_eq!(
                    Json::from(counts.to_vec()),
                    serde_json::json!([of["rows"], of["persons"], of["k"]])
                );
            }
        }
        for (letters, pair) in object(&case["pairs"]) {
            let at = |letter: &str| groups.keys().position(|group| group == letter).unwrap();
            let (a, b) = letters.split_once(" - ").map(|(a, b)| (at(a), at(b))).unwrap();
            let ends = [&pair["difference_lo"], &pair["difference_hi"]];
            for (id, scope) in [
                ("demp_difference", MetricScope::Pair(a, b)),
                ("psr", MetricScope::Difference(a, b)),
            ] {
                let found = one(&all, id, scope);
                let what = format!("{name} {letters} {id}");
                near(found.value.unwrap(), &pair["difference"], &what);
                let methods = [IntervalProcedure::Newcombe, IntervalProcedure::NewcombeEffective];
                check_ends(found, ends, methods, &what);
            }
            let ratio = one(&all, "demp_ratio", MetricScope::Pair(a, b));
            near(ratio.value.unwrap(), &pair["ratio"], name);
            let ends = [&pair["ratio_lo"], &pair["ratio_hi"]];
            let what = format!("{name} {letters} ratio");
            check_ends(
                ratio,
                ends,
                [IntervalProcedure::Katz, IntervalProcedure::KatzEffective],
                &what,
            );
        }
    }
    assert_eq!(compared, 2 * (18 * 2 + 3));
}

/// The rate of a group of a case with weights; these have two decimals.
fn weighted_share(case: &str, group: &str) -> Share {
    let file = parquet(expected("persons/rows.parquet"));
    let is = |name: &str, i: usize, value: &str| file.texts[name][i].as_deref() == Some(value);
    let all = 0..file.texts["case"].len();
    let rows = all.filter(|&i| is("case", i, case) && is("group", i, group));
    let number = |name: &str, i: usize| file.numbers[name][i].unwrap();
    let mut persons: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
    let mut squares = 0;
    for i in rows {
        let weight = (number("weight", i) * 100.0).round() as u64;
        if weight == 0 {
            continue;
        }
        let own = persons.entry(number("person", i) as u64).or_default();
        let case = u64::from(number("y", i) == 1.0);
        own.iter_mut().zip([case * weight, weight, 1]).for_each(|(sum, x)| *sum += x);
        squares += weight * weight;
    }
    let sum = |of: usize| persons.values().map(|own| own[of]).sum::<u64>();
    let all = rate(sum(0), sum(1));
    let kish = (all.denominator as f64).powi(2) / squares as f64;
    let each = persons.iter().map(|(key, own)| (*key, rate(own[0], own[1]), WeightSums::ones(1)));
    let rows = RowsBelow { n: sum(2), kish, are_even: false };
    Share::of_units(all, rows, each).unwrap()
}

#[test]
fn weighted_rows_of_persons_follow_the_definitions() {
    let (z, mut compared) = (z_of_level(0.95), 0);
    for case in json(expected("persons/expected.json")).as_array().unwrap() {
        if case["weighted"] != true {
            continue;
        }
        let name = case["case"].as_str().unwrap();
        let ends = |found: Option<ValueInterval>, lo: &Json, hi: &Json, what: &str| match found {
            Some(found) => {
                near(found.lo, lo, what);
                near(found.hi, hi, what);
            }
            None => assert!(lo.is_null() && hi.is_null(), "{what}"),
        };
        for (letter, of) in object(&case["groups"]) {
            let (rate, what) = (weighted_share(name, letter), format!("{name} {letter}"));
            near(rate.value, &of["p"], &what);
            near(rate.size, &of["n_eff"], &what);
            ends(Some(rate.wilson(z)), &of["lo"], &of["hi"], &what);
            compared += 1;
        }
        for (letters, pair) in object(&case["pairs"]) {
            let (a, b) = letters.split_once(" - ").unwrap();
            let (a, b) = (weighted_share(name, a), weighted_share(name, b));
            near(a.influence.correlation(&b.influence), &pair["correlation"], name);
            let (a, b) = (Estimate::from(a), Estimate::from(b));
            let difference = a.minus(&b).interval(0.95).ok();
            ends(difference, &pair["difference_lo"], &pair["difference_hi"], name);
            let ratio = a.over(&b).interval(0.95).ok();
            ends(ratio, &pair["ratio_lo"], &pair["ratio_hi"], name);
        }
    }
    assert_eq!(compared, 6);
}

/// Rows of one person each have the intervals of people, but for the name of the method.
#[test]
fn a_person_with_one_row_is_a_person() {
    let mut stream = RandomStream::new(1, "one row each");
    let rows: Vec<PersonRow> =
        (0..90).map(|i| (i * 31, (i % 2) as usize, stream.u01() < 0.3)).collect();
    let (mut factual, mut counts) = (FactualCounts::new(2), CounterfactualCounts::new(2));
    for &(_, group, case) in &rows {
        factual.add((group, 0, 1), None, Some(case), false);
        let person = ScoredPerson::of(group, None, Some(false), None);
        let to = 1 - group;
        counts.add(&person, &[ScoredCounterfactual::to(to, Some(case), None)]);
    }
    let mut plain = measure_factual(&factual, None, &asked());
    plain.extend(measure_counterfactual(&counts, None, None, &asked()));
    let mut formulas = 0;
    for (plain, found) in plain.iter().zip(measured(&rows, 2, 3)) {
        assert_eq!((plain.metric.id, plain.scope), (found.metric.id, found.scope));
        assert_eq!(
            (plain.value, &plain.flags, plain.n_rows),
            (found.value, &found.flags, found.n_rows)
        );
        let (Some(one), Some(other)) = (plain.interval, found.interval) else { continue };
        let far = (one.lo - other.lo).abs().max((one.hi - other.hi).abs());
        assert!(far < 1e-12, "{} {:?}", found.metric.id, found.scope);
        formulas += 1;
    }
    assert!(formulas > 20, "{formulas}");
}

/// Whatever every row weighs alike, values, persons and effective numbers are those without
/// weights; a row of weight 0 counts for no rate, and any partition gives the same.
#[test]
fn weights_of_rows_of_persons() {
    let rows: Vec<PersonRow> =
        (0..330).map(|i| (i % 37, (i % 37 % 3) as usize, i % 37 < 16 && i % 4 > 0)).collect();
    let plain = measured(&rows, 3, 1);
    let alike = measured_by_weight(&rows, Some(&[7; 330]), 3, 4);
    assert_eq!(plain.len(), alike.len());
    for (one, other) in plain.iter().zip(&alike) {
        let what = format!("{} {:?}", one.metric.id, one.scope);
        assert_eq!((one.value, one.n_rows), (other.value, other.n_rows), "{what}");
        let counts = |found: &MeasuredValue| found.persons.map(|of| (of.n, of.denominator));
        assert_eq!(counts(one), counts(other), "{what}");
        let effective = |found: &MeasuredValue| found.effective;
        if let Some((x, y)) = effective(one).zip(effective(other)) {
            assert!((x - y).abs() < 1e-9 * x, "{what}: {x}, {y}");
        }
        assert_eq!(one.switched, other.switched, "{what}");
        let is_formula = |found: &MeasuredValue| {
            let method = found.interval.map(|interval| interval.method);
            matches!(method, Some(IntervalProcedure::WilsonPeople))
        };
        assert_eq!(is_formula(one), is_formula(other), "{what}");
    }
    // Each person's last row weighs, all others do not: persons are people.
    let mut weights = vec![0; rows.len()];
    (0..37).for_each(|person| weights[37 * 7 + person] = 1 + person as u64 % 5);
    let last = measured_by_weight(&rows, Some(&weights), 3, 1);
    let found = one(&last, "pprev", MetricScope::Group(0));
    let of: Vec<f64> =
        (0..37).filter(|person| person % 3 == 0).map(|p| 1.0 + f64::from(p % 5)).collect();
    let (sum, squares) = (of.iter().sum::<f64>(), of.iter().map(|w| w * w).sum::<f64>());
    assert!((found.effective.unwrap() - sum * sum / squares).abs() < 1e-9);
    for parts in [2, 5, 330] {
        for (whole, part) in last.iter().zip(measured_by_weight(&rows, Some(&weights), 3, parts)) {
            assert_eq!(format!("{whole:?}"), format!("{part:?}"));
        }
    }
}

/// What is small is reported by persons, and any partition of the rows gives the same.
#[test]
fn small_is_told_by_persons() {
    // 12 persons of group 0 with 20 rows each, 40 of group 1 with one; three of group 0 have cases.
    let mut rows: Vec<PersonRow> = (0..240).map(|i| (i % 12, 0, i % 12 < 3)).collect();
    rows.extend((0..40).map(|i| (100 + i, 1, i % 2 == 0)));
    let all = measured(&rows, 2, 1);
    let flags = |id: &str, scope| one(&all, id, scope).flags.join(",");
    assert_eq!(flags("pprev", MetricScope::Group(0)), "small_group");
    assert_eq!(flags("pprev", MetricScope::Group(1)), "");
    assert_eq!(flags("demp_difference", MetricScope::Pair(0, 1)), "small_group");
    assert_eq!(flags("demp_difference", MetricScope::WorstCase), "small_group");
    let found = one(&all, "pprev", MetricScope::Total);
    assert_eq!((found.n_rows, found.persons.map(|persons| persons.n)), (280, Some(52)));
    // Three persons are turned positive, in sixty rows: too few to call a group worse off.
    let psr = one(&all, "psr", MetricScope::Direction(0, 1));
    assert_eq!((psr.numerator, psr.switched, psr.impaired), (Some(60), Some(3), None));
    for parts in [2, 5, 280] {
        for (whole, part) in all.iter().zip(measured(&rows, 2, parts)) {
            assert_eq!(format!("{whole:?}"), format!("{part:?}"));
        }
    }
}

/// Of more than two groups a person's rows count once per target, and the person is the unit.
#[test]
fn where_rows_count_more_than_once_persons_are_units() {
    let rows: Vec<PersonRow> =
        (0..360).map(|i| (i % 30, (i % 3) as usize, i % 30 < 11 && i % 5 > 0)).collect();
    let all = measured(&rows, 3, 4);
    let method = |id: &str, scope| one(&all, id, scope).interval.unwrap().method;
    let total = one(&all, "psr", MetricScope::Total);
    assert_eq!(total.interval.unwrap().method, IntervalProcedure::WilsonEffective);
    assert!(total.effective.unwrap() < 60.0);
    assert_eq!(method("sr_any", MetricScope::Total), IntervalProcedure::WilsonEffective);
    // As wide as persons, not as rows.
    let width = |interval: ValueInterval| interval.hi - interval.lo;
    let rows_for_people = rate(total.numerator.unwrap(), total.denominator.unwrap());
    let as_rows = wilson(rows_for_people, z_of_level(0.95)).unwrap();
    assert!(width(total.interval.unwrap()) > 2.0 * width(as_rows));
    // Nobody is turned negative: Wilson's on persons.
    let none: Vec<PersonRow> = rows.iter().map(|&(key, group, _)| (key, group, false)).collect();
    let none = measured(&none, 3, 4);
    let found = one(&none, "psr", MetricScope::Total);
    let z = z_of_level(0.95);
    let hi = z * z / (30.0 + z * z);
    assert!((found.interval.unwrap().hi - hi).abs() < 1e-12, "{:?}", found.interval);
}

/// Models are compared person by person.
#[test]
fn models_are_compared_by_person() {
    let compared = |second: fn(u64) -> bool| {
        let mut rows = PairedCounts::new(2, CountingUnit::PERSON);
        for person in (0..400).map(|i| i % 20) {
            let cells = [person % 3 == 0, second(person)];
            let cells = cells.map(|predicted| Some(confusion_cell(None, predicted)));
            let place = usize::from(person >= 10);
            rows.add((person, 1), [PairedCell { place, cells }]);
        }
        let all = compare_rows(&rows, &asked());
        let is = |c: &&ComparedValue| c.metric.id == "pprev" && c.scope == MetricScope::Total;
        all.iter().find(is).unwrap().interval.unwrap()
    };
    // Two of twenty persons more: rows taken for people would give a fifth of the width.
    let found = compared(|person| person % 4 == 0);
    assert!(found.hi - found.lo > 0.2, "{found:?}");
    assert_eq!(found.method, IntervalProcedure::Paired);
    // No difference between two models that say the same is not sure.
    let same = compared(|person| person % 3 == 0);
    assert!(same.lo < -0.1 && same.hi > 0.1, "{same:?}");
    assert_eq!(same.method, IntervalProcedure::PairedPeople);
}
