//! Rows with roles: features and their kinds, sensitive attributes, groups, label, row id.
//!
//! Preparing turns the source of the job (Parquet, CSV, a public data set, generated rows) into one
//! file of numbers, `rows.parquet`, and one description of it, [`Layout`]. Later stages handle no
//! text: a level of a nominal column is a position in its list of levels, a group is a position in
//! the declared groups, a missing value is NaN or [`MISSING`].
//!
//! Columns of `rows.parquet`, in this order:
//!
//! | column | type | meaning |
//! | --- | --- | --- |
//! | `row` | UInt64 | position in the source before `keep`, from 0; only where rows can be lost |
//! | `row_key` | UInt64 | only with a text as `row_id`: the xxh3-64 of its UTF-8 |
//! | `row_id` | Int64 or Utf8 | only with `row_id` in the job |
//! | `person` | UInt64 | only with a person: whose row, an integer or the xxh3-64 of a text |
//! | `weight` | Float64 | how many people the row represents, 0 or more; only with a weight |
//! | `x.<feature>` | Int64 or Float64, null = missing | a number |
//! | `source.<feature>` | Float64, null = missing | the number of the source, before `null_values` |
//! | `carry.<column>` | Float64, null = missing | numbers that a model names: scores, thresholds |
//! | `code.<column>` | UInt32 | 0 = missing, else the word of the source by its first occurrence |
//!
//! The key of a row is its number; with `row_id` the integer itself or the hash of the text. What
//! codes mean as levels, groups, labels, classes, roles, strata and slices is in `codes.json`:
//! see `rows::stored`. Only [`rows::RowsReader`] knows how rows are stored.
//!
//! Not done here: no strategy, no model, no metric.

pub(crate) mod canonical;
pub mod column;
pub mod exchange;
pub(crate) mod prepare;
pub mod rows;
pub mod source;
pub mod source_form;
pub(crate) mod source_view;
pub(crate) mod spelling;
pub(crate) mod sql;
#[cfg(test)]
mod test_rows;
mod thousands;
pub(crate) mod values;

use serde::{Deserialize, Serialize};

use crate::data::canonical::canonical_text;
use crate::data::prepare::derive::DerivedFeature;
use crate::data::prepare::params::carried_decision;
use crate::data::prepare::weight::WeightColumn;
use crate::data::source_form::SourceForm;
use crate::data::values::ValueClass;
use crate::num::float_precision::FloatPrecision;

/// The code of a missing level in memory; null in files.
pub const MISSING: u32 = u32::MAX;

/// The text of the level for missing values where these are a separate level.
pub const MISSING_LEVEL: &str = "missing";

/// The class, in memory, of a row without a label; null in files.
pub const MISSING_CLASS: u8 = u8::MAX;

/// The group, in memory, of a row whose sensitive value is missing or not declared; null in files.
pub const MISSING_GROUP: u16 = u16::MAX;

/// The kind of a feature column; decides how strategies, models and recourse treat it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureKind {
    /// Numbers with an order and distances.
    Continuous {
        /// Whether only whole numbers make sense: all values are whole, or the job says so.
        integer: bool,
    },
    /// Numbers whose order counts, not their distances.
    OrdinalNumber,
    /// Levels in a declared order; the column holds positions in `levels`.
    OrdinalLevel,
    /// Levels without an order; the column holds positions in `levels`.
    Nominal,
    /// The column of a sensitive attribute.
    ///
    /// Its levels are the declared groups first, then other values in byte order.
    Sensitive,
}

impl FeatureKind {
    /// Whether the column holds level positions instead of numbers.
    pub fn is_coded(&self) -> bool {
        matches!(self, FeatureKind::OrdinalLevel | FeatureKind::Nominal | FeatureKind::Sensitive)
    }
}

/// One feature column of the prepared rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// The column's name in the source.
    pub name: String,
    /// Its kind.
    pub kind: FeatureKind,
    /// The levels of a coded column: declared ones in their order, then others in byte order. Empty
    /// for numbers.
    pub levels: Vec<String>,
    /// The type of the source column.
    pub class: ValueClass,
    /// How the source holds it: models trained elsewhere get it so.
    #[serde(default)]
    pub source: SourceForm,
}

impl Feature {
    /// A column for it without a value.
    pub(crate) fn no_values(&self) -> FeatureColumn {
        match self.kind.is_coded() {
            true => FeatureColumn::Code(Vec::new()),
            false => FeatureColumn::Number(Vec::new()),
        }
    }
}

