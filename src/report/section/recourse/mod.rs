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
mod meanings;
mod outcome;
mod views;

use std::collections::BTreeMap;

use crate::report::brief::limits::AuditLimit;
use crate::report::brief::voice::AuditVoice;
use crate::report::draw::plot::AxisUnit;
use crate::report::page::number::{NumberFormat, three_digits};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::section::recourse::cards::{COMPARISONS_AT_MOST, cards, listing};
use crate::report::section::recourse::outcome::{ComparisonOutcome, GroupNaming, why_not};
use crate::report::section::recourse::views::{DefinitionView, FEW};
use crate::table::recourse::{CriterionWords, RecourseColumnRow, RecourseRow};

/// The section; none where the job asks for no recourse.
pub(crate) fn section(audit: &AuditFolder) -> Option<PageSection> {
    let all = &audit.recourse.comparisons;
    if all.is_empty() {
        return None;
    }
    let mut blocks = vec![PageBlock::Text(
        "People with the unfavourable decision who share some traits are a subgroup. What would \
         they have to change to get the favourable one, and is that harder for one group than for \
         the other, although their traits are the same? An action changes only the entries \
         that it names, even if in reality others would change with them: the section \
         shows what the model would then decide, and is neither advice nor a \
         forecast."
            .into(),
    )];
    blocks.extend(persons_judged(audit).map(|words| {
        PageBlock::Text(words.text(
            " The reason: somebody changes the one state that they are in, and rows of a person \
             are not independent cases.",
        ))
    }));
    blocks.push(meanings::meanings(&audit.recourse));
    let shown = &all[..all.len().min(COMPARISONS_AT_MOST)];
    for (k, comparison) in shown.iter().enumerate() {
        let title = RichText::new()
            .name(comparison.pair.group_0.as_str())
            .text(" compared with ")
            .name(comparison.pair.group_1.as_str())
            .text(", model ")
            .name(comparison.model.as_str());
        blocks.push(PageBlock::Heading(format!("recourse-{k}"), title));
        match why_not(comparison) {
            None => blocks.extend(part(audit, comparison, k)),
            Some(why) => {
                blocks.push(PageBlock::Text(format!("Nothing was looked at: {why}.").into()));
            }
        }
        // Comparisons of one block of the job stand together.
        let last = shown
            .get(k + 1)
            .is_none_or(|next| next.pair.recourse.as_str() != comparison.pair.recourse.as_str());
        if last {
            blocks.extend(rules(audit, comparison.pair.recourse.as_str()));
        }
    }
    if all.len() > shown.len() {
        let words = format!(
            "Shown are {} of {} comparisons; the others are only in tables/recourse.parquet and \
             tables/subgroups.parquet, and what people may change in \
             tables/recourse_columns.parquet.",
            shown.len(),
            all.len()
        );
        blocks.push(PageBlock::Note(words.into()));
    }
    blocks.push(PageBlock::Note(
        "After Fairness Aware Counterfactuals for Subgroups (FACTS). Subgroups overlap, so their \
         number is not a number of people, and small ones can differ by chance: look at the \
         counts. An action counts if enough people with the favourable decision have the resulting \
         levels. Bins are (lo, hi]: they exclude the lower edge, except the lowest bin. All \
         subgroups and actions are in tables/subgroups.parquet and tables/actions.parquet."
            .into(),
    ));
    Some(PageSection { id: "recourse", title: "Recourse: who can change the decision", blocks })
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
    let (judged, part) = (limit.counted_subgroups()?, limit.parts.first()?);
    let (unfair, all) = part.counts?;
    let pair = &comparison.pair;
    let of_pair = part.key.model == comparison.model.as_str()
        && part.key.attribute == pair.recourse.as_str()
        && [part.key.from.as_str(), part.key.to.as_str()]
            == [pair.group_0.as_str(), pair.group_1.as_str()];
    let decided = match limit.verdict.as_str() {
        "fail" => format!("; more than {}, so it is broken", limit.limit_text()),
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
            "The limit counts both groups together and only {judged}: {} of {} that have \
             actions{by_group}{decided}.",
            number::count(unfair),
            number::count(all)
        )
    })
}

