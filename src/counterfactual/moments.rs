//! Second moments of the z-space of a reference: for each pair of columns the mean of the product.
//!
//! A row has few levels but many indicators, so the sums are not over the standardised columns z
//! but over their parts: numbers z_j, indicators e of the levels a row has, and k, whether the row
//! has any. With mean m and deviation s of an indicator z = (e - m k) / s. So s s' times the sum of
//! z z' is sum e e' - m' sum e k' - m sum k e' + m m' sum k k'. Products of indicators are counted,
//! all other sums use fixed point, so any order and any partition of rows give the same moments.
//! Cost: the square of the number of variables per row, not of columns; memory the square of the
//! number of columns, and a copy of the rows.

use crate::counterfactual::space::{ReferenceSpace, SpaceAxis, ZColumn};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::{FeatureRows, MISSING};
use crate::num::fixed::FixedSum;
use crate::num::linalg::SymmetricMatrix;

/// The position of a column's parts in the sums.
#[derive(Debug, Clone, Copy)]
enum MomentPart {
    Number(usize),
    /// The indicator and its variable's `k`.
    Level {
        own: usize,
        known: usize,
        column: ZColumn,
    },
}

/// The slots of a variable with levels: that of `k`, followed by those of the indicators.
#[derive(Debug)]
struct MomentSlots {
    known: usize,
    /// Number of indicators.
    n: usize,
    /// For each level the offset of its indicator from `known`; 0 = it has none.
    offsets: Vec<u32>,
}

/// The layout of the sums.
#[derive(Debug)]
pub(super) struct MomentPlan<'a> {
    variables: &'a [StrategyVariable],
    space: &'a ReferenceSpace,
    /// For each column that is not left out.
    parts: Vec<MomentPart>,
    /// For each variable with levels.
    slots: Vec<MomentSlots>,
    n_numbers: usize,
    n_slots: usize,
}

/// Sums over rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpaceMoments {
    n: u64,
    /// Products of numbers, as a lower triangle.
    numbers: Vec<FixedSum>,
    /// For each number its sums over the rows in which a slot is set.
    mixed: Vec<FixedSum>,
    /// How often two slots are set together, as a lower triangle.
    counts: Vec<u64>,
}

impl<'a> MomentPlan<'a> {
    pub(super) fn new(variables: &'a [StrategyVariable], space: &'a ReferenceSpace) -> Self {
        let mut plan = MomentPlan {
            variables,
            space,
            parts: Vec::new(),
            slots: Vec::new(),
            n_numbers: 0,
            n_slots: 0,
        };
        for axis in &space.0 {
            match axis {
                SpaceAxis::Number(column) if column.sd > 0.0 => {
                    plan.parts.push(MomentPart::Number(plan.n_numbers));
                    plan.n_numbers += 1;
                }
                SpaceAxis::Number(_) => {}
                SpaceAxis::Levels(columns) => {
                    let known = plan.n_slots;
                    plan.n_slots += 1;
                    let mut behind = vec![0; columns.len()];
                    for ((level, &column), place) in
                        columns.iter().enumerate().filter(|(_, column)| column.sd > 0.0).zip(1..)
                    {
                        behind[level] = place;
                        plan.parts.push(MomentPart::Level { own: plan.n_slots, known, column });
                        plan.n_slots += 1;
                    }
                    plan.slots.push(MomentSlots {
                        known,
                        n: plan.n_slots - known - 1,
                        offsets: behind,
                    });
                }
            }
        }
        plan
    }

    fn empty(&self) -> SpaceMoments {
        SpaceMoments {
            n: 0,
            numbers: vec![FixedSum::ZERO; self.n_numbers * (self.n_numbers + 1) / 2],
            mixed: vec![FixedSum::ZERO; self.n_numbers * self.n_slots],
            counts: vec![0; self.n_slots * (self.n_slots + 1) / 2],
        }
    }

    /// The sums of a batch of rows.
    pub(super) fn batch_moments(&self, rows: &FeatureRows) -> SpaceMoments {
        let mut sums = self.empty();
        sums.n = rows.n as u64;
        let (mut numbers, mut levels) = (Vec::new(), Vec::new());
        for (variable, axis) in self.variables.iter().zip(&self.space.0) {
            match axis {
                SpaceAxis::Number(column) if column.sd > 0.0 => {
                    numbers.push(
                        (0..rows.n)
                            .map(|i| column.z(variable.number(rows, i)))
                            .collect::<Vec<f64>>(),
                    );
                }
                SpaceAxis::Number(_) => {}
                SpaceAxis::Levels(_) => {
                    let slots = &self.slots[levels.len()];
                    let place = |i: usize| {
                        slots
                            .offsets
                            .get(variable.level(rows, i) as usize)
                            .copied()
                            .unwrap_or(MISSING)
                    };
                    levels.push((0..rows.n).map(place).collect::<Vec<u32>>());
                }
            }
        }
        for (j, zs) in numbers.iter().enumerate() {
            for (k, others) in numbers[..=j].iter().enumerate() {
                let sum = &mut sums.numbers[SymmetricMatrix::at(j, k)];
                zs.iter().zip(others).for_each(|(z, other)| sum.add_wide(z * other));
            }
            let terms: Vec<FixedSum> = zs.iter().map(|&z| FixedSum::from_f64(z)).collect();
            for (slots, places) in self.slots.iter().zip(&levels) {
                let mut by_place = vec![FixedSum::ZERO; slots.n + 1];
                for (&place, &term) in places.iter().zip(&terms) {
                    if let Some(sum) = by_place.get_mut(place as usize) {
                        sum.add_term(term);
                    }
                }
                let mixed = &mut sums.mixed[j * self.n_slots + slots.known..];
                by_place.iter().for_each(|&sum| mixed[0].add_term(sum));
                mixed[1..]
                    .iter_mut()
                    .zip(&by_place[1..])
                    .for_each(|(slot, &sum)| slot.add_term(sum));
            }
        }
        for (a, places) in levels.iter().enumerate() {
            (0..=a).for_each(|b| self.add_pairs(&mut sums.counts, (a, places), (b, &levels[b])));
        }
        sums
    }

