//! Rows of counterfactuals: one possible row per person, target group and world, in which every
//! nominal node holds a level and whole numbers are whole, so that any model can be asked.
//!
//! The attribute A is set to the target level; every other node keeps its value if all its parents
//! have the values of the factual row, and is otherwise computed from its factual and its
//! counterfactual parents as written: children see the level that was chosen and the number that
//! was rounded and clipped. Levels follow the maximal coupling (`coupling`); numbers move by the
//! equations or by the cells of the parents (`cells`). A row of values holds for each variable the
//! number, or the position of its level among those of the training rows, -1 for a level that no
//! training row has.
//! Cost: for each person, target and world one equation per node that follows from A.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cells::{BinnedMechanism, MechanismStep, NodeKind, ReplicateColumns};
use super::coupling::{
    NodeUniforms, ValueLattice, clip_shares, draw_level, has_moved, own_shares, shares_of_levels,
};
use super::mechanism::ColumnBins;
use super::{CausalWorlds, ClipRule, moving_parents};
use crate::causal::bootstrap_draws::BootstrapDraws;
use crate::causal::encoding::{EncodedVariable, GraphEncoding, TrainingBlocks, VariableForm};
use crate::causal::graph::Dag;
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::causal::scm::{EquationCache, VariableEquations};
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::data::{FeatureColumn, FeatureRows};
use crate::error::Result;
use crate::num::summary::equal_cuts;

/// The position of a level that no training row has.
const UNSEEN: f64 = -1.0;

/// The settings for one variable of the graph, in addition to its encoding.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NodeRules {
    /// Whether the column holds whole numbers.
    pub whole: bool,
    /// Whether the column is ordinal: only numbers of training rows occur.
    pub ordinal: bool,
    /// The code of the level that represents missing; no person gets it.
    pub missing: Option<u32>,
    /// The bins of a number in cells; none: it has a slope only.
    pub bins: Option<ColumnBins>,
}

/// How rows are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RowSettings {
    /// How to treat numbers outside of the range of the training rows.
    pub clip: ClipRule,
    /// The least rows of a cell that answers; none with linear equations.
    pub min_cell: Option<u64>,
    /// The seed of the job.
    pub seed: u64,
}

/// The training rows by variable, in the order in which bootstraps count them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TrainingColumns {
    /// The values of each variable.
    pub(super) columns: Vec<Vec<f64>>,
    /// The number of each block of rows, and the strata of its rows.
    blocks: Vec<(usize, Vec<usize>)>,
}

impl TrainingColumns {
    /// Reads them.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is to stop.
    pub(crate) fn read(
        encoding: &GraphEncoding,
        blocks: &TrainingBlocks,
        rows: &TrainingRows<'_>,
    ) -> Result<Self> {
        let n = encoding.variables.len();
        let mut all = TrainingColumns { columns: vec![Vec::new(); n], blocks: Vec::new() };
        let of_group = |group: &TrainingBatch| -> Vec<_> {
            let blocks = blocks.group_blocks(encoding, group).into_iter();
            let values = |i: usize| node_values(encoding, &group.rows, i);
            let values = |rows: Vec<usize>| rows.into_iter().map(values).collect::<Vec<_>>();
            blocks.map(|(number, rows, strata)| (values(rows), (number, strata))).collect()
        };
        rows.fold(of_group, |part| {
            for (rows, block) in part {
                for values in rows {
                    all.columns.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
                }
                all.blocks.push(block);
            }
        })?;
        Ok(all)
    }

    /// The number of times that each row occurs in replicate `b`.
    fn times(&self, draws: &BootstrapDraws, b: usize) -> Vec<u32> {
        let of_block =
            |(number, strata): &(usize, Vec<usize>)| draws.multiplicities(b, *number, strata);
        self.blocks.iter().flat_map(of_block).collect()
    }
}

/// One variable as rows are made.
#[derive(Debug, Clone, PartialEq)]
struct RowNode {
    name: String,
    lattice: ValueLattice,
    /// The smallest and largest number of the training rows.
    range: (f64, f64),
    /// The position of the level that no person gets.
    barred: Option<usize>,
}

