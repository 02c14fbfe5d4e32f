//! Models that are commands: what a program gets, what becomes of its scores, and every way in
//! which it can go wrong.
//!
//! The programs are small shell scripts. Those that answer well give back scores that the test has
//! written beforehand; with Python and pyarrow the shipped example runs too.

use crate::frame::read_frame;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{Float64Type, Int64Type};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use cfaudit::num::seed::h;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::work::{Going, Ran, Work, assert_same, column, files, root};

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
    work.parquet(
        "rows.parquet",
        vec![
            ("id", column(rows.clone().map(|i| Some(1000 + i)).collect::<Int64Array>())),
            ("sex", column(rows.clone().map(|i| Some(1 + i % 2)).collect::<Int64Array>())),
            (
                "age",
                column(
                    rows.clone().map(|i| (i != 5).then_some(20 + i % 50)).collect::<Int64Array>(),
                ),
            ),
            (
                "income",
                column(rows.clone().map(|i| Some(i as f64 / 8.0)).collect::<Float64Array>()),
            ),
            (
                "job",
                column(
                    rows.clone()
                        .map(|i| (i % 7 > 0).then_some(["cook", "clerk"][i as usize % 2]))
                        .collect::<StringArray>(),
                ),
            ),
            ("member", column(rows.clone().map(|i| Some(i % 3 == 0)).collect::<BooleanArray>())),
            (
                "people",
                column(rows.clone().map(|i| Some(1.0 + (i % 3) as f64)).collect::<Float64Array>()),
            ),
            ("repaid", column(rows.map(|i| Some(i64::from(i % 5 < 2))).collect::<Int64Array>())),
        ],
    );
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
    RecordBatch::try_from_iter([(
        "score",
        column(Float64Array::from_iter_values(range.map(score))),
    )])
    .unwrap()
}

