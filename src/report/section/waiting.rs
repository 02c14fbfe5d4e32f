//! Section "Waiting": which scores are not there yet, what their files must hold, and what to do
//! next. Sections after it show what is known already.

use crate::folder::manifest::AwaitedScores;
use crate::report::draw::chart;
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::words;
use crate::report::section::method::audited;

/// The section.
pub(crate) fn section(audit: &AuditFolder) -> PageSection {
    let m = &audit.manifest;
    let files = if m.awaited.len() == 1 {
        "1 file of scores is".to_owned()
    } else {
        format!("{} files of scores are", m.awaited.len())
    };
    let mut blocks = vec![
        PageBlock::Verdict {
            class: "done",
            drawing: chart::verdict("done", "done"),
            word: "Waiting for scores",
            sentence: format!("{files} missing. {}", so_far(audit)).into(),
        },
        PageBlock::Table(files_table(&m.awaited)),
        PageBlock::Text(
            RichText::from(
                "Score the rows with the model, write the scores to the file, and run the same \
                 command again, with the ",
            )
            .code("--out")
            .text(
                " of the first call, if it had one. It continues from here and replaces this \
                 folder.",
            ),
        ),
        PageBlock::Code("Command", m.command.clone()),
        PageBlock::Findings(rules(audit)),
    ];
    let scored: Vec<&str> = m
        .models
        .iter()
        .map(|model| model.name.as_str())
        .filter(|name| m.awaited.iter().all(|a| a.model != *name))
        .collect();
    if !scored.is_empty() {
        let words = RichText::from(
            "These models need no file; they are compared with the others when all scores have \
             arrived: ",
        );
        let words = scored.iter().enumerate().fold(words, |words, (i, name)| {
            if i > 0 { words.text(", ") } else { words }.name(*name)
        });
        blocks.push(PageBlock::Text(words.text(".")));
    }
    let mut facts = audited(audit);
    facts.extend(words::persons(audit).map(|words| ("Persons".into(), words)));
    facts.extend(words::weights(audit).map(|words| ("Weights".into(), words)));
    blocks.push(PageBlock::Facts(facts));
    PageSection { id: "waiting", title: "Waiting", blocks }
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
    let rows = awaited
        .iter()
        .map(|a| {
            let of = if a.counterfactual.is_empty() {
                RichText::from("the rows as they are")
            } else {
                RichText::from("counterfactual set ").name(&a.counterfactual)
            };
            let columns = a.columns.iter().enumerate().fold(RichText::new(), |words, (i, c)| {
                if i > 0 { words.text(", ") } else { words }.code(c)
            });
            let mut rows = crate::report::page::PageCell::from(number::count(
                i64::try_from(a.rows).unwrap_or(i64::MAX),
            ));
            if a.again > 0 {
                rows.small.push(
                    format!(
                        "{} of them unchanged, to compare",
                        number::count(i64::try_from(a.again).unwrap_or(i64::MAX))
                    )
                    .into(),
                );
            }
            ReportRow {
                id: String::new(),
                head: RichText::new().quote(&a.path),
                cells: vec![
                    RichText::new().name(&a.model).into(),
                    of.into(),
                    rows,
                    RichText::new().code(&a.to_score).into(),
                    columns.into(),
                ],
            }
        })
        .collect();
    let is_here = |a: &AwaitedScores| a.to_score.starts_with("to-score/");
    let head = [
        "File awaited",
        "Model",
        "Scores of",
        "Rows to score",
        if awaited.iter().all(is_here) {
            "Where they are, in this folder"
        } else {
            "Where they are"
        },
        "Columns of the file",
    ];
    PageTable {
        caption: "Missing score files".into(),
        head: head.map(RichText::from).to_vec(),
        rows,
        prose: true,
        ..PageTable::default()
    }
}

fn rules(audit: &AuditFolder) -> Vec<RichText> {
    let awaited = &audit.manifest.awaited;
    let mut rules: Vec<RichText> =
        vec![
        "The file is a Parquet file. It has one line for every row to score, with the same \
         key and no duplicate keys, in any order."
            .into(),
        format!(
            "A score is the probability of {}, from 0 to 1. A row that cannot be scored keeps its \
             line, with a null score.",
            if audit.classes.are_there() { "the class that its column is for" } else { "the \
                positive class" }
        )
        .into(),
        "The rows to score start with the key columns; the others are the sensitive columns \
         and the features of the job, under the names and with the types of the source."
            .into(),
        RichText::from("Copy the column ").code("request").text(
            " unchanged: it identifies the rows that were scored. Scores of other rows are then \
             refused; without it only the keys link the scores to the rows, and the page of the \
             audit says so.",
        ),
        "Write the file elsewhere on the same disk and rename it when it is complete. A file that \
         cannot be read is treated as incomplete until it is 15 minutes old; then it is an error."
            .into(),
    ];
    if awaited.iter().any(|a| a.again > 0) {
        let equal = RichText::from("Lines whose ").code("from_group").text(" equals ");
        rules.push(equal.code("to_group").text(
            " are rows as they are. Their scores are compared with the factual ones, to detect \
             another version of the model; score them like the others.",
        ));
    }
    rules
}
