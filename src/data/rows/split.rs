//! Which rows train and which are audited: one byte per prepared row, written to `roles.parquet`,
//! or a note that all are audited.
//!
//! Choice: strata of label and group, order by hash, one counter through all strata. So the split
//! does not change when rows with ids come in another order, and every stratum is split evenly to
//! within a row. Strata are ordered by (label, group): a missing label before 0 before 1, no group
//! before the declared groups in their order. Inside a stratum rows are ordered by ascending
//! `h(seed, row_key, 0)`, then by position. With the counter `c`: fold = `c mod k`; a row is
//! audited iff `floor((c + 1) share) > floor(c share)`.
//!
//! Ranks are exact with bounded memory: a first pass counts each stratum by range of hashes, then
//! each further pass holds and sorts one run of ranges: at most about half a million rows, or one
//! range, at 16 bytes a row.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema, UInt8Type};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::MISSING_GROUP;
use crate::data::rows::{PreparedBatch, RowsReader};
use crate::error::{Error, FOLDER_CHANGED_HINT, Fault, Result};
use crate::exec::accumulator::PieceLoop;
use crate::exec::files;
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::num::hash::FastMap;
use crate::num::seed::h;
use crate::param::Fraction;
use crate::table::file::{FileOwner, GroupWriter, ParquetFile};

/// The role of a row that trains.
pub(crate) const TRAIN: u8 = 254;

/// The role of a row that neither trains nor is audited.
pub(crate) const NEITHER: u8 = 255;

/// Number of rows that a pass holds.
const ROWS_AT_ONCE: u64 = 1 << 19;

/// Number of ranges of hashes, by their upper bits.
const RANGES: usize = 4096;

/// Shares of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitShares {
    /// Share that trains.
    pub train: Fraction,
    /// Share that is audited.
    pub audit: Fraction,
}

/// Within which strata rows are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stratification {
    /// Label.
    Label,
    /// Label times the first sensitive attribute.
    LabelAndGroup,
    /// One stratum.
    None,
}

/// How the rows are split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SplitMethod {
    /// Every row is audited, none trains.
    All,
    /// A column of the source decided while the rows were prepared.
    Column,
    /// This share is audited, the rest trains.
    Share(Fraction, Stratification),
    /// Each of this many folds is audited once, by models fitted on the others.
    Folds(u64, Stratification),
}

/// The role of each row of a range.
///
/// The fold in which it is audited (0 without folds), [`TRAIN`] or [`NEITHER`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRoles(pub Vec<u8>);

/// The fold in which a row with this role is audited.
#[inline]
pub(crate) fn audited(role: u8) -> Option<u8> {
    (role < TRAIN).then_some(role)
}

/// Whether a row with this role trains the models of a fold; without folds there is only fold 0.
pub(crate) fn trains(role: u8, fold: u8, by_folds: bool) -> bool {
    if by_folds { audited(role).is_some_and(|own| own != fold) } else { role == TRAIN }
}

impl RowRoles {
    /// The fold in which the row at this position is audited; `None` if it is not audited.
    #[inline]
    pub fn audited(&self, i: usize) -> Option<u8> {
        self.0.get(i).copied().and_then(audited)
    }

    /// Whether the row at this position trains the models of a fold.
    ///
    /// Without folds there is only fold 0.
    pub fn trains(&self, i: usize, fold: u8) -> bool {
        self.0.get(i).is_some_and(|&role| trains(role, fold, role < TRAIN))
    }

    /// Writes `roles.parquet` with row groups like those of the rows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path, rows: &RowsReader) -> Result<()> {
        let schema = Arc::new(Schema::new(vec![Field::new("role", DataType::UInt8, false)]));
        let (encoder, mut writer) = GroupWriter::create(path, &schema, &[])?;
        let mut rest = self.0.as_slice();
        for group in 0..rows.n_groups() {
            let (now, later) = rest.split_at(rows.file().group_rows(group).min(rest.len()));
            rest = later;
            let batch = RecordBatch::try_new(
                Arc::clone(&schema),
                vec![Arc::new(UInt8Array::from(now.to_vec()))],
            );
            let batch = batch.map_err(|e| Error::operator("write", path, e, None))?;
            writer.append(encoder.encode(&batch)?)?;
        }
        writer.finish()
    }
}

