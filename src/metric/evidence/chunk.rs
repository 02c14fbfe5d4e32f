//! The terms of pairs of scores, [`CHUNK`] pairs at a time and without branches, so that the
//! compiler makes vectors of them.
//!
//! Every term is that of [`shift`](crate::metric::evidence::shift), bit for bit: the same formulas
//! in the same order of operations. The logarithm is that of `libm` written without branches, for
//! numbers that are neither zero, subnormal nor infinite. Pairs whose scores are far apart need a
//! logarithm where the others need a series: they are collected first. The few numbers that
//! the logarithm does not know go through the formulas one by one.
//!
//! A term of at most 1 in size becomes whole units of 2^-52 (see
//! [`FixedSum`](crate::num::fixed::FixedSum)) by adding 2^52 and reading the bits: ties go to even,
//! as there. A chunk of them sums to less than 2^62, so 64 bits hold it. Terms above 1, of pairs
//! with a score next to zero, are listed on their own.
//!
//! The widest vectors that the processor has are chosen at run time; no bit depends on it, because
//! the compiler never joins a product and a sum.

use pulp::{Arch, Simd, WithSimd};

use crate::metric::evidence::jensen_shannon::NEAR_SQUARE;
use crate::metric::evidence::score_bins::{PARTS, PairParts, change_part, score_part};
use crate::metric::evidence::shift::{NEGLIGIBLE, ShiftSums, kl_term, ratio_series};
use crate::num::fixed::FixedSum;

/// Pairs of a chunk.
pub(crate) const CHUNK: usize = 512;

/// Terms of a pair: s, c, |c - s|, (c - s)^2, s ln(s/c).
const TERMS: usize = 5;

/// Whole units of 2^-52, a term of each pair.
type TermColumn = [i64; CHUNK];

/// Vectors that the compiler makes hold at most so many numbers.
const WIDEST: usize = 8;

const UNITS: f64 = (1_u64 << 52) as f64;

/// Pairs of one direction, together.
#[derive(Debug, Clone)]
pub(crate) struct PairChunk {
    n: usize,
    pub(crate) score: [f64; CHUNK],
    pub(crate) score_cf: [f64; CHUNK],
    /// The cell of the extended matrix that each pair fills.
    pub(crate) cell: [u8; CHUNK],
    /// Whole units that each pair weighs.
    pub(crate) weight: [u64; CHUNK],
}

impl PairChunk {
    /// No pair yet.
    pub(crate) fn new() -> Self {
        PairChunk {
            n: 0,
            score: [0.0; CHUNK],
            score_cf: [0.0; CHUNK],
            cell: [0; CHUNK],
            weight: [1; CHUNK],
        }
    }

    /// Adds a pair. Whether the chunk is full.
    #[inline]
    pub(crate) fn push(&mut self, pair: (f64, f64), cell: u8, weight: u64) -> bool {
        let i = self.n;
        (self.score[i], self.score_cf[i]) = pair;
        (self.cell[i], self.weight[i]) = (cell, weight);
        self.n += 1;
        self.n == CHUNK
    }

    /// Takes all pairs out.
    pub(crate) fn clear(&mut self) {
        self.n = 0;
    }

    /// Number of pairs.
    pub(crate) fn len(&self) -> usize {
        self.n
    }
}

/// The terms of a chunk.
#[derive(Debug)]
pub(crate) struct ChunkTerms {
    columns: [TermColumn; TERMS],
    /// The parts of the scores before and after and of the change.
    parts: [[u16; CHUNK]; 3],
    /// Terms of s ln(s/c) above 1 in size, with their positions; 0 in their column.
    wide: Vec<(usize, FixedSum)>,
    room: ChunkRoom,
}

/// Room for pairs that are far apart.
#[derive(Debug)]
struct ChunkRoom {
    /// Squares that tell pairs that are far apart from the others.
    squares: [f64; CHUNK],
    positions: [usize; CHUNK],
    left: [f64; CHUNK],
    right: [f64; CHUNK],
    found: [f64; CHUNK],
}

