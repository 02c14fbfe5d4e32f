//! Rates at every threshold, or at every strength of a hidden cause, as lines with their bands, and
//! scores against the labels of their people.

use std::fmt::Write as _;

use crate::report::draw::plot::{
    AxisUnit, ForbiddenSide, PlotPoint, PlotScale, SwitchSide, escape, percent,
};
use crate::report::draw::trend::stretches;
use crate::report::page::number;

/// Pixels above the plot, of the plot, and below it.
const HEAD: f64 = 22.0;
const PLOT: f64 = 120.0;
const AXIS: f64 = 18.0;

/// A plot of two axes, the second one in per cent.
struct RatePlot {
    across: PlotScale,
    up: PlotScale,
    svg: String,
}

impl RatePlot {
    fn new(across: PlotScale, up: PlotScale) -> Self {
        RatePlot { across, up, svg: String::new() }
    }

    fn y(&self, value: f64) -> f64 {
        HEAD + PLOT * (1.0 - self.up.at(value) / 100.0)
    }

    /// A point in per cent of the plot.
    fn place(&self, x: f64, y: f64) -> String {
        format!("{:.2} {:.2}", self.across.at(x), 100.0 - self.up.at(y))
    }

    /// Paths over the plot, stretched.
    fn stretched(&mut self, paths: &str) {
        let _ = write!(
            self.svg,
            "<svg aria-hidden=\"true\" x=\"0\" y=\"{HEAD}\" width=\"100%\" height=\"{PLOT}\" \
             viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\">{paths}</svg>"
        );
    }

    /// A line across at a height, with its label.
    fn level(&mut self, value: f64, side: ForbiddenSide, label: &str) {
        let line = self.y(value);
        let (top, bottom) = match side {
            ForbiddenSide::Above => (HEAD, line),
            ForbiddenSide::Below => (line, HEAD + PLOT),
        };
        let _ = write!(
            self.svg,
            "<rect class=\"no\" x=\"0\" width=\"100%\" y=\"{top:.1}\" height=\"{:.1}\"/><line \
             class=\"lim\" x1=\"0\" x2=\"100%\" y1=\"{line:.1}\" y2=\"{line:.1}\"/><text \
             class=\"t lt st halo\" x=\"0\" dx=\"3\" y=\"{:.1}\">{}</text>",
            bottom - top,
            if line < HEAD + 12.0 { line + 13.0 } else { line - 4.0 },
            escape(label)
        );
    }

    /// A vertical line with its label above.
    fn guide(&mut self, value: f64, label: &str) {
        let at = self.across.at(value);
        let _ = write!(
            self.svg,
            "<line class=\"ln thin\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/><text \
             class=\"hd {3}\" x=\"{0}\" y=\"13\">{4}</text>",
            percent(at),
            HEAD - 4.0,
            HEAD + PLOT,
            turned(at, 20.0),
            escape(label)
        );
    }

