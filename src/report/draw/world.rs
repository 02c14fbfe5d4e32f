//! One feature of the people as they are, of their counterfactuals, and of the real people of the
//! other group: numbers as curves over the same bins, levels as rows.
//!
//! Area and bar are people as they are, the full line and the dot their counterfactuals, the dashed
//! line and the ring the real people of the other group.

use std::fmt::Write as _;

use minijinja::context;
use minijinja::value::Value;

use crate::report::draw::plot::{AxisUnit, Plot, PlotScale};
use crate::report::draw::svg::{Percent, Svg};
use crate::report::page::number::on_axis;
use crate::report::page::words::{level, short};
use crate::report::read::quality::{DistributionBar, FeatureQuality};
use crate::text::fact;

/// Levels that are drawn, and the height of each.
const LEVELS_AT_MOST: usize = 4;
const ROW: f64 = 26.0;

/// Which levels are drawn first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LevelOrder {
    /// Those in which the counterfactuals differ most from the people as they are.
    Moved,
    /// Those in which they differ most from these or from the real people of the other group.
    Apart,
}

/// The share of a side; none without people.
fn share(bar: &DistributionBar, side: usize) -> Option<f64> {
    bar.share[side].filter(|share| share.is_finite())
}

/// How far the shares of two sides are apart; 0 where one of them has no people.
fn gap(bar: &DistributionBar, [a, b]: [usize; 2]) -> f64 {
    share(bar, a).zip(share(bar, b)).map_or(0.0, |(a, b)| (a - b).abs())
}

/// How far the counterfactuals are from the people as they are: the share of people in other bars.
pub(crate) fn moved_share(feature: &FeatureQuality) -> f64 {
    feature.bars.iter().map(|bar| gap(bar, [0, 1])).sum::<f64>() / 2.0
}

/// Whether a feature has bins or levels to draw: of levels that are not distinguished nothing is.
pub(crate) fn has_shapes(feature: &FeatureQuality) -> bool {
    feature.bars.iter().any(|bar| !bar.rest)
}

/// What the drawing of a feature needs, with its numbers in words; `feature_shapes` of
/// `charts.html` draws it. It has the scale of shares of `alike`, the same feature in drawings to
/// compare it with, itself among them. None where it has no shapes.
pub(crate) fn feature_shapes(
    feature: &FeatureQuality,
    alike: &[&FeatureQuality],
    order: LevelOrder,
) -> Option<Value> {
    let bars = &feature.bars;
    let shares = |of: &DistributionBar| [0, 1, 2].map(|side| share(of, side));
    match bars.first().and_then(|bar| bar.edges).zip(bars.last().and_then(|bar| bar.edges)) {
        Some(((lo, _), (_, hi))) => {
            let all = alike.iter().flat_map(|of| &of.bars).flat_map(shares).flatten();
            let chart = fact(&(bars, (lo, hi), PlotScale::from_zero(all, 1.0)));
            Some(context!(chart => context!(feature_curves => chart), middles => middles(bars)))
        }
        None if !has_shapes(feature) => None,
        None => {
            let all = alike.iter().flat_map(|of| first_levels(&of.bars, order)).flat_map(shares);
            let scale = PlotScale::from_zero(all.flatten(), 1.0);
            let shown = first_levels(bars, order);
            let told = shown.iter().map(|bar| {
                let name = level(&bar.level);
                context!(name => &*short(&name), shares => shares(bar).to_vec())
            });
            let told: Value = told.collect();
            let chart = context!(feature_levels => fact(&(shown, scale)));
            Some(context!(chart, levels => told))
        }
    }
}

/// The distributions of numbers between two ends.
pub(crate) fn feature_curves(
    words: (&str, &str),
    bars: &[DistributionBar],
    (lo, hi): (f64, f64),
    up: PlotScale,
) -> String {
    let is_still = hi <= lo;
    let scale = PlotScale::new(lo, hi);
    let mut paths = Svg::default();
    for (side, class, end) in [(0, "area.ve", "Z"), (2, "ln.thin.dash.ve", ""), (1, "ln.ve", "")] {
        let mut path = String::new();
        for bar in bars {
            let Some(((from, to), share)) = bar.edges.zip(share(bar, side)) else { continue };
            // A number that never varies is one bar.
            let [from, to] =
                if is_still { [0.0, 100.0] } else { [from, to].map(|edge| scale.at(edge)) };
            let _ = write!(path, "H{from:.1}V{:.1}H{to:.1}", 100.0 - up.at(share));
        }
        if !path.is_empty() {
            paths.path(class, &format!("M0 100{path}V100{end}"));
        }
    }
    let mut plot = Plot::new(scale, up, [8.0, 72.0]);
    plot.stretched(&paths.marks());
    plot.base(0.0, AxisUnit::Percent);
    if is_still {
        plot.numbers([f64::midpoint(scale.ends().0, scale.ends().1)], 2.0, |_| edges(lo, hi));
    } else {
        plot.numbers([lo, hi], 2.0, |value| on_axis(value, hi - lo));
    }
    plot.described(words)
}

