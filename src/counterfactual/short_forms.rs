//! Keys whose value is either a word or a map: the short and the long form of a setting.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionOn {
    /// The binary label.
    Label,
    /// A model's prediction for the row; the strata are those of the label.
    Prediction(Name),
    /// Nothing.
    #[serde(rename = "none")]
    Nothing,
    /// The label as it is in the data, with all its values.
    #[serde(untagged, with = "raw_label")]
    RawLabel,
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

/// `{label: raw}`.
mod raw_label {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{ConditionMap, RawLabelWord};

    pub(super) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        ConditionMap::Label(RawLabelWord::Raw).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(form: D) -> Result<(), D::Error> {
        match ConditionMap::deserialize(form)? {
            ConditionMap::Label(RawLabelWord::Raw) => Ok(()),
            ConditionMap::Prediction(_) => Err(D::Error::custom("not the label")),
        }
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

#[cfg(test)]
mod tests {
    use super::ConditionOn;

    #[test]
    fn what_is_conditioned_on_has_a_word_or_a_map() {
        for text in [r#""label""#, r#""none""#, r#"{"label":"raw"}"#, r#"{"prediction":"m"}"#] {
            let read: ConditionOn = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        for text in [r#""raw""#, r#"{"label":"both"}"#, r#"{"none":"m"}"#, r#""prediction""#, "1"] {
            assert!(serde_json::from_str::<ConditionOn>(text).is_err(), "{text}");
        }
    }
}
