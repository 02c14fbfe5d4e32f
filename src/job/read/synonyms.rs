//! Words of the trade for words of cfaudit: `explain` knows them, and "did you mean" takes them.

/// A word of the trade in small letters, with blanks between its parts, and the word of cfaudit.
pub(crate) const SYNONYMS: &[(&str, &str)] = &[
    ("80 percent rule", "di"),
    ("acceptance rate", "pprev"),
    ("accuracy", "acc"),
    ("actionable recourse", "recourse"),
    ("adverse impact", "di"),
    ("adverse impact ratio", "di"),
    ("air", "di"),
    ("algorithmic recourse", "recourse"),
    ("approval rate", "pprev"),
    ("area under the curve", "auc"),
    ("area under the roc curve", "auc"),
    ("auroc", "auc"),
    ("average odds", "aod"),
    ("balanced accuracy", "bacc"),
    ("base rate", "prev"),
    ("bonferroni", "holm"),
    ("brier score", "brier"),
    ("calibration", "ecce"),
    ("calibration curve", "reliability"),
    ("calibration error", "ecce"),
    ("calibration in the large", "observed_expected"),
    ("causal graph", "graph-uncertain"),
    ("conditional demographic disparity", "cddpl"),
    ("conditional statistical parity", "cddpl"),
    ("counterfactual explanation", "recourse"),
    ("counterfactual fairness", "sr"),
    ("counterfactual switch rate", "sr"),
    ("data augmentation", "augment"),
    ("demographic disparity", "demp_difference"),
    ("demographic parity", "demp_difference"),
    ("demographic parity difference", "demp_difference"),
    ("demographic parity ratio", "demp_ratio"),
    ("disparate", "di"),
    ("disparate impact", "di"),
    ("disparate impact ratio", "di"),
    ("disparate mistreatment", "eodds"),
    ("disparate treatment", "naive"),
    ("ece", "ecce"),
    ("equal odds", "eodds"),
    ("equal opportunity", "eopp_difference"),
    ("equal opportunity difference", "eopp_difference"),
    ("equalised odds", "eodds"),
    ("equality of opportunity", "eopp_difference"),
    ("equalized odds", "eodds"),
    ("equalized odds difference", "eodds"),
    ("expected calibration error", "ecce"),
    ("f1 score", "f1"),
    ("fall out", "fpr"),
    ("false discovery rate", "fdr"),
    ("false negative rate", "fnr"),
    ("false omission rate", "for"),
    ("false positive rate", "fpr"),
    ("favorable", "favourable"),
    ("favorable outcome", "favourable"),
    ("favourable outcome", "favourable"),
    ("flip rate", "sr"),
    ("four fifths", "di"),
    ("four fifths rule", "di"),
    ("group fairness", "group"),
    ("hit rate", "tpr"),
    ("impact ratio", "di"),
    ("independence", "demp_difference"),
    ("individual fairness", "sr"),
    ("individual flip rate", "sr_any"),
    ("jensen shannon", "jscd"),
    ("kullback leibler", "kld"),
    ("majority group", "reference"),
    ("matthews correlation", "mcc"),
    ("minimum detectable effect", "power"),
    ("multiple comparisons", "holm"),
    ("multiple testing", "holm"),
    ("negative predictive value", "npv"),
    ("negative switch rate", "nsr"),
    ("parity", "demp_difference"),
    ("positive outcome", "favourable"),
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
    ("protected characteristic", "sensitive"),
    ("protected class", "sensitive"),
    ("proxies", "proxy"),
    ("proxy variable", "proxy"),
    ("recall", "tpr"),
    ("redlining", "proxy"),
    ("reference group", "reference"),
    ("reliability diagram", "reliability"),
    ("retraining", "augment"),
    ("roc auc", "auc"),
    ("sample size", "power"),
    ("scikit learn", "python"),
    ("selection rate", "pprev"),
    ("sensitive attribute", "sensitive"),
    ("sensitivity", "tpr"),
    ("separation", "eodds"),
    ("shapley", "why"),
    ("sklearn", "python"),
    ("specificity", "tnr"),
    ("statistical parity", "demp_difference"),
    ("statistical parity difference", "demp_difference"),
    ("statistical power", "power"),
    ("sufficiency", "pred_p_difference"),
    ("switch rate", "sr"),
    ("true negative rate", "tnr"),
    ("true positive rate", "tpr"),
    ("type i error", "fpr"),
    ("type ii error", "fnr"),
    ("unfavorable", "favourable"),
    ("unfavourable", "favourable"),
    ("unprivileged group", "reference"),
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
