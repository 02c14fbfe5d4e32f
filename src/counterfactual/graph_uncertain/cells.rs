//! The binned mechanism: the value of a node by the cells of its parents, in one bootstrap
//! replicate.
//!
//! Not in the paper. A cell holds the training rows with the same levels of the nominal parents and
//! the same bins of the numeric ones. Numeric parents also have slopes, common to all cells: least
//! squares on values centred by cell. A level follows the shares of the cell, moved along the
//! slopes; a number keeps its rank among the residuals when the cell changes, and its residual when
//! it does not. Cells of levels and bins answer where both the cell before and the cell after hold
//! enough rows, else cells of levels only, else the linear equation.
//! Cost: one pass over the training rows for each node, parent set and kind of cell. Memory: the
//! residuals of numeric nodes, 16 bytes a distinct value.

use std::collections::BTreeMap;

use super::coupling::shares_of_levels;
use super::ranks::RankTable;
use crate::causal::nodes::NodeSet;
use crate::causal::scm::EIGENVALUE_CUTOFF;
use crate::num::eigen::shortest_solutions;
use crate::num::hash::FastMap;
use crate::num::linalg::SymmetricMatrix;

/// Variances below this are rounding errors: then there is no slope.
const VARIANCE_NOISE: f64 = 1e-12;

/// A value above an edge by less than this share of it is at the edge.
const CUT_ROUNDING: f64 = 1e-9;

/// One variable of the graph over the training rows, or over people.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeKind {
    /// A number, z-scored by mean and standard deviation; `cuts` are the inner edges of its bins.
    Number {
        /// Mean of the training rows.
        mean: f64,
        /// The standard deviation of the values.
        sd: f64,
        /// Inner edges of the bins, ascending; none where it has no bins.
        cuts: Vec<f64>,
    },
    /// This many levels; a value is the position of a level.
    Levels(usize),
}

impl NodeKind {
    /// Number of encoded columns.
    fn width(&self) -> usize {
        match self {
            NodeKind::Levels(n) if *n > 2 => *n,
            _ => 1,
        }
    }

    /// The entry of encoded column `k` of a value.
    pub(super) fn entry(&self, k: usize, value: f64) -> f64 {
        match self {
            NodeKind::Number { mean, sd, .. } => (value - mean) / sd,
            NodeKind::Levels(2) => f64::from(value == 1.0),
            NodeKind::Levels(_) => f64::from(value == k as f64),
        }
    }
}

/// The bin of a value: the number of cuts that it is above.
fn bin_of(cuts: &[f64], x: f64) -> u32 {
    let above = |cut: &&f64| x > **cut + CUT_ROUNDING * cut.abs().max(1.0);
    cuts.iter().filter(above).count() as u32
}

/// Values of the variables over the training rows of one replicate.
pub(crate) struct ReplicateColumns<'a> {
    /// The variables.
    pub kinds: &'a [NodeKind],
    /// The values of each variable.
    pub columns: &'a [Vec<f64>],
    /// The number of times that each row was drawn.
    pub times: &'a [u32],
}

/// Cells of one node and parent set, all by levels and bins or all by levels only.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CellFit {
    /// The parents whose values distinguish cells.
    keyed: Vec<usize>,
    /// The numeric parents.
    numeric: Vec<usize>,
    /// The slope of each numeric parent, for each encoded column of the node.
    slopes: Vec<Vec<f64>>,
    cells: FastMap<Vec<u32>, ParentCell>,
}

/// The training rows of one cell.
#[derive(Debug, Clone, Default, PartialEq)]
struct ParentCell {
    /// Draws.
    n: u64,
    /// Sums, then means, of the numeric parents' z.
    z: Vec<f64>,
    /// Sums, then means, of the node's encoded columns.
    y: Vec<f64>,
    /// The residuals of a numeric node, in the unit of the column.
    residuals: RankTable,
}

/// The cells that determine a node: by levels and bins, and by levels only if these differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BinnedMechanism {
    fits: Vec<CellFit>,
    min_cell: u64,
}

/// Which cells gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MechanismStep {
    /// Cells by levels and bins.
    Cells,
    /// Cells by levels only.
    Levels,
    /// None: the linear equation.
    Linear,
}

/// A fit with the cells before and after.
pub(crate) struct CellPair<'a> {
    /// Which step this is.
    pub step: MechanismStep,
    fit: &'a CellFit,
    kinds: &'a [NodeKind],
    before: &'a ParentCell,
    after: &'a ParentCell,
}

