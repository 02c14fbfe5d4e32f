//! The stage `score` for scores computed elsewhere: joins a file to the audited rows or to their
//! counterfactuals, and checks it on the way.
//!
//! A file answers a request, so it must hold every key that was asked for (a row that cannot be
//! scored keeps its key and has a null score) and no key of a row that the data do not have. With
//! `recheck` it also holds some factual rows again; scores that differ there come from another
//! model or other data than the factual ones, and nothing measured from the two together would mean
//! anything.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::exchange::keyed::{KeyedFile, ScoreColumns, ScoreKey};
use crate::data::rows::PreparedBatch;
use crate::data::rows::aligned::{
    CounterfactualReader, ScoreReader, create_scores, write_precision,
};
use crate::data::rows::split::RowRoles;
use crate::data::{Attribute, MISSING_GROUP, RowIdKind};
use crate::error::{Error, Fault, Result};
use crate::exec::accumulator::Accumulator;
use crate::folder::manifest::RecheckWords;
use crate::model::scores_file::{LeftoverScore, SCORE_KEY_HINT, STALE_SCORES_HINT, ScoreJoin};
use crate::num::seed::{h, u01};
use crate::stage::row_context::RowContext;

/// File of the stage `score` where rows are scored again.
pub(crate) const RECHECKED: &str = "rechecked.json";

/// Second argument of the hash that draws the rows to score again: a separate stream.
const RECHECK_STREAM: u64 = u64::from_le_bytes(*b"recheck\0");

/// The audited rows that are scored again as they are: those with `u01(h(seed, row_key, recheck))`
/// below the share, and those with the lowest hashes, so that there are always some.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecheckSample {
    seed: u64,
    share: f64,
    lowest: u64,
}

impl RecheckSample {
    /// Draws among the audited rows, of a declared group where an attribute is given; at least so
    /// many, or all.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is to stop.
    pub(crate) fn draw(
        row_context: RowContext<'_>,
        attribute: Option<usize>,
        seed: u64,
        share: f64,
        at_least: usize,
    ) -> Result<Self> {
        let all = RecheckSample { seed, share, lowest: u64::MAX };
        // The lowest hashes, in order.
        let mut lowest: Vec<u64> = Vec::new();
        row_context.row_groups().in_order(
            |g| {
                let batch = row_context.rows.read_people(g, false)?;
                let roles = row_context.roles.read(g)?;
                let rows = (0..batch.row.len()).filter(|&i| eligible(&batch, &roles, attribute, i));
                let mut hashes: Vec<u64> = rows.map(|i| all.hash(batch.row_key[i])).collect();
                hashes.sort_unstable();
                hashes.truncate(at_least);
                Ok((0, hashes))
            },
            |_, hashes| {
                lowest.extend(hashes);
                lowest.sort_unstable();
                lowest.truncate(at_least);
                Ok(())
            },
        )?;
        let enough = lowest.len() == at_least;
        Ok(RecheckSample {
            lowest: lowest.last().copied().filter(|_| enough).unwrap_or(u64::MAX),
            ..all
        })
    }

    /// Those that the share draws alone.
    pub(crate) fn by_share(seed: u64, share: f64) -> Self {
        RecheckSample { seed, share, lowest: 0 }
    }

    /// By what a row is drawn.
    pub(crate) fn hash(&self, row_key: u64) -> u64 {
        h(self.seed, row_key, RECHECK_STREAM)
    }

    /// Whether the share draws a row with this hash.
    pub(crate) fn share_draws(&self, hash: u64) -> bool {
        u01(hash) < self.share
    }

    /// Whether it has one of the lowest hashes.
    pub(crate) fn is_among_lowest(&self, hash: u64) -> bool {
        hash <= self.lowest
    }

    /// The rows of a row group that are scored again, in order.
    pub(crate) fn rows(
        &self,
        batch: &PreparedBatch,
        roles: &RowRoles,
        attribute: Option<usize>,
    ) -> Vec<usize> {
        let drawn = |hash: u64| self.share_draws(hash) || self.is_among_lowest(hash);
        (0..batch.row.len())
            .filter(|&i| eligible(batch, roles, attribute, i) && drawn(self.hash(batch.row_key[i])))
            .collect()
    }
}

