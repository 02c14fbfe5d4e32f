//! Section "Groups as they are": how the model treats the groups without any counterfactual, and
//! the gaps between them.

use crate::table::GroupRow;
use std::collections::BTreeSet;

use crate::metric::GapTransform;
use crate::metric::catalog::find;
use crate::metric::catalog::place::PageList;
use crate::metric::swap_effect::{RatioOrder, SwapEffect};
use crate::report::brief::voice::AuditVoice;
use crate::report::draw::chart::{self, IntervalWhisker};
use crate::report::page::cells::{cell, level_in_words};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::{ReportedValue, ResultKey};
use crate::report::read::words;
use crate::report::section::switches::measures_of;
use crate::report::section::{classes, facets};

/// Groups in one table.
const GROUPS_AT_MOST: usize = 24;

/// Smallest groups that are listed.
const SMALLEST: usize = 5;

/// Tables of groups on one page.
const TABLES_AT_MOST: usize = 24;

/// Attributes and models with group values, in the order of the manifest.
fn tables(audit: &AuditFolder) -> Vec<(&str, &str)> {
    let m = &audit.manifest;
    let found: BTreeSet<(usize, &str, usize, &str)> = audit
        .measures
        .keys()
        .chain(audit.classes.measures().map(|(_, key, _)| key))
        .filter(|k| k.set.is_empty() && !k.attribute.is_empty())
        .map(|k| {
            let attribute =
                AuditFolder::position(m.attributes.iter().map(|a| &a.name), &k.attribute);
            (
                attribute,
                k.attribute.as_str(),
                AuditFolder::position(m.models.iter().map(|x| &x.name), &k.model),
                k.model.as_str(),
            )
        })
        .collect();
    found.into_iter().map(|(_, attribute, _, model)| (attribute, model)).collect()
}

/// The anchor of a group's share of positive predictions, or of its table, or of the section,
/// whichever the page shows.
pub(crate) fn anchor(audit: &AuditFolder, key: &ResultKey) -> String {
    let table = tables(audit)
        .iter()
        .take(TABLES_AT_MOST)
        .position(|(a, m)| *a == key.attribute && *m == key.model);
    let group =
        audit.groups_of(&key.attribute).iter().take(GROUPS_AT_MOST).position(|g| *g == key.from);
    match (table, group) {
        (Some(table), Some(group)) => format!("g{table}-{group}-pprev"),
        (Some(table), None) => format!("g{table}"),
        (None, _) => "groups".to_owned(),
    }
}

/// The section; none where no group was measured.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let tables = tables(audit);
    if tables.is_empty() {
        return None;
    }
    let mut blocks = Vec::new();
    if !audit.classes.are_there() && audit.manifest.favourable_is_positive() == Some(false) {
        blocks.push(PageBlock::Note(
            "Here the positive prediction is the unfavourable one: a \
             higher share predicted positive is a lower share with the favourable decision."
                .into(),
        ));
    }
    for (t, (attribute, model)) in tables.iter().take(TABLES_AT_MOST).enumerate() {
        blocks.push(PageBlock::Heading(
            format!("g{t}"),
            RichText::new().name(*attribute).text(", model ").name(*model),
        ));
        let groups = audit.groups_of(attribute);
        let at = |scope: &str, from: &str, to: &str| ResultKey {
            model: (*model).to_owned(),
            set: String::new(),
            attribute: (*attribute).to_owned(),
            scope: scope.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        match groups.as_slice() {
            [a, b] => blocks.push(two_groups(audit, t, [a, b], &at, glossary)),
            _ => blocks.extend(many_groups(audit, t, &groups, &at, glossary)),
        }
        blocks.extend(smallest(
            audit,
            &groups.iter().map(|group| at("group", group, "")).collect::<Vec<_>>(),
            attribute,
        ));
        blocks.extend(classes::of_groups(audit, &groups, &at, glossary));
        blocks.extend(gaps(audit, &groups, &at, glossary));
        blocks.extend(asked_in_reverse(audit, &at, glossary));
        blocks.extend(facets::worst(audit, &groups, &at, glossary));
        blocks.extend(facets::rests(audit, &groups, &at, glossary));
        blocks.extend(facets::clarify(audit, &groups, &at, glossary));
    }
    if tables.len() > TABLES_AT_MOST {
        blocks.push(PageBlock::Note(
            format!(
                "{} more combinations of attribute and model are only in tables/metrics.parquet.",
                tables.len() - TABLES_AT_MOST
            )
            .into(),
        ));
    }
    Some(PageSection { id: "groups", title: "Groups as they are", blocks })
}

