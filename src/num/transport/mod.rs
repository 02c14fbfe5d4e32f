//! The transportation problem, solved exactly by the network simplex method.
//!
//! Source: Dantzig 1951 for the simplex on a spanning tree; Cunningham 1976, "A network simplex
//! method", for strongly feasible trees; Grigoriadis 1986 for the block search of the entering arc.
//! Input: costs of one unit from every source to every target, supplies and demands as positive
//! whole numbers with equal sums. Output: flows x >= 0 with row sums = supplies and column sums =
//! demands that minimise the sum of cost * x, and dual prices p that prove it: p_target - p_source
//! <= cost for every pair, with equality where x > 0.
//!
//! All arithmetic is in whole numbers. Costs are rounded to multiples of 2^-k, with the largest k
//! for which no reduced cost can exceed 64 bits: |reduced cost| <= (min(sources, targets) + 1) *
//! largest cost, because a path of the tree alternates between the sides. At 4,000 points a side
//! and costs up to 200 that is 2^-42. So the optimum is exact for the rounded costs, without a
//! tolerance, and the result is the same on every machine.
//!
//! Degenerate pivots do not cycle, because every tree is strongly feasible: an arc without flow
//! leads towards the root.
//! Choice: the first tree comes from the cheapest open target of each source in turn; the root is
//! the target that stays open last.
//! Choice: the entering arc is the most negative one of a block of about the square root of all
//! pairs, in row order, and the next search starts at the end of the previous one. Only this order
//! chooses between equal optima: a caller that needs a unique optimum perturbs the costs.
//!
//! Memory: 8 bytes per pair. Time grows about as n^2.5 for n points a side. No recursion.

use std::fmt;

/// No node.
const NONE: u32 = u32::MAX;

/// Why a problem cannot be solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportError {
    /// No sources or no targets.
    Empty,
    /// A supply or demand is zero.
    ZeroWeight,
    /// Supplies and demands do not match the costs in number, or differ in their sums.
    Unbalanced,
    /// A cost is negative, infinite or not a number.
    BadCost,
    /// The matrix of costs does not fit into memory, or a sum of weights does not fit into 64 bits.
    TooLarge,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransportError::Empty => "one side has no points",
            TransportError::ZeroWeight => "a point has no weight",
            TransportError::Unbalanced => "the weights of both sides do not agree",
            TransportError::BadCost => "a distance is not a finite number",
            TransportError::TooLarge => "there are too many points for the memory",
        })
    }
}

impl std::error::Error for TransportError {}

/// The cost of every pair, as a whole number of units; a unit is a power of two.
#[derive(Debug, Clone)]
pub(crate) struct CostMatrix {
    n_sources: usize,
    n_targets: usize,
    units: Vec<i64>,
}

impl CostMatrix {
    /// The costs that `fill` writes for each source into a row of zeros, one per target.
    ///
    /// # Errors
    /// No pairs, more than fit into memory, or a cost that is negative or not finite.
    pub(crate) fn new(
        n_sources: usize,
        n_targets: usize,
        mut fill: impl FnMut(usize, &mut [f64]),
    ) -> Result<CostMatrix, TransportError> {
        if n_sources == 0 || n_targets == 0 {
            return Err(TransportError::Empty);
        }
        let n_nodes = n_sources.checked_add(n_targets).and_then(|n| u32::try_from(n).ok());
        let n_pairs = n_sources
            .checked_mul(n_targets)
            .filter(|_| n_nodes.is_some_and(|n| n < NONE))
            .ok_or(TransportError::TooLarge)?;
        let mut units: Vec<i64> = Vec::new();
        units.try_reserve_exact(n_pairs).map_err(|_| TransportError::TooLarge)?;
        // The largest cost decides the unit, so the matrix first holds the bits of the costs:
        // computing them twice would take longer.
        let mut row = vec![0.0; n_targets];
        let mut largest = 0.0_f64;
        for source in 0..n_sources {
            row.fill(0.0);
            fill(source, &mut row);
            for &cost in &row {
                if !(0.0..f64::INFINITY).contains(&cost) {
                    return Err(TransportError::BadCost);
                }
                largest = largest.max(cost);
                units.push(cost.to_bits().cast_signed());
            }
        }
        let per_unit = units_in_one(largest, n_sources.min(n_targets));
        for unit in &mut units {
            *unit = (f64::from_bits(unit.cast_unsigned()) * per_unit).round_ties_even() as i64;
        }
        Ok(CostMatrix { n_sources, n_targets, units })
    }

