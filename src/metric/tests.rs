//! What no single file can show: the catalog is sound, evidence has its properties, impaired groups
//! follow the published table.

mod amounts;
mod boundaries;
mod clarify;
mod class_persons;
mod classes;
mod compare;
pub(in crate::metric) mod coverage;
mod oracle;
mod person_coverage;
mod person_value_coverage;
mod persons;
mod scores;
mod weights;
mod who_counts;

use std::collections::BTreeSet;

use super::scope::MetricScope;
use super::{ImpairedGroupRule, MetricFamily, Reads};
use crate::exec::accumulator::Accumulator;
use crate::metric::bootstrap::placebo::{PlaceboBand, PlaceboEvidence};
use crate::metric::bootstrap::redraw::{ScorePairs, ShiftBootstrap, ShiftEvidence};
use crate::metric::bootstrap::repeats::SetRepeat;
use crate::metric::catalog::{catalog, find, nearest};
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::{
    FlipTestPerson, FlipTestSample, FlipTestSettings, PreparedFlipTest,
};
use crate::metric::evidence::outcome_patterns::AnySwitch;
use crate::metric::evidence::person::{Confusion, Eccm, ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift::ShiftSums;
use crate::metric::evidence::shift_pass::DivergenceSums;
use crate::metric::evidence::strata::Strata;
use crate::metric::rate::{Rate, Undefined};
use crate::metric::swap_effect::SwapEffect;
use crate::metric::value::gaps;
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::{
    FavourableClass, FavouredGroups, MeasureSettings, SMALL_DENOMINATOR, SMALL_GROUP,
};
use crate::metric::value::switches::measure_counterfactual;
use crate::num::seed::{RandomStream, h};
use crate::param::{Count, Level, Seed};

/// A share of counts.
pub(in crate::metric) fn rate(numerator: u64, denominator: u64) -> Rate {
    Rate { numerator, denominator, empty: Undefined::EmptyGroup }
}

fn settings() -> MeasureSettings {
    MeasureSettings {
        families: MetricFamily::OF_CATALOG.to_vec(),
        favourable: FavourableClass::Positive,
        favourable_stated: true,
        level: Some(Level::DEFAULT),
        samples: Count::new(2000).unwrap(),
        seed: Seed(42),
        min_group_size: Count::new(30).unwrap(),
        min_denominator: Count::new(10).unwrap(),
        favoured: FavouredGroups::Groups(vec![0]),
    }
}

const STRATA: usize = 4;

/// The stratum of a person of [`people`]; some have none.
fn stratum(person: &ScoredPerson) -> Option<u32> {
    let thousandths = (person.score.unwrap_or(0.0) * 1000.0) as u32;
    (!thousandths.is_multiple_of(7)).then_some(thousandths % STRATA as u32)
}

#[track_caller]
fn one<'a>(all: &'a [MeasuredValue], id: &str, scope: MetricScope) -> &'a MeasuredValue {
    let mut found = all.iter().filter(|m| m.metric.id == id && m.scope == scope);
    let first = found.next().unwrap_or_else(|| panic!("no `{id}` in {scope:?}"));
    assert!(found.next().is_none(), "`{id}` occurs twice in {scope:?}");
    first
}

type TestPeople = Vec<(ScoredPerson, Vec<ScoredCounterfactual>)>;

/// Random people with labels and scores, some missing; predictions at 0.5.
fn people(groups: usize, per_target: usize, n: usize) -> TestPeople {
    let mut stream = RandomStream::new(9, &format!("people/{groups}/{per_target}"));
    let mut scored = move |near: Option<f64>| {
        let (keep, u) = (stream.u01(), stream.u01());
        let score =
            (keep < 0.95).then(|| near.map_or(u, |near| (near + 0.4 * (u - 0.5)).clamp(0.0, 1.0)));
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
                    cfs.push(ScoredCounterfactual {
                        to,
                        predicted: score_cf.map(|s| s >= 0.5),
                        score: score_cf,
                        rounded: false,
                    });
                }
            }
            (
                ScoredPerson { group, label, predicted: score.map(|s| s >= 0.5), score, weight: 1 },
                cfs,
            )
        })
        .collect()
}

