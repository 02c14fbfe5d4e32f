//! Section "Inside slices": the main numbers once more inside each value of the columns that the
//! job names, widest gap first.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::metric::catalog::find;
use crate::metric::catalog::place::PageList;
use crate::metric::{Metric, MetricFamily};
use crate::report::page::cells::cell;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::table::MetricRow;

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
    let mut tables: Vec<Value> = pairs
        .into_iter()
        .filter_map(|(attribute, model)| table(audit, attribute, model, glossary))
        .collect();
    if tables.is_empty() {
        return None;
    }
    let more = tables.len().saturating_sub(TABLES_AT_MOST);
    tables.truncate(TABLES_AT_MOST);
    let facts = context!(tables, more);
    Some(PageSection::of_facts("slices", "slices.html", facts))
}

/// The columns that the slices of an attribute and a model can show: values of the rows as they
/// are, then those of each set.
fn columns(
    audit: &AuditFolder,
    attribute: &str,
    model: &str,
    slices: &[&str],
    glossary: &mut PageGlossary<'_>,
) -> Vec<SliceColumn> {
    let groups = audit.groups_of(attribute);
    let key = |set: &str, scope: &str, ends: [&str; 2]| {
        ResultKey::new([model, set, attribute], scope, ends)
    };
    let metrics = || PageList::Slices.ids().iter().filter_map(|id| find(id));
    let as_they_are = metrics().filter_map(|metric| {
        let key = match (metric.family, groups.as_slice()) {
            (MetricFamily::Group, [a, b]) => key("", "pair", [a, b]),
            (MetricFamily::Group, _) => key("", "worst_case", ["", ""]),
            (MetricFamily::Performance, _) => key("", "total", ["", ""]),
            _ => return None,
        };
        Some(SliceColumn { key, metric: metric.id, head: RichText::new() })
    });
    let sets = audit.manifest.counterfactuals.iter().take(SETS_AT_MOST);
    let of_sets = sets.flat_map(|set| {
        let column = |metric: &Metric| SliceColumn {
            key: key(&set.name, "total", ["", ""]),
            metric: metric.id,
            head: RichText::from("in_set").name(&set.name),
        };
        metrics()
            .filter(|metric| metric.family == MetricFamily::Ccm)
            .map(column)
            .collect::<Vec<_>>()
    });
    let is_there =
        |column: &SliceColumn| slices.iter().any(|slice| at(audit, slice, column).is_some());
    let mut columns: Vec<_> = as_they_are.chain(of_sets).filter(is_there).collect();
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

fn at<'a>(audit: &'a AuditFolder, slice: &str, column: &SliceColumn) -> Option<&'a MetricRow> {
    let key = ResultKey { slice: slice.to_owned(), ..column.key.clone() };
    audit.measure(&key, column.metric)
}

fn table(
    audit: &AuditFolder,
    attribute: &str,
    model: &str,
    glossary: &mut PageGlossary<'_>,
) -> Option<Value> {
    let all = audit.without_arms().map(|(key, _)| key.slice.as_str());
    let all: BTreeSet<&str> = all.filter(|slice| !slice.is_empty()).collect();
    let mut slices: Vec<&str> = all.into_iter().collect();
    let columns = columns(audit, attribute, model, &slices, glossary);
    let first = columns.first()?;
    slices.retain(|slice| columns.iter().any(|column| at(audit, slice, column).is_some()));
    let all = slices.len();
    let width = |slice: &str| at(audit, slice, first)?.value.map(f64::abs);
    // The sort is stable, so ties keep the order of the names.
    slices.sort_by(|x, y| width(y).unwrap_or(-1.0).total_cmp(&width(x).unwrap_or(-1.0)));
    slices.truncate(audit.rows_shown());
    let shown = slices.len();
    let values = |slice| columns.iter().map(move |column| at(audit, slice, column));
    let heads = columns.iter().map(|column| column.head.clone());
    let head = ["slice", "people"].map(RichText::from).into_iter().chain(heads);
    let rows = slices.iter().map(|slice| {
        let people = values(slice).flatten().map(|m| m.n_rows).max();
        let people = people.map_or_else(String::new, number::count);
        let cells = columns
            .iter()
            .zip(values(slice))
            .map(|(column, measure)| cell(measure, terms::kind(column.metric, &column.key.scope)));
        ReportRow::new(in_parts(slice), std::iter::once(people.into()).chain(cells))
    });
    Some(context!(attribute, model, all, shown, table => PageTable::new(head, rows)))
}