/// One sensitive attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Its name in the job.
    pub name: String,
    /// The declared groups, in the job's order; results call them by this text.
    pub groups: Vec<String>,
    /// Position of the reference group.
    pub reference: usize,
    /// Position in [`Layout::features`] of the column that a counterfactual sets.
    ///
    /// Where it is derived, the columns it is derived from are set too: see [`Layout::derived`].
    pub feature: usize,
    /// For each group the level of that feature that represents it.
    pub level_of_group: Vec<u32>,
}

impl Attribute {
    /// Group positions with the reference first and the others in declared order.
    ///
    /// Pairs are formed in this order (A before B).
    pub fn reference_first(&self) -> Vec<usize> {
        (0..self.groups.len()).map(|rank| self.at_rank(rank)).collect()
    }

    /// The group at a position of that order.
    fn at_rank(&self, rank: usize) -> usize {
        match rank {
            0 => self.reference,
            _ if rank <= self.reference => rank - 1,
            _ => rank,
        }
    }

    /// The name of the group at a position of that order.
    pub(crate) fn name_at_rank(&self, rank: usize) -> &str {
        &self.groups[self.at_rank(rank)]
    }
}

/// The definition of the binary label, in the job's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelDefinition {
    /// The column.
    pub column: String,
    /// The values that count as positive (class 1), as the job writes them.
    pub positive: Vec<String>,
    /// Values in the data that count as negative, in byte order.
    pub negative: Vec<String>,
    /// The classes of a label with more than two, as the job writes them; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
}

/// The words of a column of decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionColumn {
    /// The column.
    pub column: String,
    /// What is positive.
    pub positive: Vec<String>,
    /// What is negative: listed by the job, or seen in the rows.
    pub negative: Vec<String>,
}

impl DecisionColumn {
    /// Whether a word is the positive decision; none for a word that is neither.
    pub(crate) fn decide(&self, word: &str) -> Option<bool> {
        let canonical = canonical_text(word);
        let is = |words: &[String]| words.iter().any(|known| *known == word || *known == canonical);
        is(&self.positive).then_some(true).or_else(|| is(&self.negative).then_some(false))
    }
}

/// The type of the row ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowIdKind {
    /// No `row_id` in the job: the row number serves.
    RowNumber,
    /// An integer column.
    Integer,
    /// A text column.
    Text,
}

/// The column that says whose row it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonColumn {
    /// The column.
    pub column: String,
    /// Different persons among the rows.
    pub persons: u64,
}

/// The meaning of the columns of the prepared rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Rows after `keep` and the rules for missing values.
    pub n_rows: u64,
    /// The kind of row id.
    pub row_id: RowIdKind,
    /// The label, unless the job says `label: none`.
    pub label: Option<LabelDefinition>,
    /// The persons whom the rows belong to, where the job says that a person may have several rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonColumn>,
    /// The weights of the rows, where the job names a column of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<WeightColumn>,
    /// The sensitive attributes, in the job's order.
    pub attributes: Vec<Attribute>,
    /// Feature columns: sensitive columns in the job's order, then continuous, ordinal and nominal
    /// ones as written, then those that only a cross needs.
    pub features: Vec<Feature>,
    /// Positions of the features that no model reads, ascending; no strategy moves them.
    ///
    /// They are columns derived for a sensitive attribute and not listed as a feature, and columns
    /// that only a cross needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<usize>,
    /// The derived features and their rules.
    ///
    /// No strategy moves them on their own: they are computed again from the features that moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedFeature>,
    /// Columns carried as numbers for models that name them, sorted, then those of decisions.
    pub carried: Vec<String>,
    /// Those of them whose numbers have 32 bits in every file of the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub single: Vec<String>,
    /// The words of the columns of decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionColumn>,
    /// The column whose values are the strata of a metric, where the job names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strata: Option<StrataColumn>,
    /// The columns of slices: metrics are also measured within each of their values, in the job's
    /// order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<StrataColumn>,
}

/// A column whose values divide the rows into strata or slices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrataColumn {
    /// The column.
    pub column: String,
    /// Its levels: declared ones in their order, then others in byte order.
    pub levels: Vec<String>,
}

impl Layout {
    /// Number of classes of the label; 0 where it has two sides, or there is none.
    pub(crate) fn n_classes(&self) -> usize {
        self.label.as_ref().map_or(0, |label| label.classes.len())
    }

