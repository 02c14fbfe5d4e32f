//! Writes all drawings: marks at positions, and the frame with title and description.
//!
//! A drawing that says something is `role="img"` with `<title>` and `<desc>`; one that repeats the
//! words next to it is hidden from screen readers. Colours come from the classes of the style
//! sheet, which are given as there: `hd.halo`. Words are escaped here.

use std::fmt::Write as _;

use crate::control_characters::visible;
use crate::text::without_zeros;

/// Text for SVG and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A coordinate with at most one decimal.
pub(crate) fn at(x: f64) -> String {
    without_zeros(&format!("{x:.1}")).to_owned()
}

/// Per cent of the width of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Percent(pub(crate) f64);

/// Where a mark stands: pixels, per cent of the width, or what the attribute says.
pub(crate) trait MarkPlace: Copy {
    /// As an attribute.
    fn attribute(self) -> String;
}

impl MarkPlace for f64 {
    fn attribute(self) -> String {
        at(self)
    }
}

impl MarkPlace for Percent {
    /// The attribute, with at most two decimals.
    fn attribute(self) -> String {
        format!("{}%", without_zeros(&format!("{:.2}", self.0)))
    }
}

impl MarkPlace for &str {
    fn attribute(self) -> String {
        self.to_owned()
    }
}

/// Labels nearer to an end than this many per cent of the width turn inwards.
pub(crate) fn anchor(at: Percent, near: f64) -> &'static str {
    match at.0 {
        at if at < near => "st",
        at if at > 100.0 - near => "en",
        _ => "mid",
    }
}

/// The marks of a drawing, the first at the bottom.
#[derive(Debug, Default)]
pub(crate) struct Svg(String);

impl Svg {
    /// An element; attributes without a value are left out.
    fn element(&mut self, name: &str, class: &str, attributes: &[(&str, String)]) {
        let _ = write!(self.0, "<{name}{}", classes(class));
        for (key, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(self.0, " {key}=\"{value}\"");
        }
        self.0.push_str("/>");
    }

    /// Marks that are written already.
    pub(crate) fn raw(&mut self, marks: &str) {
        self.0.push_str(marks);
    }

    /// A line.
    pub(crate) fn line(&mut self, class: &str, x: [impl MarkPlace; 2], y: [impl MarkPlace; 2]) {
        self.line_moved(class, (x, y), 0.0);
    }

    /// As [`Self::line`], some pixels lower.
    pub(crate) fn line_moved(
        &mut self,
        class: &str,
        (x, y): ([impl MarkPlace; 2], [impl MarkPlace; 2]),
        dy: f64,
    ) {
        let ([x1, x2], [y1, y2]) = (x.map(MarkPlace::attribute), y.map(MarkPlace::attribute));
        let of = [("x1", x1), ("x2", x2), ("y1", y1), ("y2", y2), moved(dy)];
        self.element("line", class, &of);
    }

    /// A line down at a place across.
    pub(crate) fn down(&mut self, class: &str, x: impl MarkPlace, y: [impl MarkPlace; 2]) {
        self.line(class, [x, x], y);
    }

    /// A line over the whole height.
    pub(crate) fn vertical(&mut self, class: &str, x: impl MarkPlace) {
        self.down(class, x, ["0", "100%"]);
    }

    /// A line over the whole width.
    pub(crate) fn across(&mut self, class: &str, y: f64) {
        self.line(class, ["0", "100%"], [y, y]);
    }

    /// A rectangle: its left end and its width, its top and its height.
    pub(crate) fn rect(&mut self, class: &str, x: [impl MarkPlace; 2], y: [impl MarkPlace; 2]) {
        let ([x, width], [y, height]) = (x.map(MarkPlace::attribute), y.map(MarkPlace::attribute));
        self.element("rect", class, &[("x", x), ("width", width), ("y", y), ("height", height)]);
    }

    /// A mark of the page's definitions.
    pub(crate) fn mark(&mut self, shape: &str, class: &str, x: impl MarkPlace, y: impl MarkPlace) {
        self.mark_moved(shape, class, (x, y), 0.0);
    }

    /// As [`Self::mark`], some pixels lower.
    pub(crate) fn mark_moved(
        &mut self,
        shape: &str,
        class: &str,
        (x, y): (impl MarkPlace, impl MarkPlace),
        dy: f64,
    ) {
        let place = [("x", x.attribute()), ("y", y.attribute()), moved(dy)];
        self.element(&format!("use href=\"#{shape}\""), class, &place);
    }

    /// A circle.
    pub(crate) fn circle(&mut self, class: &str, x: impl MarkPlace, y: f64, r: f64) {
        self.element("circle", class, &[("cx", x.attribute()), ("cy", at(y)), ("r", at(r))]);
    }

