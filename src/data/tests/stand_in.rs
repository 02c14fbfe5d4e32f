//! Stand-ins: the published counts, the types and levels of the real data set, no real row.

use super::catalog::{obtained, rows, tally};
use super::*;

/// The rows of a stand-in.
fn made(name: &str) -> RecordBatch {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("source.parquet");
    let offline = |_: &str, _: u64| Err("no network".to_owned());
    let origin = obtained(data_set(name).unwrap(), dir.path(), true, &offline, &out).unwrap();
    assert!(matches!(origin, DataSetOrigin::StandIn(why) if why.contains("no network")));
    rows(&out)
}

fn integers(rows: &RecordBatch, name: &str) -> Vec<f64> {
    rows.column_by_name(name)
        .unwrap()
        .as_primitive::<Int64Type>()
        .iter()
        .flatten()
        .map(|v| v as f64)
        .collect()
}

/// The means of a column differ by less than five standard errors.
#[track_caller]
fn assert_same_mean(made: &RecordBatch, real: &RecordBatch, name: &str) {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let values = integers(real, name);
    let (ours, theirs) = (mean(&integers(made, name)), mean(&values));
    let error =
        values.iter().map(|v| (v - theirs).powi(2)).sum::<f64>().sqrt() / values.len() as f64;
    assert!((ours - theirs).abs() < 5.0 * error, "{name}: {ours} against {theirs}");
}

