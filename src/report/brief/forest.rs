//! All results of the brief as one table: who would be decided otherwise, in blocks by question,
//! the worst block first.

use std::collections::BTreeSet;

use crate::report::brief::digits::{counts_text, ends_text, value_text};
use crate::report::brief::harm::{HarmResult, ranked, second_words};
use crate::report::brief::limits::{self, AuditLimit};
use crate::report::brief::voice::{AuditVoice, capital};
use crate::report::draw::plot::{AxisUnit, KeyShape, PlotScale, SwitchSide, axis, forest_row};
use crate::report::page::PageBlock;
use crate::report::page::number::{self, NumberFormat, count};
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::words::{RichText, short};
use crate::report::read::audit::AuditFolder;
use crate::report::read::quality::QualityKey;
use crate::report::section::graphs;
use crate::report::section::graphs::values::ValueKnobs;
use crate::table::deciding_range::short_of;

/// Rows on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 24;

/// The height that the second printed page has for them, in rows, that of a heading, and that of
/// the second line of a label beyond so many letters.
const ROOM: f64 = 30.5;
const HEADING: f64 = 1.6;
const SECOND_LINE: f64 = 0.75;
const LETTERS_OF_A_LINE: usize = 30;

/// Results without a switch that the last line names.
const NOBODY_AT_MOST: usize = 2;

/// Results that say who is worse off, by name in the heading of their block; of more their number.
const LABELS_AT_MOST: usize = 2;

/// The block that a result is in: who, in which group, as which group.
fn block(result: &HarmResult) -> (String, SwitchSide, String, String) {
    let key = &result.key;
    (key.attribute.clone(), result.side, key.from.clone(), key.to.clone())
}

/// Who is worse off in a block: named where the tables name the same group in every row, or in
/// some.
fn worse(voice: &AuditVoice<'_>, attribute: &str, rows: &[&HarmResult]) -> String {
    let named: BTreeSet<&str> = rows.iter().filter_map(|row| row.worse.as_deref()).collect();
    let clear = rows.iter().filter(|row| row.worse.is_some()).count();
    let mut named = named.into_iter();
    match (named.next(), named.next()) {
        (Some(group), None) => {
            let worse = voice.worse_off(attribute, group);
            if clear == rows.len() {
                worse
            } else if clear <= LABELS_AT_MOST {
                let labels = rows.iter().filter(|row| row.worse.is_some());
                let labels: Vec<String> = labels.map(|row| label(row, voice)).collect();
                format!("{worse} in {clear} of {} results ({})", rows.len(), labels.join("; "))
            } else {
                format!("{worse} in {clear} of {} results", rows.len())
            }
        }
        // A change of class is neither better nor worse by itself.
        _ if rows.iter().any(|row| matches!(row.side, SwitchSide::Either)) => {
            "these counts do not tell who is worse off".to_owned()
        }
        _ => "nobody is clearly worse off".to_owned(),
    }
}

/// The model and the set of a row.
fn label(result: &HarmResult, voice: &AuditVoice<'_>) -> String {
    format!("{}, {}", short(&result.key.model), voice.set_label(&result.key.set))
}

fn row(
    result: &HarmResult,
    voice: &AuditVoice<'_>,
    scale: PlotScale,
    limits: &[AuditLimit],
    href: &dyn Fn(&str) -> String,
) -> PlotLine {
    let label = label(result, voice);
    let kind = NumberFormat::Share;
    let value = value_text(kind, result.point.value, result.point.interval);
    let ends = result.point.interval.map_or_else(String::new, |ends| ends_text(kind, ends));
    // A range that is drawn below the interval is printed, too: it may be far wider.
    let below = result.point.second.map_or_else(String::new, |second| {
        format!("{} {}", short_of(result.second), ends_text(kind, second))
    });
    let second = result
        .point
        .second
        .map_or_else(String::new, |ends| format!("; {} {}", result.second, ends_text(kind, ends)));
    let title = format!("{label}: {value}, interval {ends}{second}");
    PlotLine::Row(Box::new(PlotRow {
        people: counts_text(result.counts, result.point.value, result.whole).into(),
        drawing: forest_row(
            scale,
            result.point,
            result.side,
            result.placebo,
            limits::of_result(limits, result).map(|limit| limit.limit),
            &title,
        ),
        label: RichText::new().quote(label),
        two: result.point.second.is_some(),
        value,
        href: href(&result.anchor()),
        ends,
        below,
        ..PlotRow::default()
    }))
}

