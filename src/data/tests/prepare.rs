//! Preparing real data: verified counts, and independence of the partition of the rows.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::data::FeatureColumn;
use crate::error::{Error, StopSignal};

pub(super) fn adult() -> PrepareParams {
    PrepareParams::of(
        r#"label: {column: income, positive: [">50K"]}, sensitive: {sex: [Male, Female]},
           continuous: [age, hours-per-week, capital-gain, capital-loss],
           ordinal: {education-num: ascending},
           nominal: [workclass, marital-status, occupation, relationship, race, native-country],
           missing: {nominal: level, continuous: drop-row},
           split: {column: split, train: [train], audit: [test]}"#,
    )
}

#[test]
fn adult_has_the_counts_of_its_publication() {
    let Some(file) = shared("data/adult/adult.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let prepared = prepare_parquet(&file, &adult(), out.path(), BATCH, 2).unwrap();
    assert_eq!(prepared.layout.n_rows, 48_842);
    let counts = counts(out.path(), 0);
    assert_eq!(
        counts.into_values().collect::<Vec<_>>(),
        [32_650 - 9_918, 9_918, 16_192 - 1_769, 1_769]
    );

    let reader = RowsReader::open(out.path()).unwrap();
    assert_eq!(reader.layout(), &prepared.layout);
    let sizes: Vec<usize> = (0..reader.n_groups()).map(|g| reader.file().group_rows(g)).collect();
    assert!(sizes[..11].iter().all(|&n| n == BATCH) && sizes[11..] == [48_842 - 11 * BATCH]);
    // The rows hold the roles that a column gives them; a note says so.
    let noted = |name: &str, reader: &RowsReader| {
        let path = out.path().join(name);
        write_note(&path, reader, &super::workers(2), StageWatch::SILENT).unwrap();
        assert!(!path.exists());
        RolesReader::open(&path, reader).unwrap()
    };
    let roles = noted("column.parquet", &reader);
    assert_eq!((roles.n_audited(), roles.n_trained(), roles.n_folds()), (16_281, 32_561, 1));
    let roles = roles.all().unwrap();
    assert_eq!(roles.0.iter().filter(|&&r| r == 0).count(), 16_281);
    assert_eq!(roles.0.iter().filter(|&&r| r == TRAIN).count(), 32_561);
    // A file of roles is read group by group, and counted when it is written.
    roles.write(&out.path().join("roles.parquet"), &reader).unwrap();
    let written = RolesReader::open(&out.path().join("roles.parquet"), &reader).unwrap();
    assert_eq!((written.n_audited(), written.n_trained()), (16_281, 32_561));
    let read: Vec<u8> = (0..reader.n_groups()).flat_map(|g| written.read(g).unwrap().0).collect();
    assert_eq!(read, roles.0);
    let folds = RowRoles((0..48_842).map(|i| (i % 5) as u8).collect());
    folds.write(&out.path().join("folds.parquet"), &reader).unwrap();
    let folds = RolesReader::open(&out.path().join("folds.parquet"), &reader).unwrap();
    assert_eq!((folds.n_audited(), folds.n_trained(), folds.n_folds()), (48_842, 48_842, 5));
    // Where all rows are audited a note says that too.
    let whole = tempfile::tempdir().unwrap();
    let params = PrepareParams { split: None, ..adult() };
    prepare_parquet(&file, &params, whole.path(), BATCH, 2).unwrap();
    let all = noted("all.parquet", &RowsReader::open(whole.path()).unwrap());
    assert_eq!((all.n_audited(), all.n_trained(), all.n_folds()), (48_842, 0, 1));
    let by_group: Vec<usize> = (0..12).map(|g| all.read(g).unwrap().0.len()).collect();
    assert_eq!(by_group, sizes);
    assert_eq!(all.all().unwrap().0, vec![0; 48_842]);

    let occupation = prepared.layout.feature("occupation").unwrap();
    let levels = &prepared.layout.features[occupation].levels;
    let missing = u32::try_from(levels.iter().position(|l| l == "missing").unwrap()).unwrap();
    assert_eq!(levels.len(), 15);
    let n: usize = batches(out.path())
        .iter()
        .map(|b| b.rows.codes(occupation).iter().filter(|&&c| c == missing).count())
        .sum();
    assert_eq!(n, 2_809);
    assert_eq!(prepared.layout.features[1].kind, FeatureKind::WHOLE);
    assert_eq!(
        prepared.filters.iter().map(|f| (f.rows_in, f.rows_out)).collect::<Vec<_>>(),
        [(48_842, 48_842); 5]
    );
}

#[test]
fn dropping_rows_with_missing_values_leaves_the_complete_rows() {
    let Some(file) = shared("data/adult/adult.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let params = adult().with("missing: {nominal: drop-row}");
    let prepared = prepare_parquet(&file, &params, out.path(), BATCH, 2).unwrap();
    assert_eq!(prepared.layout.n_rows, 45_222);
    assert_eq!(
        counts(out.path(), 0).into_values().collect::<Vec<_>>(),
        [30_527 - 9_539, 9_539, 14_695 - 1_669, 1_669]
    );
}

#[test]
fn a_run_can_be_stopped_between_row_groups() {
    let Some(file) = shared("data/adult/adult.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let params = adult();
    let source =
        ParquetSource::parquet(file.to_str().unwrap(), &params.columns(), &params.declared)
            .unwrap();
    let left = AtomicU64::new(3);
    let check = || {
        if left.fetch_sub(1, Relaxed) > 0 {
            Ok(())
        } else {
            Err(Error::Interrupted(StopSignal::Interrupt))
        }
    };
    let watch = StageWatch { check: &check, ..StageWatch::SILENT };
    let result =
        prepare(&source, &params, out.path(), RowBatching { watch, ..silent(BATCH, &workers(1)) });
    assert!(matches!(result, Err(Error::Interrupted(StopSignal::Interrupt))));
    let done = AtomicU64::new(0);
    let progress = |n: u64| {
        done.fetch_add(n, Relaxed);
    };
    let watch = StageWatch { progress: &progress, ..StageWatch::SILENT };
    prepare(&source, &params, out.path(), RowBatching { watch, ..silent(BATCH, &workers(2)) })
        .unwrap();
    assert_eq!(done.into_inner(), 48_842);
}

fn compas() -> PrepareParams {
    PrepareParams::of(
        r#"row_id: id, label: {column: two_year_recid, positive: ["1"]},
           keep: [{days_b_screening_arrest: {between: [-30, 30]}},
             {is_recid: {not_in: ["-1"]}, c_charge_degree: {not_in: ["O"]}},
             {score_text: {not_in: ["N/A"]}}],
           sensitive: {race: [African-American, Caucasian]},
           continuous: [age, priors_count], nominal: [sex, c_charge_degree]"#,
    )
}

#[test]
fn compas_filters_lose_the_rows_that_propublica_lost() {
    let Some(file) = shared("data/compas/compas.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let mut params = compas();
    let prepared = prepare_parquet(&file, &params, out.path(), BATCH, 2).unwrap();
    let steps: Vec<_> =
        prepared.filters.iter().map(|f| (f.what.as_str(), f.rows_in, f.rows_out)).collect();
    assert_eq!(
        steps,
        [
            ("rows of the source", 7_214, 7_214),
            ("keep days_b_screening_arrest: {between: [-30, 30]}", 7_214, 6_172),
            ("keep c_charge_degree: {not_in: [O]}, is_recid: {not_in: [-1]}", 6_172, 6_172),
            ("keep score_text: {not_in: [N/A]}", 6_172, 6_172)
        ]
    );
    let counts = counts(out.path(), 0);
    assert_eq!((counts[&(0, 1)], counts[&(1, 1)]), (1_661, 822));
    assert_eq!(counts[&(0, 0)] + counts[&(0, 1)], 3_175);
    let issue = prepared.issues.iter().find(|i| i.code == "undeclared-group").unwrap();
    assert_eq!(issue.n, 6_172 - 5_278);
    issue.text.says(&["`Hispanic` (509), `Other` (343)"]);

    let race = "keep: [{race: {in: [African-American, Caucasian]}}]";
    params.keep.extend(PrepareParams::of(race).keep);
    assert_eq!(prepare_parquet(&file, &params, out.path(), BATCH, 2).unwrap().layout.n_rows, 5_278);
    // Row keys are the ids themselves, rows the positions before `keep`.
    let first = &batches(out.path())[0];
    assert_eq!(first.row_key[..2], [3, 4]);
    assert_eq!(first.row[..2], [1, 2]);
}

#[test]
fn conditions_treat_missing_values_alike() {
    let Some(file) = shared("data/compas/compas.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let n = |condition: &str| {
        let keep = format!("keep: [{{days_b_screening_arrest: {{{condition}}}}}]");
        let params = compas().with(&keep);
        prepare_parquet(&file, &params, out.path(), BATCH, 1).unwrap().layout.n_rows
    };
    // 307 rows have no value.
    assert_eq!((n("missing: {}"), n("present: {}")), (307, 7_214 - 307));
    for [one, other] in [
        [r#"in: ["0.0"]"#, r#"not_in: ["0"]"#],
        ["above: 30", "at_most: 30"],
        ["below: -30", "at_least: -30"],
    ] {
        assert_eq!(n(one) + n(other), 7_214 - 307, "{one}, {other}");
    }
}

/// Keys, labels, groups, and each feature as bits.
type FlatRows = (Vec<u64>, Vec<Option<bool>>, Vec<u16>, Vec<Vec<Option<u64>>>);

fn rows_of(folder: &Path) -> FlatRows {
    let mut all = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for batch in batches(folder) {
        all.0.extend(batch.row_key);
        all.1.extend(batch.label);
        all.2.extend(&batch.groups[0]);
        for (i, column) in batch.rows.columns.into_iter().enumerate() {
            if all.3.len() <= i {
                all.3.push(Vec::new());
            }
            // Bits, so that two missing numbers are equal.
            match column {
                FeatureColumn::Number(values) => all.3[i]
                    .extend(values.into_iter().map(|v| (!v.is_nan()).then_some(v.to_bits()))),
                FeatureColumn::Code(codes) => {
                    all.3[i].extend(codes.into_iter().map(|c| Some(u64::from(c))))
                }
            }
        }
    }
    all
}

#[test]
fn cuts_and_threads_change_no_byte() {
    let Some(file) = shared("data/adult/adult.parquet") else { return };
    let dir = tempfile::tempdir().unwrap();
    let whole = crate::table::file::ParquetFile::open(&file, crate::table::file::FileOwner::User)
        .unwrap()
        .read_group(0, None)
        .unwrap();
    let cut = dir.path().join("cut.parquet");
    write(&cut, &whole, 5_000);
    std::fs::create_dir(dir.path().join("parts")).unwrap();
    for (i, first) in (0..48_842).step_by(20_000).enumerate() {
        write(
            &dir.path().join(format!("parts/part-{i}.parquet")),
            &whole.slice(first, 20_000.min(48_842 - first)),
            7_777,
        );
    }
    let params = adult().with("keep: [{age: {at_least: 25}}]");
    let run = |name: &str, pattern: &Path, batch_rows: usize, threads: usize| {
        let out = dir.path().join(name);
        std::fs::create_dir(&out).unwrap();
        let prepared = prepare_parquet(pattern, &params, &out, batch_rows, threads).unwrap();
        (
            prepared,
            std::fs::read(out.join("layout.json")).unwrap(),
            std::fs::read(out.join("rows.parquet")).unwrap(),
            rows_of(&out),
        )
    };
    let base = run("base", &file, BATCH, 1);
    for (name, pattern, threads) in [
        ("threads", file.as_path(), 8),
        ("cut-1", &cut, 2),
        ("parts-1", &dir.path().join("parts"), 3),
    ] {
        let other = run(name, pattern, BATCH, threads);
        assert!(base == other, "{name}");
    }
    let small = run("small", &cut, 1024, 2);
    assert!((&base.0, &base.1, &base.3) == (&small.0, &small.1, &small.3), "batch size");
}

#[test]
fn what_follows_from_the_rest_is_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.parquet");
    let n = 5000_i64;
    let ids: Vec<i64> = (0..n).map(|i| 7 * i - 20_000).collect();
    let sex: Vec<&str> = (0..n).map(|i| ["m", "x", "f"][(i * i % 3) as usize]).collect();
    let paid: Vec<i64> = (0..n).map(|i| i * i * i % 5 % 2).collect();
    super::parquet(
        &file,
        vec![
            ("id", super::integers(&ids)),
            ("sex", super::texts(&sex)),
            ("paid", super::integers(&paid)),
        ],
        700,
    );
    let params = PrepareParams::of(
        r#"row_id: id, label: {column: paid, positive: ["1"]}, sensitive: {sex: [f, m]}"#,
    );
    let check = |keep: &str, stored: &[&str], kept: &dyn Fn(usize) -> bool| {
        let out = tempfile::tempdir().unwrap();
        prepare_parquet(&file, &params.clone().with(keep), out.path(), 1024, 2).unwrap();
        let reader = RowsReader::open(out.path()).unwrap();
        let names: Vec<&str> =
            reader.file().schema().fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(names, stored);
        let rows: Vec<usize> = (0..n as usize).filter(|&i| kept(i)).collect();
        let (mut at, sexes) = (0, ["f", "m", "x"]);
        for (g, batch) in batches(out.path()).iter().enumerate() {
            let ids_of_group = reader.read_ids(g).unwrap();
            for i in 0..batch.rows.n {
                let row = rows[at];
                let code = sexes.iter().position(|&s| s == sex[row]).unwrap();
                assert_eq!(batch.row[i], row as u64);
                assert_eq!(batch.row_key[i], ids[row].cast_unsigned());
                assert_eq!(ids_of_group.text(i), ids[row].to_string());
                assert_eq!(batch.label[i], Some(paid[row] == 1));
                assert_eq!(batch.rows.codes(0)[i], code as u32);
                let group = if code == 2 { crate::data::MISSING_GROUP } else { code as u16 };
                assert_eq!(batch.groups[0][i], group);
                at += 1;
            }
        }
        assert_eq!(at, rows.len());
    };
    let codes = ["row", "row_id", "code.paid", "code.sex"];
    check("", &codes[1..], &|_| true);
    check("keep: [{id: {below: 0}}]", &codes, &|i| ids[i] < 0);
    check("keep: [{id: {present: {}}}]", &codes, &|_| true);
}
