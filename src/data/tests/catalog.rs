//! The catalog: every data set is read from its published files, and compared with typed copies.

use arrow::compute::concat_batches;
use arrow::util::display::array_value_to_string;

use super::*;
use crate::data::source::catalog::download::FetchBytes;
use crate::data::source::catalog::{DATA_SETS, import};
use crate::error::Result;

/// Obtains a data set and imports it.
pub(super) fn obtained(
    set: &'static PublicDataSet,
    data_dir: &Path,
    stand_in: bool,
    fetch: FetchBytes<'_>,
    out: &Path,
) -> Result<DataSetOrigin> {
    let origin = obtain(set, DataSetAccess { data_dir, stand_in, fetch }, StageWatch::SILENT)?;
    import(set, &origin, out, silent(BATCH, &workers(2)))?;
    Ok(origin)
}

pub(super) fn rows(path: &Path) -> RecordBatch {
    let file = ParquetFile::open(path, FileOwner::Program).unwrap();
    let batches: Vec<RecordBatch> =
        (0..file.n_groups()).map(|g| file.read_group(g, None).unwrap()).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// Reads a data set from the folder of public test data; nothing may be downloaded.
pub(super) fn real(name: &str) -> Option<RecordBatch> {
    let data = shared("data")?;
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("source.parquet");
    let never = |_: &str, _: u64| panic!("nothing is to be downloaded");
    let origin = obtained(data_set(name).unwrap(), &data, false, &never, &out).unwrap();
    assert!(matches!(origin, DataSetOrigin::Files(found) if found.folder == data.join(name)));
    Some(rows(&out))
}

/// How many rows have each combination of values.
pub(super) fn tally(rows: &RecordBatch, columns: &[&str]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for i in 0..rows.num_rows() {
        let words = columns
            .iter()
            .map(|c| array_value_to_string(rows.column_by_name(c).unwrap(), i).unwrap());
        *counts.entry(words.collect::<Vec<_>>().join(" ")).or_insert(0) += 1;
    }
    counts
}

#[track_caller]
fn assert_counts(rows: &RecordBatch, columns: &[&str], expected: &[(&str, usize)]) {
    let counts = tally(rows, columns);
    let found: Vec<(&str, usize)> = counts.iter().map(|(words, &n)| (words.as_str(), n)).collect();
    assert_eq!(found, expected, "{columns:?}");
}

#[test]
fn every_cell_is_that_of_the_typed_copy() {
    assert!(DATA_SETS.is_sorted_by_key(|set| set.name));
    for set in DATA_SETS {
        let (Some(ours), Some(copy)) =
            (real(set.name), shared(&format!("data/{0}/{0}.parquet", set.name)))
        else {
            return;
        };
        let expected = rows(&copy);
        assert_eq!(ours.schema().fields(), expected.schema().fields(), "{}", set.name);
        assert!(
            set.columns.iter().map(|(name, _)| *name).eq(ours
                .schema()
                .fields()
                .iter()
                .map(|f| f.name().as_str()))
        );
        for (field, (ours, expected)) in
            ours.schema().fields().iter().zip(ours.columns().iter().zip(expected.columns()))
        {
            assert_eq!(ours, expected, "{} of {}", field.name(), set.name);
        }
    }
}

// The expected counts below are from the notes next to the public test data, computed independently
// of this program.

#[test]
fn compas_has_its_published_counts() {
    let Some(rows) = real("compas") else { return };
    assert_eq!(rows.num_rows(), 7_214);
    assert_counts(&rows, &["two_year_recid"], &[("0", 3_963), ("1", 3_251)]);
    assert_counts(&rows, &["sex"], &[("Female", 1_395), ("Male", 5_819)]);
    assert_counts(&rows, &["score_text"], &[("High", 1_403), ("Low", 3_897), ("Medium", 1_914)]);
    let race = tally(&rows, &["race", "two_year_recid"]);
    assert_eq!(
        [race["African-American 0"] + race["African-American 1"], race["African-American 1"]],
        [3_696, 1_901]
    );
    assert_eq!([race["Caucasian 0"] + race["Caucasian 1"], race["Caucasian 1"]], [2_454, 966]);
    assert_eq!(rows.column_by_name("days_b_screening_arrest").unwrap().null_count(), 307);
    assert_eq!(rows.column_by_name("violent_recid").unwrap().null_count(), 7_214);
    for twice in ["decile_score", "priors_count"] {
        assert_eq!(
            rows.column_by_name(twice).unwrap(),
            rows.column_by_name(&format!("{twice}.1")).unwrap()
        );
    }
}

#[test]
fn heart_has_its_published_counts() {
    let Some(rows) = real("heart") else { return };
    assert_counts(
        &rows,
        &["site"],
        &[("cleveland", 303), ("hungarian", 294), ("switzerland", 123), ("va", 200)],
    );
    assert_counts(&rows, &["sex"], &[("0", 194), ("1", 726)]);
    let num = tally(&rows, &["site", "num"]);
    let of =
        |site: &str| [0, 1, 2, 3, 4].map(|n| num.get(&format!("{site} {n}")).copied().unwrap_or(0));
    assert_eq!(of("cleveland"), [164, 55, 36, 35, 13]);
    assert_eq!(of("hungarian"), [188, 106, 0, 0, 0]);
    assert_eq!(of("switzerland"), [8, 48, 32, 30, 5]);
    assert_eq!(of("va"), [51, 56, 41, 42, 10]);
    let nulls = ["ca", "thal", "slope"].map(|c| rows.column_by_name(c).unwrap().null_count());
    assert_eq!(nulls, [611, 486, 309]);
    let chol = tally(&rows, &["site", "chol"]);
    assert_eq!([chol["switzerland 0"], chol["va 0"]], [123, 49]);
}

#[test]
fn german_has_its_published_counts() {
    let Some(rows) = real("german") else { return };
    assert_counts(&rows, &["class"], &[("1", 700), ("2", 300)]);
    assert_counts(
        &rows,
        &["personal_status_sex"],
        &[("A91", 50), ("A92", 310), ("A93", 548), ("A94", 92)],
    );
    let bad = tally(&rows, &["personal_status_sex", "class"]);
    assert_eq!(["A91 2", "A92 2", "A93 2", "A94 2"].map(|k| bad[k]), [20, 109, 146, 25]);
    assert_counts(&rows, &["foreign_worker"], &[("A201", 963), ("A202", 37)]);
    assert!(rows.columns().iter().all(|c| c.null_count() == 0));
}

#[test]
fn law_has_its_published_counts() {
    let Some(rows) = real("law") else { return };
    assert_counts(&rows, &["pass_bar"], &[("0", 1_836), ("1", 16_856)]);
    assert_counts(
        &rows,
        &["male", "pass_bar"],
        &[("0 0", 8_142 - 7_245), ("0 1", 7_245), ("1 0", 10_550 - 9_611), ("1 1", 9_611)],
    );
    assert_counts(
        &rows,
        &["racetxt", "pass_bar"],
        &[("0 0", 1_201 - 742), ("0 1", 742), ("1 0", 17_491 - 16_114), ("1 1", 16_114)],
    );
    assert!(rows.columns().iter().all(|c| c.null_count() == 0));
}

/// The published file has columns that the trimmed copy lacks; here made-up rows have them.
#[test]
fn columns_that_name_people_are_never_imported() {
    let set = data_set("compas").unwrap();
    let secret =
        ["name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number"];
    let mut header = vec![];
    let mut fields = vec![];
    for (i, (column, _)) in set.columns.iter().enumerate() {
        if let Some(secret) = secret.get(i) {
            header.push(*secret);
            fields.push("\"SECRET, one\"");
        }
        header.push(column.trim_end_matches(".1"));
        fields.push("");
    }
    let text = format!("{}\r\n{}\r\n", header.join(","), fields.join(","));
    let rows = set.rows(Path::new("compas"), &[text.into_bytes()]).unwrap();
    assert_eq!((rows.num_rows(), rows.num_columns()), (1, 46));
    assert!(rows.columns().iter().all(|c| c.null_count() == 1));
    assert!(
        set.columns
            .iter()
            .all(|(column, _)| !secret.contains(column) && !column.ends_with("case_number"))
    );
}

#[test]
fn a_wrong_file_in_the_folder_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let never = |_: &str, _: u64| panic!("nothing is to be downloaded");
    for set in DATA_SETS {
        let file = dir.path().join(set.name).join(set.members[0].name);
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "39, State-gov\n").unwrap();
        for stand_in in [false, true] {
            let fault = fault(obtained(
                set,
                dir.path(),
                stand_in,
                &never,
                &dir.path().join("source.parquet"),
            ));
            assert_eq!(fault.code, "wrong-checksum");
            assert!(
                set.members[0].versions.iter().all(|form| fault.what.contains(form.sha256)),
                "{fault}"
            );
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"39, State-gov\n");
    }
}

