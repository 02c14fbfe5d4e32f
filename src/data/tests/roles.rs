//! Derived columns, values that mean missing, duplicates and weights, from the source to the
//! prepared rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};

use super::{
    BATCH, batches, column, columns, counts, fault, integers, keep, label, numbers,
    prepare_parquet, prepared, sensitive, texts, words,
};
use crate::data::prepare::PrepareFindings;
use crate::data::prepare::derive::{CrossPart, Derivation, DerivationRecipe};
use crate::data::prepare::params::{
    MissingBlock, MissingRule, OrdinalOrder, PrepareParams, SensitiveParams, SplitColumn,
};
use crate::data::{FeatureKind, MISSING, MISSING_GROUP};
use crate::param::ColumnName;
use crate::table::IssueRow;
use crate::tests::Says;
use crate::tests::shared;

/// Derived columns as a job writes them; a cross takes its parts unchanged.
fn derive(entries: &[(&str, &str)]) -> Vec<(ColumnName, DerivationRecipe)> {
    let recipe = |json: &str| {
        let derivation: Derivation = serde_json::from_str(json).unwrap();
        derivation.recipe(|column| CrossPart { column: column.clone(), groups: None }).unwrap()
    };
    entries.iter().map(|(name, json)| (column(name), recipe(json))).collect()
}

fn derived(name: &str, of: &str, groups: &[&str]) -> SensitiveParams {
    SensitiveParams { column: column(of), ..sensitive(name, groups) }
}

fn issue<'a>(prepared: &'a PrepareFindings, code: &str) -> &'a IssueRow {
    prepared
        .issues
        .iter()
        .find(|issue| issue.code == code)
        .unwrap_or_else(|| panic!("no `{code}` in {:?}", prepared.issues))
}

/// Seven people: age, race, sex, label.
fn people() -> Vec<(&'static str, ArrayRef)> {
    vec![
        (
            "age",
            Arc::new(Int64Array::from(vec![
                Some(17),
                Some(30),
                Some(31),
                Some(45),
                Some(16),
                Some(99),
                None,
            ])),
        ),
        (
            "race",
            Arc::new(StringArray::from(vec![
                Some("White"),
                Some("Black"),
                Some("?"),
                Some("Asian"),
                None,
                Some("White"),
                Some("Other"),
            ])),
        ),
        ("sex", integers(&[1, 0, 1, 0, 1, 0, 1])),
        ("y", integers(&[1, 0, 1, 0, 1, 0, 1])),
    ]
}

