//! The place in a job that a fault of the data is about: the line that asks for its column or file.

use crate::data::prepare::derive::Derivation;
use crate::data::sql;
use crate::error::{Error, JobProblem};
use crate::job::check::CheckedJob;
use crate::job::{self, Job, ModelBlock};
use crate::param::ColumnName;
use crate::recourse::knobs::RecourseBlock;

/// A fault of the data with the line of the job that asks for the column or file it is about.
pub(crate) fn with_place(error: Error, checked: &CheckedJob) -> Error {
    let Error::Data(fault) = &error else { return error };
    let path = match (fault.code, &fault.column) {
        ("hidden-column", Some(column)) => {
            join_path(&checked.job, column).or_else(|| derivation_path(&checked.job, column))
        }
        ("missing-scores", _) => Some("models".to_owned()),
        ("too-many-slices", _) => Some("metrics.by".to_owned()),
        ("undetermined-model", None) => Some("models".to_owned()),
        ("unknown-level", Some(column)) => {
            may_change_path(&checked.job, column).or_else(|| column_path(&checked.job, column))
        }
        ("bad-threshold", Some(column)) => {
            threshold_path(&checked.job, column).or_else(|| column_path(&checked.job, column))
        }
        (_, Some(column)) => column_path(&checked.job, column),
        ("no-rows" | "bad-sql", None) => Some("data.keep".to_owned()),
        ("no-audit-rows" | "too-many-folds" | "one-class", None) => Some("data.split".to_owned()),
        (_, None) => Some("data.rows".to_owned()),
    };
    error.asked_at(path.and_then(|p| checked.places.at(&p)).filter(|p| p.line > 0))
}

/// The problem of a job at a path of it.
pub(crate) fn job_error(
    checked: &CheckedJob,
    code: &'static str,
    path: String,
    (what, hint): (String, String),
) -> Error {
    let place = checked.places.at(&path).cloned();
    Error::Job(vec![JobProblem { code, path, place, what, hint: Some(hint) }])
}

/// The path of the side table that a column is joined from.
fn join_path(job: &Job, column: &str) -> Option<String> {
    let holds = |name: &ColumnName| name.as_str() == column;
    let (name, _) = job.data.join.iter().find(|(_, join)| join.columns.iter().any(holds))?;
    Some(job::check::path(&["data", "join", name.as_str(), "columns"]))
}

/// The path of the rule by which advice may change a column.
fn may_change_path(job: &Job, column: &str) -> Option<String> {
    let rules = |block: &RecourseBlock| block.may_change.keys().any(|name| name.as_str() == column);
    let (attribute, _) = job.recourse.iter().find(|(_, block)| rules(block))?;
    Some(job::check::path(&["recourse", attribute.as_str(), "may_change", column]))
}

/// The path of the threshold that is a column.
fn threshold_path(job: &Job, column: &str) -> Option<String> {
    let is = |model: &ModelBlock| model.threshold.column().is_some_and(|of| of.as_str() == column);
    let (name, _) = job.models.iter().find(|(_, model)| is(model))?;
    Some(job::check::path(&["models", name.as_str(), "threshold"]))
}

/// The path of a derived column.
pub(crate) fn derivation_path(job: &Job, column: &str) -> Option<String> {
    let declared = job.data.derive.keys().any(|name| name.as_str() == column);
    Some(job::check::path(&["data", if declared { "derive" } else { "sensitive" }, column]))
}

/// The path of the first part of the job that names a column of the rows.
pub(crate) fn column_path(job: &Job, column: &str) -> Option<String> {
    let data = &job.data;
    let is = |name: &ColumnName| name.as_str() == column;
    let path = |keys: &[&str]| Some(job::check::path(keys));
    if data.row_id.as_ref().is_some_and(is) {
        return path(&["data", "row_id"]);
    }
    if data.person.as_ref().is_some_and(is) {
        return path(&["data", "person"]);
    }
    if data.label.column().is_some_and(|l| is(&l.column)) {
        return path(&["data", "label", "column"]);
    }
    if data.weight.as_ref().is_some_and(is) {
        return path(&["data", "weight"]);
    }
    if let Some((name, _)) = data
        .sensitive
        .iter()
        .find(|(name, s)| is(data.column_of(name)) || s.from.as_ref().is_some_and(is))
    {
        return path(&["data", "sensitive", name.as_str()]);
    }
    let made_of = |d: &Derivation| {
        let computed = || d.sql.as_ref().and_then(|text| sql::parse(text).ok());
        d.from.iter().chain(d.cross.iter().flatten()).any(is)
            || computed().is_some_and(|tree| tree.columns.iter().any(is))
    };
    if let Some((name, _)) =
        data.derive.iter().find(|(name, derivation)| is(name) || made_of(derivation))
    {
        return path(&["data", "derive", name.as_str()]);
    }
    let features = &data.features;
    for (kind, names) in [("continuous", &features.continuous), ("nominal", &features.nominal)] {
        if let Some(i) = names.iter().position(is) {
            return path(&["data", "features", kind]).map(|p| format!("{p}[{i}]"));
        }
    }
    if let Some((name, _)) = features.onehot.iter().find(|(_, columns)| columns.iter().any(is)) {
        return path(&["data", "features", "onehot", name.as_str()]);
    }
    if features.ordinal.keys().any(is) {
        return path(&["data", "features", "ordinal", column]);
    }
    if let Some(i) = data.keep.iter().position(|step| step.columns().into_iter().any(is)) {
        return Some(format!("data.keep[{i}]"));
    }
    if data.split.as_ref().and_then(|s| s.column.as_ref()).is_some_and(is) {
        return path(&["data", "split", "column"]);
    }
    if job.strata().is_some_and(is) {
        return path(&["metrics", "clarify", "strata"]);
    }
    if let Some(i) = job.metrics.by.iter().position(is) {
        return Some(format!("metrics.by[{i}]"));
    }
    let expects = |model: &ModelBlock| model.expect.as_ref().is_some_and(|of| is(&of.column));
    if let Some((name, _)) = job.models.iter().find(|(_, model)| expects(model)) {
        return path(&["models", name.as_str(), "expect", "column"]);
    }
    let of_models = || {
        job.models.iter().find_map(|(name, model)| {
            let named = |key: &str| path(&["models", name.as_str(), key]);
            match model.decided_column() {
                Some(column) if is(column) => named("decision"),
                _ => model.scores.as_ref().and_then(|_| named("scores")),
            }
        })
    };
    threshold_path(job, column).or_else(of_models)
}