type GroupKeyFn<'a> = dyn Fn(&str, &str, &str) -> ResultKey + 'a;

fn people(audit: &AuditFolder, key: &ResultKey) -> Option<i64> {
    let known =
        |r: &&GroupRow| r.model == key.model && r.sensitive == key.attribute && r.slice.is_empty();
    audit.groups.iter().find(|r| known(r) && r.group == key.from).map(|r| r.n)
}

fn named_group(audit: &AuditFolder, key: &ResultKey) -> RichText {
    let words = RichText::new().name(&key.from);
    match people(audit, key) {
        Some(n) => words.text(format!(" ({})", number::count(n))),
        None => words,
    }
}

fn two_groups(
    audit: &AuditFolder,
    t: usize,
    groups: [&String; 2],
    at: &GroupKeyFn<'_>,
    glossary: &mut PageGlossary<'_>,
) -> PageBlock {
    let voice = AuditVoice::new(&audit.manifest, audit.classes.are_there());
    let keys = groups.map(|g| at("group", g, ""));
    let (total, pair) = (at("total", "", ""), at("pair", groups[0], groups[1]));
    let metrics: Vec<&str> = PageList::GroupRows
        .ids()
        .iter()
        .copied()
        .filter(|m| keys.iter().any(|k| audit.measure(k, m).is_some()))
        .collect();
    let mut head = vec!["Metric".into()];
    head.extend(keys.iter().map(|k| named_group(audit, k)));
    head.extend(["0 to 100\u{202f}%".into(), "All".into()]);
    head.push(RichText::new().text("Difference, ").name(groups[0]).text(" minus ").name(groups[1]));
    head.push(RichText::new().text("Ratio, ").name(groups[0]).text(" to ").name(groups[1]));
    let rows = metrics
        .iter()
        .map(|metric| {
            let kind = terms::kind(metric, "group");
            let measures = keys.each_ref().map(|k| audit.measure(k, metric));
            let mut cells: Vec<PageCell> = measures
                .iter()
                .enumerate()
                .map(|(g, m)| PageCell { id: format!("g{t}-{g}-{metric}"), ..cell(*m, kind) })
                .collect();
            let drawn: Vec<_> = measures
                .iter()
                .flatten()
                .filter_map(|m| {
                    m.value.map(|value| IntervalWhisker {
                        value,
                        interval: m.interval,
                        noise: None,
                    })
                })
                .collect();
            let whole = kind == NumberFormat::Share && drawn.len() == 2;
            cells.push(if whole {
                RichText::new().drawing(chart::whiskers(&drawn, 1.0)).into()
            } else {
                RichText::new().into()
            });
            cells.push(cell(audit.measure(&total, metric), kind));
            for transform in [GapTransform::Difference, GapTransform::Ratio] {
                let id = transform.id(metric);
                cells.push(cell(audit.measure(&pair, &id), terms::kind(&id, "pair")));
            }
            let head = glossary.title(metric);
            let head = match voice.by_label(metric) {
                Some((done, _)) => head.text(" ").small(done),
                None => head,
            };
            ReportRow { id: String::new(), head, cells }
        })
        .collect();
    let levels = level_in_words(measures_of(audit, &keys.iter().collect::<Vec<_>>(), &metrics));
    let caption = RichText::new()
        .text(format!("How the model treats the groups{levels}. Dot: "))
        .name(groups[0])
        .text("; ring: ")
        .name(groups[1]);
    PageBlock::Table(PageTable { caption, head, rows, prose: false })
}