impl BinnedMechanism {
    /// Fits both kinds of cells of node `v`; a cell answers from `min_cell` draws on.
    pub(crate) fn fit(
        rows: &ReplicateColumns<'_>,
        v: usize,
        parents: NodeSet,
        min_cell: u64,
    ) -> BinnedMechanism {
        let by_bins = CellFit::new(rows, v, parents, true);
        let has_bins = by_bins.keyed.len()
            > parents.into_iter().filter(|&p| matches!(rows.kinds[p], NodeKind::Levels(_))).count();
        let mut fits = vec![by_bins];
        if has_bins {
            fits.push(CellFit::new(rows, v, parents, false));
        }
        BinnedMechanism { fits, min_cell }
    }

    /// The bytes that it takes, roughly.
    pub(crate) fn memory(&self) -> usize {
        let of_cell =
            |cell: &ParentCell| 128 + 8 * (cell.z.len() + cell.y.len()) + cell.residuals.memory();
        self.fits.iter().flat_map(|fit| fit.cells.values()).map(of_cell).sum()
    }

    /// The first kind of cells in which both the cell of the values before and the cell of the
    /// values after hold enough rows; none where the linear equation answers.
    pub(crate) fn cells<'a>(
        &'a self,
        kinds: &'a [NodeKind],
        before: &[f64],
        after: &[f64],
    ) -> Option<CellPair<'a>> {
        let steps = [MechanismStep::Cells, MechanismStep::Levels];
        self.fits.iter().zip(steps).find_map(|(fit, step)| {
            let cell = |values: &[f64]| {
                let key = fit.key(kinds, |p| values[p])?;
                fit.cells.get(&key).filter(|cell| cell.n >= self.min_cell)
            };
            let (before, after) = (cell(before)?, cell(after)?);
            Some(CellPair { step, fit, kinds, before, after })
        })
    }
}

impl CellFit {
    fn new(rows: &ReplicateColumns<'_>, v: usize, parents: NodeSet, with_bins: bool) -> CellFit {
        let is_number = |p: &usize| matches!(rows.kinds[*p], NodeKind::Number { .. });
        let is_keyed = |p: &usize| match &rows.kinds[*p] {
            NodeKind::Levels(_) => true,
            NodeKind::Number { cuts, .. } => with_bins && !cuts.is_empty(),
        };
        let numeric: Vec<usize> = parents.into_iter().filter(is_number).collect();
        let keyed: Vec<usize> = parents.into_iter().filter(is_keyed).collect();
        let width = rows.kinds[v].width();
        let fit = CellFit { keyed, numeric, slopes: Vec::new(), cells: FastMap::default() };
        let drawn: Vec<usize> = (0..rows.times.len()).filter(|&i| rows.times[i] > 0).collect();
        let z = |i: usize| -> Vec<f64> {
            fit_z(&fit.numeric, rows.kinds, |p| rows.columns[p][i]).collect()
        };
        let y = |i: usize, k: usize| rows.kinds[v].entry(k, rows.columns[v][i]);
        let key = |i: usize| fit.key(rows.kinds, |p| rows.columns[p][i]);
        // In the order of the keys, so that sums over cells are the same on every platform.
        let mut members: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for &i in &drawn {
            if let Some(key) = key(i) {
                members.entry(key).or_default().push(i);
            }
        }
        let mut means: Vec<(Vec<f64>, Vec<f64>, u64)> = Vec::with_capacity(members.len());
        let n_numeric = fit.numeric.len();
        let mut squares =
            SymmetricMatrix { n: n_numeric, lower: vec![0.0; SymmetricMatrix::at(n_numeric, 0)] };
        let mut products = vec![vec![0.0; n_numeric]; width];
        let mut total = 0;
        for of_cell in members.values() {
            let n: u64 = of_cell.iter().map(|&i| u64::from(rows.times[i])).sum();
            let (mut z_mean, mut y_mean) = (vec![0.0; n_numeric], vec![0.0; width]);
            for &i in of_cell {
                let w = f64::from(rows.times[i]);
                z_mean.iter_mut().zip(z(i)).for_each(|(sum, z)| *sum += w * z);
                y_mean.iter_mut().enumerate().for_each(|(k, sum)| *sum += w * y(i, k));
            }
            z_mean.iter_mut().chain(&mut y_mean).for_each(|sum| *sum /= n as f64);
            for &i in of_cell.iter().filter(|_| n_numeric > 0) {
                let w = f64::from(rows.times[i]);
                let centred: Vec<f64> =
                    z(i).iter().zip(&z_mean).map(|(z, mean)| z - mean).collect();
                for a in 0..n_numeric {
                    for b in 0..=a {
                        squares.lower[SymmetricMatrix::at(a, b)] += w * centred[a] * centred[b];
                    }
                    for (k, products) in products.iter_mut().enumerate() {
                        products[a] += w * centred[a] * (y(i, k) - y_mean[k]);
                    }
                }
            }
            total += n;
            means.push((z_mean, y_mean, n));
        }
        let total = (total as f64).max(1.0);
        squares.lower.iter_mut().for_each(|sum| *sum /= total);
        products.iter_mut().flatten().for_each(|sum| *sum /= total);
        let cut = |largest: f64| match largest <= VARIANCE_NOISE {
            true => f64::INFINITY,
            false => EIGENVALUE_CUTOFF * largest,
        };
        let slopes = shortest_solutions(&squares, &products, cut);
        let residuals = |of_cell: &[usize]| match &rows.kinds[v] {
            NodeKind::Levels(_) => RankTable::default(),
            NodeKind::Number { sd, .. } => {
                let residual =
                    |i: usize| residual(rows.columns[v][i], *sd, &slopes[0], z(i).iter().copied());
                RankTable::new(of_cell.iter().map(|&i| (residual(i), rows.times[i])).collect())
            }
        };
        let cells = members.iter().zip(means).map(|((key, of_cell), (z, y, n))| {
            (key.clone(), ParentCell { n, z, y, residuals: residuals(of_cell) })
        });
        let cells: FastMap<Vec<u32>, ParentCell> = cells.collect();
        CellFit { slopes, cells, ..fit }
    }

