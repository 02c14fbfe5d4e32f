//! Updates the columns linked to a sensitive attribute that a strategy has set.
//!
//! The columns that the attribute is derived from are set, and derived features are computed again.
//! An attribute may be derived from other columns, and a model may read those. After generation,
//! for every strategy:
//! * a cross sets the parts that differ between the two groups, and these set their parts in turn;
//!   a part that does not differ keeps its raw value;
//! * a mapped attribute sets its raw column to the most frequent raw value among the reference rows
//!   of the target group with the row's label; a row without a label takes the most frequent value
//!   of the group over all labels, and so does one whose label has no reference row in the group;
//!   if no reference row belongs to the group, nothing can be written, and there is no
//!   counterfactual ([`WriteBack::can_set_group`]);
//! * a binned number stays as the strategy left it: it is a feature like any other. If it is not in
//!   the bin of the group, because a small stratum or a check left it unchanged, the row
//!   contradicts itself ([`WriteBack::contradicts_group`]);
//! * the value of an expression is computed from its columns, which the strategy has set;
//! * every other derived feature is computed again in the rows where one of its parent columns
//!   changed. It is never moved on its own, so it cannot contradict its parents.
//!
//! Choice: ties between raw values go to the first level of the raw column (declared order, then
//! bytes), among numbers to the lowest. A part of a cross is set as if it were the whole attribute:
//! its raw value is the most frequent one of the part's group, not of the cross. The level
//! `missing` belongs to a group only if the map names it. Rows are counted without weights. A name
//! without a row in the data has no level: then the feature is missing.
//! Cost: one pass over the reference rows if there is a map; then linear in the rows.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::counterfactual::value_counts::{CountedValue, ValueCounts};
use crate::data::prepare::derive::{DerivationRule, DerivedFeature, JOINER};
use crate::data::rows::number_array;
use crate::data::sql::{self, SqlProgram};
use crate::data::values::SourceValues;
use crate::data::{Feature, FeatureColumn, FeatureRows, Layout, MISSING, MISSING_LEVEL};
use crate::error::{Fault, Result};
use crate::exec::accumulator::{Accumulator, map_as_list};
use crate::num::additive::absorb_map;
use crate::num::ecdf::number_of_bits;

/// Negative, positive, no label.
const N_CLASSES: usize = 3;

/// Largest number of different numbers that an attribute is mapped from.
const MAX_NUMBERS: usize = 100_000;

/// Counts, by label, of the raw values that an attribute is mapped from; merge in any order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RawCounts {
    /// By feature.
    columns: Vec<(usize, ValueCounts)>,
}

fn class_of_label(label: Option<bool>) -> usize {
    label.map_or(2, usize::from)
}

impl RawCounts {
    /// An empty accumulator for the attribute at a position.
    pub(crate) fn new(layout: &Layout, attribute: usize) -> Self {
        let set = features_set_with(layout, attribute);
        let maps = set.iter().filter_map(|&feature| layout.derivation(feature));
        let maps = maps.filter(|derived| matches!(derived.rule, DerivationRule::Map { .. }));
        let features: IndexSet<usize> =
            maps.flat_map(|derived| derived.parents.iter().flatten().copied()).collect();
        let column = |feature: usize| {
            let described = &layout.features[feature];
            let counts = match described.kind.is_coded() {
                true => ValueCounts::of_levels(N_CLASSES, described.levels.len()),
                false => ValueCounts::of_numbers(N_CLASSES, MAX_NUMBERS),
            };
            (feature, counts)
        };
        RawCounts { columns: features.into_iter().map(column).collect() }
    }

