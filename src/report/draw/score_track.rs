//! The scores of a person who switched: a track over the scale, the score as the row is as a ring,
//! that of the counterfactual as a triangle, and the cut-off between them.

use std::fmt::Write as _;

use crate::report::draw::plot::{PlotScale, SwitchSide, escape, percent};

/// A score or a cut-off on the track.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrackMark {
    /// Where it stands, in [0, 1].
    pub(crate) share: f64,
    /// What it reads.
    pub(crate) text: String,
}

/// Numbers nearer than this, in per cent of the track, turn outwards.
const APART: f64 = 14.0;

/// The track of a person: before, after, and the cut-off where all people have one.
pub(crate) fn score_track(
    title: &str,
    (before, after): (&TrackMark, &TrackMark),
    cut_off: Option<&TrackMark>,
    side: SwitchSide,
) -> String {
    let scale = PlotScale::new(0.0, 1.0);
    let at = |mark: &TrackMark| scale.at(mark.share);
    let (shape, hue) = side.mark();
    let (x1, x2) = (at(before), at(after));
    let mut svg = r#"<rect class="track" x="0" width="100%" y="17" height="8"/>"#.to_owned();
    let _ = write!(
        svg,
        r#"<line class="w {hue}" x1="{}" x2="{}" y1="21" y2="21"/>"#,
        percent(x1),
        percent(x2)
    );
    if let Some(cut_off) = cut_off {
        let x = at(cut_off);
        let _ = write!(
            svg,
            "<line class=\"lim\" x1=\"{0}\" x2=\"{0}\" y1=\"10\" y2=\"32\"/><text class=\"t {1}\" \
             x=\"{0}\" y=\"44\">{2}</text>",
            percent(x),
            anchor(x),
            escape(&cut_off.text)
        );
    }
    let _ = write!(
        svg,
        "<use href=\"#ring\" class=\"m open\" x=\"{}\" y=\"21\"/><use href=\"#{shape}\" class=\"m \
         {hue}\" x=\"{}\" y=\"21\"/>",
        percent(x1),
        percent(x2)
    );
    let near = (x1 - x2).abs() < APART;
    for (mark, x, other) in [(before, x1, x2), (after, x2, x1)] {
        let anchor = match (near, x <= other) {
            (true, true) if x > 12.0 => "en",
            (true, false) if x < 88.0 => "st",
            _ => anchor(x),
        };
        let _ = write!(
            svg,
            r#"<text class="t lt {anchor}" x="{}" y="9">{}</text>"#,
            percent(x),
            escape(&mark.text)
        );
    }
    format!(
        r#"<svg class="case" role="img" height="46"><title>{}</title>{svg}</svg>"#,
        escape(title)
    )
}

/// Labels at the ends turn inwards.
fn anchor(x: f64) -> &'static str {
    if x > 80.0 {
        "en"
    } else if x < 20.0 {
        "st"
    } else {
        "mid"
    }
}

#[cfg(test)]
mod tests {
    use super::{TrackMark, score_track};
    use crate::report::draw::plot::SwitchSide;

    #[test]
    fn scores_stand_on_the_track_and_near_ones_turn_outwards() {
        let mark = |share: f64, text: &str| TrackMark { share, text: text.to_owned() };
        let cut_off = mark(0.5, "granted from 0.50");
        let far = score_track(
            "x",
            (&mark(0.62, "0.62"), &mark(0.41, "0.41")),
            Some(&cut_off),
            SwitchSide::Lost,
        );
        assert!(far.contains(r#"<line class="w lost" x1="62%" x2="41%""#), "{far}");
        assert!(far.contains(r##"href="#dn""##) && far.contains(r#"x="50%" y="44""#), "{far}");
        assert!(far.contains(r#"class="t lt mid" x="62%""#), "{far}");
        let near = score_track(
            "<x>",
            (&mark(0.48, "0.48"), &mark(0.53, "<0.53>")),
            None,
            SwitchSide::Gained,
        );
        assert!(near.contains(r#"t lt en" x="48%""#) && near.contains(r#"t lt st" x="53%""#));
        assert!(near.contains("&lt;x&gt;") && near.contains("&lt;0.53&gt;"), "{near}");
        let beyond =
            score_track("x", (&mark(f64::NAN, "a"), &mark(7.0, "b")), None, SwitchSide::Either);
        assert!(beyond.contains(r#"x2="100%""#), "{beyond}");
    }
}
