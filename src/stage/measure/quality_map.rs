//! The map of a set for a job that asks for one (`report.map`): rows and their counterfactuals on
//! two principal components of the reference.
//!
//! The rows are drawn by a hash: for each direction the rows with the smallest h(seed of
//! `map/SET/ATTRIBUTE`, row key, target group), each with its first valid counterfactual.

use std::collections::{BTreeMap, BTreeSet};

use crate::counterfactual::SampleBatch;
use crate::counterfactual::conditional::ReferenceCounts;
use crate::counterfactual::counting::ReferenceCounter;
use crate::counterfactual::moments::MomentFrame;
use crate::counterfactual::quality::QualityReference;
use crate::counterfactual::quality::map::RowMap;
use crate::data::rows::Projection;
use crate::data::rows::reference::ReferenceBatch;
use crate::error::Result;
use crate::num::seed::{h, named_seed};
use crate::param::{Count, Seed};
use crate::stage::measure::quality::QualityInputs;
use crate::table::{CfMapRow, finite};

/// The drawn rows by direction, and inside it by hash and row number.
type DrawnRows<T> = BTreeMap<(usize, usize), BTreeMap<(u64, u64), T>>;

/// Keeps `wanted` rows of each direction, those with the smallest hashes.
fn truncate<T>(drawn: &mut DrawnRows<T>, wanted: usize) {
    for of_pair in drawn.values_mut() {
        while of_pair.len() > wanted {
            of_pair.pop_last();
        }
    }
}

impl QualityInputs<'_> {
    /// The rows of `cf_map`: `wanted` rows of each direction in `pairs`.
    pub(super) fn map(
        &self,
        (wanted, seed): (Count, Seed),
        (yardstick, counts): (&QualityReference, &ReferenceCounts),
        pairs: &BTreeSet<(usize, usize)>,
    ) -> Result<Vec<CfMapRow>> {
        let attribute = &self.context.rows.layout().attributes[self.position];
        let moments = |frame: &MomentFrame| {
            let empty = || ReferenceCounter::new(&yardstick.variables, Some(frame));
            let add = |counter: &mut ReferenceCounter<'_>, group: &ReferenceBatch| {
                let rows = &group.rows;
                counter.add(&SampleBatch { keys: &[], rows, groups: &[], classes: &[] });
            };
            let mut whole = empty();
            for fold in 0..self.learnt.len() {
                let rows = self.reference.rows(fold);
                whole.merge(rows.gather(empty, add, ReferenceCounter::merge)?);
            }
            Ok(whole.finish().1)
        };
        let map = match yardstick.map(counts, moments)? {
            Ok(map) => map,
            Err(why) => {
                let (pair, undefined) = (self.pair(attribute, "", ""), why.into());
                return Ok(vec![CfMapRow { pair, undefined, ..CfMapRow::default() }]);
            }
        };
        let wanted = wanted.size();
        let seed = named_seed(seed.0, &format!("map/{}/{}", self.set, attribute.name));
        let mut drawn = DrawnRows::new();
        let draw_group = |g: usize| self.drawn(g, (wanted, seed), (yardstick, &map), pairs);
        self.context.row_groups().in_turn(draw_group, |part| {
            for (pair, rows) in part {
                drawn.entry(pair).or_default().extend(rows);
            }
            truncate(&mut drawn, wanted);
        })?;
        let mut rows = Vec::new();
        for ((from, to), of_pair) in drawn {
            let pair = self.pair(attribute, &attribute.groups[from], &attribute.groups[to]);
            for (number, [x, y, x_cf, y_cf]) in (0_i64..).zip(of_pair.into_values()) {
                rows.push(CfMapRow {
                    pair: pair.clone(),
                    number,
                    x: finite(x),
                    y: finite(y),
                    x_cf: finite(x_cf),
                    y_cf: finite(y_cf),
                    share_x: finite(map.shares[0]),
                    share_y: finite(map.shares[1]),
                    tied: map.tied,
                    undefined: "".into(),
                });
            }
        }
        Ok(rows)
    }

    /// The drawn rows of a row group, with their places and those of their counterfactuals.
    fn drawn(
        &self,
        g: usize,
        (wanted, seed): (usize, u64),
        (yardstick, map): (&QualityReference, &RowMap),
        pairs: &BTreeSet<(usize, usize)>,
    ) -> Result<(u64, DrawnRows<[f64; 4]>)> {
        let batch = self.context.rows.read(g, Projection::ALL)?;
        let (keys, judged, rows_cf) = self.counterfactuals.judged(g, self.context.rows.layout())?;
        let groups = &batch.groups[self.position];
        let mut smallest: DrawnRows<(usize, usize)> = DrawnRows::new();
        for (k, &parent) in keys.parent.iter().enumerate().filter(|(k, _)| judged.valid[*k]) {
            let (i, to) = (parent as usize, keys.to_group[k]);
            let pair = (usize::from(groups[i]), usize::from(to));
            if pairs.contains(&pair) {
                // Counterfactuals of a row and group are in the order of their index.
                let key = (h(seed, batch.row_key[i], u64::from(to)), batch.row[i]);
                smallest.entry(pair).or_default().entry(key).or_insert((i, k));
            }
        }
        truncate(&mut smallest, wanted);
        let chosen = smallest.values().flat_map(BTreeMap::values);
        let (row_indices, cf_indices): (Vec<usize>, Vec<usize>) = chosen.copied().unzip();
        let places = map.places(yardstick, &batch.rows.take(&row_indices));
        let paired = places.into_iter().zip(map.places(yardstick, &rows_cf.take(&cf_indices)));
        let mut paired = paired.map(|([x, y], [x_cf, y_cf])| [x, y, x_cf, y_cf]);
        let mut placed = DrawnRows::new();
        for (pair, rows) in smallest {
            placed.insert(pair, rows.into_keys().zip(paired.by_ref()).collect());
        }
        Ok((batch.row.len() as u64, placed))
    }
}