/// The edges of a bin in words; of a number that never varies its value.
fn edges(lo: f64, hi: f64) -> String {
    match hi - lo {
        width if width > 0.0 => format!("{} to {}", on_axis(lo, width), on_axis(hi, width)),
        _ => on_axis(lo, lo.abs().min(1.0)),
    }
}

/// The bins in which the middles of the three sides lie.
fn middles(bars: &[DistributionBar]) -> Vec<Option<String>> {
    let of = |side: usize| {
        let share = |bar: &DistributionBar| share(bar, side).unwrap_or(0.0);
        let all: f64 = bars.iter().map(share).sum();
        let mut sum = 0.0;
        let there = bars.iter().find(|bar| {
            sum += share(bar);
            sum >= all / 2.0 && all > 0.0
        });
        let (lo, hi) = there?.edges?;
        Some(edges(lo, hi))
    };
    (0..3).map(of).collect()
}

/// The levels that are drawn; the sort is stable, so of equals the frequent ones come first.
fn first_levels(bars: &[DistributionBar], order: LevelOrder) -> Vec<&DistributionBar> {
    let mut shown: Vec<&DistributionBar> = bars.iter().filter(|bar| !bar.rest).collect();
    let apart = |bar: &DistributionBar| match order {
        LevelOrder::Moved => gap(bar, [0, 1]),
        LevelOrder::Apart => gap(bar, [0, 1]).max(gap(bar, [1, 2])),
    };
    shown.sort_by(|a, b| apart(b).total_cmp(&apart(a)));
    shown.truncate(LEVELS_AT_MOST);
    shown
}

