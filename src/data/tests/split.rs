//! Splits against stored folds, and their promises.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow::array::{AsArray, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::Int32Type;

use super::{
    BATCH, column, columns, integers, label, parquet, prepare_parquet, sensitive, texts, workers,
    write,
};
use crate::data::prepare::params::{PrepareParams, SplitColumn};
use crate::data::rows::RowsReader;
use crate::data::rows::split::{
    NEITHER, RowRoles, SplitMethod, Stratification, TRAIN, assign_roles, audited, trains,
};
use crate::error::Result;
use crate::exec::pieces::StageWatch;
use crate::param::{Fraction, Word};
use crate::table::file::{FileOwner, ParquetFile};
use crate::tests::shared;

fn split(folder: &Path, rule: SplitMethod, seed: u64) -> Result<RowRoles> {
    assign_roles(&RowsReader::open(folder).unwrap(), rule, seed, &workers(2), StageWatch::SILENT)
}

#[test]
fn folds_of_the_micro_case() {
    // Expected: `folds` of the hand cases for generation.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.in.parquet");
    let (y, g) =
        (integers(&[0, 0, 0, 1, 1, 0, 1, 0]), texts(&["A", "A", "B", "A", "B", "B", "B", "A"]));
    parquet(&file, vec![("y", y), ("g", g)], 100);
    let params = PrepareParams {
        label: label("y", &["1"]),
        sensitive: vec![sensitive("g", &["A", "B"])],
        ..PrepareParams::default()
    };
    prepare_parquet(&file, &params, dir.path(), BATCH, 1).unwrap();
    assert_eq!(
        split(dir.path(), SplitMethod::Folds(2, Stratification::LabelAndGroup), 42).unwrap().0,
        [1, 0, 1, 1, 1, 0, 0, 0]
    );
    assert!(split(dir.path(), SplitMethod::Folds(9, Stratification::LabelAndGroup), 42).is_err());
    assert!(
        split(
            dir.path(),
            SplitMethod::Share(Fraction::new(0.01).unwrap(), Stratification::None),
            42
        )
        .is_err()
    );
    assert_eq!(split(dir.path(), SplitMethod::All, 42).unwrap().0, [0; 8]);
}

fn compas(out: &Path, batch_rows: usize) -> Option<()> {
    let file = shared("expected/generation/compas/input.parquet")?;
    let races = ["African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other"];
    let params = PrepareParams {
        label: label("two_year_recid", &["1"]),
        sensitive: vec![sensitive("race", &races)],
        continuous: columns(&["age"]),
        ..PrepareParams::default()
    };
    prepare_parquet(&file, &params, out, batch_rows, 2).unwrap();
    Some(())
}

#[test]
fn folds_of_compas() {
    let out = tempfile::tempdir().unwrap();
    let (Some(()), Some(file)) =
        (compas(out.path(), 1024), shared("expected/generation/augmentation/compas_folds.parquet"))
    else {
        return;
    };
    let expected =
        ParquetFile::open(&file, FileOwner::User).unwrap().read_group(0, Some(&["fold"])).unwrap();
    let expected: Vec<u8> = expected
        .column(0)
        .as_primitive::<Int32Type>()
        .values()
        .iter()
        .map(|&f| u8::try_from(f).unwrap())
        .collect();
    let rule = SplitMethod::Folds(5, Stratification::LabelAndGroup);
    assert_eq!(split(out.path(), rule, 42).unwrap().0, expected);
    // Many passes over few rows each give the same ranks.
    let reader = RowsReader::open(out.path()).unwrap();
    let by_hundreds = crate::data::rows::split::roles_by_rank(
        &reader,
        (Stratification::LabelAndGroup, None),
        42,
        100,
        &workers(3),
        StageWatch::SILENT,
        |c| (c % 5) as u8,
    )
    .unwrap();
    assert_eq!(by_hundreds.0, expected);
}

