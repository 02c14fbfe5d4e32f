//! Folders that are handed on: `verify` finds every alteration, `pack` gives the same bytes, the
//! model card is valid by the official schema.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::Value as Json;

use crate::batches::notes;
use crate::python::interpreter;
use crate::work::{Draws, Ran, Says, Work, root, sha256};

const JOB: &str = r#"
cfaudit: 1
name: loans
about: {decision: Grant the loan, version: "7.3", conditions: [Reviewed every quarter.]}
data:
  rows:
    synthetic:
      rows: 400
      columns:
        sex: {levels: {Male: 0.6, Female: 0.4}}
        income: {linear: {intercept: 30, effects: {sex=Male: 8}, noise: {normal: {sd: 10}}}}
        repaid: {logit: {intercept: -2.6, effects: {income: 0.08}}}
  label:
    column: repaid
    positive: [1]
    favourable: positive
    words: {favourable: granted, unfavourable: refused, object: the loan}
  sensitive:
    sex: {groups: [Male, Female], reference: Male, words: {Male: men, Female: women}}
  features: {continuous: [income]}
  split: {share: {train: 0.5, audit: 0.5}}
counterfactuals: {flip: naive}
models:
  scorecard: {logistic: {l2: 1.0}, threshold: 0.6}
metrics: {families: [ccm, group, performance], bootstrap: {samples: 20}}
gates:
  no-harm:
    {harm_to: {sex: Female}, model: scorecard, counterfactual: flip, at_most: 0.3, level: warn}
  rates: {metric: sr, model: scorecard, counterfactual: flip, at_most: 0.5}
exports: [junit, model-card]
run: {seed: 5}
"#;

/// A finished folder `out`.
pub(crate) fn audited() -> Work {
    let work = Work::new();
    work.write("job.yaml", JOB);
    work.run(0, "job.yaml", "");
    work
}

/// Changes a file in one of five ways.
fn alter(bytes: &[u8], others: &[Vec<u8>], draws: &mut Draws) -> Option<Vec<u8>> {
    let mut changed = bytes.to_vec();
    match draws.below(5) {
        0 => {
            let at = draws.below(changed.len());
            changed[at] ^= 1 << draws.below(8);
        }
        1 => changed.truncate(draws.below(bytes.len())),
        2 => changed.push(b'\n'),
        3 => changed.clone_from(&others[draws.below(others.len())]),
        _ => return None,
    }
    (changed != bytes).then_some(changed).or_else(|| Some([bytes, b" "].concat()))
}

