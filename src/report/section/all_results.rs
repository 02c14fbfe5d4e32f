//! Section "All results": every share of people who would be decided otherwise, with counts and
//! intervals. The brief leads here row by row.

use crate::report::brief::harm::{self, HarmResult, ranked};
use crate::report::brief::voice::{AuditVoice, DecisionVoice, capital};
use crate::report::page::cells::{cell, level_in_words};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::table::deciding_range::{OTHER_FITS, OTHER_GRAPHS, OTHER_TRAININGS};

/// Rows on the page; the others are in the table `metrics`.
const ROWS_AT_MOST: usize = 200;

/// The section; none where no counterfactual was measured.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let voice = AuditVoice::new(&audit.manifest, audit.classes.are_there());
    let results = harm::all(audit, &voice);
    let ranked = ranked(&results);
    let shown = &ranked[..ranked.len().min(ROWS_AT_MOST)];
    if shown.is_empty() {
        return None;
    }
    let measures: Vec<_> =
        shown.iter().filter_map(|result| audit.measure(&result.key, result.metric)).collect();
    let second = harm::second_words(shown.iter().copied());
    let has = |words: &str| shown.iter().any(|result| result.second == words);
    let placebo = shown.iter().any(|result| result.placebo.is_some());
    let mut head: Vec<RichText> =
        ["Who", "Model", "Set", "Metric", "Share"].map(RichText::from).to_vec();
    let of_second = if second.is_empty() { OTHER_GRAPHS.to_owned() } else { second };
    head.push(RichText::new().text(capital(&of_second)));
    head.push("Shuffled groups".into());
    head.push("Worse off".into());
    let rows = shown.iter().map(|result| row(audit, result, glossary)).collect();
    let more = ranked.len() - shown.len();
    let some = if more > 0 {
        format!("; {more} more are in tables/metrics.parquet")
    } else {
        String::new()
    };
    let who = match voice.decision {
        DecisionVoice::Amounts { .. } => "People whose amount would change by what matters",
        _ => "People whose decision would change",
    };
    let caption = format!(
        "{who} as members of another group, most people first{}{some}",
        level_in_words(measures)
    );
    let mut blocks =
        vec![PageBlock::Table(PageTable { caption: caption.into(), head, rows, prose: false })];
    if has(OTHER_FITS) {
        blocks.push(PageBlock::Note(
            "Other rows to learn from: the range of the values of the same people where the set is \
             fitted on rows that are drawn again with replacement."
                .into(),
        ));
    }
    if has(OTHER_TRAININGS) {
        blocks.push(PageBlock::Note(
            "Other trainings of the model: the range of the values of the same people by models \
             that are trained with other seeds, or on rows that are drawn again."
                .into(),
        ));
    }
    if has(OTHER_GRAPHS) {
        blocks.push(PageBlock::Note(
            "Other graphs and refits: the interval of the values of all causal graphs, each with \
             the coefficients of its own bootstrap."
                .into(),
        ));
    }
    if placebo {
        blocks.push(PageBlock::Note(
            "Shuffled groups: the result of the same set with shuffled group names.".into(),
        ));
    }
    Some(PageSection { id: "all", title: "All results", blocks })
}

fn row(audit: &AuditFolder, result: &HarmResult, glossary: &mut PageGlossary<'_>) -> ReportRow {
    let kind = terms::kind(result.metric, "direction");
    let ends = |ends: Option<(f64, f64)>| -> RichText {
        ends.map_or_else(
            || "\u{2013}".into(),
            |(lo, hi)| format!("{}\u{202f}%", kind.interval(result.point.value, lo, hi)).into(),
        )
    };
    let worse = match &result.worse {
        Some(group) => RichText::new().name(group),
        None => "\u{2013}".into(),
    };
    ReportRow {
        id: result.anchor(),
        head: RichText::direction(&result.key.from, &result.key.to),
        cells: vec![
            RichText::new().name(&result.key.model).into(),
            RichText::new().name(&result.key.set).into(),
            glossary.head(result.metric).into(),
            cell(audit.measure(&result.key, result.metric), kind),
            ends(result.point.second).into(),
            ends(result.placebo).into(),
            worse.into(),
        ],
    }
}
