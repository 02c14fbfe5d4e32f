//! The same people in two runs: values and changes from the outcomes that both keep, drawn with the same people for both.
//!
//! A person is who has the same row id; rows that are told apart by their number are the same only where both runs read the same file.
//! People who are in one run only count for that run. Memory: 16 bytes a person and model, and the blocks of the counts.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasherDefault;
use std::path::Path;

use crate::diff::Side;
use crate::error::Result;
use crate::metric::clarify::Favoured;
use crate::metric::compare::{Compared, compare_counterfactual, compare_factual};
use crate::metric::counts::{Counterfactual, CounterfactualCounts, FactualCounts, Person};
use crate::metric::measure::{Favourable, Settings};
use crate::metric::{Family, catalog};
use crate::num::hash::Mixer;
use crate::num::seed::h;
use crate::param::Count;
use crate::table::outcomes::{Outcome, read_outcomes};

/// A value as the same people give it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pair {
    pub(super) old: Option<f64>,
    pub(super) new: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) method: &'static str,
    pub(super) words: String,
    /// Whether everybody behind the value has the same outcomes in both runs.
    pub(super) identical: bool,
}

/// The key of a value by set, scope, groups and metric.
type KeyOf<'a> = dyn Fn(&str, &str, Option<usize>, Option<usize>, &str) -> [String; 10] + 'a;

/// All that is paired.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    of: BTreeMap<[String; 10], Pair>,
    /// Whether people were paired, and why or why not.
    pub(super) words: String,
    pub(super) people_in_both: u64,
}

type Keys = HashSet<u64, BuildHasherDefault<Mixer>>;

impl Pairs {
    fn none(why: impl Into<String>) -> Self {
        Pairs { words: format!("not paired: {}", why.into()), ..Pairs::default() }
    }

    pub(super) fn of(&self, key: &[&str; 10]) -> Option<&Pair> {
        self.of.get(&key.map(str::to_owned))
    }
}

/// Sums of hashes of outcomes, whatever their order: of predictions, and of scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Digest {
    predictions: [u64; 2],
    scores: [u64; 2],
}

impl Digest {
    fn add(&mut self, outcome: &Outcome<'_>, counterfactual: bool) {
        let state = |answer: Option<bool>| answer.map_or(0, |yes| 1 + u64::from(yes));
        let mut what = 3 * state(outcome.label) + state(outcome.predicted);
        let mut place = 0;
        if counterfactual {
            what = 3 * what + state(outcome.predicted_cf);
            place = 1 + outcome.cf_index.unsigned_abs();
        }
        let bits = |score: Option<f64>| score.map_or(u64::MAX, f64::to_bits);
        let scores = h(bits(outcome.score), if counterfactual { bits(outcome.score_cf) } else { 0 }, what);
        for (i, seed) in [1, 2].into_iter().enumerate() {
            self.predictions[i] = self.predictions[i].wrapping_add(h(seed, outcome.row_key, h(seed, place, what)));
            self.scores[i] = self.scores[i].wrapping_add(h(seed, outcome.row_key, h(seed, place, scores)));
        }
    }

    fn merge(&mut self, other: &Digest) {
        for i in 0..2 {
            self.predictions[i] = self.predictions[i].wrapping_add(other.predictions[i]);
            self.scores[i] = self.scores[i].wrapping_add(other.scores[i]);
        }
    }
}

/// One set under one model and attribute.
struct World {
    counts: CounterfactualCounts,
    /// By direction: from * groups + to.
    digests: Vec<Digest>,
}

/// One model and attribute.
struct Part {
    seen: Keys,
    factual: FactualCounts,
    /// By group.
    digests: Vec<Digest>,
    worlds: BTreeMap<String, World>,
}

type Parts = BTreeMap<(String, String), Part>;

