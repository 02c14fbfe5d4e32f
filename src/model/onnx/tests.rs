//! ONNX models against Python's onnxruntime (tests/onnx, made by make.py). Without the library they
//! are skipped with a message.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use ort::value::TensorElementType;

use super::input_values::row_by_row;
use super::library::load_library;
use super::{OnnxParams, OnnxScorer};
use crate::data::source_form::SourceForm;
use crate::data::values::ValueClass;
use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows, LabelDefinition, MISSING};
use crate::error::{Error, Fault, Result};
use crate::model::Scorer;
use crate::model::contract::{ContractTerms, InputColumns, MissingAs, ModelContract, ScoreOutput};
use crate::model::onnx::library::libraries;
use crate::num::score_scale::ScoreScale;
use crate::param::{ColumnName, Word};
use crate::tests::Says;

const N: u32 = 40;
const JOBS: [&str; 3] = ["clerk", "nurse", "pilot"];

fn features() -> Vec<Feature> {
    let feature = |name: &str, kind: FeatureKind, levels: &[&str]| Feature {
        name: name.to_owned(),
        kind,
        levels: levels.iter().map(|&l| l.to_owned()).collect(),
        class: if levels.is_empty() { ValueClass::Float } else { ValueClass::Text },
        source: SourceForm::default(),
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
    FeatureRows { n: N as usize, columns, source: Vec::new() }
}

/// A file, and what a job says about it.
#[derive(Clone)]
struct OnnxCase {
    params: OnnxParams,
    columns: Vec<ColumnName>,
    inputs: IndexMap<String, Vec<ColumnName>>,
    class: Option<Word>,
    omit: Vec<ColumnName>,
    positive: &'static str,
}

fn names(names: &[&str]) -> Vec<ColumnName> {
    names.iter().map(|&name| ColumnName::new(name).unwrap()).collect()
}

fn case(model: &str) -> OnnxCase {
    let is_matrix = model != "named";
    OnnxCase {
        params: OnnxParams {
            path: Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/onnx/{model}.onnx")),
            output: None,
            missing_text: String::new(),
            scale: ScoreScale::default(),
            features: features(),
        },
        columns: if is_matrix { names(&["age", "income"]) } else { Vec::new() },
        inputs: IndexMap::new(),
        class: None,
        omit: Vec::new(),
        positive: if model == "zipmap" { "good" } else { "1" },
    }
}

/// Reads the file, makes the contract, and loads the model by it.
fn load(case: &OnnxCase, libraries: &[PathBuf]) -> Result<OnnxScorer> {
    let signature = OnnxScorer::signature(&case.params, libraries)?;
    let terms = ContractTerms {
        columns: &case.columns,
        inputs: Some(&case.inputs),
        class: case.class.as_ref(),
        classes: None,
        omit: &case.omit,
    };
    let label = LabelDefinition {
        column: "y".to_owned(),
        positive: vec![case.positive.to_owned()],
        negative: Vec::new(),
        classes: Vec::new(),
    };
    let columns: Vec<&str> = case.params.features.iter().map(|f| f.name.as_str()).collect();
    let contract = ModelContract::settle(&signature, &terms, &columns, Some(&label));
    let contract = contract
        .map_err(|gap| Error::from(Fault::new(gap.code, format!("{}; {}", gap.what, gap.hint))))?;
    OnnxScorer::load(case.params.clone(), &contract, libraries)
}

/// The places of the library; `None`, with a message, if it is not installed.
fn installed() -> Option<Vec<PathBuf>> {
    let libraries = libraries();
    match load(&case("linear"), &libraries) {
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

fn scores(case: &OnnxCase, rows: &FeatureRows, libraries: &[PathBuf]) -> Vec<f64> {
    let scorer = load(case, libraries).expect("loads");
    let mut scores = Vec::new();
    scorer.score(rows, &mut scores).expect("scores");
    scores
}

fn refused(change: impl FnOnce(&mut OnnxCase), model: &str, libraries: &[PathBuf]) -> String {
    let mut case = case(model);
    change(&mut case);
    let load = load(&case, libraries);
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
        let got = scores(&case(model), &rows(), &libraries);
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
        let all = scores(&case(model), &rows(), &libraries);
        let scorer = load(&case(model), &libraries).unwrap();
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
    let straight = scores(&case("linear"), &rows(), &libraries);
    let swapped = OnnxCase { columns: names(&["income", "age"]), ..case("linear") };
    assert_ne!(scores(&swapped, &rows(), &libraries), straight);
    let inputs = IndexMap::from([("X".to_owned(), names(&["age", "income"]))]);
    let named = OnnxCase { columns: Vec::new(), inputs, ..case("linear") };
    assert_eq!(scores(&named, &rows(), &libraries), straight);
    let other = OnnxCase { class: Some(Word("0".to_owned())), ..case("linear") };
    let other = scores(&other, &rows(), &libraries);
    other.iter().zip(&straight).for_each(|(a, b)| assert!((a + b - 1.0).abs() < 1e-6));
    let bad = OnnxCase { class: Some(Word("bad".to_owned())), ..case("zipmap") };
    let good = scores(&case("zipmap"), &rows(), &libraries);
    scores(&bad, &rows(), &libraries)
        .iter()
        .zip(&good)
        .for_each(|(a, b)| assert!((a + b - 1.0).abs() < 1e-6));
}

#[test]
fn a_file_says_what_it_knows() {
    let Some(libraries) = installed() else { return };
    let signature = |model: &str| OnnxScorer::signature(&case(model).params, &libraries).unwrap();
    let matrix = signature("linear");
    assert_eq!(matrix.inputs[0].columns, InputColumns::Unnamed(Some(2)));
    assert_eq!(matrix.output, ScoreOutput::Classes(vec![0.into(), 1.into()]));
    assert_eq!(signature("zipmap").output, ScoreOutput::Classes(vec!["bad".into(), "good".into()]));
    assert_eq!(signature("lightgbm").output, matrix.output);
    let named = signature("named");
    let job = named.inputs.iter().find(|input| input.name == "job").unwrap();
    assert_eq!(job.columns, InputColumns::Named(vec!["job".to_owned()]));
    assert_eq!(job.missing, MissingAs::Text(String::new()));
    let known: Vec<serde_json::Value> = JOBS.iter().map(|&job| job.into()).collect();
    assert_eq!(job.levels, [Some(known)]);
}

#[test]
fn what_does_not_fit_is_said() {
    let Some(libraries) = installed() else { return };
    let said = |change: fn(&mut OnnxCase), model: &str, words: &[&str]| {
        let text = refused(change, model, &libraries);
        words.iter().for_each(|word| assert!(text.contains(word), "{model}: {text}"));
    };
    said(
        |c| c.columns.clear(),
        "linear",
        &["2 columns by their order", "columns: [job, age, income]"],
    );
    said(|c| c.columns = names(&["age"]), "linear", &["takes 2 columns", "get 1: `age`"]);
    said(|c| c.omit = names(&["job"]), "named", &["takes a column `job`", "inputs: {job: [...]}"]);
    said(
        |c| c.inputs = IndexMap::from([("Y".to_owned(), Vec::new())]),
        "linear",
        &["no input `Y`", "`X`"],
    );
    said(
        |c| {
            c.omit = names(&["job"]);
            c.columns = names(&["age", "job"]);
        },
        "linear",
        &["`job`", "not a model column of the job"],
    );
    said(|c| c.columns = names(&["age", "job"]), "linear", &["`job` holds the text `clerk`"]);
    said(
        |c| c.inputs = IndexMap::from([("job".to_owned(), names(&["age"]))]),
        "named",
        &["is `job` by its file", "gives it `age`"],
    );
    said(|c| c.columns = names(&["age"]), "named", &["has 3 inputs", "under `inputs`"]);
    said(
        |c| c.params.output = Some("probability".to_owned()),
        "linear",
        &["no output `probability`", "under `output`: `probabilities`"],
    );
    said(
        |c| c.params.output = Some("label".to_owned()),
        "linear",
        &["`label` of the model holds whole numbers, not probabilities", "`probabilities`"],
    );
    said(|_| (), "decides", &["no output of the model", "whole numbers", "by `decision`"]);
    // The library also finds the width that a file leaves open.
    for model in ["three", "open"] {
        said(|_| (), model, &["3 classes", "other values: `1`", "`class: 0` or `class: 1` or"]);
    }
    said(
        |c| (c.columns, c.class) = (names(&["income", "age"]), Some(Word("1".to_owned()))),
        "whole",
        &["`income` holds `16.5`", "of the type Int64", "`data.derive`", "an input of floats"],
    );
    said(|c| c.params.output = Some("label".to_owned()), "zipmap", &["no output `label`"]);
    said(|c| c.class = Some(Word("2".to_owned())), "linear", &["no class `2`", "`0`, `1`"]);
    said(|c| c.positive = "1", "zipmap", &["`bad`, `good`", "the positive label `1`"]);
    said(|c| c.class = Some(Word("fine".to_owned())), "zipmap", &["no class `fine`", "`good`"]);
    said(
        |c| {
            c.params.path.set_file_name("make.py");
        },
        "linear",
        &["does not accept the model", "make.py"],
    );
    said(
        |c| {
            c.params.path.set_file_name("absent.onnx");
        },
        "linear",
        &["bad-model", "absent.onnx"],
    );
}

#[test]
fn an_absent_library_is_said_with_the_way_to_get_it() {
    // `load_library` is called directly: what another test has loaded stays loaded.
    let said = |libraries: &[PathBuf]| {
        load_library(libraries, &case("linear").params)
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default()
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
    let (named, rows) = (case("named").params, rows());
    let mut gone = rows.take(&[0, 1]);
    gone.columns[0] = FeatureColumn::Code(vec![MISSING, 1]);
    gone.columns[1] = FeatureColumn::Number(vec![f64::NAN, 3.0]);
    assert_eq!(named.words(&gone, &[0, 1], 0), ["", "nurse"]);
    let named = OnnxParams { missing_text: "none".to_owned(), ..named };
    assert_eq!(named.words(&gone, &[0, 1], 0), ["none", "nurse"]);
    let numbers = named.numbers(&gone, &[0, 1], 1).unwrap();
    assert!(numbers[0].is_nan() && numbers[1] == 3.0);
    for (element, found, words) in [
        (TensorElementType::Int64, f64::NAN, ["a missing value", "takes whole numbers"]),
        (TensorElementType::Int32, 0.5, ["holds `0.5`", "type Int32"]),
        (TensorElementType::Int32, 3e9, ["holds `3000000000`", "type Int32"]),
        (TensorElementType::Bool, 2.0, ["holds `2`", "takes truth values"]),
    ] {
        let fault = named.check_whole(1, element, &[1.0, 0.0, found]).unwrap_err();
        fault.to_string().says(&words);
    }
}

/// Every batch of a file with a fixed number of rows holds rows of the block that was made once.
#[test]
fn a_batch_holds_its_rows_and_the_last_one_repeated() {
    let columns = [vec!["a0", "a1", "a2"], vec!["b0", "b1", "b2"]];
    assert_eq!(row_by_row(&columns, &(0..2), 2), ["a0", "b0", "a1", "b1"]);
    assert_eq!(row_by_row(&columns, &(2..3), 3), ["a2", "b2", "a2", "b2", "a2", "b2"]);
}
