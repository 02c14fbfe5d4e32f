//! Counts over the prepared rows, column by column and group by group: the basis of an audit.
//!
//! One pass over the rows; parts are mergeable and hold counts, smallest and largest values only,
//! so the result depends neither on the partition of the rows nor on the threads. Columns are
//! counted over all kept rows; labels are also counted by group, over the audited rows, because
//! metrics are computed on those.

use serde::{Deserialize, Serialize};

use crate::data::rows::PreparedBatch;
use crate::data::rows::split::{self, RowRoles};
use crate::data::{Feature, FeatureColumn, Layout, MISSING, MISSING_GROUP};
use crate::exec::accumulator::Accumulator;
use crate::num::additive::{Additive, additive};
use crate::num::range::ValueRange;

/// Counts of the prepared rows; [`PreparedProfile::empty`] is the empty accumulator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PreparedProfile {
    /// The values of each feature, in the order of the layout.
    pub features: Vec<ColumnCounts>,
    /// The values of each carried column, in the order of the layout.
    pub carried: Vec<ColumnCounts>,
    /// The labels of the kept rows; zeros where the job has none.
    pub labels: LabelsByRole,
    /// For each attribute its groups in declared order, then the rows without a declared group.
    pub groups: Vec<Vec<GroupProfile>>,
}

/// The values of one column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnCounts {
    /// Rows by level, in the order of the levels; empty of numbers.
    pub levels: Vec<u64>,
    /// The range of numbers; none where no row has one.
    pub range: Option<ValueRange>,
    /// Rows without a value.
    pub missing: u64,
}

/// Rows by label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabelCounts {
    /// With the positive label.
    pub positive: u64,
    /// With the negative label.
    pub negative: u64,
    /// Without a label.
    pub missing: u64,
}

/// The labels of the rows that are audited, of those that train only, and of the others; with folds
/// all train, and are counted only as audited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabelsByRole {
    pub audited: LabelCounts,
    pub trained: LabelCounts,
    pub neither: LabelCounts,
}

impl LabelsByRole {
    /// The labels of all kept rows.
    pub(crate) fn all(&self) -> LabelCounts {
        let mut all = self.audited;
        [&self.trained, &self.neither].into_iter().for_each(|of| all.absorb(of));
        all
    }
}

/// Rows of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupProfile {
    /// All kept rows.
    pub rows: u64,
    /// The number of these that train (with folds: in some fold).
    pub trained: u64,
    /// The number of these that are audited.
    pub audited: u64,
    /// Labels of the audited rows.
    pub labels: LabelCounts,
}

impl LabelCounts {
    /// Counts the label of a row.
    pub(crate) fn add(&mut self, label: Option<bool>) {
        match label {
            Some(true) => self.positive += 1,
            Some(false) => self.negative += 1,
            None => self.missing += 1,
        }
    }
}

additive!(ColumnCounts { levels, range, missing });
additive!(LabelCounts { positive, negative, missing });
additive!(LabelsByRole { audited, trained, neither });
additive!(GroupProfile { rows, trained, audited, labels });
additive!(PreparedProfile { features, carried, labels, groups });

impl ColumnCounts {
    fn numbers(&mut self, values: &[f64]) {
        self.missing += values.iter().filter(|x| x.is_nan()).count() as u64;
        self.range.absorb(&ValueRange::of(values.iter().copied().filter(|x| !x.is_nan())));
    }

    fn codes(&mut self, codes: &[u32]) {
        for &code in codes {
            match self.levels.get_mut(code as usize) {
                Some(n) if code != MISSING => *n += 1,
                _ => self.missing += 1,
            }
        }
    }
}

impl PreparedProfile {
    /// An empty accumulator.
    pub(crate) fn empty(layout: &Layout) -> Self {
        let column = |of: &Feature| {
            let n_levels = if of.kind.is_coded() { of.levels.len() } else { 0 };
            ColumnCounts { levels: vec![0; n_levels], ..ColumnCounts::default() }
        };
        PreparedProfile {
            features: layout.features.iter().map(column).collect(),
            carried: vec![ColumnCounts::default(); layout.carried.len()],
            labels: LabelsByRole::default(),
            groups: layout
                .attributes
                .iter()
                .map(|a| vec![GroupProfile::default(); a.groups.len() + 1])
                .collect(),
        }
    }

    /// Counts a row group with its features.
    ///
    /// `by_folds` means that every audited row also trains, in the other folds.
    pub(crate) fn add(
        &mut self,
        layout: &Layout,
        batch: &PreparedBatch,
        roles: &RowRoles,
        by_folds: bool,
    ) {
        for (counts, column) in self.features.iter_mut().zip(&batch.rows.columns) {
            match column {
                FeatureColumn::Number(values) => counts.numbers(values),
                FeatureColumn::Code(codes) => counts.codes(codes),
            }
        }
        self.carried
            .iter_mut()
            .zip(&batch.carried)
            .for_each(|(counts, values)| counts.numbers(values));
        let label = |i: usize| batch.label.get(i).copied().flatten();
        if layout.label.is_some() {
            for i in 0..batch.row.len() {
                let counts = match roles.audited(i) {
                    Some(_) => &mut self.labels.audited,
                    None if roles.0.get(i) == Some(&split::TRAIN) => &mut self.labels.trained,
                    None => &mut self.labels.neither,
                };
                counts.add(label(i));
            }
        }
        for (groups, own) in self.groups.iter_mut().zip(&batch.groups) {
            let none = groups.len() - 1;
            for (i, &group) in own.iter().enumerate() {
                let counts = &mut groups
                    [if group == MISSING_GROUP { none } else { usize::from(group).min(none) }];
                let audited = roles.audited(i).is_some();
                counts.rows += 1;
                counts.audited += u64::from(audited);
                counts.trained += u64::from(if by_folds {
                    audited
                } else {
                    roles.0.get(i) == Some(&split::TRAIN)
                });
                if audited && layout.label.is_some() {
                    counts.labels.add(label(i));
                }
            }
        }
    }
}

