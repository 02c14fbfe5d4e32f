//! The verdict of each gate: the comparisons that a question asks for, judged one by one or
//! jointly, and the worst of them.

use super::counted::CountedGate;
use super::decide_by::GateDecideBy;
use super::observe::{changes, negate, observations, observed};
use super::power::NeededPeople;
use super::unshown::{untested, untested_directions};
use super::verdict::{decide, small_flags};
use super::{
    boundary, hidden_cause, holm, objection, power, remark, rounding, support, unmeasured,
};
use crate::folder::manifest::{GateTally, RoundedSwitches, WorstGate};
use crate::gate::question::{
    GateBaseline, GateLimit, GateObservation, GateQuantity, GateQuestion, GateResults, GateRuling,
    GateSubject, GateTables,
};
use crate::gate::reason::{ComparedPlace, GateFindings, GateReason, GateStatus, MissingRow};
use crate::metric::catalog::find;
use crate::metric::rate::Undefined;
use crate::metric::{GapTransform, Reads};
use crate::table::{AuditKey, GateRow, MetricRow, TableRow, finite, whole};

/// Judges every gate: those on metrics by their table, those against a baseline by the table of
/// changes, those on recourse and on patterns by what was `counted` for them.
pub(crate) fn judge(
    questions: &[GateQuestion],
    tables: GateTables<'_>,
    baseline: Option<&GateBaseline<'_>>,
    counted: &[CountedGate],
) -> GateResults {
    let rounded = rounding::rounded_switches(tables.counts);
    let rounded = [rounded.as_slice(), baseline.map_or(&[], |baseline| baseline.rounded)];
    let mut table: Vec<GateRow> = Vec::new();
    let mut tally = GateTally::default();
    let mut verdict: Option<GateStatus> = None;
    let mut worst: Option<((bool, bool, GateStatus), f64, WorstGate)> = None;
    let looked_up = |question: &GateQuestion| match (question.quantity, baseline) {
        (GateQuantity::Value, _) => observations(question, tables.metrics),
        (GateQuantity::Change, Some(baseline)) => changes(question, baseline),
        (GateQuantity::Change, None) => Vec::new(),
    };
    let of_metrics = questions.iter().map(|question| (question, looked_up(question), None));
    let of_counts = counted
        .iter()
        .map(|gate| (&gate.question, gate.observations.clone(), Some(gate.counted.clone())));
    for (question, seen, counted) in of_metrics.chain(of_counts) {
        let mut rulings = rulings(question, seen, tables, (baseline.is_some(), rounded));
        let plain = remark::question_of_model(question, baseline.is_some());
        // Another block counts what the audited model does.
        let plain = plain.filter(|_| counted.is_none());
        let own = plain.map(|plain| judge(&[plain], tables, baseline, &[]).table);
        for ruling in &mut rulings {
            ruling.findings.remarks =
                remark::remarks(question, ruling, tables.metrics, own.as_deref());
            ruling.findings.counted.clone_from(&counted);
        }
        // Rows come in the order of the table of metrics.
        let Some(ruling) = first_of_worst(question, rulings.iter()) else { continue };
        let decided = ruling.verdict();
        match (question.warn_only, decided) {
            (_, GateStatus::Skipped) => tally.skipped += 1,
            (_, GateStatus::Pass) => tally.pass += 1,
            (true, _) => tally.warn += 1,
            (false, GateStatus::Fail) => tally.fail += 1,
            (false, GateStatus::Inconclusive) => tally.inconclusive += 1,
        }
        if decided != GateStatus::Skipped {
            if !question.warn_only {
                verdict = verdict.max(Some(decided));
            }
            // One that only warns and does not pass is worse than one that passes.
            let rank = (decided != GateStatus::Pass, !question.warn_only, decided);
            let excess = excess(question, ruling);
            let is_worse = |(of, other, _): &((bool, bool, GateStatus), f64, WorstGate)| {
                rank.cmp(of).then(excess.total_cmp(other)).is_gt()
            };
            if worst.as_ref().is_none_or(is_worse) {
                worst = Some((rank, excess, worst_gate(question, ruling)));
            }
        }
        for each in &rulings {
            let needed = power::of_row(question, each, tables);
            table.push(row(question, each, needed, std::ptr::eq(each, ruling)));
        }
    }
    table.sort_by_cached_key(TableRow::sort_key);
    GateResults { table, verdict, tally, worst: worst.map(|(.., worst)| worst) }
}

