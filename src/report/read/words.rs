//! Words for weights and for persons, as the audit has them.

use crate::report::page::number;
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;

/// So many people, or their rows where a person may have several: `122 people`, `122 rows`.
pub(crate) fn people(audit: &AuditFolder, n: i64) -> String {
    match audit.manifest.person {
        Some(_) => number::count_of(n, "row", "rows"),
        None => number::people(n),
    }
}

/// That counts are rows, of how many persons, and that the person is the unit; none where each row
/// is a person.
pub(crate) fn persons(audit: &AuditFolder) -> Option<RichText> {
    let column = audit.manifest.person.as_ref()?;
    let all = audit.groups.iter().filter(|row| row.group.is_empty() && row.slice.is_empty());
    let n = all.filter_map(|row| row.persons).max().unwrap_or(0);
    let of_rows = if audit.recourse.comparisons.is_empty() {
        "Counts are rows; they belong to "
    } else {
        "Counts, except those of recourse, are rows; they belong to "
    };
    let words = RichText::from(of_rows)
        .strong(number::count_of(n, "person", "persons"))
        .text(" (column ")
        .code(column);
    Some(words.text("). Intervals and limits take the person as their unit."))
}

/// That shares are weighted, and counts are not; none where the job has no weights.
pub(crate) fn weights(audit: &AuditFolder) -> Option<RichText> {
    let column = audit.manifest.weight.as_ref()?;
    let counts = if audit.manifest.person.is_some() {
        "; counts of rows and persons are not."
    } else {
        "; counts are people."
    };
    Some(RichText::from("Shares are weighted by ").code(column).text(counts))
}
