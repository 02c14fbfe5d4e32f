//! People by their score as a share of the scale, in cells: for each group and label their number,
//! their weight, and the exact sum of the shares.
//!
//! There are [`SHARE_CELLS`] cells of equal width, and finer ones near the ends of the scale. Cells
//! whose share is at least 2^-70 away from both ends are in pages of [`PAGE`] cells, so that a
//! person is added at an index; pages exist only if they hold people. The other cells are in a map.
//!
//! Memory: 16 bytes a cell, with weights 64, if only the order of the scores is needed 4, in whole
//! pages; at most 3 MB for each group and label, with weights 12 MB, without the map. Files hold
//! only cells with people.
//!
//! Successive rows are in different cells, so the time for a row is the time to load its cell from
//! memory: small cells are faster.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::evidence::units::WeightSums;
use crate::num::additive::Additive;
use crate::num::fixed::FixedSum;
use crate::num::score_scale::ScoreScale;

/// Cells of equal width over the shares of a scale.
const SHARE_CELLS: f64 = 65_536.0;

/// Below this distance from an end of the scale cells are finer: 1,024 for each halving of the
/// distance, so that the scores of rare events, and log-odds far from 0, do not become ties.
const TAIL: f64 = 1.0 / 64.0;

/// The number of cells of a page: a halving of the distance.
const PAGE: usize = 1024;

/// The number of halvings below [`TAIL`] on each side that have pages.
const HALVINGS: usize = 64;

/// The pages of a group and a label.
const PAGES: usize = 2 * HALVINGS + SHARE_CELLS as usize / PAGE;

/// The first cell of the first page.
const FIRST: u32 = halvings(TAIL) - (HALVINGS * PAGE) as u32;

/// The exponent and ten bits of the fraction, which are monotone for numbers of 0 and above.
const fn halvings(distance: f64) -> u32 {
    ((distance + 0.0).to_bits() >> 42) as u32
}

/// The cell of a score and its share of the scale; a larger share has no lower cell.
pub(super) fn cell_of(scale: ScoreScale, (score, share): (f64, f64)) -> u32 {
    const LOWER: u32 = halvings(TAIL);
    if share < TAIL {
        return halvings(share);
    }
    // The distance from the upper end, more precise than 1 - share.
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
    /// The number of the cell; see [`cell_of`].
    pub(super) number: u32,
    pub(super) n: u64,
    pub(super) weight: WeightSums,
    /// The weighted sum of the shares; none if only the order is needed.
    pub(super) share: Option<FixedSum>,
}

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CellContents {
    /// The number of people: enough for the order of scores if each row has weight 1.
    People,
    /// Also the sum of their shares.
    Shares,
    /// Also their weights.
    Weights,
}

/// The number of people in the upper 40 bits and the sum of their shares in units of 2^-52 in the
/// lower bits, so that adding a row is one addition. Holds fewer than 2^36 rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CellSums(u128);

impl CellSums {
    const SHARE_BITS: u32 = 88;

    fn new(n: u64, share: FixedSum) -> Self {
        CellSums(u128::from(n) << Self::SHARE_BITS | share.units() as u128)
    }

    fn n(self) -> u64 {
        (self.0 >> Self::SHARE_BITS) as u64
    }

    fn share(self) -> FixedSum {
        FixedSum::from_units((self.0 & ((1 << Self::SHARE_BITS) - 1)) as i128)
    }
}

/// The weight of the people of a cell, and the weighted sum of their shares.
type CellWeights = (WeightSums, FixedSum);

/// Successive cells.
#[derive(Debug, Clone, PartialEq)]
enum CellPage {
    /// The lower 32 bits of the numbers of people; a map holds the upper bits, if there are any.
    People(Box<[u32]>),
    Shares(Box<[CellSums]>),
    /// Without shares in the first part.
    Weights(Box<[(CellSums, CellWeights)]>),
}

impl CellPage {
    fn new(contents: CellContents) -> Self {
        match contents {
            CellContents::People => CellPage::People(vec![0; PAGE].into()),
            CellContents::Shares => CellPage::Shares(vec![CellSums::default(); PAGE].into()),
            CellContents::Weights => CellPage::Weights(vec![Default::default(); PAGE].into()),
        }
    }

