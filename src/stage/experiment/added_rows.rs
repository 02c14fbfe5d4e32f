//! The rows that an arm adds to the training rows of a fold: its candidates, which of them it
//! takes, and what was added.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::augment::adasyn::{AdasynSettings, synthetic_rows, vectors};
use crate::augment::choose::{
    CandidateKey, CounterfactualCandidate, CounterfactualSelection, RuleMatches, SelectionRule,
};
use crate::augment::diverse::{GowerSpace, farthest_keys};
use crate::counterfactual::variable::{
    CategoryLevels, StrategyVariable, VariableOptions, VariableScale, variables,
};
use crate::counterfactual::write_back::{WriteBack, features_set_with};
use crate::data::rows::aligned::{CounterfactualKeys, CounterfactualReader, ScoreReader};
use crate::data::rows::training::{AddedTraining, DrawnTraining, TrainingBatch, TrainingRows};
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{FeatureRows, Layout, MISSING};
use crate::error::{Error, Result};
use crate::num::neighbours::PointMatrix;
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::table::file::RowWriter;
use crate::table::{ArmRow, SelectedRow, SharedText, whole};

/// The counterfactuals of the training rows of a fold in one attribute, with the decisions of the
/// base model about both.
#[derive(Debug)]
pub(crate) struct CandidatePool {
    /// Position of the attribute.
    pub attribute: usize,
    /// The counterfactuals.
    pub counterfactuals: CounterfactualReader,
    /// The decisions of the base model about rows and counterfactuals; none where no choice asks
    /// for them.
    pub base: Option<CandidateScores>,
}

/// Scores of the training rows for a fold and of their counterfactuals, and what they decide.
#[derive(Debug)]
pub(crate) struct CandidateScores {
    /// Scores of the rows.
    pub scores: ScoreReader,
    /// Scores of their counterfactuals.
    pub scores_cf: ScoreReader,
    /// How the scores of the fold become decisions.
    pub rule: DecisionRule,
}

impl CandidatePool {
    /// What a choice has to know about each counterfactual of a row group that may be a training
    /// row.
    fn all_candidates(
        &self,
        row_context: RowContext<'_>,
        g: usize,
    ) -> Result<Vec<CounterfactualCandidate>> {
        let batch = row_context.rows.read(g, Projection::NO_FEATURES)?;
        let all = self.candidates(g, &batch, &self.counterfactuals.keys(g)?)?;
        Ok(all.into_iter().flatten().collect())
    }

    /// The candidate of each counterfactual; none for one of a row without a label, which cannot be
    /// a training row.
    fn candidates(
        &self,
        g: usize,
        batch: &PreparedBatch,
        keys: &CounterfactualKeys,
    ) -> Result<Vec<Option<CounterfactualCandidate>>> {
        let read = |base: &CandidateScores| {
            Ok::<_, Error>((base.scores.read(g)?, base.scores_cf.read(g)?))
        };
        let (scores, scores_cf) = self.base.as_ref().map(read).transpose()?.unwrap_or_default();
        let candidate = |k: usize| {
            let parent = keys.parent[k] as usize;
            // The context is that of one fold.
            let decide = |score: Option<&f64>| {
                self.base.as_ref()?.rule.decide(batch, Some(0), parent, *score?)
            };
            Some(CounterfactualCandidate {
                row_key: batch.row_key[parent],
                attribute: self.attribute,
                from: batch.groups[self.attribute][parent],
                to: keys.to_group[k],
                cf_index: keys.cf_index[k],
                label: batch.label.get(parent).copied().flatten()?,
                predicted: decide(scores.get(parent)),
                predicted_cf: decide(scores_cf.get(k)),
            })
        };
        Ok((0..keys.parent.len()).map(candidate).collect())
    }
}

/// The matches of rules among the counterfactuals of all attributes.
///
/// # Errors
/// A file cannot be read, or the run is to stop.
pub(crate) fn rule_matches<'r>(
    row_context: RowContext<'_>,
    pools: &[CandidatePool],
    rules: &'r [SelectionRule],
    seed: u64,
) -> Result<RuleMatches<'r>> {
    let look = |part: &mut RuleMatches<'_>, g: usize| {
        for pool in pools {
            pool.all_candidates(row_context, g)?.iter().for_each(|candidate| part.add(candidate));
        }
        Ok(0)
    };
    row_context.row_groups().fold(|| RuleMatches::new(rules, seed), look, RuleMatches::merge)
}

