//! What each metric and each measure of counterfactuals is called, its formula, sign and source,
//! and what it means to a reader. The texts are in `texts.txt`, by id; a gap that is derived from
//! another metric has those of its kind, with the texts of that metric filled in.
//!
//! Sources: analogues and remedies follow Towards Counterfactual Group Fairness, Table 7, with the
//! pairs of its text (PCR with recall, NCR with specificity); the questions of Clarify's metrics
//! follow the post-training bias metrics of Amazon SageMaker Clarify.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::metric::catalog::cf_quality::{MEASURES, QualityMetric};
use crate::metric::catalog::{catalog, find};
use crate::metric::{GapTransform, Metric};
use crate::text::TextBlocks;

/// A text of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricText {
    /// Its name in words.
    Name,
    /// Its name within the names of its gaps, where that differs.
    Called,
    /// What it is called in short, where the papers have no symbol.
    Symbol,
    /// Its formula in plain text.
    Formula,
    /// What it says; of a measure of counterfactuals.
    Reading,
    /// What its sign or side means: which group minus which, what lies above 1.
    Sign,
    /// When it has no value; of a measure empty where it always has one.
    UndefinedWhen,
    /// Where it is defined.
    Source,
    /// The question that it answers.
    Question,
    /// What it is in the confusion matrix of labels and predictions.
    Analogue,
    /// The criterion of fairness that it belongs to.
    Criterion,
    /// What to try when it is bad.
    Remedy,
    /// What it does not say.
    Limits,
}

impl MetricText {
    /// What it means to a reader, in the order in which it is shown.
    pub const MEANING: [MetricText; 5] = [
        MetricText::Question,
        MetricText::Analogue,
        MetricText::Criterion,
        MetricText::Remedy,
        MetricText::Limits,
    ];

    const ALL: [(MetricText, &str); 13] = [
        (MetricText::Name, "name"),
        (MetricText::Called, "called"),
        (MetricText::Symbol, "symbol"),
        (MetricText::Formula, "formula"),
        (MetricText::Reading, "says"),
        (MetricText::Sign, "sign"),
        (MetricText::UndefinedWhen, "undefined"),
        (MetricText::Source, "source"),
        (MetricText::Question, "asks"),
        (MetricText::Analogue, "analogue"),
        (MetricText::Criterion, "criterion"),
        (MetricText::Remedy, "try"),
        (MetricText::Limits, "not"),
    ];

    /// What is written before it.
    pub fn head(self) -> &'static str {
        BLOCKS.get("heads", key(self))
    }
}

/// The word of a text in the file.
fn key(part: MetricText) -> &'static str {
    MetricText::ALL.iter().find(|(of, _)| *of == part).map_or("", |(_, key)| key)
}

static BLOCKS: LazyLock<TextBlocks> = LazyLock::new(|| TextBlocks::read(include_str!("texts.txt")));

/// The texts of all metrics and measures.
static TEXTS: LazyLock<BTreeMap<&'static str, BTreeMap<MetricText, String>>> =
    LazyLock::new(|| {
        let all = |text: &dyn Fn(MetricText) -> String| {
            MetricText::ALL.map(|(part, _)| (part, text(part))).into()
        };
        let metrics =
            catalog().map(|metric| (metric.id, all(&|part| text_of_metric(metric, part))));
        let measures = MEASURES.iter().map(|measure| {
            let text = |part| match BLOCKS.get(measure.id, key(part)) {
                "" => BLOCKS.get("any_counterfactual", key(part)),
                own => own,
            };
            (measure.id, all(&|part| text(part).to_owned()))
        });
        metrics.chain(measures).collect()
    });

/// The block of gaps that are derived from another metric.
fn block(metric: &Metric, transform: GapTransform) -> &'static str {
    match transform {
        GapTransform::Difference | GapTransform::Rise => "any_difference",
        GapTransform::ToTotal => "any_to_total",
        _ if metric.is_of_two_directions() => "any_direction_ratio",
        _ => "any_ratio",
    }
}