#[test]
fn a_file_that_changes_after_it_was_found_is_not_imported() {
    let Some(data) = shared("data/german/german.data") else { return };
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("german/german.data");
    std::fs::create_dir(dir.path().join("german")).unwrap();
    std::fs::copy(data, &copy).unwrap();
    let set = data_set("german").unwrap();
    let never = |_: &str, _: u64| panic!("nothing is to be downloaded");
    let origin = obtain(
        set,
        DataSetAccess { data_dir: dir.path(), stand_in: false, fetch: &never },
        StageWatch::SILENT,
    )
    .unwrap();
    let import =
        || import(set, &origin, &dir.path().join("source.parquet"), silent(BATCH, &workers(1)));
    import().unwrap();
    std::fs::write(&copy, "A11 6 A34\n").unwrap();
    assert_eq!(fault(import()).code, "wrong-checksum");
    std::fs::remove_file(&copy).unwrap();
    import().unwrap_err().to_string().says(&["german.data"]);
}

/// Where a set cannot be obtained, the hint names every file, its checksum and its address.
#[test]
fn what_cannot_be_had_says_where_to_put_which_file() {
    let dir = tempfile::tempdir().unwrap();
    let offline = |_: &str, _: u64| Err("no network".to_owned());
    for set in DATA_SETS {
        let fault = fault(obtained(
            set,
            dir.path(),
            set.stand_in.is_none(),
            &offline,
            &dir.path().join("source.parquet"),
        ));
        assert_eq!(fault.code, "unreachable-data");
        fault.what.says(&["no network"]);
        let hint = fault.hint.unwrap();
        for member in set.members {
            let path = dir.path().join(set.name).join(member.name);
            assert!(
                hint.contains(&format!("`{}`", path.display()))
                    && hint.contains(member.versions[0].sha256),
                "{hint}"
            );
            assert!(hint.contains(member.addresses[0]), "{hint}");
        }
        assert_eq!(hint.contains("stand_in"), set.stand_in.is_some());
        assert!(!dir.path().join(set.name).exists());
    }
}