/// This fraction of the counterfactuals of all attributes: those that are farthest from their
/// nearest training row.
///
/// # Errors
/// A file cannot be read, or the run is to stop.
pub(crate) fn farthest(
    row_context: RowContext<'_>,
    pools: &[CandidatePool],
    extras: &VariableOptions,
    fraction: f64,
) -> Result<BTreeSet<CandidateKey>> {
    let layout = row_context.rows.layout();
    let training = collect_training_rows(&row_context.training(0))?;
    let space = GowerSpace::new(whole_rows(layout, extras), &training.rows);
    let mut distances = Vec::new();
    for pool in pools {
        for g in 0..row_context.rows.n_groups() {
            (row_context.watch.check)()?;
            let batch = row_context.rows.read(g, Projection::NO_FEATURES)?;
            let (keys, rows) = pool.counterfactuals.rows(g, layout)?;
            let candidates = pool.candidates(g, &batch, &keys)?;
            let distance = |(k, candidate): (usize, &Option<CounterfactualCandidate>)| {
                let key = candidate.as_ref()?.key();
                Some((space.nearest(&rows, k), key))
            };
            let found: Vec<_> = row_context
                .workers
                .within(|| candidates.par_iter().enumerate().filter_map(distance).collect());
            distances.extend(found);
        }
    }
    Ok(farthest_keys(distances, fraction))
}

/// The variables of a row with the attribute that comes first, without what is derived.
fn whole_rows(layout: &Layout, extras: &VariableOptions) -> Vec<StrategyVariable> {
    let mut extras = extras.clone();
    extras.excluded.extend(not_told_apart(layout));
    let attribute = &layout.attributes[0];
    let mut all = variables(&layout.features, attribute, &extras);
    if !extras.excluded.contains(&attribute.feature) {
        let levels = layout.features[attribute.feature].levels.len();
        let n = u32::try_from(levels).unwrap_or(MISSING);
        all.push(StrategyVariable {
            name: attribute.name.clone(),
            columns: vec![attribute.feature],
            scale: VariableScale::Categorical(CategoryLevels { n, ..CategoryLevels::default() }),
        });
    }
    all
}

/// The features that models do not see or that follow from others.
fn not_told_apart(layout: &Layout) -> impl Iterator<Item = usize> {
    layout.hidden.iter().copied().chain(layout.derived.iter().map(|derived| derived.feature))
}

/// The rows that an arm adds.
pub(crate) struct ArmSelection {
    /// The counterfactuals; none where the arm adds none.
    pub pools: Vec<CandidatePool>,
    /// Which of them are taken.
    pub choice: CounterfactualSelection,
    /// What makes synthetic rows of all these.
    pub adasyn: Option<AdasynSettings>,
}

