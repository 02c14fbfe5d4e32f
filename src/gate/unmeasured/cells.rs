//! Where the people who were not measured could stand: on which side of a value, in which cells.

use std::collections::BTreeSet;

use super::value::Cells;
use crate::gate::people::{PeopleTables, StatePeople, confusion_cell, switch_cell};
use crate::gate::reason::Lack;
use crate::metric::evidence::person::ECCM_CELLS;

/// Alike people who were not measured, and the cells in which each of them may stand: that of a
/// side. They may also stand nowhere.
#[derive(Debug, Clone)]
pub(super) struct UnknownPeople {
    pub(super) lack: Lack,
    pub(super) rows: u64,
    pub(super) weight: f64,
    /// How often a row counts there: once for each direction of a total.
    pub(super) times: u64,
    pub(super) places: Vec<(usize, usize)>,
}

/// The sides of a value and who could stand on them.
#[derive(Default)]
pub(super) struct Arrangement {
    pub(super) sides: Vec<KnownPeople>,
    pub(super) unknown: Vec<UnknownPeople>,
}

/// The known people of a side, by the cells of its value: rows, weights, and how sure a row is.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownPeople {
    pub(super) rows: Cells,
    pub(super) weights: [f64; ECCM_CELLS],
    pub(super) effective: Option<f64>,
}

/// The people on a side of a value, and how sure a row is.
pub(super) type SideOfPeople = (StatePeople, Option<f64>);

/// The directions, from one group to another, of a side of a value, and its effective size where
/// that is not its number of people.
pub(super) type SideOfDirections<'a> = (Vec<(&'a str, &'a str)>, Option<f64>);

impl Arrangement {
    fn lacks(
        &mut self,
        lack: Lack,
        (rows, weight): (u64, f64),
        times: u64,
        places: Vec<(usize, usize)>,
    ) {
        if rows > 0 {
            self.unknown.push(UnknownPeople { lack, rows, weight, times, places });
        }
    }

    /// Those without a group, who may stand on any side, there in the cells that `cells` gives for
    /// their label and prediction.
    fn lack_groups(
        &mut self,
        of: &PeopleTables<'_>,
        times: u64,
        cells: impl Fn(usize, usize) -> Vec<usize>,
    ) {
        let none = of.none;
        for i in 0..9 {
            let cells = cells(i / 3, i % 3);
            let places = (0..self.sides.len())
                .flat_map(|side| cells.iter().map(move |cell| (side, *cell)))
                .collect();
            self.lacks(Lack::Group, (none.rows[i], none.weights[i]), times, places);
        }
    }

    /// The sides of a value of the rows as they are.
    pub(super) fn of_rows(of: &PeopleTables<'_>, sides: &[SideOfPeople]) -> Self {
        let mut all = Arrangement::default();
        let cells = |label: usize, predicted: usize| match predicted {
            0 => vec![confusion_cell(label, false), confusion_cell(label, true)],
            _ => vec![confusion_cell(label, predicted == 2)],
        };
        for (side, (people, effective)) in sides.iter().enumerate() {
            let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
            for i in 0..9 {
                let (label, predicted) = (i / 3, i % 3);
                let own = (people.rows[i], people.weights[i]);
                if predicted == 0 {
                    let places = cells(label, 0).into_iter().map(|cell| (side, cell)).collect();
                    all.lacks(Lack::Score, own, 1, places);
                } else {
                    let cell = confusion_cell(label, predicted == 2);
                    (rows[cell], weights[cell]) = own;
                }
            }
            all.sides.push(KnownPeople { rows, weights, effective: *effective });
        }
        all.lack_groups(of, 1, cells);
        all
    }

    /// The sides of a value of counterfactuals: one side of some directions each.
    pub(super) fn of_directions(
        of: &PeopleTables<'_>,
        sides: &[SideOfDirections<'_>],
    ) -> Option<Self> {
        let mut all = Arrangement::default();
        let after = |label: usize, predicted: usize| {
            let before: &[bool] = match predicted {
                0 => &[false, true],
                1 => &[false],
                _ => &[true],
            };
            let each = before.iter().flat_map(|&before| [false, true].map(|after| (before, after)));
            each.map(|(before, after)| switch_cell(label, before, after)).collect::<Vec<_>>()
        };
        for (side, (directions, effective)) in sides.iter().enumerate() {
            let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
            for (from, to) in directions {
                let own = of.people("group", from)?;
                let (moved, moved_weights) = of.moved(from, to)?;
                let repeats = of.repeats(from, to);
                for cell in 0..ECCM_CELLS {
                    rows[cell] += moved[cell];
                    weights[cell] += moved_weights[cell];
                }
                for i in 0..9 {
                    let (label, predicted) = (i / 3, i % 3);
                    let cells = after(label, predicted);
                    let (lack, there) = match predicted {
                        0 => (Lack::Score, (0, 0.0)),
                        _ => {
                            let sum = cells.iter().map(|&cell| moved[cell]).sum::<u64>();
                            let weight = cells.iter().map(|&cell| moved_weights[cell]).sum::<f64>();
                            (Lack::Counterfactual, (sum, weight))
                        }
                    };
                    let lacking = (
                        (own.rows[i] * repeats).saturating_sub(there.0),
                        (own.weights[i] * repeats as f64 - there.1).max(0.0),
                    );
                    let places = cells.into_iter().map(|cell| (side, cell)).collect();
                    all.lacks(lack, lacking, 1, places);
                }
            }
            all.sides.push(KnownPeople { rows, weights, effective: *effective });
        }
        // Of a total each of their directions counts.
        let targets = sides.iter().map(|(directions, _)| {
            let from: BTreeSet<&str> = directions.iter().map(|(from, _)| *from).collect();
            directions.len() / from.len().max(1)
        });
        all.lack_groups(of, targets.max().unwrap_or(1) as u64, after);
        Some(all)
    }
}
