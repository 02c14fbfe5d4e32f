//! Optimal transport against plans found by trying every plan, and against proofs by prices.

use super::{
    ArcSearch, CostMatrix, EnteringArc, NONE, SpanningTree, TransportError, TransportFlow,
    TransportPlan, block_of, solve,
};
use crate::num::seed::RandomStream;

fn costs(rows: &[&[f64]]) -> CostMatrix {
    CostMatrix::new(rows.len(), rows[0].len(), |i, row| row.copy_from_slice(rows[i])).unwrap()
}

/// The total cost in units.
fn total(costs: &CostMatrix, plan: &TransportPlan) -> i128 {
    plan.flows
        .iter()
        .map(|f| i128::from(costs.row(f.source as usize)[f.target as usize]) * i128::from(f.amount))
        .sum()
}

/// Checks that the plan has exactly these weights and that its prices prove it optimal.
#[track_caller]
fn prove(costs: &CostMatrix, supply: &[u64], demand: &[u64], plan: &TransportPlan) {
    let (mut sent, mut received) = (vec![0; supply.len()], vec![0; demand.len()]);
    for flow in &plan.flows {
        assert!(flow.amount > 0);
        sent[flow.source as usize] += flow.amount;
        received[flow.target as usize] += flow.amount;
    }
    assert_eq!((&sent[..], &received[..]), (supply, demand));
    assert!(plan.flows.len() < supply.len() + demand.len());
    assert!(plan.flows.is_sorted());
    let reduced =
        |i: usize, j: usize| costs.row(i)[j] + plan.prices[i] - plan.prices[supply.len() + j];
    for i in 0..supply.len() {
        assert!(
            (0..demand.len()).all(|j| reduced(i, j) >= 0),
            "a pair of source {i} is cheaper than the prices say"
        );
    }
    assert!(plan.flows.iter().all(|f| reduced(f.source as usize, f.target as usize) == 0));
}

/// The least cost over all plans, in units.
fn by_force(
    costs: &CostMatrix,
    supply: &[u64],
    demand: &mut [u64],
    i: usize,
    j: usize,
    left: u64,
) -> i128 {
    if i == supply.len() {
        return 0;
    }
    if j == demand.len() {
        let next = supply.get(i + 1).copied().unwrap_or(0);
        return if left > 0 { i128::MAX } else { by_force(costs, supply, demand, i + 1, 0, next) };
    }
    let mut best = i128::MAX;
    for amount in 0..=left.min(demand[j]) {
        demand[j] -= amount;
        let rest = by_force(costs, supply, demand, i, j + 1, left - amount);
        demand[j] += amount;
        if rest < i128::MAX {
            best = best.min(rest + i128::from(costs.row(i)[j]) * i128::from(amount));
        }
    }
    best
}

/// Positive weights with the given sum.
fn weights(stream: &mut RandomStream, n: usize, sum: u64) -> Vec<u64> {
    let mut weights = vec![1; n];
    for _ in n as u64..sum {
        weights[stream.u64() as usize % n] += 1;
    }
    weights
}

/// Computed by hand: sources {0, 1}, targets {0, 1, 4}, squared distance.
#[test]
fn two_sources_and_three_targets() {
    let costs = costs(&[&[0.0, 1.0, 16.0], &[1.0, 0.0, 9.0]]);
    let plan = solve(&costs, &[3, 3], &[2, 2, 2]).unwrap();
    prove(&costs, &[3, 3], &[2, 2, 2], &plan);
    let flow = |source, target, amount| TransportFlow { source, target, amount };
    assert_eq!(plan.flows, [flow(0, 0, 2), flow(0, 1, 1), flow(1, 1, 1), flow(1, 2, 2)]);
    let one = costs.row(0)[1];
    assert_eq!(total(&costs, &plan), i128::from(19 * one));
}

/// The textbook problem of Hillier and Lieberman, chapter on transportation (P&T Company): 152,535
/// dollars.
#[test]
fn canneries_and_warehouses() {
    let costs = costs(&[
        &[464.0, 513.0, 654.0, 867.0],
        &[352.0, 416.0, 690.0, 791.0],
        &[995.0, 682.0, 388.0, 685.0],
    ]);
    let (supply, demand) = ([75, 125, 100], [80, 65, 70, 85]);
    let plan = solve(&costs, &supply, &demand).unwrap();
    prove(&costs, &supply, &demand, &plan);
    let dollar = i128::from(costs.row(0)[0]) / 464;
    assert_eq!(total(&costs, &plan), 152_535 * dollar);
}