fn many_groups(
    audit: &AuditFolder,
    t: usize,
    groups: &[String],
    at: &GroupKeyFn<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let shown = groups.len().min(GROUPS_AT_MOST);
    let mut keys: Vec<ResultKey> = groups[..shown].iter().map(|g| at("group", g, "")).collect();
    keys.push(at("total", "", ""));
    let metrics: Vec<&str> = PageList::GroupColumns
        .ids()
        .iter()
        .copied()
        .filter(|m| keys.iter().any(|k| audit.measure(k, m).is_some()))
        .collect();
    if metrics.is_empty() {
        return Vec::new();
    }
    let mut head = vec!["Group (people)".into()];
    head.extend(metrics.iter().map(|m| glossary.head(m)));
    let rows = keys
        .iter()
        .enumerate()
        .map(|(g, key)| {
            let all = key.scope == "total";
            let cells = metrics.iter().map(|m| {
                let id = if all { String::new() } else { format!("g{t}-{g}-{m}") };
                PageCell { id, ..cell(audit.measure(key, m), terms::kind(m, "group")) }
            });
            ReportRow {
                id: String::new(),
                head: if all { "All groups".into() } else { named_group(audit, key) },
                cells: cells.collect(),
            }
        })
        .collect();
    let levels = level_in_words(measures_of(audit, &keys.iter().collect::<Vec<_>>(), &metrics));
    let mut blocks = vec![PageBlock::Table(PageTable {
        caption: format!("How the model treats the groups{levels}").into(),
        head,
        rows,
        prose: false,
    })];
    if shown < groups.len() {
        blocks.push(PageBlock::Note(
            format!(
                "Shown are the first {shown} of {} groups; all are in tables/metrics.parquet.",
                groups.len()
            )
            .into(),
        ));
    }
    blocks
}

/// Which of the two groups is above in a ratio, with their names.
fn turned_by_name(metric: &str, key: &ResultKey) -> RichText {
    let over =
        |above: &str, below: &str| RichText::from(", ").name(above).text(" over ").name(below);
    match find(metric).and_then(|metric| SwapEffect::of(metric).ratio_order()) {
        Some(RatioOrder::FirstOverSecond) => over(&key.from, &key.to),
        Some(RatioOrder::SecondOverFirst) => over(&key.to, &key.from),
        // The name of the metric of the lower over the higher says it.
        None => RichText::new(),
    }
}

/// That a gate asks for a gap the other way round, where its sign is the other one than here.
fn asked_in_reverse(
    audit: &AuditFolder,
    at: &GroupKeyFn<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let mut told: BTreeSet<(String, String, String)> = BTreeSet::new();
    for gate in audit.gates.iter().filter(|gate| gate.value.is_some()) {
        let Some(value) = JudgedValue::of_gate(gate) else { continue };
        let (metric, from, to) =
            (gate.metric.as_str(), gate.from_group.as_str(), gate.to_group.as_str());
        let same = value == JudgedValue::plain(&at("pair", from, to), metric);
        // Here only one order of a pair is shown.
        let shown = PageList::PairGaps.shows(metric)
            && audit.measure(&at("pair", to, from), metric).is_some();
        if same
            && shown
            && matches!(terms::kind(metric, "pair"), NumberFormat::Points | NumberFormat::Signed)
        {
            told.insert((metric.to_owned(), from.to_owned(), to.to_owned()));
        }
    }
    let note = |(metric, from, to): (String, String, String)| {
        let words = RichText::from("A gate uses the ")
            .and(glossary.title(&metric))
            .text(" as ")
            .name(&from)
            .text(" minus ")
            .name(&to);
        PageBlock::Note(
            words.text(": its value there is the value of this pair with the opposite sign."),
        )
    };
    told.into_iter().map(note).collect()
}

