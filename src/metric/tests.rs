//! Tests of the module as a whole, and the people, settings and evidence that they share.

mod amounts;
mod boundaries;
mod catalog;
mod clarify;
mod class_persons;
mod classes;
mod compare;
pub(in crate::metric) mod coverage;
mod direction_ratios;
mod hidden_cause;
mod impaired;
mod inference;
mod oracle;
mod paired_coverage;
mod person_coverage;
mod person_value_coverage;
mod persons;
mod properties;
mod scores;
mod shift_intervals;
mod turned_groups;
mod weights;
mod who_counts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;

use crate::exec::accumulator::Accumulator;
use crate::metric::catalog::{catalog, find};
use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::{
    FlipTestPerson, FlipTestResult, FlipTestSample, FlipTestSettings, PreparedFlipTest,
};
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::matrix::correlation;
use crate::metric::evidence::paired_counts::{PairedCell, PairedCounts};
use crate::metric::evidence::person::{
    Confusion, Eccm, ScoredCounterfactual, ScoredPerson, confusion_cell,
};
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::evidence::strata::Strata;
use crate::metric::evidence::units::WeightSums;
use crate::metric::interval::{IntervalProcedure, ValueInterval, newcombe, wilson, z_of_level};
use crate::metric::noise::placebo::PlaceboEvidence;
use crate::metric::noise::repeats::SetRepeat;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::amounts::{AmountEntry, AmountSample, measure_amounts};
use crate::metric::value::classes::measure::{
    ClassTransition, measure_factual_classes, measure_switch_classes,
};
use crate::metric::value::compare::{ComparedValue, compare_rows};
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::{
    FavourableClass, FavouredGroups, MeasureSettings, RATE_OF_ONE,
};
use crate::metric::value::switches::measure_counterfactual;
use crate::metric::{GapTransform, GroupValue, Metric, MetricFamily, Reads};
use crate::num::binomial_draws::multinomial;
use crate::num::score_scale::ScoreScale;
use crate::num::seed::{RandomStream, h};
use crate::param::{Count, Level, Seed};
use crate::tests::{Says, expected, json, shared};

/// A share of counts.
pub(in crate::metric) fn rate(numerator: u64, denominator: u64) -> Rate {
    Rate { numerator, denominator, empty: Undefined::EmptyGroup }
}

/// A rate of rows that are people, with its interval; `side` keeps the people of two rates apart.
pub(in crate::metric) fn counted(of: Rate, side: u64) -> Option<Share> {
    let kinds = [(of.numerator, 1), (of.denominator - of.numerator, 0)];
    let units = kinds.into_iter().zip(2 * side..).filter(|((n, _), _)| *n > 0);
    let units = units.map(|((n, case), key)| (key, rate(case, 1), WeightSums::ones(n)));
    Share::of_units(of, WeightSums::ones(of.denominator).into(), units)
}

/// Katz's interval of the ratio of two such rates at a level; none where one has no case.
pub(crate) fn katz(a: Rate, b: Rate, level: f64) -> Option<ValueInterval> {
    let (a, b) = (Estimate::from(counted(a, 0)?), Estimate::from(counted(b, 1)?));
    (b.value > 0.0).then(|| a.over(&b))?.interval(level).ok()
}

/// A rate of rows of which a person may have several: what each has.
pub(in crate::metric) fn share_of_persons(
    of: Rate,
    each: impl Iterator<Item = (u64, Rate)>,
) -> Share {
    let units = each.map(|(key, own)| (key, own, WeightSums::ones(1)));
    Share::of_units(of, WeightSums::ones(of.denominator).into(), units).expect("rows")
}

/// The value of a comparison of two groups where they change places.
pub(in crate::metric) fn turned(metric: &Metric, value: f64) -> f64 {
    match metric.transform() {
        Some(GapTransform::Ratio | GapTransform::Inverse) => 1.0 / value,
        Some(GapTransform::Widest | GapTransform::SmallerOverLarger) => value,
        _ => -value,
    }
}

/// Asserts that distances, where none of `n` people moves, have the upper end of the share of those
/// who move.
#[track_caller]
pub(in crate::metric) fn moves_nobody<'a>(of: impl Fn(&str) -> &'a MeasuredValue, n: f64) {
    let squared = z_of_level(0.95).powi(2);
    let most = squared / (n + squared);
    for (metric, lo, hi) in [("macd", 0.0, most), ("rmscd", 0.0, most.sqrt()), ("mcd", -most, most)]
    {
        let m = of(metric);
        let interval = m.interval.unwrap_or_else(|| panic!("{metric}: {}", m.ci_method));
        assert_eq!((m.value, interval.method.as_str()), (Ok(0.0), "wilson-moved"));
        let off = (interval.lo - lo).abs().max((interval.hi - hi).abs());
        assert!(off < 1e-15, "{metric} {interval:?}");
    }
}

fn settings() -> MeasureSettings {
    MeasureSettings {
        families: MetricFamily::OF_CATALOG.to_vec(),
        favourable: FavourableClass::Positive,
        favourable_stated: true,
        level: Some(Level::DEFAULT),
        min_group_size: Count::new(30).unwrap(),
        min_denominator: Count::new(10).unwrap(),
        favoured: FavouredGroups::Groups(vec![0]),
    }
}

