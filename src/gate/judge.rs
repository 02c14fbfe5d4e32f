//! The verdict of each gate: the comparisons that a question asks for, judged one by one or
//! jointly, and the worst of them.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::decide_by::GateDecideBy;
use super::decision::{decide, fits_once, small_flags};
use super::power::NeededPeople;
use super::unshown::{untested, untested_directions};
use super::{
    audited_model, certain_rate, holm, objection, power, recourse, rounding, support, unmeasured,
};
use crate::folder::manifest::{GateTally, WorstGate};
use crate::gate::question::{
    GateBaseline, GateLimit, GateObservation, GateQuantity, GateQuestion, GateReason, GateResults,
    GateRuling, GateStatus, GateSubject, GateTables,
};
use crate::metric::bootstrap::repeats::MIN_REPEATS_FOR_TAILS;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::rate::Undefined;
use crate::metric::swap_effect::SwapEffect;
use crate::metric::value::settings::FavourableClass;
use crate::metric::value::worlds::ATTRIBUTE_FOLLOWS;
use crate::metric::{MetricFamily, Reads};
use crate::table::{
    AuditKey, ChangeRow, GateRow, MetricRow, ReasonCode, TableRow, finite, has_flag, whole,
};

/// Judges every gate: those on metrics by their table, those against a baseline by the table of
/// changes, those on recourse and on patterns by what was `counted` for them.
pub(crate) fn judge(
    questions: &[GateQuestion],
    tables: GateTables<'_>,
    baseline: Option<&GateBaseline<'_>>,
    counted: &[recourse::CountedGate],
) -> GateResults {
    let GateTables { metrics, supported, counts, .. } = tables;
    let rounded = rounding::rounded_switches(counts);
    let rounded = [rounded.as_slice(), baseline.map_or(&[], |baseline| baseline.rounded)];
    let mut table: Vec<GateRow> = Vec::new();
    let mut tally = GateTally::default();
    let mut verdict: Option<GateStatus> = None;
    let mut worst: Option<((bool, bool), GateStatus, f64, WorstGate)> = None;
    let looked_up = |question: &GateQuestion| match (question.quantity, baseline) {
        (GateQuantity::Value, _) => observations(question, metrics),
        (GateQuantity::Change, Some(baseline)) => changes(question, baseline),
        (GateQuantity::Change, None) => Vec::new(),
    };
    let of_metrics = questions.iter().map(|question| (question, looked_up(question), ""));
    let of_counts = counted
        .iter()
        .map(|counted| (&counted.question, counted.observations.clone(), counted.about.as_str()));
    for (question, mut seen, about) in of_metrics.chain(of_counts) {
        let objections = objection::of_question(question, tables);
        for seen in &mut seen {
            if !objections.is_empty() {
                seen.objections.clone_from(&objections);
            } else if let Some(untested) = untested(question, seen, metrics) {
                seen.objections = vec![untested];
            }
        }
        let mut rulings = holm::decide_all(question, seen.clone());
        if question.quantity == GateQuantity::Value
            && question.scope == GateSubject::WorstCase
            && question.decide_by == GateDecideBy::Interval
        {
            rulings.iter_mut().for_each(|ruling| judge_without_small(question, ruling, tables));
        }
        for ruling in &mut rulings {
            certain_rate::reconsider(question, ruling, tables);
        }
        rounding::reconsider(question, &seen, &mut rulings, rounded);
        for ruling in rulings.iter_mut().filter(|ruling| ruling.verdict == GateStatus::Pass) {
            let seen = &ruling.observation;
            let objection = groups_without_value(question, seen, metrics)
                .or_else(|| untested_directions(question, seen, metrics))
                .or_else(|| unmeasured::could_break(question, seen, tables));
            if let Some(objection) = objection {
                ruling.object(objection);
            }
        }
        if question.quantity == GateQuantity::Value {
            support::reconsider(question, &mut rulings, observations(question, supported));
        }
        if rulings.is_empty() {
            rulings.push(missing_row(question, &objections, baseline));
        }
        let follows = |seen: &GateObservation| has_flag(&seen.flags, ATTRIBUTE_FOLLOWS);
        for ruling in rulings.iter_mut().filter(|ruling| follows(&ruling.observation)) {
            ruling.remarks.push(AGAINST_KNOWLEDGE.to_owned());
        }
        for ruling in rulings.iter_mut().filter(|ruling| ruling.verdict == GateStatus::Pass) {
            if let Some(behind) = behind_now(question, &ruling.observation, metrics) {
                ruling.remarks.push(behind);
            }
        }
        for ruling in rulings.iter_mut() {
            if leaves_out_trainings(question, &ruling.observation, metrics) {
                ruling.remarks.push(TRAININGS_LEFT_OUT.to_owned());
            }
        }
        if let Some(plain) = audited_model::question_of_model(question, baseline.is_some()) {
            let own = judge(std::slice::from_ref(&plain), tables, baseline, &[]).table;
            for ruling in &mut rulings {
                let words = audited_model::in_words(question, &ruling.observation, &own);
                ruling.remarks.push(words);
            }
        }
        if !about.is_empty() {
            for ruling in &mut rulings {
                ruling.reason.words = format!("{about}: {}", ruling.reason.words);
            }
        }
        // The first of the worst decides; rows come in the order of the table of metrics.
        let mut decider = 0;
        for (i, ruling) in rulings.iter().enumerate().skip(1) {
            if compare_severity(question, ruling, &rulings[decider]) == Ordering::Greater {
                decider = i;
            }
        }
        let decided = rulings[decider].verdict;
        match (question.warn_only, decided) {
            (_, GateStatus::Skipped) => tally.skipped += 1,
            (_, GateStatus::Pass) => tally.pass += 1,
            (true, _) => tally.warn += 1,
            (false, GateStatus::Fail) => tally.fail += 1,
            (false, GateStatus::Inconclusive) => tally.inconclusive += 1,
        }
        if !question.warn_only && decided != GateStatus::Skipped {
            verdict = Some(verdict.map_or(decided, |v| v.max(decided)));
        }
        let ruling = &rulings[decider];
        let excess =
            ruling.observation.value.map_or(f64::NEG_INFINITY, |v| question.limit.excess(v));
        // A gate that only warns and does not pass is worse than one that passes.
        let rank = ((decided != GateStatus::Pass, !question.warn_only), decided, excess);
        if decided != GateStatus::Skipped
            && worst.as_ref().is_none_or(|w| {
                (rank.0, rank.1).cmp(&(w.0, w.1)).then(rank.2.total_cmp(&w.2)).is_gt()
            })
        {
            worst = Some((rank.0, rank.1, rank.2, worst_gate(question, ruling)));
        }
        for (i, ruling) in rulings.iter().enumerate() {
            let needed = power::of_row(question, ruling, tables);
            table.push(row(question, ruling, needed, i == decider));
        }
    }
    table.sort_by(|a, b| a.order(b));
    GateResults { table, verdict, tally, worst: worst.map(|w| w.3) }
}

