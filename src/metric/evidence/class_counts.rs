//! Labels and predictions of several classes, counted: one pass, whole numbers, mergeable across
//! batches.
//!
//! Groups are numbered in reference order, classes as declared. The rules are those of two classes
//! ([`counts`](crate::metric::evidence::counts)): people without a label count wherever no label is
//! needed, and are in a separate matrix.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::outcome_patterns::PatternTally;
use crate::metric::evidence::person::{Confusion, ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::supported::SupportedOnly;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums, units_of_persons};
use crate::metric::scope::{GroupSelection, ScopeIndex};
use crate::num::additive::Additive;

/// One person as scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClassPerson<'a> {
    /// The group, in reference order.
    pub group: usize,
    /// The label, where known.
    pub label: Option<usize>,
    /// The predicted class, where there is one.
    pub predicted: Option<usize>,
    /// The score of each class in [0, 1]; empty where only predictions are known.
    pub scores: &'a [Option<f64>],
    /// Whole units that they weigh; 1 where nobody has a weight.
    pub weight: u64,
}

impl ClassPerson<'_> {
    /// Whether the highest score is that of several classes, so that their order decides.
    pub(crate) fn is_tied(&self) -> bool {
        let highest = self.predicted.and_then(|class| self.scores.get(class).copied().flatten());
        highest.is_some() && self.scores.iter().filter(|score| **score == highest).count() > 1
    }

    /// The person where one class is positive and all others are negative.
    pub(crate) fn one_vs_rest(&self, class: usize) -> ScoredPerson {
        ScoredPerson {
            group: self.group,
            label: self.label.map(|label| label == class),
            predicted: self.predicted.map(|predicted| predicted == class),
            score: self.scores.get(class).copied().flatten(),
            weight: self.weight,
        }
    }
}

/// One counterfactual of a person as scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClassCounterfactual<'a> {
    /// The group they are moved to, in reference order.
    pub to: usize,
    /// The predicted class, where there is one.
    pub predicted: Option<usize>,
    /// The score of each class in [0, 1]; empty where only predictions are known.
    pub scores: &'a [Option<f64>],
    /// As of [`ScoredCounterfactual`].
    pub unsupported: u64,
}

impl ClassCounterfactual<'_> {
    /// The counterfactual where one class is positive and all others are negative.
    pub(crate) fn one_vs_rest(&self, class: usize) -> ScoredCounterfactual {
        ScoredCounterfactual {
            to: self.to,
            predicted: self.predicted.map(|predicted| predicted == class),
            score: self.scores.get(class).copied().flatten(),
            rounded: false,
            unsupported: self.unsupported,
        }
    }
}

/// Labels against predictions of all groups under one model and one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FactualClassCounts {
    classes: usize,
    weighted: bool,
    /// By group, then of no declared group, the rows of each label and prediction, each unknown 0 or
    /// the class from 1 on.
    cells: Vec<Vec<WeightSums>>,
    /// What the rows of each person weigh by group and cell of the matrix; none where each row is a
    /// person.
    persons: Option<PersonCells<1>>,
    one_vs_all: Vec<FactualCounts>,
}

/// The label and the prediction of some people, and of counterfactuals that of these, each unknown
/// or a class; how many they are and what they weigh.
pub(crate) type ClassCell = ([Option<usize>; 3], WeightSums);

impl FactualClassCounts {
    /// No rows yet, for this number of classes and of groups.
    pub(crate) fn new(classes: usize, groups: usize) -> Self {
        FactualClassCounts {
            classes,
            weighted: false,
            cells: vec![vec![WeightSums::default(); (classes + 1) * (classes + 1)]; groups + 1],
            persons: None,
            one_vs_all: vec![FactualCounts::new(groups); classes],
        }
    }

    /// The same with other counts of each class against all others.
    fn map_classes(self, of: impl Fn(FactualCounts) -> FactualCounts) -> Self {
        let one_vs_all = self.one_vs_all.into_iter().map(of).collect();
        FactualClassCounts { one_vs_all, ..self }
    }

