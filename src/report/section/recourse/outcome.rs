//! What a comparison of two groups comes to, in words: whom the model puts at a disadvantage, for
//! how many people, and whether chance explains it.

use crate::report::brief::voice::AuditVoice;
use crate::report::page::number::{self, NumberFormat, three_digits};
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::recourse::{ChanceTests, FALSE_DISCOVERIES, SizeCounts};
use crate::report::section::recourse::views::{DefinitionView, FEW, definition_views};
use crate::table::recourse::RecourseRow;

/// Why two groups were not compared.
pub(super) fn why_not(comparison: &RecourseRow) -> Option<String> {
    match comparison.undefined.as_str() {
        "" if comparison.subgroups == 0 => Some(format!(
            "no subgroup has {} affected people of one group and {} of the other",
            number::count(comparison.least_0),
            number::count(comparison.least_1)
        )),
        "" if comparison.subgroups_with_actions == 0 => Some(format!(
            "none of the {} that are large enough has an allowed action whose levels {} with the \
             favourable decision have",
            number::count_of(comparison.subgroups, "subgroup", "subgroups"),
            number::people(comparison.least_unaffected)
        )),
        "" => None,
        "no_unaffected_rows" => {
            Some("nobody has the favourable decision, so there is no action to try".to_owned())
        }
        _ => Some("nobody of one of the two groups has the unfavourable decision".to_owned()),
    }
}

/// How the two groups of a comparison are called: by their values, or in the job's words.
pub(super) enum GroupNaming<'a> {
    /// `group Female`.
    Raw,
    /// `women`; with the attribute.
    Told(&'a AuditVoice<'a>, &'a str),
}

impl GroupNaming<'_> {
    pub(super) fn group(&self, name: &str) -> RichText {
        match self {
            GroupNaming::Raw => RichText::from("group ").name(name),
            GroupNaming::Told(voice, attribute) => {
                RichText::new().quote(voice.people(attribute, name))
            }
        }
    }

    /// So many of a group; of a comparison of persons, next to sections that count rows, they are
    /// called so.
    pub(super) fn people(&self, comparison: &RecourseRow, n: i64, name: &str) -> RichText {
        match self {
            GroupNaming::Raw => {
                let people = match comparison.persons {
                    Some(_) => number::count_of(n, "person", "persons"),
                    None => number::people(n),
                };
                RichText::from(format!("{people} of ")).and(self.group(name))
            }
            GroupNaming::Told(..) => {
                RichText::from(format!("{} ", number::count(n))).and(self.group(name))
            }
        }
    }
}

/// What a comparison comes to.
pub(super) struct ComparisonOutcome<'a> {
    pub(super) comparison: &'a RecourseRow,
    pub(super) views: Vec<DefinitionView<'a>>,
    /// The view that is shown first.
    pub(super) first: DefinitionView<'a>,
    /// How large the smaller group of its unfair subgroups is.
    pub(super) smaller: SizeCounts,
    /// How they stand against chance; none where the job asks for no test.
    pub(super) chance: Option<ChanceTests>,
    /// Views whose test tells an unfair subgroup from chance.
    views_beyond: usize,
}

impl<'a> ComparisonOutcome<'a> {
    /// None where no subgroup was judged.
    pub(super) fn of(
        audit: &'a AuditFolder,
        comparison: &'a RecourseRow,
    ) -> Option<ComparisonOutcome<'a>> {
        let ways = definition_views(&audit.recourse, comparison);
        let share = |way: &DefinitionView<'_>| way.target_share().unwrap_or(0.0);
        let of_cost = ways.iter().filter(|way| way.definition() == "equal-cost-of-effectiveness");
        let best = of_cost
            .max_by(|a, b| share(a).total_cmp(&share(b)).then_with(|| b.view().cmp(a.view())));
        let first = *best.or_else(|| ways.iter().max_by_key(|way| way.row.unfair))?;
        let smaller = audit.recourse.smaller(comparison, &first.row.criterion);
        let chance = audit.recourse.chance(comparison, &first.row.criterion);
        let tests =
            ways.iter().filter_map(|way| audit.recourse.chance(comparison, &way.row.criterion));
        let views_beyond = tests.filter(|chance| chance.beyond > 0).count();
        Some(ComparisonOutcome { comparison, views: ways, first, smaller, chance, views_beyond })
    }

    pub(super) fn names(&self) -> [&'a str; 2] {
        [&self.comparison.pair.group_0, &self.comparison.pair.group_1].map(|group| group.as_str())
    }
    /// Whether the unfair subgroups are mostly made of a few people; where there are none, whether
    /// a group is.
    pub(super) fn too_few(&self) -> bool {
        let affected = [self.comparison.affected_0, self.comparison.affected_1];
        self.smaller.median().unwrap_or(affected[0].min(affected[1]) as f64) < FEW as f64
    }

    /// Whether the test of no view tells an unfair subgroup from chance.
    pub(super) fn nothing_beyond_chance(&self) -> bool {
        self.none_beyond_chance() && self.views_beyond == 0
    }

    /// Whether the test of the view shown first tells none of its unfair subgroups from chance,
    /// which does not say that chance made them.
    pub(super) fn none_beyond_chance(&self) -> bool {
        self.chance.is_some_and(|chance| chance.beyond == 0)
    }

    /// For whom it is harder, by the view shown first and by the others, and how many people that
    /// depends on.
    pub(super) fn in_words(&self, naming: &GroupNaming<'_>) -> RichText {
        self.answer(naming).text(" ").and(self.people(naming))
    }

    /// For whom it is harder, by the view shown first and by the others.
    pub(super) fn answer(&self, naming: &GroupNaming<'_>) -> RichText {
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
            .text(".")
    }

    /// What all ways say together; nothing where there is one.
    pub(super) fn by_all_views(&self, naming: &GroupNaming<'_>) -> RichText {
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
    pub(super) fn people(&self, naming: &GroupNaming<'_>) -> RichText {
        let [a, b] = self.names();
        let [n, m] = [self.comparison.affected_0, self.comparison.affected_1];
        let words = naming
            .people(self.comparison, n, a)
            .text(" and ")
            .and(naming.people(self.comparison, m, b))
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
    pub(super) fn against_chance(&self) -> RichText {
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
        let words = match self.views_beyond {
            n if chance.beyond > 0 || n == 0 => words,
            n => words
                .text(format!(" By {n} of {} views some differences can be.", self.views.len())),
        };
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