    /// Adds people to a cell; returns the number that does not fit, as a multiple of 2^32.
    #[inline]
    fn add(&mut self, at: usize, n: u64, (weight, share): CellWeights) -> u64 {
        match self {
            CellPage::People(cells) => {
                let sum = u64::from(cells[at]) + n;
                cells[at] = sum as u32;
                return sum >> 32 << 32;
            }
            CellPage::Shares(cells) => cells[at].0 += CellSums::new(n, share).0,
            CellPage::Weights(cells) => add_weighing(&mut cells[at], n, (weight, share)),
        }
        0
    }

    /// A cell with people.
    fn cell(&self, at: usize) -> Option<(CellSums, CellWeights)> {
        let (sums, weights) = match self {
            CellPage::People(cells) => {
                (CellSums::new(u64::from(cells[at]), FixedSum::ZERO), CellWeights::default())
            }
            CellPage::Shares(cells) => (cells[at], CellWeights::default()),
            CellPage::Weights(cells) => cells[at],
        };
        (sums.n() > 0).then_some((sums, weights))
    }
}

/// Adds people with weights.
fn add_weighing(cell: &mut (CellSums, CellWeights), n: u64, (weight, share): CellWeights) {
    cell.0.0 += CellSums::new(n, FixedSum::ZERO).0;
    cell.1.0 += weight;
    cell.1.1 += share;
}

/// The cells of all groups and labels; mergeable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShareCells {
    contents: CellContents,
    /// By group, then by label, no before yes: [`PAGES`] pages, or none if there are no people.
    sides: Vec<Vec<Option<CellPage>>>,
    /// Cells beyond the pages.
    beyond: BTreeMap<(LabelledSide, u32), (CellSums, CellWeights)>,
}

impl ShareCells {
    /// Empty.
    pub(super) fn new(contents: CellContents) -> Self {
        ShareCells { contents, sides: Vec::new(), beyond: BTreeMap::new() }
    }

    /// Whether all cells are empty.
    pub(super) fn is_empty(&self) -> bool {
        self.sides.is_empty() && self.beyond.is_empty()
    }

    /// Adds a row with its weight to the cell of its score; `share` is the score as a share.
    pub(super) fn add(
        &mut self,
        side: LabelledSide,
        (scale, score, share): (ScoreScale, f64, f64),
        weight: u64,
    ) {
        let number = cell_of(scale, (score, share));
        let mut sum = FixedSum::ZERO;
        if self.contents != CellContents::People {
            sum.add_times(share.clamp(0.0, 1.0), weight);
        }
        self.put((side, number), 1, (WeightSums::one(weight), sum));
    }

    /// Adds people to a cell.
    #[inline]
    fn put(&mut self, (side, number): (LabelledSide, u32), n: u64, weights: CellWeights) {
        let at = number.wrapping_sub(FIRST) as usize;
        let mut rest = n;
        if at < PAGES * PAGE {
            let place = 2 * side.0 as usize + usize::from(side.1);
            if self.sides.len() <= place {
                self.sides.resize_with(place + 1, Vec::new);
            }
            let pages = &mut self.sides[place];
            if pages.is_empty() {
                pages.resize_with(PAGES, || None);
            }
            let page = pages[at / PAGE].get_or_insert_with(|| CellPage::new(self.contents));
            rest = page.add(at % PAGE, n, weights);
        }
        if rest > 0 {
            let cell = self.beyond.entry((side, number)).or_default();
            match self.contents {
                CellContents::People | CellContents::Shares => {
                    cell.0.0 += CellSums::new(rest, weights.1).0;
                }
                CellContents::Weights => add_weighing(cell, rest, weights),
            }
        }
    }

    /// A cell from its stored form.
    fn cell(
        &self,
        (side, number): (LabelledSide, u32),
        (sums, (weight, share)): (CellSums, CellWeights),
    ) -> ShareCell {
        let n = sums.n();
        let (weight, share) = match self.contents {
            CellContents::People => (WeightSums::ones(n), None),
            CellContents::Shares => (WeightSums::ones(n), Some(sums.share())),
            CellContents::Weights => (weight, Some(share)),
        };
        ShareCell { side, number, n, weight, share }
    }

    /// The cells with people of some groups: first those of pages, ascending by number, then by
    /// side; then the few others.
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
                found.extend(
                    pages.iter().filter_map(|(side, page)| {
                        Some(self.cell((*side, number), page.cell(at)?))
                    }),
                );
            }
        }
        let beyond = self.beyond.iter().filter(|((side, _), _)| holds(side.0));
        found.extend(beyond.map(|(&at, &kept)| self.cell(at, kept)));
        found
    }
}

