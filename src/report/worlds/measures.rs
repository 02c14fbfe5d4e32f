//! What was made: a table of the directions of a world, and what is 0 in all of them said in a sentence.

use crate::report::folder::Audit;
use crate::report::number::{self, Kind, three};
use crate::report::page::{Block, Cell, Row, Table};
use crate::report::quality::{Direction, Values, World};
use crate::report::terms::Glossary;
use crate::report::words::Words;
use crate::report::worlds::{mark, none, share};

fn value(values: &Values, measure: &str) -> Option<f64> {
    values.get(measure).copied().flatten()
}

/// A count that stands in a table as a number.
fn whole(values: &Values, measure: &str) -> i64 {
    // Counts of rows are far below the end of exact whole numbers.
    value(values, measure).unwrap_or(0.0).round() as i64
}

/// How many of `n` a share is: shares of counterfactuals are quotients of counts.
fn part(share: f64, n: i64) -> i64 {
    (share * n as f64).round() as i64
}

/// A column of the table of directions: its head, the measures that it shows, and its cell.
struct Column {
    head: &'static str,
    measures: &'static [&'static str],
    cell: fn(&Values) -> Cell,
    /// What is said where every value shown is 0, in place of the column; empty = the column stays.
    nothing: &'static str,
}

fn plain(values: &Values, measure: &str) -> Cell {
    value(values, measure).map_or_else(none, |value| three(value).into())
}

fn made(values: &Values) -> Cell {
    let (n, rows) = (whole(values, "n_cf"), whole(values, "n_pairs"));
    let small = if rows == n { Vec::new() } else { vec![format!("of {} rows", number::count(rows)).into()] };
    Cell { main: number::count(n).into(), small, ..Cell::default() }
}

fn discarded(values: &Values) -> Cell {
    let (n, rows) = (whole(values, "n_cf"), whole(values, "n_pairs"));
    let Some(discarded) = value(values, "share_discarded") else { return none() };
    let mut cell = share(discarded, n);
    if rows != n {
        cell.small.push(format!("{} rows left", number::count(whole(values, "n_pairs_valid"))).into());
    }
    cell
}

/// Counterfactuals that passed filter and checks.
fn valid(values: &Values) -> i64 {
    let n = whole(values, "n_cf");
    n - part(value(values, "share_discarded").unwrap_or(0.0), n)
}

fn changed(values: &Values) -> Cell {
    let Some(mean) = value(values, "changed_mean") else { return none() };
    let still = value(values, "unchanged_share")
        .map(|share| format!("none in {} ({})", number::count(part(share, valid(values))), Kind::Share.value(share)));
    Cell { main: three(mean).into(), small: still.map(Words::from).into_iter().collect(), ..Cell::default() }
}

fn distance(values: &Values) -> Cell {
    let l1 = value(values, "l1_mean").map(|l1| format!("L1 {}", three(l1)));
    Cell { small: l1.map(Words::from).into_iter().collect(), ..plain(values, "l2_mean") }
}

fn quantiles(values: &Values, measures: [&str; 3]) -> Cell {
    let [Some(lo), Some(middle), Some(hi)] = measures.map(|m| value(values, m)) else { return none() };
    Cell { main: three(middle).into(), small: vec![Kind::Plain.interval(middle, lo, hi).into()], ..Cell::default() }
}

fn approximate(values: &Values) -> Cell {
    value(values, "approximate_share").map_or_else(none, |share| Kind::Share.value(share).into())
}

/// A mean of things per counterfactual as their number.
fn things(values: &Values, measure: &str) -> Cell {
    let Some(mean) = value(values, measure) else { return none() };
    let small = vec![format!("{} each", three(mean)).into()];
    Cell { main: number::count(part(mean, valid(values))).into(), small, ..Cell::default() }
}

