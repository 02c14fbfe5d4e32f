//! The job file as types: one struct per block, no behaviour; each engine's knobs live with the engine.
//!
//! `load` reads YAML into a [`Job`] and remembers where every key and value stands; `check` turns it into a
//! [`check::CheckedJob`] or returns every problem with its line. The doc comments here are the descriptions in
//! `schemas/job.schema.json`, so they are written for the author of a job.
//!
//! Variants are one-key maps (`plausible: {threshold: 0.5}`), closed everywhere: an unknown key is an error, never ignored.

pub mod check;
pub mod clarify;
mod classes;
pub mod decode;
pub mod experiments;
pub mod flat;
pub mod load;
pub mod nearest;
pub mod onnx;
mod reader;
pub mod roles;
pub mod schema;
pub mod threshold;
pub mod trained;
pub mod tree;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::counterfactual::graph_uncertain::knobs::GraphUncertain;
use crate::counterfactual::knobs::{Greedy, Plausible, Transport};
use crate::data::derive::Derivation;
use crate::data::import::Csv;
use crate::data::keep::Condition;
use crate::data::prepare::{Duplicates, Missing, Order};
use crate::data::split::{Share, Stratify};
use crate::data::synthetic::Synthetic;
use crate::param::{Argument, ColumnName, Count, Finite, Fraction, Level, Name, Seed, SetName, TimeLimit, Word};
use crate::recourse::knobs::{Bins, OneDefinition, Recourse, ViewWord};
use crate::spec::clarify::Clarify;
use crate::spec::experiments::Experiment;
use crate::spec::onnx::Onnx;
use crate::spec::threshold::Threshold;
use crate::spec::trained::{Boosting, Forest};

/// The codes of problems in job files with their meanings, for `cfaudit explain`.
pub const CODES: &[(&str, &str)] = &[
    ("bad-format", "`cfaudit` must be the number of a format of job files"),
    ("bad-include", "a file under `include` cannot be merged"),
    ("bad-knowledge", "what is said of a causal graph cannot hold, or names what is no variable of it"),
    (
        "bad-limit",
        "a gate needs exactly one limit: `at_most` or `at_least`, with `against: baseline` one of `rise_at_most` and `fall_at_most`",
    ),
    ("bad-order", "a generated or derived column depends on itself or on one that comes after it"),
    ("bad-placeholder", "a path or command lacks a placeholder that it needs, or holds one that nothing fills"),
    ("bad-scope", "a gate asks its metric of the wrong people, or of nobody"),
    ("bad-set", "`--set` is not PATH=VALUE, or its path leads nowhere"),
    ("bad-split", "`data.split` cannot divide the rows"),
    ("bad-sum", "shares or probabilities do not sum to 1"),
    ("bad-value", "a value is of the right type and not allowed"),
    ("bad-variable", "`${...}` does not name a declared variable, or stands where none is filled"),
    ("cannot-move", "a strategy does not move the column that a knob names"),
    ("cannot-set", "a strategy cannot set the column that a sensitive attribute is derived from"),
    ("cannot-train", "an experiment names a model that is not trained in the run"),
    ("column-twice", "a column has two roles"),
    ("derived-column", "a derived column follows from others and is not moved on its own"),
    ("duplicate-key", "a map holds the same key twice"),
    ("duplicate-value", "a list names the same thing twice"),
    ("empty-file", "a file holds nothing"),
    ("empty-list", "a list or map must name at least one thing"),
    ("empty-value", "a key has nothing behind it"),
    ("missing-key", "a required key is missing"),
    ("needs-counterfactual", "a family of metrics needs a counterfactual set"),
    ("needs-label", "something needs a label, and the job has none"),
    ("needs-scores", "scores of counterfactuals are needed and not given"),
    ("needs-split", "a model is trained here, and no row is set aside for training"),
    ("newer-format", "the job is written for a newer cfaudit"),
    ("no-input", "a model has no input column left"),
    ("no-interval", "a gate is decided by an interval that is not made"),
    ("no-model", "the job names no model"),
    ("no-such-file", "a file does not exist"),
    ("not-built", "this build of the program does without the library that a model needs"),
    ("not-measured", "a gate, or what the report is to show, is of a family that is not measured"),
    ("not-offered", "what is asked is well formed, and this version does not do it"),
    ("not-utf8", "a file is not UTF-8 text"),
    ("one-of", "exactly one of several keys must be there"),
    ("required-variable", "a variable without a default was not given"),
    ("too-few-groups", "a sensitive attribute needs at least two groups"),
    ("too-many-problems", "more is wrong than is shown"),
    ("unknown-column", "a column is named that the block does not have"),
    ("unknown-data-set", "the catalog has no data set of this name"),
    ("unknown-group", "a sensitive attribute does not declare this group"),
    ("unknown-key", "a key has no meaning here"),
    ("unknown-level", "a generated column does not have this level"),
    ("unknown-metric", "no metric has this id"),
    ("unknown-name", "a name is used that the job does not declare"),
    ("unknown-word", "a word is not one of those that are allowed here"),
    ("unused-variable", "a variable is declared and never used"),
    ("wrong-type", "a value has the wrong type"),
    ("yaml-documents", "a file holds several YAML documents"),
    ("yaml-key", "a YAML key is empty, a list or a map"),
    ("yaml-merge-key", "YAML merge keys are not supported"),
    ("yaml-quote", "a value must be quoted, or YAML reads something else"),
    ("yaml-syntax", "the file is not YAML"),
    ("yaml-tag", "YAML tags are not supported"),
    ("yaml-too-deep", "a file is nested too deeply"),
    ("yaml-too-large", "a file is too long or holds too many values"),
];

