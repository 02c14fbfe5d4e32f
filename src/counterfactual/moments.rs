//! Second moments of a reference, by group and class, summed while it is counted.
//!
//! A row has few levels but many indicators, so the sums are over its parts: the value x of each
//! number, whether it is known, whether each categorical variable is known, and the indicator of
//! the level it has. A column of the z-space is a weighted sum of two parts: z = (x - m) / s, and
//! for an indicator e of a variable that is known (k) z = (e - m k) / s. So the mean products of
//! columns, over all rows or over a section, are computed from the sums of products of parts and
//! from the mean m and deviation s.
//!
//! Numbers are summed as (x - c) / 2^e, with c and e from the first rows of the reference, so that
//! little precision is lost; if these rows are not typical, the sums are computed again with the
//! mean and deviation of all rows. Sums are in fixed point, and products of whole numbers are
//! exact: any order and any partition of rows give the same moments. Cost: per row a look-up of its
//! combination of levels, an addition for each number, and the square of the number of numeric
//! variables; memory: the square of the number of parts for each section.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::counterfactual::conditional::StratumKey;
use crate::counterfactual::space::{ReferenceSpace, SpaceAxis, ZColumn};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::FeatureRows;
use crate::exec::accumulator::{Accumulator, map_as_list};
use crate::num::additive::{Additive, absorb_map, additive};
use crate::num::ecdf::ValueTally;
use crate::num::fixed::FixedSum;
use crate::num::linalg::SymmetricMatrix;

/// Rows of the reference that determine the frame of numbers; a divisor of every row group.
pub(crate) const FRAME_ROWS: usize = 1024;

/// Sums that the sections have together at most: 64 MB on each thread.
const MAX_SUMS: usize = 1 << 22;

/// Largest whole number, from the centre, whose products are summed in floating point.
const EXACT_PRODUCTS: f64 = (1_u64 << 20) as f64;

/// The number of such products whose sum is still exact.
const EXACT_ROWS: usize = 4096;

/// Terms of an exact sum that are added side by side.
const SIDE_BY_SIDE: usize = 8;

/// The frame of a number: a centre near its mean, a unit near its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct NumberFrame {
    centre: f64,
    /// A power of two.
    unit: f64,
    whole: bool,
}

impl NumberFrame {
    fn of(tally: &ValueTally, whole: bool) -> Self {
        let (mean, sd) = tally.moments();
        let exponent = if sd > 0.0 && sd.is_finite() { libm::ilogb(sd) } else { 0 };
        // Exact products need units that are not too large, and fit the sums.
        let whole = whole && exponent < 26;
        let (centre, exponent) = match whole {
            true => (mean.round(), exponent.max(-8)),
            false => (mean, exponent.clamp(-500, 500)),
        };
        NumberFrame { centre, unit: libm::scalbn(1.0, exponent), whole }
    }

    /// Whether sums about the centre are as good as sums about the mean.
    fn serves(self, of_all: ZColumn) -> bool {
        of_all.sd <= 0.0
            || (of_all.mean - self.centre).abs() <= 64.0 * of_all.sd
                && (self.whole || self.unit <= 256.0 * of_all.sd)
                && of_all.sd <= (1_u64 << 20) as f64 * self.unit
    }
}

/// The parts of a categorical variable: that it is known, followed by its levels.
#[derive(Debug, Clone, Copy)]
struct LevelParts {
    known: usize,
    n: usize,
}

/// The parts that are summed: for each number its value and whether it is known, then the levels.
#[derive(Debug, Clone)]
pub(crate) struct MomentFrame {
    numbers: Vec<NumberFrame>,
    levels: Vec<LevelParts>,
    n_parts: usize,
}

/// The sum of a number over the rows that have it, in its frame, and their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NumberParts {
    sum: FixedSum,
    known: u64,
}

impl NumberParts {
    /// Adds a value; NaN is missing.
    #[inline]
    pub(crate) fn add(&mut self, x: f64) {
        if !x.is_nan() {
            self.sum.add_wide(x);
            self.known += 1;
        }
    }
}

