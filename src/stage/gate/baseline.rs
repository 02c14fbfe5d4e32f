//! The stage `baseline`, and the verbs `gate` and `diff`: reads output folders into what
//! [`diff`] compares.
//!
//! A folder from another machine is enough: `manifest.json`, `job.resolved.yaml` and `tables/`;
//! `rows/outcomes.parquet` where it is kept. What is read must be what the manifest lists: a
//! missing table would read as an empty one, and no change would be found.

use std::path::{Path, PathBuf};

use crate::diff::compared_run::ComparedRun;
use crate::diff::definitions::JobValues;
use crate::diff::{self, DiffResult};
use crate::error::{Error, Result};
use crate::exec::files;
use crate::exec::hash::sha256;
use crate::folder::manifest::{InputFile, Manifest, RunComparison};
use crate::folder::read::{self as opened, SUMMARY, check_measured, damaged};
use crate::gate;
use crate::gate::question::{GateBaseline, GateQuantity, GateTables};
use crate::job::Job;
use crate::job::check::{CheckedJob, to_yaml};
use crate::job::resolve::flat;
use crate::stage::input::DATA;
use crate::stage::row_context::RowContext;
use crate::table::file::{read_rows, write_rows};
use crate::table::{ChangeRow, CountRow, GroupRow, MetricTable};

/// What the stage writes next to its table.
pub(crate) const COMPARED: &str = "compared.json";

/// The file of outcomes below an output folder.
const OUTCOMES_FILE: &str = "rows/outcomes.parquet";

/// Refuses as baseline the folder that the new verdicts go into, by whatever path it is named: a
/// run would replace its own baseline, and the next one would find no change.
///
/// # Errors
/// Both paths are of one folder.
pub(crate) fn check_other(baseline: &Path, folder: &Path) -> Result<()> {
    let resolved = (files::resolve(baseline), files::resolve(folder));
    if !matches!(resolved, (Ok(baseline), Ok(folder)) if baseline == folder) {
        return Ok(());
    }
    let cause = "it is the folder to be judged, and a folder cannot be compared with itself";
    let hint = "name the folder of an earlier run, or leave `--baseline` out; a run can also get \
                another folder with `--out`";
    Err(Error::operator("use as baseline", baseline, cause, hint))
}

/// The manifest of a finished folder, and its bytes.
///
/// # Errors
/// The folder is none of cfaudit's, or holds something else than its manifest lists.
pub(crate) fn verified(folder: &Path) -> Result<(Manifest, Vec<u8>)> {
    // A page contains nothing that the tables do not.
    let others = ["job.resolved.yaml", SUMMARY, OUTCOMES_FILE];
    opened::verified(folder, |name| name.starts_with("tables/") || others.contains(&name))
}

/// A finished run as one side of a comparison.
///
/// # Errors
/// The folder is none of cfaudit's, is damaged, was written by another version, or holds no numbers
/// because the run waits for scores.
pub(crate) fn finished(folder: &Path) -> Result<ComparedRun> {
    let (manifest, bytes) = verified(folder)?;
    check_measured(folder, &manifest)?;
    let (job, tables) = (folder.join("job.resolved.yaml"), folder.join("tables"));
    let values = flat::values(&files::read_text(&job)?).map_err(|cause| damaged(&job, cause))?;
    let side = side(manifest, values, [&tables; 2], kept_outcomes(folder))?;
    let rounded = gate::rounded_switches(&read_rows::<CountRow>(&tables)?);
    Ok(ComparedRun { fingerprint: sha256(&bytes), rounded, ..side })
}

/// A run as one side of a comparison, by the folders of its metrics and of its groups.
fn side(
    manifest: Manifest,
    values: JobValues,
    [metrics, groups]: [&Path; 2],
    outcomes: Option<PathBuf>,
) -> Result<ComparedRun> {
    Ok(ComparedRun {
        source: source(&values, &manifest),
        lacks_labels: read_rows::<GroupRow>(groups)?.iter().any(|row| row.n_missing_label > 0),
        manifest,
        fingerprint: String::new(),
        values,
        metrics: MetricTable::read(metrics)?.all,
        rounded: Vec::new(),
        outcomes,
    })
}

/// The outcomes in a folder, unless they are absent.
///
/// Outcomes that this account cannot read are not absent: pairing people must fail on them, or
/// another account would get another verdict. An export needs none.
fn kept_outcomes(folder: &Path) -> Option<PathBuf> {
    let outcomes = folder.join(OUTCOMES_FILE);
    (!matches!(files::metadata_if_there(&outcomes), Ok(None))).then_some(outcomes)
}

