//! Computes the values of quality from its accumulator.

use std::collections::BTreeMap;

use crate::counterfactual::conditional::{StratumClass, StratumTable};
use crate::counterfactual::joint::{LevelCounts, share_gaps};
use crate::counterfactual::quality::sums::{PairSums, QualitySums, VariableSums, change_unit};
use crate::counterfactual::quality::{CounterfactualQuality, QualityReference, VariableQuality};
use crate::counterfactual::space::SpaceAxis;
use crate::num::additive::Additive;
use crate::num::ecdf::{ValueTally, distances};

/// A sum per counterfactual; `None` where there is none.
fn mean_per(sum: f64, n: u64) -> Option<f64> {
    (n > 0).then(|| sum / n as f64)
}

fn quantiles(tally: &ValueTally) -> Option<[f64; 3]> {
    let ecdf = tally.ecdf();
    Some([ecdf.quantile(0.05)?, ecdf.quantile(0.5)?, ecdf.quantile(0.95)?])
}

/// Half the sum of absolute differences of the shares of levels.
///
/// `None` where either side has no values.
fn total_variation(a: &[u64], b: &LevelCounts) -> Option<f64> {
    share_gaps(&LevelCounts::from_counts(a), b).map(|gaps| 0.5 * gaps.sum::<f64>())
}

/// A mean over classes, weighted by counterfactuals.
#[derive(Default)]
struct WeightedMean {
    sum: f64,
    n: u64,
}

impl WeightedMean {
    fn add(&mut self, value: Option<f64>, n: u64) {
        if let Some(value) = value {
            self.sum += value * n as f64;
            self.n += n;
        }
    }

    fn mean(&self) -> Option<f64> {
        mean_per(self.sum, self.n)
    }
}

impl QualityReference {
    /// The reference rows of a group and class; `None` where the class has no strata.
    pub(super) fn table(&self, group: usize, class: StratumClass) -> Option<&StratumTable> {
        match class {
            StratumClass::Pooled => Some(self.strata.table(group, self.strata.pooled_slot())),
            StratumClass::Seen(slot) => Some(self.strata.table(group, slot)),
            StratumClass::Unseen => None,
        }
    }

    /// The quality for each ordered pair of own and target group, and in total.
    pub(crate) fn quality(
        &self,
        sums: &QualitySums,
    ) -> (BTreeMap<(usize, usize), CounterfactualQuality>, CounterfactualQuality) {
        let mut all = PairSums::default();
        sums.pairs.values().for_each(|pair| all.absorb(pair));
        all.classes.clear();
        let of_pair = |(&(own, to), pair): (&(usize, usize), &PairSums)| {
            let variables = (0..self.variables.len()).map(|v| self.variable(v, to, pair)).collect();
            let plausibility_real = sums.reference_plausibility.get(&to).and_then(quantiles);
            ((own, to), CounterfactualQuality { variables, plausibility_real, ..overall(pair) })
        };
        (sums.pairs.iter().map(of_pair).collect(), overall(&all))
    }

    fn variable(&self, v: usize, to: usize, pair: &PairSums) -> VariableQuality {
        let (variable, axis) = (&self.variables[v], &self.space.0[v]);
        let position = self.position(v);
        let sd = match axis {
            SpaceAxis::Number(column) if column.sd > 0.0 => Some(column.sd),
            _ => None,
        };
        let (mut n, mut n_changed, mut n_outside, mut n_target) = (0, 0, 0, 0);
        let (mut change, mut size) = (0.0, 0.0);
        let [mut dist_before, mut dist_after, mut w1_before, mut w1_after] =
            [(); 4].map(|()| WeightedMean::default());
        for (&class, seen) in &pair.classes {
            let table = self.table(to, class);
            match &seen[v] {
                VariableSums::Number(sums) => {
                    n += sums.n;
                    n_changed += sums.n_changed;
                    change += sums.change.to_f64();
                    size += sums.size.to_f64();
                    let Some(target) =
                        table.map(|t| &t.values[position]).filter(|t| t.n_rows() > 0)
                    else {
                        continue;
                    };
                    n_target += sums.n;
                    n_outside += sums.n_outside;
                    let was = distances(&sums.before.ecdf(), target);
                    let is = distances(&sums.after.ecdf(), target);
                    dist_before.add(was.map(|d| d.0), sums.n);
                    dist_after.add(is.map(|d| d.0), sums.n);
                    w1_before.add(was.and_then(|d| Some(d.1 / sd?)), sums.n);
                    w1_after.add(is.and_then(|d| Some(d.1 / sd?)), sums.n);
                }
                VariableSums::Levels(sums) => {
                    n += sums.n;
                    n_changed += sums.n_changed;
                    let Some(target) = table.map(|t| &t.levels[position]).filter(|t| t.n > 0)
                    else {
                        continue;
                    };
                    n_target += sums.n;
                    let outside = (0..).zip(&sums.after).filter(|(l, _)| target.count(*l) == 0);
                    n_outside += outside.map(|(_, n)| n).sum::<u64>();
                    dist_before.add(total_variation(&sums.before, target), sums.n);
                    dist_after.add(total_variation(&sums.after, target), sums.n);
                }
            }
        }
        let is_number = variable.levels().is_none();
        VariableQuality {
            name: variable.name.clone(),
            is_number,
            varies: sd.is_some(),
            n,
            n_compared: n_target,
            share_changed: mean_per(n_changed as f64, n),
            mean_change: mean_per(change * change_unit(axis), n).filter(|_| is_number),
            mean_abs_change_sd: mean_per(size, n).filter(|_| sd.is_some()),
            dist_before: dist_before.mean(),
            dist_after: dist_after.mean(),
            w1_before: w1_before.mean(),
            w1_after: w1_after.mean(),
            out_of_range: mean_per(n_outside as f64, n_target),
        }
    }
}

fn overall(pair: &PairSums) -> CounterfactualQuality {
    let of_valid = |sum: u64| mean_per(sum as f64, pair.n_valid);
    CounterfactualQuality {
        n_cf: pair.n_cf,
        n_pairs: pair.n_pairs,
        n_pairs_valid: pair.n_pairs_valid,
        share_discarded: mean_per((pair.n_cf - pair.n_valid) as f64, pair.n_cf),
        cos_median: pair.cosines.ecdf().quantile(0.5),
        cos_mean: mean_per(pair.cosine.to_f64(), pair.cosines.n()),
        l1_mean: mean_per(pair.l1.to_f64(), pair.n_valid),
        l2_mean: mean_per(pair.l2.to_f64(), pair.n_valid),
        changed_mean: of_valid(pair.n_changed),
        unchanged_share: of_valid(pair.n_unchanged),
        clamped_mean: of_valid(pair.n_clamped),
        fallback_mean: of_valid(pair.n_fallback),
        kept_mean: of_valid(pair.n_kept),
        plausibility: quantiles(&pair.plausibility),
        plausibility_real: None,
        variables: Vec::new(),
    }
}