    /// The same, counted by this unit too.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        let (weighted, persons) = (unit.weighted, unit.persons.then(PersonCells::new));
        FactualClassCounts { weighted, persons, ..self.map_classes(|of| of.counted_by(unit)) }
    }

    /// The same where each class against all others begins with these counts of nobody.
    #[must_use]
    pub(crate) fn with_one_vs_rest(self, nobody: &FactualCounts) -> Self {
        self.map_classes(|_| nobody.clone())
    }

    /// The same without the scores of people.
    #[must_use]
    pub(crate) fn without_scores(self) -> Self {
        self.map_classes(FactualCounts::without_scores)
    }

    /// Adds one row. `keys` are those of the person and of the row.
    ///
    /// # Panics
    /// Where a group or a class is beyond its number: a bug of the caller.
    pub(crate) fn add(&mut self, keys: (u64, u64), person: &ClassPerson<'_>) {
        let tied = person.is_tied();
        for (class, counts) in self.one_vs_all.iter_mut().enumerate() {
            let one = person.one_vs_rest(class);
            let unit = (person.group, keys.0, person.weight);
            counts.add(unit, one.label, one.predicted, tied);
            let labelled = (one.label, one.score.unwrap_or(f64::NAN));
            counts.add_score(person.group, labelled, person.weight, keys);
        }
        self.add_state(person.group, person.label, person.predicted, person.weight);
        let (Some(label), Some(predicted)) = (person.label, person.predicted) else { return };
        if let Some(persons) = self.persons.as_mut().filter(|_| person.weight > 0) {
            let row = person.group * self.classes + label;
            persons.at(keys.0, row * self.classes + predicted)[0] += person.weight;
        }
    }

    fn add_state(
        &mut self,
        place: usize,
        label: Option<usize>,
        predicted: Option<usize>,
        weight: u64,
    ) {
        let classes = self.classes;
        let state = |of: Option<usize>| {
            of.map_or(0, |of| {
                assert!(of < classes, "class {of} of {classes}");
                1 + of
            })
        };
        let cell = state(label) * (classes + 1) + state(predicted);
        self.cells[place][cell] += WeightSums::one(weight);
    }

    /// Adds the stratum of a row, in addition to the row itself. `key` is the person's own.
    pub(crate) fn add_stratum(&mut self, key: u64, person: &ClassPerson<'_>, stratum: Option<u32>) {
        for (class, counts) in self.one_vs_all.iter_mut().enumerate() {
            let predicted = person.predicted.map(|predicted| predicted == class);
            counts.add_stratum(person.group, (key, person.weight), predicted, stratum);
        }
    }

    /// Adds a row of no declared group, which weighs so many units, by the number of its word;
    /// [`u32::MAX`] = none.
    pub(crate) fn add_ungrouped(
        &mut self,
        word: u32,
        weight: u64,
        label: Option<usize>,
        predicted: Option<usize>,
    ) {
        for (class, counts) in self.one_vs_all.iter_mut().enumerate() {
            let is = |of: Option<usize>| of.map(|of| of == class);
            counts.add_ungrouped(word, weight, is(label), is(predicted));
        }
        if word == u32::MAX {
            self.add_state(self.groups(), label, predicted, weight);
        }
    }

    /// Some people by label and prediction; those of no declared group where `of` is none.
    pub(crate) fn cells(&self, of: Option<GroupSelection>) -> Vec<ClassCell> {
        let places = match of {
            Some(of) => of.groups(self.groups()).collect(),
            None => vec![self.groups()],
        };
        let together = |cell: usize| {
            let mut sums = WeightSums::default();
            places.iter().for_each(|&place: &usize| sums += self.cells[place][cell]);
            let [label, predicted] = [cell / (self.classes + 1), cell % (self.classes + 1)];
            ([label.checked_sub(1), predicted.checked_sub(1), None], sums)
        };
        let cells = 0..(self.classes + 1) * (self.classes + 1);
        cells.map(together).filter(|(_, sums)| sums.people() > 0).collect()
    }

    /// Adds a row of weight 0 of a group, which counts for nothing.
    pub(crate) fn add_weightless(&mut self, group: usize) {
        self.one_vs_all.iter_mut().for_each(|counts| counts.groups[group].add_weightless());
    }

    /// Some people, by label and prediction in each class against all others.
    pub(crate) fn people(&self, of: GroupSelection) -> Confusion {
        self.one_vs_all.first().map_or(Confusion::default(), |counts| counts.confusion(of))
    }

    /// Number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.cells.len() - 1
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// The units of some people by the cells of the matrix that they fill.
    pub(crate) fn units(&self, of: GroupSelection) -> UnitSums {
        let groups: Vec<usize> = of.groups(self.groups()).collect();
        let (mut rows, square) = (Vec::new(), self.classes * self.classes);
        for &group in &groups {
            let states = self.cells[group].chunks_exact(self.classes + 1).skip(1);
            let cells = (0..).zip(states.flat_map(|of_label| &of_label[1..]));
            let filled = cells.filter(|(_, sums)| sums.people() > 0);
            rows.extend(filled.map(|(cell, sums)| UnitKind {
                key: (group * square + cell) as u64,
                cells: vec![(cell, 1)],
                sums: *sums,
            }));
        }
        let persons = self.persons.as_ref().map(|of| persons_at(of, square, &groups));
        UnitSums::new(square, self.weighted, rows, persons)
    }

    /// The evidence of each class against all others, in order.
    pub(crate) fn one_vs_rest(&self) -> &[FactualCounts] {
        &self.one_vs_all
    }
}

additive!(accumulated FactualClassCounts { cells, persons, one_vs_all });