/// Whether a row is audited, and, where it is to have counterfactuals, of a declared group.
fn eligible(batch: &PreparedBatch, roles: &RowRoles, attribute: Option<usize>, i: usize) -> bool {
    roles.audited(i).is_some()
        && attribute.is_none_or(|attribute| batch.groups[attribute][i] != MISSING_GROUP)
}

/// What a file of counterfactual scores is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecheckAgainst<'a> {
    /// The rows that were asked for again.
    pub sample: &'a RecheckSample,
    /// Their factual scores and the largest difference; none where another model of the job asks
    /// for the rows.
    pub factual: Option<(&'a ScoreReader, f64)>,
}

impl RecheckWords {
    /// Adds the comparison of other rows.
    pub(crate) fn add(&mut self, other: &RecheckWords) {
        self.rows += other.rows;
        self.differ += other.differ;
        self.largest = self.largest.max(other.largest);
    }

    /// Compares two scores of a row; a score on one side only is as far apart as scores can be.
    pub(crate) fn compare(&mut self, one: f64, other: f64, tolerance: f64) {
        let (difference, differs) = match (one.is_nan(), other.is_nan()) {
            (true, true) => (0.0, false),
            (false, false) => ((one - other).abs(), (one - other).abs() > tolerance),
            _ => (1.0, true),
        };
        self.rows += 1;
        self.differ += u64::from(differs);
        self.largest = self.largest.max(difference);
    }
}

/// What joining a file of scores gave.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct JoinedScores {
    /// Entries of the file that some row asks for.
    pub(crate) entries: u64,
    /// Rows that were scored again.
    pub(crate) again: RecheckWords,
}

impl Accumulator for JoinedScores {
    fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        self.again.add(&other.again);
    }
}

/// One key of the file that is wanted.
#[derive(Debug, Clone, Copy)]
struct WantedKey {
    key: ScoreKey,
    own: Option<u16>,
    /// Position of the row in its row group.
    row: usize,
    /// Where its score goes; none for a row that is scored again.
    to: Option<usize>,
}

/// What is wanted of one row group, in the order in which files are written, together.
#[derive(Default)]
struct WantedGroup {
    row_key: Vec<u64>,
    /// Of counterfactuals; empty for rows.
    to_group: Vec<u16>,
    /// The same.
    cf_index: Vec<u16>,
    /// The row's own group, of counterfactuals.
    own: Vec<u16>,
    /// Positions of the rows in their row group.
    row: Vec<u32>,
    /// Where the scores go, [`RECHECKED_ROW`] for a row that is scored again; empty where each has
    /// the place at which it is wanted.
    to: Vec<u32>,
    /// Scores that the stage writes.
    n_scores: usize,
    /// The factual scores of the rows; empty where nothing is compared.
    factual: Vec<f64>,
}

/// The place of a row that is scored again.
const RECHECKED_ROW: u32 = u32::MAX;

impl WantedGroup {
    fn len(&self) -> usize {
        self.row_key.len()
    }

    /// One wanted key.
    fn key(&self, k: usize) -> WantedKey {
        let at = |column: &[u16]| column.get(k).copied().unwrap_or(0);
        let to = self.to.get(k).copied().unwrap_or(k as u32);
        WantedKey {
            key: ScoreKey {
                row_key: self.row_key[k],
                to_group: at(&self.to_group),
                cf_index: at(&self.cf_index),
            },
            own: self.own.get(k).copied(),
            row: self.row[k] as usize,
            to: (to != RECHECKED_ROW).then_some(to as usize),
        }
    }
}

/// A file whose entries may be the wanted keys in their order: then nothing is looked up. Its row
/// groups are decoded on all threads, as many at a time.
struct AlignedScores<'a> {
    file: &'a KeyedFile,
    context: RowContext<'a>,
    next_group: usize,
    ready: VecDeque<ScoreColumns>,
    /// Entries of the first that are taken.
    taken: usize,
    /// Whether no entry out of the ordinary was met.
    is_ordinary: bool,
    /// Whether the first wanted key is still to be looked for: of a shard, whose entries stand
    /// somewhere in the file.
    seeks: bool,
}

