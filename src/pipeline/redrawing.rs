//! The stage `measure/MODEL/SET/ATTRIBUTE`: what score metrics need beyond the counts.
//!
//! The Jensen-Shannon distance needs the sums of all scores first, hence a second pass over the scores; intervals need people one by one,
//! or blocks of them where there are many. A stage of its own, because it is the dearest part of measuring and depends on little.

use crate::error::{Error, Result};
use crate::metric::counts::{Counterfactual, CounterfactualCounts, Person};
use crate::metric::divergence::ShiftPass;
use crate::metric::redraw::{Blocks, PEOPLE_AT_MOST, Pairs, Redraw, ShiftEvidence, ShiftIntervals};
use crate::param::{Count, Level, Seed};
use crate::pipeline::classes::{self, ScoredClasses};
use crate::pipeline::counting::{self, Scored};
use crate::pipeline::worlds::Ground;

/// The intervals that are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Their level.
    pub level: Level,
    /// Replicates of people.
    pub samples: Count,
    /// Seed of the job.
    pub seed: Seed,
}

/// What a second pass gathers of people.
#[derive(Debug)]
pub(super) enum Gathering {
    /// The sums alone: no intervals are wanted.
    Sums(ShiftPass),
    /// Everybody, for replicates of people.
    People(Pairs, Wanted),
    /// Blocks, where people are many.
    Blocks(Blocks, Wanted),
}

impl Gathering {
    /// Nobody yet. `counts` is the first pass over the same people.
    pub(super) fn new(counts: &CounterfactualCounts, wanted: Option<Wanted>) -> Self {
        match wanted {
            None => Gathering::Sums(counts.second_pass()),
            Some(wanted) if counts.spreads().total().people() <= PEOPLE_AT_MOST => Gathering::People(Pairs::new(counts), wanted),
            Some(wanted) => Gathering::Blocks(Blocks::new(counts, wanted.seed), wanted),
        }
    }

    /// Takes a person.
    pub(super) fn add(&mut self, key: u64, person: &Person, cfs: &[Counterfactual]) {
        match self {
            Gathering::Sums(sums) => sums.add(person, cfs),
            Gathering::People(pairs, _) => pairs.add(key, person, cfs),
            Gathering::Blocks(blocks, _) => blocks.add(key, person, cfs),
        }
    }

    /// Takes what was gathered of other people by the same rule.
    pub(super) fn merge(&mut self, other: Self) {
        match (self, other) {
            (Gathering::Sums(sums), Gathering::Sums(more)) => sums.merge(&more),
            (Gathering::People(pairs, _), Gathering::People(more, _)) => pairs.merge(more),
            (Gathering::Blocks(blocks, _), Gathering::Blocks(more, _)) => blocks.merge(more),
            _ => unreachable!("one first pass gives one rule"),
        }
    }

    /// The evidence, with its intervals drawn.
    ///
    /// # Errors
    /// The run is to stop.
    pub(super) fn finish(self, ground: Ground<'_>, counts: &CounterfactualCounts) -> Result<ShiftEvidence> {
        match self {
            Gathering::Sums(second) => Ok(ShiftEvidence { second, intervals: None }),
            Gathering::People(pairs, wanted) => {
                let second = pairs.second_pass(counts);
                let intervals = draw(ground, &Redraw::of_people(&pairs, &second, wanted.samples, wanted.seed), counts, wanted.level)?;
                Ok(ShiftEvidence { second, intervals: Some(intervals) })
            }
            Gathering::Blocks(blocks, wanted) => {
                let second = blocks.second_pass(counts);
                let intervals = draw(ground, &Redraw::of_blocks(&blocks, &second, wanted.seed), counts, wanted.level)?;
                Ok(ShiftEvidence { second, intervals: Some(intervals) })
            }
        }
    }
}

/// Whose scores are passed over.
#[derive(Debug, Clone, Copy)]
pub enum Of<'a> {
    /// Those of the positive side of a label of two.
    Positive(Scored<'a>),
    /// Those of one of several classes.
    Class(ScoredClasses<'a>, usize),
}

impl Of<'_> {
    fn pass<T: Send>(
        self,
        ground: Ground<'_>,
        empty: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, u64, &Person, &[Counterfactual]) + Sync,
        merge: impl Fn(&mut T, T),
    ) -> Result<T> {
        match self {
            Of::Positive(scored) => counting::pass(ground, scored, empty, add, merge),
            Of::Class(scored, class) => classes::pass(ground, (scored, class), empty, add, merge),
        }
    }
}

/// The second pass over one model, set and attribute, with intervals where they are wanted. `counts` is the first pass.
///
/// # Errors
/// A file cannot be read, or the run is to stop.
pub fn second_pass(ground: Ground<'_>, of: Of<'_>, counts: &CounterfactualCounts, wanted: Option<Wanted>) -> Result<ShiftEvidence> {
    of.pass(ground, || Gathering::new(counts, wanted), Gathering::add, Gathering::merge)?.finish(ground, counts)
}

fn draw(ground: Ground<'_>, redraw: &Redraw<'_>, counts: &CounterfactualCounts, level: Level) -> Result<ShiftIntervals> {
    let mut tiles = Vec::with_capacity(redraw.n_tiles());
    ground.workers.map(
        redraw.n_tiles(),
        |number| {
            (ground.watch.check)()?;
            Ok::<_, Error>(redraw.tile(number))
        },
        |_, tile| {
            tiles.push(tile);
            Ok(())
        },
    )?;
    Ok(redraw.intervals(&tiles, counts, level))
}
