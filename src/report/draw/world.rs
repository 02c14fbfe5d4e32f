//! One feature of the people as they are, of their counterparts, and of the real people of the
//! other group: numbers as curves over the same bins, levels as rows.
//!
//! Area and bar are people as they are, the full line and the dot their counterparts, the dashed
//! line and the ring the real people of the other group.

use std::fmt::Write as _;

use crate::report::draw::plot::{Plot, PlotScale};
use crate::report::draw::svg::Svg;
use crate::report::page::number::{NumberFormat, on_axis};
use crate::report::page::words::{level, short};
use crate::report::read::quality::{DistributionBar, FeatureQuality};

/// Levels that are drawn, and the height of each.
const LEVELS_AT_MOST: usize = 4;
const ROW: f64 = 26.0;

/// The share of a side, 0 where nobody is there.
fn share(bar: &DistributionBar, side: usize) -> f64 {
    bar.share[side].filter(|share| share.is_finite()).unwrap_or(0.0)
}

/// How far the counterparts are from the people as they are: the share of people in other bars.
pub(crate) fn moved_share(feature: &FeatureQuality) -> f64 {
    feature.bars.iter().map(|bar| (share(bar, 0) - share(bar, 1)).abs()).sum::<f64>() / 2.0
}

/// The drawing of a feature; `title` says what it is. It has the scale of shares of `alike`, the same
/// feature in drawings to compare it with, itself among them. Empty where nothing was counted.
pub(crate) fn feature_shapes(
    feature: &FeatureQuality,
    alike: &[&FeatureQuality],
    title: &str,
) -> String {
    let bars = &feature.bars;
    let shares = |of: &DistributionBar| [0, 1, 2].map(|side| share(of, side));
    match bars.first().and_then(|bar| bar.edges).zip(bars.last().and_then(|bar| bar.edges)) {
        Some(((lo, _), (_, hi))) => {
            let all = alike.iter().flat_map(|of| &of.bars).flat_map(shares);
            curves(bars, (lo, hi), all.fold(0.0, f64::max).max(1e-300), title)
        }
        None if bars.is_empty() => String::new(),
        None => {
            let all = alike.iter().flat_map(|of| most_moved(&of.bars)).flat_map(shares);
            levels(&most_moved(bars), PlotScale::from_zero(all, 1.0), title)
        }
    }
}

fn curves(bars: &[DistributionBar], (lo, hi): (f64, f64), top: f64, title: &str) -> String {
    // A number that never varies is one bar.
    let hi = if hi > lo { hi } else { lo + 1.0 };
    let scale = PlotScale::new(lo, hi);
    let mut paths = Svg::default();
    for (side, class, end) in [(0, "area.ve", "Z"), (2, "ln.thin.dash.ve", ""), (1, "ln.ve", "")] {
        let mut path = String::from("M0 100");
        for bar in bars {
            let Some((from, to)) = bar.edges else { continue };
            let (y, to) = (100.0 * (1.0 - share(bar, side) / top), if to > from { to } else { hi });
            let _ = write!(path, "H{:.1}V{y:.1}H{:.1}", scale.at(from), scale.at(to));
        }
        paths.path(class, &format!("{path}V100{end}"));
    }
    let mut plot = Plot::new(scale, scale, [4.0, 76.0]);
    plot.stretched(&paths.marks());
    plot.svg.across("z", plot.ends()[1]);
    plot.numbers([lo, hi], 2.0, |value| on_axis(value, hi - lo));
    plot.told((title, &middles(bars)))
}

/// In which bin the middle of each side lies, in words.
fn middles(bars: &[DistributionBar]) -> String {
    let names = ["as they are", "counterparts", "the other group"];
    let of = |side: usize| {
        let all: f64 = bars.iter().map(|bar| share(bar, side)).sum();
        let mut sum = 0.0;
        let there = bars.iter().find(|bar| {
            sum += share(bar, side);
            sum >= all / 2.0 && all > 0.0
        });
        let Some((lo, hi)) = there.and_then(|bar| bar.edges) else { return "nobody".to_owned() };
        format!("{} to {}", on_axis(lo, hi - lo), on_axis(hi, hi - lo))
    };
    let said: Vec<String> = (0..3).map(|side| format!("{}: {}", names[side], of(side))).collect();
    format!("Middle value: {}.", said.join("; "))
}

