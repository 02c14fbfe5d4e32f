//! What the verbs `check`, `plan` and `data` find out about a job without auditing it.
//!
//! `check` and `data` prepare and split the rows as a run does, and leave both in the cache for it,
//! with counts of their own. `plan` runs no stage: it only hashes the input files whose hash the
//! cache does not remember, because staleness depends on them, and it creates, downloads and locks
//! nothing.

pub(crate) mod previewed_rows;
mod traps;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::causal::encoding::constant_columns;
use crate::counterfactual::write_back::features_set_with;
use crate::data::prepare::params::MISSING_VALUES;
use crate::data::rows::RowsReader;
use crate::data::rows::profile::{ColumnCounts, GroupProfile, LabelCounts, PreparedProfile};
use crate::data::rows::training::one_class;
use crate::data::values::ValueClass;
use crate::data::{Feature, FeatureKind, Layout, MISSING_LEVEL, RowIdKind};
use crate::error::{Error, FilePlace, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::Observer;
use crate::exec::folder::ScratchFolder;
use crate::exec::result_store::StoreView;
use crate::exec::{ExecSettings, StageContext, StageRecord, StageStatus};
use crate::explain::hint_of_issue;
use crate::folder::manifest::RowCounts;
use crate::job::check::CheckedJob;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::value::sanity::ModelSanity;
use crate::model::contract::{ModelContract, TermSource};
use crate::model::kind::python::PythonBlock;
use crate::stage::count::slices::AttributeSlices;
use crate::stage::gate::blind;
use crate::stage::gate::model_issues::of_sanity;
use crate::stage::generate::support::{UnsupportedValue, told_in_words};
use crate::stage::input::digest::InputDigests;
use crate::stage::input::score_files::AwaitedFile;
use crate::stage::input::{self, AbsentDataSet, JobInputs, copied_rows};
use crate::stage::job_place::with_place;
use crate::stage::job_warnings::{self, IssueNote};
use crate::stage::measure::labels::{self, CountedRows};
use crate::stage::params::prepare_params;
use crate::stage::plan::{StagePlan, reads_features};
use crate::stage::preview::previewed_rows::PreviewedRows;
use crate::stage::recourse::people::levels_not_to;
use crate::stage::report;
use crate::stage::run_resources::{open_store, open_workers};
use crate::stage::selective::{self, WITHOUT_LABEL};
use crate::stage::settings::RunSettings;
use crate::stage::sharding::share::RowShare;
use crate::table::file::read_rows;
use crate::table::{FilterRow, IssueRow, PopulationRow, unsigned, whole};
use crate::unit::{StageKind, UnitKind};

/// Levels of a column that are shown.
const LEVELS_SHOWN: usize = 10;

/// A side of the split that lacks a value of the label.
const ONE_SIDED_LABEL: &str = "one-sided-label";

/// What a run of a job would do; serializes as `cfaudit plan --json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunForecast {
    /// Name of the job.
    pub job: String,
    /// The id that the run would have.
    pub run: String,
    /// Its stages, in order.
    pub stages: Vec<StageStatus>,
    /// How many of them would run.
    pub to_run: usize,
    /// Files of scores that are not there: the run would write the rows to score and wait.
    pub awaited: Vec<AwaitedFile>,
    /// The public data set that the run would download first, or replace by its stand-in; null =
    /// none.
    pub to_download: Option<String>,
    /// Whether a run would first ask a program for the rows: the cache is valid if it writes the
    /// same rows as the last time.
    pub asks_for_rows: bool,
}

/// Says what a run would do.
///
/// # Errors
/// An input file cannot be found or read; `--force` or `--until` of `settings` name nothing known.
pub(crate) fn forecast(
    checked: &CheckedJob,
    settings: &RunSettings,
    cancel: &CancelFlag,
) -> Result<RunForecast> {
    let find = || {
        let entries = StoreView::of(settings.cache.clone());
        let workers = open_workers(settings)?;
        let found = (InputDigests::load(&entries, settings.rehash), &workers);
        let copy = copied_rows::last_copy(checked, settings, &entries);
        let absent = (AbsentDataSet::AssumeAvailable, copy.as_ref());
        let input = input::locate(checked, settings, absent, found, cancel)?;
        let run_id = report::run_id(checked, &input);
        let all = &RowShare::All;
        let plan = StagePlan::new(checked, settings, &input, &workers, &run_id, &entries, all)?;
        let run = plan.stages()?;
        let force = run.force(settings.force.as_deref());
        let options = ExecSettings { force, ..plan.exec_settings() };
        let stages = crate::exec::plan(&run.stages, &entries, &options)?;
        Ok(RunForecast {
            job: checked.job.name.to_string(),
            run: run_id.clone(),
            to_run: stages.iter().filter(|s| !s.cached).count(),
            stages,
            awaited: input.awaited.clone(),
            to_download: input.to_download.map(str::to_owned),
            asks_for_rows: copied_rows::row_program(checked, settings).is_some(),
        })
    };
    find().map_err(|error| with_place(error, checked))
}

