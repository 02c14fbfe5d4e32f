//! What the codes of tables and manifest mean in words: metrics, reasons, strategies, methods of
//! intervals, sides of a decision.

use minijinja::context;

use crate::counterfactual::strategy::{self, StrategyRecord};
use crate::metric::catalog::find;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::rate::Undefined;
use crate::metric::{GapTransform, Metric, MetricUnit};
use crate::report::page::PageBlock;
use crate::report::page::glossary::GlossaryEntry;
use crate::report::page::number::NumberFormat;
use crate::report::page::words::RichText;
use crate::report::read::panel::AuditPanel;
use crate::table::{ComparisonRow, MetricRow, has_flag};
use crate::text::fact;

/// The metrics of the catalog, and which of them the page has shown.
pub(crate) struct PageGlossary<'a> {
    catalog: &'a dyn Fn(&str) -> Option<GlossaryEntry>,
    /// Every metric shown, in order of appearance.
    pub(crate) shown: Vec<GlossaryEntry>,
}

impl<'a> PageGlossary<'a> {
    /// A glossary of a page that shows nothing yet.
    pub(crate) fn new(catalog: &'a dyn Fn(&str) -> Option<GlossaryEntry>) -> Self {
        PageGlossary { catalog, shown: Vec::new() }
    }

    /// The metrics that were shown, with formula and source.
    pub(crate) fn block(&self) -> PageBlock {
        PageBlock("glossary.html", context!(entries => fact(&self.shown)))
    }

    /// The entry of a metric; one that the catalog does not know is called by its id.
    fn entry(&self, metric: &str) -> GlossaryEntry {
        if let Some(entry) = self.shown.iter().find(|e| e.id == metric) {
            return entry.clone();
        }
        let unknown = || GlossaryEntry {
            id: metric.to_owned(),
            symbol: metric.to_owned(),
            name: metric.to_owned(),
            ..GlossaryEntry::default()
        };
        let mut entry = (self.catalog)(metric).unwrap_or_else(unknown);
        entry.id = metric.to_owned();
        entry
    }

    /// The entry of a metric that the page shows from now on.
    pub(crate) fn show(&mut self, metric: &str) -> GlossaryEntry {
        let entry = self.entry(metric);
        if self.shown.iter().all(|shown| shown.id != metric) {
            self.shown.push(entry.clone());
        }
        entry
    }

    /// The symbol as the head of a column: it leads to its entry in the glossary, and shows its
    /// name on hover.
    pub(crate) fn head(&mut self, metric: &str) -> RichText {
        let entry = self.show(metric);
        RichText::new().metric(
            if entry.symbol.is_empty() { entry.name.clone() } else { entry.symbol },
            &entry.id,
            entry.name,
        )
    }

    /// Name and symbol: `negative switch rate NSR`.
    pub(crate) fn title(&mut self, metric: &str) -> RichText {
        self.show(metric);
        self.named(metric)
    }

    /// As [`Self::title`], for a metric of which the page shows no value.
    pub(crate) fn named(&self, metric: &str) -> RichText {
        let entry = self.entry(metric);
        if entry.name == entry.symbol {
            RichText::new().code(entry.name)
        } else if entry.symbol.is_empty() {
            entry.name.into()
        } else {
            RichText::new().text(format!("{} ", entry.name)).code(entry.symbol)
        }
    }
}

/// The name of a metric; one that this version does not know is called by its id.
pub(crate) fn name(metric: &str) -> String {
    find(metric).map_or(metric, |metric| metric.name()).to_owned()
}

/// How a metric is printed in a scope; one that this version does not know, as a plain number.
pub(crate) fn kind(metric: &str, scope: &str) -> NumberFormat {
    let metric = find(metric);
    let unit = metric.map_or(MetricUnit::Number, |metric| metric.unit);
    match scope {
        "worst_case" => NumberFormat::of(unit.without_sign()),
        "difference" if !metric.is_some_and(Metric::is_of_two_directions) => {
            NumberFormat::of(unit).of_change()
        }
        _ => NumberFormat::of(unit),
    }
}

/// Which of two groups is above in a ratio, as words after the name of a metric: `first` and
/// `second` are what the groups are called; empty for what is not a ratio, because a difference is
/// the first minus the second.
pub(crate) fn above_and_below(metric: &str, first: &str, second: &str) -> String {
    if find(metric).and_then(Metric::transform) == Some(GapTransform::SmallerOverLarger) {
        return " lower over higher".to_owned();
    }
    let sides = ratio_sides(metric, [first, second]);
    sides.map_or_else(String::new, |[above, below]| format!(" {above} over {below}"))
}

