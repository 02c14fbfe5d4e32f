//! Section "Waiting": which scores are not there yet, what their files must hold, and what to do
//! next. Sections after it show what is known already.

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::AwaitedScores;
use crate::report::draw::chart;
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::words;
use crate::report::section::method::audited;

/// The section.
pub(crate) fn section(audit: &AuditFolder) -> PageSection {
    let m = &audit.manifest;
    let names = m.models.iter().map(|model| model.name.as_str());
    let scored = names.filter(|name| m.awaited.iter().all(|a| a.model != *name));
    let facts = context! {
        drawing => chart::verdict("done", "done"), awaited => m.awaited.len(), so_far =>
        so_far(audit), files => files_table(&m.awaited), command => &m.command, classes =>
        audit.classes.are_there(), again => m.awaited.iter().any(|a| a.again > 0), scored =>
        scored.collect::<Value>(), audited => audited(audit), persons => words::persons(audit),
        weights => words::weights(audit),
    };
    PageSection::of_facts(("waiting", "Waiting"), "waiting.html", facts)
}

/// What the scores that are there gave.
pub(crate) fn so_far(audit: &AuditFolder) -> &'static str {
    match (audit.is_measured(), audit.gates.is_empty()) {
        (false, _) => "Nothing was measured, and no gate was judged.",
        (true, true) => "What the other scores allow was measured.",
        (true, false) => {
            "What the other scores allow was measured and judged; gates that need the missing \
             scores are inconclusive."
        }
    }
}

fn files_table(awaited: &[AwaitedScores]) -> PageTable {
    let count = |n: u64| number::count(i64::try_from(n).unwrap_or(i64::MAX));
    let row = |a: &AwaitedScores| {
        let of = if a.counterfactual.is_empty() {
            RichText::from("the rows as they are")
        } else {
            RichText::from("counterfactual set ").name(&a.counterfactual)
        };
        let columns = a.columns.iter().enumerate().fold(RichText::new(), |words, (i, c)| {
            if i > 0 { words.text(", ") } else { words }.code(c)
        });
        let again =
            (a.again > 0).then(|| format!("{} of them unchanged, to compare", count(a.again)));
        let cells = [
            PageCell::name(&a.model),
            of.into(),
            PageCell::new(count(a.rows), again),
            RichText::new().code(&a.to_score).into(),
            columns.into(),
        ];
        ReportRow::new(RichText::new().quote(&a.path), cells)
    };
    let is_here = awaited.iter().all(|a| a.to_score.starts_with("to-score/"));
    let place = if is_here { "Where they are, in this folder" } else { "Where they are" };
    let head =
        ["File awaited", "Model", "Scores of", "Rows to score", place, "Columns of the file"];
    PageTable::of_words(head, awaited.iter().map(row))
}
