//! The stage `score` of a graph-uncertain set: every audited row is scored in every world, and only
//! what the worlds say together is kept.
//!
//! A world moves encoded columns, the same for all rows of a group, so a row is encoded once and no
//! counterfactual row is ever written. Kept are, for each world, counts and sums over people
//! ([`WorldCounts`]), and for each person the mean of the scores over all graphs: that mean is what
//! `counts`, `score_shift` and `outcomes` of such a set depend on. Memory: the worlds, and one row
//! group per thread.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::causal::encoding::{GraphEncoding, VariableForm};
use crate::counterfactual::graph_uncertain::{CausalWorlds, ClipRule};
use crate::data::rows::PreparedBatch;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader, create_scores};
use crate::error::{Error, Fault, Result};
use crate::exec::accumulator::Accumulator;
use crate::exec::files;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::value::worlds::{GraphWorld, WorldCounts, add_second};
use crate::model::TrainedModel;
use crate::model::encode::FeatureEncoder;
use crate::num::summary::{SampleSpread, WeightedValue};
use crate::param::Seed;
use crate::stage::count::evidence::{label, ranks};
use crate::stage::row_context::{DecisionRule, RowContext};

/// File of the stage next to the mean scores.
pub(crate) const WORLD_COUNTS_FILE: &str = "worlds.json";

/// The most people whose variances are held to be sorted; of more their spread is not told.
const PEOPLE_AT_MOST: u64 = 1_000_000;

/// Graphs are asked of one model, so its only fold.
const ONLY_FOLD: Option<u8> = Some(0);

/// What a stage finds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GraphScoreResult {
    /// Everybody in every world.
    pub counts: WorldCounts,
    /// For each direction, the group that is not the reference last, how far the scores of a person
    /// vary over graphs.
    pub people: [ScoreVariance; 2],
    /// Audited rows of the two groups without a counterfactual, because a variable is missing.
    pub n_dropped: u64,
}

/// The variances over graphs of the scores of the people of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreVariance {
    /// People.
    pub n: u64,
    /// Mean of their variances; none where there is one graph, or nobody, or too many to sort.
    pub mean: Option<f64>,
    /// 2.5 % quantile.
    pub lo: Option<f64>,
    /// 97.5 % quantile.
    pub hi: Option<f64>,
}

/// What is to be scored.
pub(crate) struct GraphScoring<'a> {
    /// The graphs.
    pub worlds: &'a CausalWorlds,
    /// What is done to values that no row could have.
    pub clip: ClipRule,
    /// Whether rows without a value are left out; else they end the run.
    pub drops_incomplete: bool,
    /// The model.
    pub model: &'a dyn TrainedModel,
    /// How its scores become decisions.
    pub rule: &'a DecisionRule,
    /// Position of the attribute.
    pub position: usize,
    /// The rows that have a counterfactual.
    pub counterfactuals: &'a CounterfactualReader,
    /// The scores of the rows as they are.
    pub scores: &'a ScoreReader,
    /// Whether score metrics are asked for.
    pub wants_shift: bool,
    /// The seed of the job.
    pub seed: Seed,
}

/// One row in every world, then in every graph fitted on all training rows.
struct PersonInWorlds<'r> {
    key: u64,
    person: &'r ScoredPerson,
    counterfactuals: &'r [ScoredCounterfactual],
}

