//! Builds the two pages of an audit only from an output folder; needs no data, model or job.
//!
//! `report.html` is the page that people read and sign: the brief, which prints on two pages, and
//! the evidence. `annex.html` holds everything else: gates, all results, against the
//! last version, who switches, scores, how sure the causal graphs are, how plausible the other
//! worlds are, groups, slices, models, augmentation, recourse, what was excluded, method,
//! provenance. A section that has nothing to show is absent, and the headings are numbered by what
//! is there; "what was excluded" is never absent. A run that waits for scores has measured nothing:
//! its pages say what is awaited.
//!
//! Words: a *panel* is all that the annex shows of one attribute, counterfactual set and model; a
//! *direction* is an ordered pair of groups (factual to counterfactual); the *favourable* side of a
//! decision is the one the job names.
//!
//! [`read::audit`] reads the folder; [`brief`] and [`evidence`] make the first page of it, one file
//! per section in [`section`] the annex. Only [`page`] writes HTML, through templates that escape
//! everything except the drawings of [`draw`], which escape their words themselves. What is not
//! done here: no number is computed that the tables do not hold, but for shares of counts and of
//! histogram bins, and the sizes of unfair subgroups.

mod brief;
pub(crate) mod diff;
mod draw;
mod evidence;
pub(crate) mod export;
pub(crate) mod model_card;
pub(crate) mod page;
mod read;
mod section;
pub(crate) mod selective;
mod shown_changes;
#[cfg(test)]
mod tests;

use std::path::Path;

use minijinja::context;

use crate::error::Result;
use crate::report::page::glossary::GlossaryEntry;
use crate::report::page::terms::PageGlossary;
use crate::report::read::audit::AuditFolder;

/// The pages of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderedPages {
    /// `report.html`.
    pub report: String,
    /// `annex.html`; none where the job leaves it out.
    pub annex: Option<String>,
}

/// The names of the pages in an output folder.
pub(crate) const PAGES: [&str; 2] = ["report.html", "annex.html"];

/// Renders the pages of the output folder `folder`: `manifest.json`, `job.resolved.yaml` and
/// `tables/*.parquet`.
///
/// A pure function of the folder's tables, manifest and job: of `manifest.files` only the hashes of
/// `tables/` are shown, so that no page depends on its own hash. `title` replaces the title of the
/// manifest; `glossary` knows the metrics by id, and a metric it does not know is shown by its id.
///
/// # Errors
/// The manifest or a table cannot be read.
pub(crate) fn render(
    folder: &Path,
    title: Option<&str>,
    glossary: &dyn Fn(&str) -> Option<GlossaryEntry>,
) -> Result<RenderedPages> {
    let audit = AuditFolder::read(folder)?;
    let shown = title.or_else(|| audit.title());
    let m = &audit.manifest;
    let annex = || {
        let sections = section::sections(&audit, &mut PageGlossary::new(glossary));
        let stand_in = &m.stand_in;
        let own = context!(stand_in, is_annex => true, has_maps => !audit.map.is_empty());
        page::of_sections(shown, m, own, &sections)
    };
    let annex = (!m.words.without_annex).then(annex);
    Ok(RenderedPages { report: brief::page(&audit, shown), annex })
}
