//! Section "Provenance": what went in, what came out, their hashes, how to run it again and how to
//! read the tables.

use minijinja::context;

use crate::report::page::PageSection;
use crate::report::read::audit::AuditFolder;
use crate::text::fact;

/// Input files listed.
const FILES_AT_MOST: usize = 60;

/// Characters of the resolved job shown.
const JOB_AT_MOST: usize = 120_000;

/// The section.
pub(crate) fn section(audit: &AuditFolder) -> PageSection {
    let job: String = audit.job.chars().take(JOB_AT_MOST).collect();
    let facts = context! {
        m => fact(&audit.manifest), files_at_most => FILES_AT_MOST,
        is_cut => job.len() < audit.job.len(), characters => JOB_AT_MOST, job,
    };
    PageSection::of_facts("provenance", "provenance.html", facts)
}
