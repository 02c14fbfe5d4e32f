//! How well the knowledge of a scenario fits the training rows, compared with another scenario of
//! its set.
//!
//! Choice: bootstraps of a set draw the same rows in every scenario, so the scores of the best
//! graphs are compared bootstrap by bootstrap. Knowledge can only exclude graphs, so a difference
//! above 0 means that a search did not end at its best graph.

use crate::num::student::student_quantile;
use crate::param::Level;

/// Share of a score below which a difference is rounding.
const ROUNDING: f64 = 1e-9;

/// The scores of a scenario minus those of another, on the same bootstraps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnowledgeFit {
    /// The scenario that it is compared with.
    pub against: String,
    /// For each bootstrap the score of its best graphs minus that of the other scenario.
    differences: Vec<f64>,
    /// Bootstraps in which it is worse.
    pub worse: u64,
}

impl KnowledgeFit {
    /// The comparison of the scores of a scenario and of the other one, bootstrap by bootstrap; at
    /// least one.
    pub(crate) fn new(against: &str, own: &[f64], others: &[f64]) -> Self {
        let pairs = || own.iter().zip(others);
        let is_worse = |(own, other): &(&f64, &f64)| {
            *other - *own > ROUNDING * f64::max(own.abs(), other.abs())
        };
        KnowledgeFit {
            against: against.to_owned(),
            differences: pairs().map(|(own, other)| own - other).collect(),
            worse: pairs().filter(is_worse).count() as u64,
        }
    }

    /// Bootstraps.
    pub(crate) fn bootstraps(&self) -> u64 {
        self.differences.len() as u64
    }

    /// The mean difference.
    pub(crate) fn mean(&self) -> f64 {
        self.differences.iter().sum::<f64>() / self.differences.len() as f64
    }

    /// Student's interval of the mean over bootstraps; none for fewer than two, and none where they
    /// do not differ.
    pub(crate) fn interval(&self, level: Level) -> Option<(f64, f64)> {
        let (n, mean) = (self.differences.len() as f64, self.mean());
        let squares: f64 = self.differences.iter().map(|x| (x - mean) * (x - mean)).sum();
        let half = (n >= 2.0 && squares > 0.0).then(|| {
            let error = (squares / (n - 1.0) / n).sqrt();
            student_quantile(f64::midpoint(1.0, level.get()), n - 1.0) * error
        })?;
        Some((mean - half, mean + half))
    }

    /// The share of the bootstraps in which it is worse.
    pub(crate) fn share_worse(&self) -> f64 {
        self.worse as f64 / self.differences.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::KnowledgeFit;
    use crate::param::Level;

    /// Differences -1, -3, 0 and 0: the mean is -1, the variance 2, and t(0.975, 3) 3.1824.
    #[test]
    fn differences_are_paired_by_bootstrap() {
        let others = [-100.0, -200.0, -300.0, -400.0];
        let own = [-101.0, -203.0, -300.0, -400.0 - 1e-8];
        let fit = KnowledgeFit::new("none", &own, &others);
        assert_eq!((fit.worse, fit.bootstraps(), fit.share_worse()), (2, 4, 0.5));
        assert!((fit.mean() + 1.0).abs() < 1e-8);
        let (lo, hi) = fit.interval(Level::DEFAULT).unwrap();
        let half = 3.182_446_305_284_263 * (2.0_f64 / 4.0).sqrt();
        assert!((lo + 1.0 + half).abs() < 1e-7 && (hi + 1.0 - half).abs() < 1e-7, "{lo} {hi}");
        let same = KnowledgeFit::new("none", &others, &others);
        assert_eq!((same.worse, same.interval(Level::DEFAULT)), (0, None));
        let one = KnowledgeFit::new("none", &[-2.0], &[-1.0]);
        assert_eq!((one.mean(), one.interval(Level::DEFAULT)), (-1.0, None));
    }
}
