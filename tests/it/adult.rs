//! The shipped job on Adult: with the real files its numbers are compared with published counts and
//! scikit-learn, without them the rows are marked as a stand-in.

use crate::frame::TableRecord;
use std::fs;

use crate::work::{Says, Work, root, shared};

const JOB: &str = "jobs/adult.yaml";

/// Whether the program was built without what the job needs; says so.
pub(crate) fn without_lightgbm() -> bool {
    if cfg!(not(feature = "lightgbm")) {
        crate::work::skip("built without LightGBM");
    }
    cfg!(not(feature = "lightgbm"))
}

#[test]
#[ignore = "slow, `make test-slow` runs it: the shipped audits of all of Adult"]
fn real_files_give_the_published_counts_and_the_coefficients_of_scikit_learn() {
    if without_lightgbm() {
        return;
    }
    let Some(data) =
        shared("data/adult/adult.test").and_then(|file| Some(file.parent()?.parent()?.to_owned()))
    else {
        return;
    };
    let work = Work::with_jobs();
    let ran = work.run(0, JOB, &format!("--data-dir {}", data.display()));
    assert_eq!(ran.summary()["rows"], 16_281);
    assert!(ran.summary().get("data").is_none());

    let manifest = work.json("out/manifest.json");
    assert_eq!(
        manifest["rows"],
        serde_json::json!({"source": 48_842, "kept": 48_842, "trained": 32_561, "audited": 16_281})
    );
    assert!(manifest.get("stand_in").is_none());
    work.read("out/annex.html").to_lowercase().lacks(&["stand-in data"]);
    let paths: Vec<&str> = manifest["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|input| input["path"].as_str())
        .collect();
    assert_eq!(paths, ["adult/adult.data", "adult/adult.test"]);

    // Counts of the test file: both groups together, Female, Male.
    let groups = work.table("groups");
    let counts = |attribute: &str| {
        groups.list(&format!("sensitive={attribute}, model=logistic"), "group n n_positive")
    };
    let all = " | 16281 | 3846";
    assert_eq!(counts("sex"), [all, "Female | 5421 | 590", "Male | 10860 | 3256"]);
    assert_eq!(counts("race2"), [all, "Other | 2335 | 356", "White | 13946 | 3490"]);
    assert_eq!(counts("sex_race").len(), 5);

    let stages = work.json("out/run.json")["stages"].clone();
    let key = stages
        .as_array()
        .unwrap()
        .iter()
        .find(|stage| stage["id"] == "train/model=logistic")
        .unwrap()["key"]
        .clone();
    let key = key.as_str().unwrap();
    let model = work.json(&format!("cache/{}/{key}/model-0.json", &key[..2]));
    let oracle: serde_json::Value =
        serde_json::from_slice(&fs::read(root().join("tests/oracle/adult_logistic.json")).unwrap())
            .unwrap();
    let expected = oracle["coefficients"].as_object().unwrap();
    let columns: Vec<&str> = model["encoder"]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    assert_eq!(columns.len(), expected.len());
    let near = |found: &serde_json::Value, expected: &serde_json::Value| {
        (found.as_f64().unwrap() - expected.as_f64().unwrap()).abs() < 1e-6
    };
    assert!(
        near(&model["intercept"], &oracle["intercept"]),
        "{} instead of {}",
        model["intercept"],
        oracle["intercept"]
    );
    for (name, found) in columns.iter().zip(model["coefficients"].as_array().unwrap()) {
        assert!(near(found, &expected[*name]), "{name}: {found} instead of {}", expected[*name]);
    }
    check_why(&work);
}

/// The job asks why of the finding that leads its page, and the page answers: who switches and, for
/// the set that moves features, through which features, each in a sentence with its counts, and a
/// picture.
fn check_why(work: &Work) {
    let page = work.read("out/report.html");
    let read = |name: &str| work.table(name);
    let (gates, patterns, features) =
        (read("gates"), read("switch_patterns"), read("switch_features"));
    let harms = gates.of("verdict=fail");
    let worst = harms.max_by_key(|row| row.int("numerator")).unwrap();
    let counts = |k: Option<i64>, n: Option<i64>| format!("{} of {}", k.unwrap(), n.unwrap());
    let fraction = counts(worst.int("numerator"), worst.int("denominator"));
    let (head, evidence) = page.split_once("<section id=\"why\">").unwrap();
    let (lead, _) = head.split_once("<section id=\"limits\">").unwrap();
    lead.says(&[&format!("<strong>{fraction} ")]);
    let (answer, _) = evidence.split_once("</section>").unwrap();
    let key = ["model", "sensitive", "from_group", "to_group", "metric"];
    let second = || patterns.of("half=second");
    for set in ["flip", "world"] {
        let is_asked = |row: &TableRecord<'_>| {
            row.text("pattern").is_empty()
                && row.text("counterfactual") == set
                && key.iter().all(|column| row.text(column) == worst.text(column))
        };
        let asked = second().find(is_asked).unwrap();
        let is_told = |row: &TableRecord<'_>| {
            row.text("why") == asked.text("why") && row.int("told") == Some(1)
        };
        let first = second().find(is_told).unwrap();
        let sentence = format!("({}; ", counts(first.int("k"), first.int("n")));
        let (_, rest) = answer.split_once(&sentence).unwrap_or_else(|| panic!("{sentence}"));
        rest.says(&["<svg"]);
        let own = features.records().filter(|row| {
            row.text("why") == asked.text("why")
                && row.text("people") == "switched"
                && row.real("decision").is_some()
        });
        let most =
            own.max_by(|a, b| a.real("decision").unwrap().total_cmp(&b.real("decision").unwrap()));
        // The sentence about features stands before the picture.
        let before = rest.split("<table").next().unwrap();
        match most {
            None => assert_eq!(set, "flip", "a set that moves features says through what"),
            Some(most) => {
                let undone = format!("({}; ", counts(most.int("undone"), most.int("n")));
                assert!(set == "world" && before.contains(&undone), "{undone} is not in {before}");
            }
        }
    }
}