/// Writes a stream of scores in batches that end at these rows, and in `again.arrow` those of the
/// rows that are scored a second time.
pub(crate) fn canned(work: &Work, below: &str, ends: &[usize]) {
    let mut writer =
        StreamWriter::try_new(File::create(work.path(below)).unwrap(), &scores(0..0).schema())
            .unwrap();
    let mut from = 0;
    for &end in ends {
        writer.write(&scores(from..end)).unwrap();
        from = end;
    }
    writer.finish().unwrap();
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

/// The 100 rows of all that are scored a second time, in order: those with the lowest hashes of
/// their keys.
fn drawn(seed: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..N).collect();
    rows.sort_by_key(|&i| h(seed, 1000 + i as u64, u64::from_le_bytes(*b"recheck\0")));
    rows.truncate(100);
    rows.sort_unstable();
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
    let batch =
        RecordBatch::try_from_iter([("score", column(Float64Array::from_iter_values(scores)))])
            .unwrap();
    let mut writer =
        StreamWriter::try_new(File::create(work.path(below)).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

/// Fold, factual and counterfactual score of each outcome, in the order of the rows.
fn outcomes(work: &Work) -> Vec<(i64, f64, f64)> {
    let frame = read_frame(&work.path("out/rows"), "outcomes");
    frame
        .records()
        .map(|r| (r.int("fold").unwrap(), r.real("score").unwrap(), r.real("score_cf").unwrap()))
        .collect()
}

#[test]
fn scores_reach_their_rows() {
    let work = with_command(&shell(WELL, ""), "");
    canned(&work, "canned.arrow", &[1, 1, 2000, N]);
    let ran = work.run(0, "job.yaml", "");
    ran.says(&[
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
    let page = fs::read_to_string(work.path("out/annex.html")).unwrap();
    assert!(page.contains("scores of a program"));
}

/// The one batch of a stream that a program has kept.
fn seen(work: &Work, below: &str) -> RecordBatch {
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
    let batch = seen(&work, &names[0]);
    let fields: Vec<String> = batch
        .schema()
        .fields()
        .iter()
        .map(|f| format!("{}: {}", f.name(), f.data_type()))
        .collect();
    assert_eq!(fields, ["sex: Int64", "age: Int64", "job: Utf8", "member: Boolean"]);
    assert_eq!(batch.num_rows(), N);
    let integers = |batch: &RecordBatch, i: usize| {
        batch.column(i).as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
    };
    assert_eq!(integers(&batch, 0)[..3], [Some(1), Some(2), Some(1)]);
    assert_eq!(integers(&batch, 1)[4..7], [Some(24), None, Some(26)]);
    assert_eq!(
        batch.column(2).as_string::<i32>().iter().take(3).collect::<Vec<_>>(),
        [None, Some("clerk"), Some("cook")]
    );
    assert!(batch.column(3).as_boolean().value(3) && !batch.column(3).as_boolean().value(4));
    // The counterfactual differs in the sensitive column alone.
    let other = seen(&work, &names[1]);
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
    let script = "n=$(ls call.* 2>/dev/null | wc -l); touch call.$n; if [ $n = 2 ]; then cp \
                  again.parquet $1; else cp $0 seen.parquet; cp canned.parquet $1; fi; echo for \
                  people";
    let command = format!(
        "{{score: [sh, -c, \"{script}\", '{{rows}}', '{{scores}}'], stream: parquet-files}}"
    );
    let work = with_command(&command, "");
    work.parquet(
        "canned.parquet",
        vec![
            ("index", column(Int64Array::from_iter_values(0..N as i64))),
            ("score", Arc::clone(scores(0..N).column(0))),
        ],
    );
    let again = column(Float64Array::from_iter_values(drawn(77).into_iter().map(score)));
    work.parquet(
        "again.parquet",
        vec![("index", column(Int64Array::from_iter_values(0..100))), ("score", again)],
    );
    work.run(0, "job.yaml", "");
    assert!(outcomes(&work).iter().enumerate().all(|(i, row)| row.1 == score(i)));
    let mut reader =
        ParquetRecordBatchReaderBuilder::try_new(File::open(work.path("seen.parquet")).unwrap())
            .unwrap()
            .build()
            .unwrap();
    let batch = reader.next().unwrap().unwrap();
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

/// Runs a job whose program does this; it must end with status 3 and these words, with the command,
/// and the line of the job.
#[track_caller]
fn refused(script: &str, code: &str, words: &[&str]) {
    let work = with_command(&shell(script, ", time_limit: 20s"), "");
    canned(&work, "canned.arrow", &[N]);
    canned(&work, "short.arrow", &[N - 1]);
    canned(&work, "long.arrow", &[N + 1]);
    let bad = |below: &str, value: ArrayRef, name: &str| {
        let batch = RecordBatch::try_from_iter_with_nullable([(name, value, true)]).unwrap();
        let mut writer =
            StreamWriter::try_new(File::create(work.path(below)).unwrap(), &batch.schema())
                .unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    };
    let with = |i: usize, value: Option<f64>| {
        column((0..N).map(|k| if k == i { value } else { Some(0.5) }).collect::<Float64Array>())
    };
    bad("nan.arrow", with(17, Some(f64::NAN)), "score");
    bad("null.arrow", with(18, None), "score");
    bad("high.arrow", with(2999, Some(1.5)), "score");
    bad("integer.arrow", column(Int64Array::from(vec![1; N])), "score");
    bad("prob.arrow", with(0, Some(0.5)), "prob");
    let started = Instant::now();
    let ran = work.run(3, "job.yaml", "");
    assert!(started.elapsed() < Duration::from_secs(19), "the time limit ended it");
    ran.says(&[
        &format!("error[{code}]: the command of model `live` "),
        "\n  command: `sh -c ",
        "\n  --> job.yaml:17:",
        "\n  hint: ",
    ]);
    ran.says(words);
    assert!(!work.path("out").exists(), "something was published");
}

#[test]
fn every_misbehaviour_is_said() {
    refused(
        "cat > /dev/null; echo about to fail >&2; exit 9",
        "command-failed",
        &["failed with exit status 9", "\n  | about to fail"],
    );
    refused(
        "exit 1",
        "command-failed",
        &["failed with exit status 1", "wrote nothing to its standard error"],
    );
    refused("kill -9 $$", "command-failed", &["failed with signal 9 (SIGKILL)", "out of memory"]);
    refused(
        "cat > /dev/null",
        "bad-output",
        &["wrote nothing to its standard output", "pyarrow.ipc.new_stream"],
    );
    refused(
        "cat > /dev/null; echo Loading; cat canned.arrow",
        "bad-output",
        &["did not write an Arrow stream", "begins with `Loading\\n"],
    );
    refused("echo rubbish; sleep 15", "bad-output", &["begins with `rubbish\\n`"]);
    refused(
        "cat > /dev/null; head -c 3000 canned.arrow",
        "bad-output",
        &["incomplete stream: in the middle of a batch"],
    );
    refused("cat > /dev/null; cat short.arrow", "bad-output", &["wrote 2999 scores for 3000 rows"]);
    refused("cat > /dev/null; cat long.arrow", "bad-output", &["wrote more scores than the 3000"]);
    refused(
        "cat > /dev/null; cat canned.arrow canned.arrow",
        "bad-output",
        &["after the end of the stream"],
    );
    refused(
        "cat > /dev/null; cat prob.arrow",
        "bad-output",
        &["with `prob`, expected exactly one column, `score`"],
    );
    refused("cat > /dev/null; cat integer.arrow", "bad-output", &["of type Int, expected Float64"]);
    refused(
        "cat > /dev/null; cat nan.arrow",
        "bad-scores",
        &[
            "gave no score (null or NaN) for a row",
            "in row_id `1017` (score 17 of its output, from 0)\n",
        ],
    );
    refused(
        "cat > /dev/null; cat null.arrow",
        "bad-scores",
        &[
            "gave no score",
            "in row_id `1018` (score 18 of its output, from 0)\n",
            "ended with: exit status 0",
        ],
    );
    refused(
        "cat > /dev/null; cat high.arrow",
        "bad-scores",
        &["gave the score `1.5`, which is not in [0, 1]", "in row_id `3999` (score 2999 "],
    );
}

/// A program that gives other scores when it is asked again: its numbers are shown, and no gate on
/// it is decided.
#[test]
fn a_program_that_answers_otherwise_the_second_time() {
    let work = with_command(&shell(WELL, ""), "");
    canned(&work, "canned.arrow", &[N]);
    let gates = "gates:\n  few: {metric: sr, model: live, counterfactual: flip, at_most: 0.9}\n\
                 on_inconclusive: warn\n";
    let job = fs::read_to_string(work.path("job.yaml")).unwrap();
    work.write("job.yaml", &format!("{job}{gates}"));
    let gate = || {
        let gates = read_frame(&work.path("out/tables"), "gates");
        let row = gates.records().next().unwrap();
        [row.text("verdict"), row.text("reason")].map(str::to_owned)
    };
    let issue = || {
        let issues = read_frame(&work.path("out/tables"), "issues");
        issues
            .records()
            .find(|row| row.text("code") == "not-repeatable")
            .map(|row| (row.int("n").unwrap(), row.text("text").to_owned()))
    };
    work.run(0, "job.yaml", "");
    assert_eq!((gate()[0].as_str(), issue()), ("pass", None));
    let recheck = || work.json("out/manifest.json")["models"][0]["recheck"].clone();
    assert_eq!(
        (&recheck()["rows"], &recheck()["differ"], &recheck()["largest"]),
        (&100.into(), &0.into(), &0.0.into())
    );
    // Three of the answers are others, one of them by less than is reported.
    let others = drawn(77).into_iter().map(score).enumerate().map(|(i, score)| match i {
        3 => (score + 0.25) % 1.0,
        40 => score.mul_add(0.5, 0.1),
        77 => score * (1.0 - 1e-9),
        _ => score,
    });
    stream(&work, "again.arrow", others);
    work.run(0, "job.yaml", "--force recheck/model=live")
        .says(&["warning: not-repeatable: model `live` scored 100 rows twice"]);
    let [verdict, reason] = gate();
    assert!(
        verdict == "inconclusive"
            && reason.starts_with("not-repeatable: the model scored 100 rows twice"),
        "{verdict}: {reason}"
    );
    let (n, text) = issue().unwrap();
    assert!(n == 2 && text.contains("2 of the scores differ"), "{text}");
    let page = fs::read_to_string(work.path("out/annex.html")).unwrap();
    assert!(page.contains("scored 100 rows twice") && page.contains("and 2 of them differ"));
    // The folder alone says so too.
    assert_eq!(work.cfaudit(0, "gate out").summary()["gates"]["inconclusive"], 1);
}

/// Asked again and again, the program's own switches are counted: gates are judged, and the floor
/// is behind the switch rates.
#[test]
fn a_program_that_is_asked_again_and_again() {
    let script = "if [ $(wc -c) -lt 20000 ]; then if test -e asked; then cat again.arrow; else \
                  touch asked; cat other.arrow; fi; else cat canned.arrow; fi";
    let work = with_command(&shell(script, ", recheck: {repeats: 2, share: 0.01}"), "");
    canned(&work, "canned.arrow", &[N]);
    // Of three answers about 20 of 100 rows one leads to another decision.
    let others = drawn(77).into_iter().map(score).enumerate();
    let others = others.map(|(i, score)| if i < 20 { (score + 0.5) % 1.0 } else { score });
    stream(&work, "other.arrow", others);
    let gates = "gates:\n  few: {metric: sr, model: live, counterfactual: flip, at_most: 0.9}\n\
                 on_inconclusive: warn\n";
    let job = fs::read_to_string(work.path("job.yaml")).unwrap();
    work.write("job.yaml", &format!("{job}{gates}"));
    work.run(0, "job.yaml", "").says(&[
        "warning: not-repeatable: model `live` scored 100 rows 2 times more",
        "is shown next to its switch rates",
    ]);
    let told = work.json("out/manifest.json")["models"][0]["recheck"]["switches"].clone();
    assert_eq!((&told["repeats"], &told["people"]), (&2.into(), &100.into()));
    let pairs =
        |floor: &str| ["numerator", "denominator"].map(|part| told[floor][part].as_u64().unwrap());
    assert_eq!(pairs("sr"), [20 * 2 * 2, 100 * 3 * 2]);
    // As many pairs turn from positive to negative as back.
    assert_eq!([pairs("psr")[0], pairs("nsr")[0]], [40, 40]);
    assert_eq!(pairs("psr")[1] + pairs("nsr")[1], 600);
    let [lo, hi] = ["lo", "hi"].map(|end| told["sr"][end].as_f64().unwrap());
    assert!(lo > 0.05 && lo < 80.0 / 600.0 && hi > 80.0 / 600.0 && hi < 0.25, "{lo} {hi}");
    let gates = read_frame(&work.path("out/tables"), "gates");
    assert_eq!(gates.records().next().unwrap().text("verdict"), "pass");
    assert_eq!(work.cfaudit(0, "gate out").summary()["gates"]["pass"], 1);
    let page = fs::read_to_string(work.path("out/annex.html")).unwrap();
    for words in ["Asked again: model", "scored 100 rows 2 times more", "13.3", "noise floor"] {
        assert!(page.contains(words), "{words}");
    }
}

/// The program represents anybody who writes to the input while a run reads it.
#[test]
fn an_input_that_changes_under_the_run() {
    let well = with_command(&shell(WELL, ""), "");
    canned(&well, "canned.arrow", &[N]);
    well.run(0, "job.yaml", "");
    let work = with_command(
        &shell(&format!("if test -e swap; then mv swap rows.parquet; fi; {WELL}"), ""),
        "",
    );
    canned(&work, "canned.arrow", &[N]);
    let rows = fs::read(work.path("rows.parquet")).unwrap();
    fs::write(work.path("swap"), [rows.as_slice(), b" "].concat()).unwrap();
    work.run(3, "job.yaml", "").says(&[
        "error[input-changed]: `rows.parquet` was replaced",
        "hint: ",
        "run again",
    ]);
    assert!(!work.path("out").exists(), "something was published");
    // Nothing of that stage was kept: with the rows back in place the numbers are those of an
    // undisturbed run.
    fs::write(work.path("rows.parquet"), &rows).unwrap();
    work.run(0, "job.yaml", "").says(&["score/model=live: runs, never run"]);
    assert_eq!(outcomes(&work), outcomes(&well));
}

#[test]
fn programs_that_cannot_start_or_do_not_end() {
    let check = |command: &str, words: &[&str]| {
        let work = with_command(command, "");
        let ran = work.run(3, "job.yaml", "");
        ran.says(words);
        ran.says(&["--> job.yaml:17:", "hint: "]);
    };
    check(
        "{score: [no-such-program]}",
        &["error[command-not-started]", "it is not in any folder of PATH"],
    );
    check(
        "{score: [./no-such-program]}",
        &[
            "error[command-not-started]",
            "the file, or the interpreter in its first line, does not exist",
        ],
    );
    check("{score: [./rows.parquet]}", &["error[command-not-started]", "is not executable"]);
    let started = Instant::now();
    check(
        &shell("sleep 60 & sleep 60", ", time_limit: 1s"),
        &["error[command-failed]", "did not end within its time limit of 1 s", "`time_limit`"],
    );
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn counterfactuals_are_named_by_row_and_group() {
    // The first process scores the rows, the second their counterfactuals.
    let script = "cat > /dev/null; if mkdir first; then cat canned.arrow; else cat bad.arrow; fi \
                  2> /dev/null";
    let work = with_command(&shell(script, ""), "");
    canned(&work, "canned.arrow", &[N]);
    let values = (0..N).map(|i| if i == 4 { -0.25 } else { 0.5 });
    let batch =
        RecordBatch::try_from_iter([("score", column(Float64Array::from_iter_values(values)))])
            .unwrap();
    let mut writer =
        StreamWriter::try_new(File::create(work.path("bad.arrow")).unwrap(), &batch.schema())
            .unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
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
    let batch = seen(&work, "seen-train.arrow");
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
    assert!(fs::read_to_string(work.path("log")).unwrap().contains("seed 77 fold 2"));
    assert_eq!(ran.stderr.matches("train/model=live: the command ended").count(), 3);
    // Training rows have their label last, and are those of the other folds.
    let batch = seen(&work, "seen-train-0.arrow");
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
    let again = work.run(0, "job.yaml", "--set run.seed=78");
    again.says(&["train/model=live: runs, "]);
    // A program that leaves no model.
    write_job(&work, &command.replace("> $0", "> other"), "split: {folds: 3, stratify: none}");
    work.run(3, "job.yaml", "").says(&[
        "error[bad-output]: the command of model `live`, fold 0 ended without a model at ",
    ]);
}

#[test]
fn a_changed_file_runs_the_stage_again_and_is_named() {
    let work = with_command(
        &shell(
            &WELL.replace("canned.arrow", "{model}"),
            ", model: canned.arrow, watch: [lib, '*.txt']",
        ),
        "",
    );
    fs::create_dir_all(work.path("lib/deep/__pycache__")).unwrap();
    for file in ["lib/deep/a.py", "lib/deep/__pycache__/a.pyc", "lib/.hidden", "b.txt"] {
        work.write(file, "1");
    }
    canned(&work, "canned.arrow", &[N]);
    work.run(0, "job.yaml", "");
    let inputs = work.json("out/manifest.json")["inputs"].to_string();
    assert!(
        ["canned.arrow", "lib/deep/a.py", "b.txt"].iter().all(|f| inputs.contains(f))
            && !inputs.contains("pyc"),
        "{inputs}"
    );
    work.write("lib/deep/__pycache__/a.pyc", "2");
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    work.write("lib/deep/a.py", "2");
    let ran = work.run(0, "job.yaml", "");
    ran.says(&[
        "score/model=live: runs, `file lib/deep/a.py` changed from `6b86b273ff34` to \
         `d4735e3a265e`",
        "score/model=live/set=flip/attribute=sex: runs, `file lib",
    ]);
    assert!(!ran.stderr.contains("prepare: runs"), "{}", ran.stderr);
    canned(&work, "canned.arrow", &[7, N]);
    work.run(0, "job.yaml", "").says(&["score/model=live: runs, `file canned.arrow` changed"]);
    fs::remove_file(work.path("b.txt")).unwrap();
    work.run(3, "job.yaml", "")
        .says(&["error[missing-file]: no file matches `*.txt`", "--> job.yaml:17:"]);
}

#[test]
fn files_that_are_named_and_not_watched_are_pointed_out() {
    let work = with_command("{score: [sh, ./score.sh, canned.arrow], watch: [score.sh]}", "");
    work.write("score.sh", &WELL.replace("canned.arrow", "$1"));
    canned(&work, "canned.arrow", &[N]);
    let ran = work.run(0, "job.yaml", "");
    ran.says(&[
        "the command `models.live.command` names `canned.arrow`, but a change of that file will \
         not run it again: list it under `models.live.command.watch`",
    ]);
    assert!(!ran.stderr.contains("score.sh`, and"), "{}", ran.stderr);
}

#[test]
fn variables_are_passed_by_name_and_their_values_stay_secret() {
    const SECRET: &str = "tok-9f8e7d6c5b";
    let script = format!("echo $TOKEN > told; echo my token is $TOKEN >&2; env > env; {WELL}");
    let work = with_command(&shell(&script, ", pass_env: [TOKEN]"), "");
    canned(&work, "canned.arrow", &[N]);
    let args = "run job.yaml --out out --cache cache --log-file log";
    Ran::of(work.command(args).env_remove("TOKEN"), 3).says(&[
        "error[missing-variable]",
        "no variable `TOKEN`",
        "--> job.yaml:17:",
    ]);
    let ran = Ran::of(work.command(args).env("TOKEN", SECRET).env("OTHER", "other-value"), 0);
    assert_eq!(fs::read_to_string(work.path("told")).unwrap(), format!("{SECRET}\n"));
    let env = fs::read_to_string(work.path("env")).unwrap();
    assert!(
        env.contains("LANG=C.UTF-8") && env.contains("TZ=UTC") && !env.contains("other-value"),
        "{env}"
    );
    let log = fs::read_to_string(work.path("log")).unwrap();
    assert!(log.contains("my token is [TOKEN]"), "{log}");
    let mut written = files(&work.path("out"));
    written.extend(files(&work.path("cache")));
    written.insert("log".to_owned(), log.into_bytes());
    written.insert("stderr".to_owned(), ran.stderr.into_bytes());
    for (name, bytes) in written {
        assert!(
            !bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes()),
            "{name} holds the value"
        );
    }
}

/// A changed value of `pass_env` runs the program again; one of `secret_env` does not, and is found
/// nowhere.
#[test]
fn values_of_variables_make_scores_stale_and_secrets_do_not() {
    let script = format!("echo $MODEL $TOKEN >> told; {WELL}");
    let work = with_command(&shell(&script, ", pass_env: [MODEL], secret_env: [TOKEN]"), "");
    canned(&work, "canned.arrow", &[N]);
    let run = |status: i32, model: &str, token: &str, args: &str| {
        let mut command = work.command(&format!("{args} job.yaml --cache cache"));
        Ran::of(command.env("MODEL", model).env("TOKEN", token), status)
    };
    let told = || fs::read_to_string(work.path("told")).unwrap().lines().last().unwrap().to_owned();
    run(0, "version-4711", "tok-first-1", "run --out out");
    assert_eq!(told(), "version-4711 tok-first-1");
    let before = work.results();
    let again = run(0, "version-4711", "tok-second-2", "run --out out");
    again.says(&["nothing to do"]);
    assert_eq!(told(), "version-4711 tok-first-1");
    let plan = run(0, "version-4712", "tok-second-2", "plan").stdout;
    assert!(plan.contains("`environment MODEL` changed from"), "{plan}");
    run(0, "version-4712", "tok-second-2", "run --out out")
        .says(&["score/model=live: runs, `environment MODEL` changed from"]);
    assert_eq!(told(), "version-4712 tok-second-2");
    run(0, "version-4711", "tok-second-2", "run --out out").says(&["nothing to do"]);
    assert_same(&before, &work.results(), "the first value again");
    for folder in ["out", "cache"] {
        for (name, bytes) in files(&work.path(folder)) {
            for value in ["version-471", "tok-first", "tok-second"] {
                assert!(
                    !bytes.windows(value.len()).any(|w| w == value.as_bytes()),
                    "{folder}/{name} holds `{value}`"
                );
            }
        }
    }
    let key = fs::metadata(work.path("cache/key")).unwrap();
    assert_eq!(
        (key.len(), std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777),
        (64, 0o600)
    );
    // Another cache hashes with another key, so that values cannot be reported by comparing.
    let hash = |cache: &str| {
        let of_job: serde_json::Value =
            serde_json::from_slice(&fs::read(work.path(cache).join("jobs/program.json")).unwrap())
                .unwrap();
        of_job["score/model=live"]["inputs"]["environment MODEL"].as_str().unwrap().to_owned()
    };
    let mut command = work.command("run job.yaml --out other --cache other-cache");
    Ran::of(command.env("MODEL", "version-4711").env("TOKEN", "tok-second-2"), 0);
    assert!(hash("cache").len() == 64 && hash("cache") != hash("other-cache"));
    let mut command = work.command("run job.yaml --out out --cache cache --force score");
    Ran::of(command.env("MODEL", "version-4711").env_remove("TOKEN"), 3).says(&[
        "error[missing-variable]",
        "no variable `TOKEN`",
        "remove it from `secret_env`",
    ]);
}

#[test]
fn values_stay_secret_in_what_is_cut_escaped_or_named_like_them() {
    // Neither the cut of the excerpt nor its escapes may come before the value is blanked; one
    // value begins with the other.
    let (short, long) = ("s3cr3t", "s3cr3t\nSUFFIX");
    for (script, words) in [
        ("printf %050d 0; printenv LONG", "0000000000[LONG]"),
        ("printf k=; printenv LONG", "begins with `k=[LONG]\\n`"),
        ("printf k=; printenv LONG | head -c 10", "begins with `k=[LONG]`"),
        ("printf k=$SHORT.", "begins with `k=[SHORT].`"),
        ("printenv LONG >&2; exit 1", "| [LONG]\n"),
    ] {
        let work = with_command(&shell(script, ", pass_env: [SHORT, LONG]"), "");
        let mut run = work.command("run job.yaml --out out --cache cache --log-file log");
        let ran = Ran::of(run.env("SHORT", short).env("LONG", long), 3);
        ran.says(&[words]);
        for text in [&ran.stderr, &fs::read_to_string(work.path("log")).unwrap()] {
            assert!(!text.contains("s3cr") && !text.contains("SUFFIX"), "{script}: {text}");
        }
    }
}

#[test]
fn a_signal_ends_the_program_too() {
    let work = with_command(&shell("echo $$ > pid; sleep 300 & sleep 300", ""), "");
    let mut going = Going::start(&mut work.command("run job.yaml --out out --cache cache"));
    assert!(going.until(&["command.start"], "score/model=live"));
    let started = Instant::now();
    while !fs::read_to_string(work.path("pid")).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    going.signal("TERM");
    let (status, log) = going.end();
    assert_eq!(status.code(), Some(143), "{log}");
    assert!(started.elapsed() < Duration::from_secs(30));
    let group = format!("-{}", fs::read_to_string(work.path("pid")).unwrap().trim());
    let alive = || {
        Command::new("kill")
            .args(["-0", "--", &group])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    while alive() {
        assert!(started.elapsed() < Duration::from_secs(40), "somebody is left");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!work.path("out").exists());
}

/// Whether `python3` can load pyarrow; says so where it cannot.
pub(crate) fn has_pyarrow() -> bool {
    let loads = Command::new("python3")
        .args(["-c", "import pyarrow"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !loads {
        crate::work::skip("python3 with pyarrow is not there");
    }
    loads
}

fn copy_models(work: &Work) {
    fs::create_dir(work.path("jobs/models")).unwrap();
    for name in [
        "score.py",
        "train.py",
        "scorecard.json",
        "sklearn_model.py",
        "lightgbm_model.py",
        "debiased_model.py",
    ] {
        fs::copy(root().join("jobs/models").join(name), work.path("jobs/models").join(name))
            .unwrap();
    }
}

#[test]
fn the_shipped_example_runs() {
    if !has_pyarrow() {
        return;
    }
    let work = Work::with_jobs();
    copy_models(&work);
    let job = "jobs/challenger.yaml";
    work.run(0, job, "--set data.rows.synthetic.rows=5000");
    let frame = read_frame(&work.path("out/rows"), "outcomes");
    let mut n = 0;
    for row in frame.records().filter(|r| r.text("model") == "scorecard") {
        // The scorecard takes a quarter of log odds from women.
        let odds = |p: f64| (p / (1.0 - p)).ln();
        let moved = odds(row.real("score_cf").unwrap()) - odds(row.real("score").unwrap());
        let expected = if row.text("to_group") == "Male" { 0.25 } else { -0.25 };
        assert!((moved - expected).abs() < 1e-9, "{moved}");
        n += 1;
    }
    assert_eq!(n, 2000);
    let accuracy = |model: &str| {
        let metrics = read_frame(&work.path("out/tables"), "metrics");
        let mut rows = metrics.records().filter(|r| {
            r.text("model") == model && r.text("metric") == "acc" && r.text("scope") == "total"
        });
        rows.next().and_then(|r| r.real("value")).unwrap()
    };
    assert!(accuracy("learned") > 0.6, "it has learned nothing");
    let before = work.results();
    work.cfaudit(
        0,
        &format!(
            "run {job} --out out --cache cache2 --batch-rows 1024 --threads 1 \
             --set data.rows.synthetic.rows=5000"
        ),
    );
    assert_same(&before, &work.results(), "other batches");
    // A program that complains of its columns: its last words are shown.
    work.write(
        "jobs/models/scorecard.json",
        r#"{"intercept": 0, "columns": {"rent": {"edges": [], "points": [0], "missing": 0}}}"#,
    );
    let ran = work.run(3, job, "--set data.rows.synthetic.rows=5000");
    ran.says(&["failed with exit status 1", "\n  | the rows lack columns of the scorecard: rent"]);
}

/// The programs that need more than pyarrow, each where its packages are there.
#[test]
fn the_shipped_programs_of_libraries_run() {
    let python = |code: &str| {
        Command::new("python3")
            .args(["-c", code])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let models = [
        ("sklearn", "import pyarrow, pandas, sklearn"),
        ("lightgbm", "import pyarrow, pandas, lightgbm"),
        ("debiased", "import pyarrow, numpy"),
    ];
    for (model, imports) in models {
        if !python(imports) {
            crate::work::skip(&format!(
                "python3 cannot `{imports}`: jobs/models/requirements-{model}.txt"
            ));
            continue;
        }
        let work = Work::with_jobs();
        copy_models(&work);
        let job = fs::read_to_string(work.path("jobs/programs.yaml")).unwrap();
        let (head, rest) = job.split_once("models:\n").unwrap();
        let block = rest.split_once(&format!("  {model}:\n")).unwrap().1;
        let lines: Vec<&str> = block.lines().take_while(|line| line.starts_with("    ")).collect();
        // The model alone, with the rows of challenger.yaml.
        let challenger = fs::read_to_string(work.path("jobs/challenger.yaml")).unwrap();
        let (before, _) = challenger.split_once("models:\n").unwrap();
        work.write(
            "jobs/one.yaml",
            &format!("{before}models:\n  one:\n{}\nrun: {{seed: 5}}\n", lines.join("\n")),
        );
        assert!(head.contains("include: [challenger.yaml]"));
        work.run(0, "jobs/one.yaml", "--set data.rows.synthetic.rows=4000");
        let metrics = read_frame(&work.path("out/tables"), "metrics");
        let mut accuracies =
            metrics.records().filter(|r| r.text("metric") == "acc" && r.text("scope") == "total");
        let accuracy = accuracies.next().and_then(|r| r.real("value")).unwrap();
        assert!(accuracy > 0.6, "{model} has learned nothing: {accuracy}");
        let before = work.results();
        work.cfaudit(
            0,
            "run jobs/one.yaml --out out --cache cache2 --batch-rows 1024 --threads 1 \
             --set data.rows.synthetic.rows=4000",
        );
        assert_same(&before, &work.results(), &format!("{model} again, in other batches"));
    }
}

/// The skeleton in the guide is a program that works.
#[test]
fn the_skeleton_of_the_guide_runs() {
    if !has_pyarrow() {
        return;
    }
    let guide = fs::read_to_string(root().join("jobs/models/README.md")).unwrap();
    let skeleton = guide.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let work = with_command(
        "{score: [python3, skeleton.py, '{model}'], model: model.pkl, watch: [skeleton.py, \
         stand_in.py]}",
        "",
    );
    // Stand-ins for scikit-learn and pandas: a model that knows one column.
    work.write(
        "stand_in.py",
        "class Model:\n    def predict_proba(self, rows):\n        return \
         Shares(rows['income'])\n\nclass Shares(list):\n    def __getitem__(self, at):\n        \
         return [min(v / 1000, 1.0) for v in iter(self)]\n",
    );
    work.write("skeleton.py", &skeleton.replace("batch.to_pandas()", "batch.to_pydict()"));
    let made = Command::new("python3")
        .args([
            "-c",
            "import pickle, stand_in; pickle.dump(stand_in.Model(), open('model.pkl', 'wb'))",
        ])
        .current_dir(work.path(""))
        .status()
        .unwrap();
    assert!(made.success());
    work.run(0, "job.yaml", "");
    assert!(
        outcomes(&work)
            .iter()
            .enumerate()
            .all(|(i, row)| (row.1 - i as f64 / 8000.0).abs() < 1e-12)
    );
}
