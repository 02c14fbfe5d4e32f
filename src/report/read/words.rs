//! Notes on counts and shares of persons and of weights. The sentences are in `words.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::number;
use crate::report::read::audit::AuditFolder;

/// A number of people, or of their rows where a person may have several: `122 people`, `122 rows`.
pub(crate) fn people(audit: &AuditFolder, n: i64) -> String {
    match audit.manifest.person {
        Some(_) => number::count_of(n, "row", "rows"),
        None => number::people(n),
    }
}

/// The note that counts are rows, of how many persons, and that the person is the unit; none where
/// each row is a person.
pub(crate) fn persons(audit: &AuditFolder) -> Option<Value> {
    let column = audit.manifest.person.as_ref()?;
    let all = audit.groups.iter().filter(|row| row.group.is_empty() && row.slice.is_empty());
    let n = all.filter_map(|row| row.persons).max().unwrap_or(0);
    Some(context!(column, n, recourse => !audit.recourse.comparisons.is_empty()))
}

/// The note that shares are weighted, and counts are not; none where the job has no weights.
pub(crate) fn weights(audit: &AuditFolder) -> Option<Value> {
    let column = audit.manifest.weight.as_ref()?;
    Some(context!(column, persons => audit.manifest.person.is_some()))
}
