//! The settings of a job for rows of a graph-uncertain set: how levels are chosen, which mechanism
//! computes the values, and the bins of numbers.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{ColumnName, Count, Finite};

/// What counterfactuals of a graph-uncertain set hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphLevels {
    /// Shares of levels and any number, as in the paper: only models trained here can be asked.
    #[default]
    Expected,
    /// One possible row per person and world: levels and whole numbers are drawn from their shares,
    /// with one random number per person and column. Any model can be asked.
    Drawn,
}

/// What gives the values of variables that follow from the attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EquationKind {
    /// Least squares on the encoded columns; indicators are treated as numbers, as in the paper.
    Linear,
    /// The people of the same levels and bins of the parents, with slopes for numbers; where they
    /// are too few, people of the same levels, then the linear equation. Needs `levels: drawn`.
    Binned(ParentCells),
}

/// The cells of people that the binned mechanism looks at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParentCells {
    /// Bins of numbers: a count of 2 to 64 for every number, a map such as
    /// `{age: 8, hours: [35, 40]}` of counts or inner edges for those that it names, or `none`.
    #[serde(default)]
    pub bins: CellBins,
    /// The fewest rows of a cell that answers.
    #[serde(default = "Count::of::<50>")]
    pub min_cell: Count,
}

impl Default for ParentCells {
    fn default() -> Self {
        ParentCells { bins: CellBins::default(), min_cell: Count::of::<50>() }
    }
}

/// Bins of the numbers in cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-is" = "a count of bins, `none`, or columns with their bins"))]
pub enum CellBins {
    /// No number has bins.
    None,
    /// Every number has so many.
    #[serde(untagged)]
    Every(#[schemars(range(min = 2, max = 64))] Count),
    /// These have.
    #[serde(untagged)]
    Named(IndexMap<ColumnName, ColumnBins>),
}

impl CellBins {
    /// The bins of a number; none where it has a slope only.
    pub(crate) fn of(&self, name: &str) -> Option<ColumnBins> {
        match self {
            CellBins::None => None,
            CellBins::Every(n) => Some(ColumnBins::Count(*n)),
            CellBins::Named(named) => named.get(name).cloned(),
        }
    }
}

impl Default for CellBins {
    fn default() -> Self {
        CellBins::Every(Count::of::<4>())
    }
}

/// Bins of one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-is" = "a count of bins, or a list of inner edges"))]
pub enum ColumnBins {
    /// So many, of as many training rows each.
    Count(#[schemars(range(min = 2, max = 64))] Count),
    /// Between these inner edges, ascending.
    Edges(Vec<Finite>),
}

#[cfg(test)]
mod tests {
    use super::{CellBins, ColumnBins, EquationKind, ParentCells};

    #[test]
    fn bins_are_read_in_every_form_and_written_as_they_were() {
        let read = |text: &str| serde_yaml::from_str::<ParentCells>(text).unwrap();
        assert_eq!(read("{}"), ParentCells::default());
        assert_eq!(read("{bins: none}").bins, CellBins::None);
        let CellBins::Named(named) = read("{bins: {age: 8, hours: [35, 40.5]}}").bins else {
            panic!("a map of columns")
        };
        assert!(matches!(named["age"], ColumnBins::Count(n) if n.get() == 8));
        assert!(matches!(&named["hours"], ColumnBins::Edges(edges) if edges[1].get() == 40.5));
        for text in ["4", "\"none\"", "{\"age\":8,\"hours\":[35.0,40.5]}"] {
            let bins: CellBins = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&bins).unwrap(), text);
        }
        for wrong in ["{bins: 0}", "{bins: -4}", "{bins: few}", "{bins: {age: few}}"] {
            assert!(serde_yaml::from_str::<ParentCells>(wrong).is_err(), "{wrong}");
        }
        let cells = serde_json::from_str::<EquationKind>("{\"binned\": {\"min_cell\": 20}}");
        assert!(matches!(cells.unwrap(), EquationKind::Binned(of) if of.min_cell.get() == 20));
    }
}
