//! Who would be decided otherwise: a mosaic for each direction that is shown. Facts only; the
//! sentences are in `mosaics.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::harm::{HarmResult, directions, switches};
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::panel::SwitchCounts;
use crate::report::page::PageSection;
use crate::text::fact;

/// Directions that are drawn; the others are in the annex.
const MOSAICS_AT_MOST: usize = 12;

/// Combinations without a switch that have a line.
const STILL_AT_MOST: usize = 6;

/// The directions in which somebody switches, each named by one of its results, those that harm
/// most in front.
fn switched<'a>(inputs: &BriefInputs<'a>) -> Vec<(&'a HarmResult, SwitchCounts)> {
    let found = directions(inputs.results).into_iter().filter_map(|result| {
        let counts = switches(inputs.audit, &result.key)?;
        (counts.lose > 0 || counts.gain > 0).then_some((result, counts))
    });
    found.collect()
}

/// Models and sets in which nobody switches, with the upper end of the interval of the share.
fn still(inputs: &BriefInputs<'_>) -> Vec<Value> {
    let (voice, totals) = (inputs.voice, inputs.audit.measures());
    let totals = totals.filter(|(key, _)| key.scope == "total" && !key.set.is_empty());
    let found = totals.filter_map(|(key, values)| {
        let sr = values.get("sr")?;
        let (_, whole) = sr.counts().filter(|(part, whole)| *part == 0 && *whole > 0)?;
        Some(context! {
            model => fact(&voice.called_model(&key.model)), whole,
            set => fact(&voice.called_set(&key.set)), most => sr.ends().map(|(_, hi)| hi),
            attribute => fact(&voice.called_attribute(&key.attribute)),
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
        graphs => found.iter().any(|(of, _)| of.set.is_of_graphs()),
        still => still.into_iter().take(STILL_AT_MOST).collect::<Value>(),
    };
    Some(PageSection::of_facts("switches", "mosaics.html", facts))
}
