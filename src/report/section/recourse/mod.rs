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

pub(crate) mod curve;
mod meanings;
mod views;

use std::collections::BTreeMap;

use crate::report::brief::voice::AuditVoice;
use crate::report::draw::plot::AxisUnit;
use crate::report::page::number::{NumberFormat, three_digits};
use crate::report::page::words::RichText;
use crate::report::page::{
    PageBlock, PageCell, PageFigure, PageSection, PageTable, ReportRow, number,
};
use crate::report::read::audit::AuditFolder;
use crate::report::read::recourse::{ChanceTests, FALSE_DISCOVERIES, SizeCounts};
use crate::report::section::recourse::curve::{SubgroupCurves, end_of};
use crate::report::section::recourse::views::{DefinitionView, FEW, definition_views};
use crate::table::recourse::{
    ActionRow, ComparativeRow, CriterionWords, EcdRow, RecourseColumnRow, RecourseRow, SubgroupRow,
};

/// Subgroups that are reported with all their actions.
const CARDS: usize = 6;

/// Subgroups of one definition in a table.
const ROWS: usize = 20;

/// Comparisons on one page.
const COMPARISONS_AT_MOST: usize = 6;

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
        if comparison.undefined.is_empty() {
            blocks.extend(part(audit, comparison, k));
        } else {
            blocks.push(PageBlock::Text(
                format!("Nothing is compared: {}.", why_not(comparison)).into(),
            ));
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

/// A sentence for the findings: which group a comparison puts at a disadvantage. Of several it is
/// the one with the largest share of unfair subgroups, among those that depend on enough people,
/// and on more than chance, where there are any.
pub(crate) fn finding(audit: &AuditFolder) -> Option<RichText> {
    let comparisons = audit.recourse.comparisons.iter().filter(|row| row.undefined.is_empty());
    let outcomes = comparisons.filter_map(|comparison| ComparisonOutcome::of(audit, comparison));
    let rank = |outcome: &ComparisonOutcome<'_>| {
        (!outcome.too_few(), !outcome.none_beyond_chance(), outcome.unfair_share())
    };
    // Of equals the first.
    let outcome = outcomes.reduce(|a, b| if rank(&b) > rank(&a) { b } else { a })?;
    let words = outcome.in_words(&GroupNaming::Raw);
    Some(words.text(" ").link("See recourse", "recourse", "Recourse"))
}

/// What the page tells of each comparison: where nothing can be distinguished from chance one
/// sentence, else for whom it is harder, and how many people that depends on.
pub(crate) fn evidence(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<RichText> {
    let mut told = Vec::new();
    for comparison in audit.recourse.comparisons.iter().take(COMPARISONS_AT_MOST) {
        if !comparison.undefined.is_empty() {
            let words = RichText::new()
                .name(comparison.pair.group_0.as_str())
                .text(" and ")
                .name(comparison.pair.group_1.as_str());
            told.push(words.text(format!(" are not compared: {}.", why_not(comparison))));
            continue;
        }
        let Some(outcome) = ComparisonOutcome::of(audit, comparison) else { continue };
        let naming = GroupNaming::Told(voice, comparison.pair.recourse.as_str());
        if !outcome.too_few() && !outcome.none_beyond_chance() {
            told.push(outcome.in_words(&naming));
            continue;
        }
        let start = if outcome.too_few() {
            "Too few people for a conclusion: "
        } else {
            "No difference is distinguishable from chance: "
        };
        let affected = [comparison.affected_0, comparison.affected_1];
        let people = |g: usize| naming.people(affected[g], outcome.names()[g]);
        let people = RichText::from(start).and(people(0)).text(" and ").and(people(1));
        let people = people.quote(format!(" {}", voice.lack_it()));
        let judged = outcome.first.row.judged;
        told.push(if outcome.none_beyond_chance() {
            let differences = number::count_of(judged, "difference", "differences");
            people.text(format!(", and none of {differences} can be distinguished from chance."))
        } else if outcome.smaller.n() > 0 {
            people.text(format!(
                ", and in at least half of the unfair subgroups one group has fewer than {FEW} \
                 people."
            ))
        } else {
            people.text(".")
        });
    }
    told
}

/// Why two groups were not compared.
fn why_not(comparison: &RecourseRow) -> &'static str {
    match comparison.undefined.as_str() {
        "no_unaffected_rows" => "nobody has the favourable decision, so there is no action to try",
        _ => "nobody of one of the two groups has the unfavourable decision",
    }
}

