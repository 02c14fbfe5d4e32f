//! Computes the values of quality from its accumulator.

use std::collections::BTreeMap;

use crate::counterfactual::conditional::{StratumClass, StratumTable};
use crate::counterfactual::joint::{LevelCounts, share_gaps};
use crate::counterfactual::map_flip::MapFlipRules;
use crate::counterfactual::quality::sums::{PairSums, QualitySums, VariableSums, change_unit};
use crate::counterfactual::quality::{
    CounterfactualQuality, QualityFigures, QualityReference, VariableQuality,
};
use crate::counterfactual::space::SpaceAxis;
use crate::num::additive::Additive;
use crate::num::ecdf::{ValueTally, distances};

/// A mean over counterfactuals; `None` if there are none.
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
            StratumClass::Seen(slot) => Some(self.strata.table(group, slot)),
            StratumClass::Unseen => None,
        }
    }

    /// The quality for each ordered pair of own and target group, and in total. Rows that are
    /// matched with each other (`matched`) take values that the reference need not know.
    pub(crate) fn quality(
        &self,
        sums: &QualitySums,
        rules: &MapFlipRules,
        matched: bool,
    ) -> (BTreeMap<(usize, usize), CounterfactualQuality>, CounterfactualQuality) {
        let mut all = PairSums::default();
        sums.pairs.values().for_each(|pair| all.absorb(pair));
        all.classes.clear();
        let mut all_unknown = vec![0; self.variables.len()];
        let of_pair = |(&(own, to), pair): (&(usize, usize), &PairSums)| {
            let variables = (0..self.variables.len()).map(|v| self.variable(v, to, pair)).collect();
            let real = sums.reference_plausibility.get(&to).and_then(quantiles);
            let mut may_change = rules.may_change(&self.strata, &self.variables, own, to);
            may_change.iter_mut().for_each(|may_change| *may_change &= !matched);
            let unknown = self.unknown(own, &may_change, pair);
            all_unknown.iter_mut().zip(&unknown).for_each(|(all, n)| *all += n);
            ((own, to), CounterfactualQuality { values: overall(pair, &unknown, real), variables })
        };
        let pairs = sums.pairs.iter().map(of_pair).collect();
        let values = overall(&all, &all_unknown, None);
        (pairs, CounterfactualQuality { values, variables: Vec::new() })
    }

    /// By variable that may change, the counterfactuals whose row has a level that no reference row
    /// of its group has, or a number beyond all of them: nothing says what becomes of it.
    fn unknown(&self, own: usize, may_change: &[bool], pair: &PairSums) -> Vec<u64> {
        let table = self.strata.table(own, self.strata.pooled_slot());
        let of_class = |(sums, at): (&VariableSums, usize)| match sums {
            VariableSums::Number(sums) => {
                let before = sums.before.ecdf();
                let within = |(least, most)| before.around(most).1 - before.around(least).0;
                let outside = before.total() - table.values[at].ends().map_or(0, within);
                sums.n * outside / before.total().max(1)
            }
            VariableSums::Levels(sums) => {
                let absent =
                    (0..).zip(&sums.before).filter(|(l, _)| table.levels[at].count(*l) == 0);
                absent.map(|(_, n)| n).sum()
            }
        };
        let of_variable = |(v, may_change): (usize, &bool)| {
            let classes = pair.classes.values().filter(|_| *may_change);
            classes.map(|of_variables| of_class((&of_variables[v], self.position(v)))).sum()
        };
        may_change.iter().enumerate().map(of_variable).collect()
    }

    fn variable(&self, v: usize, to: usize, pair: &PairSums) -> VariableQuality {
        let (variable, axis) = (&self.variables[v], &self.space.0[v]);
        let position = self.position(v);
        let sd = match axis {
            SpaceAxis::Number(column) if column.sd > 0.0 => Some(column.sd),
            _ => None,
        };
        let mut all = VariableTotals::default();
        for (&class, of_variable) in &pair.classes {
            let table = self.table(to, class);
            match &of_variable[v] {
                VariableSums::Number(sums) => {
                    all.n += sums.n;
                    all.n_changed += sums.n_changed;
                    all.change += sums.change.to_f64();
                    all.size += sums.size.to_f64();
                    let Some(target) =
                        table.map(|t| &t.values[position]).filter(|t| t.n_rows() > 0)
                    else {
                        continue;
                    };
                    all.n_compared += sums.n;
                    all.n_outside += sums.n_outside;
                    let was = distances(&sums.before.ecdf(), target);
                    let is = distances(&sums.after.ecdf(), target);
                    for (side, apart) in [was, is].into_iter().enumerate() {
                        all.distances[side].add(apart.map(|d| d.0), sums.n);
                        all.areas[side].add(apart.and_then(|d| Some(d.1 / sd?)), sums.n);
                    }
                }
                VariableSums::Levels(sums) => {
                    all.n += sums.n;
                    all.n_changed += sums.n_changed;
                    let Some(target) = table.map(|t| &t.levels[position]).filter(|t| t.n > 0)
                    else {
                        continue;
                    };
                    all.n_compared += sums.n;
                    let outside = (0..).zip(&sums.after).filter(|(l, _)| target.count(*l) == 0);
                    all.n_outside += outside.map(|(_, n)| n).sum::<u64>();
                    for (side, counts) in [&sums.before, &sums.after].into_iter().enumerate() {
                        all.distances[side].add(total_variation(counts, target), sums.n);
                    }
                }
            }
        }
        let (name, is_number) = (variable.name.clone(), variable.levels().is_none());
        let values = all.values(change_unit(axis), is_number, sd.is_some());
        VariableQuality { name, is_number, varies: sd.is_some(), values }
    }
}

