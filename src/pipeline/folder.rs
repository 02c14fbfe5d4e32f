//! The stage `report`: puts the whole output folder together, and what is read back from it.
//!
//! The folder of this stage is the output folder but for `run.json` and `logs/`: tables, outcomes, resolved job, page, summary and, last,
//! the manifest with the hash of every other file. Publishing copies it.

#![expect(clippy::disallowed_methods, reason = "every call names its path in the error")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::data::derive::{Bin, Recipe};
use crate::data::prepare::PrepareParams;
use crate::data::source::listed;
use crate::data::split::Stratify;
use crate::data::{Layout, RowIdKind};
use crate::error::{Error, Exit, Result};
use crate::exec::event::Event;
use crate::exec::{StageContext, StageRecord};
use crate::explain;
use crate::metric::{self, cf_quality};
use crate::param::{Argument, ColumnName, Count, Fraction, Name, Word};
use crate::pipeline::graph_tables::{self, GraphSet};
use crate::pipeline::inputs::Input;
use crate::pipeline::joining::{RECHECKED, Rechecked};
use crate::pipeline::measuring::{SMALL_SLICES, SmallSlices};
use crate::pipeline::worlds::{FOLLOWED, Followed, Ground};
use crate::pipeline::{Record, Settings, again, comparing, measuring};
use crate::report::export::gate_sentence;
use crate::report::{self, GlossaryEntry};
use crate::spec::check::{CheckedJob, to_yaml};
use crate::spec::experiments::Experiment;
use crate::spec::threshold::{Threshold, ThresholdOf};
use crate::spec::{self, Job, Side};
use crate::table::io::{read_frame, write_frame};
use crate::table::manifest::{
    ArmWords, AttributeWords, AwaitedScores, ExperimentWords, GateTally, LabelWords, Manifest, ModelWords, RowCounts, SetWords, Summary,
    Words, WorstGate,
};
use crate::table::picked::join_tables;
use crate::table::{
    self, ARM_FOLDS, ARMS, CHANGES, COMPARISONS, Cell, FILTERS, Frame, GATES, ISSUES, METRICS, TABLES, THRESHOLDS, TRANSITIONS,
};

/// Folder of what other programs read.
const EXPORTS: &str = "exports";

/// What the stage `gate` writes beside its table.
pub const GATE_OUTCOME: &str = "outcome.json";

const FORMAT: u32 = 1;

/// How the gates came out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GateOutcome {
    /// pass, warn, fail, inconclusive, or done where no gate was judged.
    pub verdict: String,
    /// The exit status.
    pub exit: u8,
    /// Number of gates by verdict.
    pub tally: GateTally,
    /// The worst gate.
    pub worst: Option<WorstGate>,
}

/// Writes a value as JSON.
///
/// # Errors
/// The disk refuses.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).map_err(|e| Error::io("write", path, &e.into()))?;
    text.push('\n');
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

/// Writes a value as JSON in one line: lists of numbers are long.
///
/// # Errors
/// The disk refuses.
pub fn write_compact(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|e| Error::io("write", path, &e.into()))?;
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

/// Reads a text file of a stage.
///
/// # Errors
/// It cannot be read.
pub fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))
}

/// Reads a value from the JSON of a stage.
///
/// # Errors
/// The text is not what the stage writes.
pub fn from_json<T: DeserializeOwned>(text: &str, stage: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| Error::io("read the result of", Path::new(stage), &e.into()))
}

/// The id of a run: six hex digits of the hash of job and inputs.
pub fn run_id(checked: &CheckedJob, input: &Input) -> String {
    let mut hash = Sha256::new();
    hash.update(checked.hash.as_bytes());
    for file in &input.files {
        hash.update(file.what.as_bytes());
        hash.update(file.sha256.as_bytes());
    }
    hash.update(input.stand_in.as_deref().unwrap_or_default());
    spec::load::hex(&hash.finalize())[..6].to_owned()
}

/// The summary of a run that stopped before the report, as `--until` asked.
pub fn unfinished(job: &Job, run: &str, input: &Input) -> Summary {
    Summary {
        cfaudit: FORMAT,
        job: job.name.to_string(),
        run: run.to_owned(),
        verdict: "unfinished".to_owned(),
        exit: Exit::Done.code(),
        data: input.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        ..Summary::default()
    }
}

/// Reads the summary of an assembled folder.
///
/// # Errors
/// It cannot be read.
pub fn read_summary(folder: &Path) -> Result<Summary> {
    from_json(&read_text(&folder.join("summary.json"))?, "report")
}

