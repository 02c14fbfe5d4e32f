//! Histograms of originals, counterfactuals and real rows of the target group, for drawings.
//!
//! Numbers are counted in bins of equal width between the smallest and the largest value of the
//! reference; values beyond these count in the outer bins. If the reference has only whole numbers,
//! every bin contains the same number of whole numbers: bins with alternately three and four would
//! draw a comb that is not in the data. Levels are counted one by one; with more than
//! [`MAX_LEVELS`] levels the rarest in the reference are counted together, and so is every level
//! that too few people of the reference have: its name could identify them. The share of a bar in
//! the target group is the mean of its shares in the classes of that group, weighted by the
//! counterfactuals of the class as in `dist_after`. So a drawing shows the differences that the
//! distances measure, and not a difference in the labels of the groups.

use std::collections::{BTreeMap, BTreeSet};

use crate::counterfactual::joint::LevelCounts;
use crate::counterfactual::quality::QualityReference;
use crate::counterfactual::quality::sums::{PairSums, QualitySums, VariableSums};
use crate::counterfactual::variable::in_kinds;
use crate::num::ecdf::{Ecdf, ValueTally};

/// Largest number of bins of a number.
pub(crate) const MAX_BINS: usize = 20;

/// Largest number of levels that are counted one by one.
pub(crate) const MAX_LEVELS: usize = 30;

/// Counts of one bin or level of a variable.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ShapeBar {
    /// For a number the edges of the bin [left, right); the last bin includes its right edge.
    pub edges: Option<(f64, f64)>,
    /// For levels the position of the level; `None` for the rare levels together.
    pub level: Option<usize>,
    /// Originals of the valid counterfactuals.
    pub original: u64,
    /// Valid counterfactuals.
    pub counterfactual: u64,
    /// Reference rows of the target group, of any class.
    pub target: u64,
    /// Share of the bar in the target group with its classes weighted as among the counterfactuals.
    ///
    /// `None` where no counterfactual has both a value and a class that the target has.
    pub target_share: Option<f64>,
}

/// The edges of the bins from `least` to `largest`; one bin where there is one value only.
fn bin_edges(least: f64, largest: f64, whole: bool) -> Vec<f64> {
    // Up to this size f64 represents every whole number.
    const EXACT: f64 = 9e15;
    let n = largest - least + 1.0;
    if whole && n < EXACT && least.abs() < EXACT && largest.abs() < EXACT {
        let width = (n / MAX_BINS as f64).ceil();
        return (0..=(n / width).ceil() as usize).map(|k| least + width * k as f64).collect();
    }
    let edge = |k: usize| {
        if k == MAX_BINS {
            largest
        } else {
            least + (largest - least) * (k as f64 / MAX_BINS as f64)
        }
    };
    if least < largest { (0..=MAX_BINS).map(edge).collect() } else { vec![least, largest] }
}

/// The number of values in each bin.
fn bin_counts(values: &Ecdf, edges: &[f64]) -> Vec<u64> {
    let below = |x: f64| values.around(x).0;
    let last = edges.len() - 2;
    let count = |k: usize| {
        let from = if k == 0 { 0 } else { below(edges[k]) };
        let to = if k == last { values.total() } else { below(edges[k + 1]) };
        to.saturating_sub(from)
    };
    (0..=last).map(count).collect()
}

/// The shares of bars in the target group, mixed over its classes.
///
/// For each class the number of counterfactuals with a value, and the reference rows in each bar.
#[derive(Default)]
struct ClassMixture {
    classes: Vec<(u64, Vec<u64>)>,
}

impl ClassMixture {
    fn add(&mut self, n: u64, target: Vec<u64>) {
        if n > 0 && target.iter().any(|&rows| rows > 0) {
            self.classes.push((n, target));
        }
    }

