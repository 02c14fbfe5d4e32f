//! The job file as types: one struct per block, no behaviour; the blocks of an engine are in the
//! engine's module.
//!
//! Words: a *block* is a map of the job as its author writes it, its *knobs* are the keys that
//! configure an engine. *Settings* are what an engine computes with, defaults filled in; where a
//! job writes exactly that, they are read as they are. *Params* are what a stage passes to `data`.
//!
//! [`read`] reads YAML into a [`Job`] and remembers the place of every key and value; `check` turns
//! it into a [`check::CheckedJob`] or returns every problem with its line. The doc comments here
//! are the descriptions in `schemas/job.schema.json`, so they are written for the author of a job.
//!
//! Variants are one-key maps (`plausible: {threshold: 0.5}`), closed everywhere: an unknown key is
//! an error, never ignored.

pub(crate) mod blocks;
pub mod check;
pub(crate) mod messages;
pub mod new;
pub(crate) mod read;
pub(crate) mod resolve;
pub(crate) mod schema;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::blocks::experiments::ExperimentBlock;
use crate::param::{ColumnName, Count, Name, Seed, Word};
use crate::recourse::knobs::RecourseBlock;
use crate::why::knobs::WhyBlock;

pub use crate::counterfactual::strategy::{CounterfactualSet, FitDoubtBlock, PlaceboBlock};
pub use crate::model::kind::command::{CommandBlock, StreamFormat};
pub use crate::model::kind::scores::{
    CounterfactualScores, FactualScores, RecheckBlock, ScoresBlock,
};
pub use crate::model::kind::{ModelBlock, ThresholdRule};
pub use blocks::data::{
    CatalogRows, ColumnBlock, DataBlock, FavourableClass, FeaturesBlock, JoinBlock, LabelColumn,
    LabelRole, ParquetRows, ReferenceBlock, RowSource, RowsBlock, SensitiveBlock, SplitBlock,
    WhenUnreachable,
};
pub use blocks::gates::{
    ChangeFrom, FamilywiseError, GateBetween, GateBlock, GateDecideBy, GateDirection, GateLevel,
    OnInconclusive,
};
pub use blocks::metrics::{BootstrapBlock, IntervalBlock, MetricFamily, MetricsBlock};
pub use blocks::words::{AboutBlock, AnnexChoice, CodeNames, DecisionWordsBlock, SignerBlock};
pub use messages::CODES;

/// A job of cfaudit: one file that says everything which changes a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Format of this file; an old program refuses a newer number.
    pub cfaudit: u32,
    /// Id of the job: names the output folder, the summary and the logs.
    pub name: Name,
    /// Words for the report; none of them changes a number.
    #[schemars(extend("x-filled" = "write the words, or remove the key"))]
    pub about: Option<AboutBlock>,
    /// Files whose maps are merged below this one; lists are replaced, this file wins. Paths are
    /// relative to this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Values that a caller may pass with `--set NAME=VALUE`; used as `${vars.NAME}`. `required`
    /// means: no default.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub vars: IndexMap<Name, Word>,
    /// The rows and the roles of their columns.
    pub data: DataBlock,
    /// Counterfactual sets by name, each with one strategy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counterfactuals: BTreeMap<Name, CounterfactualSet>,
    /// The models to audit, by name, each of one kind.
    pub models: BTreeMap<Name, ModelBlock>,
    /// What is measured.
    #[serde(default)]
    pub metrics: MetricsBlock,
    /// Models that are trained again with rows added, by name, each compared with the model as it
    /// was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub experiments: BTreeMap<Name, ExperimentBlock>,
    /// Fairness of recourse for subgroups, by sensitive attribute.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub recourse: IndexMap<ColumnName, RecourseBlock>,
    /// Of which metrics to tell why: whose predictions switch more often than those of the others,
    /// by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub why: BTreeMap<Name, WhyBlock>,
    /// Questions with a limit; any `fail` makes the run end with exit status 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gates: BTreeMap<Name, GateBlock>,
    /// What an inconclusive gate of level `fail` does to the exit status.
    #[serde(default)]
    pub on_inconclusive: OnInconclusive,
    /// The HTML summary.
    #[serde(default)]
    pub report: ReportBlock,
    /// Forms of other tools that every run writes into `exports/` of its folder, as
    /// `cfaudit export` does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<ExportFormat>,
    /// Seed and what is kept.
    #[serde(default)]
    pub run: RunBlock,
}

