//! Reads one value of a tree as the requested type: serde's side of
//! [`decode`](super::decode).

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::FilePlace;
use crate::job::read::nearest::list;
use crate::job::read::tree::{PathStep, YamlMapKey, YamlNode, YamlScalar, YamlValue, shorten};

/// Blocks whose one variant may be written as a bare word: `flip: naive` is `flip: {naive: {}}`.
const BARE_WORD: &[&str] = &["CounterfactualSet", "ModelBlock", "RowsBlock"];

/// Types of job files as serde names them, in words.
const SERDE_WORDS: &[(&str, &str)] = &[
    ("a string", "a text"),
    ("a sequence", "a list"),
    ("a boolean", "`true` or `false`"),
    ("unit", "nothing"),
];

/// Shapes that a hole can take where the type is not said: a text, a number, a list, a map.
pub(crate) const SHAPES: u8 = 4;

/// What is wrong with a value.
#[derive(Debug)]
pub(crate) enum WrongValue {
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    UnknownVariant {
        word: String,
        known: &'static [&'static str],
    },
    Missing(&'static str),
    /// Wrong type: what is expected, what was found, and a hint.
    Type {
        expected: String,
        found: String,
        hint: Option<&'static str>,
    },
    /// A value of the right type that its own check refuses.
    Value(String),
    /// A key that its own check refuses.
    Key(String),
    Empty {
        expected: String,
    },
    /// A variant that is not exactly one key.
    Variants {
        found: Vec<String>,
        known: &'static [&'static str],
    },
    /// A bare word for a variant that needs a value.
    Bare {
        word: String,
        expected: String,
    },
}

#[derive(Debug)]
pub(crate) struct DecodeDetail {
    pub(crate) wrong: WrongValue,
    pub(crate) place: Option<FilePlace>,
    /// From the inside to the outside.
    pub(crate) steps: Vec<PathStep>,
}

/// An error on its way from a value to the root; gathers the steps of its path.
#[derive(Debug)]
pub(crate) struct DecodeError(pub(crate) Box<DecodeDetail>);

impl DecodeError {
    fn new(wrong: WrongValue) -> Self {
        DecodeError(Box::new(DecodeDetail { wrong, place: None, steps: Vec::new() }))
    }

    fn or_at(mut self, place: &FilePlace) -> Self {
        self.0.place.get_or_insert_with(|| place.clone());
        self
    }

    fn inside(mut self, step: PathStep) -> Self {
        self.0.steps.push(step);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.wrong)
    }
}

impl std::error::Error for DecodeError {}

fn in_words(expected: String) -> String {
    SERDE_WORDS
        .iter()
        .find(|(serde, _)| *serde == expected)
        .map_or(expected, |(_, words)| (*words).to_owned())
}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        DecodeError::new(WrongValue::Value(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        DecodeError::new(WrongValue::Type {
            expected: in_words(expected.to_string()),
            found: unexpected(found),
            hint: None,
        })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        DecodeError::new(WrongValue::UnknownVariant { word: word.to_owned(), known })
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        DecodeError::new(WrongValue::UnknownKey { key: key.to_owned(), known })
    }

    fn missing_field(field: &'static str) -> Self {
        DecodeError::new(WrongValue::Missing(field))
    }
}

fn unexpected(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(v) => format!("`{v}`"),
        Unexpected::Unsigned(v) => format!("`{v}`"),
        Unexpected::Signed(v) => format!("`{v}`"),
        Unexpected::Float(v) => format!("`{v}`"),
        Unexpected::Str(v) => format!("`{}`", shorten(v)),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map".to_owned(),
        other => other.to_string(),
    }
}

/// Reads one node; `owner` is the place of the key it is under.
#[derive(Clone, Copy)]
pub(crate) struct NodeReader<'a> {
    pub(crate) node: &'a YamlNode,
    pub(crate) owner: &'a FilePlace,
}

