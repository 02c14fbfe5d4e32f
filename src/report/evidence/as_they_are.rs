//! Do the groups get the same decisions, as they are? Facts only; the sentences are in
//! `as_they_are.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::shares::ModelShares;
use crate::report::draw::plot::PlotScale;
use crate::report::page::PageSection;
use crate::text::fact;

/// Rows of groups on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 30;

/// What opens the section: the gap that harms most; where none is clear, whether `nobody` or
/// `everybody` gets the favourable decision.
fn lead(inputs: &BriefInputs<'_>) -> Value {
    if let Some((of, gap)) = inputs.worst_gap(None, 1) {
        let [low, high] = [gap.low, gap.high].map(fact);
        return context!(kind => "gap", model => fact(&of.model), low, high);
    }
    let mut all = inputs.shares.iter().flat_map(|of| &of.groups).map(|group| group.counts);
    let kind = match all.clone().all(|(part, _)| part == 0) {
        true => "nobody",
        false if all.all(|(part, whole)| part == whole) => "everybody",
        false => "unclear",
    };
    context!(kind)
}

/// How far the groups of a model are apart, and the one with the lowest share, where it is another
/// one: the gap is the one about most people.
fn apart(inputs: &BriefInputs<'_>, of: &ModelShares) -> Option<Value> {
    let gap = of.clear_gap(inputs.audit)?;
    let large = of.groups.iter().filter(|group| !group.is_small);
    let lowest = large.min_by(|a, b| a.point.value.total_cmp(&b.point.value));
    let lowest = lowest.filter(|lowest| lowest.name() != gap.low.name());
    let distance = gap.high.point.value - gap.low.point.value;
    Some(context!(low => fact(gap.low), high => fact(gap.high), distance, lowest => fact(&lowest)))
}

/// The section; none where no group was measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    if inputs.shares.is_empty() {
        return None;
    }
    let (voice, audit) = (inputs.voice, inputs.audit);
    let several = audit.manifest.attributes.len() > 1;
    let (mut shown, mut rows, mut left) = (Vec::new(), 0, 0);
    for of in inputs.shares {
        if rows + of.groups.len() > ROWS_AT_MOST && rows > 0 {
            left += 1;
            continue;
        }
        rows += of.groups.len();
        shown.push(context! {
            model => fact(&of.model), attribute => fact(&several.then_some(&of.attribute)),
            apart => apart(inputs, of), rows => fact(&of.rows(audit, voice)),
        });
    }
    let scale = PlotScale::from_zero(inputs.shares.iter().flat_map(ModelShares::extent), 1.0);
    let mut groups = inputs.shares.iter().flat_map(|of| &of.groups);
    let facts = context! {
        lead => lead(inputs), labelled => groups.any(|group| group.labelled.is_some()),
        scale => fact(&scale), shown, left,
    };
    Some(PageSection::of_facts("groups", "as_they_are.html", facts))
}
