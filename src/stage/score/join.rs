//! The stage `score` for scores made elsewhere: joins a file to the audited rows or to their
//! counterfactuals, and checks it on the way.
//!
//! A file answers a request, so it must hold every key that was asked for (a row that cannot be
//! scored keeps its key and has a null score) and no key of a row that the data do not have. With
//! `recheck` it also holds some factual rows again; scores that differ there come from another
//! model or other data than the factual ones, and nothing measured from the two together would mean
//! anything.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::exchange::keyed::{KeyedScores, ScoreKey};
use crate::data::rows::PreparedBatch;
use crate::data::rows::aligned::{
    CounterfactualKeys, CounterfactualReader, ScoreReader, create_scores,
};
use crate::data::rows::split::RowRoles;
use crate::data::{Attribute, MISSING_GROUP};
use crate::error::{Fault, Result};
use crate::model::scores_file::{LeftoverScore, SCORE_KEY_HINT, STALE_SCORES_HINT, ScoreJoin};
use crate::num::seed::{h, u01};
use crate::stage::row_context::RowContext;

/// File of the stage `score` where rows are scored again.
pub const RECHECKED: &str = "rechecked.json";

/// Second argument of the hash that draws the rows to score again: a stream of its own.
const RECHECK_STREAM: u64 = u64::from_le_bytes(*b"recheck\0");

