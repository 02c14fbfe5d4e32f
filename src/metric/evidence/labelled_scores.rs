//! Scores of people with a label, gathered for the family `scores`: as a list of rows up to
//! [`EXACT_ROWS`] rows, as counts in cells beyond.
//!
//! The choice depends only on the total number of rows, and cells hold whole numbers and exact
//! sums, so any partition of the rows, merged in any order, gives equal evidence.
//!
//! A cell holds the people of one group and label whose share of the scale falls into it
//! ([`share_cells`](super::share_cells)): their number, weights, and the exact sum of their
//! shares, unless only their order is needed. Scores of one cell are ties. Choice: rows of persons
//! are never counted in cells, because the rows of a person must stay together.

use serde::{Deserialize, Serialize, Serializer};

use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::share_cells::{CellContents, LabelledSide, ShareCell, ShareCells};
use crate::metric::scope::GroupSelection;
use crate::num::additive::Additive;
use crate::num::score_scale::{ScaleNumbers, ScoreScale};

/// From this number of rows on scores are counted in cells.
pub(crate) const EXACT_ROWS: usize = 200_000;

/// The largest number of cells for the scores of a group and a label, except the cells in the
/// tails.
pub(crate) const CELLS_PER_GROUP: u64 = 2 * 65_536;

/// Bytes that a row or cell takes while it is kept, including its copy while it is written.
pub(crate) const BYTES_KEPT: u64 = 160;

/// Bytes that a row or cell takes for each selection of people (a group, all people, or the others
/// of a group), while these are measured in parallel.
pub(crate) const BYTES_MEASURED: u64 = 220;

/// One row: group and label, the bits of the score, the weight in whole units, the key of the
/// person, that of the row. Tuples are written as short lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct LabelledScore(LabelledSide, u64, u64, u64, u64);

/// Labelled scores of all groups under one model and one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabelledScores {
    scale: ScoreScale,
    /// Whether people have weights, and persons several rows.
    pub(crate) basis: CountingUnit,
    /// In no order; empty if there are cells.
    #[serde(serialize_with = "in_order")]
    rows: Vec<LabelledScore>,
    cells: ShareCells,
}

/// Writes rows in an order that does not depend on how they were gathered.
fn in_order<S: Serializer>(rows: &[LabelledScore], serializer: S) -> Result<S::Ok, S::Error> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    serializer.collect_seq(rows)
}

/// A row, or all people of one group and label in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankedScore {
    /// Its rank: higher numbers are nearer to the positive prediction, equal ones are ties.
    pub(crate) place: f64,
    /// The score as a share of the scale, in [0, 1]; the mean for a cell, NaN if only the order is
    /// needed.
    pub(crate) share: f64,
    /// Whether the label is positive.
    pub(crate) positive: bool,
    /// The number of rows; 1 for a row.
    pub(crate) n: u64,
    /// The sum of the weights in units.
    pub(crate) weight: u64,
    /// Sum of the squared weights.
    pub(crate) squares: f64,
    /// Key of the person; has no meaning for a cell.
    pub(crate) person: u64,
    /// Key of the row; has no meaning for a cell.
    pub(crate) row: u64,
}

impl LabelledScores {
    /// Empty scores of this scale.
    pub(crate) fn new(scale: ScoreScale, basis: CountingUnit) -> Self {
        let contents = if basis.weighted { CellContents::Weights } else { CellContents::Shares };
        LabelledScores { scale, basis, rows: Vec::new(), cells: ShareCells::new(contents) }
    }

    /// As [`LabelledScores::new`], if only the order is needed: cells have no sums of shares.
    pub(crate) fn only_ranked(scale: ScoreScale, basis: CountingUnit) -> Self {
        let scores = LabelledScores::new(scale, basis);
        match basis.weighted {
            true => scores,
            false => LabelledScores { cells: ShareCells::new(CellContents::People), ..scores },
        }
    }

