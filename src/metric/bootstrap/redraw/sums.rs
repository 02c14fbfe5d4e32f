//! Weighted sums over people in all replicates of a tile: many columns of terms at once, and
//! histograms.
//!
//! A weight is a small whole number, and a person has one in a replicate for all columns. So people
//! are taken three at a time: the sums that weights of 0 to 3 can make of their terms, 64 of them,
//! are listed first, and a replicate adds the one that its weights name, where it would else
//! multiply and add every term of each. It is the "method of the four Russians" (Arlazarov, Dinic,
//! Kronrod and Faradzev 1970). Weights above 3, 1.9 % of them, are made up for one by one.
//!
//! Terms are whole numbers whose sums fit 53 bits, so that no order of adding changes a bit.

use crate::metric::evidence::shift::SCORE_BINS;
use crate::num::poisson::{LANES, MAX_WEIGHT, PoissonWeights};

/// People whose sums are listed together.
const PEOPLE_PER_LIST: usize = 3;

/// The largest weight that a list knows.
const MAX_LISTED_WEIGHT: u8 = 3;

/// Sums of a list: one for each way that [`PEOPLE_PER_LIST`] people can weigh.
const SUMS_PER_LIST: usize = (MAX_LISTED_WEIGHT as usize + 1).pow(PEOPLE_PER_LIST as u32);

/// Lists that are read at a time, so that the sums of a replicate are fetched once for all of them.
const LISTS_PER_PASS: usize = 4;

/// People of a batch.
pub(crate) const BATCH: usize = 128 * PEOPLE_PER_LIST * LISTS_PER_PASS;

/// How often each person of a batch counts in each replicate of a tile.
pub(crate) struct BatchWeights {
    lanes: usize,
    people: usize,
    /// Row by row of a person. Those of nobody, up to a multiple of [`PEOPLE_PER_LIST`] times
    /// [`LISTS_PER_PASS`], are 0.
    counts: Vec<[u8; LANES]>,
    excess: Vec<ExcessWeight>,
}

/// The high bit of each of eight bytes.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Added to eight weights it sets the high bit of each that is above [`MAX_LISTED_WEIGHT`]; no
/// weight is above [`MAX_WEIGHT`], so nothing is carried.
const BELOW_HIGH_BIT: u64 = 0x0101_0101_0101_0101 * (0x7f - MAX_LISTED_WEIGHT as u64);

/// What a weight has above [`MAX_LISTED_WEIGHT`].
struct ExcessWeight {
    person: usize,
    replicate: usize,
    excess: f64,
}

impl BatchWeights {
    /// No people yet, in `lanes` lanes of replicates.
    pub(crate) fn new(lanes: usize) -> Self {
        BatchWeights { lanes, people: 0, counts: Vec::new(), excess: Vec::new() }
    }

    /// Draws the people of a batch by their keys, in the replicates from `first` on.
    pub(crate) fn draw(
        &mut self,
        poisson: &PoissonWeights,
        keys: impl ExactSizeIterator<Item = u64>,
        first: usize,
    ) {
        self.people = keys.len();
        self.counts.clear();
        self.counts.resize(
            self.people.next_multiple_of(PEOPLE_PER_LIST * LISTS_PER_PASS) * self.lanes,
            [0; LANES],
        );
        self.excess.clear();
        for (person, key) in keys.enumerate() {
            let counts = &mut self.counts[person * self.lanes..(person + 1) * self.lanes];
            poisson.counts(key, first, counts);
            let (words, _) = counts.as_flattened().as_chunks::<8>();
            for (word, eight) in words.iter().enumerate() {
                let mut above = (u64::from_le_bytes(*eight) + BELOW_HIGH_BIT) & HIGH_BITS;
                while above != 0 {
                    let place = above.trailing_zeros() as usize / 8;
                    let excess = f64::from(eight[place] - MAX_LISTED_WEIGHT);
                    self.excess.push(ExcessWeight { person, replicate: 8 * word + place, excess });
                    above &= above - 1;
                }
            }
        }
    }

    /// How often a person counts.
    fn counts_of(&self, person: usize) -> &[[u8; LANES]] {
        &self.counts[person * self.lanes..(person + 1) * self.lanes]
    }

    /// Which of the sums of a list each replicate takes; `first` is the first of the people
    /// together.
    fn sum_indices(&self, first: usize, names: &mut [[u8; LANES]]) {
        let [a, b, c] = std::array::from_fn(|place| self.counts_of(first + place));
        for (lane, names) in names.iter_mut().enumerate() {
            let (a, b, c) = (&a[lane], &b[lane], &c[lane]);
            let mut i = 0;
            while i < LANES {
                names[i] = a[i].min(MAX_LISTED_WEIGHT)
                    | b[i].min(MAX_LISTED_WEIGHT) << 2
                    | c[i].min(MAX_LISTED_WEIGHT) << 4;
                i += 1;
            }
        }
    }
}

