//! The second pass over people and their counterfactuals, once the sums of all scores are known:
//! sums of the terms of the Jensen-Shannon divergence by scope.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::jensen_shannon::ScoreBalance;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::metric::evidence::shift::{ScoreShift, ShiftSums};
use crate::metric::scope::ScopeIndex;
use crate::num::fixed::FixedSum;

/// What is summed over the pairs of one scope in the second pass, each as often as the person
/// weighs; mergeable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct DivergenceSums {
    pub(crate) n: u64,
    balance: ScoreBalance,
    pub(crate) terms: FixedSum,
}

impl DivergenceSums {
    /// Nobody yet, under the balance of these sums of the first pass.
    pub(crate) fn new(sums: &ShiftSums) -> Self {
        let (score, score_cf) = sums.scores();
        DivergenceSums { n: 0, balance: ScoreBalance::new(score, score_cf), terms: FixedSum::ZERO }
    }

    /// Nobody yet, under this balance.
    pub(crate) fn with_balance(balance: ScoreBalance) -> Self {
        DivergenceSums { n: 0, balance, terms: FixedSum::ZERO }
    }

    /// Adds a pair of scores, each in [0, 1], that weighs this much.
    pub(crate) fn add(&mut self, score: f64, score_cf: f64, weight: u64) {
        self.n += 1;
        if self.balance.exists() {
            self.terms.add_times(self.balance.term(score, score_cf), weight);
        }
    }

    /// Adds pairs under the same balance.
    pub(crate) fn merge(&mut self, other: &DivergenceSums) {
        self.n += other.n;
        self.terms.merge(other.terms);
    }

    /// The factors that make both sums of scores equal.
    pub(crate) fn balance(&self) -> ScoreBalance {
        self.balance
    }

    /// Both passes over one scope; `sums` are those of the first.
    pub(crate) fn score_shift(&self, sums: &ShiftSums) -> ScoreShift {
        ScoreShift::from_sums(sums, self.value(sums))
    }

    /// The divergence in nats; the sums are those of the first pass and above 0.
    fn value(&self, sums: &ShiftSums) -> f64 {
        debug_assert_eq!(self.n, sums.n(), "the second pass saw other pairs than the first");
        let (score, score_cf) = sums.scores();
        self.balance.divergence(score, score_cf, self.terms.to_f64())
    }
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

    /// Adds a pair to every scope that holds its direction.
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

    /// The numbers of the scopes.
    pub(crate) fn scope_index(&self) -> ScopeIndex {
        self.places
    }

    /// The sums of a scope by its number.
    pub(crate) fn at(&self, place: usize) -> &DivergenceSums {
        &self.sums[place]
    }
}
