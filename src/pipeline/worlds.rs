//! The stages `generate` and `score`: rows of the other worlds, and the scores of both.
//!
//! Both are maps over the row groups of the prepared rows; what they write lines up with these (see `data::aligned`).

use std::collections::HashMap;
use std::path::Path;

use crate::counterfactual::{Generated, Generator};
use crate::data::aligned::{CounterfactualKeys, CounterfactualReader, create_counterfactuals, create_scores};
use crate::data::keyed::{KeyedScores, ScoreKey};
use crate::data::rows::{PreparedBatch, RowsReader};
use crate::data::split::{Roles, RolesReader};
use crate::data::{Attribute, MISSING_GROUP, Rows};
use crate::error::{Fault, Result};
use crate::model::Scorer;
use crate::model::scores_file::{Leftover, ScoreJoin};
use crate::table::ordered::{Watch, Workers};

/// What a stage over prepared rows has at hand.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The prepared rows.
    pub rows: &'a RowsReader,
    /// Which of them train and which are audited.
    pub roles: &'a RolesReader,
    /// The threads.
    pub workers: &'a Workers,
    /// Stop and progress.
    pub watch: Watch<'a>,
}

/// Writes the counterfactuals of every audited row of a declared group, in every other group, in the order of the rows, then of the
/// declared groups, then `cf_index`. `generators` holds one generator per fold, or one for all.
///
/// # Errors
/// The rows cannot be read, the disk refuses, or the run is to stop.
pub fn generate(ground: Ground<'_>, generators: &[Box<dyn Generator>], attribute: usize, with_features: bool, out: &Path) -> Result<()> {
    let layout = ground.rows.layout();
    let (encoder, mut writer) = create_counterfactuals(out, with_features.then_some(layout))?;
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let batch = if with_features { ground.rows.read(g)? } else { ground.rows.read_keys(g)? };
            let roles = ground.roles.read(g)?;
            let (keys, rows) = generate_group(generators, &layout.attributes[attribute], attribute, &roles, &batch, with_features);
            (ground.watch.progress)(keys.parent.len() as u64);
            encoder.encode(keys, &rows)
        },
        |_, encoded| writer.append(encoded),
    )?;
    writer.finish()
}

fn generate_group(
    generators: &[Box<dyn Generator>],
    attribute: &Attribute,
    position: usize,
    roles: &Roles,
    batch: &PreparedBatch,
    with_features: bool,
) -> (CounterfactualKeys, Rows) {
    let own = &batch.groups[position];
    let mut parts: Vec<(usize, Vec<usize>, Generated)> = Vec::new();
    for to in 0..attribute.groups.len() {
        for (fold, generator) in generators.iter().enumerate() {
            let parents: Vec<usize> = (0..batch.row.len())
                .filter(|&i| {
                    let right_fold = roles.audited(i).is_some_and(|f| generators.len() == 1 || usize::from(f) == fold);
                    right_fold && own[i] != MISSING_GROUP && usize::from(own[i]) != to
                })
                .collect();
            let rows = if with_features { batch.rows.take(&parents) } else { Rows { n: parents.len(), columns: Vec::new() } };
            let made = generator.generate(&rows, attribute, to);
            parts.push((to, parents, made));
        }
    }
    // (row, target, index within the part) in the order of the file.
    let mut order: Vec<(usize, usize, u16, usize, usize)> = Vec::new();
    for (p, (to, parents, made)) in parts.iter().enumerate() {
        order.extend(made.parent.iter().enumerate().map(|(k, &parent)| (parents[parent], *to, made.cf_index[k], p, k)));
    }
    order.sort_unstable();
    let keys = CounterfactualKeys {
        parent: order.iter().map(|o| u32::try_from(o.0).unwrap_or(u32::MAX)).collect(),
        to_group: order.iter().map(|o| u16::try_from(o.1).unwrap_or(MISSING_GROUP)).collect(),
        cf_index: order.iter().map(|o| o.2).collect(),
    };
    let rows = Rows::gather(&parts.iter().map(|p| &p.2.rows).collect::<Vec<_>>(), order.iter().map(|o| (o.3, o.4)));
    (keys, rows)
}