/// Sums of products of parts over rows, as a lower triangle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MomentSums {
    /// Number of rows.
    pub(super) n: u64,
    products: Vec<FixedSum>,
}

impl MomentSums {
    fn at(&mut self, a: usize, b: usize) -> &mut FixedSum {
        &mut self.products[SymmetricMatrix::at(a.max(b), a.min(b))]
    }

    fn product(&self, a: usize, b: usize) -> f64 {
        self.products[SymmetricMatrix::at(a.max(b), a.min(b))].to_f64()
    }
}

additive!(MomentSums { n, products });

/// The moments of a reference: by group and class, or of all rows where that would be too much.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReferenceMoments {
    #[serde(with = "map_as_list")]
    sections: BTreeMap<StratumKey, MomentSums>,
    /// Whether the only section holds all rows.
    joined: bool,
}

impl ReferenceMoments {
    /// Merges the moments of rows of one group and class.
    pub(crate) fn merge_section(&mut self, key: StratumKey, sums: MomentSums) {
        let key = if self.joined { (None, None) } else { key };
        let n_sums = sums.products.len();
        absorb_map(&mut self.sections, [(key, sums)]);
        if self.sections.len() > 1 && self.sections.len() * n_sums > MAX_SUMS {
            self.join();
        }
    }

    /// Keeps the moments of all rows only.
    pub(crate) fn join(&mut self) {
        self.joined = true;
        let all = self.whole();
        self.sections = all.into_iter().map(|sums| ((None, None), sums)).collect();
    }

    /// The moments of all rows; none without rows.
    pub(crate) fn whole(&self) -> Option<MomentSums> {
        let mut sections = self.sections.values();
        let mut whole = sections.next()?.clone();
        sections.for_each(|sums| whole.absorb(sums));
        Some(whole)
    }

    /// The moments by group and class; `None` where they were too many.
    pub(crate) fn sections(&self) -> Option<&BTreeMap<StratumKey, MomentSums>> {
        (!self.joined).then_some(&self.sections)
    }
}

impl Accumulator for ReferenceMoments {
    fn merge(&mut self, other: Self) {
        if other.joined {
            self.join();
        }
        other.sections.into_iter().for_each(|(key, sums)| self.merge_section(key, sums));
    }
}

impl MomentFrame {
    /// The frame by the values of each number in some rows.
    pub(crate) fn new(variables: &[StrategyVariable], values: &[ValueTally]) -> Self {
        let numbers: Vec<NumberFrame> =
            values.iter().map(|tally| NumberFrame::of(tally, tally.is_whole())).collect();
        let (mut levels, mut n_parts) = (Vec::new(), 2 * numbers.len());
        for known in variables.iter().filter_map(StrategyVariable::levels) {
            levels.push(LevelParts { known: n_parts, n: known.n as usize });
            n_parts += 1 + known.n as usize;
        }
        MomentFrame { numbers, levels, n_parts }
    }

    /// Whether sums in this frame are as precise as in the frame of all rows.
    pub(crate) fn serves(&self, space: &ReferenceSpace) -> bool {
        let columns = space.0.iter().filter_map(|axis| match axis {
            SpaceAxis::Number(column) => Some(*column),
            SpaceAxis::Levels(_) => None,
        });
        self.numbers.iter().zip(columns).all(|(frame, column)| frame.serves(column))
    }

    /// No sums yet.
    pub(crate) fn empty(&self) -> MomentSums {
        let n = self.n_parts;
        MomentSums { n: 0, products: vec![FixedSum::ZERO; n * (n + 1) / 2] }
    }

    /// Whether this number of sections fits the memory.
    pub(crate) fn fits(&self, n_sections: usize) -> bool {
        n_sections <= 1 || n_sections * self.n_parts * (self.n_parts + 1) / 2 <= MAX_SUMS
    }

