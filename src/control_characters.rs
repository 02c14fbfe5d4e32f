//! Makes control characters visible in texts for pages, drawings and terminals.

use std::borrow::Cow;

/// Text in which nothing can hide: control characters become their pictures (U+2400 and on), marks
/// that turn the direction of what follows become `[U+202E]` and the like. Line ends and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let hides = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(hides) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match u32::from(c) {
            code @ 0..0x20 if hides(c) => shown.extend(char::from_u32(0x2400 + code)),
            0x7f => shown.push('\u{2421}'),
            code if hides(c) => shown.push_str(&format!("[U+{code:04X}]")),
            _ => shown.push(c),
        }
    }
    shown.into()
}

/// Whether a character moves the cursor, ends a line, changes the direction of text or is
/// invisible; all of these have at most four hex digits.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Words of data on one line of a terminal, with nothing in them that it would obey.
pub(crate) fn on_one_line(text: &str) -> String {
    visible(text)
        .chars()
        .map(|c| match c {
            '\n' => '\u{240a}',
            '\t' => '\u{2409}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{on_one_line, visible};

    #[test]
    fn nothing_hides() {
        assert_eq!(visible("plain, naïve\n\ttext"), "plain, naïve\n\ttext");
        assert_eq!(
            visible("a\0b\u{1b}[31m\r\u{7f}\u{85}"),
            "a\u{2400}b\u{241b}[31m\u{240d}\u{2421}[U+0085]"
        );
        assert_eq!(visible("\u{202e}elaM\u{202c}"), "[U+202E]elaM[U+202C]");
        assert_eq!(on_one_line("naïve\u{1b}[31m\n\t"), "naïve\u{241b}[31m\u{240a}\u{2409}");
    }
}
