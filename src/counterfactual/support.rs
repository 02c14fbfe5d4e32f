//! Support: whether the reference rows hold people like a counterfactual, value by value.
//!
//! The thresholds are the same for all sets, regardless of their settings. In a counterfactual of
//! direction a to b
//! * a level v of a nominal or ordinal variable is *unsupported* where P_b(v) <= 0.01,
//!   P_b(v) <= 0.05 P_a(v) and n_b P_a(v) >= 3 ([`AbsenceRule`]); where the counterfactual moved
//!   the variable, P_a(v) counts as 1;
//! * a number is *unsupported* where it is outside of the range of b's reference rows by more than
//!   a tenth of the width of this range (Choice: the ends of a range are the least certain numbers
//!   of a sample: with 700 normal values, one in a hundred values of another sample is outside by a
//!   hundredth of the width, almost none by a tenth);
//! * a one-hot group is *unsupported* where none or several of its columns are set: a group that
//!   the job declares, or one found among columns that it lists separately
//!   ([`SupportCounts::found_groups`]), whose columns are also tested one by one.
//!
//! P are shares of those reference rows of a group that have a value. Missing values are not
//! tested, and no value is tested against a group without reference rows.
//!
//! Input: the counts of the reference rows ([`SupportCounts`]), for each fold if folds have
//! separate reference rows. Every value that may be unsupported in a direction has a place among
//! those of the direction ([`DirectionSupport`]), the same in all folds.
//! Choice: an ordinal variable of more than [`MAX_VALUES`] different numbers is tested as a number.
//! Cost: a look-up for each variable that may be unsupported; memory: a number for each group and
//! level.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counterfactual::absence::AbsenceRule;
use crate::counterfactual::value_counts::{CountedValue, ValueCounts};
use crate::counterfactual::variable::{
    CategoryLevels, StrategyVariable, VariableScale, VariableValues,
};
use crate::data::column::onehot::find_groups;
use crate::data::values::float_text;
use crate::data::{Feature, FeatureKind, FeatureRows, Layout, MISSING};
use crate::exec::accumulator::Accumulator;
use crate::num::bits;
use crate::num::ecdf::number_of_bits;
use crate::num::range::ValueRange;

/// Different numbers of an ordinal variable that are counted.
pub(crate) const MAX_VALUES: usize = 4096;

/// Share of the width of a range by which a number may lie outside.
const MARGIN: f64 = 0.1;

/// The number of places of a direction with a separate bit; all later places share the last bit.
const BITS: usize = 64;

/// Reference rows by group and value; merge in any order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SupportCounts {
    groups: usize,
    variables: Vec<ValueCounts>,
    bits: BitCounts,
}

/// Which variables are columns of 0 and 1, and which of them are 1 in the same rows.
///
/// Columns of which no two are 1 in one row, and that are 1 in as many rows as there are, are a
/// one-hot group without exception.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BitCounts {
    rows: u64,
    /// The number of rows in which each variable is 1; none for a variable with values other than 0
    /// and 1. A missing value is not 1.
    set: Vec<Option<u64>>,
    /// A bit for each pair of variables that are 1 in the same row.
    together: Vec<u64>,
}

impl BitCounts {
    fn new(variables: &[StrategyVariable]) -> Self {
        let may_be = |variable: &StrategyVariable| match &variable.scale {
            VariableScale::Categorical(levels) => levels.n == 2 && variable.columns.len() == 1,
            VariableScale::Ordinal {} | VariableScale::Continuous { .. } => true,
        };
        let set: Vec<Option<u64>> =
            variables.iter().map(|variable| may_be(variable).then_some(0)).collect();
        let together = vec![0; set.len() * set.len().div_ceil(64)];
        BitCounts { rows: 0, together, set }
    }

    /// Words of bits of a variable.
    fn width(&self) -> usize {
        self.set.len().div_ceil(64)
    }

