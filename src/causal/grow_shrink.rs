//! Grow-shrink trees: for a variable x and the set of variables that may precede it, the parents that growing and then shrinking find.
//!
//! Source: Andrews et al. 2023, algorithms 1 and 2; CF-GU specification section 4, whose order of branches and treatment of ties are
//! Tetrad's. A tree node is a path of grown parents. Its branches are the candidates whose score is not below the node's (equal is kept),
//! required ones first, then by score, then by position. A walk takes the first branch that may precede x; branches passed over are out for
//! the whole subtree, so what stands below a node depends on the path alone and the tree is a cache. Where no branch is left, parents are
//! removed one by one while that raises the score.
//! Choice: a variable with one value in the replicate is no candidate unless required.
//!
//! Cost: a node keeps the whitened rows of the columns it added, and for all columns the variance, and the covariance with x, that are
//! left given the path: (2 + d) columns x 8 bytes. A candidate of one column then costs O(1), one of d columns O(m d^2 + d^3) for m
//! columns on the path.

use std::ops::Range;

use crate::causal::knowledge::Knowledge;
use crate::causal::nodes::Nodes;
use crate::causal::score::{SINGULAR, Score, sweep};
use crate::causal::shrink::shrink;

/// One tree per variable.
pub(super) struct Trees<'a> {
    score: &'a Score,
    knowledge: &'a Knowledge,
    trees: Vec<Tree>,
}

struct Tree {
    x: usize,
    /// The variables that may be parents at all.
    possible: Nodes,
    nodes: Vec<Node>,
    branches: Vec<Branch>,
    /// What is left at the nodes, one after the other.
    left: Vec<f64>,
}

struct Branch {
    /// s(x | path of the node and the variable).
    score: f64,
    variable: u32,
    /// The node it leads to; 0, the root, while nobody went there.
    child: u32,
}

struct Node {
    above: usize,
    path: Nodes,
    available: Nodes,
    /// Columns of the path.
    m: usize,
    /// s(x | path).
    score: f64,
    branches: Range<usize>,
    /// The variables of the branches.
    offered: Nodes,
    shrunk: Option<(f64, Nodes)>,
    /// Where `left` holds, `width` numbers each: the variances of all columns, their covariances with each column of x, and the
    /// whitened rows of the columns that the last variable of the path added.
    left: Range<usize>,
}

impl<'a> Trees<'a> {
    /// Empty trees for a search among `nodes`.
    pub(super) fn new(score: &'a Score, knowledge: &'a Knowledge, nodes: Nodes) -> Self {
        let tree = |x: usize| {
            let varying = nodes.into_iter().filter(|&y| score.varies(x) && score.varies(y)).collect::<Nodes>();
            let possible = (varying | knowledge.required_causes(x)) & nodes;
            let possible = (possible - knowledge.forbidden_causes(x)).without(x);
            Tree { x, possible, nodes: Vec::new(), branches: Vec::new(), left: Vec::new() }
        };
        Trees { score, knowledge, trees: (0..score.n_variables()).map(tree).collect() }
    }

    /// The score of `x` and its parents when `before` may precede it.
    pub(super) fn trace(&mut self, x: usize, before: Nodes) -> (f64, Nodes) {
        let tree = &mut self.trees[x];
        if tree.nodes.is_empty() {
            tree.plant(self.score, self.knowledge);
        }
        let mut at = 0;
        loop {
            let node = &tree.nodes[at];
            if (node.offered & before).is_empty() {
                return tree.shrink(at, self.score, self.knowledge);
            }
            let first = tree.branches[node.branches.clone()].iter().position(|branch| before.has(branch.variable as usize));
            let branch = node.branches.start + first.expect("one of those offered may precede x");
            at = match tree.branches[branch].child {
                0 => tree.grow(at, branch, self.score, self.knowledge),
                child => child as usize,
            };
        }
    }
}

impl Tree {
    /// Makes the root.
    fn plant(&mut self, score: &Score, knowledge: &Knowledge) {
        let width = score.width;
        self.left.resize(width, 1.0);
        self.left.extend(score.columns[self.x].clone().flat_map(|c| &score.correlations[c * width..(c + 1) * width]));
        self.nodes.push(Node {
            above: 0,
            path: Nodes::NONE,
            available: self.possible,
            m: 0,
            score: score.local(self.x, Nodes::NONE).score,
            branches: 0..0,
            offered: Nodes::NONE,
            shrunk: None,
            left: 0..self.left.len(),
        });
        self.spread(0, score, knowledge);
    }

    /// Makes the node that a branch of node `above` leads to.
    fn grow(&mut self, above: usize, branch: usize, score: &Score, knowledge: &Knowledge) -> usize {
        let at = self.nodes.len();
        let Branch { score: score_here, variable, .. } = self.branches[branch];
        let y = variable as usize;
        let node = &self.nodes[above];
        // Branches passed over are out for all that follows.
        let passed: Nodes = self.branches[node.branches.start..=branch].iter().map(|b| b.variable as usize).collect();
        let next = Node {
            above,
            path: node.path.with(y),
            available: node.available - passed,
            m: node.m + score.columns[y].len(),
            score: score_here,
            branches: 0..0,
            offered: Nodes::NONE,
            shrunk: None,
            left: self.condition(above, y, score),
        };
        self.nodes.push(next);
        self.branches[branch].child = at as u32;
        self.spread(at, score, knowledge);
        at
    }

