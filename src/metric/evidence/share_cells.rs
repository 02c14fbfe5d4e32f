//! People by the share of the scale that their score is, in cells: for each group and label their
//! number, what they weigh, and the exact sum of label minus share.
//!
//! There are [`SHARE_CELLS`] cells of equal width, and finer ones near the ends of the scale. Cells
//! whose share is at least 2^-70 away from both ends stand in pages of [`PAGE`], made where
//! somebody is, so that a person is added at an index; the others stand in a map.
//!
//! Memory: 48 bytes a cell, in whole pages; at most 10 MB for each group and label, apart from the
//! map. Files hold only cells with people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::map_as_list;
use crate::metric::evidence::additive::{Additive, additive};
use crate::metric::evidence::filled_cells::FilledCells;
use crate::metric::evidence::units::WeightSums;
use crate::num::fixed::FixedSum;
use crate::num::score_scale::ScoreScale;

/// Cells of equal width over the shares of a scale.
const SHARE_CELLS: f64 = 65_536.0;

/// Nearer to an end of the scale than this cells are finer: 1,024 for each halving of the distance,
/// so that the scores of rare events, and log-odds far from 0, do not become ties.
const TAIL: f64 = 1.0 / 64.0;

/// Cells that are kept together: a halving of the distance.
const PAGE: usize = 1024;

/// Halvings below [`TAIL`] on each side that have pages.
const HALVINGS: usize = 64;

/// The pages of a group and a label.
const PAGES: usize = 2 * HALVINGS + SHARE_CELLS as usize / PAGE;

/// The first cell of the first page.
const FIRST: u32 = halvings(TAIL) - (HALVINGS * PAGE) as u32;

/// Exponent and ten bits of the fraction, which ascend with numbers of 0 and above.
const fn halvings(distance: f64) -> u32 {
    ((distance + 0.0).to_bits() >> 42) as u32
}

/// The cell of a score and its share of the scale; cells ascend with the share.
pub(super) fn cell_of(scale: ScoreScale, (score, share): (f64, f64)) -> u32 {
    const LOWER: u32 = halvings(TAIL);
    if share < TAIL {
        return halvings(share);
    }
    // The distance from the upper end without the loss of digits of 1 - share.
    let above = || ScoreScale { turned: !scale.turned, ..scale }.share(score);
    match Some(share).filter(|share| *share > 0.5).map(|_| above()) {
        Some(above) if above < TAIL => 2 * LOWER + SHARE_CELLS as u32 - halvings(above),
        _ => LOWER + (share * SHARE_CELLS) as u32,
    }
}

/// People of one group and label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct LabelledSide(pub(super) u32, pub(super) bool);

/// People in one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ShareCell {
    pub(super) side: LabelledSide,
    /// Its number; see [`cell_of`].
    pub(super) number: u32,
    pub(super) sums: CellSums,
}

/// How many people there are with what they weigh, and the sum of label minus share, each as often
/// as the row weighs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CellSums {
    pub(super) weight: WeightSums,
    pub(super) excess: FixedSum,
}

additive!(CellSums { weight, excess });

/// The cells of all groups and labels; mergeable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ShareCells {
    /// By group, then by label, no before yes: [`PAGES`] pages, or none where nobody is.
    sides: Vec<Vec<FilledCells<CellSums, PAGE>>>,
    /// Cells beyond the pages.
    #[serde(with = "map_as_list")]
    beyond: BTreeMap<(LabelledSide, u32), CellSums>,
}

additive!(ShareCells { sides, beyond });

impl ShareCells {
    /// Whether nobody is in a cell.
    pub(super) fn is_empty(&self) -> bool {
        self.sides.is_empty() && self.beyond.is_empty()
    }

    /// Adds a row of this weight to the cell of its score; `share` is that of the score.
    pub(super) fn add(
        &mut self,
        side: LabelledSide,
        (scale, score, share): (ScoreScale, f64, f64),
        weight: u64,
    ) {
        let mut sums = CellSums { weight: WeightSums::one(weight), excess: FixedSum::ZERO };
        sums.excess.add_times(f64::from(u8::from(side.1)) - share, weight);
        let number = cell_of(scale, (score, share));
        let at = number.wrapping_sub(FIRST) as usize;
        if at >= PAGES * PAGE {
            return self.beyond.entry((side, number)).or_default().absorb(&sums);
        }
        let place = 2 * side.0 as usize + usize::from(side.1);
        if self.sides.len() <= place {
            self.sides.resize_with(place + 1, Vec::new);
        }
        let pages = &mut self.sides[place];
        if pages.len() < PAGES {
            pages.resize_with(PAGES, FilledCells::default);
        }
        pages[at / PAGE].fill()[at % PAGE].absorb(&sums);
    }