/// Sums of N columns, a row of them per replicate.
pub(crate) struct ColumnSums<const N: usize> {
    sums: Vec<[f64; N]>,
    lists: Vec<[[f64; N]; SUMS_PER_LIST]>,
    sum_indices: Vec<[u8; LANES]>,
}

impl<const N: usize> ColumnSums<N> {
    /// What they take.
    pub(crate) const fn bytes(lanes: usize) -> usize {
        (lanes * LANES + LISTS_PER_PASS * SUMS_PER_LIST) * size_of::<[f64; N]>()
            + LISTS_PER_PASS * lanes * LANES
    }

    /// Sums of nothing, in `lanes` lanes of replicates.
    pub(crate) fn new(lanes: usize) -> Self {
        ColumnSums {
            sums: vec![[0.0; N]; lanes * LANES],
            lists: vec![[[0.0; N]; SUMS_PER_LIST]; LISTS_PER_PASS],
            sum_indices: vec![[0; LANES]; LISTS_PER_PASS * lanes],
        }
    }

    /// Adds the people of a batch: `terms` of each, as often as they count.
    pub(crate) fn add(&mut self, weights: &BatchWeights, terms: &[[f64; N]]) {
        let none = [[0.0; N]; PEOPLE_PER_LIST * LISTS_PER_PASS];
        for (first, terms) in (0..)
            .step_by(PEOPLE_PER_LIST * LISTS_PER_PASS)
            .zip(terms.chunks(PEOPLE_PER_LIST * LISTS_PER_PASS))
        {
            let mut all = none;
            all[..terms.len()].copy_from_slice(terms);
            let names = self.sum_indices.chunks_exact_mut(weights.lanes);
            for (place, (list, names)) in self.lists.iter_mut().zip(names).enumerate() {
                list_sums(list, &all[place * PEOPLE_PER_LIST..(place + 1) * PEOPLE_PER_LIST]);
                weights.sum_indices(first + place * PEOPLE_PER_LIST, names);
            }
            self.add_listed();
        }
        for above in &weights.excess {
            let (sums, terms) = (&mut self.sums[above.replicate], &terms[above.person]);
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += above.excess * term);
        }
    }

    /// Adds to every replicate the sums that it names.
    fn add_listed(&mut self) {
        let [a, b, c, d] = &self.lists[..] else { return };
        let (first, rest) = self.sum_indices.as_flattened().split_at(self.sums.len());
        let (second, rest) = rest.split_at(self.sums.len());
        let (third, fourth) = rest.split_at(self.sums.len());
        let names = first.iter().zip(second).zip(third.iter().zip(fourth));
        for (sums, ((&i, &j), (&k, &l))) in self.sums.iter_mut().zip(names) {
            let at = |name: u8| usize::from(name) % SUMS_PER_LIST;
            let (a, b, c, d) = (&a[at(i)], &b[at(j)], &c[at(k)], &d[at(l)]);
            let mut n = 0;
            while n < N {
                sums[n] += (a[n] + b[n]) + (c[n] + d[n]);
                n += 1;
            }
        }
    }

    /// The sums, a row per replicate.
    pub(crate) fn rows(&self) -> &[[f64; N]] {
        &self.sums
    }
}

/// All sums of these terms that weights can make; the weight of the first person changes fastest.
fn list_sums<const N: usize>(list: &mut [[f64; N]; SUMS_PER_LIST], terms: &[[f64; N]]) {
    let mut step = 1;
    for terms in terms {
        for way in step..step * (usize::from(MAX_LISTED_WEIGHT) + 1) {
            let mut n = 0;
            while n < N {
                list[way][n] = list[way - step][n] + terms[n];
                n += 1;
            }
        }
        step *= usize::from(MAX_LISTED_WEIGHT) + 1;
    }
}

/// What people weigh by bin of their score, in every replicate.
pub(crate) struct Histogram {
    lanes: usize,
    /// Those who weigh 1, while so few that 16 bits hold them.
    few: Vec<[u16; LANES]>,
    n_few: usize,
    sums: Vec<[f64; LANES]>,
}

impl Histogram {
    /// What it takes.
    pub(crate) const fn bytes(lanes: usize) -> usize {
        SCORE_BINS * lanes * (size_of::<[u16; LANES]>() + size_of::<[f64; LANES]>())
    }

