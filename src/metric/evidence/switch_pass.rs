//! The first pass over people with their counterfactuals: counts, and sums of scores in chunks.
//!
//! People are buffered, sorted by group, and their pairs computed in chunks (see
//! [`chunk`](crate::metric::evidence::chunk)), whose sums are made in registers and added to those
//! of the direction once. A sum is the same regardless of the order of the people and however they
//! are divided. Weights, comparisons and patterns of people are added person by person.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::exec::accumulator::Accumulator;
use crate::metric::evidence::chunk::{ChunkTerms, PairChunk};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::waiting_pairs::WaitingPairs;

/// People and pairs that wait for each other at most.
const WAITING: (usize, usize) = (1 << 14, 1 << 21);

/// The accumulator of a pass over people with their counterfactuals; mergeable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SwitchAccumulator {
    /// Without the coarse bins of the changes where finer ones are kept.
    counts: CounterfactualCounts,
    /// Those who have a pair of scores.
    people: u64,
    /// Nobody, once it is settled.
    #[serde(skip)]
    waiting: WaitingPairs,
}

/// Room for the pairs of one direction while they are added; one serves all accumulators of a
/// thread.
#[derive(Debug)]
pub(crate) struct ChunkWorkspace {
    arch: Arch,
    chunk: Box<PairChunk>,
    terms: Box<ChunkTerms>,
}

impl ChunkWorkspace {
    /// Room with the widest vectors that the processor has.
    pub(crate) fn new() -> Self {
        let chunk = Box::new(PairChunk::new());
        ChunkWorkspace { arch: Arch::new(), chunk, terms: ChunkTerms::new() }
    }
}

impl Default for ChunkWorkspace {
    fn default() -> Self {
        Self::new()
    }
}

impl SwitchAccumulator {
    /// Nobody yet; `nobody` are the empty counts.
    pub(crate) fn new(nobody: CounterfactualCounts) -> Self {
        SwitchAccumulator { counts: nobody, people: 0, waiting: WaitingPairs::default() }
    }

    /// Adds one person with all their counterfactuals of the set; a person is added once. `key` is
    /// the person's own.
    ///
    /// # Panics
    /// As [`CounterfactualCounts::add`].
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
        room: &mut ChunkWorkspace,
    ) {
        self.counts.add_cells(key, person, counterfactuals);
        if self.waiting.push(key, person, counterfactuals) {
            self.people += 1;
            if self.waiting.are(WAITING) {
                self.flush(room);
            }
        }
    }

    /// Adds the scores of people who wait.
    pub(crate) fn flush(&mut self, room: &mut ChunkWorkspace) {
        let (groups, ChunkWorkspace { arch, chunk, terms }) = (self.counts.groups(), room);
        self.waiting.drain(groups, chunk, |direction, _, chunk| {
            self.counts.add_chunk(direction, chunk, terms, *arch);
        });
    }

    /// Lets nobody wait, with room of its own.
    fn add_waiting(&mut self) {
        if !self.waiting.is_empty() {
            self.flush(&mut ChunkWorkspace::new());
        }
    }

    /// The counts, and how many people have a pair of scores.
    pub(crate) fn finish(mut self, room: &mut ChunkWorkspace) -> (CounterfactualCounts, u64) {
        self.flush(room);
        self.counts.finish_bins();
        (self.counts, self.people)
    }
}

impl Accumulator for SwitchAccumulator {
    fn merge(&mut self, mut other: Self) {
        self.add_waiting();
        other.add_waiting();
        self.counts.merge(other.counts);
        self.people += other.people;
    }

    fn settle(&mut self) {
        self.add_waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkWorkspace, SwitchAccumulator};
    use crate::exec::accumulator::Accumulator;
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::metric::evidence::counts::CounterfactualCounts;
    use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
    use crate::num::seed::{RandomStream, h};

    type KeyedPeople = Vec<(u64, ScoredPerson, Vec<ScoredCounterfactual>)>;

    /// Random people, some without label, score or counterfactual, with several counterfactuals in
    /// a group now and then.
    fn people(groups: usize, n: usize, weighted: bool) -> KeyedPeople {
        let mut stream = RandomStream::new(4, &format!("gather/{groups}"));
        (0..n)
            .map(|i| {
                let own = stream.u01();
                let known = |s: f64, u: f64| (u > 0.03).then_some(s);
                let score = known(own, stream.u01());
                let group = stream.u64() as usize % groups;
                let mut moved = Vec::new();
                for to in (0..groups).filter(|&to| to != group) {
                    for _ in 0..[1, 1, 1, 1, 0, 3][stream.u64() as usize % 6] {
                        let near = own * (0.7 + 0.5 * stream.u01()) + 0.01 * to as f64;
                        let score = known(near.min(1.0), stream.u01());
                        let predicted = score.map(|s| s >= 0.5);
                        moved.push(ScoredCounterfactual::to(to, predicted, score));
                    }
                }
                let label = [None, Some(true), Some(false)][stream.u64() as usize % 3];
                let weight = if weighted { stream.u64() % 1_000_000 } else { 1 };
                let predicted = score.map(|s| s >= 0.5);
                (i as u64 * 77, ScoredPerson { group, label, predicted, score, weight }, moved)
            })
            .collect()
    }

    fn nobody(groups: usize, weighted: bool) -> CounterfactualCounts {
        let counts = CounterfactualCounts::new(groups);
        if weighted { counts.counted_by(CountingUnit::WEIGHT) } else { counts }
    }

    /// The counts person by person.
    fn counted(people: &KeyedPeople, groups: usize, weighted: bool) -> CounterfactualCounts {
        let mut counts = nobody(groups, weighted);
        for (key, person, moved) in people {
            counts.add_all(*key, person, moved);
        }
        counts
    }

    /// Gathers people in parts, merged last first.
    fn gathered(
        people: &KeyedPeople,
        nobody: &CounterfactualCounts,
        parts: u64,
    ) -> (CounterfactualCounts, u64) {
        let mut room = ChunkWorkspace::new();
        let mut all = vec![SwitchAccumulator::new(nobody.clone()); parts as usize];
        for (i, (key, person, moved)) in people.iter().enumerate() {
            let part = &mut all[(h(parts, *key, 1) % parts) as usize];
            part.add(*key, person, moved, &mut room);
            if i % 1000 == 17 {
                part.flush(&mut room);
            }
        }
        let mut whole = all.pop().unwrap();
        all.into_iter().rev().for_each(|part| whole.merge(part));
        whole.finish(&mut room)
    }

    /// However people are divided, the counts are those of people added one by one.
    #[test]
    fn chunks_are_people_one_by_one() {
        for (groups, n, weighted) in
            [(1, 50, false), (2, 3000, false), (2, 3000, true), (5, 2500, false), (8, 1500, true)]
        {
            let people = people(groups, n, weighted);
            let counts = counted(&people, groups, weighted);
            for parts in [1, 2, 7] {
                let nobody = nobody(groups, weighted);
                let (found, scored) = gathered(&people, &nobody, parts);
                assert_eq!(found, counts, "{groups} {parts}");
                assert_eq!(scored, counts.cell_profiles().total().n_rows(|_| true));
                // Where drawings have finer bins, the coarse ones are made of these.
                let (drawn, _) = gathered(&people, &nobody.with_bins(), parts);
                for (from, to) in counts.scope_index().directions() {
                    let of = |all: &CounterfactualCounts| {
                        (all.shift(from, to).clone(), all.weight_shift(from, to).cloned())
                    };
                    assert_eq!(of(&drawn), of(&counts), "{groups} {parts}");
                }
            }
        }
    }
}
