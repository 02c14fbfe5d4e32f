//! Recourse from the job to the tables and the page: compared with an exhaustive look at each row,
//! for any model, number of threads and size of batches.

use crate::frame::{TableRecord, read_frame};
use std::collections::BTreeMap;
use std::fs;

use crate::work::{Going, Rows, Says, Work, assert_same, python3_imports, root, shared};

const N: i64 = 1200;

const JOB: &str = r#"
cfaudit: 1
name: recourse
data:
  rows: {parquet: rows.parquet}
  label: {column: repaid, positive: [1], favourable: positive}
  sensitive:
    sex: {groups: [m, f], reference: m}
  features:
    continuous: [age]
    ordinal: {grade: [low, mid, high]}
    nominal: [job]
    onehot: {home: [own, rent]}
  missing: {nominal: level}
  bins: {age: [18, 30, 50, 80]}
  split: {column: part, train: [a], audit: [b]}
models:
  logistic: {logistic: {l2: 1.0}}
MODEL
recourse:
  sex:
    model: NAME
    subgroups: {support: 0.02}
    actions: {support: 0.05}
    may_change: {age: {up: {steps: 1}}, job: {any: {not_to: [none]}}, home: any, grade: up}
    cost: {weights: {age: 2, home: 0.5}}
    definitions:
      equal-effectiveness: {}
      equal-choice: {phi: [0.3]}
      equal-effectiveness-within-budget: {budgets: [1], budget_percentiles: [50]}
      equal-cost-of-effectiveness: {phi: [0.3, 0.7]}
      fair-trade-off: {}
      equal-conditional-mean-recourse: {}
      mean-recourse: {}
    no_way_costs: 20
    keep: {per_definition: 5}
gates:
  any:
    recourse: sex
    definition: {equal-cost-of-effectiveness: {phi: 0.7}}
    unfair_subgroups_at_most: 100000
    smallest: 5
  none:
    recourse: sex
    definition: equal-effectiveness
    view: micro
    unfair_subgroups_at_most: 0
    level: warn
metrics: {bootstrap: {samples: 20}}
run: {seed: 77}
"#;

const JOBS: [&str; 4] = ["cook", "clerk", "none", "boss"];
const GRADES: [&str; 3] = ["low", "mid", "high"];

/// One person.
#[derive(Clone, Debug)]
struct Person {
    sex: &'static str,
    age: i64,
    grade: &'static str,
    job: Option<&'static str>,
    own: bool,
}

fn person(i: i64) -> Person {
    let h = |k: i64, n: i64| (i * 7919 + k * 104_729 + i * i % 97 * 31) % n;
    let sex = if h(1, 10) < 6 { "m" } else { "f" };
    let job = (h(2, 23) > 0).then(|| JOBS[h(3, 4) as usize]);
    Person { sex, age: 18 + h(4, 63), grade: GRADES[h(5, 3) as usize], job, own: h(6, 7) < 3 }
}

/// The scorecard that `score.py` reads: odds above 0 are favourable.
fn odds(p: &Person) -> f64 {
    let age = if p.age < 31 { -0.5 } else { 0.75 };
    let grade = match p.grade {
        "low" => -1.0,
        "mid" => -0.25,
        _ => 1.0,
    };
    let job = match p.job {
        Some("boss") => 0.75,
        Some("clerk") => 0.25,
        Some("none") => -0.5,
        _ => 0.0,
    };
    let own = if p.own { 0.5 } else { -0.125 };
    let sex = if p.sex == "f" { -0.375 } else { 0.0 };
    -0.25 + age + grade + job + own + sex
}

const CARD: &str = r#"{"intercept": -0.25, "columns": {
    "age": {"edges": [31], "points": [-0.5, 0.75], "missing": 0},
    "grade": {"levels": {"low": -1.0, "mid": -0.25, "high": 1.0}, "missing": 0},
    "job": {"levels": {"boss": 0.75, "clerk": 0.25, "none": -0.5}, "missing": 0},
    "own": {"edges": [1], "points": [-0.125, 0.5], "missing": 0},
    "sex": {"levels": {"f": -0.375, "m": 0.0}, "missing": 0}}}"#;

fn is_audited(i: i64) -> bool {
    i % 3 != 0
}

