//! One pass over people with their counterfactuals: counts, score sums, and what divergences and
//! intervals need.
//!
//! The divergence of a scope needs the sums of all its scores before the first term. In place of a
//! separate pass they are *estimated* from some people ([`ScoreBalances`]), and the value is the
//! series at the step between estimate and truth (see
//! [`jensen_shannon`](crate::metric::evidence::jensen_shannon)). Few people are kept pair by pair;
//! then everything is computed from the pairs, with the true sums. Where neither serves — the
//! estimate is off by more than the series reaches, a direction was not met when it was made, or
//! people are fewer or more than was assumed — [`GatheredSwitches::second`] says so, and the people
//! are passed over again ([`ScoreKeeping::again`]).
//!
//! People are buffered, sorted by group and block, and their pairs computed in chunks (see
//! [`chunk`](crate::metric::evidence::chunk)): the sums of a block are made in registers and added
//! to it once. The score sums of a direction are those of its blocks. A sum is the same regardless
//! of the order of the people and however they are divided.
//!
//! Cost: one logarithm a pair and scope, four scopes a pair with more than two groups. Weights,
//! comparisons and patterns of people are added person by person. Memory: of each thread 0.6 KB a
//! block and direction, 30 MB of people and pairs waiting, or 24 bytes a pair of at most
//! [`MAX_SINGLE_PEOPLE`] people.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::exec::accumulator::Accumulator;
use crate::metric::bootstrap::redraw::MAX_SINGLE_PEOPLE;
use crate::metric::bootstrap::redraw::units::{SHIFT_BLOCKS, ScorePairs, ShiftBlock, ShiftBlocks};
use crate::metric::evidence::chunk::{ChunkTerms, PairChunk};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::jensen_shannon::ScoreBalance;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::param::Seed;

/// People and pairs that wait for each other at most.
const WAITING: (usize, usize) = (1 << 18, 1 << 21);

/// People of a block who wait, in the mean: enough to add the sums of a block seldom, and few
/// enough to stay close to the processor where there are two groups.
const WAITING_IN_BLOCK: usize = 64;

/// The least number of people who wait.
const LEAST_WAITING: usize = 1 << 12;

/// The factors that make the sums of factual and counterfactual scores of each scope equal,
/// estimated from some people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreBalances(Vec<ScoreBalance>);

impl ScoreBalances {
    /// Those of these people.
    pub(crate) fn of(counts: &CounterfactualCounts) -> Self {
        ScoreBalances(counts.second_pass().balances())
    }
}

/// What is kept of scores in addition to the counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScoreKeeping {
    /// Nothing: score metrics are not asked for.
    Nothing,
    /// Every pair, up to [`MAX_SINGLE_PEOPLE`] people.
    Pairs,
    /// Sums for values without intervals.
    Sums(ScoreBalances),
    /// Sums of blocks that the seed cuts, for values and intervals.
    Blocks(ScoreBalances, Seed),
}

impl ScoreKeeping {
    /// What to keep in a pass over people who are counted already; a seed where intervals are
    /// wanted.
    pub(crate) fn again(counts: &CounterfactualCounts, seed: Option<Seed>) -> Self {
        match seed {
            None => ScoreKeeping::Sums(ScoreBalances::of(counts)),
            Some(_) if counts.cell_profiles().total().people() <= MAX_SINGLE_PEOPLE => {
                ScoreKeeping::Pairs
            }
            Some(seed) => ScoreKeeping::Blocks(ScoreBalances::of(counts), seed),
        }
    }
}

/// The accumulator of a pass over people with their counterfactuals; mergeable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SwitchAccumulator {
    /// Without what the blocks hold, and without the coarse bins of the changes where finer ones
    /// are kept.
    counts: CounterfactualCounts,
    blocks: ShiftBlocks,
    pairs: KeptPairs,
    /// Those who have a pair of scores.
    people: u64,
    /// Nobody, once it is settled.
    #[serde(skip)]
    waiting: WaitingPeople,
}

/// Pairs of people who are kept one by one.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum KeptPairs {
    NotAsked,
    Kept(ScorePairs),
    TooMany,
}

/// People whose scores wait to be added.
#[derive(Debug, Clone, Default)]
struct WaitingPeople {
    people: Vec<WaitingPerson>,
    pairs: Vec<WaitingPair>,
}

#[derive(Debug, Clone, Copy)]
struct WaitingPerson {
    /// Group, then block.
    bucket: u32,
    /// Position of the first pair; the last ends where those of the next person begin.
    first: u32,
    score: f64,
    weight: u64,
}

