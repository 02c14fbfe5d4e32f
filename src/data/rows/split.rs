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
//! Ranks are exact: one pass puts the rows into 256 buckets by their hashes, and each bucket is
//! sorted. Beyond half a million rows the buckets are in a temporary file of 16 bytes a row; memory
//! is that of the buckets in work, a byte a row, and a number for each stratum.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::UInt8Type;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::MISSING_GROUP;
use crate::data::rows::number_file::{NumberEncoder, NumberReader};
use crate::data::rows::role_counts::RoleCounts;
use crate::data::rows::{PreparedBatch, Projection, RowsReader, read_json};
use crate::error::{Error, Fault, Result};
use crate::exec::accumulator::PieceLoop;
use crate::exec::buckets::{BUCKETS, BucketedRecords, MOST_WAITING, RecordBuckets};
use crate::exec::files;
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::num::hash::FastMap;
use crate::num::seed::h;
use crate::param::Fraction;

/// The role of a row that trains.
pub(crate) const TRAIN: u8 = 254;

/// The role of a row that neither trains nor is audited.
pub(crate) const NEITHER: u8 = 255;

/// The temporary file of rows that are being ranked.
const RANKS: &str = "ranks.tmp";

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

/// How the share of the rows that is audited is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SplitDraw {
    /// By the rank of a row among the rows of its stratum: exactly the share of each stratum.
    #[default]
    Rank,
    /// By the hash of a row alone: the share up to chance. Other rows change nothing, so a row
    /// keeps its side when rows are added.
    Hash,
}

impl SplitDraw {
    pub(crate) fn is_rank(&self) -> bool {
        *self == SplitDraw::Rank
    }
}

/// A split that depends on all rows together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RankedSplit {
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

impl RowRoles {
    /// The fold in which the row at this position is audited; `None` if it is not audited.
    #[inline]
    pub fn audited(&self, i: usize) -> Option<u8> {
        self.0.get(i).copied().and_then(audited)
    }

    /// The position, group and fold of each audited row of a declared group; `groups` are those of
    /// all rows.
    #[inline]
    pub(crate) fn people(&self, groups: &[u16]) -> impl Iterator<Item = (usize, u16, u8)> {
        let mut rows = 0..groups.len();
        // Millions of rows: adapters of iterators are not always inlined, a loop is.
        std::iter::from_fn(move || {
            for i in rows.by_ref() {
                if groups[i] != MISSING_GROUP
                    && let Some(fold) = self.audited(i)
                {
                    return Some((i, groups[i], fold));
                }
            }
            None
        })
    }

    /// Whether the row at this position trains the models of a fold.
    ///
    /// Without folds there is only fold 0.
    pub fn trains(&self, i: usize, fold: u8) -> bool {
        let trains = |role| role == TRAIN || audited(role).is_some_and(|own| own != fold);
        self.0.get(i).is_some_and(|&role| trains(role))
    }

    /// Writes `roles.parquet` with row groups like those of the rows, and the note next to it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path, rows: &RowsReader) -> Result<()> {
        let (encoder, mut writer) = NumberEncoder::<UInt8Type>::create(path, "role")?;
        let mut rest = self.0.as_slice();
        for group in 0..rows.n_groups() {
            let (now, later) = rest.split_at(rows.file().group_rows(group).min(rest.len()));
            rest = later;
            writer.append(encoder.encode(now.to_vec())?)?;
        }
        writer.finish()?;
        let mut counts = RoleCounts::default();
        let mut n_folds = 1;
        for &role in &self.0 {
            counts.audited += u64::from(audited(role).is_some());
            counts.trained += u64::from(role == TRAIN);
            n_folds = audited(role).map_or(n_folds, |fold| n_folds.max(usize::from(fold) + 1));
        }
        if n_folds > 1 {
            counts.trained += counts.audited;
        }
        RolesNote { counts, n_folds }.write(path)
    }
}

