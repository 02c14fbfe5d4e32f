//! The distance between rows for transport: the variables that may move, each in its own unit.
//!
//! Units: a number or an ordered level counts in population standard deviations of the reference
//! (of its values that are not missing); a category counts 1 when it differs. A missing value of a
//! source has cost 0 and stays missing; a level that represents missing values (`barred`) is
//! treated as missing too. A one-hot group is one category; with no 1 or several it is missing. A
//! feature that is constant in the reference has cost 0.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::SampleBatch;
use crate::counterfactual::variable::{StrategyVariable, VariableScale};
use crate::data::FeatureRows;
use crate::num::hash::equal_bits;
use crate::num::moments::mean_and_sd;
use crate::num::summary::ascending;

/// The distance of two rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportCost {
    /// The sum over features of the squared difference in standard deviations, or 1 for a category
    /// that differs.
    #[default]
    L2Squared,
    /// The square of the sum over features of the absolute difference in standard deviations, or 1
    /// for a category that differs.
    L1Squared,
}

/// The features that may move, with their units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransportDistance {
    /// In the order of their declaration.
    pub(super) variables: Vec<StrategyVariable>,
    /// The difference with cost 1: a standard deviation; for categories 1.
    units: Vec<f64>,
    /// For ordered features the values in the reference, ascending; empty for others.
    steps: Vec<Vec<f64>>,
}

impl TransportDistance {
    /// The distance over these features, with units from all rows of the reference.
    pub(crate) fn new(
        variables: Vec<StrategyVariable>,
        reference: &FeatureRows,
    ) -> TransportDistance {
        let units = variables
            .iter()
            .map(|variable| match variable.scale {
                VariableScale::Categorical(_) => 1.0,
                _ => mean_and_sd((0..reference.n).map(|i| variable.value(reference, i)))
                    .map_or(0.0, |(_, sd)| sd),
            })
            .collect();
        TransportDistance::with_units(variables, units, reference)
    }

    /// The distance over these features with given units, one per feature.
    ///
    /// A feature with a unit of 0 or less has cost 0.
    pub(super) fn with_units(
        variables: Vec<StrategyVariable>,
        units: Vec<f64>,
        reference: &FeatureRows,
    ) -> TransportDistance {
        let steps = variables
            .iter()
            .map(|variable| {
                let is_ordered = variable.scale == (VariableScale::Ordinal {});
                let n = if is_ordered { reference.n } else { 0 };
                let values: Vec<f64> = (0..n).map(|i| variable.value(reference, i)).collect();
                let mut steps = ascending(&values);
                steps.dedup();
                steps
            })
            .collect();
        TransportDistance { variables, units, steps }
    }

    /// The difference with cost 1 for each feature: a standard deviation, or 1 for a category.
    ///
    /// 0 if the feature has cost 0.
    #[cfg(test)]
    pub(crate) fn units(&self) -> &[f64] {
        &self.units
    }

    /// For an ordered feature the reference value nearest to `x`; ties go to the lower.
    ///
    /// `x` itself where the feature has no values.
    pub(crate) fn nearest_value(&self, variable: usize, x: f64) -> f64 {
        let steps = &self.steps[variable];
        let above = steps.partition_point(|&step| step < x);
        match (above.checked_sub(1).map(|below| steps[below]), steps.get(above)) {
            (Some(below), Some(&above)) if x - below <= above - x => below,
            (_, Some(&above)) => above,
            (below, None) => below.unwrap_or(x),
        }
    }

    /// Whether a row has a value in all features that may move.
    pub(crate) fn is_complete(&self, rows: &FeatureRows, i: usize) -> bool {
        self.variables.iter().all(|variable| !variable.value(rows, i).is_nan())
    }

    /// Adds the costs from a source to the targets from position `start` on.
    ///
    /// `row` starts with zeros.
    pub(super) fn costs(
        &self,
        cost: TransportCost,
        sources: &WeightedPoints,
        source: usize,
        targets: &WeightedPoints,
        start: usize,
        row: &mut [f64],
    ) {
        for (at, (variable, &unit)) in self.variables.iter().zip(&self.units).enumerate() {
            let value = sources.values[at][source];
            let to = &targets.values[at][start..start + row.len()];
            if value.is_nan() || unit.is_nan() || unit <= 0.0 {
                continue;
            }
            match (&variable.scale, cost) {
                (VariableScale::Categorical(_), _) => {
                    row.iter_mut().zip(to).for_each(|(c, &x)| *c += f64::from(u8::from(x != value)))
                }
                (_, TransportCost::L1Squared) => {
                    row.iter_mut().zip(to).for_each(|(c, &x)| *c += ((value - x) / unit).abs())
                }
                (_, TransportCost::L2Squared) => row.iter_mut().zip(to).for_each(|(c, &x)| {
                    let z = (value - x) / unit;
                    *c += z * z;
                }),
            }
        }
        if cost == TransportCost::L1Squared {
            row.iter_mut().for_each(|c| *c *= *c);
        }
    }
}

/// Rows as weighted points: rows with equal values are one point.
#[derive(Debug, Clone)]
pub(super) struct WeightedPoints {
    /// The position of the row with the lowest key, for each point; ascending by that key.
    pub(super) first_row: Vec<usize>,
    /// The number of rows of each point.
    pub(super) weight: Vec<u64>,
    /// The point of each row, in the given order.
    pub(super) point_of: Vec<u32>,
    /// The values of the points, for each feature.
    values: Vec<Vec<f64>>,
}

impl WeightedPoints {
    /// The points of the rows at these positions.
    pub(super) fn from_rows(
        distance: &TransportDistance,
        side: &SampleBatch<'_>,
        at: &[usize],
    ) -> WeightedPoints {
        let mut order: Vec<usize> = (0..at.len()).collect();
        order.sort_by_key(|&k| (side.keys[at[k]], at[k]));
        let values = vec![Vec::new(); distance.variables.len()];
        let mut points = WeightedPoints {
            first_row: Vec::new(),
            weight: Vec::new(),
            point_of: vec![0; at.len()],
            values,
        };
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        for k in order {
            let row = at[k];
            let variables = distance.variables.iter();
            let values: Vec<f64> = variables.map(|v| v.value(side.rows, row)).collect();
            let next = points.first_row.len() as u32;
            let point =
                *known.entry(values.iter().copied().map(equal_bits).collect()).or_insert(next);
            if point == next {
                points.first_row.push(row);
                points.weight.push(0);
                points.values.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
            }
            points.weight[point as usize] += 1;
            points.point_of[k] = point;
        }
        points
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.first_row.len()
    }
}