/// The smallest groups with their people: what few people tell is uncertain, and those of a crossed
/// attribute may be few.
fn smallest(audit: &AuditFolder, keys: &[ResultKey], attribute: &str) -> Option<PageBlock> {
    let derived =
        audit.manifest.attributes.iter().any(|a| a.name == attribute && a.made_of.is_some());
    let few = keys
        .iter()
        .filter_map(|key| audit.measures.get(key))
        .flat_map(|metrics| metrics.values())
        .any(|m| m.small);
    let mut sizes: Vec<(i64, &ResultKey)> =
        keys.iter().filter_map(|key| Some((people(audit, key)?, key))).collect();
    if sizes.len() < 3 || !(derived || few) {
        return None;
    }
    // The sort is stable, so ties keep the order of the groups.
    sizes.sort_by_key(|(n, _)| *n);
    let mut words = RichText::from("The smallest groups: ");
    for (i, (n, key)) in sizes.iter().take(SMALLEST).enumerate() {
        words = words
            .text(if i > 0 { "; " } else { "" })
            .name(&key.from)
            .text(format!(", {}", words::people(audit, *n)));
    }
    let more = sizes.len().saturating_sub(SMALLEST);
    Some(PageBlock::Note(words.text(match more {
        0 => ".".to_owned(),
        1 => "; 1 other has as many or more.".to_owned(),
        more => format!("; {more} others have as many or more."),
    })))
}

/// Named gaps per pair, the pairs with the widest gap of positive predictions first.
fn gaps(
    audit: &AuditFolder,
    groups: &[String],
    at: &GroupKeyFn<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let mut pairs: Vec<(f64, ResultKey)> = Vec::new();
    for a in groups {
        for b in groups {
            let key = at("pair", a, b);
            if audit.measures.contains_key(&key) {
                let gap = audit
                    .measure(&key, "demp_difference")
                    .and_then(|m| m.value)
                    .map_or(-1.0, f64::abs);
                pairs.push((gap, key));
            }
        }
    }
    pairs.sort_by(|x, y| y.0.total_cmp(&x.0));
    let all = pairs.len();
    if groups.len() > 6 {
        pairs.truncate(audit.rows_shown());
    }
    let metrics: Vec<&str> = PageList::PairGaps
        .ids()
        .iter()
        .copied()
        .filter(|m| pairs.iter().any(|(_, k)| audit.measure(k, m).is_some()))
        .collect();
    if metrics.is_empty() {
        return None;
    }
    let levels = level_in_words(measures_of(
        audit,
        &pairs.iter().map(|(_, key)| key).collect::<Vec<_>>(),
        &metrics,
    ));
    let some = if pairs.len() < all {
        format!(": the {} widest of {all} pairs, all are in tables/metrics.parquet", pairs.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Gaps between two groups{some}{levels}. Differences are first group minus second; each \
         ratio names the group in the numerator; only gates give verdicts"
    )
    .into();
    if let [(_, key)] = pairs.as_slice() {
        let impaired = |m: Option<&ReportedValue>| {
            m.filter(|m| !m.impaired.is_empty())
                .map_or_else(|| "\u{2013}".into(), |m| RichText::new().name(&m.impaired))
        };
        let rows = metrics
            .iter()
            .map(|m| {
                let measure = audit.measure(key, m);
                ReportRow {
                    id: String::new(),
                    head: glossary.title(m).and(turned_by_name(m, key)),
                    cells: vec![cell(measure, terms::kind(m, "pair")), impaired(measure).into()],
                }
            })
            .collect();
        let head = ["Metric", "Value", "Group at a disadvantage"].map(RichText::from).to_vec();
        return Some(PageBlock::Table(PageTable { caption, head, rows, prose: false }));
    }
    let mut head = vec!["Pair".into()];
    head.extend(
        metrics.iter().map(|m| glossary.head(m).text(terms::above_and_below(m, "first", "second"))),
    );
    let rows = pairs
        .iter()
        .map(|(_, key)| ReportRow {
            id: String::new(),
            head: RichText::new().name(&key.from).text(" and ").name(&key.to),
            cells: metrics
                .iter()
                .map(|m| cell(audit.measure(key, m), terms::kind(m, "pair")))
                .collect(),
        })
        .collect();
    Some(PageBlock::Table(PageTable { caption, head, rows, prose: false }))
}
