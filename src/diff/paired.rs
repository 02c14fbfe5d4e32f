//! The same people in two runs: values and changes from the outcomes that both keep.
//!
//! Rows with the same row id are the same person; rows that are distinguished by their number are
//! the same only where both runs read the same file. People who are in only one run count for that
//! run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::diff::compared_run::ComparedRun;
use crate::diff::people::{
    GatherSettings, OutcomeDigest, OutcomesOfBoth, PairedOutcomes, PersonKeys, gather,
};
use crate::diff::rows_of_both::OutcomeSetKey;
use crate::diff::words::said;
use crate::error::Result;
use crate::folder::manifest::Manifest;
use crate::metric::MetricFamily;
use crate::metric::value::compare::{ComparedValue, compare_rows, compare_switches};
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::paired_scores::changes;
use crate::metric::value::scores::RowsOf;
use crate::metric::value::settings::{FavourableClass, FavouredGroups, MeasureSettings};
use crate::param::Count;
use crate::table::{AuditKey, MetricRow, SharedText};

/// A value as the same people give it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairedValue<'a> {
    /// That of the new run first; none where there are only digests of it.
    pub(super) compared: Option<&'a ComparedValue>,
    /// Whether everybody behind the value has the same outcomes in both runs.
    pub(super) identical: bool,
}

/// What distinguishes values: what they belong to, their class and their metric.
pub(super) type ValueKey = (AuditKey, SharedText, SharedText);

/// All values that are paired.
#[derive(Default)]
pub(super) struct PairedValues {
    values: BTreeMap<ValueKey, ComparedValue>,
    parts: OutcomesOfBoth,
    /// The groups of each attribute, reference first.
    groups: BTreeMap<String, Vec<String>>,
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

    /// A value of the table `metrics` in both runs, where people were paired for it.
    pub(super) fn of(&self, key: &ValueKey, row: &MetricRow) -> Option<PairedValue<'_>> {
        let (compared, identical) = (self.values.get(key), self.is_identical(row));
        (compared.is_some() || identical).then_some(PairedValue { compared, identical })
    }

    /// Whether all people behind a value have the same outcomes in both runs.
    fn is_identical(&self, row: &MetricRow) -> bool {
        let AuditKey { model, sensitive, counterfactual, from_group, to_group, .. } = &row.key;
        let part = self.parts.get(&[model, sensitive].map(ToString::to_string));
        let (Some(part), Some(groups)) = (part, self.groups.get(sensitive.as_str())) else {
            return false;
        };
        let n = groups.len();
        let at = |name: &str| groups.iter().position(|group| group == name);
        let (from, to) = (at(from_group), at(to_group));
        let scope = row.key.scope.as_str();
        // The digests of the people: of rows as they are by group, of counterfactuals by direction.
        let (digests, is_behind): (_, &dyn Fn(usize) -> bool) = if counterfactual.is_empty() {
            let of_all = scope == "one_vs_rest" || (from, to) == (None, None);
            (part.sides.each_ref().map(|side| Some(&side.digests)), &move |group| {
                of_all || [from, to].contains(&Some(group))
            })
        } else {
            let sets = part.sides.each_ref().map(|side| side.sets.get(counterfactual.as_str()));
            (sets.map(|set| Some(&set?.digests)), &move |place| {
                let is = |from: Option<usize>, to: Option<usize>| {
                    from.is_none_or(|from| from == place / n) && to.is_none_or(|to| to == place % n)
                };
                is(from, to) || scope == "difference" && is(to, from)
            })
        };
        let same = |part: fn(&OutcomeDigest) -> [u64; 2]| match digests {
            [Some(old), Some(new)] => (0..old.len())
                .all(|place| !is_behind(place) || part(&old[place]) == part(&new[place])),
            _ => false,
        };
        is_of_all_rows(row)
            && match (row.family.as_str(), scope) {
                ("performance" | "group" | "ccm" | "eccm", _) | ("clarify", "total") => {
                    same(|digest| digest.predictions)
                }
                ("scores", scope) if scope != "worst_case" => same(|digest| digest.scores),
                ("shift", _) => same(|digest| digest.scores),
                _ => false,
            }
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
    let people = sides.map(|of| of.rows.audited).into_iter().max().unwrap_or(0);
    let scored = |family| &measured(old, family) & &measured(new, family);
    let asked = GatherSettings {
        groups: &groups,
        weighted,
        scales: [old.scales(), new.scales()],
        scores: scored(MetricFamily::Shift),
        labelled: scored(MetricFamily::Scores),
        people,
    };
    let parts = gather([old_file, new_file], &asked)?;
    let [old_keys, new_keys] = [0, 1].map(|side| {
        let keys = parts.values().flat_map(|part| &part.sides[side].person_keys);
        keys.copied().collect::<PersonKeys>()
    });
    let (n_old, n_new) = (old_keys.len() as u64, new_keys.len() as u64);
    let both = old_keys.intersection(&new_keys).count() as u64;
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
    for (of, part) in parts {
        if part.sides.iter().any(|side| side.person_keys.is_empty()) {
            continue;
        }
        if let Some(groups) = groups.get(of[1].as_str()) {
            pairs.add_attribute(&of, (groups, &new.manifest), &part);
        }
        pairs.parts.insert(of, part);
    }
    pairs.groups = groups.into_iter().map(|(name, groups)| (name.to_owned(), groups)).collect();
    Ok(pairs)
}

