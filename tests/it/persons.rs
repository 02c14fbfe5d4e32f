//! Several rows per person, from the user's column to tables, gates and page: the example of the
//! guide is run unchanged there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::frame::{TableCell, TableFrame, TableRecord};
use crate::work::{Rows, Says, Work, documented, draw};

/// Flags that change no byte.
const OTHER_WAYS: [&str; 2] = ["--threads 4 --batch-rows 1024", "--threads 7 --batch-rows 2048"];

/// Runs a job without `person` into `plain`; with a person for each row, the column `own`, into
/// `own`; and with persons of several rows, the column `household`, into `out`, which holds the
/// same on 1, 2 and 7 threads.
pub(crate) fn run_with_persons(work: &Work, plain: &str) {
    let of =
        |name: &str| plain.replace("  row_id: id\n", &format!("  row_id: id\n  person: {name}\n"));
    work.write("plain.yaml", plain);
    work.write("own.yaml", &of("own"));
    work.write("job.yaml", &of("household"));
    work.run(0, "job.yaml", "--threads 1");
    work.same_bytes(0, "job.yaml", &OTHER_WAYS);
    work.cfaudit(0, "run plain.yaml --out plain --cache cache");
    work.cfaudit(0, "run own.yaml --out own --cache cache");
    // A row id names a person for each row, too.
    work.write("id.yaml", &of("id"));
    work.cfaudit(0, "run id.yaml --out id --cache cache");
}

/// Patients, of whom each has one to nine admissions.
const PATIENTS: i64 = 150;

/// The patient of each admission; those of one patient are far apart in the file.
fn patients() -> Vec<i64> {
    (0..9).flat_map(|k| (0..PATIENTS).filter(move |p| k <= p * 7 % 9)).collect()
}

/// The job of the guide.
fn example() -> String {
    documented("jobs.md", "## Several rows per person")
}

/// A working folder with the example and its admissions; whoever is admitted once tends to be
/// readmitted alike.
fn work() -> Work {
    let work = Work::new();
    work.write("job.yaml", &example());
    Rows::of((0_i64..).zip(patients()).collect::<Vec<_>>())
        .with("admission", |(i, _)| 5000 - i)
        .with("patient", |(_, p)| 70_000 + p)
        .with("ward", |(i, p)| (i != 7).then_some(p))
        .with("half", |(i, _)| i % 2)
        .with("own", |(i, _)| 5000 - i)
        .with("cost", |(_, p)| 0.5 + p as f64)
        .with("sex", |(_, p)| if p * 13 % 150 < 70 { "female" } else { "male" })
        .with("age", |(_, p)| 20.0 + 60.0 * draw(p, 2))
        .with("days", |(i, p)| 1.0 + 9.0 * draw(p, 3) + 3.0 * draw(i, 5))
        .with("readmitted", |(i, p)| i64::from(draw(p, 3) + 0.4 * draw(i, 7) > 0.8))
        .write(&work, "admissions.parquet");
    work
}

