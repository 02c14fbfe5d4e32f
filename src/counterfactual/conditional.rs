//! Distributions of each variable by group and class, learnt from the reference.
//!
//! [`ReferenceCounts`] is the accumulator: reference rows are added batch by batch, merging in any
//! order gives the same state, and artifacts store it. [`ReferenceStrata`] is built from the counts
//! and answers queries about a stratum. Strata, for a group g: one for each class y in the
//! reference, and the pooled one, (g, *), of all rows of the group, including rows without a class.
//!
//! Choice: where the strata of the row's class are too small on either side, a variable uses the
//! strata without the class on both sides; where these are too small too, it keeps its value. Never
//! one side with the class and the other without: the difference between the classes would enter
//! the counterfactual.
//! Memory: per stratum at most 65,536 cells per number ([`crate::num::ecdf`]) and 262,144
//! combinations of levels ([`crate::counterfactual::joint`]); one pass over the reference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counterfactual::joint::{JointCounts, JointTable, LevelCounts};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::MISSING_GROUP;
use crate::exec::accumulator::{Accumulator, map_as_list};
use crate::num::additive::{Additive, absorb_map, additive};
use crate::num::ecdf::{Ecdf, ValueTally};

/// Counts over the rows of one group and class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StratumCounts {
    /// Number of rows.
    pub rows: u64,
    /// The values of each continuous or ordinal variable.
    pub values: Vec<ValueTally>,
    /// The number of rows of each level, for each categorical variable.
    pub levels: Vec<Vec<u64>>,
    /// The number of rows of each combination of levels.
    pub joint: JointCounts,
}

/// Group (none: missing or not declared) and class (none: missing) of a stratum.
pub(crate) type StratumKey = (Option<u16>, Option<u32>);

/// The number of groups and classes, missing ones included, that have a place in a small table.
const SMALL: usize = 64;

/// Places of a small table of groups and classes.
pub(super) const SMALL_KEYS: usize = SMALL * SMALL;

/// The place of a group and class in a small table; `None` for high ones.
#[inline]
pub(super) fn small_key(key: StratumKey) -> Option<usize> {
    let group = key.0.map_or(0, |group| usize::from(group) + 1);
    let class = key.1.map_or(0, |class| class as usize + 1);
    (group < SMALL && class < SMALL).then_some(group * SMALL + class)
}

/// Counts of the reference by group and class, mergeable in any order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReferenceCounts(#[serde(with = "map_as_list")] pub BTreeMap<StratumKey, StratumCounts>);

impl StratumCounts {
    /// No rows yet.
    pub(crate) fn new(variables: &[StrategyVariable]) -> Self {
        let levels = variables
            .iter()
            .filter_map(StrategyVariable::levels)
            .map(|levels| vec![0; levels.n as usize])
            .collect();
        let n_values = variables.iter().filter(|v| v.levels().is_none()).count();
        StratumCounts {
            rows: 0,
            values: vec![ValueTally::default(); n_values],
            levels,
            joint: JointCounts::default(),
        }
    }
}

additive!(StratumCounts { rows, values, levels, joint });

impl ReferenceCounts {
    /// The merged counts of all strata whose key is chosen; `None` where no stratum is.
    pub fn merged_where(&self, chosen: impl Fn(StratumKey) -> bool) -> Option<StratumCounts> {
        let mut strata = self.0.iter().filter(|(key, _)| chosen(**key)).map(|(_, stratum)| stratum);
        let mut pooled = strata.next()?.clone();
        strata.for_each(|stratum| pooled.absorb(stratum));
        Some(pooled)
    }

    /// Whether every stratum is counted exactly.
    ///
    /// That is: no number has more distinct values, and no stratum more combinations, than are
    /// kept.
    pub fn is_exact(&self) -> bool {
        self.0.values().all(|s| s.joint.is_exact() && s.values.iter().all(ValueTally::is_exact))
    }
}

impl Accumulator for ReferenceCounts {
    fn merge(&mut self, other: Self) {
        absorb_map(&mut self.0, other.0);
    }
}

/// Which strata a strategy conditions on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conditioning {
    /// Strata by group and class; rows without a class belong to none of them.
    Class,
    /// Strata by group only.
    Nothing,
}

/// A class as a position among the strata of a group. Where the strategy does not condition on a
/// class, every row has that of the pooled stratum, the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StratumClass {
    /// The stratum at this position.
    Seen(usize),
    /// A class that the reference lacks.
    Unseen,
}

/// The strata used for a variable, a pair of groups and a class: the same on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedStratum {
    /// Position of the stratum.
    pub slot: usize,
    /// Whether it is the pooled stratum although the strategy conditions on the class.
    pub fallback: bool,
}

