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

/// Model, attribute and set.
pub(super) type OutcomeSetKey = [String; 3];

/// What is gathered.
#[derive(Debug, Clone)]
pub(super) struct GatherSettings<'a> {
    /// The groups of each attribute, reference first.
    pub(super) groups: &'a BTreeMap<&'a str, Vec<String>>,
    pub(super) weighted: bool,
    /// Where scores are wanted too.
    pub(super) scores: &'a BTreeSet<OutcomeSetKey>,
    /// Models and attributes of which scores with labels are wanted.
    pub(super) labelled: &'a BTreeSet<[String; 2]>,
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

    /// Adds other outcomes, in any order.
    pub(super) fn merge(&mut self, other: &OutcomeDigest) {
        for i in 0..2 {
            self.predictions[i] = self.predictions[i].wrapping_add(other.predictions[i]);
            self.scores[i] = self.scores[i].wrapping_add(other.scores[i]);
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

/// One model and attribute.
pub(super) struct AttributeOutcomes {
    pub(super) person_keys: PersonKeys,
    pub(super) factual: FactualCounts,
    /// By group.
    pub(super) digests: Vec<OutcomeDigest>,
    /// By set.
    pub(super) sets: BTreeMap<String, SetOutcomes>,
}

/// By model and attribute.
pub(super) type RunOutcomes = BTreeMap<(String, String), AttributeOutcomes>;

/// A person with all their counterfactuals of one set under one model.
pub(super) struct PersonOutcomes {
    pub(super) place: OutcomeSetKey,
    pub(super) key: u64,
    /// Whose row it is; the row itself where each row is a person.
    pub(super) unit: u64,
    pub(super) has_person: bool,
    /// Groups of the attribute.
    pub(super) n: usize,
    pub(super) person: ScoredPerson,
    /// The score in the numbers of its scale.
    pub(super) score: Option<f64>,
    pub(super) counterfactuals: Vec<ScoredCounterfactual>,
    /// Their numbers.
    pub(super) indices: Vec<i64>,
}

/// By model the scale of its scores, where these are not probabilities.
type ScoreScales = BTreeMap<String, ScoreScale>;

/// Gathers a file of outcomes.
///
/// `scales` are those of the scores of models, where these are not probabilities. `pass_on` gets
/// every row that weighs something, set by set, and whether it is met for the first time under its
/// model and attribute.
pub(super) fn gather(
    file: &Path,
    scales: &ScoreScales,
    asked: &GatherSettings<'_>,
    mut pass_on: impl FnMut(&PersonOutcomes, bool),
) -> Result<RunOutcomes> {
    let mut parts = RunOutcomes::new();
    each_person(file, scales, asked, |found| {
        // Rows of weight 0 count for nothing.
        if found.person.weight > 0 {
            pass_on(found, add(&mut parts, scales, asked, found));
        }
    })?;
    let sets = parts.values_mut().flat_map(|part| part.sets.values_mut());
    sets.for_each(|set| set.counts.settle());
    if !asked.scores.is_empty() {
        add_second(file, scales, asked, &mut parts)?;
    }
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

fn each_person(
    file: &Path,
    scales: &ScoreScales,
    asked: &GatherSettings<'_>,
    mut each: impl FnMut(&PersonOutcomes),
) -> Result<()> {
    let mut open: Option<PersonOutcomes> = None;
    // Scores are shares of a scale; the sums over them take no others.
    let mut outside = None;
    let mut damaged = None;
    read_file(file, |outcome: &OutcomeRow| {
        let Some(groups) =
            asked.groups.get(outcome.sensitive.as_str()).filter(|_| outcome.arm.is_empty())
        else {
            return;
        };
        let at = |name: &str| groups.iter().position(|group| group == name);
        let (Some(from), Some(to)) = (at(&outcome.from_group), at(&outcome.to_group)) else {
            return;
        };
        if from == to {
            return;
        }
        let scale = scales.get(outcome.model.as_str()).copied().unwrap_or_default();
        // Decisions without scores are counted as scores of 0 and 1.
        let mut share = |score: Option<f64>, predicted: Option<bool>| {
            let decided = predicted.map(|positive| f64::from(u8::from(positive)));
            let share = score.map(|score| scale.share(score)).or(decided);
            // Amounts are finite and have no share.
            let is_off = score.is_some_and(|score| !score.is_finite())
                || share.is_some_and(|share| !(0.0..=1.0).contains(&share));
            if is_off {
                outside = outside.or(score);
            }
            share.filter(|_| !is_off)
        };
        let place =
            [&outcome.model, &outcome.sensitive, &outcome.counterfactual].map(|name| name.as_str());
        let is_same = |g: &PersonOutcomes| {
            g.key == outcome.row_key && g.place.iter().zip(place).all(|(mine, other)| mine == other)
        };
        if outcome.weight.is_some_and(|weight| !(0..=LARGEST_WEIGHT).contains(&weight)) {
            damaged = damaged.or(Some(OutcomeFault::Weight));
            return;
        }
        if asked.weighted && outcome.weight.is_none() {
            damaged = damaged.or(Some(OutcomeFault::NoWeight));
            return;
        }
        if open.as_ref().is_some_and(|one| is_same(one) && one.person.group != from) {
            damaged = damaged.or(Some(OutcomeFault::TwoGroups));
            return;
        }
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
    if let Some(fault) = outside.map(OutcomeFault::Score).or(damaged) {
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

/// Adds a row; whether it is met for the first time under its model and attribute.
fn add(
    parts: &mut RunOutcomes,
    scales: &ScoreScales,
    asked: &GatherSettings<'_>,
    found: &PersonOutcomes,
) -> bool {
    let PersonOutcomes {
        place: [model, attribute, set],
        key,
        unit,
        has_person,
        n,
        person,
        score,
        counterfactuals,
        indices,
        ..
    } = found;
    let (key, unit, n) = (*key, *unit, *n);
    let nobody = || {
        let basis = CountingUnit { weighted: asked.weighted, persons: *has_person };
        let scale = scales.get(model).copied().unwrap_or_default();
        let is_labelled = asked.labelled.contains(&[model.clone(), attribute.clone()]);
        let scores = is_labelled.then(|| LabelledScores::new(scale, basis));
        let mut factual = FactualCounts::new(n);
        factual.scores = scores;
        let (person_keys, sets) = (PersonKeys::default(), BTreeMap::new());
        AttributeOutcomes { person_keys, factual, digests: vec![OutcomeDigest::default(); n], sets }
    };
    let part = parts.entry((model.clone(), attribute.clone())).or_insert_with(nobody);
    let is_new = part.person_keys.insert(key);
    if is_new {
        let row = (person.group, unit, person.weight);
        part.factual.add(row, person.label, person.predicted, false);
        let labelled = (person.label, score.unwrap_or(f64::NAN));
        part.factual.add_score(person.group, labelled, person.weight, (unit, key));
        part.digests[person.group].add(key, person, None);
    }
    let world = part.sets.entry(set.clone()).or_insert_with(|| {
        let unit = CountingUnit { weighted: asked.weighted, persons: *has_person };
        let counts = CounterfactualCounts::new(n).counted_by(unit);
        SetOutcomes { counts, digests: vec![OutcomeDigest::default(); n * n], second: None }
    });
    world.counts.add_person(unit, person, counterfactuals);
    for (counterfactual, index) in counterfactuals.iter().zip(indices) {
        world.digests[person.group * n + counterfactual.to].add(
            key,
            person,
            Some((counterfactual, *index)),
        );
    }
    is_new
}

/// Reads the file again for what people add to score metrics.
fn add_second(
    file: &Path,
    scales: &ScoreScales,
    asked: &GatherSettings<'_>,
    parts: &mut RunOutcomes,
) -> Result<()> {
    for ((model, attribute), part) in &mut *parts {
        for (set, world) in &mut part.sets {
            if asked.scores.contains(&[model.clone(), attribute.clone(), set.clone()]) {
                let sums = world.counts.shifts_by_scope();
                world.second = Some(world.counts.second_pass().with_influences(&sums, true));
            }
        }
    }
    each_person(file, scales, asked, |found| {
        let [model, attribute, set] = &found.place;
        let world = parts
            .get_mut(&(model.clone(), attribute.clone()))
            .and_then(|part| part.sets.get_mut(set));
        let second = world.and_then(|world| world.second.as_mut());
        // Rows of weight 0 count for nothing.
        if let Some(second) = second.filter(|_| found.person.weight > 0) {
            let key = match asked.people {
                ..=MAX_SINGLE_PEOPLE => found.unit,
                _ => h(0, found.unit, 0) % CROWDS,
            };
            second.add(key, &found.person, &found.counterfactuals);
        }
    })?;
    let sets = parts.values_mut().flat_map(|part| part.sets.values_mut());
    sets.filter_map(|set| set.second.as_mut()).for_each(ShiftPass::settle);
    Ok(())
}