/// What a reader must know about the roles before it reads any.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct RolesNote {
    /// Of all shards.
    counts: RoleCounts,
    n_folds: usize,
}

impl RolesNote {
    /// The file next to which `roles.parquet` is, if there is one.
    fn file(roles: &Path) -> PathBuf {
        roles.with_extension("json")
    }

    fn write(self, roles: &Path) -> Result<()> {
        files::write_json(&RolesNote::file(roles), &self)
    }
}

/// Writes that the roles need no file of their own: every row is audited, or the prepared rows hold
/// their roles.
///
/// # Errors
/// No row is audited; a column puts rows of a person on both sides; the disk refuses.
pub(crate) fn write_note(
    path: &Path,
    rows: &RowsReader,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<()> {
    let counts = rows.stored.roles;
    if counts.audited == 0 {
        return Err(no_audit_rows(rows.layout().n_rows).into());
    }
    if rows.hold_roles() {
        check_persons(rows, workers, watch)?;
    }
    RolesNote { counts, n_folds: 1 }.write(path)
}

/// The roles of rows, read a row group at a time.
#[derive(Debug, Clone)]
pub struct RolesReader {
    note: RolesNote,
    rows: Box<RowsReader>,
    /// Their file, where they have one; else the prepared rows hold them, or every row is audited.
    file: Option<Arc<NumberReader<UInt8Type>>>,
}

impl RolesReader {
    /// Opens the roles of rows in the folder of their split.
    ///
    /// # Errors
    /// A file is absent or damaged.
    pub fn open(path: &Path, rows: &RowsReader) -> Result<Self> {
        let file = path.exists().then(|| NumberReader::open(path, NEITHER)).transpose()?;
        let (note, rows) = (read_json(&RolesNote::file(path))?, Box::new(rows.clone()));
        Ok(RolesReader { note, rows, file: file.map(Arc::new) })
    }

    /// The roles of one row group of the prepared rows.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(&self, group: usize) -> Result<RowRoles> {
        let roles = match &self.file {
            Some(file) => file.read(group)?,
            None if self.rows.hold_roles() => self.rows.read_roles(group)?,
            None => vec![0; self.rows.file().group_rows(group)],
        };
        Ok(RowRoles(roles))
    }

    /// The roles of all rows.
    ///
    /// # Errors
    /// A damaged file.
    pub fn all(&self) -> Result<RowRoles> {
        let here = self.file.is_some() || !self.rows.hold_roles();
        let n_groups = if here { self.rows.file().n_groups() } else { self.rows.n_groups() };
        let mut all = Vec::new();
        for group in 0..n_groups {
            all.extend(self.read(group)?.0);
        }
        Ok(RowRoles(all))
    }

    /// Number of audited rows; in a shard those of all shards.
    pub fn n_audited(&self) -> u64 {
        self.note.counts.audited
    }

    /// Number of folds; 1 without folds.
    pub fn n_folds(&self) -> usize {
        self.note.n_folds
    }

    /// Number of training rows in some fold; in a shard those of all shards.
    pub fn n_trained(&self) -> u64 {
        self.note.counts.trained
    }
}

