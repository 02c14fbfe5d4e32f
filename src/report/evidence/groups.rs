//! Do the groups get the same decisions, as they are? Facts only; `as_they_are.html` says them.

use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::shares::{
    GroupFavourableShare, GroupRowFacts, GroupShareFacts, ModelShares,
};
use crate::report::brief::voice::{CalledAttribute, CalledGroup, CalledModel};
use crate::report::draw::plot::PlotScale;
use crate::report::page::PageSection;

/// Rows of groups on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 30;

/// What opens the section.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum GroupsLead {
    /// The gap that harms most.
    Gap { model: CalledModel, low: Box<GroupShareFacts>, high: Box<GroupShareFacts> },
    /// Nobody gets the favourable decision.
    Nobody,
    /// Everybody gets it.
    Everybody,
    /// No difference is clear.
    Unclear,
}

/// How far the groups of a model are apart.
#[derive(Serialize)]
struct GapDistance {
    low: CalledGroup,
    high: CalledGroup,
    distance: f64,
    /// The group with the lowest share, where it is another one: the gap is the one about most
    /// people.
    lowest: Option<CalledGroup>,
}

/// The groups of an attribute under a model.
#[derive(Serialize)]
struct ModelGroupRows {
    model: CalledModel,
    /// None of the only attribute.
    attribute: Option<CalledAttribute>,
    apart: Option<GapDistance>,
    rows: Vec<GroupRowFacts>,
}

#[derive(Serialize)]
struct GroupsFacts {
    lead: GroupsLead,
    labelled: bool,
    scale: PlotScale,
    shown: Vec<ModelGroupRows>,
    /// Combinations of model and attribute that the page has no room for.
    left: usize,
}

fn lead(inputs: &BriefInputs<'_>) -> GroupsLead {
    let (voice, audit) = (inputs.voice, inputs.audit);
    let gaps = inputs.shares.iter().filter_map(|of| Some((of, of.clear_gap(audit)?)));
    let Some((of, gap)) = gaps.max_by(|a, b| a.1.harmed.total_cmp(&b.1.harmed)) else {
        let mut all = inputs.shares.iter().flat_map(|of| &of.groups).map(|group| group.counts);
        return if all.clone().all(|(part, _)| part == 0) {
            GroupsLead::Nobody
        } else if all.all(|(part, whole)| part == whole) {
            GroupsLead::Everybody
        } else {
            GroupsLead::Unclear
        };
    };
    let [low, high] = [gap.low, gap.high].map(|share| Box::new(share.facts(voice)));
    GroupsLead::Gap { model: voice.called_model(&of.model), low, high }
}

fn apart(inputs: &BriefInputs<'_>, of: &ModelShares) -> Option<GapDistance> {
    let gap = of.clear_gap(inputs.audit)?;
    let called =
        |share: &GroupFavourableShare| inputs.voice.called_group(&of.attribute, &share.key.from);
    let large = of.groups.iter().filter(|group| !group.is_small);
    let lowest = large.min_by(|a, b| a.point.value.total_cmp(&b.point.value));
    let lowest = lowest.filter(|lowest| lowest.key.from != gap.low.key.from);
    Some(GapDistance {
        low: called(gap.low),
        high: called(gap.high),
        distance: gap.high.point.value - gap.low.point.value,
        lowest: lowest.map(called),
    })
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
        shown.push(ModelGroupRows {
            model: voice.called_model(&of.model),
            attribute: several.then(|| voice.called_attribute(&of.attribute)),
            apart: apart(inputs, of),
            rows: of.rows(audit, voice),
        });
    }
    let facts = GroupsFacts {
        lead: lead(inputs),
        labelled: inputs.shares.iter().flat_map(|of| &of.groups).any(|g| g.labelled.is_some()),
        scale: PlotScale::from_zero(inputs.shares.iter().flat_map(ModelShares::extent), 1.0),
        shown,
        left,
    };
    let title = "Groups as they are: do they get the same decisions?";
    let names = ["groups", title, "Groups as they are"];
    Some(PageSection::in_short(names, "as_they_are.html", Value::from(Serde(&facts))))
}
