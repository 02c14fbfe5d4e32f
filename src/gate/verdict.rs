//! Pass, fail or inconclusive: how the limit of a gate is compared with one value or its interval,
//! and what keeps a value from being judged.

use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{
    ComparedPlace, CountedUnit, GateCaution, GateFindings, GateReason, IntervalLack, Judged,
    UncertaintySource,
};
use crate::metric::MetricFamily;
use crate::metric::catalog::find;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::noise::repeats::MIN_REPEATS_FOR_TAILS;
use crate::metric::value::settings::{NEGATIVE_PART, SMALL};
use crate::metric::value::worlds::{ENOUGH_BOOTSTRAPS, LEAST_BOOTSTRAPS, is_outside};
use crate::table::has_flag;

/// Whether the graphs of its set were fitted once.
pub(super) fn fits_once(question: &GateQuestion) -> bool {
    question.bootstraps.is_some_and(|n| n < LEAST_BOOTSTRAPS)
}

/// Why a value cannot be judged.
pub(super) fn inconclusive_reason(
    question: &GateQuestion,
    seen: &GateObservation,
) -> Option<GateReason> {
    if let Some(first) = seen.objections.first() {
        return Some(first.clone());
    }
    if seen.row.value.is_none() {
        let (undefined, of_change) = (seen.row.why_undefined().to_owned(), seen.is_change);
        return Some(GateReason::Undefined { undefined, of_change });
    }
    if has_flag(&seen.row.flags, SELECTIVE_LABELS) {
        return Some(GateReason::SelectiveLabels);
    }
    if has_flag(&seen.row.flags, NEGATIVE_PART) {
        return Some(GateReason::NegativePart);
    }
    // Rows and counterfactuals of a person are not separate cases, and people of weight 0 carry no
    // information.
    let people = seen.row.n_persons.map_or(CountedUnit::People, |_| CountedUnit::Persons);
    let persons = seen.row.n_persons.or(seen.row.denominator_persons);
    let cases = match (persons, seen.row.weight_denominator.is_some()) {
        (Some(_), true) => CountedUnit::WeightedBelow,
        (Some(_), false) => CountedUnit::PersonsBelow,
        (None, _) => CountedUnit::Cases,
    };
    // A gap or a distance has no denominator of its own: its people must be enough, and no group or
    // rate behind it may be small.
    let all = seen.row.denominator.is_none().then(|| seen.row.n_persons.unwrap_or(seen.row.n_rows));
    let below = seen.row.denominator_persons.or(seen.row.denominator);
    for (n, of) in [(below, cases), (all, people)] {
        if let Some(n) = n.filter(|n| u64::try_from(*n).unwrap_or(0) < question.min_cases) {
            return Some(GateReason::TooFew { n, of, required: question.min_cases });
        }
    }
    let flags = small_flags(seen);
    if !flags.is_empty() {
        return Some(GateReason::SmallGroup { flags });
    }
    let no_interval = |why| Some(GateReason::NoInterval { why });
    if question.decide_by == GateDecideBy::Worlds && fits_once(question) {
        return no_interval(IntervalLack::NoRefit);
    }
    let lacks_interval = seen.row.lo.is_none() || seen.row.hi.is_none();
    if question.decide_by != GateDecideBy::Estimate && lacks_interval {
        return no_interval(seen.lack.clone());
    }
    None
}

/// What is small below a value without a separate denominator, as the table flags it.
pub(super) fn small_flags(seen: &GateObservation) -> Vec<String> {
    let flags = SMALL.into_iter().filter(|flag| has_flag(&seen.row.flags, flag));
    flags.filter(|_| seen.row.denominator.is_none()).map(str::to_owned).collect()
}

/// The verdict on one observation, and why.
pub(super) fn decide(question: &GateQuestion, seen: GateObservation) -> GateRuling {
    if let Some(reason) = inconclusive_reason(question, &seen) {
        let further = seen.objections.get(1..).unwrap_or_default().to_vec();
        let findings = GateFindings { further, ..GateFindings::new(reason) };
        return GateRuling { observation: seen, findings };
    }
    let limit = question.limit;
    let of = comparison(question, &seen);
    let reason = match (question.decide_by, seen.row.value, seen.row.lo.zip(seen.row.hi)) {
        (GateDecideBy::Estimate, Some(value), _) if limit.kept_by(value) => {
            GateReason::LimitKept(of)
        }
        (GateDecideBy::Estimate, ..) => GateReason::LimitBroken(of),
        (by, value, Some((lo, hi))) => {
            let kept = limit.kept_by(lo);
            // A range over repeats need not hold the value, whose own side counts too.
            let own = value.map_or(kept, |value| limit.kept_by(value));
            match kept {
                _ if kept != limit.kept_by(hi) => GateReason::LimitInside(of),
                kept if kept != own && by != GateDecideBy::Interval => {
                    GateReason::OtherSide { kept, range: of }
                }
                true => GateReason::LimitKept(of),
                false => GateReason::LimitBroken(of),
            }
        }
        // `inconclusive_reason` has said so.
        (_, _, None) => GateReason::NoInterval { why: seen.lack.clone() },
    };
    GateRuling::new(seen, reason)
}

/// What decides, and what a reader must know of it.
fn comparison(question: &GateQuestion, seen: &GateObservation) -> ComparedPlace {
    let mut of = ComparedPlace::of(match question.decide_by {
        GateDecideBy::Estimate if seen.is_change => Judged::Change,
        GateDecideBy::Estimate => Judged::Value,
        GateDecideBy::Interval => Judged::Interval,
        GateDecideBy::Worlds => Judged::Graphs { level: seen.row.level },
        GateDecideBy::Fit | GateDecideBy::Training | GateDecideBy::All => {
            Judged::Range(seen.over.clone())
        }
    });
    let is_few = |n: i64| n < MIN_REPEATS_FOR_TAILS as i64;
    let few = seen.over.iter().copied().filter(|source| match source {
        UncertaintySource::Fits(n) | UncertaintySource::Trainings(n) => is_few(*n),
        UncertaintySource::People | UncertaintySource::Graphs => false,
    });
    let few: Vec<UncertaintySource> = few.collect();
    if !few.is_empty() {
        of.cautions.push(GateCaution::FewRepeats(few));
    }
    let by_graphs = match question.decide_by {
        GateDecideBy::Worlds | GateDecideBy::All => true,
        GateDecideBy::Estimate => {
            find(&question.metric).is_some_and(|metric| metric.family == MetricFamily::Graph)
        }
        GateDecideBy::Interval | GateDecideBy::Fit | GateDecideBy::Training => false,
    };
    match question.bootstraps.filter(|_| by_graphs) {
        Some(0) => of.cautions.push(GateCaution::NoBootstraps),
        Some(n) if n < ENOUGH_BOOTSTRAPS as u64 => {
            of.cautions.push(GateCaution::FewBootstraps(n));
        }
        _ => {}
    }
    let ends = (seen.row.lo.unwrap_or(0.0), seen.row.hi.unwrap_or(0.0));
    if question.decide_by == GateDecideBy::Worlds && is_outside(seen.row.value.unwrap_or(0.0), ends)
    {
        of.cautions.push(GateCaution::MeanOutside);
    }
    of
}
