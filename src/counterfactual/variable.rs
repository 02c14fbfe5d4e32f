//! The columns as a strategy uses them: variables with a kind, in declared order.
//!
//! A variable is a feature, or a group of 0/1 columns that represent one nominal feature (one-hot).
//! The column of the sensitive attribute is not a variable: every strategy sets it. A row of a
//! one-hot group with no 1 or with several counts as missing, so impossible combinations of its
//! columns can be neither learnt nor generated.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::data::{Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, MISSING};

/// A variable: a feature or one-hot group that a strategy may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrategyVariable {
    /// The name of the feature, or of the one-hot group.
    pub name: String,
    /// Positions of its columns in [`FeatureRows`]: one, or those of the one-hot group in the order
    /// of their levels. In a column of two levels in a group the second level is 1; strategies
    /// write only groups of numbers.
    pub columns: Vec<usize>,
    /// The kind of the variable.
    pub scale: VariableScale,
}

/// Each variable with its position among those of the same kind: numbers, or categories.
pub(crate) fn in_kinds(
    variables: &[StrategyVariable],
) -> impl Iterator<Item = (usize, &StrategyVariable)> {
    let mut n = [0; 2];
    variables.iter().map(move |variable| {
        let next = &mut n[usize::from(variable.levels().is_none())];
        *next += 1;
        (*next - 1, variable)
    })
}

/// How the values of a variable compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum VariableScale {
    /// Numbers with distances.
    Continuous {
        /// Whether only whole numbers make sense.
        integer: bool,
    },
    /// Numbers, or positions of ordered levels, of which only the order counts.
    Ordinal {},
    /// Levels without an order.
    Categorical(CategoryLevels),
}

/// The levels of a categorical variable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryLevels {
    /// The number of levels; levels are positions below it.
    pub n: u32,
    /// The level that is never a new value, such as the level for missing values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barred: Option<u32>,
    /// The declared counterparts of levels in another group, ascending by level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counterparts: Vec<(u32, u32)>,
}

impl CategoryLevels {
    /// Exactly two levels, each a possible new value: a change takes the other one.
    pub fn is_binary(&self) -> bool {
        self.n == 2 && self.barred.is_none()
    }

    /// The declared counterpart of a level.
    pub fn counterpart(&self, level: u32) -> Option<u32> {
        self.counterparts.iter().find(|(from, _)| *from == level).map(|&(_, to)| to)
    }
}

/// The values of a variable in all rows.
#[derive(Debug, Clone)]
pub(crate) enum VariableValues<'a> {
    /// Levels; [`MISSING`] where a row has none.
    Levels(Vec<u32>),
    /// Numbers; NaN where missing.
    Numbers(Cow<'a, [f64]>),
}

/// Facts about the variables that the features do not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariableOptions {
    /// Positions of the features that are not variables: these are neither learnt nor moved.
    pub excluded: Vec<usize>,
    /// One-hot groups: a name, and positions of 0/1 features in the order of the levels.
    pub onehot: Vec<(String, Vec<usize>)>,
    /// The text of the level that represents missing values, if there is one.
    pub missing_level: Option<String>,
    /// Counterparts by feature: pairs of levels, from and to, as text; unknown levels have no
    /// effect.
    pub counterparts: Vec<(String, Vec<(String, String)>)>,
}