/// One stratum in the form that is queried.
#[derive(Debug, Clone, PartialEq)]
pub struct StratumTable {
    /// Number of rows.
    pub rows: u64,
    /// The distribution of each continuous or ordinal variable.
    pub values: Vec<Ecdf>,
    /// The number of rows of each level, for each categorical variable.
    pub levels: Vec<LevelCounts>,
    /// The number of rows of each combination of levels.
    pub joint: JointTable,
}

/// The strata of a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceStrata {
    condition: Conditioning,
    classes: Vec<u32>,
    /// The classes of each group, then its pooled stratum.
    tables: Vec<Vec<StratumTable>>,
}

impl StratumTable {
    fn from_counts(stratum: Option<StratumCounts>, variables: &[StrategyVariable]) -> Self {
        let stratum = stratum.unwrap_or_else(|| StratumCounts::new(variables));
        StratumTable {
            rows: stratum.rows,
            values: stratum.values.iter().map(ValueTally::ecdf).collect(),
            joint: stratum.joint.finish(),
            levels: stratum.levels.iter().map(|counts| LevelCounts::from_counts(counts)).collect(),
        }
    }
}

impl ReferenceStrata {
    /// The strata of these counts for the first `n_groups` groups.
    pub fn new(
        counts: &ReferenceCounts,
        variables: &[StrategyVariable],
        n_groups: usize,
        condition: Conditioning,
    ) -> Self {
        let mut classes: Vec<u32> = counts.0.keys().filter_map(|key| key.1).collect();
        classes.sort_unstable();
        classes.dedup();
        if condition == Conditioning::Nothing {
            classes.clear();
        }
        let of_group = |g: usize| {
            let group = u16::try_from(g).ok().filter(|&group| group != MISSING_GROUP);
            let table = |class: u32| {
                StratumTable::from_counts(counts.0.get(&(group, Some(class))).cloned(), variables)
            };
            let counted = |key: StratumKey| key.0 == group && group.is_some();
            let mut tables: Vec<StratumTable> = classes.iter().map(|&class| table(class)).collect();
            tables.push(StratumTable::from_counts(counts.merged_where(counted), variables));
            tables
        };
        let tables = (0..n_groups).map(of_group).collect();
        ReferenceStrata { condition, classes, tables }
    }

    /// The class of a row; `None` where the strategy conditions on the class and the row has none.
    pub fn class(&self, class: Option<u32>) -> Option<StratumClass> {
        match self.condition {
            Conditioning::Nothing => Some(StratumClass::Seen(self.pooled_slot())),
            Conditioning::Class => class.map(|code| {
                self.classes.binary_search(&code).map_or(StratumClass::Unseen, StratumClass::Seen)
            }),
        }
    }

    /// Position of the pooled stratum: the number of classes with a separate one.
    pub fn pooled_slot(&self) -> usize {
        self.classes.len()
    }

    /// Number of groups.
    pub fn n_groups(&self) -> usize {
        self.tables.len()
    }

    /// A stratum.
    pub fn table(&self, group: usize, slot: usize) -> &StratumTable {
        &self.tables[group][slot]
    }