    /// The cell of a row; none where it has a level that no training row has.
    fn key(&self, kinds: &[NodeKind], value: impl Fn(usize) -> f64) -> Option<Vec<u32>> {
        let part = |&p: &usize| match &kinds[p] {
            NodeKind::Number { cuts, .. } => Some(bin_of(cuts, value(p))),
            NodeKind::Levels(_) => (value(p) >= 0.0).then(|| value(p) as u32),
        };
        self.keyed.iter().map(part).collect()
    }
}

/// The z of the numeric parents.
fn fit_z<'a>(
    numeric: &'a [usize],
    kinds: &'a [NodeKind],
    value: impl Fn(usize) -> f64 + 'a,
) -> impl Iterator<Item = f64> + 'a {
    numeric.iter().map(move |&p| kinds[p].entry(0, value(p)))
}

/// The residual of a value after the numeric parents.
fn residual(x: f64, sd: f64, slopes: &[f64], z: impl Iterator<Item = f64>) -> f64 {
    x - sd * slopes.iter().zip(z).map(|(b, z)| b * z).sum::<f64>()
}

impl CellPair<'_> {
    /// The shares of a node's levels, not yet clipped, before or after, into `shares`.
    pub(crate) fn shares(&self, values: &[f64], is_after: bool, shares: &mut Vec<f64>) {
        let cell = if is_after { self.after } else { self.before };
        let z: Vec<f64> = fit_z(&self.fit.numeric, self.kinds, |p| values[p]).collect();
        let moved = |k: usize| {
            let apart = z.iter().zip(&cell.z).map(|(z, mean)| z - mean);
            cell.y[k] + self.fit.slopes[k].iter().zip(apart).map(|(b, z)| b * z).sum::<f64>()
        };
        shares_of_levels((0..cell.y.len()).map(moved), shares);
    }

    /// The number of node `v` after, where it was `x` before; `tie` places it among equal ones.
    pub(crate) fn number(&self, v: usize, x: f64, before: &[f64], after: &[f64], tie: f64) -> f64 {
        let NodeKind::Number { sd, .. } = self.kinds[v] else { return x };
        let explained = |values: &[f64]| {
            let z = fit_z(&self.fit.numeric, self.kinds, |p| values[p]);
            sd * self.fit.slopes[0].iter().zip(z).map(|(b, z)| b * z).sum::<f64>()
        };
        if std::ptr::eq(self.before, self.after) {
            return x + (explained(after) - explained(before));
        }
        let own = x - explained(before);
        self.before.residuals.image(&self.after.residuals, own, tie) + explained(after)
    }
}

#[cfg(test)]
mod tests {
    use super::bin_of;
    use crate::causal::tests::frame::expected;
    use crate::num::summary::equal_cuts;
    use crate::tests::json;

    #[test]
    fn cuts_and_bins_agree() {
        let micro = json(expected("extensions/micro.json"));
        for case in micro["cuts"].as_array().unwrap() {
            let list = |key: &str| -> Vec<f64> {
                case[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
            };
            let mut values = list("values");
            values.sort_by(f64::total_cmp);
            let cuts = equal_cuts(&values, case["bins"].as_u64().unwrap() as usize);
            assert_eq!(cuts, list("cuts"), "{case}");
            for pair in case["bin_of"].as_array().unwrap() {
                let bin = u64::from(bin_of(&cuts, pair[0].as_f64().unwrap()));
                assert_eq!(Some(bin), pair[1].as_u64(), "{case}");
            }
        }
    }
}
