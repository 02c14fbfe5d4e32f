//! The canonical text of a value: labels, groups, levels, keys of joins and classes are compared by
//! it. And the words that mean missing.
//!
//! Blanks around a text count for nothing, a number is one value however it is spelt (`1`, `1.0`,
//! ` 1`), and so is a boolean (`True`, `TRUE`). Digits after a leading zero are a code: `01` is
//! another text than `1`.
//!
//! Choice: numbers are compared by their digits, so ids of twenty digits differ where they differ.
//! A power of ten stays text, because `1E5` may be a code.

use std::borrow::Cow;

/// Words that mean missing, in small letters.
const MISSING_WORDS: [&str; 17] = [
    "",
    "na",
    "n/a",
    "nan",
    "<na>",
    "nat",
    "none",
    "null",
    "nil",
    "-",
    "--",
    ".",
    "?",
    "k.a.",
    "missing",
    "unknown",
    "not available",
];

/// Whether a text is a word that usually means missing.
pub(crate) fn means_missing(text: &str) -> bool {
    let text = text.trim();
    // No such word begins with a digit, and most cells are numbers.
    text.len() <= 13
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && MISSING_WORDS.contains(&text.to_lowercase().as_str())
}

/// The canonical text of a value.
pub(crate) fn canonical_text(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    match boolean(text) {
        Some(true) => Cow::Borrowed("true"),
        Some(false) => Cow::Borrowed("false"),
        None => canonical_number(text).unwrap_or(Cow::Borrowed(text)),
    }
}

/// The boolean that a text spells out.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match () {
        () if text.eq_ignore_ascii_case("true") => Some(true),
        () if text.eq_ignore_ascii_case("false") => Some(false),
        () => None,
    }
}

/// The shortest spelling of a decimal number without a power of ten; `None` for other texts.
fn canonical_number(text: &str) -> Option<Cow<'_, str>> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_code = whole.len() > 1 && whole.starts_with('0');
    if whole.len() + fraction.len() == 0 || is_code || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let is_zero = fraction.is_empty() && matches!(whole, "" | "0");
    let sign = if text.starts_with('-') && !is_zero { "-" } else { "" };
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    let canonical = format!("{sign}{whole}{point}{fraction}");
    Some(if canonical == text { Cow::Borrowed(text) } else { Cow::Owned(canonical) })
}

#[cfg(test)]
mod tests {
    use super::{canonical_text, means_missing};

    #[test]
    fn a_value_has_one_text_however_it_is_spelt() {
        for (text, canonical) in [
            (" 1", "1"),
            ("1.0", "1"),
            ("+1", "1"),
            ("1.", "1"),
            ("-0.0", "0"),
            (".50", "0.5"),
            ("-2.50", "-2.5"),
            ("0", "0"),
            ("10000000000000000001.0", "10000000000000000001"),
            ("TRUE", "true"),
            ("False ", "false"),
            ("New York ", "New York"),
            // Codes, and what is no number.
            ("01", "01"),
            ("-01.5", "-01.5"),
            ("1E5", "1E5"),
            ("1.2.3", "1.2.3"),
            ("-", "-"),
            (".", "."),
            ("", ""),
            ("٣", "٣"),
        ] {
            assert_eq!(canonical_text(text), canonical, "{text}");
        }
    }

    #[test]
    fn words_that_mean_missing() {
        for word in ["", " ", "NaN", "<NA>", "N/A", "None", " k.A. ", "Not available", "?", "--"] {
            assert!(means_missing(word), "{word}");
        }
        for word in ["0", "no", "Nathan", "none yet", "unknown to us", "x"] {
            assert!(!means_missing(word), "{word}");
        }
    }
}
