//! The generator of greedy and plausible: maps and flips from the counts of a reference, then
//! checks.
//!
//! [`FittedStrategy`] is the fitted state that artifacts store; [`MapFlipGenerator`] is built from
//! it and generates. Numeric maps and flips are independent of each other, and every decision
//! depends only on the row and the fitted state.
//! Cost: a numeric value costs a look-up or two binary searches; the categorical part of a row a
//! look-up among the decisions for rows of the same group, class and levels. Memory: the counts,
//! and per thread 262,144 decisions and the contents of the pools of
//! [`crate::counterfactual::joint`].

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::counterfactual::combinations::CombinationIndex;
use crate::counterfactual::conditional::{
    Conditioning, ReferenceCounts, ReferenceStrata, SMALL_KEYS, StratumClass, UsedStratum,
    small_key,
};
use crate::counterfactual::domain_checks::DomainChecks;
use crate::counterfactual::flip::{FlipDecider, FlipPattern, FlipSettings};
use crate::counterfactual::joint::CombinationPools;
use crate::counterfactual::plausibility_filter::PlausibilityFilter;
use crate::counterfactual::quantile_map::{NumericMap, TabulatedMap};
use crate::counterfactual::relation::RelationSettings;
use crate::counterfactual::transport::distance::TransportDistance;
use crate::counterfactual::variable::{CategoryLevels, StrategyVariable};
use crate::counterfactual::{GeneratedBatch, Generator, SampleBatch, TargetGroup, differs};
use crate::data::FeatureColumn;
use crate::num::ecdf::Cdf;

/// Number of decisions that a thread keeps from batch to batch.
const MAX_DECISIONS: usize = 262_144;

/// How maps and flips decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapFlipRules {
    /// What forms strata in addition to the group.
    pub condition: Conditioning,
    /// The rule for ties of numbers.
    pub cdf: Cdf,
    /// Which variables may change by what the reference rows say.
    pub named: Vec<bool>,
    /// The variables that may change if they differ enough between the two groups; none: they may
    /// change in every pair of groups.
    pub relation: Option<RelationSettings>,
    /// The rules of flips; maps use their `min_stratum` too.
    pub flips: FlipSettings,
    /// The checks that make a counterfactual invalid.
    pub checks: DomainChecks,
}

/// A strategy that learnt from a reference; it can generate from any rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedStrategy {
    /// The variables, with the columns that each one changes.
    pub variables: Vec<StrategyVariable>,
    /// Number of declared groups of the attribute.
    pub n_groups: usize,
    /// The rules of maps and flips.
    pub rules: MapFlipRules,
    /// The counts of the reference.
    pub counts: ReferenceCounts,
    /// The centroids of the reference, where the strategy filters.
    pub filter: Option<PlausibilityFilter>,
    /// The distance over the variables that may change, where samples are matched by it.
    ///
    /// Column positions in it count only the columns of these variables.
    pub(crate) distance: Option<TransportDistance>,
}

impl MapFlipRules {
    /// Which variables may change from one group to another.
    pub(super) fn may_change(
        &self,
        strata: &ReferenceStrata,
        variables: &[StrategyVariable],
        own: usize,
        to: usize,
    ) -> Vec<bool> {
        let Some(relation) = &self.relation else { return self.named.clone() };
        let related = relation.related(strata, variables, own, to, self.flips.min_stratum);
        self.named.iter().zip(related).map(|(&named, related)| named && related).collect()
    }
}

impl FittedStrategy {
    /// The variables that may change.
    pub(super) fn moving(&self) -> Vec<&StrategyVariable> {
        let named = self.variables.iter().zip(&self.rules.named);
        named.filter(|(_, named)| **named).map(|(variable, _)| variable).collect()
    }

    /// Whether each declared group has a reference row.
    pub(super) fn groups_with_rows(&self) -> Vec<bool> {
        let counted = self.counts.0.iter().filter(|(_, stratum)| stratum.rows > 0);
        let known: Vec<u16> = counted.filter_map(|(key, _)| key.0).collect();
        (0..self.n_groups).map(|g| known.iter().any(|&group| usize::from(group) == g)).collect()
    }

