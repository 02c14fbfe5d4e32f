//! Pairs of groups to compare, and the affected and unaffected rows of each pair.
//!
//! More than two declared groups make one comparison per pair, each with its own search.
//! AIF360 intersects the itemsets of all groups at once and takes the largest minus the smallest
//! value; it then refuses the Kolmogorov-Smirnov definition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recourse::AuditedRows;

/// Position of the group that is compared with the reference: group 0 of all tables.
pub const OTHER: usize = 0;

/// Position of the reference: group 1 of all tables.
pub const REFERENCE: usize = 1;

/// A pair of groups; each may be several declared groups taken together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPair {
    /// The names of the two.
    pub names: [String; 2],
    /// The declared groups that make up each of the two.
    pub members: [Vec<u16>; 2],
}

/// What the groups are compared with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonBase {
    /// Every other group with the reference.
    #[default]
    Reference,
    /// Every group with all others together, the reference included.
    Rest,
}

/// The pairs to compare, in declared order; two groups always give one pair.
pub fn pairs(names: &[String], reference: u16, against: ComparisonBase) -> Vec<GroupPair> {
    let all = || (0..).zip(names);
    let with = |other: u16, name: &str, reference: Vec<u16>, called: &str| GroupPair {
        names: [name.to_owned(), called.to_owned()],
        members: [vec![other], reference],
    };
    if against == ComparisonBase::Reference || names.len() <= 2 {
        let Some((_, called)) = all().find(|(group, _)| *group == reference) else {
            return Vec::new();
        };
        return all()
            .filter(|(group, _)| *group != reference)
            .map(|(group, name)| with(group, name, vec![reference], called))
            .collect();
    }
    let rest = |group: u16| all().map(|(other, _)| other).filter(|other| *other != group).collect();
    all().map(|(group, name)| with(group, name, rest(group), &format!("not {name}"))).collect()
}

/// The rows of one comparison.
///
/// Bit `i` of a set of affected rows is `affected[i]`; the rows of group 1 start at a new word.
#[derive(Debug, Clone)]
pub struct PairPopulation {
    /// The names of the two groups.
    pub names: [String; 2],
    /// Number of affected people of each group, the paper's N of D_g.
    pub n: [u32; 2],
    /// Audited row of each bit; `None` for the unused bits between the groups.
    pub(super) affected: Vec<Option<u32>>,
    /// Number of words before group 1.
    pub(super) border: usize,
    /// Audited rows with the favourable decision and any declared group.
    pub(super) unaffected: Vec<u32>,
}

impl PairPopulation {
    /// Finds the affected and unaffected rows.
    pub fn new(audited: &AuditedRows, pair: &GroupPair) -> PairPopulation {
        let rows = |favourable: bool, of: &dyn Fn(u16) -> bool| -> Vec<u32> {
            let rows = audited.groups.iter().zip(&audited.favourable).zip(0..);
            rows.filter(|((group, own), _)| **own == favourable && group.is_some_and(of))
                .map(|(_, row)| row)
                .collect()
        };
        let of_group = |g: usize| -> Vec<Option<u32>> {
            let members = |group: u16| pair.members[g].contains(&group);
            rows(false, &members).into_iter().map(Some).collect()
        };
        let (mut affected, reference) = (of_group(OTHER), of_group(REFERENCE));
        let n = [affected.len() as u32, reference.len() as u32];
        let border = affected.len().div_ceil(64);
        affected.resize(border * 64, None);
        affected.extend(reference);
        let unaffected = rows(true, &|_| true);
        PairPopulation { names: pair.names.clone(), n, affected, border, unaffected }
    }

    /// Number of words of a set of affected rows.
    pub(super) fn words(&self) -> usize {
        self.affected.len().div_ceil(64)
    }

    /// Number of people with the favourable decision.
    pub fn unaffected(&self) -> usize {
        self.unaffected.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{ComparisonBase, PairPopulation, pairs};
    use crate::recourse::AuditedRows;

    fn names() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    #[test]
    fn pairs_take_the_reference_or_the_rest() {
        let made = pairs(&names(), 1, ComparisonBase::Reference);
        assert_eq!(made.iter().map(|p| p.names.join(" ")).collect::<Vec<_>>(), ["a b", "c b"]);
        let made = pairs(&names(), 1, ComparisonBase::Rest);
        assert_eq!(
            made.iter().map(|p| p.names.join(" ")).collect::<Vec<_>>(),
            ["a not a", "b not b", "c not c"]
        );
        assert_eq!(made[1].members, [vec![1], vec![0, 2]]);
        assert_eq!(
            pairs(&names()[..2], 0, ComparisonBase::Rest),
            pairs(&names()[..2], 0, ComparisonBase::Reference)
        );
    }

    #[test]
    fn rows_are_sorted_out_by_decision_and_group() {
        let audited = AuditedRows {
            features: Vec::new(),
            groups: vec![Some(0), Some(1), None, Some(2), Some(1), Some(0)],
            favourable: vec![false, false, false, true, true, false],
        };
        let pair = &pairs(&names(), 1, ComparisonBase::Reference)[0];
        let rows = PairPopulation::new(&audited, pair);
        assert_eq!((rows.n, rows.border, rows.words()), ([2, 1], 1, 2));
        assert_eq!(
            (rows.affected[1], rows.affected[2], rows.affected[64]),
            (Some(5), None, Some(1))
        );
        assert_eq!(rows.unaffected, [3, 4], "of any declared group");
        let empty = &pairs(&names(), 1, ComparisonBase::Reference)[1];
        assert_eq!(PairPopulation::new(&audited, empty).n, [0, 1]);
    }
}
