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

use crate::data::split::Stratify;
use crate::data::{Layout, RowIdKind};
use crate::error::{Error, Exit, Result};
use crate::exec::event::Event;
use crate::exec::{StageContext, StageRecord};
use crate::explain;
use crate::metric;
use crate::pipeline::inputs::Input;
use crate::pipeline::worlds::Ground;
use crate::pipeline::{Record, Settings, measuring};
use crate::report::{self, GlossaryEntry};
use crate::spec::check::{CheckedJob, to_yaml};
use crate::spec::{self, Job, Side};
use crate::table::io::read_frame;
use crate::table::manifest::{AttributeWords, GateTally, LabelWords, Manifest, ModelWords, RowCounts, SetWords, Summary, Words, WorstGate};
use crate::table::{FILTERS, GATES, TABLES};

/// What the stage `gate` writes beside its table.
pub const GATE_OUTCOME: &str = "outcome.json";

const FORMAT: u32 = 1;

/// How the gates came out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GateOutcome {
    /// pass, fail, inconclusive, or done where there are no gates.
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
    let events = deciding.map(|row| {
        let number = |name: &str| row.real(name).map_or_else(|| "undefined".to_owned(), |v| format!("{v:.4}"));
        let between = match (row.text("from_group"), row.text("to_group")) {
            ("", "") => String::new(),
            (from, "") => format!(" of {from}"),
            (from, to) if row.text("scope") == "difference" => format!(" {from} to {to} minus {to} to {from}"),
            (from, to) if row.text("scope") == "pair" => format!(" {from} against {to}"),
            (from, to) => format!(" {from} to {to}"),
        };
        let interval = match (row.real("lo"), row.real("hi")) {
            (Some(lo), Some(hi)) => format!(" ({lo:.4} to {hi:.4})"),
            _ => String::new(),
        };
        Event::GateVerdict {
            code: row.text("verdict").to_owned(),
            path: format!("gates.{}", row.text("gate")),
            line: row.int("job_line").and_then(|l| u64::try_from(l).ok()),
            text: format!(
                "{}{between} of {} is {}{interval}, limit {}; {}{}",
                row.text("metric"),
                row.text("model"),
                number("value"),
                number("limit"),
                row.text("reason"),
                if row.text("level") == "warn" { "; level warn" } else { "" }
            ),
        }
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

/// Puts the folder together.
///
/// # Errors
/// A file cannot be read or written.
pub fn assemble(
    ctx: &StageContext<'_>,
    checked: &CheckedJob,
    settings: &Settings,
    input: &Input,
    run: &str,
    ground: Ground<'_>,
    outcomes: Option<&Path>,
) -> Result<()> {
    let out = ctx.out();
    make_folder(&out.join("tables"))?;
    for (stage, tables) in
        [("measure", ["metrics", "counts", "score_shift", "groups"].as_slice()), ("gate", &["gates"]), ("prepare", &["filters", "issues"])]
    {
        for table in tables {
            let name = format!("{table}.parquet");
            copy(&ctx.need(stage).join(&name), &out.join("tables").join(&name))?;
        }
    }
    if let Some(folder) = outcomes {
        let name = "outcomes.parquet";
        // Not kept by default from ten million rows on: then the stage wrote nothing.
        if folder.join(name).exists() {
            make_folder(&out.join("rows"))?;
            copy(&folder.join(name), &out.join("rows").join(name))?;
        }
    }
    write_text(&out.join("job.resolved.yaml"), &to_yaml(&checked.job))?;

    let outcome: GateOutcome = from_json(&read_text(&ctx.need("gate").join(GATE_OUTCOME))?, "gate")?;
    let filters = read_frame(&out.join("tables"), &FILTERS)?;
    let source_rows = filters.records().next().and_then(|r| r.int("rows_in")).and_then(|n| u64::try_from(n).ok());
    let mut manifest = manifest(checked, settings, input, run, ground, source_rows.unwrap_or(0));
    let summary = Summary {
        cfaudit: FORMAT,
        job: manifest.job.clone(),
        run: run.to_owned(),
        out: None,
        verdict: outcome.verdict,
        exit: outcome.exit,
        data: manifest.stand_in.as_ref().map(|_| "stand-in".to_owned()),
        gates: outcome.tally,
        worst: outcome.worst,
        rows: manifest.rows.audited,
        report: "report.html".to_owned(),
    };
    write_json(&out.join("summary.json"), &summary)?;
    seal(out, &mut manifest, None)
}

/// Renders the page and writes it and the manifest with the hash of every file.
fn seal(out: &Path, manifest: &mut Manifest, title: Option<&str>) -> Result<()> {
    manifest.files = hashes(out)?;
    manifest.files.remove("report.html");
    write_json(&out.join(MANIFEST), manifest)?;
    let page = report::render(out, title, &glossary)?;
    write_text(&out.join("report.html"), &page)?;
    manifest.files = hashes(out)?;
    write_json(&out.join(MANIFEST), manifest)
}

const MANIFEST: &str = "manifest.json";

/// Renders the page of a finished folder again; the manifest gets its new hash.
///
/// # Errors
/// The folder is none of cfaudit's, its tables are of another version, or it cannot be written.
pub fn render_again(folder: &Path, title: Option<&str>) -> Result<()> {
    let path = folder.join(MANIFEST);
    let text = fs::read_to_string(&path).map_err(|e| Error::Operator {
        path: folder.to_path_buf(),
        doing: "read".to_owned(),
        cause: format!("it has no readable manifest.json ({e})"),
        hint: Some("name an output folder of `cfaudit run`, such as outputs/demo".to_owned()),
    })?;
    let mut manifest: Manifest = serde_json::from_str(&text).map_err(|e| Error::io("read", &path, &e.into()))?;
    if let Some(title) = title {
        title.clone_into(&mut manifest.words.title);
    }
    let page = report::render(folder, title, &glossary)?;
    replace(&folder.join("report.html"), page.as_bytes())?;
    manifest.files.insert("report.html".to_owned(), sha256(page.as_bytes()));
    let mut text = serde_json::to_string_pretty(&manifest).map_err(|e| Error::io("write", &path, &e.into()))?;
    text.push('\n');
    replace(&path, text.as_bytes())
}

/// Writes a file beside and renames it, so that a reader never sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes).map_err(|e| Error::io("write", &new, &e))?;
    fs::rename(&new, path).map_err(|e| Error::io("replace", path, &e))
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io("create", path, &e))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map_err(|e| Error::io("copy", from, &e)).map(|_| ())
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

fn sha256(bytes: &[u8]) -> String {
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

fn manifest(checked: &CheckedJob, settings: &Settings, input: &Input, run: &str, ground: Ground<'_>, source_rows: u64) -> Manifest {
    let job = &checked.job;
    let layout = ground.rows.layout();
    Manifest {
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
            .map(|a| AttributeWords { name: a.name.clone(), groups: a.groups.clone(), reference: a.groups[a.reference].clone() })
            .collect(),
        counterfactuals: set_words(job),
        models: job.models.iter().map(|(name, model)| model_words(name.as_str(), model)).collect(),
        families: measuring::families(checked).iter().map(|f| f.as_str().to_owned()).collect(),
        level: (job.metrics.interval.method == spec::IntervalMethod::Auto).then(|| job.metrics.interval.level.get()),
        bootstrap_samples: job.metrics.bootstrap.samples.get(),
        seed: job.run.seed.0,
        rows: RowCounts { source: source_rows, kept: layout.n_rows, trained: ground.roles.n_trained(), audited: ground.roles.n_audited() },
        row_id: match (layout.row_id, &job.data.row_id) {
            (RowIdKind::RowNumber, _) | (_, None) => "row number".to_owned(),
            (_, Some(column)) => format!("column {column}"),
        },
        split: split_words(job),
        inputs: input.files.clone(),
        sets: checked.sets.clone(),
        command: command(checked, settings),
        tables: TABLES.iter().map(|t| (t.name.to_owned(), t.version)).collect(),
        files: BTreeMap::new(),
    }
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

fn label_words(job: &Job, layout: &Layout) -> Option<LabelWords> {
    let (role, label) = (job.data.label.column()?, layout.label.as_ref()?);
    Some(LabelWords {
        column: label.column.clone(),
        positive: label.positive.clone(),
        negative: label.negative.clone(),
        favourable_is_positive: role.favourable == Side::Positive,
    })
}

fn set_words(job: &Job) -> Vec<SetWords> {
    let all: Vec<String> = job.data.sensitive.keys().map(|a| a.as_str().to_owned()).collect();
    let sets = job.counterfactuals.iter().map(|(name, set)| SetWords {
        name: name.to_string(),
        strategy: "naive".to_owned(),
        knobs: Vec::new(),
        attributes: set.sensitive.as_ref().map_or_else(|| all.clone(), |s| s.iter().map(|a| a.as_str().to_owned()).collect()),
    });
    sets.collect()
}

fn model_words(name: &str, model: &spec::Model) -> ModelWords {
    let (kind, words) = match (&model.logistic, &model.scores) {
        (Some(logistic), _) => {
            let omit: Vec<&str> = logistic.omit.iter().map(|c| c.as_str()).collect();
            let without = if omit.is_empty() { String::new() } else { format!(", without {}", omit.join(", ")) };
            ("logistic", format!("logistic regression trained here, L2 penalty {} on the summed loss{without}", logistic.l2.get()))
        }
        (None, Some(scores)) => {
            let factual = match &scores.factual.parquet {
                None => format!("column {} of the rows", scores.factual.column),
                Some(path) => format!("column {} of {path}", scores.factual.column),
            };
            let other = scores
                .counterfactual
                .as_ref()
                .map_or_else(|| "no scores of counterfactuals".to_owned(), |c| format!("column {} of {}", c.column, c.parquet));
            ("scores", format!("scores made elsewhere: {factual}; counterfactuals: {other}"))
        }
        (None, None) => ("", String::new()),
    };
    let threshold = match &model.threshold {
        spec::Threshold::Fixed(share) => share.get().to_string(),
        spec::Threshold::Column { column } => format!("column {column}"),
    };
    let rule = match model.threshold_rule {
        spec::ThresholdRule::Ge => "ge",
        spec::ThresholdRule::Gt => "gt",
    };
    ModelWords { name: name.to_owned(), kind: kind.to_owned(), words, threshold, threshold_rule: rule.to_owned() }
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
    format!("cfaudit run {}{}", quote(&settings.job_file), sets.collect::<String>())
}

fn glossary(id: &str) -> Option<GlossaryEntry> {
    let metric = metric::find(id)?;
    Some(GlossaryEntry {
        id: metric.id.to_owned(),
        symbol: metric.symbol.to_owned(),
        name: metric.name.to_owned(),
        family: metric.family.as_str().to_owned(),
        formula: metric.formula.to_owned(),
        reading: metric.reading.to_owned(),
        range: explain::range(metric),
        ideal: metric.ideal.map_or_else(String::new, |i| i.to_string()),
        undefined_when: metric.undefined_when.to_owned(),
        source: metric.source.to_owned(),
    })
}