/// If the network gives the real files, they are used; else every file that is written says that
/// the data are a stand-in.
#[test]
#[ignore = "slow, `make test-slow` runs it: the shipped audits of a stand-in as large as Adult"]
fn without_the_files_the_stand_in_is_marked_everywhere() {
    if without_lightgbm() {
        return;
    }
    let work = Work::with_jobs();
    let ran = work.run(0, JOB, "--data-dir empty");
    let (summary, manifest) = (ran.summary(), work.json("out/manifest.json"));
    let page = work.read("out/annex.html").to_lowercase();
    if work.path("empty/adult/adult.data").exists() {
        eprintln!("the network gave the real files");
        assert!(
            summary.get("data").is_none()
                && manifest.get("stand_in").is_none()
                && !page.contains("stand-in data")
        );
        return;
    }
    assert_eq!(summary["data"], "stand-in");
    assert_eq!(work.json("out/summary.json")["data"], "stand-in");
    assert_eq!(manifest["stand_in"], "adult");
    ran.says(&["STAND-IN DATA", "no number is about real people"]);
    let sections = page.matches("<section").count();
    assert!(
        sections > 3 && page.matches("stand-in data").count() >= sections,
        "a section of the page is not marked"
    );
    // The stand-in has the groups of the published counts.
    assert_eq!(manifest["rows"]["audited"], 16_281);

    // Asked for the real thing, or nothing: status 3, and where to put which file.
    work.write(
        "strict.yaml",
        "cfaudit: 1\nname: strict\ninclude: [jobs/adult.yaml]\n\
         data: {rows: {catalog: {name: adult, when_unreachable: fail}}}\n",
    );
    let refused = work.cfaudit(3, "run strict.yaml --data-dir empty --out strict --cache cache");
    refused.says(&["adult.data", "adult.test", "empty/adult", "hint: "]);
    assert!(!work.path("strict").exists());
}
