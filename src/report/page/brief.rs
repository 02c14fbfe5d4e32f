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

/// Text for a string of a style sheet, which nothing in it can end.
pub(crate) fn css_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars().take(120) {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '.' | ',' | '-' | '_' | ':' => {
                escaped.push(c)
            }
            c => escaped.push_str(&format!("\\{:x} ", u32::from(c))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::css_text;
    use crate::tests::Says;

    #[test]
    fn the_foot_of_a_page_cannot_end_its_style() {
        let css = css_text("a\"}</style><script>, run 7d0c1f, model version 2026.11");
        css.lacks(&["</style>", "a\"}"]);
        css.says(&["a\\22 \\7d \\3c \\2f style", "run 7d0c1f, model version 2026.11"]);
    }
}
