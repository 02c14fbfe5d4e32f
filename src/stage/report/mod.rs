//! The stage `report`: puts the whole output folder together, and what is read back from it.
//!
//! The folder of this stage is the output folder but for `run.json` and `logs/`: tables, outcomes,
//! resolved job, page, summary and, last, the manifest with the hash of every other file.
//! Publishing copies it.

pub(crate) mod cases;
pub(crate) mod exports;
mod headline;
pub(crate) mod inputs;
mod issues;
pub(crate) mod origins;
mod stage;
pub(crate) mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use words::manifest;

use crate::data::prepare::issues::IssueSeverity;
use crate::error::{Exit, Result};
use crate::exec::event::Event;
use crate::exec::files::{self, copy, make_folder, write, write_json};
use crate::exec::folder::EXTRAS;
use crate::exec::hash::sha256;
use crate::exec::replaced_file::host;
use crate::exec::{StageContext, StageRecord};
use crate::folder::history::{self, RunHistory};
use crate::folder::manifest::{AwaitedScores, ExpectWords, Manifest, RecheckWords, RunSummary};
use crate::folder::read::MANIFEST;
use crate::job::check::{CheckedJob, to_yaml};
use crate::job::{self, Job};
use crate::report;
use crate::report::diff::on_one_line;
use crate::report::export::{deciding, gate_sentence};
use crate::stage::RunRecord;
use crate::stage::artifact::{GATE_OUTCOME, GateOutcome, LABELS, QUALITY, SMALL_SLICES};
use crate::stage::discover::tables;
use crate::stage::gate::baseline;
use crate::stage::generate::refits;
use crate::stage::generate::rows::GeneratedEffects;
use crate::stage::input::JobInputs;
use crate::stage::measure::catalog;
use crate::stage::measure::labels::{self, SelectiveLabels};
use crate::stage::report::headline::headline;
use crate::stage::report::inputs::{FolderInputs, MeasuredParts};
use crate::stage::report::issues::RunFindings;
use crate::stage::report::origins::{FORMAT, FolderOrigins};
use crate::stage::score::join::RecheckResult;
use crate::stage::score::levels::SettledModel;
use crate::stage::settings::{CODE, RunSettings};
use crate::table::file::{read_rows, write_rows};
use crate::table::picked::join_tables;
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{
    self, AmountRow, ArmFoldRow, ArmRow, CfExampleRow, ChangeRow, ComparisonRow, CountRow,
    CurveRow, FilterRow, GateRow, GroupRow, HiddenCauseRow, HistoryRow, IssueRow, MetricRow,
    MetricTable, ModelContractRow, NeededKnowledgeRow, OutcomeRow, PopulationRow, ReliabilityRow,
    SelectedRow, TableRow, ThresholdRow, TransitionRow, UnknownLevelRow, WorldScoreRow,
    hint_of_issue,
};
use crate::unit::StageKind;

pub(crate) use words::{glossary, with_baseline, words_of_job};

/// Folder of what other programs read.
const EXPORTS: &str = "exports";

/// The id of a run: six hex digits of the hash of job and inputs.
pub(crate) fn run_id(checked: &CheckedJob, input: &JobInputs) -> String {
    let files = input.files.iter().flat_map(|file| [file.what.clone(), file.identity()]);
    let parts = [checked.hash.clone()].into_iter().chain(files).chain(input.stand_in.clone());
    sha256(parts.collect::<String>().as_bytes())[..6].to_owned()
}

/// The summary of a folder by its manifest, how its gates came out, and its table of metrics.
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
    let gates = read_rows::<GateRow>(&folder.join("tables"))?;
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
    let issues = read_rows::<IssueRow>(&folder.join("tables"))?;
    let warnings =
        issues.iter().filter(|issue| issue.severity.as_str() == IssueSeverity::Warning.as_str());
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