#[test]
fn every_alteration_of_a_listed_file_is_found() {
    let work = audited();
    let sound = work.cfaudit(0, "verify out").stdout;
    assert!(sound.starts_with("out: verified\n"), "{sound}");
    sound.says(&["gates judged again: no-harm "]);
    let fingerprint = sha256(&fs::read(work.path("out/manifest.json")).unwrap());
    sound.says(&[&format!("fingerprint {fingerprint}\n")]);

    let listed = work.json("out/manifest.json")["files"].as_object().unwrap().clone();
    let names: Vec<&String> = listed.keys().collect();
    let all: Vec<Vec<u8>> =
        names.iter().map(|name| fs::read(work.path("out").join(name)).unwrap()).collect();
    let mut draws = Draws(20_261_123);
    for n in 0..50 {
        let which = draws.below(names.len());
        let path = work.path("out").join(names[which]);
        match alter(&all[which], &all, &mut draws) {
            Some(changed) => fs::write(&path, changed).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let is_removed_row = !path.exists() && names[which].starts_with("rows/");
        let ran = work.cfaudit(if is_removed_row { 0 } else { 5 }, "verify out --json");
        let proof: Json = serde_json::from_str(&ran.stdout).unwrap();
        if is_removed_row {
            assert!(proof["notes"][0].as_str().unwrap().contains("not there"), "{proof}");
        } else {
            assert_eq!(proof["sound"], false, "alteration {n} of {}", names[which]);
            assert_eq!(proof["problems"][0]["file"], **names[which], "alteration {n}");
        }
        fs::write(&path, &all[which]).unwrap();
    }
    work.cfaudit(0, "verify out");

    // What the manifest does not list: a table is a fault, a file of the user is not.
    fs::copy(work.path("out/tables/gates.parquet"), work.path("out/tables/changes.parquet"))
        .unwrap();
    let found = work.cfaudit(5, "verify out").stdout;
    found.says(&["problem: tables/changes.parquet: it is there, and"]);
    fs::rename(work.path("out/tables/changes.parquet"), work.path("out/minutes.pdf")).unwrap();
    let found = work.cfaudit(0, "verify out").stdout;
    found.says(&["note: not covered, because cfaudit did not write it: minutes.pdf"]);

    // The fingerprint of another audit.
    work.cfaudit(0, &format!("verify out --fingerprint {}", fingerprint.to_uppercase()));
    let found = work.cfaudit(5, &format!("verify out --fingerprint {}", "0".repeat(64))).stdout;
    found.says(&["problem: manifest.json: its SHA-256 is"]);
    work.cfaudit(2, "verify out --fingerprint abc").says(&["is no SHA-256"]);
    work.cfaudit(5, "verify cache").says(&["it has no readable manifest.json"]);
}

/// Writes a file of a folder and its hash into the manifest, as somebody who wants to hide a change
/// would.
fn forge(work: &Work, name: &str, bytes: &[u8]) {
    fs::write(work.path("out").join(name), bytes).unwrap();
    let mut manifest = work.json("out/manifest.json");
    manifest["files"][name] = sha256(bytes).into();
    work.write("out/manifest.json", &(serde_json::to_string_pretty(&manifest).unwrap() + "\n"));
}

/// A table with another text in a column of the rows of a gate.
fn with_text(path: &Path, column: &str, of: &str, text: &str) -> Vec<u8> {
    let table = crate::batches::read(path);
    let gates = table.column_by_name("gate").unwrap().as_string::<i32>().clone();
    let i = table.schema().index_of(column).unwrap();
    let old = table.column(i).as_string::<i32>();
    let new: StringArray = (0..old.len())
        .map(|row| Some(if gates.value(row) == of { text } else { old.value(row) }))
        .collect();
    let mut columns: Vec<ArrayRef> = table.columns().to_vec();
    columns[i] = Arc::new(new);
    let changed = RecordBatch::try_new(table.schema(), columns).unwrap();
    let notes = notes(path);
    let properties = WriterProperties::builder().set_key_value_metadata(notes).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, changed.schema(), Some(properties)).unwrap();
    writer.write(&changed).unwrap();
    writer.close().unwrap();
    bytes
}

/// Whoever changes a file and its hash is found by what follows from the tables.
#[test]
fn what_is_forged_does_not_follow_from_the_tables() {
    let work = audited();
    let sound = fs::read(work.path("out/manifest.json")).unwrap();
    let restore = |name: &str, bytes: &[u8]| {
        fs::write(work.path("out").join(name), bytes).unwrap();
        fs::write(work.path("out/manifest.json"), &sound).unwrap();
    };

    let gates = work.path("out/tables/gates.parquet");
    let old = fs::read(&gates).unwrap();
    forge(&work, "tables/gates.parquet", &with_text(&gates, "verdict", "rates", "fail"));
    let found = work.cfaudit(5, "verify out").stdout;
    found.says(&["gate `rates`: it says fail, and the tables give pass"]);
    restore("tables/gates.parquet", &old);

    forge(&work, "tables/gates.parquet", &with_text(&gates, "model", "rates", "other"));
    let found = work.cfaudit(5, "verify out").stdout;
    found.says(&["gate `rates`: its numbers are not those"]);
    restore("tables/gates.parquet", &old);

    let summary = work.read("out/summary.json");
    let verdict = work.json("out/summary.json")["verdict"].as_str().unwrap().to_owned();
    let changed = summary.replacen(&format!("\"{verdict}\""), "\"inconclusive\"", 1);
    forge(&work, "summary.json", changed.as_bytes());
    let found = work.cfaudit(5, "verify out").stdout;
    found.says(&["summary.json: it says verdict inconclusive"]);
    restore("summary.json", summary.as_bytes());

    // Every number that other programs read, and what the manifest says of the job.
    let mut zero = work.json("out/summary.json");
    let headline = zero["headline"].as_object_mut().unwrap();
    assert!(!headline.is_empty());
    headline.values_mut().for_each(|value| *value = 0.0.into());
    let mut rows = work.json("out/summary.json");
    rows["rows"] = 1.into();
    for forged in [zero, rows] {
        forge(&work, "summary.json", &serde_json::to_vec(&forged).unwrap());
        work.cfaudit(5, "verify out").stdout.says(&["summary.json: its values are not those"]);
        restore("summary.json", summary.as_bytes());
    }
    let forge_manifest = |key: &str, value: Json| {
        let mut manifest = work.json("out/manifest.json");
        manifest[key] = value;
        let text = serde_json::to_string_pretty(&manifest).unwrap() + "\n";
        work.write("out/manifest.json", &text);
    };
    for (key, value) in
        [("families", serde_json::json!(["ccm"])), ("seed", 6.into()), ("level", 0.5.into())]
    {
        forge_manifest(key, value);
        let found = work.cfaudit(5, "verify out").stdout;
        found.says(&[&format!("its `{key}` is not what job.resolved.yaml")]);
        restore("summary.json", summary.as_bytes());
    }

    // Under the name of another program, or of other rules, nothing is verified.
    let page = "<h1>Pass. All limits are kept.</h1>";
    let real = work.read("out/report.html");
    for (key, value) in [
        ("program", "9.9.9".into()),
        ("program", "0.1.9".into()),
        ("policies", serde_json::json!({"who_counts": 2, "intervals": 1, "starts": 2})),
        ("tables", serde_json::json!({"gates": 1})),
    ] {
        forge(&work, "report.html", page.as_bytes());
        forge_manifest(key, value);
        let found = work.cfaudit(5, "verify out").stdout;
        found.says(&["out: not checked\n"]);
        found.lacks(&[": verified"]);
        let check: Json =
            serde_json::from_str(&work.cfaudit(5, "verify out --json").stdout).unwrap();
        assert_eq!((&check["sound"], &check["exit"]), (&false.into(), &5.into()), "{check}");
        work.cfaudit(5, "pack out --file forged.zip").says(&["cannot pack `out`", "wrote it"]);
        assert!(!work.path("forged.zip").exists());
        restore("report.html", real.as_bytes());
    }
    work.cfaudit(0, "verify out");

    let page = work.read("out/report.html");
    forge(&work, "report.html", page.replacen("women", "nobody", 1).as_bytes());
    let found = work.cfaudit(5, "verify out").stdout;
    found.says(&["report.html: it is not the page that its tables give"]);
    restore("report.html", page.as_bytes());

    // A table of another version than the manifest says.
    crate::other_versions::as_version(&work, "out", "tables/groups.parquet", 1, &[]);
    work.cfaudit(5, "verify out").stdout.says(&["tables/groups.parquet: it is version 1 of table"]);
}

