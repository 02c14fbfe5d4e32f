//! A direction feature by feature: which features moved and where to, which did not, and drawings
//! of those that moved, with their numbers.

use std::cmp::Ordering::{Equal, Greater, Less};

use minijinja::context;
use minijinja::value::Value;

use crate::report::draw::world::{LevelOrder, feature_shapes, has_shapes};
use crate::report::page::number::on_axis;
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::{RichText, level};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::{DirectionQuality, DistributionBar, FeatureQuality};
use crate::report::section::plausibility::QualityBudget;
use crate::text::fact;

/// The measures that the tables show.
const MEASURES: [&str; 8] = [
    "share_changed",
    "mean_change",
    "mean_abs_change_sd",
    "dist_before",
    "dist_after",
    "w1_before",
    "w1_after",
    "out_of_range",
];

/// The columns of what moved, and of what did not, by their first measure.
const MOVED: [&str; 7] = [
    "moved",
    "share_changed",
    "mean_change",
    "dist_before",
    "dist_after",
    "w1_after",
    "out_of_range",
];
const STILL: [&str; 3] = ["dist_after", "w1_after", "out_of_range"];

/// What moved, with drawings and their numbers, and what did not. `shown` are the directions of the
/// world that the page draws.
pub(super) fn facts(
    audit: &AuditFolder,
    shown: &[DirectionQuality<'_>],
    pair: &ResultKey,
    id: &str,
    room: &QualityBudget,
    glossary: &mut PageGlossary<'_>,
) -> Value {
    let facts = context!(part => "features", from => &pair.from, to => &pair.to);
    if let Some(n) = audit.quality.none_valid(pair) {
        return context!(nothing => n, ..facts);
    }
    let all = audit.quality.features(pair);
    for measure in
        MEASURES.into_iter().filter(|measure| all.iter().any(|f| f.value(measure).is_some()))
    {
        glossary.show(measure);
    }
    let (moved, still): (Vec<&FeatureQuality>, Vec<&FeatureQuality>) =
        all.into_iter().partition(|f| f.moved());
    let farthest =
        still.first().map(|f| context!(name => &f.name, distance => f.value("dist_after")));
    context! {
        nothing => (), n_moved => moved.len(), n_still => still.len(), farthest,
        moved => table(&MOVED, &moved[..moved.len().min(room.features)], Some(id)),
        drawn => drawings(audit, shown, &moved, room),
        still => table(&STILL, &still[..still.len().min(room.features)], None), ..facts
    }
}

/// Measures of features; those that none of them has are left out. None without a feature.
fn table(columns: &[&'static str], shown: &[&FeatureQuality], id: Option<&str>) -> Option<Value> {
    let without = |feature: &FeatureQuality| feature.n() - feature.n_compared();
    let is_there = |of: &&&str| {
        shown.iter().any(|f| f.value(of).is_some() || **of == "out_of_range" && without(f) > 0)
    };
    let row = |(i, feature): (usize, &&FeatureQuality)| {
        context! {
            id => id.map_or_else(String::new, |id| format!("{id}-f{i}")), n => feature.n(),
            head => RichText::new().name(&feature.name), compared => feature.n_compared(),
            values => fact(&feature.values), drift => drift(feature),
        }
    };
    let columns = columns.iter().filter(|of| **of == "moved" || is_there(of));
    (!shown.is_empty()).then(|| {
        let rows = shown.iter().enumerate().map(row).collect::<Value>();
        context!(columns => columns.copied().collect::<Value>(), rows)
    })
}

/// Whether a feature moved nearer to the target group or farther from it, as a word.
fn drift(feature: &FeatureQuality) -> &'static str {
    match feature.drift() {
        Some(Greater) if feature.is_nearer_by_wasserstein() => "farther_but",
        Some(Greater) => "farther",
        Some(Less) => "nearer",
        _ if !feature.moved() => "still",
        Some(Equal) => "as_far",
        None => "nothing",
    }
}

/// The distributions of what moved, and their numbers; none where none is drawn.
fn drawings(
    audit: &AuditFolder,
    shown: &[DirectionQuality<'_>],
    moved: &[&FeatureQuality],
    room: &QualityBudget,
) -> Option<Value> {
    let of_pairs: Vec<Vec<&FeatureQuality>> =
        shown.iter().map(|d| audit.quality.features(d.pair)).collect();
    // The distances of what is drawn are in the table.
    let stand = moved.iter().take(room.features).copied();
    let drawn: Vec<&FeatureQuality> = stand.filter(|f| has_shapes(f)).take(room.drawn).collect();
    let panel = |feature: &&FeatureQuality| {
        let alike = of_pairs.iter().flatten().copied().filter(|f| f.name == feature.name);
        let shapes = feature_shapes(feature, &alike.collect::<Vec<_>>(), LevelOrder::Apart);
        context!(feature => &feature.name, shapes)
    };
    (!drawn.is_empty()).then(|| {
        context! {
            all => moved.len(), panels => drawn.iter().map(panel).collect::<Value>(),
            bars => drawn.iter().map(|feature| bars(feature)).collect::<Value>(),
        }
    })
}

/// The numbers of a drawing.
fn bars(feature: &FeatureQuality) -> Value {
    let last = feature.bars.last().and_then(|bar| bar.edges);
    let row = |bar: &DistributionBar| {
        // The counts next to them are those between the edges: they are reported to a thousandth
        // of a bin.
        let edges =
            bar.edges.map(|(lo, hi)| [lo, hi].map(|at| on_axis(at, (hi - lo) / 10.0)).to_vec());
        context! {
            edges, is_last => bar.edges == last, level => &*level(&bar.level), rest => bar.rest,
            cells => (0..3).map(|side| context!(n => bar.n[side], share => bar.share[side]))
                .collect::<Value>(),
        }
    };
    let held = feature.bars.iter().filter(|bar| bar.n.iter().any(|n| *n > 0));
    let rows: Value = held.map(row).collect();
    context!(feature => &feature.name, is_number => last.is_some(), rows)
}
