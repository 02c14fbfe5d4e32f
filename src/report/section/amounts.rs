//! Section "Amounts": what groups get or pay, the gaps between them, and how amounts would change
//! in another group.

use crate::folder::manifest::AmountWords;
use crate::metric::catalog::place::PageList;
use crate::report::page::cells::{cell, level_in_words};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{ReportedValue, ResultKey};
use crate::table::AmountRow;

/// Rows in one table; the others stand in the tables.
const ROWS_AT_MOST: usize = 60;

/// Tables on one page.
const TABLES_AT_MOST: usize = 24;

/// A table of the section: one subject, an attribute, and the rows of it.
struct AmountTable<'a> {
    model: &'a str,
    attribute: &'a str,
    set: &'a str,
    list: PageList,
    caption: &'static str,
    /// The heading and the key of each row.
    rows: Vec<(RichText, ResultKey)>,
}

/// The section; none of jobs whose outcomes are no amounts.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let m = &audit.manifest;
    let told = m.amounts()?;
    let mut blocks = vec![PageBlock::Text(intro(told).into())];
    let mut tables: Vec<AmountTable<'_>> = Vec::new();
    for attribute in &m.attributes {
        for model in &m.models {
            let of = (model.name.as_str(), attribute.name.as_str());
            tables.extend([groups(audit, of), gaps(audit, of)]);
            let sets = m.counterfactuals.iter().map(|set| set.name.as_str());
            tables.extend(sets.map(|set| directions(audit, of, set)));
        }
    }
    let drawn = tables.iter().filter_map(|table| table.draw(audit, glossary));
    let mut drawn: Vec<PageTable> = drawn.collect();
    if drawn.is_empty() {
        return None;
    }
    let more = drawn.len().saturating_sub(TABLES_AT_MOST);
    drawn.truncate(TABLES_AT_MOST);
    blocks.extend(drawn.into_iter().map(PageBlock::Table));
    let note = "Gaps of the other quantiles are in tables/metrics.parquet, all counts in \
                tables/amounts.parquet.";
    let note = if more > 0 {
        format!("{note} {more} more tables are there too.")
    } else {
        note.to_owned()
    };
    blocks.push(PageBlock::Note(note.into()));
    Some(PageSection { id: "amounts", title: "Amounts", blocks })
}

fn intro(told: &AmountWords) -> String {
    let wanted = if told.better_is_lower { "low" } else { "high" };
    let matters = match told.matters_from.strip_suffix('%') {
        _ if told.changes_always_matter() => "Any change matters.".to_owned(),
        Some(percent) => format!(
            "A change matters from {percent}\u{a0}% of the amount as it is on, and from an amount \
             of 0 always."
        ),
        None => format!("A change matters from {} on.", told.matters_from),
    };
    format!(
        "The outcome is an amount, and people want {wanted} amounts. {matters} The shares \
         are of everybody with both amounts, because there is no decision to condition on."
    )
}

fn key((model, attribute): (&str, &str), set: &str, scope: &str, ends: (&str, &str)) -> ResultKey {
    ResultKey {
        model: model.to_owned(),
        set: set.to_owned(),
        attribute: attribute.to_owned(),
        scope: scope.to_owned(),
        from: ends.0.to_owned(),
        to: ends.1.to_owned(),
    }
}

fn groups<'a>(audit: &AuditFolder, of: (&'a str, &'a str)) -> AmountTable<'a> {
    let row = |group: &String| (RichText::new().name(group), key(of, "", "group", (group, "")));
    AmountTable {
        model: of.0,
        attribute: of.1,
        set: "",
        list: PageList::AmountGroups,
        caption: "Amounts of the groups",
        rows: audit.groups_of(of.1).iter().map(row).collect(),
    }
}