impl Accumulator for PreparedProfile {
    fn merge(&mut self, other: Self) {
        self.absorb(&other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::split::{NEITHER, TRAIN};
    use crate::data::{Attribute, FeatureKind, FeatureRows, LabelDefinition};
    use crate::exec::tests::state_laws::SampleState;

    fn layout() -> Layout {
        Layout {
            label: Some(LabelDefinition {
                column: "y".to_owned(),
                positive: vec!["1".to_owned()],
                negative: vec!["0".to_owned()],
                classes: Vec::new(),
            }),
            carried: vec!["score".to_owned()],
            ..Layout::of(
                vec![Attribute { reference: 1, ..Attribute::of("sex", &["f", "m"], 0) }],
                vec![
                    Feature::of("sex", FeatureKind::Sensitive, &["f", "m", "x"]),
                    Feature::of("age", FeatureKind::OrdinalNumber, &[]),
                ],
            )
        }
    }

    fn rows(range: std::ops::Range<usize>) -> (PreparedBatch, RowRoles) {
        let take = |values: &[f64]| values[range.clone()].to_vec();
        let batch = PreparedBatch {
            row: range.clone().map(|i| i as u64).collect(),
            row_key: range.clone().map(|i| i as u64).collect(),
            person: Vec::new(),
            label: [Some(true), None, Some(false), Some(true), Some(true)][range.clone()].to_vec(),
            class: Vec::new(),
            groups: vec![[0, 1, 1, MISSING_GROUP, 1][range.clone()].to_vec()],
            rows: FeatureRows::of(vec![
                FeatureColumn::Code([0, 1, 1, 2, 1][range.clone()].to_vec()),
                FeatureColumn::Number(take(&[30.0, f64::NAN, -4.0, 50.0, 2.5])),
            ]),
            carried: vec![take(&[f64::NAN; 5])],
            strata: Vec::new(),
            slices: Vec::new(),
            weight: Vec::new(),
        };
        (batch, RowRoles([0, TRAIN, 0, 0, NEITHER][range].to_vec()))
    }

    fn counts(levels: &[u64], range: Option<ValueRange>, missing: u64) -> ColumnCounts {
        ColumnCounts { levels: levels.to_vec(), range, missing }
    }

    impl SampleState for PreparedProfile {
        fn sample(_: u64) -> Self {
            PreparedProfile::empty(&layout())
        }

        fn add_sample(&mut self, row: u64) {
            let at = row as usize % 5;
            let (batch, roles) = rows(at..at + 1);
            self.add(&layout(), &batch, &roles, row.is_multiple_of(2));
        }
    }

    #[test]
    fn counts_do_not_depend_on_how_rows_are_cut() {
        let of = |cuts: &[std::ops::Range<usize>]| {
            let mut whole = PreparedProfile::empty(&layout());
            for cut in cuts {
                let (batch, roles) = rows(cut.clone());
                let mut part = PreparedProfile::empty(&layout());
                part.add(&layout(), &batch, &roles, false);
                whole.merge(part);
            }
            whole
        };
        let profile = of(&[0..5, 5..5]);
        assert_eq!(profile.features[0], counts(&[1, 3, 1], None, 0));
        assert_eq!(profile.features[1], counts(&[], Some(ValueRange(-4.0, 50.0)), 1));
        assert_eq!(profile.carried[0], counts(&[], None, 5));
        let labels = |positive, negative, missing| LabelCounts { positive, negative, missing };
        let by_role = LabelsByRole {
            audited: labels(2, 1, 0),
            trained: labels(0, 0, 1),
            neither: labels(1, 0, 0),
        };
        assert_eq!((profile.labels, profile.labels.all()), (by_role, labels(3, 1, 1)));
        let group =
            |rows, trained, audited, labels| GroupProfile { rows, trained, audited, labels };
        let expected = [
            group(1, 0, 1, labels(1, 0, 0)),
            group(3, 1, 1, labels(0, 1, 0)),
            group(1, 0, 1, labels(1, 0, 0)),
        ];
        assert_eq!(profile.groups[0], expected);
        for cuts in [vec![0..1, 1..2, 2..3, 3..4, 4..5], vec![0..2, 2..2, 2..5]] {
            assert_eq!(of(&cuts), profile);
        }
    }

    #[test]
    fn missing_codes_and_folds() {
        let (mut batch, _) = rows(0..5);
        batch.rows.columns[0] = FeatureColumn::Code(vec![MISSING, 0, 0, MISSING, 2]);
        let mut profile = PreparedProfile::empty(&layout());
        profile.add(&layout(), &batch, &RowRoles(vec![0, 1, 2, 0, 1]), true);
        assert_eq!(profile.features[0], counts(&[2, 0, 1], None, 2));
        assert_eq!((profile.groups[0][1].trained, profile.groups[0][1].audited), (3, 3));
    }
}
