//! How the counterfactuals of a set look: the features that move, for the people as they are, for
//! their counterfactuals, and for the real people of the other group. Facts only; the sentences are
//! in `worlds.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::harm::{HarmResult, ranked};
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::world::{LevelOrder, feature_shapes, has_shapes, moved_share};
use crate::report::page::PageSection;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::FeatureQuality;
use crate::text::fact;

/// Features that are drawn; the others are in the annex.
const FEATURES_AT_MOST: usize = 6;

/// Features that the opening sentence names.
const NAMED_AT_MOST: usize = 3;

/// The direction that is shown: the one that harms most among those whose features were compared.
fn direction<'a>(inputs: &BriefInputs<'a>) -> Option<(&'a HarmResult, ResultKey)> {
    let quality = &inputs.audit.quality;
    let is_moved = |pair: &ResultKey| quality.features(pair).iter().any(|f| f.moved());
    let keys = ranked(inputs.results).into_iter().map(|result| (result, result.key.of_any_model()));
    keys.into_iter().find(|(_, pair)| is_moved(pair))
}

/// The section; none without a set that moves features, or where their quality was not measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let (result, pair) = direction(inputs)?;
    let quality = &inputs.audit.quality;
    let mut moved: Vec<&FeatureQuality> =
        quality.features(&pair).into_iter().filter(|f| f.moved()).collect();
    let farther: Vec<&str> =
        moved.iter().filter(|f| f.is_farther()).map(|f| f.name.as_str()).collect();
    moved.sort_by(|a, b| moved_share(b).total_cmp(&moved_share(a)));
    let drawn = moved.iter().filter(|f| has_shapes(f)).take(FEATURES_AT_MOST);
    let panel = |feature: &&FeatureQuality| {
        let shapes = feature_shapes(feature, &[feature], LevelOrder::Moved);
        context!(feature => &feature.name, shapes)
    };
    let panels: Vec<Value> = drawn.map(panel).collect();
    let made = quality.value(&pair, "n_cf").zip(quality.value(&pair, "share_discarded"));
    let facts = context! {
        result => fact(result), moved => moved.len(), farther => farther.len(),
        named => farther.into_iter().take(NAMED_AT_MOST).collect::<Value>(),
        left => moved.len() - panels.len(), panels,
        discarded => made.filter(|(_, share)| *share > 0.0).map(|(n, share)| {
            context!(out => n * share, all => n, share)
        }),
    };
    Some(PageSection::of_facts("worlds", "worlds.html", facts))
}
