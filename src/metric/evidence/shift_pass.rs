//! The second pass over people and their counterfactuals, once the sums of all scores are known:
//! sums of the terms of the Jensen-Shannon divergence by scope, and, where intervals are wanted,
//! what each unit adds to every score metric.

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::Accumulator;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::jensen_shannon::{BalancedPair, ScoreBalance};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::metric::evidence::shift::{ScoreShift, ShiftSums, kl_term};
use crate::metric::evidence::shift_influence::{
    Influences, ScopeFactors, ShiftInfluences, ShiftSpreads,
};
use crate::metric::scope::ScopeIndex;
use crate::num::fixed::FixedSum;

/// What is summed over the pairs of one scope in the second pass, each as often as the person
/// weighs; mergeable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct DivergenceSums {
    n: u64,
    balance: ScoreBalance,
    terms: FixedSum,
    skew: FixedSum,
}

impl DivergenceSums {
    /// Nobody yet, under the balance of these sums of the first pass.
    pub(crate) fn new(sums: &ShiftSums) -> Self {
        let (score, score_cf) = sums.scores();
        let balance = ScoreBalance::new(score, score_cf);
        DivergenceSums { n: 0, balance, terms: FixedSum::ZERO, skew: FixedSum::ZERO }
    }

    /// Adds a pair of scores, each in [0, 1], that weighs this much.
    pub(crate) fn add(&mut self, (score, score_cf): (f64, f64), weight: u64) -> BalancedPair {
        self.n += 1;
        let pair = self.balance.pair(score, score_cf);
        self.terms.add_times(pair.term, weight);
        self.skew.add_times(pair.skew, weight);
        pair
    }

    /// Adds pairs under the same balance.
    pub(crate) fn merge(&mut self, other: &DivergenceSums) {
        self.n += other.n;
        self.terms.merge(other.terms);
        self.skew.merge(other.skew);
    }

    /// The factors that make both sums of scores equal.
    pub(crate) fn balance(&self) -> ScoreBalance {
        self.balance
    }

    /// The sums of half of each part of the terms, that of factual scores first.
    pub(crate) fn parts(&self) -> [f64; 2] {
        let (terms, skew) = (self.terms.to_f64(), self.skew.to_f64());
        [(terms + skew) / 4.0, (terms - skew) / 4.0]
    }

    /// Both passes over one scope; `sums` are those of the first.
    pub(crate) fn score_shift(&self, sums: &ShiftSums) -> ScoreShift {
        debug_assert_eq!(self.n, sums.n(), "the second pass saw other pairs than the first");
        let (score, score_cf) = sums.scores();
        let divergence = self.balance.divergence(score, score_cf, self.terms.to_f64());
        ScoreShift::from_sums(sums, divergence)
    }
}

/// The second pass: the same people once more, now that the sums of all scores are known. Mergeable
/// across batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftPass {
    places: ScopeIndex,
    sums: Vec<DivergenceSums>,
    /// None where no intervals are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    influences: Option<ShiftInfluences>,
}

/// The evidence of score metrics under one model, set and attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftEvidence {
    /// The second pass, for values.
    pub(crate) second: ShiftPass,
    /// What intervals follow from; none where they are not wanted.
    pub(crate) spreads: Option<ShiftSpreads>,
}

impl ShiftPass {
    /// Nobody yet; `shifts` are the first pass by scope.
    pub(crate) fn new(places: ScopeIndex, shifts: &[ShiftSums]) -> Self {
        let sums = shifts.iter().map(DivergenceSums::new).collect();
        ShiftPass { places, sums, influences: None }
    }

    /// The same with what intervals need; `by_key` where several rows may have one key.
    #[must_use]
    pub(crate) fn with_influences(self, shifts: &[ShiftSums], by_key: bool) -> Self {
        ShiftPass { influences: Some(ShiftInfluences::new(shifts, by_key)), ..self }
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the person's
    /// own.
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        for counterfactual in counterfactuals {
            let Some((_, score, score_cf)) = scored_pair(person, counterfactual) else { continue };
            let log_term = self.influences.as_ref().map(|_| kl_term(score, score_cf));
            for place in self.places.scopes_of(person.group, counterfactual.to) {
                let pair = self.sums[place].add((score, score_cf), person.weight);
                if let Some((influences, log_term)) = self.influences.as_mut().zip(log_term) {
                    influences.add_pair(place, (score, score_cf), log_term, &pair);
                }
            }
        }
        if let Some(influences) = &mut self.influences {
            influences.end_row(key, person.weight);
        }
    }

    /// Whether these are the pairs of the first pass.
    pub(crate) fn is_of(&self, counts: &CounterfactualCounts) -> bool {
        self.sums[self.places.total()].n == counts.shift_total().n()
    }

    /// The sums of a scope by its number.
    pub(crate) fn at(&self, place: usize) -> &DivergenceSums {
        &self.sums[place]
    }

    /// What each unit adds to each score metric, by scope and ascending by key; none where units
    /// were not added up by key. `sums` are the first pass by scope.
    pub(crate) fn of_units(&self, sums: &[ShiftSums]) -> Option<Vec<Vec<(u64, Influences)>>> {
        let factors = sums.iter().zip(&self.sums).map(|(sums, own)| ScopeFactors::new(sums, own));
        Some(self.influences.as_ref()?.of_units(&factors.collect::<Vec<_>>()))
    }

    /// The evidence of both passes; `counts` are those of the first.
    pub(crate) fn into_evidence(self, counts: &CounterfactualCounts) -> ShiftEvidence {
        let ShiftPass { places, sums, influences } = self;
        let spreads = influences.map(|influences| {
            ShiftSpreads::new(places, &counts.shifts_by_scope(), &sums, &influences)
        });
        ShiftEvidence { second: ShiftPass { places, sums, influences: None }, spreads }
    }
}

impl Accumulator for ShiftPass {
    fn merge(&mut self, other: ShiftPass) {
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.influences, other.influences) {
            mine.merge(theirs);
        }
    }
}
