//! Charts with a function each: shares before and after, who switches as a mosaic, the ladder of
//! assumptions, distributions of scores, the trade-off of retraining.
//!
//! As in [`super::plot`] nothing is scaled but curves, and each drawing is described by `title` and
//! `desc`.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::report::draw::plot::{
    AxisUnit, DrawnLimit, Plot, PlotPoint, PlotScale, SwitchSide, axis_numbers, second_whisker,
};
use crate::report::draw::svg::{Percent, Svg};
use crate::report::page::number::{count, on_axis, three_digits};
use crate::report::page::words::cut;
use crate::report::read::tally::{HistogramBin, WeightedCount};

/// People by their decision as they are and as members of another group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SwitchCounts {
    /// They have the favourable decision both times.
    pub(crate) keep: i64,
    /// They have it and would lose it.
    pub(crate) lose: i64,
    /// They do not have it and would gain it.
    pub(crate) gain: i64,
    /// They do not have it and would not get it.
    pub(crate) without: i64,
}

impl SwitchCounts {
    /// Everybody.
    pub(crate) fn all(self) -> i64 {
        self.held().saturating_add(self.lacked())
    }

    /// The people with the favourable decision.
    pub(crate) fn held(self) -> i64 {
        self.keep.saturating_add(self.lose)
    }

    /// The people without the favourable decision.
    pub(crate) fn lacked(self) -> i64 {
        self.gain.saturating_add(self.without)
    }

    /// The people who would have the favourable decision as members of the other group.
    pub(crate) fn held_after(self) -> i64 {
        self.keep.saturating_add(self.gain)
    }
}

/// A share of a whole; 0 without people.
fn part(n: i64, whole: i64) -> f64 {
    if whole > 0 { n as f64 / whole as f64 } else { 0.0 }
}

fn rect(svg: &mut Svg, class: &str, x: [f64; 2], y: [f64; 2]) {
    svg.rect(class, x.map(Percent), y);
}

/// Two bars of 26 pixels with 30 pixels between them: the favourable share of a group as it is, and
/// as it would be. People who keep the decision join them, those who lose it are hatched in the
/// upper bar, those who gain it are plain in the lower one. `shares` are those who keep it, who have
/// it and who would have it, `top` is the end of their scale; `labels` say keep, lose and gain it,
/// and that nobody switches.
pub(crate) fn share_bars(
    words: (&str, &str),
    counts: SwitchCounts,
    (shares, top): ([f64; 3], f64),
    labels: &[String; 4],
) -> String {
    let [keep_it, lose_it, gain_it, still] = labels;
    let scale = PlotScale::new(0.0, top);
    let [keep, held, after] = shares.map(|share| scale.at(share));
    let mut svg = Svg::default();
    for (class, y) in [("ribbon", [26.0, 30.0]), ("stay", [0.0, 26.0]), ("stay", [56.0, 26.0])] {
        rect(&mut svg, class, [0.0, keep], y);
    }
    if counts.lose > 0 {
        rect(&mut svg, "lostfill", [keep, held - keep], [0.75, 24.5]);
    }
    if counts.gain > 0 {
        rect(&mut svg, "gainfill", [keep, after - keep], [56.75, 24.5]);
    }
    for (x, y, n) in [(held, 17.5, counts.held()), (after, 73.5, counts.held_after())] {
        svg.text_beside("", (Percent(x), 8.0), y, &count(n));
    }
    let (nobody, both) = (counts.lose == 0 && counts.gain == 0, counts.lose > 0 && counts.gain > 0);
    // Beyond this the ribbon has room for the labels, and what is right of it has not.
    let (dx, anchor) = if keep > 55.0 { (-8.0, "en") } else { (8.0, "") };
    if (34.0..=55.0).contains(&keep) && !nobody {
        svg.text_beside("mut", ("0", 8.0), 45.0, &format!("{} {keep_it}", count(counts.keep)));
    }
    let sides = [
        (SwitchSide::Lost, counts.lose, lose_it, "tx-lost", 38.0),
        (SwitchSide::Gained, counts.gain, gain_it, "tx-gain", 52.0),
    ];
    for (side, n, label, class, y) in sides.into_iter().filter(|side| side.1 > 0) {
        let words = format!("{} {} {label}", side.letter(), count(n));
        let y = if both { y } else { 45.0 };
        svg.text_beside(&format!("{anchor}.{class}"), (Percent(keep), dx), y, &words);
    }
    if nobody {
        svg.text_beside("mut", ("0", 8.0), 45.0, still);
    }
    svg.described("", Some(82.0), words)
}

