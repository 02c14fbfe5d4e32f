//! The same people in two runs: values and changes from the outcomes that both keep.
//!
//! Rows with the same row id are the same person; rows that are distinguished by their number are
//! the same only where both runs read the same file. People who are in only one run count for that
//! run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::diff::compared_run::ComparedRun;
use crate::diff::people::{
    AttributeOutcomes, GatherSettings, OutcomeDigest, OutcomeSetKey, PersonKeys, RunOutcomes,
    SetOutcomes, gather,
};
use crate::diff::rows_of_both::{BothRuns, RowsOfBoth, add_new, keep_old};
use crate::diff::words::said;
use crate::error::Result;
use crate::folder::manifest::Manifest;
use crate::metric::MetricFamily;
use crate::metric::catalog::catalog;
use crate::metric::scope::MetricScope;
use crate::metric::value::compare::{ComparedValue, compare_rows, compare_switches};
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::paired_scores::changes;
use crate::metric::value::scores::RowsOf;
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::param::Count;
use crate::table::{AuditKey, MetricRow, SharedText};

/// A value as the same people give it.
#[derive(Debug, Clone, Default)]
pub(super) struct PairedValue {
    /// That of the new run first; none where there are only digests of it.
    pub(super) compared: Option<ComparedValue>,
    /// Whether everybody behind the value has the same outcomes in both runs.
    pub(super) identical: bool,
}

/// What distinguishes values: what they belong to, their class and their metric.
pub(super) type ValueKey = (AuditKey, SharedText, SharedText);

/// The key of a value by set, scope and metric.
type ValueKeyFn<'a> = dyn Fn(&str, MetricScope, &str) -> ValueKey + 'a;

/// All values that are paired.
#[derive(Debug, Default)]
pub(super) struct PairedValues {
    values: BTreeMap<ValueKey, PairedValue>,
    /// Whether people were paired, and why or why not.
    pub(super) words: String,
    pub(super) people_in_both: u64,
}