fn work(model: &str, name: &str) -> Work {
    let work = Work::new();
    work.write("job.yaml", &JOB.replace("MODEL", model).replace("NAME", name));
    write_rows(&work, &(0..N).collect::<Vec<i64>>());
    work
}

/// The household of a row: four rows of one part of the split.
fn household(i: i64) -> i64 {
    i % 3 + 3 * (i / 12)
}

/// Writes these rows, each with an id of its own.
fn write_rows(work: &Work, rows: &[i64]) {
    let repaid = |i: i64| i64::from(odds(&person(i)) + ((i * 31) % 17) as f64 / 8.0 - 1.0 > 0.0);
    Rows::of(rows.iter().copied().zip(0_i64..))
        .with("id", |(_, at)| 10_000 - at)
        .with("own_id", |(i, _)| i)
        .with("household", |(i, _)| household(i))
        .with("sex", |(i, _)| person(i).sex)
        .with("age", |(i, _)| person(i).age)
        .with("grade", |(i, _)| person(i).grade)
        .with("job", |(i, _)| person(i).job)
        .with("own", |(i, _)| i64::from(person(i).own))
        .with("rent", |(i, _)| i64::from(!person(i).own))
        .with("part", |(i, _)| if is_audited(i) { "b" } else { "a" })
        .with("repaid", |(i, _)| repaid(i))
        .write(work, "rows.parquet");
}

pub(crate) fn trained() -> Work {
    work("", "logistic")
}

fn int(row: &TableRecord<'_>, name: &str) -> i64 {
    row.int(name).unwrap_or_else(|| panic!("{name}"))
}

/// Items such as `age = (30, 50]` of a text.
fn items(text: &str) -> BTreeMap<&str, &str> {
    let mut items = BTreeMap::new();
    // Bins hold a comma themselves.
    let mut rest = text;
    while let Some((column, after)) = rest.split_once(" = ") {
        let end = ["age = ", "grade = ", "home = ", "job = "]
            .iter()
            .filter_map(|next| after.find(&format!(", {next}")))
            .min();
        items.insert(column.trim_start_matches(", "), &after[..end.unwrap_or(after.len())]);
        rest = end.map_or("", |end| &after[end..]);
    }
    items
}

fn bin(age: i64) -> &'static str {
    match age {
        18..=30 => "[18, 30]",
        31..=50 => "(30, 50]",
        _ => "(50, 80]",
    }
}

fn level<'a>(p: &'a Person, column: &str) -> &'a str {
    match column {
        "age" => bin(p.age),
        "grade" => p.grade,
        "job" => p.job.unwrap_or("missing"),
        _ => {
            if p.own {
                "own"
            } else {
                "rent"
            }
        }
    }
}