    /// Adds a variable of rows: whether it is 1, or none if it is neither 0 nor 1. Each row has one
    /// bit of `ones` per variable.
    fn add(
        &mut self,
        v: usize,
        values: impl Iterator<Item = Option<bool>> + Clone,
        ones: &mut [u64],
    ) {
        let width = self.width();
        let Some(n) = &mut self.set[v] else { return };
        if values.clone().any(|is_one| is_one.is_none()) {
            return self.remove(v);
        }
        for (row, _) in values.enumerate().filter(|(_, is_one)| *is_one == Some(true)) {
            *n += 1;
            bits::set(&mut ones[row * width..], v);
        }
    }

    /// Adds the bits of all variables of a row.
    fn add_together(&mut self, ones: &[u64]) {
        let width = self.width();
        for v in bits::ones(ones) {
            bits::or(&mut self.together[v * width..(v + 1) * width], ones);
        }
    }

    /// Removes a variable that has other values than 0 and 1.
    fn remove(&mut self, v: usize) {
        let width = self.width();
        self.set[v] = None;
        self.together[v * width..(v + 1) * width].fill(0);
        let of_others = self.together.iter_mut().skip(v / 64).step_by(width.max(1));
        of_others.for_each(|word| *word &= !(1 << (v % 64)));
    }

    fn merge(&mut self, other: BitCounts) {
        self.rows += other.rows;
        bits::or(&mut self.together, &other.together);
        for (v, theirs) in other.set.into_iter().enumerate() {
            match (&mut self.set[v], theirs) {
                (Some(mine), Some(theirs)) => *mine += theirs,
                _ => self.remove(v),
            }
        }
    }

    /// Whether in every row exactly one of these variables is 1.
    fn is_group(&self, columns: &[usize]) -> bool {
        let sum: u64 = columns.iter().filter_map(|&v| self.set[v]).sum();
        let meet =
            |a: usize, b: usize| self.together[a * self.width() + b / 64] >> (b % 64) & 1 == 1;
        sum == self.rows && columns.iter().all(|&a| columns.iter().all(|&b| a == b || !meet(a, b)))
    }
}

impl SupportCounts {
    /// No rows yet, of this many groups.
    pub(crate) fn new(variables: &[StrategyVariable], groups: usize) -> Self {
        let no_counts = |variable: &StrategyVariable| match &variable.scale {
            VariableScale::Categorical(levels) => ValueCounts::of_levels(groups, levels.n as usize),
            VariableScale::Ordinal {} => ValueCounts::of_numbers(groups, MAX_VALUES),
            VariableScale::Continuous { .. } => ValueCounts::of_numbers(groups, 0),
        };
        let bits = BitCounts::new(variables);
        SupportCounts { groups, variables: variables.iter().map(no_counts).collect(), bits }
    }

    /// Counts rows by their positions, each with its group.
    pub(crate) fn add(
        &mut self,
        variables: &[StrategyVariable],
        rows: &FeatureRows,
        counted: &[(usize, usize)],
    ) {
        let width = self.bits.width();
        let mut ones = vec![0; counted.len() * width];
        for (v, (variable, counts)) in variables.iter().zip(&mut self.variables).enumerate() {
            match variable.values(rows) {
                VariableValues::Levels(levels) => {
                    counts.add_levels(counted.iter().map(|&(i, group)| (levels[i], group)));
                    let values = counted.iter().map(|&(i, _)| Some(levels[i] == 1));
                    self.bits.add(v, values, &mut ones);
                }
                VariableValues::Numbers(numbers) => {
                    counts.add_numbers(counted.iter().map(|&(i, group)| (numbers[i], group)));
                    let values = counted.iter().map(|&(i, _)| match numbers[i] {
                        1.0 => Some(true),
                        x => (x == 0.0 || x.is_nan()).then_some(false),
                    });
                    self.bits.add(v, values, &mut ones);
                }
            }
        }
        self.bits.rows += counted.len() as u64;
        ones.chunks_exact(width.max(1)).for_each(|of_row| self.bits.add_together(of_row));
    }

