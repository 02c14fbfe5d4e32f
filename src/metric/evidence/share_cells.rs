//! People by the share of the scale that their score is, in cells: for each group and label their
//! number, what they weigh, and the exact sum of label minus share.
//!
//! There are [`SHARE_CELLS`] cells of equal width, and finer ones near the ends of the scale. Cells
//! whose share is at least 2^-70 away from both ends stand in pages of [`PAGE`], made where
//! somebody is, so that a person is added at an index; the others stand in a map.
//!
//! Memory: 32 bytes a cell, with weights 64, in whole pages; at most 6 MB for each group and label,
//! with weights 12 MB, apart from the map. Files hold only cells with people.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::units::WeightSums;
use crate::num::additive::Additive;
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
    pub(super) n: u64,
    pub(super) weight: WeightSums,
    /// Sum of label minus share, each as often as the row weighs.
    pub(super) excess: FixedSum,
}

/// The number of people, and the sum of label minus share.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CellSums {
    n: u64,
    excess: FixedSum,
}

additive!(CellSums { n, excess });

/// Cells that follow one another.
#[derive(Debug, Clone, PartialEq)]
struct CellPage {
    sums: Box<[CellSums]>,
    /// Empty where nobody has a weight.
    weights: Box<[WeightSums]>,
}

impl CellPage {
    fn new(weighted: bool) -> Self {
        CellPage {
            sums: vec![CellSums::default(); PAGE].into(),
            weights: vec![WeightSums::default(); if weighted { PAGE } else { 0 }].into(),
        }
    }

    fn add(&mut self, at: usize, sums: CellSums, weight: WeightSums) {
        self.sums[at].absorb(&sums);
        if let Some(mine) = self.weights.get_mut(at) {
            *mine += weight;
        }
    }

    /// A cell with people.
    fn cell(&self, at: usize) -> Option<(CellSums, WeightSums)> {
        let sums = self.sums[at];
        let weight = || self.weights.get(at).copied().unwrap_or_else(|| WeightSums::ones(sums.n));
        (sums.n > 0).then(|| (sums, weight()))
    }
}

/// The cells of all groups and labels; mergeable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShareCells {
    /// Whether rows have weights; each weighs 1 where they have none.
    weighted: bool,
    /// By group, then by label, no before yes: [`PAGES`] pages, or none where nobody is.
    sides: Vec<Vec<Option<CellPage>>>,
    /// Cells beyond the pages.
    beyond: BTreeMap<(LabelledSide, u32), (CellSums, WeightSums)>,
}

impl ShareCells {
    /// Nobody yet.
    pub(super) fn new(weighted: bool) -> Self {
        ShareCells { weighted, sides: Vec::new(), beyond: BTreeMap::new() }
    }

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
        let mut excess = FixedSum::ZERO;
        excess.add_times(f64::from(u8::from(side.1)) - share, weight);
        let weights = if self.weighted { WeightSums::one(weight) } else { WeightSums::default() };
        self.put((side, cell_of(scale, (score, share))), CellSums { n: 1, excess }, weights);
    }

    #[inline]
    fn put(&mut self, (side, number): (LabelledSide, u32), sums: CellSums, weight: WeightSums) {
        let at = number.wrapping_sub(FIRST) as usize;
        if at >= PAGES * PAGE {
            let (mine, weights) = self.beyond.entry((side, number)).or_default();
            mine.absorb(&sums);
            *weights += weight;
            return;
        }
        let place = 2 * side.0 as usize + usize::from(side.1);
        if self.sides.len() <= place {
            self.sides.resize_with(place + 1, Vec::new);
        }
        let pages = &mut self.sides[place];
        if pages.is_empty() {
            pages.resize_with(PAGES, || None);
        }
        let page = pages[at / PAGE].get_or_insert_with(|| CellPage::new(self.weighted));
        page.add(at % PAGE, sums, weight);
    }

    /// The cells with people of some groups: those of pages ascending by number, then by side; the
    /// few others behind them.
    pub(super) fn cells(&self, holds: impl Fn(u32) -> bool) -> Vec<ShareCell> {
        let side = |place: usize| LabelledSide((place / 2) as u32, place % 2 == 1);
        let sides: Vec<(LabelledSide, &Vec<Option<CellPage>>)> = (0..self.sides.len())
            .map(|place| (side(place), &self.sides[place]))
            .filter(|(side, pages)| !pages.is_empty() && holds(side.0))
            .collect();
        let mut found = Vec::new();
        for number in 0..PAGES {
            let pages: Vec<(LabelledSide, &CellPage)> = sides
                .iter()
                .filter_map(|(side, pages)| Some((*side, pages[number].as_ref()?)))
                .collect();
            for at in 0..if pages.is_empty() { 0 } else { PAGE } {
                let number = FIRST + (number * PAGE + at) as u32;
                found.extend(pages.iter().filter_map(|(side, page)| {
                    let (sums, weight) = page.cell(at)?;
                    let CellSums { n, excess } = sums;
                    Some(ShareCell { side: *side, number, n, weight, excess })
                }));
            }
        }
        let beyond = self.beyond.iter().filter(|((side, _), _)| holds(side.0));
        found.extend(beyond.map(|(&(side, number), &(sums, weights))| {
            let weight = if self.weighted { weights } else { WeightSums::ones(sums.n) };
            ShareCell { side, number, n: sums.n, weight, excess: sums.excess }
        }));
        found
    }
}