/// Looks at every row: who is in a subgroup, and whom an action helps.
#[test]
fn a_program_is_asked_about_each_person_as_they_could_be() {
    if !python3_imports("pyarrow") {
        return;
    }
    let work = work(
        "  card: {command: {score: [python3, score.py, card.json], watch: [score.py, card.json]}}",
        "card",
    );
    fs::copy(root().join("jobs/models/score.py"), work.path("score.py")).unwrap();
    work.write("card.json", CARD);
    work.run(0, "job.yaml", "");

    let audited: Vec<Person> = (0..N).filter(|&i| is_audited(i)).map(person).collect();
    let affected: Vec<&Person> = audited.iter().filter(|p| odds(p) < 0.0).collect();
    let comparison = work.table("recourse");
    let of = comparison.records().next().unwrap();
    assert_eq!(
        (of.text("group_0"), of.text("group_1"), of.text("model"), comparison.rows.len()),
        ("f", "m", "card", 1)
    );
    let n = |sex: &str| affected.iter().filter(|p| p.sex == sex).count() as i64;
    assert_eq!([int(&of, "affected_0"), int(&of, "affected_1")], [n("f"), n("m")]);
    assert_eq!(int(&of, "unaffected"), (audited.len() - affected.len()) as i64);

    // The number that represents a bin: the lower median of the audited people in it.
    let median = |name: &str| {
        let mut ages: Vec<i64> =
            audited.iter().map(|p| p.age).filter(|&age| bin(age) == name).collect();
        ages.sort_unstable();
        ages[(ages.len() - 1) / 2]
    };
    let subgroups = work.table("subgroups");
    let traits: BTreeMap<i64, String> =
        subgroups.records().map(|r| (int(&r, "subgroup"), r.text("traits").to_owned())).collect();
    let members = |traits: &str, sex: &str| -> Vec<&Person> {
        let of = items(traits);
        affected
            .iter()
            .filter(|p| {
                p.sex == sex && of.iter().all(|(column, wanted)| level(p, column) == *wanted)
            })
            .copied()
            .collect()
    };
    for row in subgroups.records() {
        let sizes = ["f", "m"].map(|sex| members(row.text("traits"), sex).len() as i64);
        assert_eq!([int(&row, "n_0"), int(&row, "n_1")], sizes, "{}", row.text("traits"));
    }
    let actions = work.table("actions");
    assert!(actions.rows.len() > 300, "{}", actions.rows.len());
    for row in actions.records() {
        let changes = items(row.text("changes"));
        let helped = |sex: &str| {
            let changed = |p: &&&Person| {
                let mut p = (**p).clone();
                for (column, to) in &changes {
                    match *column {
                        "age" => p.age = median(to),
                        "grade" => p.grade = GRADES.into_iter().find(|grade| grade == to).unwrap(),
                        "job" => p.job = JOBS.into_iter().find(|job| job == to),
                        _ => p.own = *to == "own",
                    }
                }
                odds(&p) >= 0.0
            };
            members(&traits[&int(&row, "subgroup")], sex).iter().filter(changed).count() as i64
        };
        assert_eq!(
            [int(&row, "worked_0"), int(&row, "worked_1")],
            ["f", "m"].map(helped),
            "{}",
            row.text("changes")
        );
        assert!(
            changes.get("job") != Some(&"none") && changes.get("job") != Some(&"missing"),
            "{changes:?}"
        );
    }
}

