//! The unsupported values of people in sets with causal graphs, where a person has a
//! counterfactual in every graph.
//!
//! Choice: a person of a direction counts as unsupported where the counterfactuals of more than
//! half of the graphs are, so that the same people are supported in all graphs; for an unsupported
//! person the values are reported that at least half of the graphs have, or if there are none, the
//! value that most graphs have. Graphs that saw no row of either group do not count.
//!
//! Expected levels are fractions: the level with the largest fraction is tested (the first of equal
//! ones), and for an ordinal variable the nearest value. How a graph moves a level depends only on
//! the level, so that it is tested once for each graph and level, and not for each person.

use std::path::Path;

use crate::causal::encoding::{EncodedVariable, VariableForm};
use crate::counterfactual::graph_uncertain::{CausalWorlds, ClipRule, WorldShift};
use crate::counterfactual::support::{DirectionSupport, place_bit};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::rows::aligned::{CounterfactualKeys, NO_ROW, keys_in_other_groups};
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{Attribute, FeatureRows};
use crate::error::Result;
use crate::stage::generate::support::{SupportSums, SupportTests};
use crate::stage::row_context::RowContext;
use crate::stage::score::worlds::row_starts;

/// What is unsupported for a person in a direction, graph by graph.
#[derive(Debug, Default)]
pub(crate) struct GraphVotes {
    all: u64,
    unsupported: u64,
    by_place: Vec<(u32, u64)>,
}

impl GraphVotes {
    /// Adds this many graphs in which the values of these places are unsupported.
    pub(crate) fn add(&mut self, graphs: u64, places: &[u32]) {
        self.all += graphs;
        self.unsupported += if places.is_empty() { 0 } else { graphs };
        for &place in places {
            match self.by_place.iter_mut().find(|(known, _)| *known == place) {
                Some((_, n)) => *n += graphs,
                None => self.by_place.push((place, graphs)),
            }
        }
    }

    /// The unsupported values of the person, ascending; none where the person is supported.
    pub(crate) fn places(mut self) -> Vec<u32> {
        if 2 * self.unsupported <= self.all {
            return Vec::new();
        }
        self.by_place.sort_unstable();
        let most = self.by_place.iter().map(|(_, n)| *n).max().unwrap_or(0);
        let least = if 2 * most >= self.all { self.all.div_ceil(2) } else { most };
        self.by_place.iter().filter(|(_, n)| *n >= least).map(|(place, _)| *place).collect()
    }
}

/// The unsupported values of each person of a row group and target group, in the order of `keys`:
/// `made` are their rows, of which `reached` says which each graph has.
pub(crate) fn of_written(
    tests: &SupportTests,
    (batch, roles): (&PreparedBatch, &RowRoles),
    keys: &CounterfactualKeys,
    (made, rows): (&CounterfactualKeys, &FeatureRows),
    (reached, worlds): (&[u16], &CausalWorlds),
    sums: &mut SupportSums,
) -> Vec<u64> {
    let own = &batch.groups[tests.position];
    let direction = |k: usize, keys: &CounterfactualKeys| {
        let parent = keys.parent[k] as usize;
        let fold = roles.audited(parent).unwrap_or(0);
        (usize::from(own[parent]), usize::from(keys.to_group[k]), fold)
    };
    let (values, own_values) = (tests.values(rows), tests.values(&batch.rows));
    let places_of = |k: usize| {
        let mut places = Vec::new();
        let person = (own_values.as_slice(), made.parent[k] as usize);
        let (from, to, fold) = direction(k, made);
        let direction = tests.direction(from, to);
        direction.each_unsupported(fold, (&values, k), person, |_, at| places.push(at));
        places
    };
    let places: Vec<Vec<u32>> = (0..made.parent.len()).map(places_of).collect();
    let starts = row_starts(keys, made);
    let n = worlds.shifts().count();
    let mut bits = vec![0; keys.parent.len()];
    for (k, of_key) in reached.chunks_exact(n.max(1)).enumerate().take(bits.len()) {
        let mut votes = GraphVotes::default();
        for (world, &row) in worlds.worlds.iter().zip(of_key).filter(|(_, row)| **row != NO_ROW) {
            votes.add(world.members.len() as u64, &places[starts[k] + usize::from(row)]);
        }
        let held = votes.places();
        let (from, to, _) = direction(k, keys);
        sums.add(tests.number(from, to), &held);
        bits[k] = bits_of(&held);
    }
    bits
}

