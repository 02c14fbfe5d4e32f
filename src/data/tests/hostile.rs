//! Hostile inputs: each ends with a fault that names the place and the cause, never with a panic.

use std::path::PathBuf;

use arrow::array::{BinaryArray, BooleanArray, Float32Array, Float64Array, NullArray};

use super::*;
use crate::data::values::ValueClass;
use crate::error::Exit;

type TestRows = Vec<(&'static str, ArrayRef)>;

/// Four rows: two groups, both labels, a number, a text id.
fn rows() -> TestRows {
    vec![
        ("g", texts(&["a", "b", "a", "b"])),
        ("y", integers(&[0, 1, 1, 0])),
        ("x", numbers(&[1.0, 2.0, 3.0, 4.0])),
        ("id", texts(&["p", "q", "r", "s"])),
    ]
}

fn params() -> PrepareParams {
    PrepareParams::of(
        r#"row_id: id, label: {column: y, positive: ["1"]}, sensitive: {g: [a, b]},
           continuous: [x]"#,
    )
}

/// The four rows with other columns.
fn rows_with(columns: impl IntoIterator<Item = (&'static str, ArrayRef)>) -> TestRows {
    let mut rows = rows();
    for (name, array) in columns {
        match rows.iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => *old = array,
            None => rows.push((name, array)),
        }
    }
    rows
}

/// The fault of the four rows with another column, under changed parameters.
fn check(name: &'static str, array: ArrayRef, change: &str) -> Fault {
    let fault = fault(prepared(rows_with([(name, array)]), &params().with(change)).1);
    assert_eq!(crate::error::Error::from(fault.clone()).exit(), Exit::Data);
    fault
}

fn with(change: &str) -> Fault {
    let (name, array) = rows().swap_remove(2);
    check(name, array, change)
}

#[test]
fn columns_that_are_not_there() {
    let fault = with("continuous: [xx]");
    assert_eq!(fault.code, "missing-column");
    assert_eq!(fault.hint.unwrap(), "did you mean `x`? the columns are `g`, `y`, `x`, `id`");
}

#[test]
fn values_that_are_no_numbers() {
    let boolean = Arc::new(BooleanArray::from(vec![true; 4]));
    let bytes = Arc::new(BinaryArray::from(vec![b"".as_slice(); 4]));
    let huge = Arc::new(arrow::array::UInt64Array::from(vec![0, 0, 0, u64::MAX]));
    let infinite = numbers(&[1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY]);
    let (carry, u) = ("carry: [c]", "continuous: [u]");
    let texts = |last| texts(&["1", "2", "3", last]);
    for (name, array, change, code, row) in [
        ("x", Arc::clone(&infinite), "", "infinite-value", Some("row 2")),
        ("x", texts("much"), "", "not-numeric", Some("row 3")),
        ("x", texts("4"), "", "not-numeric", None),
        ("x", boolean, "", "not-numeric", Some("row 0")),
        ("x", bytes, "", "unsupported-type", None),
        ("c", infinite, carry, "infinite-value", Some("row 2")),
        ("u", huge, u, "unreadable-value", None),
        ("x", integers(&[1, 2, 3, 9_007_199_254_740_993]), "", "large-integer", Some("row 3")),
        ("x", integers(&[1, i64::MAX, 3, 4]), "", "large-integer", Some("row 1")),
    ] {
        let fault = check(name, array, change);
        let found = (fault.code, fault.row.as_deref(), fault.column.as_deref());
        assert_eq!(found, (code, row, Some(name)));
    }
}

#[test]
fn one_hot_groups_hold_one_level_a_row() {
    let one = "continuous: [u], onehot: {level: [u]}";
    let fault = check("u", numbers(&[0.0, 0.0, 2.0, 3.0]), one);
    assert_eq!(
        (fault.code, fault.row.as_deref(), fault.column.as_deref()),
        ("bad-onehot", Some("row 2"), Some("u"))
    );

    let u: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(0.0), Some(1.0), None]));
    let rows = rows_with([("x", numbers(&[1.0, 0.0, 1.0, 0.0])), ("u", u)]);
    let params = params().with("continuous: [x, u], onehot: {level: [x, u]}");
    let (_dir, prepared) = prepared(rows, &params);
    let prepared = prepared.unwrap();
    let issue = prepared.issues.iter().find(|i| i.code == "broken-onehot").unwrap();
    assert_eq!((issue.r#where.as_str(), issue.n), ("level", 3));
    issue.text.says(&["2 rows have no 1 and 1 rows have several"]);
    assert!(params.reports_issue(&issue.code, &issue.r#where));
}

#[test]
fn missing_values_follow_their_rule() {
    let holes: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(1.0), Some(f64::NAN), Some(3.0), None]));
    let fault = check("x", Arc::clone(&holes), "missing: {continuous: error}");
    assert_eq!((fault.code, fault.row.as_deref()), ("missing-value", Some("row 1")));
    let rows = rows_with([("x", holes)]);
    let (dir, found) = prepared(rows.clone(), &params());
    let found = found.unwrap();
    let missing: Vec<bool> =
        batches(dir.path())[0].rows.numbers(1).iter().map(|v| v.is_nan()).collect();
    assert_eq!(missing, [false, true, false, true]);
    assert_eq!(
        found.issues.iter().map(|i| (i.code.as_str(), i.n)).collect::<Vec<_>>(),
        [("missing-values", 2)]
    );
    let params = params().with("missing: {continuous: drop-row}");
    assert_eq!(prepared(rows, &params).1.unwrap().layout.n_rows, 2);
}