#[test]
fn one_point_on_a_side() {
    let costs = costs(&[&[5.0, 0.0, 2.0]]);
    let plan = solve(&costs, &[6], &[1, 2, 3]).unwrap();
    prove(&costs, &[6], &[1, 2, 3], &plan);
    let costs = super::CostMatrix::new(3, 1, |i, row| row[0] = i as f64).unwrap();
    prove(&costs, &[4, 1, 1], &[6], &solve(&costs, &[4, 1, 1], &[6]).unwrap());
    let costs = super::CostMatrix::new(1, 1, |_, _| ()).unwrap();
    assert_eq!(
        solve(&costs, &[7], &[7]).unwrap().flows,
        [TransportFlow { source: 0, target: 0, amount: 7 }]
    );
}

#[test]
fn small_problems_agree_with_trying_every_plan() {
    let mut stream = RandomStream::new(1, "by force");
    for round in 0..400 {
        let (n, m) = (1 + stream.u64() as usize % 4, 1 + stream.u64() as usize % 4);
        let sum = n.max(m) as u64 + stream.u64() % 5;
        let (supply, mut demand) = (weights(&mut stream, n, sum), weights(&mut stream, m, sum));
        // Few different costs make equal optima and degenerate trees common.
        let levels = [2, 3, 1000][round % 3];
        let costs = CostMatrix::new(n, m, |_, row| {
            row.iter_mut().for_each(|c| *c = (stream.u64() % levels) as f64)
        })
        .unwrap();
        let plan = solve(&costs, &supply, &demand).unwrap();
        prove(&costs, &supply, &demand, &plan);
        assert_eq!(total(&costs, &plan), by_force(&costs, &supply, &mut demand, 0, 0, supply[0]));
    }
}

#[test]
fn prices_prove_large_plans_optimal() {
    let mut stream = RandomStream::new(2, "large");
    for (n, m, levels) in [
        (200, 300, 1 << 40),
        (300, 200, 3),
        (150, 150, 1 << 20),
        (40, 278, 5),
        (1, 500, 9),
        (120, 120, 1),
    ] {
        let costs = CostMatrix::new(n, m, |_, row| {
            row.iter_mut().for_each(|c| *c = (stream.u64() % levels) as f64 / 7.0)
        })
        .unwrap();
        let sum = (n * m) as u64;
        for (supply, demand) in [
            (vec![m as u64; n], vec![n as u64; m]),
            (weights(&mut stream, n, sum), weights(&mut stream, m, sum)),
        ] {
            prove(&costs, &supply, &demand, &solve(&costs, &supply, &demand).unwrap());
        }
    }
}

/// On a line the optimal plan for a convex cost pairs the points in their order.
#[test]
fn points_on_a_line_keep_their_order() {
    let mut stream = RandomStream::new(3, "line");
    let mut points = |n: usize| {
        let mut points: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        points.sort_by(f64::total_cmp);
        points
    };
    let (from, to) = (points(90), points(90));
    let costs = CostMatrix::new(90, 90, |i, row| {
        row.iter_mut().zip(&to).for_each(|(c, x)| *c = (from[i] - x).powi(2))
    })
    .unwrap();
    let plan = solve(&costs, &[1; 90], &[1; 90]).unwrap();
    assert!(plan.flows.iter().all(|f| f.source == f.target));
}

