//! Folders of older versions of the program: every table of an older version is read, and what it
//! does not tell is not made up.

use std::collections::BTreeSet;
use std::fs;

use cfaudit::table::list::TABLES;

use crate::batches::read;
use crate::recourse;
use crate::work::{Work, sha256};

/// Tables with more than one version, the version before, and the columns that it lacked.
const BEFORE: &[(&str, u32, &[&str])] = &[
    (
        "metrics",
        6,
        &[
            "world_level",
            "between_lo",
            "between_hi",
            "between_var",
            "within_lo",
            "within_hi",
            "within_var",
            "mixed_var",
        ],
    ),
    ("counts", 2, &[]),
    ("score_shift", 2, &["class"]),
    ("groups", 2, &["n_missing_stratum"]),
    ("nodes", 1, &["by_cells", "by_levels", "by_equation"]),
    ("cf_distributions", 1, &["share"]),
    ("cf_examples", 1, &["model", "score", "score_cf", "decision", "decision_cf"]),
    ("comparisons", 2, &["flags"]),
    ("graphs", 1, &["attribute_follows"]),
    ("recourse", 1, &["deals", "person_rows", "persons"]),
    ("comparatives", 1, &["no_action"]),
    ("changes", 1, &[]),
    ("gates", 2, &["numerator"]),
    ("outcomes", 1, &["weight"]),
    ("issues", 1, &["state"]),
];

/// A job that writes every table with more than one version but `changes`, which a baseline makes.
const SETS: &str = "
counterfactuals:
  flip: naive
  near: {plausible: {move: [age, job], condition_on: label}}
  drawn: {graph-uncertain: {discovery: {given: {edges: [[sex, age], [age, grade]]}}, bootstraps: 3,
    variables: [sex, age, grade], knowledge: {none: {}}}}
models:
  other: {logistic: {l2: 9.0, omit: [age]}}
";

/// Writes a table of a folder again as another version of the program would, and lists it so in the
/// manifest.
pub(crate) fn as_version(work: &Work, folder: &str, name: &str, version: u32, without: &[&str]) {
    let path = work.path(&format!("{folder}/{name}"));
    let batch = read(&path);
    let kept: Vec<usize> = (0..batch.num_columns())
        .filter(|i| !without.contains(&batch.schema().field(*i).name().as_str()))
        .collect();
    let batch = batch.project(&kept).unwrap();
    let about =
        parquet::file::metadata::KeyValue::new("cfaudit.version".to_owned(), version.to_string());
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_key_value_metadata(Some(vec![about]))
        .build();
    let mut writer = parquet::arrow::ArrowWriter::try_new(
        fs::File::create(&path).unwrap(),
        batch.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut manifest = work.json(&format!("{folder}/manifest.json"));
    manifest["files"][name] = sha256(&fs::read(&path).unwrap()).into();
    work.write(
        &format!("{folder}/manifest.json"),
        &serde_json::to_string_pretty(&manifest).unwrap(),
    );
}

#[test]
fn tables_of_the_version_before_are_read() {
    let several = TABLES.iter().filter(|table| table.version > 1).map(|table| table.name);
    // That of labels with several classes is read in `classes::classes_of_persons`, and that of
    // earlier runs is refused in `diff::folders::a_history_shows_how_limits_were_kept`.
    let several = several.filter(|name| !["transitions", "history"].contains(name));
    let listed = BEFORE.iter().map(|(name, ..)| *name);
    assert_eq!(listed.collect::<BTreeSet<_>>(), several.collect(), "list its version before");
    let work = recourse::trained();
    let job = fs::read_to_string(work.path("job.yaml"))
        .unwrap()
        .replace("\nmodels:\n", SETS)
        .replace("    no_way_costs: 20\n", "    no_way_costs: 20\n    chance: {deals: 99}\n")
        .replace("samples: 20}", "samples: 20}, compare: {logistic: other}")
        + "report: {cases: 2}\n";
    work.write("job.yaml", &job);
    work.run(0, "job.yaml", "");
    work.cfaudit(0, "run job.yaml --out base --cache cache");
    work.cfaudit(0, "gate out --baseline base");
    let page = || fs::read_to_string(work.path("out/annex.html")).unwrap();
    let told = ["can be distinguished from chance", "id=\"models\"", "id=\"graphs\""];
    assert!(told.iter().all(|words| page().contains(words)), "{told:?}");
    for (name, version, without) in BEFORE {
        let folder = if *name == "outcomes" { "rows" } else { "tables" };
        as_version(&work, "out", &format!("{folder}/{name}.parquet"), *version, without);
        work.cfaudit(0, "report out");
        assert!(told.iter().all(|words| page().contains(words)), "{name} {told:?}");
        assert!(!page().contains("were not tested against chance"), "{name}");
    }
    work.cfaudit(0, "gate out");
    work.cfaudit(0, "diff base out");
    work.cfaudit(0, "gate base --baseline out");

    // What an older file lacks and cannot be null is named, with the version; no file is damaged.
    as_version(&work, "out", "tables/metrics.parquet", 3, &["highest_group"]);
    for verb in ["report out", "gate out"] {
        let ran = work.cfaudit(5, verb);
        ran.says(&[
            "table `metrics` of version 3 lacks `highest_group`",
            "hint: run the job again",
        ]);
        assert!(!ran.stderr.contains("damaged"), "{}", ran.stderr);
    }
}
