//! Data that are wrong: the exact exit status, a message that names file, column and row and says
//! what to do, and nothing incomplete.

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

/// What a job depends on, sound at first: forty people, a score for each, and one for each with the
/// other sex.
struct Inputs {
    job: String,
    id: Vec<i64>,
    sex: Vec<&'static str>,
    repaid: Vec<&'static str>,
    age: Vec<f64>,
    scores: Vec<(i64, f64)>,
    moved: Vec<(i64, &'static str, f64)>,
}

impl Inputs {
    fn sound() -> Self {
        let rows = 0..40_i64;
        Inputs {
            job: JOB.to_owned(),
            id: rows.clone().map(|i| i + 100).collect(),
            sex: rows.clone().map(|i| if i % 2 == 0 { "f" } else { "m" }).collect(),
            repaid: rows.clone().map(|i| if i % 3 == 0 { "yes" } else { "no" }).collect(),
            age: rows.clone().map(|i| 20.0 + i as f64).collect(),
            scores: rows.clone().map(|i| (i + 100, i as f64 / 40.0)).collect(),
            moved: rows
                .map(|i| (i + 100, if i % 2 == 0 { "m" } else { "f" }, i as f64 / 50.0))
                .collect(),
        }
    }

    /// Changes the job, with the steps of a refused job.
    #[track_caller]
    fn patch(&mut self, steps: &str) {
        self.job = patched(&self.job, steps);
    }

    fn write(self) -> Work {
        let work = Work::new();
        work.write("job.yaml", &self.job);
        work.parquet(
            "rows.parquet",
            vec![
                ("id", column(self.id)),
                ("sex", column(self.sex)),
                ("repaid", column(self.repaid)),
                ("age", column(self.age)),
            ],
        );
        Rows::of(self.scores.iter())
            .with("row_id", |s| s.0)
            .with("score", |s| s.1)
            .write(&work, "scores.parquet");
        Rows::of(self.moved.iter())
            .with("row_id", |s| s.0)
            .with("to_group", |s| s.1)
            .with("score", |s| s.2)
            .write(&work, "moved.parquet");
        work
    }
}

/// Runs the inputs after a change of the files: status 3, these words, a hint, and no output
/// folder.
#[track_caller]
fn refused_files(
    change: impl FnOnce(&mut Inputs),
    spoil: impl FnOnce(&Work),
    code: &str,
    words: &[&str],
) {
    let mut inputs = Inputs::sound();
    change(&mut inputs);
    let work = inputs.write();
    spoil(&work);
    assert_refused(&work, 3, code, words);
}

#[track_caller]
fn assert_refused(work: &Work, status: i32, code: &str, words: &[&str]) {
    let ran = work.run(status, "job.yaml", "");
    ran.says(&[&format!("error[{code}]"), "hint: "]);
    ran.says(words);
    assert!(ran.stdout.is_empty() && !ran.stderr.contains("panicked"), "{}", ran.stderr);
    let left: Vec<String> = fs::read_dir(work.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!left.iter().any(|name| name.contains("out")), "left behind: {left:?}");
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Inputs), code: &str, words: &[&str]) {
    refused_files(change, |_| (), code, words);
}

#[test]
fn sound_inputs_run() {
    assert_eq!(Inputs::sound().write().run(0, "job.yaml", "").summary()["rows"], 20);
}

#[test]
fn columns_and_values_that_are_not_there() {
    refused(
        |i| i.patch("~  features: {continuous: [agee]}"),
        "missing-column",
        &["`rows.parquet`", "`agee`", "did you mean `age`?"],
    );
    refused(
        |i| i.patch("~  row_id: no-id"),
        "missing-column",
        &["`rows.parquet`", "`no-id`", "`repaid`"],
    );
    refused(
        |i| i.patch("~    sex: {groups: [female, male], reference: male}"),
        "unknown-group",
        &["`sex`", "`rows.parquet`", "`f`"],
    );
    refused(
        |i| i.patch("~  label: {column: repaid, positive: [maybe], favourable: positive}"),
        "unknown-label-value",
        &["`maybe`", "`repaid`", "`rows.parquet`"],
    );
    refused(|i| i.repaid.fill("no"), "unknown-label-value", &["`yes`", "`repaid`"]);
    refused(|i| i.repaid.fill("yes"), "one-class", &["same label"]);
}