#[test]
fn the_example_of_the_guide() {
    let work = work();
    // 100 persons are asked for: of 600 rows some 40 women are audited, so the gate cannot tell.
    work.run(1, "job.yaml", "--threads 1");
    let metrics = work.table("metrics");
    let mut methods: BTreeSet<&str> = BTreeSet::new();
    let (mut rows, mut persons) = (0, 0);
    for row in metrics.records() {
        methods.insert(row.text("interval"));
        let (n, of) = (row.int("n_rows").unwrap(), row.int("n_persons").unwrap());
        assert!(of <= n && (n == 0) == (of == 0), "{n} rows of {of} persons");
        (rows, persons) = (rows.max(n), persons.max(of));
        // Rows are taken for people only where nobody has a second one.
        if ["wilson", "newcombe", "katz"].contains(&row.text("interval")) {
            let [rows, persons] = ["denominator", "denominator_persons"].map(|name| row.int(name));
            let metric = row.text("metric");
            assert!(rows.is_some() && rows == persons, "{metric}: rows taken for people");
        }
        if ["wilson-eff", "wilson-people"].contains(&row.text("interval")) {
            let n_eff = row.real("n_eff");
            let Some(below) = row.int("denominator_persons") else { continue };
            assert!(below <= row.int("denominator").unwrap());
            assert!(n_eff.is_none_or(|n| n <= row.int("denominator").unwrap() as f64 + 1e-9));
        }
    }
    assert!(methods.is_superset(&BTreeSet::from(["wilson-eff", "newcombe-eff", "katz-eff"])));
    assert!(methods.is_superset(&BTreeSet::from(["student", "log-student"])));
    // Three fifths of the persons are audited, to one, with all their rows.
    assert_eq!(persons, PATIENTS * 3 / 5);
    assert!(rows > 4 * persons, "{rows} rows of {persons} persons");
    let groups = work.table("groups");
    groups.at("group=").holds(&format!("n={rows}, persons={persons}"));
    let gates = work.table("gates");
    let gate = gates.records().next().unwrap();
    gate.holds("verdict=inconclusive");
    assert!(gate.text("reason").ends_with("persons below the rate, 100 are required"));
    // How many would decide is told in persons, who are as sure as `n_eff` independent people.
    gate.holds("needed_how=effective");
    assert!(gate.int("n_needed_80") >= Some(100) && gate.int("people_needed_80") > Some(100));
    // The page says rows where it says how many, and how many persons they belong to.
    for page in ["report.html", "annex.html"] {
        let page = fs::read_to_string(work.path("out").join(page)).unwrap();
        page.says(&["Counts are rows; they belong to ", &format!("{persons} persons")]);
    }
    assert_eq!(work.json("out/manifest.json")["person"], "patient");
    // Outcomes hold a hash of the person, not the id of a person.
    let outcomes = work.table("outcomes");
    let key = outcomes.column("person_key");
    let keys: BTreeSet<u64> = outcomes
        .rows
        .iter()
        .map(|row| if let TableCell::Key(key) = row[key] { key } else { panic!("no key") })
        .collect();
    assert_eq!(keys.len() as i64, persons);
    assert!(keys.iter().all(|key| !(70_000..71_000).contains(key)));
    // Nobody is both audited and trained on: whoever is audited has all rows among the outcomes.
    let all: BTreeMap<i64, usize> = patients().into_iter().fold(BTreeMap::new(), |mut n, p| {
        *n.entry(p).or_default() += 1;
        n
    });
    let audited = outcomes.of("counterfactual=flip").count() as i64;
    assert_eq!(audited, rows);
    assert!(all.values().copied().max() > Some(1));
    // The same bytes on other threads and in smaller row groups.
    work.same_bytes(1, "job.yaml", &OTHER_WAYS[..1]);
}

#[test]
fn runs_are_compared_person_by_person() {
    let work = work();
    let job = example().replace("enough: 100", "enough: 10");
    work.write("old.yaml", &job);
    work.write("new.yaml", &job.replace("l2: 1.0", "l2: 300.0"));
    work.cfaudit(0, "run old.yaml --out old --cache cache");
    work.cfaudit(0, "run new.yaml --out out --cache cache --baseline old");
    let changes = work.table("changes");
    let paired = changes.of("paired=1").count();
    assert!(paired > 10, "{paired} are paired");
    for row in changes.of("status=compared") {
        let [old, new] = ["old_persons", "new_persons"].map(|name| row.int(name).unwrap());
        assert!(old <= row.int("old_rows").unwrap() && new <= row.int("new_rows").unwrap());
        // Of rows of persons: what tells them from people of one row each is in the word.
        let single = ["old", "new"].iter().all(|run| {
            row.int(&format!("{run}_denominator")) == row.int(&format!("{run}_denominator_persons"))
        });
        let of_rows = ["newcombe", "wilson"].contains(&row.text("interval"));
        assert!(single || !of_rows, "rows taken for people");
    }
    // Without persons nothing is compared: another unit.
    work.write("plain.yaml", &job.replace("  person: patient", "  # person: patient"));
    work.cfaudit(0, "run plain.yaml --out out --cache cache --baseline old");
    assert!(!work.table("changes").has("status=compared"));
}

