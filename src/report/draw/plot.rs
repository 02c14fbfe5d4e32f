//! The kit of all charts of the page: a linear scale in per cent of the plot's width, round axes,
//! and the rows and plots that are drawn on it.
//!
//! Nothing is scaled: an `svg` is as wide as its cell and has a fixed height, every mark is a
//! `rect`, `line`, `use` or `text` whose x is a per cent of the plot, `100 (v - lo) / (hi - lo)`,
//! so text keeps its size on a phone and on paper. Only curves are in an inner `svg` with a
//! `viewBox` that is stretched. Each distinction is made twice: lost is hatched and points down,
//! gained is plain and points up.

use serde::{Deserialize, Serialize};

use crate::report::draw::svg::{MarkPlace, Percent, Svg, anchor};
use crate::report::page::number;

/// The marks that `use` takes, and the patterns of fills; once on every page.
pub(crate) const DEFS: &str = include_str!("defs.html");

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
        // Digits that come from rounding a product are dropped.
        let shown = (value * self.factor() * 1e9).round() / 1e9;
        let text = format!("{}", shown.abs());
        if shown < 0.0 { format!("\u{2212}{text}") } else { text }
    }

    /// A value on the axis with its unit.
    pub(crate) fn label_with_unit(self, value: f64) -> String {
        let unit = if self == AxisUnit::Percent { "\u{a0}%" } else { "" };
        self.label(value) + unit
    }

    /// Ticks with their labels, the last one with the unit.
    pub(crate) fn labelled(self, ticks: &[f64]) -> impl Iterator<Item = (f64, String)> {
        let last = ticks.len().saturating_sub(1);
        ticks.iter().enumerate().map(move |(i, &tick)| {
            (tick, if i == last { self.label_with_unit(tick) } else { self.label(tick) })
        })
    }
}

/// A linear scale: values to per cent of the plot's width.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlotScale {
    lo: f64,
    hi: f64,
}

impl PlotScale {
    /// A scale from `lo` to `hi`; a scale without width, or of what is not a number, is one from 0
    /// to 1.
    pub(crate) fn new(lo: f64, hi: f64) -> Self {
        let sound = lo.is_finite() && hi.is_finite() && hi > lo;
        if sound { PlotScale { lo, hi } } else { PlotScale { lo: 0.0, hi: 1.0 } }
    }

    /// A scale from 0 to the round number that is not below any of the values, at most `cap`.
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

    /// The place of a value.
    pub(crate) fn x(self, value: f64) -> Percent {
        Percent(self.at(value))
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SwitchSide {
    /// The favourable decision is lost.
    Lost,
    /// It is gained.
    Gained,
    /// The prediction is another one, and it is not known which is better.
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

    /// The shape as a letter.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            SwitchSide::Lost => "\u{25bc}",
            SwitchSide::Gained => "\u{25b2}",
            SwitchSide::Either => "\u{25cf}",
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
    /// A value with the interval of people.
    pub(crate) fn new(value: f64, interval: Option<(f64, f64)>) -> Self {
        PlotPoint { value, interval, second: None }
    }

    /// The value and all ends.
    pub(crate) fn extent(self) -> impl Iterator<Item = f64> {
        let ends = self.interval.into_iter().chain(self.second);
        std::iter::once(self.value).chain(ends.flat_map(|(lo, hi)| [lo, hi]))
    }
}

/// The side of a limit on which a value must not lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ForbiddenSide {
    /// Above it.
    Above,
    /// Below it.
    Below,
}

/// A limit as charts draw it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct DrawnLimit {
    /// Where it lies.
    pub(crate) drawn: f64,
    /// The side on which values must not lie.
    pub(crate) forbidden: ForbiddenSide,
    /// Its unit.
    pub(crate) unit: AxisUnit,
    /// As it is printed: `10 %`.
    pub(crate) amount: String,
}

impl DrawnLimit {
    /// What is next to its line.
    pub(crate) fn label(&self) -> String {
        format!("limit {}", self.amount)
    }
}

