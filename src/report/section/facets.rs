//! Below "Groups as they are": Clarify's metrics by comparison, the groups that are furthest apart,
//! and each group against all others.

use crate::metric::GapTransform;
use crate::metric::catalog::clarify::BiasChange;
use crate::metric::catalog::find;
use crate::metric::catalog::place::PageList;
use crate::report::page::cells::{cell, level_in_words};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{ReportedValue, ResultKey};
use crate::report::read::words::LARGEST_BY_CHANCE;
use crate::report::section::classes;
use crate::report::section::switches::measures_of;

/// Comparisons beyond which the page shows the widest only.
const COMPARISONS_AT_MOST: usize = 6;

type FacetKeyFn<'a> = dyn Fn(&str, &str, &str) -> ResultKey + 'a;

/// The two sides of a comparison; all others have no name.
fn sides(key: &ResultKey) -> RichText {
    let side = |words: RichText, group: &str| {
        if group.is_empty() { words.text("all others") } else { words.name(group) }
    };
    side(side(RichText::new(), &key.from).text(" and "), &key.to)
}

fn group_of(name: &str) -> RichText {
    if name.is_empty() { "\u{2013}".into() } else { RichText::new().name(name) }
}

/// The comparisons that Clarify's metrics are measured for, those with the widest gap of favourable
/// predictions first.
fn comparisons(audit: &AuditFolder, groups: &[String], at: &FacetKeyFn<'_>) -> Vec<ResultKey> {
    let pairs = groups.iter().flat_map(|a| groups.iter().map(move |d| at("pair", a, d)));
    let all: Vec<ResultKey> =
        pairs.chain(groups.iter().map(|d| at("one_vs_rest", "", d))).collect();
    let gap = |key: &ResultKey| {
        let names = audit.classes.names.iter();
        let of_classes = names.filter_map(|class| audit.classes.measure(class, key, "dppl"));
        let all = audit.measure(key, "dppl").into_iter().chain(of_classes);
        all.map(|m| m.value.map_or(-1.0, f64::abs)).reduce(f64::max)
    };
    let mut found: Vec<(f64, ResultKey)> =
        all.into_iter().filter_map(|key| Some((gap(&key)?, key))).collect();
    found.sort_by(|x, y| y.0.total_cmp(&x.0));
    found.into_iter().map(|(_, key)| key).collect()
}

/// How a value of a comparison was found out, if that is not obvious.
fn with_method(mut cell: PageCell, metric: &str, measure: Option<&ReportedValue>) -> PageCell {
    if let Some(measure) = measure.filter(|m| metric == "ft" && m.value.is_some())
        && let Some((_, how)) = measure.words.split_once("; ")
    {
        cell.small.push(how.to_owned().into());
    }
    cell
}

/// What predictions make of the difference of the labels of a comparison, as a sentence; none where
/// the labels show no difference.
fn change_of_bias(audit: &AuditFolder, key: &ResultKey) -> Option<PageBlock> {
    let [dpl, change] = ["dpl", "bias_change"].map(|metric| audit.measure(key, metric));
    let (dpl, change) = (dpl?, change?);
    let told = BiasChange::new(dpl.value?, dpl.interval, change.interval)?;
    let words = RichText::from("Compared with the labels, the difference of ").and(sides(key));
    Some(PageBlock::Note(words.text(match told {
        BiasChange::Amplified => " is amplified by the predictions.",
        BiasChange::Reduced => " is reduced by the predictions.",
        BiasChange::NotDistinguishable => {
            " in the predictions is not distinguishable from that in the labels."
        }
    })))
}

