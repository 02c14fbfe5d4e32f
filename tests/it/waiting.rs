//! Scores that are computed elsewhere and later: what a run asks for, how it goes on, and which
//! answers it refuses.
//!
//! The platform that makes the scores is played by [`Platform`]: it reads the rows to score as any
//! program would, scores them by a separate formula and writes its file.

use crate::frame::read_frame;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Float64Type, Int64Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::lists::{assert_valid, schema};
use crate::work::{Ran, Work, assert_same, column, files, results};

const JOB: &str = "jobs/production.yaml";
const VARS: &str = "--set asof=2026-11-20 --set model_version=7.3";
const SCORES: &str = "lake/cf-scores/asof=2026-11-20/flip.parquet";
const WORLD_SCORES: &str = "lake/cf-scores/asof=2026-11-20/world.parquet";
const DECISIONS: i64 = 400;
const REGIONS: [&str; 3] = ["north", "south", "east"];

/// A number in [0, 1) that looks random and is not.
fn draw(i: i64, k: i32) -> f64 {
    (i as f64 * f64::from(k).sqrt()).fract()
}

/// What the platform knows of a row.
struct Applicant<'a> {
    sex: &'a str,
    region: &'a str,
    income: f64,
    utilisation: Option<f64>,
    open_accounts: i64,
    channel: &'a str,
}

/// A scoring platform with one version of its model.
struct Platform {
    /// What being male is worth.
    bonus: f64,
}

/// The model that made the decisions.
const LIVE: Platform = Platform { bonus: 0.04 };

impl Platform {
    fn score(&self, a: &Applicant<'_>) -> f64 {
        let mut score = 0.1 + a.income / 100_000.0
            - 0.2 * a.utilisation.unwrap_or(0.5)
            - 0.01 * a.open_accounts as f64;
        score += if a.sex == "male" { self.bonus } else { 0.0 };
        score += if a.region == "east" { -0.03 } else { 0.0 };
        score += if a.channel == "branch" { 0.02 } else { 0.0 };
        score.clamp(0.0, 1.0)
    }

    /// The scores of rows that hold the features.
    fn scores(&self, rows: &RecordBatch) -> Vec<f64> {
        let text = |name: &str, i: usize| {
            let array = rows.column_by_name(name).unwrap().as_string::<i32>();
            if array.is_null(i) { "" } else { array.value(i) }
        };
        let real = |name: &str, i: usize| {
            let array = rows.column_by_name(name).unwrap().as_primitive::<Float64Type>();
            (!array.is_null(i)).then(|| array.value(i))
        };
        let score = |i: usize| {
            self.score(&Applicant {
                sex: text("sex", i),
                region: text("region", i),
                income: real("income", i).unwrap(),
                utilisation: real("utilisation", i),
                open_accounts: rows
                    .column_by_name("open_accounts")
                    .unwrap()
                    .as_primitive::<Int64Type>()
                    .value(i),
                channel: text("channel", i),
            })
        };
        (0..rows.num_rows()).map(score).collect()
    }

    /// Reads the rows to score and gives the lines of the file that answers them, last row first:
    /// the order is free.
    fn answer(&self, to_score: &Path) -> RecordBatch {
        let rows = read_folder(to_score);
        let scores: ArrayRef = column(Float64Array::from(self.scores(&rows)));
        let mut columns = vec![("row_id", rows.column_by_name("row_id").unwrap().clone())];
        for key in ["sensitive", "to_group", "cf_index"] {
            columns.extend(rows.column_by_name(key).map(|array| (key, array.clone())));
        }
        columns.push(("score", scores));
        columns.push(("request", rows.column_by_name("request").unwrap().clone()));
        let lines = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        take_record_batch(&lines, &Int64Array::from_iter_values((0..lines.num_rows() as i64).rev()))
            .unwrap()
    }
}

pub(crate) fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = reader.schema().clone();
    concat_batches(&schema, &reader.build().unwrap().map(Result::unwrap).collect::<Vec<_>>())
        .unwrap()
}

/// The parts of a folder of rows to score, in order.
pub(crate) fn read_folder(folder: &Path) -> RecordBatch {
    let parts: Vec<RecordBatch> =
        files(folder).keys().map(|name| read(&folder.join(name))).collect();
    concat_batches(&parts[0].schema(), &parts).unwrap()
}

pub(crate) fn write(path: &Path, lines: &RecordBatch) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), lines.schema(), None).unwrap();
    writer.write(lines).unwrap();
    writer.close().unwrap();
}

/// The lines for which `keep` says so.
fn only(lines: &RecordBatch, keep: impl Fn(usize) -> bool) -> RecordBatch {
    filter_record_batch(lines, &(0..lines.num_rows()).map(|i| Some(keep(i))).collect()).unwrap()
}

fn text(lines: &RecordBatch, name: &str, i: usize) -> String {
    lines.column_by_name(name).unwrap().as_string::<i32>().value(i).to_owned()
}

