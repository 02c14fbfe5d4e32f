//! Pass, fail or inconclusive: how the limit of a gate is compared with one value or its interval,
//! and what keeps a value from being judged.

use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling, GateStatus};
use crate::metric::MetricFamily;
use crate::metric::bootstrap::repeats::MIN_REPEATS_FOR_TAILS;
use crate::metric::catalog::find;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::rate::Undefined;
use crate::metric::value::settings::NEGATIVE_PART;
use crate::metric::value::worlds::{ENOUGH_BOOTSTRAPS, LEAST_BOOTSTRAPS, is_outside};
use crate::table::deciding_range::few_repeats;
use crate::table::has_flag;

/// Why an interval over graphs and refits of less than two bootstraps decides nothing.
pub(super) const NO_REFIT: &str =
    "no refit of the coefficients was measured: add `bootstraps` to the set; 100 is usual";

/// Whether the graphs of its set were fitted once.
pub(super) fn fits_once(question: &GateQuestion) -> bool {
    question.bootstraps.is_some_and(|n| n < LEAST_BOOTSTRAPS)
}

/// Why a value cannot be judged.
pub(super) fn obstacle(question: &GateQuestion, seen: &GateObservation) -> Option<String> {
    if !seen.refused.is_empty() {
        return Some(seen.refused.clone());
    }
    if seen.value.is_none() && seen.is_change {
        return Some(format!("the change is undefined: {}", seen.undefined));
    }
    if seen.value.is_none() {
        let reason = Undefined::ALL.iter().find(|reason| reason.code() == seen.undefined);
        let meaning = reason.map_or_else(String::new, |reason| {
            format!(": {}", reason.meaning().trim_end_matches('.'))
        });
        return Some(format!("the value is undefined: {}{meaning}", seen.undefined));
    }
    if has_flag(&seen.flags, SELECTIVE_LABELS) {
        return Some(format!(
            "{SELECTIVE_LABELS}: labels are missing for some people more often than for others"
        ));
    }
    if has_flag(&seen.flags, NEGATIVE_PART) {
        return Some(format!(
            "{NEGATIVE_PART}: a ratio with a negative part does not say how many times as much one \
             is; judge the difference"
        ));
    }
    // Rows of a person are not cases of their own, and people of weight 0 tell nothing.
    let (people, cases) = match (seen.persons, seen.is_weighed) {
        (Some(_), true) => ("persons", "people of weight above 0 below the rate"),
        (Some(_), false) => ("persons", "persons below the rate"),
        (None, _) => ("people", "cases"),
    };
    if let Some(n) = seen.denominator_persons.or(seen.denominator)
        && u64::try_from(n).unwrap_or(0) < question.min_cases
    {
        return Some(format!("{n} {cases}, {} are required", question.min_cases));
    }
    // A gap or a distance has no denominator of its own: its people must be enough, and no group or
    // rate behind it may be small.
    let n = seen.persons.unwrap_or(seen.n_rows);
    if seen.denominator.is_none() && u64::try_from(n).unwrap_or(0) < question.min_cases {
        return Some(format!("{n} {people}, {} are required", question.min_cases));
    }
    if let Some(small) = small_flags(seen) {
        return Some(format!("too few for a conclusion: {small}"));
    }
    if question.decide_by == GateDecideBy::Worlds && fits_once(question) {
        return Some(NO_REFIT.to_owned());
    }
    (question.decide_by != GateDecideBy::Estimate && (seen.lo.is_none() || seen.hi.is_none()))
        .then(|| format!("there is no interval: {}", seen.why_no_interval))
}

/// What is small below a value without a separate denominator, as the table flags it.
pub(super) fn small_flags(seen: &GateObservation) -> Option<String> {
    let flags: Vec<&str> =
        seen.flags.split(',').filter(|flag| flag.starts_with("small_")).collect();
    (seen.denominator.is_none() && !flags.is_empty()).then(|| flags.join(","))
}