enum RawNumber {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

/// A number by the rules of YAML 1.2 core; `None` where the text is not a number, `Err` where it is
/// one that does not fit.
fn number(text: &str) -> Option<Result<RawNumber, &'static str>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if decimal {
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        return Some(match (unsigned.parse(), text.parse()) {
            (Ok(value), _) => Ok(RawNumber::Unsigned(value)),
            (_, Ok(value)) => Ok(RawNumber::Signed(value)),
            _ => Err("the number is too large"),
        });
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(rest) = text.strip_prefix(prefix)
            && !rest.is_empty()
            && rest.chars().all(|c| c.is_digit(radix))
        {
            return Some(
                u64::from_str_radix(rest, radix)
                    .map(RawNumber::Unsigned)
                    .map_err(|_| "the number is too large"),
            );
        }
    }
    let lower = digits.to_ascii_lowercase();
    if lower == ".inf" || (lower == ".nan" && digits == text) {
        return Some(Err("the number must be finite"));
    }
    let float =
        digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match text.parse::<f64>() {
        Ok(value) if float && starts => Some(if value.is_finite() {
            Ok(RawNumber::Float(value))
        } else {
            Err("the number is too large")
        }),
        _ => None,
    }
}

impl<'a> NodeReader<'a> {
    fn error(&self, wrong: WrongValue) -> DecodeError {
        DecodeError::new(wrong).or_at(&self.node.place)
    }

    fn wrong(&self, expected: &str, hint: Option<&'static str>) -> DecodeError {
        if let YamlValue::Scalar(scalar) = &self.node.value
            && scalar.is_null()
        {
            return self.error(WrongValue::Empty { expected: expected.to_owned() });
        }
        self.error(WrongValue::Type {
            expected: expected.to_owned(),
            found: self.node.describe(),
            hint,
        })
    }

    /// Errors of a visitor, with the place of this value.
    fn placed<T>(&self, result: Result<T, DecodeError>) -> Result<T, DecodeError> {
        result.map_err(|e| e.or_at(&self.node.place))
    }

    fn number(&self, expected: &str) -> Result<RawNumber, DecodeError> {
        let Some(scalar) = self.node.scalar() else { return Err(self.wrong(expected, None)) };
        match number(&scalar.text) {
            Some(_) if scalar.quoted => {
                Err(self.wrong(expected, Some("remove the quotes, which make it a text")))
            }
            Some(Ok(number)) => Ok(number),
            Some(Err(_)) => Err(self.wrong(expected, None)),
            None if scalar.text.contains('_')
                && number(&scalar.text.replace('_', "")).is_some() =>
            {
                Err(self.wrong(expected, Some("write the number without `_`")))
            }
            None if scalar.text.ends_with('%') => {
                Err(self.wrong(expected, Some("write shares as numbers from 0 to 1: 5 % is 0.05")))
            }
            None => Err(self.wrong(expected, None)),
        }
    }

    fn unsigned(&self, expected: &str) -> Result<u64, DecodeError> {
        if let YamlValue::Hole(_) = self.node.value {
            return Ok(1);
        }
        match self.number(expected)? {
            RawNumber::Unsigned(value) => Ok(value),
            RawNumber::Signed(_) | RawNumber::Float(_) => Err(self.wrong(expected, None)),
        }
    }

    fn text(&self) -> Result<&'a str, DecodeError> {
        match &self.node.value {
            // Texts that say something by themselves: a time limit, a size, a share.
            YamlValue::Hole(shape) => {
                Ok(["x", "1h", "1GiB", "5%"].get(usize::from(*shape)).copied().unwrap_or("x"))
            }
            YamlValue::Scalar(scalar) if !scalar.is_null() => Ok(&scalar.text),
            _ => Err(self.wrong("a text", None)),
        }
    }

    fn map<V: Visitor<'a>>(
        self,
        entries: &'a [(YamlMapKey, YamlNode)],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_map(MapEntries { entries, next: 0 }).map_err(|e| e.or_at(self.owner))
    }

    fn seq<V: Visitor<'a>>(
        self,
        items: &'a [YamlNode],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.placed(visitor.visit_seq(ListItems { items, next: 0 }))
    }

    fn hole<V: Visitor<'a>>(self, shape: u8, visitor: V) -> Result<V::Value, DecodeError> {
        match shape {
            0 => visitor.visit_str("none"),
            1 => visitor.visit_f64(0.5),
            2 => visitor.visit_seq(ListItems { items: &[], next: 0 }),
            _ => visitor.visit_map(MapEntries { entries: &[], next: 0 }),
        }
    }
}

