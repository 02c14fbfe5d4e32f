//! Reads a tree by the JSON Schema that the types of a job make of themselves: every wrong key,
//! word, type and range in one pass, and the value as JSON, from which serde makes the job.
//!
//! What is wrong or missing is named in `damaged` and replaced by a blank of the type that the
//! schema asks for, so that the rest can be checked.
//!
//! Rules: a text takes any scalar as it is written; numbers and booleans are YAML 1.2 core,
//! unquoted and finite; an empty value is an empty map where a map is expected, else an error; a
//! variant is a map with one key, or its bare word where it needs no parameter.
//!
//! Keys of the schema beyond JSON Schema, set by the types and left out of the published file:
//! `x-is` says what a value is, in words; `x-near` that a wrong word is compared with the known
//! ones nevertheless; `x-bare` that a bare word may name the one key of a block; `x-short` names
//! the key of a block whose value may replace the block; `x-alone` that a variant has no
//! keys next to it.
//!
//! What a single key may hold within its type is said at the key, too, and breaks no other rule:
//! `x-range` says which numbers, also of a list or a map, the bounds next to it allow, with a hint
//! after a semicolon, and `x-code` under which code if not `bad-value`; `x-noun` what a list names,
//! each once, and at least one with `minItems` (a `file` is a path, and a `variable` one of the
//! environment); `x-least` what to do about a list or a map with nothing in it; `x-plain` that a
//! text is a path without placeholders; `x-filled` what to do about a text that is blank;
//! `x-address` whether a file may be in an object store (`object`) or not (`local`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Number, Value as Json, json};

use crate::error::{FilePlace, JobProblem};
use crate::exec::object;
use crate::job::Job;
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::{YamlMapKey, YamlNode, YamlScalar, YamlValue, join, shorten};
use crate::job::read::word_lists::{all, list, suggest};
use crate::job::schema::types_schema;
use crate::nearest::nearest;
use crate::param::{CommandArgument, TEXT_FORMS, TextForm};

/// The most problems of one job; after these no more are looked for.
pub(crate) const MAX_PROBLEMS: usize = 50;

/// Where the keys and values of a job stand, by dotted path: a value where it is written, a block
/// at its key.
#[derive(Debug, Clone, Default)]
pub struct JobPlaces(BTreeMap<String, FilePlace>);

impl JobPlaces {
    /// Where a dotted path stands that is written in the job.
    pub(crate) fn written(&self, path: &str) -> Option<&FilePlace> {
        self.0.get(path).filter(|_| !path.is_empty())
    }

    /// Where a dotted path stands (as [`path`](crate::job::check::path) makes it); if it is not
    /// written, the nearest block around it.
    pub fn at(&self, path: &str) -> Option<&FilePlace> {
        let mut path = path;
        loop {
            if let Some(place) = self.0.get(path) {
                return Some(place);
            }
            path = match path.rfind(['.', '[']) {
                Some(cut) => &path[..cut],
                None if path.is_empty() => return None,
                None => "",
            };
        }
    }
}

/// What reading a tree gave.
#[derive(Debug)]
pub(crate) struct ReadJob {
    /// The job, without meaning at the damaged places; none where the types refuse what the schema
    /// takes, which is a problem of its own.
    pub(crate) job: Option<Job>,
    /// Where its parts stand.
    pub(crate) places: JobPlaces,
    /// Everything that is wrong.
    pub(crate) problems: Vec<JobProblem>,
    /// Dotted paths of values that are wrong or missing and of keys that are unknown.
    pub(crate) damaged: Vec<String>,
    /// What is wrong with values that are in their place: out of range, empty or named twice.
    pub(crate) refused: Vec<JobProblem>,
}

/// Reads a tree as a job. At the dotted paths `unknown` are unknown values, which have their own
/// problem.
pub(crate) fn read_job(root: &YamlNode, unknown: Vec<String>) -> ReadJob {
    let schema = types_schema();
    let mut reader = ShapeReader {
        root: schema,
        damaged: unknown.clone(),
        unknown,
        places: JobPlaces::default(),
        problems: Vec::new(),
        refused: Vec::new(),
    };
    let value = reader.value(schema, At { path: "", owner: &root.place, node: root });
    let ShapeReader { places, mut problems, damaged, refused, .. } = reader;
    let job = serde_json::from_value(value);
    if let (Err(error), true) = (&job, problems.is_empty()) {
        problems.push(problem("", &root.place, m::job_unreadable(error)));
    }
    ReadJob { job: job.ok(), places, problems, damaged, refused }
}

