//! People by the thresholds at which their score is a positive prediction: the evidence of the
//! curves over all thresholds.
//!
//! Thresholds are the shares i / 1,024 of the scale, i from 0 to 1,024. By the rule `ge` a share s
//! is positive at the first floor(1,024 s) + 1 of them, by `gt` at the first ceil(1,024 s), both
//! exact in doubles. So one cell for each number of thresholds counts all people, and a person is
//! negative at step i if the cell is not above i. Log-odds are finite, so none is at an end of its
//! scale, even if the share is rounded to 0 or 1.
//!
//! Cells hold whole numbers: any partition of the rows, merged in any order, gives the same.
//! Memory: 8 bytes a cell, with weights 32; three lists of cells for each group, five for each
//! direction. A list without people takes no memory, and files hold only cells with people.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::filled_cells::FilledCells;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, answer_state};
use crate::metric::evidence::units::WeightSums;
use crate::num::additive::Additive;
use crate::num::score_scale::{ScaleNumbers, ScoreScale};

/// Steps between the lowest and the highest threshold.
pub(crate) const GRID_STEPS: usize = 1024;

/// The possible numbers of thresholds at which a score is positive: 0 to 1,025.
const CELLS: usize = GRID_STEPS + 2;

/// An upper bound of the bytes of the cells of a direction or of a group.
pub(crate) fn bytes_of_direction(weighted: bool) -> u64 {
    5 * CELLS as u64 * if weighted { 32 } else { 8 }
}

/// How scores are compared with the thresholds of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreGrid {
    /// The scale of the scores.
    pub(crate) scale: ScoreScale,
    /// Whether a score at a threshold is negative: the rule `gt`.
    pub(crate) strict: bool,
    /// Whether people have weights.
    pub(crate) weighted: bool,
    /// The threshold of the job in the numbers of the scale; none if rows have different
    /// thresholds.
    pub(crate) threshold: Option<f64>,
}

impl ScoreGrid {
    /// The number of thresholds at which a share of the scale is positive.
    #[inline]
    fn cell(&self, share: f64) -> usize {
        let scaled = share * GRID_STEPS as f64;
        let n = if self.strict { scaled.ceil() } else { scaled.floor() + 1.0 };
        let n = (n.max(0.0) as usize).min(CELLS - 1);
        match self.scale.numbers {
            ScaleNumbers::LogOdds => n.clamp(1, GRID_STEPS),
            _ => n,
        }
    }

    /// The threshold of a step in the numbers of the scale; none at the ends of log-odds.
    pub(crate) fn threshold_at(&self, step: usize) -> Option<f64> {
        self.scale.number(step as f64 / GRID_STEPS as f64)
    }
}

/// Rows by the number of thresholds at which they are positive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GridCells {
    /// The number of rows, without weights.
    rows: FilledCells<u64, CELLS>,
    /// The sums of weighted rows.
    weights: FilledCells<WeightSums, CELLS>,
}

impl GridCells {
    fn add(&mut self, cell: usize, weight: Option<u64>) {
        match weight {
            Some(weight) => self.weights.fill()[cell] += WeightSums::one(weight),
            None => self.rows.fill()[cell] += 1,
        }
    }

    fn cell(&self, i: usize) -> WeightSums {
        let mut sums = WeightSums::ones(self.rows.at(i));
        sums += self.weights.at(i);
        sums
    }

    /// The sum over all cells.
    fn total(&self) -> WeightSums {
        self.upto(CELLS).last().unwrap_or_default()
    }

    /// The rows that are negative at each step.
    fn negative(&self) -> impl Iterator<Item = WeightSums> {
        self.upto(GRID_STEPS + 1)
    }

    /// The sums up to each of this many cells.
    fn upto(&self, cells: usize) -> impl Iterator<Item = WeightSums> {
        let mut sum = WeightSums::default();
        (0..cells).map(move |i| {
            sum += self.cell(i);
            sum
        })
    }
}

additive!(GridCells { rows, weights });

/// The rows of each group by label, each by its cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowGridCounts {
    /// How scores are compared.
    pub(crate) grid: ScoreGrid,
    /// By group, then by label: unknown, no, yes.
    cells: Vec<[GridCells; 3]>,
}

impl RowGridCounts {
    /// Empty counts for a number of groups.
    pub(crate) fn new(groups: usize, grid: ScoreGrid) -> Self {
        RowGridCounts { grid, cells: vec![<[GridCells; 3]>::default(); groups] }
    }

    /// Adds a row of a group with its score, in the numbers of its scale, or without a score.
    pub(crate) fn add(&mut self, group: usize, label: Option<bool>, score: f64, weight: u64) {
        if !score.is_nan() {
            let cell = self.grid.cell(self.grid.scale.share(score));
            self.cells[group][answer_state(label)].add(cell, self.grid.weighted.then_some(weight));
        }
    }

    /// The rows of some groups at each step, by label (unknown, no, yes), first the negative ones.
    pub(crate) fn steps(&self, groups: impl Iterator<Item = usize>) -> Vec<[[WeightSums; 2]; 3]> {
        let mut of_label = <[GridCells; 3]>::default();
        for group in groups {
            of_label.absorb(&self.cells[group]);
        }
        let all = of_label.each_ref().map(GridCells::total);
        let mut negative = of_label.each_ref().map(GridCells::negative);
        let at_step = |_| {
            std::array::from_fn(|label| {
                let below = negative[label].next().unwrap_or_default();
                [below, all[label].less(below)]
            })
        };
        (0..=GRID_STEPS).map(at_step).collect()
    }
}

