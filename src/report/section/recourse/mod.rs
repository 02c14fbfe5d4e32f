//! Section "Recourse": for whom it is harder to get out of the unfavourable decision, and what
//! would have to change.
//!
//! One part per pair of groups. First in words which group the model puts at a disadvantage; then
//! the subgroups in the form "if ... then ..." under one definition, both groups side by side with
//! counts, with effectiveness by cost as small drawings; then how often each definition finds
//! either group worse off, with its most unfair subgroups; at the end what people may change, and
//! what not. The definition that is reported first is equal cost of effectiveness with the largest
//! share, in the macro view, where the job judges it: it comes nearest to the question "is there a
//! way out".
//!
//! Subgroups overlap, so a handful of people can give thousands of them. So the people in subgroups
//! are also counted, and where the smaller group in most unfair subgroups is only a few people, the
//! page draws no conclusion.

pub(crate) mod cards;
mod outcome;
mod views;

use std::cmp::Reverse;

use minijinja::context;
use minijinja::value::Value;

use crate::gate::reason::GateCount;
use crate::report::brief::limits::AuditLimit;
use crate::report::brief::voice::{AuditVoice, CalledGroup};
use crate::report::draw::plot::AxisUnit;
use crate::report::page::PageSection;
use crate::report::read::audit::AuditFolder;
use crate::report::read::grouped::grouped;
use crate::report::section::recourse::cards::COMPARISONS_AT_MOST;
use crate::report::section::recourse::outcome::{ComparisonOutcome, why_not};
use crate::report::section::recourse::views::{DefinitionView, FEW, definition_views, groups_of};
use crate::table::recourse::{RecourseColumnRow, RecourseRow};
use crate::text::fact;

/// The section; none where the job asks for no recourse.
pub(crate) fn section(audit: &AuditFolder) -> Option<PageSection> {
    let all = &audit.recourse.comparisons;
    if all.is_empty() {
        return None;
    }
    let shown = &all[..all.len().min(COMPARISONS_AT_MOST)];
    let comparison = |(k, comparison): (usize, &RecourseRow)| {
        // Comparisons of one block of the job are next to each other.
        let block = &comparison.pair.recourse;
        let is_last = shown.get(k + 1).is_none_or(|next| next.pair.recourse != *block);
        context! {
            of => fact(comparison), why_not => why_not(comparison),
            groups => Value::from_iter(groups_of(comparison)),
            outcome => outcome(audit, comparison), rules => is_last.then(|| rules(audit, block)),
        }
    };
    let facts = context! {
        persons => persons_judged(audit), meanings => meanings(audit), all => all.len(),
        comparisons => shown.iter().enumerate().map(comparison).collect::<Value>(),
    };
    Some(PageSection::of_facts("recourse", "recourse.html", facts))
}

/// Which definitions are used, whose words need a meaning.
fn meanings(audit: &AuditFolder) -> Value {
    let tables = &audit.recourse;
    let ways = tables.comparisons.iter().flat_map(|of| definition_views(audit, of));
    let used: Vec<&str> = ways.map(|way| way.definition()).collect();
    let any = |definitions: &[&str]| used.iter().any(|used| definitions.contains(used));
    context! {
        few => FEW, shares => any(&["equal-choice", "equal-cost-of-effectiveness"]),
        budget => any(&["equal-effectiveness-within-budget"]),
        infinity => any(&["equal-cost-of-effectiveness", "equal-conditional-mean-recourse"]),
        chance => tables.subgroups.iter().any(|row| row.p_value.is_some()),
    }
}

/// Whether the page reports recourse at all.
pub(crate) fn is_there(audit: &AuditFolder) -> bool {
    !audit.recourse.comparisons.is_empty()
}