/// One event per gate of an assembled folder, for the log.
///
/// # Errors
/// The table of gates cannot be read.
pub fn gate_events(folder: &Path) -> Result<Vec<Event>> {
    let gates = read_frame(&folder.join("tables"), &GATES)?;
    let deciding = gates.records().filter(|row| row.int("decides") == Some(1));
    let events = deciding.map(|row| Event::GateVerdict {
        code: row.text("verdict").to_owned(),
        path: format!("gates.{}", row.text("gate")),
        line: row.int("job_line").and_then(|l| u64::try_from(l).ok()),
        text: gate_sentence(&row) + if row.text("level") == "warn" { "; level warn" } else { "" },
    });
    Ok(events.collect())
}

/// What varies between runs: `run.json` and the log.
pub fn extras(stages: &[StageRecord], settings: &Settings, record: &dyn Record) -> Vec<(String, Vec<u8>)> {
    let run = json!({
        "program": env!("CARGO_PKG_VERSION"),
        "threads": settings.threads,
        "host": hostname(),
        "stages_run": stages.iter().filter(|s| !s.cached).count(),
        "stages_cached": stages.iter().filter(|s| s.cached).count(),
        "stages": stages,
    });
    let mut text = serde_json::to_vec_pretty(&run).unwrap_or_default();
    text.push(b'\n');
    vec![("run.json".to_owned(), text), ("logs/run.jsonl".to_owned(), record.log_lines())]
}

fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// What a folder says of its origins.
#[derive(Debug, Clone, Copy)]
pub struct Origins<'a> {
    /// The job.
    pub checked: &'a CheckedJob,
    /// How it is run.
    pub settings: &'a Settings,
    /// What it rests on.
    pub input: &'a Input,
    /// The id of the run.
    pub run: &'a str,
    /// The prepared rows.
    pub ground: Ground<'a>,
    /// What preparing had to know for those who read the rows; it may have been told more.
    pub params: &'a PrepareParams,
}

/// The stages that a folder is put together from.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// The stage with the tables of metrics.
    pub measured: &'a str,
    /// Folders of rows with the names of their tables.
    pub kept: &'a [(&'a Path, &'a str)],
    /// The model of each stage that scored rows again, and the stage.
    pub rechecks: &'a [(String, String)],
    /// Set, attribute and stage of all counterfactuals.
    pub worlds: &'a [(String, String, String)],
    /// The stage that compared the run with an earlier one.
    pub baseline: Option<&'a str>,
    /// The stages of the blocks of recourse in the order of their keys.
    pub recourse: &'a [String],
    /// The sets that rest on causal graphs.
    pub graphs: &'a [GraphSet],
}

