//! The stage `report`: puts the whole output folder together, and what is read back from it.
//!
//! The folder of this stage is the output folder but for `run.json` and `logs/`: tables, outcomes,
//! resolved job, page, summary and, last, the manifest with the hash of every other file.
//! Publishing copies it.

pub(crate) mod cases;
pub(crate) mod exports;
mod headline;
pub(crate) mod inputs;
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
use crate::model::kind::expect_key::ExpectBlock;
use crate::param::ColumnName;
use crate::report;
use crate::report::diff::on_one_line;
use crate::report::export::{deciding, gate_sentence};
use crate::stage::artifact::{
    GATE_OUTCOME, GateOutcome, LABELS, QUALITY, SMALL_SLICES, SmallSlices,
};
use crate::stage::discover::tables::{self, GraphSetScenario};
use crate::stage::gate::baseline;
use crate::stage::gate::blind::{self, BLIND_GATE, BlindGate};
use crate::stage::generate::refits;
use crate::stage::generate::rows::GeneratedEffects;
use crate::stage::input::JobInputs;
use crate::stage::measure::catalog;
use crate::stage::measure::labels::{
    self, SELECTIVE_LABELS, SelectiveLabels, UNLABELLED_PEOPLE, UnlabelledPeople,
};
use crate::stage::report::headline::headline;
use crate::stage::report::inputs::{FolderInputs, MeasuredParts};
use crate::stage::report::origins::{FORMAT, FolderOrigins};
use crate::stage::score::expect::ExpectResult;
use crate::stage::score::join::RecheckResult;
use crate::stage::settings::{CODE, RunSettings};
use crate::stage::{RunRecord, advice};
use crate::table::file::{read_rows, write_rows};
use crate::table::picked::join_tables;
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{
    self, AmountRow, ArmFoldRow, ArmRow, CfExampleRow, ChangeRow, ComparisonRow, CountRow,
    CurveRow, GateRow, GroupRow, HistoryRow, IssueRow, MetricRow, OutcomeRow, ReliabilityRow,
    SelectedRow, SharedText, TableRow, ThresholdRow, TransitionRow, hint_of_issue, whole,
};
use crate::unit::StageKind;

pub(crate) use words::glossary;

/// Folder of what other programs read.
const EXPORTS: &str = "exports";

/// The id of a run: six hex digits of the hash of job and inputs.
pub(crate) fn run_id(checked: &CheckedJob, input: &JobInputs) -> String {
    let files = input.files.iter().flat_map(|file| [file.what.clone(), file.identity()]);
    let parts = [checked.hash.clone()].into_iter().chain(files).chain(input.stand_in.clone());
    sha256(parts.collect::<String>().as_bytes())[..6].to_owned()
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
        let (code, hint) = (issue.code.as_str(), hint_of_issue(issue.code.as_str()));
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
            all.switches = one.switches;
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
    let of_models = ModelNotes { short_of_trees, rechecked: &rechecked, expected: &expected };
    write_measured(ctx, origins, &made.parts, &followed, graphs, of_models)?;
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
    let summary = RunSummary {
        cfaudit: FORMAT,
        job: manifest.job.clone(),
        run: manifest.run.clone(),
        out: None,
        verdict: outcome.verdict,
        exit: outcome.exit,
        data: manifest.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        gates: outcome.tally,
        worst: outcome.worst,
        headline: headline(&read_rows::<MetricRow>(&out.join("tables"))?),
        rows: manifest.rows.audited,
        report: "report.html".to_owned(),
    };
    finish(ctx, origins, &mut manifest, &summary)
}

