//! The values of the columns of each input of the model, and the check of a score.

use super::OnnxParams;
use crate::data::{FeatureColumn, FeatureRows, MISSING};
use crate::error::{Fault, Result};
use crate::num::score_scale::ScaleNumbers;

/// Largest rounding error of a probability in single precision.
const ROUNDING: f64 = 1e-6;

impl OnnxParams {
    /// A fault about this model's file.
    pub(super) fn fault(&self, code: &'static str, what: impl Into<String>) -> Fault {
        Fault::new(code, what).in_file(&self.path)
    }

    /// Writes a column as numbers into every `width`-th place.
    pub(super) fn numbers<T>(
        &self,
        rows: &FeatureRows,
        range: &[usize],
        column: usize,
        of: impl Fn(f64) -> T,
        width: usize,
        into: &mut [T],
    ) -> Result<()> {
        let feature = &self.features[column];
        match &rows.columns[column] {
            FeatureColumn::Number(values) => range
                .iter()
                .zip(into.iter_mut().step_by(width))
                .for_each(|(&i, to)| *to = of(values[i])),
            FeatureColumn::Code(codes) => {
                let levels: Option<Vec<f64>> =
                    feature.levels.iter().map(|level| level.parse().ok()).collect();
                let Some(levels) = levels else {
                    let what = format!(
                        "the column `{}` holds text, but the model expects numbers for it",
                        feature.name
                    );
                    let hint = "leave the column out by `omit`, or export the model with an input \
                                of strings for it";
                    return Err(self.fault("bad-model", what).hint(hint).into());
                };
                let value = |code: u32| {
                    if code == MISSING {
                        f64::NAN
                    } else {
                        levels.get(code as usize).copied().unwrap_or(f64::NAN)
                    }
                };
                range
                    .iter()
                    .zip(into.iter_mut().step_by(width))
                    .for_each(|(&i, to)| *to = of(value(codes[i])));
            }
        }
        Ok(())
    }

    /// A column as whole numbers.
    pub(super) fn integers(
        &self,
        rows: &FeatureRows,
        range: &[usize],
        column: usize,
        width: usize,
        into: &mut [f64],
    ) -> Result<()> {
        self.numbers(rows, range, column, |x| x, width, into)?;
        let whole = |x: &&f64| x.fract() == 0.0 && x.abs() < 9e15;
        match into.iter().step_by(width).find(|x| !whole(x)) {
            None => Ok(()),
            Some(x) => {
                let (name, found) = (
                    &self.features[column].name,
                    if x.is_nan() { "a missing value".to_owned() } else { format!("`{x}`") },
                );
                let what = format!(
                    "the column `{name}` holds {found}, but the model expects whole numbers for it"
                );
                let hint = "fill or drop such rows (`data.missing`), or export the model with an \
                            input of floats";
                Err(self.fault("bad-model", what).hint(hint).into())
            }
        }
    }

    /// Writes the words of a column into every `width`-th place.
    pub(super) fn words<'a>(
        &'a self,
        rows: &FeatureRows,
        range: &[usize],
        column: usize,
        width: usize,
        into: &mut [&'a str],
    ) -> Result<()> {
        let feature = &self.features[column];
        let FeatureColumn::Code(codes) = &rows.columns[column] else {
            let what = format!(
                "the column `{}` holds numbers, but the model expects text for it",
                feature.name
            );
            return Err(self
                .fault("bad-model", what)
                .hint("declare it as nominal, or export the model with an input of floats")
                .into());
        };
        let missing = self.missing_text.as_str();
        let word = |code: u32| feature.levels.get(code as usize).map_or(missing, String::as_str);
        range.iter().zip(into.iter_mut().step_by(width)).for_each(|(&i, to)| *to = word(codes[i]));
        Ok(())
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
        Err(self.fault("bad-scores", what).hint(hint).into())
    }
}