#[derive(Debug, Clone, Copy)]
struct WaitingPair {
    score_cf: f64,
    to: u16,
    cell: u8,
}

/// Room for the pairs of one group while they are added; one serves all accumulators of a thread.
#[derive(Debug)]
pub(crate) struct ChunkWorkspace {
    arch: Arch,
    terms: Box<ChunkTerms>,
    /// By the group that people are moved to.
    chunks: Vec<PairChunk>,
    /// Positions of people, sorted by group and block.
    order: Vec<u32>,
    /// Where the people of each group and block begin.
    starts: Vec<u32>,
}

impl ChunkWorkspace {
    /// Room with the widest vectors that the processor has.
    pub(crate) fn new() -> Self {
        ChunkWorkspace {
            arch: Arch::new(),
            terms: ChunkTerms::new(),
            chunks: Vec::new(),
            order: Vec::new(),
            starts: Vec::new(),
        }
    }
}

impl Default for ChunkWorkspace {
    fn default() -> Self {
        Self::new()
    }
}

/// What a pass over people gathered.
#[derive(Debug)]
pub(crate) struct GatheredSwitches {
    /// The counts.
    pub counts: CounterfactualCounts,
    /// People who have a pair of scores.
    pub people: u64,
    blocks: ShiftBlocks,
    pairs: KeptPairs,
}

/// What the intervals of score metrics are drawn from.
#[derive(Debug)]
pub(crate) enum GatheredScores {
    /// Everybody.
    Pairs(ScorePairs),
    /// Blocks of people, and the second pass over them.
    Blocks(ShiftPass, ShiftBlocks),
}

impl SwitchAccumulator {
    /// Nobody yet; `nobody` are the empty counts.
    pub(crate) fn new(nobody: CounterfactualCounts, keep: &ScoreKeeping) -> Self {
        let (balances, cut) = match keep {
            ScoreKeeping::Nothing | ScoreKeeping::Pairs => (Vec::new(), (1, Seed(0))),
            ScoreKeeping::Sums(balances) => (balances.0.clone(), (1, Seed(0))),
            ScoreKeeping::Blocks(balances, seed) => (balances.0.clone(), (SHIFT_BLOCKS, *seed)),
        };
        let pairs = match keep {
            ScoreKeeping::Pairs => KeptPairs::Kept(ScorePairs::new(&nobody)),
            _ => KeptPairs::NotAsked,
        };
        SwitchAccumulator {
            blocks: ShiftBlocks::with_balances(&nobody, balances, cut),
            counts: nobody,
            pairs,
            people: 0,
            waiting: WaitingPeople::default(),
        }
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
        if let KeptPairs::Kept(pairs) = &mut self.pairs {
            pairs.add(key, person, counterfactuals);
            if pairs.n_people() > MAX_SINGLE_PEOPLE {
                self.pairs = KeptPairs::TooMany;
            }
        }
        let first = self.waiting.pairs.len();
        for counterfactual in counterfactuals {
            if let Some((cell, _, score_cf)) = scored_pair(person, counterfactual) {
                let (to, cell) = (counterfactual.to as u16, cell as u8);
                self.waiting.pairs.push(WaitingPair { score_cf, to, cell });
            }
        }
        let Some(score) = person.score.filter(|_| self.waiting.pairs.len() > first) else {
            return;
        };
        self.people += 1;
        let block = person.group * self.blocks.n_blocks() + self.blocks.block_of(key) as usize;
        self.waiting.people.push(WaitingPerson {
            bucket: block as u32,
            first: first as u32,
            score,
            weight: person.weight,
        });
        let (most, pairs) = WAITING;
        let buckets = self.counts.groups() * self.blocks.n_blocks();
        let people = (buckets * WAITING_IN_BLOCK).clamp(LEAST_WAITING, most);
        if self.waiting.people.len() >= people || self.waiting.pairs.len() >= pairs {
            self.flush(room);
        }
    }

