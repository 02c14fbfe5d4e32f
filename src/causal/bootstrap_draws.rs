//! The number of times that each training row occurs in each bootstrap replicate, without a list of
//! draws.
//!
//! As in "Counterfactual Fairness with Graph Uncertainty", a replicate draws n of n rows with
//! replacement; it is kept as whole multiplicities that sum to n. Rows come in blocks. A replicate
//! first distributes its n draws over the blocks by their numbers of rows (a multinomial), then the
//! draws of each block over its rows; together this is one draw of n rows. The first step uses the
//! stream `bootstrap/<replicate>`, the second `bootstrap/<replicate>/<block>`, so any thread can
//! draw any block of any replicate, and memory is one number per block and replicate. With strata
//! (the rows of one group each) every stratum is drawn separately and keeps its number of rows.
//!
//! Where a person may have several rows, persons are drawn in the same way, each in the block of
//! the first own row, and all rows of a person occur equally often: rows of one person resemble
//! each other, so draws of rows would differ too little. With one row each the draws are those of
//! rows. Memory: then 4 bytes per row, and per person and replicate.

use crate::causal::person_units::PersonUnits;
use crate::num::binomial_draws::multinomial;
use crate::num::seed::RandomStream;

/// The row multiplicities of all replicates.
#[derive(Debug, Clone)]
pub struct BootstrapDraws {
    source: DrawSource,
    /// Whether one more replicate holds every row once.
    has_all_rows: bool,
}

#[derive(Debug, Clone)]
enum DrawSource {
    /// The number of drawn rows for each replicate, block and stratum.
    Seeded { seed: u64, n_strata: usize, totals: Vec<Vec<u64>> },
    /// The persons, and for each replicate the multiplicity of every person.
    Persons(PersonUnits, Vec<Vec<u32>>),
}

impl BootstrapDraws {
    /// Bootstraps of rows in blocks; `sizes[k]` holds the rows of each stratum in block k.
    ///
    /// Without strata each block has one number.
    pub fn seeded(seed: u64, replicates: usize, sizes: &[Vec<u64>]) -> Self {
        let n_strata = sizes.first().map_or(1, Vec::len);
        let totals = (0..replicates).map(|b| {
            let mut stream = RandomStream::new(seed, &format!("bootstrap/{b}"));
            let mut totals = vec![0; sizes.len() * n_strata];
            for s in 0..n_strata {
                let weights: Vec<u64> = sizes.iter().map(|block| block[s]).collect();
                multinomial(&mut stream, weights.iter().sum(), &weights, |k, count| {
                    totals[k * n_strata + s] = count
                });
            }
            totals
        });
        let source = DrawSource::Seeded { seed, n_strata, totals: totals.collect() };
        BootstrapDraws { source, has_all_rows: false }
    }

    /// Bootstraps of persons.
    pub(crate) fn by_person(seed: u64, replicates: usize, persons: PersonUnits) -> Self {
        let draws = BootstrapDraws::seeded(seed, replicates, &persons.sizes);
        let of_replicate = |b: usize| {
            let blocks = persons.strata.iter().enumerate();
            blocks.flat_map(|(block, strata)| draws.multiplicities(b, block, strata)).collect()
        };
        let times = (0..replicates).map(of_replicate).collect();
        BootstrapDraws { source: DrawSource::Persons(persons, times), has_all_rows: false }
    }

    /// The number of rows of people with one row each that would be as precise as those of
    /// replicate `b`, if all rows of a person agree: (sum of n_j)^2 / sum of n_j^2, n_j the rows of
    /// the j-th draw of a person. None where each row is a person.
    pub(crate) fn effective_rows(&self, b: usize) -> Option<f64> {
        let DrawSource::Persons(persons, times) = &self.source else { return None };
        let of_all = vec![1; persons.rows_of.len()];
        let times = times.get(b).unwrap_or(&of_all);
        let (mut rows, mut squares) = (0.0, 0.0);
        for (&times, &own) in times.iter().zip(&persons.rows_of) {
            rows += f64::from(times) * f64::from(own);
            squares += f64::from(times) * f64::from(own) * f64::from(own);
        }
        Some(rows * rows / squares)
    }

    /// The same draws with one more replicate at the end, which contains every row once.
    pub fn with_all_rows(self) -> Self {
        BootstrapDraws { has_all_rows: true, ..self }
    }

    /// Number of replicates.
    pub fn n_replicates(&self) -> usize {
        self.n_drawn() + usize::from(self.has_all_rows)
    }

    /// The number of drawn replicates.
    fn n_drawn(&self) -> usize {
        match &self.source {
            DrawSource::Seeded { totals, .. } => totals.len(),
            DrawSource::Persons(_, times) => times.len(),
        }
    }

