//! What the tables of quality say, by set, attribute and direction: measures, measures by feature,
//! distributions.
//!
//! A *world* is one set and attribute. Its directions are listed worst first: by the largest
//! remaining distance of a moved feature to the target group. None of it depends on a model or on
//! weights.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::report::read::panel::ResultKey;
use crate::table::{CfDistributionRow, CfFeatureRow, CfQualityRow, RARE, SetPair, finite};

/// The key of a direction in tables that do not depend on a model.
impl From<&SetPair> for ResultKey {
    fn from(pair: &SetPair) -> Self {
        let groups = [&pair.from_group, &pair.to_group].map(|of| of.as_str());
        ResultKey::new(["", &pair.counterfactual, &pair.sensitive], "", groups)
    }
}

impl ResultKey {
    /// The key in these tables of what a value belongs to.
    pub(crate) fn of_any_model(&self) -> Self {
        ResultKey { model: String::new(), scope: String::new(), ..self.clone() }
    }

    /// All directions of a set together.
    pub(crate) fn of_set(set: &str, attribute: &str) -> Self {
        ResultKey::new(["", set, attribute], "", ["", ""])
    }
}

/// Values by id; none where undefined.
pub(crate) type QualityValues = BTreeMap<String, Option<f64>>;

/// A measure that has a value.
pub(crate) fn value(values: &QualityValues, measure: &str) -> Option<f64> {
    values.get(measure).copied().flatten()
}

/// A count that is in a table as a number.
pub(crate) fn whole(values: &QualityValues, measure: &str) -> i64 {
    // Counts of rows are far below the end of exact whole numbers.
    value(values, measure).unwrap_or(0.0).round() as i64
}

/// One bar of a distribution: a bin of a number or a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DistributionBar {
    /// The edges of a bin; none for a level.
    pub(crate) edges: Option<(f64, f64)>,
    /// The level, which may be empty; empty for a bin and for the rest.
    pub(crate) level: String,
    /// Whether it represents all levels together that are not distinguished.
    pub(crate) rest: bool,
    /// How many: rows as they are, counterfactuals, real rows of the target group.
    pub(crate) n: [i64; 3],
    /// Their shares; those of the target group are by the classes of the counterfactuals.
    pub(crate) share: [Option<f64>; 3],
}

/// One feature of a direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct FeatureQuality {
    /// Its name.
    pub(crate) name: String,
    /// Its measures.
    pub(crate) values: QualityValues,
    /// Its distributions.
    pub(crate) bars: Vec<DistributionBar>,
}

/// The tables of quality in memory.
#[derive(Debug, Default)]
pub(crate) struct QualityTables {
    pub(crate) pairs: BTreeMap<ResultKey, QualityValues>,
    features: BTreeMap<ResultKey, BTreeMap<String, FeatureQuality>>,
}

/// One set and attribute.
#[derive(Debug)]
pub(crate) struct SetQuality<'a> {
    /// Number on the page, for anchors.
    pub(crate) id: usize,
    /// Set and attribute, without groups.
    pub(crate) key: ResultKey,
    /// The strategy of the set; empty where the manifest does not know it.
    pub(crate) strategy: &'a str,
    /// Its directions, worst first.
    pub(crate) directions: Vec<DirectionQuality<'a>>,
}

/// One direction of a world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectionQuality<'a> {
    /// Its key.
    pub(crate) pair: &'a ResultKey,
    /// Its measures.
    pub(crate) values: &'a QualityValues,
}

impl FeatureQuality {
    /// A measure that has a value.
    pub(crate) fn value(&self, measure: &str) -> Option<f64> {
        value(&self.values, measure)
    }

    /// Whether any counterfactual differs in it.
    pub(crate) fn moved(&self) -> bool {
        self.value("share_changed").is_some_and(|share| share > 0.0)
    }

    /// Where the counterfactuals are relative to the target group, compared with their rows; none
    /// where there is nothing to compare.
    pub(crate) fn drift(&self) -> Option<Ordering> {
        let (before, after) = (self.value("dist_before")?, self.value("dist_after")?);
        // Less is the same to a reader, who sees three digits.
        Some(if (after - before).abs() < 5e-4 { Ordering::Equal } else { after.total_cmp(&before) })
    }

    /// Whether it moved away from the target group.
    pub(crate) fn is_farther(&self) -> bool {
        self.drift() == Some(Ordering::Greater)
    }

    /// Whether it moved away from the target group by one distance and towards it by the other.
    pub(crate) fn is_nearer_by_wasserstein(&self) -> bool {
        self.is_farther()
            && self
                .value("w1_before")
                .zip(self.value("w1_after"))
                .is_some_and(|(before, after)| after < before)
    }