/// Where the roles of rows stand.
#[derive(Debug, Clone)]
enum RolesSource {
    /// In `roles.parquet`.
    File(ParquetFile),
    /// Nowhere: every row is audited, which needs no file.
    All(AllAudited),
}

/// Rows that are all audited: what a reader must know of them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct AllAudited {
    /// Rows here: of a shard its own.
    rows: u64,
    /// Rows of each row group but the last.
    group_rows: usize,
    /// Rows in all shards before this one.
    before: u64,
    /// Rows in all.
    audited: u64,
}

impl AllAudited {
    /// The file next to which `roles.parquet` would be.
    fn file(roles: &Path) -> PathBuf {
        roles.with_extension("json")
    }

    fn n_groups(self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX).div_ceil(self.group_rows.max(1))
    }

    fn rows_of(self, group: usize) -> usize {
        let before = group.saturating_mul(self.group_rows) as u64;
        usize::try_from(self.rows.saturating_sub(before)).unwrap_or(usize::MAX).min(self.group_rows)
    }
}

/// Writes that every row is audited, in place of `roles.parquet`.
///
/// # Errors
/// There is no row; the disk refuses.
pub(crate) fn write_all_audited(path: &Path, rows: &RowsReader) -> Result<()> {
    if rows.layout().n_rows == 0 {
        return Err(no_audit_rows(0).into());
    }
    let file = rows.file();
    let all = AllAudited {
        rows: file.n_rows(),
        group_rows: if file.n_groups() == 0 { 0 } else { file.group_rows(0) },
        before: rows.kept_before(),
        audited: rows.layout().n_rows,
    };
    files::write_json(&AllAudited::file(path), &all)
}

/// The roles of rows, read a row group at a time.
#[derive(Debug, Clone)]
pub struct RolesReader {
    source: RolesSource,
    n_before: u64,
    n_audited: u64,
    n_trained: u64,
    n_folds: usize,
}

impl RolesReader {
    /// Opens the file and counts its roles.
    ///
    /// # Errors
    /// The file is absent or damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let everybody = AllAudited::file(path);
        if everybody.exists() {
            let text = files::read_text(&everybody)?;
            let all: AllAudited = serde_json::from_str(&text)
                .map_err(|e| Error::io("read", &everybody, &e.into()))?;
            return Ok(RolesReader {
                source: RolesSource::All(all),
                n_before: all.before,
                n_audited: all.audited,
                n_trained: 0,
                n_folds: 1,
            });
        }
        let mut reader = RolesReader {
            source: RolesSource::File(ParquetFile::open(path, FileOwner::Program)?),
            n_before: 0,
            n_audited: 0,
            n_trained: 0,
            n_folds: 1,
        };
        let mut by_folds = false;
        for group in 0..reader.n_groups() {
            for &role in &reader.read(group)?.0 {
                reader.n_audited += u64::from(role < TRAIN);
                reader.n_trained += u64::from(role == TRAIN);
                by_folds |= role > 0 && role < TRAIN;
                reader.n_folds = audited(role)
                    .map_or(reader.n_folds, |fold| reader.n_folds.max(usize::from(fold) + 1));
            }
        }
        if by_folds {
            reader.n_trained += reader.n_audited;
        }
        Ok(reader)
    }

    /// The roles of one row group of the prepared rows.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(&self, group: usize) -> Result<RowRoles> {
        match &self.source {
            RolesSource::File(file) => {
                let batch = file.read_group(group, Some(&["role"]))?;
                Ok(RowRoles(batch.column(0).as_primitive::<UInt8Type>().values().to_vec()))
            }
            RolesSource::All(all) => Ok(RowRoles(vec![0; all.rows_of(group)])),
        }
    }

    fn n_groups(&self) -> usize {
        match &self.source {
            RolesSource::File(file) => file.n_groups(),
            RolesSource::All(all) => all.n_groups(),
        }
    }

    /// The roles of all rows.
    ///
    /// # Errors
    /// A damaged file.
    pub fn all(&self) -> Result<RowRoles> {
        let mut all = Vec::new();
        for group in 0..self.n_groups() {
            all.extend(self.read(group)?.0);
        }
        Ok(RowRoles(all))
    }

    /// Number of audited rows in the shards before this one.
    pub(crate) fn n_before(&self) -> u64 {
        self.n_before
    }

    /// Number of audited rows; in a shard those of all shards.
    pub fn n_audited(&self) -> u64 {
        self.n_audited
    }

    /// Number of folds; 1 without folds.
    pub fn n_folds(&self) -> usize {
        self.n_folds
    }

    /// Number of training rows in some fold.
    pub fn n_trained(&self) -> u64 {
        self.n_trained
    }
}