/// What was excluded of comparisons: where, why, and how much.
pub(crate) fn left_out(audit: &AuditFolder) -> Vec<(RichText, &'static str, String)> {
    let mut found = Vec::new();
    for comparison in audit.recourse.comparisons.iter() {
        let place = || {
            let words = RichText::new()
                .name(comparison.pair.group_0.as_str())
                .text(" compared with ")
                .name(comparison.pair.group_1.as_str());
            words.text(", model ").name(comparison.model.as_str())
        };
        if !comparison.undefined.is_empty() {
            found.push((place(), why_not(comparison), "the whole comparison".to_owned()));
            continue;
        }
        let (all, with) = (comparison.subgroups, comparison.subgroups_with_actions);
        if all > with {
            let share = NumberFormat::Share.value((all - with) as f64 / all as f64);
            let why = "there is no action: no change that the job allows leads to levels that \
                       enough people with the favourable decision have";
            found.push((
                place(),
                why,
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
            found.push((place(), "no subgroup is unfair by the definition of their first rank", n));
        }
    }
    found
}

/// How the two groups of a comparison are called: by their values, or in the job's words.
enum GroupNaming<'a> {
    /// `group Female`.
    Raw,
    /// `women`; with the attribute.
    Told(&'a AuditVoice<'a>, &'a str),
}

impl GroupNaming<'_> {
    fn group(&self, name: &str) -> RichText {
        match self {
            GroupNaming::Raw => RichText::from("group ").name(name),
            GroupNaming::Told(voice, attribute) => {
                RichText::new().quote(voice.people(attribute, name))
            }
        }
    }

    /// So many of a group.
    fn people(&self, n: i64, name: &str) -> RichText {
        match self {
            GroupNaming::Raw => {
                RichText::from(format!("{} of ", number::people(n))).and(self.group(name))
            }
            GroupNaming::Told(..) => {
                RichText::from(format!("{} ", number::count(n))).and(self.group(name))
            }
        }
    }
}

/// What a comparison comes to.
struct ComparisonOutcome<'a> {
    comparison: &'a RecourseRow,
    views: Vec<DefinitionView<'a>>,
    /// The view that is shown first.
    first: DefinitionView<'a>,
    /// How large the smaller group of its unfair subgroups is.
    smaller: SizeCounts,
    /// How they stand against chance; none where the job asks for no test.
    chance: Option<ChanceTests>,
}