#[test]
fn shares_are_exact_in_all_strata_together() {
    let out = tempfile::tempdir().unwrap();
    let Some(()) = compas(out.path(), 1024) else { return };
    let reader = RowsReader::open(out.path()).unwrap();
    let mut seen = BTreeMap::new();
    let roles = split(
        out.path(),
        SplitMethod::Share(Fraction::new(0.2).unwrap(), Stratification::Label),
        7,
    )
    .unwrap()
    .0;
    assert_eq!(roles.iter().filter(|&&r| r == 0).count(), 6_172 / 5);
    let mut position = 0;
    for group in 0..reader.n_groups() {
        for label in reader.read_keys(group).unwrap().label {
            let entry: &mut (u64, u64) = seen.entry(label).or_default();
            entry.0 += 1;
            entry.1 += u64::from(roles[position] == 0);
            position += 1;
        }
    }
    for (n, audited) in seen.into_values() {
        assert!(audited.abs_diff(n / 5) <= 1, "{audited} of {n}");
    }
}

#[test]
fn a_row_keeps_its_role_when_rows_come_in_another_order() {
    let Some(file) = shared("data/compas/compas.parquet") else { return };
    let dir = tempfile::tempdir().unwrap();
    let rows = ParquetFile::open(&file, FileOwner::User).unwrap().read_group(0, None).unwrap();
    let backwards = UInt32Array::from_iter_values((0..7_214).rev());
    write(
        &dir.path().join("backwards.parquet"),
        &take_record_batch(&rows, &backwards).unwrap(),
        1_000,
    );
    let params = PrepareParams {
        row_id: Some(column("id")),
        label: label("two_year_recid", &["1"]),
        sensitive: vec![sensitive("sex", &["Male", "Female"])],
        nominal: columns(&["race"]),
        ..PrepareParams::default()
    };
    let run = |file: &Path| {
        let out = tempfile::tempdir().unwrap();
        let prepared = prepare_parquet(file, &params, out.path(), 1024, 2).unwrap();
        let reader = RowsReader::open(out.path()).unwrap();
        let keys = (0..reader.n_groups()).flat_map(|g| reader.read_keys(g).unwrap().row_key);
        let roles = split(
            out.path(),
            SplitMethod::Share(Fraction::new(0.3).unwrap(), Stratification::LabelAndGroup),
            3,
        )
        .unwrap();
        (prepared.layout, keys.zip(roles.0).collect::<BTreeMap<u64, u8>>())
    };
    assert!(run(&file) == run(&dir.path().join("backwards.parquet")));
}

/// 60 persons with 1 to 7 rows, which do not stand together; the first row of a person decides the
/// stratum.
fn persons(dir: &Path, batch_rows: usize) -> Vec<i64> {
    let file = dir.join("rows.in.parquet");
    let all: Vec<i64> = (0..240).map(|i| (i * i * 7 + i % 11) % 60).collect();
    let y: Vec<i64> = (0..240).map(|i| i64::from(i % 3 == 0)).collect();
    let g: Vec<&str> = (0..240).map(|i| if i % 5 < 2 { "A" } else { "B" }).collect();
    parquet(&file, vec![("y", integers(&y)), ("g", texts(&g)), ("p", integers(&all))], 50);
    let params = PrepareParams {
        person: Some(column("p")),
        label: label("y", &["1"]),
        sensitive: vec![sensitive("g", &["A", "B"])],
        ..PrepareParams::default()
    };
    let prepared = prepare_parquet(&file, &params, dir, batch_rows, 2).unwrap();
    let different: BTreeSet<i64> = all.iter().copied().collect();
    assert_eq!(prepared.layout.person.unwrap().persons, different.len() as u64);
    all
}

