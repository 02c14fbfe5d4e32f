//! Numbers for combinations of levels, in the order in which they occur.
//!
//! A combination is a number in mixed radix: one digit per variable; the largest digit represents a
//! missing level. If all digits do not fit into 64 bits, the digits before a split are replaced by
//! the number of their combination. Cost: a look-up for every 32 bits of digits.

use std::ops::Range;

use crate::counterfactual::variable::StrategyVariable;
use crate::data::{FeatureRows, MISSING};
use crate::num::hash::FastMap;

/// Number of rows whose digits are combined at a time.
const BLOCK_ROWS: usize = 1024;

/// Numbers for combinations of levels.
#[derive(Debug, Clone)]
pub(crate) struct CombinationIndex {
    /// The positions of the categorical variables.
    variables: Vec<usize>,
    /// The number of levels of each variable.
    n_levels: Vec<u32>,
    /// The variables whose digits are looked up together.
    chunks: Vec<Range<usize>>,
    /// For each chunk, by the number of the preceding chunks and the digits of the chunk.
    numbers: Vec<FastMap<u64, u32>>,
}

impl CombinationIndex {
    /// An empty index of the categorical ones of these variables.
    pub(crate) fn new(variables: &[StrategyVariable]) -> Self {
        let positions: Vec<usize> =
            (0..variables.len()).filter(|&v| variables[v].levels().is_some()).collect();
        let n_levels: Vec<u32> =
            variables.iter().filter_map(|v| v.levels()).map(|levels| levels.n).collect();
        let (mut chunks, mut from, mut radix) = (Vec::new(), 0, 1_u64);
        for (k, &n) in n_levels.iter().enumerate() {
            let with = radix.saturating_mul(u64::from(n) + 1);
            if with > u64::from(u32::MAX) && k > from {
                chunks.push(from..k);
                (from, radix) = (k, u64::from(n) + 1);
            } else {
                radix = with;
            }
        }
        chunks.push(from..n_levels.len());
        let numbers = chunks.iter().map(|_| FastMap::default()).collect();
        CombinationIndex { variables: positions, n_levels, chunks, numbers }
    }

    /// Forgets all combinations.
    pub(crate) fn clear(&mut self) {
        self.numbers.iter_mut().for_each(FastMap::clear);
    }

    /// The levels of each categorical variable in these rows; the number of levels = missing.
    pub(crate) fn digits(
        &self,
        variables: &[StrategyVariable],
        rows: &FeatureRows,
    ) -> Vec<Vec<u32>> {
        let digits_of = |(&v, &n): (&usize, &u32)| variables[v].digits(rows, n);
        self.variables.iter().zip(&self.n_levels).map(digits_of).collect()
    }

    /// The levels of a row; missing ones are [`MISSING`].
    pub(crate) fn levels(&self, digits: &[Vec<u32>], row: usize) -> Vec<u32> {
        let level = |(digits, &n): (&Vec<u32>, &u32)| {
            if digits[row] < n { digits[row] } else { MISSING }
        };
        digits.iter().zip(&self.n_levels).map(level).collect()
    }

    /// The number of each row's combination with `within`, which must be below 2^32.
    ///
    /// Calls `new` with each row whose combination gets the next number.
    pub(crate) fn of_rows(
        &mut self,
        within: impl Fn(usize) -> u32,
        digits: &[Vec<u32>],
        n_rows: usize,
        mut new: impl FnMut(usize),
    ) -> Vec<u32> {
        let mut found = Vec::with_capacity(n_rows);
        let mut keys = [0_u64; BLOCK_ROWS];
        let n_chunks = self.chunks.len();
        for first in (0..n_rows).step_by(BLOCK_ROWS) {
            let rows = first..n_rows.min(first + BLOCK_ROWS);
            let keys = &mut keys[..rows.len()];
            keys.iter_mut().zip(rows.clone()).for_each(|(key, i)| *key = u64::from(within(i)));
            for (c, (chunk, numbers)) in self.chunks.iter().zip(&mut self.numbers).enumerate() {
                for k in chunk.clone() {
                    let radix = u64::from(self.n_levels[k]) + 1;
                    for (key, &digit) in keys.iter_mut().zip(&digits[k][rows.clone()]) {
                        *key = *key * radix + u64::from(digit);
                    }
                }
                for (key, i) in keys.iter_mut().zip(rows.clone()) {
                    let next = numbers.len() as u32;
                    let number = *numbers.entry(*key).or_insert(next);
                    if number == next && c + 1 == n_chunks {
                        new(i);
                    }
                    *key = u64::from(number);
                }
            }
            found.extend(keys.iter().map(|&key| key as u32));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::CombinationIndex;
    use crate::counterfactual::variable::{CategoryLevels, StrategyVariable, VariableScale};
    use crate::data::{FeatureColumn, FeatureRows, MISSING};
    use crate::num::seed::RandomStream;

    /// Equal combinations, and only these, have equal numbers, counted from 0; also where the
    /// digits take more than 64 bits.
    #[test]
    fn combinations_are_numbered_as_they_come() {
        for (n_variables, n_levels) in [(0, 1), (3, 4), (9, 90_000)] {
            let mut stream = RandomStream::new(3, "combinations");
            let levels = CategoryLevels { n: n_levels, ..CategoryLevels::default() };
            let variables: Vec<StrategyVariable> = (0..n_variables)
                .map(|column| StrategyVariable {
                    name: column.to_string(),
                    columns: vec![column],
                    scale: VariableScale::Categorical(levels.clone()),
                })
                .collect();
            let n = 3000;
            let mut code = || match (stream.u64() % 4) as u32 {
                0 => MISSING,
                k => (n_levels - 1).min(k * n_levels / 4),
            };
            let columns: Vec<Vec<u32>> =
                (0..n_variables).map(|_| (0..n).map(|_| code()).collect()).collect();
            let rows = FeatureRows::of(columns.iter().cloned().map(FeatureColumn::Code).collect());
            let mut index = CombinationIndex::new(&variables);
            let digits = index.digits(&variables, &rows);
            let (mut known, mut first) = (HashMap::new(), Vec::new());
            let expected: Vec<u32> = (0..n)
                .map(|i| {
                    let key: Vec<u32> =
                        columns.iter().map(|c| c[i]).chain([i as u32 % 3]).collect();
                    assert_eq!(index.levels(&digits, i), key[..n_variables]);
                    let next = known.len() as u32;
                    *known.entry(key).or_insert_with(|| {
                        first.push(i);
                        next
                    })
                })
                .collect();
            for _ in 0..2 {
                let mut new = Vec::new();
                let found = index.of_rows(|i| i as u32 % 3, &digits, n, |i| new.push(i));
                assert_eq!((&found, &new), (&expected, &first));
                assert_eq!(index.of_rows(|i| i as u32 % 3, &digits, n, |_| panic!()), expected);
                index.clear();
            }
        }
    }
}
