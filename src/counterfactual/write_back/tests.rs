//! Tests of what follows from setting an attribute, with every number computed by hand.

use std::collections::BTreeMap;

use super::{RawCounts, WriteBack, WriteBackRow, WrittenCounts};
use crate::data::prepare::derive::{DerivationRule, DerivedBin, DerivedFeature};
use crate::data::{Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING};
use crate::exec::accumulator::Accumulator;
use crate::exec::tests::state_laws::SampleState;
use crate::num::ecdf::{number_of_bits, ordered_bits};
use crate::tests::Says;

fn map(pairs: &[(&str, &str)], otherwise: Option<&str>) -> DerivationRule {
    let names = pairs.iter().map(|(word, name)| ((*word).to_owned(), (*name).to_owned())).collect();
    DerivationRule::Map { names, otherwise: otherwise.map(str::to_owned) }
}

/// 0 sex, 1 race2 = race mapped, 2 both = sex x race2, 3 race, 4 age, 5 band = age binned, 6
/// site2 = site mapped, 7 site.
fn layout() -> Layout {
    let levels = ["White & f", "White & m", "Other & f", "Other & m"];
    let bin = |name: &str, lo, hi, closed| DerivedBin { name: name.to_owned(), lo, hi, closed };
    Layout {
        hidden: vec![1, 2, 6],
        derived: vec![
            DerivedFeature {
                feature: 1,
                parents: vec![Some(3)],
                rule: map(&[("White", "White")], Some("Other")),
            },
            DerivedFeature {
                feature: 2,
                parents: vec![Some(1), Some(0)],
                rule: DerivationRule::Cross(vec![BTreeMap::new(), BTreeMap::new()]),
            },
            DerivedFeature {
                feature: 5,
                parents: vec![Some(4)],
                rule: DerivationRule::Bins(vec![
                    bin("[17, 30]", 17.0, 30.0, true),
                    bin("(30, 45]", 30.0, 45.0, false),
                ]),
            },
            DerivedFeature {
                feature: 6,
                parents: vec![Some(7)],
                rule: map(&[("1", "a"), ("2", "a"), ("3", "b")], None),
            },
        ],
        ..Layout::of(
            vec![
                Attribute::of("sex", &["f", "m"], 0),
                Attribute::of("race2", &["White", "Other"], 1),
                Attribute::of("both", &levels, 2),
                Attribute::of("site2", &["a", "b"], 6),
            ],
            vec![
                Feature::of("sex", FeatureKind::Sensitive, &["f", "m"]),
                Feature::of("race2", FeatureKind::Sensitive, &["White", "Other"]),
                Feature::of("both", FeatureKind::Sensitive, &levels),
                Feature::of("race", FeatureKind::Nominal, &["Asian", "Black", "White", "missing"]),
                Feature::of("age", FeatureKind::WHOLE, &[]),
                Feature::of("band", FeatureKind::Nominal, &["[17, 30]", "(30, 45]"]),
                Feature::of("site2", FeatureKind::Sensitive, &["a", "b"]),
                Feature::of("site", FeatureKind::OrdinalNumber, &[]),
            ],
        )
    }
}

/// race: Asian 2 (both positive), Black 2 (both negative), White 1, missing 3; site: 1, 2, 2, 3,
/// none, 3.
fn rows() -> FeatureRows {
    FeatureRows::of(vec![
        FeatureColumn::Code(vec![0, 1, 0, 1, 0, 1, 0, 1]),
        FeatureColumn::Code(vec![1, 1, 1, 1, 0, MISSING, MISSING, MISSING]),
        FeatureColumn::Code(vec![2, 3, 2, 3, 0, MISSING, MISSING, MISSING]),
        FeatureColumn::Code(vec![0, 0, 1, 1, 2, 3, 3, 3]),
        FeatureColumn::Number(vec![20.0, 30.0, 31.0, 45.0, 50.0, f64::NAN, 17.0, 18.0]),
        FeatureColumn::Code(vec![0, 0, 1, 1, MISSING, MISSING, 0, 0]),
        FeatureColumn::Code(vec![0, 0, 0, 1, MISSING, 1, 0, 0]),
        FeatureColumn::Number(vec![1.0, 2.0, 2.0, 3.0, f64::NAN, 3.0, 1.0, 1.0]),
    ])
}

const LABELS: [Option<bool>; 8] =
    [Some(true), Some(true), Some(false), Some(false), Some(true), None, Some(true), Some(false)];

fn fitted(layout: &Layout, attribute: usize, reference: &[usize]) -> WriteBack {
    let (mut first, mut second) =
        (RawCounts::new(layout, attribute), RawCounts::new(layout, attribute));
    for (k, &i) in reference.iter().enumerate() {
        if k % 2 == 0 {
            first.add(&rows(), &[(i, LABELS[i])])
        } else {
            second.add(&rows(), &[(i, LABELS[i])])
        }
    }
    second.merge(first);
    WriteBack::new(layout, attribute, &second)
}

