//! Graph-uncertain: one counterfactual per causal model in the bag of DAGs.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.2. A model (a DAG
//! with the equations of its replicate) keeps the noise of a row, sets the sensitive attribute to
//! the other group by intervention, and predicts the descendants of the attribute. As all equations
//! are linear, the encoded columns z of a row of group a move to group b by z_cf = z + shift_b -
//! shift_a, with one shift per model and group for all rows, relative to the first group. In the
//! columns of the attribute the shift is the difference of the groups, in the columns of its
//! descendants it is a sum of coefficients along the paths. Counterfactual indicators are real
//! numbers and counts may be negative or fractional: nothing is rounded, and values are clipped
//! only on request. Sets whose levels are drawn have rows instead, one for each person, group and
//! world: `rows`, with `coupling`, `cells` and `ranks`.
//!
//! The models of one replicate that move the same columns by the same equations share one *world*:
//! it is scored once and counts for all of them. The same graphs with equations fitted on all
//! training rows separate the differences between graphs from those between refits (see
//! `metric::value::worlds`). Input: the moments of each replicate and of all rows, and the bag;
//! output: worlds in order of replicate and member. Memory: one shift per world, regardless of the
//! number of rows.
//! Cost: one small regression per replicate, variable and parent set.

pub(crate) mod bag_file;
pub(crate) mod cells;
pub(crate) mod coupling;
pub(crate) mod knobs;
pub(crate) mod mechanism;
mod ranks;
pub(crate) mod rows;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causal::bag::BagOfDags;
use crate::causal::encoding::{EncodedVariable, GraphEncoding, VariableForm};
use crate::causal::graph::Dag;
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::causal::scm::EquationCache;
use crate::num::summary::{SampleSpread, WeightedValue};

/// What is done to counterfactual columns that no row could have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClipRule {
    /// Nothing, as in the paper.
    #[default]
    None,
    /// Indicators are brought into [0, 1].
    Indicators,
    /// Also numbers into the range of the training rows, widened to the value of the row itself.
    Range,
}

/// Models of one replicate with the same counterfactuals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CausalWorld {
    /// The replicate.
    pub replicate: usize,
    /// Positions of the models among the members of the replicate, ascending.
    pub members: Vec<usize>,
    /// How the world moves the encoded columns.
    pub shifts: GroupShifts,
}

/// The worlds of a bag, with everything needed to apply them to rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CausalWorlds {
    /// How rows become encoded columns.
    pub encoding: GraphEncoding,
    /// The graphs.
    pub bag: BagOfDags,
    /// The worlds, by replicate and first member.
    pub worlds: Vec<CausalWorld>,
    /// Shifts with equations fitted on all training rows, one per graph below the attribute.
    ///
    /// Form as of [`CausalWorld::shifts`]. A world differs from its entry here only by the refit of
    /// its coefficients.
    pub on_all_rows: Vec<GroupShifts>,
    /// The position of each world's graph in `on_all_rows`.
    pub all_rows_of: Vec<usize>,
    /// The codes of the declared groups without rows, for each replicate.
    pub absent: Vec<Vec<u32>>,
}

/// (encoded column, shift), columns ascending, none 0.
pub(crate) type WorldShift = Vec<(usize, f64)>;

/// The shifts from the first group with training rows to each other group with training rows.
pub(crate) type GroupShifts = Vec<WorldShift>;

/// The worlds of replicate `b`; `dags` are its members, `sensitive` the attribute's position,
/// `fits` the equations on the same replicate.
pub(crate) fn worlds_of_replicate(
    fits: &mut EquationCache<'_>,
    b: usize,
    dags: &[&Dag],
    sensitive: usize,
) -> Vec<CausalWorld> {
    let mut found: Vec<CausalWorld> = Vec::new();
    let mut known: BTreeMap<Vec<NodeSet>, usize> = BTreeMap::new();
    for (member, dag) in dags.iter().enumerate() {
        let key = moving_parents(dag, sensitive);
        if let Some(&at) = known.get(&key) {
            found[at].members.push(member);
            continue;
        }
        let shifts = shifts_of(fits, &key, sensitive);
        known.insert(key, found.len());
        found.push(CausalWorld { replicate: b, members: vec![member], shifts });
    }
    found
}

