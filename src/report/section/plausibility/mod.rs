//! Section "How plausible the counterfactuals are": per set and attribute what was made, how far it
//! lies from the rows, and whether it looks like the real rows of the target group; feature by
//! feature, with drawings, for the worst directions.
//!
//! Naive sets are absent: they move nothing that could become implausible. The numbers are those of
//! `cf_quality`, `cf_features` and `cf_distributions`; a feature that ends farther from its target
//! group than it began is marked by a word and a shape. [`measures`] is the table of directions,
//! [`features`] a direction feature by feature, [`map`] the map of a set.

mod features;
mod measures;
mod row_map;

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::terms::PageGlossary;
use crate::report::page::{PageBlock, PageSection};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::{FeatureQuality, SetQuality};

/// Rows of the tables of directions, over all worlds.
const DIRECTIONS_AT_MOST: usize = 96;

/// Directions that are shown feature by feature: in one world, and over all.
const DETAILED_OF_A_WORLD: usize = 2;
const DETAILED_AT_MOST: usize = 16;

/// Drawings of one direction, and over all.
const DRAWN_OF_A_DIRECTION: usize = 8;
const DRAWN_AT_MOST: usize = 64;

/// How much of each world the page has room for.
struct QualityBudget {
    directions: usize,
    detailed: usize,
    features: usize,
    drawn: usize,
}

impl QualityBudget {
    fn of(audit: &AuditFolder, worlds: &[SetQuality<'_>]) -> Self {
        let each = |all: usize, n: usize| all / n.max(1);
        let detailed = each(DETAILED_AT_MOST, worlds.len()).clamp(1, DETAILED_OF_A_WORLD);
        let details: usize = worlds
            .iter()
            .take(DETAILED_AT_MOST)
            .map(|world| world.directions.len().min(detailed))
            .sum();
        QualityBudget {
            directions: each(DIRECTIONS_AT_MOST, worlds.len()).clamp(2, audit.rows_shown().max(2)),
            detailed,
            features: audit.rows_shown(),
            drawn: each(DRAWN_AT_MOST, details).clamp(2, DRAWN_OF_A_DIRECTION),
        }
    }
}

/// The section; none where the job has no set that moves features, or does not measure their
/// quality.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let worlds = audit.set_qualities();
    if worlds.is_empty() {
        return None;
    }
    let weighted = audit.manifest.weight.is_some();
    let facts = context!(part => "introduction", weighted);
    let mut blocks = vec![PageBlock("plausibility.html", facts)];
    let room = QualityBudget::of(audit, &worlds);
    for (i, world) in worlds.iter().enumerate() {
        let most = if i < DETAILED_AT_MOST { room.detailed } else { 0 };
        blocks.extend(set_blocks(audit, world, &room, most, glossary));
    }
    Some(PageSection::new("plausibility", blocks))
}

fn set_blocks(
    audit: &AuditFolder,
    world: &SetQuality<'_>,
    room: &QualityBudget,
    detailed: usize,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let nothing = audit.quality.none_valid(&world.key);
    let shapes = if nothing.is_some() { 0 } else { world.directions.len() };
    let shown = &world.directions[..detailed.min(shapes)];
    let mut found: Vec<(&ResultKey, &FeatureQuality)> = Vec::new();
    let mut moved = 0;
    for direction in &world.directions {
        let features = audit.quality.features(direction.pair);
        moved += features.iter().filter(|f| f.moved()).count();
        found.extend(features.into_iter().filter(|f| f.is_farther()).map(|f| (direction.pair, f)));
    }
    let gap = |f: &FeatureQuality| {
        f.value("dist_after").unwrap_or(0.0) - f.value("dist_before").unwrap_or(0.0)
    };
    // The sort is stable, so ties stay in the order of the directions.
    found.sort_by(|a, b| gap(b.1).total_cmp(&gap(a.1)));
    let farther = found.iter().take(3).map(|(pair, feature)| {
        let both = feature.value("dist_before").zip(feature.value("dist_after"));
        context! {
            feature => &feature.name, from => &pair.from, to => &pair.to,
            before => both.map(|both| both.0), after => both.map(|both| both.1),
            but => feature.is_nearer_by_wasserstein(),
        }
    });
    let facts = context! {
        part => "set", id => format!("w{}", world.id), attribute => &world.key.attribute,
        set => &world.key.set, strategy => world.strategy, nothing, moved,
        n_farther => found.len(), farther => farther.collect::<Value>(),
        measures => measures::facts(audit, world, room.directions, glossary), shapes,
        shown => shown.len(), map => row_map::facts(audit, &world.key, shown),
    };
    let mut blocks = vec![PageBlock("plausibility.html", facts)];
    for (d, direction) in shown.iter().enumerate() {
        let id = format!("w{}-{d}", world.id);
        let facts = features::facts(audit, shown, direction.pair, &id, room, glossary);
        blocks.push(PageBlock("plausibility.html", facts));
    }
    blocks
}