impl<'a> AlignedScores<'a> {
    fn new(file: &'a KeyedFile, context: RowContext<'a>) -> Self {
        AlignedScores {
            file,
            context,
            next_group: 0,
            ready: VecDeque::new(),
            taken: 0,
            is_ordinary: true,
            seeks: context.rows.are_of_shard(),
        }
    }

    /// Goes to the first entry of a row. Numbers rise through the file, so a few row groups tell
    /// where it is; the keys of texts do not, and are read from the beginning.
    fn seek(&mut self, row_key: u64) -> Result<()> {
        let by_text = self.context.rows.layout().row_id == RowIdKind::Text;
        let is_before = |key: u64| match by_text {
            true => key != row_key,
            false => key.cast_signed() < row_key.cast_signed(),
        };
        let (mut from, mut to) = (0, if by_text { 0 } else { self.file.n_groups() });
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            let first = self.file.score_columns(middle)?.and_then(|c| c.row_key.first().copied());
            if first.is_some_and(is_before) { from = middle } else { to = middle }
        }
        self.next_group = from;
        loop {
            let step = self.front()?.map(|(found, taken)| {
                let rest = &found.row_key[taken..];
                let before = rest.iter().take_while(|&&key| is_before(key)).count();
                (before, before < rest.len())
            });
            let Some((before, is_there)) = step else { break };
            self.taken += before;
            if is_there {
                break;
            }
        }
        Ok(())
    }

    /// Entries that are decoded and not taken; none at the end of the file, and none where an entry
    /// is out of the ordinary.
    fn front(&mut self) -> Result<Option<(&ScoreColumns, usize)>> {
        while self.ready.front().is_some_and(|columns| columns.row_key.len() == self.taken) {
            self.ready.pop_front();
            self.taken = 0;
        }
        if self.ready.is_empty() {
            let first = self.next_group;
            let n = self.context.workers.threads().min(self.file.n_groups() - first);
            let (ready, ordinary) = (&mut self.ready, &mut self.is_ordinary);
            self.context.workers.map(
                n,
                // A group that cannot be read is found out by key, after what is before it.
                |i| self.file.score_columns(first + i).or(Ok(None)),
                |_, columns| {
                    *ordinary &= columns.is_some();
                    ready.extend(columns);
                    Ok::<_, Error>(())
                },
            )?;
            self.next_group += n;
            if n > 0 && self.is_ordinary {
                return self.front();
            }
            self.ready.clear();
        }
        Ok(self.ready.front().map(|columns| (columns, self.taken)))
    }

    /// Appends the scores of a row group; false where its keys are not the next entries.
    fn take(&mut self, wanted: &WantedGroup, scores: &mut Vec<f64>) -> Result<bool> {
        if let Some(&first) = wanted.row_key.first().filter(|_| self.seeks) {
            self.seeks = false;
            self.seek(first)?;
        }
        while scores.len() < wanted.len() {
            let k = scores.len();
            let Some((found, first)) = self.front()? else { return Ok(false) };
            let n = (found.row_key.len() - first).min(wanted.len() - k);
            let zero = |column: &[u16]| column.iter().all(|&index| index == 0);
            let same = |mine: &[u16], theirs: &[u16]| match (mine.is_empty(), theirs.is_empty()) {
                (false, false) => mine[k..k + n] == theirs[first..first + n],
                (false, true) => zero(&mine[k..k + n]),
                (true, false) => zero(&theirs[first..first + n]),
                (true, true) => true,
            };
            let is_next = wanted.row_key[k..k + n] == found.row_key[first..first + n]
                && same(&wanted.to_group, &found.to_group)
                && same(&wanted.cf_index, &found.cf_index)
                && (found.from_group.is_empty() || same(&wanted.own, &found.from_group));
            if !is_next {
                return Ok(false);
            }
            scores.extend_from_slice(&found.score[first..first + n]);
            self.taken += n;
        }
        Ok(true)
    }

    /// Whether all entries are taken.
    fn is_at_end(&mut self) -> Result<bool> {
        Ok(self.front()?.is_none() && self.is_ordinary)
    }
}