/// Puts the folder together.
///
/// # Errors
/// A file cannot be read or written.
pub fn assemble(ctx: &StageContext<'_>, origins: &Origins<'_>, made: Made<'_>) -> Result<()> {
    let Made { measured, kept, rechecks, worlds, baseline, recourse, graphs } = made;
    let out = ctx.out();
    let mut followed: Vec<(&str, &str, Followed)> = Vec::new();
    for (set, attribute, stage) in worlds {
        followed.push((set, attribute, from_json(&read_text(&ctx.need(stage).join(FOLLOWED))?, stage)?));
    }
    let small = from_json(&read_text(&ctx.need("measure").join(SMALL_SLICES))?, "measure")?;
    begin(ctx, origins, &followed, &small, graphs)?;
    let wanted = spec::check::families(&origins.checked.job, &measuring::catalog());
    if wanted.contains(&spec::Family::CfQuality) {
        copy_tables(ctx.need("measure"), &measuring::QUALITY.map(|table| table.name), out)?;
    }
    let experiments = !origins.checked.job.experiments.is_empty();
    if !origins.checked.job.metrics.compare.is_empty() || experiments {
        copy_tables(ctx.need(measured), &[COMPARISONS.name], out)?;
    }
    if origins.checked.job.models.values().any(|model| model.threshold.is_fitted()) {
        copy_tables(ctx.need(measured), &[THRESHOLDS.name], out)?;
    }
    if !graphs.is_empty() {
        copy_tables(ctx.need("measure"), &graph_tables::TABLES.map(|table| table.name), out)?;
        make_folder(&out.join(EXPORTS))?;
        graphs.iter().try_for_each(|set| graph_tables::export(set, &out.join(EXPORTS)))?;
    }
    if origins.checked.job.data.label.classes().is_some() {
        copy_tables(ctx.need("measure"), &[TRANSITIONS.name], out)?;
    }
    if experiments {
        copy_tables(ctx.need(measured), &[ARMS.name, ARM_FOLDS.name], out)?;
    }
    for (stage, tables) in [(measured, ["metrics", "counts", "score_shift"].as_slice()), ("measure", &["groups"]), ("gate", &["gates"])] {
        copy_tables(ctx.need(stage), tables, out)?;
    }
    if !recourse.is_empty() {
        let folders: Vec<&Path> = recourse.iter().map(|stage| ctx.need(stage)).collect();
        for table in table::recourse::ALL {
            join_tables(&folders, table, &out.join("tables"))?;
        }
    }
    for (folder, name) in kept {
        let name = &format!("{name}.parquet");
        // Not kept by default from ten million rows on: then the stage wrote nothing.
        if folder.join(name).exists() {
            make_folder(&out.join("rows"))?;
            copy(&folder.join(name), &out.join("rows").join(name))?;
        }
    }
    let outcome: GateOutcome = from_json(&read_text(&ctx.need("gate").join(GATE_OUTCOME))?, "gate")?;
    let mut manifest = manifest(origins, out)?;
    if let Some(stage) = baseline {
        copy_tables(ctx.need(stage), &[CHANGES.name], out)?;
        manifest.baseline = Some(comparing::read_comparison(ctx.need(stage))?.compared);
    }
    for (set, attribute, followed) in followed {
        let words = manifest.counterfactuals.iter_mut().find(|words| words.name == set);
        if let Some(words) = words.filter(|_| !followed.written.is_empty()) {
            words.written.insert(attribute.to_owned(), followed.written);
        }
    }
    for (model, stage) in rechecks {
        let one: Rechecked = from_json(&read_text(&ctx.need(stage).join(RECHECKED))?, stage)?;
        let words = manifest.models.iter_mut().find(|m| m.name == *model);
        if let Some(all) = words.map(|m| m.recheck.get_or_insert_default()) {
            all.rows += one.rows;
            all.largest = all.largest.max(one.largest);
        }
    }
    let summary = Summary {
        cfaudit: FORMAT,
        job: manifest.job.clone(),
        run: manifest.run.clone(),
        out: None,
        verdict: outcome.verdict,
        exit: outcome.exit,
        data: manifest.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        gates: outcome.tally,
        worst: outcome.worst,
        headline: headline(&read_frame(&out.join("tables"), &METRICS)?),
        rows: manifest.rows.audited,
        report: "report.html".to_owned(),
    };
    finish(ctx, origins, &mut manifest, &summary)
}

/// Letters of the headline numbers: the summary line stays below 4 kB.
const HEADLINE_AT_MOST: usize = 1000;

/// The headline numbers of a run.
fn headline(metrics: &Frame) -> BTreeMap<String, f64> {
    let mut headline = BTreeMap::new();
    let mut letters = 0;
    for wanted in [("sr", "total"), ("demp_difference", "worst_case"), ("demp_difference", "pair"), ("acc", "total")] {
        for row in metrics.records().filter(|row| (row.text("metric"), row.text("scope")) == wanted) {
            let Some(value) = row.real("value").filter(|_| row.text("arm").is_empty() && row.text("slice").is_empty()) else { continue };
            // Everybody together is the same for every attribute, and a pair is named where there are two groups only.
            let parts = match wanted {
                ("acc", _) => vec![row.text("model"), "acc"],
                (metric, _) => vec![row.text("model"), row.text("counterfactual"), row.text("sensitive"), metric],
            };
            let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
            if headline.contains_key(&name) {
                continue;
            }
            letters += name.len() + 26;
            if letters > HEADLINE_AT_MOST {
                return headline;
            }
            headline.insert(name, value);
        }
    }
    headline
}

/// Puts the folder of a run together that waits for scores: what it asks for, and no number but those of rows.
///
/// # Errors
/// A file cannot be read or written.
pub fn assemble_waiting(ctx: &StageContext<'_>, origins: &Origins<'_>, awaited: Vec<AwaitedScores>) -> Result<()> {
    begin(ctx, origins, &[], &SmallSlices::new(), &[])?;
    let mut manifest = Manifest { awaited, ..manifest(origins, ctx.out())? };
    let summary = Summary {
        cfaudit: FORMAT,
        job: manifest.job.clone(),
        run: manifest.run.clone(),
        verdict: "waiting".to_owned(),
        exit: Exit::Waiting.code(),
        data: manifest.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        rows: manifest.rows.audited,
        report: "report.html".to_owned(),
        ..Summary::default()
    };
    finish(ctx, origins, &mut manifest, &summary)
}

