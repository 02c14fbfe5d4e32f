//! Issues: problems in the data that did not stop the run, with their severity.

/// A kind of problem in the data that did not stop the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataIssue {
    /// The code, a word of a closed list.
    pub code: &'static str,
    /// Its severity.
    pub severity: IssueSeverity,
    /// The column or attribute.
    pub place: String,
    /// Number of occurrences.
    pub n: u64,
    /// The problem in words.
    pub text: String,
}

impl DataIssue {
    /// One that may change the meaning of the results.
    pub(crate) fn warning(code: &'static str, place: &str, n: u64, text: String) -> Self {
        DataIssue { code, severity: IssueSeverity::Warning, place: place.to_owned(), n, text }
    }

    /// One that is worth knowing.
    pub(crate) fn info(code: &'static str, place: &str, n: u64, text: String) -> Self {
        DataIssue { severity: IssueSeverity::Info, ..DataIssue::warning(code, place, n, text) }
    }
}

/// The code of the issue that a feature has missing values.
pub(crate) const MISSING_VALUES: &str = "missing-values";

/// The severity of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueSeverity {
    /// Worth knowing.
    Info,
    /// It may change the meaning of the results.
    Warning,
}

impl IssueSeverity {
    /// Its word in the table of issues.
    pub fn as_str(self) -> &'static str {
        match self {
            IssueSeverity::Info => "info",
            IssueSeverity::Warning => "warning",
        }
    }
}
