//! Folders whose tables have another version: every verb that reads such a folder refuses it, and
//! names both versions.

use std::fs;

use cfaudit::table::{GateRow, TableRow};
use serde_json::Value as Json;

use parquet::file::metadata::KeyValue;

use crate::batches::{read, write_noted};
use crate::proof::audited;
use crate::work::{Work, assert_same, results, sha256};

/// Writes a table of a folder again as another version of the program would, and lists it so in the
/// manifest.
pub(crate) fn as_version(work: &Work, folder: &str, name: &str, version: u32, without: &[&str]) {
    let path = work.path(&format!("{folder}/{name}"));
    let batch = read(&path);
    let kept: Vec<usize> = (0..batch.num_columns())
        .filter(|i| !without.contains(&batch.schema().field(*i).name().as_str()))
        .collect();
    let batch = batch.project(&kept).unwrap();
    let about = KeyValue::new("cfaudit.version".to_owned(), version.to_string());
    write_noted(&path, &batch, Some(vec![about]));
    let mut manifest = work.json(&format!("{folder}/manifest.json"));
    manifest["files"][name] = sha256(&fs::read(&path).unwrap()).into();
    work.write(
        &format!("{folder}/manifest.json"),
        &serde_json::to_string_pretty(&manifest).unwrap(),
    );
}

/// The manifest of a folder as another version of the program would write it.
fn with_manifest(
    work: &Work,
    folder: &str,
    change: impl FnOnce(&mut serde_json::Map<String, Json>),
) {
    let name = format!("{folder}/manifest.json");
    let mut manifest = work.json(&name);
    change(manifest.as_object_mut().unwrap());
    work.write(&name, &serde_json::to_string_pretty(&manifest).unwrap());
}

#[test]
fn every_verb_refuses_a_folder_of_another_table_version() {
    let work = audited();
    work.cfaudit(0, "run job.yaml --out old --cache cache");
    let ours = GateRow::TABLE.version;
    let both = format!("the table `gates` has version {} there, and version {ours} in", ours - 1);
    let hint = "hint: run the approved job again with this program";
    with_manifest(&work, "old", |manifest| manifest["tables"]["gates"] = (ours - 1).into());
    let before = results(&work.path("old"));
    let refused = || {
        for verb in [
            "report old",
            "report out --history old",
            "gate old",
            "gate out --baseline old",
            "diff old out",
            "diff out old",
            "export old --to junit",
            "export old --to cases",
            "explain sr --in old",
            "power old",
            "plan job.yaml --baseline old",
            "run job.yaml --out new --baseline old",
            "run job.yaml --out new --history old",
        ] {
            work.cfaudit(5, verb).says(&["`old`", &both, hint]);
        }
    };
    refused();
    let found = work.cfaudit(5, "verify old").stdout;
    assert!(found.starts_with("old: not checked\n") && found.contains(&both), "{found}");
    work.cfaudit(5, "pack old --file old.zip").says(&["cannot pack `old`", &both]);
    // It is an audit all the same, which rows alone do not replace.
    let rows = "run job.yaml --out old --until generate --set run.keep_rows=counterfactuals";
    work.cfaudit(5, rows).says(&["a finished audit"]);
    assert_same(&before, &results(&work.path("old")), "a folder that is refused stays as it is");

    // Also where the other version has other keys.
    with_manifest(&work, "old", |manifest| {
        assert!(manifest.remove("policies").is_some());
    });
    refused();
    work.cfaudit(5, "verify old").says(&[&both, hint]);
    // A table that the other version had, and one that it lacked.
    for (name, said) in
        [("thoughts", "has version 3 there, and no version in"), ("gates", "has no version there")]
    {
        with_manifest(&work, "old", |manifest| {
            let tables = manifest["tables"].as_object_mut().unwrap();
            tables.insert("gates".to_owned(), ours.into());
            match name {
                "gates" => tables.remove("gates"),
                other => tables.insert(other.to_owned(), 3.into()),
            };
        });
        work.cfaudit(5, "report old").says(&[&format!("the table `{name}` {said}")]);
        with_manifest(&work, "old", |manifest| {
            manifest["tables"].as_object_mut().unwrap().remove("thoughts");
        });
    }
}
