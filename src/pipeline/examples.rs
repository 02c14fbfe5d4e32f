//! Example pairs: a few rows beside their counterfactuals, for a job that wants people on the page (`report.example_pairs`).
//!
//! Which rows is not for anybody to choose: of each ordered pair of groups those with a valid counterfactual whose hash
//! h(seed of `examples/SET/ATTRIBUTE`, row key, target group) is least, so neither threads nor the order of the rows have a say. Of several
//! counterfactuals of a row the first valid one stands for it.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::aligned::{CounterfactualKeys, Judged};
use crate::data::rows::PreparedBatch;
use crate::data::values::float_text;
use crate::data::{Column, Layout, MISSING, MISSING_GROUP, Rows};
use crate::num::seed::{h, named};
use crate::param::Seed;
use crate::table::Cell;

/// What is to be chosen.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Pairs of each ordered pair of groups.
    pub pairs: usize,
    /// The seed of the job.
    pub seed: Seed,
}

/// One feature of a pair: name, value before and after, and whether it changed.
type Entry = (String, Option<String>, Option<String>, bool);

/// By hash and row number the features of each pair.
type Chosen = BTreeMap<(u64, u64), Vec<Entry>>;

/// By hash and row number the row and its counterfactual of each pair.
type Best = BTreeMap<(u64, u64), (usize, usize)>;

/// The example pairs of one set and attribute; parts merge in any order.
#[derive(Debug)]
pub(super) struct Examples {
    asked: Asked,
    seed: u64,
    position: usize,
    chosen: BTreeMap<(usize, usize), Chosen>,
}

impl Examples {
    /// No pair yet, of the attribute at a position.
    pub(super) fn new(asked: Asked, set: &str, attribute: &str, position: usize) -> Self {
        Examples { asked, seed: named(asked.seed.0, &format!("examples/{set}/{attribute}")), position, chosen: BTreeMap::new() }
    }

    /// The pairs of one row group.
    #[must_use]
    pub(super) fn of(&self, layout: &Layout, batch: &PreparedBatch, keys: &CounterfactualKeys, judged: &Judged, made: &Rows) -> Self {
        let mut best: BTreeMap<(usize, usize), Best> = BTreeMap::new();
        for k in (0..keys.parent.len()).filter(|&k| judged.valid[k]) {
            let (parent, to) = (keys.parent[k] as usize, keys.to_group[k]);
            let own = batch.groups[self.position][parent];
            if self.asked.pairs == 0 || own == MISSING_GROUP {
                continue;
            }
            let of_pair = best.entry((usize::from(own), usize::from(to))).or_default();
            let hash = (h(self.seed, batch.row_key[parent], u64::from(to)), batch.row[parent]);
            // Counterfactuals of a row stand in the order of their index.
            of_pair.entry(hash).or_insert((parent, k));
            if of_pair.len() > self.asked.pairs {
                of_pair.pop_last();
            }
        }
        let entries = |(parent, k): (usize, usize)| layout.inputs().map(|f| entry(layout, f, &batch.rows, parent, made, k)).collect();
        let chosen = best.into_iter().map(|(pair, of)| (pair, of.into_iter().map(|(hash, at)| (hash, entries(at))).collect())).collect();
        Examples { chosen, ..*self }
    }

    /// Adds the pairs of other rows.
    pub(super) fn merge(&mut self, other: Examples) {
        for (pair, chosen) in other.chosen {
            let mine = self.chosen.entry(pair).or_default();
            mine.extend(chosen);
            while mine.len() > self.asked.pairs {
                mine.pop_last();
            }
        }
    }

    /// The cells of `cf_examples` behind set and attribute, of these directions.
    pub(super) fn cells<'a>(&'a self, groups: &'a [String], of: &'a BTreeSet<(usize, usize)>) -> impl Iterator<Item = Vec<Cell>> + 'a {
        self.chosen.iter().filter(|(pair, _)| of.contains(pair)).flat_map(move |(&(from, to), chosen)| {
            (0_i64..).zip(chosen.values()).flat_map(move |(number, entries)| {
                entries.iter().map(move |(feature, before, after, changed)| {
                    vec![
                        groups[from].as_str().into(),
                        groups[to].as_str().into(),
                        Cell::Int(number),
                        feature.as_str().into(),
                        before.as_deref().into(),
                        after.as_deref().into(),
                        Cell::Int(i64::from(*changed)),
                    ]
                })
            })
        })
    }
}

fn entry(layout: &Layout, f: usize, rows: &Rows, i: usize, made: &Rows, k: usize) -> Entry {
    let feature = &layout.features[f];
    let text = |rows: &Rows, i: usize| match &rows.columns[f] {
        Column::Number(values) => (!values[i].is_nan()).then(|| float_text(values[i])),
        Column::Code(codes) => (codes[i] != MISSING).then(|| feature.levels.get(codes[i] as usize).cloned().unwrap_or_default()),
    };
    let changed = match (&rows.columns[f], &made.columns[f]) {
        (Column::Number(old), Column::Number(new)) if !old[i].is_nan() && !new[k].is_nan() => {
            (new[k] - old[i]).abs() > 1e-9 * old[i].abs().max(1.0)
        }
        _ => text(rows, i) != text(made, k),
    };
    (feature.name.clone(), text(rows, i), text(made, k), changed)
}
