//! A feature in a recourse audit: scale, traits, allowed changes, and the cost of a change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The scale of the levels of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum LevelScale {
    /// Words without order.
    #[default]
    Nominal,
    /// Words in the order of their positions: ordinal columns, and bins.
    Ordered,
    /// Numbers, one per level.
    Numbers(Vec<f64>),
}

/// How a trait of a subgroup describes a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraitPredicate {
    /// It has one level: `age = (30, 45]`.
    #[default]
    Equals,
    /// It is at or above one, for each level but the lowest: `age >= (30, 45]`. A missing value is
    /// a trait of its own.
    AtLeast,
}

/// A column as the audit uses it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecourseFeature {
    /// Its name.
    pub name: String,
    /// The texts of its levels.
    pub levels: Vec<String>,
    /// Their scale.
    pub scale: LevelScale,
    /// The level for missing values: subgroups may contain it, and it is never a target.
    pub missing: Option<u32>,
    /// The level of each audited row.
    pub codes: Vec<u32>,
    /// How traits describe it; [`TraitPredicate::AtLeast`] needs ascending levels, `missing` last,
    /// and a column that may not change.
    pub predicate: TraitPredicate,
    /// Which changes are allowed.
    pub may_change: AllowedChanges,
    /// What a change costs.
    pub cost: ChangeCost,
}

/// The direction in which a level may move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChangeDirection {
    /// It may not change.
    #[default]
    Never,
    /// Freely.
    Any,
    /// Not to a lower position, or number.
    Up,
    /// Not to a higher position, or number.
    Down,
}

/// The changes of a column that are allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllowedChanges {
    /// The allowed direction.
    pub direction: ChangeDirection,
    /// With `up` and `down`: the largest distance in positions (for numbers: in their unit).
    pub steps: Option<f64>,
    /// Levels that may not be targets, by position.
    pub not_to: Vec<u32>,
}

/// Distance of two levels of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ColumnCost")]
pub enum LevelDistance {
    /// The difference of the numbers over the range of the audited rows.
    RangeShare,
    /// The difference of the numbers.
    Absolute,
    /// The difference of positions in the declared order.
    #[serde(rename = "ordinal")]
    Positions,
    /// The same between any two: `cost.nominal`.
    #[serde(rename = "nominal")]
    Unit,
}

/// The cost of a change: weight times distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeCost {
    /// The distance; a distance of numbers on a column without numbers counts positions.
    pub distance: LevelDistance,
    /// The weight, at least 0; 1 if the job gives none.
    pub weight: f64,
}

impl Default for ChangeCost {
    fn default() -> Self {
        ChangeCost { distance: LevelDistance::Unit, weight: 1.0 }
    }
}