macro_rules! unsigned {
    ($($method:ident, $visit:ident, $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            let max = <$type>::MAX;
            let expected = match u64::from(max) {
                u64::MAX => "a whole number of at least 0".to_owned(),
                max => format!("a whole number from 0 to {max}"),
            };
            let value = <$type>::try_from(self.unsigned(&expected)?)
                .map_err(|_| self.wrong(&expected, None))?;
            self.placed(visitor.$visit(value))
        }
    )*};
}

impl<'de> de::Deserializer<'de> for NodeReader<'de> {
    type Error = DecodeError;

    unsigned! {
        deserialize_u8, visit_u8, u8;
        deserialize_u16, visit_u16, u16;
        deserialize_u32, visit_u32, u32;
        deserialize_u64, visit_u64, u64;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            YamlValue::Hole(shape) => self.hole(*shape, visitor),
            YamlValue::Seq(items) => self.seq(items, visitor),
            YamlValue::Map(entries) => self.map(entries, visitor),
            YamlValue::Scalar(scalar) if scalar.is_null() => {
                // `&visitor` says what it expects through `Expected`.
                let expected = (&visitor as &dyn Expected).to_string();
                Err(self.error(WrongValue::Empty { expected: in_words(expected) }))
            }
            YamlValue::Scalar(scalar) if scalar.quoted => {
                self.placed(visitor.visit_str(&scalar.text))
            }
            YamlValue::Scalar(scalar) => {
                self.placed(match (scalar.text.as_str(), number(&scalar.text)) {
                    ("true" | "True" | "TRUE", _) => visitor.visit_bool(true),
                    ("false" | "False" | "FALSE", _) => visitor.visit_bool(false),
                    (_, Some(Ok(RawNumber::Unsigned(value)))) => visitor.visit_u64(value),
                    (_, Some(Ok(RawNumber::Signed(value)))) => visitor.visit_i64(value),
                    (_, Some(Ok(RawNumber::Float(value)))) => visitor.visit_f64(value),
                    (text, _) => visitor.visit_str(text),
                })
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let value = match &self.node.value {
            YamlValue::Hole(_) => false,
            YamlValue::Scalar(YamlScalar { text, quoted: false })
                if matches!(text.as_str(), "true" | "True" | "TRUE") =>
            {
                true
            }
            YamlValue::Scalar(YamlScalar { text, quoted: false })
                if matches!(text.as_str(), "false" | "False" | "FALSE") =>
            {
                false
            }
            _ => return Err(self.wrong("`true` or `false`", None)),
        };
        self.placed(visitor.visit_bool(value))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a number beyond 2^53 is rounded as any decimal is"
        )]
        let value = match self.node.value {
            YamlValue::Hole(_) => 0.5,
            _ => match self.number("a finite number")? {
                RawNumber::Unsigned(value) => value as f64,
                RawNumber::Signed(value) => value as f64,
                RawNumber::Float(value) => value,
            },
        };
        self.placed(visitor.visit_f64(value))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut chars = match &self.node.value {
            // A space or a tab in quotes is a character too.
            YamlValue::Scalar(scalar) if scalar.quoted => scalar.text.chars(),
            _ => self.text()?.chars(),
        };
        match (chars.next(), chars.next()) {
            (Some(one), None) => self.placed(visitor.visit_char(one)),
            _ => Err(self.wrong("one character", Some("a tab is written \"\\t\""))),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.placed(visitor.visit_str(self.text()?))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.node.value {
            YamlValue::Hole(_) => visitor.visit_none(),
            // An empty value is no `None`: the value behind the option says what is missing, or
            // takes it as an empty map.
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            YamlValue::Hole(_) => self.seq(&[], visitor),
            YamlValue::Seq(items) => self.seq(items, visitor),
            _ => Err(self.wrong("a list", None)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            YamlValue::Hole(_) => {
                self.placed(visitor.visit_seq(HoleItems { hole: self, left: len }))
            }
            YamlValue::Seq(items) if items.len() == len => self.seq(items, visitor),
            YamlValue::Seq(items) => {
                let found = format!("a list of {}", items.len());
                Err(self.error(WrongValue::Type {
                    expected: format!("a list of {len}"),
                    found,
                    hint: None,
                }))
            }
            _ => Err(self.wrong(&format!("a list of {len}"), None)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match (&self.node.value, self.node.entries()) {
            (YamlValue::Hole(_), _) => self.map(&[], visitor),
            (_, Some(entries)) => self.map(entries, visitor),
            _ => Err(self.wrong("a map", None)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            YamlValue::Hole(_) => visitor.visit_map(HoleFields { hole: self, fields, next: 0 }),
            YamlValue::Scalar(scalar) if BARE_WORD.contains(&name) && !scalar.is_null() => visitor
                .visit_map(BareField { node: self.node, word: &scalar.text, read: false })
                .map_err(|e| e.or_at(self.owner)),
            _ => match self.node.entries() {
                Some(entries) => self.map(entries, visitor),
                None => Err(self.wrong(&format!("a map with {}", key_names(fields)), None)),
            },
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let (word, content, place) = match &self.node.value {
            YamlValue::Hole(_) => (
                known.first().copied().unwrap_or_default(),
                VariantContent::Hole(self),
                &self.node.place,
            ),
            YamlValue::Scalar(scalar) if !scalar.is_null() => {
                (scalar.text.as_str(), VariantContent::Bare(self), &self.node.place)
            }
            YamlValue::Map(entries) if entries.len() == 1 => (
                entries[0].0.text.as_str(),
                VariantContent::Entry(&entries[0]),
                &entries[0].0.place,
            ),
            YamlValue::Map(entries) => {
                let found = entries.iter().map(|(k, _)| k.text.clone()).collect();
                return Err(self.error(WrongValue::Variants { found, known }));
            }
            _ => return Err(self.wrong(&format!("one of {}", list(known)), None)),
        };
        if !known.contains(&word) {
            return Err(DecodeError::new(WrongValue::UnknownVariant {
                word: word.to_owned(),
                known,
            })
            .or_at(place));
        }
        self.placed(visitor.visit_enum(VariantReader { word, content }))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 bytes byte_buf unit unit_struct tuple_struct
    }
}

fn key_names(fields: &[&str]) -> String {
    if fields.is_empty() { "no keys".to_owned() } else { format!("the keys {}", list(fields)) }
}

fn key_error(error: DecodeError, key: &YamlMapKey) -> DecodeError {
    let mut error = error.or_at(&key.place);
    if let WrongValue::Value(message) = &mut error.0.wrong {
        error.0.wrong = WrongValue::Key(std::mem::take(message));
    }
    error.inside(PathStep::Key(key.text.clone()))
}

/// The entries of a map.
struct MapEntries<'a> {
    entries: &'a [(YamlMapKey, YamlNode)],
    next: usize,
}

impl<'de> de::MapAccess<'de> for MapEntries<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        let Some((key, _)) = self.entries.get(self.next) else { return Ok(None) };
        let text: StrDeserializer<'_, DecodeError> = key.text.as_str().into_deserializer();
        seed.deserialize(text).map(Some).map_err(|e| key_error(e, key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeError> {
        let (key, node) = &self.entries[self.next];
        self.next += 1;
        let place = if node.scalar().is_some() { &node.place } else { &key.place };
        seed.deserialize(NodeReader { node, owner: &key.place })
            .map_err(|e| e.or_at(place).inside(PathStep::Key(key.text.clone())))
    }
}

/// The items of a list.
struct ListItems<'a> {
    items: &'a [YamlNode],
    next: usize,
}

impl<'de> de::SeqAccess<'de> for ListItems<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(node) = self.items.get(self.next) else { return Ok(None) };
        let i = self.next;
        self.next += 1;
        seed.deserialize(NodeReader { node, owner: &node.place })
            .map(Some)
            .map_err(|e| e.or_at(&node.place).inside(PathStep::Index(i)))
    }
}

/// A bare word read as a map with this one key and an empty value.
struct BareField<'a> {
    node: &'a YamlNode,
    word: &'a str,
    read: bool,
}