    /// Marks counterfactuals that fail the filter or the checks as invalid.
    pub(super) fn judge(
        &self,
        samples: &SampleBatch<'_>,
        to: usize,
        generated: &mut GeneratedBatch,
    ) {
        if let Some(filter) = &self.filter {
            let is_pooled = self.rules.condition == Conditioning::Nothing;
            let section = |i: usize| (to, samples.stratum_key(i).1.filter(|_| !is_pooled));
            filter.apply(&self.variables, section, generated);
        }
        self.rules.checks.apply(&self.variables, samples.rows, generated);
        if let Some(filter) = &self.filter {
            filter.select(generated);
        }
    }
}

/// The caches of a thread.
#[derive(Debug)]
struct FlipMemory {
    pools: CombinationPools,
    /// Target group, own group and class, and levels; the number is the position in `patterns`.
    decisions: CombinationIndex,
    patterns: Vec<Vec<FlipPattern>>,
}

/// A row that gets counterfactuals.
#[derive(Debug, Clone, Copy)]
struct SampleCase {
    row: usize,
    own: usize,
    class: StratumClass,
    /// Number of the own group and class among all combinations of group and class.
    stratum: usize,
}

/// The step of one variable in the rows of one group and class.
#[derive(Debug, Clone, Copy)]
enum NumericStep<'a> {
    Copy,
    Keep,
    Map { map: NumericMap<'a>, tabulated: Option<&'a TabulatedMap>, fallback: bool },
}

/// Generates counterfactuals from a fitted state.
#[derive(Debug)]
pub struct MapFlipGenerator {
    fitted: FittedStrategy,
    strata: ReferenceStrata,
    /// Which variables may change, by own group and target group.
    eligible: Vec<Vec<Vec<bool>>>,
    /// Whether each group has a reference row: no row moves from or to a group without one.
    has_rows: Vec<bool>,
    /// By variable without levels, own group, target group, stratum.
    tabulated: Vec<Option<TabulatedMap>>,
    idle: Mutex<Vec<FlipMemory>>,
}

impl MapFlipGenerator {
    /// Prepares a fitted state for generation.
    pub fn new(fitted: FittedStrategy) -> Self {
        let strata = ReferenceStrata::new(
            &fitted.counts,
            &fitted.variables,
            fitted.n_groups,
            fitted.rules.condition,
        );
        let pair = |own, to| fitted.rules.may_change(&strata, &fitted.variables, own, to);
        let eligible = (0..fitted.n_groups)
            .map(|own| (0..fitted.n_groups).map(|to| pair(own, to)).collect())
            .collect();
        let mut mover = MapFlipGenerator {
            strata,
            eligible,
            has_rows: fitted.groups_with_rows(),
            tabulated: Vec::new(),
            idle: Mutex::default(),
            fitted,
        };
        mover.tabulated = mover.tabulate();
        mover
    }

    fn tabulate(&self) -> Vec<Option<TabulatedMap>> {
        let n_groups = self.fitted.n_groups;
        let mut tables = Vec::new();
        for (j, v) in self.numeric_variables() {
            for own in 0..n_groups {
                for to in 0..n_groups {
                    let used = own != to && self.eligible[own][to][v];
                    let table = |slot: usize| {
                        used.then(|| self.numeric_map((j, v), [own, to], slot))
                            .flatten()
                            .and_then(|map| map.tabulate())
                    };
                    tables.extend((0..=self.strata.pooled_slot()).map(table));
                }
            }
        }
        tables
    }