/// The height that both bands of a mosaic share.
const BANDS: f64 = 80.0;

/// Who switches in a direction: a band of those who have the favourable decision and one of those
/// who have not, high by people, each split across by the decision as members of the other group.
/// `labels` say keep, lose and gain it, and without it.
pub(crate) fn mosaic(words: (&str, &str), counts: SwitchCounts, labels: &[String; 4]) -> String {
    let [keep_it, lose_it, gain_it, without] = labels;
    let all = counts.all();
    let upper = if all > 0 {
        (BANDS * part(counts.held(), all)).clamp(3.0, BANDS - 3.0)
    } else {
        BANDS / 2.0
    };
    let mut svg = Svg::default();
    let label = |svg: &mut Svg, y: f64, sides: [(i64, &String, &str); 2]| {
        for (anchor, (n, word, hue)) in
            ["x=\"0\"", "class=\"en\" x=\"100%\""].into_iter().zip(sides)
        {
            let (bold, plain) =
                if n > 0 { (format!("hd {hue}"), hue) } else { ("hd".to_owned(), "") };
            let (bold, plain) = (bold.trim_end(), if plain.is_empty() { "mut" } else { plain });
            let (y, n) = (round(y), count(n));
            svg.raw(&format!(
                "<text {anchor} y=\"{y}\"><tspan class=\"{bold}\">{n}</tspan> <tspan \
                 class=\"{plain}\">{word}</tspan></text>"
            ));
        }
    };
    // At least so much of the width that it is seen.
    let seen = |n: i64, whole: i64| {
        let width = 100.0 * part(n, whole);
        if n > 0 { width.max(0.8) } else { 0.0 }
    };
    label(&mut svg, 12.0, [(counts.keep, keep_it, ""), (counts.lose, lose_it, "tx-lost")]);
    if counts.held() > 0 {
        let lost = seen(counts.lose, counts.held());
        rect(&mut svg, "stay.sl", [0.0, 100.0 - lost], [17.0, upper]);
        if counts.lose > 0 {
            rect(&mut svg, "lostfill", [100.0 - lost, lost], [17.0, upper]);
        }
    }
    let below = 17.0 + upper + 3.0;
    let sides = [(counts.gain, gain_it, "tx-gain"), (counts.without, without, "")];
    label(&mut svg, below + 12.0, sides);
    if counts.lacked() > 0 {
        let (gained, y) = (seen(counts.gain, counts.lacked()), [below + 17.0, BANDS - upper]);
        rect(&mut svg, "ribbon.sl", [gained, 100.0 - gained], y);
        if counts.gain > 0 {
            rect(&mut svg, "gainfill", [0.0, gained], y);
        }
    }
    svg.described("mosaic", Some(118.0), words)
}

/// A pixel to a tenth.
fn round(y: f64) -> f64 {
    (y * 10.0).round() / 10.0
}

/// A model in a ladder: its name and what each assumption gives, in the order of assumptions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LadderBlock {
    /// The model.
    pub(crate) model: String,
    /// Assumption, value, and the value in words.
    pub(crate) rungs: Vec<(String, PlotPoint, String)>,
}

/// Width of the drawn part of a ladder on a phone.
const RUNG_WIDTH: f64 = 250.0;

/// The height of a row of a ladder.
const RUNG: f64 = 25.0;

/// Letters of a name of a ladder; for longer ones the title has the rest.
const NAME_AT_MOST: usize = 29;

/// The width of the names of a ladder, in per cent of the narrowest drawing, 320 pixels: 5.6 pixels
/// a letter behind 8 pixels.
fn names_width(blocks: &[LadderBlock]) -> f64 {
    let letters = |(name, ..): &(String, PlotPoint, String)| name.chars().count();
    let longest = blocks.iter().flat_map(|block| block.rungs.iter().map(letters)).max();
    let letters = longest.unwrap_or(0).min(NAME_AT_MOST);
    ((8.0 + 5.6 * letters as f64) / 3.2).max(38.0)
}

