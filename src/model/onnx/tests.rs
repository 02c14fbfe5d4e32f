//! ONNX models against Python's onnxruntime (tests/onnx, made by make.py). Skipped, visibly, where
//! the library is not installed.

use std::path::{Path, PathBuf};

use super::runtime::load_library;
use super::{OnnxParams, OnnxScorer};
use crate::data::values::ValueClass;
use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows, MISSING};
use crate::model::Scorer;
use crate::model::onnx::library::libraries;
use crate::num::score_scale::ScoreScale;

const N: u32 = 40;
const JOBS: [&str; 3] = ["clerk", "nurse", "pilot"];

fn features() -> Vec<Feature> {
    let feature = |name: &str, kind: FeatureKind, levels: &[&str]| Feature {
        name: name.to_owned(),
        kind,
        levels: levels.iter().map(|&l| l.to_owned()).collect(),
        class: if levels.is_empty() { ValueClass::Float } else { ValueClass::Text },
    };
    let number = |name| feature(name, FeatureKind::Continuous { integer: false }, &[]);
    vec![feature("job", FeatureKind::Nominal, &JOBS), number("age"), number("income")]
}

fn rows() -> FeatureRows {
    let columns = vec![
        FeatureColumn::Code((0..N).map(|i| (i * 5) % 3).collect()),
        FeatureColumn::Number((0..N).map(|i| 20.0 + f64::from((i * 7) % 41)).collect()),
        FeatureColumn::Number((0..N).map(|i| 10.0 + f64::from((i * 13) % 57) / 2.0).collect()),
    ];
    FeatureRows { n: N as usize, columns }
}

fn params(model: &str) -> OnnxParams {
    let omit = if model == "named" { Vec::new() } else { vec!["job".to_owned()] };
    OnnxParams {
        path: Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/onnx/{model}.onnx")),
        inputs: Vec::new(),
        output: None,
        positive: (model == "zipmap").then(|| "good".to_owned()),
        scale: ScoreScale::default(),
        features: features(),
        omit,
    }
}

/// The places of the library; `None`, with a message, if it is not installed.
fn installed() -> Option<Vec<PathBuf>> {
    let libraries = libraries();
    match OnnxScorer::load(params("linear"), &libraries) {
        Err(e) if e.to_string().contains("no-runtime") => {
            crate::tests::skip(
                "no library of the ONNX runtime here: pip install onnxruntime, or set \
                 ORT_DYLIB_PATH",
            );
            None
        }
        _ => Some(libraries),
    }
}

fn scores(params: OnnxParams, rows: &FeatureRows, libraries: &[PathBuf]) -> Vec<f64> {
    let scorer = OnnxScorer::load(params, libraries).expect("loads");
    let mut scores = Vec::new();
    scorer.score(rows, &mut scores).expect("scores");
    scores
}

fn refused(change: impl FnOnce(&mut OnnxParams), model: &str, libraries: &[PathBuf]) -> String {
    let mut params = params(model);
    change(&mut params);
    let load = OnnxScorer::load(params, libraries);
    load.and_then(|scorer| scorer.score(&rows(), &mut Vec::new()))
        .expect_err("is refused")
        .to_string()
}

#[test]
fn scores_are_those_of_python() {
    let Some(libraries) = installed() else { return };
    let expected: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/onnx/expected.json")).unwrap();
    for model in ["linear", "trees", "zipmap", "lightgbm", "named"] {
        let got = scores(params(model), &rows(), &libraries);
        let want: Vec<f64> =
            expected[model].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(got.len(), want.len());
        got.iter()
            .zip(&want)
            .for_each(|(got, want)| assert!((got - want).abs() < 1e-6, "{model}: {got} {want}"));
    }
}

#[test]
fn a_score_does_not_depend_on_the_rows_around_it() {
    let Some(libraries) = installed() else { return };
    for model in ["linear", "trees", "zipmap", "named"] {
        let all = scores(params(model), &rows(), &libraries);
        let scorer = OnnxScorer::load(params(model), &libraries).unwrap();
        for size in [1, 2, 3, 7, 16, 39] {
            let mut parts = Vec::new();
            for start in (0..N as usize).step_by(size) {
                let range: Vec<usize> = (start..(start + size).min(N as usize)).collect();
                scorer.score(&rows().take(&range), &mut parts).unwrap();
            }
            assert_eq!(parts, all, "{model} in parts of {size}");
        }
        let mut none = Vec::new();
        scorer.score(&rows().take(&[]), &mut none).unwrap();
        assert!(none.is_empty());
    }
}

