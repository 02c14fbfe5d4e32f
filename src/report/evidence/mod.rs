//! The evidence behind the brief: one section for each question, each with a sentence that answers
//! it and one picture.

mod as_they_are;
mod cases;
mod changes;
mod class_moves;
mod ladder;
mod mosaics;
mod path;
mod ranking;
mod reach;
pub(crate) mod retraining;
mod scores;
mod trend;
mod why;
mod worlds;

use crate::report::brief::inputs::BriefInputs;
use crate::report::page::PageSection;

/// The sections that have something to show.
pub(crate) fn sections(inputs: &BriefInputs<'_>) -> Vec<PageSection> {
    let sections = [
        as_they_are::section(inputs),
        mosaics::section(inputs),
        path::section(inputs),
        class_moves::section(inputs),
        why::section(inputs),
        ladder::section(inputs),
        scores::section(inputs),
        ranking::section(inputs),
        worlds::section(inputs),
        cases::section(inputs, &inputs.choose_hero()),
        retraining::section(inputs),
        reach::section(inputs),
        changes::section(inputs),
        trend::section(inputs),
    ];
    sections.into_iter().flatten().collect()
}