/// The sums of one variable over the counterfactuals of all classes of a pair.
#[derive(Default)]
struct VariableTotals {
    n: u64,
    n_changed: u64,
    n_outside: u64,
    /// Counterfactuals whose class occurs in the target group; the others are left out of the
    /// distances and of the share out of range.
    n_compared: u64,
    change: f64,
    size: f64,
    /// Kolmogorov-Smirnov of numbers, total variation of levels: before and after.
    distances: [WeightedMean; 2],
    /// Wasserstein-1, in standard deviations of the reference, before and after.
    areas: [WeightedMean; 2],
}

impl VariableTotals {
    fn values(&self, unit: f64, is_number: bool, varies: bool) -> QualityFigures {
        let [[dist_before, dist_after], [w1_before, w1_after]] =
            [&self.distances, &self.areas].map(|sums| [sums[0].mean(), sums[1].mean()]);
        vec![
            ("n_values", Some(self.n as f64)),
            ("n_compared", Some(self.n_compared as f64)),
            ("share_changed", mean_per(self.n_changed as f64, self.n)),
            ("mean_change", mean_per(self.change * unit, self.n).filter(|_| is_number)),
            ("mean_abs_change_sd", mean_per(self.size, self.n).filter(|_| varies)),
            ("dist_before", dist_before),
            ("dist_after", dist_after),
            ("w1_before", w1_before),
            ("w1_after", w1_after),
            ("out_of_range", mean_per(self.n_outside as f64, self.n_compared)),
        ]
    }
}

fn overall(pair: &PairSums, unknown: &[u64], real: Option<[f64; 3]>) -> QualityFigures {
    let of_valid = |sum: u64| mean_per(sum as f64, pair.n_valid);
    let at = |quantiles: Option<[f64; 3]>, k: usize| quantiles.map(|quantiles| quantiles[k]);
    let made = quantiles(&pair.plausibility);
    vec![
        ("n_cf", Some(pair.n_cf as f64)),
        ("n_pairs", Some(pair.n_pairs as f64)),
        ("n_pairs_valid", Some(pair.n_pairs_valid as f64)),
        ("share_discarded", mean_per((pair.n_cf - pair.n_valid) as f64, pair.n_cf)),
        ("cos_median", pair.cosines.ecdf().quantile(0.5)),
        ("cos_mean", mean_per(pair.cosine.to_f64(), pair.cosines.n())),
        ("l1_mean", mean_per(pair.l1.to_f64(), pair.n_valid)),
        ("l2_mean", mean_per(pair.l2.to_f64(), pair.n_valid)),
        ("changed_mean", of_valid(pair.n_changed)),
        ("unchanged_share", of_valid(pair.n_unchanged)),
        ("clamped_mean", of_valid(pair.n_clamped)),
        ("fallback_mean", of_valid(pair.n_fallback)),
        ("kept_mean", of_valid(pair.n_kept)),
        ("unknown_share", of_valid(unknown.iter().copied().max().unwrap_or(0))),
        ("plausibility_05", at(made, 0)),
        ("plausibility_50", at(made, 1)),
        ("plausibility_95", at(made, 2)),
        ("plausibility_real_05", at(real, 0)),
        ("plausibility_real_50", at(real, 1)),
        ("plausibility_real_95", at(real, 2)),
    ]
}

/// The quality without counterfactuals, of all and of one variable.
#[cfg(test)]
impl CounterfactualQuality {
    pub(crate) fn of_nobody(is_number: bool, varies: bool) -> Self {
        let values = VariableTotals::default().values(1.0, is_number, varies);
        let variable = VariableQuality { name: "x".to_owned(), is_number, varies, values };
        let values = overall(&PairSums::default(), &[], None);
        CounterfactualQuality { values, variables: vec![variable] }
    }
}
