//! Writes what a comparison of two groups found: the tables of recourse, in the order of their
//! keys.
//!
//! The long ones (`subgroups`, `actions`, `ecd`) go to disk block by block; only shares of counts
//! are computed here.

use std::path::Path;

use crate::error::Result;
use crate::exec::StageContext;
use crate::metric::rate::Undefined;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::chance::false_discoveries;
use crate::recourse::definition::{RecourseDefinition, trade_off_bound};
use crate::recourse::effect::ActionEffects;
use crate::recourse::exact::ExactRatio;
use crate::recourse::feature::{LevelDistance, LevelScale};
use crate::recourse::groups::PairPopulation;
use crate::recourse::knobs::OverlapRule;
use crate::recourse::overlap::{ListedSubgroup, merge_overlapping};
use crate::recourse::overview::{agreement, analysis};
use crate::recourse::rank::{DefinitionRanking, SubgroupVerdict};
use crate::recourse::sentence::{ActionLine, GroupSentence};
use crate::recourse::steps::COST_UNIT;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::recourse::people::may_move;
use crate::table::file::{RowWriter, write_rows};
use crate::table::recourse::{
    ActionRow, AggregatedRankingRow, ComparativeRow, ComparedPair, CriterionWords, EcdRow,
    RankingRow, RecourseColumnRow, RecourseRow, SubgroupRow,
};
use crate::table::{SharedText, finite, whole};

/// Actions that are listed for a group of a shown subgroup; of more, those that help more than any
/// cheaper one.
const LINES: usize = 8;

/// What a comparison found.
pub(crate) struct ComparisonResult<'a> {
    /// Subgroups and actions.
    pub plan: &'a RecoursePlan<'a>,
    /// What the actions do.
    pub effects: &'a ActionEffects,
    /// Verdicts, one for each definition and view.
    pub judged: &'a [DefinitionRanking],
    /// Pairs of a person and a set of changes.
    pub asked: usize,
    /// For each subgroup with actions the p-values of all questions; none where chance was not
    /// asked for.
    pub p: Option<&'a [Vec<f64>]>,
}

/// The tables while they are written.
pub(crate) struct RecourseWriter<'a> {
    block: &'a RecourseInputs<'a>,
    out: &'a Path,
    subgroups: RowWriter<SubgroupRow>,
    actions: RowWriter<ActionRow>,
    ecd: RowWriter<EcdRow>,
    recourse: Vec<RecourseRow>,
    comparatives: Vec<ComparativeRow>,
    analysis: Vec<RankingRow>,
    rankings: Vec<AggregatedRankingRow>,
}

fn criterion_words(judged: &DefinitionRanking) -> CriterionWords {
    let definition = judged.criterion.definition;
    CriterionWords {
        definition: definition.id().into(),
        parameter: definition.parameter().into(),
        view: judged.criterion.view.id().into(),
    }
}

fn cost_of(units: i64) -> f64 {
    units as f64 / COST_UNIT as f64
}

