//! What holds for any people: ranges, sums of cells, mirrored groups, partitions, flags.

use super::*;
use crate::metric::evidence::jensen_shannon_sums::DivergenceSums;
use crate::metric::evidence::shift::ShiftSums;
use crate::metric::noise::placebo::PlaceboBand;
use crate::metric::value::group_reading::GroupReading;
use crate::metric::value::settings::{SMALL_DENOMINATOR, SMALL_GROUP};

#[test]
fn empty_counts_are_undefined_and_never_nan() {
    let none = Confusion::default();
    let shift_of_none =
        DivergenceSums::new(&ShiftSums::default()).score_shift(&ShiftSums::default());
    for metric in catalog() {
        let value = match metric.reads {
            Reads::Group(GroupValue::Rate(rate), None | Some(GapTransform::ToTotal)) => {
                rate(&none).value()
            }
            Reads::Group(of, None | Some(GapTransform::ToTotal)) => of.score(&none),
            Reads::Strata(of) => of(&[]),
            Reads::StrataRate(of) => of(&[]).value(),
            Reads::SwitchRate(rate)
            | Reads::AnySwitch(rate)
            | Reads::SwitchRatio(rate)
            | Reads::SwitchByFavour { if_positive: rate, .. } => rate(&Eccm::default()).value(),
            Reads::SwitchScore(score) => score(&Eccm::default()),
            Reads::Shift(value) => value(&shift_of_none),
            // None of them reads counts.
            Reads::Flips | Reads::Graphs | Reads::Amount(_) | Reads::Scored(..) => continue,
            _ => GroupReading::new(metric, FavourableClass::Positive).two(&none, &none),
        };
        assert_eq!(value, Err(Undefined::EmptyGroup), "{}", metric.id);
    }
    for groups in 0..4 {
        let gathered = gather(&Vec::new(), groups, true, 1, &settings());
        assert!(gathered.measured.iter().all(|m| m.value == Err(Undefined::EmptyGroup)
            && m.interval.is_none()
            && m.n_rows == 0));
    }
}

#[test]
fn values_lie_in_their_range_and_intervals_hold_them() {
    for (groups, per_target, has_label) in
        [(1, 1, true), (2, 1, true), (2, 3, true), (3, 1, false), (4, 2, true)]
    {
        let people = people(groups, per_target, 700);
        for m in gather(&people, groups, has_label, 1, &settings()).measured {
            let what = format!("{} in {:?} of {groups} groups: {m:?}", m.metric.id, m.scope);
            if let Ok(value) = m.value {
                let slack = if matches!(m.scope, MetricScope::Difference(..)) {
                    f64::INFINITY
                } else {
                    0.0
                };
                assert!(
                    value >= m.metric.range.0 - slack && value <= m.metric.range.1 + slack,
                    "{what}"
                );
            }
            if let Some(interval) = m.interval {
                assert!(
                    interval.lo < interval.hi
                        && interval.lo <= m.value.unwrap()
                        && m.value.unwrap() <= interval.hi,
                    "{what}"
                );
                let (least, most) = m.metric.range;
                let width =
                    if matches!(m.scope, MetricScope::Difference(..)) { most - least } else { 0.0 };
                assert!(
                    m.metric.family != MetricFamily::Shift
                        || interval.lo >= least - width && interval.hi <= most + width,
                    "{what}"
                );
            }
            assert_eq!(
                m.value == Err(Undefined::NoLabel),
                m.metric.needs_label && !has_label,
                "{what}"
            );
            assert!(!m.ci_method.is_empty());
        }
    }
}