/// The status of one observation and the reason for it.
pub(super) fn decide(question: &GateQuestion, seen: GateObservation) -> GateRuling {
    let limit = question.limit;
    if let Some(reason) = obstacle(question, &seen) {
        return GateRuling { observation: seen, verdict: GateStatus::Inconclusive, reason };
    }
    match (question.decide_by, seen.value, seen.lo.zip(seen.hi)) {
        (GateDecideBy::Estimate, Some(value), _) => {
            let kept = limit.kept_by(value);
            let what = if seen.is_change { "change" } else { "value" };
            let is_of_graphs =
                find(&question.metric).is_some_and(|metric| metric.family == MetricFamily::Graph);
            let caution = if is_of_graphs { few_bootstraps(question, "it") } else { String::new() };
            let reason =
                format!("the {what} {} the limit{caution}", if kept { "keeps" } else { "breaks" });
            GateRuling {
                observation: seen,
                verdict: if kept { GateStatus::Pass } else { GateStatus::Fail },
                reason,
            }
        }
        (_, _, Some((lo, hi))) => {
            let (interval, caution) = match question.decide_by {
                GateDecideBy::Worlds => over_graphs(question, &seen),
                GateDecideBy::Fit | GateDecideBy::Training | GateDecideBy::All => {
                    over_doubts(question, &seen)
                }
                _ => ("interval".to_owned(), String::new()),
            };
            // A range over repeats need not hold the value, whose own side counts too.
            let own = seen.value.map_or(limit.kept_by(lo), |value| limit.kept_by(value));
            let (verdict, reason) = match (limit.kept_by(lo), limit.kept_by(hi)) {
                (kept, same)
                    if kept == same
                        && kept != own
                        && question.decide_by != GateDecideBy::Interval =>
                {
                    let [all, one] = if kept { ["keeps", "breaks"] } else { ["breaks", "keeps"] };
                    (
                        GateStatus::Inconclusive,
                        format!(
                            "the whole {interval} {all} the limit, but the value itself {one} \
                             it{caution}"
                        ),
                    )
                }
                (true, true) => {
                    (GateStatus::Pass, format!("the whole {interval} keeps the limit{caution}"))
                }
                (false, false) => {
                    (GateStatus::Fail, format!("the whole {interval} breaks the limit{caution}"))
                }
                _ => (
                    GateStatus::Inconclusive,
                    format!("the limit lies inside the {interval}{caution}"),
                ),
            };
            GateRuling { observation: seen, verdict, reason }
        }
        // `obstacle` has said so.
        (_, _, None) => GateRuling {
            observation: seen,
            verdict: GateStatus::Inconclusive,
            reason: "there is no interval".to_owned(),
        },
    }
}

/// That what is judged depends on few bootstraps, so that another seed may move `what` far; empty
/// where these are enough.
pub(super) fn few_bootstraps(question: &GateQuestion, what: &str) -> String {
    match question.bootstraps {
        Some(0) => "; it is based on the training rows without bootstraps, and does not show \
                    which graphs other rows would give"
            .to_owned(),
        Some(n) if n < ENOUGH_BOOTSTRAPS as u64 => {
            let few = format!("{n} {}", if n == 1 { "bootstrap" } else { "bootstraps" });
            few_repeats(&few, ENOUGH_BOOTSTRAPS, &format!("{what} greatly"))
        }
        _ => String::new(),
    }
}

/// The range over fits or trainings, or over every doubt, and what a reader must know of it: that
/// it depends on few repeats.
fn over_doubts(question: &GateQuestion, seen: &GateObservation) -> (String, String) {
    let mut caution = match seen.few_repeats.as_str() {
        "" => String::new(),
        few => few_repeats(few, MIN_REPEATS_FOR_TAILS, "its ends"),
    };
    if question.decide_by == GateDecideBy::All {
        caution.push_str(&few_bootstraps(question, "its ends"));
    }
    (format!("range over {}", seen.over), caution)
}

/// The interval over graphs and refits with its level, and what a reader must know of it: that it
/// depends on few bootstraps, and that the value lies outside of it.
pub(super) fn over_graphs(question: &GateQuestion, seen: &GateObservation) -> (String, String) {
    let level =
        seen.level.map_or_else(String::new, |level| format!("{} % ", (level * 1e8).round() / 1e6));
    let mut caution = few_bootstraps(question, "its ends");
    let (value, lo, hi) =
        (seen.value.unwrap_or(0.0), seen.lo.unwrap_or(0.0), seen.hi.unwrap_or(0.0));
    if is_outside(value, (lo, hi)) {
        caution.push_str(
            "; the mean over graphs lies outside it, because a few graphs differ \
             greatly from the others",
        );
    }
    (format!("{level}interval over graphs and refits"), caution)
}
