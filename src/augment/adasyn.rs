//! ADASYN: synthetic rows of the rarer class, more of them where rows of the other class are near.
//!
//! Source: He, Bai, Garcia and Li 2008, "ADASYN: Adaptive synthetic sampling approach for
//! imbalanced learning", Algorithm ADASYN. Input: m rows with a binary class, their vectors in
//! z-space. Output: for each synthetic row its base, a neighbour and the position between them.
//!
//! With m_s rows of the rarer class and m_l of the other: no rows where m_s / m_l >= `ratio`
//! (d_th), else G = (m_l - m_s) beta. r_i = share of the other class among the K nearest of all
//! other rows; row i is the base of g_i = floor(G r_i / sum(r) + 0.5 + 1e-9) rows, the t-th towards
//! element floor(u01(h(seed, i, 2t)) k) of its k = min(K, m_s - 1) nearest rows of its class, at
//! lambda = u01(h(seed, i, 2t + 1)). Numbers are x_i + lambda (x_z - x_i), whole ones and ordered
//! levels rounded by floor(x + 0.5 + 1e-9), ordinal numbers to the nearest value that a row has;
//! all other values are those of the nearer parent (i where lambda < 0.5).
//!
//! Choice: squared distances are compared as whole numbers of 1e-9, ties by row number. A number
//! that is missing in a parent is taken from the nearer parent. A class of a single row has no
//! neighbour and gives no synthetic row. Rows are counted without weights.
//! Cost: a search among all rows for each row of the rarer class ([`crate::num::neighbours`]); all
//! rows are in memory.

use rayon::prelude::*;

use super::knobs::AdasynArm;
use crate::counterfactual::SampleBatch;
use crate::counterfactual::counting::counts_of;
use crate::counterfactual::space::ReferenceSpace;
use crate::counterfactual::variable::{StrategyVariable, VariableScale};
use crate::data::FeatureRows;
use crate::num::neighbours::{NearestPoints, NeighbourTree, PointMatrix};
use crate::num::seed::{h, u01};
use crate::num::summary::ascending;

/// Units in a squared distance of 1.
const DISTANCE_UNITS: f64 = 1e9;

/// The settings of the job, and the seed of the draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AdasynSettings {
    /// The knobs.
    pub arm: AdasynArm,
    /// The seed of the draws.
    pub seed: u64,
}

/// A synthetic row: its position between two rows of the rarer class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SyntheticRow {
    /// Number of its base row.
    pub base: u32,
    /// Number of the neighbour that it moves towards.
    pub neighbour: u32,
    /// The position between the two, from 0 (the base) to below 1.
    pub lambda: f64,
}

impl SyntheticRow {
    /// The nearer of its parents.
    pub(crate) fn nearer(&self) -> u32 {
        if self.lambda < 0.5 { self.base } else { self.neighbour }
    }
}

/// The synthetic rows to add, with the counts behind them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AdasynPlan {
    /// The rarer class.
    pub class: bool,
    /// Its rows, ascending.
    pub rows: Vec<u32>,
    /// The share of the other class among the neighbours of each of these rows.
    pub other_class_shares: Vec<f64>,
    /// The number of synthetic rows with each of these rows as base.
    pub rows_per_base: Vec<u64>,
    /// The synthetic rows, by base, then in the order of their draws.
    pub synthetic: Vec<SyntheticRow>,
}