    /// Adds to `left` what is left given the path of node `above` and `y`.
    fn condition(&mut self, above: usize, y: usize, score: &Score) -> Range<usize> {
        let (width, xs) = (score.width, score.columns[self.x].clone());
        let start = self.left.len();
        let base = self.nodes[above].left.start;
        let rows_at = start + (1 + xs.len()) * width;
        self.left.extend_from_within(base..base + (1 + xs.len()) * width);
        let mut before = Vec::new();
        self.rows(above, width, &mut before);
        for c in score.columns[y].clone() {
            let v = self.left[start + c];
            if v < SINGULAR {
                continue;
            }
            let row_at = self.left.len();
            self.left.extend_from_slice(&score.correlations[c * width..(c + 1) * width]);
            let (old, row) = self.left.split_at_mut(row_at);
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
        start..self.left.len()
    }

    /// Where the whitened rows of the path to a node start.
    fn rows(&self, at: usize, width: usize, found: &mut Vec<usize>) {
        let mut at = at;
        while at > 0 {
            let node = &self.nodes[at];
            // The root holds no rows: what it holds is what every node holds before its rows.
            found.extend((node.left.start + self.nodes[0].left.len()..node.left.end).step_by(width.max(1)));
            at = node.above;
        }
    }

    /// Makes the branches of a node.
    fn spread(&mut self, at: usize, score: &Score, knowledge: &Knowledge) {
        let (x, node) = (self.x, &self.nodes[at]);
        let left = Left { score, x, all: &self.left[node.left.clone()] };
        let mut rows = Vec::new();
        self.rows(at, score.width, &mut rows);
        let start = self.branches.len();
        let mut work = Vec::new();
        // Where x is one column, a variance above this cannot raise the score by one more column: no logarithm needed.
        let most = left.variance_of_x() * libm::exp(-score.penalty / score.n) * (1.0 + 1e-9);
        let required = knowledge.required_causes(x);
        for y in node.available {
            let log_sum = match left.variance_given(y) {
                Some(variance) if variance > most && !required.has(y) => continue,
                Some(variance) => libm::log(variance),
                None => left.log_sum(y, &self.left, &rows, &mut work),
            };
            let gained = score.of_logs(x, log_sum, node.m + score.columns[y].len());
            if gained >= node.score || required.has(y) {
                self.branches.push(Branch { score: gained, variable: y as u32, child: 0 });
            }
        }
        // Stable: required ones among themselves, and equal scores, stay in the order of positions.
        self.branches[start..].sort_by(|a, b| match (required.has(a.variable as usize), required.has(b.variable as usize)) {
            (false, false) => b.score.total_cmp(&a.score),
            (first, second) => second.cmp(&first),
        });
        self.nodes[at].offered = self.branches[start..].iter().map(|b| b.variable as usize).collect();
        self.nodes[at].branches = start..self.branches.len();
    }

    fn shrink(&mut self, at: usize, score: &Score, knowledge: &Knowledge) -> (f64, Nodes) {
        let node = &mut self.nodes[at];
        if let Some(done) = node.shrunk {
            return done;
        }
        let done = shrink(score, self.x, node.path, node.score, knowledge.required_causes(self.x));
        node.shrunk = Some(done);
        done
    }
}

/// What is left of the correlations at a node.
struct Left<'a> {
    score: &'a Score,
    x: usize,
    all: &'a [f64],
}

impl Left<'_> {
    fn with_x(&self, k: usize) -> &[f64] {
        &self.all[(1 + k) * self.score.width..(2 + k) * self.score.width]
    }

    /// The variance of x, where it is one column.
    fn variance_of_x(&self) -> f64 {
        self.score.columns[self.x].clone().next().map_or(1.0, |c| self.all[c].max(SINGULAR))
    }

    /// The variance of x given also y, where both are one column.
    fn variance_given(&self, y: usize) -> Option<f64> {
        let (xs, ys) = (&self.score.columns[self.x], &self.score.columns[y]);
        if xs.len() != 1 || ys.len() != 1 {
            return None;
        }
        let (v, c) = (self.all[ys.start], self.with_x(0)[ys.start]);
        let variance = if v < SINGULAR { self.all[xs.start] } else { self.all[xs.start] - c * c / v };
        Some(variance.max(SINGULAR))
    }

    /// The sum of the logarithms of the variances of x's columns given the path and `y`; `rows` are the places in `stored` of the
    /// whitened rows of the path.
    fn log_sum(&self, y: usize, stored: &[f64], rows: &[usize], work: &mut Vec<f64>) -> f64 {
        let (score, xs, ys) = (self.score, self.score.columns[self.x].clone(), self.score.columns[y].clone());
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
                cells.iter_mut().zip(&row[i..]).for_each(|(cell, x)| *cell -= factor * x);
            }
        }
        for i in 0..xs.len() {
            let at = ys.len() + i;
            work[at * size + at..(at + 1) * size].copy_from_slice(&self.with_x(i)[xs.start + i..xs.end]);
        }
        sweep(work, size, ys.len()).0
    }
}