impl<'a> ComparisonOutcome<'a> {
    /// None where no subgroup was judged.
    fn of(audit: &'a AuditFolder, comparison: &'a RecourseRow) -> Option<ComparisonOutcome<'a>> {
        let ways = definition_views(&audit.recourse, comparison);
        let share = |way: &DefinitionView<'_>| way.target_share().unwrap_or(0.0);
        let of_cost = ways.iter().filter(|way| way.definition() == "equal-cost-of-effectiveness");
        let best = of_cost
            .max_by(|a, b| share(a).total_cmp(&share(b)).then_with(|| b.view().cmp(a.view())));
        let first = *best.or_else(|| ways.iter().max_by_key(|way| way.row.unfair))?;
        let smaller = audit.recourse.smaller(comparison, &first.row.criterion);
        let chance = audit.recourse.chance(comparison, &first.row.criterion);
        Some(ComparisonOutcome { comparison, views: ways, first, smaller, chance })
    }

    fn names(&self) -> [&'a str; 2] {
        [&self.comparison.pair.group_0, &self.comparison.pair.group_1].map(|group| group.as_str())
    }

    fn unfair_share(&self) -> f64 {
        self.first.row.unfair as f64 / self.first.row.judged.max(1) as f64
    }

    /// Whether the unfair subgroups are mostly made of a few people; where there are none, whether
    /// a group is.
    fn too_few(&self) -> bool {
        let affected = [self.comparison.affected_0, self.comparison.affected_1];
        self.smaller.median().unwrap_or(affected[0].min(affected[1]) as f64) < FEW as f64
    }

    /// Whether the test tells none of the unfair subgroups from chance, which does not say that
    /// chance made them.
    fn none_beyond_chance(&self) -> bool {
        self.chance.is_some_and(|chance| chance.beyond == 0)
    }

    /// For whom it is harder, by the view shown first and by the others, and how many people that
    /// depends on.
    fn in_words(&self, naming: &GroupNaming<'_>) -> RichText {
        let row = &self.first.row;
        let [a, b] = self.names();
        let (unfair_a, unfair_b) = (row.unfair_0, row.unfair_1);
        let of_all = format!(
            " of {} the favourable decision is harder to reach for ",
            number::count_of(row.judged, "subgroup", "subgroups")
        );
        let start = match (self.too_few(), self.none_beyond_chance()) {
            (true, _) => "Too few for a conclusion: in ",
            (false, true) => "Chance is not ruled out: in ",
            (false, false) => "In ",
        };
        let words = if unfair_a + unfair_b == 0 {
            let words = RichText::from(format!("{start}none{of_all}")).and(naming.group(a));
            words.text(" or ").and(naming.group(b))
        } else {
            let ([first, second], [n, m]) = if unfair_a >= unfair_b {
                ([a, b], [unfair_a, unfair_b])
            } else {
                ([b, a], [unfair_b, unfair_a])
            };
            let words = RichText::from(start).strong(number::count(n)).text(of_all);
            let words = words.and(naming.group(first));
            words.text(format!(", in {} for ", number::count(m))).and(naming.group(second))
        };
        words
            .text(format!(" (by {})", self.first.title().to_lowercase()))
            .and(self.by_all_views(naming))
            .text(". ")
            .and(self.people(naming))
    }

    /// What all ways say together; nothing where there is one.
    fn by_all_views(&self, naming: &GroupNaming<'_>) -> RichText {
        let [a, b] = self.names();
        let count = |holds: fn(i64, i64) -> bool| {
            self.views.iter().filter(|way| holds(way.row.unfair_0, way.row.unfair_1)).count()
        };
        let (against_a, against_b, even) =
            (count(|a, b| a > b), count(|a, b| b > a), count(|a, b| a == b));
        if self.views.len() < 2 {
            return RichText::new();
        }
        let find = if against_a == 1 { "finds" } else { "find" };
        let words = RichText::from(format!(
            "; of {} views, {against_a} {find} more subgroups in which \
             it is harder for ",
            self.views.len()
        ))
        .and(naming.group(a))
        .text(format!(", {against_b} for "))
        .and(naming.group(b));
        if even > 0 { words.text(format!(", {even} as many for either")) } else { words }
    }

    /// How many people there are, and how few of them make an unfair subgroup.
    fn people(&self, naming: &GroupNaming<'_>) -> RichText {
        let [a, b] = self.names();
        let [n, m] = [self.comparison.affected_0, self.comparison.affected_1];
        let words = naming
            .people(n, a)
            .text(" and ")
            .and(naming.people(m, b))
            .text(" have the unfavourable decision");
        let (unfair, few) = (self.smaller.n(), self.smaller.below(FEW));
        match self.smaller.median() {
            None => words.text("."),
            Some(median) => {
                let median = if median.fract() == 0.0 {
                    number::people(median as i64)
                } else {
                    format!("{median:.1} people")
                };
                let share = NumberFormat::Share.value(few as f64 / unfair.max(1) as f64);
                let words = words.text(format!(
                    "; in the unfair subgroups the smaller group has a median of {median}, and \
                     fewer than {FEW} in {} of {} ({share}).",
                    number::count(few),
                    number::count(unfair)
                ));
                words.and(self.against_chance())
            }
        }
    }

    /// How the unfair subgroups stand against chance.
    fn against_chance(&self) -> RichText {
        let deals = self.comparison.deals;
        // Every unfair subgroup has a p where the job asks for `chance`, regardless of the version
        // that wrote it.
        let Some(chance) = self.chance else {
            if deals.is_some() {
                return RichText::new();
            }
            let words = RichText::from(" These differences were not tested against chance: ");
            return words.code("chance").text(" in the job requests the test.");
        };
        let words = RichText::from(format!(
            " With at most {} false discoveries {} of these {} can be distinguished from chance.",
            number::level(FALSE_DISCOVERIES),
            if chance.beyond == 0 { "none".to_owned() } else { number::count(chance.beyond) },
            number::count(chance.tested)
        ));
        // No score comes up less often than once in all deals and the real one.
        let is_least = |deals: &i64| chance.least * (1 + deals) as f64 <= 1.5;
        let Some(deals) = deals.filter(is_least).filter(|_| chance.beyond == 0) else {
            return words;
        };
        let have = if chance.with_least == 1 { "has" } else { "have" };
        let rest = format!(
            " {} of them {have} the smallest p that {} can give, {}: with more ",
            number::count(chance.with_least),
            number::count_of(deals, "deal", "deals"),
            three_digits(chance.least)
        );
        words.text(rest).code("deals").text(" in the job some may be distinguished from chance.")
    }
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

