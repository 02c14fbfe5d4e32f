//! Small drawings next to the numbers of the annex: values with their intervals.

use minijinja::context;
use minijinja::value::Value;

use crate::report::draw::panel::cases;
use crate::report::draw::plot::{PlotPoint, PlotScale};
use crate::report::draw::svg::{Percent, Svg};
use crate::report::page::number::{self, three_digits};
use crate::report::read::tally::{HistogramBin, WeightedCount};
use crate::text::without_zeros;

/// A tick without needless zeros.
pub(crate) fn tick(value: f64) -> String {
    let text = three_digits((value * 1e9).round() / 1e9);
    if text.contains('\u{d7}') { text } else { without_zeros(&text).to_owned() }
}

/// A small drawing: an axis from 0 to `end` with a line at either end and in the middle.
fn small(end: f64) -> (PlotScale, Svg) {
    let (scale, mut svg) = (PlotScale::new(0.0, end), Svg::default());
    for tick in [0.0, end / 2.0, end] {
        svg.vertical("g", scale.x(tick));
    }
    (scale, svg)
}

/// Up to two values with their intervals on one axis from 0 to `end`: the first a dot, the second a
/// ring; the second range, what noise gives, is a band behind each. The numbers are next to it, so
/// it is hidden from screen readers.
pub(super) fn whiskers(values: &[PlotPoint], end: f64) -> String {
    let (scale, mut svg) = small(end);
    let lanes = if values.len() == 1 { [14.0, 14.0] } else { [9.0, 19.0] };
    let marks = values.iter().zip(lanes).zip(["dot", "ring"]);
    for ((PlotPoint { value, interval, second }, y), class) in marks {
        if let Some((lo, hi)) = second.filter(|(lo, hi)| lo < hi) {
            let [lo, hi] = [lo, hi].map(|v| scale.at(v));
            svg.rect("band", [Percent(lo), Percent(hi - lo)], [y - 4.0, 8.0]);
        }
        if let Some((lo, hi)) = *interval {
            svg.line("ln.thin", [lo, hi].map(|v| scale.x(v)), [y, y]);
        }
        svg.circle(class, scale.x(*value), y, 3.5);
    }
    svg.hidden("whisker")
}

/// An old value as a ring and a new one as a dot, joined, on an axis from 0 to `end`. The numbers
/// are next to it, so it is hidden from screen readers.
pub(super) fn dumbbell(old: f64, new: f64, end: f64) -> String {
    let (scale, mut svg) = small(end);
    let [old, new] = [old, new].map(|v| scale.x(v));
    svg.line("ln.thin", [old, new], [14.0, 14.0]);
    svg.circle("ring", old, 14.0, 4.5);
    svg.circle("dot", new, 14.0, 3.5);
    svg.hidden("whisker")
}

/// What a histogram of changes shows: how many fall, stay within one bin of zero, and rise, with
/// their shares, and the width of a bin.
pub(crate) fn moves(bins: &[HistogramBin], weighted: bool) -> Value {
    let all = cases(bins);
    let part = |test: &dyn Fn(&HistogramBin) -> bool| {
        let part = bins.iter().filter(|b| test(b));
        let part = part.fold(WeightedCount::default(), |sum, bin| sum.plus(bin.2));
        context!(n => part.n, share => number::share(part, all, weighted))
    };
    let near = |b: &HistogramBin| (b.0 + b.1).abs() / 2.0 <= b.1 - b.0;
    let falls = |b: &HistogramBin| !near(b) && b.1 <= 0.0;
    let width = bins.iter().find(|b| near(b)).map_or(0.0, |b| b.1 - b.0);
    context! {
        all => all.n, stays => part(&near), falls => part(&falls),
        rises => part(&|b| !near(b) && !falls(b)), width => tick(width),
    }
}

#[cfg(test)]
mod tests {
    use super::{PlotPoint, dumbbell, whiskers};
    use crate::tests::Says;

    #[test]
    fn values_stand_where_the_scale_says() {
        let whisker = |value, interval, second| PlotPoint { value, interval, second };
        let svg = whiskers(
            &[
                whisker(0.1, Some((0.05, 0.2)), Some((0.02, 0.05))),
                whisker(2.0, None, Some((0.0, 0.0))),
            ],
            0.2,
        );
        svg.says(&[r#"<rect class="band" x="10%" width="15%" y="5""#]);
        assert!(svg.contains(r#"<circle class="ring" cx="100%""#), "never outside: {svg}");
        assert_eq!(svg.matches("band").count(), 1, "no band for noise that is nothing");
        dumbbell(0.1, 0.05, 0.2).says(&[r#"x1="50%" x2="25%""#]);
    }
}
