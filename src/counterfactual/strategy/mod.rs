//! The strategies: the one list of them, and the block of a counterfactual set made from it.
//!
//! Each strategy has a file here, with its settings and everything specific to it; the file of
//! graph-uncertain is next to its engine. A row of the list has the key in a job with its
//! description, the block of settings, and the record of the strategy's properties. The keys of a
//! set for the YAML reader and the schema, the enum of strategies, and all look-ups by key are made
//! from it.

pub(crate) mod external;
pub(crate) mod greedy;
pub(crate) mod naive;
pub(crate) mod plausible;
pub(crate) mod transport;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::engine::StrategyKnobs;
pub(crate) use crate::counterfactual::engine::StrategyRecord;
use crate::counterfactual::graph_uncertain::knobs::{self as graphs, GraphUncertainBlock};
use crate::counterfactual::plan::StrategyPlan;
use crate::counterfactual::short_forms::ConditionOn;
use crate::counterfactual::strategy::external::ExternalBlock;
use crate::counterfactual::strategy::greedy::GreedyBlock;
use crate::counterfactual::strategy::naive::NaiveBlock;
use crate::counterfactual::strategy::plausible::PlausibleBlock;
use crate::counterfactual::strategy::transport::TransportBlock;
use crate::param::{ColumnName, Count, Name};

macro_rules! strategies {
    ($($(#[$about:meta])* $field:ident = $key:tt: $variant:ident($block:ty), $record:expr;)+) => {
        /// A counterfactual set: exactly one strategy in addition to the common keys.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct CounterfactualSet {
            $($(#[$about])*
            #[serde(default, rename = $key, skip_serializing_if = "Option::is_none")]
            $field: Option<$block>,)+
            /// The sensitive attributes to change, one at a time. Default: all of them.
            #[schemars(extend("minItems" = 1,
                "x-noun" = "sensitive attribute, or remove the key to use all of them"))]
            pub sensitive: Option<Vec<ColumnName>>,
            /// The models that score its counterfactuals. Left out: all that can.
            #[schemars(extend("minItems" = 1,
                "x-noun" = "model, or remove the key to ask all of them"))]
            pub models: Option<Vec<Name>>,
            /// Repeats the strategy with group names shuffled inside the label strata: what noise
            /// gives, shown next to each value.
            pub placebo: Option<PlaceboBlock>,
            /// Fits the strategy again on rows that are drawn with replacement from those that it
            /// learns from: how far each value depends on the rows that happened to be there.
            pub doubt: Option<FitDoubtBlock>,
            /// Objections to the set in spite of which gates on it are decided, by their codes.
            /// Default: none is accepted, and gates that one of them concerns are inconclusive.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("x-noun" = "code"))]
            pub accept: Vec<AcceptedOfSet>,
        }

        /// A strategy with the knobs that a set gives it.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum StrategyBlock<'a> {
            $($(#[$about])* $variant(&'a $block),)+
        }

        /// The strategies by their keys in a job.
        pub(crate) const STRATEGIES: &[(&str, StrategyRecord)] = &[$(($key, $record)),+];

        /// The keys of a set that name its strategy: exactly one must be there.
        pub(crate) const KEYS: &[&str] = &[$($key),+];

        impl<'a> StrategyBlock<'a> {
            /// The key in a job.
            pub fn key(self) -> &'static str {
                match self {
                    $(StrategyBlock::$variant(_) => $key,)+
                }
            }

            /// The knobs.
            pub fn knobs(self) -> &'a dyn StrategyKnobs {
                match self {
                    $(StrategyBlock::$variant(block) => block,)+
                }
            }
        }

        impl CounterfactualSet {
            /// Its strategies; a checked set has one.
            pub fn strategies(&self) -> Vec<StrategyBlock<'_>> {
                let all = [$(self.$field.as_ref().map(StrategyBlock::$variant)),+];
                all.into_iter().flatten().collect()
            }

            /// Fills the settings that are left out by [`StrategyKnobs::resolve`].
            pub fn resolve(&mut self, graph_columns: &Option<Vec<ColumnName>>) {
                $(if let Some(block) = &mut self.$field {
                    block.resolve(graph_columns.clone());
                })+
            }
        }
    };
}

strategies! {
    /// Changes the sensitive attribute and nothing else.
    naive = "naive": Naive(NaiveBlock), naive::RECORD;
    /// Also gives every feature that differs between the groups the place in the target group that
    /// it has in its own.
    greedy = "greedy": Greedy(GreedyBlock), greedy::RECORD;
    /// Gives the features that may change the place in the target group that they have in their
    /// own; the others stay.
    plausible = "plausible": Plausible(PlausibleBlock), plausible::RECORD;
    /// Gives the rows of a group the values of real rows of the other group, at the least total
    /// distance.
    transport = "transport": Transport(TransportBlock), transport::RECORD;
    /// Takes counterfactuals that another program or a person made.
    external = "external": External(ExternalBlock), external::RECORD;
    /// Moves what follows from the attribute in causal graphs that bootstraps of the training rows
    /// give under the stated knowledge.
    graph_uncertain = "graph-uncertain": GraphUncertain(GraphUncertainBlock), graphs::RECORD;
}