impl ChunkRoom {
    /// Lists the positions of pairs that are far apart, or whose square is not a number.
    #[inline(always)]
    fn far(&mut self, n: usize) -> usize {
        let mut far = 0;
        for i in 0..n {
            self.positions[far] = i;
            let is_near = self.squares[i] < NEAR_SQUARE;
            far += usize::from(!is_near);
        }
        far
    }
}

/// The terms of a chunk, with the vectors of a processor.
struct TermJob<'a> {
    chunk: &'a PairChunk,
    terms: &'a mut ChunkTerms,
}

impl WithSimd for TermJob<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        all_terms(self.chunk, self.terms);
    }
}

impl ChunkTerms {
    /// Room for the terms of a chunk.
    pub(crate) fn new() -> Box<Self> {
        Box::new(ChunkTerms {
            columns: [[0; CHUNK]; TERMS],
            parts: [[0; CHUNK]; 3],
            wide: Vec::new(),
            room: ChunkRoom {
                squares: [0.0; CHUNK],
                positions: [0; CHUNK],
                left: [0.0; CHUNK],
                right: [0.0; CHUNK],
                found: [0.0; CHUNK],
            },
        })
    }

    /// Computes them.
    pub(crate) fn compute(&mut self, arch: Arch, chunk: &PairChunk) {
        arch.dispatch(TermJob { chunk, terms: self });
    }

    /// The sums over the first `n` pairs of s, c, |c - s| and s ln(s/c), each as often as the pair
    /// weighs; every pair weighs 1 where `weights` are none.
    pub(crate) fn sums(&self, n: usize, weights: Option<&[u64; CHUNK]>) -> [FixedSum; TERMS - 1] {
        let [score, score_cf, absolute, _, divergence] = &self.columns;
        let mut sums = [score, score_cf, absolute, divergence].map(|column| {
            let mut sum = FixedSum::ZERO;
            sum.add_units(match weights {
                // At most 512 terms of at most 2^52 units: 64 bits hold them.
                None => {
                    let terms = column[..n].iter();
                    i128::from(terms.fold(0_i64, |sum, &term| sum.wrapping_add(term)))
                }
                Some(weights) => column[..n]
                    .iter()
                    .zip(weights)
                    .map(|(&term, &weight)| i128::from(term) * i128::from(weight))
                    .sum(),
            });
            sum
        });
        for (position, term) in &self.wide {
            let weight = weights.map_or(1, |weights| i128::from(weights[*position]));
            sums[TERMS - 2].add_units(term.units() * weight);
        }
        sums
    }

    /// The parts of histograms that the first `n` pairs fall into.
    pub(crate) fn parts(&self, n: usize) -> PairParts<'_> {
        self.parts.each_ref().map(|parts| &parts[..n])
    }

    /// The squared change of a pair in units of 2^-52.
    pub(crate) fn squared_units(&self, position: usize) -> i64 {
        self.columns[3][position]
    }
}

/// The units of a number of [0, 1].
#[inline(always)]
fn share_units(x: f64) -> i64 {
    (x * UNITS + UNITS).to_bits().wrapping_sub(UNITS.to_bits()).cast_signed()
}

/// The units of a number of [-1, 1].
#[inline(always)]
fn signed_units(x: f64) -> i64 {
    let sign = x.to_bits().cast_signed() >> 63;
    (share_units(x.abs()) ^ sign).wrapping_sub(sign)
}

/// The logarithm of `libm` of a normal number above 0, else anything.
///
/// Source: FreeBSD's `e_log.c`, as `libm` has it.
#[inline(always)]
fn ln(x: f64) -> f64 {
    const LOW: u64 = (1 << 52) - 1;
    // The upper half of the square root of a half, and its distance to that of 1.
    const ROOT: u64 = 0x3fe6_a09e << 32;
    const SHIFT: u64 = (0x3ff0_0000 << 32) - ROOT;
    let shifted = x.to_bits().wrapping_add(SHIFT);
    let exponent = f64::from_bits((shifted >> 52) | UNITS.to_bits()) - (UNITS + 1023.0);
    let f = f64::from_bits((shifted & LOW).wrapping_add(ROOT)) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (LG[1] + w * (LG[3] + w * LG[5]));
    let odd = z * (LG[0] + w * (LG[2] + w * (LG[4] + w * LG[6])));
    s * (half_square + (odd + even)) + exponent * LN2_LOW - half_square + f + exponent * LN2_HIGH
}