/// Clarify's metrics of one attribute and model.
pub(crate) fn clarify(
    audit: &AuditFolder,
    groups: &[String],
    at: &FacetKeyFn<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let mut found = comparisons(audit, groups, at);
    let all = found.len();
    if all > COMPARISONS_AT_MOST {
        found.truncate(audit.rows_shown());
    }
    let total = at("total", "", "");
    if audit.classes.are_there() {
        let tables = found.iter().filter_map(|key| {
            let of = RichText::from("Clarify's metrics, the favoured facet first: ");
            let lists = [PageList::ClarifyOutcomes, PageList::ClarifyDeserts];
            classes::of_facets(audit, (key, &total), of.and(sides(key)), lists, glossary)
        });
        return tables.map(PageBlock::Table).collect();
    }
    let benefit: Vec<(&str, &ReportedValue)> = PageList::ClarifyTotals
        .ids()
        .iter()
        .filter_map(|metric| Some((*metric, audit.measure(&total, metric)?)))
        .collect();
    let there = |list: PageList| {
        list.ids()
            .iter()
            .copied()
            .filter(|m| found.iter().any(|key| audit.measure(key, m).is_some()))
            .collect::<Vec<&str>>()
    };
    let lists = [PageList::ClarifyOutcomes, PageList::ClarifyDeserts, PageList::ClarifyNotes];
    let clarifys = lists.map(PageList::ids).concat();
    let levels = level_in_words(measures_of(audit, &found.iter().collect::<Vec<_>>(), &clarifys));
    let some = if found.len() < all {
        format!(
            ": the {} widest of {all} comparisons, all are in tables/metrics.parquet",
            found.len()
        )
    } else {
        String::new()
    };
    let mut blocks = Vec::new();
    match found.as_slice() {
        [] => {}
        [key] => {
            let beside = there(PageList::ClarifyNotes)
                .into_iter()
                .filter(|m| audit.measure(key, m).and_then(|m| m.value).is_some_and(|v| v != 0.0));
            let metrics: Vec<&str> = there(PageList::ClarifyOutcomes)
                .into_iter()
                .chain(there(PageList::ClarifyDeserts))
                .chain(beside)
                .collect();
            let mut rows: Vec<ReportRow> = metrics
                .into_iter()
                .map(|metric| {
                    let measure = audit.measure(key, metric);
                    let value = with_method(
                        cell(measure, terms::kind(metric, &key.scope)),
                        metric,
                        measure,
                    );
                    let impaired = group_of(measure.map_or("", |m| m.impaired.as_str()));
                    ReportRow {
                        id: String::new(),
                        head: glossary.title(metric),
                        cells: vec![value, impaired.into()],
                    }
                })
                .collect();
            rows.extend(benefit.into_iter().map(|(metric, value)| ReportRow {
                id: String::new(),
                head: glossary.title(metric).text(", everybody"),
                cells: vec![cell(Some(value), terms::kind(metric, "total")), "\u{2013}".into()],
            }));
            let caption = RichText::from("Clarify's metrics, the favoured facet first: ")
                .and(sides(key))
                .text(levels);
            let head = ["Metric", "Value", "Group at a disadvantage"].map(RichText::from).to_vec();
            blocks.push(PageBlock::Table(PageTable { caption, head, rows, prose: false }));
        }
        _ => {
            for (what, metrics) in [
                ("what people get", there(PageList::ClarifyOutcomes)),
                ("what they get and deserve", there(PageList::ClarifyDeserts)),
                ("next to them", there(PageList::ClarifyNotes)),
            ] {
                if metrics.is_empty() {
                    continue;
                }
                let mut head = vec![RichText::from("Favoured facet and d")];
                head.extend(metrics.iter().map(|m| glossary.head(m)));
                let row = |key: &ResultKey| {
                    let value = |metric: &&str| {
                        let measure = audit.measure(key, metric);
                        with_method(cell(measure, terms::kind(metric, &key.scope)), metric, measure)
                    };
                    ReportRow {
                        id: String::new(),
                        head: sides(key),
                        cells: metrics.iter().map(value).collect(),
                    }
                };
                let caption = format!("Clarify's metrics, {what}{some}{levels}").into();
                blocks.push(PageBlock::Table(PageTable {
                    caption,
                    head,
                    rows: found.iter().map(row).collect(),
                    prose: false,
                }));
            }
            blocks.extend(benefit.into_iter().map(|(metric, value)| {
                let PageCell { main, small, .. } = cell(Some(value), terms::kind(metric, "total"));
                let words = glossary.title(metric).text(" of everybody: ").and(main);
                PageBlock::Note(
                    small
                        .into_iter()
                        .fold(words, |words, more| words.text(" (").and(more).text(")"))
                        .text("."),
                )
            }));
        }
    }
    blocks.extend(found.iter().filter_map(|key| change_of_bias(audit, key)));
    blocks
}

