//! Scores that are computed later outside the run: what a run asks for, how it continues, and which
//! answers it refuses.
//!
//! [`Platform`] stands in for the platform that makes the scores: it reads the rows to score as any
//! program would, scores them by a separate formula and writes its file.

mod answers;
mod platform;
mod preview;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::DataType;

use self::platform::{DECISIONS, LIVE, REGIONS, decisions, lake, whole_lake};
use crate::batches::{read_folder, write};
use crate::lists::{assert_valid, schema};
use crate::work::{Says, Work, assert_same, files, results};

const JOB: &str = "jobs/production.yaml";

const VARS: &str = "--set asof=2026-11-20 --set model_version=7.3";

const SCORES: &str = "lake/cf-scores/asof=2026-11-20/flip.parquet";

const WORLD_SCORES: &str = "lake/cf-scores/asof=2026-11-20/world.parquet";

/// The lines for which `keep` says so.
fn only(lines: &RecordBatch, keep: impl Fn(usize) -> bool) -> RecordBatch {
    filter_record_batch(lines, &(0..lines.num_rows()).map(|i| Some(keep(i))).collect()).unwrap()
}

fn text(lines: &RecordBatch, name: &str, i: usize) -> String {
    lines.column_by_name(name).unwrap().as_string::<i32>().value(i).to_owned()
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
    assert_eq!(work.read("line"), first.stdout);
    assert_eq!([&summary["verdict"], &summary["out"]], ["waiting", "out"]);
    assert_eq!([&summary["exit"], &summary["rows"]], [4, DECISIONS]);
    assert_valid(&schema("summary"), &summary, Path::new("the summary line"));
    summary.as_object_mut().unwrap().shift_remove("out");
    assert_eq!(work.json("out/summary.json"), summary);
    assert_valid(&schema("manifest"), &work.json("out/manifest.json"), Path::new("manifest.json"));

    let names: Vec<String> = files(&work.path("out")).into_keys().collect();
    let tables = "counts filters gates groups issues metrics model_contract population score_shift \
         support support_counts unknown_levels";
    let tables: String = tables.split(' ').map(|of| format!(" tables/{of}.parquet")).collect();
    let others = "annex.html job.resolved.yaml logs/run.jsonl manifest.json report.html run.json \
         summary.json";
    let rows = "to-score/flip/part-00000.parquet to-score/world/part-00000.parquet";
    assert_eq!(names.join(" "), format!("{others}{tables} {rows}"));
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
    let page = work.read("out/annex.html");
    page.says(&["Waiting for scores", "--set asof=2026-11-20 --set model_version=7.3"]);

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
    assert_eq!(work.run(0, JOB, VARS).summary()["exit"], 0);
    assert!(!work.path("out/to-score").exists(), "the request is answered");
    assert!(work.path("out/tables/metrics.parquet").exists());
    let record = work.json("out/run.json");
    for stage in record["stages"].as_array().unwrap() {
        // The decisions of the day are what `world` conditions on, and they were counted already.
        let early = ["prepare", "split", "fit", "generate"]
            .contains(&stage["kind"].as_str().unwrap())
            || stage["id"] == "score/model=live"
            || ["request", "contract/", "count/model=live/attribute="]
                .iter()
                .any(|early| stage["id"].as_str().unwrap().starts_with(early));
        assert_eq!(stage["cached"], early, "{stage}");
    }
    let recheck = &work.json("out/manifest.json")["models"][0]["recheck"];
    assert!(recheck["rows"].as_u64().unwrap() >= 2 && recheck["largest"] == 0.0, "{recheck}");
    let (results_before, third) = (work.results(), work.run(0, JOB, VARS));
    third.says(&["nothing to do"]);
    assert_same(&results_before, &work.results(), "a third call");

    // The gate is asked for real: 10 of 63 refused women would be approved as men.
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
    let ways = [(1, 1024), (8, 1024), (8, 65536)]
        .map(|(threads, rows)| format!("--threads {threads} --batch-rows {rows}"));
    work.same_bytes(4, &format!("{JOB} {VARS}"), &ways.each_ref().map(String::as_str));
}

