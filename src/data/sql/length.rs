//! How long the texts of an expression become: at most 64 KiB a value, in every function.
//!
//! Lengths follow from the values that go into a function, before it makes a text: a short
//! expression may double its texts at every step.

use arrow::array::{Array, ArrayRef, AsArray};

use crate::data::sql::SqlPlace;
use crate::data::sql::function::SqlFunction;
use crate::error::Fault;

/// The text in a row of a column; `None` where it is missing, or the column holds no texts.
pub(super) fn text(column: &ArrayRef, i: usize) -> Option<&str> {
    let texts = column.as_string_view_opt()?;
    texts.is_valid(i).then(|| texts.value(i))
}

/// The bytes of all texts of a column.
pub(super) fn text_bytes(column: &ArrayRef) -> usize {
    (0..column.len()).filter_map(|i| text(column, i)).map(str::len).sum()
}

/// The longest text that an expression makes, in bytes.
pub(crate) const LONGEST_TEXT: usize = 64 << 10;

/// The bytes of the texts of all rows that are held at once.
pub(super) const TEXTS_AT_ONCE: usize = 256 << 20;

/// A text that an expression would make, and that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongText {
    /// Its position among the rows.
    pub(crate) row: usize,
    /// Its bytes.
    pub(super) bytes: usize,
    /// Whether it is not this text that is too long, but all texts up to it together.
    pub(super) of_all: bool,
    /// The function that would make it.
    pub(super) at: SqlPlace,
}

impl LongText {
    /// The fault of the data, whose row the caller adds.
    pub(crate) fn fault(&self) -> Fault {
        let SqlPlace { line, column } = self.at;
        let (texts, most) = if self.of_all {
            ("texts up to this row", TEXTS_AT_ONCE)
        } else {
            ("a text of this row", LONGEST_TEXT)
        };
        let what = format!(
            "an expression makes {texts} that take {} bytes (line {line}, column {column} of the \
             expression), and at most {most} are allowed",
            self.bytes
        );
        Fault::new("large-text", what).hint("shorten the text before, such as by `LEFT(x, 1000)`")
    }
}

/// The rows in which a function would make a text that is too long, in order.
pub(super) fn long_texts(
    function: SqlFunction,
    at: SqlPlace,
    arguments: &[ArrayRef],
    n: usize,
) -> Vec<LongText> {
    use SqlFunction as F;
    if !matches!(function, F::Concat | F::ConcatOperator | F::Replace | F::Lower | F::Upper) {
        return Vec::new();
    }
    let bytes =
        |row: usize| bytes_made(function, |k| text(arguments.get(k)?, row), arguments.len());
    let long = |row: usize| {
        Some(LongText { row, bytes: bytes(row), of_all: false, at })
            .filter(|text| text.bytes > LONGEST_TEXT)
    };
    (0..n).filter_map(long).collect()
}

/// The bytes of the text that a function makes of texts; exact where they are more than allowed.
fn bytes_made<'a>(
    function: SqlFunction,
    text: impl Fn(usize) -> Option<&'a str>,
    n_arguments: usize,
) -> usize {
    let spelt = |of: fn(char) -> usize| match text(0) {
        // No spelling of a character takes more than three times its bytes.
        Some(x) if x.len() > LONGEST_TEXT / 3 => x.chars().map(of).sum(),
        _ => 0,
    };
    match function {
        SqlFunction::Lower => spelt(|c| c.to_lowercase().map(char::len_utf8).sum()),
        SqlFunction::Upper => spelt(|c| c.to_uppercase().map(char::len_utf8).sum()),
        SqlFunction::Replace => match (text(0), text(1), text(2)) {
            (Some(x), Some(what), Some(by)) if !what.is_empty() => {
                let most = (x.len() / what.len()).saturating_mul(by.len()).saturating_add(x.len());
                let n = if most > LONGEST_TEXT { x.matches(what).count() } else { 0 };
                (x.len() - n * what.len()).saturating_add(n.saturating_mul(by.len()))
            }
            _ => 0,
        },
        _ => (0..n_arguments).filter_map(text).map(str::len).sum(),
    }
}