/// The entries of an archive by name.
pub(crate) fn entries(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let n = archive.len();
    let read = |i| {
        let mut entry = archive.by_index(i).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.name().unwrap().into_owned(), bytes)
    };
    (0..n).map(read).collect()
}

/// Unpacks an archive below the working folder.
fn unpack(work: &Work, archive: &str) {
    for (name, bytes) in entries(&work.path(archive)) {
        let path = work.path(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn an_archive_has_the_same_bytes_and_is_sound() {
    let work = audited();
    let run = work.json("out/summary.json")["run"].as_str().unwrap().to_owned();
    let said = work.cfaudit(0, "pack out").stdout;
    let name = format!("loans-{run}.zip");
    let first = fs::read(work.path(&name)).unwrap();
    assert!(said.contains(&sha256(&first)), "{said}");
    // The job run again elsewhere, on one thread, packed under another name.
    work.cfaudit(0, "run job.yaml --out again --cache off --threads 1");
    work.cfaudit(0, "pack again --file again.zip");
    assert_eq!(first, fs::read(work.path("again.zip")).unwrap());
    // An archive is replaced, anything else is not.
    work.cfaudit(0, "pack out --file again.zip");
    work.cfaudit(5, "pack out --file job.yaml").says(&["does not hold an archive"]);
    work.cfaudit(5, "pack out --file out/tables/x.zip").says(&["a file of the output folder"]);

    let packed = entries(&work.path(&name));
    let top = format!("loans-{run}");
    let listed = work.json("out/manifest.json")["files"].as_object().unwrap().clone();
    assert!(listed.contains_key("rows/outcomes.parquet"));
    let mut expected: Vec<String> = listed
        .keys()
        .filter(|name| !name.starts_with("rows/"))
        .map(|name| format!("{top}/audit/{name}"))
        .collect();
    expected.extend(
        ["audit/manifest.json", "READ-ME.txt", "SHA256SUMS", "judge.html", "statement.intoto.json"]
            .map(|name| format!("{top}/{name}")),
    );
    expected.sort();
    assert_eq!(packed.keys().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    let guide = String::from_utf8(packed[&format!("{top}/READ-ME.txt")].clone()).unwrap();
    let fingerprint = sha256(&fs::read(work.path("out/manifest.json")).unwrap());
    guide.says(&[fingerprint.as_str(), "Verdict: ", "no-harm: ", "audit/report.html", "1 file(s)"]);
    assert!(guide.lines().all(|line| line.len() <= 150), "{guide}");
    let sums = String::from_utf8(packed[&format!("{top}/SHA256SUMS")].clone()).unwrap();
    assert_eq!(sums.lines().count(), packed.len() - 2);
    for line in sums.lines() {
        let (hash, name) = line.split_once("  ").unwrap();
        assert_eq!(hash, sha256(&packed[&format!("{top}/{name}")]), "{name}");
    }

    unpack(&work, &name);
    let found = work.cfaudit(0, &format!("verify {top}/audit --fingerprint {fingerprint}")).stdout;
    found.says(&["note: 1 file of rows of single people"]);
    for verb in ["gate", "diff out", "report"] {
        work.cfaudit(0, &format!("{verb} {top}/audit"));
    }
    // A folder that is not sound, or has no numbers, is not packed.
    work.cfaudit(
        0,
        "run job.yaml --until generate --out rows --cache cache --set run.keep_rows=all",
    );
    work.cfaudit(0, "verify rows").stdout.says(&["note: the run was to stop after `generate`"]);
    work.cfaudit(5, "pack rows")
        .says(&["cannot pack `rows`: its run was to stop after `generate`"]);
    fs::write(work.path("out/annex.html"), "").unwrap();
    work.cfaudit(5, "pack out").says(&["cannot pack", "annex.html", "hint: `cfaudit verify`"]);
    assert_eq!(fs::read(work.path(&name)).unwrap(), first);
}

/// The official schema ships with the Python library of CycloneDX.
const VALIDATE: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(None if found is None else str(found)[:2000])
";

fn assert_valid_by_cyclonedx(python: &str, file: &Path) {
    let valid = Command::new(python).args(["-c", VALIDATE]).arg(file).output().unwrap();
    assert!(valid.status.success(), "{}", String::from_utf8_lossy(&valid.stderr));
}

/// What packages say that they are built of.
#[test]
fn the_list_of_crates_is_one_by_the_official_schema() {
    let Some(python) = interpreter("cyclonedx.validation.json, jsonschema") else { return };
    let work = Work::new();
    let list = |flags: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(root().join("tests/packages/sbom.py")).args(flags).env("CARGO", env!("CARGO"));
        Ran::of(command.env("CARGO_NET_OFFLINE", "true"), 0).stdout
    };
    let (all, few) = (list(&[]), list(&["--no-default-features"]));
    assert_eq!(all, list(&[]), "the list is the same every time");
    for text in [&all, &few] {
        work.write("sbom.json", text);
        assert_valid_by_cyclonedx(&python, &work.path("sbom.json"));
    }
    let list: Json = serde_json::from_str(&all).unwrap();
    let crates = list["components"].as_array().unwrap();
    assert!(crates.iter().all(|one| one["hashes"][0]["content"].as_str().unwrap().len() == 64));
    assert!(crates.iter().all(|one| one["licenses"][0]["expression"].is_string()));
    assert_eq!(list["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    let has = |text: &str, name: &str| text.contains(&format!("\"pkg:cargo/{name}@"));
    assert!(has(&all, "parquet") && has(&all, "ort") && !has(&all, "tempfile"));
    assert!(has(&few, "parquet") && !has(&few, "ort") && !has(&few, "lightgbm3"));
}

#[test]
fn the_model_card_is_one_by_the_official_schema() {
    let work = audited();
    let exported = work.cfaudit(0, "export out --to model-card").stdout;
    assert_eq!(exported, work.read("out/exports/model-card.json"));
    let card: Json = serde_json::from_str(&exported).unwrap();
    let considered = &card["components"][0]["modelCard"]["considerations"];
    let women = &considered["fairnessAssessments"][1];
    assert_eq!(women["groupAtRisk"], "sex = Female");
    assert_eq!(women["mitigationStrategy"], "Reviewed every quarter.");
    let harms = women["harms"].as_str().unwrap();
    harms.says(&["Set flip (naive): of ", "refused women"]);
    let metrics = &card["components"][0]["modelCard"]["quantitativeAnalysis"]["performanceMetrics"];
    assert!(metrics.as_array().unwrap().len() > 40);
    work.cfaudit(0, "export out --to model-card --file card.json");
    work.cfaudit(0, "export out --to model-card --file card.json");
    work.cfaudit(5, "export out --to model-card --file job.yaml")
        .says(&["does not hold an export"]);
    let Some(python) = interpreter("cyclonedx.validation.json, jsonschema") else { return };
    assert_valid_by_cyclonedx(&python, &work.path("card.json"));
}
