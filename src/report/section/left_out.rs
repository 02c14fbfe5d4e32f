//! Section "What was excluded": rows lost by filters, counterfactuals discarded or never made,
//! missing values, problems met, values that are undefined, and subgroups that recourse does not
//! judge. Never absent: where nothing was left out it says so.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::report::page::PageSection;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{ReportedValue, ResultKey};
use crate::report::read::quality::{DirectionQuality, QualityKey, QualityValues, value, whole};
use crate::report::section::{models, recourse};
use crate::table::GroupRow;

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
        undefined => rows(undefined(audit, glossary)),
        recourse => rows(recourse::left_out(audit)),
        waiting => !audit.manifest.awaited.is_empty(),
    };
    PageSection::of_facts(("left-out", "What was excluded"), "left_out.html", facts)
}

/// The first rows of a table, and how many there are.
fn rows<R: Serialize>(all: impl IntoIterator<Item = R>) -> Value {
    let all: Vec<R> = all.into_iter().collect();
    let shown = &all[..all.len().min(ROWS_AT_MOST)];
    context!(all => all.len(), rows => Value::from(Serde(shown)))
}

/// Counterfactuals of a set, or of a direction of it, that no metric counts.
#[derive(Serialize)]
struct LostCounterfactuals<'a> {
    place: &'a QualityKey,
    made: i64,
    discarded: i64,
    share: f64,
    valid: i64,
    pairs: i64,
    without_class: i64,
    without_target: i64,
}

/// A direction is next to its set where its share of discarded counterfactuals differs by more
/// than this from that of all.
const DIFFERS: f64 = 0.05;

