//! The place in a job that a fault of the data is about: the line that asks for its column or file.

use std::fmt::Display;

use crate::data::prepare::derive::Derivation;
use crate::data::sql;
use crate::error::{Error, JobProblem};
use crate::job::check::CheckedJob;
use crate::job::read::tree::join;
use crate::job::{self, Job, ModelBlock};
use crate::param::ColumnName;

/// A fault of the data with the line of the job that asks for the column or file it is about.
pub(crate) fn with_place(error: Error, checked: &CheckedJob) -> Error {
    let Error::Data(fault) = &error else { return error };
    let job = &checked.job;
    let path = match (fault.code, &fault.column) {
        ("hidden-column", Some(column)) => {
            join_path(job, column).or_else(|| Some(derivation_path(job, column)))
        }
        ("missing-scores", _) => Some("models".to_owned()),
        ("too-many-slices", _) => Some("metrics.by".to_owned()),
        ("undetermined-model", None) => Some("models".to_owned()),
        ("unknown-level", Some(column)) => {
            may_change_path(job, column).or_else(|| column_path(job, column))
        }
        ("bad-threshold", Some(column)) => {
            threshold_path(job, column).or_else(|| column_path(job, column))
        }
        (_, Some(column)) => column_path(job, column),
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

/// The path of the first entry of a map of the job that has to do with a column.
fn entry<K: Display, V>(
    at: &str,
    mut map: impl Iterator<Item = (K, V)>,
    is_about: impl Fn(&K, &V) -> bool,
) -> Option<String> {
    map.find(|(key, value)| is_about(key, value)).map(|(key, _)| join(at, &key.to_string()))
}

/// The path of the side table that a column is joined from.
fn join_path(job: &Job, column: &str) -> Option<String> {
    let is = |name: &ColumnName| name.as_str() == column;
    let table = entry("data.join", job.data.join.iter(), |_, join| join.columns.iter().any(is));
    Some(table? + ".columns")
}

/// The path of the rule by which advice may change a column.
fn may_change_path(job: &Job, column: &str) -> Option<String> {
    let is = |name: &ColumnName| name.as_str() == column;
    let block = entry("recourse", job.recourse.iter(), |_, block| block.may_change.keys().any(is));
    Some(join(&(block? + ".may_change"), column))
}

/// The path of the threshold that is a column.
fn threshold_path(job: &Job, column: &str) -> Option<String> {
    let is = |name: &ColumnName| name.as_str() == column;
    let is_threshold = |_: &_, model: &&ModelBlock| model.threshold.column().is_some_and(is);
    Some(entry("models", job.models.iter(), is_threshold)? + ".threshold")
}

/// The path of a derived column.
fn derivation_path(job: &Job, column: &str) -> String {
    let declared = job.data.derive.keys().any(|name| name.as_str() == column);
    join(if declared { "data.derive" } else { "data.sensitive" }, column)
}

/// The path of the first part of the job that names a column of the rows.
fn column_path(job: &Job, column: &str) -> Option<String> {
    let (data, features) = (&job.data, &job.data.features);
    let is = |name: &ColumnName| name.as_str() == column;
    let role = |at: &str, named: Option<&ColumnName>| {
        named.filter(|named| is(named)).map(|_| at.to_owned())
    };
    let listed = |at: &str, place: Option<usize>| place.map(|place| format!("{at}[{place}]"));
    let made_of = |rule: &Derivation| {
        let computed = || rule.sql.as_ref().and_then(|text| sql::parse(text).ok());
        rule.from.iter().chain(rule.cross.iter().flatten()).any(is)
            || computed().is_some_and(|tree| tree.columns.iter().any(is))
    };
    let expects = |model: &ModelBlock| model.expect.as_ref().is_some_and(|of| is(&of.column));
    let expected = entry("models", job.models.iter(), |_, model| expects(model));
    let of_model = job.models.iter().find_map(|(name, model)| {
        let decides = model.decided_column().is_some_and(is);
        let key = if decides { Some("decision") } else { model.scores.as_ref().map(|_| "scores") };
        Some(job::check::path(&["models", name.as_str(), key?]))
    });
    let all = [
        role("data.row_id", data.row_id.as_ref()),
        role("data.person", data.person.as_ref()),
        role("data.label.column", data.label.column().map(|label| &label.column)),
        role("data.weight", data.weight.as_ref()),
        entry("data.sensitive", data.sensitive.iter(), |name, attribute| {
            is(data.column_of(name)) || attribute.from.as_ref().is_some_and(is)
        }),
        entry("data.derive", data.derive.iter(), |name, rule| is(name) || made_of(rule)),
        listed("data.features.continuous", features.continuous.iter().position(is)),
        listed("data.features.nominal", features.nominal.iter().position(is)),
        entry("data.features.onehot", features.onehot.iter(), |_, group| group.iter().any(is)),
        entry("data.features.ordinal", features.ordinal.iter(), |name, _| is(name)),
        listed("data.keep", data.keep.iter().position(|step| step.columns().into_iter().any(is))),
        role("data.split.column", data.split.as_ref().and_then(|split| split.column.as_ref())),
        role("metrics.clarify.strata", job.strata()),
        listed("metrics.by", job.metrics.by.iter().position(is)),
        expected.map(|model| model + ".expect.column"),
        threshold_path(job, column),
        of_model,
    ];
    all.into_iter().flatten().next()
}
