//! Data that are wrong: the exact exit status, a message that names file, column and row and says
//! what to do, and nothing incomplete.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use arrow::array::{ArrayRef, Int64Array, ListArray, UInt64Array};
use arrow::datatypes::Float64Type;

use crate::work::{Ran, Rows, Says, Work, array, column, expected, patched};

const JOB: &str = r#"
cfaudit: 1
name: hostile
data:
  rows: {parquet: rows.parquet}
  row_id: id
  label: {column: repaid, positive: ["yes"], favourable: positive}
  sensitive:
    sex: {groups: [f, m], reference: m}
  features: {continuous: [age]}
  split: {share: {train: 0.5, audit: 0.5}}
counterfactuals: {flip: naive}
models:
  trained: {logistic: {l2: 1.0}}
  live:
    scores:
      factual: {parquet: scores.parquet, column: score}
      counterfactual: {parquet: moved.parquet, column: score}
metrics: {bootstrap: {samples: 20}}
"#;

/// A column: its name, what it holds (numbers are whole or real), and its cells as text.
type TextColumn = (&'static str, Kind, Vec<String>);

#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Real,
    Text,
}

/// What a job depends on, sound at first: forty people, a score for each, and one for each with the
/// other sex.
struct Inputs {
    job: String,
    files: BTreeMap<&'static str, Vec<TextColumn>>,
}

impl Inputs {
    fn sound() -> Self {
        let rows = |of: &dyn Fn(usize) -> String| (0..40).map(of).collect::<Vec<String>>();
        let id = || rows(&|i| (100 + i).to_string());
        let text = |of: &dyn Fn(usize) -> &'static str| rows(&|i| of(i).to_owned());
        let real = |of: &dyn Fn(usize) -> f64| rows(&|i| of(i).to_string());
        let files = [
            (
                "rows",
                vec![
                    ("id", Kind::Whole, id()),
                    ("sex", Kind::Text, text(&|i| ["f", "m"][i % 2])),
                    ("repaid", Kind::Text, text(&|i| if i % 3 == 0 { "yes" } else { "no" })),
                    ("age", Kind::Real, real(&|i| 20.0 + i as f64)),
                ],
            ),
            (
                "scores",
                vec![
                    ("row_id", Kind::Whole, id()),
                    ("score", Kind::Real, real(&|i| i as f64 / 40.0)),
                ],
            ),
            (
                "moved",
                vec![
                    ("row_id", Kind::Whole, id()),
                    ("to_group", Kind::Text, text(&|i| ["m", "f"][i % 2])),
                    ("score", Kind::Real, real(&|i| i as f64 / 50.0)),
                ],
            ),
        ];
        Inputs { job: JOB.to_owned(), files: files.into() }
    }

    /// Changes the inputs: `FILE.COLUMN[ROW] = VALUE`, without a row all of them, `FILE + CELLS` a
    /// further row, `FILE - ROWS` only so many; any other line is a step of a patch of the job.
    #[track_caller]
    fn change(&mut self, steps: &str) {
        let mut patch = Vec::new();
        for step in steps.lines() {
            if step.starts_with(['~', '-', '@', '+']) {
                patch.push(step);
            } else if let Some((place, value)) = step.split_once(" = ") {
                let (file, place) = place.split_once('.').unwrap();
                let (name, row) =
                    place.trim_end_matches(']').split_once('[').unwrap_or((place, ""));
                let columns = self.files.get_mut(file).unwrap();
                let cells = &mut columns.iter_mut().find(|of| of.0 == name).unwrap().2;
                match row.parse::<usize>() {
                    Ok(row) => value.clone_into(&mut cells[row]),
                    Err(_) => cells.fill(value.to_owned()),
                }
            } else if let Some((file, cells)) = step.split_once(" + ") {
                let columns = self.files.get_mut(file).unwrap().iter_mut();
                columns.zip(cells.split(' ')).for_each(|(of, cell)| of.2.push(cell.to_owned()));
            } else {
                let (file, n) = step.split_once(" - ").unwrap();
                let columns = self.files.get_mut(file).unwrap();
                columns.iter_mut().for_each(|of| of.2.truncate(n.parse().unwrap()));
            }
        }
        self.job = patched(&self.job, &patch.join("\n"));
    }