/// What is to be known of a table with infinite scores; nothing of one without.
fn of_infinity<'a>(mut rows: impl Iterator<Item = &'a SubgroupRow>) -> Option<PageBlock> {
    let any = rows.any(|row| row.score.is_some_and(f64::is_infinite));
    let words = "\u{221e} ranks above every number, even if it is based on a single \
                 person. The number of people reached in the group that is better off is \
                 next to it.";
    any.then(|| PageBlock::Note(words.into()))
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
    PageTable { caption, head, rows: rows.collect(), prose: true }
}

/// The shown subgroups under one definition, best place first.
fn shown<'a>(
    audit: &'a AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
) -> Vec<&'a SubgroupRow> {
    let mut rows: Vec<&'a SubgroupRow> = audit
        .recourse
        .subgroups
        .iter()
        .filter(|row| row.pair == comparison.pair && row.criterion == way.row.criterion)
        .collect();
    rows.sort_by_key(|row| row.place);
    rows
}

/// The lines of a shown subgroup for one group.
fn lines<'a>(
    audit: &'a AuditFolder,
    subgroup: &SubgroupRow,
    comparison: &RecourseRow,
    side: i64,
) -> Vec<&'a ComparativeRow> {
    let mine = |row: &&ComparativeRow| {
        Some(row.place) == subgroup.place
            && row.side == side
            && row.criterion == subgroup.criterion
            && row.pair == comparison.pair
    };
    audit.recourse.comparatives.iter().filter(mine).collect()
}

/// The most unfair subgroups with all that they can do, both groups side by side, and their curves.
fn cards(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
    k: usize,
) -> Vec<PageBlock> {
    let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
    let rows = shown(audit, comparison, way);
    let told: Vec<&SubgroupRow> =
        rows.into_iter().take(audit.halvings.halved(CARDS).max(1)).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![PageBlock::Text(
        RichText::from("The most unfair subgroups by ").strong(way.title().to_lowercase()).text(
            format!(
                " ({}). Cells give the number of people whom the change would help.",
                way.compares()
            ),
        ),
    )];
    for subgroup in &told {
        blocks.push(PageBlock::Table(card(audit, comparison, way, subgroup)));
    }
    blocks.extend(of_infinity(told.iter().copied()));
    let (view, wanted) = (way.view(), way.target_share());
    let curves: Vec<SubgroupCurves<'_>> =
        told.iter().map(|subgroup| curves_of(audit, comparison, way, subgroup)).collect();
    let end = end_of(curves.iter());
    let drawings = curves
        .iter()
        .enumerate()
        .map(|(i, curves)| curves.drawing(end, format!("rc{k}-{i}")))
        .collect();
    let by = if view == "micro" { "some action" } else { "one action" };
    let caption = RichText::from(format!(
        "Share of the people of each subgroup whom {by} of at \
         most this cost helps. Line with dots: "
    ))
    .name(names[0])
    .text("; dashed with rings: ")
    .name(names[1])
    .text(if wanted.is_some() {
        "; level dashed line: the share that the definition asks for."
    } else {
        "."
    });
    blocks.push(PageBlock::Figure(PageFigure { drawings, caption, small: true }));
    blocks
}

/// How many people of a subgroup the ways up to each cost help.
fn curves_of<'a>(
    audit: &'a AuditFolder,
    comparison: &'a RecourseRow,
    way: &DefinitionView<'_>,
    subgroup: &SubgroupRow,
) -> SubgroupCurves<'a> {
    let own = audit
        .recourse
        .ecd
        .iter()
        .filter(|row| row.subgroup == subgroup.subgroup && row.pair == comparison.pair);
    let helped = |row: &EcdRow| match way.view() {
        "micro" => [row.micro_0, row.micro_1],
        _ => [row.macro_0, row.macro_1],
    };
    SubgroupCurves {
        place: subgroup.place.unwrap_or(0),
        names: [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str()),
        n: [subgroup.n_0, subgroup.n_1],
        steps: own.map(|row| (row.cost, helped(row))).collect(),
        target_share: way.target_share(),
    }
}

