//! Section "Amounts": what groups get or pay, the gaps between them, and how amounts would change
//! in another group.

use minijinja::context;
use minijinja::value::Value;

use crate::metric::catalog::place::PageList;
use crate::report::page::cells::ValuesByKey;
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageSection, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::section::models::place_of;
use crate::table::AmountRow;

/// Rows in one table; the others are in the tables.
const ROWS_AT_MOST: usize = 60;

/// Tables on one page.
const TABLES_AT_MOST: usize = 24;

/// The section; none of jobs whose outcomes are no amounts.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let m = &audit.manifest;
    let told = m.amounts()?;
    let mut tables: Vec<Value> = Vec::new();
    for attribute in &m.attributes {
        for model in &m.models {
            let of = (model.name.as_str(), attribute.name.as_str());
            tables.extend(table(audit, of, ("groups", ""), glossary));
            tables.extend(table(audit, of, ("gaps", ""), glossary));
            let sets = m.counterfactuals.iter();
            tables.extend(sets.filter_map(|s| table(audit, of, ("changes", &s.name), glossary)));
        }
    }
    if tables.is_empty() {
        return None;
    }
    let more = tables.len().saturating_sub(TABLES_AT_MOST);
    tables.truncate(TABLES_AT_MOST);
    let facts = context! {
        low => told.better_is_lower, any => told.changes_always_matter(), tables, more,
        percent => told.matters_from.strip_suffix('%'), from => &told.matters_from,
    };
    Some(PageSection::of_facts("amounts", "amounts.html", facts))
}

/// A table of a model and an attribute: `groups`, `gaps` of pairs of them, A before B, or the
/// `changes` in the directions of a set. None where nothing of it was measured.
fn table(
    audit: &AuditFolder,
    (model, attribute): (&str, &str),
    (id, set): (&str, &str),
    glossary: &mut PageGlossary<'_>,
) -> Option<Value> {
    let groups = audit.groups_of(attribute);
    let key = |scope: &str, ends: [&str; 2]| ResultKey::new([model, set, attribute], scope, ends);
    let others = |i: usize| groups.iter().enumerate().filter(move |(k, _)| *k != i);
    let pairs = groups.iter().enumerate().flat_map(|(i, a)| others(i).map(move |b| ((i, a), b)));
    let (list, keys): (_, Vec<ResultKey>) = match id {
        "groups" => {
            (PageList::AmountGroups, groups.iter().map(|a| key("group", [a, ""])).collect())
        }
        "gaps" => {
            let once = pairs.filter(|(a, b)| a.0 < b.0);
            (PageList::AmountGaps, once.map(|((_, a), (_, b))| key("pair", [a, b])).collect())
        }
        _ => {
            let all = pairs.map(|((_, a), (_, b))| key("direction", [a, b]));
            (PageList::AmountChanges, all.collect())
        }
    };
    let mut rows: Vec<_> = keys.into_iter().map(|key| (place_of(&key), key)).collect();
    rows.retain(|(_, key)| list.ids().iter().any(|id| audit.measure(key, id).is_some()));
    let more = rows.len().saturating_sub(ROWS_AT_MOST);
    rows.truncate(ROWS_AT_MOST);
    let is_counted = list != PageList::AmountGaps;
    let first = if is_counted { "who" } else { "groups" };
    let values = ValuesByKey::of(audit, first, &rows, list.ids());
    let mut table = values.table(&mut |id| glossary.head(id))?;
    if is_counted {
        table.head.insert(1, "counted".into());
        for (row, (_, key)) in table.rows.iter_mut().zip(&rows) {
            row.cells.insert(0, counts(audit, key));
        }
    }
    Some(context!(id, model, attribute, set, more, table))
}

/// How many have an amount, and of these how many one of 0 or below.
fn counts(audit: &AuditFolder, key: &ResultKey) -> PageCell {
    let is_own = |row: &&AmountRow| {
        (row.model.as_str(), row.counterfactual.as_str(), row.sensitive.as_str())
            == (key.model.as_str(), key.set.as_str(), key.attribute.as_str())
            && (row.from_group.as_str(), row.to_group.as_str())
                == (key.from.as_str(), key.to.as_str())
    };
    let Some(row) = audit.amounts.iter().find(is_own) else { return PageCell::none() };
    let told =
        [(row.n_missing, "without_an_amount"), (row.n_zero, "of_0"), (row.n_negative, "below_0")];
    let small = told.into_iter().filter(|(n, _)| *n > 0);
    let small = small.map(|(n, what)| RichText::from(number::count(n)).text(" ").word(what));
    PageCell::new(number::count(row.n), small)
}
