//! Section "All results": every share of people who would be decided otherwise, with counts and
//! intervals. The brief leads here row by row.

use minijinja::context;

use crate::report::brief::harm::{self, HarmResult, ranked};
use crate::report::brief::voice::{AuditVoice, DecisionVoice};
use crate::report::page::cells::cell;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::{RichText, capital};
use crate::report::page::{PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::section::models::place_of;
use crate::table::deciding_range::DecidingRange;

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
    let second = harm::seconds(shown.iter().copied()).join(", or ");
    let has = |range: DecidingRange| shown.iter().any(|result| result.second == Some(range));
    let second = if second.is_empty() { DecidingRange::GRAPHS.other } else { &second };
    let head = ["who", "model", "set", "metric", "share"].map(RichText::from).into_iter();
    let head = head.chain([capital(second).into()]);
    let head = head.chain(["shuffled_groups", "worse_off"].map(RichText::from));
    let rows = shown.iter().map(|result| row(audit, result, glossary));
    let table = PageTable::new(head, rows);
    let facts = context! {
        amounts => matches!(voice.decision(), DecisionVoice::Amounts { .. }),
        more => ranked.len() - shown.len(), table, fits => has(DecidingRange::FITS),
        trainings => has(DecidingRange::TRAININGS), graphs => has(DecidingRange::GRAPHS),
        placebo => shown.iter().any(|result| result.placebo.is_some()),
    };
    Some(PageSection::of_facts("all", "all_results.html", facts))
}

fn row(audit: &AuditFolder, result: &HarmResult, glossary: &mut PageGlossary<'_>) -> ReportRow {
    let kind = terms::kind(result.metric, "direction");
    let ends = |ends: Option<(f64, f64)>| {
        let told = |(lo, hi)| format!("{}\u{202f}%", kind.interval(result.point.value, lo, hi));
        ends.map_or_else(PageCell::none, |ends| told(ends).into())
    };
    let cells = [
        PageCell::name(&result.key.model),
        PageCell::name(&result.key.set),
        glossary.head(result.metric).into(),
        cell(audit.measure(&result.key, result.metric), kind),
        ends(result.point.second),
        ends(result.placebo),
        PageCell::name(result.worse.as_ref().map_or("", |group| &group.name)),
    ];
    ReportRow { id: result.anchor(), ..ReportRow::new(place_of(&result.key), cells) }
}