    /// Adds a row with a label and a score of the scale. Rows without either, or of weight 0, are
    /// ignored. `keys` are the keys of the person and of the row.
    pub(crate) fn add(
        &mut self,
        group: usize,
        (label, score): (Option<bool>, f64),
        weight: u64,
        keys: (u64, u64),
    ) {
        let Some(positive) = label.filter(|_| !score.is_nan() && weight > 0) else { return };
        let side = LabelledSide(group as u32, positive);
        // Minus zero and zero are the same score.
        let row = LabelledScore(side, (score + 0.0).to_bits(), weight, keys.0, keys.1);
        if self.is_binned() {
            self.add_to_cell(row);
        } else {
            self.rows.push(row);
            self.bin_if_many();
        }
    }

    /// Whether scores are counted in cells.
    pub(crate) fn is_binned(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Whether scores are log-odds.
    pub(crate) fn are_log_odds(&self) -> bool {
        self.scale.numbers == ScaleNumbers::LogOdds
    }

    /// The rows or cells of the selected people, ascending by rank; ties are in an order that does
    /// not depend on how they were gathered.
    pub(crate) fn ascending(&self, selection: GroupSelection) -> Vec<RankedScore> {
        let holds = |group: u32| selection.holds(group as usize);
        let mut rows: Vec<&LabelledScore> = self.rows.iter().filter(|row| holds(row.0.0)).collect();
        rows.sort_unstable();
        let mut entries: Vec<RankedScore> = rows.into_iter().map(|row| self.entry(row)).collect();
        let of_cell = |cell: ShareCell| {
            let (positive, weight) = (cell.side.1, cell.weight.sum());
            RankedScore {
                place: f64::from(cell.number),
                share: cell
                    .share
                    .map_or(f64::NAN, |sum| (sum.to_f64() / weight as f64).clamp(0.0, 1.0)),
                positive,
                n: cell.n,
                weight,
                squares: cell.weight.squares(),
                person: 0,
                row: 0,
            }
        };
        entries.extend(self.cells.cells(holds).into_iter().map(of_cell));
        // The sort is stable: ties keep the order above.
        entries.sort_by(|a, b| a.place.total_cmp(&b.place));
        entries
    }

    fn entry(
        &self,
        &LabelledScore(side, bits, weight, person, row): &LabelledScore,
    ) -> RankedScore {
        let score = f64::from_bits(bits);
        RankedScore {
            place: if self.scale.turned { 0.0 - score } else { score },
            share: self.scale.share(score),
            positive: side.1,
            n: 1,
            weight,
            squares: weight as f64 * weight as f64,
            person,
            row,
        }
    }

    fn bin_if_many(&mut self) {
        let many = self.is_binned() || self.rows.len() >= EXACT_ROWS;
        if many && !self.basis.persons {
            std::mem::take(&mut self.rows).into_iter().for_each(|row| self.add_to_cell(row));
        }
    }

    fn add_to_cell(&mut self, LabelledScore(side, bits, weight, ..): LabelledScore) {
        let score = f64::from_bits(bits);
        self.cells.add(side, (self.scale, score, self.scale.share(score)), weight);
    }
}

impl Additive for LabelledScores {
    fn absorb(&mut self, other: &Self) {
        self.rows.extend(&other.rows);
        self.cells.absorb(&other.cells);
        self.bin_if_many();
    }
}

#[cfg(test)]
mod tests {
    use super::{EXACT_ROWS, LabelledScores};
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::metric::scope::GroupSelection;
    use crate::num::additive::Additive;
    use crate::num::score_scale::{ScaleNumbers, ScoreScale};
    use crate::num::seed::h;