#[test]
fn inputs_and_classes_are_named_by_the_job() {
    let Some(libraries) = installed() else { return };
    let straight = scores(params("linear"), &rows(), &libraries);
    let swapped = OnnxParams {
        inputs: vec![("X".to_owned(), vec!["income".to_owned(), "age".to_owned()])],
        ..params("linear")
    };
    assert_ne!(scores(swapped, &rows(), &libraries), straight);
    let named = OnnxParams {
        inputs: vec![("X".to_owned(), vec!["age".to_owned(), "income".to_owned()])],
        ..params("linear")
    };
    assert_eq!(scores(named, &rows(), &libraries), straight);
    let other = OnnxParams { positive: Some("0".to_owned()), ..params("linear") };
    let other = scores(other, &rows(), &libraries);
    other.iter().zip(&straight).for_each(|(a, b)| assert!((a + b - 1.0).abs() < 1e-6));
    let bad = OnnxParams { positive: Some("bad".to_owned()), ..params("zipmap") };
    let good = scores(params("zipmap"), &rows(), &libraries);
    scores(bad, &rows(), &libraries)
        .iter()
        .zip(&good)
        .for_each(|(a, b)| assert!((a + b - 1.0).abs() < 1e-6));
}

#[test]
fn what_does_not_fit_is_said() {
    let Some(libraries) = installed() else { return };
    let said = |change: fn(&mut OnnxParams), model: &str, words: &[&str]| {
        let text = refused(change, model, &libraries);
        words.iter().for_each(|word| assert!(text.contains(word), "{model}: {text}"));
    };
    said(|p| p.omit.clear(), "linear", &["takes 2 columns", "`job`, `age`, `income`"]);
    said(|p| p.omit.push("age".to_owned()), "linear", &["takes 2 columns", "`income`"]);
    said(|p| p.omit.push("job".to_owned()), "named", &["input `job`", "no column has this name"]);
    said(|p| p.inputs = vec![("Y".to_owned(), Vec::new())], "linear", &["no input `Y`", "`X`"]);
    said(
        |p| p.inputs = vec![("X".to_owned(), vec!["age".to_owned(), "job".to_owned()])],
        "linear",
        &["`job`", "not a model column of the job"],
    );
    said(
        |p| {
            p.omit.clear();
            p.inputs = vec![("X".to_owned(), vec!["age".to_owned(), "job".to_owned()])];
        },
        "linear",
        &["`job` holds text"],
    );
    said(
        |p| p.inputs = vec![("job".to_owned(), vec!["age".to_owned()])],
        "named",
        &["`age` holds numbers"],
    );
    said(
        |p| p.output = Some("probability".to_owned()),
        "linear",
        &["no output `probability`", "`label`, `probabilities`"],
    );
    said(|p| p.output = Some("label".to_owned()), "zipmap", &["no output `label`"]);
    said(|p| p.positive = Some("2".to_owned()), "linear", &["`2` is not a position"]);
    said(|p| p.positive = None, "zipmap", &["the positive one", "`bad`, `good`"]);
    said(|p| p.positive = Some("fine".to_owned()), "zipmap", &["no class `fine`"]);
    said(|p| p.path.set_file_name("make.py"), "linear", &["does not accept the model", "make.py"]);
    said(|p| p.path.set_file_name("absent.onnx"), "linear", &["bad-model", "absent.onnx"]);
}

#[test]
fn an_absent_library_is_said_with_the_way_to_get_it() {
    // `load_library` is called directly: what another test has loaded stays loaded.
    let said = |libraries: &[PathBuf]| {
        load_library(libraries, &params("linear")).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let text = said(&[]);
    assert!(
        text.contains("no-runtime")
            && text.contains("was not found")
            && text.contains("pip install onnxruntime"),
        "{text}"
    );
}

#[test]
fn missing_text_is_empty_and_missing_numbers_are_nan() {
    let (named, rows) = (params("named"), rows());
    let mut gone = rows.take(&[0, 1]);
    gone.columns[0] = FeatureColumn::Code(vec![MISSING, 1]);
    gone.columns[1] = FeatureColumn::Number(vec![f64::NAN, 3.0]);
    let mut words = vec!["x"; 2];
    named.words(&gone, &[0, 1], 0, 1, &mut words).unwrap();
    assert_eq!(words, ["", "nurse"]);
    let mut numbers = [0.0; 4];
    named.numbers(&gone, &[0, 1], 1, |x| x, 2, &mut numbers[1..]).unwrap();
    assert!(numbers[1].is_nan() && numbers[3] == 3.0 && numbers[0] == 0.0);
    let text = named.integers(&gone, &[0, 1], 1, 1, &mut [0.0; 2]).unwrap_err().to_string();
    assert!(text.contains("a missing value") && text.contains("whole numbers"), "{text}");
}