/// ln 2 in two parts, of which the upper has few digits.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// The coefficients of the logarithm.
const LG: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];

/// The number of pairs to compute, up to a whole vector; what stands beyond the last pair is never
/// read.
fn whole_vectors(n: usize) -> usize {
    n.next_multiple_of(WIDEST).min(CHUNK)
}

#[inline(always)]
fn all_terms(chunk: &PairChunk, terms: &mut ChunkTerms) {
    let n = whole_vectors(chunk.n);
    let room = &mut terms.room;
    for i in 0..n {
        let (s, c) = (chunk.score[i], chunk.score_cf[i]);
        let change = c - s;
        terms.columns[0][i] = share_units(s);
        terms.columns[1][i] = share_units(c);
        terms.columns[2][i] = share_units(change.abs());
        terms.columns[3][i] = share_units(change * change);
    }
    for i in 0..n {
        let (s, c) = (chunk.score[i], chunk.score_cf[i]);
        terms.parts[0][i] = score_part(s);
        terms.parts[1][i] = score_part(c);
        terms.parts[2][i] = change_part(c - s);
    }
    for i in 0..n {
        let (s, c) = (chunk.score[i], chunk.score_cf[i]);
        let x = (s - c) / (s + c);
        room.squares[i] = x * x;
        terms.columns[4][i] = signed_units(s * ratio_series(x));
    }
    let far = room.far(chunk.n);
    for k in 0..far {
        room.left[k] = chunk.score[room.positions[k]];
        room.right[k] = chunk.score_cf[room.positions[k]];
    }
    for k in 0..whole_vectors(far) {
        room.found[k] = room.left[k] * ln(room.left[k] / room.right[k]);
    }
    terms.wide.clear();
    for k in 0..far {
        let (i, s, c) = (room.positions[k], room.left[k], room.right[k]);
        let term = match (s / c).is_normal() && c > 0.0 && s > NEGLIGIBLE {
            true => room.found[k],
            false => kl_term(s, c),
        };
        terms.columns[4][i] = signed_units(term);
        if term.abs() > 1.0 {
            terms.columns[4][i] = 0;
            terms.wide.push((i, FixedSum::from_f64(term)));
        }
    }
}

