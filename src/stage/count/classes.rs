//! The stage `count` where the label has several classes: each class has a file of scores, and the
//! class with the highest score is predicted.
//!
//! As in [`evidence`](crate::stage::count::evidence), evidence is integers and fixed-point sums,
//! one mergeable value per row group. The scores of each class are in a separate folder and are
//! joined to the rows separately, so a file of scores is read once per class.

use std::path::{Path, PathBuf};

use crate::data::rows::aligned::ScoreReader;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{Layout, MISSING, MISSING_CLASS, MISSING_GROUP};
use crate::error::Result;
use crate::exec::accumulator::{Accumulator, merge_present};
use crate::metric::evidence::class_counts::{ClassCounterfactual, ClassPerson};
use crate::metric::evidence::score_grid::ScoreGrid;
use crate::metric::value::classes::{FactualClassCounts, most_likely_class};
use crate::num::score_scale::ScoreScale;
use crate::stage::count::evidence::{
    CountInputs, CountSettings, FIRST_SLICE, ScoredGroup, check_weight_total, no_rows, no_strata,
    ranks, weight_units, words_of_ungrouped,
};
use crate::stage::count::slices::AttributeSlices;
use crate::stage::row_context::RowContext;

/// The folder inside a stage's folder that holds the scores of one class.
pub(crate) fn folder_of(stage: &Path, class: usize) -> PathBuf {
    stage.join(format!("class-{class}"))
}

/// The scores of all classes, in their order.
#[derive(Debug)]
pub(crate) struct ClassScores(Vec<ScoreReader>);

impl ClassScores {
    /// Opens the scores in the folder of a stage.
    ///
    /// # Errors
    /// A file is damaged.
    pub(crate) fn open(stage: &Path, row_context: RowContext<'_>, classes: usize) -> Result<Self> {
        (0..classes)
            .map(|class| row_context.scores(&folder_of(stage, class)))
            .collect::<Result<_>>()
            .map(ClassScores)
    }

    /// The reader of each class.
    pub(crate) fn into_columns(self) -> Vec<ScoreReader> {
        self.0
    }

    /// The number of classes.
    pub(crate) fn n_classes(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn read(&self, group: usize) -> Result<ClassScoreGroup> {
        let n_classes = self.0.len();
        let mut scores = Vec::new();
        for (class, reader) in self.0.iter().enumerate() {
            let column = reader.read(group)?;
            scores.resize(column.len() * n_classes, None);
            for (i, score) in column.into_iter().enumerate() {
                scores[i * n_classes + class] = (!score.is_nan()).then_some(score);
            }
        }
        Ok(ClassScoreGroup { n_classes, scores })
    }
}

/// The scores of a row group, row by row or counterfactual by counterfactual.
pub(crate) struct ClassScoreGroup {
    n_classes: usize,
    scores: Vec<Option<f64>>,
}

impl ClassScoreGroup {
    /// The predicted class of each row; none where a score is missing.
    pub(crate) fn predicted(&self) -> Vec<Option<u32>> {
        let class = |scores| most_likely_class(scores).and_then(|class| u32::try_from(class).ok());
        self.scores.chunks(self.n_classes).map(class).collect()
    }

