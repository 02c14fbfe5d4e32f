//! Generated counterfactuals: the measures of the directions of a world, and which measures are 0
//! in all directions. `plausibility.html` has the heads, cells and sentences by the name of the
//! column.

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::quality::{DirectionQuality, QualityValues, SetQuality, value, whole};
use crate::report::section::models::place;
use crate::text::fact;

/// The columns: the measures of each, by the first of which it is called, and whether a sentence
/// takes its place where every value shown is 0.
const COLUMNS: [(&[&str], bool); 15] = [
    (&["n_cf", "n_pairs"], false),
    (&["n_without_class"], true),
    (&["n_without_target"], true),
    (&["share_discarded"], true),
    (&["changed_mean", "unchanged_share"], false),
    (&["cos_median"], false),
    (&["l2_mean", "l1_mean"], false),
    (&["clamped_mean"], true),
    (&["fallback_mean"], true),
    (&["kept_mean"], true),
    (&["unknown_share"], true),
    (&["approximate_share"], true),
    (&["transport_cost"], false),
    (&["plausibility_50"], false),
    (&["plausibility_real_50"], false),
];

/// The values of a direction, or of all, and how many counterfactuals and rows these are.
fn row(head: RichText, values: &QualityValues) -> Value {
    let [n, pairs, left] = ["n_cf", "n_pairs", "n_pairs_valid"].map(|of| whole(values, of));
    let discarded = value(values, "share_discarded").unwrap_or(0.0) * n as f64;
    // Counterfactuals that passed filter and checks.
    let valid = n - discarded.round() as i64;
    context!(id => "", head, values => fact(values), n, pairs, left, valid)
}

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
    let known = |measure: &str| shown.iter().any(|values| value(values, measure).is_some());
    // The values of real rows are shown for comparison: by themselves they say nothing.
    let is_there =
        |of: &str| known(of) && (of != "plausibility_real_50" || known("plausibility_50"));
    let is_nothing = |of: &str| shown.iter().all(|v| value(v, of).is_none_or(|value| value == 0.0));
    let (absent, columns): (Vec<_>, Vec<_>) = COLUMNS
        .into_iter()
        .filter(|(measures, _)| is_there(measures[0]))
        .partition(|(measures, may_go)| *may_go && is_nothing(measures[0]));
    for measure in columns.iter().flat_map(|(measures, _)| measures.iter()) {
        glossary.show(measure);
    }
    let thinned = shown.iter().any(|values| value(values, "exact") == Some(0.0));
    if thinned {
        glossary.show("exact");
    }
    let all = world.directions.len();
    let of = |d: &&DirectionQuality<'_>| {
        let place = place("", "direction", [&d.pair.from, &d.pair.to]);
        row(RichText::new().place(place), d.values)
    };
    let total = total.filter(|_| all > 1).map(|of| row("all_directions".into(), of));
    let moves =
        world.directions.iter().any(|d| audit.quality.features(d.pair).iter().any(|f| f.moved()));
    let names = |of: Vec<(&[&str], bool)>| of.iter().map(|(of, _)| of[0]).collect::<Value>();
    context! {
        columns => names(columns), absent => names(absent), room, directions => all, thinned,
        rows => directions.iter().map(of).chain(total).collect::<Value>(),
        sorted => moves && all > 1,
    }
}