    /// The one-hot groups among single columns: in every row that is counted exactly one column of
    /// a group is 1. They are found as `check` finds them, but without exceptions.
    ///
    /// They come after the variables where a direction is tested ([`DirectionSupport::new`]).
    pub(crate) fn found_groups(
        &self,
        variables: &[StrategyVariable],
        features: &[Feature],
    ) -> Vec<StrategyVariable> {
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        let is_free = |&v: &usize| {
            let has_both = self.bits.set[v].is_some_and(|n| 0 < n && n < self.bits.rows);
            let feature = &features[variables[v].columns[0]];
            let levels: Vec<&str> = feature.levels.iter().map(String::as_str).collect();
            has_both
                && feature.kind != FeatureKind::Sensitive
                && matches!(levels.as_slice(), [] | ["0", "1"] | ["false", "true"])
        };
        let free = (0..variables.len()).filter(is_free).collect();
        let found = find_groups(&names, free, self.bits.rows, |set| self.bits.is_group(set));
        let mut groups: Vec<StrategyVariable> = Vec::new();
        for (at, group) in found.into_iter().enumerate() {
            let is_free = |name: &str| {
                features.iter().all(|feature| feature.name != name)
                    && variables.iter().chain(&groups).all(|variable| variable.name != name)
            };
            let name = group.free_name(at, is_free);
            let n = group.columns.len() as u32;
            groups.push(StrategyVariable {
                name,
                columns: group.columns.iter().map(|&v| variables[v].columns[0]).collect(),
                scale: VariableScale::Categorical(CategoryLevels {
                    n,
                    ..CategoryLevels::default()
                }),
            });
        }
        groups
    }

    /// Rows of a group with a value of a variable; 0 where the variable is a one-hot group that was
    /// found.
    fn rows(&self, variable: usize, value: SupportValue, group: usize) -> u64 {
        match (self.variables.get(variable), value) {
            (Some(counts), SupportValue::Counted(value)) => counts.rows(value, group),
            _ => 0,
        }
    }

    /// Rows of all groups together with a value of a variable.
    fn rows_of_all(&self, variable: usize, value: SupportValue) -> u64 {
        (0..self.groups).map(|group| self.rows(variable, value, group)).sum()
    }
}

impl Accumulator for SupportCounts {
    fn merge(&mut self, other: Self) {
        self.variables.iter_mut().zip(other.variables).for_each(|(a, b)| a.merge(b));
        self.bits.merge(other.bits);
    }
}

/// A value of a variable that may be unsupported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SupportValue {
    /// One that is counted.
    Counted(CountedValue),
    /// A number outside of the range, one that no reference row has, or a one-hot group of which
    /// none or several columns are set.
    Other,
}

/// A value that may be unsupported in a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SupportPlace {
    /// The feature, or the one-hot group.
    pub feature: String,
    /// The level; none of a number and of a one-hot group without a level.
    pub level: Option<String>,
    /// Reference rows of the target group that hold it; 0 without a level.
    pub in_reference: u64,
    /// Rows of all groups; 0 without a level.
    pub level_in_reference: u64,
}

/// What may be unsupported in one direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DirectionSupport {
    /// The values, first the most frequent ones in the own group.
    pub places: Vec<SupportPlace>,
    /// Fold by fold, variable by variable.
    folds: Vec<Vec<VariableSupport<Option<u32>>>>,
}

/// The test of one variable: for each value what is known of it where it is unmoved and where it is
/// moved. That is whether it is unsupported, then its place if it is.
#[derive(Debug, Clone, PartialEq)]
enum VariableSupport<T> {
    /// No value can be unsupported.
    All,
    /// Ascending, all levels or all numbers that are counted; and a one-hot group without a level,
    /// or a moved number that no reference row has.
    Values(Vec<(CountedValue, [T; 2])>, T),
    /// The supported range, and numbers outside of it.
    Range([f64; 2], T),
}

