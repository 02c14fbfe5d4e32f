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
pub(crate) mod curve;
mod outcome;
mod views;

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::limits::AuditLimit;
use crate::report::brief::voice::AuditVoice;
use crate::report::draw::plot::AxisUnit;
use crate::report::page::number::{NumberFormat, three_digits};
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::recourse::RecourseTables;
use crate::report::section::recourse::cards::{COMPARISONS_AT_MOST, cards, listing};
use crate::report::section::recourse::outcome::{ComparisonOutcome, GroupNaming, why_not};
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
            actions => comparison.actions, outcome => outcome(audit, comparison, k),
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
pub(crate) struct ToldComparison {
    /// For whom it is harder; where nothing can be distinguished from chance, that.
    pub(crate) answer: RichText,
    /// How many people the answer depends on, and how it stands against chance; none where the
    /// answer says it.
    pub(crate) people: Option<RichText>,
    /// What limits count: where most subgroups are too small, they name those that the verdict
    /// still counts; none without a limit.
    pub(crate) limits: Option<RichText>,
}

/// What the page says about each comparison.
pub(crate) fn evidence(
    audit: &AuditFolder,
    voice: &AuditVoice<'_>,
    limits: &[AuditLimit],
) -> Vec<ToldComparison> {
    let mut told = Vec::new();
    for comparison in audit.recourse.comparisons.iter().take(COMPARISONS_AT_MOST) {
        if let Some(why) = why_not(comparison) {
            let words = RichText::from("Nothing was looked at of ")
                .name(comparison.pair.group_0.as_str())
                .text(" and ")
                .name(comparison.pair.group_1.as_str());
            let answer = words.text(format!(": {why}."));
            told.push(ToldComparison { answer, people: None, limits: None });
            continue;
        }
        let Some(outcome) = ComparisonOutcome::of(audit, comparison) else { continue };
        let naming = GroupNaming::Told(voice, comparison.pair.recourse.as_str());
        let counted: Vec<String> =
            limits.iter().filter_map(|limit| counted_in_words(limit, comparison, voice)).collect();
        let limits = (!counted.is_empty()).then(|| RichText::new().quote(counted.join(" ")));
        if !outcome.too_few() && !outcome.nothing_beyond_chance() {
            let of_any_size = " The numbers before are of subgroups of any size, each group apart.";
            told.push(ToldComparison {
                answer: outcome.answer(&naming),
                people: Some(outcome.people(&naming)),
                limits: limits.map(|words| words.text(of_any_size)),
            });
            continue;
        }
        let start = if outcome.too_few() && !counted.is_empty() {
            "Most subgroups are too small for a conclusion: "
        } else if outcome.too_few() {
            "Too few people for a conclusion: "
        } else {
            "No difference is distinguishable from chance: "
        };
        let affected = [comparison.affected_0, comparison.affected_1];
        let people = |g: usize| naming.people(comparison, affected[g], outcome.names()[g]);
        let people = RichText::from(start).and(people(0)).text(" and ").and(people(1));
        let people = people.quote(format!(" {}", voice.lack_it()));
        let judged = outcome.first.row.judged;
        let words = if outcome.nothing_beyond_chance() {
            let differences = number::count_of(judged, "difference", "differences");
            let by_any = if outcome.views.len() > 1 { " by any definition" } else { "" };
            people.text(format!(
                ", and none of {differences} can be distinguished from chance{by_any}."
            ))
        } else if outcome.smaller.n() > 0 {
            people.text(format!(
                ", and in at least half of all unfair subgroups one group has fewer than {FEW} \
                 people."
            ))
        } else {
            people.text(".")
        };
        told.push(ToldComparison { answer: words, people: None, limits });
    }
    told
}

/// That counts of recourse are persons; none where each row is a person.
pub(crate) fn persons_judged(audit: &AuditFolder) -> Option<RichText> {
    let (rows, persons) =
        audit.recourse.comparisons.iter().find_map(|row| row.person_rows.zip(row.persons))?;
    let words = format!(
        "Counts of recourse are persons, all other counts are rows: of {} of {}, one row of each \
         person is judged, drawn at random.",
        number::count_of(rows, "audited row", "audited rows"),
        number::count_of(persons, "person", "persons")
    );
    Some(words.into())
}

