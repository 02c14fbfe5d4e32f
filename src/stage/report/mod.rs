//! The stage `report`: puts the whole output folder together, and reads parts of one back.
//!
//! The folder of this stage is the output folder but for `run.json` and `logs/`: tables, outcomes,
//! resolved job, page, summary and, last, the manifest with the hash of every other file.
//! Publishing copies it.

pub(crate) mod cases;
pub(crate) mod exports;
mod headline;
pub(crate) mod inputs;
mod issues;
mod stage;
pub(crate) mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use words::manifest;

use crate::control_characters::on_one_line;
use crate::error::{Exit, Result};
use crate::exec::event::Event;
use crate::exec::files::{self, make_folder, write, write_json};
use crate::exec::folder::EXTRAS;
use crate::exec::hash::sha256;
use crate::exec::replaced_file::host;
use crate::exec::{StageContext, StageRecord};
use crate::explain::hint_of_issue;
use crate::folder::history::{self, RunHistory};
use crate::folder::manifest::{AwaitedScores, Manifest, RunSummary};
use crate::folder::read::MANIFEST;
use crate::job::check::{CheckedJob, to_yaml};
use crate::job::{self, Job};
use crate::num::additive::Additive;
use crate::report;
use crate::report::export::{deciding, gate_sentence};
use crate::stage::RunRecord;
use crate::stage::artifact::{
    GATE_OUTCOME, GateOutcome, LABELS, QUALITY, SMALL_SLICES, keeps_rows,
};
use crate::stage::discover::graph_sets;
use crate::stage::discover::tables;
use crate::stage::gate::baseline;
use crate::stage::generate::refits::{self, fits_of_sets};
use crate::stage::generate::{SetEffects, effects_of_sets};
use crate::stage::hidden_cause::hidden_folders;
use crate::stage::input::JobInputs;
use crate::stage::input::request::answered_requests;
use crate::stage::kept_rows::kept_rows;
use crate::stage::kinds::{CasesStage, OutcomesStage, SelectedStage};
use crate::stage::measure::labels::{self, SelectiveLabels};
use crate::stage::models::short_of_trees;
use crate::stage::necessary_statements::needed_folders;
use crate::stage::recourse::recourse_folders;
use crate::stage::report::headline::headline;
use crate::stage::report::inputs::{FORMAT, FolderOrigins, MeasuredParts, OriginInputs};
use crate::stage::report::issues::RunFindings;
use crate::stage::row_context::RowContext;
use crate::stage::score::expect::expected_scores;
use crate::stage::score::join::RECHECKED;
use crate::stage::score::levels::SettledModel;
use crate::stage::score::recheck::rechecks;
use crate::stage::settings::{CODE, RunSettings};
use crate::stage::stage_builder::{Planned, StageBuilder, StageFolders, StageInput};
use crate::stage::why::why_folders;
use crate::table::file::{read_rows, write_rows};
use crate::table::merged::join_tables;
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{
    self, AmountRow, ArmFoldRow, ArmRow, CfExampleRow, CfMapRow, ChangeRow, ComparisonRow,
    CountRow, CurveRow, FilterRow, GateRow, GroupRow, HiddenCauseRow, HistoryRow, IssueRow,
    MetricRow, MetricTable, ModelContractRow, NeededKnowledgeRow, OutcomeRow, PopulationRow,
    ReliabilityRow, SelectedRow, TableRow, ThresholdRow, TransitionRow, UnknownLevelRow,
    WorldScoreRow,
};
use crate::table::{ScoreShiftRow, SupportCountRow, SupportRow, TableDef, WARNING};
use crate::unit::{AuditUnit, StageKind};

pub(crate) use words::{glossary, with_baseline, words_of_job};

/// Folder of what other programs read.
const EXPORTS: &str = "exports";

/// Folder of the tables.
const TABLES: &str = "tables";

/// Folder of tables of single people.
const ROWS: &str = "rows";

/// Stages whose tables are put into a folder of the output, where they are kept.
type PublishedTables = (StageFolders, &'static [&'static TableDef], &'static str);