impl<'de> de::MapAccess<'de> for BareField<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        if std::mem::replace(&mut self.read, true) {
            return Ok(None);
        }
        let text: StrDeserializer<'_, DecodeError> = self.word.into_deserializer();
        let key = YamlMapKey { text: self.word.to_owned(), place: self.node.place.clone() };
        seed.deserialize(text).map(Some).map_err(|e| key_error(e, &key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeError> {
        seed.deserialize(BareContent { word: self.word, place: &self.node.place })
            .map_err(|e| e.inside(PathStep::Key(self.word.to_owned())))
    }
}

/// The fields of a struct that is in a hole.
struct HoleFields<'a> {
    hole: NodeReader<'a>,
    fields: &'static [&'static str],
    next: usize,
}

impl<'de> de::MapAccess<'de> for HoleFields<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        let Some(field) = self.fields.get(self.next) else { return Ok(None) };
        self.next += 1;
        let text: StrDeserializer<'_, DecodeError> = (*field).into_deserializer();
        seed.deserialize(text).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeError> {
        seed.deserialize(self.hole)
    }
}

struct HoleItems<'a> {
    hole: NodeReader<'a>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for HoleItems<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.hole).map(Some)
    }
}

/// What a variant holds.
enum VariantContent<'a> {
    Entry(&'a (YamlMapKey, YamlNode)),
    Bare(NodeReader<'a>),
    Hole(NodeReader<'a>),
}

struct VariantReader<'a> {
    word: &'a str,
    content: VariantContent<'a>,
}

impl<'de> de::EnumAccess<'de> for VariantReader<'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DecodeError> {
        let text: StrDeserializer<'_, DecodeError> = self.word.into_deserializer();
        Ok((seed.deserialize(text)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for VariantReader<'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.content {
            VariantContent::Entry((key, node)) if node.entries().is_none_or(|e| !e.is_empty()) => {
                let wrong = WrongValue::Type {
                    expected: format!("the bare word `{}`", self.word),
                    found: node.describe(),
                    hint: None,
                };
                Err(DecodeError::new(wrong).or_at(&key.place))
            }
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        let step = PathStep::Key(self.word.to_owned());
        match self.content {
            VariantContent::Entry((key, node)) => seed
                .deserialize(NodeReader { node, owner: &key.place })
                .map_err(|e| e.or_at(&node.place).inside(step)),
            VariantContent::Bare(reader) => seed
                .deserialize(BareContent { word: self.word, place: &reader.node.place })
                .map_err(|e| e.inside(step)),
            VariantContent::Hole(reader) => seed.deserialize(reader),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.newtype_variant_seed(TupleVisitor { len, visitor })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.newtype_variant_seed(FieldsVisitor { fields, visitor })
    }
}

struct TupleVisitor<V> {
    len: usize,
    visitor: V,
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for TupleVisitor<V> {
    type Value = V::Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_tuple(self.len, self.visitor)
    }
}

struct FieldsVisitor<V> {
    fields: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for FieldsVisitor<V> {
    type Value = V::Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_struct("", self.fields, self.visitor)
    }
}

/// The content of a bare word: an empty map where a map is expected, else the word lacks its value.
struct BareContent<'a> {
    word: &'a str,
    place: &'a FilePlace,
}

impl BareContent<'_> {
    fn needs(&self, expected: String) -> DecodeError {
        DecodeError::new(WrongValue::Bare {
            word: self.word.to_owned(),
            expected: in_words(expected),
        })
        .or_at(self.place)
    }
}

impl<'de> de::Deserializer<'de> for BareContent<'_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        Err(self.needs((&visitor as &dyn Expected).to_string()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_map(MapEntries { entries: &[], next: 0 }).map_err(|e| e.or_at(self.place))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct enum identifier ignored_any
    }
}
