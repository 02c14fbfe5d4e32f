//! The stage `score` for scores computed elsewhere: joins a file to the audited rows or to their
//! counterfactuals, and checks it on the way.
//!
//! A file answers a request, so it must hold every requested key (a row that cannot be scored keeps
//! its key and has a null score) and no key without a row in the data. With `recheck` it also holds
//! some factual rows again; scores that differ there come from another model or other data than the
//! factual ones, and nothing measured from the two together would mean anything.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::exchange::keyed::{KeyedFile, ScoreKey};
use crate::data::exchange::to_score::RequestRow;
use crate::data::rows::aligned::{CounterfactualReader, SCORES, ScoreReader, write_precision};
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{Attribute, MISSING_GROUP};
use crate::error::{Fault, Result};
use crate::folder::manifest::RecheckWords;
use crate::metric::evidence::additive::additive;
use crate::num::additive::Additive;
use crate::num::seed::{h, u01};
use crate::stage::row_context::RowContext;
use crate::stage::score::score_file::{
    LeftoverScore, SCORE_KEY_HINT, STALE_SCORES_HINT, ScoreFile, WantedKey,
};

/// File of the stage `score` where rows are scored again.
pub(crate) const RECHECKED: &str = "rechecked.json";

/// Second argument of the hash that draws the rows to score again: a separate stream.
const RECHECK_STREAM: u64 = u64::from_le_bytes(*b"recheck\0");

/// The audited rows that are scored again as they are: those with `u01(h(seed, row_key, recheck))`
/// below the share, and those with the lowest hashes, so that there are always some: of few rows
/// about half, so that there are others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecheckSample {
    seed: u64,
    share: f64,
    lowest: u64,
}

impl RecheckSample {
    /// Draws among the audited rows, of a declared group where an attribute is given; at least so
    /// many, or of few rows a part.
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
        row_context.row_groups().in_turn(
            |g| {
                let (batch, roles) = row_context.read(g, Projection::KEYS)?;
                let rows = (0..batch.row.len()).filter(|&i| eligible(&batch, &roles, attribute, i));
                let mut hashes: Vec<u64> = rows.map(|i| all.hash(batch.row_key[i])).collect();
                hashes.sort_unstable();
                hashes.truncate(at_least);
                Ok((0, hashes))
            },
            |hashes| {
                lowest.extend(hashes);
                lowest.sort_unstable();
                lowest.truncate(at_least);
            },
        )?;
        let last = lowest.last().copied().filter(|_| lowest.len() == at_least);
        let end = lowest.first().copied().map_or(0, Self::end);
        Ok(RecheckSample { lowest: last.unwrap_or(u64::MAX).min(end), ..all })
    }

    /// The largest hash of a row that is drawn for having one of the lowest, given the lowest of
    /// all: so few rows are drawn only in part, in every shard alike.
    pub(crate) fn end(lowest: u64) -> u64 {
        lowest.max(u64::MAX / 2)
    }

    /// Only the rows that the share draws.
    pub(crate) fn by_share(seed: u64, share: f64) -> Self {
        RecheckSample { seed, share, lowest: 0 }
    }

    /// The hash by which a row is drawn.
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

    /// These rows, each asked for in its own group of an attribute.
    pub(crate) fn asked<'b>(
        &self,
        batch: &'b PreparedBatch,
        roles: &RowRoles,
        attribute: usize,
    ) -> impl Iterator<Item = RequestRow> + use<'b> {
        let again = self.rows(batch, roles, Some(attribute)).into_iter();
        again.map(move |row| RequestRow::of_row(row, attribute, batch.groups[attribute][row]))
    }
}

/// Whether a row is audited, and, where it is to have counterfactuals, of a declared group.
fn eligible(batch: &PreparedBatch, roles: &RowRoles, attribute: Option<usize>, i: usize) -> bool {
    roles.audited(i).is_some()
        && attribute.is_none_or(|attribute| batch.groups[attribute][i] != MISSING_GROUP)
}

