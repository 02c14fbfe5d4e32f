//! What the codes of tables and manifest mean in words: metrics, reasons, strategies, methods of
//! intervals, sides of a decision.

use minijinja::context;

use crate::counterfactual::strategy::{self, StrategyRecord};
use crate::metric::catalog::find;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::rate::clause_of_code;
use crate::metric::{GapTransform, Metric, MetricUnit};
use crate::report::page::PageBlock;
use crate::report::page::glossary::GlossaryEntry;
use crate::report::page::number::NumberFormat;
use crate::report::page::words::RichText;
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

/// The head of a metric, and behind it which of two groups is above in a ratio: the words of
/// `sides` have the first of them above and the second. Nothing for what is not a ratio, because a
/// difference is the first minus the second.
pub(crate) fn above_and_below(head: RichText, metric: &str, sides: [&'static str; 2]) -> RichText {
    let of_sizes = find(metric).and_then(Metric::transform);
    let word = match of_sizes == Some(GapTransform::SmallerOverLarger) {
        true => Some("lower_over_higher"),
        false => ratio_sides(metric, sides).map(|[above, _]| above),
    };
    word.map_or(head.clone(), |word| head.text(" ").word(word))
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

/// Whether a metric in the scope of the difference of two directions divides one by the other.
pub(crate) fn divides_directions(metric: &str) -> bool {
    find(metric).is_some_and(Metric::is_of_two_directions)
}

/// Whether a row depends on labels that are missing for some people more often than for others.
pub(crate) fn lacks_labels(row: &ComparisonRow) -> bool {
    has_flag(&row.flags, SELECTIVE_LABELS)
}

/// Why a value is undefined, in words that end a sentence begun with "because".
pub(crate) fn reason(code: &str) -> &str {
    match clause_of_code(if code.is_empty() { "no_reason" } else { code }) {
        "" => code,
        clause => clause,
    }
}

/// Why a measure is undefined.
pub(crate) fn why(measure: &MetricRow) -> &str {
    reason(measure.why_undefined())
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

#[cfg(test)]
mod tests {
    use super::{RichText, above_and_below, kind, reason};
    use crate::metric::rate::Undefined;
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
        let sides = ["first_over_second", "second_over_first"];
        for (metric, word) in [
            ("di", Some("second_over_first")),
            ("demp_ratio", Some("first_over_second")),
            ("f1_ratio", Some("first_over_second")),
            ("demp_min_ratio", Some("lower_over_higher")),
            ("demp_difference", None),
        ] {
            let head = || RichText::new().code("M");
            let expected = word.map_or_else(head, |word| head().text(" ").word(word));
            assert_eq!(above_and_below(head(), metric, sides), expected, "{metric}");
        }
    }

    #[test]
    fn every_reason_is_told_in_words() {
        for code in Undefined::ALL.iter().map(|reason| reason.code()) {
            assert!(!reason(code).contains('_'), "{code}: {}", reason(code));
        }
        assert_eq!(reason("of_another_version"), "of_another_version");
    }
}