/// The tables that tell of the rows. Prepared rows may hold features that nobody reads, or not: the folder must not depend on it.
fn begin(
    ctx: &StageContext<'_>,
    origins: &Origins<'_>,
    followed: &[(&str, &str, Followed)],
    small: &SmallSlices,
    graphs: &[GraphSet],
) -> Result<()> {
    make_folder(&ctx.out().join("tables"))?;
    copy_tables(ctx.need("prepare"), &["filters"], ctx.out())?;
    let mut issues = read_frame(ctx.need("prepare"), &ISSUES)?;
    let told: Vec<bool> = issues.records().map(|i| origins.params.tells(i.text("code"), i.text("where"))).collect();
    let mut told = told.into_iter();
    issues.rows.retain(|_| told.next() == Some(true));
    let job = &origins.checked.job;
    if job.models.values().any(|model| model.scores.is_some()) {
        for name in job.data.sensitive.keys().filter(|name| reached_by_naive(job, name)) {
            let Some(unseen) = job.data.unseen(name) else { continue };
            let text = format!(
                "no column among the sensitive columns and features changes with `{unseen}`: rows to score differ from their originals in \
                 `to_group` alone, which the model must mind"
            );
            issues.push(vec!["unseen-group".into(), "warning".into(), name.as_str().into(), Cell::Int(0), text.into()]);
        }
    }
    for name in job.data.sensitive.keys().map(ColumnName::as_str) {
        let mine = || followed.iter().filter(|(_, attribute, _)| *attribute == name);
        let missed = |of: &dyn Fn(&Followed) -> &[(String, u64)], things: &str| {
            let each = mine().flat_map(|(set, _, f)| of(f).iter().map(move |(group, n)| (set, group, *n)));
            let texts: Vec<String> = each.clone().map(|(set, group, n)| format!("{n} {things} in group `{group}` (set `{set}`)")).collect();
            (each.map(|(.., n)| n).sum::<u64>(), texts.join(", "))
        };
        let (people, where_to) = missed(&|f| &f.unreached, "people have no counterfactual");
        if people > 0 {
            let text = format!("no reference row of `{name}` shows what to write: {where_to}");
            issues.push(vec!["unreached-group".into(), "warning".into(), name.into(), people.into(), text.into()]);
        }
        let (n, where_to) = missed(&|f| &f.outside, "counterfactuals");
        if n > 0 {
            let text = format!(
                "rows set to a group of `{name}` keep a number that belongs to another group, since too few reference rows show where to move \
                 it, or the strategy leaves it; they are not valid and count in no metric: {where_to}"
            );
            issues.push(vec!["outside-group".into(), "warning".into(), name.into(), n.into(), text.into()]);
        }
    }
    for set in graphs.iter().filter(|_| !job.metrics.by.is_empty()) {
        let text = "slices would need every graph's counts of every slice: the set is measured for all rows together";
        issues.push(vec!["unsliced-set".into(), "info".into(), set.name.as_str().into(), Cell::Int(0), text.into()]);
    }
    for set in graphs.iter().filter(|_| !job.metrics.compare.is_empty()) {
        let text = "two models are compared by the decisions about each person, and a set of graphs has one for every graph";
        issues.push(vec!["uncompared-set".into(), "info".into(), set.name.as_str().into(), Cell::Int(0), text.into()]);
    }
    for set in graphs.iter().filter(|set| set.found.n_dropped > 0) {
        let text = format!(
            "training rows lack a variable of the graphs of `{}` and teach them nothing; audited rows that lack one have no counterfactual",
            set.name
        );
        issues.push(vec![
            "incomplete-graph-row".into(),
            "warning".into(),
            set.name.as_str().into(),
            set.found.n_dropped.into(),
            text.into(),
        ]);
    }
    for (attribute, slices) in small {
        let named: Vec<String> = slices.iter().take(SLICES_NAMED).map(|(slice, n)| format!("`{slice}` ({n})")).collect();
        let more = slices.len().saturating_sub(SLICES_NAMED);
        let more = if more > 0 { format!(" and {more} more, all of them in `groups`") } else { String::new() };
        let smallest = job.metrics.smallest_cell.get();
        let text = format!("slices of fewer than {smallest} people who count are counted and not measured: {}{more}", named.join(", "));
        issues.push(vec!["small-slice".into(), "info".into(), attribute.as_str().into(), (slices.len() as u64).into(), text.into()]);
    }
    write_frame(&ctx.out().join("tables"), &issues)
}