    /// The numbers of rows in their frames; NaN is missing.
    pub(crate) fn columns(
        &self,
        variables: &[StrategyVariable],
        rows: &FeatureRows,
    ) -> Vec<Vec<f64>> {
        let numbers = variables.iter().filter(|variable| variable.levels().is_none());
        let column = |(variable, frame): (&StrategyVariable, &NumberFrame)| {
            let per_unit = 1.0 / frame.unit;
            variable.numbers(rows).iter().map(|x| (x - frame.centre) * per_unit).collect()
        };
        numbers.zip(&self.numbers).map(column).collect()
    }

    /// Adds rows that share their levels, with the sums of their numbers.
    pub(crate) fn add_combination(
        &self,
        moments: &mut MomentSums,
        levels: &[u32],
        n: u64,
        numbers: &[NumberParts],
    ) {
        moments.n += n;
        let rows = FixedSum::from_f64(n as f64);
        let parts: Vec<usize> = self
            .levels
            .iter()
            .zip(levels)
            .filter(|(parts, level)| (**level as usize) < parts.n)
            .flat_map(|(parts, &level)| [parts.known, parts.known + 1 + level as usize])
            .collect();
        for (i, &a) in parts.iter().enumerate() {
            parts[..=i].iter().for_each(|&b| moments.at(a, b).add_term(rows));
            for (j, of_number) in numbers.iter().enumerate() {
                moments.at(a, 2 * j).add_term(of_number.sum);
                moments.at(a, 2 * j + 1).add_term(FixedSum::from_f64(of_number.known as f64));
            }
        }
    }

    /// Adds the products of numbers of rows, given by column, to the sums of each row's stratum.
    pub(crate) fn add_products(
        &self,
        columns: &[Vec<f64>],
        strata: &[u32],
        moments: &mut [MomentSums],
    ) {
        // The rows in order of their strata.
        let mut ends = vec![0; moments.len() + 1];
        strata.iter().for_each(|&stratum| ends[stratum as usize + 1] += 1);
        (1..ends.len()).for_each(|s| ends[s] += ends[s - 1]);
        let (mut next, mut order) = (ends.clone(), vec![0_u32; strata.len()]);
        for (&stratum, i) in strata.iter().zip(0..) {
            order[next[stratum as usize]] = i;
            next[stratum as usize] += 1;
        }
        for (range, moments) in ends.windows(2).zip(moments) {
            let rows = &order[range[0]..range[1]];
            let parts: Vec<NumberColumn> = columns
                .iter()
                .zip(&self.numbers)
                .map(|(column, frame)| NumberColumn::new(column, rows, frame))
                .collect();
            for (j, a) in parts.iter().enumerate() {
                for (k, b) in parts[..=j].iter().enumerate() {
                    moments.at(2 * j, 2 * k).add_term(a.product(b));
                    moments.at(2 * j, 2 * k + 1).add_term(a.sum_where(b));
                    if j != k {
                        moments.at(2 * j + 1, 2 * k).add_term(b.sum_where(a));
                    }
                    moments.at(2 * j + 1, 2 * k + 1).add_term(a.known_with(b));
                }
            }
        }
    }

    /// The columns of the z-space as weighted sums of two parts each.
    fn weights(&self, space: &ReferenceSpace) -> Vec<[(usize, f64); 2]> {
        let (mut weights, mut numbers, mut levels) = (Vec::new(), 0, 0);
        for axis in &space.0 {
            match axis {
                SpaceAxis::Number(column) => {
                    let (j, frame) = (numbers, self.numbers[numbers]);
                    numbers += 1;
                    if column.sd > 0.0 {
                        let shift = (frame.centre - column.mean) / column.sd;
                        weights.push([(2 * j, frame.unit / column.sd), (2 * j + 1, shift)]);
                    }
                }
                SpaceAxis::Levels(columns) => {
                    let parts = self.levels[levels];
                    levels += 1;
                    for (l, column) in columns.iter().enumerate().filter(|(_, c)| c.sd > 0.0) {
                        weights.push([
                            (parts.known + 1 + l, 1.0 / column.sd),
                            (parts.known, -column.mean / column.sd),
                        ]);
                    }
                }
            }
        }
        weights
    }