/// What was excluded of comparisons: where, why, and how much.
pub(crate) fn left_out(audit: &AuditFolder) -> Vec<(RichText, String, String)> {
    let mut found = Vec::new();
    for comparison in audit.recourse.comparisons.iter() {
        let place = || {
            let words = RichText::new()
                .name(comparison.pair.group_0.as_str())
                .text(" compared with ")
                .name(comparison.pair.group_1.as_str());
            words.text(", model ").name(comparison.model.as_str())
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
            found.push((
                place(),
                why.to_owned(),
                format!(
                    "{} of {} ({share})",
                    number::count(all - with),
                    number::count_of(all, "subgroup", "subgroups")
                ),
            ));
        }
        let ranks = audit
            .recourse
            .rankings
            .iter()
            .filter(|row| row.pair == comparison.pair && !row.undefined.is_empty())
            .count();
        if ranks > 0 {
            let n = number::count_of(
                i64::try_from(ranks).unwrap_or(i64::MAX),
                "mean rank",
                "mean ranks",
            );
            let why = "no subgroup is unfair by the definition of their first rank";
            found.push((place(), why.to_owned(), n));
        }
    }
    found
}

/// One pair of groups.
fn part(audit: &AuditFolder, comparison: &RecourseRow, k: usize) -> Vec<PageBlock> {
    let mut blocks = Vec::new();
    let made = RichText::from(format!(
        "These people make {}, each with at least {} of group ",
        number::count_of(comparison.subgroups, "subgroup", "subgroups"),
        number::people(comparison.least_0),
    ))
    .name(comparison.pair.group_0.as_str())
    .text(format!(" and {} of group ", number::count(comparison.least_1)))
    .name(comparison.pair.group_1.as_str())
    .text(format!(
        "; for {} there are actions to try, {} in all.",
        number::count(comparison.subgroups_with_actions),
        number::count(comparison.actions)
    ));
    let Some(outcome) = ComparisonOutcome::of(audit, comparison) else {
        blocks.push(PageBlock::Text(made));
        blocks.push(PageBlock::Text("No subgroup was judged.".into()));
        return blocks;
    };
    let [a, b] = outcome.names();
    blocks.push(PageBlock::Text(outcome.in_words(&GroupNaming::Raw)));
    blocks.push(PageBlock::Text(made));
    let least = comparison.least_0.min(comparison.least_1);
    if least < FEW {
        let words = format!(
            "The smallest subgroups have {} of a group, so one person can decide whether they \
             are unfair: a higher support excludes them.",
            number::people(least)
        );
        blocks.push(PageBlock::Note(words.into()));
    }
    blocks.extend(cards(audit, comparison, &outcome.first, k));
    blocks.push(PageBlock::Table(by_definition(&outcome.views, a, b)));
    let listings = outcome.views.iter().flat_map(|way| listing(audit, comparison, way));
    blocks
        .push(PageBlock::Fold("The most unfair subgroups of every definition", listings.collect()));
    blocks.extend(agreement(audit, comparison, &outcome.views));
    blocks
}