    /// The line of a rate with its band; a place without a value is a gap.
    fn curve(&self, points: &[(f64, Option<PlotPoint>)], class: &str) -> String {
        let mut paths = String::new();
        let ends_at = |i: usize| points[i].1.and_then(|point| point.interval);
        for part in stretches(points.len(), |i| ends_at(i).is_some()) {
            let end = |of: fn((f64, f64)) -> f64| {
                let ends = part.clone().filter_map(|i| Some((points[i].0, of(ends_at(i)?))));
                ends.map(|(x, y)| self.place(x, y)).collect::<Vec<_>>()
            };
            let (upper, mut lower) = (end(|ends| ends.1), end(|ends| ends.0));
            lower.reverse();
            let all: Vec<String> = upper.into_iter().chain(lower).collect();
            let _ = write!(paths, r#"<path class="area ve" d="M{}Z"/>"#, all.join("L"));
        }
        for part in stretches(points.len(), |i| points[i].1.is_some()) {
            let places = part.filter_map(|i| Some(self.place(points[i].0, points[i].1?.value)));
            let line = places.collect::<Vec<_>>().join("L");
            let _ = write!(paths, r#"<path class="{class}" d="M{line}"/>"#);
        }
        paths
    }

    /// The axes, and the drawing.
    fn finish(mut self, (title, desc): (&str, &str)) -> String {
        let bottom = HEAD + PLOT;
        let (lo, hi) = self.across.ends();
        let _ = write!(
            self.svg,
            "<line class=\"z\" x1=\"0\" x2=\"100%\" y1=\"{bottom}\" y2=\"{bottom}\"/><text \
             class=\"t en halo\" x=\"100%\" y=\"{}\">{}</text>",
            HEAD + 4.0,
            AxisUnit::Percent.label_with_unit(self.up.ends().1)
        );
        for tick in self.across.ticks() {
            let at = self.across.at(tick);
            let _ = write!(
                self.svg,
                r#"<text class="t {}" x="{}" y="{}">{}</text>"#,
                turned(at, 2.0),
                percent(at),
                bottom + AXIS - 4.0,
                number::on_axis(tick, hi - lo)
            );
        }
        format!(
            r#"<svg height="{}" role="img"><title>{}</title><desc>{}</desc>{}</svg>"#,
            bottom + AXIS,
            escape(title),
            escape(desc),
            self.svg
        )
    }
}

/// Labels this near to an end, in per cent of the width, turn inwards.
fn turned(at: f64, near: f64) -> &'static str {
    if at < near {
        "st"
    } else if at > 100.0 - near {
        "en"
    } else {
        "mid"
    }
}

/// A rate by threshold: the threshold of the job as a line down, a limit as a line across. `points`
/// ascend; a threshold without a value is a gap.
pub(crate) fn threshold_curve(
    words: (&str, &str),
    points: &[(f64, Option<PlotPoint>)],
    side: SwitchSide,
    job: Option<(f64, &str)>,
    limit: Option<(f64, ForbiddenSide, &str)>,
) -> String {
    let ends = points.first().zip(points.last()).map(|(first, last)| (first.0, last.0));
    let (lo, hi) = ends.unwrap_or((0.0, 1.0));
    let values = points.iter().filter_map(|(_, point)| *point).map(|point| point.value);
    let limit_at = limit.map(|(limit, ..)| limit * 1.25);
    let up = PlotScale::from_zero(values.chain(limit_at), 1.0);
    let mut plot = RatePlot::new(PlotScale::new(lo, hi), up);
    if let Some((limit, side, label)) = limit {
        plot.level(limit, side, label);
    }
    let curve = plot.curve(points, "ln ve");
    plot.stretched(&curve);
    if let Some((at, label)) = job {
        plot.guide(at, label);
        let near = |(x, point): &(f64, Option<PlotPoint>)| Some(((x - at).abs(), *x, (*point)?));
        let nearest = points.iter().filter_map(near).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, x, point)) = nearest {
            let (shape, hue) = side.mark();
            let _ = write!(
                plot.svg,
                r##"<use href="#{shape}" class="m {hue}" x="{}" y="{:.1}"/>"##,
                plot.across.x(x),
                plot.y(point.value)
            );
        }
    }
    plot.finish(words)
}

/// A rate by the strength of a hidden cause, pushed up (a full line) and down (dashed), with the
/// bands of graphs; a limit as a line across, the strength at which the verdict turns as a line
/// down, and that of a recorded column as a mark on the axis.
pub(crate) fn strength_curves(
    words: (&str, &str),
    [up, down]: [&[(f64, Option<PlotPoint>)]; 2],
    limit: Option<(f64, ForbiddenSide, &str)>,
    turns: Option<(f64, &str)>,
    recorded: Option<f64>,
) -> String {
    let points = || up.iter().chain(down);
    let most = points().map(|of| of.0).fold(0.0, f64::max);
    let values = points().filter_map(|of| of.1).flat_map(PlotPoint::extent);
    let scale = PlotScale::from_zero(values.chain(limit.map(|of| of.0 * 1.25)), 1.0);
    let mut plot = RatePlot::new(PlotScale::new(0.0, most), scale);
    if let Some((limit, side, label)) = limit {
        plot.level(limit, side, label);
    }
    let curves = plot.curve(down, "ln dash ve") + &plot.curve(up, "ln ve");
    plot.stretched(&curves);
    if let Some((at, label)) = turns.filter(|(at, _)| *at <= most) {
        plot.guide(at, label);
    }
    if let Some(at) = recorded.filter(|at| *at <= most) {
        let (x, y) = (plot.across.x(at), HEAD + PLOT);
        let _ = write!(plot.svg, r##"<use href="#dot" class="m open" x="{x}" y="{y:.1}"/>"##);
    }
    plot.finish(words)
}

/// People with scores next to each other: their mean score, and the share of them with the positive
/// label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReliabilityDot {
    /// The mean score.
    pub(crate) score: f64,
    /// The share with the positive label, with its interval.
    pub(crate) observed: PlotPoint,
}

