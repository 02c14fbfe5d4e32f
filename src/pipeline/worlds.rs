//! The stages `generate` and `score`: rows of the other worlds, and the scores of both.
//!
//! Both are maps over the row groups of the prepared rows; what they write lines up with these (see `data::aligned`). Files of scores
//! made elsewhere are joined in `joining`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::counterfactual::write_back::{Change, RawCounts, WriteBack, Written};
use crate::counterfactual::{Generated, Generator};
use crate::data::aligned::{CounterfactualKeys, CounterfactualReader, create_counterfactuals, create_scores};
use crate::data::rows::{PreparedBatch, RowsReader};
use crate::data::split::{Roles, RolesReader};
use crate::data::{Attribute, Feature, MISSING_GROUP, Rows};
use crate::error::{Error, Fault, Result};
use crate::model::Scorer;
use crate::pipeline::folder;
use crate::table::manifest::WrittenValue;
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
/// declared groups, then `cf_index`. `generators` holds one generator per fold, or one for all. Columns that the attribute is derived
/// from are written back, and derived features computed again (see `counterfactual::write_back`); what was written is said beside the
/// counterfactuals, in [`FOLLOWED`].
///
/// # Errors
/// The rows cannot be read, the disk refuses, or the run is to stop.
pub fn generate(ground: Ground<'_>, generators: &[Box<dyn Generator>], attribute: usize, with_features: bool, out: &Path) -> Result<()> {
    let layout = ground.rows.layout();
    let write_backs = if with_features { write_backs(ground, attribute)? } else { Vec::new() };
    let of = &layout.attributes[attribute];
    let (encoder, mut writer) = create_counterfactuals(out, with_features.then_some(layout))?;
    let mut written = Written::default();
    let mut unreached = vec![0_u64; of.groups.len()];
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let batch = if with_features { ground.rows.read(g)? } else { ground.rows.read_keys(g)? };
            let roles = ground.roles.read(g)?;
            let mut unreached = vec![0; of.groups.len()];
            let reaches = |i: usize, to: usize| write_back_of(&write_backs, &roles, i).is_none_or(|back| back.reaches(to));
            let (keys, mut rows) = generate_group(generators, of, attribute, &roles, &batch, with_features, &reaches, &mut unreached);
            let written = write_back(&write_backs, &roles, &batch, attribute, &keys, &mut rows);
            (ground.watch.progress)(keys.parent.len() as u64);
            Ok::<_, Error>((encoder.encode(keys, &rows)?, written, unreached))
        },
        |_, (encoded, part, missed)| {
            written.merge(&part);
            unreached.iter_mut().zip(missed).for_each(|(sum, n)| *sum += n);
            writer.append(encoded)
        },
    )?;
    writer.finish()?;
    let derived = layout.derivation(of.feature).is_some();
    let value = |(from, to, column, value, n): (usize, usize, &Feature, String, u64)| WrittenValue {
        from_group: of.groups[from].clone(),
        to_group: of.groups[to].clone(),
        column: column.name.clone(),
        value,
        n,
    };
    let followed = Followed {
        written: if derived { written.values(layout).map(value).collect() } else { Vec::new() },
        unreached: of.groups.iter().cloned().zip(unreached).filter(|(_, n)| *n > 0).collect(),
    };
    folder::write_json(&out.join(FOLLOWED), &followed)
}

/// File of the stage `generate` beside the counterfactuals.
pub const FOLLOWED: &str = "followed.json";

/// What followed from setting an attribute.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Followed {
    /// The values that were written for groups of a derived attribute.
    pub written: Vec<WrittenValue>,
    /// Groups that no reference row stands for, with the number of people who have no counterfactual there.
    pub unreached: Vec<(String, u64)>,
}

/// What follows from setting an attribute, per fold where rows are audited in folds. The reference rows are those that train; where none
/// trains, all that are audited.
fn write_backs(ground: Ground<'_>, attribute: usize) -> Result<Vec<WriteBack>> {
    let layout = ground.rows.layout();
    let empty = RawCounts::new(layout, attribute);
    let n_folds = if ground.roles.n_trained() == 0 { 1 } else { ground.roles.n_folds() };
    let mut counts = vec![empty.clone(); n_folds];
    if empty.is_needed() {
        let refers = |roles: &Roles, i: usize, fold: usize| match ground.roles.n_trained() {
            0 => roles.audited(i).is_some(),
            _ => u8::try_from(fold).is_ok_and(|fold| roles.trains(i, fold)),
        };
        let look = |g: usize| {
            (ground.watch.check)()?;
            let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
            let mut part = vec![empty.clone(); n_folds];
            for i in 0..batch.rows.n {
                let label = batch.label.get(i).copied().flatten();
                part.iter_mut().enumerate().filter(|(fold, _)| refers(&roles, i, *fold)).for_each(|(_, c)| c.add(&batch.rows, i, label));
            }
            Ok::<_, Error>(part)
        };
        ground.workers.map(ground.rows.n_groups(), look, |_, part| {
            counts.iter_mut().zip(&part).for_each(|(whole, part)| whole.merge(part));
            Ok::<_, Error>(())
        })?;
    }
    Ok(counts.iter().map(|counts| WriteBack::new(layout, attribute, counts)).collect())
}

