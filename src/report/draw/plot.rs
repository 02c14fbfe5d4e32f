//! The kit of all charts of the page: a linear scale in per cent of the plot's width, round axes,
//! and the marks that are on it.
//!
//! Nothing is scaled: an `svg` is as wide as its cell and has a fixed height, every mark is a
//! `rect`, `line`, `use` or `text` whose x is a per cent of the plot, `100 (v - lo) / (hi - lo)`,
//! so text keeps its size on a phone and on paper. Only curves are in an inner `svg` with a
//! `viewBox` that is stretched. Colours come from the classes of the style sheet. Each distinction
//! is made twice: lost is hatched and points down, gained is plain and points up.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::report::page::number;
use crate::report::visible::visible;

/// Text for SVG and HTML.
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

/// The marks that `use` takes, and the patterns of fills; once on every page.
pub(crate) const DEFS: &str = concat!(
    r##"<svg width="0" height="0" class="defs" aria-hidden="true" focusable="false"><defs>"##,
    r##"<path id="dn" d="M-5.5-4.6H5.5L0 5.4Z"/><path id="up" d="M-5.5 4.6H5.5L0-5.4Z"/>"##,
    r##"<circle id="dot" r="5"/><circle id="ring" r="4.5"/><path id="end" d="M0-3V3"/>"##,
    r##"<rect id="sq" x="-4.5" y="-4.5" width="9" height="9"/>"##,
    r##"<path id="tip" d="M-7-4.5L0 0L-7 4.5Z"/>"##,
    r##"<symbol id="i-fail" viewBox="0 0 20 20"><path fill="none" stroke="currentColor" "##,
    r##"stroke-width="3" stroke-linecap="round" d="M5 5L15 15M15 5L5 15"/></symbol>"##,
    r##"<symbol id="i-pass" viewBox="0 0 20 20"><path fill="none" stroke="currentColor" "##,
    r##"stroke-width="2.8" stroke-linecap="round" stroke-linejoin="round" "##,
    r##"d="M3.5 11L8 15.5L16.5 5"/></symbol>"##,
    r##"<symbol id="i-unsure" viewBox="0 0 20 20"><path fill="none" stroke="currentColor" "##,
    r##"stroke-width="2.4" stroke-linecap="round" d="M6 7.2C6 4.6 7.8 3.4 10 3.4S14 4.8 14 7"##,
    "C14 9.6 10 9.6 10 12.6\"/><circle cx=\"10\" cy=\"16.6\" r=\"1.7\" \
     fill=\"currentColor\"/></symbol>",
    r##"<symbol id="i-none" viewBox="0 0 20 20"><path fill="none" stroke="currentColor" "##,
    r##"stroke-width="2.6" stroke-linecap="round" d="M4.5 10H15.5"/></symbol>"##,
    r##"<symbol id="i-wait" viewBox="0 0 20 20"><path fill="none" stroke="currentColor" "##,
    r##"stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round" "##,
    r##"d="M5 3H15M5 17H15M6 3C6 8 14 12 14 17M14 3C14 8 6 12 6 17"/></symbol>"##,
    r##"<symbol id="i-made" viewBox="0 0 20 20"><path fill="none" stroke="currentColor" "##,
    "stroke-width=\"2.4\" stroke-linecap=\"round\" d=\"M3 17L17 3M3 10L10 3M10 17L17 \
     10\"/></symbol>",
    r##"<pattern id="p-lost" width="7" height="7" patternUnits="userSpaceOnUse" "##,
    r##"patternTransform="rotate(45)"><rect class="f-lost" width="7" height="7"/>"##,
    r##"<line class="f-paper" x1="0" x2="0" y1="0" y2="7"/></pattern>"##,
    r##"<pattern id="p-no" width="5" height="5" patternUnits="userSpaceOnUse" "##,
    r##"patternTransform="rotate(-45)"><rect class="f-panel" width="5" height="5"/>"##,
    r##"<line class="f-no" x1="0" x2="0" y1="0" y2="5"/></pattern>"##,
    r##"</defs></svg>"##,
);

