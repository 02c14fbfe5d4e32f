//! The nearest points by Euclidean distance, exact: a k-d tree over distinct points.
//!
//! Source: Friedman, Bentley and Finkel 1977, "An algorithm for finding best matches in logarithmic
//! expected time": boxes are halved at the median of their widest side, down to leaves of a few
//! points.
//!
//! If two points are at the same distance, the one with the lower number counts as nearer.
//! Distances are compared as sums of squares, added in the order of the coordinates. A box is
//! skipped only if its distance, computed the same way, is larger, or equal while it contains no
//! lower number: every step of that sum is monotone in floating point, so rounding never hides a
//! nearer point, and the result does not depend on how the tree was built.
//!
//! Choice: points with equal coordinates share one place, which keeps the k lowest numbers: others
//! are never among the k nearest. If a method requires it, squared distances are compared in whole
//! units ([`NeighbourTree::in_units`]); rounding is monotone too.
//!
//! Cost: n log n to build; a search visits a few leaves where coordinates are few, and all of them
//! where they are many (from about 20 on) and the points fill their space evenly. Memory: 8 bytes a
//! coordinate and about 40 a distinct point.

use std::cmp::Ordering;

/// Number of points in a leaf.
const LEAF: usize = 8;

/// Points by their coordinates, row by row, `width` numbers each. All are finite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PointMatrix<'a> {
    /// The coordinates.
    pub coordinates: &'a [f64],
    /// Number of coordinates of a point.
    pub width: usize,
}

impl<'a> PointMatrix<'a> {
    /// The coordinates of a point.
    pub(crate) fn at(self, number: u32) -> &'a [f64] {
        &self.coordinates[number as usize * self.width..][..self.width]
    }

    /// The numbers sorted by coordinates, then by number, with the ends of the runs.
    ///
    /// A run holds points with equal coordinates.
    pub(crate) fn runs(self, mut numbers: Vec<u32>) -> (Vec<u32>, Vec<usize>) {
        let order = |x: u32, y: u32| {
            let differ =
                self.at(x).iter().zip(self.at(y)).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne());
            differ.unwrap_or(Ordering::Equal)
        };
        numbers.sort_unstable_by(|&x, &y| order(x, y).then(x.cmp(&y)));
        let ends = (1..=numbers.len())
            .filter(|&i| i == numbers.len() || order(numbers[i - 1], numbers[i]).is_ne())
            .collect();
        (numbers, ends)
    }
}

/// The squared distance of two points.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// The nearest points found so far.
#[derive(Debug, Clone)]
pub(crate) struct NearestPoints {
    capacity: usize,
    /// Ascending by squared distance, then by number.
    found: Vec<(f64, u32)>,
}

impl NearestPoints {
    /// An empty list for at most `most` points.
    pub(crate) fn new(most: usize) -> Self {
        NearestPoints { capacity: most, found: Vec::with_capacity(most + 1) }
    }

    /// Removes all points found.
    pub(crate) fn clear(&mut self) {
        self.found.clear();
    }

    /// The numbers of the points, the nearest first.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.found.iter().map(|(_, number)| *number)
    }

    /// Whether a point or box at this distance may still be among the nearest.
    ///
    /// For a box, `number` is the lowest number in it.
    fn wants(&self, distance: f64, number: u32) -> bool {
        match self.found.last() {
            Some(&(worst, last)) if self.found.len() == self.capacity => {
                distance < worst || (distance == worst && number < last)
            }
            _ => self.capacity > 0,
        }
    }

    fn add(&mut self, distance: f64, number: u32) {
        let place =
            self.found.partition_point(|&(d, n)| d < distance || (d == distance && n < number));
        self.found.insert(place, (distance, number));
        self.found.truncate(self.capacity);
    }
}