impl FolderInputs<'_> {
    /// What scoring rows again gave, by model.
    fn rechecked(&self, ctx: &StageContext<'_>) -> Result<BTreeMap<&str, RecheckWords>> {
        let mut rechecked: BTreeMap<&str, RecheckWords> = BTreeMap::new();
        let mut add = |model, one: RecheckResult| {
            let all = rechecked.entry(model).or_default();
            all.rows += one.rows;
            all.differ += one.differ;
            all.largest = all.largest.max(one.largest);
        };
        for (model, stage) in &self.rechecks_of_files {
            add(model, stage.rechecked(ctx)?);
        }
        self.rechecks.open(ctx)?.into_iter().for_each(|(model, one)| add(model, one));
        Ok(rechecked)
    }
}

/// Puts the folder together.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn assemble(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    made: &FolderInputs<'_>,
) -> Result<()> {
    let out = ctx.out();
    let graphs = &made.graphs.open(ctx)?;
    let short_of_trees = &made.trees.short_of_trees(ctx, made.n_folds)?;
    let mut followed: Vec<(&str, &str, GeneratedEffects)> = Vec::new();
    for (set, attribute, stage) in &made.sets {
        followed.push((set, attribute, stage.effects(ctx)?));
    }
    let rechecked = made.rechecked(ctx)?;
    let expected = made.expected.open(ctx)?;
    let found = RunFindings {
        followed: &followed,
        graphs,
        short_of_trees,
        expected: &expected,
        ..RunFindings::default()
    };
    let settled = write_measured(ctx, origins, &made.parts, found)?;
    if let Some(cases) = &made.cases {
        copy_tables(cases.folder(ctx), &[CfExampleRow::TABLE.name], out)?;
    }
    let folders: Vec<&Path> = made.recourse.open(ctx).into_iter().map(|(_, of)| of).collect();
    if !folders.is_empty() {
        for table in table::recourse::ALL {
            join_tables(&folders, table, &out.join("tables"))?;
        }
    }
    let reasons: Vec<&Path> = made.why.open(ctx).into_iter().map(|(_, of)| of).collect();
    if !reasons.is_empty() {
        for table in [SwitchPatternRow::TABLE, SwitchFeatureRow::TABLE] {
            join_tables(&reasons, table, &out.join("tables"))?;
        }
    }
    for (folders, table) in [
        (made.hidden.folders(ctx), HiddenCauseRow::TABLE),
        (made.needed.folders(ctx), NeededKnowledgeRow::TABLE),
    ] {
        if !folders.is_empty() {
            join_tables(&folders, table, &out.join("tables"))?;
        }
    }
    let outcomes = made.outcomes.as_ref().map(|stage| (stage.folder(ctx), OutcomeRow::TABLE.name));
    let selected = made.selected.as_ref().map(|stage| (stage.folder(ctx), SelectedRow::TABLE.name));
    for (folder, name) in outcomes.into_iter().chain(selected) {
        let name = &format!("{name}.parquet");
        // Not kept by default from ten million rows on: then the stage wrote nothing.
        if folder.join(name).exists() {
            make_folder(&out.join("rows"))?;
            copy(&folder.join(name), &out.join("rows").join(name))?;
        }
    }
    let persons: Vec<&Path> = made.world_scores.iter().map(|stage| stage.folder(ctx)).collect();
    if !persons.is_empty() {
        make_folder(&out.join("rows"))?;
        join_tables(&persons, WorldScoreRow::TABLE, &out.join("rows"))?;
    }
    made.kept.link(ctx)?;
    let outcome: GateOutcome = made.parts.gate.read(ctx, GATE_OUTCOME)?;
    let mut manifest = manifest(origins, out)?;
    refits::record_fits(&mut manifest, made.fits.open(ctx)?);
    if let Some(folder) = made.baseline.as_ref().map(|stage| stage.folder(ctx)) {
        copy_tables(folder, &[ChangeRow::TABLE.name], out)?;
        manifest.baseline = Some(baseline::read_comparison(folder)?.compared);
    }
    record_written(&mut manifest, followed);
    if !origins.settings.history.is_empty() {
        write_history(out, &mut manifest, &origins.settings.history)?;
    }
    manifest.answers = made.answers.open(ctx)?;
    record_contracts(&mut manifest, settled);
    for words in &mut manifest.models {
        words.recheck = rechecked.get(words.name.as_str()).copied();
        let known = expected.iter().find(|(model, ..)| *model == words.name);
        words.expect = known.map(|(_, expect, found)| ExpectWords {
            column: expect.column.to_string(),
            tolerance: expect.tolerance.get(),
            at_most: expect.at_most,
            rows: found.rows,
            unknown: found.unknown,
            differ: found.differ,
            largest: found.largest,
        });
    }
    let summary = summary(&manifest, outcome, &MetricTable::read(&out.join("tables"))?.all);
    finish(ctx, origins, &mut manifest, &summary)
}

