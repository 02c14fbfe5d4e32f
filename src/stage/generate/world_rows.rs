//! The stage `generate` of a graph-uncertain set whose levels are drawn: the rows that a
//! person has in any world, each written once, and which of them each world has.
//!
//! The equations are fitted again on the bootstraps that the stage `discover` drew; the graphs
//! themselves are read, not searched again. The rows of a person and target group get `cf_index` in
//! the order of the first world that has them; graphs fitted on all training rows come after the
//! worlds, and their rows too. How far columns move on average is kept world by world.
//! Memory: the training rows, the mechanisms of all worlds (16 bytes for each row of a numeric
//! node's cells), and one row group per thread.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::causal::encoding::{EncodedVariable, MissingRows};
use crate::causal::nodes::NodeSet;
use crate::counterfactual::graph_uncertain::CausalWorlds;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::counterfactual::graph_uncertain::mechanism::EquationKind;
use crate::counterfactual::graph_uncertain::rows::{
    NodeRules, RowMaker, RowSettings, RowWorld, StepCounts, TrainingColumns, node_values,
};
use crate::data::rows::Projection;
use crate::data::rows::aligned::{
    CounterfactualKeys, NO_ROW, SUPPORT, WORLD_ROWS, create_counterfactuals, keys_in_other_groups,
};
use crate::data::{FeatureColumn, FeatureKind, FeatureRows, Layout};
use crate::error::{Fault, Result};
use crate::exec::{StageContext, files, internal_error};
use crate::num::additive::{Additive, additive};
use crate::num::fixed::FixedSum;
use crate::stage::applied_set::AppliedSet;
use crate::stage::discover::scenarios::{EncodedReplicates, graph_columns};
use crate::stage::generate::basis::{LearningReference, RowClasses};
use crate::stage::generate::rows::{self, GenerationSums};
use crate::stage::generate::support::SupportTests;
use crate::stage::generate::world_support;
use crate::stage::kinds::{DiscoverStage, GenerateStage, SupportStage};
use crate::stage::memory;
use crate::stage::memory::refuse_memory;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::worlds::missing_variable;
use crate::stage::stage_builder::{Planned, StageBuilder, StageInput};

/// File of the stage that says how rows moved.
const WORLD_ROWS_FILE: &str = "world-rows.json";

/// How the people of one group moved to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PairMovement {
    people: u64,
    /// World by world, for each encoded column the sum of the movements of people, in standard
    /// deviations or shares.
    moved: Vec<FixedSum>,
    /// For each variable how many values cells, cells of levels only and the equation gave.
    pub(crate) steps: StepCounts,
}

additive!(PairMovement { people, moved, steps });

impl PairMovement {
    /// The mean over people of the movement of a column, by its place among those of all worlds;
    /// none without people.
    pub(crate) fn mean(&self, place: usize) -> Option<f64> {
        let moved = self.moved.get(place).filter(|_| self.people > 0)?;
        Some(moved.to_f64() / self.people as f64)
    }
}

impl StageInput<GenerateStage> {
    /// How the rows of a graph-uncertain set moved, by pair of declared groups: at from * groups +
    /// to.
    pub(crate) fn world_rows(&self, ctx: &StageContext<'_>) -> Result<Vec<PairMovement>> {
        self.read(ctx, WORLD_ROWS_FILE)
    }
}

/// The work of the stage.
pub(crate) fn plan_world_rows<'a>(
    applied: &AppliedSet<'a>,
    graphs: &'a GraphUncertainBlock,
    b: &mut StageBuilder<'_, 'a>,
) -> Planned<'a> {
    let plan = b.plan;
    let rows = RowInputs::of_job(b)?;
    let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
    let (reference, support) =
        (plan.need_reference(b)?, b.need::<SupportStage>(&applied.split_unit())?);
    b.value("levels", graphs.levels);
    b.value("mechanism", graphs.equations());
    b.value("clip", graphs.clip_rule());
    b.value("missing", graphs.missing);
    b.value("strata", graphs.stratify);
    b.input("data.missing.nominal", |job| job.data.missing.nominal);
    b.seed();
    let (position, (set, scenario)) = (applied.position, applied.scenario());
    b.texts([("scenario".to_owned(), scenario.to_owned())]);
    rows.work(1, move |ctx, row_context| {
        let found = found.open(ctx, scenario)?;
        let reference = reference.as_ref().map(|stage| stage.open(ctx)).transpose()?;
        let basis = LearningReference::new(row_context, reference, RowClasses::Label)?;
        let tests = support.tests(ctx, plan, (row_context.rows.layout(), position))?;
        let worlds = &found.worlds;
        let writing = WorldRowWriting { plan, row_context, position, graphs, worlds, tests };
        writing.write(&basis).map_err(|e| {
            plan.with_model_place(e, &["counterfactuals", set, GraphUncertainBlock::WORD])
        })
    })
}

