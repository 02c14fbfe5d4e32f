//! People by what happened to them: the one structure behind every counterfactual matrix.
//!
//! A pattern is a person's group, label and prediction, and for every target group how many of
//! their counterfactuals are predicted positive, negative, or have no score. From the number of
//! people per pattern follow the cells of every scope (in some of which a person counts once per
//! counterfactual), the people with any switch, and the units of people behind intervals.
//!
//! Choice: with at most sixty groups and one counterfactual per target a pattern is a number of two
//! bits per target. People are counted by it, with at most five groups in an array (72 cells for
//! two); anything else is counted by the pattern itself. All give the same patterns.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::evidence::additive::Additive;
use crate::metric::evidence::person::{
    ECCM_CELLS, Eccm, ScoredCounterfactual, SwitchCells, answer_of_state, answer_state, cell_index,
};
use crate::metric::evidence::units::WeightSums;
use crate::metric::rate::{Rate, Undefined};
use crate::metric::scope::ScopeIndex;

/// What happened to a person's counterfactuals in one target group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct TargetOutcome {
    /// The target group.
    pub to: u32,
    /// Counterfactuals predicted positive.
    pub positive: u32,
    /// Counterfactuals predicted negative.
    pub negative: u32,
    /// Counterfactuals without a score.
    pub missing: u32,
}

/// What people who behave alike have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct PersonPattern {
    /// Their group.
    pub group: u32,
    /// Their label, where known.
    pub label: Option<bool>,
    /// Their prediction, where there is a score.
    pub predicted: Option<bool>,
    /// By target group, ascending; a target without counterfactuals is left out.
    pub outcomes: Vec<TargetOutcome>,
}

/// What is summed over people who behave alike.
pub(crate) trait PatternSummand: Copy + Default + PartialEq + AddAssign + Additive {
    /// Their number, with what they weigh: 1 where it is their number alone.
    fn sums(self) -> WeightSums;
}

impl PatternSummand for u64 {
    fn sums(self) -> WeightSums {
        WeightSums::ones(self)
    }
}

impl PatternSummand for WeightSums {
    fn sums(self) -> WeightSums {
        self
    }
}

/// People by pattern, summed; mergeable.
#[derive(Debug, Clone)]
pub(crate) struct PatternTally<T: PatternSummand = u64> {
    groups: usize,
    /// By code; empty where there are too many groups.
    dense: Vec<T>,
    /// By code, where there are too many groups for an array.
    coded: HashMap<u128, T>,
    general: HashMap<PersonPattern, T>,
}

/// The most groups for which an array is used: 11,520 cells.
const DENSE_GROUPS: usize = 5;

/// The most groups of which a pattern has a code of 128 bits: two bits for each of 59 targets, and
/// ten for group, label and prediction.
const CODED_GROUPS: usize = 60;

impl<T: PatternSummand> PatternTally<T> {
    /// Nobody yet, for this number of groups.
    pub(crate) fn new(groups: usize) -> Self {
        let cells =
            if groups <= DENSE_GROUPS { (groups * 9) << (2 * groups.saturating_sub(1)) } else { 0 };
        PatternTally {
            groups,
            dense: vec![T::default(); cells],
            coded: HashMap::new(),
            general: HashMap::new(),
        }
    }

    /// Adds one person with all their counterfactuals, and what they add to the sum.
    ///
    /// # Panics
    /// Where a group is not below the number of groups, or a counterfactual leads to the person's
    /// own group.
    #[inline]
    pub(crate) fn add(
        &mut self,
        (group, label, predicted): (usize, Option<bool>, Option<bool>),
        counterfactuals: &[ScoredCounterfactual],
        adds: T,
    ) {
        assert!(group < self.groups, "group {group} of {}", self.groups);
        if self.groups <= CODED_GROUPS
            && let Some(code) = self.targets_code(group, counterfactuals)
        {
            let factual = (group * 3 + answer_state(label)) * 3 + answer_state(predicted);
            let code = ((factual as u128) << (2 * (self.groups - 1))) + code;
            if self.dense.is_empty() {
                *self.coded.entry(code).or_default() += adds;
            } else {
                self.dense[code as usize] += adds;
            }
            return;
        }
        for counterfactual in counterfactuals {
            check_target(group, counterfactual.to, self.groups);
        }
        *self.general.entry(pattern(group, label, predicted, counterfactuals)).or_default() += adds;
    }