/// Counterfactuals under one model, one sensitive attribute and one counterfactual set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SwitchClassCounts {
    classes: usize,
    groups: usize,
    weighted: bool,
    /// People of each pattern and what they weigh.
    people: PatternTally,
    /// What the rows of each person weigh by direction and cell of the matrix; none where each row
    /// is a person.
    persons: Option<PersonCells<1>>,
    /// The same people by their supported counterfactuals alone.
    #[serde(default, skip_serializing_if = "SupportedOnly::is_all")]
    supported: SupportedOnly<SwitchClassCounts>,
}

impl SwitchClassCounts {
    /// Nobody yet, for this number of classes and of groups.
    pub(crate) fn new(classes: usize, groups: usize) -> Self {
        let (people, supported) = (PatternTally::new(groups, classes), SupportedOnly::default());
        let (weighted, persons) = (false, None);
        SwitchClassCounts { classes, groups, weighted, people, persons, supported }
    }

    /// The same people by their supported counterfactuals alone; none where all are supported.
    pub(crate) fn supported(&self) -> Option<&SwitchClassCounts> {
        self.supported.get()
    }

    /// What supported counterfactuals alone give while all are supported.
    fn so_far(&self) -> SwitchClassCounts {
        let (people, persons) = (self.people.clone(), self.persons.clone());
        SwitchClassCounts { people, persons, supported: SupportedOnly::default(), ..*self }
    }

    /// The same, counted by this unit too.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        let (weighted, persons) = (unit.weighted, unit.persons.then(PersonCells::new));
        SwitchClassCounts { weighted, persons, ..self }
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
        let all = counterfactuals.iter().all(|cf| cf.unsupported == 0);
        let mut supported = std::mem::take(&mut self.supported);
        if let Some(part) = supported.part(all, || self.so_far()) {
            let kept = counterfactuals.iter().filter(|cf| cf.unsupported == 0);
            part.add_cells(key, person, &kept.copied().collect::<Vec<_>>());
        }
        self.supported = supported;
        self.add_cells(key, person, counterfactuals);
    }

    /// Adds one person to the cells of all classes.
    fn add_cells(
        &mut self,
        key: u64,
        person: &ClassPerson<'_>,
        counterfactuals: &[ClassCounterfactual<'_>],
    ) {
        let moved = counterfactuals.iter().map(|cf| (cf.to, cf.predicted));
        self.people.add(
            (person.group, person.label, person.predicted),
            moved.clone(),
            person.weight,
        );
        let (Some(predicted), Some(persons)) = (person.predicted, &mut self.persons) else {
            return;
        };
        let known = moved.filter_map(|(to, after)| Some((to, after?)));
        for (to, after) in known.filter(|_| person.weight > 0) {
            let direction = person.group * self.groups + to;
            let place = (direction * self.classes + predicted) * self.classes + after;
            persons.at(key, place)[0] += person.weight;
        }
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// The counterfactuals of a direction, or all of them, by label and both predictions.
    pub(crate) fn cells(&self, direction: Option<(usize, usize)>) -> Vec<ClassCell> {
        let mut all: BTreeMap<[Option<usize>; 3], WeightSums> = BTreeMap::new();
        for (kind, sums) in self.people.people() {
            let is_here = |to| direction.is_none_or(|of| of == (kind.group as usize, to));
            let label = kind.label.map(|label| label as usize);
            for (_, cell, times) in kind.cells(self.classes).filter(|(to, ..)| is_here(*to)) {
                let at = [label, Some(cell / self.classes), Some(cell % self.classes)];
                let here = all.entry(at).or_default();
                (0..times).for_each(|_| *here += sums);
            }
        }
        all.into_iter().collect()
    }

    pub(crate) fn scope_index(&self) -> ScopeIndex {
        ScopeIndex { groups: self.groups }
    }

    /// The units of every scope, by its number, by the cells of the matrix that they fill; rows of
    /// weight 0 are in none. Walks over all patterns: ask once.
    pub(crate) fn units(&self) -> Vec<UnitSums> {
        let (places, square) = (self.scope_index(), self.classes * self.classes);
        let cell = |_: Option<u32>, before: u32, after: u32| {
            before as usize * self.classes + after as usize
        };
        let rows = self.people.units(square, self.weighted, cell);
        let Some(of) = &self.persons else { return rows };
        let of_scope = |(place, rows): (usize, &UnitSums)| {
            rows.with_persons(Some(persons_at(of, square, &places.numbers_of(place))))
        };
        rows.iter().enumerate().map(of_scope).collect()
    }
}

additive!(supported SwitchClassCounts { people, persons } or so_far);

/// Each person with a row at some groups or directions, ascending by key, from what the rows of
/// persons weigh by these and so many cells.
fn persons_at(persons: &PersonCells<1>, cells: usize, held: &[usize]) -> Vec<UnitKind> {
    let mut all: BTreeMap<(u64, usize), u64> = BTreeMap::new();
    persons.each(|(key, place), [weight]| {
        if held.contains(&(place / cells)) {
            *all.entry((key, place % cells)).or_default() += weight;
        }
    });
    units_of_persons(all.into_iter().map(|((key, cell), weight)| (key, cell, weight)))
}