/// Mean scores across, shares of the positive label up; on the dashed diagonal the scores are
/// right.
pub(crate) fn reliability(words: (&str, &str), dots: &[ReliabilityDot], most: f64) -> String {
    let scale = PlotScale::from_zero(std::iter::once(most), 1.0);
    let mut plot = RatePlot::new(scale, scale);
    let line: Vec<String> =
        dots.iter().map(|dot| plot.place(dot.score, dot.observed.value)).collect();
    let mut paths = r#"<path class="ln thin dash ve" d="M0 100L100 0"/>"#.to_owned();
    if !line.is_empty() {
        let _ = write!(paths, r#"<path class="ln thin ve" d="M{}"/>"#, line.join("L"));
    }
    plot.stretched(&paths);
    for dot in dots {
        let x = plot.across.x(dot.score);
        if let Some((lo, hi)) = dot.observed.interval {
            let _ = write!(
                plot.svg,
                r#"<line class="w faint" x1="{x}" x2="{x}" y1="{:.1}" y2="{:.1}"/>"#,
                plot.y(lo),
                plot.y(hi)
            );
        }
        let y = plot.y(dot.observed.value);
        let _ = write!(plot.svg, r##"<use href="#dot" class="m" x="{x}" y="{y:.1}"/>"##);
    }
    plot.finish(words)
}

#[cfg(test)]
mod tests {
    use super::{ReliabilityDot, reliability, strength_curves, threshold_curve};
    use crate::report::draw::plot::{ForbiddenSide, PlotPoint, SwitchSide};

    fn point(value: f64) -> PlotPoint {
        PlotPoint { value, interval: Some((value - 0.01, value + 0.01)), second: None }
    }

    #[test]
    fn a_curve_has_gaps_a_limit_and_the_threshold_of_the_job() {
        let points: Vec<(f64, Option<PlotPoint>)> = (0..=20)
            .map(|i| (f64::from(i) / 20.0, (i != 7).then(|| point(f64::from(i) / 100.0))))
            .collect();
        let svg = threshold_curve(
            ("<of women>", "x"),
            &points,
            SwitchSide::Lost,
            Some((0.5, "cut-off 0.5")),
            Some((0.05, ForbiddenSide::Above, "limit 5 %")),
        );
        assert_eq!(svg.matches(r#"class="ln ve""#).count(), 2, "a gap: {svg}");
        assert_eq!(svg.matches(r#"class="area ve""#).count(), 2);
        assert!(svg.contains(r##"<use href="#dn" class="m lost" x="50%""##), "{svg}");
        assert!(svg.contains("cut-off 0.5") && svg.contains("limit 5 %"));
        assert!(svg.contains("&lt;of women&gt;") && !svg.contains("NaN"));
        let none = threshold_curve(("x", "x"), &[], SwitchSide::Either, None, None);
        assert!(!none.contains("NaN") && !none.contains("<path"), "{none}");
    }

    #[test]
    fn two_pushes_have_bands_and_a_turning_point() {
        let points = |sign: f64| -> Vec<(f64, Option<PlotPoint>)> {
            [0.0, 0.1, 0.2].map(|s| (s, Some(point(0.3 + sign * s)))).to_vec()
        };
        let (up, down) = (points(1.0), points(-1.0));
        let limit = Some((0.25, ForbiddenSide::Above, "limit 25 %"));
        let turns = Some((0.05, "turns at 5 %"));
        let svg = strength_curves(("<t>", "x"), [&up, &down], limit, turns, Some(0.1));
        assert_eq!(svg.matches(r#"class="area ve""#).count(), 2, "{svg}");
        assert!(svg.contains(r#"class="ln dash ve""#) && svg.contains(r#"class="ln ve""#));
        assert!(svg.contains(r#"x1="25%" x2="25%""#) && svg.contains("turns at 5 %"), "{svg}");
        assert!(svg.contains(r##"href="#dot" class="m open" x="50%""##), "{svg}");
        let none = strength_curves(("x", "x"), [&[], &[]], None, turns, Some(0.5));
        assert!(!none.contains("NaN") && !none.contains("turns"), "{none}");
    }

    #[test]
    fn bins_are_dots_with_whiskers_around_the_diagonal() {
        let dot = |score: f64| ReliabilityDot { score, observed: point(score) };
        let svg = reliability(("x", "y"), &[dot(0.1), dot(0.2), dot(0.4)], 0.4);
        assert_eq!(svg.matches("href=\"#dot\"").count(), 3);
        assert_eq!(svg.matches("w faint").count(), 3);
        // Right scores are on the diagonal: 0.2 of 0.4 is the middle.
        assert!(svg.contains("50.00 50.00") && svg.contains("M0 100L100 0"), "{svg}");
        assert!(!reliability(("x", "y"), &[], 0.0).contains("NaN"));
    }
}