impl Additive for ShareCells {
    fn absorb(&mut self, other: &Self) {
        for cell in other.cells(|_| true) {
            let weight = if self.weighted { cell.weight } else { WeightSums::default() };
            let sums = CellSums { n: cell.n, excess: cell.excess };
            self.put((cell.side, cell.number), sums, weight);
        }
    }
}

/// A cell as files hold it: its number, people, sum of label minus share, and what people weigh.
type WrittenCell = (u32, u64, FixedSum, Option<WeightSums>);

/// All cells as files hold them, by group and label.
#[derive(Serialize, Deserialize)]
struct WrittenCells {
    weighted: bool,
    sides: Vec<(LabelledSide, Vec<WrittenCell>)>,
}

impl Serialize for ShareCells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sides: BTreeMap<LabelledSide, Vec<WrittenCell>> = BTreeMap::new();
        for cell in self.cells(|_| true) {
            let weight = self.weighted.then_some(cell.weight);
            let written = (cell.number, cell.n, cell.excess, weight);
            sides.entry(cell.side).or_default().push(written);
        }
        WrittenCells { weighted: self.weighted, sides: sides.into_iter().collect() }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ShareCells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenCells::deserialize(deserializer)?;
        let mut all = ShareCells::new(written.weighted);
        for (side, cells) in written.sides {
            if side.0 > u32::from(u16::MAX) {
                return Err(D::Error::custom("scores of a group that no attribute has"));
            }
            for (number, n, excess, weight) in cells {
                all.put((side, number), CellSums { n, excess }, weight.unwrap_or_default());
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, LabelledSide, PAGE, PAGES, ShareCell, ShareCells, cell_of};
    use crate::num::additive::Additive;
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
            let [mut whole, mut even, mut odd] = [(); 3].map(|()| ShareCells::new(weighted));
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
            assert_eq!(cells.iter().map(|cell| cell.n).sum::<u64>(), n);
            assert_eq!(cells.iter().map(|cell| cell.weight.sum()).sum::<u64>(), sum);
            let in_pages = FIRST..FIRST + (PAGES * PAGE) as u32;
            let some = whole.cells(|group| group != 1);
            assert!(some.iter().all(|cell| cell.side.0 != 1) && some.len() < cells.len());
            let (pages, beyond): (Vec<ShareCell>, Vec<ShareCell>) =
                some.into_iter().partition(|cell| in_pages.contains(&cell.number));
            assert!(pages.len() > 100 && beyond.len() > 100);
            assert!(pages.is_sorted_by_key(|cell| (cell.number, cell.side)));
        }
        assert!(ShareCells::new(false).is_empty());
    }
}