/// What the rows were read from: files by their bytes, objects by
/// their ETags, generated rows by their recipe.
fn source(values: &JobValues, Manifest { inputs, stand_in, .. }: &Manifest) -> String {
    let mut parts: Vec<String> =
        inputs.iter().filter(|input| input.what == DATA).map(InputFile::identity).collect();
    if parts.is_empty() {
        let rows = values
            .iter()
            .filter(|(path, _)| path.starts_with(&["data".to_owned(), "rows".to_owned()]));
        parts.extend(rows.map(|(path, value)| format!("{}={value}", path.join("."))));
        parts.extend(stand_in.iter().map(|set| format!("stand-in {set}")));
        parts.extend(
            values
                .get(&vec!["run".to_owned(), "seed".to_owned()])
                .map(|seed| format!("seed {seed}")),
        );
    }
    parts.join("\n")
}

/// The current run as one side of a comparison: what it says about itself, its metrics and its
/// groups in the folders `tables`, its outcomes, where kept, in `outcomes`.
///
/// # Errors
/// A table cannot be read.
pub(crate) fn running_side(
    job: &Job,
    manifest: Manifest,
    tables: [&Path; 2],
    outcomes: Option<&Path>,
) -> Result<ComparedRun> {
    let values = flat::values(&to_yaml(job))
        .map_err(|cause| damaged(Path::new("job.resolved.yaml"), cause))?;
    let outcomes = outcomes.map(|folder| folder.join("outcomes.parquet"));
    side(manifest, values, tables, outcomes.filter(|file| file.is_file()))
}

/// Writes the table `changes` and what was compared with what.
///
/// # Errors
/// The baseline cannot be read, or the disk refuses.
pub(crate) fn compare(
    checked: &CheckedJob,
    row_context: RowContext<'_>,
    baseline: &Path,
    new: &ComparedRun,
) -> Result<()> {
    row_context.ctx.check()?;
    let old = finished(baseline)?;
    let DiffResult { compared, mut changes } =
        row_context.workers.within(|| diff::compare(&old, new, false))?;
    add_old_extremes(checked, &mut changes, baseline)?;
    write_rows(row_context.ctx.out(), &changes)?;
    files::write_json(&row_context.ctx.out().join(COMPARED), &compared)
}

/// Adds to the changes that gates of a job judge the values that the earlier run in a folder could
/// have had with everybody measured.
///
/// # Errors
/// A table cannot be read.
pub(crate) fn add_old_extremes(
    checked: &CheckedJob,
    changes: &mut [ChangeRow],
    folder: &Path,
) -> Result<()> {
    let questions = super::questions(checked);
    if questions.iter().all(|question| question.quantity == GateQuantity::Value) {
        return Ok(());
    }
    let old = GateTables::read([&folder.join("tables"); 2], true)?;
    gate::add_old_extremes(&questions, changes, &old);
    Ok(())
}

/// What a stage, or a folder, says about a comparison; none where there was no baseline.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn read_comparison(stage: &Path) -> Result<DiffResult> {
    let compared: RunComparison = files::read_json(&stage.join(COMPARED), "baseline")?;
    Ok(DiffResult { compared, changes: read_rows::<ChangeRow>(stage)? })
}

/// A comparison as gates ask it.
pub(crate) fn as_baseline(comparison: &DiffResult) -> GateBaseline<'_> {
    let broken = comparison.compared.differs.iter().filter(|change| !change.breaks.is_empty());
    let differs: Vec<&str> = broken.map(|change| change.path.as_str()).collect();
    GateBaseline {
        changes: &comparison.changes,
        rounded: &comparison.compared.rounded,
        differing_definitions: differs.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{OUTCOMES_FILE, check_other, kept_outcomes};
    use crate::tests::Says;

    #[test]
    fn a_folder_is_another_whatever_its_name() {
        let root = tempfile::tempdir().unwrap();
        let [old, new, link] = ["old", "new", "link"].map(|name| root.path().join(name));
        std::fs::create_dir(&old).unwrap();
        // The first run makes its folder.
        check_other(&old, &new).unwrap();
        std::fs::create_dir(&new).unwrap();
        check_other(&old, &new).unwrap();
        symlink("old", &link).unwrap();
        for same in [&old, &link, &new.join("../old")] {
            let error = check_other(same, &old).unwrap_err();
            assert_eq!(error.exit().code(), 5);
            let words = error.to_string();
            words.says(&["it is the folder to be judged"]);
            assert!(check_other(&old, same).is_err());
        }
    }

    #[test]
    fn outcomes_that_cannot_be_read_are_not_absent() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(kept_outcomes(root.path()), None);
        let file = root.path().join(OUTCOMES_FILE);
        // Also root cannot follow a link to itself.
        std::fs::create_dir(root.path().join("rows")).unwrap();
        assert_eq!(kept_outcomes(root.path()), None);
        symlink("outcomes.parquet", &file).unwrap();
        assert_eq!(kept_outcomes(root.path()), Some(file.clone()));
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "").unwrap();
        assert_eq!(kept_outcomes(root.path()), Some(file));
    }
}
