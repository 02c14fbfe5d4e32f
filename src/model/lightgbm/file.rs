//! A model file of LightGBM: the description of its columns, and scores by the library.
//!
//! The library reads the file and walks its trees; which columns it gets is settled by the contract
//! ([`crate::model::contract`]), for which the file describes itself here. A category is a whole
//! number in the model. Only the file knows which number a text has (`pandas_categorical`): a text
//! that is not in the list, like one that is missing, is a missing value, as in LightGBM's own
//! package. Where it is not clear which list belongs to which column, the file is refused.
//! Choice: the library's handle of a model cannot be shared by threads, so each block of rows reads
//! the model again; on blocks of 65,536 rows that is about a hundredth of the time.
//! Source: `src/io/gbdt_model_text.cpp` and `python-package/lightgbm/basic.py` of LightGBM 4.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::data::source_form::SourceValue;
use crate::data::source_view::ViewedColumn;
use crate::data::{Feature, FeatureRows};
use crate::error::{Fault, Result};
use crate::exec::files;
use crate::model::Scorer;
use crate::model::contract::{
    InputColumns, InputKind, MissingAs, ModelContract, ModelInput, ModelSignature, ScoreOutput,
};

/// A model from a file of LightGBM.
#[derive(Debug)]
pub(crate) struct LightgbmScorer {
    path: PathBuf,
    text: String,
    /// What the model gets, in the order of its columns.
    inputs: Vec<ModelColumn>,
    /// The features of the rows.
    features: Vec<Feature>,
    /// Whether the score is the probability of the first class, which the model does not give.
    complement: bool,
}

/// The feature of a column of the model, and the categories that the model knows, in order; none
/// for a column of numbers.
#[derive(Debug, Clone, PartialEq)]
struct ModelColumn {
    feature: usize,
    categories: Option<Vec<Value>>,
}

impl ModelColumn {
    /// The number of a value of the source in the model; none for a text that has none.
    fn number(&self, value: &SourceValue<'_>) -> Option<f64> {
        match (&self.categories, value) {
            (_, SourceValue::Null) => Some(f64::NAN),
            (None, SourceValue::Text(_)) => None,
            (None, value) => value.number(),
            (Some(known), value) => {
                let is = |known: &Value| match (known, value) {
                    (Value::String(known), SourceValue::Text(text)) => known == text,
                    (Value::Bool(known), SourceValue::Boolean(flag)) => known == flag,
                    (Value::Number(known), SourceValue::Integer(_) | SourceValue::Float(_)) => {
                        known.as_f64() == value.number()
                    }
                    _ => false,
                };
                // As in LightGBM, a category that training did not contain is missing.
                Some(known.iter().position(is).map_or(f64::NAN, |at| at as f64))
            }
        }
    }

    /// The numbers of the levels of its feature.
    fn levels(&self, feature: &Feature) -> Option<Vec<f64>> {
        let words = (0..feature.levels.len() as u32).filter_map(|level| feature.spelling_of(level));
        words.map(|word| self.number(&feature.source_value(word))).collect()
    }
}

/// The columns in the file.
#[derive(Debug, Clone, PartialEq)]
struct LightgbmHead {
    names: Vec<String>,
    /// Positions of the categories, ascending.
    categories: Vec<usize>,
    /// The levels of each category in order, if the file contains them.
    levels: Vec<Vec<Value>>,
}

/// What to do about a file that is none.
const OWN_FILE: &str = "name a model file that LightGBM's `save_model` has written";

fn unclear(path: &Path, what: impl Into<String>) -> Fault {
    Fault::new("bad-model", what).in_file(path)
}