fn bits_of(places: &[u32]) -> u64 {
    places.iter().fold(0, |bits, &place| bits | place_bit(place))
}

/// A variable that a graph moves.
struct MovedVariable<'a> {
    /// Its number among those that are tested.
    variable: usize,
    tested: &'a StrategyVariable,
    encoded: &'a EncodedVariable,
    value: MovedValue,
}

enum MovedValue {
    /// By the own level, as a position among those that training rows have, what is unsupported.
    Levels(Vec<Option<u32>>),
    /// How far the number moves, and into what it is clipped.
    Number(f64, Option<[f64; 2]>),
}

/// Graphs that move people alike in a direction.
struct WorldMoves<'a> {
    graphs: u64,
    moved: Vec<MovedVariable<'a>>,
}

/// Writes the unsupported values of all people of a set with expected levels.
///
/// # Errors
/// The rows cannot be read, the disk refuses, or the run is to stop.
pub(crate) fn write_expected(
    (tests, out): (&SupportTests, &Path),
    row_context: RowContext<'_>,
    (worlds, clip): (&CausalWorlds, ClipRule),
) -> Result<SupportSums> {
    let attribute = &row_context.rows.layout().attributes[tests.position];
    let groups = attribute.groups.len();
    let directions = (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to)));
    let moves = |direction| moves_of(tests, attribute, (worlds, clip), direction);
    let moves: Vec<Vec<WorldMoves<'_>>> = directions.map(moves).collect();
    let encoding = &worlds.encoding;
    tests.write(out, row_context, |g, sums| {
        let (batch, roles) = row_context.read(g, Projection::PEOPLE)?;
        let own = &batch.groups[tests.position];
        let keys = keys_in_other_groups(groups, &roles, own);
        let values = tests.values(&batch.rows);
        let mut stands: Vec<(usize, u32)> = Vec::new();
        let mut places = Vec::new();
        let mut bits = Vec::with_capacity(keys.parent.len());
        for (&parent, &to) in keys.parent.iter().zip(&keys.to_group) {
            let (i, to) = (parent as usize, usize::from(to));
            let from = usize::from(own[i]);
            let of_direction = &moves[tests.number(from, to)];
            if of_direction.is_empty() || !encoding.is_complete(&batch.rows, i) {
                bits.push(0);
                continue;
            }
            stands.clear();
            let fold = roles.audited(i).unwrap_or(0);
            let own = (values.as_slice(), i);
            let direction = tests.direction(from, to);
            direction.each_unsupported(fold, own, own, |v, place| stands.push((v, place)));
            let mut votes = GraphVotes::default();
            for world in of_direction {
                places.clear();
                let is_moved = |v: usize| world.moved.iter().any(|moved| moved.variable == v);
                places.extend(stands.iter().filter(|(v, _)| !is_moved(*v)).map(|(_, at)| *at));
                let unsupported =
                    |of: &MovedVariable<'_>| of.unsupported(direction, &batch.rows, i);
                places.extend(world.moved.iter().filter_map(unsupported));
                votes.add(world.graphs, &places);
            }
            let held = votes.places();
            sums.add(tests.number(from, to), &held);
            bits.push(bits_of(&held));
        }
        Ok(bits)
    })
}

impl MovedVariable<'_> {
    fn unsupported(
        &self,
        direction: &DirectionSupport,
        rows: &FeatureRows,
        i: usize,
    ) -> Option<u32> {
        match &self.value {
            MovedValue::Levels(of_level) => {
                let own = match self.tested.levels() {
                    Some(_) => self.tested.level(rows, i),
                    None => self.tested.number(rows, i) as u32,
                };
                let own = self.encoded.position_of(own)?;
                of_level.get(own).copied().flatten()
            }
            MovedValue::Number(by, within) => {
                let x = self.tested.number(rows, i);
                let [lo, hi] = within.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                let moved = (x + by).max(x.min(lo)).min(x.max(hi));
                direction.of_number(self.variable, moved, true)
            }
        }
    }
}

