//! Remarks that a reader must know in addition to a verdict: that a set's graphs may contradict
//! knowledge, that an interval does not include trainings, that a limit on one side of a comparison
//! is kept although the other side is far, and for an arm the result of the audited model, so that
//! the verdict on the arm is not read as one on the model.

use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{
    GateCase, GateLimit, GateQuantity, GateQuestion, GateRuling, GateSubject,
};
use crate::gate::reason::{GateRemark, GateStatus, LowerSide, OwnValue};
use crate::metric::GapTransform;
use crate::metric::catalog::find;
use crate::metric::value::settings::FavourableClass;
use crate::metric::value::worlds::ATTRIBUTE_FOLLOWS;
use crate::table::{MetricRow, has_flag};

/// The remarks on a verdict; `own` are the rulings of the same gate about the audited model, where
/// the question is about an arm.
pub(super) fn remarks(
    case: GateCase<'_>,
    verdict: GateStatus,
    own: Option<&[GateRuling]>,
) -> Vec<GateRemark> {
    let follows = has_flag(&case.observed.row.flags, ATTRIBUTE_FOLLOWS);
    let all = [
        follows.then_some(GateRemark::AttributeFollows),
        (verdict == GateStatus::Pass).then(|| other_side(case)).flatten(),
        leaves_out_trainings(case).then_some(GateRemark::TrainingsLeftOut),
        own.map(|own| audited_model(case, own)),
    ];
    all.into_iter().flatten().collect()
}

/// Whether a change is judged by an interval that is narrower than what is known: the run measured
/// its value for other trainings of the model, and these are no part of the interval.
fn leaves_out_trainings(case: GateCase<'_>) -> bool {
    let observed = case.observed;
    let place = observed.place();
    let turned = [place[0], place[2], place[1]];
    let of_run = |place: [&str; 3]| case.row(&observed.row.metric, place);
    let is_trained = |row: &MetricRow| row.training_repeats.is_some();
    observed.is_change
        && case.question.decide_by == GateDecideBy::Interval
        && observed.objections.is_empty()
        && observed.row.lo.is_some()
        && [place, turned].into_iter().filter_map(of_run).any(is_trained)
}

/// For a comparison of two groups that keeps its limit, that the same one the other way round would
/// break it: of a ratio with the group that is then behind, of a gap if equal groups keep the
/// limit.
fn other_side(case: GateCase<'_>) -> Option<GateRemark> {
    let GateCase { question, observed, .. } = case;
    let GateSubject::Pair(first, second) = &question.scope else { return None };
    let metric = find(&question.metric).filter(|metric| metric.has_sides())?;
    let (limit, [scope, from, to]) = (question.limit, observed.place());
    if !metric.has_order() {
        let value = observed.row.value?;
        // Of a change, that the gap has become larger on the side that the limit does not see.
        let old = observed.baseline.filter(|_| observed.is_change);
        let breaks = match old.map(|old| (old + value, (old + value).abs() - old.abs())) {
            Some((new, larger)) => match limit {
                GateLimit::AtMost(_) => new < 0.0 && !limit.kept_by(larger),
                GateLimit::AtLeast(_) => new > 0.0 && !limit.kept_by(-larger),
            },
            None => limit.kept_by(0.0) && !limit.kept_by(-value),
        };
        return breaks.then_some(GateRemark::OtherSign { value, of_change: observed.is_change });
    }
    if observed.is_change {
        return None;
    }
    let value = case.row(&observed.row.metric, [scope, to, from])?.value?;
    if limit.kept_by(value) {
        return None;
    }
    let [lower, higher] = match limit {
        GateLimit::AtLeast(_) => [second, first],
        GateLimit::AtMost(_) => [first, second],
    };
    // More positive decisions put people behind where these are unfavourable.
    let of_decisions = metric.gap_of.is_some_and(|(base, _)| base == "pprev");
    let (group, side) = match (metric.of_favourable(), question.favourable) {
        (Some(GapTransform::Inverse), Some(_)) => (lower, LowerSide::Behind),
        (_, Some(FavourableClass::Positive)) if of_decisions => (lower, LowerSide::Behind),
        (_, Some(FavourableClass::Negative)) if of_decisions => (higher, LowerSide::Behind),
        _ => (lower, LowerSide::LowerValue),
    };
    let (groups, group) = ([first.clone(), second.clone()], group.clone());
    Some(GateRemark::OtherOrder { groups, value, group, side })
}

/// The question of a gate on an arm asked of the audited model; none of other gates, of those that
/// count, and of a change without a baseline.
pub(super) fn question_of_model(
    question: &GateQuestion,
    has_baseline: bool,
) -> Option<GateQuestion> {
    let is_asked = question.quantity == GateQuantity::Value || has_baseline;
    (is_asked && question.counted.is_none() && !question.arm.is_empty())
        .then(|| GateQuestion { arm: String::new(), ..question.clone() })
}

/// What the audited model does for the same metric and groups as one ruling of the gate. Its
/// furthest groups may be others.
fn audited_model(case: GateCase<'_>, own: &[GateRuling]) -> GateRemark {
    let GateCase { question, observed, .. } = case;
    let same = if observed.place()[0] == "worst_case" { 3 } else { 5 };
    let is_same = |own: &&GateRuling| own.observation.key()[..same] == observed.key()[..same];
    let own = own.iter().find(is_same).map(|own| {
        let row = &own.observation.row;
        Box::new(OwnValue {
            value: row.value,
            ends: row.lo.zip(row.hi),
            limit: question.stated_limit(),
            decides: question.rule().1,
            verdict: own.verdict().word().to_owned(),
            findings: own.findings.clone(),
        })
    });
    let of_change = question.quantity == GateQuantity::Change;
    GateRemark::AuditedModel { of_set: question.model.is_empty(), of_change, own }
}