/// A job of cfaudit: one file that says everything which changes a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Format of this file; an old program refuses a newer number.
    pub cfaudit: u32,
    /// Id of the job: names the output folder, the summary and the logs.
    pub name: Name,
    /// Words for the report; none of them changes a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// Files whose maps are merged below this one; lists are replaced, this file wins. Paths are relative to this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Values that a caller may pass with `--set NAME=VALUE`; used as `${vars.NAME}`. `required` means: no default.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub vars: IndexMap<Name, Word>,
    /// The rows and the roles of their columns.
    pub data: Data,
    /// Counterfactual sets by name, each with one strategy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counterfactuals: BTreeMap<Name, CounterfactualSet>,
    /// The models to audit, by name, each of one kind.
    pub models: BTreeMap<Name, Model>,
    /// What is measured.
    #[serde(default)]
    pub metrics: Metrics,
    /// Models that are trained again with rows added, by name, each compared with the model as it was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub experiments: BTreeMap<Name, Experiment>,
    /// Fairness of recourse for subgroups, by sensitive attribute.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub recourse: IndexMap<ColumnName, Recourse>,
    /// Questions with a limit; any `fail` makes the run end with exit status 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gates: BTreeMap<Name, Gate>,
    /// What an inconclusive gate of level `fail` does to the exit status.
    #[serde(default)]
    pub on_inconclusive: OnInconclusive,
    /// The HTML summary.
    #[serde(default)]
    pub report: Report,
    /// Forms of other tools that every run writes into `exports/` of its folder, as `cfaudit export` does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<Export>,
    /// Seed and what is kept.
    #[serde(default)]
    pub run: Run,
}

/// Words for the report; none of them changes a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The decision that the model makes, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Who answers for the audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Version of the audited model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The rows and the roles of their columns. A column that is not named here, and by no model, never travels on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Where the rows come from.
    pub rows: RowSource,
    /// Column that identifies a row (integers or text, unique). Left out: the row number of the source is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_id: Option<ColumnName>,
    /// Columns made of others, in order; each may be made of columns above it. They behave as columns of the rows in every later role,
    /// and are computed again where a counterfactual changes what they are made of. Their names are new: none is that of a column of
    /// the rows.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub derive: IndexMap<ColumnName, Derivation>,
    /// What happens to rows that equal an earlier one in every column that the job names, but for `row_id` and the column that splits.
    /// They are looked for after the filters of `keep`.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// Filters in order; the report shows the rows lost by each. A missing value fails every condition but `missing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<BTreeMap<ColumnName, Condition>>,
    /// The label, or `none`.
    pub label: LabelRole,
    /// The rows whose distributions strategies learn. Left out: the rows that train; where none does, those that are audited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// Column that says how many people a row stands for: finite, 0 or above, not 0 everywhere. Left out: one each. Training, metrics,
    /// intervals and gates take every person so often; numbers of people, `min_group_size`, `min_denominator`, `enough` and recourse do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<ColumnName>,
    /// Sensitive attributes by name.
    pub sensitive: IndexMap<ColumnName, Sensitive>,
    /// Feature columns by kind.
    #[serde(default)]
    pub features: Features,
    /// What happens to missing values, per kind of column.
    #[serde(default)]
    pub missing: Missing,
    /// Bins of columns of numbers, in which recourse speaks of subgroups and actions: `{age: [17, 26, 34]}`, or named ones. Nothing else
    /// reads them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub bins: IndexMap<ColumnName, Bins>,
    /// Which rows train and which are audited. Left out: every row is audited, and no model can be trained here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