    /// The costs of a source, in units, one per target.
    pub(crate) fn row(&self, source: usize) -> &[i64] {
        &self.units[source * self.n_targets..][..self.n_targets]
    }
}

/// The largest power of two that keeps (shorter side + 1) * largest cost below 2^62.
///
/// The limit of costs, 2^1000.
fn units_in_one(largest: f64, shorter_side: usize) -> f64 {
    let bound = (1_u64 << 61) as f64 / (shorter_side as f64 + 2.0);
    let exponent = libm::floor(libm::log2(bound) - libm::log2(largest.max(f64::MIN_POSITIVE)));
    libm::exp2(exponent.clamp(-1022.0, 1000.0))
}

/// The flow from one source to one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TransportFlow {
    /// Position of the source.
    pub source: u32,
    /// Position of the target.
    pub target: u32,
    /// The amount, above 0.
    pub amount: u64,
}

/// An optimal plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TransportPlan {
    /// All flows above 0, ascending by source, then target; fewer than sources plus targets.
    pub flows: Vec<TransportFlow>,
    /// The proof of optimality: a price per source and then per target, in units of cost.
    pub prices: Vec<i64>,
}

/// The plan with the least total cost.
///
/// # Errors
/// Weights that do not match the costs, are zero, or sum to different totals or beyond 64 bits.
pub(crate) fn solve(
    costs: &CostMatrix,
    supply: &[u64],
    demand: &[u64],
) -> Result<TransportPlan, TransportError> {
    let total = |weights: &[u64]| {
        weights.iter().try_fold(0_u64, |sum, &w| sum.checked_add(w)).ok_or(TransportError::TooLarge)
    };
    if supply.iter().chain(demand).any(|&w| w == 0) {
        return Err(TransportError::ZeroWeight);
    }
    if supply.len() != costs.n_sources
        || demand.len() != costs.n_targets
        || total(supply)? != total(demand)?
    {
        return Err(TransportError::Unbalanced);
    }
    let mut tree = SpanningTree::initial(costs, supply, demand);
    let mut search = ArcSearch { block: block_of(costs.units.len()), source: 0, target: 0 };
    while let Some(arc) = search.entering(costs, &tree.prices) {
        tree.pivot(arc);
    }
    Ok(tree.plan())
}

fn block_of(n_pairs: usize) -> usize {
    n_pairs.isqrt().max(32)
}

/// A pair that is not in the tree and whose reduced cost is below 0.
#[derive(Debug, Clone, Copy)]
struct EnteringArc {
    source: usize,
    target: usize,
    reduced: i64,
}

/// The position of the search for entering arcs.
#[derive(Debug)]
struct ArcSearch {
    block: usize,
    source: usize,
    target: usize,
}

impl ArcSearch {
    /// The most negative pair of the first block that has one, within one round over all pairs.
    fn entering(&mut self, costs: &CostMatrix, prices: &[i64]) -> Option<EnteringArc> {
        let (of_source, of_target) = prices.split_at(costs.n_sources);
        let mut best = EnteringArc { source: 0, target: 0, reduced: 0 };
        let (mut left, mut in_block) = (costs.units.len(), self.block);
        while left > 0 {
            let end = costs.n_targets.min(self.target + in_block.min(left));
            let row = &costs.row(self.source)[self.target..end];
            let price = of_source[self.source];
            for ((at, &cost), &target_price) in
                (self.target..).zip(row).zip(&of_target[self.target..end])
            {
                // All prices may drift past 64 bits together; their differences cannot.
                let reduced = cost.wrapping_sub(target_price).wrapping_add(price);
                if reduced < best.reduced {
                    best = EnteringArc { source: self.source, target: at, reduced };
                }
            }
            left -= row.len();
            in_block -= row.len();
            self.target = end;
            if end == costs.n_targets {
                self.target = 0;
                self.source = (self.source + 1) % costs.n_sources;
            }
            if in_block == 0 {
                if best.reduced < 0 {
                    return Some(best);
                }
                in_block = self.block;
            }
        }
        (best.reduced < 0).then_some(best)
    }
}

