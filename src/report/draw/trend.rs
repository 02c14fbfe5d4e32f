//! A limit over the runs of a job: a line with its band of intervals, the limit across.

use serde::{Deserialize, Serialize};

use crate::report::draw::plot::{DrawnLimit, Plot, PlotPoint, PlotScale};

/// Pixels between the limit and the value of the last run below which the value is printed under
/// its mark.
const CLEAR: f64 = 24.0;

/// A run in a trend.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct TrendRun {
    /// What it measured; none where it has no value.
    pub(crate) point: Option<PlotPoint>,
    /// Whether its limit was broken.
    pub(crate) broken: bool,
    /// The version of its model; empty where none is given.
    pub(crate) version: String,
}

/// The trend of a value over the runs of a job, the last of them this one: runs are at equal
/// distances in their order. A square is a run that broke its limit; the words are the value of the
/// last run, and what the first run and the last are called; a dashed line is before the first run of a
/// version.
pub(crate) fn trend(
    words: (&str, &str),
    runs: &[TrendRun],
    limit: &DrawnLimit,
    [last, first_run, this_run]: &[String; 3],
) -> String {
    let ends = || runs.iter().filter_map(|run| run.point).flat_map(PlotPoint::extent);
    let all = || ends().chain([limit.drawn, limit.drawn * 1.25]);
    let up = match all().any(|value| value < 0.0) {
        true => PlotScale::around_zero(all()),
        false => PlotScale::from_zero(all(), f64::INFINITY),
    };
    // A run is in the middle of its part of the width.
    let place = |run: usize| run as f64 + 0.5;
    let mut plot = Plot::new(PlotScale::new(0.0, runs.len() as f64), up, [18.0, 110.0]);
    let [top, bottom] = plot.ends();
    plot.forbid(limit);
    let points: Vec<(f64, Option<PlotPoint>)> =
        runs.iter().enumerate().map(|(i, run)| (place(i), run.point)).collect();
    plot.stretched(&plot.curve(&points, "ln.ve"));
    plot.limit(limit);
    plot.base(0.0, limit.unit);
    versions(&mut plot, runs);
    let line = plot.y(limit.drawn);
    for (i, run) in runs.iter().enumerate() {
        let Some(point) = run.point else { continue };
        let is_last = i + 1 == runs.len();
        if !(run.broken || is_last) {
            continue;
        }
        let (x, y) = (plot.x(place(i)), plot.y(point.value));
        plot.svg.mark(if run.broken { "sq" } else { "dot" }, "m", x, y);
        if is_last {
            let under = y - line > 0.0 && y - line < CLEAR || y < top + CLEAR;
            let text = if under { y + 19.0 } else { y - 9.0 };
            plot.svg.text_beside("hd.halo.en", (x, 4.0), text, last);
        }
    }
    plot.svg.text("t.st", "0", bottom + 14.0, first_run);
    plot.svg.text("t.en", "100%", bottom + 14.0, this_run);
    plot.described(words)
}

/// A dashed line before the first run of each version after the first, with its name; of names that
/// would collide the later stays.
fn versions(plot: &mut Plot, runs: &[TrendRun]) {
    /// Per cent of the width that a letter of a name takes at the smallest width of a panel.
    const LETTER: f64 = 2.2;
    let starts: Vec<usize> =
        (1..runs.len()).filter(|&i| runs[i].version != runs[i - 1].version).collect();
    let [top, bottom] = plot.ends();
    for (n, &start) in starts.iter().enumerate() {
        let x = plot.x(start as f64);
        plot.svg.down("ln.thin.dash.mutl", x, [top - 4.0, bottom]);
        let name = &runs[start].version;
        let next = starts.get(n + 1).map_or(100.0, |&next| plot.x(next as f64).0);
        let width = LETTER * name.chars().count() as f64;
        let (anchor, dx, fits) = match x.0 <= 82.0 {
            true => ("st", 3.0, x.0 + width <= next || n + 1 == starts.len()),
            false => ("en", -3.0, n + 1 == starts.len()),
        };
        if fits && !name.is_empty() {
            plot.svg.text_beside(&format!("t.{anchor}"), (x, dx), 12.0, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TrendRun, trend};
    use crate::report::draw::plot::{AxisUnit, DrawnLimit, ForbiddenSide, PlotPoint};
    use crate::tests::Says;

    fn run(value: Option<f64>, broken: bool, version: &str) -> TrendRun {
        let point =
            |value| PlotPoint { value, interval: Some((value - 0.01, value + 0.01)), second: None };
        TrendRun { point: value.map(point), broken, version: version.to_owned() }
    }

    fn drawn(runs: &[TrendRun], at: f64) -> String {
        let (forbidden, unit) = (ForbiddenSide::Above, AxisUnit::Percent);
        let limit = DrawnLimit { drawn: at, forbidden, unit, amount: "10 %".to_owned() };
        trend(
            ("Refused as men", "last 9 %"),
            runs,
            &limit,
            &["9 %", "run 1", "this run"].map(str::to_owned),
        )
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
        svg.says(&["x1=\"40%\""]);
    }

    #[test]
    fn values_below_zero_stay_in_the_drawing() {
        let svg = drawn(&[run(Some(-0.2), false, ""), run(Some(0.05), false, "")], 0.1);
        let heights = svg.split(" y=\"").skip(1).filter_map(|at| at.split('"').next());
        for y in heights.filter_map(|y| y.parse::<f64>().ok()) {
            assert!((0.0..=146.0).contains(&y), "{y}: {svg}");
        }
        svg.says(&["class=\"z\""]);
    }

    #[test]
    fn a_run_alone_or_without_values_is_drawn() {
        for runs in [vec![run(Some(0.0), false, "")], vec![run(None, false, "1")], Vec::new()] {
            let svg = drawn(&runs, 0.0);
            assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{svg}");
        }
    }
}