/// Which subgroups of a comparison a limit counts, and what that decides; none of another limit.
fn counted_in_words(
    limit: &AuditLimit,
    comparison: &RecourseRow,
    voice: &AuditVoice<'_>,
) -> Option<String> {
    let (judged, part) = (limit.counted.as_ref()?, limit.parts.first()?);
    let (unfair, all) = part.counts?;
    let pair = &comparison.pair;
    let of_pair = part.key.model == comparison.model.as_str()
        && part.key.attribute == pair.recourse.as_str()
        && [part.key.from.as_str(), part.key.to.as_str()]
            == [pair.group_0.as_str(), pair.group_1.as_str()];
    let decided = match limit.verdict.as_str() {
        "fail" => format!("; more than {}, so it is broken", limit.amount),
        _ => String::new(),
    };
    let by_group = part.unfair.map_or_else(String::new, |(first, second)| {
        let group = |name: &str| voice.people(pair.recourse.as_str(), name);
        format!(
            " ({} unfair to {}, {} to {})",
            number::count(first),
            group(&pair.group_0),
            number::count(second),
            group(&pair.group_1)
        )
    });
    of_pair.then(|| {
        format!(
            "The limit counts both groups together and only {}: {} of {} that have \
             actions{by_group}{decided}.",
            judged.words(),
            number::count(unfair),
            number::count(all)
        )
    })
}

/// What was excluded of comparisons: where, why, and how much.
pub(crate) fn left_out(audit: &AuditFolder) -> Vec<(RichText, String, String)> {
    let mut found = Vec::new();
    for comparison in audit.recourse.comparisons.iter() {
        let pair = &comparison.pair;
        let place = || {
            let words = RichText::new().name(pair.group_0.as_str()).text(" compared with ");
            words.name(pair.group_1.as_str()).text(", model ").name(comparison.model.as_str())
        };
        if let Some(why) = why_not(comparison) {
            found.push((place(), why, "the whole comparison".to_owned()));
            continue;
        }
        let (all, with) = (comparison.subgroups, comparison.subgroups_with_actions);
        if all > with {
            let share = NumberFormat::Share.value((all - with) as f64 / all as f64);
            let why = "there is no action: no change that the job allows leads to levels that \
                       enough people with the favourable decision have";
            let (without, all) =
                (number::count(all - with), number::count_of(all, "subgroup", "subgroups"));
            found.push((place(), why.to_owned(), format!("{without} of {all} ({share})")));
        }
        let rankings = audit.recourse.rankings.iter();
        let ranks = rankings.filter(|row| row.pair == *pair && !row.undefined.is_empty()).count();
        if ranks > 0 {
            let n = i64::try_from(ranks).unwrap_or(i64::MAX);
            let why = "no subgroup is unfair by the definition of their first rank";
            let n = number::count_of(n, "mean rank", "mean ranks");
            found.push((place(), why.to_owned(), n));
        }
    }
    found
}

/// What became of one pair of groups; none where nothing was looked at or judged.
fn outcome(audit: &AuditFolder, comparison: &RecourseRow, k: usize) -> Option<Value> {
    let outcome = ComparisonOutcome::of(audit, comparison)?;
    let least = comparison.least_0.min(comparison.least_1);
    let listings = outcome.views.iter().map(|way| listing(audit, comparison, way));
    Some(context! {
        words => outcome.in_words(&GroupNaming::Raw), small => (least < FEW).then_some(least),
        cards => cards(audit, comparison, &outcome.first, k),
        definitions => by_definition(&outcome.views, outcome.names()),
        listings => listings.collect::<Value>(),
        agreement => agreement(audit, comparison, &outcome.views),
    })
}