fn problem(path: &str, place: &FilePlace, Said { code, what, hint, .. }: Said) -> JobProblem {
    let hint = (!hint.is_empty()).then_some(hint);
    JobProblem { code, path: path.to_owned(), place: Some(place.clone()), what, hint }
}

/// A value as it is written: its path, and the place of the key it is under.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a str,
    owner: &'a FilePlace,
    node: &'a YamlNode,
}

impl<'a> At<'a> {
    /// Where what is there stands: a scalar where it is written, else its key.
    fn place(self) -> &'a FilePlace {
        if self.node.scalar().is_some() { &self.node.place } else { self.owner }
    }
}

struct ShapeReader {
    root: &'static Json,
    unknown: Vec<String>,
    places: JobPlaces,
    problems: Vec<JobProblem>,
    damaged: Vec<String>,
    refused: Vec<JobProblem>,
}

/// The alternatives of a type.
#[derive(Default)]
struct Forms {
    /// Words.
    words: Vec<&'static str>,
    /// Maps with this one key, and what it holds.
    variants: Vec<(&'static str, &'static Json)>,
    /// Words and keys of variants in the order of the type.
    known: Vec<&'static str>,
    /// Other types.
    others: Vec<&'static Json>,
}

impl Forms {
    fn of_kind(&self, kind: &str) -> Option<&'static Json> {
        self.others.iter().copied().find(|form| kinds(form).first() == Some(&kind))
    }

    fn variant(&self, key: &str) -> Option<&'static Json> {
        self.variants.iter().find(|(known, _)| *known == key).map(|(_, content)| *content)
    }
}

