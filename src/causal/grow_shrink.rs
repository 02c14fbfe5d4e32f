//! Grow-shrink trees: the parents of a variable x among a set of variables that may precede it.
//!
//! Source: Andrews et al. 2023, algorithms 1 and 2, with the order of branches and the treatment of
//! ties of Tetrad 7.6. A tree node is a path of grown parents. Its branches are the candidates
//! whose score is not below the node's (equal is kept), required ones first, then by score, then by
//! position. A walk takes the first branch that may precede x; branches passed over are excluded
//! from the whole subtree, so the subtree of a node depends only on its path and the tree is a
//! cache. Where no branch remains, parents are removed one by one while that raises the score.
//! Choice: a variable with one value in the replicate is not a candidate unless required.
//!
//! Cost: a node keeps the whitened rows of the columns it added, and for every column the variance
//! and the covariance with x conditional on the path: (2 + d) columns x 8 bytes. A candidate of one
//! column then costs O(1), one of d columns O(m d^2 + d^3) for m columns on the path.

use std::ops::Range;

use crate::causal::knowledge::Knowledge;
use crate::causal::nodes::NodeSet;
use crate::causal::score::{GraphScore, SINGULAR_VARIANCE, subtract_times, sweep};
use crate::causal::shrink::shrink;

/// One tree per variable.
pub(super) struct GrowShrinkForest<'a>(Vec<GrowShrinkTree<'a>>);

struct GrowShrinkTree<'a> {
    score: &'a GraphScore,
    x: usize,
    /// The variables that must be parents.
    required: NodeSet,
    /// The variables that may be parents.
    possible: NodeSet,
    nodes: Vec<GrowShrinkNode>,
    branches: Vec<GrowShrinkBranch>,
    /// Residual moments of the nodes, one node after the other.
    residuals: Vec<f64>,
}

struct GrowShrinkBranch {
    /// s(x | path of the node and the variable).
    score: f64,
    variable: u32,
    /// The node it leads to; 0, the root, before the first visit.
    child: u32,
}

struct GrowShrinkNode {
    parent: usize,
    path: NodeSet,
    available: NodeSet,
    /// Columns of the path.
    m: usize,
    /// s(x | path).
    score: f64,
    branches: Range<usize>,
    /// The variables of the branches.
    branch_variables: NodeSet,
    shrunk: Option<(f64, NodeSet)>,
    /// Where `residuals` holds, `width` numbers each: the variances of all columns, their
    /// covariances with each column of x, and the whitened rows of the columns that the last
    /// variable of the path added.
    residuals: Range<usize>,
}

impl<'a> GrowShrinkForest<'a> {
    /// Empty trees for a search over `nodes`.
    pub(super) fn new(score: &'a GraphScore, knowledge: &Knowledge, nodes: NodeSet) -> Self {
        let tree = |x: usize| {
            let varying = nodes
                .into_iter()
                .filter(|&y| score.varies(x) && score.varies(y))
                .collect::<NodeSet>();
            let required = knowledge.required[x];
            let possible = (varying | required) & nodes;
            let possible = (possible - knowledge.forbidden[x]).without(x);
            GrowShrinkTree {
                score,
                x,
                required,
                possible,
                nodes: Vec::new(),
                branches: Vec::new(),
                residuals: Vec::new(),
            }
        };
        GrowShrinkForest((0..score.n_variables()).map(tree).collect())
    }

    /// The score of `x`, and its parents, when the variables `before` may precede it.
    pub(super) fn best_parents(&mut self, x: usize, before: NodeSet) -> (f64, NodeSet) {
        let tree = &mut self.0[x];
        if tree.nodes.is_empty() {
            tree.add_root();
        }
        let mut at = 0;
        loop {
            let node = &tree.nodes[at];
            if (node.branch_variables & before).is_empty() {
                return tree.shrink(at);
            }
            let first = tree.branches[node.branches.clone()]
                .iter()
                .position(|branch| before.contains(branch.variable as usize));
            let branch = node.branches.start + first.expect("one of those offered may precede x");
            at = match tree.branches[branch].child {
                0 => tree.add_node(at, branch),
                child => child as usize,
            };
        }
    }
}