/// The levels in which the counterparts differ most from the people as they are; the sort is stable,
/// so of equals the frequent ones come first.
fn most_moved(bars: &[DistributionBar]) -> Vec<&DistributionBar> {
    let mut shown: Vec<&DistributionBar> = bars.iter().filter(|bar| !bar.rest).collect();
    let moved = |bar: &DistributionBar| (share(bar, 0) - share(bar, 1)).abs();
    shown.sort_by(|a, b| moved(b).total_cmp(&moved(a)));
    shown.truncate(LEVELS_AT_MOST);
    shown
}

fn levels(shown: &[&DistributionBar], scale: PlotScale, title: &str) -> String {
    let (mut svg, mut desc) = (Svg::default(), Vec::new());
    for (i, bar) in shown.iter().enumerate() {
        let y = ROW * i as f64;
        let name = level(&bar.level);
        let name = short(&name);
        let shares = [0, 1, 2].map(|side| share(bar, side));
        let [own, other, target] = shares.map(|share| scale.x(share));
        svg.text("mut", "0", y + 11.0, &name);
        svg.rect("stay.sl", [scale.x(0.0), own], [y + 15.5, 7.0]);
        svg.mark("ring", "m.open", target, y + 19.0);
        svg.mark("dot", "m", other, y + 19.0);
        let [own, other, target] = shares.map(|share| NumberFormat::Share.value(share));
        desc.push(format!(
            "{name}: {own} as they are, {other} of the counterparts, {target} of the other group"
        ));
    }
    let height = ROW * shown.len() as f64 + 4.0;
    svg.told("", Some(height), (title, &desc.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::{feature_shapes, moved_share};
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

    #[test]
    fn numbers_are_curves_over_the_same_bins() {
        let age = feature(true, &[[0.5, 0.25, 0.0], [0.5, 0.75, 1.0]]);
        let svg = feature_shapes(&age, &[&age], "age & more");
        svg.says(&[
            r#"class="area ve" d="M0 100H0.0V50.0H50.0H50.0V50.0H100.0V100Z""#,
            r#"class="ln ve" d="M0 100H0.0V75.0H50.0H50.0V25.0H100.0V100""#,
            "age &amp; more",
            "counterparts: 1 to 2",
        ]);
        assert!((moved_share(&age) - 0.25).abs() < 1e-12);
        let nobody = feature(true, &[[0.0, 0.0, 0.0]]);
        let nobody = feature_shapes(&nobody, &[&nobody], "x");
        nobody.says(&["nobody"]);
        nobody.lacks(&["NaN"]);
    }

    #[test]
    fn levels_that_differ_most_are_rows() {
        let shares: Vec<[f64; 3]> = (0..6).map(|i| [0.1 + 0.01 * f64::from(i), 0.1, 0.2]).collect();
        let named = feature(false, &shares);
        let svg = feature_shapes(&named, &[&named], "x");
        assert_eq!(svg.matches("#ring").count(), 4, "{svg}");
        assert!(svg.contains("&lt;l5&gt;") && !svg.contains("&lt;l0&gt;"), "{svg}");
        assert_eq!(feature_shapes(&FeatureQuality::default(), &[], "x"), "");
    }

    #[test]
    fn drawings_to_compare_have_one_scale() {
        let [own, other] = [0.5, 1.0].map(|top| feature(true, &[[top; 3], [0.0; 3]]));
        let svg = feature_shapes(&own, &[&own, &other], "x");
        assert!(svg.contains("M0 100H0.0V50.0H50.0"), "half of the height: {svg}");
        let [own, other] = [0.2, 0.4].map(|top| feature(false, &[[top, 0.1, 0.1]]));
        let svg = feature_shapes(&own, &[&own, &other], "x");
        assert!(svg.contains(r#"class="stay sl" x="0%" width="50%""#), "{svg}");
        let mut still = feature(true, &[[1.0; 3]]);
        still.bars[0].edges = Some((3.0, 3.0));
        let svg = feature_shapes(&still, &[&still], "x");
        assert!(svg.contains("M0 100H0.0V0.0H100.0V100") && !svg.contains("NaN"), "{svg}");
    }
}