/// The variables of rows with these features when `attribute` is changed.
///
/// In the order of the features; a one-hot group has the place of its first column.
pub(crate) fn variables(
    features: &[Feature],
    attribute: &Attribute,
    extras: &VariableOptions,
) -> Vec<StrategyVariable> {
    let mut variables = Vec::new();
    for (f, feature) in features.iter().enumerate() {
        if f == attribute.feature || extras.excluded.contains(&f) {
            continue;
        }
        if let Some((name, columns)) =
            extras.onehot.iter().find(|(_, columns)| columns.contains(&f))
        {
            if columns.first() == Some(&f) {
                let n = u32::try_from(columns.len()).unwrap_or(MISSING);
                let counterparts = counterparts(extras, name, |word| {
                    columns.iter().position(|&c| features[c].name == word)
                });
                let levels = CategoryLevels { n, barred: None, counterparts };
                variables.push(StrategyVariable {
                    name: name.clone(),
                    columns: columns.clone(),
                    scale: VariableScale::Categorical(levels),
                });
            }
            continue;
        }
        let scale = match feature.kind {
            FeatureKind::Continuous { integer } => VariableScale::Continuous { integer },
            FeatureKind::OrdinalNumber | FeatureKind::OrdinalLevel => VariableScale::Ordinal {},
            FeatureKind::Nominal | FeatureKind::Sensitive => {
                let position = |word: &str| feature.levels.iter().position(|level| level == word);
                let barred = extras
                    .missing_level
                    .as_deref()
                    .and_then(position)
                    .and_then(|at| u32::try_from(at).ok());
                let n = u32::try_from(feature.levels.len()).unwrap_or(MISSING);
                VariableScale::Categorical(CategoryLevels {
                    n,
                    barred,
                    counterparts: counterparts(extras, &feature.name, position),
                })
            }
        };
        variables.push(StrategyVariable { name: feature.name.clone(), columns: vec![f], scale });
    }
    variables
}

fn counterparts(
    extras: &VariableOptions,
    name: &str,
    position: impl Fn(&str) -> Option<usize>,
) -> Vec<(u32, u32)> {
    let level = |word: &String| position(word).and_then(|at| u32::try_from(at).ok());
    let pairs = extras.counterparts.iter().filter(|(f, _)| f == name).flat_map(|(_, pairs)| pairs);
    let mut known: Vec<(u32, u32)> =
        pairs.filter_map(|(from, to)| Some((level(from)?, level(to)?))).collect();
    known.sort_unstable();
    known
}

impl StrategyVariable {
    /// The levels of a categorical variable.
    pub fn levels(&self) -> Option<&CategoryLevels> {
        match &self.scale {
            VariableScale::Categorical(levels) => Some(levels),
            _ => None,
        }
    }

    /// The number of a continuous or ordinal variable in a row: itself, or the position of an
    /// ordered level; NaN where missing.
    pub fn number(&self, rows: &FeatureRows, i: usize) -> f64 {
        rows.columns[self.columns[0]].number(i)
    }

