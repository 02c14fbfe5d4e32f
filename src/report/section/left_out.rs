//! Section "What was excluded": rows lost by filters, counterfactuals discarded or never made,
//! missing values, problems met, values that are undefined, and subgroups that recourse does not
//! judge. Never absent: where nothing was left out it says so.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{ReportedValue, ResultKey};
use crate::report::read::quality::{DirectionQuality, QualityKey, QualityValues, value, whole};
use crate::report::read::tally::WeightedCount;
use crate::report::section::recourse;
use crate::table::{FilterRow, GroupRow};

/// Rows of each table of this section.
const ROWS_AT_MOST: usize = 100;

/// The section.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> PageSection {
    let tables = [
        filters(audit),
        counterfactuals(audit),
        not_counted(audit),
        missing(audit),
        issues(audit),
        undefined(audit, glossary),
        not_judged(audit),
    ];
    let tables: Value = tables.into_iter().flatten().collect();
    let facts = context!(tables, waiting => !audit.manifest.awaited.is_empty());
    PageSection::of_facts(("left-out", "What was excluded"), "left_out.html", facts)
}

/// A table by the id of its caption, of the rows of a file; none where it has no row.
fn facts(id: &str, file: &str, mut table: PageTable) -> Option<Value> {
    let all = table.rows.len();
    table.rows.truncate(ROWS_AT_MOST);
    (all > 0).then(|| context!(id, file, all, table))
}

/// So many lost of a whole, with their share.
fn lost_of(lost: i64, whole: i64) -> String {
    let [part, all] = [lost, whole].map(WeightedCount::from_count);
    let share = number::share(part, all, false).unwrap_or_else(|| "none".to_owned());
    format!("{} ({share})", number::count(lost))
}

fn filters(audit: &AuditFolder) -> Option<Value> {
    if audit.filters.iter().all(|f| f.rows_in == f.rows_out) {
        return None;
    }
    let row = |f: &FilterRow| {
        let lost = lost_of(f.rows_in.saturating_sub(f.rows_out), f.rows_in);
        let cells = [number::count(f.rows_in), number::count(f.rows_out), lost];
        ReportRow::new(RichText::new().quote(f.what.as_str()), cells)
    };
    let head = ["Step", "Rows in", "Rows out", "Lost"];
    facts("filters", "filters", PageTable::new(head, audit.filters.iter().map(row)))
}

/// A direction is next to its set where its share of discarded counterfactuals differs by more
/// than this from that of all.
const DIFFERS: f64 = 0.05;

/// Counterfactuals that no metric counts: those that the filter or a check discarded, and those
/// that could not be made.
fn counterfactuals(audit: &AuditFolder) -> Option<Value> {
    let lost = |values: &&QualityValues| {
        value(values, "share_discarded").is_some_and(|share| share > 0.0)
            || ["n_without_class", "n_without_target"]
                .iter()
                .any(|measure| whole(values, measure) > 0)
    };
    let worlds = audit.set_qualities();
    let targets = worlds
        .iter()
        .filter_map(|w| audit.quality.values(&w.key))
        .any(|values| whole(values, "n_without_target") > 0);
    let mut rows = Vec::new();
    for world in &worlds {
        let Some(total) = audit.quality.values(&world.key).filter(lost) else { continue };
        let name =
            || RichText::new().name(&world.key.attribute).text(", set ").name(&world.key.set);
        let share_of = |values: &QualityValues| value(values, "share_discarded").unwrap_or(0.0);
        let differs =
            |d: &&DirectionQuality<'_>| (share_of(d.values) - share_of(total)).abs() > DIFFERS;
        let directions = world.directions.iter().filter(differs).map(|d| {
            (
                RichText::direction(&d.pair.from, &d.pair.to).text(", set ").name(&d.pair.set),
                d.values,
            )
        });
        rows.extend([(name(), total)].into_iter().chain(directions).map(|(head, values)| {
            let (made, pairs) = (whole(values, "n_cf"), whole(values, "n_pairs"));
            let share = share_of(values);
            let discarded = (share * made as f64).round() as i64;
            let share = NumberFormat::Share.value(share);
            let mut cells = vec![
                number::count(made),
                format!("{} ({share})", number::count(discarded)),
                number::of(whole(values, "n_pairs_valid"), pairs),
                number::count(whole(values, "n_without_class")),
            ];
            cells.extend(targets.then(|| number::count(whole(values, "n_without_target"))));
            ReportRow::new(head, cells)
        }));
    }
    let mut head = vec!["Attribute and set", "Made", "Discarded", "Rows left", "Without a class"];
    head.extend(targets.then_some("Without a target"));
    facts("cf_quality", "cf_quality", PageTable::new(head, rows))
}