/// Whom each definition puts at a disadvantage.
fn by_definition(ways: &[DefinitionView<'_>], a: &str, b: &str) -> PageTable {
    let head = vec![
        "Definition".into(),
        "Compared value".into(),
        RichText::new().text("Against ").name(a),
        RichText::new().text("Against ").name(b),
        "Fair".into(),
        "Of the most unfair tenth".into(),
    ];
    let rows = ways.iter().map(|way| {
        let row = &way.row;
        let judged = row.judged;
        let share = |n: i64| {
            let small = (judged > 0)
                .then(|| RichText::from(NumberFormat::Share.value(n as f64 / judged as f64)));
            PageCell {
                main: number::count(n).into(),
                small: small.into_iter().collect(),
                ..PageCell::default()
            }
        };
        let top = match row.top {
            0 => "\u{2013}".into(),
            _ => {
                let main = RichText::from(format!("{} against ", number::count(row.top_0)))
                    .name(a)
                    .text(format!(", {} against ", number::count(row.top_1)))
                    .name(b);
                let arbitrary = row.tied > row.tied_in_top;
                let tied = format!(
                    "it ends among {} with equal scores, {} of them included",
                    number::count(row.tied),
                    number::count(row.tied_in_top)
                );
                PageCell {
                    main,
                    small: arbitrary.then(|| tied.into()).into_iter().collect(),
                    ..PageCell::default()
                }
            }
        };
        let tests = row.test_rejects.map(|n| {
            format!(
                "its test calls the groups different in {}, one test per subgroup, \
                 without correction",
                number::count(n)
            )
        });
        let what = PageCell {
            main: way.compares().into(),
            small: tests.map(RichText::from).into_iter().collect(),
            ..PageCell::default()
        };
        let cells =
            vec![what, share(row.unfair_0), share(row.unfair_1), share(judged - row.unfair), top];
        ReportRow { id: String::new(), head: way.title().into(), cells }
    });
    let caption =
        "Number of subgroups in which each definition finds recourse harder for one group".into();
    PageTable { caption, head, rows: rows.collect(), prose: true, ..PageTable::default() }
}

/// Agreement of the definitions.
fn agreement(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    ways: &[DefinitionView<'_>],
) -> Option<PageBlock> {
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
    let mut head: Vec<RichText> = vec!["Rank 1 by".into()];
    head.extend((1..=ways.len()).map(|i| RichText::from(i.to_string())));
    let rows = ways.iter().enumerate().map(|(i, way)| {
        let cell = |other: &DefinitionView<'_>| -> PageCell {
            let value = values.get(&[&way.row.criterion, &other.row.criterion].map(Clone::clone));
            value.map_or_else(|| "\u{2013}".into(), |value| format!("{value:.3}").into())
        };
        ReportRow {
            id: String::new(),
            head: format!("{} {}", i + 1, way.title()).into(),
            cells: ways.iter().map(cell).collect(),
        }
    });
    let caption = "Mean rank that the definition of the column gives to the subgroups of rank 1 by \
                   that of the row, over its largest rank plus 1: small where the two agree";
    let table =
        PageTable { caption: caption.into(), head, rows: rows.collect(), ..PageTable::default() };
    Some(PageBlock::Fold("Agreement of the definitions", vec![PageBlock::Table(table)]))
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
fn rules(audit: &AuditFolder, recourse: &str) -> Vec<PageBlock> {
    let mine = || audit.recourse.columns.iter().filter(|row| row.recourse.as_str() == recourse);
    let head = ["Allowed changes", "How", "Cost of a change"].map(RichText::from).to_vec();
    let row = |row: &RecourseColumnRow| {
        let per = match row.distance.as_str() {
            "positions" => " for each position",
            "range-share" => " for its whole range, less for a part of it",
            "absolute" => " for each unit of difference",
            _ => "",
        };
        let without = row.missing + row.outside;
        let small = (without > 0).then(|| {
            format!("{} without a value, or with a value outside the bins", number::people(without))
                .into()
        });
        let how = PageCell {
            main: row.may_change.as_str().into(),
            small: small.into_iter().collect(),
            ..PageCell::default()
        };
        let cost = format!("{}{per}", three_digits(row.weight));
        ReportRow {
            id: String::new(),
            head: RichText::new().name(row.column.as_str()),
            cells: vec![how, cost.into()],
        }
    };
    let rows: Vec<ReportRow> = mine().filter(|row| row.changes == 1).map(row).collect();
    let mut still = RichText::from("Fixed, and therefore in no action: ").name(recourse);
    for column in mine().filter(|row| row.changes != 1) {
        still = still.text(", ").name(column.column.as_str());
    }
    let caption = RichText::from("Changes that the job allows, recourse by ").name(recourse);
    vec![
        PageBlock::Table(PageTable { caption, head, rows, prose: true, ..PageTable::default() }),
        PageBlock::Text(still.text(".")),
    ]
}
