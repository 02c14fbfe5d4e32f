//! The verdict of each gate: the comparisons that a question asks for, judged one by one or
//! jointly, and the worst of them.

use std::collections::BTreeSet;

use super::decide_by::GateDecideBy;
use super::hidden_cause::overturned;
use super::observe::{changes, negate, observations, observed};
use super::unmeasured::{could_break, not_looked_at};
use super::unshown::{untested, untested_directions};
use super::verdict::{decide, small_flags};
use super::{boundary, counted, holm, objection, power, remark, rounding, support};
use crate::folder::manifest::RoundedSwitches;
use crate::gate::question::{
    GateBaseline, GateCase, GateObservation, GateQuantity, GateQuestion, GateResults, GateRuling,
    GateSubject, GateTables,
};
use crate::gate::reason::{ComparedPlace, GateFindings, GateReason, GateStatus, MissingRow};
use crate::metric::catalog::find;
use crate::metric::rate::Undefined;
use crate::metric::{GapTransform, Metric, Reads};
use crate::table::{AuditKey, GateRow, MetricRow, TableRow, finite, whole};

/// What prevents a pass; if there are several reasons, the first.
const AGAINST_A_PASS: [fn(GateCase<'_>) -> Option<GateReason>; 11] = [
    objection::alike_for_all,
    objection::few_by_weight,
    objection::unmoved_features,
    objection::contradicted_knowledge,
    objection::doubt_left_out,
    groups_without_value,
    untested_directions,
    support::untold,
    could_break,
    overturned,
    not_looked_at,
];

/// Judges every gate: those on metrics by their table, those against a baseline by the table of
/// changes, those on recourse and on patterns by what was counted for them.
pub(crate) fn judge(
    questions: &[GateQuestion],
    tables: &GateTables,
    baseline: Option<&GateBaseline<'_>>,
) -> GateResults {
    let rounded = rounding::rounded_switches(&tables.counts);
    let rounded = [rounded.as_slice(), baseline.map_or(&[], |baseline| baseline.rounded)];
    let by = JudgedBy { tables, baseline, rounded };
    let rows = questions.iter().flat_map(|question| by.rows(question, &by.answer(question)));
    let mut judged = GateResults::of(rows.collect());
    judged.table = GateRow::sorted(judged.table);
    judged
}

/// What gates are judged by.
struct JudgedBy<'a> {
    tables: &'a GateTables,
    baseline: Option<&'a GateBaseline<'a>>,
    /// The switches by rounding in the run and in the baseline.
    rounded: [&'a [RoundedSwitches]; 2],
}

impl JudgedBy<'_> {
    /// The ruling on each comparison of a question, with what is counted and the remarks that a
    /// reader must know.
    fn answer(&self, question: &GateQuestion) -> Vec<GateRuling> {
        let all = match (question.quantity, self.baseline) {
            _ if question.counted.is_some() => {
                counted::observations(question, &self.tables.metrics)
            }
            (GateQuantity::Value, _) => observations(question, &self.tables.metrics),
            (GateQuantity::Change, Some(baseline)) => changes(question, baseline),
            (GateQuantity::Change, None) => Vec::new(),
        };
        let mut rulings = self.rulings(question, all);
        let plain = remark::question_of_model(question, self.baseline.is_some());
        let own = plain.map(|plain| self.answer(&plain));
        for ruling in &mut rulings {
            let observed = &ruling.observation;
            let case = GateCase { question, observed, tables: self.tables };
            ruling.findings.remarks = remark::remarks(case, ruling.verdict(), own.as_deref());
            ruling.findings.counted = question.counted.clone();
        }
        rulings
    }

    /// The ruling on each comparison of a question: the rule, then the objections.
    fn rulings(&self, question: &GateQuestion, mut all: Vec<GateObservation>) -> Vec<GateRuling> {
        let tables = self.tables;
        let objections = objection::of_question(question, tables);
        for observed in &mut all {
            if !objections.is_empty() {
                observed.objections.clone_from(&objections);
            } else if let Some(untested) = untested(GateCase { question, observed, tables }) {
                observed.objections = vec![untested];
            }
        }
        if all.is_empty() {
            return vec![missing_row(question, objections, self.baseline.is_some())];
        }
        let mut rulings = holm::decide_all(question, all.clone());
        let of_value = question.quantity == GateQuantity::Value;
        rulings.iter_mut().for_each(|ruling| judge_without_small(question, ruling, tables));
        rulings.iter_mut().for_each(|ruling| boundary::reconsider(question, ruling, tables));
        rounding::reconsider(question, &all, &mut rulings, self.rounded);
        for ruling in rulings.iter_mut().filter(|ruling| ruling.verdict() == GateStatus::Pass) {
            let case = GateCase { question, observed: &ruling.observation, tables };
            let objection = AGAINST_A_PASS.iter().find_map(|against| against(case));
            objection.into_iter().for_each(|objection| ruling.object(objection));
        }
        if of_value {
            support::reconsider(question, &mut rulings, observations(question, &tables.supported));
        }
        rulings
    }

    /// The rows of a question, of which the worst decides, the first among equal ones, in the order
    /// of the table of metrics.
    fn rows(&self, question: &GateQuestion, rulings: &[GateRuling]) -> Vec<GateRow> {
        let decides = first_of_worst(question, rulings.iter());
        let is_worst = |ruling| decides.is_some_and(|worst| std::ptr::eq(worst, ruling));
        rulings.iter().map(|ruling| self.row(question, ruling, is_worst(ruling))).collect()
    }

    /// The row of a ruling, which decides the gate or not.
    fn row(&self, question: &GateQuestion, ruling: &GateRuling, decides: bool) -> GateRow {
        let needed = power::of_row(question, ruling, self.tables);
        let observed = &ruling.observation;
        let MetricRow { key, metric, value, lo, hi, .. } = &observed.row;
        let (bounds, decides_by) = question.rule();
        let (reason_code, reason_args) = ruling.findings.code_and_args();
        GateRow {
            gate: question.name.as_str().into(),
            sensitive: key.sensitive.clone(),
            from_group: key.from_group.clone(),
            to_group: key.to_group.clone(),
            scope: key.scope.clone(),
            verdict: ruling.verdict().word().into(),
            level: (if question.warn_only { "warn" } else { "fail" }).into(),
            metric: metric.clone(),
            arm: question.arm.as_str().into(),
            model: question.model.as_str().into(),
            counterfactual: question.counterfactual.as_str().into(),
            class: question.class.as_str().into(),
            value: value.and_then(finite),
            lo: lo.and_then(finite),
            hi: hi.and_then(finite),
            limit: question.stated_limit(),
            rule: format!("{bounds}, {decides_by}").into(),
            numerator: observed.row.numerator,
            denominator: observed.row.denominator,
            unfair_to_from: observed.unfair.map(|unfair| unfair[0]),
            unfair_to_to: observed.unfair.map(|unfair| unfair[1]),
            enough: whole(question.min_cases),
            baseline_value: observed.baseline.and_then(finite),
            reason_code: reason_code.into(),
            reason_args: reason_args.into(),
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
}

/// The worst of some rulings, the first among equal ones.
fn first_of_worst<'a>(
    question: &GateQuestion,
    rulings: impl Iterator<Item = &'a GateRuling>,
) -> Option<&'a GateRuling> {
    // The worse verdict, then the value that lies further beyond the limit.
    let excess = |ruling: &GateRuling| {
        let value = ruling.observation.row.value;
        value.map_or(f64::NEG_INFINITY, |value| question.limit.excess(value))
    };
    rulings.reduce(|a, b| {
        let order = a.verdict().cmp(&b.verdict()).then(excess(a).total_cmp(&excess(b)));
        if order.is_lt() { b } else { a }
    })
}

