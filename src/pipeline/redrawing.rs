//! The stage `measure/MODEL/SET/ATTRIBUTE`: what score metrics need beyond the counts.
//!
//! The Jensen-Shannon distance needs the sums of all scores first, hence a second pass over the scores; intervals need people one by one,
//! or blocks of them where there are many. A stage of its own, because it is the dearest part of measuring and depends on little.

use crate::error::{Error, Result};
use crate::metric::counts::CounterfactualCounts;
use crate::metric::redraw::{Blocks, PEOPLE_AT_MOST, Pairs, Redraw, ShiftEvidence, ShiftIntervals};
use crate::param::{Count, Level, Seed};
use crate::pipeline::counting::{Scored, pass};
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

/// The second pass over one model, set and attribute, with intervals where they are wanted. `counts` is the first pass.
///
/// # Errors
/// A file cannot be read, or the run is to stop.
pub fn second_pass(ground: Ground<'_>, scored: Scored<'_>, counts: &CounterfactualCounts, wanted: Option<Wanted>) -> Result<ShiftEvidence> {
    let Some(wanted) = wanted else {
        let start = counts.second_pass();
        let mut second = start.clone();
        pass(ground, scored, || start.clone(), |part, _, person, cfs| part.add(person, cfs), |part| second.merge(&part))?;
        return Ok(ShiftEvidence { second, intervals: None });
    };
    if counts.spreads().total().people() <= PEOPLE_AT_MOST {
        let empty = || Pairs::new(counts);
        let mut pairs = empty();
        pass(ground, scored, empty, |part, key, person, cfs| part.add(key, person, cfs), |part| pairs.merge(part))?;
        let second = pairs.second_pass(counts);
        let intervals = draw(ground, &Redraw::of_people(&pairs, &second, wanted.samples, wanted.seed), counts, wanted.level)?;
        Ok(ShiftEvidence { second, intervals: Some(intervals) })
    } else {
        let start = Blocks::new(counts, wanted.seed);
        let mut blocks = start.clone();
        pass(ground, scored, || start.clone(), |part, key, person, cfs| part.add(key, person, cfs), |part| blocks.merge(&part))?;
        let second = blocks.second_pass(counts);
        let intervals = draw(ground, &Redraw::of_blocks(&blocks, &second, wanted.seed), counts, wanted.level)?;
        Ok(ShiftEvidence { second, intervals: Some(intervals) })
    }
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