/// Counterfactuals that no metric counts: those that the filter or a check discarded, and those
/// that could not be made.
fn counterfactuals(audit: &AuditFolder) -> Vec<LostCounterfactuals<'_>> {
    let share_of = |values: &QualityValues| value(values, "share_discarded").unwrap_or(0.0);
    let is_lost = |values: &QualityValues| {
        share_of(values) > 0.0
            || ["n_without_class", "n_without_target"].iter().any(|of| whole(values, of) > 0)
    };
    let row = |place, values: &QualityValues| {
        let (made, share) = (whole(values, "n_cf"), share_of(values));
        LostCounterfactuals {
            place,
            made,
            discarded: (share * made as f64).round() as i64,
            share,
            valid: whole(values, "n_pairs_valid"),
            pairs: whole(values, "n_pairs"),
            without_class: whole(values, "n_without_class"),
            without_target: whole(values, "n_without_target"),
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

/// A direction that counts fewer people than its group has, in the audit or in arms of experiments.
#[derive(PartialEq, Serialize)]
struct UndercountedGroup<'a> {
    set: &'a str,
    attribute: &'a str,
    from: &'a str,
    to: &'a str,
    people: i64,
    counted: i64,
}

/// The people of the group of a direction, and how many of them it counts where these are fewer.
fn undercount(
    measures: &BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>,
    direction: &ResultKey,
) -> Option<(i64, i64)> {
    let ResultKey { model, attribute, from, .. } = direction;
    let group = ResultKey::new([model, "", attribute], "group", [from, ""]);
    let n_rows = |key: &ResultKey, metric: &str| {
        measures.get(key).and_then(|of| of.get(metric)).map(|measure| measure.n_rows)
    };
    n_rows(&group, "pprev")
        .zip(n_rows(direction, "sr"))
        .filter(|(people, counted)| people > counted)
}

/// People of a group whom a direction does not count, where no table tells how many of their
/// counterfactuals were discarded; of every model and every arm, those that lose the same together,
/// with the models and whether the audit itself is among them.
fn not_counted(audit: &AuditFolder) -> Vec<(UndercountedGroup<'_>, Vec<&str>, bool)> {
    let quality = |key: &ResultKey| {
        audit.quality.values(&QualityKey::of_set(&key.set, &key.attribute)).is_some()
    };
    // What the audit and the arms say, in the order of the manifest.
    let arms = audit.arms.values().map(|numbers| (false, &numbers.measures));
    let mut found: Vec<(UndercountedGroup<'_>, Vec<&str>, bool)> = Vec::new();
    for (is_audit, measures) in std::iter::once((true, &audit.measures)).chain(arms) {
        for key in measures.keys().filter(|key| key.scope == "direction" && !quality(key)) {
            let Some((people, counted)) = undercount(measures, key) else { continue };
            let ResultKey { model, set, attribute, from, to, .. } = key;
            let group = UndercountedGroup { set, attribute, from, to, people, counted };
            match found.iter_mut().find(|(other, ..)| *other == group) {
                Some((_, models, _)) if models.contains(&model.as_str()) => {}
                Some((_, models, _)) => models.push(model),
                None => found.push((group, vec![model], is_audit)),
            }
        }
    }
    for (_, models, _) in &mut found {
        models.sort_by_key(|model| {
            AuditFolder::position(audit.manifest.models.iter().map(|m| &m.name), model)
        });
    }
    found
}

/// How many counterfactuals were made where a value is undefined because none of them is valid.
fn none_valid(audit: &AuditFolder, key: &ResultKey) -> Option<i64> {
    if key.set.is_empty() {
        return None;
    }
    let of_set = QualityKey::of_set(&key.set, &key.attribute);
    audit.quality.none_valid(&of_set).or_else(|| {
        let of_direction = Some(QualityKey::from(key)).filter(|_| key.scope == "direction");
        audit.quality.none_valid(&of_direction?)
    })
}

/// Values that are undefined for one reason.
#[derive(Default, Serialize)]
struct UndefinedValues {
    /// The metric; none where none of a set has a value.
    metric: Option<RichText>,
    /// The set without a valid counterfactual, and the attribute; or the class.
    of: [String; 2],
    why: String,
    n: usize,
    /// Where the first of them is.
    first: RichText,
}

impl UndefinedValues {
    fn add(&mut self, n: usize, key: &ResultKey) {
        if self.n == 0 {
            self.first = place(key);
        }
        self.n += n;
    }
}

/// Undefined values by metric and reason; those of a set without any valid counterfactual together.
fn undefined(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Vec<UndefinedValues> {
    let mut found: BTreeMap<[&str; 4], UndefinedValues> = BTreeMap::new();
    let mut gone: BTreeMap<(&str, &str, i64), UndefinedValues> = BTreeMap::new();
    let of_all = audit.measures.iter().map(|(key, metrics)| ("", key, metrics));
    for (class, key, metrics) in of_all.chain(audit.classes.measures()) {
        let missing = metrics.iter().filter(|(_, measure)| measure.value.is_none());
        if let Some(made) = none_valid(audit, key) {
            let of_set = gone.entry((&key.set, &key.attribute, made)).or_default();
            of_set.add(missing.count(), key);
            continue;
        }
        for (metric, measure) in missing {
            let of = [measure.family.as_str(), metric.as_str(), class, terms::why(measure)];
            found.entry(of).or_default().add(1, key);
        }
    }
    let gone = gone.into_iter().filter(|(_, of)| of.n > 0).map(|((set, attribute, made), of)| {
        let names = [set, attribute].map(str::to_owned);
        UndefinedValues { of: names, why: terms::none_valid(made), ..of }
    });
    let found = found.into_iter().map(|([_, metric, class, why], of)| UndefinedValues {
        metric: Some(glossary.title(metric)),
        of: [class, ""].map(str::to_owned),
        why: why.to_owned(),
        ..of
    });
    gone.chain(found).collect()
}

/// Where a value is, with its set and model. What compares two directions can be a ratio, which is
/// no difference.
fn place(key: &ResultKey) -> RichText {
    let scope = if key.scope == "difference" { "pair" } else { &key.scope };
    let place = models::place("", scope, [&key.from, &key.to]);
    let named = [("set", &key.set), ("model", &key.model)].into_iter();
    let named = named.filter(|(_, name)| !name.is_empty());
    named.fold(place, |words, (word, name)| words.text(format!(", {word} ")).name(name))
}