/// The role of every prepared row.
///
/// # Errors
/// No row would be audited, or a fold would have no row; the rows cannot be read.
pub(crate) fn assign_roles(
    rows: &RowsReader,
    rule: SplitMethod,
    seed: u64,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<RowRoles> {
    let n = rows.layout().n_rows;
    let roles = match rule {
        SplitMethod::All => RowRoles(vec![0; usize::try_from(n).unwrap_or(0)]),
        SplitMethod::Column => {
            let roles = from_column(rows, workers, watch)?;
            check_persons(rows, &roles, workers, watch)?;
            roles
        }
        SplitMethod::Share(audit, by) => {
            let share = audit.get();
            // Counts of rows are far below 2^53, so they are exact as floats.
            let whole = |c: u64| (c as f64 * share).floor();
            roles_by_rank(rows, (by, None), seed, ROWS_AT_ONCE, workers, watch, |c| {
                if whole(c + 1) > whole(c) { 0 } else { TRAIN }
            })?
        }
        SplitMethod::Folds(k, by) => {
            let person = rows.layout().person.as_ref();
            let (n, units, one) =
                person.map_or((n, "rows", "row"), |of| (of.persons, "persons", "person"));
            if k > u64::from(TRAIN) || k > n {
                let what = format!("{n} {units} cannot be split into {k} folds");
                return Err(Fault::new("too-many-folds", what)
                    .hint(format!("every fold needs a {one}, and there can be 254 folds at most"))
                    .into());
            }
            roles_by_rank(rows, (by, None), seed, ROWS_AT_ONCE, workers, watch, |c| {
                u8::try_from(c % k.max(1)).unwrap_or(NEITHER)
            })?
        }
    };
    if roles.0.iter().all(|&role| audited(role).is_none()) {
        return Err(no_audit_rows(n).into());
    }
    Ok(roles)
}

fn no_audit_rows(n: u64) -> Fault {
    let what = format!("the split of {n} rows leaves none to audit");
    Fault::new("no-audit-rows", what).hint("audit a larger share, or more rows")
}

/// Assigns folds among the training rows for a fold of other roles; all others get [`NEITHER`].
///
/// # Errors
/// Fewer rows train than there are folds; the rows cannot be read.
pub(crate) fn folds_within(
    rows: &RowsReader,
    of: (&RowRoles, u8),
    (k, by): (u64, Stratification),
    seed: u64,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<RowRoles> {
    let n = (0..of.0.0.len()).filter(|&i| of.0.trains(i, of.1)).count() as u64;
    let too_many = |n: u64, units: &str| {
        let what = format!("{n} training {units} cannot be split into {k} folds");
        Err(Fault::new("too-many-folds", what).hint("train on more rows").into())
    };
    if k > n {
        return too_many(n, "rows");
    }
    let roles = roles_by_rank(rows, (by, Some(of)), seed, ROWS_AT_ONCE, workers, watch, |c| {
        u8::try_from(c % k.max(1)).unwrap_or(NEITHER)
    })?;
    // Of fewer persons than folds the last folds have none.
    let last = roles.0.iter().filter_map(|&role| audited(role)).max();
    let filled = last.map_or(0, |last| u64::from(last) + 1);
    if filled < k { too_many(filled, "persons") } else { Ok(roles) }
}

/// Fails where a column puts rows of one person on both sides.
fn check_persons(
    rows: &RowsReader,
    roles: &RowRoles,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<()> {
    let Some(person) = &rows.layout().person else { return Ok(()) };
    let (mut sides, mut both): (FastMap<u64, u8>, _) = (FastMap::default(), 0_u64);
    let read = |group: usize| {
        let keys = rows.read_persons(group)?;
        Ok((keys.len() as u64, keys))
    };
    PieceLoop { workers, watch, n: rows.n_groups() }.in_order(read, |group, keys| {
        let first = rows.first_row(group);
        for (key, &role) in keys.into_iter().zip(roles.0.iter().skip(first)) {
            if role != NEITHER {
                both += u64::from(*sides.entry(key).or_insert(role) != role);
            }
        }
        Ok(())
    })?;
    if both == 0 {
        return Ok(());
    }
    let what = format!(
        "the column that splits the rows puts {both} rows on the other side than the first row of \
         their person"
    );
    let hint = "give all rows of a person the same side, or split by `share` or `folds`, which \
                keep persons together";
    Err(Fault::new("person-on-both-sides", what).in_column(&person.column).hint(hint).into())
}

fn from_column(rows: &RowsReader, workers: &WorkerPool, watch: StageWatch<'_>) -> Result<RowRoles> {
    let mut roles = Vec::new();
    let read = |group: usize| {
        let found = rows.read_roles(group)?.ok_or_else(|| {
            Error::operator(
                "read",
                rows.file().path(),
                "the rows were prepared without a split column",
                FOLDER_CHANGED_HINT,
            )
        })?;
        Ok((found.len() as u64, found))
    };
    PieceLoop { workers, watch, n: rows.n_groups() }.in_order(read, |_, found| {
        roles.extend(found);
        Ok(())
    })?;
    Ok(RowRoles(roles))
}

/// (label, group), both shifted by one so that missing is 0 and comes first.
type SplitStratum = (u8, u16);

fn strata(batch: &PreparedBatch, by: Stratification) -> impl Iterator<Item = SplitStratum> {
    let label = move |i: usize| match (by, batch.label.get(i)) {
        (Stratification::None, _) | (_, None | Some(None)) => 0,
        (_, Some(Some(positive))) => 1 + u8::from(*positive),
    };
    // The missing group is the highest number; adding one makes it 0.
    const { assert!(MISSING_GROUP == u16::MAX) };
    let group = move |i: usize| match (by, batch.groups.first()) {
        (Stratification::LabelAndGroup, Some(groups)) => groups[i].wrapping_add(1),
        _ => 0,
    };
    (0..batch.rows.n).map(move |i| (label(i), group(i)))
}

/// Gives every row `role(c)`, where `c` is its rank over all strata; where a person may have
/// several rows, that of the person.
///
/// With roles and a fold only the training rows for that fold.
pub(crate) fn roles_by_rank(
    rows: &RowsReader,
    (by, among): (Stratification, Option<(&RowRoles, u8)>),
    seed: u64,
    at_once: u64,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
    role: impl Fn(u64) -> u8,
) -> Result<RowRoles> {
    if rows.layout().person.is_some() {
        return roles_by_person(rows, (by, among), seed, workers, watch, role);
    }
    let range = |hash: u64| (hash >> 52) as usize;
    // Stratum, hash and position of every row of a row group; computed in parallel.
    let read = |group: usize| -> Result<Vec<(SplitStratum, u64, usize)>> {
        let batch = rows.read_keys(group)?;
        let first = rows.first_row(group);
        let ranks =
            |(i, _): &(usize, _)| among.is_none_or(|(roles, fold)| roles.trains(first + i, fold));
        let keys = strata(&batch, by).zip(&batch.row_key).enumerate().filter(ranks);
        Ok(keys.map(|(i, (stratum, &key))| (stratum, h(seed, key, 0), first + i)).collect())
    };

    let mut counts: BTreeMap<SplitStratum, Vec<u64>> = BTreeMap::new();
    let row_groups = PieceLoop { workers, watch, n: rows.n_groups() };
    let counted = |group| {
        let keys = read(group)?;
        Ok((keys.len() as u64, keys))
    };
    row_groups.in_order(counted, |_, keys| {
        for (stratum, hash, _) in keys {
            counts.entry(stratum).or_insert_with(|| vec![0; RANGES])[range(hash)] += 1;
        }
        Ok(())
    })?;
    // Rank of the first row of each stratum and range.
    let mut next = 0;
    let mut starts = counts.clone();
    for slot in starts.values_mut().flatten() {
        next += std::mem::replace(slot, next);
    }
    let sizes: Vec<u64> = (0..RANGES).map(|r| counts.values().map(|c| c[r]).sum()).collect();

    let mut roles = vec![NEITHER; usize::try_from(rows.layout().n_rows).unwrap_or(0)];
    for (lo, hi) in range_runs(&sizes, at_once) {
        let mut held: BTreeMap<SplitStratum, Vec<(u64, usize)>> = BTreeMap::new();
        let in_range = |group: usize| {
            let keys = read(group)?;
            let here = keys.into_iter().filter(|(_, hash, _)| (lo..hi).contains(&range(*hash)));
            Ok((0, here.collect::<Vec<_>>()))
        };
        row_groups.in_order(in_range, |_, wanted| {
            for (stratum, hash, position) in wanted {
                held.entry(stratum).or_default().push((hash, position));
            }
            Ok(())
        })?;
        for (stratum, mut rows) in held {
            rows.sort_unstable();
            let first = starts[&stratum][lo];
            for ((_, position), rank) in rows.into_iter().zip(first..) {
                roles[position] = role(rank);
            }
        }
    }
    Ok(RowRoles(roles))
}

/// The same for all rows of each person, whose first row gives the stratum. Memory: some 60 bytes a
/// person and 4 a row.
fn roles_by_person(
    rows: &RowsReader,
    (by, among): (Stratification, Option<(&RowRoles, u8)>),
    seed: u64,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
    role: impl Fn(u64) -> u8,
) -> Result<RowRoles> {
    const NOBODY: u32 = u32::MAX;
    let mut numbers: FastMap<u64, u32> = FastMap::default();
    let mut persons: Vec<(SplitStratum, u64, u32)> = Vec::new();
    let mut whose = vec![NOBODY; usize::try_from(rows.layout().n_rows).unwrap_or(0)];
    let read = |group: usize| {
        let batch = rows.read_keys(group)?;
        let strata: Vec<SplitStratum> = strata(&batch, by).collect();
        Ok((batch.row.len() as u64, (strata, batch.person)))
    };
    let row_groups = PieceLoop { workers, watch, n: rows.n_groups() };
    row_groups.in_order(read, |group, (strata, keys)| {
        let first = rows.first_row(group);
        for (i, (stratum, key)) in strata.into_iter().zip(keys).enumerate() {
            if among.is_some_and(|(roles, fold)| !roles.trains(first + i, fold)) {
                continue;
            }
            let next = persons.len() as u32;
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                persons.push((stratum, h(seed, key, 0), number));
            }
            whose[first + i] = number;
        }
        Ok(())
    })?;
    persons.sort_unstable();
    let mut roles = vec![NEITHER; persons.len()];
    for (rank, (_, _, number)) in (0..).zip(&persons) {
        roles[*number as usize] = role(rank);
    }
    let of_row = |number: u32| roles.get(number as usize).copied().unwrap_or(NEITHER);
    Ok(RowRoles(whose.into_iter().map(of_row).collect()))
}

/// Runs of ranges that hold at most `at_once` rows, or a single range.
fn range_runs(sizes: &[u64], at_once: u64) -> Vec<(usize, usize)> {
    let (mut runs, mut lo, mut held) = (Vec::new(), 0, 0);
    for (i, &size) in sizes.iter().enumerate() {
        if held > 0 && held + size > at_once {
            runs.push((lo, i));
            (lo, held) = (i, 0);
        }
        held += size;
    }
    runs.push((lo, sizes.len()));
    runs
}
