//! The programs that ship with the jobs, and the skeleton of the guide.

use std::fs::{self, File};
use std::process::Command;

use super::{outcomes, with_command};
use crate::batches::write_stream;
use crate::frame::TableRecord;
use crate::work::{Work, assert_same, batch, can_import, column, python3_imports, root};

fn copy_models(work: &Work) {
    fs::create_dir(work.path("jobs/models")).unwrap();
    let names =
        "score.py train.py scorecard.json sklearn_model.py lightgbm_model.py debiased_model.py";
    for name in names.split(' ') {
        fs::copy(root().join("jobs/models").join(name), work.path("jobs/models").join(name))
            .unwrap();
    }
}

#[test]
fn the_shipped_example_runs() {
    if !python3_imports("pyarrow") {
        return;
    }
    let work = Work::with_jobs();
    copy_models(&work);
    let job = "jobs/challenger.yaml";
    work.run(0, job, "--set data.rows.synthetic.rows=5000");
    let frame = work.table("outcomes");
    let mut n = 0;
    for row in frame.of("model=scorecard") {
        // The scorecard takes a quarter of log odds from women.
        let odds = |p: f64| (p / (1.0 - p)).ln();
        let moved = odds(row.real("score_cf").unwrap()) - odds(row.real("score").unwrap());
        let expected = if row.text("to_group") == "Male" { 0.25 } else { -0.25 };
        assert!((moved - expected).abs() < 1e-9, "{moved}");
        n += 1;
    }
    assert_eq!(n, 2000);
    let accuracy = |model: &str| {
        let metrics = work.table("metrics");
        let mut rows = metrics.of(&format!("model={model}, metric=acc, scope=total"));
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

/// The jobs that set what no other one sets.
#[test]
fn the_jobs_of_options_run() {
    let work = Work::with_jobs();
    work.run(0, "jobs/options-graph.yaml", "");
    if cfg!(not(feature = "lightgbm")) {
        return;
    }
    work.run(0, "jobs/options.yaml", "--replace");
    let frame = work.table("subgroups");
    let of_sex = |row: &TableRecord<'_>, words: &str| {
        row.text("recourse") == "sex" && row.text("traits").contains(words)
    };
    let traits = |words: &str| frame.records().any(|row| of_sex(&row, words));
    assert!(traits("age_band >= middle") && traits("age_band >= old"));
    assert!(!traits("age_band = ") && !traits("age_band >= young"));
}

/// The programs that need more than pyarrow, each where its packages are there.
#[test]
fn the_shipped_programs_of_libraries_run() {
    let programs = "jobs/programs.yaml";
    let models = [
        ("sklearn", "pyarrow, pandas, sklearn", programs),
        ("lightgbm", "pyarrow, pandas, lightgbm", programs),
        ("debiased", "pyarrow, numpy", programs),
        ("fair", "pyarrow, pandas, fairgbm", "jobs/papers/adult-fairgbm.yaml"),
    ];
    for (model, imports, job) in models {
        if !can_import("python3", imports) {
            crate::work::skip(&format!(
                "python3 cannot import {imports}: jobs/models/requirements-{model}.txt"
            ));
            continue;
        }
        let work = Work::with_jobs();
        copy_models(&work);
        let job = fs::read_to_string(root().join(job)).unwrap();
        let (_, rest) = job.split_once("models:\n").unwrap();
        let block = rest.split_once(&format!("  {model}:\n")).unwrap().1;
        let lines: Vec<&str> = block.lines().take_while(|line| line.starts_with("    ")).collect();
        // The model alone, with the rows of challenger.yaml.
        let challenger = work.read("jobs/challenger.yaml");
        let (before, _) = challenger.split_once("models:\n").unwrap();
        work.write(
            "jobs/one.yaml",
            &format!("{before}models:\n  one:\n{}\nrun: {{seed: 5}}\n", lines.join("\n")),
        );
        work.run(0, "jobs/one.yaml", "--set data.rows.synthetic.rows=4000");
        let metrics = work.table("metrics");
        let mut accuracies = metrics.of("metric=acc, scope=total");
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

/// With strength 0 the adversary changes nothing, whichever column it watches, and only with
/// `--see` is that column an input.
#[test]
fn an_adversary_without_strength_changes_nothing() {
    if !python3_imports("pyarrow, numpy") {
        return;
    }
    let work = Work::new();
    let n = 600_i64;
    let word = |i: i64, k: i64| Some(if i * i % k < k / 2 { "a" } else { "b" });
    let rows = batch(vec![
        ("x", column((0..n).map(|i| (i * 37 % 101) as f64))),
        ("sex", column((0..n).map(|i| word(i, 7)))),
        ("race", column((0..n).map(|i| word(i, 11)))),
        ("label", column((0..n).map(|i| i64::from(i * 37 % 101 > 50)))),
    ]);
    let stream = work.path("rows.arrows");
    write_stream(&stream, &[rows]);
    let trained = |options: &str| {
        let model = work.path("model.json");
        let status = Command::new("python3")
            .arg(root().join("jobs/models/debiased_model.py"))
            .args(["train", "--seed", "1", "--out"])
            .arg(&model)
            .args(options.split(' '))
            .stdin(File::open(&stream).unwrap())
            .status()
            .unwrap();
        assert!(status.success(), "{options}");
        fs::read_to_string(model).unwrap()
    };
    let without = trained("--see --strength 0 --protect sex");
    assert!(without == trained("--see --strength 0 --protect race"));
    assert!(without != trained("--see --strength 1 --protect sex"));
    let is_input = |model: &str| model.contains("\"sex\"");
    assert!(is_input(&without) && !is_input(&trained("--strength 0 --protect sex")));
}

/// The skeleton in the guide is a program that works.
#[test]
fn the_skeleton_of_the_guide_runs() {
    if !python3_imports("pyarrow") {
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