impl LightgbmHead {
    /// Reads the head and the end of a model file.
    fn parse(path: &Path, text: &str) -> Result<Self> {
        let refused = |what: &str| unclear(path, what).fail(OWN_FILE);
        let value = |key: &str| {
            let head = text.lines().take_while(|line| !line.starts_with("Tree="));
            head.filter_map(|line| line.split_once('=')).find(|(k, _)| *k == key).map(|(_, v)| v)
        };
        if text.contains('\0') || !text.starts_with("tree\n") || !text.contains("\nend of trees") {
            return refused("this is no whole model file of LightGBM");
        }
        let objective = value("objective").unwrap_or("none");
        if !matches!(objective.split(' ').next(), Some("binary" | "cross_entropy")) {
            let what = format!("its objective is `{objective}`, which gives no probability");
            let hint = "train it with `objective: binary`, or score elsewhere (`scores`, `python`)";
            return unclear(path, what).fail(hint);
        }
        let names: Vec<String> =
            value("feature_names").unwrap_or_default().split(' ').map(str::to_owned).collect();
        let infos: Vec<&str> = value("feature_infos").unwrap_or_default().split(' ').collect();
        if names.len() != infos.len() || names.iter().any(String::is_empty) {
            return refused("its columns and their descriptions do not match");
        }
        let listed = parameter(text, "categorical_feature").unwrap_or_default();
        let listed: Option<BTreeSet<usize>> = listed
            .split(',')
            .filter(|word| !word.is_empty())
            .map(|word| word.parse().ok().filter(|&at: &usize| at < names.len()))
            .collect();
        // Ranges are of numbers, lists are of categories, `none` is a column without any split.
        let is_list = |info: &str| !info.starts_with('[') && info != "none";
        let used: BTreeSet<usize> = (0..infos.len()).filter(|&at| is_list(infos[at])).collect();
        let known = listed.filter(|listed| {
            used.is_subset(listed) && listed.iter().all(|&at| !infos[at].starts_with('['))
        });
        let Some(categories) = known else {
            let what = "its parameter `categorical_feature` and its columns do not agree on which \
                        columns are categories";
            return refused(what);
        };
        let categories: Vec<usize> = categories.into_iter().collect();
        let levels = text.lines().rev().find_map(|line| line.strip_prefix("pandas_categorical:"));
        let levels: Vec<Vec<Value>> = match levels.map(serde_json::from_str::<Option<_>>) {
            None | Some(Ok(None)) => Vec::new(),
            Some(Ok(Some(levels))) => levels,
            Some(Err(e)) => {
                return refused(&format!("its line `pandas_categorical` is damaged: {e}"));
            }
        };
        if !levels.is_empty() && levels.len() != categories.len() {
            let what = format!(
                "it has {} columns of categories and lists the levels of {}, so that nobody can \
                 tell which levels belong to which column",
                categories.len(),
                levels.len()
            );
            let hint = "train it with all categories as unordered columns of the type `category`, \
                        or ask it by `python`";
            return unclear(path, what).fail(hint);
        }
        Ok(LightgbmHead { names, categories, levels })
    }
}

/// A parameter of the training, as the end of the file lists them.
fn parameter<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let lines = text.lines().skip_while(|line| *line != "parameters:");
    let mut values = lines.filter_map(|line| line.strip_prefix('[')?.split_once(": "));
    values.find(|(key, _)| *key == name).map(|(_, value)| value.trim_end_matches(']'))
}

impl LightgbmScorer {
    /// The description of the model in the file.
    ///
    /// # Errors
    /// The file cannot be read, is no such model, or leaves open which number a category has.
    pub(crate) fn signature(path: &Path) -> Result<ModelSignature> {
        let head = LightgbmHead::parse(path, &files::read_text(path)?)?;
        let unnamed = |(at, name): (usize, &String)| *name == format!("Column_{at}");
        let columns = match head.names.iter().enumerate().all(unnamed) {
            true => InputColumns::Unnamed(Some(head.names.len())),
            false => InputColumns::Named(head.names.clone()),
        };
        let levels = (0..head.names.len()).map(|at| {
            let category = head.categories.iter().position(|&category| category == at)?;
            let known = head.levels.get(category)?.iter().cloned();
            // A missing value takes a separate branch.
            Some(known.chain([Value::Null]).collect())
        });
        let (name, missing) = (String::new(), MissingAs::Nan);
        let (kind, levels) = (InputKind::Source, levels.collect());
        let input = ModelInput { name, columns, kind, missing, levels };
        Ok(ModelSignature { inputs: vec![input], output: ScoreOutput::SecondOfTwo })
    }

    /// Reads the file and the columns of its contract among the features.
    ///
    /// # Errors
    /// As [`LightgbmScorer::signature`]; the rows lack a column of the contract; a column has
    /// another type than in training; LightGBM cannot read the file.
    pub(crate) fn load(
        path: &Path,
        features: &[Feature],
        contract: &ModelContract,
    ) -> Result<Self> {
        let text = files::read_text(path)?;
        let head = LightgbmHead::parse(path, &text)?;
        let mut inputs = Vec::new();
        let positions = contract.features("", features).map_err(|what| unclear(path, what))?;
        for (at, feature) in positions.into_iter().enumerate() {
            let category = head.categories.iter().position(|&category| category == at);
            let categories = category.and_then(|k| head.levels.get(k)).cloned();
            let column = ModelColumn { feature, categories };
            check_levels(path, &column, &features[feature])?;
            inputs.push(column);
        }
        library::check(&text, inputs.len())
            .map_err(|e| unclear(path, format!("LightGBM cannot read it: {e}")).hint(OWN_FILE))?;
        let complement = contract.score.position == Some(0);
        let (path, features) = (path.to_path_buf(), features.to_vec());
        Ok(LightgbmScorer { path, text, inputs, features, complement })
    }
}

