//! Models that are commands: what a program gets, how its scores are used, and every way in which
//! it can fail.
//!
//! The programs are small shell scripts. Those that answer well give back scores that the test has
//! written beforehand; with Python and pyarrow the shipped example runs too.

mod misbehaviour;
mod shipped;
mod stale;

use std::fs::{self, File};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use arrow::ipc::reader::StreamReader;
use cfaudit::num::seed::h;

use crate::batches::{read, write_stream};
use crate::work::{Rows, Says, Work, assert_same, batch, column, files};

const N: usize = 3000;

const JOB: &str = r"
cfaudit: 1
name: program
data:
  rows: {parquet: rows.parquet}
  row_id: id
  label: {column: repaid, positive: [1], favourable: positive}
  sensitive:
    sex: {groups: [1, 2], reference: 1}
  features:
    continuous: [age, income]
    nominal: [job, member]
  SPLIT
counterfactuals: {flip: naive}
models:
  live:
    command: COMMAND
metrics: {bootstrap: {samples: 20}}
run: {seed: 77}
";

/// A folder with rows and a job whose model is this command.
pub(crate) fn with_command(command: &str, split: &str) -> Work {
    let work = Work::new();
    write_job(&work, command, split);
    let rows = 0..N as i64;
    Rows::of(rows)
        .with("id", |i| 1000 + i)
        .with("sex", |i| 1 + i % 2)
        .with("age", |i| (i != 5).then_some(20 + i % 50))
        .with("income", |i| i as f64 / 8.0)
        .with("job", |i| (i % 7 > 0).then_some(["cook", "clerk"][i as usize % 2]))
        .with("member", |i| i % 3 == 0)
        .with("people", |i| 1.0 + (i % 3) as f64)
        .with("repaid", |i| i64::from(i % 5 < 2))
        .write(&work, "rows.parquet");
    work
}

fn write_job(work: &Work, command: &str, split: &str) {
    work.write("job.yaml", &JOB.replace("COMMAND", command).replace("SPLIT", split));
}

/// Some score in [0, 1] that distinguishes rows.
fn score(i: usize) -> f64 {
    (i * 37 % 1000) as f64 / 1000.0
}

fn scores(range: std::ops::Range<usize>) -> RecordBatch {
    batch(vec![("score", column(range.map(score)))])
}

/// Writes a stream of scores in batches that end at these rows, and in `again.arrow` those of the
/// rows that are scored a second time.
pub(crate) fn canned(work: &Work, below: &str, ends: &[usize]) {
    let from = [0].iter().chain(ends);
    let batches: Vec<_> = from.zip(ends).map(|(&from, &end)| scores(from..end)).collect();
    write_stream(&work.path(below), &batches);
    stream(work, "again.arrow", drawn(77).into_iter().map(score));
}

/// A command that is a shell script, as YAML.
fn shell(script: &str, more: &str) -> String {
    assert!(!script.contains('"'), "{script}");
    format!("{{score: [sh, -c, \"{script}\"]{more}}}")
}

/// Answers well: few bytes are the rows that are scored a second time.
pub(crate) const WELL: &str =
    "if [ $(wc -c) -lt 20000 ]; then cat again.arrow; else cat canned.arrow; fi";

/// The 100 rows of all that are scored a second time, in reverse order: those with the lowest
/// hashes of their keys.
fn drawn(seed: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..N).collect();
    rows.sort_by_key(|&i| h(seed, 1000 + i as u64, u64::from_le_bytes(*b"recheck\0")));
    rows.truncate(100);
    rows.sort_unstable_by_key(|&i| std::cmp::Reverse(i));
    rows
}

/// How many of them each fold audits, where folds are drawn without strata.
fn drawn_by_fold(seed: u64, n_folds: usize) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..N).collect();
    rows.sort_by_key(|&i| h(seed, 1000 + i as u64, 0));
    let mut counts = vec![0; n_folds];
    let again = drawn(seed);
    rows.iter()
        .enumerate()
        .filter(|(_, i)| again.contains(i))
        .for_each(|(rank, _)| counts[rank % n_folds] += 1);
    counts
}

/// Writes a stream of these scores.
fn stream(work: &Work, below: &str, scores: impl Iterator<Item = f64>) {
    write_stream(&work.path(below), &[batch(vec![("score", column(scores))])]);
}

/// Fold, factual and counterfactual score of each outcome, in the order of the rows.
fn outcomes(work: &Work) -> Vec<(i64, f64, f64)> {
    let frame = work.table("outcomes");
    frame
        .records()
        .map(|r| (r.int("fold").unwrap(), r.real("score").unwrap(), r.real("score_cf").unwrap()))
        .collect()
}