/// The role of every prepared row, by its rank.
///
/// # Errors
/// No row would be audited, or a fold would have no row; the rows cannot be read.
pub(crate) fn assign_roles(
    rows: &RowsReader,
    rule: RankedSplit,
    draw: RankDraw<'_>,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<RowRoles> {
    let n = rows.layout().n_rows;
    let roles = match rule {
        RankedSplit::Share(audit, by) => {
            let share = audit.get();
            // Counts of rows are far below 2^53, so they are exact as floats.
            let whole = |c: u64| (c as f64 * share) as u64;
            roles_by_rank(rows, (by, None), draw, workers, watch, |c| {
                if whole(c + 1) > whole(c) { 0 } else { TRAIN }
            })?
        }
        RankedSplit::Folds(k, by) => {
            let person = rows.layout().person.as_ref();
            let (n, units, one) =
                person.map_or((n, "rows", "row"), |of| (of.persons, "persons", "person"));
            if k > u64::from(TRAIN) || k > n {
                let what = format!("{n} {units} cannot be split into {k} folds");
                return Fault::new("too-many-folds", what)
                    .fail(format!("every fold needs a {one}, and there can be 254 folds at most"));
            }
            roles_by_rank(rows, (by, None), draw, workers, watch, |c| {
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
    draw: RankDraw<'_>,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<RowRoles> {
    let n = (0..of.0.0.len()).filter(|&i| of.0.trains(i, of.1)).count() as u64;
    let too_many = |n: u64, units: &str| {
        let what = format!("{n} training {units} cannot be split into {k} folds");
        Fault::new("too-many-folds", what).fail("train on more rows")
    };
    if k > n {
        return too_many(n, "rows");
    }
    let roles = roles_by_rank(rows, (by, Some(of)), draw, workers, watch, |c| {
        u8::try_from(c % k.max(1)).unwrap_or(NEITHER)
    })?;
    // If there are fewer persons than folds, the last folds have none.
    let last = roles.0.iter().filter_map(|&role| audited(role)).max();
    let filled = last.map_or(0, |last| u64::from(last) + 1);
    if filled < k { too_many(filled, "persons") } else { Ok(roles) }
}

/// Fails where a column puts rows of one person on both sides.
fn check_persons(rows: &RowsReader, workers: &WorkerPool, watch: StageWatch<'_>) -> Result<()> {
    let Some(person) = &rows.layout().person else { return Ok(()) };
    let (mut sides, mut both): (FastMap<u64, u8>, _) = (FastMap::default(), 0_u64);
    let read = |group: usize| {
        let batch = rows.read(group, Projection::KEYS)?;
        Ok((batch.person.len() as u64, (batch.person, rows.read_roles(group)?)))
    };
    PieceLoop { workers, watch, n: rows.n_groups() }.in_turn(read, |(keys, roles)| {
        for (key, role) in keys.into_iter().zip(roles) {
            if role != NEITHER {
                both += u64::from(*sides.entry(key).or_insert(role) != role);
            }
        }
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
    Fault::new("person-on-both-sides", what).in_column(&person.column).fail(hint)
}

/// For each row of a batch the number of its stratum: missing labels and groups come first.
fn strata(batch: &PreparedBatch, by: Stratification, n_groups: usize) -> impl Fn(usize) -> usize {
    let label = move |i: usize| match (by, batch.label.get(i)) {
        (Stratification::None, _) | (_, None | Some(None)) => 0,
        (_, Some(Some(positive))) => 1 + usize::from(*positive),
    };
    // The missing group is the highest number; adding one makes it 0.
    const { assert!(MISSING_GROUP == u16::MAX) };
    let group = move |i: usize| match (by, batch.groups.first()) {
        (Stratification::LabelAndGroup, Some(groups)) => usize::from(groups[i].wrapping_add(1)),
        _ => 0,
    };
    move |i| label(i) * (n_groups + 1) + group(i)
}

/// What ranks are drawn with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankDraw<'a> {
    /// The seed of the hashes.
    pub(crate) seed: u64,
    /// A folder for a temporary file.
    pub(crate) scratch: &'a Path,
    /// Rows in memory at most, but for those of a bucket.
    pub(crate) most: usize,
}

impl<'a> RankDraw<'a> {
    /// With a temporary file in a folder, where there are many rows.
    pub(crate) fn new(seed: u64, scratch: &'a Path) -> Self {
        RankDraw { seed, scratch, most: MOST_WAITING }
    }
}

/// Gives every row `role(c)`, where `c` is its rank over all strata; where a person may have
/// several rows, that of the person, whose first row gives the stratum. Persons take some 40 bytes
/// each in memory, and 4 a row.
///
/// With roles and a fold only the training rows for that fold.
pub(crate) fn roles_by_rank(
    rows: &RowsReader,
    (by, among): (Stratification, Option<(&RowRoles, u8)>),
    draw: RankDraw<'_>,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
    role: impl Fn(u64) -> u8,
) -> Result<RowRoles> {
    const NOBODY: u32 = u32::MAX;
    let n_groups = rows.layout().attributes.first().map_or(0, |of| of.groups.len());
    let by_person = rows.layout().person.is_some();
    // Hash, stratum and position of every row of a row group, in buckets, computed in parallel; of
    // persons with their keys, in no buckets yet.
    let read = |group: usize| {
        let batch = rows.read(group, Projection { carried: false, ..Projection::NO_FEATURES })?;
        let (first, keys) = (rows.first_row(group), batch.person_keys());
        let ranks = |i: &usize| among.is_none_or(|(roles, fold)| roles.trains(first + i, fold));
        let stratum = strata(&batch, by, n_groups);
        let record = |i: usize| {
            [h(draw.seed, keys[i], 0), (stratum(i) << POSITION_BITS | (first + i)) as u64]
        };
        let ranked = (0..batch.row.len()).filter(ranks);
        let (mut records, mut of_persons) = (Vec::new(), Vec::new());
        match by_person {
            true => of_persons = ranked.map(|i| (record(i), keys[i])).collect(),
            false => records = ranked.map(record).collect(),
        }
        Ok((batch.row.len() as u64, (BucketedRecords::new(&records), of_persons)))
    };
    let n_rows = usize::try_from(rows.layout().n_rows).unwrap_or(0);
    // The number of each person, by their first rows, and for each row whose it is.
    let mut numbers: FastMap<u64, u32> = FastMap::default();
    let mut whose = vec![NOBODY; if by_person { n_rows } else { 0 }];
    let mut buckets = RecordBuckets::new(draw.scratch.join(RANKS), draw.most);
    // By stratum its rows, and then the rank of its next row: one number, however many buckets.
    let mut next = vec![0_u64; LABEL_SIDES * (n_groups + 1)];
    PieceLoop { workers, watch, n: rows.n_groups() }.in_order(
        read,
        |_, (records, of_persons)| {
            let mut firsts = Vec::new();
            for ([hash, place], key) in of_persons {
                let unknown = numbers.len() as u32;
                let number = *numbers.entry(key).or_insert(unknown);
                whose[(place & POSITIONS) as usize] = number;
                if number == unknown {
                    firsts.push([hash, place & !POSITIONS | u64::from(number)]);
                }
            }
            for records in [records, BucketedRecords::new(&firsts)] {
                records.all().iter().for_each(|[_, place]| next[stratum_of(*place)] += 1);
                buckets.append(&records)?;
            }
            Ok(())
        },
    )?;
    let mut before = 0;
    next.iter_mut().for_each(|n| before += std::mem::replace(n, before));
    let mut roles = vec![NEITHER; if by_person { numbers.len() } else { n_rows }];
    // By hash, and in each stratum also by position where hashes are equal.
    let sorted = |bucket: usize| (watch.check)().and_then(|()| buckets.sorted(bucket));
    workers.map(BUCKETS, sorted, |_, records| {
        for [_, place] in records {
            let rank = &mut next[stratum_of(place)];
            roles[(place & POSITIONS) as usize] = role(*rank);
            *rank += 1;
        }
        Ok::<_, Error>(())
    })?;
    if by_person {
        let of_row = |number: u32| roles.get(number as usize).copied().unwrap_or(NEITHER);
        roles = whose.into_iter().map(of_row).collect();
    }
    Ok(RowRoles(roles))
}

/// The number of the stratum of a row.
#[inline]
fn stratum_of(place: u64) -> usize {
    (place >> POSITION_BITS) as usize
}

/// Missing, 0 and 1.
const LABEL_SIDES: usize = 3;

/// Bits of the position of a row; the number of its stratum, below 2^18, is in the bits above.
const POSITION_BITS: u32 = 46;

/// The bits of the position of a row.
const POSITIONS: u64 = (1 << POSITION_BITS) - 1;