    fn write(&self) -> Work {
        let work = Work::new();
        work.write("job.yaml", &self.job);
        for (file, columns) in &self.files {
            let array = |(name, kind, cells): &TextColumn| {
                let cells = cells.iter();
                let array = match kind {
                    Kind::Whole => column(cells.map(|cell| cell.parse::<i64>().unwrap())),
                    Kind::Real => column(cells.map(|cell| cell.parse::<f64>().ok())),
                    Kind::Text => column(cells.map(String::as_str)),
                };
                (*name, array)
            };
            work.parquet(&format!("{file}.parquet"), columns.iter().map(array).collect());
        }
        work
    }
}

/// The sound inputs after some steps.
#[track_caller]
fn changed(steps: &str) -> Work {
    let mut inputs = Inputs::sound();
    inputs.change(steps);
    inputs.write()
}

/// Runs the inputs after a change of the files: status 3, these words, a hint, and no output
/// folder.
#[track_caller]
fn refused_files(spoil: impl FnOnce(&Work), code: &str, words: &[&str]) {
    let work = changed("");
    spoil(&work);
    assert_refused(&work, code, words);
}

#[track_caller]
fn assert_refused(work: &Work, code: &str, words: &[&str]) {
    let ran = work.run(3, "job.yaml", "");
    ran.says(&[&format!("error[{code}]"), "hint: "]);
    ran.says(words);
    assert!(ran.stdout.is_empty() && !ran.stderr.contains("panicked"), "{}", ran.stderr);
    let left: Vec<String> = fs::read_dir(work.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!left.iter().any(|name| name.contains("out")), "left behind: {left:?}");
}

/// Cases with blank lines between them: a code with the words of the message, and the steps of
/// [`Inputs::change`] that lead to it.
#[track_caller]
fn refused(cases: &str) {
    for case in cases.trim().split("\n\n") {
        let (error, steps) = case.split_once('\n').unwrap();
        let (code, words) = error.split_once(": ").unwrap();
        assert_refused(&changed(steps), code, &words.split(" | ").collect::<Vec<_>>());
    }
}

#[test]
fn sound_inputs_run() {
    assert_eq!(changed("").run(0, "job.yaml", "").summary()["rows"], 20);
}

#[test]
fn columns_and_values_that_are_not_there() {
    refused(
        "
missing-column: `rows.parquet` | `agee` | did you mean `age`?
~  features: {continuous: [agee]}

missing-column: `rows.parquet` | `no-id` | `repaid`
~  row_id: no-id

unknown-group: `sex` | `rows.parquet` | `f`
~    sex: {groups: [female, male], reference: male}

unknown-label-value: `maybe` | `repaid` | `rows.parquet`
~  label: {column: repaid, positive: [maybe], favourable: positive}

unknown-label-value: `yes` | `repaid`
rows.repaid = no

one-class: same label
rows.repaid = yes

infinite-value: `rows.parquet` | row 7 | column `age` | `inf`
rows.age[7] = inf

missing-column: `repaid2`
~  features: {continuous: [age, repaid2]}

not-an-id: column `age` | `rows.parquet`
~  row_id: age
-  features

duplicate-row-id: `103` | row 3 | row 9 | column `id`
rows.id[9] = 103
",
    );
}

