//! Labels and predictions of several classes, counted: one pass, whole numbers, mergeable across
//! batches.
//!
//! Groups are numbered in reference order, classes as declared. The rules are those of two classes
//! ([`counts`](crate::metric::evidence::counts)): people without a label count wherever no label is
//! needed, and are in a separate matrix.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::AddAssign;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::evidence::additive::{Additive, additive};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::matrix::ClassMatrix;
use crate::metric::evidence::person::{Confusion, ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::score_grid::ScoreGrid;
use crate::metric::evidence::strata::Strata;
use crate::metric::evidence::supported::SupportedOnly;
use crate::metric::evidence::units::{MatrixUnits, WeightSums, units_of_persons};
use crate::metric::scope::{GroupSelection, ScopeIndex};

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
    /// By group, the rows of each cell of the matrix and what they weigh, row by row.
    cells: Vec<Vec<WeightSums>>,
    /// What the rows of each person weigh by group and cell; none where each row is a person.
    persons: Option<PersonClassCells>,
    one_vs_all: Vec<FactualCounts>,
    /// People without a group by label and prediction, each unknown 0 or the class from 1 on.
    without_group: KeyedSums<(u32, u32), WeightSums>,
}

/// The label and the prediction of some people, each unknown or a class; how many they are, and
/// what they weigh in whole units.
pub(crate) type ClassState = ([Option<usize>; 2], u64, u64);