    /// The variables without levels: their number among these, and their position.
    fn numeric_variables(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.fitted.variables.len())
            .filter(|&v| self.fitted.variables[v].levels().is_none())
            .enumerate()
    }

    fn numeric_map(
        &self,
        (j, v): (usize, usize),
        [own, to]: [usize; 2],
        slot: usize,
    ) -> Option<NumericMap<'_>> {
        let side = |group: usize| &self.strata.table(group, slot).values[j];
        let map = NumericMap {
            from: side(own),
            to: side(to),
            scale: &self.fitted.variables[v].scale,
            cdf: self.fitted.rules.cdf,
        };
        (map.from.n_rows() > 0 && map.to.n_rows() > 0).then_some(map)
    }

    fn numeric_step(
        &self,
        (j, v): (usize, usize),
        [own, to]: [usize; 2],
        class: StratumClass,
    ) -> NumericStep<'_> {
        if own >= self.fitted.n_groups || !self.eligible[own][to][v] {
            return NumericStep::Copy;
        }
        let min_stratum = self.fitted.rules.flips.min_stratum;
        let Some(UsedStratum { slot, fallback }) =
            self.strata.choose(own, to, class, min_stratum, |table| table.values[j].n_rows())
        else {
            return NumericStep::Keep;
        };
        let n_groups = self.fitted.n_groups;
        let at = ((j * n_groups + own) * n_groups + to) * (self.strata.pooled_slot() + 1) + slot;
        match self.numeric_map((j, v), [own, to], slot) {
            Some(map) => NumericStep::Map {
                map,
                tabulated: self.tabulated.get(at).and_then(Option::as_ref),
                fallback,
            },
            None => NumericStep::Keep,
        }
    }

    /// The cases of a batch; a row with a missing class is not a case.
    fn cases(&self, samples: &SampleBatch<'_>, to: usize) -> Vec<SampleCase> {
        let mut cases = Vec::with_capacity(samples.rows.n);
        if !self.has_rows[to] {
            return cases;
        }
        // The class of each combination of group and class that has come already.
        let mut known_classes = vec![None; SMALL_KEYS];
        for row in 0..samples.rows.n {
            let known = |own: &usize| self.has_rows.get(*own) == Some(&true);
            let Some(own) = samples.own_group(row, to).filter(known) else { continue };
            let key = samples.stratum_key(row);
            let class = match small_key(key) {
                Some(at) => *known_classes[at].get_or_insert_with(|| self.strata.class(key.1)),
                None => self.strata.class(key.1),
            };
            let Some(class) = class else { continue };
            let code = match class {
                StratumClass::Unseen => self.strata.pooled_slot(),
                StratumClass::Seen(slot) => slot,
            };
            cases.push(SampleCase {
                row,
                own,
                class,
                stratum: own * (self.strata.pooled_slot() + 1) + code,
            });
        }
        cases
    }

    /// The position of each case's patterns in the cache.
    fn flip_patterns(
        &self,
        memory: &mut FlipMemory,
        samples: &SampleBatch<'_>,
        cases: &[SampleCase],
        to: usize,
    ) -> Vec<u32> {
        let categorical: Vec<(usize, &CategoryLevels)> = self
            .fitted
            .variables
            .iter()
            .enumerate()
            .filter_map(|(v, variable)| Some((v, variable.levels()?)))
            .collect();
        let levels: Vec<&CategoryLevels> = categorical.iter().map(|entry| entry.1).collect();
        let eligible: Vec<Vec<bool>> = self
            .eligible
            .iter()
            .map(|own| categorical.iter().map(|entry| own[to][entry.0]).collect())
            .collect();
        // If no variable may flip, the levels have no effect.
        let may: Vec<bool> = eligible.iter().map(|own| own.contains(&true)).collect();
        let digits = memory.decisions.digits(&self.fitted.variables, samples.rows);
        let of_cases = |(digits, levels): (Vec<u32>, &&CategoryLevels)| {
            let digit = |case: &SampleCase| if may[case.own] { digits[case.row] } else { levels.n };
            cases.iter().map(digit).collect()
        };
        let digits: Vec<Vec<u32>> = digits.into_iter().zip(&levels).map(of_cases).collect();
        let n_kinds = self.fitted.n_groups * (self.strata.pooled_slot() + 1);
        let within = |i: usize| (to * n_kinds + cases[i].stratum) as u32;
        let mut new = Vec::new();
        let found = memory.decisions.of_rows(within, &digits, cases.len(), |i| new.push(i));
        for i in new {
            let case = &cases[i];
            let mut flips = FlipDecider {
                strata: &self.strata,
                levels: &levels,
                eligible: &eligible[case.own],
                settings: &self.fitted.rules.flips,
                own: case.own,
                to,
                class: case.class,
                pools: &mut memory.pools,
            };
            memory.patterns.push(flips.decide(&memory.decisions.levels(&digits, i)));
        }
        found
    }
}

