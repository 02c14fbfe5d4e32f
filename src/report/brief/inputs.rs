//! The inputs from which the sections of brief and evidence are made.

use crate::report::brief::harm::HarmResult;
use crate::report::brief::limits::AuditLimit;
use crate::report::brief::shares::{ClearGap, ModelShares};
use crate::report::brief::voice::AuditVoice;
use crate::report::read::audit::AuditFolder;

/// What the sections of the page are made of.
pub(crate) struct BriefInputs<'a> {
    /// The audit.
    pub(crate) audit: &'a AuditFolder,
    /// Its words.
    pub(crate) voice: &'a AuditVoice<'a>,
    /// Who would be decided otherwise.
    pub(crate) results: &'a [HarmResult],
    /// Groups as they are.
    pub(crate) shares: &'a [ModelShares],
    /// The limits, worst first.
    pub(crate) limits: &'a [AuditLimit],
    /// Whether there is an annex to lead to.
    pub(crate) annex: bool,
}

impl<'a> BriefInputs<'a> {
    /// Pairs of groups of which one may get the favourable decision less often.
    pub(crate) fn n_gaps(&self) -> usize {
        self.shares.iter().map(ModelShares::n_pairs).sum()
    }

    /// Among the gaps, of one attribute or of all, that are clear as the largest of several, the
    /// one that harms most people; of equals the first.
    pub(crate) fn worst_gap(
        &self,
        attribute: Option<&str>,
        compared: usize,
    ) -> Option<(&'a ModelShares, ClearGap<'a>)> {
        let is_asked = |of: &&ModelShares| attribute.is_none_or(|name| of.attribute.name == name);
        let clear = self.shares.iter().filter(is_asked).filter_map(|shares| {
            let gap = shares.clear_gap(self.audit).filter(|gap| gap.is_clear_of(compared))?;
            Some((shares, gap))
        });
        clear.reduce(|worst, next| if next.1.harmed > worst.1.harmed { next } else { worst })
    }
}
