//! The scores of a person who switched: a track over the scale, the score as the row is as a ring,
//! that of the counterfactual as a triangle, and the cut-off between them.

use crate::report::draw::plot::{PlotScale, SwitchSide};
use crate::report::draw::svg::{Svg, anchor};

/// A score or a cut-off on the track: where it is, in [0, 1], and its text.
pub(crate) type TrackMark = (f64, String);

/// Numbers nearer than this, in per cent of the track, turn outwards.
const APART: f64 = 14.0;

/// The track of a person: before, after, and the cut-off where all people have one.
pub(crate) fn score_track(
    title: &str,
    [before, after]: &[TrackMark; 2],
    cut_off: Option<&TrackMark>,
    side: SwitchSide,
) -> String {
    let scale = PlotScale::new(0.0, 1.0);
    let (shape, hue) = side.mark();
    let [x1, x2] = [before, after].map(|mark| scale.x(mark.0));
    let mut svg = Svg::default();
    svg.rect("track", ["0", "100%"], [17.0, 8.0]);
    svg.line(&format!("w.{hue}"), [x1, x2], [21.0, 21.0]);
    if let Some(cut_off) = cut_off {
        let x = scale.x(cut_off.0);
        svg.down("lim", x, [10.0, 32.0]);
        svg.text(&format!("t.{}", anchor(x, 20.0)), x, 44.0, &cut_off.1);
    }
    svg.mark("ring", "m.open", x1, 21.0);
    svg.mark(shape, &format!("m.{hue}"), x2, 21.0);
    let near = (x1.0 - x2.0).abs() < APART;
    for (mark, x, other) in [(before, x1, x2), (after, x2, x1)] {
        let anchor = match (near, x <= other) {
            (true, true) if x.0 > 12.0 => "en",
            (true, false) if x.0 < 88.0 => "st",
            _ => anchor(x, 20.0),
        };
        svg.text(&format!("t.lt.{anchor}"), x, 9.0, &mark.1);
    }
    svg.described("case", Some(46.0), (title, ""))
}

#[cfg(test)]
mod tests {
    use super::score_track;
    use crate::report::draw::plot::SwitchSide;
    use crate::tests::Says;

    #[test]
    fn scores_stand_on_the_track_and_near_ones_turn_outwards() {
        let mark = |share: f64, text: &str| (share, text.to_owned());
        let cut_off = mark(0.5, "granted from 0.50");
        let far = score_track(
            "x",
            &[mark(0.62, "0.62"), mark(0.41, "0.41")],
            Some(&cut_off),
            SwitchSide::Lost,
        );
        far.says(&[r#"<line class="w lost" x1="62%" x2="41%""#]);
        assert!(far.contains(r##"href="#dn""##) && far.contains(r#"x="50%" y="44""#), "{far}");
        far.says(&[r#"class="t lt mid" x="62%""#]);
        let near = score_track(
            "<x>",
            &[mark(0.48, "0.48"), mark(0.53, "<0.53>")],
            None,
            SwitchSide::Gained,
        );
        near.says(&[r#"t lt en" x="48%""#, r#"t lt st" x="53%""#, "&lt;x&gt;", "&lt;0.53&gt;"]);
        let beyond =
            score_track("x", &[mark(f64::NAN, "a"), mark(7.0, "b")], None, SwitchSide::Either);
        beyond.says(&[r#"x2="100%""#]);
    }
}
