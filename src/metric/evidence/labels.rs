//! Are labels missing by chance? For example, a lender knows only whether granted loans were
//! repaid: then metrics that need a label cover only some people.
//!
//! Shares of missing labels are compared between each two groups (people with a group) and between
//! the two decisions (people with a group and a score). Every person counts once, regardless of
//! weights. Labels are *selective* if for any of these pairs Newcombe's 95 % interval of the
//! difference leaves out 0 and the difference is one point or more, compared in whole numbers:
//! 0.11 - 0.10 is below 0.01 in doubles.

use std::collections::BTreeMap;

use super::counts::FactualCounts;
use crate::metric::interval::{newcombe, z_of_level};
use crate::metric::rate::Rate;
use crate::param::Level;
use crate::text;

/// Flag: the value needs labels, and labels are missing for some people more often than for others.
pub(crate) const SELECTIVE_LABELS: &str = "selective_labels";

/// The share of people without a label, by group and by decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingLabels {
    /// By group, in reference order.
    pub groups: Vec<Rate>,
    /// For people predicted negative, then for people predicted positive.
    pub decisions: [Rate; 2],
}

impl MissingLabels {
    /// The shares of missing labels in these counts.
    pub(crate) fn from_counts(counts: &FactualCounts) -> Self {
        let mut decisions = [(0, 0); 2];
        for group in &counts.groups {
            let confusion = group.confusion();
            for (i, (missing, n)) in decisions.iter_mut().enumerate() {
                *missing += confusion.unlabelled[i];
                *n += confusion.predicted_as(i == 1);
            }
        }
        MissingLabels {
            groups: counts
                .groups
                .iter()
                .map(|group| Rate::of(group.n_missing_label(), group.n()))
                .collect(),
            decisions: decisions.map(|(missing, n)| Rate::of(missing, n)),
        }
    }

    /// Whether some people lack labels more often than others.
    pub(crate) fn are_selective(&self) -> bool {
        self.widest_groups().is_some() || self.decisions_differ()
    }

    /// Of the pairs of groups that differ, the pair with the largest difference; first the group
    /// that lacks more labels.
    pub(crate) fn widest_groups(&self) -> Option<[usize; 2]> {
        widest_apart(&self.groups)
    }

    /// Whether the two decisions differ.
    pub(crate) fn decisions_differ(&self) -> bool {
        shares_differ(self.decisions[0], self.decisions[1])
    }
}

/// Of the pairs of shares that differ, the pair with the largest difference; first the larger
/// share.
pub(crate) fn widest_apart(shares: &[Rate]) -> Option<[usize; 2]> {
    let mut widest = None::<(f64, [usize; 2])>;
    for (a, x) in shares.iter().enumerate() {
        for (b, y) in shares.iter().enumerate().skip(a + 1).filter(|(_, y)| shares_differ(*x, **y))
        {
            let (Ok(p), Ok(q)) = (x.value(), y.value()) else { continue };
            if widest.is_none_or(|(apart, _)| (p - q).abs() > apart) {
                widest = Some(((p - q).abs(), if p > q { [a, b] } else { [b, a] }));
            }
        }
    }
    widest.map(|(_, shares)| shares)
}

/// Whether two shares differ by one point or more, and not by chance.
pub(crate) fn shares_differ(a: Rate, b: Rate) -> bool {
    let cross = |x: Rate, y: Rate| u128::from(x.numerator) * u128::from(y.denominator);
    let difference = cross(a, b).abs_diff(cross(b, a));
    let denominator = u128::from(a.denominator) * u128::from(b.denominator);
    let interval = newcombe(a, b, z_of_level(Level::DEFAULT.get()));
    difference.saturating_mul(100) >= denominator
        && interval.is_some_and(|interval| interval.lo > 0.0 || interval.hi < 0.0)
}

/// The group with the lowest share of favourable labels or decisions.
pub(crate) struct LowestShare {
    /// The group; the first of several.
    pub(crate) group: String,
    /// The reason for the choice, with the lowest and the highest share.
    pub(crate) why: String,
    /// Whether all groups have the same share.
    pub(crate) is_shared: bool,
}

impl LowestShare {
    /// The lowest share, if any share is known; `subject` names what the shares count, such as
    /// `labels`.
    pub(crate) fn of(shares: &[FavourableShare], subject: &str) -> Option<LowestShare> {
        let low = shares.iter().min_by(|a, b| a.share.total_cmp(&b.share))?;
        let high = shares.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        let words = |s: &FavourableShare| format!("`{}` {:.1} %", s.group, s.share * 100.0);
        let facts = BTreeMap::from([
            ("of", subject.to_owned()),
            ("low", words(low)),
            ("high", words(high)),
        ]);
        let why = text::filled(include_str!("lowest_share.txt"), &facts);
        Some(LowestShare { group: low.group.clone(), why, is_shared: low.share >= high.share })
    }
}

/// The share of favourable labels or decisions of a group, among the people who have one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FavourableShare {
    /// The group.
    pub(crate) group: String,
    /// The share, from 0 to 1, weighted if people have weights.
    pub(crate) share: f64,
    /// The people behind the share, each counted once.
    pub(crate) people: Rate,
}

impl FavourableShare {
    /// The share of people without weights.
    pub(crate) fn of_people(group: String, favourable: u64, n: u64) -> Self {
        let share = favourable as f64 / n.max(1) as f64;
        FavourableShare { group, share, people: Rate::of(favourable, n) }
    }
}

/// The groups of an attribute that have people with a label or a decision.
pub(crate) type GroupShares = Vec<FavourableShare>;

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair with the largest difference is found at any position.
    #[test]
    fn the_widest_pair_names_the_larger_share_first() {
        let widest = |missing: [u64; 3]| widest_apart(&missing.map(|n| Rate::of(n, 1000)));
        assert_eq!(widest([100, 300, 500]), Some([2, 0]));
        assert_eq!(widest([500, 100, 300]), Some([0, 1]));
        assert_eq!(widest([300, 500, 100]), Some([1, 2]));
        assert_eq!(widest([300, 300, 301]), None);
    }

    #[test]
    fn the_lowest_share_is_named_with_the_highest() {
        let lowest = |granted: [u64; 2]| {
            let share = |(group, n): (&str, u64)| FavourableShare::of_people(group.into(), n, 10);
            let shares: Vec<_> = ["a", "b"].into_iter().zip(granted).map(share).collect();
            let found = LowestShare::of(&shares, "labels").unwrap();
            (found.group, found.is_shared, found.why)
        };
        let why = "the group with the lowest share of favourable labels (`b` 50.0 %, `a` 70.0 %)";
        assert_eq!(lowest([7, 5]), ("b".to_owned(), false, why.to_owned()));
        let (first, is_shared, _) = lowest([5, 5]);
        assert_eq!((first.as_str(), is_shared), ("a", true));
        assert!(LowestShare::of(&[], "labels").is_none());
    }
}