impl Additive for RecheckWords {
    fn absorb(&mut self, other: &RecheckWords) {
        self.rows += other.rows;
        self.differ += other.differ;
        self.largest = self.largest.max(other.largest);
    }
}

impl RecheckWords {
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

additive!(accumulated JoinedScores { entries, again });

/// What is wanted of one row group.
struct WantedGroup {
    /// Its rows, or its counterfactuals as part 1, in the order of the file.
    asked: Vec<RequestRow>,
    /// Their keys.
    keys: Vec<WantedKey>,
    /// Scores that the stage writes.
    n_scores: usize,
    /// The factual scores of the rows; empty where nothing is compared.
    factual: Vec<f64>,
}

/// The counterfactuals whose scores a file holds.
pub(crate) struct JoinedCounterfactuals {
    /// For one set and attribute.
    pub(crate) made: CounterfactualReader,
    /// Position of the attribute.
    pub(crate) attribute: usize,
    /// The rows that are scored again, where a model of the job asks for them.
    pub(crate) sample: Option<RecheckSample>,
    /// Their factual scores, class by class, and the largest difference; none where only another
    /// model asks for the rows.
    pub(crate) factual: Option<(Vec<ScoreReader>, f64)>,
}

/// A file of scores being joined to the audited rows, or to their counterfactuals; other rows get
/// none.
pub(crate) struct ScoreFileJoin<'a> {
    pub(crate) context: RowContext<'a>,
    pub(crate) file: &'a KeyedFile,
    /// The class whose scores it holds; 0 where there is one score a row.
    pub(crate) class: usize,
    /// None for factual scores.
    pub(crate) set: Option<&'a JoinedCounterfactuals>,
}

/// The rows of a row group that are audited, as they are.
pub(crate) fn audited_rows(roles: &RowRoles) -> impl Iterator<Item = RequestRow> {
    let audited = (0..roles.0.len()).filter(|&row| roles.audited(row).is_some());
    audited.map(|row| RequestRow::of_row(row, 0, 0))
}