/// Where the rows come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowSource {
    /// A Parquet file, a glob, or a folder of `key=value` folders.
    Parquet(String),
    /// A text file with one row per line.
    Csv(Csv),
    /// A public data set that cfaudit knows: its addresses, checksums, columns and traps.
    Catalog(CatalogRows),
    /// Rows made by a seeded generator.
    Synthetic(Synthetic),
}

/// A public data set by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogRows {
    /// Its name in the catalog.
    pub name: String,
    /// What to do where it is neither in the data folder nor to be downloaded.
    pub when_unreachable: WhenUnreachable,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CatalogMap {
    /// Its name in the catalog.
    name: String,
    /// What to do where it is neither in the data folder nor to be downloaded.
    #[serde(default)]
    when_unreachable: WhenUnreachable,
}

impl<'de> Deserialize<'de> for CatalogRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = CatalogRows;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a catalog data set, or a map with `name`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<CatalogRows, E> {
                Ok(CatalogRows { name: name.to_owned(), when_unreachable: WhenUnreachable::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CatalogRows, A::Error> {
                let CatalogMap { name, when_unreachable } = Deserialize::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(CatalogRows { name, when_unreachable })
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for CatalogRows {
    fn schema_name() -> Cow<'static, str> {
        "CatalogRows".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<CatalogMap>();
        json_schema!({"anyOf": [{"type": "string"}, map]})
    }
}

/// What to do where a catalog data set is neither in the data folder nor to be downloaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnreachable {
    /// End with status 3 and say where to put which file.
    #[default]
    Fail,
    /// Go on with the catalog's generated stand-in; every output is marked `stand-in data`.
    StandIn,
}

/// The label, or `none`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelRole {
    /// There is no label: families that need one are refused.
    None,
    /// A column with its positive values.
    Column(LabelColumn),
}

/// The label column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelColumn {
    /// The column.
    pub column: ColumnName,
    /// Values that count as positive: the P of CP, SN, PSR. All other values are negative. Never guessed from the order of values. With
    /// `classes` they say what is favourable, and what strategies and strata of the split take for the positive label.
    pub positive: Vec<Word>,
    /// Values that count as negative. With them the list of values is closed: a row with any other value ends the run, which names it. Left
    /// out: all values that are not positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<Vec<Word>>,
    /// The values of a label of several classes, each a class of its own, as models predict them: a score per class, of which the highest
    /// decides; of equal scores that of the class named first. The list is closed: a row with any other value ends the run, which names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<Word>>,
    /// Which side people want; decides the words of the report.
    pub favourable: Side,
}

impl LabelRole {
    /// The label column, unless there is none.
    pub fn column(&self) -> Option<&LabelColumn> {
        match self {
            LabelRole::None => None,
            LabelRole::Column(column) => Some(column),
        }
    }
}

