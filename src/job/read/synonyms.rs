//! Words of the trade for words of cfaudit: `explain` knows them, and "did you mean" takes them.

/// A word of the trade in small letters, with blanks between its parts, and the word of cfaudit.
pub(crate) const SYNONYMS: &[(&str, &str)] = &[
    ("80 percent rule", "di"),
    ("accuracy", "acc"),
    ("adverse impact", "di"),
    ("adverse impact ratio", "di"),
    ("air", "di"),
    ("average odds", "aod"),
    ("balanced accuracy", "bacc"),
    ("conditional statistical parity", "cddpl"),
    ("counterfactual switch rate", "sr"),
    ("demographic parity", "demp_difference"),
    ("demographic parity difference", "demp_difference"),
    ("demographic parity ratio", "demp_ratio"),
    ("disparate impact", "di"),
    ("disparate impact ratio", "di"),
    ("equal opportunity", "eopp_difference"),
    ("equal opportunity difference", "eopp_difference"),
    ("equalised odds", "eodds"),
    ("equalized odds", "eodds"),
    ("equalized odds difference", "eodds"),
    ("fall out", "fpr"),
    ("false negative rate", "fnr"),
    ("false positive rate", "fpr"),
    ("favorable", "favourable"),
    ("flip rate", "sr"),
    ("four fifths", "di"),
    ("four fifths rule", "di"),
    ("group fairness", "group"),
    ("hit rate", "tpr"),
    ("individual flip rate", "sr_any"),
    ("jensen shannon", "jscd"),
    ("kullback leibler", "kld"),
    ("matthews correlation", "mcc"),
    ("negative switch rate", "nsr"),
    ("positive predictive value", "ppv"),
    ("positive rate", "pprev"),
    ("positive switch rate", "psr"),
    ("precision", "ppv"),
    ("predictive equality", "pred_eq_difference"),
    ("predictive parity", "pred_p_difference"),
    ("prevalence", "prev"),
    ("privileged group", "reference"),
    ("protected attribute", "sensitive"),
    ("protected attributes", "sensitive"),
    ("recall", "tpr"),
    ("scikit learn", "python"),
    ("selection rate", "pprev"),
    ("sensitivity", "tpr"),
    ("sklearn", "python"),
    ("specificity", "tnr"),
    ("statistical parity", "demp_difference"),
    ("statistical parity difference", "demp_difference"),
    ("switch rate", "sr"),
    ("true negative rate", "tnr"),
    ("true positive rate", "tpr"),
    ("unfavorable", "favourable"),
    ("unfavourable", "favourable"),
];

/// The word of cfaudit for a word of the trade, however it is written.
pub(crate) fn synonym(word: &str) -> Option<&'static str> {
    let plain = |word: &str| {
        let word = word.to_lowercase().replace(['-', '_', '/', '.'], " ").replace('%', " percent ");
        word.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let wanted = plain(word);
    SYNONYMS.iter().find(|(known, _)| plain(known) == wanted).map(|(_, word)| *word)
}

#[cfg(test)]
mod tests {
    use super::{SYNONYMS, synonym};

    #[test]
    fn words_are_known_however_they_are_written() {
        for word in ["four-fifths rule", "Four_Fifths_Rule", "80% rule", "80 percent rule", "AIR"] {
            assert_eq!(synonym(word), Some("di"), "{word}");
        }
        assert_eq!(synonym("statistical_parity"), Some("demp_difference"));
        assert_eq!(synonym("di"), None);
        assert!(SYNONYMS.is_sorted_by(|a, b| a.0 < b.0), "in order, and none twice");
    }
}
