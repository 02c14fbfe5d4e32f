//! Where the counterfactuals of people come from when they are explained: rows, rows of the worlds
//! of a graph-uncertain set, or worlds that move encoded columns.

use crate::data::FeatureRows;
use crate::stage::count::evidence::ScoredGroup;
use crate::stage::score::encoded_worlds::{EncodedModelRow, EncodedWorlds};
use crate::stage::score::worlds::{KeyedWorldRows, WorldRows};

/// Where the counterfactuals of people come from.
pub(crate) enum SwitchSource<'a> {
    /// A row for each.
    Rows,
    /// Rows of worlds, and how many graphs count: those that were fitted on all training rows come
    /// after them and do not.
    WorldRows(WorldRows, usize),
    /// Worlds that move the encoded columns of a model.
    Expected(ExpectedSwitches<'a>),
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
    /// A key has a row in each world, of which this many count.
    Worlds(KeyedWorldRows, usize),
    /// A key has expected levels in each world: the rows of the row group.
    Expected(&'a ExpectedSwitches<'a>, FeatureRows),
}

impl KeyedSwitches<'_> {
    /// For the counterfactuals of a key, the number, the place and the score; none with expected
    /// levels, whose scores are computed where they are needed.
    fn of_key(&self, key: usize) -> Vec<(u64, usize, f64)> {
        match self {
            KeyedSwitches::Rows(group) => {
                vec![(u64::from(group.keys.cf_index[key]), key, group.scores_cf[key])]
            }
            KeyedSwitches::Worlds(rows, counted) => {
                let counted = rows.of_key(key).take_while(|(world, ..)| world < counted);
                counted.map(|(world, place, score)| (world as u64, place, score)).collect()
            }
            KeyedSwitches::Expected(..) => Vec::new(),
        }
    }

    /// The counterfactual of row `i` in a direction, among those with these keys, that `draw` takes
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
