//! The shipped jobs on public data sets other than Adult: real files are compared with published
//! counts, and without the files a run says what to do.
//!
//! Expected counts are those of the notes next to the public test data, counted without this
//! program.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::work::{Ran, Work, assert_same, results, shared};

/// Runs a shipped job on the real files, twice with the same bytes; `None` where they are not
/// there.
fn run(job: &str, file: &str) -> Option<Work> {
    let file = shared(&format!("data/{file}"))?;
    let work = Work::with_jobs();
    let data = file.parent().unwrap().parent().unwrap();
    let ran = work.run(0, &format!("jobs/{job}.yaml"), &format!("--data-dir {}", data.display()));
    assert!(ran.summary().get("data").is_none(), "a stand-in was audited");
    let flags = "--threads 8 --batch-rows 1024 --out other --cache other-cache";
    work.cfaudit(0, &format!("run jobs/{job}.yaml --data-dir {} {flags}", data.display()));
    assert_same(&work.results(), &results(&work.path("other")), flags);
    Some(work)
}

/// People and positive labels of each audited group of an attribute.
fn groups(work: &Work, attribute: &str) -> BTreeMap<String, (i64, i64)> {
    let table = work.table("groups");
    let of = table.of(&format!("model=logistic, sensitive={attribute}, group!="));
    of.map(|r| (r.text("group").to_owned(), (r.int("n").unwrap(), r.int("n_positive").unwrap())))
        .collect()
}

/// Asserts the groups of an attribute.
#[track_caller]
fn assert_groups(work: &Work, attribute: &str, expected: &[(&str, (i64, i64))]) {
    let found = groups(work, attribute);
    let found: Vec<(&str, (i64, i64))> =
        found.iter().map(|(group, n)| (group.as_str(), *n)).collect();
    assert_eq!(found, expected, "{attribute}");
}

/// Asserts that groups of these sizes and positives were audited by a share: a stratum of label and
/// group is off by less than one row.
#[track_caller]
fn assert_share(work: &Work, attribute: &str, share: f64, all: &[(&str, (i64, i64))]) {
    let found = groups(work, attribute);
    assert_eq!(found.len(), all.len());
    for (group, (n, n_positive)) in all {
        let (audited, positive) = found[*group];
        assert!(
            (positive as f64 - share * *n_positive as f64).abs() < 1.0,
            "{group}: {positive} of {n_positive}"
        );
        assert!(
            ((audited - positive) as f64 - share * (n - n_positive) as f64).abs() < 1.0,
            "{group}: {audited} of {n}"
        );
    }
}

#[test]
fn compas_keeps_the_people_of_propublicas_filter() {
    let Some(work) = run("compas", "compas/compas-scores-two-years.csv") else { return };
    let manifest = work.json("out/manifest.json");
    assert_eq!(
        (&manifest["rows"]["source"], &manifest["rows"]["kept"]),
        (&json!(7_214), &json!(5_278))
    );
    let filters = work.table("filters");
    assert_eq!(
        filters.records().filter_map(|r| r.int("rows_out")).collect::<Vec<_>>(),
        [7_214, 6_150, 5_278]
    );
    assert_share(
        &work,
        "race",
        0.2,
        &[("African-American", (3_175, 1_661)), ("Caucasian", (2_103, 822))],
    );
    // The manifest names the form of the file that was read.
    let file = shared("data/compas/compas-scores-two-years.csv").unwrap();
    let input = &manifest["inputs"][0];
    assert_eq!(input["path"], "compas/compas-scores-two-years.csv");
    assert_eq!(input["sha256"], crate::work::sha256(&fs::read(&file).unwrap()));
    assert_eq!(input["bytes"], fs::metadata(&file).unwrap().len());
}

#[test]
fn heart_audits_every_patient_once() {
    let Some(work) = run("heart", "heart/processed.va.data") else { return };
    assert_eq!(work.json("out/summary.json")["rows"], 920);
    assert_groups(&work, "recorded_sex", &[("female", (194, 50)), ("male", (726, 459))]);
    let sites = [
        ("cleveland", (303, 303 - 164)),
        ("hungarian", (294, 106)),
        ("switzerland", (123, 115)),
        ("va", (200, 149)),
    ];
    assert_groups(&work, "site", &sites);
    assert_eq!(work.json("out/manifest.json")["inputs"].as_array().unwrap().len(), 4);
}

#[test]
fn german_audits_every_applicant_once() {
    let Some(work) = run("german", "german/german.data") else { return };
    assert_eq!(work.json("out/summary.json")["rows"], 1_000);
    assert_groups(
        &work,
        "sex",
        &[("female", (310, 201)), ("male", (50 + 548 + 92, 30 + 402 + 67))],
    );
    assert_groups(&work, "age_class", &[("older", (810, 590)), ("young", (190, 110))]);
    let foreign = groups(&work, "foreign_worker");
    assert_eq!((foreign["A201"].0, foreign["A202"].0), (963, 37));
}

#[test]
fn law_audits_its_share() {
    let Some(work) = run("law", "law/law_dataset.csv") else { return };
    assert_eq!(work.json("out/manifest.json")["rows"]["kept"], 18_692);
    assert_share(&work, "race", 0.3, &[("Black", (1_201, 742)), ("white", (17_491, 16_114))]);
}

/// Where the network gives the real file it is used; else COMPAS goes on with a marked stand-in of
/// the published counts.
#[test]
fn compas_goes_on_with_its_stand_in() {
    let work = Work::with_jobs();
    let ran = work.run(0, "jobs/compas.yaml", "--data-dir empty");
    let manifest = work.json("out/manifest.json");
    if work.path("empty/compas").exists() {
        eprintln!("the network gave the real file");
        assert!(manifest.get("stand_in").is_none());
        return;
    }
    assert_eq!(
        (&ran.summary()["data"], &manifest["stand_in"]),
        (&json!("stand-in"), &json!("compas"))
    );
    ran.says(&["STAND-IN DATA", "no number is about real people"]);
    assert_eq!(
        (&manifest["rows"]["source"], &manifest["rows"]["kept"]),
        (&json!(7_214), &json!(5_278))
    );
    assert_share(
        &work,
        "race",
        0.2,
        &[("African-American", (3_175, 1_661)), ("Caucasian", (2_103, 822))],
    );
}

/// The other data sets have no stand-in: without their files a run says where to put which.
#[test]
fn the_others_say_what_to_put_where() {
    let files = [
        ("heart", "processed.switzerland.data"),
        ("german", "german.data"),
        ("law", "law_dataset.csv"),
    ];
    for (job, file) in files {
        let work = Work::with_jobs();
        let output = work
            .command(&format!("run jobs/{job}.yaml --data-dir empty --out out --cache cache"))
            .output()
            .unwrap();
        if work.path("empty").join(job).exists() {
            eprintln!("the network gave the real files of {job}");
            assert_eq!(output.status.code(), Some(0));
            continue;
        }
        assert_eq!(output.status.code(), Some(3));
        let ran = Ran { stdout: String::new(), stderr: String::from_utf8(output.stderr).unwrap() };
        ran.says(&[
            "unreachable-data",
            &format!("empty/{job}/{file}"),
            "SHA-256",
            "https://",
            "hint: ",
        ]);
        assert!(!work.path("out").exists());
    }
}
