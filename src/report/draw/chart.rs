//! Small drawings next to the numbers of the annex, and what its other drawings share: labels,
//! coordinates, ticks.
//!
//! A drawing that says something is `role="img"` with `<title>` and `<desc>`; one that repeats the
//! words next to it is hidden from screen readers.

use std::fmt::Write as _;

use crate::report::draw::panel::cases;
use crate::report::draw::plot::{PlotScale, vertical};
use crate::report::page::number::{self, three_digits};
use crate::report::read::tally::{HistogramBin, WeightedCount};

pub(crate) use crate::report::draw::plot::escape;

/// A coordinate with at most one decimal.
pub(crate) fn at(x: f64) -> String {
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The mark of a verdict: a cross where a limit is broken, a tick where it is kept, a question mark
/// where neither can be decided, else a dash. It repeats the word next to it, so it is hidden from
/// screen readers.
pub(crate) fn verdict(class: &str, css: &str) -> String {
    let icon = match class {
        "pass" => "i-pass",
        "fail" => "i-fail",
        "inconclusive" | "warn" => "i-unsure",
        _ => "i-none",
    };
    format!(
        r##"<svg class="{css}" viewBox="0 0 20 20" aria-hidden="true"><use href="#{icon}"/></svg>"##
    )
}

/// The words of a drawing: its anchor on the page, what it is, and what it shows.
pub(crate) struct DrawingLabel<'a> {
    /// Unique on the page; letters, digits and hyphens only.
    pub(crate) id: String,
    /// What it is.
    pub(crate) title: &'a str,
    /// What it shows, in numbers.
    pub(crate) text: &'a str,
}

