//! Section "Provenance": what went in, what came out, their hashes, how to run it again and how to
//! read the tables.

use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection, PageTable, ReportRow, number};
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
    let facts: Vec<(RichText, RichText)> = vec![
        ("Program".into(), RichText::new().text("cfaudit ").text(&m.program)),
        ("Run".into(), RichText::new().code(&m.run)),
        ("Seed".into(), RichText::new().code(m.seed.to_string())),
        ("SHA-256 of the resolved job".into(), RichText::new().code(&m.job_hash)),
    ];
    let mut blocks = vec![
        PageBlock::Facts(facts),
        PageBlock::Text("The command that reproduces these bytes:".into()),
        PageBlock::Code("Command", m.command.clone()),
    ];
    if m.inputs.iter().any(|input| input.what == "data") {
        blocks.push(PageBlock::Note(where_data_are(m.stand_in.is_some())));
    }
    if !m.sets.is_empty() {
        let sets = m
            .sets
            .iter()
            .enumerate()
            .fold(RichText::from("Set on the command line: "), |words, (i, set)| {
                if i > 0 { words.text(", ") } else { words }.code(set)
            });
        blocks.push(PageBlock::Text(sets));
    }
    blocks.extend(inputs(audit));
    blocks.extend(tables(audit));
    if m.awaited.is_empty() {
        blocks.push(PageBlock::Text("To read the tables, in this folder, with DuckDB:".into()));
        blocks.push(PageBlock::Code("Query", QUERY.to_owned()));
    }
    blocks.push(PageBlock::Fold("The job as it was run", job(&audit.job)));
    PageSection { id: "provenance", title: "Provenance", blocks }
}

/// What the command does not say, so that no path of one machine is on the page.
fn where_data_are(stand_in: bool) -> RichText {
    let words = RichText::from(
        "It does so if it finds the same inputs, those with the hashes below. The files \
         of a catalog data set are read from the data folder, each set in its own subfolder: \
         name that folder by ",
    )
    .code("--data-dir")
    .text(" or ")
    .code("CFAUDIT_DATA")
    .text(" if it is not ")
    .code("data")
    .text(", as it may have been here. Other files are read from the paths in the job.");
    words.text(if stand_in {
        " In this run there were no files of the catalog, and generated rows replaced them."
    } else {
        " If no files of the catalog are available, generated rows replace them, and the page \
         says so at the top."
    })
}

fn inputs(audit: &AuditFolder) -> Option<PageBlock> {
    let inputs = &audit.manifest.inputs;
    let rows: Vec<ReportRow> = inputs
        .iter()
        .take(FILES_AT_MOST)
        .map(|input| {
            let cells = [
                RichText::from(input.what.as_str()),
                match input.bytes {
                    0 => "not known".into(),
                    bytes => number::count(i64::try_from(bytes).unwrap_or(i64::MAX)).into(),
                },
                RichText::new().code(input.etag.as_ref().unwrap_or(&input.sha256)),
            ];
            ReportRow {
                id: String::new(),
                head: RichText::new().quote(&input.path),
                cells: cells.map(Into::into).into(),
            }
        })
        .collect();
    let caption = if rows.len() < inputs.len() {
        format!("Inputs: the first {} of {}; all are in manifest.json", rows.len(), inputs.len())
    } else {
        "Inputs".to_owned()
    };
    let mark = if inputs.iter().any(|input| input.etag.is_some()) {
        "SHA-256, of objects the ETag"
    } else {
        "SHA-256"
    };
    let head = ["File", "What", "Bytes", mark].map(RichText::from).to_vec();
    (!rows.is_empty()).then(|| {
        PageBlock::Table(PageTable {
            caption: caption.into(),
            head,
            rows,
            prose: true,
            ..PageTable::default()
        })
    })
}

fn tables(audit: &AuditFolder) -> Option<PageBlock> {
    let m = &audit.manifest;
    let rows: Vec<ReportRow> = m
        .files
        .iter()
        // The page must not depend on files that are written after it, first of all not on itself.
        .filter_map(|(path, hash)| {
            Some((path.strip_prefix("tables/")?.strip_suffix(".parquet")?, hash))
        })
        .map(|(table, hash)| {
            let version =
                m.tables.get(table).map_or_else(|| "not stated".to_owned(), u32::to_string);
            ReportRow {
                id: String::new(),
                head: RichText::new().code(table),
                cells: vec![version.into(), RichText::new().code(hash).into()],
            }
        })
        .collect();
    let head = ["Table", "Version", "SHA-256"].map(RichText::from).to_vec();
    (!rows.is_empty()).then(|| {
        PageBlock::Table(PageTable {
            caption: "Tables of this folder".into(),
            head,
            rows,
            prose: true,
            ..PageTable::default()
        })
    })
}

fn job(text: &str) -> Vec<PageBlock> {
    let shown: String = text.chars().take(JOB_AT_MOST).collect();
    let mut blocks = Vec::new();
    if shown.len() < text.len() {
        blocks.push(PageBlock::Note(
            format!(
                "The first {JOB_AT_MOST} characters; the complete job is in job.resolved.yaml."
            )
            .into(),
        ));
    }
    blocks.push(PageBlock::Code("The job as it was run", shown));
    blocks
}