/// Admissions with weights: shares are weighted, persons are drawn, and two runs are compared
/// person by person.
#[test]
fn admissions_with_weights() {
    let work = work();
    let job = example()
        .replace("  person: patient", "  weight: days\n  person: patient")
        .replace("continuous: [age, days]", "continuous: [age, cost]")
        .replace("enough: 100", "enough: 10");
    work.write("old.yaml", &job);
    work.write("job.yaml", &job.replace("l2: 1.0", "l2: 300.0"));
    work.cfaudit(0, "run old.yaml --out old --cache cache");
    work.cfaudit(0, "run job.yaml --out out --cache cache --baseline old");
    let metrics = work.table("metrics");
    let (mut methods, mut weighed): (BTreeSet<&str>, usize) = (BTreeSet::new(), 0);
    for row in metrics.records() {
        methods.insert(row.text("interval"));
        let Some(weight) = row.real("weight_denominator") else { continue };
        let value = row.real("weight_numerator").unwrap() / weight;
        assert!(row.real("value").is_none_or(|found| (found - value).abs() < 1e-12));
        assert!(row.int("denominator_persons").unwrap() <= row.int("denominator").unwrap());
        weighed += usize::from(row.real("n_eff").is_some());
    }
    assert!(weighed > 20, "{weighed}");
    let of_units =
        "katz-eff largest log-student mover newcombe-eff score student wilson-eff wilson-people";
    let of_units: BTreeSet<_> = of_units.split(' ').chain([""]).collect();
    assert!(methods.is_subset(&of_units), "{methods:?}");
    work.table("gates").records().next().unwrap().holds("verdict=pass");
    let changes = work.table("changes");
    assert!(changes.of("paired=1").count() > 10);
    work.read("out/annex.html").says(&["; counts of rows and persons are not."]);
    work.same_bytes(0, "job.yaml --baseline old", &OTHER_WAYS[..1]);
}

#[test]
fn bad_persons_are_told() {
    let work = work();
    let check = |from: &str, to: &str, code: &str, words: &[&str]| {
        work.write("bad.yaml", &example().replace(from, to));
        let ran = work.cfaudit(3, "run bad.yaml --out no --cache no-cache");
        ran.says(&[&format!("error[{code}]"), "hint: "]);
        ran.says(words);
    };
    check("person: patient", "person: patent", "missing-column", &["did you mean `patient`?"]);
    check(
        "person: patient",
        "person: cost",
        "not-an-id",
        &["cannot identify persons", "bad.yaml:6"],
    );
    check(
        "person: patient",
        "person: cost",
        "not-an-id",
        &["holds floats", "take out the rows without an id"],
    );
    check("person: patient", "person: ward", "missing-person", &["row 7", "bad.yaml:6"]);
    // The column that splits puts rows of a patient on both sides.
    check(
        "{share: {train: 0.4, audit: 0.6}}",
        "{column: half, train: [0], audit: [1]}",
        "person-on-both-sides",
        &["split by `share` or `folds`", "bad.yaml:6"],
    );
}

#[test]
fn a_first_job_shows_who_may_have_several_rows() {
    let work = work();
    let of = |file: &str| {
        let args = format!("new {file} --label readmitted --sensitive sex --positive 1");
        work.cfaudit(0, &args).stdout
    };
    let text = of("admissions.parquet");
    text.says(&["\n  person: patient   # DECIDE: a person has 5.0 rows; "]);
    // A column that tells every row apart is the id.
    let all = patients();
    let n = || 0..all.len() as i64;
    Rows::of(n())
        .with("patient_id", |i| i)
        .with("sex", |i| ["m", "f"][(i % 2) as usize])
        .with("readmitted", |i| i % 3 / 2)
        .with("age", |i| 20 + i % 50)
        .write(&work, "once.parquet");
    let text = of("once.parquet");
    text.says(&["row_id: patient_id"]);
    text.lacks(&["person:"]);
}

