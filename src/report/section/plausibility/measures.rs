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

/// A column of the table of directions: its head, the measures that it shows, and its cell.
struct QualityColumn {
    head: &'static str,
    measures: &'static [&'static str],
    cell: fn(&QualityValues) -> PageCell,
    /// What is said where every value shown is 0, in place of the column; empty = the column stays.
    nothing: &'static str,
}

fn plain(values: &QualityValues, measure: &str) -> PageCell {
    value(values, measure).map_or_else(PageCell::none, |value| three_digits(value).into())
}

fn made(values: &QualityValues) -> PageCell {
    let (n, rows) = (whole(values, "n_cf"), whole(values, "n_pairs"));
    let of_rows = (rows != n).then(|| format!("of {} rows", number::count(rows)));
    PageCell::new(number::count(n), of_rows)
}

fn discarded(values: &QualityValues) -> PageCell {
    let (n, rows) = (whole(values, "n_cf"), whole(values, "n_pairs"));
    let Some(discarded) = value(values, "share_discarded") else { return PageCell::none() };
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

fn changed(values: &QualityValues) -> PageCell {
    let Some(mean) = value(values, "changed_mean") else { return PageCell::none() };
    let still = value(values, "unchanged_share").map(|share| {
        format!(
            "none in {} ({})",
            number::count(part(share, valid(values))),
            NumberFormat::Share.value(share)
        )
    });
    PageCell::new(three_digits(mean), still)
}

fn distance(values: &QualityValues) -> PageCell {
    let l1 = value(values, "l1_mean").map(|l1| format!("L1 {}", three_digits(l1)));
    PageCell { small: l1.map(RichText::from).into_iter().collect(), ..plain(values, "l2_mean") }
}

fn quantiles(values: &QualityValues, measures: [&str; 3]) -> PageCell {
    let [Some(lo), Some(middle), Some(hi)] = measures.map(|m| value(values, m)) else {
        return PageCell::none();
    };
    PageCell::new(three_digits(middle), [NumberFormat::Plain.interval(middle, lo, hi)])
}

fn approximate(values: &QualityValues) -> PageCell {
    value(values, "approximate_share")
        .map_or_else(PageCell::none, |share| NumberFormat::Share.value(share).into())
}

/// A mean of things per counterfactual as their number.
fn things(values: &QualityValues, measure: &str) -> PageCell {
    let Some(mean) = value(values, measure) else { return PageCell::none() };
    let each = format!("{} each", three_digits(mean));
    PageCell::new(number::count(part(mean, valid(values))), [each])
}

const COLUMNS: &[QualityColumn] = &[
    QualityColumn {
        head: "Counterfactuals",
        measures: &["n_cf", "n_pairs"],
        cell: made,
        nothing: "",
    },
    QualityColumn {
        head: "Without a class",
        measures: &["n_without_class"],
        cell: |values| number::count(whole(values, "n_without_class")).into(),
        nothing: "no row lacked its class",
    },
    QualityColumn {
        head: "Without a target",
        measures: &["n_without_target"],
        cell: |values| number::count(whole(values, "n_without_target")).into(),
        nothing: "no row was without a target",
    },
    QualityColumn {
        head: "Discarded",
        measures: &["share_discarded"],
        cell: discarded,
        nothing: "no counterfactual was discarded",
    },
    QualityColumn {
        head: "Features changed",
        measures: &["changed_mean", "unchanged_share"],
        cell: changed,
        nothing: "",
    },
    QualityColumn {
        head: "Cosine, median",
        measures: &["cos_median"],
        cell: |values| plain(values, "cos_median"),
        nothing: "",
    },
    QualityColumn {
        head: "Distance from row, L2",
        measures: &["l2_mean", "l1_mean"],
        cell: distance,
        nothing: "",
    },
    QualityColumn {
        head: "Values clamped",
        measures: &["clamped_mean"],
        cell: |values| things(values, "clamped_mean"),
        nothing: "no value was clamped",
    },
    QualityColumn {
        head: "Class given up",
        measures: &["fallback_mean"],
        cell: |values| things(values, "fallback_mean"),
        nothing: "no feature was mapped without its class",
    },
    QualityColumn {
        head: "Kept",
        measures: &["kept_mean"],
        cell: |values| things(values, "kept_mean"),
        nothing: "no feature was kept because of too few reference rows",
    },
    QualityColumn {
        head: "Matched approximately",
        measures: &["approximate_share"],
        cell: approximate,
        nothing: "every row was matched with the smallest total distance",
    },
    QualityColumn {
        head: "Cost of transport",
        measures: &["transport_cost"],
        cell: |values| plain(values, "transport_cost"),
        nothing: "",
    },
    QualityColumn {
        head: "Plausibility",
        measures: &["plausibility_50"],
        cell: |values| quantiles(values, ["plausibility_05", "plausibility_50", "plausibility_95"]),
        nothing: "",
    },
    QualityColumn {
        head: "of real rows",
        measures: &["plausibility_real_50"],
        cell: |values| {
            quantiles(
                values,
                ["plausibility_real_05", "plausibility_real_50", "plausibility_real_95"],
            )
        },
        nothing: "",
    },
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
        ReportRow::new(head, columns.iter().map(|column| (column.cell)(values)))
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