#[test]
fn cells_and_rates_add_up() {
    let gathered = gather(&people(3, 1, 2000), 3, true, 1, &settings());
    let value = |id: &str, scope| one(&gathered.measured, id, scope).value.unwrap();
    let eccm = |scope| gathered.counts.eccm(scope).unwrap();
    let scopes = [MetricScope::Total, MetricScope::Direction(0, 1), MetricScope::Direction(2, 0)];
    for scope in scopes {
        let eccm = eccm(scope);
        assert_eq!(eccm.cp() + eccm.cn() + eccm.sp() + eccm.sn(), eccm.n());
        assert_eq!(one(&gathered.measured, "sr", scope).denominator, Some(eccm.n()));
        for (a, b) in [
            ("cr", "sr"),
            ("psr", "ncr"),
            ("nsr", "pcr"),
            ("pcp", "psdr"),
            ("tsnr", "fsnr"),
            ("tspr", "fspr"),
        ] {
            assert!((value(a, scope) + value(b, scope) - 1.0).abs() < 1e-15, "{a}, {b}");
        }
        // Of people with a label the switch rates are means of those of right and of wrong
        // predictions.
        let share = |above: u64, stay: u64| above as f64 / (above + stay) as f64;
        let nsr = share(eccm.tsn() + eccm.fsn(), eccm.tcp() + eccm.fcp());
        let psr = share(eccm.tsp() + eccm.fsp(), eccm.tcn() + eccm.fcn());
        for (rate, of_right, of_wrong) in [(nsr, "tpsr", "fpsr"), (psr, "tnsr", "fnsr")] {
            let (x, y) = (value(of_right, scope), value(of_wrong, scope));
            assert!((x.min(y)..=x.max(y)).contains(&rate), "{of_right} {of_wrong}");
        }
    }
    let directions = (0..3).flat_map(|a| (0..3).filter(move |&b| a != b).map(move |b| (a, b)));
    assert_eq!(
        directions.map(|(a, b)| eccm(MetricScope::Direction(a, b)).n()).sum::<u64>(),
        eccm(MetricScope::Total).n()
    );
}