/// What the page says about a comparison: why nothing was looked at, or what it comes to, and the
/// limits that count its subgroups: where most of these are too small, they name those that the
/// verdict still counts.
fn told(
    audit: &AuditFolder,
    voice: &AuditVoice<'_>,
    limits: &[AuditLimit],
    comparison: &RecourseRow,
) -> Option<Value> {
    let (groups, why_not) = (groups_of(comparison), why_not(comparison));
    let outcome = ComparisonOutcome::of(audit, comparison);
    let called = || groups.map(|group| voice.called_group(&comparison.pair.recourse, group));
    let counts = |limit: &&AuditLimit| outcome.is_some() && counts_subgroups(limit, comparison);
    let limits: Vec<&AuditLimit> = limits.iter().filter(counts).collect();
    (why_not.is_some() || outcome.is_some()).then(|| {
        context! {
            groups => Value::from_iter(groups), why_not, limits => fact(&limits),
            outcome => outcome.as_ref().map(|of| of.facts(called(), true)),
        }
    })
}

/// The places of the comparisons in their table, worst first; of equals the first one first.
fn worst_first(audit: &AuditFolder) -> Vec<usize> {
    let all = &audit.recourse.comparisons;
    let mut places: Vec<usize> = (0..all.len()).collect();
    let badness = |of: &RecourseRow| ComparisonOutcome::of(audit, of).map(|of| of.badness());
    places.sort_by_cached_key(|place| Reverse(badness(&all[*place])));
    places
}

/// What the page says about the worst comparisons, in the order of their table.
pub(crate) fn evidence(
    audit: &AuditFolder,
    voice: &AuditVoice<'_>,
    limits: &[AuditLimit],
) -> Vec<Value> {
    let mut places = worst_first(audit);
    places.truncate(COMPARISONS_AT_MOST);
    places.sort_unstable();
    let all = &audit.recourse.comparisons;
    places.into_iter().filter_map(|place| told(audit, voice, limits, &all[place])).collect()
}

/// What the first page says: of the comparison that decides the limit whose sentence is there,
/// else of the one that decides the worst broken limit, else of the worst. A limit may count by
/// another definition than the one that is reported first, and only some subgroups of it.
pub(crate) fn first(
    audit: &AuditFolder,
    voice: &AuditVoice<'_>,
    limits: &[AuditLimit],
    said: Option<&AuditLimit>,
) -> Option<Value> {
    let all = &audit.recourse.comparisons;
    let counted = |limit: &AuditLimit| all.iter().find(|of| counts_subgroups(limit, of));
    let broken = limits.iter().filter(|limit| limit.verdict == "fail");
    let decides = said.into_iter().chain(broken).find_map(counted);
    let comparison = decides.or_else(|| worst_first(audit).first().map(|place| &all[*place]))?;
    let said = said.filter(|limit| counts_subgroups(limit, comparison));
    let count = said.and_then(|limit| limit.counted.as_ref());
    let outcome = ComparisonOutcome::of(audit, comparison);
    let by_other = count.zip(outcome).is_some_and(|(count, of)| !of.first.is_counted_by(count));
    let only_some = matches!(count, Some(GateCount::Subgroups { min_affected, score_at_least, .. })
        if *min_affected > 1 || score_at_least.is_some());
    let told = told(audit, voice, limits, comparison)?;
    Some(context! {
        told, is_said => said.is_some() && !by_other, by_other, only_some,
        all => all.len(), decides => decides.is_some(),
    })
}

/// The note that counts of recourse are persons; none where each row is a person.
pub(crate) fn persons_judged(audit: &AuditFolder) -> Option<Value> {
    let mut rows = audit.recourse.comparisons.iter();
    let (rows, persons) = rows.find_map(|row| row.person_rows.zip(row.persons))?;
    Some(context!(rows, persons))
}

/// Whether a limit counts subgroups of a comparison.
fn counts_subgroups(limit: &AuditLimit, comparison: &RecourseRow) -> bool {
    let part = limit.parts.first().filter(|part| part.counts.is_some());
    limit.counted.is_some()
        && part.is_some_and(|part| {
            part.judged.key.model == comparison.model.as_str()
                && part.judged.key.attribute == comparison.pair.recourse.as_str()
                && [part.judged.key.from.as_str(), part.judged.key.to.as_str()]
                    == groups_of(comparison)
        })
}

