//! Every colour of the page, in one place, so that a test can compute the contrast of each pair
//! that meets.
//!
//! Two themes; print always uses the light one. The seven steps of the heat maps skip the middle of
//! the blue scale, where neither dark nor light text reaches 5:1, and fall evenly in luminance, so
//! that a grey print still tells them apart.

/// The colours of one theme, as `#rrggbb`.
pub(crate) struct ColorTheme {
    /// Behind everything.
    paper: &'static str,
    /// Behind notes, code and every other table row.
    panel: &'static str,
    /// Text.
    ink: &'static str,
    /// Second text: counts, intervals, captions.
    muted: &'static str,
    /// Hairlines.
    rule: &'static str,
    /// Links, focus.
    link: &'static str,
    /// Verdicts.
    pass: &'static str,
    fail: &'static str,
    unsure: &'static str,
    /// Stand-in banner: ground and text.
    banner: (&'static str, &'static str),
    /// Filled areas of drawings.
    area: &'static str,
    /// Ground and text of each step of the heat maps, lowest share first.
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
    panel: "#f5f6f8",
    ink: "#171c22",
    muted: "#4c5661",
    rule: "#cfd5dc",
    link: "#1b4f8f",
    pass: "#14633a",
    fail: "#a11a1a",
    unsure: "#744700",
    banner: ("#fdf0d0", "#4a2f00"),
    area: "#5c90c3",
    heat: [
        ("#f8fafc", "#10202f"),
        ("#e4eef8", "#10202f"),
        ("#c8ddf0", "#10202f"),
        ("#a3c8e8", "#10202f"),
        ("#7db2de", "#10202f"),
        ("#22639c", "#ffffff"),
        ("#0c3b6b", "#ffffff"),
    ],
};

const DARK: ColorTheme = ColorTheme {
    paper: "#13171c",
    panel: "#1c2229",
    ink: "#e7eaee",
    muted: "#abb4bf",
    rule: "#3b434d",
    link: "#9dc5f3",
    pass: "#80d4a3",
    fail: "#ff9f96",
    unsure: "#f0c16b",
    banner: ("#3a2c0d", "#ffe4a8"),
    area: "#4f83b5",
    heat: [
        ("#1a2129", "#ffffff"),
        ("#1b3044", "#ffffff"),
        ("#1d4060", "#ffffff"),
        ("#1f517d", "#ffffff"),
        ("#8fbee9", "#0b1622"),
        ("#b7d6f2", "#0b1622"),
        ("#e0eefa", "#0b1622"),
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
            ("panel", self.panel),
            ("ink", self.ink),
            ("muted", self.muted),
            ("rule", self.rule),
            ("link", self.link),
            ("pass", self.pass),
            ("fail", self.fail),
            ("unsure", self.unsure),
            ("banner", self.banner.0),
            ("banner-ink", self.banner.1),
            ("area", self.area),
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
            for ground in [theme.paper, theme.panel] {
                for text in
                    [theme.ink, theme.muted, theme.link, theme.pass, theme.fail, theme.unsure]
                {
                    assert!(
                        contrast(text, ground) >= 4.5,
                        "{text} on {ground}: {}",
                        contrast(text, ground)
                    );
                }
            }
            assert!(contrast(theme.banner.0, theme.banner.1) >= 4.5);
            assert!(contrast(theme.ink, theme.area) >= 3.0, "lines over areas");
            assert!(contrast(theme.area, theme.paper) >= 3.0, "areas on paper");
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
