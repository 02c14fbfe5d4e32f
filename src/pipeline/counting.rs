//! The stage `count`: folds scored rows into evidence, and writes the outcomes row by row.
//!
//! Evidence is integers and fixed-point sums only, one mergeable value per row group, so it does not depend on threads or batches. The
//! counts take one pass; the Jensen-Shannon distance needs the sums of all scores first, hence a second pass over the scores.

use std::path::Path;

use crate::data::aligned::{CounterfactualKeys, CounterfactualReader, ScoreReader};
use crate::data::rows::PreparedBatch;
use crate::data::split::Roles;
use crate::data::{Attribute, Layout, MISSING_GROUP};
use crate::error::{Error, Result};
use crate::metric::counts::{Counterfactual, CounterfactualCounts, FactualCounts, Person};
use crate::metric::shift::ShiftPass;
use crate::model::Decision;
use crate::pipeline::worlds::Ground;
use crate::table::OUTCOMES;
use crate::table::io::{LongColumn, LongWriter};

/// How scores of a model become decisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// The rule.
    pub decision: Decision,
    /// The threshold.
    pub threshold: Threshold,
}

/// The threshold of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// The same for all.
    Fixed(f64),
    /// Position of a carried column.
    Carried(usize),
}

impl Cut {
    fn at(&self, batch: &PreparedBatch, i: usize) -> f64 {
        match self.threshold {
            Threshold::Fixed(threshold) => threshold,
            Threshold::Carried(column) => batch.carried[column][i],
        }
    }
}

/// For each declared group its position in reference-first order: the order in which metrics count.
fn ranks(attribute: &Attribute) -> Vec<usize> {
    let mut ranks = vec![0; attribute.groups.len()];
    attribute.reference_first().iter().enumerate().for_each(|(rank, &group)| ranks[group] = rank);
    ranks
}

fn there(score: f64) -> Option<f64> {
    (!score.is_nan()).then_some(score)
}

/// Counts the audited rows of one model by the groups of one attribute.
///
/// # Errors
/// A file cannot be read, or the run is to stop.
pub fn count_rows(ground: Ground<'_>, cut: Cut, scores: &ScoreReader, attribute: usize) -> Result<FactualCounts> {
    let layout = ground.rows.layout();
    let ranks = ranks(&layout.attributes[attribute]);
    let empty = || FactualCounts::new(ranks.len(), layout.label.is_some());
    let mut whole = empty();
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let batch = ground.rows.read_keys(g)?;
            let scores = scores.read(g)?;
            let roles = ground.roles.read(g)?;
            let mut part = empty();
            for (i, (&score, &group)) in scores.iter().zip(&batch.groups[attribute]).enumerate() {
                if group == MISSING_GROUP || roles.audited(i).is_none() {
                    continue;
                }
                let threshold = cut.at(&batch, i);
                let predicted = cut.decision.decide(score, threshold);
                part.groups[ranks[usize::from(group)]].add(label(layout, &batch, i), predicted, score == threshold);
            }
            (ground.watch.progress)(batch.row.len() as u64);
            Ok::<_, Error>(part)
        },
        |_, part| {
            whole.merge(&part);
            Ok(())
        },
    )?;
    Ok(whole)
}

fn label(layout: &Layout, batch: &PreparedBatch, i: usize) -> Option<bool> {
    layout.label.as_ref().and_then(|_| batch.label[i])
}

/// What a pass over scored counterfactuals reads.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    /// How scores become decisions.
    pub cut: Cut,
    /// Position of the attribute.
    pub attribute: usize,
    /// The counterfactuals.
    pub counterfactuals: &'a CounterfactualReader,
    /// Scores of the rows.
    pub scores: &'a ScoreReader,
    /// Scores of the counterfactuals.
    pub scores_cf: &'a ScoreReader,
}

/// Both passes over the counterfactuals of one model, set and attribute.
///
/// # Errors
/// A file cannot be read, or the run is to stop.
pub fn count_counterfactuals(ground: Ground<'_>, scored: Scored<'_>) -> Result<(CounterfactualCounts, ShiftPass)> {
    let layout = ground.rows.layout();
    let n_groups = layout.attributes[scored.attribute].groups.len();
    let empty = || CounterfactualCounts::new(n_groups, layout.label.is_some());
    let mut counts = empty();
    pass(ground, scored, empty, |part, person, cfs| part.add(person, cfs), |part| counts.merge(&part))?;
    let mut second = counts.second_pass();
    let start = second.clone();
    pass(ground, scored, || start.clone(), |part, person, cfs| part.add(person, cfs), |part| second.merge(&part))?;
    Ok((counts, second))
}