impl GraphScoring<'_> {
    /// Scores all rows and writes mean scores and counts.
    ///
    /// # Errors
    /// A row lacks a value where none may, a file cannot be read or written, or the run is to stop.
    pub(crate) fn write(&self, row_context: RowContext<'_>, out: &Path) -> Result<()> {
        let kinds = self.worlds.worlds.iter().zip(&self.worlds.all_rows_of);
        let kinds = kinds
            .map(|(w, &all_rows)| GraphWorld {
                bootstrap: w.replicate,
                copies: w.members.len() as u64,
                all_rows,
            })
            .collect();
        let sampled = self
            .worlds
            .bag
            .replicates
            .iter()
            .any(|r| r.drawn != crate::causal::class::DagSampling::All);
        let nobody = WorldCounts::new(kinds, sampled, self.seed);
        let keeps = self.counterfactuals.n_rows() <= PEOPLE_AT_MOST;
        let (encoder, mut writer) = create_scores(out)?;
        let (mut counts, mut variances, mut n_dropped) =
            (nobody.clone(), [Vec::new(), Vec::new()], 0);
        let reach = ColumnReach::new(&self.worlds.encoding, self.model.encoder());
        row_context.row_groups().in_order(
            |g| {
                let (mut part, mut spread, mut means) =
                    (nobody.clone(), [Vec::new(), Vec::new()], Vec::new());
                let (rows, dropped) = self.each_row(row_context, &reach, g, |row| {
                    part.add(row.key, row.person, row.counterfactuals);
                    let (mean, variance) = self.score_moments(row.counterfactuals);
                    means.push(mean);
                    spread[row.person.group].extend(variance.filter(|_| keeps));
                })?;
                Ok((rows, (encoder.encode(&means)?, part, spread, dropped)))
            },
            |_, (encoded, part, spread, dropped)| {
                counts.merge(part);
                variances.iter_mut().zip(spread).for_each(|(all, part)| all.extend(part));
                n_dropped += dropped;
                writer.append(encoded)
            },
        )?;
        writer.finish()?;
        if self.wants_shift {
            let start = counts.second_pass();
            let second = row_context.row_groups().fold(
                || start.clone(),
                |part: &mut Vec<ShiftPass>, g| {
                    let (rows, _) = self.each_row(row_context, &reach, g, |row| {
                        add_second(part, row.person, row.counterfactuals)
                    })?;
                    Ok(rows)
                },
                |all, part| all.iter_mut().zip(&part).for_each(|(all, part)| all.merge(part)),
            )?;
            counts.set_second_pass(second);
        }
        let people = variances.map(|variances| variance_summary(&variances));
        files::write_compact(
            &out.join(WORLD_COUNTS_FILE),
            &GraphScoreResult { counts, people, n_dropped },
        )
    }

    /// Passes on every row of a row group that has a counterfactual, in order; gives back the
    /// number of rows, and how many lack a variable.
    fn each_row(
        &self,
        row_context: RowContext<'_>,
        reach: &ColumnReach,
        g: usize,
        mut each: impl FnMut(&PersonInWorlds<'_>),
    ) -> Result<(u64, u64)> {
        let layout = row_context.rows.layout();
        let attribute = &layout.attributes[self.position];
        let ranks = ranks(attribute);
        let (batch, keys, scores) =
            (row_context.rows.read(g)?, self.counterfactuals.keys(g)?, self.scores.read(g)?);
        let encoding = &self.worlds.encoding;
        let mut dropped = 0;
        let (mut entries, mut row, mut moved, mut encoded, mut base) = (
            Vec::new(),
            vec![0.0; encoding.width()],
            Vec::new(),
            vec![0.0; self.model.encoder().width()],
            Vec::new(),
        );
        let mut counterfactuals = Vec::with_capacity(self.worlds.shifts().count());
        for (&parent, &to) in keys.parent.iter().zip(&keys.to_group) {
            let i = parent as usize;
            let (own, to) = (usize::from(batch.groups[self.position][i]), ranks[usize::from(to)]);
            let known = encoding.is_complete(&batch.rows, i);
            if !known && !self.drops_incomplete {
                return Err(missing_variable(&batch, i));
            }
            dropped += u64::from(!known);
            counterfactuals.clear();
            if known {
                encoding.encode(&batch.rows, i, &mut entries);
                row.fill(0.0);
                entries.iter().for_each(|&(column, x)| row[column] = x);
                self.model.encoder().encode(&batch.rows, i, &mut entries);
                encoded.fill(0.0);
                entries.iter().for_each(|&(column, x)| encoded[column] = x);
                base.clone_from(&encoded);
            }
            for shift in self.worlds.shifts() {
                if !known {
                    counterfactuals.push(ScoredCounterfactual { to, predicted: None, score: None });
                    continue;
                }
                moved.clone_from(&row);
                self.worlds.apply(shift, own == 1, self.clip, &mut moved);
                encoded.copy_from_slice(&base);
                for &(column, _) in shift {
                    for &(at, unit) in &reach.columns[column] {
                        encoded[at] += (moved[column] - row[column]) * unit;
                    }
                }
                let score = self.model.score_encoded(&encoded);
                counterfactuals.push(ScoredCounterfactual {
                    to,
                    predicted: self.rule.decide(&batch, ONLY_FOLD, i, score),
                    score: Some(score),
                });
            }
            let score = scores[i];
            let person = ScoredPerson {
                group: ranks[own],
                label: label(layout, &batch, i),
                predicted: self.rule.decide(&batch, ONLY_FOLD, i, score),
                score: (!score.is_nan()).then_some(score),
                weight: 1,
            };
            each(&PersonInWorlds {
                key: batch.row_key[i],
                person: &person,
                counterfactuals: &counterfactuals,
            });
        }
        Ok((batch.row.len() as u64, dropped))
    }

    /// Mean over all graphs of the scores of a row, NaN where there are none, and their variance,
    /// none of a single graph.
    fn score_moments(&self, counterfactuals: &[ScoredCounterfactual]) -> (f64, Option<f64>) {
        let sample = || {
            let copies = self.worlds.worlds.iter().map(|world| world.members.len() as f64);
            copies.zip(counterfactuals).filter_map(|(copies, cf)| Some((copies, cf.score?)))
        };
        let n: f64 = sample().map(|(copies, _)| copies).sum();
        if n == 0.0 {
            return (f64::NAN, None);
        }
        // From the first score on: the mean of equal scores is that score to the last bit, as a
        // threshold may be.
        let first = sample().map(|(_, score)| score).next().unwrap_or(0.0);
        let apart = sample().map(|(copies, score)| copies * (score - first)).sum::<f64>() / n;
        let mean = (first + apart).clamp(0.0, 1.0);
        let squares: f64 =
            sample().map(|(copies, score)| copies * (score - mean) * (score - mean)).sum();
        (mean, (n > 1.0).then(|| squares / (n - 1.0)))
    }
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

/// For each column of the graphs the columns of a model that it moves, with what a movement of 1 is
/// there.
struct ColumnReach {
    columns: Vec<Vec<(usize, f64)>>,
}

impl ColumnReach {
    fn new(encoding: &GraphEncoding, encoder: &FeatureEncoder) -> Self {
        let mut columns = vec![Vec::new(); encoding.width()];
        for variable in &encoding.variables {
            let level = |code: u32, unit: f64| {
                encoder.level_column(variable.feature, code).map(|at| (at, unit))
            };
            match &variable.form {
                VariableForm::Number { sd, .. } => {
                    let at = encoder.number_column(variable.feature);
                    columns[variable.columns.start].extend(at.map(|(at, unit)| (at, sd * unit)));
                }
                // One indicator of the second level: the first is what is left, and a model may
                // have a column for it.
                VariableForm::Levels { seen, .. } if variable.columns.len() == 1 => {
                    columns[variable.columns.start].extend(level(seen[1], 1.0));
                    columns[variable.columns.start].extend(level(seen[0], -1.0));
                }
                VariableForm::Levels { seen, .. } => {
                    for (column, &code) in variable.columns.clone().zip(seen) {
                        columns[column].extend(level(code, 1.0));
                    }
                }
            }
        }
        ColumnReach { columns }
    }
}

fn missing_variable(batch: &PreparedBatch, i: usize) -> Error {
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
    use super::{ColumnReach, variance_summary};
    use crate::causal::encoding::{GraphEncoding, GraphVariable, MissingRows};
    use crate::data::rows::training::TrainingRows;
    use crate::data::values::ValueClass;
    use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows};
    use crate::model::encode::FeatureEncoder;

    /// A model knows a third level of the attribute and of the job, which no complete row of the
    /// graph has.
    #[test]
    fn graphs_and_models_may_know_different_levels() {
        let feature = |name: &str, kind: FeatureKind, levels: &[&str]| Feature {
            name: name.to_owned(),
            kind,
            levels: levels.iter().map(|&l| l.to_owned()).collect(),
            class: if levels.is_empty() { ValueClass::Int } else { ValueClass::Text },
        };
        let features = [
            feature("sex", FeatureKind::Sensitive, &["f", "m", "x"]),
            feature("age", FeatureKind::Continuous { integer: false }, &[]),
            feature("job", FeatureKind::Nominal, &["a", "b", "c"]),
            feature("unseen", FeatureKind::Continuous { integer: false }, &[]),
        ];
        let columns = vec![
            FeatureColumn::Code(vec![0, 1, 2, 0, 1]),
            FeatureColumn::Number(vec![10.0, 30.0, 50.0, 20.0, 40.0]),
            FeatureColumn::Code(vec![0, 1, 2, 1, 0]),
            FeatureColumn::Number(vec![1.0, 2.0, 4.0, 3.0, 5.0]),
        ];
        let rows = TrainingRows::in_memory(
            FeatureRows { n: 5, columns },
            vec![true, false, true, false, true],
        );
        let encoder = FeatureEncoder::fit(&features, &["unseen".to_owned()], &rows).unwrap();
        assert_eq!(encoder.columns, ["sex=f", "sex=m", "sex=x", "age", "job=a", "job=b", "job=c"]);
        let variable = |name: &str, feature: usize, levels: Option<&[u32]>| GraphVariable {
            name: name.to_owned(),
            feature,
            levels: levels.map(<[u32]>::to_vec),
        };
        let variables = [
            variable("sex", 0, Some(&[0, 1])),
            variable("age", 1, None),
            variable("job", 2, Some(&[0, 1, 2])),
            variable("unseen", 3, None),
        ];
        let (encoding, blocks) =
            GraphEncoding::fit(&variables, &rows, MissingRows::Drop, None).unwrap();
        assert_eq!((blocks.dropped, encoding.width()), (1, 4));
        let reach = ColumnReach::new(&encoding, &encoder);
        assert_eq!(reach.columns[0], [(1, 1.0), (0, -1.0)]);
        assert_eq!(reach.columns[2], [(5, 1.0), (4, -1.0)]);
        assert_eq!(reach.columns[3], []);
        // Deviations are those of four rows here and of five there: 10, 20, 30, 40 and 50 too.
        let &[(at, unit)] = reach.columns[1].as_slice() else { panic!("one column") };
        assert!(at == 3 && (unit - (125.0_f64 / 200.0).sqrt()).abs() < 1e-12, "{unit}");
    }

    #[test]
    fn variances_of_nobody_are_no_number() {
        let nobody = variance_summary(&[]);
        assert_eq!((nobody.n, nobody.mean, nobody.lo, nobody.hi), (0, None, None, None));
        let one = variance_summary(&[0.25]);
        assert_eq!((one.n, one.mean, one.lo), (1, Some(0.25), None));
    }
}
