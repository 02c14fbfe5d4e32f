//! Finds the known word nearest to a wrong one, for the hints of messages.

use crate::job::read::synonyms::synonym;

/// The known word that is nearest to what was written, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_lowercase().replace(['-', ' ', '.'], "_");
    let word = plain(word);
    let limit = (word.chars().count() / 3).max(1);
    let known = known.into_iter().map(|known| (distance(&word, &plain(known)), known));
    known.filter(|(d, _)| *d <= limit).min_by_key(|(d, _)| *d).map(|(_, known)| known)
}

/// Levenshtein's distance where the exchange of two neighbours counts as one step; for long words
/// only the first 100 characters count.
fn distance(a: &str, b: &str) -> usize {
    let cut = |s: &str| s.chars().take(100).collect::<String>();
    strsim::osa_distance(&cut(a), &cut(b))
}

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
    use super::{distance, nearest, suggest};

    #[test]
    fn steps() {
        for (a, b, steps) in [
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("treshold", "threshold", 1),
            ("mtaric", "metric", 2),
            ("ab", "ba", 1),
        ] {
            assert_eq!(distance(a, b), steps, "{a} {b}");
        }
    }

    #[test]
    fn near_and_far() {
        let known = ["threshold", "threshold_rule", "logistic", "scores"];
        assert_eq!(nearest("treshold", known), Some("threshold"));
        assert_eq!(nearest("Threshold-Rule", known), Some("threshold_rule"));
        assert_eq!(nearest("boosting", known), None);
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