/// A subgroup in which the way to the favourable decision is harder for one group.
pub(crate) struct UnfairSubgroup<'a> {
    /// What its people share, codes by their names.
    pub(crate) traits: String,
    /// Who is helped by cost.
    pub(crate) curves: SubgroupCurves<'a>,
    /// The cost at which the group that is better off reaches what the definition asks for; none
    /// where it never does, or where the definition asks for no share.
    pub(crate) cost: Option<f64>,
}

/// The most unfair subgroups of a comparison, where people and chance allow a conclusion.
pub(crate) struct UnfairSubgroups<'a> {
    /// The block of the job.
    pub(crate) recourse: &'a str,
    /// The subgroups, worst first.
    pub(crate) subgroups: Vec<UnfairSubgroup<'a>>,
}

/// The most unfair subgroups of each comparison that allows a conclusion, at most so many of each.
pub(crate) fn unfair_subgroups(audit: &AuditFolder, most: usize) -> Vec<UnfairSubgroups<'_>> {
    let mut found = Vec::new();
    for comparison in audit.recourse.comparisons.iter().take(COMPARISONS_AT_MOST) {
        let of = comparison.undefined.is_empty().then(|| ComparisonOutcome::of(audit, comparison));
        let Some(outcome) = of.flatten() else { continue };
        if outcome.too_few() || outcome.none_beyond_chance() {
            continue;
        }
        let way = outcome.first;
        let one = |subgroup: &&SubgroupRow| {
            let costs = [subgroup.value_0, subgroup.value_1].into_iter().flatten();
            let least = costs.filter(|cost| cost.is_finite()).reduce(f64::min);
            UnfairSubgroup {
                traits: audit.manifest.with_code_names(&subgroup.traits),
                curves: curves_of(audit, comparison, &way, subgroup),
                cost: least.filter(|_| way.definition() == "equal-cost-of-effectiveness"),
            }
        };
        let rows = shown(audit, comparison, &way);
        let subgroups: Vec<_> = rows.iter().take(most).map(one).collect();
        if !subgroups.is_empty() {
            found.push(UnfairSubgroups { recourse: comparison.pair.recourse.as_str(), subgroups });
        }
    }
    found
}

/// One subgroup: its actions in rows, both groups in columns.
fn card(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
    subgroup: &SubgroupRow,
) -> PageTable {
    let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
    let n = [subgroup.n_0, subgroup.n_1];
    let heading = |g: usize| {
        let coverage = [subgroup.coverage_0, subgroup.coverage_1][g];
        RichText::new().name(names[g]).text(format!(
            ": {}, {} of all affected",
            number::people(n[g]),
            NumberFormat::Share.value(coverage)
        ))
    };
    // By cost, then by number: the order of the actions.
    let mut actions: BTreeMap<i64, (String, f64)> = BTreeMap::new();
    for side in [0, 1] {
        for line in lines(audit, subgroup, comparison, side) {
            if let Some(action) = line.action {
                actions.insert(
                    action,
                    (audit.manifest.with_code_names(&line.changes), line.cost.unwrap_or(0.0)),
                );
            }
        }
    }
    let mut rows = Vec::new();
    for (action, (changes, cost)) in &actions {
        let is = |row: &&ActionRow| {
            row.subgroup == subgroup.subgroup
                && row.action == *action
                && row.pair == comparison.pair
        };
        let found = audit.recourse.actions.iter().find(is);
        let cell = |g: usize| {
            let Some(row) = &found else { return "\u{2013}".into() };
            let own = [row.worked_0, row.worked_1][g];
            let mut small =
                vec![RichText::from(NumberFormat::Share.value(own as f64 / n[g].max(1) as f64))];
            if way.view() == "micro" {
                let all = [row.cumulative_0, row.cumulative_1][g];
                small.push(format!("{} with all that cost no more", number::count(all)).into());
            }
            PageCell {
                main: format!("{} of {}", number::count(own), number::count(n[g])).into(),
                small,
                ..PageCell::default()
            }
        };
        rows.push(ReportRow {
            id: String::new(),
            head: RichText::from("then ").strong(changes.as_str()),
            cells: vec![cell(0), cell(1), three_digits(*cost).into()],
        });
    }
    let against = subgroup.against.as_str();
    let result = |g: usize| {
        let mut cell = way.value(&audit.recourse, comparison, subgroup, g);
        if names[g] == against {
            cell.main = RichText::new().strong(cell.main.plain());
            cell.small.push("at a disadvantage".into());
        }
        cell
    };
    let (score, reached) = way.score(&audit.recourse, comparison, subgroup);
    let score = PageCell {
        main: format!("score {score}").into(),
        small: reached.into_iter().collect(),
        ..PageCell::default()
    };
    rows.push(ReportRow {
        id: String::new(),
        head: way.compares().into(),
        cells: vec![result(0), result(1), score],
    });
    let caption = format!(
        "{}. If {}",
        subgroup.place.unwrap_or(0),
        audit.manifest.with_code_names(&subgroup.traits)
    )
    .into();
    PageTable {
        caption,
        head: vec!["Change".into(), heading(0), heading(1), "Cost".into()],
        rows,
        prose: true,
    }
}

