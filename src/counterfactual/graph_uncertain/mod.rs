//! Graph-uncertain: one counterfactual per causal model in the bag of DAGs.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.2; its
//! specification, section 11. A model (a DAG with the equations of its replicate) keeps the noise
//! of a row, sets the sensitive attribute to the other group by intervention, and predicts the
//! descendants of the attribute. As all equations are linear, the encoded columns z of a row of
//! group a move by z_cf = z + (1 - 2a) shift, with one shift per model for all rows: 1 in the
//! column of the attribute, sums of coefficients along the paths from it below. Counterfactual
//! indicators are real numbers and counts may be negative or fractional: nothing is rounded, and
//! values are clipped only on request.
//!
//! The models of one replicate that move the same columns by the same equations share one *world*:
//! it is scored once and counts for all of them. The same graphs with equations fitted on all
//! training rows separate the differences between graphs from those between refits (see
//! `metric::value::worlds`). Input: the moments of each replicate and of all rows, and the bag;
//! output: worlds in order of replicate and member. Memory: one shift per world, regardless of the
//! number of rows.
//! Cost: one small regression per replicate, variable and parent set.

pub(crate) mod knobs;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causal::bag::{BagOfDags, MemberWeighting};
use crate::causal::encoding::{GraphEncoding, VariableForm};
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

/// Models of one replicate that give the same counterfactuals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CausalWorld {
    /// The replicate.
    pub replicate: usize,
    /// Positions of the models among the members of the replicate, ascending.
    pub members: Vec<usize>,
    /// How the world moves the encoded columns.
    pub shift: WorldShift,
}

/// The worlds of a bag, with everything needed to apply them to rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Form as of [`CausalWorld::shift`]. A world differs from its entry here only by the refit of
    /// its coefficients.
    pub on_all_rows: Vec<WorldShift>,
    /// For each world the position of its graph in `on_all_rows`.
    pub all_rows_of: Vec<usize>,
}

/// (encoded column, shift from the first group to the second), columns ascending, none 0.
pub(crate) type WorldShift = Vec<(usize, f64)>;

/// The worlds of replicate `b`; `dags` are its members, `sensitive` the attribute's position.
#[cfg(test)]
pub(crate) fn worlds_of_replicate(
    encoding: &GraphEncoding,
    moments: &EncodedMoments,
    b: usize,
    dags: &[&Dag],
    sensitive: usize,
) -> Vec<CausalWorld> {
    worlds_with_cache(&mut EquationCache::new(encoding, moments), encoding, b, dags, sensitive)
}

/// The same with a cache of equations fitted on the same replicate.
pub(crate) fn worlds_with_cache(
    fits: &mut EquationCache<'_>,
    encoding: &GraphEncoding,
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
        let shift = shift_of(fits, encoding, &key, sensitive);
        known.insert(key, found.len());
        found.push(CausalWorld { replicate: b, members: vec![member], shift });
    }
    found
}

/// For each variable its parents if it descends from the attribute: others need no equation.
fn moving_parents(dag: &Dag, sensitive: usize) -> Vec<NodeSet> {
    let moved = dag.descendants_and_self(sensitive).without(sensitive);
    (0..dag.parents.len())
        .map(|v| if moved.contains(v) { dag.parents[v] } else { NodeSet::EMPTY })
        .collect()
}

fn shift_of(
    fits: &mut EquationCache<'_>,
    encoding: &GraphEncoding,
    moving: &[NodeSet],
    sensitive: usize,
) -> WorldShift {
    let model = fits.model(&Dag { parents: moving.to_vec() });
    model.shift(encoding, sensitive).into_iter().enumerate().filter(|(_, x)| *x != 0.0).collect()
}

