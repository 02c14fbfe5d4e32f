//! Lists of words in messages, and the known word that was probably meant.

use crate::job::read::synonyms::synonym;
use crate::nearest::nearest;

/// `did you mean ...? WHAT: a, b, c` for messages about unknown words.
pub(crate) fn suggest<T: AsRef<str>>(
    word: impl AsRef<str>,
    what: &str,
    known: impl IntoIterator<Item = T>,
) -> String {
    let (word, known): (&str, Vec<T>) = (word.as_ref(), known.into_iter().collect());
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let same = synonym(word).filter(|same| known.contains(same));
    let guess = same.or_else(|| nearest(word, known.iter().copied()));
    let guess = guess.map(|known| format!("did you mean `{known}`? ")).unwrap_or_default();
    let known = if known.is_empty() { "none".to_owned() } else { list(&known) };
    format!("{guess}{what}: {known}")
}

/// Words in backticks, separated by commas.
pub(crate) fn list<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(|w| format!("`{}`", w.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Words in backticks, the last one joined by `and`.
pub(crate) fn all<T: AsRef<str>>(words: &[T]) -> String {
    joined(words, "and")
}

/// As [`all`], or `none`: the keys that were found where one is due.
pub(crate) fn all_or_none<T: AsRef<str>>(words: &[T]) -> String {
    if words.is_empty() { "none".to_owned() } else { all(words) }
}

/// Words in backticks, the last one joined by `or`.
pub(crate) fn any<T: AsRef<str>>(words: &[T]) -> String {
    joined(words, "or")
}

fn joined<T: AsRef<str>>(words: &[T], by: &str) -> String {
    match words {
        [head @ .., last] if !head.is_empty() => format!("{} {by} `{}`", list(head), last.as_ref()),
        _ => list(words),
    }
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_word_that_was_probably_meant_is_suggested() {
        let known = ["threshold", "threshold_rule", "logistic", "scores"];
        assert_eq!(
            suggest("score", "known keys", known),
            "did you mean `scores`? known keys: `threshold`, `threshold_rule`, `logistic`, `scores`"
        );
        assert_eq!(suggest("gbm", "models", [""; 0]), "models: none");
        let metrics = ["di", "sr", "nsr", "tpr"];
        for (word, known) in [("four-fifths rule", "di"), ("switch_rate", "sr"), ("recall", "tpr")]
        {
            assert!(suggest(word, "m", metrics).starts_with(&format!("did you mean `{known}`?")));
        }
        assert_eq!(suggest("precision", "m", metrics), "m: `di`, `sr`, `nsr`, `tpr`");
    }
}
