//! Blocks of the brief and the evidence: verdict, hero sentence, tables with a plot in a column,
//! charts side by side, sign-off.

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::words::RichText;

/// A verdict as a badge: filled broken, outlined kept, dashed cannot tell, bare not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerdictBadge {
    /// A limit is broken.
    Fail,
    /// It is kept.
    Pass,
    /// Neither can be decided.
    CannotTell,
    /// It was not checked.
    NotChecked,
    /// The job sets no limit.
    NoLimit,
    /// Rows are made up.
    StandIn,
}

impl VerdictBadge {
    /// In one or two words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            VerdictBadge::Fail => "Fail",
            VerdictBadge::Pass => "Pass",
            VerdictBadge::CannotTell => "Cannot tell",
            VerdictBadge::NotChecked => "Not checked",
            VerdictBadge::NoLimit => "No limit",
            VerdictBadge::StandIn => "Stand-in data",
        }
    }

    fn class(self) -> &'static str {
        match self {
            VerdictBadge::Fail => "fail",
            VerdictBadge::Pass => "pass",
            VerdictBadge::CannotTell => "unsure",
            VerdictBadge::NotChecked | VerdictBadge::NoLimit => "none",
            VerdictBadge::StandIn => "made",
        }
    }

    fn value(self, big: bool) -> Value {
        context!(class => self.class(), word => self.word(), big => big)
    }
}

/// A table in which a column is a plot: the table is the chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlotTable {
    /// What it is, for screen readers.
    pub(crate) label: String,
    /// `gates`, `forest`, or empty.
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
    /// A question, what is said about it, whether it only warns, and its verdict.
    Question(RichText, RichText, bool, VerdictBadge),
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

/// The blocks that only the brief and the evidence have.
pub(crate) enum BriefBlock {
    /// The sentence that opens a section.
    Lead(RichText),
    /// The verdict and a sentence.
    State(VerdictBadge, RichText),
    /// The sentence of the page.
    Hero(RichText),
    /// How it was found.
    How(RichText),
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
        BriefBlock::State(badge, words) => {
            context!(kind => "state", badge => badge.value(true), words => words)
        }
        BriefBlock::Hero(words) => context!(kind => "hero", words => words),
        BriefBlock::How(words) => context!(kind => "how", words => words),
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
        PlotLine::Question(words, say, warns, badge) => {
            context!(kind => "question", words => words, say => say, warns => *warns, badge =>
                badge.value(false))
        }
        PlotLine::Sub(words) => context!(kind => "sub", words => words),
        PlotLine::Fold(words) => context!(kind => "fold", words => words),
        PlotLine::Row(row) => context!(kind => "row", label => &row.label, inset => row.inset,
            two => row.two, people => &row.people, drawing => &row.drawing, value => &row.value,
            href => &row.href, ends => &row.ends, below => &row.below, tail => &row.tail),
    }
}

#[cfg(test)]
mod tests {
    use super::VerdictBadge;

    #[test]
    fn verdicts_have_words_of_their_own() {
        let all = [
            VerdictBadge::Fail,
            VerdictBadge::Pass,
            VerdictBadge::CannotTell,
            VerdictBadge::NotChecked,
            VerdictBadge::NoLimit,
            VerdictBadge::StandIn,
        ];
        let words: std::collections::BTreeSet<&str> =
            all.iter().map(|badge| badge.word()).collect();
        assert_eq!(words.len(), all.len());
    }
}