impl ShiftSums {
    /// Adds the pairs of a chunk, whose terms are computed, but for the bins of the changes; each
    /// weighs 1 where `weights` are none.
    pub(crate) fn add_chunk(
        &mut self,
        chunk: &PairChunk,
        terms: &ChunkTerms,
        weights: Option<&[u64; CHUNK]>,
    ) {
        self.n += chunk.len() as u64;
        let [score, score_cf, absolute, divergence] = terms.sums(chunk.len(), weights);
        self.score.merge(score);
        self.score_cf.merge(score_cf);
        self.absolute.merge(absolute);
        self.divergence.merge(divergence);
        let [before, after, _] = terms.parts(chunk.len());
        for i in 0..chunk.len() {
            let weight = weights.map_or(1, |weights| weights[i]);
            let squared = i128::from(terms.squared_units(i)) * i128::from(weight);
            self.squared[usize::from(chunk.cell[i])].add_units(squared);
            let falls_to_zero = chunk.score[i] > 0.0 && chunk.score_cf[i] == 0.0;
            self.infinite += if falls_to_zero { weight } else { 0 };
            self.before[usize::from(before[i]) / PARTS] += weight;
            self.after[usize::from(after[i]) / PARTS] += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::Arch;

    use super::{CHUNK, ChunkTerms, PairChunk, ln, share_units, signed_units};
    use crate::metric::evidence::shift::kl_term;
    use crate::num::fixed::FixedSum;
    use crate::num::seed::RandomStream;

    #[test]
    fn the_logarithm_is_that_of_libm() {
        let mut stream = RandomStream::new(1, "logarithms");
        let check = |x: f64| assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "{x:e}");
        for x in [1.0, 2.0, 0.5, f64::MIN_POSITIVE, f64::MAX, f64::EPSILON, 1.0 - f64::EPSILON] {
            check(x);
        }
        for _ in 0..100_000 {
            check(stream.u01() + f64::MIN_POSITIVE);
            check(1.0 + (stream.u01() - 0.5) * 1e-6);
            let any = f64::from_bits(stream.u64() >> 1);
            check(if any.is_normal() { any } else { 3.0 });
        }
    }

    #[test]
    fn units_are_those_of_exact_sums() {
        let mut stream = RandomStream::new(2, "units");
        for _ in 0..100_000 {
            let x =
                stream.u01() * [1.0, 1e-3, 1e-10, 1e-15, 1e-16, 1e-17][stream.u64() as usize % 6];
            assert_eq!(i128::from(share_units(x)), FixedSum::from_f64(x).units(), "{x:e}");
            for x in [x, -x] {
                assert_eq!(i128::from(signed_units(x)), FixedSum::from_f64(x).units(), "{x:e}");
            }
        }
        let half = 0.5 / (1_u64 << 52) as f64;
        for x in [0.0, -0.0, 1.0, -1.0, half, 3.0 * half, 5.0 * half, -half, -3.0 * half] {
            assert_eq!(i128::from(signed_units(x)), FixedSum::from_f64(x).units(), "{x:e}");
        }
    }

    /// Scores of all kinds: usual ones, ends, next to zero, subnormal, equal and hardly moved.
    fn odd_pair(stream: &mut RandomStream) -> (f64, f64) {
        let mut one = || match stream.u64() % 12 {
            0 => 0.0,
            1 => 1.0,
            2 => f64::from_bits(stream.u64() % 1000),
            3 => stream.u01() * 1e-300,
            4 => stream.u01() * 1e-24,
            5 => stream.u01() * 1e-9,
            _ => stream.u01(),
        };
        let (a, b) = (one(), one());
        match stream.u64() % 4 {
            0 => (a, a),
            1 => (a, (a * (1.0 + 0.1 * (stream.u01() - 0.5))).min(1.0)),
            _ => (a, b),
        }
    }

    /// Chunks against the formulas pair by pair, on the processor as it is and without its vectors.
    #[test]
    fn chunks_are_pairs_one_by_one() {
        let mut stream = RandomStream::new(3, "chunks");
        let mut wide = 0;
        for (round, n) in [CHUNK, 1, 7, 8, 9, 100, 511].into_iter().cycle().take(70).enumerate() {
            let mut chunk = PairChunk::new();
            for i in 0..n {
                let pair = odd_pair(&mut stream);
                assert_eq!(chunk.push(pair, 3, stream.u64() % 7), i + 1 == CHUNK);
            }
            for arch in [Arch::Scalar, Arch::new()] {
                let mut terms = ChunkTerms::new();
                terms.compute(arch, &chunk);
                wide += terms.wide.len();
                for weights in [None, Some(&chunk.weight)] {
                    let mut sums = [FixedSum::ZERO; 4];
                    for i in 0..n {
                        let (s, c) = (chunk.score[i], chunk.score_cf[i]);
                        let weight = weights.map_or(1, |weights| weights[i]);
                        for (sum, term) in sums.iter_mut().zip([s, c, (c - s).abs(), kl_term(s, c)])
                        {
                            sum.add_times(term, weight);
                        }
                        let square = FixedSum::from_f64((c - s) * (c - s)).units();
                        assert_eq!(i128::from(terms.squared_units(i)), square);
                    }
                    assert_eq!(terms.sums(n, weights), sums, "{round}");
                }
            }
        }
        assert!(wide > 0, "no term above 1 was tried");
    }
}
