//! Judges a finished folder again, and compares two: the verbs `gate`, `diff` and `export`. Reads
//! only folders, never data, models or caches.
//!
//! `gate` puts its verdicts into the folder, as if the run had been given the baseline: tables,
//! summary, page and manifest. Where nothing changes nothing is written, so a folder that may not
//! be written can be judged again as it was.

use std::path::{Path, PathBuf};

use crate::diff::{self, DiffResult};
use crate::error::{Error, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::Event;
use crate::exec::files;
use crate::exec::folder::{EXTRAS, OutputFolder};
use crate::exec::hash::sha256;
use crate::exec::replaced_file::{self, remove_leftovers, temporary};
use crate::folder::manifest::{Manifest, RunSummary};
use crate::folder::read::{self, MANIFEST, path_below};
use crate::gate::question::GateTables;
use crate::gate::reason::GateReason;
use crate::job::check::{self, CheckedJob};
use crate::job::{ExportFormat, Job};
use crate::report::PAGES;
use crate::report::diff::FolderDiff;
use crate::stage::artifact::GateOutcome;
use crate::stage::gate;
use crate::stage::gate::baseline;
use crate::stage::report;
use crate::stage::report::exports::{export_file, export_text, write_exports};
use crate::table::file::{read_rows, write_rows};
use crate::table::{ChangeRow, GateRow, HistoryRow, IssueRow, TableRow};

/// A folder judged again.
#[derive(Debug, Clone)]
pub(crate) struct RejudgedFolder {
    /// Its summary, with `out`.
    pub summary: RunSummary,
    /// One event per gate; of a run that waits for scores one that says so.
    pub events: Vec<Event>,
}

/// Judges the gates of a finished folder, against a baseline where one is named; else against the
/// one that the folder was compared with before. With `force` also changes of values that mean
/// something else are judged.
///
/// # Errors
/// A folder cannot be read, is damaged or holds no numbers, or the new verdicts cannot be written.
pub(crate) fn judge(
    folder: &Path,
    baseline: Option<&Path>,
    force: bool,
    cancel: &CancelFlag,
) -> Result<RejudgedFolder> {
    if !read::manifest(folder)?.0.awaited.is_empty() {
        return rejudge_waiting(folder, &baseline::verified(folder)?.0);
    }
    let new = baseline::finished(folder)?;
    baseline.map_or(Ok(()), |baseline| baseline::check_other(baseline, folder))?;
    let (comparison, checked) = match baseline {
        Some(baseline) => {
            let old = baseline::finished(baseline)?;
            let mut compared = diff::compare(&old, &new, force)?;
            let checked = job_of(folder)?;
            baseline::add_old_extremes(&checked, &mut compared.changes, baseline)?;
            (Some(compared), checked)
        }
        None => (stored_comparison(folder, &new.manifest)?, job_of(folder)?),
    };
    let old_gates = read_rows::<GateRow>(&folder.join("tables"))?;
    let (gates, outcome) =
        judge_by_tables(folder, &checked, comparison.as_ref(), Some(&old_gates))?;
    let old_summary = read::read_summary(folder)?;
    let mut manifest = new.manifest;
    let mut summary = report::summary(&manifest, outcome, &new.metrics);
    let compared = comparison.as_ref().map(|c| c.compared.clone());
    let same_changes = match &comparison {
        Some(comparison) => read_rows::<ChangeRow>(&folder.join("tables"))? == comparison.changes,
        None => true,
    };
    let command = match baseline {
        Some(baseline) => report::with_baseline(&manifest.command, baseline),
        None => manifest.command.clone(),
    };
    let written = summary != old_summary
        || gates != old_gates
        || manifest.baseline != compared
        || manifest.command != command
        || !same_changes;
    if written {
        (manifest.baseline, manifest.command) = (compared, command);
        let claimed = OutputFolder::claim(folder, &manifest.job, false)?;
        check_unchanged(folder, &new.fingerprint)?;
        let scratch = claimed.scratch()?;
        let changes = comparison.as_ref().map(|c| c.changes.as_slice());
        write_rejudged(
            folder,
            scratch.path(),
            &mut manifest,
            &checked.job,
            (&summary, &gates, changes),
        )?;
        claimed.publish(scratch.path(), &extras(folder)?, cancel)?;
    } else {
        OutputFolder::clear_leftovers(folder, &manifest.job);
        check_unchanged(folder, &new.fingerprint)?;
    }
    summary.out = Some(folder.to_string_lossy().into_owned());
    Ok(RejudgedFolder { summary, events: report::gate_events(folder)? })
}

/// The rows of a finished folder's table `gates`; then those that its tables give, and the
/// comparison that it holds, and how these came out.
///
/// # Errors
/// The job or a table cannot be read.
pub(crate) fn gates_again(
    folder: &Path,
    manifest: &Manifest,
) -> Result<([Vec<GateRow>; 2], GateOutcome)> {
    let comparison = stored_comparison(folder, manifest)?;
    let checked = job_of(folder)?;
    let stored = read_rows::<GateRow>(&folder.join("tables"))?;
    let (gates, outcome) = judge_by_tables(folder, &checked, comparison.as_ref(), Some(&stored))?;
    Ok(([stored, gates], outcome))
}

/// The comparison with a baseline that a folder holds.
fn stored_comparison(folder: &Path, manifest: &Manifest) -> Result<Option<DiffResult>> {
    let Some(compared) = manifest.baseline.clone() else { return Ok(None) };
    let changes = read_rows::<ChangeRow>(&folder.join("tables"))?;
    Ok(Some(DiffResult { compared, changes }))
}

/// The job of a finished folder.
///
/// # Errors
/// Its file cannot be read, or is none that this program takes.
pub(crate) fn job_of(folder: &Path) -> Result<CheckedJob> {
    check::read(&folder.join("job.resolved.yaml"), &[])
}

/// Judges the gates of a job by the tables of a folder. With the table of gates that is `stored`
/// there, they keep their lines in the job file, which a resolved job does not have.
fn judge_by_tables(
    folder: &Path,
    checked: &CheckedJob,
    comparison: Option<&DiffResult>,
    stored: Option<&[GateRow]>,
) -> Result<(Vec<GateRow>, GateOutcome)> {
    let tables = folder.join("tables");
    let mut questions = gate::questions(checked);
    for counted in gate::counted_questions(checked) {
        questions.push(counted.count(&tables)?);
    }
    if let Some(stored) = stored {
        for question in &mut questions {
            let line = stored.iter().find(|row| row.gate == question.name).map(|row| row.job_line);
            question.line = line.and_then(|line| u64::try_from(line).ok()).unwrap_or(0);
        }
    }
    let judged_by = GateTables::read([&tables; 2], true)?;
    if judged_by.issues.iter().any(GateReason::is_lost) {
        return Err(read::damaged_column(&tables, IssueRow::TABLE, "args"));
    }
    Ok(gate::verdicts(checked, questions, &judged_by, comparison))
}

/// A folder whose run waits for scores: there is nothing to judge yet, and its summary says so.
fn rejudge_waiting(folder: &Path, manifest: &Manifest) -> Result<RejudgedFolder> {
    let files: Vec<&str> = manifest.awaited.iter().map(|awaited| awaited.path.as_str()).collect();
    let text = format!(
        "no gate is judged again: the run waits for scores, {}; run its job again when they have \
         arrived",
        files.join(", ")
    );
    let waiting = Event::Problem {
        code: "waiting".to_owned(),
        path: folder.to_string_lossy().into_owned(),
        line: None,
        text,
    };
    let summary = RunSummary {
        out: Some(folder.to_string_lossy().into_owned()),
        ..read::read_summary(folder)?
    };
    Ok(RejudgedFolder { summary, events: vec![waiting] })
}

/// Renders the pages of a finished folder again; the manifest gets its new hash.
///
/// # Errors
/// The folder is none of cfaudit's, its tables are of another version, another process writes it,
/// or it cannot be written.
///
/// With `history` the page shows those earlier runs; without, the ones that it showed before.
pub(crate) fn render(
    folder: &Path,
    title: Option<&str>,
    history: &[PathBuf],
    cancel: &CancelFlag,
) -> Result<()> {
    let (mut manifest, bytes) = baseline::verified(folder)?;
    let claimed = OutputFolder::claim(folder, &manifest.job, false)?;
    check_unchanged(folder, &sha256(&bytes))?;
    if let Some(title) = title {
        title.clone_into(&mut manifest.words.title);
    }
    let scratch = claimed.scratch()?;
    let table = format!("tables/{}", HistoryRow::TABLE.file());
    link_all(folder, scratch.path(), &manifest, |name| {
        PAGES.contains(&name) || name == table && !history.is_empty()
    })?;
    if !history.is_empty() {
        report::write_history(scratch.path(), &mut manifest, history)?;
    }
    report::write_page_and_manifest(scratch.path(), &mut manifest, title)?;
    claimed.publish(scratch.path(), &extras(folder)?, cancel).map(|_| ())
}

/// Fails where another process has written the folder since the SHA-256 of its manifest was
/// `fingerprint`.
fn check_unchanged(folder: &Path, fingerprint: &str) -> Result<()> {
    if files::read(&folder.join(MANIFEST)).is_ok_and(|bytes| sha256(&bytes) == fingerprint) {
        return Ok(());
    }
    let cause = "another run has replaced the folder in the meantime";
    Err(Error::operator("read", folder, cause, "do it again"))
}

/// Makes the folder with its new verdicts in `scratch`.
fn write_rejudged(
    folder: &Path,
    scratch: &Path,
    manifest: &mut Manifest,
    job: &Job,
    (summary, gates, changes): (&RunSummary, &[GateRow], Option<&[ChangeRow]>),
) -> Result<()> {
    let renewed = ["tables/gates.parquet", "tables/changes.parquet", "summary.json"];
    // Graphs are exported too, and no verdict changes them.
    let is_renewed = |name: &str| {
        renewed.contains(&name)
            || PAGES.contains(&name)
            || job.exports.iter().any(|form| name == format!("exports/{}", export_file(form)))
    };
    link_all(folder, scratch, manifest, is_renewed)?;
    let tables = scratch.join("tables");
    files::make_folder(&tables)?;
    write_rows(&tables, gates)?;
    changes.map(|changes| write_rows(&tables, changes)).transpose()?;
    files::write_json(&scratch.join("summary.json"), summary)?;
    write_exports(scratch, job, manifest)?;
    report::write_page_and_manifest(scratch, manifest, None)
}

/// Gives the files that the manifest lists a second name in `scratch`, without those that are
/// renewed. They get a new manifest, so each must be what the old one lists.
fn link_all(
    folder: &Path,
    scratch: &Path,
    manifest: &Manifest,
    is_renewed: impl Fn(&str) -> bool,
) -> Result<()> {
    for (name, sha256) in manifest.files.iter().filter(|(name, _)| !is_renewed(name)) {
        let (from, to) = (path_below(folder, name)?, path_below(scratch, name)?);
        // Rows may have been deleted.
        if from.exists() {
            read::check_hash(&from, sha256)?;
            files::make_folder(to.parent().unwrap_or(scratch))?;
            files::link(&from, &to)?;
        }
    }
    Ok(())
}

fn extras(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut extras = Vec::new();
    for name in EXTRAS {
        let path = folder.join(name);
        if path.is_file() {
            extras.push((name.to_owned(), files::read(&path)?));
        }
    }
    Ok(extras)
}

/// A finished folder in the form of another tool, with the knobs of its job where it has this form.
///
/// # Errors
/// The folder cannot be read, is damaged or holds no numbers.
pub(crate) fn export(folder: &Path, form: &ExportFormat) -> Result<String> {
    let side = baseline::finished(folder)?;
    let on_inconclusive = side.values.get(&vec!["on_inconclusive".to_owned()]);
    let fails = on_inconclusive.is_none_or(|word| word == "fail");
    if !matches!(form, ExportFormat::Prometheus(_)) {
        return export_text(folder, form, &side.manifest, fails);
    }
    let job = job_of(folder)?.job;
    let own = job.exports.iter().find(|own| matches!(own, ExportFormat::Prometheus(_)));
    export_text(folder, own.unwrap_or(form), &side.manifest, fails)
}

/// Writes the page and the table of changes into a folder, which it makes; each file appears whole
/// or not at all.
///
/// # Errors
/// The disk refuses.
pub(crate) fn write_diff(diff: &FolderDiff, out: &Path) -> Result<()> {
    let table = ChangeRow::TABLE.file();
    remove_leftovers(&[out.join(&table)]);
    let scratch = temporary(&out.join(&table));
    files::make_folder(&scratch)?;
    let written = write_rows(&scratch, &diff.changes)
        .and_then(|()| files::rename(&scratch.join(&table), &out.join(&table)));
    written.and(files::remove_folder(&scratch))?;
    replaced_file::replace(&out.join("diff.html"), diff.html(&report::glossary).as_bytes())
}

/// Compares two finished folders; with a job, judges its gates by the new one, and those against a
/// baseline by the change from the old one.
///
/// # Errors
/// A folder cannot be read, is damaged or holds no numbers.
pub(crate) fn compare(
    old: &Path,
    new: &Path,
    job: Option<&CheckedJob>,
    force: bool,
) -> Result<FolderDiff> {
    let (old_side, new_side) = (baseline::finished(old)?, baseline::finished(new)?);
    let mut comparison = diff::compare(&old_side, &new_side, force)?;
    let (mut gates, mut exit) = (Vec::<GateRow>::new(), 0);
    if let Some(checked) = job {
        baseline::add_old_extremes(checked, &mut comparison.changes, old)?;
        let (judged, outcome) = judge_by_tables(new, checked, Some(&comparison), None)?;
        (gates, exit) = (judged, outcome.exit);
    }
    let named = |folder: &Path| folder.to_string_lossy().into_owned();
    let verdicts_of = |folder: &Path| read_rows::<GateRow>(&folder.join("tables"));
    let judged = [verdicts_of(old)?, verdicts_of(new)?];
    let DiffResult { compared, changes } = comparison;
    Ok(FolderDiff {
        old: (named(old), old_side.manifest),
        new: (named(new), new_side.manifest),
        compared,
        changes,
        gates,
        exit,
        judged,
    })
}
