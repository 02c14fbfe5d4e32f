//! Section "Waiting": which scores are missing, what their files must hold, and what to do next.
//! Sections after it show what is already known.

use minijinja::context;

use crate::report::page::PageSection;
use crate::report::read::audit::AuditFolder;
use crate::report::read::words;
use crate::text::fact;

/// The section.
pub(crate) fn section(audit: &AuditFolder) -> PageSection {
    let facts = context! {
        m => fact(&audit.manifest), measured => audit.is_measured(), judged => !audit.gates.is_empty(),
        classes => audit.classes.are_there(), persons => words::persons(audit),
        weights => words::weights(audit),
    };
    PageSection::of_facts("waiting", "waiting.html", facts)
}