/// The tables of the rows, of what is measured, and the verdicts.
fn write_measured(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    MeasuredParts { measured, gate }: &MeasuredParts,
    followed: &[(&str, &str, GeneratedEffects)],
    graphs: &[GraphSetScenario],
    of_models: ModelNotes<'_>,
) -> Result<()> {
    let (out, job) = (ctx.out(), &origins.checked.job);
    let small = measured.plain.read(ctx, SMALL_SLICES)?;
    let labels: SelectiveLabels = measured.plain.read(ctx, LABELS)?;
    let (measured, plain) = (measured.all.folder(ctx), measured.plain.folder(ctx));
    let groups = read_rows::<GroupRow>(plain)?;
    let unlabelled = labels::sets_without_labels(job, |attribute| {
        let all =
            groups.iter().filter(|row| row.sensitive.as_str() == attribute && row.slice.is_empty());
        all.map(|row| row.n_missing_label).max().map_or(0, i64::unsigned_abs)
    });
    write_row_tables(
        ctx,
        origins,
        followed,
        (&small, &labels, &unlabelled),
        graphs,
        of_models,
        (blind_gates(plain, origins)?, &groups, &read_rows::<CountRow>(plain)?),
    )?;
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
        (plain, &["groups"]),
        (gate.folder(ctx), &["gates"]),
    ] {
        copy_tables(folder, tables, out)?;
    }
    Ok(())
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
    parts: Option<&MeasuredParts>,
) -> Result<()> {
    let of_models = ModelNotes { short_of_trees: &[], rechecked: &BTreeMap::new(), expected: &[] };
    let mut judged = None;
    if let Some(parts) = parts {
        write_measured(ctx, origins, parts, &[], &[], of_models)?;
        judged = Some(parts.gate.read::<GateOutcome>(ctx, GATE_OUTCOME)?);
    } else {
        let nothing = (&SmallSlices::new(), &SelectiveLabels::new(), &[][..]);
        write_row_tables(ctx, origins, &[], nothing, &[], of_models, (Vec::new(), &[], &[]))?;
    }
    let (gates, worst) = judged.map(|judged| (judged.tally, judged.worst)).unwrap_or_default();
    let mut manifest = Manifest { awaited, ..manifest(origins, ctx.out())? };
    let summary = RunSummary {
        cfaudit: FORMAT,
        job: manifest.job.clone(),
        run: manifest.run.clone(),
        verdict: "waiting".to_owned(),
        exit: Exit::Waiting.code(),
        data: manifest.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        gates,
        worst,
        headline: headline(&read_rows::<MetricRow>(&ctx.out().join("tables"))?),
        rows: manifest.rows.audited,
        report: "report.html".to_owned(),
        ..RunSummary::default()
    };
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
    let of_models = ModelNotes { short_of_trees: &[], rechecked: &BTreeMap::new(), expected: &[] };
    let nothing = (&SmallSlices::new(), &SelectiveLabels::new(), &[][..]);
    write_row_tables(ctx, origins, followed, nothing, &[], of_models, (Vec::new(), &[], &[]))?;
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

/// What issues tell of models.
#[derive(Clone, Copy)]
struct ModelNotes<'a> {
    /// Models whose growth ended early: the name, how many trees it has, and how many it was to
    /// have.
    short_of_trees: &'a [(&'a str, u64, u64)],
    /// What scoring rows again gave, by model.
    rechecked: &'a BTreeMap<&'a str, RecheckWords>,
    /// What the comparison with known scores gave.
    expected: &'a [(&'a str, &'a ExpectBlock, ExpectResult)],
}

