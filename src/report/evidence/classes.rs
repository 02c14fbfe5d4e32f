//! Of a label of several classes: which class people would get instead of which, as members of
//! another group.
//!
//! Each row is a class before, a class after and a direction; its share is of the people whose
//! factual prediction is the class before. The rows with most people come first. Nobody says which
//! class is better, so no group is called worse off.

use crate::report::brief::digits::{counts_text, ends_text, value_text};
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{
    AxisUnit, KeyShape, PlotPoint, PlotScale, SwitchSide, axis, forest_row,
};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::number::{NumberFormat, count, level};
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::words::{RichText, short};
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

/// Every change of class in every direction, those of most people first; of equals in the order of
/// the tables.
fn moves<'a>(inputs: &BriefInputs<'a>) -> Vec<ClassMove<'a>> {
    let classes = &inputs.audit.classes;
    let mut found = Vec::new();
    for (key, matrix) in &classes.matrices {
        if key.set.is_empty() || key.scope != "direction" {
            continue;
        }
        for ((before, after), tally) in matrix.iter().filter(|((a, b), of)| a != b && of.n > 0) {
            let of_class = matrix.iter().filter(|((from, _), _)| from == before);
            let whole = of_class.fold(WeightedCount::default(), |sum, (_, tally)| sum.plus(*tally));
            let Some(value) = tally.part_of(whole) else { continue };
            let pair = (before.clone(), after.clone());
            let interval = classes.transitions.get(key).and_then(|of| of.get(&pair)).copied();
            let point = PlotPoint { value, interval, second: None };
            found.push(ClassMove { key, before, after, n: tally.n, whole: whole.n, point });
        }
    }
    found.sort_by_key(|of| std::cmp::Reverse(of.n));
    found
}

/// The section; none of a label of two sides, and without counterfactuals.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let (voice, classes) = (inputs.voice, &inputs.audit.classes);
    let is_direction = |key: &ResultKey| !key.set.is_empty() && key.scope == "direction";
    if !classes.are_there() || !classes.matrices.keys().any(is_direction) {
        return None;
    }
    let weighted = inputs.audit.manifest.weight.is_some();
    let moves = moves(inputs);
    let mut blocks: Vec<PageBlock> = Vec::new();
    let title = "Which class would people get instead?".into();
    let done = |blocks| Some(BriefSection { id: "classes", title, short: "Classes", blocks });
    let Some(first) = moves.first() else {
        blocks.push(BriefBlock::Lead("Nobody would get another class in any test.".into()).into());
        return done(blocks);
    };
    let share = |of: &ClassMove<'_>| {
        let value = value_text(NumberFormat::Share, of.point.value, of.point.interval);
        let ends = of
            .point
            .interval
            .map_or_else(String::new, |ends| format!("; {}", ends_text(NumberFormat::Share, ends)));
        format!("{}{value}{ends}", if weighted { "weighted " } else { "" })
    };
    let people = |of: &ClassMove<'_>| voice.people(&of.key.attribute, &of.key.from);
    let lead = RichText::new()
        .quote(format!(
            "The change that affects most {}, by {} ({}): {} of {} {}{} with class ",
            voice.counted(),
            voice.model(&first.key.model),
            voice.set_label(&first.key.set),
            count(first.n),
            count(first.whole),
            voice.of_cases(),
            people(first)
        ))
        .name(first.before)
        .text(" would get class ")
        .name(first.after)
        .quote(format!(
            " {} ({}).",
            voice.as_group(&first.key.attribute, &first.key.to),
            share(first)
        ));
    blocks.push(BriefBlock::Lead(lead).into());
    let shown = &moves[..moves.len().min(ROWS_AT_MOST)];
    let scale = PlotScale::from_zero(shown.iter().flat_map(|of| of.point.extent()), 1.0);
    let mut lines = vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))];
    lines.extend(shown.iter().map(|of| {
        let label = format!(
            "{} to {}: {} {}; {}, {}",
            short(of.before),
            short(of.after),
            voice.group(&of.key.attribute, &of.key.from),
            voice.as_group(&of.key.attribute, &of.key.to),
            short(&of.key.model),
            voice.set_label(&of.key.set)
        );
        let value = value_text(NumberFormat::Share, of.point.value, of.point.interval);
        let ends =
            of.point.interval.map_or_else(String::new, |ends| ends_text(NumberFormat::Share, ends));
        let title = format!("{label}: {value}, interval {ends}");
        PlotLine::Row(Box::new(PlotRow {
            people: counts_text(Some((of.n, of.whole)), of.point.value, of.whole).into(),
            drawing: forest_row(scale, of.point, SwitchSide::Either, None, None, &title),
            label: RichText::new().quote(label),
            value,
            ends,
            ..PlotRow::default()
        }))
    }));
    let bodies = vec![PlotBody { block: false, lines }];
    let label = "Changes of class in counterfactuals".to_owned();
    blocks.push(BriefBlock::Plots(PlotTable { label, class: "", bodies }).into());
    let interval =
        inputs.audit.manifest.level.filter(|_| shown.iter().any(|of| of.point.interval.is_some()));
    let keys = interval.map_or_else(RichText::new, |of| {
        let of = level(of).replace('\u{202f}', "\u{a0}");
        RichText::new().key(KeyShape::Interval, format!("{of} interval for other people"))
    });
    let keys = keys.text(
        "Each share is of those who have the class before. These counts do not tell who is worse \
         off. ",
    );
    let more = moves.len() - shown.len();
    let keys = if more > 0 {
        let kinds = if more == 1 { "change is" } else { "changes are" };
        keys.text(format!("{} more {kinds} in the table transitions. ", count(more as i64)))
    } else {
        keys
    };
    let note = inputs.link(keys.text("All classes: "), "Who switches", "switches");
    blocks.push(PageBlock::Note(note.text(".")));
    done(blocks)
}
