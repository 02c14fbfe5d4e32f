//! How the answer depends on the assumptions: the same question under each counterfactual set.
//! Facts only; the sentences are in `ladder.html`.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::forest::{ForestQuestion, question};
use crate::report::brief::harm::{HarmResult, ranked, seconds};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits;
use crate::report::draw::panel::LadderBlock;
use crate::report::page::PageSection;
use crate::report::page::number::{NumberFormat, value_text};
use crate::report::page::words::short;
use crate::text::fact;

/// Questions that are drawn.
const LADDERS_AT_MOST: usize = 4;

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

/// A question that is drawn, named by one of its results.
fn ladder(inputs: &BriefInputs<'_>, mine: &[&HarmResult]) -> Value {
    let (voice, models) = (inputs.voice, &inputs.audit.manifest.models);
    let block = |model: &str| {
        let mut rungs: Vec<&HarmResult> =
            mine.iter().copied().filter(|result| result.key.model == model).collect();
        rungs.sort_by_key(|result| {
            let strategy = voice.set(&result.key.set).map_or("", |set| set.strategy.as_str());
            (place(strategy), scenario_place(inputs, &result.key.set), result.number)
        });
        let rung = |result: &HarmResult| {
            let point = result.point;
            let text = value_text(NumberFormat::Share, point.value, point.interval);
            (voice.set_label(&result.key.set), point, text)
        };
        let rungs: Vec<_> = rungs.into_iter().map(rung).collect();
        (!rungs.is_empty()).then(|| LadderBlock { model: short(model).into_owned(), rungs })
    };
    let blocks: Vec<_> = models.iter().filter_map(|model| block(&model.name)).collect();
    // The line runs across all models and sets, so it must be the limit of each.
    let limit = limits::common(inputs.limits, mine.iter().map(|result| result.judged()));
    context!(result => fact(mine[0]), blocks => fact(&blocks), limit => fact(&limit))
}

/// The section; none with a single set.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let of_question = |of: ForestQuestion<'_>| -> Vec<&HarmResult> {
        inputs.results.iter().filter(|result| question(result) == of).collect()
    };
    let mut questions: Vec<ForestQuestion<'_>> = Vec::new();
    for result in ranked(inputs.results) {
        let of = question(result);
        let sets: BTreeSet<&str> =
            of_question(of).into_iter().map(|other| other.key.set.as_str()).collect();
        if sets.len() > 1 && !questions.contains(&of) && result.point.value > 0.0 {
            questions.push(of);
        }
    }
    questions.truncate(LADDERS_AT_MOST);
    let all: Vec<Vec<&HarmResult>> = questions.into_iter().map(of_question).collect();
    let first = all.first()?.iter().copied();
    let by = |better: fn(f64, f64) -> bool| {
        first.clone().reduce(|a, b| if better(b.point.value, a.point.value) { b } else { a })
    };
    let (low, high) = (by(|b, a| b < a)?, by(|b, a| b > a)?);
    // Where other graphs and refits overlap, too, nothing is distinguished.
    let (below, above) = (
        low.point.extent().fold(f64::NEG_INFINITY, f64::max),
        high.point.extent().fold(f64::INFINITY, f64::min),
    );
    let apart = low.point.interval.is_some() && high.point.interval.is_some() && below < above;
    let ladders: Value = all.iter().map(|mine| ladder(inputs, mine)).collect();
    let facts = context! {
        low => fact(low), high => fact(high), apart,
        equal => low.point.value == high.point.value, ladders,
        seconds => seconds(all.iter().flatten().copied()).into_iter().collect::<Value>(),
    };
    Some(PageSection::of_facts("ladder", "ladder.html", facts))
}