#[test]
fn nobody_stands_on_both_sides() {
    let seven = tempfile::tempdir().unwrap();
    let all = persons(seven.path(), 7);
    for rule in [
        SplitMethod::Folds(5, Stratification::LabelAndGroup),
        SplitMethod::Share(Fraction::new(0.3).unwrap(), Stratification::Label),
    ] {
        let roles = split(seven.path(), rule, 42).unwrap().0;
        let mut of_person: BTreeMap<i64, u8> = BTreeMap::new();
        for (&person, &role) in all.iter().zip(&roles) {
            assert_eq!(*of_person.entry(person).or_insert(role), role, "{rule:?} {person}");
        }
        // Persons are counted, not rows: as many in each fold, to one.
        let mut sizes: BTreeMap<u8, usize> = BTreeMap::new();
        of_person.values().for_each(|role| *sizes.entry(*role).or_default() += 1);
        let n = of_person.len();
        match rule {
            SplitMethod::Folds(..) => assert!(
                sizes.len() == 5 && sizes.values().all(|size| size.abs_diff(n / 5) <= 1),
                "{sizes:?}"
            ),
            _ => assert!(sizes[&0].abs_diff(n * 3 / 10) <= 1, "{sizes:?}"),
        }
        // The same however rows are cut into groups.
        let other = tempfile::tempdir().unwrap();
        persons(other.path(), 1000);
        assert_eq!(split(other.path(), rule, 42).unwrap().0, roles);
        assert!(split(seven.path(), rule, 43).unwrap().0 != roles);
    }
    let more = SplitMethod::Folds(61, Stratification::None);
    let fault = split(seven.path(), more, 42).unwrap_err().to_string();
    assert!(fault.contains("persons cannot be split into 61 folds"), "{fault}");
}

#[test]
fn the_first_row_of_a_person_gives_the_stratum() {
    // Person 1 begins in A, person 2 in B; ranks go by person within these.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.in.parquet");
    let rows = |of: &[i64]| integers(of);
    parquet(
        &file,
        vec![
            ("y", rows(&[0, 1, 0, 1])),
            ("g", texts(&["A", "B", "B", "A"])),
            ("p", rows(&[1, 2, 1, 2])),
        ],
        100,
    );
    let params = PrepareParams {
        person: Some(column("p")),
        label: label("y", &["1"]),
        sensitive: vec![sensitive("g", &["A", "B"])],
        ..PrepareParams::default()
    };
    prepare_parquet(&file, &params, dir.path(), BATCH, 1).unwrap();
    let roles = |seed| {
        let rule = SplitMethod::Folds(2, Stratification::LabelAndGroup);
        split(dir.path(), rule, seed).unwrap().0
    };
    // Two strata of one person each: the rank follows the strata, regardless of the seed.
    assert!((0..20).all(|seed| roles(seed) == [0, 1, 0, 1]));
}

#[test]
fn a_column_does_not_split_a_person() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.in.parquet");
    let side = |last: &'static str| {
        parquet(
            &file,
            vec![
                ("g", texts(&["A", "B", "A", "B"])),
                ("p", texts(&["x", "y", "x", "y"])),
                ("s", texts(&["train", "audit", "train", last])),
            ],
            100,
        );
        let words = |word: &str| vec![Word(word.to_owned())];
        let params = PrepareParams {
            person: Some(column("p")),
            sensitive: vec![sensitive("g", &["A", "B"])],
            split: Some(SplitColumn {
                column: column("s"),
                train: words("train"),
                audit: words("audit"),
            }),
            ..PrepareParams::default()
        };
        prepare_parquet(&file, &params, dir.path(), BATCH, 1).unwrap();
        split(dir.path(), SplitMethod::Column, 1)
    };
    assert_eq!(side("audit").unwrap().0, [TRAIN, 0, TRAIN, 0]);
    let fault = side("train").unwrap_err().to_string();
    assert!(fault.contains("person-on-both-sides") && fault.contains("puts 1 rows"), "{fault}");
}

#[test]
fn roles_in_words() {
    assert_eq!((audited(0), audited(TRAIN), audited(NEITHER)), (Some(0), None, None));
    assert!(trains(TRAIN, 0, false) && !trains(0, 0, false) && !trains(NEITHER, 0, false));
    assert!(trains(1, 0, true) && !trains(0, 0, true) && !trains(NEITHER, 0, true));
}
