//! A direction feature by feature: what moved and where to, what did not, and drawings of what
//! moved with their numbers.

use crate::report::draw::shapes;
use crate::report::page::number::{self, NumberFormat, on_axis, three_digits};
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::{RichText, level};
use crate::report::page::{PageBlock, PageCell, PageFigure, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::quality::{DirectionQuality, DistributionBar, FeatureQuality, QualityKey};
use crate::report::section::plausibility::{QualityBudget, count, mark, none, nothing_left, share};

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
pub(super) fn blocks(
    audit: &AuditFolder,
    shown: &[DirectionQuality<'_>],
    pair: &QualityKey,
    id: &str,
    room: &QualityBudget,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    if let Some(n) = audit.quality.none_valid(pair) {
        return vec![PageBlock::Text(
            RichText::direction(&pair.from, &pair.to).text(". ").and(nothing_left(n)),
        )];
    }
    let all = audit.quality.features(pair);
    for measure in
        MEASURES.into_iter().filter(|measure| all.iter().any(|f| f.value(measure).is_some()))
    {
        glossary.show(measure);
    }
    let (moved, still): (Vec<&FeatureQuality>, Vec<&FeatureQuality>) =
        all.into_iter().partition(|f| f.moved());
    let mut blocks = Vec::new();
    if moved.is_empty() {
        blocks.push(PageBlock::Text(
            RichText::direction(&pair.from, &pair.to).text(": no feature moved."),
        ));
    } else {
        blocks.push(PageBlock::Table(moved_table(pair, &moved, id, room.features)));
        blocks.extend(drawings(audit, shown, pair, &moved, id, room.drawn));
    }
    if let Some(first) = still.first() {
        let words = RichText::direction(&pair.from, &pair.to).text(match still.len() {
            1 => ": 1 feature did not move, ".to_owned(),
            n => format!(
                ": {} features did not move; the farthest from the target group is ",
                count(n)
            ),
        });
        let far = first
            .value("dist_after")
            .map_or_else(String::new, |d| format!(" (distance {})", three_digits(d)));
        blocks.push(PageBlock::Note(words.name(&first.name).text(far).text(".")));
        blocks.push(PageBlock::Fold(
            "Features that did not move",
            vec![PageBlock::Table(unmoved_table(pair, &still, room.features))],
        ));
    }
    blocks
}

/// What of the features is shown, where not all of them are.
fn shown_of(shown: usize, all: usize) -> String {
    if shown < all {
        format!(" ({} of {}, the rest in tables/cf_features.parquet)", count(shown), count(all))
    } else {
        String::new()
    }
}

fn outside(feature: &FeatureQuality) -> PageCell {
    let mut cell = feature
        .value("out_of_range")
        .map_or_else(none, |outside| share(outside, feature.n_compared()));
    let without = feature.n() - feature.n_compared();
    if without > 0 {
        cell.small.push(format!("{} not compared", number::count(without)).into());
    }
    cell
}

fn number_cell(feature: &FeatureQuality, measure: &str) -> PageCell {
    feature.value(measure).map_or_else(none, |value| three_digits(value).into())
}

fn moved_table(pair: &QualityKey, all: &[&FeatureQuality], id: &str, room: usize) -> PageTable {
    let shown = &all[..all.len().min(room)];
    let numbers = shown.iter().any(|f| f.value("mean_change").is_some());
    let mut head: Vec<RichText> = vec!["Feature".into(), "Moved".into(), "Changed".into()];
    head.extend(numbers.then(|| "Mean change".into()));
    head.extend(["Distance before", "after"].map(RichText::from));
    head.extend(numbers.then(|| "Wasserstein after".into()));
    head.push("Out of range".into());
    let rows = shown.iter().enumerate().map(|(i, feature)| {
        let mut cells = vec![
            movement_in_words(feature).into(),
            feature.value("share_changed").map_or_else(none, |changed| share(changed, feature.n())),
        ];
        if numbers {
            cells.push(feature.value("mean_change").map_or_else(none, |mean| {
                let size = feature
                    .value("mean_abs_change_sd")
                    .map(|size| format!("size {} sd", three_digits(size)));
                PageCell {
                    main: NumberFormat::FeatureUnit.value(mean).into(),
                    small: size.map(RichText::from).into_iter().collect(),
                    ..PageCell::default()
                }
            }));
        }
        cells.extend(["dist_before", "dist_after"].map(|measure| number_cell(feature, measure)));
        if numbers {
            cells.push(feature.value("w1_after").map_or_else(none, |after| {
                let before = feature
                    .value("w1_before")
                    .map(|before| format!("before {}", three_digits(before)));
                PageCell {
                    main: three_digits(after).into(),
                    small: before.map(RichText::from).into_iter().collect(),
                    ..PageCell::default()
                }
            }));
        }
        cells.push(outside(feature));
        ReportRow { id: format!("{id}-f{i}"), head: RichText::new().name(&feature.name), cells }
    });
    let caption = RichText::direction(&pair.from, &pair.to)
        .text(": the features that moved")
        .text(shown_of(shown.len(), all.len()))
        .text(", and their distance to group ")
        .name(&pair.to);
    PageTable { caption, head, rows: rows.collect(), ..PageTable::default() }
}

fn unmoved_table(pair: &QualityKey, all: &[&FeatureQuality], room: usize) -> PageTable {
    let shown = &all[..all.len().min(room)];
    let numbers = shown.iter().any(|f| f.value("w1_after").is_some());
    let mut head: Vec<RichText> = vec!["Feature".into(), "Distance".into()];
    head.extend(numbers.then(|| "Wasserstein".into()));
    head.push("Out of range".into());
    let row = |feature: &&FeatureQuality| {
        let mut cells = vec![number_cell(feature, "dist_after")];
        cells.extend(numbers.then(|| number_cell(feature, "w1_after")));
        cells.push(outside(feature));
        ReportRow { id: String::new(), head: RichText::new().name(&feature.name), cells }
    };
    let caption = RichText::direction(&pair.from, &pair.to)
        .text(": the features that did not move")
        .text(shown_of(shown.len(), all.len()))
        .text(", the farthest from group ")
        .name(&pair.to)
        .text(" first");
    PageTable { caption, head, rows: shown.iter().map(row).collect(), ..PageTable::default() }
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

/// The distributions of what moved, and their numbers.
fn drawings(
    audit: &AuditFolder,
    shown: &[DirectionQuality<'_>],
    pair: &QualityKey,
    moved: &[&FeatureQuality],
    id: &str,
    room: usize,
) -> Vec<PageBlock> {
    let of_pairs: Vec<Vec<&FeatureQuality>> =
        shown.iter().map(|d| audit.quality.features(d.pair)).collect();
    let moved: Vec<&FeatureQuality> =
        moved.iter().filter(|f| !f.bars.is_empty()).copied().collect();
    let drawn = &moved[..moved.len().min(room)];
    if drawn.is_empty() {
        return Vec::new();
    }
    let svg = |(i, feature): (usize, &&FeatureQuality)| {
        let same = of_pairs.iter().flatten().copied().filter(|f| f.name == feature.name);
        shapes::drawing(feature, shapes::scale(same), &pair.to, format!("{id}-d{i}"))
    };
    let caption =
        RichText::direction(&pair.from, &pair.to).text(": ").text(if drawn.len() < moved.len() {
            format!("{} of the {} features that moved", drawn.len(), moved.len())
        } else {
            "the features that moved".to_owned()
        });
    let caption = caption
        .text(
            ", shares in per cent. Area: original rows; line: their counterfactuals; dots: \
             real rows of group ",
        )
        .name(&pair.to);
    let drawings = drawn.iter().enumerate().map(svg).collect();
    let said = "Counts, and in brackets shares of all. Shares of the target group are weighted \
                to the classes of the counterfactuals, so they are not quotients of its \
                counts. Values without people are omitted.";
    let numbers = vec![
        PageBlock::Note(said.into()),
        PageBlock::Tables(drawn.iter().map(|feature| bars(feature, pair)).collect()),
    ];
    vec![
        PageBlock::Figure(PageFigure { drawings, caption: caption.text("."), small: true }),
        PageBlock::Fold("The numbers of these charts", numbers),
    ]
}

/// The numbers of a drawing.
fn bars(feature: &FeatureQuality, pair: &QualityKey) -> PageTable {
    let last = feature.bars.last().and_then(|bar| bar.edges);
    let row = |bar: &DistributionBar| {
        let head = match bar.edges {
            Some((lo, hi)) => {
                // The counts next to it are those between the edges: they are reported to a
                // thousandth of a bin.
                let edge = |at: f64| on_axis(at, (hi - lo) / 10.0);
                if bar.edges == last {
                    format!("{} and above", edge(lo)).into()
                } else {
                    format!("{} to {}", edge(lo), edge(hi)).into()
                }
            }
            None if bar.rest => shapes::OTHERS.into(),
            None => RichText::new().name(level(&bar.level)),
        };
        let cell = |side: usize| {
            let share = bar.share[side]
                .map_or_else(|| "none".to_owned(), |share| NumberFormat::Share.value(share));
            PageCell::from(format!("{} ({share})", number::count(bar.n[side])))
        };
        ReportRow { id: String::new(), head, cells: [0, 1, 2].map(cell).into() }
    };
    let held: Vec<ReportRow> =
        feature.bars.iter().filter(|bar| bar.n.iter().any(|n| *n > 0)).map(row).collect();
    let caption = RichText::new()
        .name(&feature.name)
        .text(", ")
        .and(RichText::direction(&pair.from, &pair.to));
    let head = vec![
        if last.is_some() { "From, to below" } else { "Level" }.into(),
        "As they are".into(),
        "Counterfactuals".into(),
        RichText::from("Group ").name(&pair.to),
    ];
    PageTable { caption, head, rows: held, ..PageTable::default() }
}
