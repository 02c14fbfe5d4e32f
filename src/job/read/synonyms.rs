//! Common terms of other tools and papers for words of cfaudit: `explain` knows them, and "did you
//! mean" uses them.

/// For each word of cfaudit the common terms, in lower case, with blanks between their parts and
/// commas between them.
const SYNONYMS: &[(&str, &str)] = &[
    ("acc", "accuracy"),
    ("aod", "average odds"),
    ("auc", "area under the curve, area under the roc curve, auroc, roc auc"),
    ("augment", "data augmentation, retraining"),
    ("bacc", "balanced accuracy"),
    ("brier", "brier score"),
    ("cddpl", "conditional demographic disparity, conditional statistical parity"),
    (
        "demp_difference",
        "demographic disparity, demographic parity, demographic parity difference, independence, \
         parity, statistical parity, statistical parity difference",
    ),
    ("demp_ratio", "demographic parity ratio"),
    (
        "di",
        "80 percent rule, adverse impact, adverse impact ratio, air, disparate, disparate impact, \
         disparate impact ratio, four fifths, four fifths rule, impact ratio",
    ),
    ("ecce", "calibration, calibration error, ece, expected calibration error"),
    (
        "eodds",
        "disparate mistreatment, equal odds, equalised odds, equalized odds, \
         equalized odds difference, separation",
    ),
    ("eopp_difference", "equal opportunity, equal opportunity difference, equality of opportunity"),
    ("f1", "f1 score"),
    (
        "favourable",
        "favorable, favorable outcome, favourable outcome, positive outcome, unfavorable, \
         unfavourable",
    ),
    ("fdr", "false discovery rate"),
    ("fnr", "false negative rate, type ii error"),
    ("for", "false omission rate"),
    ("fpr", "fall out, false positive rate, type i error"),
    ("graph-uncertain", "causal graph"),
    ("group", "group fairness"),
    ("holm", "bonferroni, multiple comparisons, multiple testing"),
    ("jscd", "jensen shannon"),
    ("kld", "kullback leibler"),
    ("mcc", "matthews correlation"),
    ("naive", "disparate treatment"),
    ("npv", "negative predictive value"),
    ("nsr", "negative switch rate"),
    ("observed_expected", "calibration in the large"),
    ("power", "minimum detectable effect, sample size, statistical power"),
    ("pprev", "acceptance rate, approval rate, positive rate, selection rate"),
    ("ppv", "positive predictive value, precision"),
    ("pred_eq_difference", "predictive equality"),
    ("pred_p_difference", "predictive parity, sufficiency"),
    ("prev", "base rate, prevalence"),
    ("proxy", "proxies, proxy variable, redlining"),
    ("psr", "positive switch rate"),
    ("python", "scikit learn, sklearn"),
    ("recourse", "actionable recourse, algorithmic recourse, counterfactual explanation"),
    ("reference", "majority group, privileged group, reference group, unprivileged group"),
    ("reliability", "calibration curve, reliability diagram"),
    (
        "sensitive",
        "protected attribute, protected attributes, protected characteristic, protected class, \
         sensitive attribute",
    ),
    (
        "sr",
        "counterfactual fairness, counterfactual switch rate, flip rate, individual fairness, \
         switch rate",
    ),
    ("sr_any", "individual flip rate"),
    ("tnr", "specificity, true negative rate"),
    ("tpr", "hit rate, recall, sensitivity, true positive rate"),
    ("why", "shapley"),
];

/// Each common term with the word of cfaudit.
pub(crate) fn synonyms() -> impl Iterator<Item = (&'static str, &'static str)> {
    SYNONYMS.iter().flat_map(|(word, words)| words.split(", ").map(|known| (known, *word)))
}

/// The word of cfaudit for a common term, in whichever spelling.
pub(crate) fn synonym(word: &str) -> Option<&'static str> {
    let plain = |word: &str| {
        let word = word.to_lowercase().replace(['-', '_', '/', '.'], " ").replace('%', " percent ");
        word.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let wanted = plain(word);
    synonyms().find(|(known, _)| plain(known) == wanted).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::{SYNONYMS, synonym, synonyms};

    #[test]
    fn words_are_known_however_they_are_written() {
        for word in ["four-fifths rule", "Four_Fifths_Rule", "80% rule", "80 percent rule", "AIR"] {
            assert_eq!(synonym(word), Some("di"), "{word}");
        }
        assert_eq!(synonym("statistical_parity"), Some("demp_difference"));
        assert_eq!(synonym("di"), None);
        assert!(SYNONYMS.is_sorted_by(|a, b| a.0 < b.0), "in order, and none twice");
        let mut known: Vec<&str> = synonyms().map(|(known, _)| known).collect();
        known.sort_unstable();
        assert!(known.is_sorted_by(|a, b| a < b), "none twice");
    }
}