/// What the numbers of an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AxisUnit {
    /// Shares, written in per cent.
    Percent,
    /// Differences of shares, written in percentage points.
    Points,
    /// Plain numbers.
    Number,
}

impl AxisUnit {
    fn factor(self) -> f64 {
        if self == AxisUnit::Number { 1.0 } else { 100.0 }
    }

    /// A value on the axis without its unit.
    pub(crate) fn label(self, value: f64) -> String {
        // What rounding left of a product is not a digit.
        let shown = (value * self.factor() * 1e9).round() / 1e9;
        let text = format!("{}", shown.abs());
        if shown < 0.0 { format!("\u{2212}{text}") } else { text }
    }

    /// A value on the axis with its unit.
    pub(crate) fn label_with_unit(self, value: f64) -> String {
        let unit = if self == AxisUnit::Percent { "\u{a0}%" } else { "" };
        self.label(value) + unit
    }
}

/// A linear scale: values to per cent of the plot's width.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlotScale {
    lo: f64,
    hi: f64,
}

impl PlotScale {
    /// From `lo` to `hi`; a scale without width, or of what is not a number, is one from 0 to 1.
    pub(crate) fn new(lo: f64, hi: f64) -> Self {
        let sound = lo.is_finite() && hi.is_finite() && hi > lo;
        if sound { PlotScale { lo, hi } } else { PlotScale { lo: 0.0, hi: 1.0 } }
    }

    /// From 0 to the round number that is not below any of the values, at most `cap`.
    pub(crate) fn from_zero(values: impl Iterator<Item = f64>, cap: f64) -> Self {
        let most = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        PlotScale::new(0.0, round_up(most).min(cap))
    }

    /// Around all the values and 0, with round ends.
    pub(crate) fn around_zero(values: impl Iterator<Item = f64>) -> Self {
        let (lo, hi) = values
            .filter(|v| v.is_finite())
            .fold((0.0, 0.0), |(lo, hi), v| (f64::min(lo, v), f64::max(hi, v)));
        let step = step(hi - lo);
        PlotScale::new((lo / step - 1e-9).floor() * step, (hi / step - 1e-9).ceil() * step)
    }

    /// The two ends.
    pub(crate) fn ends(self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// Per cent of the width, 0 to 100: what lies outside is at the end.
    pub(crate) fn at(self, value: f64) -> f64 {
        let share = (value - self.lo) / (self.hi - self.lo) * 100.0;
        if share.is_finite() { share.clamp(0.0, 100.0) } else { 0.0 }
    }

    /// The same as an attribute.
    pub(crate) fn x(self, value: f64) -> String {
        percent(self.at(value))
    }

    /// Round values from end to end, at most seven.
    pub(crate) fn ticks(self) -> Vec<f64> {
        let step = step(self.hi - self.lo);
        let first = (self.lo / step - 1e-9).ceil();
        (0..7)
            .map(|i| (first + f64::from(i)) * step)
            .take_while(|tick| *tick <= self.hi + step * 1e-6)
            .collect()
    }
}

/// A per cent as an attribute, with at most two decimals.
pub(crate) fn percent(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}%", if text.is_empty() || text == "-0" { "0" } else { text })
}

/// A round number not below `value`: a short one times a power of ten; 1 for what is not above 0.
pub(crate) fn round_up(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return 1.0;
    }
    let unit = number::unit(value);
    [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]
        .into_iter()
        .map(|m| m * unit)
        .find(|end| *end >= value * (1.0 - 1e-9))
        .unwrap_or(10.0 * unit)
}

/// The distance of ticks on an axis of this width: 1, 2, 2.5 or 5 times a power of ten, so that
/// four to seven fit.
fn step(width: f64) -> f64 {
    if !(width > 0.0 && width.is_finite()) {
        return 1.0;
    }
    let unit = number::unit(width / 4.0);
    let fits = |step: &f64| width / step <= 4.0 + 1e-9;
    [1.0, 2.0, 2.5, 5.0].into_iter().map(|m| m * unit).find(fits).unwrap_or(10.0 * unit)
}

/// Which way a switch goes: the hue, the shape and the word of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SwitchSide {
    /// The favourable decision is lost.
    Lost,
    /// It is gained.
    Gained,
    /// The prediction is another one, and nobody says which is better.
    Either,
}