/// How many small slices an issue names.
const SLICES_NAMED: usize = 20;

/// Whether a naive set changes an attribute.
fn reached_by_naive(job: &Job, name: &ColumnName) -> bool {
    job.counterfactuals.values().any(|set| set.naive.is_some() && set.sensitive.as_ref().is_none_or(|only| only.contains(name)))
}

/// Job and summary, then the page and the manifest of all.
fn finish(ctx: &StageContext<'_>, origins: &Origins<'_>, manifest: &mut Manifest, summary: &Summary) -> Result<()> {
    write_text(&ctx.out().join("job.resolved.yaml"), &to_yaml(&origins.checked.job))?;
    write_json(&ctx.out().join("summary.json"), summary)?;
    if manifest.awaited.is_empty() {
        again::write_exports(ctx.out(), &origins.checked.job, manifest)?;
    }
    seal(ctx.out(), manifest, None)
}

fn copy_tables(from: &Path, tables: &[&str], out: &Path) -> Result<()> {
    tables.iter().try_for_each(|table| {
        let name = format!("{table}.parquet");
        copy(&from.join(&name), &out.join("tables").join(&name))
    })
}

/// Renders the page and writes it and the manifest with the hash of every file.
///
/// # Errors
/// A file cannot be read or written.
pub fn seal(out: &Path, manifest: &mut Manifest, title: Option<&str>) -> Result<()> {
    manifest.files = hashes(out)?;
    manifest.files.remove("report.html");
    write_json(&out.join(MANIFEST), manifest)?;
    let page = report::render(out, title, &glossary)?;
    write_text(&out.join("report.html"), &page)?;
    manifest.files = hashes(out)?;
    write_json(&out.join(MANIFEST), manifest)
}

/// What a folder says of itself.
pub const MANIFEST: &str = "manifest.json";

/// Writes a file beside and renames it, so that a reader never sees half of it.
///
/// # Errors
/// The disk refuses.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let io = |doing: &str, e: &std::io::Error| Error::io(doing, path, e);
    // What is no file, such as a pipe, is written to and stays what it is; a link stays a link.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return fs::write(path, bytes).map_err(|e| io("write", &e));
    }
    let target = if path.exists() { fs::canonicalize(path).map_err(|e| io("write", &e))? } else { path.to_path_buf() };
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let new = target.with_file_name(format!(".{name}.new-{}", std::process::id()));
    let done = fs::write(&new, bytes).map_err(|e| io("write", &e)).and_then(|()| fs::rename(&new, &target).map_err(|e| io("replace", &e)));
    if done.is_err() {
        // What was begun goes; where even that fails the first error is the one to tell.
        let _ = fs::remove_file(&new);
    }
    done
}

/// Makes a folder and those above it.
///
/// # Errors
/// The disk refuses.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io("create", path, &e))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map_err(|e| Error::io("copy", from, &e)).map(|_| ())
}

/// A second name for a large file that nobody changes, or a copy where the file system has no such thing.
///
/// # Errors
/// The disk refuses.
pub fn link(from: &Path, to: &Path) -> Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(|_| ())).map_err(|e| Error::io("copy", from, &e))
}

/// Writes a text file.
///
/// # Errors
/// The disk refuses.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    spec::load::hex(&Sha256::digest(bytes))
}

/// SHA-256 and size of a file, read in pieces.
///
/// # Errors
/// It cannot be read.
pub fn hash_file(path: &Path) -> Result<(String, u64)> {
    let mut file = fs::File::open(path).map_err(|e| Error::io("open", path, &e))?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer).map_err(|e| Error::io("read", path, &e))?;
        if n == 0 {
            return Ok((spec::load::hex(&hash.finalize()), bytes));
        }
        hash.update(&buffer[..n]);
        bytes += n as u64;
    }
}

/// Path below the folder and hash of every file but the manifest.
fn hashes(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut hashes = BTreeMap::new();
    let mut open = vec![String::new()];
    while let Some(below) = open.pop() {
        let here = folder.join(&below);
        for entry in fs::read_dir(&here).map_err(|e| Error::io("read", &here, &e))? {
            let entry = entry.map_err(|e| Error::io("read", &here, &e))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            if entry.path().is_dir() {
                open.push(path);
            } else if path != MANIFEST {
                hashes.insert(path, hash_file(&entry.path())?.0);
            }
        }
    }
    Ok(hashes)
}

