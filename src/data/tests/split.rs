//! Splits, compared with stored folds, and the rules that every split keeps.

use arrow::array::UInt32Array;
use arrow::compute::take_record_batch;
use arrow::datatypes::Int32Type;

use super::*;
use crate::data::rows::role_counts::HashSplit;
use crate::data::rows::split::{
    NEITHER, RankDraw, RankedSplit, Stratification, assign_roles, audited,
};
use crate::error::Result;

fn split(folder: &Path, rule: RankedSplit, seed: u64) -> Result<RowRoles> {
    let rows = RowsReader::open(folder).unwrap();
    let draw = RankDraw::new(seed, folder);
    let roles = assign_roles(&rows, rule, draw, &workers(2), StageWatch::SILENT)?;
    // The same from a file, where memory holds few rows.
    let few = RankDraw { most: 100, ..draw };
    assert_eq!(assign_roles(&rows, rule, few, &workers(3), StageWatch::SILENT)?, roles);
    Ok(roles)
}

/// A label, and an attribute of two groups.
const Y_AND_G: &str = r#"label: {column: y, positive: ["1"]}, sensitive: {g: [A, B]}"#;

fn share(audit: f64, by: Stratification) -> RankedSplit {
    RankedSplit::Share(Fraction::new(audit).unwrap(), by)
}

/// The roles that the prepared rows hold, or of rows that are all audited.
fn noted(folder: &Path) -> Result<RolesReader> {
    let rows = RowsReader::open(folder).unwrap();
    let path = folder.join("roles.parquet");
    write_note(&path, &rows, &workers(2), StageWatch::SILENT)?;
    RolesReader::open(&path, &rows)
}

/// Each row by itself: `u01(h(seed, key, 0))` against the share, whatever other rows there are.
#[test]
fn a_share_by_hash_is_that_of_each_row() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.in.parquet");
    let n = 4000_i64;
    let roles = |ids: Vec<i64>, params: PrepareParams| {
        let groups: Vec<&str> = ids.iter().map(|i| ["A", "B"][(i % 2) as usize]).collect();
        let columns = vec![("id", integers(&ids)), ("g", texts(&groups))];
        parquet(&file, columns, 700);
        prepare_parquet(&file, &params.with("sensitive: {g: [A, B]}"), dir.path(), BATCH, 2)
            .unwrap();
        noted(dir.path())
    };
    let params = |text: &str, audit: f64| PrepareParams {
        hash_split: Some(HashSplit { audit: Fraction::new(audit).unwrap(), seed: 42 }),
        ..PrepareParams::of(text)
    };
    let all = roles((0..n).collect(), params("row_id: id", 0.25)).unwrap();
    let expected: Vec<u8> =
        (0..n as u64).map(|i| if u01(h(42, i, 0)) < 0.25 { 0 } else { TRAIN }).collect();
    assert_eq!(all.all().unwrap().0, expected);
    let audited = expected.iter().filter(|role| **role == 0).count() as u64;
    assert!((900..1100).contains(&audited), "{audited}");
    assert_eq!((all.n_audited(), all.n_trained(), all.n_folds()), (audited, 4000 - audited, 1));
    // Other rows and another order change nothing about a row.
    let some = roles((0..n).rev().step_by(3).collect(), params("row_id: id", 0.25)).unwrap();
    let same: Vec<u8> = (0..n as usize).rev().step_by(3).map(|i| expected[i]).collect();
    assert_eq!(some.all().unwrap().0, same);
    // Without ids by the number of the row, and all rows of a person together.
    let numbers = roles((0..n).rev().collect(), params("", 0.25)).unwrap();
    assert_eq!(numbers.all().unwrap().0, expected);
    let person = params("person: id", 0.25);
    let twice = roles((0..n).map(|i| i / 2).collect(), person).unwrap().all().unwrap().0;
    assert!(twice.chunks(2).zip(&expected).all(|(pair, role)| pair == [*role, *role]));
    let fault = roles((0..n).collect(), params("row_id: id", 0.0)).unwrap_err().to_string();
    fault.says(&["no-audit-rows"]);
}

#[test]
fn folds_of_the_micro_case() {
    // Expected: `folds` of the hand cases for generation.
    let (y, g) =
        (integers(&[0, 0, 0, 1, 1, 0, 1, 0]), texts(&["A", "A", "B", "A", "B", "B", "B", "A"]));
    let (dir, _) = prepared(vec![("y", y), ("g", g)], &PrepareParams::of(Y_AND_G));
    let of = |rule| split(dir.path(), rule, 42);
    let folds = |n| of(RankedSplit::Folds(n, Stratification::LabelAndGroup));
    assert_eq!(folds(2).unwrap().0, [1, 0, 1, 1, 1, 0, 0, 0]);
    assert!(folds(9).is_err());
    assert!(of(share(0.01, Stratification::None)).is_err());
}

