//! The values of the columns of each input of the model, and the check of a score.

use std::borrow::Cow;
use std::ops::Range;

use ort::value::TensorElementType;

use super::OnnxParams;
use super::library::first_line;
use crate::data::FeatureRows;
use crate::data::source_view::ViewedColumn;
use crate::error::{Fault, Result};
use crate::num::score_scale::ScaleNumbers;

/// Largest rounding error of a probability in single precision.
const ROUNDING: f64 = 1e-6;

/// The values of an input, column by column.
pub(super) enum InputValues {
    /// Numbers; whole ones and booleans are, too.
    Numbers(Vec<Vec<f64>>),
    /// Texts.
    Texts(Vec<Vec<String>>),
}

/// The rows `at` of columns, row by row, the last row repeated up to `n` rows.
pub(super) fn row_by_row<T: Clone>(columns: &[Vec<T>], at: &Range<usize>, n: usize) -> Vec<T> {
    let rows = at.clone().chain(std::iter::repeat_n(at.end - 1, n - at.len()));
    rows.flat_map(|i| columns.iter().map(move |column| column[i].clone())).collect()
}

impl OnnxParams {
    /// What is wrong with this model's file.
    pub(super) fn bad(&self, what: impl Into<String>) -> Fault {
        Fault::new("bad-model", what).in_file(&self.path)
    }

    /// The same, by what the runtime says.
    pub(super) fn bad_by(&self, what: &str, cause: &impl std::fmt::Display) -> Fault {
        self.bad(format!("{what}: {}", first_line(cause)))
    }

    /// A column as numbers: a boolean is 1 or 0, NaN is missing.
    pub(super) fn numbers(
        &self,
        rows: &FeatureRows,
        at: &[usize],
        column: usize,
    ) -> Result<Vec<f64>> {
        let feature = &self.features[column];
        ViewedColumn::new(feature, column, rows, Some(at)).numbers().map_err(|text| {
            let what = format!(
                "the column `{}` holds the text `{text}`, but the model expects numbers for it",
                feature.name
            );
            let hint = "leave the column out by `omit`, or export the model with an input of \
                        strings for it";
            self.bad(what).hint(hint).into()
        })
    }

    /// Fails where the numbers of a column are not whole, or not the two of a truth value.
    pub(super) fn check_whole(
        &self,
        column: usize,
        element: TensorElementType,
        numbers: &[f64],
    ) -> Result<()> {
        let (is_flag, name) = (element == TensorElementType::Bool, &self.features[column].name);
        let is_short = element == TensorElementType::Int32;
        let fits = |x: f64| match is_flag {
            true => x == 0.0 || x == 1.0,
            false if is_short => f64::from(x as i32) == x,
            false => x.fract() == 0.0 && x.abs() < 9e15,
        };
        let Some(x) = numbers.iter().find(|x| !fits(**x)) else { return Ok(()) };
        let (found, way) = match x.is_nan() {
            true => ("a missing value".to_owned(), "fill or drop such rows (`data.missing`)"),
            false => (
                format!("`{x}`"),
                "derive the column as the model was trained on it (`data.derive`)",
            ),
        };
        let takes = if is_flag { "truth values" } else { "whole numbers" };
        let what = format!(
            "the column `{name}` holds {found}, but the model takes {takes} for it, of the type \
             {element:?}"
        );
        self.bad(what).fail(format!("{way}, or export the model with an input of floats"))
    }

    /// A column as texts, as Python's `str` writes its values; a missing one is the empty text, or
    /// what the job says.
    pub(super) fn words(&self, rows: &FeatureRows, at: &[usize], column: usize) -> Vec<String> {
        let feature = &self.features[column];
        let texts = ViewedColumn::new(feature, column, rows, Some(at)).texts(feature.source_kind());
        let word = |text: Option<Cow<'_, str>>| {
            text.map_or_else(|| self.missing_text.clone(), Cow::into_owned)
        };
        texts.into_iter().map(word).collect()
    }

    /// A score, clamped if it is outside of its scale by rounding only.
    pub(super) fn checked(&self, score: f64) -> Result<f64> {
        let rounding = ROUNDING * self.scale.width();
        if let ScaleNumbers::Range { from, to } = self.scale.numbers
            && (from - rounding..=to + rounding).contains(&score)
        {
            return Ok(score.clamp(from, to));
        }
        if self.scale.contains(score) {
            return Ok(score);
        }
        let what = if score.is_nan() {
            "the model gives NaN for a row".to_owned()
        } else {
            format!("the model gives `{score}` for a row, which is not {}", self.scale.in_words())
        };
        let hint = "the score is the probability of the positive class, or a number of the model's \
                    `scale`; name the output that holds it under `output`";
        Fault::new("bad-scores", what).in_file(&self.path).fail(hint)
    }
}
