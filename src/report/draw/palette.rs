//! Every colour of the page, in one place, so that a test can compute the contrast of each pair
//! that meets.
//!
//! Two themes; print always uses the light one. Lost and gained have the same lightness, so hatch,
//! shape, place and word distinguish them on a grey print. The seven steps of the tables of shares
//! are greys without the middle of the scale, where neither dark nor light text reaches 5:1.

/// The colours of one theme, as `#rrggbb`. Two hues say one thing each: lost and gained. A verdict
/// has none.
pub(crate) struct ColorTheme {
    /// Behind everything.
    paper: &'static str,
    /// Text, limits, whiskers.
    ink: &'static str,
    /// Second text: counts, intervals, captions.
    muted: &'static str,
    /// Hairlines of tables.
    rule: &'static str,
    /// Hairlines of charts.
    grid: &'static str,
    /// Behind notes and code.
    panel: &'static str,
    /// What joins those who keep a decision, bands.
    ribbon: &'static str,
    /// What stays; always with an outline.
    stay: &'static str,
    /// Outline of what stays, line of zero.
    stay_line: &'static str,
    /// Hatch of the forbidden side: decoration.
    no: &'static str,
    /// Who loses.
    lost: &'static str,
    /// Who gains.
    gain: &'static str,
    /// Ground and text of each step of the tables of shares, lowest share first.
    heat: [(&'static str, &'static str); STEPS.len()],
}

/// Upper ends of the shares of the heat map steps; the first step is exactly nothing.
pub(crate) const STEPS: [f64; 7] = [0.0, 0.05, 0.15, 0.3, 0.5, 0.8, 1.0];

/// The step of a share.
pub(crate) fn step(share: f64) -> usize {
    STEPS.iter().position(|&end| share <= end).unwrap_or(STEPS.len() - 1)
}

const LIGHT: ColorTheme = ColorTheme {
    paper: "#ffffff",
    ink: "#17191e",
    muted: "#535966",
    rule: "#c8ccd4",
    grid: "#e3e6eb",
    panel: "#f3f4f7",
    ribbon: "#e9ebef",
    stay: "#c3c8d1",
    stay_line: "#78808d",
    no: "#a3a9b4",
    lost: "#a83a0c",
    gain: "#1c5fa9",
    heat: [
        ("#f7f8fa", "#17191e"),
        ("#e9ebef", "#17191e"),
        ("#d5d9e0", "#17191e"),
        ("#bcc2cc", "#17191e"),
        ("#a3a9b4", "#17191e"),
        ("#535966", "#ffffff"),
        ("#2f333c", "#ffffff"),
    ],
};

const DARK: ColorTheme = ColorTheme {
    paper: "#14161b",
    ink: "#ecebe7",
    muted: "#aeb4bf",
    rule: "#434954",
    grid: "#2a2e36",
    panel: "#1d2027",
    ribbon: "#23272f",
    stay: "#515865",
    stay_line: "#8e96a3",
    no: "#5b626e",
    lost: "#f3966e",
    gain: "#7db6f0",
    heat: [
        ("#1d2027", "#ffffff"),
        ("#262a32", "#ffffff"),
        ("#30353f", "#ffffff"),
        ("#3c424e", "#ffffff"),
        ("#aeb4bf", "#0b1622"),
        ("#c8ccd4", "#0b1622"),
        ("#ecebe7", "#0b1622"),
    ],
};

/// The custom properties of both themes: the dark one on screens that ask for it.
pub(crate) fn css() -> String {
    format!(
        ":root{{{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n",
        LIGHT.properties(),
        DARK.properties()
    )
}

impl ColorTheme {
    fn properties(&self) -> String {
        let mut css = String::new();
        for (name, colour) in [
            ("paper", self.paper),
            ("ink", self.ink),
            ("muted", self.muted),
            ("rule", self.rule),
            ("grid", self.grid),
            ("panel", self.panel),
            ("ribbon", self.ribbon),
            ("stay", self.stay),
            ("stay-line", self.stay_line),
            ("no", self.no),
            ("lost", self.lost),
            ("gain", self.gain),
        ] {
            css.push_str(&format!("--{name}:{colour};"));
        }
        for (i, (ground, ink)) in self.heat.iter().enumerate() {
            css.push_str(&format!("--h{i}:{ground};--t{i}:{ink};"));
        }
        css
    }
}

#[cfg(test)]
mod tests {
    use super::{DARK, LIGHT, step};

    /// Relative luminance of WCAG 2.2.
    fn luminance(colour: &str) -> f64 {
        let channel = |i: usize| {
            let c = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).expect("two hex digits"))
                / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
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
        for theme in [&LIGHT, &DARK] {
            for ground in [theme.paper, theme.panel, theme.ribbon] {
                for text in [theme.ink, theme.muted, theme.lost, theme.gain] {
                    assert!(
                        contrast(text, ground) >= 4.5,
                        "{text} on {ground}: {}",
                        contrast(text, ground)
                    );
                }
            }
            for line in [theme.stay_line, theme.lost, theme.gain, theme.ink] {
                assert!(contrast(line, theme.paper) >= 3.0, "{line} carries meaning");
            }
            assert!(contrast(theme.ink, theme.stay) >= 3.0, "whiskers over bars");
            for (ground, ink) in theme.heat {
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
        for theme in [&LIGHT, &DARK] {
            for pair in theme.heat.windows(2) {
                assert!(contrast(pair[0].0, pair[1].0) >= 1.1, "{} and {}", pair[0].0, pair[1].0);
            }
        }
        let falling: Vec<f64> = LIGHT.heat.iter().map(|(ground, _)| luminance(ground)).collect();
        assert!(falling.windows(2).all(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn steps_of_shares() {
        let steps: Vec<usize> = [0.0, 1e-9, 0.05, 0.051, 0.4, 0.8, 0.81, 1.0].map(step).to_vec();
        assert_eq!(steps, [0, 1, 1, 2, 4, 5, 6, 6]);
    }
}
