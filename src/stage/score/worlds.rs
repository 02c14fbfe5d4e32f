//! The stage `worlds` of a graph-uncertain set: the scores of every audited person in every world,
//! and their means and counts over the worlds.
//!
//! With expected levels a world moves encoded columns, the same for all rows of a group, so a row
//! is encoded once and no counterfactual row is ever written. With levels that are drawn the stage
//! `generate` wrote the rows that a person has in any world, the stage `score` asked the model, and
//! here every world takes the score of its row. It keeps for each world counts and sums over people
//! ([`WorldCounts`]), and for each person and target group the mean of the scores over all graphs:
//! that mean is what `counts`, `score_shift` and `outcomes` of such a set use. Where the job keeps
//! rows, the table `world_scores` has the results of the graphs for each person.
//! Memory: the worlds, and one row group per thread.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::causal::encoding::MissingRows;
use crate::counterfactual::graph_uncertain::CausalWorlds;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::data::Attribute;
use crate::data::rows::aligned::{
    CounterfactualKeys, CounterfactualReader, NO_ROW, SCORES, ScoreReader, SupportReader,
    WORLD_ROWS, WorldRowReader,
};
use crate::data::rows::{PreparedBatch, Projection};
use crate::error::{Error, Fault, Result};
use crate::exec::accumulator::{Accumulator, merge_each};
use crate::exec::{StageContext, files};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::value::worlds::{GraphWorld, WorldCounts, add_second};
use crate::num::summary::{SampleSpread, WeightedValue};
use crate::stage::count::evidence::{label, ranks};
use crate::stage::decided_scores::DecidedScores;
use crate::stage::kinds::{DiscoverStage, GenerateStage, ScoreStage, TrainStage, WorldsStage};
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::encoded_worlds::{EncodedModelRow, EncodedWorlds};
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput};
use crate::table::file::RowWriter;
use crate::table::{SharedText, WorldScoreRow, whole};
use crate::unit::AuditUnit;

/// File of the stage next to the mean scores.
pub(crate) const WORLD_COUNTS_FILE: &str = "worlds.json";

/// The most people whose variances are kept for sorting; with more their spread is not reported.
const PEOPLE_AT_MOST: u64 = 1_000_000;

/// Graphs are asked of one model, so its only fold.
const ONLY_FOLD: Option<u8> = Some(0);

/// What a stage finds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GraphScoreResult {
    /// Everybody in every world.
    pub counts: WorldCounts,
    /// For each direction, by positions in reference-first order, how far the scores of a person
    /// vary over graphs.
    pub people: Vec<((usize, usize), ScoreVariance)>,
}

/// The variances over graphs of the scores of the people of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreVariance {
    /// People.
    pub n: u64,
    /// Mean of their variances; none with one graph, without people, or with too many to sort.
    pub mean: Option<f64>,
    /// 2.5 % quantile.
    pub lo: Option<f64>,
    /// 97.5 % quantile.
    pub hi: Option<f64>,
}

/// How a model is asked in a world.
enum WorldAnswers<'a> {
    /// On encoded columns, which the worlds move; and whether rows without a value are left out,
    /// else they end the run.
    Encoded(EncodedWorlds<'a>, bool),
    /// On rows that were written and scored.
    Rows(WorldRows),
}

/// The rows of worlds with their scores.
pub(crate) struct WorldRows {
    /// The rows.
    pub(crate) made: CounterfactualReader,
    /// Which of them each world has.
    reached: WorldRowReader,
    scores: ScoreReader,
}

impl WorldRows {
    pub(crate) fn open(
        (made, scores): (&StageInput<GenerateStage>, &StageInput<ScoreStage>),
        row_context: RowContext<'_>,
    ) -> Result<Self> {
        Ok(WorldRows {
            made: made.open(row_context)?,
            reached: WORLD_ROWS.open(made.folder(row_context.ctx))?,
            scores: scores.open(row_context)?,
        })
    }

