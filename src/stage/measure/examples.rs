//! Example pairs: a few rows next to their counterfactuals, for a job that wants people on the page
//! (`report.example_pairs`).
//!
//! Which rows is not for anybody to choose: of each ordered pair of groups those with a valid
//! counterfactual whose hash h(seed of `examples/SET/ATTRIBUTE`, row key, target group) is least,
//! so neither threads nor the order of the rows have a say. Of several counterfactuals of a row the
//! first valid one represents it.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::rows::PreparedBatch;
use crate::data::rows::aligned::{CounterfactualKeys, CounterfactualVerdicts};
use crate::data::values::float_text;
use crate::data::{Attribute, FeatureColumn, FeatureRows, Layout, MISSING, MISSING_GROUP};
use crate::num::seed::{h, named_seed};
use crate::param::Seed;
use crate::table::{CfExampleRow, SharedText};

/// What is to be chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExampleSettings {
    /// Pairs of each ordered pair of groups.
    pub pairs: usize,
    /// The seed of the job.
    pub seed: Seed,
}

/// One feature of a pair: name, value before and after, and whether it changed.
type PairFeature = (String, Option<String>, Option<String>, bool);

/// By hash and row number the features of each pair.
type ChosenPairs = BTreeMap<(u64, u64), Vec<PairFeature>>;

/// By hash and row number the row and its counterfactual of each pair.
type BestPairs = BTreeMap<(u64, u64), (usize, usize)>;

/// The example pairs of one set and attribute; parts merge in any order.
#[derive(Debug)]
pub(crate) struct ExamplePairs {
    settings: ExampleSettings,
    seed: u64,
    position: usize,
    chosen: BTreeMap<(usize, usize), ChosenPairs>,
}

impl ExamplePairs {
    /// No pair yet, of the attribute at a position.
    pub(crate) fn new(asked: ExampleSettings, set: &str, attribute: &str, position: usize) -> Self {
        ExamplePairs {
            settings: asked,
            seed: named_seed(asked.seed.0, &format!("examples/{set}/{attribute}")),
            position,
            chosen: BTreeMap::new(),
        }
    }

    /// The pairs of one row group.
    #[must_use]
    pub(crate) fn of_group(
        &self,
        layout: &Layout,
        batch: &PreparedBatch,
        keys: &CounterfactualKeys,
        judged: &CounterfactualVerdicts,
        made: &FeatureRows,
    ) -> Self {
        let mut best: BTreeMap<(usize, usize), BestPairs> = BTreeMap::new();
        for k in (0..keys.parent.len()).filter(|&k| judged.valid[k]) {
            let (parent, to) = (keys.parent[k] as usize, keys.to_group[k]);
            let own = batch.groups[self.position][parent];
            if self.settings.pairs == 0 || own == MISSING_GROUP {
                continue;
            }
            let of_pair = best.entry((usize::from(own), usize::from(to))).or_default();
            let hash = (h(self.seed, batch.row_key[parent], u64::from(to)), batch.row[parent]);
            // Counterfactuals of a row are in the order of their index.
            of_pair.entry(hash).or_insert((parent, k));
            if of_pair.len() > self.settings.pairs {
                of_pair.pop_last();
            }
        }
        let entries = |(parent, k): (usize, usize)| {
            layout.inputs().map(|f| pair_feature(layout, f, &batch.rows, parent, made, k)).collect()
        };
        let chosen = best
            .into_iter()
            .map(|(pair, of)| {
                (pair, of.into_iter().map(|(hash, at)| (hash, entries(at))).collect())
            })
            .collect();
        ExamplePairs { chosen, ..*self }
    }

    /// Adds the pairs of other rows.
    pub(crate) fn merge(&mut self, other: ExamplePairs) {
        for (pair, chosen) in other.chosen {
            let mine = self.chosen.entry(pair).or_default();
            mine.extend(chosen);
            while mine.len() > self.settings.pairs {
                mine.pop_last();
            }
        }
    }

    /// The rows of `cf_examples` of these directions, for a set and an attribute.
    pub(crate) fn rows<'a>(
        &'a self,
        (set, attribute): (&'a str, &'a Attribute),
        of: &'a BTreeSet<(usize, usize)>,
    ) -> impl Iterator<Item = CfExampleRow> + 'a {
        self.chosen.iter().filter(|(pair, _)| of.contains(pair)).flat_map(
            move |(&(from, to), chosen)| {
                (0_i64..).zip(chosen.values()).flat_map(move |(number, entries)| {
                    entries.iter().map(move |(feature, before, after, changed)| CfExampleRow {
                        counterfactual: set.into(),
                        sensitive: attribute.name.as_str().into(),
                        from_group: attribute.groups[from].as_str().into(),
                        to_group: attribute.groups[to].as_str().into(),
                        example: number,
                        feature: feature.as_str().into(),
                        value: before.as_deref().map(SharedText::from),
                        value_cf: after.as_deref().map(SharedText::from),
                        changed: *changed,
                    })
                })
            },
        )
    }
}

fn pair_feature(
    layout: &Layout,
    f: usize,
    rows: &FeatureRows,
    i: usize,
    made: &FeatureRows,
    k: usize,
) -> PairFeature {
    let feature = &layout.features[f];
    let text = |rows: &FeatureRows, i: usize| match &rows.columns[f] {
        FeatureColumn::Number(values) => (!values[i].is_nan()).then(|| float_text(values[i])),
        FeatureColumn::Code(codes) => (codes[i] != MISSING)
            .then(|| feature.levels.get(codes[i] as usize).cloned().unwrap_or_default()),
    };
    let changed = match (&rows.columns[f], &made.columns[f]) {
        (FeatureColumn::Number(old), FeatureColumn::Number(new))
            if !old[i].is_nan() && !new[k].is_nan() =>
        {
            (new[k] - old[i]).abs() > 1e-9 * old[i].abs().max(1.0)
        }
        _ => text(rows, i) != text(made, k),
    };
    (feature.name.clone(), text(rows, i), text(made, k), changed)
}