/// Whom each definition puts at a disadvantage.
fn by_definition(ways: &[DefinitionView<'_>], [a, b]: [&str; 2]) -> PageTable {
    let row = |way: &DefinitionView<'_>| {
        let row = &way.row;
        let judged = row.judged;
        let share = |n: i64| {
            let small = (judged > 0).then(|| NumberFormat::Share.value(n as f64 / judged as f64));
            PageCell::new(number::count(n), small)
        };
        let top = || {
            let main = RichText::from(format!("{} against ", number::count(row.top_0)))
                .name(a)
                .text(format!(", {} against ", number::count(row.top_1)))
                .name(b);
            let tied = format!(
                "it ends among {} with equal scores, {} of them included",
                number::count(row.tied),
                number::count(row.tied_in_top)
            );
            PageCell::new(main, (row.tied > row.tied_in_top).then_some(tied))
        };
        let tests = row.test_rejects.map(|n| {
            let n = number::count(n);
            format!(
                "its test calls the groups different in {n}, one test per subgroup, without \
                 correction"
            )
        });
        let cells = [
            PageCell::new(way.compares(), tests),
            share(row.unfair_0),
            share(row.unfair_1),
            share(judged - row.unfair),
            if row.top == 0 { PageCell::none() } else { top() },
        ];
        ReportRow::new(way.title(), cells)
    };
    let against = |name: &str| RichText::from("Against ").name(name);
    let [first, second] = ["Definition", "Compared value"].map(RichText::from);
    let [fair, tenth] = ["Fair", "Of the most unfair tenth"].map(RichText::from);
    let head = [first, second, against(a), against(b), fair, tenth];
    PageTable::of_words(head, ways.iter().map(row))
}

/// Agreement of the definitions; none of a single one.
fn agreement(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    ways: &[DefinitionView<'_>],
) -> Option<PageTable> {
    if ways.len() < 2 {
        return None;
    }
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
    let head =
        std::iter::once("Rank 1 by".to_owned()).chain((1..=ways.len()).map(|i| i.to_string()));
    let row = |(i, way): (usize, &DefinitionView<'_>)| {
        let cell = |other: &DefinitionView<'_>| -> PageCell {
            let value = values.get(&[&way.row.criterion, &other.row.criterion].map(Clone::clone));
            value.map_or_else(PageCell::none, |value| format!("{value:.3}").into())
        };
        ReportRow::new(format!("{} {}", i + 1, way.title()), ways.iter().map(cell))
    };
    Some(PageTable::new(head, ways.iter().enumerate().map(row)))
}

/// Kinds of changes that the page tells the cost of; the annex has those of all columns.
const COSTS_AT_MOST: usize = 8;

/// What a change costs, by kind: `10 for each position of age; 5 for another town`.
pub(crate) fn costs(audit: &AuditFolder, recourse: &str) -> RichText {
    let mine = audit.recourse.columns.iter().filter(|row| row.recourse.as_str() == recourse);
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for row in mine.filter(|row| row.changes == 1) {
        let per = match row.distance.as_str() {
            "positions" => "for each position of",
            "range-share" => "for the whole range of",
            "absolute" => "for each unit of",
            _ => "for another",
        };
        let kind = format!("{} {per} ", AxisUnit::Number.label(row.weight));
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, columns)) => columns.push(&row.column),
            None => kinds.push((kind, vec![&row.column])),
        }
    }
    let shown = kinds.iter().take(COSTS_AT_MOST).enumerate();
    let words = shown.fold(RichText::new(), |words, (i, (kind, columns))| {
        let words = words.text(if i > 0 { "; " } else { "" }).text(kind.as_str());
        columns.iter().enumerate().fold(words, |words, (i, column)| {
            words.text(if i > 0 { " or " } else { "" }).name(*column)
        })
    });
    match kinds.len().saturating_sub(COSTS_AT_MOST) {
        0 => words,
        more => words.text(format!("; {more} more kinds are in the annex")),
    }
}

/// What people may change, and what not.
fn rules(audit: &AuditFolder, recourse: &str) -> Value {
    let mine = || audit.recourse.columns.iter().filter(|row| row.recourse.as_str() == recourse);
    let row = |row: &RecourseColumnRow| {
        let per = match row.distance.as_str() {
            "positions" => " for each position",
            "range-share" => " for its whole range, less for a part of it",
            "absolute" => " for each unit of difference",
            _ => "",
        };
        let without = Some(row.missing + row.outside).filter(|n| *n > 0).map(number::people);
        let without = without
            .map(|people| format!("{people} without a value, or with a value outside the bins"));
        let how = PageCell::new(row.may_change.as_str(), without);
        let cost = format!("{}{per}", three_digits(row.weight));
        ReportRow::new(RichText::new().name(row.column.as_str()), [how, cost.into()])
    };
    let head = ["Allowed changes", "How", "Cost of a change"];
    let table = PageTable::of_words(head, mine().filter(|row| row.changes == 1).map(row));
    let fixed = mine().filter(|row| row.changes != 1).map(|row| row.column.as_str());
    context!(attribute => recourse, table, fixed => fixed.collect::<Value>())
}
