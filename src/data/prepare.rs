//! Turns source rows into `rows.parquet` and its description: filters, checks kinds, codes levels, finds groups and labels.
//!
//! Two passes over the source. The first ([`Survey`]) counts what each filter loses and which values occur, and fails on what no
//! later stage could digest; from it follow the levels, the groups and the label ([`Encoding`]). The second writes numbers. Rows of a
//! group that is not declared, of no group or without a label stay; they are counted as issues.
//!
//! Choice: levels are declared ones in their order, then others in byte order of their words (`10` before `2`). A column that is both
//! sensitive and a feature is the sensitive one. Memory: the pieces in work, and the levels of coded columns.

#![expect(clippy::disallowed_methods, reason = "every call names its path in the error")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::data::encode::Encoding;
use crate::data::keep::{Condition, Step};
use crate::data::recut::Recut;
use crate::data::source::Source;
use crate::data::survey::Survey;
use crate::data::values::Class;
use crate::data::{Kind, Layout, MISSING_GROUP, row_id};
use crate::error::{Error, Fault, Result};
use crate::param::{ColumnName, Word};
use crate::table::ordered::{Watch, Workers};

/// The order of an ordinal column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Order {
    /// Numbers: the word `ascending` (a higher number is more).
    Numbers(Direction),
    /// Levels from low to high.
    Levels(Vec<Word>),
}

/// Which way the numbers of an ordinal column run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A higher number is more.
    Ascending,
}

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Order;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`ascending` for numbers, or the list of levels from low to high")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Order, E> {
                match text {
                    "ascending" => Ok(Order::Numbers(Direction::Ascending)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Order, A::Error> {
                Deserialize::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Order::Levels)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for Order {
    fn schema_name() -> Cow<'static, str> {
        "Order".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let direction = generator.subschema_for::<Direction>();
        let levels = generator.subschema_for::<Vec<Word>>();
        json_schema!({"anyOf": [direction, levels]})
    }
}

/// What happens to missing values, per kind of column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// Continuous columns: `keep`, `drop-row` or `error`.
    #[serde(default)]
    pub continuous: MissingRule,
    /// Ordinal columns: `keep`, `drop-row` or `error`; `level` for ordinal columns with a list of levels is refused.
    #[serde(default)]
    pub ordinal: MissingRule,
    /// Nominal columns: `keep`, `level` (a level of its own called `missing`), `drop-row` or `error`.
    #[serde(default)]
    pub nominal: MissingRule,
}

/// What happens to rows with a missing value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingRule {
    /// The missing value travels on.
    #[default]
    Keep,
    /// It becomes the level `missing`.
    Level,
    /// The row is dropped and counted.
    DropRow,
    /// The run ends with status 3 and names the row.
    Error,
}

/// What preparing needs to know of a job.
#[derive(Debug, Clone, Default)]
pub struct PrepareParams {
    /// The column of row ids; without it the row number serves.
    pub row_id: Option<ColumnName>,
    /// Filters, in order.
    pub keep: Vec<BTreeMap<ColumnName, Condition>>,
    /// The label, unless there is none.
    pub label: Option<LabelParams>,
    /// Sensitive attributes, in the job's order.
    pub sensitive: Vec<SensitiveParams>,
    /// Continuous features.
    pub continuous: Vec<ColumnName>,
    /// Ordinal features.
    pub ordinal: Vec<(ColumnName, Order)>,
    /// Nominal features.
    pub nominal: Vec<ColumnName>,
    /// What happens to missing values.
    pub missing: Missing,
    /// Columns carried as numbers for models: scores, thresholds.
    pub carry: Vec<ColumnName>,
    /// The split, where a column decides it.
    pub split: Option<SplitColumn>,
}

/// The label column.
#[derive(Debug, Clone)]
pub struct LabelParams {
    /// The column.
    pub column: ColumnName,
    /// The values that count as positive; all others are negative.
    pub positive: Vec<Word>,
}