/// What `cfaudit check` prints about a job and data without an error.
#[derive(Debug, Clone)]
pub(crate) struct CheckFindings {
    /// Problems that may change what the results mean.
    pub warnings: Vec<IssueNote>,
    /// The files of scores that are not there yet.
    pub awaited: Vec<AwaitedFile>,
    /// The contracts with models that are trained elsewhere.
    pub contracts: Vec<ContractPreview>,
}

/// The contract with a model; serializes as `cfaudit check --json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ContractPreview {
    /// The model.
    pub model: String,
    /// What it gives for a row where it names no class, after "it".
    #[serde(skip)]
    pub answer: String,
    /// The contract.
    #[serde(flatten)]
    pub contract: ModelContract,
}

impl ContractPreview {
    /// The contract as a sentence.
    pub(crate) fn text(&self) -> String {
        let (columns, score) = (&self.contract.columns, &self.contract.score);
        let from = |source: TermSource| match source {
            TermSource::File => "by its file",
            TermSource::Job => "by the job",
            TermSource::Convention => "by convention",
        };
        let mut parts = Vec::new();
        if let Some(first) = columns.first() {
            let names: Vec<&str> = columns.iter().map(|of| of.column.as_str()).collect();
            let mut missing: Vec<String> = columns.iter().map(|of| of.missing.words()).collect();
            missing.sort();
            missing.dedup();
            parts.push(format!(
                "gets [{}] in this order, {}, with {} for a missing value",
                names.join(", "),
                from(first.source),
                missing.join(" or ")
            ));
        }
        let by_class = score.by_class.iter().map(|(of, (name, _))| format!("`{name}` for `{of}`"));
        let by_class: Vec<String> = by_class.collect();
        parts.push(match &score.class {
            None if !by_class.is_empty() => {
                format!("its scores are {}, {}", by_class.join(", "), from(score.source))
            }
            Some(class) => format!(
                "its score is the probability of `{class}` among its classes {}, {}",
                score.classes.join(", "),
                from(score.source)
            ),
            None => format!("it {}", self.answer),
        });
        let known = columns.iter().filter_map(|of| Some((&of.column, of.levels.as_ref()?.len())));
        let known: Vec<String> = known.map(|(column, n)| format!("{n} of `{column}`")).collect();
        if !known.is_empty() {
            parts.push(format!("it knows the levels {}", known.join(", ")));
        }
        format!("model `{}`: {}", self.model, parts.join("; "))
    }
}

impl CheckFindings {
    /// The warnings about a job without its data.
    pub(crate) fn of_job(checked: &CheckedJob) -> Self {
        let (awaited, contracts) = (Vec::new(), Vec::new());
        CheckFindings { warnings: job_warnings::of_job(checked), awaited, contracts }
    }
}

/// A warning, and the place of the key that it is about, where it is about one.
#[derive(Debug, Clone)]
pub(crate) struct LocatedIssue {
    pub issue: IssueNote,
    pub place: Option<FilePlace>,
}

impl LocatedIssue {
    /// A warning with its place in the job.
    pub(crate) fn new(issue: IssueNote, checked: &CheckedJob) -> Self {
        let place = checked.place_of_issue(&issue.place).cloned();
        LocatedIssue { issue, place }
    }
}

