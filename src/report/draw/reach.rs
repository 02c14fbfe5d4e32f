//! Who has a way out: two bars for the shares of a subgroup that actions reach, and two step curves
//! of these shares by cost.
//!
//! The group that is compared is dark and a full line, the reference grey and dashed.

use std::fmt::Write as _;

use crate::report::draw::plot::{AxisUnit, Plot, PlotScale};
use crate::report::draw::svg::Svg;

/// End labels keep this distance, in pixels.
const APART: f64 = 15.0;

/// A group at the end of its bar or curve: its share, in [0, 1], and its text, such as `22 % of 88
/// women`.
pub(crate) type ReachEnd = (f64, String);

/// Two bars of 14 pixels, from 0 to all.
pub(crate) fn reach_bars(title: &str, ends: &[ReachEnd; 2]) -> String {
    let scale = PlotScale::new(0.0, 1.0);
    let mut svg = Svg::default();
    let bars = [("ink", "hd", 2.0), ("stay.sl", "mut", 22.0)];
    for ((share, text), (class, weight, y)) in ends.iter().zip(bars) {
        let width = scale.x(*share);
        svg.rect(class, [scale.x(0.0), width], [y, 14.0]);
        svg.text_beside(weight, (width, 6.0), y + 11.0, text);
    }
    svg.described("", Some(40.0), (title, ""))
}

/// Shares by cost as step curves; costs run from 0, where their name is, to `most`. Each step is a cost with the shares
/// that are reached at it, in ascending order of costs.
pub(crate) fn reach_curves(
    words: (&str, &str),
    steps: &[(f64, [f64; 2])],
    (most, cost): (f64, &str),
    ends: &[ReachEnd; 2],
    target: Option<f64>,
) -> String {
    let across = PlotScale::new(0.0, most);
    let mut plot = Plot::new(across, PlotScale::new(0.0, 1.0), [6.0, 84.0]);
    for (share, class) in [(0.5, "g"), (1.0, "g"), (0.0, "z")] {
        plot.svg.across(class, plot.y(share));
    }
    for (share, text) in [(1.0, "100\u{a0}%"), (0.5, "50")] {
        plot.svg.text("t.st.halo", "0", plot.y(share) + 11.0, text);
    }
    if let Some(target) = target {
        plot.svg.across("ln.thin", plot.y(target));
    }
    let mut paths = Svg::default();
    for (g, class) in [(1, "ln.dash.ve"), (0, "ln.ve")] {
        let mut path = String::from("M0 100");
        for (cost, shares) in steps {
            let y = 100.0 * (1.0 - shares[g].clamp(0.0, 1.0));
            let _ = write!(path, "H{:.1}V{y:.1}", across.at(*cost));
        }
        paths.path(class, &(path + "H100"));
    }
    plot.stretched(&paths.marks());
    let [first, second] = [&ends[0], &ends[1]].map(|end| plot.y(end.0) + 4.0);
    // Labels that would touch move apart evenly.
    let near = (APART - (first - second).abs()).max(0.0) / 2.0;
    let moved = if first <= second { -near } else { near };
    for (end, class, y) in [(&ends[0], "hd", first + moved), (&ends[1], "mut", second - moved)] {
        plot.svg.text_beside(class, ("100%", 6.0), y, &end.1);
    }
    let ticks = across.ticks().into_iter().filter(|tick| across.at(*tick) > 12.0);
    plot.numbers(ticks, 0.0, |tick| AxisUnit::Number.label(tick));
    plot.numbers([0.0], 2.0, |_| cost.to_owned());
    plot.described(words)
}

#[cfg(test)]
mod tests {
    use super::{ReachEnd, reach_bars, reach_curves};
    use crate::tests::Says;

    fn end(share: f64, text: &str) -> ReachEnd {
        (share, text.to_owned())
    }

    #[test]
    fn bars_end_at_their_shares() {
        let svg = reach_bars("x", &[end(0.22, "22 % of 88 <women>"), end(0.51, "51 % of men")]);
        svg.says(&[
            r#"<rect class="ink" x="0%" width="22%" y="2""#,
            r#"<rect class="stay sl" x="0%" width="51%""#,
            "&lt;women&gt;",
        ]);
        svg.lacks(&["<women>"]);
    }

    #[test]
    fn curves_rise_where_the_costs_are_and_labels_keep_apart() {
        let steps = [(1.0, [0.5, 0.0]), (2.0, [0.5, 1.0])];
        let svg = reach_curves(
            ("x", "y"),
            &steps,
            (4.0, ""),
            &[end(0.5, "a 50 %"), end(1.0, "b 100 %")],
            Some(0.7),
        );
        svg.says(&[
            r#"class="ln ve" d="M0 100H25.0V50.0H50.0V50.0H100""#,
            r#"class="ln dash ve" d="M0 100H25.0V100.0H50.0V0.0H100""#,
            r#"y="52">a 50 %"#,
            r#"y="10">b 100"#,
        ]);
        let same =
            reach_curves(("x", "y"), &steps, (4.0, ""), &[end(0.5, "a"), end(0.5, "b")], None);
        same.says(&[r#"y="44.5">a<"#, r#"y="59.5">b<"#]);
        let none = reach_curves(("x", "y"), &[], (0.0, ""), &[end(0.0, "a"), end(0.0, "b")], None);
        none.says(&[r#"d="M0 100H100""#]);
        none.lacks(&["NaN"]);
    }
}