/// The tables of the rows, of what is measured, and the verdicts.
fn write_measured<'a>(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    MeasuredParts { measured, gate, contracts }: &MeasuredParts<'a>,
    found: RunFindings<'_>,
) -> Result<Vec<SettledModel<'a>>> {
    let settled = contracts.open(ctx)?;
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
        write_rows(&out.join("tables"), &rows)?;
        let unknown: Vec<UnknownLevelRow> =
            settled.iter().flat_map(|of| of.unknown.iter().cloned()).collect();
        write_rows(&out.join("tables"), &unknown)?;
    }
    let graphs = found.graphs;
    let wanted = job::check::defaults::families(job, &catalog::catalog());
    if wanted.contains(&job::MetricFamily::CfQuality) {
        copy_tables(plain, &QUALITY.map(|table| table.name), out)?;
    }
    let experiments = !job.experiments.is_empty();
    if !job.metrics.compare.is_empty() || experiments {
        copy_tables(measured, &[ComparisonRow::TABLE.name], out)?;
    }
    if wanted.contains(&job::MetricFamily::Scores) {
        let of_scores = [ReliabilityRow::TABLE.name, CurveRow::TABLE.name];
        copy_tables(measured, &of_scores, out)?;
    }
    if job.models.values().any(|model| model.threshold.is_fitted()) {
        copy_tables(measured, &[ThresholdRow::TABLE.name], out)?;
    }
    if job.models.values().any(|model| model.amount().is_some()) {
        copy_tables(plain, &[AmountRow::TABLE.name], out)?;
    }
    if !graphs.is_empty() {
        copy_tables(plain, &tables::TABLES.map(|table| table.name), out)?;
        make_folder(&out.join(EXPORTS))?;
        graphs.iter().try_for_each(|set| tables::export(set, &out.join(EXPORTS)))?;
    }
    if job.data.label.classes().is_some() {
        copy_tables(plain, &[TransitionRow::TABLE.name], out)?;
    }
    if experiments {
        copy_tables(measured, &[ArmRow::TABLE.name, ArmFoldRow::TABLE.name], out)?;
    }
    for (folder, tables) in [
        (measured, ["metrics", "counts", "score_shift"].as_slice()),
        (plain, &["groups", "support", "support_counts"]),
        (gate.folder(ctx), &["gates"]),
    ] {
        copy_tables(folder, tables, out)?;
    }
    Ok(settled)
}

/// Notes the contracts of the models.
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
    write_rows(&out.join("tables"), &rows)
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
    let metrics = MetricTable::read(&ctx.out().join("tables"))?.all;
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
    followed: &[(&str, &str, GeneratedEffects)],
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
fn record_written(manifest: &mut Manifest, followed: Vec<(&str, &str, GeneratedEffects)>) {
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
    make_folder(&ctx.out().join("tables"))?;
    copy_tables(origins.prepared, &[FilterRow::TABLE.name], ctx.out())?;
    let mut population = read_rows::<PopulationRow>(origins.population)?;
    population.extend_from_slice(found.population);
    write_rows(&ctx.out().join("tables"), &population)?;
    issues::write(ctx, origins, RunFindings { population: &population, ..found })
}

fn copy_tables(from: &Path, tables: &[&str], out: &Path) -> Result<()> {
    tables.iter().try_for_each(|table| {
        let name = format!("{table}.parquet");
        copy(&from.join(&name), &out.join("tables").join(&name))
    })
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
