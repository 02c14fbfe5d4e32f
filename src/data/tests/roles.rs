//! Derived columns, values that mean missing, duplicates and weights, from the source to the
//! prepared rows.

use super::*;
use crate::data::MISSING;
use crate::table::IssueRow;

fn issue<'a>(prepared: &'a PrepareFindings, code: &str) -> &'a IssueRow {
    prepared
        .issues
        .iter()
        .find(|issue| issue.code == code)
        .unwrap_or_else(|| panic!("no `{code}` in {:?}", prepared.issues))
}

/// Seven people: age, race, sex, label.
fn people() -> Vec<(&'static str, ArrayRef)> {
    let ages = [Some(17), Some(30), Some(31), Some(45), Some(16), Some(99), None];
    let races = ["White", "Black", "?", "Asian", "", "White", "Other"];
    let races = races.map(|race| (!race.is_empty()).then_some(race));
    vec![
        ("age", Arc::new(Int64Array::from(ages.to_vec()))),
        ("race", Arc::new(StringArray::from(races.to_vec()))),
        ("sex", integers(&[1, 0, 1, 0, 1, 0, 1])),
        ("y", integers(&[1, 0, 1, 0, 1, 0, 1])),
    ]
}

fn params() -> PrepareParams {
    PrepareParams::of(
        r#"derive: {
             band: {from: age, bins: [17, 30, 45]},
             race2: {from: race, map: {w: [White], b: [Black]}},
             both: {cross: [sex, band]}},
           label: {column: y, positive: ["1"]}, continuous: [age],
           sensitive: {
             band: ["(30, 45]", "[17, 30]"],
             race2: [w, b],
             both: ["1 & [17, 30]", "0 & (30, 45]"]}"#,
    )
}

fn names(prepared: &PrepareFindings) -> Vec<&str> {
    prepared.layout.features.iter().map(|f| f.name.as_str()).collect()
}

