//! The block `metrics.clarify`: which groups Clarify's metrics favour, by which strata, and whether
//! the flip test runs.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::DataBlock;
pub(crate) use crate::metric::value::settings::FavouredGroups;
use crate::param::{ColumnName, Count, Finite, Word};

/// How the family clarify is measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClarifyBlock {
    /// By sensitive attribute the favoured groups, each compared with every group that is none of
    /// them; or `rest`: every group is compared with all others together. Default: the reference
    /// group.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub favoured: IndexMap<ColumnName, FavouredGroups<Word>>,
    /// Of a label of several classes the one that is measured against all others. Default: each in
    /// turn. A class of the favourable side of the label counts as the favourable outcome, any
    /// other as the unfavourable one.
    pub positive: Option<Word>,
    /// Where the outcomes of models are amounts, the amount above which an outcome, predicted or
    /// observed, counts as positive; one that equals it does not. Which side is favourable follows
    /// from `better` of the models. Without it the family is not measured of amounts.
    pub positive_above: Option<Finite>,
    /// Column whose values are the strata of CDDPL; a derived one is allowed. Rows without a value
    /// of it are left out of CDDPL and counted. Default: CDDPL is not measured.
    pub strata: Option<ColumnName>,
    /// Neighbours of the flip test where `flip_test` does not say; runs none by itself.
    #[schemars(extend("not" = {"multipleOf": 2},
        "x-range" = "an odd number; the votes of an even number of neighbours may tie"))]
    pub neighbours: Option<Count>,
    /// Runs the flip test FT over the numeric features. Default: it is not run.
    pub flip_test: Option<FlipTestBlock>,
}

/// The flip test: would people be predicted otherwise, if predicted as the people of the favoured
/// facet most like them?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlipTestBlock {
    /// Neighbours that vote, an odd number. Default: `clarify.neighbours`, else 5. Where the
    /// favoured facet has fewer than twice as many people, one neighbour decides.
    #[schemars(extend("not" = {"multipleOf": 2},
        "x-range" = "an odd number; the votes of an even number of neighbours may tie"))]
    pub neighbours: Option<Count>,
    /// The units of the features: `none`, unchanged; `standard`, standard deviations of the
    /// people looked at.
    #[serde(default)]
    pub scale: FeatureScale,
    /// People looked at, at least 2. Of more a sample is drawn by the seed, and every value says
    /// so.
    #[serde(default = "Count::of::<100_000>")]
    #[schemars(extend("minimum" = 2,
        "x-range" = "a number of people from 2 on; 100000 is the default"))]
    pub max_rows: Count,
}

/// The units in which features enter a distance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeatureScale {
    /// As they stand.
    #[default]
    None,
    /// Standard deviations.
    Standard,
}

impl ClarifyBlock {
    /// Whom it favours among the groups of an attribute; the reference where it does not say.
    pub fn favoured_of(&self, name: &ColumnName, data: &DataBlock) -> Option<FavouredGroups<Word>> {
        let reference = || data.reference_of(name).map(|group| FavouredGroups::Groups(vec![group]));
        self.favoured.get(name).cloned().or_else(reference)
    }

    /// Fills in what the block leaves to defaults.
    pub fn resolve(&mut self, data: &DataBlock) {
        for name in data.sensitive.keys() {
            let groups = self.favoured_of(name, data);
            self.favoured.extend(groups.map(|groups| (name.clone(), groups)));
        }
        if let Some(test) = &mut self.flip_test {
            test.neighbours = test.neighbours.or(self.neighbours).or(Count::new(5));
        }
    }
}
