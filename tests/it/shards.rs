//! A job in shards gives the same bytes as a run: however many shards, whatever is run twice; and
//! parts that are lost, altered, or of another plan are found.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::Value as Json;

use crate::batches::write_with;
use crate::work::{
    Files, Ran, Rows, Says, Work, array, assert_same, batch, column, files, python3_imports, root,
    yaml_files,
};

/// The passes of a plan, in their order.
pub(crate) const PASSES: [&str; 4] = ["survey", "learn", "count", "shift"];

/// Rows of the row groups of each file: a shard of one row, and shards without any.
const ROW_GROUPS: [&[usize]; 2] = [&[1, 150, 2, 120], &[90, 60]];

/// A model of three columns: the first is the attribute, which is worth something to group 1.
const MODEL: &str = include_str!("../jobs/boosting.txt");

/// A number in [0, 1) that looks random and is not.
fn draw(i: usize, k: f64) -> f64 {
    (i as f64 * k.sqrt()).fract()
}

/// The decision about a row in a region, 0 for its own; none where nobody decided.
fn decided(i: usize, region: i64) -> Option<&'static str> {
    let granted = draw(i, 23.0) > 0.4 + 0.1 * region as f64;
    (i % 41 != 7).then_some(if granted { "granted" } else { "refused" })
}

/// The columns of rows with these numbers.
pub(crate) fn people(rows: std::ops::Range<usize>) -> Vec<(&'static str, ArrayRef)> {
    fn whole(k: f64, n: f64) -> impl Fn(usize) -> i64 {
        move |i| 1 + (draw(i, k) * n) as i64
    }
    fn number(k: f64, lo: f64, hi: f64) -> impl Fn(usize) -> f64 {
        move |i| lo + (draw(i, k) * (hi - lo) * 10.0).floor() / 10.0
    }
    fn word(k: f64, words: &'static str) -> impl Fn(usize) -> &'static str {
        let words: Vec<_> = words.split(' ').collect();
        move |i| words[(draw(i, k) * words.len() as f64) as usize]
    }
    Rows::of(rows)
        .with("id", |i| i as i64 * 3)
        .with("region", whole(2.0, 3.0))
        .with("sex", whole(3.0, 2.0))
        .with("income", number(5.0, 5.0, 90.0))
        .with("age", number(6.0, 18.0, 75.0))
        .with("channel", word(10.0, "web branch phone"))
        .with("branch", word(11.0, "north south"))
        .with("weight", number(13.0, 0.5, 3.0))
        .with("cutoff", number(14.0, 0.3, 0.7))
        .with("band", whole(15.0, 5.0))
        .with("signed", |i| i as i64 * 3 - 600)
        .with("name", |i| format!("p{i:05}"))
        .with("decided", |i| decided(i, 0))
        .with("risk", word(17.0, "low mid high"))
        .with("p_low", number(19.0, 0.0, 1.0))
        .with("p_mid", number(21.0, 0.0, 1.0))
        .with("p_high", number(22.0, 0.0, 1.0))
        .with("repaid", |i| (i % 11 > 0).then_some(i64::from(draw(i, 7.0) < 0.6)))
        .columns()
}

/// Writes rows in row groups of these sizes.
fn write_groups(path: &Path, first: usize, groups: &[usize]) -> usize {
    write_columns(path, first, groups, people)
}

/// The same of other columns.
fn write_columns(
    path: &Path,
    first: usize,
    groups: &[usize],
    columns: impl Fn(std::ops::Range<usize>) -> Vec<(&'static str, ArrayRef)>,
) -> usize {
    let schema = batch(columns(0..1)).schema();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
    let mut row = first;
    for &n in groups {
        writer.write(&batch(columns(row..row + n))).unwrap();
        writer.flush().unwrap();
        row += n;
    }
    writer.close().unwrap();
    row
}

/// A working folder with a job of `tests/jobs/parts` and its files.
pub(crate) fn with_job(job: &str) -> Work {
    let work = Work::new();
    fs::copy(root().join(format!("tests/jobs/parts/{job}.yaml")), work.path("job.yaml")).unwrap();
    fs::create_dir(work.path("rows")).unwrap();
    let mut first = 0;
    for (name, groups) in ["a", "b"].iter().zip(ROW_GROUPS) {
        first = write_groups(&work.path(&format!("rows/{name}.parquet")), first, groups);
    }
    write_groups(&work.path("reference.parquet"), 5000, &[300]);
    work.write("model.txt", MODEL);
    work
}

/// Plans the job in `work` in so many shards, in place of an earlier plan, and does the passes; the
/// folder of the plan.
pub(crate) fn pass_over(work: &Work, shards: usize, passes: &[&str], args: &str) -> String {
    let plan = format!("plan{shards}");
    if work.path(&plan).exists() {
        fs::remove_dir_all(work.path(&plan)).unwrap();
    }
    work.cfaudit(0, &format!("plan job.yaml --shards {shards} --to {plan} --cache off {args}"));
    passes.iter().for_each(|pass| do_pass(work, &plan, (pass, shards), ""));
    plan
}

/// Does a pass of a plan in so many shards.
fn do_pass(work: &Work, plan: &str, (pass, shards): (&str, usize), args: &str) {
    // The last shard first: no order is needed.
    for shard in (0..shards).rev() {
        let threads = 1 + shard % 3;
        let how = format!("--pass {pass} --shard {shard} --threads {threads} {args}");
        let ran = work.cfaudit(0, &format!("worker {plan} {how}"));
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    }
    work.cfaudit(0, &format!("merge {plan} --pass {pass}"));
}

/// What a run makes of the merged states of a plan.
pub(crate) fn from_plan(work: &Work, plan: &str, args: &str) -> Files {
    let out = format!("out-{plan}");
    work.cfaudit(0, &format!("run job.yaml --from {plan} --out {out} --cache off {args}"));
    crate::work::results(&work.path(&out))
}

pub(crate) fn is_without_lightgbm() -> bool {
    let without = cfg!(not(feature = "lightgbm"));
    if without {
        crate::work::skip("this build cannot read a LightGBM file");
    }
    without
}

/// The files next to the rows that a job of `tests/jobs/parts` needs; whether it can run here.
pub(crate) fn add_models(work: &Work, job: &str) -> bool {
    match job {
        "scores" | "decisions" | "classes" => write_scores(work, 0),
        "onnx" | "onnx-classes" => {
            for name in ["linear.onnx", "three.onnx"] {
                fs::copy(root().join("tests/onnx").join(name), work.path(name)).unwrap();
            }
            let ran = work.command("check job.yaml --cache cache").output().unwrap();
            let said = String::from_utf8(ran.stderr).unwrap();
            if !cfg!(feature = "onnx") || said.contains("pip install onnxruntime") {
                crate::work::skip("no library of the ONNX runtime here");
                return false;
            }
        }
        "command" => {
            if !python3_imports("pyarrow") {
                return false;
            }
            fs::copy(root().join("jobs/models/score.py"), work.path("score.py")).unwrap();
            work.write(
                "card.json",
                r#"{"intercept": -0.25, "columns": {
                    "region": {"edges": [2, 3], "points": [0.5, 0, -0.5], "missing": 0},
                    "income": {"edges": [30, 60], "points": [-1, 0.25, 1], "missing": 0}}}"#,
            );
        }
        _ => return !is_without_lightgbm(),
    }
    true
}