/// The most unfair subgroups of one definition.
fn listing(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
) -> Vec<PageBlock> {
    let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
    let mut rows = shown(audit, comparison, way);
    rows.truncate(audit.halvings.halved(ROWS).max(3));
    let by_chance = rows.iter().any(|row| row.p_value.is_some());
    let mut head: Vec<RichText> = vec![
        "If".into(),
        RichText::new().name(names[0]),
        RichText::new().name(names[1]),
        "Score".into(),
        "What helps".into(),
    ];
    head.extend(by_chance.then(|| "By chance".into()));
    let row = |subgroup: &SubgroupRow| {
        let mut cells =
            Vec::from([0, 1].map(|g| way.value(&audit.recourse, comparison, subgroup, g)));
        let against = subgroup.against.as_str();
        let (score, reached) = way.score(&audit.recourse, comparison, subgroup);
        let small =
            [RichText::new().text("against ").name(against)].into_iter().chain(reached).collect();
        cells.push(PageCell { main: score.into(), small, ..PageCell::default() });
        // What helps those who are better off.
        let better = usize::from(names[0] == against);
        cells.push(helps(audit, &lines(audit, subgroup, comparison, better as i64), names[better]));
        if by_chance {
            let main = subgroup
                .p_value
                .map_or_else(|| "\u{2013}".to_owned(), |p| format!("p {}", three_digits(p)));
            let false_ones = subgroup
                .false_discovery
                .map(|q| format!("false discoveries {}", NumberFormat::Share.value(q)).into());
            cells.push(PageCell {
                main: main.into(),
                small: false_ones.into_iter().collect(),
                ..PageCell::default()
            });
        }
        ReportRow {
            id: String::new(),
            head: format!(
                "{}. {}",
                subgroup.place.unwrap_or(0),
                audit.manifest.with_code_names(&subgroup.traits)
            )
            .into(),
            cells,
        }
    };
    let caption = format!(
        "{}: {}. {} of {} are unfair{}",
        way.title(),
        way.compares(),
        number::count(way.row.unfair),
        number::count_of(way.row.judged, "subgroup", "subgroups"),
        match rows.len() {
            0 => String::new(),
            1 => "; the first, overlapping ones merged".to_owned(),
            n => format!("; the first {n}, overlapping ones merged"),
        },
    );
    let table = PageTable {
        caption: caption.into(),
        head,
        rows: rows.iter().copied().map(row).collect(),
        prose: true,
    };
    [PageBlock::Table(table)].into_iter().chain(of_infinity(rows.iter().copied())).collect()
}

/// The action that helps a group most of those listed, of equals the cheapest.
fn helps(audit: &AuditFolder, lines: &[&ComparativeRow], group: &str) -> PageCell {
    let best = lines
        .iter()
        .filter(|line| line.own.is_some_and(|own| own > 0))
        .rev()
        .max_by_key(|line| line.own);
    let Some(best) = best else { return "\u{2013}".into() };
    let small = RichText::new().name(group).text(format!(
        ": {} of {}, cost {}",
        number::count(best.own.unwrap_or(0)),
        number::count(best.n),
        three_digits(best.cost.unwrap_or(0.0))
    ));
    let changes = audit.manifest.with_code_names(&best.changes);
    PageCell { main: changes.into(), small: vec![small], ..PageCell::default() }
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
    let table = PageTable { caption: caption.into(), head, rows: rows.collect(), prose: false };
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
        PageBlock::Table(PageTable { caption, head, rows, prose: true }),
        PageBlock::Text(still.text(".")),
    ]
}