/// The groups without a value in a comparison of all groups: that the furthest two keep a limit
/// says nothing about them. None where all have one.
fn groups_without_value<'a>(case: GateCase<'a>) -> Option<GateReason> {
    let question = case.question;
    let of_all = |row: &&MetricRow| row.metric == question.metric && row.key.scope == "worst_case";
    let n = case.rows().filter(of_all).find_map(|row| row.groups_undefined);
    let n = n.filter(|n| *n > 0 && question.scope == GateSubject::WorstCase)?;
    // A group is named where it has no value of its own, or of no pair that it is in.
    let to_total = find(&question.metric).and_then(|metric| metric.gap_of);
    let to_total = to_total.filter(|(_, transform)| *transform == GapTransform::ToTotal);
    let base = to_total.map_or(question.metric.as_str(), |(base, _)| base);
    let ends = |row: &'a MetricRow| match row.key.scope.as_str() {
        "group" if row.metric == base => vec![row.key.from_group.as_str()],
        "pair" if row.metric == question.metric => {
            vec![row.key.from_group.as_str(), row.key.to_group.as_str()]
        }
        _ => Vec::new(),
    };
    let has_value = |row: &&MetricRow| {
        row.value.is_some() || row.undefined == Undefined::ZeroReferenceRate.code()
    };
    let mut known: BTreeSet<&str> = case.rows().filter(has_value).flat_map(ends).collect();
    let others = case.rows().flat_map(ends).filter(|group| known.insert(group));
    let groups = others.map(str::to_owned).collect();
    Some(GateReason::UnmeasuredGroups { n, groups })
}

