//! The page of brief and evidence: its sections, and `report.html` made from them.

use minijinja::context;
use minijinja::value::Value;

use crate::report::draw::palette;
use crate::report::draw::plot::DEFS;
use crate::report::page::{PageSection, render};
use crate::report::read::audit::AuditFolder;
use crate::text::fact;

/// `report.html` as HTML: the first section of the brief is the verdict.
pub(crate) fn html(
    title: Option<&str>,
    audit: &AuditFolder,
    voice: Value,
    [brief, evidence]: [Vec<PageSection>; 2],
) -> String {
    let m = &audit.manifest;
    let css = [&palette::css(), include_str!("report.css"), include_str!("chart.css")];
    let page = context! {
        title, m => fact(m), has_cases => !audit.cases.is_empty(),
        briefs => brief.len(), defs => DEFS, css => css.concat(),
        sections => brief.iter().chain(&evidence).map(Value::from).collect::<Value>(),
    };
    render::page("report.html", Some(voice), page)
}