/// What the tables say about each other.
#[test]
fn the_tables_fit_together() {
    let work = trained();
    let ran = work.run(0, "job.yaml", "");
    assert_eq!(
        ran.summary()["gates"],
        serde_json::json!({"pass": 1, "fail": 0, "inconclusive": 0, "warn": 1, "skipped": 0})
    );
    let (subgroups, actions, ecd) =
        (work.table("subgroups"), work.table("actions"), work.table("ecd"));
    let mut best: BTreeMap<i64, [i64; 4]> = BTreeMap::new();
    for row in actions.records() {
        let own = best.entry(int(&row, "subgroup")).or_default();
        for (i, name) in
            ["worked_0", "worked_1", "cumulative_0", "cumulative_1"].into_iter().enumerate()
        {
            own[i] = own[i].max(int(&row, name));
        }
        assert!(
            int(&row, "worked_0") <= int(&row, "cumulative_0")
                && int(&row, "worked_1") <= int(&row, "cumulative_1")
        );
    }
    let mut last: BTreeMap<i64, [i64; 4]> = BTreeMap::new();
    for row in ecd.records() {
        last.insert(
            int(&row, "subgroup"),
            ["macro_0", "macro_1", "micro_0", "micro_1"].map(|name| int(&row, name)),
        );
    }
    assert_eq!(best, last, "the last cost reaches whom any action reaches");
    let mut judged = 0;
    for row in subgroups.of("definition=equal-effectiveness") {
        let (subgroup, at) =
            (int(&row, "subgroup"), if row.text("view") == "macro" { 0 } else { 2 });
        let Some(k) = best.get(&subgroup) else {
            assert_eq!(
                (row.real("score"), row.text("undefined"), int(&row, "n_actions")),
                (None, "no_actions", 0)
            );
            continue;
        };
        let share = |g: usize| k[at + g] as f64 / int(&row, ["n_0", "n_1"][g]) as f64;
        assert!(
            (row.real("value_0").unwrap() - share(0)).abs() < 1e-12
                && (row.real("value_1").unwrap() - share(1)).abs() < 1e-12
        );
        assert!((row.real("score").unwrap() - (share(0) - share(1)).abs()).abs() < 1e-12);
        assert_eq!(
            row.text("against"),
            if share(0) == share(1) {
                ""
            } else if share(0) < share(1) {
                "f"
            } else {
                "m"
            }
        );
        judged += 1;
    }
    assert!(judged > 50, "{judged}");
    // The gates counted what the table says.
    let gates = work.table("gates");
    let gate = gates.at("gate=none");
    let unfair = subgroups.of("definition=equal-effectiveness, view=micro, rank!=");
    assert_eq!(
        (gate.text("verdict"), gate.real("value"), gate.text("metric")),
        ("fail", Some(unfair.count() as f64), "unfair_subgroups")
    );
    // Overviews: one row per definition and view, and per pair of them.
    let analysis = work.table("ranking_analysis");
    let questions = analysis.rows.len();
    assert_eq!(work.table("aggregated_rankings").rows.len(), questions * (questions - 1));
    for row in analysis.records() {
        let mine: Vec<TableRecord<'_>> = subgroups
            .records()
            .filter(|r| {
                ["definition", "parameter", "view"]
                    .iter()
                    .all(|name| r.text(name) == row.text(name))
            })
            .collect();
        let n = |test: &dyn Fn(&TableRecord<'_>) -> bool| {
            mine.iter().filter(|r| test(r)).count() as i64
        };
        assert_eq!(
            [int(&row, "unfair"), int(&row, "judged")],
            [n(&|r| r.int("rank").is_some()), n(&|r| r.real("score").is_some())]
        );
        assert_eq!(
            [int(&row, "unfair_0"), int(&row, "unfair_1")],
            ["f", "m"].map(|g| n(&|r| r.text("against") == g))
        );
        assert!(n(&|r| r.int("place").is_some()) <= 5);
    }
    // What the job forbids is not there, and what it names is reported.
    assert_eq!(
        work.table("recourse_columns").list("", "column levels may_change").join("\n"),
        "age | 3 | upwards, by at most 1\ngrade | 3 | upwards\nhome | 2 | freely\n\
         job | 4 | freely, not to none"
    );
    let comparatives = work.table("comparatives");
    let mut without = std::collections::BTreeSet::new();
    for row in comparatives.records() {
        let lists = row.int("action").is_some();
        assert!(
            lists != row.text("changes").is_empty() && lists == row.text("no_action").is_empty()
        );
        assert_eq!(row.text("no_action") == "none_meets", int(&row, "n_lines") == 0);
        without.insert(row.text("no_action").to_owned());
    }
    assert!(without.contains("none_meets"), "{without:?}");
    work.read("out/annex.html").says(&[
        "Recourse: who can change the decision",
        "the favourable decision is harder to reach for group",
        "Fixed, and therefore in no action",
        "[18, 30]",
    ]);
}

#[test]
fn threads_and_batches_change_no_byte_and_nothing_runs_twice() {
    let work = trained();
    let chance = "--set recourse.sex.chance.deals=50";
    work.run(0, "job.yaml", &format!("{chance} --threads 1"));
    work.run(0, "job.yaml", chance).says(&["nothing to do"]);
    work.same_bytes(0, &format!("job.yaml {chance}"), &["--threads 4 --batch-rows 1024"]);
    let p = work
        .table("subgroups")
        .records()
        .filter(|r| r.real("p_value").is_some_and(|p| (0.0..=1.0).contains(&p)))
        .count();
    assert!(p > 50, "{p}");
    // Another cost runs recourse again and leaves the model.
    let ran = work.run(0, "job.yaml", &format!("{chance} --set recourse.sex.cost.nominal=2"));
    ran.says(&["recourse/attribute=sex: runs"]);
    ran.stderr.lacks(&["train/model=logistic: runs"]);
}

