//! The results that the output folder is made from, in the form that stages request and open.

use std::path::Path;

use crate::data::prepare::params::PrepareParams;
use crate::error::Result;
use crate::exec::StageContext;
use crate::job::ModelBlock;
use crate::job::check::CheckedJob;
use crate::stage::applied_set::key_text;
use crate::stage::input::JobInputs;
use crate::stage::kinds::{
    BaselineStage, GateStage, MeasureStage, PopulationStage, ScoreStage, TablesStage, WorldsStage,
};
use crate::stage::params::prepare_params;
use crate::stage::plan::{StagePlan, reads_features};
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::levels::{SettledModel, settled_models};
use crate::stage::settings::RunSettings;
use crate::stage::stage_builder::{Opens, Planned, StageBuilder, StageFolders, StageInput};
use crate::unit::AuditUnit;

/// The tables of everything that is measured, and those of the plain audit.
#[derive(Clone)]
pub(crate) struct MeasuredTables {
    pub(crate) all: StageInput<MeasureStage>,
    pub(crate) plain: StageInput<MeasureStage>,
}

impl MeasuredTables {
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let plain = b.need::<MeasureStage>(&AuditUnit::default())?;
        let all = match b.plan.job.experiments.is_empty() {
            true => plain.clone(),
            false => b.need::<TablesStage>(&AuditUnit::default())?,
        };
        Ok(MeasuredTables { all, plain })
    }
}

/// The tables that were measured, the verdicts on them, and the contracts with models that are
/// trained elsewhere.
pub(crate) struct MeasuredParts<'a> {
    pub(crate) measured: MeasuredTables,
    pub(crate) gate: StageInput<GateStage>,
    pub(crate) contracts: Opens<'a, Vec<SettledModel<'a>>>,
}

impl<'a> MeasuredParts<'a> {
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let (measured, contracts) = (MeasuredTables::need(b)?, settled_models(b)?);
        let gate = b.need::<GateStage>(&AuditUnit::default())?;
        Ok(MeasuredParts { measured, gate, contracts })
    }
}

/// The comparison with the baseline, where one is named.
pub(crate) fn need_baseline(
    b: &mut StageBuilder<'_, '_>,
) -> Result<Option<StageInput<BaselineStage>>> {
    let named = b.plan.baseline.is_some();
    named.then(|| b.need::<BaselineStage>(&AuditUnit::default())).transpose()
}

/// What graphs say about single people, by model and graph-uncertain set; nothing where it is not
/// kept.
pub(crate) fn world_scores(b: &mut StageBuilder<'_, '_>) -> Result<StageFolders> {
    let plan = b.plan;
    let asked = plan.scored_sets().filter(|_| plan.keeps_world_scores());
    let asked = asked.filter(|(.., applied)| applied.graphs().is_some());
    let units = asked.map(|(name, _, applied)| (String::new(), applied.unit_of(name.as_str())));
    b.need_each::<WorldsStage, _>(units).map(StageFolders::of)
}

/// The files of scores that hold rows again: model, and the stage that joined the file.
pub(crate) fn rechecks_of_files<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Vec<(&'a str, StageInput<ScoreStage>)>> {
    let checks =
        |model: &ModelBlock| model.given_scores().is_some_and(|scores| scores.recheck.is_some());
    let checked = b.plan.scored_sets().filter(|(_, model, _)| checks(model));
    b.need_each::<ScoreStage, _>(
        checked.map(|(name, _, applied)| (name.as_str(), applied.unit_of(name.as_str()))),
    )
}

/// What makes an output folder stale in addition to what it is derived from.
pub(crate) fn folder_inputs(plan: &StagePlan<'_>) -> Result<Vec<(String, String)>> {
    let mut inputs = vec![
        ("job".to_owned(), plan.checked.hash.clone()),
        ("run".to_owned(), plan.run_id.to_owned()),
        ("--set".to_owned(), key_text(&plan.checked.sets)?),
        ("job file".to_owned(), plan.settings.job_file.clone()),
        ("inputs".to_owned(), key_text(&plan.input.files)?),
    ];
    if !plan.history.is_empty() {
        inputs.push(("--history".to_owned(), plan.history.join(" ")));
    }
    Ok(inputs)
}

/// The format of manifests and summaries.
pub(crate) const FORMAT: u32 = 1;

/// What a folder records about its origins.
#[derive(Clone, Copy)]
pub(crate) struct FolderOrigins<'a> {
    /// The job.
    pub checked: &'a CheckedJob,
    /// How it is run.
    pub settings: &'a RunSettings,
    /// What it depends on.
    pub input: &'a JobInputs,
    /// The id of the run.
    pub run: &'a str,
    /// The prepared rows.
    pub context: RowContext<'a>,
    /// The parameters of preparing that readers of the rows need; it may have more.
    pub params: &'a PrepareParams,
    /// The folder of what preparing wrote.
    pub prepared: &'a Path,
    /// The folder of the population whatever the model.
    pub population: &'a Path,
}

/// The inputs of a folder, not yet opened.
pub(crate) struct OriginInputs<'a> {
    plan: &'a StagePlan<'a>,
    rows: RowInputs<'a>,
    population: StageInput<PopulationStage>,
}

impl<'a> OriginInputs<'a> {
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let plan = b.plan;
        b.texts(folder_inputs(plan)?);
        let population = b.need::<PopulationStage>(&AuditUnit::default())?;
        Ok(OriginInputs { plan, rows: RowInputs::of_job(b)?, population })
    }

    /// The work of a stage that writes a folder, given its inputs.
    pub(crate) fn work(
        self,
        run: impl Fn(&StageContext<'_>, &FolderOrigins<'_>) -> Result<()> + Sync + 'a,
    ) -> Planned<'a> {
        let OriginInputs { plan, rows, population } = self;
        let params = prepare_params(plan.job, reads_features(plan.job));
        let prepared = rows.prepared().clone();
        rows.work(0, move |ctx, context| {
            let origins = FolderOrigins {
                checked: plan.checked,
                settings: plan.settings,
                input: plan.input,
                run: plan.run_id,
                context,
                params: &params,
                prepared: prepared.folder(ctx),
                population: population.folder(ctx),
            };
            run(ctx, &origins)
        })
    }
}