impl Generator for MapFlipGenerator {
    fn generate(&self, samples: &SampleBatch<'_>, to: TargetGroup<'_>) -> GeneratedBatch {
        let cases = self.cases(samples, to.group);
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut memory = idle
            .filter(|memory| memory.patterns.len() <= MAX_DECISIONS)
            .unwrap_or_else(|| FlipMemory {
                pools: CombinationPools::default(),
                decisions: CombinationIndex::new(&self.fitted.variables),
                patterns: Vec::new(),
            });
        let decided = self.flip_patterns(&mut memory, samples, &cases, to.group);

        // One entry per counterfactual: its case and its pattern.
        let mut made: Vec<(&SampleCase, &FlipPattern)> = Vec::with_capacity(cases.len());
        let mut cf_index = Vec::with_capacity(cases.len());
        for (case, &at) in cases.iter().zip(&decided) {
            for (index, pattern) in (0_u16..).zip(&memory.patterns[at as usize]) {
                made.push((case, pattern));
                cf_index.push(index);
            }
        }
        let parent: Vec<usize> = made.iter().map(|(case, _)| case.row).collect();
        let of_rows = GeneratedBatch::in_group(samples, to, parent);
        let mut generated = GeneratedBatch { cf_index, ..of_rows };
        self.write_levels(&made, &mut generated);
        self.write_numbers(&made, to.group, &mut generated);
        drop(made);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(memory);

        self.fitted.judge(samples, to.group, &mut generated);
        generated
    }
}

impl MapFlipGenerator {
    fn write_levels(&self, made: &[(&SampleCase, &FlipPattern)], generated: &mut GeneratedBatch) {
        let categorical: Vec<usize> = (0..self.fitted.variables.len())
            .filter(|&v| self.fitted.variables[v].levels().is_some())
            .collect();
        for (j, (_, pattern)) in made.iter().enumerate() {
            for &(k, level) in &pattern.changes {
                let variable = &self.fitted.variables[categorical[k as usize]];
                variable.set_level(&mut generated.rows, j, level);
            }
            generated.counters[j] = pattern.counters;
        }
    }

    fn write_numbers(
        &self,
        made: &[(&SampleCase, &FlipPattern)],
        to: usize,
        generated: &mut GeneratedBatch,
    ) {
        for (j, v) in self.numeric_variables() {
            let variable = &self.fitted.variables[v];
            // The last class of a group is the pooled or the unseen one; a strategy uses only one
            // of the two.
            let n_kinds = self.fitted.n_groups * (self.strata.pooled_slot() + 1);
            let mut steps: Vec<Option<NumericStep<'_>>> = vec![None; n_kinds];
            let mut last = 0;
            let column = variable.columns[0];
            for (n, (case, _)) in made.iter().enumerate() {
                let step = &*steps[case.stratum]
                    .get_or_insert_with(|| self.numeric_step((j, v), [case.own, to], case.class));
                if matches!(step, NumericStep::Copy) {
                    continue;
                }
                let x = match &generated.rows.columns[column] {
                    FeatureColumn::Number(values) => values[n],
                    FeatureColumn::Code(_) => variable.number(&generated.rows, n),
                };
                if x.is_nan() {
                    continue;
                }
                match step {
                    NumericStep::Copy => {}
                    NumericStep::Keep => generated.counters[n].n_kept += 1,
                    NumericStep::Map { map, tabulated, fallback } => {
                        let (image, outside) = map.image(x, *tabulated, &mut last);
                        variable.set_number(&mut generated.rows, n, image);
                        let counters = &mut generated.counters[n];
                        counters.n_changed += u32::from(differs(x, image));
                        counters.n_clamped += u32::from(outside);
                        counters.n_fallback += u32::from(*fallback);
                    }
                }
            }
        }
    }
}