impl Serialize for LabelRole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            LabelRole::None => serializer.serialize_str("none"),
            LabelRole::Column(column) => column.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LabelRole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = LabelRole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none`, or a map with `column`, `positive` and `favourable`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<LabelRole, E> {
                if text == "none" { Ok(LabelRole::None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LabelRole, A::Error> {
                Deserialize::deserialize(de::value::MapAccessDeserializer::new(map)).map(LabelRole::Column)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for LabelRole {
    fn schema_name() -> Cow<'static, str> {
        "LabelRole".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<LabelColumn>();
        json_schema!({"anyOf": [{"const": "none"}, map]})
    }
}

/// Rows whose distributions strategies learn: a file with the columns that the features and the sensitive attributes are made of. It is
/// taken whole, without the filters of `keep`; the rules for missing values are those of the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// A Parquet file, a glob, or a folder of `key=value` folders.
    pub parquet: String,
    /// Its label column. Left out: that of `data.label`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<ColumnName>,
    /// The values of its label that count as positive. Left out: those of `data.label`; without one, 1 of a column that holds 0 and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<Vec<Word>>,
}

/// Which side people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The positive prediction is the one people want.
    Positive,
    /// The negative prediction is the one people want.
    Negative,
}

/// A sensitive attribute: its groups, and which of them the others are compared with. Its groups are values of a column, or they are
/// derived in place by one of `map`, `bins`, `levels` and `cross`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sensitive {
    /// The column; left out: the column named like the attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ColumnName>,
    /// Groups with the values that belong to each: `{White: [White], Asian: [Chinese, Indian]}`. Other values belong to no group, and
    /// are counted, unless `else` names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<IndexMap<Word, Vec<Word>>>,
    /// The group of all values that `map` does not name. A missing value belongs to no group.
    #[serde(default, rename = "else", skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Word>,
    /// Edges of bins, ascending: `[17, 30, 45]` gives the groups `[17, 30]` and `(30, 45]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<Vec<Finite>>,
    /// Bins with names of their own: `{young: [17, 30], old: [30, 120]}`, each `(lo, hi]`, the lowest with its left edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<IndexMap<Word, [Finite; 2]>>,
    /// Attributes above this one whose groups are joined: `[sex, age_band]` gives the groups `Male & (30, 45]`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross: Option<Vec<ColumnName>>,
    /// The groups to compare, at least two. Rows with other values are counted and named, never dropped in silence. May be left out
    /// where the groups are derived: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Word>,
    /// The group that differences and ratios start from. May be left out for a cross of attributes: the cross of their references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Word>,
}

/// Feature columns by kind; the kind decides how strategies, models and recourse treat a column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// Numbers with distances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continuous: Vec<ColumnName>,
    /// Ordered values: `ascending` for numbers, or the list of levels from low to high.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub ordinal: IndexMap<ColumnName, Order>,
    /// Levels without an order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nominal: Vec<ColumnName>,
    /// Groups of 0/1 columns that stand for one nominal feature each: a name of yours, and the columns. Models read the columns;
    /// strategies move the group as one feature, so that no row gets two of its levels, or none.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub onehot: IndexMap<ColumnName, Vec<ColumnName>>,
    /// Columns that are known and left out on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<ColumnName>,
}

/// Which rows train and which are audited: one of `column` with `train` and `audit`, `share`, or `folds`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Column whose values decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<ColumnName>,
    /// Values of `column` that train.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<Vec<Word>>,
    /// Values of `column` that are audited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Vec<Word>>,
    /// Shares drawn by the seed; they sum to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Number of folds, at least 2: every row is audited once, by models fitted on the other folds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<Count>,
    /// Within which strata rows are drawn (with `share` and `folds`). Left out: `label-and-group`, or `none` without a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stratify: Option<Stratify>,
}

/// A counterfactual set: exactly one strategy beside the common keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterfactualSet {
    /// Changes the sensitive attribute and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naive: Option<Naive>,
    /// Also gives every feature that differs between the groups the place in the target group that it has in its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greedy: Option<Greedy>,
    /// Gives the features that may change the place in the target group that they have in their own; the others stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plausible: Option<Plausible>,
    /// Gives the rows of a group the values of real rows of the other group, at the least total distance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Moves what follows from the attribute in every causal graph that the data and the knowledge allow.
    #[serde(default, rename = "graph-uncertain", skip_serializing_if = "Option::is_none")]
    pub graph_uncertain: Option<GraphUncertain>,
    /// The sensitive attributes to change, one at a time. Left out: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<Vec<ColumnName>>,
    /// Repeats the strategy with group names shuffled inside the label strata: what noise alone gives, shown beside each value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placebo: Option<Placebo>,
}