    /// The sums by pattern, in order.
    pub(crate) fn people(&self) -> BTreeMap<PersonPattern, T> {
        let mut all: BTreeMap<PersonPattern, T> =
            self.general.iter().map(|(pattern, &people)| (pattern.clone(), people)).collect();
        let dense = (0..).zip(&self.dense).filter(|(_, people)| **people != T::default());
        for (code, &people) in dense.chain(self.coded.iter().map(|(&code, people)| (code, people)))
        {
            *all.entry(self.decode(code)).or_default() += people;
        }
        all
    }

    /// People by the cells that they fill, in every scope by its number. People who fill none are
    /// left out.
    pub(crate) fn cell_profiles(&self) -> ScopeCellProfiles<T> {
        let places = ScopeIndex { groups: self.groups };
        let mut kinds: Vec<BTreeMap<SwitchCells, T>> = vec![BTreeMap::new(); places.len()];
        for (pattern, people) in self.people() {
            let Some(predicted) = pattern.predicted else { continue };
            let from = pattern.group as usize;
            let mut all = [0; ECCM_CELLS];
            for outcome in &pattern.outcomes {
                let mut cells = [0; ECCM_CELLS];
                cells[cell_index(pattern.label, predicted, true)] = u64::from(outcome.positive);
                cells[cell_index(pattern.label, predicted, false)] = u64::from(outcome.negative);
                all.iter_mut().zip(cells).for_each(|(sum, count)| *sum += count);
                let to = outcome.to as usize;
                *kinds[places.direction(from, to)].entry(cells).or_default() += people;
                if places.has_rest() {
                    *kinds[places.rest_to_one(to)].entry(cells).or_default() += people;
                }
            }
            *kinds[places.total()].entry(all).or_default() += people;
            if places.has_rest() {
                *kinds[places.one_to_rest(from)].entry(all).or_default() += people;
            }
        }
        let profiles = kinds.into_iter().map(CellProfiles::new).collect();
        ScopeCellProfiles { scope_index: places, profiles }
    }

    /// Two bits per other group, 0 for none, else 1 + the state of the prediction; none where a
    /// target comes twice.
    #[inline]
    fn targets_code(&self, group: usize, counterfactuals: &[ScoredCounterfactual]) -> Option<u128> {
        let mut code = 0;
        for counterfactual in counterfactuals {
            check_target(group, counterfactual.to, self.groups);
            let shift = 2 * (counterfactual.to - usize::from(counterfactual.to > group));
            if (code >> shift) & 3 != 0 {
                return None;
            }
            code |= (1 + answer_state(counterfactual.predicted) as u128) << shift;
        }
        Some(code)
    }

    fn decode(&self, code: u128) -> PersonPattern {
        let factual = (code >> (2 * (self.groups - 1))) as usize;
        let group = factual / 9;
        let outcomes = (0..self.groups - 1).filter_map(|place| {
            let prediction = ((code >> (2 * place)) as usize & 3).checked_sub(1)?;
            let mut outcome = TargetOutcome {
                to: (place + usize::from(place >= group)) as u32,
                positive: 0,
                negative: 0,
                missing: 0,
            };
            *outcome.count_mut(answer_of_state(prediction)) = 1;
            Some(outcome)
        });
        PersonPattern {
            group: group as u32,
            label: answer_of_state(factual / 3 % 3),
            predicted: answer_of_state(factual % 3),
            outcomes: outcomes.collect(),
        }
    }
}

impl<T: PatternSummand> Additive for PatternTally<T> {
    fn absorb(&mut self, other: &Self) {
        self.dense.absorb(&other.dense);
        self.coded.absorb(&other.coded);
        self.general.absorb(&other.general);
    }
}