#[test]
fn several_groups_are_compared_by_pairs_and_one_without_affected_people_is_told() {
    let work = trained();
    let job = JOB
        .replace("MODEL", "")
        .replace("NAME", "logistic")
        .replace("model: logistic", "model: logistic\n    against: reference");
    // Nobody belongs to the group x.
    let job = job.replace("groups: [m, f]", "groups: [m, f, x]");
    work.write("job.yaml", &job);
    work.run(1, "job.yaml", "");
    let reasons = work.table("recourse").list("", "group_0 undefined");
    assert_eq!(reasons, ["f | ", "x | no_affected_rows"]);
    let verdicts = work.table("gates").list("gate=any", "from_group verdict reason_code");
    assert_eq!(verdicts, ["f | pass | limit-kept", "x | inconclusive | undefined"]);
    let explained = work.cfaudit(0, "explain no_affected_rows").stdout;
    explained.says(&["has the unfavourable decision"]);
    // Nor is there anything else to compare: the run goes on, and the gate cannot tell.
    work.write("job.yaml", &job.replace("groups: [m, f, x]", "groups: [m, x]"));
    work.run(1, "job.yaml", "--replace");
    assert_eq!(work.table("recourse").list("", "undefined"), ["no_affected_rows"]);
    assert!(work.table("gates").of("gate=any").all(|r| r.text("verdict") == "inconclusive"));
    work.read("out/annex.html").says(&[
        "Nothing was looked at: nobody of one of the two groups has the unfavourable decision.",
    ]);
}

/// Nobody is refused, then nobody is granted: both are reported with a reason, and the rest of the
/// job is done.
#[test]
fn a_model_that_decides_alike_about_all_leaves_nothing_to_compare() {
    let work = trained();
    let job = work.read("job.yaml");
    for (threshold, reason) in [("0", "no_affected_rows"), ("1", "no_unaffected_rows")] {
        let model = format!("NAME: {{threshold: {threshold}, ").replace("NAME", "logistic");
        work.write("job.yaml", &job.replacen("logistic: {", &model, 1));
        let ran = work.command("run job.yaml --out out --cache cache --replace").output().unwrap();
        let words = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!([Some(0), Some(1)].contains(&ran.status.code()), "{words}");
        let comparison = work.table("recourse");
        assert!(
            !comparison.has(&format!("undefined!={reason}")),
            "{reason}: {:?}",
            comparison.rows
        );
        assert!(work.table("metrics").has("metric=acc, value!="));
        assert!(
            work.table("actions").rows.is_empty() && work.table("comparatives").rows.is_empty()
        );
    }
}

/// Stopped or killed in the middle of the search, a run goes on with the models and scores that it
/// had, to the same bytes.
#[test]
fn an_interrupted_run_goes_on_to_the_same_bytes() {
    // Dealing takes long enough to be met, also where other processes delay the signal.
    let run = "run job.yaml --out out --cache cache --set recourse.sex.chance.deals=20000";
    let (reference, work) = (trained(), trained());
    reference.cfaudit(0, run);
    let expected = reference.results();
    for signal in ["TERM", "INT", "KILL"] {
        let mut going = Going::start(&mut work.command(run));
        assert!(going.until(&["stage.start"], "recourse/attribute=sex"), "no recourse");
        std::thread::sleep(std::time::Duration::from_millis(30));
        going.signal(signal);
        let (status, log) = going.end();
        assert!(!status.success(), "{signal} came too late: {log}");
        assert!(!work.path("out").exists() && !log.contains("panicked"), "{signal}: {log}");
    }
    let ran = work.cfaudit(0, run);
    ran.says(&["recourse/attribute=sex: runs"]);
    ran.stderr.lacks(&["train/model=logistic: runs"]);
    assert_same(&expected, &work.results(), "stopped thrice");
}

/// As the authors do, Husband and Wife are one level: no subgroup and no action of the shipped job
/// distinguishes them.
#[test]
fn the_shipped_job_on_adult_advises_nobody_to_become_a_wife() {
    let work = Work::with_jobs();
    let text = work.read("jobs/adult-recourse.yaml");
    // Without the files their stand-in serves.
    let adult =
        shared("data/adult/adult.test").and_then(|file| Some(file.parent()?.parent()?.to_owned()));
    let data = adult.map_or_else(|| "empty".to_owned(), |folder| folder.display().to_string());
    let rare = "--set recourse.sex.subgroups.support=0.1 --set recourse.sex.actions.support=0.1";
    work.write("jobs/adult-recourse.yaml", text.split("\ngates:").next().unwrap());
    work.run(0, "jobs/adult-recourse.yaml", &format!("--data-dir {data} {rare}"));
    let columns = work.table("recourse_columns");
    assert!(columns.has("column=household, levels=5") && !columns.has("column=relationship"));
    let texts =
        [work.table("subgroups").list("", "traits"), work.table("actions").list("", "changes")];
    texts.concat().join("\n").says(&["household = Married"]);
    texts.concat().join("\n").lacks(&["Wife", "Husband"]);
}

