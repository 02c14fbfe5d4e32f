//! Who has a way out of the unfavourable decision: in words, and the worst subgroups as bars and
//! curves where people and chance allow a conclusion.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::reach::{ReachEnd, reach_bars, reach_curves};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::value_text;
use crate::report::page::number::{NumberFormat, count, three_digits};
use crate::report::page::plots::BriefBlock;
use crate::report::page::words::RichText;
use crate::report::section::recourse;
use crate::report::section::recourse::cards::{UnfairSubgroup, UnfairSubgroups, unfair_subgroups};
use crate::report::section::recourse::curve::end_of;

/// Subgroups of a comparison on the page, and comparisons.
const SUBGROUPS_AT_MOST: usize = 4;
const COMPARISONS_AT_MOST: usize = 2;

/// The section; none where the job asks for no recourse.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    if !recourse::is_there(inputs.audit) {
        return None;
    }
    let mut blocks: Vec<PageBlock> = Vec::new();
    let told = recourse::evidence(inputs.audit, inputs.voice, inputs.limits);
    for comparison in told {
        blocks.push(BriefBlock::Lead(comparison.answer).into());
        blocks.extend(comparison.people.map(PageBlock::Text));
        blocks.extend(comparison.limits.map(PageBlock::Text));
    }
    if blocks.is_empty() {
        blocks.push(BriefBlock::Lead("Nothing could be compared.".into()).into());
    }
    blocks.extend(recourse::persons_judged(inputs.audit).map(PageBlock::Text));
    let worst = unfair_subgroups(inputs.audit, SUBGROUPS_AT_MOST);
    for of in worst.iter().take(COMPARISONS_AT_MOST) {
        blocks.extend(pictures(inputs, of));
    }
    let note = RichText::from("Subgroups, actions and what people may change: ");
    blocks.push(PageBlock::Note(inputs.link(note, "Recourse", "recourse").text(".")));
    Some(BriefSection {
        id: "recourse",
        title: "Recourse: who can change the decision?".into(),
        short: "Recourse",
        blocks,
    })
}

/// The worst subgroups of a comparison, on one axis of costs.
fn pictures(inputs: &BriefInputs<'_>, of: &UnfairSubgroups<'_>) -> Option<PageBlock> {
    let first = of.subgroups.first()?;
    let [a, b] = first.curves.names.map(|group| inputs.voice.people(of.recourse, group));
    let most = end_of(of.subgroups.iter().map(|subgroup| &subgroup.curves));
    let panels = of.subgroups.iter().map(|subgroup| panel(inputs, of.recourse, subgroup, most));
    let costs = recourse::costs(inputs.audit, of.recourse);
    let facts = context!(first => a, second => b, costs, panels => panels.collect::<Value>());
    Some(PageBlock::Part("reach.html", facts))
}

/// A group next to a bar or curve, where there is room for few letters.
fn few_letters(group: &str) -> String {
    match group.char_indices().nth(20) {
        None => group.to_owned(),
        Some((at, _)) => format!("{}\u{2026}", &group[..at]),
    }
}

fn panel(
    inputs: &BriefInputs<'_>,
    recourse: &str,
    subgroup: &UnfairSubgroup<'_>,
    most: f64,
) -> Value {
    let curves = &subgroup.curves;
    let groups = curves.names.map(|group| few_letters(&inputs.voice.group(recourse, group)));
    let share = |step: usize, g: usize| {
        let helped = curves.steps.get(step).map_or(0, |(_, helped)| helped[g]);
        helped as f64 / curves.n[g].max(1) as f64
    };
    let percent = |share: f64| value_text(NumberFormat::Share, share, None);
    let last = curves.steps.len().saturating_sub(1);
    let at = subgroup.cost.map_or(last, |cost| {
        // What rounding left of a sum of costs is no cost.
        let within = curves.steps.iter().take_while(|(of, _)| *of <= cost * (1.0 + 1e-9));
        within.count().saturating_sub(1)
    });
    let cost = curves.steps.get(at).map_or(0.0, |(cost, _)| *cost);
    let bar = |g: usize| {
        let share = share(at, g);
        ReachEnd {
            share,
            text: format!("{} of {} {}", percent(share), count(curves.n[g]), groups[g]),
        }
    };
    let end = |g: usize| {
        let share = share(last, g);
        ReachEnd { share, text: format!("{} {}", groups[g], percent(share)) }
    };
    let steps: Vec<(f64, [f64; 2])> = (0..curves.steps.len())
        .map(|step| (curves.steps[step].0, [share(step, 0), share(step, 1)]))
        .collect();
    let within = format!("within cost {}", three_digits(cost));
    let (bars, ends) = ([bar(0), bar(1)], [end(0), end(1)]);
    let told = format!("{within}: {}; {}", bars[0].text, bars[1].text);
    let title = format!("Share helped by cost: {}", subgroup.traits);
    context! {
        traits => &subgroup.traits, within, bars => reach_bars(&told, &bars),
        curves => reach_curves(&title, &steps, most, &ends),
    }
}
