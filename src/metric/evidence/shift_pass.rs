//! The second pass over people and their counterfactuals, after the sums of all scores are known:
//! sums of the terms of the Jensen-Shannon divergence by scope, and, for intervals, the influence
//! of each unit on every score metric.

use std::cell::RefCell;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::chunk::{BalancedTerms, PairChunk};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::jensen_shannon_sums::DivergenceSums;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift::ShiftSums;
use crate::metric::evidence::shift_influence::{
    InfluenceWorkspace, Influences, ScopeFactors, ShiftInfluences, ShiftSpreads,
};
use crate::metric::evidence::waiting_pairs::WaitingPairs;
use crate::metric::scope::ScopeIndex;
use crate::num::additive::Additive;
use crate::num::vectors::run_with_vectors;

/// The state of the second pass over the same people. Mergeable across batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftPass {
    places: ScopeIndex,
    sums: Vec<DivergenceSums>,
    /// For intervals; none if they are not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    influences: Option<ShiftInfluences>,
    /// The buffered pairs; empty once the pass is settled.
    #[serde(skip)]
    waiting: WaitingPairs,
}

/// The largest number of buffered pairs, with intervals.
const WAITING: usize = 1 << 19;

/// As [`WAITING`], without intervals: the passes of thousands of graphs run in parallel.
const WAITING_WITHOUT_INFLUENCES: usize = 1 << 10;

thread_local! {
    /// The buffers of a thread; all its passes use them in turn.
    static SCRATCH: RefCell<Box<PassScratch>> = RefCell::new(Box::new(PassScratch {
        arch: Arch::new(),
        chunk: PairChunk::new(),
        balanced: BalancedTerms::new(),
        workspace: InfluenceWorkspace::new(Arch::new()),
    }));
}

/// Buffers for computing the terms of chunks of pairs.
struct PassScratch {
    arch: Arch,
    chunk: PairChunk,
    balanced: BalancedTerms,
    workspace: InfluenceWorkspace,
}

/// The evidence of score metrics under one model, set and attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftEvidence {
    /// The second pass, for values.
    pub(crate) second: ShiftPass,
    /// The spreads behind intervals; none if they are not requested.
    pub(crate) spreads: Option<ShiftSpreads>,
}

impl ShiftPass {
    /// An empty pass; `shifts` are the sums of the first pass by scope.
    pub(crate) fn new(places: ScopeIndex, shifts: &[ShiftSums]) -> Self {
        let sums = shifts.iter().map(DivergenceSums::new).collect();
        ShiftPass { places, sums, influences: None, waiting: WaitingPairs::default() }
    }

    /// The same pass with influences, for intervals; `by_key` says whether several rows may have
    /// the same key.
    #[must_use]
    pub(crate) fn with_influences(self, shifts: &[ShiftSums], by_key: bool) -> Self {
        ShiftPass { influences: Some(ShiftInfluences::new(shifts, by_key)), ..self }
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the key of
    /// the person.
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let max_waiting = match self.influences {
            Some(_) => WAITING,
            None => WAITING_WITHOUT_INFLUENCES,
        };
        let max_waiting = (self.places.groups, max_waiting);
        if self.waiting.push(key, person, counterfactuals, max_waiting) == Some(true) {
            self.settle_group(person.group);
        }
    }

    /// This pass with all pairs added.
    #[must_use]
    pub(crate) fn settled(mut self) -> Self {
        self.settle();
        self
    }

    /// Adds the buffered pairs of all groups.
    pub(crate) fn settle(&mut self) {
        for from in 0..self.places.groups {
            self.settle_group(from);
        }
        self.waiting = WaitingPairs::default();
    }

    /// Adds the buffered pairs of a group.
    fn settle_group(&mut self, from: usize) {
        let ShiftPass { places, sums, influences, waiting } = self;
        let Some(group) = waiting.group(from) else { return };
        SCRATCH.with_borrow_mut(|scratch| {
            let PassScratch { arch, chunk, balanced, workspace } = &mut **scratch;
            workspace.start(*places, from, group.people.len());
            group.each_chunk(chunk, |to, chunk, is_last| {
                if influences.is_some() {
                    workspace.start_chunk(chunk);
                }
                for (nth, place) in places.scopes_of(from, to).enumerate() {
                    let factors = sums[place].balance.factors();
                    run_with_vectors(*arch, (&mut *balanced, chunk, factors));
                    sums[place].add_chunk(chunk, balanced);
                    if let Some(influences) = influences {
                        workspace.add((nth, place), influences, chunk, (factors.0, balanced));
                    }
                }
                if let Some(influences) = influences.as_mut().filter(|_| is_last) {
                    workspace.finish((from, to, false), *places, influences, &group.people);
                }
            });
            if let Some(influences) = influences {
                workspace.finish((from, from, true), *places, influences, &group.people);
            }
        });
        group.clear();
    }

    /// The sums by scope.
    ///
    /// # Panics
    /// If pairs are still buffered: a bug of the caller.
    fn settled_sums(&self) -> &[DivergenceSums] {
        assert!(self.waiting.is_empty(), "the second pass is not settled");
        &self.sums
    }

    /// Whether these are the pairs of the first pass.
    ///
    /// # Panics
    /// As [`ShiftPass::at`].
    pub(crate) fn is_of(&self, counts: &CounterfactualCounts) -> bool {
        self.settled_sums()[self.places.total()].n == counts.shift_total().n
    }

    /// The sums of a scope by its number.
    ///
    /// # Panics
    /// If the pass is not settled: a bug of the caller.
    pub(crate) fn at(&self, place: usize) -> &DivergenceSums {
        &self.settled_sums()[place]
    }

    /// The influence of each unit on each score metric, by scope and ascending by key; empty if
    /// units were not added up by key. `sums` are those of the first pass by scope.
    ///
    /// # Panics
    /// As [`ShiftPass::at`].
    pub(crate) fn of_units(&self, sums: &[ShiftSums]) -> Option<Vec<Vec<(u64, Influences)>>> {
        let divergences = self.settled_sums();
        let factors = sums
            .iter()
            .zip(divergences)
            .map(|(sums, divergences)| ScopeFactors::new(sums, divergences));
        Some(self.influences.as_ref()?.of_units(&factors.collect::<Vec<_>>()))
    }

    /// The evidence of both passes; `counts` are those of the first.
    pub(crate) fn into_evidence(mut self, counts: &CounterfactualCounts) -> ShiftEvidence {
        self.settle();
        let spreads = self.influences.take().map(|influences| {
            ShiftSpreads::new(self.places, &counts.shifts_by_scope(), &self.sums, &influences)
        });
        ShiftEvidence { second: self, spreads }
    }
}

additive!(settled ShiftPass { sums, influences, waiting });
