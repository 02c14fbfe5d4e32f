//! Rows with equal inputs, about which a model is asked once: many worlds give a person the same
//! row, as do many changes, and people may differ only in columns that a model does not read.

use crate::data::{FeatureColumn, FeatureRows, Layout};
use crate::error::Result;
use crate::exec::accumulator::PieceLoop;
use crate::num::hash::FastMap;
use crate::num::seed::{h, sm};

/// Seeds of the two halves of the hash of a row.
const SEEDS: [u64; 2] = [11, 12];

/// Which rows the model is asked about, and where the answers for all others are found.
///
/// Memory: 8 bytes a row and 24 a different one.
#[derive(Debug, Default)]
pub(crate) struct EqualRows {
    /// For each piece the number of each row among the different ones, in the order in which these
    /// are asked.
    pub(crate) numbers: Vec<Vec<u32>>,
    /// For each piece the positions of the rows that are new, about which the model is asked.
    pub(crate) first: Vec<Vec<usize>>,
    /// Different rows.
    pub(crate) n: usize,
}

/// The hash of a row, by what a model reads.
pub(crate) type RowHash = [u64; 2];

/// The numbers of the different rows so far.
pub(crate) type KnownRows = FastMap<RowHash, u32>;

impl EqualRows {
    /// Compares the rows of all pieces by their `hashes`.
    ///
    /// # Errors
    /// Those of `hashes`, or the run is to stop.
    pub(crate) fn find(
        pieces: PieceLoop<'_>,
        hashes: impl Fn(usize) -> Result<Vec<RowHash>> + Sync,
    ) -> Result<Self> {
        let mut all = EqualRows::default();
        all.add(&mut KnownRows::default(), pieces, hashes)?;
        Ok(all)
    }

    /// Adds further pieces, whose rows are compared with those that are `known`, too.
    ///
    /// # Errors
    /// As [`EqualRows::find`].
    pub(crate) fn add(
        &mut self,
        known: &mut KnownRows,
        pieces: PieceLoop<'_>,
        hashes: impl Fn(usize) -> Result<Vec<RowHash>> + Sync,
    ) -> Result<()> {
        pieces.in_turn(
            |piece| Ok((0, hashes(piece)?)),
            |hashes| {
                let (mut numbers, mut first) = (Vec::with_capacity(hashes.len()), Vec::new());
                for (i, hash) in hashes.into_iter().enumerate() {
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    let number = *known.entry(hash).or_insert(next);
                    if number == next {
                        first.push(i);
                    }
                    numbers.push(number);
                }
                self.numbers.push(numbers);
                self.first.push(first);
                self.n = known.len();
            },
        )
    }
}

/// The features of these names, which a model reads.
pub(crate) fn read_features<T: AsRef<str>>(layout: &Layout, names: &[T]) -> Vec<usize> {
    names.iter().filter_map(|name| layout.feature(name.as_ref())).collect()
}

/// A hash of some columns of each row, in both views, 128 bits: different rows have equal ones by
/// chance once in 10^38 pairs.
pub(crate) fn row_hashes(columns: &[usize], rows: &FeatureRows) -> Vec<RowHash> {
    let mut hashes = vec![SEEDS; rows.n];
    for &column in columns {
        let mut add =
            |i: usize, bits: u64| hashes[i].iter_mut().for_each(|hash| *hash = sm(*hash ^ bits));
        match &rows.columns[column] {
            FeatureColumn::Number(values) => {
                // The two zeros are one number, and so are all missing ones.
                let bits = |x: f64| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() };
                values.iter().enumerate().for_each(|(i, &x)| add(i, bits(x)));
            }
            FeatureColumn::Code(codes) => {
                codes.iter().enumerate().for_each(|(i, &code)| add(i, u64::from(code)));
            }
        }
        let of_source = rows.source.iter().filter(|cells| cells.feature == column);
        for (i, bits) in of_source.flat_map(|cells| cells.bits(rows)).enumerate() {
            // Only some rows have such a value, so it is marked as one.
            bits.into_iter().for_each(|bits| add(i, h(column as u64, bits, 1)));
        }
    }
    hashes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::row_hashes;
    use crate::data::{FeatureColumn, FeatureRows};

    #[test]
    fn rows_are_equal_by_the_columns_that_are_read() {
        let columns = vec![
            FeatureColumn::Number(vec![1.0, 1.0, 0.0, -0.0, f64::NAN, f64::NAN]),
            FeatureColumn::Code(vec![2, 2, 1, 1, 0, 0]),
            FeatureColumn::Code(vec![0, 1, 2, 3, 4, 4]),
        ];
        let rows = FeatureRows::of(columns);
        let different = |columns: &[usize]| {
            row_hashes(columns, &rows).into_iter().collect::<BTreeSet<_>>().len()
        };
        assert_eq!((different(&[0, 1]), different(&[0, 1, 2]), different(&[])), (3, 5, 1));
        // The same values in other columns are another row.
        let swapped =
            FeatureRows::of(vec![FeatureColumn::Code(vec![1, 2]), FeatureColumn::Code(vec![2, 1])]);
        assert_eq!(row_hashes(&[0, 1], &swapped).into_iter().collect::<BTreeSet<_>>().len(), 2);
    }
}