impl PatternTally {
    /// Counterfactuals without a score of the people of a group.
    pub(crate) fn n_missing(&self, group: usize) -> u64 {
        let missing = |pattern: &PersonPattern| {
            pattern.outcomes.iter().map(|outcome| u64::from(outcome.missing)).sum::<u64>()
        };
        self.people()
            .iter()
            .filter(|(pattern, _)| pattern.group as usize == group)
            .map(|(pattern, people)| people * missing(pattern))
            .sum()
    }
}

/// Patterns as they are written: the number of groups, and people by pattern in order.
#[derive(Serialize, Deserialize)]
struct PatternTallyRepr<T> {
    groups: usize,
    people: Vec<(PersonPattern, T)>,
}

impl<T: PatternSummand + Serialize> Serialize for PatternTally<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PatternTallyRepr { groups: self.groups, people: self.people().into_iter().collect() }
            .serialize(serializer)
    }
}

impl<'de, T: PatternSummand + Deserialize<'de>> Deserialize<'de> for PatternTally<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PatternTallyRepr { groups, people } = PatternTallyRepr::<T>::deserialize(deserializer)?;
        Ok(PatternTally { general: people.into_iter().collect(), ..PatternTally::new(groups) })
    }
}

impl<T: PatternSummand> PartialEq for PatternTally<T> {
    fn eq(&self, other: &Self) -> bool {
        self.groups == other.groups && self.people() == other.people()
    }
}

impl TargetOutcome {
    fn count_mut(&mut self, predicted: Option<bool>) -> &mut u32 {
        match predicted {
            Some(true) => &mut self.positive,
            Some(false) => &mut self.negative,
            None => &mut self.missing,
        }
    }
}

fn check_target(group: usize, to: usize, groups: usize) {
    assert!(
        to < groups && to != group,
        "a counterfactual of group {group} leads to group {to} of {groups}"
    );
}

fn pattern(
    group: usize,
    label: Option<bool>,
    predicted: Option<bool>,
    counterfactuals: &[ScoredCounterfactual],
) -> PersonPattern {
    let mut outcomes: Vec<TargetOutcome> = Vec::with_capacity(counterfactuals.len());
    for counterfactual in counterfactuals {
        let to = counterfactual.to as u32;
        let at = outcomes.binary_search_by_key(&to, |outcome| outcome.to).unwrap_or_else(|at| {
            outcomes.insert(at, TargetOutcome { to, positive: 0, negative: 0, missing: 0 });
            at
        });
        *outcomes[at].count_mut(counterfactual.predicted) += 1;
    }
    PersonPattern { group: group as u32, label, predicted, outcomes }
}

/// People by their prediction and by whether any of their counterfactuals is predicted otherwise,
/// at [`AnySwitch::index`]. A person counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnySwitch(pub(crate) [u64; 4]);

impl AnySwitch {
    /// People in all.
    pub fn n(&self) -> u64 {
        self.0.iter().sum()
    }

    /// People with a prediction, some or none of whose counterfactuals are predicted otherwise.
    pub(crate) fn of(&self, predicted: bool, switches: bool) -> u64 {
        self.0[AnySwitch::index(predicted, switches)]
    }

    /// The same people without any switch.
    pub(crate) fn without_switches(&self) -> Self {
        let [stay, switch, positive_stay, positive_switch] = self.0;
        AnySwitch([stay + switch, 0, positive_stay + positive_switch, 0])
    }

    /// A rate of these people; `empty` is why it has no value where its denominator is 0 and there
    /// are people.
    pub(crate) fn rate(&self, numerator: u64, denominator: u64, empty: Undefined) -> Rate {
        Rate {
            numerator,
            denominator,
            empty: if self.n() == 0 { Undefined::EmptyGroup } else { empty },
        }
    }

    /// Where people are in it.
    pub(crate) fn index(predicted: bool, switches: bool) -> usize {
        2 * usize::from(predicted) + usize::from(switches)
    }

    /// Where the people of a kind are in it, by the cells that one of them fills.
    pub(crate) fn index_of(kind: &SwitchCells) -> usize {
        let eccm = Eccm(*kind);
        AnySwitch::index(eccm.cp() + eccm.sn() > 0, eccm.sp() + eccm.sn() > 0)
    }
}