    /// The rows of a row group with these keys.
    pub(crate) fn read(&self, g: usize, keys: &CounterfactualKeys) -> Result<KeyedWorldRows> {
        let (starts, reached) = (row_starts(keys, &self.made.keys(g)?), self.reached.read(g)?);
        let n_worlds = reached.len() / keys.parent.len().max(1);
        Ok(KeyedWorldRows { starts, reached, n_worlds, scores: self.scores.read(g)? })
    }
}

/// The rows of worlds of a row group by their keys.
pub(crate) struct KeyedWorldRows {
    /// The first row of each key.
    starts: Vec<usize>,
    /// For each key, then world, its row.
    reached: Vec<u16>,
    /// For all graphs: those that were fitted on all training rows come last.
    n_worlds: usize,
    scores: Vec<f64>,
}

impl KeyedWorldRows {
    /// For each world in which a key has a row the number of the world, the place of the row, and
    /// its score.
    pub(crate) fn of_key(&self, key: usize) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let reached = &self.reached[key * self.n_worlds..(key + 1) * self.n_worlds];
        reached.iter().enumerate().filter(|(_, row)| **row != NO_ROW).map(move |(world, &row)| {
            let place = self.starts[key] + usize::from(row);
            (world, place, self.scores.get(place).copied().unwrap_or(f64::NAN))
        })
    }
}

/// Fills in the scores of a row of a row group in every world, for each target group; none where a
/// variable is missing. Gets the positions of the row and of its group, that of its first key, and
/// the target groups.
type AnswerRow<'g> = dyn FnMut((usize, usize), usize, &[usize], &mut [f64]) -> Result<()> + 'g;

/// What is to be scored.
struct GraphScoring<'a> {
    /// The graphs.
    worlds: &'a CausalWorlds,
    /// How the model is asked.
    answers: WorldAnswers<'a>,
    /// How its scores become decisions.
    rule: DecisionRule,
    /// Position of the attribute.
    position: usize,
    /// For each declared group its position in reference-first order.
    ranks: Vec<usize>,
    /// For each world and graph, then declared group, whether it saw a row of the group.
    saw: Vec<Vec<bool>>,
    /// Every audited row of a declared group in every other group.
    keys: CounterfactualReader,
    /// The unsupported values of these people.
    support: SupportReader,
    /// The scores of the rows as they are.
    scores: ScoreReader,
    /// Whether score metrics are asked for.
    wants_shift: bool,
    /// The model and the set of the table of single people; none where it is not kept.
    kept: Option<(&'a str, &'a str)>,
}

/// The names in the rows of single people.
struct ScoreNames {
    model: SharedText,
    set: SharedText,
    attribute: SharedText,
    /// In reference-first order.
    groups: Vec<SharedText>,
}

impl ScoreNames {
    fn new((model, set): (&str, &str), attribute: &Attribute, ranks: &[usize]) -> Self {
        let mut groups = vec![SharedText::default(); ranks.len()];
        for (group, &rank) in attribute.groups.iter().zip(ranks) {
            groups[rank] = group.into();
        }
        let [model, set, attribute] = [model, set, &attribute.name].map(SharedText::from);
        ScoreNames { model, set, attribute, groups }
    }
}

/// One row in every world, then in every graph fitted on all training rows.
struct PersonInWorlds<'r> {
    /// The key of the person.
    key: u64,
    /// The key of the row.
    row_key: u64,
    person: &'r ScoredPerson,
    /// World by world those of all target groups.
    counterfactuals: &'r [ScoredCounterfactual],
    /// World by world their scores as the model gave them; NaN where there is none.
    scores: &'r [f64],
    /// The target groups, by position in reference-first order.
    targets: &'r [usize],
}

/// What one row group gives.
struct WorldPart {
    counts: WorldCounts,
    /// By direction, at from * groups + to.
    variances: Vec<Vec<f64>>,
    /// Empty where they are not kept.
    persons: Vec<WorldScoreRow>,
}