/// A form of another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// `exports/junit.xml`: one test case per gate.
    Junit,
    /// `exports/cfaudit.prom`: values and gates for the textfile collector of Prometheus.
    Prometheus(PrometheusBlock),
    /// `exports/model-card.json`: a bill of materials with a model card for each model, CycloneDX
    /// 1.6.
    #[serde(rename = "model-card")]
    ModelCard,
}

/// Which gauges the file for Prometheus has, besides the number of people and the exit status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PrometheusBlock {
    /// Ids of metrics: a gauge for each defined value, with gauges for the ends of its interval.
    /// Default: the values of the headline, as `summary.json` has them.
    #[schemars(extend("minItems" = 1, "x-noun" = "metric"))]
    pub metrics: Option<Vec<String>>,
    /// Whether gates have gauges.
    pub gates: bool,
}

impl Default for PrometheusBlock {
    fn default() -> Self {
        PrometheusBlock { metrics: None, gates: true }
    }
}

/// The HTML summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportBlock {
    /// Its title; default: the job's name.
    pub title: Option<String>,
    /// Rows of a long table that the page shows; the rest is in the table files.
    pub rows_shown: Count,
    /// Whether the folder holds `annex.html` next to the page: `file`, or `none`.
    pub annex: AnnexChoice,
    /// People who switch that the page shows: what changed, score and decision before and after.
    /// Drawn by the seed for each model, set and attribute: 0 to 20. With 0, and without `map`,
    /// no row of a person leaves the run except in `rows/`.
    #[schemars(extend("maximum" = 20,
        "x-range" = "a number of people up to 20; the page has to stay readable"))]
    pub cases: u64,
    /// Rows of each direction that the map of a set that moves features shows next to their
    /// counterfactuals, on the first two principal components of the reference. Drawn by the seed:
    /// up to 500. Default: no map.
    #[schemars(extend("maximum" = 500,
        "x-range" = "a number of rows from 1 to 500; more dots hide each other"))]
    pub map: Option<Count>,
}

impl Default for ReportBlock {
    fn default() -> Self {
        ReportBlock {
            title: None,
            rows_shown: Count::of::<20>(),
            annex: AnnexChoice::File,
            cases: 0,
            map: None,
        }
    }
}

/// Seed and what is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunBlock {
    /// The one seed of the job; every use of chance is a named stream of it.
    #[serde(default)]
    pub seed: Seed,
    /// Which rows of single people go into the output folder. Default: outcomes below ten million
    /// rows, under `row_key` alone, and none from there.
    pub keep_rows: Option<KeepRows>,
    /// Folder or address, such as `s3://BUCKET/KEY`, of the rows to score while the run waits for
    /// their scores. Default: `to-score/` of the output folder.
    #[schemars(extend("x-address" = "object"))]
    pub to_score: Option<String>,
}

/// Which rows go into the output folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepRows {
    /// None: aggregates only.
    None,
    /// `rows/outcomes.parquet`: predictions and scores of every counterfactual, without features,
    /// and with the `row_id` of the source.
    Outcomes,
    /// `rows/counterfactuals/SET/`: the counterfactuals of every set that moves rows, with the
    /// `row_id` and the values of the source.
    Counterfactuals,
    /// Both.
    All,
}

impl RunBlock {
    /// Whether the job asks for outcomes; none where it leaves that to their number.
    pub(crate) fn keeps_outcomes(&self) -> Option<bool> {
        self.keep_rows.map(|kept| matches!(kept, KeepRows::Outcomes | KeepRows::All))
    }

    /// Whether the job asks for the rows of counterfactuals.
    pub(crate) fn keeps_counterfactuals(&self) -> bool {
        matches!(self.keep_rows, Some(KeepRows::Counterfactuals | KeepRows::All))
    }
}
