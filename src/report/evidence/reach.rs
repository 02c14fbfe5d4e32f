//! Who has a way out of the unfavourable decision: in words, and the worst subgroups as bars and
//! curves where people and chance allow a conclusion.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::inputs::BriefInputs;
use crate::report::page::PageSection;
use crate::report::page::number::{NumberFormat, count, value_text};
use crate::report::page::words::cut;
use crate::report::section::recourse;
use crate::report::section::recourse::cards::{
    UnfairSubgroup, UnfairSubgroups, end_of, unfair_subgroups,
};
use crate::text::fact;

/// Letters of a group next to a bar or curve.
const LETTERS: usize = 21;

/// Subgroups of a comparison on the page, and comparisons.
const SUBGROUPS_AT_MOST: usize = 4;
const COMPARISONS_AT_MOST: usize = 2;

/// The section; none where the job asks for no recourse.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    if !recourse::is_there(inputs.audit) {
        return None;
    }
    let worst = unfair_subgroups(inputs.audit, SUBGROUPS_AT_MOST);
    let pictures = worst.iter().take(COMPARISONS_AT_MOST).map(|of| pictures(inputs, of));
    let told = recourse::evidence(inputs.audit, inputs.voice, inputs.limits);
    let facts = context! {
        told => fact(&told), persons => recourse::persons_judged(inputs.audit),
        pictures => pictures.collect::<Value>(),
    };
    Some(PageSection::of_facts("recourse", "reach.html", facts))
}

/// The worst subgroups of a comparison, on one axis of costs.
fn pictures(inputs: &BriefInputs<'_>, of: &UnfairSubgroups<'_>) -> Value {
    let names = of.subgroups.iter().map(|subgroup| subgroup.curves.names).next();
    let groups = names.map(|names| names.map(|name| inputs.voice.people(of.recourse, name)));
    let most = end_of(of.subgroups.iter().map(|subgroup| &subgroup.curves));
    let panels = of.subgroups.iter().map(|subgroup| panel(inputs, of.recourse, subgroup, most));
    context! {
        groups => groups.unwrap_or_default().to_vec(), panels => panels.collect::<Value>(),
        costs => recourse::costs(inputs.audit, of.recourse),
    }
}

fn panel(
    inputs: &BriefInputs<'_>,
    recourse: &str,
    subgroup: &UnfairSubgroup<'_>,
    most: f64,
) -> Value {
    let curves = &subgroup.curves;
    let groups = curves.names.map(|group| cut(&inputs.voice.group(recourse, group), LETTERS));
    let last = curves.steps.len().saturating_sub(1);
    let at = subgroup.cost.map_or(last, |cost| {
        // What rounding left of a sum of costs is no cost.
        let within = curves.steps.iter().take_while(|(of, _)| *of <= cost * (1.0 + 1e-9));
        within.count().saturating_sub(1)
    });
    let bar = |g: usize| {
        let (share, n) = (curves.share(at, g), count(curves.n[g]));
        (share, format!("{} of {n} {}", value_text(NumberFormat::Share, share, None), groups[g]))
    };
    context! {
        traits => &subgroup.traits, cost => curves.steps.get(at).map_or(0.0, |(cost, _)| *cost),
        bars => fact(&[bar(0), bar(1)]),
        curves => curves.facts(most, groups, None),
    }
}