/// The people of every scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopeCellProfiles<T = u64> {
    pub(crate) scope_index: ScopeIndex,
    pub(crate) profiles: Vec<CellProfiles<T>>,
}

impl<T> ScopeCellProfiles<T> {
    /// The people of group `from` by what they fill as members of `to`.
    pub(crate) fn direction(&self, from: usize, to: usize) -> &CellProfiles<T> {
        self.at(self.scope_index.direction(from, to))
    }

    /// All people: with G groups each fills G - 1 cells or more.
    pub(crate) fn total(&self) -> &CellProfiles<T> {
        self.at(self.scope_index.total())
    }

    /// The people of group `from` by what they fill as members of all others; none with fewer than
    /// three groups.
    #[cfg(test)]
    pub(crate) fn one_to_rest(&self, from: usize) -> Option<&CellProfiles<T>> {
        self.scope_index.has_rest().then(|| self.at(self.scope_index.one_to_rest(from)))
    }

    /// The people of all other groups by what they fill as members of `to`; none with fewer than
    /// three groups.
    #[cfg(test)]
    pub(crate) fn rest_to_one(&self, to: usize) -> Option<&CellProfiles<T>> {
        self.scope_index.has_rest().then(|| self.at(self.scope_index.rest_to_one(to)))
    }

    /// The people of a scope by its number.
    pub(crate) fn at(&self, place: usize) -> &CellProfiles<T> {
        &self.profiles[place]
    }
}

/// Kinds of people by the cells that one of them fills, with the sum over each kind: of people,
/// their number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellProfiles<T = u64>(pub(crate) Vec<(SwitchCells, T)>);

impl<T: PatternSummand> CellProfiles<T> {
    fn new(mut kinds: BTreeMap<SwitchCells, T>) -> Self {
        kinds.remove(&[0; ECCM_CELLS]);
        CellProfiles(kinds.into_iter().collect())
    }

    /// The kinds as units.
    pub(crate) fn kinds(&self) -> Vec<(SwitchCells, WeightSums)> {
        self.0.iter().map(|(cells, sum)| (*cells, sum.sums())).collect()
    }

    /// People by whether any of their counterfactuals switches, each once.
    pub(crate) fn any_switch(&self) -> AnySwitch {
        let mut cells = [0; 4];
        self.0.iter().for_each(|(kind, sum)| cells[AnySwitch::index_of(kind)] += sum.sums().sum());
        AnySwitch(cells)
    }

    /// The extended matrix: each counterfactual as often as its people.
    pub(crate) fn eccm(&self) -> Eccm {
        let mut cells = [0; ECCM_CELLS];
        for (kind, people) in &self.0 {
            for (sum, count) in cells.iter_mut().zip(kind) {
                *sum += count * people.sums().sum();
            }
        }
        Eccm(cells)
    }
}

impl CellProfiles {
    /// People who have a label, or all.
    pub(crate) fn counted(&self, needs_label: bool) -> u64 {
        let counts = |kind: &SwitchCells| !needs_label || Eccm(*kind).n_labelled() > 0;
        self.0.iter().filter(|(kind, _)| counts(kind)).map(|(_, people)| people).sum()
    }

