//! Whether the disks have room for what a run writes: asked before it starts to work.
//!
//! The estimate is of the large files only: prepared rows, counterfactuals, scores and outcomes,
//! each as so many bytes for a row. What is in the cache counts for nothing. A run is refused
//! where a disk has less than half of that; with less than all of it there is a warning. `plan`
//! prints it.
//!
//! The bytes were measured in the cache of runs with naive, greedy, plausible and transport sets:
//! Adult (4 whole numbers, an ordinal number, 6 columns of levels), once with its 48,842 rows and
//! once repeated to a million, and a million generated rows (3 real numbers, a column of levels).
//! Prepared rows took 7.8, 7.7 and 25.0 bytes, counterfactuals of the sets that move features 8.8
//! to 9.1, 8.7 to 9.0 and 25.7 to 25.9, scores 8.0, a line of `outcomes` 17.6, rows kept for the
//! user 7.5 to 28 on Adult. A real number takes 8 bytes, because hardly any value repeats; a whole
//! one or a level 1 at most. The job does not say which numbers are whole, so each counts as real:
//! rows of whole numbers take a quarter of the estimate.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exec::files;
use crate::exec::result_store::StoreView;
use crate::exec::{PlannedStage, ResultState};
use crate::job::check::CheckedJob;
use crate::param::Name;
use crate::stage::advice::IssueNote;
use crate::stage::applied_set::AppliedSet;
use crate::stage::input::JobInputs;
use crate::stage::plan::StagePlan;
use crate::stage::settings::{RunSettings, default_folder};
use crate::stage::train::repeat::n_repeats;
use crate::table::file::{FileOwner, ParquetFile};
use crate::unit::UnitKind;

/// The code of the warning.
pub(crate) const LITTLE_DISK: &str = "little-disk";

/// Of a prepared row or a counterfactual: keys, label and groups, each number, each level.
const ROW: u64 = 2;
const NUMBER: u64 = 8;
const LEVEL: u64 = 1;

/// Of a score.
const SCORE: u64 = 8;

/// Of a line of `outcomes`.
const OUTCOME: u64 = 18;

/// Of a counterfactual that is kept for the user, beyond its columns: the ids and groups.
const KEPT: u64 = 8;

/// Files whose footers are read for the number of rows; of more the first stand for all.
const FILES_READ: usize = 100;

/// Bytes of a text file that tell how long its lines are.
const START: u64 = 64 << 10;

/// Bytes that stages write, by the id of the stage.
type StageBytes = Vec<(String, u64)>;

/// What the stages that would run are likely to write; serializes as `cfaudit plan --json` prints
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct DiskForecast {
    /// Bytes in the cache.
    pub(crate) cache_bytes: u64,
    /// Bytes of rows in the output folder.
    pub(crate) output_bytes: u64,
}

impl DiskForecast {
    /// In words; empty where next to nothing is written.
    pub(crate) fn words(self) -> String {
        if self.cache_bytes.max(self.output_bytes) < 1_000_000 {
            return String::new();
        }
        format!(
            "disk: the cache may take about {} more, rows in the output folder {}; an estimate\n",
            gigabytes(self.cache_bytes),
            gigabytes(self.output_bytes)
        )
    }
}

/// What a run needs on one disk, and what that has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskNeed {
    /// What is to be written there: `the cache`, `the output folder`, or both.
    what: &'static str,
    path: String,
    needed: u64,
    free: u64,
}

impl DiskNeed {
    /// The folder.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether there is less than half of the room.
    fn is_hopeless(&self) -> bool {
        self.needed / 2 > self.free
    }

    /// What is short, in words.
    pub(crate) fn words(&self) -> String {
        format!(
            "{} may take about {}, and the disk of `{}` has {} free",
            self.what,
            gigabytes(self.needed),
            self.path,
            gigabytes(self.free)
        )
    }
}

fn gigabytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        1_000_000_000..1_000_000_000_000 => format!("{:.1} GB", bytes as f64 / 1e9),
        _ => format!("{:.1} TB", bytes as f64 / 1e12),
    }
}

/// The disks that lack room for so many bytes of the cache and of the output folder. A disk is a
/// number and its free bytes.
fn lacking(
    cache: (&str, u64, Option<(u64, u64)>),
    out: (&str, u64, Option<(u64, u64)>),
) -> Vec<DiskNeed> {
    let need =
        |what, path: &str, needed, free| DiskNeed { what, path: path.to_owned(), needed, free };
    let mut found = Vec::new();
    match (cache.2, out.2) {
        (Some((one, free)), Some((other, _))) if one == other => {
            found.push(need(
                "cache and output folder",
                cache.0,
                cache.1.saturating_add(out.1),
                free,
            ));
        }
        _ => {
            for (what, (path, needed, disk)) in [("the cache", cache), ("the output folder", out)] {
                found.extend(disk.map(|(_, free)| need(what, path, needed, free)));
            }
        }
    }
    found.retain(|of| of.needed > of.free);
    found
}

