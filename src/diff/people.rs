//! The outcomes of one run, gathered person by person: the counts that changes are drawn from, the scores, and what tells whether anybody's
//! outcome differs.
//!
//! Counterfactuals of a person stand together in the file, so that they are gathered as a run counts them. Scores are kept pair by pair up to
//! [`PEOPLE_AT_MOST`] people; beyond, the file is read twice, because blocks need the sums of all scores first. Memory: 16 bytes a person and
//! model, 40 bytes a pair of scores that is kept, two kilobytes a block.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasherDefault;
use std::path::Path;

use crate::error::Result;
use crate::metric::counts::{Counterfactual, CounterfactualCounts, FactualCounts, Person};
use crate::metric::redraw::{Blocks, PEOPLE_AT_MOST, Pairs};
use crate::num::hash::Mixer;
use crate::num::seed::h;
use crate::param::Seed;
use crate::table::outcomes::{Outcome, read_outcomes};

/// Keys of people.
pub(super) type Keys = HashSet<u64, BuildHasherDefault<Mixer>>;

/// Model, attribute and set.
pub(super) type Place = [String; 3];

/// What is gathered.
#[derive(Debug, Clone)]
pub(super) struct Asked<'a> {
    /// The groups of each attribute, reference first.
    pub(super) groups: &'a BTreeMap<&'a str, &'a [String]>,
    pub(super) weighed: bool,
    /// Cuts people into blocks: the same for both runs.
    pub(super) seed: Seed,
    /// Where scores are wanted too.
    pub(super) scores: &'a BTreeSet<Place>,
    /// People audited, of the larger run: both are drawn in the same way.
    pub(super) people: u64,
}

/// Sums of hashes of outcomes, whatever their order: of predictions, and of scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Digest {
    pub(super) predictions: [u64; 2],
    pub(super) scores: [u64; 2],
}

impl Digest {
    /// Adds a person as they are, or one of their counterfactuals with its number.
    fn add(&mut self, key: u64, person: &Person, moved: Option<(&Counterfactual, i64)>) {
        let state = |answer: Option<bool>| answer.map_or(0, |yes| 1 + u64::from(yes));
        let bits = |score: Option<f64>| score.map_or(u64::MAX, f64::to_bits);
        let mut what = 3 * state(person.label) + state(person.predicted);
        let (mut place, mut score_cf) = (0, 0);
        if let Some((counterfactual, index)) = moved {
            what = 3 * what + state(counterfactual.predicted);
            place = 1 + index.unsigned_abs();
            score_cf = bits(counterfactual.score);
        }
        let what = h(person.weight, what, 1);
        let scores = h(bits(person.score), score_cf, h(person.weight, 0, 0));
        for (i, seed) in [1, 2].into_iter().enumerate() {
            self.predictions[i] = self.predictions[i].wrapping_add(h(seed, key, h(seed, place, what)));
            self.scores[i] = self.scores[i].wrapping_add(h(seed, key, h(seed, place, scores)));
        }
    }

    pub(super) fn merge(&mut self, other: &Digest) {
        for i in 0..2 {
            self.predictions[i] = self.predictions[i].wrapping_add(other.predictions[i]);
            self.scores[i] = self.scores[i].wrapping_add(other.scores[i]);
        }
    }
}

/// The scores of one set.
pub(super) enum Scores {
    NotAsked,
    People(Pairs),
    Blocks(Blocks),
}

/// One set under one model and attribute.
pub(super) struct World {
    pub(super) counts: CounterfactualCounts,
    /// By direction: from * groups + to.
    pub(super) digests: Vec<Digest>,
    pub(super) scores: Scores,
}

/// One model and attribute.
pub(super) struct Part {
    pub(super) seen: Keys,
    pub(super) factual: FactualCounts,
    /// By group.
    pub(super) digests: Vec<Digest>,
    /// By set.
    pub(super) worlds: BTreeMap<String, World>,
}

/// By model and attribute.
pub(super) type Parts = BTreeMap<(String, String), Part>;

/// A person with all their counterfactuals of one set under one model.
struct Gathered {
    place: Place,
    key: u64,
    /// Groups of the attribute.
    n: usize,
    person: Person,
    counterfactuals: Vec<Counterfactual>,
    /// Their numbers.
    indices: Vec<i64>,
    has_weight: bool,
}

/// Gathers a file of outcomes; none where weights are asked for and it has none.
pub(super) fn gather(file: &Path, asked: &Asked<'_>) -> Result<Option<Parts>> {
    let (mut parts, mut complete) = (Parts::new(), true);
    each_person(file, asked, |found| {
        complete &= found.has_weight || !asked.weighed;
        add(&mut parts, asked, found);
    })?;
    if complete && asked.people > PEOPLE_AT_MOST {
        fill_blocks(file, asked, &mut parts)?;
    }
    Ok(complete.then_some(parts))
}

