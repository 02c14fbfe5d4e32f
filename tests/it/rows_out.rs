//! Rows that a job keeps: counterfactuals and outcomes with the user's own ids and values.

use arrow::array::AsArray;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use arrow::datatypes::{DataType, Int64Type};
use arrow::util::display::array_value_to_string;

use crate::batches::read;
use crate::work::{Rows, Says, Work, assert_same, files};

pub(crate) const PEOPLE: usize = 600;

/// A number in [0, 1000) that looks random and is not.
pub(crate) fn draw(i: usize, salt: usize) -> usize {
    (i * 7919 + salt * 104_729 + (i * i * (salt + 3)) % 1009) % 1000
}

/// Applicants with ids: women earn less and work part time more often.
pub(crate) fn applicants(work: &Work) {
    let woman = |i: usize| draw(i, 1) < 450;
    let income = |i: usize| {
        let base = if woman(i) { 2000 } else { 2600 };
        (base + draw(i, 2) * 3) as f64 + 0.25
    };
    let hours = |i: usize| if draw(i, 3) < if woman(i) { 500 } else { 150 } { 20_i64 } else { 40 };
    let paid = |i: usize| income(i) + 400.0 * draw(i, 4) as f64 / 1000.0 > 3600.0;
    let n = PEOPLE;
    Rows::of(0..n)
        .with("id", |i| format!("A-{i:04}"))
        .with("sex", |i| if woman(i) { "w" } else { "m" })
        .with("income", income)
        .with("hours", hours)
        .with("branch", |i| match draw(i, 5) {
            0..20 => None,
            20..500 => Some("north"),
            _ => Some("south"),
        })
        .with("paid", |i| if paid(i) { "yes" } else { "no" })
        .write(work, "people.parquet");
}

/// A job on them with these sets and these last lines.
pub(crate) fn job(work: &Work, file: &str, sets: &str, rest: &str) {
    let text = format!(
        "cfaudit: 1
name: loans
data:
  rows: {{parquet: people.parquet}}
  row_id: id
  label: {{column: paid, positive: [yes], favourable: positive}}
  sensitive:
    sex: {{groups: [w, m], reference: m}}
  features:
    continuous: [income, hours]
    nominal: [branch]
  split: {{share: {{train: 0.5, audit: 0.5}}}}
counterfactuals:
{sets}
models:
  logit: {{logistic: {{l2: 1.0}}}}
metrics:
  bootstrap: {{samples: 40}}
{rest}
"
    );
    work.write(file, &text);
}

pub(crate) const SETS: &str = "  flip: {naive: {}}
  world:
    plausible:
      move: [income, hours]
      condition_on: label
      range: {income: [2000, 5400]}";

const KEPT: &str = "out/rows/counterfactuals/world/part-00000.parquet";

#[test]
fn counterfactuals_are_kept_in_the_words_of_the_source() {
    let work = Work::new();
    applicants(&work);
    job(&work, "job.yaml", SETS, "run: {keep_rows: all}");
    work.run(0, "job.yaml", "");
    let names: Vec<String> = files(&work.path("out/rows")).into_keys().collect();
    assert_eq!(
        names,
        [
            "counterfactuals/flip/part-00000.parquet",
            "counterfactuals/world/part-00000.parquet",
            "outcomes.parquet"
        ]
    );
    let mode = |path: &str| fs::metadata(work.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("out/rows/counterfactuals"), mode(KEPT)), (0o700, 0o600));

    let people = read(&work.path("people.parquet"));
    let row_of: BTreeMap<String, usize> = (0..people.num_rows())
        .map(|i| (people.column(0).as_string::<i32>().value(i).to_owned(), i))
        .collect();
    let value = |batch: &arrow::array::RecordBatch, name: &str, i: usize| {
        array_value_to_string(batch.column_by_name(name).unwrap(), i).unwrap()
    };
    for (set, may_move) in [("flip", false), ("world", true)] {
        let kept = read(&work.path(&KEPT.replace("world", set)));
        let schema = kept.schema();
        let fields: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(
            fields.join(" "),
            "row_id sensitive from_group to_group cf_index valid changed sex income hours \
             branch"
        );
        assert_eq!(schema.field(9).data_type(), &DataType::Int64);
        let (mut moved, mut invalid) = (0, 0);
        for i in 0..kept.num_rows() {
            let row = row_of[&value(&kept, "row_id", i)];
            assert_eq!(value(&kept, "from_group", i), value(&people, "sex", row));
            assert_eq!(value(&kept, "to_group", i), value(&kept, "sex", i));
            assert_ne!(value(&kept, "from_group", i), value(&kept, "to_group", i));
            assert_eq!(value(&kept, "branch", i), value(&people, "branch", row));
            moved += usize::from(value(&kept, "income", i) != value(&people, "income", row));
            invalid += usize::from(value(&kept, "valid", i) == "false");
        }
        assert_eq!(kept.num_rows(), 300, "everybody who is audited, valid or not");
        assert_eq!(moved > 100, may_move, "{set}: {moved}");
        assert_eq!(invalid > 0, may_move, "{set}: {invalid}");
        assert!(kept.column_by_name("branch").unwrap().null_count() > 0);
        assert!(
            kept.column_by_name("cf_index")
                .unwrap()
                .as_primitive::<Int64Type>()
                .values()
                .iter()
                .all(|&i| i == 0)
        );
    }
}

