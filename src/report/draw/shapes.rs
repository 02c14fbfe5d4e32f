//! Small drawings of one feature each: rows as they are, their counterfactuals, and real rows of
//! the target group, over the same bars.
//!
//! What tells the three apart is their shape, not their colour: an area, a line and dots. Where
//! counterfactuals look like the target group the dots lie on the line. Shares are drawn, so groups
//! of different sizes compare; the scale is the same in all directions of a world.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::report::draw::chart::tick;
use crate::report::draw::svg::{Svg, at};
use crate::report::page::number::{self, NumberFormat, on_axis};
use crate::report::page::words::{level, short};
use crate::report::read::quality::{DistributionBar, FeatureQuality};
use crate::report::visible::visible;

/// Width of a drawing, and of what is plotted within it; units are CSS pixels at full size.
const WIDTH: f64 = 272.0;
const LEFT: f64 = 34.0;
const PLOT: (f64, f64) = (226.0, 88.0);
/// Above the plot stands the name of the feature.
const TOP: f64 = 24.0;
const BELOW: f64 = 20.0;

/// Of levels: where bars begin, and the height of a row.
const BARS_FROM: f64 = 104.0;
const BARS: f64 = 150.0;
const ROW: f64 = 16.0;

/// Letters of three numbers below an axis that stay apart.
const AXIS_LETTERS: usize = 30;

/// Levels that are drawn one by one; a drawing has no room for more, the table next to it shows
/// them all.
const LEVELS_DRAWN: usize = 8;

/// What the levels that are not distinguished are called.
pub(crate) const OTHERS: &str = "(all others)";

/// Text cut to so many letters.
fn cut(text: &str, letters: usize) -> String {
    let text = visible(text);
    match text.char_indices().nth(letters) {
        None => text.into_owned(),
        Some(_) => text.chars().take(letters - 1).chain(['\u{2026}']).collect(),
    }
}

/// The end of the scale of shares of a feature, over all drawings that are to compare: a round
/// number not below the highest.
pub(crate) fn scale<'a>(features: impl Iterator<Item = &'a FeatureQuality>) -> f64 {
    let shares = features.flat_map(|f| drawn(f).into_iter().flat_map(|bar| bar.share)).flatten();
    let highest = shares.fold(0.0, f64::max);
    let unit = number::unit(highest);
    let ends = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].map(|digits| digits * unit);
    if highest > 0.0 {
        ends.into_iter().find(|end| *end >= highest).unwrap_or(highest).min(1.0)
    } else {
        1.0
    }
}

/// The bars that are drawn: all bins, or the most frequent levels and the others together.
fn drawn(feature: &FeatureQuality) -> Vec<DistributionBar> {
    let bars = &feature.bars;
    if feature.is_number() || bars.len() <= LEVELS_DRAWN + 1 {
        return bars.clone();
    }
    let (first, others) = bars.split_at(LEVELS_DRAWN);
    let sum = |side: usize| others.iter().try_fold(0.0, |sum, bar| Some(sum + bar.share[side]?));
    let n = |side: usize| others.iter().fold(0_i64, |sum, bar| sum.saturating_add(bar.n[side]));
    let rest = DistributionBar {
        edges: None,
        level: String::new(),
        rest: true,
        n: [0, 1, 2].map(n),
        share: [0, 1, 2].map(sum),
    };
    first.iter().cloned().chain([rest]).collect()
}

/// The drawing of a feature; `top` is the end of the scale of shares, `target` the group that the
/// dots are of.
pub(crate) fn drawing(feature: &FeatureQuality, top: f64, target: &str, id: String) -> String {
    let bars = drawn(feature);
    let target = &short(target);
    let title = format!("{} of rows, counterfactuals and group {target}", short(&feature.name));
    let text = in_words(feature, &bars, target);
    let mut svg = Svg::default();
    svg.text("head", "0", 11.0, &cut(&feature.name, 34));
    let height = if feature.is_number() {
        bins(&mut svg, &bars, top);
        PLOT.1
    } else {
        levels(&mut svg, &bars, top);
        bars.len() as f64 * ROW
    };
    svg.scaled("", [WIDTH, TOP + height + BELOW], &id, (&title, &text))
}

/// A share next to an axis, the upper end with its unit.
fn end_of_axis(share: f64) -> String {
    format!("{}{}", tick(share * 100.0), if share > 0.0 { "\u{202f}%" } else { "" })
}

