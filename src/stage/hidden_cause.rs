//! The stage `hidden`: how an unrecorded cause could change the rates of a model across the graphs
//! of a set.
//!
//! What it reads of the model is in `linear_rates`. It also reads the graphs, and the training rows
//! once for the covariances of every bootstrap; nothing is searched, fitted or scored again.
//! Whether a verdict changes is decided by the rule of the gate itself (`gate::hidden_cause`).
//! Memory: the covariances of all bootstraps, see `causal::hidden_cause`.

use std::collections::{BTreeMap, BTreeSet};

use crate::causal::encoding::GraphVariable;
use crate::causal::graph::Dag;
use crate::causal::hidden_cause::{
    CauseBenchmark, ConditionalCovariance, HiddenReach, HiddenTarget, ScoredChange, may_follow,
    never_follow,
};
use crate::causal::knowledge::Knowledge;
use crate::causal::nodes::NodeSet;
use crate::counterfactual::graph_uncertain::CausalWorld;
use crate::counterfactual::graph_uncertain::knobs::HiddenCauseBlock;
use crate::error::Result;
use crate::exec::{StageContext, internal_error};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::hidden_cause as judging;
use crate::gate::question::GateQuestion;
use crate::gate::reason::GateStatus;
use crate::metric::rate::Undefined;
use crate::metric::value::hidden_cause::{
    HiddenPush, HiddenStrength, MovingWorld, middle_of_crossings, turning_point,
};
use crate::stage::applied_set::AppliedSet;
use crate::stage::discover::scenarios::{EncodedReplicates, graph_columns};
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::kinds::HiddenStage;
use crate::stage::linear_rates::{
    LinearRates, MarginRate, RateNumbers, linear_rates, moved_verdict, rate_folders,
};
use crate::stage::memory;
use crate::stage::row_context::RowContext;
use crate::stage::score::encoded_worlds::EncodedWorlds;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageFolders};
use crate::table::file::{read_rows, write_rows};
use crate::table::{ANY_TARGET, HiddenCauseRow, JudgedRateKey, MetricRow, finite};
use crate::unit::AuditUnit;

/// From this share of the graphs on, the case that a cause changes nothing there is counted.
const TOO_MANY_UNMOVED: f64 = 0.05;

/// The stages of all models and sets that ask about hidden causes.
pub(crate) fn hidden_folders(b: &mut StageBuilder<'_, '_>) -> Result<StageFolders> {
    rate_folders::<HiddenStage>(b, |_, _, graphs| graphs.hidden_cause().is_some())
}

/// The rows of all.
pub(crate) fn rows(ctx: &StageContext<'_>, of: &StageFolders) -> Result<Vec<HiddenCauseRow>> {
    let rows = of.open(ctx).into_iter().map(|(_, folder)| read_rows::<HiddenCauseRow>(folder));
    Ok(rows.collect::<Result<Vec<_>>>()?.concat())
}

impl Stage for HiddenStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let graphs = b.plan.set_of(unit)?.its_graphs()?;
        let (rows, rates) = linear_rates(b, unit, AppliedSet::graphs_unit)?;
        let Some(asked) = graphs.hidden_cause() else {
            return Err(internal_error(format!(
                "the set `{}` asks about no hidden cause",
                unit.set
            )));
        };
        b.value("hidden cause", asked);
        rows.work(1, move |ctx, row_context| {
            let rates = &rates(row_context)?;
            let scenario = rates.applied.scenario().1;
            let set = rates.scenario(ctx, rates.applied.set, scenario)?;
            let asking = HiddenAsking { asked, scenario, set: &set, rates, row_context };
            write_rows(ctx.out(), &asking.rows()?)
        })
    }
}

/// What is asked of one model and set.
struct HiddenAsking<'a> {
    asked: &'a HiddenCauseBlock,
    scenario: &'a str,
    set: &'a GraphSetScenario,
    rates: &'a LinearRates<'a>,
    row_context: RowContext<'a>,
}

