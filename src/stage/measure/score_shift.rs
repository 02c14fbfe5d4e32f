//! The stage `measure/MODEL/SET/ATTRIBUTE`: what score metrics need beyond the counts.
//!
//! The Jensen-Shannon distance needs the sums of all scores first, hence a second pass over the
//! scores; intervals need people one by one, or blocks of them where there are many. A stage of its
//! own, because it is the dearest part of measuring and depends on little.

use crate::error::Result;
use crate::metric::bootstrap::redraw::ShiftBootstrap;
use crate::metric::bootstrap::redraw::{
    MAX_SINGLE_PEOPLE, ScorePairs, ShiftBlocks, ShiftEvidence, ShiftIntervals,
};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::divergence::ShiftPass;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::param::{Count, Level, Seed};
use crate::stage::count::classes::{self, ClassCountInputs};
use crate::stage::count::evidence::{self, CountInputs};
use crate::stage::row_context::RowContext;

/// The intervals that are wanted.
#[derive(Debug, Clone, Copy)]
pub struct IntervalSettings {
    /// Their level.
    pub level: Level,
    /// Replicates of people.
    pub samples: Count,
    /// Seed of the job.
    pub seed: Seed,
}

/// What a second pass gathers of people.
#[derive(Debug)]
pub(crate) enum ShiftAccumulator {
    /// The sums alone: no intervals are wanted.
    Sums(ShiftPass),
    /// Everybody, for replicates of people.
    People(ScorePairs, IntervalSettings),
    /// Blocks, where people are many.
    Blocks(ShiftBlocks, IntervalSettings),
}

impl ShiftAccumulator {
    /// Nobody yet. `counts` is the first pass over the same people.
    pub(crate) fn new(counts: &CounterfactualCounts, wanted: Option<IntervalSettings>) -> Self {
        match wanted {
            None => ShiftAccumulator::Sums(counts.second_pass()),
            Some(wanted) if counts.cell_profiles().total().people() <= MAX_SINGLE_PEOPLE => {
                ShiftAccumulator::People(ScorePairs::new(counts), wanted)
            }
            Some(wanted) => ShiftAccumulator::Blocks(ShiftBlocks::new(counts, wanted.seed), wanted),
        }
    }

    /// Takes a person.
    pub(crate) fn add(&mut self, key: u64, person: &ScoredPerson, cfs: &[ScoredCounterfactual]) {
        match self {
            ShiftAccumulator::Sums(sums) => sums.add(person, cfs),
            ShiftAccumulator::People(pairs, _) => pairs.add(key, person, cfs),
            ShiftAccumulator::Blocks(blocks, _) => blocks.add(key, person, cfs),
        }
    }

    /// Takes what was gathered of other people by the same rule.
    pub(crate) fn merge(&mut self, other: Self) {
        match (self, other) {
            (ShiftAccumulator::Sums(sums), ShiftAccumulator::Sums(more)) => sums.merge(&more),
            (ShiftAccumulator::People(pairs, _), ShiftAccumulator::People(more, _)) => {
                pairs.merge(more)
            }
            (ShiftAccumulator::Blocks(blocks, _), ShiftAccumulator::Blocks(more, _)) => {
                blocks.merge(more)
            }
            _ => unreachable!("one first pass gives one rule"),
        }
    }

    /// The evidence, with its intervals drawn.
    ///
    /// # Errors
    /// The run is to stop.
    pub(crate) fn finish(
        self,
        ground: RowContext<'_>,
        counts: &CounterfactualCounts,
    ) -> Result<ShiftEvidence> {
        match self {
            ShiftAccumulator::Sums(second) => Ok(ShiftEvidence { second, intervals: None }),
            ShiftAccumulator::People(pairs, wanted) => {
                let second = pairs.second_pass(counts);
                let intervals = draw(
                    ground,
                    &ShiftBootstrap::of_people(&pairs, &second, wanted.samples, wanted.seed),
                    counts,
                    wanted.level,
                )?;
                Ok(ShiftEvidence { second, intervals: Some(intervals) })
            }
            ShiftAccumulator::Blocks(blocks, wanted) => {
                let second = blocks.second_pass(counts);
                let intervals = draw(
                    ground,
                    &ShiftBootstrap::of_blocks(&blocks, &second, wanted.seed),
                    counts,
                    wanted.level,
                )?;
                Ok(ShiftEvidence { second, intervals: Some(intervals) })
            }
        }
    }
}

/// Whose scores are passed over.
#[derive(Debug, Clone, Copy)]
pub enum ShiftSource<'a> {
    /// Those of the positive side of a label of two.
    Positive(CountInputs<'a>),
    /// Those of one of several classes.
    Class(ClassCountInputs<'a>, usize),
}

impl ShiftSource<'_> {
    fn pass<T: Send>(
        self,
        ground: RowContext<'_>,
        empty: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, u64, &ScoredPerson, &[ScoredCounterfactual]) + Sync,
        merge: impl Fn(&mut T, T),
    ) -> Result<T> {
        match self {
            ShiftSource::Positive(scored) => evidence::pass(ground, scored, empty, add, merge),
            ShiftSource::Class(scored, class) => {
                classes::pass_one_vs_rest(ground, (scored, class), empty, add, merge)
            }
        }
    }
}

/// The second pass over one model, set and attribute, with intervals where they are wanted.
/// `counts` is the first pass.
///
/// # Errors
/// A file cannot be read, or the run is to stop.
pub fn second_pass(
    ground: RowContext<'_>,
    of: ShiftSource<'_>,
    counts: &CounterfactualCounts,
    wanted: Option<IntervalSettings>,
) -> Result<ShiftEvidence> {
    of.pass(
        ground,
        || ShiftAccumulator::new(counts, wanted),
        ShiftAccumulator::add,
        ShiftAccumulator::merge,
    )?
    .finish(ground, counts)
}

fn draw(
    ground: RowContext<'_>,
    redraw: &ShiftBootstrap<'_>,
    counts: &CounterfactualCounts,
    level: Level,
) -> Result<ShiftIntervals> {
    let mut tiles = Vec::with_capacity(redraw.n_tiles());
    ground.pieces(redraw.n_tiles()).in_order(
        |number| Ok((0, redraw.tile(number))),
        |_, tile| {
            tiles.push(tile);
            Ok(())
        },
    )?;
    Ok(redraw.intervals(&tiles, counts, level))
}
