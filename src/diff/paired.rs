//! The same people in two runs: values and changes from the outcomes that both keep, drawn with the same people for both.
//!
//! A person is who has the same row id; rows that are told apart by their number are the same only where both runs read the same file.
//! People who are in one run only count for that run.

use std::collections::{BTreeMap, BTreeSet};

use crate::diff::Side;
use crate::diff::people::{Asked, Digest, Keys, Part, Parts, Place, Scores, World, gather};
use crate::error::Result;
use crate::metric::clarify::Favoured;
use crate::metric::compare::{Compared, change_counterfactual, change_factual};
use crate::metric::measure::{Favourable, Settings};
use crate::metric::redraw::Redraw;
use crate::metric::redraw::changes::changes;
use crate::metric::{Family, catalog};
use crate::param::Count;
use crate::table::Frame;

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

impl Pairs {
    fn none(why: impl Into<String>) -> Self {
        Pairs { words: format!("not paired: {}", why.into()), ..Pairs::default() }
    }

    pub(super) fn of(&self, key: &[&str; 10]) -> Option<&Pair> {
        self.of.get(&key.map(str::to_owned))
    }
}

/// What the two runs have in common, or in words why nothing is paired.
pub(super) fn pairs(old: &Side, new: &Side) -> Result<Pairs> {
    let (Some(old_file), Some(new_file)) = (&old.outcomes, &new.outcomes) else {
        return Ok(Pairs::none("both runs must keep outcomes (`run.keep_rows`)"));
    };
    if old.weighted != new.weighted {
        return Ok(Pairs::none("people have weights in one of the runs only"));
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
    let scores: BTreeSet<Place> = with_scores(&old.metrics).intersection(&with_scores(&new.metrics)).cloned().collect();
    let people = old.rows.max(new.rows);
    let asked = Asked { groups: &groups, weighed: new.weighted, seed: new.seed, scores: &scores, people };
    let (Some(before), Some(after)) = (gather(old_file, &asked)?, gather(new_file, &asked)?) else {
        return Ok(Pairs::none("people have weights, which outcomes of an older version do not hold"));
    };
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

/// Models, attributes and sets whose score metrics a run has.
fn with_scores(metrics: &Frame) -> BTreeSet<Place> {
    let rows = metrics.records().filter(|row| {
        row.text("family") == Family::Shift.as_str() && ["arm", "slice", "class"].iter().all(|column| row.text(column).is_empty())
    });
    rows.map(|row| ["model", "sensitive", "counterfactual"].map(|column| row.text(column).to_owned())).collect()
}

/// People of the first, of the second, and of both.
fn meet(before: &Parts, after: &Parts) -> (u64, u64, u64) {
    let all = |parts: &Parts| parts.values().flat_map(|part| part.seen.iter().copied()).collect::<Keys>();
    let (before, after) = (all(before), all(after));
    (before.len() as u64, after.len() as u64, before.intersection(&after).count() as u64)
}

impl Pairs {
    fn part(&mut self, [model, attribute]: [&str; 2], groups: &[String], side: &Side, before: &Part, after: &Part) {
        let settings = Settings {
            families: vec![Family::Performance, Family::Group, Family::Ccm, Family::Eccm, Family::Shift],
            favourable: if side.favourable_is_positive { Favourable::Positive } else { Favourable::Negative },
            says_favourable: side.says_favourable,
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
        keep("", change_factual(&after.factual, &before.factual, &settings));
        for (set, world) in &after.worlds {
            if let Some(other) = before.worlds.get(set) {
                keep(set, change_counterfactual(&world.counts, &other.counts, &settings));
                // Where no score differs nothing needs to be drawn.
                if world.digests != other.digests {
                    keep(set, of_scores(world, other, &settings));
                }
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
                let of_predictions = [Family::Ccm, Family::Eccm].into_iter().filter(|_| old.predictions == new.predictions);
                of_predictions.chain((old.scores == new.scores).then_some(Family::Shift)).collect::<Vec<_>>()
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

/// The changes of score metrics; none where no scores were gathered.
fn of_scores(after: &World, before: &World, settings: &Settings) -> Vec<Compared> {
    let (new, old) = (&after.counts, &before.counts);
    match (&after.scores, &before.scores) {
        (Scores::People(after), Scores::People(before)) => {
            let (second, other) = (after.second_pass(new), before.second_pass(old));
            let draw = |pairs, second| Redraw::of_people(pairs, second, settings.samples, settings.seed);
            changes((&draw(after, &second), new), (&draw(before, &other), old), settings)
        }
        (Scores::Blocks(after), Scores::Blocks(before)) => {
            let (second, other) = (after.second_pass(new), before.second_pass(old));
            let draw = |blocks, second| Redraw::of_blocks(blocks, second, settings.seed);
            changes((&draw(after, &second), new), (&draw(before, &other), old), settings)
        }
        _ => Vec::new(),
    }
}