/// The number of the disk that a file or folder is on, or would be on, and what is free there; none
/// where the system does not say.
fn disk_of(path: &Path) -> Option<(u64, u64)> {
    let whole = std::path::absolute(path).ok()?;
    let there = whole.ancestors().find(|folder| folder.exists())?;
    let metadata = files::metadata_if_there(there).ok()??;
    let system = rustix::fs::statvfs(there).ok()?;
    Some((metadata.dev(), system.f_bavail.saturating_mul(system.f_frsize)))
}

/// The rows of the source, about; none where nothing says so.
fn source_rows(checked: &CheckedJob, input: &JobInputs) -> Option<u64> {
    if let Some(block) = &checked.job.data.rows.synthetic {
        return Some(block.rows.get());
    }
    let data = input.files.iter().filter(|file| file.what == "data");
    let bytes: u64 = data.clone().map(|file| file.bytes).sum();
    if input.row_files.is_empty() {
        checked.job.data.rows.csv.as_ref()?;
        let start = files::read_start(Path::new(&data.clone().next()?.path), START).ok()?;
        let lines = start.iter().filter(|byte| **byte == b'\n').count().max(1) as u64;
        return Some(bytes.saturating_mul(lines) / (start.len() as u64).max(1));
    }
    let read = &input.row_files[..input.row_files.len().min(FILES_READ)];
    let mut rows = 0_u64;
    for file in read {
        rows = rows.saturating_add(ParquetFile::open(file, FileOwner::User).ok()?.n_rows());
    }
    Some(rows.saturating_mul(input.row_files.len() as u64) / read.len() as u64)
}

impl StagePlan<'_> {
    /// The ids of a stage by the audited model and by each of its further trainings.
    fn again(&self, model: &Name, id: String) -> impl Iterator<Item = String> + use<> {
        let repeats = self.job.models.get(model).map_or(0, n_repeats);
        let of_repeats: Vec<String> = (0..repeats).map(|r| format!("{id}/repeat={r}")).collect();
        std::iter::once(id).chain(of_repeats)
    }

    /// What the large stages write into the cache for so many rows, by the id of the stage, and
    /// what of it comes into the output folder.
    fn bytes_of_stages(&self, rows: u64) -> (StageBytes, u64) {
        let data = &self.job.data;
        let columns = (data.listed_features().count() + data.sensitive.len()) as u64;
        let numbers = data.features.continuous.len() as u64;
        let row = ROW + numbers * NUMBER + columns.saturating_sub(numbers) * LEVEL;
        let audited = data.split.as_ref().and_then(|split| split.share.as_ref());
        let audited = audited.map_or(rows, |share| (share.audit.get() * rows as f64) as u64);
        let each = |n: u64, bytes: u64| n.saturating_mul(bytes);
        let mut bytes = Vec::new();
        bytes.push((UnitKind::Prepare.word().to_owned(), each(rows, row)));
        if data.rows.parquet.is_none() {
            bytes.push((UnitKind::Source.word().to_owned(), each(rows, row)));
        }
        for name in self.job.models.keys() {
            let id = format!("{}/model={name}", UnitKind::Score.word());
            bytes.extend(self.again(name, id).map(|id| (id, each(audited, SCORE))));
        }
        let (mut out, mut outcomes) = (0_u64, 0_u64);
        for applied in self.applied_sets() {
            let made = each(audited, self.made_of_each(&applied));
            let moves = !applied.block.sets_attribute_only();
            let generated = if moves { row } else { 0 };
            let fields = format!("set={}/attribute={}", applied.set, applied.attribute);
            bytes.push((format!("{}/{fields}", UnitKind::Generate.word()), each(made, generated)));
            let asks = |name: &&Name| applied.block.asks(name);
            for name in self.job.models.keys().filter(asks) {
                let id = format!("{}/model={name}/{fields}", UnitKind::Score.word());
                bytes.extend(self.again(name, id).map(|id| (id, each(made, SCORE))));
                if self.keeps_outcomes() {
                    outcomes = outcomes.saturating_add(each(made, OUTCOME));
                }
            }
            if self.job.run.keeps_counterfactuals() {
                let kept = each(made, KEPT + row);
                bytes.push((format!("{}/set={}", UnitKind::Kept.word(), applied.set), kept));
                out = out.saturating_add(kept);
            }
        }
        bytes.push((UnitKind::Outcomes.word().to_owned(), outcomes));
        (bytes, out.saturating_add(outcomes))
    }

    /// What stages that would run, by their ids, are likely to write; none where nothing says how
    /// many rows there are.
    pub(crate) fn disk_forecast(&self, stale: &[String]) -> Option<DiskForecast> {
        if stale.is_empty() {
            return Some(DiskForecast { cache_bytes: 0, output_bytes: 0 });
        }
        let (bytes, output_bytes) = self.bytes_of_stages(source_rows(self.checked, self.input)?);
        let new = bytes.iter().filter(|(id, _)| stale.contains(id));
        let cache_bytes = new.fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        Some(DiskForecast { cache_bytes, output_bytes })
    }

    /// Counterfactuals of a row.
    fn made_of_each(&self, applied: &AppliedSet<'_>) -> u64 {
        let groups = self.job.data.sensitive.iter().find(|of| of.0.as_str() == applied.attribute);
        let groups = groups.map_or(2, |(name, _)| self.job.data.groups_of(name).len());
        let several = applied.block.knobs().map_or(1, |knobs| knobs.max_counterfactuals());
        groups.saturating_sub(1).saturating_mul(several) as u64
    }

    /// The disks that may lack room for what these stages would write; `rows` are those of the
    /// source, where they are known.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub(crate) fn short_disks(
        &self,
        stages: &[PlannedStage<'_>],
        entries: &StoreView,
        rows: Option<u64>,
    ) -> Result<Vec<DiskNeed>> {
        let stale = || -> Result<Vec<String>> {
            let planned = crate::exec::plan(stages, entries, &self.exec_settings())?;
            let stale = planned.into_iter().filter(|of| matches!(of.state, ResultState::Stale(_)));
            Ok(stale.map(|of| of.id).collect())
        };
        let rows = match rows {
            // A run that finds everything done reads no row file.
            None if stale()?.is_empty() => None,
            None => source_rows(self.checked, self.input),
            known => known,
        };
        let Some(rows) = rows else { return Ok(Vec::new()) };
        let (bytes, to_publish) = self.bytes_of_stages(rows);
        let RunSettings { out, cache, .. } = self.settings;
        let out = out.clone().unwrap_or_else(|| default_folder(self.job));
        let cache = cache.clone().unwrap_or_else(|| out.clone());
        let (cache_disk, out_disk) = (disk_of(&cache), disk_of(&out));
        let short = |needed: u64| {
            let [cache, out] = [&cache, &out].map(|path| path.to_string_lossy().into_owned());
            lacking((&cache, needed, cache_disk), (&out, to_publish, out_disk))
        };
        let all = bytes.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        // What is cached is only looked for where it matters.
        if short(all).is_empty() {
            return Ok(Vec::new());
        }
        let stale = stale()?;
        let new = bytes.iter().filter(|(id, _)| stale.contains(id));
        Ok(short(new.fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes))))
    }
}

