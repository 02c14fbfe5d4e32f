//! People whose pairs of scores wait to be added together, direction by direction.

use crate::metric::evidence::chunk::{CHUNK, PairChunk};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::num::additive::Additive;

/// People with the counterfactuals that have a score, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WaitingPairs {
    people: Vec<WaitingPerson>,
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

impl Additive for WaitingPairs {
    fn absorb(&mut self, other: &Self) {
        let known = self.people.len() as u32;
        self.people.extend(&other.people);
        let renumbered = |of: &WaitingPair| WaitingPair { person: known + of.person, ..*of };
        self.pairs.extend(other.pairs.iter().map(renumbered));
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct WaitingPair {
    score_cf: f64,
    /// Position of the person.
    person: u32,
    from: u16,
    to: u16,
    cell: u8,
}

impl WaitingPairs {
    /// Adds a person with the counterfactuals that have a pair of scores; whether one has.
    pub(super) fn push(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) -> bool {
        let (known, position) = (self.pairs.len(), self.people.len() as u32);
        for counterfactual in counterfactuals {
            if let Some((cell, _, score_cf)) = scored_pair(person, counterfactual) {
                let (from, to) = (person.group as u16, counterfactual.to as u16);
                let cell = cell as u8;
                self.pairs.push(WaitingPair { score_cf, person: position, from, to, cell });
            }
        }
        let Some(score) = person.score.filter(|_| self.pairs.len() > known) else { return false };
        self.people.push(WaitingPerson { key, weight: person.weight, score });
        true
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.people.is_empty()
    }

    /// Whether this many people or pairs wait, or more.
    pub(super) fn are(&self, (people, pairs): (usize, usize)) -> bool {
        self.people.len() >= people || self.pairs.len() >= pairs
    }

    /// Takes all pairs out. `each` gets the people and the pairs of one direction, as many as fit
    /// into the chunk: directions ascend by group and by the group that people are moved to, and in
    /// a direction people are in order. Returns the people.
    pub(super) fn drain(
        &mut self,
        groups: usize,
        chunk: &mut PairChunk,
        mut each: impl FnMut((usize, usize), &[WaitingPerson], &PairChunk),
    ) -> Vec<WaitingPerson> {
        let WaitingPairs { people, pairs } = std::mem::take(self);
        let direction = |pair: &WaitingPair| usize::from(pair.from) * groups + usize::from(pair.to);
        // Where the pairs of each direction begin, and in the end where those of the next do.
        let mut next = vec![0_usize; groups * groups + 1];
        pairs.iter().for_each(|pair| next[direction(pair) + 1] += 1);
        (1..next.len()).for_each(|i| next[i] += next[i - 1]);
        let mut order = vec![0_u32; pairs.len()];
        for (i, pair) in (0..).zip(&pairs) {
            let place = &mut next[direction(pair)];
            order[*place] = i;
            *place += 1;
        }
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let of = direction(&pairs[*first as usize]);
            let (own, others) = rest.split_at(next[of] + rest.len() - order.len());
            for part in own.chunks(CHUNK) {
                chunk.clear();
                for &i in part {
                    let WaitingPair { score_cf, person, cell, .. } = pairs[i as usize];
                    let WaitingPerson { score, weight, .. } = people[person as usize];
                    chunk.push((score, score_cf), (person, cell), weight);
                }
                each((of / groups, of % groups), &people, chunk);
            }
            rest = others;
        }
        people
    }
}
