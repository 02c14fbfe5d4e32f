//! Who would be decided otherwise: a mosaic for each direction that is shown. Facts only; the
//! sentences are in `mosaics.html`.

use minijinja::context;
use serde::Serialize;

use crate::report::brief::harm::{HarmResult, directions, switches};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::voice::{CalledAttribute, CalledModel, CalledSet};
use crate::report::draw::panel::SwitchCounts;
use crate::report::page::PageSection;
use crate::text::fact;

/// Directions that are drawn; the others are in the annex.
const MOSAICS_AT_MOST: usize = 12;

/// Combinations without a switch that have a line.
const STILL_AT_MOST: usize = 6;

/// A direction in which somebody switches, named by one of its results.
#[derive(Serialize)]
struct SwitchedDirection<'a> {
    result: &'a HarmResult,
    counts: SwitchCounts,
}

/// A model and a set in which nobody switches.
#[derive(Serialize)]
struct StillSet {
    model: CalledModel,
    set: CalledSet,
    attribute: CalledAttribute,
    whole: i64,
    /// The upper end of the interval of the share.
    most: Option<f64>,
}

/// The directions in which somebody switches, those that harm most in front.
fn switched<'a>(inputs: &BriefInputs<'a>) -> Vec<SwitchedDirection<'a>> {
    let found = directions(inputs.results).into_iter().filter_map(|result| {
        let counts = switches(inputs.audit, &result.key)?;
        (counts.lose > 0 || counts.gain > 0).then_some(SwitchedDirection { result, counts })
    });
    found.collect()
}

/// Models and sets in which nobody switches.
fn still(inputs: &BriefInputs<'_>) -> Vec<StillSet> {
    let (voice, totals) = (inputs.voice, inputs.audit.measures());
    let totals = totals.filter(|(key, _)| key.scope == "total" && !key.set.is_empty());
    let found = totals.filter_map(|(key, values)| {
        let sr = values.get("sr")?;
        let (_, whole) = sr.counts().filter(|(part, whole)| *part == 0 && *whole > 0)?;
        Some(StillSet {
            model: voice.called_model(&key.model),
            set: voice.called_set(&key.set),
            attribute: voice.called_attribute(&key.attribute),
            whole,
            most: sr.ends().map(|(_, hi)| hi),
        })
    });
    found.collect()
}

/// The section; none where no counterfactual was counted.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let (found, still) = (switched(inputs), still(inputs));
    if found.is_empty() && still.is_empty() {
        return None;
    }
    let shown = &found[..found.len().min(MOSAICS_AT_MOST)];
    let facts = context! {
        more => found.len() - shown.len(), shown => fact(shown),
        graphs => found.iter().any(|of| of.result.set.is_of_graphs()),
        still => fact(&still[..still.len().min(STILL_AT_MOST)]),
    };
    Some(PageSection::untitled("switches", "mosaics.html", facts))
}