impl DirectionSupport {
    /// The values that may be unsupported from one group to another, from the reference rows of
    /// each fold and of all folds together. `variables` are the counted ones, then groups found
    /// among them.
    pub(crate) fn new(
        variables: &[StrategyVariable],
        features: &[Feature],
        (folds, all): (&[SupportCounts], &SupportCounts),
        (from, to): (usize, usize),
    ) -> Self {
        let tested: Vec<Vec<VariableSupport<bool>>> = folds
            .iter()
            .map(|counts| {
                let variables = variables.iter().enumerate();
                let test = |variable| VariableSupport::new(counts, variable, (from, to));
                variables.map(test).collect()
            })
            .collect();
        // Every value that a fold finds has a place.
        let mut named: Vec<(u64, usize, SupportValue)> = Vec::new();
        for v in 0..variables.len() {
            let mut values: Vec<SupportValue> =
                tested.iter().flat_map(|fold| fold[v].values()).collect();
            values.sort_unstable();
            values.dedup();
            named.extend(values.iter().map(|&value| (all.rows(v, value, from), v, value)));
        }
        named.sort_by_key(|&(n, v, value)| (Reverse(n), v, value));
        let places = named.iter().map(|&(_, v, value)| {
            let variable = &variables[v];
            SupportPlace {
                feature: variable.name.clone(),
                level: level_text(variable, features, value),
                in_reference: all.rows(v, value, to),
                level_in_reference: all.rows_of_all(v, value),
            }
        });
        let places = places.collect();
        let at: BTreeMap<(usize, SupportValue), u32> =
            named.iter().zip(0..).map(|(&(_, v, value), place)| ((v, value), place)).collect();
        let of_fold = |fold: Vec<VariableSupport<bool>>| {
            let numbered = fold.into_iter().enumerate();
            numbered
                .map(|(v, tested)| tested.with_places(|value| at.get(&(v, value)).copied()))
                .collect()
        };
        DirectionSupport { places, folds: tested.into_iter().map(of_fold).collect() }
    }