/// Graphs of a world in which the same variables may follow, by the same equations.
#[derive(Debug, Clone)]
struct AlikeGraphs {
    copies: u64,
    /// Change of the log odds by the graph, for people of the first group of a pair in the second.
    movement: f64,
    /// None where the attribute is determined.
    reach: Option<HiddenReach>,
}

/// For each pair of declared groups, the first before the second, the graphs that saw both.
type GraphsOfPairs = BTreeMap<(usize, usize), Vec<AlikeGraphs>>;

/// One target in all graphs of a direction.
struct TargetWorlds {
    name: String,
    worlds: Vec<MovingWorld>,
    /// Strongest recorded variable, with the means over graphs.
    benchmark: Option<(String, CauseBenchmark)>,
}

impl HiddenAsking<'_> {
    /// The table.
    fn rows(&self) -> Result<Vec<HiddenCauseRow>> {
        let (encoded, weights) = match self.rates.encoded(&self.set.discovered.worlds) {
            Ok(known) => known,
            Err(why) => {
                return Ok(self.rates.rows().flat_map(|row| self.undefined(row, why)).collect());
            }
        };
        let people = self.rates.people(self.row_context, &encoded)?;
        let pairs = self.graphs(&encoded, &weights)?;
        let mut table = Vec::new();
        for rate in self.rates.rates(&people) {
            self.row_context.ctx.check()?;
            let (from, to) = rate.direction;
            let graphs = pairs.get(&(from.min(to), from.max(to))).map_or(&[][..], Vec::as_slice);
            if let Some(why) = self.unknown(rate.row, graphs) {
                table.extend(self.undefined(rate.row, &why));
                continue;
            }
            for target in self.targets(graphs, from > to) {
                table.extend(self.of_target(&rate, &target));
            }
        }
        Ok(table)
    }

    /// Why nothing is known about a rate; none where something is.
    fn unknown(&self, row: &MetricRow, graphs: &[AlikeGraphs]) -> Option<String> {
        let all: u64 = graphs.iter().map(|of| of.copies).sum();
        let unmoved = |of: &&AlikeGraphs| {
            let any = of.reach.iter().flat_map(|reach| reach.targets.first());
            any.into_iter().all(|target| target.unit == 0.0)
        };
        let unmoved: u64 = graphs.iter().filter(unmoved).map(|of| of.copies).sum();
        if all == 0 {
            Some(Undefined::NoTrainingRows.code().to_owned())
        } else if row.value.is_none() {
            Some(row.undefined.to_string())
        } else if graphs.iter().any(|of| of.reach.is_none()) {
            Some("attribute_determined".to_owned())
        } else if unmoved as f64 > TOO_MANY_UNMOVED * all as f64 || self.set.attribute_follows() {
            Some("nothing_follows".to_owned())
        } else {
            None
        }
    }

    /// What a hidden cause can do in every graph, for each pair of groups.
    fn graphs(&self, encoded: &EncodedWorlds<'_>, weights: &[f64]) -> Result<GraphsOfPairs> {
        let (row_context, rates) = (self.row_context, self.rates);
        let (attribute, worlds) = (&rates.attribute, &self.set.discovered.worlds);
        let names = rates.applied.graph_variables(rates.plan.job, rates.graphs);
        let (layout, position) = (row_context.rows.layout(), rates.applied.position);
        let (variables, sensitive) = graph_columns(layout, position, &names)?;
        let drawn_by = (rates.graphs, rates.seed, memory::allowed(rates.plan.settings));
        let replicates = EncodedReplicates::read(row_context, drawn_by, (&variables, sensitive))?;
        let (Some(replicates), Some(encoded_attribute)) = (replicates, worlds.attribute()) else {
            return Ok(GraphsOfPairs::new());
        };
        let never = never_follow(&self.knowledge(&variables)?, sensitive);
        let saw: Vec<Vec<bool>> =
            attribute.level_of_group.iter().map(|&code| worlds.saw(code).collect()).collect();
        // Each pair of groups with the change of the attribute's columns.
        let n_columns = encoded_attribute.columns.len();
        let place = |group: usize| encoded_attribute.position_of(attribute.level_of_group[group]);
        let n_groups = attribute.groups.len();
        let pairs = (0..n_groups).flat_map(|from| (from + 1..n_groups).map(move |to| (from, to)));
        let changes: Vec<((usize, usize), ScoredChange)> = pairs
            .filter_map(|(from, to)| {
                let (first, second) = place(from).zip(place(to))?;
                let mut contrast = vec![0.0; n_columns];
                if n_columns == 1 {
                    contrast[0] = second as f64 - first as f64;
                } else {
                    (contrast[first], contrast[second]) = (-1.0, 1.0);
                }
                let weights = weights.to_vec();
                Some(((from, to), ScoredChange { attribute: sensitive, contrast, weights }))
            })
            .collect();
        let mut by_replicate: Vec<Vec<(usize, &CausalWorld)>> =
            vec![Vec::new(); replicates.drawn().len()];
        for (w, world) in worlds.worlds.iter().enumerate() {
            by_replicate[world.replicate].push((w, world));
        }
        let mut all = GraphsOfPairs::new();
        row_context.pieces(by_replicate.len()).in_turn(
            |b| {
                let moments = &replicates.drawn()[b];
                let mut left = ConditionalCovariance::of_moments(&worlds.encoding, moments);
                let mut found = Vec::new();
                for &(w, world) in &by_replicate[b] {
                    let alike = self.alike(world, sensitive, never);
                    for (pair, change) in &changes {
                        if !saw[pair.0][w] || !saw[pair.1][w] {
                            continue;
                        }
                        let moves = encoded.movement(*pair, w).iter();
                        let movement: f64 = moves.map(|&(column, x)| weights[column] * x).sum();
                        for ((follow, _), (dag, copies)) in &alike {
                            let reach = left.reach(dag, *follow, change, self.asked.benchmark);
                            found.push((*pair, AlikeGraphs { copies: *copies, movement, reach }));
                        }
                    }
                }
                Ok((0, found))
            },
            |found| found.into_iter().for_each(|(pair, of)| all.entry(pair).or_default().push(of)),
        )?;
        Ok(all)
    }

    /// What is known of the graph.
    fn knowledge(&self, variables: &[GraphVariable]) -> Result<Knowledge> {
        let names: Vec<String> = variables.iter().map(|of| of.name.clone()).collect();
        let known = self.rates.graphs.knowledge.get(self.scenario);
        known.and_then(|known| Knowledge::new(&names, known).ok()).ok_or_else(|| {
            internal_error(format!("the set `{}` has no sound knowledge", self.set.name))
        })
    }

    /// The graphs of a world by what may follow from the attribute and by the parents of that: one
    /// of each kind, with how many they are.
    fn alike(
        &self,
        world: &CausalWorld,
        sensitive: usize,
        never: NodeSet,
    ) -> BTreeMap<(NodeSet, Vec<NodeSet>), (&Dag, u64)> {
        let bag = &self.set.discovered.worlds.bag;
        let mut alike = BTreeMap::new();
        for &member in &world.members {
            let dag = &bag.dags[bag.replicates[world.replicate].members[member]];
            let follow = may_follow(dag, sensitive, never);
            let parents = follow.into_iter().map(|v| dag.parents[v]).collect();
            alike.entry((follow, parents)).or_insert((dag, 0)).1 += 1;
        }
        alike
    }

    /// The targets in all graphs of a pair, for people of its first group, or `turned`.
    fn targets(&self, graphs: &[AlikeGraphs], turned: bool) -> Vec<TargetWorlds> {
        let reaches = || graphs.iter().filter_map(|of| Some((of, of.reach.as_ref()?)));
        let all: BTreeSet<HiddenTarget> =
            reaches().flat_map(|(_, reach)| reach.targets.iter().map(|of| of.target)).collect();
        let sign = if turned { -1.0 } else { 1.0 };
        let names = &self.set.discovered.worlds.bag.variables;
        let of_target = |target: HiddenTarget| {
            let own = |reach: &'_ HiddenReach| {
                reach.targets.iter().find(|of| of.target == target).cloned()
            };
            let world = |(of, reach): (&AlikeGraphs, &HiddenReach)| MovingWorld {
                copies: of.copies,
                movement: sign * of.movement,
                regression: sign * reach.regression,
                unit: own(reach).map_or(0.0, |of| of.unit),
            };
            // Means over the graphs in which a variable cannot follow.
            let mut sums: BTreeMap<usize, (f64, [f64; 3])> = BTreeMap::new();
            for (of, reach) in reaches() {
                for found in own(reach).into_iter().flat_map(|of| of.benchmarks) {
                    let (n, sum) = sums.entry(found.variable).or_default();
                    *n += of.copies as f64;
                    for (sum, x) in sum.iter_mut().zip([found.attribute, found.target, found.equal])
                    {
                        *sum += of.copies as f64 * x;
                    }
                }
            }
            let means = sums.into_iter().map(|(variable, (n, sums))| {
                let [attribute, target, equal] = sums.map(|sum| sum / n);
                CauseBenchmark { variable, attribute, target, equal }
            });
            // The first of equal ones.
            let strongest = means.reduce(|a, b| if b.equal > a.equal { b } else { a });
            TargetWorlds {
                name: match target {
                    HiddenTarget::Any => ANY_TARGET.to_owned(),
                    HiddenTarget::Variable(v) => names[v].clone(),
                },
                worlds: reaches().map(world).collect(),
                benchmark: strongest.map(|of| (names[of.variable].clone(), of)),
            }
        };
        all.into_iter().map(of_target).collect()
    }

    /// The rows of a rate of which nothing is known.
    fn undefined(&self, row: &MetricRow, why: &str) -> Vec<HiddenCauseRow> {
        let gates = std::iter::once(None).chain(self.rates.gates(row).map(Some));
        let of_gate = |question: Option<&GateQuestion>| {
            HiddenPush::ALL.map(|push| {
                let (numbers, verdict) =
                    (RateNumbers::measured(row), measured_verdict(question, row));
                let undefined = why.into();
                let of = row_of((row, question), (ANY_TARGET, push), numbers, verdict);
                HiddenCauseRow { undefined, ..of }
            })
        };
        gates.flat_map(of_gate).collect()
    }

    /// The rows of a rate and a target, without a gate and for each gate.
    fn of_target(&self, rate: &MarginRate<'_>, target: &TargetWorlds) -> Vec<HiddenCauseRow> {
        let all: u64 = target.worlds.iter().map(|of| of.copies).sum();
        let share = |of: &dyn Fn(&MovingWorld) -> f64| {
            target.worlds.iter().map(|world| world.copies as f64 * of(world)).sum::<f64>()
                / all as f64
        };
        let unit = share(&|world| world.unit);
        let moved = share(&|world| f64::from(u8::from(world.unit > 0.0)));
        let mut rows = Vec::new();
        for question in std::iter::once(None).chain(self.rates.gates(rate.row).map(Some)) {
            for push in HiddenPush::ALL {
                let turns = question.and_then(|question| {
                    Some((question, self.turns(rate, target, (question, push))?))
                });
                let [turns_at, reverses_at] = turns.map_or([None; 2], |(_, at)| at);
                let around = turns.filter(|_| turns_at.is_some()).and_then(|(question, _)| {
                    let kept = rate.row.value.is_some_and(|value| question.limit.kept_by(value));
                    let starts = |value| question.limit.kept_by(value) == kept;
                    let found = rate.people.crossings(rate.side, &target.worlds, push, starts);
                    middle_of_crossings(&found)
                });
                let benchmark = target.benchmark.as_ref();
                let needs = turns_at.zip(benchmark).map(|(s, (_, of))| {
                    let g_squared = s * s / (1.0 - s);
                    g_squared * (1.0 - of.attribute) / of.attribute
                });
                for strength in self.strengths(question) {
                    let numbers = self.numbers(rate, target, (strength, push));
                    let verdict = match question {
                        Some(question) if strength > 0.0 => {
                            moved_verdict(question, rate, numbers).word()
                        }
                        _ => measured_verdict(question, rate.row),
                    };
                    rows.push(HiddenCauseRow {
                        strength,
                        unit: finite(unit),
                        share_of_graphs: finite(moved),
                        turns_at,
                        turns_lo: around.map(|of| of.0),
                        turns_hi: around.map(|of| of.1),
                        reverses_at,
                        benchmark: benchmark.map_or("", |(name, _)| name.as_str()).into(),
                        benchmark_attribute: benchmark.map(|(_, of)| of.attribute),
                        benchmark_target: benchmark.map(|(_, of)| of.target),
                        benchmark_equal: benchmark.map(|(_, of)| of.equal),
                        needs_if_benchmark: needs.and_then(finite),
                        ..row_of((rate.row, question), (&target.name, push), numbers, verdict)
                    });
                }
            }
        }
        rows
    }

    /// The strengths of the rows of a gate, or of none: none at all first, then ascending.
    fn strengths(&self, question: Option<&GateQuestion>) -> Vec<f64> {
        let listed = self.asked.strengths.iter().map(|strength| strength.get());
        let withstands = question.and_then(|question| question.withstands);
        let mut all: Vec<f64> = std::iter::once(0.0).chain(listed).chain(withstands).collect();
        all.sort_unstable_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// A rate at a strength: without a hidden cause as it was measured.
    fn numbers(
        &self,
        rate: &MarginRate<'_>,
        target: &TargetWorlds,
        (strength, push): (f64, HiddenPush),
    ) -> RateNumbers {
        if strength == 0.0 {
            return RateNumbers::measured(rate.row);
        }
        self.rates.moved(rate, &target.worlds, (HiddenStrength::Share(strength), push), true)
    }

    /// The strength from which on the verdict of a gate differs, and the one from which on it is
    /// the opposite; each is none if that happens at no strength. There is no answer if the gate is
    /// inconclusive without a hidden cause.
    fn turns(
        &self,
        rate: &MarginRate<'_>,
        target: &TargetWorlds,
        (question, push): (&GateQuestion, HiddenPush),
    ) -> Option<[Option<f64>; 2]> {
        let base = judging::verdict(question, rate.row, None);
        let opposite = match base {
            GateStatus::Pass => GateStatus::Fail,
            GateStatus::Fail => GateStatus::Pass,
            _ => return None,
        };
        let precision = match question.decide_by {
            GateDecideBy::Interval => 1e-4,
            _ => 1e-12,
        };
        let by_people = question.decide_by != GateDecideBy::Worlds;
        let at = |strength| {
            let numbers = self.rates.moved(rate, &target.worlds, (strength, push), by_people);
            moved_verdict(question, rate, numbers)
        };
        let turns_at = turning_point(base, at, precision);
        let reverses_at =
            turns_at.and_then(|_| turning_point(false, |s| at(s) == opposite, precision));
        Some([turns_at, reverses_at])
    }
}

/// The verdict of the rule of a gate on a rate as it was measured; empty without a gate.
fn measured_verdict(question: Option<&GateQuestion>, row: &MetricRow) -> &'static str {
    question.map_or("", |question| judging::verdict(question, row, None).word())
}

/// What a row says about a rate, gate, target and push.
fn row_of(
    (row, question): (&MetricRow, Option<&GateQuestion>),
    (target, push): (&str, HiddenPush),
    numbers: RateNumbers,
    verdict: &str,
) -> HiddenCauseRow {
    HiddenCauseRow {
        key: JudgedRateKey::new(row, question.map_or("", |question| question.name.as_str())),
        target: target.into(),
        push: push.word().into(),
        value: numbers.value,
        world_lo: numbers.graphs.map(|of| of.0),
        world_hi: numbers.graphs.map(|of| of.1),
        lo: numbers.people.map(|of| of.0),
        hi: numbers.people.map(|of| of.1),
        verdict: verdict.into(),
        ..HiddenCauseRow::default()
    }
}