/// Why a file is not joined by comparison.
enum JoinStop {
    /// Its entries are not the wanted keys in their order.
    NotAligned,
    Failed(Error),
}

impl From<Error> for JoinStop {
    fn from(error: Error) -> Self {
        JoinStop::Failed(error)
    }
}

/// The counterfactuals whose scores a file holds.
#[derive(Clone, Copy)]
pub(crate) struct JoinedCounterfactuals<'a> {
    /// Of one set and attribute.
    pub(crate) made: &'a CounterfactualReader,
    /// Position of the attribute.
    pub(crate) attribute: usize,
    /// The rows that are scored again.
    pub(crate) recheck: Option<RecheckAgainst<'a>>,
}

/// A file of scores being joined to the audited rows, or to their counterfactuals; other rows get
/// none.
pub(crate) struct ScoreFileJoin<'a> {
    pub(crate) context: RowContext<'a>,
    pub(crate) file: &'a KeyedFile,
    /// None for factual scores.
    pub(crate) set: Option<JoinedCounterfactuals<'a>>,
}

/// The key of a row in its own group of an attribute.
fn own_key(batch: &PreparedBatch, attribute: usize, row: usize) -> ScoreKey {
    let to_group = batch.groups[attribute][row];
    ScoreKey { row_key: batch.row_key[row], to_group, cf_index: 0 }
}

impl ScoreFileJoin<'_> {
    /// The attribute of counterfactual scores.
    fn attribute(&self) -> Option<&Attribute> {
        self.set.map(|set| &self.context.rows.layout().attributes[set.attribute])
    }

    /// How far scores that come again may differ.
    fn tolerance(&self) -> Option<f64> {
        self.set?.recheck?.factual.map(|(_, tolerance)| tolerance)
    }

    /// What is wanted of a row group.
    fn wanted(&self, g: usize) -> Result<WantedGroup> {
        let RowContext { rows, roles, .. } = self.context;
        let batch = rows.read_people(g, false)?;
        let Some(JoinedCounterfactuals { made, attribute, recheck }) = self.set else {
            let (n_scores, roles) = (batch.row.len(), roles.read(g)?);
            let audited = (0..n_scores as u32).filter(|&i| roles.audited(i as usize).is_some());
            let row: Vec<u32> = audited.collect();
            if row.len() == n_scores {
                let row_key = batch.row_key;
                return Ok(WantedGroup { row_key, row, n_scores, ..Default::default() });
            }
            let row_key = row.iter().map(|&i| batch.row_key[i as usize]).collect();
            return Ok(WantedGroup {
                row_key,
                to: row.clone(),
                row,
                n_scores,
                ..Default::default()
            });
        };
        let keys = made.keys(g)?;
        let wanted = WantedGroup {
            row_key: keys.parent.iter().map(|&row| batch.row_key[row as usize]).collect(),
            own: keys.parent.iter().map(|&row| batch.groups[attribute][row as usize]).collect(),
            n_scores: keys.parent.len(),
            row: keys.parent,
            to_group: keys.to_group,
            cf_index: keys.cf_index,
            ..WantedGroup::default()
        };
        let Some(RecheckAgainst { sample, factual: Some((scores, _)) }) = recheck else {
            return Ok(wanted);
        };
        let again = sample.rows(&batch, &roles.read(g)?, Some(attribute)).into_iter();
        let again = again.map(|row| {
            let key = own_key(&batch, attribute, row);
            WantedKey { key, own: Some(key.to_group), row, to: None }
        });
        Ok(WantedGroup { factual: scores.read(g)?, ..with_rechecked(&wanted, again) })
    }

    /// The keys that a row group has, and why an entry of such a key is left over; of a key that is
    /// named twice the last counts.
    fn known(&self, g: usize) -> Result<Vec<(ScoreKey, LeftoverScore)>> {
        let RowContext { rows, roles, .. } = self.context;
        let (batch, roles) = (rows.read_people(g, false)?, roles.read(g)?);
        let key = |row: usize, to_group, cf_index| ScoreKey {
            row_key: batch.row_key[row],
            to_group,
            cf_index,
        };
        let Some(JoinedCounterfactuals { made, attribute, recheck }) = self.set else {
            let left = |i: usize| match roles.audited(i) {
                Some(_) => LeftoverScore::Duplicate,
                None => LeftoverScore::NotAsked,
            };
            return Ok((0..batch.row.len()).map(|i| (key(i, 0, 0), left(i))).collect());
        };
        let keys = made.keys(g)?;
        let made = (0..keys.parent.len())
            .map(|k| key(keys.parent[k] as usize, keys.to_group[k], keys.cf_index[k]));
        let mut known: Vec<_> = made.map(|key| (key, LeftoverScore::Duplicate)).collect();
        let n_groups = self.attribute().map_or(0, |of| of.groups.len());
        let n_groups = u16::try_from(n_groups).unwrap_or(u16::MAX);
        for i in 0..batch.row.len() {
            if eligible(&batch, &roles, Some(attribute), i) {
                known.push((own_key(&batch, attribute, i), LeftoverScore::OwnGroup));
            } else {
                known.extend((0..n_groups).map(|to| (key(i, to, 0), LeftoverScore::NotAsked)));
            }
        }
        if let Some(RecheckAgainst { sample, factual }) = recheck {
            let left =
                if factual.is_some() { LeftoverScore::Duplicate } else { LeftoverScore::NotAsked };
            let again = sample.rows(&batch, &roles, Some(attribute)).into_iter();
            known.extend(again.map(|row| (own_key(&batch, attribute, row), left)));
        }
        Ok(known)
    }
}

