//! Effectiveness by cost as a small drawing: which share of each group of a subgroup is helped at
//! most cost so and so.
//!
//! What distinguishes the groups is their shape, not their colour: a line with dots for the group
//! that is compared, a dashed one with rings for the reference.

use std::fmt::Write as _;

use crate::report::draw::chart::tick;
use crate::report::draw::svg::{Svg, at};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::words::short;

/// Sizes in CSS pixels at full size.
const WIDTH: f64 = 272.0;
const LEFT: f64 = 38.0;
const PLOT: (f64, f64) = (222.0, 88.0);
const TOP: f64 = 24.0;
const BELOW: f64 = 34.0;

/// Steps that get a mark each; more would run into each other.
const MARKED: usize = 12;

/// A subgroup whose curves are drawn.
pub(crate) struct SubgroupCurves<'a> {
    /// Its place on the page.
    pub(crate) place: i64,
    /// The two groups.
    pub(crate) names: [&'a str; 2],
    /// Affected people of each.
    pub(crate) n: [i64; 2],
    /// Costs, ascending, each with the people of both groups who are helped at most at this cost.
    pub(crate) steps: Vec<(f64, [i64; 2])>,
    /// The share that a definition asks for.
    pub(crate) target_share: Option<f64>,
}

impl SubgroupCurves<'_> {
    fn share(&self, step: usize, g: usize) -> f64 {
        self.steps.get(step).map_or(0.0, |(_, k)| k[g] as f64 / self.n[g].max(1) as f64)
    }

    /// What the drawing shows, in words.
    fn in_words(&self) -> String {
        let Some(last) = self.steps.len().checked_sub(1) else {
            return "no action was evaluated".to_owned();
        };
        let of = |g: usize| {
            let k = self.steps[last].1[g];
            format!(
                "{} of {} ({}) of group {}",
                number::count(k),
                number::count(self.n[g]),
                NumberFormat::Share.value(self.share(last, g)),
                short(self.names[g])
            )
        };
        format!(
            "from cost {} to {}: at last {} and {} are helped",
            tick(self.steps[0].0),
            tick(self.steps[last].0),
            of(0),
            of(1)
        )
    }

    /// The drawing; costs run to `end`.
    pub(crate) fn drawing(&self, end: f64, id: &str) -> String {
        let x = |cost: f64| LEFT + (cost / end).clamp(0.0, 1.0) * PLOT.0;
        let y = |share: f64| TOP + (1.0 - share.clamp(0.0, 1.0)) * PLOT.1;
        let across = |share: f64| format!("M{LEFT} {}h{}", at(y(share)), PLOT.0);
        let (ground, height) = (y(0.0), TOP + PLOT.1 + BELOW);
        let mut svg = Svg::default();
        svg.text("head", "0", 11.0, &format!("Subgroup {}", self.place));
        for share in [0.0, 0.5, 1.0] {
            svg.path("hair", &across(share));
            let words = NumberFormat::Share.value(share);
            svg.text("en", LEFT - 5.0, y(share) + 4.0, &words);
        }
        if let Some(wanted) = self.target_share {
            svg.path("guide", &across(wanted));
        }
        for (cost, anchor) in [(0.0, "st"), (end / 2.0, "mid"), (end, "en")] {
            svg.path("axis", &format!("M{} {}v4", at(x(cost)), at(ground)));
            svg.text(anchor, x(cost), ground + 16.0, &tick(cost));
        }
        for (g, class, mark) in [(0, "line", "dot"), (1, "line.dashed", "ring")] {
            let mut path = format!("M{} {}", at(x(0.0)), at(ground));
            let mut marks = Svg::default();
            for (i, (cost, _)) in self.steps.iter().enumerate() {
                let (across, up) = (x(*cost), y(self.share(i, g)));
                let _ = write!(path, "H{}V{}", at(across), at(up));
                if self.steps.len() <= MARKED {
                    marks.circle(mark, across, up, 2.5);
                }
            }
            svg.path(class, &format!("{path}H{}", at(x(end))));
            svg.raw(&marks.marks());
        }
        svg.path("axis", &across(0.0));
        svg.text("mid", LEFT + PLOT.0 / 2.0, height - 4.0, "cost");
        let title = format!("effectiveness by cost of subgroup {}", self.place);
        svg.scaled("", [WIDTH, height], id, (&title, &self.in_words()))
    }
}

/// The end of the axis of costs for several drawings that are compared.
pub(crate) fn end_of<'a>(curves: impl Iterator<Item = &'a SubgroupCurves<'a>>) -> f64 {
    let dearest =
        curves.filter_map(|curves| curves.steps.last()).map(|step| step.0).fold(0.0, f64::max);
    let unit = number::unit(dearest);
    let ends = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].map(|digits| digits * unit);
    if dearest > 0.0 {
        ends.into_iter().find(|end| *end >= dearest).unwrap_or(dearest)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::{SubgroupCurves, end_of};

    #[test]
    fn steps_rise_where_the_costs_are() {
        let curves = SubgroupCurves {
            place: 2,
            names: ["<f>", "m"],
            n: [10, 4],
            steps: vec![(1.0, [5, 0]), (2.0, [5, 4])],
            target_share: Some(0.7),
        };
        let end = end_of([&curves].into_iter());
        assert_eq!(end, 2.0);
        let svg = curves.drawing(end, "c");
        assert!(svg.contains(r#"<path class="line" d="M38 112H149V68H260V68H260"/>"#), "{svg}");
        assert!(
            svg.contains(r#"<path class="line dashed" d="M38 112H149V112H260V24H260"/>"#),
            "{svg}"
        );
        assert!(
            svg.contains("5 of 10 (50.0\u{202f}%) of group &lt;f&gt;")
                && svg.contains("role=\"img\"")
                && svg.len() < 3500,
            "{svg}"
        );
        let none = SubgroupCurves { steps: Vec::new(), ..curves };
        assert_eq!(none.in_words(), "no action was evaluated");
    }
}