/// How the answer depends on the assumption: a block for each model, a row for each assumption,
/// with its name left of the axis, so that names cross neither marks nor lines.
pub(crate) fn ladder(
    title: &str,
    blocks: &[LadderBlock],
    side: SwitchSide,
    limit: Option<&DrawnLimit>,
) -> String {
    let (shape, hue) = side.mark();
    // Room for each value after its whisker, by its letters, also on a phone.
    let room = |words: &str| {
        let width = 9.0 + 6.6 * words.chars().count() as f64;
        (1.0 / (1.0 - width / RUNG_WIDTH)).clamp(1.2, 2.0)
    };
    let rungs = blocks.iter().flat_map(|block| &block.rungs);
    let ends = rungs.flat_map(|(_, point, words)| point.extent().map(move |v| v * room(words)));
    let scale = PlotScale::from_zero(ends.chain(limit.map(|of| of.drawn * 1.2)), f64::INFINITY);
    let names = names_width(blocks);
    let place = |v: f64| Percent(names + (100.0 - names) / 100.0 * scale.at(v));
    let rows: usize = blocks.iter().map(|block| block.rungs.len()).sum();
    let bottom = 24.0 + 20.0 * blocks.len() as f64 + RUNG * rows as f64;
    let mut svg = Svg::default();
    // Behind 100 % there is room for values, but no share.
    let ticks: Vec<f64> = scale.ticks().into_iter().filter(|tick| *tick <= 1.0).collect();
    for (i, tick) in ticks.iter().enumerate() {
        svg.down(if i == 0 { "z" } else { "g" }, place(*tick), [18.0, bottom]);
    }
    if let Some(limit) = limit {
        svg.down("lim", place(limit.drawn), [18.0, bottom]);
    }
    axis_numbers(&mut svg, AxisUnit::Percent, &ticks, (place, bottom + 14.0), limit, "t.en");
    let (mut y, mut desc) = (18.0, Vec::new());
    for block in blocks {
        svg.text("hd.halo", "0", y + 14.0, &block.model);
        y += 20.0;
        let mut before: Option<(Percent, f64)> = None;
        for (assumption, point, words) in &block.rungs {
            let (x, lane) = (place(point.value), y + 12.0);
            if let Some((x1, y1)) = before.replace((x, lane)) {
                svg.line("ln.thin.mutl", [x1, x], [y1, lane]);
            }
            svg.text_beside("mut.halo", ("0", 8.0), lane + 4.0, &cut(assumption, NAME_AT_MOST));
            let mut right = x;
            if let Some((lo, hi)) = point.interval {
                let ends = [lo, hi].map(place);
                right = if ends[1] > right { ends[1] } else { right };
                svg.line(&format!("w.{hue}"), ends, [lane, lane]);
            }
            if let Some((lo, hi)) = point.second {
                second_whisker(&mut svg, [lo, hi].map(place), lane + 9.0, 0.0);
            }
            svg.mark(shape, &format!("m.{hue}"), x, lane);
            svg.text_beside("hd.halo", (right, 9.0), lane + 4.0, words);
            desc.push(format!("{}, {assumption}: {words}", block.model));
            y += RUNG;
        }
    }
    svg.described("ladder", Some(bottom + 18.0), (title, &desc.join("; ")))
}

/// The head and the plot of a distribution, in pixels.
const SIZE: [f64; 2] = [22.0, 96.0];

/// The cases of a histogram.
pub(crate) fn cases(bins: &[HistogramBin]) -> WeightedCount {
    bins.iter().fold(WeightedCount::default(), |sum, bin| sum.plus(bin.2))
}

/// The share of all cases in a bin by its width, so that bins of several widths compare.
fn density((lo, hi, tally): &HistogramBin, all: WeightedCount) -> f64 {
    tally.part_of(all).filter(|_| hi > lo).map_or(0.0, |share| share / (hi - lo))
}

/// The highest share of a bin by its width.
pub(crate) fn highest(bins: &[HistogramBin]) -> f64 {
    let all = cases(bins);
    bins.iter().map(|bin| density(bin, all)).fold(0.0, f64::max)
}