/// The same with rows that are scored again, in the order of the file.
fn with_rechecked(wanted: &WantedGroup, again: impl Iterator<Item = WantedKey>) -> WantedGroup {
    let mut all: Vec<WantedKey> = (0..wanted.len()).map(|k| wanted.key(k)).chain(again).collect();
    all.sort_by_key(|w| (w.row, w.key.to_group, w.key.cf_index));
    WantedGroup {
        row_key: all.iter().map(|w| w.key.row_key).collect(),
        to_group: all.iter().map(|w| w.key.to_group).collect(),
        cf_index: all.iter().map(|w| w.key.cf_index).collect(),
        own: all.iter().filter_map(|w| w.own).collect(),
        row: all.iter().map(|w| w.row as u32).collect(),
        to: all.iter().map(|w| w.to.map_or(RECHECKED_ROW, |to| to as u32)).collect(),
        n_scores: wanted.n_scores,
        factual: Vec::new(),
    }
}

/// Keys that the file lacks.
#[derive(Default)]
struct MissingKeys {
    n: u64,
    first: Option<(usize, WantedKey)>,
}

/// Rows scored again.
#[derive(Default)]
struct RecheckTally {
    result: RecheckWords,
    /// Of those, rows with a score in one file only.
    n_one_sided: u64,
    /// Row group and position of the first that differs.
    first: Option<(usize, usize)>,
}

impl RecheckTally {
    fn add(&mut self, group: usize, row: usize, factual: f64, again: f64, tolerance: f64) {
        self.result.rows += 1;
        let difference = (factual - again).abs();
        // A row without a score must have none again.
        let one_sided = factual.is_nan() != again.is_nan();
        let differs = one_sided || difference > tolerance;
        self.n_one_sided += u64::from(one_sided);
        self.result.largest = self.result.largest.max(difference);
        self.result.differ += u64::from(differs);
        if differs && self.first.is_none() {
            self.first = Some((group, row));
        }
    }
}

