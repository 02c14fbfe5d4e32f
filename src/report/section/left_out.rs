//! Section "What was excluded": rows lost by filters, counterfactuals discarded or never made,
//! missing values, problems met, values that are undefined, and subgroups that recourse does not
//! judge. Never absent: where nothing was left out it says so.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::report::page::PageSection;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::read::audit::AuditFolder;
use crate::report::read::grouped::grouped;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::{DirectionQuality, QualityValues, value, whole};
use crate::report::section::{models, recourse};
use crate::table::GroupRow;
use crate::text::fact;

/// Rows of each table of this section.
const ROWS_AT_MOST: usize = 100;

/// The section.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> PageSection {
    let is_dropped = audit.filters.iter().any(|f| f.rows_in != f.rows_out);
    let lacks = |g: &&GroupRow| {
        let own = [g.n_missing_label, g.n_missing_score, g.n_missing_counterfactual_score];
        let stratum = g.n_missing_stratum.unwrap_or(0);
        g.slice.is_empty()
            && own.iter().chain(&[g.n_scores_equal_threshold, stratum]).any(|n| *n > 0)
    };
    let mut issues: Vec<_> = audit.issues.iter().collect();
    // Warnings first; the sort is stable.
    issues.sort_by_key(|issue| issue.severity != "warning");
    let facts = context! {
        filters => rows(audit.filters.iter().filter(|_| is_dropped)),
        quality => rows(counterfactuals(audit)), not_counted => rows(not_counted(audit)),
        missing => rows(audit.groups.iter().filter(lacks)),
        strata => audit.groups.iter().any(|g| g.n_missing_stratum.is_some_and(|n| n > 0)),
        classes => audit.classes.are_there(), issues => rows(issues),
        undefined => rows(undefined(audit, glossary)), recourse => rows(recourse::left_out(audit)),
        waiting => !audit.manifest.awaited.is_empty(),
    };
    PageSection::of_facts("left-out", "left_out.html", facts)
}

/// The first rows of a table, and how many there are.
fn rows<R: Serialize>(all: impl IntoIterator<Item = R>) -> Value {
    let all: Vec<R> = all.into_iter().collect();
    let shown = &all[..all.len().min(ROWS_AT_MOST)];
    context!(all => all.len(), rows => fact(shown))
}

/// A direction is next to its set where its share of discarded counterfactuals differs by more
/// than this from that of all.
const DIFFERS: f64 = 0.05;

/// Counterfactuals that no metric counts, of a set or a direction of it: those that the filter or a
/// check discarded, and those that could not be made.
fn counterfactuals(audit: &AuditFolder) -> Vec<Value> {
    let share_of = |values: &QualityValues| value(values, "share_discarded").unwrap_or(0.0);
    let is_lost = |values: &QualityValues| {
        share_of(values) > 0.0
            || ["n_without_class", "n_without_target"].iter().any(|of| whole(values, of) > 0)
    };
    let row = |place: &ResultKey, values: &QualityValues| {
        let (made, share) = (whole(values, "n_cf"), share_of(values));
        context! {
            place => fact(place), made, share, discarded => (share * made as f64).round() as i64,
            valid => whole(values, "n_pairs_valid"), pairs => whole(values, "n_pairs"),
            without_class => whole(values, "n_without_class"),
            without_target => whole(values, "n_without_target"),
        }
    };
    let mut rows = Vec::new();
    for world in audit.set_qualities() {
        let Some((key, total)) = audit.quality.pairs.get_key_value(&world.key) else { continue };
        let differs =
            |d: &&DirectionQuality<'_>| (share_of(d.values) - share_of(total)).abs() > DIFFERS;
        if is_lost(total) {
            rows.push(row(key, total));
            rows.extend(world.directions.iter().filter(differs).map(|d| row(d.pair, d.values)));
        }
    }
    rows
}

/// The people of the group of a direction, and how many of them it counts where these are fewer.
fn undercount(audit: &AuditFolder, direction: &ResultKey) -> Option<(i64, i64)> {
    let ResultKey { model, attribute, from, .. } = direction;
    let group = ResultKey::new([model, "", attribute], "group", [from, ""]);
    let n_rows = |key: &ResultKey, metric: &str| audit.measure(key, metric).map(|of| of.n_rows);
    n_rows(&group.in_arm(&direction.arm), "pprev")
        .zip(n_rows(direction, "sr"))
        .filter(|(people, counted)| people > counted)
}