fn compare_severity(question: &GateQuestion, a: &GateRuling, b: &GateRuling) -> Ordering {
    let excess = |r: &GateRuling| {
        r.observation.value.map_or(f64::NEG_INFINITY, |v| question.limit.excess(v))
    };
    a.verdict.cmp(&b.verdict).then(excess(a).total_cmp(&excess(b)))
}

/// The groups that have no value in a comparison of all, in words: that the furthest two keep a
/// limit says nothing of them. None where all have one.
fn groups_without_value(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<GateReason> {
    let like = |row: &&MetricRow| {
        question.is_about(&row.key, &row.class) && row.key.sensitive == seen.sensitive
    };
    let of_all = |row: &&MetricRow| {
        row.metric == question.metric && like(row) && row.key.scope == "worst_case"
    };
    let n = metrics.iter().filter(of_all).find_map(|row| row.groups_undefined);
    let n = n.filter(|n| *n > 0 && question.scope == GateSubject::WorstCase)?;
    // A group is named where it has no value of its own, or of no pair that it is in.
    let base = question.metric.strip_suffix("_to_total").unwrap_or(&question.metric);
    let mut of_group: Vec<(&str, bool)> = Vec::new();
    for row in metrics.iter().filter(like) {
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
    let names: Vec<String> = without.map(|(group, _)| format!("`{group}`")).collect();
    let which = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let (have, were) = if n == 1 { ("group has", "was") } else { ("groups have", "were") };
    let words = format!("{n} {have} no value and {were} not measured{which}");
    Some(GateReason::new(ReasonCode::UnmeasuredGroups, words))
}

/// Appended to the reason of a row whose value has the flag [`ATTRIBUTE_FOLLOWS`].
const AGAINST_KNOWLEDGE: &str = "in the graphs of the set the attribute is an effect of \
    other variables, which may contradict domain knowledge";

/// Appended to the reason of a change that its interval judges, where the run trained the model
/// again.
const TRAININGS_LEFT_OUT: &str = "the interval of a change does not include the other trainings \
    of the model";

/// Whether a change is judged by an interval that is narrower than what is known: the run measured
/// its value for other trainings of the model, and these are no part of the interval.
fn leaves_out_trainings(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> bool {
    let is_own = |row: &MetricRow| {
        row.training_repeats.is_some()
            && question.is_about(&row.key, &row.class)
            && [row.metric.as_str(), row.key.sensitive.as_str(), row.key.scope.as_str()]
                == [seen.metric.as_str(), seen.sensitive.as_str(), seen.scope.as_str()]
            && [(&seen.from, &seen.to), (&seen.to, &seen.from)]
                .iter()
                .any(|(a, b)| row.key.from_group == **a && row.key.to_group == **b)
    };
    seen.is_change
        && question.decide_by == GateDecideBy::Interval
        && seen.objections.is_empty()
        && seen.lo.is_some()
        && metrics.iter().any(is_own)
}

const NOT_MEASURED: &str = "not measured";

/// The rows of the table of metrics that the question is about, turned to its orientation.
fn observations(question: &GateQuestion, metrics: &[MetricRow]) -> Vec<GateObservation> {
    let mut rows: Vec<&MetricRow> = metrics
        .iter()
        .filter(|row| matches(question, &row.key, [&row.class, &row.metric, &row.family]))
        .collect();
    // A pair that is in both orders is one comparison, and needs no turning.
    let is_direct = |row: &&MetricRow| {
        matches!(&question.scope,
        GateSubject::Pair(a, b) if row.key.from_group == *a && row.key.to_group == *b)
    };
    if rows.iter().any(is_direct) {
        rows.retain(is_direct);
    }
    with_both_harm_parts(question, rows.iter().map(|row| oriented(question, row)).collect())
}

/// Of a gate on harm also the part that no row tells, where one of the two of a group is missing:
/// it cannot be judged, so neither can the gate.
fn with_both_harm_parts(
    question: &GateQuestion,
    mut seen: Vec<GateObservation>,
) -> Vec<GateObservation> {
    let GateSubject::HarmTo(group) = &question.scope else { return seen };
    let is_part = |seen: &GateObservation, (metric, from, to): (&str, &str, &str)| {
        (seen.metric.as_str(), seen.from.as_str(), seen.to.as_str()) == (metric, from, to)
    };
    let others: BTreeSet<(String, String)> = seen
        .iter()
        .map(|s| {
            (s.sensitive.clone(), if s.from == *group { s.to.clone() } else { s.from.clone() })
        })
        .collect();
    for (sensitive, other) in others {
        for (metric, from, to) in [(HARM[0], group, &other), (HARM[1], &other, group)] {
            if !seen.iter().any(|s| s.sensitive == sensitive && is_part(s, (metric, from, to))) {
                let missing = GateObservation {
                    metric: metric.to_owned(),
                    sensitive: sensitive.clone(),
                    from: from.clone(),
                    to: to.clone(),
                    ..GateObservation::default()
                };
                seen.push(GateObservation {
                    scope: "direction".to_owned(),
                    undefined: NOT_MEASURED.to_owned(),
                    ..missing
                });
            }
        }
    }
    seen
}

/// The rows of the table of changes that the question is about, turned to its orientation.
fn changes(question: &GateQuestion, baseline: &GateBaseline<'_>) -> Vec<GateObservation> {
    let rows = baseline
        .changes
        .iter()
        .filter(|row| matches(question, &row.key, [&row.class, &row.metric, &row.family]));
    let seen = rows.map(|row| {
        let objection = match row.status.as_str() {
            "only_new" => {
                Some((ReasonCode::OnlyInOneRun, "the baseline has no such value".to_owned()))
            }
            "only_old" => Some((
                ReasonCode::OnlyInOneRun,
                "the baseline has such a value, the run does not".to_owned(),
            )),
            // The words of a change that is not judged say why, and what helps.
            "refitted" => {
                let words = row.ci_method.trim_start_matches("none: ");
                Some((ReasonCode::Refitted, words.to_owned()))
            }
            "not_comparable" => {
                let differs = &baseline.differing_definitions;
                let words = format!("not comparable with the baseline: another {differs}");
                Some((ReasonCode::NotComparable, words))
            }
            _ => None,
        };
        let objection = objection.map(|(code, words)| GateReason::new(code, words));
        let change = GateObservation {
            metric: row.metric.to_string(),
            sensitive: row.key.sensitive.to_string(),
            from: row.key.from_group.to_string(),
            to: row.key.to_group.to_string(),
            value: row.difference,
            lo: row.lo,
            hi: row.hi,
            level: row.level,
            interval: row.interval.to_string(),
            denominator: row
                .old_denominator
                .zip(row.new_denominator)
                .map(|(old, new)| old.min(new)),
            scope: row.key.scope.to_string(),
            n_rows: row.old_rows.min(row.new_rows),
            denominator_persons: fewer(row.old_denominator_persons, row.new_denominator_persons),
            persons: fewer(row.old_persons, row.new_persons),
            flags: row.flags.to_string(),
            undefined: row.undefined.to_string(),
            why_no_interval: row.ci_method.to_string(),
            is_change: true,
            baseline: row.old_value,
            old_ends: row.old_least.zip(row.old_most),
            objections: objection.into_iter().collect(),
            ..GateObservation::default()
        };
        in_question_order(question, change)
    });
    with_both_harm_parts(question, seen.collect())
}

/// Adds to the rows of changes that some question is about what the earlier run could have been at
/// least and at most if everybody had been measured there, by its tables.
pub(crate) fn add_old_extremes(
    questions: &[GateQuestion],
    changes: &mut [ChangeRow],
    old: GateTables<'_>,
) {
    for row in changes {
        let asks = |question: &&GateQuestion| {
            question.quantity == GateQuantity::Change
                && matches(question, &row.key, [&row.class, &row.metric, &row.family])
        };
        let (Some(question), Some(value)) = (questions.iter().find(asks), row.old_value) else {
            continue;
        };
        let seen = GateObservation {
            metric: row.metric.to_string(),
            sensitive: row.key.sensitive.to_string(),
            from: row.key.from_group.to_string(),
            to: row.key.to_group.to_string(),
            scope: row.key.scope.to_string(),
            value: Some(value),
            n_rows: row.old_rows,
            ..GateObservation::default()
        };
        let ends = unmeasured::extremes(question, &seen, old);
        row.old_least = ends.map(|ends| ends.0).and_then(finite);
        row.old_most = ends.map(|ends| ends.1).and_then(finite);
    }
}

/// The fewer persons of two runs; none where in one of them each row is a person.
fn fewer(old: Option<i64>, new: Option<i64>) -> Option<i64> {
    old.zip(new).map(|(old, new)| old.min(new))
}

/// Whether a row of `metrics` or `changes` is one that the question is about, by what it belongs
/// to, its class, its metric and the family of that.
fn matches(question: &GateQuestion, audit: &AuditKey, [class, metric, family]: [&str; 3]) -> bool {
    let same = question.is_about(audit, class)
        && question.attributes.iter().any(|attribute| audit.sensitive == *attribute);
    let [scope, from, to] = audit.scope_and_groups();
    let is_metric = match &question.scope {
        GateSubject::HarmTo(group) => {
            [(HARM[0], from), (HARM[1], to)].contains(&(metric, group.as_str()))
        }
        _ => metric == question.metric,
    };
    same && is_metric
        && match &question.scope {
            GateSubject::Total => scope == "total",
            GateSubject::Group(group) => scope == "group" && from == group,
            GateSubject::Direction(a, b) => scope == "direction" && from == a && to == b,
            GateSubject::AnyDirection | GateSubject::HarmTo(_) => scope == "direction",
            GateSubject::Pair(a, b) => {
                let compared = matches!(scope, "pair" | "difference" | "one_vs_rest");
                let swap = swap_of(question, scope);
                // Each order of a ratio has its row. Facets do not change places: other neighbours
                // vote, other strata have no share.
                let may_turn =
                    swap.ratio_order().is_none() && family != MetricFamily::Clarify.as_str();
                let [first, second] = swap.row_groups(a, b);
                compared
                    && ((from == first && to == second)
                        || (may_turn && from == second && to == first))
            }
            GateSubject::WorstCase => scope == "worst_case",
        }
}

/// The interval of one doubt about a value.
struct DoubtInterval {
    ends: Option<(f64, f64)>,
    level: Option<f64>,
    /// What it is over.
    over: String,
    /// Why there are no ends.
    why_none: String,
}

impl DoubtInterval {
    fn of_people(row: &MetricRow) -> Self {
        DoubtInterval {
            ends: row.lo.zip(row.hi),
            level: row.level,
            over: "people".to_owned(),
            why_none: row.ci_method.to_string(),
        }
    }

    /// Of graphs that were fitted once there is no interval over refits.
    fn of_graphs(question: &GateQuestion, row: &MetricRow) -> Self {
        DoubtInterval {
            ends: row.world_lo.zip(row.world_hi).filter(|_| !fits_once(question)),
            level: row.world_level.filter(|_| !fits_once(question)),
            over: "graphs and refits".to_owned(),
            why_none: "fewer than two graphs give a value".to_owned(),
        }
    }

    fn of_fits(row: &MetricRow) -> Self {
        let why_none = match row.fit_repeats {
            None => "the set was not fitted again: add `doubt: {fit: 20}` to it",
            Some(_) => "fewer than 95 % of the repeats of the fit give a value",
        };
        DoubtInterval {
            ends: row.fit_lo.zip(row.fit_hi),
            level: None,
            over: format!("{} fits", row.fit_repeats.unwrap_or(0)),
            why_none: why_none.to_owned(),
        }
    }

    fn of_trainings(row: &MetricRow) -> Self {
        let why_none = match row.training_repeats {
            None => "the value was not measured for other trainings of the model",
            Some(_) => "fewer than 95 % of the trainings give a value",
        };
        DoubtInterval {
            ends: row.training_lo.zip(row.training_hi),
            level: None,
            over: format!("{} trainings", row.training_repeats.unwrap_or(0)),
            why_none: why_none.to_owned(),
        }
    }

    /// From the lowest to the highest end of each doubt that the set has, so that a limit outside
    /// is kept by all of them, or broken by all.
    fn of_all(question: &GateQuestion, row: &MetricRow) -> Self {
        let mut all = vec![DoubtInterval::of_people(row)];
        all.extend(row.n_worlds.map(|_| DoubtInterval::of_graphs(question, row)));
        all.extend(row.fit_repeats.map(|_| DoubtInterval::of_fits(row)));
        all.extend(row.training_repeats.map(|_| DoubtInterval::of_trainings(row)));
        let over: Vec<&str> = all.iter().map(|doubt| doubt.over.as_str()).collect();
        let over = match over.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        };
        let lacks = all.iter().find(|doubt| doubt.ends.is_none());
        let why_none = lacks.map_or_else(String::new, |doubt| {
            format!("none over {}: {}", doubt.over, doubt.why_none)
        });
        let ends = all.iter().map(|doubt| doubt.ends).reduce(|a, b| {
            let (a, b) = a.zip(b)?;
            Some((a.0.min(b.0), a.1.max(b.1)))
        });
        DoubtInterval { ends: ends.flatten(), level: None, over, why_none }
    }
}

/// What becomes of the values of a gate in a scope where the groups change places. The difference
/// between two directions changes its sign for every metric that is no ratio of them.
fn swap_of(question: &GateQuestion, scope: &str) -> SwapEffect {
    let metric = find(&question.metric).filter(|metric| !metric.is_gap_in(scope));
    metric.map_or(SwapEffect::Negated, SwapEffect::of)
}

fn oriented(question: &GateQuestion, row: &MetricRow) -> GateObservation {
    in_question_order(question, observed(question, row))
}

/// A row as the table has it.
fn observed(question: &GateQuestion, row: &MetricRow) -> GateObservation {
    let doubt = match question.decide_by {
        GateDecideBy::Interval | GateDecideBy::Estimate => DoubtInterval::of_people(row),
        GateDecideBy::Worlds => DoubtInterval::of_graphs(question, row),
        GateDecideBy::Fit => DoubtInterval::of_fits(row),
        GateDecideBy::Training => DoubtInterval::of_trainings(row),
        GateDecideBy::All => DoubtInterval::of_all(question, row),
    };
    let by_all = question.decide_by == GateDecideBy::All;
    let fits = row.fit_repeats.filter(|_| by_all || question.decide_by == GateDecideBy::Fit);
    let trainings =
        row.training_repeats.filter(|_| by_all || question.decide_by == GateDecideBy::Training);
    GateObservation {
        metric: row.metric.to_string(),
        sensitive: row.key.sensitive.to_string(),
        from: row.key.from_group.to_string(),
        to: row.key.to_group.to_string(),
        value: row.value,
        lo: doubt.ends.map(|ends| ends.0),
        hi: doubt.ends.map(|ends| ends.1),
        level: doubt.level,
        interval: row.interval.to_string(),
        numerator: row.numerator,
        denominator: row.denominator,
        scope: row.key.scope.to_string(),
        n_rows: row.n_rows,
        denominator_persons: row.denominator_persons,
        persons: row.n_persons,
        effective: row.n_eff,
        is_weighed: row.weight_denominator.is_some(),
        flags: row.flags.to_string(),
        undefined: row.undefined.to_string(),
        why_no_interval: doubt.why_none,
        over: doubt.over,
        few_repeats: [(fits, "fits"), (trainings, "trainings")]
            .into_iter()
            .filter_map(|(n, what)| Some((n.filter(|n| *n < MIN_REPEATS_FOR_TAILS as i64)?, what)))
            .map(|(n, what)| format!("{n} {what}"))
            .collect::<Vec<_>>()
            .join(" and "),
        ..GateObservation::default()
    }
}

/// The same with the groups of a difference in the order of the question.
fn in_question_order(question: &GateQuestion, mut seen: GateObservation) -> GateObservation {
    let GateSubject::Pair(first, second) = &question.scope else { return seen };
    match swap_of(question, &seen.scope) {
        // Each order of a ratio has its row.
        SwapEffect::Reciprocal(_) => return seen,
        SwapEffect::Negated if seen.from != *first => negate(&mut seen),
        SwapEffect::Negated | SwapEffect::Same => {}
    }
    seen.from.clone_from(first);
    seen.to.clone_from(second);
    seen
}

fn negate(seen: &mut GateObservation) {
    // Not `-x`: that would make a zero negative.
    let negated = |x: Option<f64>| x.map(|x| 0.0 - x);
    (seen.value, seen.baseline) = (negated(seen.value), negated(seen.baseline));
    (seen.lo, seen.hi) = (negated(seen.hi), negated(seen.lo));
    seen.old_ends = seen.old_ends.map(|(least, most)| (0.0 - most, 0.0 - least));
}

/// Of a ratio that keeps its limit, that the same ratio the other way round would break it, and
/// which group that says is behind; none where it keeps it too.
fn behind_now(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<String> {
    let GateSubject::Pair(first, second) = &question.scope else { return None };
    let metric = find(&question.metric)?;
    let swap = SwapEffect::of(metric);
    swap.ratio_order().filter(|_| !seen.is_change)?;
    let turned = metrics.iter().find(|row| {
        question.is_about(&row.key, &row.class)
            && row.key.sensitive == *seen.sensitive
            && row.metric == *seen.metric
            && row.key.scope == *seen.scope
            && row.key.from_group == *seen.to
            && row.key.to_group == *seen.from
    });
    let value = turned?.value.filter(|value| !question.limit.kept_by(*value))?;
    let name = |group: &str| match group {
        "" => "all others".to_owned(),
        group => format!("`{group}`"),
    };
    let [lower, higher] = match question.limit {
        GateLimit::AtLeast(_) => [second, first],
        GateLimit::AtMost(_) => [first, second],
    };
    // More positive decisions put people behind where these are unfavourable.
    let of_decisions = metric.gap_of.is_some_and(|(base, _)| base == "pprev");
    let behind = match (metric.reads, question.favourable) {
        (Reads::FavourableRatio, Some(_)) => Some(lower),
        (_, Some(FavourableClass::Positive)) if of_decisions => Some(lower),
        (_, Some(FavourableClass::Negative)) if of_decisions => Some(higher),
        _ => None,
    };
    let who = match behind {
        Some(group) => format!("{} is behind", name(group)),
        None => format!("{} has the lower value", name(lower)),
    };
    Some(format!(
        "the limit does not see the other order: {} over {} is {value:.4}, and {who}",
        name(second),
        name(first)
    ))
}

/// A worst case that a small group holds cannot be judged; but that group is no excuse for the
/// others. The limit is broken where a pair of groups that are large enough breaks it, judged among
/// all pairs by Holm's method, unless that has more than these pairs to judge.
fn judge_without_small(question: &GateQuestion, ruling: &mut GateRuling, tables: GateTables<'_>) {
    let too_few = ruling.verdict == GateStatus::Inconclusive
        && ruling.observation.objections.is_empty()
        && small_flags(&ruling.observation).is_some()
        && !question.holm;
    let Some(metric) = find(&question.metric).filter(|_| too_few) else { return };
    let swap = SwapEffect::of(metric);
    // As the worst case is reported: a difference is not below 0, a ratio not above 1.
    let as_worst = |row: &MetricRow| {
        let mut pair = observed(question, row);
        match swap {
            SwapEffect::Negated if pair.value.is_some_and(|value| value < 0.0) => {
                negate(&mut pair);
                std::mem::swap(&mut pair.from, &mut pair.to);
            }
            SwapEffect::Reciprocal(_) if pair.value.is_some_and(|value| value > 1.0) => {
                return None;
            }
            _ => {}
        }
        Some(pair)
    };
    let is_pair = |row: &&MetricRow| {
        question.is_about(&row.key, &row.class)
            && row.key.scope == "pair"
            && row.key.sensitive == *ruling.observation.sensitive
            && row.metric == *question.metric
            && metric.family.as_str() == row.family.as_str()
    };
    let pairs = tables.metrics.iter().filter(is_pair).filter_map(as_worst).collect();
    let mut judged = holm::decide_jointly(question, pairs);
    judged.iter_mut().for_each(|pair| certain_rate::reconsider(question, pair, tables));
    let broken = judged.into_iter().filter(|pair| pair.verdict == GateStatus::Fail);
    // Of equals the first.
    let clear = broken
        .reduce(|a, b| if compare_severity(question, &b, &a) == Ordering::Greater { b } else { a });
    if let Some(pair) = clear {
        ruling.verdict = GateStatus::Fail;
        let words = format!(
            "the furthest group is too small for a conclusion, but the interval of {} and {} \
             breaks the limit: {}",
            pair.observation.from,
            pair.observation.to,
            pair.words()
        );
        ruling.reason = GateReason::new(ReasonCode::LimitBroken, words);
    }
}

fn missing_row(
    question: &GateQuestion,
    objections: &[GateReason],
    baseline: Option<&GateBaseline<'_>>,
) -> GateRuling {
    let (from, to) = match &question.scope {
        GateSubject::Group(group) | GateSubject::HarmTo(group) => (group.clone(), String::new()),
        GateSubject::Direction(a, b) | GateSubject::Pair(a, b) => (a.clone(), b.clone()),
        GateSubject::Total | GateSubject::AnyDirection | GateSubject::WorstCase => {
            (String::new(), String::new())
        }
    };
    let seen = GateObservation {
        metric: question.metric.clone(),
        sensitive: question.attributes.first().cloned().unwrap_or_default(),
        from,
        to,
        undefined: NOT_MEASURED.to_owned(),
        is_change: question.quantity == GateQuantity::Change,
        ..GateObservation::default()
    };
    let of_any =
        find(&question.metric).is_some_and(|metric| matches!(metric.reads, Reads::AnySwitch(_)));
    let not_measured = |words: &str| GateReason::new(ReasonCode::NotMeasured, words);
    let (verdict, reason) = match (question.quantity, baseline) {
        _ if !objections.is_empty() => {
            let objections = objections.to_vec();
            return decide(question, GateObservation { objections, ..seen });
        }
        (GateQuantity::Value, _) if of_any => (
            GateStatus::Inconclusive,
            not_measured(
                "it measures whether a change to any other group switches a prediction, which \
                 needs three groups or more",
            ),
        ),
        (GateQuantity::Value, _) => {
            (GateStatus::Inconclusive, not_measured("the table of metrics has no such row"))
        }
        (GateQuantity::Change, Some(_)) => (
            GateStatus::Inconclusive,
            not_measured("neither this run nor the baseline has such a row"),
        ),
        (GateQuantity::Change, None) => {
            (GateStatus::Skipped, GateReason::new(ReasonCode::NoBaseline, "no baseline was given"))
        }
    };
    GateRuling::new(seen, verdict, reason)
}

fn worst_gate(question: &GateQuestion, ruling: &GateRuling) -> WorstGate {
    WorstGate {
        gate: question.name.clone(),
        metric: ruling.observation.metric.clone(),
        value: ruling.observation.value,
        lo: ruling.observation.lo,
        hi: ruling.observation.hi,
        n: ruling.observation.denominator,
        limit: question.stated_limit(),
        verdict: ruling.verdict.word().to_owned(),
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
        GateDecideBy::Interval => "interval",
        GateDecideBy::Worlds => "worlds",
        GateDecideBy::Fit => "fit",
        GateDecideBy::Training => "training",
        GateDecideBy::All => "all",
        GateDecideBy::Estimate => "estimate",
    };
    GateRow {
        gate: question.name.as_str().into(),
        sensitive: seen.sensitive.as_str().into(),
        from_group: seen.from.as_str().into(),
        to_group: seen.to.as_str().into(),
        scope: seen.scope.as_str().into(),
        verdict: ruling.verdict.word().into(),
        level: (if question.warn_only { "warn" } else { "fail" }).into(),
        metric: seen.metric.as_str().into(),
        arm: question.arm.as_str().into(),
        model: question.model.as_str().into(),
        counterfactual: question.counterfactual.as_str().into(),
        class: question.class.as_str().into(),
        value: seen.value.and_then(finite),
        lo: seen.lo.and_then(finite),
        hi: seen.hi.and_then(finite),
        limit: question.stated_limit(),
        rule: format!("{rule}, {by}").into(),
        numerator: seen.numerator,
        denominator: seen.denominator,
        unfair_to_from: seen.unfair.map(|unfair| unfair[0]),
        unfair_to_to: seen.unfair.map(|unfair| unfair[1]),
        enough: whole(question.min_cases),
        baseline_value: seen.baseline.and_then(finite),
        reason_code: ruling.code().word().into(),
        reason: ruling.words().into(),
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