    /// Adds a row about the distribution of its values.
    fn add_bar(&mut self, row: &CfDistributionRow) {
        let sides = ["original", "counterfactual", "target"];
        let Some(side) = sides.iter().position(|side| *side == row.side.as_str()) else { return };
        let number = usize::try_from(row.bin).unwrap_or(0);
        // The bins of a side come in order, without gaps.
        if number == self.bars.len() {
            let edges = row.bin_lo.zip(row.bin_hi);
            let rest = edges.is_none() && row.level == RARE;
            self.bars.push(DistributionBar {
                edges,
                level: row.level.to_string(),
                rest,
                n: [0; 3],
                share: [None; 3],
            });
        }
        if let Some(bar) = self.bars.get_mut(number) {
            bar.n[side] = row.n.max(0);
            bar.share[side] = row.share.and_then(finite);
        }
    }

    /// A measure that counts counterfactuals.
    fn count(&self, measure: &str) -> i64 {
        self.value(measure).map_or(0, |n| n as i64)
    }

    /// Counterfactuals that have a value.
    pub(crate) fn n(&self) -> i64 {
        self.count("n_values")
    }

    /// Counterfactuals that have a value and whose class the target group has.
    pub(crate) fn n_compared(&self) -> i64 {
        self.count("n_compared")
    }
}

impl QualityTables {
    /// The quality in the rows of its three tables, sorted by key.
    pub(crate) fn of(
        pairs: &[CfQualityRow],
        features: &[CfFeatureRow],
        distributions: &[CfDistributionRow],
    ) -> Self {
        let mut quality = QualityTables::default();
        for row in pairs.iter() {
            quality
                .pairs
                .entry((&row.pair).into())
                .or_default()
                .insert(row.metric.to_string(), row.value.and_then(finite));
        }
        for rows in features.chunk_by(|a, b| a.pair == b.pair && a.feature == b.feature) {
            let values = &mut quality.feature((&rows[0].pair).into(), &rows[0].feature).values;
            let value = |row: &CfFeatureRow| (row.metric.to_string(), row.value.and_then(finite));
            values.extend(rows.iter().map(value));
        }
        for rows in distributions.chunk_by(|a, b| a.pair == b.pair && a.feature == b.feature) {
            let feature = quality.feature((&rows[0].pair).into(), &rows[0].feature);
            rows.iter().for_each(|row| feature.add_bar(row));
        }
        quality
    }

    fn feature(&mut self, key: ResultKey, name: &str) -> &mut FeatureQuality {
        let of_pair = self.features.entry(key).or_default();
        of_pair.entry(name.to_owned()).or_insert_with(|| FeatureQuality {
            name: name.to_owned(),
            ..FeatureQuality::default()
        })
    }

    /// The measures of a direction, or of all directions of a world.
    pub(crate) fn values(&self, pair: &ResultKey) -> Option<&QualityValues> {
        self.pairs.get(pair)
    }

    /// A measure of them that has a value.
    pub(crate) fn value(&self, pair: &ResultKey, measure: &str) -> Option<f64> {
        value(self.values(pair)?, measure)
    }

    /// Whether counterfactuals of a direction were made and discarded, so that metrics are of some
    /// of the people only.
    pub(crate) fn discards(&self, pair: &ResultKey) -> bool {
        self.value(pair, "share_discarded").is_some_and(|share| share > 0.0)
    }

    /// How many counterfactuals of a direction, or of a world, were made where none of them is
    /// valid; 0 where none was made.
    pub(crate) fn none_valid(&self, pair: &ResultKey) -> Option<i64> {
        // Counts of rows are far below the end of exact whole numbers.
        let made = self.value(pair, "n_cf")?.round() as i64;
        let is_none = self.value(pair, "share_discarded").is_some_and(|share| share >= 1.0);
        (made == 0 || is_none).then_some(made)
    }

    /// The features of a direction: those that moved away from the target group first, then those
    /// that moved, then those that did not; among equals the farthest from the target group first.
    pub(crate) fn features(&self, pair: &ResultKey) -> Vec<&FeatureQuality> {
        let mut features: Vec<&FeatureQuality> =
            self.features.get(pair).into_iter().flat_map(BTreeMap::values).collect();
        let rank = |f: &FeatureQuality| (!f.is_farther(), !f.moved());
        let distance = |f: &FeatureQuality| f.value("dist_after").unwrap_or(-1.0);
        features.sort_by(|a, b| rank(a).cmp(&rank(b)).then(distance(b).total_cmp(&distance(a))));
        features
    }

    /// Whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The largest distance to the target group that a moved feature is left with; -1 where none
    /// moved.
    pub(crate) fn farthest(&self, pair: &ResultKey) -> f64 {
        let moved =
            self.features.get(pair).into_iter().flat_map(BTreeMap::values).filter(|f| f.moved());
        moved.filter_map(|f| f.value("dist_after")).fold(-1.0, f64::max)
    }
}