fn manifest(origins: &Origins<'_>, out: &Path) -> Result<Manifest> {
    let Origins { checked, settings, input, run, ground, .. } = *origins;
    let job = &checked.job;
    let layout = ground.rows.layout();
    let filters = read_frame(&out.join("tables"), &FILTERS)?;
    let source_rows = filters.records().next().and_then(|r| r.int("rows_in")).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    Ok(Manifest {
        cfaudit: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        job: job.name.to_string(),
        run: run.to_owned(),
        job_hash: checked.hash.clone(),
        stand_in: input.stand_in.clone(),
        words: words(job),
        label: label_words(job, layout),
        attributes: layout
            .attributes
            .iter()
            .map(|a| AttributeWords {
                name: a.name.clone(),
                groups: a.groups.clone(),
                reference: a.groups[a.reference].clone(),
                made_of: made_of(job, &a.name),
            })
            .collect(),
        counterfactuals: set_words(job),
        models: job.models.iter().map(|(name, model)| model_words(name.as_str(), model, job.data.label.classes())).collect(),
        experiments: experiment_words(job),
        families: measuring::families(checked).iter().map(|f| f.as_str().to_owned()).collect(),
        level: (job.metrics.interval.method == spec::IntervalMethod::Auto).then(|| job.metrics.interval.level.get()),
        bootstrap_samples: job.metrics.bootstrap.samples.get(),
        seed: job.run.seed.0,
        rows: RowCounts { source: source_rows, kept: layout.n_rows, trained: ground.roles.n_trained(), audited: ground.roles.n_audited() },
        row_id: row_id(job, layout),
        weight: layout.weight.as_ref().map(|weight| weight.column.clone()),
        split: split_words(job),
        inputs: input.files.clone(),
        sets: checked.sets.clone(),
        command: command(checked, settings),
        tables: TABLES.iter().map(|t| (t.name.to_owned(), t.version)).collect(),
        baseline: None,
        awaited: Vec::new(),
        files: BTreeMap::new(),
    })
}

/// What identifies a row.
pub fn row_id(job: &Job, layout: &Layout) -> String {
    match (layout.row_id, &job.data.row_id) {
        (RowIdKind::RowNumber, _) | (_, None) => "row number".to_owned(),
        (_, Some(column)) => format!("column {column}"),
    }
}

/// How the groups of an attribute are derived.
fn made_of(job: &Job, attribute: &str) -> Option<String> {
    let name = ColumnName::new(attribute)?;
    let column = job.data.column_of(&name);
    let (_, recipe) = job.data.derived().into_iter().find(|(derived, _)| derived == column)?;
    Some(match recipe {
        Recipe::Map { from, groups, otherwise } => {
            let list = |values: &[Word]| listed(values.iter().map(ToString::to_string), 10);
            let group = |(name, values): &(Word, Vec<Word>)| format!("{name} is {}", list(values));
            let rest = otherwise.map_or_else(String::new, |other| format!("; {other} is any other value"));
            format!("column {from}: {}{rest}", groups.iter().map(group).collect::<Vec<_>>().join("; "))
        }
        Recipe::Bins { from, bins } => {
            let bin = |b: &Bin| format!("{} is {} {} to {}", b.name, if b.closed { "from" } else { "above" }, b.lo, b.hi);
            format!("column {from}: {}", bins.iter().map(bin).collect::<Vec<_>>().join("; "))
        }
        Recipe::Cross { parts } => format!("columns {} crossed", listed(parts.iter().map(|p| p.column.to_string()), parts.len())),
    })
}

fn words(job: &Job) -> Words {
    let about = job.about.clone().unwrap_or_default();
    Words {
        title: job.report.title.clone().unwrap_or_else(|| job.name.to_string()),
        decision: about.decision,
        owner: about.owner,
        version: about.version,
        rows_shown: job.report.rows_shown.get(),
    }
}

/// How a class is predicted, in the place of a threshold.
const HIGHEST: &str = "the class with the highest score; of equal scores the one named first";

fn label_words(job: &Job, layout: &Layout) -> Option<LabelWords> {
    let (role, label) = (job.data.label.column()?, layout.label.as_ref()?);
    Some(LabelWords {
        column: label.column.clone(),
        positive: label.positive.clone(),
        negative: label.negative.clone(),
        classes: label.classes.clone(),
        favourable_is_positive: role.favourable == Side::Positive,
    })
}

fn set_words(job: &Job) -> Vec<SetWords> {
    let all: Vec<String> = job.data.sensitive.keys().map(|a| a.as_str().to_owned()).collect();
    let sets = job.sets().into_iter().map(|(name, set)| SetWords {
        written: BTreeMap::new(),
        strategy: set.strategies().join(","),
        knobs: knob_words(&name, set),
        name,
        attributes: set.sensitive.as_ref().map_or_else(|| all.clone(), |s| s.iter().map(|a| a.as_str().to_owned()).collect()),
        placebo: set.placebo.map(|placebo| placebo.repeats.get()),
    });
    sets.collect()
}

