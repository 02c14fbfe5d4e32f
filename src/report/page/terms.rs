//! What the codes of tables and manifest mean in words: metrics, reasons, strategies, methods of
//! intervals, sides of a decision.

use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::report::page::glossary::GlossaryEntry;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{AuditPanel, ReportedValue};
use crate::table::TableRecord;

/// The metrics of the catalog, and which of them the page has shown.
pub(crate) struct PageGlossary<'a> {
    catalog: &'a dyn Fn(&str) -> Option<GlossaryEntry>,
    /// Every metric shown, in order of appearance.
    pub(crate) shown: Vec<GlossaryEntry>,
}

impl<'a> PageGlossary<'a> {
    /// Nothing shown yet.
    pub(crate) fn new(catalog: &'a dyn Fn(&str) -> Option<GlossaryEntry>) -> Self {
        PageGlossary { catalog, shown: Vec::new() }
    }

    /// The entry of a metric that the page shows from now on; a metric that the catalog does not
    /// know is called by its id.
    pub(crate) fn show(&mut self, metric: &str) -> GlossaryEntry {
        if let Some(entry) = self.shown.iter().find(|e| e.id == metric) {
            return entry.clone();
        }
        let unknown = || GlossaryEntry {
            id: metric.to_owned(),
            symbol: metric.to_owned(),
            name: metric.to_owned(),
            ..GlossaryEntry::default()
        };
        let mut entry = (self.catalog)(metric).unwrap_or_else(unknown);
        entry.id = metric.to_owned();
        self.shown.push(entry.clone());
        entry
    }

    /// The symbol as the head of a column: it leads to its entry in the glossary, and tells its
    /// name to who points at it.
    pub(crate) fn head(&mut self, metric: &str) -> RichText {
        let entry = self.show(metric);
        RichText::new().metric(
            if entry.symbol.is_empty() { entry.name.clone() } else { entry.symbol },
            &entry.id,
            entry.name,
        )
    }

    /// Name and symbol: `negative switch rate NSR`.
    pub(crate) fn title(&mut self, metric: &str) -> RichText {
        let entry = self.show(metric);
        if entry.name == entry.symbol {
            RichText::new().code(entry.name)
        } else if entry.symbol.is_empty() {
            entry.name.into()
        } else {
            RichText::new().text(format!("{} ", entry.name)).code(entry.symbol)
        }
    }
}

/// Metrics that are shares of counts.
const SHARES: &[&str] = &[
    "prev",
    "pprev",
    "acc",
    "tpr",
    "fnr",
    "tnr",
    "fpr",
    "ppv",
    "fdr",
    "npv",
    "for",
    "bacc",
    "cr",
    "sr",
    "denied_by_group",
    "favoured_by_group",
    "psr",
    "ncr",
    "nsr",
    "pcr",
    "pcp",
    "psdr",
    "sr_any",
    "psr_any",
    "nsr_any",
    "tsnr",
    "fsnr",
    "tspr",
    "fspr",
    "tpsr",
    "fpsr",
    "tnsr",
    "fnsr",
    "undefined_strata_share",
];

/// Metrics of two groups that are differences of shares and carry no base metric in their id.
const GAPS: &[&str] = &[
    "demp_difference",
    "eopp_difference",
    "pred_eq_difference",
    "pred_p_difference",
    "aod",
    "dppl",
    "rd",
    "sd",
    "dar",
    "drr",
    "ad",
    "cddpl",
    "cddpl_defined_strata_only",
    "ft",
    "ft_library_sign",
];

/// How a metric is printed in a scope.
pub(crate) fn kind(metric: &str, scope: &str) -> NumberFormat {
    let share = SHARES.contains(&metric);
    if scope == "worst_case" {
        // Highest minus lowest: a distance.
        return match kind(metric, "pair") {
            NumberFormat::Points => NumberFormat::Distance,
            NumberFormat::Signed => NumberFormat::Plain,
            other => other,
        };
    }
    if let Some(base) = metric.strip_suffix("_to_total") {
        return if SHARES.contains(&base) { NumberFormat::Distance } else { NumberFormat::Plain };
    }
    match metric.strip_suffix("_difference") {
        _ if scope == "difference" => {
            if share {
                NumberFormat::Points
            } else {
                NumberFormat::Signed
            }
        }
        Some(base) if SHARES.contains(&base) => NumberFormat::Points,
        _ if GAPS.contains(&metric) => NumberFormat::Points,
        None if metric == "eodds" => NumberFormat::Distance,
        Some(_) => NumberFormat::Signed,
        None if share => NumberFormat::Share,
        None if matches!(metric, "mcd" | "dcacc" | "dcr" | "te") => NumberFormat::Signed,
        None => NumberFormat::Plain,
    }
}