/// The same of some families.
fn of_families(families: &[MetricFamily]) -> MeasureSettings {
    MeasureSettings { families: families.to_vec(), ..settings() }
}

/// A flip test with five neighbours.
fn flip_knobs(most: u64) -> FlipTestSettings {
    FlipTestSettings {
        neighbours: Count::new(5).unwrap(),
        standardise: false,
        max_people: Count::new(most).unwrap(),
    }
}

/// The votes of all neighbours.
fn voted(
    people: FlipTestSample,
    groups: usize,
    favoured: &FavouredGroups<usize>,
    knobs: &FlipTestSettings,
) -> FlipTestResult {
    let test = PreparedFlipTest::new(
        people,
        groups,
        &favoured.facets(groups),
        knobs,
        CountingUnit::default(),
    );
    let mut flips = test.empty.clone();
    (0..test.n_pieces()).for_each(|piece| flips.add(&test.votes(piece)));
    flips
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
                    cfs.push(ScoredCounterfactual::to(to, score_cf.map(|s| s >= 0.5), score_cf));
                }
            }
            (ScoredPerson::of(group, label, score.map(|s| s >= 0.5), score), cfs)
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

/// What rows add in `parts` batches, merged last first.
fn merged<S: Accumulator + Clone, R>(
    empty: S,
    parts: usize,
    rows: &[R],
    add: impl Fn(&mut S, usize, &R),
) -> S {
    let mut all = vec![empty; parts];
    rows.iter().enumerate().for_each(|(i, row)| add(&mut all[part_of(i, parts)], i, row));
    let merge = |mut whole: S, part| {
        whole.merge(part);
        whole
    };
    all.into_iter().rev().reduce(merge).unwrap()
}

/// People by key.
type WeightedPeople = Vec<(u64, ScoredPerson, Vec<ScoredCounterfactual>)>;

/// Each under the number of its row.
fn by_row(people: &TestPeople) -> WeightedPeople {
    (0..).zip(people).map(|(row, (person, cfs))| (row, *person, cfs.clone())).collect()
}

/// Gathers people in `parts` batches, merged last first, and measures.
fn gather(
    people: &TestPeople,
    groups: usize,
    has_label: bool,
    parts: usize,
    settings: &MeasureSettings,
) -> TestEvidence {
    let mut people = by_row(people);
    people.iter_mut().for_each(|(_, person, _)| person.label = person.label.filter(|_| has_label));
    gather_by(&people, groups, CountingUnit::ROW, parts, settings)
}

/// The same of people who may have weights; these are not in the flip test, which has tests of
/// its own.
fn gather_by(
    people: &WeightedPeople,
    groups: usize,
    unit: CountingUnit,
    parts: usize,
    settings: &MeasureSettings,
) -> TestEvidence {
    let factual = FactualCounts::new(groups).counted_by(unit);
    let factual = factual.with_strata(Strata::new(STRATA, groups, unit.weighted));
    let factual = merged(factual, parts, people, |part, _, (key, person, _)| {
        let row = (person.group, *key, person.weight);
        part.add(row, person.label, person.predicted, person.score == Some(0.5));
        part.add_stratum(person.group, (*key, person.weight), person.predicted, stratum(person));
    });
    let counts = CounterfactualCounts::new(groups).counted_by(unit);
    let counts = merged(counts, parts, people, |part, _, (_, person, cfs)| part.add(person, cfs));
    let knobs = flip_knobs(500);
    let looked = FlipTestSample::new(2, &knobs, Seed(42));
    let looked = merged(looked, parts, people, |part, i, (row, person, _)| {
        if let Some(predicted) = person.predicted.filter(|_| !unit.weighted) {
            let (row, group) = (*row, person.group);
            let looked = FlipTestPerson { row, key: row, group, predicted, weight: 1 };
            part.add(looked, &[(i % 40) as f64, (i / 60) as f64]);
        }
    });
    let flips = (!unit.weighted).then(|| voted(looked, groups, &settings.favoured, &knobs));
    let mut measured = measure_factual(&factual, flips.as_ref(), settings);
    let shift = second_by(people, &counts, unit.weighted, parts, settings);
    measured.extend(measure_counterfactual(&counts, Some(&shift), None, settings));
    TestEvidence { factual, counts, measured }
}

/// The second pass over people in `parts` batches, merged last first, with intervals where settings
/// ask for them.
fn second(
    people: &TestPeople,
    counts: &CounterfactualCounts,
    parts: usize,
    settings: &MeasureSettings,
) -> ShiftEvidence {
    second_by(&by_row(people), counts, false, parts, settings)
}

/// The same, by key where those who are there several times are one person.
fn second_by(
    people: &WeightedPeople,
    counts: &CounterfactualCounts,
    by_key: bool,
    parts: usize,
    settings: &MeasureSettings,
) -> ShiftEvidence {
    let mut start = counts.second_pass();
    if settings.level.is_some() {
        start = start.with_influences(&counts.shifts_by_scope(), by_key);
    }
    let second = merged(start, parts, people, |part, _, (key, person, cfs)| {
        part.add(*key, person, cfs);
    });
    second.into_evidence(counts)
}