/// The audited rows that are scored again as they are: those with `u01(h(seed, row_key, recheck))`
/// below the share, and those with the lowest hashes, so that there are always some.
#[derive(Debug, Clone, Copy)]
pub struct RecheckSample {
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
    pub fn draw(
        ground: RowContext<'_>,
        attribute: Option<usize>,
        seed: u64,
        share: f64,
        at_least: usize,
    ) -> Result<Self> {
        let all = RecheckSample { seed, share, lowest: u64::MAX };
        // The lowest hashes, in order.
        let mut lowest: Vec<u64> = Vec::new();
        ground.row_groups().in_order(
            |g| {
                let batch = ground.rows.read_keys(g)?;
                let roles = ground.roles.read(g)?;
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

    fn hash(&self, row_key: u64) -> u64 {
        h(self.seed, row_key, RECHECK_STREAM)
    }

    /// The rows of a row group that are scored again, in order.
    pub fn rows(
        &self,
        batch: &PreparedBatch,
        roles: &RowRoles,
        attribute: Option<usize>,
    ) -> Vec<usize> {
        let drawn = |hash: u64| u01(hash) < self.share || hash <= self.lowest;
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
pub struct RecheckAgainst<'a> {
    /// The rows that were asked for again.
    pub sample: &'a RecheckSample,
    /// Their factual scores and the largest difference; none where another model of the job asks
    /// for the rows.
    pub factual: Option<(&'a ScoreReader, f64)>,
}

/// What the comparison of rows scored again gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecheckResult {
    /// Rows compared.
    pub rows: u64,
    /// Those that differ by more than is allowed.
    pub differ: u64,
    /// The largest difference.
    pub largest: f64,
}

impl RecheckResult {
    /// Compares the scores of these rows of a row group; a score on one side only is as far apart
    /// as scores can be.
    pub fn compare(&mut self, first: &[f64], again: &[f64], rows: &[usize], tolerance: f64) {
        for &row in rows {
            let (one, other) = (first[row], again[row]);
            let difference = match (one.is_nan(), other.is_nan()) {
                (true, true) => 0.0,
                (false, false) => (one - other).abs(),
                _ => 1.0,
            };
            self.rows += 1;
            self.differ += u64::from(difference > tolerance);
            self.largest = self.largest.max(difference);
        }
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

/// What is wanted of one row group, in the order in which files are written.
struct WantedGroup {
    keys: Vec<WantedKey>,
    /// Scores that the stage writes.
    n_scores: usize,
    /// The factual scores of the rows; empty where nothing is compared.
    factual: Vec<f64>,
}

/// Joins a file of factual scores to the audited rows; other rows get none.
///
/// # Errors
/// A fault of the file (see [`ScoreJoin`]), a row that it lacks, the disk refuses, the run is to
/// stop.
pub fn join_rows(ground: RowContext<'_>, file: &KeyedScores, out: &Path) -> Result<()> {
    let key = |batch: &PreparedBatch, i: usize| ScoreKey {
        row_key: batch.row_key[i],
        to_group: 0,
        cf_index: 0,
    };
    let read = |g: usize| {
        let (batch, roles) = (ground.rows.read_keys(g)?, ground.roles.read(g)?);
        let audited = (0..batch.row.len()).filter(|&i| roles.audited(i).is_some());
        let wanted = audited
            .map(|i| WantedKey { key: key(&batch, i), own: None, row: i, to: Some(i) })
            .collect();
        Ok(WantedGroup { keys: wanted, n_scores: batch.row.len(), factual: Vec::new() })
    };
    let known = |g: usize| {
        let (batch, roles) = (ground.rows.read_keys(g)?, ground.roles.read(g)?);
        let left = |i: usize| {
            if roles.audited(i).is_some() {
                LeftoverScore::Duplicate
            } else {
                LeftoverScore::NotAsked
            }
        };
        Ok((0..batch.row.len()).map(|i| (key(&batch, i), left(i))).collect())
    };
    let join = ScoreFileJoin { context: ground, file, attribute: None, tolerance: None };
    join.run(out, read, known).map(|_| ())
}

/// Joins a file of counterfactual scores to the counterfactuals of one set and attribute.
///
/// # Errors
/// As [`join_rows`], and a row scored again that differs.
pub fn join_counterfactuals(
    ground: RowContext<'_>,
    file: &KeyedScores,
    counterfactuals: &CounterfactualReader,
    attribute: usize,
    recheck: Option<RecheckAgainst<'_>>,
    out: &Path,
) -> Result<RecheckResult> {
    let of_row = |batch: &PreparedBatch, row: usize| {
        let own = batch.groups[attribute][row];
        WantedKey {
            key: ScoreKey { row_key: batch.row_key[row], to_group: own, cf_index: 0 },
            own: Some(own),
            row,
            to: None,
        }
    };
    let of_keys = |batch: &PreparedBatch, keys: &CounterfactualKeys, k: usize| {
        let row = keys.parent[k] as usize;
        let key = ScoreKey {
            row_key: batch.row_key[row],
            to_group: keys.to_group[k],
            cf_index: keys.cf_index[k],
        };
        WantedKey { key, own: Some(batch.groups[attribute][row]), row, to: Some(k) }
    };
    let read = |g: usize| {
        let (batch, keys) = (ground.rows.read_keys(g)?, counterfactuals.keys(g)?);
        let mut wanted: Vec<WantedKey> =
            (0..keys.parent.len()).map(|k| of_keys(&batch, &keys, k)).collect();
        let mut factual = Vec::new();
        if let Some(RecheckAgainst { sample: again, factual: Some((scores, _)) }) = recheck {
            wanted.extend(
                again
                    .rows(&batch, &ground.roles.read(g)?, Some(attribute))
                    .into_iter()
                    .map(|row| of_row(&batch, row)),
            );
            wanted.sort_by_key(|w| (w.row, w.key.to_group, w.key.cf_index));
            factual = scores.read(g)?;
        }
        Ok(WantedGroup { keys: wanted, n_scores: keys.parent.len(), factual })
    };
    let n_groups =
        u16::try_from(ground.rows.layout().attributes[attribute].groups.len()).unwrap_or(u16::MAX);
    let known = |g: usize| {
        let (batch, keys, roles) =
            (ground.rows.read_keys(g)?, counterfactuals.keys(g)?, ground.roles.read(g)?);
        let mut known: Vec<(ScoreKey, LeftoverScore)> = (0..keys.parent.len())
            .map(|k| (of_keys(&batch, &keys, k).key, LeftoverScore::Duplicate))
            .collect();
        for i in (0..batch.row.len()).filter(|&i| !eligible(&batch, &roles, Some(attribute), i)) {
            let key = |to_group| ScoreKey { row_key: batch.row_key[i], to_group, cf_index: 0 };
            known.extend((0..n_groups).map(|to_group| (key(to_group), LeftoverScore::NotAsked)));
        }
        for i in (0..batch.row.len()).filter(|&i| eligible(&batch, &roles, Some(attribute), i)) {
            known.push((of_row(&batch, i).key, LeftoverScore::OwnGroup));
        }
        if let Some(RecheckAgainst { sample: again, factual }) = recheck {
            let left =
                if factual.is_some() { LeftoverScore::Duplicate } else { LeftoverScore::NotAsked };
            known.extend(
                again
                    .rows(&batch, &roles, Some(attribute))
                    .into_iter()
                    .map(|row| (of_row(&batch, row).key, left)),
            );
        }
        Ok(known)
    };
    let tolerance = recheck.and_then(|r| r.factual).map(|(_, tolerance)| tolerance);
    let join = ScoreFileJoin {
        context: ground,
        file,
        attribute: Some(&ground.rows.layout().attributes[attribute]),
        tolerance,
    };
    join.run(out, read, known)
}

/// A file being joined.
struct ScoreFileJoin<'a> {
    context: RowContext<'a>,
    file: &'a KeyedScores,
    /// Of counterfactual scores.
    attribute: Option<&'a Attribute>,
    tolerance: Option<f64>,
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
    result: RecheckResult,
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
    fn run(
        &self,
        out: &Path,
        read: impl Fn(usize) -> Result<WantedGroup> + Sync,
        known: impl Fn(usize) -> Result<Vec<(ScoreKey, LeftoverScore)>>,
    ) -> Result<RecheckResult> {
        let (encoder, mut writer) = create_scores(out)?;
        let mut join = ScoreJoin::new(self.file);
        let (mut n_wanted, mut lacking, mut compared) =
            (0_u64, MissingKeys::default(), RecheckTally::default());
        self.context.row_groups().in_order(
            |g| {
                let group = read(g)?;
                Ok((group.n_scores as u64, group))
            },
            |g, group| {
                let mut scores = vec![f64::NAN; group.n_scores];
                n_wanted += group.keys.len() as u64;
                for wanted in &group.keys {
                    match (join.take(wanted.key, wanted.own)?, wanted.to) {
                        (Some(score), Some(to)) => scores[to] = score,
                        (Some(score), None) => {
                            compared.add(
                                g,
                                wanted.row,
                                group.factual[wanted.row],
                                score,
                                self.tolerance.unwrap_or(f64::INFINITY),
                            );
                        }
                        (None, _) => {
                            lacking.n += 1;
                            lacking.first.get_or_insert((g, *wanted));
                        }
                    }
                }
                writer.append(encoder.encode(&scores)?)
            },
        )?;
        if n_wanted > 0 && lacking.n == n_wanted {
            return Err(Fault::new(
                "no-scores-found",
                "the score file has a score for none of the audited rows",
            )
            .in_file(self.file.path())
            .in_column("row_id")
            .hint(format!(
                "{SCORE_KEY_HINT}: row_id must be the job's `data.row_id`, or, without one, \
                 the row number of the source from 0, cf_index what the rows to score have; \
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
                for (key, left) in known(g)? {
                    judged.entry(key).and_modify(|judged| *judged = Some(left));
                }
                rows.read_keys(g)?.row_key.iter().for_each(|row| {
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
        if let (Some((g, row)), Some(tolerance)) = (compared.first, self.tolerance) {
            return Err(self.recheck_fault(&compared, tolerance, g, row)?.into());
        }
        writer.finish()?;
        Ok(compared.result)
    }

    /// The row's id as the user's data have it.
    fn id(&self, g: usize, row: usize) -> Result<String> {
        Ok(self.context.rows.read_ids(g)?.text(row))
    }

    fn missing_scores(&self, n: u64, of: u64, g: usize, first: &WantedKey) -> Result<Fault> {
        let mut key = format!("row_id `{}`", self.id(g, first.row)?);
        let mut hint =
            "score every line of the rows that were asked for, with the same key; a row that \
             cannot be scored has a null score"
                .to_owned();
        if let Some(attribute) = self.attribute {
            let to =
                attribute.groups.get(usize::from(first.key.to_group)).map_or("", String::as_str);
            key = format!(
                "{key}, sensitive `{}`, to_group `{to}`, cf_index {}",
                attribute.name, first.key.cf_index
            );
            if first.to.is_none() {
                hint = format!(
                    "{hint}; lines whose `to_group` is their own group are asked for by `recheck`"
                );
            }
        }
        let of_what = self
            .attribute
            .map_or_else(String::new, |attribute| format!(" for `{}`", attribute.name));
        let what = format!(
            "the score file lacks {n} of the {of} keys that were to be scored{of_what}; the first \
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
        let RecheckResult { rows, differ, largest } = compared.result;
        let one_sided = compared.n_one_sided;
        let found = match differ - one_sided {
            0 => format!(
                "{one_sided} of {rows} rows that were scored again have a score in one file only"
            ),
            n => {
                let besides = if one_sided > 0 {
                    format!(", {one_sided} more have a score in one file only")
                } else {
                    String::new()
                };
                format!(
                    "{n} of {rows} rows that were scored again differ from their factual scores by \
                     more than {tolerance}; the largest difference is {largest}{besides}"
                )
            }
        };
        let what =
            format!("{found}: the scores of the two files come from different models or data");
        Ok(Fault::new("recheck-differs", what)
            .in_file(self.file.path())
            .at_row(format!("row_id `{}` (the first)", self.id(g, row)?))
            .hint(
                "score the rows and their counterfactuals with the same version of the model, on \
                 the rows that this job asks for",
            ))
    }
}