/// The applicants, some without a sex or with one that the job does not name, and the scores that
/// decided.
fn decisions() -> RecordBatch {
    let rows = || 0..DECISIONS;
    let sex = |i: i64| match i % 40 {
        7 => None,
        8 => Some("unknown"),
        _ if draw(i, 2) < 0.5 => Some("female"),
        _ => Some("male"),
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "application_id",
            column(
                rows().map(|i| Some(format!("A-{:05}", 7 * i % 100_000))).collect::<StringArray>(),
            ),
        ),
        ("sex", column(rows().map(sex).collect::<StringArray>())),
        (
            "region",
            column(
                rows().map(|i| Some(REGIONS[(draw(i, 3) * 3.0) as usize])).collect::<StringArray>(),
            ),
        ),
        ("age", column(rows().map(|i| 18 + (draw(i, 5) * 60.0) as i64).collect::<Int64Array>())),
        (
            "income",
            column(rows().map(|i| 20_000.0 + 80_000.0 * draw(i, 6)).collect::<Float64Array>()),
        ),
        (
            "employment_years",
            column(rows().map(|i| (draw(i, 7) * 30.0).floor()).collect::<Float64Array>()),
        ),
        (
            "utilisation",
            column(rows().map(|i| (i % 50 != 3).then(|| draw(i, 8))).collect::<Float64Array>()),
        ),
        (
            "open_accounts",
            column(rows().map(|i| (draw(i, 10) * 9.0) as i64).collect::<Int64Array>()),
        ),
        (
            "channel",
            column(
                rows()
                    .map(|i| Some(["web", "branch"][(draw(i, 11) * 2.0) as usize]))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "purpose",
            column(
                rows()
                    .map(|i| Some(["car", "home", "other"][(draw(i, 12) * 3.0) as usize]))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "cutoff",
            column(rows().map(|i| if i % 2 == 0 { 0.4 } else { 0.45 }).collect::<Float64Array>()),
        ),
    ];
    let plain = RecordBatch::try_from_iter_with_nullable(
        columns.iter().map(|(name, array)| (*name, array.clone(), true)),
    )
    .unwrap();
    let score: ArrayRef = column(Float64Array::from(LIVE.scores(&plain)));
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().chain([("score", score)]).map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// What the shipped job has next to the set `flip`.
const WORLD: [(&str, &str); 3] = [
    (
        "  reference: {parquet: \"lake/training/${vars.model_version}.parquet\", label: outcome}   \
         # the distributions that `world` learns\n",
        "",
    ),
    (
        "  world:\n    plausible: {move: [income, employment_years, utilisation], condition_on: \
         {prediction: live}, threshold: 0.5, depth: 1}\n",
        "",
    ),
    ("counterfactual: world", "counterfactual: flip"),
];

/// A working folder with a day of decisions in two files, and the shipped job with the set `flip`
/// alone: what is asked and answered is then known without another program.
fn lake() -> Work {
    let work = whole_lake();
    let shipped = fs::read_to_string(work.path(JOB)).unwrap();
    work.write(
        JOB,
        &WORLD.iter().fold(shipped, |text, (old, new)| {
            assert!(text.contains(old), "{old}");
            text.replace(old, new)
        }),
    );
    work
}

/// A working folder with the shipped job, a day of decisions in two files, and the rows that the
/// model learnt from.
fn whole_lake() -> Work {
    let work = Work::with_jobs();
    let learnt = decisions();
    let outcome: ArrayRef =
        column((0..DECISIONS).map(|i| i64::from(draw(i, 13) < 0.6)).collect::<Int64Array>());
    let columns = learnt
        .schema()
        .fields()
        .iter()
        .zip(learnt.columns())
        .map(|(f, c)| (f.name().clone(), c.clone()))
        .collect::<Vec<_>>();
    let columns = columns
        .into_iter()
        .chain([("outcome".to_owned(), outcome)])
        .map(|(name, array)| (name, array, true));
    write(
        &work.path("lake/training/7.3.parquet"),
        &RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
    );
    let all = decisions();
    for (name, from, n) in
        [("part-0.parquet", 0, 150), ("part-1.parquet", 150, all.num_rows() - 150)]
    {
        write(&work.path("lake/decisions/asof=2026-11-20").join(name), &all.slice(from, n));
    }
    work
}

/// The rows of the day by their id.
fn by_id(rows: &RecordBatch) -> BTreeMap<String, usize> {
    (0..rows.num_rows()).map(|i| (text(rows, "application_id", i), i)).collect()
}

#[test]
fn a_day_of_decisions_from_request_to_verdict() {
    let work = whole_lake();
    let first = work.run(4, JOB, &format!("{VARS} --summary-file line"));
    first.says(&["verdict waiting", "out/to-score", SCORES, "exit status 4"]);
    let mut summary = first.summary();
    assert_eq!(fs::read_to_string(work.path("line")).unwrap(), first.stdout);
    assert_eq!([&summary["verdict"], &summary["out"]], ["waiting", "out"]);
    assert_eq!([&summary["exit"], &summary["rows"]], [4, DECISIONS]);
    assert_valid(&schema("summary"), &summary, Path::new("the summary line"));
    summary.as_object_mut().unwrap().shift_remove("out");
    assert_eq!(work.json("out/summary.json"), summary);
    assert_valid(&schema("manifest"), &work.json("out/manifest.json"), Path::new("manifest.json"));

    let names: Vec<String> = files(&work.path("out")).into_keys().collect();
    let expected = [
        "annex.html",
        "job.resolved.yaml",
        "logs/run.jsonl",
        "manifest.json",
        "report.html",
        "run.json",
        "summary.json",
        "tables/counts.parquet",
        "tables/filters.parquet",
        "tables/gates.parquet",
        "tables/groups.parquet",
        "tables/issues.parquet",
        "tables/metrics.parquet",
        "tables/score_shift.parquet",
        "to-score/flip/part-00000.parquet",
        "to-score/world/part-00000.parquet",
    ];
    assert_eq!(names, expected);
    let n_rows = read_folder(&work.path("out/to-score/flip")).num_rows();
    let awaited = &work.json("out/manifest.json")["awaited"];
    assert_eq!(awaited[0]["path"], SCORES);
    assert_eq!(
        [&awaited[0]["model"], &awaited[0]["counterfactual"], &awaited[0]["to_score"]],
        ["live", "flip", "to-score/flip"]
    );
    assert_eq!(awaited[0]["rows"], n_rows);
    assert_eq!([&awaited[1]["path"], &awaited[1]["to_score"]], [WORLD_SCORES, "to-score/world"]);
    // People of both worlds differ in what `world` moves, and in nothing else.
    let [flip, world] =
        ["flip", "world"].map(|set| read_folder(&work.path("out/to-score").join(set)));
    assert_eq!(
        (flip.num_rows(), flip.schema().fields()),
        (world.num_rows(), world.schema().fields())
    );
    for (name, moves) in [
        ("income", true),
        ("utilisation", true),
        ("employment_years", true),
        ("age", false),
        ("purpose", false),
    ] {
        assert_eq!(flip.column_by_name(name) != world.column_by_name(name), moves, "{name}");
    }
    let page = fs::read_to_string(work.path("out/annex.html")).unwrap();
    assert!(
        page.contains("Waiting for scores")
            && page.contains("--set asof=2026-11-20 --set model_version=7.3"),
        "{page}"
    );

    // Asked again before the platform is done, the run does nothing new.
    let before = work.results();
    let again = work.run(4, JOB, VARS);
    assert_eq!(again.summary(), first.summary());
    assert_same(&before, &work.results(), "a second request");
    assert_eq!(work.json("out/run.json")["stages_run"], 0);
    work.cfaudit(0, "report out");
    assert_same(&before, &work.results(), "the page rendered again");

    write(&work.path(SCORES), &LIVE.answer(&work.path("out/to-score/flip")));
    write(&work.path(WORLD_SCORES), &LIVE.answer(&work.path("out/to-score/world")));
    let done = work.run(0, JOB, VARS);
    assert_eq!(done.summary()["exit"], 0);
    assert!(!work.path("out/to-score").exists(), "the request is answered");
    assert!(work.path("out/tables/metrics.parquet").exists());
    let record = work.json("out/run.json");
    for stage in record["stages"].as_array().unwrap() {
        // The decisions of the day are what `world` conditions on, and they were counted already.
        let early = ["prepare", "split", "fit", "generate"]
            .contains(&stage["kind"].as_str().unwrap())
            || stage["id"] == "score/model=live"
            || ["request", "count/model=live/attribute="]
                .iter()
                .any(|early| stage["id"].as_str().unwrap().starts_with(early));
        assert_eq!(stage["cached"], early, "{stage}");
    }
    let recheck = &work.json("out/manifest.json")["models"][0]["recheck"];
    assert!(recheck["rows"].as_u64().unwrap() >= 2 && recheck["largest"] == 0.0, "{recheck}");
    let (results_before, third) = (work.results(), work.run(0, JOB, VARS));
    third.says(&["nothing to do"]);
    assert_same(&results_before, &work.results(), "a third call");

    // The gate is asked for real: 10 of 136 approved men would not be as women.
    let gate = ["counterfactual=flip", "level=fail", "enough=20", "at_most=0.02"]
        .map(|knob| format!("--set gates.no-harm-to-women.{knob}"))
        .join(" ");
    let failed = work.run(1, JOB, &format!("{VARS} {gate}"));
    let worst = &failed.summary()["worst"];
    assert_eq!([&worst["gate"], &worst["verdict"]], ["no-harm-to-women", "fail"]);

    // Without the cache of the waiting run, with the same results.
    work.cfaudit(0, &format!("run {JOB} {VARS} --out fresh --cache fresh-cache"));
    assert_same(&results_before, &results(&work.path("fresh")), "a run that never waited");
}

#[test]
fn the_rows_to_score_are_the_rows_of_the_user() {
    let work = lake();
    work.run(4, JOB, VARS);
    let (rows, source) = (read_folder(&work.path("out/to-score/flip")), decisions());
    let schema = rows.schema();
    let columns: Vec<(&str, &DataType)> =
        schema.fields().iter().map(|f| (f.name().as_str(), f.data_type())).collect();
    let (word, int, real) = (&DataType::Utf8, &DataType::Int64, &DataType::Float64);
    let expected = [
        ("row_id", word),
        ("sensitive", word),
        ("from_group", word),
        ("to_group", word),
        ("cf_index", int),
        ("request", word),
        ("sex", word),
        ("region", word),
        ("age", int),
        ("income", real),
        ("employment_years", real),
        ("utilisation", real),
        ("open_accounts", int),
        ("channel", word),
        ("purpose", word),
    ];
    assert_eq!(columns, expected);
    let positions = by_id(&source);
    let groups = BTreeMap::from([("sex", vec!["female", "male"]), ("region", REGIONS.to_vec())]);
    let (mut keys, mut wanted, mut again) =
        (Vec::new(), BTreeSet::new(), BTreeMap::<String, usize>::new());
    for (id, &i) in &positions {
        for (attribute, groups) in &groups {
            let array = source.column_by_name(attribute).unwrap().as_string::<i32>();
            let own = if array.is_null(i) { "" } else { array.value(i) };
            if groups.contains(&own) {
                wanted.extend(
                    groups
                        .iter()
                        .filter(|g| **g != own)
                        .map(|to| (id.clone(), (*attribute).to_owned(), (*to).to_owned())),
                );
            }
        }
    }
    for line in 0..rows.num_rows() {
        let [id, attribute, from, to] =
            ["row_id", "sensitive", "from_group", "to_group"].map(|key| text(&rows, key, line));
        let i = positions[&id];
        assert_eq!(text(&source, &attribute, i), from);
        assert_eq!(text(&rows, &attribute, line), to, "the attribute is set");
        for name in expected[6..].iter().map(|c| c.0).filter(|name| *name != attribute) {
            let (a, b) = (
                rows.column_by_name(name).unwrap().slice(line, 1),
                source.column_by_name(name).unwrap().slice(i, 1),
            );
            assert_eq!(&a, &b, "`{name}` of {id}");
        }
        if from == to {
            *again.entry(attribute.clone()).or_default() += 1;
        } else {
            assert!(
                wanted.remove(&(id.clone(), attribute.clone(), to.clone())),
                "{id} {attribute} {to} is asked once"
            );
        }
        let place = |groups: &[&str], group: &str| groups.iter().position(|g| *g == group).unwrap();
        keys.push((i, usize::from(attribute == "region"), place(&groups[attribute.as_str()], &to)));
    }
    assert!(wanted.is_empty(), "not asked: {wanted:?}");
    assert!(
        keys.is_sorted() && keys.windows(2).all(|k| k[0] != k[1]),
        "lines stand in the order of rows, attributes, groups"
    );
    // One row in a hundred of 380 and 400, drawn by a hash.
    assert!(again.len() == 2 && again.values().all(|n| (1..=12).contains(n)), "{again:?}");
    let more = format!("{VARS} --set models.live.scores.recheck.share=0.5");
    work.run(4, JOB, &more);
    let half = read_folder(&work.path("out/to-score/flip"));
    let n = (0..half.num_rows())
        .filter(|&i| text(&half, "from_group", i) == text(&half, "to_group", i))
        .count();
    assert!((320..=460).contains(&n), "{n} of 780");
    let small = format!("{VARS} --set models.live.scores.recheck.share=1.0e-9");
    work.run(4, JOB, &small);
    let few = read_folder(&work.path("out/to-score/flip"));
    let n = (0..few.num_rows())
        .filter(|&i| text(&few, "from_group", i) == text(&few, "to_group", i))
        .count();
    assert_eq!(n, 2, "one row for each attribute, however small the share");
}

#[test]
fn a_request_does_not_depend_on_threads_or_batches() {
    let work = lake();
    work.run(4, JOB, &format!("{VARS} --threads 2"));
    let expected = work.results();
    for (threads, batch_rows) in [(1, 1024), (8, 1024), (8, 65536)] {
        let flags = format!("--threads {threads} --batch-rows {batch_rows}");
        work.cfaudit(4, &format!("run {JOB} {VARS} --out other --cache other-cache {flags}"));
        assert_same(&expected, &results(&work.path("other")), &flags);
        fs::remove_dir_all(work.path("other-cache")).unwrap();
    }
}

/// What is found in features is reported where somebody reads them: rows that are scored elsewhere
/// are named by their features.
#[test]
fn features_that_nobody_reads_leave_no_trace() {
    let work = lake();
    let columns = fs::read_to_string(work.path("jobs/base/credit-columns.yaml")).unwrap();
    let more = "  missing: {null_values: {purpose: [other]}}\n  derive: {years: {from: age, bins: \
                [20, 50, 70]}}\n  features:\n";
    work.write(
        "jobs/base/credit-columns.yaml",
        &columns
            .replace("  features:\n", more)
            .replace("channel, purpose", "channel, purpose, years"),
    );
    work.run(4, JOB, VARS);
    let codes = |work: &Work| {
        let issues = read_frame(&work.path("out/tables"), "issues");
        issues
            .records()
            .map(|r| r.text("code").to_owned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    let expected =
        ["missing-group", "missing-values", "null-value", "outside-bins", "undeclared-group"];
    assert_eq!(codes(&work), expected);
    assert!(read_folder(&work.path("out/to-score/flip")).column_by_name("years").is_some());
    write(&work.path(SCORES), &LIVE.answer(&work.path("out/to-score/flip")));
    work.run(0, JOB, VARS);
    assert_eq!(codes(&work), expected);
    work.cfaudit(0, &format!("run {JOB} {VARS} --out fresh --cache fresh-cache"));
    assert_same(&work.results(), &results(&work.path("fresh")), "a run that never waited");
    // Scores that are in the rows ask for nothing.
    let job = fs::read_to_string(work.path(JOB)).unwrap();
    let (head, rest) = job.split_once("      counterfactual: {parquet").unwrap();
    let rest = rest.split_once("    threshold:").unwrap().1.split("gates:").next().unwrap();
    let alone = format!("{head}    threshold:{rest}")
        .replace("families: [group, ccm, shift]", "families: [group]");
    work.write("jobs/alone.yaml", &alone);
    work.cfaudit(0, &format!("run jobs/alone.yaml {VARS} --out out --cache cache"));
    assert_eq!(codes(&work), ["missing-group", "undeclared-group"]);
}

/// The page says which files do not say what they answer.
const UNBOUND: &str = "Not linked to the rows of this audit";

/// Scores of other rows with the same keys: nothing but the request tells, and it is reported in
/// the file, in the cache or in the folder.
#[test]
fn a_file_of_scores_answers_one_request() {
    let work = whole_lake();
    let page = |work: &Work| fs::read_to_string(work.path("out/annex.html")).unwrap();
    let answer = |set: &str| LIVE.answer(&work.path("out/to-score").join(set));
    let without = |lines: &RecordBatch| {
        let mut lines = lines.clone();
        lines.remove_column(lines.schema().index_of("request").unwrap());
        lines
    };
    work.run(4, JOB, VARS);
    let request =
        work.json("out/manifest.json")["awaited"][1]["request"].as_str().unwrap().to_owned();
    let asked = read_folder(&work.path("out/to-score/world"));
    assert!(
        request.len() == 64 && (0..asked.num_rows()).all(|i| text(&asked, "request", i) == request)
    );
    let part = File::open(work.path("out/to-score/world/part-00000.parquet")).unwrap();
    let notes = ParquetRecordBatchReaderBuilder::try_new(part)
        .unwrap()
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .cloned()
        .unwrap();
    assert!(
        notes
            .iter()
            .any(|note| note.key == "cfaudit.request" && note.value.as_ref() == Some(&request)),
        "{notes:?}"
    );
    let (flip, world) = (answer("flip"), answer("world"));
    write(&work.path(SCORES), &flip);
    write(&work.path(WORLD_SCORES), &world);
    work.run(0, JOB, VARS);
    let answers = work.json("out/manifest.json")["answers"].clone();
    assert!(
        answers[0]["named"] == true
            && answers[1]["named"] == true
            && answers[1]["request"] == request.as_str(),
        "{answers}"
    );
    assert!(!page(&work).contains(UNBOUND));

    // The set moves another feature: the keys are the same, the rows are not.
    let job = fs::read_to_string(work.path(JOB)).unwrap();
    work.write(
        JOB,
        &job.replace("move: [income, employment_years, utilisation]", "move: [income]"),
    );
    let refused = |words: &[&str]| {
        let before = work.results();
        let ran = work.run(3, JOB, VARS);
        ran.says(&[
            "error[other-request]",
            &format!("`{WORLD_SCORES}`"),
            "hint: score the rows",
            "--> jobs/production.yaml:",
        ]);
        ran.says(words);
        assert_same(&before, &work.results(), "the folder");
    };
    refused(&[
        &format!("it names the request `{}`", &request[..12]),
        "the scores of other rows, or another version of cfaudit wrote the rows to score",
    ]);
    let noted = |lines: &RecordBatch, id: &str| {
        let note =
            parquet::file::metadata::KeyValue::new("cfaudit.request".to_owned(), id.to_owned());
        let notes = parquet::file::properties::WriterProperties::builder()
            .set_key_value_metadata(Some(vec![note]))
            .build();
        let mut writer = ArrowWriter::try_new(
            File::create(work.path(WORLD_SCORES)).unwrap(),
            lines.schema(),
            Some(notes),
        )
        .unwrap();
        writer.write(lines).unwrap();
        writer.close().unwrap();
    };
    noted(&without(&world), &request);
    refused(&["it names the request"]);
    let mixed = with_text(&world, "request", &|i| {
        if i == 7 { "another".to_owned() } else { request.clone() }
    });
    write(&work.path(WORLD_SCORES), &mixed);
    let ran = work.run(3, JOB, VARS);
    ran.says(&[
        "error[other-request]",
        "the scores answer several requests: this line has `another`",
        "row 7 (",
    ]);
    // Taken away, the rows are asked for again, and their scores are taken; what is noted is
    // enough.
    fs::remove_file(work.path(WORLD_SCORES)).unwrap();
    work.run(4, JOB, VARS);
    let second =
        work.json("out/manifest.json")["awaited"][0]["request"].as_str().unwrap().to_owned();
    assert_ne!(second, request);
    let moved = answer("world");
    noted(&without(&moved), &second);
    work.run(0, JOB, VARS);
    assert!(!page(&work).contains(UNBOUND));

    // A file that names nothing is taken once, for one request, and the first screen says so.
    write(&work.path(WORLD_SCORES), &without(&moved));
    work.run(0, JOB, VARS);
    let html = page(&work);
    let verdict = html.split("id=\"verdict\"").nth(1).unwrap().split("<section").next().unwrap();
    assert!(
        verdict.contains(UNBOUND)
            && verdict.contains("world.parquet")
            && !verdict.contains("flip.parquet"),
        "{verdict}"
    );
    assert_eq!(work.json("out/manifest.json")["answers"][1]["named"], false);
    let with_both = work.results();
    work.write(JOB, &job);
    let refused = || {
        let ran = work.run(3, JOB, VARS);
        ran.says(&[
            "error[other-request]",
            &format!("`{WORLD_SCORES}`"),
            &format!("used for other rows before (request `{}`", &second[..12]),
        ]);
    };
    refused();
    let cache = |to: &str, from: &str| fs::rename(work.path(from), work.path(to)).unwrap();
    cache("kept-cache", "cache");
    refused();
    fs::remove_dir_all(work.path("cache")).unwrap();
    cache("cache", "kept-cache");
    cache("kept-out", "out");
    refused();
    assert!(!work.path("out").exists());
    // Nobody remembers: it is taken, and told.
    work.cfaudit(0, &format!("run {JOB} {VARS} --out forgotten --cache forgotten-cache"));
    assert!(fs::read_to_string(work.path("forgotten/annex.html")).unwrap().contains(UNBOUND));
    // The way back; what a folder says does not depend on what a cache remembers.
    cache("out", "kept-out");
    work.write(
        JOB,
        &job.replace("move: [income, employment_years, utilisation]", "move: [income]"),
    );
    work.run(0, JOB, VARS);
    assert_same(&with_both, &work.results(), "the way back");
}

/// A reference that a variable names is another one after a new model version, and the gate on the
/// change is inconclusive then.
#[test]
fn check_tells_of_a_reference_that_moves_along() {
    let work = whole_lake();
    let told = |work: &Work| work.cfaudit(0, &format!("check {JOB} {VARS} --no-data")).stdout;
    let first = told(&work);
    let words = [
        "warning[refitted-gate]",
        "the rows of `data.reference`, which a variable names",
        "approve a folder of that version",
    ];
    let job = fs::read_to_string(work.path(JOB)).unwrap();
    // The job of these tests may have no such gate or reference of its own.
    assert!(
        job.contains("lake/training/${vars.model_version}.parquet")
            && job.contains("against: baseline"),
        "{job}"
    );
    assert!(words.iter().all(|part| first.contains(part)), "{first}");
    assert!(!first.contains("no-recheck"), "{first}");
    work.write(
        JOB,
        &job.replace("lake/training/${vars.model_version}.parquet", "lake/training/7.3.parquet"),
    );
    assert!(!told(&work).contains("refitted-gate"));
}

/// Two sets of one job may have the same scores, byte by byte: they do not count against each
/// other.
#[test]
fn files_of_two_sets_may_be_the_same() {
    let work = Work::new();
    let sets = |world: &str, moved: &str| {
        let sets = format!(
            "{{flip: naive, {world}: {{plausible: {{move: [{moved}], condition_on: none, \
             threshold: 0.5}}}}}}"
        );
        let job = TWO.replace("{flip: naive, only-sex: {naive: {}, sensitive: [sex]}}", &sets);
        let (before, rest) = job.split_once("  second:\n").unwrap();
        work.write(
            "job.yaml",
            &format!("{before}metrics:{}", rest.split_once("metrics:").unwrap().1),
        );
    };
    sets("world", "income");
    write(&work.path("rows.parquet"), &decisions());
    work.run(4, "job.yaml", "");
    write(&work.path("first.parquet"), &LIVE.answer(&work.path("out/to-score/factual")));
    let mut lines = LIVE.answer(&work.path("out/to-score/flip"));
    lines.remove_column(lines.schema().index_of("request").unwrap());
    let at = lines.schema().index_of("score").unwrap();
    let mut columns = lines.columns().to_vec();
    columns[at] = column(Float64Array::from(vec![0.5; lines.num_rows()]));
    let lines = RecordBatch::try_new(lines.schema(), columns).unwrap();
    write(&work.path("first-flip.parquet"), &lines);
    write(&work.path("first-world.parquet"), &lines);
    assert_eq!(
        fs::read(work.path("first-flip.parquet")).unwrap(),
        fs::read(work.path("first-world.parquet")).unwrap()
    );
    work.run(0, "job.yaml", "");
    let answers = work.json("out/manifest.json")["answers"].clone();
    assert_eq!(answers[1]["sha256"], answers[2]["sha256"], "{answers}");
    assert_ne!(answers[1]["request"], answers[2]["request"], "{answers}");
    work.run(0, "job.yaml", "");
    // The same bytes for another request of the set are refused, by what the cache and by what the
    // folder remembers.
    let refused = |args: &str| {
        let ran = work.cfaudit(3, &format!("run job.yaml {args}"));
        ran.says(&[
            "error[other-request]",
            "used for other rows before",
            "The same bytes are always refused",
        ]);
    };
    sets("world", "age");
    refused("--out out --cache other-cache");
    refused("--out other --cache cache");
    // So they are where the set got another name.
    sets("moved", "age");
    fs::rename(work.path("first-world.parquet"), work.path("first-moved.parquet")).unwrap();
    refused("--out out --cache third-cache");
    refused("--out third --cache cache");
}

/// A file that cannot be read may be incomplete: the run waits for it as long as it is young.
#[test]
fn a_half_written_file_is_waited_for() {
    let work = lake();
    work.run(4, JOB, VARS);
    let path = work.path(SCORES);
    write(&path, &LIVE.answer(&work.path("out/to-score/flip")));
    let whole = fs::read(&path).unwrap();
    for half in [&whole[..whole.len() / 2], &[]] {
        fs::write(&path, half).unwrap();
        let ran = work.run(4, JOB, VARS);
        ran.says(&[
            "may be incomplete",
            "until it is 15 minutes old",
            "write such a file elsewhere and rename it",
            SCORES,
        ]);
        assert!(work.path("out/to-score/flip").exists());
        work.cfaudit(0, &format!("check {JOB} {VARS} --cache cache")).says(&["may be incomplete"]);
        let age = |minutes: u64| {
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(60 * minutes);
            File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        };
        age(14);
        work.run(4, JOB, VARS);
        age(16);
        work.run(3, JOB, VARS).says(&["error[unreadable-file]", SCORES, "hint: "]);
    }
    fs::write(&path, whole).unwrap();
    work.run(0, JOB, VARS);
}

/// Runs the job on an answer that was changed; the words of the refusal.
#[track_caller]
fn refused(work: &Work, answer: &RecordBatch, code: &str, words: &[&str]) {
    write(&work.path(SCORES), answer);
    let before = work.results();
    let ran = work.run(3, JOB, VARS);
    ran.says(&[
        &format!("error[{code}]"),
        &format!("`{SCORES}`"),
        "hint: ",
        "--> jobs/production.yaml:32:7",
    ]);
    ran.says(words);
    assert!(ran.stdout.is_empty());
    assert_same(&before, &work.results(), "the folder of the request");
}

#[test]
fn answers_that_do_not_fit_are_refused() {
    let work = lake();
    work.run(4, JOB, VARS);
    let request = work.path("out/to-score/flip");
    let good = LIVE.answer(&request);
    let again = |i: usize| {
        let rows = read_folder(&request);
        let line = rows.num_rows() - 1 - i;
        text(&rows, "from_group", line) == text(&rows, "to_group", line)
    };
    let last = text(&good, "row_id", 0);

    let other = Platform { bonus: 0.08 };
    let words = [
        "rows that were scored again differ",
        "the largest difference is 0.0",
        "come from different models or data",
    ];
    refused(&work, &other.answer(&request), "recheck-differs", &words);
    let scores = good.column_by_name("score").unwrap().as_primitive::<Float64Type>();
    let without: Float64Array =
        (0..good.num_rows()).map(|i| (!again(i)).then(|| scores.value(i))).collect();
    let mut columns = good.columns().to_vec();
    columns[good.schema().index_of("score").unwrap()] = Arc::new(without);
    let schema = Arc::new(Schema::new(
        good.schema()
            .fields()
            .iter()
            .map(|f| f.as_ref().clone().with_nullable(true))
            .collect::<Vec<_>>(),
    ));
    let null = RecordBatch::try_new(schema, columns).unwrap();
    refused(
        &work,
        &null,
        "recheck-differs",
        &["rows that were scored again have a score in only one file:"],
    );
    let what = [format!("row_id `{last}`"), "lacks 1 of the ".to_owned()];
    refused(
        &work,
        &only(&good, |i| i != 0),
        "incomplete-scores",
        &what.each_ref().map(String::as_str),
    );
    refused(
        &work,
        &only(&good, |i| !again(i)),
        "incomplete-scores",
        &["are required by `recheck`"],
    );
    let twice = concat_batches(&good.schema(), [&good, &good.slice(5, 1)]).unwrap();
    refused(&work, &twice, "duplicate-key", &["twice"]);
    refused(
        &work,
        &renamed(&good, "score", "probability"),
        "missing-column",
        &["`score`", "`probability`"],
    );
    refused(&work, &renamed(&good, "to_group", "target"), "missing-column", &["`to_group`"]);
    refused(
        &work,
        &with_text(&good, "row_id", &|i| text(&good, "row_id", i).replace('A', "B")),
        "no-scores-found",
        &["`row_id`"],
    );
    let strange = with_text(&good, "row_id", &|i| {
        if i == 9 { "B-1".to_owned() } else { text(&good, "row_id", i) }
    });
    refused(
        &work,
        &strange,
        "unknown-key",
        &[
            "row 9 (row_id `B-1`, sensitive `",
            "no row kept by this job has this row_id\n",
            "the rows to score are then written again",
        ],
    );
    let wrong = with_text(&good, "sensitive", &|i| {
        if i == 9 { "gender".to_owned() } else { text(&good, "sensitive", i) }
    });
    refused(
        &work,
        &wrong,
        "bad-scores",
        &["`gender` is not a sensitive attribute of the job", "row 9 (", "`sex`, `region`"],
    );
    // A row in its own group that nobody asked for again.
    let rows = read_folder(&request);
    let asked: BTreeSet<(String, String)> = (0..rows.num_rows())
        .filter(|&i| text(&rows, "from_group", i) == text(&rows, "to_group", i))
        .map(|i| (text(&rows, "row_id", i), text(&rows, "sensitive", i)))
        .collect();
    let n = rows.num_rows();
    let free = (0..n)
        .find(|&i| !asked.contains(&(text(&rows, "row_id", i), text(&rows, "sensitive", i))))
        .unwrap();
    let own = good.slice(n - 1 - free, 1);
    let own = with_text(&own, "to_group", &|_| text(&rows, "from_group", free));
    refused(
        &work,
        &concat_batches(&good.schema(), [&good, &own]).unwrap(),
        "unknown-key",
        &["this entry has the row's own group", "not to be scored again"],
    );

    // What is right is taken in any order, with null for what cannot be scored.
    let nulls: Float64Array = good
        .column_by_name("score")
        .unwrap()
        .as_primitive::<Float64Type>()
        .iter()
        .enumerate()
        .map(|(i, score)| score.filter(|_| again(i) || i % 10 != 0))
        .collect();
    let missing = nulls.null_count();
    let mut columns = good.columns().to_vec();
    columns[4] = column(nulls);
    write(&work.path(SCORES), &RecordBatch::try_new(good.schema(), columns).unwrap());
    work.run(0, JOB, VARS);
    let groups = read_frame(&work.path("out/tables"), "groups");
    let all = groups.records().filter(|r| r.text("group").is_empty());
    let counted: i64 = all.map(|r| r.int("n_missing_counterfactual_score").unwrap()).sum();
    assert_eq!(usize::try_from(counted).unwrap(), missing);
}

fn renamed(lines: &RecordBatch, from: &str, to: &str) -> RecordBatch {
    let schema = lines.schema();
    let names = schema.fields().iter().map(|f| if f.name() == from { to } else { f.name() });
    RecordBatch::try_from_iter_with_nullable(
        names.zip(lines.columns()).map(|(name, array)| (name, array.clone(), true)),
    )
    .unwrap()
}

fn with_text(lines: &RecordBatch, name: &str, value: &dyn Fn(usize) -> String) -> RecordBatch {
    let mut columns = lines.columns().to_vec();
    columns[lines.schema().index_of(name).unwrap()] =
        column((0..lines.num_rows()).map(|i| Some(value(i))).collect::<StringArray>());
    RecordBatch::try_new(lines.schema(), columns).unwrap()
}

/// Two models share the requests: one has a file of factual scores too, the other asks for rows
/// again.
const TWO: &str = r#"
cfaudit: 1
name: two
data:
  rows: {parquet: rows.parquet}
  row_id: application_id
  label: none
  sensitive:
    sex: {groups: [female, male], reference: male}
    region: {groups: [north, south, east], reference: south}
  features: {continuous: [age, income, utilisation, open_accounts], nominal: [channel]}
  missing: {continuous: drop-row}
counterfactuals: {flip: naive, only-sex: {naive: {}, sensitive: [sex]}}
models:
  first:
    scores:
      factual: {parquet: first.parquet, column: score}
      counterfactual: {parquet: "first-{counterfactual}.parquet", column: score}
  second:
    scores:
      factual: {column: score}
      counterfactual: {parquet: "second-{counterfactual}.parquet", column: score}
      recheck: {share: 0.05}
metrics: {families: [ccm], bootstrap: {samples: 20}}
"#;

#[test]
fn one_request_serves_all_models_and_only_what_is_missing_is_asked() {
    let work = Work::new();
    work.write("job.yaml", TWO);
    write(&work.path("rows.parquet"), &decisions());
    let first = work.run(4, "job.yaml", "--gates report");
    // 8 rows without a value of `utilisation` are dropped, whoever reads the features.
    let kept = DECISIONS - 8;
    assert_eq!(first.summary()["rows"], kept);
    let folders = |work: &Work| {
        let names = files(&work.path("out/to-score")).into_keys();
        names
            .map(|name| name.split('/').next().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(folders(&work), ["factual", "flip", "only-sex"]);
    let factual = read_folder(&work.path("out/to-score/factual"));
    assert_eq!(factual.num_rows() as i64, kept);
    let names: Vec<String> = factual.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(
        names,
        [
            "row_id",
            "request",
            "sex",
            "region",
            "age",
            "income",
            "utilisation",
            "open_accounts",
            "channel"
        ]
    );
    let sex = read_folder(&work.path("out/to-score/only-sex"));
    assert!((0..sex.num_rows()).all(|i| text(&sex, "sensitive", i) == "sex"));
    let paths: Vec<String> = work.json("out/manifest.json")["awaited"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["path"].to_string())
        .collect();
    let expected = [
        "first.parquet",
        "first-flip.parquet",
        "first-only-sex.parquet",
        "second-flip.parquet",
        "second-only-sex.parquet",
    ];
    assert_eq!(paths, expected.map(|p| format!("\"{p}\"")));

    let answer = |folder: &str| LIVE.answer(&work.path("out/to-score").join(folder));
    let (as_is, flip, only_sex) = (answer("factual"), answer("flip"), answer("only-sex"));
    write(&work.path("first.parquet"), &as_is);
    write(&work.path("first-flip.parquet"), &flip);
    write(&work.path("second-flip.parquet"), &flip);
    // The folder of the last request is in the way of none.
    let second = work.run(4, "job.yaml", "");
    second.says(&["first-only-sex.parquet, second-only-sex.parquet"]);
    assert_eq!(folders(&work), ["only-sex"]);
    write(&work.path("first-only-sex.parquet"), &only_sex);
    write(&work.path("second-only-sex.parquet"), &only_sex);
    let done = work.run(0, "job.yaml", "");
    assert_eq!(done.summary()["rows"], kept);
    let record = work.json("out/run.json");
    assert!(
        record["stages"]
            .as_array()
            .unwrap()
            .iter()
            .all(|s| s["kind"] != "generate" || s["cached"] == true),
        "{record}"
    );
    let models = work.json("out/manifest.json")["models"].clone();
    assert!(
        models[0].get("recheck").is_none() && models[1]["recheck"]["rows"].as_u64().unwrap() > 10,
        "{models}"
    );

    // Nothing tells by which version of the first model its counterfactuals were scored.
    let words = "the request names the rows, not the model\n  --> job.yaml:";
    let told = work.cfaudit(0, "check job.yaml --no-data").stdout;
    assert!(told.contains(words) && told.matches("warning[no-recheck]").count() == 1, "{told}");
    assert!(told.contains("\n  hint: add `recheck` to detect "), "{told}");
    let issues = read_frame(&work.path("out/tables"), "issues");
    let told: Vec<&str> = issues
        .records()
        .filter(|i| i.text("code") == "no-recheck")
        .map(|i| i.text("where"))
        .collect();
    assert_eq!(told, ["models.first.scores"]);
    let page = fs::read_to_string(work.path("out/annex.html")).unwrap();
    let verdict = page.split("id=\"verdict\"").nth(1).unwrap().split("<section").next().unwrap();
    assert!(
        verdict.contains("Model version not checked.")
            && verdict.contains("the request names the rows, not the model"),
        "{verdict}"
    );

    // A factual file that lacks a row is refused like any other.
    write(&work.path("first.parquet"), &as_is.slice(1, as_is.num_rows() - 1));
    work.run(3, "job.yaml", "").says(&[
        "error[incomplete-scores]",
        "lacks 1 of the 392 keys",
        "`first.parquet`",
    ]);
}

#[test]
fn a_file_of_two_models_is_awaited_once() {
    let work = Work::new();
    work.write("job.yaml", &TWO.replace("second-", "first-"));
    write(&work.path("rows.parquet"), &decisions());
    let plan = work.cfaudit(0, "plan job.yaml").stdout;
    assert!(
        plan.contains(
            "waits for the scores of models first, second, counterfactual set flip: \
             first-flip.parquet"
        ),
        "{plan}"
    );
    assert_eq!(plan.matches("first-flip.parquet").count(), 1, "{plan}");
    let ran = work.run(4, "job.yaml", "");
    assert_eq!(ran.stderr.matches("first-flip.parquet").count(), 1, "{}", ran.stderr);
}

#[test]
fn what_stops_early_does_not_wait() {
    let work = lake();
    let ran = work.run(0, JOB, &format!("{VARS} --until split"));
    assert_eq!(ran.summary()["verdict"], "unfinished");
    // A stage that only a measuring run has is nothing to force yet; one that no run has is a
    // mistake.
    work.run(4, JOB, &format!("{VARS} --force measure"));
    work.run(2, JOB, &format!("{VARS} --force nonsense")).says(&["`nonsense`"]);
    let ran = work.cfaudit(0, &format!("check {JOB} {VARS} --cache cache"));
    assert!(
        ran.stdout.contains("no error in the job or its data, 2 warnings")
            && ran.stdout.contains(SCORES),
        "{}",
        ran.stdout
    );
    work.cfaudit(2, &format!("run {JOB} --set asof=2026-11-20"))
        .says(&["error[required-variable]", "`model_version`"]);
}

#[test]
fn a_plan_does_no_work() {
    let work = lake();
    let before = files(&work.path(""));
    let plan = |status: i32, args: &str| {
        work.cfaudit(status, &format!("plan {JOB} {VARS} --cache cache {args}"))
    };
    let fresh = plan(1, "--exit-code").stdout;
    assert!(
        fresh.contains("to-score") && fresh.contains("never run") && fresh.contains(SCORES),
        "{fresh}"
    );
    assert_same(&before, &files(&work.path("")), "a plan");
    work.run(4, JOB, VARS);
    let waits = plan(0, "--exit-code").stdout;
    assert!(
        waits.contains("all 12 stages are cached")
            && waits.contains("waits for the scores of model live"),
        "{waits}"
    );

    write(&work.path(SCORES), &LIVE.answer(&work.path("out/to-score/flip")));
    let before = files(&work.path(""));
    let json: serde_json::Value =
        serde_json::from_str(&plan(1, "--json --exit-code").stdout).unwrap();
    assert_eq!(
        [&json["awaited"], &json["to_download"]],
        [&serde_json::json!([]), &serde_json::Value::Null]
    );
    let stages = json["stages"].as_array().unwrap();
    let of = |id: &str| stages.iter().find(|s| s["id"] == id).unwrap();
    assert_eq!(
        [&of("prepare")["cached"], &of("generate/set=flip/attribute=sex")["cached"]],
        [true, true]
    );
    assert_eq!(of("prepare")["rows"], DECISIONS);
    // The scores that were there are joined already.
    assert_eq!(of("score/model=live")["cached"], true);
    let answered = of("score/model=live/set=flip/attribute=sex");
    assert_eq!(
        [&answered["cached"], &answered["reason"]],
        [&false.into(), &serde_json::json!("never run")]
    );
    assert_eq!(json["to_run"], stages.iter().filter(|s| s["cached"] == false).count());
    assert_same(&before, &files(&work.path("")), "a plan");
    let ran = work.run(0, JOB, VARS);
    assert_eq!(json["run"], ran.summary()["run"]);
    assert_eq!(work.json("out/run.json")["stages_run"], json["to_run"]);
    assert!(plan(0, "--exit-code").stdout.contains("are cached"));
    let stale = plan(1, "--exit-code --set gates.no-harm-to-women.at_most=0.2").stdout;
    assert!(stale.contains("2 of ") && stale.contains("`gates` changed from"), "{stale}");
    assert!(
        work.cfaudit(0, &format!("plan {JOB} {VARS} --cache off")).stdout.contains("never run")
    );

    let adult =
        work.cfaudit(1, "plan jobs/adult.yaml --cache cache --data-dir nowhere --exit-code").stdout;
    assert!(adult.contains("the data set adult is not in the data folder"), "{adult}");
    assert!(!work.path("nowhere").exists());
    fs::remove_dir_all(work.path("lake")).unwrap();
    plan(3, "").says(&["error[missing-file]"]);
}

#[test]
fn the_data_of_a_job_are_told() {
    let work = lake();
    let json: serde_json::Value = serde_json::from_str(
        &work.cfaudit(0, &format!("data {JOB} {VARS} --cache cache --json")).stdout,
    )
    .unwrap();
    let rows = DECISIONS;
    assert_eq!(
        json["rows"],
        serde_json::json!({"source": rows, "kept": rows, "trained": 0, "audited": rows})
    );
    assert_eq!([&json["label"], &json["stand_in"]], [&serde_json::Value::Null; 2]);
    let source = decisions();
    let count = |name: &str, value: &str| {
        let array = source.column_by_name(name).unwrap().as_string::<i32>();
        array.iter().flatten().filter(|v| *v == value).count()
    };
    let columns = json["columns"].as_array().unwrap();
    let of = |name: &str| columns.iter().find(|c| c["name"] == name).unwrap();
    let names: Vec<&str> = columns.iter().map(|c| c["name"].as_str().unwrap()).collect();
    let (first, last) =
        (["application_id", "sex", "region", "age"], ["purpose", "cutoff", "score"]);
    assert_eq!((&names[..4], &names[names.len() - 3..]), (&first[..], &last[..]));
    assert_eq!(
        [&of("sex")["kind"], &of("sex")["type"], &of("age")["type"]],
        ["sensitive", "text", "integers"]
    );
    assert_eq!(
        [&of("sex")["missing"], &of("sex")["n_levels"], &of("utilisation")["missing"]],
        [10, 3, 8]
    );
    assert_eq!(
        of("channel")["levels"][0]["n"],
        count("channel", "web").max(count("channel", "branch"))
    );
    let ages = source.column_by_name("age").unwrap().as_primitive::<Int64Type>();
    let (min, max) = (ages.iter().flatten().min().unwrap(), ages.iter().flatten().max().unwrap());
    assert_eq!([&of("age")["min"], &of("age")["max"]], [min as f64, max as f64]);
    let sex = &json["attributes"][0];
    assert_eq!([&sex["name"], &sex["reference"]], ["sex", "male"]);
    assert_eq!(sex["groups"][0]["rows"], count("sex", "female"));
    assert_eq!(
        [&sex["groups"][2]["group"], &sex["groups"][2]["rows"]],
        [&serde_json::Value::Null, &20.into()]
    );
    assert_eq!(json["awaited"][0]["path"], SCORES);

    let text = work
        .cfaudit(0, "data jobs/demo.yaml --cache cache --set data.rows.synthetic.rows=3000")
        .stdout;
    for said in [
        "demo: 3,000 rows in the source, 3,000 kept; 1,800 train, 1,200 are audited",
        "label repaid: positive 1 (",
        "Male (reference)",
    ] {
        assert!(text.contains(said), "`{said}` is not in\n{text}");
    }
    let ran = Ran::of(
        work.command("data jobs/demo.yaml --cache cache --set data.rows.synthetic.rows=3000")
            .arg("--json"),
        0,
    );
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let (label, groups) = (&json["label"], json["attributes"][0]["groups"].as_array().unwrap());
    let sum = |key: &str| groups.iter().map(|g| g[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!([sum("rows"), sum("trained"), sum("audited")], [3000, 1800, 1200]);
    assert_eq!(sum("positive") + sum("negative") + sum("unlabelled"), 1200);
    assert_eq!(label["n_positive"].as_u64().unwrap() + label["n_negative"].as_u64().unwrap(), 3000);
    // Looking leaves what a run needs.
    work.cfaudit(
        0,
        "run jobs/demo.yaml --out demo --cache cache --set data.rows.synthetic.rows=3000",
    );
    let record = work.json("demo/run.json");
    assert!(
        record["stages"]
            .as_array()
            .unwrap()
            .iter()
            .all(|s| s["cached"] == (s["kind"] == "prepare" || s["kind"] == "split"))
    );
}