/// A working folder with a job of `tests/jobs/parts` and all its files, where it can run here.
pub(crate) fn with_models(job: &str) -> Option<Work> {
    let work = with_job(job);
    add_models(&work, job).then_some(work)
}

/// Seven shards: some have no rows, one has a single row.
#[test]
fn shards_give_the_bytes_of_a_run() {
    let Some(work) = with_models("naive") else { return };
    assert_in_shards(&work, "");
    let rows: Vec<u64> = (0..7)
        .map(|i| work.json("plan7/plan.json")["shards"][i]["rows"].as_u64().unwrap())
        .collect();
    assert!(rows.contains(&0), "{rows:?}");
    let merged = |plan: &str| fs::read(work.path(&format!("{plan}/count/merged.state"))).unwrap();
    let body = |bytes: Vec<u8>| bytes.splitn(3, |&b| b == b'\n').nth(2).unwrap().to_vec();
    assert_eq!(body(merged("plan3")), body(merged("plan7")), "merged states");
}

/// Files that are younger have a new version whenever they are looked at.
const SETTLED: Duration = Duration::from_millis(2100);

/// The stages of a kind in a cache.
fn stages_in(cache: &Path, id: &str) -> usize {
    let stages = files(cache).into_iter().filter(|(name, _)| name.ends_with("/stage.json"));
    let ids =
        stages.map(|(_, bytes)| serde_json::from_slice::<Json>(&bytes).unwrap()["id"].clone());
    ids.filter(|found| found == id).count()
}

