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
        "Fewer than {FEW} people of a group in a subgroup: one person more or less then changes \
         the shares by more than a tenth."
    );
    let all: [(bool, &str, &str); 12] = [
        (true, "Affected", "With the unfavourable decision."),
        (
            true,
            "Subgroup",
            "All affected people of both groups who share the traits after \u{201c}If\u{201d}. One \
             person can be in many subgroups.",
        ),
        (
            true,
            "Action",
            "The part after \u{201c}then\u{201d}: new levels of some of these traits. It \
             counts if enough people with the favourable decision have the levels that it leads \
             to.",
        ),
        (
            true,
            "Cost",
            "The sum over all changes of an action, in the units of the job; the last table gives \
             the cost of each.",
        ),
        (
            any(&["equal-choice", "equal-cost-of-effectiveness"]),
            "A share of the group",
            "Of the people of that group in the subgroup. \u{201c}None helps 70\u{202f}%\u{201d}: \
             no action, at any cost, reaches that share, although it may reach some people.",
        ),
        (
            true,
            "Macro, micro, both views",
            "Macro: the same action for all people of a subgroup. Micro: for each person \
             the cheapest action that helps. In both views: the two give the same values \
             in every subgroup, and count as one view.",
        ),
        (
            any(&["equal-effectiveness-within-budget"]),
            "Budget",
            "The maximum cost of an action: given in the job, or as percentiles of the costs at \
             which half of a group in a subgroup are helped.",
        ),
        (
            true,
            "Score, fair",
            "The difference of the values of the two groups. 0 is fair, also if nobody in \
             either group can be helped.",
        ),
        (
            any(&["equal-cost-of-effectiveness", "equal-conditional-mean-recourse"]),
            "\u{221e}",
            "One group reaches the target and the other does not, at any cost. It ranks above \
             every number, even if it is based on few people.",
        ),
        (
            true,
            "Most unfair tenth",
            "The tenth of the unfair subgroups with the highest scores. If many have the score \
             at the cut, only the order of the table decides which of them are included.",
        ),
        (true, "Few", &few),
        (
            by_chance,
            "p, false discoveries",
            "p: how often a score of at least this size occurs if people are assigned to the two \
             groups at random. With n permutations (`deals`) it is at least 1 / (n + 1), so few \
             permutations find little among many subgroups. False discoveries: if this subgroup \
             and all with a smaller p are called unfair, an upper bound of the expected share of \
             false ones among them (Benjamini and Hochberg). That bound is proven for independent \
             and for positively dependent tests; that subgroups with the same people are \
             positively dependent is an assumption.",
        ),
    ];
    let used = all
        .into_iter()
        .filter(|(used, ..)| *used)
        .map(|(_, word, meaning)| (RichText::from(word), RichText::from(meaning)))
        .collect();
    PageBlock::Fold("Definitions", vec![PageBlock::Facts(used)])
}
