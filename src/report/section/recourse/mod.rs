//! Section "Recourse": for whom it is harder to get out of the unfavourable decision, and what
//! would have to change.
//!
//! One part per pair of groups. First in words which group the model puts at a disadvantage; then
//! the subgroups in the form "if ... then ..." under one definition, both groups side by side with
//! counts, with effectiveness by cost as small drawings; then how often each definition finds
//! either group worse off, with its most unfair subgroups; at the end what people may change, and
//! what not. The definition that is reported first is equal cost of effectiveness with the largest
//! share, in the macro view, where the job judges it: of all it is the nearest to "is there a way
//! out".
//!
//! Subgroups overlap, so that a handful of people makes thousands of them: people in subgroups
//! are also counted as people, and where the smaller group of the unfair subgroups is
//! mostly a few people, it is too few to tell.

pub(crate) mod cards;
mod outcome;
mod views;

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::report::brief::limits::AuditLimit;
use crate::report::brief::voice::{AuditVoice, CalledGroup};
use crate::report::draw::plot::AxisUnit;
use crate::report::page::PageSection;
use crate::report::read::audit::AuditFolder;
use crate::report::read::grouped::grouped;
use crate::report::read::recourse::RecourseTables;
use crate::report::section::recourse::cards::{COMPARISONS_AT_MOST, cards, listing};
use crate::report::section::recourse::outcome::{ComparisonOutcome, OutcomeFacts, why_not};
use crate::report::section::recourse::views::{DefinitionView, FEW, definition_views};
use crate::table::recourse::{CriterionWords, RecourseColumnRow, RecourseRow};

/// The section; none where the job asks for no recourse.
pub(crate) fn section(audit: &AuditFolder) -> Option<PageSection> {
    let all = &audit.recourse.comparisons;
    if all.is_empty() {
        return None;
    }
    let shown = &all[..all.len().min(COMPARISONS_AT_MOST)];
    let comparison = |(k, comparison): (usize, &RecourseRow)| {
        let pair = &comparison.pair;
        // Comparisons of one block of the job stand together.
        let next = shown.get(k + 1).map(|next| next.pair.recourse.as_str());
        let is_last = next.is_none_or(|next| next != pair.recourse.as_str());
        context! {
            groups => [&pair.group_0, &pair.group_1].map(|name| name.as_str()).into_iter().collect::<Value>(),
            model => comparison.model.as_str(), why_not => why_not(comparison),
            least => vec![comparison.least_0, comparison.least_1],
            subgroups => comparison.subgroups, with_actions => comparison.subgroups_with_actions,
            actions => comparison.actions, outcome => outcome(audit, comparison),
            rules => is_last.then(|| rules(audit, pair.recourse.as_str())),
        }
    };
    let facts = context! {
        persons => persons_judged(audit), meanings => meanings(&audit.recourse), all => all.len(),
        comparisons => shown.iter().enumerate().map(comparison).collect::<Value>(),
    };
    let names = ("recourse", "Recourse: who can change the decision");
    Some(PageSection::of_facts(names, "recourse.html", facts))
}

/// Which definitions are used, whose words need a meaning.
fn meanings(tables: &RecourseTables) -> Value {
    let ways =
        tables.comparisons.iter().flat_map(|comparison| definition_views(tables, comparison));
    let used: Vec<&str> = ways.map(|way| way.definition()).collect();
    let any = |definitions: &[&str]| used.iter().any(|used| definitions.contains(used));
    context! {
        few => FEW, shares => any(&["equal-choice", "equal-cost-of-effectiveness"]),
        budget => any(&["equal-effectiveness-within-budget"]),
        infinity => any(&["equal-cost-of-effectiveness", "equal-conditional-mean-recourse"]),
        chance => tables.subgroups.iter().any(|row| row.p_value.is_some()),
    }
}

/// Whether the page tells of recourse at all.
pub(crate) fn is_there(audit: &AuditFolder) -> bool {
    !audit.recourse.comparisons.is_empty()
}

/// What the page says about a comparison.
#[derive(Serialize)]
pub(crate) struct ToldComparison<'a> {
    groups: [&'a str; 2],
    /// Why nothing was looked at; else what it comes to.
    why_not: Option<String>,
    outcome: Option<OutcomeFacts>,
    /// Limits that count its subgroups: where most of these are too small, they name those that
    /// the verdict still counts.
    limits: Vec<&'a AuditLimit>,
}

/// What the page says about each comparison.
pub(crate) fn evidence<'a>(
    audit: &'a AuditFolder,
    voice: &AuditVoice<'_>,
    limits: &'a [AuditLimit],
) -> Vec<ToldComparison<'a>> {
    let told = |comparison: &'a RecourseRow| {
        let pair = &comparison.pair;
        let groups = [pair.group_0.as_str(), pair.group_1.as_str()];
        let why_not = why_not(comparison);
        let outcome = match why_not {
            Some(_) => None,
            None => Some(ComparisonOutcome::of(audit, comparison)?),
        };
        let called = || groups.map(|group| voice.called_group(&pair.recourse, group));
        let counts = |limit: &&AuditLimit| counts_subgroups(limit, comparison);
        Some(ToldComparison {
            groups,
            why_not,
            limits: limits.iter().filter(counts).filter(|_| outcome.is_some()).collect(),
            outcome: outcome.map(|of| of.facts(called(), true)),
        })
    };
    audit.recourse.comparisons.iter().take(COMPARISONS_AT_MOST).filter_map(told).collect()
}

/// That counts of recourse are persons; none where each row is a person.
pub(crate) fn persons_judged(audit: &AuditFolder) -> Option<Value> {
    let mut rows = audit.recourse.comparisons.iter();
    let (rows, persons) = rows.find_map(|row| row.person_rows.zip(row.persons))?;
    Some(context!(rows, persons))
}

