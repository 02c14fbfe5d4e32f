//! Pass, fail or inconclusive: how the limit of a gate is compared with one value or its interval,
//! and what keeps a value from being judged.

use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{
    ComparedPlace, CountedUnit, GateCaution, GateFindings, GateReason, IntervalLack, Judged,
    UncertaintySource,
};
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::noise::repeats::MIN_REPEATS_FOR_TAILS;
use crate::metric::value::settings::{NEGATIVE_PART, SMALL};
use crate::metric::value::worlds::{ENOUGH_BOOTSTRAPS, LEAST_BOOTSTRAPS, is_outside};
use crate::table::{has_flag, unsigned};

/// Whether the graphs of its set were fitted once.
pub(super) fn fits_once(question: &GateQuestion) -> bool {
    question.bootstraps.is_some_and(|n| n < LEAST_BOOTSTRAPS)
}

/// Why a value cannot be judged.
pub(super) fn inconclusive_reason(
    question: &GateQuestion,
    observed: &GateObservation,
) -> Option<GateReason> {
    if let Some(first) = observed.objections.first() {
        return Some(first.clone());
    }
    let row = &observed.row;
    if row.value.is_none() {
        let undefined = row.why_undefined().to_owned();
        return Some(GateReason::Undefined { undefined, of_change: observed.is_change });
    }
    if has_flag(&row.flags, SELECTIVE_LABELS) {
        return Some(GateReason::SelectiveLabels);
    }
    if has_flag(&row.flags, NEGATIVE_PART) {
        return Some(GateReason::NegativePart);
    }
    // Rows and counterfactuals of a person are not separate cases, and people of weight 0 carry no
    // information.
    let people = row.n_persons.map_or(CountedUnit::People, |_| CountedUnit::Persons);
    let cases = match (row.n_persons.or(row.denominator_persons), row.weight_denominator) {
        (Some(_), Some(_)) => CountedUnit::WeightedBelow,
        (Some(_), None) => CountedUnit::PersonsBelow,
        (None, _) => CountedUnit::Cases,
    };
    // A gap or a distance has no denominator of its own: its people must be enough, and no group or
    // rate behind it may be small.
    let all = row.denominator.is_none().then(|| row.n_persons.unwrap_or(row.n_rows));
    let below = row.denominator_persons.or(row.denominator);
    for (n, of) in [(below, cases), (all, people)] {
        if let Some(n) = n.filter(|n| unsigned(*n) < question.min_cases) {
            return Some(GateReason::TooFew { n, of, required: question.min_cases });
        }
    }
    let flags = small_flags(observed);
    if !flags.is_empty() {
        return Some(GateReason::SmallGroup { flags });
    }
    let why = match question.decide_by {
        GateDecideBy::Worlds if fits_once(question) => IntervalLack::NoRefit,
        GateDecideBy::Estimate => return None,
        _ if observed.ends().is_some() => return None,
        _ => observed.lack.clone(),
    };
    Some(GateReason::NoInterval { why })
}

/// What is small below a value without a separate denominator, as the table flags it.
pub(super) fn small_flags(observed: &GateObservation) -> Vec<String> {
    let flags = SMALL.into_iter().filter(|flag| has_flag(&observed.row.flags, flag));
    flags.filter(|_| observed.row.denominator.is_none()).map(str::to_owned).collect()
}

/// The verdict on one observation, and why.
pub(super) fn decide(question: &GateQuestion, observed: GateObservation) -> GateRuling {
    if let Some(reason) = inconclusive_reason(question, &observed) {
        let further = observed.objections.get(1..).unwrap_or_default().to_vec();
        let findings = GateFindings { further, ..GateFindings::new(reason) };
        return GateRuling { observation: observed, findings };
    }
    let (row, place) = (&observed.row, comparison(question, &observed));
    let by_value = question.decide_by == GateDecideBy::Estimate;
    let value = row.value.unwrap_or(0.0);
    let (lo, hi) = observed.ends().filter(|_| !by_value).unwrap_or((value, value));
    let [lower, upper, own] = [lo, hi, value].map(|end| question.limit.kept_by(end));
    let reason = match (lower, question.decide_by) {
        _ if lower != upper => GateReason::LimitInside(place),
        // A range over repeats need not hold the value, whose own side counts too.
        (kept, by) if kept != own && by != GateDecideBy::Interval => {
            GateReason::OtherSide { kept, range: place }
        }
        (true, _) => GateReason::LimitKept(place),
        (false, _) => GateReason::LimitBroken(place),
    };
    GateRuling::new(observed, reason)
}

/// What decides, and what a reader must know of it.
fn comparison(question: &GateQuestion, observed: &GateObservation) -> ComparedPlace {
    use GateDecideBy::{All, Estimate, Fit, Interval, Training, Worlds};
    use UncertaintySource::{Fits, Trainings};
    let (by, row) = (question.decide_by, &observed.row);
    let judged = match by {
        Estimate if observed.is_change => Judged::Change,
        Estimate => Judged::Value,
        Interval => Judged::Interval,
        Worlds => Judged::Graphs { level: row.level },
        Fit | Training | All => Judged::Range(observed.over.clone()),
    };
    let least = MIN_REPEATS_FOR_TAILS as i64;
    let is_few = |of: &UncertaintySource| matches!(of, Fits(n) | Trainings(n) if *n < least);
    let few: Vec<_> = observed.over.iter().filter(|of| is_few(of)).cloned().collect();
    let by_graphs = match by {
        Worlds | All => true,
        Estimate => question.is_of_graphs(),
        Interval | Fit | Training => false,
    };
    let ends = observed.ends().unwrap_or_default();
    let is_outside = by == Worlds && is_outside(row.value.unwrap_or(0.0), ends);
    let cautions = [
        (!few.is_empty()).then_some(GateCaution::FewRepeats(few)),
        match question.bootstraps.filter(|_| by_graphs) {
            Some(0) => Some(GateCaution::NoBootstraps),
            Some(n) if n < ENOUGH_BOOTSTRAPS as u64 => Some(GateCaution::FewBootstraps(n)),
            _ => None,
        },
        is_outside.then_some(GateCaution::MeanOutside),
    ];
    let cautions = cautions.into_iter().flatten().collect();
    ComparedPlace { cautions, ..ComparedPlace::of(judged) }
}