impl GraphScoring<'_> {
    /// Scores all rows and writes mean scores and counts.
    ///
    /// # Errors
    /// A row lacks a value where none may, a file cannot be read or written, or the run is to stop.
    fn write(&self, row_context: RowContext<'_>, out: &Path) -> Result<()> {
        let attribute = &row_context.rows.layout().attributes[self.position];
        let groups = attribute.groups.len();
        let kinds = self.worlds.worlds.iter().zip(&self.worlds.all_rows_of);
        let kinds = kinds
            .map(|(w, &all_rows)| GraphWorld {
                bootstrap: w.replicate,
                copies: w.members.len() as u64,
                all_rows,
            })
            .collect();
        let replicates = &self.worlds.bag.replicates;
        let sampled = replicates.iter().any(|r| r.drawn != crate::causal::class::DagSampling::All);
        let absent = |saw: &Vec<bool>| {
            (0..groups).filter(|&group| !saw[group]).map(|group| self.ranks[group]).collect()
        };
        let absent = self.saw.iter().map(absent).collect();
        let empty = WorldCounts::new(kinds, groups, absent, sampled);
        let empty = match row_context.rows.layout().person {
            Some(_) => empty.with_persons(),
            None => empty,
        };
        let keeps = self.keys.n_rows() <= PEOPLE_AT_MOST;
        let (encoder, mut writer) = SCORES.create(out)?;
        let names = self.kept.map(|kept| ScoreNames::new(kept, attribute, &self.ranks));
        let mut persons =
            names.as_ref().map(|_| RowWriter::<WorldScoreRow>::create(out)).transpose()?;
        let mut counts = empty.clone();
        let mut variances = vec![Vec::new(); groups * groups];
        row_context.row_groups().in_order(
            |g| {
                let mut part = WorldPart {
                    counts: empty.clone(),
                    variances: vec![Vec::new(); groups * groups],
                    persons: Vec::new(),
                };
                let mut means = Vec::new();
                let rows = self.each_row(row_context, g, |row| {
                    part.counts.add(row.key, row.person, row.counterfactuals);
                    for (t, &to) in row.targets.iter().enumerate() {
                        let scores = row.scores.iter().skip(t).step_by(row.targets.len());
                        let (mean, variance) = self.score_moments(scores.copied());
                        means.push(mean);
                        let of_direction = &mut part.variances[row.person.group * groups + to];
                        of_direction.extend(variance.filter(|_| keeps));
                        let told = |names| self.person_scores(row, t, (mean, variance), names);
                        part.persons.extend(names.as_ref().map(told));
                    }
                })?;
                part.counts.settle();
                Ok((rows, (encoder.encode(means)?, part)))
            },
            |_, (encoded, part)| {
                counts.merge(part.counts);
                variances.iter_mut().zip(part.variances).for_each(|(all, part)| all.extend(part));
                if let Some(persons) = &mut persons {
                    persons.push(&part.persons)?;
                }
                writer.append(encoded)
            },
        )?;
        writer.finish()?;
        persons.map(RowWriter::finish).transpose()?;
        if self.wants_shift {
            let start = counts.second_pass();
            let second = row_context.row_groups().fold(
                || start.clone(),
                |part: &mut Vec<ShiftPass>, g| {
                    self.each_row(row_context, g, |row| {
                        add_second(part, row.key, row.person, row.counterfactuals)
                    })
                },
                merge_each,
            )?;
            counts.set_second_pass(second);
        }
        let directions = (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to)));
        let people = directions
            .zip(&variances)
            .filter(|((from, to), _)| from != to)
            .map(|(direction, variances)| (direction, variance_summary(variances)))
            .collect();
        files::write_compact(&out.join(WORLD_COUNTS_FILE), &GraphScoreResult { counts, people })
    }

    /// Passes on every row of a row group that has a counterfactual, in order; gives back the
    /// number of rows.
    fn each_row(
        &self,
        row_context: RowContext<'_>,
        g: usize,
        mut each: impl FnMut(&PersonInWorlds<'_>),
    ) -> Result<u64> {
        let layout = row_context.rows.layout();
        let (batch, keys, scores) =
            (row_context.rows.read(g, Projection::ALL)?, self.keys.keys(g)?, self.scores.read(g)?);
        let unsupported = self.support.read(g)?;
        let mut answer = self.answers_of(g, (&batch, &keys))?;
        let n_worlds = self.saw.len();
        let mut at = 0;
        let (mut counterfactuals, mut found) = (Vec::new(), Vec::new());
        while let Some(&parent) = keys.parent.get(at) {
            let n = keys.parent[at..].iter().take_while(|&&other| other == parent).count();
            let i = parent as usize;
            let own = usize::from(batch.groups[self.position][i]);
            let targets: Vec<usize> =
                keys.to_group[at..at + n].iter().map(|&to| usize::from(to)).collect();
            found.clear();
            found.resize(n * n_worlds, f64::NAN);
            answer((i, own), at, &targets, &mut found)?;
            counterfactuals.clear();
            let ranked: Vec<usize> = targets.iter().map(|&to| self.ranks[to]).collect();
            for (w, scores) in found.chunks_exact_mut(n).enumerate() {
                let of_targets = scores.iter_mut().zip(&ranked).zip(&targets);
                for (t, ((score, &to), &declared)) in of_targets.enumerate() {
                    if !self.saw[w][own] || !self.saw[w][declared] {
                        *score = f64::NAN;
                    }
                    counterfactuals.push(ScoredCounterfactual {
                        to,
                        predicted: self.rule.decide(&batch, ONLY_FOLD, i, *score),
                        score: self.rule.share(*score),
                        rounded: false,
                        unsupported: unsupported.get(at + t).copied().unwrap_or(0),
                    });
                }
            }
            let score = scores[i];
            let person = ScoredPerson {
                group: self.ranks[own],
                label: label(layout, &batch, i),
                predicted: self.rule.decide(&batch, ONLY_FOLD, i, score),
                score: self.rule.share(score),
                weight: 1,
            };
            each(&PersonInWorlds {
                key: batch.person_keys()[i],
                row_key: batch.row_key[i],
                person: &person,
                counterfactuals: &counterfactuals,
                scores: &found,
                targets: &ranked,
            });
            at += n;
        }
        Ok(batch.row.len() as u64)
    }

    /// How the rows of a row group are answered.
    fn answers_of<'g>(
        &'g self,
        g: usize,
        (batch, keys): (&'g PreparedBatch, &CounterfactualKeys),
    ) -> Result<Box<AnswerRow<'g>>> {
        let rows = match &self.answers {
            WorldAnswers::Rows(rows) => rows.read(g, keys)?,
            WorldAnswers::Encoded(worlds, drops_incomplete) => {
                let mut row = EncodedModelRow::default();
                return Ok(Box::new(move |(i, own), _, targets, found| {
                    if !worlds.encode(&batch.rows, i, &mut row) {
                        let missing = || missing_variable(batch, i);
                        return drops_incomplete.then_some(()).ok_or_else(missing);
                    }
                    for (t, &to) in targets.iter().enumerate() {
                        for (w, score) in worlds.scores(&mut row, (own, to)).enumerate() {
                            found[w * targets.len() + t] = score;
                        }
                    }
                    Ok(())
                }));
            }
        };
        Ok(Box::new(move |_, at, targets, found| {
            let n = targets.len();
            for t in 0..n {
                rows.of_key(at + t).for_each(|(w, _, score)| found[w * n + t] = score);
            }
            Ok(())
        }))
    }

    /// The result of the graphs for a person in the target group at this place of the row, with
    /// mean and variance of the scores.
    fn person_scores(
        &self,
        row: &PersonInWorlds<'_>,
        t: usize,
        (mean, variance): (f64, Option<f64>),
        names: &ScoreNames,
    ) -> WorldScoreRow {
        let n = row.targets.len();
        let copies = || self.worlds.worlds.iter().map(|world| world.members.len() as u64);
        let scores = copies().zip(row.scores.iter().skip(t).step_by(n));
        let sample: Vec<WeightedValue> = scores
            .filter(|(_, score)| !score.is_nan())
            .map(|(copies, &value)| WeightedValue { value, copies, weight: 1.0 })
            .collect();
        let around = SampleSpread::new(&sample, 0.95).and_then(|spread| spread.spread);
        let (mut switched, mut decided) = (0, 0);
        for (copies, moved) in copies().zip(row.counterfactuals.iter().skip(t).step_by(n)) {
            if let Some((own, moved)) = row.person.predicted.zip(moved.predicted) {
                decided += copies;
                switched += if own == moved { 0 } else { copies };
            }
        }
        let shown = |score: f64| self.rule.shown(score);
        WorldScoreRow {
            model: names.model.clone(),
            counterfactual: names.set.clone(),
            sensitive: names.attribute.clone(),
            row_key: row.row_key,
            to_group: names.groups[row.targets[t]].clone(),
            n_graphs: whole(sample.iter().map(|of| of.copies).sum()),
            score_mean: shown(mean),
            score_var: variance.and_then(shown),
            score_lo: around.and_then(|around| shown(around.lo)),
            score_hi: around.and_then(|around| shown(around.hi)),
            switch_share: (decided > 0).then(|| switched as f64 / decided as f64),
        }
    }

    /// Mean over all graphs of the scores of a row, NaN where there are none, and their variance,
    /// none of a single graph. `scores` has one for each world, then others.
    fn score_moments(&self, scores: impl Iterator<Item = f64> + Clone) -> (f64, Option<f64>) {
        let sample = || {
            let copies = self.worlds.worlds.iter().map(|world| world.members.len() as f64);
            copies.zip(scores.clone()).filter(|(_, score)| !score.is_nan())
        };
        let n: f64 = sample().map(|(copies, _)| copies).sum();
        if n == 0.0 {
            return (f64::NAN, None);
        }
        // Differences from the first score are summed: so the mean of equal scores is that score to
        // the last bit, which may be the threshold.
        let first = sample().map(|(_, score)| score).next().unwrap_or(0.0);
        let apart = sample().map(|(copies, score)| copies * (score - first)).sum::<f64>() / n;
        let ends = sample().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, score)| {
            (lo.min(score), hi.max(score))
        });
        let mean = (first + apart).clamp(ends.0, ends.1);
        let squares: f64 =
            sample().map(|(copies, score)| copies * (score - mean) * (score - mean)).sum();
        (mean, (n > 1.0).then(|| squares / (n - 1.0)))
    }
}