/// What becomes of each comparison of a question: the rule, then whatever stands against it.
fn rulings(
    question: &GateQuestion,
    mut seen: Vec<GateObservation>,
    tables: GateTables<'_>,
    (has_baseline, rounded): (bool, [&[RoundedSwitches]; 2]),
) -> Vec<GateRuling> {
    let objections = objection::of_question(question, tables);
    for seen in &mut seen {
        if !objections.is_empty() {
            seen.objections.clone_from(&objections);
        } else if let Some(untested) = untested(question, seen, tables.metrics) {
            seen.objections = vec![untested];
        }
    }
    if seen.is_empty() {
        return vec![missing_row(question, objections, has_baseline)];
    }
    let mut rulings = holm::decide_all(question, seen.clone());
    let of_value = question.quantity == GateQuantity::Value;
    if of_value
        && question.scope == GateSubject::WorstCase
        && question.decide_by == GateDecideBy::Interval
    {
        rulings.iter_mut().for_each(|ruling| judge_without_small(question, ruling, tables));
    }
    rulings.iter_mut().for_each(|ruling| boundary::reconsider(question, ruling, tables));
    rounding::reconsider(question, &seen, &mut rulings, rounded);
    for ruling in rulings.iter_mut().filter(|ruling| ruling.verdict() == GateStatus::Pass) {
        let seen = &ruling.observation;
        let objection = groups_without_value(question, seen, tables.metrics)
            .or_else(|| untested_directions(question, seen, tables.metrics))
            .or_else(|| unmeasured::could_break(question, seen, tables))
            .or_else(|| hidden_cause::overturned(question, seen, tables.hidden));
        if let Some(objection) = objection {
            ruling.object(objection);
        }
    }
    if of_value {
        support::reconsider(question, &mut rulings, observations(question, tables.supported));
    }
    rulings
}

/// How far the value lies beyond the limit.
fn excess(question: &GateQuestion, ruling: &GateRuling) -> f64 {
    ruling.observation.row.value.map_or(f64::NEG_INFINITY, |value| question.limit.excess(value))
}

/// The worst of some rulings, of equals the first.
fn first_of_worst<'a>(
    question: &GateQuestion,
    rulings: impl Iterator<Item = &'a GateRuling>,
) -> Option<&'a GateRuling> {
    rulings.reduce(|a, b| {
        let excess = |ruling| excess(question, ruling);
        let order = a.verdict().cmp(&b.verdict()).then(excess(a).total_cmp(&excess(b)));
        if order.is_lt() { b } else { a }
    })
}