impl ScoreFileJoin<'_> {
    /// The attribute of counterfactual scores.
    fn attribute(&self) -> Option<&Attribute> {
        self.set.map(|set| &self.context.rows.layout().attributes[set.attribute])
    }

    /// Whether a row is asked for a second time.
    fn is_recheck(&self, asked: &RequestRow) -> bool {
        self.set.is_some() && asked.source.0 == 0
    }

    /// How far scores of rows that are scored again may differ.
    fn tolerance(&self) -> Option<f64> {
        self.set?.factual.as_ref().map(|(_, tolerance)| *tolerance)
    }

    /// The key of a counterfactual, or of a row in a group.
    fn key(batch: &PreparedBatch, of: &RequestRow) -> ScoreKey {
        let RequestRow { row, to_group, cf_index, .. } = *of;
        ScoreKey { row_key: batch.row_key[row], to_group, cf_index }
    }

    /// What is wanted of a row group.
    fn wanted(&self, g: usize) -> Result<WantedGroup> {
        let (batch, roles) = self.context.read(g, Projection::KEYS)?;
        let (mut asked, mut factual, mut n_scores) = (Vec::new(), Vec::new(), batch.row.len());
        match self.set {
            None => asked.extend(audited_rows(&roles)),
            Some(JoinedCounterfactuals { made, attribute, sample, factual: known }) => {
                asked.extend(RequestRow::of_keys(&made.keys(g)?, *attribute, 1));
                n_scores = asked.len();
                if let (Some(sample), Some((scores, _))) = (sample, known) {
                    asked.extend(sample.asked(&batch, &roles, *attribute));
                    factual = scores[self.class].read(g)?;
                }
            }
        }
        asked.sort_unstable();
        let own = |of: &RequestRow| self.set.map(|set| batch.groups[set.attribute][of.row]);
        let key = |of: &RequestRow| WantedKey { key: Self::key(&batch, of), own: own(of) };
        let keys = asked.iter().map(key).collect();
        Ok(WantedGroup { asked, keys, n_scores, factual })
    }

    /// The keys that a row group has, and why an entry of such a key is left over; of a key that is
    /// named twice the last counts.
    fn known(&self, g: usize) -> Result<Vec<(ScoreKey, LeftoverScore)>> {
        let (batch, roles) = self.context.read(g, Projection::KEYS)?;
        let key = |of: RequestRow| Self::key(&batch, &of);
        let Some(JoinedCounterfactuals { made, attribute, sample, factual }) = self.set else {
            let left = |i: usize| match roles.audited(i) {
                Some(_) => LeftoverScore::Duplicate,
                None => LeftoverScore::NotAsked,
            };
            let rows = 0..batch.row.len();
            return Ok(rows.map(|i| (key(RequestRow::of_row(i, 0, 0)), left(i))).collect());
        };
        let (keys, attribute) = (made.keys(g)?, *attribute);
        let made = RequestRow::of_keys(&keys, attribute, 1);
        let mut known: Vec<_> = made.map(|of| (key(of), LeftoverScore::Duplicate)).collect();
        let n_groups = self.attribute().map_or(0, |of| of.groups.len());
        let n_groups = u16::try_from(n_groups).unwrap_or(u16::MAX);
        for i in 0..batch.row.len() {
            let of = |to: u16| key(RequestRow::of_row(i, attribute, to));
            if eligible(&batch, &roles, Some(attribute), i) {
                known.push((of(batch.groups[attribute][i]), LeftoverScore::OwnGroup));
            } else {
                known.extend((0..n_groups).map(|to| (of(to), LeftoverScore::NotAsked)));
            }
        }
        if let Some(sample) = sample {
            let left = match factual {
                Some(_) => LeftoverScore::Duplicate,
                None => LeftoverScore::NotAsked,
            };
            known.extend(sample.asked(&batch, &roles, attribute).map(|of| (key(of), left)));
        }
        Ok(known)
    }
}

/// Keys that the file lacks.
#[derive(Default)]
struct MissingKeys {
    n: u64,
    first: Option<(usize, RequestRow)>,
}

/// Rows scored again.
#[derive(Default)]
struct RecheckTally {
    result: RecheckWords,
    /// Those rows among them that have a score in only one file.
    n_one_sided: u64,
    /// Row group and position of the first that differs.
    first: Option<(usize, usize)>,
}

impl RecheckTally {
    fn add(&mut self, (group, row): (usize, usize), factual: f64, again: f64, tolerance: f64) {
        let before = self.result.differ;
        // A row without a score must have none again.
        if factual.is_nan() == again.is_nan() {
            self.result.compare(factual, again, tolerance);
        } else {
            self.result.absorb(&RecheckWords { rows: 1, differ: 1, largest: 0.0 });
            self.n_one_sided += 1;
        }
        if self.result.differ > before {
            self.first.get_or_insert((group, row));
        }
    }
}

