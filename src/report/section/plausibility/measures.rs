//! Generated counterfactuals: a table of the directions of a world, and what is 0 in all of them
//! said in a sentence.

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::number::{self, NumberFormat, three_digits};
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::quality::{DirectionQuality, QualityValues, SetQuality, value, whole};
use crate::report::section::plausibility::share;

/// How many of `n` a share is: shares of counterfactuals are quotients of counts.
fn part(share: f64, n: i64) -> i64 {
    (share * n as f64).round() as i64
}

/// How a cell shows a measure.
type QualityCell = fn(&QualityValues, &str) -> PageCell;

/// A column of the table of directions: its head, the measures that it shows, the cell of the
/// first of them, and what is said where every value shown is 0, in place of the column; without
/// that it stays.
struct QualityColumn {
    head: &'static str,
    measures: &'static [&'static str],
    cell: QualityCell,
    nothing: &'static str,
}

const fn column(
    head: &'static str,
    measures: &'static [&'static str],
    cell: QualityCell,
    nothing: &'static str,
) -> QualityColumn {
    QualityColumn { head, measures, cell, nothing }
}

fn plain(values: &QualityValues, measure: &str) -> PageCell {
    value(values, measure).map_or_else(PageCell::none, |value| three_digits(value).into())
}

fn made(values: &QualityValues, measure: &str) -> PageCell {
    let (n, rows) = (whole(values, measure), whole(values, "n_pairs"));
    let of_rows = (rows != n).then(|| format!("of {} rows", number::count(rows)));
    PageCell::new(number::count(n), of_rows)
}

fn discarded(values: &QualityValues, measure: &str) -> PageCell {
    let (n, rows) = (whole(values, "n_cf"), whole(values, "n_pairs"));
    let Some(discarded) = value(values, measure) else { return PageCell::none() };
    let mut cell = share(discarded, n);
    if rows != n {
        cell.small
            .push(format!("{} rows left", number::count(whole(values, "n_pairs_valid"))).into());
    }
    cell
}

/// Counterfactuals that passed filter and checks.
fn valid(values: &QualityValues) -> i64 {
    let n = whole(values, "n_cf");
    n - part(value(values, "share_discarded").unwrap_or(0.0), n)
}

fn changed(values: &QualityValues, measure: &str) -> PageCell {
    let Some(mean) = value(values, measure) else { return PageCell::none() };
    let still = value(values, "unchanged_share").map(|share| {
        format!(
            "none in {} ({})",
            number::count(part(share, valid(values))),
            NumberFormat::Share.value(share)
        )
    });
    PageCell::new(three_digits(mean), still)
}

fn distance(values: &QualityValues, measure: &str) -> PageCell {
    let l1 = value(values, "l1_mean").map(|l1| format!("L1 {}", three_digits(l1)));
    PageCell { small: l1.map(RichText::from).into_iter().collect(), ..plain(values, measure) }
}

/// A median, and below it the quantiles of its measure.
fn quantiles(values: &QualityValues, measure: &str) -> PageCell {
    let at = |quantile: &str| value(values, &measure.replace("_50", quantile));
    let [Some(lo), Some(middle), Some(hi)] = ["_05", "_50", "_95"].map(at) else {
        return PageCell::none();
    };
    PageCell::new(three_digits(middle), [NumberFormat::Plain.interval(middle, lo, hi)])
}

fn approximate(values: &QualityValues, measure: &str) -> PageCell {
    value(values, measure)
        .map_or_else(PageCell::none, |share| NumberFormat::Share.value(share).into())
}

/// A mean of things per counterfactual as their number.
fn things(values: &QualityValues, measure: &str) -> PageCell {
    let Some(mean) = value(values, measure) else { return PageCell::none() };
    let each = format!("{} each", three_digits(mean));
    PageCell::new(number::count(part(mean, valid(values))), [each])
}

fn number_of(values: &QualityValues, measure: &str) -> PageCell {
    number::count(whole(values, measure)).into()
}

const COLUMNS: &[QualityColumn] = &[
    column("Counterfactuals", &["n_cf", "n_pairs"], made, ""),
    column("Without a class", &["n_without_class"], number_of, "no row lacked its class"),
    column("Without a target", &["n_without_target"], number_of, "no row was without a target"),
    column("Discarded", &["share_discarded"], discarded, "no counterfactual was discarded"),
    column("Features changed", &["changed_mean", "unchanged_share"], changed, ""),
    column("Cosine, median", &["cos_median"], plain, ""),
    column("Distance from row, L2", &["l2_mean", "l1_mean"], distance, ""),
    column("Values clamped", &["clamped_mean"], things, "no value was clamped"),
    column("Class given up", &["fallback_mean"], things, "no feature was mapped without its class"),
    column("Kept", &["kept_mean"], things, "no feature was kept because of too few reference rows"),
    column(
        "Matched approximately",
        &["approximate_share"],
        approximate,
        "every row was matched with the smallest total distance",
    ),
    column("Cost of transport", &["transport_cost"], plain, ""),
    column("Plausibility", &["plausibility_50"], quantiles, ""),
    column("of real rows", &["plausibility_real_50"], quantiles, ""),
];

/// The measures of the directions, worst first, and of all together.
pub(super) fn facts(
    audit: &AuditFolder,
    world: &SetQuality<'_>,
    room: usize,
    glossary: &mut PageGlossary<'_>,
) -> Value {
    let directions: Vec<&DirectionQuality<'_>> = world.directions.iter().take(room).collect();
    let total = audit.quality.values(&world.key);
    let shown: Vec<&QualityValues> = directions.iter().map(|d| d.values).chain(total).collect();
    let first = |column: &QualityColumn| column.measures[0];
    let known = |measure: &str| shown.iter().any(|values| value(values, measure).is_some());
    // What real rows have is there to compare with: it says nothing alone.
    let any = |column: &QualityColumn| {
        known(first(column))
            && (first(column) != "plausibility_real_50" || known("plausibility_50"))
    };
    let nothing = |column: &QualityColumn| {
        !column.nothing.is_empty()
            && shown
                .iter()
                .all(|values| value(values, first(column)).is_none_or(|value| value == 0.0))
    };
    let (absent, columns): (Vec<&QualityColumn>, Vec<&QualityColumn>) =
        COLUMNS.iter().filter(|c| any(c)).partition(|c| nothing(c));
    for measure in columns.iter().flat_map(|column| column.measures) {
        glossary.show(measure);
    }
    let head = std::iter::once("Direction").chain(columns.iter().map(|column| column.head));
    let row = |head: RichText, values: &QualityValues| {
        ReportRow::new(head, columns.iter().map(|of| (of.cell)(values, of.measures[0])))
    };
    let of =
        |d: &&DirectionQuality<'_>| row(RichText::direction(&d.pair.from, &d.pair.to), d.values);
    let total = total.filter(|_| world.directions.len() > 1);
    let rows = directions.iter().map(of).chain(total.map(|of| row("All directions".into(), of)));
    let table = PageTable::new(head, rows);
    let moves =
        world.directions.iter().any(|d| audit.quality.features(d.pair).iter().any(|f| f.moved()));
    let thinned = shown.iter().any(|values| value(values, "exact") == Some(0.0));
    if thinned {
        glossary.show("exact");
    }
    context! {
        table, room, directions => world.directions.len(), thinned,
        sorted => moves && world.directions.len() > 1,
        quantiles => columns.iter().any(|column| first(column) == "plausibility_50"),
        absent => absent.iter().map(|column| column.nothing).collect::<Value>(),
    }
}
