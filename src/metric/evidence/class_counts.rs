//! Labels and predictions of several classes, counted: one pass, whole numbers, mergeable across
//! batches.
//!
//! Groups are numbered in reference order, classes as declared. The rules are those of two classes
//! ([`counts`](crate::metric::evidence::counts)): people without a label count where no label is
//! needed, and are in a separate matrix.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::ccm_cells::{PatternTally, PersonPattern};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums};
use crate::metric::scope::{GroupSelection, ScopeIndex};
use crate::num::additive::Additive;

/// The score of each class in [0, 1]; empty if only predictions are known.
type ClassScoreList<'a> = &'a [Option<f64>];

/// One person as scored.
pub(crate) type ClassPerson<'a> = ScoredPerson<usize, ClassScoreList<'a>>;

/// One counterfactual of a person as scored.
pub(crate) type ClassCounterfactual<'a> = ScoredCounterfactual<usize, ClassScoreList<'a>>;

impl ClassPerson<'_> {
    /// Whether the highest score is that of several classes, so that their order decides.
    pub(crate) fn is_tied(&self) -> bool {
        let highest = self.predicted.and_then(|class| self.score.get(class).copied().flatten());
        highest.is_some() && self.score.iter().filter(|score| **score == highest).count() > 1
    }

    /// The person where one class is positive and all others are negative.
    pub(crate) fn one_vs_rest(&self, class: usize) -> ScoredPerson {
        ScoredPerson {
            group: self.group,
            label: self.label.map(|label| label == class),
            predicted: self.predicted.map(|predicted| predicted == class),
            score: self.score.get(class).copied().flatten(),
            weight: self.weight,
        }
    }
}

impl ClassCounterfactual<'_> {
    /// The counterfactual where one class is positive and all others are negative.
    pub(crate) fn one_vs_rest(&self, class: usize) -> ScoredCounterfactual {
        ScoredCounterfactual {
            to: self.to,
            predicted: self.predicted.map(|predicted| predicted == class),
            score: self.score.get(class).copied().flatten(),
            rounded: false,
            unsupported: self.unsupported,
        }
    }
}

/// The label, the prediction and the counterfactual prediction, each a class or unknown, with the
/// number and weight of the people.
pub(crate) type ClassCell = ([Option<usize>; 3], WeightSums);

/// People by their classes, and squares of these: labels against predictions of a group, or
/// predictions against those of the counterfactuals of a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ClassTally {
    classes: usize,
    weighted: bool,
    people: PatternTally,
    /// The weight of each person's rows, by group or direction and cell of its square; none if each
    /// row is a person.
    persons: Option<PersonCells<1>>,
}

impl ClassTally {
    fn new(classes: usize, groups: usize, unit: CountingUnit) -> Self {
        let (people, persons) = (PatternTally::new(groups, classes), unit.persons);
        let persons = persons.then(PersonCells::new);
        ClassTally { classes, weighted: unit.weighted, people, persons }
    }

    /// Number of cells of a square.
    fn square(&self) -> usize {
        self.classes * self.classes
    }

    /// Adds a row with the cells in which it counts, each with its group or direction.
    fn add(
        &mut self,
        (key, weight): (u64, u64),
        factual: (usize, Option<usize>, Option<usize>),
        outcomes: &[(usize, Option<usize>)],
        filled: impl IntoIterator<Item = (usize, Option<usize>, Option<usize>)>,
    ) {
        self.people.add(factual, outcomes.iter().copied(), weight);
        let square = self.square();
        let Some(persons) = self.persons.as_mut().filter(|_| weight > 0) else { return };
        for (place, row, column) in filled {
            let Some((row, column)) = row.zip(column) else { continue };
            persons.at(key, place * square + row * self.classes + column)[0] += weight;
        }
    }

    /// The persons of some groups or directions by the cells of the square.
    fn persons(&self, holds: impl Fn(usize) -> bool) -> Option<Vec<UnitKind>> {
        let square = self.square();
        Some(self.persons.as_ref()?.units(|at, _| holds(at / square).then_some(at % square)))
    }

