//! Blocks of the evidence: tables with a plot in a column, charts side by side.

use serde::Serialize;

use crate::report::page::words::RichText;

/// A table in which a column is a plot: the table is the chart.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct PlotTable {
    /// What it is, for screen readers.
    pub(crate) label: String,
    /// Its class, or empty.
    pub(crate) class: &'static str,
    /// Its parts.
    pub(crate) bodies: Vec<PlotBody>,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct PlotBody {
    /// Whether a rule sets it off and no page break divides it.
    pub(crate) block: bool,
    /// Its rows.
    pub(crate) lines: Vec<PlotLine>,
}

/// A row of a [`PlotTable`].
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
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
#[derive(Debug, Clone, Default, Serialize)]
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

/// The blocks that only the evidence has.
#[derive(Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub(crate) enum BriefBlock {
    /// The sentence that opens a section.
    Lead(RichText),
    /// A table of plots.
    Plots(PlotTable),
}
