//! Rows as dots on two axes of one unit, each with a line to its counterfactual.

use std::fmt::Write as _;

use crate::report::draw::svg::{Svg, at};

/// Width and largest height of what is plotted; units are CSS pixels at full size.
const SIDE: f64 = 260.0;
/// Around it, for the dots; above it stands the heading.
const EDGE: f64 = 6.0;
const TOP: f64 = 24.0;

/// The drawing: of each pair the place of the row and that of its counterfactual, within the ends
/// of both axes.
pub(crate) fn pair_map(
    pairs: &[[f64; 4]],
    [[left, right], [low, high]]: [[f64; 2]; 2],
    id: &str,
    words: (&str, &str),
) -> String {
    // The same unit on both axes: a distance is one in any direction.
    let extent = f64::max(right - left, high - low);
    let unit = if extent > 0.0 { SIDE / extent } else { 0.0 };
    let place = |x: f64, y: f64| {
        format!("{} {}", at(EDGE + (x - left) * unit), at(TOP + EDGE + (high - y) * unit))
    };
    let (mut lines, mut dots) = (String::new(), String::new());
    for &[x, y, x_cf, y_cf] in pairs {
        let (from, to) = (place(x, y), place(x_cf, y_cf));
        let _ = write!(dots, "M{from}h0");
        if from != to {
            let _ = write!(lines, "M{from}L{to}");
        }
    }
    let mut svg = Svg::default();
    svg.text("head", "0", 11.0, words.0);
    svg.path("edge", &lines);
    svg.path("dots", &dots);
    let height = TOP + 2.0 * EDGE + (high - low) * unit;
    svg.scaled("", [SIDE + 2.0 * EDGE, height], id, words)
}

#[cfg(test)]
mod tests {
    use super::pair_map;
    use crate::tests::Says;

    #[test]
    fn both_axes_have_one_unit_and_a_pair_that_stays_has_no_line() {
        let pairs = [[0.0, 0.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]];
        let drawn = pair_map(&pairs, [[0.0, 2.0], [0.0, 1.0]], "m", ("a & b", "two"));
        drawn.says(&[
            r#"class="edge" d="M6 160L266 30"/>"#,
            r#"class="dots" d="M6 160h0M136 30h0"/>"#,
            r#"viewBox="0 0 272 166""#,
            "a &amp; b",
        ]);
        // One place only.
        let still = pair_map(&[[3.0; 4]], [[3.0; 2]; 2], "m", ("", ""));
        still.says(&[r#"d="M6 30h0""#]);
        still.lacks(&["NaN"]);
    }
}
