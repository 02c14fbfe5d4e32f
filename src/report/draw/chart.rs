//! Bars, whiskers and verdict shapes as inline SVG: no script, colours by CSS class, words escaped
//! here.
//!
//! A drawing that says something is `role="img"` with `<title>` and `<desc>`; one that repeats the
//! words beside it is hidden from screen readers. Histograms are step paths in steps of a tenth of
//! a unit, so that one takes less than a kilobyte.

use std::fmt::Write as _;

use crate::report::page::number::{self, three_digits};
use crate::report::page::words::visible;
use crate::report::read::tally::{HistogramBin, WeightedCount};

/// Width and height of the plotting area, and the margins to its left and below; units are CSS
/// pixels at full size.
const PLOT: (f64, f64) = (352.0, 132.0);
const LEFT: f64 = 40.0;
const TOP: f64 = 8.0;
const BELOW: f64 = 34.0;

/// Text for SVG.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A coordinate with at most one decimal.
pub(crate) fn at(x: f64) -> String {
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The shape of a verdict: pass a circle, fail an octagon, inconclusive a half circle, warn a
/// triangle, otherwise an open ring. It repeats the word beside it, so it is hidden from screen
/// readers.
pub(crate) fn verdict(class: &str, css: &str) -> String {
    let shape = match class {
        "pass" => {
            r#"<circle cx="12" cy="12" r="11" fill="currentColor"/><path d="M7 12.5l3.5 3.5L17 8.5" fill="none" stroke="var(--paper)" stroke-width="2.5"/>"#
        }
        "fail" => {
            r#"<path d="M7.5 1h9L23 7.5v9L16.5 23h-9L1 16.5v-9z" fill="currentColor"/><path d="M8 8l8 8M16 8l-8 8" stroke="var(--paper)" stroke-width="2.5"/>"#
        }
        "inconclusive" => {
            r#"<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2"/><path d="M12 2a10 10 0 0 0 0 20z" fill="currentColor"/>"#
        }
        "warn" => {
            r#"<path d="M12 1.5L23.5 22H.5z" fill="currentColor"/><path d="M12 9v6M12 17v2.5" stroke="var(--paper)" stroke-width="2.5"/>"#
        }
        _ => {
            r#"<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="4 3"/>"#
        }
    };
    format!(r#"<svg class="{css}" viewBox="0 0 24 24" aria-hidden="true">{shape}</svg>"#)
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

/// The axes of a histogram, shared by drawings that are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistogramAxes {
    /// Left and right end.
    pub(crate) x: (f64, f64),
    /// Highest share of a bin.
    pub(crate) top: f64,
}

impl HistogramAxes {
    fn x(&self, value: f64) -> f64 {
        LEFT + (value - self.x.0) / (self.x.1 - self.x.0) * PLOT.0
    }

    fn y(&self, share: f64) -> f64 {
        TOP + (1.0 - (share / self.top).clamp(0.0, 1.0)) * PLOT.1
    }
}

/// The cases of a histogram.
pub(crate) fn size(bins: &[HistogramBin]) -> WeightedCount {
    bins.iter().fold(WeightedCount::default(), |sum, bin| sum.plus(bin.2))
}

/// A round number not below `value` for the end of an axis: 1, 2 or 5 times a power of ten.
pub(crate) fn round_up(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return 1.0;
    }
    let unit = number::unit(value);
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|m| m * unit)
        .find(|end| *end >= value * (1.0 - 1e-9))
        .unwrap_or(10.0 * unit)
}

/// The outline of a histogram within the axes, closed to the ground where it is to be filled.
fn outline(bins: &[HistogramBin], axes: &HistogramAxes, filled: bool) -> String {
    let all = size(bins);
    let inside = |bin: &&HistogramBin| bin.1 > axes.x.0 && bin.0 < axes.x.1;
    let mut path = String::new();
    let mut last = axes.y(0.0);
    for (i, (lo, hi, tally)) in bins.iter().filter(inside).enumerate() {
        let y = axes.y(tally.part_of(all).unwrap_or(0.0));
        let right = at(axes.x(*hi));
        // Writing to a string cannot fail.
        let _ = match (i, at(y) == at(last)) {
            (0, _) => write!(path, "M{} {}V{}H{right}", at(axes.x(*lo)), at(axes.y(0.0)), at(y)),
            (_, true) => write!(path, "H{right}"),
            (_, false) => write!(path, "V{}H{right}", at(y)),
        };
        last = y;
    }
    if !path.is_empty() {
        let _ = write!(path, "V{}{}", at(axes.y(0.0)), if filled { "Z" } else { "" });
    }
    path
}