/// The number of rows that decides whether rows are kept.
type RowNumber = fn(&RowContext<'_>) -> u64;

/// The id of a run: six hex digits of the hash of job and inputs.
pub(crate) fn run_id(checked: &CheckedJob, input: &JobInputs) -> String {
    let files = input.files.iter().flat_map(|file| [file.what.clone(), file.identity()]);
    let parts = [checked.hash.clone()].into_iter().chain(files).chain(input.stand_in.clone());
    sha256(parts.collect::<String>().as_bytes())[..6].to_owned()
}

/// The summary of a folder from its manifest, the verdicts of its gates, and its table of metrics.
pub(crate) fn summary(
    manifest: &Manifest,
    outcome: GateOutcome,
    metrics: &[MetricRow],
) -> RunSummary {
    RunSummary {
        cfaudit: FORMAT,
        job: manifest.job.clone(),
        run: manifest.run.clone(),
        out: None,
        verdict: outcome.verdict,
        exit: outcome.exit,
        data: manifest.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        gates: outcome.tally,
        worst: outcome.worst,
        headline: headline(metrics),
        rows: manifest.rows.audited,
        report: report::PAGES[0].to_owned(),
    }
}

/// The summary of a run that stopped before the report, as `--until` asked.
pub(crate) fn unfinished_summary(job: &Job, run: &str, input: &JobInputs) -> RunSummary {
    RunSummary {
        cfaudit: FORMAT,
        job: job.name.to_string(),
        run: run.to_owned(),
        verdict: "unfinished".to_owned(),
        exit: Exit::Done.code(),
        data: input.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        ..RunSummary::default()
    }
}

/// One event per gate of an assembled folder, for the log.
///
/// # Errors
/// The table of gates cannot be read.
pub(crate) fn gate_events(folder: &Path) -> Result<Vec<Event>> {
    let gates = read_rows::<GateRow>(&folder.join(TABLES))?;
    let events = deciding(&gates).map(|row| Event::GateVerdict {
        code: row.verdict.to_string(),
        path: job::check::path(&["gates", row.gate.as_str()]),
        line: u64::try_from(row.job_line).ok(),
        text: gate_sentence(row) + if row.level == "warn" { "; level warn" } else { "" },
    });
    Ok(events.collect())
}

/// One event per warning about the data of an assembled folder, for the log.
///
/// # Errors
/// The table of issues cannot be read.
pub(crate) fn warning_events(folder: &Path) -> Result<Vec<Event>> {
    let issues = read_rows::<IssueRow>(&folder.join(TABLES))?;
    let warnings = issues.iter().filter(|issue| issue.severity == WARNING);
    let events = warnings.map(|issue| {
        let (code, hint) = (issue.code.as_str(), hint_of_issue(issue));
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        Event::Problem {
            code: code.to_owned(),
            path: issue.r#where.to_string(),
            line: None,
            text: format!("{code}: {}{hint}", on_one_line(issue.text.as_str())),
        }
    });
    Ok(events.collect())
}

/// What varies between runs: `run.json` and the log.
pub(crate) fn extras(
    stages: &[StageRecord],
    settings: &RunSettings,
    record: &dyn RunRecord,
) -> Vec<(String, Vec<u8>)> {
    let run = json!({
        "program": env!("CARGO_PKG_VERSION"),
        "code": CODE,
        "threads": settings.threads,
        "host": host(),
        "stages_run": stages.iter().filter(|s| !s.cached).count(),
        "stages_cached": stages.iter().filter(|s| s.cached).count(),
        "stages": stages,
    });
    let mut text = serde_json::to_vec_pretty(&run).unwrap_or_default();
    text.push(b'\n');
    EXTRAS.map(str::to_owned).into_iter().zip([text, record.log_lines()]).collect()
}

/// The output folder of a run, put together from all of its stages.
pub(crate) fn plan_run<'a>(b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
    let plan = b.plan;
    let (origins, parts) = (OriginInputs::need(b)?, MeasuredParts::need(b)?);
    let has_chosen = plan.keeps_outcomes() && !plan.job.experiments.is_empty();
    let selected = has_chosen.then(|| b.need::<SelectedStage>(&AuditUnit::default()));
    let (kept, outcomes) = (kept_rows(b)?, StageInput::<OutcomesStage>::need(b)?);
    let published: [PublishedTables; 6] = [
        (StageInput::<CasesStage>::need(b)?.into(), &[CfExampleRow::TABLE], TABLES),
        (recourse_folders(b)?, &table::recourse::ALL, TABLES),
        (why_folders(b)?, &[SwitchPatternRow::TABLE, SwitchFeatureRow::TABLE], TABLES),
        (hidden_folders(b)?, &[HiddenCauseRow::TABLE], TABLES),
        (needed_folders(b)?, &[NeededKnowledgeRow::TABLE], TABLES),
        (inputs::world_scores(b)?, &[WorldScoreRow::TABLE], ROWS),
    ];
    let (outcomes, selected) = (outcomes.into(), selected.transpose()?.into());
    // If there are many rows, these two stages write nothing unless the job asks for it.
    let counted: [(PublishedTables, RowNumber); 2] = [
        ((outcomes, &[OutcomeRow::TABLE], ROWS), |of| of.roles.n_audited()),
        ((selected, &[SelectedRow::TABLE], ROWS), |of| of.rows.layout().n_rows),
    ];
    let (baseline, of_files) = (inputs::need_baseline(b)?, inputs::rechecks_of_files(b)?);
    let (rechecks, expected) = (rechecks(b)?, expected_scores(b)?);
    let (graphs, fits, followed) = (graph_sets(b)?, fits_of_sets(b)?, effects_of_sets(b)?);
    let (answers, short_of_trees) = (answered_requests(b)?, short_of_trees(b)?);
    origins.work(move |ctx, origins| {
        let (followed, expected) = (followed(ctx)?, expected(ctx)?);
        let found = RunFindings {
            followed: &followed,
            graphs: &graphs(ctx)?,
            short_of_trees: &short_of_trees(ctx)?,
            expected: &expected,
            ..RunFindings::default()
        };
        let mut rechecked = rechecks(ctx)?;
        for (model, stage) in &of_files {
            rechecked.push((*model, stage.read(ctx, RECHECKED)?));
        }
        let settled = write_measured(ctx, origins, &parts, found)?;
        let (out, tables) = (ctx.out(), ctx.out().join(TABLES));
        let keeps = |n: &RowNumber| keeps_rows(plan.job.run.keeps_outcomes(), n(&origins.context));
        let kept_rows = counted.iter().filter(|(_, n)| keeps(n)).map(|(of, _)| of);
        for (stages, of, to) in published.iter().chain(kept_rows) {
            let folders = stages.open(ctx).into_iter().map(|(_, folder)| folder);
            publish(folders, of, &out.join(to))?;
        }
        kept(ctx)?;
        let mut manifest = manifest(origins, out)?;
        refits::record_fits(&mut manifest, fits(ctx)?);
        if let Some(folder) = baseline.as_ref().map(|stage| stage.folder(ctx)) {
            publish([folder].into_iter(), &[ChangeRow::TABLE], &tables)?;
            manifest.baseline = Some(baseline::read_comparison(folder)?.compared);
        }
        record_written(&mut manifest, followed);
        if !origins.settings.history.is_empty() {
            write_history(out, &mut manifest, &origins.settings.history)?;
        }
        manifest.answers = answers(ctx)?;
        record_contracts(&mut manifest, settled);
        for words in &mut manifest.models {
            for (_, one) in rechecked.iter().filter(|(model, _)| *model == words.name) {
                words.recheck.get_or_insert_default().absorb(one);
            }
            let known = expected.iter().find(|(model, ..)| *model == words.name);
            words.expect = known.map(|(_, found)| found.clone());
        }
        let outcome: GateOutcome = parts.gate.read(ctx, GATE_OUTCOME)?;
        let summary = summary(&manifest, outcome, &MetricTable::read(&tables)?.all);
        finish(ctx, origins, &mut manifest, &summary)
    })
}