    /// The sums of people by cell; `cells` gives the cells of a pattern, and how often it counts
    /// there.
    fn cells<I: IntoIterator<Item = ([Option<usize>; 3], u64)>>(
        &self,
        cells: impl Fn(&PersonPattern) -> I,
    ) -> Vec<ClassCell> {
        let mut sums: BTreeMap<[Option<usize>; 3], WeightSums> = BTreeMap::new();
        for (pattern, people) in self.people.patterns() {
            for (cell, times) in cells(&pattern) {
                *sums.entry(cell).or_default() += people.times(times);
            }
        }
        sums.into_iter().collect()
    }
}

additive!(ClassTally { people, persons });

/// Labels against predictions of all groups under one model and one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FactualClassCounts {
    /// Number of groups.
    pub(crate) groups: usize,
    /// By group; the last entry holds the rows without a declared group.
    tally: ClassTally,
    /// The counts of each class against the rest, in order.
    pub(crate) one_vs_rest: Vec<FactualCounts>,
}

impl FactualClassCounts {
    /// Empty counts for a number of classes; each class against the rest starts with a copy of the
    /// given empty counts.
    pub(crate) fn new(classes: usize, empty: &FactualCounts) -> Self {
        let groups = empty.groups.len();
        let tally = ClassTally::new(classes, groups + 1, empty.unit());
        FactualClassCounts { groups, tally, one_vs_rest: vec![empty.clone(); classes] }
    }

    /// These counts without the scores of people.
    #[must_use]
    pub(crate) fn without_scores(self) -> Self {
        let one_vs_rest = self.one_vs_rest.into_iter().map(FactualCounts::without_scores);
        FactualClassCounts { one_vs_rest: one_vs_rest.collect(), ..self }
    }

    /// Adds one row with its stratum; a row of weight 0 adds nothing. `keys` are the keys of the
    /// person and of the row.
    ///
    /// # Panics
    /// Where a group or a class is beyond its number: a bug of the caller.
    pub(crate) fn add(&mut self, keys: (u64, u64), person: &ClassPerson<'_>, stratum: Option<u32>) {
        let ClassPerson { group, label, predicted, weight, .. } = *person;
        let tied = person.is_tied();
        for (class, counts) in self.one_vs_rest.iter_mut().enumerate() {
            let two_sided = person.one_vs_rest(class);
            counts.add((group, keys.0, weight), two_sided.label, two_sided.predicted, tied);
            if weight > 0 {
                let labelled = (two_sided.label, two_sided.score.unwrap_or(f64::NAN));
                counts.add_score(group, labelled, weight, keys);
                counts.add_stratum(group, (keys.0, weight), two_sided.predicted, stratum);
            }
        }
        let factual = (group, label, predicted);
        self.tally.add((keys.0, weight), factual, &[], [factual]);
    }

    /// Adds a row without a declared group, with its weight in units, by the number of its word;
    /// [`u32::MAX`] = no word.
    pub(crate) fn add_ungrouped(
        &mut self,
        word: u32,
        weight: u64,
        label: Option<usize>,
        predicted: Option<usize>,
    ) {
        for (class, counts) in self.one_vs_rest.iter_mut().enumerate() {
            let is = |found: Option<usize>| found.map(|found| found == class);
            counts.add_ungrouped(word, weight, is(label), is(predicted));
        }
        if word == u32::MAX {
            self.tally.people.add((self.groups, label, predicted), std::iter::empty(), weight);
        }
    }

    /// Whether a group is selected; without a selection, only the rows without a declared group
    /// are.
    fn is_selected(&self, selection: Option<GroupSelection>, group: usize) -> bool {
        selection.map_or(group == self.groups, |s| group < self.groups && s.holds(group))
    }

    /// The selected people by label and prediction; without a selection, the rows without a
    /// declared group.
    pub(crate) fn cells(&self, selection: Option<GroupSelection>) -> Vec<ClassCell> {
        self.tally.cells(|kind| {
            let selected = self.is_selected(selection, kind.group);
            selected.then_some(([kind.label, kind.predicted, None], 1))
        })
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        self.tally.classes
    }

