//! What the sections of brief and evidence are made of.

use crate::report::brief::harm::HarmResult;
use crate::report::brief::limits::AuditLimit;
use crate::report::brief::shares::ModelShares;
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