    /// The mean of each column of the z-space, and the mean product of each pair of columns.
    pub(crate) fn mean_products(
        &self,
        sums: &MomentSums,
        space: &ReferenceSpace,
    ) -> (Vec<f64>, SymmetricMatrix) {
        let (weights, n) = (self.weights(space), sums.n as f64);
        // A missing value is 0, so its sum is the sum of its product with "known".
        let total = |part: usize| match part < 2 * self.numbers.len() {
            true => sums.product(part, part | 1),
            false => sums.product(part, part),
        };
        let mean = |parts: &[(usize, f64); 2]| {
            parts.iter().map(|&(part, weight)| weight * total(part)).sum::<f64>() / n
        };
        let product = |a: &[(usize, f64); 2], b: &[(usize, f64); 2]| {
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            pairs.map(|(x, y)| x.1 * y.1 * sums.product(x.0, y.0)).sum::<f64>() / n
        };
        let products = SymmetricMatrix::of(weights.len(), |i, j| product(&weights[i], &weights[j]));
        (weights.iter().map(mean).collect(), products)
    }
}

/// A number in rows of one stratum.
struct NumberColumn {
    /// The values, 0 if missing.
    values: Vec<f64>,
    /// 1 where it is known; `None` where it always is.
    known: Option<Vec<f64>>,
    /// Whether sums of products of its values are exact.
    exact: bool,
}

impl NumberColumn {
    fn new(column: &[f64], rows: &[u32], frame: &NumberFrame) -> Self {
        let mut values: Vec<f64> = rows.iter().map(|&i| column[i as usize]).collect();
        let known = values.iter().any(|x| x.is_nan()).then(|| -> Vec<f64> {
            values.iter().map(|x| f64::from(u8::from(!x.is_nan()))).collect()
        });
        if known.is_some() {
            values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        }
        let is_small = |&x: &f64| {
            let whole = x * frame.unit;
            whole.abs() <= EXACT_PRODUCTS && (whole as i32) as f64 == whole
        };
        let exact = frame.whole && values.iter().all(is_small);
        NumberColumn { values, known, exact }
    }

    /// The sum of the products with another number.
    fn product(&self, other: &NumberColumn) -> FixedSum {
        sum_of_products(&self.values, &other.values, self.exact && other.exact)
    }

    /// The sum over the rows that know another number.
    fn sum_where(&self, other: &NumberColumn) -> FixedSum {
        match &other.known {
            Some(known) => sum_of_products(&self.values, known, self.exact),
            None => sum_of(self.values.len(), self.exact, |i| self.values[i]),
        }
    }

    /// Number of rows that know both.
    fn known_with(&self, other: &NumberColumn) -> FixedSum {
        match (&self.known, &other.known) {
            (Some(a), Some(b)) => sum_of_products(a, b, true),
            (Some(one), None) | (None, Some(one)) => sum_of(one.len(), true, |i| one[i]),
            (None, None) => FixedSum::from_f64(self.values.len() as f64),
        }
    }
}

fn sum_of_products(a: &[f64], b: &[f64], exact: bool) -> FixedSum {
    // Of one length, so that no term checks both bounds.
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    sum_of(n, exact, |i| a[i] * b[i])
}

/// A sum whose terms are rounded one by one, unless the sum of a few of them is exact.
#[inline(always)]
fn sum_of(n: usize, exact: bool, term: impl Fn(usize) -> f64) -> FixedSum {
    let mut sum = FixedSum::ZERO;
    if !exact {
        (0..n).for_each(|i| sum.add_wide(term(i)));
        return sum;
    }
    for first in (0..n).step_by(EXACT_ROWS) {
        sum.add_wide(exact_sum(first..n.min(first + EXACT_ROWS), &term));
    }
    sum
}

