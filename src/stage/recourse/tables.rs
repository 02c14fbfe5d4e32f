//! Writes what a comparison of two groups found: the tables of recourse, in the order of their
//! keys.
//!
//! The long ones (`subgroups`, `actions`, `ecd`) go to disk block by block; nothing here computes
//! but shares of counts.

use std::path::Path;

use crate::error::Result;
use crate::exec::StageContext;
use crate::recourse::AuditedRows;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::chance::false_discoveries;
use crate::recourse::definition::{RecourseDefinition, trade_off_bound};
use crate::recourse::effect::ActionEffects;
use crate::recourse::exact::ExactRatio;
use crate::recourse::feature::LevelDistance;
use crate::recourse::feature::LevelScale;
use crate::recourse::groups::GroupPair;
use crate::recourse::knobs::OverlapRule;
use crate::recourse::overlap::{ListedSubgroup, merge_overlapping};
use crate::recourse::overview::{agreement, analysis};
use crate::recourse::rank::DefinitionRanking;
use crate::recourse::sentence::{ActionLine, GroupSentence, SubgroupSentence};
use crate::recourse::steps::COST_UNIT;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::recourse::people::may_move;
use crate::table::file::{LongColumn, LongWriter, write_frame};
use crate::table::recourse::{
    ACTIONS, AGGREGATED_RANKINGS, COMPARATIVES, ECD, RANKING_ANALYSIS, RECOURSE, RECOURSE_COLUMNS,
    SUBGROUPS,
};
use crate::table::{TableCell, TableFrame};

/// Rows of a long table in one go: their texts are numbered with 16 bits.
const BLOCK: usize = 16_384;

/// Actions that are listed for a group of a shown subgroup; of more, those that help more than any
/// cheaper one.
const LINES: usize = 8;

/// What a comparison found.
pub struct ComparisonResult<'a> {
    /// Subgroups and actions.
    pub plan: &'a RecoursePlan<'a>,
    /// What the actions do.
    pub effects: &'a ActionEffects,
    /// Verdicts, a definition and view each.
    pub judged: &'a [DefinitionRanking],
    /// Pairs of a person and a set of changes.
    pub asked: usize,
    /// For each subgroup with actions the p-values of all questions; none where chance was not
    /// asked for.
    pub p: Option<&'a [Vec<f64>]>,
}

/// The tables while they are written.
pub struct RecourseWriter<'a> {
    block: &'a RecourseInputs<'a>,
    out: &'a Path,
    subgroups: LongWriter,
    actions: LongWriter,
    ecd: LongWriter,
    recourse: TableFrame,
    comparatives: TableFrame,
    analysis: TableFrame,
    rankings: TableFrame,
}

fn cost_of(units: i64) -> f64 {
    units as f64 / COST_UNIT as f64
}

fn constant(text: &str) -> LongColumn {
    LongColumn::Constant(text.to_owned())
}

fn counts(values: impl Iterator<Item = u32>) -> LongColumn {
    LongColumn::Int(values.map(|n| Some(i64::from(n))).collect())
}

/// One text per row.
fn texts(texts: Vec<String>) -> LongColumn {
    let at = (0..=u16::MAX).take(texts.len()).collect();
    LongColumn::Text(texts, at)
}