#[test]
fn numbers_and_ids() {
    refused(
        |i| i.age[7] = f64::INFINITY,
        "infinite-value",
        &["`rows.parquet`", "row 7", "column `age`", "`inf`"],
    );
    refused(
        |i| i.patch("~  features: {continuous: [age, repaid2]}"),
        "missing-column",
        &["`repaid2`"],
    );
    refused(
        |i| i.patch("~  row_id: age\n-  features"),
        "not-an-id",
        &["column `age`", "`rows.parquet`"],
    );
    refused(|i| i.id[9] = 103, "duplicate-row-id", &["`103`", "row 3", "row 9", "column `id`"]);
}

#[test]
fn scores_out_of_range() {
    for (score, shown) in [
        (f64::INFINITY, "`inf`"),
        (f64::NEG_INFINITY, "`-inf`"),
        (1.5, "`1.5`"),
        (-0.25, "`-0.25`"),
    ] {
        refused(
            |i| i.scores[11].1 = score,
            "bad-scores",
            &["`scores.parquet`", "row 11", "column `score`", shown],
        );
        refused(
            |i| i.moved[13].2 = score,
            "bad-scores",
            &["`moved.parquet`", "row 13", "column `score`"],
        );
    }
    refused(
        |i| i.moved[3].1 = "x",
        "bad-scores",
        &["`moved.parquet`", "row 3", "column `to_group`", "`x`", "f, m"],
    );
}

/// The label with a list of negative values.
const CLOSED: &str =
    "~  label: {column: repaid, positive: [\"yes\"], negative: [\"no\"], favourable: positive}";

/// Without a list of negative values all that are not positive are negative; with one, the two
/// lists are all there is.
#[test]
fn labels_that_are_not_declared() {
    let closed = |i: &mut Inputs| i.patch(CLOSED);
    let mut inputs = Inputs::sound();
    closed(&mut inputs);
    inputs.write().run(0, "job.yaml", "");
    let place = ["`rows.parquet`", "row 7", "column `repaid`", "job.yaml:7:"];
    let strange = |i: &mut Inputs| {
        closed(i);
        (i.repaid[7], i.repaid[20]) = ("never", "often");
    };
    refused(
        strange,
        "undeclared-label",
        &[
            ["`never` is neither", "2 rows have such a value: `never` (1), `often` (1)"].as_slice(),
            &place,
        ]
        .concat(),
    );
    let misspelt = |i: &mut Inputs| {
        closed(i);
        i.repaid[7] = "noo";
    };
    refused(misspelt, "undeclared-label", &["did you mean `no`?"]);
    // In a closed list a positive value may be absent today; in an open one it is taken for a slip.
    let mut inputs = Inputs::sound();
    closed(&mut inputs);
    inputs.repaid.fill("no");
    let absent = [
        "warning[absent-label]",
        "no row has the positive value `yes` of `repaid`",
        "`no` (",
        "no label in `repaid` is positive",
    ];
    let told = inputs.write().cfaudit(0, "check job.yaml --cache cache").stdout;
    assert!(absent.iter().all(|words| told.contains(words)), "{told}");
    // What an open list leaves to the negative side is named.
    let mut inputs = Inputs::sound();
    inputs.repaid[7] = "never";
    let told = inputs.write().cfaudit(0, "check job.yaml --cache cache").stdout;
    told.says(&["warning[unlisted-label]", "`never` (1)"]);
    let mut inputs = Inputs::sound();
    inputs.repaid[7] = "never";
    inputs.write().run(0, "job.yaml", "");
}

/// All rows are audited, by the model whose scores are in files.
fn scored_only(i: &mut Inputs) {
    i.patch("-  split\n-  trained");
}

/// Counterfactuals that say where their rows come from, one of them wrongly.
fn of_another_group(work: &Work) {
    let own = |i: usize| if i == 12 { "m" } else { ["f", "m"][i % 2] };
    work.parquet(
        "moved.parquet",
        vec![
            ("row_id", column((100..140_i64).map(Some))),
            ("from_group", column((0..40).map(own))),
            ("to_group", column((0..40).map(|i| ["m", "f"][i % 2]))),
            ("score", column(vec![0.5; 40])),
        ],
    );
}

