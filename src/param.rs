//! Numbers and words from job files that are valid by construction: `Fraction`, `Count`,
//! `ColumnName`, `Name`, `Level`, `Seed`, `Word`, `CommandArgument`, `TimeLimit`; and the refusal
//! of a knob.
//!
//! Each type checks itself while it is read, so that nothing behind the job file has to check
//! again.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

impl Fraction {
    /// A share that is known when the program is built: so many of so many.
    pub const fn of<const N: u32, const ALL: u32>() -> Fraction {
        const { assert!(N <= ALL && ALL > 0, "a share is at most 1") };
        Fraction(N as f64 / ALL as f64)
    }
}

impl Level {
    /// The usual 95 %.
    pub const DEFAULT: Level = Level(0.95);
}

impl Default for Level {
    fn default() -> Self {
        Level::DEFAULT
    }
}

impl Finite {
    /// A number that is known when the program is built: so many of so many.
    pub const fn of<const N: u32, const ALL: u32>() -> Finite {
        const { assert!(ALL > 0, "no number is a part of none") };
        Finite(N as f64 / ALL as f64)
    }
}

impl Count {
    /// The smallest.
    pub const ONE: Count = Count(1);

    /// A count that is known when the program is built.
    pub const fn of<const N: u64>() -> Count {
        const { assert!(N > 0, "a count is at least 1") };
        Count(N)
    }

    /// The count as a size in memory.
    pub(crate) fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The seed of a job; every use of chance is a named stream of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seed(pub u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(42)
    }
}

/// Writes an enum with a word for each value.
macro_rules! worded_enum {
    ($(#[$about:meta])* $name:ident { $($(#[$means:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name { $($(#[$means])* $value,)+ }

        impl $name {
            /// All of them, in order.
            pub(crate) const ALL: &'static [$name] = &[$($name::$value,)+];

            /// How texts call it.
            pub(crate) const fn word(self) -> &'static str {
                match self { $($name::$value => $word,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|value| value.word() == word).ok_or(())
            }
        }
    };
}

pub(crate) use worded_enum;

/// Writes what a type holds as it is, and names the type in the schema.
macro_rules! written_plainly {
    ($type:ident, $expect:expr, $schema:tt) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!($schema);
                schema.insert("x-is".to_owned(), $expect.into());
                schema
            }
        }
    };
}

/// Writes a number that checks itself.
macro_rules! checked_number {
    ($(#[$about:meta])* $type:ident: $inner:ty, $takes:expr, $expect:literal, $schema:tt) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $type($inner);

        impl $type {
            /// The number, if it is one of these.
            pub fn new(value: $inner) -> Option<Self> {
                let takes: fn(&$inner) -> bool = $takes;
                takes(&value).then_some($type(value))
            }

            /// The value as a plain number.
            pub fn get(self) -> $inner {
                self.0
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <$inner>::deserialize(deserializer)?;
                $type::new(value)
                    .ok_or_else(|| D::Error::custom(format!("`{value}` is not {}", $expect)))
            }
        }

        written_plainly!($type, $expect, $schema);
    };
}

checked_number!(
    /// A share from 0 to 1, both included.
    Fraction: f64, |share: &f64| (0.0..=1.0).contains(share), "a share from 0 to 1",
    {"type": "number", "minimum": 0, "maximum": 1});
checked_number!(
    /// A confidence level: above 0 and below 1.
    Level: f64, |level: &f64| *level > 0.0 && *level < 1.0, "a level between 0 and 1, such as 0.95",
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1});
checked_number!(
    /// A finite number.
    Finite: f64, |value: &f64| value.is_finite(), "a finite number", {"type": "number"});
checked_number!(
    /// A whole number of things, at least 1.
    #[derive(Eq, Ord)]
    Count: u64, |count: &u64| *count > 0, "a whole number of at least 1",
    {"type": "integer", "minimum": 1});

/// A form that a text in a job has.
pub(crate) struct TextForm {
    /// Its regular expression, as in the schema.
    pub(crate) pattern: &'static str,
    /// What such a text is.
    pub(crate) is: &'static str,
    /// Whether a text has it.
    pub(crate) takes: fn(&str) -> bool,
    /// One that has it.
    pub(crate) example: &'static str,
}