/// The bins that hold 99 % of the cases, at least `fewest` of them where there are as many; what
/// lies outside is counted in the bins at the ends.
pub(crate) fn central(bins: &[HistogramBin], fewest: usize) -> Vec<HistogramBin> {
    let all = cases(bins);
    let share = |bin: &HistogramBin| bin.2.part_of(all).unwrap_or(0.0);
    let tail = |bins: &mut dyn Iterator<Item = &HistogramBin>| {
        let mut sum = 0.0;
        bins.take_while(|bin| {
            sum += share(bin);
            sum <= 0.005
        })
        .count()
    };
    let (mut from, mut behind) = (tail(&mut bins.iter()), tail(&mut bins.iter().rev()));
    if from + behind >= bins.len() {
        return bins.to_vec();
    }
    while bins.len() - from - behind < fewest && (from > 0 || behind > 0) {
        if from >= behind { from -= 1 } else { behind -= 1 }
    }
    let to = bins.len() - behind;
    let mut shown = bins[from..to].to_vec();
    if let Some(first) = shown.first_mut() {
        first.2 = first.2.plus(cases(&bins[..from]));
    }
    if let Some(last) = shown.last_mut() {
        last.2 = last.2.plus(cases(&bins[to..]));
    }
    shown
}

fn baseline(plot: &mut Plot) {
    let [_, bottom] = plot.ends();
    plot.svg.across("z", bottom);
    let ((lo, hi), ticks) = (plot.across.ends(), plot.across.ticks());
    // More than five would run into each other: then every second one, zero among them.
    let every = if ticks.len() > 5 { 2 } else { 1 };
    let zero = ticks.iter().position(|tick| *tick == 0.0).unwrap_or(0);
    let shown = ticks.into_iter().enumerate().filter(|(i, _)| i % every == zero % every);
    plot.numbers(shown.map(|(_, tick)| tick), 2.0, |value| {
        let sign = if lo < 0.0 && value > 0.0 { "+" } else { "" };
        format!("{sign}{}", on_axis(value, hi - lo))
    });
}

/// A histogram of changes of scores with a line at no change, which `still` says, and a dashed one
/// at the mean, with its words.
pub(crate) fn change_bars(
    words: (&str, &str),
    bins: &[HistogramBin],
    (scale, top): (PlotScale, f64),
    mean: Option<&(f64, String)>,
    still: &str,
) -> String {
    let all = cases(bins);
    let mut plot = Plot::new(scale, PlotScale::new(0.0, top.max(1e-300)), SIZE);
    let [_, bottom] = plot.ends();
    for bin in bins.iter().filter(|bin| bin.2.n > 0) {
        let (x1, x2, y) = (scale.at(bin.0), scale.at(bin.1), plot.y(density(bin, all)));
        rect(&mut plot.svg, "stay.sl", [x1, (x2 - x1).max(0.0)], [y, bottom - y]);
    }
    baseline(&mut plot);
    let zero = scale.at(0.0);
    let apart = mean.is_none_or(|(mean, _)| (scale.at(*mean) - zero).abs() > 30.0);
    plot.guide("ln", 0.0, if apart { still } else { "" });
    if let Some((mean, label)) = mean {
        plot.guide("ln.thin.dash", *mean, label);
    }
    plot.described(words)
}

/// A change of scores with its sign and two or three digits, for a label.
pub(crate) fn signed(change: f64) -> String {
    let (sign, size) = (if change > 0.0 { "+" } else { "\u{2212}" }, change.abs());
    if size >= 0.1 { format!("{sign}{size:.2}") } else { sign.to_owned() + &three_digits(size) }
}

fn outline(bins: &[HistogramBin], scale: PlotScale, top: f64) -> String {
    let all = cases(bins);
    let mut path = String::from("M0 100");
    let mut last = f64::NAN;
    for bin in bins {
        let (lo, hi, _) = bin;
        let y = round(100.0 - (density(bin, all) / top.max(1e-300) * 100.0).clamp(0.0, 100.0));
        if y != last {
            let _ = write!(path, "H{}V{y}", round(scale.at(*lo)));
        }
        let _ = write!(path, "H{}", round(scale.at(*hi)));
        last = y;
    }
    path + "V100"
}

/// Scores as people are as an area, as members of the other group as a line, and the score from
/// which the decision is taken.
pub(crate) fn score_bars(
    words: (&str, &str),
    [original, counterfactual]: &[Vec<HistogramBin>; 2],
    scale: PlotScale,
    top: f64,
    cut_offs: &[(f64, String)],
) -> String {
    let mut plot = Plot::new(scale, scale, SIZE);
    let mut paths = Svg::default();
    paths.path("area.ve", &(outline(original, scale, top) + "Z"));
    paths.path("ln.ve", &outline(counterfactual, scale, top));
    plot.stretched(&paths.marks());
    baseline(&mut plot);
    for (value, label) in cut_offs {
        plot.guide("ln.thin", *value, label);
    }
    plot.described(words)
}