/// Refuses a feature of another type than the column of the model.
fn check_levels(path: &Path, column: &ModelColumn, feature: &Feature) -> Result<()> {
    let numbers = column.levels(feature);
    let (what, hint) = match (&column.categories, numbers) {
        (None, None) => (
            format!(
                "the column `{}` holds text, but the model expects numbers for it",
                feature.name
            ),
            "which number represents a text is not in the file: train it with the column as the \
             type `category`, or ask it by `python`",
        ),
        (Some(_), _) if feature.levels.is_empty() => (
            format!(
                "the column `{}` is a continuous feature, and the model knows it as a category",
                feature.name
            ),
            "declare it under `features.nominal`",
        ),
        (Some(known), Some(numbers)) if numbers.iter().all(|number| number.is_nan()) => {
            let known: Vec<String> = known.iter().take(5).map(Value::to_string).collect();
            (
                format!(
                    "the model knows none of the levels of `{}`; it knows {}",
                    feature.name,
                    known.join(", ")
                ),
                "the levels must be written as in its training, in a column of the same type",
            )
        }
        _ => return Ok(()),
    };
    unclear(path, what).fail(hint)
}

impl Scorer for LightgbmScorer {
    fn score(&self, rows: &FeatureRows, scores: &mut Vec<f64>) -> Result<()> {
        if rows.n == 0 {
            return Ok(());
        }
        let width = self.inputs.len();
        let mut values = vec![f64::NAN; rows.n * width];
        for (at, input) in self.inputs.iter().enumerate() {
            let places = values.iter_mut().skip(at).step_by(width);
            let feature = &self.features[input.feature];
            let viewed = ViewedColumn::new(feature, input.feature, rows, None);
            let numbers = viewed.map(|value| input.number(value).unwrap_or(f64::NAN));
            places.zip(numbers).for_each(|(place, number)| *place = number);
        }
        let given = library::predict(&self.text, &values, width)
            .map_err(|e| unclear(&self.path, format!("LightGBM failed: {e}")))?;
        let is_score = |score: &f64| (0.0..=1.0).contains(score);
        if given.len() != rows.n || !given.iter().all(is_score) {
            let what = format!("it does not give one probability for each of {} rows", rows.n);
            return Err(unclear(&self.path, what).into());
        }
        match self.complement {
            true => scores.extend(given.into_iter().map(|score| 1.0 - score)),
            false => scores.extend(given),
        }
        Ok(())
    }
}

#[cfg(feature = "lightgbm")]
mod library {
    //! The calls of the library.

    use lightgbm3::Booster;

    /// Reads the model once.
    pub(super) fn check(text: &str, width: usize) -> Result<(), String> {
        let model = Booster::from_string(text).map_err(|e| e.to_string())?;
        let columns = usize::try_from(model.num_features()).unwrap_or_default();
        if columns == width && model.num_classes() == 1 {
            return Ok(());
        }
        Err(format!("it has {columns} columns and {} classes", model.num_classes()))
    }

    /// The probability of the positive class for rows of this many columns.
    pub(super) fn predict(text: &str, rows: &[f64], width: usize) -> Result<Vec<f64>, String> {
        let model = Booster::from_string(text).map_err(|e| e.to_string())?;
        let width = i32::try_from(width).map_err(|e| e.to_string())?;
        let scores = model.predict_with_params(rows, width, true, "num_threads=1 verbosity=-1");
        scores.map_err(|e| e.to_string())
    }
}

#[cfg(not(feature = "lightgbm"))]
mod library {
    //! Replaces the library in builds without it; `check` has refused jobs that need it.

    const ABSENT: &str = "this build of cfaudit does without it";

    pub(super) fn check(_: &str, _: usize) -> Result<(), String> {
        Err(ABSENT.to_owned())
    }

    pub(super) fn predict(_: &str, _: &[f64], _: usize) -> Result<Vec<f64>, String> {
        Err(ABSENT.to_owned())
    }
}