    fn share(i: u64) -> f64 {
        (h(3, i, 0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn add(to: &mut LabelledScores, i: u64) {
        let label = (!i.is_multiple_of(11)).then_some(share(i + 7) < share(i));
        to.add((i % 3) as usize, (label, share(i)), 1 + i % 4, (i % 100, i));
    }

    fn none(persons: bool) -> LabelledScores {
        LabelledScores::new(ScoreScale::default(), CountingUnit { weighted: true, persons })
    }

    /// Any order and any number of parts give the same state, with rows and with cells, around the
    /// number of rows where cells begin.
    #[test]
    fn any_partition_gives_the_same_state() {
        let in_parts = |n: u64, parts: u64, persons: bool| {
            let mut states: Vec<LabelledScores> = (0..parts).map(|_| none(persons)).collect();
            (0..n).for_each(|i| add(&mut states[(h(9, i, 0) % parts) as usize], i));
            let mut all = states.pop().unwrap();
            states.into_iter().rev().for_each(|part| all.absorb(&part));
            all
        };
        for persons in [false, true] {
            let whole = in_parts(700, 1, persons);
            let text = serde_json::to_string(&whole).unwrap();
            for parts in [2, 5] {
                let merged = in_parts(700, parts, persons);
                assert_eq!(serde_json::to_string(&merged).unwrap(), text);
            }
            let read: LabelledScores = serde_json::from_str(&text).unwrap();
            assert_eq!(read.ascending(GroupSelection::All), whole.ascending(GroupSelection::All));
        }
        // Of eleven rows one has no label.
        let many = EXACT_ROWS as u64 / 10 * 11;
        let of = |n: u64| [1, 3].map(|parts| in_parts(n, parts, false));
        let [whole, merged] = of(many);
        assert!(whole.is_binned() && whole == merged);
        let [whole, merged] = of(many - 1);
        assert!(!whole.is_binned() && !merged.is_binned());
        let all = |state: &LabelledScores| state.ascending(GroupSelection::All);
        assert!(all(&whole) == all(&merged));
    }

    #[test]
    fn cells_keep_people_weights_and_mean_scores() {
        let (mut rows, mut cells) = (none(true), none(false));
        let n = EXACT_ROWS as u64 / 10 * 11 + 5000;
        (0..n).for_each(|i| {
            add(&mut rows, i);
            add(&mut cells, i);
        });
        assert!(cells.is_binned() && !rows.is_binned());
        for of in [GroupSelection::One(1), GroupSelection::Rest(1), GroupSelection::All] {
            let sums = |of_state: &LabelledScores| {
                let all = of_state.ascending(of);
                let n: u64 = all.iter().map(|entry| entry.n).sum();
                let weight: u64 = all.iter().map(|entry| entry.weight).sum();
                let squares: f64 = all.iter().map(|entry| entry.squares).sum();
                let score: f64 = all.iter().map(|entry| entry.weight as f64 * entry.share).sum();
                ((n, weight, squares), score)
            };
            let (kept, counted) = (sums(&rows), sums(&cells));
            assert_eq!(kept.0, counted.0);
            assert!((kept.1 - counted.1).abs() < 1e-7, "{} {}", kept.1, counted.1);
        }
        assert!(cells.ascending(GroupSelection::All).len() <= 2 * 3 * 65_536);
    }

    /// The order is that of the user's numbers, also where the shares of two are equal.
    #[test]
    fn scores_of_a_scale_keep_their_order() {
        let scale = ScoreScale { numbers: ScaleNumbers::LogOdds, turned: true };
        let mut scores = LabelledScores::new(scale, CountingUnit::default());
        for (row, score) in [41.0, -40.0, 40.0, -0.0, f64::NAN, 0.0].into_iter().enumerate() {
            scores.add(0, (Some(true), score), 1, (0, row as u64));
        }
        scores.add(0, (Some(true), 1.0), 0, (0, 9));
        scores.add(0, (None, 1.0), 1, (0, 10));
        let all = scores.ascending(GroupSelection::All);
        assert_eq!(all.iter().map(|entry| entry.row).collect::<Vec<_>>(), [0, 2, 3, 5, 1]);
        assert!(all[2].place == all[3].place && all[4].share == 1.0 && scores.are_log_odds());
    }
}