fn frame(label: &DrawingLabel<'_>, axes: &HistogramAxes, below: &str, inside: &str) -> String {
    let (width, height) = (LEFT + PLOT.0 + 12.0, TOP + PLOT.1 + BELOW);
    let ground = at(axes.y(0.0));
    let mut ticks = String::new();
    for i in 0..=4 {
        let value = axes.x.0 + (axes.x.1 - axes.x.0) * f64::from(i) / 4.0;
        let x = at(axes.x(value));
        let _ = write!(
            ticks,
            r#"<path class="axis" d="M{x} {ground}v4"/><text x="{x}" y="{}" text-anchor="middle">{}</text>"#,
            at(TOP + PLOT.1 + 16.0),
            tick(value)
        );
    }
    for share in [0.0, axes.top / 2.0, axes.top] {
        let y = axes.y(share);
        let _ = write!(
            ticks,
            r#"<path class="hair" d="M{} {}h{}"/><text x="{}" y="{}" text-anchor="end">{}{}</text>"#,
            at(LEFT),
            at(y),
            at(PLOT.0),
            at(LEFT - 5.0),
            at(y + 4.0),
            tick(share * 100.0),
            if share == 0.0 { "" } else { "\u{202f}%" }
        );
    }
    let id = &label.id;
    format!(
        r#"<svg viewBox="0 0 {} {}" role="img" aria-labelledby="{id}-t {id}-d"><title id="{id}-t">{}</title><desc id="{id}-d">{}</desc>{ticks}{inside}<path class="axis" d="M{} {ground}h{}"/><text x="{}" y="{}" text-anchor="middle">{}</text></svg>"#,
        at(width),
        at(height),
        escape(label.title),
        escape(label.text),
        at(LEFT),
        at(PLOT.0),
        at(LEFT + PLOT.0 / 2.0),
        at(height - 4.0),
        escape(below),
    )
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

/// Histogram of score changes with a line at no change.
pub(crate) fn change(
    bins: &[HistogramBin],
    axes: &HistogramAxes,
    label: &DrawingLabel<'_>,
) -> String {
    let zero = at(axes.x(0.0));
    let inside = format!(
        r#"<path class="area" d="{}"/><path class="guide" d="M{zero} {}V{}"/>"#,
        outline(bins, axes, true),
        at(TOP),
        at(TOP + PLOT.1)
    );
    frame(label, axes, "change of the score, counterfactual minus factual", &inside)
}

/// Factual scores as an area, counterfactual scores as a line, thresholds as dashed lines.
pub(crate) fn scores(
    original: &[HistogramBin],
    counterfactual: &[HistogramBin],
    thresholds: &[f64],
    axes: &HistogramAxes,
    label: &DrawingLabel<'_>,
) -> String {
    let mut inside = format!(
        r#"<path class="area" d="{}"/><path class="line" d="{}"/>"#,
        outline(original, axes, true),
        outline(counterfactual, axes, false)
    );
    for threshold in thresholds {
        let _ = write!(
            inside,
            r#"<path class="guide" d="M{} {}V{}"/>"#,
            at(axes.x(*threshold)),
            at(TOP),
            at(TOP + PLOT.1)
        );
    }
    frame(label, axes, "score: area factual, line counterfactual, dashed threshold", &inside)
}

/// A value on an axis, with what surrounds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IntervalWhisker {
    /// The value.
    pub(crate) value: f64,
    /// Its interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// What noise alone gives.
    pub(crate) noise: Option<(f64, f64)>,
}