impl AdasynSettings {
    /// The synthetic rows for rows with these vectors and classes.
    ///
    /// Runs on the threads of the caller's pool.
    pub(crate) fn plan(&self, points: PointMatrix<'_>, classes: &[bool]) -> AdasynPlan {
        let rows_of = |class: bool| {
            (0_u32..)
                .zip(classes)
                .filter(move |(_, c)| **c == class)
                .map(|(i, _)| i)
                .collect::<Vec<_>>()
        };
        let (negative, positive) = (rows_of(false), rows_of(true));
        let class = positive.len() < negative.len();
        let (rows, larger) =
            if class { (positive, negative.len()) } else { (negative, positive.len()) };
        // Numbers of rows are far below 2^53, so they are exact as floats.
        let (m_s, m_l) = (rows.len() as f64, larger as f64);
        let none = AdasynPlan {
            class,
            rows: rows.clone(),
            other_class_shares: vec![0.0; rows.len()],
            rows_per_base: vec![0; rows.len()],
            synthetic: Vec::new(),
        };
        let AdasynArm { neighbours, beta, ratio } = self.arm;
        let neighbours = neighbours.size();
        if rows.len() < 2 || m_s / m_l >= ratio.get() {
            return none;
        }
        let all = (0_u32..).take(classes.len()).collect();
        let most = neighbours.saturating_add(1);
        let everybody = NeighbourTree::new(points, all, most).in_units(DISTANCE_UNITS);
        let own = NeighbourTree::new(points, rows.clone(), most).in_units(DISTANCE_UNITS);
        let nearest = |tree: &NeighbourTree, i: u32| {
            let mut found = NearestPoints::new(most);
            tree.search(points.at(i), &mut found);
            found.numbers().filter(|&other| other != i).take(neighbours).collect::<Vec<_>>()
        };
        let share = |&i: &u32| {
            let near = nearest(&everybody, i);
            let others = near.iter().filter(|&&other| classes[other as usize] != class).count();
            others as f64 / near.len() as f64
        };
        let r: Vec<f64> = rows.par_iter().map(share).collect();
        let sum: f64 = r.iter().sum();
        if sum == 0.0 {
            return none;
        }
        let lacking = (m_l - m_s) * beta.get();
        let g: Vec<u64> =
            r.iter().map(|r| (lacking * r / sum + 0.5 + 1e-9).floor() as u64).collect();
        let of_row = |(&i, &g): (&u32, &u64)| {
            let near = if g == 0 { Vec::new() } else { nearest(&own, i) };
            let one = |t: u64| {
                let element = (u01(h(self.seed, u64::from(i), 2 * t)) * near.len() as f64) as usize;
                let lambda = u01(h(self.seed, u64::from(i), 2 * t + 1));
                near.get(element).map(|&neighbour| SyntheticRow { base: i, neighbour, lambda })
            };
            (0..g).filter_map(one).collect::<Vec<_>>()
        };
        let made = rows.par_iter().zip(&g).map(of_row).collect::<Vec<_>>().concat();
        AdasynPlan { class, rows, other_class_shares: r, rows_per_base: g, synthetic: made }
    }
}

/// The vectors of rows in their own z-space, row by row, and the length of a vector.
pub(crate) fn vectors(variables: &[StrategyVariable], rows: &FeatureRows) -> (Vec<f64>, usize) {
    let (groups, classes) = (vec![0; rows.n], vec![None; rows.n]);
    let counts =
        counts_of(variables, &SampleBatch { keys: &[], rows, groups: &groups, classes: &classes });
    let space = ReferenceSpace::from_counts(variables, &counts);
    let mut vector = Vec::new();
    let mut all = Vec::with_capacity(rows.n * space.width());
    for i in 0..rows.n {
        space.vector(variables, rows, i, &mut vector);
        all.extend_from_slice(&vector);
    }
    (all, space.width())
}

/// The values of the synthetic rows between these rows.
///
/// Derived features are not computed again here.
pub(crate) fn synthetic_rows(
    variables: &[StrategyVariable],
    rows: &FeatureRows,
    made: &[SyntheticRow],
) -> FeatureRows {
    let nearer: Vec<usize> = made.iter().map(|between| between.nearer() as usize).collect();
    let mut new = rows.take(&nearer);
    for variable in variables {
        let numbers = rows.numbers(variable.columns[0]);
        let round: &dyn Fn(f64) -> f64 = match variable.scale {
            VariableScale::Continuous { integer: false } => &|x| x,
            VariableScale::Ordinal {} if !numbers.is_empty() => {
                let mut known = ascending(numbers);
                known.dedup();
                &move |x| nearest_of(&known, x)
            }
            VariableScale::Continuous { integer: true } | VariableScale::Ordinal {} => {
                &|x| (x + 0.5 + 1e-9).floor()
            }
            VariableScale::Categorical(_) => continue,
        };
        for (k, between) in made.iter().enumerate() {
            let number = |row: u32| variable.number(rows, row as usize);
            let (x, z) = (number(between.base), number(between.neighbour));
            let value = x + between.lambda * (z - x);
            if !value.is_nan() {
                variable.set_number(&mut new, k, round(value));
            }
        }
    }
    new
}

/// The nearest of ascending values; ties go to the higher.
fn nearest_of(known: &[f64], x: f64) -> f64 {
    let above = known.partition_point(|&value| value < x);
    match (above.checked_sub(1).map(|below| known[below]), known.get(above)) {
        (Some(below), Some(&above)) if (above - x) > (x - below) + 2e-9 => below,
        (_, Some(&above)) => above,
        (below, None) => below.unwrap_or(x),
    }
}
