//! A run that is compared with another one.

use crate::diff::definitions::{CountingRules, JobValues};
use crate::folder::manifest::RoundedSwitches;
use crate::num::score_scale::ScoreScale;
use crate::param::Level;
use crate::table::MetricRow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the sets of a run were fitted on: hashes by experiment (empty for the plain audit), set and
/// attribute.
pub(crate) type FittedOn = BTreeMap<[String; 3], String>;

/// One of two runs: what its folder says.
#[derive(Debug, Clone)]
pub(crate) struct ComparedRun {
    /// Name of the job.
    pub job: String,
    /// Id of the run.
    pub run: String,
    /// Version of the model in the job's words.
    pub version: Option<String>,
    /// SHA-256 of `manifest.json`; empty for a run that is not finished.
    pub fingerprint: String,
    /// People audited.
    pub rows: u64,
    /// The resolved job.
    pub values: JobValues,
    /// The groups of each attribute, reference first.
    pub groups: BTreeMap<String, Vec<String>>,
    /// What distinguishes rows: `row number`, or a column.
    pub row_id: String,
    /// What the rows were read from, so that equal texts mean equal rows with equal numbers.
    pub source: String,
    /// What it counts by, in addition to what its job says.
    pub rules: CountingRules,
    /// What its sets were fitted on.
    pub fitted_on: FittedOn,
    /// The scales of the scores of its models, where scores are not probabilities.
    pub scales: BTreeMap<String, ScoreScale>,
    /// Whether its outcomes are amounts, which are no scores.
    pub amounts: bool,
    /// Whether people have weights.
    pub weighted: bool,
    /// Whether a person may have several rows.
    pub persons: bool,
    /// Whether there is a label.
    pub has_label: bool,
    /// Whether the positive prediction is the one people want.
    pub favourable_is_positive: bool,
    /// Whether its job says which prediction people want.
    pub favourable_stated: bool,
    /// Level of the intervals.
    pub level: Level,
    /// The table `metrics`.
    pub metrics: Vec<MetricRow>,
    /// Its switches that rounding alone may explain; of the new run gates read its counts.
    pub rounded: Vec<RoundedSwitches>,
    /// The file of outcomes, where they are kept.
    pub outcomes: Option<PathBuf>,
}