/// A direction that counts fewer people than its group has, in the audit or in arms of experiments.
struct UndercountedGroup<'a> {
    key: &'a ResultKey,
    people: i64,
    counted: i64,
    models: Vec<&'a str>,
    audited: bool,
}

impl UndercountedGroup<'_> {
    fn place(key: &ResultKey) -> [&str; 4] {
        [&key.set, &key.attribute, &key.from, &key.to]
    }
}

/// The people of the group of a direction, and how many of them it counts where these are fewer.
pub(crate) fn undercount(
    measures: &BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>,
    direction: &ResultKey,
) -> Option<(i64, i64)> {
    let group = ResultKey {
        set: String::new(),
        scope: "group".to_owned(),
        to: String::new(),
        ..direction.clone()
    };
    let n_rows = |key: &ResultKey, metric: &str| {
        measures.get(key).and_then(|of| of.get(metric)).map(|measure| measure.n_rows)
    };
    n_rows(&group, "pprev")
        .zip(n_rows(direction, "sr"))
        .filter(|(people, counted)| people > counted)
}

/// People of a group whom a direction does not count, where no table tells how many of their
/// counterfactuals were discarded; of every model and every arm, those that lose the same together.
fn not_counted(audit: &AuditFolder) -> Option<Value> {
    let quality = |key: &ResultKey| {
        audit.quality.values(&QualityKey::of_set(&key.set, &key.attribute)).is_some()
    };
    // What the audit and the arms say, in the order of the manifest.
    let arms = audit.arms.iter().map(|(arm, numbers)| (arm.as_str(), &numbers.measures));
    let mut found: Vec<UndercountedGroup<'_>> = Vec::new();
    for (arm, measures) in std::iter::once(("", &audit.measures)).chain(arms) {
        for key in measures.keys().filter(|key| key.scope == "direction" && !quality(key)) {
            let Some((people, counted)) = undercount(measures, key) else { continue };
            let same = |of: &&mut UndercountedGroup<'_>| {
                (of.people, of.counted) == (people, counted)
                    && UndercountedGroup::place(of.key) == UndercountedGroup::place(key)
            };
            match found.iter_mut().find(same) {
                Some(known) if known.models.contains(&key.model.as_str()) => {}
                Some(known) => known.models.push(&key.model),
                None => found.push(UndercountedGroup {
                    key,
                    people,
                    counted,
                    models: vec![&key.model],
                    audited: arm.is_empty(),
                }),
            }
        }
    }
    let row =
        |UndercountedGroup { key, people, counted, mut models, audited }: UndercountedGroup<'_>| {
            models.sort_by_key(|model| {
                AuditFolder::position(audit.manifest.models.iter().map(|m| &m.name), model)
            });
            let head = RichText::direction(&key.from, &key.to).text(", set ").name(&key.set);
            let head = models.iter().enumerate().fold(head.text(", model "), |head, (i, model)| {
                head.text(if i > 0 { ", " } else { "" }).name(*model)
            });
            let head = if audited { head } else { head.text(", arms of experiments") };
            let lost = lost_of(people - counted, people);
            ReportRow::new(head, [number::count(people), number::count(counted), lost])
        };
    let head = ["Direction, set and model", "People of the group", "Counted", "Not counted"];
    facts("not_counted", "metrics", PageTable::new(head, found.into_iter().map(row)))
}

fn missing(audit: &AuditFolder) -> Option<Value> {
    let classes = audit.classes.are_there();
    let tied = if classes { "Highest score twice" } else { "Score at the threshold" };
    type Count = fn(&GroupRow) -> i64;
    let columns: [(&str, Count); 5] = [
        ("No label", |row| row.n_missing_label),
        ("No score", |row| row.n_missing_score),
        ("No counterfactual score", |row| row.n_missing_counterfactual_score),
        (tied, |row| row.n_scores_equal_threshold),
        ("No stratum", |row| row.n_missing_stratum.unwrap_or(0)),
    ];
    let has_strata = audit.groups.iter().any(|g| g.n_missing_stratum.unwrap_or(0) > 0);
    let columns = &columns[..if has_strata { 5 } else { 4 }];
    let any = |g: &&GroupRow| g.slice.is_empty() && columns.iter().any(|(_, of)| of(g) > 0);
    let row = |g: &GroupRow| {
        let head = match g.group.as_str() {
            "" => RichText::from("All groups"),
            group => RichText::new().name(group),
        };
        let head =
            head.text(", ").name(g.sensitive.as_str()).text(", model ").name(g.model.as_str());
        let counts = std::iter::once(g.n).chain(columns.iter().map(|(_, of)| of(g)));
        ReportRow::new(head, counts.map(number::count))
    };
    let head = ["Group", "People"].into_iter().chain(columns.iter().map(|(head, _)| *head));
    let table = PageTable::new(head, audit.groups.iter().filter(any).map(row));
    facts(if classes { "groups_of_classes" } else { "groups" }, "groups", table)
}

