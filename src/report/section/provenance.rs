//! Section "Provenance": what went in, what came out, their hashes, how to run it again and how to
//! read the tables.

use minijinja::context;

use crate::folder::manifest::InputFile;
use crate::report::page::words::RichText;
use crate::report::page::{PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;

/// Input files listed.
const FILES_AT_MOST: usize = 60;

/// Characters of the resolved job shown.
const JOB_AT_MOST: usize = 120_000;

/// A query that every folder answers.
const QUERY: &str = "select model, counterfactual, from_group, to_group, metric, value, lo, hi, \
    numerator, denominator\n\
    from 'tables/metrics.parquet' where metric in ('sr', 'nsr', 'psr') and support = 'all' order \
    by value desc;";

/// The section.
pub(crate) fn section(audit: &AuditFolder) -> PageSection {
    let m = &audit.manifest;
    let job: String = audit.job.chars().take(JOB_AT_MOST).collect();
    let facts = context! {
        program => &m.program, run => &m.run, seed => m.seed.to_string(), job_hash => &m.job_hash,
        command => &m.command, stand_in => m.stand_in.is_some(), set_here => &m.sets,
        data => m.inputs.iter().any(|input| input.what == "data"), inputs => inputs(audit),
        all_inputs => m.inputs.len(), tables => tables(audit), awaited => !m.awaited.is_empty(),
        query => QUERY, is_cut => job.len() < audit.job.len(), characters => JOB_AT_MOST, job,
    };
    PageSection::of_facts(("provenance", "Provenance"), "provenance.html", facts)
}

fn inputs(audit: &AuditFolder) -> Option<PageTable> {
    let inputs = &audit.manifest.inputs;
    let row = |input: &InputFile| {
        let bytes = match input.bytes {
            0 => "not known".to_owned(),
            bytes => number::count(i64::try_from(bytes).unwrap_or(i64::MAX)),
        };
        let mark = RichText::new().code(input.etag.as_ref().unwrap_or(&input.sha256));
        let cells = [RichText::from(input.what.as_str()), bytes.into(), mark];
        ReportRow::new(RichText::new().quote(&input.path), cells)
    };
    let has_tags = inputs.iter().any(|input| input.etag.is_some());
    let mark = if has_tags { "SHA-256, of objects the ETag" } else { "SHA-256" };
    let rows = inputs.iter().take(FILES_AT_MOST).map(row);
    PageTable::of_words(["File", "What", "Bytes", mark], rows).filled()
}

fn tables(audit: &AuditFolder) -> Option<PageTable> {
    let m = &audit.manifest;
    // The page must not depend on files that are written after it, first of all not on itself.
    let row = |(path, hash): (&String, &String)| {
        let table = path.strip_prefix("tables/")?.strip_suffix(".parquet")?;
        let version = m.tables.get(table).map_or_else(|| "not stated".to_owned(), u32::to_string);
        let cells = [version.into(), RichText::new().code(hash)];
        Some(ReportRow::new(RichText::new().code(table), cells))
    };
    PageTable::of_words(["Table", "Version", "SHA-256"], m.files.iter().filter_map(row)).filled()
}
