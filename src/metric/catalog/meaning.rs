//! What each metric and each measure of counterfactuals means to a reader: its analogue in the
//! confusion matrix, the criterion of fairness that it belongs to, the question that it answers,
//! what to try when it is bad, and what it does not say. The texts are in `meanings.txt`, by id; a
//! gap that is derived from another metric has those of its kind, with the texts of that metric
//! filled in.
//!
//! Sources: analogues and remedies follow Towards Counterfactual Group Fairness, Table 7, with the
//! pairs of its text (PCR with recall, NCR with specificity); the questions of Clarify's metrics
//! follow the post-training bias metrics of Amazon SageMaker Clarify.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::metric::catalog::cf_quality::QualityMetric;
use crate::metric::catalog::find;
use crate::metric::{GapTransform, Metric};

/// A part of the meaning of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeaningPart {
    /// What it is in the confusion matrix of labels and predictions.
    Analogue,
    /// The criterion of fairness that it belongs to.
    Criterion,
    /// The question that it answers.
    Question,
    /// What to try when it is bad.
    Remedy,
    /// What it does not say.
    Limits,
}

impl MeaningPart {
    /// All parts, in the order in which they are shown.
    pub const ALL: [MeaningPart; 5] = [
        MeaningPart::Question,
        MeaningPart::Analogue,
        MeaningPart::Criterion,
        MeaningPart::Remedy,
        MeaningPart::Limits,
    ];

    /// The word in the file of texts.
    fn key(self) -> &'static str {
        match self {
            MeaningPart::Analogue => "analogue",
            MeaningPart::Criterion => "criterion",
            MeaningPart::Question => "asks",
            MeaningPart::Remedy => "try",
            MeaningPart::Limits => "not",
        }
    }

    /// What is written before it.
    pub fn head(self) -> &'static str {
        match self {
            MeaningPart::Analogue => "in the confusion matrix",
            MeaningPart::Criterion => "criterion of fairness",
            MeaningPart::Question => "asks",
            MeaningPart::Remedy => "if it is bad, try",
            MeaningPart::Limits => "does not say",
        }
    }
}

/// The texts by block of the file and word of the part, in its order.
fn texts() -> Vec<((&'static str, &'static str), &'static str)> {
    let mut found = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    let lines = include_str!("meanings.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let block = line.strip_prefix('[').and_then(|line| line.split_once(']'));
        if let Some((block, _)) = block {
            ids = block.split(' ').collect();
        }
        if let Some((part, text)) = block.map_or(line, |of| of.1.trim()).split_once(':') {
            found.extend(ids.iter().map(|id| ((*id, part), text.trim())));
        }
    }
    found
}

static TEXTS: LazyLock<BTreeMap<(&'static str, &'static str), &'static str>> =
    LazyLock::new(|| texts().into_iter().collect());

/// The block of gaps that are derived from another metric.
fn block(metric: &Metric, transform: GapTransform) -> &'static str {
    match transform {
        GapTransform::Difference | GapTransform::Rise => "any_difference",
        GapTransform::ToTotal => "any_to_total",
        _ if metric.is_of_two_directions() => "any_direction_ratio",
        _ => "any_ratio",
    }
}

/// The block of measures of counterfactuals.
const ANY_COUNTERFACTUAL: &str = "any_counterfactual";

fn own(id: &'static str, part: MeaningPart) -> Option<&'static str> {
    TEXTS.get(&(id, part.key())).copied()
}

/// A part of the meaning of a measure of counterfactuals, as a sentence or clause without its end.
pub(crate) fn measure_meaning(measure: &QualityMetric, part: MeaningPart) -> &'static str {
    own(measure.id, part).or_else(|| own(ANY_COUNTERFACTUAL, part)).unwrap_or_default()
}

/// The meaning of a metric, whose texts may be those of the one that it is derived from.
pub fn meaning(metric: &Metric, part: MeaningPart) -> String {
    if let Some(text) = own(metric.id, part) {
        return text.to_owned();
    }
    let derived = metric.gap_of.and_then(|(base, transform)| {
        Some((find(base)?, TEXTS.get(&(block(metric, transform), part.key()))?))
    });
    derived.map_or_else(String::new, |(base, text)| {
        let called = base.gaps.map_or(base.name, |gaps| gaps.called);
        let filled = text.replace("{of}", called);
        [MeaningPart::Analogue, MeaningPart::Criterion, MeaningPart::Remedy].into_iter().fold(
            filled,
            |text, part| {
                let gap = format!("{{{}}}", part.key());
                if text.contains(&gap) { text.replace(&gap, &meaning(base, part)) } else { text }
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MeaningPart, TEXTS, meaning, measure_meaning, texts};
    use crate::metric::catalog::cf_quality::{self, MEASURES};
    use crate::metric::catalog::{catalog, find};

    #[test]
    fn each_metric_has_all_five_and_each_text_a_metric() {
        let check = |id: &str, of: &dyn Fn(MeaningPart) -> String| {
            for part in MeaningPart::ALL {
                let text = of(part);
                assert!(!text.is_empty(), "{id} has no {part:?}");
                assert!(!text.contains(['{', '}']), "{id}: {text}");
                let ends = text.ends_with('?') || text.ends_with(".)") || text.ends_with("?)");
                assert_eq!(part == MeaningPart::Question, ends, "{id}: {text}");
            }
        };
        catalog().for_each(|metric| check(metric.id, &|part| meaning(metric, part)));
        for measure in MEASURES {
            check(measure.id, &|part| measure_meaning(measure, part).to_owned());
        }
        let all = texts();
        assert_eq!(all.len(), TEXTS.len(), "a text occurs twice");
        let keys: BTreeSet<&str> = MeaningPart::ALL.map(MeaningPart::key).into();
        for ((id, part), _) in all {
            let is_known = find(id).is_some() || cf_quality::find(id).is_some();
            assert!(id.starts_with("any_") || is_known, "{id} is no metric");
            assert!(keys.contains(part), "{id} has an unknown part {part}");
        }
    }

    #[test]
    fn gaps_have_the_texts_of_what_they_are_derived_from() {
        let of = |id: &str, part| meaning(find(id).unwrap(), part);
        assert_eq!(
            of("tpr_difference", MeaningPart::Question),
            "How much larger is the true positive rate of A than that of B?"
        );
        assert_eq!(
            of("fpsr_ratio", MeaningPart::Question),
            "How many times as large is the false positive switch rate of A -> B as that of B -> A?"
        );
        assert_eq!(of("psr_ratio", MeaningPart::Criterion), of("psr", MeaningPart::Criterion));
        assert!(of("ppv_to_total", MeaningPart::Analogue).starts_with("TP / (TP + FP)"));
    }
}