/// A number that may be infinite; NaN is null.
fn not_nan(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

impl<'a> RecourseWriter<'a> {
    /// Creates the tables in a folder and writes the one of the columns.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn create(
        out: &'a Path,
        block: &'a RecourseInputs<'a>,
    ) -> Result<RecourseWriter<'a>> {
        let mut columns = Vec::<RecourseColumnRow>::new();
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
            columns.push(RecourseColumnRow {
                recourse: block.attribute.name.as_str().into(),
                column: feature.name.as_str().into(),
                scale: scale.into(),
                levels: whole(feature.levels.len() as u64 - u64::from(feature.missing.is_some())),
                changes: i64::from(moves),
                may_change: told.rule.as_str().into(),
                distance: distance.into(),
                weight: feature.cost.weight,
                missing: whole(without - told.outside.min(without)),
                outside: whole(told.outside),
            });
        }
        write_rows(out, &columns)?;
        Ok(RecourseWriter {
            block,
            out,
            subgroups: RowWriter::create(out)?,
            actions: RowWriter::create(out)?,
            ecd: RowWriter::create(out)?,
            recourse: Vec::new(),
            comparatives: Vec::new(),
            analysis: Vec::new(),
            rankings: Vec::new(),
        })
    }

    /// Adds the row of a pair of groups of which one has no affected people.
    pub(crate) fn empty_pair(&mut self, people: &PairPopulation) {
        let row = self.recourse_row(people, Undefined::NoAffectedRows.code());
        self.recourse.push(row);
    }

    fn pair(&self, names: &[String; 2]) -> ComparedPair {
        let [group_0, group_1] = names.each_ref().map(SharedText::from);
        ComparedPair { recourse: self.block.attribute.name.as_str().into(), group_0, group_1 }
    }

    /// The row of a pair whose search found nothing.
    fn recourse_row(&self, people: &PairPopulation, undefined: &'static str) -> RecourseRow {
        let RecourseInputs { recourse, people: all, .. } = self.block;
        RecourseRow {
            pair: self.pair(&people.names),
            model: recourse.model.as_str().into(),
            undefined: undefined.into(),
            affected_0: people.n[0].into(),
            affected_1: people.n[1].into(),
            unaffected: whole(people.unaffected() as u64),
            deals: recourse.chance.map(|chance| whole(chance.deals.get())),
            person_rows: all.drawn_from.map(whole),
            persons: all.drawn_from.map(|_| whole(all.audited.favourable.len() as u64)),
            ..RecourseRow::default()
        }
    }

    /// Writes what a comparison found.
    ///
    /// # Errors
    /// The disk refuses, or the run is to stop.
    pub(crate) fn write(
        &mut self,
        found: &ComparisonResult<'_>,
        ctx: &StageContext<'_>,
    ) -> Result<()> {
        self.comparison(found);
        // Rows are sorted by key: definition, parameter, view.
        let mut order: Vec<usize> = (0..found.judged.len()).collect();
        order.sort_by_cached_key(|&q| criterion_words(&found.judged[q]));
        let traits: Vec<SharedText> = (0..found.plan.n_subgroups())
            .map(|subgroup| found.plan.text(subgroup).into())
            .collect();
        for &q in &order {
            ctx.check()?;
            let judged = &found.judged[q];
            let keep = self.block.recourse.keep.per_definition.size();
            let places: Vec<ListedSubgroup> = match self.block.recourse.keep.overlapping {
                OverlapRule::Merge => merge_overlapping(found.plan, judged, keep),
                OverlapRule::Keep => {
                    let kept = judged.ranked().take(keep).map(|verdict| verdict.subgroup);
                    kept.map(|subgroup| ListedSubgroup { subgroup, merged_into: None }).collect()
                }
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
    pub(crate) fn finish(self) -> Result<()> {
        write_rows(self.out, &self.recourse)?;
        write_rows(self.out, &self.comparatives)?;
        write_rows(self.out, &self.analysis)?;
        write_rows(self.out, &self.rankings)?;
        self.subgroups.finish()?;
        self.actions.finish()?;
        self.ecd.finish()
    }

    fn comparison(&mut self, found: &ComparisonResult<'_>) {
        let plan = found.plan;
        let with_actions = (0..plan.n_subgroups()).filter(|&s| !plan.actions(s).is_empty()).count();
        let people = plan.population();
        let count = |n: usize| whole(n as u64);
        let undefined = match people.unaffected() {
            0 => Undefined::NoUnaffectedRows.code(),
            _ => "",
        };
        let row = RecourseRow {
            least_0: plan.min_affected[0].into(),
            least_1: plan.min_affected[1].into(),
            least_unaffected: plan.min_unaffected.into(),
            subgroups: count(plan.n_subgroups()),
            subgroups_with_actions: count(with_actions),
            actions: count(plan.n_actions()),
            changes: count(plan.n_changes()),
            asked: count(found.asked),
            ..self.recourse_row(people, undefined)
        };
        self.recourse.push(row);
    }

    /// All subgroups under one definition.
    fn verdicts(
        &mut self,
        found: &ComparisonResult<'_>,
        q: usize,
        places: &[ListedSubgroup],
        traits: &[SharedText],
    ) -> Result<()> {
        let (plan, judged) = (found.plan, &found.judged[q]);
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
        let is_trade_off = judged.criterion.definition == RecourseDefinition::FairTradeOff;
        let alpha = self.block.recourse.alpha.get();
        let (names, of) = (&plan.population().names, plan.population().n);
        let pair = self.pair(names);
        let words = criterion_words(judged);
        let [no_actions, none] = ["no_actions", ""].map(SharedText::from);
        // Verdicts are in the order of the subgroups, for those with actions.
        let mut verdicts = judged.verdicts.iter().enumerate().peekable();
        let row = |s: usize| {
            let found = verdicts.next_if(|(_, verdict)| verdict.subgroup as usize == s);
            let verdict = found.map(|(_, verdict)| verdict);
            let number = |of: &dyn Fn(&SubgroupVerdict) -> f64| {
                verdict.and_then(|verdict| not_nan(of(verdict)))
            };
            let chance =
                |values: &Option<Vec<f64>>| found.and_then(|(i, _)| not_nan(values.as_ref()?[i]));
            let n = plan.n(s);
            let coverage = |g: usize| f64::from(n[g]) / f64::from(of[g].max(1));
            let worse = verdict.and_then(|verdict| verdict.worse_group);
            SubgroupRow {
                pair: pair.clone(),
                criterion: words.clone(),
                subgroup: s as i64,
                traits: traits[s].clone(),
                n_0: n[0].into(),
                n_1: n[1].into(),
                coverage_0: coverage(0),
                coverage_1: coverage(1),
                n_actions: plan.actions(s).len() as i64,
                value_0: number(&|verdict| verdict.values[0]),
                value_1: number(&|verdict| verdict.values[1]),
                score: number(&|verdict| verdict.score),
                undefined: if found.is_none() { &no_actions } else { &none }.clone(),
                rank: verdict.and_then(|verdict| verdict.rank).map(i64::from),
                against: match worse {
                    Some(0) => pair.group_0.clone(),
                    Some(1) => pair.group_1.clone(),
                    _ => none.clone(),
                },
                cost: verdict.and_then(|verdict| verdict.cost).map(cost_of),
                bound: found
                    .filter(|_| is_trade_off)
                    .and_then(|_| not_nan(trade_off_bound(n, alpha))),
                place: place_of[s],
                merged_into: merged_into[s],
                p_value: chance(&p),
                false_discovery: chance(&discoveries),
            }
        };
        self.subgroups.extend((0..n_all).map(row))
    }

    /// The shown subgroups with the actions that the definition refers to.
    fn comparatives(
        &mut self,
        found: &ComparisonResult<'_>,
        judged: &DefinitionRanking,
        places: &[ListedSubgroup],
    ) {
        let question = judged.criterion;
        let pair = self.pair(&found.plan.population().names);
        let words = criterion_words(judged);
        let shown = places.iter().filter(|place| place.merged_into.is_none());
        for (place, subgroup) in (1_i64..).zip(shown.map(|place| place.subgroup)) {
            let halves =
                GroupSentence::both(found.plan, found.effects, question, subgroup as usize);
            let first = found.plan.actions(subgroup as usize).start;
            for (side, half) in (0_i64..).zip(&halves) {
                let listed = listed_lines(half);
                let no_action = match (listed.is_empty(), half.lines.is_empty()) {
                    (false, _) => "",
                    (true, true) => "none_meets",
                    (true, false) => "none_helps",
                };
                // Without any a line says so.
                let lines = (0..listed.len().max(1)).map(|number| listed.get(number));
                for (number, line) in (0_i64..).zip(lines) {
                    let changes = line.map(|line| found.plan.changes_text(line.action));
                    self.comparatives.push(ComparativeRow {
                        pair: pair.clone(),
                        criterion: words.clone(),
                        place,
                        side,
                        line: number,
                        subgroup: subgroup.into(),
                        n: half.n.into(),
                        action: line.map(|line| whole((line.action - first) as u64)),
                        changes: changes.unwrap_or_default().into(),
                        cost: line.map(|line| cost_of(line.cost)),
                        own: line.map(|line| line.n_helped.into()),
                        cumulative: line.map(|line| line.n_helped_cumulative.into()),
                        n_lines: whole(half.lines.len() as u64),
                        no_action: no_action.into(),
                    });
                }
            }
        }
    }

    /// The rows of the overviews for one definition.
    fn overview(&mut self, found: &ComparisonResult<'_>, judged: &DefinitionRanking) {
        let (pair, criterion) =
            (self.pair(&found.plan.population().names), criterion_words(judged));
        let a = analysis(judged);
        let alpha = self.block.recourse.alpha.get();
        let rejects = |verdict: &&SubgroupVerdict| {
            verdict.score >= trade_off_bound(found.plan.n(verdict.subgroup as usize), alpha)
        };
        let is_trade_off = judged.criterion.definition == RecourseDefinition::FairTradeOff;
        let test_rejects =
            is_trade_off.then(|| whole(judged.verdicts.iter().filter(rejects).count() as u64));
        for other in found.judged.iter().filter(|other| other.criterion != judged.criterion) {
            let value = agreement(judged, other).map(ExactRatio::get);
            let by = criterion_words(other);
            self.rankings.push(AggregatedRankingRow {
                pair: pair.clone(),
                criterion: criterion.clone(),
                by_definition: by.definition,
                by_parameter: by.parameter,
                by_view: by.view,
                value: value.and_then(finite),
                undefined: if value.is_some() { "" } else { "no_unfair_subgroup" }.into(),
            });
        }
        self.analysis.push(RankingRow {
            pair,
            criterion,
            judged: whole(judged.verdicts.len() as u64),
            unfair: a.unfair.into(),
            unfair_0: a.all_against[0].into(),
            unfair_1: a.all_against[1].into(),
            rank_1: a.rank_1.into(),
            last_rank: a.last_rank.into(),
            top: a.top.into(),
            top_0: a.top_against[0].into(),
            top_1: a.top_against[1].into(),
            tied: a.last_tier[0].into(),
            tied_in_top: a.last_tier[1].into(),
            test_rejects,
        });
    }

    fn actions(&mut self, found: &ComparisonResult<'_>) -> Result<()> {
        let plan = found.plan;
        let pair = self.pair(&plan.population().names);
        let rows_of = |subgroup: usize| {
            let (n, first) = (plan.n(subgroup), plan.actions(subgroup).start);
            let (pair, effect) = (&pair, found.effects.of_subgroup(plan, subgroup));
            plan.actions(subgroup).map(move |action| {
                let union = effect.at(plan.cost(action)).map_or([0; 2], |reach| reach.union);
                let worked = found.effects.helped[action];
                ActionRow {
                    pair: pair.clone(),
                    subgroup: subgroup as i64,
                    action: (action - first) as i64,
                    changes: plan.changes_text(action).into(),
                    cost: cost_of(plan.cost(action)),
                    n_0: n[0].into(),
                    n_1: n[1].into(),
                    worked_0: worked[0].into(),
                    worked_1: worked[1].into(),
                    cumulative_0: union[0].into(),
                    cumulative_1: union[1].into(),
                }
            })
        };
        self.actions.extend((0..plan.n_subgroups()).flat_map(rows_of))
    }

    fn ecd(&mut self, found: &ComparisonResult<'_>) -> Result<()> {
        let plan = found.plan;
        let pair = self.pair(&plan.population().names);
        let rows_of = |subgroup: usize| {
            let (pair, n) = (&pair, plan.n(subgroup));
            let reaches = found.effects.of_subgroup(plan, subgroup).reaches;
            (0_i64..).zip(reaches).map(move |(step, reach)| EcdRow {
                pair: pair.clone(),
                subgroup: subgroup as i64,
                step,
                cost: cost_of(reach.cost),
                n_0: n[0].into(),
                n_1: n[1].into(),
                macro_0: reach.best[0].into(),
                macro_1: reach.best[1].into(),
                micro_0: reach.union[0].into(),
                micro_1: reach.union[1].into(),
            })
        };
        self.ecd.extend((0..plan.n_subgroups()).flat_map(rows_of))
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