impl ScoreFileJoin<'_> {
    /// Joins the file; of a shard one whose keys are in the order of its rows.
    ///
    /// # Errors
    /// A fault of the file (see [`ScoreFile`]), a row that it lacks, a row scored again that
    /// differs, the disk refuses, the run is to stop.
    pub(crate) fn join(&self, out: &Path) -> Result<JoinedScores> {
        let rows = self.context.rows;
        let (encoder, mut writer) = SCORES.create(out)?;
        let mut file = ScoreFile::new(self.file, self.context);
        let (mut entries, mut lacking) = (0_u64, MissingKeys::default());
        let mut compared = RecheckTally::default();
        let tolerance = self.tolerance();
        self.context.row_groups().in_order(
            |g| {
                let group = self.wanted(g)?;
                Ok((group.n_scores as u64, group))
            },
            |g, group| {
                entries += group.asked.len() as u64;
                let found = file.take(&group.keys, |k| {
                    lacking.n += 1;
                    lacking.first.get_or_insert((g, group.asked[k]));
                })?;
                let mut scores = vec![f64::NAN; group.n_scores];
                for (asked, score) in group.asked.iter().zip(found) {
                    if self.is_recheck(asked) {
                        let tolerance = tolerance.unwrap_or(f64::INFINITY);
                        let factual = group.factual[asked.row];
                        compared.add((g, asked.row), factual, score, tolerance);
                    } else {
                        scores[asked.source.1] = score;
                    }
                }
                writer.append(encoder.encode(scores)?)
            },
        )?;
        // What a shard leaves is for the others, and counted when all are merged.
        if !rows.are_of_shard() {
            self.check_complete(file, entries, &lacking)?;
        }
        writer.finish()?;
        write_precision(out, self.file.precision)?;
        if let (Some((g, row)), Some(tolerance)) = (compared.first, tolerance) {
            return Err(self.recheck_fault(&compared, tolerance, g, row)?.into());
        }
        Ok(JoinedScores { entries, again: compared.result })
    }

    /// Fails if the file lacks keys, or has others.
    fn check_complete(
        &self,
        mut file: ScoreFile<'_>,
        n_wanted: u64,
        lacking: &MissingKeys,
    ) -> Result<()> {
        if n_wanted > 0 && lacking.n == n_wanted {
            return Fault::new(
                "no-scores-found",
                "the score file has no score for any audited row",
            )
            .in_file(&self.file.path)
            .in_column("row_id")
            .fail(format!(
                "{SCORE_KEY_HINT}: row_id must be the job's `data.row_id`, or, without one, \
                 the row number of the source from 0; cf_index must be that of the rows to score; \
                 {STALE_SCORES_HINT}"
            ));
        }
        if file.read_rest()? > 0 {
            // Judged by the whole key, else only by the row; the last information about a key
            // counts.
            let mut judged: HashMap<ScoreKey, Option<LeftoverScore>> =
                file.waiting().map(|key| (*key, None)).collect();
            let mut strange: HashSet<u64> = file.waiting().map(|key| key.row_key).collect();
            let rows = self.context.rows;
            for g in 0..rows.n_groups() {
                for (key, left) in self.known(g)? {
                    judged.entry(key).and_modify(|judged| *judged = Some(left));
                }
                rows.read(g, Projection::KEYS)?.row_key.iter().for_each(|row| {
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
            file.finish(|key| {
                judged.get(key).copied().flatten().unwrap_or_else(|| of_row(&key.row_key))
            })?;
        }
        match lacking.first {
            None => Ok(()),
            Some((g, first)) => Err(self.missing_scores(lacking.n, n_wanted, g, &first)?.into()),
        }
    }

    /// The row's id as the user's data have it.
    fn id(&self, g: usize, row: usize) -> Result<String> {
        Ok(self.context.rows.read_ids(g)?.text(row))
    }

    fn missing_scores(&self, n: u64, of: u64, g: usize, first: &RequestRow) -> Result<Fault> {
        let mut key = format!("row_id `{}`", self.id(g, first.row)?);
        let mut hint = "score every line of the rows to score, with the same key; a row that \
                        cannot be scored has a null score"
            .to_owned();
        if let Some(attribute) = self.attribute() {
            let to = attribute.groups.get(usize::from(first.to_group)).map_or("", String::as_str);
            key = format!(
                "{key}, sensitive `{}`, to_group `{to}`, cf_index {}",
                attribute.name, first.cf_index
            );
            if self.is_recheck(first) {
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
            .in_file(&self.file.path)
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
            .in_file(&self.file.path)
            .at_row(format!("row_id `{}` (the first)", self.id(g, row)?))
            .hint(
                "score the rows and their counterfactuals with the same version of the model, \
                 on the rows requested by this job",
            ))
    }
}