/// Every input of the list that lies with the expected values is refused, with file, column, row
/// and value.
#[test]
fn inputs_that_must_be_refused() {
    let file = expected("metrics/edge/edge_expected.json");
    let expected: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let list = expected["must_be_errors"].as_array().unwrap();
    assert_eq!(list.len(), 8);
    for case in list {
        let what = case["what"].as_str().unwrap();
        let change = |i: &mut Inputs| {
            scored_only(i);
            match what {
                "score below 0 or above 1" => i.scores[11].1 = -0.25,
                "infinite score" => i.moved[13].2 = f64::INFINITY,
                "the same row_id twice in the factual scores" => i.scores.push((104, 0.5)),
                "the same (row_id, target) twice in the counterfactual scores" => {
                    i.moved.push((104, "m", 0.5))
                }
                "a counterfactual row_id absent from the factual scores" => {
                    i.moved[5] = (999, "m", 0.5)
                }
                "a counterfactual whose source group differs from the factual group" => {}
                "label values other than the two declared ones" => {
                    i.patch(CLOSED);
                    i.repaid[7] = "never";
                }
                "all rows excluded" => i.scores.iter_mut().for_each(|score| score.1 = f64::NAN),
                other => panic!("`{other}` is not tried"),
            }
        };
        let spoil = |work: &Work| {
            if what.contains("source group") {
                of_another_group(work);
            }
        };
        let (code, words): (&str, &[&str]) = match what {
            "score below 0 or above 1" => (
                "bad-scores",
                &["`scores.parquet`", "row 11 (row_id `111`)", "column `score`", "`-0.25`"],
            ),
            "infinite score" => (
                "bad-scores",
                &["`moved.parquet`", "row 13 (row_id `113`", "column `score`", "`inf`"],
            ),
            "the same row_id twice in the factual scores" => {
                ("duplicate-key", &["`scores.parquet`", "row 4", "row 40 (row_id `104`)"])
            }
            "the same (row_id, target) twice in the counterfactual scores" => (
                "duplicate-key",
                &["`moved.parquet`", "row 4", "row 40 (row_id `104`, to_group `m`)"],
            ),
            "a counterfactual row_id absent from the factual scores" => {
                ("unknown-key", &["`moved.parquet`", "row 5 (row_id `999`, to_group `m`)"])
            }
            "label values other than the two declared ones" => {
                ("undeclared-label", &["`rows.parquet`", "row 7", "column `repaid`", "`never`"])
            }
            "all rows excluded" => (
                "nobody-counts",
                &["none of the 40 audited rows counts for `sex`: 40 have no score"],
            ),
            _ => {
                let own = "names `m` as the row's own group, which is `f`";
                (
                    "bad-scores",
                    &["`moved.parquet`", "row 12 (row_id `112`", "column `from_group`", own],
                )
            }
        };
        refused_files(change, spoil, code, words);
    }
}

/// The way out where a file answers an older request.
const AFRESH: &str = "remove the file (or name another one in the job) and run again";

