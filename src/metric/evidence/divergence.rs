//! The Jensen-Shannon divergence of paired scores: its sums, and how they follow the scores when
//! people weigh more or less.
//!
//! Source: Lin 1991, "Divergence measures based on the Shannon entropy"; paired by person as
//! [`shift`](crate::metric::catalog::shift) says. With p = s/S, q = c/C and the side of the larger
//! sum scaled down so that both sum to the same A = min(S, C), the divergence is sum j(a, b) / (2
//! A), j(a, b) = a ln(2a/(a+b)) + b ln(2b/(a+b)). No term is negative, so nothing cancels where
//! scores hardly move.
//!
//! S and C must be known before the first term: [`ShiftPass`] is a second pass over the people. So
//! that none is needed, the ratio of S and C is estimated first from some of the people (see
//! [`redraw`](crate::metric::bootstrap::redraw)); and a bootstrap would need one for every
//! replicate, because its ratio of sums differs. For both j is expanded in v, the change of the
//! logarithm of that ratio: with x = b e^v, dj/dv = x ln(2x/(a+x)), whose series follows from those
//! of e^v and of ln(a + x); the latter has the cumulants of a yes-no variable with probability t =
//! b/(a+b) as coefficients. The series of j converges for |v| < pi. Kept are powers up to 6: the
//! error of the divergence is below 1e-12 for |v| up to [`EXACT_STEP`], below 2e-8 for |v| up to
//! [`MAX_STEP`].

use serde::{Deserialize, Serialize};

use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::metric::evidence::shift::{DivergenceSums, ScoreBalance, ShiftSums};
use crate::metric::scope::ScopeIndex;
use crate::num::fixed::FixedSum;

/// Up to this change of the logarithm of the ratio of sums the expansion represents the exact
/// value.
pub(crate) const EXACT_STEP: f64 = 0.05;

/// Beyond this change it represents nothing.
pub(crate) const MAX_STEP: f64 = 0.25;

/// The value of an expansion at v.
pub(crate) fn evaluate_series(coefficients: impl DoubleEndedIterator<Item = f64>, v: f64) -> f64 {
    coefficients.rev().fold(0.0, |sum, c| sum * v + c)
}

/// The second pass: the same people once more, now that the sums of all scores are known. Mergeable
/// across batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftPass {
    places: ScopeIndex,
    sums: Vec<DivergenceSums>,
}

impl ShiftPass {
    /// Nobody yet; `shifts` are the first pass by scope.
    pub(crate) fn new(places: ScopeIndex, shifts: &[ShiftSums]) -> Self {
        ShiftPass { places, sums: shifts.iter().map(DivergenceSums::new).collect() }
    }

    /// Nobody yet, under these balances by scope.
    pub(crate) fn with_balances(places: ScopeIndex, balances: &[ScoreBalance]) -> Self {
        let sums = balances.iter().map(|&balance| DivergenceSums::with_balance(balance)).collect();
        ShiftPass { places, sums }
    }

    /// The balances by the number of the scope.
    pub(crate) fn balances(&self) -> Vec<ScoreBalance> {
        self.sums.iter().map(DivergenceSums::balance).collect()
    }

    /// Adds one person with all their counterfactuals, as in the first pass.
    pub(crate) fn add(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = scored_pair(person, counterfactual) {
                self.add_pair((person.group, counterfactual.to), (score, score_cf), person.weight);
            }
        }
    }

    pub(crate) fn add_pair(
        &mut self,
        (from, to): (usize, usize),
        (score, score_cf): (f64, f64),
        weight: u64,
    ) {
        self.sums[self.places.direction(from, to)].add(score, score_cf, weight);
        self.sums[self.places.total()].add(score, score_cf, weight);
        if self.places.has_rest() {
            self.sums[self.places.one_to_rest(from)].add(score, score_cf, weight);
            self.sums[self.places.rest_to_one(to)].add(score, score_cf, weight);
        }
    }

    /// Adds the people of another batch of the same second pass.
    pub(crate) fn merge(&mut self, other: &ShiftPass) {
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            mine.merge(theirs);
        }
    }

    /// Adds the terms of several pairs to a scope by its number.
    pub(crate) fn add_sum(&mut self, place: usize, n: u64, terms: FixedSum) {
        self.sums[place].n += n;
        self.sums[place].terms.merge(terms);
    }

    pub(crate) fn scope_index(&self) -> ScopeIndex {
        self.places
    }

    /// The sums of a scope by its number.
    pub(crate) fn at(&self, place: usize) -> &DivergenceSums {
        &self.sums[place]
    }
}

