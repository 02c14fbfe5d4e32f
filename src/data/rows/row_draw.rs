//! Rows resampled with replacement.

use crate::num::poisson::PoissonWeights;
use crate::param::Seed;

/// One draw of rows with replacement: each row counts Poisson(1) times, and all rows of a person
/// equally often. It depends only on the key of the person and the number of the draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowDraw {
    weights: PoissonWeights,
    number: usize,
}

impl RowDraw {
    /// The draw of this number, from 0, in the stream of this name.
    pub(crate) fn new(seed: Seed, name: &str, number: u64) -> Self {
        let weights = PoissonWeights::new(seed.0, name);
        RowDraw { weights, number: usize::try_from(number).unwrap_or(usize::MAX) }
    }

    /// How often the rows of a person count.
    pub(crate) fn times(self, person_key: u64) -> f64 {
        self.weights.weight(person_key, self.number)
    }
}
