//! The page as blocks, and the blocks as one self-contained HTML file: no script, no network,
//! everything escaped.
//!
//! Sections build [`PageBlock`]s; the templates next to this file lay them out. Text is escaped by
//! the template engine, after [`visible`] has made control characters visible; only drawings, made
//! and escaped by [`crate::report::draw::chart`], go in as they are.

pub(crate) mod brief;
pub(crate) mod cell_notes;
pub(crate) mod cells;
pub(crate) mod glossary;
pub(crate) mod number;
pub(crate) mod render;
pub(crate) mod terms;
pub(crate) mod words;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::folder::manifest::Manifest;
use crate::report::draw::{palette, plot};
use crate::report::page::cell_notes::Below;
use crate::report::page::words::RichText;
use crate::text::fact;

/// One section of a page; its number is its place on it.
pub(crate) struct PageSection {
    /// Anchor.
    pub(super) id: &'static str,
    /// Content.
    pub(super) blocks: Vec<PageBlock>,
}

/// A piece of a section: a template, and the facts that it gets as `f`.
pub(crate) struct PageBlock(pub(super) &'static str, pub(super) Value);

impl From<&PageBlock> for Value {
    fn from(PageBlock(template, facts): &PageBlock) -> Self {
        context!(template => *template, facts)
    }
}

/// A table: the first cell of each row is its heading.
#[derive(Default)]
pub(crate) struct PageTable {
    /// Column headings; the first stands over the row headings.
    pub(super) head: Vec<RichText>,
    /// Rows.
    pub(super) rows: Vec<ReportRow>,
}

impl PageTable {
    /// A table of numbers, whose caption the template of its section gives.
    pub(super) fn new(
        head: impl IntoIterator<Item = impl Into<RichText>>,
        rows: impl IntoIterator<Item = ReportRow>,
    ) -> Self {
        let head = head.into_iter().map(Into::into).collect();
        PageTable { head, rows: rows.into_iter().collect() }
    }

    /// The table; none without a row.
    pub(super) fn filled(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}

/// The sign in place of a value that does not exist.
pub(super) const DASH: &str = "\u{2013}";

/// A row of a [`PageTable`].
#[derive(Default)]
pub(crate) struct ReportRow {
    /// Anchor; empty = none.
    pub(super) id: String,
    /// Heading.
    pub(super) head: RichText,
    /// One cell for every further column.
    pub(super) cells: Vec<PageCell>,
}

/// A cell: what it says, and up to two lines of small print such as counts and interval.
#[derive(Default, Serialize)]
pub(crate) struct PageCell {
    /// Anchor; empty = none.
    pub(super) id: String,
    /// What it says.
    pub(super) main: RichText,
    /// Small print, a line each.
    pub(super) small: Vec<RichText>,
    /// Step of the heat scale.
    pub(super) heat: Option<usize>,
    /// What the caption says about its small print.
    #[serde(skip)]
    pub(super) below: Below,
}

impl ReportRow {
    /// A row without an anchor.
    pub(super) fn new(
        head: impl Into<RichText>,
        cells: impl IntoIterator<Item = impl Into<PageCell>>,
    ) -> Self {
        let cells = cells.into_iter().map(Into::into).collect();
        ReportRow { id: String::new(), head: head.into(), cells }
    }
}

impl PageCell {
    /// A cell with small print below it.
    pub(super) fn new(
        main: impl Into<RichText>,
        small: impl IntoIterator<Item = impl Into<RichText>>,
    ) -> Self {
        let small = small.into_iter().map(Into::into).collect();
        PageCell { small, ..PageCell::from(main) }
    }

    /// The cell in place of a value that does not exist.
    pub(super) fn none() -> Self {
        RichText::new().text(DASH).into()
    }

    /// A name; a dash where there is none.
    pub(super) fn name(name: &str) -> Self {
        if name.is_empty() { PageCell::none() } else { RichText::new().name(name).into() }
    }

    /// This cell with an anchor.
    pub(super) fn at(self, id: String) -> Self {
        PageCell { id, ..self }
    }
}

impl<W: Into<RichText>> From<W> for PageCell {
    fn from(main: W) -> Self {
        PageCell { main: main.into(), ..PageCell::default() }
    }
}

impl PageSection {
    /// A section of several templates.
    pub(super) fn new(id: &'static str, blocks: Vec<PageBlock>) -> Self {
        PageSection { id, blocks }
    }

    /// A section of one template.
    pub(super) fn of_facts(id: &'static str, template: &'static str, facts: Value) -> Self {
        PageSection::new(id, vec![PageBlock(template, facts)])
    }
}

impl From<&PageSection> for Value {
    fn from(section: &PageSection) -> Self {
        let PageSection { id, blocks } = section;
        context!(id => *id, blocks => blocks.iter().map(Value::from).collect::<Value>())
    }
}

/// A page of numbered sections about a run: `annex.html`, or what two folders differ in. `own` says
/// whether it is the annex of the page that is next to it and has positions of single rows, and the
/// catalog data set that stand-in data replaced.
pub(super) fn of_sections(
    title: Option<&str>,
    m: &Manifest,
    own: Value,
    sections: &[PageSection],
) -> String {
    let css = [&palette::css(), include_str!("chart.css"), include_str!("sections.css")];
    let page = context! {
    title, job => &m.job, run => &m.run, program => &m.program, css => css.concat(),
    defs => plot::DEFS, sections => sections.iter().map(Value::from).collect::<Value>(), ..own
    };
    render::page("sections.html", None, page)
}

impl From<PageTable> for Value {
    fn from(table: PageTable) -> Self {
        table.value()
    }
}

impl PageTable {
    fn value(&self) -> Value {
        let shown: Vec<usize> = (0..self.head.len())
            .filter(|&column| column == 0 || self.says_something(column))
            .collect();
        let head: Vec<&RichText> = shown.iter().map(|&column| &self.head[column]).collect();
        let row = |row: &ReportRow| {
            let cells = shown.iter().filter_map(|&column| row.cells.get(column.checked_sub(1)?));
            let cells: Vec<&PageCell> = cells.collect();
            context!(id => &row.id, head => &row.head, cells => fact(&cells))
        };
        let below = self.rows.iter().flat_map(|row| &row.cells).map(|cell| &cell.below);
        context! {
            head => fact(&head), below => fact(&below.fold(Below::default(), Below::and)),
            rows => self.rows.iter().map(row).collect::<Value>(),
        }
    }

    /// Whether a column has a value in any row, or is a place that something leads to.
    fn says_something(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.cells.get(column - 1));
        self.rows.is_empty() || cells.any(|cell| !cell.is_empty())
    }
}

impl PageCell {
    fn is_empty(&self) -> bool {
        let main = &self.main;
        let nothing = *main == RichText::new()
            || *main == RichText::new().text("")
            || *main == RichText::new().text(DASH);
        nothing && self.small.is_empty() && self.heat.is_none() && self.id.is_empty()
    }
}