/// The same strategy with group names shuffled inside the label strata, measured with the same
/// model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceboBlock {
    /// How often, 1 to 1000. From 40 on the band leaves out the outer 5 %.
    #[serde(default = "Count::of::<20>")]
    #[schemars(extend("maximum" = 1000, "x-range" = "a number of repeats up to 1000; 20 is usual"))]
    pub repeats: Count,
}

/// How sure the values of a set are, its people apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FitDoubtBlock {
    /// How often the strategy is fitted on rows drawn again, 2 to 1000. From 40 on the interval
    /// leaves out the tails.
    #[serde(default = "Count::of::<20>")]
    #[schemars(extend("minimum" = 2, "maximum" = 1000,
        "x-range" = "a number of fits from 2 to 1000; 20 is usual"))]
    pub fit: Count,
}

/// An objection to a set that leaves gates on it inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptedOfSet {
    /// A verdict depends on counterfactual people of a kind that the reference rows do not hold.
    UnsupportedPeople,
    /// It could not move features of many people, for lack of reference rows that know them.
    UnmovedFeatures,
    /// The statements of a scenario fit the rows worse than those of another.
    ContradictedKnowledge,
}

/// The strategy with this key, if there is one.
pub(crate) fn find(key: &str) -> Option<&'static StrategyRecord> {
    STRATEGIES.iter().find(|(known, _)| *known == key).map(|(_, record)| record)
}

impl CounterfactualSet {
    /// The keys of its strategies; a checked set has one.
    pub fn keys(&self) -> Vec<&'static str> {
        self.strategies().into_iter().map(StrategyBlock::key).collect()
    }

    /// The plan of the strategy, if it moves features by reference rows.
    pub fn knobs(&self) -> Option<StrategyPlan<'_>> {
        self.strategies().into_iter().find_map(|strategy| strategy.knobs().plan())
    }

    /// The knobs of its causal graphs, if it has any.
    pub fn graphs(&self) -> Option<&GraphUncertainBlock> {
        self.graph_uncertain.as_ref()
    }

    /// Whether its counterfactuals are shares and numbers of causal graphs, not rows.
    pub fn makes_no_rows(&self) -> bool {
        self.graphs().is_some_and(|graphs| !graphs.makes_rows())
    }

    /// Whether the strategy sets only the attribute.
    pub fn sets_attribute_only(&self) -> bool {
        self.keys().into_iter().filter_map(find).any(StrategyRecord::sets_attribute_only)
    }

    /// Whether its strategy may change a feature of this name.
    pub fn may_move(&self, feature: &str) -> bool {
        match (self.knobs(), self.graphs().and_then(|graphs| graphs.variables.as_ref())) {
            (Some(knobs), _) => knobs.may_move(feature),
            (None, Some(variables)) => variables.iter().any(|name| name.as_str() == feature),
            (None, None) => self.graphs().is_some(),
        }
    }

    /// Whether a model scores its counterfactuals: all do, unless it names some.
    pub fn asks(&self, model: &Name) -> bool {
        self.models.as_ref().is_none_or(|only| only.contains(model))
    }

    /// Whether it changes a sensitive attribute: all, unless it names some.
    pub fn changes(&self, attribute: &ColumnName) -> bool {
        self.sensitive.as_ref().is_none_or(|only| only.contains(attribute))
    }

    /// Whether it conditions on the label, so that people without one have no counterfactual in it.
    pub fn conditions_on_label(&self) -> bool {
        self.knobs().is_some_and(|knobs| {
            matches!(knobs.condition_on, ConditionOn::Label | ConditionOn::RawLabel)
        })
    }

    /// The part of the block that decides the counterfactuals of one attribute. Other attributes
    /// and graphs have separate stages; repeats change only what is measured.
    pub fn generating_part(&self) -> Self {
        let (placebo, doubt, sensitive, models) = (None, None, None, None);
        let (graph_uncertain, accept) = (None, Vec::new());
        let own = self.clone();
        CounterfactualSet { placebo, doubt, sensitive, models, graph_uncertain, accept, ..own }
    }
}

/// An example of each strategy, for the hint if a set has none or several.
pub(crate) fn examples() -> String {
    let all: Vec<&str> = STRATEGIES.iter().map(|(_, record)| record.example).collect();
    match all.split_last() {
        Some((last, others)) => format!("write {}, or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterfactualSet, KEYS, STRATEGIES, examples, find};
    use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;

    /// Each example of a strategy is one of that strategy: the reader takes it under its key.
    #[test]
    fn every_strategy_is_found_by_its_key() {
        assert!(KEYS.contains(&GraphUncertainBlock::WORD) && find("factual").is_none());
        for (key, record) in STRATEGIES {
            assert_eq!(find(key), Some(record));
            let example = record.example.split('`').nth(1).unwrap().replace("[...]", "[age]");
            let set: CounterfactualSet = serde_yaml::from_str(&example).unwrap();
            assert_eq!(set.keys(), [*key], "{example}");
            assert!(examples().contains(record.example), "{key}");
            assert_eq!(set.knobs().is_some(), !set.sets_attribute_only() && set.graphs().is_none());
            let written = serde_json::to_value(set.strategies()[0]).unwrap();
            assert_eq!(serde_json::to_value(&set).unwrap()[key], written);
        }
    }
}