/// Writes one score per prepared row by models trained here (one per fold, or one for all); rows that are not audited get none.
///
/// # Errors
/// The rows cannot be read, the disk refuses, or the run is to stop.
pub fn score_rows(ground: Ground<'_>, scorers: &[Box<dyn Scorer>], out: &Path) -> Result<()> {
    let (encoder, mut writer) = create_scores(out)?;
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let batch = ground.rows.read(g)?;
            let roles = ground.roles.read(g)?;
            let fold = |i: usize| roles.audited(i);
            let scores = score_by_fold(scorers, &batch.rows, fold);
            (ground.watch.progress)(batch.rows.n as u64);
            encoder.encode(&scores)
        },
        |_, encoded| writer.append(encoded),
    )?;
    writer.finish()
}

/// Writes one score per counterfactual by models trained here; the row's own fold decides which model.
///
/// # Errors
/// As [`score_rows`].
pub fn score_counterfactuals(
    ground: Ground<'_>,
    scorers: &[Box<dyn Scorer>],
    counterfactuals: &CounterfactualReader,
    out: &Path,
) -> Result<()> {
    let (encoder, mut writer) = create_scores(out)?;
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let (keys, rows) = counterfactuals.rows(g, ground.rows.layout())?;
            let roles = ground.roles.read(g)?;
            let fold = |i: usize| roles.audited(keys.parent[i] as usize);
            let scores = score_by_fold(scorers, &rows, fold);
            (ground.watch.progress)(rows.n as u64);
            encoder.encode(&scores)
        },
        |_, encoded| writer.append(encoded),
    )?;
    writer.finish()
}

fn score_by_fold(scorers: &[Box<dyn Scorer>], rows: &Rows, fold: impl Fn(usize) -> Option<u8>) -> Vec<f64> {
    let mut scores = vec![f64::NAN; rows.n];
    for (k, scorer) in scorers.iter().enumerate() {
        let mine: Vec<usize> = (0..rows.n).filter(|&i| fold(i).is_some_and(|f| scorers.len() == 1 || usize::from(f) == k)).collect();
        let mut part = Vec::with_capacity(mine.len());
        if mine.len() == rows.n {
            scorer.score(rows, &mut part);
        } else {
            scorer.score(&rows.take(&mine), &mut part);
        }
        mine.iter().zip(part).for_each(|(&i, score)| scores[i] = score);
    }
    scores
}

/// Writes the scores of a carried column, checked, for the audited rows.
///
/// # Errors
/// A score outside [0, 1]: names row and value; the rows cannot be read; the disk refuses; the run is to stop.
pub fn copy_scores(ground: Ground<'_>, carried: usize, column: &str, out: &Path) -> Result<()> {
    let (encoder, mut writer) = create_scores(out)?;
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let batch = ground.rows.read_keys(g)?;
            let roles = ground.roles.read(g)?;
            let mut scores = batch.carried[carried].clone();
            for (i, score) in scores.iter_mut().enumerate() {
                if roles.audited(i).is_none() {
                    *score = f64::NAN;
                } else if !score.is_nan() && !(0.0..=1.0).contains(score) {
                    return Err(Fault::new("bad-scores", format!("the score `{score}` is not in [0, 1]"))
                        .at_row(format!("row {}", batch.row[i]))
                        .in_column(column)
                        .hint("scores are probabilities of the positive class; rescale them where they are made")
                        .into());
                }
            }
            (ground.watch.progress)(scores.len() as u64);
            encoder.encode(&scores)
        },
        |_, encoded| writer.append(encoded),
    )?;
    writer.finish()
}