    /// A path.
    pub(crate) fn path(&mut self, class: &str, d: &str) {
        let _ = write!(self.0, r#"<path{} d="{d}"/>"#, classes(class));
    }

    /// Words that begin, end or have their middle at a place, by their class.
    pub(crate) fn text(&mut self, class: &str, x: impl MarkPlace, y: impl MarkPlace, words: &str) {
        self.text_beside(class, (x, 0.0), y, words);
    }

    /// Words this many pixels to the right of a place.
    pub(crate) fn text_beside(
        &mut self,
        class: &str,
        (x, dx): (impl MarkPlace, f64),
        y: impl MarkPlace,
        words: &str,
    ) {
        let class = classes(class);
        let dx = if dx == 0.0 { String::new() } else { format!(r#" dx="{}""#, at(dx)) };
        let (x, y, words) = (x.attribute(), y.attribute(), escape(words));
        let _ = write!(self.0, r#"<text{class} x="{x}"{dx} y="{y}">{words}</text>"#);
    }

    /// The marks without the drawing around them.
    pub(crate) fn marks(self) -> String {
        self.0
    }

    /// Paths in per cent of a part of the height, stretched over the whole width.
    pub(crate) fn stretched(&mut self, [top, height]: [f64; 2], paths: &str) {
        let (top, height) = (at(top), at(height));
        let _ = write!(
            self.0,
            "<svg aria-hidden=\"true\" x=\"0\" y=\"{top}\" width=\"100%\" height=\"{height}\" \
             viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\">{paths}</svg>"
        );
    }

    /// The drawing with its title and description, for those who do not see it; without a
    /// height it is as high as its cell.
    pub(crate) fn described(self, class: &str, height: Option<f64>, words: (&str, &str)) -> String {
        let class = classes(class);
        let height = height.map_or_else(String::new, |of| format!(r#" height="{}""#, at(of)));
        let (title, desc) = (escape(words.0), escape(words.1));
        let desc = if desc.is_empty() { String::new() } else { format!("<desc>{desc}</desc>") };
        let marks = self.0;
        format!(r#"<svg{class}{height} role="img"><title>{title}</title>{desc}{marks}</svg>"#)
    }

    /// A drawing in pixels that is scaled as a whole; `attributes` come before the others, and the
    /// id is unique on the page: letters, digits and hyphens only.
    pub(crate) fn scaled(
        self,
        attributes: &str,
        [width, height]: [f64; 2],
        id: &str,
        (title, desc): (&str, &str),
    ) -> String {
        format!(
            "<svg {attributes}viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t \
             {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{}</svg>",
            at(width),
            at(height),
            escape(title),
            escape(desc),
            self.0
        )
    }

    /// A drawing that repeats the words next to it.
    pub(crate) fn hidden(self, class: &str) -> String {
        format!(r#"<svg{} aria-hidden="true">{}</svg>"#, classes(class), self.0)
    }
}

/// Classes, given as `hd.halo`, as an attribute; nothing where there are none.
fn classes(of: &str) -> String {
    let all: Vec<&str> = of.split('.').filter(|class| !class.is_empty()).collect();
    if all.is_empty() { String::new() } else { format!(r#" class="{}""#, all.join(" ")) }
}

fn moved(dy: f64) -> (&'static str, String) {
    let by = if dy == 0.0 { String::new() } else { format!("translate(0 {dy})") };
    ("transform", by)
}

#[cfg(test)]
mod tests {
    use super::{MarkPlace, Percent, Svg, anchor};

    #[test]
    fn places_have_few_decimals_and_no_sign_of_nothing() {
        assert_eq!([12.0, 12.26, -0.01].map(MarkPlace::attribute), ["12", "12.3", "0"]);
        assert_eq!([0.0, -0.0, 16.666].map(|x| Percent(x).attribute()), ["0%", "0%", "16.67%"]);
        assert_eq!([1.0, 50.0, 99.0].map(|x| anchor(Percent(x), 2.0)), ["st", "mid", "en"]);
    }

    #[test]
    fn words_are_escaped_and_what_is_empty_is_left_out() {
        let mut svg = Svg::default();
        svg.text("", Percent(0.0), 3.0, "<b>");
        svg.mark_moved("dot", "m.", (Percent(50.0), "50%"), -2.0);
        let marks = "<text x=\"0%\" y=\"3\">&lt;b&gt;</text><use href=\"#dot\" class=\"m\" \
                     x=\"50%\" y=\"50%\" transform=\"translate(0 -2)\"/>";
        let all = format!("<svg height=\"9\" role=\"img\"><title>\"</title>{marks}</svg>");
        assert_eq!(svg.described("", Some(9.0), ("\"", "")), all.replace(">\"<", ">&quot;<"));
    }
}