#[test]
fn that_of_adult_has_the_published_counts() {
    let made = made("adult");
    let text = |name: &str| made.column_by_name(name).unwrap().as_string::<i32>().clone();
    let (sex, income, split, relationship) =
        (text("sex"), text("income"), text("split"), text("relationship"));
    let n = |s: &str, x: &str, y: &str| {
        (0..made.num_rows())
            .filter(|&i| split.value(i) == s && sex.value(i) == x && income.value(i) == y)
            .count()
    };
    assert_eq!(
        [
            n("train", "Male", ">50K"),
            n("train", "Female", ">50K"),
            n("test", "Male", ">50K"),
            n("test", "Female", ">50K")
        ],
        [6_662, 1_179, 3_256, 590]
    );
    assert_eq!(
        [
            n("train", "Male", "<=50K"),
            n("train", "Female", "<=50K"),
            n("test", "Male", "<=50K"),
            n("test", "Female", "<=50K")
        ],
        [21_790 - 6_662, 10_771 - 1_179, 10_860 - 3_256, 5_421 - 590]
    );
    // Husbands: 19,716 in the files, one of them a woman.
    let husbands =
        (0..made.num_rows()).filter(|&i| relationship.value(i) == "Husband").count() as f64;
    assert!((husbands - 19_716.0).abs() < 5.0 * 60.0, "{husbands}");

    let Some(data) = shared("data/adult/adult.parquet") else { return };
    let real = rows(&data);
    for field in
        real.schema().fields().iter().filter(|f| f.data_type().is_integer() && f.name() != "fnlwgt")
    {
        assert_same_mean(&made, &real, field.name());
    }
    for field in real.schema().fields().iter().filter(|f| !f.data_type().is_numeric()) {
        assert_eq!(
            made.schema().field_with_name(field.name()).unwrap().data_type(),
            field.data_type()
        );
        let (ours, theirs) = (
            made.column_by_name(field.name()).unwrap(),
            real.column_by_name(field.name()).unwrap(),
        );
        let levels = |array: &arrow::array::ArrayRef| {
            array
                .as_string::<i32>()
                .iter()
                .flatten()
                .map(str::to_owned)
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert!(levels(ours).is_subset(&levels(theirs)), "{}", field.name());
        assert!(
            (ours.null_count() as f64 - theirs.null_count() as f64).abs()
                < 5.0 * (theirs.null_count() as f64).sqrt() + 1.0,
            "{}",
            field.name()
        );
    }
}

/// Pearson's correlation of two columns over the rows that have both.
fn correlation(rows: &RecordBatch, a: &str, b: &str) -> f64 {
    let (a, b) = (integers(rows, a), integers(rows, b));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| {
        a.iter().zip(&b).map(|(&x, &y)| f(x - ma, y - mb)).sum::<f64>()
    };
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

#[test]
fn that_of_compas_has_the_published_counts() {
    let made = made("compas");
    assert_eq!(made.num_rows(), 7_214);
    let cells = tally(&made, &["race", "two_year_recid"]);
    let both = |race: &str| {
        [cells[&format!("{race} 0")] + cells[&format!("{race} 1")], cells[&format!("{race} 1")]]
    };
    assert_eq!([both("African-American"), both("Caucasian")], [[3_696, 1_901], [2_454, 966]]);
    assert_eq!(
        ["Hispanic", "Other", "Asian", "Native American"].map(|race| both(race)[0]),
        [637, 377, 32, 18]
    );
    // ProPublica's filter keeps 5,278 people of two races: 3,175 with 1,661 new arrests and 2,103
    // with 822.
    let days = made.column_by_name("days_b_screening_arrest").unwrap().as_primitive::<Int64Type>();
    let kept: Vec<bool> = days.iter().map(|d| d.is_some_and(|d| (-30..=30).contains(&d))).collect();
    let kept = tally(
        &arrow::compute::filter_record_batch(&made, &kept.into()).unwrap(),
        &["race", "two_year_recid"],
    );
    assert_eq!([kept["African-American 0"], kept["African-American 1"]], [3_175 - 1_661, 1_661]);
    assert_eq!([kept["Caucasian 0"], kept["Caucasian 1"]], [2_103 - 822, 822]);
    // Columns that depend on other columns do so here too.
    for twice in ["decile_score", "priors_count"] {
        assert_eq!(
            made.column_by_name(twice).unwrap(),
            made.column_by_name(&format!("{twice}.1")).unwrap()
        );
    }
    let consistent = tally(&made, &["two_year_recid", "is_recid", "is_violent_recid"]);
    assert_eq!(
        consistent.keys().collect::<Vec<_>>(),
        ["0 0 0", "0 1 0", "0 1 1", "1 1 0", "1 1 1"]
    );

    let Some(data) = shared("data/compas/compas.parquet") else { return };
    let real = rows(&data);
    assert_eq!(made.schema().fields(), real.schema().fields());
    for name in [
        "age",
        "juv_fel_count",
        "juv_misd_count",
        "juv_other_count",
        "priors_count",
        "decile_score",
        "v_decile_score",
        "is_recid",
    ] {
        assert_same_mean(&made, &real, name);
    }
    for (a, b) in [
        ("age", "priors_count"),
        ("age", "decile_score"),
        ("priors_count", "decile_score"),
        ("decile_score", "v_decile_score"),
    ] {
        let (ours, theirs) = (correlation(&made, a, b), correlation(&real, a, b));
        assert!((ours - theirs).abs() < 0.1, "{a}, {b}: {ours} against {theirs}");
    }
    for name in [
        "sex",
        "age_cat",
        "race",
        "c_charge_degree",
        "score_text",
        "v_score_text",
        "type_of_assessment",
        "v_type_of_assessment",
    ] {
        assert!(tally(&made, &[name]).keys().eq(tally(&real, &[name]).keys()), "{name}");
    }
    let filled: BTreeSet<&str> = made
        .schema_ref()
        .fields()
        .iter()
        .map(|f| f.name().as_str())
        .filter(|n| is_filled(&made, n))
        .collect();
    assert_eq!(filled.len(), 22);
    // Age and the texts made of numbers agree as in the real data.
    for pair in
        [["age", "age_cat"], ["decile_score", "score_text"], ["v_decile_score", "v_score_text"]]
    {
        let theirs = tally(&real, &pair);
        assert!(tally(&made, &pair).keys().all(|k| theirs.contains_key(k)), "{pair:?}");
    }
}

/// Whether a column holds a value at all.
fn is_filled(rows: &RecordBatch, name: &str) -> bool {
    rows.column_by_name(name).unwrap().null_count() < rows.num_rows()
}

/// The counts in the program are those of the published file.
#[test]
fn that_of_compas_rests_on_counts_of_the_published_file() {
    let Some(data) = shared("data/compas/compas.parquet") else { return };
    let real = rows(&data);
    let marginals: serde_json::Value =
        serde_json::from_str(include_str!("../source/catalog/compas_marginals.json")).unwrap();
    let strata = marginals["strata"].as_array().unwrap();
    let own: BTreeSet<&str> = strata.iter().filter_map(|s| s[0].as_str()).collect();
    let text = |name: &str| real.column_by_name(name).unwrap().as_string::<i32>().clone();
    let (race, label) = (text("race"), integers(&real, "two_year_recid"));
    let stratum = |i: usize| {
        let race = if own.contains(race.value(i)) { race.value(i) } else { "any other" };
        strata.iter().position(|s| s[0] == race && s[1].as_f64() == Some(label[i])).unwrap()
    };
    for (name, column) in marginals["columns"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| *name != "is_recid and is_violent_recid")
    {
        let values = arrow::compute::cast(
            real.column_by_name(name).unwrap(),
            &arrow::datatypes::DataType::Utf8,
        )
        .unwrap();
        let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for i in 0..real.num_rows() {
            let word = values.as_string::<i32>().value(i);
            // The last band takes all that lies above it.
            let falls = |value: &serde_json::Value| match value {
                serde_json::Value::String(level) => level == word,
                serde_json::Value::Array(band) => {
                    band[0].as_i64().unwrap() <= word.parse().unwrap()
                }
                number => number.as_i64().unwrap() == word.parse::<i64>().unwrap(),
            };
            let position = column["values"].as_array().unwrap().iter().rposition(falls).unwrap();
            *counts.entry((stratum(i), position)).or_default() += 1;
        }
        for (s, row) in column["counts"].as_array().unwrap().iter().enumerate() {
            for (v, n) in row.as_array().unwrap().iter().enumerate() {
                assert_eq!(
                    n.as_u64().unwrap(),
                    counts.get(&(s, v)).copied().unwrap_or(0),
                    "{name}: stratum {s}, value {v}"
                );
            }
        }
    }
}