/// Puts tables that stages wrote into a folder; those of several stages as one.
fn publish<'f>(
    stages: impl Iterator<Item = &'f Path>,
    tables: &[&'static TableDef],
    to: &Path,
) -> Result<()> {
    let stages: Vec<&Path> = stages.collect();
    if stages.is_empty() {
        return Ok(());
    }
    make_folder(to)?;
    tables.iter().try_for_each(|table| join_tables(&stages, table, to))
}

/// The tables of the rows, of what is measured, and the verdicts.
fn write_measured<'a>(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    MeasuredParts { measured, gate, contracts }: &MeasuredParts<'a>,
    found: RunFindings<'_>,
) -> Result<Vec<SettledModel<'a>>> {
    let settled = contracts(ctx)?;
    let (out, job) = (ctx.out(), &origins.checked.job);
    let small = measured.plain.read(ctx, SMALL_SLICES)?;
    let labels: SelectiveLabels = measured.plain.read(ctx, LABELS)?;
    let (measured, plain) = (measured.all.folder(ctx), measured.plain.folder(ctx));
    let groups = read_rows::<GroupRow>(plain)?;
    let population = read_rows::<PopulationRow>(plain)?;
    let unlabelled = labels::sets_without_labels(job, |attribute| {
        let all =
            groups.iter().filter(|row| row.sensitive.as_str() == attribute && row.slice.is_empty());
        all.map(|row| row.n_missing_label).max().map_or(0, i64::unsigned_abs)
    });
    let found = RunFindings {
        small: Some(&small),
        labels: Some(&labels),
        unlabelled: &unlabelled,
        blind: &issues::blind_gates(plain, origins)?,
        groups: &groups,
        population: &population,
        settled: &settled,
        counts: &read_rows::<CountRow>(plain)?,
        models: &read_rows::<IssueRow>(gate.folder(ctx))?,
        ..found
    };
    write_row_tables(ctx, origins, found)?;
    if !settled.is_empty() {
        let rows: Vec<ModelContractRow> = settled.iter().flat_map(SettledModel::rows).collect();
        write_rows(&out.join(TABLES), &rows)?;
        let unknown: Vec<UnknownLevelRow> =
            settled.iter().flat_map(|of| of.unknown.iter().cloned()).collect();
        write_rows(&out.join(TABLES), &unknown)?;
    }
    let wanted = job::check::defaults::families(job);
    let wants = |family| wanted.contains(&family);
    let (experiments, graphs) = (!job.experiments.is_empty(), found.graphs);
    let mut models = job.models.values();
    let fitted = models.clone().any(|model| model.threshold.is_fitted());
    let amounts = models.any(|model| model.amount().is_some());
    let classes = job.data.label.classes().is_some();
    let gate = gate.folder(ctx);
    for (is_asked, folder, tables) in [
        (wants(job::MetricFamily::CfQuality), plain, &QUALITY[..]),
        (job.report.map.is_some(), plain, &[CfMapRow::TABLE]),
        (experiments || !job.metrics.compare.is_empty(), measured, &[ComparisonRow::TABLE]),
        (wants(job::MetricFamily::Scores), measured, &[ReliabilityRow::TABLE, CurveRow::TABLE]),
        (fitted, measured, &[ThresholdRow::TABLE]),
        (amounts, plain, &[AmountRow::TABLE]),
        (!graphs.is_empty(), plain, &tables::TABLES),
        (classes, plain, &[TransitionRow::TABLE]),
        (experiments, measured, &[ArmRow::TABLE, ArmFoldRow::TABLE]),
        (true, measured, &[MetricRow::TABLE, CountRow::TABLE, ScoreShiftRow::TABLE]),
        (true, plain, &[GroupRow::TABLE, SupportRow::TABLE, SupportCountRow::TABLE]),
        (true, gate, &[GateRow::TABLE]),
    ] {
        publish([folder].into_iter().filter(|_| is_asked), tables, &out.join(TABLES))?;
    }
    if !graphs.is_empty() {
        make_folder(&out.join(EXPORTS))?;
        graphs.iter().try_for_each(|set| tables::export(set, &out.join(EXPORTS)))?;
    }
    Ok(settled)
}

