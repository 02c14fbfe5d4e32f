//! Blocks of the evidence: tables with a plot in a column, charts side by side.

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::words::RichText;

/// A table in which a column is a plot: the table is the chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlotTable {
    /// What it is, for screen readers.
    pub(crate) label: String,
    /// Its class, or empty.
    pub(crate) class: &'static str,
    /// Its parts.
    pub(crate) bodies: Vec<PlotBody>,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlotBody {
    /// Whether a rule sets it off and no page break divides it.
    pub(crate) block: bool,
    /// Its rows.
    pub(crate) lines: Vec<PlotLine>,
}

/// A row of a [`PlotTable`].
#[derive(Debug, Clone)]
pub(crate) enum PlotLine {
    /// The numbers of the axis.
    Axis(String),
    /// A heading over the rows that follow.
    Sub(RichText),
    /// A sentence in place of rows.
    Fold(RichText),
    /// A value.
    Row(Box<PlotRow>),
}

/// A value with its plot.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlotRow {
    /// What it is.
    pub(crate) label: RichText,
    /// Whether it is below a question.
    pub(crate) inset: bool,
    /// Whether two whiskers need a higher row.
    pub(crate) two: bool,
    /// The people behind it.
    pub(crate) people: RichText,
    /// Its drawing.
    pub(crate) drawing: String,
    /// The value in words.
    pub(crate) value: String,
    /// Its row in the annex; empty = none.
    pub(crate) href: String,
    /// The interval in words.
    pub(crate) ends: String,
    /// A second range, below it; empty = none.
    pub(crate) below: String,
    /// What else is in the last column.
    pub(crate) tail: RichText,
}

/// A chart with its heading.
#[derive(Debug, Clone)]
pub(crate) struct ChartPanel {
    /// The heading.
    pub(crate) title: RichText,
    /// The chart.
    pub(crate) drawing: String,
}

/// The blocks that only the evidence has.
pub(crate) enum BriefBlock {
    /// The sentence that opens a section.
    Lead(RichText),
    /// What must be read first.
    Boxed(RichText),
    /// A table of plots.
    Plots(PlotTable),
    /// Charts side by side, in a grid of this class.
    Panels(&'static str, Vec<ChartPanel>),
    /// One chart over the whole width, with its caption.
    Wide(RichText, String),
}

pub(super) fn value(block: &BriefBlock) -> Value {
    match block {
        BriefBlock::Lead(words) => context!(kind => "lead", words => words),
        BriefBlock::Boxed(words) => context!(kind => "boxed", words => words),
        BriefBlock::Plots(table) => {
            let bodies = table.bodies.iter().map(|body| {
                context!(block => body.block, lines =>
                    body.lines.iter().map(line).collect::<Value>())
            });
            context!(kind => "plots", label => &table.label, class => table.class, bodies =>
                bodies.collect::<Value>())
        }
        BriefBlock::Panels(class, cells) => {
            let cell = |c: &ChartPanel| context!(title => &c.title, drawing => &c.drawing);
            context!(kind => "panels", class => *class, cells =>
                cells.iter().map(cell).collect::<Value>())
        }
        BriefBlock::Wide(caption, drawing) => {
            context!(kind => "wide", caption => caption, drawing => drawing)
        }
    }
}

fn line(line: &PlotLine) -> Value {
    match line {
        PlotLine::Axis(drawing) => context!(kind => "axis", drawing => drawing),
        PlotLine::Sub(words) => context!(kind => "sub", words => words),
        PlotLine::Fold(words) => context!(kind => "fold", words => words),
        PlotLine::Row(row) => context!(kind => "row", label => &row.label, inset => row.inset,
            two => row.two, people => &row.people, drawing => &row.drawing, value => &row.value,
            href => &row.href, ends => &row.ends, below => &row.below, tail => &row.tail),
    }
}