impl<'a> RecourseWriter<'a> {
    /// Creates the tables in a folder and tells of the columns.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn create(out: &'a Path, block: &'a RecourseInputs<'a>) -> Result<RecourseWriter<'a>> {
        let mut columns = TableFrame::new(&RECOURSE_COLUMNS);
        for (feature, told) in block.people.audited.features.iter().zip(&block.people.columns) {
            let scale = match feature.scale {
                LevelScale::Nominal => "nominal",
                LevelScale::Ordered => "ordered",
                LevelScale::Numbers(_) => "numbers",
            };
            let moves = may_move(feature);
            let distance = match feature.cost.distance {
                _ if !moves => "",
                LevelDistance::Unit => "unit",
                LevelDistance::Positions => "positions",
                LevelDistance::RangeShare => "range-share",
                LevelDistance::Absolute => "absolute",
            };
            let without = feature.missing.map_or(0, |missing| {
                feature.codes.iter().filter(|code| **code == missing).count() as u64
            });
            columns.push(vec![
                block.attribute.name.as_str().into(),
                feature.name.as_str().into(),
                scale.into(),
                (feature.levels.len() as u64 - u64::from(feature.missing.is_some())).into(),
                TableCell::Int(i64::from(moves)),
                told.rule.as_str().into(),
                distance.into(),
                TableCell::Real(feature.cost.weight),
                (without - told.outside.min(without)).into(),
                told.outside.into(),
            ]);
        }
        write_frame(out, &columns)?;
        Ok(RecourseWriter {
            block,
            out,
            subgroups: LongWriter::create(out, &SUBGROUPS)?,
            actions: LongWriter::create(out, &ACTIONS)?,
            ecd: LongWriter::create(out, &ECD)?,
            recourse: TableFrame::new(&RECOURSE),
            comparatives: TableFrame::new(&COMPARATIVES),
            analysis: TableFrame::new(&RANKING_ANALYSIS),
            rankings: TableFrame::new(&AGGREGATED_RANKINGS),
        })
    }

    /// Tells of a pair of groups of which one has nobody to help.
    pub fn empty_pair(&mut self, pair: &GroupPair, audited: &AuditedRows) {
        let affected = |g: usize| {
            let rows = audited.groups.iter().zip(&audited.favourable);
            rows.filter(|(group, favourable)| {
                !**favourable && group.is_some_and(|group| pair.members[g].contains(&group))
            })
            .count() as u64
        };
        let unaffected = audited
            .groups
            .iter()
            .zip(&audited.favourable)
            .filter(|(group, f)| **f && group.is_some())
            .count() as u64;
        let mut row = self.key(&pair.names);
        row.extend([self.block.recourse.model.as_str().into(), "no_affected_rows".into()]);
        row.extend([affected(0), affected(1), unaffected].map(TableCell::from));
        row.extend([0_u64; 8].map(TableCell::from));
        row.push(self.deals());
        self.recourse.push(row);
    }

    fn deals(&self) -> TableCell {
        self.block.recourse.chance.map(|chance| chance.deals.get()).into()
    }

    fn key(&self, names: &[String; 2]) -> Vec<TableCell> {
        [self.block.attribute.name.as_str(), &names[0], &names[1]].map(TableCell::from).into()
    }

    fn long_key(&self, found: &ComparisonResult<'_>) -> Vec<LongColumn> {
        let [a, b] = &found.plan.population().names;
        vec![constant(&self.block.attribute.name), constant(a), constant(b)]
    }

    /// Writes what a comparison found.
    ///
    /// # Errors
    /// The disk refuses, or the run is to stop.
    pub fn write(&mut self, found: &ComparisonResult<'_>, ctx: &StageContext<'_>) -> Result<()> {
        self.comparison(found);
        // Rows are sorted by key: definition, parameter, view.
        let mut order: Vec<usize> = (0..found.judged.len()).collect();
        let key = |q: usize| {
            let question = found.judged[q].criterion;
            (question.definition.id(), question.definition.parameter(), question.view.id())
        };
        order.sort_by_key(|&q| key(q));
        let traits: Vec<String> =
            (0..found.plan.n_subgroups()).map(|subgroup| found.plan.text(subgroup)).collect();
        for &q in &order {
            ctx.check()?;
            let judged = &found.judged[q];
            let keep = usize::try_from(self.block.recourse.keep.per_definition.get())
                .unwrap_or(usize::MAX);
            let places: Vec<ListedSubgroup> = match self.block.recourse.keep.overlapping {
                OverlapRule::Merge => merge_overlapping(found.plan, judged, keep),
                OverlapRule::Keep => judged
                    .ranked()
                    .take(keep)
                    .map(|verdict| ListedSubgroup { subgroup: verdict.subgroup, merged_into: None })
                    .collect(),
            };
            self.verdicts(found, q, &places, &traits)?;
            self.comparatives(found, judged, &places);
            self.overview(found, judged);
        }
        ctx.check()?;
        self.actions(found)?;
        self.ecd(found)
    }

    /// Writes the small tables and the ends of the long ones.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn finish(self) -> Result<()> {
        for frame in [&self.recourse, &self.comparatives, &self.analysis, &self.rankings] {
            write_frame(self.out, frame)?;
        }
        self.subgroups.finish()?;
        self.actions.finish()?;
        self.ecd.finish()
    }

    fn comparison(&mut self, found: &ComparisonResult<'_>) {
        let plan = found.plan;
        let with_actions = (0..plan.n_subgroups()).filter(|&s| !plan.actions(s).is_empty()).count();
        let mut row = self.key(&plan.population().names);
        let undefined = if plan.population().unaffected() == 0 { "no_unaffected_rows" } else { "" };
        row.extend([self.block.recourse.model.as_str().into(), undefined.into()]);
        row.extend(plan.population().n.map(|n| TableCell::Int(n.into())));
        row.push((plan.population().unaffected() as u64).into());
        row.extend(plan.min_affected.map(|n| TableCell::Int(n.into())));
        row.push(TableCell::Int(plan.min_unaffected.into()));
        row.extend(
            [plan.n_subgroups(), with_actions, plan.n_actions(), plan.n_changes(), found.asked]
                .map(|n| TableCell::from(n as u64)),
        );
        row.push(self.deals());
        self.recourse.push(row);
    }

    /// All subgroups under one definition.
    fn verdicts(
        &mut self,
        found: &ComparisonResult<'_>,
        q: usize,
        places: &[ListedSubgroup],
        traits: &[String],
    ) -> Result<()> {
        let (plan, judged) = (found.plan, &found.judged[q]);
        let question = judged.criterion;
        let n_all = plan.n_subgroups();
        let mut place_of = vec![None; n_all];
        let mut merged_into = vec![None; n_all];
        let mut next = 0;
        for place in places {
            merged_into[place.subgroup as usize] = place.merged_into.map(i64::from);
            if place.merged_into.is_none() {
                next += 1;
                place_of[place.subgroup as usize] = Some(next);
            }
        }
        let p: Option<Vec<f64>> =
            found.p.map(|p| p.iter().map(|of_subgroup| of_subgroup[q]).collect());
        let discoveries = p.as_deref().map(false_discoveries);
        let is_trade_off = question.definition == RecourseDefinition::FairTradeOff;
        let alpha = self.block.recourse.alpha.get();
        let (names, of) = (&plan.population().names, plan.population().n);
        // Verdicts stand in the order of the subgroups, for those with actions.
        let mut verdicts = judged.verdicts.iter().enumerate().peekable();
        for start in (0..n_all).step_by(BLOCK) {
            let range = start..n_all.min(start + BLOCK);
            let of_block: Vec<_> = range
                .clone()
                .map(|s| verdicts.next_if(|(_, verdict)| verdict.subgroup as usize == s))
                .collect();
            let number = |value: &dyn Fn(usize) -> f64| {
                LongColumn::Real(
                    of_block.iter().map(|v| v.map_or(f64::NAN, |(i, _)| value(i))).collect(),
                )
            };
            let coverage = |g: usize| {
                LongColumn::Real(
                    range
                        .clone()
                        .map(|s| f64::from(plan.n(s)[g]) / f64::from(of[g].max(1)))
                        .collect(),
                )
            };
            let verdict = |i: usize| &judged.verdicts[i];
            let against = of_block
                .iter()
                .map(|v| v.and_then(|(_, verdict)| verdict.worse_group).map_or(2, u16::from))
                .collect();
            let bound = range.clone().zip(&of_block).map(|(s, v)| match v {
                Some(_) if is_trade_off => trade_off_bound(plan.n(s), alpha),
                _ => f64::NAN,
            });
            let chance = |values: &Option<Vec<f64>>| {
                LongColumn::Real(
                    of_block
                        .iter()
                        .map(|v| v.and_then(|(i, _)| Some(values.as_ref()?[i])).unwrap_or(f64::NAN))
                        .collect(),
                )
            };
            let mut columns = self.long_key(found);
            columns.extend([
                constant(question.definition.id()),
                constant(&question.definition.parameter()),
                constant(question.view.id()),
            ]);
            columns.extend([
                LongColumn::Int(range.clone().map(|s| Some(s as i64)).collect()),
                texts(traits[range.clone()].to_vec()),
                counts(range.clone().map(|s| plan.n(s)[0])),
                counts(range.clone().map(|s| plan.n(s)[1])),
                coverage(0),
                coverage(1),
                counts(range.clone().map(|s| plan.actions(s).len() as u32)),
                number(&|i| verdict(i).values[0]),
                number(&|i| verdict(i).values[1]),
                number(&|i| verdict(i).score),
                LongColumn::Text(
                    vec![String::new(), "no_actions".to_owned()],
                    of_block.iter().map(|v| u16::from(v.is_none())).collect(),
                ),
                LongColumn::Int(
                    of_block
                        .iter()
                        .map(|v| v.and_then(|(_, verdict)| verdict.rank).map(i64::from))
                        .collect(),
                ),
                LongColumn::Text(vec![names[0].clone(), names[1].clone(), String::new()], against),
                number(&|i| verdict(i).cost.map_or(f64::NAN, cost_of)),
                LongColumn::Real(bound.collect()),
                LongColumn::Int(place_of[range.clone()].to_vec()),
                LongColumn::Int(merged_into[range.clone()].to_vec()),
                chance(&p),
                chance(&discoveries),
            ]);
            self.subgroups.push(range.len(), columns)?;
        }
        Ok(())
    }

    /// The shown subgroups with the actions that the definition speaks of.
    fn comparatives(
        &mut self,
        found: &ComparisonResult<'_>,
        judged: &DefinitionRanking,
        places: &[ListedSubgroup],
    ) {
        let question = judged.criterion;
        let shown = places.iter().filter(|place| place.merged_into.is_none());
        for (place, subgroup) in (1_i64..).zip(shown.map(|place| place.subgroup)) {
            let sentence =
                SubgroupSentence::new(found.plan, found.effects, question, subgroup as usize);
            let first = found.plan.actions(subgroup as usize).start;
            for (side, half) in (0_i64..).zip(&sentence.groups) {
                let listed = listed_lines(half);
                let no_action = match (listed.is_empty(), half.lines.is_empty()) {
                    (false, _) => "",
                    (true, true) => "none_meets",
                    (true, false) => "none_helps",
                };
                let lines = if listed.is_empty() {
                    vec![None]
                } else {
                    listed.into_iter().map(Some).collect()
                };
                for (number, line) in (0_i64..).zip(lines) {
                    let mut row = self.key(&found.plan.population().names);
                    row.extend([
                        question.definition.id().into(),
                        question.definition.parameter().into(),
                        question.view.id().into(),
                    ]);
                    row.extend([
                        TableCell::Int(place),
                        TableCell::Int(side),
                        TableCell::Int(number),
                        TableCell::Int(subgroup.into()),
                        TableCell::Int(half.n.into()),
                    ]);
                    row.extend([
                        line.map(|line| (line.action - first) as u64).into(),
                        line.map_or_else(String::new, |line| found.plan.changes_text(line.action))
                            .into(),
                        line.map(|line| cost_of(line.cost)).into(),
                        line.map(|line| u64::from(line.n_helped)).into(),
                        line.map(|line| u64::from(line.n_helped_cumulative)).into(),
                        (half.lines.len() as u64).into(),
                        no_action.into(),
                    ]);
                    self.comparatives.push(row);
                }
            }
        }
    }

    /// The rows of the overviews for one definition.
    fn overview(&mut self, found: &ComparisonResult<'_>, judged: &DefinitionRanking) {
        let names = &found.plan.population().names;
        let of = |judged: &DefinitionRanking| -> Vec<TableCell> {
            let definition = judged.criterion.definition;
            vec![
                definition.id().into(),
                definition.parameter().into(),
                judged.criterion.view.id().into(),
            ]
        };
        let a = analysis(judged);
        let rejects =
            (judged.criterion.definition == RecourseDefinition::FairTradeOff).then(|| {
                let bound = |subgroup: u32| {
                    trade_off_bound(
                        found.plan.n(subgroup as usize),
                        self.block.recourse.alpha.get(),
                    )
                };
                judged
                    .verdicts
                    .iter()
                    .filter(|verdict| verdict.score >= bound(verdict.subgroup))
                    .count() as u64
            });
        let mut row = [self.key(names), of(judged)].concat();
        let numbers = [
            judged.verdicts.len() as u32,
            a.unfair,
            a.all_against[0],
            a.all_against[1],
            a.rank_1,
            a.last_rank,
            a.top,
            a.top_against[0],
            a.top_against[1],
            a.last_tier[0],
            a.last_tier[1],
        ];
        row.extend(numbers.map(|n| TableCell::Int(n.into())));
        row.push(rejects.into());
        self.analysis.push(row);
        for other in found.judged.iter().filter(|other| other.criterion != judged.criterion) {
            let value = agreement(judged, other).map(ExactRatio::get);
            let mut row = [self.key(names), of(judged), of(other)].concat();
            row.extend([
                value.into(),
                if value.is_some() { "" } else { "no_unfair_subgroup" }.into(),
            ]);
            self.rankings.push(row);
        }
    }

    fn actions(&mut self, found: &ComparisonResult<'_>) -> Result<()> {
        let plan = found.plan;
        let mut rows: Vec<(usize, usize, [u32; 2])> = Vec::new();
        for subgroup in 0..plan.n_subgroups() {
            let effect = found.effects.of_subgroup(plan, subgroup);
            let mut reaches = effect.reaches.iter();
            let mut reach = reaches.next();
            for action in plan.actions(subgroup) {
                while reach.is_some_and(|reach| reach.cost < plan.cost(action)) {
                    reach = reaches.next();
                }
                rows.push((subgroup, action, reach.map_or([0; 2], |reach| reach.union)));
            }
            if rows.len() >= BLOCK || subgroup + 1 == plan.n_subgroups() {
                for rows in std::mem::take(&mut rows).chunks(BLOCK) {
                    self.action_rows(found, rows)?;
                }
            }
        }
        Ok(())
    }

    fn action_rows(
        &mut self,
        found: &ComparisonResult<'_>,
        rows: &[(usize, usize, [u32; 2])],
    ) -> Result<()> {
        let plan = found.plan;
        let n = |g: usize| counts(rows.iter().map(|(subgroup, ..)| plan.n(*subgroup)[g]));
        let worked =
            |g: usize| counts(rows.iter().map(|(_, action, _)| found.effects.helped[*action][g]));
        let mut columns = self.long_key(found);
        columns.extend([
            LongColumn::Int(rows.iter().map(|(subgroup, ..)| Some(*subgroup as i64)).collect()),
            LongColumn::Int(
                rows.iter()
                    .map(|(subgroup, action, _)| {
                        Some((action - plan.actions(*subgroup).start) as i64)
                    })
                    .collect(),
            ),
            texts(rows.iter().map(|(_, action, _)| plan.changes_text(*action)).collect()),
            LongColumn::Real(
                rows.iter().map(|(_, action, _)| cost_of(plan.cost(*action))).collect(),
            ),
            n(0),
            n(1),
            worked(0),
            worked(1),
            counts(rows.iter().map(|(.., union)| union[0])),
            counts(rows.iter().map(|(.., union)| union[1])),
        ]);
        self.actions.push(rows.len(), columns)
    }

    fn ecd(&mut self, found: &ComparisonResult<'_>) -> Result<()> {
        let plan = found.plan;
        let all = (0..plan.n_subgroups()).flat_map(|s| {
            found
                .effects
                .of_subgroup(plan, s)
                .reaches
                .iter()
                .enumerate()
                .map(move |(i, r)| (s, i, r))
        });
        let all: Vec<_> = all.collect();
        for rows in all.chunks(BLOCK) {
            let n = |g: usize| counts(rows.iter().map(|(subgroup, ..)| plan.n(*subgroup)[g]));
            let mut columns = self.long_key(found);
            columns.extend([
                LongColumn::Int(rows.iter().map(|(subgroup, ..)| Some(*subgroup as i64)).collect()),
                LongColumn::Int(rows.iter().map(|(_, step, _)| Some(*step as i64)).collect()),
                LongColumn::Real(rows.iter().map(|(.., reach)| cost_of(reach.cost)).collect()),
                n(0),
                n(1),
                counts(rows.iter().map(|(.., reach)| reach.best[0])),
                counts(rows.iter().map(|(.., reach)| reach.best[1])),
                counts(rows.iter().map(|(.., reach)| reach.union[0])),
                counts(rows.iter().map(|(.., reach)| reach.union[1])),
            ]);
            self.ecd.push(rows.len(), columns)?;
        }
        Ok(())
    }
}

/// The lines that are listed: all, or of many the first that help more than any cheaper one.
fn listed_lines(half: &GroupSentence) -> Vec<ActionLine> {
    if half.lines.len() <= LINES {
        return half.lines.clone();
    }
    let mut best = 0;
    let rises = half.lines.iter().filter(|line| {
        let more = line.n_helped > best;
        best = best.max(line.n_helped);
        more
    });
    rises.take(LINES).copied().collect()
}