#[test]
fn words_that_no_value_can_meet() {
    let fault = with(r#"label: {column: y, positive: ["2"]}"#);
    let hint = "the values seen are `0` (2), `1` (2); if it may be absent, close the list by \
                `negative`";
    assert_eq!((fault.code, fault.hint.as_deref()), ("unknown-label-value", Some(hint)));
    for (change, code) in [
        (r#"label: {column: y, positive: ["yes"]}"#, "not-a-number"),
        ("keep: [{x: {in: [many]}}]", "not-a-number"),
        ("keep: [{g: {at_least: 1}}]", "not-numeric"),
        ("sensitive: {g: [A, B]}", "unknown-group"),
        (r#"sensitive: {y: ["1", "1.0"]}"#, "duplicate-group"),
        (r#"sensitive: {g: [a, "a "]}"#, "duplicate-group"),
        (r#"split: {column: y, train: ["1"], audit: ["1.0"]}"#, "overlapping-split"),
        (r#"split: {column: y, train: ["1"], audit: ["3"]}"#, "no-audit-rows"),
    ] {
        assert_eq!(with(change).code, code, "{change}");
    }
    // A boolean is also 1 or 0, so that nobody is left by `0`.
    for (keep, code) in [
        (r#"keep: [{b: {in: ["yes"]}}]"#, "not-a-boolean"),
        (r#"keep: [{b: {in: ["0"]}}]"#, "no-rows"),
    ] {
        let booleans = Arc::new(BooleanArray::from(vec![true; 4]));
        assert_eq!(check("b", booleans, keep).code, code, "{keep}");
    }
    let fault = with("sensitive: {}, ordinal: {g: [a]}");
    assert_eq!((fault.code, fault.row.as_deref()), ("undeclared-level", Some("row 1")));
}

/// A column in 32 bits is read as the decimals that name its values, so numbers of the job mean the
/// same as in 64 bits.
#[test]
fn numbers_of_32_bits_are_compared_as_their_decimals() {
    let values = [0.1, 0.7, 0.3, 0.3];
    let left = |array: ArrayRef, change: &str| {
        let found = prepared(rows_with([("x", array)]), &params().with(change)).1.unwrap();
        found.layout.n_rows
    };
    for (change, n) in [
        ("keep: [{x: {at_least: 0.3}}]", 3),
        ("keep: [{x: {at_most: 0.3}}]", 3),
        ("keep: [{x: {above: 0.1}}]", 3),
        (r#"keep: [{x: {in: ["0.1", "0.7"]}}]"#, 2),
        (r#"keep: [{x: {not_in: ["0.7"]}}]"#, 3),
        (r#"keep: [{sql: "x <= 0.3"}]"#, 3),
        (r#"missing: {null_values: {x: ["0.7"]}, continuous: drop-row}"#, 3),
    ] {
        let narrow = Float32Array::from(values.map(|x| x as f32).to_vec());
        assert_eq!(left(Arc::new(narrow), change), n, "{change}");
        assert_eq!(left(numbers(&values), change), n, "{change}");
    }
}

#[test]
fn a_limit_that_rounding_would_move_is_refused() {
    let large = |limit: i64| {
        let ids = integers(&[9_007_199_254_740_994, 1, 2, 3]);
        let change = format!("keep: [{{x: {{at_least: {limit}}}}}]");
        prepared(rows_with([("x", ids)]), &params().with(&change)).1
    };
    let fault = fault(large(9_007_199_254_740_993));
    assert_eq!((fault.code, fault.column.as_deref()), ("large-integer", Some("x")));
    assert_eq!(large(2).unwrap().layout.n_rows, 3);
}

#[test]
fn rows_that_are_gone() {
    let fault = with("keep: [{x: {above: 1}}, {x: {below: 2}}, {g: {in: [a]}}]");
    assert_eq!(
        (fault.code, fault.what.as_str()),
        ("no-rows", "no row is left: `keep x: {below: 2}` dropped the last 3 of 4 rows")
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.parquet");
    let none: Vec<(&str, ArrayRef)> =
        rows().into_iter().map(|(name, array)| (name, array.slice(0, 0))).collect();
    parquet(&file, none, 2);
    assert_eq!(fault_of(&file, &params()).code, "no-rows");
}

fn fault_of(file: &Path, params: &PrepareParams) -> Fault {
    fault(prepare_parquet(file, params, tempfile::tempdir().unwrap().path(), 1024, 2))
}

#[test]
fn row_ids_that_identify_nobody() {
    let fault = check("id", texts(&["p", "q", "p", "q"]), "");
    assert_eq!(
        (fault.code, fault.what.as_str()),
        ("duplicate-row-id", "the row id `p` occurs in row 0 and in row 2")
    );
    assert_eq!(check("id", integers(&[7, 8, 9, 7]), "").row.unwrap(), "row 3");
    let holes: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]));
    assert_eq!(check("id", holes, "").code, "missing-row-id");
    assert_eq!(with("row_id: x").code, "not-an-id");
}

/// Where no row has a label, no issue about label values is reported.
#[test]
fn labels_of_nobody_are_told_as_such() {
    let told = |labels: [Option<&str>; 4]| {
        let rows = rows_with([("y", Arc::new(StringArray::from(labels.to_vec())) as ArrayRef)]);
        let params = params().with(r#"label: {column: y, positive: ["yes"], negative: ["no"]}"#);
        let issues = prepared(rows, &params).1.unwrap().issues;
        let of =
            |code: &str| issues.iter().find(|i| i.code == code).map(|i| (i.n, i.text.to_string()));
        (of("one-label-value"), of("missing-label"))
    };
    let nobody = "nobody has a label in `y`: metrics that need labels are undefined".to_owned();
    assert_eq!(told([None; 4]), (None, Some((4, nobody))));
    let (one, missing) = told([Some("yes"), None, Some("yes"), None]);
    assert!(one.unwrap().1.starts_with("every label in `y` is positive"));
    assert!(missing.unwrap().1.starts_with("2 rows have no label"));
}

#[test]
fn groups_that_are_missing_or_strange_stay_and_are_counted() {
    let g: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c"), Some("a")]));
    let y: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), Some(1), None, Some(1)]));
    let (dir, prepared) = prepared(rows_with([("g", g), ("y", y)]), &params());
    let prepared = prepared.unwrap();
    let mut codes: Vec<_> =
        prepared.issues.iter().map(|i| (i.code.as_str(), i.r#where.as_str(), i.n)).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            ("absent-group", "g", 0),
            ("missing-group", "g", 1),
            ("missing-label", "y", 1),
            ("undeclared-group", "g", 1)
        ]
    );
    assert_eq!(
        counts(dir.path(), 0).into_iter().collect::<Vec<_>>(),
        [((0, 0), 1), ((0, 1), 1), ((MISSING_GROUP, 1), 1), ((MISSING_GROUP, 2), 1)]
    );
    assert_eq!(prepared.layout.features[0].levels, ["a", "b", "c"]);
    let ids = RowsReader::open(dir.path()).unwrap().read_ids(0).unwrap();
    assert_eq!([0, 1, 2, 3].map(|i| ids.text(i)), ["p", "q", "r", "s"]);
}

/// The data come first: a misspelt group is named together with its difference from the data.
#[test]
fn groups_that_differ_only_by_case_or_blanks() {
    let text_of = |groups: &str, values: [&str; 4], code: &str| {
        let params = params().with(&format!("sensitive: {{g: [{groups}]}}"));
        match prepared(rows_with([("g", texts(&values))]), &params).1 {
            Ok(prepared) => {
                prepared.issues.iter().find(|issue| issue.code == code).unwrap().text.to_string()
            }
            Err(error) => fault::<()>(Err(error)).hint.unwrap(),
        }
    };
    // Blanks around a value count for nothing, those within it do.
    let values = ["Male", "female", "female ", "ma le"];
    let absent = text_of("Male, Female", values, "absent-group");
    assert!(
        absent.ends_with("; the data hold `female`, and `Female` and `female` differ only by case"),
        "{absent}"
    );
    let others = text_of("Male, Female", values, "similar-groups");
    let both = "`female` (2; it and `Female` differ only by case), `ma le` (1; it and `Male` \
                differ only by case and blanks)";
    assert!(others.contains(both), "{others}");
    // A short form, which is no other group such as AB of A.
    let short = text_of("m, f", ["m", "f", "female", "ma"], "similar-groups");
    short.says(&[
        "`female` (1; it may mean `f`); they belong to no group; where they mean a group, \
                  merge them by `map`",
    ]);
    let two = text_of("Male, female, ma le", values, "similar-groups");
    assert!(
        two.starts_with(
            "the groups `Male` and `ma le` of `g` differ only by case and blanks, and count as two"
        ),
        "{two}"
    );
    // A group that the data hold and the job names does not hide the one that is meant.
    let near = text_of("Mole, Male", ["Male", "Moles", "Moles", "Male"], "absent-group");
    assert!(near.ends_with("; did you mean `Moles`?"), "{near}");
    let none = text_of("MALE, FEMALE", values, "");
    assert!(
        none.starts_with(
            "the data hold `Male`, and `MALE` and `Male` differ only by case; the values seen are"
        ),
        "{none}"
    );
}

/// A missing value and the value `missing` are two things, unless the job says that the word means
/// missing.
#[test]
fn a_level_called_missing_is_no_missing_value() {
    let both: ArrayRef =
        Arc::new(StringArray::from(vec![Some("missing"), None, Some("red"), Some("missing")]));
    let level = "nominal: [colour], missing: {nominal: level}";
    let fault = check("colour", Arc::clone(&both), level);
    assert_eq!((fault.code, fault.column.as_deref()), ("ambiguous-missing", Some("colour")));
    fault.what.says(&["no value in 1 rows and the value `missing` in 2"]);
    fault.hint.unwrap().says(&["missing: {null_values: {colour: [missing]}}"]);
    let prepared = |array: ArrayRef, change: &str| {
        let params = params().with(level).with(change);
        let found = super::prepared(rows_with([("colour", array)]), &params).1.unwrap();
        found.layout.features[2].levels.clone()
    };
    let named = "missing: {nominal: level, null_values: {colour: [missing]}}";
    assert_eq!(prepared(Arc::clone(&both), named), ["missing", "red"]);
    assert_eq!(prepared(both, "missing: {nominal: keep}"), ["missing", "red"]);
    assert_eq!(prepared(texts(&["missing", "red", "red", "red"]), ""), ["missing", "red"]);
}

/// The values of a numeric column decide whether it is whole, not the type in which they are
/// stored.
#[test]
fn whole_numbers_are_told_by_their_values() {
    let of = |array: ArrayRef, change: &str| {
        let found = prepared(rows_with([("x", array)]), &params().with(change)).1.unwrap();
        let feature = &found.layout.features[1];
        (feature.kind == FeatureKind::WHOLE, feature.class)
    };
    let some: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(1.0), None, Some(-3.0), Some(f64::NAN)]));
    let decimals = numbers(&[1.0, 2.5, 3.0, 4.0]);
    for (array, change, whole, class) in [
        (integers(&[1, 2, 3, 4]), "", true, ValueClass::Int),
        (numbers(&[1.0, 2.0, 3.0, 4.0]), "", true, ValueClass::Float),
        (some, "", true, ValueClass::Float),
        (Arc::clone(&decimals), "", false, ValueClass::Float),
        (decimals, "integer: {x: true}", true, ValueClass::Float),
        // With decimals allowed, programs get the column with decimals too.
        (integers(&[1, 2, 3, 4]), "integer: {x: false}", false, ValueClass::Float),
    ] {
        assert_eq!(of(array, change), (whole, class), "{change}");
    }
}

#[test]
fn too_many_levels_are_refused() {
    let (_dir, file, params) = with_values(100_001, |i| format!("name {i}"));
    let fault = fault_of(&file, &params);
    assert_eq!((fault.code, fault.column.as_deref()), ("too-many-levels", Some("v")));
}

/// `n` people with a value each in the column `v`.
fn with_values(n: i64, v: impl Fn(i64) -> String) -> (tempfile::TempDir, PathBuf, PrepareParams) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.parquet");
    let g = StringArray::from_iter_values((0..n).map(|i| if i % 2 == 0 { "a" } else { "b" }));
    let v = StringArray::from_iter_values((0..n).map(v));
    parquet(&file, vec![("g", Arc::new(g)), ("v", Arc::new(v))], 1000);
    let params = PrepareParams::of("sensitive: {g: [a, b]}, nominal: [v]");
    (dir, file, params)
}

#[test]
fn many_levels_are_told() {
    for (n, told) in [(1000, None), (1001, Some(1001))] {
        let (dir, file, params) = with_values(n, |i| format!("town {i}"));
        let prepared = prepare_parquet(&file, &params, dir.path(), 1024, 2).unwrap();
        let issue = prepared.issues.iter().find(|issue| issue.code == "many-levels");
        assert_eq!(
            issue.map(|issue| (issue.n, issue.r#where.as_str(), issue.severity.as_str())),
            told.map(|n| (n, "v", "warning"))
        );
    }
}

#[test]
fn numbers_are_no_levels() {
    let values = |n: i64, v: &dyn Fn(i64) -> String| {
        let (dir, file, params) = with_values(n, v);
        prepare_parquet(&file, &params, dir.path(), 1024, 2)
    };
    let german = |i: i64| format!("{}.{:03},{:02}", 1 + i / 1000, i % 1000, i % 100);
    let refused = fault(values(1001, &german));
    assert_eq!((refused.code, refused.column.as_deref()), ("numbers-as-levels", Some("v")));
    let hint = refused.hint.unwrap();
    hint.says(&["decimal: \",\"", "list `v` under `continuous`"]);
    // The numbers are also reported above the largest number of levels of a column.
    assert_eq!(fault(values(100_001, &german)).code, "numbers-as-levels");
    let points = fault(values(1001, &|i| format!("{}.5", i)));
    assert!(points.hint.unwrap().starts_with("list `v`"), "{}", points.what);
    points.what.says(&["decimal point"]);
    // Three digits after every sign: it may separate thousands; as a decimal sign it would put
    // `1.001` below `350`.
    let thousands = |sign: char| {
        move |i: i64| match 300 + 13 * i {
            n if n < 1000 => n.to_string(),
            n => format!("{}{sign}{:03}", n / 1000, n % 1000),
        }
    };
    for (sign, name) in [('.', "point"), (',', "comma")] {
        let hint = fault(values(1100, &thousands(sign))).hint.unwrap();
        let words = format!("every such {name} is followed by exactly three digits: if it is");
        assert!(hint.starts_with(&words) && hint.contains("remove it from the file"), "{hint}");
        let other = |i: i64| if i == 7 { "1.5".to_owned() } else { thousands(sign)(i) };
        let hint = fault(values(1100, &other)).hint.unwrap();
        hint.lacks(&["three digits"]);
    }
    // Fewer levels, one value in twenty that is not a number, codes without a decimal sign.
    assert!(values(1000, &german).is_ok());
    assert!(values(1100, &|i| if i % 20 == 0 { format!("n/a {i}") } else { german(i) }).is_err());
    assert!(values(1100, &|i| if i % 19 == 0 { format!("n/a {i}") } else { german(i) }).is_ok());
    assert!(values(1100, &|i| format!("{}", 10_000 + i)).is_ok());
}

#[test]
fn damaged_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.parquet");
    parquet(&file, rows(), 2);
    let bytes = std::fs::read(&file).unwrap();
    for cut in [0, 3, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&file, &bytes[..cut]).unwrap();
        assert_eq!(fault_of(&file, &params()).code, "unreadable-file", "{cut}");
    }
    // The bytes of the pages are missing, the footer is whole.
    let mut hollow = bytes.clone();
    hollow[4..200].fill(0xFF);
    std::fs::write(&file, &hollow).unwrap();
    assert_eq!(fault_of(&file, &params()).code, "unreadable-file");
    assert_eq!(fault_of(&dir.path().join("none-*.parquet"), &params()).code, "missing-file");
    std::fs::write(&file, "a,b\n1,2\n").unwrap();
    assert_eq!(fault_of(&file, &params()).code, "unreadable-file");
}

#[test]
fn parts_must_agree_and_folders_may_be_columns() {
    let dir = tempfile::tempdir().unwrap();
    for (folder, group) in [("g=a", 0), ("g=b", 1)] {
        std::fs::create_dir_all(dir.path().join("lake").join(folder)).unwrap();
        let columns = rows()
            .into_iter()
            .skip(1)
            .map(|(name, array)| (name, array.slice(2 * group, 2)))
            .collect();
        parquet(&dir.path().join("lake").join(folder).join("part.parquet"), columns, 100);
    }
    std::fs::write(dir.path().join("lake/_SUCCESS"), "").unwrap();
    let out = dir.path().join("out");
    std::fs::create_dir(&out).unwrap();
    for pattern in ["lake", "lake/*/*.parquet", "lake/g=*"] {
        prepare_parquet(&dir.path().join(pattern), &params(), &out, 1024, 2).unwrap();
        assert_eq!(batches(&out)[0].groups[0], [0, 0, 1, 1], "{pattern}");
    }
    let source = ParquetSource::parquet(
        dir.path().join("lake").to_str().unwrap(),
        &["g", "x"],
        &DeclaredColumns::new(),
    )
    .unwrap();
    let rows_of = |fault: Fault| fault.row.unwrap();
    assert_eq!(rows_of(source.locate_row(Fault::default(), 3)), "row 3 (row 1 of this file)");
    // A part without a type for its nulls takes the type of the others.
    let nulls: ArrayRef = Arc::new(NullArray::new(2));
    parquet(
        &dir.path().join("lake/g=b/part.parquet"),
        vec![("y", integers(&[0, 1])), ("x", nulls), ("id", texts(&["u", "v"]))],
        100,
    );
    let filtered = params().with(r#"keep: [{x: {in: ["2"]}}]"#);
    assert_eq!(
        prepare_parquet(&dir.path().join("lake"), &filtered, &out, 1024, 2).unwrap().layout.n_rows,
        1
    );
    // The same column as text in one part.
    parquet(
        &dir.path().join("lake/g=b/part.parquet"),
        vec![("y", texts(&["1"])), ("x", numbers(&[1.0])), ("id", texts(&["z"]))],
        100,
    );
    let fault = fault_of(&dir.path().join("lake"), &params());
    assert_eq!(fault.code, "type-changes");
    fault.what.says(&["g=a", "g=b"]);
}
