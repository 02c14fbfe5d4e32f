//! Which jobs cannot be run in shards yet, and what would let them: every reason with its place in
//! the job, before any row is read.

use crate::counterfactual::short_forms::ConditionOn;
use crate::counterfactual::strategy::CounterfactualSet;
use crate::data::prepare::params::DuplicateRule;
use crate::error::JobProblem;
use crate::job::check::{self, CheckedJob};
use crate::job::{Job, MetricFamily, RowSource, SplitBlock};
use crate::unit::UnitKind;

/// Code of the problem.
pub(crate) const NOT_IN_SHARDS: &str = "not-in-shards";

/// The kinds of units that go over rows shard by shard, or over no rows of the job.
const KINDS_IN_SHARDS: &[UnitKind] = &[
    UnitKind::Reference,
    UnitKind::Survey,
    UnitKind::Prepare,
    UnitKind::Split,
    UnitKind::Population,
    UnitKind::Contract,
    UnitKind::Levels,
    UnitKind::Fit,
    UnitKind::Support,
    UnitKind::Generate,
    UnitKind::Kept,
    UnitKind::Request,
    UnitKind::ToScore,
    UnitKind::Score,
    UnitKind::Recheck,
    UnitKind::Count,
    UnitKind::Pair,
    UnitKind::Flips,
    UnitKind::Outcomes,
    UnitKind::Measure,
    UnitKind::Baseline,
    UnitKind::Gate,
    UnitKind::Report,
];

/// Whether units of a kind are known to give the same results by shards; of `streams` no row may
/// leave the engine.
pub(crate) fn runs_in_shards(kind: UnitKind, streams: bool) -> bool {
    KINDS_IN_SHARDS.contains(&kind) && !(streams && kind == UnitKind::ToScore)
}

/// The reasons that are found.
struct Refusals<'a> {
    checked: &'a CheckedJob,
    /// Whether an engine is to pass the rows on.
    streams: bool,
    found: Vec<JobProblem>,
}

