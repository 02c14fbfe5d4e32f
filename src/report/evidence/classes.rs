//! Of a label of several classes: which class people would get instead of which, as members of
//! another group.
//!
//! Each row is a class before, a class after and a direction; its share is of the people whose
//! factual prediction is the class before. The rows with most people come first. Nobody says which
//! class is better, so no group is called worse off.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{
    AxisUnit, KeyShape, PlotPoint, PlotScale, SwitchSide, axis, forest_row,
};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::{counts_text, ends_text, value_text};
use crate::report::page::number::{NumberFormat, count};
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::words::{RichText, short};
use crate::report::read::classes::ClassTallies;
use crate::report::read::panel::ResultKey;
use crate::report::read::tally::WeightedCount;

/// Rows on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 12;

/// People of one class who would get another.
struct ClassMove<'a> {
    key: &'a ResultKey,
    before: &'a str,
    after: &'a str,
    n: i64,
    whole: i64,
    point: PlotPoint,
}

impl ClassMove<'_> {
    /// The share and its interval in words; no interval is empty.
    fn share(&self) -> [String; 2] {
        let (kind, PlotPoint { value, interval, .. }) = (NumberFormat::Share, self.point);
        [
            value_text(kind, value, interval),
            interval.map_or_else(String::new, |ends| ends_text(kind, ends)),
        ]
    }
}

/// The counts of each direction.
fn directions<'a>(
    inputs: &BriefInputs<'a>,
) -> impl Iterator<Item = (&'a ResultKey, &'a ClassTallies)> {
    let matrices = inputs.audit.classes.matrices.iter();
    matrices.filter(|(key, _)| !key.set.is_empty() && key.scope == "direction")
}

/// Every change of class in every direction, those of most people first; of equals in the order of
/// the tables.
fn moves<'a>(inputs: &BriefInputs<'a>) -> Vec<ClassMove<'a>> {
    let mut found = Vec::new();
    for (key, matrix) in directions(inputs) {
        let mut of_class: BTreeMap<&str, WeightedCount> = BTreeMap::new();
        for ((before, _), tally) in matrix {
            let sum = of_class.entry(before).or_default();
            *sum = sum.plus(*tally);
        }
        let intervals = inputs.audit.classes.transitions.get(key);
        for (pair, tally) in matrix.iter().filter(|((a, b), tally)| a != b && tally.n > 0) {
            let (before, after) = (pair.0.as_str(), pair.1.as_str());
            let whole = of_class[before];
            let Some(value) = tally.part_of(whole) else { continue };
            let interval = intervals.and_then(|of| of.get(pair)).copied();
            let point = PlotPoint { value, interval, second: None };
            found.push(ClassMove { key, before, after, n: tally.n, whole: whole.n, point });
        }
    }
    found.sort_by_key(|of| Reverse(of.n));
    found
}

/// The change of most people as a sentence.
fn lead(inputs: &BriefInputs<'_>, first: &ClassMove<'_>) -> RichText {
    let voice = inputs.voice;
    let attribute = first.key.attribute.as_str();
    let weighted = if inputs.audit.manifest.weight.is_some() { "weighted " } else { "" };
    let [value, ends] = first.share();
    let ends = if ends.is_empty() { ends } else { format!("; {ends}") };
    RichText::new()
        .quote(format!(
            "The change that affects most {}, by {} ({}): {} of {} {}{} with class ",
            voice.counted(),
            voice.model(&first.key.model),
            voice.set_label(&first.key.set),
            count(first.n),
            count(first.whole),
            voice.of_cases(),
            voice.people(attribute, &first.key.from)
        ))
        .name(first.before)
        .text(" would get class ")
        .name(first.after)
        .quote(format!(" {} ({weighted}{value}{ends}).", voice.as_group(attribute, &first.key.to)))
}

fn row(inputs: &BriefInputs<'_>, of: &ClassMove<'_>, scale: PlotScale) -> PlotLine {
    let (voice, attribute) = (inputs.voice, of.key.attribute.as_str());
    let label = format!(
        "{} to {}: {} {}; {}, {}",
        short(of.before),
        short(of.after),
        voice.group(attribute, &of.key.from),
        voice.as_group(attribute, &of.key.to),
        short(&of.key.model),
        voice.set_label(&of.key.set)
    );
    let [value, ends] = of.share();
    let title = format!("{label}: {value}, interval {ends}");
    PlotLine::Row(Box::new(PlotRow {
        people: counts_text(Some((of.n, of.whole)), of.point.value, of.whole).into(),
        drawing: forest_row(scale, of.point, SwitchSide::Either, None, None, &title),
        label: RichText::new().quote(label),
        value,
        ends,
        ..PlotRow::default()
    }))
}

/// The section; none of a label of two sides, and without counterfactuals.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    if !inputs.audit.classes.are_there() || directions(inputs).next().is_none() {
        return None;
    }
    let moves = moves(inputs);
    let mut blocks: Vec<PageBlock> = Vec::new();
    if let Some(first) = moves.first() {
        blocks.push(BriefBlock::Lead(lead(inputs, first)).into());
        let shown = &moves[..moves.len().min(ROWS_AT_MOST)];
        let scale = PlotScale::from_zero(shown.iter().flat_map(|of| of.point.extent()), 1.0);
        let mut lines = vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))];
        lines.extend(shown.iter().map(|of| row(inputs, of, scale)));
        let bodies = vec![PlotBody { block: false, lines }];
        let label = "Changes of class in counterfactuals".to_owned();
        blocks.push(BriefBlock::Plots(PlotTable { label, class: "", bodies }).into());
        let any = shown.iter().any(|of| of.point.interval.is_some());
        let level = any.then_some(inputs.audit.manifest.level.get());
        let keys = level.map_or_else(RichText::new, |level| {
            RichText::new().key(KeyShape::Interval, inputs.voice.people_interval(level))
        });
        let keys = keys.text(
            "Each share is of those who have the class before. These counts do not tell who is \
             worse off. ",
        );
        let keys = match moves.len() - shown.len() {
            0 => keys,
            1 => keys.text("1 more change is in the table transitions. "),
            n => keys.text(format!("{n} more changes are in the table transitions. ")),
        };
        let note = inputs.link(keys.text("All classes: "), "Who switches", "switches");
        blocks.push(PageBlock::Note(note.text(".")));
    } else {
        blocks.push(BriefBlock::Lead("Nobody would get another class in any test.".into()).into());
    }
    Some(BriefSection {
        id: "classes",
        title: "Which class would people get instead?".into(),
        short: "Classes",
        blocks,
    })
}