impl CausalWorlds {
    /// Collects the worlds of the replicates in order, and fits their graphs on all training rows.
    ///
    /// `all_rows` holds the moments of all training rows.
    pub(crate) fn new(
        encoding: GraphEncoding,
        bag: BagOfDags,
        replicates: Vec<Vec<CausalWorld>>,
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
                on_all_rows.push(shift_of(&mut fits, &encoding, key, bag.sensitive));
                on_all_rows.len() - 1
            })
        };
        let all_rows_of = worlds.iter().map(of_world).collect();
        CausalWorlds { encoding, bag, worlds, on_all_rows, all_rows_of }
    }

    /// A bag without worlds, where nothing can be learnt about these variables.
    pub(crate) fn empty(variables: Vec<String>, sensitive: usize) -> Self {
        let bag = BagOfDags {
            variables,
            sensitive,
            dags: Vec::new(),
            n_classes: 0,
            replicates: Vec::new(),
        };
        CausalWorlds {
            encoding: GraphEncoding { variables: Vec::new() },
            bag,
            worlds: Vec::new(),
            on_all_rows: Vec::new(),
            all_rows_of: Vec::new(),
        }
    }

    /// The shifts of the worlds, then those of their graphs fitted on all training rows.
    pub(crate) fn shifts(&self) -> impl Iterator<Item = &WorldShift> {
        self.worlds.iter().map(|world| &world.shift).chain(&self.on_all_rows)
    }

    /// Turns the encoded columns of a row into those of its counterfactual.
    ///
    /// `second` says whether the row belongs to the second group.
    pub(crate) fn apply(
        &self,
        shift: &[(usize, f64)],
        second: bool,
        clip: ClipRule,
        row: &mut [f64],
    ) {
        let attribute = self.encoding.variables[self.bag.sensitive].columns.start;
        for &(column, movement) in shift {
            let before = row[column];
            row[column] += if second { -movement } else { movement };
            if clip != ClipRule::None && column != attribute {
                row[column] = self.clipped(column, before, row[column], clip);
            }
        }
    }

    fn clipped(&self, column: usize, before: f64, after: f64, clip: ClipRule) -> f64 {
        match (
            self.encoding.variables.iter().find(|v| v.columns.contains(&column)).map(|v| &v.form),
            clip,
        ) {
            (Some(VariableForm::Levels { .. }), _) => after.clamp(0.0, 1.0),
            (Some(VariableForm::Number { mean, sd, smallest, largest }), ClipRule::Range) => {
                after.max(before.min((smallest - mean) / sd)).min(before.max((largest - mean) / sd))
            }
            _ => after,
        }
    }

    /// The mean, variance and interval over all models, from one value per world.
    ///
    /// Worlds whose value is `None` (undefined) are left out; the result is `None` where all are.
    pub(crate) fn spread(
        &self,
        weighting: MemberWeighting,
        level: f64,
        value: impl Fn(usize) -> Option<f64>,
    ) -> Option<SampleSpread> {
        let of = |(w, world): (usize, &CausalWorld)| {
            let weight = self.bag.weight(world.replicate, weighting);
            Some(WeightedValue { value: value(w)?, copies: world.members.len() as u64, weight })
        };
        let sample: Vec<WeightedValue> = self.worlds.iter().enumerate().filter_map(of).collect();
        SampleSpread::new(&sample, level)
    }

    /// For each encoded column the spread of its shift from the first group to the second.
    ///
    /// The spread of a row's counterfactual column differs by the row's own value and, in the other
    /// direction, by the sign; the variance is the same for all rows.
    pub(crate) fn shift_spreads(
        &self,
        weighting: MemberWeighting,
        level: f64,
    ) -> Vec<Option<SampleSpread>> {
        let movement = |w: usize, column: usize| {
            let shift = &self.worlds[w].shift;
            shift.binary_search_by_key(&column, |&(c, _)| c).map_or(0.0, |at| shift[at].1)
        };
        (0..self.encoding.width())
            .map(|column| self.spread(weighting, level, |w| Some(movement(w, column))))
            .collect()
    }
}

#[cfg(test)]
mod tests;
