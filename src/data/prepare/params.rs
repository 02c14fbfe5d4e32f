//! The parameters of preparing: the roles of columns, filters, and rules for missing values.

use crate::data::column::declared::DeclaredColumns;
use crate::data::prepare::derive::DerivationRecipe;
use crate::data::rows::role_counts::HashSplit;
use crate::data::source::side_table::{JoinBlock, UnmatchedRule};
use crate::data::spelling::Spelling;
use crate::data::sql;
use crate::param::{ColumnName, Finite, Name, Word};
use indexmap::{IndexMap, IndexSet};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The code of the issue that a feature has missing values.
pub(crate) const MISSING_VALUES: &str = "missing-values";

/// The order of an ordinal column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(
    rename = "Order",
    extend("x-is" = "`ascending` for numbers, or the list of levels from low to high")
)]
pub enum OrdinalOrder {
    /// Numbers: the word `ascending` (a higher number is more).
    Numbers(OrdinalDirection),
    /// Levels from low to high.
    Levels(#[schemars(extend("minItems" = 1, "x-noun" = "level, from low to high"))] Vec<Word>),
}

/// Which way the numbers of an ordinal column run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrdinalDirection {
    /// A higher number is more.
    Ascending,
}

/// What happens to missing values, per kind of column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissingBlock {
    /// Continuous columns: `keep`, `drop-row` or `error`.
    #[serde(default)]
    pub continuous: MissingRule,
    /// Ordinal columns: `keep`, `drop-row` or `error`; `level` for ordinal columns with a list of
    /// levels is refused.
    #[serde(default)]
    pub ordinal: MissingRule,
    /// Nominal columns: `keep`, `level` (a separate level called `missing`), `drop-row` or
    /// `error`.
    #[serde(default)]
    pub nominal: MissingRule,
    /// Values that mean missing, by column: `{chol: [0], workclass: ["?"]}`. They become missing at
    /// reading, before everything else.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub null_values: IndexMap<ColumnName, Vec<Word>>,
}

/// What happens to rows with a missing value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingRule {
    /// The missing value is kept.
    #[default]
    Keep,
    /// It becomes the level `missing`.
    Level,
    /// The row is dropped and counted.
    DropRow,
    /// The run ends with status 3 and names the row.
    Error,
}

/// What happens to rows that repeat an earlier one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateRule {
    /// They stay.
    #[default]
    Keep,
    /// Rows that equal an earlier one in every column that the job names, except `row_id` and the
    /// column that splits, are dropped and counted. Columns under `ignore` are compared too.
    DropExact,
}

/// The parameters of preparing, from the job. What they are written as decides which rows are
/// stale, and their names are in the reason: keys below `data`, other keys of the job, or words.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct PrepareParams {
    /// Side tables that are joined to the rows; of these only some are needed.
    #[serde(skip)]
    pub joins: IndexMap<Name, JoinBlock>,
    /// Derived columns; each is derived from columns of the source and earlier derived ones.
    pub derive: Vec<(ColumnName, DerivationRecipe)>,
    /// The column of row ids; without it the row number serves.
    pub row_id: Option<ColumnName>,
    /// Whether files are joined to the rows by the hashes of their ids.
    #[serde(rename = "files joined by row id")]
    pub joins_by_key: bool,
    /// The column that says whose row it is; without it each row is a person.
    pub person: Option<ColumnName>,
    /// Filters, in order.
    pub keep: Vec<KeepStep>,
    /// The label, unless there is none.
    pub label: Option<SidesParams>,
    /// Whether the raw label is kept too, as a hidden feature.
    #[serde(rename = "label as it stands")]
    pub raw_label: bool,
    /// Levels that features have in another layout, by name: they get a position even without a
    /// row.
    #[serde(skip)]
    pub known_levels: BTreeMap<String, Vec<String>>,
    /// By feature and level the most frequent word of rows that strategies learn from.
    #[serde(skip)]
    pub known_spelling: BTreeMap<String, HashMap<String, String>>,
    /// Sensitive attributes, in the job's order.
    pub sensitive: Vec<SensitiveParams>,
    /// Continuous features.
    #[serde(rename = "data.features.continuous")]
    pub continuous: Vec<ColumnName>,
    /// Ordinal features.
    #[serde(rename = "data.features.ordinal")]
    pub ordinal: Vec<(ColumnName, OrdinalOrder)>,
    /// Nominal features.
    #[serde(rename = "data.features.nominal")]
    pub nominal: Vec<ColumnName>,
    /// One-hot groups: the name of a nominal feature, and a continuous 0/1 column for each of its
    /// levels.
    #[serde(rename = "data.features.onehot")]
    pub onehot: Vec<(ColumnName, Vec<ColumnName>)>,
    /// Whether numeric columns are whole, where the values do not decide: by the job or the
    /// reference.
    #[serde(rename = "columns")]
    pub integer: BTreeMap<String, bool>,
    /// The columns whose type the job says.
    #[serde(rename = "types of columns")]
    pub declared: DeclaredColumns,
    /// Words that usually mean missing and that the job gives a meaning, by column.
    #[serde(rename = "words that the job names")]
    pub named_words: BTreeMap<String, Vec<String>>,
    /// The columns whose texts are brought to one spelling.
    #[serde(rename = "spelling of columns")]
    pub spelling: BTreeMap<String, Spelling>,
    /// What happens to missing values.
    pub missing: MissingBlock,
    /// The column of the weight of each row.
    pub weight: Option<ColumnName>,
    /// Columns that define exact duplicates, which are then dropped; `None` keeps all rows.
    #[serde(rename = "duplicates")]
    pub drop_duplicates: Option<Vec<ColumnName>>,
    /// Columns carried as numbers for models: scores, thresholds, expected scores.
    #[serde(rename = "columns of models")]
    pub carry: Vec<ColumnName>,
    /// Columns of decisions, each once.
    #[serde(rename = "decisions of models")]
    pub decisions: Vec<SidesParams>,
    /// The split, where a column decides it.
    pub split: Option<SplitColumn>,
    /// The split, where the hash of each row decides it.
    #[serde(rename = "split by hash")]
    pub hash_split: Option<HashSplit>,
    /// The column whose values are strata, and what happens to its missing values.
    #[serde(rename = "metrics.clarify.strata")]
    pub strata: Option<(ColumnName, MissingRule)>,
    /// The columns whose values are slices, and what happens to their missing values.
    #[serde(rename = "metrics.by")]
    pub slices: Vec<(ColumnName, MissingRule)>,
}