/// The ids of the source are in the outcomes where the job asks for rows by name, and in no other
/// run.
#[test]
fn outcomes_name_people_only_where_the_job_says_so() {
    let work = Work::new();
    applicants(&work);
    let ids = |rest: &str| -> Vec<String> {
        job(&work, "job.yaml", SETS, rest);
        work.run(0, "job.yaml", "");
        let outcomes = work.table("outcomes");
        let ids = outcomes.records().map(|row| row.text("row_id").to_owned());
        ids.collect()
    };
    assert!(ids("").iter().all(String::is_empty));
    let named = ids("run: {keep_rows: outcomes}");
    assert!(named.len() > 500 && named.iter().all(|id| id.starts_with("A-")), "{named:?}");
    for kept in ["none", "counterfactuals"] {
        job(&work, "job.yaml", SETS, &format!("run: {{keep_rows: {kept}}}"));
        work.run(0, "job.yaml", "");
        assert!(!work.path("out/rows/outcomes.parquet").exists(), "{kept}");
    }
    // Without a column of ids it is the row number.
    let numbered = work
        .read("job.yaml")
        .replace("  row_id: id\n", "")
        .replace("keep_rows: counterfactuals", "keep_rows: all");
    work.write("job.yaml", &numbered);
    work.run(0, "job.yaml", "");
    let outcomes = work.table("outcomes");
    assert!(outcomes.records().all(|row| row.text("row_id").parse::<usize>().unwrap() < PEOPLE));
}

#[test]
fn a_run_may_end_with_its_counterfactuals() {
    let work = Work::new();
    applicants(&work);
    job(&work, "job.yaml", SETS, "run: {keep_rows: counterfactuals}");
    let ran = work.cfaudit(0, "run job.yaml --until generate --out rows-only --cache cache");
    ran.says(&["stopped as asked", "the counterfactuals are in rows-only/rows/counterfactuals"]);
    assert_eq!(ran.summary()["verdict"], "unfinished");
    let there = files(&work.path("rows-only"));
    assert!(!there.contains_key("report.html") && !there.contains_key("tables/metrics.parquet"));
    assert_eq!(work.json("rows-only/manifest.json")["stopped_after"], "generate");
    assert!(
        work.json("rows-only/manifest.json")["files"]
            .as_object()
            .unwrap()
            .contains_key("rows/counterfactuals/world/part-00000.parquet")
    );
    let again = work.cfaudit(0, "run job.yaml --until generate --out rows-only --cache cache");
    again.says(&["nothing to do"]);
    // It is not an audit.
    for verb in ["gate", "report", "diff rows-only", "export --to junit"] {
        work.cfaudit(5, &format!("{verb} rows-only"))
            .says(&["was to stop after `generate`", "hint: name the folder of a finished run"]);
    }
    // A whole run holds the same rows, and is not replaced by them.
    work.run(0, "job.yaml", "");
    let of = |folder: &str| files(&work.path(&format!("{folder}/rows/counterfactuals")));
    assert_same(&of("rows-only"), &of("out"), "the rows of a whole run");
    let before = work.results();
    work.run(5, "job.yaml", "--until generate")
        .says(&["it holds a finished audit", "give the rows another folder"]);
    assert_same(&before, &work.results(), "a finished audit");
    // Without a separate folder nothing is published, as before.
    work.cfaudit(0, "run job.yaml --until generate --cache cache").says(&["nothing published"]);
    assert!(!work.path("outputs/loans").exists());
    work.run(0, "job.yaml", "--until generate --replace");
    assert_same(&of("rows-only"), &of("out"), "with --replace");
}

