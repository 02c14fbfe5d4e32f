//! What no single file can show: the catalog is sound, evidence has its properties, impaired groups follow the published table.

mod oracle;

use std::collections::BTreeSet;

use super::counts::{Confusion, Counterfactual, CounterfactualCounts, Eccm, FactualCounts, Person};
use super::measure::{Favourable, Measured, SMALL_DENOMINATOR, SMALL_GROUP, Scope, Settings, measure_counterfactual, measure_factual};
use super::shift::{Shift, ShiftSums};
use super::{Family, Impaired, Reads, Undefined, catalog, find, nearest};
use crate::num::seed::Stream;
use crate::param::{Count, Level, Seed};

fn settings() -> Settings {
    Settings {
        families: Family::ALL.to_vec(),
        favourable: Favourable::Positive,
        level: Some(Level::DEFAULT),
        samples: Count::new(2000).unwrap(),
        seed: Seed(42),
        min_group_size: Count::new(30).unwrap(),
        min_denominator: Count::new(10).unwrap(),
    }
}

#[track_caller]
fn one<'a>(all: &'a [Measured], id: &str, scope: Scope) -> &'a Measured {
    let mut found = all.iter().filter(|m| m.metric.id == id && m.scope == scope);
    let first = found.next().unwrap_or_else(|| panic!("no `{id}` in {scope:?}"));
    assert!(found.next().is_none(), "`{id}` stands twice in {scope:?}");
    first
}

type People = Vec<(Person, Vec<Counterfactual>)>;

/// Random people with labels and scores, some missing; predictions at 0.5.
fn people(groups: usize, per_target: usize, n: usize) -> People {
    let mut stream = Stream::new(9, &format!("people/{groups}/{per_target}"));
    let mut scored = move |near: Option<f64>| {
        let (keep, u) = (stream.u01(), stream.u01());
        let score = (keep < 0.95).then(|| near.map_or(u, |near| (near + 0.4 * (u - 0.5)).clamp(0.0, 1.0)));
        (score, stream.u64())
    };
    (0..n)
        .map(|_| {
            let (score, bits) = scored(None);
            let group = (bits >> 8) as usize % groups;
            let label = (bits & 15 != 0).then_some(bits & 16 != 0);
            let mut cfs = Vec::new();
            for to in (0..groups).filter(|&to| to != group) {
                for _ in 0..per_target {
                    let (score_cf, _) = scored(score);
                    cfs.push(Counterfactual { to, predicted: score_cf.map(|s| s >= 0.5), score: score_cf });
                }
            }
            (Person { group, label, predicted: score.map(|s| s >= 0.5), score }, cfs)
        })
        .collect()
}

struct Gathered {
    factual: FactualCounts,
    counts: CounterfactualCounts,
    measured: Vec<Measured>,
}

/// Gathers people in `parts` batches, merged last first, and measures.
fn gather(people: &People, groups: usize, has_label: bool, parts: usize, settings: &Settings) -> Gathered {
    let mut factual = vec![FactualCounts::new(groups, has_label); parts];
    let mut counts = vec![CounterfactualCounts::new(groups, has_label); parts];
    for (i, (person, cfs)) in people.iter().enumerate() {
        factual[i * i % parts].groups[person.group].add(person.label, person.predicted, person.score == Some(0.5));
        counts[i * i % parts].add(person, cfs);
    }
    let mut all = (factual.pop().unwrap(), counts.pop().unwrap());
    factual.iter().rev().for_each(|part| all.0.merge(part));
    counts.iter().rev().for_each(|part| all.1.merge(part));
    let mut passes = vec![all.1.second_pass(); parts];
    for (i, (person, cfs)) in people.iter().enumerate() {
        passes[(i / 7) % parts].add(person, cfs);
    }
    let mut second = passes.pop().unwrap();
    passes.iter().rev().for_each(|part| second.merge(part));
    let mut measured = measure_factual(&all.0, settings);
    measured.extend(measure_counterfactual(&all.1, &second, settings));
    Gathered { factual: all.0, counts: all.1, measured }
}

