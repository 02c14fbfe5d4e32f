//! Settings that take a word or a longer form.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::param::{ColumnName, Finite, Name};

/// Which features may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Move", extend("x-is" = "`all`, or a list of features"))]
pub enum MovableFeatures {
    /// All.
    All,
    /// These.
    #[serde(untagged)]
    These(#[schemars(extend("minItems" = 1, "x-noun" = "feature"))] Vec<ColumnName>),
}

impl MovableFeatures {
    /// Whether a variable of this name may change.
    pub fn contains(&self, name: &str) -> bool {
        self.named().is_none_or(|names| names.iter().any(|named| named.as_str() == name))
    }

    /// The names, where there is a list.
    pub fn named(&self) -> Option<&[ColumnName]> {
        match self {
            MovableFeatures::All => None,
            MovableFeatures::These(names) => Some(names),
        }
    }
}

/// What distributions are conditioned on in addition to the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionOn {
    /// The binary label.
    Label,
    /// The label as it is in the data, with all its values.
    RawLabel,
    /// A model's prediction for the row; the strata are those of the label.
    Prediction(Name),
    /// Nothing.
    Nothing,
}

/// What is conditioned on, as a map.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ConditionMap {
    /// `raw`: the label as it is in the data, with all its values.
    Label(RawLabelWord),
    /// What this model predicts of the row. The papers do not treat it.
    Prediction(Name),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RawLabelWord {
    /// All values of the label.
    Raw,
}

impl Serialize for ConditionOn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ConditionOn::Label => serializer.serialize_str("label"),
            ConditionOn::RawLabel => ConditionMap::Label(RawLabelWord::Raw).serialize(serializer),
            ConditionOn::Prediction(model) => {
                ConditionMap::Prediction(model.clone()).serialize(serializer)
            }
            ConditionOn::Nothing => serializer.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for ConditionOn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConditionOnVisitor;
        impl<'de> Visitor<'de> for ConditionOnVisitor {
            type Value = ConditionOn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`label`, `{label: raw}`, `{prediction: MODEL}` or `none`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ConditionOn, E> {
                match text {
                    "label" => Ok(ConditionOn::Label),
                    "none" => Ok(ConditionOn::Nothing),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ConditionOn, A::Error> {
                Ok(match Deserialize::deserialize(de::value::MapAccessDeserializer::new(map))? {
                    ConditionMap::Label(RawLabelWord::Raw) => ConditionOn::RawLabel,
                    ConditionMap::Prediction(model) => ConditionOn::Prediction(model),
                })
            }
        }
        deserializer.deserialize_any(ConditionOnVisitor)
    }
}

impl JsonSchema for ConditionOn {
    fn schema_name() -> Cow<'static, str> {
        "ConditionOn".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<ConditionMap>();
        json_schema!({
            "x-is": "`label`, `{label: raw}`, `{prediction: MODEL}` or `none`",
            "anyOf": [{"enum": ["label", "none"]}, map]
        })
    }
}

/// A guard by ratio, or none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Ratio", extend("x-is" = "`none`, or a number"))]
pub enum RatioGuard {
    /// No guard.
    None,
    /// At most this many times.
    #[serde(untagged)]
    AtMost(Finite),
}
