//! Logistic regression with an L2 penalty, fitted by Newton steps over streamed rows.
//!
//! Minimises sum_i a_i ln(1 + exp(-m_i)) + l2/2 |w|^2 with m_i = +-(b + w.x_i) over the encoded
//! training rows; a_i is the weight of the row, 1 without weights; the intercept b is not
//! penalised: the objective of scikit-learn's LogisticRegression with C = 1/l2 and sample_weight
//! a_i on the same matrix. Weights do not enter the encoding. Each step passes once over the rows
//! and sums loss, gradient and Hessian; the step is halved while the loss rises. Sums run over
//! fixed blocks of 1,024 rows in f64, and over blocks in fixed point, so the result does not depend
//! on threads or row groups.
//! Choice: stops when the predicted decrease of the loss is below 1e-14 of it; at most 100 steps.
//! Cost: a step costs the number of rows times the square of the features of a row; memory is the
//! square of the encoded width per thread. Expected coefficients in the tests come from
//! scikit-learn.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::FeatureRows;
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::error::{Error, Fault, Result};
use crate::model::encode::FeatureEncoder;
use crate::model::{Scorer, TrainedModel, TrainerInputs};
use crate::num::additive::{Additive, additive};
use crate::num::fixed::FixedSum;
use crate::num::linalg::SymmetricMatrix;
use crate::num::moments::scale_above;

const MAX_STEPS: usize = 100;

/// A fitted logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogisticModel {
    /// How rows become vectors.
    pub encoder: FeatureEncoder,
    /// Log odds where all encoded columns are 0.
    pub intercept: f64,
    /// One coefficient per encoded column.
    pub coefficients: Vec<f64>,
}

impl LogisticModel {
    /// Reads the artifact back.
    ///
    /// # Errors
    /// The text is no such artifact; the error says why.
    pub(crate) fn from_json(text: &str) -> Result<LogisticModel, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    fn margin(&self, entries: &[(usize, f64)]) -> f64 {
        entries
            .iter()
            .fold(self.intercept, |sum, &(column, value)| sum + self.coefficients[column] * value)
    }
}

impl Scorer for LogisticModel {
    fn score(&self, rows: &FeatureRows, scores: &mut Vec<f64>) -> Result<()> {
        let start = scores.len();
        scores.resize(start + rows.n, self.intercept);
        let margins = &mut scores[start..];
        // Each sum in the order of `margin`.
        self.encoder.each_entry(rows, 0..rows.n, |i, column, value| {
            margins[i] += self.coefficients[column] * value;
        });
        margins.iter_mut().for_each(|margin| *margin = sigmoid(*margin));
        Ok(())
    }
}

impl TrainedModel for LogisticModel {
    fn encoder(&self) -> &FeatureEncoder {
        &self.encoder
    }

    fn score_encoded(&self, encoded: &[f64]) -> f64 {
        // In the order of `margin`, so that an unmoved row keeps its score to the last bit.
        sigmoid(
            self.coefficients.iter().zip(encoded).fold(self.intercept, |sum, (b, x)| sum + b * x),
        )
    }

    fn log_odds(&self) -> Option<(f64, &[f64])> {
        Some((self.intercept, &self.coefficients))
    }

    fn to_json(&self) -> serde_json::Value {
        json!(self)
    }
}

/// 1 / (1 + exp(-m)), without overflow on either side.
pub(super) fn sigmoid(margin: f64) -> f64 {
    if margin >= 0.0 {
        1.0 / (1.0 + libm::exp(-margin))
    } else {
        let e = libm::exp(margin);
        e / (1.0 + e)
    }
}

/// Loss, gradient and Hessian at one point; the intercept is the last column.
struct NewtonSums {
    loss: FixedSum,
    gradient: Vec<FixedSum>,
    hessian: Vec<FixedSum>,
}

impl NewtonSums {
    fn new(n: usize) -> Self {
        NewtonSums {
            loss: FixedSum::ZERO,
            gradient: vec![FixedSum::ZERO; n],
            hessian: vec![FixedSum::ZERO; n * (n + 1) / 2],
        }
    }
}

additive!(NewtonSums { loss, gradient, hessian });