    /// The column of the rows behind a carried one, and whether it holds decisions.
    pub(crate) fn source_of_carried<'a>(&'a self, carried: &'a str) -> (&'a str, bool) {
        let decided = self.decisions.iter().find(|of| carried_decision(&of.column) == carried);
        decided.map_or((carried, false), |of| (of.column.as_str(), true))
    }

    /// In how many bits the source holds the numbers of a carried column.
    pub(crate) fn precision_of_carried(&self, carried: &str) -> FloatPrecision {
        FloatPrecision::single_if(self.single.iter().any(|single| single == carried))
    }

    /// Position of a feature by its name.
    pub fn feature(&self, name: &str) -> Option<usize> {
        self.features.iter().position(|f| f.name == name)
    }

    /// The derivation of a feature; `None` for a column of the source.
    pub fn derivation(&self, feature: usize) -> Option<&DerivedFeature> {
        self.derived.iter().find(|d| d.feature == feature)
    }

    /// A feature and all features that it is derived from.
    pub fn with_ancestors(&self, feature: usize) -> Vec<usize> {
        self.with_ancestors_where(feature, |_| true)
    }

    /// As [`Self::with_ancestors`], but only through features whose derivation `leads` further.
    pub(crate) fn with_ancestors_where(
        &self,
        feature: usize,
        leads: impl Fn(&DerivedFeature) -> bool,
    ) -> Vec<usize> {
        let (mut all, mut next) = (vec![feature], 0);
        while let Some(&feature) = all.get(next) {
            let derived = self.derivation(feature).filter(|derived| leads(derived)).into_iter();
            let parents = derived.flat_map(|derived| derived.parents.iter().flatten().copied());
            let new: Vec<usize> = parents.filter(|parent| !all.contains(parent)).collect();
            all.extend(new);
            next += 1;
        }
        all
    }

    /// Whether models read the feature.
    pub fn is_input(&self, feature: usize) -> bool {
        self.hidden.binary_search(&feature).is_err()
    }

    /// Positions of the features that models read.
    pub fn inputs(&self) -> impl Iterator<Item = usize> {
        (0..self.features.len()).filter(|&f| self.is_input(f))
    }

    /// Position of an attribute by its name.
    pub fn attribute(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|a| a.name == name)
    }
}

/// One column of a batch of rows.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureColumn {
    /// Numbers; NaN is missing.
    Number(Vec<f64>),
    /// Positions of levels; [`MISSING`] is missing.
    Code(Vec<u32>),
}

impl FeatureColumn {
    /// Whether the value at a position is another one than that of a column at another position;
    /// missing values are equal.
    pub(crate) fn differs(&self, i: usize, other: &FeatureColumn, k: usize) -> bool {
        match (self, other) {
            (FeatureColumn::Code(a), FeatureColumn::Code(b)) => a[i] != b[k],
            (FeatureColumn::Number(a), FeatureColumn::Number(b)) => {
                a[i] != b[k] && !(a[i].is_nan() && b[k].is_nan())
            }
            _ => true,
        }
    }

    /// Writes the value that a column of the same kind has at another position.
    pub(crate) fn set(&mut self, i: usize, other: &FeatureColumn, k: usize) {
        match (self, other) {
            (FeatureColumn::Number(to), FeatureColumn::Number(from)) => to[i] = from[k],
            (FeatureColumn::Code(to), FeatureColumn::Code(from)) => to[i] = from[k],
            // Both are made from the same layout.
            _ => {}
        }
    }

    /// The number in a row: itself, or the position of an ordered level; NaN where missing.
    #[inline]
    pub(crate) fn number(&self, i: usize) -> f64 {
        match self {
            FeatureColumn::Number(values) => values[i],
            FeatureColumn::Code(codes) if codes[i] == MISSING => f64::NAN,
            FeatureColumn::Code(codes) => f64::from(codes[i]),
        }
    }

    /// The values at these positions, in this order.
    #[must_use]
    pub(crate) fn take(&self, positions: &[usize]) -> FeatureColumn {
        match self {
            FeatureColumn::Number(values) => {
                FeatureColumn::Number(positions.iter().map(|&i| values[i]).collect())
            }
            FeatureColumn::Code(values) => {
                FeatureColumn::Code(positions.iter().map(|&i| values[i]).collect())
            }
        }
    }

    /// The values at (part, position), in this order, from columns of one kind.
    fn gather(
        parts: &[&FeatureColumn],
        order: impl Iterator<Item = (usize, usize)>,
    ) -> FeatureColumn {
        match parts.first() {
            Some(FeatureColumn::Code(_)) => {
                FeatureColumn::Code(order.map(|(part, i)| parts[part].codes()[i]).collect())
            }
            _ => FeatureColumn::Number(order.map(|(part, i)| parts[part].numbers()[i]).collect()),
        }
    }