/// A mark in a row of a chart; without a position it is not drawn. Macros of `charts.html` say
/// which marks a row has.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowMark {
    /// The ticks, and zero.
    Grid,
    /// A bar of a class between two values, from a height and so high, in per cent.
    Span(String, Option<(f64, f64)>, f64, f64),
    /// A line from top to bottom.
    Line(String, Option<f64>),
    /// A whisker in the middle, of a hue.
    Whisker(String, Option<(f64, f64)>),
    /// A shape in the middle, of a hue.
    Mark(String, String, Option<f64>),
    /// A value as a shape in its hue, with its interval. Where it has a second range this is so far
    /// below, and the others are moved by so much.
    Point(PlotPoint, String, String, f64, f64),
}

/// A row of a chart.
pub(crate) fn plot_cell(scale: PlotScale, marks: &[RowMark], title: &str) -> String {
    let mut svg = Svg::default();
    let x = |value| scale.x(value);
    let whisker = |svg: &mut Svg, hue: &str, (a, b): (f64, f64), dy| {
        let ends = ([a.min(b), a.max(b)].map(x), ["50%"; 2]);
        svg.line_moved(&format!("w.{hue}"), ends, dy);
    };
    for mark in marks {
        match mark {
            RowMark::Grid => {
                let (lo, hi) = scale.ends();
                for tick in scale.ticks().into_iter().filter(|tick| *tick > lo && *tick != 0.0) {
                    svg.vertical("g", x(tick));
                }
                if lo <= 0.0 && hi >= 0.0 {
                    svg.vertical("z", x(0.0));
                }
            }
            RowMark::Span(class, Some((a, b)), top, height) => {
                let [from, to] = [a.min(*b), a.max(*b)].map(|value| scale.at(value));
                if to > from {
                    let y = [Percent(*top), Percent(*height)];
                    svg.rect(class, [Percent(from), Percent(to - from)], y);
                }
            }
            RowMark::Line(class, Some(at)) => svg.vertical(class, x(*at)),
            RowMark::Whisker(hue, Some(ends)) => whisker(&mut svg, hue, *ends, 0.0),
            RowMark::Mark(shape, hue, Some(at)) => {
                svg.mark(shape, &format!("m.{hue}"), x(*at), "50%");
            }
            RowMark::Point(point, shape, hue, off, below) => {
                let dy = if point.second.is_some() { *off } else { 0.0 };
                if let Some(ends) = point.interval {
                    whisker(&mut svg, hue, ends, dy);
                }
                if let Some((lo, hi)) = point.second {
                    second_whisker(&mut svg, [lo, hi].map(x), "50%", *below);
                }
                svg.mark_moved(shape, &format!("m.{hue}"), (x(point.value), "50%"), dy);
            }
            _ => {}
        }
    }
    svg.described("", None, (title, ""))
}

