//! A limit over the runs of a job: a line with its band of intervals, the limit across.

use std::fmt::Write as _;

use crate::report::draw::plot::{AxisUnit, ForbiddenSide, PlotPoint, PlotScale, escape, percent};

/// Pixels above the plot, of the plot, and below it.
const HEAD: f64 = 18.0;
const PLOT: f64 = 110.0;
const AXIS: f64 = 18.0;

/// Pixels between the limit and the value of the last run below which the value is printed under
/// its mark.
const CLEAR: f64 = 24.0;

/// A run in a trend.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrendRun {
    /// What it measured; none where it has no value.
    pub(crate) point: Option<PlotPoint>,
    /// Whether its limit was broken.
    pub(crate) broken: bool,
    /// The version of its model; empty where none is given.
    pub(crate) version: String,
}

/// A limit as a trend shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrendLimit<'a> {
    /// Where it lies.
    pub(crate) at: f64,
    /// The side on which values must not lie.
    pub(crate) forbidden: ForbiddenSide,
    /// `limit 10 %`.
    pub(crate) label: &'a str,
}

/// The trend of a value over the runs of a job, the last of them this one: runs are at equal
/// distances in their order. A square is a run that broke its limit; `last` is the value of the
/// last run in words; a dashed line is before the first run of a version.
pub(crate) fn trend(
    (title, desc): (&str, &str),
    runs: &[TrendRun],
    limit: TrendLimit<'_>,
    unit: AxisUnit,
    last: &str,
) -> String {
    let ends = || runs.iter().filter_map(|run| run.point).flat_map(PlotPoint::extent);
    let all = || ends().chain([limit.at, limit.at * 1.25]);
    let scale = match all().any(|value| value < 0.0) {
        true => PlotScale::around_zero(all()),
        false => PlotScale::from_zero(all(), f64::INFINITY),
    };
    let x = |run: usize| 100.0 * (run as f64 + 0.5) / runs.len().max(1) as f64;
    let y = |value: f64| HEAD + PLOT * (1.0 - scale.at(value) / 100.0);
    let mut svg = String::new();
    let line = y(limit.at);
    let (top, bottom) = match limit.forbidden {
        ForbiddenSide::Above => (HEAD, line),
        ForbiddenSide::Below => (line, HEAD + PLOT),
    };
    let _ = write!(
        svg,
        r#"<rect class="no" x="0" width="100%" y="{top:.1}" height="{:.1}"/>"#,
        bottom - top
    );
    svg.push_str(&curve(runs, x, |value| 100.0 - scale.at(value)));
    let _ = write!(
        svg,
        "<line class=\"lim\" x1=\"0\" x2=\"100%\" y1=\"{line:.1}\" y2=\"{line:.1}\"/><text \
         class=\"t lt st halo\" x=\"0\" dx=\"3\" y=\"{:.1}\">{}</text>",
        if line < HEAD + 12.0 { line + 13.0 } else { line - 4.0 },
        escape(limit.label)
    );
    let zero = y(0.0);
    let _ = write!(
        svg,
        "<line class=\"z\" x1=\"0\" x2=\"100%\" y1=\"{zero:.1}\" y2=\"{zero:.1}\"/><text \
         class=\"t en halo\" x=\"100%\" y=\"{:.1}\">{}</text>",
        HEAD + 4.0,
        unit.label_with_unit(scale.ends().1)
    );
    versions(&mut svg, runs, x);
    for (i, run) in runs.iter().enumerate() {
        let Some(point) = run.point else { continue };
        let is_last = i + 1 == runs.len();
        if !(run.broken || is_last) {
            continue;
        }
        let (at, height) = (percent(x(i)), y(point.value));
        let shape = if run.broken { "sq" } else { "dot" };
        let _ = write!(svg, r##"<use href="#{shape}" class="m" x="{at}" y="{height:.1}"/>"##);
        if is_last {
            let under = height - line > 0.0 && height - line < CLEAR || height < HEAD + CLEAR;
            let text = if under { height + 19.0 } else { height - 9.0 };
            let _ = write!(
                svg,
                r#"<text class="hd halo en" x="{at}" dx="4" y="{text:.1}">{}</text>"#,
                escape(last)
            );
        }
    }
    let below = HEAD + PLOT + AXIS - 4.0;
    let _ = write!(
        svg,
        "<text class=\"t st\" x=\"0\" y=\"{below}\">run 1</text><text class=\"t en\" x=\"100%\" \
         y=\"{below}\">this run</text>"
    );
    format!(
        r#"<svg height="{}" role="img"><title>{}</title><desc>{}</desc>{svg}</svg>"#,
        HEAD + PLOT + AXIS,
        escape(title),
        escape(desc)
    )
}

/// Line and band, broken where a run has no value or no interval.
fn curve(runs: &[TrendRun], x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) -> String {
    let place = |run: usize, value: f64| format!("{:.2} {:.2}", x(run), y(value));
    let mut paths = String::new();
    let with_band = |i: usize| runs[i].point.is_some_and(|point| point.interval.is_some());
    for part in stretches(runs.len(), with_band) {
        let end = |of: fn((f64, f64)) -> f64| {
            let ends = part.clone().filter_map(move |i| Some((i, of(runs[i].point?.interval?))));
            ends.map(|(i, value)| place(i, value)).collect::<Vec<_>>()
        };
        let (upper, mut lower) = (end(|ends| ends.1), end(|ends| ends.0));
        lower.reverse();
        let all: Vec<String> = upper.into_iter().chain(lower).collect();
        let _ = write!(paths, r#"<path class="area ve" d="M{}Z"/>"#, all.join("L"));
    }
    for part in stretches(runs.len(), |i| runs[i].point.is_some()) {
        let values = part.filter_map(|i| Some(place(i, runs[i].point?.value)));
        let _ =
            write!(paths, r#"<path class="ln ve" d="M{}"/>"#, values.collect::<Vec<_>>().join("L"));
    }
    format!(
        "<svg x=\"0\" y=\"{HEAD}\" width=\"100%\" height=\"{PLOT}\" viewBox=\"0 0 100 100\" \
         preserveAspectRatio=\"none\">{paths}</svg>"
    )
}

/// The stretches of so many places that have something.
pub(super) fn stretches(n: usize, has: impl Fn(usize) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for i in (0..n).filter(|&i| has(i)) {
        match found.last_mut().filter(|last| last.end == i) {
            Some(last) => last.end = i + 1,
            None => found.push(i..i + 1),
        }
    }
    found
}

/// A dashed line before the first run of each version after the first, with its name; of names that
/// would collide the later stays.
fn versions(svg: &mut String, runs: &[TrendRun], x: impl Fn(usize) -> f64) {
    /// Per cent of the width that a letter of a name takes at the smallest width of a panel.
    const LETTER: f64 = 2.2;
    let starts: Vec<usize> =
        (1..runs.len()).filter(|&i| runs[i].version != runs[i - 1].version).collect();
    for (n, &start) in starts.iter().enumerate() {
        let at = (x(start) + x(start - 1)) / 2.0;
        let place = percent(at);
        let _ = write!(
            svg,
            r#"<line class="ln thin dash mutl" x1="{place}" x2="{place}" y1="{}" y2="{}"/>"#,
            HEAD - 4.0,
            HEAD + PLOT
        );
        let name = &runs[start].version;
        let next = starts.get(n + 1).map_or(100.0, |&next| (x(next) + x(next - 1)) / 2.0);
        let width = LETTER * name.chars().count() as f64;
        let (anchor, dx, fits) = match at <= 82.0 {
            true => ("st", 3, at + width <= next || n + 1 == starts.len()),
            false => ("en", -3, n + 1 == starts.len()),
        };
        if fits && !name.is_empty() {
            let _ = write!(
                svg,
                r#"<text class="t {anchor}" x="{place}" dx="{dx}" y="12">{}</text>"#,
                escape(name)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TrendLimit, TrendRun, trend};
    use crate::report::draw::plot::{AxisUnit, ForbiddenSide, PlotPoint};

    fn run(value: Option<f64>, broken: bool, version: &str) -> TrendRun {
        let point =
            |value| PlotPoint { value, interval: Some((value - 0.01, value + 0.01)), second: None };
        TrendRun { point: value.map(point), broken, version: version.to_owned() }
    }

    fn drawn(runs: &[TrendRun], at: f64) -> String {
        let limit = TrendLimit { at, forbidden: ForbiddenSide::Above, label: "limit 10 %" };
        trend(("Refused as men", "last 9 %"), runs, limit, AxisUnit::Percent, "9 %")
    }

    #[test]
    fn a_trend_marks_broken_runs_and_versions() {
        let runs = [
            run(Some(0.05), false, "1"),
            run(Some(0.12), true, "1"),
            run(None, false, "2"),
            run(Some(0.11), true, "2"),
            run(Some(0.09), false, "2"),
        ];
        let svg = drawn(&runs, 0.1);
        assert_eq!(svg.matches("href=\"#sq\"").count(), 2, "{svg}");
        assert_eq!(svg.matches("href=\"#dot\"").count(), 1, "the last run");
        assert_eq!(svg.matches("class=\"ln ve\"").count(), 2, "a run without a value is a gap");
        assert_eq!(svg.matches("class=\"area ve\"").count(), 2);
        assert_eq!(svg.matches("class=\"ln thin dash mutl\"").count(), 1, "one new version");
        // Of five runs the third begins at 40 % of the width.
        assert!(svg.contains("x1=\"40%\""), "{svg}");
    }

    #[test]
    fn values_below_zero_stay_in_the_drawing() {
        let svg = drawn(&[run(Some(-0.2), false, ""), run(Some(0.05), false, "")], 0.1);
        let heights = svg.split(" y=\"").skip(1).filter_map(|at| at.split('"').next());
        for y in heights.filter_map(|y| y.parse::<f64>().ok()) {
            assert!((0.0..=146.0).contains(&y), "{y}: {svg}");
        }
        assert!(svg.contains("class=\"z\""));
    }

    #[test]
    fn a_run_alone_or_without_values_is_drawn() {
        for runs in [vec![run(Some(0.0), false, "")], vec![run(None, false, "1")], Vec::new()] {
            let svg = drawn(&runs, 0.0);
            assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{svg}");
        }
    }
}
