//! Every colour of the page, in one place, so that a test can compute the contrast of each pair
//! that meets.
//!
//! Two themes; print always uses the light one. Lost and gained have the same lightness, so hatch,
//! shape, place and word distinguish them on a grey print. The seven steps of the tables of shares
//! are greys without the middle of the scale, where neither dark nor light text reaches 5:1.

/// The colours by the name of their custom property, in the light theme and in the dark one. Two
/// hues have one meaning each: lost and gained. A verdict has none.
const COLOURS: [(&str, [&str; 2]); 12] = [
    // Behind everything.
    ("paper", ["#ffffff", "#14161b"]),
    // Text, limits, whiskers.
    ("ink", ["#17191e", "#ecebe7"]),
    // Second text: counts, intervals, captions.
    ("muted", ["#535966", "#aeb4bf"]),
    // Hairlines of tables.
    ("rule", ["#c8ccd4", "#434954"]),
    // Hairlines of charts.
    ("grid", ["#e3e6eb", "#2a2e36"]),
    // Behind notes and code.
    ("panel", ["#f3f4f7", "#1d2027"]),
    // What joins those who keep a decision, bands.
    ("ribbon", ["#e9ebef", "#23272f"]),
    // What stays; always with an outline.
    ("stay", ["#c3c8d1", "#515865"]),
    // Outline of what stays, line of zero.
    ("stay-line", ["#78808d", "#8e96a3"]),
    // Hatch of the forbidden side: decoration.
    ("no", ["#a3a9b4", "#5b626e"]),
    // Who loses.
    ("lost", ["#a83a0c", "#f3966e"]),
    // Who gains.
    ("gain", ["#1c5fa9", "#7db6f0"]),
];

/// The steps of the tables of shares, lowest share first: the upper end of the shares of each, the
/// first being exactly nothing, and its ground and text in both themes.
const STEPS: [(f64, [[&str; 2]; 2]); 7] = [
    (0.0, [["#f7f8fa", "#17191e"], ["#1d2027", "#ffffff"]]),
    (0.05, [["#e9ebef", "#17191e"], ["#262a32", "#ffffff"]]),
    (0.15, [["#d5d9e0", "#17191e"], ["#30353f", "#ffffff"]]),
    (0.3, [["#bcc2cc", "#17191e"], ["#3c424e", "#ffffff"]]),
    (0.5, [["#a3a9b4", "#17191e"], ["#aeb4bf", "#0b1622"]]),
    (0.8, [["#535966", "#ffffff"], ["#c8ccd4", "#0b1622"]]),
    (1.0, [["#2f333c", "#ffffff"], ["#ecebe7", "#0b1622"]]),
];

/// The step of a share.
pub(crate) fn step(share: f64) -> usize {
    STEPS.iter().position(|(end, _)| share <= *end).unwrap_or(STEPS.len() - 1)
}

/// The custom properties of both themes: the dark one on screens that ask for it.
pub(crate) fn css() -> String {
    let [light, dark] = [0, 1].map(|theme| {
        let colours = COLOURS.iter().map(|(name, of)| format!("--{name}:{};", of[theme]));
        let steps = STEPS.iter().enumerate().map(|(i, (_, of))| {
            let [ground, ink] = of[theme];
            format!("--h{i}:{ground};--t{i}:{ink};")
        });
        colours.chain(steps).collect::<String>()
    });
    format!(":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n")
}

#[cfg(test)]
mod tests {
    use super::{COLOURS, STEPS, step};

    /// Relative luminance of WCAG 2.2.
    fn luminance(colour: &str) -> f64 {
        let channel = |i: usize| {
            let c = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).expect("two hex digits"))
                / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    /// A colour by its name.
    fn colour(name: &str, theme: usize) -> &'static str {
        COLOURS.iter().find(|(of, _)| *of == name).expect("a name of the list").1[theme]
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn the_measure_of_contrast_is_right() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((contrast("#777777", "#ffffff") - 4.478).abs() < 1e-3);
    }

    #[test]
    fn every_text_can_be_read() {
        for theme in [0, 1] {
            let of = |name| colour(name, theme);
            for ground in ["paper", "panel", "ribbon"].map(of) {
                for text in ["ink", "muted", "lost", "gain"].map(of) {
                    assert!(
                        contrast(text, ground) >= 4.5,
                        "{text} on {ground}: {}",
                        contrast(text, ground)
                    );
                }
            }
            for line in ["stay-line", "lost", "gain", "ink"].map(of) {
                assert!(contrast(line, of("paper")) >= 3.0, "{line} carries meaning");
            }
            assert!(contrast(of("ink"), of("stay")) >= 3.0, "whiskers over bars");
            for [ground, ink] in STEPS.map(|(_, of)| of[theme]) {
                assert!(
                    contrast(ground, ink) >= 5.0,
                    "{ink} on {ground}: {}",
                    contrast(ground, ink)
                );
            }
        }
    }

    #[test]
    fn steps_differ_in_grey() {
        for theme in [0, 1] {
            let grounds = STEPS.map(|(_, of)| of[theme][0]);
            for pair in grounds.windows(2) {
                assert!(contrast(pair[0], pair[1]) >= 1.1, "{} and {}", pair[0], pair[1]);
            }
        }
        let falling = STEPS.map(|(_, of)| luminance(of[0][0]));
        assert!(falling.windows(2).all(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn steps_of_shares() {
        let steps: Vec<usize> = [0.0, 1e-9, 0.05, 0.051, 0.4, 0.8, 0.81, 1.0].map(step).to_vec();
        assert_eq!(steps, [0, 1, 1, 2, 4, 5, 6, 6]);
    }
}