/// Plans the job of a folder in three shards, and does all passes with one cache.
fn pass_over_with_cache(work: &Work, plan: &str, cache: &str) -> Files {
    work.cfaudit(0, &format!("plan job.yaml --shards 3 --to {plan} --cache off"));
    for pass in PASSES {
        do_pass(work, plan, (pass, 3), &format!("--cache {cache}"));
    }
    from_plan(work, plan, "")
}

/// With a cache the rows that were surveyed are those of the later passes: they are decoded once,
/// and stand on the disk once.
#[test]
fn a_cache_keeps_the_rows_of_the_survey() {
    use std::os::unix::fs::MetadataExt;

    let Some(work) = with_models("naive") else { return };
    std::thread::sleep(SETTLED);
    work.run(0, "job.yaml", "");
    assert_same(&work.results(), &pass_over_with_cache(&work, "plan", "shared"), "a shared cache");
    let rows: Vec<u64> = files(&work.path("shared"))
        .into_keys()
        .filter(|name| name.ends_with("/rows.parquet"))
        .map(|name| fs::metadata(work.path("shared").join(name)).unwrap().nlink())
        .collect();
    // Questions whether a pass is needed have files without rows, and later stages their own.
    let linked = rows.iter().filter(|links| **links == 2).count();
    assert_eq!(linked, 6, "three shards, each surveyed once and described once: {rows:?}");
    assert_eq!(stages_in(&work.path("shared"), "survey"), 3, "decoded once");
}

/// A cache never gives the rows of a file whose place another has taken, not even with the same
/// size and time of writing: such files have equal plans.
#[test]
fn a_cache_knows_the_file_that_its_rows_are_of() {
    let Some(work) = with_models("naive") else { return };
    let (rows, other) = (work.path("rows/a.parquet"), work.path("other"));
    write_columns(&other, 0, ROW_GROUPS[0], |range| {
        let mut columns = people(range);
        let regions = &mut columns.iter_mut().find(|(name, _)| *name == "region").unwrap().1;
        let swapped = regions.as_primitive::<Int64Type>().unary::<_, Int64Type>(|own| 4 - own);
        *regions = array(swapped);
        columns
    });
    std::thread::sleep(SETTLED);
    let first = pass_over_with_cache(&work, "first", "shared");
    assert_eq!(stages_in(&work.path("shared"), "survey"), 3);

    let before = fs::metadata(&rows).unwrap();
    fs::copy(&other, &rows).unwrap();
    let file = File::options().write(true).open(&rows).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let now = fs::metadata(&rows).unwrap();
    assert_eq!((now.len(), now.modified().unwrap()), (before.len(), before.modified().unwrap()));
    std::thread::sleep(SETTLED);
    let second = pass_over_with_cache(&work, "second", "shared");
    let id = |plan: &str| fs::read(work.path(&format!("{plan}/plan.json"))).unwrap();
    assert_eq!(id("first"), id("second"), "the plan is the same");
    work.run(0, "job.yaml", "");
    assert_same(&work.results(), &second, "a run of the other file");
    let tables = |of: &Files| {
        let tables = of.iter().filter(|(name, _)| name.starts_with("tables/"));
        tables.map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>()
    };
    assert_ne!(tables(&first), tables(&second), "the rows of the other file have other numbers");
    assert_eq!(stages_in(&work.path("shared"), "survey"), 6, "decoded again");
}

/// A run makes the same folder as one, three and seven shards of a job of `tests/jobs/parts`: of
/// the seven some have no rows, and one has a single row.
#[track_caller]
pub(crate) fn assert_in_shards(work: &Work, args: &str) {
    work.run(0, "job.yaml", args);
    for shards in [1, 3, 7] {
        let plan = pass_over(work, shards, &PASSES, args);
        assert_same(&work.results(), &from_plan(work, &plan, args), &plan);
    }
}

/// The same of a job with its files, where it can run here.
#[track_caller]
fn job_in_shards(job: &str) {
    if let Some(work) = with_models(job) {
        assert_in_shards(&work, "");
    }
}