/// What the two runs have in common, or in words why nothing is paired.
pub(super) fn pairs(old: &Side, new: &Side) -> Result<Pairs> {
    let (Some(old_file), Some(new_file)) = (&old.outcomes, &new.outcomes) else {
        return Ok(Pairs::none("both runs must keep outcomes (`run.keep_rows`)"));
    };
    if old.weighted || new.weighted {
        return Ok(Pairs::none("people have weights, which outcomes do not hold"));
    }
    if old.row_id != new.row_id {
        return Ok(Pairs::none(format!("rows are told apart by {} and by {}", old.row_id, new.row_id)));
    }
    if old.row_id == "row number" && old.source != new.source {
        return Ok(Pairs::none("rows are told apart by their number alone (no `data.row_id`), and the data differ"));
    }
    if old.has_label != new.has_label {
        return Ok(Pairs::none("one of the runs has no label"));
    }
    // Groups that differ have no values in common either.
    let same = |a: &Vec<String>, b: &Vec<String>| a.iter().collect::<BTreeSet<_>>() == b.iter().collect::<BTreeSet<_>>();
    let shared = new.groups.iter().filter(|(name, groups)| old.groups.get(*name).is_some_and(|other| same(groups, other)));
    let groups: BTreeMap<&str, &[String]> = shared.map(|(name, groups)| (name.as_str(), groups.as_slice())).collect();
    let [before, after] = [parts(old_file, &groups, new)?, parts(new_file, &groups, new)?];
    let (n_old, n_new, both) = meet(&before, &after);
    if both == 0 {
        return Ok(Pairs::none("no person is in both runs"));
    }
    let only = |n: u64, which: &str| if n > 0 { format!(", {n} in the {which} run only") } else { String::new() };
    let mut pairs = Pairs {
        words: format!(
            "paired: {both} {} in both runs{}{}",
            if both == 1 { "person is" } else { "people are" },
            only(n_old - both, "old"),
            only(n_new - both, "new")
        ),
        people_in_both: both,
        ..Pairs::default()
    };
    for ((model, attribute), after) in &after {
        let Some(before) = before.get(&(model.clone(), attribute.clone())) else { continue };
        let Some(groups) = groups.get(attribute.as_str()) else { continue };
        pairs.part([model, attribute], groups, new, before, after);
    }
    Ok(pairs)
}

/// People of the first, of the second, and of both.
fn meet(before: &Parts, after: &Parts) -> (u64, u64, u64) {
    let all = |parts: &Parts| parts.values().flat_map(|part| part.seen.iter().copied()).collect::<Keys>();
    let (before, after) = (all(before), all(after));
    (before.len() as u64, after.len() as u64, before.intersection(&after).count() as u64)
}

fn parts(file: &Path, groups: &BTreeMap<&str, &[String]>, side: &Side) -> Result<Parts> {
    let mut parts = Parts::new();
    read_outcomes(file, |outcome| {
        let Some(groups) = groups.get(outcome.sensitive).filter(|_| outcome.arm.is_empty()) else { return };
        let at = |name: &str| groups.iter().position(|group| group == name);
        let (Some(from), Some(to)) = (at(outcome.from_group), at(outcome.to_group)) else { return };
        if from == to {
            return;
        }
        let n = groups.len();
        // Rows of one model and attribute stand together, so this look-up rarely allocates more than its key.
        let part = parts.entry((outcome.model.to_owned(), outcome.sensitive.to_owned())).or_insert_with(|| Part {
            seen: Keys::default(),
            factual: FactualCounts::new(n, side.has_label).paired(side.seed),
            digests: vec![Digest::default(); n],
            worlds: BTreeMap::new(),
        });
        if part.seen.insert(outcome.row_key) {
            part.factual.groups[from].add(outcome.label, outcome.predicted, false);
            part.factual.add_paired(from, outcome.row_key, outcome.label, outcome.predicted);
            part.digests[from].add(&outcome, false);
        }
        let world = part.worlds.entry(outcome.counterfactual.to_owned()).or_insert_with(|| World {
            counts: CounterfactualCounts::new(n, side.has_label).paired(side.seed),
            digests: vec![Digest::default(); n * n],
        });
        let person = Person { group: from, label: outcome.label, predicted: outcome.predicted, score: outcome.score, weight: 1 };
        let counterfactual = [Counterfactual { to, predicted: outcome.predicted_cf, score: outcome.score_cf }];
        // One counterfactual at a time: cells and blocks need no more, and the number of people is not read.
        world.counts.add(&person, &counterfactual);
        world.counts.add_paired(outcome.row_key, &person, &counterfactual);
        world.digests[from * n + to].add(&outcome, true);
    })?;
    Ok(parts)
}

