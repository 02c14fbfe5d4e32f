//! The second pass over people and their counterfactuals, once the sums of all scores are known:
//! sums of the terms of the Jensen-Shannon divergence by scope, and, where intervals are wanted,
//! what each unit adds to every score metric.

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::Accumulator;
use crate::metric::evidence::additive::Additive;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::divergence_sums::DivergenceSums;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::metric::evidence::shift::{ShiftSums, kl_term};
use crate::metric::evidence::shift_influence::{
    Influences, ScopeFactors, ShiftInfluences, ShiftSpreads,
};
use crate::metric::scope::ScopeIndex;

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
        self.sums.absorb(&other.sums);
        if let (Some(mine), Some(theirs)) = (&mut self.influences, other.influences) {
            mine.merge(theirs);
        }
    }
}
