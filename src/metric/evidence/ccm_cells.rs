//! People by their factual and counterfactual predictions: the one structure behind every
//! counterfactual matrix.
//!
//! A pattern is a person's group, label and prediction, and for every target group how many of
//! their counterfactuals are predicted to be of each class, or have no score. The number of people
//! per pattern determines the cells of every scope (in some a person counts once per
//! counterfactual), the people with any switch, and the units of people behind intervals. A label
//! of two sides has the classes 0, no, and 1, yes.
//!
//! Choice: with two classes, at most sixty groups and one counterfactual per target a pattern is a
//! number of two bits per target. People are counted by this number, with at most five groups in an
//! array (72 cells for two groups). All others are counted by the pattern itself. The patterns are
//! the same in each case.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::evidence::person::{ECCM_CELLS, Eccm, UNLABELLED, cell_index};
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums};
use crate::metric::scope::ScopeIndex;
use crate::num::additive::Additive;

/// What people of one pattern have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct PersonPattern {
    /// The group.
    pub group: usize,
    /// The label, if known.
    pub label: Option<usize>,
    /// The prediction, if there is a score.
    pub predicted: Option<usize>,
    /// The target groups and predictions of the counterfactuals with their number, ascending.
    pub outcomes: Vec<(usize, Option<usize>, u64)>,
}

impl PersonPattern {
    /// The target groups, each with a cell of the matrix of predictions before and after, and how
    /// often a person counts there. Counterfactuals with a missing prediction are left out.
    pub(crate) fn cells(&self, classes: usize) -> impl Iterator<Item = (usize, usize, u64)> {
        self.outcomes.iter().filter_map(move |&(to, after, times)| {
            Some((to, self.predicted? * classes + after?, times))
        })
    }
}

/// The number and weight of people by pattern; mergeable.
#[derive(Debug, Clone)]
pub(crate) struct PatternTally {
    groups: usize,
    classes: usize,
    /// By code; empty if there are too many groups.
    dense: Vec<WeightSums>,
    /// By code, if there are too many groups for an array.
    coded: HashMap<u128, WeightSums>,
    general: HashMap<PersonPattern, WeightSums>,
}

/// The cells in which a person counts and how often, ordered as the full array of cells would be.
type FilledInOrder = Vec<(Reverse<usize>, u64)>;

/// The most groups for which an array is used: 11,520 cells.
const DENSE_GROUPS: usize = 5;

/// The largest number of groups for which a pattern fits into 128 bits: two bits for each of 59
/// targets, and ten for group, label and prediction.
const CODED_GROUPS: usize = 60;

impl PatternTally {
    /// Empty, for this number of groups and of classes.
    pub(crate) fn new(groups: usize, classes: usize) -> Self {
        let cells = (groups * 9) << (2 * groups.min(DENSE_GROUPS).saturating_sub(1));
        let cells = if groups <= DENSE_GROUPS && classes == 2 { cells } else { 0 };
        PatternTally {
            groups,
            classes,
            dense: vec![WeightSums::default(); cells],
            coded: HashMap::new(),
            general: HashMap::new(),
        }
    }

    /// Adds one person with the target groups and predictions of all their counterfactuals and
    /// their weight, which is 1 without weights; a person of weight 0 is ignored.
    ///
    /// # Panics
    /// Where a group or a class is not below its number, or a counterfactual leads to the person's
    /// own group.
    #[inline]
    pub(crate) fn add(
        &mut self,
        (group, label, predicted): (usize, Option<usize>, Option<usize>),
        outcomes: impl Iterator<Item = (usize, Option<usize>)> + Clone,
        weight: u64,
    ) {
        let adds = WeightSums::one(weight);
        if weight == 0 {
            return;
        }
        assert!(group < self.groups, "group {group} of {}", self.groups);
        if self.classes == 2
            && self.groups <= CODED_GROUPS
            && let Some(code) = self.targets_code(group, outcomes.clone())
        {
            let factual = (group * 3 + state(label)) * 3 + state(predicted);
            let code = ((factual as u128) << (2 * (self.groups - 1))) + code;
            if self.dense.is_empty() {
                *self.coded.entry(code).or_default() += adds;
            } else {
                self.dense[code as usize] += adds;
            }
            return;
        }
        let known = outcomes.clone().filter_map(|(_, class)| class).chain(label).chain(predicted);
        known.for_each(|class| assert!(class < self.classes, "class {class} of {}", self.classes));
        outcomes.clone().for_each(|(to, _)| check_target(group, to, self.groups));
        *self.general.entry(pattern(group, label, predicted, outcomes)).or_default() += adds;
    }