#[test]
fn swapping_the_groups_mirrors_every_value() {
    let people = people(2, 1, 800);
    let swapped: TestPeople = people
        .iter()
        .map(|(person, cfs)| {
            let cfs = cfs.iter().map(|cf| ScoredCounterfactual { to: 1 - cf.to, ..*cf }).collect();
            (ScoredPerson { group: 1 - person.group, ..*person }, cfs)
        })
        .collect();
    let elsewhere = MeasureSettings { favoured: FavouredGroups::Groups(vec![1]), ..settings() };
    let (here, there) = (
        gather(&people, 2, true, 1, &settings()).measured,
        gather(&swapped, 2, true, 1, &elsewhere).measured,
    );
    for m in &here {
        let scope = match m.scope {
            MetricScope::Group(g) => MetricScope::Group(1 - g),
            MetricScope::Direction(a, b) => MetricScope::Direction(b, a),
            // Facets keep their roles, so nothing but their numbers changes.
            MetricScope::Pair(a, b) if m.metric.family == MetricFamily::Clarify => {
                MetricScope::Pair(b, a)
            }
            same => same,
        };
        let other = one(&there, m.metric.id, scope);
        let (Ok(value), Ok(mirror)) = (m.value, other.value) else {
            assert_eq!(m.value, other.value, "{} in {:?}", m.metric.id, m.scope);
            continue;
        };
        let expected = match (m.scope, m.metric.reads) {
            (MetricScope::WorstCase, _) => value,
            (MetricScope::Pair(..), _) if m.metric.family == MetricFamily::Clarify => value,
            (MetricScope::Difference(..) | MetricScope::Pair(..), _) => turned(m.metric, value),
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
        let written = |found: &TestEvidence| {
            serde_json::to_string(&found.factual).unwrap()
                + &serde_json::to_string(&found.counts).unwrap()
        };
        let whole = gather(&people, groups, true, 1, &settings());
        for n in [2, 5, 7, 64] {
            let parts = gather(&people, groups, true, n, &settings());
            assert!(whole.factual == parts.factual && whole.counts == parts.counts);
            assert!(written(&whole) == written(&parts), "{n} batches are written otherwise");
            assert_eq!(whole.measured.len(), parts.measured.len());
            for (a, b) in whole.measured.iter().zip(&parts.measured) {
                assert_eq!(format!("{a:?}"), format!("{b:?}"));
            }
        }
    }
}

#[test]
fn a_value_does_not_depend_on_what_else_is_asked() {
    let people = people(2, 1, 400);
    let all = gather(&people, 2, true, 1, &settings()).measured;
    for family in MetricFamily::OF_CATALOG {
        let alone =
            gather(&people, 2, true, 1, &MeasureSettings { families: vec![family], ..settings() })
                .measured;
        assert!(alone.iter().all(|m| m.metric.family == family
            || (family == MetricFamily::Clarify && m.metric.id == "di")));
        for m in alone {
            assert_eq!(format!("{m:?}"), format!("{:?}", one(&all, m.metric.id, m.scope)));
        }
    }
    let plain =
        gather(&people, 2, true, 1, &MeasureSettings { level: None, ..settings() }).measured;
    assert!(plain.iter().all(|m| m.interval.is_none() && m.ci_method.starts_with("none")));
}

#[test]
fn rates_of_repeated_people_take_effective_sizes() {
    let method = |groups, per_target, scope| {
        let measured =
            gather(&people(groups, per_target, 500), groups, true, 1, &settings()).measured;
        one(&measured, "sr", scope).interval.unwrap().method.as_str()
    };
    assert_eq!(method(2, 1, MetricScope::Total), "wilson");
    assert_eq!(method(2, 1, MetricScope::Difference(0, 1)), "newcombe");
    assert_eq!(method(3, 1, MetricScope::Total), "wilson-eff");
    assert_eq!(method(3, 1, MetricScope::Direction(2, 0)), "wilson");
    assert_eq!(method(2, 2, MetricScope::Direction(0, 1)), "wilson-eff");
    assert_eq!(method(2, 2, MetricScope::Difference(0, 1)), "newcombe-eff");
    assert_eq!(method(3, 1, MetricScope::OneToRest(1)), "wilson-eff");
    assert_eq!(method(3, 1, MetricScope::RestToOne(1)), "wilson");
    let measured = gather(&people(3, 2, 500), 3, true, 1, &settings()).measured;
    assert_eq!(
        one(&measured, "sr_any", MetricScope::Total).interval.unwrap().method.as_str(),
        "wilson"
    );
    assert_eq!(
        one(&measured, "jscd", MetricScope::Total).interval.unwrap().method.as_str(),
        "log-student"
    );
}

/// What each scope is derived from, with three groups and one counterfactual in each of the others.
#[test]
fn the_rest_is_the_other_directions_together() {
    let gathered = gather(&people(3, 1, 1500), 3, true, 1, &settings());
    let all = &gathered.measured;
    let eccm = |scope| gathered.counts.eccm(scope).unwrap().0;
    let cells = |from, to| eccm(MetricScope::Direction(from, to));
    let sum = |x: [u64; 12], y: [u64; 12]| std::array::from_fn::<u64, 12, _>(|i| x[i] + y[i]);
    assert_eq!(eccm(MetricScope::OneToRest(0)), sum(cells(0, 1), cells(0, 2)));
    assert_eq!(eccm(MetricScope::RestToOne(0)), sum(cells(1, 0), cells(2, 0)));
    for (scope, places) in [
        (MetricScope::OneToRest(1), [(1, 0), (1, 2)]),
        (MetricScope::RestToOne(1), [(0, 1), (2, 1)]),
    ] {
        let n = |id: &str, scope| one(all, id, scope).denominator.unwrap();
        assert_eq!(
            n("sr", scope),
            places.iter().map(|&(a, b)| n("sr", MetricScope::Direction(a, b))).sum::<u64>()
        );
        // The mean change of the pairs together is that of the directions, weighted by their pairs.
        let (mut change, mut pairs) = (0.0, 0.0);
        for (a, b) in places {
            let shift = gathered.counts.shift(a, b).n as f64;
            change += shift * one(all, "mcd", MetricScope::Direction(a, b)).value.unwrap();
            pairs += shift;
        }
        assert!((one(all, "mcd", scope).value.unwrap() - change / pairs).abs() < 1e-12);
        assert!(one(all, "rmscd", scope).interval.is_some());
    }
    let people_of = |scope| one(all, "sr", scope).n_rows;
    assert_eq!(
        (0..3).map(|group| people_of(MetricScope::OneToRest(group))).sum::<u64>(),
        people_of(MetricScope::Total)
    );
    // Two groups have no rest but the other.
    let two = gather(&people(2, 3, 300), 2, true, 1, &settings()).measured;
    assert!(
        two.iter()
            .all(|m| !matches!(m.scope, MetricScope::OneToRest(_) | MetricScope::RestToOne(_))
                && !m.metric.id.ends_with("_any"))
    );
}

#[test]
fn a_person_switches_once() {
    let mut counts = CounterfactualCounts::new(3);
    let score = |yes| Some(if yes { 0.9 } else { 0.1 });
    let person = |group, yes| ScoredPerson::of(group, Some(true), Some(yes), score(yes));
    let moved = |to, yes| ScoredCounterfactual::to(to, Some(yes), score(yes));
    counts.add(&person(0, true), &[moved(1, false), moved(2, false)]);
    counts.add(&person(0, true), &[moved(1, true), moved(2, false)]);
    counts.add(&person(0, true), &[moved(1, true), moved(2, true)]);
    counts.add(&person(0, false), &[moved(1, false)]);
    counts.add(&person(1, false), &[moved(0, true), moved(2, true)]);
    // Nobody knows how the first of these two would be predicted, nor what became of the second.
    counts.add(&person(1, false), &[ScoredCounterfactual::to(0, None, None)]);
    counts.add(&ScoredPerson { label: None, ..person(2, true) }, &[moved(0, false)]);
    let measured = measure_counterfactual(&counts, None, None, &settings());
    let rate = |id: &str, scope| {
        let m = one(&measured, id, scope);
        (m.numerator.unwrap(), m.denominator.unwrap())
    };
    assert_eq!(rate("sr_any", MetricScope::OneToRest(0)), (2, 4));
    assert_eq!(rate("nsr_any", MetricScope::OneToRest(0)), (2, 3));
    assert_eq!(rate("psr_any", MetricScope::OneToRest(0)), (0, 1));
    assert_eq!(rate("sr_any", MetricScope::Total), (4, 6));
    assert_eq!(rate("psr_any", MetricScope::Total), (1, 2));
    assert_eq!(
        one(&measured, "nsr_any", MetricScope::OneToRest(1)).value,
        Err(Undefined::NoPredictedPositive)
    );
    assert_eq!(rate("sr_any", MetricScope::OneToRest(2)), (1, 1));
    assert_eq!(one(&measured, "tpsr", MetricScope::OneToRest(2)).value, Err(Undefined::NoLabel));
    assert_eq!(
        one(&measured, "sr", MetricScope::Direction(2, 1)).value,
        Err(Undefined::EmptyGroup)
    );
    assert_eq!(
        one(&measured, "tpsr", MetricScope::Direction(2, 1)).value,
        Err(Undefined::EmptyGroup)
    );
    assert_eq!(one(&measured, "sr", MetricScope::OneToRest(0)).denominator, Some(7));
}

const COUNTERFACTUAL: [MetricFamily; 3] =
    [MetricFamily::Ccm, MetricFamily::Eccm, MetricFamily::Shift];

/// Where nothing switches every metric has its ideal value, but for those that divide what
/// switches.
#[test]
fn a_set_without_noise_has_the_band_of_what_stands_still() {
    for groups in [2, 3] {
        let people = people(groups, 1, 600);
        let gathered = gather(&people, groups, true, 1, &settings());
        let evidence = second(&people, &gathered.counts, 1, &settings());
        let repeats = Count::new(20).unwrap();
        let measured = measure_counterfactual(
            &gathered.counts,
            Some(&evidence),
            Some(&PlaceboEvidence::Unmoved(repeats)),
            &settings(),
        );
        assert_eq!(
            measured.len(),
            gathered.measured.iter().filter(|m| COUNTERFACTUAL.contains(&m.metric.family)).count()
        );
        for m in &measured {
            let is_ratio = m.metric.id == "p2nr" || m.metric.is_of_two_directions();
            let undefined = m.metric.ideal.is_none() || is_ratio;
            let expected = m.ideal.filter(|_| !undefined).map(|ideal| (ideal, ideal));
            assert_eq!(
                m.placebo,
                Some(PlaceboBand { ends: expected, repeats: 20 }),
                "{} in {:?}",
                m.metric.id,
                m.scope
            );
        }
        assert!(gathered.measured.iter().all(|m| m.placebo.is_none()));
    }
}

#[test]
fn a_fitted_set_has_the_band_of_its_repeats() {
    let groups = 3;
    let of: Vec<TestPeople> = [500, 501, 502].map(|n| people(groups, 1, n)).to_vec();
    let gathered: Vec<TestEvidence> =
        of.iter().map(|people| gather(people, groups, true, 1, &settings())).collect();
    let seconds: Vec<ShiftEvidence> = of
        .iter()
        .zip(&gathered)
        .map(|(people, g)| second(people, &g.counts, 1, &settings()))
        .collect();
    let repeats = [1, 2].map(|r| SetRepeat {
        counts: gathered[r].counts.clone(),
        second: Some(seconds[r].second.clone()),
        without_rows: Vec::new(),
    });
    let measured = measure_counterfactual(
        &gathered[0].counts,
        Some(&seconds[0]),
        Some(&PlaceboEvidence::Repeats(repeats.to_vec())),
        &settings(),
    );
    for m in &measured {
        let [x, y] = [1, 2].map(|r| one(&gathered[r].measured, m.metric.id, m.scope).value.ok());
        let ends = match (x, y) {
            (Some(x), Some(y)) => Some((x.min(y), x.max(y))),
            (x, y) => x.or(y).map(|value| (value, value)),
        };
        assert_eq!(
            m.placebo,
            Some(PlaceboBand { ends, repeats: 2 }),
            "{} in {:?}",
            m.metric.id,
            m.scope
        );
    }
}

/// Several copies of every counterfactual are not new people: the interval must be that of one
/// copy.
#[test]
fn copies_do_not_narrow_an_interval() {
    let single = people(2, 1, 500);
    let copied: TestPeople = single
        .iter()
        .map(|(person, cfs)| (*person, cfs.iter().chain(cfs).chain(cfs).copied().collect()))
        .collect();
    let ends = |people: &TestPeople| {
        let measured = gather(people, 2, true, 1, &settings()).measured;
        one(&measured, "cmcc", MetricScope::Direction(0, 1)).interval
    };
    let (single, copied) = (ends(&single).unwrap(), ends(&copied).unwrap());
    assert!(
        (single.lo - copied.lo).abs() < 1e-12 && (single.hi - copied.hi).abs() < 1e-12,
        "{single:?}, {copied:?}"
    );
}

#[test]
fn small_groups_and_denominators_are_flagged() {
    let mut factual = FactualCounts::new(2);
    for (group, label, n) in [(0, true, 40), (0, false, 40), (1, true, 3), (1, false, 20)] {
        (0..n).for_each(|i| factual.add((group, 0, 1), Some(label), Some(i % 2 == 0), false));
    }
    let measured = measure_factual(&factual, None, &settings());
    assert!(one(&measured, "tpr", MetricScope::Group(0)).flags.is_empty());
    assert_eq!(one(&measured, "acc", MetricScope::Group(1)).flags, [SMALL_GROUP]);
    assert_eq!(
        one(&measured, "tpr", MetricScope::Group(1)).flags,
        [SMALL_GROUP, SMALL_DENOMINATOR]
    );
    assert_eq!(
        one(&measured, "eopp_difference", MetricScope::Pair(0, 1)).flags,
        [SMALL_GROUP, SMALL_DENOMINATOR]
    );
}
