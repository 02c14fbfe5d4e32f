//! Tables of values: cells of metrics at keys, and the notes below them.

use crate::report::draw::plot::PlotPoint;
use crate::report::page::cell_notes::Below;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageTable, ReportRow, terms};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::table::MetricRow;

/// A value with counts and interval as a cell.
pub(crate) fn cell(measure: Option<&MetricRow>, kind: NumberFormat) -> PageCell {
    let Some(measure) = measure else { return PageCell::none() };
    let below = Below::of(measure);
    let Some(value) = measure.value else {
        let why = RichText::new().text(terms::why(measure));
        return PageCell { below, ..PageCell::new("undefined", [why]) };
    };
    let counts = measure.counts().map(|(part, whole)| number::of(part, whole));
    let interval = measure.ends().map(|(lo, hi)| kind.interval(value, lo, hi));
    let small = counts.into_iter().chain(interval).map(RichText::from);
    let small = small.chain(measure.is_small().then(|| "few_cases".into()));
    // How it was found, where that is not obvious.
    let small = small.chain(measure.flips().map(|of| RichText::new().flips(of)));
    PageCell { below, ..PageCell::new(kind.value(value), small) }
}

/// A value with counts and interval, and the band of the placebo and the range of other fits and
/// trainings where there are such.
pub(crate) fn cell_with_placebo(measure: Option<&MetricRow>, kind: NumberFormat) -> PageCell {
    let mut shown = cell(measure, kind);
    let Some((measure, value)) = measure.and_then(|of| Some((of, of.value?))) else { return shown };
    for (what, ends) in [
        ("noise", measure.placebo()),
        ("other_fits", measure.over_fits()),
        ("other_trainings", measure.over_trainings()),
    ] {
        let told = ends.map(|(lo, hi)| format!(" {}", terms::noise(kind, value, lo, hi)));
        shown.small.extend(told.map(|ends| RichText::new().word(what).text(ends)));
    }
    shown
}

/// The marks of values on an axis from 0 to `end`; empty where not all of them have one.
pub(crate) fn whiskers(
    measures: &[Option<&MetricRow>],
    end: f64,
    noise: fn(&MetricRow) -> Option<(f64, f64)>,
) -> PageCell {
    let mark = |of: &MetricRow| {
        Some(PlotPoint { second: noise(of), ..PlotPoint::new(of.value?, of.ends()) })
    };
    let drawn: Option<Vec<PlotPoint>> = measures.iter().map(|of| mark((*of)?)).collect();
    drawn.map(|drawn| RichText::new().whiskers(drawn, end)).unwrap_or_default().into()
}

/// How the cells of a table of values are made.
type CellFn = fn(Option<&MetricRow>, NumberFormat) -> PageCell;

/// Values with a row per key and a column per metric.
pub(crate) struct ValuesByKey<'t> {
    pub(crate) audit: &'t AuditFolder,
    /// The key of the head over the heads of rows.
    pub(crate) first: &'static str,
    /// The head and the key of each row.
    pub(crate) keys: &'t [(RichText, ResultKey)],
    /// The metrics; those of which no key has a value are left out.
    pub(crate) metrics: &'t [&'static str],
    /// How a value is shown.
    pub(crate) cell: CellFn,
    /// What anchors of cells begin with, and how many rows have them.
    pub(crate) anchors: (&'t str, usize),
}

impl<'t> ValuesByKey<'t> {
    /// Values of an audit.
    pub(crate) fn of(
        audit: &'t AuditFolder,
        first: &'static str,
        keys: &'t [(RichText, ResultKey)],
        metrics: &'t [&'static str],
    ) -> Self {
        ValuesByKey { audit, first, keys, metrics, cell, anchors: ("", 0) }
    }

    /// The table; none where no key has a value. `head` gives the head of a metric's column.
    pub(crate) fn table(&self, head: &mut dyn FnMut(&str) -> RichText) -> Option<PageTable> {
        let there =
            |metric: &&str| self.keys.iter().any(|(_, k)| self.audit.measure(k, metric).is_some());
        let metrics: Vec<&str> = self.metrics.iter().copied().filter(there).collect();
        let heads: Vec<RichText> = metrics.iter().map(|metric| head(metric)).collect();
        let row = |(i, (name, key)): (usize, &(RichText, ResultKey))| {
            let cell = |metric: &&str| {
                let measure = self.audit.measure(key, metric);
                let cell = (self.cell)(measure, terms::kind(metric, &key.scope));
                let (id, n) = self.anchors;
                cell.at(if i < n { format!("{id}-{i}-{metric}") } else { String::new() })
            };
            ReportRow::new(name.clone(), metrics.iter().map(cell))
        };
        let rows = self.keys.iter().enumerate().map(row);
        let table = PageTable::new(std::iter::once(self.first.into()).chain(heads), rows);
        (!metrics.is_empty()).then_some(table)
    }
}
