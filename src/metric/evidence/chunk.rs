//! The terms of pairs of scores, [`CHUNK`] pairs at a time and without branches, so that the
//! compiler uses vector instructions.
//!
//! Every term is that of [`shift`](crate::metric::evidence::shift), bit for bit: the same formulas
//! in the same order of operations. The logarithm is that of `libm` written without branches, for
//! numbers that are neither zero, subnormal nor infinite. Pairs whose scores are far apart need a
//! logarithm, the others a series, so the former are collected first. The few numbers outside of
//! the logarithm's range are computed one by one.
//!
//! A term of at most 1 in size becomes whole units of 2^-52 (see
//! [`FixedSum`](crate::num::fixed::FixedSum)) by adding 2^52 and reading the bits: ties go to even,
//! as there. The sum over a chunk is less than 2^62, so 64 bits hold it. Terms above 1, which come
//! from pairs with a score near zero, are kept in a separate list.
//!
//! The loops are jobs for [`vectors`](crate::num::vectors).

use pulp::Simd;

use crate::metric::evidence::jensen_shannon::{NEAR_SQUARE, skew_shape, term_shape};
use crate::metric::evidence::score_bins::{PARTS, PairParts, change_part, score_part};
use crate::metric::evidence::shift::{NEGLIGIBLE, ShiftSums, kl_term, ratio_series};
use crate::num::fixed::FixedSum;
use crate::num::vectors::VectorJob;

/// Pairs of a chunk.
pub(crate) const CHUNK: usize = 512;

/// Terms of a pair: s, c, |c - s|, (c - s)^2, s ln(s/c).
const TERMS: usize = 5;

/// Whole units of 2^-52, a term of each pair.
type TermColumn = [i64; CHUNK];

/// The largest number of values in a vector register.
const WIDEST: usize = 8;

const UNITS: f64 = (1_u64 << 52) as f64;

/// Up to [`CHUNK`] pairs of one direction.
#[derive(Debug, Clone)]
pub(crate) struct PairChunk {
    n: usize,
    pub(crate) score: [f64; CHUNK],
    pub(crate) score_cf: [f64; CHUNK],
    /// Position of the person.
    pub(crate) person: [u32; CHUNK],
    /// The cell of the extended matrix in which each pair counts.
    pub(crate) cell: [u8; CHUNK],
    /// The weight of each pair in whole units.
    pub(crate) weight: [u64; CHUNK],
    /// Whether any pair has a weight other than 1.
    weighed: bool,
}

impl PairChunk {
    /// An empty chunk.
    pub(crate) fn new() -> Self {
        PairChunk {
            n: 0,
            score: [0.0; CHUNK],
            score_cf: [0.0; CHUNK],
            person: [0; CHUNK],
            cell: [0; CHUNK],
            weight: [1; CHUNK],
            weighed: false,
        }
    }

    /// Adds a pair of a person with a weight.
    ///
    /// # Panics
    /// If the chunk is full.
    #[inline]
    pub(crate) fn push(&mut self, pair: (f64, f64), (person, cell): (u32, u8), weight: u64) {
        let i = self.n;
        (self.score[i], self.score_cf[i]) = pair;
        (self.person[i], self.cell[i], self.weight[i]) = (person, cell, weight);
        self.weighed |= weight != 1;
        self.n += 1;
    }

    /// Removes all pairs.
    pub(crate) fn clear(&mut self) {
        (self.n, self.weighed) = (0, false);
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
    /// Terms of s ln(s/c) above 1 in size, with their positions; the column holds 0 instead.
    wide: Vec<(usize, FixedSum)>,
    logs: LogTerms,
}

/// The terms s ln(s/c) of a chunk.
#[derive(Debug)]
pub(super) struct LogTerms {
    pub(super) terms: [f64; CHUNK],
    scratch: ChunkScratch,
}

/// The pairs of a chunk under a balance: the scores of both sides, the terms of the Jensen-Shannon
/// divergence, and their skew.
#[derive(Debug)]
pub(super) struct BalancedTerms {
    pub(super) a: [f64; CHUNK],
    pub(super) b: [f64; CHUNK],
    pub(super) term: [f64; CHUNK],
    skew: [f64; CHUNK],
    scratch: ChunkScratch,
}

/// Buffers for pairs that are far apart.
#[derive(Debug)]
struct ChunkScratch {
    /// Squares that distinguish pairs that are far apart from the others.
    squares: [f64; CHUNK],
    positions: [usize; CHUNK],
    left: [f64; CHUNK],
    right: [f64; CHUNK],
    found: [f64; CHUNK],
}

impl ChunkScratch {
    fn new() -> Self {
        ChunkScratch {
            squares: [0.0; CHUNK],
            positions: [0; CHUNK],
            left: [0.0; CHUNK],
            right: [0.0; CHUNK],
            found: [0.0; CHUNK],
        }
    }

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

impl LogTerms {
    pub(super) fn new() -> Self {
        LogTerms { terms: [0.0; CHUNK], scratch: ChunkScratch::new() }
    }
}

impl BalancedTerms {
    pub(super) fn new() -> Self {
        let none = [0.0; CHUNK];
        BalancedTerms { a: none, b: none, term: none, skew: none, scratch: ChunkScratch::new() }
    }