/// A worst case that a small group holds cannot be judged; but that group is no excuse for the
/// others. The limit is broken where a pair of groups that are large enough breaks it, judged among
/// all pairs by Holm's method, unless that has more than these pairs to judge.
fn judge_without_small(question: &GateQuestion, ruling: &mut GateRuling, tables: &GateTables) {
    let too_few = question.quantity == GateQuantity::Value
        && question.scope == GateSubject::WorstCase
        && question.decide_by == GateDecideBy::Interval
        && ruling.verdict() == GateStatus::Inconclusive
        && ruling.observation.objections.is_empty()
        && !small_flags(&ruling.observation).is_empty()
        && !question.holm;
    let Some(metric) = find(&question.metric).filter(|_| too_few) else { return };
    let is_pair = |row: &&MetricRow| {
        row.key.scope == "pair"
            && row.metric == *question.metric
            && metric.family.as_str() == row.family.as_str()
            // As the worst case is reported: a ratio is not above 1.
            && !(metric.has_order() && row.value.is_some_and(|value| value > 1.0))
    };
    let case = GateCase { question, observed: &ruling.observation, tables };
    let rows = case.rows().filter(is_pair);
    let pairs = rows.map(|row| {
        let mut pair = observed(question, row);
        // Nor is a difference below 0.
        if !metric.has_order() && pair.row.value.is_some_and(|value| value < 0.0) {
            negate(&mut pair);
            let AuditKey { from_group, to_group, .. } = &mut pair.row.key;
            std::mem::swap(from_group, to_group);
        }
        pair
    });
    let mut judged = holm::decide_jointly(question, &pairs.collect::<Vec<_>>());
    judged.iter_mut().for_each(|pair| boundary::reconsider(question, pair, tables));
    let broken = judged.iter().filter(|pair| pair.verdict() == GateStatus::Fail);
    if let Some(GateRuling { observation, findings }) = first_of_worst(question, broken)
        && let GateReason::LimitBroken(place) = findings.rule()
    {
        let [_, from, to] = observation.place();
        let pair = Some([from, to].map(str::to_owned));
        let place = ComparedPlace { pair, ..place.clone() };
        ruling.findings = GateFindings::new(GateReason::LimitBroken(place));
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
    let is_change = question.quantity == GateQuantity::Change;
    let place = ["", from, to];
    let observed = GateObservation::unmeasured(&question.metric, question.first_attribute(), place);
    let observed = GateObservation { is_change, objections, ..observed };
    let is_any = |metric: &Metric| matches!(metric.reads, Reads::AnySwitch(_));
    let row = match (is_change, has_baseline) {
        _ if !observed.objections.is_empty() => return decide(question, observed),
        (true, false) => return GateRuling::new(observed, GateReason::NoBaseline),
        (true, true) => MissingRow::Changes,
        (false, _) if find(&question.metric).is_some_and(is_any) => MissingRow::AnyOtherGroup,
        (false, _) => MissingRow::Metrics,
    };
    GateRuling::new(observed, GateReason::NotMeasured { row })
}