/// Who would be decided otherwise, by the ids of the source, with what changed.
#[test]
fn cases_leave_a_folder_as_csv() {
    let work = Work::new();
    applicants(&work);
    job(&work, "job.yaml", SETS, "run: {keep_rows: all}");
    work.run(0, "job.yaml", "");
    work.cfaudit(0, "export out --to cases --file all.csv");
    let mode = fs::metadata(work.path("all.csv")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let all = work.read("all.csv");
    let lines: Vec<Vec<&str>> = all.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        lines[0].join(" "),
        "row_id model counterfactual sensitive from_group to_group cf_index score decision \
         score_cf decision_cf switched changed"
    );
    let outcomes = work.table("outcomes");
    assert_eq!(lines.len(), outcomes.rows.len() + 1);
    let people = read(&work.path("people.parquet"));
    let shown = |name: &str, row: usize| {
        array_value_to_string(people.column_by_name(name).unwrap(), row).unwrap()
    };
    for (line, row) in lines[1..].iter().zip(outcomes.records()) {
        assert_eq!(
            [line[0], line[2], line[5]],
            [row.text("row_id"), row.text("counterfactual"), row.text("to_group")]
        );
        assert_eq!(line[7].parse::<f64>().unwrap(), row.real("score").unwrap());
        assert_eq!(line[9].parse::<f64>().unwrap(), row.real("score_cf").unwrap());
        let word = |decision: &str| {
            if row.int(decision) == Some(1) { "favourable" } else { "unfavourable" }
        };
        assert_eq!([line[8], line[10]], [word("predicted"), word("predicted_cf")]);
        assert_eq!(line[11], if line[8] == line[10] { "no" } else { "yes" });
        let person: usize = line[0][2..].parse().unwrap();
        assert!(line[12].starts_with(&format!("sex: {} -> {}", line[4], line[5])), "{line:?}");
        if let Some((_, change)) = line[12].split_once("income: ") {
            assert_eq!(change.split(" -> ").next().unwrap(), shown("income", person));
            assert_eq!(line[2], "world");
        }
    }
    assert!(lines.iter().any(|line| line[12].contains("hours: ")));
    // Only those that are asked for.
    let some = work.cfaudit(
        0,
        "export out --to cases --switched --model logit --counterfactual world --direction w,m",
    );
    let some: Vec<&str> = some.stdout.lines().skip(1).collect();
    let wanted: Vec<&str> = all
        .lines()
        .filter(|line| line.contains(",world,sex,w,m,") && line.contains(",yes,"))
        .collect();
    assert!(!wanted.is_empty() && some == wanted, "{some:?}");
    // In the words of the job, where it has some; one with a comma is quoted.
    let text = work.read("job.yaml");
    let words = "favourable: positive, words: {favourable: granted, unfavourable: 'no, refused'}";
    text.says(&["favourable: positive"]);
    work.write("worded.yaml", &text.replace("favourable: positive", words));
    work.cfaudit(0, "run worded.yaml --out worded --cache cache");
    let worded = work.cfaudit(0, "export worded --to cases").stdout;
    let named =
        all.replace(",unfavourable,", ",\"no, refused\",").replace(",favourable,", ",granted,");
    assert_eq!(worded, named);
    // A file of cases may be replaced by one, and by nothing else.
    work.cfaudit(0, "export out --to cases --switched --file all.csv");
    work.cfaudit(5, "export out --to junit --file all.csv").says(&["all.csv", "would be lost"]);
    for (args, words) in [
        ("--to cases --model logi", ["`logi` of `--model`", "did you mean `logit`?"]),
        ("--to cases --counterfactual wurld", ["`wurld`", "did you mean `world`?"]),
        ("--to cases --direction w,x", ["`w,x` of `--direction`", "did you mean `w,m`?"]),
        ("--to cases --direction w", ["`w` of `--direction`", "known names: `w,m`, `m,w`"]),
        ("--to junit --switched", ["choose cases", "hint: add `--to cases`"]),
    ] {
        work.cfaudit(2, &format!("export out {args}")).says(&words);
    }
    // People are named only where the job says so.
    job(&work, "job.yaml", SETS, "");
    work.run(0, "job.yaml", "");
    work.cfaudit(5, "export out --to cases").says(&["do not name people", "keep_rows: outcomes"]);
    job(&work, "job.yaml", SETS, "run: {keep_rows: none}");
    work.run(0, "job.yaml", "");
    work.cfaudit(5, "export out --to cases").says(&["keeps no outcomes", "keep_rows: outcomes"]);
}
