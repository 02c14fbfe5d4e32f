//! A hash of the values that a fit reads, or that are to be scored: equal for equal values.
//!
//! It does not depend on the order of the rows, their keys, the row groups of their file or the
//! positions of their levels. Two sums of hashes over all rows, 128 bits together: different rows
//! have equal hashes by chance once in 10^38.

use serde::{Deserialize, Serialize};

use crate::data::{Feature, FeatureColumn, FeatureRows, MISSING};
use crate::exec::accumulator::Accumulator;
use crate::num::hash::equal_bits;
use crate::num::seed::{h, named_seed};

/// Seeds of the two sums.
const SEEDS: [u64; 2] = [1, 2];

/// Whole numbers in a smaller range than this are hashed once each.
const MAX_TABLE: usize = 4096;

/// The hash of some columns of rows; merge in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHash {
    rows: u64,
    sums: [u64; 2],
}

impl ContentHash {
    /// Hashes some columns, given by their positions, of rows with these features.
    ///
    /// `beside` holds for each row a hash of the other values that are read.
    pub fn of(
        features: &[Feature],
        columns: &[usize],
        rows: &FeatureRows,
        beside: impl Fn(usize) -> u64,
    ) -> Self {
        let mut hash = ContentHash { rows: rows.n as u64, ..ContentHash::default() };
        let beside: Vec<u64> = (0..rows.n).map(beside).collect();
        for (sum, seed) in hash.sums.iter_mut().zip(SEEDS) {
            // Columns are summed too, so that their order does not matter.
            let mut of_rows: Vec<u64> = vec![0; rows.n];
            for &column in columns {
                let feature = &features[column];
                let name = named_seed(seed, &feature.name);
                match &rows.columns[column] {
                    FeatureColumn::Number(values) => {
                        let table = whole_table(values, |value| h(name, equal_bits(value), 0));
                        let of = |&value: &f64| match &table {
                            Some((least, hashes)) => hashes[(value - least) as usize],
                            None => h(name, equal_bits(value), 0),
                        };
                        of_rows
                            .iter_mut()
                            .zip(values)
                            .for_each(|(row, value)| *row = row.wrapping_add(of(value)));
                    }
                    FeatureColumn::Code(codes) => {
                        let n = feature.levels.len();
                        let of = |level: &String| h(name, named_seed(seed, level), 0);
                        let mut levels: Vec<u64> = feature.levels.iter().map(of).collect();
                        levels.push(h(name, u64::from(MISSING), 0));
                        of_rows.iter_mut().zip(codes).for_each(|(row, &code)| {
                            *row = row.wrapping_add(levels[(code as usize).min(n)]);
                        });
                    }
                }
            }
            for (row, &beside) in of_rows.into_iter().zip(&beside) {
                *sum = sum.wrapping_add(h(seed, row, beside));
            }
        }
        hash
    }

    /// Number of rows.
    pub(crate) fn n_rows(&self) -> u64 {
        self.rows
    }

    /// The hash in hexadecimal: 32 digits.
    pub fn hex(&self) -> String {
        self.sums
            .iter()
            .zip(SEEDS)
            .map(|(&sum, seed)| format!("{:016x}", h(seed, sum, self.rows)))
            .collect()
    }
}

impl Accumulator for ContentHash {
    fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.sums
            .iter_mut()
            .zip(other.sums)
            .for_each(|(sum, other)| *sum = sum.wrapping_add(other));
    }
}

/// For each whole number from the smallest on, if all are whole and few, and none is missing.
fn whole_table(values: &[f64], of: impl Fn(f64) -> u64) -> Option<(f64, Vec<u64>)> {
    let ends = |(least, largest): (f64, f64), &x: &f64| (least.min(x), largest.max(x));
    let (least, largest) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    let few = least.abs() < 1e15 && largest - least < MAX_TABLE.min(values.len() / 8) as f64;
    let whole = few && values.iter().all(|&x| x as i64 as f64 == x);
    let n = || (largest - least) as usize + 1;
    whole.then(|| (least, (0..n()).map(|step| of(least + step as f64)).collect()))
}

#[cfg(test)]
mod tests {
    use super::ContentHash;
    use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows};

    /// Rows of one number and one level each, given as its position in the list of levels.
    fn hash(levels: &[&str], rows: &[(f64, u32)]) -> String {
        let pay = Feature::of("pay", FeatureKind::OrdinalNumber, &[]);
        let features = [pay, Feature::of("job", FeatureKind::Nominal, levels)];
        let rows = FeatureRows::of(vec![
            FeatureColumn::Number(rows.iter().map(|row| row.0).collect()),
            FeatureColumn::Code(rows.iter().map(|row| row.1).collect()),
        ]);
        ContentHash::of(&features, &[0, 1], &rows, |_| 0).hex()
    }

    #[test]
    fn equal_values_have_an_equal_hash() {
        let one = hash(&["a", "b"], &[(1.0, 0), (2.0, 1), (f64::NAN, 1)]);
        assert_eq!(one, hash(&["a", "b"], &[(f64::NAN, 1), (2.0, 1), (1.0, 0)]), "another order");
        assert_eq!(one, hash(&["b", "a"], &[(1.0, 1), (2.0, 0), (f64::NAN, 0)]), "other positions");
        assert_eq!(hash(&["a"], &[(0.0, 0)]), hash(&["a"], &[(-0.0, 0)]));
        for other in [
            hash(&["a", "b"], &[(1.0, 0), (2.0, 1)]),
            hash(&["a", "b"], &[(1.0, 1), (2.0, 0), (f64::NAN, 1)]),
            hash(&["a", "b"], &[(1.0, 0), (2.0, 1), (0.0, 1)]),
            hash(&["a", "c"], &[(1.0, 0), (2.0, 1), (f64::NAN, 1)]),
        ] {
            assert_ne!(one, other);
        }
    }
}
