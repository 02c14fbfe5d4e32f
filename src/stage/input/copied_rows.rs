//! Rows of a stream: those that a program writes (`data.rows: {command}`) are copied into the
//! cache, those that an engine passes on (`data.rows: {stream}`) into a file of the worker that
//! gets them.
//!
//! Only the program knows whether its rows changed, so it is asked once in each `check`, `data` and
//! run; the hash of the copy decides which results are stale. `plan` starts nothing and looks at
//! the last copy. The copy is at `rows/<hash of the command>/rows.parquet` of the cache, all
//! columns of the program, and a later one takes its place.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::Observer;
use crate::exec::hash::hash_parts;
use crate::exec::result_store::{COPIED_ROWS, ResultStore, StoreView};
use crate::exec::{StageContext, files};
use crate::job::check::CheckedJob;
use crate::stage::job_place::job_error;
use crate::stage::memory;
use crate::stage::program::RowProgram;
use crate::stage::settings::RunSettings;

/// Rows of a stream, copied into a file.
#[derive(Debug, Clone)]
pub(crate) struct CopiedRows {
    /// The file.
    pub(crate) path: PathBuf,
    /// Number of its first row among the rows of the job.
    pub(crate) first_row: u64,
}

/// How messages and the manifest call the rows.
pub(crate) const ASKED_ROWS: &str = "data.rows.command";

/// The name of a copy.
const COPY: &str = "rows.parquet";

/// The program that writes the rows of a job, where one does.
pub(crate) fn row_program<'a>(
    checked: &'a CheckedJob,
    settings: &RunSettings,
) -> Option<RowProgram<'a>> {
    let block = checked.job.data.rows.command.as_ref()?;
    Some(RowProgram {
        name: "the command of the rows".to_owned(),
        at: ASKED_ROWS.to_owned(),
        block,
        checked,
        threads: settings.threads,
        memory: memory::allowed(settings),
    })
}

/// The folder of the copy below the cache.
fn folder(program: &RowProgram<'_>) -> Result<String> {
    let inputs = program.inputs(None)?;
    let parts = inputs.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]);
    Ok(format!("{COPIED_ROWS}/{}", hash_parts(parts)))
}

/// The copy that the last run left; none where the rows come from elsewhere, or the program was not
/// asked yet.
pub(crate) fn last_copy(
    checked: &CheckedJob,
    settings: &RunSettings,
    cache: &StoreView,
) -> Option<CopiedRows> {
    let program = row_program(checked, settings)?;
    let path = cache.file(&format!("{}/{COPY}", folder(&program).ok()?))?;
    Some(CopiedRows { path, first_row: 0 })
}

/// Asks the program for the rows and copies them; none where the rows come from elsewhere.
///
/// # Errors
/// The program fails or writes something else, the disk refuses, or the run is to stop.
pub(crate) fn copy_rows(
    checked: &CheckedJob,
    settings: &RunSettings,
    cache: &ResultStore,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<Option<CopiedRows>> {
    let Some(program) = row_program(checked, settings) else { return Ok(None) };
    let new = cache.scratch();
    let ctx = StageContext::outside("source", observer, cancel);
    program.ask(&ctx, &new, |_| Ok(()))?;
    let folder = cache.private_folder(&folder(&program)?)?;
    let copy = folder.join(COPY);
    // Another run may be reading the copy: where the rows are the same, it stays.
    if files::metadata_if_there(&copy)?.is_some()
        && files::hash_file(&copy)? == files::hash_file(&new)?
    {
        files::remove_file(&new)?;
    } else {
        files::rename(&new, &copy)?;
    }
    Ok(Some(CopiedRows { path: copy, first_row: 0 }))
}

/// The problem of a job whose rows come from a stream that no one passes on.
pub(super) fn no_stream(checked: &CheckedJob) -> Error {
    let what = "the rows are a stream that an engine passes to the workers of a plan, and there is \
                none here";
    let hint = "plan the job by `cfaudit plan JOB --stream PARTS --to PLAN`, and run it by \
                `cfaudit run JOB --from PLAN`; `cfaudit check JOB --no-data` looks at the job \
                alone";
    let told = (what.to_owned(), hint.to_owned());
    job_error(checked, "not-offered", "data.rows.stream".to_owned(), told)
}