/// Looks at the data of a job as `cfaudit check` does.
///
/// # Errors
/// What only the data can tell: missing columns, unknown groups, unreadable rows.
pub(crate) fn check_data(
    checked: &CheckedJob,
    settings: &RunSettings,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<CheckFindings> {
    with_prepared(checked, settings, observer, cancel, None, |plan, input, records| {
        let previewed = PreviewedRows::read(&folder_of(records, UnitKind::Labels))?;
        let (_, mut warnings) = filters_and_issues(&folder_of(records, UnitKind::Prepare))?;
        // Another job may have prepared the same rows with more columns.
        let params = prepare_params(plan.job, reads_features(plan.job));
        let rows = RowsReader::open(&folder_of(records, UnitKind::Prepare))?;
        check_training(plan, rows.layout(), &previewed)?;
        check_levels(plan, rows.layout())?;
        constant_variables(plan, &previewed.constant)?;
        let contracts = look_outside(plan, rows.layout(), observer, cancel)?;
        warnings
            .retain(|issue| issue.is_warning() && params.reports_issue(&issue.code, &issue.place));
        warnings.extend(blind_gates(checked, rows.layout(), &previewed.counted));
        warnings.extend(unlabelled_people(plan, rows.layout(), &previewed.counted));
        let mut seen = CheckFindings::of_job(checked);
        seen.warnings.extend(warnings);
        seen.warnings.extend(selective(plan, rows.layout(), &previewed.counted, records)?);
        seen.warnings.extend(against_labels(plan, &previewed.counted));
        seen.warnings.extend(one_sided_labels(rows.layout(), &previewed));
        seen.warnings.extend(unsupported_people(plan, rows.layout(), &previewed.unsupported));
        seen.warnings.extend(previewed.traps);
        Ok(CheckFindings { awaited: input.awaited.clone(), contracts, ..seen })
    })
}

/// Looks whether the models that the run trains have rows of both classes, and memory. That all
/// rows have one label is a warning: it may be so today only.
fn check_training(plan: &StagePlan<'_>, layout: &Layout, previewed: &PreviewedRows) -> Result<()> {
    let labels = &previewed.profile.labels;
    let LabelCounts { positive, negative, .. } = labels.trained;
    // With folds all rows train.
    let is_divided = plan.n_folds() <= 1 && previewed.trained > 0 && labels.has_both();
    for (name, model) in &plan.job.models {
        let rows = (previewed.trained, plan.job.run.seed);
        let trainer = plan.trainer(name.as_str(), model, layout, rows)?;
        if trainer.is_some() && is_divided && positive.min(negative) == 0 {
            return Err(one_class(positive + negative).into());
        }
    }
    Ok(())
}

/// Looks whether the job makes too many slices, and whether columns have the levels to which
/// advice may not lead.
fn check_levels(plan: &StagePlan<'_>, layout: &Layout) -> Result<()> {
    for attribute in 0..layout.attributes.len() {
        AttributeSlices::of(layout, attribute)?;
    }
    for block in plan.job.recourse.values() {
        for (name, rule) in &block.may_change {
            let feature = layout.features.iter().find(|of| of.name == name.as_str());
            if let Some(feature) = feature.filter(|of| !of.levels.is_empty()) {
                let mut levels = feature.levels.clone();
                levels.push(MISSING_LEVEL.to_owned());
                levels_not_to(rule, &feature.name, &levels)?;
            }
        }
    }
    Ok(())
}

/// Looks for what the sets and models of a run need from outside: programs, Python modules, the
/// runtime and the files of ONNX models; the contracts with these models.
fn look_outside(
    plan: &StagePlan<'_>,
    layout: &Layout,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<Vec<ContractPreview>> {
    let ctx = StageContext::outside("check", observer, cancel);
    for (name, set) in &plan.job.counterfactuals {
        plan.external_program(name.as_str(), set).map_or(Ok(()), |program| program.look())?;
    }
    let mut contracts = Vec::new();
    for (name, model) in &plan.job.models {
        if let Some(call) = plan.call(name.as_str(), model) {
            call.look(&ctx, model.python.as_ref().and_then(PythonBlock::module))?;
        }
        let classes = plan.job.data.label.classes();
        let external = model.kinds().into_iter().find_map(|kind| kind.external(classes));
        if let Some(external) = external {
            let contract = plan.contract(&ctx, name.as_str(), model, layout)?;
            plan.load_scorer(name.as_str(), model, layout, &contract)?;
            let (model, answer) = (name.to_string(), external.answer);
            contracts.push(ContractPreview { model, answer, contract });
        }
    }
    Ok(contracts)
}

/// Gates whose direction cannot see harm to the group with the lowest share of favourable
/// decisions, or labels where the rows tell no decision.
fn blind_gates(checked: &CheckedJob, layout: &Layout, counted: &CountedRows) -> Vec<IssueNote> {
    let job = &checked.job;
    let favours_positive = job.data.favours_positive();
    let shares = |model: &str, attribute: &str| {
        labels::favourable_shares(counted, layout, favours_positive, (model, attribute))
    };
    blind::gates(job, shares)
}

/// Models whose decisions in the rows go against the labels, or are the same for everybody.
fn against_labels(plan: &StagePlan<'_>, counted: &CountedRows) -> Vec<IssueNote> {
    let models = counted.iter().filter(|(model, _)| !model.is_empty());
    let of_model = |(model, counts): &(String, Vec<FactualCounts>)| {
        let found = counts.first().map(|counts| ModelSanity::of_sides(counts, false));
        found.map_or_else(Vec::new, |found| of_sanity(plan.job, model, &found))
    };
    models.flat_map(of_model).map(|issue| note_of(&issue)).collect()
}

/// The sets in which people without a label have no counterfactual.
fn unlabelled_people(
    plan: &StagePlan<'_>,
    layout: &Layout,
    counted: &CountedRows,
) -> Vec<IssueNote> {
    labels::sets_without_labels(plan.job, |attribute| {
        let at = layout.attributes.iter().position(|of| of.name == attribute);
        // A missing label is missing under every model.
        let counts = counted.first().zip(at).map(|((_, counts), at)| &counts[at]);
        counts.map_or(0, |counts| counts.groups.iter().map(|group| group.n_missing_label()).sum())
    })
}

/// The sets whose counterfactuals would be people that the reference rows hardly hold, by features
/// that they do not move; only a run shows what they move.
fn unsupported_people(
    plan: &StagePlan<'_>,
    layout: &Layout,
    unsupported: &BTreeMap<String, Vec<UnsupportedValue>>,
) -> Vec<IssueNote> {
    let mut warnings = Vec::new();
    for applied in plan.applied_sets() {
        let groups = &layout.attributes[applied.position].groups;
        let written = features_set_with(layout, applied.position);
        let stays = |value: &&UnsupportedValue| {
            let feature = value.value.feature.as_str();
            let is_written = written.iter().any(|&f| layout.features[f].name == feature);
            !is_written && !applied.block.may_move(feature)
        };
        let found = unsupported.get(applied.attribute).into_iter().flatten().filter(stays);
        let Some((n, text)) = told_in_words(found, groups) else { continue };
        let place = crate::job::check::path(&["counterfactuals", applied.scenario().0]);
        let text = format!("the set `{}` on `{}`: {text}", applied.set, applied.attribute);
        let warning = IssueNote::warning("unsupported-people", place, n, text);
        warnings.push(warning.with_hint(SUPPORT_HINT.to_owned()));
    }
    warnings
}

/// The inputs of the counterfactuals of existing people.
const SUPPORT_HINT: &str = "join such levels to one (`data.derive` with `map`), let the set move \
    the feature, or name a `counterpart` of the level; gates that depend on such people are \
    inconclusive";

/// Who is left out, or lacks a label, more often than others, if the rows show it.
fn selective(
    plan: &StagePlan<'_>,
    layout: &Layout,
    counted: &CountedRows,
    records: &[StageRecord],
) -> Result<Vec<IssueNote>> {
    let found = labels::selective_labels(counted, layout, plan.job.data.favours_positive());
    let of_labels =
        found.iter().map(|(attribute, of)| of.args.issue(WITHOUT_LABEL, attribute, whole(of.n)));
    let population = read_rows::<PopulationRow>(&folder_of(records, UnitKind::Population))?;
    let rows = of_labels.chain(selective::issues(plan.job, &population));
    Ok(rows.map(|row| note_of(&row)).collect())
}

/// An issue as `check` and `data` print it.
fn note_of(row: &IssueRow) -> IssueNote {
    IssueNote {
        code: row.code.to_string(),
        severity: row.severity.to_string(),
        place: row.r#where.to_string(),
        n: unsigned(row.n),
        text: row.text.to_string(),
        hint: hint_of_issue(row).map(str::to_owned),
    }
}

/// Fails where a graph set has variables with one value among the training rows: all of them in one
/// message. The attribute itself may be constant, and graphs of a reference are learnt elsewhere.
fn constant_variables(plan: &StagePlan<'_>, constant: &[String]) -> Result<()> {
    let data = &plan.job.data;
    for (name, set) in &plan.job.counterfactuals {
        let Some(graphs) = set.graphs().filter(|_| data.reference.is_none()) else { continue };
        for attribute in data.sensitive.keys() {
            let own = data.column_of(attribute);
            let variables = data.graph_variables(graphs, attribute);
            let is_constant = |column: &&str| constant.iter().any(|known| known == column);
            let variables = variables.iter().filter(|column| *column != own);
            let found: Vec<&str> = variables.map(|of| of.as_str()).filter(is_constant).collect();
            if let Some(fault) = constant_columns(&found) {
                let error = Error::from(fault);
                return Err(plan.with_model_place(error, &["counterfactuals", name.as_str()]));
            }
        }
    }
    Ok(())
}

/// The sides of the split that lack a value of the label, unless all rows do.
fn one_sided_labels(layout: &Layout, previewed: &PreviewedRows) -> Vec<IssueNote> {
    let of_two = layout.label.as_ref().filter(|label| label.classes.is_empty());
    let Some(label) = of_two else { return Vec::new() };
    let labels = previewed.profile.labels;
    let lacking = match labels.has_both() {
        true => labels.lacking(&label.column),
        false => Vec::new(),
    };
    let issue = |(n, text): (u64, String)| {
        IssueNote::warning(ONE_SIDED_LABEL, &label.column, n, text)
            .with_hint("divide the rows otherwise under `data.split`".to_owned())
    };
    lacking.into_iter().map(issue).collect()
}

fn folder_of(records: &[StageRecord], kind: UnitKind) -> PathBuf {
    records.iter().find(|r| r.id == kind.word()).map_or_else(PathBuf::new, |r| r.folder.clone())
}

/// Prepares and splits the rows and hands the folders of these stages to `see`. `features`, where
/// it is given, says whether features travel; else they do as in a run.
fn with_prepared<T>(
    checked: &CheckedJob,
    settings: &RunSettings,
    observer: &dyn Observer,
    cancel: &CancelFlag,
    features: Option<bool>,
    see: impl FnOnce(&StagePlan<'_>, &JobInputs, &[StageRecord]) -> Result<T>,
) -> Result<T> {
    let find = || {
        let scratch = settings.cache.is_none().then(ScratchFolder::of_system).transpose()?;
        let (store, workers) =
            (open_store(&checked.job, settings, scratch.as_ref())?, open_workers(settings)?);
        let found = (InputDigests::load(&store.view(), settings.rehash), &workers);
        let copy = copied_rows::copy_rows(checked, settings, &store, observer, cancel)?;
        let absent = (AbsentDataSet::Download, copy.as_ref());
        let input = input::locate(checked, settings, absent, found, cancel)?;
        input.digests.save(&store);
        input.file_events().iter().for_each(|event| observer.on(event));
        let all = &RowShare::All;
        let mut plan = StagePlan::new(checked, settings, &input, &workers, "", &store.view(), all)?;
        plan.check_sum_memory()?;
        plan.features = features.unwrap_or(plan.features);
        let until = Some(StageKind::Split.word());
        let options =
            ExecSettings { until, published: None, max_parallel: 1, ..plan.exec_settings() };
        let stages = plan.stages_of_look()?.stages;
        let records = crate::exec::run(&stages, &store, &options, observer, cancel)?;
        see(&plan, &input, &records)
    };
    find().map_err(|error| with_place(error, checked))
}

/// One step that can lose rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FilterStep {
    /// The step, as the job writes it.
    pub what: String,
    /// Rows before it.
    pub rows_in: u64,
    /// Rows after it.
    pub rows_out: u64,
}

/// What an audit depends on; serializes as `cfaudit data --json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DataPreview {
    /// Name of the job.
    pub job: String,
    /// The data set that generated rows replace; null = none.
    pub stand_in: Option<String>,
    /// Numbers of rows.
    pub rows: RowCounts,
    /// Each step that can lose rows, in order.
    pub filters: Vec<FilterStep>,
    /// What was met and did not stop the work.
    pub issues: Vec<IssueNote>,
    /// The columns that are read, but for the label: the row id, then features, sensitive ones
    /// first, then those that models name.
    pub columns: Vec<ColumnPreview>,
    /// The label, over all kept rows; null where the job has none.
    pub label: Option<LabelPreview>,
    /// The sensitive attributes.
    pub attributes: Vec<AttributePreview>,
    /// Files of scores that are not there.
    pub awaited: Vec<AwaitedFile>,
}

/// A column that is read.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ColumnPreview {
    /// Its name in the source.
    pub name: String,
    /// `row_id`, `sensitive`, `continuous`, `ordinal`, `nominal`, or `model` (a model names it:
    /// scores, thresholds).
    pub kind: &'static str,
    /// What the source holds: integers, numbers, booleans, text, no values.
    #[serde(rename = "type")]
    pub class: &'static str,
    /// Kept rows without a value in the source, also where these form the level `missing`.
    pub missing: u64,
    /// The most frequent levels, at most ten; empty for numbers.
    pub levels: Vec<LevelPreview>,
    /// Number of levels; null for numbers.
    pub n_levels: Option<usize>,
    /// Smallest number; null for levels, and where there is none.
    pub min: Option<f64>,
    /// Largest number; null for levels, and where there is none.
    pub max: Option<f64>,
}

