//! Rates at every threshold, or at every strength of a hidden cause, as lines with their bands, and
//! scores against the labels of their people.

use serde::{Deserialize, Serialize};

use crate::report::draw::plot::{AxisUnit, DrawnLimit, Plot, PlotPoint, PlotScale, SwitchSide};
use crate::report::draw::svg::Svg;
use crate::report::page::number::on_axis;

/// Pixels above the plot, and of the plot.
const SIZE: [f64; 2] = [22.0, 120.0];

/// A plot with a limit as a line across.
fn limited(across: PlotScale, up: PlotScale, limit: Option<&DrawnLimit>) -> Plot {
    let mut plot = Plot::new(across, up, SIZE);
    if let Some(limit) = limit {
        plot.forbid(limit);
        plot.limit(limit);
    }
    plot
}

/// The axes, and the drawing.
fn finish(mut plot: Plot, words: (&str, &str)) -> String {
    plot.base(plot.up.ends().0, AxisUnit::Percent);
    let (lo, hi) = plot.across.ends();
    plot.numbers(plot.across.ticks(), 2.0, |tick| on_axis(tick, hi - lo));
    plot.described(words)
}

/// A rate by threshold: the threshold of the job as a line down, a limit as a line across. `points`
/// ascend; a threshold without a value is a gap.
pub(crate) fn threshold_curve(
    words: (&str, &str),
    points: &[(f64, Option<PlotPoint>)],
    side: SwitchSide,
    job: Option<&(f64, String)>,
    limit: Option<&DrawnLimit>,
) -> String {
    let ends = points.first().zip(points.last()).map(|(first, last)| (first.0, last.0));
    let (lo, hi) = ends.unwrap_or((0.0, 1.0));
    let values = points.iter().filter_map(|(_, point)| *point).map(|point| point.value);
    let up = PlotScale::from_zero(values.chain(limit.map(|of| of.drawn * 1.25)), 1.0);
    let mut plot = limited(PlotScale::new(lo, hi), up, limit);
    plot.stretched(&plot.curve(points, "ln.ve"));
    if let Some((at, label)) = job {
        plot.guide("ln.thin", *at, label);
        let near = |(x, point): &(f64, Option<PlotPoint>)| Some(((x - *at).abs(), *x, (*point)?));
        let nearest = points.iter().filter_map(near).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, x, point)) = nearest {
            let (shape, hue) = side.mark();
            plot.svg.mark(shape, &format!("m.{hue}"), plot.x(x), plot.y(point.value));
        }
    }
    finish(plot, words)
}

/// A rate by the strength of a hidden cause, pushed up (a full line) and down (dashed), with the
/// bands of graphs; a limit as a line across, the strength at which the verdict turns as a line
/// down, and that of a recorded column as a mark on the axis.
pub(crate) fn strength_curves(
    words: (&str, &str),
    [up, down]: &[Vec<(f64, Option<PlotPoint>)>; 2],
    limit: Option<&DrawnLimit>,
    turns: Option<&(f64, String)>,
    recorded: Option<f64>,
) -> String {
    let points = || up.iter().chain(down);
    let most = points().map(|of| of.0).fold(0.0, f64::max);
    let values = points().filter_map(|of| of.1).flat_map(PlotPoint::extent);
    let scale = PlotScale::from_zero(values.chain(limit.map(|of| of.drawn * 1.25)), 1.0);
    let mut plot = limited(PlotScale::new(0.0, most), scale, limit);
    plot.stretched(&(plot.curve(down, "ln.dash.ve") + &plot.curve(up, "ln.ve")));
    if let Some((at, label)) = turns.filter(|(at, _)| *at <= most) {
        plot.guide("ln.thin", *at, label);
    }
    if let Some(at) = recorded.filter(|at| *at <= most) {
        plot.svg.mark("dot", "m.open", plot.x(at), plot.ends()[1]);
    }
    finish(plot, words)
}