/// The one of two groups that is above in a ratio, and the other; none of what is no ratio of a
/// group over another.
pub(crate) fn ratio_sides<T>(metric: &str, [first, second]: [T; 2]) -> Option<[T; 2]> {
    match find(metric)?.transform()? {
        GapTransform::Ratio => Some([first, second]),
        GapTransform::Inverse => Some([second, first]),
        _ => None,
    }
}

/// What a metric in the scope of the difference of two directions does with them, as a word between
/// their names.
pub(crate) fn between_directions(metric: &str) -> &'static str {
    if find(metric).is_some_and(Metric::is_of_two_directions) { " over " } else { " minus " }
}

/// The note of a row that depends on labels which are missing for some people more often than for
/// others; none for other rows.
pub(crate) fn missing_labels(row: &ComparisonRow) -> Option<&'static str> {
    has_flag(&row.flags, SELECTIVE_LABELS)
        .then_some("labels are missing for some people more often than for others")
}

/// Why a value is undefined, in words that end a sentence begun with "because".
pub(crate) fn reason(code: &str) -> &str {
    match (Undefined::of_code(code), code) {
        (Some(reason), _) => reason.clause(),
        (None, "boundary") => "the interval cannot be estimated at the boundary",
        (None, "") => "no reason is given",
        (None, other) => other,
    }
}

/// Why a measure is undefined: a value about counterfactuals has no people if none of these is
/// valid, though the group may be large.
pub(crate) fn why(measure: &MetricRow) -> &str {
    match (measure.undefined.as_str(), measure.family.as_str()) {
        ("empty_group", "ccm" | "eccm" | "shift") => "there is no valid counterfactual",
        (code, _) => reason(code),
    }
}

/// Whether a strategy follows causal graphs.
pub(crate) fn follows_graphs(name: &str) -> bool {
    strategy::find(name).is_some_and(StrategyRecord::follows_graphs)
}

/// The band of a placebo next to a value: `1.1 to 4.2 %`; one number where it has no width.
pub(crate) fn noise(kind: NumberFormat, value: f64, lo: f64, hi: f64) -> String {
    match kind {
        _ if lo == hi => kind.value(lo),
        NumberFormat::Share => format!("{}\u{202f}%", kind.interval(value, lo, hi)),
        _ => kind.interval(value, lo, hi),
    }
}

/// `set flip (naive), model gbm`.
pub(crate) fn origin(panel: &AuditPanel) -> RichText {
    let words = RichText::new().text("set ").name(&panel.set);
    let words = if panel.strategy.is_empty() {
        words
    } else {
        words.text(format!(" ({})", panel.strategy))
    };
    words.text(", model ").name(&panel.model)
}

#[cfg(test)]
mod tests {
    use super::{Undefined, above_and_below, kind, reason};
    use crate::report::page::number::NumberFormat;

    #[test]
    fn the_record_says_how_a_value_is_printed_in_each_scope() {
        for (metric, scope, format) in [
            ("nsr", "direction", NumberFormat::Share),
            ("nsr", "difference", NumberFormat::Points),
            ("cmcc", "difference", NumberFormat::Signed),
            ("aod", "pair", NumberFormat::Points),
            ("aod", "worst_case", NumberFormat::Distance),
            ("mcc_difference", "worst_case", NumberFormat::Plain),
            ("tpr_to_total", "worst_case", NumberFormat::Distance),
            ("mcc_to_total", "worst_case", NumberFormat::Plain),
            ("of another version", "pair", NumberFormat::Plain),
        ] {
            assert_eq!(kind(metric, scope), format, "{metric} {scope}");
        }
    }

    #[test]
    fn ratios_say_what_stands_above() {
        let said = |metric| above_and_below(metric, "first", "second");
        assert_eq!(said("di"), " second over first");
        assert_eq!(said("demp_ratio"), " first over second");
        assert_eq!(said("f1_ratio"), " first over second");
        assert_eq!(said("demp_min_ratio"), " lower over higher");
        assert_eq!(said("demp_difference"), "");
    }

    #[test]
    fn every_reason_is_told_in_words() {
        for code in Undefined::ALL.iter().map(|reason| reason.code()) {
            assert!(!reason(code).contains('_'), "{code}: {}", reason(code));
        }
        assert_eq!(reason("of_another_version"), "of_another_version");
    }
}