impl ArmSelection {
    /// Hands the training rows of the audited rows, and what is added to them, to `work`, with
    /// their numbers in the row `of` the table. With a `draw` both come as often as the rows were
    /// drawn; the numbers are those without it.
    ///
    /// # Errors
    /// A file cannot be read, or the run is to stop; what `work` errs with.
    pub(crate) fn with_training_rows<T>(
        &self,
        row_context: RowContext<'_>,
        extras: &VariableOptions,
        draw: Option<DrawnTraining>,
        of: &ArmRow,
        work: impl FnOnce(&TrainingRows<'_>, ArmRow) -> Result<T>,
    ) -> Result<T> {
        let mut numbers = self.count(row_context, of)?;
        let rows = |added, draw| {
            let RowContext { rows, roles, .. } = row_context;
            TrainingRows::of_fold(rows, roles, 0, row_context.row_groups(), added).drawn(draw)
        };
        let (n_positive, n_rows) = rows(Vec::new(), None).count()?;
        (numbers.n_positive, numbers.n_rows) = (whole(n_positive), whole(n_rows));
        let mut added = self.added_parts(row_context, draw);
        let Some(adasyn) = &self.adasyn else {
            return work(&rows(added, draw), numbers);
        };
        let all = |draw| collect_training_rows(&rows(self.added_parts(row_context, draw), draw));
        // Drawn rows as weights: so each stays where it is.
        let as_weights = draw.map(|draw| DrawnTraining { copied: false, ..draw });
        let drawn = as_weights.map(|draw| all(Some(draw))).transpose()?;
        let made = synthetic_batch(adasyn, row_context, &all(None)?, extras);
        let n_positive = made.rows.labels.iter().filter(|&&label| label).count();
        numbers.n_synthetic = whole(made.rows.rows.n as u64);
        numbers.n_added_positive += whole(n_positive as u64);
        let made = match &drawn {
            None => made.rows,
            Some(drawn) => made.drawn(drawn, draw.is_some_and(|draw| draw.copied)),
        };
        added.push(AddedTraining { n_groups: 1, read: Box::new(move |_| Ok(made.clone())) });
        work(&rows(added, draw), numbers)
    }

    fn count(&self, row_context: RowContext<'_>, of: &ArmRow) -> Result<ArmRow> {
        let mut numbers = of.clone();
        for pool in &self.pools {
            let look = |g: usize| {
                let all = pool.all_candidates(row_context, g)?;
                let taken = || all.iter().filter(|candidate| self.choice.contains(candidate));
                let positive = taken().filter(|candidate| candidate.label).count();
                Ok((0, [all.len(), taken().count(), positive].map(|n| whole(n as u64))))
            };
            row_context.row_groups().in_turn(look, |[all, taken, positive]| {
                numbers.n_candidates += all;
                numbers.n_counterfactuals += taken;
                numbers.n_added_positive += positive;
            })?;
        }
        Ok(numbers)
    }

    /// The counterfactuals that are added, one part per attribute: each as often as its row.
    fn added_parts<'a>(
        &'a self,
        row_context: RowContext<'a>,
        draw: Option<DrawnTraining>,
    ) -> Vec<AddedTraining<'a>> {
        let part = |pool: &'a CandidatePool| AddedTraining {
            n_groups: row_context.rows.n_groups(),
            read: Box::new(move |g| {
                let batch = row_context.rows.read(g, Projection::NO_FEATURES)?;
                let (keys, rows) = pool.counterfactuals.rows(g, row_context.rows.layout())?;
                let candidates = pool.candidates(g, &batch, &keys)?;
                let takes = |k: &usize| {
                    candidates[*k].is_some_and(|candidate| self.choice.contains(&candidate))
                };
                let parent = |k: usize| keys.parent[k] as usize;
                let persons = batch.person_keys();
                // The weight of the row is that of its counterfactual.
                let weight =
                    (!batch.weight.is_empty()).then_some(|k: usize| batch.weight[parent(k)]);
                let (taken, weights) = DrawnTraining::rows(
                    draw,
                    (0..candidates.len()).filter(takes),
                    |k| persons[parent(k)],
                    weight,
                );
                let origin: Vec<usize> = taken.iter().map(|&k| parent(k)).collect();
                let labels =
                    origin.iter().map(|&i| batch.label.get(i) == Some(&Some(true))).collect();
                Ok(TrainingBatch::from_origin(rows.take(&taken), labels, weights, &origin))
            }),
        };
        self.pools.iter().map(part).collect()
    }

    /// Appends the counterfactuals that were added to the table `selected`.
    ///
    /// # Errors
    /// A file cannot be read, the disk refuses, or the run is to stop.
    pub(crate) fn write_selected(
        &self,
        row_context: RowContext<'_>,
        arm: &str,
        (model, set, fold): (&str, &str, usize),
        writer: &mut RowWriter<SelectedRow>,
    ) -> Result<()> {
        let layout = row_context.rows.layout();
        for pool in &self.pools {
            let attribute = &layout.attributes[pool.attribute];
            let [arm, model, set, sensitive] =
                [arm, model, set, &attribute.name].map(SharedText::from);
            let groups: Vec<SharedText> = attribute.groups.iter().map(SharedText::from).collect();
            let look = |g: usize| {
                let mut taken = pool.all_candidates(row_context, g)?;
                taken.retain(|candidate| self.choice.contains(candidate));
                Ok((0, taken))
            };
            row_context.row_groups().in_order(look, |_, taken| {
                let row = |taken: CounterfactualCandidate| SelectedRow {
                    arm: arm.clone(),
                    model: model.clone(),
                    counterfactual: set.clone(),
                    fold: whole(fold as u64),
                    sensitive: sensitive.clone(),
                    row_key: taken.row_key,
                    to_group: groups[usize::from(taken.to)].clone(),
                    cf_index: taken.cf_index.into(),
                    from_group: groups[usize::from(taken.from)].clone(),
                    label: taken.label,
                    predicted: taken.predicted,
                    predicted_cf: taken.predicted_cf,
                };
                writer.extend(taken.into_iter().map(row))
            })?;
        }
        Ok(())
    }
}

