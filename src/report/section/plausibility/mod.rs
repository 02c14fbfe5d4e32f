//! Section "How plausible the counterfactuals are": per set and attribute what was made, how far it
//! lies from the rows, and whether it looks like the real rows of the target group; feature by
//! feature, with drawings, for the worst directions.
//!
//! Naive sets are absent: they move nothing that could become implausible. The numbers are those of
//! `cf_quality`, `cf_features` and `cf_distributions`; that a feature ends farther from its target
//! group than it began is said in a word and a shape. [`measures`] is the table of directions,
//! [`features`] a direction feature by feature.

mod features;
mod measures;

use crate::report::draw::chart;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::quality::{FeatureQuality, QualityKey, SetQuality};

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
    let mut blocks = vec![
        PageBlock::Text(
            "A switch is only as credible as its counterfactual. This section compares the \
             counterfactuals of each set that moves features with the real rows of \
             the target group. It does not use a model. Only a domain expert can \
             judge whether a combination of values makes sense; the charts support that judgement."
                .into(),
        ),
        PageBlock::Note(
            RichText::from("In the charts ")
                .strong("the area")
                .text(" shows the original rows, ")
                .strong("the line")
                .text(" their counterfactuals, and ")
                .strong("the dots")
                .text(
                    " are real rows of the target group, weighted to the classes (the labels, \
                     where the set conditions on them) of the counterfactuals. If counterfactuals \
                     look like their target group, the dots are on the line. Within one set and \
                     attribute a feature has the same axes in all charts. Distances to the target \
                     group, from 0 to 1, are Kolmogorov-Smirnov distances for numbers and total \
                     variation for levels, within classes; sd is the standard deviation of the \
                     reference.",
                ),
        ),
    ];
    if audit.manifest.weight.is_some() {
        blocks.push(PageBlock::Note(
            "This section does not use weights: every counterfactual counts once.".into(),
        ));
    }
    let room = QualityBudget::of(audit, &worlds);
    for (i, world) in worlds.iter().enumerate() {
        let most = if i < DETAILED_AT_MOST { room.detailed } else { 0 };
        blocks.extend(set_blocks(audit, world, &room, most, glossary));
    }
    Some(PageSection { id: "plausibility", title: "How plausible the counterfactuals are", blocks })
}

fn set_blocks(
    audit: &AuditFolder,
    world: &SetQuality<'_>,
    room: &QualityBudget,
    detailed: usize,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let words = RichText::new().name(&world.key.attribute).text(": set ").name(&world.key.set);
    let words = if world.strategy.is_empty() {
        words
    } else {
        words.text(format!(" ({})", world.strategy))
    };
    let mut blocks = vec![PageBlock::Heading(format!("w{}", world.id), words)];
    let gone = discarded(audit, world);
    let shapes_at_most = if gone.is_some() { 0 } else { world.directions.len() };
    blocks.extend(gone.or_else(|| farther(audit, world)));
    blocks.extend(measures::blocks(audit, world, room.directions, glossary));
    let shown = &world.directions[..detailed.min(shapes_at_most)];
    if shown.len() < shapes_at_most {
        blocks.push(PageBlock::Note(match shown.len() {
            0 => "Its features are in tables/cf_features.parquet and \
                  tables/cf_distributions.parquet and not shown on the page."
                .into(),
            1 => "Feature by feature for the first direction; the others are in \
                  tables/cf_features.parquet."
                .into(),
            n => format!(
                "Feature by feature for the first {n} directions; the others are in \
                 tables/cf_features.parquet."
            )
            .into(),
        }));
    }
    for (d, direction) in shown.iter().enumerate() {
        let id = format!("w{}-{d}", world.id);
        blocks.extend(features::blocks(audit, shown, direction.pair, &id, room, glossary));
    }
    blocks
}

fn mark() -> String {
    chart::verdict("warn", "mark warn")
}

