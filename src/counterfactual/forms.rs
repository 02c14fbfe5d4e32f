//! Values of knobs that take a word or something longer: `move: all`, `condition_on: {prediction: MODEL}`, `impossible_ratio: none`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::param::{ColumnName, Finite, Name};

/// Which features may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// All.
    All,
    /// These.
    These(Vec<ColumnName>),
}

impl Move {
    /// Whether a variable of this name may change.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Move::All => true,
            Move::These(names) => names.iter().any(|n| n.as_str() == name),
        }
    }
}

impl Serialize for Move {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Move::All => serializer.serialize_str("all"),
            Move::These(names) => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Move {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Move;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, or a list of features")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Move, E> {
                if text == "all" { Ok(Move::All) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Move, A::Error> {
                Deserialize::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Move::These)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for Move {
    fn schema_name() -> Cow<'static, str> {
        "Move".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = generator.subschema_for::<Vec<ColumnName>>();
        json_schema!({"anyOf": [{"const": "all"}, names]})
    }
}

/// What distributions are conditioned on beside the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionOn {
    /// The binary label.
    Label,
    /// The label as it stands in the data, with all its values.
    RawLabel,
    /// What a model predicts of the row; the strata are those of the label.
    Prediction(Name),
    /// Nothing.
    Nothing,
}

/// What is conditioned on, as a map.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ConditionMap {
    /// `raw`: the label as it stands in the data, with all its values.
    Label(Raw),
    /// What this model predicts of the row. The papers do not treat it.
    Prediction(Name),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Raw {
    /// All values of the label.
    Raw,
}

impl Serialize for ConditionOn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ConditionOn::Label => serializer.serialize_str("label"),
            ConditionOn::RawLabel => ConditionMap::Label(Raw::Raw).serialize(serializer),
            ConditionOn::Prediction(model) => ConditionMap::Prediction(model.clone()).serialize(serializer),
            ConditionOn::Nothing => serializer.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for ConditionOn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
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
                    ConditionMap::Label(Raw::Raw) => ConditionOn::RawLabel,
                    ConditionMap::Prediction(model) => ConditionOn::Prediction(model),
                })
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for ConditionOn {
    fn schema_name() -> Cow<'static, str> {
        "ConditionOn".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<ConditionMap>();
        json_schema!({"anyOf": [{"enum": ["label", "none"]}, map]})
    }
}

/// A guard by ratio, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ratio {
    /// No guard.
    None,
    /// At most this many times.
    AtMost(Finite),
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Ratio::None => serializer.serialize_str("none"),
            Ratio::AtMost(ratio) => ratio.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl Visitor<'_> for Form {
            type Value = Ratio;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none`, or a number")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Ratio, E> {
                Finite::new(value).map(Ratio::AtMost).ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Ratio, E> {
                self.visit_f64(value as f64)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Ratio, E> {
                self.visit_f64(value as f64)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ratio, E> {
                if text == "none" { Ok(Ratio::None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for Ratio {
    fn schema_name() -> Cow<'static, str> {
        "Ratio".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"const": "none"}, {"type": "number"}]})
    }
}