impl FactualClassCounts {
    /// No rows yet, for this number of classes and of groups.
    pub(crate) fn new(classes: usize, groups: usize) -> Self {
        FactualClassCounts {
            classes,
            weighted: false,
            cells: vec![vec![WeightSums::default(); classes * classes]; groups],
            persons: None,
            one_vs_all: vec![FactualCounts::new(groups); classes],
            without_group: KeyedSums::default(),
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
        let (weighted, persons) = (unit.weighted, unit.persons.then(PersonClassCells::default));
        FactualClassCounts { weighted, persons, ..self.map_classes(|of| of.counted_by(unit)) }
    }

    /// The same where scores as such are measured, of which there are none yet.
    #[must_use]
    pub(crate) fn with_scores(self, scores: &LabelledScores) -> Self {
        self.map_classes(|counts| counts.with_scores(scores.clone()))
    }

    /// The same where people fall into strata, of which none holds anybody yet.
    #[must_use]
    pub(crate) fn with_strata(self, strata: &Strata) -> Self {
        self.map_classes(|counts| counts.with_strata(strata.clone()))
    }

    /// The same without the scores of people.
    #[must_use]
    pub(crate) fn without_scores(self) -> Self {
        self.map_classes(FactualCounts::without_scores)
    }

    /// The same where curves of every threshold are asked for.
    #[must_use]
    pub(crate) fn with_grid(self, grid: ScoreGrid) -> Self {
        self.map_classes(|counts| counts.with_grid(grid))
    }

    /// Adds one row. `keys` are those of the person and of the row.
    ///
    /// # Panics
    /// Where a group or a class is beyond its number: a bug of the caller.
    pub(crate) fn add(&mut self, keys: (u64, u64), person: &ClassPerson<'_>) {
        let tied = person.is_tied();
        for (class, counts) in self.one_vs_all.iter_mut().enumerate() {
            let one = person.one_vs_rest(class);
            counts.groups[person.group].add(one.label, one.predicted, tied);
            let labelled = (one.label, one.score.unwrap_or(f64::NAN));
            counts.add_score(person.group, labelled, person.weight, keys);
            let unit = (person.group, keys.0, person.weight);
            counts.add_unit(unit, one.label, one.predicted);
        }
        let (Some(label), Some(predicted)) = (person.label, person.predicted) else { return };
        assert!(
            label < self.classes && predicted < self.classes,
            "class {label} or {predicted} of {}",
            self.classes
        );
        let cell = label * self.classes + predicted;
        self.cells[person.group][cell] += WeightSums::one(person.weight);
        if let Some(persons) = self.persons.as_mut().filter(|_| person.weight > 0) {
            persons.add((keys.0, person.group as u32, cell as u32), person.weight);
        }
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
        if word == u32::MAX && weight > 0 {
            let state = |of: Option<usize>| of.map_or(0, |of| of as u32 + 1);
            let cell = (state(label), state(predicted));
            self.without_group.add(cell, WeightSums::one(weight));
        }
    }

    /// The people without a group by label and prediction, in order.
    pub(crate) fn without_group(&self) -> Vec<ClassState> {
        let mut cells: Vec<_> = self.without_group.0.iter().collect();
        cells.sort_unstable_by_key(|(cell, _)| **cell);
        let class = |of: u32| (of as usize).checked_sub(1);
        let state = |(cell, sums): (&(u32, u32), &WeightSums)| {
            ([class(cell.0), class(cell.1)], sums.people(), sums.sum())
        };
        cells.into_iter().map(state).collect()
    }

    /// The people of some groups without a prediction by label, unknown or a class; weights are 0
    /// where nobody has one.
    pub(crate) fn without_prediction(&self, of: GroupSelection) -> Vec<ClassState> {
        let of_class = |class: Option<usize>| {
            // Whom one class leaves out, all leave out.
            let counts = self.one_vs_all.get(class.unwrap_or(0))?;
            let (rows, weights) = counts.states(of);
            let cell = if class.is_some() { 6 } else { 0 };
            Some(([class, None], rows[cell], weights.map_or(0, |weights| weights[cell])))
        };
        let labels = [None].into_iter().chain((0..self.classes).map(Some));
        labels.filter_map(of_class).filter(|(_, n, _)| *n > 0).collect()
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
        self.cells.len()
    }

    fn sum(&self, of: GroupSelection, number: impl Fn(WeightSums) -> u64) -> ClassMatrix {
        let mut all = ClassMatrix::new(self.classes);
        for group in of.groups(self.groups()) {
            let cells = self.cells[group].iter().enumerate();
            cells.for_each(|(cell, sums)| all.add(cell, number(*sums)));
        }
        all
    }

    /// Labels (rows) against predictions (columns) of some people.
    pub(crate) fn matrix(&self, of: GroupSelection) -> ClassMatrix {
        self.sum(of, WeightSums::people)
    }

    /// The same in units of weight; none where nobody has a weight.
    pub(crate) fn weight_matrix(&self, of: GroupSelection) -> Option<ClassMatrix> {
        self.weighted.then(|| self.sum(of, WeightSums::sum))
    }

    /// The units of some people by the cells of the matrix that they fill.
    pub(crate) fn units(&self, of: GroupSelection) -> ClassUnits {
        let groups: Vec<usize> = of.groups(self.groups()).collect();
        let (mut rows, square) = (Vec::new(), self.classes * self.classes);
        for &group in &groups {
            let cells = self.cells[group].iter().enumerate();
            let filled = cells.filter(|(_, sums)| sums.people() > 0);
            let unit = |(cell, sums): (usize, &WeightSums)| {
                ((group * square + cell) as u64, vec![(cell, 1)], *sums)
            };
            rows.extend(filled.map(unit));
        }
        let of_persons = |persons| persons_at(persons, &groups, |cell| cell);
        ClassUnits { persons: self.persons.as_ref().map(of_persons), rows }
    }

    /// The evidence of each class against all others, in order.
    pub(crate) fn one_vs_rest(&self) -> &[FactualCounts] {
        &self.one_vs_all
    }
}

additive!(accumulated FactualClassCounts {
    cells, persons, without_group, one_vs_all
});

/// What happened to people who behave alike: their group, label and prediction, and the number of
/// their counterfactuals by target group and prediction, ascending.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct ClassPattern {
    group: u32,
    label: u32,
    predicted: u32,
    outcomes: Vec<(u32, u32, u32)>,
}