/// The position of race2, which is mapped from race.
const MAPPED: usize = 1;

/// The attribute that is mapped from a column of numbers.
const OF_NUMBERS: usize = 3;

impl SampleState for RawCounts {
    fn sample(_: u64) -> Self {
        RawCounts::new(&layout(), MAPPED)
    }

    fn add_sample(&mut self, row: u64) {
        let i = row as usize % LABELS.len();
        self.add(&rows(), &[(i, LABELS[i])]);
    }
}

impl SampleState for WrittenCounts {
    fn sample(_: u64) -> Self {
        WrittenCounts::default()
    }

    fn add_sample(&mut self, row: u64) {
        let place = row as usize;
        *self.0.entry((place % 2, place % 3, place % 5, row % 7)).or_default() += 1;
    }
}

/// The rows, each set to a group of the attribute by naive, and what followed.
fn applied(back: &WriteBack, layout: &Layout, attribute: usize, to: usize) -> FeatureRows {
    let attribute = &layout.attributes[attribute];
    let mut made = rows();
    made.columns[attribute.feature] =
        FeatureColumn::Code(vec![attribute.level_of_group[to]; made.n]);
    let changes: Vec<WriteBackRow> =
        (0..made.n).map(|row| WriteBackRow { row, parent: row, from: 0, to }).collect();
    back.apply(&mut made, &changes, &rows(), &LABELS);
    made
}