/// The forms of texts in a job: names, names of sets, time limits, percentages.
pub(crate) static TEXT_FORMS: [TextForm; 4] = [
    TextForm {
        pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$",
        is: "a name (letters, digits, `_`, `-` and `.`, starting with a letter or digit, at most \
             100 characters)",
        takes: |text| Name::new(text).is_some(),
        example: "x",
    },
    TextForm {
        pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}(/[A-Za-z0-9][A-Za-z0-9_.-]{0,99})?$",
        is: "a name of a counterfactual set (letters, digits, `_`, `-` and `.`, starting with a \
             letter or digit, at most 100 characters; `SET/SCENARIO` where a set has scenarios)",
        takes: |text| SetName::new(text).is_some(),
        example: "x",
    },
    TextForm {
        pattern: "^([0-9]+[smh]|\\$\\{vars\\..*)$",
        is: "a time limit (a whole number with its unit: `90s`, `10m`, `2h`; at most 720h)",
        takes: |text| TimeLimit::read(text).is_some(),
        example: "1h",
    },
    TextForm {
        pattern: "^[0-9.]+ ?%$",
        is: "a percentage",
        takes: |text| {
            let number = text.strip_suffix('%').map(str::trim_end);
            number.and_then(|number| number.parse().ok()).is_some_and(f64::is_finite)
        },
        example: "5%",
    },
];

/// The name of a column in the user's data: any text but the empty one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnName(String);

/// The name of a set, a model, a gate or a job: starts with a letter or digit, then letters,
/// digits, `_`, `-` and `.`, at most 100 characters. It becomes part of file names, so nothing else
/// is allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// The name of a counterfactual set: a [`Name`], or `SET/SCENARIO` where a set has several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetName(String);

impl SetName {
    /// The name, if it is well formed.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let mut parts = text.splitn(2, '/');
        parts.all(|part| Name::new(part).is_some()).then_some(SetName(text))
    }
}

impl ColumnName {
    /// The name, if it is not empty.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty()).then_some(ColumnName(text))
    }
}

impl Name {
    /// The name, if it is well formed.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let mut chars = text.chars();
        let head = chars.next().is_some_and(|c| c.is_ascii_alphanumeric());
        (head
            && text.len() <= 100
            && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .then_some(Name(text))
    }
}

/// Shows a type that holds a text as that text.
macro_rules! shown_as_text {
    ($type:ident) => {
        impl $type {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use shown_as_text;

macro_rules! checked_text {
    ($type:ident, $expect:expr, $schema:tt) => {
        shown_as_text!($type);

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                $type::new(text.clone())
                    .ok_or_else(|| D::Error::custom(format!("`{text}` is not {}", $expect)))
            }
        }

        written_plainly!($type, $expect, $schema);
    };
}

checked_text!(ColumnName, "a column name (it must not be empty)",
    {"type": "string", "minLength": 1});
checked_text!(Name, TEXT_FORMS[0].is, {"type": "string", "pattern": TEXT_FORMS[0].pattern});
checked_text!(SetName, TEXT_FORMS[1].is, {"type": "string", "pattern": TEXT_FORMS[1].pattern});

/// Text that is compared with values of a column once the column's type is known. Written bare or
/// quoted: a group called `no` stays a group, a label `1` stays the text `1`; the reader hands out
/// any scalar as it is written when a text is asked for.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(extend("type" = ["string", "number", "boolean"]))]
#[schemars(description = "Text that is compared with values of a column.")]
pub struct Word(pub String);

shown_as_text!(Word);

/// A word of a command. `{seed}` and the like are filled when the command starts; braces around
/// anything but a word of lower-case letters and `_` stay as they are. A bare number is the text
/// that is there, as with [`Word`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Argument", extend("type" = ["string", "number", "boolean"]))]
#[schemars(description = "A word of a command; `{model}`, `{seed}`, `{threads}`, `{fold}`, \
                          `{rows}` and `{scores}` are filled in when it starts.")]
pub struct CommandArgument(pub String);

impl CommandArgument {
    /// The words in braces.
    pub fn placeholders(&self) -> Vec<&str> {
        let mut words = Vec::new();
        self.walk(|part, is_word| words.extend(is_word.then_some(part)));
        words
    }

    /// The argument with every word in braces replaced; one for which `value` has nothing stays as
    /// it is.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let mut text = String::new();
        self.walk(|part, is_word| match is_word.then(|| value(part)) {
            None => text.push_str(part),
            Some(Some(filled)) => text.push_str(&filled),
            Some(None) => text.push_str(&format!("{{{part}}}")),
        });
        text
    }

    /// Visits the parts in order: plain text, and words in braces without their braces.
    fn walk<'a>(&'a self, mut visit: impl FnMut(&'a str, bool)) {
        let mut rest = self.0.as_str();
        while let Some(open) = rest.find('{') {
            let after = &rest[open + 1..];
            let length = after.bytes().take_while(|b| b.is_ascii_lowercase() || *b == b'_').count();
            if length > 0 && after[length..].starts_with('}') {
                visit(&rest[..open], false);
                visit(&after[..length], true);
                rest = &after[length + 1..];
            } else {
                visit(&rest[..=open], false);
                rest = after;
            }
        }
        visit(rest, false);
    }
}

/// How long something may take: seconds, at least 1 and at most 30 days. Written as a whole number
/// and a unit: `90s`, `10m`, `2h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeLimit(u64);