    /// A function that gives the units of selected people by the cells of the matrix.
    pub(crate) fn units(&self) -> impl Fn(GroupSelection) -> UnitSums {
        let (square, people) = (self.tally.square(), self.tally.people.people());
        move |selection| {
            let rows = (0..).zip(&people).filter_map(|(key, (kind, sums))| {
                let (label, predicted) = kind.label.zip(kind.predicted)?;
                let cell = label * self.classes() + predicted;
                self.is_selected(Some(selection), kind.group)
                    .then(|| UnitKind::one(key, cell, *sums))
            });
            let persons = self.tally.persons(|group| selection.holds(group));
            UnitSums::new(square, self.tally.weighted, rows.collect(), persons)
        }
    }
}

additive!(accumulated FactualClassCounts { tally, one_vs_rest });

/// Counterfactuals under one model, one sensitive attribute and one counterfactual set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SwitchClassCounts {
    groups: usize,
    /// By direction.
    tally: ClassTally,
    /// The same sums over only the supported counterfactuals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supported: Option<Box<SwitchClassCounts>>,
}

impl SwitchClassCounts {
    /// Empty counts for a number of classes and groups.
    pub(crate) fn new(classes: usize, groups: usize) -> Self {
        let tally = ClassTally::new(classes, groups, CountingUnit::default());
        SwitchClassCounts { groups, tally, supported: None }
    }

    /// The sums over the supported counterfactuals, while all are supported.
    fn so_far(&self) -> SwitchClassCounts {
        SwitchClassCounts { tally: self.tally.clone(), supported: None, ..*self }
    }

    /// The same counts with the sums that this unit needs.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        SwitchClassCounts { tally: ClassTally::new(self.classes(), self.groups, unit), ..self }
    }

    /// Adds one person with all their counterfactuals of this set; a person is added once. `key` is
    /// the person's own.
    ///
    /// # Panics
    /// Where a group or a class is beyond its number, or a counterfactual leads to the person's own
    /// group: a bug of the caller.
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ClassPerson<'_>,
        counterfactuals: &[ClassCounterfactual<'_>],
    ) {
        let all_supported = counterfactuals.iter().all(|cf| cf.unsupported == 0);
        if let Some(part) = self.supported_part(all_supported) {
            part.add_cells(key, person, counterfactuals.iter().filter(|cf| cf.unsupported == 0));
        }
        self.add_cells(key, person, counterfactuals.iter());
    }

    /// Adds one person to the cells of all classes.
    fn add_cells<'a>(
        &mut self,
        key: u64,
        &ClassPerson { group, label, predicted, weight, .. }: &ClassPerson<'_>,
        counterfactuals: impl Iterator<Item = &'a ClassCounterfactual<'a>>,
    ) {
        let outcomes: Vec<(usize, Option<usize>)> =
            counterfactuals.map(|cf| (cf.to, cf.predicted)).collect();
        let filled =
            outcomes.iter().map(|&(to, after)| (group * self.groups + to, predicted, after));
        self.tally.add((key, weight), (group, label, predicted), &outcomes, filled);
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        self.tally.classes
    }

    /// The counterfactuals of a direction, or all of them, by label and both predictions.
    pub(crate) fn cells(&self, direction: Option<(usize, usize)>) -> Vec<ClassCell> {
        let classes = self.classes();
        self.tally.cells(|kind| {
            let is_here = |to| direction.is_none_or(|direction| direction == (kind.group, to));
            let cells = kind.cells(classes).filter(|(to, ..)| is_here(*to));
            let cell = |cell| [kind.label, Some(cell / classes), Some(cell % classes)];
            cells.map(|(_, at, times)| (cell(at), times)).collect::<Vec<_>>()
        })
    }

    pub(crate) fn scope_index(&self) -> ScopeIndex {
        ScopeIndex { groups: self.groups }
    }

    /// The units of every scope, by its number, by the cells of the matrix. Rows of weight 0 are
    /// left out. Walks over all patterns: call it once.
    pub(crate) fn units(&self) -> Vec<UnitSums> {
        let (places, tally) = (self.scope_index(), &self.tally);
        let cell = |_: Option<usize>, before, after| before * tally.classes + after;
        let rows = tally.people.units(tally.square(), tally.weighted, cell);
        let of_scope = |(place, rows): (usize, &UnitSums)| {
            let held = places.numbers_of(place);
            rows.with_persons(tally.persons(|direction| held.contains(&direction)))
        };
        rows.iter().enumerate().map(of_scope).collect()
    }
}

additive!(supported SwitchClassCounts { tally } or so_far);
additive!(accumulated SwitchClassCounts);