/// The same strategy with group names shuffled inside the label strata, measured with the same model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placebo {
    /// How often, 1 to 1000. From 40 on the band leaves out the outer 5 %.
    #[serde(default = "twenty")]
    pub repeats: Count,
}

/// Changes the sensitive attribute and nothing else. It has no knobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Naive {}

/// A model to audit: exactly one kind beside the common keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Logistic regression with an L2 penalty, trained here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logistic: Option<Logistic>,
    /// Gradient boosting, trained here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boosting: Option<Boosting>,
    /// Random forest, trained here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forest: Option<Forest>,
    /// A model in an ONNX file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onnx: Option<Onnx>,
    /// Scores made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
    /// Any program: rows in, scores out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// The score from which a prediction is positive: a number, `{column: C}`, or fitted to the training rows by `{maximise_recall: {...}}`,
    /// `{youden: {}}` or `{f_beta: 1}`. Has no part where the label has `classes`.
    #[serde(default)]
    pub threshold: Threshold,
    /// `ge`: a score equal to the threshold is positive; `gt`: it is negative.
    #[serde(default)]
    pub threshold_rule: ThresholdRule,
}

/// Logistic regression with an L2 penalty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Logistic {
    /// Strength of the penalty on the summed loss (1/C of scikit-learn), 0 or above; the intercept is free.
    pub l2: Finite,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<ColumnName>,
}

/// Scores made elsewhere: numbers in [0, 1], the probability of the positive class, or of each of several; null where a row cannot be scored. Where a file
/// is not there yet the run writes the rows to score into `to-score/` of the output folder and ends with status 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// The scores of the rows as they are.
    pub factual: FactualScores,
    /// The scores of the counterfactuals. Left out: only families without counterfactuals can be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<CounterfactualScores>,
    /// Asks for some factual rows again in the file of the counterfactuals, to catch scores of another model version. Left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<Recheck>,
}

/// Factual rows that are scored again with the counterfactuals: in the file they name their own group as `to_group`, with `cf_index` 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recheck {
    /// Share of the audited rows, above 0; drawn by the seed, and at least one row for each attribute.
    #[serde(default = "one_in_a_hundred")]
    pub share: Fraction,
    /// Largest difference between the two scores of a row, from 0 to below 1.
    #[serde(default = "one_in_a_million")]
    pub tolerance: Finite,
}

fn one_in_a_hundred() -> Fraction {
    Fraction::new(0.01).expect("0.01 is a share")
}

fn one_in_a_million() -> Finite {
    Finite::new(1e-6).expect("1e-6 is finite")
}

/// The scores of the rows as they are: a column of the rows, or a file keyed by `row_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactualScores {
    /// A Parquet file with the columns `row_id` and `column`, one line for every audited row; left out: `column` is a column of the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parquet: Option<String>,
    /// The column that holds the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<ColumnName>,
    /// In the place of `column` where `data.label` has `classes`: the column with the score of each class, `{Low: p_low, High: p_high}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<IndexMap<Word, ColumnName>>,
}

/// The scores of the counterfactuals: a file keyed by `row_id`, `sensitive`, `to_group`, `cf_index`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterfactualScores {
    /// The Parquet file, one line for every counterfactual; `{counterfactual}` stands for the name of the set.
    pub parquet: String,
    /// The column that holds the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<ColumnName>,
    /// In the place of `column` where `data.label` has `classes`: the column with the score of each class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<IndexMap<Word, ColumnName>>,
}

/// A program that scores rows, and may train a model first. It sees the features and the sensitive columns under their source names,
/// never the label, and gives one score in [0, 1] per row, in the order of the rows. It runs in the working directory of cfaudit with
/// PATH, HOME, TMPDIR, LANG=C.UTF-8, TZ=UTC and what `pass_env` names. Every status but 0 ends the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program that scores, and its arguments. Filled when it starts: `{model}` (the file below, or what `train` wrote), `{seed}`
    /// (run.seed), `{threads}`, `{fold}` (from 0; 0 without folds), and with `parquet-files` the paths `{rows}` and `{scores}`.
    pub score: Vec<Argument>,
    /// The trained model: a file or folder, hashed like those under `watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The program that trains, in the place of `model`, and its arguments: gets the training rows with a last column `label` (1 =
    /// positive, 0 = negative) and writes a file or folder to `{model}`. With folds it runs once per fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<Vec<Argument>>,
    /// How rows and scores travel.
    #[serde(default)]
    pub stream: Stream,
    /// Files, folders or globs that decide what the program does: when one changes, it runs again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<String>,
    /// Names of further environment variables that the program sees; their values are neither read into the job nor written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// How long one run of the program may take.
    #[serde(default = "an_hour")]
    pub time_limit: TimeLimit,
    /// Columns that the program does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<ColumnName>,
}

