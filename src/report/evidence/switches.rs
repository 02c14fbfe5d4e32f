//! Who would be decided otherwise: a mosaic for each direction that is shown.

use crate::report::brief::harm::{ranked, switches};
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::panel::{SwitchCounts, mosaic};
use crate::report::draw::plot::SwitchSide;
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::value_text;
use crate::report::page::number::{NumberFormat, count};
use crate::report::page::plots::{BriefBlock, ChartPanel};
use crate::report::page::words::{RichText, capital, short};
use crate::report::read::panel::ResultKey;
use crate::report::read::words::people;

/// Directions that are drawn; the others are in the annex.
const MOSAICS_AT_MOST: usize = 12;

/// Combinations without a switch that have a line.
const STILL_AT_MOST: usize = 6;

/// The directions in which somebody switches, those that harm most in front.
fn directions(inputs: &BriefInputs<'_>) -> Vec<(ResultKey, SwitchCounts)> {
    let mut found: Vec<(ResultKey, SwitchCounts)> = Vec::new();
    for result in ranked(inputs.results) {
        if found.iter().any(|(key, _)| *key == result.key) {
            continue;
        }
        let counts = switches(inputs.audit, &result.key);
        found.extend(
            counts
                .filter(|counts| counts.lose > 0 || counts.gain > 0)
                .map(|counts| (result.key.clone(), counts)),
        );
    }
    found
}

fn title(inputs: &BriefInputs<'_>, key: &ResultKey) -> String {
    let voice = inputs.voice;
    format!(
        "{} {}",
        voice.group_heading(&key.attribute, &key.from),
        voice.as_group(&key.attribute, &key.to)
    )
}

/// Models and sets in which nobody switches, a sentence each.
fn still(inputs: &BriefInputs<'_>) -> Vec<RichText> {
    let totals =
        inputs.audit.measures.iter().filter(|(key, _)| key.scope == "total" && !key.set.is_empty());
    let mut said = Vec::new();
    for (key, values) in totals {
        let Some(sr) = values.get("sr") else { continue };
        let Some((0, whole)) = sr.counts.filter(|(_, whole)| *whole > 0) else { continue };
        let most = sr.interval.map_or_else(String::new, |(_, hi)| {
            format!(" (at most {})", value_text(NumberFormat::Share, hi, Some((0.0, hi))))
        });
        let none = if inputs.voice.has_several_others(&key.attribute) {
            format!("none of {} decisions as another group would be different", count(whole))
        } else {
            format!("none of {} would be decided differently", people(inputs.audit, whole))
        };
        said.push(RichText::new().quote(format!(
            "{}, {}: {none}{most}.",
            capital(&inputs.voice.model(&key.model)),
            inputs.voice.set_label(&key.set),
        )));
    }
    said
}

/// The section; none where no counterfactual was counted.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let found = directions(inputs);
    let still = still(inputs);
    if found.is_empty() && still.is_empty() {
        return None;
    }
    let voice = inputs.voice;
    let mut blocks: Vec<PageBlock> = Vec::new();
    if let Some((key, counts)) = found.first() {
        let part = |n: i64, whole: i64, side: SwitchSide| {
            format!(
                "{} of {} {}{} {}",
                count(n),
                count(whole),
                voice.of_cases(),
                voice.switchable(side, &key.attribute, &key.from),
                voice.would(side)
            )
        };
        let lead = format!(
            "By {} ({}), {} {}, and {}.",
            voice.model(&key.model),
            voice.set_label(&key.set),
            part(counts.lose, counts.held(), SwitchSide::Lost),
            voice.as_group(&key.attribute, &key.to),
            part(counts.gain, counts.lacked(), SwitchSide::Gained)
        );
        blocks.push(BriefBlock::Lead(RichText::new().quote(lead)).into());
        let panels = found.iter().take(MOSAICS_AT_MOST).map(|(key, counts)| {
            let of = format!("{}, {}", short(&key.model), voice.set_label(&key.set));
            let title = title(inputs, key);
            ChartPanel {
                drawing: mosaic(&format!("{title}, {of}"), *counts),
                title: RichText::new().quote(title).text(" ").small(of),
            }
        });
        let panels = panels.collect();
        let note = RichText::from(format!(
            "Height: {} {} (upper band) and all others (lower band), as they are. Width: their \
             decision as members of the other group. ",
            voice.counted(),
            voice.holding()
        ));
        let of_graphs = |(key, _): &(ResultKey, SwitchCounts)| {
            voice.set(&key.set).is_some_and(|set| set.strategy == "graph-uncertain")
        };
        let note = if found.iter().any(of_graphs) {
            note.text(
                "In tests over causal graphs, decisions here use the mean of each person\u{2019}s \
                 score over graphs, so counts differ from the means over graphs above. ",
            )
        } else {
            note
        };
        let more = found.len().saturating_sub(MOSAICS_AT_MOST);
        let note = if more > 0 {
            note.text(format!("{more} more directions are in the tables. "))
        } else {
            note
        };
        let note = inputs.link(
            note.text("By label, with rates and intervals: "),
            "Who switches",
            "switches",
        );
        blocks.push(PageBlock::Note(note.text(".")));
        blocks.push(BriefBlock::Panels("mx", panels).into());
    } else {
        let words = "No decision would change in any test.";
        blocks.push(BriefBlock::Lead(words.into()).into());
    }
    blocks.extend(still.into_iter().take(STILL_AT_MOST).map(PageBlock::Text));
    Some(BriefSection {
        id: "switches",
        title: "Whose decision would change?".into(),
        short: "Who switches",
        blocks,
    })
}