/// A tick without needless zeros.
pub(crate) fn tick(value: f64) -> String {
    let text = three_digits((value * 1e9).round() / 1e9);
    if text.contains('.') && !text.contains('\u{d7}') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A value on an axis, with what surrounds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IntervalWhisker {
    /// The value.
    pub(crate) value: f64,
    /// Its interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// What noise gives.
    pub(crate) noise: Option<(f64, f64)>,
}

/// The frame of a small drawing: an axis from 0 to `end` with a line at either end and in the
/// middle.
fn small(end: f64, inside: &str) -> String {
    let scale = PlotScale::new(0.0, end);
    let mut svg = String::from(r#"<svg class="whisker" aria-hidden="true">"#);
    for tick in [0.0, end / 2.0, end] {
        vertical(&mut svg, "g", &scale.x(tick));
    }
    svg + inside + "</svg>"
}

/// Up to two values with their intervals on one axis from 0 to `end`: the first a dot, the second a
/// ring; what noise gives is a band behind each. The numbers are next to it, so it is hidden
/// from screen readers.
pub(crate) fn whiskers(values: &[IntervalWhisker], end: f64) -> String {
    let scale = PlotScale::new(0.0, end);
    let mut svg = String::new();
    for (i, IntervalWhisker { value, interval, noise }) in values.iter().take(2).enumerate() {
        let y = if values.len() == 1 { 14 } else { 9 + 10 * i };
        if let Some((lo, hi)) = noise.filter(|(lo, hi)| lo < hi) {
            let width = crate::report::draw::plot::percent(scale.at(hi) - scale.at(lo));
            let _ = write!(
                svg,
                r#"<rect class="band" x="{}" width="{width}" y="{}" height="8"/>"#,
                scale.x(lo),
                y - 4
            );
        }
        if let Some((lo, hi)) = interval {
            let [x1, x2] = [lo, hi].map(|v| scale.x(*v));
            let _ = write!(svg, r#"<line class="ln thin" x1="{x1}" x2="{x2}" y1="{y}" y2="{y}"/>"#);
        }
        let class = if i == 0 { "dot" } else { "ring" };
        let x = scale.x(*value);
        let _ = write!(svg, r#"<circle class="{class}" cx="{x}" cy="{y}" r="3.5"/>"#);
    }
    small(end, &svg)
}

/// An old value as a ring and a new one as a dot, joined, on an axis from 0 to `end`. The numbers
/// are next to it, so it is hidden from screen readers.
pub(crate) fn dumbbell(old: f64, new: f64, end: f64) -> String {
    let scale = PlotScale::new(0.0, end);
    let [old, new] = [old, new].map(|v| scale.x(v));
    small(
        end,
        &format!(
            "<line class=\"ln thin\" x1=\"{old}\" x2=\"{new}\" y1=\"14\" y2=\"14\"/><circle \
             class=\"ring\" cx=\"{old}\" cy=\"14\" r=\"4.5\"/><circle class=\"dot\" cx=\"{new}\" \
             cy=\"14\" r=\"3.5\"/>"
        ),
    )
}

/// What a histogram of changes shows, in words: shares (by weight where cases are `weighted`) that
/// fall, stay within one bin of zero, and rise.
pub(crate) fn change_in_words(bins: &[HistogramBin], weighted: bool) -> String {
    let all = cases(bins);
    let part = |test: &dyn Fn(&HistogramBin) -> bool| {
        bins.iter().filter(|b| test(b)).fold(WeightedCount::default(), |sum, bin| sum.plus(bin.2))
    };
    let near = |b: &HistogramBin| (b.0 + b.1).abs() / 2.0 <= b.1 - b.0;
    let falls = |b: &HistogramBin| !near(b) && b.1 <= 0.0;
    let (rises, falls, stays) = (part(&|b| !near(b) && !falls(b)), part(&falls), part(&near));
    let width = bins.iter().find(|b| near(b)).map_or(0.0, |b| b.1 - b.0);
    let share = |part| number::share(part, all, weighted).unwrap_or_else(|| "none".to_owned());
    format!(
        "of {} score changes {} ({}) are within {} of zero, {} ({}) are falls and {} ({}) are \
         rises beyond that",
        number::count(all.n),
        number::count(stays.n),
        share(stays),
        tick(width),
        number::count(falls.n),
        share(falls),
        number::count(rises.n),
        share(rises),
    )
}

#[cfg(test)]
mod tests {
    use super::{IntervalWhisker, change_in_words, dumbbell, verdict, whiskers};
    use crate::report::read::tally::WeightedCount;

    #[test]
    fn changes_in_words_add_up() {
        let mut bins = [(-0.05, -0.025, 1), (-0.025, 0.0, 2), (0.0, 0.025, 6), (0.025, 0.05, 1)]
            .map(|(lo, hi, n)| (lo, hi, WeightedCount::from_count(n)));
        let words = change_in_words(&bins, false).replace('\u{202f}', " ");
        assert_eq!(
            words,
            "of 10 score changes 8 (80.0 %) are within 0.025 of zero, 1 (10.0 %) are falls and 1 \
             (10.0 %) are rises beyond that"
        );
        bins[0].2.weight = 11.0;
        assert!(change_in_words(&bins, true).contains("1 (weighted 55.0\u{202f}%) are falls"));
        assert!(change_in_words(&[], false).starts_with("of 0 score changes 0 (none)"));
    }

    #[test]
    fn verdicts_have_marks_of_their_own() {
        let marks: std::collections::BTreeSet<String> =
            ["pass", "fail", "inconclusive", "done"].iter().map(|v| verdict(v, "")).collect();
        assert_eq!(marks.len(), 4);
    }

    #[test]
    fn values_stand_where_the_scale_says() {
        let whisker = |value, interval, noise| IntervalWhisker { value, interval, noise };
        let svg = whiskers(
            &[
                whisker(0.1, Some((0.05, 0.2)), Some((0.02, 0.05))),
                whisker(2.0, None, Some((0.0, 0.0))),
            ],
            0.2,
        );
        assert!(svg.contains(r#"<rect class="band" x="10%" width="15%" y="5""#), "{svg}");
        assert!(svg.contains(r#"<circle class="ring" cx="100%""#), "never outside: {svg}");
        assert_eq!(svg.matches("band").count(), 1, "no band for noise that is nothing");
        assert!(dumbbell(0.1, 0.05, 0.2).contains(r#"x1="50%" x2="25%""#));
    }
}