    /// The weighted sums of the terms and of the skew over the pairs of the chunk.
    pub(super) fn sums(&self, chunk: &PairChunk) -> [FixedSum; 2] {
        let weights = chunk.weighed.then_some(&chunk.weight);
        [&self.term, &self.skew].map(|column| {
            sum_of_units(column[..chunk.n].iter().map(|&term| signed_units(term)), weights)
        })
    }
}

impl ChunkTerms {
    /// Buffers for the terms of a chunk.
    pub(crate) fn new() -> Box<Self> {
        Box::new(ChunkTerms {
            columns: [[0; CHUNK]; TERMS],
            parts: [[0; CHUNK]; 3],
            wide: Vec::new(),
            logs: LogTerms::new(),
        })
    }

    /// The weighted sums over the first `n` pairs of s, c, |c - s| and s ln(s/c); every pair has
    /// weight 1 if `weights` is none.
    pub(crate) fn sums(&self, n: usize, weights: Option<&[u64; CHUNK]>) -> [FixedSum; TERMS - 1] {
        let [score, score_cf, absolute, _, divergence] = &self.columns;
        let mut sums = [score, score_cf, absolute, divergence]
            .map(|column| sum_of_units(column[..n].iter().copied(), weights));
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

/// The weighted sum of terms of at most 2^52 units; every pair has weight 1 if `weights` is none.
#[inline(always)]
fn sum_of_units(terms: impl Iterator<Item = i64>, weights: Option<&[u64; CHUNK]>) -> FixedSum {
    let mut sum = FixedSum::ZERO;
    sum.add_units(match weights {
        // 64 bits hold the sum over a chunk.
        None => i128::from(terms.fold(0_i64, i64::wrapping_add)),
        Some(weights) => {
            terms.zip(weights).map(|(term, &weight)| i128::from(term) * i128::from(weight)).sum()
        }
    });
    sum
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

/// The logarithm of `libm` for a normal number above 0; for other numbers the result is arbitrary.
///
/// Source: FreeBSD's `e_log.c`, as `libm` has it.
#[inline(always)]
fn ln(x: f64) -> f64 {
    const LOW: u64 = (1 << 52) - 1;
    // The upper half of the bits of the square root of 1/2, and its distance to those of 1.
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

/// The number of pairs to compute, rounded up to a whole vector; results beyond the last pair are
/// never read.
fn whole_vectors(n: usize) -> usize {
    n.next_multiple_of(WIDEST).min(CHUNK)
}

/// Computes the terms of a chunk.
impl VectorJob for (&mut ChunkTerms, &PairChunk) {
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let (own, chunk) = self;
        let n = whole_vectors(chunk.n);
        for i in 0..n {
            let (s, c) = (chunk.score[i], chunk.score_cf[i]);
            let change = c - s;
            own.columns[0][i] = share_units(s);
            own.columns[1][i] = share_units(c);
            own.columns[2][i] = share_units(change.abs());
            own.columns[3][i] = share_units(change * change);
        }
        for i in 0..n {
            let (s, c) = (chunk.score[i], chunk.score_cf[i]);
            own.parts[0][i] = score_part(s);
            own.parts[1][i] = score_part(c);
            own.parts[2][i] = change_part(c - s);
        }
        let far = log_terms(chunk, &mut own.logs);
        for i in 0..n {
            own.columns[4][i] = signed_units(own.logs.terms[i]);
        }
        own.wide.clear();
        for &i in &own.logs.scratch.positions[..far] {
            if own.logs.terms[i].abs() > 1.0 {
                own.columns[4][i] = 0;
                own.wide.push((i, FixedSum::from_f64(own.logs.terms[i])));
            }
        }
    }
}

/// Computes the terms s ln(s/c) of a chunk.
impl VectorJob for (&mut LogTerms, &PairChunk) {
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        log_terms(self.1, self.0);
    }
}

/// Computes the terms [`kl_term`] of a chunk; how many pairs are far apart.
#[inline(always)]
fn log_terms(chunk: &PairChunk, LogTerms { terms, scratch }: &mut LogTerms) -> usize {
    for (i, term) in terms.iter_mut().enumerate().take(whole_vectors(chunk.n)) {
        let (s, c) = (chunk.score[i], chunk.score_cf[i]);
        let x = (s - c) / (s + c);
        scratch.squares[i] = x * x;
        *term = if s > NEGLIGIBLE { s * ratio_series(x) } else { 0.0 };
    }
    let far = scratch.far(chunk.n);
    for k in 0..far {
        scratch.left[k] = chunk.score[scratch.positions[k]];
        scratch.right[k] = chunk.score_cf[scratch.positions[k]];
    }
    for k in 0..whole_vectors(far) {
        scratch.found[k] = scratch.left[k] * ln(scratch.left[k] / scratch.right[k]);
    }
    for k in 0..far {
        let (i, s, c) = (scratch.positions[k], scratch.left[k], scratch.right[k]);
        terms[i] = match (s / c).is_normal() && c > 0.0 && s > NEGLIGIBLE {
            true => scratch.found[k],
            false => kl_term(s, c),
        };
    }
    far
}

/// Computes the terms of a chunk under the factors of the scores of both sides.
impl VectorJob for (&mut BalancedTerms, &PairChunk, (f64, f64)) {
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let (BalancedTerms { a, b, term, skew, scratch }, chunk, (scale, scale_cf)) = self;
        for i in 0..whole_vectors(chunk.n) {
            (a[i], b[i]) = (chunk.score[i] * scale, chunk.score_cf[i] * scale_cf);
            let both = a[i] + b[i];
            let x = (a[i] - b[i]) / both;
            let sq = x * x;
            scratch.squares[i] = sq;
            term[i] = 0.5 * both * term_shape(sq);
            skew[i] = 0.5 * both * (x * skew_shape(sq));
        }
        let far = scratch.far(chunk.n);
        for k in 0..far {
            let i = scratch.positions[k];
            (scratch.left[k], scratch.right[k]) = (a[i], b[i]);
        }
        let entropy = |y: f64| if y > 0.0 { y * ln(y) } else { 0.0 };
        for k in 0..whole_vectors(far) {
            let (both, apart) =
                (scratch.left[k] + scratch.right[k], scratch.left[k] - scratch.right[k]);
            let x = apart / both;
            let (up, down) = (entropy(1.0 + x), entropy(1.0 - x));
            (scratch.left[k], scratch.right[k]) =
                (0.5 * both * (up + down), 0.5 * both * (up - down - 2.0 * x));
            scratch.found[k] = both;
        }
        for k in 0..far {
            let i = scratch.positions[k];
            // Two scores of 0 give nothing.
            let some = scratch.found[k] > 0.0;
            (term[i], skew[i]) =
                if some { (scratch.left[k], scratch.right[k]) } else { (0.0, 0.0) };
        }
    }
}

impl ShiftSums {
    /// Adds the pairs of a chunk, whose terms are computed; each has weight 1 if `weights` is none.
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
        let [before, after, change] = terms.parts(chunk.len());
        for i in 0..chunk.len() {
            let weight = weights.map_or(1, |weights| weights[i]);
            let squared = i128::from(terms.squared_units(i)) * i128::from(weight);
            self.squared[usize::from(chunk.cell[i])].add_units(squared);
            let falls_to_zero = chunk.score[i] > 0.0 && chunk.score_cf[i] == 0.0;
            self.infinite += if falls_to_zero { weight } else { 0 };
            self.before[usize::from(before[i]) / PARTS] += weight;
            self.after[usize::from(after[i]) / PARTS] += weight;
            self.change[usize::from(change[i]) / PARTS] += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::Arch;

    use super::{BalancedTerms, CHUNK, ChunkTerms, LogTerms, PairChunk, ln};
    use super::{share_units, signed_units};
    use crate::metric::evidence::shift::kl_term;
    use crate::num::fixed::FixedSum;
    use crate::num::seed::RandomStream;
    use crate::num::vectors::run_with_vectors;

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

    /// Scores of all kinds: usual ones, 0 and 1, near zero, subnormal, equal and almost equal.
    fn odd_pair(stream: &mut RandomStream) -> (f64, f64) {
        let mut score = || match stream.u64() % 12 {
            0 => 0.0,
            1 => 1.0,
            2 => f64::from_bits(stream.u64() % 1000),
            3 => stream.u01() * 1e-300,
            4 => stream.u01() * 1e-24,
            5 => stream.u01() * 1e-9,
            _ => stream.u01(),
        };
        let (a, b) = (score(), score());
        match stream.u64() % 4 {
            0 => (a, a),
            1 => (a, (a * (1.0 + 0.1 * (stream.u01() - 0.5))).min(1.0)),
            _ => (a, b),
        }
    }

    /// Compares chunks with the formulas pair by pair, with and without vector instructions.
    #[test]
    fn chunks_are_pairs_one_by_one() {
        let mut stream = RandomStream::new(3, "chunks");
        let mut wide = 0;
        for (round, n) in [CHUNK, 1, 7, 8, 9, 100, 511].into_iter().cycle().take(70).enumerate() {
            let mut chunk = PairChunk::new();
            for i in 0..n {
                chunk.push(odd_pair(&mut stream), (i as u32, 3), stream.u64() % 7);
            }
            for arch in [Arch::Scalar, Arch::new()] {
                let mut terms = ChunkTerms::new();
                run_with_vectors(arch, (&mut *terms, &chunk));
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

    /// The term and the skew of each pair under a balance, on a processor.
    fn balanced(arch: Arch, pairs: &[(f64, f64)], factors: (f64, f64)) -> Vec<(f64, f64)> {
        let (mut chunk, mut terms) = (PairChunk::new(), BalancedTerms::new());
        pairs.iter().for_each(|&pair| chunk.push(pair, (0, 0), 1));
        run_with_vectors(arch, (&mut terms, &chunk, factors));
        (0..pairs.len()).map(|i| (terms.term[i], terms.skew[i])).collect()
    }

    #[test]
    fn balanced_terms_agree_with_their_definition() {
        let term = |a, b| balanced(Arch::new(), &[(a, b)], (1.0, 1.0))[0];
        let mut stream = RandomStream::new(1, "terms");
        for _ in 0..1000 {
            let (a, b) = (stream.u01(), stream.u01());
            let part = |x: f64| if x > 0.0 { x * libm::log(2.0 * x / (a + b)) } else { 0.0 };
            let ((of_a, of_b), (value, skew)) = ((part(a), part(b)), term(a, b));
            assert!((value - of_a - of_b).abs() < 1e-15, "{a} {b}");
            assert!((skew - (of_a - of_b - (a - b))).abs() < 1e-15, "{a} {b}");
            assert_eq!(term(b, a), (value, -skew));
        }
        assert_eq!([term(0.0, 0.0), term(0.5, 0.5)], [(0.0, 0.0); 2]);
        assert!((term(0.0, 1.0).0 - libm::log(2.0)).abs() < 1e-16);
        // Both formulas where one replaces the other.
        let x = 0.125 / 1.125;
        let (inside, outside) = (term((1.0 + x - 1e-14) / 2.0, (1.0 - x) / 2.0), {
            term((1.0 + x + 1e-14) / 2.0, (1.0 - x) / 2.0)
        });
        assert!((inside.0 - outside.0).abs() < 1e-14, "{inside:?} {outside:?}");
        assert!((inside.1 - outside.1).abs() < 1e-14, "{inside:?} {outside:?}");
    }

    /// Each pair alone has the same terms as in a chunk, with and without vector instructions, and
    /// the logarithms are those of the definition.
    #[test]
    fn terms_of_the_second_pass_do_not_depend_on_the_chunk() {
        let mut stream = RandomStream::new(4, "balanced");
        for n in [CHUNK, 1, 9, 511] {
            let pairs: Vec<(f64, f64)> = (0..n).map(|_| odd_pair(&mut stream)).collect();
            let factors = [(1.0, 0.7), (0.3, 1.0), (0.0, 0.0)][n % 3];
            let all = balanced(Arch::new(), &pairs, factors);
            assert_eq!(balanced(Arch::Scalar, &pairs, factors), all);
            let mut chunk = PairChunk::new();
            for (pair, own) in pairs.iter().zip(&all) {
                assert_eq!(balanced(Arch::Scalar, &[*pair], factors), [*own]);
                chunk.push(*pair, (0, 0), 1);
            }
            let mut logs = LogTerms::new();
            for arch in [Arch::Scalar, Arch::new()] {
                run_with_vectors(arch, (&mut logs, &chunk));
                let own = |(s, c): &(f64, f64)| kl_term(*s, *c).to_bits();
                let found = logs.terms[..n].iter().map(|term| term.to_bits());
                assert!(found.eq(pairs.iter().map(own)));
            }
        }
    }
}