/// The shares of levels, a row each.
pub(crate) fn feature_levels(
    words: (&str, &str),
    shown: &[DistributionBar],
    scale: PlotScale,
) -> String {
    let mut svg = Svg::default();
    for (i, bar) in shown.iter().enumerate() {
        let y = ROW * i as f64;
        let name = level(&bar.level);
        let [own, other, target] =
            [0, 1, 2].map(|side| share(bar, side).map(|share| scale.x(share)));
        svg.text("mut", "0", y + 11.0, &short(&name));
        if let Some(own) = own {
            svg.rect("stay.sl", [scale.x(0.0), own], [y + 15.5, 7.0]);
        }
        for (shape, class, place) in [("ring", "m.open", target), ("dot", "m", other)] {
            if let Some(place) = place {
                svg.mark(shape, class, place, y + 19.0);
            }
        }
    }
    let below = ROW * shown.len() as f64;
    let end = AxisUnit::Percent.label_with_unit(scale.ends().1);
    svg.text("t.st", Percent(0.0), below + 12.0, "0");
    svg.text("t.en", Percent(100.0), below + 12.0, &end);
    svg.described("", Some(below + 16.0), words)
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::{LevelOrder, edges, feature_shapes, has_shapes, moved_share};
    use crate::report::page::render::environment;
    use crate::report::read::quality::{DistributionBar, FeatureQuality};
    use crate::tests::Says;

    fn feature(edges: bool, shares: &[[f64; 3]]) -> FeatureQuality {
        let bar = |(i, share): (usize, &[f64; 3])| DistributionBar {
            edges: edges.then_some((i as f64, i as f64 + 1.0)),
            level: format!("<l{i}>"),
            rest: false,
            n: [1; 3],
            share: share.map(Some),
        };
        FeatureQuality {
            name: "age".to_owned(),
            bars: shares.iter().enumerate().map(bar).collect(),
            ..FeatureQuality::default()
        }
    }

    fn drawn(feature: &FeatureQuality, order: LevelOrder) -> String {
        alike(feature, &[feature], order)
    }

    /// The drawing with the scale of others; empty where there is none.
    fn alike(feature: &FeatureQuality, alike: &[&FeatureQuality], order: LevelOrder) -> String {
        let source = "{% from \"charts.html\" import feature_shapes %}{{ feature_shapes(s, t) }}";
        let shapes = feature_shapes(feature, alike, order);
        let title = format!("{} & more", feature.name);
        let drawn =
            |s| environment(None).render_named_str("x.html", source, context!(s, t => title));
        shapes.map_or_else(String::new, |shapes| drawn(shapes).unwrap())
    }

    #[test]
    fn numbers_are_curves_over_the_same_bins() {
        let age = feature(true, &[[0.5, 0.25, 0.0], [0.5, 0.75, 1.0]]);
        let svg = drawn(&age, LevelOrder::Moved);
        svg.says(&[
            r#"class="area ve" d="M0 100H0.0V50.0H50.0H50.0V50.0H100.0V100Z""#,
            r#"class="ln thin dash ve" d="M0 100H0.0V100.0H50.0H50.0V0.0H100.0V100""#,
            r#"class="ln ve" d="M0 100H0.0V75.0H50.0H50.0V25.0H100.0V100""#,
            "age &amp; more",
            "counterparts: 1 to 2",
            ">100\u{a0}%</text>",
        ]);
        assert!((moved_share(&age) - 0.25).abs() < 1e-12);
        let nobody = drawn(&feature(true, &[[0.0, 0.0, 0.0]]), LevelOrder::Moved);
        nobody.says(&["as they are: none"]);
        nobody.lacks(&["NaN"]);
    }

    #[test]
    fn sides_without_anybody_are_not_drawn() {
        let only_target = |edges: bool| {
            let mut feature = feature(edges, &[[0.5; 3], [0.5; 3]]);
            feature.bars.iter_mut().for_each(|bar| bar.share = [None, None, Some(0.5)]);
            assert!(moved_share(&feature) < 1e-12);
            drawn(&feature, LevelOrder::Apart)
        };
        let svg = only_target(true);
        svg.says(&["as they are: none; counterparts: none; the other group: 0 to 1", "dash"]);
        svg.lacks(&["area", r#"class="ln ve""#]);
        let svg = only_target(false);
        svg.says(&["none as they are, none of the counterparts, 50.0\u{202f}% of the other"]);
        assert_eq!(svg.matches("#ring").count(), 2, "{svg}");
        svg.lacks(&["#dot", "<rect"]);
    }

    #[test]
    fn levels_that_differ_most_are_rows() {
        let shares: Vec<[f64; 3]> = (0..6).map(|i| [0.1 + 0.01 * f64::from(i), 0.1, 0.2]).collect();
        let mut named = feature(false, &shares);
        let svg = drawn(&named, LevelOrder::Moved);
        assert_eq!(svg.matches("#ring").count(), 4, "{svg}");
        assert!(svg.contains("&lt;l5&gt;") && !svg.contains("&lt;l0&gt;"), "{svg}");
        // The scale ends at 20 per cent, and the first row is the last level.
        svg.says(&[
            r#"<rect class="stay sl" x="0%" width="75%" y="15.5" height="7"/>"#,
            r##"<use href="#ring" class="m open" x="100%" y="19"/>"##,
            r##"<use href="#dot" class="m" x="50%" y="19"/>"##,
            ">0</text>",
            ">20\u{a0}%</text>",
        ]);
        // Counterparts that miss the other group count as much as those that left their own.
        named.bars[0].share[2] = Some(0.9);
        drawn(&named, LevelOrder::Moved).lacks(&["&lt;l0&gt;"]);
        drawn(&named, LevelOrder::Apart).says(&["&lt;l0&gt;"]);
    }

    #[test]
    fn levels_that_are_not_distinguished_are_no_drawing() {
        let mut rest = feature(false, &[[1.0; 3]]);
        assert!(has_shapes(&rest));
        rest.bars[0].rest = true;
        for nothing in [rest, FeatureQuality::default()] {
            assert!(!has_shapes(&nothing));
            assert_eq!(drawn(&nothing, LevelOrder::Apart), "");
        }
    }

    #[test]
    fn drawings_to_compare_have_one_scale() {
        let [own, other] = [0.5, 1.0].map(|top| feature(true, &[[top; 3], [0.0; 3]]));
        let svg = alike(&own, &[&own, &other], LevelOrder::Apart);
        assert!(svg.contains("M0 100H0.0V50.0H50.0"), "half of the height: {svg}");
        let [own, other] = [0.2, 0.4].map(|top| feature(false, &[[top, 0.1, 0.1]]));
        let svg = alike(&own, &[&own, &other], LevelOrder::Apart);
        assert!(svg.contains(r#"class="stay sl" x="0%" width="50%""#), "{svg}");
        let rounded = drawn(&feature(true, &[[0.55; 3], [0.45; 3]]), LevelOrder::Apart);
        rounded.says(&[">60\u{a0}%</text>"]);
    }

    #[test]
    fn a_number_that_never_varies_is_one_bar_and_its_value_stands_once() {
        let mut still = feature(true, &[[1.0; 3]]);
        still.bars[0].edges = Some((3.0, 3.0));
        let svg = drawn(&still, LevelOrder::Apart);
        assert!(svg.contains("M0 100H0.0V0.0H100.0V100") && !svg.contains("NaN"), "{svg}");
        svg.says(&["as they are: 3;", r#"x="50%""#]);
        assert_eq!(svg.matches(">3</text>").count(), 1, "{svg}");
        svg.lacks(&[">4</text>", "3 to"]);
        assert_eq!(
            [0.0, 2023.0, 0.25, -7.5].map(|v| edges(v, v)),
            ["0", "2023", "0.25", "\u{2212}7.5"]
        );
    }
}