/// A column of the score file is of another type, or names what the job does not know.
#[test]
fn columns_of_scores() {
    type Columns = Vec<(&'static str, ArrayRef)>;
    let check = |columns: Columns, words: &[&str]| {
        refused_files(
            |_| (),
            |work: &Work| work.parquet("scores.parquet", columns),
            "bad-scores",
            words,
        );
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
        let words = (0..40).map(|i| if i == 8 { "gender" } else { "sex" });
        let to = (0..40).map(|i| if i % 2 == 0 { "m" } else { "f" });
        work.parquet(
            "moved.parquet",
            vec![
                ids(),
                ("sensitive", column(words.map(Some))),
                ("to_group", column(to.map(Some))),
                scores(),
            ],
        );
    };
    let words = [
        "`moved.parquet`",
        "`gender` is not a sensitive attribute",
        "row 8 (row_id `108`, sensitive `gender`",
        "attributes of the job are `sex`",
    ];
    refused_files(|_| (), gender, "bad-scores", &words);
}

#[test]
fn keys_of_scores() {
    refused(
        |i| i.scores.push((104, 0.5)),
        "duplicate-key",
        &["`scores.parquet`", "row 4 and again in row 40 (row_id `104`)"],
    );
    refused(
        |i| i.moved.push((104, "m", 0.5)),
        "duplicate-key",
        &["`moved.parquet`", "row 4 and again in row 40 (row_id `104`, to_group `m`)"],
    );
    refused(
        |i| i.scores[5].0 = 999,
        "unknown-key",
        &[
            "`scores.parquet`",
            "no row kept by this job has this row_id\n",
            "row 5 (row_id `999`)",
            AFRESH,
        ],
    );
    refused(
        |i| i.moved[5] = (999, "m", 0.5),
        "unknown-key",
        &[
            "`moved.parquet`",
            "no row kept by this job has this row_id\n",
            "row 5 (row_id `999`, to_group `m`)",
            AFRESH,
        ],
    );
    // A counterfactual that no row has, and a separate row group.
    let index = |work: &Work| {
        let columns = |ids: &[i64], to: &[&str], index: &[i64]| {
            vec![
                ("row_id", column(ids.to_vec())),
                ("to_group", column(to.to_vec())),
                ("cf_index", column(index.to_vec())),
                ("score", column(vec![0.5; ids.len()])),
            ]
        };
        let mut all: Vec<(i64, &str, i64)> =
            (0..40).map(|i| (i + 100, if i % 2 == 0 { "m" } else { "f" }, 0)).collect();
        all.push((106, "m", 3));
        let (ids, rest): (Vec<i64>, Vec<(&str, i64)>) =
            all.into_iter().map(|(id, to, k)| (id, (to, k))).unzip();
        let (to, index): (Vec<&str>, Vec<i64>) = rest.into_iter().unzip();
        work.parquet("moved.parquet", columns(&ids, &to, &index));
    };
    refused_files(
        scored_only,
        index,
        "unknown-key",
        &["no such counterfactual of it", "row 40 (row_id `106`, to_group `m`, cf_index `3`)"],
    );
    let own = |i: &mut Inputs| {
        scored_only(i);
        i.moved.push((104, "f", 0.5));
    };
    refused(
        own,
        "unknown-key",
        &[
            "this entry has the row's own group",
            "row 40 (row_id `104`, to_group `f`)",
            "`recheck` samples",
            AFRESH,
        ],
    );
    let lack = |i: &mut Inputs| {
        scored_only(i);
        i.scores.retain(|s| ![107, 121].contains(&s.0));
    };
    refused(
        lack,
        "incomplete-scores",
        &["`scores.parquet`", "lacks 2 of the 40 keys", "row_id `107`", "null score"],
    );
    let lack = |i: &mut Inputs| {
        scored_only(i);
        i.moved.truncate(37);
    };
    let key = "row_id `137`, sensitive `sex`, to_group `f`, cf_index 0";
    refused(lack, "incomplete-scores", &["`moved.parquet`", "lacks 3 of the 40 keys", key]);
    refused(|i| i.scores.clear(), "no-scores-found", &["`scores.parquet`", "column `row_id`"]);
    refused(
        |i| i.patch("~      factual: {parquet: scores.parquet, column: skore}"),
        "missing-column",
        &["`scores.parquet`", "`skore`"],
    );
}

/// Missing scores are counted, not refused; but a row that cannot be scored must be in the file.
#[test]
fn scores_that_are_missing_are_counted() {
    let mut inputs = Inputs::sound();
    scored_only(&mut inputs);
    inputs.scores[4].1 = f64::NAN;
    inputs.scores[7].1 = f64::NAN;
    inputs.moved[9].2 = f64::NAN;
    inputs.moved[36..].iter_mut().for_each(|moved| moved.2 = f64::NAN);
    let work = inputs.write();
    work.run(0, "job.yaml", "");
    let groups = work.table("groups");
    let all = groups.at("group=");
    let count = |name: &str| all.int(name).unwrap();
    assert_eq!(
        [count("n"), count("n_missing_score"), count("n_missing_counterfactual_score")],
        [40, 2, 5]
    );
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
        refused_files(|_| (), spoil(b""), "unreadable-file", &[&named]);
        refused_files(
            |_| (),
            spoil(b"id,sex,repaid,age\n1,f,yes,20\n"),
            "unreadable-file",
            &[&named],
        );
        let truncate = |work: &Work| {
            let bytes = fs::read(work.path(file)).unwrap();
            write(work, &bytes[..bytes.len() / 2]);
        };
        refused_files(|_| (), truncate, "unreadable-file", &[&named]);
        // Bytes in the middle are the pages: the footer is sound and the values are not.
        let scramble = |work: &Work| {
            let mut bytes = fs::read(work.path(file)).unwrap();
            bytes[4..60].iter_mut().for_each(|byte| *byte = !*byte);
            fs::write(work.path(file), bytes).unwrap();
        };
        refused_files(|_| (), scramble, "unreadable-file", &[&named]);
        if file != "rows.parquet" {
            let place = "\n  --> job.yaml:";
            let folder = |work: &Work| {
                fs::remove_file(work.path(file)).unwrap();
                fs::create_dir(work.path(file)).unwrap();
                fs::write(work.path(file).join("_SUCCESS"), "").unwrap();
            };
            let words = [&named, "holds no `.parquet` file", place];
            refused_files(|_| (), folder, "missing-file", &words);
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
            refused_files(
                |_| (),
                pipe,
                "not-a-file",
                &[&named, "is a pipe, socket or device", place],
            );
        }
        // Scores that are not there are awaited.
        if file == "rows.parquet" {
            refused_files(
                |_| (),
                |work| fs::remove_file(work.path(file)).unwrap(),
                "missing-file",
                &[&named],
            );
        }
    }
}

