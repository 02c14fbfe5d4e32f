//! What the people look like whom a set makes: the features that move, for the people as they are,
//! for their counterparts, and for the real people of the other group.

use crate::report::brief::harm::{HarmResult, ranked};
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::KeyShape;
use crate::report::draw::world::{feature_shapes, moved_share};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::value_text;
use crate::report::page::number::{NumberFormat, count};
use crate::report::page::plots::{BriefBlock, ChartPanel};
use crate::report::page::words::{RichText, short};
use crate::report::read::quality::{FeatureQuality, QualityKey};

/// Features that are drawn; the others stand in the annex.
const FEATURES_AT_MOST: usize = 6;

/// The direction that is shown: the one that harms most among those whose features were compared.
fn direction(inputs: &BriefInputs<'_>) -> Option<QualityKey> {
    let key = |result: &&HarmResult| QualityKey {
        set: result.key.set.clone(),
        attribute: result.key.attribute.clone(),
        from: result.key.from.clone(),
        to: result.key.to.clone(),
    };
    let quality = &inputs.audit.quality;
    let is_moved = |pair: &QualityKey| quality.features(pair).iter().any(|f| f.moved());
    ranked(inputs.results).iter().map(key).find(is_moved)
}

/// How many features change, and which of them end farther from the real people of the group.
fn lead(inputs: &BriefInputs<'_>, pair: &QualityKey, moved: &[&FeatureQuality]) -> RichText {
    let voice = inputs.voice;
    let to = voice.people(&pair.attribute, &pair.to);
    let farther: Vec<&str> =
        moved.iter().filter(|f| f.is_farther()).map(|f| f.name.as_str()).collect();
    let words = RichText::new().quote(format!(
        "For {} {} ({}), {}; ",
        voice.people(&pair.attribute, &pair.from),
        voice.as_group(&pair.attribute, &pair.to),
        voice.set_label(&pair.set),
        match moved.len() {
            1 => "the values of 1 feature change".to_owned(),
            n => format!("the values of {n} features change"),
        }
    ));
    let than = format!("farther from real {to} than before");
    match (farther.len(), moved.len()) {
        (0, 1) => words.quote(format!("it does not end {than}.")),
        (0, _) => words.quote(format!("none of them ends {than}.")),
        (n, _) => {
            let ends = if n == 1 { "1 ends".to_owned() } else { format!("{n} end") };
            let mut words = words.quote(format!("{ends} {than}: "));
            for (i, name) in farther.iter().take(3).enumerate() {
                words = words.text(if i > 0 { ", " } else { "" }).name(*name);
            }
            let more = n.saturating_sub(3);
            if more > 0 { words.text(format!(" and {more} more.")) } else { words.text(".") }
        }
    }
}

/// How many counterparts were left out; nothing where none was.
fn discarded(inputs: &BriefInputs<'_>, pair: &QualityKey) -> RichText {
    let values = inputs.audit.quality.values(pair);
    let value = |measure: &str| values.and_then(|of| of.get(measure).copied().flatten());
    match (value("n_cf"), value("share_discarded")) {
        (Some(n), Some(share)) if share > 0.0 => {
            // Counts of rows are far below the end of exact whole numbers.
            let (all, out) = (n.round() as i64, (n * share).round() as i64);
            RichText::from(format!(
                "{} of {} counterparts ({}) do not fit into the other group and are excluded from \
                 the results of this test. ",
                count(out),
                count(all),
                value_text(NumberFormat::Share, share, None)
            ))
        }
        _ => RichText::new(),
    }
}

/// The section; none without a set that moves features, or where their quality was not measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let pair = direction(inputs)?;
    let voice = inputs.voice;
    let mut moved: Vec<&FeatureQuality> =
        inputs.audit.quality.features(&pair).into_iter().filter(|f| f.moved()).collect();
    let lead = lead(inputs, &pair, &moved);
    moved.sort_by(|a, b| moved_share(b).total_cmp(&moved_share(a)));
    let title = |feature: &FeatureQuality| {
        format!(
            "{}: {} {}",
            short(&feature.name),
            voice.group(&pair.attribute, &pair.from),
            voice.as_group(&pair.attribute, &pair.to)
        )
    };
    let panel = |feature: &&FeatureQuality| ChartPanel {
        title: RichText::new().name(&feature.name),
        drawing: feature_shapes(feature, &title(feature)),
    };
    let drawn = moved.iter().filter(|f| !f.bars.is_empty()).take(FEATURES_AT_MOST);
    let panels: Vec<ChartPanel> = drawn.map(panel).collect();
    let left = moved.len() - panels.len();
    let mut blocks: Vec<PageBlock> = vec![BriefBlock::Lead(lead).into()];
    if !panels.is_empty() {
        let [from, to] = [&pair.from, &pair.to].map(|group| voice.people(&pair.attribute, group));
        let keys = RichText::new()
            .key(KeyShape::Area, format!("{from} as they are"))
            .key(KeyShape::Line, format!("the same {}", voice.as_group(&pair.attribute, &pair.to)))
            .key(KeyShape::Dashes, format!("real {to}"))
            .text("Of levels: bar, dot and ring. Shares of people.");
        blocks.push(PageBlock::Note(keys));
        blocks.push(BriefBlock::Panels("multi", panels).into());
    }
    let mut note = discarded(inputs, &pair);
    if left > 0 {
        note = note.text(format!("The values of {left} more features change. "));
    }
    let note = inputs.link(
        note.text("All features, distances and directions: "),
        "How plausible the counterfactuals are",
        "plausibility",
    );
    blocks.push(PageBlock::Note(note.text(".")));
    Some(BriefSection {
        id: "worlds",
        title: "Do the changed people look real?".into(),
        short: "Changed people",
        blocks,
    })
}
