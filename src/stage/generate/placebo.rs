//! The stage `placebo/SET/ATTRIBUTE`: what a set gives where group names mean nothing.
//!
//! A repeat permutes the names of the groups among the rows of a label, of training rows and
//! audited rows apart, by the stream `placebo/r`; learns, generates, and measures with the same
//! models. The permutation follows from the keys of the rows, not from their order. What the rows
//! say about the attribute stays as it is, because its names were shuffled, not its values: only
//! what the strategy moves differs between a row and its counterfactual, and it moves by sampling
//! noise.
//! Memory: 24 bytes per row, and 14 per counterfactual.

use std::path::Path;

use crate::counterfactual::engine::FittedKnobs;
use crate::counterfactual::variable::VariableOptions;
use crate::counterfactual::write_back::WriteBack;
use crate::counterfactual::{GeneratedBatch, Generator, SampleBatch};
use crate::data::rows::PreparedBatch;
use crate::data::rows::aligned::{CounterfactualKeys, ScoreReader};
use crate::data::rows::reference::ReferenceBatch;
use crate::data::rows::split::RowRoles;
use crate::data::{FeatureColumn, FeatureRows, MISSING_GROUP};
use crate::error::Result;
use crate::exec::files;
use crate::metric::bootstrap::placebo::PlaceboRepeat;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::model::Scorer;
use crate::num::seed::{RandomStream, h};
use crate::param::{Count, Seed};
use crate::stage::count::evidence::{ScoredGroup, empty_counts};
use crate::stage::generate::basis::{LearningReference, RowClasses};
use crate::stage::generate::generators::{GeneratorInputs, RowGroupLabels};
use crate::stage::generate::rows::{groups_of_fold, in_file_order, write_back};
use crate::stage::row_context::DecisionRule;
use crate::stage::row_context::RowContext;
use crate::stage::score::rows::score_by_fold;

/// A model that is asked in every repeat.
pub(crate) struct PlaceboModel {
    /// Its name.
    pub name: String,
    /// One scorer per fold.
    pub scorers: Vec<Box<dyn Scorer>>,
    /// How scores become decisions.
    pub rule: DecisionRule,
    /// Its scores of the rows.
    pub scores: ScoreReader,
}

/// What a placebo repeats.
pub(crate) struct PlaceboInputs<'a> {
    /// The rows.
    pub context: RowContext<'a>,
    /// What the strategy learns from.
    pub reference: &'a LearningReference<'a>,
    /// What the classes of the rows are.
    pub classes: &'a RowClasses,
    /// The strategy.
    pub knobs: &'a dyn FittedKnobs,
    /// What the features do not say.
    pub extras: VariableOptions,
    /// Position of the attribute.
    pub position: usize,
    /// The models.
    pub models: Vec<PlaceboModel>,
    /// Seed of the job.
    pub seed: Seed,
    /// How often.
    pub repeats: Count,
    /// Whether score metrics are asked for.
    pub wants_shift: bool,
}

/// File of the evidence about a model.
pub(crate) fn evidence_file(model: &str) -> String {
    format!("placebo-{model}.json")
}

/// A row with a declared group.
struct PermutedRow {
    /// Rows of one stratum swap groups: training or audited, and the label.
    stratum: (bool, Option<bool>),
    key: u64,
    at: (u32, u32),
    group: u16,
}

/// The rows of a reference or of the samples whose groups are permuted.
struct GroupPermutation {
    entries: Vec<PermutedRow>,
    /// Number of rows of each row group.
    sizes: Vec<usize>,
}

impl GroupPermutation {
    fn read(
        row_context: RowContext<'_>,
        n_groups: usize,
        position: usize,
        batch: impl Fn(usize) -> Result<(PreparedBatch, Option<RowRoles>)> + Sync,
    ) -> Result<Self> {
        let mut names = GroupPermutation { entries: Vec::new(), sizes: Vec::new() };
        let look = |g: usize| {
            let (batch, roles) = batch(g)?;
            let entry = |i: usize| {
                let audited = roles.as_ref().is_none_or(|roles| roles.audited(i).is_some());
                let label = batch.label.get(i).copied().flatten();
                let at =
                    (u32::try_from(g).unwrap_or(u32::MAX), u32::try_from(i).unwrap_or(u32::MAX));
                let takes_part = audited || roles.as_ref().is_some_and(|roles| roles.trains(i, 0));
                let group = batch.groups[position][i];
                (takes_part && group != MISSING_GROUP).then_some(PermutedRow {
                    stratum: (audited, label),
                    key: batch.row_key[i],
                    at,
                    group,
                })
            };
            let entries: Vec<_> = (0..batch.row.len()).filter_map(entry).collect();
            Ok((0, (entries, batch.row.len())))
        };
        row_context.pieces(n_groups).in_order(look, |_, (entries, size)| {
            names.entries.extend(entries);
            names.sizes.push(size);
            Ok(())
        })?;
        names.entries.sort_unstable_by_key(|entry| (entry.stratum, entry.key));
        Ok(names)
    }

