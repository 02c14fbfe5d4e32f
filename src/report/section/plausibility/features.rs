//! A direction feature by feature: what moved and where to, what did not, and drawings of what
//! moved with their numbers.

use minijinja::context;
use minijinja::value::Value;

use crate::report::draw::shapes;
use crate::report::page::number::{self, NumberFormat, on_axis, three_digits};
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::{RichText, level};
use crate::report::page::{PageCell, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::quality::{DirectionQuality, DistributionBar, FeatureQuality, QualityKey};
use crate::report::section::plausibility::{QualityBudget, mark, nothing_left, share};

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

/// What moved, with drawings and their numbers, and what did not. `shown` are the directions of the
/// world that the page draws.
pub(super) fn facts(
    audit: &AuditFolder,
    shown: &[DirectionQuality<'_>],
    pair: &QualityKey,
    id: &str,
    room: &QualityBudget,
    glossary: &mut PageGlossary<'_>,
) -> Value {
    let (from, to) = (&pair.from, &pair.to);
    if let Some(n) = audit.quality.none_valid(pair) {
        return context!(part => "features", from, to, nothing => nothing_left(n));
    }
    let all = audit.quality.features(pair);
    for measure in
        MEASURES.into_iter().filter(|measure| all.iter().any(|f| f.value(measure).is_some()))
    {
        glossary.show(measure);
    }
    let (moved, still): (Vec<&FeatureQuality>, Vec<&FeatureQuality>) =
        all.into_iter().partition(|f| f.moved());
    let farthest = still
        .first()
        .map(|f| context!(name => &f.name, distance => f.value("dist_after").map(three_digits)));
    context! {
        part => "features", from, to, nothing => (), n_moved => moved.len(), n_still => still.len(),
        moved => moved_table(&moved[..moved.len().min(room.features)], id).filled(),
        drawn => drawings(audit, shown, pair, &moved, id, room.drawn), farthest,
        still => unmoved_table(&still[..still.len().min(room.features)]).filled(),
    }
}

fn outside(feature: &FeatureQuality) -> PageCell {
    let mut cell = feature
        .value("out_of_range")
        .map_or_else(PageCell::none, |outside| share(outside, feature.n_compared()));
    let without = feature.n() - feature.n_compared();
    if without > 0 {
        cell.small.push(format!("{} not compared", number::count(without)).into());
    }
    cell
}

fn number_cell(feature: &FeatureQuality, measure: &str) -> PageCell {
    feature.value(measure).map_or_else(PageCell::none, |value| three_digits(value).into())
}

fn moved_table(shown: &[&FeatureQuality], id: &str) -> PageTable {
    // Columns without any value, such as those of numbers, are left out.
    let head = [
        "Feature",
        "Moved",
        "Changed",
        "Mean change",
        "Distance before",
        "after",
        "Wasserstein after",
        "Out of range",
    ];
    let rows = shown.iter().enumerate().map(|(i, feature)| {
        let value = |measure: &str| feature.value(measure);
        let changed = value("share_changed");
        let size = value("mean_abs_change_sd").map(three_digits);
        let before = value("w1_before").map(three_digits);
        let cells = [
            movement_in_words(feature).into(),
            changed.map_or_else(PageCell::none, |changed| share(changed, feature.n())),
            value("mean_change").map_or_else(PageCell::none, |mean| {
                let size = size.map(|size| format!("size {size} sd"));
                PageCell::new(NumberFormat::FeatureUnit.value(mean), size)
            }),
            number_cell(feature, "dist_before"),
            number_cell(feature, "dist_after"),
            value("w1_after").map_or_else(PageCell::none, |after| {
                PageCell::new(three_digits(after), before.map(|before| format!("before {before}")))
            }),
            outside(feature),
        ];
        let row = ReportRow::new(RichText::new().name(&feature.name), cells);
        ReportRow { id: format!("{id}-f{i}"), ..row }
    });
    PageTable::new(head, rows)
}

fn unmoved_table(shown: &[&FeatureQuality]) -> PageTable {
    let row = |feature: &&FeatureQuality| {
        let [distance, w1] = ["dist_after", "w1_after"].map(|of| number_cell(feature, of));
        ReportRow::new(RichText::new().name(&feature.name), [distance, w1, outside(feature)])
    };
    let head = ["Feature", "Distance", "Wasserstein", "Out of range"];
    PageTable::new(head, shown.iter().map(row))
}

/// Where a feature moved to, in words; away from the target also in a shape.
fn movement_in_words(feature: &FeatureQuality) -> RichText {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match feature.drift() {
        Some(Greater) if feature.is_nearer_by_wasserstein() => {
            RichText::new().drawing(mark()).strong("farther").text(" (nearer by Wasserstein)")
        }
        Some(Greater) => RichText::new().drawing(mark()).strong("farther"),
        Some(Less) => "nearer".into(),
        _ if !feature.moved() => "not moved".into(),
        Some(Equal) => "as far".into(),
        None => "nothing to compare".into(),
    }
}

/// The distributions of what moved, and their numbers; none where none is drawn.
fn drawings(
    audit: &AuditFolder,
    shown: &[DirectionQuality<'_>],
    pair: &QualityKey,
    moved: &[&FeatureQuality],
    id: &str,
    room: usize,
) -> Option<Value> {
    let of_pairs: Vec<Vec<&FeatureQuality>> =
        shown.iter().map(|d| audit.quality.features(d.pair)).collect();
    let moved: Vec<&FeatureQuality> =
        moved.iter().filter(|f| !f.bars.is_empty()).copied().collect();
    let drawn = &moved[..moved.len().min(room)];
    let svg = |(i, feature): (usize, &&FeatureQuality)| {
        let same = of_pairs.iter().flatten().copied().filter(|f| f.name == feature.name);
        shapes::drawing(feature, shapes::scale(same), &pair.to, format!("{id}-d{i}"))
    };
    (!drawn.is_empty()).then(|| {
        context! {
            all => moved.len(), svgs => drawn.iter().enumerate().map(svg).collect::<Value>(),
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
        let name = if bar.rest { shapes::OTHERS.into() } else { level(&bar.level) };
        context! {
            edges, is_last => bar.edges == last, level => &*name, rest => bar.rest,
            cells => (0..3).map(|side| context!(n => bar.n[side], share => bar.share[side]))
                .collect::<Value>(),
        }
    };
    let held = feature.bars.iter().filter(|bar| bar.n.iter().any(|n| *n > 0));
    let rows: Value = held.map(row).collect();
    context!(feature => &feature.name, is_number => last.is_some(), rows)
}
