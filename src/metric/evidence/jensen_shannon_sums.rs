//! Sums of the terms of the Jensen-Shannon divergence of one scope, once the sums of all scores are
//! known.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::chunk::{BalancedTerms, PairChunk};
use crate::metric::evidence::jensen_shannon::ScoreBalance;
use crate::metric::evidence::shift::{ScoreShift, ShiftSums};
use crate::num::fixed::FixedSum;

/// The weighted sums over the pairs of one scope in the second pass; mergeable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct DivergenceSums {
    pub(super) n: u64,
    /// The factors that make both sums of scores equal.
    pub(super) balance: ScoreBalance,
    terms: FixedSum,
    skew: FixedSum,
}

impl DivergenceSums {
    /// Empty sums, with the balance of the sums of the first pass.
    pub(crate) fn new(sums: &ShiftSums) -> Self {
        let (score, score_cf) = sums.scores();
        let balance = ScoreBalance::new(score, score_cf);
        DivergenceSums { n: 0, balance, terms: FixedSum::ZERO, skew: FixedSum::ZERO }
    }

    /// Adds the pairs of a chunk, whose terms under this balance are computed.
    pub(super) fn add_chunk(&mut self, chunk: &PairChunk, terms: &BalancedTerms) {
        self.n += chunk.len() as u64;
        let [term, skew] = terms.sums(chunk);
        self.terms.merge(term);
        self.skew.merge(skew);
    }

    /// Adds one pair of scores, each in [0, 1], with a weight.
    #[cfg(test)]
    pub(crate) fn add(&mut self, pair: (f64, f64), weight: u64) {
        let (mut chunk, mut terms) = (PairChunk::new(), BalancedTerms::new());
        chunk.push(pair, (0, 0), weight);
        crate::num::vectors::run_with_vectors(
            pulp::Arch::Scalar,
            (&mut terms, &chunk, self.balance.factors()),
        );
        self.add_chunk(&chunk, &terms);
    }

    /// The sums of half of each part of the terms, first the part of factual scores.
    pub(crate) fn parts(&self) -> [f64; 2] {
        let (terms, skew) = (self.terms.to_f64(), self.skew.to_f64());
        [(terms + skew) / 4.0, (terms - skew) / 4.0]
    }

    /// The scores of one scope from both passes; `sums` come from the first.
    pub(crate) fn score_shift(&self, sums: &ShiftSums) -> ScoreShift {
        debug_assert_eq!(self.n, sums.n, "the second pass saw other pairs than the first");
        let (score, score_cf) = sums.scores();
        let divergence = self.balance.divergence(score, score_cf, self.terms.to_f64());
        ScoreShift::from_sums(sums, divergence)
    }
}

additive!(DivergenceSums { n, terms, skew });