    /// The groups with names permuted.
    fn permuted(&self, seed: u64) -> RowGroupLabels {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_unstable_by_key(|&k| {
            let entry = &self.entries[k];
            (entry.stratum, h(seed, entry.key, 0), entry.key)
        });
        let mut groups: RowGroupLabels =
            self.sizes.iter().map(|&n| vec![MISSING_GROUP; n]).collect();
        for (entry, &giver) in self.entries.iter().zip(&order) {
            groups[entry.at.0 as usize][entry.at.1 as usize] = self.entries[giver].group;
        }
        groups
    }
}

/// The valid counterfactuals of one row group, with their scores by each model.
struct PlaceboScores {
    keys: CounterfactualKeys,
    scores: Vec<Vec<f64>>,
}

impl PlaceboInputs<'_> {
    /// Writes the evidence of all repeats, one file per model.
    ///
    /// # Errors
    /// The rows cannot be read, a repeat has nothing to learn from, the disk refuses, or the run is
    /// to stop.
    pub(crate) fn write(&self, out: &Path) -> Result<()> {
        let row_context = self.context;
        let own = |g: usize| Ok((row_context.rows.read_keys(g)?, Some(row_context.roles.read(g)?)));
        let samples =
            GroupPermutation::read(row_context, row_context.rows.n_groups(), self.position, own)?;
        let reference = if self.reference.is_own_rows() {
            None
        } else {
            Some(GroupPermutation::read(
                row_context,
                self.reference.n_groups(),
                self.position,
                |g| self.reference.read(g),
            )?)
        };
        let mut repeats: Vec<Vec<PlaceboRepeat>> = self.models.iter().map(|_| Vec::new()).collect();
        for r in 0..self.repeats.get() {
            let seed = RandomStream::new(self.seed.0, &format!("placebo/{r}")).u64();
            let groups = samples.permuted(seed);
            let of_reference = reference.as_ref().map(|names| names.permuted(seed));
            let one = self.repeat(&groups, of_reference.as_ref().unwrap_or(&groups))?;
            repeats.iter_mut().zip(one).for_each(|(all, one)| all.push(one));
        }
        for (model, repeats) in self.models.iter().zip(&repeats) {
            files::write_json(&out.join(evidence_file(&model.name)), repeats)?;
        }
        Ok(())
    }

    fn repeat(
        &self,
        groups: &RowGroupLabels,
        of_reference: &RowGroupLabels,
    ) -> Result<Vec<PlaceboRepeat>> {
        let layout = self.context.rows.layout();
        let edit = |g: usize, chosen: &[usize], made: &mut ReferenceBatch| {
            made.groups[self.position] = chosen.iter().map(|&i| of_reference[g][i]).collect();
        };
        let learnt = (0..self.reference.n_folds())
            .map(|fold| {
                let reference = self.reference.rows(fold, self.classes, Some(&edit));
                self.knobs.fit(layout, &self.extras, &reference, self.position)
            })
            .collect::<Result<Vec<_>>>()?;
        let drafting = GeneratorInputs {
            // A set that somebody else made has no placebo.
            external: None,
            context: self.context,
            reference: self.reference,
            classes: self.classes,
            position: self.position,
            seed: self.seed,
            edit: Some(&edit),
            groups: Some(groups),
        };
        let generators = drafting.generators(learnt)?.generators;
        let again = [WriteBack::derived_only(layout)];
        let mut made = Vec::new();
        let work = |g: usize| Ok((0, self.score_group(g, &groups[g], &generators, &again)?));
        self.context.row_groups().in_order(work, |_, scored| {
            made.push(scored);
            Ok(())
        })?;
        self.models
            .iter()
            .enumerate()
            .map(|(k, model)| self.count(k, model, groups, &made))
            .collect()
    }

    fn score_group(
        &self,
        g: usize,
        groups: &[u16],
        generators: &[Box<dyn Generator>],
        again: &[WriteBack],
    ) -> Result<PlaceboScores> {
        let attribute = &self.context.rows.layout().attributes[self.position];
        let (batch, roles) = (self.context.rows.read(g)?, self.context.roles.read(g)?);
        let classes = self.classes.of_group(g, &batch)?;
        let mut parts: Vec<(usize, GeneratedBatch)> = Vec::new();
        for (fold, generator) in generators.iter().enumerate() {
            let of_fold = groups_of_fold(groups, &roles, generators.len(), fold);
            let samples = SampleBatch {
                keys: &batch.row_key,
                rows: &batch.rows,
                groups: &of_fold,
                classes: &classes,
            };
            parts.extend(
                (0..attribute.groups.len())
                    .map(|to| (to, generator.generate(&samples, attribute, to))),
            );
        }
        let (keys, judged, rows) = in_file_order(batch.rows.n, &parts, true);
        let valid: Vec<usize> = (0..keys.parent.len()).filter(|&k| judged.valid[k]).collect();
        let keys = CounterfactualKeys {
            parent: valid.iter().map(|&k| keys.parent[k]).collect(),
            to_group: valid.iter().map(|&k| keys.to_group[k]).collect(),
            cf_index: valid.iter().map(|&k| keys.cf_index[k]).collect(),
        };
        let mut rows = rows.take(&valid);
        keep_attribute(&mut rows, attribute.feature, &batch.rows, &keys);
        write_back(again, &roles, &batch, self.position, &keys, &mut rows);
        let fold = |k: usize| roles.audited(keys.parent[k] as usize);
        let scores = self
            .models
            .iter()
            .map(|model| score_by_fold(&model.scorers, &rows, fold))
            .collect::<Result<_>>()?;
        Ok(PlaceboScores { keys, scores })
    }

    /// The evidence about a model: one pass, and a second one where score metrics are asked for.
    fn count(
        &self,
        k: usize,
        model: &PlaceboModel,
        groups: &RowGroupLabels,
        made: &[PlaceboScores],
    ) -> Result<PlaceboRepeat> {
        let layout = self.context.rows.layout();
        let n_groups = layout.attributes[self.position].groups.len();
        let read = |g: usize| -> Result<ScoredGroup> {
            Ok(ScoredGroup {
                batch: self.context.rows.read_keys(g)?,
                roles: self.context.roles.read(g)?,
                keys: made[g].keys.clone(),
                scores: model.scores.read(g)?,
                scores_cf: made[g].scores[k].clone(),
            })
        };
        let attribute = &layout.attributes[self.position];
        let empty = || empty_counts(layout, n_groups, self.seed);
        let first = |part: &mut CounterfactualCounts, g: usize| {
            let rows = read(g)?;
            rows.people(layout, attribute, &groups[g], &model.rule, |i, person, cfs| {
                part.add_person(rows.batch.person_keys()[i], person, cfs)
            });
            Ok(0)
        };
        let row_groups = self.context.row_groups();
        let counts = row_groups.gather(empty, first)?;
        if !self.wants_shift {
            return Ok(PlaceboRepeat { counts, second: None });
        }
        let start = counts.second_pass();
        let again = |part: &mut ShiftPass, g: usize| {
            read(g)?.people(layout, attribute, &groups[g], &model.rule, |_, person, cfs| {
                part.add(person, cfs)
            });
            Ok(0)
        };
        let second =
            row_groups.fold(|| start.clone(), again, |second, part| second.merge(&part))?;
        Ok(PlaceboRepeat { counts, second: Some(second) })
    }
}