/// A text of a metric, which may be that of the one that it is derived from.
fn text_of_metric(metric: &Metric, part: MetricText) -> String {
    let own = BLOCKS.get(metric.id, key(part));
    let derived = metric.gap_of.filter(|_| own.is_empty());
    let Some((base, (_, transform))) = derived.and_then(|of| Some((find(of.0)?, of))) else {
        return own.to_owned();
    };
    let called = match BLOCKS.get(base.id, "called") {
        "" => BLOCKS.get(base.id, "name"),
        called => called,
    };
    let text = BLOCKS.get(block(metric, transform), key(part));
    let filled = text.replace("{of}", called).replace("{symbol}", base.symbol);
    [MetricText::Analogue, MetricText::Criterion, MetricText::Remedy].into_iter().fold(
        filled,
        |text, part| {
            let gap = format!("{{{}}}", key(part));
            if text.contains(&gap) { text.replace(&gap, &text_of_metric(base, part)) } else { text }
        },
    )
}

/// A text of a metric or measure, as a sentence or clause without its end; empty where it has none.
pub(crate) fn text_of(id: &str, part: MetricText) -> &'static str {
    TEXTS.get(id).and_then(|texts| texts.get(&part)).map_or("", String::as_str)
}

impl Metric {
    /// One of its texts, as a sentence or clause without its end.
    pub fn text(&self, part: MetricText) -> &'static str {
        text_of(self.id, part)
    }

    /// The papers' symbol, or its short name.
    pub fn symbol(&self) -> &'static str {
        if self.symbol.is_empty() { self.text(MetricText::Symbol) } else { self.symbol }
    }

    /// Its name in words.
    pub fn name(&self) -> &'static str {
        self.text(MetricText::Name)
    }
}

impl QualityMetric {
    /// One of its texts, as a sentence or clause without its end.
    pub(crate) fn text(&self, part: MetricText) -> &'static str {
        text_of(self.id, part)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{BLOCKS, MetricText, TEXTS, text_of};
    use crate::metric::catalog::cf_quality::{self, MEASURES};
    use crate::metric::catalog::{catalog, find};

    #[test]
    fn each_metric_has_its_texts_and_each_text_a_metric() {
        let all = TEXTS
            .iter()
            .flat_map(|(id, texts)| texts.iter().map(move |(part, text)| (id, part, text)));
        for (id, part, text) in all {
            let (is_metric, measure) = (find(id).is_some(), cf_quality::find(id));
            let needed = match part {
                MetricText::Called | MetricText::Symbol => false,
                MetricText::Reading => measure.is_some(),
                MetricText::Sign | MetricText::UndefinedWhen => is_metric,
                _ => true,
            };
            assert!(!(needed && text.is_empty()), "{id} has no {part:?}");
            assert!(!text.contains(['{', '}']), "{id}: {text}");
            let asks = *part == MetricText::Question;
            let ends = text.ends_with('?') || text.ends_with(".)") || text.ends_with("?)");
            assert_eq!(asks, ends, "{id}: {text}");
        }
        assert!(MetricText::ALL.iter().all(|(part, _)| {
            let is_shown = MetricText::MEANING.contains(part);
            is_shown != part.head().is_empty()
        }));
        let is_known = |id: &str| find(id).is_some() || cf_quality::find(id).is_some();
        for id in BLOCKS.ids().collect::<BTreeSet<_>>() {
            assert!(id.starts_with("any_") || id == "heads" || is_known(id), "{id} is no metric");
        }
        assert_eq!(TEXTS.len(), catalog().count() + MEASURES.len());
        assert_eq!(BLOCKS.keys(), MetricText::ALL.map(|(_, key)| key).into());
    }

    #[test]
    fn gaps_have_the_texts_of_what_they_are_derived_from() {
        let of = text_of;
        assert_eq!(
            of("tpr_difference", MetricText::Question),
            "How much larger is the true positive rate of A than that of B?"
        );
        assert_eq!(
            of("fpsr_ratio", MetricText::Question),
            "How many times as large is the false positive switch rate of A -> B as that of B -> A?"
        );
        assert_eq!(of("psr_ratio", MetricText::Criterion), of("psr", MetricText::Criterion));
        assert!(of("ppv_to_total", MetricText::Analogue).starts_with("TP / (TP + FP)"));
        assert_eq!(of("tpr_difference", MetricText::Formula), "TPR_A - TPR_B");
        assert_eq!(of("dist_after", MetricText::Name), "distance to the target, after");
    }
}