    /// Passes on the variables of a counterfactual whose values are unsupported, with the places of
    /// these: row `k` of the values that were `made`, by the reference rows of a fold, where folds
    /// have separate ones; the person is row `i` of their `own`.
    pub(crate) fn each_unsupported(
        &self,
        fold: u8,
        (made, k): (&[VariableValues<'_>], usize),
        (own, i): (&[VariableValues<'_>], usize),
        mut each: impl FnMut(usize, u32),
    ) {
        let fold = if self.folds.len() > 1 { usize::from(fold) } else { 0 };
        for (v, support) in self.folds[fold].iter().enumerate() {
            let place = match (&made[v], &own[v]) {
                (VariableValues::Levels(made), VariableValues::Levels(own)) => {
                    support.of_level(made[k], own[i] != made[k])
                }
                (VariableValues::Numbers(made), VariableValues::Numbers(own)) => {
                    support.of_number(made[k], own[i] != made[k])
                }
                _ => None,
            };
            place.into_iter().for_each(|place| each(v, place));
        }
    }

    /// The place of a level of the variable with this number, if it is unsupported; `moved` says
    /// that the person has another one.
    pub(crate) fn of_level(&self, variable: usize, level: u32, moved: bool) -> Option<u32> {
        self.folds[0][variable].of_level(level, moved)
    }

    /// As [`Self::of_level`], for a number. A number of an ordinal variable may lie between its
    /// values; then the nearest value is tested, the lower of two.
    pub(crate) fn of_number(&self, variable: usize, x: f64, moved: bool) -> Option<u32> {
        let support = &self.folds[0][variable];
        let x = match support {
            VariableSupport::Values(values, _) if !x.is_nan() => nearest(values, x),
            _ => x,
        };
        support.of_number(x, moved)
    }
}

/// The value nearest to a number, the lower of two; the number itself if there are no values.
fn nearest<T>(values: &[(CountedValue, [T; 2])], x: f64) -> f64 {
    let above = values.partition_point(|(value, _)| *value < CountedValue::of_number(x));
    let number = |at: usize| match values.get(at)?.0 {
        CountedValue::Number(key) => Some(number_of_bits(key)),
        CountedValue::Level(_) => None,
    };
    match (above.checked_sub(1).and_then(number), number(above)) {
        (Some(below), Some(above)) if above - x < x - below => above,
        (None, Some(above)) => above,
        (Some(below), _) => below,
        (None, None) => x,
    }
}

impl VariableSupport<Option<u32>> {
    fn of_level(&self, level: u32, moved: bool) -> Option<u32> {
        match self {
            VariableSupport::Values(_, none) if level == MISSING => *none,
            VariableSupport::Values(levels, _) => levels.get(level as usize)?.1[usize::from(moved)],
            _ => None,
        }
    }

    fn of_number(&self, x: f64, moved: bool) -> Option<u32> {
        match self {
            VariableSupport::Values(values, unknown) if !x.is_nan() => {
                match values.binary_search_by_key(&CountedValue::of_number(x), |of| of.0) {
                    Ok(at) => values[at].1[usize::from(moved)],
                    Err(_) => unknown.filter(|_| moved),
                }
            }
            VariableSupport::Range([lo, hi], place) => place.filter(|_| x < *lo || x > *hi),
            _ => None,
        }
    }
}

impl VariableSupport<bool> {
    fn new(
        counts: &SupportCounts,
        (variable, of): (usize, &StrategyVariable),
        (from, to): (usize, usize),
    ) -> Self {
        let rule = AbsenceRule::DEFAULT;
        // In a group that was found, each column is also tested separately.
        let Some(counted) = counts.variables.get(variable) else {
            return VariableSupport::Values(Vec::new(), true);
        };
        if let Some(ranges) = counted.ranges() {
            return ranges[to].map_or(VariableSupport::All, |ValueRange(lo, hi)| {
                let margin = (hi - lo) * MARGIN;
                VariableSupport::Range([lo - margin, hi + margin], true)
            });
        }
        let [of_from, of_to] = [from, to].map(|group| counted.rows_with_any(group));
        let other = match of.levels() {
            Some(_) => of.columns.len() > 1,
            None => rule.holds(1.0, (0, of_to)),
        };
        let found = counted.values().into_iter().map(|value| {
            let n = counted.rows(value, from);
            let target = (counted.rows(value, to), of_to);
            let own = if of_from == 0 { 0.0 } else { n as f64 / of_from as f64 };
            (value, [rule.holds(own, target), rule.holds(1.0, target)])
        });
        VariableSupport::Values(found.collect(), other)
    }

    /// The values that may be unsupported.
    fn values(&self) -> Vec<SupportValue> {
        match self {
            VariableSupport::All => Vec::new(),
            VariableSupport::Range(..) => vec![SupportValue::Other],
            VariableSupport::Values(values, other) => {
                let found = values.iter().filter(|(_, is_found)| is_found.contains(&true));
                let other = other.then_some(SupportValue::Other);
                found.map(|(value, _)| SupportValue::Counted(*value)).chain(other).collect()
            }
        }
    }

    fn with_places(
        self,
        place: impl Fn(SupportValue) -> Option<u32>,
    ) -> VariableSupport<Option<u32>> {
        let other = place(SupportValue::Other);
        match self {
            VariableSupport::All => VariableSupport::All,
            VariableSupport::Range(range, _) => VariableSupport::Range(range, other),
            VariableSupport::Values(values, is_other) => {
                let other = other.filter(|_| is_other || !values.is_empty());
                if other.is_none() && !values.iter().any(|(_, found)| found.contains(&true)) {
                    return VariableSupport::All;
                }
                let placed = |(value, found): (CountedValue, [bool; 2])| {
                    let place = place(SupportValue::Counted(value));
                    (value, found.map(|found| place.filter(|_| found)))
                };
                VariableSupport::Values(values.into_iter().map(placed).collect(), other)
            }
        }
    }
}

fn level_text(
    variable: &StrategyVariable,
    features: &[Feature],
    value: SupportValue,
) -> Option<String> {
    let level = |at: usize| match variable.columns.as_slice() {
        [column] => features[*column].levels.get(at).cloned(),
        columns => columns.get(at).map(|&column| features[column].name.clone()),
    };
    match value {
        SupportValue::Counted(CountedValue::Level(at)) => level(at as usize),
        SupportValue::Counted(CountedValue::Number(key)) => {
            let x = number_of_bits(key);
            level(x as usize).or_else(|| Some(float_text(x)))
        }
        SupportValue::Other => None,
    }
}

/// A bit for the place of an unsupported value.
pub(crate) fn place_bit(place: u32) -> u64 {
    1 << (place as usize).min(BITS - 1)
}

/// The number of a place's bit; none where it shares its bit with other places.
pub(crate) fn own_bit(place: usize, n_places: usize) -> Option<u32> {
    (place + 1 < BITS || n_places <= BITS).then_some(place as u32)
}

/// The features that no model reads: hidden ones, and those that all models omit.
pub(crate) fn unread_features(layout: &Layout, omitted: &[Vec<&str>]) -> Vec<usize> {
    let unread = |f: usize| {
        let name = layout.features[f].name.as_str();
        let all_omit = !omitted.is_empty() && omitted.iter().all(|columns| columns.contains(&name));
        layout.hidden.contains(&f) || all_omit
    };
    (0..layout.features.len()).filter(|&f| unread(f)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::FeatureColumn;
    use crate::exec::tests::state_laws::SampleState;

    fn variable(name: &str, columns: &[usize], scale: VariableScale) -> StrategyVariable {
        StrategyVariable { name: name.to_owned(), columns: columns.to_vec(), scale }
    }

    /// Levels, an ordinal number, a number, and a group of two columns.
    fn variables() -> Vec<StrategyVariable> {
        let levels =
            |n| VariableScale::Categorical(CategoryLevels { n, ..CategoryLevels::default() });
        vec![
            variable("relation", &[0], levels(3)),
            variable("grade", &[1], VariableScale::Ordinal {}),
            variable("income", &[2], VariableScale::Continuous { integer: false }),
            variable("region", &[3, 4], levels(2)),
        ]
    }

    fn features() -> Vec<Feature> {
        let number = FeatureKind::REAL;
        vec![
            Feature::of("relation", FeatureKind::Nominal, &["husband", "wife", "single"]),
            Feature::of("grade", FeatureKind::OrdinalNumber, &[]),
            Feature::of("income", number.clone(), &[]),
            Feature::of("north", number.clone(), &[]),
            Feature::of("south", number, &[]),
        ]
    }

    /// Relation, grade, income, and the two regions of a person.
    type SamplePerson = (u32, f64, f64, [f64; 2]);

    fn rows(people: &[SamplePerson]) -> FeatureRows {
        let numbers = |pick: fn(&SamplePerson) -> f64| {
            FeatureColumn::Number(people.iter().map(pick).collect())
        };
        let columns = vec![
            FeatureColumn::Code(people.iter().map(|row| row.0).collect()),
            numbers(|row| row.1),
            numbers(|row| row.2),
            numbers(|row| row.3[0]),
            numbers(|row| row.3[1]),
        ];
        FeatureRows::of(columns)
    }

    /// Men: 150 husbands, 50 single; women: one husband, 149 wives, 50 single. Grades 1 to 4 of
    /// men, 1 to 3 of women; incomes 0 to 199 of men, 0 to 100 of women.
    fn counts() -> SupportCounts {
        let person = |woman: bool, i: u32| {
            let relation = match (woman, i) {
                (_, 150..) => 2,
                (true, 0) | (false, _) => 0,
                (true, _) => 1,
            };
            let (grades, incomes) = if woman { (3, 0.5) } else { (4, 1.0) };
            let x = f64::from(i);
            (relation, f64::from(1 + i % grades), x * incomes, [1.0, 0.0])
        };
        let mut counts = SupportCounts::new(&variables(), 2);
        for (group, woman) in [(0, false), (1, true)] {
            let all = rows(&(0..200).map(|i| person(woman, i)).collect::<Vec<_>>());
            let counted: Vec<_> = (0..200).map(|i| (i, group)).collect();
            counts.add(&variables(), &all, &counted);
        }
        counts
    }

    fn direction(from: usize, to: usize) -> DirectionSupport {
        let counts = counts();
        let folds = std::slice::from_ref(&counts);
        DirectionSupport::new(&variables(), &features(), (folds, &counts), (from, to))
    }

    fn values<'a>(
        variables: &[StrategyVariable],
        rows: &'a FeatureRows,
    ) -> Vec<VariableValues<'a>> {
        variables.iter().map(|variable| variable.values(rows)).collect()
    }

    /// The unsupported values of a man as a woman, who has become `made`.
    fn found(own: (u32, f64, f64, [f64; 2]), made: (u32, f64, f64, [f64; 2])) -> Vec<String> {
        let (to_women, own, made) = (direction(0, 1), rows(&[own]), rows(&[made]));
        let mut found = Vec::new();
        let [made, own] = [&made, &own].map(|rows| values(&variables(), rows));
        to_women.each_unsupported(0, (&made, 0), (&own, 0), |v, place| {
            let place = &to_women.places[place as usize];
            assert_eq!(place.feature, variables()[v].name);
            let level = place.level.as_deref().unwrap_or("-");
            let rows = (place.in_reference, place.level_in_reference);
            found.push(format!("{} {level} {rows:?}", place.feature));
        });
        found
    }

    const NORTH: [f64; 2] = [1.0, 0.0];

    #[test]
    fn a_woman_who_is_a_husband_is_unsupported() {
        let single = (2, 1.0, 50.0, NORTH);
        assert!(found(single, single).is_empty());
        let husband = (0, 1.0, 50.0, NORTH);
        assert_eq!(found(husband, husband), ["relation husband (1, 151)"]);
        // Moved to wives: there are many.
        assert!(found(husband, (1, 1.0, 50.0, NORTH)).is_empty());
        // Moved to a level that almost no woman has, regardless of men.
        assert_eq!(found(single, husband), ["relation husband (1, 151)"]);
        let to_men = direction(1, 0);
        assert_eq!(to_men.places[0].level.as_deref(), Some("wife"));
        assert!(to_men.of_level(0, 0, false).is_none());
        assert!(found((MISSING, 1.0, 50.0, NORTH), (MISSING, 1.0, 50.0, NORTH)).is_empty());
    }

    #[test]
    fn numbers_are_tested_by_range_and_ordinal_ones_by_value() {
        let with = |grade, income| (2, grade, income, NORTH);
        assert_eq!(found(with(4.0, 50.0), with(4.0, 50.0)), ["grade 4 (0, 50)"]);
        // Women have up to 99.5; a tenth of that is allowed.
        assert!(found(with(1.0, 109.4), with(1.0, 109.4)).is_empty());
        assert_eq!(found(with(1.0, 109.6), with(1.0, 109.6)), ["income - (0, 0)"]);
        // A value that no person has, whether it was moved or not.
        assert!(found(with(2.5, 1.0), with(2.5, 1.0)).is_empty());
        assert_eq!(found(with(2.0, 1.0), with(2.5, 1.0)), ["grade - (0, 0)"]);
        // For graphs the nearest value.
        let to_women = direction(0, 1);
        assert!(to_women.of_number(1, 3.4, true).is_none());
        assert!(to_women.of_number(1, 3.6, false).is_some());
    }

    #[test]
    fn a_one_hot_group_has_one_level() {
        let with = |region| (2, 1.0, 50.0, region);
        for none in [[0.0, 0.0], [1.0, 1.0]] {
            assert_eq!(found(with(NORTH), with(none)), ["region - (0, 0)"]);
        }
        // No person is in the south, so this level has no share.
        assert!(found(with([0.0, 1.0]), with([0.0, 1.0])).is_empty());
        assert_eq!(found(with(NORTH), with([0.0, 1.0])), ["region south (0, 0)"]);
    }

    /// The regions as separate columns.
    fn apart() -> Vec<StrategyVariable> {
        let number = VariableScale::Continuous { integer: true };
        let number_of = |name: &str, column: usize| variable(name, &[column], number.clone());
        vec![number_of("income", 2), number_of("north", 3), number_of("south", 4)]
    }

    #[test]
    fn columns_of_which_one_is_set_in_every_row_are_a_group() {
        let counted = |regions: &[[f64; 2]]| {
            let all =
                rows(&regions.iter().map(|region| (2, 1.0, 50.0, *region)).collect::<Vec<_>>());
            let mut counts = SupportCounts::new(&apart(), 1);
            counts.add(&apart(), &all, &(0..regions.len()).map(|i| (i, 0)).collect::<Vec<_>>());
            counts
        };
        let mut regions: Vec<[f64; 2]> =
            (0..40).map(|i| if i < 20 { NORTH } else { [0.0, 1.0] }).collect();
        let counts = counted(&regions);
        let mut variables = apart();
        variables.extend(counts.found_groups(&apart(), &features()));
        assert_eq!(variables.len(), 4);
        assert_eq!(
            (variables[3].name.as_str(), variables[3].columns.as_slice()),
            ("onehot_1", &[3, 4][..])
        );
        let folds = std::slice::from_ref(&counts);
        let direction = DirectionSupport::new(&variables, &features(), (folds, &counts), (0, 0));
        let own = rows(&[(2, 1.0, 50.0, NORTH)]);
        for (made, unsupported) in
            [(NORTH, false), ([0.0, 1.0], false), ([0.0, 0.0], true), ([1.0, 1.0], true)]
        {
            let made = rows(&[(2, 1.0, 50.0, made)]);
            let mut found = Vec::new();
            let [made, own] = [&made, &own].map(|rows| values(&variables, rows));
            direction.each_unsupported(0, (&made, 0), (&own, 0), |v, _| found.push(v));
            assert_eq!(found, if unsupported { vec![3] } else { vec![] });
        }
        // With one exception they are not a group.
        for exception in [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]] {
            regions[7] = exception;
            assert!(counted(&regions).found_groups(&apart(), &features()).is_empty());
        }
    }

    #[test]
    fn many_values_of_an_ordinal_variable_are_a_number() {
        let variables = [variable("grade", &[0], VariableScale::Ordinal {})];
        let column = |from: usize, n: usize| {
            let values = (from..from + n).map(|x| x as f64).collect();
            FeatureRows::of(vec![FeatureColumn::Number(values)])
        };
        let count = |from: usize, n: usize| {
            let (rows, mut counts) = (column(from, n), SupportCounts::new(&variables, 1));
            counts.add(&variables, &rows, &(0..n).map(|i| (i, 0)).collect::<Vec<_>>());
            counts
        };
        let whole = count(0, MAX_VALUES + 1);
        for cut in [1, MAX_VALUES / 2, MAX_VALUES] {
            let (mut first, last) = (count(0, cut), count(cut, MAX_VALUES + 1 - cut));
            first.merge(last);
            assert_eq!(first, whole);
        }
        assert_ne!(count(0, MAX_VALUES), whole);
    }

    #[test]
    fn the_last_bit_is_that_of_all_further_places() {
        assert_eq!([place_bit(0), place_bit(63), place_bit(64)], [1, 1 << 63, 1 << 63]);
        assert_eq!([own_bit(62, 90), own_bit(63, 90), own_bit(63, 64)], [Some(62), None, Some(63)]);
    }

    impl SampleState for SupportCounts {
        fn sample(_: u64) -> Self {
            SupportCounts::new(&[variables(), apart()].concat(), 2)
        }

        fn add_sample(&mut self, row: u64) {
            let x = row as f64;
            let sample = rows(&[(row as u32 % 4, x % 5.0, 0.1 * x, [x % 2.0, x % 3.0])]);
            self.add(&[variables(), apart()].concat(), &sample, &[(0, row as usize % 2)]);
        }
    }
}