/// What the whiskers of people are; empty where the job asks for no intervals.
pub(crate) fn interval_key(audit: &AuditFolder) -> RichText {
    audit.manifest.level.map_or_else(RichText::new, |level| {
        let level = number::level(level).replace('\u{202f}', "\u{a0}");
        RichText::new().key(KeyShape::Interval, format!("{level} interval for other people"))
    })
}

/// What a set changes.
fn note_of(
    set: &str,
    attribute: &str,
    shown: &[&HarmResult],
    (audit, voice): (&AuditFolder, &AuditVoice<'_>),
) -> String {
    let of_others = |result: &&HarmResult| {
        voice.set_label(&result.key.set) == voice.set_label(set)
            && result.key.attribute.as_str() != attribute
    };
    let note = if voice.is_of_the_entry(set) && shown.iter().any(of_others) {
        "only the entry for the attribute changes".to_owned()
    } else {
        voice.set_note(set, attribute)
    };
    let of = QualityKey {
        set: set.to_owned(),
        attribute: attribute.to_owned(),
        ..QualityKey::default()
    };
    let unchanged = audit.quality.values(&of).and_then(|of| *of.get("unchanged_share")?);
    if unchanged.is_some_and(|share| share >= 1.0) {
        format!("{note}, but no feature of anybody changed, so it repeats the test of the entry")
    } else {
        note
    }
}

/// What the labels of sets and the marks mean.
fn notes(
    shown: &[&HarmResult],
    audit: &AuditFolder,
    voice: &AuditVoice<'_>,
    limits: &[AuditLimit],
) -> Vec<PageBlock> {
    let mut sets: Vec<(&str, &str)> = Vec::new();
    for result in shown {
        let (set, attribute) = (result.key.set.as_str(), result.key.attribute.as_str());
        let alike = |other: &str| {
            let of_entry = voice.is_of_the_entry(set) && voice.is_of_the_entry(other);
            other == set || (of_entry && voice.set_label(other) == voice.set_label(set))
        };
        if !sets.iter().any(|(other, _)| alike(other)) {
            sets.push((set, attribute));
        }
    }
    let mut words = RichText::new();
    let mut told: Vec<RichText> = Vec::new();
    let mut graphs_told = BTreeSet::new();
    for (i, (set, attribute)) in sets.iter().enumerate() {
        let space = if i > 0 { " " } else { "" };
        let knowledge = graphs::knowledge::stated_knowledge(audit, set);
        // What sets of causal graphs have in common is said once.
        if knowledge.is_none() {
            let note = note_of(set, attribute, shown, (audit, voice));
            words = words.text(space).strong(voice.set_label(set)).quote(format!(": {note}."));
        } else if graphs_told.insert(*attribute) {
            let note = voice.effects_note(attribute);
            words = words.text(space).strong("Causal graphs").quote(format!(": {note}."));
        }
        let is_of_graphs = voice.set(set).is_some_and(|set| set.strategy == "graph-uncertain");
        let values: Option<RichText> =
            is_of_graphs.then(|| ValueKnobs::of(&audit.manifest, set).in_short().into());
        for sentence in [values, knowledge].into_iter().flatten() {
            if !told.contains(&sentence) {
                words = words.text(" ").and(sentence.clone());
                told.push(sentence);
            }
        }
    }
    words = words.text(format!(
        " Sorted by the number of {} whose {} would change.",
        voice.counted(),
        voice.outcome()
    ));
    let mut keys = interval_key(audit);
    let second = second_words(shown.iter().copied());
    if !second.is_empty() {
        keys = keys.key(KeyShape::Second, second);
    }
    if shown.iter().any(|result| result.placebo.is_some()) {
        keys = keys.key(KeyShape::Band, "with group names shuffled");
    }
    if shown.iter().any(|result| limits::of_result(limits, result).is_some()) {
        keys = keys.key(KeyShape::Limit, "limit, where one is set");
    }
    vec![PageBlock::Note(words), PageBlock::Note(keys)]
}

/// The table; nothing where no counterfactual was measured.
pub(crate) fn blocks(
    audit: &AuditFolder,
    results: &[HarmResult],
    voice: &AuditVoice<'_>,
    limits: &[AuditLimit],
    href: &dyn Fn(&str) -> String,
) -> Vec<PageBlock> {
    let ranked = ranked(results);
    let (nobody, some): (Vec<&HarmResult>, Vec<&HarmResult>) =
        ranked.into_iter().partition(|result| result.is_nobody());
    let (mut blocks_shown, mut height) = (BTreeSet::new(), 0.0);
    let fits = |n: &usize| {
        let is_long = label(some[*n], voice).chars().count() > LETTERS_OF_A_LINE;
        height += 1.0 + if is_long { SECOND_LINE } else { 0.0 };
        height += if blocks_shown.insert(block(some[*n])) { HEADING } else { 0.0 };
        height <= ROOM
    };
    let rows = (0..some.len().min(ROWS_AT_MOST)).take_while(fits).count();
    let shown = &some[..rows];
    let mut blocks = notes(shown, audit, voice, limits);
    if shown.is_empty() {
        blocks.clear();
    }
    let scale = PlotScale::from_zero(shown.iter().flat_map(|r| r.point.extent()), 1.0);
    let mut bodies = Vec::new();
    if !shown.is_empty() {
        let lines = vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))];
        bodies.push(PlotBody { block: false, lines });
    }
    let mut told = BTreeSet::new();
    for first in shown {
        let of = block(first);
        if !told.insert(of.clone()) {
            continue;
        }
        let (attribute, side, from, to) = &of;
        let mine: Vec<&HarmResult> = shown.iter().copied().filter(|r| block(r) == of).collect();
        let heading = RichText::new()
            .side(*side)
            .text(" ")
            .quote(voice.switch_heading(*side, attribute, (from, to)))
            .text(" ")
            .small(worse(voice, attribute, &mine));
        let mut lines = vec![PlotLine::Sub(heading)];
        lines.extend(mine.iter().map(|result| row(result, voice, scale, limits, href)));
        bodies.push(PlotBody { block: false, lines });
    }
    let mut last = Vec::new();
    if some.len() > rows {
        let n = some.len() - rows;
        let of = voice.counted();
        last.push(format!("{n} more are in the tables; each concerns fewer {of}.").into());
    }
    if !nobody.is_empty() {
        let name = |result: &&HarmResult| {
            let pair = (result.key.from.as_str(), result.key.to.as_str());
            let most = result.point.interval.map_or_else(String::new, |(_, hi)| {
                format!("; at most {}", value_text(NumberFormat::Share, hi, Some((0.0, hi))))
            });
            format!(
                "{}: {} (0 of {}{most})",
                label(result, voice),
                voice.switch_label(result.side, &result.key.attribute, pair),
                count(result.whole)
            )
        };
        let names: Vec<String> = nobody.iter().map(name).collect();
        last.push(if names.len() <= NOBODY_AT_MOST {
            RichText::new().quote(format!("{}: {}.", capital(voice.nobody()), names.join("; ")))
        } else {
            let n = names.len();
            if some.is_empty() {
                let nobody = capital(voice.nobody());
                format!("{nobody} in any of {n} results; they are in the tables.").into()
            } else {
                let nobody = voice.nobody();
                format!("In {n} further results {nobody}; they are in the tables.").into()
            }
        });
    }
    if !last.is_empty() {
        let lines = last.into_iter().map(PlotLine::Fold).collect();
        bodies.push(PlotBody { block: false, lines });
    }
    if !bodies.is_empty() {
        let label = format!(
            "All results, sorted by the number of {} whose decision would change",
            voice.counted()
        );
        blocks.push(BriefBlock::Plots(PlotTable { label, class: "forest", bodies }).into());
    }
    blocks
}

/// The heading: who is worse off in all that was tested, where the tables name only one group of
/// one attribute.
pub(crate) fn heading(results: &[HarmResult], voice: &AuditVoice<'_>) -> RichText {
    let named: BTreeSet<(&str, &str)> = results
        .iter()
        .filter_map(|result| Some((result.key.attribute.as_str(), result.worse.as_deref()?)))
        .collect();
    let mut named = named.into_iter();
    match (named.next(), named.next()) {
        (Some((attribute, group)), None) => RichText::from(
            "All counterfactual results: where a \
             group is worse off, it is ",
        )
        .quote(voice.group(attribute, group)),
        _ => "All results".into(),
    }
}