impl LogisticModel {
    /// Fits the model with this penalty on the summed loss, 0 or above.
    ///
    /// # Errors
    /// No training rows, one class only, or data that do not determine the coefficients (only with
    /// a penalty of 0).
    pub(crate) fn fit(
        penalty: f64,
        inputs: &TrainerInputs,
        rows: &TrainingRows<'_>,
    ) -> Result<LogisticModel> {
        let n = rows.check_both_classes()?;
        // Weights and penalty are divided by the same power of two: that keeps the minimum, and
        // sums stay in range in every unit of the weights.
        let largest = rows.largest_weight()?;
        let scale = if largest == 1.0 { 1.0 } else { scale_above(largest) };
        let l2 = penalty / scale;
        let encoder = FeatureEncoder::fit(&inputs.features, &inputs.omit, rows)?;
        let width = encoder.width();
        let mut model = LogisticModel { encoder, intercept: 0.0, coefficients: vec![0.0; width] };
        let mut loss_before = f64::INFINITY;
        let mut step = vec![0.0; width + 1];
        let mut halvings = 0;
        let mut people = n as f64;
        for pass in 0..MAX_STEPS {
            let mut sums = NewtonSums::new(width + 1);
            rows.fold(|group| sum_group(&model, group, scale), |part| sums.absorb(&part))?;
            if pass == 0 && scale != 1.0 {
                // Where all coefficients are 0 the loss is ln 2 per unit of weight.
                people = sums.loss.to_f64() / std::f64::consts::LN_2;
            }
            let loss = sums.loss.to_f64()
                + 0.5 * l2 * model.coefficients.iter().map(|w| w * w).sum::<f64>();
            if loss > loss_before * (1.0 + 1e-12) && halvings < 40 {
                step.iter_mut().for_each(|s| *s *= 0.5);
                model.take_step(&step, -1.0);
                halvings += 1;
                continue;
            }
            halvings = 0;
            loss_before = loss;
            let mut gradient: Vec<f64> = sums.gradient.iter().map(|g| g.to_f64()).collect();
            let mut hessian = SymmetricMatrix {
                n: width + 1,
                lower: sums.hessian.iter().map(|h| h.to_f64()).collect(),
            };
            for (k, w) in model.coefficients.iter().enumerate() {
                gradient[k] += l2 * w;
                hessian.lower[SymmetricMatrix::at(k, k)] += l2;
            }
            step = hessian.solve(&gradient).ok_or_else(|| {
                Error::from(
                    Fault::new(
                        "undetermined-model",
                        "the training rows do not determine the \
                         coefficients: some columns repeat others",
                    )
                    .hint("set `l2` above 0, or list the repeating columns under `omit`"),
                )
            })?;
            let decrease: f64 = 0.5 * gradient.iter().zip(&step).map(|(g, s)| g * s).sum::<f64>();
            if penalty == 0.0 && loss < 1e-6 * people {
                break;
            }
            // The last step is taken too: it squares the remaining error.
            model.take_step(&step, 1.0);
            if decrease <= 1e-14 * (people / n as f64 + loss) {
                return Ok(model);
            }
        }
        Fault::new(
            "no-convergence",
            format!("logistic regression did not converge in {MAX_STEPS} steps"),
        )
        .fail(
            "the classes can be separated exactly, so without a penalty the coefficients \
             grow without limit: set `l2` above 0",
        )
    }

    /// Moves the coefficients by `-sign` times the step.
    fn take_step(&mut self, step: &[f64], sign: f64) {
        for (w, s) in self.coefficients.iter_mut().zip(step) {
            *w -= sign * s;
        }
        self.intercept -= sign * step[step.len() - 1];
    }
}

fn sum_group(model: &LogisticModel, group: &TrainingBatch, scale: f64) -> NewtonSums {
    let n = model.coefficients.len() + 1;
    let mut sums = NewtonSums::new(n);
    let mut gradient = vec![0.0; n];
    let mut hessian = vec![0.0; n * (n + 1) / 2];
    let mut entries = Vec::new();
    for block in &group.blocks {
        let mut loss = 0.0;
        for i in block.clone() {
            model.encoder.encode(&group.rows, i, &mut entries);
            let margin = model.margin(&entries);
            let p = sigmoid(margin);
            let y = if group.labels[i] { 1.0 } else { 0.0 };
            let people = group.weight(i) / scale;
            // ln(1 + exp(-|m|)), plus |m| where the row is on the wrong side.
            let signed = if group.labels[i] { margin } else { -margin };
            loss += people * (libm::log1p(libm::exp(-signed.abs())) + (-signed).max(0.0));
            entries.push((n - 1, 1.0));
            let (slope, weight) = (people * (p - y), people * (p * (1.0 - p)));
            for (k, &(column, value)) in entries.iter().enumerate() {
                gradient[column] += slope * value;
                let weighted = weight * value;
                for &(other, other_value) in &entries[..=k] {
                    let (row, col) =
                        if column >= other { (column, other) } else { (other, column) };
                    hessian[SymmetricMatrix::at(row, col)] += weighted * other_value;
                }
            }
        }
        sums.loss.add_wide(loss);
        drain_block(&mut gradient, &mut sums.gradient);
        drain_block(&mut hessian, &mut sums.hessian);
    }
    sums
}

