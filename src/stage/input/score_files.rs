//! The files of scores that a job names: which are there, which are awaited.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::data::source::found_files::{FoundFiles, find_files_once, is_half_written};
use crate::error::{Error, Result};
use crate::exec::object;
use crate::job::{Job, ScoresBlock};
use crate::param::{ColumnName, Word};

/// The file that says that a folder of scores has all of its parts: Spark and Hadoop write it last.
const WHOLE: &str = "_SUCCESS";

/// A file of scores that the job names and that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AwaitedFile {
    /// The model.
    pub model: String,
    /// The counterfactual set; none for the rows as they are.
    pub set: Option<String>,
    /// The path, placeholders filled.
    pub path: String,
    /// The column that is to hold the score, or those of the classes.
    pub columns: Vec<String>,
}

/// What a set is called in paths: a slash in its name becomes a dot.
pub(crate) fn file_name_of(set: &str) -> String {
    set.replace('/', ".")
}

/// The file with the scores of a set, or of the rows as they are, by its path with placeholders
/// filled; none where the job names none.
pub(crate) fn file_of(scores: &ScoresBlock, set: Option<&str>) -> Option<String> {
    let Some(set) = set else { return scores.factual.parquet.clone() };
    let file = scores.counterfactual.as_ref()?;
    Some(file.parquet.replace("{counterfactual}", &file_name_of(set)))
}

/// The column of the scores of a set, or of the rows as they are; or those of the classes.
pub(crate) fn columns_of<'s>(
    scores: &'s ScoresBlock,
    set: Option<&str>,
    classes: Option<&[Word]>,
) -> Vec<&'s ColumnName> {
    match (set, &scores.counterfactual) {
        (Some(_), Some(file)) => file.score_columns(classes),
        _ => scores.factual.score_columns(classes),
    }
}

/// What is found at the path of a file of scores.
#[derive(Debug)]
pub(super) enum ScoresPresence {
    /// Nothing, or a folder that lacks this file.
    Awaited(PathBuf),
    /// Something that may still be written: the sign of it, and what to do about it.
    Unfinished(PathBuf, String),
    /// A file, an object, or all parts of a folder or a prefix of a store.
    There(FoundFiles),
}

/// Looks at the path of a file of scores.
///
/// # Errors
/// The file system or the store does not tell; a folder without parts.
pub(super) fn look(file: &str) -> Result<ScoresPresence> {
    let path = Path::new(file);
    let itself = || ScoresPresence::There(FoundFiles::of(vec![path.to_path_buf()]));
    let parts = || -> Result<ScoresPresence> {
        let found = find_files_once(file, Some("parquet"))?;
        let Some(left) = found.writer() else { return Ok(ScoresPresence::There(found)) };
        let text = format!(
            "`{}` says that somebody is writing there, and the run waits for the scores; if the \
             writer was ended before it was done, remove it",
            left.display()
        );
        Ok(ScoresPresence::Unfinished(left.to_path_buf(), text))
    };
    if object::is_address(path) {
        // An object is there as a whole or not at all.
        if object::version(path)?.is_some() {
            return Ok(itself());
        }
        if object::version(&path.join(WHOLE))?.is_some() {
            return parts();
        }
        let has_parts = !object::list(path)?.is_empty();
        let missing = if has_parts { path.join(WHOLE) } else { path.to_path_buf() };
        return Ok(ScoresPresence::Awaited(missing));
    }
    if path.is_dir() {
        let whole = path.join(WHOLE);
        return if whole.exists() { parts() } else { Ok(ScoresPresence::Awaited(whole)) };
    }
    if !path.try_exists().map_err(|e| Error::io("read", path, &e))? {
        return Ok(ScoresPresence::Awaited(path.to_path_buf()));
    }
    if !is_half_written(path)? {
        return Ok(itself());
    }
    let text = format!(
        "`{file}` exists but cannot be read as Parquet: it may be incomplete, and the run waits for \
         it until it is 15 minutes old; write such a file elsewhere and rename it when it is \
         complete"
    );
    Ok(ScoresPresence::Unfinished(path.to_path_buf(), text))
}

/// Every file of scores that the job names, in the order of models and sets.
pub(super) fn score_files(job: &Job) -> Vec<AwaitedFile> {
    let (sets, classes, mut files) = (job.sets(), job.data.label.classes(), Vec::new());
    for (name, model) in &job.models {
        let Some(scores) = model.given_scores() else { continue };
        let asked = sets.iter().filter(|(_, set)| set.asks(name)).map(|(set, _)| set.as_str());
        for set in [None].into_iter().chain(asked.map(Some)) {
            let Some(path) = file_of(&scores, set) else { continue };
            let columns = columns_of(&scores, set, classes).into_iter().map(ToString::to_string);
            files.push(AwaitedFile {
                model: name.to_string(),
                set: set.map(str::to_owned),
                path,
                columns: columns.collect(),
            });
        }
    }
    files
}