/// The counterfactuals of one direction: all by the cell of the row, and those whose cell differs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct MovedCells {
    /// All counterfactuals, by the cell of the row.
    all: GridCells,
    /// The counterfactuals with a higher cell, by the cell of the row and by their own cell.
    up: [GridCells; 2],
    /// The same for counterfactuals with a lower cell.
    down: [GridCells; 2],
}

additive!(RowGridCounts { cells });
additive!(MovedCells { all, up, down });
additive!(SwitchGridCounts { moved });

/// Counterfactuals at a threshold: by the factual prediction, then by the counterfactual one, no
/// before yes.
pub(crate) type SwitchesAtStep = [[WeightSums; 2]; 2];

/// The counterfactuals of each direction by the cells of both scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SwitchGridCounts {
    /// How scores are compared.
    pub(crate) grid: ScoreGrid,
    groups: usize,
    /// By direction: from * groups + to.
    moved: Vec<MovedCells>,
}

impl SwitchGridCounts {
    /// Empty counts for a number of groups.
    pub(crate) fn new(groups: usize, grid: ScoreGrid) -> Self {
        SwitchGridCounts { grid, groups, moved: vec![MovedCells::default(); groups * groups] }
    }

    /// Adds a person with all their counterfactuals that have a score; scores are shares.
    pub(crate) fn add(&mut self, person: &ScoredPerson, counterfactuals: &[ScoredCounterfactual]) {
        let Some(cell) = person.score.map(|share| self.grid.cell(share)) else { return };
        let weight = self.grid.weighted.then_some(person.weight);
        for counterfactual in counterfactuals {
            let Some(share) = counterfactual.score else { continue };
            let (to, moved) = (
                self.grid.cell(share),
                &mut self.moved[person.group * self.groups + counterfactual.to],
            );
            moved.all.add(cell, weight);
            let way = match to.cmp(&cell) {
                std::cmp::Ordering::Equal => continue,
                std::cmp::Ordering::Greater => &mut moved.up,
                std::cmp::Ordering::Less => &mut moved.down,
            };
            way[0].add(cell, weight);
            way[1].add(to, weight);
        }
    }

    /// The counterfactuals of some directions at each step.
    pub(crate) fn steps(
        &self,
        directions: impl Iterator<Item = (usize, usize)>,
    ) -> Vec<SwitchesAtStep> {
        let mut sum = MovedCells::default();
        directions.for_each(|(from, to)| sum.absorb(&self.moved[from * self.groups + to]));
        let total = sum.all.total();
        let negative = sum.all.negative();
        let [[up_from, up_to], [down_from, down_to]] =
            [&sum.up, &sum.down].map(|way| way.each_ref().map(GridCells::negative));
        let up = up_from.zip(up_to).map(|(from, to)| from.less(to));
        let down = down_to.zip(down_from).map(|(to, from)| to.less(from));
        let at_step = |((below, gained), lost): ((WeightSums, _), _)| {
            [[below.less(gained), gained], [lost, total.less(below).less(lost)]]
        };
        negative.zip(up).zip(down).map(at_step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{GRID_STEPS, ScoreGrid};
    use crate::num::score_scale::{ScaleNumbers, ScoreScale};

    fn grid(numbers: ScaleNumbers, turned: bool, strict: bool) -> ScoreGrid {
        let scale = ScoreScale { numbers, turned };
        ScoreGrid { scale, strict, weighted: false, threshold: Some(0.5) }
    }

    /// A score is positive at the thresholds where the comparison is true, also for ties and for
    /// neighbours of ties.
    #[test]
    fn cells_say_what_comparisons_say() {
        let ends = ScaleNumbers::Range { from: 0.0, to: 1.0 };
        let on_grid = (0..=GRID_STEPS).map(|i| i as f64 / GRID_STEPS as f64);
        let around = |x: f64| [x.next_down().max(0.0), x, x.next_up().min(1.0)];
        for score in on_grid.flat_map(around).chain([0.1, 0.35, 1.0 / 3.0]) {
            for strict in [false, true] {
                let cell = grid(ends, false, strict).cell(score);
                for step in 0..=GRID_STEPS {
                    let at = step as f64 / GRID_STEPS as f64;
                    let positive = if strict { score > at } else { score >= at };
                    assert_eq!(cell > step, positive, "{score} {at} {strict}");
                }
            }
        }
    }

    #[test]
    fn thresholds_are_numbers_of_the_scale() {
        let points = ScaleNumbers::Range { from: 300.0, to: 850.0 };
        let at = |grid: ScoreGrid| [0, 512, GRID_STEPS].map(|step| grid.threshold_at(step));
        assert_eq!(at(grid(points, false, false)), [Some(300.0), Some(575.0), Some(850.0)]);
        assert_eq!(at(grid(points, true, false)), [Some(850.0), Some(575.0), Some(300.0)]);
        // The ends of log-odds are infinite, and no score is there.
        let odds = grid(ScaleNumbers::LogOdds, false, false);
        assert_eq!(at(odds), [None, Some(0.0), None]);
        assert_eq!([0.0, 1.0].map(|share| odds.cell(share)), [1, GRID_STEPS]);
        assert_eq!(grid(ScaleNumbers::LogOdds, false, true).cell(0.0), 1);
    }
}
