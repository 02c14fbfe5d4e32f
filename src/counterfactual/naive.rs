//! Naive: changes the sensitive attribute and nothing else.
//!
//! Source: "The Matrix Reloaded" (2023), section 2.2: the counterfactual of a row of group a in group b is the row with the attribute set
//! to b.
//! Input: any rows; output: one counterfactual per row of another declared group, all other features copied. It asks what the model does
//! with the column itself and says nothing about columns that follow from it. There is nothing to fit and no chance in it. Cost: a copy of
//! the rows.

use crate::counterfactual::{Generated, Generator, Samples, set_group};
use crate::data::Attribute;

/// The naive strategy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Naive;

impl Generator for Naive {
    fn generate(&self, samples: &Samples<'_>, attribute: &Attribute, to: usize) -> Generated {
        let parent: Vec<usize> = (0..samples.rows.n).filter(|&i| samples.own_group(i, to).is_some()).collect();
        let mut rows = samples.rows.take(&parent);
        set_group(&mut rows, attribute, to);
        Generated::unchanged(rows, parent)
    }
}

#[cfg(test)]
mod tests {
    use super::Naive;
    use crate::counterfactual::{Generator, Samples};
    use crate::data::{Attribute, Column, MISSING_GROUP, Rows};

    #[test]
    fn one_column_changes_and_no_other() {
        let rows = Rows { n: 4, columns: vec![Column::Number(vec![1.0, 2.0, 3.0, 4.0]), Column::Code(vec![0, 1, 0, 7])] };
        let attribute = Attribute {
            name: "sex".into(),
            groups: vec!["Male".into(), "Female".into()],
            reference: 0,
            feature: 1,
            level_of_group: vec![0, 1],
        };
        let samples = Samples { keys: &[], rows: &rows, groups: &[0, 1, 0, MISSING_GROUP], classes: &[] };
        let made = Naive.generate(&samples, &attribute, 1);
        assert_eq!(made.parent, [0, 2]);
        assert_eq!(made.rows.columns, [Column::Number(vec![1.0, 3.0]), Column::Code(vec![1, 1])]);
        assert_eq!((made.valid, made.plausibility), (vec![true; 2], None));
    }
}