/// A level with its count.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LevelPreview {
    /// The level.
    pub level: String,
    /// Kept rows that have it.
    pub n: u64,
}

/// The label.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LabelPreview {
    /// The column.
    pub column: String,
    /// The values that count as positive.
    pub positive: Vec<String>,
    /// The values seen that count as negative.
    pub negative: Vec<String>,
    /// Which side people want: positive or negative.
    pub favourable: &'static str,
    /// Kept rows with a positive label.
    pub n_positive: u64,
    /// Kept rows with a negative label.
    pub n_negative: u64,
    /// Kept rows without a label.
    pub n_missing: u64,
}

/// A sensitive attribute.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AttributePreview {
    /// Its name.
    pub name: String,
    /// The column that holds it.
    pub column: String,
    /// The reference group.
    pub reference: String,
    /// Its groups in declared order, then, with `group` null, the rows of no declared group.
    pub groups: Vec<GroupPreview>,
}

/// A group.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupPreview {
    /// The group; null for the rows of no declared group.
    pub group: Option<String>,
    /// Kept rows.
    pub rows: u64,
    /// Those of them that train.
    pub trained: u64,
    /// Those of them that are audited.
    pub audited: u64,
    /// Audited rows with a positive label; null without a label in the job.
    pub positive: Option<u64>,
    /// Audited rows with a negative label; null without a label in the job.
    pub negative: Option<u64>,
    /// Audited rows without a label; null without a label in the job.
    pub unlabelled: Option<u64>,
}