#[test]
fn nobody_is_left() {
    let nobody = |i: &mut Inputs| {
        (i.id, i.sex, i.repaid, i.age) = Default::default();
        (i.scores, i.moved) = Default::default();
    };
    refused(nobody, "no-rows", &["`rows.parquet`"]);
    refused(
        |i| i.patch("@  row_id\n+  keep: [{age: {above: 200}}]"),
        "no-rows",
        &["`rows.parquet`", "age", "200"],
    );
    refused(
        |i| i.patch("~  split: {column: sex, train: [f, m], audit: [x]}"),
        "no-audit-rows",
        &["`sex`"],
    );
}

/// One group alone is an audit of one group, and says so: comparisons have reasons, not values.
#[test]
fn one_group_only() {
    let mut inputs = Inputs::sound();
    inputs.sex.fill("m");
    inputs.moved.iter_mut().for_each(|moved| moved.1 = "f");
    let work = inputs.write();
    assert_eq!(work.run(0, "job.yaml", "").summary()["rows"], 20);
    let metrics = work.table("metrics");
    let pairs: Vec<_> = metrics.of("scope=pair").collect();
    assert!(
        !pairs.is_empty()
            && pairs.iter().all(|r| r.real("value").is_none() && !r.text("undefined").is_empty())
    );
    assert!(!work.read("out/annex.html").contains("NaN"));
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
    let mut inputs = Inputs::sound();
    inputs.patch("~    sex: {groups: [f, m, x], reference: m}\n-  live");
    let gate = "gates: {g: {metric: sr, model: trained, counterfactual: flip, direction: {sex: [f, \
                x]}, at_most: 0.5, enough: 1}}\n";
    inputs.job += gate;
    let work = inputs.write();
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
    let mut inputs = Inputs::sound();
    inputs.patch(
        "-    sex
+    gender: {from: sex, map: {woman: [f], man: [m], other: [zz]}, reference: man}
~  features: {continuous: [age], nominal: [sex]}
-  live",
    );
    inputs.job += &gate.replace("{sex: [f, x]}", "{gender: [woman, other]}");
    let work = inputs.write();
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
    let with = |cutoff: fn(usize) -> Option<f64>| {
        let mut inputs = Inputs::sound();
        inputs.patch("~  trained: {logistic: {l2: 1.0}, threshold: {column: cutoff}}");
        let people = inputs.id.len();
        let (id, sex, repaid, age) =
            (inputs.id.clone(), inputs.sex.clone(), inputs.repaid.clone(), inputs.age.clone());
        let work = inputs.write();
        work.parquet(
            "rows.parquet",
            vec![
                ("id", column(id)),
                ("sex", column(sex)),
                ("repaid", column(repaid)),
                ("age", column(age)),
                ("cutoff", column((0..people).map(cutoff))),
            ],
        );
        work
    };
    with(|_| Some(0.5)).run(0, "job.yaml", "");
    let place = ["row ", "column `cutoff`", "job.yaml:"];
    assert_refused(
        &with(|_| Some(1.5)),
        3,
        "bad-threshold",
        &[["`1.5`"].as_slice(), &place].concat(),
    );
    assert_refused(&with(|_| Some(-0.1)), 3, "bad-threshold", &place);
    assert_refused(
        &with(|_| None),
        3,
        "missing-threshold",
        &[["{cutoff: present}"].as_slice(), &place].concat(),
    );
}

#[test]
fn an_output_folder_that_cannot_be_written() {
    let work = Inputs::sound().write();
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
    inputs.patch(
        r#"~    sex:
+      groups: ["<script>alert('f & m')</script>", "m\a\e[31m\u202e\""]
+      reference: "m\a\e[31m\u202e\"""#,
    );
    inputs.job += "about: {decision: \"</title><script>x()</script>\", owner: \"{{ 7 * 6 }}\"}\n";
    inputs.sex.iter_mut().for_each(|sex| *sex = if *sex == "f" { evil } else { bell });
    inputs.moved.iter_mut().for_each(|moved| moved.1 = if moved.1 == "f" { evil } else { bell });
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