    /// The numbers of all rows.
    pub(crate) fn numbers<'a>(&self, rows: &'a FeatureRows) -> Cow<'a, [f64]> {
        match &rows.columns[self.columns[0]] {
            FeatureColumn::Number(values) => Cow::Borrowed(values),
            FeatureColumn::Code(_) => (0..rows.n).map(|i| self.number(rows, i)).collect(),
        }
    }

    /// Writes a number in the form that [`StrategyVariable::number`] reads.
    pub fn set_number(&self, rows: &mut FeatureRows, i: usize, x: f64) {
        match &mut rows.columns[self.columns[0]] {
            FeatureColumn::Number(values) => values[i] = x,
            FeatureColumn::Code(codes) => codes[i] = if x.is_nan() { MISSING } else { x as u32 },
        }
    }

    /// The level of a categorical variable in a row; [`MISSING`] if there is none.
    pub fn level(&self, rows: &FeatureRows, i: usize) -> u32 {
        if let [column] = self.columns[..] {
            let n = self.levels().map_or(MISSING, |levels| levels.n);
            return rows.codes(column).get(i).copied().filter(|&code| code < n).unwrap_or(MISSING);
        }
        let is_set = |column: usize| match &rows.columns[column] {
            FeatureColumn::Number(values) => values.get(i) == Some(&1.0),
            FeatureColumn::Code(codes) => codes.get(i) == Some(&1),
        };
        let mut ones = (0_u32..).zip(&self.columns).filter(|(_, column)| is_set(**column));
        match (ones.next(), ones.next()) {
            (Some((level, _)), None) => level,
            _ => MISSING,
        }
    }

    /// The value of a row as a number: the number, or the position of the level.
    ///
    /// NaN where it is missing or the level represents missing values.
    pub fn value(&self, rows: &FeatureRows, i: usize) -> f64 {
        match &self.scale {
            VariableScale::Categorical(levels) => match self.level(rows, i) {
                MISSING => f64::NAN,
                level if Some(level) == levels.barred => f64::NAN,
                level => f64::from(level),
            },
            _ => self.number(rows, i),
        }
    }

    /// Writes a non-missing value in the form that [`StrategyVariable::value`] reads.
    pub fn set_value(&self, rows: &mut FeatureRows, i: usize, value: f64) {
        match self.scale {
            VariableScale::Categorical(_) => self.set_level(rows, i, value as u32),
            _ => self.set_number(rows, i, value),
        }
    }

    /// The levels of all rows; `missing`, the number of levels, where a row has none.
    pub fn digits(&self, rows: &FeatureRows, missing: u32) -> Vec<u32> {
        match (self.columns.as_slice(), &rows.columns) {
            (&[column], columns) if matches!(columns[column], FeatureColumn::Code(_)) => {
                rows.codes(column).iter().map(|&code| code.min(missing)).collect()
            }
            _ => (0..rows.n).map(|i| self.level(rows, i).min(missing)).collect(),
        }
    }

    /// The values of all rows.
    pub(crate) fn values<'a>(&self, rows: &'a FeatureRows) -> VariableValues<'a> {
        match self.levels() {
            Some(_) => VariableValues::Levels(self.digits(rows, MISSING)),
            None => VariableValues::Numbers(self.numbers(rows)),
        }
    }

    /// Writes a level that is not missing.
    pub fn set_level(&self, rows: &mut FeatureRows, i: usize, level: u32) {
        for (k, &column) in (0_u32..).zip(&self.columns) {
            match &mut rows.columns[column] {
                FeatureColumn::Code(codes) => codes[i] = level,
                FeatureColumn::Number(values) => values[i] = f64::from(u8::from(k == level)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CategoryLevels, VariableOptions, VariableScale, variables};
    use crate::data::{Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, MISSING};

    #[test]
    fn variables_of_features() {
        let whole = FeatureKind::WHOLE;
        let features = [
            Feature::of("sex", FeatureKind::Sensitive, &["f", "m"]),
            Feature::of("red", whole.clone(), &[]),
            Feature::of("race", FeatureKind::Sensitive, &["a", "b", "missing"]),
            Feature::of("blue", whole.clone(), &[]),
            Feature::of("grade", FeatureKind::OrdinalLevel, &["low", "high"]),
        ];
        let attribute = Attribute::of("sex", &["f", "m"], 0);
        let extras = VariableOptions {
            excluded: vec![],
            onehot: vec![("colour".into(), vec![1, 3])],
            missing_level: Some("missing".into()),
            counterparts: vec![(
                "race".into(),
                vec![("b".into(), "a".into()), ("b".into(), "no level".into())],
            )],
        };
        let found = variables(&features, &attribute, &extras);
        assert_eq!(
            found.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(),
            ["colour", "race", "grade"]
        );
        assert_eq!(
            found[1].levels(),
            Some(&CategoryLevels { n: 3, barred: Some(2), counterparts: vec![(1, 0)] })
        );
        assert_eq!(found[2].scale, VariableScale::Ordinal {});

        let numbers = |values: [f64; 4]| FeatureColumn::Number(values.to_vec());
        let mut rows = FeatureRows::of(vec![
            FeatureColumn::Code(vec![0; 4]),
            numbers([1.0, 0.0, 0.0, 1.0]),
            FeatureColumn::Code(vec![2, 3, MISSING, 0]),
            numbers([0.0, 1.0, 0.0, 1.0]),
            FeatureColumn::Code(vec![1, MISSING, 0, 0]),
        ]);
        let levels = |v: usize, rows: &FeatureRows| [0, 1, 2, 3].map(|i| found[v].level(rows, i));
        assert_eq!(levels(0, &rows), [0, 1, MISSING, MISSING]);
        assert_eq!(levels(1, &rows), [2, MISSING, MISSING, 0]);
        found[0].set_level(&mut rows, 0, 1);
        assert_eq!(levels(0, &rows)[0], 1);
        assert!(found[2].number(&rows, 1).is_nan());
        assert_eq!(found[2].number(&rows, 0), 1.0);
    }
}