#[test]
fn the_catalog_is_sound() {
    let mut ids = BTreeSet::new();
    for metric in catalog() {
        let id = metric.id;
        assert!(ids.insert(id), "{id} stands twice");
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{id}");
        for text in [metric.symbol, metric.name, metric.formula, metric.reading, metric.sign, metric.undefined_when, metric.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{id}: `{text}`");
        }
        let (lo, hi) = metric.range;
        assert!(lo < hi && metric.ideal.is_none_or(|ideal| (lo..=hi).contains(&ideal)), "{id}");
        let fits = match metric.reads {
            Reads::Rate(_) | Reads::Score(_) => metric.family == Family::Performance,
            Reads::RateDifference(_) | Reads::RateRatio(_) | Reads::FavourableRatio | Reads::Pair(_) => metric.family == Family::Group,
            Reads::SwitchRate(_) | Reads::SwitchScore(_) => matches!(metric.family, Family::Ccm | Family::Eccm),
            Reads::Shift(_) => metric.family == Family::Shift,
        };
        assert!(fits, "{id} reads evidence of another family");
        assert!(!matches!(metric.impaired, Impaired::Switch { .. }) || metric.ideal.is_some(), "{id}");
    }
    assert_eq!(ids.len(), 14 + 37 + 10 + 8 + 8);
    let codes: BTreeSet<&str> = Undefined::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(codes.len(), Undefined::ALL.len());
    assert!(Undefined::ALL.iter().all(|reason| reason.meaning().ends_with('.')));
}

#[test]
fn ids_are_found_and_misspelt_ones_suggested() {
    assert_eq!(find("nsr").unwrap().symbol, "NSR");
    assert!(find("NSR").is_none());
    assert_eq!(nearest("NSR"), Some("nsr"));
    assert_eq!(nearest("demp_ration"), Some("demp_ratio"));
    assert_eq!(nearest("blood pressure"), None);
    assert_eq!(nearest(""), None);
}

#[test]
fn empty_counts_are_undefined_and_never_nan() {
    let (none, sums) = (Confusion::default(), ShiftSums::default());
    let counts = CounterfactualCounts::new(2, true);
    let second = counts.second_pass();
    for metric in catalog() {
        let value = match metric.reads {
            Reads::Rate(rate) => rate(&none).value(),
            Reads::Score(score) => score(&none),
            Reads::Pair(of) => of(&none, &none),
            Reads::SwitchRate(rate) => rate(&Eccm::default()).value(),
            Reads::SwitchScore(score) => score(&Eccm::default()),
            Reads::Shift(shift) => shift(&Shift { sums: &sums, divergence: second.total() }),
            Reads::RateDifference(_) | Reads::RateRatio(_) | Reads::FavourableRatio => continue,
        };
        assert_eq!(value, Err(Undefined::EmptyGroup), "{}", metric.id);
    }
    for groups in 0..4 {
        let gathered = gather(&Vec::new(), groups, true, 1, &settings());
        assert!(gathered.measured.iter().all(|m| m.value == Err(Undefined::EmptyGroup) && m.interval.is_none() && m.n_rows == 0));
    }
}

#[test]
fn values_lie_in_their_range_and_intervals_hold_them() {
    for (groups, per_target, has_label) in [(1, 1, true), (2, 1, true), (2, 3, true), (3, 1, false), (4, 2, true)] {
        let people = people(groups, per_target, 700);
        for m in gather(&people, groups, has_label, 1, &settings()).measured {
            let what = format!("{} in {:?} of {groups} groups: {m:?}", m.metric.id, m.scope);
            if let Ok(value) = m.value {
                let slack = if matches!(m.scope, Scope::Difference(..)) { f64::INFINITY } else { 0.0 };
                assert!(value >= m.metric.range.0 - slack && value <= m.metric.range.1 + slack, "{what}");
            }
            if let Some(interval) = m.interval {
                assert!(interval.lo < interval.hi && interval.lo <= m.value.unwrap() && m.value.unwrap() <= interval.hi, "{what}");
            }
            assert_eq!(m.value == Err(Undefined::NoLabel), m.metric.needs_label && !has_label, "{what}");
            assert!(!m.ci_method.is_empty());
        }
    }
}

