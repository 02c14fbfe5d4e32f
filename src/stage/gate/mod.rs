//! The stage `gate`: the gates of a job as questions, judged from tables; `verdicts` makes the exit
//! status of a run from them.

pub(crate) mod baseline;
pub(crate) mod blind;
pub(crate) mod model_issues;
pub(crate) mod power;
pub(crate) mod questions;
mod stage;

pub(crate) use questions::{counted_questions, questions};

use std::path::Path;

use crate::diff::DiffResult;
use crate::error::{Exit, Result};
use crate::exec::{StageContext, files};
use crate::gate;
use crate::gate::question::{GateQuantity, GateQuestion, GateTables};
use crate::gate::reason::{GateCount, GateReason, GateStatus};
use crate::job::check::CheckedJob;
use crate::job::{self, OnInconclusive};
use crate::param::key_word;
use crate::stage::artifact::{GATE_OUTCOME, GateOutcome};
use crate::stage::kinds::{BaselineStage, PopulationStage};
use crate::stage::report::inputs::MeasuredTables;
use crate::stage::stage_builder::StageInput;
use crate::table::file::{read_rows, write_rows};
use crate::table::{GateRow, HiddenCauseRow, IssueRow, PopulationRow, UnknownLevelRow};

/// What a stage is about, by name, and its folder.
type NamedFolder<'a> = (&'a str, &'a Path);

/// Judges the gates by the tables of a run; writes their table, what the summary says about them,
/// and the `issues` of models that they were judged by, which the folder of the run holds too.
/// `baseline` is the stage that compared the run with an earlier one, `recourse` the folder of each
/// block by its attribute, `why` that of each block by its name. A run that `waits` for scores
/// lacks some of these; it says whether a baseline is named.
///
/// # Errors
/// A table cannot be read, or the disk refuses.
pub(crate) fn judge(
    ctx: &StageContext<'_>,
    (checked, waits): (&CheckedJob, Option<bool>),
    (measured, everybody): (&MeasuredTables, &StageInput<PopulationStage>),
    baseline: Option<&StageInput<BaselineStage>>,
    (recourse, why): (&[NamedFolder<'_>], &[NamedFolder<'_>]),
    (mut issues, unknown, hidden): (Vec<IssueRow>, Vec<UnknownLevelRow>, Vec<HiddenCauseRow>),
) -> Result<()> {
    // An experiment audits the people of the plain audit.
    let folders = [measured.plain.folder(ctx), measured.all.folder(ctx)];
    let job = &checked.job;
    let has_moved_files = job.has_fitted_sets() && model_issues::of_files(job).next().is_some();
    let reads_values = !job.gates.is_empty() || has_moved_files;
    let mut tables = GateTables::read(folders, reads_values)?;
    tables.population.extend(read_rows::<PopulationRow>(everybody.folder(ctx))?);
    let of_classes = job.data.label.classes().is_some();
    issues.extend(model_issues::at_threshold(job, &tables.groups));
    issues.extend(model_issues::one_sided(&tables.counts, of_classes));
    issues.extend(model_issues::unmoved(job, &tables));
    (tables.issues, tables.unknown, tables.hidden) = (issues, unknown, hidden);
    let comparison =
        baseline.map(|stage| baseline::read_comparison(stage.folder(ctx))).transpose()?;
    let mut counted = Vec::new();
    for gate in counted_questions(checked) {
        let (folders, counted_block) = match &gate.counted {
            Some(GateCount::Patterns { why: block, .. }) => (why, block.as_str()),
            _ => (recourse, gate.first_attribute()),
        };
        let made = folders.iter().find(|(block, _)| *block == counted_block);
        // The own folder holds no table yet.
        let mut gate = gate.count(made.map_or(ctx.out(), |made| made.1))?;
        if made.is_none() {
            gate.objections.push(GateReason::WaitsForScores);
        }
        counted.push(gate);
    }
    let mut asked = questions(checked);
    let is_there = |question: &GateQuestion| {
        tables.metrics.iter().any(|row| {
            row.key.model == question.model
                && row.key.counterfactual == question.counterfactual
                && row.key.arm == question.arm
        })
    };
    let awaits = |question: &GateQuestion| match (question.quantity, waits) {
        (_, None) => false,
        (GateQuantity::Change, Some(names_baseline)) => names_baseline && comparison.is_none(),
        (GateQuantity::Value, Some(_)) => !is_there(question),
    };
    for question in &mut asked {
        if awaits(question) {
            question.objections.push(GateReason::WaitsForScores);
        }
    }
    asked.extend(counted);
    let (table, outcome) = verdicts(checked, asked, &tables, comparison.as_ref());
    write_rows(ctx.out(), &table)?;
    write_rows(ctx.out(), &tables.issues)?;
    files::write_json(&ctx.out().join(GATE_OUTCOME), &outcome)
}

/// The objections to the model and the set of a question that the job accepts by name.
fn accepted(job: &job::Job, question: &GateQuestion) -> Vec<String> {
    let model = job.models.iter().find(|(name, _)| name.as_str() == question.model);
    let of_model = model.into_iter().flat_map(|(_, model)| &model.accept).map(key_word);
    let sets = job.sets();
    let set = sets.iter().find(|(name, _)| *name == question.counterfactual);
    let of_set = set.into_iter().flat_map(|(_, set)| &set.accept).map(key_word);
    of_model.chain(of_set).collect()
}

/// The table of gates by those of what was measured, and what the summary says about them: the one
/// judge of `run`, `gate` and `diff`.
pub(crate) fn verdicts(
    checked: &CheckedJob,
    mut questions: Vec<GateQuestion>,
    tables: &GateTables,
    comparison: Option<&DiffResult>,
) -> (Vec<GateRow>, GateOutcome) {
    let baseline = comparison.map(baseline::as_baseline);
    for question in &mut questions {
        question.accepts = accepted(&checked.job, question);
    }
    let judged = gate::judge(&questions, tables, baseline.as_ref());
    let (crossed, word) = match judged.verdict() {
        Some(GateStatus::Fail) => (true, GateStatus::Fail.word()),
        Some(GateStatus::Inconclusive) => {
            let fails = checked.job.on_inconclusive == OnInconclusive::Fail;
            (fails, GateStatus::Inconclusive.word())
        }
        _ if judged.tally.warn > 0 => (false, "warn"),
        Some(verdict) => (false, verdict.word()),
        None => (false, "done"),
    };
    let outcome = GateOutcome {
        verdict: word.to_owned(),
        exit: if crossed { Exit::GateFailed.code() } else { Exit::Done.code() },
        tally: judged.tally,
        worst: judged.worst,
    };
    (judged.table, outcome)
}