/// What a row says that rests on labels which are missing for some people more often than for
/// others; none of other rows.
pub(crate) fn missing_labels(row: &TableRecord<'_>) -> Option<&'static str> {
    row.text("flags")
        .split(',')
        .any(|flag| flag == SELECTIVE_LABELS)
        .then_some("labels are missing for some people more often than for others")
}

/// Why a value is undefined, in words that end a sentence begun with "because".
pub(crate) fn reason(code: &str) -> &str {
    match code {
        "empty_group" => "nobody is in the group",
        "no_actual_positive" => "nobody has the positive label",
        "no_actual_negative" => "nobody has the negative label",
        "no_predicted_positive" => "nobody is predicted positive",
        "no_predicted_negative" => "nobody is predicted negative",
        "no_counterfactual_predicted_positive" => "no counterfactual is predicted positive",
        "no_switched_positive" => "no prediction switches to positive",
        "no_switched_negative" => "no prediction switches to negative",
        "no_true_positive" => "there is no true positive",
        "no_false_positive" => "there is no false positive",
        "no_true_negative" => "there is no true negative",
        "no_false_negative" => "there is no false negative",
        "degenerate_marginal" => "all predictions on one side are the same",
        "zero_negative_switch_rate" => "no prediction switches to negative",
        "zero_reference_rate" => "the rate it is divided by is 0",
        "all_false_negative" => "everybody is denied what they deserve",
        "no_defined_stratum" => "in every stratum all predictions are alike",
        "stratum_is_group" => "the strata are the groups themselves",
        "zero_denominator" => "it would be divided by 0",
        "zero_score_sum" => "all scores are 0",
        "infinite" => "it is infinite",
        "boundary" => "the interval cannot be estimated at the boundary",
        "zero_weight" => "those it would be divided by weigh nothing",
        "operand_undefined" => "a value it is made of is undefined",
        "no_label" => "the job has no label",
        "no_favourable_side" => "the job does not say which prediction people want",
        "" => "no reason is given",
        other => other,
    }
}

/// Why a measure is undefined: of counterfactuals there is nobody where none of them is valid,
/// though the group may be large.
pub(crate) fn why(measure: &ReportedValue) -> &str {
    match (measure.undefined.as_str(), measure.family.as_str()) {
        ("empty_group", "ccm" | "eccm" | "shift") => "there is no valid counterfactual",
        (code, _) => reason(code),
    }
}

/// That none of so many counterfactuals is valid, as a clause.
pub(crate) fn none_valid(n: i64) -> String {
    match n {
        0 => "no counterfactual was made".to_owned(),
        1 => "the only counterfactual was discarded".to_owned(),
        n => format!("all {} counterfactuals were discarded", number::count(n)),
    }
}

/// What a strategy does, as a sentence; none where this page does not know it. `written` tells that
/// the attribute is made of other columns.
pub(crate) fn strategy(name: &str, written: bool) -> Option<&'static str> {
    Some(match name {
        "naive" if written => {
            "Sets the columns that the attribute is made of, and nothing else. A group of several \
             values is written as the one that is most frequent among reference rows of that group \
             with the person's label: it stands for the whole group."
        }
        "naive" => {
            "Changes the sensitive attribute and nothing else. A switch rate of a naive set has no \
             sampling noise of its own; it says what the model does with the column itself and \
             nothing about columns that follow from it."
        }
        "greedy" => {
            "Also moves every feature that differs between the two groups to the value that is as \
             probable in the target group."
        }
        "plausible" => {
            "Moves the features that the job allows to the value that is as probable in the target \
             group; those it does not name stay."
        }
        "graph-uncertain" => {
            "Moves what follows from the attribute, by linear equations, in causal graphs: those \
             of the best class that a search found for each bootstrap of the training rows, under \
             the stated knowledge, or the graph that the job gives."
        }
        "transport" => {
            "Gives the rows of a group the values of real rows of the other, all together at the \
             least distance (optimal transport)."
        }
        _ => return None,
    })
}

/// What is to be known of a condition other than the label; none where there is nothing to say.
pub(crate) fn condition(knobs: &[String]) -> Option<&'static str> {
    let condition = knobs.iter().find_map(|knob| knob.strip_prefix("condition_on: "))?;
    match condition {
        "none" => Some(
            "Nothing stands beside the group, so differences of the base rates of the groups are \
             part of what moves.",
        ),
        _ if condition.starts_with("{prediction") => Some(
            "What a model predicts takes the place of the label. The papers do not treat this: \
             another version of the model gives other counterfactuals.",
        ),
        _ => None,
    }
}

/// What the placebo of a set says.
pub(crate) fn placebo(strategy: &str, written: bool, repeats: u64) -> RichText {
    let repeats = number::count(i64::try_from(repeats).unwrap_or(i64::MAX));
    match strategy {
        "naive" if written => {
            "Placebo: not measured for an attribute that is made of other columns; what is written \
             for a group rests on reference rows."
                .into()
        }
        "naive" => "Placebo: a naive set draws on no sample: its noise floor is zero.".into(),
        _ => format!(
            "Placebo: {repeats} repeats of the set with group names shuffled; a value \
             inside their band may be noise alone."
        )
        .into(),
    }
}

