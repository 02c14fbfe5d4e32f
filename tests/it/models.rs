//! Models that are trained here by LightGBM, thresholds that are fitted, and ONNX files: from the
//! job to the tables and the page.

use std::fs;

use crate::batches::write_stream;
use crate::work::{Rows, Says, Work, batch, column};

const N: usize = 1200;

/// Rows that alternate between training and audit, with their own score.
fn work(models: &str) -> Work {
    let work = Work::new();
    let steps = "-  row_id
~  split: {column: part, train: [learn], audit: [look]}
-models
~metrics: {families: [performance, ccm], bootstrap: {samples: 20}}";
    work.job("trained", steps, &format!("models:\n  {}\n", models.replace('\n', "\n  ")));
    Rows::of(0..N as i64)
        .with("age", |i| 20.0 + (i * 7 % 41) as f64)
        .with("income", |i| 10.0 + (i * 13 % 57) as f64 / 2.0)
        .with("job", |i| ["clerk", "nurse", "pilot"][(i * 5 % 3) as usize])
        .with("sex", |i| if i % 7 < 3 { "f" } else { "m" })
        .with("repaid", |i| i64::from(repaid(i as usize)))
        .with("part", |i| if i % 2 == 0 { "learn" } else { "look" })
        .with("score", |i| (i % 100 != 0).then(|| score(i as usize)))
        .write(&work, "people.parquet");
    work
}

fn score(i: usize) -> f64 {
    (i * 37 % 101) as f64 / 100.0
}

fn repaid(i: usize) -> bool {
    (i * 37 % 101) + 30 * (i * 11 % 3) > 70
}

/// The smallest of the scores with the largest sum of TPR and TNR, by trying them all.
fn youden(rows: &[(f64, bool)]) -> f64 {
    let mut candidates: Vec<f64> = rows.iter().map(|row| row.0).collect();
    candidates.sort_by(f64::total_cmp);
    let share = |label: bool, of: &dyn Fn(f64) -> bool| {
        let mine: Vec<f64> = rows.iter().filter(|row| row.1 == label).map(|row| row.0).collect();
        mine.iter().filter(|score| of(**score)).count() as f64 / mine.len() as f64
    };
    let value = |t: f64| share(true, &|s| s >= t) + share(false, &|s| s < t);
    let best = candidates.iter().map(|&t| value(t)).fold(0.0, f64::max);
    candidates.into_iter().find(|&t| value(t) > best - 1e-12).unwrap()
}

/// Threshold, shares TPR and TNR of a model in each fold.
fn fitted(work: &Work, model: &str) -> Vec<[f64; 3]> {
    let frame = work.table("thresholds");
    let rows = frame.of(&format!("model={model}"));
    rows.map(|row| ["threshold", "tpr", "tnr"].map(|column| row.real(column).unwrap())).collect()
}

/// Whether every outcome of a model is decided by this threshold.
fn assert_decided(work: &Work, model: &str, threshold: f64) {
    let frame = work.table("outcomes");
    let rows: Vec<_> = frame.of(&format!("model={model}")).collect();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(
            row.int("predicted"),
            row.real("score").map(|score| i64::from(score >= threshold))
        );
        assert_eq!(
            row.int("predicted_cf"),
            row.real("score_cf").map(|score| i64::from(score >= threshold))
        );
    }
}