fn bins(svg: &mut Svg, bars: &[DistributionBar], top: f64) {
    let (Some(lo), Some(hi)) =
        (bars.first().and_then(|b| b.edges), bars.last().and_then(|b| b.edges))
    else {
        return;
    };
    let (lo, hi) = (lo.0, hi.1);
    let width = if hi > lo { hi - lo } else { 1.0 };
    let x = |value: f64| LEFT + (value - lo) / width * PLOT.0;
    let y = |share: f64| TOP + (1.0 - (share / top).clamp(0.0, 1.0)) * PLOT.1;
    let ground = at(y(0.0));
    for share in [0.0, top] {
        svg.path("hair", &format!("M{LEFT} {}h{}", at(y(share)), PLOT.0));
        svg.text("en", LEFT - 4.0, y(share) + 4.0, &end_of_axis(share));
    }
    let marks = [(lo, "st"), (f64::midpoint(lo, hi), "mid"), (hi, "en")]
        .map(|(value, anchor)| (value, anchor, on_axis(value, width)));
    // Long numbers leave no room for the one in the middle.
    let all_fit = marks.iter().map(|mark| mark.2.chars().count()).sum::<usize>() <= AXIS_LETTERS;
    for (value, anchor, text) in marks.iter().filter(|mark| all_fit || mark.1 != "mid") {
        svg.text(anchor, x(*value), TOP + PLOT.1 + 14.0, text);
    }
    let outline = |side: usize| {
        let mut path = String::new();
        for bar in bars {
            let (Some((from, to)), Some(share)) = (bar.edges, bar.share[side]) else { continue };
            let to = if to > from { to } else { from + width };
            if path.is_empty() {
                let _ = write!(path, "M{} {ground}", at(x(from)));
            }
            let _ = write!(path, "V{}H{}", at(y(share)), at(x(to)));
        }
        if !path.is_empty() {
            let _ = write!(path, "V{ground}");
        }
        path
    };
    svg.path("area", &(outline(0) + "Z"));
    svg.path("line", &outline(1));
    let mut dots = String::new();
    // Where nobody is on any side a dot would say nothing.
    for bar in bars.iter().filter(|bar| bar.n.iter().any(|n| *n > 0)) {
        if let (Some((from, to)), Some(share)) = (bar.edges, bar.share[2]) {
            let middle = if to > from { f64::midpoint(from, to) } else { from + width / 2.0 };
            let _ = write!(dots, "M{} {}h0", at(x(middle)), at(y(share)));
        }
    }
    svg.path("axis", &format!("M{LEFT} {ground}h{}", PLOT.0));
    svg.path("dots", &dots);
}

fn levels(svg: &mut Svg, bars: &[DistributionBar], top: f64) {
    let x = |share: f64| BARS_FROM + (share / top).clamp(0.0, 1.0) * BARS;
    let bottom = TOP + bars.len() as f64 * ROW;
    let mut dots = String::new();
    for (i, bar) in bars.iter().enumerate() {
        let middle = TOP + (i as f64 + 0.5) * ROW;
        svg.text("en", BARS_FROM - 5.0, middle + 4.0, &cut(&name_of(bar), 15));
        for (class, end, share) in [("area", "z", bar.share[0]), ("line", "", bar.share[1])] {
            if let Some(share) = share {
                let (y, to) = (at(middle - 5.0), at(x(share)));
                svg.path(class, &format!("M{BARS_FROM} {y}H{to}v10H{BARS_FROM}{end}"));
            }
        }
        if let Some(share) = bar.share[2] {
            let _ = write!(dots, "M{} {}h0", at(x(share)), at(middle));
        }
    }
    svg.path("axis", &format!("M{BARS_FROM} {}V{}", at(TOP), at(bottom)));
    svg.path("dots", &dots);
    for (share, anchor) in [(0.0, "st"), (top, "en")] {
        svg.text(anchor, x(share), bottom + 13.0, &end_of_axis(share));
    }
}

/// What a level is called.
fn name_of(bar: &DistributionBar) -> Cow<'_, str> {
    if bar.rest { OTHERS.into() } else { level(&bar.level) }
}

/// What a drawing shows, for those who do not see it.
fn in_words(feature: &FeatureQuality, bars: &[DistributionBar], target: &str) -> String {
    let sides = ["in the rows", "in the counterfactuals", "in the target group"];
    let said = |(side, what): (usize, &str)| {
        let said = if feature.is_number() { middle(bars, side) } else { most(bars, side) };
        format!("{what}: {}", said.as_deref().unwrap_or("none"))
    };
    let mut words: Vec<String> = sides.into_iter().enumerate().map(said).collect();
    let ends = feature.value("dist_before").zip(feature.value("dist_after"));
    words.extend(ends.map(|(before, after)| {
        let [before, after] = [before, after].map(|of| NumberFormat::Plain.value(of));
        format!("distance to group {target} {before} before and {after} after")
    }));
    words.join("; ")
}

