//! Section "One model against another": the values of a model minus those of another on the same
//! people, clear differences first.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::terms::PageGlossary;
use crate::report::page::words::{MeasuredPlace, RichText};
use crate::report::page::{PageSection, terms};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::shown_changes::clearness;
use crate::table::ComparisonRow;
use crate::text::fact;

/// Tables on one page: two models, set, attribute and class.
const TABLES_AT_MOST: usize = 12;

/// The section; none where the job compares no models.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let mut tables: BTreeMap<[&str; 5], Vec<&ComparisonRow>> = BTreeMap::new();
    // Arms of experiments have their own section.
    for row in audit.comparisons.iter().filter(|row| row.arm.is_empty()) {
        let key = [&row.model, &row.against, &row.counterfactual, &row.sensitive, &row.class];
        tables.entry(key.map(|text| text.as_str())).or_default().push(row);
    }
    if tables.is_empty() {
        return None;
    }
    let all = tables.len();
    let pairs = tables.into_iter().take(TABLES_AT_MOST);
    let pairs: Value = pairs.map(|(of, rows)| pair(audit, of, rows, glossary)).collect();
    let facts = context!(pairs, all, more => all.saturating_sub(TABLES_AT_MOST));
    Some(PageSection::of_facts("models", "models.html", facts))
}

fn pair(
    audit: &AuditFolder,
    [model, against, set, attribute, class]: [&str; 5],
    mut rows: Vec<&ComparisonRow>,
    glossary: &mut PageGlossary<'_>,
) -> Value {
    let all = rows.len();
    // The sort is stable, so ties keep the order of the table.
    let clearness = |row: &ComparisonRow| clearness(row.difference, row.lo.zip(row.hi));
    rows.sort_by(|x, y| clearness(y).total_cmp(&clearness(x)));
    let clear = rows.iter().filter(|row| clearness(row) > 1.0).count();
    rows.truncate(audit.rows_shown());
    let level = rows.iter().find_map(|row| row.level);
    let rows: Vec<Value> = rows.iter().map(|r| row(r, glossary)).collect();
    context!(model, against, set, attribute, class, all, clear, level, rows)
}

fn row(row: &ComparisonRow, glossary: &mut PageGlossary<'_>) -> Value {
    context! {
        metric => glossary.title(&row.metric), row => fact(row),
        place => fact(&place(&row.metric, &row.scope, [&row.from_group, &row.to_group])),
        kinds => kinds(&row.metric, &row.scope), why => terms::reason(&row.undefined),
        missing => terms::lacks_labels(row),
    }
}

/// How values of a metric are printed, and how their differences.
pub(crate) fn kinds(metric: &str, scope: &str) -> Value {
    let kind = terms::kind(metric, scope);
    fact(&[kind, kind.of_change()])
}

/// Where a value holds, whatever its metric.
pub(crate) fn place_of(key: &ResultKey) -> RichText {
    RichText::new().place(place("", &key.scope, [&key.from, &key.to]))
}

/// Where a value of a metric holds.
pub(crate) fn place(metric: &str, scope: &str, [from, to]: [&str; 2]) -> MeasuredPlace {
    let [scope, from, to] = [scope, from, to].map(str::to_owned);
    MeasuredPlace { scope, from, to, over: terms::divides_directions(metric) }
}
