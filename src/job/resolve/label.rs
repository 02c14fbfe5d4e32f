//! What follows from the label of a job: its classes and the columns with the scores of each,
//! labels that are made from amounts, and what the family clarify makes of both.

use crate::data::prepare::derive::Derivation;
use crate::job::blocks::clarify::FlipTestBlock;
use crate::job::{
    CounterfactualScores, FactualScores, FavourableClass, Job, LabelColumn, LabelRole, MetricFamily,
};
use crate::model::kind::ModelBlock;
use crate::model::kind::scale_key::BetterEnd;
use crate::param::{ColumnName, Finite, Word};

impl Job {
    /// The column whose values are strata.
    pub fn strata(&self) -> Option<&ColumnName> {
        self.metrics.clarify.as_ref()?.strata.as_ref()
    }

    /// The only class that the family clarify measures; none where it measures each.
    pub fn clarify_class(&self) -> Option<&Word> {
        self.metrics.clarify.as_ref()?.positive.as_ref()
    }

    /// The amount above which an outcome of a model counts as positive; none for models whose
    /// outcome is not an amount, and where the family clarify is not measured.
    pub(crate) fn positive_above(&self, model: &ModelBlock) -> Option<Finite> {
        let mut families = self.metrics.families.iter().flatten();
        let asked = families.any(|family| *family == MetricFamily::Clarify);
        model.amount().filter(|_| asked)?;
        self.metrics.clarify.as_ref()?.positive_above
    }

    /// Which amounts people want, those above a number or the others; none where no model's outcome
    /// is an amount.
    pub(crate) fn favourable_amounts(&self) -> Option<FavourableClass> {
        let amount = self.models.values().find_map(ModelBlock::amount)?;
        Some(match amount.better {
            BetterEnd::Higher => FavourableClass::Positive,
            BetterEnd::Lower => FavourableClass::Negative,
        })
    }

    /// Makes labels from observed amounts where the family clarify counts them as positive above a
    /// number: a derived column of two bins, and `better` of the models says which one people want.
    pub(crate) fn label_amounts(&mut self) {
        let above = self.models.values().find_map(|model| self.positive_above(model));
        let (Some(above), Some(favourable)) = (above, self.favourable_amounts()) else { return };
        let LabelRole::Amount(amounts) = &self.data.label else {
            if self.data.label == LabelRole::None {
                self.data.favourable = Some(favourable);
            }
            return;
        };
        let [high, low] = ["above", "at most"].map(|side| Word(format!("{side} {}", above.get())));
        let ends = [-f64::MAX, f64::MAX].map(Finite::new);
        let (Some(column), [Some(least), Some(most)]) =
            (ColumnName::new(format!("{amounts} {}", high.0)), ends)
        else {
            return;
        };
        let levels = [(low.clone(), [least, above]), (high.clone(), [above, most])];
        let derivation = Derivation {
            from: Some(amounts.clone()),
            levels: Some(levels.into_iter().collect()),
            ..Derivation::default()
        };
        self.data.derive.insert(column.clone(), derivation);
        self.data.label = LabelRole::Column(LabelColumn {
            column,
            positive: vec![high],
            negative: Some(vec![low]),
            classes: None,
            favourable,
            words: None,
        });
    }

    /// The flip test, where it runs.
    pub fn flip_test(&self) -> Option<&FlipTestBlock> {
        self.metrics.clarify.as_ref()?.flip_test.as_ref()
    }
}

impl LabelRole {
    /// The classes of a label that has several; none where it has two sides or there is none.
    pub fn classes(&self) -> Option<&[Word]> {
        self.column()?.classes.as_deref()
    }
}

impl LabelColumn {
    /// The values that count as negative, where the job closes the list: for several classes, those
    /// that are not positive.
    pub fn closed_negative(&self) -> Option<Vec<Word>> {
        match &self.classes {
            Some(classes) => Some(
                classes.iter().filter(|class| !self.positive.contains(class)).cloned().collect(),
            ),
            None => self.negative.clone(),
        }
    }

    /// The class of a side of the label that has only one: against all others it is that side
    /// against the other.
    pub fn is_side(&self, class: &Word) -> bool {
        let classes = self.classes.as_deref().unwrap_or_default();
        let positive = self.positive.contains(class);
        classes.contains(class)
            && classes.iter().filter(|other| self.positive.contains(other) == positive).count() == 1
    }
}

/// The blocks that name the columns with scores.
macro_rules! scored {
    ($($block:ident),+) => {$(impl $block {
        /// The columns with scores: one, or one per class in the order of the classes.
        pub fn score_columns(&self, classes: Option<&[Word]>) -> Vec<&ColumnName> {
            match (classes, &self.columns) {
                (Some(classes), Some(columns)) => {
                    classes.iter().filter_map(|class| columns.get(class)).collect()
                }
                _ => self.column.iter().collect(),
            }
        }
    })+};
}

scored!(FactualScores, CounterfactualScores);