/// Counterfactuals under one model, one sensitive attribute and one counterfactual set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SwitchClassCounts {
    classes: usize,
    groups: usize,
    weighted: bool,
    /// People of each pattern and what they weigh.
    people: KeyedSums<ClassPattern, WeightSums>,
    /// What the rows of each person weigh by direction and cell of the extended matrix; none where
    /// each row is a person.
    persons: Option<PersonClassCells>,
    one_vs_all: Vec<CounterfactualCounts>,
    /// The same people by their supported counterfactuals alone, without each class against all
    /// others.
    #[serde(default, skip_serializing_if = "SupportedOnly::is_all")]
    supported: SupportedOnly<SwitchClassCounts>,
}

impl SwitchClassCounts {
    /// Nobody yet, for this number of classes and of groups.
    pub(crate) fn new(classes: usize, groups: usize) -> Self {
        let one_vs_all = vec![CounterfactualCounts::new(groups); classes];
        let (people, supported) = (KeyedSums::default(), SupportedOnly::default());
        let (weighted, persons) = (false, None);
        SwitchClassCounts { classes, groups, weighted, people, persons, one_vs_all, supported }
    }

    /// The same people by their supported counterfactuals alone; none where all are supported.
    pub(crate) fn supported(&self) -> Option<&SwitchClassCounts> {
        self.supported.get()
    }

    /// What supported counterfactuals alone give while all are supported.
    fn of_classes_alone(&self) -> SwitchClassCounts {
        SwitchClassCounts {
            weighted: self.weighted,
            people: self.people.clone(),
            persons: self.persons.clone(),
            ..SwitchClassCounts::new(self.classes, self.groups)
        }
    }

    /// The same, counted by this unit too.
    #[must_use]
    pub(crate) fn counted_by(self, unit: CountingUnit) -> Self {
        let one_vs_all =
            self.one_vs_all.into_iter().map(|counts| counts.counted_by(unit)).collect();
        let (weighted, persons) = (unit.weighted, unit.persons.then(KeyedSums::default));
        SwitchClassCounts { weighted, persons, one_vs_all, ..self }
    }

    /// Adds one person with all their counterfactuals of this set; a person is added once. `key` is
    /// the person's own.
    ///
    /// # Panics
    /// Where a group or a class is beyond its number, or a counterfactual leads to the person's own
    /// group: a bug of the caller.
    #[cfg(test)]
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ClassPerson<'_>,
        counterfactuals: &[ClassCounterfactual<'_>],
    ) {
        for (class, counts) in self.one_vs_all.iter_mut().enumerate() {
            let one = person.one_vs_rest(class);
            let moved: Vec<ScoredCounterfactual> =
                counterfactuals.iter().map(|cf| cf.one_vs_rest(class)).collect();
            counts.add_person(key, &one, &moved);
        }
        self.add_classes(key, person, counterfactuals);
    }

