//! What follows from a label of several classes: their names, and the columns with the scores of
//! each, in the order of the classes.

use indexmap::IndexMap;

use crate::job::{CounterfactualScores, FactualScores, LabelColumn, LabelRole};
use crate::param::{ColumnName, Word};

impl LabelRole {
    /// The classes of a label of several; none where it has two sides or there is none.
    pub fn classes(&self) -> Option<&[Word]> {
        self.column()?.classes.as_deref()
    }
}

impl LabelColumn {
    /// The values that count as negative, where the job closes the list: of several classes those
    /// that are not positive.
    pub fn closed_negative(&self) -> Option<Vec<Word>> {
        match &self.classes {
            Some(classes) => Some(
                classes.iter().filter(|class| !self.positive.contains(class)).cloned().collect(),
            ),
            None => self.negative.clone(),
        }
    }

    /// The one class of a side of the label that has no other: against all others it is that side
    /// against the other.
    pub fn is_side(&self, class: &Word) -> bool {
        let classes = self.classes.as_deref().unwrap_or_default();
        let positive = self.positive.contains(class);
        classes.contains(class)
            && classes.iter().filter(|other| self.positive.contains(other) == positive).count() == 1
    }
}

impl FactualScores {
    /// The columns with scores: one, or one per class in the order of the classes.
    pub fn score_columns(&self, classes: Option<&[Word]>) -> Vec<&ColumnName> {
        score_columns(self.column.as_ref(), self.columns.as_ref(), classes)
    }
}

impl CounterfactualScores {
    /// As [`FactualScores::score_columns`].
    pub fn score_columns(&self, classes: Option<&[Word]>) -> Vec<&ColumnName> {
        score_columns(self.column.as_ref(), self.columns.as_ref(), classes)
    }
}

fn score_columns<'a>(
    column: Option<&'a ColumnName>,
    columns: Option<&'a IndexMap<Word, ColumnName>>,
    classes: Option<&[Word]>,
) -> Vec<&'a ColumnName> {
    match (classes, columns) {
        (Some(classes), Some(columns)) => {
            classes.iter().filter_map(|class| columns.get(class)).collect()
        }
        _ => column.into_iter().collect(),
    }
}