struct TestEvidence {
    factual: FactualCounts,
    counts: CounterfactualCounts,
    measured: Vec<MeasuredValue>,
}

/// The batch of a person, at random: another partition for every number of batches.
fn part_of(i: usize, parts: usize) -> usize {
    (h(parts as u64, i as u64, 0) % parts as u64) as usize
}

/// Gathers people in `parts` batches, merged last first, and measures.
fn gather(
    people: &TestPeople,
    groups: usize,
    has_label: bool,
    parts: usize,
    settings: &MeasureSettings,
) -> TestEvidence {
    let mut factual =
        vec![FactualCounts::new(groups).with_strata(Strata::new(STRATA, groups, None)); parts];
    let mut counts = vec![CounterfactualCounts::new(groups); parts];
    let knobs = FlipTestSettings {
        neighbours: Count::new(5).unwrap(),
        standardise: false,
        max_people: Count::new(500).unwrap(),
    };
    let mut crowds = vec![FlipTestSample::new(2, &knobs, settings.seed); parts];
    for (i, (person, cfs)) in people.iter().enumerate() {
        let person = &ScoredPerson { label: person.label.filter(|_| has_label), ..*person };
        factual[part_of(i, parts)].groups[person.group].add(
            person.label,
            person.predicted,
            person.score == Some(0.5),
        );
        let part = &mut factual[part_of(i, parts)];
        part.add_stratum(person.group, (i as u64, 1), person.predicted, stratum(person));
        if let Some(predicted) = person.predicted {
            let looked = FlipTestPerson {
                row: i as u64,
                key: i as u64,
                group: person.group,
                predicted,
                weight: 1,
            };
            crowds[part_of(i, parts)].add(looked, &[(i % 40) as f64, (i / 60) as f64]);
        }
        counts[part_of(i, parts)].add(person, cfs);
    }
    let mut crowd = crowds.pop().unwrap();
    crowds.into_iter().rev().for_each(|part| crowd.merge(part));
    let test =
        PreparedFlipTest::new(crowd, groups, &settings.favoured.facets(groups), &knobs, None);
    let mut flips = test.empty();
    (0..test.n_pieces()).for_each(|piece| flips.add(&test.votes(piece)));
    let mut all = (factual.pop().unwrap(), counts.pop().unwrap());
    factual.into_iter().rev().for_each(|part| all.0.merge(part));
    counts.into_iter().rev().for_each(|part| all.1.merge(part));
    let mut measured = measure_factual(&all.0, Some(&flips), settings);
    measured.extend(measure_counterfactual(
        &all.1,
        Some(&second(people, &all.1, parts, settings)),
        None,
        settings,
    ));
    TestEvidence { factual: all.0, counts: all.1, measured }
}

/// The second pass over people in `parts` batches, merged last first, with intervals where settings
/// ask for them.
fn second(
    people: &TestPeople,
    counts: &CounterfactualCounts,
    parts: usize,
    settings: &MeasureSettings,
) -> ShiftEvidence {
    let mut passes = vec![counts.second_pass(); parts];
    let mut pairs = vec![ScorePairs::new(counts); parts];
    for (i, (person, cfs)) in people.iter().enumerate() {
        passes[part_of(i + 1, parts)].add(person, cfs);
        pairs[part_of(i, parts)].add(i as u64, person, cfs);
    }
    let (mut second, mut all) = (passes.pop().unwrap(), pairs.pop().unwrap());
    passes.iter().rev().for_each(|part| second.merge(part));
    pairs.into_iter().rev().for_each(|part| all.merge(part));
    assert_eq!(second, all.second_pass(counts));
    let intervals = settings.level.map(|level| {
        let redraw = ShiftBootstrap::of_people(&all, &second, settings.samples, settings.seed);
        redraw.intervals(
            &(0..redraw.n_tiles()).map(|number| redraw.tile(number)).collect::<Vec<_>>(),
            counts,
            level,
        )
    });
    ShiftEvidence { second, intervals }
}