impl SwitchSide {
    /// The shape of its mark and the class of its hue.
    pub(crate) fn mark(self) -> (&'static str, &'static str) {
        match self {
            SwitchSide::Lost => ("dn", "lost"),
            SwitchSide::Gained => ("up", "gain"),
            SwitchSide::Either => ("dot", ""),
        }
    }

    /// The triangle as a letter, with the class of its hue.
    pub(crate) fn letter(self) -> (&'static str, &'static str) {
        match self {
            SwitchSide::Lost => ("\u{25bc}", "lostword"),
            SwitchSide::Gained => ("\u{25b2}", "gainword"),
            SwitchSide::Either => ("\u{25cf}", "sideword"),
        }
    }
}

/// A value with what surrounds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlotPoint {
    /// The value.
    pub(crate) value: f64,
    /// The interval of people.
    pub(crate) interval: Option<(f64, f64)>,
    /// The interval of another doubt, such as that of graphs.
    pub(crate) second: Option<(f64, f64)>,
}

impl PlotPoint {
    /// The value and all ends.
    pub(crate) fn extent(self) -> impl Iterator<Item = f64> {
        let ends = self.interval.into_iter().chain(self.second);
        std::iter::once(self.value).chain(ends.flat_map(|(lo, hi)| [lo, hi]))
    }
}

/// Hairlines at the ticks, and the line of zero.
pub(crate) fn grid(scale: PlotScale) -> String {
    let (lo, hi) = scale.ends();
    let mut svg = String::new();
    for tick in scale.ticks().into_iter().filter(|tick| *tick > lo && *tick != 0.0) {
        vertical(&mut svg, "g", &scale.x(tick));
    }
    if lo <= 0.0 && hi >= 0.0 {
        vertical(&mut svg, "z", &scale.x(0.0));
    }
    svg
}