/// A column whose words are on two sides: the label, or decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SidesParams {
    /// The column.
    pub column: ColumnName,
    /// The words of the positive side.
    pub positive: Vec<Word>,
    /// The words of the negative side, where the job lists them; otherwise all others.
    pub negative: Option<Vec<Word>>,
    /// The classes of a label with more than two, divided into `positive` and `negative`; else
    /// empty.
    pub classes: Vec<Word>,
}

/// Under which name the decisions of a column are carried.
pub(crate) fn carried_decision(column: &str) -> String {
    format!("decision.{column}")
}

/// A sensitive attribute.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SensitiveParams {
    /// Its name in the job.
    pub name: ColumnName,
    /// The column that holds it.
    pub column: ColumnName,
    /// Its groups.
    pub groups: Vec<Word>,
    /// The reference group, one of `groups`.
    pub reference: Word,
}

/// A split decided by a column. A row with another value neither trains nor is audited.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SplitColumn {
    /// The column.
    pub column: ColumnName,
    /// Its values that train.
    pub train: Vec<Word>,
    /// Its values that are audited.
    pub audit: Vec<Word>,
}

impl PrepareParams {
    /// The columns of the source that must be read, each once, in the order of the job's roles.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let is_derived = |name: &str| self.derive.iter().any(|(column, _)| column.as_str() == name);
        let needed = self.needed().into_iter();
        needed.filter(|name| !is_derived(name) && !self.is_joined(name)).collect()
    }

    fn is_joined(&self, name: &str) -> bool {
        self.joins.values().flat_map(|join| &join.columns).any(|column| column.as_str() == name)
    }

    /// The side tables that must be read, each with the columns that some role needs. Where rows
    /// without a key are not mere gap a table is read even if nobody needs its columns: which rows
    /// are audited must not depend on that.
    pub(crate) fn joined(&self) -> IndexMap<Name, JoinBlock> {
        let needed = self.needed();
        let mut joins = self.joins.clone();
        joins.retain(|_, join| {
            join.columns.retain(|column| needed.contains(column.as_str()));
            !join.columns.is_empty() || join.missing != UnmatchedRule::Keep
        });
        joins
    }

    /// The derived columns that some role needs.
    pub(crate) fn derived(&self) -> impl Iterator<Item = &(ColumnName, DerivationRecipe)> {
        let needed = self.needed();
        self.derive.iter().filter(move |(column, _)| needed.contains(column.as_str()))
    }

    /// Number of passes over the source.
    pub(crate) fn passes(&self) -> u64 {
        1 + u64::from(self.drop_duplicates.is_some())
    }

    /// Whether preparing reports such an issue.
    ///
    /// Issues of columns that are not needed occur only where others need them.
    pub(crate) fn reports_issue(&self, code: &str, place: &str) -> bool {
        let is = |name: &ColumnName| name.as_str() == place;
        let feature = self
            .continuous
            .iter()
            .chain(self.ordinal.iter().map(|(name, _)| name))
            .chain(&self.nominal)
            .any(is);
        let named = || {
            self.sensitive
                .iter()
                .map(|s| &s.name)
                .chain(self.onehot.iter().map(|(name, _)| name))
                .any(is)
        };
        let known = self.needed().contains(place) || named();
        if code == MISSING_VALUES { feature } else { known }
    }

    /// The columns of all roles, and those that they are derived from.
    fn needed(&self) -> IndexSet<&str> {
        let all = (self.row_id.iter())
            .chain(&self.person)
            .chain(self.keep.iter().flat_map(KeepStep::columns))
            .chain(self.label.iter().map(|l| &l.column))
            .chain(self.sensitive.iter().map(|s| &s.column))
            .chain(&self.continuous)
            .chain(self.ordinal.iter().map(|(name, _)| name))
            .chain(&self.nominal)
            .chain(&self.weight)
            .chain(&self.carry)
            .chain(self.decisions.iter().map(|d| &d.column))
            .chain(self.split.iter().map(|s| &s.column))
            .chain(self.strata.iter().chain(&self.slices).map(|(name, _)| name))
            .chain(self.drop_duplicates.iter().flatten());
        let mut names: IndexSet<&str> = all.map(ColumnName::as_str).collect();
        // A derived column comes after its parents, so one backward pass finds all of them.
        for (column, recipe) in self.derive.iter().rev() {
            if names.contains(column.as_str()) {
                names.extend(recipe.parents().into_iter().map(ColumnName::as_str));
            }
        }
        for join in self.joins.values() {
            let is_needed = |column: &ColumnName| names.contains(column.as_str());
            if join.missing != UnmatchedRule::Keep || join.columns.iter().any(is_needed) {
                names.insert(join.on.as_str());
            }
        }
        names
    }
}

