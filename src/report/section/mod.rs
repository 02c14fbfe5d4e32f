//! The sections of the annex, one file or folder each, and the list of them in the order of the
//! page.

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

/// The sections of an audit, in the order of the page; those with nothing to show are absent. Of an
/// audit that waits for scores they hold what is known of the rows as they are.
pub(crate) fn sections(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Vec<PageSection> {
    if !audit.manifest.awaited.is_empty() {
        let decides = audit.manifest.amounts().is_none();
        let known = [
            gates::section(audit, glossary),
            amounts::section(audit, glossary),
            decides.then(|| groups::section(audit, glossary)).flatten(),
            slices::section(audit, glossary),
            models::section(audit, glossary),
        ];
        let method = audit.is_measured().then(|| method::section(audit, glossary));
        let mut sections = vec![waiting::section(audit)];
        sections.extend(known.into_iter().flatten().filter(|_| audit.is_measured()));
        sections.push(left_out::section(audit, glossary));
        sections.extend(method);
        sections.push(provenance::section(audit));
        return sections;
    }
    // Of amounts nobody is decided about: no prediction switches, and no share is predicted, unless
    // the job says above which number they count as positive.
    let decides = audit.manifest.amounts().is_none();
    let counted = decides || !audit.groups.is_empty();
    let panels = if decides { audit.panels() } else { Vec::new() };
    let sections = [
        gates::section(audit, glossary),
        all_results::section(audit, glossary),
        audit.manifest.baseline.as_ref().map(|baseline| {
            against::section(baseline, &audit.changes, audit.rows_shown(), glossary)
        }),
        amounts::section(audit, glossary),
        switches::section(audit, &panels, glossary),
        shift::section(audit, &panels, glossary),
        graphs::section(audit, glossary),
        hidden_cause::section(audit, glossary),
        plausibility::section(audit, glossary),
        counted.then(|| groups::section(audit, glossary)).flatten(),
        slices::section(audit, glossary),
        models::section(audit, glossary),
        recourse::section(audit),
        experiments::section(audit, glossary),
        Some(left_out::section(audit, glossary)),
        Some(method::section(audit, glossary)),
        Some(provenance::section(audit)),
    ];
    sections.into_iter().flatten().collect()
}
