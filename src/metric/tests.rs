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

use super::scope::MetricScope;
use super::{GapTransform, Metric, MetricFamily};
use crate::exec::accumulator::Accumulator;
use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::{
    FlipTestPerson, FlipTestResult, FlipTestSample, FlipTestSettings, PreparedFlipTest,
};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::evidence::strata::Strata;
use crate::metric::evidence::units::WeightSums;
use crate::metric::interval::ValueInterval;
use crate::metric::rate::{Rate, Undefined};
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::metric::value::switches::measure_counterfactual;
use crate::num::seed::{RandomStream, h};
use crate::param::{Count, Level, Seed};

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

/// Gathers people in `parts` batches, merged last first, and measures.
fn gather(
    people: &TestPeople,
    groups: usize,
    has_label: bool,
    parts: usize,
    settings: &MeasureSettings,
) -> TestEvidence {
    let mut factual =
        vec![FactualCounts::new(groups).with_strata(Strata::new(STRATA, groups, false)); parts];
    let mut counts = vec![CounterfactualCounts::new(groups); parts];
    let knobs = flip_knobs(500);
    let mut crowds = vec![FlipTestSample::new(2, &knobs, Seed(42)); parts];
    for (i, (person, cfs)) in people.iter().enumerate() {
        let person = &ScoredPerson { label: person.label.filter(|_| has_label), ..*person };
        factual[part_of(i, parts)].add(
            (person.group, i as u64, 1),
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
    let flips = voted(crowd, groups, &settings.favoured, &knobs);
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
    let start =
        if settings.level.is_some() { counts.influence_pass() } else { counts.second_pass() };
    let mut passes = vec![start; parts];
    for (i, (person, cfs)) in people.iter().enumerate() {
        passes[part_of(i + 1, parts)].add(i as u64, person, cfs);
    }
    let mut second = passes.pop().unwrap();
    passes.into_iter().rev().for_each(|part| second.merge(part));
    second.into_evidence(counts)
}
