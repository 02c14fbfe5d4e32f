//! Checks addresses of object stores, such as `s3://BUCKET/KEY`, wherever a job names a file.

use crate::job::messages as m;
use std::path::Path;

use crate::counterfactual::engine::{ExternalSource, FittedKnobs};
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::exec::object;
use crate::job::{ParquetRows, RowSource};

use super::{JobChecker, path};

impl JobChecker<'_> {
    /// Every file that the job names.
    pub(super) fn addresses(&mut self) {
        let job = self.job;
        match job.data.rows.source() {
            Some(RowSource::Parquet(ParquetRows::Pattern(file))) => {
                self.address(&["data", "rows", "parquet"], file, true);
            }
            Some(RowSource::Parquet(ParquetRows::List(list))) => {
                self.address(&["data", "rows", "parquet", "files"], &list.files, false);
            }
            Some(RowSource::Csv(csv)) => {
                self.address(&["data", "rows", "csv", "path"], &csv.path, false);
            }
            _ => {}
        }
        for (name, join) in &job.data.join {
            let at = ["data", "join", name.as_str()];
            if let Some(file) = &join.parquet {
                self.address(&[&at[..], &["parquet"]].concat(), file, true);
            }
            if let Some(csv) = &join.csv {
                self.address(&[&at[..], &["csv", "path"]].concat(), &csv.path, false);
            }
        }
        if let Some(reference) = &job.data.reference {
            self.address(&["data", "reference", "parquet"], &reference.parquet, true);
        }
        for (name, set) in &job.counterfactuals {
            if let Some(ExternalSource::File(file)) = set.knobs().and_then(FittedKnobs::external) {
                let at = ["counterfactuals", name.as_str(), "external", "parquet"];
                self.address(&at, file, false);
            }
        }
        for (name, set) in &job.counterfactuals {
            if let Some(file) = set.graphs().and_then(GraphUncertainBlock::bag) {
                let at = ["counterfactuals", name.as_str(), GraphUncertainBlock::WORD];
                self.address(&[&at[..], &["discovery", "bag"]].concat(), file, false);
            }
        }
        for (name, model) in &job.models {
            let at = |keys: &[&'static str]| [&["models", name.as_str()][..], keys].concat();
            let kind = if model.scores.is_some() { "scores" } else { "decision" };
            if let Some(scores) = model.made_elsewhere() {
                if let Some(file) = &scores.factual.parquet {
                    self.address(&at(&[kind, "factual", "parquet"]), file, true);
                }
                if let Some(scores) = &scores.counterfactual {
                    let file = scores.parquet.replace("{counterfactual}", "set");
                    self.address(&at(&[kind, "counterfactual", "parquet"]), &file, true);
                }
            }
            if let Some(onnx) = &model.onnx {
                self.address(&at(&["onnx", "model"]), &onnx.model, false);
            }
            if let Some(lightgbm) = &model.lightgbm {
                self.address(&at(&["lightgbm", "file"]), &lightgbm.file, false);
            }
        }
        if let Some(folder) = &job.run.to_score {
            self.address(&["run", "to_score"], folder, true);
            self.asks_for_scores("run.to_score");
        }
    }

    /// A place for rows to score is used by models whose scores come in files alone.
    fn asks_for_scores(&mut self, at: &str) {
        let mut scores = self.job.models.values().filter_map(|model| model.made_elsewhere());
        let waits = scores.any(|of| of.factual.parquet.is_some() || of.counterfactual.is_some());
        if self.is_sound(&["models", "run"]) && !waits {
            self.say(at, m::handed_out_without_scores());
        }
    }

    /// One file; `is_read` says whether it may be an object.
    fn address(&mut self, keys: &[&str], file: &str, is_read: bool) {
        let at = path(keys);
        if !object::is_address(file) || self.has_problem(&[&at]) {
            return;
        }
        if let Some(problem) = object::problem_of(Path::new(file)) {
            self.say(at, m::bad_address(problem.what, problem.hint));
        } else if !is_read {
            self.say(&at, m::address_not_offered(&at));
        } else if !cfg!(feature = "cloud") {
            self.say(at, m::object_store_not_built(object::REBUILD));
        }
    }
}