/// A line over the whole height.
pub(crate) fn vertical(svg: &mut String, class: &str, x: &str) {
    let _ = write!(svg, r#"<line class="{class}" x1="{x}" x2="{x}" y1="0" y2="100%"/>"#);
}

fn moved(dy: f64) -> String {
    if dy == 0.0 { String::new() } else { format!(r#" transform="translate(0 {dy})""#) }
}

/// A thick line over an interval, in the middle of the row or so many pixels off.
pub(crate) fn whisker(scale: PlotScale, (lo, hi): (f64, f64), class: &str, dy: f64) -> String {
    let [x1, x2] = [lo, hi].map(|v| scale.x(v));
    let class = if class.is_empty() { "w".to_owned() } else { format!("w {class}") };
    format!(r#"<line class="{class}" x1="{x1}" x2="{x2}" y1="50%" y2="50%"{}/>"#, moved(dy))
}

/// A thin line with ends over another interval.
pub(crate) fn second_whisker(scale: PlotScale, (lo, hi): (f64, f64), dy: f64) -> String {
    let [x1, x2] = [lo, hi].map(|v| scale.x(v));
    format!(
        "<g class=\"w2\"{}><line x1=\"{x1}\" x2=\"{x2}\" y1=\"50%\" y2=\"50%\"/><use href=\"#end\" \
         x=\"{x1}\" y=\"50%\"/><use href=\"#end\" x=\"{x2}\" y=\"50%\"/></g>",
        moved(dy)
    )
}

/// A mark in the middle of the row.
pub(crate) fn mark(scale: PlotScale, value: f64, shape: &str, class: &str, dy: f64) -> String {
    let class = if class.is_empty() { "m".to_owned() } else { format!("m {class}") };
    format!(
        r##"<use href="#{shape}" class="{class}" x="{}" y="50%"{}/>"##,
        scale.x(value),
        moved(dy)
    )
}

/// A drawing of one row of a table, described by its title.
fn row(title: &str, inside: &str) -> String {
    format!(r#"<svg role="img"><title>{}</title>{inside}</svg>"#, escape(title))
}

/// On which side of a limit a value must not lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ForbiddenSide {
    /// Above it.
    Above,
    /// Below it.
    Below,
}

/// A value against a limit: a bar from zero, the limit as a line, its forbidden side hatched.
pub(crate) fn bullet(
    scale: PlotScale,
    point: PlotPoint,
    (limit, side): (f64, ForbiddenSide),
    title: &str,
) -> String {
    let (lo, hi) = scale.ends();
    let (from, to) = match side {
        ForbiddenSide::Above => (scale.at(limit), scale.at(hi)),
        ForbiddenSide::Below => (scale.at(lo), scale.at(limit)),
    };
    let zero = scale.at(0.0);
    let at = scale.at(point.value);
    let mut svg = String::new();
    if to > from {
        let _ = write!(
            svg,
            r#"<rect class="no" x="{}" width="{}" y="12%" height="76%"/>"#,
            percent(from),
            percent(to - from)
        );
    }
    let _ = write!(
        svg,
        r#"<rect class="bar" x="{}" width="{}" y="33%" height="34%"/>"#,
        percent(zero.min(at)),
        percent((at - zero).abs())
    );
    vertical(&mut svg, "z", &scale.x(0.0));
    vertical(&mut svg, "lim", &scale.x(limit));
    let dy = if point.second.is_some() { -2.0 } else { 0.0 };
    if let Some(ends) = point.interval {
        svg.push_str(&whisker(scale, ends, "", dy));
    }
    if let Some(ends) = point.second {
        svg.push_str(&second_whisker(scale, ends, 6.0));
    }
    svg.push_str(&mark(scale, point.value, "dot", "", dy));
    row(title, &svg)
}

/// A share of people who switch: its intervals, the result of shuffled groups as a band behind,
/// and the limit where there is one.
pub(crate) fn forest_row(
    scale: PlotScale,
    point: PlotPoint,
    side: SwitchSide,
    band: Option<(f64, f64)>,
    limit: Option<f64>,
    title: &str,
) -> String {
    let mut svg = grid(scale);
    if let Some((lo, hi)) = band.filter(|(lo, hi)| lo < hi) {
        let (from, to) = (scale.at(lo), scale.at(hi));
        let _ = write!(
            svg,
            r#"<rect class="band" x="{}" width="{}" y="15%" height="70%"/>"#,
            percent(from),
            percent(to - from)
        );
    }
    if let Some(limit) = limit {
        vertical(&mut svg, "lim", &scale.x(limit));
    }
    let (shape, hue) = side.mark();
    let dy = if point.second.is_some() { -3.0 } else { 0.0 };
    if let Some(ends) = point.interval {
        svg.push_str(&whisker(scale, ends, hue, dy));
    }
    if let Some(ends) = point.second {
        svg.push_str(&second_whisker(scale, ends, 5.0));
    }
    svg.push_str(&mark(scale, point.value, shape, hue, dy));
    row(title, &svg)
}

/// A share of a group with its interval, and another share of it as a ring.
pub(crate) fn group_row(
    scale: PlotScale,
    point: PlotPoint,
    ring: Option<f64>,
    title: &str,
) -> String {
    let mut svg = grid(scale);
    if let Some(ends) = point.interval {
        svg.push_str(&whisker(scale, ends, "", 0.0));
    }
    if let Some(ring) = ring {
        svg.push_str(&mark(scale, ring, "ring", "open grey", 0.0));
    }
    svg.push_str(&mark(scale, point.value, "dot", "", 0.0));
    row(title, &svg)
}

/// A value before as a ring and after as a dot, joined by a line that is thick where the change is
/// clear.
pub(crate) fn dumbbell_row(
    scale: PlotScale,
    (before, after): (f64, f64),
    clear: bool,
    title: &str,
) -> String {
    let mut svg = grid(scale);
    let class = if clear { "" } else { "faint" };
    svg.push_str(&whisker(scale, (before.min(after), before.max(after)), class, 0.0));
    svg.push_str(&mark(scale, before, "ring", "open", 0.0));
    svg.push_str(&mark(scale, after, "dot", "", 0.0));
    row(title, &svg)
}

/// The row of a group of several: its share as it is as a ring, as members of the reference as a
/// triangle, and a dashed line through all rows for the reference as it is.
pub(crate) fn share_row(
    scale: PlotScale,
    as_they_are: f64,
    as_reference: Option<f64>,
    reference: Option<f64>,
    title: &str,
) -> String {
    let mut svg = grid(scale);
    if let Some(reference) = reference {
        vertical(&mut svg, "refline", &scale.x(reference));
    }
    match as_reference {
        None => svg.push_str(&mark(scale, as_they_are, "dot", "", 0.0)),
        Some(other) => {
            let side = if other < as_they_are { SwitchSide::Lost } else { SwitchSide::Gained };
            let (shape, hue) = side.mark();
            let ends = (as_they_are.min(other), as_they_are.max(other));
            svg.push_str(&whisker(scale, ends, hue, 0.0));
            svg.push_str(&mark(scale, as_they_are, "ring", "open", 0.0));
            svg.push_str(&mark(scale, other, shape, hue, 0.0));
        }
    }
    row(title, &svg)
}

/// The numbers below, or above, the rows of a table: the label of the limit always stands, and a
/// tick that is nearer to it than its letters need goes.
pub(crate) fn axis(scale: PlotScale, unit: AxisUnit, limit: Option<(f64, &str)>) -> String {
    let mut svg = String::from(r#"<svg aria-hidden="true">"#);
    let at_limit = limit.map(|(limit, label)| (scale.at(limit), label));
    let ticks = scale.ticks();
    for (i, tick) in ticks.iter().enumerate() {
        let x = scale.at(*tick);
        let near =
            |(at, label): (f64, &str)| (x - at).abs() < 12.0 + 1.1 * label.chars().count() as f64;
        if at_limit.is_some_and(near) {
            continue;
        }
        let last = i + 1 == ticks.len();
        let label = if last { unit.label_with_unit(*tick) } else { unit.label(*tick) };
        let _ = write!(svg, r#"<text x="{}" y="12" class="t">{label}</text>"#, percent(x));
    }
    if let Some((at, label)) = at_limit {
        let anchor = if at < 8.0 {
            " st"
        } else if at > 92.0 {
            " en"
        } else {
            ""
        };
        let _ = write!(
            svg,
            r#"<text x="{}" y="12" class="t lt{anchor}">{}</text>"#,
            percent(at),
            escape(label)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The drawing of a legend's key, 30 pixels wide.
pub(crate) fn key(kind: KeyShape) -> &'static str {
    match kind {
        KeyShape::Interval => {
            "<svg aria-hidden=\"true\"><line class=\"w\" x1=\"2\" x2=\"28\" y1=\"8\" \
             y2=\"8\"/><use href=\"#dot\" class=\"m\" x=\"15\" y=\"8\"/></svg>"
        }
        KeyShape::Second => {
            "<svg aria-hidden=\"true\"><g class=\"w2\"><line x1=\"2\" x2=\"28\" y1=\"8\" \
             y2=\"8\"/><use href=\"#end\" x=\"2\" y=\"8\"/><use href=\"#end\" x=\"28\" \
             y=\"8\"/></g></svg>"
        }
        KeyShape::Band => {
            "<svg aria-hidden=\"true\"><rect class=\"band\" x=\"2\" y=\"2\" width=\"26\" \
             height=\"12\"/></svg>"
        }
        KeyShape::Limit => {
            r##"<svg aria-hidden="true"><line class="lim" x1="15" x2="15" y1="0" y2="16"/></svg>"##
        }
        KeyShape::Ring => {
            r##"<svg aria-hidden="true"><use href="#ring" class="m open" x="15" y="8"/></svg>"##
        }
        KeyShape::GreyRing => {
            "<svg aria-hidden=\"true\"><use href=\"#ring\" class=\"m open grey\" x=\"15\" \
             y=\"8\"/></svg>"
        }
        KeyShape::Dot => {
            r##"<svg aria-hidden="true"><use href="#dot" class="m" x="15" y="8"/></svg>"##
        }
        KeyShape::Triangle => {
            "<svg aria-hidden=\"true\"><use href=\"#up\" class=\"m gain\" x=\"8\" y=\"8\"/><use \
             href=\"#dn\" class=\"m lost\" x=\"22\" y=\"8\"/></svg>"
        }
        KeyShape::Reference => {
            "<svg aria-hidden=\"true\"><line class=\"refline\" x1=\"15\" x2=\"15\" y1=\"0\" \
             y2=\"16\"/></svg>"
        }
        KeyShape::Area => {
            "<svg aria-hidden=\"true\"><rect class=\"area sl\" x=\"2\" y=\"3\" width=\"26\" \
             height=\"10\"/></svg>"
        }
        KeyShape::Dashes => {
            "<svg aria-hidden=\"true\"><line class=\"ln thin dash\" x1=\"2\" x2=\"28\" y1=\"8\" \
             y2=\"8\"/></svg>"
        }
        KeyShape::Line => {
            r##"<svg aria-hidden="true"><line class="ln" x1="2" x2="28" y1="8" y2="8"/></svg>"##
        }
    }
}

/// What a key represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyShape {
    /// A value with the interval of people.
    Interval,
    /// The interval of another doubt.
    Second,
    /// What shuffled groups give.
    Band,
    /// A limit.
    Limit,
    /// Before.
    Ring,
    /// Another share.
    GreyRing,
    /// After.
    Dot,
    /// Gained and lost.
    Triangle,
    /// The reference group.
    Reference,
    /// A distribution as an area.
    Area,
    /// A distribution as a line.
    Line,
    /// A distribution as a dashed line.
    Dashes,
}

#[cfg(test)]
mod tests {
    use super::{
        AxisUnit, DEFS, ForbiddenSide, KeyShape, PlotPoint, PlotScale, SwitchSide, axis, bullet,
        dumbbell_row, forest_row, group_row, key, percent, round_up, share_row,
    };

    const BARE: PlotPoint = PlotPoint { value: 0.0, interval: None, second: None };

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, end) in [
            (0.13, 0.15),
            (0.2, 0.2),
            (0.21, 0.25),
            (0.48, 0.5),
            (0.55, 0.6),
            (0.91, 1.0),
            (7.0, 8.0),
            (0.0, 1.0),
            (-3.0, 1.0),
            (f64::NAN, 1.0),
            (f64::INFINITY, 1.0),
        ] {
            assert!((round_up(value) - end).abs() < 1e-12, "{value}: {}", round_up(value));
        }
        let scale = PlotScale::from_zero([0.48, f64::NAN, 0.2].into_iter(), 1.0);
        assert_eq!(scale.ends(), (0.0, 0.5));
        assert_eq!(PlotScale::from_zero([0.97].into_iter(), 1.0).ends(), (0.0, 1.0));
        assert_eq!(PlotScale::new(3.0, 3.0).ends(), (0.0, 1.0), "no width");
        let (lo, hi) = PlotScale::around_zero([-0.013, 0.041].into_iter()).ends();
        assert!((lo + 0.02).abs() < 1e-12 && (hi - 0.06).abs() < 1e-12, "{lo} {hi}");
    }

    #[test]
    fn ticks_are_round_and_few() {
        let shown = |lo: f64, hi: f64| {
            let ticks = PlotScale::new(lo, hi).ticks();
            ticks.into_iter().map(|t| AxisUnit::Percent.label(t)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(0.0, 0.6), "0 20 40 60");
        assert_eq!(shown(0.0, 1.0), "0 25 50 75 100");
        assert_eq!(shown(0.0, 0.015), "0 0.5 1 1.5");
        assert_eq!(shown(-0.02, 0.06), "\u{2212}2 0 2 4 6");
        assert_eq!(AxisUnit::Number.label_with_unit(0.8), "0.8");
        assert_eq!(AxisUnit::Percent.label_with_unit(0.1), "10\u{a0}%");
    }

    #[test]
    fn marks_stand_in_per_cent_and_never_outside() {
        let scale = PlotScale::new(0.0, 0.6);
        assert_eq!(
            [0.0, 0.1, 0.3, 0.6, 0.9, -1.0].map(|v| scale.x(v)),
            ["0%", "16.67%", "50%", "100%", "100%", "0%"]
        );
        assert_eq!(scale.x(f64::NAN), "0%");
        assert_eq!(percent(-0.0), "0%");
    }

    #[test]
    fn a_bullet_hatches_the_forbidden_side() {
        let scale = PlotScale::new(0.0, 0.6);
        let point =
            PlotPoint { value: 0.46, interval: Some((0.44, 0.48)), second: Some((0.1, 0.6)) };
        let above = bullet(scale, point, (0.1, ForbiddenSide::Above), "x");
        assert!(above.contains(r#"<rect class="no" x="16.67%" width="83.33%""#), "{above}");
        assert!(above.contains(r#"<line class="lim" x1="16.67%""#));
        assert!(above.contains(r#"<rect class="bar" x="0%" width="76.67%""#));
        assert_eq!(above.matches("#end").count(), 2);
        let below = bullet(scale, point, (0.3, ForbiddenSide::Below), "x");
        assert!(below.contains(r#"<rect class="no" x="0%" width="50%""#), "{below}");
        // A limit at the end of the scale forbids nothing that is drawn.
        let none = bullet(scale, BARE, (0.6, ForbiddenSide::Above), "x");
        assert!(!none.contains("class=\"no\"") && !none.contains("class=\"w\""), "{none}");
        let change = bullet(
            PlotScale::new(-0.02, 0.02),
            PlotPoint { value: -0.01, ..BARE },
            (0.01, ForbiddenSide::Above),
            "x",
        );
        assert!(change.contains(r#"<rect class="bar" x="25%" width="25%""#), "{change}");
    }

    #[test]
    fn lost_points_down_and_gained_up() {
        let scale = PlotScale::new(0.0, 1.0);
        let point = PlotPoint { value: 1.0, interval: Some((0.9, 1.0)), second: None };
        let lost = forest_row(scale, point, SwitchSide::Lost, Some((0.0, 0.0)), None, "x");
        assert!(lost.contains("#dn") && lost.contains("w lost") && !lost.contains("band"));
        let gained =
            forest_row(scale, point, SwitchSide::Gained, Some((0.01, 0.02)), Some(0.1), "x");
        assert!(gained.contains("#up") && gained.contains("band") && gained.contains("lim"));
        assert_eq!(SwitchSide::Lost.letter().1, "lostword");
        let down = share_row(scale, 0.4, Some(0.2), Some(0.4), "x");
        assert!(down.contains("#dn") && down.contains("refline"));
        assert!(share_row(scale, 0.4, None, None, "x").contains("#dot"));
        let faint = dumbbell_row(scale, (0.2, 0.1), false, "x");
        assert!(faint.contains(r#"w faint" x1="10%" x2="20%""#), "{faint}");
        assert!(group_row(scale, point, Some(0.5), "x").contains("open grey"));
    }

    #[test]
    fn the_label_of_the_limit_wins() {
        let drawn = axis(PlotScale::new(0.0, 0.6), AxisUnit::Percent, Some((0.1, "limit 10 %")));
        assert!(!drawn.contains(">0<") && !drawn.contains(">20<"), "{drawn}");
        assert!(drawn.contains(">40<") && drawn.contains(">60\u{a0}%<"), "{drawn}");
        let at_zero = axis(PlotScale::new(0.0, 0.6), AxisUnit::Percent, Some((0.0, "limit 0 %")));
        assert!(at_zero.contains("lt st"), "{at_zero}");
        assert!(axis(PlotScale::new(0.0, 1.0), AxisUnit::Number, None).contains(">0.25<"));
    }

    #[test]
    fn names_are_escaped_and_every_mark_is_defined() {
        let row = group_row(PlotScale::new(0.0, 1.0), BARE, None, "<script>\"&'\u{0}");
        assert!(row.contains("&lt;script&gt;&quot;&amp;&#39;\u{2400}"), "{row}");
        for shape in ["dn", "up", "dot", "ring", "end", "tip", "i-fail", "p-lost", "p-no"] {
            assert!(DEFS.contains(&format!("id=\"{shape}\"")), "{shape}");
        }
        for kind in [KeyShape::Interval, KeyShape::Triangle, KeyShape::Reference] {
            assert!(key(kind).starts_with("<svg aria-hidden"));
        }
    }
}