/// What is found in features is reported where somebody reads them: rows that are scored elsewhere
/// are named by their features.
#[test]
fn features_that_nobody_reads_leave_no_trace() {
    let work = lake();
    let columns = work.read("jobs/base/credit-columns.yaml");
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
        let codes = BTreeSet::from_iter(work.table("issues").list("", "code"));
        Vec::from_iter(codes).join(" ")
    };
    let expected =
        "missing-group missing-values null-value outside-bins selective undeclared-group";
    assert_eq!(codes(&work), expected);
    assert!(read_folder(&work.path("out/to-score/flip")).column_by_name("years").is_some());
    write(&work.path(SCORES), &LIVE.answer(&work.path("out/to-score/flip")));
    work.run(0, JOB, VARS);
    assert_eq!(codes(&work), expected);
    work.cfaudit(0, &format!("run {JOB} {VARS} --out fresh --cache fresh-cache"));
    assert_same(&work.results(), &results(&work.path("fresh")), "a run that never waited");
    // Scores that are in the rows ask for nothing, and without a set no counterfactual is tested.
    let job = work.read(JOB);
    let (head, rest) = job.split_once("      counterfactual: {parquet").unwrap();
    let rest = rest.split_once("    threshold:").unwrap().1.split("gates:").next().unwrap();
    let alone = format!("{head}    threshold:{rest}")
        .replace("families: [group, ccm, shift]", "families: [group]")
        .replace("counterfactuals:\n  flip: {naive: {}}\n", "");
    alone.lacks(&["counterfactual"]);
    work.write("jobs/alone.yaml", &alone);
    work.cfaudit(0, &format!("run jobs/alone.yaml {VARS} --out out --cache cache"));
    assert_eq!(codes(&work), "missing-group selective undeclared-group");
}

/// A reference that a variable names is another one after a new model version, and the gate on the
/// change is inconclusive then.
#[test]
fn check_tells_of_a_reference_that_moves_along() {
    let work = whole_lake();
    let stdout = |work: &Work| work.cfaudit(0, &format!("check {JOB} {VARS} --no-data")).stdout;
    let first = stdout(&work);
    let words = [
        "warning[refitted-gate]",
        "the rows of `data.reference`, which a variable names",
        "approve a folder of that version",
    ];
    let job = work.read(JOB);
    // The job of these tests may have no such gate or reference of its own.
    job.says(&["lake/training/${vars.model_version}.parquet", "against: baseline"]);
    assert!(words.iter().all(|part| first.contains(part)), "{first}");
    first.lacks(&["no-recheck"]);
    work.write(
        JOB,
        &job.replace("lake/training/${vars.model_version}.parquet", "lake/training/7.3.parquet"),
    );
    stdout(&work).lacks(&["refitted-gate"]);
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
        names.join(" "),
        "row_id request sex region age income utilisation open_accounts channel"
    );
    let sex = read_folder(&work.path("out/to-score/only-sex"));
    assert!((0..sex.num_rows()).all(|i| text(&sex, "sensitive", i) == "sex"));
    let awaited = work.json("out/manifest.json")["awaited"].clone();
    let paths: Vec<_> =
        awaited.as_array().unwrap().iter().flat_map(|a| a["path"].as_str()).collect();
    assert_eq!(
        paths.join(" "),
        "first.parquet first-flip.parquet first-only-sex.parquet second-flip.parquet \
         second-only-sex.parquet"
    );

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
    assert_eq!(work.run(0, "job.yaml", "").summary()["rows"], kept);
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
    let stdout = work.cfaudit(0, "check job.yaml --no-data").stdout;
    assert!(
        stdout.contains(words) && stdout.matches("warning[no-recheck]").count() == 1,
        "{stdout}"
    );
    stdout.says(&["\n  hint: add `recheck` to detect "]);
    let issues = work.table("issues");
    let places: Vec<&str> = issues.of("code=no-recheck").map(|i| i.text("where")).collect();
    assert_eq!(places, ["models.first.scores"]);
    let page = work.read("out/report.html");
    let verdict = page.split("id=\"verdict\"").nth(1).unwrap().split("<section").next().unwrap();
    verdict.says(&["Model version not checked.", "The request names the rows, not the model"]);

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
    plan.says(&["waits for the scores of models first, second, counterfactual set flip: \
                 first-flip.parquet"]);
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
    ran.stdout.says(&["no error in the job or its data, 3 warnings", SCORES]);
    let warnings = ran.stdout.lines().filter_map(|line| line.strip_prefix("warning["));
    let codes: Vec<&str> = warnings.filter_map(|line| Some(line.split_once(']')?.0)).collect();
    assert_eq!(codes, ["missing-group", "undeclared-group", "integer-code"]);
    work.cfaudit(2, &format!("run {JOB} --set asof=2026-11-20"))
        .says(&["error[required-variable]", "`model_version`"]);
}