    /// The sums by pattern, in order.
    pub(crate) fn people(&self) -> BTreeMap<PersonPattern, WeightSums> {
        let mut sums = BTreeMap::<PersonPattern, WeightSums>::new();
        for (pattern, people) in self.patterns() {
            *sums.entry(pattern.into_owned()).or_default() += people;
        }
        sums
    }

    /// As [`Self::people`], in no order; a pattern may occur twice.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (Cow<'_, PersonPattern>, WeightSums)> {
        let dense = (0..).zip(&self.dense).filter(|(_, people)| people.people() > 0);
        let coded = dense.chain(self.coded.iter().map(|(&code, people)| (code, people)));
        let general = self.general.iter();
        let general = general.map(|(pattern, &people)| (Cow::Borrowed(pattern), people));
        general.chain(coded.map(|(code, &people)| (Cow::Owned(self.decode(code)), people)))
    }

    /// The units of every scope, by its number, over `cells` cells: `cell` maps the label and the
    /// predictions before and after to a cell. `weighted` says whether people have weights. People
    /// who count in no cell are left out.
    pub(crate) fn units(
        &self,
        cells: usize,
        weighted: bool,
        cell: impl Fn(Option<usize>, usize, usize) -> usize,
    ) -> Vec<UnitSums> {
        let places = ScopeIndex { groups: self.groups };
        let mut kinds = vec![BTreeMap::<FilledInOrder, WeightSums>::new(); places.len()];
        for (pattern, people) in self.people() {
            let mut filled = BTreeMap::<usize, BTreeMap<usize, u64>>::new();
            for &(to, after, times) in &pattern.outcomes {
                let Some((before, after)) = pattern.predicted.zip(after) else { continue };
                let cell = cell(pattern.label, before, after);
                for place in places.scopes_of(pattern.group, to) {
                    *filled.entry(place).or_default().entry(cell).or_default() += times;
                }
            }
            for (place, cells) in filled {
                let cells = cells.into_iter().map(|(cell, n)| (Reverse(cell), n));
                *kinds[place].entry(cells.collect()).or_default() += people;
            }
        }
        let of_scope = |(place, kinds): (usize, BTreeMap<FilledInOrder, WeightSums>)| {
            // The keys of different scopes do not overlap.
            let kinds = ((place as u64) << 32..).zip(kinds);
            let kinds = kinds.map(|(key, (filled, sums))| {
                let cells = filled.into_iter().map(|(Reverse(cell), n)| (cell, n));
                UnitKind { key, cells: cells.collect(), sums }
            });
            UnitSums::new(cells, weighted, kinds.collect(), None)
        };
        kinds.into_iter().enumerate().map(of_scope).collect()
    }

    /// Two bits per other group: 0 without a counterfactual, else 1 + the state of the prediction.
    /// None if a target occurs twice.
    #[inline]
    fn targets_code(
        &self,
        group: usize,
        counterfactuals: impl Iterator<Item = (usize, Option<usize>)>,
    ) -> Option<u128> {
        let mut code = 0;
        for (to, predicted) in counterfactuals {
            check_target(group, to, self.groups);
            let shift = 2 * (to - usize::from(to > group));
            if (code >> shift) & 3 != 0 {
                return None;
            }
            code |= (1 + state(predicted) as u128) << shift;
        }
        Some(code)
    }

    fn decode(&self, code: u128) -> PersonPattern {
        let factual = (code >> (2 * (self.groups - 1))) as usize;
        let group = factual / 9;
        let outcomes = (0..self.groups - 1).filter_map(|place| {
            let prediction = ((code >> (2 * place)) as usize & 3).checked_sub(1)?;
            let to = place + usize::from(place >= group);
            Some((to, prediction.checked_sub(1), 1))
        });
        PersonPattern {
            group,
            label: (factual / 3 % 3).checked_sub(1),
            predicted: (factual % 3).checked_sub(1),
            outcomes: outcomes.collect(),
        }
    }
}

