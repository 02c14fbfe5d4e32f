//! The accumulator of quality: sums over counterfactuals, batch by batch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counterfactual::conditional::StratumClass;
use crate::counterfactual::plausibility_filter::PlausibilityFilter;
use crate::counterfactual::quality::QualityReference;
use crate::counterfactual::space::SpaceAxis;
use crate::counterfactual::variable::StrategyVariable;
use crate::counterfactual::{GeneratedBatch, SampleBatch, differs};
use crate::exec::accumulator::{Accumulator, map_as_list};
use crate::num::additive::{Additive, absorb_map, additive};
use crate::num::ecdf::{Ecdf, ValueTally};
use crate::num::fixed::FixedSum;

/// Sums of one variable over the counterfactuals of a pair and class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum VariableSums {
    /// Continuous or ordinal: changes in standard deviations of the reference, values before and
    /// after.
    Number(ChangedNumbers),
    /// Categorical: counts by level.
    Levels(ChangedLevels),
}

/// Sums over the changes of a continuous or ordinal variable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ChangedNumbers {
    pub(super) n: u64,
    pub(super) n_changed: u64,
    pub(super) change: FixedSum,
    pub(super) size: FixedSum,
    pub(super) before: ValueTally,
    pub(super) after: ValueTally,
    pub(super) n_outside: u64,
}

/// Counts of the changes of a categorical variable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ChangedLevels {
    pub(super) n: u64,
    pub(super) n_changed: u64,
    pub(super) before: Vec<u64>,
    pub(super) after: Vec<u64>,
}

/// Sums over the counterfactuals of one ordered pair of groups.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PairSums {
    pub(super) n_cf: u64,
    pub(super) n_pairs: u64,
    pub(super) n_pairs_valid: u64,
    pub(super) n_valid: u64,
    pub(super) cosines: ValueTally,
    pub(super) cosine: FixedSum,
    pub(super) l1: FixedSum,
    pub(super) l2: FixedSum,
    pub(super) n_unchanged: u64,
    pub(super) n_changed: u64,
    pub(super) n_clamped: u64,
    pub(super) n_fallback: u64,
    pub(super) n_kept: u64,
    pub(super) plausibility: ValueTally,
    #[serde(with = "map_as_list")]
    pub(super) classes: BTreeMap<StratumClass, Vec<VariableSums>>,
}

/// The accumulator of quality, mergeable in any order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct QualitySums {
    #[serde(with = "map_as_list")]
    pub(super) pairs: BTreeMap<(usize, usize), PairSums>,
    /// The plausibility of the real rows of each target group.
    pub(super) reference_plausibility: BTreeMap<usize, ValueTally>,
}

impl VariableSums {
    fn new(variable: &StrategyVariable) -> Self {
        match variable.levels() {
            Some(levels) => {
                let none = vec![0; levels.n as usize];
                let (before, after) = (none.clone(), none);
                VariableSums::Levels(ChangedLevels { before, after, ..ChangedLevels::default() })
            }
            None => VariableSums::Number(ChangedNumbers::default()),
        }
    }
}

impl Additive for VariableSums {
    fn absorb(&mut self, other: &Self) {
        match (self, other) {
            (VariableSums::Number(all), VariableSums::Number(more)) => all.absorb(more),
            (VariableSums::Levels(all), VariableSums::Levels(more)) => all.absorb(more),
            // The same variable has the same kind everywhere.
            _ => {}
        }
    }
}

additive!(ChangedNumbers { n, n_changed, change, size, before, after, n_outside });
additive!(ChangedLevels { n, n_changed, before, after });
additive!(PairSums {
    n_cf,
    n_pairs,
    n_pairs_valid,
    n_valid,
    cosines,
    cosine,
    l1,
    l2,
    n_unchanged,
    n_changed,
    n_clamped,
    n_fallback,
    n_kept,
    plausibility,
    classes
});

impl Accumulator for QualitySums {
    fn merge(&mut self, other: Self) {
        absorb_map(&mut self.pairs, other.pairs);
        absorb_map(&mut self.reference_plausibility, other.reference_plausibility);
    }
}

/// The unit in which changes of a variable are summed.
pub(super) fn change_unit(axis: &SpaceAxis) -> f64 {
    match axis {
        SpaceAxis::Number(column) if column.sd > 0.0 => column.sd,
        _ => 1.0,
    }
}