    /// Counts how often the slots of two variables are set together; `b` is `a` or precedes it.
    fn add_pairs(
        &self,
        counts: &mut [u64],
        (a, places_a): (usize, &[u32]),
        (b, places_b): (usize, &[u32]),
    ) {
        let (slots_a, slots_b) = (&self.slots[a], &self.slots[b]);
        let width = slots_b.n + 1;
        let mut pairs = vec![0_u64; (slots_a.n + 1) * width];
        for (&place_a, &place_b) in places_a.iter().zip(places_b) {
            if let Some(n) = pairs
                .get_mut(place_a as usize * width + place_b as usize)
                .filter(|_| place_b != MISSING)
            {
                *n += 1;
            }
        }
        for (at, n) in pairs.into_iter().enumerate().filter(|(_, n)| *n > 0) {
            let (place_a, place_b) = (at / width, at % width);
            let mut add = |place_a: usize, place_b: usize| {
                counts[SymmetricMatrix::at(slots_a.known + place_a, slots_b.known + place_b)] += n
            };
            add(0, 0);
            if place_a > 0 {
                add(place_a, 0);
            }
            if place_b > 0 && a != b {
                add(0, place_b);
            }
            if place_a > 0 && place_b > 0 {
                add(place_a, place_b);
            }
        }
    }

    /// The mean product of each pair of columns.
    pub(super) fn matrix(&self, sums: &SpaceMoments) -> SymmetricMatrix {
        let n = sums.n as f64;
        let count =
            |a: usize, b: usize| sums.counts[SymmetricMatrix::at(a.max(b), a.min(b))] as f64;
        let mixed = |j: usize, own: usize, known: usize, column: ZColumn| {
            let sum = |slot: usize| sums.mixed[j * self.n_slots + slot].to_f64();
            (sum(own) - column.mean * sum(known)) / column.sd
        };
        let product = |a: MomentPart, b: MomentPart| match (a, b) {
            (MomentPart::Number(j), MomentPart::Number(k)) => {
                sums.numbers[SymmetricMatrix::at(j.max(k), j.min(k))].to_f64()
            }
            (MomentPart::Number(j), MomentPart::Level { own, known, column })
            | (MomentPart::Level { own, known, column }, MomentPart::Number(j)) => {
                mixed(j, own, known, column)
            }
            (
                MomentPart::Level { own: e, known: k, column: c },
                MomentPart::Level { own: f, known: l, column: d },
            ) => {
                let centred = count(e, f) - d.mean * count(e, l) - c.mean * count(k, f)
                    + c.mean * d.mean * count(k, l);
                centred / (c.sd * d.sd)
            }
        };
        let width = self.parts.len();
        let lower = (0..width)
            .flat_map(|i| (0..=i).map(move |j| (i, j)))
            .map(|(i, j)| product(self.parts[i], self.parts[j]) / n);
        SymmetricMatrix { n: width, lower: lower.collect() }
    }
}

impl SpaceMoments {
    pub(super) fn merge(&mut self, other: &SpaceMoments) {
        self.n += other.n;
        self.numbers.iter_mut().zip(&other.numbers).for_each(|(a, b)| a.merge(*b));
        self.mixed.iter_mut().zip(&other.mixed).for_each(|(a, b)| a.merge(*b));
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }
}

#[cfg(test)]
mod tests {
    use super::MomentPlan;
    use crate::counterfactual::SampleBatch;
    use crate::counterfactual::conditional::ReferenceCounts;
    use crate::counterfactual::space::ReferenceSpace;
    use crate::counterfactual::variable::{CategoryLevels, StrategyVariable, VariableScale};
    use crate::data::{FeatureColumn, FeatureRows, MISSING};
    use crate::num::linalg::SymmetricMatrix;
    use crate::num::seed::RandomStream;

    /// The sparse sums equal the mean products of the dense vectors, for any missing values and any
    /// partition of the rows.
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
        let rows = FeatureRows { n, columns };
        let counts = ReferenceCounts::from_samples(
            &variables,
            &SampleBatch { keys: &[], rows: &rows, groups: &vec![0; n], classes: &vec![None; n] },
        );
        let space = ReferenceSpace::from_counts(&variables, &counts);
        assert_eq!(space.width(), 2 + 1 + 5);
        let plan = MomentPlan::new(&variables, &space);
        let (mut dense, mut vector) = (vec![0.0; 36], Vec::new());
        for i in 0..n {
            space.vector(&variables, &rows, i, &mut vector);
            for a in 0..8 {
                (0..=a).for_each(|b| {
                    dense[SymmetricMatrix::at(a, b)] += vector[a] * vector[b] / n as f64
                });
            }
        }
        let whole = plan.batch_moments(&rows);
        for (found, expected) in plan.matrix(&whole).lower.iter().zip(&dense) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let mut parts = plan.batch_moments(&rows.take(&(200..n).collect::<Vec<_>>()));
        parts.merge(&plan.batch_moments(&rows.take(&(0..200).collect::<Vec<_>>())));
        assert_eq!(parts, whole);
    }
}