    /// People in all.
    pub(crate) fn people(&self) -> u64 {
        self.0.iter().map(|(_, people)| people).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{PatternTally, pattern};
    use crate::metric::evidence::additive::Additive;
    use crate::metric::evidence::person::ScoredCounterfactual;
    use crate::num::seed::RandomStream;

    type PatternPerson = (usize, Option<bool>, Option<bool>, Vec<ScoredCounterfactual>);

    /// Random people: group, label, prediction, counterfactuals.
    fn people(groups: usize, per_target: u64, n: usize) -> Vec<PatternPerson> {
        let mut stream = RandomStream::new(11, &format!("people {groups} {per_target}"));
        let mut below = |n: u64| stream.u64() % n;
        let answers = [None, Some(false), Some(true)];
        (0..n)
            .map(|_| {
                let group = below(groups as u64) as usize;
                let (label, predicted) = (answers[below(3) as usize], answers[below(3) as usize]);
                let mut counterfactuals = Vec::new();
                for to in (0..groups).rev().filter(|&to| to != group) {
                    for _ in 0..below(per_target + 1) {
                        counterfactuals.push(ScoredCounterfactual {
                            to,
                            predicted: answers[below(3) as usize],
                            score: None,
                            rounded: false,
                            unsupported: 0,
                        });
                    }
                }
                (group, label, predicted, counterfactuals)
            })
            .collect()
    }

    #[test]
    fn arrays_codes_and_patterns_agree() {
        for (groups, per_target) in
            [(1, 1), (2, 1), (2, 3), (3, 1), (4, 2), (5, 1), (6, 1), (7, 2), (60, 1), (61, 1)]
        {
            let (mut patterns, mut general) =
                (PatternTally::new(groups), PatternTally::new(groups));
            general.dense.clear();
            for (group, label, predicted, counterfactuals) in people(groups, per_target, 2000) {
                patterns.add((group, label, predicted), &counterfactuals, 1_u64);
                *general
                    .general
                    .entry(pattern(group, label, predicted, &counterfactuals))
                    .or_default() += 1_u64;
            }
            assert_eq!(patterns.general.is_empty(), groups <= 60 && per_target == 1);
            assert_eq!(patterns.coded.is_empty(), groups <= 5 || groups > 60);
            assert_eq!(patterns.people(), general.people(), "{groups} groups");
            assert_eq!(patterns.people().values().sum::<u64>(), 2000);
        }
    }

    #[test]
    fn any_partition_merges_to_the_same() {
        for (groups, per_target) in [(2, 1), (3, 2), (6, 1)] {
            let mut whole = PatternTally::new(groups);
            let mut parts = vec![PatternTally::new(groups); 5];
            for (i, (group, label, predicted, counterfactuals)) in
                people(groups, per_target, 1000).into_iter().enumerate()
            {
                whole.add((group, label, predicted), &counterfactuals, 1_u64);
                parts[i * i % 5].add((group, label, predicted), &counterfactuals, 1);
            }
            let mut merged = PatternTally::new(groups);
            parts.iter().rev().for_each(|part| merged.absorb(part));
            assert_eq!(merged, whole);
            assert_eq!(merged.cell_profiles(), whole.cell_profiles());
        }
    }

    #[test]
    fn a_person_counts_once_per_counterfactual() {
        let mut patterns = PatternTally::new(3);
        let cf = |to, yes| ScoredCounterfactual {
            to,
            predicted: Some(yes),
            score: None,
            rounded: false,
            unsupported: 0,
        };
        patterns.add((0, Some(true), Some(true)), &[cf(1, true), cf(2, false)], 1_u64);
        patterns.add(
            (1, Some(false), Some(false)),
            &[cf(0, true), cf(0, true), cf(0, false)],
            1_u64,
        );
        patterns.add((2, None, Some(true)), &[cf(0, true)], 1_u64);
        patterns.add(
            (2, Some(true), Some(true)),
            &[ScoredCounterfactual {
                to: 0,
                predicted: None,
                score: None,
                rounded: false,
                unsupported: 0,
            }],
            1_u64,
        );
        let spreads = patterns.cell_profiles();
        let total = spreads.total();
        assert_eq!((total.people(), total.eccm().n()), (3, 6));
        assert_eq!((total.counted(true), total.eccm().n_labelled()), (2, 5));
        let eccm = total.eccm();
        assert_eq!((eccm.tcp(), eccm.tsn(), eccm.tsp(), eccm.tcn()), (1, 1, 2, 1));
        let direction = spreads.direction(0, 2);
        assert_eq!((direction.people(), direction.eccm().sn()), (1, 1));
        assert_eq!((patterns.n_missing(2), patterns.n_missing(0)), (1, 0));
        let direction = spreads.direction(2, 0);
        assert_eq!((direction.people(), direction.counted(true), direction.eccm().cp()), (1, 0, 1));
        let any = total.any_switch();
        assert_eq!((any.of(false, true), any.of(true, true), any.of(true, false)), (1, 1, 1));
    }
}
