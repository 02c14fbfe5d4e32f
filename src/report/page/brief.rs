//! The page of brief and evidence: its sections, and `report.html` as they are on it.

use minijinja::context;
use minijinja::value::Value;

use crate::report::draw::palette;
use crate::report::draw::plot::DEFS;
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, render, values};

/// A section of the brief or of the evidence.
pub(crate) struct BriefSection {
    /// Anchor.
    pub(crate) id: &'static str,
    /// Heading.
    pub(crate) title: SectionTitle,
    /// Heading in the list of contents.
    pub(crate) short: &'static str,
    /// Content.
    pub(crate) blocks: Vec<PageBlock>,
}

/// A heading.
pub(crate) enum SectionTitle {
    /// Words.
    Words(RichText),
    /// A template, and the facts that it gets as `f`.
    Part(&'static str, Value),
}

impl From<&'static str> for SectionTitle {
    fn from(words: &'static str) -> Self {
        SectionTitle::Words(words.into())
    }
}

impl From<&SectionTitle> for Value {
    fn from(title: &SectionTitle) -> Self {
        match title {
            SectionTitle::Words(words) => {
                context!(template => "", facts => Value::from(()), words => words)
            }
            SectionTitle::Part(template, facts) => {
                context!(template => *template, facts => facts, words => Vec::<Value>::new())
            }
        }
    }
}

/// `report.html`.
pub(crate) struct BriefPage {
    /// The one `h1`.
    pub(crate) title: String,
    /// Name of the job.
    pub(crate) job: String,
    /// Id of the run.
    pub(crate) run: String,
    /// Version of the program.
    pub(crate) program: String,
    /// Version of the audited model.
    pub(crate) version: Option<String>,
    /// The decision in words.
    pub(crate) decision: Option<String>,
    /// What is below the title.
    pub(crate) facts: Vec<(&'static str, RichText)>,
    /// Whether rows are made up.
    pub(crate) stand_in: bool,
    /// Whether single people stand on it, because the job asks for them.
    pub(crate) has_cases: bool,
    /// Whether there is an annex to link to.
    pub(crate) annex: bool,
    /// What every sentence may depend on.
    pub(crate) voice: Value,
    /// The brief: the first section is the verdict.
    pub(crate) brief: Vec<BriefSection>,
    /// The evidence.
    pub(crate) evidence: Vec<BriefSection>,
}

/// The section of the brief that begins the second printed page.
const SECOND_PAGE: &str = "all";

impl BriefPage {
    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        let mut sections: Vec<Value> = Vec::new();
        for section in &self.brief {
            let class = match section.id {
                "verdict" => "verdict",
                SECOND_PAGE => "page2",
                _ => "",
            };
            sections.push(context!(id => section.id, title => &section.title, class => class,
                number => Value::from(()), first_evidence => false, end => false, blocks =>
                values(&section.blocks)));
        }
        for (i, section) in self.evidence.iter().enumerate() {
            let class = if i == 0 { "evidence" } else { "" };
            sections.push(context!(id => section.id, title => &section.title, class => class,
                number => i + 1, first_evidence => i == 0, end => false, blocks =>
                values(&section.blocks)));
        }
        if self.evidence.is_empty() {
            // The contents are behind the brief anyway.
            sections.push(context!(first_evidence => true, end => true));
        }
        let entries = |sections: &[BriefSection], numbered: bool| -> Value {
            let entry = |(i, section): (usize, &BriefSection)| {
                let number = if numbered { format!("{} ", i + 1) } else { String::new() };
                context!(id => section.id, title => format!("{number}{}", section.short))
            };
            sections.iter().enumerate().map(entry).collect()
        };
        let none: Vec<BriefSection> = Vec::new();
        let mut contents =
            vec![context!(href => "#verdict", title => "Brief", entries => entries(&self.brief,
                false))];
        if let Some(first) = self.evidence.first() {
            contents
                .push(context!(href => format!("#{}", first.id), title => "Evidence", entries =>
                entries(&self.evidence, true)));
        }
        if self.annex {
            contents.push(context!(href => "annex.html", title => "Annex", entries =>
                entries(&none, false)));
        }
        let facts: Value = self
            .facts
            .iter()
            .map(|(name, words)| context!(name => *name, words => words))
            .collect();
        render::page(
            "report.html",
            Some(self.voice.clone()),
            context! {
                title => &self.title, job => &self.job, run => &self.run, program => &self.program,
                decision => self.decision.as_deref().map(|text| text.trim_end_matches('.')),
                facts => facts, stand_in => self.stand_in, has_cases => self.has_cases, annex =>
                self.annex, sections =>
                sections,
                contents => contents, defs => DEFS,
                css => format!(
                    "{}{}{}{}",
                    palette::css(),
                    include_str!("report.css"),
                    include_str!("chart.css"),
                    foot(&self.job, &self.run, self.version.as_deref()),
                ),
            },
        )
    }
}

/// The foot of each printed page.
fn foot(job: &str, run: &str, version: Option<&str>) -> String {
    let version = version.map_or_else(String::new, |version| format!(", model version {version}"));
    let left = css_text(&format!("{job}, run {run}{version}"));
    format!(
        "@media print{{@page{{size:A4;margin:10mm 16mm \
         12mm;@bottom-left{{content:\"{left}\";font:8pt \
         sans-serif;color:#535966}}@bottom-right{{content:\"Page \" counter(page) \" of \" \
         counter(pages);font:8pt sans-serif;color:#535966}}}}}}\n"
    )
}

/// Text for a string of a style sheet, which nothing in it can end.
fn css_text(text: &str) -> String {
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
    use super::foot;

    #[test]
    fn the_foot_of_a_page_cannot_end_its_style() {
        let css = foot("a\"}</style><script>", "7d0c1f", Some("2026.11"));
        assert!(!css.contains("</style>") && !css.contains("a\"}"), "{css}");
        assert!(css.contains("a\\22 \\7d \\3c \\2f style"), "{css}");
        assert!(css.contains("run 7d0c1f, model version 2026.11"), "{css}");
    }
}