/// Whether people were paired, else why not.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Pairing<'a> {
    /// A run keeps no outcomes.
    NoOutcomes,
    /// Outcomes are amounts.
    Amounts,
    /// People have weights in one run only.
    Weights,
    /// A person may have several rows in one run only.
    Persons,
    /// What identifies rows, in the old run and in the new one.
    RowIds([&'a str; 2]),
    /// Only numbers identify rows, and the data differ.
    RowNumbers,
    /// One run has no label.
    Label,
    /// No person is in both runs.
    Nobody,
    /// This many people, or rows, are in both runs.
    Paired { both: u64, rows: bool, only_old: u64, only_new: u64 },
}

impl PairedValues {
    fn unpaired(why: &Pairing<'_>) -> Self {
        PairedValues { words: said("pairing", why), ..PairedValues::default() }
    }

    /// The values of a key in both runs, where people were paired for it.
    pub(super) fn of(&self, key: &ValueKey) -> Option<&PairedValue> {
        self.values.get(key)
    }
}

/// What the two runs have in common, or in words why nothing is paired.
pub(super) fn pair_values(old: &ComparedRun, new: &ComparedRun) -> Result<PairedValues> {
    let (Some(old_file), Some(new_file)) = (&old.outcomes, &new.outcomes) else {
        return Ok(PairedValues::unpaired(&Pairing::NoOutcomes));
    };
    let by_number = !old.values.contains_key(&["data", "row_id"].map(str::to_owned)[..]);
    let sides = [&old.manifest, &new.manifest];
    let ids = sides.map(|of| of.row_id.as_str());
    let differ = |has: fn(&Manifest) -> bool| has(sides[0]) != has(sides[1]);
    let weighted = new.manifest.weight.is_some();
    let obstacles = [
        (sides.iter().any(|of| of.amounts().is_some()), Pairing::Amounts),
        (differ(|of| of.weight.is_some()), Pairing::Weights),
        (differ(|of| of.person.is_some()), Pairing::Persons),
        (ids[0] != ids[1], Pairing::RowIds(ids)),
        (by_number && old.source != new.source, Pairing::RowNumbers),
        (differ(|of| of.label.is_some()), Pairing::Label),
    ];
    if let Some((_, why)) = obstacles.iter().find(|(is_met, _)| *is_met) {
        return Ok(PairedValues::unpaired(why));
    }
    // Different groups have no values in common either.
    let same = |a: &Vec<String>, b: &Vec<String>| {
        a.iter().collect::<BTreeSet<_>>() == b.iter().collect::<BTreeSet<_>>()
    };
    let (old_groups, mut groups) = (old.groups(), new.groups());
    groups.retain(|name, groups| old_groups.get(name).is_some_and(|other| same(groups, other)));
    let scores: BTreeSet<OutcomeSetKey> = sets_with_scores(&old.metrics)
        .intersection(&sets_with_scores(&new.metrics))
        .cloned()
        .collect();
    let labelled: BTreeSet<[String; 2]> = labelled_models(&old.metrics)
        .intersection(&labelled_models(&new.metrics))
        .cloned()
        .collect();
    let people = sides.map(|of| of.rows.audited).into_iter().max().unwrap_or(0);
    let asked =
        GatherSettings { groups: &groups, weighted, scores: &scores, labelled: &labelled, people };
    let mut both = BothRuns::new();
    let before = gather(old_file, &old.scales(), &asked, |found, is_new| {
        keep_old(&mut both, found, is_new, asked.weighted);
    })?;
    let after = gather(new_file, &new.scales(), &asked, |found, is_new| {
        add_new(&mut both, found, is_new, asked.weighted);
    })?;
    both.values_mut().for_each(RowsOfBoth::finish);
    let rows = both;
    let (n_old, n_new, both) = count_shared_people(&before, &after);
    if both == 0 {
        return Ok(PairedValues::unpaired(&Pairing::Nobody));
    }
    let (only_old, only_new) = (n_old - both, n_new - both);
    let rows_are_units = new.manifest.person.is_some();
    let paired = Pairing::Paired { both, rows: rows_are_units, only_old, only_new };
    let mut pairs = PairedValues {
        words: said("pairing", &paired),
        people_in_both: both,
        ..PairedValues::default()
    };
    for ((model, attribute), after) in &after {
        let Some(before) = before.get(&(model.clone(), attribute.clone())) else { continue };
        let Some(groups) = groups.get(attribute.as_str()) else { continue };
        let Some(rows) = rows.get(&(model.clone(), attribute.clone())) else { continue };
        pairs.add_attribute([model, attribute], (groups, &new.manifest), rows, [before, after]);
    }
    Ok(pairs)
}

/// The values of a family of all people in the plain audit.
fn values_of(metrics: &[MetricRow], family: MetricFamily) -> impl Iterator<Item = &MetricRow> {
    metrics.iter().filter(move |row| {
        row.family.as_str() == family.as_str()
            && [&row.key.arm, &row.key.slice, &row.class]
                .iter()
                .all(|text| text.as_str().is_empty())
    })
}

/// Models, attributes and sets whose score metrics a run has.
fn sets_with_scores(metrics: &[MetricRow]) -> BTreeSet<OutcomeSetKey> {
    let key = |row: &MetricRow| {
        [&row.key.model, &row.key.sensitive, &row.key.counterfactual]
            .map(|text| text.as_str().to_owned())
    };
    values_of(metrics, MetricFamily::Shift).map(key).collect()
}

/// Models and attributes of which a run measures scores as such.
fn labelled_models(metrics: &[MetricRow]) -> BTreeSet<[String; 2]> {
    let key =
        |row: &MetricRow| [&row.key.model, &row.key.sensitive].map(|text| text.as_str().to_owned());
    values_of(metrics, MetricFamily::Scores).map(key).collect()
}

/// People of the first, of the second, and of both.
fn count_shared_people(before: &RunOutcomes, after: &RunOutcomes) -> (u64, u64, u64) {
    let all = |parts: &RunOutcomes| {
        parts.values().flat_map(|part| part.person_keys.iter().copied()).collect::<PersonKeys>()
    };
    let (before, after) = (all(before), all(after));
    (before.len() as u64, after.len() as u64, before.intersection(&after).count() as u64)
}

impl PairedValues {
    fn add_attribute(
        &mut self,
        [model, attribute]: [&str; 2],
        (groups, manifest): (&[String], &Manifest),
        rows: &RowsOfBoth,
        [before, after]: [&AttributeOutcomes; 2],
    ) {
        let settings = MeasureSettings {
            families: vec![
                MetricFamily::Performance,
                MetricFamily::Group,
                MetricFamily::Ccm,
                MetricFamily::Eccm,
                MetricFamily::Shift,
                MetricFamily::Scores,
            ],
            favourable: match manifest.favourable_is_positive() {
                Some(false) => FavourableClass::Negative,
                Some(true) | None => FavourableClass::Positive,
            },
            favourable_stated: manifest.favourable_is_positive().is_some(),
            favoured: FavouredGroups::Rest,
            level: Some(manifest.level),
            min_group_size: Count::ONE,
            min_denominator: Count::ONE,
        };
        let name = |group: Option<usize>| group.map_or("", |g| &groups[g]).into();
        let key = |set: &str, scope: MetricScope, metric: &str| {
            let key = AuditKey {
                model: model.into(),
                counterfactual: set.into(),
                sensitive: attribute.into(),
                scope: scope.as_str().into(),
                from_group: name(scope.first_group()),
                to_group: name(scope.second_group()),
                ..AuditKey::default()
            };
            (key, SharedText::default(), metric.into())
        };
        let mut keep = |set: &str, compared: Vec<ComparedValue>| {
            for found in compared {
                let key = key(set, found.scope, found.metric.id);
                self.values.insert(key, PairedValue { compared: Some(found), identical: false });
            }
        };
        let factual = [&after.factual, &before.factual];
        keep("", compare_rows(&rows.rows, &settings));
        let context = MeasureContext::new(&settings);
        keep("", context.compare_scores(factual, RowsOf::Each));
        for (set, world) in &after.sets {
            if let Some(other) = before.sets.get(set) {
                if let Some(rows) = rows.sets.get(set) {
                    keep(set, compare_switches(rows, &settings));
                }
                // If no score differs, nothing needs to be computed.
                if world.digests != other.digests {
                    keep(set, score_changes(world, other, &settings));
                }
            }
        }
        self.mark_identical(&key, groups.len(), [before, after]);
    }

    /// Marks every value whose people all have the same outcomes in both runs.
    fn mark_identical(
        &mut self,
        key: &ValueKeyFn<'_>,
        n: usize,
        [before, after]: [&AttributeOutcomes; 2],
    ) {
        use MetricFamily::{Ccm, Clarify, Eccm, Group, Performance, Scores, Shift};
        let mut mark = |set: &str, scope: MetricScope, families: &[MetricFamily]| {
            for metric in catalog().filter(|metric| families.contains(&metric.family)) {
                self.values.entry(key(set, scope, metric.id)).or_default().identical = true;
            }
        };
        let all: Vec<usize> = (0..n).collect();
        let pairs = || (0..n * n).map(|i| (i / n, i % n)).filter(|(a, b)| a != b);
        // The scopes of values of people as they are, the people behind them, and the families of
        // such values that depend only on decisions.
        let mut places: Vec<(MetricScope, Vec<usize>, &[MetricFamily])> = vec![
            (MetricScope::Total, all.clone(), &[Performance, Group, Clarify]),
            (MetricScope::WorstCase, all.clone(), &[Group]),
        ];
        for a in 0..n {
            places.push((MetricScope::Group(a), vec![a], &[Performance]));
            places.push((MetricScope::OneVsRest(a), all.clone(), &[Group]));
        }
        for (a, b) in pairs() {
            places.push((MetricScope::Pair(a, b), vec![a, b], &[Group]));
            places.push((MetricScope::Direction(a, b), vec![a, b], &[]));
        }
        for (scope, groups, families) in places {
            let same = |part: fn(&OutcomeDigest) -> [u64; 2]| {
                groups.iter().all(|g| part(&before.digests[*g]) == part(&after.digests[*g]))
            };
            if same(|digest| digest.predictions) {
                mark("", scope, families);
            }
            if scope != MetricScope::WorstCase && same(|digest| digest.scores) {
                mark("", scope, &[Scores]);
            }
        }
        for (set, after) in &after.sets {
            let Some(before) = before.sets.get(set) else { continue };
            let mut places = vec![MetricScope::Total];
            for a in 0..n {
                places.extend([MetricScope::OneToRest(a), MetricScope::RestToOne(a)]);
            }
            for (a, b) in pairs() {
                places.extend([MetricScope::Direction(a, b), MetricScope::Difference(a, b)]);
            }
            for scope in places {
                let is_behind = |way: (usize, usize)| match scope {
                    MetricScope::Direction(a, b) => way == (a, b),
                    MetricScope::Difference(a, b) => way == (a, b) || way == (b, a),
                    MetricScope::OneToRest(a) => way.0 == a,
                    MetricScope::RestToOne(a) => way.1 == a,
                    _ => true,
                };
                let [old, new] = [before, after].map(|world| {
                    let mut sum = OutcomeDigest::default();
                    let behind = pairs().filter(|way| is_behind(*way));
                    behind.for_each(|(from, to)| sum.merge(&world.digests[from * n + to]));
                    sum
                });
                if old.predictions == new.predictions {
                    mark(set, scope, &[Ccm, Eccm]);
                }
                if old.scores == new.scores {
                    mark(set, scope, &[Shift]);
                }
            }
        }
    }
}

/// The changes of score metrics; none where no scores were gathered.
fn score_changes(
    after: &SetOutcomes,
    before: &SetOutcomes,
    settings: &MeasureSettings,
) -> Vec<ComparedValue> {
    match (&after.second, &before.second) {
        (Some(new), Some(old)) => changes((new, &after.counts), (old, &before.counts), settings),
        _ => Vec::new(),
    }
}