/// A tree over some points.
#[derive(Debug, Clone)]
pub(crate) struct NeighbourTree {
    width: usize,
    /// Units in a squared distance of 1, where squared distances are compared as whole numbers.
    per_one: Option<f64>,
    /// The coordinates of the distinct points, leaf by leaf.
    places: Vec<f64>,
    /// The start of each place's numbers; one more entry for the end.
    begins: Vec<usize>,
    numbers: Vec<u32>,
    nodes: Vec<NeighbourNode>,
    /// The boxes of the nodes: their lower bounds, then their upper bounds.
    boxes: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct NeighbourNode {
    /// The lowest number in the subtree.
    lowest: u32,
    /// Second child of an inner node; the first child follows it directly. 0 for a leaf.
    second: usize,
    /// The range of places in the subtree.
    from: usize,
    to: usize,
}

impl NeighbourTree {
    /// The tree of the points with these numbers, for searches of at most `most` points.
    pub(crate) fn new(points: PointMatrix<'_>, numbers: Vec<u32>, most: usize) -> Self {
        let (numbers, ends) = points.runs(numbers);
        let begin = |i: usize| if i == 0 { 0 } else { ends[i - 1] };
        let mut runs: Vec<usize> = (0..ends.len()).collect();
        let first = |run: usize| points.at(numbers[begin(run)]);
        let mut tree = NeighbourTree {
            width: points.width,
            per_one: None,
            places: Vec::new(),
            begins: vec![0],
            numbers: Vec::new(),
            nodes: Vec::new(),
            boxes: Vec::new(),
        };
        let lowest = |run: usize| numbers[begin(run)];
        if !runs.is_empty() {
            tree.build(&mut runs, 0, &first, &lowest);
        }
        for run in runs {
            tree.places.extend(first(run));
            tree.numbers.extend(numbers[begin(run)..ends[run]].iter().take(most));
            tree.begins.push(tree.numbers.len());
        }
        tree
    }

    /// Compares squared distances rounded to whole units, `per_one` of them in a distance of 1.
    ///
    /// Floating-point noise then decides no tie.
    #[must_use]
    pub(crate) fn in_units(self, per_one: f64) -> Self {
        NeighbourTree { per_one: Some(per_one), ..self }
    }

    fn rounded(&self, squared: f64) -> f64 {
        self.per_one.map_or(squared, |per_one| (squared * per_one).round())
    }

    /// Builds the node of some runs, the first of which gets the place `from`, and its subtree.
    fn build<'p>(
        &mut self,
        runs: &mut [usize],
        from: usize,
        first: &impl Fn(usize) -> &'p [f64],
        lowest: &impl Fn(usize) -> u32,
    ) {
        let node = self.nodes.len();
        let (mut low, mut high) =
            (vec![f64::INFINITY; self.width], vec![f64::NEG_INFINITY; self.width]);
        for &run in runs.iter() {
            for ((low, high), &x) in low.iter_mut().zip(&mut high).zip(first(run)) {
                (*low, *high) = (low.min(x), high.max(x));
            }
        }
        let lowest_of_all = runs.iter().map(|&run| lowest(run)).min().unwrap_or(u32::MAX);
        self.nodes.push(NeighbourNode {
            lowest: lowest_of_all,
            second: 0,
            from,
            to: from + runs.len(),
        });
        self.boxes.extend(low.iter().chain(&high));
        if runs.len() <= LEAF {
            return;
        }
        let side = |axis: &usize| high[*axis] - low[*axis];
        // Distinct points differ somewhere, so some side is wider than 0.
        let axis = (0..self.width).max_by(|x, y| side(x).total_cmp(&side(y))).unwrap_or(0);
        let half = runs.len() / 2;
        runs.select_nth_unstable_by(half, |&x, &y| {
            first(x)[axis].total_cmp(&first(y)[axis]).then(x.cmp(&y))
        });
        let (below, above) = runs.split_at_mut(half);
        self.build(below, from, first, lowest);
        self.nodes[node].second = self.nodes.len();
        self.build(above, from + half, first, lowest);
    }

    /// Adds the points of this tree to the nearest found so far.
    pub(crate) fn search(&self, query: &[f64], nearest: &mut NearestPoints) {
        if !self.nodes.is_empty() {
            self.visit(0, self.bound(0, query), query, nearest);
        }
    }

    /// A lower bound of the squared distance to any point in the box of a node.
    fn bound(&self, node: usize, query: &[f64]) -> f64 {
        let (low, high) =
            self.boxes[node * 2 * self.width..][..2 * self.width].split_at(self.width);
        let gap = |((x, low), high): ((&f64, &f64), &f64)| {
            let gap = if x < low {
                low - x
            } else if x > high {
                x - high
            } else {
                0.0
            };
            gap * gap
        };
        self.rounded(query.iter().zip(low).zip(high).map(gap).sum())
    }