/// What follows in the counterfactuals of a row; `write_backs` are per fold, one for all, or none.
fn write_back_of<'a>(write_backs: &'a [WriteBack], roles: &Roles, i: usize) -> Option<&'a WriteBack> {
    match write_backs {
        [one] => Some(one),
        by_fold => by_fold.get(usize::from(roles.audited(i)?)),
    }
}

/// Lets everything derived follow in the counterfactuals of one row group.
fn write_back(
    write_backs: &[WriteBack],
    roles: &Roles,
    batch: &PreparedBatch,
    attribute: usize,
    keys: &CounterfactualKeys,
    rows: &mut Rows,
) -> Written {
    let mut written = Written::default();
    for (fold, back) in write_backs.iter().enumerate().filter(|(_, back)| !back.is_empty()) {
        let change = |row: usize| {
            let parent = keys.parent[row] as usize;
            Change { row, parent, from: usize::from(batch.groups[attribute][parent]), to: usize::from(keys.to_group[row]) }
        };
        let mine = |change: &Change| write_backs.len() == 1 || roles.audited(change.parent).is_some_and(|own| usize::from(own) == fold);
        let changes: Vec<Change> = (0..rows.n).map(change).filter(mine).collect();
        written.merge(&back.apply(rows, &changes, &batch.rows, &batch.label));
    }
    written
}

/// Generates for the rows of one row group; adds to `unreached` the people for whom a group is out of reach.
#[expect(clippy::too_many_arguments, reason = "the parts of one row group, each used once")]
fn generate_group(
    generators: &[Box<dyn Generator>],
    attribute: &Attribute,
    position: usize,
    roles: &Roles,
    batch: &PreparedBatch,
    with_features: bool,
    reaches: &dyn Fn(usize, usize) -> bool,
    unreached: &mut [u64],
) -> (CounterfactualKeys, Rows) {
    let own = &batch.groups[position];
    let mut parts: Vec<(usize, Vec<usize>, Generated)> = Vec::new();
    for (to, unreached) in unreached.iter_mut().enumerate() {
        for (fold, generator) in generators.iter().enumerate() {
            let (parents, beyond): (Vec<usize>, Vec<usize>) = (0..batch.row.len())
                .filter(|&i| {
                    let right_fold = roles.audited(i).is_some_and(|f| generators.len() == 1 || usize::from(f) == fold);
                    right_fold && own[i] != MISSING_GROUP && usize::from(own[i]) != to
                })
                .partition(|&i| reaches(i, to));
            *unreached += beyond.len() as u64;
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

/// Writes one score per counterfactual by models trained here; the row's own fold decides which model. A model that was trained without
/// anybody of a group knows nothing of it: there its counterfactuals get no score, rather than one that looks as if nothing changed.
///
/// # Errors
/// As [`score_rows`].
pub fn score_counterfactuals(
    ground: Ground<'_>,
    scorers: &[Box<dyn Scorer>],
    counterfactuals: &CounterfactualReader,
    attribute: usize,
    out: &Path,
) -> Result<()> {
    let (encoder, mut writer) = create_scores(out)?;
    let known = trained_groups(ground, attribute, scorers.len())?;
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let (keys, rows) = counterfactuals.rows(g, ground.rows.layout())?;
            let roles = ground.roles.read(g)?;
            let fold = |i: usize| roles.audited(keys.parent[i] as usize);
            let mut scores = score_by_fold(scorers, &rows, fold);
            for (i, score) in scores.iter_mut().enumerate() {
                let fold = if known.len() == 1 { 0 } else { fold(i).map_or(0, usize::from) };
                if !known[fold][usize::from(keys.to_group[i])] {
                    *score = f64::NAN;
                }
            }
            (ground.watch.progress)(rows.n as u64);
            encoder.encode(&scores)
        },
        |_, encoded| writer.append(encoded),
    )?;
    writer.finish()
}

/// For each fold whether a model trained in it can know each group: somebody of it is among the rows that train. What a derived attribute is
/// made of is known by its own.
fn trained_groups(ground: Ground<'_>, attribute: usize, n_folds: usize) -> Result<Vec<Vec<bool>>> {
    let layout = ground.rows.layout();
    let of = &layout.attributes[attribute];
    let derived = layout.derivation(of.feature).is_some();
    let none = vec![vec![derived; of.groups.len()]; n_folds];
    if derived {
        return Ok(none);
    }
    let mut known = none.clone();
    let look = |g: usize| {
        (ground.watch.check)()?;
        let (batch, roles) = (ground.rows.read_keys(g)?, ground.roles.read(g)?);
        let mut part = none.clone();
        for (i, &group) in batch.groups[attribute].iter().enumerate().filter(|(_, group)| **group != MISSING_GROUP) {
            for (fold, known) in (0..).zip(&mut part) {
                known[usize::from(group)] |= roles.trains(i, fold);
            }
        }
        Ok::<_, Error>(part)
    };
    ground.workers.map(ground.rows.n_groups(), look, |_, part| {
        known.iter_mut().flatten().zip(part.into_iter().flatten()).for_each(|(known, here)| *known |= here);
        Ok::<_, Error>(())
    })?;
    Ok(known)
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

#[cfg(test)]
mod tests;
