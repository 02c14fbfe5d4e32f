//! The key `amount` of a model, and what else a job says about outcomes that are amounts: which end
//! people want, and which change is large enough to matter to them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::kind::scale_key::BetterEnd;
use crate::param::Finite;

/// The outcome of the model is an amount, such as a premium or a credit line, and no score: any
/// finite number, instead of `threshold`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AmountBlock {
    /// Which amounts people want: `lower` of a premium, `higher` of a credit line.
    pub better: BetterEnd,
    /// The least change that matters to a person: a share of the amount as it is, `5%`, or an
    /// amount, `100`. From 0 any change matters to a share.
    pub matters_from: MattersFrom,
}

/// What a least change is.
const MATTERS_FROM: &str = "a share such as `5%`, or an amount such as `100`";

/// The least change of an amount that matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MattersFrom {
    /// So many per cent of the amount as it is.
    Percent(Finite),
    /// This much.
    Amount(Finite),
}

impl MattersFrom {
    /// The number as the job writes it, without its unit.
    pub(crate) fn number(self) -> f64 {
        match self {
            MattersFrom::Percent(number) | MattersFrom::Amount(number) => number.get(),
        }
    }
}

impl fmt::Display for MattersFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MattersFrom::Percent(number) => write!(f, "{}%", number.get()),
            MattersFrom::Amount(number) => write!(f, "{}", number.get()),
        }
    }
}

impl Serialize for MattersFrom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MattersFrom::Percent(_) => serializer.serialize_str(&self.to_string()),
            MattersFrom::Amount(number) => number.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for MattersFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Amount(f64),
            Percent(String),
        }
        let (is_share, number) = match Written::deserialize(deserializer)? {
            Written::Amount(number) => (false, Some(number)),
            Written::Percent(text) => {
                let number = text.strip_suffix('%').map(str::trim_end);
                (true, number.and_then(|number| number.parse().ok()))
            }
        };
        let number = number.and_then(Finite::new).ok_or_else(|| D::Error::custom(MATTERS_FROM))?;
        Ok(if is_share { MattersFrom::Percent(number) } else { MattersFrom::Amount(number) })
    }
}

impl JsonSchema for MattersFrom {
    fn schema_name() -> Cow<'static, str> {
        "MattersFrom".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = generator.subschema_for::<Finite>();
        json_schema!({
            "x-is": MATTERS_FROM,
            "anyOf": [{"type": "string", "pattern": "^[0-9.]+ ?%$"}, number]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::MattersFrom;

    #[test]
    fn shares_and_amounts() {
        let read = |text: &str| serde_json::from_str::<MattersFrom>(text);
        for (text, number, written) in
            [("\"5%\"", 5.0, "5%"), ("\"2.5 %\"", 2.5, "2.5%"), ("100", 100.0, "100")]
        {
            let found = read(text).unwrap();
            assert_eq!((found.number(), found.to_string().as_str()), (number, written));
            let again = serde_json::to_string(&found).unwrap();
            assert_eq!(read(&again).unwrap(), found);
        }
        for text in ["\"5\"", "\"five%\"", "\"%\"", "\"nan%\"", "true"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