/// An arm of an experiment in the trade-off: a rate of switches and how many people are judged
/// right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TradeOffArm {
    /// Its name.
    pub(crate) name: String,
    /// The switch rate.
    pub(crate) rate: PlotPoint,
    /// The share of people who are judged right.
    pub(crate) right: PlotPoint,
}

/// Switch rate across, people who are judged right up: the first arm is the model as it was, an
/// arrow leads from it to each other arm. `right` is what the upper end is called.
pub(crate) fn trade_off(
    title: &str,
    arms: &[TradeOffArm],
    limit: Option<&DrawnLimit>,
    right: &str,
) -> String {
    let ends = arms.iter().flat_map(|arm| arm.rate.extent());
    let across = PlotScale::from_zero(ends.chain(limit.map(|of| of.drawn * 1.25)), f64::INFINITY);
    let (lo, hi) = arms
        .iter()
        .flat_map(|arm| arm.right.extent())
        .fold((1.0, 0.0), |(lo, hi), v| (f64::min(lo, v), f64::max(hi, v)));
    let point = 0.01;
    let up = PlotScale::new((lo / point).floor() * point, (hi / point).ceil() * point);
    let mut plot = Plot { left: 9.0, ..Plot::new(across, up, [16.0, 200.0]) };
    let [top, bottom] = plot.ends();
    if let Some(limit) = limit {
        let x = plot.x(limit.drawn);
        plot.svg.rect("no", [x, Percent(100.0 - x.0)], [top, bottom - top]);
        plot.svg.down("lim", x, [top, bottom]);
        plot.svg.text("lt.mid", x, 11.0, &limit.label());
    }
    let ticks = across.ticks();
    for (i, (tick, label)) in AxisUnit::Percent.labelled(&ticks).enumerate() {
        let x = plot.x(tick);
        let class = match i {
            0 => "t.st",
            i if i + 1 == ticks.len() => "t.en",
            _ => "t",
        };
        plot.svg.down("g", x, [top, bottom]);
        plot.svg.text(class, x, bottom + 15.0, &label);
    }
    let ticks = up.ticks();
    for (tick, label) in AxisUnit::Percent.labelled(&ticks) {
        let y = plot.y(tick);
        let label = if Some(&tick) == ticks.last() { format!("{label} {right}") } else { label };
        plot.svg.across("g", y);
        plot.svg.text("t.st.halo", "0", y - 4.0, &label);
    }
    plot.svg.across("z", bottom);
    let mut desc = Vec::new();
    let mut placed: Vec<(f64, f64)> = Vec::new();
    for (i, arm) in arms.iter().enumerate() {
        let (x, y) = (plot.x(arm.rate.value), plot.y(arm.right.value));
        if let Some(base) = arms.first().filter(|_| i > 0) {
            let (x1, y1) = (plot.x(base.rate.value), plot.y(base.right.value));
            plot.svg.line("ln.thin.mutl", [x1, x], [y1, y]);
        }
        if let Some((lo, hi)) = arm.rate.interval {
            plot.svg.line("ln.thin", [plot.x(lo), plot.x(hi)], [y, y]);
        }
        if let Some((lo, hi)) = arm.right.interval {
            plot.svg.down("ln.thin", x, [plot.y(lo), plot.y(hi)]);
        }
        if let Some((lo, hi)) = arm.rate.second {
            plot.svg.line("ln.thin.dash", [plot.x(lo), plot.x(hi)], [y + 3.0; 2]);
        }
        if let Some((lo, hi)) = arm.right.second {
            plot.svg.raw("<g transform=\"translate(3)\">");
            plot.svg.down("ln.thin.dash", x, [plot.y(lo), plot.y(hi)]);
            plot.svg.raw("</g>");
        }
        let (shape, class) = if i == 0 { ("ring", "m.open") } else { ("dot", "m") };
        // A name that would be on another one goes below its dot.
        let near = |(px, py): &(f64, f64)| (px - x.0).abs() < 18.0 && (py - (y - 8.0)).abs() < 14.0;
        let label = if placed.iter().any(near) { y + 18.0 } else { y - 8.0 };
        placed.push((x.0, label));
        let (anchor, dx) = if x.0 > 80.0 { ("en", -9.0) } else { ("st", 9.0) };
        plot.svg.mark(shape, class, x, y);
        plot.svg.text_beside(&format!("hd.halo.{anchor}"), (x, dx), label, &arm.name);
        let [switch, right] = [arm.rate, arm.right].map(|of| of.value * 100.0);
        desc.push(format!("{}: {switch:.1} % switch, {right:.1} % right", arm.name));
    }
    plot.svg.described("", Some(bottom + 22.0), (title, &desc.join("; ")))
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;
    use crate::report::draw::plot::ForbiddenSide;
    use crate::report::page::render::environment;
    use crate::tests::Says;
    use crate::text::fact;

    fn counts(keep: i64, lose: i64, gain: i64, without: i64) -> SwitchCounts {
        SwitchCounts { keep, lose, gain, without }
    }

    fn limit() -> DrawnLimit {
        let (forbidden, unit) = (ForbiddenSide::Above, AxisUnit::Percent);
        DrawnLimit { drawn: 0.1, forbidden, unit, amount: "10 %".to_owned() }
    }

    /// What the templates draw of counts.
    fn chart(call: &str, counts: SwitchCounts) -> String {
        let source = format!("{{% import \"charts.html\" as c %}}{{{{ c.{call} }}}}");
        let facts = context!(of => fact(&counts));
        environment(None).render_named_str("x.html", &source, facts).unwrap()
    }

    fn bars(counts: SwitchCounts, top: f64) -> String {
        let share = |n: i64| part(n, counts.all());
        let shares = [counts.keep, counts.held(), counts.held_after()].map(share);
        chart(&format!("share_bars(of, {shares:?}, {top:?}, \"Men\")"), counts)
    }

    fn drawn(counts: SwitchCounts) -> String {
        chart("mosaic(of, \"Men as women\")", counts)
    }

    #[test]
    fn bars_join_those_who_keep_it() {
        let svg = bars(counts(1493, 1262, 0, 8105), 0.3172);
        svg.says(&[
            r#"<rect class="ribbon" x="0%" width="43.34%" y="26""#,
            r#"<rect class="lostfill" x="43.34%" width="36.64%""#,
            "\u{25bc} 1262 lose it",
        ]);
        svg.lacks(&["gainfill"]);
        assert!(svg.contains("1493 keep it</text>"), "there is room on the ribbon: {svg}");
        // Those who gain stand right of the kept part, not of the upper bar.
        let both = bars(counts(10, 5, 20, 65), 0.5);
        both.says(&[r#"<rect class="gainfill" x="20%" width="40%""#, "y=\"38\"", "y=\"52\""]);
        let still = bars(counts(10, 0, 0, 90), 0.125);
        still.says(&["nobody switches"]);
    }

    #[test]
    fn nobody_at_all_is_drawn_without_a_bar() {
        for svg in [bars(SwitchCounts::default(), 0.0), drawn(SwitchCounts::default())] {
            svg.lacks(&["NaN", "inf"]);
        }
        drawn(SwitchCounts::default()).lacks(&["<rect"]);
    }

    #[test]
    fn a_mosaic_shows_even_few_people() {
        let svg = drawn(counts(375, 14, 1, 100_000));
        svg.says(&[
            r#"<rect class="gainfill" x="0%" width="0.8%""#,
            r#"<rect class="lostfill" x="96.4%" width="3.6%" y="17" height="3""#,
            "375 keep it, 14 lose it, 1 gain it, 100\u{202f}000 without.",
        ]);
        let none = drawn(counts(0, 0, 5, 5));
        assert_eq!(none.matches("<rect").count(), 2, "no band for nobody: {none}");
    }

    #[test]
    fn a_ladder_has_a_row_for_each_assumption() {
        let point =
            PlotPoint { value: 0.46, interval: Some((0.44, 0.48)), second: Some((0.3, 0.6)) };
        let rung = |name: &str| (name.to_owned(), point, "46 %".to_owned());
        let block = |model: &str, n: usize| LadderBlock {
            model: model.to_owned(),
            rungs: (0..n).map(|i| rung(&format!("<set {i}>"))).collect(),
        };
        let svg = ladder("Who", &[block("a", 3), block("b", 1)], SwitchSide::Lost, Some(&limit()));
        assert_eq!((svg.matches("#dn").count(), svg.matches("mutl").count()), (4, 2));
        svg.says(&["&lt;set 0&gt;"]);
        svg.lacks(&["<set"]);
        // 24 + 2 blocks of 20 + 4 rows of 25, and 18 for the axis.
        svg.says(&[r#"height="182""#]);
        // Marks and the limit are right of the names: 38 + 62 % of their place on the axis.
        let right = |x: &str| x.parse::<f64>().is_ok_and(|x| x >= 38.0);
        let marks = svg.split("class=\"m lost\" x=\"").skip(1);
        assert!(marks.filter_map(|rest| rest.split_once('%')).all(|(x, _)| right(x)), "{svg}");
        let empty = ladder("x", &[], SwitchSide::Gained, None);
        empty.lacks(&["NaN"]);
        let many = ladder("x", &[block("m", 20)], SwitchSide::Gained, None);
        assert_eq!(many.matches("#up").count(), 20);
        // A long name pushes the axis to the right, and is cut before it reaches the marks.
        let long = LadderBlock { model: "m".to_owned(), rungs: vec![rung(&"x".repeat(40))] };
        let svg = ladder("x", &[long], SwitchSide::Lost, None);
        svg.says(&[&format!(">{}\u{2026}<", "x".repeat(28)), "class=\"z\" x1=\"53.25%\""]);
    }

    fn histogram(n: i64, height: fn(i64) -> i64) -> Vec<HistogramBin> {
        let at = |i: i64| i as f64 / 100.0 - 1.0;
        (0..n).map(|i| (at(i), at(i + 1), WeightedCount::new(height(i), None))).collect()
    }

    #[test]
    fn distributions_show_where_99_per_cent_lie() {
        let bins = histogram(200, |i| match i {
            0 | 199 => 1,
            80..=119 => 100,
            _ => 0,
        });
        let shown = central(&bins, 20);
        assert_eq!(shown.len(), 40, "the tails are cut");
        let n = |bins: &[HistogramBin]| bins.iter().map(|bin| bin.2.n).sum::<i64>();
        assert_eq!(n(&shown), n(&bins), "and nobody is lost");
        let narrow = histogram(200, |i| if i == 100 { 1000 } else { 0 });
        assert_eq!(central(&narrow, 20).len(), 20);
        assert_eq!(central(&[], 20).len(), 0);
        let (scale, mean) = (PlotScale::new(-0.2, 0.2), (-0.09, format!("mean {}", signed(-0.09))));
        let svg = change_bars(("x", ""), &shown, (scale, 0.05), Some(&mean), "still");
        assert!(svg.contains("mean \u{2212}0.09") && svg.matches("stay sl").count() == 40, "{svg}");
        assert!(svg.len() < 5000, "{}", svg.len());
        let scores = score_bars(
            ("x", ""),
            &[bins, Vec::new()],
            PlotScale::new(0.0, 1.0),
            0.05,
            &[(0.5, "0.5".into())],
        );
        scores.says(&["area ve"]);
        scores.lacks(&["NaN"]);
        let none = change_bars(("x", ""), &[], (PlotScale::new(0.0, 0.0), 0.0), None, "still");
        none.says(&["still"]);
        none.lacks(&["NaN"]);
    }

    #[test]
    fn a_trade_off_has_a_dot_for_each_arm_and_arrows_from_the_first() {
        let arm = |name: &str, rate: f64, right: f64| TradeOffArm {
            name: name.to_owned(),
            rate: PlotPoint::new(rate, Some((rate / 2.0, rate * 1.2))),
            right: PlotPoint::new(right, None),
        };
        let svg = trade_off(
            "x",
            &[arm("base", 0.16, 0.854), arm("<all>", 0.04, 0.846), arm("near", 0.041, 0.846)],
            Some(&limit()),
            "correct",
        );
        assert_eq!((svg.matches("#dot").count(), svg.matches("#ring").count()), (2, 1));
        assert_eq!(svg.matches("mutl").count(), 2);
        svg.says(&["&lt;all&gt;", "% correct"]);
        trade_off("x", &[], None, "").lacks(&["NaN"]);
    }
}