#[cfg(feature = "lightgbm")]
#[test]
fn trees_are_trained_and_described() {
    let work = work(
        "boosted: {boosting: {trees: 20, leaves: 7, omit: [sex]}}\n\
         forest: {forest: {trees: 30, leaves: 20}}\nbare: boosting\n\
         fitted: {forest: {trees: 10, leaves: 7}, threshold: {maximise_recall: {tnr_floor: 0.9}}}",
    );
    let ran = work.run(0, "job.yaml", "");
    assert_eq!(ran.stdout.lines().count(), 1, "the library prints nothing: {}", ran.stdout);
    work.read("out/annex.html").says(&[
        "gradient boosting trained here by LightGBM, 20 trees of at most 7 leaves of at least 20 \
         rows, learning rate 0.1, without sex",
        "random forest trained here by LightGBM, 30 trees of at most 20 leaves of at least 20 \
         rows, each on 63.2 % of the rows",
        "most recall while 90 % of the negative rows stay below",
        "was fitted to the scores of its own training rows (600",
    ]);
    work.read("out/job.resolved.yaml").says(&["smallest_leaf: 20", "column_share: 0.3"]);
    let [[threshold, tpr, tnr]] = fitted(&work, "fitted")[..] else { panic!("one threshold") };
    assert!((0.0..=1.0).contains(&threshold) && tnr >= 0.9 && tpr > 0.0, "{threshold} {tpr} {tnr}");
    assert_decided(&work, "fitted", threshold);
    // A model that does not see the attribute that is flipped says the same of both.
    let frame = work.table("outcomes");
    assert!(frame.of("model=boosted").all(|r| r.real("score") == r.real("score_cf")));
    let scores: Vec<f64> = frame.of("model=forest").filter_map(|r| r.real("score")).collect();
    assert!(
        scores.iter().all(|s| (0.0..=1.0).contains(s))
            && scores.iter().any(|s| *s > 0.6)
            && scores.iter().any(|s| *s < 0.4)
    );
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    // Another seed draws other samples, and changes nothing where nothing is drawn.
    let text = work.read("job.yaml");
    work.write("job.yaml", &format!("{text}run: {{seed: 1}}\n"));
    let plan = work.cfaudit(0, "plan job.yaml --cache cache").stdout;
    let line =
        |id: &str| plan.lines().find(|line| line.contains(id)).unwrap_or_default().to_owned();
    assert!(line("train/model=bare").contains("cached"), "{plan}");
    assert!(!line("train/model=forest").contains("cached"), "{plan}");
}

#[cfg(feature = "lightgbm")]
#[test]
fn trees_that_could_not_be_grown_are_an_issue() {
    let work = work(
        "all: {boosting: {trees: 5}}\nfew: {boosting: {trees: 60, smallest_leaf: 220, \
         column_share: 0.4}}",
    );
    // The jobs of people are three: no leaf of one of them has so many rows, and some trees draw
    // nothing else.
    let text = work.read("job.yaml");
    work.write("job.yaml", &format!("{text}run: {{seed: 1}}\n"));
    work.run(0, "job.yaml", "").says(&["warning: fewer-trees: model `few` has 9 of the 60 trees"]);
    let issues = work.table("issues");
    let found: Vec<_> = issues.of("code=fewer-trees").collect();
    let [issue] = found[..] else { panic!("one model: {}", found.len()) };
    let text = issue.text("text");
    issue.holds("where=few");
    text.says(&["of the 60 trees", "`column_share`"]);
    work.read("out/annex.html").says(&["fewer-trees"]);
}

#[cfg(feature = "lightgbm")]
#[test]
fn training_rows_that_trees_cannot_split_are_a_fault_of_the_data() {
    work("gbm: {boosting: {smallest_leaf: 400}}").run(3, "job.yaml", "").says(&[
        "error[undetermined-model]",
        "no tree was split",
        "smallest_leaf",
    ]);
}

#[test]
fn thresholds_are_fitted_to_the_scores_of_training_rows() {
    let models = "given: {scores: {factual: {column: score}, counterfactual: {parquet: \
                  moved.parquet, column: score}}, threshold: youden}\n\
                  logit: {logistic: {l2: 1.0}, threshold: {f_beta: 2}}";
    let work = work(models);
    Rows::of((0..N as i64).filter(|i| i % 2 == 1))
        .with("row_id", |i| i)
        .with("to_group", |i| if i % 7 < 3 { "m" } else { "f" })
        .with("score", |i| 1.0 - score(i as usize))
        .write(&work, "moved.parquet");
    work.run(0, "job.yaml", "");
    let learned: Vec<(f64, bool)> =
        (0..N).filter(|i| i % 2 == 0 && i % 100 != 0).map(|i| (score(i), repaid(i))).collect();
    let [[threshold, ..]] = fitted(&work, "given")[..] else { panic!("one threshold") };
    assert_eq!(threshold, youden(&learned));
    assert_decided(&work, "given", threshold);
    let [[threshold, tpr, _]] = fitted(&work, "logit")[..] else { panic!("one threshold") };
    assert!(tpr > 0.8, "recall counts twice");
    assert_decided(&work, "logit", threshold);
    // Every fold has its own.
    let text = work.read("job.yaml");
    let folds = text.replace("{column: part, train: [learn], audit: [look]}", "{folds: 3}");
    let (head, logit) = folds
        .split_once("  given:")
        .map(|(head, rest)| (head, rest.split_once("  logit:").unwrap().1))
        .unwrap();
    work.write("job.yaml", &format!("{head}  logit:{logit}"));
    work.run(0, "job.yaml", "");
    let thresholds = fitted(&work, "logit");
    assert_eq!(thresholds.len(), 3);
    for row in work.table("outcomes").records() {
        let threshold = thresholds[usize::try_from(row.int("fold").unwrap()).unwrap()][0];
        assert_eq!(
            row.int("predicted"),
            row.real("score").map(|score| i64::from(score >= threshold))
        );
    }
}

