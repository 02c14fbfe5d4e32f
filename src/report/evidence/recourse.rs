//! Who has a way out of the unfavourable decision.

use crate::report::brief::inputs::BriefInputs;
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::plots::BriefBlock;
use crate::report::page::words::RichText;
use crate::report::section::recourse;

/// The section; none where the job asks for no recourse.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    if !recourse::is_there(inputs.audit) {
        return None;
    }
    let mut blocks: Vec<PageBlock> = Vec::new();
    let told = recourse::evidence(inputs.audit);
    for (i, words) in told.into_iter().enumerate() {
        blocks.push(if i == 0 { BriefBlock::Lead(words).into() } else { PageBlock::Text(words) });
    }
    if blocks.is_empty() {
        blocks.push(BriefBlock::Lead("Nothing could be compared.".into()).into());
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
