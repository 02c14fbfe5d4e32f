//! What counterfactuals are based on: the rows that strategies learn from, and the classes of rows.
//!
//! The reference is the file that the job names; without one, the training rows of each fold; if
//! there are none, the audited rows. Classes of the audited rows are what the set conditions on.
//! The classes of the reference are the same, except where the set conditions on predictions: a
//! reference with labels is then divided by its labels, because a model is not asked about rows
//! that it learned from; only if no row has a label are predictions used on both sides.

use std::sync::Arc;

use crate::data::rows::reference::{LayoutRecoding, ReferenceBatch, ReferenceRows};
use crate::data::rows::row_draw::RowDraw;
use crate::data::rows::split::{RolesReader, RowRoles};
use crate::data::rows::{PreparedBatch, Projection, RowGroupLabels, RowsReader};
use crate::data::{Layout, MISSING_CLASS};
use crate::error::{Error, Result};
use crate::stage::decided_scores::Predictions;
use crate::stage::row_context::RowContext;

/// What the classes of the audited rows are.
#[derive(Debug)]
pub(crate) enum RowClasses {
    /// The binary label.
    Label,
    /// The level of this feature, which is the unchanged label.
    Raw(usize),
    /// What a model predicts; the roles say in which fold.
    Predicted(Box<Predictions>, RolesReader),
}

impl RowClasses {
    /// For each row of a row group its class.
    ///
    /// # Errors
    /// The scores cannot be read.
    pub(crate) fn of_group(&self, group: usize, batch: &PreparedBatch) -> Result<Vec<Option<u32>>> {
        match self {
            RowClasses::Predicted(predictions, roles) => {
                predictions.of_group(group, (batch, &roles.read(group)?))
            }
            RowClasses::Label | RowClasses::Raw(_) => Ok(self.of_label(batch)),
        }
    }

    /// The names of the classes; none of a label or a prediction of two sides.
    pub(crate) fn names<'a>(&self, layout: &'a Layout) -> Option<&'a [String]> {
        match (self, &layout.label) {
            (RowClasses::Raw(feature), _) => Some(&layout.features[*feature].levels),
            (RowClasses::Predicted(..), Some(label)) if !label.classes.is_empty() => {
                Some(&label.classes)
            }
            _ => None,
        }
    }

    /// Classes by the label of each row, independent of predictions: for those of several classes
    /// the class itself.
    fn of_label(&self, batch: &PreparedBatch) -> Vec<Option<u32>> {
        match self {
            RowClasses::Predicted(..) if !batch.class.is_empty() => {
                let class = |&class: &u8| (class != MISSING_CLASS).then_some(class.into());
                batch.class.iter().map(class).collect()
            }
            RowClasses::Raw(feature) => {
                let codes = batch.rows.codes(*feature);
                codes.iter().map(|&code| (code != crate::data::MISSING).then_some(code)).collect()
            }
            RowClasses::Label | RowClasses::Predicted(..) => (0..batch.row.len())
                .map(|i| batch.label.get(i).copied().flatten().map(u32::from))
                .collect(),
        }
    }
}

fn is_by_roles(row_context: RowContext<'_>, has_file: bool) -> bool {
    !has_file && row_context.roles.n_trained() > 0
}

/// Number of references, of which one in a separate file is the same for all folds.
pub(crate) fn n_folds_of(row_context: RowContext<'_>, has_file: bool) -> usize {
    if is_by_roles(row_context, has_file) { row_context.roles.n_folds() } else { 1 }
}

/// The rows that strategies learn from, and what the classes of these and of the audited rows are.
#[derive(Clone)]
pub(crate) struct LearningReference<'a> {
    /// The audited rows.
    pub(crate) context: RowContext<'a>,
    /// What the classes of the audited rows are.
    pub(crate) classes: Arc<RowClasses>,
    file: Option<(RowsReader, LayoutRecoding)>,
    draw: Option<RowDraw>,
}