/// Joins a file of factual scores to the audited rows; rows that the file lacks get none.
///
/// # Errors
/// A fault of the file (see [`ScoreJoin`]), no row found at all, the disk refuses, the run is to stop.
pub fn join_rows(ground: Ground<'_>, file: &KeyedScores, out: &Path) -> Result<()> {
    let key = |batch: &PreparedBatch, i: usize| ScoreKey { row_key: batch.row_key[i], to_group: 0, cf_index: 0 };
    join(
        ground,
        file,
        out,
        |g, batch, join| {
            let roles = ground.roles.read(g)?;
            (0..batch.row.len()).map(|i| if roles.audited(i).is_some() { join.take(key(batch, i), None) } else { Ok(None) }).collect()
        },
        |g, batch| {
            let roles = ground.roles.read(g)?;
            let left = |i: usize| if roles.audited(i).is_some() { Leftover::Twice } else { Leftover::NotAudited };
            Ok((0..batch.row.len()).map(|i| (key(batch, i), left(i))).collect())
        },
    )
}

/// Joins a file of counterfactual scores to the counterfactuals of one set and attribute.
///
/// # Errors
/// As [`join_rows`].
pub fn join_counterfactuals(
    ground: Ground<'_>,
    file: &KeyedScores,
    counterfactuals: &CounterfactualReader,
    attribute: usize,
    out: &Path,
) -> Result<()> {
    let key = |batch: &PreparedBatch, keys: &CounterfactualKeys, i: usize| ScoreKey {
        row_key: batch.row_key[keys.parent[i] as usize],
        to_group: keys.to_group[i],
        cf_index: keys.cf_index[i],
    };
    let n_groups = u16::try_from(ground.rows.layout().attributes[attribute].groups.len()).unwrap_or(u16::MAX);
    join(
        ground,
        file,
        out,
        |g, batch, join| {
            let keys = counterfactuals.keys(g)?;
            let own = |i: usize| Some(batch.groups[attribute][keys.parent[i] as usize]);
            (0..keys.parent.len()).map(|i| join.take(key(batch, &keys, i), own(i))).collect()
        },
        |g, batch| {
            let keys = counterfactuals.keys(g)?;
            let mut known: Vec<(ScoreKey, Leftover)> = (0..keys.parent.len()).map(|i| (key(batch, &keys, i), Leftover::Twice)).collect();
            let roles = ground.roles.read(g)?;
            for i in 0..batch.row.len() {
                let group = batch.groups[attribute][i];
                if roles.audited(i).is_none() || group == MISSING_GROUP {
                    known.extend(
                        (0..n_groups).map(|to_group| (ScoreKey { row_key: batch.row_key[i], to_group, cf_index: 0 }, Leftover::NotAudited)),
                    );
                }
            }
            Ok(known)
        },
    )
}

fn join(
    ground: Ground<'_>,
    file: &KeyedScores,
    out: &Path,
    mut take: impl FnMut(usize, &PreparedBatch, &mut ScoreJoin<'_>) -> Result<Vec<Option<f64>>>,
    known: impl Fn(usize, &PreparedBatch) -> Result<Vec<(ScoreKey, Leftover)>>,
) -> Result<()> {
    let (encoder, mut writer) = create_scores(out)?;
    let mut join = ScoreJoin::new(file);
    let (mut wanted, mut found) = (0_u64, 0_u64);
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            ground.rows.read_keys(g)
        },
        |g, batch| {
            let scores = take(g, &batch, &mut join)?;
            wanted += scores.len() as u64;
            found += scores.iter().flatten().count() as u64;
            (ground.watch.progress)(scores.len() as u64);
            let scores: Vec<f64> = scores.into_iter().map(|s| s.unwrap_or(f64::NAN)).collect();
            writer.append(encoder.encode(&scores)?)
        },
    )?;
    if wanted > 0 && found == 0 {
        return Err(Fault::new("no-scores-found", "the score file has a score for none of the audited rows")
            .in_file(file.path())
            .in_column("row_id")
            .hint("row_id must be the job's `data.row_id`, or, without one, the row number of the source counted from 0")
            .into());
    }
    if join.read_rest()? > 0 {
        let mut judged = HashMap::new();
        for g in 0..ground.rows.n_groups() {
            judged.extend(known(g, &ground.rows.read_keys(g)?)?.into_iter().filter(|(key, _)| join.is_waiting(key)));
        }
        join.finish(|key| judged.get(key).copied().unwrap_or(Leftover::Unknown))?;
    }
    writer.finish()
}