impl StagePlan<'_> {
    /// The disks that may lack room for what a run over so many rows would write, as `check` tells
    /// of them.
    pub(crate) fn disk_warnings(&self, rows: u64) -> Result<Vec<IssueNote>> {
        let cache = self.settings.cache.as_deref();
        let entries = cache.map_or_else(StoreView::empty, StoreView::below);
        let short = self.short_disks(&self.stages()?.stages, &entries, Some(rows))?;
        let issue = |need: &DiskNeed| IssueNote::warning(LITTLE_DISK, &need.path, 0, need.words());
        Ok(short.iter().map(issue).collect())
    }
}

/// Refuses to begin where a disk has less than half of the room.
///
/// # Errors
/// It has.
pub(crate) fn refuse(short: &[DiskNeed]) -> Result<()> {
    let Some(need) = short.iter().find(|need| need.is_hopeless()) else { return Ok(()) };
    let hint = "free some space, put output and cache on another disk with `--out` and `--cache`, \
                or let `cfaudit clean` and `--cache-limit` bound the cache";
    Err(Error::operator("begin to write to", &need.path, need.words(), hint))
}

#[cfg(test)]
mod tests {
    use super::{lacking, refuse};

    #[test]
    fn what_shares_a_disk_is_added_up() {
        let apart = lacking(("c", 60, Some((1, 100))), ("o", 50, Some((2, 100))));
        assert!(apart.is_empty(), "{apart:?}");
        let together = lacking(("c", 60, Some((1, 100))), ("o", 50, Some((1, 100))));
        assert_eq!((together.len(), together[0].needed, together[0].free), (1, 110, 100));
        assert!(refuse(&together).is_ok(), "an estimate may be wrong");
        let short = lacking(("c", 6_000_000_000, Some((1, 1_000_000))), ("o", 50, None));
        assert!(
            short[0]
                .words()
                .contains("the cache may take about 6.0 GB, and the disk of `c` has 1 MB free")
        );
        let refused = refuse(&short).unwrap_err().to_string();
        assert!(refused.contains("--cache-limit"), "{refused}");
        assert!(lacking(("c", u64::MAX, None), ("o", 5, None)).is_empty());
    }
}