fn params() -> PrepareParams {
    PrepareParams {
        derive: derive(&[
            ("band", r#"{"from": "age", "bins": [17, 30, 45]}"#),
            ("race2", r#"{"from": "race", "map": {"w": ["White"], "b": ["Black"]}}"#),
            ("both", r#"{"cross": ["sex", "band"]}"#),
        ]),
        label: label("y", &["1"]),
        sensitive: vec![
            derived("band", "band", &["(30, 45]", "[17, 30]"]),
            derived("race2", "race2", &["w", "b"]),
            derived("both", "both", &["1 & [17, 30]", "0 & (30, 45]"]),
        ],
        continuous: columns(&["age"]),
        ..PrepareParams::default()
    }
}

#[test]
fn derived_attributes_have_groups_and_their_misfits_are_counted() {
    let (dir, result) = prepared(people(), &params());
    let prepared = result.unwrap();
    let layout = &prepared.layout;
    let names: Vec<&str> = layout.features.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["band", "race2", "both", "age", "sex"], "sex travels for the cross");
    assert_eq!(layout.hidden, [0, 1, 2, 4]);
    assert_eq!(layout.features[0].levels, ["(30, 45]", "[17, 30]"]);
    assert_eq!(
        layout.features[2].levels,
        ["1 & [17, 30]", "0 & (30, 45]", "0 & [17, 30]", "1 & (30, 45]"]
    );
    let parents: Vec<_> = layout.derived.iter().map(|d| (d.feature, d.parents.clone())).collect();
    assert_eq!(parents, [(0, vec![Some(3)]), (1, vec![None]), (2, vec![Some(4), Some(0)])]);

    let all: Vec<Vec<u16>> = (0..3)
        .map(|a| batches(dir.path()).iter().flat_map(|b| b.groups[a].clone()).collect())
        .collect();
    const NONE: u16 = MISSING_GROUP;
    assert_eq!(all[0], [1, 1, 0, 0, NONE, NONE, NONE]);
    assert_eq!(all[1], [0, 1, NONE, NONE, NONE, 0, NONE]);
    assert_eq!(all[2], [0, NONE, NONE, 1, NONE, NONE, NONE]);

    let outside = issue(&prepared, "outside-bins");
    assert_eq!((outside.n, outside.r#where.as_str()), (2, "band"));
    outside.text.says(&["from `16` to `99`"]);
    let unmapped = issue(&prepared, "unmapped-value");
    assert_eq!((unmapped.n, unmapped.r#where.as_str()), (3, "race2"));
    unmapped.text.says(&["`?` (1), `Asian` (1), `Other` (1)"]);
}

#[test]
fn derived_columns_play_every_role() {
    let params = PrepareParams {
        keep: vec![keep(r#"{"band": {"present": {}}}"#)],
        split: Some(SplitColumn {
            column: column("band"),
            train: words(&["[17, 30]"]),
            audit: words(&["(30, 45]"]),
        }),
        sensitive: vec![derived("colour", "race2", &["w", "b"])],
        continuous: Vec::new(),
        ordinal: vec![(column("band"), OrdinalOrder::Levels(words(&["[17, 30]", "(30, 45]"])))],
        nominal: columns(&["both"]),
        ..params()
    };
    let (dir, result) = prepared(people(), &params);
    let prepared = result.unwrap();
    assert_eq!(prepared.layout.n_rows, 4);
    assert_eq!(prepared.filters[0].what, "keep band: present");
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
    let rows = batches(dir.path());
    let codes: Vec<u32> = rows.iter().flat_map(|b| b.rows.codes(1).to_vec()).collect();
    assert_eq!(codes, [0, 0, 1, 1]);
    let roles = crate::data::rows::RowsReader::open(dir.path()).unwrap().read_roles(0).unwrap();
    assert_eq!(roles, [crate::data::rows::split::TRAIN, crate::data::rows::split::TRAIN, 0, 0]);
}

#[test]
fn a_derived_attribute_listed_as_a_feature_keeps_the_rules_of_its_kind() {
    let listed = PrepareParams {
        nominal: columns(&["race2"]),
        ordinal: vec![(column("band"), OrdinalOrder::Levels(words(&["[17, 30]", "(30, 45]"])))],
        missing: MissingBlock {
            nominal: MissingRule::Level,
            ordinal: MissingRule::DropRow,
            ..MissingBlock::default()
        },
        ..params()
    };
    let (dir, result) = prepared(people(), &listed);
    let prepared = result.unwrap();
    assert_eq!((prepared.layout.n_rows, &prepared.layout.hidden[..]), (4, &[2, 4][..]));
    let band = &prepared.layout.features[0];
    assert_eq!(
        (&band.kind, &band.levels[..]),
        (&FeatureKind::OrdinalLevel, &["[17, 30]".to_owned(), "(30, 45]".to_owned()][..])
    );
    assert_eq!(prepared.layout.attributes[0].level_of_group, [1, 0]);
    assert_eq!(prepared.layout.features[1].levels, ["w", "b", "missing"]);
    let rows = batches(dir.path());
    assert_eq!(rows.iter().flat_map(|b| b.groups[0].clone()).collect::<Vec<_>>(), [1, 1, 0, 0]);
    assert_eq!(
        rows.iter().flat_map(|b| b.rows.codes(1).to_vec()).collect::<Vec<_>>(),
        [0, 1, 2, 2]
    );
}

#[test]
fn values_that_mean_missing_are_gone_before_anything_looks() {
    let null_values = [
        (column("race"), words(&["?", "Other"])),
        (column("age"), words(&["99", "30.0"])),
        (column("unread"), words(&["x"])),
    ];
    let with_nulls = PrepareParams {
        keep: vec![keep(r#"{"age": {"at_least": 17}}"#)],
        missing: MissingBlock {
            null_values: null_values.into_iter().collect(),
            ..MissingBlock::default()
        },
        ..params()
    };
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
    assert_eq!(
        issue(&prepared, "unmapped-value").text.matches('`').count(),
        8,
        "only `Asian` is left: {}",
        issue(&prepared, "unmapped-value").text
    );
    assert_eq!(
        batches(dir.path()).iter().flat_map(|b| b.row.clone()).collect::<Vec<_>>(),
        [0, 2, 3]
    );
    let wrong = PrepareParams {
        missing: MissingBlock {
            null_values: [(column("age"), words(&["?"]))].into_iter().collect(),
            ..MissingBlock::default()
        },
        ..params()
    };
    assert_eq!(fault(prepared_only(people(), &wrong)).code, "not-a-number");
}

#[test]
fn groups_that_never_occur_are_explained_by_the_values_that_do() {
    let derive =
        derive(&[("race2", r#"{"from": "race", "map": {"w": ["Green"], "b": ["Blue"]}}"#)]);
    let fault = fault(prepared_only(
        people(),
        &PrepareParams {
            derive,
            sensitive: vec![derived("race2", "race2", &["w", "b"])],
            ..params()
        },
    ));
    assert_eq!((fault.code, fault.column.as_deref()), ("unknown-group", Some("race2")));
    fault.hint.as_ref().unwrap().says(&["that the map of `race2` lacks: `White` (2)"]);
}

fn prepared_only(
    rows: Vec<(&str, ArrayRef)>,
    params: &PrepareParams,
) -> crate::error::Result<PrepareFindings> {
    prepared(rows, params).1
}

#[test]
fn heart_has_the_missing_values_of_its_notes() {
    let Some(file) = shared("data/heart/heart.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let null_values = [(column("chol"), words(&["0"])), (column("trestbps"), words(&["0"]))];
    let params = PrepareParams {
        sensitive: vec![sensitive("sex", &["1", "0"])],
        continuous: columns(&["chol", "trestbps"]),
        missing: MissingBlock {
            null_values: null_values.into_iter().collect(),
            ..MissingBlock::default()
        },
        ..PrepareParams::default()
    };
    let prepared = prepare_parquet(&file, &params, out.path(), BATCH, 1).unwrap();
    let counted: Vec<i64> =
        prepared.issues.iter().filter(|i| i.code == "null-value").map(|i| i.n).collect();
    assert_eq!(counted, [123 + 49, 1]);
}

#[test]
fn adult_has_the_groups_of_its_publication() {
    let Some(file) = shared("data/adult/adult.parquet") else { return };
    let out = tempfile::tempdir().unwrap();
    let params = PrepareParams {
        derive: derive(&[
            ("race2", r#"{"from": "race", "map": {"White": ["White"]}, "else": "Other"}"#),
            ("both", r#"{"cross": ["sex", "race2"]}"#),
        ]),
        label: label("income", &[">50K"]),
        sensitive: vec![
            sensitive("race2", &["White", "Other"]),
            sensitive("both", &["Male & White", "Female & Other"]),
        ],
        ..PrepareParams::default()
    };
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
    let params = PrepareParams {
        nominal: columns(&["both", "band"]),
        sensitive: vec![sensitive("sex", &["1", "0"])],
        continuous: Vec::new(),
        ..params()
    };
    let (dir, result) = prepared(people(), &params);
    assert_eq!(
        result.unwrap().layout.features.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
        ["sex", "both", "band"]
    );
    let codes: Vec<u32> =
        batches(dir.path()).iter().flat_map(|b| b.rows.codes(1).to_vec()).collect();
    assert_eq!(codes[4..], [MISSING; 3]);
}

#[test]
fn weights_are_finite_and_somebody_weighs() {
    let with = |weights: &[f64]| {
        let mut rows = people();
        rows.push(("w", numbers(weights)));
        prepared(rows, &PrepareParams { weight: Some(column("w")), ..params() })
    };
    let (dir, result) = with(&[0.0, 1.5, 2.0, 0.0, 3.0, 1e300, 1.0]);
    assert_eq!(result.unwrap().layout.weight.map(|weight| weight.column).as_deref(), Some("w"));
    let rows = batches(dir.path());
    assert_eq!(
        rows.iter().flat_map(|b| b.weight.clone()).collect::<Vec<_>>(),
        [0.0, 1.5, 2.0, 0.0, 3.0, 1e300, 1.0]
    );
    for (weights, code, row) in [
        (vec![1.0, 1.0, 1.0, -0.5, 1.0, 1.0, 1.0], "bad-weight", Some("row 3")),
        (vec![1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN, 1.0], "bad-weight", Some("row 5")),
        (vec![1.0, f64::INFINITY, 1.0, 1.0, 1.0, 1.0, 1.0], "infinite-value", Some("row 1")),
        (vec![0.0; 7], "bad-weight", None),
        (vec![f64::MAX; 7], "bad-weight", None),
    ] {
        let fault = fault(with(&weights).1);
        assert_eq!((fault.code, fault.row.as_deref()), (code, row), "{fault}");
        assert_eq!(fault.column.as_deref(), Some("w"));
    }
    let mut rows = people();
    rows.push(("w", texts(&["1"; 7])));
    assert_eq!(
        fault(prepared(rows, &PrepareParams { weight: Some(column("w")), ..params() }).1).code,
        "not-numeric"
    );
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
    let params = |compared: &[&str]| PrepareParams {
        keep: vec![keep(r#"{"x": {"below": 3}}"#)],
        sensitive: vec![sensitive("sex", &["f", "m"])],
        split: Some(SplitColumn {
            column: column("part"),
            train: words(&["t"]),
            audit: words(&["u"]),
        }),
        drop_duplicates: Some(columns(compared)),
        ..PrepareParams::default()
    };
    let (dir, result) =
        prepared(rows(), &PrepareParams { split: None, ..params(&["x", "site", "sex"]) });
    let steps: Vec<_> =
        result.unwrap().filters.into_iter().map(|f| (f.what, f.rows_in, f.rows_out)).collect();
    assert_eq!(
        steps,
        [("keep x: {below: 3}".to_owned(), 7, 6), ("duplicates: drop-exact".to_owned(), 6, 3)]
    );
    assert_eq!(
        batches(dir.path()).iter().flat_map(|b| b.row.clone()).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    // The first row is kept, in either part; here no row is left to audit, which is reported.
    assert_eq!(fault(prepared(rows(), &params(&["x", "sex"])).1).code, "no-audit-rows");
}