/// Up to two values with their intervals on one axis from 0 to `end`: the first a dot, the second a
/// ring; what noise alone gives is a bar behind each. The numbers stand beside it, so it is hidden
/// from screen readers.
pub(crate) fn whiskers(values: &[IntervalWhisker], end: f64) -> String {
    let x = |value: f64| at(4.0 + (value / end).clamp(0.0, 1.0) * 152.0);
    let mut svg = String::from(
        r#"<svg class="whisker" viewBox="0 0 160 28" aria-hidden="true"><path class="hair" d="M4 2v24M80 2v24M156 2v24"/>"#,
    );
    for (i, IntervalWhisker { value, interval, noise }) in values.iter().take(2).enumerate() {
        let y = if values.len() == 1 { 14 } else { 9 + 10 * i };
        if let Some((lo, hi)) = noise.filter(|(lo, hi)| lo < hi) {
            let _ = write!(svg, r#"<path class="area" d="M{} {}v8H{}v-8z"/>"#, x(lo), y - 4, x(hi));
        }
        if let Some((lo, hi)) = interval {
            let _ = write!(svg, r#"<path class="axis" d="M{} {y}H{}"/>"#, x(*lo), x(*hi));
        }
        let class = if i == 0 { "dot" } else { "ring" };
        let _ = write!(svg, r#"<circle class="{class}" cx="{}" cy="{y}" r="3.5"/>"#, x(*value));
    }
    svg.push_str("</svg>");
    svg
}

/// An old value as a ring and a new one as a dot, joined, on an axis from 0 to `end`. The numbers
/// stand beside it, so it is hidden from screen readers.
pub(crate) fn dumbbell(old: f64, new: f64, end: f64) -> String {
    let x = |value: f64| at(4.0 + (value / end).clamp(0.0, 1.0) * 152.0);
    format!(
        r#"<svg class="whisker" viewBox="0 0 160 28" aria-hidden="true"><path class="hair" d="M4 2v24M80 2v24M156 2v24"/><path class="axis" d="M{} 14H{}"/><circle class="ring" cx="{}" cy="14" r="4.5"/><circle class="dot" cx="{}" cy="14" r="3.5"/></svg>"#,
        x(old.min(new)),
        x(old.max(new)),
        x(old),
        x(new)
    )
}

/// What a histogram of changes shows, in words: shares (by weight where cases are `weighted`) that
/// fall, stay within one bin of zero, and rise.
pub(crate) fn change_in_words(bins: &[HistogramBin], weighted: bool) -> String {
    let all = size(bins);
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
    use super::{
        DrawingLabel, HistogramAxes, IntervalWhisker, change, change_in_words, round_up, verdict,
        whiskers,
    };
    use crate::report::read::tally::WeightedCount;

    #[test]
    fn words_are_escaped_and_paths_are_short() {
        let bins: Vec<_> = (0..80)
            .map(|i| {
                (
                    f64::from(i) / 40.0 - 1.0,
                    f64::from(i + 1) / 40.0 - 1.0,
                    WeightedCount::from_count(i64::from(i % 7)),
                )
            })
            .collect();
        let label =
            DrawingLabel { id: "x".to_owned(), title: "<script>", text: "a \"b\" & 'c'\u{0}" };
        let svg = change(&bins, &HistogramAxes { x: (-1.0, 1.0), top: 0.05 }, &label);
        assert!(
            svg.contains("&lt;script&gt;")
                && svg.contains("a &quot;b&quot; &amp; &#39;c&#39;\u{2400}")
                && !svg.contains("<script>")
        );
        assert!(svg.contains(r#"role="img" aria-labelledby="x-t x-d""#));
        assert!(svg.len() < 3500, "{}", svg.len());
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, end) in [
            (0.13, 0.2),
            (0.2, 0.2),
            (0.21, 0.5),
            (0.6, 1.0),
            (7.0, 10.0),
            (0.0, 1.0),
            (f64::NAN, 1.0),
        ] {
            assert!((round_up(value) - end).abs() < 1e-12, "{value}: {}", round_up(value));
        }
    }

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
    fn every_verdict_has_a_shape_of_its_own() {
        let shapes: std::collections::BTreeSet<String> =
            ["pass", "fail", "inconclusive", "warn", "done"]
                .iter()
                .map(|v| verdict(v, ""))
                .collect();
        assert_eq!(shapes.len(), 5);
        let whisker = |value, interval, noise| IntervalWhisker { value, interval, noise };
        let svg = whiskers(
            &[
                whisker(0.1, Some((0.05, 0.2)), Some((0.02, 0.05))),
                whisker(2.0, None, Some((0.0, 0.0))),
            ],
            0.2,
        );
        assert!(
            svg.contains("ring") && svg.contains(r#"<path class="area" d="M19.2 5v8H42v-8z"/>"#),
            "{svg}"
        );
        assert_eq!(svg.matches("area").count(), 1, "no bar for noise that is nothing");
    }
}
