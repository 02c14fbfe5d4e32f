//! The stage `recourse`: audited people, a model that is asked about them as they could be, and the
//! tables of what came out.
//!
//! [`people`] holds the audited rows in memory, as the engine sees columns and as models read them;
//! [`ask`] puts questions to a model; [`tables`] writes the tables. Each pair of groups is
//! searched on its own. Memory: the audited rows once, and what the search of one pair finds, which
//! the job bounds by `at_most`. Weights of rows do not take part in it: people are counted.

pub(crate) mod ask;
mod changed_rows;
pub(crate) mod inputs;
pub(crate) mod people;
pub(crate) mod stage;
pub(crate) mod tables;
pub(crate) mod unshared_numbers;

use std::path::Path;

use crate::error::{Error, Result};
use crate::exec::StageContext;
use crate::num::decimal::Decimal;
use crate::recourse::DecimalShare;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::budget::budgets;
use crate::recourse::chance::{PermutationLimits, p_values};
use crate::recourse::definition::RecourseCriterion;
use crate::recourse::effect::ActionEffects;
use crate::recourse::groups::{GroupPair, pairs};
use crate::recourse::rank::DefinitionRanking;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::recourse::tables::{ComparisonResult, RecourseWriter};
use crate::stage::row_context::RowContext;

/// Subgroups whose p-values are drawn between two looks at whether the run is to stop.
const SUBGROUPS_PER_CHECK: usize = 256;

/// Compares every pair of groups and writes the tables.
///
/// # Errors
/// The search finds more than it may; the model fails; the disk refuses; the
/// run is to stop.
pub(crate) fn run(
    ctx: &StageContext<'_>,
    row_context: RowContext<'_>,
    block: &RecourseInputs<'_>,
    out: &Path,
) -> Result<()> {
    let mut writer = RecourseWriter::create(out, block)?;
    let reference = u16::try_from(block.attribute.reference).unwrap_or(u16::MAX);
    let mut all = pairs(&block.attribute.groups, reference, block.recourse.against);
    // Rows of the tables are sorted by key.
    all.sort_by(|a, b| a.names.cmp(&b.names));
    for pair in &all {
        ctx.check()?;
        if let Err(missing) = compare(ctx, row_context, block, pair, &mut writer) {
            match missing {
                // What else the job asks goes on.
                Error::Data(fault) if fault.code == "no-affected-rows" => {
                    writer.empty_pair(pair, &block.people.audited)
                }
                other => return Err(other),
            }
        }
    }
    writer.finish()
}

fn compare(
    ctx: &StageContext<'_>,
    row_context: RowContext<'_>,
    block: &RecourseInputs<'_>,
    pair: &GroupPair,
    writer: &mut RecourseWriter<'_>,
) -> Result<()> {
    let recourse = block.recourse;
    let search = recourse.search().expect("the check refuses supports that are no shares");
    let plan =
        row_context.workers.within(|| RecoursePlan::new(&block.people.audited, pair, &search))?;
    ctx.check()?;
    let needed = plan.needed();
    let chance = recourse.chance.map(|chance| PermutationLimits {
        max_permutations: clamped(chance.deals.get()),
        stop_after: clamped(chance.enough.get()),
    });
    let n_scored = (0..plan.n_subgroups()).filter(|&s| !plan.actions(s).is_empty()).count();
    let later = chance.map_or(0, |_| n_scored as u64);
    let helped = block.helped((ctx, row_context), &plan, &needed, later)?;
    let effects = row_context.workers.within(|| ActionEffects::new(&plan, &helped));
    ctx.check()?;

    let half = DecimalShare::new(Decimal::from_f64(0.5).expect("0.5 is a decimal"))
        .expect("a half is a share");
    let definitions =
        recourse.definitions(|percentiles| budgets(&plan, &effects, percentiles, half));
    let views = || recourse.views.iter().copied();
    let questions: Vec<RecourseCriterion> = definitions
        .iter()
        .flat_map(|&d| views().filter_map(move |view| RecourseCriterion::new(d, view)))
        .collect();
    let mut judged = Vec::with_capacity(questions.len());
    for &question in &questions {
        ctx.check()?;
        judged.push(
            row_context
                .workers
                .within(|| DefinitionRanking::new(&plan, &effects, question, recourse.rank_by)),
        );
    }
    let mut p = chance.map(|_| Vec::with_capacity(n_scored));
    if let (Some(deals), Some(p)) = (chance, &mut p) {
        for start in (0..plan.n_subgroups()).step_by(SUBGROUPS_PER_CHECK) {
            ctx.check()?;
            let range = start..plan.n_subgroups().min(start + SUBGROUPS_PER_CHECK);
            let part = row_context.workers.within(|| {
                p_values(&plan, &effects, &helped, &questions, deals, block.seed, range)
            });
            ctx.progress(part.len() as u64);
            p.extend(part);
        }
    }
    writer.write(
        &ComparisonResult {
            plan: &plan,
            effects: &effects,
            judged: &judged,
            asked: needed.len(),
            p: p.as_deref(),
        },
        ctx,
    )
}

fn clamped(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