    /// The strata to use, where `size` counts the non-missing values of the variable in a stratum;
    /// `None` where even the pooled ones are too small on a side, so that the value is kept.
    pub fn choose(
        &self,
        own: usize,
        to: usize,
        class: StratumClass,
        min_stratum: u64,
        size: impl Fn(&StratumTable) -> u64,
    ) -> Option<UsedStratum> {
        let serves = |slot: usize| {
            [own, to].iter().all(|&g| size(self.table(g, slot)) >= min_stratum.max(1))
        };
        match (class, self.pooled_slot()) {
            (StratumClass::Seen(slot), _) if serves(slot) => {
                Some(UsedStratum { slot, fallback: false })
            }
            (_, slot) => serves(slot).then_some(UsedStratum { slot, fallback: true }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Conditioning, ReferenceCounts, ReferenceStrata, StratumClass, UsedStratum};
    use crate::counterfactual::SampleBatch;
    use crate::counterfactual::counting::counts_of;
    use crate::counterfactual::variable::{CategoryLevels, StrategyVariable, VariableScale};
    use crate::data::{FeatureColumn, FeatureRows, MISSING, MISSING_GROUP};
    use crate::exec::accumulator::Accumulator;
    use crate::exec::tests::state_laws::SampleState;
    use crate::num::seed::h;

    fn variables() -> Vec<StrategyVariable> {
        let levels = CategoryLevels { n: 2, ..CategoryLevels::default() };
        let variable = |name: &str, column: usize, scale| StrategyVariable {
            name: name.into(),
            columns: vec![column],
            scale,
        };
        vec![
            variable("x", 0, VariableScale::Continuous { integer: false }),
            variable("c", 1, VariableScale::Categorical(levels)),
        ]
    }

    fn rows() -> (FeatureRows, Vec<u16>, Vec<Option<u32>>) {
        let x = vec![1.0, 2.0, f64::NAN, 4.0, 5.0, 6.0, 7.0];
        let c = vec![0, 1, 1, MISSING, 0, 0, 1];
        let groups = vec![0, 0, 0, 1, 1, MISSING_GROUP, 1];
        let classes = vec![Some(7), Some(7), Some(9), Some(7), Some(9), Some(7), None];
        (FeatureRows::of(vec![FeatureColumn::Number(x), FeatureColumn::Code(c)]), groups, classes)
    }

    impl SampleState for ReferenceCounts {
        fn sample(_: u64) -> Self {
            ReferenceCounts::default()
        }

        fn add_sample(&mut self, row: u64) {
            let x = (h(1, row, 0) % 40) as f64 / 8.0;
            let c = (h(1, row, 1) % 3) as u32;
            let columns = vec![
                FeatureColumn::Number(vec![if x < 0.3 { f64::NAN } else { x }]),
                FeatureColumn::Code(vec![if c == 2 { MISSING } else { c }]),
            ];
            self.merge(counts_of(
                &variables(),
                &SampleBatch {
                    keys: &[],
                    rows: &FeatureRows::of(columns),
                    groups: &[[0, 1, MISSING_GROUP][(h(1, row, 2) % 3) as usize]],
                    classes: &[[None, Some(7), Some(9)][(h(1, row, 3) % 3) as usize]],
                },
            ));
        }
    }

    #[test]
    fn strata_by_class_and_pooled() {
        let (rows, groups, classes) = rows();
        let counts = counts_of(
            &variables(),
            &SampleBatch { keys: &[], rows: &rows, groups: &groups, classes: &classes },
        );
        let strata = ReferenceStrata::new(&counts, &variables(), 2, Conditioning::Class);
        assert_eq!(strata.pooled_slot(), 2);
        let table_of = |g, slot| {
            let table = strata.table(g, slot);
            (table.rows, table.values[0].n_rows(), table.levels[0].levels.clone())
        };
        assert_eq!(table_of(0, 0), (2, 2, vec![(0, 1), (1, 1)]));
        assert_eq!(table_of(0, 1), (1, 0, vec![(1, 1)]));
        assert_eq!(table_of(1, 2), (3, 3, vec![(0, 1), (1, 1)]));
        assert_eq!(
            [strata.class(Some(9)), strata.class(Some(8)), strata.class(None)],
            [Some(StratumClass::Seen(1)), Some(StratumClass::Unseen), None]
        );
        let all = ReferenceStrata::new(&counts, &variables(), 2, Conditioning::Nothing);
        assert_eq!(
            (all.class(None), all.pooled_slot(), all.table(1, 0).rows),
            (Some(StratumClass::Seen(0)), 0, 3)
        );

        let choose = |class, min| strata.choose(0, 1, class, min, |table| table.values[0].n_rows());
        assert_eq!(
            choose(StratumClass::Seen(0), 1),
            Some(UsedStratum { slot: 0, fallback: false })
        );
        assert_eq!(choose(StratumClass::Seen(0), 2), Some(UsedStratum { slot: 2, fallback: true }));
        assert_eq!(choose(StratumClass::Unseen, 0), Some(UsedStratum { slot: 2, fallback: true }));
        assert_eq!(choose(StratumClass::Seen(1), 3), None);
    }

    #[test]
    fn any_partition_gives_the_same_counts_and_they_survive_being_written() {
        let (rows, groups, classes) = rows();
        let counted = |positions: &[usize]| {
            let pick = |i: &usize| (groups[*i], classes[*i]);
            let (groups, classes): (Vec<u16>, Vec<Option<u32>>) =
                positions.iter().map(pick).unzip();
            counts_of(
                &variables(),
                &SampleBatch {
                    keys: &[],
                    rows: &rows.take(positions),
                    groups: &groups,
                    classes: &classes,
                },
            )
        };
        let whole = counted(&[0, 1, 2, 3, 4, 5, 6]);
        let mut parts = counted(&[6, 3]);
        parts.merge(counted(&[5, 0, 2]));
        parts.merge(counted(&[]));
        parts.merge(counted(&[4, 1]));
        assert_eq!(parts, whole);
        assert!(whole.is_exact());
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<ReferenceCounts>(&text).unwrap(), whole);
    }
}