fn an_hour() -> TimeLimit {
    TimeLimit::seconds(3600).expect("an hour is a time limit")
}

/// How rows and scores travel between cfaudit and a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Rows as an Arrow IPC stream on standard input, scores as one with the column `score` on standard output.
    #[default]
    Arrow,
    /// Rows as the Parquet file `{rows}`, scores as the Parquet file `{scores}` with the column `score`.
    ParquetFiles,
}

/// What a score equal to the threshold means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdRule {
    /// Positive.
    #[default]
    Ge,
    /// Negative.
    Gt,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Families of metrics. Left out: all that the label and the sets allow, but for clarify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<Family>>,
    /// Intervals.
    #[serde(default)]
    pub interval: Interval,
    /// The bootstrap behind intervals that have no formula.
    #[serde(default)]
    pub bootstrap: Bootstrap,
    /// Intervals across the graphs of graph-uncertain sets.
    #[serde(default)]
    pub worlds: Worlds,
    /// A group with fewer people is flagged `small_group`.
    #[serde(default = "thirty")]
    pub min_group_size: Count,
    /// A rate with fewer cases below it is flagged `small_denominator`.
    #[serde(default = "ten")]
    pub min_denominator: Count,
    /// Columns inside whose values all is measured once more, and where two of them meet: slices, `region=north` and
    /// `region=north & channel=web`. Not in slices: the flip test, the placebo, `compare` and experiments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<ColumnName>,
    /// A slice with fewer people who count is counted and named, and not measured.
    #[serde(default = "thirty")]
    pub smallest_cell: Count,
    /// How the family clarify is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarify: Option<Clarify>,
    /// Models compared on the same people, `{challenger: current}`: what a model's values are minus those of another, with paired intervals.
    /// Of the families performance, group, ccm and eccm.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub compare: IndexMap<Name, Name>,
}

fn thirty() -> Count {
    Count::new(30).expect("30 is a count")
}

fn ten() -> Count {
    Count::new(10).expect("10 is a count")
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            families: None,
            interval: Interval::default(),
            bootstrap: Bootstrap::default(),
            worlds: Worlds::default(),
            min_group_size: thirty(),
            min_denominator: ten(),
            by: Vec::new(),
            smallest_cell: thirty(),
            clarify: None,
            compare: IndexMap::new(),
        }
    }
}

/// A family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Confusion counts of each group: accuracy, recall, precision, ...
    Performance,
    /// Differences and ratios between groups.
    Group,
    /// Counterfactual confusion matrix: consistency and switch rates.
    Ccm,
    /// Extended counterfactual confusion matrix: switch rates by correctness. Needs a label.
    Eccm,
    /// How far scores move.
    Shift,
    /// A favoured and a disfavoured facet, as SageMaker Clarify compares them.
    Clarify,
    /// How good counterfactuals are: near to their rows, like the target group. Of sets that move features.
    CfQuality,
    /// How sure the graphs of a set are. Always measured where there are any, so that no job asks for it.
    #[serde(skip)]
    Graph,
}

/// Intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Their level.
    #[serde(default = "level")]
    pub level: Level,
    /// `auto`: the method that fits each metric (Wilson for shares, Newcombe for differences, Katz for ratios, else the bootstrap).
    #[serde(default)]
    pub method: IntervalMethod,
}

fn level() -> Level {
    Level::DEFAULT
}

impl Default for Interval {
    fn default() -> Self {
        Interval { level: Level::DEFAULT, method: IntervalMethod::Auto }
    }
}

/// How intervals are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// The method that fits each metric.
    #[default]
    Auto,
    /// No intervals.
    None,
}