    /// The same without each class against all others.
    ///
    /// # Panics
    /// As [`SwitchClassCounts::add`].
    pub(crate) fn add_classes(
        &mut self,
        key: u64,
        person: &ClassPerson<'_>,
        counterfactuals: &[ClassCounterfactual<'_>],
    ) {
        let all = counterfactuals.iter().all(|cf| cf.unsupported == 0);
        let mut supported = std::mem::take(&mut self.supported);
        if let Some(part) = supported.part(all, || self.of_classes_alone()) {
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
        // People without a label are behind those of the last class.
        let label = person.label.unwrap_or(self.classes);
        let Some(predicted) = person.predicted else { return };
        let mut outcomes = BTreeMap::new();
        for (to, after) in counterfactuals.iter().filter_map(|cf| Some((cf.to, cf.predicted?))) {
            let known = label <= self.classes
                && [predicted, after].iter().all(|class| *class < self.classes);
            assert!(known, "class {label}, {predicted} or {after} of {}", self.classes);
            *outcomes.entry((to as u32, after as u32)).or_default() += 1;
            if let Some(persons) = self.persons.as_mut().filter(|_| person.weight > 0) {
                let cell = (label * self.classes + predicted) * self.classes + after;
                let direction = person.group * self.groups + to;
                persons.add((key, direction as u32, cell as u32), person.weight);
            }
        }
        if !outcomes.is_empty() {
            let outcomes =
                outcomes.into_iter().map(|((to, after), times)| (to, after, times)).collect();
            let kind = ClassPattern {
                group: person.group as u32,
                label: label as u32,
                predicted: predicted as u32,
                outcomes,
            };
            self.people.add(kind, WeightSums::one(person.weight));
        }
    }

    /// The same with each class against all others, in order, counted apart.
    #[must_use]
    pub(crate) fn with_one_vs_rest(self, one_vs_all: Vec<CounterfactualCounts>) -> Self {
        SwitchClassCounts { one_vs_all, ..self }
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Whether people have weights.
    pub(crate) fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// Predictions before (rows) and after (columns) of one direction, or of all counterfactuals.
    #[cfg(test)]
    pub(crate) fn matrix(&self, direction: Option<(usize, usize)>) -> ClassMatrix {
        self.sum(WeightSums::people, direction, None)
    }

    /// The same of the people with one label, or of those without: a part of the extended matrix.
    pub(crate) fn matrix_of_label(
        &self,
        direction: Option<(usize, usize)>,
        label: Option<usize>,
    ) -> ClassMatrix {
        self.sum(WeightSums::people, direction, Some(label.unwrap_or(self.classes)))
    }

    /// The matrix of all labels in units of weight; none where nobody has a weight.
    #[cfg(test)]
    pub(crate) fn weight_matrix(&self, direction: Option<(usize, usize)>) -> Option<ClassMatrix> {
        self.weighted.then(|| self.sum(WeightSums::sum, direction, None))
    }

    /// The same of one label, or of those without; none where nobody has a weight.
    pub(crate) fn weight_matrix_of_label(
        &self,
        direction: Option<(usize, usize)>,
        label: Option<usize>,
    ) -> Option<ClassMatrix> {
        let label = Some(label.unwrap_or(self.classes));
        self.weighted.then(|| self.sum(WeightSums::sum, direction, label))
    }

    /// The evidence of each class against all others, in order.
    pub(crate) fn one_vs_rest(&self) -> &[CounterfactualCounts] {
        &self.one_vs_all
    }

    pub(crate) fn scope_index(&self) -> ScopeIndex {
        ScopeIndex { groups: self.groups }
    }

    fn sum(
        &self,
        number: impl Fn(WeightSums) -> u64,
        direction: Option<(usize, usize)>,
        label: Option<usize>,
    ) -> ClassMatrix {
        let mut all = ClassMatrix::new(self.classes);
        let of_label = |kind: &ClassPattern| label.is_none_or(|own| own == kind.label as usize);
        for (kind, sums) in self.people.0.iter().filter(|(kind, _)| of_label(kind)) {
            for &(to, after, times) in &kind.outcomes {
                let own = (kind.group as usize, to as usize);
                if direction.is_none_or(|direction| direction == own) {
                    let cell = kind.predicted as usize * self.classes + after as usize;
                    all.add(cell, number(*sums) * u64::from(times));
                }
            }
        }
        all
    }

    /// The units of every scope, by its number, by the cells of the matrix that they fill; rows of
    /// weight 0 are in none. Walks over all patterns: ask once.
    pub(crate) fn units(&self) -> Vec<ClassUnits> {
        let places = self.scope_index();
        let mut kinds = vec![BTreeMap::<Vec<(usize, u64)>, WeightSums>::new(); places.len()];
        for (kind, sums) in &self.people.0 {
            let mut filled: BTreeMap<usize, BTreeMap<usize, u64>> = BTreeMap::new();
            for &(to, after, times) in &kind.outcomes {
                let cell = kind.predicted as usize * self.classes + after as usize;
                for place in places.scopes_of(kind.group as usize, to as usize) {
                    *filled.entry(place).or_default().entry(cell).or_default() += u64::from(times);
                }
            }
            for (place, cells) in filled {
                *kinds[place].entry(cells.into_iter().collect()).or_default() += *sums;
            }
        }
        let square = self.classes * self.classes;
        let of_scope = |(place, kinds): (usize, BTreeMap<_, _>)| {
            let persons = self.persons.as_ref().map(|persons| {
                persons_at(persons, &places.numbers_of(place), |cell| cell % square)
            });
            let numbers = (place as u64) << 32..;
            let rows = numbers.zip(kinds).map(|(key, (cells, sums))| (key, cells, sums));
            ClassUnits { persons, rows: rows.collect() }
        };
        kinds.into_iter().enumerate().map(of_scope).collect()
    }
}

impl Additive for SwitchClassCounts {
    fn absorb(&mut self, other: &Self) {
        let mut supported = std::mem::take(&mut self.supported);
        let (so_far, theirs) = (|| self.of_classes_alone(), || other.of_classes_alone());
        supported.absorb(&other.supported, so_far, theirs);
        self.supported = supported;
        self.people.absorb(&other.people);
        self.persons.absorb(&other.persons);
        self.one_vs_all.absorb(&other.one_vs_all);
    }
}

additive!(accumulated SwitchClassCounts);

/// What the rows of persons weigh, by key, group or direction, and cell.
type PersonClassCells = KeyedSums<(u64, u32, u32)>;

/// The units of a scope by the cells of a matrix of classes that they fill.
#[derive(Debug, Clone)]
pub(crate) struct ClassUnits {
    /// Kinds of rows.
    pub(crate) rows: Vec<MatrixUnits>,
    /// Persons, ascending by key, each with what the rows weigh; none where each row is a person.
    pub(crate) persons: Option<Vec<MatrixUnits>>,
}

/// Each person with a row at some places, ascending by key.
fn persons_at(
    persons: &PersonClassCells,
    places: &[usize],
    cell_of: impl Fn(usize) -> usize,
) -> Vec<MatrixUnits> {
    let mut all: BTreeMap<(u64, usize), u64> = BTreeMap::new();
    for (&(key, place, cell), weight) in &persons.0 {
        if places.contains(&(place as usize)) {
            *all.entry((key, cell_of(cell as usize))).or_default() += weight;
        }
    }
    units_of_persons(all.into_iter().map(|((key, cell), weight)| (key, cell, weight)))
}

/// Sums by key, written in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyedSums<K: Eq + Hash, T = u64>(HashMap<K, T>);

impl<K: Eq + Hash, T> Default for KeyedSums<K, T> {
    fn default() -> Self {
        KeyedSums(HashMap::new())
    }
}

impl<K: Eq + Hash, T: Copy + Default + AddAssign> KeyedSums<K, T> {
    fn add(&mut self, key: K, n: T) {
        *self.0.entry(key).or_default() += n;
    }
}

impl<K: Eq + Hash + Clone, T: Additive + Clone> Additive for KeyedSums<K, T> {
    fn absorb(&mut self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

impl<K: Serialize + Ord + Hash, T: Serialize> Serialize for KeyedSums<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sorted: Vec<(&K, &T)> = self.0.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        sorted.serialize(serializer)
    }
}

impl<'de, K: Deserialize<'de> + Eq + Hash, T: Deserialize<'de>> Deserialize<'de>
    for KeyedSums<K, T>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(KeyedSums(Vec::<(K, T)>::deserialize(deserializer)?.into_iter().collect()))
    }
}