/// Looks at the rows of a job: columns, levels, groups by label, filters.
///
/// # Errors
/// As [`check_data`].
pub(crate) fn data(
    checked: &CheckedJob,
    settings: &RunSettings,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<DataPreview> {
    with_prepared(checked, settings, observer, cancel, Some(true), |plan, input, records| {
        let folder = |kind| folder_of(records, kind);
        let rows = RowsReader::open(&folder(UnitKind::Prepare))?;
        let layout = rows.layout();
        let (filters, mut issues) = filters_and_issues(&folder(UnitKind::Prepare))?;
        let previewed = PreviewedRows::read(&folder(UnitKind::Labels))?;
        let labels = previewed.profile.labels.all();
        issues.extend(selective(plan, layout, &previewed.counted, records)?);
        issues.extend(against_labels(plan, &previewed.counted));
        issues.extend(one_sided_labels(layout, &previewed));
        let job = &checked.job;
        let label =
            job.data.label.column().zip(layout.label.as_ref()).map(|(role, label)| LabelPreview {
                column: label.column.clone(),
                positive: label.positive.clone(),
                negative: label.negative.clone(),
                favourable: if role.favours_positive() { "positive" } else { "negative" },
                n_positive: labels.positive,
                n_negative: labels.negative,
                n_missing: labels.missing,
            });
        Ok(DataPreview {
            job: job.name.to_string(),
            stand_in: input.stand_in.clone(),
            rows: RowCounts {
                source: filters.first().map_or(0, |f| f.rows_in),
                kept: layout.n_rows,
                trained: previewed.trained,
                audited: previewed.audited,
            },
            filters: filters.into_iter().skip(1).collect(),
            columns: columns(checked, layout, &previewed.profile, &issues),
            issues,
            label,
            attributes: attributes(layout, &previewed.profile),
            awaited: input.awaited.clone(),
        })
    })
}

/// The steps that can lose rows, the source first, and what was met.
fn filters_and_issues(folder: &Path) -> Result<(Vec<FilterStep>, Vec<IssueNote>)> {
    let filters = read_rows::<FilterRow>(folder)?;
    let filters = filters.iter().map(|r| FilterStep {
        what: r.what.to_string(),
        rows_in: unsigned(r.rows_in),
        rows_out: unsigned(r.rows_out),
    });
    let filters = filters.collect();
    let issues = read_rows::<IssueRow>(folder)?;
    Ok((filters, issues.iter().map(note_of).collect()))
}

/// The columns. Values that became the level `missing` are missing in the source, and are counted
/// there; preparing has reported how many.
fn columns(
    checked: &CheckedJob,
    layout: &Layout,
    profile: &PreparedProfile,
    issues: &[IssueNote],
) -> Vec<ColumnPreview> {
    let told = |name: &str| {
        issues.iter().find(|i| i.code == MISSING_VALUES && i.place == name).map_or(0, |i| i.n)
    };
    let mut columns = Vec::new();
    if let Some(id) = &checked.job.data.row_id {
        let class =
            if layout.row_id == RowIdKind::Text { ValueClass::Text } else { ValueClass::Int };
        columns.push(column(id.as_str(), "row_id", class, None, &ColumnCounts::default()));
    }
    for (feature, counts) in layout.features.iter().zip(&profile.features) {
        let levels = feature.kind.is_coded().then_some(feature.levels.as_slice());
        let mut described =
            column(&feature.name, kind_word(feature), feature.class, levels, counts);
        described.missing = described.missing.max(told(&feature.name));
        columns.push(described);
    }
    for (name, counts) in layout.carried.iter().zip(&profile.carried) {
        let (name, decides) = layout.source_of_carried(name);
        let (class, range) =
            if decides { (ValueClass::Text, None) } else { (ValueClass::Float, counts.range) };
        let counts = ColumnCounts { range, ..counts.clone() };
        columns.push(column(name, "model", class, None, &counts));
    }
    columns
}

fn kind_word(feature: &Feature) -> &'static str {
    match feature.kind {
        FeatureKind::Continuous { .. } => "continuous",
        FeatureKind::OrdinalNumber | FeatureKind::OrdinalLevel => "ordinal",
        FeatureKind::Nominal => "nominal",
        FeatureKind::Sensitive => "sensitive",
    }
}