/// Each pair of groups, A before B.
fn gaps<'a>(audit: &AuditFolder, of: (&'a str, &'a str)) -> AmountTable<'a> {
    let groups = audit.groups_of(of.1);
    let mut rows = Vec::new();
    for (i, a) in groups.iter().enumerate() {
        for b in &groups[i + 1..] {
            let head = RichText::new().name(a).text(" and ").name(b);
            rows.push((head, key(of, "", "pair", (a, b))));
        }
    }
    AmountTable {
        model: of.0,
        attribute: of.1,
        set: "",
        list: PageList::AmountGaps,
        caption: "Gaps: the first group minus, or over, the second",
        rows,
    }
}

fn directions<'a>(audit: &AuditFolder, of: (&'a str, &'a str), set: &'a str) -> AmountTable<'a> {
    let groups = audit.groups_of(of.1);
    let mut rows = Vec::new();
    for from in &groups {
        for to in groups.iter().filter(|to| *to != from) {
            rows.push((RichText::direction(from, to), key(of, set, "direction", (from, to))));
        }
    }
    AmountTable {
        model: of.0,
        attribute: of.1,
        set,
        list: PageList::AmountChanges,
        caption: "How amounts would change in another group",
        rows,
    }
}

impl AmountTable<'_> {
    /// The table; none where nothing of it was measured.
    fn draw(&self, audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageTable> {
        let there = |key: &ResultKey| {
            self.list.ids().iter().any(|metric| audit.measure(key, metric).is_some())
        };
        let rows: Vec<&(RichText, ResultKey)> =
            self.rows.iter().filter(|(_, key)| there(key)).collect();
        if rows.is_empty() {
            return None;
        }
        let measures: Vec<&ReportedValue> = rows
            .iter()
            .flat_map(|(_, key)| self.list.ids().iter().map(move |id| audit.measure(key, id)))
            .flatten()
            .collect();
        let more = rows.len().saturating_sub(ROWS_AT_MOST);
        let more = if more > 0 {
            format!("; {more} more are in tables/metrics.parquet")
        } else {
            String::new()
        };
        let caption = RichText::from(format!("{}, model ", self.caption)).name(self.model);
        let caption = caption.text(", ").name(self.attribute);
        let caption = match self.set {
            "" => caption,
            set => caption.text(", set ").name(set),
        };
        let caption = caption.text(format!("{}{more}", level_in_words(measures)));
        let counted = self.list != PageList::AmountGaps;
        let first = if counted { "Who" } else { "Groups" };
        let mut head: Vec<RichText> = vec![first.into()];
        head.extend(counted.then(|| "Counted".into()));
        head.extend(self.list.ids().iter().map(|id| glossary.head(id)));
        let row = |(name, key): &&(RichText, ResultKey)| {
            let mut cells = Vec::new();
            cells.extend(counted.then(|| counts(audit, key)));
            cells.extend(
                self.list
                    .ids()
                    .iter()
                    .map(|id| cell(audit.measure(key, id), terms::kind(id, &key.scope))),
            );
            ReportRow { id: String::new(), head: name.clone(), cells }
        };
        let rows = rows.iter().take(ROWS_AT_MOST).map(row).collect();
        Some(PageTable { caption, head, rows, prose: false })
    }
}

/// How many have an amount, and of these how many one of 0 or below.
fn counts(audit: &AuditFolder, key: &ResultKey) -> PageCell {
    let is_own = |row: &&AmountRow| {
        (row.model.as_str(), row.counterfactual.as_str(), row.sensitive.as_str())
            == (key.model.as_str(), key.set.as_str(), key.attribute.as_str())
            && (row.from_group.as_str(), row.to_group.as_str())
                == (key.from.as_str(), key.to.as_str())
    };
    let Some(row) = audit.amounts.iter().find(is_own) else { return "\u{2013}".into() };
    let told =
        [(row.n_missing, "without an amount"), (row.n_zero, "of 0"), (row.n_negative, "below 0")];
    let small = told.into_iter().filter(|(n, _)| *n > 0);
    PageCell {
        main: number::count(row.n).into(),
        small: small.map(|(n, what)| format!("{} {what}", number::count(n)).into()).collect(),
        ..PageCell::default()
    }
}