/// Records the contracts of the models.
fn record_contracts(manifest: &mut Manifest, settled: Vec<SettledModel<'_>>) {
    for of in settled {
        let words = manifest.models.iter_mut().find(|words| words.name == of.model);
        if let Some(words) = words {
            words.contract = Some(of.words());
        }
    }
}

/// Writes the verdicts of earlier runs, and names these in the manifest.
///
/// # Errors
/// A folder cannot be read or is not of this job, or the disk refuses.
pub(crate) fn write_history(
    out: &Path,
    manifest: &mut Manifest,
    folders: &[PathBuf],
) -> Result<()> {
    let RunHistory { runs, rows } = history::read(&manifest.job, folders)?;
    manifest.history = runs;
    manifest.tables.insert(HistoryRow::TABLE.name.to_owned(), HistoryRow::TABLE.version);
    write_rows(&out.join(TABLES), &rows)
}

/// Puts the folder of a run together that waits for scores: what it asks for, and what was measured
/// and judged of the scores that are there; none where there are none.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn assemble_waiting(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    awaited: Vec<AwaitedScores>,
    parts: Option<&MeasuredParts<'_>>,
) -> Result<()> {
    let (mut judged, mut settled) = (None, Vec::new());
    if let Some(parts) = parts {
        settled = write_measured(ctx, origins, parts, RunFindings::default())?;
        judged = Some(parts.gate.read::<GateOutcome>(ctx, GATE_OUTCOME)?);
    } else {
        write_row_tables(ctx, origins, RunFindings::default())?;
    }
    let (tally, worst) = judged.map(|judged| (judged.tally, judged.worst)).unwrap_or_default();
    let mut manifest = Manifest { awaited, ..manifest(origins, ctx.out())? };
    record_contracts(&mut manifest, settled);
    let exit = Exit::Waiting.code();
    let outcome = GateOutcome { verdict: "waiting".to_owned(), exit, tally, worst };
    let metrics = MetricTable::read(&ctx.out().join(TABLES))?.all;
    let summary = summary(&manifest, outcome, &metrics);
    finish(ctx, origins, &mut manifest, &summary)
}

