//! Splits against stored folds, and their promises.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{AsArray, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::Int32Type;

use super::{
    BATCH, column, columns, integers, label, parquet, prepare_parquet, sensitive, texts, workers,
    write,
};
use crate::data::prepare::params::PrepareParams;
use crate::data::rows::RowsReader;
use crate::data::rows::split::{
    NEITHER, RowRoles, SplitMethod, Stratification, TRAIN, assign_roles, audited, trains,
};
use crate::error::Result;
use crate::exec::pieces::StageWatch;
use crate::param::Fraction;
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

#[test]
fn roles_in_words() {
    assert_eq!((audited(0), audited(TRAIN), audited(NEITHER)), (Some(0), None, None));
    assert!(trains(TRAIN, 0, false) && !trains(0, 0, false) && !trains(NEITHER, 0, false));
    assert!(trains(1, 0, true) && !trains(0, 0, true) && !trains(NEITHER, 0, true));
}