/// The groups that have no value in a comparison of all: that the furthest two keep a limit says
/// nothing of them. None where all have one.
fn groups_without_value(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<GateReason> {
    let rows = || question.rows(metrics, &seen.row.key.sensitive);
    let of_all = |row: &&MetricRow| row.metric == question.metric && row.key.scope == "worst_case";
    let n = rows().filter(of_all).find_map(|row| row.groups_undefined);
    let n = n.filter(|n| *n > 0 && question.scope == GateSubject::WorstCase)?;
    // A group is named where it has no value of its own, or of no pair that it is in.
    let to_total = find(&question.metric).and_then(|metric| metric.gap_of);
    let to_total = to_total.filter(|(_, transform)| *transform == GapTransform::ToTotal);
    let base = to_total.map_or(question.metric.as_str(), |(base, _)| base);
    let mut of_group: Vec<(&str, bool)> = Vec::new();
    for row in rows() {
        let ends = match row.key.scope.as_str() {
            "group" if row.metric == base => vec![row.key.from_group.as_str()],
            "pair" if row.metric == question.metric => {
                vec![row.key.from_group.as_str(), row.key.to_group.as_str()]
            }
            _ => continue,
        };
        let without =
            row.value.is_none() && row.undefined.as_str() != Undefined::ZeroReferenceRate.code();
        for end in ends {
            match of_group.iter_mut().find(|(group, _)| *group == end) {
                Some((_, all)) => *all &= without,
                None => of_group.push((end, without)),
            }
        }
    }
    let without = of_group.into_iter().filter(|(_, without)| *without);
    let groups = without.map(|(group, _)| group.to_owned()).collect();
    Some(GateReason::UnmeasuredGroups { n, groups })
}

/// A worst case that a small group holds cannot be judged; but that group is no excuse for the
/// others. The limit is broken where a pair of groups that are large enough breaks it, judged among
/// all pairs by Holm's method, unless that has more than these pairs to judge.
fn judge_without_small(question: &GateQuestion, ruling: &mut GateRuling, tables: GateTables<'_>) {
    let too_few = ruling.verdict() == GateStatus::Inconclusive
        && ruling.observation.objections.is_empty()
        && !small_flags(&ruling.observation).is_empty()
        && !question.holm;
    let Some(metric) = find(&question.metric).filter(|_| too_few) else { return };
    // As the worst case is reported: a difference is not below 0, a ratio not above 1.
    let as_worst = |row: &MetricRow| {
        let mut pair = observed(question, row);
        match metric.has_order() {
            false if pair.row.value.is_some_and(|value| value < 0.0) => {
                negate(&mut pair);
                let AuditKey { from_group, to_group, .. } = &mut pair.row.key;
                std::mem::swap(from_group, to_group);
            }
            true if pair.row.value.is_some_and(|value| value > 1.0) => return None,
            _ => {}
        }
        Some(pair)
    };
    let is_pair = |row: &&MetricRow| {
        row.key.scope == "pair"
            && row.metric == *question.metric
            && metric.family.as_str() == row.family.as_str()
    };
    let rows = question.rows(tables.metrics, &ruling.observation.row.key.sensitive).filter(is_pair);
    let pairs = rows.filter_map(as_worst).collect();
    let mut judged = holm::decide_jointly(question, pairs);
    judged.iter_mut().for_each(|pair| boundary::reconsider(question, pair, tables));
    let broken = judged.iter().filter(|pair| pair.verdict() == GateStatus::Fail);
    if let Some(GateRuling { observation, findings }) = first_of_worst(question, broken)
        && let GateReason::LimitBroken(of) = findings.rule()
    {
        let [_, from, to] = observation.place();
        let pair = Some([from, to].map(str::to_owned));
        let of = ComparedPlace { pair, ..of.clone() };
        ruling.findings = GateFindings::new(GateReason::LimitBroken(of));
    }
}

/// The ruling of a gate that no row answers.
fn missing_row(
    question: &GateQuestion,
    objections: Vec<GateReason>,
    has_baseline: bool,
) -> GateRuling {
    let [from, to] = match &question.scope {
        GateSubject::Group(group) | GateSubject::HarmTo(group) => [group.as_str(), ""],
        GateSubject::Direction(a, b) | GateSubject::Pair(a, b) => [a.as_str(), b],
        GateSubject::Total | GateSubject::AnyDirection | GateSubject::WorstCase => ["", ""],
    };
    let attribute = question.first_attribute();
    let seen = GateObservation {
        is_change: question.quantity == GateQuantity::Change,
        objections,
        ..GateObservation::unmeasured(&question.metric, attribute, ["", from, to])
    };
    if !seen.objections.is_empty() {
        return decide(question, seen);
    }
    let of_any =
        find(&question.metric).is_some_and(|metric| matches!(metric.reads, Reads::AnySwitch(_)));
    let row = match question.quantity {
        GateQuantity::Value if of_any => MissingRow::AnyOtherGroup,
        GateQuantity::Value => MissingRow::Metrics,
        GateQuantity::Change if has_baseline => MissingRow::Changes,
        GateQuantity::Change => return GateRuling::new(seen, GateReason::NoBaseline),
    };
    GateRuling::new(seen, GateReason::NotMeasured { row })
}

fn worst_gate(question: &GateQuestion, ruling: &GateRuling) -> WorstGate {
    let seen = &ruling.observation.row;
    WorstGate {
        gate: question.name.clone(),
        metric: seen.metric.to_string(),
        value: seen.value,
        lo: seen.lo,
        hi: seen.hi,
        n: seen.denominator,
        limit: question.stated_limit(),
        verdict: ruling.verdict().word().to_owned(),
    }
}

fn row(
    question: &GateQuestion,
    ruling: &GateRuling,
    needed: NeededPeople,
    decides: bool,
) -> GateRow {
    let seen = &ruling.observation;
    let rule = match (question.quantity, question.limit) {
        (GateQuantity::Value, GateLimit::AtMost(_)) => "at_most",
        (GateQuantity::Value, GateLimit::AtLeast(_)) => "at_least",
        (GateQuantity::Change, GateLimit::AtMost(_)) => "rise_at_most",
        (GateQuantity::Change, GateLimit::AtLeast(_)) => "fall_at_most",
    };
    let by = match question.decide_by {
        GateDecideBy::Interval if question.holm => "interval, holm",
        by => by.word(),
    };
    GateRow {
        gate: question.name.as_str().into(),
        sensitive: seen.row.key.sensitive.clone(),
        from_group: seen.row.key.from_group.clone(),
        to_group: seen.row.key.to_group.clone(),
        scope: seen.row.key.scope.clone(),
        verdict: ruling.verdict().word().into(),
        level: (if question.warn_only { "warn" } else { "fail" }).into(),
        metric: seen.row.metric.clone(),
        arm: question.arm.as_str().into(),
        model: question.model.as_str().into(),
        counterfactual: question.counterfactual.as_str().into(),
        class: question.class.as_str().into(),
        value: seen.row.value.and_then(finite),
        lo: seen.row.lo.and_then(finite),
        hi: seen.row.hi.and_then(finite),
        limit: question.stated_limit(),
        rule: format!("{rule}, {by}").into(),
        numerator: seen.row.numerator,
        denominator: seen.row.denominator,
        unfair_to_from: seen.unfair.map(|unfair| unfair[0]),
        unfair_to_to: seen.unfair.map(|unfair| unfair[1]),
        enough: whole(question.min_cases),
        baseline_value: seen.baseline.and_then(finite),
        reason_code: ruling.findings.code().word().into(),
        reason_args: ruling.findings.args().into(),
        reason: ruling.findings.words().into(),
        job_line: whole(question.line),
        decides: decides.into(),
        n_needed_80: needed.n[0].map(whole),
        n_needed_95: needed.n[1].map(whole),
        people_needed_80: needed.people[0].map(whole),
        people_needed_95: needed.people[1].map(whole),
        detectable: needed.detectable.and_then(finite),
        needed_how: needed.how.into(),
    }
}
