//! Where the counterfactuals of people come from when they are explained: rows, rows of the worlds
//! of a graph-uncertain set, or worlds that move encoded columns.

use crate::data::FeatureRows;
use crate::data::rows::aligned::{CounterfactualReader, NO_ROW, ScoreReader, WorldRowReader};
use crate::stage::count::evidence::ScoredGroup;
use crate::stage::score::encoded_worlds::{EncodedModelRow, EncodedWorlds};

/// Where the counterfactuals of people come from.
pub(crate) enum SwitchSource<'a> {
    /// A row for each.
    Rows,
    /// Rows of worlds.
    WorldRows(WorldRowSwitches),
    /// Worlds that move the encoded columns of a model.
    Expected(ExpectedSwitches<'a>),
}

/// The rows of worlds, open for reading.
pub(crate) struct WorldRowSwitches {
    pub(crate) made: CounterfactualReader,
    pub(crate) reached: WorldRowReader,
    pub(crate) scores: ScoreReader,
    /// Graphs; those that were fitted on all training rows come after them and do not count.
    pub(crate) n_worlds: usize,
}

/// Worlds with expected levels.
pub(crate) struct ExpectedSwitches<'a> {
    pub(crate) worlds: EncodedWorlds<'a>,
    /// For each declared group, then world, whether it saw a row of the group.
    pub(crate) saw: Vec<Vec<bool>>,
}

impl ExpectedSwitches<'_> {
    /// The worlds in which people of a group have a counterfactual as members of another.
    fn seen(&self, (from, to): (usize, usize)) -> impl Iterator<Item = usize> + '_ {
        let both = self.saw[from].iter().zip(&self.saw[to]).enumerate();
        both.filter(|(_, (from, to))| **from && **to).map(|(world, _)| world)
    }
}

/// The counterfactuals of a row group by their keys.
pub(crate) enum KeyedSwitches<'a> {
    /// A key is a counterfactual.
    Rows(&'a ScoredGroup),
    /// A key has a row in each world: the first row of each key, the row of each world, the scores
    /// of the rows, and the numbers of all graphs and of those that count.
    Worlds(Vec<usize>, Vec<u16>, Vec<f64>, [usize; 2]),
    /// A key has expected levels in each world: the rows of the row group.
    Expected(&'a ExpectedSwitches<'a>, FeatureRows),
}

impl KeyedSwitches<'_> {
    /// Of the counterfactuals of a key the number, the place and the score; none with expected
    /// levels, whose scores are computed where they are needed.
    fn of_key(&self, key: usize) -> Vec<(u64, usize, f64)> {
        match self {
            KeyedSwitches::Rows(group) => {
                vec![(u64::from(group.keys.cf_index[key]), key, group.scores_cf[key])]
            }
            KeyedSwitches::Worlds(starts, reached, scores, [n, n_worlds]) => {
                let of_key = &reached[key * n..(key + 1) * n];
                let rows = (0_u64..).zip(&of_key[..*n_worlds]).filter(|(_, row)| **row != NO_ROW);
                rows.map(|(world, row)| {
                    let place = starts[key] + usize::from(*row);
                    (world, place, scores.get(place).copied().unwrap_or(f64::NAN))
                })
                .collect()
            }
            KeyedSwitches::Expected(..) => Vec::new(),
        }
    }

    /// Of the counterfactuals of row `i` in a direction, with these keys, the one that `draw` takes
    /// by the numbers of those that decide: its place and its score.
    pub(crate) fn one(
        &self,
        (i, keys): (usize, impl Iterator<Item = usize>),
        direction: (usize, usize),
        decides: impl Fn(f64) -> bool,
        draw: impl Fn(Vec<u64>) -> Option<usize>,
    ) -> Option<(usize, f64)> {
        if let KeyedSwitches::Expected(of, rows) = self {
            // A key says that the person has a counterfactual.
            keys.last()?;
            let mut row = EncodedModelRow::default();
            if !of.worlds.encode(rows, i, &mut row) {
                return None;
            }
            let worlds: Vec<usize> = of.seen(direction).collect();
            let world = worlds[draw(worlds.iter().map(|world| *world as u64).collect())?];
            let changes = of.worlds.changes(&mut row, direction, world);
            let mut asked = row.model;
            let changed = changes.iter().flat_map(|change| &change.of_model);
            changed.for_each(|&(column, change)| asked[column] += change);
            let score = of.worlds.score(&asked);
            return decides(score).then_some((world, score));
        }
        let valid: Vec<(u64, usize, f64)> =
            keys.flat_map(|key| self.of_key(key)).filter(|(.., score)| decides(*score)).collect();
        let at = draw(valid.iter().map(|of| of.0).collect())?;
        let (_, counterfactual, score) = valid[at];
        Some((counterfactual, score))
    }
}