#[test]
fn cells_and_rates_add_up() {
    let gathered = gather(&people(3, 1, 2000), 3, true, 1, &settings());
    let value = |id: &str, scope| one(&gathered.measured, id, scope).value.unwrap();
    let spreads = gathered.counts.spreads();
    let scopes = [Scope::Total, Scope::Direction(0, 1), Scope::Direction(2, 0)];
    for scope in scopes {
        let eccm = match scope {
            Scope::Direction(from, to) => spreads.direction(from, to).eccm(),
            _ => spreads.total().eccm(),
        };
        assert_eq!(eccm.cp() + eccm.cn() + eccm.sp() + eccm.sn(), eccm.n());
        assert_eq!(one(&gathered.measured, "sr", scope).denominator, Some(eccm.n()));
        for (a, b) in [("cr", "sr"), ("psr", "ncr"), ("nsr", "pcr"), ("pcp", "psdr"), ("tsnr", "fsnr"), ("tspr", "fspr")] {
            assert!((value(a, scope) + value(b, scope) - 1.0).abs() < 1e-15, "{a}, {b}");
        }
        for (rate, of_right, of_wrong) in [("nsr", "tpsr", "fpsr"), ("psr", "tnsr", "fnsr")] {
            let (x, y) = (value(of_right, scope), value(of_wrong, scope));
            assert!((x.min(y)..=x.max(y)).contains(&value(rate, scope)), "{rate}");
        }
    }
    let directions = (0..3).flat_map(|a| (0..3).filter(move |&b| a != b).map(move |b| (a, b)));
    assert_eq!(directions.map(|(a, b)| spreads.direction(a, b).eccm().n()).sum::<u64>(), spreads.total().eccm().n());
}

#[test]
fn swapping_the_groups_mirrors_every_value() {
    let people = people(2, 1, 800);
    let swapped: People = people
        .iter()
        .map(|(person, cfs)| {
            let cfs = cfs.iter().map(|cf| Counterfactual { to: 1 - cf.to, ..*cf }).collect();
            (Person { group: 1 - person.group, ..*person }, cfs)
        })
        .collect();
    let (here, there) = (gather(&people, 2, true, 1, &settings()).measured, gather(&swapped, 2, true, 1, &settings()).measured);
    for m in &here {
        let scope = match m.scope {
            Scope::Group(g) => Scope::Group(1 - g),
            Scope::Direction(a, b) => Scope::Direction(b, a),
            same => same,
        };
        let other = one(&there, m.metric.id, scope);
        let (Ok(value), Ok(mirror)) = (m.value, other.value) else {
            assert_eq!(m.value, other.value, "{} in {:?}", m.metric.id, m.scope);
            continue;
        };
        let expected = match (m.scope, m.metric.reads) {
            (Scope::Difference(..), _) | (_, Reads::RateDifference(_)) => -value,
            (_, Reads::RateRatio(_) | Reads::FavourableRatio) => 1.0 / value,
            (_, Reads::Pair(_)) => continue,
            _ => value,
        };
        assert!(
            (mirror - expected).abs() < 1e-12 * expected.abs().max(1.0),
            "{} in {:?}: {mirror} instead of {expected}",
            m.metric.id,
            m.scope
        );
        assert_eq!(m.impaired, other.impaired.map(|group| 1 - group), "{}", m.metric.id);
    }
}