/// A class as a number; 0 = unknown.
fn state(class: Option<usize>) -> usize {
    class.map_or(0, |class| 1 + class)
}

impl Additive for PatternTally {
    fn absorb(&mut self, other: &Self) {
        self.dense.absorb(&other.dense);
        self.coded.absorb(&other.coded);
        self.general.absorb(&other.general);
    }
}

impl PatternTally {
    /// The number of counterfactuals whose outcome satisfies a condition.
    fn n(&self, times: impl Fn(&PersonPattern) -> u64) -> u64 {
        self.patterns().map(|(pattern, people)| people.people() * times(&pattern)).sum()
    }

    /// The number of counterfactuals without a score, for the people of a group.
    pub(crate) fn n_missing(&self, group: usize) -> u64 {
        self.n(|pattern| {
            let missing = pattern.outcomes.iter().filter(|(_, after, _)| after.is_none());
            missing.filter(|_| pattern.group == group).map(|(.., times)| times).sum()
        })
    }

    /// The number of people with a prediction for themselves and for a counterfactual.
    pub(crate) fn n_moved(&self) -> u64 {
        self.n(|pattern| u64::from(pattern.cells(self.classes).next().is_some()))
    }
}

/// The serialized form: people by pattern, in order.
#[derive(Serialize, Deserialize)]
struct PatternTallyRepr {
    groups: usize,
    classes: usize,
    people: Vec<(PersonPattern, WeightSums)>,
}

impl Serialize for PatternTally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let people = self.people().into_iter().collect();
        let (groups, classes) = (self.groups, self.classes);
        PatternTallyRepr { groups, classes, people }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PatternTally {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let repr = PatternTallyRepr::deserialize(deserializer)?;
        let general = repr.people.into_iter().collect();
        Ok(PatternTally { general, ..PatternTally::new(repr.groups, repr.classes) })
    }
}

