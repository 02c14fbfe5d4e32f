//! Do the groups get the same decisions, as they are?

use crate::report::brief::digits::value_text;
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::shares::{GroupFavourableShare, ModelShares};
use crate::report::draw::plot::{AxisUnit, KeyShape, PlotScale, axis};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::number::NumberFormat;
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotTable};
use crate::report::page::words::{RichText, short};

/// Rows of groups on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 30;

fn share(of: &GroupFavourableShare) -> String {
    value_text(NumberFormat::Share, of.point.value, of.point.interval)
}

/// What opens the section: the gap that harms most, and how many are clear.
fn lead(inputs: &BriefInputs<'_>) -> RichText {
    let (voice, audit) = (inputs.voice, inputs.audit);
    let gaps: Vec<_> =
        inputs.shares.iter().filter_map(|of| Some((of, of.clear_gap(audit)?))).collect();
    let Some((of, gap)) = gaps.iter().max_by(|a, b| a.1.harmed.total_cmp(&b.1.harmed)) else {
        let all = || inputs.shares.iter().flat_map(|of| &of.groups).map(|group| group.counts);
        return if all().all(|(part, _)| part == 0) {
            "Nobody gets the favourable decision, so there is nothing to compare.".into()
        } else if all().all(|(part, whole)| part == whole) {
            "Everybody gets the favourable decision, so there is nothing to compare.".into()
        } else {
            "The data cannot tell whether the groups differ.".into()
        };
    };
    let [low, high] = [gap.low, gap.high].map(|share| voice.people(&of.attribute, &share.key.from));
    RichText::new().quote(format!(
        "No: {} of {low} {}, against {} of {high}, by {}.",
        share(gap.low),
        voice.get_it(),
        share(gap.high),
        voice.model(&of.model)
    ))
}

/// What is next to the name of a model: how far its groups are apart.
fn apart(inputs: &BriefInputs<'_>, of: &ModelShares) -> String {
    match of.clear_gap(inputs.audit) {
        Some(gap) => {
            let distance = gap.high.point.value - gap.low.point.value;
            // The gap is the one about most people: another group may be lower still.
            let large = of.groups.iter().filter(|group| !group.is_small);
            let lowest = large.min_by(|a, b| a.point.value.total_cmp(&b.point.value));
            let lowest = lowest.filter(|lowest| lowest.key.from != gap.low.key.from);
            let lowest = lowest.map_or_else(String::new, |lowest| {
                let name = inputs.voice.group(&of.attribute, &lowest.key.from);
                format!("; lowest share: {name}")
            });
            format!(
                "{} {} below {}{lowest}",
                inputs.voice.group(&of.attribute, &gap.low.key.from),
                value_text(
                    NumberFormat::Distance,
                    distance,
                    Some((distance - 0.02, distance + 0.02))
                ),
                inputs.voice.group(&of.attribute, &gap.high.key.from)
            )
        }
        None => "no clear difference".to_owned(),
    }
}

/// The section; none where no group was measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    if inputs.shares.is_empty() {
        return None;
    }
    let scale = PlotScale::from_zero(inputs.shares.iter().flat_map(ModelShares::extent), 1.0);
    let mut bodies = vec![PlotBody {
        block: false,
        lines: vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))],
    }];
    let several = inputs.audit.manifest.attributes.len() > 1;
    let (mut rows, mut left) = (0, 0);
    for of in inputs.shares {
        if rows + of.groups.len() > ROWS_AT_MOST && rows > 0 {
            left += 1;
            continue;
        }
        rows += of.groups.len();
        let attribute = if several {
            format!(", by {}", inputs.voice.attribute(&of.attribute))
        } else {
            String::new()
        };
        let heading = RichText::new()
            .quote(format!("{}{attribute}", short(&of.model)))
            .text(" ")
            .small(apart(inputs, of));
        let mut lines = vec![PlotLine::Sub(heading)];
        let href = |anchor: &str| inputs.href(anchor);
        lines.extend(of.lines(inputs.audit, inputs.voice, scale, &href));
        bodies.push(PlotBody { block: false, lines });
    }
    let labelled = inputs.shares.iter().flat_map(|of| &of.groups).any(|g| g.labelled.is_some());
    let mut keys = RichText::new()
        .key(KeyShape::Interval, format!("share {}, with its interval", inputs.voice.holding()));
    if labelled {
        keys = keys.key(KeyShape::GreyRing, "share whose label is the favourable one");
    }
    let label = "Shares of the groups by model".to_owned();
    let mut blocks: Vec<PageBlock> = vec![
        BriefBlock::Lead(lead(inputs)).into(),
        PageBlock::Note(keys),
        BriefBlock::Plots(PlotTable { label, class: "", bodies }).into(),
    ];
    let mut note = RichText::new();
    if left > 0 {
        note = note
            .text(format!("{left} more combinations of model and attribute are in the tables. "));
    }
    note = inputs.link(
        note.text("Accuracy, rates and ratios of each group: "),
        "Groups as they are",
        "groups",
    );
    blocks.push(PageBlock::Note(note.text(".")));
    Some(BriefSection {
        id: "groups",
        title: "Groups as they are: do they get the same decisions?".into(),
        short: "Groups as they are",
        blocks,
    })
}