/// The rows before and after, and the target distribution to compare them with.
struct VariableChange<'a> {
    variable: &'a StrategyVariable,
    axis: &'a SpaceAxis,
    samples: &'a SampleBatch<'a>,
    generated: &'a GeneratedBatch,
    /// Positions of the counterfactuals that count, all of one pair and class.
    positions: &'a [usize],
    target: Option<&'a Ecdf>,
}

impl VariableChange<'_> {
    fn sums(&self) -> VariableSums {
        let mut sums = VariableSums::new(self.variable);
        let (rows, made) = (self.samples.rows, &self.generated.rows);
        match &mut sums {
            VariableSums::Levels(sums) => {
                for &j in self.positions {
                    let old = self.variable.level(rows, self.generated.parent[j]);
                    let new = self.variable.level(made, j);
                    if let (Some(was), Some(is)) =
                        (sums.before.get_mut(old as usize), sums.after.get_mut(new as usize))
                    {
                        *was += 1;
                        *is += 1;
                        sums.n += 1;
                        sums.n_changed += u64::from(old != new);
                    }
                }
            }
            VariableSums::Number(sums) => {
                let unit = change_unit(self.axis);
                let ends = self.target.and_then(Ecdf::ends);
                let mut olds = Vec::with_capacity(self.positions.len());
                let mut news = Vec::with_capacity(self.positions.len());
                for &j in self.positions {
                    let old = self.variable.number(rows, self.generated.parent[j]);
                    let new = self.variable.number(made, j);
                    if old.is_nan() || new.is_nan() {
                        continue;
                    }
                    olds.push(old);
                    news.push(new);
                    let is_outside = ends.is_some_and(|(least, most)| new < least || new > most);
                    sums.n += 1;
                    sums.n_changed += u64::from(differs(old, new));
                    sums.change.add_wide((new - old) / unit);
                    sums.size.add_wide((new - old).abs() / unit);
                    sums.n_outside += u64::from(is_outside);
                }
                sums.before = ValueTally::from_values(olds);
                sums.after = ValueTally::from_values(news);
            }
        }
        sums
    }
}

impl QualityReference {
    /// The sums of a batch of counterfactuals in group `to`.
    pub(crate) fn counterfactual_sums(
        &self,
        samples: &SampleBatch<'_>,
        generated: &GeneratedBatch,
        to: usize,
    ) -> QualitySums {
        let mut sums = QualitySums::default();
        let mut members: BTreeMap<(usize, StratumClass), Vec<usize>> = BTreeMap::new();
        let mut cosines: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut plausibility: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let (mut z, mut w) = (Vec::new(), Vec::new());
        let mut last_valid = None;
        for (j, &parent) in generated.parent.iter().enumerate() {
            let Some(own) = samples.own_group(parent, to) else { continue };
            let pair = sums.pairs.entry((own, to)).or_default();
            pair.n_cf += 1;
            pair.n_pairs += u64::from(generated.cf_index[j] == 0);
            if !generated.valid[j] {
                continue;
            }
            pair.n_valid += 1;
            pair.n_pairs_valid += u64::from(last_valid != Some(parent));
            last_valid = Some(parent);
            let counters = &generated.counters[j];
            pair.n_changed += u64::from(counters.n_changed);
            pair.n_unchanged += u64::from(counters.n_changed == 0);
            pair.n_clamped += u64::from(counters.n_clamped);
            pair.n_fallback += u64::from(counters.n_fallback);
            pair.n_kept += u64::from(counters.n_kept);
            plausibility
                .entry(own)
                .or_default()
                .extend(generated.plausibility.as_ref().and_then(|p| p[j]));
            let class = self
                .strata
                .class(samples.classes.get(parent).copied().flatten())
                .unwrap_or(StratumClass::Unseen);
            members.entry((own, class)).or_default().push(j);

            self.space.vector(&self.variables, samples.rows, parent, &mut z);
            self.space.vector(&self.variables, &generated.rows, j, &mut w);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            let lengths = dot(&z, &z) * dot(&w, &w);
            if lengths > 0.0 && lengths.is_finite() {
                let cosine = dot(&z, &w) / lengths.sqrt();
                pair.cosine.add(cosine);
                cosines.entry(own).or_default().push(cosine);
            }
            w.iter_mut().zip(&z).for_each(|(after, before)| *after -= before);
            pair.l1.add_wide(w.iter().map(|x| x.abs()).sum());
            pair.l2.add_wide(dot(&w, &w).sqrt());
        }
        for (own, cosines) in cosines {
            sums.pairs.entry((own, to)).or_default().cosines = ValueTally::from_values(cosines);
        }
        for (own, distances) in plausibility {
            sums.pairs.entry((own, to)).or_default().plausibility =
                ValueTally::from_values(distances);
        }
        for ((own, class), chosen) in members {
            let mut numbers = 0..;
            let table = self.table(to, class);
            let of_variable = |(variable, axis): (&StrategyVariable, &SpaceAxis)| {
                let number = if variable.levels().is_none() { numbers.next() } else { None };
                let target = number.and_then(|j: usize| Some(&table?.values[j]));
                VariableChange { variable, axis, samples, generated, positions: &chosen, target }
                    .sums()
            };
            let all = self.variables.iter().zip(&self.space.0).map(of_variable).collect();
            sums.pairs.entry((own, to)).or_default().classes.insert(class, all);
        }
        sums
    }