    /// Adds the scores of people who wait.
    pub(crate) fn flush(&mut self, room: &mut ChunkWorkspace) {
        let WaitingPeople { people, pairs } = &mut self.waiting;
        if people.is_empty() {
            return;
        }
        let (groups, n_blocks) = (self.counts.groups(), self.blocks.n_blocks());
        room.chunks.resize_with(groups.max(room.chunks.len()), PairChunk::new);
        // Counting sort: people of a block stay in their order.
        room.starts.clear();
        room.starts.resize(groups * n_blocks + 1, 0);
        people.iter().for_each(|person| room.starts[person.bucket as usize + 1] += 1);
        for bucket in 0..groups * n_blocks {
            room.starts[bucket + 1] += room.starts[bucket];
        }
        room.order.clear();
        room.order.resize(people.len(), 0);
        for (position, person) in (0..).zip(people.iter()) {
            let place = &mut room.starts[person.bucket as usize];
            room.order[*place as usize] = position;
            *place += 1;
        }
        let mut order = room.order.iter();
        for from in 0..groups {
            // Each place is the end of its people by now.
            let end = room.starts[(from + 1) * n_blocks - 1] as usize;
            let n = end - (people.len() - order.len());
            for &position in order.by_ref().take(n) {
                let person = people[position as usize];
                let last =
                    people.get(position as usize + 1).map_or(pairs.len(), |p| p.first as usize);
                let block = person.bucket - (from * n_blocks) as u32;
                for pair in &pairs[person.first as usize..last] {
                    let to = usize::from(pair.to);
                    let chunk = &mut room.chunks[to];
                    if chunk.push(block, (person.score, pair.score_cf), pair.cell, person.weight) {
                        let sums = (&mut self.counts, &mut self.blocks);
                        add_chunk(sums, (from, to), chunk, &mut room.terms, room.arch);
                    }
                }
            }
            for (to, chunk) in room.chunks.iter_mut().enumerate() {
                let sums = (&mut self.counts, &mut self.blocks);
                add_chunk(sums, (from, to), chunk, &mut room.terms, room.arch);
            }
        }
        people.clear();
        pairs.clear();
    }

    /// Lets nobody wait, with room of its own.
    fn add_waiting(&mut self) {
        if !self.waiting.people.is_empty() {
            self.flush(&mut ChunkWorkspace::new());
        }
    }

    /// What was gathered, with room of its own.
    pub(crate) fn finish_now(self) -> GatheredSwitches {
        self.finish(&mut ChunkWorkspace::new())
    }

    /// What was gathered.
    pub(crate) fn finish(mut self, room: &mut ChunkWorkspace) -> GatheredSwitches {
        self.flush(room);
        self.blocks.add_to(&mut self.counts);
        self.counts.finish_bins();
        let SwitchAccumulator { counts, blocks, pairs, people, .. } = self;
        GatheredSwitches { counts, people, blocks, pairs }
    }
}

impl Accumulator for SwitchAccumulator {
    fn merge(&mut self, mut other: Self) {
        self.add_waiting();
        other.add_waiting();
        self.counts.merge(other.counts);
        self.people += other.people;
        self.blocks.merge(other.blocks);
        match (&mut self.pairs, other.pairs) {
            (KeptPairs::Kept(mine), KeptPairs::Kept(theirs)) => {
                mine.merge(theirs);
                if mine.n_people() > MAX_SINGLE_PEOPLE {
                    self.pairs = KeptPairs::TooMany;
                }
            }
            (mine, KeptPairs::TooMany) => *mine = KeptPairs::TooMany,
            _ => {}
        }
    }

    fn settle(&mut self) {
        self.add_waiting();
        if let KeptPairs::Kept(pairs) = &mut self.pairs {
            pairs.sort();
        }
    }
}

/// Adds the pairs of a chunk and empties it.
fn add_chunk(
    (counts, blocks): (&mut CounterfactualCounts, &mut ShiftBlocks),
    (from, to): (usize, usize),
    chunk: &mut PairChunk,
    terms: &mut ChunkTerms,
    arch: Arch,
) {
    if chunk.len() == 0 {
        return;
    }
    terms.compute_plain(arch, chunk);
    let direction = counts.scope_index().direction(from, to);
    let (people, weighed) = counts.shift_sums_mut(direction);
    for i in 0..chunk.len() {
        people.add_square(usize::from(chunk.cell[i]), terms.squared_units(i), 1);
    }
    if let Some(weighed) = weighed {
        for i in 0..chunk.len() {
            let cell = usize::from(chunk.cell[i]);
            weighed.add_square(cell, terms.squared_units(i), chunk.weight[i]);
        }
        // The blocks hold what people weigh.
        let mut unweighed = ShiftBlock::default();
        unweighed.add_run(chunk, terms, 0..chunk.len(), None);
        unweighed.add_to(people);
    }
    counts.add_to_bins(direction, terms.parts(chunk.len()), &chunk.weight);
    blocks.add_chunk((from, to), chunk, terms, arch);
    chunk.clear();
}

