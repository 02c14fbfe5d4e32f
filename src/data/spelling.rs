//! The spelling of text values: blanks around them, and capital letters.
//!
//! A file may hold `w`, `W` and `w ` where one value is meant. A column is converted to one
//! spelling as soon as it is read, and so are the words that the job writes for it.
//!
//! Choice: letters become small by Unicode's rules, blanks are what Unicode calls white space, and
//! a text of only blanks has no value.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::values::SourceValues;

/// What becomes of capital letters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LetterCase {
    /// They stay.
    #[default]
    Keep,
    /// They become small letters.
    Fold,
}

impl LetterCase {
    /// Whether capital letters stay.
    pub fn is_kept(&self) -> bool {
        *self == LetterCase::Keep
    }
}

/// How the texts of a column are spelt; the default leaves them as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spelling {
    /// Whether blanks around a text are taken off.
    pub trim: bool,
    /// What becomes of capital letters.
    pub case: LetterCase,
}

impl Spelling {
    /// Blanks and capital letters are ignored.
    pub const LOOSE: Spelling = Spelling { trim: true, case: LetterCase::Fold };

    /// The spellings that change something, the gentlest first.
    const ALL: [Spelling; 3] = [
        Spelling { trim: true, case: LetterCase::Keep },
        Spelling { trim: false, case: LetterCase::Fold },
        Spelling::LOOSE,
    ];

    /// Whether texts stay as they are.
    pub fn is_plain(self) -> bool {
        self == Spelling::default()
    }

    /// A text in this spelling.
    pub fn of(self, text: &str) -> Cow<'_, str> {
        let text = if self.trim { text.trim() } else { text };
        match self.case {
            LetterCase::Fold if text.chars().any(char::is_uppercase) => {
                Cow::Owned(text.to_lowercase())
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// The gentlest spelling in which both texts are the same; `None` where they are the same
    /// unchanged, or in none.
    pub fn joining(a: &str, b: &str) -> Option<Spelling> {
        Spelling::ALL.into_iter().find(|spelling| a != b && spelling.of(a) == spelling.of(b))
    }

    /// A spelling that joins all that either joins.
    #[must_use]
    pub fn and(self, other: Spelling) -> Spelling {
        let case = if self.case.is_kept() { other.case } else { self.case };
        Spelling { trim: self.trim || other.trim, case }
    }

    /// How a job asks for it: `{trim: true, case: fold}`.
    pub fn in_a_job(self) -> &'static str {
        match (self.trim, self.case) {
            (true, LetterCase::Keep) => "{trim: true}",
            (false, LetterCase::Fold) => "{case: fold}",
            (true, LetterCase::Fold) => "{trim: true, case: fold}",
            (false, LetterCase::Keep) => "{}",
        }
    }

    /// The values in this spelling, and the number of those that changed, where any did. Only texts
    /// change; one of only blanks, trimmed, is missing.
    pub(crate) fn values(self, values: &SourceValues) -> Option<(SourceValues, u64)> {
        values.spelt(|word| self.of(word), self.trim)
    }
}

/// Words with how often each occurs.
type CountedWords<'a> = Vec<(&'a str, u64)>;

/// Groups of words that are one word in some spelling, each with its count, the most frequent word
/// first, and the gentlest spelling that joins them all. Groups are in the order of the words.
pub(crate) fn alike<'a>(
    words: impl IntoIterator<Item = (&'a str, u64)>,
) -> Option<(Vec<CountedWords<'a>>, Spelling)> {
    let mut groups: indexmap::IndexMap<String, CountedWords<'a>> = indexmap::IndexMap::new();
    for (word, n) in words {
        groups.entry(Spelling::LOOSE.of(word).into_owned()).or_default().push((word, n));
    }
    let mut groups: Vec<_> = groups.into_values().filter(|group| group.len() > 1).collect();
    let mut spelling = Spelling::default();
    for group in &mut groups {
        group.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        for other in &group[1..] {
            spelling = spelling.and(Spelling::joining(group[0].0, other.0).unwrap_or_default());
        }
    }
    (!groups.is_empty()).then_some((groups, spelling))
}

#[cfg(test)]
mod tests {
    use super::{LetterCase, Spelling, alike};
    use crate::data::values::SourceValues;

    #[test]
    fn one_spelling_of_each_text() {
        let trim = Spelling { trim: true, case: LetterCase::Keep };
        let fold = Spelling { trim: false, case: LetterCase::Fold };
        assert_eq!(trim.of("\u{a0} New York\t"), "New York");
        assert_eq!(fold.of("ÄRZTE "), "ärzte ");
        assert_eq!(Spelling::joining("w", "w "), Some(trim));
        assert_eq!(Spelling::joining("w", "W"), Some(fold));
        assert_eq!(Spelling::joining("w", " W"), Some(Spelling::LOOSE));
        assert_eq!(Spelling::joining("w", "w"), None);
        assert_eq!(Spelling::joining("New York", "NewYork"), None);
    }

    #[test]
    fn values_are_joined_counted_and_lost_where_blank() {
        let texts = vec![Some("W"), Some("w "), None, Some("w"), Some("  "), Some("m")];
        let (values, n) = Spelling::LOOSE.values(&SourceValues::Text(texts.into())).unwrap();
        let SourceValues::Named(named) = &values else { panic!("{values:?}") };
        assert_eq!(
            named.iter().collect::<Vec<_>>(),
            [Some("w"), Some("w"), None, Some("w"), None, Some("m")]
        );
        assert_eq!(n, 3);
        let plain = SourceValues::Text(vec![Some("W"), Some(" ")].into());
        assert!(Spelling::default().values(&plain).is_none());
    }

    #[test]
    fn words_that_are_alike() {
        let words = [("m", 50), ("w", 7), ("W", 9), ("m ", 1), ("d", 2)];
        let (groups, spelling) = alike(words).unwrap();
        assert_eq!(groups, [vec![("m", 50), ("m ", 1)], vec![("W", 9), ("w", 7)]]);
        assert_eq!(spelling, Spelling::LOOSE);
        assert_eq!(alike([("a", 1), ("b", 1)]), None);
        // Of words that are as frequent the first by its letters.
        assert_eq!(alike([("b", 1), ("B", 1)]).unwrap().0, [vec![("B", 1), ("b", 1)]]);
    }
}