impl Pairs {
    fn part(&mut self, [model, attribute]: [&str; 2], groups: &[String], side: &Side, before: &Part, after: &Part) {
        let settings = Settings {
            families: vec![Family::Performance, Family::Group, Family::Ccm, Family::Eccm],
            favourable: if side.favourable_is_positive { Favourable::Positive } else { Favourable::Negative },
            favoured: Favoured::Rest,
            level: side.level,
            samples: side.samples,
            seed: side.seed,
            min_group_size: Count::ONE,
            min_denominator: Count::ONE,
        };
        let name = |group: Option<usize>| group.map_or(String::new(), |g| groups[g].clone());
        let key = |set: &str, scope: &str, from: Option<usize>, to: Option<usize>, metric: &str| {
            ["", model, set, attribute, scope, &name(from), &name(to), "", "", metric].map(str::to_owned)
        };
        let mut keep = |set: &str, compared: Vec<Compared>| {
            for found in compared {
                let pair = Pair {
                    new: found.first.ok(),
                    old: found.second.ok(),
                    interval: found.interval.map(|i| (i.lo, i.hi)),
                    method: found.interval.map_or("", |i| i.method.as_str()),
                    words: found.ci_method.replace("the same for both models", "the same for both runs"),
                    identical: false,
                };
                self.of.insert(key(set, found.scope.as_str(), found.scope.from_group(), found.scope.to_group(), found.metric.id), pair);
            }
        };
        keep("", compare_factual(&after.factual, &before.factual, &settings));
        for (set, world) in &after.worlds {
            if let Some(other) = before.worlds.get(set) {
                keep(set, compare_counterfactual(&world.counts, &other.counts, &settings));
            }
        }
        self.identical(&key, groups.len(), before, after);
    }

    /// Marks every value behind which nobody's outcomes differ.
    fn identical(&mut self, key: &KeyOf<'_>, n: usize, before: &Part, after: &Part) {
        let mut mark = |set: &str, scope: &str, from: Option<usize>, to: Option<usize>, families: &[Family]| {
            for metric in catalog().filter(|metric| families.contains(&metric.family)) {
                self.of.entry(key(set, scope, from, to, metric.id)).or_default().identical = true;
            }
        };
        let one = |g: usize| before.digests[g].predictions == after.digests[g].predictions;
        let all = (0..n).all(one);
        for a in 0..n {
            if one(a) {
                mark("", "group", Some(a), None, &[Family::Performance]);
            }
            for b in (0..n).filter(|b| *b != a && one(*b) && one(a)) {
                mark("", "pair", Some(a), Some(b), &[Family::Group]);
            }
            if all {
                mark("", "one_vs_rest", Some(a), None, &[Family::Group]);
            }
        }
        if all {
            mark("", "total", None, None, &[Family::Performance, Family::Group, Family::Clarify]);
            mark("", "worst_case", None, None, &[Family::Group]);
        }
        for (set, after) in &after.worlds {
            let Some(before) = before.worlds.get(set) else { continue };
            let sum = |world: &World, holds: &dyn Fn(usize, usize) -> bool| {
                let mut sum = Digest::default();
                (0..n * n).filter(|i| holds(i / n, i % n)).for_each(|i| sum.merge(&world.digests[i]));
                sum
            };
            let families = |holds: &dyn Fn(usize, usize) -> bool| {
                let (old, new) = (sum(before, holds), sum(after, holds));
                match (old.predictions == new.predictions, old.scores == new.scores) {
                    (_, true) => vec![Family::Ccm, Family::Eccm, Family::Shift],
                    (true, false) => vec![Family::Ccm, Family::Eccm],
                    (false, false) => Vec::new(),
                }
            };
            for a in 0..n {
                for b in (0..n).filter(|b| *b != a) {
                    mark(set, "direction", Some(a), Some(b), &families(&|from, to| (from, to) == (a, b)));
                    mark(set, "difference", Some(a), Some(b), &families(&|from, to| (from, to) == (a, b) || (from, to) == (b, a)));
                }
                mark(set, "one_to_rest", Some(a), None, &families(&|from, _| from == a));
                mark(set, "rest_to_one", None, Some(a), &families(&|_, to| to == a));
            }
            mark(set, "total", None, None, &families(&|_, _| true));
        }
    }
}