#[test]
fn scores_reach_their_rows() {
    let work = with_command(&shell(WELL, ""), "");
    canned(&work, "canned.arrow", &[1, 1, 2000, N]);
    work.run(0, "job.yaml", "").says(&[
        &format!("score/model=live: starts `sh -c '{WELL}'`"),
        "score/model=live: the command ended with exit status 0 after",
    ]);
    let rows = outcomes(&work);
    assert_eq!(rows.len(), N);
    // The canned scores are those of the rows in their order, for the rows as they are and as the
    // other sex.
    assert!(rows.iter().enumerate().all(|(i, row)| row.1 == score(i) && row.2 == score(i)));
    // Nothing that was there for the program alone is kept, and nothing runs twice.
    assert!(files(&work.path("cache")).keys().all(|name| !name.contains("scratch")));
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    work.read("out/annex.html").says(&["scores of a program"]);
}

/// The one batch of a stream that a program has kept.
fn received(work: &Work, below: &str) -> RecordBatch {
    let mut reader = StreamReader::try_new(File::open(work.path(below)).unwrap(), None).unwrap();
    reader.next().unwrap().unwrap()
}

#[test]
fn a_program_sees_the_source_and_never_the_label() {
    let keep = "cat > seen-$$.arrow; if [ $(wc -c < seen-$$.arrow) -lt 20000 ]; then rm \
                seen-$$.arrow; cat again.arrow; else cat canned.arrow; fi";
    let work = with_command(&shell(keep, ", omit: [income]"), "");
    canned(&work, "canned.arrow", &[N]);
    let find = || {
        let mut names: Vec<String> =
            files(&work.path("")).into_keys().filter(|n| n.starts_with("seen-")).collect();
        names.sort_by_key(|n| fs::metadata(work.path(n)).unwrap().modified().unwrap());
        names
    };
    work.run(0, "job.yaml", "");
    let names = find();
    assert_eq!(names.len(), 2, "one process for the rows, one for the counterfactuals");
    let batch = received(&work, &names[0]);
    let fields: Vec<String> = batch
        .schema()
        .fields()
        .iter()
        .map(|f| format!("{}: {}", f.name(), f.data_type()))
        .collect();
    // Integers of which some are missing are floats.
    assert_eq!(fields, ["sex: Int64", "age: Float64", "job: Utf8", "member: Boolean"]);
    assert_eq!(batch.num_rows(), N);
    let integers = |batch: &RecordBatch, i: usize| {
        batch.column(i).as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
    };
    assert_eq!(integers(&batch, 0)[..3], [Some(1), Some(2), Some(1)]);
    let ages = batch.column(1).as_primitive::<Float64Type>();
    assert_eq!(ages.iter().skip(4).take(3).collect::<Vec<_>>(), [Some(24.0), None, Some(26.0)]);
    assert_eq!(
        batch.column(2).as_string::<i32>().iter().take(3).collect::<Vec<_>>(),
        [None, Some("clerk"), Some("cook")]
    );
    assert!(batch.column(3).as_boolean().value(3) && !batch.column(3).as_boolean().value(4));
    // The counterfactual differs in the sensitive column alone.
    let other = received(&work, &names[1]);
    assert_eq!(integers(&other, 0)[..3], [Some(2), Some(1), Some(2)]);
    assert!((1..4).all(|i| other.column(i) == batch.column(i)));

    // The bytes do not depend on how rows are cut and how many threads there are.
    let bytes: Vec<Vec<u8>> = names.iter().map(|n| fs::read(work.path(n)).unwrap()).collect();
    let before = work.results();
    work.cfaudit(0, "run job.yaml --out out --cache cache2 --batch-rows 1024 --threads 1");
    let again: Vec<Vec<u8>> = find()[2..].iter().map(|n| fs::read(work.path(n)).unwrap()).collect();
    assert!(bytes == again);
    assert_same(&before, &work.results(), "other batches");
}

#[test]
fn rows_and_scores_may_travel_in_files() {
    let script = "if [ $(wc -c < $0) -lt 6000 ]; then cp again.parquet $1; else cp $0 \
                  seen.parquet; cp canned.parquet $1; fi; echo for people";
    let command = format!(
        "{{score: [sh, -c, \"{script}\", '{{rows}}', '{{scores}}'], stream: parquet-files}}"
    );
    let work = with_command(&command, "");
    work.parquet(
        "canned.parquet",
        vec![("index", column(0..N as i64)), ("score", Arc::clone(scores(0..N).column(0)))],
    );
    let again = column(drawn(77).into_iter().map(score));
    work.parquet("again.parquet", vec![("index", column(0..100_i64)), ("score", again)]);
    work.run(0, "job.yaml", "");
    assert!(outcomes(&work).iter().enumerate().all(|(i, row)| row.1 == score(i)));
    let batch = read(&work.path("seen.parquet"));
    let names: Vec<String> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["sex", "age", "income", "job", "member"]);
    assert!(files(&work.path("cache")).keys().all(|name| !name.contains("scratch")));

    write_job(&work, &command.replace("cp canned.parquet $1", "true"), "");
    work.run(3, "job.yaml", "").says(&[
        "error[bad-output]: the command of model `live` did not write the file `{scores}`",
    ]);
    write_job(&work, &command.replace("cp canned.parquet $1", "echo rubbish > $1"), "");
    work.run(3, "job.yaml", "").says(&["error[bad-output]: the command of model `live` wrote a \
                                        file `{scores}` that cannot be read"]);
}