/// The bin in which the middle value of a side lies.
fn middle(bars: &[DistributionBar], side: usize) -> Option<String> {
    let mut below = 0.0;
    for bar in bars {
        below += bar.share[side]?;
        if below >= 0.5 - 1e-9 {
            let (lo, hi) = bar.edges?;
            let width = bars.last()?.edges?.1 - bars.first()?.edges?.0;
            return Some(format!(
                "middle value between {} and {}",
                on_axis(lo, width),
                on_axis(hi, width)
            ));
        }
    }
    None
}

/// The most frequent levels of a side.
fn most(bars: &[DistributionBar], side: usize) -> Option<String> {
    let mut found: Vec<(&DistributionBar, f64)> =
        bars.iter().map(|bar| Some((bar, bar.share[side]?))).collect::<Option<_>>()?;
    // The sort is stable, so ties stay in order.
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words: Vec<String> = found
        .iter()
        .take(3)
        .map(|(bar, share)| {
            format!("{} {}", short(&name_of(bar)), NumberFormat::Share.value(*share))
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{FeatureQuality, cut, drawing, drawn, scale};
    use crate::report::read::quality::DistributionBar;
    use crate::tests::Says;

    fn number(shares: &[[f64; 3]]) -> FeatureQuality {
        let bars = shares.iter().enumerate().map(|(i, share)| DistributionBar {
            edges: Some((i as f64, i as f64 + 1.0)),
            level: String::new(),
            rest: false,
            n: [1; 3],
            share: share.map(Some),
        });
        FeatureQuality { name: "age".to_owned(), bars: bars.collect(), ..FeatureQuality::default() }
    }

    fn coded(n: usize) -> FeatureQuality {
        let bar = |i: usize| DistributionBar {
            edges: None,
            level: format!("<level> {i}"),
            rest: false,
            n: [10; 3],
            share: [Some(1.0 / n as f64); 3],
        };
        FeatureQuality {
            name: "job & \"more\"".to_owned(),
            bars: (0..n).map(bar).collect(),
            ..FeatureQuality::default()
        }
    }

    #[test]
    fn three_shapes_over_the_same_bars() {
        let feature = number(&[[0.5, 0.25, 0.0], [0.25, 0.25, 0.5], [0.25, 0.5, 0.5]]);
        let svg = drawing(&feature, scale([&feature].into_iter()), "Male", "x".to_owned());
        // Half of the scale is the whole height: 24 to 112.
        svg.says(&[
            r#"class="area" d="M34 112V24H109.3V68H184.7V68H260V112Z""#,
            r#"class="line" d="M34 112V68H109.3V68H184.7V24H260V112""#,
            r#"class="dots" d="M71.7 112h0M147 24h0M222.3 24h0""#,
            "in the rows: middle value between 0 and 1",
            "in the target group: middle value between 1 and 2",
        ]);
        assert!(svg.len() < 1800, "{}", svg.len());
    }

    #[test]
    fn a_number_that_never_varies_is_one_bar() {
        let mut feature = number(&[[1.0, 1.0, 1.0]]);
        feature.bars[0].edges = Some((3.0, 3.0));
        let svg = drawing(&feature, 1.0, "Male", "x".to_owned());
        svg.says(&[r#"d="M34 112V24H260V112Z""#]);
        svg.lacks(&["NaN", "inf"]);
    }

    #[test]
    fn rare_levels_are_drawn_together_and_names_are_escaped() {
        assert_eq!(drawn(&coded(9)).len(), 9);
        let feature = coded(12);
        let bars = drawn(&feature);
        assert_eq!(bars.len(), 9);
        assert!(bars[8].n == [40; 3] && bars[8].rest);
        let svg = drawing(&feature, 0.5, "<b>", "x".to_owned());
        svg.says(&["all others", "&lt;level&gt; 0"]);
        svg.lacks(&["<b>", "<level>"]);
        svg.says(&["job &amp; &quot;more&quot;"]);
    }

    #[test]
    fn sides_without_anybody_are_not_drawn() {
        let mut feature = number(&[[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]);
        feature.bars.iter_mut().for_each(|bar| bar.share = [None, None, Some(0.5)]);
        let svg = drawing(&feature, 0.5, "Male", "x".to_owned());
        svg.says(&["in the rows: none", r#"class="line" d="""#]);
    }

    #[test]
    fn scales_end_at_round_numbers() {
        for (share, end) in [
            (0.61, 0.8),
            (0.13, 0.15),
            (0.2, 0.2),
            (0.9, 1.0),
            (1.0, 1.0),
            (0.0, 1.0),
            (0.034, 0.04),
        ] {
            assert!(
                (scale([&number(&[[share, 0.0, 0.0]])].into_iter()) - end).abs() < 1e-12,
                "{share}"
            );
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde\u{2026}");
    }
}