/// Every arm and fold has its own threshold; the base is the plain audit in folds.
#[cfg(feature = "lightgbm")]
#[test]
fn thresholds_are_fitted_in_every_arm_and_fold() {
    let work = work(
        "gbm: {boosting: {trees: 10, leaves: 7}, threshold: {maximise_recall: {tnr_floor: 0.7}}}",
    );
    let text = work.read("job.yaml");
    let (split, folds) = ("{column: part, train: [learn], audit: [look]}", "{folds: 3}");
    let arms = "experiments: {more: {model: gbm, from: flip, folds: 3, arms: {all: {}, switched: \
                {predictions: out-of-fold}}}}\n";
    work.write("job.yaml", &format!("{}{arms}", text.replace(split, folds)));
    work.run(0, "job.yaml", "");
    let frame = work.table("thresholds");
    let of = |arm: &str| {
        frame
            .of(&format!("arm={arm}"))
            .map(|row| {
                (
                    row.int("fold").unwrap(),
                    row.real("threshold").unwrap(),
                    row.int("n_rows").unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    let (plain, base, all) = (of(""), of("more/base"), of("more/all"));
    assert_eq!(plain, base);
    assert_eq!(base.iter().map(|fitted| fitted.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(
        base.iter().zip(&all).all(|(base, all)| base.2 == all.2),
        "what an arm adds does not count: {base:?} {all:?}"
    );
    assert!(
        base != all && of("more/switched").len() == 3 && frame.rows.len() == 12,
        "{base:?} {all:?}"
    );
    assert!(frame.records().all(|row| row.text("objective") == "maximise_recall: tnr_floor: 0.7"
        && row.real("tnr").unwrap() >= 0.7));
    // What the base of the experiment measures, the audit in folds measures too.
    let metrics = work.table("metrics");
    let values = |arm: &str| {
        metrics
            .of(&format!("arm={arm}"))
            .map(|row| {
                (
                    ["counterfactual", "scope", "from_group", "to_group", "metric"]
                        .map(|key| row.text(key).to_owned()),
                    row.real("value"),
                )
            })
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let (plain, base) = (values(""), values("more/base"));
    assert!(base.len() > 50, "{}", base.len());
    for (key, value) in &base {
        assert_eq!(plain.get(key), Some(value), "{key:?}");
    }
    work.read("out/annex.html").says(&["Every arm has its own threshold in every fold"]);
    // Another floor trains nothing again.
    work.edit("job.yaml", "job.yaml", &[("tnr_floor: 0.7", "tnr_floor: 0.9")]);
    let ran = work.run(0, "job.yaml", "");
    ran.says(&[
        "/experiment=more/arm=all/fold=2: runs",
        "/experiment=more/arm=switched/fold=2: runs",
    ]);
    // The arm `switched` depends on the thresholds of the base.
    let trained = |log: &str, arm: &str| {
        let is = |line: &str| line.contains("train/") && line.contains(&format!("arm={arm}/"));
        log.lines().any(|line| is(line) && line.contains(": runs"))
    };
    assert!(!["base", "all"].iter().any(|arm| trained(&ran.stderr, arm)), "{}", ran.stderr);
}

/// A program that trains: its threshold is fitted to what it says about the training rows, arm by
/// arm.
#[test]
fn a_program_gets_thresholds_in_every_arm() {
    let train = "cat > /dev/null; echo trained > $0";
    let script = "if [ $(wc -c) -lt 8000 ]; then cat again; else cat canned; fi";
    let work = work(&format!(
        "live: {{command: {{train: [sh, -c, \"{train}\", '{{model}}'], score: [sh, -c, \
         \"{script}\", '{{model}}']}}, threshold: youden}}"
    ));
    // One half trains, the other is audited, and each is asked for: 600 scores each time, whoever
    // asks.
    let of_half = batch(vec![("score", column((0..N / 2).map(|i| score(2 * i))))]);
    // And 100 of them once more.
    write_stream(&work.path("again"), &[of_half.slice(0, 100)]);
    write_stream(&work.path("canned"), &[of_half]);
    let text = work.read("job.yaml");
    work.write(
        "job.yaml",
        &format!("{text}experiments: {{more: {{model: live, from: flip, arms: {{all: {{}}}}}}}}\n"),
    );
    work.run(0, "job.yaml", "");
    let learned: Vec<(f64, bool)> =
        (0..N).filter(|i| i % 2 == 0).map(|i| (score(i), repaid(i))).collect();
    for arm in ["", "more/base", "more/all"] {
        let frame = work.table("thresholds");
        let mine: Vec<f64> =
            frame.of(&format!("arm={arm}")).filter_map(|row| row.real("threshold")).collect();
        assert_eq!(mine, [youden(&learned)], "{arm}");
    }
}

/// A program answers for the training rows first, then for the audited ones: the same number, with
/// other scores.
#[test]
fn a_program_is_asked_for_the_scores_of_training_rows() {
    let script = "if [ $(wc -c) -lt 8000 ]; then cat again.arrow; else n=$(ls asked.* 2>/dev/null \
                  | wc -l); touch asked.$n; cat canned-$n.arrow; fi";
    let work =
        work(&format!("live: {{command: {{score: [sh, -c, \"{script}\"]}}, threshold: youden}}"));
    let half = |k: usize| {
        (0..N / 2).map(move |i| if k == 0 { score(2 * i) } else { (i * k % 13) as f64 / 13.0 })
    };
    // One more call is for 100 rows a second time.
    for (k, name) in ["canned-0", "canned-1", "canned-2", "again"].into_iter().enumerate() {
        let asked = half(k).take(if name == "again" { 100 } else { N / 2 });
        let scores = batch(vec![("score", column(asked))]);
        write_stream(&work.path(&format!("{name}.arrow")), &[scores]);
    }
    work.run(0, "job.yaml", "");
    let learned: Vec<(f64, bool)> =
        (0..N).filter(|i| i % 2 == 0).map(|i| (score(i), repaid(i))).collect();
    let [[threshold, ..]] = fitted(&work, "live")[..] else { panic!("one threshold") };
    assert_eq!(threshold, youden(&learned));
    assert_decided(&work, "live", threshold);
    let frame = work.table("outcomes");
    let scores: Vec<f64> = frame.records().filter_map(|row| row.real("score")).collect();
    assert_eq!(
        scores,
        half(1).collect::<Vec<f64>>(),
        "the audited rows get the scores of the second call"
    );
}

#[cfg(feature = "onnx")]
#[test]
fn an_onnx_file_is_scored() {
    let onnx = |name: &str| crate::work::root().join(format!("tests/onnx/{name}.onnx"));
    let work = work(
        "linear: {onnx: {model: linear.onnx, columns: [age, income]}}\n\
         named: {onnx: {model: named.onnx}, threshold: youden}\n\
         zipmap: {onnx: {model: zipmap.onnx, inputs: {X: [age, income]}, class: good}}",
    );
    for name in ["linear", "named", "zipmap"] {
        fs::copy(onnx(name), work.path(&format!("{name}.onnx"))).unwrap();
    }
    let first = work.command("run job.yaml --out out --cache cache").output().unwrap();
    let said = String::from_utf8(first.stderr).unwrap();
    if said.contains("error[no-runtime]") {
        assert_eq!(first.status.code(), Some(3), "{said}");
        said.says(&["pip install onnxruntime"]);
        crate::work::skip(
            "no library of the ONNX runtime here: pip install onnxruntime, or set ORT_DYLIB_PATH",
        );
        return;
    }
    assert_eq!(first.status.code(), Some(0), "{said}");
    let frame = work.table("outcomes");
    let expected: serde_json::Value = serde_json::from_slice(
        &fs::read(crate::work::root().join("tests/onnx/expected.json")).unwrap(),
    )
    .unwrap();
    for model in ["linear", "named", "zipmap"] {
        let scores: Vec<f64> =
            frame.of(&format!("model={model}")).filter_map(|row| row.real("score")).collect();
        assert_eq!(scores.len(), N / 2);
        // The audited rows are the odd ones; `expected` has the first 40 of all.
        for (i, score) in scores.iter().take(20).enumerate() {
            let want = expected[model][2 * i + 1].as_f64().unwrap();
            assert!((score - want).abs() < 1e-6, "{model} {i}: {score} {want}");
        }
    }
    assert_decided(&work, "named", fitted(&work, "named")[0][0]);
    let manifest = work.json("out/manifest.json");
    let inputs = manifest["inputs"].as_array().unwrap();
    assert!(
        inputs.iter().any(|input| input["what"] == "onnx linear" && input["path"] == "linear.onnx"),
        "{inputs:?}"
    );
    work.same_bytes(0, "job.yaml", &["--threads 8 --batch-rows 1024"]);
    // Another file is another model.
    fs::copy(onnx("trees"), work.path("linear.onnx")).unwrap();
    work.run(0, "job.yaml", "").says(&["score/model=linear", "linear.onnx"]);
    fs::write(work.path("linear.onnx"), "no model").unwrap();
    work.run(3, "job.yaml", "").says(&[
        "error[bad-model]",
        "cannot be read as an ONNX model",
        "job.yaml:",
    ]);
}

/// Weights that are in their own files are part of the model.
#[cfg(feature = "onnx")]
#[test]
fn weights_beside_an_onnx_file_are_hashed() {
    let work = work("linear: {onnx: {model: models/linear.onnx}}");
    fs::create_dir(work.path("models")).unwrap();
    // A model whose graph has one tensor, in the file of this name.
    let model = |location: &str| {
        let field = |number: u8, bytes: &[u8]| {
            [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
        };
        let pair = [field(1, b"location"), field(2, location.as_bytes())].concat();
        fs::write(work.path("models/linear.onnx"), field(7, &field(5, &field(13, &pair)))).unwrap();
    };
    let plan = |status: i32| work.cfaudit(status, "plan job.yaml --json");
    let key = || {
        let plan: serde_json::Value = serde_json::from_str(&plan(0).stdout).unwrap();
        let stages = plan["stages"].as_array().unwrap().clone();
        let stage = |id: &str| {
            stages.iter().find(|stage| stage["id"] == id).unwrap()["key"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        (plan["run"].clone(), stage("score/model=linear"))
    };
    model("weights.bin");
    plan(3).says(&[
        "error[missing-file]: there is no file `models/weights.bin`",
        "hint: ",
        "job.yaml:",
    ]);
    fs::write(work.path("models/weights.bin"), "one").unwrap();
    let one = key();
    fs::write(work.path("models/weights.bin"), "two").unwrap();
    let two = key();
    assert!(one.0 != two.0 && one.1 != two.1, "{one:?} {two:?}");
    fs::write(work.path("secret"), "outside").unwrap();
    for location in ["../secret", "/etc/passwd", ""] {
        model(location);
        plan(3).says(&[
            "error[bad-model]",
            "outside its folder",
            "hint: save the model with its weights inside",
        ]);
    }
}

#[cfg(feature = "onnx")]
#[test]
fn an_onnx_file_that_is_not_there() {
    work("linear: {onnx: {model: models/linear.onnx}}").run(3, "job.yaml", "").stderr.says(&[
        "error[missing-file]: there is no file `models/linear.onnx`",
        "hint: correct the path",
    ]);
}
