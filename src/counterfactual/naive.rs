//! Naive: changes the sensitive attribute and nothing else.
//!
//! Source: "The Matrix Reloaded" (2023), section 2.2: the counterfactual of a row of group a in group b is the row with the attribute set to b.
//! Input: any rows; output: one counterfactual per row, all other features copied. It asks what the model does with the column itself
//! and says nothing about columns that follow from it. There is nothing to fit and no chance in it. Cost: a copy of the rows.

use crate::counterfactual::{Generated, Generator, Strategy};
use crate::data::training::TrainingRows;
use crate::data::{Attribute, Column, Rows};
use crate::error::Result;

/// The naive strategy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Naive;

impl Strategy for Naive {
    fn fit(&self, _reference: &TrainingRows<'_>) -> Result<Box<dyn Generator>> {
        Ok(Box::new(Naive))
    }

    fn needs_reference(&self) -> bool {
        false
    }
}

impl Generator for Naive {
    fn generate(&self, rows: &Rows, attribute: &Attribute, to: usize) -> Generated {
        let mut rows = rows.clone();
        if let Some(column) = rows.columns.get_mut(attribute.feature) {
            *column = Column::Code(vec![attribute.level_of_group[to]; rows.n]);
        }
        Generated { parent: (0..rows.n).collect(), cf_index: vec![0; rows.n], rows }
    }
}

#[cfg(test)]
mod tests {
    use super::Naive;
    use crate::counterfactual::Generator;
    use crate::data::{Attribute, Column, Rows};

    #[test]
    fn one_column_changes_and_no_other() {
        let rows = Rows { n: 3, columns: vec![Column::Number(vec![1.0, 2.0, 3.0]), Column::Code(vec![0, 1, 0])] };
        let attribute = Attribute {
            name: "sex".into(),
            groups: vec!["Male".into(), "Female".into()],
            reference: 0,
            feature: 1,
            level_of_group: vec![0, 1],
        };
        let made = Naive.generate(&rows, &attribute, 1);
        assert_eq!(made.parent, [0, 1, 2]);
        assert_eq!(made.rows.columns[0], rows.columns[0]);
        assert_eq!(made.rows.columns[1], Column::Code(vec![1, 1, 1]));
    }
}
