//! Cells and heads of tables whose parts are typed: names from the data, which are isolated, numbers,
//! and our own words, which are keys of `blocks.html`.

use std::borrow::Cow;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::metric::evidence::flip_test::FlipSearch;
use crate::report::draw::plot::PlotPoint;
use crate::text::fact;

/// Where a value holds: `place` of `compared.html` words it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MeasuredPlace {
    pub(crate) scope: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// Of two directions, whether one is divided by the other; else it is subtracted.
    pub(crate) over: bool,
}

/// A cell, a head or a line of small print: parts, each with its kind and what it shows; `words` of
/// `blocks.html` lays them out.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct RichText(Vec<Value>);

impl RichText {
    /// No words yet.
    pub(crate) fn new() -> Self {
        RichText::default()
    }

    fn with(mut self, kind: &'static str, text: Value) -> Self {
        self.0.push(context!(kind, text));
        self
    }

    fn with_text(self, kind: &'static str, text: impl Into<String>) -> Self {
        let text: String = text.into();
        self.with(kind, text.into())
    }

    /// Adds our own words by their key.
    pub(crate) fn word(self, key: &'static str) -> Self {
        self.with("word", key.into())
    }

    /// Adds where a value holds.
    pub(crate) fn place(self, place: MeasuredPlace) -> Self {
        self.with("place", fact(&place))
    }

    /// Adds a number or a sign.
    pub(crate) fn text(self, text: impl Into<String>) -> Self {
        self.with_text("text", text)
    }

    /// Adds a name from data or job: shown in isolation, cut to the eye where it is long and by
    /// [`short`] where it is very long.
    pub(crate) fn name(self, name: impl Into<String>) -> Self {
        self.with_text("name", name)
    }

    /// Adds a word of tables, job or command line.
    pub(crate) fn code(self, code: impl Into<String>) -> Self {
        self.with_text("code", code)
    }

    /// Adds the symbol of a metric with its id and name; the page must hold its entry in the
    /// glossary.
    pub(crate) fn metric(
        self,
        symbol: impl Into<String>,
        id: &str,
        name: impl Into<String>,
    ) -> Self {
        let (symbol, name): (String, String) = (symbol.into(), name.into());
        self.with("metric", context!(symbol, id, name))
    }

    /// Adds what matters.
    pub(crate) fn strong(self, text: impl Into<String>) -> Self {
        self.with_text("strong", text)
    }

    /// Adds values on an axis from 0 to `end`, next to cells that say the same.
    pub(crate) fn whiskers(self, values: Vec<PlotPoint>, end: f64) -> Self {
        self.with("whiskers", fact(&(values, end)))
    }

    /// Adds small print.
    pub(crate) fn small(self, text: impl Into<String>) -> Self {
        self.with_text("small", text)
    }

    /// Adds how the value of a flip test was found.
    pub(crate) fn flips(self, of: FlipSearch) -> Self {
        self.with("flips", fact(&of))
    }

    /// Adds other words.
    pub(crate) fn and(mut self, other: RichText) -> Self {
        self.0.extend(other.0);
        self
    }
}

/// Our own words by their key.
impl From<&'static str> for RichText {
    fn from(key: &'static str) -> Self {
        RichText::new().word(key)
    }
}

impl From<String> for RichText {
    fn from(text: String) -> Self {
        RichText::new().text(text)
    }
}

impl From<RichText> for Value {
    fn from(words: RichText) -> Self {
        (&words).into()
    }
}

impl From<&RichText> for Value {
    fn from(words: &RichText) -> Self {
        fact(words)
    }
}

/// The anchor of a metric's entry in the glossary.
pub(crate) fn entry_anchor(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    format!("metric-{}", id.chars().map(plain).collect::<String>())
}

/// The parts of a word that may be on lines of their own: it breaks behind underscores.
pub(crate) fn breakable(word: &str) -> Value {
    word.split_inclusive('_').map(Value::from).collect()
}

/// Bytes of a name on the page; the tables hold it whole.
const NAME_AT_MOST: usize = 120;

/// The first letter as a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters.as_str().chars()).collect()
}

/// A name without its middle where it is very long: long names often differ at their ends.
pub(crate) fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= NAME_AT_MOST {
        return name.into();
    }
    let head = (0..=NAME_AT_MOST * 2 / 3).rev().find(|&i| name.is_char_boundary(i)).unwrap_or(0);
    let tail = (name.len() - NAME_AT_MOST / 3..=name.len())
        .find(|&i| name.is_char_boundary(i))
        .unwrap_or(name.len());
    format!("{}\u{2026}{}", &name[..head], &name[tail..]).into()
}

/// A name with at most so many letters, for drawings: the last is a sign where it is longer.
pub(crate) fn cut(name: &str, letters: usize) -> String {
    match name.char_indices().nth(letters - 1) {
        Some((at, _)) if name.chars().count() > letters => format!("{}\u{2026}", &name[..at]),
        _ => name.to_owned(),
    }
}

/// A level as the page calls it: the empty one `(empty)`, one of blanks only by their pictures.
pub(crate) fn level(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return "(empty)".into();
    }
    if !name.chars().all(char::is_whitespace) {
        return name.into();
    }
    let picture = |c: char| match c {
        ' ' => "\u{2423}".to_owned(),
        '\t' => "\u{2409}".to_owned(),
        '\n' => "\u{240a}".to_owned(),
        c => format!("[U+{:04X}]", u32::from(c)),
    };
    name.chars().map(picture).collect::<String>().into()
}

/// Text for a string of a style sheet, which nothing in it can end.
pub(crate) fn css_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars().take(120) {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '.' | ',' | '-' | '_' | ':' => {
                escaped.push(c)
            }
            c => escaped.push_str(&format!("\\{:x} ", u32::from(c))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{NAME_AT_MOST, capital, css_text, cut, level, short};
    use crate::tests::Says;

    #[test]
    fn a_sentence_opens_with_a_capital() {
        assert_eq!(capital("\u{e9}x"), "\u{c9}x");
        assert_eq!(capital(""), "");
    }

    #[test]
    fn very_long_names_lose_their_middle() {
        assert_eq!(short("Female"), "Female");
        let name = format!("{}7", "\u{e9}<".repeat(150));
        let cut = short(&name);
        assert!(
            cut.len() <= NAME_AT_MOST + 3
                && cut.starts_with("\u{e9}<")
                && cut.contains('\u{2026}')
                && cut.ends_with('7'),
            "{cut}"
        );
    }

    #[test]
    fn names_in_drawings_have_few_letters() {
        assert_eq!(cut("hours-per-week", 20), "hours-per-week");
        assert_eq!(cut("\u{e9}\u{e9}\u{e9}", 3), "\u{e9}\u{e9}\u{e9}");
        assert_eq!(cut("\u{e9}\u{e9}\u{e9}\u{e9}", 3), "\u{e9}\u{e9}\u{2026}");
    }

    #[test]
    fn levels_of_nothing_are_seen() {
        assert_eq!(
            ["", " ", "  ", "\t", "\u{a0}", "a "].map(level),
            ["(empty)", "\u{2423}", "\u{2423}\u{2423}", "\u{2409}", "[U+00A0]", "a "]
        );
    }

    #[test]
    fn the_foot_of_a_page_cannot_end_its_style() {
        let css = css_text("a\"}</style><script>, run 7d0c1f, model version 2026.11");
        css.lacks(&["</style>", "a\"}"]);
        css.says(&["a\\22 \\7d \\3c \\2f style", "run 7d0c1f, model version 2026.11"]);
    }
}