fn pass<T: Send>(
    ground: Ground<'_>,
    scored: Scored<'_>,
    empty: impl Fn() -> T + Sync,
    add: impl Fn(&mut T, &Person, &[Counterfactual]) + Sync,
    mut merge: impl FnMut(T),
) -> Result<()> {
    let layout = ground.rows.layout();
    let ranks = ranks(&layout.attributes[scored.attribute]);
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            let group = ScoredGroup::read(ground, scored, g)?;
            let mut part = empty();
            let mut cfs = Vec::new();
            let mut next = 0;
            for i in 0..group.batch.row.len() {
                let own = group.batch.groups[scored.attribute][i];
                if own == MISSING_GROUP || group.roles.audited(i).is_none() {
                    continue;
                }
                let threshold = scored.cut.at(&group.batch, i);
                let decide = |score| scored.cut.decision.decide(score, threshold);
                cfs.clear();
                while group.keys.parent.get(next).is_some_and(|&parent| parent as usize == i) {
                    let score = group.scores_cf[next];
                    let to = ranks[usize::from(group.keys.to_group[next])];
                    cfs.push(Counterfactual { to, predicted: decide(score), score: there(score) });
                    next += 1;
                }
                let score = group.scores[i];
                let person = Person {
                    group: ranks[usize::from(own)],
                    label: label(layout, &group.batch, i),
                    predicted: decide(score),
                    score: there(score),
                };
                add(&mut part, &person, &cfs);
            }
            (ground.watch.progress)(group.batch.row.len() as u64);
            Ok(part)
        },
        |_, part| {
            merge(part);
            Ok(())
        },
    )
}

/// One row group with everything that stands beside it.
struct ScoredGroup {
    batch: PreparedBatch,
    roles: Roles,
    keys: CounterfactualKeys,
    scores: Vec<f64>,
    scores_cf: Vec<f64>,
}

impl ScoredGroup {
    fn read(ground: Ground<'_>, scored: Scored<'_>, g: usize) -> Result<Self> {
        Ok(ScoredGroup {
            batch: ground.rows.read_keys(g)?,
            roles: ground.roles.read(g)?,
            keys: scored.counterfactuals.keys(g)?,
            scores: scored.scores.read(g)?,
            scores_cf: scored.scores_cf.read(g)?,
        })
    }
}

/// Appends the outcomes of one model, set and attribute to the table, in the order of the rows.
///
/// # Errors
/// A file cannot be read, the disk refuses, or the run is to stop.
pub fn write_outcomes(ground: Ground<'_>, scored: Scored<'_>, model: &str, set: &str, writer: &mut LongWriter) -> Result<()> {
    let layout = ground.rows.layout();
    let attribute = &layout.attributes[scored.attribute];
    ground.workers.map(
        ground.rows.n_groups(),
        |g| {
            (ground.watch.check)()?;
            ScoredGroup::read(ground, scored, g)
        },
        |_, group| {
            let n = group.keys.parent.len();
            (ground.watch.progress)(n as u64);
            writer.push(n, outcome_columns(ground, scored, attribute, model, set, &group))
        },
    )
}

fn outcome_columns(
    ground: Ground<'_>,
    scored: Scored<'_>,
    attribute: &Attribute,
    model: &str,
    set: &str,
    group: &ScoredGroup,
) -> Vec<LongColumn> {
    let (batch, keys) = (&group.batch, &group.keys);
    let layout = ground.rows.layout();
    let parents = || keys.parent.iter().map(|&p| p as usize);
    let decide = |score: f64, i: usize| scored.cut.decision.decide(score, scored.cut.at(batch, i)).map(i64::from);
    let groups = attribute.groups.clone();
    vec![
        LongColumn::Same(String::new()),
        LongColumn::Same(model.to_owned()),
        LongColumn::Same(set.to_owned()),
        LongColumn::Same(attribute.name.clone()),
        LongColumn::Key(parents().map(|i| batch.row_key[i]).collect()),
        LongColumn::Text(groups.clone(), keys.to_group.clone()),
        LongColumn::Int(keys.cf_index.iter().map(|&k| Some(i64::from(k))).collect()),
        LongColumn::Int(parents().map(|i| group.roles.audited(i).map(i64::from)).collect()),
        LongColumn::Text(groups, parents().map(|i| batch.groups[scored.attribute][i]).collect()),
        LongColumn::Int(parents().map(|i| label(layout, batch, i).map(i64::from)).collect()),
        LongColumn::Int(parents().map(|i| decide(group.scores[i], i)).collect()),
        LongColumn::Int(parents().zip(&group.scores_cf).map(|(i, &score)| decide(score, i)).collect()),
        LongColumn::Real(parents().map(|i| group.scores[i]).collect()),
        LongColumn::Real(group.scores_cf.clone()),
    ]
}

/// Creates the table of outcomes in a folder.
///
/// # Errors
/// The disk refuses.
pub fn create_outcomes(folder: &Path) -> Result<LongWriter> {
    LongWriter::create(folder, &OUTCOMES)
}