/// A node that follows from A in a world.
#[derive(Debug, Clone, PartialEq)]
struct RowEquation {
    node: usize,
    parents: NodeSet,
    linear: Arc<VariableEquations>,
    binned: Option<Arc<BinnedMechanism>>,
}

/// One world: the nodes that follow from A, parents first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RowWorld(Vec<RowEquation>);

/// The number of values that each step gave for each node: cells, levels, linear.
pub(crate) type StepCounts = Vec<[u64; 3]>;

/// The values that a node can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NodeEvidence<'a> {
    /// The shares of its levels before and after, clipped.
    Shares(&'a [f64], &'a [f64]),
    /// The number before it is clipped and rounded.
    Number(f64),
}

/// Everything that rows are made with, except worlds.
#[derive(Debug)]
pub(crate) struct RowMaker<'a> {
    encoding: &'a GraphEncoding,
    sensitive: usize,
    pub(super) kinds: Vec<NodeKind>,
    nodes: Vec<RowNode>,
    /// The variable of each encoded column, and the place of the column there.
    places: Vec<(usize, usize)>,
    pub(super) settings: RowSettings,
    uniforms: NodeUniforms,
    pub(super) training: TrainingColumns,
}

/// The uniform numbers of a person, one for each node.
pub(crate) type PersonUniforms = Vec<f64>;

impl EncodedVariable {
    /// The value of a row: the number, or the position of its level among those of the training
    /// rows; NaN if a number is missing.
    fn value(&self, rows: &FeatureRows, i: usize) -> f64 {
        match self.form {
            VariableForm::Number { .. } => rows.columns[self.feature].number(i),
            VariableForm::Levels { .. } => {
                let code = rows.codes(self.feature).get(i);
                code.and_then(|&code| self.position_of(code)).map_or(UNSEEN, |at| at as f64)
            }
        }
    }

    /// Writes a value into row `i` of its column.
    fn write(&self, value: f64, rows: &mut FeatureRows, i: usize) {
        match (&self.form, &mut rows.columns[self.feature]) {
            // A column of levels holds codes.
            (_, FeatureColumn::Number(values)) => values[i] = value,
            (VariableForm::Number { .. }, FeatureColumn::Code(codes)) => codes[i] = value as u32,
            (VariableForm::Levels { seen, .. }, FeatureColumn::Code(codes)) => {
                let level = seen.get(value as usize).filter(|_| value >= 0.0);
                level.into_iter().for_each(|&level| codes[i] = level);
            }
        }
    }
}

/// The values of row `i`.
pub(crate) fn node_values(encoding: &GraphEncoding, rows: &FeatureRows, i: usize) -> Vec<f64> {
    encoding.variables.iter().map(|variable| variable.value(rows, i)).collect()
}

