//! The outcomes of one run, gathered person by person: the scores with the counts that belong to
//! them, and digests that show whether anybody's outcome differs. Decisions of both runs are joined
//! by [`rows_of_both`](super::rows_of_both).
//!
//! Counterfactuals of a person are next to each other in the file, so that they are gathered as a
//! run counts them. Where scores are wanted the file is read twice, because what a person adds to a
//! metric needs the means of all scores first. If there are more than [`MAX_SINGLE_PEOPLE`] people,
//! they are put by the hash of their key into [`CROWDS`] crowds, and a crowd is a unit: its sum
//! varies as its people do one by one, and the width is known to 2 %. Scores with labels are kept,
//! or counted in cells, as in a run
//! ([`labelled_scores`](crate::metric::evidence::labelled_scores)). Memory: 16 bytes a person and
//! model, 40 bytes a labelled score that is kept, 300 bytes a unit and scope.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasherDefault;
use std::path::Path;

use crate::diff::rows_of_both::{OutcomeSetKey, PersonOutcomes, RowsOfBoth};
use crate::error::{Error, Result};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::num::hash::FastHasher;
use crate::num::score_scale::ScoreScale;
use crate::num::seed::h;
use crate::table::OutcomeRow;
use crate::table::file::read_file;

/// The most people who are units one by one.
const MAX_SINGLE_PEOPLE: u64 = 20_000;

/// Units of more people.
const CROWDS: u64 = 1024;

/// Keys of people.
pub(super) type PersonKeys = HashSet<u64, BuildHasherDefault<FastHasher>>;

/// What is gathered of the two runs, the old one first.
#[derive(Debug, Clone)]
pub(super) struct GatherSettings<'a> {
    /// The groups of each attribute, reference first.
    pub(super) groups: &'a BTreeMap<&'a str, Vec<String>>,
    pub(super) weighted: bool,
    /// By model the scale of its scores in each run, where these are not probabilities.
    pub(super) scales: [BTreeMap<String, ScoreScale>; 2],
    /// Where scores are wanted too.
    pub(super) scores: BTreeSet<OutcomeSetKey>,
    /// Where scores with labels are wanted.
    pub(super) labelled: BTreeSet<OutcomeSetKey>,
    /// People audited, of the larger run: both are drawn in the same way.
    pub(super) people: u64,
}

/// Sums of hashes of outcomes, regardless of their order: of labels with predictions, and of
/// scores, of people as they are with their labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OutcomeDigest {
    pub(super) predictions: [u64; 2],
    pub(super) scores: [u64; 2],
}

impl OutcomeDigest {
    /// Adds a person as they are, or one of their counterfactuals with its number.
    fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        moved: Option<(&ScoredCounterfactual, i64)>,
    ) {
        let state = |answer: Option<bool>| answer.map_or(0, |yes| 1 + u64::from(yes));
        let bits = |score: Option<f64>| score.map_or(u64::MAX, f64::to_bits);
        let mut what = 3 * state(person.label) + state(person.predicted);
        let (mut place, mut score_cf, mut scored) = (0, 0, state(person.label));
        if let Some((counterfactual, index)) = moved {
            what = 3 * what + state(counterfactual.predicted);
            place = 1 + index.unsigned_abs();
            (score_cf, scored) = (bits(counterfactual.score), 0);
        }
        let what = h(person.weight, what, 1);
        let scores = h(bits(person.score), score_cf, h(person.weight, scored, 0));
        for (i, seed) in [1, 2].into_iter().enumerate() {
            self.predictions[i] =
                self.predictions[i].wrapping_add(h(seed, key, h(seed, place, what)));
            self.scores[i] = self.scores[i].wrapping_add(h(seed, key, h(seed, place, scores)));
        }
    }
}

/// One set under one model and attribute.
pub(super) struct SetOutcomes {
    pub(super) counts: CounterfactualCounts,
    /// By direction: from * groups + to.
    pub(super) digests: Vec<OutcomeDigest>,
    /// What people add to score metrics; none where scores are not wanted.
    pub(super) second: Option<ShiftPass>,
}

/// One model and attribute in one run.
pub(super) struct AttributeOutcomes {
    pub(super) person_keys: PersonKeys,
    pub(super) factual: FactualCounts,
    /// By group.
    pub(super) digests: Vec<OutcomeDigest>,
    /// By set.
    pub(super) sets: BTreeMap<String, SetOutcomes>,
}

/// One model and attribute in both runs.
pub(super) struct PairedOutcomes {
    pub(super) sides: [AttributeOutcomes; 2],
    pub(super) rows: RowsOfBoth,
}