    /// Whether the attribute is mapped from any raw column.
    pub(crate) fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Counts reference rows by their positions, each with its label: `None` where it is missing or
    /// the job has no label.
    pub(crate) fn add(&mut self, rows: &FeatureRows, counted: &[(usize, Option<bool>)]) {
        let counted = counted.iter().map(|&(i, label)| (i, class_of_label(label)));
        for (feature, counts) in &mut self.columns {
            match &rows.columns[*feature] {
                FeatureColumn::Code(codes) => {
                    counts.add_levels(counted.clone().map(|(i, class)| (codes[i], class)));
                }
                FeatureColumn::Number(numbers) => {
                    counts.add_numbers(counted.clone().map(|(i, class)| (numbers[i], class)));
                }
            }
        }
    }

    /// Fails where a mapped column has too many different numbers.
    ///
    /// # Errors
    /// The column, with what to do instead.
    pub(crate) fn check(&self, layout: &Layout) -> Result<()> {
        let beyond = |(_, counts): &&(usize, ValueCounts)| counts.ranges().is_some();
        let Some((feature, _)) = self.columns.iter().find(beyond) else { return Ok(()) };
        let name = &layout.features[*feature].name;
        let what = format!(
            "column `{name}` has more than {MAX_NUMBERS} different numbers, and groups are mapped \
             from it: the most frequent numbers of each group cannot be counted"
        );
        Fault::new("too-many-levels", what)
            .in_column(name)
            .fail("define the groups of numbers by `bins` in `data.derive` instead of `map`")
    }
}

impl Accumulator for RawCounts {
    fn merge(&mut self, other: Self) {
        let both = self.columns.iter_mut().zip(other.columns);
        both.for_each(|((_, mine), (_, theirs))| mine.merge(theirs));
    }
}

/// The name that a rule gives to a level of its raw column.
///
/// The level for missing values has a name only if the rule gives it one.
fn name_of_level<'a>(rule: &'a DerivationRule, level: &str) -> Option<&'a str> {
    match rule {
        DerivationRule::Map { names, .. } if level == MISSING_LEVEL => {
            names.get(level).map(String::as_str)
        }
        _ => rule.name(level),
    }
}

/// A counterfactual that was generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteBackRow {
    /// The position of the row among the generated rows.
    pub row: usize,
    /// The position of its original.
    pub parent: usize,
    /// The group of the original.
    pub from: usize,
    /// The target group.
    pub to: usize,
}

/// The features that are set with the attribute at a position.
///
/// They are its own feature, and the features that it is mapped or crossed from.
pub(crate) fn features_set_with(layout: &Layout, attribute: usize) -> Vec<usize> {
    let own = layout.attributes[attribute].feature;
    layout.with_ancestors_where(own, |derived| !derived.rule.is_one_way())
}

/// The numbers from which the attribute at a position, or one of its parts, is binned.
pub(crate) fn binned_below(layout: &Layout, attribute: usize) -> Vec<usize> {
    let set = features_set_with(layout, attribute);
    let bins = layout
        .derived
        .iter()
        .filter(|derived| set.contains(&derived.feature) && derived.rule.is_one_way());
    bins.flat_map(|derived| derived.parents.iter().flatten().copied()).collect()
}

/// A feature that is set to a level or number, with the features that it is derived from.
#[derive(Debug, Clone, PartialEq)]
struct FeatureAssignment {
    feature: usize,
    value: CountedValue,
    parents: Vec<FeatureAssignment>,
}

impl FeatureAssignment {
    /// Whether a row changes: a feature that has its value already is left unchanged, and so are
    /// the features below it.
    fn changes(&self, originals: &FeatureRows, parent: usize) -> bool {
        let there = match (&originals.columns[self.feature], self.value) {
            (FeatureColumn::Code(codes), CountedValue::Level(code)) => codes[parent] == code,
            (FeatureColumn::Number(numbers), CountedValue::Number(bits)) => {
                numbers[parent] == number_of_bits(bits)
            }
            _ => false,
        };
        !there
    }