const COLUMNS: &[Column] = &[
    Column { head: "Counterfactuals", measures: &["n_cf", "n_pairs"], cell: made, nothing: "" },
    Column {
        head: "Without a class",
        measures: &["n_without_class"],
        cell: |values| number::count(whole(values, "n_without_class")).into(),
        nothing: "no row lacked its class",
    },
    Column {
        head: "Without a target",
        measures: &["n_without_target"],
        cell: |values| number::count(whole(values, "n_without_target")).into(),
        nothing: "no row was without a target",
    },
    Column { head: "Discarded", measures: &["share_discarded"], cell: discarded, nothing: "no counterfactual was discarded" },
    Column { head: "Features changed", measures: &["changed_mean", "unchanged_share"], cell: changed, nothing: "" },
    Column { head: "Cosine, median", measures: &["cos_median"], cell: |values| plain(values, "cos_median"), nothing: "" },
    Column { head: "Distance from row, L2", measures: &["l2_mean", "l1_mean"], cell: distance, nothing: "" },
    Column {
        head: "Values clamped",
        measures: &["clamped_mean"],
        cell: |values| things(values, "clamped_mean"),
        nothing: "no value was clamped",
    },
    Column {
        head: "Class given up",
        measures: &["fallback_mean"],
        cell: |values| things(values, "fallback_mean"),
        nothing: "no feature was mapped without its class",
    },
    Column {
        head: "Kept",
        measures: &["kept_mean"],
        cell: |values| things(values, "kept_mean"),
        nothing: "no feature was kept for want of reference rows",
    },
    Column {
        head: "Matched approximately",
        measures: &["approximate_share"],
        cell: approximate,
        nothing: "every row was matched at the least distance of all",
    },
    Column { head: "Cost of transport", measures: &["transport_cost"], cell: |values| plain(values, "transport_cost"), nothing: "" },
    Column {
        head: "Plausibility",
        measures: &["plausibility_50"],
        cell: |values| quantiles(values, ["plausibility_05", "plausibility_50", "plausibility_95"]),
        nothing: "",
    },
    Column {
        head: "of real rows",
        measures: &["plausibility_real_50"],
        cell: |values| quantiles(values, ["plausibility_real_05", "plausibility_real_50", "plausibility_real_95"]),
        nothing: "",
    },
];

/// The measures of the directions, worst first, and of all together.
pub(super) fn blocks(audit: &Audit, world: &World<'_>, room: usize, glossary: &mut Glossary<'_>) -> Vec<Block> {
    let directions: Vec<&Direction<'_>> = world.directions.iter().take(room).collect();
    let total = audit.quality.values(&world.key);
    let shown: Vec<&Values> = directions.iter().map(|d| d.values).chain(total).collect();
    let first = |column: &Column| column.measures[0];
    let known = |measure: &str| shown.iter().any(|values| value(values, measure).is_some());
    // What real rows have is there to compare with: it says nothing alone.
    let any = |column: &Column| known(first(column)) && (first(column) != "plausibility_real_50" || known("plausibility_50"));
    let nothing = |column: &Column| {
        !column.nothing.is_empty() && shown.iter().all(|values| value(values, first(column)).is_none_or(|value| value == 0.0))
    };
    let (absent, columns): (Vec<&Column>, Vec<&Column>) = COLUMNS.iter().filter(|c| any(c)).partition(|c| nothing(c));
    for measure in columns.iter().flat_map(|column| column.measures) {
        glossary.show(measure);
    }
    let mut head = vec!["Direction".into()];
    head.extend(columns.iter().map(|column| Words::from(column.head)));
    let row =
        |head: Words, values: &Values| Row { id: String::new(), head, cells: columns.iter().map(|column| (column.cell)(values)).collect() };
    let mut rows: Vec<Row> = directions.iter().map(|d| row(Words::direction(&d.pair.from, &d.pair.to), d.values)).collect();
    rows.extend(total.filter(|_| world.directions.len() > 1).map(|total| row("All directions".into(), total)));
    let moves = world.directions.iter().any(|d| audit.quality.features(d.pair).iter().any(|f| f.moved()));
    let mut caption = match world.directions.len() {
        n if n > room => format!("What was made: {room} of {n} directions"),
        _ => "What was made".to_owned(),
    };
    if moves && world.directions.len() > 1 {
        caption.push_str(", in the order of the largest distance to the target group that a moved feature is left with");
    }
    if columns.iter().any(|column| first(column) == "plausibility_50") {
        caption.push_str("; below each plausibility its 5 and 95\u{202f}% quantiles");
    }
    let mut blocks = vec![Block::Table(Table { caption: caption.into(), head, rows, prose: false })];
    let said: Vec<&str> = absent.iter().map(|column| column.nothing).collect();
    if let Some((last, others)) = said.split_last() {
        let words = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
        blocks.push(Block::Note(format!("Here {words}.").into()));
    }
    if shown.iter().any(|values| value(values, "exact") == Some(0.0)) {
        glossary.show("exact");
        blocks.push(Block::Note(
            Words::new().drawing(mark()).strong("Thinned out: ").text(
                "the reference has more distinct values, or combinations of levels, than are kept one by one. A grid or a sample stands for them, so \
                 distances and mapped values are approximate.",
            ),
        ));
    }
    blocks
}
