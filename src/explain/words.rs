//! Words that no other list defines, with their explanations, from `words.txt`: kinds of stages,
//! blocks of a job, scopes, codes of faults and issues, and keys that need more than a line.

use std::sync::LazyLock;

/// A word with its kind and its explanation, lines separated by line ends.
struct KnownWord {
    kind: &'static str,
    word: &'static str,
    text: String,
}

static WORDS: LazyLock<Vec<KnownWord>> = LazyLock::new(|| {
    let (mut found, mut kind) = (Vec::<KnownWord>::new(), "");
    // The number of words to which the explanation being read belongs.
    let mut n = 0;
    let lines = include_str!("words.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(further) = line.strip_prefix("  ") {
            let first = found.len() - n;
            found[first..].iter_mut().for_each(|of| of.text += &format!("\n{further}"));
        } else if let Some((words, text)) = line.split_once(": ") {
            n = words.split(", ").count();
            let text = || text.to_owned();
            found.extend(words.split(", ").map(|word| KnownWord { kind, word, text: text() }));
        } else {
            kind = line.trim_matches(['[', ']']);
        }
    }
    found
});

/// The words of a kind with their explanations, in the order of the file.
pub fn words_of(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    WORDS.iter().filter(move |of| of.kind == kind).map(|of| (of.word, of.text.as_str()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{WORDS, words_of};

    #[test]
    fn words_and_kinds_are_read_as_they_stand() {
        assert!(WORDS.iter().all(|of| !of.kind.is_empty() && !of.text.contains("\n  ")));
        let names = |kind: &str| words_of(kind).map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(names("stage").first(), Some(&"prepare"));
        assert_eq!(names("scope of a metric").last(), Some(&"rest_to_one"));
        let words: BTreeSet<(&str, &str)> = WORDS.iter().map(|of| (of.kind, of.word)).collect();
        assert_eq!(words.len(), WORDS.len(), "a word stands twice");
        let text = |word: &str| words_of("word").find(|(of, _)| *of == word).map(|(_, text)| text);
        assert!(text("classes").is_some() && text("classes") == text("one_vs_all"));
        assert_eq!(text("few_units").map(|text| text.lines().count()), Some(2));
    }
}