    fn share(&self, bar: usize) -> Option<f64> {
        let all: u64 = self.classes.iter().map(|(n, _)| n).sum();
        let expected_rows = |(n, target): &(u64, Vec<u64>)| {
            *n as f64 * (target[bar] as f64 / target.iter().sum::<u64>() as f64)
        };
        (all > 0).then(|| self.classes.iter().map(expected_rows).sum::<f64>() / all as f64)
    }
}

impl QualityReference {
    /// The bars of each variable, for each of these ordered pairs of groups. Levels with fewer
    /// than `least` rows of the reference are counted together.
    pub(crate) fn shapes(
        &self,
        sums: &QualitySums,
        pairs: &BTreeSet<(usize, usize)>,
        least: u64,
    ) -> BTreeMap<(usize, usize), Vec<Vec<ShapeBar>>> {
        let of_pair = |(&(own, to), pair): (&(usize, usize), &PairSums)| {
            let bars = (0..self.variables.len()).map(|v| self.bars(v, to, pair, least)).collect();
            ((own, to), bars)
        };
        sums.pairs.iter().filter(|(pair, _)| pairs.contains(pair)).map(of_pair).collect()
    }

    fn bars(&self, v: usize, to: usize, pair: &PairSums, least: u64) -> Vec<ShapeBar> {
        match self.variables[v].levels() {
            None => self.bins(v, to, pair),
            Some(levels) => self.levels(v, to, pair, (levels.n as usize, least)),
        }
    }

    fn bins(&self, v: usize, to: usize, pair: &PairSums) -> Vec<ShapeBar> {
        let position = self.position(v);
        let of_groups = || {
            (0..self.strata.n_groups())
                .map(|g| &self.strata.table(g, self.strata.pooled_slot()).values[position])
        };
        let Some((least, largest)) =
            of_groups().filter_map(Ecdf::ends).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        else {
            return Vec::new();
        };
        let edges = bin_edges(
            least,
            largest,
            of_groups().all(|values| values.values().iter().all(|x| x.fract() == 0.0)),
        );
        let (mut before, mut after, mut mixed) =
            (ValueTally::default(), ValueTally::default(), ClassMixture::default());
        for (&class, of_variable) in &pair.classes {
            if let VariableSums::Number(sums) = &of_variable[v] {
                before.merge(&sums.before);
                after.merge(&sums.after);
                if let Some(target) = self.table(to, class) {
                    mixed.add(sums.n, bin_counts(&target.values[position], &edges));
                }
            }
        }
        let target = self.strata.table(to, self.strata.pooled_slot());
        let counts = [&before.ecdf(), &after.ecdf(), &target.values[position]]
            .map(|values| bin_counts(values, &edges));
        let bar = |k: usize| ShapeBar {
            edges: Some((edges[k], edges[k + 1])),
            level: None,
            original: counts[0][k],
            counterfactual: counts[1][k],
            target: counts[2][k],
            target_share: mixed.share(k),
        };
        (0..edges.len() - 1).map(bar).collect()
    }