/// Gives the column of the attribute back what the rows say.
fn keep_attribute(
    rows: &mut FeatureRows,
    feature: usize,
    originals: &FeatureRows,
    keys: &CounterfactualKeys,
) {
    if let (Some(column @ FeatureColumn::Code(_)), Some(FeatureColumn::Code(codes))) =
        (rows.columns.get_mut(feature), originals.columns.get(feature))
    {
        *column =
            FeatureColumn::Code(keys.parent.iter().map(|&parent| codes[parent as usize]).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupPermutation, PermutedRow};
    use crate::data::MISSING_GROUP;
    use std::collections::BTreeMap;

    /// 200 rows in two row groups; every seventh has no group, labels and parts alternate.
    fn names(order: &[u32]) -> GroupPermutation {
        let entry = |(at, &key): (usize, &u32)| PermutedRow {
            stratum: (key.is_multiple_of(2), Some(key.is_multiple_of(3))),
            key: u64::from(key),
            at: (u32::from(at >= 100), u32::try_from(at % 100).unwrap()),
            group: (key % 5 / 2) as u16,
        };
        let mut entries: Vec<PermutedRow> =
            order.iter().enumerate().filter(|(_, key)| **key % 7 > 0).map(entry).collect();
        entries.sort_unstable_by_key(|entry| (entry.stratum, entry.key));
        GroupPermutation { entries, sizes: vec![100, 100] }
    }

    #[test]
    fn names_are_swapped_inside_strata_by_key_alone() {
        let straight: Vec<u32> = (0..200).collect();
        let turned: Vec<u32> = straight.iter().rev().copied().collect();
        let of = |order: &[u32], seed: u64| -> BTreeMap<u32, u16> {
            let groups = names(order).permuted(seed);
            order.iter().enumerate().map(|(at, &key)| (key, groups[at / 100][at % 100])).collect()
        };
        let (a, b) = (of(&straight, 9), of(&turned, 9));
        assert_eq!(a, b);
        assert_ne!(a, of(&straight, 10));
        let count = |groups: &dyn Fn(u32) -> u16| {
            let mut counts: BTreeMap<(bool, bool, u16), u32> = BTreeMap::new();
            for key in (0..200).filter(|key| key % 7 > 0) {
                *counts.entry((key % 2 == 0, key % 3 == 0, groups(key))).or_default() += 1;
            }
            counts
        };
        assert_eq!(count(&|key| a[&key]), count(&|key| (key % 5 / 2) as u16));
        assert!((0..200).filter(|key| key % 7 == 0).all(|key| a[&key] == MISSING_GROUP));
        assert!((0..200).filter(|&key| a[&key] != (key % 5 / 2) as u16).count() > 50);
    }
}