    /// Adds every assignment that changes a row.
    fn list<'a>(&'a self, originals: &FeatureRows, parent: usize, changed: &mut Vec<&'a Self>) {
        if self.changes(originals, parent) {
            changed.push(self);
            self.parents.iter().for_each(|set| set.list(originals, parent, changed));
        }
    }

    /// Whether it changes a feature of a row.
    fn sets(&self, originals: &FeatureRows, parent: usize, feature: usize) -> bool {
        let below = || self.parents.iter().any(|set| set.sets(originals, parent, feature));
        self.changes(originals, parent) && (self.feature == feature || below())
    }
}

/// The updates that follow when one sensitive attribute is set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WriteBack {
    /// The assignment of each group and class; none where the attribute is kept.
    ///
    /// `None` where the group, or a part of it, has no raw value.
    assignments: Vec<[Option<FeatureAssignment>; N_CLASSES]>,
    recomputations: Vec<Recomputation>,
    /// If a number decides the group: positions in `recomputations` of the features of the
    /// attribute.
    group_deciding: Vec<usize>,
}

impl WriteBack {
    /// The updates for the attribute at a position, from the raw values of its reference rows.
    pub(crate) fn new(layout: &Layout, attribute: usize, counts: &RawCounts) -> Self {
        let described = &layout.attributes[attribute];
        let sets = |&level: &u32| {
            std::array::from_fn(|class| {
                ClassAssigning { layout, counts, class }.set(described.feature, level)
            })
        };
        let sets = described.level_of_group.iter().map(sets).collect();
        let own = features_set_with(layout, attribute);
        let is_bins = |derived: &DerivedFeature| derived.rule.is_one_way();
        // A number that no model reads is not moved, so it cannot contradict the group.
        let is_read = |derived: &DerivedFeature| {
            derived.parents.iter().all(|parent| {
                parent.is_some_and(|parent| layout.is_input(parent) || !is_bins(derived))
            })
        };
        let mine = || {
            layout
                .derived
                .iter()
                .enumerate()
                .filter(|(_, derived)| own.contains(&derived.feature) && is_read(derived))
        };
        let group_deciding = if mine().any(|(_, derived)| is_bins(derived)) {
            mine().map(|(k, _)| k).collect()
        } else {
            Vec::new()
        };
        WriteBack {
            assignments: sets,
            recomputations: Recomputation::of_layout(layout),
            group_deciding,
        }
    }

    /// The updates for rows whose attribute is kept: only derived features are computed again.
    pub(crate) fn derived_only(layout: &Layout) -> Self {
        WriteBack {
            assignments: Vec::new(),
            recomputations: Recomputation::of_layout(layout),
            group_deciding: Vec::new(),
        }
    }

    /// Whether a generated row has numbers outside the group it is set to.
    ///
    /// Call it after [`WriteBack::apply`].
    pub(crate) fn contradicts_group(&self, made: &FeatureRows, row: usize) -> bool {
        let mut deciding = self.group_deciding.iter().map(|&k| &self.recomputations[k]);
        deciding.any(|again| {
            made.codes(again.derived.feature).get(row) != again.codes_at(made, &[row]).first()
        })
    }

    /// Whether there is nothing to update: no attribute and no feature is derived.
    pub(crate) fn is_empty(&self) -> bool {
        self.recomputations.is_empty()
    }

    /// Whether rows can be set to group `to`: each mapped column has a raw value for it.
    pub(crate) fn can_set_group(&self, to: usize) -> bool {
        self.assignments[to].iter().all(Option::is_some)
    }