/// By model and attribute.
pub(super) type OutcomesOfBoth = BTreeMap<[String; 2], PairedOutcomes>;

/// Gathers the files of outcomes of both runs, the old one first.
pub(super) fn gather(files: [&Path; 2], asked: &GatherSettings<'_>) -> Result<OutcomesOfBoth> {
    let mut parts = OutcomesOfBoth::new();
    for (side, file) in files.into_iter().enumerate() {
        each_person(file, side, asked, |found| add(&mut parts, side, asked, found))?;
        let sides = parts.values_mut().map(|part| &mut part.sides[side]);
        sides.flat_map(|part| part.sets.values_mut()).for_each(|set| set.counts.settle());
        if !asked.scores.is_empty() {
            add_second(file, side, asked, &mut parts)?;
        }
    }
    parts.values_mut().for_each(|part| part.rows.finish());
    Ok(parts)
}

/// What a file of outcomes cannot hold as its run wrote it.
#[derive(Clone, Copy)]
enum OutcomeFault {
    /// A score that is not on the scale of its model.
    Score(f64),
    /// A weight that no run writes.
    Weight,
    /// A row without a weight, where rows have some.
    NoWeight,
    /// A row in two groups.
    TwoGroups,
}

/// The most units that a weight has, see `WeightUnit`.
const LARGEST_WEIGHT: i64 = 1 << 32;

/// Every row that weighs something, set by set.
fn each_person(
    file: &Path,
    side: usize,
    asked: &GatherSettings<'_>,
    mut each: impl FnMut(&PersonOutcomes),
) -> Result<()> {
    let mut open: Option<PersonOutcomes> = None;
    let mut damaged = None;
    read_file(file, |outcome: &OutcomeRow| {
        let groups = asked.groups.get(outcome.sensitive.as_str());
        let Some(groups) = groups.filter(|_| outcome.arm.is_empty()) else { return };
        let at = |name: &str| groups.iter().position(|group| group == name);
        let direction = at(&outcome.from_group).zip(at(&outcome.to_group));
        let Some((from, to)) = direction.filter(|(from, to)| from != to) else { return };
        let place =
            [&outcome.model, &outcome.sensitive, &outcome.counterfactual].map(|name| name.as_str());
        let is_same = |g: &PersonOutcomes| {
            g.key == outcome.row_key && g.place.iter().zip(place).all(|(mine, other)| mine == other)
        };
        let is_weight = |weight: i64| (0..=LARGEST_WEIGHT).contains(&weight);
        let is_in_two = |one: &PersonOutcomes| is_same(one) && one.person.group != from;
        let faults = [
            (!outcome.weight.is_none_or(is_weight), OutcomeFault::Weight),
            (asked.weighted && outcome.weight.is_none(), OutcomeFault::NoWeight),
            (open.as_ref().is_some_and(is_in_two), OutcomeFault::TwoGroups),
        ];
        let fault = faults.into_iter().find(|(is_met, _)| *is_met).map(|(_, fault)| fault);
        damaged = damaged.or(fault);
        // Rows of weight 0 count for nothing.
        if fault.is_some() || asked.weighted && outcome.weight == Some(0) {
            return;
        }
        let scale = asked.scales[side].get(outcome.model.as_str()).copied().unwrap_or_default();
        // Decisions without scores are counted as scores of 0 and 1.
        let mut share = |score: Option<f64>, predicted: Option<bool>| {
            let decided = predicted.map(|positive| f64::from(u8::from(positive)));
            let share = score.map(|score| scale.share(score)).or(decided);
            // Amounts are finite and have no share; the sums over shares take no others.
            let is_off = score.is_some_and(|score| !score.is_finite())
                || share.is_some_and(|share| !(0.0..=1.0).contains(&share));
            damaged = damaged.or(score.filter(|_| is_off).map(OutcomeFault::Score));
            share.filter(|_| !is_off)
        };
        if !open.as_ref().is_some_and(is_same) {
            open.iter().for_each(&mut each);
            let weight = outcome.weight.filter(|_| asked.weighted).and_then(|w| w.try_into().ok());
            open = Some(PersonOutcomes {
                place: place.map(str::to_owned),
                key: outcome.row_key,
                unit: outcome.person_key.unwrap_or(outcome.row_key),
                has_person: outcome.person_key.is_some(),
                n: groups.len(),
                person: ScoredPerson {
                    group: from,
                    label: outcome.label,
                    predicted: outcome.predicted,
                    score: share(outcome.score, outcome.predicted),
                    weight: weight.unwrap_or(1),
                },
                score: outcome.score,
                counterfactuals: Vec::new(),
                indices: Vec::new(),
            });
        }
        if let Some(open) = &mut open {
            open.counterfactuals.push(ScoredCounterfactual {
                to,
                predicted: outcome.predicted_cf,
                score: share(outcome.score_cf, outcome.predicted_cf),
                rounded: false,
                unsupported: 0,
            });
            open.indices.push(outcome.cf_index);
        }
    })?;
    if let Some(fault) = damaged {
        return Err(Error::operator(
            "use",
            file,
            match fault {
                OutcomeFault::Score(score) => {
                    format!("it holds the score {score}, which is not on the scale of its model")
                }
                OutcomeFault::Weight => "it holds a weight that no run writes".to_owned(),
                OutcomeFault::NoWeight => "it holds a row without a weight".to_owned(),
                OutcomeFault::TwoGroups => "it holds a row that is in two groups".to_owned(),
            },
            "changed after its run wrote it: use an unchanged copy, or run the job again",
        ));
    }
    open.iter().for_each(each);
    Ok(())
}