/// Whether a limit counts subgroups of a comparison.
fn counts_subgroups(limit: &AuditLimit, comparison: &RecourseRow) -> bool {
    let pair = &comparison.pair;
    let part = limit.parts.first().filter(|part| part.counts.is_some());
    limit.counted.is_some()
        && part.is_some_and(|part| {
            part.judged.key.model == comparison.model.as_str()
                && part.judged.key.attribute == pair.recourse.as_str()
                && [part.judged.key.from.as_str(), part.judged.key.to.as_str()]
                    == [pair.group_0.as_str(), pair.group_1.as_str()]
        })
}

/// What was excluded of a comparison: all of it, subgroups without actions, or mean ranks.
#[derive(Serialize)]
pub(crate) struct UnjudgedRecourse<'a> {
    groups: [&'a str; 2],
    model: &'a str,
    why_not: Option<String>,
    subgroups: i64,
    /// Subgroups without an action.
    without: i64,
    ranks: usize,
}

/// What was excluded of comparisons.
pub(crate) fn left_out(audit: &AuditFolder) -> Vec<UnjudgedRecourse<'_>> {
    let mut found = Vec::new();
    for row in &audit.recourse.comparisons {
        let part = |why_not, without, ranks| UnjudgedRecourse {
            groups: [&row.pair.group_0, &row.pair.group_1].map(|group| group.as_str()),
            model: &row.model,
            why_not,
            subgroups: row.subgroups,
            without,
            ranks,
        };
        if let Some(why_not) = why_not(row) {
            found.push(part(Some(why_not), 0, 0));
            continue;
        }
        let without = row.subgroups - row.subgroups_with_actions;
        let ranks = audit.recourse.rankings.iter();
        let ranks = ranks.filter(|of| of.pair == row.pair && !of.undefined.is_empty()).count();
        found.extend((without > 0).then(|| part(None, without, 0)));
        found.extend((ranks > 0).then(|| part(None, 0, ranks)));
    }
    found
}

/// What became of one pair of groups; none where nothing was looked at or judged.
fn outcome(audit: &AuditFolder, comparison: &RecourseRow) -> Option<Value> {
    let outcome = ComparisonOutcome::of(audit, comparison)?;
    let least = comparison.least_0.min(comparison.least_1);
    let raw = outcome.names().map(|name| CalledGroup { name: name.to_owned(), words: None });
    let listings = outcome.views.iter().map(|way| listing(audit, comparison, way));
    let view =
        |way: &DefinitionView<'_>| context!(of => way.facts(), row => Value::from(Serde(way.row)));
    Some(context! {
        words => Value::from(Serde(&outcome.facts(raw, false))),
        small => (least < FEW).then_some(least),
        cards => cards(audit, comparison, &outcome.first),
        views => outcome.views.iter().map(view).collect::<Value>(),
        listings => listings.collect::<Value>(),
        agreement => agreement(audit, comparison, &outcome.views),
    })
}

/// Agreement of the definitions; none of a single one.
fn agreement(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    ways: &[DefinitionView<'_>],
) -> Vec<Value> {
    let mut values: BTreeMap<[CriterionWords; 2], f64> = BTreeMap::new();
    for row in audit.recourse.rankings.iter().filter(|row| row.pair == comparison.pair) {
        let other = CriterionWords {
            definition: row.by_definition.clone(),
            parameter: row.by_parameter.clone(),
            view: row.by_view.clone(),
        };
        if let Some(value) = row.value {
            values.insert([row.criterion.clone(), other], value);
        }
    }
    let row = |(i, way): (usize, &DefinitionView<'_>)| {
        let cell = |other: &DefinitionView<'_>| {
            let value = values.get(&[&way.row.criterion, &other.row.criterion].map(Clone::clone));
            value.map(|value| format!("{value:.3}"))
        };
        let ranks: Vec<Option<String>> = ways.iter().map(cell).collect();
        context!(number => (i + 1).to_string(), of => way.facts(), ranks)
    };
    ways.iter().enumerate().filter(|_| ways.len() > 1).map(row).collect()
}

/// Kinds of changes that the page tells the cost of; the annex has those of all columns.
const COSTS_AT_MOST: usize = 8;

/// What a change costs, by kind of the cost and the columns that it is for: `10 for each position
/// of age; 5 for another town`; and how many more kinds there are.
pub(crate) fn costs(audit: &AuditFolder, recourse: &str) -> Value {
    let mine = audit.recourse.columns.iter().filter(|row| row.recourse.as_str() == recourse);
    let kind =
        |row: &RecourseColumnRow| (AxisUnit::Number.label(row.weight), row.distance.to_string());
    let allowed = mine.filter(|row| row.changes == 1);
    let mut kinds = grouped(allowed.map(|row| (kind(row), row.column.as_str())));
    let more = kinds.len().saturating_sub(COSTS_AT_MOST);
    kinds.truncate(COSTS_AT_MOST);
    context!(kinds => Value::from(Serde(&kinds)), more)
}

/// What people may change, and what not.
fn rules(audit: &AuditFolder, recourse: &str) -> Value {
    let mine = audit.recourse.columns.iter().filter(|row| row.recourse == *recourse);
    let (rows, fixed): (Vec<&RecourseColumnRow>, Vec<&RecourseColumnRow>) =
        mine.partition(|row| row.changes == 1);
    let fixed = fixed.into_iter().map(|row| row.column.as_str());
    context! {
        attribute => recourse, rows => Value::from(Serde(&rows)),
        fixed => fixed.collect::<Value>(),
    }
}