    /// Updates the generated rows and returns what was written.
    ///
    /// `originals` are their original rows, `labels` the labels of these, empty without a label.
    pub(crate) fn apply(
        &self,
        made: &mut FeatureRows,
        changes: &[WriteBackRow],
        originals: &FeatureRows,
        labels: &[Option<bool>],
    ) -> WrittenCounts {
        let set = |change: &WriteBackRow| {
            let class = class_of_label(labels.get(change.parent).copied().flatten());
            self.assignments.get(change.to)?[class].as_ref()
        };
        let mut written = WrittenCounts::default();
        let mut changed = Vec::new();
        for change in changes {
            let Some(set) = set(change) else { continue };
            set.list(originals, change.parent, &mut changed);
            for &FeatureAssignment { feature, value: cell, .. } in changed.drain(..) {
                if !self.recomputations.iter().any(|again| again.derived.feature == feature) {
                    let bits = match cell {
                        CountedValue::Level(code) => u64::from(code),
                        CountedValue::Number(bits) => bits,
                    };
                    *written.0.entry((change.from, change.to, feature, bits)).or_default() += 1;
                }
                match (&mut made.columns[feature], cell) {
                    (FeatureColumn::Code(codes), CountedValue::Level(code)) => {
                        codes[change.row] = code
                    }
                    (FeatureColumn::Number(numbers), CountedValue::Number(bits)) => {
                        numbers[change.row] = number_of_bits(bits)
                    }
                    _ => {}
                }
            }
        }
        self.compute_again(made, originals, changes.iter().copied(), |change, derived| {
            set(change).is_some_and(|set| set.sets(originals, change.parent, derived))
        });
        written
    }

    /// Computes derived features again where a parent changed, but for those that are set.
    fn compute_again(
        &self,
        made: &mut FeatureRows,
        originals: &FeatureRows,
        changes: impl Iterator<Item = WriteBackRow> + Clone,
        is_set: impl Fn(&WriteBackRow, usize) -> bool,
    ) {
        for again in &self.recomputations {
            let is_stale = |change: &WriteBackRow| {
                let moved = |&parent: &usize| {
                    let made = &made.columns[parent];
                    made.differs(change.row, &originals.columns[parent], change.parent)
                };
                let derived = &again.derived;
                derived.parents.iter().flatten().any(moved) && !is_set(change, derived.feature)
            };
            let stale: Vec<usize> =
                changes.clone().filter(is_stale).map(|change| change.row).collect();
            again.write(made, &stale);
        }
    }

    /// Computes derived features again in rows that were made from these, each from its parent,
    /// and whose attribute is kept.
    pub(crate) fn follow(
        &self,
        made: &mut FeatureRows,
        originals: &FeatureRows,
        parent: impl Fn(usize) -> usize,
    ) {
        let change = |row| WriteBackRow { row, parent: parent(row), from: 0, to: 0 };
        let all = (0..made.n).map(change);
        self.compute_again(made, originals, all, |_, _| false);
    }
}

/// The number of counterfactuals of a direction with each value in a column that is not derived.
///
/// Merge in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WrittenCounts(
    #[serde(with = "map_as_list")] BTreeMap<(usize, usize, usize, u64), u64>,
);

impl WrittenCounts {
    /// The written values with their counts, for each direction and column.
    ///
    /// A direction is the group of the original and the target group.
    ///
    /// Sorted by group, then column, then in the order of the column's values.
    pub(crate) fn values<'a>(
        &'a self,
        layout: &'a Layout,
    ) -> impl Iterator<Item = (usize, usize, &'a Feature, String, u64)> + 'a {
        self.0.iter().map(|(&(from, to, feature, bits), &n)| {
            let described = &layout.features[feature];
            let level = usize::try_from(bits).ok().and_then(|code| described.levels.get(code));
            let value = if described.kind.is_coded() {
                level.cloned().unwrap_or_default()
            } else {
                number_of_bits(bits).to_string()
            };
            (from, to, described, value, n)
        })
    }
}

impl Accumulator for WrittenCounts {
    fn merge(&mut self, other: Self) {
        absorb_map(&mut self.0, other.0);
    }
}

/// What is set in rows of a class.
struct ClassAssigning<'a> {
    layout: &'a Layout,
    counts: &'a RawCounts,
    class: usize,
}