fn issues(audit: &AuditFolder) -> Option<Value> {
    let mut rows: Vec<_> = audit.issues.iter().collect();
    // Warnings first; the sort is stable.
    rows.sort_by_key(|i| i.severity != "warning");
    let rows = rows.into_iter().map(|i| {
        let cells = [
            RichText::from(i.severity.as_str()),
            RichText::new().quote(i.r#where.as_str()),
            number::count(i.n).into(),
            RichText::new().quote(number::grouped_in(&i.text)),
        ];
        ReportRow::new(RichText::new().code(i.code.as_str()), cells)
    });
    let head = ["Code", "Severity", "Where", "How often", "What"];
    facts("issues", "issues", PageTable::of_words(head, rows))
}

/// What recourse could not judge.
fn not_judged(audit: &AuditFolder) -> Option<Value> {
    let rows = recourse::left_out(audit).into_iter();
    let rows = rows.map(|(head, why, what)| ReportRow::new(head, [what, why]));
    let head = ["Comparison", "Left out", "Because"];
    facts("subgroups", "subgroups", PageTable::of_words(head, rows))
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

/// Undefined values by metric and reason; those of a set without any valid counterfactual together.
fn undefined(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<Value> {
    let mut found: BTreeMap<(&str, &str, &str, &str), (usize, RichText)> = BTreeMap::new();
    let mut gone: BTreeMap<(&str, &str, i64), (usize, RichText)> = BTreeMap::new();
    let of_all = audit.measures.iter().map(|(key, metrics)| ("", key, metrics));
    for (class, key, metrics) in of_all.chain(audit.classes.measures()) {
        if let Some(made) = none_valid(audit, key) {
            let n = metrics.values().filter(|m| m.value.is_none()).count();
            let (sum, example) = gone.entry((&key.set, &key.attribute, made)).or_default();
            if *sum == 0 {
                *example = place(key);
            }
            *sum += n;
            continue;
        }
        for (metric, measure) in metrics.iter().filter(|(_, m)| m.value.is_none()) {
            let (n, example) = found
                .entry((measure.family.as_str(), metric.as_str(), class, terms::why(measure)))
                .or_default();
            *n += 1;
            if *n == 1 {
                *example = place(key);
            }
        }
    }
    let of_gone = gone.into_iter().filter(|(_, (n, _))| *n > 0).map(
        |((set, attribute, made), (n, example))| {
            let head = RichText::from("all metrics of set ").name(set).text(", ").name(attribute);
            let why = RichText::from(terms::none_valid(made));
            ReportRow::new(head, [why, number::size(n).into(), example])
        },
    );
    let found = found.into_iter().map(|((_, metric, class, reason), (n, example))| {
        let head = glossary.title(metric);
        let head = if class.is_empty() { head } else { head.text(", class ").name(class) };
        ReportRow::new(head, [reason.into(), number::size(n).into(), example])
    });
    let head = ["Metric", "Because", "Values", "First of them"];
    facts("undefined", "metrics", PageTable::of_words(head, of_gone.chain(found)))
}

fn place(key: &ResultKey) -> RichText {
    let mut words = match (key.from.is_empty(), key.to.is_empty()) {
        (true, true) if key.scope == "worst_case" => RichText::from("the groups furthest apart"),
        (true, false) if key.scope == "one_vs_rest" => {
            RichText::from("all others and ").name(&key.to)
        }
        (false, true) if key.scope == "one_vs_rest" => {
            RichText::new().name(&key.from).text(" and all others")
        }
        (true, true) => RichText::from("all groups"),
        (true, false) => RichText::new().text("all others \u{2192} ").name(&key.to),
        (false, true) if key.scope == "one_to_rest" => {
            RichText::new().name(&key.from).text(" \u{2192} all others")
        }
        (false, true) => RichText::new().name(&key.from),
        (false, false) if key.set.is_empty() || key.scope == "difference" => {
            RichText::new().name(&key.from).text(" and ").name(&key.to)
        }
        (false, false) => RichText::direction(&key.from, &key.to),
    };
    for (word, name) in [("set", &key.set), ("model", &key.model)] {
        if !name.is_empty() {
            words = words.text(format!(", {word} ")).name(name);
        }
    }
    words
}
