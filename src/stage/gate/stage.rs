//! The stages `baseline` and `gate`: the comparison with an earlier run, and the verdicts.

use crate::exec::internal_error;
use crate::stage::gate::model_issues::model_issues;
use crate::stage::gate::{self, baseline};
use crate::stage::generate::refits::{fits_of_sets, record_fits};
use crate::stage::hidden_cause;
use crate::stage::kinds::{BaselineStage, GateStage, OutcomesStage, PopulationStage};
use crate::stage::recourse::recourse_folders;
use crate::stage::report::inputs::{MeasuredTables, folder_inputs, need_baseline};
use crate::stage::report::words::words_of_rows;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::expect::expected_scores;
use crate::stage::score::levels::settled_models;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput, work};
use crate::stage::why::why_folders;
use crate::unit::AuditUnit;

impl Stage for BaselineStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let named = plan.baseline.clone().zip(plan.settings.baseline.as_deref());
        let Some((fingerprint, folder)) = named else {
            return Err(internal_error("the run has no baseline".to_owned()));
        };
        // The values that they judge are also read from the earlier run.
        b.input("gates", |job| &job.gates);
        let rows = RowInputs::of_job(b)?;
        let measured = MeasuredTables::need(b)?;
        let (fits, outcomes) = (fits_of_sets(b)?, StageInput::<OutcomesStage>::need(b)?);
        b.texts([("baseline".to_owned(), fingerprint)]);
        // The job says what differs; other variation does not.
        b.texts(
            folder_inputs(plan)?
                .into_iter()
                .filter(|(what, _)| ["job", "run", "inputs"].contains(&what.as_str())),
        );
        rows.work(0, move |ctx, row_context| {
            let job = (plan.checked, plan.input, plan.run_id);
            let mut manifest = words_of_rows(job, row_context);
            record_fits(&mut manifest, fits(ctx)?);
            let tables = [measured.all.folder(ctx), measured.plain.folder(ctx)];
            let outcomes = outcomes.as_ref().map(|stage| stage.folder(ctx));
            let new = baseline::running_side(plan.job, manifest, tables, outcomes)?;
            baseline::compare(plan.checked, row_context, folder, &new)
        })
    }
}

impl Stage for GateStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        b.input("gates", |job| &job.gates);
        b.input("accepted", |job| {
            let of_models = job.models.iter().map(|(name, model)| (name, &model.accept));
            let of_sets = job.counterfactuals.iter().map(|(name, set)| (name, &set.accept));
            (of_models.collect::<Vec<_>>(), of_sets.collect::<Vec<_>>())
        });
        b.input("on_inconclusive", |job| &job.on_inconclusive);
        let of_counts = gate::counted_questions(plan.checked);
        let all = gate::questions(plan.checked).into_iter().chain(of_counts);
        b.value("lines of the gates", all.map(|question| question.line).collect::<Vec<u64>>());
        let measured = MeasuredTables::need(b)?;
        let everybody = b.need::<PopulationStage>(&AuditUnit::default())?;
        let baseline = b.want_part(need_baseline)?.flatten();
        // Nothing is judged that depends on other scores than the job expects.
        b.want_part(expected_scores)?;
        let (recourse, why, hidden) =
            (recourse_folders(b)?, why_folders(b)?, hidden_cause::hidden_folders(b)?);
        let (issues, settled) = (model_issues(b)?, settled_models(b)?);
        let waits = (!plan.input.awaited.is_empty()).then_some(plan.baseline.is_some());
        b.value("waits for scores", waits);
        work(move |ctx| {
            let unknown = settled(ctx)?.into_iter().flat_map(|of| of.unknown).collect();
            gate::judge(
                ctx,
                (plan.checked, waits),
                (&measured, &everybody),
                baseline.as_ref(),
                (&recourse.open(ctx), &why.open(ctx)),
                (issues(ctx)?, unknown, hidden_cause::rows(ctx, &hidden)?),
            )
        })
    }
}