impl<'a> RowMaker<'a> {
    /// The maker of rows with `rules` for each variable of the graph, in its order.
    pub(crate) fn new(
        encoding: &'a GraphEncoding,
        sensitive: usize,
        rules: &[NodeRules],
        training: TrainingColumns,
        settings: RowSettings,
    ) -> Self {
        let (mut kinds, mut nodes, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (v, variable) in encoding.variables.iter().enumerate() {
            let rules = rules.get(v).cloned().unwrap_or_default();
            places.extend((0..variable.columns.len()).map(|k| (v, k)));
            let mut node = RowNode {
                name: variable.name.clone(),
                lattice: ValueLattice::Any,
                range: (f64::NEG_INFINITY, f64::INFINITY),
                barred: None,
            };
            kinds.push(match &variable.form {
                VariableForm::Levels { seen, .. } => {
                    node.barred =
                        rules.missing.and_then(|code| seen.iter().position(|&l| l == code));
                    NodeKind::Levels(seen.len())
                }
                &VariableForm::Number { mean, sd, smallest, largest } => {
                    let mut sorted = training.columns.get(v).cloned().unwrap_or_default();
                    sorted.sort_unstable_by(f64::total_cmp);
                    node.range = (smallest, largest);
                    let cuts = match rules.bins {
                        None => Vec::new(),
                        Some(ColumnBins::Count(bins)) => equal_cuts(&sorted, bins.get() as usize),
                        Some(ColumnBins::Edges(edges)) => edges.iter().map(|e| e.get()).collect(),
                    };
                    if rules.ordinal {
                        sorted.dedup();
                        node.lattice = ValueLattice::Training(sorted);
                    } else if rules.whole {
                        node.lattice = ValueLattice::Whole;
                    }
                    NodeKind::Number { mean, sd, cuts }
                }
            });
            nodes.push(node);
        }
        let uniforms = NodeUniforms::new(settings.seed);
        RowMaker { encoding, sensitive, kinds, nodes, places, settings, uniforms, training }
    }

    /// The worlds of replicate `b`: for each list of parents, of nodes that follow from A only, the
    /// equations fitted on its rows, of which these are the moments.
    pub(crate) fn worlds(
        &self,
        moments: &EncodedMoments,
        (draws, b): (&BootstrapDraws, usize),
        moving: &[Vec<NodeSet>],
    ) -> Vec<RowWorld> {
        let mut linear = EquationCache::new(self.encoding, moments);
        let mut binned: BTreeMap<(usize, NodeSet), Arc<BinnedMechanism>> = BTreeMap::new();
        let times = &self.training.times(draws, b);
        let rows = ReplicateColumns { kinds: &self.kinds, columns: &self.training.columns, times };
        let mut of_world = |parents: &Vec<NodeSet>| {
            let order = Dag { parents: parents.clone() }.topological_order();
            let equation = |v: usize| {
                let linear = linear.equations(v, parents[v])?;
                let binned = self.settings.min_cell.map(|min_cell| {
                    let fit = || BinnedMechanism::fit(&rows, v, parents[v], min_cell);
                    Arc::clone(binned.entry((v, parents[v])).or_insert_with(|| Arc::new(fit())))
                });
                Some(RowEquation { node: v, parents: parents[v], linear, binned })
            };
            RowWorld(order.into_iter().filter_map(equation).collect())
        };
        moving.iter().map(&mut of_world).collect()
    }

    /// The uniform numbers of a person.
    pub(crate) fn uniforms(&self, row_key: u64) -> PersonUniforms {
        self.nodes.iter().map(|node| self.uniforms.of(row_key, &node.name)).collect()
    }

    /// The position of the level of A that has this code; none where no training row has it.
    pub(crate) fn group(&self, code: u32) -> Option<f64> {
        self.encoding.variables[self.sensitive].position_of(code).map(|at| at as f64)
    }

    /// The values of a person of `own` values with A at `target`, into `made`; `computed` is called
    /// for each node that gets its value by a step, with the evidence.
    pub(crate) fn make(
        &self,
        world: &RowWorld,
        own: &[f64],
        target: f64,
        uniforms: &PersonUniforms,
        made: &mut Vec<f64>,
        mut computed: impl FnMut(usize, MechanismStep, NodeEvidence<'_>),
    ) {
        made.clear();
        made.extend_from_slice(own);
        made[self.sensitive] = target;
        let (mut before, mut after, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for equation in &world.0 {
            let v = equation.node;
            let is_unseen = matches!(self.kinds[v], NodeKind::Levels(_)) && own[v] == UNSEEN;
            if is_unseen || equation.parents.into_iter().all(|p| made[p] == own[p]) {
                continue;
            }
            let cells =
                equation.binned.as_ref().and_then(|binned| binned.cells(&self.kinds, own, made));
            let step = cells.as_ref().map_or(MechanismStep::Linear, |cells| cells.step);
            let u = uniforms[v];
            made[v] = match &self.kinds[v] {
                NodeKind::Levels(_) => {
                    for (values, is_after, shares) in
                        [(own, false, &mut before), (&*made, true, &mut after)]
                    {
                        match &cells {
                            Some(cells) => cells.shares(values, is_after, shares),
                            None => self.linear_shares(&equation.linear, values, shares),
                        }
                        clip_shares(shares);
                    }
                    computed(v, step, NodeEvidence::Shares(&before, &after));
                    let level = own[v] as usize;
                    own_shares(&before, &after, level, self.nodes[v].barred, &mut shares);
                    draw_level(&shares, level, u) as f64
                }
                NodeKind::Number { sd, .. } => {
                    let y = match &cells {
                        Some(cells) => cells.number(v, own[v], own, made, u),
                        None => own[v] + sd * self.linear_move(&equation.linear, own, made),
                    };
                    computed(v, step, NodeEvidence::Number(y));
                    self.settle(v, own[v], y, u)
                }
            };
        }
    }

    /// A number after clipping and rounding; a number that did not move is unchanged.
    fn settle(&self, v: usize, own: f64, y: f64, u: f64) -> f64 {
        if !has_moved(own, y) {
            return own;
        }
        let node = &self.nodes[v];
        let y = match self.settings.clip {
            ClipRule::Range => y.max(own.min(node.range.0)).min(own.max(node.range.1)),
            ClipRule::None | ClipRule::Indicators => y,
        };
        node.lattice.round(y, own, u)
    }

    /// The value of encoded column `c` in a row of values.
    fn entry(&self, c: usize, values: &[f64]) -> f64 {
        let (v, k) = self.places[c];
        self.kinds[v].entry(k, values[v])
    }

    fn linear_shares(&self, equations: &VariableEquations, values: &[f64], shares: &mut Vec<f64>) {
        let share = |(intercept, coefficients): &(f64, Vec<f64>)| {
            let explained = equations.parents.iter().zip(coefficients);
            intercept + explained.map(|(&c, b)| b * self.entry(c, values)).sum::<f64>()
        };
        shares_of_levels(equations.columns.iter().map(share), shares);
    }

    /// The movement of a number, in standard deviations.
    fn linear_move(&self, equations: &VariableEquations, own: &[f64], made: &[f64]) -> f64 {
        let Some((_, coefficients)) = equations.columns.first() else { return 0.0 };
        let moved = equations.parents.iter().zip(coefficients);
        moved.map(|(&c, b)| b * self.movement(c, own, made)).sum()
    }

    /// Writes the values of a person that differ from `own` into row `i`, of which A is set
    /// already.
    pub(crate) fn write(&self, own: &[f64], made: &[f64], rows: &mut FeatureRows, i: usize) {
        for (v, variable) in self.encoding.variables.iter().enumerate() {
            if v != self.sensitive && made[v] != own[v] {
                variable.write(made[v], rows, i);
            }
        }
    }

    /// The movement of encoded column `c`.
    pub(crate) fn movement(&self, c: usize, own: &[f64], made: &[f64]) -> f64 {
        self.entry(c, made) - self.entry(c, own)
    }
}

impl RowWorld {
    /// The bytes that cells take; a shared mechanism is counted unless it is in `known`.
    pub(crate) fn memory(&self, known: &mut Vec<*const BinnedMechanism>) -> usize {
        let new_bytes = |binned: &Arc<BinnedMechanism>| {
            let at = Arc::as_ptr(binned);
            if known.contains(&at) {
                return 0;
            }
            known.push(at);
            binned.memory()
        };
        self.0.iter().filter_map(|equation| equation.binned.as_ref()).map(new_bytes).sum()
    }
}

impl CausalWorlds {
    /// The parents of each variable that follows from A, for every world, and then for every graph
    /// that was fitted on all training rows.
    pub(crate) fn moving_of_worlds(&self) -> (Vec<Vec<NodeSet>>, Vec<Vec<NodeSet>>) {
        let of_world = |world: &super::CausalWorld| {
            let members = &self.bag.replicates[world.replicate].members;
            moving_parents(&self.bag.dags[members[world.members[0]]], self.bag.sensitive)
        };
        let worlds: Vec<Vec<NodeSet>> = self.worlds.iter().map(of_world).collect();
        let mut on_all_rows = vec![Vec::new(); self.on_all_rows.len()];
        for (parents, &at) in worlds.iter().zip(&self.all_rows_of) {
            on_all_rows[at].clone_from(parents);
        }
        (worlds, on_all_rows)
    }
}