/// The knobs of a set, one `key: value` each, as the resolved job writes them.
fn knob_words(name: &str, set: &spec::CounterfactualSet) -> Vec<String> {
    let mut graphs = serde_json::json!(&set.graph_uncertain);
    // Of the scenarios the set's own.
    if let Some((own, (_, scenario))) = graphs.get_mut("knowledge").zip(name.split_once('/')) {
        *own = own[scenario].take();
    }
    let json = serde_json::json!([&set.greedy, &set.plausible, &set.transport, graphs]);
    let knobs = json.as_array().into_iter().flatten().filter_map(serde_json::Value::as_object).flatten();
    let word = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string().replace('"', "").replace(':', ": ").replace(',', ", "),
    };
    knobs.map(|(key, value)| format!("{key}: {}", word(value))).collect()
}

/// Kind and description of a model that is trained here.
fn trained_words(model: &spec::Model) -> Option<(&'static str, String)> {
    if let Some(logistic) = &model.logistic {
        return Some(("logistic", format!("logistic regression trained here, L2 penalty {} on the summed loss", logistic.l2.get())));
    }
    let share = |share: Fraction| format!("{} %", share.get() * 100.0);
    let each = |trees: Count, leaves: Count, smallest: Count| {
        format!("{} trees of at most {} leaves of at least {} rows", trees.get(), leaves.get(), smallest.get())
    };
    if let Some(boosting) = &model.boosting {
        let mut words = format!(
            "gradient boosting trained here by LightGBM, {}, learning rate {}",
            each(boosting.trees, boosting.leaves, boosting.smallest_leaf),
            boosting.learning_rate.get()
        );
        if boosting.l2.get() > 0.0 {
            words.push_str(&format!(", L2 penalty {} on leaves", boosting.l2.get()));
        }
        if boosting.row_share.get() < 1.0 || boosting.column_share.get() < 1.0 {
            let (rows, columns) = (share(boosting.row_share), share(boosting.column_share));
            words.push_str(&format!(", each on {rows} of the rows and {columns} of the columns"));
        }
        return Some(("boosting", words));
    }
    let forest = model.forest.as_ref()?;
    let words = format!(
        "random forest trained here by LightGBM, {}, each on {} of the rows, each split on {} of the columns",
        each(forest.trees, forest.leaves, forest.smallest_leaf),
        share(forest.row_share),
        share(forest.column_share)
    );
    Some(("forest", words))
}

/// How thresholds are called that the job does not state.
const FITTED: &str = "a threshold fitted to its training rows";

fn model_words(name: &str, model: &spec::Model, classes: Option<&[Word]>) -> ModelWords {
    let without = |omit: &[ColumnName]| match omit {
        [] => String::new(),
        omit => format!(", without {}", omit.iter().map(ColumnName::as_str).collect::<Vec<_>>().join(", ")),
    };
    let (kind, words) = match (trained_words(model), &model.scores, &model.command) {
        (Some((kind, words)), ..) => (kind, format!("{words}{}", without(model.omitted().unwrap_or_default()))),
        (None, Some(scores), _) => {
            let columns = |columns: Vec<&ColumnName>| match columns[..] {
                [column] => format!("column {column}"),
                _ => format!("columns {}", columns.into_iter().map(ColumnName::as_str).collect::<Vec<_>>().join(", ")),
            };
            let mine = columns(scores.factual.score_columns(classes));
            let factual = match &scores.factual.parquet {
                None => format!("{mine} of the rows"),
                Some(path) => format!("{mine} of {path}"),
            };
            let other = scores.counterfactual.as_ref().map_or_else(
                || "no scores of counterfactuals".to_owned(),
                |c| format!("{} of {}", columns(c.score_columns(classes)), c.parquet),
            );
            ("scores", format!("scores made elsewhere: {factual}; counterfactuals: {other}"))
        }
        (None, None, Some(command)) => {
            let line = |arguments: &[Argument]| arguments.iter().map(|a| a.0.as_str()).collect::<Vec<_>>().join(" ");
            let how = match (&command.train, &command.model) {
                (Some(train), _) => format!(", trained in this run by `{}`", line(train)),
                (None, Some(model)) => format!(", model file {model}"),
                (None, None) => String::new(),
            };
            ("command", format!("scores of a program: `{}`{how}{}", line(&command.score), without(&command.omit)))
        }
        (None, None, None) => {
            let onnx = model.onnx.as_ref().map_or(String::new(), |onnx| format!("ONNX file {}{}", onnx.model, without(&onnx.omit)));
            ("onnx", onnx)
        }
    };
    let threshold = match &model.threshold {
        Threshold::Fixed(share) => share.get().to_string(),
        Threshold::Of(ThresholdOf::Column(column)) => format!("column {column}"),
        Threshold::Of(ThresholdOf::MaximiseRecall(knob)) => {
            format!("{FITTED} (most recall while {} % of the negative rows stay below)", knob.tnr_floor.get() * 100.0)
        }
        Threshold::Of(ThresholdOf::Youden(_)) => format!("{FITTED} (largest TPR + TNR)"),
        Threshold::Of(ThresholdOf::FBeta(beta)) => format!("{FITTED} (largest F{} score)", beta.get()),
    };
    let rule = match model.threshold_rule {
        spec::ThresholdRule::Ge => "ge",
        spec::ThresholdRule::Gt => "gt",
    };
    let (threshold, rule) = if classes.is_some() { (HIGHEST.to_owned(), "") } else { (threshold, rule) };
    ModelWords { name: name.to_owned(), kind: kind.to_owned(), words, threshold, threshold_rule: rule.to_owned(), recheck: None }
}