impl GatheredSwitches {
    /// What values and intervals are drawn from; none where the people have to be passed over
    /// again. `intervals` are those that are wanted.
    pub(crate) fn second(self, intervals: bool) -> (CounterfactualCounts, Option<GatheredScores>) {
        let GatheredSwitches { counts, people, blocks, pairs } = self;
        let found = match pairs {
            KeptPairs::Kept(pairs) => Some(GatheredScores::Pairs(pairs)),
            KeptPairs::NotAsked if !intervals || people > MAX_SINGLE_PEOPLE => {
                GatheredScores::of_blocks(blocks, &counts)
            }
            KeptPairs::NotAsked | KeptPairs::TooMany => None,
        };
        (counts, found)
    }
}

impl GatheredScores {
    fn of_blocks(blocks: ShiftBlocks, counts: &CounterfactualCounts) -> Option<Self> {
        blocks.second_pass(counts).map(|second| GatheredScores::Blocks(second, blocks))
    }

    /// Blocks instead of people who are kept one by one, if they are more than `most_single`;
    /// `counts` are those of the same people.
    #[must_use]
    pub(crate) fn in_blocks_above(
        self,
        most_single: u64,
        counts: &CounterfactualCounts,
        seed: Seed,
    ) -> Self {
        match self {
            GatheredScores::Pairs(pairs) if pairs.n_people() > most_single => {
                let blocks = ShiftBlocks::of_pairs(&pairs, counts, seed);
                GatheredScores::of_blocks(blocks, counts).unwrap_or(GatheredScores::Pairs(pairs))
            }
            scores => scores,
        }
    }