impl Refusals<'_> {
    fn push(&mut self, keys: &[&str], why: &str, hint: &str) {
        let path = check::path(keys);
        let place = self.checked.places.at(&path).cloned();
        self.found.push(JobProblem {
            code: NOT_IN_SHARDS,
            path,
            place,
            what: format!("the job cannot be run in shards: {why}"),
            hint: Some(hint.to_owned()),
        });
    }

    fn rows(&mut self, job: &Job) {
        let data = &job.data;
        let refused = match (data.rows.source(), self.streams) {
            (Some(RowSource::Parquet(_)), false) => None,
            (Some(RowSource::Stream(_)), true) => data.row_id.is_none().then_some((
                "rows that come as streams have no row numbers that could be their ids",
                "name a column of unique ids by `data.row_id`",
            )),
            (Some(RowSource::Stream(_)), false) => Some((
                "the rows are a stream, which has no row groups to cut",
                "plan with `--stream PARTS` in place of `--shards` and `--shard-rows`",
            )),
            (_, true) => Some((
                "`data.rows` is not a stream",
                "write `data.rows: {stream: NAME}`, or plan with `--shards`",
            )),
            (_, false) => Some(("`data.rows` is not Parquet", "write the rows as Parquet first")),
        };
        if let Some((why, hint)) = refused {
            self.push(&["data", "rows"], why, hint);
        }
        if data.duplicates == DuplicateRule::DropExact {
            self.push(
                &["data", "duplicates"],
                "every row would have to be compared with every other",
                "drop duplicates where the files are written",
            );
        }
        if data.person.is_some() {
            self.push(
                &["data", "person"],
                "the rows of a person may be in several shards",
                "audit one row of each person, or run the job without `--shards`",
            );
        }
        let of_row = |split: &SplitBlock| split.column.is_some() || !split.by.is_rank();
        if data.split.as_ref().is_some_and(|split| !of_row(split)) {
            self.push(
                &["data", "split"],
                "`data.split` ranks all rows",
                "split by a column, or write `{share: ..., by: hash}`",
            );
        }
    }

    fn sets(&mut self, job: &Job) {
        for (name, set) in &job.counterfactuals {
            let keys = set.keys();
            let word = keys.first().copied().unwrap_or_default();
            let at = ["counterfactuals", name.as_str(), word];
            let knobs = set.knobs();
            let whole = set.graphs().is_some()
                || knobs.is_some_and(|knobs| knobs.matches_samples() || knobs.external().is_some());
            if whole {
                self.push(
                    &at,
                    &format!("`{word}` needs all rows together"),
                    "audit a sample of the rows for this set, in a job of its own",
                );
            }
            if knobs.is_some_and(|of| matches!(of.condition_on, ConditionOn::Prediction(_))) {
                self.push(
                    &[&at[..], &["condition_on"]].concat(),
                    "what is learnt by predictions needs the scores of the reference first",
                    "write `condition_on: none` or `condition_on: label`",
                );
            }
            if set.placebo.is_some() {
                self.push(
                    &["counterfactuals", name.as_str(), "placebo"],
                    "a placebo shuffles the groups of all rows",
                    "remove it, or ask for it in a job on a sample of the rows",
                );
            }
            if set.doubt.is_some() {
                self.push(
                    &["counterfactuals", name.as_str(), "doubt"],
                    "every fit on rows drawn again scores all rows in one process",
                    "remove it, or ask for it in a job on a sample of the rows",
                );
            }
            let mut attributes = job.data.sensitive.keys();
            let written = attributes.any(|attribute| job.data.is_written_back(attribute));
            let learns = written || knobs.is_some_and(|knobs| knobs.external().is_none());
            if job.data.reference.is_none() && learns {
                self.push(
                    &at,
                    &format!("`{word}` learns from rows of all shards"),
                    "name a file of rows to learn from by `data.reference`",
                );
            }
        }
    }

    fn models(&mut self, job: &Job) {
        for (name, model) in &job.models {
            let at = |key: &'static str| ["models", name.as_str(), key];
            for kind in model.kinds() {
                let key = kind.key();
                if kind.trained_here().is_some() {
                    self.push(
                        &at(key),
                        &format!(
                            "`models.{name}` is trained here, which takes all training rows in \
                             one process"
                        ),
                        "train it first and name its file by `lightgbm: {file: ...}` or `onnx: \
                         {model: ...}`",
                    );
                }
            }
            if model.amount().is_some() {
                self.push(
                    &at("amount"),
                    "the amounts of all people are held in one process",
                    "audit a sample of the rows for this model, in a job of its own",
                );
            }
            if model.http.is_some() {
                self.push(
                    &at("http"),
                    "every worker would ask the endpoint at the same time",
                    "name a file of scores, or a model that runs where the rows are",
                );
            }
            let given = model.given_scores();
            let of_sets = given.is_some_and(|of| of.counterfactual.is_some());
            let several = |set: &CounterfactualSet| {
                job.data.sensitive.keys().filter(|attribute| set.changes(attribute)).count() > 1
            };
            if of_sets && job.counterfactuals.values().any(several) {
                let kind = if model.gives_scores() { "scores" } else { "decision" };
                self.push(
                    &at(kind),
                    "a file of scores holds the counterfactuals of several attributes",
                    "make a set of each attribute: `flip-sex: {naive: {}, sensitive: [sex]}`",
                );
            }
            if model.threshold.is_fitted() {
                self.push(
                    &at("threshold"),
                    "a fitted threshold needs all scores together",
                    "fit it once and write the number",
                );
            }
            if model.expect.is_some() {
                self.push(
                    &at("expect"),
                    "known scores are compared in one process",
                    "compare them in a job on a sample of the rows",
                );
            }
        }
    }

    fn rest(&mut self, job: &Job) {
        let quality = job.has_fitted_sets()
            && check::defaults::families(job).contains(&MetricFamily::CfQuality);
        if quality {
            self.push(
                &["metrics", "families"],
                "the quality of counterfactuals is measured in one process",
                "list the families without `cf_quality`",
            );
        }
        for (block, is_there) in [
            ("experiments", !job.experiments.is_empty()),
            ("recourse", !job.recourse.is_empty()),
            ("why", !job.why.is_empty()),
        ] {
            if is_there {
                self.push(
                    &[block],
                    &format!("`{block}` holds all rows in memory"),
                    "audit a sample of the rows for it, in a job of its own",
                );
            }
        }
        let keeps = job.run.keeps_outcomes() != Some(false) || job.run.keeps_counterfactuals();
        if self.streams && keeps {
            self.push(
                &["run", "keep_rows"],
                "rows that are kept would leave the engine",
                "write `run: {keep_rows: none}`",
            );
        }
    }
}

/// Every reason why a job cannot be run in shards, in the order of the blocks; `streams` says
/// whether an engine is to pass the rows on.
pub(crate) fn refusals(checked: &CheckedJob, streams: bool) -> Vec<JobProblem> {
    let mut refusals = Refusals { checked, streams, found: Vec::new() };
    let job = &checked.job;
    refusals.rows(job);
    refusals.sets(job);
    refusals.models(job);
    refusals.rest(job);
    refusals.found
}