/// Whether a value is of all people in the plain audit.
fn is_of_all_rows(row: &MetricRow) -> bool {
    [&row.key.arm, &row.key.slice, &row.class].into_iter().all(|text| text.is_empty())
}

/// Models, attributes and sets of which a run measures values of a family, of all people.
fn measured(run: &ComparedRun, family: MetricFamily) -> BTreeSet<OutcomeSetKey> {
    let is_of = |row: &&MetricRow| row.family == family.as_str() && is_of_all_rows(row);
    let key = |row: &MetricRow| {
        [&row.key.model, &row.key.sensitive, &row.key.counterfactual].map(ToString::to_string)
    };
    run.metrics.iter().filter(is_of).map(key).collect()
}

impl PairedValues {
    fn add_attribute(
        &mut self,
        [model, attribute]: &[String; 2],
        (groups, manifest): (&[String], &Manifest),
        PairedOutcomes { sides: [before, after], rows }: &PairedOutcomes,
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
        let mut keep = |set: &str, compared: Vec<ComparedValue>| {
            for found in compared {
                let key = AuditKey {
                    model: model.into(),
                    counterfactual: set.into(),
                    sensitive: attribute.into(),
                    scope: found.scope.as_str().into(),
                    from_group: name(found.scope.first_group()),
                    to_group: name(found.scope.second_group()),
                    ..AuditKey::default()
                };
                self.values.insert((key, "".into(), found.metric.id.into()), found);
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
                if world.digests != other.digests
                    && let (Some(new), Some(old)) = (&world.second, &other.second)
                {
                    keep(set, changes((new, &world.counts), (old, &other.counts), &settings));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::people::{AttributeOutcomes, SetOutcomes};
    use crate::diff::rows_of_both::RowsOfBoth;
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
    use crate::tests::TextRow;

    /// Two runs of three groups whose decisions differ at these places: groups, and directions of
    /// the set `flip`.
    fn pairs(groups: &[usize], directions: &[usize]) -> PairedValues {
        let digests = |n: usize, other: &[usize]| {
            let predictions = |place| [u64::from(other.contains(&place)), 0];
            let digest = |place| OutcomeDigest { predictions: predictions(place), scores: [0; 2] };
            (0..n).map(digest).collect::<Vec<_>>()
        };
        let side = |groups: &[usize], directions: &[usize]| AttributeOutcomes {
            person_keys: PersonKeys::default(),
            factual: FactualCounts::new(3),
            digests: digests(3, groups),
            sets: BTreeMap::from([(
                "flip".to_owned(),
                SetOutcomes {
                    counts: CounterfactualCounts::new(3),
                    digests: digests(9, directions),
                    second: None,
                },
            )]),
        };
        let rows = RowsOfBoth::new(3, CountingUnit { weighted: false, persons: false });
        let part = PairedOutcomes { sides: [side(&[], &[]), side(groups, directions)], rows };
        let names = ["north", "south", "west"].map(str::to_owned).to_vec();
        PairedValues {
            parts: [(["m", "region"].map(str::to_owned), part)].into(),
            groups: [("region".to_owned(), names)].into(),
            ..PairedValues::default()
        }
    }

    #[test]
    fn a_value_is_identical_where_its_people_are() {
        let same = |pairs: &PairedValues, cells: &str| {
            pairs.is_identical(&MetricRow::of("model=m, sensitive=region").with(cells))
        };
        let [none, west] = [pairs(&[], &[]), pairs(&[2], &[])];
        for (cells, without_west) in [
            ("scope=group, from_group=north, family=performance", true),
            ("scope=group, from_group=west, family=performance", false),
            ("scope=pair, from_group=north, to_group=south, family=group", true),
            ("scope=pair, from_group=south, to_group=west, family=group", false),
            ("scope=one_vs_rest, from_group=north, family=group", false),
            ("scope=one_vs_rest, to_group=north, family=group", false),
            ("scope=worst_case, family=group", false),
            ("scope=total, family=clarify", false),
            // Only decisions differ.
            ("scope=total, family=scores", true),
        ] {
            assert_eq!([same(&none, cells), same(&west, cells)], [true, without_west], "{cells}");
        }
        // From north to west.
        let moved = pairs(&[], &[2]);
        for (cells, without_move) in [
            ("scope=direction, from_group=north, to_group=west", false),
            ("scope=direction, from_group=west, to_group=north", true),
            ("scope=difference, from_group=west, to_group=north", false),
            ("scope=difference, from_group=west, to_group=south", true),
            ("scope=one_to_rest, from_group=north", false),
            ("scope=rest_to_one, to_group=west", false),
            ("scope=rest_to_one, to_group=north", true),
            ("scope=total", false),
        ] {
            let found = ["ccm", "shift"].map(|family| {
                same(&moved, &format!("counterfactual=flip, family={family}, {cells}"))
            });
            assert_eq!(found, [without_move, true], "{cells}");
        }
        for cells in ["slice=a=b", "arm=a/b", "class=x", "model=other", "family=clarify"] {
            assert!(!same(&none, &format!("scope=group, from_group=west, family=group, {cells}")));
        }
        assert!(!same(&none, "counterfactual=other, scope=total, family=ccm"));
    }
}