    /// The second pass over the same people, which `counts` holds.
    pub(crate) fn second_pass(&self, counts: &CounterfactualCounts) -> ShiftPass {
        match self {
            GatheredScores::Pairs(pairs) => pairs.second_pass(counts),
            GatheredScores::Blocks(second, _) => second.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::exec::accumulator::Accumulator;

    use super::{ChunkWorkspace, GatheredScores, ScoreBalances, ScoreKeeping, SwitchAccumulator};
    use crate::metric::bootstrap::redraw::ShiftBlocks;
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::metric::evidence::counts::CounterfactualCounts;
    use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
    use crate::metric::evidence::shift_pass::ShiftPass;
    use crate::num::seed::{RandomStream, h};
    use crate::param::Seed;

    const SEED: Seed = Seed(11);

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
                        moved.push(ScoredCounterfactual {
                            to,
                            predicted,
                            score,
                            rounded: false,
                            unsupported: 0,
                        });
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
        let unit = if weighted { CountingUnit::WEIGHT } else { CountingUnit::ROW };
        counts.counted_by(unit)
    }

    /// The counts person by person.
    fn counted(people: &KeyedPeople, groups: usize, weighted: bool) -> CounterfactualCounts {
        let mut counts = nobody(groups, weighted);
        for (key, person, moved) in people {
            counts.add(person, moved);
            counts.add_weight(person, moved);
            counts.add_unit(*key, person, moved);
        }
        counts
    }

    /// Gathers people in parts, merged last first.
    fn gathered(
        people: &KeyedPeople,
        nobody: &CounterfactualCounts,
        keep: &ScoreKeeping,
        parts: u64,
    ) -> SwitchAccumulator {
        let mut room = ChunkWorkspace::new();
        let mut all = vec![SwitchAccumulator::new(nobody.clone(), keep); parts as usize];
        for (i, (key, person, moved)) in people.iter().enumerate() {
            let part = &mut all[(h(parts, *key, 1) % parts) as usize];
            part.add(*key, person, moved, &mut room);
            if i % 1000 == 17 {
                part.flush(&mut room);
            }
        }
        let mut whole = all.pop().unwrap();
        all.into_iter().rev().for_each(|part| whole.merge(part));
        whole
    }

    fn second(people: &KeyedPeople, counts: &CounterfactualCounts) -> ShiftPass {
        let mut second = counts.second_pass();
        people.iter().for_each(|(_, person, moved)| second.add(person, moved));
        second
    }

    /// Whatever is kept, however people are divided: the counts, the second pass with the true sums
    /// and the blocks are those of people added one by one in two passes.
    #[test]
    fn one_pass_is_two_passes() {
        let mut room = ChunkWorkspace::new();
        for (groups, n, weighted) in
            [(1, 50, false), (2, 3000, false), (2, 3000, true), (5, 2500, false), (8, 1500, true)]
        {
            let people = people(groups, n, weighted);
            let counts = counted(&people, groups, weighted);
            let exact = ScoreBalances::of(&counts);
            let second = second(&people, &counts);
            let mut blocks = ShiftBlocks::new(&counts, SEED);
            people.iter().for_each(|(key, person, moved)| blocks.add(*key, person, moved));
            for keep in [
                ScoreKeeping::Nothing,
                ScoreKeeping::Pairs,
                ScoreKeeping::Sums(exact.clone()),
                ScoreKeeping::Blocks(exact, SEED),
            ] {
                for parts in [1, 2, 7] {
                    let nobody = nobody(groups, weighted);
                    let all = gathered(&people, &nobody, &keep, parts).finish(&mut room);
                    assert_eq!(all.counts, counts, "{groups} {keep:?} {parts}");
                    assert_eq!(all.people, counts.cell_profiles().total().people());
                    // Where drawings have finer bins, the coarse ones are made of these.
                    let drawn = gathered(&people, &nobody.with_bins(), &keep, parts);
                    let drawn = drawn.finish(&mut room).counts;
                    for (from, to) in counts.scope_index().directions() {
                        let of = |all: &CounterfactualCounts| {
                            (all.shift(from, to).clone(), all.weight_shift(from, to).cloned())
                        };
                        assert_eq!(of(&drawn), of(&counts), "{groups} {keep:?} {parts}");
                    }
                    if let ScoreKeeping::Blocks(..) = keep {
                        assert_eq!(all.blocks, blocks, "{groups} {parts}");
                        assert_eq!(all.blocks.second_pass(&counts).as_ref(), Some(&second));
                    } else if keep != ScoreKeeping::Nothing {
                        let (_, found) = all.second(keep == ScoreKeeping::Pairs);
                        let (found, n) = (found.unwrap(), counts.cell_profiles().total().people());
                        assert_eq!(found.second_pass(&counts), second, "{keep:?} {parts}");
                        let is_pairs = matches!(found, GatheredScores::Pairs(_));
                        assert_eq!(is_pairs, keep == ScoreKeeping::Pairs);
                        // As many people are kept one by one, more are put into blocks.
                        let found = found.in_blocks_above(n, &counts, SEED);
                        assert_eq!(is_pairs, matches!(found, GatheredScores::Pairs(_)));
                        if is_pairs && n > 0 {
                            let found = found.in_blocks_above(n - 1, &counts, SEED);
                            let GatheredScores::Blocks(pass, of_pairs) = found else { panic!() };
                            assert_eq!((&pass, &of_pairs), (&second, &blocks));
                        }
                    }
                }
            }
        }
    }

    /// A balance of the first people represents that of all; where it does not reach, it says so.
    #[test]
    fn an_estimated_balance_gives_the_value_of_the_true_one() {
        let mut room = ChunkWorkspace::new();
        let mut largest: f64 = 0.0;
        for (groups, weighted) in [(2, false), (2, true), (5, false), (8, false)] {
            let people = people(groups, 6000, weighted);
            let counts = counted(&people, groups, weighted);
            let first = counted(&people[..3000].to_vec(), groups, weighted);
            let keep = ScoreKeeping::Sums(ScoreBalances::of(&first));
            let nobody = nobody(groups, weighted);
            let all = gathered(&people, &nobody, &keep, 3).finish(&mut room);
            let (_, found) = all.second(false);
            let exact = second(&people, &counts);
            let estimated = found.unwrap().second_pass(&counts);
            for (place, sums) in counts.shifts_by_scope().iter().enumerate() {
                let of = |pass: &ShiftPass| pass.at(place).score_shift(sums);
                let values = (of(&estimated).jensen_shannon, of(&exact).jensen_shannon);
                match values {
                    (Ok(one), Ok(other)) => {
                        largest = largest.max((one.sqrt() - other.sqrt()).abs())
                    }
                    (one, other) => assert_eq!(one, other),
                }
            }
        }
        assert!(largest < 1e-12, "{largest:e}");
        // Nobody of a direction, or scores of another kind, among the first.
        let mut sorted = people(2, 4000, false);
        sorted.sort_by(|a, b| a.1.score.unwrap_or(0.0).total_cmp(&b.1.score.unwrap_or(0.0)));
        let only: KeyedPeople = sorted.iter().filter(|(_, p, _)| p.group == 0).cloned().collect();
        for first in [&sorted[..200].to_vec(), &only] {
            let keep = ScoreKeeping::Sums(ScoreBalances::of(&counted(first, 2, false)));
            let all = gathered(&sorted, &nobody(2, false), &keep, 2).finish(&mut room);
            let (counts, found) = all.second(false);
            assert!(found.is_none(), "{found:?}");
            assert_eq!(counts, counted(&sorted, 2, false));
        }
    }
}