impl Additive for ShareCells {
    fn absorb(&mut self, other: &Self) {
        for ShareCell { side, number, n, weight, share } in other.cells(|_| true) {
            self.put((side, number), n, (weight, share.unwrap_or_default()));
        }
    }
}

/// A cell in a file: its number, the number of people, the sum of the shares, and the weights.
type WrittenCell = (u32, u64, Option<FixedSum>, Option<WeightSums>);

/// All cells in a file, by group and label.
#[derive(Serialize, Deserialize)]
struct WrittenCells {
    contents: CellContents,
    sides: Vec<(LabelledSide, Vec<WrittenCell>)>,
}

impl Serialize for ShareCells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sides: BTreeMap<LabelledSide, Vec<WrittenCell>> = BTreeMap::new();
        for cell in self.cells(|_| true) {
            let weight = (self.contents == CellContents::Weights).then_some(cell.weight);
            let written = (cell.number, cell.n, cell.share, weight);
            sides.entry(cell.side).or_default().push(written);
        }
        WrittenCells { contents: self.contents, sides: sides.into_iter().collect() }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ShareCells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenCells::deserialize(deserializer)?;
        let (mut all, mut people) = (ShareCells::new(written.contents), 0_u64);
        for (side, cells) in written.sides {
            if side.0 > u32::from(u16::MAX) {
                return Err(D::Error::custom("scores of a group that no attribute has"));
            }
            for (number, n, share, weight) in cells {
                let weighs = match (written.contents, weight) {
                    (CellContents::Weights, Some(weight)) if weight.people() == n => weight.sum(),
                    (CellContents::People | CellContents::Shares, None) => n,
                    _ => return Err(D::Error::custom("a cell has the weights of other rows")),
                };
                people = people.saturating_add(n);
                let shares = 0..=i128::from(weighs) << 52;
                let has_share = written.contents != CellContents::People;
                let is_share = share.is_none_or(|share| shares.contains(&share.units()));
                if people >= 1 << 36 || share.is_some() != has_share || !is_share {
                    return Err(D::Error::custom("shares that no rows have"));
                }
                let of = (weight.unwrap_or_default(), share.unwrap_or_default());
                all.put((side, number), n, of);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::{CellContents, FIRST, LabelledSide, PAGE, PAGES, ShareCell, ShareCells, cell_of};
    use crate::num::additive::Additive;
    use crate::num::score_scale::{ScaleNumbers, ScoreScale};
    use crate::num::seed::{h, u01};

    /// Scores of rare events and log-odds far from 0 have separate cells, in order.
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

    /// Cells in pages and in the map hold all people, in any number of parts, also after they are
    /// written and read.
    #[test]
    fn pages_and_the_map_hold_all_people() {
        let scale = ScoreScale { numbers: ScaleNumbers::LogOdds, turned: false };
        for contents in [CellContents::People, CellContents::Shares, CellContents::Weights] {
            let (n, mut sum) = (3000, 0);
            let [mut whole, mut even, mut odd] = [(); 3].map(|()| ShareCells::new(contents));
            for i in 0..n {
                let score = 120.0 * (u01(h(4, i, 0)) - 0.5);
                let side = LabelledSide((i % 3) as u32, i % 7 < 3);
                let weight = if contents == CellContents::Weights { 1 + i % 4 } else { 1 };
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
        assert!(ShareCells::new(CellContents::Shares).is_empty());
    }

    /// A cell can hold more people than fit into 32 bits, also in parts.
    #[test]
    fn many_people_fit_into_a_cell() {
        let (side, number) = (LabelledSide(0, true), FIRST + 7);
        let parts = [3 << 31, 5, 1 << 31, u64::from(u32::MAX)];
        let of = |parts: &[u64]| {
            let mut all = ShareCells::new(CellContents::People);
            parts.iter().for_each(|n| all.put((side, number), *n, Default::default()));
            all
        };
        let (mut one, other, whole) = (of(&parts[..1]), of(&parts[1..]), of(&parts));
        one.absorb(&other);
        assert_eq!(one, whole);
        let n: u64 = whole.cells(|_| true).iter().map(|cell| cell.n).sum();
        assert_eq!(n, parts.iter().sum::<u64>());
    }
}
