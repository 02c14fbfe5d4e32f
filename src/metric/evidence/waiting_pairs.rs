//! People whose pairs of scores wait to be added together, group by group and there direction by
//! direction: so the pairs of a direction fill chunks, and those of a group the processor's cache.

use crate::metric::evidence::chunk::{CHUNK, PairChunk};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::num::additive::Additive;

/// People with the counterfactuals that have a score, by their group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WaitingPairs(Vec<WaitingGroup>);

/// People of one group, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WaitingGroup {
    pub(super) people: Vec<WaitingPerson>,
    pairs: Vec<WaitingPair>,
}

/// A person with a pair of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WaitingPerson {
    /// The person's own.
    pub(super) key: u64,
    /// Whole units that the person weighs.
    pub(super) weight: u64,
    score: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct WaitingPair {
    score_cf: f64,
    /// Position of the person.
    person: u32,
    to: u16,
    cell: u8,
}

impl Additive for WaitingPairs {
    fn absorb(&mut self, other: &Self) {
        self.0.resize_with(self.0.len().max(other.0.len()), WaitingGroup::default);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            let known = mine.people.len() as u32;
            mine.people.extend(&theirs.people);
            let renumbered = |of: &WaitingPair| WaitingPair { person: known + of.person, ..*of };
            mine.pairs.extend(theirs.pairs.iter().map(renumbered));
        }
    }
}

impl WaitingPairs {
    /// Adds a person with the counterfactuals that have a pair of scores; none where none has one.
    /// Else whether as many pairs of the person's group wait as fill a chunk of each direction, or
    /// as is its share of the pairs that may wait at `most`.
    pub(super) fn push(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
        (groups, most): (usize, usize),
    ) -> Option<bool> {
        if self.0.len() <= person.group {
            // Where nobody has a score, nobody ever waited.
            counterfactuals.iter().find_map(|moved| scored_pair(person, moved))?;
            self.0.resize_with(person.group + 1, WaitingGroup::default);
        }
        let WaitingGroup { people, pairs } = &mut self.0[person.group];
        let (known, position) = (pairs.len(), people.len() as u32);
        for counterfactual in counterfactuals {
            if let Some((cell, _, score_cf)) = scored_pair(person, counterfactual) {
                let (to, cell) = (counterfactual.to as u16, cell as u8);
                pairs.push(WaitingPair { score_cf, person: position, to, cell });
            }
        }
        let n = pairs.len();
        let score = person.score.filter(|_| n > known)?;
        people.push(WaitingPerson { key, weight: person.weight, score });
        Some(n >= CHUNK * (groups - 1) || n * groups >= most)
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|group| group.people.is_empty())
    }

    /// Those of a group; none where nobody waits.
    pub(super) fn group(&mut self, from: usize) -> Option<&mut WaitingGroup> {
        self.0.get_mut(from).filter(|group| !group.people.is_empty())
    }
}

impl WaitingGroup {
    /// Passes on the pairs, direction by direction: the group that people are moved to, ascending,
    /// the pairs, as many as fit into the chunk, in the order of the people, and whether they are
    /// the last of the direction.
    pub(super) fn each_chunk(
        &self,
        chunk: &mut PairChunk,
        mut each: impl FnMut(usize, &PairChunk, bool),
    ) {
        let to = |pair: &WaitingPair| usize::from(pair.to);
        // Where the pairs of each direction begin, and in the end where those of the next do.
        let mut next = vec![0_usize; self.pairs.iter().map(to).max().map_or(0, |last| last + 2)];
        self.pairs.iter().for_each(|pair| next[to(pair) + 1] += 1);
        (1..next.len()).for_each(|i| next[i] += next[i - 1]);
        let mut order = vec![0_u32; self.pairs.len()];
        for (i, pair) in (0..).zip(&self.pairs) {
            let place = &mut next[to(pair)];
            order[*place] = i;
            *place += 1;
        }
        let mut first = 0;
        for (to, &end) in next.iter().enumerate() {
            let mut parts = order[first..end].chunks(CHUNK).peekable();
            while let Some(part) = parts.next() {
                chunk.clear();
                for &i in part {
                    let WaitingPair { score_cf, person, cell, .. } = self.pairs[i as usize];
                    let WaitingPerson { score, weight, .. } = self.people[person as usize];
                    chunk.push((score, score_cf), (person, cell), weight);
                }
                each(to, chunk, parts.peek().is_none());
            }
            first = end;
        }
    }

    /// Lets nobody wait.
    pub(super) fn clear(&mut self) {
        self.people.clear();
        self.pairs.clear();
    }
}