    /// The predicted class and the scores of all classes; neither if a score is missing.
    fn at(&self, i: usize) -> (Option<usize>, &[Option<f64>]) {
        let scores = &self.scores[i * self.n_classes..(i + 1) * self.n_classes];
        most_likely_class(scores).map_or((None, &[]), |class| (Some(class), scores))
    }
}

/// What a pass over counterfactuals reads where each class has a score; the highest decides.
pub(crate) type ClassCountInputs = CountInputs<ClassScores, ()>;

/// How the scores of a class are compared with the thresholds of a grid. The job has none: the
/// highest score decides.
pub(crate) fn class_grid(layout: &Layout) -> ScoreGrid {
    let weighted = layout.weight.is_some();
    ScoreGrid { scale: ScoreScale::default(), strict: false, weighted, threshold: None }
}

/// Counts the audited rows of one model by the groups of one attribute. Slices have numbers from
/// [`FIRST_SLICE`] on.
///
/// # Errors
/// The sum of the weights may overflow; a file cannot be read; the run is to stop.
pub(crate) fn gather_rows(
    row_context: RowContext<'_>,
    scores: &ClassScores,
    attribute: usize,
    blocks: CountSettings,
    slices: Option<(&AttributeSlices, CountSettings)>,
) -> Result<Vec<(u64, FactualClassCounts)>> {
    let layout = row_context.rows.layout();
    let ranks = ranks(&layout.attributes[attribute]);
    check_weight_total(layout, layout.n_rows)?;
    let strata = no_strata(layout, attribute);
    let empty = |blocks| {
        let counts = no_rows(layout, ranks.len(), blocks, class_grid(layout), strata.as_ref());
        FactualClassCounts::new(layout.n_classes(), &counts)
    };
    let n_slices = slices.map_or(0, |(slices, _)| slices.len());
    let start = || (empty(blocks), vec![None::<FactualClassCounts>; n_slices]);
    let add = |(part, slice_parts): &mut (FactualClassCounts, Vec<Option<FactualClassCounts>>),
               g: usize| {
        let (batch, roles) = row_context.read(g, Projection::NO_FEATURES)?;
        let scores = scores.read(g)?;
        let words = words_of_ungrouped(row_context.rows, &batch, (g, attribute))?;
        for (i, &group) in batch.groups[attribute].iter().enumerate() {
            let weight = weight_units(layout, &batch, i);
            if roles.audited(i).is_none() {
                continue;
            }
            if group == MISSING_GROUP {
                let word = words.as_ref().map_or(MISSING, |words| words[i]);
                part.add_ungrouped(word, weight, class_at(&batch, i), scores.at(i).0);
                continue;
            }
            let person_group = (ranks[usize::from(group)], weight);
            let stratum = batch.strata.get(i).copied().filter(|&stratum| stratum != MISSING);
            let keys = (batch.person_keys()[i], batch.row_key[i]);
            let person = person_at(&batch, &scores, i, person_group);
            part.add(keys, &person, stratum);
            let Some((slices, blocks)) = slices else { continue };
            slices.each_of_row(layout, &batch, i, |slice| {
                let part = slice_parts[slice].get_or_insert_with(|| empty(blocks));
                part.add(keys, &person, stratum);
            });
        }
        Ok(batch.row.len() as u64)
    };
    let (whole, slice_parts) =
        row_context.row_groups().fold(start, add, |(whole, slices), part| {
            whole.merge(part.0);
            merge_present(slices, part.1, Accumulator::merge);
        })?;
    let slice_parts = (FIRST_SLICE..).zip(slice_parts);
    let slice_parts = slice_parts.filter_map(|(number, counts)| Some((number, counts?)));
    Ok(std::iter::once((0, whole)).chain(slice_parts).collect())
}

/// The class of the label of a row, where it has one.
pub(crate) fn class_at(batch: &PreparedBatch, i: usize) -> Option<usize> {
    batch.class.get(i).filter(|&&class| class != MISSING_CLASS).map(|&class| usize::from(class))
}

/// The person of a row with its group and weight.
fn person_at<'a>(
    batch: &PreparedBatch,
    scores: &'a ClassScoreGroup,
    i: usize,
    (group, weight): (usize, u64),
) -> ClassPerson<'a> {
    let (predicted, scores) = scores.at(i);
    ClassPerson { group, label: class_at(batch, i), predicted, score: scores, weight }
}

/// One row group with all its data.
pub(crate) type ClassScoredGroup = ScoredGroup<ClassScoreGroup, ()>;

impl ClassScoredGroup {
    pub(crate) fn read_classes(
        row_context: RowContext<'_>,
        scored: &ClassCountInputs,
        g: usize,
    ) -> Result<Self> {
        let (batch, roles) = row_context.read(g, Projection::NO_FEATURES)?;
        Ok(ScoredGroup {
            keys: scored.counterfactuals.keys_beside(g, (&batch, &roles))?,
            batch,
            roles,
            unsupported: scored.support.read(g)?,
            scores: scored.scores.read(g)?,
            scores_cf: scored.scores_cf.read(g)?,
            rules: (),
        })
    }

    /// Calls `each` with every audited row that has a group and a positive weight: its position,
    /// its person and the counterfactuals.
    pub(crate) fn people(
        &self,
        layout: &Layout,
        attribute: usize,
        mut each: impl FnMut(usize, &ClassPerson<'_>, &[ClassCounterfactual<'_>]),
    ) {
        let (ranks, groups) = (ranks(&layout.attributes[attribute]), &self.batch.groups[attribute]);
        let mut cfs = Vec::new();
        self.each_person(layout, attribute, |i, weight, of_row| {
            cfs.clear();
            cfs.extend(of_row.map(|k| {
                let (predicted, score) = self.scores_cf.at(k);
                ClassCounterfactual {
                    to: ranks[usize::from(self.keys.to_group[k])],
                    predicted,
                    score,
                    rounded: false,
                    unsupported: self.unsupported.get(k).copied().unwrap_or(0),
                }
            }));
            let person_group = (ranks[usize::from(groups[i])], weight);
            let person = person_at(&self.batch, &self.scores, i, person_group);
            each(i, &person, &cfs);
        });
    }
}