/// The example with a placebo and the family `clarify`, its strata and its flip test.
fn with_placebo_and_clarify(job: &str) -> String {
    let job = job
        .replace(
            "{greedy: {condition_on: label}}",
            "{greedy: {condition_on: label}, placebo: {repeats: 8}}",
        )
        .replace("enough: 100", "enough: 10");
    format!(
        "{job}
metrics:
  families: [performance, group, ccm, clarify]
  clarify: {{strata: half, flip_test: {{neighbours: 3, scale: standard, max_rows: 5000}}}}
"
    )
}

#[test]
fn placebo_and_clarify_take_persons() {
    let work = work();
    let job = with_placebo_and_clarify(&example());
    work.write("job.yaml", &job);
    work.run(0, "job.yaml", "--threads 1");
    work.same_bytes(0, "job.yaml", &OTHER_WAYS[..1]);
    work.write("plain.yaml", &job.replace("  person: patient", "  # person: patient"));
    work.cfaudit(0, "run plain.yaml --out plain --cache cache");
    work.write("own.yaml", &job.replace("person: patient", "person: own"));
    work.cfaudit(0, "run own.yaml --out own --cache cache");
    let of = |out: &str| work.table(&format!("{out}/metrics"));
    let [persons, plain, own] = ["out", "plain", "own"].map(of);
    // Persons are blocks, and count as such.
    type FacetRow = (i64, Option<i64>, Option<f64>, String);
    let clarify = |frame: &TableFrame, metric: &str| -> Vec<FacetRow> {
        let is_own =
            |row: &TableRecord<'_>| row.text("metric") == metric && row.text("slice").is_empty();
        let width = |row: &TableRecord<'_>| Some(row.real("hi")? - row.real("lo")?);
        frame
            .records()
            .filter(is_own)
            .map(|row| {
                let n = row.int("n_rows").unwrap();
                (n, row.int("n_persons"), width(&row), row.text("interval").to_owned())
            })
            .collect()
    };
    for metric in ["cddpl", "ft"] {
        for (n, of, width, method) in clarify(&persons, metric) {
            let of = of.unwrap();
            assert!(of < n && 2 * of > n / 9, "{metric}: {n} rows of {of} persons");
            let of_units = if metric == "ft" { "paired" } else { "student" };
            assert_eq!((method.as_str(), width.is_some()), (of_units, true), "{metric}");
        }
        assert!(!clarify(&persons, metric).is_empty(), "{metric}");
        assert!(clarify(&plain, metric).iter().all(|(_, of, ..)| of.is_none()), "{metric}");
    }
    // Where each row is a person of its own, everything but the intervals is that of rows.
    let (mut compared, mut bands) = (0, 0);
    for (row, own) in plain.records().zip(own.records()) {
        let key = ["metric", "scope", "from_group", "to_group"];
        assert_eq!(key.map(|name| row.text(name)), key.map(|name| own.text(name)));
        assert_eq!(row.real("value"), own.real("value"), "{}", row.text("metric"));
        let band = |row: &TableRecord<'_>| ["placebo_lo", "placebo_hi"].map(|name| row.real(name));
        assert_eq!(band(&row), band(&own), "{}", row.text("metric"));
        compared += 1;
        bands += usize::from(row.real("placebo_lo").is_some());
    }
    assert!(compared > 100 && bands > 10, "{compared} values, {bands} bands");
    // The rows of a person get the groups of one other person, so the band is another one.
    let band = |frame: &TableFrame| -> Vec<Option<f64>> {
        frame.records().map(|row| row.real("placebo_hi")).collect()
    };
    assert_ne!(band(&persons), band(&plain));
}