/// The tables that tell of the rows. Prepared rows may hold features that nobody reads, or not: the
/// folder must not depend on it.
fn write_row_tables(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    followed: &[(&str, &str, GeneratedEffects)],
    (small, labels, unlabelled): (&SmallSlices, &SelectiveLabels, &[UnlabelledPeople]),
    graphs: &[GraphSetScenario],
    of_models: ModelNotes<'_>,
    (blind, groups, counts): (Vec<BlindGate>, &[GroupRow], &[CountRow]),
) -> Result<()> {
    make_folder(&ctx.out().join("tables"))?;
    copy_tables(origins.prepared, &["filters"], ctx.out())?;
    let mut issues = read_rows::<IssueRow>(origins.prepared)?;
    issues.retain(|issue| origins.params.reports_issue(&issue.code, &issue.r#where));
    let job = &origins.checked.job;
    if job.models.values().any(|model| model.made_elsewhere().is_some()) {
        for name in job.data.sensitive.keys().filter(|name| reached_by_naive(job, name)) {
            let Some(unseen) = job.data.first_unseen(name) else { continue };
            let (code, text) = if job.data.is_unshown(name) {
                let text = format!(
                    "no column among the sensitive columns and features changes with `{unseen}`: \
                     rows to score differ from their originals only in `to_group`, which the \
                     model must use"
                );
                ("unseen-group", text)
            } else {
                let text = format!(
                    "no column among the sensitive columns and features changes with `{unseen}`, \
                     of which `{name}` is made: where the group changes in it alone rows to score \
                     differ from their originals only in `to_group`, which the model must use"
                );
                ("partly-unseen-group", text)
            };
            issues.push(IssueRow {
                code: code.into(),
                severity: "warning".into(),
                r#where: name.as_str().into(),
                n: 0,
                text: text.into(),
            });
        }
    }
    for name in job.data.sensitive.keys().map(ColumnName::as_str) {
        let mine = || followed.iter().filter(|(_, attribute, _)| *attribute == name);
        let missed = |of: &dyn Fn(&GeneratedEffects) -> &[(String, u64)], things: &str| {
            let each =
                mine().flat_map(|(set, _, f)| of(f).iter().map(move |(group, n)| (set, group, *n)));
            let texts: Vec<String> = each
                .clone()
                .map(|(set, group, n)| format!("{n} {things} in group `{group}` (set `{set}`)"))
                .collect();
            (each.map(|(.., n)| n).sum::<u64>(), texts.join(", "))
        };
        let (people, where_to) = missed(&|f| &f.unreached, "people have no counterfactual");
        if people > 0 {
            let text = format!("no reference row of `{name}` gives the value to write: {where_to}");
            issues.push(IssueRow {
                code: "unreached-group".into(),
                severity: "warning".into(),
                r#where: name.into(),
                n: whole(people),
                text: text.into(),
            });
        }
        let of_sets = mine().map(|(set, _, followed)| (*set, &followed.untaught));
        let attributes = &origins.context.rows.layout().attributes;
        let of_graphs = graphs.iter().filter(|set| attributes[set.position].name == name);
        let of_graphs = of_graphs.map(|set| (set.name.as_str(), &set.discovered.untaught));
        let untaught = of_sets.chain(of_graphs).flat_map(|(set, groups)| {
            groups.iter().map(move |group| format!("group `{group}` (set `{set}`)"))
        });
        let untaught: Vec<String> = untaught.collect();
        if !untaught.is_empty() {
            let text = format!(
                "a declared group of `{name}` has no row from which the strategy learns, so every \
                 value from it or to it is undefined (no_training_rows): {}; remove the group from \
                 `groups`, or merge it with another",
                untaught.join(", ")
            );
            issues.push(IssueRow {
                code: "no-training-rows".into(),
                severity: "warning".into(),
                r#where: name.into(),
                n: whole(untaught.len() as u64),
                text: text.into(),
            });
        }
        let (n, where_to) = missed(&|f| &f.outside, "counterfactuals");
        if n > 0 {
            let text = format!(
                "rows set to a group of `{name}` keep a number that belongs to another group, \
                 because too few reference rows show where to move it, or the strategy does not \
                 move it; they are not valid and excluded from every metric: {where_to}"
            );
            issues.push(IssueRow {
                code: "outside-group".into(),
                severity: "warning".into(),
                r#where: name.into(),
                n: whole(n),
                text: text.into(),
            });
        }
    }
    for name in job.models.keys() {
        issues.extend(missing_scores(name.as_str(), groups));
        issues.extend(rounded_switches(name.as_str(), counts));
    }
    for (attribute, of) in labels {
        issues.push(IssueRow {
            code: SELECTIVE_LABELS.into(),
            severity: "warning".into(),
            r#where: attribute.as_str().into(),
            n: whole(of.n),
            text: of.text().into(),
        });
    }
    for found in unlabelled {
        issues.push(IssueRow {
            code: UNLABELLED_PEOPLE.into(),
            severity: "warning".into(),
            r#where: found.set.as_str().into(),
            n: whole(found.n),
            text: found.text.as_str().into(),
        });
    }
    for advice in advice::of_run(job)
        .into_iter()
        .chain(advice::whole_numbers(job, origins.context.rows.layout()))
    {
        issues.push(IssueRow {
            text: advice.sentence().into(),
            code: advice.code.into(),
            severity: advice.severity.into(),
            r#where: advice.place.into(),
            n: whole(advice.n),
        });
    }
    for set in graphs.iter().filter(|_| !job.metrics.by.is_empty()) {
        let text = "slices would need the counts of every graph in every slice, so the set is \
                    measured only for all rows together";
        issues.push(IssueRow {
            code: "unsliced-set".into(),
            severity: "info".into(),
            r#where: set.name.as_str().into(),
            n: 0,
            text: text.into(),
        });
    }
    for set in graphs.iter().filter(|_| !job.metrics.compare.is_empty()) {
        let text = "models are compared by the decisions about each person, but a set of \
                    graphs has one decision per graph";
        issues.push(IssueRow {
            code: "uncompared-set".into(),
            severity: "info".into(),
            r#where: set.name.as_str().into(),
            n: 0,
            text: text.into(),
        });
    }
    for set in graphs.iter().filter(|set| set.discovered.n_dropped > 0) {
        let text = format!(
            "training rows lack a variable of the graphs of `{}` and are not used to fit them; \
             audited rows that lack one have no counterfactual",
            set.name
        );
        issues.push(IssueRow {
            code: "incomplete-graph-row".into(),
            severity: "warning".into(),
            r#where: set.name.as_str().into(),
            n: whole(set.discovered.n_dropped),
            text: text.into(),
        });
    }
    for (model, grown, asked) in of_models.short_of_trees {
        let text = format!(
            "model `{model}` has {grown} of the {asked} trees that the job asks for: a tree could \
             not split on the columns that it drew; use fewer trees, a smaller `smallest_leaf` or \
             a larger `column_share`"
        );
        issues.push(IssueRow {
            code: "fewer-trees".into(),
            severity: "warning".into(),
            r#where: (*model).into(),
            n: 0,
            text: text.into(),
        });
    }
    // Of scores computed elsewhere a difference has ended the run.
    for (model, recheck) in of_models.rechecked.iter().filter(|(_, recheck)| recheck.differ > 0) {
        let (asked, so) = match recheck.switches {
            Some(switches) => (
                format!("{} times more", switches.repeats),
                "the switch rate of its own repeated decisions is shown next to its switch rates",
            ),
            None => (
                "twice".to_owned(),
                "its gates are inconclusive; make its scores repeatable, for instance by a fixed \
                 seed, or measure it by `recheck: {repeats: 5}`",
            ),
        };
        let text = format!(
            "model `{model}` scored {} rows {asked}, and {} of the scores differ, by up to {}: its \
             numbers change from run to run, and {so}",
            recheck.rows, recheck.differ, recheck.largest
        );
        issues.push(IssueRow {
            code: "not-repeatable".into(),
            severity: "warning".into(),
            r#where: (*model).into(),
            n: whole(recheck.differ),
            text: text.into(),
        });
    }
    // More than the job allows have ended the run.
    for (model, expect, found) in of_models.expected.iter().filter(|(.., of)| of.differ > 0) {
        let text = format!(
            "the scores of model `{model}` differ from the column `{}` in {} of {} rows by more \
             than {}, the largest difference is {}; the job allows {} such rows: its numbers are \
             not quite those of the model that made the column",
            expect.column,
            found.differ,
            found.rows,
            expect.tolerance.get(),
            found.largest,
            expect.at_most
        );
        issues.push(IssueRow {
            code: "unexpected-scores".into(),
            severity: "warning".into(),
            r#where: (*model).into(),
            n: whole(found.differ),
            text: text.into(),
        });
    }
    for (attribute, slices) in small {
        let named: Vec<String> =
            slices.iter().take(SLICES_NAMED).map(|(slice, n)| format!("`{slice}` ({n})")).collect();
        let more = slices.len().saturating_sub(SLICES_NAMED);
        let more = if more > 0 {
            format!(" and {more} more, all of them in `groups`")
        } else {
            String::new()
        };
        let smallest = job.metrics.smallest_cell.get();
        let text = format!(
            "slices of fewer than {smallest} people who count are counted and not measured: \
             {}{more}",
            named.join(", ")
        );
        issues.push(IssueRow {
            code: "small-slice".into(),
            severity: "info".into(),
            r#where: attribute.as_str().into(),
            n: whole(slices.len() as u64),
            text: text.into(),
        });
    }
    for found in blind {
        issues.push(IssueRow {
            code: BLIND_GATE.into(),
            severity: "warning".into(),
            r#where: found.path.as_str().into(),
            n: 0,
            text: format!("{}: {}", found.text, found.hint).into(),
        });
    }
    write_rows(&ctx.out().join("tables"), &issues)
}

/// Who has no score of a model, or whose counterfactuals have none, by group; none where nobody
/// lacks one.
fn missing_scores(model: &str, groups: &[GroupRow]) -> Option<IssueRow> {
    let mine = |row: &&GroupRow| row.model.as_str() == model && row.slice.is_empty();
    let lacking = |of: fn(&GroupRow) -> i64| {
        let rows = || groups.iter().filter(mine).filter(|row| of(row) > 0);
        // People without a group of one attribute may have one of another.
        let n = rows().filter(|row| row.group.is_empty()).map(of).max().unwrap_or(0);
        let by_group: Vec<String> = rows()
            .filter(|row| !row.group.is_empty())
            .map(|row| format!("{} of `{}` `{}`", of(row), row.sensitive, row.group))
            .collect();
        let more = if by_group.len() > GROUPS_NAMED { ", more in `groups`" } else { "" };
        let named = by_group.iter().take(GROUPS_NAMED).cloned().collect::<Vec<_>>().join(", ");
        (n, format!("{named}{more}"))
    };
    let (people, of_people) = lacking(|row| row.n_missing_score);
    let (made, of_made) = lacking(|row| row.n_missing_counterfactual_score);
    let mut parts = Vec::new();
    if people > 0 {
        let have = if people == 1 { "person has" } else { "people have" };
        parts.push(format!("{people} {have} no score of `{model}` ({of_people})"));
    }
    if made > 0 {
        let have = if made == 1 { "counterfactual has" } else { "counterfactuals have" };
        parts.push(format!("{made} {have} no score of `{model}` ({of_made})"));
    }
    (!parts.is_empty()).then(|| IssueRow {
        code: "missing-score".into(),
        severity: "warning".into(),
        r#where: model.into(),
        n: people + made,
        text: format!("{}: its metrics are about the others", parts.join(", and ")).into(),
    })
}

/// The switches of a model that rounding may explain; none where there is none.
fn rounded_switches(model: &str, counts: &[CountRow]) -> Option<IssueRow> {
    let is_own = |row: &&CountRow| {
        let key = &row.key;
        key.model.as_str() == model
            && key.scope.as_str() == "direction"
            && key.arm.is_empty()
            && key.slice.is_empty()
    };
    // By set, attribute and direction; the switches among them, and those of rounding.
    let mut found: BTreeMap<[&str; 4], [i64; 2]> = BTreeMap::new();
    for row in counts.iter().filter(is_own).filter(|row| row.predicted != row.predicted_cf) {
        let key = &row.key;
        let place = [&key.counterfactual, &key.sensitive, &key.from_group, &key.to_group];
        let of = found.entry(place.map(SharedText::as_str)).or_default();
        of[0] += row.n;
        of[1] += row.n_rounded.unwrap_or(0);
    }
    found.retain(|_, of| of[1] > 0);
    let n: i64 = found.values().map(|of| of[1]).sum();
    let named: Vec<String> = found
        .iter()
        .take(GROUPS_NAMED)
        .map(|([set, attribute, from, to], [all, rounded])| {
            format!("{rounded} of {all} of `{attribute}` from `{from}` to `{to}` in set `{set}`")
        })
        .collect();
    let more = if found.len() > GROUPS_NAMED { ", more in `counts`" } else { "" };
    (n > 0).then(|| IssueRow {
        code: "rounding-at-threshold".into(),
        severity: "warning".into(),
        r#where: model.into(),
        n,
        text: format!(
            "{n} {} of `{model}` {} between two scores that agree to single precision and stand \
             on the two sides of the threshold ({}{more}): rounding may be the whole switch, and \
             gates that these alone decide are inconclusive; score rows and counterfactuals by one \
             program in one precision",
            if n == 1 { "switch" } else { "switches" },
            if n == 1 { "is" } else { "are" },
            named.join(", ")
        )
        .into(),
    })
}

/// Gates whose direction cannot see harm to the group with the lowest share of favourable
/// decisions.
fn blind_gates(measured: &Path, origins: &FolderOrigins<'_>) -> Result<Vec<BlindGate>> {
    let job = &origins.checked.job;
    if blind::attributes(job).is_empty() {
        return Ok(Vec::new());
    }
    let metrics = read_rows::<MetricRow>(measured)?;
    let groups = read_rows::<GroupRow>(measured)?;
    let shares = |model: &str, attribute: &str| {
        let shares = blind::decision_shares(
            job.data.favours_positive(),
            (&metrics, &groups),
            (model, attribute),
        );
        (shares, "decisions")
    };
    Ok(blind::gates(job, shares))
}

/// How many groups an issue names.
const GROUPS_NAMED: usize = 12;

/// How many small slices an issue names.
const SLICES_NAMED: usize = 20;

/// Whether a naive set changes an attribute.
fn reached_by_naive(job: &Job, name: &ColumnName) -> bool {
    job.counterfactuals.values().any(|set| set.sets_attribute_only() && set.changes(name))
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

#[cfg(test)]
mod tests {
    use super::missing_scores;
    use crate::table::GroupRow;

    #[test]
    fn missing_scores_are_counted_by_group() {
        let row = |group: &str, missing, made| GroupRow {
            model: "m".into(),
            sensitive: "sex".into(),
            group: group.into(),
            n: 200,
            n_missing_score: missing,
            n_missing_counterfactual_score: made,
            ..GroupRow::default()
        };
        let rows = [row("", 49, 1), row("Female", 49, 0), row("Male", 0, 1)];
        let found = missing_scores("m", &rows).expect("some lack a score");
        assert_eq!((found.code.as_str(), found.n), ("missing-score", 50));
        assert_eq!(
            found.text.as_str(),
            "49 people have no score of `m` (49 of `sex` `Female`), and 1 counterfactual has no \
             score of `m` (1 of `sex` `Male`): its metrics are about the others"
        );
        assert!(missing_scores("other", &rows).is_none());
        assert!(missing_scores("m", &[row("", 0, 0), row("Male", 0, 0)]).is_none());
    }
}