#[test]
fn the_catalog_is_sound() {
    let mut ids = BTreeSet::new();
    for metric in catalog() {
        let id = metric.id;
        assert!(ids.insert(id), "{id} occurs twice");
        assert!(
            id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{id}"
        );
        for text in [
            metric.symbol,
            metric.name,
            metric.formula,
            metric.reading,
            metric.sign,
            metric.undefined_when,
            metric.source,
        ] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{id}: `{text}`");
        }
        let (lo, hi) = metric.range;
        assert!(lo < hi && metric.ideal.is_none_or(|ideal| (lo..=hi).contains(&ideal)), "{id}");
        let fits = match metric.reads {
            Reads::Rate(_) | Reads::Score(_) => metric.family == MetricFamily::Performance,
            Reads::RateDifference(_) | Reads::ScoreDifference(_) => {
                matches!(metric.family, MetricFamily::Group | MetricFamily::Clarify)
            }
            Reads::RateRatio(_)
            | Reads::RateMinRatio(_)
            | Reads::FavourableRatio
            | Reads::ScoreRatio(_) => metric.family == MetricFamily::Group,
            Reads::WidestGap(_) | Reads::RateToTotal(_) | Reads::ScoreToTotal(_) => {
                metric.family == MetricFamily::Group
            }
            Reads::ScoreRise(_)
            | Reads::Benefit(_)
            | Reads::Strata(_)
            | Reads::StrataRate(_)
            | Reads::Flips { .. } => metric.family == MetricFamily::Clarify,
            Reads::SwitchRate(_)
            | Reads::SwitchByFavour { .. }
            | Reads::SwitchScore(_)
            | Reads::AnySwitch(_) => {
                matches!(metric.family, MetricFamily::Ccm | MetricFamily::Eccm)
            }
            Reads::Shift(_) => metric.family == MetricFamily::Shift,
            Reads::Graphs => metric.family == MetricFamily::Graph,
            Reads::Amount(_) => metric.family == MetricFamily::Amounts,
            Reads::Scored(_) => metric.family == MetricFamily::Scores,
        };
        assert!(fits, "{id} reads evidence of another family");
        assert!(
            !matches!(metric.impaired, ImpairedGroupRule::Switch { .. }) || metric.ideal.is_some(),
            "{id}"
        );
    }
    assert_eq!(ids.len(), 14 + (37 + 14) + 15 + 8 + 8 + 16 + 12 + 18 + 5);
    let symbols: BTreeSet<&str> = catalog().map(|metric| metric.symbol).collect();
    assert_eq!(symbols.len(), ids.len(), "a symbol stands twice");
    let codes: BTreeSet<&str> = Undefined::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(codes.len(), Undefined::ALL.len());
    for reason in Undefined::ALL {
        let clause = reason.clause();
        assert!(reason.meaning().ends_with('.') && !clause.ends_with('.'), "{reason}");
        assert!(clause.starts_with(|c: char| c.is_lowercase()), "{reason}: `{clause}`");
        assert_eq!(Undefined::of_code(reason.code()), Some(*reason));
    }
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
    let none = Confusion::default();
    let shift_of_none =
        DivergenceSums::new(&ShiftSums::default()).score_shift(&ShiftSums::default());
    for metric in catalog() {
        let value = match metric.reads {
            Reads::Rate(rate) | Reads::RateToTotal(rate) => rate(&none).value(),
            Reads::Score(score) | Reads::Benefit(score) | Reads::ScoreToTotal(score) => {
                score(&none)
            }
            Reads::Strata(of) => of(&[]),
            Reads::StrataRate(of) => of(&[]).value(),
            Reads::SwitchRate(rate) | Reads::SwitchByFavour { if_positive: rate, .. } => {
                rate(&Eccm::default()).value()
            }
            Reads::SwitchScore(score) => score(&Eccm::default()),
            Reads::AnySwitch(rate) => rate(&AnySwitch::default()).value(),
            Reads::Shift(value) => value(&shift_of_none),
            // None of them reads counts.
            Reads::Flips { .. } | Reads::Graphs | Reads::Amount(_) | Reads::Scored(_) => continue,
            _ => gaps::value(metric, FavourableClass::Positive, &none, &none),
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
    let spreads = gathered.counts.cell_profiles();
    let scopes = [MetricScope::Total, MetricScope::Direction(0, 1), MetricScope::Direction(2, 0)];
    for scope in scopes {
        let eccm = match scope {
            MetricScope::Direction(from, to) => spreads.direction(from, to).eccm(),
            _ => spreads.total().eccm(),
        };
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
        directions.map(|(a, b)| spreads.direction(a, b).eccm().n()).sum::<u64>(),
        spreads.total().eccm().n()
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
            (MetricScope::Difference(..), _) => -value,
            (MetricScope::Pair(..), _) => SwapEffect::of(m.metric).apply(value).unwrap(),
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
        let few = MeasureSettings { samples: Count::new(50).unwrap(), ..settings() };
        let written = |found: &TestEvidence| {
            serde_json::to_string(&found.factual).unwrap()
                + &serde_json::to_string(&found.counts).unwrap()
        };
        let whole = gather(&people, groups, true, 1, &few);
        for n in [2, 5, 7, 64] {
            let parts = gather(&people, groups, true, n, &few);
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
fn rates_of_repeated_people_are_bootstrapped() {
    let method = |groups, per_target, scope| {
        let measured =
            gather(&people(groups, per_target, 500), groups, true, 1, &settings()).measured;
        one(&measured, "sr", scope).interval.unwrap().method.as_str()
    };
    assert_eq!(method(2, 1, MetricScope::Total), "wilson");
    assert_eq!(method(2, 1, MetricScope::Difference(0, 1)), "newcombe");
    assert_eq!(method(3, 1, MetricScope::Total), "bootstrap");
    assert_eq!(method(3, 1, MetricScope::Direction(2, 0)), "wilson");
    assert_eq!(method(2, 2, MetricScope::Direction(0, 1)), "bootstrap");
    assert_eq!(method(2, 2, MetricScope::Difference(0, 1)), "bootstrap");
    assert_eq!(method(3, 1, MetricScope::OneToRest(1)), "bootstrap");
    assert_eq!(method(3, 1, MetricScope::RestToOne(1)), "wilson");
    let measured = gather(&people(3, 2, 500), 3, true, 1, &settings()).measured;
    assert_eq!(
        one(&measured, "sr_any", MetricScope::Total).interval.unwrap().method.as_str(),
        "wilson"
    );
    assert_eq!(
        one(&measured, "jscd", MetricScope::Total).interval.unwrap().method.as_str(),
        "poisson-bootstrap"
    );
}

/// What each scope is derived from, with three groups and one counterfactual in each of the others.
#[test]
fn the_rest_is_the_other_directions_together() {
    let gathered = gather(&people(3, 1, 1500), 3, true, 1, &settings());
    let (all, spreads) = (&gathered.measured, gathered.counts.cell_profiles());
    let cells = |from, to| spreads.direction(from, to).eccm().0;
    let sum = |x: [u64; 12], y: [u64; 12]| std::array::from_fn::<u64, 12, _>(|i| x[i] + y[i]);
    assert_eq!(spreads.one_to_rest(0).unwrap().eccm().0, sum(cells(0, 1), cells(0, 2)));
    assert_eq!(spreads.rest_to_one(0).unwrap().eccm().0, sum(cells(1, 0), cells(2, 0)));
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
            let shift = gathered.counts.shift(a, b).n() as f64;
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
    let person = |group, yes| ScoredPerson {
        group,
        label: Some(true),
        predicted: Some(yes),
        score: score(yes),
        weight: 1,
    };
    let moved = |to, yes| ScoredCounterfactual {
        to,
        predicted: Some(yes),
        score: score(yes),
        rounded: false,
    };
    counts.add(&person(0, true), &[moved(1, false), moved(2, false)]);
    counts.add(&person(0, true), &[moved(1, true), moved(2, false)]);
    counts.add(&person(0, true), &[moved(1, true), moved(2, true)]);
    counts.add(&person(0, false), &[moved(1, false)]);
    counts.add(&person(1, false), &[moved(0, true), moved(2, true)]);
    // Nobody knows how the first of these two would be predicted, nor what became of the second.
    counts.add(
        &person(1, false),
        &[ScoredCounterfactual { to: 0, predicted: None, score: None, rounded: false }],
    );
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
            let undefined = m.metric.ideal.is_none() || m.metric.id == "p2nr";
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
    let (groups, few) = (3, MeasureSettings { samples: Count::new(20).unwrap(), ..settings() });
    let of: Vec<TestPeople> = [500, 501, 502].map(|n| people(groups, 1, n)).to_vec();
    let gathered: Vec<TestEvidence> =
        of.iter().map(|people| gather(people, groups, true, 1, &few)).collect();
    let seconds: Vec<ShiftEvidence> =
        of.iter().zip(&gathered).map(|(people, g)| second(people, &g.counts, 1, &few)).collect();
    let repeats = [1, 2].map(|r| SetRepeat {
        counts: gathered[r].counts.clone(),
        second: Some(seconds[r].second.clone()),
        untaught: Vec::new(),
    });
    let measured = measure_counterfactual(
        &gathered[0].counts,
        Some(&seconds[0]),
        Some(&PlaceboEvidence::Repeats(repeats.to_vec())),
        &few,
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
        (0..n).for_each(|i| factual.groups[group].add(Some(label), Some(i % 2 == 0), false));
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

/// Towards Counterfactual Group Fairness, Table 7: which group a bad value impairs.
#[test]
fn impaired_groups_follow_the_published_table() {
    // Cells TCN, TSP, FSN, FCP, FCN, FSP, TSN, TCP: in the direction 0 -> 1 every switch rate is
    // worse than in 1 -> 0.
    let directions = [[60, 40, 40, 60, 60, 40, 40, 60], [90, 10, 10, 90, 90, 10, 10, 90]];
    let mut counts = CounterfactualCounts::new(2);
    for (group, cells) in directions.into_iter().enumerate() {
        for (code, n) in cells.into_iter().enumerate() {
            let person = ScoredPerson {
                group,
                label: Some(code & 4 != 0),
                predicted: Some(code & 2 != 0),
                score: None,
                weight: 1,
            };
            let counterfactual = ScoredCounterfactual {
                to: 1 - group,
                predicted: Some(code & 1 != 0),
                score: None,
                rounded: false,
            };
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
        ("denied_by_group", ORIGINAL, ORIGINAL),
        ("favoured_by_group", NEW, NEW),
        ("tpsr", NEW, NEW),
        ("tnsr", NEW, NEW),
        ("fpsr", ORIGINAL, ORIGINAL),
        ("fnsr", ORIGINAL, ORIGINAL),
        ("tsnr", None, None),
        ("p2nr", None, None),
    ];
    for (favourable, column) in [(FavourableClass::Positive, 0), (FavourableClass::Negative, 1)] {
        let measured = measure_counterfactual(
            &counts,
            None,
            None,
            &MeasureSettings { favourable, ..settings() },
        );
        for (id, positive, negative) in table {
            let expected = [positive, negative][column];
            assert_eq!(
                one(&measured, id, MetricScope::Direction(0, 1)).impaired,
                expected,
                "{id} {favourable:?}"
            );
            assert_eq!(
                one(&measured, id, MetricScope::Direction(1, 0)).impaired,
                expected.map(|group| 1 - group),
                "{id} {favourable:?}"
            );
            assert_eq!(
                one(&measured, id, MetricScope::Difference(0, 1)).impaired,
                expected,
                "{id} {favourable:?}"
            );
            assert_eq!(one(&measured, id, MetricScope::Total).impaired, None);
            assert_eq!(one(&measured, id, MetricScope::Difference(0, 1)).ideal, Some(0.0));
        }
    }
}

/// Harm goes by the favourable prediction, in every scope and with the same interval; without a
/// favourable side it has no value.
#[test]
fn harm_is_a_switch_rate_by_the_favourable_side() {
    let people = people(3, 2, 400);
    for (favourable, denied, favoured) in
        [(FavourableClass::Positive, "psr", "nsr"), (FavourableClass::Negative, "nsr", "psr")]
    {
        let settings = MeasureSettings {
            favourable,
            families: vec![MetricFamily::Ccm],
            samples: Count::new(50).unwrap(),
            ..settings()
        };
        let measured = gather(&people, 3, false, 1, &settings).measured;
        let of =
            |id: &str| measured.iter().filter(|m| m.metric.id == id).cloned().collect::<Vec<_>>();
        for (harm, rate) in [("denied_by_group", denied), ("favoured_by_group", favoured)] {
            let (harm, rate) = (of(harm), of(rate));
            assert_eq!(harm.len(), 6 + 3 + 6 + 1);
            for (a, b) in harm.iter().zip(&rate) {
                let told = |m: &MeasuredValue| {
                    (m.scope, m.value, m.numerator, m.denominator, m.interval.map(|i| (i.lo, i.hi)))
                };
                assert_eq!(told(a), told(b));
            }
        }
        let unsaid =
            gather(&people, 3, false, 1, &MeasureSettings { favourable_stated: false, ..settings })
                .measured;
        for m in unsaid
            .iter()
            .filter(|m| ["denied_by_group", "favoured_by_group"].contains(&m.metric.id))
        {
            let expected = if matches!(m.scope, MetricScope::Difference(..)) {
                Undefined::OperandMissing
            } else {
                Undefined::NoFavourableSide
            };
            assert_eq!((m.value, m.interval.is_none()), (Err(expected), true));
        }
    }
}

/// Nobody is named by an interval that holds the ideal, by a handful of switches, or within what
/// noise gives.
#[test]
fn a_group_is_named_only_by_clear_numbers() {
    let counted = |moves: [u64; 2], n: u64| {
        let mut counts = CounterfactualCounts::new(2);
        for (group, moved) in moves.into_iter().enumerate() {
            for i in 0..n {
                let person = ScoredPerson {
                    group,
                    label: None,
                    predicted: Some(true),
                    score: None,
                    weight: 1,
                };
                counts.add(
                    &person,
                    &[ScoredCounterfactual {
                        to: 1 - group,
                        predicted: Some(i >= moved),
                        score: None,
                        rounded: false,
                    }],
                );
            }
        }
        counts
    };
    let named = |counts: &CounterfactualCounts,
                 placebo: Option<&PlaceboEvidence>,
                 settings: &MeasureSettings,
                 id: &str| {
        let measured = measure_counterfactual(counts, None, placebo, settings);
        let of = |scope| one(&measured, id, scope).impaired;
        (
            of(MetricScope::Direction(0, 1)),
            of(MetricScope::Direction(1, 0)),
            of(MetricScope::Difference(0, 1)),
        )
    };
    let settings = MeasureSettings { families: vec![MetricFamily::Ccm], ..settings() };
    // 10 of 1,000 people switch, and 9: of the difference of the two cannot be decided.
    let few = counted([10, 9], 1000);
    assert_eq!(named(&few, None, &settings, "nsr"), (Some(1), None, None));
    assert_eq!(named(&few, None, &settings, "pcr"), (Some(1), None, None));
    assert_eq!(
        named(&counted([60, 9], 1000), None, &settings, "favoured_by_group"),
        (Some(1), None, Some(1))
    );
    // Noise of as much.
    let repeat =
        |moves| SetRepeat { counts: counted(moves, 1000), second: None, untaught: Vec::new() };
    let noise = PlaceboEvidence::Repeats(vec![repeat([2, 40]), repeat([50, 30])]);
    assert_eq!(
        named(&counted([60, 60], 1000), Some(&noise), &settings, "nsr"),
        (None, Some(0), None)
    );
    // Without an interval nobody knows.
    assert_eq!(
        named(&few, None, &MeasureSettings { level: None, ..settings.clone() }, "nsr"),
        (None, None, None)
    );

    // 30 of 100 and 27 of 100 predicted positive; the least of ten groups differs from the most
    // only by chance.
    let factual = |positive: &[u64], n: u64| {
        let mut factual = FactualCounts::new(positive.len());
        for (group, &positive) in positive.iter().enumerate() {
            (0..n).for_each(|i| factual.groups[group].add(None, Some(i < positive), false));
        }
        measure_factual(
            &factual,
            None,
            &MeasureSettings { families: vec![MetricFamily::Group], ..settings.clone() },
        )
    };
    let all = ["demp_difference", "demp_ratio", "demp_min_ratio", "di"];
    for (positive, n, pair, worst) in [
        (&[30, 27][..], 100, None, None),
        (&[300, 200], 1000, Some(1), Some(1)),
        (&[40, 27, 33, 33, 33, 33, 33, 33, 33, 33], 100, None, None),
        (&[60, 27, 33, 33, 33, 33, 33, 33, 33, 33], 100, Some(1), Some(1)),
    ] {
        let measured = factual(positive, n);
        for id in all {
            let named = [MetricScope::Pair(0, 1), MetricScope::WorstCase]
                .map(|scope| one(&measured, id, scope).impaired);
            assert_eq!(named, [pair, worst], "{id} {positive:?}");
        }
    }
}

#[test]
fn the_group_with_fewer_favourable_predictions_is_impaired() {
    // Group 0: 40 of 100 predicted positive, group 1: 20 of 100; the same among positives and among
    // negatives.
    let mut factual = FactualCounts::new(2);
    for (group, per_label) in [(0, 20), (1, 10)] {
        for label in [true, false] {
            (0..50)
                .for_each(|i| factual.groups[group].add(Some(label), Some(i < per_label), false));
        }
    }
    let measure =
        |favourable| measure_factual(&factual, None, &MeasureSettings { favourable, ..settings() });
    let (positive, negative) =
        (measure(FavourableClass::Positive), measure(FavourableClass::Negative));
    for id in [
        "demp_difference",
        "demp_ratio",
        "demp_min_ratio",
        "di",
        "eopp_difference",
        "pred_eq_difference",
        "tnr_ratio",
        "fnr_difference",
    ] {
        assert_eq!(one(&positive, id, MetricScope::Pair(0, 1)).impaired, Some(1), "{id}");
        assert_eq!(one(&negative, id, MetricScope::Pair(0, 1)).impaired, Some(0), "{id}");
    }
    assert_eq!(one(&positive, "acc_difference", MetricScope::Pair(0, 1)).impaired, None);
    assert_eq!(one(&positive, "di", MetricScope::Pair(0, 1)).value, Ok(0.2 / 0.4));
    assert_eq!(one(&negative, "di", MetricScope::Pair(0, 1)).value, Ok(0.8 / 0.6));
    assert_eq!(one(&negative, "demp_ratio", MetricScope::Pair(0, 1)).value, Ok(0.4 / 0.2));
}