    /// Adds values of the same kind at the end.
    pub(crate) fn append(&mut self, more: FeatureColumn) {
        match (self, more) {
            (FeatureColumn::Number(own), FeatureColumn::Number(more)) => own.extend(more),
            (FeatureColumn::Code(own), FeatureColumn::Code(more)) => own.extend(more),
            // Both are made from the same layout.
            _ => {}
        }
    }

    /// Numbers; none of a coded column.
    fn numbers(&self) -> &[f64] {
        match self {
            FeatureColumn::Number(values) => values,
            FeatureColumn::Code(_) => &[],
        }
    }

    /// Positions of levels; none of numbers.
    fn codes(&self) -> &[u32] {
        match self {
            FeatureColumn::Code(values) => values,
            FeatureColumn::Number(_) => &[],
        }
    }
}

/// What the source holds of one feature in some rows, where the prepared value does not determine
/// it.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceCells {
    /// Position of the feature.
    pub(crate) feature: usize,
    /// The prepared values that were made of them: a row that has another one was changed.
    pub(crate) was: FeatureColumn,
    /// Positions among the words of the feature, [`MISSING`] = a missing value; or numbers, NaN =
    /// missing.
    pub(crate) holds: FeatureColumn,
}

impl SourceCells {
    /// The cells at these positions, in this order.
    pub(crate) fn take(&self, positions: &[usize]) -> SourceCells {
        let SourceCells { feature, was, holds } = self;
        SourceCells { feature: *feature, was: was.take(positions), holds: holds.take(positions) }
    }

    /// Adds rows at the end.
    pub(crate) fn append(&mut self, more: SourceCells) {
        self.was.append(more.was);
        self.holds.append(more.holds);
    }
}

/// A batch of rows for the engines: one column per feature of a [`Layout`], all of one length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FeatureRows {
    /// Number of rows.
    pub n: usize,
    /// The columns, in the order of [`Layout::features`].
    pub columns: Vec<FeatureColumn>,
    /// What the source holds, for the features whose prepared values do not determine it.
    pub source: Vec<SourceCells>,
}

impl FeatureRows {
    /// The numbers of a column; empty for a coded one.
    pub fn numbers(&self, feature: usize) -> &[f64] {
        self.columns[feature].numbers()
    }

    /// The level positions of a column; empty for numbers.
    pub fn codes(&self, feature: usize) -> &[u32] {
        self.columns[feature].codes()
    }

    /// The rows at these positions, in this order.
    #[must_use]
    pub fn take(&self, positions: &[usize]) -> FeatureRows {
        let columns = self.columns.iter().map(|column| column.take(positions)).collect();
        let source = self.source.iter().map(|cells| cells.take(positions)).collect();
        FeatureRows { n: positions.len(), columns, source }
    }

    /// Adds rows of the same layout at the end; no rows yet may have no columns either.
    pub(crate) fn append(&mut self, part: FeatureRows) {
        if self.n == 0 {
            *self = part;
            return;
        }
        self.source.iter_mut().zip(part.source).for_each(|(own, more)| own.append(more));
        self.n += part.n;
        self.columns.iter_mut().zip(part.columns).for_each(|(own, more)| own.append(more));
    }

    /// The rows at (part, position), in this order, from parts with the same columns.
    pub fn gather(
        parts: &[&FeatureRows],
        order: impl Iterator<Item = (usize, usize)> + Clone,
    ) -> FeatureRows {
        let Some(first) = parts.first() else {
            return FeatureRows { n: order.count(), ..FeatureRows::default() };
        };
        let column = |of: &dyn Fn(&FeatureRows) -> &FeatureColumn| {
            let columns: Vec<&FeatureColumn> = parts.iter().map(|part| of(part)).collect();
            FeatureColumn::gather(&columns, order.clone())
        };
        let columns = (0..first.columns.len()).map(|c| column(&|part| &part.columns[c])).collect();
        // Rows of one layout have them of the same features.
        let carried = if parts.iter().all(|part| part.source.len() == first.source.len()) {
            first.source.as_slice()
        } else {
            &[]
        };
        let cells = |(at, cells): (usize, &SourceCells)| SourceCells {
            feature: cells.feature,
            was: column(&|part| &part.source[at].was),
            holds: column(&|part| &part.source[at].holds),
        };
        let source = carried.iter().enumerate().map(cells).collect();
        FeatureRows { n: order.count(), columns, source }
    }
}

#[cfg(test)]
pub(crate) mod tests;
