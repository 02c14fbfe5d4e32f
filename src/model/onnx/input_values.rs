//! The values of the columns of each input of the model, and the check of a score.

use std::borrow::Cow;
use std::ops::Range;

use ort::value::TensorElementType;

use super::OnnxParams;
use crate::data::FeatureRows;
use crate::data::source_view::ViewedColumn;
use crate::error::{Fault, Result};
use crate::num::score_scale::ScaleNumbers;

/// Largest rounding error of a probability in single precision.
const ROUNDING: f64 = 1e-6;

/// The values of an input, row by row.
pub(super) enum InputValues {
    /// Numbers; whole ones and booleans are, too.
    Numbers(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
}

/// The rows `at` of values that stand row by row, the last row repeated up to `n` rows.
pub(super) fn padded<T: Clone>(values: &[T], width: usize, at: &Range<usize>, n: usize) -> Vec<T> {
    let mut some = Vec::with_capacity(n * width);
    some.extend_from_slice(&values[at.start * width..at.end * width]);
    for _ in at.len()..n {
        some.extend_from_slice(&values[(at.end - 1) * width..at.end * width]);
    }
    some
}

impl OnnxParams {
    /// A fault about this model's file.
    pub(super) fn fault(&self, code: &'static str, what: impl Into<String>) -> Fault {
        Fault::new(code, what).in_file(&self.path)
    }

    /// Writes a column as numbers into every `width`-th place: a boolean is 1 or 0, NaN is missing.
    pub(super) fn numbers(
        &self,
        rows: &FeatureRows,
        range: &[usize],
        column: usize,
        width: usize,
        into: &mut [f64],
    ) -> Result<()> {
        let feature = &self.features[column];
        let viewed = ViewedColumn::new(feature, column, rows, Some(range));
        viewed.numbers(|x| x, width, into).map_err(|text| {
            let what = format!(
                "the column `{}` holds the text `{text}`, but the model expects numbers for it",
                feature.name
            );
            let hint = "leave the column out by `omit`, or export the model with an input of \
                        strings for it";
            self.fault("bad-model", what).hint(hint).into()
        })
    }

    /// Fails where the numbers of a column are not whole, or not the two of a truth value.
    pub(super) fn check_whole<'n>(
        &self,
        column: usize,
        element: TensorElementType,
        mut numbers: impl Iterator<Item = &'n f64>,
    ) -> Result<()> {
        let (is_flag, name) = (element == TensorElementType::Bool, &self.features[column].name);
        let is_short = element == TensorElementType::Int32;
        let fits = |x: &&f64| match is_flag {
            true => **x == 0.0 || **x == 1.0,
            false => x.fract() == 0.0 && x.abs() < if is_short { 2_147_483_648.0 } else { 9e15 },
        };
        let Some(x) = numbers.find(|x| !fits(x)) else { return Ok(()) };
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
        self.fault("bad-model", what)
            .fail(format!("{way}, or export the model with an input of floats"))
    }

    /// Writes a column as texts into every `width`-th place, as Python's `str` writes its values; a
    /// missing one is the empty text, or what the job says.
    pub(super) fn words<'a>(
        &'a self,
        rows: &'a FeatureRows,
        range: &[usize],
        column: usize,
        width: usize,
        into: &mut [Cow<'a, str>],
    ) {
        let feature = &self.features[column];
        let viewed = ViewedColumn::new(feature, column, rows, Some(range));
        let missing = Cow::Borrowed(self.missing_text.as_str());
        let places = into.iter_mut().step_by(width);
        for (text, to) in viewed.texts(feature.source_kind()).into_iter().zip(places) {
            *to = text.unwrap_or_else(|| missing.clone());
        }
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
        self.fault("bad-scores", what).fail(hint)
    }
}