    fn levels(
        &self,
        v: usize,
        to: usize,
        pair: &PairSums,
        (n, least): (usize, u64),
    ) -> Vec<ShapeBar> {
        let position = self.position(v);
        let mut all = vec![0; n];
        for g in 0..self.strata.n_groups() {
            for &(level, n) in
                &self.strata.table(g, self.strata.pooled_slot()).levels[position].levels
            {
                all[level as usize] += n;
            }
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&level| (std::cmp::Reverse(all[level]), level));
        let many = order.iter().take_while(|&&level| all[level] >= least).count();
        let (shown, rest) = order.split_at(many.min(MAX_LEVELS));
        // The bars, each as the list of levels that it counts.
        let mut bars: Vec<&[usize]> = shown.chunks(1).collect();
        bars.extend((!rest.is_empty()).then_some(rest));
        let together = |count: &dyn Fn(usize) -> u64| -> Vec<u64> {
            bars.iter().map(|bar| bar.iter().map(|&level| count(level)).sum()).collect()
        };
        let rows_of = |spread: &LevelCounts| {
            together(&|level| spread.count(u32::try_from(level).unwrap_or(u32::MAX)))
        };

        let (mut was, mut is, mut mixed) = (vec![0; n], vec![0; n], ClassMixture::default());
        for (&class, of_variable) in &pair.classes {
            if let VariableSums::Levels(sums) = &of_variable[v] {
                was.iter_mut().zip(&sums.before).for_each(|(sum, n)| *sum += n);
                is.iter_mut().zip(&sums.after).for_each(|(sum, n)| *sum += n);
                if let Some(target) = self.table(to, class) {
                    mixed.add(sums.n, rows_of(&target.levels[position]));
                }
            }
        }
        let target = self.strata.table(to, self.strata.pooled_slot());
        let counts = [
            together(&|level| was[level]),
            together(&|level| is[level]),
            rows_of(&target.levels[position]),
        ];
        let bar = |k: usize| ShapeBar {
            edges: None,
            level: shown.get(k).copied(),
            original: counts[0][k],
            counterfactual: counts[1][k],
            target: counts[2][k],
            target_share: mixed.share(k),
        };
        (0..bars.len()).map(bar).collect()
    }

    /// Position of a variable among those of the same kind.
    pub(super) fn position(&self, v: usize) -> usize {
        in_kinds(&self.variables).nth(v).map_or(0, |kind| kind.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassMixture, MAX_BINS, bin_counts, bin_edges};
    use crate::num::ecdf::ValueTally;

    #[test]
    fn outer_bins_hold_what_lies_beyond() {
        let values = ValueTally::from_values([-5.0, 0.0, 0.5, 1.0, 1.5, 2.0, 9.0]).ecdf();
        assert_eq!(bin_counts(&values, &[0.0, 1.0, 2.0]), [3, 4]);
        assert_eq!(bin_counts(&values, &[3.0, 3.0]), [7]);
        assert_eq!(bin_counts(&ValueTally::default().ecdf(), &[0.0, 1.0]), [0]);
    }

    #[test]
    fn bins_of_whole_numbers_hold_equally_many() {
        assert_eq!(bin_edges(0.0, 3.0, true), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(bin_edges(-2.0, -2.0, true), [-2.0, -1.0]);
        assert_eq!(bin_edges(2.5, 2.5, false), [2.5, 2.5]);
        // 74 ages: nineteen bins of four.
        let ages = bin_edges(17.0, 90.0, true);
        assert_eq!((ages.len(), ages[1], ages[19]), (20, 21.0, 93.0));
        for (least, largest) in [(0.0, 99_999.0), (1.0, 20.0), (1.0, 21.0), (-4e15, 4e15)] {
            let edges = bin_edges(least, largest, true);
            assert!(
                edges.len() <= MAX_BINS + 1
                    && edges[edges.len() - 2] <= largest
                    && largest < edges[edges.len() - 1],
                "{least} {largest}"
            );
        }
        assert_eq!(bin_edges(0.0, 1.0, false).len(), MAX_BINS + 1);
        assert_eq!(bin_edges(0.0, 1e300, true).last(), Some(&1e300));
    }

    #[test]
    fn classes_of_the_target_weigh_as_among_the_counterfactuals() {
        let mut mixed = ClassMixture::default();
        assert_eq!(mixed.share(0), None);
        // Three counterfactuals of a class whose rows lie 1 : 3, one of a class whose rows all lie
        // in the first bar.
        mixed.add(3, vec![10, 30]);
        mixed.add(1, vec![500, 0]);
        // A class without counterfactuals, and a class without target rows.
        mixed.add(0, vec![0, 70]);
        mixed.add(5, vec![0, 0]);
        assert_eq!([mixed.share(0), mixed.share(1)], [Some(7.0 / 16.0), Some(9.0 / 16.0)]);
    }
}