#[test]
fn derived_attributes_have_groups_and_their_misfits_are_counted() {
    let (dir, result) = prepared(people(), &params());
    let prepared = result.unwrap();
    let layout = &prepared.layout;
    assert_eq!(
        names(&prepared),
        ["band", "race2", "both", "age", "sex"],
        "sex travels for the cross"
    );
    assert_eq!(layout.hidden, [0, 1, 2, 4]);
    assert_eq!(layout.features[0].levels, ["(30, 45]", "[17, 30]"]);
    assert_eq!(
        layout.features[2].levels,
        ["1 & [17, 30]", "0 & (30, 45]", "0 & [17, 30]", "1 & (30, 45]"]
    );
    let parents: Vec<_> = layout.derived.iter().map(|d| (d.feature, d.parents.clone())).collect();
    assert_eq!(parents, [(0, vec![Some(3)]), (1, vec![None]), (2, vec![Some(4), Some(0)])]);

    const NONE: u16 = MISSING_GROUP;
    for (attribute, groups) in [
        [1, 1, 0, 0, NONE, NONE, NONE],
        [0, 1, NONE, NONE, NONE, 0, NONE],
        [0, NONE, NONE, 1, NONE, NONE, NONE],
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(all(dir.path(), |rows| rows.groups[attribute].clone()), groups);
    }

    let outside = issue(&prepared, "outside-bins");
    assert_eq!((outside.n, outside.r#where.as_str()), (2, "band"));
    outside.text.says(&["from `16` to `99`"]);
    let unmapped = issue(&prepared, "unmapped-value");
    assert_eq!((unmapped.n, unmapped.r#where.as_str()), (3, "race2"));
    unmapped.text.says(&["`?` (1), `Asian` (1), `Other` (1)"]);
}

#[test]
fn derived_columns_play_every_role() {
    let mut params = params().with(
        r#"keep: [{band: {present: {}}}], sensitive: {race2: [w, b]}, continuous: [],
           split: {column: band, train: ["[17, 30]"], audit: ["(30, 45]"]},
           ordinal: {band: ["[17, 30]", "(30, 45]"]}, nominal: [both]"#,
    );
    params.sensitive[0].name = column("colour");
    let (dir, result) = prepared(people(), &params);
    let prepared = result.unwrap();
    assert_eq!(prepared.layout.n_rows, 4);
    assert_eq!(prepared.filters[1].what, "keep band: present");
    let features: Vec<_> =
        prepared.layout.features.iter().map(|f| (f.name.as_str(), f.kind.clone())).collect();
    let nominal = |name| (name, FeatureKind::Nominal);
    assert_eq!(
        features,
        [
            ("race2", FeatureKind::Sensitive),
            ("band", FeatureKind::OrdinalLevel),
            nominal("both"),
            nominal("sex")
        ]
    );
    assert_eq!(prepared.layout.hidden, [0, 3]);
    assert_eq!(all(dir.path(), |rows| rows.rows.codes(1).to_vec()), [0, 0, 1, 1]);
    assert_eq!(RowsReader::open(dir.path()).unwrap().read_roles(0).unwrap(), [TRAIN, TRAIN, 0, 0]);
}

#[test]
fn a_derived_attribute_listed_as_a_feature_keeps_the_rules_of_its_kind() {
    let listed = params().with(
        r#"nominal: [race2], ordinal: {band: ["[17, 30]", "(30, 45]"]},
           missing: {nominal: level, ordinal: drop-row}"#,
    );
    let (dir, result) = prepared(people(), &listed);
    let prepared = result.unwrap();
    assert_eq!((prepared.layout.n_rows, &prepared.layout.hidden[..]), (4, &[2, 4][..]));
    let band = &prepared.layout.features[0];
    assert_eq!(band.kind, FeatureKind::OrdinalLevel);
    assert_eq!(band.levels, ["[17, 30]", "(30, 45]"]);
    assert_eq!(prepared.layout.attributes[0].level_of_group, [1, 0]);
    assert_eq!(prepared.layout.features[1].levels, ["w", "b", "missing"]);
    assert_eq!(all(dir.path(), |rows| rows.groups[0].clone()), [1, 1, 0, 0]);
    assert_eq!(all(dir.path(), |rows| rows.rows.codes(1).to_vec()), [0, 1, 2, 2]);
}

#[test]
fn values_that_mean_missing_are_gone_before_anything_looks() {
    let with_nulls = params().with(
        r#"keep: [{age: {at_least: 17}}],
           missing: {null_values: {race: ["?", Other], age: ["99", "30.0"], unread: [x]}}"#,
    );
    let (dir, result) = prepared(people(), &with_nulls);
    let prepared = result.unwrap();
    assert_eq!(prepared.layout.n_rows, 3, "17, 31, 45");
    let counted: Vec<_> = prepared
        .issues
        .iter()
        .filter(|i| i.code == "null-value")
        .map(|i| (i.r#where.as_str(), i.n))
        .collect();
    assert_eq!(counted, [("race", 2), ("age", 2)]);
    let left = &issue(&prepared, "unmapped-value").text;
    assert_eq!(left.matches('`').count(), 8, "only `Asian` is left: {left}");
    assert_eq!(all(dir.path(), |rows| rows.row), [0, 2, 3]);
    let wrong = params().with(r#"missing: {null_values: {age: ["?"]}}"#);
    assert_eq!(fault(super::prepared(people(), &wrong).1).code, "not-a-number");
}

#[test]
fn groups_that_never_occur_are_explained_by_the_values_that_do() {
    let unseen = params().with(
        "derive: {race2: {from: race, map: {w: [Green], b: [Blue]}}}, sensitive: {race2: [w, b]}",
    );
    let fault = fault(prepared(people(), &unseen).1);
    assert_eq!((fault.code, fault.column.as_deref()), ("unknown-group", Some("race2")));
    fault.hint.as_ref().unwrap().says(&["that the map of `race2` lacks: `White` (2)"]);
}

#[test]
fn heart_has_the_missing_values_of_its_notes() {
    let Some(file) = shared("data/heart/heart.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let params = PrepareParams::of(
        r#"sensitive: {sex: ["1", "0"]}, continuous: [chol, trestbps],
           missing: {null_values: {chol: ["0"], trestbps: ["0"]}}"#,
    );
    let prepared = prepare_parquet(&file, &params, out.path(), BATCH, 1).unwrap();
    let counted: Vec<i64> =
        prepared.issues.iter().filter(|i| i.code == "null-value").map(|i| i.n).collect();
    assert_eq!(counted, [123 + 49, 1]);
}

#[test]
fn adult_has_the_groups_of_its_publication() {
    let Some(file) = shared("data/adult/adult.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let params = PrepareParams::of(
        r#"derive: {race2: {from: race, map: {White: [White]}, else: Other},
             both: {cross: [sex, race2]}},
           label: {column: income, positive: [">50K"]},
           sensitive: {race2: [White, Other], both: [Male & White, Female & Other]}"#,
    );
    prepare_parquet(&file, &params, out.path(), BATCH, 2).unwrap();
    // White 41,762 (10,607 positive) of 48,842 (11,687 positive).
    let by_race: Vec<u64> = counts(out.path(), 0).into_values().collect();
    assert_eq!(by_race, [41_762 - 10_607, 10_607, 7_080 - 1_080, 1_080]);
    let both = counts(out.path(), 1);
    // Counted with Polars: Male & White 28,735, Female & Other 3,165.
    assert_eq!((both[&(0, 0)] + both[&(0, 1)], both[&(1, 0)] + both[&(1, 1)]), (28_735, 3_165));
}

#[test]
fn a_missing_part_leaves_a_cross_missing() {
    let params =
        params().with(r#"nominal: [both, band], sensitive: {sex: ["1", "0"]}, continuous: []"#);
    let (dir, result) = prepared(people(), &params);
    assert_eq!(names(&result.unwrap()), ["sex", "both", "band"]);
    assert_eq!(all(dir.path(), |rows| rows.rows.codes(1).to_vec())[4..], [MISSING; 3]);
}

#[test]
fn weights_are_finite_and_somebody_weighs() {
    let with = |weights: ArrayRef| {
        let rows = people().into_iter().chain([("w", weights)]).collect();
        prepared(rows, &params().with("weight: w"))
    };
    let weights = [0.0, 1.5, 2.0, 0.0, 3.0, 1e300, 1.0];
    let (dir, result) = with(numbers(&weights));
    assert_eq!(result.unwrap().layout.weight.map(|weight| weight.column).as_deref(), Some("w"));
    assert_eq!(all(dir.path(), |rows| rows.weight), weights);
    for (weights, code, row) in [
        (vec![1.0, 1.0, 1.0, -0.5, 1.0, 1.0, 1.0], "bad-weight", Some("row 3")),
        (vec![1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN, 1.0], "bad-weight", Some("row 5")),
        (vec![1.0, f64::INFINITY, 1.0, 1.0, 1.0, 1.0, 1.0], "infinite-value", Some("row 1")),
        (vec![0.0; 7], "bad-weight", None),
        (vec![f64::MAX; 7], "bad-weight", None),
    ] {
        let fault = fault(with(numbers(&weights)).1);
        assert_eq!((fault.code, fault.row.as_deref()), (code, row), "{fault}");
        assert_eq!(fault.column.as_deref(), Some("w"));
    }
    assert_eq!(fault(with(texts(&["1"; 7])).1).code, "not-numeric");
}

#[test]
fn rows_that_repeat_an_earlier_one_go_and_the_filters_say_so() {
    let rows = || {
        vec![
            ("x", integers(&[1, 1, 2, 1, 2, 1, 3])),
            ("site", texts(&["a", "b", "a", "a", "a", "b", "a"])),
            ("part", texts(&["t", "t", "t", "u", "t", "u", "u"])),
            ("sex", texts(&["f", "f", "m", "f", "m", "f", "m"])),
        ]
    };
    let params = |more: &str| {
        PrepareParams::of("keep: [{x: {below: 3}}], sensitive: {sex: [f, m]}").with(more)
    };
    let (dir, result) = prepared(rows(), &params("drop_duplicates: [x, site, sex]"));
    let filters = result.unwrap().filters;
    let steps: Vec<_> =
        filters.iter().map(|f| (f.step, f.what.as_str(), f.rows_in, f.rows_out)).collect();
    assert_eq!(
        steps,
        [
            (0, "rows of the source", 7, 7),
            (1, "keep x: {below: 3}", 7, 6),
            (2, "duplicates: drop-exact", 6, 3)
        ]
    );
    assert_eq!(all(dir.path(), |rows| rows.row), [0, 1, 2]);
    // The first row is kept, in either part; here no row is left to audit, which is reported.
    let split = "drop_duplicates: [x, sex], split: {column: part, train: [t], audit: [u]}";
    assert_eq!(fault(prepared(rows(), &params(split)).1).code, "no-audit-rows");
}