/// That nothing of a world is left to compare, where all of it was discarded.
fn discarded(audit: &AuditFolder, world: &SetQuality<'_>) -> Option<PageBlock> {
    Some(PageBlock::Text(nothing_left(audit.quality.none_valid(&world.key)?)))
}

/// Of so many counterfactuals none is valid.
fn nothing_left(n: i64) -> RichText {
    let clause = terms::none_valid(n);
    let (first, rest) = clause.split_at(1);
    RichText::new()
        .drawing(mark())
        .strong(format!("{}{rest}:", first.to_uppercase()))
        .text(" there is nothing to compare.")
}

/// Which features ended farther from their target group than they began, over all directions.
fn farther(audit: &AuditFolder, world: &SetQuality<'_>) -> Option<PageBlock> {
    let mut found: Vec<(&QualityKey, &FeatureQuality)> = Vec::new();
    let mut n_moved = 0;
    for direction in &world.directions {
        let features = audit.quality.features(direction.pair);
        n_moved += features.iter().filter(|f| f.moved()).count();
        found.extend(features.into_iter().filter(|f| f.is_farther()).map(|f| (direction.pair, f)));
    }
    if found.is_empty() {
        let words = match n_moved {
            0 => "No feature moved in any direction.".to_owned(),
            1 => "The one feature that moved ended no farther from its target group than it began."
                .to_owned(),
            n => format!(
                "Over all directions a feature moved {}, and never ended farther from its target \
                 group than it began.",
                times(n)
            ),
        };
        return Some(PageBlock::Text(words.into()));
    }
    let gap = |f: &FeatureQuality| {
        f.value("dist_after").unwrap_or(0.0) - f.value("dist_before").unwrap_or(0.0)
    };
    // The sort is stable, so ties stay in the order of the directions.
    found.sort_by(|a, b| gap(b.1).total_cmp(&gap(a.1)));
    let mut words = RichText::new().drawing(mark()).strong("Farther: ").text(format!(
        "over all directions a feature moved {}, and ended farther from its target group than it \
         began {}: ",
        times(n_moved),
        times(found.len()),
    ));
    for (i, (pair, feature)) in found.iter().take(3).enumerate() {
        words = words
            .text(if i > 0 { ", " } else { "" })
            .name(&feature.name)
            .text(" (")
            .and(RichText::direction(&pair.from, &pair.to));
        if let (Some(before), Some(after)) =
            (feature.value("dist_before"), feature.value("dist_after"))
        {
            let but =
                if feature.is_nearer_by_wasserstein() { ", but nearer by Wasserstein" } else { "" };
            words = words.text(format!(
                ": {} to {}{but}",
                number::three_digits(before),
                number::three_digits(after)
            ));
        }
        words = words.text(")");
    }
    let rest = found.len().saturating_sub(3);
    Some(PageBlock::Text(words.text(if rest > 0 {
        format!(" and {} more.", count(rest))
    } else {
        ".".to_owned()
    })))
}

/// So many times.
fn times(n: usize) -> String {
    if n == 1 { "once".to_owned() } else { format!("{} times", count(n)) }
}

/// A count of things in memory.
fn count(n: usize) -> String {
    number::count(i64::try_from(n).unwrap_or(i64::MAX))
}

/// In place of a value that is not there.
fn none() -> PageCell {
    "\u{2013}".into()
}

/// How many of `n` a share is; none where the share is of others than these.
fn counted(share: f64, n: i64) -> Option<i64> {
    let part = share * n as f64;
    ((part - part.round()).abs() < 1e-6).then(|| part.round() as i64)
}

/// A share in per cent, below it of how many.
fn share(share: f64, n: i64) -> PageCell {
    let of = counted(share, n)
        .map(|part| format!("{} of {}", number::count(part), number::count(n)).into());
    PageCell {
        main: number::NumberFormat::Share.value(share).into(),
        small: of.into_iter().collect(),
        ..PageCell::default()
    }
}