/// The tables whose numbers are the same where each person has one row, or the same row again.
const RESULTS: &str =
    "recourse_columns subgroups actions ecd comparatives ranking_analysis aggregated_rankings";

/// One row of each person is judged: if every person has one row, all rows are judged, repeated
/// rows change nothing, and for households as many rows are judged as there are households, on any
/// number of threads.
#[test]
fn one_row_of_each_person_is_judged() {
    let work = trained();
    let job = work.read("job.yaml");
    let job = job
        .replace("{parquet: rows.parquet}\n", "{parquet: rows.parquet}\n  row_id: id\n")
        .replace("    no_way_costs: 20\n", "    no_way_costs: 20\n    chance: {deals: 99}\n");
    let by =
        |name: &str| job.replace("  row_id: id\n", &format!("  row_id: id\n  person: {name}\n"));
    work.write("plain.yaml", &job);
    work.write("own.yaml", &by("own_id"));
    work.write("job.yaml", &by("household"));
    work.cfaudit(0, "run plain.yaml --out plain --cache cache");
    work.cfaudit(0, "run own.yaml --out own --cache cache");
    let of = |folder: &str, table: &str| read_frame(&work.path(folder).join("tables"), table);
    let pair = |folder: &str| {
        let names = ["person_rows", "persons", "affected_0", "affected_1", "unaffected"];
        let table = of(folder, "recourse");
        let row = table.records().next().unwrap();
        names.map(|name| row.int(name))
    };
    let audited = (0..N).filter(|&i| is_audited(i)).count() as i64;
    let ([rows, persons, plain @ ..], [own_rows, own_persons, own @ ..]) =
        (pair("plain"), pair("own"));
    assert_eq!([rows, persons, own_rows, own_persons], [None, None, Some(audited), Some(audited)]);
    assert_eq!(plain, own);
    for table in RESULTS.split(' ') {
        assert_eq!(of("plain", table).rows, of("own", table).rows, "{table}");
    }
    let gates = |folder: &str| of(folder, "gates").list("", "verdict value");
    assert_eq!(gates("plain"), gates("own"));

    // Audited rows four times, training rows once: the model is the same.
    let again: Vec<i64> =
        (0..N).flat_map(|i| std::iter::repeat_n(i, if is_audited(i) { 4 } else { 1 })).collect();
    write_rows(&work, &again);
    work.cfaudit(0, "run own.yaml --out again --cache cache");
    let [rows, persons, counts @ ..] = pair("again");
    assert_eq!((rows, persons, counts), (Some(4 * audited), Some(audited), own));
    for table in RESULTS.split(' ') {
        assert_eq!(of("own", table).rows, of("again", table).rows, "{table}");
    }
    assert_eq!(gates("own"), gates("again"));

    // Households of four rows that differ.
    write_rows(&work, &(0..N).collect::<Vec<i64>>());
    work.run(0, "job.yaml", "--threads 1");
    let ways = ["--threads 2 --batch-rows 1024", "--threads 7 --batch-rows 2048"];
    work.same_bytes(0, "job.yaml", &ways);
    let [rows, persons, counts @ ..] = pair("out");
    assert_eq!((rows, persons), (Some(audited), Some(audited / 4)));
    assert_eq!(counts.into_iter().flatten().sum::<i64>(), audited / 4, "all have a group");
    let least = of("out", "subgroups").records().map(|row| int(&row, "n_0")).max().unwrap();
    assert!(counts[0].is_some_and(|n| least <= n));
    // Another seed draws other rows.
    let first = of("out", "subgroups");
    work.run(0, "job.yaml", "--set run.seed=78 --replace");
    assert_ne!(first.rows, of("out", "subgroups").rows);
    for page in ["report.html", "annex.html"] {
        let page = fs::read_to_string(work.path("out").join(page)).unwrap();
        page.says(&[&format!("of {audited} audited rows of {} persons", audited / 4)]);
    }
    let page = work.read("out/annex.html");
    let affected = of("out", "recourse").records().map(|row| int(&row, "affected_0")).next();
    page.says(&[&format!("{} persons of group ", affected.unwrap())]);
}