impl StageInput<WorldsStage> {
    /// What a model said in every world.
    pub(crate) fn graph_scores(&self, ctx: &StageContext<'_>) -> Result<GraphScoreResult> {
        self.read(ctx, WORLD_COUNTS_FILE)
    }

    /// For each key the mean of the scores over all graphs.
    pub(crate) fn scores(&self, row_context: RowContext<'_>) -> Result<ScoreReader> {
        row_context.scores(self.folder(row_context.ctx))
    }
}

impl Stage for WorldsStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let ((name, model), applied) = (plan.model_of(unit)?, plan.set_of(unit)?);
        let graphs = applied.its_graphs()?;
        let rows = RowInputs::of_job(b)?;
        let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
        let scored_rows = DecidedScores::need(b, unit, false)?;
        let made = b.need::<GenerateStage>(&applied.unit())?;
        let (mut scored, mut trained) = (None, None);
        if graphs.makes_rows() {
            scored = Some(b.need::<ScoreStage>(unit)?);
        } else {
            b.value("clip", graphs.clip_rule());
            trained = Some(b.need::<TrainStage>(unit)?);
        }
        let (position, (set, scenario)) = (applied.position, applied.scenario());
        b.texts([("scenario".to_owned(), scenario.to_owned())]);
        let wants_shift = b.value("score metrics", plan.wants_shift());
        let kept = plan.keeps_world_scores() && unit.repeat.is_none();
        let kept = kept.then_some((name, applied.set));
        b.texts(kept.map(|(name, set)| ("rows of people".to_owned(), format!("{name}/{set}"))));
        rows.work(if wants_shift { 2 } else { 1 }, move |ctx, row_context| {
            let attribute = &row_context.rows.layout().attributes[position];
            let groups = attribute.groups.len() as u64;
            // For more than two groups, sums over all may need separate sums.
            let places = if groups > 2 { 2 * (groups - 1) + 1 } else { 1 };
            plan.check_person_memory(row_context, places)?;
            let worlds = &found.open(ctx, scenario)?.worlds;
            let (rule, scores) = scored_rows.open(row_context)?;
            let models = trained.as_ref().map(|stage| stage.models(ctx, model, plan.n_folds()));
            let models = models.transpose()?;
            let answers = match (models.as_deref(), &scored) {
                (Some([model]), _) => {
                    let asked = (model.as_ref(), graphs.clip_rule());
                    let drops_incomplete = graphs.missing == MissingRows::Drop;
                    let encoded = EncodedWorlds::new(worlds, attribute, asked);
                    WorldAnswers::Encoded(encoded, drops_incomplete)
                }
                (None, Some(scored)) => {
                    WorldAnswers::Rows(WorldRows::open((&made, scored), row_context)?)
                }
                _ => {
                    let what = "graphs are asked of one model, and folds make several";
                    return Err(Fault::new("too-many-folds", what).into());
                }
            };
            let codes = attribute.level_of_group.iter();
            let saw: Vec<Vec<bool>> = codes.map(|&code| worlds.saw(code).collect()).collect();
            let of_world = |w: usize| saw.iter().map(|of_group| of_group[w]).collect();
            let scoring = GraphScoring {
                worlds,
                answers,
                rule,
                position,
                ranks: ranks(attribute),
                saw: (0..worlds.shifts().count()).map(of_world).collect(),
                keys: CounterfactualReader::of_keys(row_context.rows, row_context.roles, position)?,
                support: made.support(ctx)?,
                scores,
                wants_shift,
                kept,
            };
            scoring.write(row_context, ctx.out()).map_err(|e| {
                plan.with_model_place(e, &["counterfactuals", set, GraphUncertainBlock::WORD])
            })
        })
    }
}

