//! How the answer depends on the assumptions: the same question under each counterfactual set.

use crate::report::brief::harm::{HarmResult, ranked, second_words};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits;
use crate::report::draw::panel::{LadderBlock, ladder};
use crate::report::draw::plot::{AxisUnit, SwitchSide};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::value_text;
use crate::report::page::number::NumberFormat;
use crate::report::page::plots::{BriefBlock, ChartPanel};
use crate::report::page::words::{RichText, short};
use crate::report::read::judged::JudgedValue;

/// Questions that are drawn.
const LADDERS_AT_MOST: usize = 4;

/// A question: attribute, side, groups.
type LadderQuestion<'a> = (&'a str, SwitchSide, &'a str, &'a str);

fn question(result: &HarmResult) -> LadderQuestion<'_> {
    let key = &result.key;
    (&key.attribute, result.side, &key.from, &key.to)
}

/// Sets from the fewest to the most assumptions.
fn place(strategy: &str) -> usize {
    ["naive", "plausible", "greedy", "transport", "external", "graph-uncertain"]
        .iter()
        .position(|name| *name == strategy)
        .unwrap_or(4)
}

/// The scenario of a set by its place in the job, so that all sets with the same one are together.
fn scenario_place(inputs: &BriefInputs<'_>, set: &str) -> Option<usize> {
    let scenario = |set: &str| set.split_once('/').map(|(_, scenario)| scenario.to_owned());
    let mut sets = inputs.audit.manifest.counterfactuals.iter();
    sets.position(|of| scenario(&of.name) == scenario(set))
}

/// The section; none with a single set.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let voice = inputs.voice;
    let mut questions: Vec<LadderQuestion<'_>> = Vec::new();
    for result in ranked(inputs.results) {
        let of = question(result);
        let sets: std::collections::BTreeSet<&str> = inputs
            .results
            .iter()
            .filter(|other| question(other) == of)
            .map(|other| other.key.set.as_str())
            .collect();
        if sets.len() > 1 && !questions.contains(&of) && result.point.value > 0.0 {
            questions.push(of);
        }
    }
    questions.truncate(LADDERS_AT_MOST);
    let first = questions.first()?;
    let mut panels = Vec::new();
    for of in &questions {
        let (attribute, side, from, to) = *of;
        let mine = || inputs.results.iter().filter(|result| question(result) == *of);
        let mut blocks = Vec::new();
        for model in &inputs.audit.manifest.models {
            let mut rungs: Vec<&HarmResult> =
                mine().filter(|result| result.key.model == model.name).collect();
            rungs.sort_by_key(|result| {
                let strategy = voice.set(&result.key.set).map_or("", |set| set.strategy.as_str());
                (place(strategy), scenario_place(inputs, &result.key.set), result.number)
            });
            let rung = |result: &&HarmResult| {
                let point = result.point;
                let text = value_text(NumberFormat::Share, point.value, point.interval);
                (voice.set_label(&result.key.set), point, text)
            };
            if !rungs.is_empty() {
                blocks.push(LadderBlock {
                    model: short(&model.name).into_owned(),
                    rungs: rungs.iter().map(rung).collect(),
                });
            }
        }
        // The line runs across all models and sets, so it must be the limit of each.
        let shown = mine().map(|result| JudgedValue::plain(&result.key, result.metric));
        let limit = limits::common(inputs.limits, shown)
            .map(|limit| (limit.limit, format!("limit {}", limit.amount)));
        let title = voice.switch_heading(side, attribute, (from, to));
        let limit = limit.as_ref().map(|(value, label)| (*value, label.as_str()));
        panels.push(ChartPanel {
            drawing: ladder(
                &format!("{title}, by assumption"),
                &blocks,
                side,
                limit,
                AxisUnit::Percent,
            ),
            title: RichText::new().side(side).text(" ").quote(title),
        });
    }
    let mine: Vec<&HarmResult> = inputs.results.iter().filter(|r| question(r) == *first).collect();
    let by = |better: fn(f64, f64) -> bool| {
        mine.iter().copied().reduce(|a, b| if better(b.point.value, a.point.value) { b } else { a })
    };
    let (low, high) = (by(|b, a| b < a)?, by(|b, a| b > a)?);
    let (attribute, side, from, to) = *first;
    let text = |of: &HarmResult| value_text(NumberFormat::Share, of.point.value, of.point.interval);
    let of =
        |of: &HarmResult| format!("{}, {}", short(&of.key.model), voice.set_label(&of.key.set));
    // Where other graphs and refits overlap, too, nothing is distinguished.
    let (below, above) = (
        low.point.extent().fold(f64::NEG_INFINITY, f64::max),
        high.point.extent().fold(f64::INFINITY, f64::min),
    );
    let apart = low.point.interval.is_some() && high.point.interval.is_some() && below < above;
    let heading = voice.switch_heading(side, attribute, (from, to));
    let mut lead = if low.point.value == high.point.value {
        format!("{heading}: {} in each test.", text(low))
    } else {
        format!("{heading}: from {} ({}) to {} ({}).", text(low), of(low), text(high), of(high))
    };
    if apart {
        lead += match (low.key.set == high.key.set, low.key.model == high.key.model) {
            (true, _) => " The answer depends on the model.",
            (false, true) => " The answer depends on the assumptions.",
            (false, false) => " The answer depends on the assumptions and on the model.",
        };
    }
    let drawn = inputs.results.iter().filter(|result| questions.contains(&question(result)));
    let second = second_words(drawn);
    let second =
        if second.is_empty() { String::new() } else { format!(" Thin line with ends: {second}.") };
    let blocks: Vec<PageBlock> = vec![
        BriefBlock::Lead(RichText::new().quote(lead)).into(),
        PageBlock::Note(format!("Thick line: interval for other people.{second}").into()),
        BriefBlock::Panels("pair", panels).into(),
    ];
    Some(BriefSection {
        id: "ladder",
        title: "How the answer depends on the assumptions".into(),
        short: "Assumptions",
        blocks,
    })
}