fn each_person(file: &Path, asked: &Asked<'_>, mut each: impl FnMut(&Gathered)) -> Result<()> {
    let mut open: Option<Gathered> = None;
    read_outcomes(file, |outcome: Outcome<'_>| {
        let Some(groups) = asked.groups.get(outcome.sensitive).filter(|_| outcome.arm.is_empty()) else { return };
        let at = |name: &str| groups.iter().position(|group| group == name);
        let (Some(from), Some(to)) = (at(outcome.from_group), at(outcome.to_group)) else { return };
        if from == to {
            return;
        }
        let place = [outcome.model, outcome.sensitive, outcome.counterfactual];
        let is_same = |g: &Gathered| g.key == outcome.row_key && g.place.iter().zip(place).all(|(mine, other)| mine == other);
        if !open.as_ref().is_some_and(is_same) {
            open.iter().for_each(&mut each);
            let weight = outcome.weight.filter(|_| asked.weighed);
            open = Some(Gathered {
                place: place.map(str::to_owned),
                key: outcome.row_key,
                n: groups.len(),
                person: Person {
                    group: from,
                    label: outcome.label,
                    predicted: outcome.predicted,
                    score: outcome.score,
                    weight: weight.unwrap_or(1),
                },
                counterfactuals: Vec::new(),
                indices: Vec::new(),
                has_weight: weight.is_some(),
            });
        }
        if let Some(open) = &mut open {
            open.counterfactuals.push(Counterfactual { to, predicted: outcome.predicted_cf, score: outcome.score_cf });
            open.indices.push(outcome.cf_index);
        }
    })?;
    open.iter().for_each(each);
    Ok(())
}

fn add(parts: &mut Parts, asked: &Asked<'_>, found: &Gathered) {
    let Gathered { place: [model, attribute, set], key, n, person, counterfactuals, indices, .. } = found;
    let (key, n) = (*key, *n);
    let factual = || {
        let counts = FactualCounts::new(n);
        if asked.weighed { counts.weighed(asked.seed) } else { counts.paired(asked.seed) }
    };
    let part = parts.entry((model.clone(), attribute.clone())).or_insert_with(|| Part {
        seen: Keys::default(),
        factual: factual(),
        digests: vec![Digest::default(); n],
        worlds: BTreeMap::new(),
    });
    if part.seen.insert(key) {
        part.factual.groups[person.group].add(person.label, person.predicted, false);
        part.factual.add_weight(person.group, key, person.weight, person.label, person.predicted);
        part.factual.add_paired(person.group, key, person.label, person.predicted);
        part.digests[person.group].add(key, person, None);
    }
    let world = part.worlds.entry(set.clone()).or_insert_with(|| {
        let counts = CounterfactualCounts::new(n);
        let counts = if asked.weighed { counts.weighed(asked.seed) } else { counts.paired(asked.seed) };
        let one_by_one = asked.people <= PEOPLE_AT_MOST && asked.scores.contains(&found.place);
        let scores = if one_by_one { Scores::People(Pairs::new(&counts)) } else { Scores::NotAsked };
        World { counts, digests: vec![Digest::default(); n * n], scores }
    });
    world.counts.add(person, counterfactuals);
    world.counts.add_weight(key, person, counterfactuals);
    world.counts.add_paired(key, person, counterfactuals);
    if let Scores::People(pairs) = &mut world.scores {
        pairs.add(key, person, counterfactuals);
    }
    for (counterfactual, index) in counterfactuals.iter().zip(indices) {
        world.digests[person.group * n + counterfactual.to].add(key, person, Some((counterfactual, *index)));
    }
}

/// Reads the file again for the scores of people who are too many to be kept.
fn fill_blocks(file: &Path, asked: &Asked<'_>, parts: &mut Parts) -> Result<()> {
    for ((model, attribute), part) in &mut *parts {
        for (set, world) in &mut part.worlds {
            if asked.scores.contains(&[model.clone(), attribute.clone(), set.clone()]) {
                world.scores = Scores::Blocks(Blocks::new(&world.counts, asked.seed));
            }
        }
    }
    each_person(file, asked, |found| {
        let [model, attribute, set] = &found.place;
        let world = parts.get_mut(&(model.clone(), attribute.clone())).and_then(|part| part.worlds.get_mut(set));
        if let Some(Scores::Blocks(blocks)) = world.map(|world| &mut world.scores) {
            blocks.add(found.key, &found.person, &found.counterfactuals);
        }
    })
}