/// Writes the rows of one set.
struct WorldRowWriting<'a> {
    plan: &'a StagePlan<'a>,
    row_context: RowContext<'a>,
    /// Position of the attribute.
    position: usize,
    graphs: &'a GraphUncertainBlock,
    worlds: &'a CausalWorlds,
    /// The test of what is written.
    tests: Option<SupportTests>,
}

/// The rows of one row group.
#[derive(Default)]
struct MadeRows {
    keys: CounterfactualKeys,
    /// The own values and those made, of each row.
    values: Vec<(usize, Vec<f64>)>,
    own: Vec<Vec<f64>>,
    reached: Vec<u16>,
}

impl WorldRowWriting<'_> {
    fn write(&self, basis: &LearningReference<'_>) -> Result<()> {
        let (row_context, position) = (self.row_context, self.position);
        let (ctx, layout) = (row_context.ctx, row_context.rows.layout());
        let encoding = &self.worlds.encoding;
        // If a group has no training row there are no graphs, and no rows.
        let making = if self.worlds.worlds.is_empty() { None } else { Some(self.maker()?) };
        let write_backs = rows::write_backs(row_context, basis, position)?;
        let groups = layout.attributes[position].groups.len();
        let nobody = PairMovement {
            people: 0,
            moved: vec![FixedSum::ZERO; self.worlds.worlds.len() * encoding.width()],
            steps: vec![[0; 3]; encoding.variables.len()],
        };
        let none = vec![nobody; groups * groups];
        let (encoder, mut writer) = create_counterfactuals(ctx.out(), Some(layout), false)?;
        let (reach_encoder, mut reach_writer) = WORLD_ROWS.create(ctx.out())?;
        let (support_encoder, mut support_writer) = SUPPORT.create(ctx.out())?;
        let no_support = self.tests.as_ref().map(SupportTests::no_sums).unwrap_or_default();
        let (mut all, mut support) = (none.clone(), no_support.clone());
        row_context.row_groups().in_order(
            |g| {
                let (batch, roles) = row_context.read(g, Projection::ALL)?;
                let mut sums = none.clone();
                let mut made = MadeRows::default();
                let groups_of_rows = &batch.groups[position];
                let people = making
                    .iter()
                    .flat_map(|of| roles.people(groups_of_rows).map(move |person| (of, person)));
                for ((maker, worlds), (i, own, _)) in people {
                    let others = (0..groups).filter(|&to| to != usize::from(own)).count();
                    if !encoding.is_complete(&batch.rows, i) {
                        if self.graphs.missing == MissingRows::Error {
                            return Err(missing_variable(&batch, i));
                        }
                        made.reached.extend(vec![NO_ROW; others * worlds.len()]);
                        continue;
                    }
                    let person = (i, usize::from(own), batch.row_key[i]);
                    let values = node_values(encoding, &batch.rows, i);
                    self.person((maker, worlds), (person, values), &mut made, &mut sums)?;
                }
                let parents: Vec<usize> = made.keys.parent.iter().map(|&p| p as usize).collect();
                let mut written = batch.rows.take(&parents);
                if let Some((maker, _)) = &making {
                    self.fill(maker, &made, &mut written);
                }
                rows::write_back(&write_backs, &roles, &batch, position, &made.keys, &mut written);
                let keys = keys_in_other_groups(groups, &roles, &batch.groups[position]);
                let mut tested = no_support.clone();
                let bits = self.tests.as_ref().map_or_else(Vec::new, |tests| {
                    let (of, rows) = ((&batch, &roles), (&made.keys, &written));
                    let reached = (made.reached.as_slice(), self.worlds);
                    world_support::of_written(tests, of, &keys, rows, reached, &mut tested)
                });
                let n = made.keys.parent.len() as u64;
                let encoded = encoder.encode(made.keys, None, written)?;
                let beside = (reach_encoder.encode(made.reached)?, support_encoder.encode(bits)?);
                Ok((n, (encoded, beside, (sums, tested))))
            },
            |_, (encoded, (reached, unsupported), (sums, tested))| {
                all.absorb(&sums);
                support.absorb(&tested);
                reach_writer.append(reached)?;
                support_writer.append(unsupported)?;
                writer.append(encoded)
            },
        )?;
        writer.finish()?;
        reach_writer.finish()?;
        support_writer.finish()?;
        let unsupported = self.tests.as_ref().map(|tests| tests.found(&support));
        let effects = (&[][..], unsupported.unwrap_or_default());
        rows::write_effects(layout, position, &GenerationSums::default(), effects, ctx.out())?;
        files::write_compact(&ctx.out().join(WORLD_ROWS_FILE), &all)
    }

    /// How rows are made, and the worlds with their mechanisms, graphs on all training rows last.
    fn maker(&self) -> Result<(RowMaker<'_>, Vec<RowWorld>)> {
        let (row_context, worlds, position) = (self.row_context, self.worlds, self.position);
        let layout = row_context.rows.layout();
        let sensitive = worlds.bag.sensitive;
        let (graphs, memory) = (self.graphs, memory::allowed(self.plan.settings));
        let seed = self.plan.job.run.seed;
        let (variables, _) = graph_columns(layout, position, &worlds.bag.variables)?;
        let drawn_by = (graphs, seed, memory);
        let found = EncodedReplicates::read(row_context, drawn_by, (&variables, sensitive))?;
        let found = found.filter(|found| found.encoding == worlds.encoding);
        let other_rows = || internal_error("the graphs are of other training rows".to_owned());
        let EncodedReplicates { blocks, draws, moments, .. } = found.ok_or_else(other_rows)?;
        let rows = row_context.training(0);
        let training = TrainingColumns::read(&worlds.encoding, &blocks, &rows)?;
        let equations = self.graphs.equations();
        let settings = RowSettings {
            clip: self.graphs.clip_rule(),
            min_cell: match &equations {
                EquationKind::Linear => None,
                EquationKind::Binned(cells) => Some(cells.min_cell.get()),
            },
            seed: seed.0,
        };
        let rules = self.rules(layout, &equations);
        let maker = RowMaker::new(&worlds.encoding, sensitive, &rules, training, settings);
        let (moving, on_all_rows) = worlds.moving_of_worlds();
        // The worlds of each replicate are next to each other.
        let mut parts: Vec<(usize, &[Vec<NodeSet>])> = Vec::new();
        let mut start = 0;
        for of_replicate in worlds.worlds.chunk_by(|a, b| a.replicate == b.replicate) {
            let end = start + of_replicate.len();
            parts.push((of_replicate[0].replicate, &moving[start..end]));
            start = end;
        }
        parts.push((moments.len() - 1, &on_all_rows));
        let (mut made, mut taken) = (Vec::new(), 0);
        row_context.pieces(parts.len()).in_order(
            |k| {
                let (b, moving) = parts[k];
                let part = maker.worlds(&moments[b], (&draws, b), moving);
                let mut known = Vec::new();
                let bytes: usize = part.iter().map(|world| world.memory(&mut known)).sum();
                Ok((0, (part, bytes)))
            },
            |_, (part, bytes)| {
                taken += bytes as u64;
                made.extend(part);
                let what = |taken, allowed| {
                    format!(
                        "the cells of all graphs take more than {taken}; the run may take {allowed}"
                    )
                };
                let hint = "take fewer `bootstraps`, write `mechanism: linear`, or allow more with \
                            `--memory`";
                refuse_memory((taken, memory), "too-many-graphs", what, hint)
            },
        )?;
        Ok((maker, made))
    }

    /// What the job and the layout say about the variables.
    fn rules(&self, layout: &Layout, equations: &EquationKind) -> Vec<NodeRules> {
        let bins = |name: &str| match equations {
            EquationKind::Linear => None,
            EquationKind::Binned(cells) => cells.bins.of(name),
        };
        let missing_level = self.plan.extras(layout).missing_level;
        let rule = |variable: &EncodedVariable| {
            let feature = &layout.features[variable.feature];
            let mut levels = (0..).zip(&feature.levels);
            NodeRules {
                whole: matches!(feature.kind, FeatureKind::Continuous { integer: true }),
                ordinal: matches!(
                    feature.kind,
                    FeatureKind::OrdinalNumber | FeatureKind::OrdinalLevel
                ),
                missing: levels.find(|of| Some(of.1) == missing_level.as_ref()).map(|of| of.0),
                bins: bins(&variable.name),
            }
        };
        self.worlds.encoding.variables.iter().map(rule).collect()
    }

    /// The rows of one person in every target group.
    fn person(
        &self,
        (maker, worlds): (&RowMaker<'_>, &[RowWorld]),
        ((i, own, key), values): ((usize, usize, u64), Vec<f64>),
        made: &mut MadeRows,
        sums: &mut [PairMovement],
    ) -> Result<()> {
        let attribute = &self.row_context.rows.layout().attributes[self.position];
        let (codes, groups) = (&attribute.level_of_group, attribute.groups.len());
        let (uniforms, width) = (maker.uniforms(key), self.worlds.encoding.width());
        let saw_own: Vec<bool> = self.worlds.saw(codes[own]).collect();
        let person = made.own.len();
        let mut row = Vec::new();
        for to in (0..groups).filter(|&to| to != own) {
            let saw = self.worlds.saw(codes[to]).zip(&saw_own).map(|(a, b)| a && *b);
            let target = maker.group(codes[to]);
            let pair = &mut sums[own * groups + to];
            pair.people += 1;
            let mut known: HashMap<Vec<u64>, u16> = HashMap::new();
            for (w, (world, saw)) in worlds.iter().zip(saw).enumerate() {
                let Some(target) = target.filter(|_| saw) else {
                    made.reached.push(NO_ROW);
                    continue;
                };
                let is_world = w < self.worlds.worlds.len();
                maker.make(world, &values, target, &uniforms, &mut row, |v, step, _| {
                    pair.steps[v][step as usize] += u64::from(is_world);
                });
                if is_world {
                    for c in 0..width {
                        let moved = maker.movement(c, &values, &row);
                        if moved != 0.0 {
                            pair.moved[w * width + c].add_wide(moved);
                        }
                    }
                }
                let next = u16::try_from(known.len()).ok().filter(|next| *next != NO_ROW);
                let bits = row.iter().map(|x| x.to_bits()).collect();
                let index = match (known.get(&bits), next) {
                    (Some(&index), _) => index,
                    (None, Some(next)) => {
                        known.insert(bits, next);
                        made.keys.parent.push(u32::try_from(i).unwrap_or(u32::MAX));
                        made.keys.to_group.push(u16::try_from(to).unwrap_or(u16::MAX));
                        made.keys.cf_index.push(next);
                        made.values.push((person, row.clone()));
                        next
                    }
                    (None, None) => {
                        let what = "a person has more than 65,535 different rows in one group";
                        let hint = "take fewer `bootstraps`, or add knowledge";
                        return Fault::new("too-many-graphs", what).fail(hint);
                    }
                };
                made.reached.push(index);
            }
        }
        made.own.push(values);
        Ok(())
    }

    /// Writes what was made into copies of the rows of the people.
    fn fill(&self, maker: &RowMaker<'_>, made: &MadeRows, written: &mut FeatureRows) {
        let attribute = &self.row_context.rows.layout().attributes[self.position];
        if let Some(column) = written.columns.get_mut(attribute.feature) {
            let level = |&to: &u16| attribute.level_of_group[usize::from(to)];
            *column = FeatureColumn::Code(made.keys.to_group.iter().map(level).collect());
        }
        for (i, (person, values)) in made.values.iter().enumerate() {
            maker.write(&made.own[*person], values, written, i);
        }
    }
}
