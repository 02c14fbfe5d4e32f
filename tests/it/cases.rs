//! People whom a job shows: they switch, their numbers are those of the outcomes, they are chosen
//! by the program, and without the key there are none.

use std::collections::{BTreeMap, BTreeSet};

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
    let value = |id: &str, name: &str| source.at(&format!("id={id}")).shown(name);
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
    }
    for set in ["flip", "world"] {
        let n = people.iter().filter(|of| of.0 == set).count() as u64;
        let switched = outcomes
            .of(&format!("counterfactual={set}"))
            .filter(|row| row.int("predicted") != row.int("predicted_cf"))
            .count() as u64;
        assert_eq!(n, switched.min(ASKED), "{set}");
    }
    work.read("out/report.html").says(&[
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
    String::from_utf8_lossy(guide).says(&[&format!("{} cases, because", people_cases(&work))]);
    // Nobody chooses them: not the threads, and not the cut of the rows.
    let first = work.results();
    work.run(0, "job.yaml", "--threads 3 --batch-rows 1024 --force count");
    assert_same(&first, &work.results(), "threads and row groups");

    // Without the key nobody stands there.
    job(&work, "plain.yaml", SETS, "");
    work.run(0, "plain.yaml", "");
    assert!(!work.path("out/tables/cf_examples.parquet").exists());
    work.read("out/report.html").lacks(&["Case 1", "report.cases"]);
}

/// A map has as many rows of each direction as the job says, on any number of threads; a
/// counterfactual that is its row has the place of the row, and every other one another place.
#[test]
fn maps_show_rows_next_to_their_counterfactuals() {
    let work = Work::new();
    applicants(&work);
    let sets = format!("{SETS}\n  wide: {{greedy: {{condition_on: label}}}}");
    let keep = "run: {keep_rows: none}\nreport: {map: 40}";
    job(&work, "job.yaml", &sets, keep);
    work.run(0, "job.yaml", "--threads 1");
    let map = read_frame(&work.path("out/tables"), "cf_map");
    let quality = read_frame(&work.path("out/tables"), "cf_quality");
    let direction = |row: &TableRecord<'_>| {
        ["counterfactual", "from_group", "to_group"].map(|key| row.text(key).to_owned())
    };
    let mut drawn: BTreeMap<[String; 3], i64> = BTreeMap::new();
    let mut still = 0;
    for row in map.records() {
        *drawn.entry(direction(&row)).or_default() += 1;
        let [x, y, x_cf, y_cf] = ["x", "y", "x_cf", "y_cf"].map(|key| row.real(key).unwrap());
        still += usize::from((x, y) == (x_cf, y_cf));
        let [across, up] = ["share_x", "share_y"].map(|key| row.real(key).unwrap());
        assert!(0.0 < up && up <= across && across + up <= 1.0 + 1e-9, "{across} {up}");
    }
    let valid = quality.of("metric=n_pairs_valid");
    let expected: BTreeMap<[String; 3], i64> = valid
        .filter(|row| !row.text("from_group").is_empty())
        .map(|row| (direction(&row), row.real("value").unwrap().min(40.0) as i64))
        .collect();
    assert_eq!(drawn, expected);
    assert!(drawn.len() >= 4 && still < map.records().count(), "{drawn:?}, {still} stay");
    let annex = work.read("out/annex.html");
    annex.says(&["What lies far apart here differs", "report.map"]);
    work.cfaudit(0, "pack out --file out.zip");
    let archive = crate::proof::entries(&work.path("out.zip"));
    let guide = archive.iter().find(|(name, _)| name.ends_with("/READ-ME.txt")).unwrap().1;
    let said = format!("Places of {} rows", map.records().count());
    assert!(String::from_utf8_lossy(guide).contains(&said));
    let first = work.results();
    work.run(0, "job.yaml", "--threads 3 --batch-rows 1024 --force quality");
    assert_same(&first, &work.results(), "threads and row groups");

    // The rest of the folder does not depend on it.
    job(&work, "plain.yaml", &sets, "run: {keep_rows: none}");
    work.run(0, "plain.yaml", "");
    assert!(!work.path("out/tables/cf_map.parquet").exists());
    let annex = work.read("out/annex.html");
    annex.says(&["this page shows no row of a person"]);
    annex.lacks(&["report.map"]);
}