/// People with scores next to each other: their mean score, and the share of them with the positive
/// label.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
    let mut plot = limited(scale, scale, None);
    let line: Vec<String> =
        dots.iter().map(|dot| plot.place(dot.score, dot.observed.value)).collect();
    let mut paths = Svg::default();
    paths.path("ln.thin.dash.ve", "M0 100L100 0");
    if !line.is_empty() {
        paths.path("ln.thin.ve", &format!("M{}", line.join("L")));
    }
    plot.stretched(&paths.marks());
    for dot in dots {
        let x = plot.x(dot.score);
        if let Some((lo, hi)) = dot.observed.interval {
            plot.svg.down("w.faint", x, [plot.y(lo), plot.y(hi)]);
        }
        plot.svg.mark("dot", "m", x, plot.y(dot.observed.value));
    }
    finish(plot, words)
}

#[cfg(test)]
mod tests {
    use super::{ReliabilityDot, reliability, strength_curves, threshold_curve};
    use crate::report::draw::plot::{AxisUnit, DrawnLimit, ForbiddenSide, PlotPoint, SwitchSide};
    use crate::tests::Says;

    fn point(value: f64) -> PlotPoint {
        PlotPoint { value, interval: Some((value - 0.01, value + 0.01)), second: None }
    }

    fn limit(drawn: f64, amount: &str) -> DrawnLimit {
        let (forbidden, unit) = (ForbiddenSide::Above, AxisUnit::Percent);
        DrawnLimit { drawn, forbidden, unit, amount: amount.to_owned() }
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
            Some(&(0.5, "cut-off 0.5".to_owned())),
            Some(&limit(0.05, "5 %")),
        );
        assert_eq!(svg.matches(r#"class="ln ve""#).count(), 2, "a gap: {svg}");
        assert_eq!(svg.matches(r#"class="area ve""#).count(), 2);
        assert!(svg.contains(r##"<use href="#dn" class="m lost" x="50%""##), "{svg}");
        svg.says(&["cut-off 0.5", "limit 5 %", "&lt;of women&gt;"]);
        svg.lacks(&["NaN"]);
        let none = threshold_curve(("x", "x"), &[], SwitchSide::Either, None, None);
        none.lacks(&["NaN", "<path"]);
    }

    #[test]
    fn two_pushes_have_bands_and_a_turning_point() {
        let points = |sign: f64| -> Vec<(f64, Option<PlotPoint>)> {
            [0.0, 0.1, 0.2].map(|s| (s, Some(point(0.3 + sign * s)))).to_vec()
        };
        let both = [points(1.0), points(-1.0)];
        let turns = (0.05, "turns at 5 %".to_owned());
        let limit = limit(0.25, "25 %");
        let svg = strength_curves(("<t>", "x"), &both, Some(&limit), Some(&turns), Some(0.1));
        assert_eq!(svg.matches(r#"class="area ve""#).count(), 2, "{svg}");
        svg.says(&[
            r#"class="ln dash ve""#,
            r#"class="ln ve""#,
            r#"x1="25%" x2="25%""#,
            "turns at 5 %",
        ]);
        assert!(svg.contains(r##"href="#dot" class="m open" x="50%""##), "{svg}");
        let none = strength_curves(("x", "x"), &[vec![], vec![]], None, Some(&turns), Some(0.5));
        none.lacks(&["NaN", "turns"]);
    }

    #[test]
    fn bins_are_dots_with_whiskers_around_the_diagonal() {
        let dot = |score: f64| ReliabilityDot { score, observed: point(score) };
        let svg = reliability(("x", "y"), &[dot(0.1), dot(0.2), dot(0.4)], 0.4);
        assert_eq!(svg.matches("href=\"#dot\"").count(), 3);
        assert_eq!(svg.matches("w faint").count(), 3);
        // Right scores are on the diagonal: 0.2 of 0.4 is the middle.
        svg.says(&["50.00 50.00", "M0 100L100 0"]);
        reliability(("x", "y"), &[], 0.0).lacks(&["NaN"]);
    }
}