    fn visit(&self, node: usize, bound: f64, query: &[f64], nearest: &mut NearestPoints) {
        let NeighbourNode { lowest, second, from, to } = self.nodes[node];
        if !nearest.wants(bound, lowest) {
            return;
        }
        if second > 0 {
            let (one, other) =
                ((node + 1, self.bound(node + 1, query)), (second, self.bound(second, query)));
            let (near, far) = if other.1 < one.1 { (other, one) } else { (one, other) };
            self.visit(near.0, near.1, query, nearest);
            self.visit(far.0, far.1, query, nearest);
            return;
        }
        for place in from..to {
            let distance =
                self.rounded(distance(query, &self.places[place * self.width..][..self.width]));
            for &number in &self.numbers[self.begins[place]..self.begins[place + 1]] {
                if !nearest.wants(distance, number) {
                    break;
                }
                nearest.add(distance, number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NearestPoints, NeighbourTree, PointMatrix, distance};
    use crate::num::seed::RandomStream;

    fn all(points: PointMatrix<'_>, numbers: &[u32], query: &[f64], most: usize) -> Vec<u32> {
        let mut sorted: Vec<(f64, u32)> =
            numbers.iter().map(|&n| (distance(query, points.at(n)), n)).collect();
        sorted.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        sorted.into_iter().take(most).map(|(_, n)| n).collect()
    }

    /// Compares with the distances to all points, in spaces with many equal points and distances
    /// and in spaces without any, with the points in one tree or split over two.
    #[test]
    fn a_tree_finds_what_looking_at_all_finds() {
        let mut stream = RandomStream::new(8, "neighbours");
        for (width, grid, n) in [
            (1, 4.0, 300),
            (2, 5.0, 400),
            (3, 3.0, 500),
            (6, 2.0, 600),
            (3, 0.0, 700),
            (12, 0.0, 200),
            (0, 0.0, 40),
        ] {
            let coordinates: Vec<f64> = (0..n * width)
                .map(|_| {
                    let x = stream.u01();
                    if grid > 0.0 { (x * grid).floor() } else { x }
                })
                .collect();
            let points = PointMatrix { coordinates: &coordinates, width };
            let (even, odd): (Vec<u32>, Vec<u32>) = (0..n as u32).partition(|i| i % 3 == 0);
            for most in [1, 5, 50] {
                let trees = [
                    NeighbourTree::new(points, even.clone(), most),
                    NeighbourTree::new(points, odd.clone(), most),
                ];
                let mut nearest = NearestPoints::new(most);
                for query in (0..n as u32).step_by(7) {
                    let query = points.at(query);
                    for (numbers, trees) in
                        [(&even, &trees[..1]), (&(0..n as u32).collect(), &trees[..])]
                    {
                        nearest.clear();
                        trees.iter().for_each(|tree| tree.search(query, &mut nearest));
                        assert_eq!(
                            nearest.numbers().collect::<Vec<_>>(),
                            all(points, numbers, query, most),
                            "{width} {grid} {most}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn huge_numbers_and_empty_trees_are_no_trouble() {
        let coordinates = [1e200, -1e200, 3e200, 0.0, -0.0, 5.0];
        let points = PointMatrix { coordinates: &coordinates, width: 1 };
        let mut nearest = NearestPoints::new(4);
        NeighbourTree::new(points, Vec::new(), 4).search(&[0.0], &mut nearest);
        assert_eq!(nearest.numbers().count(), 0);
        NeighbourTree::new(points, vec![0, 1, 2, 3, 4, 5], 4).search(&[0.0], &mut nearest);
        // Beyond 1e154 every square is infinite: such points are equally far.
        assert_eq!(nearest.numbers().collect::<Vec<_>>(), [3, 4, 5, 0]);
    }

    #[test]
    fn in_units_what_noise_tells_apart_is_equally_far() {
        let coordinates = [1.0 + 1e-13, 1.0, 1.1, -1.0, 0.0];
        let points = PointMatrix { coordinates: &coordinates, width: 1 };
        let found = |tree: NeighbourTree| {
            let mut nearest = NearestPoints::new(3);
            tree.search(&[0.0], &mut nearest);
            nearest.numbers().collect::<Vec<_>>()
        };
        let tree = NeighbourTree::new(points, vec![0, 1, 2, 3], 3);
        assert_eq!(found(tree.clone()), [1, 3, 0]);
        assert_eq!(found(tree.in_units(1e9)), [0, 1, 3]);
    }

    #[test]
    fn runs_are_equal_points() {
        let coordinates = [2.0, 1.0, 2.0, 1.0, 3.0];
        let (numbers, ends) =
            PointMatrix { coordinates: &coordinates, width: 1 }.runs(vec![0, 1, 2, 3, 4]);
        assert_eq!((numbers, ends), (vec![1, 3, 0, 2, 4], vec![2, 4, 5]));
    }
}