/// The bootstrap behind intervals that have no formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    /// Number of replicates.
    #[serde(default = "two_thousand")]
    pub samples: Count,
}

fn two_thousand() -> Count {
    Count::new(2000).expect("2000 is a count")
}

impl Default for Bootstrap {
    fn default() -> Self {
        Bootstrap { samples: two_thousand() }
    }
}

/// Intervals across the graphs of graph-uncertain sets: percentiles of the values of all graphs, apart from sampling error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Worlds {
    /// Their level.
    #[serde(default = "level")]
    pub level: Level,
}

impl Default for Worlds {
    fn default() -> Self {
        Worlds { level: Level::DEFAULT }
    }
}

/// One question with a limit: about a `metric` of a `model`, or about `recourse`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["metric"]}, {"required": ["recourse", "definition", "unfair_subgroups_at_most"]}]))]
pub struct Gate {
    /// Id of the metric, such as `nsr` or `demp_ratio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The arm of an experiment, `EXPERIMENT/ARM`, such as `augment/all` or `augment/base`. Left out: the plain audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The model; needed by every metric but those of graphs, such as `h_ga`. With `recourse` it is that of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// In the place of a metric: the attribute whose block under `recourse` is judged, by the number of subgroups in which it is unfair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recourse: Option<ColumnName>,
    /// With `recourse`: what is unfair, such as `{equal-cost-of-effectiveness: {phi: 0.7}}`; one that the block judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<OneDefinition>,
    /// With `recourse`: who acts. Left out: `macro`, or `micro` where the definition has no other view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewWord>,
    /// With `recourse`: no more subgroups may be unfair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfair_subgroups_at_most: Option<u64>,
    /// With `recourse`: a subgroup counts from this score on, 0 or above. Left out: any above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_at_least: Option<Finite>,
    /// With `recourse`: a subgroup counts where the smaller of its two groups has so many affected people. Left out: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest: Option<Count>,
    /// The counterfactual set; needed by metrics of the families ccm, eccm and shift, and by those of graphs. A scenario of a graph-uncertain set
    /// is `SET/SCENARIO`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<SetName>,
    /// The sensitive attribute; left out: the one that `direction`, `between` or `group` names, else every attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<ColumnName>,
    /// From which group to which: `{sex: [Female, Male]}`, or `any`: each ordered pair is judged, the worst decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<GateDirection>,
    /// Two groups, the first against the second: difference first - second, ratio first / second; `{race: [Asian, rest]}` takes all others
    /// together. Metrics of the family clarify take the favoured facet first. Or `worst_case`: the groups that are furthest apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<GateBetween>,
    /// The class that is set against all others, where `data.label` has `classes`. Left out: all classes together, for `acc`, `mcc`, `cr`,
    /// `sr`, `cmcc`, `acc_difference` and `mcc_difference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Word>,
    /// One group, for metrics of the family performance: `{sex: Female}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<BTreeMap<ColumnName, Word>>,
    /// The value must not be above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Finite>,
    /// The value must not be below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Finite>,
    /// `baseline`: not the value is judged but its change from the run that `--baseline` names; without one the gate is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// With `against`: the value must not rise by more than this; a negative number asks for a fall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rise_at_most: Option<Finite>,
    /// With `against`: the value must not fall by more than this; a negative number asks for a rise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fall_at_most: Option<Finite>,
    /// `interval`: the whole interval must keep the limit (pass, fail or inconclusive); `worlds`: the whole interval across causal graphs must;
    /// `estimate`: the value alone decides, as it does for metrics of graphs whatever stands here.
    #[serde(default)]
    pub decide_by: DecideBy,
    /// `holm`: the comparisons of the gate are judged together, so that the chance to call any of them broken that is not stays that of one.
    /// Left out: each is judged for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family_error: Option<FamilyError>,
    /// Cases needed below the rate; with fewer the gate is inconclusive.
    #[serde(default = "ten")]
    pub enough: Count,
    /// `fail` counts for the exit status, `warn` is shown only.
    #[serde(default)]
    pub level: GateLevel,
    /// A note for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a change is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The run that `--baseline` names.
    Baseline,
}

