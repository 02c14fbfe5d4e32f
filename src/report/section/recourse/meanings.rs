//! What the words of the section mean; only of those that it uses.

use crate::report::page::PageBlock;
use crate::report::page::words::RichText;
use crate::report::read::recourse::RecourseTables;
use crate::report::section::recourse::views::{FEW, definition_views};

/// The words with their meanings, to be opened.
pub(crate) fn meanings(tables: &RecourseTables) -> PageBlock {
    let ways: Vec<_> = tables
        .comparisons
        .iter()
        .flat_map(|comparison| definition_views(tables, comparison))
        .collect();
    let any = |definitions: &[&str]| ways.iter().any(|way| definitions.contains(&way.definition()));
    let by_chance = tables.subgroups.iter().any(|row| row.p_value.is_some());
    let few = format!(
        "Fewer than {FEW} people of a group in a subgroup: then one person more or less changes \
         the shares by more than a tenth."
    );
    let all: [(bool, &str, &str); 12] = [
        (true, "Affected", "With the unfavourable decision."),
        (
            true,
            "Subgroup",
            "All affected people of both groups who share the traits behind \u{201c}If\u{201d}. \
             One person is in many subgroups.",
        ),
        (
            true,
            "Action",
            "What stands behind \u{201c}then\u{201d}: new levels of some of these traits. It \
             counts where enough people with the favourable decision have the levels that it leads \
             to.",
        ),
        (
            true,
            "Cost",
            "The sum over all changes of an action, in the units of the job; the last table says \
             what each costs.",
        ),
        (
            any(&["equal-choice", "equal-cost-of-effectiveness"]),
            "A share of the group",
            "Of the people of that group in the subgroup. \u{201c}None helps 70\u{202f}%\u{201d}: \
             no action, at whatever cost, reaches that share, though it may reach some people.",
        ),
        (
            true,
            "Macro, micro, both views",
            "Macro: one action for all people of a subgroup. Micro: each person the cheapest \
             action that helps them. In both views: the two give the same values in every \
             subgroup, and count as one way to judge.",
        ),
        (
            any(&["equal-effectiveness-within-budget"]),
            "Budget",
            "The most that an action may cost: as the job says, or by percentiles of the costs at \
             which half of a group in a subgroup are helped.",
        ),
        (
            true,
            "Score, fair",
            "The difference of the values of the two groups. 0 is fair, also where nobody of \
             either group can be helped.",
        ),
        (
            any(&["equal-cost-of-effectiveness", "equal-conditional-mean-recourse"]),
            "\u{221e}",
            "One group reaches what the other does not reach, whatever it costs. It is larger than \
             every number, however few people it rests on.",
        ),
        (
            true,
            "Most unfair tenth",
            "The unfair subgroups in the order of their scores, cut after a tenth. Where many have \
             the score at the cut, the order of the table alone decides which of them are inside.",
        ),
        (true, "Few", &few),
        (
            by_chance,
            "p, false discoveries",
            "p: how often a score of at least this size comes up where people are dealt out to the \
             two groups by chance. It is at least 1 over one more than the deals, so few deals \
             find little among many subgroups. False discoveries: if this subgroup and all with a \
             smaller p are called unfair, the share of them that chance is expected to make at \
             most (Benjamini and Hochberg). That bound is proven for independent and for \
             positively dependent tests; that subgroups with the same people are positively \
             dependent is an assumption.",
        ),
    ];
    let used = all
        .into_iter()
        .filter(|(used, ..)| *used)
        .map(|(_, word, meaning)| (RichText::from(word), RichText::from(meaning)))
        .collect();
    PageBlock::Fold("What the words mean", vec![PageBlock::Facts(used)])
}
