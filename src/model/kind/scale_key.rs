//! The keys `scale` and `better` of a model: what the numbers of its scores are, and which end of
//! them people want.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::num::score_scale::ScaleNumbers;
use crate::param::Finite;

/// The word for scores that are log-odds.
const LOG_ODDS: &str = "log-odds";

/// What the numbers of scores are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScaleBlock {
    /// Numbers between two ends.
    Range(ScaleEnds),
    /// Logarithms of odds.
    LogOdds,
}

/// The ends of a scale, both included: `{from: 300, to: 850}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleEnds {
    /// The lowest score that there can be.
    pub from: Finite,
    /// The highest, above the lowest.
    pub to: Finite,
}

/// Which end of the scale people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BetterEnd {
    /// High scores are good for people.
    Higher,
    /// Low scores are.
    Lower,
}

impl ScaleBlock {
    /// What its numbers are.
    pub(crate) fn numbers(self) -> ScaleNumbers {
        match self {
            ScaleBlock::Range(ends) => {
                ScaleNumbers::Range { from: ends.from.get(), to: ends.to.get() }
            }
            ScaleBlock::LogOdds => ScaleNumbers::LogOdds,
        }
    }
}

impl Serialize for ScaleBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ScaleBlock::Range(ends) => ends.serialize(serializer),
            ScaleBlock::LogOdds => serializer.serialize_str(LOG_ODDS),
        }
    }
}

impl<'de> Deserialize<'de> for ScaleBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScaleVisitor;
        impl<'de> Visitor<'de> for ScaleVisitor {
            type Value = ScaleBlock;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`{from: 300, to: 850}` or `log-odds`")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<ScaleBlock, E> {
                match word {
                    LOG_ODDS => Ok(ScaleBlock::LogOdds),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ScaleBlock, A::Error> {
                ScaleEnds::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(ScaleBlock::Range)
            }
        }
        deserializer.deserialize_any(ScaleVisitor)
    }
}

impl JsonSchema for ScaleBlock {
    fn schema_name() -> Cow<'static, str> {
        "Scale".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let ends = generator.subschema_for::<ScaleEnds>();
        json_schema!({"anyOf": [{"enum": [LOG_ODDS]}, ends]})
    }
}