/// A sensitive attribute.
#[derive(Debug, Clone)]
pub struct SensitiveParams {
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
#[derive(Debug, Clone)]
pub struct SplitColumn {
    /// The column.
    pub column: ColumnName,
    /// Its values that train.
    pub train: Vec<Word>,
    /// Its values that are audited.
    pub audit: Vec<Word>,
}

impl PrepareParams {
    /// The columns that must be read, each once, in the order in which the job's roles name them.
    pub fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let all = (self.row_id.iter())
            .chain(self.keep.iter().flat_map(BTreeMap::keys))
            .chain(self.label.iter().map(|l| &l.column))
            .chain(self.sensitive.iter().map(|s| &s.column))
            .chain(&self.continuous)
            .chain(self.ordinal.iter().map(|(name, _)| name))
            .chain(&self.nominal)
            .chain(&self.carry)
            .chain(self.split.iter().map(|s| &s.column));
        for name in all {
            if !names.contains(&name.as_str()) {
                names.push(name.as_str());
            }
        }
        names
    }
}

/// What preparing found; `rows.parquet` and `layout.json` are written beside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// What the columns mean.
    pub layout: Layout,
    /// Each step that can lose rows, in order.
    pub filters: Vec<FilterStep>,
    /// What was met and did not stop the run.
    pub issues: Vec<Issue>,
}

/// One step that can lose rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterStep {
    /// The step, as the job writes it.
    pub what: String,
    /// Rows before it.
    pub rows_in: u64,
    /// Rows after it.
    pub rows_out: u64,
}

/// A kind of problem in the data that did not stop the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Word of a closed list.
    pub code: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// The column or attribute.
    pub place: String,
    /// How often.
    pub n: u64,
    /// What, in words.
    pub text: String,
}

/// How grave an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// It may change what the results mean.
    Warning,
}

impl Severity {
    /// Its word in the table of issues.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
        }
    }
}

/// Writes `rows.parquet` in row groups of `batch_rows` and `layout.json` to `out_dir`. Each source row is reported to `watch` twice,
/// once per pass.
///
/// # Errors
/// A word of the job that no value can meet; values that do not fit their column's kind; too many levels; no rows left; a group or
/// label value that never occurs; a row id that is missing or occurs twice; the disk refuses.
pub fn prepare(
    source: &Source,
    params: &PrepareParams,
    out_dir: &Path,
    batch_rows: usize,
    workers: &Workers,
    watch: Watch<'_>,
) -> Result<Prepared> {
    let plan = Plan::new(source, params)?;
    let mut survey = Survey::empty(&plan);
    let pieces = source.pieces();
    let look = |i: usize| {
        let mut seen = Survey::empty(&plan);
        source.read(&pieces[i], batch_rows, |slice| {
            (watch.check)()?;
            seen.add(&plan, &slice)
        })?;
        Ok::<_, Error>(seen)
    };
    workers.map(pieces.len(), look, |i, seen| {
        survey.merge(&plan, seen)?;
        (watch.progress)(pieces[i].rows() as u64);
        Ok(())
    })?;
    let filters = survey.filters(&plan)?;
    let (encoding, issues) = Encoding::new(&plan, &survey)?;

    let rows_path = out_dir.join("rows.parquet");
    let mut rows = Recut::create(&rows_path, encoding.schema(), workers, batch_rows)?;
    let encode = |i: usize| {
        let mut batches = Vec::new();
        source.read(&pieces[i], batch_rows, |slice| {
            (watch.check)()?;
            batches.push(encoding.batch(&plan, &slice)?);
            Ok(())
        })?;
        Ok::<_, Error>(batches)
    };
    workers.map(pieces.len(), encode, |i, batches| {
        batches.into_iter().try_for_each(|batch| rows.push(batch))?;
        (watch.progress)(pieces[i].rows() as u64);
        Ok(())
    })?;
    rows.finish()?;
    let layout = encoding.into_layout();
    if let Some(column) = &params.row_id {
        row_id::check_unique(&rows_path, column.as_str(), source, watch)?;
    }
    let layout_path = out_dir.join("layout.json");
    let text = serde_json::to_string_pretty(&layout).map_err(|e| Error::io("write", &layout_path, &e.into()))?;
    std::fs::write(&layout_path, text + "\n").map_err(|e| Error::io("write", &layout_path, &e))?;
    Ok(Prepared { layout, filters, issues })
}