    /// The sums of a batch of reference rows.
    ///
    /// Adds the plausibility of each row in the section of its own group and class.
    pub(crate) fn reference_sums(
        &self,
        filter: &PlausibilityFilter,
        reference: &SampleBatch<'_>,
    ) -> QualitySums {
        let key = |i: usize| {
            let (group, class) = reference.stratum_key(i);
            let class = if self.strata.pooled_slot() == 0 { None } else { class };
            group.map(|group| (usize::from(group), class))
        };
        let mut plausibility: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (i, distance) in
            filter.plausibility(&self.variables, reference.rows, key).into_iter().enumerate()
        {
            if let Some((group, _)) = key(i) {
                plausibility.entry(group).or_default().extend(distance);
            }
        }
        QualitySums {
            reference_plausibility: plausibility
                .into_iter()
                .map(|(group, distances)| (group, ValueTally::from_values(distances)))
                .collect(),
            ..QualitySums::default()
        }
    }
}

#[cfg(test)]
impl crate::exec::tests::state_laws::SampleState for QualitySums {
    fn sample(_: u64) -> Self {
        QualitySums::default()
    }

    /// A counterfactual in another group, with a number and a level.
    fn add_sample(&mut self, row: u64) {
        use crate::num::seed::{h, u01};
        let share = |place: u64| u01(h(5, row, place));
        let (from, to) = ((share(0) * 3.0) as usize, 3 + (share(1) * 3.0) as usize);
        let pair = self.pairs.entry((from, to)).or_default();
        let one = |yes: bool| u64::from(yes);
        pair.n_cf += 1;
        pair.n_pairs += one(share(2) < 0.5);
        pair.n_valid += one(share(3) < 0.8);
        pair.n_pairs_valid += one(share(3) < 0.4);
        pair.n_unchanged += one(share(4) < 0.1);
        pair.n_changed += 1;
        pair.n_clamped += one(share(5) < 0.1);
        pair.n_fallback += one(share(6) < 0.1);
        pair.n_kept += one(share(7) < 0.1);
        pair.cosines.merge(&ValueTally::from_values([share(8)]));
        pair.plausibility.merge(&ValueTally::from_values([3.0 * share(9)]));
        [&mut pair.cosine, &mut pair.l1, &mut pair.l2].iter_mut().for_each(|sum| sum.add(share(8)));
        let number = VariableSums::Number(ChangedNumbers {
            n: 1,
            n_changed: 1,
            change: FixedSum::from_f64(share(10)),
            size: FixedSum::from_f64(share(11)),
            before: ValueTally::from_values([share(12)]),
            after: ValueTally::from_values([share(13)]),
            n_outside: one(share(14) < 0.2),
        });
        let levels = |place: u64| {
            let mut counts = vec![0; 3];
            counts[(share(place) * 3.0) as usize] = 1;
            counts
        };
        let (before, after) = (levels(15), levels(16));
        let level = VariableSums::Levels(ChangedLevels { n: 1, n_changed: 1, before, after });
        let class = match (share(17) * 3.0) as usize {
            0 => StratumClass::Unseen,
            class => StratumClass::Seen(class),
        };
        let classes = BTreeMap::from([(class, vec![number, level])]);
        pair.absorb(&PairSums { classes, ..PairSums::default() });
        let tally = self.reference_plausibility.entry(to).or_default();
        tally.merge(&ValueTally::from_values([share(18)]));
    }
}