/// Adds a row of a run.
fn add(
    parts: &mut OutcomesOfBoth,
    side: usize,
    asked: &GatherSettings<'_>,
    found: &PersonOutcomes,
) {
    let PersonOutcomes { place: [model, attribute, set], key, unit, n, person, .. } = found;
    let (key, unit, n) = (*key, *unit, *n);
    let counted_by = CountingUnit { weighted: asked.weighted, persons: found.has_person };
    let nobody = || {
        let is_labelled = asked.labelled.iter().any(|[m, a, _]| [m, a] == [model, attribute]);
        let sides = asked.scales.each_ref().map(|scales| {
            let scale = scales.get(model).copied().unwrap_or_default();
            let mut factual = FactualCounts::new(n);
            factual.scores = is_labelled.then(|| LabelledScores::new(scale, counted_by));
            let digests = vec![OutcomeDigest::default(); n];
            let (person_keys, sets) = (PersonKeys::default(), BTreeMap::new());
            AttributeOutcomes { person_keys, factual, digests, sets }
        });
        PairedOutcomes { sides, rows: RowsOfBoth::new(n, counted_by) }
    };
    let both = parts.entry([model.clone(), attribute.clone()]).or_insert_with(nobody);
    let part = &mut both.sides[side];
    let is_new = part.person_keys.insert(key);
    if is_new {
        let row = (person.group, unit, person.weight);
        part.factual.add(row, person.label, person.predicted, false);
        let labelled = (person.label, found.score.unwrap_or(f64::NAN));
        part.factual.add_score(person.group, labelled, person.weight, (unit, key));
        part.digests[person.group].add(key, person, None);
    }
    let world = part.sets.entry(set.clone()).or_insert_with(|| {
        let counts = CounterfactualCounts::new(n).counted_by(counted_by);
        SetOutcomes { counts, digests: vec![OutcomeDigest::default(); n * n], second: None }
    });
    world.counts.add_person(unit, person, &found.counterfactuals);
    for moved in found.counterfactuals.iter().zip(found.indices.iter().copied()) {
        world.digests[person.group * n + moved.0.to].add(key, person, Some(moved));
    }
    match side {
        0 => both.rows.keep_old(found, is_new),
        _ => both.rows.add_new(found, is_new),
    }
}

/// Reads the file of a run again for what people add to score metrics.
fn add_second(
    file: &Path,
    side: usize,
    asked: &GatherSettings<'_>,
    parts: &mut OutcomesOfBoth,
) -> Result<()> {
    for ([model, attribute], part) in &mut *parts {
        for (set, world) in &mut part.sides[side].sets {
            if asked.scores.contains(&[model.clone(), attribute.clone(), set.clone()]) {
                let sums = world.counts.shifts_by_scope();
                world.second = Some(world.counts.second_pass().with_influences(&sums, true));
            }
        }
    }
    each_person(file, side, asked, |found| {
        let [model, attribute, set] = &found.place;
        let part = parts.get_mut(&[model.clone(), attribute.clone()]);
        let world = part.and_then(|part| part.sides[side].sets.get_mut(set));
        if let Some(second) = world.and_then(|world| world.second.as_mut()) {
            let key = match asked.people {
                ..=MAX_SINGLE_PEOPLE => found.unit,
                _ => h(0, found.unit, 0) % CROWDS,
            };
            second.add(key, &found.person, &found.counterfactuals);
        }
    })?;
    let sets = parts.values_mut().flat_map(|part| part.sides[side].sets.values_mut());
    sets.filter_map(|set| set.second.as_mut()).for_each(ShiftPass::settle);
    Ok(())
}