#[test]
fn a_mapped_attribute_sets_the_most_frequent_raw_value_of_group_and_label() {
    let layout = layout();
    let back = fitted(&layout, 1, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let made = applied(&back, &layout, 1, 1);
    // Other: Asian where positive, Black where negative; without a label both occur twice, the
    // first level wins. `missing` is not a race.
    assert_eq!(made.codes(3), [0, 0, 1, 1, 0, 0, 0, 1]);
    // White occurs with a positive label only; negative rows take it anyway.
    assert_eq!(applied(&back, &layout, 1, 0).codes(3), [2; 8]);
    // The cross follows in rows with a known sex; no other column changes.
    assert_eq!(made.codes(2), [2, 3, 2, 3, 2, 3, 2, 3]);
    assert_eq!((made.codes(0), made.codes(5)), (rows().codes(0), rows().codes(5)));
}

/// A row in a band of ages must have an age of the band; ages that no model reads are not checked.
#[test]
fn numbers_that_deny_their_group_are_found() {
    let mut layout = layout();
    layout.attributes.push(Attribute::of("band", &["[17, 30]", "(30, 45]"], 5));
    let denied = |layout: &Layout, attribute: usize, to: usize| {
        let back = fitted(layout, attribute, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let made = applied(&back, layout, attribute, to);
        (0..made.n).filter(|&row| back.contradicts_group(&made, row)).collect::<Vec<_>>()
    };
    assert_eq!(denied(&layout, 4, 1), [0, 1, 4, 5, 6, 7]);
    assert_eq!(denied(&layout, 4, 0), [2, 3, 4, 5]);
    assert_eq!(denied(&layout, 1, 0), [0; 0]);
    layout.hidden = vec![1, 2, 4, 6];
    assert_eq!(denied(&layout, 4, 1), [0; 0]);
}

#[test]
fn a_group_without_reference_rows_is_out_of_reach() {
    let layout = layout();
    let back = fitted(&layout, 1, &[4]);
    assert_eq!([0, 1].map(|to| back.can_set_group(to)), [true, false]);
    // A cross needs both of its parts.
    let back = fitted(&layout, 2, &[4]);
    assert_eq!([0, 1, 2, 3].map(|to| back.can_set_group(to)), [true, true, false, false]);
    assert!(
        [0, 1].iter().all(|&to| fitted(&layout, 0, &[]).can_set_group(to)),
        "an unchanged column needs no reference"
    );
}

#[test]
fn a_part_of_a_cross_that_stays_keeps_its_raw_value() {
    let layout = layout();
    // In the reference rows the group Other is Asian.
    let back = fitted(&layout, 2, &[0, 1, 4]);
    let mut made = rows();
    made.columns[2] = FeatureColumn::Code(vec![3; 8]);
    // A Black woman and a White woman become Other & m.
    let changes = [2, 4].map(|row| WriteBackRow {
        row,
        parent: row,
        from: if row == 2 { 2 } else { 0 },
        to: 3,
    });
    let written = back.apply(&mut made, &changes, &rows(), &LABELS);
    assert_eq!((made.codes(0)[2], made.codes(3)[2]), (1, 1), "Black is Other already");
    assert_eq!((made.codes(0)[4], made.codes(3)[4]), (1, 0));
    let values: Vec<_> = written
        .values(&layout)
        .map(|(from, to, column, value, n)| (from, to, column.name.as_str(), value, n))
        .collect();
    let expected = [(0, 3, "sex", "m", 1), (0, 3, "race", "Asian", 1), (2, 3, "sex", "m", 1)];
    assert_eq!(
        values,
        expected.map(|(from, to, column, value, n)| (from, to, column, value.to_owned(), n))
    );
}

#[test]
fn mapped_numbers_are_set_to_the_most_frequent_number() {
    let layout = layout();
    let back = fitted(&layout, 3, &[0, 1, 2, 3, 4, 5]);
    // a: 1 once and 2 once where positive (the lowest wins), 2 where negative; without a label 2 is
    // the most frequent. Rows in group a keep their value.
    assert_eq!(applied(&back, &layout, 3, 0).numbers(7), [1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 1.0, 1.0]);
    assert_eq!(applied(&back, &layout, 3, 1).numbers(7), [3.0; 8]);
}

#[test]
fn a_cross_sets_its_parts_and_these_theirs() {
    let layout = layout();
    let back = fitted(&layout, 2, &[0, 1, 2, 3, 4]);
    let made = applied(&back, &layout, 2, 3);
    assert_eq!((made.codes(0), made.codes(1)), ([1; 8].as_slice(), [1; 8].as_slice()));
    assert_eq!(made.codes(3), [0, 0, 1, 1, 0, 0, 0, 1]);
    assert_eq!(made.codes(2), [3; 8], "what is set is not computed again");
    assert_eq!(applied(&back, &layout, 2, 0).codes(3), [2; 8]);
}

#[test]
fn derived_features_follow_their_parents_and_only_them() {
    let layout = layout();
    let back = fitted(&layout, 0, &[]);
    assert!(!RawCounts::new(&layout, 0).has_columns() && !back.is_empty());
    let mut made = rows();
    made.columns[0] = FeatureColumn::Code(vec![1; 8]);
    // A strategy moved three ages: into another bin, out of all bins, and not at all.
    made.columns[4] =
        FeatureColumn::Number(vec![40.0, 99.0, 31.0, 45.0, 20.0, f64::NAN, 17.0, 18.0]);
    let changes: Vec<WriteBackRow> =
        (0..8).map(|row| WriteBackRow { row, parent: row, from: 0, to: 1 }).collect();
    back.apply(&mut made, &changes, &rows(), &LABELS);
    assert_eq!(made.codes(5), [1, MISSING, 1, 1, 0, MISSING, 0, 0]);
    assert_eq!(
        made.codes(2),
        [3, 3, 3, 3, 1, MISSING, MISSING, MISSING],
        "sex changed in the rows of `f`"
    );
    assert_eq!(made.codes(3), rows().codes(3));
}

#[test]
fn counterfactuals_need_not_stand_beside_their_originals() {
    let layout = layout();
    let back = fitted(&layout, 1, &[0, 1, 2, 3, 4]);
    let mut made = rows().take(&[2, 4]);
    made.columns[1] = FeatureColumn::Code(vec![0, 1]);
    back.apply(
        &mut made,
        &[
            WriteBackRow { row: 0, parent: 2, from: 1, to: 0 },
            WriteBackRow { row: 1, parent: 4, from: 0, to: 1 },
        ],
        &rows(),
        &[],
    );
    assert_eq!(made.codes(3), [2, 0], "without labels: over the group");
}

#[test]
fn numbers_keep_their_order() {
    let sorted = [f64::NEG_INFINITY, -2.5, -0.0, 1e-300, 3.0, f64::MAX];
    let bits: Vec<u64> = sorted.iter().map(|&x| ordered_bits(x)).collect();
    assert!(bits.is_sorted());
    assert!(sorted.iter().zip(bits).all(|(&x, bits)| number_of_bits(bits) == x));
    assert_eq!(ordered_bits(-0.0), ordered_bits(0.0));
}

/// Numbers beyond what is counted are refused by the name of their column, wherever they come.
#[test]
fn a_mapped_column_with_too_many_numbers_is_refused() {
    let layout = layout();
    let counts = |numbers: std::ops::Range<usize>| {
        let mut counts = RawCounts::new(&layout, OF_NUMBERS);
        let feature = counts.columns[0].0;
        for i in numbers {
            let columns = (0..layout.features.len())
                .map(|f| match f == feature {
                    true => FeatureColumn::Number(vec![i as f64]),
                    false => FeatureColumn::Code(vec![0]),
                })
                .collect();
            counts.add(&FeatureRows::of(columns), &[(0, Some(true))]);
        }
        counts
    };
    let most = super::MAX_NUMBERS;
    let mut all = counts(0..most);
    assert!(all.check(&layout).is_ok());
    all.merge(counts(most - 3..most));
    assert!(all.check(&layout).is_ok());
    let refused = |mut a: RawCounts, b: RawCounts| {
        a.merge(b);
        (a.check(&layout).unwrap_err().to_string(), a)
    };
    // In any order.
    let more = counts(most..most + 1);
    let (text, one) = refused(all.clone(), more.clone());
    text.says(&["more than 100000 different numbers"]);
    assert_eq!(refused(more, all).1, one);
    assert_eq!(refused(counts(0..most + 1), counts(0..1)).1, one);
}
