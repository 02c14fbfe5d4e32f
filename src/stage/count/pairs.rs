//! The stage `pair`: rows counted by the predictions of two models, or of an arm and the base.
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | count | `pair/model=/attribute=`, `pair/model=/set=/attribute=` | evidence of a model and the one that the job compares it with |
//! | augment | the same with `experiment=/arm=` | evidence of an arm and the base |

use crate::augment::ExperimentArm;
use crate::data::rows::Projection;
use crate::error::Result;
use crate::exec::accumulator::merge_each;
use crate::exec::{StageContext, files, internal_error};
use crate::metric::evidence::paired_counts::{PairedCell, PairedCounts};
use crate::metric::evidence::person::confusion_cell;
use crate::stage::artifact::EVIDENCE;
use crate::stage::count::evidence::{check_weight_total, counting_unit, ranks, weight_units};
use crate::stage::count::switches::gather_pairs;
use crate::stage::count::{RowScoreInputs, SetScoreInputs};
use crate::stage::kinds::PairStage;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::sharding::share::{RowShare, ShardPass};
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
                plan.check_person_memory(row_context, groups.len() as u64 * plan.class_forms())?;
                write(ctx, passes, || {
                    let [first, second] = &sides;
                    let opened = [first.open_set(row_context)?, second.open_set(row_context)?];
                    gather_pairs(row_context, opened.each_ref())
                })
            });
        }
        let sides = [RowScoreInputs::need(first, true, b)?, RowScoreInputs::need(second, true, b)?];
        let passes = b.passes();
        sides[0].rows.clone().work(1, move |ctx, row_context| {
            plan.check_person_memory(row_context, plan.class_forms())?;
            write(ctx, passes, || gather_rows(row_context, &sides))
        })
    }
}

/// Writes the evidence of all shards: that of a label of two sides, or of each class against the
/// rest.
fn write(
    ctx: &StageContext<'_>,
    passes: &RowShare,
    gather: impl FnOnce() -> Result<Vec<(u64, PairedCounts)>>,
) -> Result<()> {
    let Some(counts) = passes.gather(ctx, ShardPass::Count, gather)? else { return Ok(()) };
    let counts: Vec<PairedCounts> = counts.into_iter().map(|(_, counts)| counts).collect();
    files::write_json(&ctx.out().join(EVIDENCE), &counts)
}

/// Counts the audited rows by the predictions of both models, in the groups of one attribute.
fn gather_rows(
    row_context: RowContext<'_>,
    sides: &[RowScoreInputs<'_>; 2],
) -> Result<Vec<(u64, PairedCounts)>> {
    let (layout, attribute) = (row_context.rows.layout(), sides[0].position);
    check_weight_total(layout, layout.n_rows)?;
    let ranks = ranks(&layout.attributes[attribute]);
    let opened = sides.iter().map(|side| side.scored.predictions(row_context));
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let positive = opened[0].positive();
    let carried = opened.iter().any(|of| of.reads().carried);
    let found = row_context.row_groups().fold(
        || vec![PairedCounts::new(ranks.len(), counting_unit(layout)); positive.len()],
        |parts, g| {
            let of = Projection { carried, ..Projection::NO_FEATURES };
            let (batch, roles) = row_context.read(g, of)?;
            let predicted = opened.iter().map(|of| of.of_group(g, (&batch, &roles)));
            let predicted = predicted.collect::<Result<Vec<_>>>()?;
            for (i, group, _) in roles.people(&batch.groups[attribute]) {
                let label = opened[0].label(layout, &batch, i);
                let row = (batch.person_keys()[i], weight_units(layout, &batch, i));
                let place = ranks[usize::from(group)];
                for (class, part) in positive.clone().zip(&mut *parts) {
                    let said = |side: usize| {
                        let is_own = predicted[side][i]? == class;
                        Some(confusion_cell(label.map(|label| label == class), is_own))
                    };
                    part.add(row, [PairedCell { place, cells: [said(0), said(1)] }]);
                }
            }
            Ok(batch.row.len() as u64)
        },
        merge_each,
    )?;
    Ok((0..).zip(found).collect())
}