/// The exact sum of some terms, computed in parallel: their order has no effect.
#[inline(always)]
fn exact_sum(terms: Range<usize>, term: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; SIDE_BY_SIDE];
    let whole = terms.end - terms.len() % SIDE_BY_SIDE;
    let mut first = terms.start;
    while first < whole {
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum += term(first + k);
        }
        first += SIDE_BY_SIDE;
    }
    let rest: f64 = (whole..terms.end).map(&term).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counterfactual::SampleBatch;
    use crate::counterfactual::conditional::ReferenceCounts;
    use crate::counterfactual::counting::{ReferenceCounter, counts_of};
    use crate::counterfactual::variable::{CategoryLevels, VariableScale};
    use crate::data::{FeatureColumn, MISSING, MISSING_GROUP};
    use crate::exec::tests::state_laws::SampleState;
    use crate::num::seed::RandomStream;

    /// The sums of parts give the mean products of the dense vectors, for any missing values, any
    /// partition of the rows and any frame.
    #[test]
    fn moments_are_mean_products() {
        let mut stream = RandomStream::new(1, "moments");
        let n = 300;
        let mut numbers = |scale: f64| {
            (0..n)
                .map(|_| if stream.u01() < 0.1 { f64::NAN } else { stream.normal() * scale })
                .collect()
        };
        let mut columns = vec![
            FeatureColumn::Number(numbers(1e-6)),
            FeatureColumn::Number(numbers(1e6)),
            FeatureColumn::Number(vec![2.0; n]),
        ];
        let groups: Vec<u16> = (0..n).map(|i| [0, 1, MISSING_GROUP][i * i % 7 % 3]).collect();
        for levels in [2, 5, 1] {
            columns.push(FeatureColumn::Code(
                (0..n)
                    .map(|_| (stream.u64() % (levels + 1)) as u32)
                    .map(|l| if l < levels as u32 { l } else { MISSING })
                    .collect(),
            ));
        }
        let variable = |column: usize| {
            let levels =
                |n| VariableScale::Categorical(CategoryLevels { n, ..CategoryLevels::default() });
            let scale = [
                VariableScale::Continuous { integer: false },
                VariableScale::Ordinal {},
                VariableScale::Ordinal {},
                levels(2),
                levels(7),
                levels(1),
            ][column]
                .clone();
            StrategyVariable { name: column.to_string(), columns: vec![column], scale }
        };
        let variables: Vec<StrategyVariable> = (0..6).map(variable).collect();
        let rows = FeatureRows::of(columns);
        let counts = counts_of(
            &variables,
            &SampleBatch { keys: &[], rows: &rows, groups: &vec![0; n], classes: &vec![None; n] },
        );
        let space = ReferenceSpace::from_counts(&variables, &counts);
        assert_eq!(space.width(), 2 + 1 + 5);
        let (mut dense, mut means, mut vector) = (vec![0.0; 36], vec![0.0; 8], Vec::new());
        for i in 0..n {
            space.vector(&variables, &rows, i, &mut vector);
            for a in 0..8 {
                means[a] += vector[a] / n as f64;
                (0..=a).for_each(|b| {
                    dense[SymmetricMatrix::at(a, b)] += vector[a] * vector[b] / n as f64
                });
            }
        }
        let of_rows = |positions: &[usize]| {
            counts_of(
                &variables,
                &SampleBatch {
                    keys: &[],
                    rows: &rows.take(positions),
                    groups: &vec![0; n],
                    classes: &vec![None; n],
                },
            )
        };
        let values = |counts: &ReferenceCounts| counts.0[&(Some(0), None)].values.clone();
        // The frame of a few rows, and the frame of all rows.
        for frame_rows in [20, n] {
            let few: Vec<usize> = (0..frame_rows).collect();
            let frame = MomentFrame::new(&variables, &values(&of_rows(&few)));
            let moments = |cuts: &[usize]| {
                let mut whole = ReferenceMoments::default();
                for range in cuts.windows(2) {
                    let mut counter = ReferenceCounter::new(&variables, Some(&frame));
                    // In two batches.
                    let middle = range[0].midpoint(range[1]);
                    for range in [range[0]..middle, middle..range[1]] {
                        let positions: Vec<usize> = range.collect();
                        let groups_of = |groups: &[u16]| -> Vec<u16> {
                            positions.iter().map(|&i| groups[i]).collect()
                        };
                        counter.add(&SampleBatch {
                            keys: &[],
                            rows: &rows.take(&positions),
                            groups: &groups_of(&groups),
                            classes: &vec![Some(1); positions.len()],
                        });
                    }
                    whole.merge(counter.finish().1);
                }
                whole
            };
            let whole = moments(&[0, n]);
            let (found_means, found) = frame.mean_products(&whole.whole().unwrap(), &space);
            for (found, expected) in found.lower.iter().zip(&dense) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
            for (found, expected) in found_means.iter().zip(&means) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
            assert_eq!(moments(&[0, 7, 100, 280, n]), whole);
            let of_sections: u64 = whole.sections().unwrap().values().map(|sums| sums.n).sum();
            assert_eq!((of_sections, whole.sections().unwrap().len()), (n as u64, 3));
            let text = serde_json::to_string(&whole).unwrap();
            assert_eq!(serde_json::from_str::<ReferenceMoments>(&text).unwrap(), whole);
        }
    }

    impl SampleState for ReferenceMoments {
        fn sample(_: u64) -> Self {
            ReferenceMoments::default()
        }

        fn add_sample(&mut self, row: u64) {
            let levels =
                VariableScale::Categorical(CategoryLevels { n: 3, ..CategoryLevels::default() });
            let variable = |column: usize, scale| StrategyVariable {
                name: column.to_string(),
                columns: vec![column],
                scale,
            };
            let variables = [variable(0, VariableScale::Ordinal {}), variable(1, levels)];
            let x = ((row * row) % 11) as f64;
            let rows = FeatureRows::of(vec![
                FeatureColumn::Number(vec![if x > 9.0 { f64::NAN } else { x / 3.0 }]),
                FeatureColumn::Code(vec![[0, 1, 2, MISSING][(row % 4) as usize]]),
            ]);
            let values = [crate::num::ecdf::ValueTally::from_values([0.0, 1.5, 2.0])];
            let frame = MomentFrame::new(&variables, &values);
            let mut counter = ReferenceCounter::new(&variables, Some(&frame));
            counter.add(&SampleBatch {
                keys: &[],
                rows: &rows,
                groups: &[[0, 1, MISSING_GROUP][(row % 3) as usize]],
                classes: &[row.is_multiple_of(2).then_some(1)],
            });
            self.merge(counter.finish().1);
        }
    }

    /// Sections that take too much memory are joined, regardless of the order in which they come.
    #[test]
    fn too_many_sections_are_joined() {
        let frame = MomentFrame { numbers: Vec::new(), levels: Vec::new(), n_parts: 2000 };
        assert!(frame.fits(2) && !frame.fits(3));
        let section = |group: u16, n: u64| {
            let mut sums = frame.empty();
            sums.n = n;
            *sums.at(1, 0) = FixedSum::from_f64(n as f64);
            let mut moments = ReferenceMoments::default();
            moments.merge_section((Some(group), None), sums);
            moments
        };
        let merged = |order: [(u16, u64); 3]| {
            let mut all = ReferenceMoments::default();
            order.iter().for_each(|&(group, n)| all.merge(section(group, n)));
            all
        };
        let all = merged([(0, 5), (1, 7), (2, 11)]);
        assert!(all.sections().is_none());
        assert_eq!(all.whole().unwrap().product(0, 1), 23.0);
        assert_eq!(merged([(2, 11), (0, 5), (1, 7)]), all);
        assert!(merged([(0, 5), (1, 7), (0, 11)]).sections().is_some());
    }
}