#[test]
fn counterfactuals_are_named_by_row_and_group() {
    // The first process scores the rows, another one their counterfactuals.
    let script = "if [ $(wc -c) -lt 20000 ]; then cat again.arrow; elif mkdir first; then cat \
                  canned.arrow; else cat bad.arrow; fi 2> /dev/null";
    let work = with_command(&shell(script, ""), "");
    canned(&work, "canned.arrow", &[N]);
    stream(&work, "bad.arrow", (0..N).map(|i| if i == 4 { -0.25 } else { 0.5 }));
    work.run(3, "job.yaml", "").says(&[
        "gave the score `-0.25`",
        "in row_id `1004`, counterfactual with `sex` = `2` (score 4 of its output, from 0)",
    ]);
}

/// People who weigh more than others do so in the training of a program too.
#[test]
fn training_rows_carry_their_weights() {
    let command = "{train: [sh, -c, 'cat > seen-train.arrow; echo > $0', '{model}'], score: [sh, \
                   -c, 'if [ $(wc -c) -lt 20000 ]; then cat again-$1.arrow; else cat canned.arrow; \
                   fi', '{model}', '{fold}']}";
    let work = with_command(command, "split: {folds: 2, stratify: none}\n  weight: people");
    canned(&work, "canned.arrow", &[N / 2]);
    for (fold, n) in drawn_by_fold(77, 2).into_iter().enumerate() {
        stream(&work, &format!("again-{fold}.arrow"), std::iter::repeat_n(0.5, n));
    }
    work.run(0, "job.yaml", "");
    let batch = received(&work, "seen-train.arrow");
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names[names.len() - 2..], ["label", "weight"]);
    let [income, weight] =
        [2, names.len() - 1].map(|k| batch.column(k).as_primitive::<Float64Type>());
    // income = row / 8, people = 1 + row % 3.
    assert_eq!(batch.num_rows(), N / 2);
    assert!((0..N / 2).all(|k| weight.value(k) == 1.0 + (income.value(k) * 8.0) % 3.0));
}

#[test]
fn folds_are_scored_by_their_own_model() {
    let command = "{train: [sh, -c, \"cat > seen-train-$2.arrow; echo seed $1 fold $2 > $0\", \
                   '{model}', '{seed}', '{fold}'], score: [sh, -c, \"a=canned; if [ $(wc -c) -lt \
                   20000 ]; then a=again; fi; cat $0 >&2; grep -q 'fold '$1 $0 && cat \
                   $a-$1.arrow\", '{model}', '{fold}']}";
    let work = with_command(command, "split: {folds: 3, stratify: none}");
    let value = |fold: usize| 0.2 + fold as f64 / 10.0;
    let write = |name: &str, fold: usize, n: usize| {
        stream(&work, &format!("{name}-{fold}.arrow"), std::iter::repeat_n(value(fold), n))
    };
    let write_again = |seed: u64| {
        drawn_by_fold(seed, 3).into_iter().enumerate().for_each(|(fold, n)| write("again", fold, n))
    };
    write_again(77);
    (0..3).for_each(|fold| write("canned", fold, N / 3));
    let ran = work.run(0, "job.yaml", "--log-file log");
    let rows = outcomes(&work);
    assert_eq!(rows.len(), N);
    for row in rows {
        let value = 0.2 + row.0 as f64 / 10.0;
        assert!(row.1 == value && row.2 == value, "{row:?}");
    }
    work.read("log").says(&["seed 77 fold 2"]);
    assert_eq!(ran.stderr.matches("train/model=live: the command ended").count(), 3);
    // Training rows have their label last, and are those of the other folds.
    let batch = received(&work, "seen-train-0.arrow");
    assert_eq!(batch.schema().fields().last().map(|f| f.name().as_str()), Some("label"));
    assert_eq!(batch.num_rows(), 2 * N / 3);
    let (labels, income) = (
        batch.column(5).as_primitive::<Int64Type>(),
        batch.column(2).as_primitive::<Float64Type>(),
    );
    // income = row / 8, repaid = row % 5 < 2.
    assert!(
        (0..labels.len())
            .all(|k| labels.value(k) == i64::from((income.value(k) * 8.0) as usize % 5 < 2))
    );

    // Another seed trains and scores again, another number of threads does not.
    work.run(0, "job.yaml", "--threads 3").says(&["nothing to do"]);
    write_again(78);
    work.run(0, "job.yaml", "--set run.seed=78").says(&["train/model=live: runs, "]);
    // A program that leaves no model.
    write_job(&work, &command.replace("> $0", "> other"), "split: {folds: 3, stratify: none}");
    work.run(3, "job.yaml", "").says(&[
        "error[bad-output]: the command of model `live`, fold 0 ended without a model at ",
    ]);
}