#[cfg(test)]
mod tests {
    use super::{EXACT_STEP, MAX_STEP, evaluate_series};
    use crate::metric::evidence::shift::{ScoreBalance, series, term};
    use crate::num::seed::RandomStream;

    #[test]
    fn terms_agree_with_their_definition() {
        let plain = |a: f64, b: f64| {
            let part = |x: f64| if x > 0.0 { x * libm::log(2.0 * x / (a + b)) } else { 0.0 };
            part(a) + part(b)
        };
        let mut stream = RandomStream::new(1, "terms");
        for _ in 0..1000 {
            let (a, b) = (stream.u01(), stream.u01());
            assert!((term(a, b) - plain(a, b)).abs() < 1e-15, "{a} {b}");
            assert_eq!(term(a, b), term(b, a));
        }
        assert_eq!([term(0.0, 0.0), term(0.5, 0.5)], [0.0; 2]);
        assert!((term(0.0, 1.0) - libm::log(2.0)).abs() < 1e-16);
        // Both formulas at the place where they meet.
        let x = 0.125;
        let (inside, outside) = (term(1.0 + x - 1e-14, 1.0 - x), term(1.0 + x + 1e-14, 1.0 - x));
        assert!((inside - outside).abs() < 1e-14, "{inside} {outside}");
    }

    /// The bounds that the head of this file states, over pairs of all kinds.
    #[test]
    fn the_expansion_keeps_its_word() {
        let mut stream = RandomStream::new(2, "expansion");
        for (reach, bound) in [(EXACT_STEP, 2e-13), (MAX_STEP, 2e-8)] {
            for _ in 0..2000 {
                let cubed = |u: f64| u * u * u;
                let (a, b) = (cubed(stream.u01()), cubed(stream.u01()));
                for v in [-reach, -reach / 3.0, 0.0, reach] {
                    let (exact, found) =
                        (term(a, b * libm::exp(v)), evaluate_series(series(a, b).into_iter(), v));
                    assert!(
                        (exact - found).abs() <= bound * a.max(b) + 1e-17,
                        "{a} {b} {v}: {found} instead of {exact}"
                    );
                }
            }
        }
        let ends = [
            series(0.0, 0.0),
            series(0.3, 0.0),
            series(0.0, 0.3),
            series(1.0, f64::from_bits(1)),
            series(f64::from_bits(1), 1.0),
        ];
        assert!(ends.as_flattened().iter().all(|c| c.is_finite()), "{ends:?}");
    }

    /// Whichever side is the larger, replicates come out as their own balance gives them.
    #[test]
    fn a_step_leads_from_one_balance_to_another() {
        let pairs = [(0.2, 0.25), (0.7, 0.5), (0.4, 0.8), (0.1, 0.1)];
        for swap in [false, true] {
            let pairs = pairs.map(|(s, c)| if swap { (c, s) } else { (s, c) });
            let sums = |weights: [f64; 4]| {
                let of = |side: fn((f64, f64)) -> f64| {
                    pairs.iter().zip(weights).map(|(&pair, w)| w * side(pair)).sum::<f64>()
                };
                (of(|p| p.0), of(|p| p.1))
            };
            let (weights, (score, score_cf)) = ([1.0, 1.1, 0.95, 1.0], sums([1.0; 4]));
            let first = ScoreBalance::new(score, score_cf);
            let (score, score_cf) = sums(weights);
            let own = ScoreBalance::new(score, score_cf);
            let total = |f: &dyn Fn(f64, f64) -> f64| {
                pairs.iter().zip(weights).map(|(&(s, c), w)| w * f(s, c)).sum::<f64>()
            };
            let exact = own.divergence(score, score_cf, total(&|s, c| own.term(s, c)));
            let v = first.step(score, score_cf);
            let expanded = first.divergence(
                score,
                score_cf,
                total(&|s, c| evaluate_series(first.series(s, c).into_iter(), v)),
            );
            assert!(v != 0.0 && v.abs() < EXACT_STEP, "{v}");
            assert!((exact - expanded).abs() < 1e-14, "{exact} {expanded}");
        }
    }
}
