//! The evidence behind the brief: one section for each question, each with a sentence that answers
//! it and one picture.

mod against;
mod cases;
mod classes;
mod groups;
mod ladder;
mod path;
mod ranking;
mod recourse;
pub(crate) mod retraining;
mod scores;
mod switches;
mod trend;
mod why;
mod worlds;

use crate::report::brief::inputs::BriefInputs;
use crate::report::page::PageSection;

/// The sections that have something to show.
pub(crate) fn sections(inputs: &BriefInputs<'_>) -> Vec<PageSection> {
    let sections = [
        groups::section(inputs),
        switches::section(inputs),
        path::section(inputs),
        classes::section(inputs),
        why::section(inputs),
        ladder::section(inputs),
        scores::section(inputs),
        ranking::section(inputs),
        worlds::section(inputs),
        cases::section(inputs, &inputs.choose_hero()),
        retraining::section(inputs),
        recourse::section(inputs),
        against::section(inputs),
        trend::section(inputs),
    ];
    sections.into_iter().flatten().collect()
}
