//! The sections of the annex, one file or folder each, and the list of them in the order of the
//! annex. The order of the brief is in `brief/mod.rs`, that of the evidence in `evidence/mod.rs`.

pub(crate) mod against;
pub(crate) mod all_results;
pub(crate) mod amounts;
pub(crate) mod classes;
pub(crate) mod experiments;
pub(crate) mod gates;
pub(crate) mod graphs;
pub(crate) mod groups;
pub(crate) mod hidden_cause;
pub(crate) mod left_out;
pub(crate) mod method;
pub(crate) mod models;
pub(crate) mod plausibility;
pub(crate) mod provenance;
pub(crate) mod recourse;
pub(crate) mod shift;
pub(crate) mod slices;
pub(crate) mod switches;
pub(crate) mod waiting;

use crate::metric::catalog::place::PageList;
use crate::report::page::PageSection;
use crate::report::page::terms::PageGlossary;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;

/// The metrics of a list of which any of these keys has a value.
fn present(audit: &AuditFolder, list: PageList, keys: &[ResultKey]) -> Vec<&'static str> {
    let is_there = |m: &&str| keys.iter().any(|key| audit.measure(key, m).is_some());
    list.ids().iter().copied().filter(is_there).collect()
}

/// The sections of an audit, in the order of the annex; those with nothing to show are absent. For
/// an audit that waits for scores they hold what is known about the rows as they are.
pub(crate) fn sections(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Vec<PageSection> {
    let waits = !audit.manifest.awaited.is_empty();
    let (full, known) = (!waits, !waits || audit.is_measured());
    // With amounts there are no decisions: no prediction switches, and no share is predicted,
    // unless the job says above which number they count as positive.
    let decides = audit.manifest.amounts().is_none();
    let counted = known && (decides || full && !audit.groups.is_empty());
    let panels = if full && decides { audit.panels() } else { Vec::new() };
    let baseline = audit.manifest.baseline.as_ref().filter(|_| full);
    let sections = [
        waits.then(|| waiting::section(audit)),
        known.then(|| gates::section(audit, glossary)).flatten(),
        full.then(|| all_results::section(audit, glossary)).flatten(),
        baseline.map(|of| {
            against::section(
                of,
                audit.manifest.person.is_some(),
                &audit.changes,
                audit.rows_shown(),
                glossary,
            )
        }),
        known.then(|| amounts::section(audit, glossary)).flatten(),
        full.then(|| switches::section(audit, &panels, glossary)).flatten(),
        full.then(|| shift::section(audit, &panels, glossary)).flatten(),
        full.then(|| graphs::section(audit, glossary)).flatten(),
        full.then(|| hidden_cause::section(audit, glossary)).flatten(),
        full.then(|| plausibility::section(audit, glossary)).flatten(),
        counted.then(|| groups::section(audit, glossary)).flatten(),
        known.then(|| slices::section(audit, glossary)).flatten(),
        known.then(|| models::section(audit, glossary)).flatten(),
        full.then(|| recourse::section(audit)).flatten(),
        full.then(|| experiments::section(audit, glossary)).flatten(),
        Some(left_out::section(audit, glossary)),
        known.then(|| method::section(audit, glossary)),
        Some(provenance::section(audit)),
    ];
    sections.into_iter().flatten().collect()
}