/// A node of the tree: sources first, then targets.
#[derive(Debug, Clone, Copy)]
struct SpanningNode {
    parent: u32,
    first_child: u32,
    next: u32,
    previous: u32,
    /// Number of nodes in its subtree, itself included.
    size: u32,
    /// The flow on the arc between it and its parent.
    flow: u64,
}

/// A strongly feasible spanning tree with its flows and prices.
///
/// Every arc leads from its source to its target.
#[derive(Debug)]
struct SpanningTree {
    n_sources: usize,
    root: usize,
    nodes: Vec<SpanningNode>,
    prices: Vec<i64>,
}

impl SpanningTree {
    /// The first tree: each source in turn sends as much as possible to its cheapest open target.
    ///
    /// Whichever of the two is used up is closed and becomes a child of the other.
    fn initial(costs: &CostMatrix, supply: &[u64], demand: &[u64]) -> SpanningTree {
        let n = supply.len();
        let empty = SpanningNode {
            parent: NONE,
            first_child: NONE,
            next: NONE,
            previous: NONE,
            size: 1,
            flow: 0,
        };
        let mut tree = SpanningTree {
            n_sources: n,
            root: n,
            nodes: vec![empty; n + demand.len()],
            prices: vec![0; n + demand.len()],
        };
        let (mut supply, mut demand) = (supply.to_vec(), demand.to_vec());
        let mut open_sources: Vec<usize> = (0..n).collect();
        let mut open_targets: Vec<usize> = (0..demand.len()).collect();
        // The closed nodes in order: children before their parents.
        let mut closed = Vec::with_capacity(tree.nodes.len());
        while !open_sources.is_empty() {
            let mut still_open = Vec::with_capacity(open_sources.len());
            for (k, &source) in open_sources.iter().enumerate() {
                let is_last_source = still_open.is_empty() && k + 1 == open_sources.len();
                loop {
                    let row = costs.row(source);
                    let cheapest = (0..open_targets.len())
                        .min_by_key(|&at| (row[open_targets[at]], open_targets[at]));
                    let at =
                        cheapest.expect("the last target closes no earlier than the last source");
                    let target = open_targets[at];
                    let flow = supply[source].min(demand[target]);
                    supply[source] -= flow;
                    demand[target] -= flow;
                    // If both are used up, the target is closed now, and the source later without
                    // flow: such an arc leads to the root.
                    if open_targets.len() == 1 || demand[target] > 0 {
                        tree.attach(source, n + target, flow);
                        closed.push(source);
                        break;
                    }
                    open_targets.swap_remove(at);
                    tree.attach(n + target, source, flow);
                    closed.push(n + target);
                    if !is_last_source {
                        still_open.push(source);
                        break;
                    }
                }
            }
            open_sources = still_open;
        }
        tree.root = n + open_targets[0];
        for &node in &closed {
            let parent = tree.nodes[node].parent as usize;
            tree.nodes[parent].size += tree.nodes[node].size;
        }
        for &node in closed.iter().rev() {
            let parent = tree.nodes[node].parent as usize;
            tree.prices[node] = match node < n {
                true => tree.prices[parent] - costs.row(node)[parent - n],
                false => tree.prices[parent] + costs.row(parent)[node - n],
            };
        }
        tree
    }

    fn attach(&mut self, node: usize, parent: usize, flow: u64) {
        let sibling = std::mem::replace(&mut self.nodes[parent].first_child, node as u32);
        if sibling != NONE {
            self.nodes[sibling as usize].previous = node as u32;
        }
        let own = &mut self.nodes[node];
        (own.parent, own.next, own.previous, own.flow) = (parent as u32, sibling, NONE, flow);
    }

    fn detach(&mut self, node: usize) {
        let SpanningNode { parent, next, previous, .. } = self.nodes[node];
        match previous {
            NONE => self.nodes[parent as usize].first_child = next,
            _ => self.nodes[previous as usize].next = next,
        }
        if next != NONE {
            self.nodes[next as usize].previous = previous;
        }
    }

    fn parent(&self, node: usize) -> usize {
        self.nodes[node].parent as usize
    }

    /// Whether the arc between a node and its parent leads to the parent.
    fn leads_up(&self, node: usize) -> bool {
        node < self.n_sources
    }