impl GrowShrinkTree<'_> {
    /// Adds the root.
    fn add_root(&mut self) {
        let score = self.score;
        let width = score.width;
        self.residuals.resize(width, 1.0);
        self.residuals.extend(
            score.columns[self.x]
                .clone()
                .flat_map(|c| &score.correlations[c * width..(c + 1) * width]),
        );
        self.nodes.push(GrowShrinkNode {
            parent: 0,
            path: NodeSet::EMPTY,
            available: self.possible,
            m: 0,
            score: score.local_score(self.x, NodeSet::EMPTY).score,
            branches: 0..0,
            branch_variables: NodeSet::EMPTY,
            shrunk: None,
            residuals: 0..self.residuals.len(),
        });
        self.add_branches(0);
    }

    /// Adds the node that a branch of node `parent` leads to.
    fn add_node(&mut self, above: usize, branch: usize) -> usize {
        let at = self.nodes.len();
        let GrowShrinkBranch { score, variable, .. } = self.branches[branch];
        let y = variable as usize;
        let node = &self.nodes[above];
        // Branches passed over are excluded from the whole subtree.
        let passed: NodeSet = self.branches[node.branches.start..=branch]
            .iter()
            .map(|b| b.variable as usize)
            .collect();
        let next = GrowShrinkNode {
            parent: above,
            path: node.path.with(y),
            available: node.available - passed,
            m: node.m + self.score.columns[y].len(),
            score,
            branches: 0..0,
            branch_variables: NodeSet::EMPTY,
            shrunk: None,
            residuals: self.add_residuals(above, y),
        };
        self.nodes.push(next);
        self.branches[branch].child = at as u32;
        self.add_branches(at);
        at
    }

    /// Adds to `residuals` the moments conditional on the path of node `above` and on `y`.
    fn add_residuals(&mut self, above: usize, y: usize) -> Range<usize> {
        let score = self.score;
        let (width, xs) = (score.width, score.columns[self.x].clone());
        let start = self.residuals.len();
        let base = self.nodes[above].residuals.start;
        let rows_at = start + (1 + xs.len()) * width;
        self.residuals.extend_from_within(base..base + (1 + xs.len()) * width);
        let mut before = Vec::new();
        self.whitened_row_starts(above, width, &mut before);
        for c in score.columns[y].clone() {
            let v = self.residuals[start + c];
            if v < SINGULAR_VARIANCE {
                continue;
            }
            let row_at = self.residuals.len();
            self.residuals.extend_from_slice(&score.correlations[c * width..(c + 1) * width]);
            let (old, row) = self.residuals.split_at_mut(row_at);
            let earlier = before.iter().copied().chain((rows_at..row_at).step_by(width.max(1)));
            for earlier in earlier.map(|at| &old[at..at + width]) {
                let factor = earlier[c];
                row.iter_mut().zip(earlier).for_each(|(cell, x)| *cell -= factor * x);
            }
            let scale = 1.0 / v.sqrt();
            row.iter_mut().for_each(|cell| *cell *= scale);
            let (variances, with_x) = old[start..rows_at].split_at_mut(width);
            variances.iter_mut().zip(&*row).for_each(|(v, x)| *v -= x * x);
            for (with, own) in with_x.chunks_exact_mut(width).zip(xs.clone()) {
                let factor = row[own];
                with.iter_mut().zip(&*row).for_each(|(cell, x)| *cell -= factor * x);
            }
        }
        start..self.residuals.len()
    }

    /// The positions at which the whitened rows of the path to a node start.
    fn whitened_row_starts(&self, at: usize, width: usize, found: &mut Vec<usize>) {
        let mut at = at;
        while at > 0 {
            let node = &self.nodes[at];
            // The root holds no rows: as many numbers precede the rows of every other node.
            found.extend(
                (node.residuals.start + self.nodes[0].residuals.len()..node.residuals.end)
                    .step_by(width.max(1)),
            );
            at = node.parent;
        }
    }

    /// Adds the branches of a node.
    fn add_branches(&mut self, at: usize) {
        let (score, x, required, node) = (self.score, self.x, self.required, &self.nodes[at]);
        let left =
            ResidualCovariance { score, x, residuals: &self.residuals[node.residuals.clone()] };
        let mut rows = Vec::new();
        self.whitened_row_starts(at, score.width, &mut rows);
        let start = self.branches.len();
        let mut work = Vec::new();
        // If x is one column, one more column with a variance above this cannot raise the score, so
        // no logarithm is needed.
        let most = left.variance_of_x() * libm::exp(-score.penalty / score.n) * (1.0 + 1e-9);
        for y in node.available {
            let log_sum = match left.variance_given(y) {
                Some(variance) if variance > most && !required.contains(y) => continue,
                Some(variance) => libm::log(variance),
                None => left.log_sum(y, &self.residuals, &rows, &mut work),
            };
            let gained = score.score_of_log_variances(x, log_sum, node.m + score.columns[y].len());
            if gained >= node.score || required.contains(y) {
                self.branches.push(GrowShrinkBranch {
                    score: gained,
                    variable: y as u32,
                    child: 0,
                });
            }
        }
        // The sort is stable: required candidates, and equal scores, stay in the order of
        // positions.
        self.branches[start..].sort_by(|a, b| {
            match (required.contains(a.variable as usize), required.contains(b.variable as usize)) {
                (false, false) => b.score.total_cmp(&a.score),
                (first, second) => second.cmp(&first),
            }
        });
        self.nodes[at].branch_variables =
            self.branches[start..].iter().map(|b| b.variable as usize).collect();
        self.nodes[at].branches = start..self.branches.len();
    }

    fn shrink(&mut self, at: usize) -> (f64, NodeSet) {
        let node = &mut self.nodes[at];
        if let Some(done) = node.shrunk {
            return done;
        }
        let done = shrink(self.score, self.x, (node.path, node.score), self.required);
        node.shrunk = Some(done);
        done
    }
}