impl TimeLimit {
    const LONGEST: u64 = 30 * 24 * 3600;

    /// The limit, if it is a number of seconds that is allowed.
    pub fn seconds(seconds: u64) -> Option<Self> {
        (1..=TimeLimit::LONGEST).contains(&seconds).then_some(TimeLimit(seconds))
    }

    /// A limit of `SECONDS` seconds.
    pub(crate) const fn of<const SECONDS: u64>() -> Self {
        const { assert!(SECONDS > 0 && SECONDS <= TimeLimit::LONGEST, "a limit that is allowed") };
        TimeLimit(SECONDS)
    }

    /// The limit as a duration.
    pub fn get(self) -> std::time::Duration {
        std::time::Duration::from_secs(self.0)
    }

    fn read(text: &str) -> Option<Self> {
        let (number, unit) =
            text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return None,
        };
        let number = Some(number).filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?;
        TimeLimit::seconds(number.parse::<u64>().ok()?.checked_mul(seconds)?)
    }
}

impl Default for TimeLimit {
    /// An hour.
    fn default() -> Self {
        TimeLimit(3600)
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            s if s % 3600 == 0 => write!(f, "{}h", s / 3600),
            s if s % 60 == 0 => write!(f, "{}m", s / 60),
            s => write!(f, "{s}s"),
        }
    }
}

impl<'de> Deserialize<'de> for TimeLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        TimeLimit::read(&text)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is not {}", TEXT_FORMS[2].is)))
    }
}

impl Serialize for TimeLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for TimeLimit {
    fn schema_name() -> Cow<'static, str> {
        "TimeLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": TEXT_FORMS[2].pattern,
            "description": "A whole number with its unit: `90s`, `10m`, `2h`."
        })
    }
}

/// A knob whose value `cfaudit check` refuses, regardless of the rest of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnobRefusal {
    /// The dotted key below the block; empty for the block itself.
    pub key: &'static str,
    /// The code of the problem.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}

impl KnobRefusal {
    /// Refuses the value of a key.
    pub fn new(
        key: &'static str,
        code: &'static str,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        KnobRefusal { key, code, what: what.into(), hint: hint.into() }
    }
}

/// The word of a variant, or the key of one that holds something, as a job writes it.
pub(crate) fn key_word(variant: &impl Serialize) -> String {
    match json!(variant) {
        Value::Object(map) => map.into_iter().next().map_or_else(String::new, |(key, _)| key),
        word => word.as_str().unwrap_or_default().to_owned(),
    }
}

/// The variant of such a word, where it holds nothing.
pub(crate) fn variant_of<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(json!(word)).ok()
}

#[cfg(test)]
mod tests {
    use super::{CommandArgument, Count, Fraction, Level, Name, TimeLimit};

    #[test]
    fn arguments_are_filled_where_a_word_stands_in_braces() {
        let check = |text: &str, words: &[&str], filled: &str| {
            let argument = CommandArgument(text.to_owned());
            assert_eq!(argument.placeholders(), words, "{text}");
            assert_eq!(argument.fill(|word| (word == "model").then(|| "m.pkl".to_owned())), filled);
        };
        check("--model={model}", &["model"], "--model=m.pkl");
        check("{model}{model}", &["model", "model"], "m.pklm.pkl");
        check("{fold}/{model}", &["fold", "model"], "{fold}/m.pkl");
        check("{\"a\": {model}}", &["model"], "{\"a\": m.pkl}");
        check("{print $1} {} {Model} {model", &[], "{print $1} {} {Model} {model");
        check("{{model}}", &["model"], "{m.pkl}");
        check("", &[], "");
    }

    #[test]
    fn time_limits() {
        for (text, seconds, again) in
            [("90s", 90, "90s"), ("10m", 600, "10m"), ("120m", 7200, "2h"), ("1h", 3600, "1h")]
        {
            let limit = TimeLimit::read(text).expect(text);
            assert_eq!((limit.get().as_secs(), limit.to_string().as_str()), (seconds, again));
        }
        for bad in
            ["", "10", "0s", "m", "-1m", "1.5h", "10 m", "721h", "99999999999999999999h", "1é"]
        {
            assert_eq!(TimeLimit::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn bounds() {
        assert!(Fraction::new(0.0).is_some() && Fraction::new(1.0).is_some());
        assert!(Fraction::new(-0.1).is_none() && Fraction::new(f64::NAN).is_none());
        assert!(Level::new(1.0).is_none() && Level::new(0.0).is_none());
        assert!(Count::new(0).is_none());
    }

    #[test]
    fn names() {
        for good in ["adult-sex", "a", "v1.2_x", "0"] {
            assert!(Name::new(good).is_some(), "{good}");
        }
        for bad in ["", "-a", "a b", "a/b", "..", "é"] {
            assert!(Name::new(bad).is_none(), "{bad}");
        }
    }
}
