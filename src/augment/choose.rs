//! Which counterfactuals of the training rows an arm takes: all, switched, a fraction of matches,
//! or the farthest from the training rows.
//!
//! Choice: a fraction f of the m matches of a rule is its floor(f m + 0.5 + 1e-9) matches with the
//! smallest `h(seed, row key, position of the target group)`; the selection is the union over
//! rules. It depends on neither the threads nor the order of the rows. Equal hashes are ordered by
//! row key, target group, attribute, number of the counterfactual.
//! Cost: a rule holds 32 bytes per match.

use std::collections::BTreeSet;

use crate::num::seed::h;

/// A counterfactual of a training row, with what rules test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CounterfactualCandidate {
    /// The key of its row.
    pub row_key: u64,
    /// Position of the attribute that was changed.
    pub attribute: usize,
    /// Position of the group of its row.
    pub from: u16,
    /// Position of the group of the counterfactual.
    pub to: u16,
    /// The number among the counterfactuals of the row and group.
    pub cf_index: u16,
    /// The label of its row.
    pub label: bool,
    /// The base model's prediction for the row; `None` where it was not requested or has no score.
    pub predicted: Option<bool>,
    /// The base model's prediction for the counterfactual; `None` as above.
    pub predicted_cf: Option<bool>,
}

/// What identifies a counterfactual of the training rows: row key, target group, attribute, number.
pub(crate) type CandidateKey = (u64, u16, usize, u16);

impl CounterfactualCandidate {
    /// What identifies it.
    pub(crate) fn key(&self) -> CandidateKey {
        (self.row_key, self.to, self.attribute, self.cf_index)
    }

    /// Whether the base model's decision differs from that for its row; false without a score.
    pub(crate) fn switches(&self) -> bool {
        matches!((self.predicted, self.predicted_cf),
            (Some(before), Some(after)) if before != after)
    }
}

/// A selection rule: the conditions that it names must all hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SelectionRule {
    /// Position of the attribute that is changed.
    pub attribute: Option<usize>,
    /// Position of the group of the row.
    pub from: Option<u16>,
    /// Position of the group of the counterfactual.
    pub to: Option<u16>,
    /// The label.
    pub label: Option<bool>,
    /// The base model's prediction for the row.
    pub predicted: Option<bool>,
    /// The base model's prediction for the counterfactual.
    pub predicted_cf: Option<bool>,
}

impl SelectionRule {
    /// Whether a counterfactual satisfies all conditions.
    pub(crate) fn matches(&self, candidate: &CounterfactualCandidate) -> bool {
        fn is<T: PartialEq>(wanted: Option<T>, found: Option<T>) -> bool {
            wanted.is_none() || wanted == found
        }
        is(self.attribute, Some(candidate.attribute))
            && is(self.from, Some(candidate.from))
            && is(self.to, Some(candidate.to))
            && is(self.label, Some(candidate.label))
            && is(self.predicted, candidate.predicted)
            && is(self.predicted_cf, candidate.predicted_cf)
    }
}

/// The sort key of a counterfactual among the matches of a rule.
type SelectionKey = (u64, CandidateKey);

/// A fraction of `n`, rounded to the nearest whole number.
pub(crate) fn share_of(fraction: f64, n: usize) -> usize {
    // Numbers of counterfactuals are far below 2^53, so they are exact as floats.
    ((fraction * n as f64 + 0.5 + 1e-9).floor() as usize).min(n)
}

/// The matches of every rule; add candidates and merge in any order.
#[derive(Debug, Clone)]
pub(crate) struct RuleMatches<'r> {
    rules: &'r [SelectionRule],
    seed: u64,
    keys: Vec<Vec<SelectionKey>>,
}

impl<'r> RuleMatches<'r> {
    /// No matches.
    pub(crate) fn new(rules: &'r [SelectionRule], seed: u64) -> Self {
        RuleMatches { rules, seed, keys: vec![Vec::new(); rules.len()] }
    }

    /// Adds a candidate to the matches of each rule that it satisfies.
    pub(crate) fn add(&mut self, candidate: &CounterfactualCandidate) {
        let hash = h(self.seed, candidate.row_key, u64::from(candidate.to));
        for (rule, keys) in self.rules.iter().zip(&mut self.keys) {
            if rule.matches(candidate) {
                keys.push((hash, candidate.key()));
            }
        }
    }

    /// Adds the matches among other candidates.
    pub(crate) fn merge(&mut self, other: Self) {
        self.keys.iter_mut().zip(other.keys).for_each(|(mine, theirs)| mine.extend(theirs));
    }

    /// Number of matches of each rule.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.keys.iter().map(|keys| keys.len() as u64).collect()
    }

    /// This fraction of the matches of each rule.
    pub(crate) fn draw(self, fraction: f64) -> BTreeSet<CandidateKey> {
        let drawn = |mut keys: Vec<SelectionKey>| {
            let n = share_of(fraction, keys.len());
            if n < keys.len() {
                keys.select_nth_unstable(n);
            }
            keys.truncate(n);
            keys
        };
        self.keys.into_iter().flat_map(drawn).map(|(_, key)| key).collect()
    }
}

/// Which counterfactuals an arm takes.
#[derive(Debug, Clone)]
pub(crate) enum CounterfactualSelection {
    /// Every valid one.
    All,
    /// Counterfactuals that switch.
    Switched,
    /// These: drawn, or farthest from the training rows.
    Chosen(BTreeSet<CandidateKey>),
}

impl CounterfactualSelection {
    /// Whether a candidate is taken.
    pub(crate) fn contains(&self, candidate: &CounterfactualCandidate) -> bool {
        match self {
            CounterfactualSelection::All => true,
            CounterfactualSelection::Switched => candidate.switches(),
            CounterfactualSelection::Chosen(keys) => keys.contains(&candidate.key()),
        }
    }
}