/// The parameters, with names resolved to columns of the source and words to values of their types.
pub(super) struct Plan<'a> {
    pub(super) source: &'a Source,
    pub(super) steps: Vec<Step>,
    pub(super) row_id: Option<usize>,
    pub(super) label: Option<LabelPlan>,
    pub(super) attributes: Vec<AttributePlan>,
    pub(super) features: Vec<FeaturePlan>,
    pub(super) carry: Vec<usize>,
    pub(super) split: Option<SplitPlan>,
    /// Source columns whose values are counted: coded features, the label, the split.
    pub(super) coded: Vec<usize>,
}

pub(super) struct LabelPlan {
    pub(super) column: usize,
    /// As the job writes them, and as the column holds them.
    pub(super) positive: Vec<(String, String)>,
}

pub(super) struct AttributePlan {
    pub(super) name: String,
    pub(super) feature: usize,
    /// As the job writes them, and as the column holds them.
    pub(super) groups: Vec<(String, String)>,
    pub(super) reference: usize,
}

pub(super) struct FeaturePlan {
    pub(super) name: String,
    pub(super) column: usize,
    pub(super) kind: Kind,
    pub(super) rule: MissingRule,
    /// Declared levels as the column holds them.
    pub(super) declared: Vec<String>,
}

pub(super) struct SplitPlan {
    pub(super) column: usize,
    pub(super) train: Vec<String>,
    pub(super) audit: Vec<String>,
}

impl<'a> Plan<'a> {
    fn new(source: &'a Source, params: &PrepareParams) -> Result<Self> {
        let steps = params.keep.iter().map(|entry| Step::new(entry, source)).collect::<Result<_>>()?;
        let row_id = params.row_id.as_ref().map(|name| row_id_column(source, name)).transpose()?;
        let label = params.label.as_ref().map(|label| LabelPlan::new(source, label)).transpose()?;
        let mut features: Vec<FeaturePlan> = Vec::new();
        let mut attributes = Vec::new();
        for attribute in &params.sensitive {
            let column = source.position(attribute.column.as_str())?;
            let groups = words(source, column, &attribute.groups, "groups")?;
            if groups.len() >= usize::from(MISSING_GROUP) {
                return Err(Fault::new("too-many-levels", format!("`{}` has {} groups", attribute.name, groups.len())).into());
            }
            if let Some(i) = (1..groups.len()).find(|&i| groups[..i].iter().any(|(_, value)| *value == groups[i].1)) {
                let what = format!("the group `{}` of `{}` is declared twice", groups[i].0, attribute.name);
                return Err(Fault::new("duplicate-group", what).in_column(attribute.column.as_str()).into());
            }
            let reference = groups.iter().position(|(written, _)| *written == attribute.reference.0);
            let reference = reference.ok_or_else(|| {
                Fault::new(
                    "unknown-group",
                    format!("the reference group `{}` is not among the groups of `{}`", attribute.reference, attribute.name),
                )
            })?;
            let feature = match features.iter().position(|f| f.column == column) {
                Some(feature) => feature,
                None => {
                    features.push(FeaturePlan::new(source, &attribute.column, Kind::Sensitive, MissingRule::Keep)?);
                    features.len() - 1
                }
            };
            for (_, value) in &groups {
                if !features[feature].declared.contains(value) {
                    features[feature].declared.push(value.clone());
                }
            }
            attributes.push(AttributePlan { name: attribute.name.to_string(), feature, groups, reference });
        }
        let missing = &params.missing;
        let integer = |name: &ColumnName| Ok::<_, Error>(source.columns()[source.position(name.as_str())?].class == Class::Int);
        let mut plain = Vec::new();
        for name in &params.continuous {
            plain.push(FeaturePlan::new(source, name, Kind::Continuous { integer: integer(name)? }, missing.continuous)?);
        }
        for (name, order) in &params.ordinal {
            let kind = if matches!(order, Order::Numbers(_)) { Kind::OrdinalNumber } else { Kind::OrdinalLevel };
            let mut feature = FeaturePlan::new(source, name, kind, missing.ordinal)?;
            if let Order::Levels(levels) = order {
                feature.declared = words(source, feature.column, levels, "ordinal")?.into_iter().map(|(_, value)| value).collect();
            }
            plain.push(feature);
        }
        for name in &params.nominal {
            plain.push(FeaturePlan::new(source, name, Kind::Nominal, missing.nominal)?);
        }
        for feature in plain {
            if features.iter().all(|f| f.column != feature.column) {
                features.push(feature);
            }
        }
        let mut carry = params.carry.iter().map(|name| source.position(name.as_str())).collect::<Result<Vec<_>>>()?;
        carry.sort_by(|&a, &b| source.columns()[a].name.cmp(&source.columns()[b].name));
        carry.dedup();
        let split = params.split.as_ref().map(|split| SplitPlan::new(source, split)).transpose()?;
        let mut coded: Vec<usize> = features.iter().filter(|f| f.kind.is_coded()).map(|f| f.column).collect();
        coded.extend(label.iter().map(|l| l.column).chain(split.iter().map(|s| s.column)));
        coded.sort_unstable();
        coded.dedup();
        Ok(Plan { source, steps, row_id, label, attributes, features, carry, split, coded })
    }

