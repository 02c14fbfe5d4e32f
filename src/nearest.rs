//! Finds the known word nearest to a wrong one, for the hints of messages.

/// The known word that is nearest to what was written, if any is near: at most one step for every
/// three letters. Case does not count, nor which sign separates parts.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_lowercase().replace(['-', ' ', '.'], "_");
    let word = plain(word);
    let n = word.chars().count();
    let known = known.into_iter().map(|known| (distance(&word, &plain(known)), known));
    // Two words of one letter are never similar.
    let near = known.filter(|(d, _)| *d <= (n / 3).max(1) && *d < n.max(1));
    near.min_by_key(|(d, _)| *d).map(|(_, known)| known)
}

/// Levenshtein's distance where the exchange of two neighbours counts as one step; for long words
/// only the first 100 characters count.
fn distance(a: &str, b: &str) -> usize {
    let cut = |s: &str| s.chars().take(100).collect::<String>();
    strsim::osa_distance(&cut(a), &cut(b))
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

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
        assert_eq!(nearest("a", ["b", "A"]), Some("A"));
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("", ["b", ""]), Some(""));
    }
}