/// A thin line with ends over another interval.
pub(crate) fn second_whisker(svg: &mut Svg, x: [Percent; 2], y: impl MarkPlace, dy: f64) {
    let moved =
        if dy == 0.0 { String::new() } else { format!(r#" transform="translate(0 {dy})""#) };
    svg.raw(&format!(r#"<g class="w2"{moved}>"#));
    svg.line("", x, [y, y]);
    x.into_iter().for_each(|x| svg.mark("end", "", x, y));
    svg.raw("</g>");
}

/// The numbers below, or above, the rows of a table.
pub(crate) fn axis(scale: PlotScale, unit: AxisUnit, limit: Option<&DrawnLimit>) -> String {
    let mut svg = Svg::default();
    axis_numbers(&mut svg, unit, &scale.ticks(), (|v| scale.x(v), 12.0), limit, "t");
    svg.hidden("")
}

/// The numbers of an axis at a height: the label of the limit always stands, and a tick that is
/// nearer to it than its letters need goes. The last one has a class of its own.
pub(crate) fn axis_numbers(
    svg: &mut Svg,
    unit: AxisUnit,
    ticks: &[f64],
    (place, y): (impl Fn(f64) -> Percent, f64),
    limit: Option<&DrawnLimit>,
    last: &str,
) {
    let limit = limit.map(|limit| (place(limit.drawn), limit.label()));
    let is_free = |x: Percent| {
        limit.as_ref().is_none_or(|(at, label)| {
            (x.0 - at.0).abs() >= 12.0 + 1.1 * label.chars().count() as f64
        })
    };
    for (tick, label) in unit.labelled(ticks) {
        let class = if Some(&tick) == ticks.last() { last } else { "t" };
        let x = place(tick);
        if is_free(x) {
            svg.text(class, x, y, &label);
        }
    }
    if let Some((x, label)) = limit {
        let anchor = Some(anchor(x, 8.0)).filter(|of| *of != "mid").unwrap_or_default();
        svg.text(&format!("t.lt.{anchor}"), x, y, &label);
    }
}

/// Pixels below a plot, for its numbers.
const BELOW: f64 = 18.0;

/// A plot of two axes: across in per cent of the width, up in pixels.
pub(crate) struct Plot {
    pub(crate) across: PlotScale,
    pub(crate) up: PlotScale,
    /// Per cent of the width left of the axis, for the values of its lines.
    pub(crate) left: f64,
    /// Pixels above the plot, and of the plot.
    pub(crate) top: f64,
    pub(crate) height: f64,
    pub(crate) svg: Svg,
}

impl Plot {
    /// An empty one.
    pub(crate) fn new(across: PlotScale, up: PlotScale, [top, height]: [f64; 2]) -> Self {
        Plot { across, up, left: 0.0, top, height, svg: Svg::default() }
    }

    /// Where a value stands across.
    pub(crate) fn x(&self, value: f64) -> Percent {
        Percent(self.left + (100.0 - self.left) / 100.0 * self.across.at(value))
    }

    /// How high a value stands.
    pub(crate) fn y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.up.at(value) / 100.0)
    }

    /// The ends of the plot, from top to bottom.
    pub(crate) fn ends(&self) -> [f64; 2] {
        [self.top, self.top + self.height]
    }

    /// A point in per cent of the plot.
    pub(crate) fn place(&self, x: f64, y: f64) -> String {
        format!("{:.2} {:.2}", self.across.at(x), 100.0 - self.up.at(y))
    }

    /// Paths in per cent of the plot.
    pub(crate) fn stretched(&mut self, paths: &str) {
        self.svg.stretched([self.top, self.height], paths);
    }

    /// The side of a limit on which values must not lie.
    pub(crate) fn forbid(&mut self, limit: &DrawnLimit) {
        let (line, [top, bottom]) = (self.y(limit.drawn), self.ends());
        let (top, bottom) = match limit.forbidden {
            ForbiddenSide::Above => (top, line),
            ForbiddenSide::Below => (line, bottom),
        };
        self.svg.rect("no", ["0", "100%"], [top, bottom - top]);
    }

    /// A limit as a line across, with its label.
    pub(crate) fn limit(&mut self, limit: &DrawnLimit) {
        let line = self.y(limit.drawn);
        self.svg.across("lim", line);
        let y = if line < self.top + 12.0 { line + 13.0 } else { line - 4.0 };
        self.svg.text_beside("t.lt.st.halo", ("0", 3.0), y, &limit.label());
    }

    /// A line across at a value, and the upper end of the scale.
    pub(crate) fn base(&mut self, value: f64, unit: AxisUnit) {
        self.svg.across("z", self.y(value));
        let end = unit.label_with_unit(self.up.ends().1);
        self.svg.text("t.en.halo", "100%", self.top + 4.0, &end);
    }

    /// A line down with its label above.
    pub(crate) fn guide(&mut self, class: &str, value: f64, label: &str) {
        let (x, [top, bottom]) = (self.x(value), self.ends());
        self.svg.down(class, x, [top - 4.0, bottom]);
        self.svg.text(&format!("hd.{}", anchor(x, 20.0)), x, 13.0, label);
    }

    /// Numbers below the plot; those nearer to an end than this many per cent turn inwards.
    pub(crate) fn numbers(
        &mut self,
        values: impl IntoIterator<Item = f64>,
        near: f64,
        text: impl Fn(f64) -> String,
    ) {
        for value in values {
            let (x, y) = (self.x(value), self.ends()[1] + BELOW - 4.0);
            self.svg.text(&format!("t.{}", anchor(x, near)), x, y, &text(value));
        }
    }

    /// The line of values with its band; a place without a value is a gap.
    pub(crate) fn curve(&self, points: &[(f64, Option<PlotPoint>)], class: &str) -> String {
        let mut paths = Svg::default();
        let ends_at = |i: usize| points[i].1.and_then(|point| point.interval);
        for part in stretches(points.len(), |i| ends_at(i).is_some()) {
            let end = |of: fn((f64, f64)) -> f64| {
                let ends = part.clone().filter_map(|i| Some((points[i].0, of(ends_at(i)?))));
                ends.map(|(x, y)| self.place(x, y)).collect::<Vec<_>>()
            };
            let (upper, mut lower) = (end(|ends| ends.1), end(|ends| ends.0));
            lower.reverse();
            paths.path("area.ve", &format!("M{}Z", [upper, lower].concat().join("L")));
        }
        for part in stretches(points.len(), |i| points[i].1.is_some()) {
            let places = part.filter_map(|i| Some(self.place(points[i].0, points[i].1?.value)));
            paths.path(class, &format!("M{}", places.collect::<Vec<_>>().join("L")));
        }
        paths.marks()
    }

    /// The drawing with room for the numbers below it.
    pub(crate) fn described(self, words: (&str, &str)) -> String {
        let height = self.ends()[1] + BELOW;
        self.svg.described("", Some(height), words)
    }
}

/// The stretches of this many places that have something.
fn stretches(n: usize, has: impl Fn(usize) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for i in (0..n).filter(|&i| has(i)) {
        match found.last_mut().filter(|last| last.end == i) {
            Some(last) => last.end = i + 1,
            None => found.push(i..i + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{AxisUnit, DEFS, DrawnLimit, ForbiddenSide, PlotScale, axis, plot_cell, round_up};
    use crate::report::draw::svg::MarkPlace as _;
    use crate::tests::Says;

    fn limit(drawn: f64, amount: &str) -> DrawnLimit {
        let (forbidden, unit) = (ForbiddenSide::Above, AxisUnit::Percent);
        DrawnLimit { drawn, forbidden, unit, amount: amount.to_owned() }
    }

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
            [0.0, 0.1, 0.3, 0.6, 0.9, -1.0].map(|v| scale.x(v).attribute()),
            ["0%", "16.67%", "50%", "100%", "100%", "0%"]
        );
        assert_eq!(scale.x(f64::NAN).attribute(), "0%");
    }

    #[test]
    fn the_label_of_the_limit_wins() {
        let drawn = axis(PlotScale::new(0.0, 0.6), AxisUnit::Percent, Some(&limit(0.1, "10 %")));
        drawn.lacks(&[">0<", ">20<"]);
        drawn.says(&[">40<", ">60\u{a0}%<"]);
        let at_zero = axis(PlotScale::new(0.0, 0.6), AxisUnit::Percent, Some(&limit(0.0, "0 %")));
        at_zero.says(&["lt st"]);
        axis(PlotScale::new(0.0, 1.0), AxisUnit::Number, None).says(&[">0.25<"]);
    }

    #[test]
    fn names_are_escaped_and_every_mark_is_defined() {
        let row = plot_cell(PlotScale::new(0.0, 1.0), &[], "<script>\"&'\u{0}");
        row.says(&["&lt;script&gt;&quot;&amp;&#39;\u{2400}"]);
        for shape in ["dn", "up", "dot", "ring", "end", "tip", "i-fail", "p-lost", "p-no"] {
            assert!(DEFS.contains(&format!("id=\"{shape}\"")), "{shape}");
        }
    }
}