impl PartialEq for PatternTally {
    fn eq(&self, other: &Self) -> bool {
        (self.groups, self.classes) == (other.groups, other.classes)
            && self.people() == other.people()
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
    label: Option<usize>,
    predicted: Option<usize>,
    counterfactuals: impl Iterator<Item = (usize, Option<usize>)>,
) -> PersonPattern {
    let mut outcomes = BTreeMap::new();
    counterfactuals.for_each(|outcome| *outcomes.entry(outcome).or_default() += 1);
    let outcomes = outcomes.into_iter().map(|((to, after), times)| (to, after, times)).collect();
    PersonPattern { group, label, predicted, outcomes }
}

/// The cell of a person without a label, by the prediction and whether any counterfactual is
/// predicted differently; a person counts once.
pub(crate) fn any_cell(predicted: bool, switches: bool) -> usize {
    cell_index(None, predicted, predicted != switches)
}

/// People by whether anything switches, each once.
pub(crate) fn any_switches(rows: &UnitSums) -> UnitSums {
    let any = |kind: &UnitKind| {
        let eccm = Eccm(kind.all());
        let cell = any_cell(eccm.cp() + eccm.sn() > 0, eccm.sp() + eccm.sn() > 0);
        UnitKind::one(kind.key, cell, kind.sums)
    };
    let kinds = rows.kinds().iter().map(any).collect();
    UnitSums::new(ECCM_CELLS, rows.weighted, kinds, None)
}

impl UnitSums {
    /// The extended matrix; each counterfactual counts as often as its people.
    pub(crate) fn eccm(&self) -> Eccm {
        Eccm(self.people())
    }
}

/// Whether a cell of the extended matrix holds people with a label.
pub(crate) fn has_label(cell: usize) -> bool {
    cell < UNLABELLED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::seed::RandomStream;

    type PatternPerson = (usize, Option<usize>, Option<usize>, Vec<(usize, Option<usize>)>);

    fn cell_profiles(tally: &PatternTally, weighted: bool) -> Vec<UnitSums> {
        tally.units(ECCM_CELLS, weighted, |label, before, after| {
            cell_index(label.map(|label| label == 1), before == 1, after == 1)
        })
    }

    /// Random people: group, label, prediction, counterfactuals.
    fn people(groups: usize, per_target: u64, n: usize) -> Vec<PatternPerson> {
        let mut stream = RandomStream::new(11, &format!("people {groups} {per_target}"));
        let mut below = |n: u64| stream.u64() % n;
        let answers = [None, Some(0), Some(1)];
        (0..n)
            .map(|_| {
                let group = below(groups as u64) as usize;
                let (label, predicted) = (answers[below(3) as usize], answers[below(3) as usize]);
                let mut counterfactuals = Vec::new();
                for to in (0..groups).rev().filter(|&to| to != group) {
                    for _ in 0..below(per_target + 1) {
                        counterfactuals.push((to, answers[below(3) as usize]));
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
                (PatternTally::new(groups, 2), PatternTally::new(groups, 2));
            general.dense.clear();
            for (group, label, predicted, counterfactuals) in people(groups, per_target, 2000) {
                patterns.add((group, label, predicted), counterfactuals.iter().copied(), 1);
                *general
                    .general
                    .entry(pattern(group, label, predicted, counterfactuals.into_iter()))
                    .or_default() += WeightSums::ones(1);
            }
            assert_eq!(patterns.general.is_empty(), groups <= 60 && per_target == 1);
            assert_eq!(patterns.coded.is_empty(), groups <= 5 || groups > 60);
            assert_eq!(patterns.people(), general.people(), "{groups} groups");
            assert_eq!(patterns.people().values().map(|sums| sums.people()).sum::<u64>(), 2000);
        }
    }

    #[test]
    fn any_partition_merges_to_the_same() {
        for (groups, per_target) in [(2, 1), (3, 2), (6, 1)] {
            let mut whole = PatternTally::new(groups, 2);
            let mut parts = vec![PatternTally::new(groups, 2); 5];
            for (i, (group, label, predicted, counterfactuals)) in
                people(groups, per_target, 1000).into_iter().enumerate()
            {
                let moved = counterfactuals.into_iter();
                whole.add((group, label, predicted), moved.clone(), 1);
                parts[i * i % 5].add((group, label, predicted), moved, 1);
            }
            let mut merged = PatternTally::new(groups, 2);
            parts.iter().rev().for_each(|part| merged.absorb(part));
            assert_eq!(merged, whole);
            assert_eq!(cell_profiles(&merged, true), cell_profiles(&whole, true));
        }
    }

    #[test]
    fn a_person_counts_once_per_counterfactual() {
        let mut patterns = PatternTally::new(3, 2);
        let mut add = |factual, moved: &[(usize, Option<usize>)]| {
            patterns.add(factual, moved.iter().copied(), 1);
        };
        add((0, Some(1), Some(1)), &[(1, Some(1)), (2, Some(0))]);
        add((1, Some(0), Some(0)), &[(0, Some(1)), (0, Some(1)), (0, Some(0))]);
        add((2, None, Some(1)), &[(0, Some(1))]);
        add((2, Some(1), Some(1)), &[(0, None)]);
        let (spreads, places) = (cell_profiles(&patterns, false), ScopeIndex { groups: 3 });
        let total = &spreads[places.total()];
        let eccm = total.eccm();
        assert_eq!((total.n_rows(|_| true), eccm.n()), (3, 6));
        assert_eq!((total.n_rows(has_label), eccm.n_labelled()), (2, 5));
        assert_eq!((eccm.tcp(), eccm.tsn(), eccm.tsp(), eccm.tcn()), (1, 1, 2, 1));
        let direction = &spreads[places.direction(0, 2)];
        assert_eq!((direction.n_rows(|_| true), direction.eccm().sn()), (1, 1));
        assert_eq!((patterns.n_missing(2), patterns.n_missing(0)), (1, 0));
        let direction = &spreads[places.direction(2, 0)];
        let people = [direction.n_rows(|_| true), direction.n_rows(has_label)];
        assert_eq!((people, direction.eccm().cp()), ([1, 0], 1));
        let any = any_switches(total).eccm();
        assert_eq!((any.sp(), any.sn(), any.cp()), (1, 1, 1));
    }
}