    /// The number of times that each row of a block occurs in replicate `b`.
    ///
    /// `strata` holds the stratum of each row, 0 throughout without strata.
    pub fn multiplicities(&self, b: usize, block: usize, strata: &[usize]) -> Vec<u32> {
        match &self.source {
            _ if b == self.n_drawn() => vec![1; strata.len()],
            DrawSource::Persons(persons, times) => {
                persons.of_rows[block].iter().map(|&person| times[b][person as usize]).collect()
            }
            DrawSource::Seeded { seed, n_strata, totals } => {
                let mut times = vec![0; strata.len()];
                let mut stream = RandomStream::new(*seed, &format!("bootstrap/{b}/{block}"));
                for s in 0..*n_strata {
                    let members: Vec<usize> =
                        (0..strata.len()).filter(|&i| strata[i] == s).collect();
                    if members.is_empty() {
                        continue;
                    }
                    for _ in 0..totals[b][block * n_strata + s] {
                        times[members[stream.below(members.len())]] += 1;
                    }
                }
                times
            }
        }
    }
}

#[cfg(test)]
impl BootstrapDraws {
    /// Replicates with given multiplicities, one per row and replicate: each row is a person.
    pub(crate) fn from_multiplicities(times: Vec<Vec<u32>>, sizes: &[Vec<u64>]) -> Self {
        let mut rows = 0_u32..;
        let of_rows: Vec<Vec<u32>> = sizes
            .iter()
            .map(|block| rows.by_ref().take(block.iter().sum::<u64>() as usize).collect())
            .collect();
        let rows_of = vec![1; of_rows.iter().map(Vec::len).sum()];
        let persons = PersonUnits { of_rows, rows_of, ..PersonUnits::default() };
        BootstrapDraws { source: DrawSource::Persons(persons, times), has_all_rows: false }
    }

    /// One replicate that contains every training row once.
    pub(crate) fn all_rows(sizes: &[Vec<u64>]) -> Self {
        BootstrapDraws::seeded(0, 0, sizes).with_all_rows()
    }
}

#[cfg(test)]
mod tests {
    use super::BootstrapDraws;

    #[test]
    fn every_replicate_draws_as_many_rows_as_there_are() {
        let sizes = vec![vec![700, 324], vec![200, 0], vec![13, 1]];
        let draws = BootstrapDraws::seeded(7, 40, &sizes);
        let strata: Vec<Vec<usize>> = sizes
            .iter()
            .map(|b| (0..b[0] + b[1]).map(|i| usize::from(i >= b[0])).collect())
            .collect();
        let mut present = 0;
        for b in 0..40 {
            let times: Vec<Vec<u32>> =
                (0..3).map(|k| draws.multiplicities(b, k, &strata[k])).collect();
            for s in 0..2 {
                let drawn = |k: usize| {
                    times[k]
                        .iter()
                        .zip(&strata[k])
                        .filter(|x| *x.1 == s)
                        .map(|x| u64::from(*x.0))
                        .sum::<u64>()
                };
                assert_eq!((0..3).map(drawn).sum::<u64>(), sizes.iter().map(|x| x[s]).sum::<u64>());
            }
            present += times.iter().flatten().filter(|&&t| t > 0).count();
        }
        // 1 - 1/e of 1,238 rows, 40 times: 31,303, standard deviation below 110.
        assert!((30_800..31_800).contains(&present), "{present}");
        assert_eq!(
            draws.multiplicities(3, 1, &strata[1]),
            BootstrapDraws::seeded(7, 4, &sizes).multiplicities(3, 1, &strata[1])
        );
        assert_ne!(draws.multiplicities(3, 1, &strata[1]), draws.multiplicities(4, 1, &strata[1]));
    }

    #[test]
    fn given_rows_are_taken_as_they_are() {
        let draws = BootstrapDraws::from_multiplicities(vec![vec![2, 0, 1]], &[vec![2], vec![1]]);
        assert_eq!(
            (draws.multiplicities(0, 0, &[0, 0]), draws.multiplicities(0, 1, &[0])),
            (vec![2, 0], vec![1])
        );
        assert_eq!(
            BootstrapDraws::all_rows(&[vec![2], vec![1]]).multiplicities(0, 0, &[0, 0]),
            [1, 1]
        );
        let both = draws.with_all_rows();
        assert_eq!(
            (
                both.n_replicates(),
                both.multiplicities(0, 0, &[0, 0]),
                both.multiplicities(1, 1, &[0])
            ),
            (2, vec![2, 0], vec![1])
        );
    }
}