/// A rank for each row, whatever the number of strata: here 600, most of a few rows, in many small
/// row groups. Expected: rows sorted by label, group, hash and position, and counted off.
#[test]
fn ranks_of_many_strata_are_those_of_sorted_rows() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.in.parquet");
    let n = 3000_usize;
    let names: Vec<String> = (0..299).map(|g| format!("g{g:03}")).collect();
    let of = |i: usize| (i * i + 3 * i) % 301;
    let groups: Vec<&str> =
        (0..n).map(|i| names.get(of(i)).map_or("other", String::as_str)).collect();
    let y: Vec<i64> = (0..n as i64).map(|i| i % 7 % 2).collect();
    // Without row ids keys are numbers of rows, so no two hashes are equal.
    parquet(&file, vec![("y", integers(&y)), ("g", texts(&groups))], 700);
    let declared = names.join(", ");
    let params = PrepareParams::of(Y_AND_G).with(&format!("sensitive: {{g: [{declared}]}}"));
    prepare_parquet(&file, &params, dir.path(), 64, 2).unwrap();
    let rule = RankedSplit::Folds(7, Stratification::LabelAndGroup);
    let found = split(dir.path(), rule, 9).unwrap().0;
    // A group that is not declared comes first.
    let group = |i: usize| if of(i) < 299 { 1 + of(i) } else { 0 };
    let mut rows: Vec<usize> = (0..n).collect();
    rows.sort_by_key(|&i| (y[i], group(i), h(9, i as u64, 0), i));
    let mut expected = vec![0; n];
    for (rank, &i) in rows.iter().enumerate() {
        expected[i] = (rank % 7) as u8;
    }
    assert_eq!(found, expected);
}

fn compas(out: &Path, batch_rows: usize) -> Option<()> {
    let file = shared("expected/generation/compas/input.parquet")?;
    let params = PrepareParams::of(
        r#"label: {column: two_year_recid, positive: ["1"]}, continuous: [age],
           sensitive: {race: [African-American, Asian, Caucasian, Hispanic, Native American,
             Other]}"#,
    );
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
    let rule = RankedSplit::Folds(5, Stratification::LabelAndGroup);
    assert_eq!(split(out.path(), rule, 42).unwrap().0, expected);
}

#[test]
fn shares_are_exact_in_all_strata_together() {
    let out = tempfile::tempdir().unwrap();
    let Some(()) = compas(out.path(), 1024) else { return };
    let mut seen = BTreeMap::new();
    let roles = split(out.path(), share(0.2, Stratification::Label), 7).unwrap().0;
    assert_eq!(roles.iter().filter(|&&r| r == 0).count(), 6_172 / 5);
    for (label, role) in all(out.path(), |rows| rows.label).into_iter().zip(&roles) {
        let entry: &mut (u64, u64) = seen.entry(label).or_default();
        entry.0 += 1;
        entry.1 += u64::from(*role == 0);
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
    let params = PrepareParams::of(
        r#"row_id: id, label: {column: two_year_recid, positive: ["1"]}, nominal: [race],
           sensitive: {sex: [Male, Female]}"#,
    );
    let run = |file: &Path| {
        let out = tempfile::tempdir().unwrap();
        let prepared = prepare_parquet(file, &params, out.path(), 1024, 2).unwrap();
        let keys = all(out.path(), |rows| rows.row_key).into_iter();
        let roles = split(out.path(), share(0.3, Stratification::LabelAndGroup), 3).unwrap();
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
    let params = PrepareParams::of(Y_AND_G).with("person: p");
    let prepared = prepare_parquet(&file, &params, dir, batch_rows, 2).unwrap();
    let different: BTreeSet<i64> = all.iter().copied().collect();
    assert_eq!(prepared.layout.person.unwrap().persons, different.len() as u64);
    all
}

#[test]
fn nobody_stands_on_both_sides() {
    let seven = tempfile::tempdir().unwrap();
    let all = persons(seven.path(), 7);
    for rule in
        [RankedSplit::Folds(5, Stratification::LabelAndGroup), share(0.3, Stratification::Label)]
    {
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
            RankedSplit::Folds(..) => assert!(
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
    let more = RankedSplit::Folds(61, Stratification::None);
    let fault = split(seven.path(), more, 42).unwrap_err().to_string();
    fault.says(&["persons cannot be split into 61 folds"]);
}

#[test]
fn the_first_row_of_a_person_gives_the_stratum() {
    // Person 1 begins in A, person 2 in B; ranks go by person within these.
    let rows = vec![
        ("y", integers(&[0, 1, 0, 1])),
        ("g", texts(&["A", "B", "B", "A"])),
        ("p", integers(&[1, 2, 1, 2])),
    ];
    let (dir, _) = prepared(rows, &PrepareParams::of(Y_AND_G).with("person: p"));
    let roles = |seed| {
        let rule = RankedSplit::Folds(2, Stratification::LabelAndGroup);
        split(dir.path(), rule, seed).unwrap().0
    };
    // Two strata of one person each: the rank follows the strata, regardless of the seed.
    assert!((0..20).all(|seed| roles(seed) == [0, 1, 0, 1]));
}

#[test]
fn a_column_does_not_split_a_person() {
    let side = |last: &'static str| {
        let rows = vec![
            ("g", texts(&["A", "B", "A", "B"])),
            ("p", texts(&["x", "y", "x", "y"])),
            ("s", texts(&["train", "audit", "train", last])),
        ];
        let params = PrepareParams::of(
            "person: p, sensitive: {g: [A, B]}, split: {column: s, train: [train], audit: [audit]}",
        );
        let (dir, _) = prepared(rows, &params);
        (noted(dir.path()), dir)
    };
    let (roles, _dir) = side("audit");
    let roles = roles.unwrap();
    assert_eq!(roles.all().unwrap().0, [TRAIN, 0, TRAIN, 0]);
    assert_eq!((roles.n_audited(), roles.n_trained()), (2, 2));
    let fault = side("train").0.unwrap_err().to_string();
    fault.says(&["person-on-both-sides", "puts 1 rows"]);
}

#[test]
fn roles_in_words() {
    assert_eq!((audited(0), audited(TRAIN), audited(NEITHER)), (Some(0), None, None));
    let trains = |role: u8| RowRoles(vec![role]).trains(0, 0);
    assert!(trains(TRAIN) && trains(1) && !trains(0) && !trains(NEITHER));
}