impl<'a> LearningReference<'a> {
    /// The reference in a separate file, or that of the rows.
    ///
    /// # Errors
    /// A column has another type there than in the rows.
    pub(crate) fn new(
        row_context: RowContext<'a>,
        file: Option<RowsReader>,
        classes: RowClasses,
    ) -> Result<Self> {
        let recoded = |rows: RowsReader| {
            Ok::<_, Error>((LayoutRecoding::new(rows.layout(), row_context.rows.layout())?, rows))
        };
        let file = file.map(recoded).transpose()?.map(|(recoding, rows)| (rows, recoding));
        let classes = Arc::new(classes);
        Ok(LearningReference { context: row_context, classes, file, draw: None })
    }

    /// This reference, drawn again.
    pub(crate) fn drawn(&self, draw: RowDraw) -> Self {
        LearningReference { draw: Some(draw), ..self.clone() }
    }

    /// This reference for `rows` with other groups of the attribute at a position; a separate file
    /// gets the groups `of_file`.
    pub(crate) fn renamed<'b>(
        &self,
        rows: &'b RowsReader,
        position: usize,
        of_file: Option<RowGroupLabels>,
    ) -> LearningReference<'b>
    where
        'a: 'b,
    {
        let same: LearningReference<'b> = self.clone();
        let file = same.file.zip(of_file);
        let file = file.map(|((rows, recoding), of)| (rows.renamed(position, of), recoding));
        LearningReference { context: RowContext { rows, ..same.context }, file, ..same }
    }

    /// Whether the reference is the rows themselves.
    pub(crate) fn is_own_rows(&self) -> bool {
        self.file.is_none()
    }

    fn by_roles(&self) -> bool {
        is_by_roles(self.context, self.file.is_some())
    }

    /// Number of references: one per fold, or one for all.
    pub(crate) fn n_folds(&self) -> usize {
        n_folds_of(self.context, self.file.is_some())
    }

    /// Number of row groups.
    pub(crate) fn n_groups(&self) -> usize {
        self.file.as_ref().map_or(self.context.rows.n_groups(), |(rows, _)| rows.n_groups())
    }

    /// One row group, with the roles of its rows where they decide.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn read(&self, group: usize) -> Result<(PreparedBatch, Option<RowRoles>)> {
        match &self.file {
            Some((rows, recoding)) => {
                let mut batch = rows.read(group, Projection::ALL)?;
                batch.rows = recoding.apply(batch.rows);
                Ok((batch, None))
            }
            None => {
                let (batch, roles) = self.context.read(group, Projection::ALL)?;
                Ok((batch, Some(roles)))
            }
        }
    }

    /// How often row `i` of a row group is reference for a fold: 0 or 1, where rows are drawn again
    /// as often as they were drawn.
    pub(crate) fn times(
        &self,
        (batch, roles): (&PreparedBatch, Option<&RowRoles>),
        i: usize,
        fold: usize,
    ) -> usize {
        let is_reference = match roles {
            None => true,
            Some(roles) if self.by_roles() => {
                u8::try_from(fold).is_ok_and(|fold| roles.trains(i, fold))
            }
            Some(roles) => roles.audited(i).is_some(),
        };
        match self.draw {
            _ if !is_reference => 0,
            None => 1,
            Some(draw) => draw.times(batch.person_keys()[i]) as usize,
        }
    }

    /// The reference of a fold.
    pub(crate) fn rows(&self, fold: usize) -> ReferenceRows<'_> {
        let labelled = self.context.rows.layout().label.is_some() || !self.is_own_rows();
        let read = move |group: usize| {
            let (batch, roles) = self.read(group)?;
            let times = |i: usize| self.times((&batch, roles.as_ref()), i, fold);
            let chosen: Vec<usize> =
                (0..batch.rows.n).flat_map(|i| std::iter::repeat_n(i, times(i))).collect();
            let classes = if labelled {
                self.classes.of_label(&batch)
            } else {
                self.classes.of_group(group, &batch)?
            };
            let PreparedBatch { row_key, groups, rows, .. } = batch;
            let mut made = ReferenceBatch { keys: row_key, rows, groups, classes };
            if !chosen.iter().copied().eq(0..made.rows.n) {
                made = made.take(&chosen);
            }
            Ok(made)
        };
        ReferenceRows::of_groups(self.context.pieces(self.n_groups()), Box::new(read))
    }
}