    /// Empty bins, in `lanes` lanes of replicates.
    pub(crate) fn new(lanes: usize) -> Self {
        Histogram {
            lanes,
            few: vec![[0; LANES]; SCORE_BINS * lanes],
            n_few: 0,
            sums: vec![[0.0; LANES]; SCORE_BINS * lanes],
        }
    }

    /// Adds `weight` to a bin as often as a person of the batch counts.
    pub(crate) fn add(&mut self, bin: usize, weights: &BatchWeights, person: usize, weight: f64) {
        let (bin, counts) = (bin * self.lanes..(bin + 1) * self.lanes, weights.counts_of(person));
        if weight != 1.0 {
            for (sums, counts) in self.sums[bin].iter_mut().zip(counts) {
                let mut i = 0;
                while i < LANES {
                    sums[i] += f64::from(counts[i]) * weight;
                    i += 1;
                }
            }
            return;
        }
        for (few, counts) in self.few[bin].iter_mut().zip(counts) {
            let mut i = 0;
            while i < LANES {
                few[i] += u16::from(counts[i]);
                i += 1;
            }
        }
        self.n_few += 1;
        if self.n_few == usize::from(u16::MAX) / MAX_WEIGHT as usize {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (sum, few) in self.sums.as_flattened_mut().iter_mut().zip(self.few.as_flattened_mut()) {
            *sum += f64::from(std::mem::take(few));
        }
        self.n_few = 0;
    }

    /// The sums: bin by bin, in each a number per replicate.
    pub(crate) fn into_sums(mut self) -> Vec<[f64; LANES]> {
        self.flush();
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::{BATCH, BatchWeights, ColumnSums, Histogram};
    use crate::metric::evidence::shift::SCORE_BINS;
    use crate::num::poisson::{LANES, PoissonWeights};
    use crate::num::seed::RandomStream;

    /// Sums by lists are those of one product after another, however many people are in a batch.
    #[test]
    fn lists_add_up_to_products() {
        let (poisson, mut stream) =
            (PoissonWeights::new(5, "lists"), RandomStream::new(6, "lists"));
        for people in [0, 1, 3, 11, 12, 13, 700, BATCH] {
            let keys: Vec<u64> = (0..people as u64).map(|i| i * 31).collect();
            let terms: Vec<[f64; 5]> = keys
                .iter()
                .map(|_| std::array::from_fn(|_| (stream.u01() * 2e6 - 1e6).round()))
                .collect();
            let bins: Vec<usize> =
                keys.iter().map(|_| (stream.u01() * SCORE_BINS as f64) as usize).collect();
            let mut weights = BatchWeights::new(2);
            weights.draw(&poisson, keys.iter().copied(), 64);
            let (mut columns, mut histogram) = (ColumnSums::new(2), Histogram::new(2));
            // Twice, as if there were another batch.
            for _ in 0..2 {
                columns.add(&weights, &terms);
                let weigh = |person: usize| if person.is_multiple_of(7) { 2.5 } else { 1.0 };
                bins.iter()
                    .enumerate()
                    .for_each(|(person, &bin)| histogram.add(bin, &weights, person, weigh(person)));
            }
            let (mut expected, mut held) =
                (vec![[0.0; 5]; 2 * LANES], vec![0.0; 2 * LANES * SCORE_BINS]);
            for (person, (&key, terms)) in keys.iter().zip(&terms).enumerate() {
                for (replicate, sums) in expected.iter_mut().enumerate() {
                    let weight = poisson.weight(key, 64 + replicate);
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += 2.0 * weight * term);
                    held[bins[person] * 2 * LANES + replicate] +=
                        2.0 * weight * if person % 7 == 0 { 2.5 } else { 1.0 };
                }
            }
            assert_eq!(columns.rows(), expected, "{people} people");
            assert_eq!(histogram.into_sums().as_flattened(), held, "{people} people");
        }
    }

    #[test]
    fn histograms_hold_more_people_than_16_bits() {
        let mut weights = BatchWeights::new(1);
        weights.draw(&PoissonWeights::new(1, "many"), [9].into_iter(), 0);
        let mut histogram = Histogram::new(1);
        (0..100_000).for_each(|_| histogram.add(49, &weights, 0, 1.0));
        let sums = histogram.into_sums();
        assert!(
            (0..LANES).all(|r| sums[49][r] == 1e5 * PoissonWeights::new(1, "many").weight(9, r))
        );
        assert!(sums[..49].as_flattened().iter().all(|&sum| sum == 0.0));
    }
}