/// People of a group whom a direction does not count, where no table says how many of their
/// counterfactuals were discarded; of every model and every arm, those that lose the same together,
/// with the models and whether the audit itself is among them.
fn not_counted(audit: &AuditFolder) -> Vec<Value> {
    let quality = |key: &ResultKey| {
        audit.quality.values(&ResultKey::of_set(&key.set, &key.attribute)).is_some()
    };
    // What the audit and the arms say, in the order of the manifest.
    let of = audit.manifest.experiments.iter();
    let arms = of.flat_map(|of| of.arms.iter().map(|arm| of.in_tables(&arm.name)));
    let mut names: Vec<String> = arms.chain([String::new()]).collect();
    names.sort();
    let mut found = Vec::new();
    for (key, _) in names.into_iter().flat_map(|arm| audit.of_arm(arm)) {
        if key.scope == "direction" && !quality(key) {
            let Some(counts) = undercount(audit, key) else { continue };
            let direction = [&key.set, &key.attribute, &key.from, &key.to];
            found.push(((direction, counts), (&key.model, key.arm.is_empty())));
        }
    }
    let place =
        |model: &str| AuditFolder::position(audit.manifest.models.iter().map(|m| &m.name), model);
    type Direction<'a> = ([&'a String; 4], (i64, i64));
    let row = |(direction, of): (Direction<'_>, Vec<(&String, bool)>)| {
        let ([set, attribute, from, to], (people, counted)) = direction;
        let mut models: Vec<&String> = of.iter().map(|(model, _)| *model).collect();
        models.sort_by_key(|model| (place(model), *model));
        models.dedup();
        let of_arms = !of.iter().any(|(_, is_audit)| *is_audit);
        let models = Value::from_iter(models);
        context!(set, attribute, from, to, people, counted, models, of_arms)
    };
    grouped(found).into_iter().map(row).collect()
}

/// How many counterfactuals were made where a value is undefined because none of them is valid.
fn none_valid(audit: &AuditFolder, key: &ResultKey) -> Option<i64> {
    if key.set.is_empty() {
        return None;
    }
    let of_set = ResultKey::of_set(&key.set, &key.attribute);
    audit.quality.none_valid(&of_set).or_else(|| {
        let of_direction = Some(key.of_any_model()).filter(|_| key.scope == "direction");
        audit.quality.none_valid(&of_direction?)
    })
}

/// Undefined values by metric and reason, how many and where the first is; those of a set without
/// any valid counterfactual together.
fn undefined(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Vec<Value> {
    type Counted = (usize, Value);
    let mut found: BTreeMap<[&str; 4], Counted> = BTreeMap::new();
    let mut gone: BTreeMap<(&str, &str, i64), Counted> = BTreeMap::new();
    for (key, metrics) in audit.of_all_rows() {
        let none_valid = none_valid(audit, key);
        for (metric, measure) in metrics.iter().filter(|(_, measure)| measure.value.is_none()) {
            let of = [&*measure.family, metric, &key.class, terms::why(measure)];
            let none = || (0, place(key));
            let (n, _) = match none_valid {
                Some(made) => gone.entry((&key.set, &key.attribute, made)).or_insert_with(none),
                None => found.entry(of).or_insert_with(none),
            };
            *n += 1;
        }
    }
    let gone = gone.into_iter().map(|((set, attribute, made), (n, first))| {
        let of = Value::from_iter([set, attribute]);
        context!(metric => (), of, made, n, first)
    });
    // While scores are awaited the glossary holds what has a value.
    let waits = !audit.manifest.awaited.is_empty();
    let found = found.into_iter().map(|([_, metric, class, why], (n, first))| {
        let metric = if waits { glossary.named(metric) } else { glossary.title(metric) };
        context!(metric, of => Value::from_iter([class]), why, n, first)
    });
    gone.chain(found).collect()
}

/// Where a value is, with its set and model. What compares two directions can be a ratio, which is
/// no difference.
fn place(key: &ResultKey) -> Value {
    let scope = if key.scope == "difference" { "pair" } else { &key.scope };
    let place = models::place("", scope, [&key.from, &key.to]);
    context!(place => fact(&place), set => &key.set, model => &key.model)
}
