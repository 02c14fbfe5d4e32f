//! What the sections of brief and evidence are made of, and how they lead into the annex.

use crate::report::brief::harm::HarmResult;
use crate::report::brief::limits::AuditLimit;
use crate::report::brief::shares::ModelShares;
use crate::report::brief::voice::AuditVoice;
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;

/// The name of the annex, next to the page.
pub(crate) const ANNEX: &str = "annex.html";

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

impl BriefInputs<'_> {
    /// The address of a row of the annex; empty where there is no annex.
    pub(crate) fn href(&self, anchor: &str) -> String {
        if self.annex { format!("{ANNEX}#{anchor}") } else { String::new() }
    }

    /// A link into the annex, or only its words.
    pub(crate) fn link(&self, words: RichText, text: &str, anchor: &str) -> RichText {
        if self.annex {
            words.link_out(text, format!("{ANNEX}#{anchor}"))
        } else {
            words.text(text)
        }
    }
}