/// For each key the position of its first row: both lists are in the order of parents and groups.
pub(crate) fn row_starts(keys: &CounterfactualKeys, rows: &CounterfactualKeys) -> Vec<usize> {
    let mut next = 0;
    let start = |k: usize| {
        let start = next;
        let key = (keys.parent[k], keys.to_group[k]);
        while next < rows.parent.len() && (rows.parent[next], rows.to_group[next]) == key {
            next += 1;
        }
        start
    };
    (0..keys.parent.len()).map(start).collect()
}

/// Mean and quantiles of variances.
fn variance_summary(variances: &[f64]) -> ScoreVariance {
    let sample: Vec<WeightedValue> =
        variances.iter().map(|&value| WeightedValue { value, copies: 1, weight: 1.0 }).collect();
    let spread = SampleSpread::new(&sample, 0.95);
    let around = spread.and_then(|spread| spread.spread);
    ScoreVariance {
        n: variances.len() as u64,
        mean: spread.map(|s| s.mean),
        lo: around.map(|a| a.lo),
        hi: around.map(|a| a.hi),
    }
}

pub(crate) fn missing_variable(batch: &PreparedBatch, i: usize) -> Error {
    Fault::new("missing-value", "an audited row lacks a value that the graph needs")
        .at_row(format!("row {}", batch.row[i]))
        .hint(
            "write `missing: drop` in the set, drop such rows by `data.missing`, or leave the \
             column out of the graph",
        )
        .into()
}

#[cfg(test)]
mod tests {
    use super::variance_summary;

    #[test]
    fn no_variance_is_no_number() {
        let empty = variance_summary(&[]);
        assert_eq!((empty.n, empty.mean, empty.lo, empty.hi), (0, None, None, None));
        let one = variance_summary(&[0.25]);
        assert_eq!((one.n, one.mean, one.lo), (1, Some(0.25), None));
    }
}
