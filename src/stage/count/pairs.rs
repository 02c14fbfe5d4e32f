//! The stage `pair`: rows counted by the predictions of two models, or of an arm and the base.
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | count | `pair/model=/attribute=`, `pair/model=/set=/attribute=` | evidence of a model and the one that the job compares it with |
//! | augment | the same with `experiment=/arm=` | evidence of an arm and the base |

use crate::augment::ExperimentArm;
use crate::data::rows::Projection;
use crate::error::Result;
use crate::exec::{StageContext, files, internal_error};
use crate::metric::evidence::paired_counts::{PairedCell, PairedCounts};
use crate::metric::evidence::person::{
    ScoredCounterfactual, ScoredPerson, cell_index, confusion_cell,
};
use crate::stage::artifact::EVIDENCE;
use crate::stage::count::evidence::{
    CountInputs, ScoredGroup, check_weight_total, counting_unit, label, ranks, weight_units,
};
use crate::stage::count::{RowScoreInputs, SetScoreInputs};
use crate::stage::kinds::PairStage;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::sharding::share::{ShardPass, StagePasses};
use crate::stage::stage_builder::{Planned, Stage, StageBuilder};
use crate::unit::AuditUnit;

/// The unit that the model or arm of a unit is compared with, for the same set and attribute.
///
/// # Errors
/// The job compares the model with no other.
fn other_unit(plan: &StagePlan<'_>, unit: &AuditUnit) -> Result<AuditUnit> {
    if !unit.experiment.is_empty() {
        return Ok(AuditUnit { arm: ExperimentArm::Base.to_string(), ..unit.clone() });
    }
    let mut compared = plan.job.metrics.compare.iter();
    let other_model = compared.find(|(first, _)| first.as_str() == unit.model);
    let no_model = || internal_error(format!("the job compares `{}` with no model", unit.model));
    let (_, other_model) = other_model.ok_or_else(no_model)?;
    Ok(AuditUnit { model: other_model.to_string(), ..unit.clone() })
}

impl Stage for PairStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let units = [unit.clone(), other_unit(plan, unit)?];
        let [first, second] = &units;
        if !unit.set.is_empty() {
            let sides =
                [SetScoreInputs::need(first, true, b)?, SetScoreInputs::need(second, true, b)?];
            let passes = b.passes();
            let rows = sides[0].rows.clone();
            return rows.work(1, move |ctx, row_context| {
                let groups = &row_context.rows.layout().attributes[sides[0].position].groups;
                plan.check_person_memory(row_context, groups.len() as u64)?;
                write(ctx, passes, || {
                    let [first, second] = &sides;
                    let opened = [first.open(row_context)?, second.open(row_context)?];
                    gather_switches(row_context, &opened)
                })
            });
        }
        let sides = [RowScoreInputs::need(first, true, b)?, RowScoreInputs::need(second, true, b)?];
        let passes = b.passes();
        sides[0].rows.clone().work(1, move |ctx, row_context| {
            plan.check_person_memory(row_context, 1)?;
            write(ctx, passes, || gather_rows(row_context, &sides))
        })
    }
}

/// Writes the evidence of all shards.
fn write(
    ctx: &StageContext<'_>,
    passes: StagePasses<'_>,
    gather: impl FnOnce() -> Result<PairedCounts>,
) -> Result<()> {
    let counts = passes.gather_one(ctx, ShardPass::Count, gather)?;
    counts.map_or(Ok(()), |counts| files::write_json(&ctx.out().join(EVIDENCE), &counts))
}

/// Counts the audited rows by the predictions of both models, in the groups of one attribute.
fn gather_rows(
    row_context: RowContext<'_>,
    sides: &[RowScoreInputs<'_>; 2],
) -> Result<PairedCounts> {
    let (layout, attribute) = (row_context.rows.layout(), sides[0].position);
    check_weight_total(layout, layout.n_rows)?;
    let ranks = ranks(&layout.attributes[attribute]);
    let opened = sides.iter().map(|side| side.scored.open(row_context));
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let carried = opened.iter().any(|(rule, _)| rule.reads().carried);
    row_context.row_groups().gather(
        || PairedCounts::new(ranks.len(), counting_unit(layout)),
        |part, g| {
            let projection = Projection { carried, ..Projection::NO_FEATURES };
            let (batch, roles) = row_context.read(g, projection)?;
            let scored = opened.iter().map(|(rule, scores)| Ok((rule, scores.read(g)?)));
            let scored = scored.collect::<Result<Vec<_>>>()?;
            for (i, group, fold) in roles.people(&batch.groups[attribute]) {
                let label = label(layout, &batch, i);
                let cell = |side: usize| {
                    let (rule, scores) = &scored[side];
                    let predicted = rule.decide(&batch, Some(fold), i, scores[i]);
                    predicted.map(|predicted| confusion_cell(label, predicted))
                };
                let row = (batch.person_keys()[i], weight_units(layout, &batch, i));
                let place = ranks[usize::from(group)];
                part.add(row, [PairedCell { place, cells: [cell(0), cell(1)] }]);
            }
            Ok(batch.row.len() as u64)
        },
    )
}

/// The cell in which a counterfactual is counted.
fn switch_cell(person: &ScoredPerson, cf: &ScoredCounterfactual) -> Option<usize> {
    let (predicted, predicted_cf) = person.predicted.zip(cf.predicted)?;
    Some(cell_index(person.label, predicted, predicted_cf))
}

/// Counts the counterfactuals of one set by the switches of both models, for each direction.
fn gather_switches(row_context: RowContext<'_>, sides: &[CountInputs; 2]) -> Result<PairedCounts> {
    let (layout, position) = (row_context.rows.layout(), sides[0].attribute);
    check_weight_total(layout, sides[0].counterfactuals.n_rows().max(layout.n_rows))?;
    let n = layout.attributes[position].groups.len();
    row_context.row_groups().gather(
        || PairedCounts::new(n, counting_unit(layout)),
        |part, g| {
            let first_group = ScoredGroup::read(row_context, &sides[0], g, true)?;
            let mut first = Vec::new();
            first_group.people(layout, position, |_, person, cfs| {
                let cells = cfs.iter().map(|cf| switch_cell(person, cf));
                first.push(cells.collect::<Vec<_>>());
            });
            // Both models score the same counterfactuals, so they are in the same order.
            let (group, mut first) =
                (ScoredGroup::read(row_context, &sides[1], g, true)?, first.iter());
            group.people(layout, position, |i, person, cfs| {
                let first_cells = first.next().into_iter().flatten();
                let cells = first_cells.zip(cfs).map(|(&first_cell, cf)| PairedCell {
                    place: person.group * n + cf.to,
                    cells: [first_cell, switch_cell(person, cf)],
                });
                part.add((group.batch.person_keys()[i], person.weight), cells);
            });
            Ok(group.batch.row.len() as u64)
        },
    )
}