#[test]
fn any_partition_gives_the_same_evidence_and_values() {
    for (groups, per_target) in [(2, 1), (3, 2), (6, 1)] {
        let people = people(groups, per_target, 600);
        let few = Settings { samples: Count::new(50).unwrap(), ..settings() };
        let (whole, parts) = (gather(&people, groups, true, 1, &few), gather(&people, groups, true, 7, &few));
        assert!(whole.factual == parts.factual && whole.counts == parts.counts);
        assert_eq!(whole.measured.len(), parts.measured.len());
        for (a, b) in whole.measured.iter().zip(&parts.measured) {
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
    }
}

#[test]
fn a_value_does_not_depend_on_what_else_is_asked() {
    let people = people(2, 1, 400);
    let all = gather(&people, 2, true, 1, &settings()).measured;
    for family in Family::ALL {
        let alone = gather(&people, 2, true, 1, &Settings { families: vec![family], ..settings() }).measured;
        assert!(alone.iter().all(|m| m.metric.family == family));
        for m in alone {
            assert_eq!(format!("{m:?}"), format!("{:?}", one(&all, m.metric.id, m.scope)));
        }
    }
    let plain = gather(&people, 2, true, 1, &Settings { level: None, ..settings() }).measured;
    assert!(plain.iter().all(|m| m.interval.is_none() && m.ci_method.starts_with("none")));
}

#[test]
fn rates_of_repeated_people_are_bootstrapped() {
    let method = |groups, per_target, scope| {
        let measured = gather(&people(groups, per_target, 500), groups, true, 1, &settings()).measured;
        one(&measured, "sr", scope).interval.unwrap().method.as_str()
    };
    assert_eq!(method(2, 1, Scope::Total), "wilson");
    assert_eq!(method(2, 1, Scope::Difference(0, 1)), "newcombe");
    assert_eq!(method(3, 1, Scope::Total), "bootstrap");
    assert_eq!(method(3, 1, Scope::Direction(2, 0)), "wilson");
    assert_eq!(method(2, 2, Scope::Direction(0, 1)), "bootstrap");
    assert_eq!(method(2, 2, Scope::Difference(0, 1)), "bootstrap");
}

/// Several copies of every counterfactual are no new people: the interval must be that of one copy.
#[test]
fn copies_do_not_narrow_an_interval() {
    let single = people(2, 1, 500);
    let copied: People = single.iter().map(|(person, cfs)| (*person, cfs.iter().chain(cfs).chain(cfs).copied().collect())).collect();
    let ends = |people: &People| {
        let measured = gather(people, 2, true, 1, &settings()).measured;
        one(&measured, "cmcc", Scope::Direction(0, 1)).interval
    };
    let (single, copied) = (ends(&single).unwrap(), ends(&copied).unwrap());
    assert!((single.lo - copied.lo).abs() < 1e-12 && (single.hi - copied.hi).abs() < 1e-12, "{single:?}, {copied:?}");
}

#[test]
fn small_groups_and_denominators_are_flagged() {
    let mut factual = FactualCounts::new(2, true);
    for (group, label, n) in [(0, true, 40), (0, false, 40), (1, true, 3), (1, false, 20)] {
        (0..n).for_each(|i| factual.groups[group].add(Some(label), Some(i % 2 == 0), false));
    }
    let measured = measure_factual(&factual, &settings());
    assert!(one(&measured, "tpr", Scope::Group(0)).flags.is_empty());
    assert_eq!(one(&measured, "acc", Scope::Group(1)).flags, [SMALL_GROUP]);
    assert_eq!(one(&measured, "tpr", Scope::Group(1)).flags, [SMALL_GROUP, SMALL_DENOMINATOR]);
    assert_eq!(one(&measured, "eopp_difference", Scope::Pair(0, 1)).flags, [SMALL_GROUP, SMALL_DENOMINATOR]);
}

/// Towards Counterfactual Group Fairness, Table 7: whom a bad value impairs.
#[test]
fn impaired_groups_follow_the_published_table() {
    // Cells TCN, TSP, FSN, FCP, FCN, FSP, TSN, TCP: in the direction 0 -> 1 every switch rate is worse than in 1 -> 0.
    let directions = [[60, 40, 40, 60, 60, 40, 40, 60], [90, 10, 10, 90, 90, 10, 10, 90]];
    let mut counts = CounterfactualCounts::new(2, true);
    for (group, cells) in directions.into_iter().enumerate() {
        for (code, n) in cells.into_iter().enumerate() {
            let person = Person { group, label: Some(code & 4 != 0), predicted: Some(code & 2 != 0), score: None };
            let counterfactual = Counterfactual { to: 1 - group, predicted: Some(code & 1 != 0), score: None };
            (0..n).for_each(|_| counts.add(&person, &[counterfactual]));
        }
    }
    const ORIGINAL: Option<usize> = Some(0);
    const NEW: Option<usize> = Some(1);
    let table = [
        ("cr", NEW, NEW),
        ("sr", NEW, NEW),
        ("cmcc", NEW, NEW),
        ("pcr", NEW, ORIGINAL),
        ("nsr", NEW, ORIGINAL),
        ("ncr", ORIGINAL, NEW),
        ("psr", ORIGINAL, NEW),
        ("pcp", ORIGINAL, NEW),
        ("psdr", ORIGINAL, NEW),
        ("tpsr", NEW, NEW),
        ("tnsr", NEW, NEW),
        ("fpsr", ORIGINAL, ORIGINAL),
        ("fnsr", ORIGINAL, ORIGINAL),
        ("tsnr", None, None),
        ("p2nr", None, None),
    ];
    for (favourable, column) in [(Favourable::Positive, 0), (Favourable::Negative, 1)] {
        let measured = measure_counterfactual(&counts, &counts.second_pass(), &Settings { favourable, ..settings() });
        for (id, positive, negative) in table {
            let expected = [positive, negative][column];
            assert_eq!(one(&measured, id, Scope::Direction(0, 1)).impaired, expected, "{id} {favourable:?}");
            assert_eq!(one(&measured, id, Scope::Direction(1, 0)).impaired, expected.map(|group| 1 - group), "{id} {favourable:?}");
            assert_eq!(one(&measured, id, Scope::Difference(0, 1)).impaired, expected, "{id} {favourable:?}");
            assert_eq!(one(&measured, id, Scope::Total).impaired, None);
            assert_eq!(one(&measured, id, Scope::Difference(0, 1)).ideal, Some(0.0));
        }
    }
}

#[test]
fn the_group_with_fewer_favourable_predictions_is_impaired() {
    // Group 0: 40 of 100 predicted positive, group 1: 20 of 100; the same among positives and among negatives.
    let mut factual = FactualCounts::new(2, true);
    for (group, per_label) in [(0, 20), (1, 10)] {
        for label in [true, false] {
            (0..50).for_each(|i| factual.groups[group].add(Some(label), Some(i < per_label), false));
        }
    }
    let measure = |favourable| measure_factual(&factual, &Settings { favourable, ..settings() });
    let (positive, negative) = (measure(Favourable::Positive), measure(Favourable::Negative));
    for id in
        ["demp_difference", "demp_ratio", "demp_min_ratio", "di", "eopp_difference", "pred_eq_difference", "tnr_ratio", "fnr_difference"]
    {
        assert_eq!(one(&positive, id, Scope::Pair(0, 1)).impaired, Some(1), "{id}");
        assert_eq!(one(&negative, id, Scope::Pair(0, 1)).impaired, Some(0), "{id}");
    }
    assert_eq!(one(&positive, "acc_difference", Scope::Pair(0, 1)).impaired, None);
    assert_eq!(one(&positive, "di", Scope::Pair(0, 1)).value, Ok(0.2 / 0.4));
    assert_eq!(one(&negative, "di", Scope::Pair(0, 1)).value, Ok(0.8 / 0.6));
    assert_eq!(one(&negative, "demp_ratio", Scope::Pair(0, 1)).value, Ok(0.4 / 0.2));
}