fn texts(value: Option<&'static Json>) -> Vec<&'static str> {
    value.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
}

fn get(schema: &'static Json, key: &str) -> Option<&'static str> {
    schema.get(key).and_then(Json::as_str)
}

fn kinds(schema: &'static Json) -> Vec<&'static str> {
    get(schema, "type").map_or_else(|| texts(schema.get("type")), |kind| vec![kind])
}

/// The words that a schema allows, if it lists words.
fn words(schema: &'static Json) -> Vec<&'static str> {
    get(schema, "const").map_or_else(|| texts(schema.get("enum")), |word| vec![word])
}

/// The alternatives of a type; a block that asks for one of several keys has none.
fn branches(schema: &'static Json) -> Option<&'static Vec<Json>> {
    let alternatives = schema.get("oneOf").or(schema.get("anyOf"));
    alternatives.filter(|_| schema.get("properties").is_none()).and_then(Json::as_array)
}

fn keys(schema: &'static Json) -> Option<&'static Map<String, Json>> {
    schema.get("properties").and_then(Json::as_object)
}

/// The map with one key that a branch is, if it is one.
fn variant(branch: &'static Json) -> Option<(&'static str, &'static Json)> {
    let (key, content) = keys(branch)?.iter().next().filter(|_| branch["required"].is_array())?;
    (keys(branch)?.len() == 1).then_some((key, content))
}

/// A value of a wrong type.
fn wrong_type(path: &str, expected: &str, found: String) -> Said {
    match expected {
        "a map" => m::type_no_map(path, found),
        "`true` or `false`" => m::type_no_boolean(path, found),
        "a finite number" => m::type_no_number(path, found),
        "a list" => m::type_no_list(path, found),
        "a text" => m::type_no_text(path, found),
        "one character" => m::type_no_character(path, found),
        _ => m::type_wrong(path, expected, found),
    }
}

fn in_words(path: &str) -> String {
    if path.is_empty() { "the job".to_owned() } else { format!("`{path}`") }
}

/// A number by the rules of YAML 1.2 core; `None` where the text is not a number, `Some(None)`
/// where it is one that is not finite or does not fit.
fn number(text: &str) -> Option<Option<Number>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let unsigned = text.strip_prefix('+').unwrap_or(text).parse::<u64>().map(Number::from);
        return Some(unsigned.or_else(|_| text.parse::<i64>().map(Number::from)).ok());
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(rest) = text.strip_prefix(prefix)
            && !rest.is_empty()
            && rest.chars().all(|c| c.is_digit(radix))
        {
            return Some(u64::from_str_radix(rest, radix).map(Number::from).ok());
        }
    }
    let lower = digits.to_ascii_lowercase();
    if lower == ".inf" || (lower == ".nan" && digits == text) {
        return Some(None);
    }
    let float =
        digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| float && starts).map(Number::from_f64)
}

/// Whether a scalar is true or false; none where it is neither.
fn boolean(scalar: &YamlScalar) -> Option<bool> {
    match scalar.text.as_str() {
        _ if scalar.quoted => None,
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

impl ShapeReader {
    fn resolve(&self, mut schema: &'static Json) -> &'static Json {
        while let Some(target) = get(schema, "$ref").and_then(|path| self.root.pointer(&path[1..]))
        {
            schema = target;
        }
        schema
    }

    fn forms(&self, schema: &'static Json) -> Forms {
        let mut forms = Forms::default();
        self.add_forms(schema, &mut forms);
        forms
    }

    fn add_forms(&self, schema: &'static Json, forms: &mut Forms) {
        let own = words(schema);
        forms.words.extend(&own);
        forms.known.extend(own);
        for branch in branches(schema).into_iter().flatten() {
            let named = self.resolve(branch);
            if branches(named).is_some() || !words(named).is_empty() {
                self.add_forms(named, forms);
            } else if let Some(variant) = variant(branch) {
                forms.variants.push(variant);
                forms.known.push(variant.0);
            } else {
                forms.others.push(named);
            }
        }
    }

    /// A value of the type that causes no further problem.
    fn blank(&self, schema: &'static Json) -> Json {
        let schema = self.resolve(schema);
        if let Some(word) = words(schema).first() {
            return json!(word);
        }
        if let Some(first) = branches(schema).and_then(|branches| branches.first()) {
            return self.blank(first);
        }
        match kinds(schema).first().copied() {
            Some("boolean") => json!(false),
            Some("integer") => json!(schema["minimum"].as_u64().unwrap_or(0).max(1)),
            Some("number") => json!(0.5),
            Some("string") => json!(form_of(schema).map_or("x", |form| form.example)),
            Some("array") => {
                let items = schema["minItems"].as_u64().unwrap_or(0);
                let item = schema.get("items").map(|item| self.blank(item)).unwrap_or_default();
                (0..items).map(|_| item.clone()).collect()
            }
            _ => texts(schema.get("required"))
                .into_iter()
                .filter_map(|key| Some((key.to_owned(), self.blank(keys(schema)?.get(key)?))))
                .collect(),
        }
    }

    /// Complains about the value at a path, and returns a blank.
    fn refuse(&mut self, schema: &'static Json, path: &str, place: &FilePlace, said: Said) -> Json {
        self.damaged.push(path.to_owned());
        self.problems.push(problem(path, place, said));
        self.blank(schema)
    }

    /// Complains about a value of a wrong type.
    fn wrong(
        &mut self,
        schema: &'static Json,
        at: At<'_>,
        expected: &str,
        say: fn(&str, &str, String) -> Said,
    ) -> Json {
        if at.node.scalar().is_some_and(YamlScalar::is_null) {
            let said = m::value_empty(at.path, expected);
            return self.refuse(schema, at.path, &at.node.place, said);
        }
        // Where there are several forms, quotes make no difference.
        let of_forms = branches(schema).is_some() && get(schema, "x-is").is_some();
        let found = match at.node.scalar() {
            Some(scalar) if of_forms => format!("`{}`", shorten(&scalar.text)),
            _ => at.node.describe(),
        };
        let place = if of_forms && at.node.entries().is_some() { at.owner } else { &at.node.place };
        self.refuse(schema, at.path, place, say(at.path, expected, found))
    }

    /// Complains about a value of the right type that is not allowed.
    fn refuse_value(&mut self, schema: &'static Json, at: At<'_>, found: &str, is: &str) -> Json {
        let said = if is.contains("from 0 to 1") || is.contains("between 0 and 1") {
            m::share_refused(at.path, found, is)
        } else {
            m::value_refused(at.path, found, is)
        };
        self.refuse(schema, at.path, &at.node.place, said)
    }

    /// One value, with what its key says about it.
    fn value(&mut self, schema: &'static Json, at: At<'_>) -> Json {
        self.places.0.insert(at.path.to_owned(), at.place().clone());
        let (damaged, value) = (self.damaged.len(), self.typed(schema, at));
        if self.damaged.len() == damaged {
            self.restrict(schema, at, &value);
        }
        value
    }

    /// Complains about a value of its type that its key does not allow.
    fn restrict(&mut self, schema: &'static Json, at: At<'_>, value: &Json) {
        if let Some(range) = get(schema, "x-range") {
            self.check_scalars(at.node, at.path, value, &|scalar, path, value| {
                value.as_f64().filter(|number| !is_within(schema, *number))?;
                let (is, hint) = range.split_once("; ").unwrap_or((range, ""));
                let said = m::value_refused(path, shorten(&scalar.text), is);
                let code = get(schema, "x-code").unwrap_or(said.code);
                Some(Said { code, hint: hint.to_owned(), ..said })
            });
        }
        let is_empty = value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty);
        if let Some(hint) = get(schema, "x-least").filter(|_| is_empty) {
            let said = m::nothing_listed(at.path, hint);
            self.refused.push(problem(at.path, at.place(), said));
        }
        let noun = get(schema, "x-noun");
        if let Some(hint) = get(schema, "x-filled") {
            self.check_scalars(at.node, at.path, value, &|scalar, path, _| {
                let is_blank = scalar.quoted && scalar.text.trim().is_empty();
                is_blank.then(|| m::text_empty(path, hint))
            });
        }
        if schema.get("x-plain").is_some() || noun == Some("file") {
            self.check_scalars(at.node, at.path, value, &|scalar, _, _| {
                let argument = CommandArgument(scalar.text.clone());
                argument.placeholders().first().map(m::command_path_placeholder)
            });
        }
        if noun == Some("variable") {
            let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
            self.check_scalars(at.node, at.path, value, &|scalar, _, _| {
                (!is_name(&scalar.text)).then(|| m::environment_name(scalar.text.escape_debug()))
            });
        }
        if let Some(kind) = get(schema, "x-address") {
            self.check_scalars(at.node, at.path, value, &|scalar, path, _| {
                address(&scalar.text, kind == "object", path)
            });
        }
        if let (Some(noun), Some(items)) = (noun, value.as_array()) {
            let twice = (1..items.len()).find(|&i| items[..i].contains(&items[i]));
            if items.is_empty() && schema.get("minItems").is_some() {
                let said = m::list_empty(at.path, noun);
                self.refused.push(problem(at.path, at.owner, said));
            } else if let (Some(i), YamlValue::Seq(nodes)) = (twice, &at.node.value) {
                let item = items[i].as_str().map_or_else(|| items[i].to_string(), str::to_owned);
                let said = m::listed_twice(item, at.path);
                let path = format!("{}[{i}]", at.path);
                self.refused.push(problem(&path, &nodes[i].place, said));
            }
        }
    }

    /// Complains about scalars in a value and below it.
    fn check_scalars(
        &mut self,
        node: &YamlNode,
        path: &str,
        value: &Json,
        said: &dyn Fn(&YamlScalar, &str, &Json) -> Option<Said>,
    ) {
        match &node.value {
            YamlValue::Scalar(scalar) => {
                let said = said(scalar, path, value);
                self.refused.extend(said.map(|said| problem(path, &node.place, said)));
            }
            YamlValue::Seq(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.check_scalars(item, &format!("{path}[{i}]"), &value[i], said);
                }
            }
            YamlValue::Map(entries) => {
                for (key, item) in entries {
                    self.check_scalars(item, &join(path, &key.text), &value[&key.text], said);
                }
            }
        }
    }

    /// One value of its type.
    fn typed(&mut self, schema: &'static Json, at: At<'_>) -> Json {
        let schema = self.resolve(schema);
        if self.unknown.iter().any(|path| path == at.path) {
            return self.blank(schema);
        }
        if branches(schema).is_some() || !words(schema).is_empty() {
            return self.alternatives(schema, at);
        }
        match kinds(schema).first().copied() {
            Some("object") if is_map(schema) => self.map(schema, at),
            Some("object") => self.block(schema, at),
            Some("array") => self.list(schema, at),
            Some("boolean") => match at.node.scalar().and_then(boolean) {
                Some(value) => json!(value),
                None => self.wrong(schema, at, "`true` or `false`", wrong_type),
            },
            Some(kind @ ("number" | "integer")) => self.number(schema, kind, at),
            _ => self.text(schema, at),
        }
    }

    fn text(&mut self, schema: &'static Json, at: At<'_>) -> Json {
        let Some(scalar) = at.node.scalar().filter(|scalar| !scalar.is_null()) else {
            return self.wrong(schema, at, "a text", wrong_type);
        };
        let text = &scalar.text;
        if schema.get("maxLength") == Some(&json!(1)) {
            // A space or a tab in quotes is a character too.
            return if text.chars().count() == 1 {
                json!(text)
            } else {
                self.wrong(schema, at, "one character", wrong_type)
            };
        }
        if is_of_form(schema, text) {
            return json!(text);
        }
        let is = form_of(schema).map(|form| form.is).or(get(schema, "x-is"));
        self.refuse_value(schema, at, text, is.unwrap_or_default())
    }

    fn number(&mut self, schema: &'static Json, kind: &str, at: At<'_>) -> Json {
        let most = match get(schema, "format") {
            Some("uint8") => u8::MAX.into(),
            Some("uint16") => u16::MAX.into(),
            Some("uint32") => u32::MAX.into(),
            _ => u64::MAX,
        };
        let expected = match (kind, most) {
            ("number", _) => "a finite number".to_owned(),
            (_, u64::MAX) => "a whole number of at least 0".to_owned(),
            _ => format!("a whole number from 0 to {most}"),
        };
        let Some(YamlScalar { text, quoted }) = at.node.scalar() else {
            return self.wrong(schema, at, &expected, wrong_type);
        };
        let (found, say): (_, fn(&str, &str, String) -> Said) = match number(text) {
            Some(_) if *quoted => (None, |path, is, found| m::number_quoted(path, is, found)),
            None if text.contains('_') && number(&text.replace('_', "")).is_some() => {
                (None, |path, is, found| m::number_underscore(path, is, found))
            }
            None if text.ends_with('%') => {
                (None, |path, is, found| m::number_percent(path, is, found))
            }
            found => (found.flatten(), wrong_type),
        };
        let fits = |found: &Number| match found.as_u64() {
            Some(whole) => whole <= most,
            None => kind == "number",
        };
        let Some(found) = found.filter(fits) else {
            return self.wrong(schema, at, &expected, say);
        };
        let float = found.as_f64().unwrap_or_default();
        match get(schema, "x-is") {
            Some(is) if !is_within(schema, float) => {
                let shown = if kind == "number" { float.to_string() } else { found.to_string() };
                self.refuse_value(schema, at, &shown, is)
            }
            _ => Json::Number(found),
        }
    }

    /// A word, a variant, or one of several forms.
    fn alternatives(&mut self, schema: &'static Json, at: At<'_>) -> Json {
        let forms = self.forms(schema);
        let is = get(schema, "x-is");
        let expected = is.map_or_else(|| format!("one of {}", list(&forms.known)), str::to_owned);
        let object = forms.of_kind("object");
        match &at.node.value {
            YamlValue::Scalar(scalar) if scalar.is_null() && is.is_none() && object.is_some() => {
                json!({})
            }
            YamlValue::Scalar(scalar) if scalar.is_null() => {
                self.wrong(schema, at, &expected, wrong_type)
            }
            YamlValue::Seq(_) => match forms.of_kind("array") {
                Some(form) => self.value(form, at),
                None => self.wrong(schema, at, &expected, wrong_type),
            },
            YamlValue::Scalar(scalar) => self.word(schema, &forms, scalar, at),
            YamlValue::Map(entries) => {
                let content = match entries.as_slice() {
                    [(key, value)] => {
                        let content = forms.variant(&key.text);
                        // A column may have the name of a variant.
                        let other = object.is_some() && value.scalar().is_none();
                        content.filter(|content| !other || !kinds(content).contains(&"string"))
                    }
                    _ => None,
                };
                match (entries.as_slice(), content) {
                    ([(key, value)], Some(content)) => {
                        let path = join(at.path, &key.text);
                        let at = At { path: &path, owner: &key.place, node: value };
                        let value = self.value(content, at);
                        json!({&key.text: value})
                    }
                    _ if object.is_some() => {
                        let alone = entries.iter().find(|(key, value)| {
                            forms.variant(&key.text).is_some() && value.scalar().is_some()
                        });
                        match (get(schema, "x-alone"), alone) {
                            (Some(example), Some((key, _))) => {
                                let said = m::variant_alone(at.path, &key.text, example);
                                self.refuse(schema, at.path, at.owner, said)
                            }
                            _ => self.value(object.unwrap_or(schema), at),
                        }
                    }
                    _ if forms.variants.is_empty() && is.is_some() => {
                        self.wrong(schema, at, &expected, wrong_type)
                    }
                    ([(key, value)], _) if forms.words.contains(&key.text.as_str()) => {
                        if value.entries().is_some_and(<[_]>::is_empty) {
                            return json!(key.text);
                        }
                        let expected = format!("the bare word `{}`", key.text);
                        let said = m::type_wrong(at.path, expected, value.describe());
                        self.refuse(schema, at.path, &key.place, said)
                    }
                    ([(key, _)], _) => {
                        let near = suggest(&key.text, "known words", forms.known);
                        // Where there are other forms too, the key is what is wrong.
                        let path = match is {
                            Some(_) => join(at.path, &key.text),
                            None => at.path.to_owned(),
                        };
                        let said = m::word_unknown(&path, shorten(&key.text), near);
                        self.refuse(schema, &path, &key.place, said)
                    }
                    _ => {
                        let found: Vec<&str> = entries.iter().map(|(k, _)| &*k.text).collect();
                        let found = if found.is_empty() { "none".to_owned() } else { all(&found) };
                        let said = m::variant_one_of(at.path, found, list(&forms.known));
                        self.refuse(schema, at.path, &at.node.place, said)
                    }
                }
            }
        }
    }

    /// A scalar where there are several forms.
    fn word(
        &mut self,
        schema: &'static Json,
        forms: &Forms,
        scalar: &YamlScalar,
        at: At<'_>,
    ) -> Json {
        let text = scalar.text.as_str();
        if forms.words.contains(&text) {
            return json!(text);
        }
        let is = get(schema, "x-is");
        let is_free = |content: &&'static Json| {
            let content = self.resolve(content);
            kinds(content).first() == Some(&"object") && content.get("required").is_none()
        };
        if let Some(content) = forms.variant(text).filter(|c| is.is_none() || is_free(c)) {
            return json!({text: self.bare(content, text, at.node, at.path)});
        }
        let is_number = !scalar.quoted && number(text).is_some();
        let figure = forms.of_kind("number").or(forms.of_kind("integer"));
        if let Some(form) = figure.filter(|_| is_number) {
            // A count is at least 1; other numbers have their own rules.
            let least = form["minimum"].as_f64().map_or(f64::MIN, |least| least.min(1.0));
            let found = number(text).flatten().and_then(|found| found.as_f64());
            return if found.is_some_and(|found| found >= least) {
                self.value(form, at)
            } else {
                self.wrong(schema, at, is.unwrap_or_default(), wrong_type)
            };
        }
        let plain = !is_number && (scalar.quoted || boolean(scalar).is_none());
        let takes = |form: &&'static Json| kinds(form).len() > 1 || plain && is_of_form(form, text);
        if forms.of_kind("string").filter(takes).is_some() {
            return json!(text);
        }
        match is {
            Some(is) if schema.get("x-near").is_none() => self.wrong(schema, at, is, wrong_type),
            None if forms.of_kind("object").is_some() => {
                self.wrong(schema, at, "a map", wrong_type)
            }
            _ => {
                let near = suggest(text, "known words", forms.known.iter().copied());
                let said = m::word_unknown(at.path, shorten(text), near);
                self.refuse(schema, at.path, &at.node.place, said)
            }
        }
    }

    /// What a bare word holds: an empty map where a map is expected, else the word lacks its value.
    fn bare(&mut self, content: &'static Json, word: &str, node: &YamlNode, block: &str) -> Json {
        let (path, content) = (join(block, word), self.resolve(content));
        if kinds(content).first() == Some(&"object") {
            let empty = YamlNode::empty(node.place.clone());
            return self.value(content, At { path: &path, owner: &node.place, node: &empty });
        }
        let expected = match kinds(content).first().copied() {
            _ if get(content, "x-is").is_some() => get(content, "x-is").unwrap_or_default(),
            Some("array") => "a list",
            Some("number" | "integer") => "a number",
            _ => "a text",
        };
        self.refuse(content, &path, &node.place, m::word_bare(word, in_words(block), expected))
    }

    /// The value of the key `short`, which replaces its block.
    fn short(&mut self, schema: &'static Json, short: &str, at: At<'_>) -> Json {
        let field = &schema["properties"][short];
        let is_list = kinds(self.resolve(field)).contains(&"array");
        if at.node.scalar().is_some_and(YamlScalar::is_null)
            || is_list == at.node.scalar().is_some()
        {
            let is = get(schema, "x-is").unwrap_or_default();
            return self.wrong(schema, at, is, wrong_type);
        }
        json!({short: self.value(field, at)})
    }

    /// A map with known keys.
    fn block(&mut self, schema: &'static Json, at: At<'_>) -> Json {
        let is_map = matches!(at.node.value, YamlValue::Map(_));
        if let (Some(short), false) = (get(schema, "x-short"), is_map) {
            return self.short(schema, short, at);
        }
        let keys = keys(schema);
        let known: Vec<&str> = keys.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let Some(entries) = at.node.entries() else {
            let word = at.node.scalar().filter(|_| schema.get("x-bare").is_some());
            let Some(word) = word.map(|scalar| scalar.text.clone()) else {
                let keys = format!("a map with the keys {}", list(&known));
                let is = if known.is_empty() { "a map with no keys" } else { &keys };
                return self.wrong(schema, at, is, wrong_type);
            };
            if let Some(content) = keys.and_then(|keys| keys.get(&word)) {
                return json!({&word: self.bare(content, &word, at.node, at.path)});
            }
            let key = YamlMapKey { text: word, place: at.node.place.clone() };
            self.unknown_key(&key, &known, at.path);
            return self.blank(schema);
        };
        let (mut value, mut presumed) = (Map::new(), Vec::new());
        for (key, node) in entries {
            let Some(field) = keys.and_then(|keys| keys.get(&key.text)) else {
                // The key that was probably meant counts as written, with an unknown value.
                presumed.extend(nearest(&key.text, known.iter().copied()));
                self.unknown_key(key, &known, at.path);
                continue;
            };
            let path = join(at.path, &key.text);
            let read = self.value(field, At { path: &path, owner: &key.place, node });
            value.insert(key.text.clone(), read);
        }
        for key in texts(schema.get("required")) {
            let field = keys.and_then(|keys| keys.get(key)).filter(|_| !value.contains_key(key));
            let Some(field) = field else { continue };
            let path = join(at.path, key);
            if !presumed.contains(&key) && !self.unknown.contains(&path) {
                let said = m::key_missing(in_words(at.path), key, example(key));
                self.refuse(field, &path, at.owner, said);
            }
            value.insert(key.to_owned(), self.blank(field));
        }
        Json::Object(value)
    }

    fn unknown_key(&mut self, key: &YamlMapKey, known: &[&str], block: &str) {
        let path = join(block, &key.text);
        let (text, block) = (shorten(&key.text), in_words(block));
        // The key of an earlier version.
        let said = if key.text == "positive" && known.contains(&"class") {
            m::key_renamed(text, block)
        } else {
            m::key_unknown(text, block, suggest(&key.text, "known keys", known.iter().copied()))
        };
        self.damaged.push(path.clone());
        self.problems.push(problem(&path, &key.place, said));
    }

    /// A map whose keys are names.
    fn map(&mut self, schema: &'static Json, at: At<'_>) -> Json {
        let Some(entries) = at.node.entries() else {
            return self.wrong(schema, at, "a map", wrong_type);
        };
        let patterns = schema.get("patternProperties").and_then(Json::as_object);
        let pattern = patterns.and_then(|patterns| patterns.iter().next());
        let form = pattern.and_then(|(key, _)| TEXT_FORMS.iter().find(|form| form.pattern == key));
        let item = pattern.map_or(&schema["additionalProperties"], |(_, item)| item);
        let mut value = Map::new();
        for (key, node) in entries {
            let path = join(at.path, &key.text);
            if let Some(form) = form.filter(|form| !(form.takes)(&key.text)) {
                let said = m::key_refused(&key.text, form.is, in_words(at.path));
                self.damaged.push(path.clone());
                self.problems.push(problem(&path, &key.place, said));
                continue;
            }
            let read = self.value(item, At { path: &path, owner: &key.place, node });
            value.insert(key.text.clone(), read);
        }
        Json::Object(value)
    }

    fn list(&mut self, schema: &'static Json, at: At<'_>) -> Json {
        let exact = schema.get("minItems").filter(|least| schema.get("maxItems") == Some(*least));
        let expected = exact.map_or_else(|| "a list".to_owned(), |n| format!("a list of {n}"));
        let YamlValue::Seq(items) = &at.node.value else {
            return self.wrong(schema, at, &expected, wrong_type);
        };
        let found = format!("a list of {}", items.len());
        if exact.is_some() && expected != found {
            let said = m::type_wrong(at.path, expected, found);
            return self.refuse(schema, at.path, &at.node.place, said);
        }
        let read = |(i, item): (usize, &YamlNode)| {
            let path = format!("{}[{i}]", at.path);
            let form = schema.get("prefixItems").and_then(|forms| forms.get(i));
            let form = form.unwrap_or(&schema["items"]);
            self.value(form, At { path: &path, owner: &item.place, node: item })
        };
        items.iter().enumerate().map(read).collect()
    }
}

/// What is wrong with a file that is an address of an object store, where it may be one.
fn address(file: &str, may_be: bool, path: &str) -> Option<Said> {
    let file = file.replace("{counterfactual}", "set");
    if !object::is_address(&file) {
        return None;
    }
    match object::problem_of(Path::new(&file)) {
        Some(problem) => Some(m::bad_address(problem.what, problem.hint)),
        None if !may_be => Some(m::address_not_offered(path)),
        None => (!cfg!(feature = "cloud")).then(|| m::object_store_not_built(object::REBUILD)),
    }
}

/// Whether a number is within the bounds of a schema.
fn is_within(schema: &'static Json, number: f64) -> bool {
    let limit = |key: &str| schema.get(key).and_then(Json::as_f64);
    limit("minimum").is_none_or(|least| number >= least)
        && limit("maximum").is_none_or(|most| number <= most)
        && limit("exclusiveMinimum").is_none_or(|least| number > least)
        && limit("exclusiveMaximum").is_none_or(|most| number < most)
        && limit("multipleOf").is_none_or(|step| number % step == 0.0)
        && schema["not"]["multipleOf"].as_f64().is_none_or(|step| number % step != 0.0)
}

/// Whether the keys of a map are names.
fn is_map(schema: &Json) -> bool {
    schema.get("properties").is_none()
        && (schema.get("patternProperties").is_some()
            || schema.get("additionalProperties").is_some_and(|more| *more != json!(false)))
}

/// The form that a text must have.
fn form_of(schema: &'static Json) -> Option<&'static TextForm> {
    let pattern = get(schema, "pattern")?;
    TEXT_FORMS.iter().find(|form| form.pattern == pattern)
}

/// Whether a text has the form that the schema asks for.
fn is_of_form(schema: &'static Json, text: &str) -> bool {
    form_of(schema)
        .map_or(!text.is_empty() || schema.get("minLength").is_none(), |form| (form.takes)(text))
}

/// What to write where a required key is missing.
fn example(key: &str) -> String {
    let example = match key {
        "cfaudit" => "cfaudit: 1",
        "name" => "name: adult-sex",
        "data" => "data: {rows: ..., label: ..., sensitive: ...}",
        "models" => "models: {my-model: {scores: {factual: {column: score}}}}",
        "rows" => "rows: {parquet: PATH}",
        "label" => "label: {column: C, positive: [...], favourable: positive}` or `label: none",
        "sensitive" => "sensitive: {sex: {groups: [Male, Female], reference: Male}}",
        "positive" => {
            "positive: [...]`, the values that count as positive; add \
             `positive: [\">50K\"]"
        }
        "favourable" => "favourable: positive` or `favourable: negative",
        "groups" => "groups: [...]",
        "reference" => "reference: GROUP",
        "metric" => "metric: ID",
        "model" => "model: NAME",
        "l2" => "l2: 1.0",
        "factual" => "factual: {column: score}",
        "train" => "train: 0.8",
        "audit" => "audit: 0.2",
        "noise" => "noise: {normal: {sd: 1}}",
        _ => return format!("{key}: ..."),
    };
    example.to_owned()
}