/// The parents of each variable that descends from the attribute: others need no equation.
fn moving_parents(dag: &Dag, sensitive: usize) -> Vec<NodeSet> {
    let moved = dag.descendants_and_self(sensitive).without(sensitive);
    (0..dag.parents.len())
        .map(|v| if moved.contains(v) { dag.parents[v] } else { NodeSet::EMPTY })
        .collect()
}

/// The shifts of one world.
pub(crate) fn shifts_of(
    fits: &mut EquationCache<'_>,
    moving: &[NodeSet],
    sensitive: usize,
) -> GroupShifts {
    let model = fits.model(&Dag { parents: moving.to_vec() });
    let attribute = &model.encoding.variables[sensitive];
    let start = attribute.columns.start;
    let shift = |group: usize| {
        let between = if attribute.columns.len() > 1 {
            vec![(start, -1.0), (start + group, 1.0)]
        } else {
            vec![(start, 1.0)]
        };
        let shift = model.shift(sensitive, &between);
        shift.into_iter().enumerate().filter(|(_, x)| *x != 0.0).collect()
    };
    (1..attribute.seen().len().max(2)).map(shift).collect()
}

/// The codes of the declared groups of which a replicate has no row.
fn absent_groups(encoding: &GraphEncoding, moments: &EncodedMoments, sensitive: usize) -> Vec<u32> {
    let attribute = &encoding.variables[sensitive];
    let VariableForm::Levels { known, .. } = &attribute.form else { return Vec::new() };
    let start = attribute.columns.start;
    let rows_of = |position: usize| match (attribute.columns.len(), position) {
        (1, 0) => moments.n_draws() - moments.sum(start),
        (1, _) => moments.sum(start),
        _ => moments.sum(start + position),
    };
    let is_absent =
        |code: &u32| attribute.position_of(*code).is_none_or(|position| rows_of(position) < 0.5);
    known.iter().copied().filter(is_absent).collect()
}

impl CausalWorlds {
    /// Collects the worlds of the replicates in order, and fits their graphs on all training rows.
    ///
    /// `drawn` holds the moments of each replicate, `all_rows` those of all training rows.
    pub(crate) fn new(
        encoding: GraphEncoding,
        bag: BagOfDags,
        replicates: Vec<Vec<CausalWorld>>,
        drawn: &[EncodedMoments],
        all_rows: &EncodedMoments,
    ) -> Self {
        let worlds: Vec<CausalWorld> = replicates.into_iter().flatten().collect();
        let mut fits = EquationCache::new(&encoding, all_rows);
        let mut known: BTreeMap<Vec<NodeSet>, usize> = BTreeMap::new();
        let mut on_all_rows = Vec::new();
        let of_world = |world: &CausalWorld| {
            let dag = &bag.dags[bag.replicates[world.replicate].members[world.members[0]]];
            let key = moving_parents(dag, bag.sensitive);
            *known.entry(key).or_insert_with_key(|key| {
                on_all_rows.push(shifts_of(&mut fits, key, bag.sensitive));
                on_all_rows.len() - 1
            })
        };
        let all_rows_of = worlds.iter().map(of_world).collect();
        let absent = |moments| absent_groups(&encoding, moments, bag.sensitive);
        let absent = drawn.iter().map(absent).collect();
        CausalWorlds { encoding, bag, worlds, on_all_rows, all_rows_of, absent }
    }

    /// A bag without worlds, if nothing can be learnt about these variables.
    pub(crate) fn empty(variables: Vec<String>, sensitive: usize) -> Self {
        let bag = BagOfDags { variables, sensitive, ..BagOfDags::default() };
        CausalWorlds { bag, ..CausalWorlds::default() }
    }

    /// The shifts of the worlds, then the shifts of their graphs fitted on all training rows.
    pub(crate) fn shifts(&self) -> impl Iterator<Item = &GroupShifts> {
        self.worlds.iter().map(|world| &world.shifts).chain(&self.on_all_rows)
    }