impl ClassAssigning<'_> {
    /// A feature set to a level, with the assignments of the features it is derived from.
    ///
    /// `None` where a group has no raw value.
    fn set(&self, feature: usize, level: u32) -> Option<FeatureAssignment> {
        let (layout, value) = (self.layout, CountedValue::Level(level));
        let mut set = FeatureAssignment { feature, value, parents: Vec::new() };
        let (Some(derived), Some(name)) =
            (layout.derivation(feature), layout.features[feature].levels.get(level as usize))
        else {
            return Some(set);
        };
        match (&derived.rule, derived.parents.as_slice()) {
            (DerivationRule::Map { .. }, [Some(raw)]) => {
                set.parents.push(match self.most_frequent(derived, *raw, name)? {
                    CountedValue::Level(code) => self.set(*raw, code)?,
                    value => FeatureAssignment { feature: *raw, value, parents: Vec::new() },
                })
            }
            (DerivationRule::Cross(_), parents) => {
                let mut levels = Vec::new();
                if find_part_levels(layout, derived, 0, name, &mut levels) {
                    for (parent, level) in parents.iter().zip(levels) {
                        if let Some(parent) = parent {
                            set.parents.push(self.set(*parent, level)?);
                        }
                    }
                }
            }
            _ => {}
        }
        Some(set)
    }

    /// The raw value for the group `name`.
    ///
    /// It is the most frequent one of the class, or of all classes where the class has none.
    fn most_frequent(
        &self,
        derived: &DerivedFeature,
        raw: usize,
        name: &str,
    ) -> Option<CountedValue> {
        let (_, counts) = self.counts.columns.iter().find(|(feature, _)| *feature == raw)?;
        let is_named = |value: &CountedValue| match *value {
            CountedValue::Level(code) => {
                let level = self.layout.features[raw].levels.get(code as usize);
                level.and_then(|level| name_of_level(&derived.rule, level)) == Some(name)
            }
            CountedValue::Number(bits) => {
                derived.rule.name_of_number(number_of_bits(bits)) == Some(name)
            }
        };
        let mut values = counts.values();
        values.retain(is_named);
        let best = |classes: std::ops::Range<usize>| {
            let count =
                |value: &CountedValue| classes.clone().map(|c| counts.rows(*value, c)).sum::<u64>();
            // Ties go to the first.
            values.iter().rev().max_by_key(|value| count(value)).filter(|value| count(value) > 0)
        };
        let of_label = if self.class < 2 { best(self.class..self.class + 1) } else { None };
        of_label.or_else(|| best(0..N_CLASSES)).copied()
    }
}

/// Finds a level of each part, from part `k` on, whose joined names are `name`. Returns false if
///
/// there are none.
fn find_part_levels(
    layout: &Layout,
    derived: &DerivedFeature,
    k: usize,
    name: &str,
    levels: &mut Vec<u32>,
) -> bool {
    let Some(&Some(part)) = derived.parents.get(k) else { return false };
    let last = k + 1 == derived.parents.len();
    for (level, code) in layout.features[part].levels.iter().zip(0..) {
        let Some(rest) = name.strip_prefix(derived.rule.part_name(k, level)) else { continue };
        levels.push(code);
        let fits = match last {
            true => rest.is_empty(),
            false => rest
                .strip_prefix(JOINER)
                .is_some_and(|rest| find_part_levels(layout, derived, k + 1, rest, levels)),
        };
        if fits {
            return true;
        }
        levels.pop();
    }
    false
}

/// How to compute a derived feature again.
#[derive(Debug, Clone, PartialEq)]
struct Recomputation {
    derived: DerivedFeature,
    /// The code of each name.
    codes: HashMap<String, u32>,
    /// The levels of each coded parent.
    levels: Vec<Vec<String>>,
    /// The rule, where it is an expression.
    program: Option<SqlProgram>,
}

impl Recomputation {
    /// How to compute each derived feature, in their order.
    fn of_layout(layout: &Layout) -> Vec<Self> {
        layout.derived.iter().map(|derived| Recomputation::new(layout, derived)).collect()
    }