    /// Position among the counted columns.
    pub(super) fn coded_position(&self, column: usize) -> usize {
        self.coded.binary_search(&column).unwrap_or_default()
    }

    /// The name of a source column.
    pub(super) fn name(&self, column: usize) -> &str {
        &self.source.columns()[column].name
    }

    /// Number columns: features that are numbers, and carried columns, each once.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let features = self.features.iter().filter(|f| !f.kind.is_coded()).map(|f| f.column);
        let mut numbers: Vec<usize> = features.chain(self.carry.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

impl LabelPlan {
    fn new(source: &Source, label: &LabelParams) -> Result<Self> {
        let column = source.position(label.column.as_str())?;
        Ok(LabelPlan { column, positive: words(source, column, &label.positive, "positive")? })
    }
}

impl FeaturePlan {
    fn new(source: &Source, name: &ColumnName, kind: Kind, rule: MissingRule) -> Result<Self> {
        Ok(FeaturePlan { name: name.to_string(), column: source.position(name.as_str())?, kind, rule, declared: Vec::new() })
    }
}

impl SplitPlan {
    fn new(source: &Source, split: &SplitColumn) -> Result<Self> {
        let column = source.position(split.column.as_str())?;
        let values = |list: &[Word], asked_by: &str| {
            Ok::<Vec<String>, Error>(words(source, column, list, asked_by)?.into_iter().map(|(_, value)| value).collect())
        };
        let (train, audit) = (values(&split.train, "split.train")?, values(&split.audit, "split.audit")?);
        if let Some(both) = train.iter().find(|value| audit.contains(value)) {
            let what = format!("the value `{both}` of the split column both trains and is audited");
            return Err(Fault::new("overlapping-split", what).in_column(split.column.as_str()).hint("put it into one list").into());
        }
        Ok(SplitPlan { column, train, audit })
    }
}

/// Words of the job as written and as the column holds them.
fn words(source: &Source, column: usize, words: &[Word], asked_by: &str) -> Result<Vec<(String, String)>> {
    let column = &source.columns()[column];
    let pair = |word: &Word| Ok((word.0.clone(), column.class.word(asked_by, &column.name, word.as_str())?));
    words.iter().map(pair).collect()
}

fn row_id_column(source: &Source, name: &ColumnName) -> Result<usize> {
    let column = source.position(name.as_str())?;
    match source.columns()[column].class {
        Class::Int | Class::Text | Class::Empty => Ok(column),
        class => {
            let fault = Fault::new("not-an-id", format!("column `{name}` holds {} and cannot identify rows", class.name()))
                .in_column(name.as_str());
            Err(source.within(fault).hint("row ids are integers or text").into())
        }
    }
}