    /// For each world, then for each graph fitted on all training rows: whether it has a row of the
    /// group with this code.
    pub(crate) fn saw(&self, code: u32) -> impl Iterator<Item = bool> {
        let is_known = self.attribute().is_some_and(|a| a.position_of(code).is_some());
        let of_world =
            move |w: &CausalWorld| self.absent.get(w.replicate).is_none_or(|a| !a.contains(&code));
        self.worlds.iter().map(of_world).chain(self.on_all_rows.iter().map(move |_| is_known))
    }

    /// The attribute; none without graphs.
    pub(crate) fn attribute(&self) -> Option<&EncodedVariable> {
        self.encoding.variables.get(self.bag.sensitive)
    }

    /// The movement of encoded columns from one group to another; both groups are positions among
    /// those of the training rows.
    pub(crate) fn movement(shifts: &GroupShifts, from: usize, to: usize) -> WorldShift {
        let shift_of = |group: usize| group.checked_sub(1).and_then(|at| shifts.get(at));
        let mut all: BTreeMap<usize, f64> = shift_of(to).into_iter().flatten().copied().collect();
        let back = shift_of(from).into_iter().flatten();
        back.for_each(|&(column, x)| *all.entry(column).or_default() -= x);
        all.into_iter().filter(|(_, x)| *x != 0.0).collect()
    }

    /// Changes the encoded columns of a row into those of its counterfactual.
    pub(crate) fn apply(&self, movement: &[(usize, f64)], clip: ClipRule, row: &mut [f64]) {
        let attribute = &self.encoding.variables[self.bag.sensitive].columns;
        for &(column, x) in movement {
            let before = row[column];
            row[column] += x;
            if clip != ClipRule::None && !attribute.contains(&column) {
                row[column] = self.clipped(column, before, row[column], clip);
            }
        }
    }

    fn clipped(&self, column: usize, before: f64, after: f64, clip: ClipRule) -> f64 {
        let of = self.encoding.variables.iter().find(|v| v.columns.contains(&column));
        match (of.map(|v| &v.form), clip) {
            (Some(VariableForm::Levels { .. }), _) => after.clamp(0.0, 1.0),
            (Some(VariableForm::Number { mean, sd, smallest, largest }), ClipRule::Range) => {
                after.max(before.min((smallest - mean) / sd)).min(before.max((largest - mean) / sd))
            }
            _ => after,
        }
    }

    /// The mean, variance and interval over all models, each the same, from one value per world.
    ///
    /// Worlds whose value is `None` (undefined) are left out; the result is `None` where all are.
    pub(crate) fn spread(
        &self,
        level: f64,
        value: impl Fn(usize) -> Option<f64>,
    ) -> Option<SampleSpread> {
        let one = |(w, world): (usize, &CausalWorld)| {
            let copies = world.members.len() as u64;
            Some(WeightedValue { value: value(w)?, copies, weight: 1.0 })
        };
        let sample: Vec<WeightedValue> = self.worlds.iter().enumerate().filter_map(one).collect();
        SampleSpread::new(&sample, level)
    }

    /// The spread of the shift of each encoded column from one group to another, given by their
    /// codes; none if no world has both groups.
    ///
    /// The spread of a row's counterfactual column differs by the row's own value; the variance is
    /// the same for all rows.
    pub(crate) fn shift_spreads(
        &self,
        level: f64,
        (from, to): (u32, u32),
    ) -> Vec<Option<SampleSpread>> {
        let positions = self.attribute().and_then(|a| a.position_of(from).zip(a.position_of(to)));
        let Some((first, second)) = positions else { return vec![None; self.encoding.width()] };
        let saw: Vec<bool> = self.saw(from).zip(self.saw(to)).map(|(a, b)| a && b).collect();
        let movements: Vec<WorldShift> = self
            .worlds
            .iter()
            .map(|world| CausalWorlds::movement(&world.shifts, first, second))
            .collect();
        let movement = |w: usize, column: usize| {
            let shift = &movements[w];
            let found = shift.binary_search_by_key(&column, |&(c, _)| c);
            saw[w].then(|| found.map_or(0.0, |at| shift[at].1))
        };
        (0..self.encoding.width())
            .map(|column| self.spread(level, |w| movement(w, column)))
            .collect()
    }
}

#[cfg(test)]
pub(crate) mod row_tests;
#[cfg(test)]
mod tests;
