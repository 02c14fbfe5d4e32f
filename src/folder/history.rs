//! The verdicts of earlier runs of a job, read from their output folders.

use std::path::Path;

use crate::error::{Error, Result};
use crate::exec::hash::sha256;
use crate::folder::manifest::EarlierRun;
use crate::folder::read::{check_measured, verified};
use crate::table::file::read_rows;
use crate::table::{GateRow, HistoryRow, SharedText, TableRow, whole};

/// The earlier runs of a job and the rows of their gates, in the order of the folders.
///
/// # Errors
/// A folder is none of cfaudit's, is damaged, belongs to another job, holds no numbers because its
/// run waits for scores, or is named twice.
pub(crate) fn read(job: &str, folders: &[impl AsRef<Path>]) -> Result<RunHistory> {
    let mut history = RunHistory::default();
    let table = format!("tables/{}", GateRow::TABLE.file());
    for (i, folder) in folders.iter().map(AsRef::as_ref).enumerate() {
        let (manifest, bytes) = verified(folder, |name| name == table)?;
        check_measured(folder, &manifest)?;
        let refuse = |cause: String, hint: &str| {
            Err(Error::operator("take into the history", folder, cause, hint))
        };
        if manifest.job != job {
            let cause = format!("it is of the job `{}`, not of `{job}`", manifest.job);
            return refuse(cause, "name output folders of earlier runs of the same job");
        }
        let earlier = EarlierRun {
            run: manifest.run.clone(),
            version: manifest.words.version.clone(),
            fingerprint: sha256(&bytes),
        };
        if history.runs.contains(&earlier) {
            let cause = "a folder with the same content is named before".to_owned();
            return refuse(cause, "name each folder once, the oldest first");
        }
        for row in read_rows::<GateRow>(&folder.join("tables"))? {
            history.rows.push(HistoryRow {
                position: whole(i as u64 + 1),
                gate: row.gate,
                sensitive: row.sensitive,
                from_group: row.from_group,
                to_group: row.to_group,
                scope: row.scope,
                run: SharedText::from(earlier.run.as_str()),
                model_version: SharedText::from(earlier.version.as_deref().unwrap_or_default()),
                metric: row.metric,
                arm: row.arm,
                model: row.model,
                counterfactual: row.counterfactual,
                class: row.class,
                verdict: row.verdict,
                value: row.value,
                lo: row.lo,
                hi: row.hi,
                limit: row.limit,
                rule: row.rule,
            });
        }
        history.runs.push(earlier);
    }
    Ok(history)
}

/// What the folders given to `--history` hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunHistory {
    /// The runs, in the order of their folders.
    pub(crate) runs: Vec<EarlierRun>,
    /// The rows of their gates.
    pub(crate) rows: Vec<HistoryRow>,
}
