//! Effectiveness by cost as a small drawing: which share of each group of a subgroup is helped at
//! most cost so and so.
//!
//! What distinguishes the groups is their shape, not their colour: a line with dots for the group
//! that is compared, a dashed one with rings for the reference.

use std::fmt::Write as _;

use crate::report::draw::chart::{DrawingLabel, at, escape, tick};
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
    pub(crate) fn drawing(&self, end: f64, id: String) -> String {
        let x = |cost: f64| LEFT + (cost / end).clamp(0.0, 1.0) * PLOT.0;
        let y = |share: f64| TOP + (1.0 - share.clamp(0.0, 1.0)) * PLOT.1;
        let title = format!("effectiveness by cost of subgroup {}", self.place);
        let text = self.in_words();
        let label = DrawingLabel { id, title: &title, text: &text };
        let ground = y(0.0);
        let mut inside =
            format!(r#"<text class="head" x="0" y="11">Subgroup {}</text>"#, self.place);
        // Writing to a string cannot fail.
        for share in [0.0, 0.5, 1.0] {
            let _ = write!(
                inside,
                "<path class=\"hair\" d=\"M{} {}h{}\"/><text x=\"{}\" y=\"{}\" \
                 text-anchor=\"end\">{}</text>",
                at(LEFT),
                at(y(share)),
                at(PLOT.0),
                at(LEFT - 5.0),
                at(y(share) + 4.0),
                escape(&NumberFormat::Share.value(share)),
            );
        }
        if let Some(wanted) = self.target_share {
            let _ = write!(
                inside,
                r#"<path class="guide" d="M{} {}h{}"/>"#,
                at(LEFT),
                at(y(wanted)),
                at(PLOT.0)
            );
        }
        for cost in [0.0, end / 2.0, end] {
            let anchor = if cost == 0.0 {
                "start"
            } else if cost == end {
                "end"
            } else {
                "middle"
            };
            let _ = write!(
                inside,
                "<path class=\"axis\" d=\"M{} {}v4\"/><text x=\"{}\" y=\"{}\" \
                 text-anchor=\"{anchor}\">{}</text>",
                at(x(cost)),
                at(ground),
                at(x(cost)),
                at(ground + 16.0),
                tick(cost),
            );
        }
        for (g, class, mark) in [(0, "line", "dot"), (1, "line dashed", "ring")] {
            let mut path = format!("M{} {}", at(x(0.0)), at(ground));
            let mut marks = String::new();
            for (i, (cost, _)) in self.steps.iter().enumerate() {
                let (across, up) = (at(x(*cost)), at(y(self.share(i, g))));
                let _ = write!(path, "H{across}V{up}");
                if self.steps.len() <= MARKED {
                    let _ = write!(
                        marks,
                        r#"<circle class="{mark}" cx="{across}" cy="{up}" r="2.5"/>"#
                    );
                }
            }
            let _ = write!(path, "H{}", at(x(end)));
            let _ = write!(inside, r#"<path class="{class}" d="{path}"/>{marks}"#);
        }
        let id = &label.id;
        let height = TOP + PLOT.1 + BELOW;
        format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title \
             id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{inside}<path class=\"axis\" \
             d=\"M{} {}h{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">cost</text></svg>",
            at(WIDTH),
            at(height),
            escape(label.title),
            escape(label.text),
            at(LEFT),
            at(ground),
            at(PLOT.0),
            at(LEFT + PLOT.0 / 2.0),
            at(height - 4.0),
        )
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
        let svg = curves.drawing(end, "c".to_owned());
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