/// The band of a placebo beside a value: `1.1 to 4.2 %`; one number where it has no width.
pub(crate) fn noise(kind: NumberFormat, value: f64, lo: f64, hi: f64) -> String {
    match kind {
        _ if lo == hi => kind.value(lo),
        NumberFormat::Share => format!("{}\u{202f}%", kind.interval(value, lo, hi)),
        _ => kind.interval(value, lo, hi),
    }
}

/// A method of intervals in words; none where this page does not know it.
pub(crate) fn interval_method(code: &str) -> Option<&'static str> {
    Some(match code {
        "wilson" => "Wilson's score interval (1927), for shares of counts.",
        "newcombe" => {
            "Newcombe's hybrid score interval (1998, his method 10), for differences of two \
             independent shares."
        }
        "katz" => "Katz's interval on the log scale (1978), for ratios of two independent shares.",
        "bootstrap" => "Percentiles of the bootstrap of people, for what is no share of counts.",
        "poisson-bootstrap" => {
            "Percentiles of the bootstrap of people with Poisson weights, for score metrics; for \
             divergences of histograms they are centred on the value, because resampling roughens \
             histograms."
        }
        "block-bootstrap" => {
            "Percentiles of replicates that draw 200 blocks of people with Poisson weights, for \
             score metrics of more than 200,000 people (200 replicates) and for means over causal \
             graphs."
        }
        _ => return None,
    })
}

/// The intervals of a job with weights, but for those of score metrics.
pub(crate) const INTERVALS_OF_WEIGHTS: &str = "Percentiles of replicates that draw 1000 blocks of \
    people with Poisson weights, the same in every group and direction, for all but score metrics: \
    weighted shares are no shares of independent cases, so no formula holds for them. A value that \
    no replicate moves, such as a share of 0, has no interval.";

/// The two sides of the decision in the words of the job.
pub(crate) struct DecisionWords {
    /// Metric of decisions that are lost: `nsr` or `psr`.
    pub(crate) loss: &'static str,
    /// Metric of decisions that are gained.
    pub(crate) gain: &'static str,
    /// Metric of decisions that are lost and that the label confirms: `tpsr` or `tnsr`.
    pub(crate) rightful: &'static str,
    /// Those who have it.
    pub(crate) held: &'static str,
    /// Those who have not.
    pub(crate) lacked: &'static str,
    /// What the former would do.
    pub(crate) loses: &'static str,
    /// What the latter would do.
    pub(crate) gains: &'static str,
    /// Whether the favourable prediction is the positive one; none where the job does not say.
    pub(crate) positive: Option<bool>,
}

impl DecisionWords {
    /// Favourable words where the job says which side is favourable, neutral ones where it has no
    /// label.
    ///
    /// Of several classes it is told who would get another one: each class against all others
    /// stands in tables.
    pub(crate) fn of(audit: &AuditFolder) -> Self {
        if audit.classes.are_there() {
            let [held, loses] = ["whatever their class", "would be predicted another class"];
            return DecisionWords {
                loss: "sr",
                gain: "",
                rightful: "",
                held,
                lacked: "",
                loses,
                gains: "",
                positive: None,
            };
        }
        let positive = audit.manifest.favourable_is_positive();
        let [loss, gain, rightful] =
            if positive == Some(false) { ["psr", "nsr", "tnsr"] } else { ["nsr", "psr", "tpsr"] };
        let words = if positive.is_some() {
            [
                "with the favourable decision",
                "without the favourable decision",
                "would lose it",
                "would gain it",
            ]
        } else {
            [
                "predicted positive",
                "predicted negative",
                "would be predicted negative",
                "would be predicted positive",
            ]
        };
        let [held, lacked, loses, gains] = words;
        DecisionWords { loss, gain, rightful, held, lacked, loses, gains, positive }
    }
}

/// That shares are weighted, and counts are not; none where the job has no weights.
pub(crate) fn weights(audit: &AuditFolder) -> Option<RichText> {
    let column = audit.manifest.weight.as_ref()?;
    Some(RichText::from("Shares are weighted by ").code(column).text("; counts are people."))
}

/// `16 of 122 (13.1 %; 95 % interval 8.2 to 20.2)`.
pub(crate) fn share_in_words(measure: &ReportedValue) -> Option<String> {
    let (part, whole) = measure.counts?;
    let value = measure.value?;
    let mut text = format!(
        "{} of {} ({}",
        number::count(part),
        number::count(whole),
        number::percent_text(value, measure.weights.is_some())
    );
    if let (Some((lo, hi)), Some(level)) = (measure.interval, measure.level) {
        text.push_str(&format!(
            "; {} interval {}",
            number::level(level),
            NumberFormat::Share.interval(value, lo, hi)
        ));
    }
    text.push(')');
    Some(text)
}

/// `set flip (naive), model gbm`.
pub(crate) fn origin(panel: &AuditPanel) -> RichText {
    let words = RichText::new().text("set ").name(&panel.set);
    let words = if panel.strategy.is_empty() {
        words
    } else {
        words.text(format!(" ({})", panel.strategy))
    };
    words.text(", model ").name(&panel.model)
}
