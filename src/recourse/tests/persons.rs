//! False alarms of the permutation test where a person has several rows: with one row of each
//! person, as the stage takes them, there are as many as the test claims; with all rows far more.

use super::*;
use crate::num::one_row_each::{DrawablePersonRow, one_row_each};

/// A row with the unfavourable decision.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RefusedRow {
    person: u64,
    key: u64,
    group: u16,
    /// Whether the only action helps.
    helped: bool,
}

/// The p-value of the one subgroup, all refused rows, by the share that its one action helps.
fn p_value(refused: &[RefusedRow], seed: u64) -> f64 {
    // The same number with the favourable decision have the level that the action leads to.
    let n = refused.len();
    let codes = (0..2 * n).map(|i| u32::from(i >= n)).collect();
    let job = RecourseFeature {
        name: "job".to_owned(),
        levels: ["a", "b"].map(str::to_owned).to_vec(),
        codes,
        may_change: AllowedChanges { direction: ChangeDirection::Any, ..AllowedChanges::default() },
        ..RecourseFeature::default()
    };
    // A column that no person can change: an action that changes all columns would not be valid.
    let town = RecourseFeature {
        name: "town".to_owned(),
        levels: vec!["x".to_owned()],
        codes: vec![0; 2 * n],
        ..RecourseFeature::default()
    };
    let audited = AuditedRows {
        features: vec![job, town],
        groups: refused.iter().chain(refused).map(|row| Some(row.group)).collect(),
        favourable: (0..2 * n).map(|i| i >= n).collect(),
    };
    let plan = plan(&audited, "0.5");
    let helped = helped(&plan, &|row, _: &[LevelChange]| refused[row as usize].helped);
    let effects = ActionEffects::new(&plan, &helped);
    let question = question(RecourseDefinition::EqualEffectiveness, RecourseView::Micro);
    let deals =
        PermutationSettings { deals: Count::of::<199>(), enough: Count::of::<{ u64::MAX }>() };
    let all = 0..plan.n_subgroups();
    let found = p_values(&plan, &effects, &helped, &[question], deals, seed, all);
    // `job = a`, the same with the town, and no action for only the town: both have the same
    // result.
    assert_eq!(found.len(), 2, "{found:?}");
    found[0][0]
}

/// Rows of persons of two groups; the action helps half of the rows of either, and two rows of a
/// person agree with the correlation 0.64.
fn refused(sample: u64, persons: u64, rows: u64) -> Vec<RefusedRow> {
    let mut stream = RandomStream::new(sample, "recourse/persons");
    let mut all = Vec::new();
    for person in 0..persons {
        let common = stream.u01() < 0.5;
        for row in 0..rows {
            let (own, is_common) = (stream.u01() < 0.5, stream.u01() < 0.8);
            all.push(RefusedRow {
                person,
                key: person * rows + row,
                group: (person % 2) as u16,
                helped: if is_common { common } else { own },
            });
        }
    }
    all
}

fn one_each(seed: u64, rows: &[RefusedRow]) -> Vec<RefusedRow> {
    let row =
        |row: &RefusedRow| DrawablePersonRow { person: row.person, row_key: row.key, spare: false };
    one_row_each(seed, rows.iter().map(row)).into_iter().map(|i| rows[i]).collect()
}

#[test]
fn persons_give_as_many_false_alarms_as_the_test_claims() {
    const SAMPLES: u64 = 400;
    let [mut by_person, mut by_row] = [0; 2];
    for sample in 0..SAMPLES {
        let rows = refused(sample, 50, 6);
        by_person += u64::from(p_value(&one_each(sample, &rows), sample) <= 0.05);
        by_row += u64::from(p_value(&rows, sample) <= 0.05);
    }
    let share = |n: u64| n as f64 / SAMPLES as f64;
    println!("p <= 0.05 by person {}, by row {}", share(by_person), share(by_row));
    // The test is exact: never more than 5 %, here within four standard errors. Discrete shares
    // make it less.
    assert!(share(by_person) < 0.05 + 4.0 * (0.05_f64 * 0.95 / SAMPLES as f64).sqrt());
    assert!(share(by_person) > 0.005, "{by_person}");
    assert!(share(by_row) > 0.25, "{by_row}");
}

/// Rows written several times under their person tell nothing new.
#[test]
fn rows_written_again_leave_the_p_value() {
    let mut smallest = 1.0_f64;
    for sample in 0..10 {
        let once = refused(sample, 40, 1);
        let again: Vec<RefusedRow> = (0..5)
            .flat_map(|k| once.iter().map(move |row| RefusedRow { key: 5 * row.key + k, ..*row }))
            .collect();
        let drawn = one_each(sample, &again);
        let outcomes_of = |rows: &[RefusedRow]| {
            let mut outcomes: Vec<_> = rows.iter().map(|r| (r.person, r.group, r.helped)).collect();
            outcomes.sort_unstable();
            outcomes
        };
        assert_eq!(outcomes_of(&drawn), outcomes_of(&once));
        let p = p_value(&once, 7);
        assert_eq!(p_value(&drawn, 7), p);
        smallest = smallest.min(p);
    }
    assert!(smallest < 0.5, "no sample differs: {smallest}");
}
