//! For a label of several classes: which class people would get instead of which, as members of
//! another group.
//!
//! Each row is a class before, a class after and a direction; its share is of the people whose
//! factual prediction is the class before. The rows with most people come first. It is not known
//! which class is better, so no group is called worse off.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{PlotPoint, PlotScale};
use crate::report::page::PageSection;
use crate::report::read::classes::ClassTallies;
use crate::report::read::panel::ResultKey;
use crate::report::read::tally::WeightedCount;
use crate::text::fact;

/// Rows on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 12;

/// The counts of each direction.
fn directions<'a>(
    inputs: &BriefInputs<'a>,
) -> impl Iterator<Item = (&'a ResultKey, &'a ClassTallies)> {
    let matrices = inputs.audit.classes.matrices.iter();
    matrices.filter(|(key, _)| !key.set.is_empty() && key.scope == "direction")
}

/// Every change of class in every direction, those of most people first; of equals in the order of
/// the tables.
fn moves(inputs: &BriefInputs<'_>) -> Vec<(i64, PlotPoint, Value)> {
    let voice = inputs.voice;
    let mut found = Vec::new();
    for (key, matrix) in directions(inputs) {
        let mut of_class: BTreeMap<&str, WeightedCount> = BTreeMap::new();
        for ((before, _), tally) in matrix {
            let sum = of_class.entry(before).or_default();
            *sum = sum.plus(*tally);
        }
        let intervals = inputs.audit.classes.transitions.get(key);
        let group = |name: &str| voice.called_group(&key.attribute, name);
        for (pair, tally) in matrix.iter().filter(|((a, b), tally)| a != b && tally.n > 0) {
            let (before, after) = (pair.0.as_str(), pair.1.as_str());
            let whole = of_class[before];
            let Some(value) = tally.part_of(whole) else { continue };
            let interval = intervals.and_then(|of| of.get(pair)).copied();
            let point = PlotPoint::new(value, interval);
            let facts = context! {
                model => fact(&voice.called_model(&key.model)), before, after, n => tally.n,
                set => fact(&voice.called_set(&key.set)), from => fact(&group(&key.from)),
                to => fact(&group(&key.to)), whole => whole.n, point => fact(&point),
            };
            found.push((tally.n, point, facts));
        }
    }
    found.sort_by_key(|(n, ..)| Reverse(*n));
    found
}

/// The section; none of a label of two sides, and without counterfactuals.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    if !inputs.audit.classes.are_there() || directions(inputs).next().is_none() {
        return None;
    }
    let moves = moves(inputs);
    let shown = &moves[..moves.len().min(ROWS_AT_MOST)];
    let scale = PlotScale::from_zero(shown.iter().flat_map(|(_, point, _)| point.extent()), 1.0);
    let any = shown.iter().any(|(_, point, _)| point.interval.is_some());
    let facts = context! {
        shown => shown.iter().map(|(.., facts)| facts.clone()).collect::<Value>(),
        more => moves.len() - shown.len(), scale => fact(&scale),
        level => any.then_some(inputs.audit.manifest.level.get()),
    };
    Some(PageSection::of_facts("classes", "class_moves.html", facts))
}