/// What was excluded of comparisons: all of one, its subgroups without actions, or mean ranks.
pub(crate) fn left_out(audit: &AuditFolder) -> Vec<Value> {
    let mut found = Vec::new();
    for row in &audit.recourse.comparisons {
        let rankings = audit.recourse.rankings.iter().filter(|of| of.pair == row.pair);
        let ranks = rankings.filter(|of| !of.undefined.is_empty()).count();
        let without = row.subgroups - row.subgroups_with_actions;
        let (groups, why_not) = (groups_of(row), why_not(row));
        let is_judged = why_not.is_none();
        for (is_there, why_not, without, ranks) in [
            (!is_judged, why_not, 0, 0),
            (is_judged && without > 0, None, without, 0),
            (is_judged && ranks > 0, None, 0, ranks),
        ] {
            found.extend(is_there.then(|| {
                context! {
                    groups => Value::from_iter(groups), model => row.model.as_str(), why_not,
                    subgroups => row.subgroups, without, ranks,
                }
            }));
        }
    }
    found
}

/// The outcome for one pair of groups; none where nothing was examined or judged.
fn outcome(audit: &AuditFolder, comparison: &RecourseRow) -> Option<Value> {
    let outcome = ComparisonOutcome::of(audit, comparison)?;
    let least = comparison.least_0.min(comparison.least_1);
    let raw = groups_of(comparison).map(|name| CalledGroup { name: name.to_owned(), words: None });
    let view = |way: &DefinitionView<'_>| {
        let answered = audit.recourse.answered(comparison, &way.row.criterion);
        context!(of => way.facts(), row => fact(way.row), answered)
    };
    Some(context! {
        words => outcome.facts(raw, false), small => (least < FEW).then_some(least),
        cards => outcome.first.cards(), views => outcome.views.iter().map(view).collect::<Value>(),
        listings => outcome.views.iter().map(DefinitionView::listing).collect::<Value>(),
        agreement => agreement(audit, &outcome.views),
    })
}

/// Agreement of the definitions; none of a single one.
fn agreement(audit: &AuditFolder, ways: &[DefinitionView<'_>]) -> Vec<Value> {
    let value = |way: &DefinitionView<'_>, other: &DefinitionView<'_>| {
        let by = &other.row.criterion;
        let mut mine = audit.recourse.rankings.iter().filter(|row| {
            row.pair == way.comparison.pair
                && row.criterion == way.row.criterion
                && (&row.by_definition, &row.by_parameter, &row.by_view)
                    == (&by.definition, &by.parameter, &by.view)
        });
        mine.find_map(|row| row.value).map(|value| format!("{value:.3}"))
    };
    let row = |(i, way): (usize, &DefinitionView<'_>)| {
        let ranks: Vec<Option<String>> = ways.iter().map(|other| value(way, other)).collect();
        context!(number => (i + 1).to_string(), of => way.facts(), ranks)
    };
    ways.iter().enumerate().filter(|_| ways.len() > 1).map(row).collect()
}

/// Kinds of changes whose cost the page gives; the annex has those of all columns.
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
    context!(kinds => fact(&kinds), more)
}

/// What people may change, and what not.
fn rules(audit: &AuditFolder, recourse: &str) -> Value {
    let mine = audit.recourse.columns.iter().filter(|row| row.recourse == *recourse);
    let (rows, fixed): (Vec<&RecourseColumnRow>, Vec<&RecourseColumnRow>) =
        mine.partition(|row| row.changes == 1);
    let fixed = fixed.into_iter().map(|row| row.column.as_str());
    context! {
        attribute => recourse, rows => fact(&rows), fixed => fixed.collect::<Value>(),
    }
}
