//! Section "What was excluded": rows lost by filters, counterfactuals discarded or never made,
//! missing values, problems met, values that are undefined, and subgroups that recourse does not
//! judge. Never absent: where nothing was left out it says so.

use crate::table::GroupRow;
use std::collections::BTreeMap;

use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{ReportedValue, ResultKey};
use crate::report::read::quality::{DirectionQuality, QualityKey, QualityValues};
use crate::report::read::tally::WeightedCount;
use crate::report::section::recourse;

/// Rows of each table of this section.
const ROWS_AT_MOST: usize = 100;

/// The section.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> PageSection {
    let mut blocks = Vec::new();
    blocks.extend(filters(audit));
    blocks.extend(counterfactuals(audit));
    blocks.extend(not_counted(audit));
    blocks.extend(missing(audit));
    blocks.extend(issues(audit));
    blocks.extend(undefined(audit, glossary));
    blocks.extend(not_judged(audit));
    if blocks.is_empty() {
        let nothing = if audit.manifest.awaited.is_empty() {
            "Nothing: no row was dropped, no value was missing, no problem occurred, and every \
             value is defined."
        } else {
            "Nothing so far: no row was dropped, and no problem occurred."
        };
        blocks.push(PageBlock::Text(nothing.into()));
    }
    PageSection { id: "left-out", title: "What was excluded", blocks }
}

fn table(
    caption: &str,
    head: &[&str],
    mut rows: Vec<ReportRow>,
    prose: bool,
    file: &str,
) -> Option<PageBlock> {
    let all = rows.len();
    rows.truncate(ROWS_AT_MOST);
    let caption = if rows.len() < all {
        format!("{caption}: the first {} of {all}; all are in tables/{file}.parquet", rows.len())
    } else {
        caption.to_owned()
    };
    (all > 0).then(|| {
        PageBlock::Table(PageTable {
            caption: caption.into(),
            head: head.iter().map(|h| RichText::from(*h)).collect(),
            rows,
            prose,
            ..PageTable::default()
        })
    })
}

fn filters(audit: &AuditFolder) -> Option<PageBlock> {
    let steps: Vec<_> =
        audit.filters.iter().map(|f| (f.what.as_str(), f.rows_in, f.rows_out)).collect();
    if steps.iter().all(|(_, rows_in, rows_out)| rows_in == rows_out) {
        return None;
    }
    let rows = steps
        .into_iter()
        .map(|(what, rows_in, rows_out)| {
            let lost = rows_in.saturating_sub(rows_out);
            let share = number::share(
                WeightedCount::from_count(lost),
                WeightedCount::from_count(rows_in),
                false,
            )
            .unwrap_or_else(|| "none".to_owned());
            let cells = [
                number::count(rows_in),
                number::count(rows_out),
                format!("{} ({share})", number::count(lost)),
            ];
            ReportRow {
                id: String::new(),
                head: RichText::new().quote(what),
                cells: cells.map(Into::into).into(),
            }
        })
        .collect();
    table(
        "Rows dropped by each step",
        &["Step", "Rows in", "Rows out", "Lost"],
        rows,
        false,
        "filters",
    )
}

/// A direction is next to its set where its share of discarded counterfactuals differs by more
/// than this from that of all.
const DIFFERS: f64 = 0.05;

/// Counterfactuals that no metric counts: those that the filter or a check discarded, and those
/// that could not be made.
fn counterfactuals(audit: &AuditFolder) -> Option<PageBlock> {
    let value = |values: &QualityValues, measure: &str| values.get(measure).copied().flatten();
    // Counts of rows are far below the end of exact whole numbers.
    let whole = |values: &QualityValues, measure: &str| {
        value(values, measure).unwrap_or(0.0).round() as i64
    };
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
            let mut cells = vec![
                number::count(made),
                format!(
                    "{} ({})",
                    number::count(discarded),
                    number::NumberFormat::Share.value(share)
                ),
                format!(
                    "{} of {}",
                    number::count(whole(values, "n_pairs_valid")),
                    number::count(pairs)
                ),
                number::count(whole(values, "n_without_class")),
            ];
            cells.extend(targets.then(|| number::count(whole(values, "n_without_target"))));
            ReportRow {
                id: String::new(),
                head,
                cells: cells.into_iter().map(Into::into).collect(),
            }
        }));
    }
    let mut head = vec!["Attribute and set", "Made", "Discarded", "Rows left", "Without a class"];
    head.extend(targets.then_some("Without a target"));
    let caption = "Counterfactuals that no metric counts: discarded by the filter or a check of \
                   their set, or not generated; a row counts once per group to which it is moved";
    table(caption, &head, rows, false, "cf_quality")
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
fn not_counted(audit: &AuditFolder) -> Option<PageBlock> {
    let quality = |key: &ResultKey| {
        let (set, attribute) = (key.set.clone(), key.attribute.clone());
        audit
            .quality
            .values(&QualityKey { set, attribute, from: String::new(), to: String::new() })
            .is_some()
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
            let lost = people - counted;
            let share = number::share(
                WeightedCount::from_count(lost),
                WeightedCount::from_count(people),
                false,
            )
            .unwrap_or_default();
            let head = RichText::direction(&key.from, &key.to)
                .text(", set ")
                .name(&key.set)
                .text(", model ");
            let head = models.iter().enumerate().fold(head, |head, (i, model)| {
                head.text(if i > 0 { ", " } else { "" }).name(*model)
            });
            let head = if audited { head } else { head.text(", arms of experiments") };
            let cells = [
                number::count(people),
                number::count(counted),
                format!("{} ({share})", number::count(lost)),
            ];
            ReportRow { id: String::new(), head, cells: cells.map(Into::into).into() }
        };
    table(
        "People of a group who are excluded from a direction: their counterfactual was discarded \
         by the filter or a check of its set, could not be generated, or has no score",
        &["Direction, set and model", "People of the group", "Counted", "Not counted"],
        found.into_iter().map(row).collect(),
        false,
        "metrics",
    )
}