/// Puts the folder of a run together that ends with counterfactuals: their rows, which are there
/// already, and no number but those of rows.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn assemble_rows(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    followed: &SetEffects<'_>,
) -> Result<()> {
    let found = RunFindings { followed, ..RunFindings::default() };
    write_row_tables(ctx, origins, found)?;
    let mut manifest = manifest(origins, ctx.out())?;
    manifest.stopped_after = Some(StageKind::Generate.word().to_owned());
    record_written(&mut manifest, followed.to_vec());
    let summary = RunSummary {
        rows: manifest.rows.audited,
        ..unfinished_summary(&origins.checked.job, &manifest.run, origins.input)
    };
    write_words(ctx, origins, &summary)?;
    manifest.files = hashes(ctx.out())?;
    write_json(&ctx.out().join(MANIFEST), &manifest)
}

/// Lists for each set which values were written for groups of a derived attribute.
fn record_written(manifest: &mut Manifest, followed: SetEffects<'_>) {
    for (set, attribute, followed) in followed {
        let words = manifest.counterfactuals.iter_mut().find(|words| words.name == set);
        if let Some(words) = words.filter(|_| !followed.written.is_empty()) {
            words.written.insert(attribute.to_owned(), followed.written);
        }
    }
}

/// Job and summary, then the page and the manifest of all.
fn finish(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    manifest: &mut Manifest,
    summary: &RunSummary,
) -> Result<()> {
    write_words(ctx, origins, summary)?;
    if manifest.awaited.is_empty() {
        exports::write_exports(ctx.out(), &origins.checked.job, manifest)?;
    }
    write_page_and_manifest(ctx.out(), manifest, None)
}

/// Job and summary.
fn write_words(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    summary: &RunSummary,
) -> Result<()> {
    write(&ctx.out().join("job.resolved.yaml"), to_yaml(&origins.checked.job))?;
    write_json(&ctx.out().join("summary.json"), summary)
}

/// The tables that every folder has: what was lost of the source, and the issues.
fn write_row_tables(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    found: RunFindings<'_>,
) -> Result<()> {
    publish([origins.prepared].into_iter(), &[FilterRow::TABLE], &ctx.out().join(TABLES))?;
    let mut population = read_rows::<PopulationRow>(origins.population)?;
    population.extend_from_slice(found.population);
    write_rows(&ctx.out().join(TABLES), &population)?;
    issues::write(ctx, origins, RunFindings { population: &population, ..found })
}

/// Renders the pages and writes them and the manifest with the hash of every file.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn write_page_and_manifest(
    out: &Path,
    manifest: &mut Manifest,
    title: Option<&str>,
) -> Result<()> {
    manifest.files = hashes(out)?;
    for page in report::PAGES {
        manifest.files.remove(page);
    }
    write_json(&out.join(MANIFEST), manifest)?;
    let pages = report::render(out, title, &glossary)?;
    let texts = [Some(pages.report), pages.annex];
    for (name, text) in report::PAGES.into_iter().zip(texts) {
        text.map(|text| write(&out.join(name), &text)).transpose()?;
    }
    manifest.files = hashes(out)?;
    write_json(&out.join(MANIFEST), manifest)
}

/// Path below the folder and hash of every file but the manifest.
fn hashes(folder: &Path) -> Result<BTreeMap<String, String>> {
    let files = files::files_below(folder)?.into_iter().filter(|file| file.name != MANIFEST);
    files.map(|file| Ok((file.name, files::hash_file(&file.path)?.0))).collect()
}
