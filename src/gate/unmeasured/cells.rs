//! Where the people who were not measured could be: on which side of a value, in which cells.

use std::collections::BTreeSet;

use crate::gate::people::{
    Cells, MeasuredCells, PeopleTables, StatePeople, confusion_cell, switch_cell,
};
use crate::gate::reason::Lack;
use crate::metric::evidence::person::ECCM_CELLS;

/// People of one kind who were not measured, and the cells of a side in which each of them may be.
/// They may also be in none.
#[derive(Debug, Clone)]
pub(super) struct UnknownPeople {
    pub(super) lack: Lack,
    pub(super) rows: u64,
    pub(super) weight: f64,
    /// How often a row counts there: once for each direction of a total.
    pub(super) times: u64,
    pub(super) places: Vec<(usize, usize)>,
}

/// The sides of a value and who could be on them.
#[derive(Default)]
pub(super) struct Arrangement {
    pub(super) sides: Vec<KnownPeople>,
    pub(super) unknown: Vec<UnknownPeople>,
    /// Whether a person with a group counts once for each of several counterfactuals.
    pub(super) of_decisions: bool,
}

/// The known people of a side, by the cells of its value: rows, weights, and how precise a row is.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownPeople {
    pub(super) rows: Cells,
    pub(super) weights: [f64; ECCM_CELLS],
    pub(super) effective: Option<f64>,
}

/// The people of a group who are on a side of a value.
struct PartOfSide<'a> {
    group: &'a str,
    people: StatePeople,
    /// How often a row counts there.
    repeats: u64,
    /// Those of them who are measured.
    measured: MeasuredCells,
}

/// The people on a side of a value, and how precise a row is.
pub(super) type SideOfPeople = (StatePeople, Option<f64>);

/// The directions, from one group to another, of a side of a value, and its effective size where
/// that is not its number of people.
pub(super) type SideOfDirections<'a> = (Vec<(&'a str, &'a str)>, Option<f64>);

impl Arrangement {
    /// The sides of a value of the rows as they are.
    pub(super) fn of_rows(of: &PeopleTables<'_>, sides: &[SideOfPeople]) -> Self {
        let cells = |label: usize, predicted: usize| match predicted {
            0 => vec![confusion_cell(label, false), confusion_cell(label, true)],
            _ => vec![confusion_cell(label, predicted == 2)],
        };
        let side = |(people, effective): &SideOfPeople| {
            let measured = people.measured();
            let all = PartOfSide { group: "", people: *people, repeats: 1, measured };
            (vec![all], *effective)
        };
        Arrangement::new(of, sides.iter().map(side).collect(), cells)
    }

    /// The sides of a value of counterfactuals: one side of some directions each.
    pub(super) fn of_directions(
        of: &PeopleTables<'_>,
        sides: &[SideOfDirections<'_>],
    ) -> Option<Self> {
        let cells = |label: usize, predicted: usize| {
            let before: &[bool] = match predicted {
                0 => &[false, true],
                1 => &[false],
                _ => &[true],
            };
            let each = before.iter().flat_map(|&before| [false, true].map(|after| (before, after)));
            each.map(|(before, after)| switch_cell(label, before, after)).collect::<Vec<_>>()
        };
        let mut all = Vec::new();
        for (directions, effective) in sides {
            let parts = directions.iter().map(|&(group, to)| {
                let people = of.people("group", group)?;
                let (repeats, measured) = (of.repeats(group, to), of.moved(group, to)?);
                Some(PartOfSide { group, people, repeats, measured })
            });
            all.push((parts.collect::<Option<Vec<_>>>()?, *effective));
        }
        Some(Arrangement::new(of, all, cells))
    }

    /// The sides of a value, each of some parts, with `cells` by label and prediction, each
    /// unknown 0, no 1 or yes 2.
    fn new(
        of: &PeopleTables<'_>,
        sides: Vec<(Vec<PartOfSide<'_>>, Option<f64>)>,
        cells: impl Fn(usize, usize) -> Vec<usize>,
    ) -> Self {
        let mut all = Arrangement::default();
        for (side, (parts, effective)) in sides.iter().enumerate() {
            let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
            for PartOfSide { people, repeats, measured, .. } in parts {
                for cell in 0..ECCM_CELLS {
                    rows[cell] += measured.0[cell];
                    weights[cell] += measured.1[cell];
                }
                for i in 0..9 {
                    let cells = cells(i / 3, i % 3);
                    let (lack, there) = match i % 3 {
                        0 => (Lack::Score, (0, 0.0)),
                        _ => {
                            let sum = cells.iter().map(|&cell| measured.0[cell]).sum::<u64>();
                            let weight = cells.iter().map(|&cell| measured.1[cell]).sum::<f64>();
                            (Lack::Counterfactual, (sum, weight))
                        }
                    };
                    let lacking = (
                        (people.rows[i] * repeats).saturating_sub(there.0),
                        (people.weights[i] * *repeats as f64 - there.1).max(0.0),
                    );
                    let places = cells.into_iter().map(|cell| (side, cell)).collect();
                    all.lacks(lack, lacking, 1, places);
                }
            }
            all.sides.push(KnownPeople { rows, weights, effective: *effective });
        }
        // In a total each direction of a group counts.
        let targets = sides.iter().map(|(parts, _)| {
            let groups: BTreeSet<&str> = parts.iter().map(|part| part.group).collect();
            parts.len() / groups.len().max(1)
        });
        let times = targets.max().unwrap_or(1) as u64;
        let mut parts = sides.iter().flat_map(|(parts, _)| parts);
        all.of_decisions = times > 1 || parts.any(|part| part.repeats > 1);
        // A person without a group may be on any side.
        for i in 0..9 {
            let cells = cells(i / 3, i % 3);
            let places = (0..sides.len())
                .flat_map(|side| cells.iter().map(move |cell| (side, *cell)))
                .collect();
            all.lacks(Lack::Group, (of.none.rows[i], of.none.weights[i]), times, places);
        }
        all
    }

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
}