impl SpanningTree {
    /// Whether links, sizes and prices agree, and every arc without flow leads to the root.
    #[track_caller]
    fn check(&self, costs: &CostMatrix) {
        let mut sizes = vec![1; self.nodes.len()];
        let mut depth = vec![0; self.nodes.len()];
        let (mut order, mut at) = (vec![self.root], 0);
        while at < order.len() {
            let parent = order[at];
            let (mut child, mut previous) = (self.nodes[parent].first_child, NONE);
            while child != NONE {
                let node = &self.nodes[child as usize];
                assert_eq!((node.parent as usize, node.previous), (parent, previous));
                assert_ne!((child as usize) < self.n_sources, parent < self.n_sources);
                assert!(
                    node.flow > 0 || self.leads_up(child as usize),
                    "an arc without flow leads away from the root"
                );
                let (i, j) = if parent < self.n_sources {
                    (parent, child as usize)
                } else {
                    (child as usize, parent)
                };
                assert_eq!(
                    self.prices[j].wrapping_sub(self.prices[i]),
                    costs.row(i)[j - self.n_sources]
                );
                depth[child as usize] = depth[parent] + 1;
                order.push(child as usize);
                (previous, child) = (child, node.next);
            }
            at += 1;
        }
        assert_eq!(order.len(), self.nodes.len());
        for &node in order.iter().skip(1).rev() {
            sizes[self.parent(node)] += sizes[node];
        }
        assert!(sizes.iter().zip(&self.nodes).all(|(&size, node)| size == node.size));
    }
}

#[test]
fn every_tree_on_the_way_is_strongly_feasible() {
    let mut stream = RandomStream::new(4, "trees");
    let mut pivots = 0;
    for (n, m) in [(40, 40), (20, 60), (60, 20), (17, 40)] {
        let costs = CostMatrix::new(n, m, |_, row| {
            row.iter_mut().for_each(|c| *c = (stream.u64() % 6) as f64)
        })
        .unwrap();
        let mut tree = SpanningTree::initial(&costs, &vec![m as u64; n], &vec![n as u64; m]);
        tree.check(&costs);
        let mut search = ArcSearch { block: block_of(n * m), source: 0, target: 0 };
        while let Some(entering) = search.entering(&costs, &tree.prices) {
            let EnteringArc { source, target, reduced } = entering;
            let prices = (tree.prices[source], tree.prices[n + target]);
            assert_eq!(
                costs.row(source)[target].wrapping_add(prices.0).wrapping_sub(prices.1),
                reduced
            );
            tree.pivot(entering);
            tree.check(&costs);
            pivots += 1;
        }
    }
    assert!(pivots > 100, "only {pivots} trees");
}

#[test]
fn what_cannot_be_solved() {
    let fill = |cost: f64| move |_: usize, row: &mut [f64]| row.fill(cost);
    assert_eq!(CostMatrix::new(0, 3, fill(1.0)).unwrap_err(), TransportError::Empty);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(CostMatrix::new(2, 2, fill(bad)).unwrap_err(), TransportError::BadCost);
    }
    assert_eq!(CostMatrix::new(usize::MAX, 2, fill(1.0)).unwrap_err(), TransportError::TooLarge);
    assert_eq!(CostMatrix::new(1 << 31, 1 << 31, fill(1.0)).unwrap_err(), TransportError::TooLarge);
    let costs = CostMatrix::new(2, 2, fill(1.0)).unwrap();
    assert_eq!(solve(&costs, &[1, 2], &[2, 2]).unwrap_err(), TransportError::Unbalanced);
    assert_eq!(solve(&costs, &[3], &[1, 2]).unwrap_err(), TransportError::Unbalanced);
    assert_eq!(solve(&costs, &[3, 0], &[1, 2]).unwrap_err(), TransportError::ZeroWeight);
    assert_eq!(solve(&costs, &[u64::MAX, 1], &[1, 2]).unwrap_err(), TransportError::TooLarge);
}

/// Weights up to 64 bits and costs at either end of the range of numbers do not overflow.
#[test]
fn the_ends_of_the_ranges() {
    let mut stream = RandomStream::new(5, "ends");
    for unit in [f64::MAX / 4.0, f64::MIN_POSITIVE, 5e-324, 1.0] {
        let costs = CostMatrix::new(30, 31, |_, row| {
            row.iter_mut().for_each(|c| *c = (stream.u64() % 4) as f64 * unit)
        })
        .unwrap();
        let heavy = u64::MAX / 930;
        let (supply, demand) = (vec![31 * heavy; 30], vec![30 * heavy; 31]);
        prove(&costs, &supply, &demand, &solve(&costs, &supply, &demand).unwrap());
    }
}