    fn new(layout: &Layout, derived: &DerivedFeature) -> Self {
        let levels = |parent: &Option<usize>| {
            parent.map_or_else(Vec::new, |p| layout.features[p].levels.clone())
        };
        let Feature { levels: names, .. } = &layout.features[derived.feature];
        Recomputation {
            codes: names.iter().cloned().zip(0..).collect(),
            levels: derived.parents.iter().map(levels).collect(),
            program: derived.rule.program(),
            derived: derived.clone(),
        }
    }

    /// Computes the feature of these rows.
    fn write(&self, rows: &mut FeatureRows, at: &[usize]) {
        if at.is_empty() {
            return;
        }
        let made = match &rows.columns[self.derived.feature] {
            FeatureColumn::Code(_) => FeatureColumn::Code(self.codes_at(rows, at)),
            FeatureColumn::Number(_) => {
                // The names of other rules are not numbers.
                let nothing = || vec![f64::NAN; at.len()];
                let numbers = self.computed(rows, at).map_or_else(nothing, |of| of.numbers());
                FeatureColumn::Number(numbers)
            }
        };
        let column = &mut rows.columns[self.derived.feature];
        at.iter().enumerate().for_each(|(k, &row)| column.set(row, &made, k));
    }

    /// The values of an expression for these rows; `None` for other rules.
    fn computed(&self, rows: &FeatureRows, at: &[usize]) -> Option<SourceValues> {
        let program = self.program.as_ref()?;
        let DerivationRule::Sql { classes, .. } = &self.derived.rule else { return None };
        let columns = self.derived.parents.iter().zip(&self.levels).zip(classes);
        let columns: Vec<_> = columns
            .map(|((parent, levels), class)| match parent.map(|p| &rows.columns[p]) {
                None => sql::missing(at.len()),
                Some(FeatureColumn::Number(numbers)) => {
                    number_array(at.iter().map(|&row| numbers[row]).collect())
                }
                Some(FeatureColumn::Code(codes)) => {
                    sql::column_of_levels(levels, *class, at.iter().map(|&row| codes[row]))
                }
            })
            .collect();
        // No row has a text that is too long.
        Some(sql::source_values(&program.compute(&columns, at.len()).values))
    }

    /// The codes of the feature in these rows.
    fn codes_at(&self, rows: &FeatureRows, at: &[usize]) -> Vec<u32> {
        let code = |name: Option<&str>| {
            name.and_then(|name| self.codes.get(name).copied()).unwrap_or(MISSING)
        };
        if let Some(values) = self.computed(rows, at) {
            return (0..at.len()).map(|k| code(values.word(k).as_deref())).collect();
        }
        let rule = &self.derived.rule;
        // The codes of combinations of coded parents.
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut of_row = |&row: &usize| {
            let mut parts = Vec::with_capacity(self.levels.len());
            for parent in &self.derived.parents {
                match parent.map(|p| &rows.columns[p]) {
                    Some(FeatureColumn::Code(codes)) => parts.push(codes[row]),
                    Some(FeatureColumn::Number(numbers)) => {
                        return code(rule.name_of_number(numbers[row]));
                    }
                    None => return MISSING,
                }
            }
            *known.entry(parts).or_insert_with_key(|parts| {
                let words =
                    parts.iter().zip(&self.levels).map(|(&part, levels)| levels.get(part as usize));
                let Some(words) = words.collect::<Option<Vec<&String>>>() else { return MISSING };
                match (rule, words.as_slice()) {
                    (DerivationRule::Cross(_), words) => {
                        let names = words.iter().enumerate();
                        let names: Vec<&str> =
                            names.map(|(k, word)| rule.part_name(k, word)).collect();
                        code(Some(&names.join(JOINER)))
                    }
                    (rule, [word]) => code(name_of_level(rule, word)),
                    _ => MISSING,
                }
            })
        };
        at.iter().map(&mut of_row).collect()
    }
}

#[cfg(test)]
mod tests;