    /// The cells with people of some groups: those of pages ascending by number, then by side; the
    /// few others behind them.
    pub(super) fn cells(&self, holds: impl Fn(u32) -> bool) -> Vec<ShareCell> {
        let side = |place: usize| LabelledSide((place / 2) as u32, place % 2 == 1);
        let sides = self.sides.iter().enumerate().map(|(place, pages)| (side(place), pages));
        let sides: Vec<_> = sides.filter(|(side, _)| holds(side.0)).collect();
        let mut found = Vec::new();
        for page in 0..PAGES {
            let held =
                sides.iter().filter_map(|(side, pages)| Some((*side, pages.get(page)?.all())));
            let held: Vec<(LabelledSide, &[CellSums])> = held.collect();
            for at in 0..PAGE {
                let number = FIRST + (page * PAGE + at) as u32;
                let cells = held.iter().filter_map(|(side, sums)| Some((*side, *sums.get(at)?)));
                let cells = cells.filter(|(_, sums)| sums.weight.people() > 0);
                found.extend(cells.map(|(side, sums)| ShareCell { side, number, sums }));
            }
        }
        let beyond = self.beyond.iter().filter(|((side, _), _)| holds(side.0));
        let beyond = beyond.map(|(&(side, number), &sums)| ShareCell { side, number, sums });
        found.extend(beyond);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, LabelledSide, PAGE, PAGES, ShareCell, ShareCells, cell_of};
    use crate::metric::evidence::additive::Additive;
    use crate::num::score_scale::{ScaleNumbers, ScoreScale};
    use crate::num::seed::{h, u01};

    /// Scores of rare events and log-odds far from 0 have cells of their own, in order.
    #[test]
    fn cells_are_finer_near_the_ends() {
        let cell = |scale: ScoreScale, score| cell_of(scale, (score, scale.share(score)));
        let odds = |turned| ScoreScale { numbers: ScaleNumbers::LogOdds, turned };
        for turned in [false, true] {
            let cells: Vec<u32> =
                (-30_000..30_000).map(|i| cell(odds(turned), f64::from(i) / 100.0)).collect();
            let ascends = |pair: &[u32]| if turned { pair[0] > pair[1] } else { pair[0] < pair[1] };
            assert!(cells.windows(2).all(ascends));
        }
        let plain = |share| cell(ScoreScale::default(), share);
        let shares = [0.0, 1e-9, 1e-6, 1.1e-6, 0.015_6, 0.015_7, 0.5, 0.984_3, 0.984_4, 1.0 - 1e-9];
        assert!(shares.map(plain).is_sorted_by(|a, b| a < b));
        assert!(plain(1.0) > plain(1.0 - 1e-9));
    }

    /// Cells of pages and beyond them hold everybody, in any number of parts, also through a file.
    #[test]
    fn pages_and_the_cells_beyond_hold_everybody() {
        let scale = ScoreScale { numbers: ScaleNumbers::LogOdds, turned: false };
        for weighted in [false, true] {
            let (n, mut sum) = (3000, 0);
            let [mut whole, mut even, mut odd] = [(); 3].map(|()| ShareCells::default());
            for i in 0..n {
                let score = 120.0 * (u01(h(4, i, 0)) - 0.5);
                let side = LabelledSide((i % 3) as u32, i % 7 < 3);
                let weight = if weighted { 1 + i % 4 } else { 1 };
                for part in [&mut whole, if i % 2 == 0 { &mut even } else { &mut odd }] {
                    part.add(side, (scale, score, scale.share(score)), weight);
                }
                sum += weight;
            }
            let read: ShareCells =
                serde_json::from_str(&serde_json::to_string(&odd).unwrap()).unwrap();
            assert_eq!(read, odd);
            even.absorb(&read);
            assert_eq!(even, whole);
            let cells = whole.cells(|_| true);
            assert_eq!(cells.iter().map(|cell| cell.sums.weight.people()).sum::<u64>(), n);
            assert_eq!(cells.iter().map(|cell| cell.sums.weight.sum()).sum::<u64>(), sum);
            let in_pages = FIRST..FIRST + (PAGES * PAGE) as u32;
            let some = whole.cells(|group| group != 1);
            assert!(some.iter().all(|cell| cell.side.0 != 1) && some.len() < cells.len());
            let (pages, beyond): (Vec<ShareCell>, Vec<ShareCell>) =
                some.into_iter().partition(|cell| in_pages.contains(&cell.number));
            assert!(pages.len() > 100 && beyond.len() > 100);
            assert!(pages.is_sorted_by_key(|cell| (cell.number, cell.side)));
        }
        assert!(ShareCells::default().is_empty());
    }
}
