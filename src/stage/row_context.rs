//! What is needed in addition to a row to count it: its layout, threshold, decision rule.

use std::path::Path;

use crate::data::Layout;
use crate::data::rows::aligned::ScoreReader;
use crate::data::rows::split::{RolesReader, RowRoles};
use crate::data::rows::training::TrainingRows;
use crate::data::rows::{PreparedBatch, Projection, RowsReader};
use crate::error::{Fault, Result};
use crate::exec::StageContext;
use crate::exec::accumulator::PieceLoop;
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::job::ThresholdRule;
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;

/// What a stage over prepared rows can use.
#[derive(Clone, Copy)]
pub(crate) struct RowContext<'a> {
    /// The prepared rows.
    pub rows: &'a RowsReader,
    /// Which of them train and which are audited.
    pub roles: &'a RolesReader,
    /// The threads.
    pub workers: &'a WorkerPool,
    /// The stage.
    pub ctx: &'a StageContext<'a>,
    /// Stop and progress.
    pub watch: StageWatch<'a>,
}

impl<'a> RowContext<'a> {
    /// The loop over the row groups.
    pub(crate) fn row_groups(&self) -> PieceLoop<'a> {
        self.pieces(self.rows.n_groups())
    }

    /// The loop over a number of pieces that are not row groups of these rows.
    pub(crate) fn pieces(&self, n: usize) -> PieceLoop<'a> {
        PieceLoop { workers: self.workers, watch: self.watch, n }
    }

    /// What is asked for of a row group, with the roles of its rows.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn read(&self, group: usize, of: Projection) -> Result<(PreparedBatch, RowRoles)> {
        Ok((self.rows.read(group, of)?, self.roles.read(group)?))
    }

    /// The scores of these rows, or of their counterfactuals, in a folder.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn scores(&self, folder: &Path) -> Result<ScoreReader> {
        ScoreReader::open(folder, self.rows, self.roles)
    }

    /// The training rows of a fold that have a label.
    pub(crate) fn training(&self, fold: u8) -> TrainingRows<'a> {
        TrainingRows::of_fold(self.rows, self.roles, fold, self.row_groups(), Vec::new())
    }
}

/// How scores of a model become decisions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecisionRule {
    /// The rule.
    pub decision: ThresholdRule,
    /// The threshold.
    pub threshold: RowThreshold,
    /// The scale of scores and thresholds.
    pub scale: ScoreScale,
    /// Whether there are scores; otherwise decisions as 1 or 0, which no table shows as scores.
    pub gives_scores: bool,
    /// In how many bits the model gives its scores: thresholds are compared in these.
    pub scores: FloatPrecision,
    /// In how many bits the rows carry their thresholds. A threshold that the job states or that is
    /// fitted has any.
    pub thresholds: FloatPrecision,
}

/// The threshold of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowThreshold {
    /// The same for all.
    Fixed(f64),
    /// Position of a carried column.
    Carried(usize),
    /// That of the fold in which the row is audited.
    Folds(Vec<f64>),
}

impl DecisionRule {
    /// The rule of scores of a scale.
    pub(crate) fn new(decision: ThresholdRule, threshold: RowThreshold, scale: ScoreScale) -> Self {
        let (scores, thresholds) = (FloatPrecision::Double, FloatPrecision::Double);
        DecisionRule { decision, threshold, scale, gives_scores: true, scores, thresholds }
    }

    /// This rule for scores of a precision.
    #[must_use]
    pub(crate) fn in_precision(&self, scores: FloatPrecision) -> Self {
        DecisionRule { scores, ..self.clone() }
    }

    /// The decision that a score means by a threshold of [`DecisionRule::threshold_at`]; none
    /// without a score or a threshold.
    #[inline]
    pub(crate) fn compare(&self, score: f64, threshold: f64) -> Option<bool> {
        // Scores of 32 bits have that precision already.
        self.decision.decide(self.scale.turned, self.thresholds.round(score), threshold)
    }

    /// A score in the numbers of its scale, as tables show it; none of decisions without scores.
    pub(crate) fn shown(&self, score: f64) -> Option<f64> {
        (self.gives_scores && !score.is_nan()).then_some(score)
    }

    /// The share of its scale that a score is; of decisions 1 or 0, so that they are counted; none
    /// without either.
    #[inline]
    pub(crate) fn share(&self, score: f64) -> Option<f64> {
        (!score.is_nan()).then(|| self.scale.share(score))
    }

    /// The decision about a row by the model of a fold; none without a score.
    pub(crate) fn decide(
        &self,
        batch: &PreparedBatch,
        fold: Option<u8>,
        i: usize,
        score: f64,
    ) -> Option<bool> {
        self.compare(score, self.threshold_at(batch, fold, i))
    }

    /// The values of rows by which decisions are made and counted.
    pub(crate) fn reads(&self) -> Projection {
        let carried = matches!(self.threshold, RowThreshold::Carried(_));
        Projection { carried, ..Projection::NO_FEATURES }
    }

    /// Fails where a row has a score and no threshold of its scale to compare it with.
    pub(crate) fn check(
        &self,
        layout: &Layout,
        batch: &PreparedBatch,
        i: usize,
        score: f64,
    ) -> Result<()> {
        let RowThreshold::Carried(column) = self.threshold else { return Ok(()) };
        let threshold = batch.carried[column][i];
        if self.scale.contains(threshold) || score.is_nan() {
            return Ok(());
        }
        let name = &layout.carried[column];
        let (code, what, hint) = if threshold.is_nan() {
            let hint = format!(
                "fill the column, or exclude such rows by `data.keep: [{{{name}: present}}]`"
            );
            (
                "missing-threshold",
                "there is a score and no threshold to compare it with".to_owned(),
                hint,
            )
        } else {
            let hint = "a prediction is positive from its threshold on; correct the \
                        thresholds at their source"
                .to_owned();
            (
                "bad-threshold",
                format!("the threshold `{threshold}` is not {}", self.scale.in_words()),
                hint,
            )
        };
        Fault::new(code, what).at_row(format!("row {}", batch.row[i])).in_column(name).fail(hint)
    }

    /// A threshold in the precision in which scores are compared with it.
    #[inline]
    pub(crate) fn as_compared(&self, threshold: f64) -> f64 {
        self.scores.coarser(self.thresholds).round(threshold)
    }

    /// The threshold of a row by the model of a fold, as scores are compared with it; NaN where
    /// there is none.
    #[inline]
    pub(crate) fn threshold_at(&self, batch: &PreparedBatch, fold: Option<u8>, i: usize) -> f64 {
        self.as_compared(match &self.threshold {
            RowThreshold::Fixed(threshold) => *threshold,
            RowThreshold::Carried(column) => batch.carried[*column][i],
            RowThreshold::Folds(thresholds) => {
                fold.and_then(|fold| thresholds.get(usize::from(fold))).copied().unwrap_or(f64::NAN)
            }
        })
    }
}