/// Moves the sums of a block into fixed point and clears them.
fn drain_block(block: &mut [f64], whole: &mut [FixedSum]) {
    for (part, sum) in block.iter_mut().zip(whole) {
        if *part != 0.0 {
            sum.add_wide(*part);
            *part = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Feature, FeatureColumn, FeatureKind};
    use crate::tests::Says;

    fn fit(names: &[&str], penalty: f64, rows: &TrainingRows<'_>) -> Result<LogisticModel> {
        let features = names.iter().map(|name| Feature::of(name, FeatureKind::REAL, &[]));
        let inputs = TrainerInputs { features: features.collect(), omit: Vec::new(), seed: 0 };
        LogisticModel::fit(penalty, &inputs, rows)
    }

    /// A row that is not moved must keep its score exactly: that score may be its own threshold.
    #[test]
    fn encoded_rows_score_as_rows_do() {
        let columns = |k: u32| {
            FeatureColumn::Number((0..90).map(|i| f64::from((i * k) % 23) / 7.0).collect())
        };
        let rows = FeatureRows::of(vec![columns(5), columns(11), columns(17)]);
        let labels: Vec<bool> = (0..90).map(|i| (i * 7) % 17 + i % 3 > 9).collect();
        let training = TrainingRows::in_memory(rows.clone(), labels);
        let model = fit(&["x", "y", "z"], 0.5, &training).expect("fits");
        let (mut scores, mut entries) = (Vec::new(), Vec::new());
        model.score(&rows, &mut scores).unwrap();
        for (i, score) in scores.iter().enumerate() {
            let mut encoded = vec![0.0; model.encoder.width()];
            model.encoder.encode(&rows, i, &mut entries);
            entries.iter().for_each(|&(column, x)| encoded[column] = x);
            assert_eq!(model.score_encoded(&encoded).to_bits(), score.to_bits(), "row {i}");
        }
    }

    /// The gradient of the weighted loss is zero, of people without weights too, and the unit of
    /// the weights changes nothing where the penalty has the same unit.
    #[test]
    fn a_fit_is_where_the_gradient_is_zero() {
        let x: Vec<f64> = (0..200).map(|i| f64::from(i % 17) - 0.3 * f64::from(i % 5)).collect();
        let labels: Vec<bool> = (0..200).map(|i| (i * 7) % 17 + i % 3 > 9).collect();
        let weights: Vec<f64> = (0..200).map(|i| f64::from(i % 4) * 1.5).collect();
        let rows = FeatureRows::of(vec![FeatureColumn::Number(x)]);
        let has_no_gradient = |model: &LogisticModel, weights: &[f64]| {
            let (mut scores, mut entries) = (Vec::new(), Vec::new());
            model.score(&rows, &mut scores).unwrap();
            let (mut sum, mut slope) = (0.0, 0.5 * model.coefficients[0]);
            for (i, (score, w)) in scores.iter().zip(weights).enumerate() {
                let residual = w * (score - f64::from(u8::from(labels[i])));
                model.encoder.encode(&rows, i, &mut entries);
                sum += residual;
                slope += residual * entries[0].1;
            }
            assert!(sum.abs() < 1e-9, "the intercept is free");
            assert!(slope.abs() < 1e-9, "{slope}");
        };
        let training = TrainingRows::in_memory(rows.clone(), labels.clone());
        let model = fit(&["x"], 0.5, &training).expect("fits");
        has_no_gradient(&model, &[1.0; 200]);
        let back = LogisticModel::from_json(&model.to_json().to_string()).expect("reads back");
        assert_eq!(back, model);
        let fitted = |unit: f64| {
            let weights = weights.iter().map(|w| w * unit).collect();
            let training = TrainingRows::weighted(rows.clone(), labels.clone(), weights);
            fit(&["x"], 0.5 * unit, &training).expect("fits")
        };
        let model = fitted(1.0);
        has_no_gradient(&model, &weights);
        for unit in [2.0_f64.powi(-900), 2.0_f64.powi(900)] {
            let other = fitted(unit);
            assert_eq!(
                (other.intercept, &other.coefficients),
                (model.intercept, &model.coefficients),
                "{unit}"
            );
        }
        let no_weights = labels.iter().map(|&y| f64::from(u8::from(y))).collect();
        let one = fit(&["x"], 0.5, &TrainingRows::weighted(rows, labels, no_weights))
            .expect_err("nobody is negative");
        one.to_string().says(&["same label"]);
    }

    #[test]
    fn faults_of_the_data_are_said() {
        let rows = FeatureRows::of(vec![FeatureColumn::Number(vec![1.0, 2.0, 3.0, 4.0])]);
        let one = fit(&["x"], 1.0, &TrainingRows::in_memory(rows.clone(), vec![true; 4]))
            .expect_err("one class");
        one.to_string().says(&["same label"]);
        let split =
            fit(&["x"], 0.0, &TrainingRows::in_memory(rows, vec![false, false, true, true]))
                .expect_err("separable");
        split.to_string().says(&["l2"]);
    }
}
