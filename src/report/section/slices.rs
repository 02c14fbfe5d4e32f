//! Section "Inside slices": the main numbers once more inside each value of the columns that the
//! job names, widest gap first.

use std::collections::BTreeMap;

use crate::metric::MetricFamily;
use crate::metric::catalog::find;
use crate::metric::catalog::place::PageList;
use crate::report::page::cells::{cell, level_in_words};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{ReportedValue, ResultKey};

/// Tables on one page: attribute and model.
const TABLES_AT_MOST: usize = 12;

/// Counterfactual sets in one table.
const SETS_AT_MOST: usize = 4;

/// A column of a table: where a metric is looked up.
struct SliceColumn {
    key: ResultKey,
    metric: &'static str,
    head: RichText,
}

/// The section; none where no slice was measured.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let m = &audit.manifest;
    let pairs: Vec<(&str, &str)> = m
        .attributes
        .iter()
        .flat_map(|a| m.models.iter().map(move |model| (a.name.as_str(), model.name.as_str())))
        .collect();
    let tables: Vec<PageTable> = pairs
        .into_iter()
        .filter_map(|(attribute, model)| table(audit, attribute, model, glossary))
        .collect();
    if tables.is_empty() {
        return None;
    }
    let intro = "The same numbers for the people inside each slice. Slices are many and \
                 small: among many gaps some are wide by chance, and an interval is valid for a \
                 single gap, not for the widest of many.";
    let mut blocks = vec![PageBlock::Text(intro.into())];
    let more = tables.len().saturating_sub(TABLES_AT_MOST);
    blocks.extend(tables.into_iter().take(TABLES_AT_MOST).map(PageBlock::Table));
    if more > 0 {
        blocks.push(PageBlock::Note(
            format!(
                "{more} more combinations of attribute and model are \
                 only in tables/metrics.parquet."
            )
            .into(),
        ));
    }
    Some(PageSection { id: "slices", title: "Inside slices", blocks })
}

/// The columns that the slices of an attribute and a model can show.
fn columns(
    audit: &AuditFolder,
    attribute: &str,
    model: &str,
    glossary: &mut PageGlossary<'_>,
) -> Vec<SliceColumn> {
    let groups = audit.groups_of(attribute);
    let key = |set: &str, scope: &str, from: &str, to: &str| ResultKey {
        model: model.to_owned(),
        set: set.to_owned(),
        attribute: attribute.to_owned(),
        scope: scope.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let mut columns = Vec::new();
    let gap = match groups.as_slice() {
        [a, b] => key("", "pair", a, b),
        _ => key("", "worst_case", "", ""),
    };
    let of_family = |wanted: fn(MetricFamily) -> bool| {
        PageList::Slices.ids().iter().filter_map(move |id| {
            let metric = find(id)?;
            wanted(metric.family).then_some(metric)
        })
    };
    let as_they_are = |family| matches!(family, MetricFamily::Group | MetricFamily::Performance);
    for metric in of_family(as_they_are) {
        let key = match metric.family {
            MetricFamily::Group => gap.clone(),
            _ => key("", "total", "", ""),
        };
        columns.push(SliceColumn { key, metric: metric.id, head: RichText::new() });
    }
    for set in audit.manifest.counterfactuals.iter().take(SETS_AT_MOST) {
        for metric in of_family(|family| family == MetricFamily::Ccm) {
            let head = RichText::new().text(", set ").name(&set.name);
            columns.push(SliceColumn {
                key: key(&set.name, "total", "", ""),
                metric: metric.id,
                head,
            });
        }
    }
    columns.retain(|column| audit.slices.values().any(|slice| at(slice, column).is_some()));
    for column in &mut columns {
        column.head = glossary.title(column.metric).and(std::mem::take(&mut column.head));
    }
    columns
}

/// The name of a slice, each of its columns a name for itself.
fn in_parts(slice: &str) -> RichText {
    let mut parts = slice.split(" & ");
    let first = RichText::new().name(parts.next().unwrap_or_default());
    parts.fold(first, |words, part| words.text(" & ").name(part))
}

fn at<'a>(
    slice: &'a BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>,
    column: &SliceColumn,
) -> Option<&'a ReportedValue> {
    slice.get(&column.key)?.get(column.metric)
}

fn table(
    audit: &AuditFolder,
    attribute: &str,
    model: &str,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageTable> {
    let columns = columns(audit, attribute, model, glossary);
    let first = columns.first()?;
    let mut slices: Vec<_> = audit
        .slices
        .iter()
        .filter(|(_, slice)| columns.iter().any(|column| at(slice, column).is_some()))
        .collect();
    let (all, width) =
        (slices.len(), |slice| at(slice, first).and_then(|m| m.value).map_or(-1.0, f64::abs));
    // The sort is stable, so ties keep the order of the names.
    slices.sort_by(|(_, x), (_, y)| width(y).total_cmp(&width(x)));
    slices.truncate(audit.rows_shown());
    let shown = if slices.len() < all {
        format!(", the first {} of {all} are shown", slices.len())
    } else {
        String::new()
    };
    let level = level_in_words(
        slices.iter().flat_map(|(_, slice)| columns.iter().filter_map(|column| at(slice, column))),
    );
    let caption = RichText::new()
        .name(attribute)
        .text(", model ")
        .name(model)
        .text(format!(": {all} slices{shown}{level}"));
    let head = [RichText::from("Slice"), RichText::from("People")]
        .into_iter()
        .chain(columns.iter().map(|column| column.head.clone()))
        .collect();
    let rows = slices.into_iter().map(|(name, slice)| {
        let people = columns
            .iter()
            .filter_map(|column| at(slice, column))
            .map(|m| m.n_rows)
            .max()
            .map_or_else(String::new, number::count);
        let values = columns
            .iter()
            .map(|column| cell(at(slice, column), terms::kind(column.metric, &column.key.scope)));
        ReportRow {
            id: String::new(),
            head: in_parts(name),
            cells: std::iter::once(PageCell::from(people)).chain(values).collect(),
        }
    });
    Some(PageTable { caption, head, rows: rows.collect(), prose: false })
}