/// All training rows in memory, in order.
fn collect_training_rows(rows: &TrainingRows<'_>) -> Result<TrainingBatch> {
    let (mut all, mut labels, mut weights) = (FeatureRows::default(), Vec::new(), Vec::new());
    rows.fold(Clone::clone, |group: TrainingBatch| {
        all.append(group.rows);
        labels.extend(group.labels);
        weights.extend(group.weights);
    })?;
    Ok(TrainingBatch::in_memory(all, labels, weights))
}

/// The synthetic rows of ADASYN: what is derived follows from the numbers that lie between those of
/// their parents.
fn synthetic_batch(
    adasyn: &AdasynSettings,
    row_context: RowContext<'_>,
    of: &TrainingBatch,
    extras: &VariableOptions,
) -> SyntheticBatch {
    let layout = row_context.rows.layout();
    let variables =
        variables(&layout.features, &layout.attributes[0], &without_sensitive(layout, extras));
    let (coordinates, width) = vectors(&variables, &of.rows);
    let plan = row_context
        .workers
        .within(|| adasyn.plan(PointMatrix { coordinates: &coordinates, width }, &of.labels));
    let mut made = synthetic_rows(&variables, &of.rows, &plan.synthetic);
    let parent = |row: usize| plan.synthetic[row].nearer() as usize;
    WriteBack::derived_only(layout).follow(&mut made, &of.rows, parent);
    let base = |of: &[f64]| {
        plan.synthetic.iter().filter_map(|between| of.get(between.base as usize).copied()).collect()
    };
    let labels = vec![plan.class; plan.synthetic.len()];
    SyntheticBatch {
        rows: TrainingBatch::in_memory(made, labels, base(&of.weights)),
        base: plan.synthetic.iter().map(|between| between.base as usize).collect(),
    }
}

/// Synthetic rows, each with the position of the row that it starts from.
struct SyntheticBatch {
    rows: TrainingBatch,
    base: Vec<usize>,
}

impl SyntheticBatch {
    /// The rows where the rows that they start from are `drawn`, which their weights show: each as
    /// often as its own row, by copies or by weight.
    fn drawn(self, drawn: &TrainingBatch, copied: bool) -> TrainingBatch {
        let SyntheticBatch { rows, base } = self;
        let weight = |k: usize| drawn.weight(base[k]);
        if !copied {
            let weights = (0..base.len()).map(weight).collect();
            return TrainingBatch::in_memory(rows.rows, rows.labels, weights);
        }
        // A row of weight 0 is not added at all.
        let times = |k: usize| (weight(k) / rows.weight(k)).round() as usize;
        let taken: Vec<usize> =
            (0..base.len()).flat_map(|k| std::iter::repeat_n(k, times(k))).collect();
        let labels = taken.iter().map(|&k| rows.labels[k]).collect();
        let weights = if rows.weights.is_empty() {
            Vec::new()
        } else {
            taken.iter().map(|&k| rows.weights[k]).collect()
        };
        TrainingBatch::in_memory(rows.rows.take(&taken), labels, weights)
    }
}

/// Sensitive columns, what is set with them, and what is derived have no place in distances.
fn without_sensitive(layout: &Layout, extras: &VariableOptions) -> VariableOptions {
    let mut extras = extras.clone();
    extras.excluded.extend(
        (0..layout.attributes.len()).flat_map(|attribute| features_set_with(layout, attribute)),
    );
    extras.excluded.extend(not_told_apart(layout));
    extras
}