/// The residual covariances at a node.
struct ResidualCovariance<'a> {
    score: &'a GraphScore,
    x: usize,
    residuals: &'a [f64],
}

impl ResidualCovariance<'_> {
    fn with_x(&self, k: usize) -> &[f64] {
        &self.residuals[(1 + k) * self.score.width..(2 + k) * self.score.width]
    }

    /// The variance of x, where it is one column.
    fn variance_of_x(&self) -> f64 {
        self.score.columns[self.x]
            .clone()
            .next()
            .map_or(1.0, |c| self.residuals[c].max(SINGULAR_VARIANCE))
    }

    /// The variance of x given also y, if both are one column.
    fn variance_given(&self, y: usize) -> Option<f64> {
        let (xs, ys) = (&self.score.columns[self.x], &self.score.columns[y]);
        if xs.len() != 1 || ys.len() != 1 {
            return None;
        }
        let (v, c) = (self.residuals[ys.start], self.with_x(0)[ys.start]);
        let variance = if v < SINGULAR_VARIANCE {
            self.residuals[xs.start]
        } else {
            self.residuals[xs.start] - c * c / v
        };
        Some(variance.max(SINGULAR_VARIANCE))
    }

    /// The sum of the logarithms of the variances of x's columns given the path and `y`;
    /// `whitened_row_starts` are the places in `stored` of the whitened rows of the path.
    fn log_sum(&self, y: usize, stored: &[f64], rows: &[usize], work: &mut Vec<f64>) -> f64 {
        let (score, xs, ys) =
            (self.score, self.score.columns[self.x].clone(), self.score.columns[y].clone());
        let size = ys.len() + xs.len();
        work.clear();
        work.resize(size * size, 0.0);
        for (i, c) in ys.clone().enumerate() {
            let (own, with_x) = work[i * size + i..(i + 1) * size].split_at_mut(ys.len() - i);
            own.copy_from_slice(&score.correlations[c * score.width + c..c * score.width + ys.end]);
            with_x.iter_mut().enumerate().for_each(|(k, cell)| *cell = self.with_x(k)[c]);
        }
        for &row in rows {
            let row = &stored[row + ys.start..row + ys.end];
            for (i, &factor) in row.iter().enumerate() {
                let cells = &mut work[i * size + i..i * size + ys.len()];
                subtract_times(cells, factor, &row[i..]);
            }
        }
        for i in 0..xs.len() {
            let at = ys.len() + i;
            work[at * size + at..(at + 1) * size]
                .copy_from_slice(&self.with_x(i)[xs.start + i..xs.end]);
        }
        sweep(work, size, ys.len()).0
    }
}
