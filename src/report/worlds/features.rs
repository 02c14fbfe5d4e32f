//! A direction feature by feature: what moved and where to, what did not, and drawings of what moved with their numbers.

use crate::report::folder::Audit;
use crate::report::number::{self, Kind, on_axis, three};
use crate::report::page::{Block, Cell, Figure, Row, Table};
use crate::report::quality::{Bar, Direction, Feature, Pair};
use crate::report::shapes;
use crate::report::terms::Glossary;
use crate::report::words::{Words, level};
use crate::report::worlds::{Room, count, mark, none, nothing_left, share};

/// The measures that the tables show.
const MEASURES: [&str; 8] =
    ["share_changed", "mean_change", "mean_abs_change_sd", "dist_before", "dist_after", "w1_before", "w1_after", "out_of_range"];

/// What moved, with drawings and their numbers, and what did not. `shown` are the directions of the world that the page draws.
pub(super) fn blocks(
    audit: &Audit,
    shown: &[Direction<'_>],
    pair: &Pair,
    id: &str,
    room: &Room,
    glossary: &mut Glossary<'_>,
) -> Vec<Block> {
    if let Some(n) = audit.quality.none_valid(pair) {
        return vec![Block::Text(Words::direction(&pair.from, &pair.to).text(". ").and(nothing_left(n)))];
    }
    let all = audit.quality.features(pair);
    for measure in MEASURES.into_iter().filter(|measure| all.iter().any(|f| f.value(measure).is_some())) {
        glossary.show(measure);
    }
    let (moved, still): (Vec<&Feature>, Vec<&Feature>) = all.into_iter().partition(|f| f.moved());
    let mut blocks = Vec::new();
    if moved.is_empty() {
        blocks.push(Block::Text(Words::direction(&pair.from, &pair.to).text(": no feature moved.")));
    } else {
        blocks.push(Block::Table(moved_table(pair, &moved, id, room.features)));
        blocks.extend(drawings(audit, shown, pair, &moved, id, room.drawn));
    }
    if let Some(first) = still.first() {
        let words = Words::direction(&pair.from, &pair.to).text(match still.len() {
            1 => ": 1 feature did not move, ".to_owned(),
            n => format!(": {} features did not move; the farthest from the target group is ", count(n)),
        });
        let far = first.value("dist_after").map_or_else(String::new, |d| format!(" (distance {})", three(d)));
        blocks.push(Block::Note(words.name(&first.name).text(far).text(".")));
        blocks.push(Block::Fold("Features that did not move", vec![Block::Table(still_table(pair, &still, room.features))]));
    }
    blocks
}

/// What of the features is shown, where not all of them are.
fn shown_of(shown: usize, all: usize) -> String {
    if shown < all { format!(" ({} of {}, the rest in tables/cf_features.parquet)", count(shown), count(all)) } else { String::new() }
}

fn outside(feature: &Feature) -> Cell {
    let mut cell = feature.value("out_of_range").map_or_else(none, |outside| share(outside, feature.n_compared()));
    let without = feature.n() - feature.n_compared();
    if without > 0 {
        cell.small.push(format!("{} not compared", number::count(without)).into());
    }
    cell
}

fn number_cell(feature: &Feature, measure: &str) -> Cell {
    feature.value(measure).map_or_else(none, |value| three(value).into())
}

fn moved_table(pair: &Pair, all: &[&Feature], id: &str, room: usize) -> Table {
    let shown = &all[..all.len().min(room)];
    let numbers = shown.iter().any(|f| f.value("mean_change").is_some());
    let mut head: Vec<Words> = vec!["Feature".into(), "Moved".into(), "Changed".into()];
    head.extend(numbers.then(|| "Mean change".into()));
    head.extend(["Distance before", "after"].map(Words::from));
    head.extend(numbers.then(|| "Wasserstein after".into()));
    head.push("Out of range".into());
    let rows = shown.iter().enumerate().map(|(i, feature)| {
        let mut cells =
            vec![whither(feature).into(), feature.value("share_changed").map_or_else(none, |changed| share(changed, feature.n()))];
        if numbers {
            cells.push(feature.value("mean_change").map_or_else(none, |mean| {
                let size = feature.value("mean_abs_change_sd").map(|size| format!("size {} sd", three(size)));
                Cell { main: Kind::Own.value(mean).into(), small: size.map(Words::from).into_iter().collect(), ..Cell::default() }
            }));
        }
        cells.extend(["dist_before", "dist_after"].map(|measure| number_cell(feature, measure)));
        if numbers {
            cells.push(feature.value("w1_after").map_or_else(none, |after| {
                let before = feature.value("w1_before").map(|before| format!("before {}", three(before)));
                Cell { main: three(after).into(), small: before.map(Words::from).into_iter().collect(), ..Cell::default() }
            }));
        }
        cells.push(outside(feature));
        Row { id: format!("{id}-f{i}"), head: Words::new().name(&feature.name), cells }
    });
    let caption = Words::direction(&pair.from, &pair.to)
        .text(": the features that moved")
        .text(shown_of(shown.len(), all.len()))
        .text(", and their distance to group ")
        .name(&pair.to);
    Table { caption, head, rows: rows.collect(), prose: false }
}

fn still_table(pair: &Pair, all: &[&Feature], room: usize) -> Table {
    let shown = &all[..all.len().min(room)];
    let numbers = shown.iter().any(|f| f.value("w1_after").is_some());
    let mut head: Vec<Words> = vec!["Feature".into(), "Distance".into()];
    head.extend(numbers.then(|| "Wasserstein".into()));
    head.push("Out of range".into());
    let row = |feature: &&Feature| {
        let mut cells = vec![number_cell(feature, "dist_after")];
        cells.extend(numbers.then(|| number_cell(feature, "w1_after")));
        cells.push(outside(feature));
        Row { id: String::new(), head: Words::new().name(&feature.name), cells }
    };
    let caption = Words::direction(&pair.from, &pair.to)
        .text(": the features that did not move")
        .text(shown_of(shown.len(), all.len()))
        .text(", the farthest from group ")
        .name(&pair.to)
        .text(" first");
    Table { caption, head, rows: shown.iter().map(row).collect(), prose: false }
}

/// Where a feature moved to, in words; away from the target also in a shape.
fn whither(feature: &Feature) -> Words {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match feature.drift() {
        Some(Greater) if feature.is_nearer_by_wasserstein() => {
            Words::new().drawing(mark()).strong("farther").text(" (nearer by Wasserstein)")
        }
        Some(Greater) => Words::new().drawing(mark()).strong("farther"),
        Some(Less) => "nearer".into(),
        _ if !feature.moved() => "not moved".into(),
        Some(Equal) => "as far".into(),
        None => "nothing to compare".into(),
    }
}

/// The distributions of what moved, and their numbers.
fn drawings(audit: &Audit, shown: &[Direction<'_>], pair: &Pair, moved: &[&Feature], id: &str, room: usize) -> Vec<Block> {
    let of_pairs: Vec<Vec<&Feature>> = shown.iter().map(|d| audit.quality.features(d.pair)).collect();
    let moved: Vec<&Feature> = moved.iter().filter(|f| !f.bars.is_empty()).copied().collect();
    let drawn = &moved[..moved.len().min(room)];
    if drawn.is_empty() {
        return Vec::new();
    }
    let svg = |(i, feature): (usize, &&Feature)| {
        let same = of_pairs.iter().flatten().copied().filter(|f| f.name == feature.name);
        shapes::drawing(feature, shapes::scale(same), &pair.to, format!("{id}-d{i}"))
    };
    let caption = Words::direction(&pair.from, &pair.to).text(": ").text(if drawn.len() < moved.len() {
        format!("{} of the {} features that moved", drawn.len(), moved.len())
    } else {
        "the features that moved".to_owned()
    });
    let caption =
        caption.text(", shares in per cent. Area: rows as they are; line: their counterfactuals; dots: real rows of group ").name(&pair.to);
    let drawings = drawn.iter().enumerate().map(svg).collect();
    let said = "Counts, and in brackets shares of all. Those of the target group are weighted to the classes of the counterfactuals, so they are no \
                quotients of its counts. Values that nobody has are left out.";
    let numbers = vec![Block::Note(said.into()), Block::Tables(drawn.iter().map(|feature| bars(feature, pair)).collect())];
    vec![Block::Figure(Figure { drawings, caption: caption.text("."), small: true }), Block::Fold("The numbers of these drawings", numbers)]
}

/// The numbers of a drawing.
fn bars(feature: &Feature, pair: &Pair) -> Table {
    let last = feature.bars.last().and_then(|bar| bar.edges);
    let row = |bar: &Bar| {
        let head = match bar.edges {
            Some((lo, hi)) => {
                // The counts beside it are those between the edges: they are told to a thousandth of a bin.
                let edge = |at: f64| on_axis(at, (hi - lo) / 10.0);
                if bar.edges == last { format!("{} and above", edge(lo)).into() } else { format!("{} to {}", edge(lo), edge(hi)).into() }
            }
            None if bar.rest => shapes::OTHERS.into(),
            None => Words::new().name(level(&bar.level)),
        };
        let cell = |side: usize| {
            let share = bar.share[side].map_or_else(|| "none".to_owned(), |share| Kind::Share.value(share));
            Cell::from(format!("{} ({share})", number::count(bar.n[side])))
        };
        Row { id: String::new(), head, cells: [0, 1, 2].map(cell).into() }
    };
    let held: Vec<Row> = feature.bars.iter().filter(|bar| bar.n.iter().any(|n| *n > 0)).map(row).collect();
    let caption = Words::new().name(&feature.name).text(", ").and(Words::direction(&pair.from, &pair.to));
    let head = vec![
        if last.is_some() { "From, to below" } else { "Level" }.into(),
        "As they are".into(),
        "Counterfactuals".into(),
        Words::from("Group ").name(&pair.to),
    ];
    Table { caption, head, rows: held, prose: false }
}