macro_rules! jobs_in_shards {
    ($($name:ident: $job:literal,)*) => {
        $(#[test] fn $name() { job_in_shards($job); })*
    };
}

jobs_in_shards! {
    fitted_sets_weights_and_compared_models_in_shards: "plausible",
    five_groups_with_strata_and_weights_in_shards: "groups",
    decisions_in_shards: "decisions",
    three_classes_in_shards: "classes",
    an_onnx_file_in_shards: "onnx",
    an_onnx_file_of_classes_in_shards: "onnx-classes",
}

#[test]
fn a_python_function_in_shards() {
    let Some(python) = crate::python::interpreter("pyarrow") else { return };
    let work = with_job("python");
    work.write(
        "scoring.py",
        // A frame where Python has pandas, else a table of pyarrow.
        "def values(column):\n    return list(column) if hasattr(column, 'iloc') else \
          column.to_pylist()\n\ndef score(rows):\n    pairs = \
         zip(values(rows['income']), values(rows['region']))\n    return [income / 100 + 0.02 * \
         region for income, region in pairs]\n",
    );
    assert_in_shards(&work, &format!("--set models.ours.python.with={python}"));
}

/// The share of each row is its own, and so is a column: shards and a run audit the same rows.
#[test]
fn splits_row_by_row_in_shards() {
    if is_without_lightgbm() {
        return;
    }
    let hash = "--set data.split.share.train=0.4 --set data.split.share.audit=0.6 --set \
                data.split.by=hash";
    let work = with_job("naive");
    assert_in_shards(&work, hash);
    let rows = &work.json("out/manifest.json")["rows"];
    let (trained, audited) = (rows["trained"].as_u64().unwrap(), rows["audited"].as_u64().unwrap());
    assert!(trained > 120 && audited > 200 && trained + audited < 423, "{rows}");
    let column = "--set data.split.column=risk --set data.split.train=[low] --set \
                  data.split.audit=[mid]";
    assert_in_shards(&with_job("naive"), column);
    let ranked = hash.replace("by=hash", "by=rank");
    with_job("naive").cfaudit(2, &format!("plan job.yaml --shards 3 --to plan {ranked}")).says(&[
        "error[not-in-shards]",
        "`data.split` ranks all rows",
        "by: hash",
    ]);
}

/// Text ids that rise by their bytes need no comparison, in shards and in a run.
#[test]
fn text_ids_in_shards() {
    let Some(work) = with_models("naive") else { return };
    assert_in_shards(&work, "--set data.row_id=name");
}

/// Files of scores whose ids are texts, whose keys do not rise, or numbers below 0.
#[test]
fn files_of_scores_with_other_ids_are_joined_shard_by_shard() {
    for id in ["name", "signed"] {
        let ids_of = |ids: Vec<i64>| match id {
            "name" => column(ids.iter().map(|id| format!("p{:05}", id / 3))),
            _ => column(ids.iter().map(|id| id - 600)),
        };
        let work = with_job("scores");
        write_scores_by(&work, 0, ids_of);
        assert_in_shards(&work, &format!("--set data.row_id={id}"));
    }
}

/// The rows by which counterfactuals are tested are known before these are counted: the pass
/// `learn`.
#[test]
fn counts_wait_for_what_is_learnt_from_all_shards() {
    let Some(work) = with_models("naive") else { return };
    work.run(0, "job.yaml", "");
    let plan = pass_over(&work, 3, &["survey"], "");
    let ran = work.cfaudit(5, &format!("worker {plan} --pass count --shard 0"));
    ran.says(&["learn", "not merged yet", "hint: "]);
    let plan = pass_over(&work, 3, &PASSES, "");
    assert_same(&work.results(), &from_plan(&work, &plan, ""), "learnt");
    // Each shard is asked, also where another one with the same cache was asked before.
    let plan = pass_over(&work, 3, &["survey"], "");
    for shard in 0..3 {
        let worker = format!("worker {plan} --pass learn --shard {shard} --cache shared");
        assert_eq!(work.cfaudit(0, &worker).summary()["done"], "written");
    }
    work.cfaudit(0, &format!("merge {plan} --pass learn"));
    ["count", "shift"].iter().for_each(|pass| do_pass(&work, &plan, (pass, 3), "--cache shared"));
    assert_same(&work.results(), &from_plan(&work, &plan, ""), "learnt with one cache");
}

#[test]
fn parts_that_are_lost_altered_or_foreign_are_found() {
    let Some(work) = with_models("naive") else { return };
    let plan = pass_over(&work, 3, &["survey"], "");
    let (first, second) = ("plan3/survey/part-00000.state", "plan3/survey/part-00001.state");
    let whole = fs::read(work.path(first)).unwrap();
    let worker = |shard: usize, status: i32| {
        work.cfaudit(status, &format!("worker {plan} --pass survey --shard {shard} --threads 8"))
    };
    let merge = |status: i32| work.cfaudit(status, &format!("merge {plan} --pass survey"));
    // A sound part is not made again, an altered one is.
    assert_eq!(worker(0, 0).summary()["done"], "already there");
    let mut altered = whole.clone();
    *altered.last_mut().unwrap() ^= 1;
    fs::write(work.path(first), &altered).unwrap();
    merge(5).says(&["part-00000.state", "once more"]);
    assert_eq!(worker(0, 0).summary()["done"], "written");
    assert_eq!(fs::read(work.path(first)).unwrap(), whole, "made again on other threads");
    // A lost part.
    let lost = fs::read(work.path(second)).unwrap();
    fs::remove_file(work.path(second)).unwrap();
    assert_eq!(merge(4).summary()["text"], "missing 1 of 3: 1");
    // A part of another plan, and of another shard.
    pass_over(&work, 1, &["survey"], "");
    fs::copy(work.path("plan1/survey/part-00000.state"), work.path(second)).unwrap();
    merge(5).says(&["its plan is", "plan again"]);
    fs::write(work.path(second), &whole).unwrap();
    merge(5).says(&["its shard is 0, and that of the plan is 1"]);
    fs::write(work.path(second), &lost).unwrap();
    merge(0);
    // Another job, a shard that the plan does not have, a pass that is not merged.
    let other = "run job.yaml --from plan3 --set run.seed=9 --cache off";
    work.cfaudit(5, other).says(&["another job", "hint: "]);
    worker(3, 5).says(&["3 shards", "hint: "]);
    work.cfaudit(5, "run job.yaml --from plan3 --cache off").says(&["count", "cfaudit merge"]);
    // A file that appeared after the plan, and one that is gone.
    let count = || work.cfaudit(3, &format!("worker {plan} --pass count --shard 0"));
    fs::copy(work.path("rows/a.parquet"), work.path("rows/aa.parquet")).unwrap();
    count().says(&["error[input-changed]", "`rows/aa.parquet` was not there", "plan again"]);
    fs::remove_file(work.path("rows/aa.parquet")).unwrap();
    fs::rename(work.path("rows/b.parquet"), work.path("b.parquet")).unwrap();
    count().says(&["error[input-changed]", "`rows/b.parquet` was taken away", "plan again"]);
    fs::rename(work.path("b.parquet"), work.path("rows/b.parquet")).unwrap();
    // An input that changed after the plan.
    let rows = File::options().append(true).open(work.path("rows/a.parquet")).unwrap();
    rows.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let before = files(&work.path(&plan));
    work.cfaudit(3, &format!("worker {plan} --pass count --shard 0"))
        .says(&["error[input-changed]", "plan again"]);
    assert_same(&before, &files(&work.path(&plan)), "nothing is written");
    // Another program.
    let text = work.read("plan3/plan.json");
    let code = work.json("plan3/plan.json")["code"].as_str().unwrap().to_owned();
    work.write("plan3/plan.json", &text.replace(&code, "0123"));
    merge(5).says(&["0123", &code, "use one program everywhere"]);
}

/// A merge holds the merged states and one part, however many there are: here less memory than the
/// texts of all parts would take.
#[cfg(target_os = "linux")]
#[test]
fn a_merge_holds_one_part_at_a_time() {
    const SHARDS: usize = 100;
    const MOST_BYTES: usize = 200_000 * 1024;
    if is_without_lightgbm() {
        return;
    }
    let work = Work::new();
    work.write("model.txt", MODEL);
    let rows = 0..40_000;
    let towns = rows.clone().map(|i| format!("the town of number {i} in the north"));
    let mut columns = people(rows);
    columns.retain(|(name, _)| ["id", "region", "income", "age"].contains(name));
    columns.push(("town", column(towns)));
    write_columns(&work.path("rows.parquet"), 0, &[40_000], |_| columns.clone());
    work.job(
        "scored",
        "~  rows: {parquet: rows.parquet}
-  favourable
~  sensitive: {region: {groups: [1, 2, 3], reference: 1}}
+  features: {continuous: [income, age], nominal: [town]}
-models
-gates
-on_inconclusive",
        "models:\n  bought:\n    lightgbm: {file: model.txt, columns: [region, income, age]}\n    \
         threshold: 0.5\nmetrics: {families: [group, ccm]}\nrun: {seed: 5, keep_rows: none}\n",
    );
    work.cfaudit(0, "plan job.yaml --shards 1 --to one --cache off");
    work.cfaudit(0, "worker one --pass survey --shard 0 --cache off");
    work.cfaudit(0, &format!("plan job.yaml --shards {SHARDS} --to many --cache off"));
    // The states of all rows, as those of each shard.
    let part = fs::read(work.path("one/survey/part-00000.state")).unwrap();
    let mut lines = part.splitn(3, |&byte| byte == b'\n');
    let (first, head, body) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
    let mut head: Json = serde_json::from_slice(head).unwrap();
    assert!(head["bytes"].as_u64().unwrap() as usize * SHARDS > MOST_BYTES);
    let plan = fs::read(work.path("many/plan.json")).unwrap();
    head["plan"] = crate::work::sha256(&plan).into();
    head["of"] = SHARDS.into();
    let shards = work.json("many/plan.json")["shards"].as_array().unwrap().clone();
    fs::create_dir_all(work.path("many/survey")).unwrap();
    for (shard, of) in shards.iter().enumerate() {
        head["shard"] = shard.into();
        head["first_row"] = of["first_row"].clone();
        head["rows"] = of["rows"].clone();
        let text = [first, head.to_string().as_bytes(), body].join(&b'\n');
        fs::write(work.path(&format!("many/survey/part-{shard:05}.state")), text).unwrap();
    }
    let merge = work.command("merge many --pass survey");
    let mut bounded = Command::new("sh");
    let limit = format!("ulimit -v {} && exec \"$0\" \"$@\"", MOST_BYTES / 1024);
    bounded.args(["-c", &limit]).arg(merge.get_program()).args(merge.get_args());
    Ran::of(bounded.current_dir(work.path(".")).stdin(Stdio::null()), 0);
    assert!(work.path("many/survey/merged.state").exists());
}

/// Two workers of one shard at the same time: both end well, and the part is that of one.
#[test]
fn a_shard_that_is_run_twice_at_once() {
    let Some(work) = with_models("naive") else { return };
    let plan = pass_over(&work, 2, &["survey", "learn"], "");
    let part = work.path("plan2/count/part-00000.state");
    let worker = format!("worker {plan} --pass count --shard 0 --cache cache");
    let start = || work.command(&worker).stdout(Stdio::null()).spawn().unwrap();
    for mut child in [start(), start()] {
        assert!(child.wait().unwrap().success());
    }
    let first = fs::read(&part).unwrap();
    fs::remove_file(&part).unwrap();
    work.cfaudit(0, &format!("worker {plan} --pass count --shard 0 --cache off"));
    assert_eq!(fs::read(&part).unwrap(), first);
    assert_eq!(names(&work.path("plan2/count")), ["part-00000.state"], "nothing else is left");
}

/// The files of a folder.
fn names(folder: &Path) -> Vec<String> {
    files(folder).into_keys().collect()
}

/// What a killed worker or merge left goes with the next one; what somebody writes stays.
#[test]
fn leftovers_of_killed_workers_are_removed() {
    let Some(work) = with_models("naive") else { return };
    let plan = pass_over(&work, 2, &["survey"], "");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    // No process has this number: Linux gives none above 2^22.
    let left = |file: &str, id: u32| {
        let name = format!("{plan}/survey/.{file}.new-{}-{id}", host.trim());
        work.write(&name, "half of a state");
        work.path(&name)
    };
    let (dead, living) =
        (left("part-00001.state", 99_999_999), left("part-00001.state", std::process::id()));
    let others = [left("part-00000.state", 99_999_999), left("merged.state", 99_999_999)];
    fs::remove_file(work.path(&format!("{plan}/survey/part-00001.state"))).unwrap();
    work.cfaudit(0, &format!("worker {plan} --pass survey --shard 1"));
    assert!(!dead.exists() && living.exists() && others.iter().all(|file| file.exists()));
    work.cfaudit(0, &format!("merge {plan} --pass survey"));
    assert!(living.exists() && others.iter().all(|file| !file.exists()));
}

/// Score metrics need the means of all shards: every shard looks at its scores again.
#[test]
fn scores_are_passed_over_again_by_all_shards() {
    let Some(work) = with_models("naive") else { return };
    work.run(0, "job.yaml", "");
    let plan = pass_over(&work, 2, &["survey", "learn", "count"], "");
    let done = |shard: usize| {
        // One cache for all: a result in it must not say that nothing is asked.
        let worker = format!("worker {plan} --pass shift --shard {shard} --cache shared");
        work.cfaudit(0, &worker).summary()["done"].clone()
    };
    assert_eq!([done(0), done(1)], ["written", "written"]);
    let early = work.cfaudit(5, &format!("run job.yaml --from {plan} --out out2 --cache off"));
    early.says(&["shift", "not merged yet", "hint: "]);
    work.cfaudit(0, &format!("merge {plan} --pass shift"));
    assert_same(&work.results(), &from_plan(&work, &plan, ""), "two shards");
}

/// Gates that compare with a baseline decide from merged states as a run does.
#[test]
fn a_baseline_in_shards() {
    let Some(work) = with_models("naive") else { return };
    work.cfaudit(0, "run job.yaml --out before --cache cache");
    let change = "gates:\n  change: {metric: nsr, model: bought, counterfactual: flip, against: \
                  baseline, rise_at_most: 0.9, level: warn}\n";
    let job = work.read("job.yaml");
    work.write("job.yaml", &job.replace("gates:\n", change));
    fs::rename(work.path("rows/b.parquet"), work.path("later.parquet")).unwrap();
    work.run(0, "job.yaml", "--baseline before");
    let plan = pass_over(&work, 2, &PASSES, "");
    assert_same(&work.results(), &from_plan(&work, &plan, "--baseline before"), "a baseline");
    assert!(work.path("out/tables/changes.parquet").exists());
}

/// Writes the scores of rows, and of their counterfactuals in every other region, in the order of
/// the rows; `more` are entries of no row.
pub(crate) fn write_scores(work: &Work, more: i64) {
    write_scores_by(work, more, |ids| column(ids));
}

/// The same with another column of ids.
fn write_scores_by(work: &Work, more: i64, ids_of: impl Fn(Vec<i64>) -> ArrayRef) {
    let n = ROW_GROUPS.concat().iter().sum::<usize>();
    let all_regions = people(0..n)[1].1.as_primitive::<Int64Type>().values().to_vec();
    let regions = all_regions.as_slice();
    let score = |i: usize, to: i64| (draw(i, 7.0) + 0.1 * to as f64) / 1.5;
    let moved = |i: usize| (1..=3).filter(move |&to| to != regions[i]).map(move |to| (i, to));
    let write = |path: &str, rows: Rows<(usize, i64)>| {
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
        write_with(&work.path(path), &batch(rows.columns()), properties);
    };
    let (known, others) = (0..n as i64, 0..more);
    let ids = known.map(|i| 3 * i).chain(others.map(|i| 100_000 + i)).collect();
    let all = (0..n + more as usize).map(|i| (i, 0));
    let factual = Rows::of(all).column("row_id", ids_of(ids));
    write(
        "factual.parquet",
        factual.with("score", |(i, to)| if i < n { score(i, to) } else { 0.5 }),
    );
    let all: Vec<(usize, i64)> = (0..n).flat_map(moved).collect();
    let ids = all.iter().map(|of| of.0 as i64 * 3).collect();
    let number = |k: f64| move |(i, to): (usize, i64)| draw(3 * i + to as usize, k);
    let rows = Rows::of(all)
        .with("decided", |(i, to)| decided(i, to))
        .with("p_low", number(26.0))
        .with("p_mid", number(29.0))
        .with("p_high", number(30.0))
        .column("row_id", ids_of(ids))
        .with("to_group", |(_, to)| to.to_string())
        .with("score", |(i, to)| score(i, to));
    write("moved.parquet", rows);
}

/// Each shard finds its entries in the files; what no shard asks for is found at the end.
#[test]
fn files_of_scores_are_joined_shard_by_shard() {
    let work = with_job("scores");
    write_scores(&work, 0);
    assert_in_shards(&work, "");
    write_scores(&work, 2);
    let plan = pass_over(&work, 2, &["survey", "learn", "count"], "");
    let ran = work.cfaudit(3, &format!("worker {plan} --pass shift --shard 1"));
    ran.says(&["error[unknown-key]", "factual.parquet", "has 425 entries", "423 of them"]);
    fs::remove_file(work.path("factual.parquet")).unwrap();
    let falling = Rows::of((0..423_i64).rev()).with("row_id", |i| i * 3);
    falling.with("score", |_| 0.4).write(&work, "factual.parquet");
    let plan = pass_over(&work, 1, &["survey", "learn"], "");
    work.cfaudit(3, &format!("worker {plan} --pass count --shard 0")).says(&[
        "error[unsorted-scores]",
        "factual.parquet",
        "sort the file",
    ]);
}

/// Cuts a file into parts of a folder of the same name, without the mark of the end.
pub(crate) fn cut_into_parts(work: &Work, name: &str, rows: usize) {
    let folder = work.path(name);
    let single = work.path("single");
    fs::create_dir(&single).unwrap();
    fs::rename(work.path(&format!("{name}.parquet")), single.join("all.parquet")).unwrap();
    let all = crate::batches::read_folder(&single);
    for first in (0..all.num_rows()).step_by(rows) {
        let part = all.slice(first, rows.min(all.num_rows() - first));
        crate::batches::write(&folder.join(format!("part-{first:05}.parquet")), &part);
    }
    fs::remove_dir_all(single).unwrap();
}

/// A folder of parts is a file of scores once it has `_SUCCESS`: in a run, and in shards.
#[test]
fn scores_in_parts() {
    let work = with_job("scores");
    write_scores(&work, 0);
    work.run(0, "job.yaml", "");
    let whole = fs::read(work.path("out/tables/metrics.parquet")).unwrap();
    cut_into_parts(&work, "factual", 150);
    cut_into_parts(&work, "moved", 333);
    let args = "--set models.live.scores.factual.parquet=factual --set \
                models.live.scores.counterfactual.parquet=moved";
    work.run(4, "job.yaml", args).says(&["factual/_SUCCESS", "moved/_SUCCESS"]);
    work.write("factual/_SUCCESS", "");
    work.write("moved/_SUCCESS", "");
    // Somebody writes the folder again.
    work.write("moved/_temporary/0/part.parquet", "half");
    work.run(4, "job.yaml", args).says(&["`moved/_temporary` says"]);
    fs::remove_dir_all(work.path("moved/_temporary")).unwrap();
    assert_in_shards(&work, args);
    assert_eq!(fs::read(work.path("out/tables/metrics.parquet")).unwrap(), whole);
    let manifest = work.json("out/manifest.json");
    let parts = |what: &str| {
        manifest["inputs"].as_array().unwrap().iter().filter(|of| of["what"] == what).count()
    };
    assert_eq!([parts("scores live"), parts("scores live/flip")], [3, 3]);
    // What is wrong with a row is said of its part.
    Rows::of(150..300_i64)
        .with("row_id", |i| i * 3)
        .with("score", |i| (i - 150) as f64)
        .write(&work, "factual/part-00150.parquet");
    work.run(3, "job.yaml", args)
        .says(&["error[bad-scores]", "row 2 of the part `part-00150.parquet` (row_id `456`)"]);
}

/// A program scores the rows of each shard, and the rows that it is asked about again are those of
/// a run.
#[test]
fn a_program_is_asked_shard_by_shard() {
    let Some(work) = with_models("command") else { return };
    assert_in_shards(&work, "");
    let recheck = &work.json("out/manifest.json")["models"][0]["recheck"];
    assert_eq!((&recheck["rows"], &recheck["differ"]), (&100.into(), &0.into()), "{recheck}");
}

#[test]
fn ids_that_do_not_rise_are_refused_after_the_survey() {
    let Some(work) = with_models("naive") else { return };
    write_groups(&work.path("rows/c.parquet"), 3, &[40]);
    let plan = pass_over(&work, 3, &["survey"], "");
    work.cfaudit(3, &format!("worker {plan} --pass count --shard 0")).says(&[
        "error[unsorted-row-ids]",
        "--> ",
        "sort the rows",
    ]);
}

/// Every shipped job runs in shards or is refused with the place of each reason.
#[test]
fn shipped_jobs_run_in_shards_or_are_refused_with_a_place() {
    let work = Work::with_jobs();
    for path in yaml_files("jobs") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let vars = |name: &&str| text.contains(&format!("{name}: required"));
        let sets = ["asof", "model_version"].into_iter().filter(vars);
        let sets: String = sets.map(|name| format!(" --set {name}=7.3")).collect();
        let ran = work.cfaudit(2, &format!("plan jobs/{name} --shards 3 --to plan{sets}"));
        for problem in ran.stderr.split("error[").skip(1) {
            assert!(
                problem.starts_with("not-in-shards]: the job cannot be run in shards: "),
                "{problem}"
            );
            problem.says(&["--> jobs/", "hint: "]);
        }
        assert!(!work.path("plan").exists(), "{name}");
    }
}
