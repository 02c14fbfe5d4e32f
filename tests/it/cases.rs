//! People whom a job shows: they switch, their numbers are those of the outcomes, nobody chooses
//! them, and without the key there are none.

use std::collections::BTreeSet;

use crate::frame::{TableRecord, read_frame};
use crate::rows_out::{SETS, applicants, job};
use crate::work::{Says, Work, assert_same};

const ASKED: u64 = 4;

/// What identifies a person of the table.
fn person(row: &TableRecord<'_>) -> (String, String, i64) {
    (
        row.text("counterfactual").to_owned(),
        row.text("model").to_owned(),
        row.int("example").unwrap(),
    )
}

/// Number of cases of the table.
fn people_cases(work: &Work) -> usize {
    let cases = work.table("cf_examples");
    let groups =
        |row: &TableRecord<'_>| ["from_group", "to_group"].map(|key| row.text(key).to_owned());
    cases.records().map(|row| (person(&row), groups(&row))).collect::<BTreeSet<_>>().len()
}

#[test]
fn cases_are_people_who_switch_with_their_scores_and_values() {
    let work = Work::new();
    applicants(&work);
    let keep = format!("run: {{keep_rows: outcomes}}\nreport: {{cases: {ASKED}}}");
    job(&work, "job.yaml", SETS, &keep);
    work.run(0, "job.yaml", "--threads 1");
    let cases = work.table("cf_examples");
    let outcomes = work.table("outcomes");
    let source = read_frame(&work.path(""), "people");
    let value = |id: &str, name: &str| {
        let row = source.at(&format!("id={id}"));
        row.shown(name)
    };
    let mut people = BTreeSet::new();
    for case in cases.records() {
        people.insert(person(&case));
        assert_ne!(case.int("decision"), case.int("decision_cf"), "they switch");
        let same = |row: &TableRecord<'_>| {
            let keys = ["model", "counterfactual", "sensitive", "from_group", "to_group"];
            keys.into_iter().all(|key| row.text(key) == case.text(key))
                && ["score", "score_cf"].into_iter().all(|key| row.real(key) == case.real(key))
                && row.int("predicted") == case.int("decision")
                && row.int("predicted_cf") == case.int("decision_cf")
        };
        let ids: Vec<String> =
            outcomes.records().filter(same).map(|row| row.text("row_id").to_owned()).collect();
        let feature = case.text("feature");
        assert!(
            ids.iter().any(|id| value(id, feature) == case.shown("value")),
            "{ids:?} {feature} {:?}",
            case.shown("value")
        );
        let differ = case.shown("value") != case.shown("value_cf");
        assert_eq!(case.int("changed") == Some(1), differ, "{feature}");
        if case.text("counterfactual") == "flip" && feature != "sex" {
            case.holds("changed=0");
        }
    }
    for set in ["flip", "world"] {
        let n = people.iter().filter(|of| of.0 == set).count() as u64;
        let switched = outcomes
            .of(&format!("counterfactual={set}"))
            .filter(|row| row.int("predicted") != row.int("predicted_cf"))
            .count() as u64;
        assert_eq!(n, switched.min(ASKED), "{set}");
    }
    let page = work.read("out/report.html");
    page.says(&[
        "Case 1",
        "drawn at random with the seed of the run",
        "because the job asks for them by <code>report.cases</code>",
    ]);
    // An archive says that they are in it.
    let held = format!("{} cases of single people", people_cases(&work));
    let said = work.cfaudit(0, "pack out --file out.zip").stdout;
    assert!(said.contains(&held), "{said}");
    let archive = crate::proof::entries(&work.path("out.zip"));
    let guide = archive.iter().find(|(name, _)| name.ends_with("/READ-ME.txt")).unwrap().1;
    let guide = String::from_utf8_lossy(guide);
    guide.says(&[&format!("{} cases, because", people_cases(&work))]);
    // Nobody chooses them: not the threads, and not the cut of the rows.
    let first = work.results();
    work.run(0, "job.yaml", "--threads 3 --batch-rows 1024 --force count");
    assert_same(&first, &work.results(), "threads and row groups");

    // Without the key nobody stands there.
    job(&work, "plain.yaml", SETS, "");
    work.run(0, "plain.yaml", "");
    assert!(!work.path("out/tables/cf_examples.parquet").exists());
    let page = work.read("out/report.html");
    page.lacks(&["Case 1", "report.cases"]);
}