/// What many comparisons promise together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FamilyError {
    /// Holm's method: of m comparisons the k-th clearest is judged at the level 1 - alpha / (m - k + 1).
    Holm,
}

/// From which group to which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDirection {
    /// Each ordered pair of groups; the worst decides.
    Any,
    /// One pair by attribute.
    Pair(BTreeMap<ColumnName, [Word; 2]>),
}

impl Serialize for GateDirection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            GateDirection::Any => serializer.serialize_str("any"),
            GateDirection::Pair(map) => map.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GateDirection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = GateDirection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`any`, or `{ATTRIBUTE: [FROM, TO]}`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<GateDirection, E> {
                if text == "any" { Ok(GateDirection::Any) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GateDirection, A::Error> {
                Deserialize::deserialize(de::value::MapAccessDeserializer::new(map)).map(GateDirection::Pair)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for GateDirection {
    fn schema_name() -> Cow<'static, str> {
        "GateDirection".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<BTreeMap<ColumnName, [Word; 2]>>();
        json_schema!({"anyOf": [{"const": "any"}, map]})
    }
}

/// What is compared with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateBetween {
    /// The groups that are furthest apart.
    WorstCase,
    /// Two groups of an attribute; `rest` stands for all others.
    Pair(BTreeMap<ColumnName, [Word; 2]>),
}

impl Serialize for GateBetween {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            GateBetween::WorstCase => serializer.serialize_str("worst_case"),
            GateBetween::Pair(map) => map.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GateBetween {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = GateBetween;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`{ATTRIBUTE: [FIRST, SECOND]}`, or `worst_case`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<GateBetween, E> {
                if text == "worst_case" { Ok(GateBetween::WorstCase) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GateBetween, A::Error> {
                Deserialize::deserialize(de::value::MapAccessDeserializer::new(map)).map(GateBetween::Pair)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for GateBetween {
    fn schema_name() -> Cow<'static, str> {
        "GateBetween".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<BTreeMap<ColumnName, [Word; 2]>>();
        json_schema!({"anyOf": [{"const": "worst_case"}, map]})
    }
}

/// What decides a gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecideBy {
    /// Pass where the whole interval keeps the limit, fail where all of it breaks it, else inconclusive.
    #[default]
    Interval,
    /// The same with the interval across the graphs of a graph-uncertain set; what other people would give has no part in it.
    Worlds,
    /// The value alone: pass or fail.
    Estimate,
}

/// Whether a gate counts for the exit status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateLevel {
    /// It counts.
    #[default]
    Fail,
    /// It is shown only.
    Warn,
}

/// What an inconclusive gate of level `fail` does to the exit status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Exit status 1.
    #[default]
    Fail,
    /// It is shown only.
    Warn,
}

/// A form of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Export {
    /// `exports/junit.xml`: one test case per gate.
    Junit,
    /// `exports/cfaudit.prom`: values and gates for the textfile collector of Prometheus.
    Prometheus,
    /// `exports/metrics.csv`: the table of metrics.
    Csv,
    /// `exports/mlflow.json`: values for `mlflow.log_metrics`.
    Mlflow,
}

/// The HTML summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Its title; left out: the job's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Rows of a long table that the page shows; the rest is in the table files.
    #[serde(default = "twenty")]
    pub rows_shown: Count,
    /// Pairs of a person's row and its counterfactual that the page shows for each direction of the sets that move features, drawn by
    /// the seed: 0 to 20. With 0 no row of a person leaves the run but in `rows/`.
    #[serde(default)]
    #[schemars(range(max = 20))]
    pub example_pairs: u64,
}

fn twenty() -> Count {
    Count::new(20).expect("20 is a count")
}

impl Default for Report {
    fn default() -> Self {
        Report { title: None, rows_shown: twenty(), example_pairs: 0 }
    }
}

/// Seed and what is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The one seed of the job; every use of chance is a named stream of it.
    #[serde(default)]
    pub seed: Seed,
    /// Which rows go into the output folder. Left out: `outcomes` below ten million rows, `none` from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_rows: Option<KeepRows>,
}

/// Which rows go into the output folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepRows {
    /// None: aggregates only.
    None,
    /// `rows/outcomes.parquet`: predictions and scores of every counterfactual, without features.
    Outcomes,
}