/// How the graphs move the people of a direction; those that saw no row of one of the groups are
/// left out.
fn moves_of<'a>(
    tests: &'a SupportTests,
    attribute: &Attribute,
    (worlds, clip): (&'a CausalWorlds, ClipRule),
    (from, to): (usize, usize),
) -> Vec<WorldMoves<'a>> {
    let code = |group: usize| attribute.level_of_group[group];
    let position = |group: usize| worlds.attribute().and_then(|of| of.position_of(code(group)));
    let Some((first, second)) = position(from).zip(position(to)).filter(|_| from != to) else {
        return Vec::new();
    };
    let saw = worlds.saw(code(from)).zip(worlds.saw(code(to)));
    let seen = worlds.worlds.iter().zip(saw).filter(|(_, (a, b))| *a && *b);
    let direction = tests.direction(from, to);
    seen.map(|(world, _)| {
        let movement = CausalWorlds::movement(&world.shifts, first, second);
        let variables = worlds.encoding.variables.iter().enumerate();
        let others = variables.filter(|(at, _)| *at != worlds.bag.sensitive);
        let moved = others.filter_map(|(_, encoded)| {
            let mut known = tests.variables.iter().enumerate();
            let (variable, tested) = known.find(|(_, v)| v.columns == [encoded.feature])?;
            let value = moved_value(encoded, &movement, clip, (tested, variable, direction))?;
            Some(MovedVariable { variable, tested, encoded, value })
        });
        WorldMoves { graphs: world.members.len() as u64, moved: moved.collect() }
    })
    .collect()
}

/// How a variable moves; none where it does not.
fn moved_value(
    of: &EncodedVariable,
    movement: &WorldShift,
    clip: ClipRule,
    (tested, variable, direction): (&StrategyVariable, usize, &DirectionSupport),
) -> Option<MovedValue> {
    let shift = |column: usize| {
        let found = movement.iter().find(|(moved, _)| *moved == column);
        found.map_or(0.0, |(_, by)| *by)
    };
    let shifts: Vec<f64> = of.columns.clone().map(shift).collect();
    if shifts.iter().all(|by| *by == 0.0) {
        return None;
    }
    match &of.form {
        VariableForm::Number { sd, smallest, largest, .. } => {
            let within = (clip == ClipRule::Range).then_some([*smallest, *largest]);
            Some(MovedValue::Number(shifts[0] * sd, within))
        }
        VariableForm::Levels { seen, .. } => {
            let unsupported = |own: usize| {
                let reached = largest_level(&shifts, own, clip != ClipRule::None);
                let moved = reached != own;
                match tested.levels() {
                    Some(_) => direction.of_level(variable, seen[reached], moved),
                    None => direction.of_number(variable, f64::from(seen[reached]), moved),
                }
            };
            Some(MovedValue::Levels((0..seen.len()).map(unsupported).collect()))
        }
    }
}

/// The level that is largest once the indicators of the own level have moved, of equal ones the
/// first; of two levels only the second has an indicator.
fn largest_level(shifts: &[f64], own: usize, clips: bool) -> usize {
    let moved = |at: usize, is_own: bool| {
        let x = f64::from(u8::from(is_own)) + shifts[at];
        if clips { x.clamp(0.0, 1.0) } else { x }
    };
    if shifts.len() == 1 {
        return usize::from(moved(0, own == 1) > 0.5);
    }
    let fractions = (0..shifts.len()).map(|at| (at, moved(at, at == own)));
    let larger = |best: (usize, f64), of: (usize, f64)| if of.1 > best.1 { of } else { best };
    fractions.reduce(larger).map_or(own, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::{GraphVotes, largest_level};

    #[test]
    fn the_largest_of_fractions_is_tested() {
        // 0.6, 0.3, 0.1 from the first level; 0.4, 0.5, 0.1 from equal parts.
        assert_eq!(largest_level(&[-0.4, 0.3, 0.1], 0, false), 0);
        assert_eq!(largest_level(&[-0.6, 0.5, 0.1], 0, false), 1);
        assert_eq!(largest_level(&[-0.5, 0.5, 0.0], 0, false), 0);
        assert_eq!([largest_level(&[0.5], 0, true), largest_level(&[-0.4], 1, true)], [0, 1]);
    }

    #[test]
    fn most_graphs_decide_about_a_person() {
        let votes = |of: &[(u64, &[u32])]| {
            let mut votes = GraphVotes::default();
            of.iter().for_each(|(graphs, places)| votes.add(*graphs, places));
            votes.places()
        };
        assert!(votes(&[(2, &[4]), (2, &[])]).is_empty() && votes(&[]).is_empty());
        assert_eq!(votes(&[(3, &[4, 7]), (2, &[7]), (4, &[])]), [7]);
        // No value in half of the graphs: the one in most of them.
        assert_eq!(votes(&[(3, &[1]), (2, &[0]), (4, &[])]), [1]);
    }
}