fn missing(audit: &AuditFolder) -> Option<PageBlock> {
    let mut columns: Vec<fn(&GroupRow) -> i64> = vec![
        |row| row.n_missing_label,
        |row| row.n_missing_score,
        |row| row.n_missing_counterfactual_score,
        |row| row.n_scores_equal_threshold,
    ];
    let mut head = vec![
        "Group",
        "People",
        "No label",
        "No score",
        "No counterfactual score",
        "Score at the threshold",
    ];
    if audit.groups.iter().any(|g| g.n_missing_stratum.unwrap_or(0) > 0) {
        columns.push(|row| row.n_missing_stratum.unwrap_or(0));
        head.push("No stratum");
    }
    let rows = audit
        .groups
        .iter()
        .filter(|g| g.slice.is_empty() && columns.iter().any(|of| of(g) > 0))
        .map(|g| {
            let group = g.group.as_str();
            let head = if group.is_empty() {
                RichText::from("All groups")
            } else {
                RichText::new().name(group)
            };
            let head =
                head.text(", ").name(g.sensitive.as_str()).text(", model ").name(g.model.as_str());
            let mut cells = vec![RichText::from(number::count(g.n))];
            cells.extend(columns.iter().map(|of| RichText::from(number::count(of(g)))));
            ReportRow {
                id: String::new(),
                head,
                cells: cells.into_iter().map(Into::into).collect(),
            }
        })
        .collect();
    let tied = if audit.classes.are_there() {
        head[5] = "Highest score twice";
        "and ties between the highest scores of classes, where the class named first is used"
    } else {
        "and scores equal to the threshold, which its rule decides"
    };
    table(&format!("Missing values by group, {tied}"), &head, rows, false, "groups")
}

fn issues(audit: &AuditFolder) -> Option<PageBlock> {
    let mut rows: Vec<_> = audit.issues.iter().collect();
    // Warnings first; the sort is stable.
    rows.sort_by_key(|i| i.severity != "warning");
    let rows = rows
        .into_iter()
        .map(|i| {
            let cells = [
                RichText::from(i.severity.as_str()),
                RichText::new().quote(i.r#where.as_str()),
                number::count(i.n).into(),
                RichText::new().quote(number::grouped_in(&i.text)),
            ];
            ReportRow {
                id: String::new(),
                head: RichText::new().code(i.code.as_str()),
                cells: cells.map(Into::into).into(),
            }
        })
        .collect();
    table(
        "Problems that did not stop the run",
        &["Code", "Severity", "Where", "How often", "What"],
        rows,
        true,
        "issues",
    )
}

/// What recourse could not judge.
fn not_judged(audit: &AuditFolder) -> Option<PageBlock> {
    let rows = recourse::left_out(audit)
        .into_iter()
        .map(|(head, why, what)| ReportRow {
            id: String::new(),
            head,
            cells: vec![what.into(), why.into()],
        })
        .collect();
    let caption = "Recourse that was not judged; its values are empty in the tables, never 0";
    table(caption, &["Comparison", "Left out", "Because"], rows, true, "subgroups")
}

/// How many counterfactuals were made where a value is undefined because none of them is valid.
fn none_valid(audit: &AuditFolder, key: &ResultKey) -> Option<i64> {
    if key.set.is_empty() {
        return None;
    }
    let pair = |from: &str, to: &str| QualityKey {
        set: key.set.clone(),
        attribute: key.attribute.clone(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    audit.quality.none_valid(&pair("", "")).or_else(|| {
        let of_direction =
            (key.scope == "direction").then(|| audit.quality.none_valid(&pair(&key.from, &key.to)));
        of_direction.flatten()
    })
}

/// Undefined values by metric and reason; those of a set without any valid counterfactual together.
fn undefined(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageBlock> {
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
        |((set, attribute, made), (n, example))| ReportRow {
            id: String::new(),
            head: RichText::from("all metrics of set ").name(set).text(", ").name(attribute),
            cells: vec![
                terms::none_valid(made).into(),
                number::count(i64::try_from(n).unwrap_or(i64::MAX)).into(),
                example.into(),
            ],
        },
    );
    let found = found.into_iter().map(|((_, metric, class, reason), (n, example))| ReportRow {
        id: String::new(),
        head: if class.is_empty() {
            glossary.title(metric)
        } else {
            glossary.title(metric).text(", class ").name(class)
        },
        cells: vec![
            reason.into(),
            number::count(i64::try_from(n).unwrap_or(i64::MAX)).into(),
            example.into(),
        ],
    });
    let rows = of_gone.chain(found).collect();
    table(
        "Values that are undefined, by metric and reason; they are empty in the tables, never 0",
        &["Metric", "Because", "Values", "First of them"],
        rows,
        true,
        "metrics",
    )
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