#[test]
fn scores_out_of_range() {
    for score in ["inf", "-inf", "1.5", "-0.25"] {
        refused(&format!(
            "
bad-scores: `scores.parquet` | row 11 (row_id `111`) | column `score` | `{score}`
scores.score[11] = {score}

bad-scores: `moved.parquet` | row 13 (row_id `113` | column `score` | `{score}`
moved.score[13] = {score}
"
        ));
    }
    refused(
        "bad-scores: `moved.parquet` | row 3 | column `to_group` | `x` | f, m
moved.to_group[3] = x",
    );
}

/// The label with a list of negative values.
const CLOSED: &str =
    "~  label: {column: repaid, positive: [\"yes\"], negative: [\"no\"], favourable: positive}";

/// Without a list of negative values all that are not positive are negative; with one, the two
/// lists are all there is.
#[test]
fn labels_that_are_not_declared() {
    changed(CLOSED).run(0, "job.yaml", "");
    refused(&format!(
        "
undeclared-label: `never` is neither | 2 rows have such a value: `never` (1), `often` (1) | \
         `rows.parquet` | row 7 | column `repaid` | job.yaml:7:
{CLOSED}
rows.repaid[7] = never
rows.repaid[20] = often

undeclared-label: did you mean `no`?
{CLOSED}
rows.repaid[7] = noo
"
    ));
    // In a closed list a positive value may be absent today; in an open one it is taken for a slip.
    let absent = changed(&format!("{CLOSED}\nrows.repaid = no"));
    absent.cfaudit(0, "check job.yaml --cache cache").stdout.says(&[
        "warning[absent-label]",
        "no row has the positive value `yes` of `repaid`",
        "`no` (",
        "no label in `repaid` is positive",
    ]);
    // What an open list leaves to the negative side is named.
    let open = changed("rows.repaid[7] = never");
    let stdout = open.cfaudit(0, "check job.yaml --cache cache").stdout;
    stdout.says(&["warning[unlisted-label]", "`never` (1)"]);
    open.run(0, "job.yaml", "");
}

/// All rows are audited, by the model whose scores are in files.
const SCORED_ONLY: &str = "-  split\n-  trained";

/// Every input of the list next to the expected values is refused, with file, column, row and
/// value; the others are among the cases of the other tests.
#[test]
fn inputs_that_must_be_refused() {
    let file = expected("metrics/edge/edge_expected.json");
    let expected: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let list = expected["must_be_errors"].as_array().unwrap();
    assert_eq!(list.len(), 8);
    for case in list {
        let (error, steps) = match case["what"].as_str().unwrap() {
            "score below 0 or above 1" => (
                "bad-scores: `scores.parquet` | row 11 (row_id `111`) | `-0.25`",
                "scores.score[11] = -0.25",
            ),
            "infinite score" => (
                "bad-scores: `moved.parquet` | row 13 (row_id `113` | `inf`",
                "moved.score[13] = inf",
            ),
            "the same row_id twice in the factual scores" => {
                ("duplicate-key: `scores.parquet` | row 40 (row_id `104`)", "scores + 104 0.5")
            }
            "the same (row_id, target) twice in the counterfactual scores" => (
                "duplicate-key: `moved.parquet` | row 40 (row_id `104`, to_group `m`)",
                "moved + 104 m 0.5",
            ),
            "a counterfactual row_id absent from the factual scores" => (
                "unknown-key: `moved.parquet` | row 5 (row_id `999`, to_group `f`)",
                "moved.row_id[5] = 999",
            ),
            "label values other than the two declared ones" => (
                "undeclared-label: `rows.parquet` | row 7 | column `repaid` | `never`",
                "~  label: {column: repaid, positive: [\"yes\"], negative: [\"no\"], favourable: \
                 positive}\nrows.repaid[7] = never",
            ),
            "all rows excluded" => (
                "nobody-counts: none of the 40 audited rows counts for `sex`: 40 have no score",
                "scores.score = NaN",
            ),
            "a counterfactual whose source group differs from the factual group" => {
                let work = changed(SCORED_ONLY);
                // Counterfactuals that say where their rows come from, one of them wrongly.
                Rows::of(0..40_usize)
                    .with("row_id", |i| 100 + i as i64)
                    .with("from_group", |i| if i == 12 { "m" } else { ["f", "m"][i % 2] })
                    .with("to_group", |i| ["m", "f"][i % 2])
                    .with("score", |_| 0.5)
                    .write(&work, "moved.parquet");
                let own = "names `m` as the row's own group, which is `f`";
                let row = "row 12 (row_id `112`";
                assert_refused(&work, "bad-scores", &["`moved.parquet`", row, "`from_group`", own]);
                continue;
            }
            other => panic!("`{other}` is not tried"),
        };
        refused(&format!("{error}\n{steps}\n{SCORED_ONLY}"));
    }
}

/// The remedy where a file answers an older request.
const AFRESH: &str = "remove the file (or name another one in the job) and run again";

/// A column of the score file is of another type, or names what the job does not know.
#[test]
fn columns_of_scores() {
    type Columns = Vec<(&'static str, ArrayRef)>;
    let check = |columns: Columns, words: &[&str]| {
        refused_files(|work| work.parquet("scores.parquet", columns), "bad-scores", words);
    };
    let ids = || ("row_id", column(100..140_i64));
    let scores = || ("score", column(vec![0.5; 40]));
    check(
        vec![ids(), ("score", column(vec!["0.5"; 40]))],
        &["column `score`", "it holds text, expected numbers"],
    );
    check(vec![ids(), ("score", column(vec![true; 40]))], &["it holds booleans, expected numbers"]);
    let lists =
        ListArray::from_iter_primitive::<Float64Type, _, _>((0..40).map(|_| Some([Some(0.5)])));
    check(
        vec![ids(), ("score", array(lists))],
        &["it holds lists, expected numbers", "one number per row"],
    );
    let gap = (100..140).map(|i| (i != 117).then_some(i)).collect::<Int64Array>();
    check(
        vec![("row_id", array(gap)), scores()],
        &["the row id is missing", "row 17 (row_id null)"],
    );
    let large =
        (0..40).map(|i| Some(if i == 3 { u64::MAX } else { i + 100 })).collect::<UInt64Array>();
    check(
        vec![("row_id", array(large)), scores()],
        &["column `row_id`", "18446744073709551615", "64-bit integers"],
    );
    let gender = |work: &Work| {
        Rows::of(0..40_usize)
            .with("row_id", |i| 100 + i as i64)
            .with("sensitive", |i| if i == 8 { "gender" } else { "sex" })
            .with("to_group", |i| ["m", "f"][i % 2])
            .with("score", |_| 0.5)
            .write(work, "moved.parquet");
    };
    let words = [
        "`moved.parquet`",
        "`gender` is not a sensitive attribute",
        "row 8 (row_id `108`, sensitive `gender`",
        "attributes of the job are `sex`",
    ];
    refused_files(gender, "bad-scores", &words);
}

#[test]
fn keys_of_scores() {
    refused(&format!(
        "
duplicate-key: `scores.parquet` | row 4 and again in row 40 (row_id `104`)
scores + 104 0.5

duplicate-key: `moved.parquet` | row 4 and again in row 40 (row_id `104`, to_group `m`)
moved + 104 m 0.5

unknown-key: `scores.parquet` | no row kept by this job has this row_id | row 5 (row_id \
         `999`) | {AFRESH}
scores.row_id[5] = 999

unknown-key: `moved.parquet` | no row kept by this job has this row_id | row 5 (row_id \
         `999`, to_group `f`) | {AFRESH}
moved.row_id[5] = 999

unknown-key: this entry has the row's own group | row 40 (row_id `104`, to_group `f`) | `recheck` \
         samples | {AFRESH}
{SCORED_ONLY}
moved + 104 f 0.5

incomplete-scores: `moved.parquet` | lacks 3 of the 40 keys | row_id `137`, sensitive `sex`, \
         to_group `f`, cf_index 0
{SCORED_ONLY}
moved - 37

incomplete-scores: `scores.parquet` | lacks 2 of the 40 keys | row_id `138` | null score
{SCORED_ONLY}
scores - 38

no-scores-found: `scores.parquet` | column `row_id`
scores - 0

missing-column: `scores.parquet` | `skore`
~      factual: {{parquet: scores.parquet, column: skore}}
"
    ));
    // A counterfactual that no row has.
    let work = changed(SCORED_ONLY);
    Rows::of(0..41_usize)
        .with("row_id", |i| if i == 40 { 106 } else { 100 + i as i64 })
        .with("to_group", |i| ["m", "f"][i % 2])
        .with("cf_index", |i| if i == 40 { 3_i64 } else { 0 })
        .with("score", |_| 0.5)
        .write(&work, "moved.parquet");
    let row = "row 40 (row_id `106`, to_group `m`, cf_index `3`)";
    assert_refused(&work, "unknown-key", &["no such counterfactual of it", row]);
}

/// Missing scores are counted, not refused; but a row that cannot be scored must be in the file.
#[test]
fn scores_that_are_missing_are_counted() {
    let missing = |file: &str, row: usize| format!("\n{file}.score[{row}] = NaN");
    let steps = [4, 7].map(|row| missing("scores", row)).concat()
        + &[9, 36, 37, 38, 39].map(|row| missing("moved", row)).concat();
    let work = changed(&format!("{SCORED_ONLY}{steps}"));
    work.run(0, "job.yaml", "");
    let counts = "n=40, n_missing_score=2, n_missing_counterfactual_score=5";
    work.table("groups").at("group=").holds(counts);
}

#[test]
fn files_that_cannot_be_read() {
    for file in ["rows.parquet", "scores.parquet", "moved.parquet"] {
        let named = format!("`{file}`");
        // Scores that nobody is writing any more.
        let write = move |work: &Work, bytes: &[u8]| {
            fs::write(work.path(file), bytes).unwrap();
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
            fs::File::options()
                .write(true)
                .open(work.path(file))
                .unwrap()
                .set_modified(then)
                .unwrap();
        };
        let spoil = |bytes: &'static [u8]| move |work: &Work| write(work, bytes);
        refused_files(spoil(b""), "unreadable-file", &[&named]);
        refused_files(spoil(b"id,sex,repaid,age\n1,f,yes,20\n"), "unreadable-file", &[&named]);
        let truncate = |work: &Work| {
            let bytes = fs::read(work.path(file)).unwrap();
            write(work, &bytes[..bytes.len() / 2]);
        };
        refused_files(truncate, "unreadable-file", &[&named]);
        // Bytes in the middle are the pages: the footer is sound and the values are not.
        let scramble = |work: &Work| {
            let mut bytes = fs::read(work.path(file)).unwrap();
            bytes[4..60].iter_mut().for_each(|byte| *byte = !*byte);
            fs::write(work.path(file), bytes).unwrap();
        };
        refused_files(scramble, "unreadable-file", &[&named]);
        if file != "rows.parquet" {
            let place = "\n  --> job.yaml:";
            let folder = |work: &Work| {
                fs::remove_file(work.path(file)).unwrap();
                fs::create_dir(work.path(file)).unwrap();
                fs::write(work.path(file).join("_SUCCESS"), "").unwrap();
            };
            let words = [&named, "holds no `.parquet` file", place];
            refused_files(folder, "missing-file", &words);
            let pipe = |work: &Work| {
                fs::remove_file(work.path(file)).unwrap();
                assert!(
                    std::process::Command::new("mkfifo")
                        .arg(work.path(file))
                        .status()
                        .unwrap()
                        .success()
                );
            };
            refused_files(pipe, "not-a-file", &[&named, "is a pipe, socket or device", place]);
        }
        // Scores that are not there are awaited.
        if file == "rows.parquet" {
            refused_files(
                |work| fs::remove_file(work.path(file)).unwrap(),
                "missing-file",
                &[&named],
            );
        }
    }
}

#[test]
fn nobody_is_left() {
    refused(
        "
no-rows: `rows.parquet`
rows - 0
scores - 0
moved - 0

no-rows: `rows.parquet` | age | 200
@  row_id
+  keep: [{age: {above: 200}}]

no-audit-rows: `sex`
~  split: {column: sex, train: [f, m], audit: [x]}
",
    );
}

/// One group alone is an audit of one group, and says so: comparisons have reasons, not values.
#[test]
fn one_group_only() {
    let work = changed("rows.sex = m\nmoved.to_group = f");
    assert_eq!(work.run(0, "job.yaml", "").summary()["rows"], 20);
    let metrics = work.table("metrics");
    assert!(metrics.has("scope=pair") && !metrics.has("scope=pair, value!="));
    assert!(!metrics.has("scope=pair, undefined="));
    work.read("out/annex.html").lacks(&["NaN"]);
}

/// Rates of counterfactuals into a group, by group and model: counted people, and the value of the
/// switch rate.
fn switch_rates(work: &Work, attribute: &str) -> Vec<(String, String, i64, Option<f64>)> {
    let metrics = work.table("metrics");
    metrics
        .of(&format!("metric=sr, scope=direction, sensitive={attribute}"))
        .map(|r| {
            (
                r.text("model").to_owned(),
                r.text("to_group").to_owned(),
                r.int("n_rows").unwrap(),
                r.real("value"),
            )
        })
        .collect()
}

/// A group that nobody belongs to, such as a misspelt one, is not a world in which nothing changes:
/// what depends on it has no value.
#[test]
fn groups_that_nobody_belongs_to() {
    let gate = |direction: &str| {
        format!(
            "+gates: {{g: {{metric: sr, model: trained, counterfactual: flip, direction: \
             {direction}, at_most: 0.5, enough: 1}}}}"
        )
    };
    let sex = "~    sex: {groups: [f, m, x], reference: m}\n-  live\n@";
    let work = changed(&format!("{sex}\n{}", gate("{sex: [f, x]}")));
    work.run(1, "job.yaml", "").says(&["g: inconclusive"]);
    for (model, to, n, rate) in switch_rates(&work, "sex") {
        assert_eq!(
            (n == 0, rate.is_none()),
            (to == "x" || n == 0, to == "x" || n == 0),
            "{model} to {to}: {n} people, {rate:?}"
        );
    }
    assert!(switch_rates(&work, "sex").iter().any(|(_, to, n, _)| to == "f" && *n > 0));

    // The same for a group of a mapped column: no raw value represents it, so there is no
    // counterfactual, and the folder says so.
    let gender = "-    sex
+    gender: {from: sex, map: {woman: [f], man: [m], other: [zz]}, reference: man}
~  features: {continuous: [age], nominal: [sex]}
-  live
@";
    let work = changed(&format!("{gender}\n{}", gate("{gender: [woman, other]}")));
    work.run(1, "job.yaml", "").says(&["g: inconclusive"]);
    let rates = switch_rates(&work, "gender");
    assert!(
        rates.iter().all(|(_, to, n, rate)| (to == "other") <= (*n == 0 && rate.is_none())),
        "{rates:?}"
    );
    work.table("issues").at("code=unreached-group").holds("where=gender, n=20");
    work.read("out/annex.html").says(&[
        "gives the value to write: 20 people have no counterfactual in group",
        "Sets only the columns from which the attribute is derived",
    ]);
}

#[test]
fn thresholds_that_are_none() {
    let with = |cutoff: &str| {
        let mut inputs = Inputs::sound();
        inputs.change("~  trained: {logistic: {l2: 1.0}, threshold: {column: cutoff}}");
        let cutoff = ("cutoff", Kind::Real, vec![cutoff.to_owned(); 40]);
        inputs.files.get_mut("rows").unwrap().push(cutoff);
        inputs.write()
    };
    with("0.5").run(0, "job.yaml", "");
    for (cutoff, code, words) in [
        ("1.5", "bad-threshold", "`1.5`"),
        ("-0.1", "bad-threshold", "row "),
        ("", "missing-threshold", "{cutoff: present}"),
    ] {
        assert_refused(&with(cutoff), code, &[words, "row ", "column `cutoff`", "job.yaml:"]);
    }
}

#[test]
fn an_output_folder_that_cannot_be_written() {
    let work = changed("");
    work.write("file", "");
    work.cfaudit(5, "run job.yaml --out file --cache cache").says(&["`file`", "hint: "]);
    work.cfaudit(5, "run job.yaml --out file/below --cache cache").says(&["`file/below`"]);
    work.cfaudit(5, "run job.yaml --out out --cache file").says(&["`file"]);
    assert!(!work.path("out").exists());

    fs::create_dir(work.path("closed")).unwrap();
    fs::set_permissions(work.path("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(work.path("closed/probe"), "").is_ok() {
        crate::work::skip("this user may write everywhere");
        return;
    }
    for args in ["run job.yaml --out closed/out --cache cache", "check job.yaml --cache closed/c"] {
        work.cfaudit(5, args).says(&[
            "cannot write to `closed",
            "hint: give this user access",
            "`--cache`",
        ]);
    }
    Ran::of(work.command("check ../job.yaml").current_dir(work.path("closed")), 5)
        .says(&["cannot write to `outputs/.cache`", "for the cache by `--cache`"]);
}

/// Words of the data and the job are text wherever they are shown.
#[test]
fn words_that_want_to_be_markup() {
    let evil = "<script>alert('f & m')</script>";
    let bell = "m\u{7}\u{1b}[31m\u{202e}\"";
    let mut inputs = Inputs::sound();
    inputs.change(
        r#"~    sex:
+      groups: ["<script>alert('f & m')</script>", "m\a\e[31m\u202e\""]
+      reference: "m\a\e[31m\u202e\""
@
+about: {decision: "</title><script>x()</script>", owner: "{{ 7 * 6 }}"}"#,
    );
    for (file, at) in [("rows", 1), ("moved", 1)] {
        for cell in &mut inputs.files.get_mut(file).unwrap()[at].2 {
            *cell = if cell == "f" { evil } else { bell }.to_owned();
        }
    }
    let work = inputs.write();
    let ran = Ran::of(
        work.command("run job.yaml --out out --cache cache --set")
            .arg("report.title=\"<img src=x onerror=y()>\""),
        0,
    );
    assert!(
        !ran.stderr.contains(['\u{7}', '\u{1b}', '\u{202e}']),
        "control characters reach the terminal:\n{:?}",
        ran.stderr
    );
    let page = work.read("out/annex.html");
    page.says(&["&lt;script&gt;alert("]);
    for raw in ["<script>alert", "<script>x()", "<img src=x", "\u{7}", "\u{1b}"] {
        assert!(!page.contains(raw), "{raw:?} is in the page");
    }
    page.says(&["{{ 7 * 6 }}"]);
}