fn experiment_words(job: &Job) -> Vec<ExperimentWords> {
    let words = |(name, experiment): (&Name, &Experiment)| {
        let arm = |(name, words): (&'static str, String)| ArmWords { name: name.to_owned(), words };
        ExperimentWords {
            name: name.to_string(),
            model: experiment.model.to_string(),
            counterfactual: experiment.from.to_string(),
            folds: experiment.folds.map(|folds| folds.get()),
            arms: experiment.arms.in_words().into_iter().map(arm).collect(),
        }
    };
    job.experiments.iter().map(words).collect()
}

fn split_words(job: &Job) -> String {
    let Some(split) = &job.data.split else { return "every row is audited".to_owned() };
    let by = match split.stratify {
        Some(Stratify::Label) => "within strata of the label",
        Some(Stratify::None) => "without strata",
        Some(Stratify::LabelAndGroup) => "within strata of label and first sensitive attribute",
        None if job.data.label.column().is_some() => "within strata of label and first sensitive attribute",
        None => "without strata",
    };
    match (&split.column, &split.share, split.folds) {
        (Some(column), ..) => format!("by column {column}"),
        (_, Some(share), _) => format!("share {} trains, {} is audited, drawn by the seed {by}", share.train.get(), share.audit.get()),
        (_, _, Some(folds)) => {
            format!("{} folds drawn by the seed {by}; every row is audited once by models fitted on the other folds", folds.get())
        }
        (None, None, None) => "every row is audited".to_owned(),
    }
}

fn command(checked: &CheckedJob, settings: &Settings) -> String {
    let quote = |text: &str| {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,".contains(c));
        if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let sets = checked.sets.iter().map(|s| format!(" --set {}", quote(s)));
    let baseline = settings.baseline.iter().map(|folder| format!(" --baseline {}", quote(&folder.to_string_lossy())));
    format!("cfaudit run {}{}{}", quote(&settings.job_file), sets.collect::<String>(), baseline.collect::<String>())
}

/// What pages say of a metric or of a measure of counterfactuals.
pub fn glossary(id: &str) -> Option<GlossaryEntry> {
    if let Some(measure) = cf_quality::find(id) {
        return Some(GlossaryEntry {
            id: measure.id.to_owned(),
            symbol: String::new(),
            name: measure.name.to_owned(),
            family: "cf_quality".to_owned(),
            formula: measure.formula.to_owned(),
            reading: measure.reading.to_owned(),
            range: explain::range(measure.range),
            ideal: String::new(),
            undefined_when: measure.undefined_when.to_owned(),
            source: measure.source.to_owned(),
        });
    }
    let metric = metric::find(id)?;
    Some(GlossaryEntry {
        id: metric.id.to_owned(),
        symbol: metric.symbol.to_owned(),
        name: metric.name.to_owned(),
        family: metric.family.as_str().to_owned(),
        formula: metric.formula.to_owned(),
        reading: metric.reading.to_owned(),
        range: explain::range(metric.range),
        ideal: metric.ideal.map_or_else(String::new, |i| i.to_string()),
        undefined_when: metric.undefined_when.to_owned(),
        source: metric.source.to_owned(),
    })
}