impl ScoreFileJoin<'_> {
    /// Joins by comparison, and by key where the file has another order or anything is wrong with
    /// it: what is wrong is said there.
    ///
    /// # Errors
    /// A fault of the file (see [`ScoreJoin`]), a row that it lacks, a row scored again that
    /// differs, the disk refuses, the run is to stop.
    pub(crate) fn join(&self, out: &Path) -> Result<JoinedScores> {
        let mut compared = RecheckTally::default();
        let entries = match self.join_aligned(out, &mut compared) {
            Ok(entries) => entries,
            Err(JoinStop::Failed(error)) => return Err(error),
            Err(JoinStop::NotAligned) if self.context.rows.are_of_shard() => {
                let what = "the file does not hold the keys of the rows of a shard in their order";
                let hint = "sort the file by row_id, then in the order of the rows to score, and \
                            let it hold every row that is asked for; without shards any order does";
                let fault = Fault::new("unsorted-scores", what).in_file(self.file.path());
                return Err(fault.hint(hint).into());
            }
            Err(JoinStop::NotAligned) => {
                compared = RecheckTally::default();
                self.join_by_key(out, &mut compared)?
            }
        };
        if let (Some((g, row)), Some(tolerance)) = (compared.first, self.tolerance()) {
            return Err(self.recheck_fault(&compared, tolerance, g, row)?.into());
        }
        Ok(JoinedScores { entries, again: compared.result })
    }

    /// Compares the rows that are scored again.
    fn recheck(
        &self,
        compared: &mut RecheckTally,
        (g, group): (usize, &WantedGroup),
        k: usize,
        score: f64,
    ) {
        let row = group.row[k] as usize;
        let tolerance = self.tolerance().unwrap_or(f64::INFINITY);
        compared.add(g, row, group.factual[row], score, tolerance);
    }

    /// Joins a file that has the wanted keys in their order.
    fn join_aligned(&self, out: &Path, compared: &mut RecheckTally) -> Result<u64, JoinStop> {
        let RowContext { rows, workers, watch, .. } = self.context;
        let (encoder, mut writer) = create_scores(out)?;
        let mut file = AlignedScores::new(self.file, self.context);
        let mut entries = 0;
        workers.map(
            rows.n_groups(),
            |g| {
                (watch.check)()?;
                Ok(self.wanted(g)?)
            },
            |g, group| {
                let mut found = Vec::with_capacity(group.len());
                if !file.take(&group, &mut found)? {
                    return Err(JoinStop::NotAligned);
                }
                entries += group.len() as u64;
                if !group.to.is_empty() {
                    let mut scores = vec![f64::NAN; group.n_scores];
                    for (k, (&to, &score)) in group.to.iter().zip(&found).enumerate() {
                        match to {
                            RECHECKED_ROW => self.recheck(compared, (g, &group), k, score),
                            to => scores[to as usize] = score,
                        }
                    }
                    found = scores;
                }
                (watch.progress)(found.len() as u64);
                Ok(writer.append(encoder.scores(found)?)?)
            },
        )?;
        // What a shard leaves is for the others, and counted when all are merged.
        if !rows.are_of_shard() && !file.is_at_end()? {
            return Err(JoinStop::NotAligned);
        }
        writer.finish()?;
        write_precision(out, self.file.precision())?;
        Ok(entries)
    }

    /// Joins a file in any order.
    fn join_by_key(&self, out: &Path, compared: &mut RecheckTally) -> Result<u64> {
        let (encoder, mut writer) = create_scores(out)?;
        let mut join = ScoreJoin::new(self.file);
        let (mut n_wanted, mut lacking) = (0_u64, MissingKeys::default());
        self.context.row_groups().in_order(
            |g| {
                let group = self.wanted(g)?;
                Ok((group.n_scores as u64, group))
            },
            |g, group| {
                let mut scores = vec![f64::NAN; group.n_scores];
                n_wanted += group.len() as u64;
                for k in 0..group.len() {
                    let wanted = group.key(k);
                    match (join.take(wanted.key, wanted.own)?, wanted.to) {
                        (Some(score), Some(to)) => scores[to] = score,
                        (Some(score), None) => self.recheck(compared, (g, &group), k, score),
                        (None, _) => {
                            lacking.n += 1;
                            lacking.first.get_or_insert((g, wanted));
                        }
                    }
                }
                writer.append(encoder.scores(scores)?)
            },
        )?;
        if n_wanted > 0 && lacking.n == n_wanted {
            return Err(Fault::new(
                "no-scores-found",
                "the score file has no score for any audited row",
            )
            .in_file(self.file.path())
            .in_column("row_id")
            .hint(format!(
                "{SCORE_KEY_HINT}: row_id must be the job's `data.row_id`, or, without one, \
                 the row number of the source from 0; cf_index must be that of the rows to score; \
                 {STALE_SCORES_HINT}"
            ))
            .into());
        }
        if join.read_rest()? > 0 {
            // Judged by the whole key, else by the row alone; what is known of a key last counts.
            let mut judged: HashMap<ScoreKey, Option<LeftoverScore>> =
                join.waiting().map(|key| (*key, None)).collect();
            let mut strange: HashSet<u64> = join.waiting().map(|key| key.row_key).collect();
            let rows = self.context.rows;
            for g in 0..rows.n_groups() {
                for (key, left) in self.known(g)? {
                    judged.entry(key).and_modify(|judged| *judged = Some(left));
                }
                rows.read_row_keys(g)?.iter().for_each(|row| {
                    strange.remove(row);
                });
            }
            let of_row = |row: &u64| {
                if strange.contains(row) {
                    LeftoverScore::Unknown
                } else {
                    LeftoverScore::NoCounterfactual
                }
            };
            join.finish(|key| {
                judged.get(key).copied().flatten().unwrap_or_else(|| of_row(&key.row_key))
            })?;
        }
        if let Some((g, first)) = lacking.first {
            return Err(self.missing_scores(lacking.n, n_wanted, g, &first)?.into());
        }
        writer.finish()?;
        write_precision(out, self.file.precision())?;
        Ok(n_wanted)
    }

    /// The row's id as the user's data have it.
    fn id(&self, g: usize, row: usize) -> Result<String> {
        Ok(self.context.rows.read_ids(g)?.text(row))
    }

    fn missing_scores(&self, n: u64, of: u64, g: usize, first: &WantedKey) -> Result<Fault> {
        let mut key = format!("row_id `{}`", self.id(g, first.row)?);
        let mut hint = "score every line of the rows to score, with the same key; a row that \
                        cannot be scored has a null score"
            .to_owned();
        if let Some(attribute) = self.attribute() {
            let to =
                attribute.groups.get(usize::from(first.key.to_group)).map_or("", String::as_str);
            key = format!(
                "{key}, sensitive `{}`, to_group `{to}`, cf_index {}",
                attribute.name, first.key.cf_index
            );
            if first.to.is_none() {
                hint = format!(
                    "{hint}; lines whose `to_group` is their own group are required by `recheck`"
                );
            }
        }
        let of_what = self.attribute().map_or_else(String::new, |of| format!(" for `{}`", of.name));
        let what = format!(
            "the score file lacks {n} of the {of} keys to score{of_what}; the first \
             is {key}"
        );
        Ok(Fault::new("incomplete-scores", what)
            .in_file(self.file.path())
            .hint(format!("{hint}; {STALE_SCORES_HINT}")))
    }

    fn recheck_fault(
        &self,
        compared: &RecheckTally,
        tolerance: f64,
        g: usize,
        row: usize,
    ) -> Result<Fault> {
        let RecheckWords { rows, differ, largest } = compared.result;
        let one_sided = compared.n_one_sided;
        let found = match differ - one_sided {
            0 => format!(
                "{one_sided} of {rows} rows that were scored again have a score in only one file"
            ),
            n => {
                let besides = if one_sided > 0 {
                    format!(", {one_sided} more have a score in only one file")
                } else {
                    String::new()
                };
                if self.file.holds_decisions() {
                    format!(
                        "{n} of {rows} rows that were decided again have another decision{besides}"
                    )
                } else {
                    format!(
                        "{n} of {rows} rows that were scored again differ from their factual \
                         scores by more than {tolerance}; the largest difference is \
                         {largest}{besides}"
                    )
                }
            }
        };
        let what = format!("{found}: the two come from different models or data");
        Ok(Fault::new("recheck-differs", what)
            .in_file(self.file.path())
            .at_row(format!("row_id `{}` (the first)", self.id(g, row)?))
            .hint(
                "score the rows and their counterfactuals with the same version of the model, \
                 on the rows requested by this job",
            ))
    }
}