fn column(
    name: &str,
    kind: &'static str,
    class: ValueClass,
    levels: Option<&[String]>,
    counts: &ColumnCounts,
) -> ColumnPreview {
    let known = levels.into_iter().flatten().zip(&counts.levels);
    let mut shown: Vec<LevelPreview> =
        known.map(|(level, &n)| LevelPreview { level: level.clone(), n }).collect();
    // The sort is stable: levels that are as frequent stay in their order.
    shown.sort_by_key(|level| std::cmp::Reverse(level.n));
    shown.truncate(LEVELS_SHOWN);
    ColumnPreview {
        name: name.to_owned(),
        kind,
        class: class.name(),
        missing: counts.missing,
        levels: shown,
        n_levels: levels.map(<[String]>::len),
        min: counts.range.map(|range| range.0),
        max: counts.range.map(|range| range.1),
    }
}

fn attributes(layout: &Layout, profile: &PreparedProfile) -> Vec<AttributePreview> {
    let described = |group: Option<&String>, counts: &GroupProfile| {
        let LabelCounts { positive, negative, missing } = counts.labels;
        let labelled = |n: u64| layout.label.as_ref().map(|_| n);
        GroupPreview {
            group: group.cloned(),
            rows: counts.rows,
            trained: counts.trained,
            audited: counts.audited,
            positive: labelled(positive),
            negative: labelled(negative),
            unlabelled: labelled(missing),
        }
    };
    let attributes =
        layout.attributes.iter().zip(&profile.groups).map(|(attribute, counts)| AttributePreview {
            name: attribute.name.clone(),
            column: layout.features[attribute.feature].name.clone(),
            reference: attribute.groups[attribute.reference].clone(),
            groups: attribute
                .groups
                .iter()
                .map(Some)
                .chain([None])
                .zip(counts)
                .map(|(group, counts)| described(group, counts))
                .collect(),
        });
    attributes.collect()
}
