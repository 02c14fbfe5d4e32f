//! Pass, fail or inconclusive: how the limit of a gate is compared with one value or its interval,
//! and what keeps a value from being judged.

use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateObservation, GateQuestion, GateReason, GateRuling, GateStatus};
use crate::metric::MetricFamily;
use crate::metric::bootstrap::repeats::MIN_REPEATS_FOR_TAILS;
use crate::metric::catalog::find;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::rate::Undefined;
use crate::metric::value::settings::NEGATIVE_PART;
use crate::metric::value::worlds::{ENOUGH_BOOTSTRAPS, LEAST_BOOTSTRAPS, is_outside};
use crate::table::deciding_range::few_repeats;
use crate::table::{ReasonCode, has_flag};

/// Why an interval over graphs and refits of less than two bootstraps decides nothing.
pub(super) const NO_REFIT: &str =
    "no refit of the coefficients was measured: add `bootstraps` to the set; 100 is usual";

/// Whether the graphs of its set were fitted once.
pub(super) fn fits_once(question: &GateQuestion) -> bool {
    question.bootstraps.is_some_and(|n| n < LEAST_BOOTSTRAPS)
}

/// Why a value cannot be judged.
pub(super) fn obstacle(question: &GateQuestion, seen: &GateObservation) -> Option<GateReason> {
    if let Some(first) = seen.objections.first() {
        let all: Vec<&str> = seen.objections.iter().map(|of| of.words.as_str()).collect();
        return Some(GateReason::new(first.code, all.join("; ")));
    }
    let because = |code, words: String| Some(GateReason::new(code, words));
    if seen.value.is_none() && seen.is_change {
        let words = format!("the change is undefined: {}", seen.undefined);
        return because(ReasonCode::Undefined, words);
    }
    if seen.value.is_none() {
        let reason = Undefined::ALL.iter().find(|reason| reason.code() == seen.undefined);
        let meaning = reason.map_or_else(String::new, |reason| {
            format!(": {}", reason.meaning().trim_end_matches('.'))
        });
        let words = format!("the value is undefined: {}{meaning}", seen.undefined);
        return because(ReasonCode::Undefined, words);
    }
    if has_flag(&seen.flags, SELECTIVE_LABELS) {
        let words = "labels are missing for some people more often than for others";
        return because(ReasonCode::SelectiveLabels, words.to_owned());
    }
    if has_flag(&seen.flags, NEGATIVE_PART) {
        let words = format!(
            "{NEGATIVE_PART}: a ratio with a negative part does not say how many times as much one \
             is; judge the difference"
        );
        return because(ReasonCode::NegativePart, words);
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
        let words = format!("{n} {cases}, {} are required", question.min_cases);
        return because(ReasonCode::TooFew, words);
    }
    // A gap or a distance has no denominator of its own: its people must be enough, and no group or
    // rate behind it may be small.
    let n = seen.persons.unwrap_or(seen.n_rows);
    if seen.denominator.is_none() && u64::try_from(n).unwrap_or(0) < question.min_cases {
        let words = format!("{n} {people}, {} are required", question.min_cases);
        return because(ReasonCode::TooFew, words);
    }
    if let Some(small) = small_flags(seen) {
        return because(ReasonCode::SmallGroup, format!("too few for a conclusion: {small}"));
    }
    if question.decide_by == GateDecideBy::Worlds && fits_once(question) {
        return because(ReasonCode::NoInterval, NO_REFIT.to_owned());
    }
    let lacks_interval = seen.lo.is_none() || seen.hi.is_none();
    let words = || format!("there is no interval: {}", seen.why_no_interval);
    (question.decide_by != GateDecideBy::Estimate && lacks_interval)
        .then(|| GateReason::new(ReasonCode::NoInterval, words()))
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
    let inconclusive = GateStatus::Inconclusive;
    if let Some(reason) = obstacle(question, &seen) {
        return GateRuling::new(seen, inconclusive, reason);
    }
    let side = |kept| match kept {
        true => (GateStatus::Pass, ReasonCode::LimitKept, "keeps"),
        false => (GateStatus::Fail, ReasonCode::LimitBroken, "breaks"),
    };
    let (verdict, code, words) = match (question.decide_by, seen.value, seen.lo.zip(seen.hi)) {
        (GateDecideBy::Estimate, Some(value), _) => {
            let (verdict, code, keeps) = side(limit.kept_by(value));
            let what = if seen.is_change { "change" } else { "value" };
            let is_of_graphs =
                find(&question.metric).is_some_and(|metric| metric.family == MetricFamily::Graph);
            let caution = if is_of_graphs { few_bootstraps(question, "it") } else { String::new() };
            (verdict, code, format!("the {what} {keeps} the limit{caution}"))
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
            match (limit.kept_by(lo), limit.kept_by(hi)) {
                (kept, same)
                    if kept == same
                        && kept != own
                        && question.decide_by != GateDecideBy::Interval =>
                {
                    let [(.., all), (.., one)] = [side(kept), side(own)];
                    let words = format!(
                        "the whole {interval} {all} the limit, but the value itself {one} \
                         it{caution}"
                    );
                    (inconclusive, ReasonCode::OtherSide, words)
                }
                (kept, same) if kept == same => {
                    let (verdict, code, keeps) = side(kept);
                    (verdict, code, format!("the whole {interval} {keeps} the limit{caution}"))
                }
                _ => {
                    let words = format!("the limit lies inside the {interval}{caution}");
                    (inconclusive, ReasonCode::LimitInside, words)
                }
            }
        }
        // `obstacle` has said so.
        (_, _, None) => (inconclusive, ReasonCode::NoInterval, "there is no interval".to_owned()),
    };
    GateRuling::new(seen, verdict, GateReason::new(code, words))
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