/// The distance to all that is in the row of a gap: that of the metric whose difference it is.
fn distance_to_all(gap: &str) -> Option<String> {
    let (base, transform) = find(gap)?.gap_of?;
    (transform == GapTransform::Difference).then(|| GapTransform::ToTotal.id(base))
}

/// The groups that are furthest apart, where there are more than two.
pub(crate) fn worst(
    audit: &AuditFolder,
    groups: &[String],
    at: &FacetKeyFn<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let key = at("worst_case", "", "");
    let metrics: Vec<&str> = PageList::WidestGaps
        .ids()
        .iter()
        .copied()
        .filter(|m| groups.len() > 2 && audit.measure(&key, m).is_some())
        .collect();
    if metrics.is_empty() {
        return Vec::new();
    }
    let rows = metrics
        .iter()
        .map(|&metric| {
            let measure = audit.measure(&key, metric);
            let mut value = cell(measure, terms::kind(metric, "worst_case"));
            if let Some(n) = measure.and_then(|m| m.without).filter(|n| *n > 0) {
                value.small.push(
                    format!(
                        "{} without a value",
                        if n == 1 {
                            "1 group".to_owned()
                        } else {
                            format!("{} groups", number::count(n))
                        }
                    )
                    .into(),
                );
            }
            let group = |of: fn(&ReportedValue) -> &String| {
                group_of(measure.map_or("", |m| of(m).as_str()))
            };
            let distance = distance_to_all(metric)
                .and_then(|metric| Some((audit.measure(&key, &metric)?, metric)));
            let distance = distance.map_or_else(
                || "\u{2013}".into(),
                |(measure, metric)| {
                    let mut cell = cell(Some(measure), terms::kind(&metric, "worst_case"));
                    if !measure.highest.is_empty() {
                        cell.small.push(RichText::new().name(&measure.highest));
                    }
                    cell
                },
            );
            let cells =
                vec![value, group(|m| &m.highest).into(), group(|m| &m.lowest).into(), distance];
            ReportRow { id: String::new(), head: glossary.title(metric), cells }
        })
        .collect();
    let levels = level_in_words(measures_of(audit, &[&key], &metrics));
    let caption = format!(
        "The groups that are furthest apart: highest minus lowest, lowest over highest{levels}"
    )
    .into();
    let head =
        ["Metric", "Value", "Highest", "Lowest", "Furthest from all"].map(RichText::from).to_vec();
    vec![
        PageBlock::Table(PageTable { caption, head, rows, prose: false }),
        PageBlock::Note(LARGEST_BY_CHANCE.into()),
    ]
}

/// Each group against all others together.
pub(crate) fn rests(
    audit: &AuditFolder,
    groups: &[String],
    at: &FacetKeyFn<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let mut keys: Vec<ResultKey> = groups
        .iter()
        .map(|a| at("one_vs_rest", a, ""))
        .filter(|key| audit.measures.contains_key(key))
        .collect();
    let all = keys.len();
    keys.truncate(audit.rows_shown().max(COMPARISONS_AT_MOST));
    let metrics: Vec<&str> = PageList::PairGaps
        .ids()
        .iter()
        .copied()
        .filter(|m| keys.iter().any(|key| audit.measure(key, m).is_some()))
        .collect();
    if metrics.is_empty() {
        return None;
    }
    let levels = level_in_words(measures_of(audit, &keys.iter().collect::<Vec<_>>(), &metrics));
    let some = if keys.len() < all {
        format!(", the first {} of {all}", keys.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Each group against all others together{some}{levels}. Differences are \
         the group minus the others"
    )
    .into();
    let mut head = vec!["Group".into()];
    let turned = |metric: &str| terms::above_and_below(metric, "group", "others");
    head.extend(metrics.iter().map(|m| glossary.head(m).text(turned(m))));
    let row = |key: &ResultKey| ReportRow {
        id: String::new(),
        head: RichText::new().name(&key.from),
        cells: metrics
            .iter()
            .map(|m| cell(audit.measure(key, m), terms::kind(m, "one_vs_rest")))
            .collect(),
    };
    let table = PageTable { caption, head, rows: keys.iter().map(row).collect(), prose: false };
    Some(PageBlock::Fold("Each group against all others", vec![PageBlock::Table(table)]))
}