    /// The lowest common ancestor of two nodes.
    fn join(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.nodes[a].size < self.nodes[b].size {
                a = self.parent(a)
            } else {
                b = self.parent(b)
            }
        }
        a
    }

    /// Puts an arc into the tree and removes the arc that blocks the flow.
    fn pivot(&mut self, entering: EnteringArc) {
        let (source, target) = (entering.source, self.n_sources + entering.target);
        let join = self.join(source, target);
        // The cycle of the flow: from the join down to the source, over the new arc, up from the
        // target to the join. The last blocking arc on it leaves, which keeps the tree strongly
        // feasible.
        let (mut amount, mut leaving, mut source_moves) = (u64::MAX, source, true);
        let mut node = source;
        while node != join {
            if self.leads_up(node) && self.nodes[node].flow < amount {
                (amount, leaving) = (self.nodes[node].flow, node);
            }
            node = self.parent(node);
        }
        node = target;
        while node != join {
            if !self.leads_up(node) && self.nodes[node].flow <= amount {
                (amount, leaving, source_moves) = (self.nodes[node].flow, node, false);
            }
            node = self.parent(node);
        }
        if amount > 0 {
            self.send(source, join, amount, true);
            self.send(target, join, amount, false);
        }
        let (top, below) = if source_moves { (source, target) } else { (target, source) };
        self.move_subtree(leaving, top, below, amount, join);
        // The reduced cost of the new arc must become 0: the source's price rises by its magnitude,
        // or the target's falls by it.
        let by = if source_moves { entering.reduced.wrapping_neg() } else { entering.reduced };
        if 2 * (self.nodes[top].size as usize) <= self.nodes.len() {
            self.reprice(top, None, by);
        } else {
            self.reprice(self.root, Some(top), by.wrapping_neg());
        }
    }

    /// Changes the flows from a node up to the join: arcs against the path lose, arcs along it
    /// gain.
    fn send(&mut self, from: usize, join: usize, amount: u64, downwards: bool) {
        let mut node = from;
        while node != join {
            if self.leads_up(node) == downwards {
                self.nodes[node].flow -= amount;
            } else {
                self.nodes[node].flow += amount;
            }
            node = self.parent(node);
        }
    }

    /// Cuts off the subtree of `leaving`, re-roots it at `top`, and makes it a child of `below`.
    fn move_subtree(&mut self, leaving: usize, top: usize, below: usize, flow: u64, join: usize) {
        let moved = self.nodes[leaving].size;
        let mut node = self.parent(leaving);
        while node != join {
            self.nodes[node].size -= moved;
            node = self.parent(node);
        }
        node = below;
        while node != join {
            self.nodes[node].size += moved;
            node = self.parent(node);
        }
        let (mut node, mut parent, mut flow, mut size_below) = (top, below, flow, 0);
        loop {
            let SpanningNode { parent: next, flow: next_flow, size, .. } = self.nodes[node];
            self.detach(node);
            self.attach(node, parent, flow);
            self.nodes[node].size = moved - size_below;
            if node == leaving {
                break;
            }
            (parent, node, flow, size_below) = (node, next as usize, next_flow, size);
        }
    }

    /// Adds `by` to the prices of a subtree, without the subtree of `except`.
    fn reprice(&mut self, top: usize, except: Option<usize>, by: i64) {
        let mut node = top;
        loop {
            let is_in = except != Some(node);
            if is_in {
                self.prices[node] = self.prices[node].wrapping_add(by);
            }
            if is_in && self.nodes[node].first_child != NONE {
                node = self.nodes[node].first_child as usize;
                continue;
            }
            while node != top && self.nodes[node].next == NONE {
                node = self.parent(node);
            }
            if node == top {
                return;
            }
            node = self.nodes[node].next as usize;
        }
    }

    fn plan(mut self) -> TransportPlan {
        let at_root = self.prices[self.root];
        self.prices.iter_mut().for_each(|p| *p = p.wrapping_sub(at_root));
        let n = self.n_sources;
        let mut flows: Vec<TransportFlow> = (0..self.nodes.len())
            .filter(|&node| node != self.root && self.nodes[node].flow > 0)
            .map(|node| {
                let (source, target) =
                    if node < n { (node, self.parent(node)) } else { (self.parent(node), node) };
                TransportFlow {
                    source: source as u32,
                    target: (target - n) as u32,
                    amount: self.nodes[node].flow,
                }
            })
            .collect();
        flows.sort_unstable();
        TransportPlan { flows, prices: self.prices }
    }
}

#[cfg(test)]
mod tests;