/// A step of `keep`: conditions on single columns that must all hold, or an SQL expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeepStep {
    /// An expression.
    Sql(SqlFilter),
    /// By column.
    Columns(BTreeMap<ColumnName, KeepCondition>),
}

/// An SQL expression that must be true of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SqlText")]
pub struct SqlFilter {
    /// The expression.
    pub sql: String,
    /// The columns that it reads; none of an expression that is none.
    #[serde(skip)]
    pub(crate) columns: Vec<ColumnName>,
}

/// A filter as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqlText {
    sql: String,
}

impl From<SqlText> for SqlFilter {
    fn from(SqlText { sql }: SqlText) -> Self {
        let columns = sql::parse(&sql).map_or_else(|_| Vec::new(), |of| of.columns);
        SqlFilter { sql, columns }
    }
}

impl KeepStep {
    /// The columns that it reads.
    pub fn columns(&self) -> Vec<&ColumnName> {
        match self {
            KeepStep::Columns(conditions) => conditions.keys().collect(),
            KeepStep::Sql(filter) => filter.columns.iter().collect(),
        }
    }
}

impl JsonSchema for KeepStep {
    fn schema_name() -> Cow<'static, str> {
        "KeepStep".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let conditions = generator.subschema_for::<BTreeMap<ColumnName, KeepCondition>>();
        json_schema!({"x-alone": "`- sql: ...`", "anyOf": [
            {
                "type": "object",
                "properties": {"sql": {
                    "type": "string",
                    "description": "An SQL expression over the columns of a row that must be true: \
                                    `income > 0 AND country IN ('DE', 'FR')`."
                }},
                "required": ["sql"],
                "additionalProperties": false
            },
            conditions
        ]})
    }
}

/// A condition on the values of one column. A missing value fails every condition but `missing`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KeepCondition {
    /// One of these values.
    In(#[schemars(extend("minItems" = 1, "x-noun" = "value to keep"))] Vec<Word>),
    /// None of these values.
    NotIn(#[schemars(extend("minItems" = 1, "x-noun" = "value to leave out"))] Vec<Word>),
    /// This number or more.
    AtLeast(Finite),
    /// This number or less.
    AtMost(Finite),
    /// More than this number.
    Above(Finite),
    /// Less than this number.
    Below(Finite),
    /// From the first number to the second, both included.
    Between([Finite; 2]),
    /// Any value at all.
    Present {},
    /// No value.
    Missing {},
}

impl fmt::Display for KeepCondition {
    /// The condition as a job writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |words: &[Word]| words.iter().map(Word::as_str).collect::<Vec<_>>().join(", ");
        match self {
            KeepCondition::In(words) => write!(f, "{{in: [{}]}}", list(words)),
            KeepCondition::NotIn(words) => write!(f, "{{not_in: [{}]}}", list(words)),
            KeepCondition::AtLeast(limit) => write!(f, "{{at_least: {}}}", limit.get()),
            KeepCondition::AtMost(limit) => write!(f, "{{at_most: {}}}", limit.get()),
            KeepCondition::Above(limit) => write!(f, "{{above: {}}}", limit.get()),
            KeepCondition::Below(limit) => write!(f, "{{below: {}}}", limit.get()),
            KeepCondition::Between([lo, hi]) => {
                write!(f, "{{between: [{}, {}]}}", lo.get(), hi.get())
            }
            KeepCondition::Present {} => f.write_str("present"),
            KeepCondition::Missing {} => f.write_str("missing"),
        }
    }
}
