//! What the output folder is put together from, as stages need and open it.

use crate::error::Result;
use crate::exec::StageContext;
use crate::job::ModelBlock;
use crate::stage::applied_set::key_text;
use crate::stage::discover::GraphSetInputs;
use crate::stage::generate::refits::FitInputs;
use crate::stage::hidden::HiddenFolders;
use crate::stage::input::request::AnswerInputs;
use crate::stage::kept_rows::KeptRowInputs;
use crate::stage::kinds::{
    BaselineStage, CasesStage, GateStage, GenerateStage, MeasureStage, OutcomesStage,
    PopulationStage, ScoreStage, SelectedStage, TablesStage, WorldsStage,
};
use crate::stage::models::TreeInputs;
use crate::stage::needed::NeededFolders;
use crate::stage::params::prepare_params;
use crate::stage::plan::{StagePlan, reads_features};
use crate::stage::recourse::stage::RecourseFolders;
use crate::stage::report::origins::FolderOrigins;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::expect::ExpectInputs;
use crate::stage::score::levels::ContractInputs;
use crate::stage::score::recheck::RecheckInputs;
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::stage::why::WhyFolders;
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
    pub(crate) contracts: ContractInputs<'a>,
}

impl<'a> MeasuredParts<'a> {
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let (measured, contracts) = (MeasuredTables::need(b)?, ContractInputs::need(b)?);
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
fn world_scores(b: &mut StageBuilder<'_, '_>) -> Result<Vec<StageInput<WorldsStage>>> {
    let plan = b.plan;
    let applied_sets = plan.applied_sets();
    let of_graphs = applied_sets.iter().filter(|applied| applied.graphs().is_some());
    let mut found = Vec::new();
    for (name, model) in plan.job.models.iter().filter(|_| plan.keeps_world_scores()) {
        let asked = of_graphs.clone().filter(|applied| applied.block.asks(name));
        for applied in asked.filter(|_| model.scores_counterfactuals()) {
            found.push(b.need::<WorldsStage>(&applied.unit_of(name.as_str()))?);
        }
    }
    Ok(found)
}

/// The stages that a folder is put together from.
pub(crate) struct FolderInputs<'a> {
    /// Where it comes from.
    pub(crate) origins: OriginInputs<'a>,
    /// The tables of metrics, and the verdicts.
    pub(crate) parts: MeasuredParts<'a>,
    /// The rows that arms added, where they are kept.
    pub(crate) selected: Option<StageInput<SelectedStage>>,
    /// The rows of counterfactuals, where they are kept.
    pub(crate) kept: KeptRowInputs<'a>,
    /// The outcomes, where they are kept.
    pub(crate) outcomes: Option<StageInput<OutcomesStage>>,
    /// What graphs say about single people, where it is kept.
    pub(crate) world_scores: Vec<StageInput<WorldsStage>>,
    /// The people whom the page shows, where the job asks for them.
    pub(crate) cases: Option<StageInput<CasesStage>>,
    /// The stage that compared the run with an earlier one.
    pub(crate) baseline: Option<StageInput<BaselineStage>>,
    /// The blocks of recourse in the order of their keys.
    pub(crate) recourse: RecourseFolders,
    /// The blocks of `why` by name.
    pub(crate) why: WhyFolders,
    /// What hidden causes could do, where sets ask.
    pub(crate) hidden: HiddenFolders,
    /// Which statements verdicts need, where sets ask.
    pub(crate) needed: NeededFolders,
    /// The model of each file of scores that holds rows again, and the stage that joined it.
    pub(crate) rechecks_of_files: Vec<(String, StageInput<ScoreStage>)>,
    /// The models that were asked twice.
    pub(crate) rechecks: RecheckInputs,
    /// The models whose scores are known.
    pub(crate) expected: ExpectInputs<'a>,
    /// Set, attribute and stage of all counterfactuals.
    pub(crate) sets: Vec<(String, String, StageInput<GenerateStage>)>,
    /// The sets that depend on causal graphs.
    pub(crate) graphs: GraphSetInputs<'a>,
    /// The sets that were fitted.
    pub(crate) fits: FitInputs,
    /// The files of scores.
    pub(crate) answers: AnswerInputs,
    /// The models that grow trees.
    pub(crate) trees: TreeInputs<'a>,
    /// In so many folds.
    pub(crate) n_folds: usize,
}

impl<'a> FolderInputs<'a> {
    /// All that the folder of a run is put together from.
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let plan = b.plan;
        let origins = OriginInputs::need(b)?;
        let parts = MeasuredParts::need(b)?;
        let has_chosen = plan.keeps_outcomes() && !plan.job.experiments.is_empty();
        let selected =
            has_chosen.then(|| b.need::<SelectedStage>(&AuditUnit::default())).transpose()?;
        let (kept, outcomes) = (KeptRowInputs::need(b)?, StageInput::<OutcomesStage>::need(b)?);
        let world_scores = world_scores(b)?;
        let cases = StageInput::<CasesStage>::need(b)?;
        let (baseline, recourse) = (need_baseline(b)?, RecourseFolders::need(b)?);
        let mut rechecks_of_files = Vec::new();
        let checks = |model: &ModelBlock| {
            model.made_elsewhere().is_some_and(|scores| scores.recheck.is_some())
        };
        for (name, _) in plan.job.models.iter().filter(|(_, model)| checks(model)) {
            let applied_sets = plan.applied_sets().into_iter();
            for applied in applied_sets.filter(|applied| applied.block.asks(name)) {
                let scored = b.need::<ScoreStage>(&applied.unit_of(name.as_str()))?;
                rechecks_of_files.push((name.to_string(), scored));
            }
        }
        let rechecks = RecheckInputs::need(b)?;
        let mut sets = Vec::new();
        for applied in plan.applied_sets() {
            let made = b.need::<GenerateStage>(&applied.unit())?;
            sets.push((applied.set.to_owned(), applied.attribute.to_owned(), made));
        }
        Ok(FolderInputs {
            origins,
            parts,
            selected,
            kept,
            outcomes,
            world_scores,
            cases,
            baseline,
            recourse,
            why: WhyFolders::need(b)?,
            hidden: HiddenFolders::need(b)?,
            needed: NeededFolders::need(b)?,
            rechecks_of_files,
            rechecks,
            expected: ExpectInputs::need(b)?,
            sets,
            graphs: GraphSetInputs::need(b)?,
            fits: FitInputs::need(b)?,
            answers: AnswerInputs::need(b)?,
            trees: TreeInputs::need(b)?,
            n_folds: plan.n_folds(),
        })
    }
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

/// Where a folder comes from, to be opened.
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

    /// Tells `work` where the folder comes from.
    pub(crate) fn with<T>(
        &self,
        ctx: &StageContext<'_>,
        work: impl FnOnce(&FolderOrigins<'_>) -> Result<T>,
    ) -> Result<T> {
        let plan = self.plan;
        let params = prepare_params(plan.job, reads_features(plan.job));
        self.rows.with(ctx, 0, |row_context| {
            work(&FolderOrigins {
                checked: plan.checked,
                settings: plan.settings,
                input: plan.input,
                run: plan.run_id,
                context: row_context,
                params: &params,
                prepared: self.rows.prepared().folder(ctx),
                population: self.population.folder(ctx),
            })
        })
    }
}
